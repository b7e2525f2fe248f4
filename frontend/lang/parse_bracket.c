/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse_bracket.c - lists, calls and subscripts: what their brackets hold. See parse_expr.h. */
#include "frontend/lang/parse_expr.h"

static fc_expr *list_node(fc_parser *p, fc_expr_kind kind, const fc_frame *f,
                          const fc_expr *first) {
    fc_range at = fc_since(p, f->tok);
    fc_expr *e = fc_expr_new(p, kind, first, at);
    if (!e) return NULL;
    e->op_at = at;
    e->list = f->head;
    e->count = f->count;
    return e;
}

fc_pstep fc_close_bracket(fc_machine *m) {
    fc_parser *p = m->p;
    fc_frame f = *fc_frame_top(p);
    p->at++;
    fc_frame_pop(p);
    if (f.kind == FC_FR_PAREN && f.count == 1) {
        m->cur = f.head;
        m->cur->parens = true;
        m->cur->outer = fc_since(p, f.tok);
        return FC_P_OPERATOR;
    }
    if (f.kind == FC_FR_PAREN || f.kind == FC_FR_LIST) {
        m->cur = list_node(p, f.kind == FC_FR_PAREN ? FC_EX_TUPLE : FC_EX_LIST, &f, f.head);
    } else {
        m->cur = list_node(p, f.kind == FC_FR_CALL ? FC_EX_CALL : FC_EX_SUBSCRIPT, &f, f.left);
        if (m->cur) {
            m->cur->callee = f.left;
            m->cur->at.begin = m->cur->outer.begin = f.left->outer.begin;
        }
    }
    return m->cur ? FC_P_OPERATOR : FC_P_FAILED;
}

bool fc_complete_sub(fc_machine *m) {
    fc_parser *p = m->p;
    fc_frame *f = fc_frame_top(p);
    const fc_name *index = f->name;
    if (index && f->part == 0) {
        fc_expected(p, "`..`");
        return false;
    }
    if (!index && f->part == 0) return true;
    f->parts[f->part] = m->cur;
    const fc_expr *first = NULL;
    for (int i = 2; i >= 0; i--)
        if (f->parts[i]) first = f->parts[i];
    fc_expr *e = fc_expr_new(p, index ? FC_EX_INDEX : FC_EX_SLICE, first, fc_since(p, f->tok2));
    if (!e) return false;
    e->a = f->parts[0];
    e->b = f->parts[1];
    if (index)
        e->index = index;
    else
        e->c = f->parts[2];
    memset(f->parts, 0, sizeof f->parts);
    f->part = 0;
    f->name = NULL;
    f->level = FC_LV_EXPR;
    m->cur = e;
    return true;
}

static bool starts_operand(fc_tok k) {
    return k == FC_TOK_NAME || k == FC_TOK_NUMBER || k == FC_TOK_STRING || k == FC_TOK_TRUE ||
           k == FC_TOK_FALSE || k == FC_TOK_HOLE || k == FC_TOK_NONE || k == FC_TOK_ELLIPSIS;
}

fc_pstep fc_unfinished(fc_machine *m) {
    fc_parser *p = m->p;
    const fc_frame *f = fc_frame_top(p);
    fc_range at = fc_tok_range(p, p->at);
    /* A missing comma is likely only on the same line. */
    bool comma = starts_operand(fc_peek(p)) && p->at > 0 &&
                 fc_source_one_line(p->src, (fc_range){p->toks[p->at - 1].end, at.begin});
    if (f->kind == FC_FR_BASE) return FC_P_DONE;
    if (fc_peek(p) == FC_TOK_ASSIGN) {
        fc_diag *d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at,
                                   "`=` binds a name and can't stand in an expression");
        fc_diag_help(d, "a comparison is written ==");
    } else if (f->kind == FC_FR_IF) {
        fc_report_if(p, f, NULL);
    } else if (f->kind == FC_FR_COND) {
        fc_diag_related(fc_expected(p, "`:`"), fc_tok_range(p, f->tok), "for this `?`");
    } else if (f->kind == FC_FR_SUBS && f->name && f->part == 0) {
        fc_expected(p, "`..`");
    } else if (f->kind == FC_FR_PAREN || f->kind == FC_FR_CALL) {
        fc_expected_close(p, comma ? "`,` or `)`" : "`)`", f->tok);
    } else {
        fc_expected_close(p, comma ? "`,` or `]`" : "`]`", f->tok);
    }
    return FC_P_FAILED;
}
