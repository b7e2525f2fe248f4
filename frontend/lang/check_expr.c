/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_expr.c - one node of an expression: literals, names, operators, conditions.
 *
 * In: the values of the operands. Out: the value of the node. Before an expression is evaluated a
 * walk from the root down marks what is no value: names that are called, dtypes, modules. */
#include "frontend/lang/check_impl.h"
#include "ir/complex.h"

#include <math.h>

/* ---- roles ----------------------------------------------------------------------------------- */

static void skip(fc_call *f, const fc_expr *e) {
    memset(f->roles + (e->first - f->root->first), FC_R_SKIP, e->id - e->first + 1);
}

static void skip_parts(fc_call *f, const fc_expr *e) {
    memset(f->roles + (e->first - f->root->first), FC_R_SKIP, e->id - e->first);
}

/* name[k in a..b](...): only the ranges are values. */
static void mark_index_reduction(fc_call *f, const fc_expr *callee) {
    skip(f, callee->a);
    f->roles[callee->id - f->root->first] = FC_R_SKIP;
    for (const fc_expr *s = callee->list; s; s = s->next)
        f->roles[s->id - f->root->first] = FC_R_SKIP;
}

/* Which argument of a call is a dtype when it has no label: its number, from 0. */
static uint32_t dtype_position(const char *name) {
    return strcmp(name, "bitcast") == 0                              ? 1
           : strcmp(name, "dot") == 0 || strcmp(name, "matmul") == 0 ? 2
                                                                     : UINT32_MAX;
}

static void mark_call(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_expr *callee = e->callee;
    if (callee->kind != FC_EX_NAME) {
        fusec_dtype t;
        uint32_t module;
        if (fc_c_is_index_reduction(c, f, e)) {
            mark_index_reduction(f, callee);
            return;
        }
        skip(f, callee);
        if (callee->kind == FC_EX_MEMBER && fc_c_module(c, f, callee, &module)) return;
        if (callee->kind == FC_EX_SUBSCRIPT) skip_parts(f, e);
        for (const fc_expr *a = e->list; a; a = a->next) /* x.astype(f32) */
            if (a->kind == FC_EX_NAME && fc_c_dtype_name(f, a->text, a->len, &t)) skip(f, a);
        return;
    }
    skip(f, callee);
    if (fc_c_def(c, f->scope, callee->text)) return;
    uint32_t n = 0;
    for (const fc_expr *a = e->list; a; a = a->next, n++) {
        if (a->label && strcmp(a->label->text, "dtype") == 0) skip(f, a);
        if (fc_c_names_definition(callee->text, a, n)) skip(f, a);
        if (!a->label && n == dtype_position(callee->text)) skip(f, a);
        if (a->label && strcmp(a->label->text, "axis") == 0 && a->kind == FC_EX_NAME)
            f->roles[a->id - f->root->first] = FC_R_AXIS;
    }
}

/* h[k[i], j in a..b] += v: h, its indices and the ranges are values. */
static void mark_put(fc_call *f, const fc_expr *target) {
    f->roles[target->id - f->root->first] = FC_R_SKIP;
    for (const fc_expr *s = target->list; s; s = s->next)
        if (s->kind == FC_EX_INDEX) f->roles[s->id - f->root->first] = FC_R_SKIP;
}

void fc_c_mark_roles(fc_checker *c, fc_call *f) {
    for (uint32_t i = f->root->id + 1; i-- > f->root->first && !c->stop;) {
        const fc_expr *e = f->ast->exprs.at[i];
        if (f->roles[i - f->root->first] == FC_R_SKIP) continue;
        if (e->kind == FC_EX_CALL) mark_call(c, f, e);
        if (e->kind == FC_EX_PUT) mark_put(f, e->a);
        uint32_t module;
        if (e->kind == FC_EX_MEMBER &&
            (strcmp(e->member->text, "T") != 0 || fc_c_module(c, f, e, &module)))
            skip(f, e->object);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool predefined(const char *name, double *v) {
    static const struct {
        const char *name;
        double value;
    } rows[] = {{"pi", 3.14159265358979323846},
                {"tau", 6.28318530717958647693},
                {"e", 2.71828182845904523536},
                {"inf", (double)INFINITY},
                {"nan", (double)NAN}};
    for (size_t i = 0; i < FC_COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0) return *v = rows[i].value, true;
    return false;
}

bool fc_c_const_value(fc_checker *c, const fc_expr *e, uint32_t i, fc_value *out) {
    fc_const_entry *k = &c->consts.at[i];
    if (k->state == 2) {
        *out = k->value;
        return true;
    }
    if (k->state == 1) {
        fc_c_error(c, FUSEC_RECURSION, e->at, "the const `%s` needs its own value",
                   k->item->name.text);
        *out = FC_UNKNOWN;
        return true;
    }
    fc_call *f = fc_c_push(c, k->scope, NULL);
    if (!f) return false;
    k->state = 1;
    f->phase = FC_PH_CONST;
    f->const_id = i;
    f->stmt = NULL;
    fc_c_begin(c, f, k->item->value);
    return false;
}

static bool name_step(fc_checker *c, fc_call *f, const fc_expr *e, fc_value *out) {
    fc_binding *b = fc_c_find(f, e->text);
    const fc_dim_binding *d;
    uint32_t i;
    double v;
    bool axis = f->roles[e->id - f->root->first] == FC_R_AXIS;
    const fc_binder *index = fc_c_binder(f, e);
    if (index) {
        *out = fc_c_index_value(c, f, index);
    } else if (b) {
        b->used = true;
        *out = b->value;
    } else if ((d = fc_c_dim(f, e->text)) != NULL) {
        *out = d->dim == FC_DIM_NONE ? FC_UNKNOWN : fc_v_dim(c, d->dim);
    } else if (!f->def && f->phase == FC_PH_BODY && fc_c_snippet_input(c, f, e)) {
        b = fc_c_find(f, e->text);
        *out = b ? b->value : FC_UNKNOWN;
    } else if (fc_c_const(c, f->scope, e->text, &i)) {
        return fc_c_const_value(c, e, i, out);
    } else if (predefined(e->text, &v)) {
        *out = fc_v_float(v);
    } else if (axis) {
        *out = FC_UNKNOWN; /* the name of a dim; the call says if it is none */
    } else if (fc_c_free_index(c, f, e)) {
        *out = FC_UNKNOWN;
    } else if (!f->def && f->phase == FC_PH_BODY && !fc_c_is_builtin(e->text) &&
               !fc_c_def(c, f->scope, e->text)) {
        if (!fc_c_snippet_length(c, e, out)) fc_c_snippet_missing(c, f, e);
    } else {
        fc_c_unknown_name(c, e);
    }
    return true;
}

bool fc_c_names_value(fc_checker *c, fc_call *f, const fc_expr *e) {
    uint32_t i;
    const bool snippet = !f->def && f->phase == FC_PH_BODY;
    return fc_c_find(f, e->text) || fc_c_dim(f, e->text) || fc_c_const(c, f->scope, e->text, &i) ||
           (snippet && fc_c_snippet_input(c, f, e));
}

/* 2i */
static fc_value imaginary(fc_checker *c, double v) {
    fc_graph *g = c->g;
    const fc_node zero = fc_build_number(g, FUSEC_F64, 0);
    return fc_v_weak_node(c,
                          fc_c_built(c, fc_build_pair(g, zero, fc_build_number(g, FUSEC_F64, v))));
}

static fc_value number(fc_checker *c, const fc_expr *e) {
    if (e->imaginary && isfinite(e->number.f)) return imaginary(c, e->number.f);
    if (e->real && isfinite(e->number.f)) return fc_v_float(e->number.f);
    if (e->real) {
        fc_diag *d = fc_c_error(c, FUSEC_LITERAL_RANGE, e->at,
                                "%s is above the largest f64, 1.8e308", fc_c_quote(c, e->at));
        fc_diag_help(d, "`inf` is infinity");
        return FC_UNKNOWN;
    }
    if (!e->huge) return fc_v_int(e->number.i);
    fc_diag *d = fc_c_error(c, FUSEC_LITERAL_RANGE, e->at,
                            "%s is outside the integers, which reach from -2^63 to 2^64-1",
                            fc_c_quote(c, e->at));
    fc_diag_help(d, "with a point it is a float: %s.0", e->number.digits);
    return FC_UNKNOWN;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool is_one(const fc_checker *c, fc_dim d) {
    int64_t v;
    return fc_dim_is_const(&c->g->dims, d, &v) && v == 1;
}

int fc_c_same_dim(const fc_checker *c, fc_dim a, fc_dim b) {
    const fc_dimtab *t = &c->g->dims;
    uint32_t x, y;
    int64_t diff;
    if (a == b) return 1;
    if (fc_dim_diff(t, a, b, &diff)) return diff == 0;
    if (fc_dim_is_sym(t, a, &x) && fc_dim_is_sym(t, b, &y) && t->syms.at[x].kind == FC_SYM_NAMED &&
        t->syms.at[y].kind == FC_SYM_NAMED)
        return 0;
    return -1;
}

/* The axis, counted in the result, where two shapes do not broadcast; -1: they do. */
static int clash(const fc_checker *c, const fc_value *a, const fc_value *b, fc_dim *x, fc_dim *y) {
    fc_dim sa[FC_MAX_RANK], sb[FC_MAX_RANK];
    uint32_t ra = fc_v_shape(c, a, sa), rb = fc_v_shape(c, b, sb), r = ra > rb ? ra : rb;
    for (uint32_t i = 0; i < r; i++) {
        if (i + ra < r || i + rb < r) continue;
        *x = sa[i + ra - r];
        *y = sb[i + rb - r];
        if (!is_one(c, *x) && !is_one(c, *y) && fc_c_same_dim(c, *x, *y) == 0) return (int)i;
    }
    return -1;
}

/* A name, a call, a subscript: needs no parentheses before `[`. */
static bool is_postfix(const fc_expr *e) {
    return e->kind == FC_EX_NAME || e->kind == FC_EX_CALL || e->kind == FC_EX_SUBSCRIPT ||
           e->kind == FC_EX_MEMBER;
}

static bool named(const fc_checker *c, fc_dim d) {
    uint32_t s;
    return fc_dim_is_sym(&c->g->dims, d, &s) && c->g->dims.syms.at[s].kind == FC_SYM_NAMED;
}

static const char *array_text(fc_checker *c, const fc_expr *e) {
    const char *t = fc_c_quote(c, e->at);
    return is_postfix(e) ? t : fc_c_text(c, "(%s)", t);
}

/* Would `b` with a new last axis fit `a`? */
static bool fits_with_axis(const fc_checker *c, const fc_value *a, const fc_value *b) {
    fc_dim sa[FC_MAX_RANK], sb[FC_MAX_RANK];
    uint32_t ra = fc_v_shape(c, a, sa), rb = fc_v_shape(c, b, sb);
    if (rb == 0 || ra != rb + 1) return false;
    for (uint32_t i = 0; i < rb; i++)
        if (!is_one(c, sb[i]) && fc_c_same_dim(c, sa[i], sb[i]) != 1) return false;
    return true;
}

static void help_broadcast(fc_checker *c, fc_diag *d, const char *op, const fc_expr *ea,
                           const fc_expr *eb, const fc_value *a, const fc_value *b, int axis,
                           fc_dim x, fc_dim y) {
    uint32_t ra = fc_v_rank(c, a), rb = fc_v_rank(c, b);
    const char *ta = array_text(c, ea), *tb = array_text(c, eb);
    bool pairs = ra == rb && axis == 0 && (ra == 1 || ra == 2);
    if (pairs && ra == 2)
        pairs = fc_c_same_dim(c, fc_axis(c->g, a->node, 1), fc_axis(c->g, b->node, 1)) == 1;
    if (fits_with_axis(c, a, b)) {
        fc_diag_help(d, "to line it up with the other axes, write %s[..., None]", tb);
        return;
    }
    if (fits_with_axis(c, b, a)) {
        fc_diag_help(d, "to line it up with the other axes, write %s[..., None]", ta);
        return;
    }
    if (pairs && op) {
        const char *rest = ra == 2 ? ", :" : "", *what = ra == 2 ? "row" : "element";
        fc_diag_help(
            d, "for every %s of %s against every %s of %s, write %s[:, None%s] %s %s[None, :%s]",
            what, ta, what, tb, ta, rest, op, tb, rest);
    }
    if (named(c, x) && named(c, y))
        fc_diag_help(d, "if %s and %s are the same size, give them the same name in the signature",
                     fc_c_dim_text(c, x), fc_c_dim_text(c, y));
}

/* Reports the first pair of operands that does not broadcast; true if all do. */
static bool broadcasts(fc_checker *c, const fc_expr *at, fc_range op_at, uint32_t n,
                       const fc_expr *const *e, const fc_value *v) {
    for (uint32_t j = 1; j < n; j++) {
        for (uint32_t i = 0; i < j; i++) {
            fc_dim x, y;
            int axis = clash(c, &v[i], &v[j], &x, &y);
            if (axis < 0) continue;
            bool infix = at->kind != FC_EX_CALL && n == 2;
            const char *dx = fc_c_dim_text(c, x), *dy = fc_c_dim_text(c, y);
            fc_range whole = {e[i]->outer.begin, e[j]->outer.end};
            fc_diag *d =
                infix ? fc_c_error(c, FUSEC_SHAPE_MISMATCH, op_at,
                                   "`%s` does not broadcast: axis %d is %s on the left and %s on "
                                   "the right",
                                   fc_c_quote(c, whole), axis, dx, dy)
                      : fc_c_error(c, FUSEC_SHAPE_MISMATCH, op_at,
                                   "`%s` does not broadcast: axis %d is %s in %s and %s in %s",
                                   fc_c_quote(c, at->at), axis, dx, fc_c_quote(c, e[i]->at), dy,
                                   fc_c_quote(c, e[j]->at));
            if (infix || at->kind == FC_EX_COND) {
                fc_diag_partner(d, e[i]->outer);
                fc_diag_partner(d, e[j]->outer);
            }
            fc_c_fact(c, d, e[i], &v[i]);
            fc_c_fact(c, d, e[j], &v[j]);
            help_broadcast(c, d, infix ? fc_c_quote(c, op_at) : NULL, e[i], e[j], &v[i], &v[j],
                           axis, x, y);
            return false;
        }
    }
    return true;
}

/* ---- elementwise rows ------------------------------------------------------------------------ */

/* The dtype the operands meet in; for FLOAT rows integers do not have to have a common one. */
static bool meet(fc_checker *c, fc_op op, fc_range op_at, uint32_t n, const fc_expr *const *e,
                 const fc_value *v, fusec_dtype *t, bool *weak) {
    if (fc_ops[op].rule != FC_RULE_FLOAT) return fc_c_combine(c, op_at, n, e, v, t, weak);
    bool any = false, complex = false;
    *weak = true;
    for (uint32_t i = 0; i < n; i++) {
        complex |= fc_v_weakness(&v[i]) == FC_W_COMPLEX;
        if (fc_v_weak(&v[i])) continue;
        fusec_dtype ti = fc_v_dtype(c, &v[i]);
        *weak = false;
        if (!fc_is_float(ti) && !fc_is_complex(ti)) continue;
        if (any)
            fc_promote(*t, ti, t);
        else
            *t = ti;
        any = true;
    }
    if (!any) *t = *weak ? FUSEC_F64 : c->g->default_float;
    if (complex) *t = fc_complex_of(*t);
    return true;
}

static bool check_bools(fc_checker *c, uint32_t n, const fc_expr *const *e, const fc_value *v) {
    bool good = true;
    for (uint32_t i = 0; i < n; i++) {
        if (fc_v_dtype(c, &v[i]) == FUSEC_BOOL) continue;
        bool weak = fc_v_weak(&v[i]);
        fc_diag *d =
            fc_c_error(c, FUSEC_NOT_BOOL, e[i]->at, "%s is %s, and a condition is bool",
                       fc_c_quote(c, e[i]->at), weak ? "a number" : fc_c_value_type(c, &v[i]));
        fc_c_fact(c, d, e[i], &v[i]);
        if (!weak) fc_diag_help(d, "%s != 0", fc_c_quote(c, e[i]->outer));
        good = false;
    }
    return good;
}

static bool no_complex(fc_checker *c, fc_op op, const fc_expr *at, fc_range op_at, uint32_t n,
                       const fc_expr *const *e, const fc_value *v, fusec_dtype t) {
    const char *what = at->kind == FC_EX_CALL ? fc_c_text(c, "%s()", fc_c_quote(c, at->callee->at))
                                              : fc_c_text(c, "`%s`", fc_c_quote(c, op_at));
    fc_diag *d = fc_c_error(c, FUSEC_DTYPE_MISMATCH, op_at, "%s of %s: %s", what, fc_dtypes[t].name,
                            fc_complex_reason(op));
    for (uint32_t i = 0; i < n; i++) fc_c_fact(c, d, e[i], &v[i]);
    return false;
}

/* What the rules say about bool and floats, in words of the source. */
static bool accepts(fc_checker *c, fc_op op, const fc_expr *at, fc_range op_at, uint32_t n,
                    const fc_expr *const *e, const fc_value *v, fusec_dtype t) {
    fc_rule rule = fc_ops[op].rule;
    if (op == FC_OP_pow && fc_is_int(t) && v[1].kind == FC_V_INT && v[1].i < 0) {
        fc_diag *d = fc_c_error(c, FUSEC_LITERAL_RANGE, at->at,
                                "an integer to a negative power is no integer");
        fc_c_fact(c, d, e[0], &v[0]);
        fc_diag_help(d, "cast to a float first: f32(%s)", fc_c_quote(c, e[0]->at));
        return false;
    }
    if (fc_is_complex(t) && !fc_complex_takes(op)) return no_complex(c, op, at, op_at, n, e, v, t);
    bool bits = rule == FC_RULE_BITS && fc_is_float(t);
    bool no_bool = t == FUSEC_BOOL && (rule == FC_RULE_ARITH || rule == FC_RULE_BITS) &&
                   op != FC_OP_add && op != FC_OP_mul && op != FC_OP_fmin && op != FC_OP_fmax &&
                   op != FC_OP_bit_and && op != FC_OP_bit_or && op != FC_OP_bit_xor &&
                   op != FC_OP_bit_not;
    if (!bits && !no_bool) return true;
    const char *what = at->kind == FC_EX_CALL ? fc_c_text(c, "%s()", fc_c_quote(c, at->callee->at))
                                              : fc_c_text(c, "`%s`", fc_c_quote(c, op_at));
    fc_diag *d =
        bits ? fc_c_error(c, FUSEC_DTYPE_MISMATCH, op_at, "%s takes integers, and this is %s", what,
                          fc_dtypes[t].name)
             : fc_c_error(c, FUSEC_DTYPE_MISMATCH, op_at, "%s is not defined on bool", what);
    for (uint32_t i = 0; i < n; i++) {
        if (at->kind != FC_EX_CALL) fc_diag_partner(d, e[i]->outer);
        fc_c_fact(c, d, e[i], &v[i]);
    }
    const bool caret = op == FC_OP_bit_xor && n == 2 && at->kind != FC_EX_CALL;
    if (bits && caret)
        fc_diag_help(d, "a power: %s**%s", fc_c_quote(c, e[0]->outer), fc_c_quote(c, e[1]->outer));
    else if (bits)
        fc_diag_help(d, "the bits of a float: bitcast(%s, u%d)", fc_c_quote(c, e[0]->at),
                     8 * fc_dtypes[t].bytes);
    else
        fc_diag_help(d, "cast to a number: i32(%s)", fc_c_quote(c, e[0]->at));
    return false;
}

fc_row_operands fc_c_row_operands(fc_checker *c, fc_op op, const fc_expr *at, fc_range op_at,
                                  uint32_t n, const fc_expr *const *e, const fc_value *v) {
    bool good = true;
    fusec_dtype t;
    uint32_t from = op == FC_OP_where ? 1 : 0;
    fc_row_operands r = {.node = {FC_NONODE, FC_NONODE, FC_NONODE}};
    for (uint32_t i = 0; i < n; i++) good &= fc_c_operand(c, e[i], &v[i]);
    if (good && from) good = check_bools(c, 1, e, v);
    if (good && fc_ops[op].rule == FC_RULE_LOGIC) good = check_bools(c, n, e, v);
    good = good && meet(c, op, op_at, n - from, e + from, v + from, &t, &r.weak) &&
           accepts(c, op, at, op_at, n, e, v, t) && broadcasts(c, at, op_at, n, e, v);
    if (!good) return r;
    if (from && r.weak && v[0].kind == FC_V_BOOL) { /* a choice between weak values is made now */
        const fc_value *arm = v[0].truth ? &v[1] : &v[2];
        if (fc_v_weakness(&v[1]) == fc_v_weakness(&v[2])) r.chosen = arm;
        if (r.chosen) return r;
    }
    if (from && r.weak && !fc_v_weak(&v[0])) { /* an array of weak arms needs a dtype */
        r.weak = false;
        if (t == FUSEC_F64) t = c->g->default_float;
        if (t == FUSEC_C128) t = fc_complex_of(c->g->default_float);
    }
    for (uint32_t i = 0; i < n; i++) {
        r.node[i] = fc_c_node(c, e[i], &v[i], i < from ? FUSEC_BOOL : t);
        if (r.node[i] == FC_NONODE) return r;
    }
    r.element = fc_c_line_up(c, n, v, r.node);
    r.good = !r.element || fc_c_no_arrays(c, n, e, v);
    return r;
}

fc_value fc_c_row(fc_checker *c, fc_op op, const fc_expr *at, fc_range op_at, uint32_t n,
                  const fc_expr *const *e, const fc_value *v) {
    const fc_row_operands o = fc_c_row_operands(c, op, at, op_at, n, e, v);
    if (o.chosen) return *o.chosen;
    if (!o.good) return FC_UNKNOWN;
    fc_node r = fc_c_built(c, fc_build_op(c->g, op, o.node[0], o.node[1], o.node[2]));
    fc_value out = o.weak ? fc_v_weak_node(c, r) : fc_v_node(r);
    out.element = o.element && out.kind == FC_V_NODE;
    return out;
}

/* ---- operators ------------------------------------------------------------------------------- */

static fc_value unary(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_value *a = fc_c_val(f, e->a);
    fc_oper op = (fc_oper)e->op;
    const fc_expr *parts[1] = {e->a};
    if (!fc_c_operand(c, e->a, a)) return FC_UNKNOWN;
    if (op == FC_OPER_PLUS) return *a;
    if (fc_v_weak(a) && a->kind != FC_V_NODE && op != FC_OPER_NOT && a->kind != FC_V_BOOL)
        return fc_c_weak_unary(c, e, op, a);
    return fc_c_row(c, fc_c_row_of(op), e, e->op_at, 1, parts, a);
}

static fc_value binary(fc_checker *c, fc_call *f, const fc_expr *e) {
    fc_oper op = (fc_oper)e->op;
    const fc_expr *parts[2] = {e->a, e->b};
    fc_value v[2] = {*fc_c_val(f, e->a), *fc_c_val(f, e->b)};
    for (int i = 0; i < 2 && op == FC_OPER_MATMUL; i++) {
        if (!fc_v_element(&v[i])) continue;
        fc_diag *d =
            fc_c_error(c, FUSEC_SHAPE_MISMATCH, e->op_at, "`@` takes arrays, and %s is one element",
                       fc_c_quote(c, parts[i]->at));
        fc_diag_help(d, "over an index: sum[k](... * ...)");
        return FC_UNKNOWN;
    }
    if (op == FC_OPER_MATMUL) {
        return fc_c_matmul(c, e->op_at, parts, v, NULL);
    }
    bool good = fc_c_operand(c, e->a, &v[0]);
    good &= fc_c_operand(c, e->b, &v[1]);
    if (!good) return FC_UNKNOWN;
    bool logic = op == FC_OPER_AND || op == FC_OPER_OR;
    bool weak = fc_v_weak(&v[0]) && fc_v_weak(&v[1]);
    bool bools = fc_v_weakness(&v[0]) <= FC_W_BOOL && fc_v_weakness(&v[1]) <= FC_W_BOOL;
    if (weak && !logic && !bools) return fc_c_weak_binary(c, e, op, &v[0], &v[1]);
    return fc_c_row(c, fc_c_row_of(op), e, e->op_at, 2, parts, v);
}

/* a < b <= c is a < b and b <= c. */
static fc_value compare(fc_checker *c, fc_call *f, const fc_expr *e) {
    fc_value all = FC_UNKNOWN;
    const fc_expr *left = e->list;
    bool good = true;
    for (uint32_t i = 0; i + 1 < e->count; i++, left = left->next) {
        const fc_expr *parts[2] = {left, left->next};
        fc_value v[2] = {*fc_c_val(f, left), *fc_c_val(f, left->next)};
        const fc_link *link = &e->links[i];
        bool one_good = fc_c_operand(c, left, &v[0]);
        one_good &= fc_c_operand(c, left->next, &v[1]);
        bool weak = one_good && fc_v_weak(&v[0]) && fc_v_weak(&v[1]);
        fc_value one = weak ? fc_c_weak_compare(c, e, link->op, &v[0], &v[1])
                            : fc_c_row(c, fc_c_row_of(link->op), e, link->at, 2, parts, v);
        good &= one.kind != FC_V_UNKNOWN;
        if (!good) continue;
        const fc_expr *both[2] = {e, e};
        fc_value pair[2] = {all, one};
        all = i == 0 ? one : fc_c_row(c, FC_OP_logical_and, e, link->at, 2, both, pair);
    }
    return good ? all : FC_UNKNOWN;
}

static fc_value list_value(fc_checker *c, fc_call *f, const fc_expr *e) {
    fc_value v = {.kind = e->kind == FC_EX_TUPLE ? FC_V_TUPLE : FC_V_LIST, .count = e->count};
    v.items = fc_c_alloc(c, (e->count + 1) * sizeof *v.items);
    if (!v.items) return FC_UNKNOWN;
    uint32_t i = 0;
    for (const fc_expr *p = e->list; p; p = p->next) v.items[i++] = *fc_c_val(f, p);
    return v;
}

/* x.T, or a const of a module; false: it has to be evaluated first. */
static bool member(fc_checker *c, fc_call *f, const fc_expr *e, fc_value *out) {
    uint32_t scope, i;
    if (fc_c_module(c, f, e, &scope)) {
        if (fc_c_module_const(c, scope, e->member->text, &i)) return fc_c_const_value(c, e, i, out);
        fc_c_no_member(c, scope, e, false);
    } else if (strcmp(e->member->text, "T") == 0) {
        *out = fc_c_transpose2(c, f, e);
    } else {
        fc_c_bad_member(c, e);
    }
    return true;
}

/* What is made from now on comes from this line. */
static void set_place(fc_checker *c, const fc_call *f, const fc_expr *e) {
    const fc_lang_request *rq = c->rq;
    if (f->ast == rq->snippet || f->ast == rq->program)
        c->g->place = fc_source_line_of(f->ast->src, e->at.begin) |
                      (f->ast == rq->snippet ? FC_PLACE_SNIPPET : 0);
}

bool fc_c_step(fc_checker *c, fc_call *f, const fc_expr *e) {
    fc_value *out = fc_c_val(f, e);
    fc_value r = FC_UNKNOWN;
    set_place(c, f, e);
    switch ((fc_expr_kind)e->kind) {
    case FC_EX_NUMBER: r = number(c, e); break;
    case FC_EX_STRING: r.kind = FC_V_STRING; break;
    case FC_EX_BOOL: r = fc_v_bool(e->truth); break;
    case FC_EX_NAME:
        if (!name_step(c, f, e, &r)) return false;
        break;
    case FC_EX_UNARY: r = unary(c, f, e); break;
    case FC_EX_BINARY: r = binary(c, f, e); break;
    case FC_EX_COMPARE: r = compare(c, f, e); break;
    case FC_EX_COND: {
        const fc_expr *parts[3] = {e->a, e->b, e->c};
        fc_value v[3] = {*fc_c_val(f, e->a), *fc_c_val(f, e->b), *fc_c_val(f, e->c)};
        r = fc_c_row(c, FC_OP_where, e, e->op_at, 3, parts, v);
        break;
    }
    case FC_EX_CALL: return fc_c_call(c, f, e);
    case FC_EX_PUT: r = fc_c_put(c, f, e); break;
    case FC_EX_SUBSCRIPT: r = fc_c_subscript(c, f, e); break;
    case FC_EX_MEMBER:
        if (!member(c, f, e, &r)) return false;
        break;
    case FC_EX_TUPLE:
    case FC_EX_LIST: r = list_value(c, f, e); break;
    default: break; /* parts of subscripts */
    }
    *out = r;
    return true;
}
