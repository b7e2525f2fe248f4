/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse_expr.c - expressions.
 *
 * expr       = or [ "?" expr ":" expr ] ;
 * or         = and { ( "or" | "||" ) and } ;
 * and        = not { ( "and" | "&&" ) not } ;
 * not        = "not" not | compare ;
 * compare    = bits { ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) bits } ;
 * bits       = xor { "|" xor } ;
 * xor        = mask { "^" mask } ;
 * mask       = shift { "&" shift } ;
 * shift      = arith { ( "<<" | ">>" ) arith } ;
 * arith      = term { ( "+" | "-" ) term } ;
 * term       = unary { ( "*" | "/" | "//" | "%" | "@" ) unary } ;
 * unary      = ( "-" | "+" | "~" | "!" ) unary | power ;
 * power      = postfix [ "**" unary ] ;
 * postfix    = atom { "(" [ args ] ")" | "[" subs "]" | "." NAME } ;
 * atom       = NUMBER | STRING | "true" | "false" | NAME
 *            | "(" expr { "," expr } ")" | "[" [ exprs ] "]" ;
 * args       = arg { "," arg } [ "," ] ;
 * arg        = [ NAME "=" ] expr ;
 * subs       = sub { "," sub } ;
 * sub        = expr | [ expr ] ":" [ expr ] [ ":" [ expr ] ] | "..." | "None" | NAME "in" range ;
 *
 * How these are read without recursion: parse_expr.h. */
#include "frontend/lang/parse_expr.h"

static const struct {
    uint8_t level, op;
} binary[FC_TOK_COUNT] = {
    [FC_TOK_OR] = {FC_LV_OR, FC_OPER_OR},         [FC_TOK_BAR2] = {FC_LV_OR, FC_OPER_OR},
    [FC_TOK_AND] = {FC_LV_AND, FC_OPER_AND},      [FC_TOK_AMP2] = {FC_LV_AND, FC_OPER_AND},
    [FC_TOK_LT] = {FC_LV_COMPARE, FC_OPER_LT},    [FC_TOK_LE] = {FC_LV_COMPARE, FC_OPER_LE},
    [FC_TOK_GT] = {FC_LV_COMPARE, FC_OPER_GT},    [FC_TOK_GE] = {FC_LV_COMPARE, FC_OPER_GE},
    [FC_TOK_EQ] = {FC_LV_COMPARE, FC_OPER_EQ},    [FC_TOK_NE] = {FC_LV_COMPARE, FC_OPER_NE},
    [FC_TOK_BAR] = {FC_LV_BITS, FC_OPER_BIT_OR},  [FC_TOK_CARET] = {FC_LV_XOR, FC_OPER_BIT_XOR},
    [FC_TOK_AMP] = {FC_LV_MASK, FC_OPER_BIT_AND}, [FC_TOK_SHL] = {FC_LV_SHIFT, FC_OPER_SHL},
    [FC_TOK_SHR] = {FC_LV_SHIFT, FC_OPER_SHR},    [FC_TOK_PLUS] = {FC_LV_ARITH, FC_OPER_ADD},
    [FC_TOK_MINUS] = {FC_LV_ARITH, FC_OPER_SUB},  [FC_TOK_STAR] = {FC_LV_TERM, FC_OPER_MUL},
    [FC_TOK_SLASH] = {FC_LV_TERM, FC_OPER_DIV},   [FC_TOK_SLASH2] = {FC_LV_TERM, FC_OPER_FLOORDIV},
    [FC_TOK_PERCENT] = {FC_LV_TERM, FC_OPER_MOD}, [FC_TOK_AT] = {FC_LV_TERM, FC_OPER_MATMUL},
    [FC_TOK_POWER] = {FC_LV_POWER, FC_OPER_POW},
};

/* ---- operators ------------------------------------------------------------------------------- */

static bool finish_all(fc_machine *m) {
    return fc_finish_above(m, FC_LV_EXPR, true);
}

/* "(" or "[" directly behind an operand. */
static fc_pstep postfix(fc_machine *m, fc_frame_kind kind) {
    fc_parser *p = m->p;
    p->toks[p->at].role = FC_ROLE_POSTFIX;
    if (kind == FC_FR_CALL && m->cur->kind == FC_EX_NAME && !m->cur->parens)
        p->toks[p->at - 1].role = FC_ROLE_CALLEE;
    return fc_open_bracket(m, kind, m->cur);
}

static fc_pstep member(fc_machine *m) {
    fc_parser *p = m->p;
    uint32_t dot = p->at++;
    fc_name *name = fc_node(p, sizeof *name);
    if (!name || !fc_expect_name(p, "a name", name)) return FC_P_FAILED;
    fc_expr *e = fc_expr_new(p, FC_EX_MEMBER, m->cur, fc_since(p, dot));
    if (!e) return FC_P_FAILED;
    e->op_at = e->at;
    e->at.begin = e->outer.begin = m->cur->outer.begin;
    e->object = m->cur;
    e->member = name;
    m->cur = e;
    return FC_P_OPERATOR;
}

static fc_pstep infix(fc_machine *m, fc_level level, fc_oper op) {
    fc_parser *p = m->p;
    /* A chain of comparisons stays open: it takes its next operand. */
    bool compare = level == FC_LV_COMPARE;
    if (!fc_finish_above(m, level, !compare && level != FC_LV_POWER)) return FC_P_FAILED;
    fc_frame *f = fc_frame_top(p);
    if (f->kind >= FC_FR_BASE && f->level > level) return fc_unfinished(m);
    if (!compare || f->kind != FC_FR_COMPARE) {
        f = fc_frame_push(p, compare ? FC_FR_COMPARE : FC_FR_BINARY, level, p->at,
                          level == FC_LV_POWER);
        if (!f) return FC_P_FAILED;
        f->op = compare ? FC_OPER_NONE : (uint8_t)op;
        if (!compare) f->left = m->cur;
    }
    if (compare) {
        fc_frame_append(f, m->cur);
        if (!fc_frame_link(p, f, op, p->at)) return FC_P_FAILED;
    }
    p->at++;
    return FC_P_OPERAND;
}

/* "?", and "if" behind an operand. */
static fc_pstep condition(fc_machine *m, fc_frame_kind kind) {
    fc_parser *p = m->p;
    if (!fc_finish_above(m, FC_LV_EXPR, false)) return FC_P_FAILED;
    if (fc_frame_top(p)->kind >= FC_FR_BASE && fc_frame_top(p)->level > FC_LV_EXPR)
        return fc_unfinished(m);
    fc_frame *f = fc_frame_push(p, kind, FC_LV_EXPR, p->at, true);
    if (!f) return FC_P_FAILED;
    f->left = m->cur;
    p->at++;
    return FC_P_OPERAND;
}

/* ":" of a condition or a slice, "else", ".." of an index, ",", and closing brackets. */
static fc_pstep separator(fc_machine *m, fc_tok k) {
    fc_parser *p = m->p;
    if (!finish_all(m)) return FC_P_FAILED;
    fc_frame *f = fc_frame_top(p);
    if ((k == FC_TOK_COLON && f->kind == FC_FR_COND) || (k == FC_TOK_ELSE && f->kind == FC_FR_IF)) {
        f->kind = k == FC_TOK_COLON ? FC_FR_ARM : FC_FR_IF_ELSE;
        f->mid = m->cur;
        f->tok2 = p->at++;
        return FC_P_OPERAND;
    }
    if ((k == FC_TOK_COLON && f->kind == FC_FR_SUBS && !f->name && f->part < 2) ||
        (k == FC_TOK_DOTDOT && f->kind == FC_FR_SUBS && f->name && f->part == 0)) {
        if (k == FC_TOK_COLON) p->toks[p->at].role = FC_ROLE_SLICE;
        f->parts[f->part++] = m->cur;
        p->at++;
        return FC_P_OPERAND;
    }
    bool closes = (k == FC_TOK_RPAREN && (f->kind == FC_FR_PAREN || f->kind == FC_FR_CALL)) ||
                  (k == FC_TOK_RBRACK && (f->kind == FC_FR_LIST || f->kind == FC_FR_SUBS));
    if (!closes && (k != FC_TOK_COMMA || f->kind <= FC_FR_BASE)) return fc_unfinished(m);
    if (f->kind == FC_FR_SUBS && !fc_complete_sub(m)) return FC_P_FAILED;
    fc_frame_append(f, m->cur);
    if (closes) return fc_close_bracket(m);
    p->at++;
    return FC_P_OPERAND;
}

static fc_pstep operator_(fc_machine *m) {
    fc_parser *p = m->p;
    fc_tok k = fc_peek(p);
    switch (k) {
    case FC_TOK_LPAREN: return postfix(m, FC_FR_CALL);
    case FC_TOK_LBRACK: return postfix(m, FC_FR_SUBS);
    case FC_TOK_DOT: return member(m);
    case FC_TOK_QUEST: return condition(m, FC_FR_COND);
    case FC_TOK_IF: return condition(m, FC_FR_IF);
    default: break;
    }
    if (binary[k].level) return infix(m, (fc_level)binary[k].level, (fc_oper)binary[k].op);
    return separator(m, k);
}

fc_expr *fc_parse_expr(fc_parser *p, fc_level least) {
    fc_machine m = {p, NULL};
    size_t base = p->frames.len;
    uint32_t depth = p->depth;
    fc_pstep s = fc_frame_push(p, FC_FR_BASE, least, p->at, false) ? FC_P_OPERAND : FC_P_FAILED;
    while (s == FC_P_OPERAND || s == FC_P_OPERATOR)
        s = s == FC_P_OPERAND ? fc_operand(&m) : operator_(&m);
    p->frames.len = base;
    p->depth = depth;
    return s == FC_P_DONE ? m.cur : NULL;
}

/* exprs = expr { "," expr } ; */
fc_expr *fc_parse_exprs(fc_parser *p, uint32_t *count) {
    fc_expr *first = NULL, **link = &first;
    *count = 0;
    do {
        fc_expr *e = fc_parse_expr(p, FC_LV_EXPR);
        if (!e) return NULL;
        *link = e;
        link = &e->next;
        ++*count;
    } while (fc_accept(p, FC_TOK_COMMA));
    return first;
}

/* range = arith ".." arith ; */
bool fc_parse_range(fc_parser *p, fc_expr **lo, fc_expr **hi) {
    *lo = fc_parse_expr(p, FC_LV_ARITH);
    if (!*lo || !fc_expect(p, FC_TOK_DOTDOT, "`..`")) return false;
    *hi = fc_parse_expr(p, FC_LV_ARITH);
    return *hi != NULL;
}
