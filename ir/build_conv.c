/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_conv.c - convolutions as machine learning has them (correlations, of any number of axes): a
 * view of the windows of x, and a contraction of it with the filters.
 *
 * In: x [n, c, places...], w [m, c / groups, sizes...]. Out: [n, m, places...]. Nothing of it is a
 * node of its own, so rules, derivatives and schedules are those of views and contractions. */
#include "ir/expand.h"
#include "ir/graph.h"

static fc_node refuse(fc_graph *g, fc_node x, fc_node w, const char *why) {
    return fc_fail_types(g, FUSEC_SHAPE_MISMATCH, "conv", x, w, why);
}

/* Places of windows along an axis of `size`. */
static fc_dim places(fc_graph *g, const fc_conv *c, uint32_t i, fc_dim size, fc_dim width) {
    fc_dimtab *t = &g->dims;
    const fc_dim one = fc_dim_const(t, 1);
    const fc_dim reach = fc_dim_mul(t, fc_dim_const(t, c->dilation[i]), fc_dim_sub(t, width, one));
    const fc_dim all = fc_dim_add(t, size, fc_dim_add(t, c->before[i], c->after[i]));
    fc_dim span = fc_dim_sub(t, fc_dim_sub(t, all, reach), one);
    if (fc_require(g, FC_CHECK_GE, span, fc_dim_const(t, 0), FUSEC_SLICE_RANGE,
                   "a filter is longer than its axis"))
        return one;
    if (c->stride[i] > 1) span = fc_dim_floordiv(t, span, fc_dim_const(t, c->stride[i]));
    return fc_dim_add(t, span, one);
}

/* Axes n, c (or groups and the rest of c), places, then those of the filters. */
static fc_node windows(fc_graph *g, fc_node x, fc_node w, const fc_conv *c) {
    const uint32_t own = fc_rank(g, x), n = fc_rank(g, w) - 2, rank = own + n, first = own - n;
    int64_t steps[FC_MAX_RANK * FC_MAX_RANK] = {0};
    fc_view_axis axes[FC_MAX_RANK];
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t i = 0; i < own; i++) {
        int64_t *by = steps + (size_t)i * rank;
        shape[i] = fc_axis(g, x, i);
        axes[i] = (fc_view_axis){fc_dim_const(&g->dims, 0), FC_EDGE_NONE, by};
        by[i] = 1;
        if (i < first) continue;
        const uint32_t k = i - first;
        const fc_dim width = fc_axis(g, w, k + 2);
        shape[n + i] = width;
        by[i] = c->stride[k];
        by[n + i] = c->dilation[k];
        const fc_dim none = fc_dim_const(&g->dims, 0);
        const bool pads = c->before[k] != none || c->after[k] != none;
        axes[i].start = fc_dim_sub(&g->dims, none, c->before[k]);
        axes[i].edge = pads ? FC_EDGE_ZERO : FC_EDGE_NONE;
        shape[i] = places(g, c, k, shape[i], width);
    }
    return g->error.code ? FC_NONODE : fc_build_view(g, x, rank, shape, axes);
}

/* An axis that is `groups` times the rest, as two. */
static fc_node part(fc_graph *g, fc_node a, uint32_t axis, int64_t groups, fc_dim rest) {
    fc_dim shape[FC_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < fc_rank(g, a); i++) {
        if (i == axis) shape[n++] = fc_dim_const(&g->dims, groups);
        shape[n++] = i == axis ? rest : fc_axis(g, a, i);
    }
    return fc_build_reshape(g, a, n, shape);
}

/* A filter of its own for each channel: sums of products, place by place, as filters are. */
static fc_node by_channel(fc_graph *g, fc_node v, fc_node w) {
    const fusec_dtype given = (fusec_dtype)fc_at(g, v)->dtype,
                      wide = fc_red_dtype(FC_OP_dot, given),
                      t = fc_is_half(given) ? FUSEC_F32 : wide;
    const uint32_t n = fc_rank(g, w) - 2;
    fc_dim shape[FC_MAX_RANK];
    int64_t axes[FC_MAX_RANK];
    shape[0] = fc_axis(g, w, 0);
    for (uint32_t i = 0; i < n; i++) {
        shape[1 + i] = fc_dim_const(&g->dims, 1);
        shape[1 + n + i] = fc_axis(g, w, 2 + i);
        axes[i] = 2 + n + i;
    }
    w = fc_build_cast(g, fc_build_reshape(g, w, 1 + 2 * n, shape), t);
    v = fc_build_cast(g, v, t);
    if (!fc_usable(g, v) || !fc_usable(g, w)) return FC_NONODE;
    const fc_node products = fc_op2(g, FC_OP_mul, v, fc_build_like(g, w, v));
    return fc_build_cast(g, fc_build_reduce(g, FC_OP_sum, products, n, axes, false), wide);
}

enum { LABEL_N, LABEL_GROUP, LABEL_C, LABEL_M, LABEL_PLACES };

/* Labels of an operand or the result: a and b, the groups before or between them, and places. */
static uint32_t label(uint8_t *to, bool grouped, bool group_first, uint8_t a, uint8_t b,
                      uint8_t places, uint32_t n) {
    uint32_t at = 0;
    if (grouped && group_first) to[at++] = LABEL_GROUP;
    to[at++] = a;
    if (grouped && !group_first) to[at++] = LABEL_GROUP;
    to[at++] = b;
    for (uint32_t i = 0; i < n; i++) to[at++] = (uint8_t)(places + i);
    return at;
}

fc_node fc_build_conv(fc_graph *g, fc_node x, fc_node w, const fc_conv *c) {
    uint8_t left[FC_MAX_RANK], right[FC_MAX_RANK], out[FC_MAX_RANK];
    if (!fc_usable(g, x) || !fc_usable(g, w)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, w), n = rank - 2;
    const bool grouped = c->groups > 1;
    if (rank < 3 || fc_rank(g, x) != rank)
        return refuse(g, x, w, "both have three axes or more, [n, c, places] and [m, c, sizes]");
    if (2 * n + 3 > FC_MAX_RANK) return refuse(g, x, w, "too many axes");
    if (c->groups < 1) return refuse(g, x, w, "there is one group at least");
    for (uint32_t i = 0; i < n; i++)
        if (c->stride[i] < 1 || c->stride[i] > FC_MAX_STEP || c->dilation[i] < 1 ||
            c->dilation[i] > FC_MAX_STEP)
            return refuse(g, x, w, "stride and dilation are from 1 to 2^48");
    const fc_dim groups = fc_dim_const(&g->dims, c->groups), m = fc_axis(g, w, 0),
                 of = grouped ? fc_dim_floordiv(&g->dims, m, groups) : m;
    if (!fc_same_size(g, fc_axis(g, x, 1), fc_dim_mul(&g->dims, groups, fc_axis(g, w, 1))))
        return refuse(g, x, w, "x has as many channels as all groups of filters take");
    if (!fc_same_size(g, m, fc_dim_mul(&g->dims, groups, of)))
        return refuse(g, x, w, "the filters are no multiple of the groups");
    if (grouped && fc_axis_is_one(g, w, 1) && (fc_dim_is(&g->dims, of, 1) || m == fc_axis(g, x, 1)))
        return by_channel(g, windows(g, x, w, c), w);
    if (grouped) x = part(g, x, 1, c->groups, fc_axis(g, w, 1));
    const fc_node v = fc_usable(g, x) ? windows(g, x, w, c) : FC_NONODE;
    if (grouped) w = part(g, w, 0, c->groups, of);
    label(left, grouped, false, LABEL_N, LABEL_C, LABEL_PLACES, 2 * n);
    label(right, grouped, true, LABEL_M, LABEL_C, (uint8_t)(LABEL_PLACES + n), n);
    const uint32_t at = label(out, grouped, false, LABEL_N, LABEL_M, LABEL_PLACES, n);
    fc_node y = fc_build_dot(g, v, left, w, right, at, out);
    if (!grouped || !fc_usable(g, y)) return y;
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) shape[i] = i == 1 ? m : fc_axis(g, y, i ? i + 1 : 0);
    return fc_build_reshape(g, y, rank, shape);
}
