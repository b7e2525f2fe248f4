/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* composites.c - functions that are several nodes: see composites.def. On f16 and bf16 folds
 * compute in f32 and round once. */
#include "ir/composites.h"

#include <math.h>

const fc_composite fc_composites[] = {
#define MAP(fn, n, m, row, text)                                                                   \
    {.name = #fn,                                                                                  \
     .doc = (text),                                                                                \
     .operands = (n),                                                                              \
     .results = (m),                                                                               \
     .like = FC_OP_##row,                                                                          \
     .map = fc_build_##fn},
#define FOLD(fn, number, value, text)                                                              \
    {.name = #fn,                                                                                  \
     .doc = (text),                                                                                \
     .parameter = sizeof #number > 2 ? #number : NULL,                                             \
     .otherwise = (value),                                                                         \
     .fold = fc_build_##fn},
#include "ir/composites.def"
};
const size_t fc_composite_count = FC_COUNT(fc_composites);

const fc_composite *fc_composite_by_name(const char *name) {
    for (size_t i = 0; i < fc_composite_count; i++)
        if (strcmp(fc_composites[i].name, name) == 0) return &fc_composites[i];
    return NULL;
}

/* ---- short forms -------------------------------------------------------------------------------
 */

static fusec_dtype dtype_of(const fc_graph *g, fc_node n) {
    return (fusec_dtype)fc_at(g, n)->dtype;
}
static fc_node like(fc_graph *g, fc_node x, double v) { /* a number of the dtype of x */
    return fc_usable(g, x) ? fc_build_number(g, dtype_of(g, x), v) : FC_NONODE;
}
static fc_node fold(fc_graph *g, fc_op row, fc_node x, const fc_axes *a) {
    return fc_build_reduce(g, row, x, a->n, a->at, a->keepdims);
}

/* ---- maps --------------------------------------------------------------------------------------
 */

static fc_node in_float(fc_graph *g, fc_node x) {
    if (!fc_usable(g, x)) return FC_NONODE;
    return fc_is_float(dtype_of(g, x)) ? x : fc_build_cast(g, x, g->default_float);
}

void fc_build_divmod(fc_graph *g, const fc_node *x, fc_node *out) {
    out[0] = fc_op2(g, FC_OP_floordiv, x[0], x[1]);
    out[1] = fc_op2(g, FC_OP_mod, x[0], x[1]);
}

void fc_build_modf(fc_graph *g, const fc_node *x, fc_node *out) {
    const fc_node a = in_float(g, x[0]), whole = fc_op1(g, FC_OP_trunc, a);
    const fc_node rest =
        fc_where(g, fc_op1(g, FC_OP_isinf, a), like(g, a, 0), fc_op2(g, FC_OP_sub, a, whole));
    out[0] = fc_op2(g, FC_OP_copysign, rest, a);
    out[1] = whole;
}

void fc_build_frexp(fc_graph *g, const fc_node *x, fc_node *out) {
    const fc_node a = in_float(g, x[0]);
    out[0] = fc_op1(g, FC_OP_mantissa, a);
    out[1] = fc_build_cast(g, fc_op1(g, FC_OP_exponent, a), FUSEC_I32);
}

static fusec_dtype bits_of(fusec_dtype t) {
    return fc_dtypes[t].bytes == 2 ? FUSEC_I16 : fc_dtypes[t].bytes == 4 ? FUSEC_I32 : FUSEC_I64;
}

/* As integers the numbers of one sign follow each other: one step toward y is one up or down. */
void fc_build_nextafter(fc_graph *g, const fc_node *x, fc_node *out) {
    const fc_node a = in_float(g, x[0]), b = in_float(g, x[1]);
    out[0] = FC_NONODE;
    if (!fc_usable(g, a) || !fc_usable(g, b)) return;
    const fusec_dtype t = dtype_of(g, a), i = bits_of(t);
    const fc_node zero = like(g, a, 0), one = fc_build_const(g, i, 1);
    const fc_node away =
        fc_op2(g, FC_OP_eq, fc_op2(g, FC_OP_lt, a, b), fc_op2(g, FC_OP_gt, a, zero));
    const fc_node bits = fc_build_bitcast(g, a, i);
    const fc_node moved =
        fc_where(g, away, fc_op2(g, FC_OP_add, bits, one), fc_op2(g, FC_OP_sub, bits, one));
    const fc_node least = fc_op2(g, FC_OP_copysign, fc_build_bitcast(g, one, t), b);
    const fc_node next =
        fc_where(g, fc_op2(g, FC_OP_eq, a, zero), least, fc_build_bitcast(g, moved, t));
    const fc_node step = fc_where(g, fc_op2(g, FC_OP_eq, a, b), b, next);
    const fc_node nan =
        fc_op2(g, FC_OP_logical_or, fc_op1(g, FC_OP_isnan, a), fc_op1(g, FC_OP_isnan, b));
    out[0] = fc_where(g, nan, fc_op2(g, FC_OP_add, a, b), step);
}

/* The next number above |x|, less |x|; below the largest number it is the step before it. */
void fc_build_spacing(fc_graph *g, const fc_node *x, fc_node *out) {
    const fc_node a = in_float(g, x[0]);
    out[0] = FC_NONODE;
    if (!fc_usable(g, a)) return;
    const fc_node size = fc_op1(g, FC_OP_abs, a);
    fc_node up, down;
    fc_build_nextafter(g, (fc_node[]){size, like(g, a, (double)INFINITY)}, &up);
    fc_build_nextafter(g, (fc_node[]){size, like(g, a, 0)}, &down);
    const fc_node last = fc_op1(g, FC_OP_isinf, up);
    const fc_node gap =
        fc_where(g, last, fc_op2(g, FC_OP_sub, size, down), fc_op2(g, FC_OP_sub, up, size));
    const fc_node signed_gap = fc_op2(g, FC_OP_copysign, gap, a);
    out[0] = fc_where(g, fc_op1(g, FC_OP_isfinite, a), signed_gap, like(g, a, (double)NAN));
}

/* ---- folds -------------------------------------------------------------------------------------
 */

/* x as floats are folded, and the dtype of the result. */
static fc_node wide(fc_graph *g, fc_node x, fusec_dtype *t) {
    *t = FUSEC_F32;
    const fc_node a = in_float(g, x);
    if (!fc_usable(g, a)) return FC_NONODE;
    *t = dtype_of(g, a);
    return fc_build_cast(g, a, fc_is_half(*t) ? FUSEC_F32 : *t);
}

fc_node fc_build_count_nonzero(fc_graph *g, fc_node x, const fc_axes *a, double p) {
    (void)p;
    if (!fc_usable(g, x)) return FC_NONODE;
    const fc_node is = dtype_of(g, x) == FUSEC_BOOL ? x : fc_op2(g, FC_OP_ne, x, like(g, x, 0));
    return fold(g, FC_OP_sum, is, a);
}

fc_node fc_build_norm(fc_graph *g, fc_node x, const fc_axes *a, double ord) {
    fusec_dtype t;
    const fc_node v = wide(g, x, &t), size = fc_op1(g, FC_OP_abs, v);
    fc_node r;
    if (isinf(ord))
        r = fold(g, ord > 0 ? FC_OP_max : FC_OP_min, size, a);
    else if (ord == 0)
        r = fc_build_count_nonzero(g, v, a, 0);
    else if (ord == 1)
        r = fold(g, FC_OP_sum, size, a);
    else if (ord == 2)
        r = fc_op1(g, FC_OP_sqrt, fold(g, FC_OP_sum, fc_op2(g, FC_OP_mul, v, v), a));
    else {
        const fc_node powers = fc_op2(g, FC_OP_pow, size, like(g, v, ord));
        r = fc_op2(g, FC_OP_pow, fold(g, FC_OP_sum, powers, a), like(g, v, 1 / ord));
    }
    return fc_usable(g, r) ? fc_build_cast(g, r, t) : FC_NONODE;
}

/* n - correction as a divisor, not below 0. `n` is an i64. */
static fc_node less_correction(fc_graph *g, fc_node n, fc_node v, double correction) {
    if (!fc_usable(g, v)) return FC_NONODE;
    const fc_node count = fc_build_cast(g, n, dtype_of(g, v));
    const fc_node left = fc_op2(g, FC_OP_sub, count, like(g, v, correction));
    return fc_op2(g, FC_OP_maximum, left, like(g, v, 0));
}

/* How many elements are folded into one, as i64. Axes that do not exist are the fold's to report.
 */
static fc_node count_of(fc_graph *g, fc_node v, const fc_axes *a) {
    fc_node n = fc_i64(g, 1);
    if (!fc_usable(g, v)) return FC_NONODE;
    const int64_t rank = fc_rank(g, v);
    const int64_t axes = a->at ? (int64_t)a->n : rank;
    for (int64_t k = 0; k < axes; k++) {
        int64_t axis = a->at ? a->at[k] : k;
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank) continue;
        n = fc_op2(g, FC_OP_mul, n, fc_build_dim(g, fc_axis(g, v, (uint32_t)axis)));
    }
    return n;
}

static fc_node root(fc_graph *g, fc_node var, fusec_dtype t) {
    const fc_node r = fc_op1(g, FC_OP_sqrt, var);
    return fc_usable(g, r) ? fc_build_cast(g, r, t) : FC_NONODE;
}

/* var, which divides by n and is one reduction, times n/(n - correction). */
static fc_node variance(fc_graph *g, fc_node v, const fc_axes *a, double correction) {
    const fc_node var = fold(g, FC_OP_var, v, a);
    if (correction == 0 || !fc_usable(g, var)) return var;
    const fc_node n = count_of(g, v, a), left = less_correction(g, n, v, correction);
    if (!fc_usable(g, left)) return FC_NONODE;
    return fc_op2(g, FC_OP_div, fc_op2(g, FC_OP_mul, var, fc_build_cast(g, n, dtype_of(g, v))),
                  left);
}

fc_node fc_build_variance(fc_graph *g, fc_node x, const fc_axes *a, double correction) {
    fusec_dtype t;
    const fc_node v = wide(g, x, &t), r = variance(g, v, a, correction);
    return fc_usable(g, r) ? fc_build_cast(g, r, t) : FC_NONODE;
}

fc_node fc_build_deviation(fc_graph *g, fc_node x, const fc_axes *a, double correction) {
    fusec_dtype t;
    const fc_node v = wide(g, x, &t);
    return root(g, variance(g, v, a, correction), t);
}

/* ---- folds that pass over nans: what is one counts as `v`
 * ---------------------------------------- */

static fc_node without_nan(fc_graph *g, fc_node x, double v) {
    if (!fc_usable(g, x) || !fc_is_float(dtype_of(g, x))) return x;
    return fc_where(g, fc_op1(g, FC_OP_isnan, x), like(g, x, v), x);
}

fc_node fc_build_nansum(fc_graph *g, fc_node x, const fc_axes *a, double p) {
    (void)p;
    return fold(g, FC_OP_sum, without_nan(g, x, 0), a);
}

fc_node fc_build_nanprod(fc_graph *g, fc_node x, const fc_axes *a, double p) {
    (void)p;
    return fold(g, FC_OP_prod, without_nan(g, x, 1), a);
}

static fc_node extreme(fc_graph *g, fc_op row, fc_node x, const fc_axes *a) {
    const double end = row == FC_OP_min ? (double)INFINITY : -(double)INFINITY;
    const fc_node r = fold(g, row, without_nan(g, x, end), a);
    if (!fc_usable(g, r) || !fc_is_float(dtype_of(g, x))) return r;
    return fc_where(g, fold(g, FC_OP_all, fc_op1(g, FC_OP_isnan, x), a), like(g, r, (double)NAN),
                    r);
}

fc_node fc_build_nanmin(fc_graph *g, fc_node x, const fc_axes *a, double p) {
    (void)p;
    return extreme(g, FC_OP_min, x, a);
}

fc_node fc_build_nanmax(fc_graph *g, fc_node x, const fc_axes *a, double p) {
    (void)p;
    return extreme(g, FC_OP_max, x, a);
}

/* How many are no nan, as i64. */
static fc_node numbers(fc_graph *g, fc_node v, const fc_axes *a) {
    const fc_node is = fc_op2(g, FC_OP_eq, v, v);
    return fc_usable(g, is) ? fold(g, FC_OP_sum, is, a) : FC_NONODE;
}

static fc_node mean(fc_graph *g, fc_node v, const fc_axes *a) {
    const fc_node n = numbers(g, v, a);
    if (!fc_usable(g, n)) return FC_NONODE;
    return fc_op2(g, FC_OP_div, fold(g, FC_OP_sum, without_nan(g, v, 0), a),
                  fc_build_cast(g, n, dtype_of(g, v)));
}

fc_node fc_build_nanmean(fc_graph *g, fc_node x, const fc_axes *a, double p) {
    fusec_dtype t;
    const fc_node v = wide(g, x, &t), r = mean(g, v, a);
    (void)p;
    return fc_usable(g, r) ? fc_build_cast(g, r, t) : FC_NONODE;
}

static fc_node nan_variance(fc_graph *g, fc_node v, const fc_axes *a, double correction) {
    const fc_axes all = {a->n, a->at, true};
    const fc_node d = without_nan(g, fc_op2(g, FC_OP_sub, v, mean(g, v, &all)), 0);
    const fc_node n = numbers(g, v, a);
    if (!fc_usable(g, d) || !fc_usable(g, n)) return FC_NONODE;
    return fc_op2(g, FC_OP_div, fold(g, FC_OP_sum, fc_op2(g, FC_OP_mul, d, d), a),
                  less_correction(g, n, v, correction));
}

fc_node fc_build_nanvar(fc_graph *g, fc_node x, const fc_axes *a, double correction) {
    fusec_dtype t;
    const fc_node v = wide(g, x, &t), r = nan_variance(g, v, a, correction);
    return fc_usable(g, r) ? fc_build_cast(g, r, t) : FC_NONODE;
}

fc_node fc_build_nanstd(fc_graph *g, fc_node x, const fc_axes *a, double correction) {
    fusec_dtype t;
    const fc_node v = wide(g, x, &t);
    return root(g, nan_variance(g, v, a, correction), t);
}
