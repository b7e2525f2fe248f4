/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* value.c - values: numbers, how they adapt to the arrays they meet, constants, casts.
 *
 * A number has no graph and no dtype. With an array it becomes a constant of the array's dtype: an
 * integer of any dtype it fits, a fraction of float dtypes only. A fraction that meets integers or
 * bools makes all operands the default float, an integer that meets bools makes them i64. Between
 * themselves numbers are i64 and f64. */
#include "frontend/capi/capi.h"

#include <math.h>

#include "ir/eval.h"
#include "ir/float_state.h"

fusec_value fc_failed(fusec_status s) {
    return (fusec_value){.bits = (uint64_t)s, .kind = FC_EMPTY};
}

static fusec_value number(uint32_t kind, uint64_t bits) {
    return (fusec_value){.bits = bits, .kind = kind};
}

fusec_value fusec_num(double v) {
    return number(FC_FLOAT, fc_const_bits(FUSEC_F64, v));
}

fusec_value fusec_int(int64_t v) {
    return number(FC_INT, (uint64_t)v);
}

/* ---- checks of operands ---------------------------------------------------------------------- */

static bool known_kind(const fusec_value *v) {
    return v->kind <= FC_BOOL;
}

static void refuse(fusec_graph *g, const char *what, const fusec_value *v, int i) {
    fc_error *e = &g->ir.error;
    if (!known_kind(v))
        fc_fail(e, FUSEC_INVALID, "%s: operand %d is not a value of this library", what, i + 1);
    else if (v->kind == FC_EMPTY && v->graph && v->graph != g && v->graph->ir.error.code)
        fc_fail(e, v->graph->ir.error.code, "%s: operand %d has failed: %.800s", what, i + 1,
                v->graph->ir.error.message);
    else if (v->kind == FC_EMPTY)
        fc_fail(e, v->bits && v->bits < FC_STATUS_COUNT ? (fusec_status)v->bits : FUSEC_INVALID,
                "%s: operand %d is an empty value", what, i + 1);
    else if (v->graph != g)
        fc_fail(e, FUSEC_INVALID, "%s: operand %d belongs to another graph", what, i + 1);
    else
        fc_fail(e, FUSEC_INVALID, "%s: operand %d was made before the graph was reset", what,
                i + 1);
}

fusec_graph *fc_common_graph(const char *what, const fusec_value *v, int n) {
    fusec_graph *g = NULL;
    for (int i = 0; i < n && !g; i++)
        if (known_kind(&v[i])) g = v[i].graph;
    for (int i = 0; g && i < n; i++)
        if (!fc_is_number(&v[i]) && (v[i].graph != g || !known_kind(&v[i]) || !fc_is_node(&v[i])))
            refuse(g, what, &v[i], i);
    return g;
}

fusec_graph *fc_node_graph(const char *what, fusec_value v, fusec_value *failed) {
    fusec_graph *g = fc_common_graph(what, &v, 1);
    if (g && !g->ir.error.code) return g;
    fusec_status s = v.kind == FC_EMPTY && v.bits ? (fusec_status)v.bits : FUSEC_INVALID;
    *failed = g ? (fusec_value){.graph = g, .kind = FC_EMPTY} : fc_failed(s);
    return NULL;
}

/* Unlike in an expression, a wrong value is reported here and does not stick to the graph. */
fusec_status fc_check_value(const char *what, fusec_value v) {
    if (fc_is_number(&v))
        return fc_report_text(FUSEC_INVALID, "%s: a number has no graph; use fusec_const", what);
    if (!known_kind(&v))
        return fc_report_text(FUSEC_INVALID, "%s: not a value of this library", what);
    if (v.graph && v.graph->ir.error.code) return fc_report(&v.graph->ir.error);
    if (v.kind == FC_EMPTY) {
        fusec_status s = v.bits && v.bits < FC_STATUS_COUNT ? (fusec_status)v.bits : FUSEC_INVALID;
        return fc_report_text(s, "%s: the value is empty: %s", what, fc_status_text(s));
    }
    if (!fc_is_node(&v))
        return fc_report_text(FUSEC_INVALID, "%s: the value was made before the graph was reset",
                              what);
    return FUSEC_OK;
}

bool fc_dtype_ok(fusec_graph *g, const char *what, fusec_dtype t) {
    if (g->ir.error.code) return false;
    if ((unsigned)t < FC_DTYPE_ALL) return true;
    fc_fail(&g->ir.error, FUSEC_INVALID, "%s: %d is not a dtype", what, (int)t);
    return false;
}

/* ---- numbers among arrays -------------------------------------------------------------------- */

static bool fits(fusec_dtype t, int64_t v) {
    uint64_t bits = fc_const_int(t, v);
    if (fc_is_float(t)) return isfinite(fc_const_value(t, bits));
    if (t == FUSEC_BOOL) return v == 0 || v == 1;
    if (t == FUSEC_U64) return v >= 0;
    int64_t back = fc_is_signed(t)
                       ? (int64_t)(bits << (64 - fc_dtypes[t].bits)) >> (64 - fc_dtypes[t].bits)
                       : (int64_t)bits;
    return back == v;
}

static fc_node constant(fusec_graph *g, const fusec_value *v, fusec_dtype t) {
    if (v->kind == FC_FLOAT) return fc_build_number(&g->ir, t, fc_const_value(FUSEC_F64, v->bits));
    int64_t i = (int64_t)v->bits;
    if (fc_is_complex(t)) return fc_build_cast(&g->ir, constant(g, v, fc_part_dtype(t)), t);
    if (fits(t, i)) return fc_build_const(&g->ir, t, fc_const_int(t, i));
    fc_fail(&g->ir.error, FUSEC_LITERAL_RANGE, "the number %lld does not fit %s", (long long)i,
            fc_dtypes[t].name);
    return FC_NONODE;
}

fc_node fc_as_node(fusec_graph *g, fusec_value v) {
    if (v.kind == FC_NODE) return v.node;
    fusec_dtype own = v.kind == FC_INT    ? FUSEC_I64
                      : v.kind == FC_BOOL ? FUSEC_BOOL
                                          : g->ir.default_float;
    return constant(g, &v, own);
}

static fusec_dtype common_dtype(const fusec_graph *g, const fusec_value *v, int n) {
    bool fraction = false, integer = false, array = false;
    fusec_dtype t = FUSEC_BOOL;
    for (int i = 0; i < n; i++) {
        fraction |= v[i].kind == FC_FLOAT;
        integer |= v[i].kind == FC_INT;
        if (v[i].kind == FC_NODE && !array)
            t = (fusec_dtype)fc_at(&g->ir, v[i].node)->dtype, array = true;
    }
    if (fc_is_complex(t)) return t;
    if (fraction && !fc_is_float(t)) return g->ir.default_float;
    return integer && t == FUSEC_BOOL ? FUSEC_I64 : t;
}

bool fc_adapt(fusec_graph *g, fc_op op, const fusec_value *v, int n, fc_node *src) {
    int first = fc_ops[op].rule == FC_RULE_SELECT; /* the condition stands apart */
    if (first) src[0] = fc_as_node(g, v[0]);
    bool numbers = false;
    for (int i = first; i < n; i++) numbers |= v[i].kind != FC_NODE;
    fusec_dtype t = numbers ? common_dtype(g, v + first, n - first) : FUSEC_BOOL;
    for (int i = first; i < n; i++) {
        if (v[i].kind != FC_NODE) {
            src[i] = constant(g, &v[i], t);
            continue;
        }
        fusec_dtype is = (fusec_dtype)fc_at(&g->ir, v[i].node)->dtype;
        bool yields =
            numbers && !fc_is_complex(is) && (fc_is_float(t) ? !fc_is_float(is) : is == FUSEC_BOOL);
        src[i] = yields ? fc_build_cast(&g->ir, v[i].node, t) : v[i].node;
    }
    return !g->ir.error.code;
}

/* ---- numbers among themselves ---------------------------------------------------------------- */

/* The rows that leave i64 when exact: refused, where arrays wrap. */
static bool overflows(fc_op op, int64_t a, int64_t b) {
    int64_t r;
    switch (op) {
    case FC_OP_add: return __builtin_add_overflow(a, b, &r);
    case FC_OP_sub: return __builtin_sub_overflow(a, b, &r);
    case FC_OP_mul: return __builtin_mul_overflow(a, b, &r);
    case FC_OP_neg:
    case FC_OP_abs: return a == INT64_MIN;
    default: return false;
    }
}

static fusec_value folded(fusec_dtype t, uint64_t bits) {
    return number(t == FUSEC_BOOL ? FC_BOOL : t == FUSEC_I64 ? FC_INT : FC_FLOAT, bits);
}

static fusec_value fold_numbers(fc_op op, const fusec_value *v, int n) {
    static const fusec_dtype dtype_of[] = {
        [FC_INT] = FUSEC_I64, [FC_FLOAT] = FUSEC_F64, [FC_BOOL] = FUSEC_BOOL};
    fc_rule rule = fc_ops[op].rule;
    uint64_t in[3] = {0}, out = 0;
    int first = rule == FC_RULE_SELECT;
    fusec_dtype t = FUSEC_BOOL;
    for (int i = 0; i < n; i++) {
        if (!fc_is_number(&v[i]))
            return fc_failed(v[i].kind == FC_EMPTY && v[i].bits ? (fusec_status)v[i].bits
                                                                : FUSEC_INVALID);
        fusec_dtype is = dtype_of[v[i].kind];
        if (i < first ? is != FUSEC_BOOL : rule == FC_RULE_LOGIC && is != FUSEC_BOOL)
            return fc_failed(FUSEC_NOT_BOOL);
        if (i >= first && (is == FUSEC_F64 || t == FUSEC_BOOL)) t = is;
    }
    if (rule == FC_RULE_FLOAT) t = FUSEC_F64;
    if (t == FUSEC_BOOL && (rule == FC_RULE_ARITH || rule == FC_RULE_BITS)) t = FUSEC_I64;
    if (t == FUSEC_F64 && rule == FC_RULE_BITS) return fc_failed(FUSEC_DTYPE_MISMATCH);
    for (int i = 0; i < n; i++)
        in[i] = i >= first && t == FUSEC_F64 && v[i].kind != FC_FLOAT
                    ? fc_const_bits(FUSEC_F64, (double)(int64_t)v[i].bits)
                    : v[i].bits;
    if (t == FUSEC_I64 && overflows(op, (int64_t)in[0], (int64_t)in[1]))
        return fc_failed(FUSEC_LITERAL_RANGE);
    if (op == FC_OP_pow && t == FUSEC_I64 && (int64_t)in[1] < 0)
        return fc_failed(FUSEC_LITERAL_RANGE);
    fusec_dtype to = rule == FC_RULE_COMPARE || rule == FC_RULE_TEST ? FUSEC_BOOL : t;
    if (fc_fold(op, t, to, in, &out)) return folded(to, out);
    double a = fc_const_value(FUSEC_F64, in[0]), b = fc_const_value(FUSEC_F64, in[1]), r;
    if (t == FUSEC_F64 && to == t && fc_eval(op, t, to, 1, &a, &b, &b, &r)) return fusec_num(r);
    return fc_failed(FUSEC_INVALID);
}

fusec_value fc_fold_numbers(fc_op op, const fusec_value *v, int n) {
    const uint64_t state = fc_float_enter();
    const fusec_value r = fold_numbers(op, v, n);
    fc_float_leave(state);
    return r;
}

/* ---- constants and facts --------------------------------------------------------------------- */

fusec_value fusec_const(fusec_graph *g, fusec_dtype t, double v) {
    if (!g) return fc_failed(FUSEC_INVALID);
    return fc_value(g,
                    fc_dtype_ok(g, "fusec_const", t) ? fc_build_number(&g->ir, t, v) : FC_NONODE);
}

/* An integer that the dtype can't say becomes what a cast makes of it: it wraps, or is rounded. */
fusec_value fusec_const_i64(fusec_graph *g, fusec_dtype t, int64_t v) {
    if (!g) return fc_failed(FUSEC_INVALID);
    if (!fc_dtype_ok(g, "fusec_const_i64", t)) return fc_value(g, FC_NONODE);
    if (fc_is_complex(t)) /* the real part */
        return fusec_cast(fusec_const_i64(g, fc_part_dtype(t), v), t);
    const uint64_t state = fc_float_enter(), bits = fc_const_int(t, v);
    fc_float_leave(state);
    return fc_value(g, fc_build_const(&g->ir, t, bits));
}

/* Above what i64 holds. With all bits that are lost in one, rounding to less than 53 bits is right
 * afterwards. */
static uint64_t large_bits(fusec_dtype t, uint64_t v) {
    if (!fc_is_float(t)) return fc_const_int(t, (int64_t)v);
    const double odd = (double)(v >> 11 | ((v & 0x7ff) != 0)) * 2048;
    return fc_const_bits(t, t == FUSEC_F64 ? (double)v : odd);
}

fusec_value fusec_const_u64(fusec_graph *g, fusec_dtype t, uint64_t v) {
    if (!g) return fc_failed(FUSEC_INVALID);
    if (!fc_dtype_ok(g, "fusec_const_u64", t)) return fc_value(g, FC_NONODE);
    if (fc_is_complex(t)) /* the real part */
        return fusec_cast(fusec_const_u64(g, fc_part_dtype(t), v), t);
    if (v <= INT64_MAX) return fusec_const_i64(g, t, (int64_t)v);
    const uint64_t state = fc_float_enter(), bits = large_bits(t, v);
    fc_float_leave(state);
    return fc_value(g, fc_build_const(&g->ir, t, bits));
}

fusec_value fusec_full(fusec_graph *g, fusec_dtype t, double v, int rank, const fusec_dim *shape) {
    fc_dim dims[FC_MAX_RANK];
    if (!g) return fc_failed(FUSEC_INVALID);
    if (!fc_dtype_ok(g, "fusec_full", t) || !fc_take_shape(g, "fusec_full", rank, shape, dims))
        return fc_value(g, FC_NONODE);
    return fc_value(g, fc_build_full(&g->ir, fc_build_number(&g->ir, t, v), (uint32_t)rank, dims));
}

fusec_value fusec_arange(fusec_graph *g, fusec_dim n) {
    fc_dim d;
    if (!g) return fc_failed(FUSEC_INVALID);
    return fc_value(g, fc_take_shape(g, "fusec_arange", 1, &n, &d) ? fc_build_iota(&g->ir, d)
                                                                   : FC_NONODE);
}

fusec_dtype fusec_dtype_of(fusec_value v) {
    return fc_is_node(&v) ? (fusec_dtype)fc_at(&v.graph->ir, v.node)->dtype : FUSEC_NO_DTYPE;
}

int fusec_rank(fusec_value v) {
    return fc_is_number(&v) ? 0 : fc_is_node(&v) ? (int)fc_rank(&v.graph->ir, v.node) : -1;
}

size_t fusec_dtype_bytes(fusec_dtype t) {
    return (unsigned)t < FC_DTYPE_ALL ? fc_dtypes[t].bytes : 0;
}

const char *fusec_dtype_name(fusec_dtype t) {
    return (unsigned)t < FC_DTYPE_ALL ? fc_dtypes[t].name : "none";
}

/* ---- conversions ----------------------------------------------------------------------------- */

fusec_value fusec_cast(fusec_value v, fusec_dtype t) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_cast", v, &failed);
    if (!g) return failed;
    return fc_value(g,
                    fc_dtype_ok(g, "fusec_cast", t) ? fc_build_cast(&g->ir, v.node, t) : FC_NONODE);
}

fusec_value fusec_bitcast(fusec_value v, fusec_dtype t) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_bitcast", v, &failed);
    if (!g) return failed;
    return fc_value(g, fc_dtype_ok(g, "fusec_bitcast", t) ? fc_build_bitcast(&g->ir, v.node, t)
                                                          : FC_NONODE);
}

fusec_value fusec_materialize(fusec_value v) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_materialize", v, &failed);
    return g ? fc_value(g, fc_build_materialize(&g->ir, v.node)) : failed;
}
