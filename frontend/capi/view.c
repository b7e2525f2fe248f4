/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* view.c - views: arguments as C has them, checked and turned into what ir/build_view.c takes. */
#include "frontend/capi/capi.h"

static fusec_value to_shape(const char *what, fusec_value v, int rank, const fusec_dim *shape,
                            fc_node (*build)(fc_graph *, fc_node, uint32_t, const fc_dim *)) {
    fc_dim dims[FC_MAX_RANK];
    fusec_value failed;
    fusec_graph *g = fc_node_graph(what, v, &failed);
    if (!g) return failed;
    if (!fc_take_shape(g, what, rank, shape, dims)) return fc_value(g, FC_NONODE);
    return fc_value(g, build(&g->ir, v.node, (uint32_t)rank, dims));
}

fusec_value fusec_broadcast(fusec_value v, int rank, const fusec_dim *shape) {
    return to_shape("fusec_broadcast", v, rank, shape, fc_build_broadcast);
}

fusec_value fusec_reshape(fusec_value v, int rank, const fusec_dim *shape) {
    return to_shape("fusec_reshape", v, rank, shape, fc_build_reshape);
}

bool fc_take_axis(fusec_graph *g, const char *what, fc_node n, int axis, int extra, uint32_t *out) {
    int rank = (int)fc_rank(&g->ir, n) + extra, at = axis < 0 ? axis + rank : axis;
    *out = (uint32_t)at;
    if (at >= 0 && at < rank) return true;
    fc_fail(&g->ir.error, FUSEC_BAD_AXIS, "%s: axis %d does not exist, the rank is %d", what, axis,
            rank - extra);
    return false;
}

fusec_value fusec_transpose(fusec_value v, const int *axes) {
    int64_t perm[FC_MAX_RANK];
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_transpose", v, &failed);
    if (!g) return failed;
    uint32_t rank = fc_rank(&g->ir, v.node), at;
    for (uint32_t i = 0; i < rank; i++) {
        if (axes && !fc_take_axis(g, "fusec_transpose", v.node, axes[i], 0, &at))
            return fc_value(g, FC_NONODE);
        perm[i] = axes ? at : rank - 1 - i;
    }
    return fc_value(g, fc_build_permute(&g->ir, v.node, perm));
}

/* Drops axis `at`, or puts an axis of length 1 before it. */
static fusec_value change_rank(const char *what, fusec_value v, int axis, bool drop) {
    fc_dim dims[FC_MAX_RANK + 1];
    fusec_value failed;
    uint32_t at, n = 0;
    fusec_graph *g = fc_node_graph(what, v, &failed);
    if (!g) return failed;
    if (!fc_take_axis(g, what, v.node, axis, drop ? 0 : 1, &at)) return fc_value(g, FC_NONODE);
    if (drop && !fc_axis_is_one(&g->ir, v.node, at)) {
        fc_fail(&g->ir.error, FUSEC_BAD_AXIS, "%s: axis %d has not the constant length 1", what,
                axis);
        return fc_value(g, FC_NONODE);
    }
    uint32_t rank = fc_rank(&g->ir, v.node);
    for (uint32_t i = 0; i < rank; i++) {
        if (i == at && !drop) dims[n++] = fc_dim_const(&g->ir.dims, 1);
        if (i != at || !drop) dims[n++] = fc_axis(&g->ir, v.node, i);
    }
    if (at == rank) dims[n++] = fc_dim_const(&g->ir.dims, 1);
    return fc_value(g, fc_build_reshape(&g->ir, v.node, n, dims));
}

fusec_value fusec_expand_dims(fusec_value v, int axis) {
    return change_rank("fusec_expand_dims", v, axis, false);
}

fusec_value fusec_squeeze(fusec_value v, int axis) {
    return change_rank("fusec_squeeze", v, axis, true);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* A bound as a dim: what is left out, from the end, or as it is. */
static fc_dim bound(fc_dimtab *t, int64_t b, fc_dim n, fc_dim left_out) {
    if (b == FUSEC_END) return left_out;
    return b < 0 ? fc_dim_add(t, n, fc_dim_const(t, b)) : fc_dim_const(t, b);
}

static fc_slice slice_of(fc_dimtab *t, fc_dim n, int64_t start, int64_t stop, int64_t step) {
    fc_dim zero = fc_dim_const(t, 0), minus = fc_dim_const(t, -1), last = fc_dim_add(t, n, minus);
    fc_dim from = bound(t, start, n, step > 0 ? zero : last),
           to = bound(t, stop, n, step > 0 ? n : minus);
    fc_dim span = step > 0 ? fc_dim_sub(t, to, from) : fc_dim_sub(t, from, to);
    int64_t stride = step > 0 ? step : -step;
    fc_dim size = fc_dim_floordiv(t, fc_dim_add(t, span, fc_dim_const(t, stride - 1)),
                                  fc_dim_const(t, stride));
    return (fc_slice){.start = from, .step = step, .size = size};
}

fusec_value fusec_slice(fusec_value v, int axis, int64_t start, int64_t stop, int64_t step) {
    fc_slice slices[FC_MAX_RANK];
    fusec_value failed;
    uint32_t at;
    fusec_graph *g = fc_node_graph("fusec_slice", v, &failed);
    if (!g) return failed;
    if (!fc_take_axis(g, "fusec_slice", v.node, axis, 0, &at)) return fc_value(g, FC_NONODE);
    if (step == 0 || step == INT64_MIN) {
        fc_fail(&g->ir.error, FUSEC_BAD_SLICE, "fusec_slice: the step can't be %lld",
                (long long)step);
        return fc_value(g, FC_NONODE);
    }
    fc_dimtab *t = &g->ir.dims;
    for (uint32_t i = 0; i < fc_rank(&g->ir, v.node); i++) {
        fc_dim n = fc_axis(&g->ir, v.node, i);
        slices[i] = i == at ? slice_of(t, n, start, stop, step)
                            : (fc_slice){.start = fc_dim_const(t, 0), .step = 1, .size = n};
    }
    if (slices[at].start == FC_DIM_NONE || slices[at].size == FC_DIM_NONE) {
        if (t->oom)
            fc_oom(&g->ir.error);
        else
            fc_fail(&g->ir.error, FUSEC_BAD_SLICE, "fusec_slice: a bound %s", fc_dim_fault(t));
        return fc_value(g, FC_NONODE);
    }
    return fc_value(g, fc_build_slice(&g->ir, v.node, slices));
}

fusec_value fusec_flip(fusec_value v, int axis) {
    return fusec_slice(v, axis, FUSEC_END, FUSEC_END, -1);
}
