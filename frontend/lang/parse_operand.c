/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse_operand.c - what may stand where an operand must: literals, names, prefix operators,
 * opening brackets, and the parts of arguments and subscripts. See parse_expr.h. */
#include "frontend/lang/parse_expr.h"

static fc_pstep no_operand(fc_machine *m) {
    fc_parser *p = m->p;
    const fc_frame *f = fc_frame_top(p);
    fc_range at = fc_tok_range(p, p->at);
    fc_diag *d;
    switch (fc_peek(p)) {
    case FC_TOK_IF:
        d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "there is no `if` statement");
        fc_diag_help(d, "a choice is an expression: c ? a : b, or where(c, a, b)");
        break;
    case FC_TOK_ELIF:
    case FC_TOK_ELSE:
        fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "`%s` is a reserved word",
                      fc_tok_text(fc_peek(p)));
        break;
    case FC_TOK_WHILE:
        d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "a loop begins with `for`");
        fc_diag_help(d, "for k in 0..1000 while condition { ... } ends early");
        break;
    case FC_TOK_LAMBDA:
        d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "there are no lambdas");
        fc_diag_help(d, "functions have names: def f(x) = ...");
        break;
    case FC_TOK_NONE:
        d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "`None` stands in subscripts only");
        fc_diag_help(d, "x[None, :] adds an axis of size 1");
        break;
    case FC_TOK_ASSIGN:
        if (f->kind == FC_FR_BINARY && p->toks[f->tok].end == at.begin) {
            at.begin = p->toks[f->tok].begin;
            const char *op = fc_oper_text((fc_oper)f->op);
            d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "there is no `%s=`", op);
            if (f->left->kind == FC_EX_NAME)
                fc_diag_help(d, "%s = %s %s ...", f->left->text, f->left->text, op);
            else if (f->left->kind == FC_EX_SUBSCRIPT && strcmp(op, "-") == 0)
                fc_diag_help(d, "elements take in sums: x[i] += -(...)");
            break;
        }
        fc_expected(p, "an expression");
        break;
    case FC_TOK_NOT:
        d = fc_expected(p, "an expression");
        fc_diag_help(d, "put it in parentheses: (not x)");
        break;
    default: fc_expected(p, "an expression"); break;
    }
    return FC_P_FAILED;
}

static fc_pstep leaf(fc_machine *m, fc_expr_kind kind) {
    fc_parser *p = m->p;
    m->cur = fc_expr_leaf(p, kind, p->at++);
    return m->cur ? FC_P_OPERATOR : FC_P_FAILED;
}

fc_pstep fc_open_bracket(fc_machine *m, fc_frame_kind kind, fc_expr *left) {
    fc_parser *p = m->p;
    fc_frame *f = fc_frame_push(p, kind, FC_LV_EXPR, p->at, true);
    if (!f) return FC_P_FAILED;
    f->left = left;
    p->at++;
    if (kind == FC_FR_LIST && fc_peek(p) == FC_TOK_RBRACK) return fc_close_bracket(m);
    return FC_P_OPERAND;
}

static fc_pstep prefix(fc_machine *m, fc_level level, fc_oper op) {
    fc_parser *p = m->p;
    const fc_frame *above = fc_frame_top(p);
    bool fits = above->kind == FC_FR_COND || above->kind == FC_FR_IF || above->level <= level;
    /* The right side of ** is a unary expression, although ** binds more tightly. */
    if (above->kind == FC_FR_BINARY && level == FC_LV_UNARY) fits = true;
    if (!fits) return no_operand(m);
    p->toks[p->at].role = FC_ROLE_UNARY;
    fc_frame *f = fc_frame_push(p, FC_FR_PREFIX, level, p->at, true);
    if (!f) return FC_P_FAILED;
    f->op = (uint8_t)op;
    p->at++;
    return FC_P_OPERAND;
}

static const fc_name *read_name(fc_parser *p) {
    fc_name *name = fc_node(p, sizeof *name);
    return name && fc_name_from(p, p->at++, name) ? name : NULL;
}

/* In a call: ")" also behind a comma, and "NAME =". */
static fc_pstep argument(fc_machine *m, bool *handled) {
    fc_parser *p = m->p;
    fc_frame *f = fc_frame_top(p);
    if (f->name) return FC_P_OPERAND;
    if (fc_peek(p) == FC_TOK_RPAREN) {
        *handled = true;
        return fc_close_bracket(m);
    }
    if (fc_peek(p) == FC_TOK_NAME && fc_peek2(p) == FC_TOK_ASSIGN) {
        p->toks[p->at].role = FC_ROLE_LABEL;
        p->toks[p->at + 1].role = FC_ROLE_ARG;
        f->name = read_name(p);
        p->at++;
        *handled = true;
        return f->name ? FC_P_OPERAND : FC_P_FAILED;
    }
    return FC_P_OPERAND;
}

/* In a subscript: parts of slices that are left out, "...", "None", and "NAME in". */
static fc_pstep subscript(fc_machine *m, bool *handled) {
    fc_parser *p = m->p;
    fc_frame *f = fc_frame_top(p);
    fc_tok k = fc_peek(p);
    if (f->name) return FC_P_OPERAND;
    if (f->part == 0) f->tok2 = p->at;
    *handled = true;
    if (k == FC_TOK_COLON && f->part < 2) {
        p->toks[p->at++].role = FC_ROLE_SLICE;
        f->part++;
        return FC_P_OPERAND;
    }
    if (f->part > 0 && (k == FC_TOK_COMMA || k == FC_TOK_RBRACK)) {
        m->cur = NULL;
        return fc_complete_sub(m) ? FC_P_OPERATOR : FC_P_FAILED;
    }
    if (f->part == 0 && (k == FC_TOK_ELLIPSIS || k == FC_TOK_NONE)) {
        fc_pstep s = leaf(m, k == FC_TOK_NONE ? FC_EX_NEWAXIS : FC_EX_ELLIPSIS);
        if (s == FC_P_OPERATOR && fc_peek(p) != FC_TOK_COMMA && fc_peek(p) != FC_TOK_RBRACK) {
            fc_expected_close(p, "`,` or `]`", fc_frame_top(p)->tok);
            return FC_P_FAILED;
        }
        return s;
    }
    if (f->part == 0 && k == FC_TOK_NAME && fc_peek2(p) == FC_TOK_IN) {
        f->name = read_name(p);
        f->level = FC_LV_ARITH;
        p->at++;
        return f->name ? FC_P_OPERAND : FC_P_FAILED;
    }
    *handled = false;
    return FC_P_OPERAND;
}

fc_pstep fc_operand(fc_machine *m) {
    fc_parser *p = m->p;
    bool handled = false;
    fc_pstep s = FC_P_OPERAND;
    if (fc_frame_top(p)->kind == FC_FR_CALL) s = argument(m, &handled);
    if (fc_frame_top(p)->kind == FC_FR_SUBS && !handled) s = subscript(m, &handled);
    if (handled) return s;
    switch (fc_peek(p)) {
    case FC_TOK_NUMBER: return leaf(m, FC_EX_NUMBER);
    case FC_TOK_STRING: return leaf(m, FC_EX_STRING);
    case FC_TOK_TRUE:
    case FC_TOK_FALSE: return leaf(m, FC_EX_BOOL);
    case FC_TOK_NAME: return leaf(m, FC_EX_NAME);
    case FC_TOK_LPAREN: return fc_open_bracket(m, FC_FR_PAREN, NULL);
    case FC_TOK_LBRACK: return fc_open_bracket(m, FC_FR_LIST, NULL);
    case FC_TOK_MINUS: return prefix(m, FC_LV_UNARY, FC_OPER_NEG);
    case FC_TOK_PLUS: return prefix(m, FC_LV_UNARY, FC_OPER_PLUS);
    case FC_TOK_TILDE: return prefix(m, FC_LV_UNARY, FC_OPER_BIT_NOT);
    case FC_TOK_BANG: return prefix(m, FC_LV_UNARY, FC_OPER_NOT);
    case FC_TOK_NOT: return prefix(m, FC_LV_NOT, FC_OPER_NOT);
    default: return no_operand(m);
    }
}
