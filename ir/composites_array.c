/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* composites_array.c - arrays made of indices, and what compares neighbours: linspace, tril and
 * triu, diff, rounding to digits. */
#include "ir/composites.h"

#include <math.h>
#include <stdlib.h>

#include "ir/code.h"
#include "ir/complex.h"

/* In f64, rounded once; the last is b itself. */
fc_node fc_build_linspace(fc_graph *g, fusec_dtype t, double a, double b, fc_dim n) {
    const fc_node i = fc_build_iota(g, n), count = fc_build_dim(g, n);
    if (!fc_usable(g, i) || !fc_usable(g, count)) return FC_NONODE;
    const fc_node last = fc_op2(g, FC_OP_sub, count, fc_i64(g, 1));
    const fc_node steps = fc_build_cast(g, fc_op2(g, FC_OP_maximum, last, fc_i64(g, 1)), FUSEC_F64);
    const fc_node step = fc_op2(g, FC_OP_div, fc_build_number(g, FUSEC_F64, b - a), steps);
    const fc_node along = fc_op2(g, FC_OP_mul, fc_build_cast(g, i, FUSEC_F64), step);
    const fc_node v = fc_op2(g, FC_OP_add, along, fc_build_number(g, FUSEC_F64, a));
    const fc_node end = fc_op2(g, FC_OP_logical_and, fc_op2(g, FC_OP_eq, i, last),
                               fc_op2(g, FC_OP_gt, i, fc_i64(g, 0)));
    const fc_node r = fc_where(g, end, fc_build_number(g, FUSEC_F64, b), v);
    return fc_usable(g, r) ? fc_build_cast(g, r, t) : FC_NONODE;
}

fc_node fc_build_triangle(fc_graph *g, fc_node x, int64_t k, bool upper) {
    if (!fc_usable(g, x)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, x);
    if (rank < 2) {
        fc_fail(&g->error, FUSEC_BAD_AXIS, "%s takes arrays of two axes or more",
                upper ? "triu" : "tril");
        return FC_NONODE;
    }
    const fc_dim rows = fc_axis(g, x, rank - 2), columns = fc_axis(g, x, rank - 1);
    const fc_node row = fc_build_iota_along(g, rows, 2, 0);
    const fc_node column = fc_build_iota(g, columns);
    const fc_node border = fc_op2(g, FC_OP_add, row, fc_i64(g, k));
    const fc_node kept = fc_op2(g, upper ? FC_OP_ge : FC_OP_le, column, border);
    const fc_node zero = fc_build_number(g, (fusec_dtype)fc_at(g, x)->dtype, 0);
    return fc_where(g, kept, x, zero);
}

/* Of bools: where they change. */
fc_node fc_build_diff(fc_graph *g, fc_node x, int64_t axis) {
    fc_slice low[FC_MAX_RANK], high[FC_MAX_RANK];
    if (!fc_usable(g, x)) return FC_NONODE;
    const int64_t rank = fc_rank(g, x);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) {
        fc_fail(&g->error, FUSEC_BAD_AXIS, "diff: there is no such axis");
        return FC_NONODE;
    }
    for (uint32_t k = 0; k < rank; k++)
        low[k] = high[k] = (fc_slice){fc_dim_const(&g->dims, 0), 1, fc_axis(g, x, k)};
    const fc_dim one = fc_dim_const(&g->dims, 1);
    low[axis].size = high[axis].size = fc_dim_sub(&g->dims, low[axis].size, one);
    high[axis].start = one;
    const fc_op row = fc_at(g, x)->dtype == FUSEC_BOOL ? FC_OP_ne : FC_OP_sub;
    return fc_op2(g, row, fc_build_slice(g, x, high), fc_build_slice(g, x, low));
}

/* To a multiple of p, the even one of two that are as near. */
static fc_node round_integer(fc_graph *g, fc_node x, double p) {
    const fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype;
    const fc_node of = fc_build_number(g, t, p), q = fc_op2(g, FC_OP_floordiv, x, of);
    const fc_node rest = fc_op2(g, FC_OP_mod, x, of), missing = fc_op2(g, FC_OP_sub, of, rest);
    const fc_node one = fc_build_number(g, t, 1);
    const fc_node odd =
        fc_op2(g, FC_OP_ne, fc_op2(g, FC_OP_bit_and, q, one), fc_build_number(g, t, 0));
    const fc_node tie = fc_op2(g, FC_OP_logical_and, fc_op2(g, FC_OP_eq, rest, missing), odd);
    const fc_node up = fc_op2(g, FC_OP_logical_or, fc_op2(g, FC_OP_gt, rest, missing), tie);
    return fc_op2(g, FC_OP_add, fc_op2(g, FC_OP_sub, x, rest),
                  fc_where(g, up, of, fc_build_number(g, t, 0)));
}

/* round(x * 10^digits) / 10^digits, as NumPy has it: the scaling rounds, too. */
fc_node fc_build_round_to(fc_graph *g, fc_node x, int digits) {
    if (!fc_usable(g, x)) return FC_NONODE;
    const fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype;
    if (fc_is_complex(t)) return fc_complex_refuse(g, FC_OP_round, x);
    const double p = pow(10, abs(digits));
    if (!fc_is_float(t)) {
        if (digits >= 0) return x;
        if (fc_const_value(t, fc_const_max(t)) < p)
            return fc_op2(g, FC_OP_mul, x, fc_build_number(g, t, 0));
        return round_integer(g, x, p);
    }
    const fc_node v = fc_build_cast(g, x, fc_is_half(t) ? FUSEC_F32 : t);
    if (digits == 0 || !fc_usable(g, v)) return fc_op1(g, FC_OP_round, x);
    const fc_node by = fc_build_number(g, (fusec_dtype)fc_at(g, v)->dtype, p);
    const fc_node scaled = fc_op2(g, digits > 0 ? FC_OP_mul : FC_OP_div, v, by);
    const fc_node whole = fc_op1(g, FC_OP_round, scaled);
    const fc_node r = fc_op2(g, digits > 0 ? FC_OP_div : FC_OP_mul, whole, by);
    return fc_usable(g, r) ? fc_build_cast(g, r, t) : FC_NONODE;
}
