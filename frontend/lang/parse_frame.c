/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse_frame.c - the stack of operators and brackets that wait for their right side, and the nodes
 * that they become. See parse_expr.h. */
#include "frontend/lang/parse_expr.h"

/* ---- frames ---------------------------------------------------------------------------------- */

fc_frame *fc_frame_top(fc_parser *p) {
    return &p->frames.at[p->frames.len - 1];
}

fc_frame *fc_frame_push(fc_parser *p, fc_frame_kind kind, fc_level level, uint32_t tok,
                        bool counted) {
    fc_frame f = {.kind = (uint8_t)kind, .level = (uint8_t)level, .tok = tok, .counted = counted};
    if (counted && !fc_enter(p, tok)) return NULL;
    if (fc_push(p->alloc, &p->frames, f)) return fc_frame_top(p);
    fc_diag_oom(p->ds);
    p->stop = true;
    return NULL;
}

void fc_frame_pop(fc_parser *p) {
    if (fc_frame_top(p)->counted) fc_leave(p);
    p->frames.len--;
}

void fc_frame_append(fc_frame *f, fc_expr *e) {
    e->label = f->name;
    f->name = NULL;
    if (f->tail)
        f->tail->next = e;
    else
        f->head = e;
    f->tail = e;
    f->count++;
}

bool fc_frame_link(fc_parser *p, fc_frame *f, fc_oper op, uint32_t tok) {
    uint32_t used = f->count - 1;
    if (used == f->link_cap) {
        uint32_t cap = used ? 2 * used : 1;
        fc_link *links = fc_node(p, cap * sizeof *links);
        if (!links) return false;
        if (used) memcpy(links, f->links, used * sizeof *links);
        f->links = links;
        f->link_cap = cap;
    }
    f->links[used] = (fc_link){op, fc_tok_range(p, tok)};
    return true;
}

/* ---- finishing frames ------------------------------------------------------------------------ */

static fc_range join(const fc_expr *a, const fc_expr *b) {
    return (fc_range){a->outer.begin, b->outer.end};
}

void fc_report_if(fc_parser *p, const fc_frame *f, const fc_expr *no) {
    fc_range at = fc_tok_range(p, f->tok);
    fc_diag *d =
        fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "`a if c else b` is written c ? a : b");
    if (!no || !d) return;
    fc_diag_partner(d, fc_tok_range(p, f->tok2));
    fc_str yes, cond, other;
    fc_str_init(&yes, p->alloc);
    fc_str_init(&cond, p->alloc);
    fc_str_init(&other, p->alloc);
    fc_ast_quote(p->ast, f->left->outer, &yes);
    fc_ast_quote(p->ast, f->mid->outer, &cond);
    fc_ast_quote(p->ast, no->outer, &other);
    if (yes.len + cond.len + other.len < 200)
        fc_diag_help(d, "%s ? %s : %s      or where(%s, %s, %s)", cond.data, yes.data, other.data,
                     cond.data, yes.data, other.data);
    fc_str_free(&yes);
    fc_str_free(&cond);
    fc_str_free(&other);
}

/* The frame on top takes `cur` as its right side, and the result is the new `cur`. */
static bool finish(fc_machine *m) {
    fc_parser *p = m->p;
    fc_frame f = *fc_frame_top(p);
    fc_expr *e;
    fc_range at = {p->toks[f.tok].begin, m->cur->outer.end};
    fc_frame_pop(p);
    if (f.left) at.begin = f.left->outer.begin;
    if (f.kind == FC_FR_PREFIX) {
        e = fc_expr_new(p, FC_EX_UNARY, m->cur, at);
        if (e) e->a = m->cur;
    } else if (f.kind == FC_FR_BINARY) {
        e = fc_expr_new(p, FC_EX_BINARY, f.left, at);
        if (e) e->a = f.left, e->b = m->cur;
    } else if (f.kind == FC_FR_COMPARE) {
        fc_frame_append(&f, m->cur);
        e = fc_expr_new(p, FC_EX_COMPARE, f.head, join(f.head, m->cur));
        if (e) e->list = f.head, e->count = f.count, e->links = f.links;
    } else {
        bool words = f.kind == FC_FR_IF_ELSE;
        if (words) fc_report_if(p, &f, m->cur);
        e = fc_expr_new(p, FC_EX_COND, f.left, at);
        if (e) e->a = words ? f.mid : f.left, e->b = words ? f.left : f.mid, e->c = m->cur;
    }
    if (!e) return false;
    e->op = f.op;
    e->op_at = fc_tok_range(p, f.tok);
    m->cur = e;
    return true;
}

bool fc_finish_above(fc_machine *m, fc_level level, bool left) {
    for (;;) {
        const fc_frame *f = fc_frame_top(m->p);
        if (f->kind > FC_FR_IF_ELSE) return true;
        if (f->level < level || (f->level == level && !left)) return true;
        if (!finish(m)) return false;
    }
}
