/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fmt_space.c - what stands between two tokens of a line, and how a token is spelled. */
#include "frontend/lang/fmt_impl.h"

#include "ir/dtype.h"

/* ---- spelling -------------------------------------------------------------------------------- */

const char *fc_fmt_text(const fc_source *src, const fc_token *t, uint32_t *len) {
    fusec_dtype dtype;
    const char *text = src->text + t->begin;
    *len = t->end - t->begin;
    if (t->role != FC_ROLE_DTYPE || !fc_dtype_by_name(text, *len, &dtype)) return text;
    *len = (uint32_t)strlen(fc_dtypes[dtype].name);
    return fc_dtypes[dtype].name;
}

/* The bit of the dtype that has this long name, 0 if there is none. */
static uint32_t long_name(const char *text, uint32_t len) {
    fusec_dtype dtype;
    if (!fc_dtype_by_name(text, len, &dtype)) return 0;
    return strlen(fc_dtypes[dtype].name) == len ? 0 : 1u << dtype;
}

/* The dtypes whose long name is a definition of this file: a bit each. */
static uint32_t defined_here(const fc_ast *ast) {
    uint32_t set = 0;
    for (const fc_item *i = ast->items; i; i = i->next) {
        if (i->kind == FC_IT_DEF) set |= long_name(i->name.text, i->name.len);
        for (uint32_t n = 0; n < i->name_count; n++)
            set |= long_name(i->names[n].text, i->names[n].len);
    }
    return set;
}

static void mark(fc_ast *ast, uint32_t begin) {
    size_t lo = 0, hi = ast->tokens.toks.len;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (ast->tokens.toks.at[mid].begin <= begin)
            lo = mid;
        else
            hi = mid;
    }
    ast->tokens.toks.at[lo].role = FC_ROLE_DTYPE;
}

static bool is_name(const fc_expr *e, const char *text) {
    return e->kind == FC_EX_NAME && !e->parens && strcmp(e->text, text) == 0;
}

void fc_fmt_mark_dtypes(fc_ast *ast) {
    uint32_t defined = defined_here(ast);
    for (size_t n = 0; n < ast->exprs.len; n++) {
        const fc_expr *e = ast->exprs.at[n];
        if (e->kind != FC_EX_CALL) continue;
        if (e->callee->kind == FC_EX_NAME && !e->callee->parens &&
            (long_name(e->callee->text, e->callee->len) & ~defined))
            mark(ast, e->callee->at.begin);
        const uint32_t at = is_name(e->callee, "bitcast") ? 1
                            : is_name(e->callee, "dot") || is_name(e->callee, "matmul")
                                ? 2
                                : UINT32_MAX;
        uint32_t k = 0;
        for (const fc_expr *a = e->list; a; a = a->next, k++) {
            bool dtype_arg =
                (a->label && strcmp(a->label->text, "dtype") == 0) || (k == at && !a->label);
            if (dtype_arg && a->kind == FC_EX_NAME) mark(ast, a->at.begin);
        }
    }
}

/* ---- spaces ---------------------------------------------------------------------------------- */

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '#';
}

/* Around these operators it stays as it was written, on both sides the same. */
static bool keeps(const fc_token *t, bool subscript) {
    if (t->role == FC_ROLE_UNARY || t->role == FC_ROLE_ATTR) return false;
    switch ((fc_tok)t->kind) {
    case FC_TOK_STAR:
    case FC_TOK_SLASH:
    case FC_TOK_SLASH2:
    case FC_TOK_PERCENT:
    case FC_TOK_POWER:
    case FC_TOK_AT: return true;
    case FC_TOK_PLUS:
    case FC_TOK_MINUS: return subscript; /* a[i-1, j] */
    default: return false;
    }
}

static unsigned written(const fc_source *src, const fc_token *t) {
    return (t->begin > 0 && blank(src->text[t->begin - 1])) || blank(src->text[t->end]);
}

static bool opens(fc_tok k) {
    return k == FC_TOK_LPAREN || k == FC_TOK_LBRACK;
}
static bool closes(fc_tok k) {
    return k == FC_TOK_RPAREN || k == FC_TOK_RBRACK;
}

/* No space on either side. */
static bool tight(const fc_token *t) {
    return t->kind == FC_TOK_DOT || t->kind == FC_TOK_DOTDOT || t->role == FC_ROLE_SLICE ||
           t->role == FC_ROLE_ARG;
}

static unsigned wanted(const fc_source *src, const fc_token *prev, const fc_token *cur,
                       bool subscript) {
    fc_tok a = (fc_tok)prev->kind, b = (fc_tok)cur->kind;
    if (opens(a) || closes(b) || b == FC_TOK_COMMA || b == FC_TOK_NL) return 0;
    if (a == FC_TOK_COMMA || a == FC_TOK_NL) return 1;
    if (opens(b) && cur->role == FC_ROLE_POSTFIX) return 0;
    if (tight(prev) || tight(cur) || cur->role == FC_ROLE_TYPE) return 0;
    if (prev->role == FC_ROLE_ATTR || (prev->role == FC_ROLE_UNARY && a != FC_TOK_NOT)) return 0;
    if (keeps(cur, subscript)) return written(src, cur);
    if (keeps(prev, subscript)) return written(src, prev);
    return 1;
}

/* Would the two be read as something else without a space? */
static bool would_merge(const fc_source *src, const fc_token *prev, const fc_token *cur) {
    char last = src->text[prev->end - 1], first = src->text[cur->begin];
    if (fc_is_word(last) && fc_is_word(first)) return true;
    if (prev->kind == FC_TOK_NUMBER && (first == '.' || fc_is_word(first)))
        return cur->kind != FC_TOK_DOTDOT || last == '.';
    return last == '.' && (first == '.' || (fc_is_digit(first) && prev->kind == FC_TOK_DOT));
}

unsigned fc_fmt_gap(const fc_source *src, const fc_token *prev, const fc_token *cur,
                    bool subscript) {
    unsigned gap = wanted(src, prev, cur, subscript);
    return gap == 0 && would_merge(src, prev, cur) ? 1 : gap;
}
