/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ast_dump.c - a tree as text, for tests: everything but positions. No recursion; expressions are
 * listed by their number and refer to each other as %number. */
#include "tests/support/parsebox.h"

static void ref(fc_str *out, const fc_expr *e) {
    if (e)
        fc_str_printf(out, " %%%u", e->id);
    else
        fc_str_add(out, " -");
}

static void refs(fc_str *out, const fc_expr *e) {
    for (; e; e = e->next) {
        if (e->label) fc_str_printf(out, " %s:", e->label->text);
        ref(out, e);
    }
}

static void name(fc_str *out, const fc_name *n) {
    fc_str_printf(out, " %s", n->len ? n->text : "-");
}

static void dump_expr(fc_str *out, const fc_expr *e) {
    static const char *const kinds[] = {
        "number",    "string", "bool",  "name", "unary", "binary",   "compare", "cond",  "call",
        "subscript", "member", "tuple", "list", "slice", "ellipsis", "newaxis", "index", "hole",
        "put"};
    fc_str_printf(out, "%%%u = %s", e->id, kinds[e->kind]);
    switch ((fc_expr_kind)e->kind) {
    case FC_EX_NUMBER: fc_str_printf(out, " %s", e->number.digits); break;
    case FC_EX_STRING:
    case FC_EX_NAME:
        fc_str_char(out, ' ');
        fc_str_addn(out, e->text, e->len);
        break;
    case FC_EX_BOOL: fc_str_add(out, e->truth ? " true" : " false"); break;
    case FC_EX_UNARY:
        fc_str_printf(out, " %s", fc_oper_text((fc_oper)e->op));
        ref(out, e->a);
        break;
    case FC_EX_BINARY:
        ref(out, e->a);
        fc_str_printf(out, " %s", fc_oper_text((fc_oper)e->op));
        ref(out, e->b);
        break;
    case FC_EX_COMPARE:
        refs(out, e->list);
        for (uint32_t i = 0; i + 1 < e->count; i++)
            fc_str_printf(out, " %s", fc_oper_text(e->links[i].op));
        break;
    case FC_EX_PUT:
        ref(out, e->a);
        ref(out, e->b);
        break;
    case FC_EX_COND:
    case FC_EX_SLICE:
        ref(out, e->a);
        ref(out, e->b);
        ref(out, e->c);
        break;
    case FC_EX_CALL:
    case FC_EX_SUBSCRIPT:
        ref(out, e->callee);
        fc_str_char(out, ',');
        refs(out, e->list);
        break;
    case FC_EX_MEMBER:
        ref(out, e->object);
        name(out, e->member);
        break;
    case FC_EX_TUPLE:
    case FC_EX_LIST: refs(out, e->list); break;
    case FC_EX_INDEX:
        name(out, e->index);
        ref(out, e->lo);
        ref(out, e->hi);
        break;
    case FC_EX_ELLIPSIS:
    case FC_EX_NEWAXIS:
    case FC_EX_HOLE: break;
    }
    fc_str_add(out, e->parens ? " ()\n" : "\n");
}

static void dump_stmt(fc_str *out, const fc_stmt *s) {
    static const char *const kinds[] = {"bind", "define", "loop", "return", "result"};
    fc_str_add(out, kinds[s->kind]);
    for (uint32_t i = 0; i < s->target_count; i++) name(out, &s->targets[i]);
    refs(out, s->indices);
    if (s->kind == FC_ST_LOOP) {
        ref(out, s->lo);
        ref(out, s->hi);
        ref(out, s->cond);
    } else {
        fc_str_add(out, " =");
        refs(out, s->value);
    }
    fc_str_char(out, '\n');
}

/* Loops are left by the address of what comes behind them, kept in a stack of fixed size: nesting
 * has a limit. */
static void dump_stmts(fc_str *out, const fc_stmt *s) {
    enum { DEEPEST = FC_NESTING_LIMIT + 1 };
    const fc_stmt *after[DEEPEST];
    unsigned depth = 0;
    for (;;) {
        while (!s && depth > 0) {
            s = after[--depth];
            fc_str_add(out, "end\n");
        }
        if (!s) return;
        dump_stmt(out, s);
        if (s->kind == FC_ST_LOOP && depth < DEEPEST) {
            after[depth++] = s->next;
            s = s->body;
        } else {
            s = s->next;
        }
    }
}

static void dump_type(fc_str *out, const fc_type *t) {
    if (!t) {
        fc_str_add(out, " -");
        return;
    }
    name(out, &t->name);
    if (t->brackets) fc_str_add(out, "[");
    refs(out, t->dims);
    if (t->brackets) fc_str_add(out, "]");
}

static void dump_def(fc_str *out, const fc_item *f) {
    for (const fc_attr *a = f->attrs; a; a = a->next) {
        fc_str_add(out, "attr");
        name(out, &a->name);
        if (a->parens) fc_str_add(out, " ()");
        refs(out, a->args);
        fc_str_char(out, '\n');
    }
    fc_str_printf(out, "%sdef %s\n", f->exported ? "export " : "", f->name.text);
    for (const fc_param *x = f->params; x; x = x->next) {
        fc_str_add(out, "param");
        name(out, &x->name);
        dump_type(out, x->type);
        ref(out, x->fallback);
        fc_str_char(out, '\n');
    }
    for (const fc_result *r = f->results; r; r = r->next) {
        fc_str_add(out, "result");
        name(out, &r->name);
        dump_type(out, r->type);
        fc_str_char(out, '\n');
    }
    fc_str_add(out, f->block ? "block\n" : "value");
    if (!f->block) refs(out, f->value);
    if (!f->block) fc_str_char(out, '\n');
    dump_stmts(out, f->body);
}

void fc_ast_dump(const fc_ast *ast, fc_str *out) {
    for (size_t i = 0; i < ast->exprs.len; i++) dump_expr(out, ast->exprs.at[i]);
    for (const fc_item *i = ast->items; i; i = i->next) {
        switch ((fc_item_kind)i->kind) {
        case FC_IT_IMPORT:
        case FC_IT_FROM:
            fc_str_printf(out, "%s \"%s\"", i->kind == FC_IT_FROM ? "from" : "import", i->path);
            name(out, &i->name);
            for (uint32_t n = 0; n < i->name_count; n++) name(out, &i->names[n]);
            fc_str_char(out, '\n');
            break;
        case FC_IT_CONST:
            fc_str_printf(out, "const %s", i->name.text);
            dump_type(out, i->type);
            ref(out, i->value);
            fc_str_char(out, '\n');
            break;
        case FC_IT_DEF: dump_def(out, i); break;
        case FC_IT_EXTERN:
            fc_str_add(out, "extern ");
            dump_def(out, i);
            break;
        }
    }
    dump_stmts(out, ast->stmts);
}
