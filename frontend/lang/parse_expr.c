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
 * atom       = NUMBER | STRING | "true" | "false" | NAME | "(" expr { "," expr } ")" | "[" [ exprs
 * ] "]" ; args       = arg { "," arg } [ "," ] ;          arg = [ NAME "=" ] expr ; subs       =
 * sub { "," sub } ; sub        = expr | [ expr ] ":" [ expr ] [ ":" [ expr ] ] | "..." | "None" |
 * NAME "in" range ;
 *
 * The rules are one loop over a stack of frames: an operator or bracket waits there for its right
 * side. In the state OPERAND an operand must come next; in OPERATOR `cur` holds one, and what comes
 * next decides whether it grows or belongs to a frame. A frame of a level is finished by an
 * operator of a lower level. */
#include "frontend/lang/parse_impl.h"

typedef enum frame_kind {
    /* operators */
    F_PREFIX,
    F_BINARY,
    F_COMPARE,
    F_ARM,     /* c ? a : _ */
    F_IF_ELSE, /* a if c else _, as other languages write it */
    /* cannot be finished by an operator */
    F_COND, /* c ? _ */
    F_IF,   /* a if _ */
    /* brackets */
    F_BASE, /* where the expression began */
    F_PAREN,
    F_LIST,
    F_CALL,
    F_SUBS
} frame_kind;

typedef enum step { OPERAND, OPERATOR, DONE, FAILED } step;

typedef struct machine {
    fc_parser *p;
    fc_expr *cur;
} machine;

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

/* ---- frames ---------------------------------------------------------------------------------- */

static fc_frame *top(fc_parser *p) {
    return &p->frames.at[p->frames.len - 1];
}

static fc_frame *push(fc_parser *p, frame_kind kind, fc_level level, uint32_t tok, bool counted) {
    fc_frame f = {.kind = (uint8_t)kind, .level = (uint8_t)level, .tok = tok, .counted = counted};
    if (counted && !fc_enter(p, tok)) return NULL;
    if (fc_push(p->alloc, &p->frames, f)) return top(p);
    fc_diag_oom(p->ds);
    p->stop = true;
    return NULL;
}

static void pop(fc_parser *p) {
    if (top(p)->counted) fc_leave(p);
    p->frames.len--;
}

static void append(fc_frame *f, fc_expr *e) {
    e->label = f->name;
    f->name = NULL;
    if (f->tail)
        f->tail->next = e;
    else
        f->head = e;
    f->tail = e;
    f->count++;
}

static bool add_link(fc_parser *p, fc_frame *f, fc_oper op, uint32_t tok) {
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

static void report_if(fc_parser *p, const fc_frame *f, const fc_expr *no) {
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
static bool finish(machine *m) {
    fc_parser *p = m->p;
    fc_frame f = *top(p);
    fc_expr *e;
    fc_range at = {p->toks[f.tok].begin, m->cur->outer.end};
    pop(p);
    if (f.left) at.begin = f.left->outer.begin;
    if (f.kind == F_PREFIX) {
        e = fc_expr_new(p, FC_EX_UNARY, m->cur, at);
        if (e) e->a = m->cur;
    } else if (f.kind == F_BINARY) {
        e = fc_expr_new(p, FC_EX_BINARY, f.left, at);
        if (e) e->a = f.left, e->b = m->cur;
    } else if (f.kind == F_COMPARE) {
        append(&f, m->cur);
        e = fc_expr_new(p, FC_EX_COMPARE, f.head, join(f.head, m->cur));
        if (e) e->list = f.head, e->count = f.count, e->links = f.links;
    } else {
        bool words = f.kind == F_IF_ELSE;
        if (words) report_if(p, &f, m->cur);
        e = fc_expr_new(p, FC_EX_COND, f.left, at);
        if (e) e->a = words ? f.mid : f.left, e->b = words ? f.left : f.mid, e->c = m->cur;
    }
    if (!e) return false;
    e->op = f.op;
    e->op_at = fc_tok_range(p, f.tok);
    m->cur = e;
    return true;
}

/* Finishes the operators on top that bind more tightly than `level`, or as tightly if they are
 * `left`. */
static bool finish_above(machine *m, fc_level level, bool left) {
    for (;;) {
        const fc_frame *f = top(m->p);
        if (f->kind > F_IF_ELSE) return true;
        if (f->level < level || (f->level == level && !left)) return true;
        if (!finish(m)) return false;
    }
}

static bool finish_all(machine *m) {
    return finish_above(m, FC_LV_EXPR, true);
}

/* ---- brackets -------------------------------------------------------------------------------- */

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

/* Reads the closing bracket of the frame on top, whose elements are complete. */
static step close_bracket(machine *m) {
    fc_parser *p = m->p;
    fc_frame f = *top(p);
    p->at++;
    pop(p);
    if (f.kind == F_PAREN && f.count == 1) {
        m->cur = f.head;
        m->cur->parens = true;
        m->cur->outer = fc_since(p, f.tok);
        return OPERATOR;
    }
    if (f.kind == F_PAREN || f.kind == F_LIST) {
        m->cur = list_node(p, f.kind == F_PAREN ? FC_EX_TUPLE : FC_EX_LIST, &f, f.head);
    } else {
        m->cur = list_node(p, f.kind == F_CALL ? FC_EX_CALL : FC_EX_SUBSCRIPT, &f, f.left);
        if (m->cur) {
            m->cur->callee = f.left;
            m->cur->at.begin = m->cur->outer.begin = f.left->outer.begin;
        }
    }
    return m->cur ? OPERATOR : FAILED;
}

/* A slice or index range on top of the stack is complete: makes its node the current operand. */
static bool complete_sub(machine *m) {
    fc_parser *p = m->p;
    fc_frame *f = top(p);
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

/* What comes next belongs to no frame: a bracket or "?" is not closed. */
static step unfinished(machine *m) {
    fc_parser *p = m->p;
    const fc_frame *f = top(p);
    fc_range at = fc_tok_range(p, p->at);
    /* A missing comma is likely only on the same line. */
    bool comma = starts_operand(fc_peek(p)) && p->at > 0 &&
                 fc_source_one_line(p->src, (fc_range){p->toks[p->at - 1].end, at.begin});
    if (f->kind == F_BASE) return DONE;
    if (fc_peek(p) == FC_TOK_ASSIGN) {
        fc_diag *d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at,
                                   "`=` binds a name and can't stand in an expression");
        fc_diag_help(d, "a comparison is written ==");
    } else if (f->kind == F_IF) {
        report_if(p, f, NULL);
    } else if (f->kind == F_COND) {
        fc_diag_related(fc_expected(p, "`:`"), fc_tok_range(p, f->tok), "for this `?`");
    } else if (f->kind == F_SUBS && f->name && f->part == 0) {
        fc_expected(p, "`..`");
    } else if (f->kind == F_PAREN || f->kind == F_CALL) {
        fc_expected_close(p, comma ? "`,` or `)`" : "`)`", f->tok);
    } else {
        fc_expected_close(p, comma ? "`,` or `]`" : "`]`", f->tok);
    }
    return FAILED;
}

/* ---- operands -------------------------------------------------------------------------------- */

static step no_operand(machine *m) {
    fc_parser *p = m->p;
    const fc_frame *f = top(p);
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
    case FC_TOK_LAMBDA:
        d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "there are no lambdas");
        fc_diag_help(d, "functions have names: def f(x) = ...");
        break;
    case FC_TOK_NONE:
        d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "`None` stands in subscripts only");
        fc_diag_help(d, "x[None, :] adds an axis of size 1");
        break;
    case FC_TOK_ASSIGN:
        if (f->kind == F_BINARY && p->toks[f->tok].end == at.begin) {
            at.begin = p->toks[f->tok].begin;
            const char *op = fc_oper_text((fc_oper)f->op);
            d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "there is no `%s=`", op);
            if (f->left->kind == FC_EX_NAME)
                fc_diag_help(d, "%s = %s %s ...", f->left->text, f->left->text, op);
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
    return FAILED;
}

static step leaf(machine *m, fc_expr_kind kind) {
    fc_parser *p = m->p;
    m->cur = fc_expr_leaf(p, kind, p->at++);
    return m->cur ? OPERATOR : FAILED;
}

static step open_bracket(machine *m, frame_kind kind, fc_expr *left) {
    fc_parser *p = m->p;
    fc_frame *f = push(p, kind, FC_LV_EXPR, p->at, true);
    if (!f) return FAILED;
    f->left = left;
    p->at++;
    if (kind == F_LIST && fc_peek(p) == FC_TOK_RBRACK) return close_bracket(m);
    return OPERAND;
}

static step prefix(machine *m, fc_level level, fc_oper op) {
    fc_parser *p = m->p;
    const fc_frame *above = top(p);
    bool fits = above->kind == F_COND || above->kind == F_IF || above->level <= level;
    /* The right side of ** is a unary expression, although ** binds more tightly. */
    if (above->kind == F_BINARY && level == FC_LV_UNARY) fits = true;
    if (!fits) return no_operand(m);
    p->toks[p->at].role = FC_ROLE_UNARY;
    fc_frame *f = push(p, F_PREFIX, level, p->at, true);
    if (!f) return FAILED;
    f->op = (uint8_t)op;
    p->at++;
    return OPERAND;
}

static const fc_name *read_name(fc_parser *p) {
    fc_name *name = fc_node(p, sizeof *name);
    return name && fc_name_from(p, p->at++, name) ? name : NULL;
}

/* In a call: ")" also behind a comma, and "NAME =". */
static step argument(machine *m, bool *handled) {
    fc_parser *p = m->p;
    fc_frame *f = top(p);
    if (f->name) return OPERAND;
    if (fc_peek(p) == FC_TOK_RPAREN) {
        *handled = true;
        return close_bracket(m);
    }
    if (fc_peek(p) == FC_TOK_NAME && fc_peek2(p) == FC_TOK_ASSIGN) {
        p->toks[p->at].role = FC_ROLE_LABEL;
        p->toks[p->at + 1].role = FC_ROLE_ARG;
        f->name = read_name(p);
        p->at++;
        *handled = true;
        return f->name ? OPERAND : FAILED;
    }
    return OPERAND;
}

/* In a subscript: parts of slices that are left out, "...", "None", and "NAME in". */
static step subscript(machine *m, bool *handled) {
    fc_parser *p = m->p;
    fc_frame *f = top(p);
    fc_tok k = fc_peek(p);
    if (f->name) return OPERAND;
    if (f->part == 0) f->tok2 = p->at;
    *handled = true;
    if (k == FC_TOK_COLON && f->part < 2) {
        p->toks[p->at++].role = FC_ROLE_SLICE;
        f->part++;
        return OPERAND;
    }
    if (f->part > 0 && (k == FC_TOK_COMMA || k == FC_TOK_RBRACK)) {
        m->cur = NULL;
        return complete_sub(m) ? OPERATOR : FAILED;
    }
    if (f->part == 0 && (k == FC_TOK_ELLIPSIS || k == FC_TOK_NONE)) {
        step s = leaf(m, k == FC_TOK_NONE ? FC_EX_NEWAXIS : FC_EX_ELLIPSIS);
        if (s == OPERATOR && fc_peek(p) != FC_TOK_COMMA && fc_peek(p) != FC_TOK_RBRACK) {
            fc_expected_close(p, "`,` or `]`", top(p)->tok);
            return FAILED;
        }
        return s;
    }
    if (f->part == 0 && k == FC_TOK_NAME && fc_peek2(p) == FC_TOK_IN) {
        f->name = read_name(p);
        f->level = FC_LV_ARITH;
        p->at++;
        return f->name ? OPERAND : FAILED;
    }
    *handled = false;
    return OPERAND;
}

static step operand(machine *m) {
    fc_parser *p = m->p;
    bool handled = false;
    step s = OPERAND;
    if (top(p)->kind == F_CALL) s = argument(m, &handled);
    if (top(p)->kind == F_SUBS && !handled) s = subscript(m, &handled);
    if (handled) return s;
    switch (fc_peek(p)) {
    case FC_TOK_NUMBER: return leaf(m, FC_EX_NUMBER);
    case FC_TOK_STRING: return leaf(m, FC_EX_STRING);
    case FC_TOK_TRUE:
    case FC_TOK_FALSE: return leaf(m, FC_EX_BOOL);
    case FC_TOK_NAME: return leaf(m, FC_EX_NAME);
    case FC_TOK_LPAREN: return open_bracket(m, F_PAREN, NULL);
    case FC_TOK_LBRACK: return open_bracket(m, F_LIST, NULL);
    case FC_TOK_MINUS: return prefix(m, FC_LV_UNARY, FC_OPER_NEG);
    case FC_TOK_PLUS: return prefix(m, FC_LV_UNARY, FC_OPER_PLUS);
    case FC_TOK_TILDE: return prefix(m, FC_LV_UNARY, FC_OPER_BIT_NOT);
    case FC_TOK_BANG: return prefix(m, FC_LV_UNARY, FC_OPER_NOT);
    case FC_TOK_NOT: return prefix(m, FC_LV_NOT, FC_OPER_NOT);
    default: return no_operand(m);
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

/* "(" or "[" directly behind an operand. */
static step postfix(machine *m, frame_kind kind) {
    fc_parser *p = m->p;
    p->toks[p->at].role = FC_ROLE_POSTFIX;
    if (kind == F_CALL && m->cur->kind == FC_EX_NAME && !m->cur->parens)
        p->toks[p->at - 1].role = FC_ROLE_CALLEE;
    return open_bracket(m, kind, m->cur);
}

static step member(machine *m) {
    fc_parser *p = m->p;
    uint32_t dot = p->at++;
    fc_name *name = fc_node(p, sizeof *name);
    if (!name || !fc_expect_name(p, "a name", name)) return FAILED;
    fc_expr *e = fc_expr_new(p, FC_EX_MEMBER, m->cur, fc_since(p, dot));
    if (!e) return FAILED;
    e->op_at = e->at;
    e->at.begin = e->outer.begin = m->cur->outer.begin;
    e->object = m->cur;
    e->member = name;
    m->cur = e;
    return OPERATOR;
}

static step infix(machine *m, fc_level level, fc_oper op) {
    fc_parser *p = m->p;
    /* A chain of comparisons stays open: it takes its next operand. */
    bool compare = level == FC_LV_COMPARE;
    if (!finish_above(m, level, !compare && level != FC_LV_POWER)) return FAILED;
    fc_frame *f = top(p);
    if (f->kind >= F_BASE && f->level > level) return unfinished(m);
    if (!compare || f->kind != F_COMPARE) {
        f = push(p, compare ? F_COMPARE : F_BINARY, level, p->at, level == FC_LV_POWER);
        if (!f) return FAILED;
        f->op = compare ? FC_OPER_NONE : (uint8_t)op;
        if (!compare) f->left = m->cur;
    }
    if (compare) {
        append(f, m->cur);
        if (!add_link(p, f, op, p->at)) return FAILED;
    }
    p->at++;
    return OPERAND;
}

/* "?", and "if" behind an operand. */
static step condition(machine *m, frame_kind kind) {
    fc_parser *p = m->p;
    if (!finish_above(m, FC_LV_EXPR, false)) return FAILED;
    if (top(p)->kind >= F_BASE && top(p)->level > FC_LV_EXPR) return unfinished(m);
    fc_frame *f = push(p, kind, FC_LV_EXPR, p->at, true);
    if (!f) return FAILED;
    f->left = m->cur;
    p->at++;
    return OPERAND;
}

/* ":" of a condition or a slice, "else", ".." of an index, ",", and closing brackets. */
static step separator(machine *m, fc_tok k) {
    fc_parser *p = m->p;
    if (!finish_all(m)) return FAILED;
    fc_frame *f = top(p);
    if ((k == FC_TOK_COLON && f->kind == F_COND) || (k == FC_TOK_ELSE && f->kind == F_IF)) {
        f->kind = k == FC_TOK_COLON ? F_ARM : F_IF_ELSE;
        f->mid = m->cur;
        f->tok2 = p->at++;
        return OPERAND;
    }
    if ((k == FC_TOK_COLON && f->kind == F_SUBS && !f->name && f->part < 2) ||
        (k == FC_TOK_DOTDOT && f->kind == F_SUBS && f->name && f->part == 0)) {
        if (k == FC_TOK_COLON) p->toks[p->at].role = FC_ROLE_SLICE;
        f->parts[f->part++] = m->cur;
        p->at++;
        return OPERAND;
    }
    bool closes = (k == FC_TOK_RPAREN && (f->kind == F_PAREN || f->kind == F_CALL)) ||
                  (k == FC_TOK_RBRACK && (f->kind == F_LIST || f->kind == F_SUBS));
    if (!closes && (k != FC_TOK_COMMA || f->kind <= F_BASE)) return unfinished(m);
    if (f->kind == F_SUBS && !complete_sub(m)) return FAILED;
    append(f, m->cur);
    if (closes) return close_bracket(m);
    p->at++;
    return OPERAND;
}

static step operator_(machine *m) {
    fc_parser *p = m->p;
    fc_tok k = fc_peek(p);
    switch (k) {
    case FC_TOK_LPAREN: return postfix(m, F_CALL);
    case FC_TOK_LBRACK: return postfix(m, F_SUBS);
    case FC_TOK_DOT: return member(m);
    case FC_TOK_QUEST: return condition(m, F_COND);
    case FC_TOK_IF: return condition(m, F_IF);
    default: break;
    }
    if (binary[k].level) return infix(m, (fc_level)binary[k].level, (fc_oper)binary[k].op);
    return separator(m, k);
}

fc_expr *fc_parse_expr(fc_parser *p, fc_level least) {
    machine m = {p, NULL};
    size_t base = p->frames.len;
    uint32_t depth = p->depth;
    step s = push(p, F_BASE, least, p->at, false) ? OPERAND : FAILED;
    while (s == OPERAND || s == OPERATOR) s = s == OPERAND ? operand(&m) : operator_(&m);
    p->frames.len = base;
    p->depth = depth;
    return s == DONE ? m.cur : NULL;
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
