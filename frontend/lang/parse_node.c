/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse_node.c - making expression nodes, and what the tree offers to others. See ast.h. */
#include "frontend/lang/parse_impl.h"

#include "ir/base.h"

void fc_ast_free(fc_ast *ast) {
    if (!ast->src) return;
    fc_vec_free(ast->src->alloc, &ast->exprs);
    fc_tokens_free(&ast->tokens);
    fc_arena_free(&ast->arena);
    memset(ast, 0, sizeof *ast);
}

fc_expr *fc_expr_new(fc_parser *p, fc_expr_kind kind, const fc_expr *first, fc_range at) {
    fc_expr *e = fc_node(p, sizeof *e);
    if (!e) return NULL;
    e->kind = (uint8_t)kind;
    e->id = (uint32_t)p->ast->exprs.len;
    e->first = first ? first->first : e->id;
    e->at = e->outer = at;
    if (fc_push(p->alloc, &p->ast->exprs, e)) return e;
    fc_diag_oom(p->ds);
    p->stop = true;
    return NULL;
}

static int hex_digit(char c) {
    if (fc_is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void integer_value(fc_expr *e, const char *s, unsigned base) {
    for (int d; (d = hex_digit(*s)) >= 0 && d < (int)base; s++) {
        e->number.f = e->number.f * base + d;
        e->huge |= __builtin_mul_overflow(e->number.i, (uint64_t)base, &e->number.i);
        e->huge |= __builtin_add_overflow(e->number.i, (uint64_t)d, &e->number.i);
    }
}

static bool number_value(fc_parser *p, fc_expr *e, fc_range r) {
    char *s = fc_node(p, r.end - r.begin + 1);
    if (!s) return false;
    size_t n = 0;
    for (uint32_t i = r.begin; i < r.end; i++)
        if (p->src->text[i] != '_') s[n++] = p->src->text[i];
    e->number.digits = s;
    if (s[0] == '0' && s[1] == 'x') {
        integer_value(e, s + 2, 16);
        return true;
    }
    e->imaginary = n && s[n - 1] == 'i';
    e->real = e->imaginary || strpbrk(s, ".eE") != NULL;
    integer_value(e, s, 10);
    const char *end;
    double f;
    if ((e->real || e->huge) && fc_parse_double(s, &end, &f)) e->number.f = f;
    return true;
}

fc_expr *fc_expr_leaf(fc_parser *p, fc_expr_kind kind, uint32_t tok) {
    fc_expr *e = fc_expr_new(p, kind, NULL, fc_tok_range(p, tok));
    if (!e) return NULL;
    fc_name name;
    switch (kind) {
    case FC_EX_NUMBER: return number_value(p, e, e->at) ? e : NULL;
    case FC_EX_STRING: e->text = fc_string_value(p, tok, &e->len); return e->text ? e : NULL;
    case FC_EX_BOOL: e->truth = p->toks[tok].kind == FC_TOK_TRUE; return e;
    case FC_EX_NAME:
        if (!fc_name_from(p, tok, &name)) return NULL;
        e->text = name.text;
        e->len = name.len;
        return e;
    default: return e;
    }
}

void fc_ast_quote(const fc_ast *ast, fc_range at, fc_str *out) {
    bool gap = false;
    for (uint32_t i = at.begin; i < at.end; i++) {
        char c = ast->src->text[i];
        if (c == '#') {
            while (i < at.end && ast->src->text[i] != '\n') i++;
            c = '\n';
        }
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            gap = true;
            continue;
        }
        if (gap) fc_str_char(out, ' ');
        gap = false;
        fc_str_char(out, c);
        if (c != '"') continue;
        /* Strings are kept as they are. */
        while (++i < at.end && (c = ast->src->text[i]) != '"') {
            fc_str_char(out, c);
            if (c == '\\' && i + 1 < at.end) fc_str_char(out, ast->src->text[++i]);
        }
        if (i < at.end) fc_str_char(out, '"');
    }
}

const char *fc_oper_text(fc_oper op) {
    static const char *const text[FC_OPER_COUNT] = {
        [FC_OPER_NONE] = "",     [FC_OPER_NEG] = "-",       [FC_OPER_PLUS] = "+",
        [FC_OPER_BIT_NOT] = "~", [FC_OPER_NOT] = "not",     [FC_OPER_OR] = "or",
        [FC_OPER_AND] = "and",   [FC_OPER_LT] = "<",        [FC_OPER_LE] = "<=",
        [FC_OPER_GT] = ">",      [FC_OPER_GE] = ">=",       [FC_OPER_EQ] = "==",
        [FC_OPER_NE] = "!=",     [FC_OPER_BIT_OR] = "|",    [FC_OPER_BIT_XOR] = "^",
        [FC_OPER_BIT_AND] = "&", [FC_OPER_SHL] = "<<",      [FC_OPER_SHR] = ">>",
        [FC_OPER_ADD] = "+",     [FC_OPER_SUB] = "-",       [FC_OPER_MUL] = "*",
        [FC_OPER_DIV] = "/",     [FC_OPER_FLOORDIV] = "//", [FC_OPER_MOD] = "%",
        [FC_OPER_MATMUL] = "@",  [FC_OPER_POW] = "**",
    };
    return text[op];
}
