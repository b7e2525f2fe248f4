/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* join.c - reading at indices, moving and joining: arguments as C has them, for ir/build_index.c
 * and ir/build_join.c. */
#include "frontend/capi/capi.h"

_Static_assert((int)FUSEC_EDGE_ZERO == FC_EDGE_ZERO && (int)FUSEC_EDGE_EDGE == FC_EDGE_EDGE &&
                   (int)FUSEC_EDGE_WRAP == FC_EDGE_WRAP &&
                   (int)FUSEC_EDGE_REFLECT == FC_EDGE_REFLECT &&
                   (int)FUSEC_EDGE_SYMMETRIC == FC_EDGE_SYMMETRIC &&
                   (int)FUSEC_EDGE_NONE == FC_EDGE_NONE,
               "edge modes are numbered alike");

static fusec_value failed_in(fusec_graph *g, fusec_status s, const char *what, const char *why) {
    fc_fail(&g->ir.error, s, "%s: %s", what, why);
    return fc_value(g, FC_NONODE);
}

/* ---- views ----------------------------------------------------------------------------------- */

fusec_value fusec_view(fusec_value v, int rank, const fusec_dim *shape, const fusec_dim *starts,
                       const fusec_edge *edges, const int64_t *steps) {
    const char *what = "fusec_view";
    fc_dim dims[FC_MAX_RANK], from[FC_MAX_RANK];
    fc_view_axis axes[FC_MAX_RANK];
    fusec_value failed;
    fusec_graph *g = fc_node_graph(what, v, &failed);
    if (!g) return failed;
    const int own = (int)fc_rank(&g->ir, v.node);
    if (!fc_take_shape(g, what, rank, shape, dims)) return fc_value(g, FC_NONODE);
    if (starts && !fc_take_shape(g, what, own, starts, from)) return fc_value(g, FC_NONODE);
    for (int i = 0; i < own; i++)
        axes[i] = (fc_view_axis){starts ? from[i] : fc_dim_const(&g->ir.dims, 0),
                                 edges ? (fc_edge)edges[i] : FC_EDGE_NONE,
                                 steps ? steps + (size_t)i * (size_t)rank : NULL};
    return fc_value(g, fc_build_view(&g->ir, v.node, (uint32_t)rank, dims, axes));
}

fusec_value fusec_pad(fusec_value v, const int64_t *before, const int64_t *after, fusec_edge mode,
                      fusec_value value) {
    const char *what = "fusec_pad";
    fc_dim low[FC_MAX_RANK], high[FC_MAX_RANK];
    fusec_value both[2] = {v, value}, failed;
    fusec_graph *g = fc_node_graph(what, v, &failed);
    if (!g) return failed;
    const bool chosen = value.kind != FC_EMPTY || value.graph || value.bits;
    if (chosen && mode != FUSEC_EDGE_ZERO)
        return failed_in(g, FUSEC_INVALID, what, "a value is for the mode FUSEC_EDGE_ZERO");
    if (chosen && fc_common_graph(what, both, 2) != g) return fc_value(g, FC_NONODE);
    if (g->ir.error.code) return fc_value(g, FC_NONODE);
    fc_node src[2] = {v.node, FC_NONODE};
    if (chosen && !fc_adapt(g, FC_OP_maximum, both, 2, src)) return fc_value(g, FC_NONODE);
    if (src[0] != v.node)
        return failed_in(g, FUSEC_DTYPE_MISMATCH, what, "the value has another dtype");
    for (uint32_t i = 0; i < fc_rank(&g->ir, v.node); i++) {
        low[i] = fc_dim_const(&g->ir.dims, before ? before[i] : 0);
        high[i] = fc_dim_const(&g->ir.dims, after ? after[i] : 0);
    }
    return fc_value(g, fc_build_pad(&g->ir, v.node, low, high, (fc_edge)mode, src[1]));
}

static fusec_value by_size(const char *what, fusec_value v, int64_t size, int axis,
                           fc_node build(fc_graph *, fc_node, uint32_t, fc_dim)) {
    uint32_t at;
    fusec_value failed;
    fusec_graph *g = fc_node_graph(what, v, &failed);
    if (!g) return failed;
    if (!fc_take_axis(g, what, v.node, axis, 0, &at)) return fc_value(g, FC_NONODE);
    return fc_value(g, build(&g->ir, v.node, at, fc_dim_const(&g->ir.dims, size)));
}

fusec_value fusec_roll(fusec_value v, int64_t shift, int axis) {
    return by_size("fusec_roll", v, shift, axis, fc_build_roll);
}

fusec_value fusec_tile(fusec_value v, int rank, const int64_t *times) {
    fc_dim dims[FC_MAX_RANK];
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_tile", v, &failed);
    if (!g) return failed;
    if (rank < 0 || rank > FC_MAX_RANK || (rank && !times))
        return failed_in(g, FUSEC_INVALID, "fusec_tile", "the counts are for 0 to 32 axes");
    for (int i = 0; i < rank; i++) dims[i] = fc_dim_const(&g->ir.dims, times[i]);
    return fc_value(g, fc_build_tile(&g->ir, v.node, (uint32_t)rank, dims));
}

fusec_value fusec_repeat(fusec_value v, int64_t times, int axis) {
    return by_size("fusec_repeat", v, times, axis, fc_build_repeat);
}

fusec_value fusec_window(fusec_value v, int64_t width, int axis, int64_t step) {
    uint32_t at;
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_window", v, &failed);
    if (!g) return failed;
    if (!fc_take_axis(g, "fusec_window", v.node, axis, 0, &at)) return fc_value(g, FC_NONODE);
    return fc_value(g, fc_build_window(&g->ir, v.node, at, fc_dim_const(&g->ir.dims, width), step));
}

/* ---- joining --------------------------------------------------------------------------------- */

static fusec_value join(const char *what, int n, const fusec_value *parts, int axis, bool stack) {
    uint32_t at;
    fusec_value failed;
    if (n < 1 || !parts) return fc_failed(FUSEC_INVALID);
    fusec_graph *g = fc_node_graph(what, parts[0], &failed);
    if (!g) return failed;
    if (fc_common_graph(what, parts, n) != g || g->ir.error.code) return fc_value(g, FC_NONODE);
    for (int i = 0; i < n; i++)
        if (fc_is_number(&parts[i]))
            return failed_in(g, FUSEC_INVALID, what, "a number is no array; use fusec_const");
    if (!fc_take_axis(g, what, parts[0].node, axis, stack, &at)) return fc_value(g, FC_NONODE);
    fc_node *nodes = fc_malloc(g->ir.alloc, (size_t)n * sizeof *nodes);
    if (!nodes) return fc_oom(&g->ir.error), fc_value(g, FC_NONODE);
    for (int i = 0; i < n; i++) nodes[i] = parts[i].node;
    const fc_node r = stack ? fc_build_stack(&g->ir, (uint32_t)n, nodes, at)
                            : fc_build_concat(&g->ir, (uint32_t)n, nodes, at);
    fc_free(g->ir.alloc, nodes);
    return fc_value(g, r);
}

fusec_value fusec_concat(int n, const fusec_value *parts, int axis) {
    return join("fusec_concat", n, parts, axis, false);
}

fusec_value fusec_stack(int n, const fusec_value *parts, int axis) {
    return join("fusec_stack", n, parts, axis, true);
}

/* ---- computed indices ------------------------------------------------------------------------ */

static fusec_graph *two_nodes(const char *what, fusec_value v, fusec_value index,
                              fusec_value *failed) {
    fusec_value both[2] = {v, index};
    fusec_graph *g = fc_node_graph(what, v, failed);
    if (!g) return NULL;
    if (fc_common_graph(what, both, 2) != g || g->ir.error.code || fc_is_number(&index)) {
        if (fc_is_number(&index))
            fc_fail(&g->ir.error, FUSEC_INVALID, "%s: a number is no array; use fusec_const", what);
        *failed = fc_value(g, FC_NONODE);
        return NULL;
    }
    return g;
}

static fusec_value take(const char *what, fusec_value v, fusec_value index, int axis, bool along) {
    uint32_t at;
    fusec_value failed;
    fusec_graph *g = two_nodes(what, v, index, &failed);
    if (!g) return failed;
    if (!fc_take_axis(g, what, v.node, axis, 0, &at)) return fc_value(g, FC_NONODE);
    const fc_node i = fc_build_check(&g->ir, index.node, fc_axis(&g->ir, v.node, at));
    return fc_value(g, along ? fc_build_take(&g->ir, v.node, i, at)
                             : fc_build_gather(&g->ir, v.node, i, at, false));
}

fusec_value fusec_take(fusec_value v, fusec_value index, int axis) {
    return take("fusec_take", v, index, axis, false);
}

fusec_value fusec_take_along(fusec_value v, fusec_value index, int axis) {
    return take("fusec_take_along", v, index, axis, true);
}

static const fc_op put_rows[] = {FC_OP_NONE, FC_OP_sum, FC_OP_min, FC_OP_max, FC_OP_any, FC_OP_all};

static fusec_value scatter(const char *what, fusec_value base, fusec_value index, fusec_value v,
                           int axis, fusec_put op, unsigned flags, bool along) {
    uint32_t at;
    fusec_value failed, all[3] = {base, index, v};
    fusec_graph *g = two_nodes(what, base, index, &failed);
    if (!g) return failed;
    if (fc_common_graph(what, all, 3) != g || g->ir.error.code) return fc_value(g, FC_NONODE);
    if ((unsigned)op >= FC_COUNT(put_rows))
        return failed_in(g, FUSEC_INVALID, what, "there is no such fusec_put");
    if (flags & ~(unsigned)FUSEC_PUT_UNIQUE)
        return failed_in(g, FUSEC_INVALID, what, "unknown flags");
    if (!fc_take_axis(g, what, base.node, axis, 0, &at)) return fc_value(g, FC_NONODE);
    const fusec_value both[2] = {base, v};
    fc_node src[2] = {base.node, v.node};
    if (fc_is_number(&v) && !fc_adapt(g, FC_OP_maximum, both, 2, src))
        return fc_value(g, FC_NONODE);
    if (src[0] != base.node)
        return failed_in(g, FUSEC_DTYPE_MISMATCH, what, "the number has another dtype");
    const fc_node value = src[1];
    const fc_scatter s = {put_rows[op], at, (flags & FUSEC_PUT_UNIQUE) != 0};
    const fc_node i = fc_build_check(&g->ir, index.node, fc_axis(&g->ir, base.node, at));
    return fc_value(g, along ? fc_build_scatter(&g->ir, base.node, i, value, s)
                             : fc_build_put(&g->ir, base.node, i, value, s, false));
}

fusec_value fusec_scatter(fusec_value base, fusec_value index, fusec_value v, int axis,
                          fusec_put op, unsigned flags) {
    return scatter("fusec_scatter", base, index, v, axis, op, flags, false);
}

fusec_value fusec_scatter_along(fusec_value base, fusec_value index, fusec_value v, int axis,
                                fusec_put op, unsigned flags) {
    return scatter("fusec_scatter_along", base, index, v, axis, op, flags, true);
}

fusec_value fusec_histogram(fusec_value index, fusec_dim n, fusec_value weights) {
    const char *what = "fusec_histogram";
    fusec_value failed, both[2] = {index, weights};
    fc_dim size;
    fusec_graph *g = fc_node_graph(what, index, &failed);
    if (!g) return failed;
    const bool weighted = weights.kind != FC_EMPTY || weights.graph || weights.bits;
    if (weighted && (fc_common_graph(what, both, 2) != g || fc_is_number(&weights)))
        return g->ir.error.code
                   ? fc_value(g, FC_NONODE)
                   : failed_in(g, FUSEC_INVALID, what, "weights are an array, or empty");
    if (!fc_take_shape(g, what, 1, &n, &size) || g->ir.error.code) return fc_value(g, FC_NONODE);
    const fc_node one = fc_build_const(&g->ir, FUSEC_I64, 1),
                  i = fc_build_check(&g->ir, index.node, size);
    return fc_value(g, fc_build_histogram(&g->ir, i, weighted ? weights.node : one, size));
}

fusec_value fusec_segment(fusec_value v, fusec_value ids, fusec_dim n, fusec_put op) {
    const char *what = "fusec_segment";
    fusec_value failed;
    fc_dim size;
    fusec_graph *g = two_nodes(what, v, ids, &failed);
    if (!g) return failed;
    const bool mean = op == FUSEC_PUT_MEAN;
    if ((!mean && (unsigned)op >= FC_COUNT(put_rows)) || op == FUSEC_PUT_SET)
        return failed_in(g, FUSEC_INVALID, what, "there is no such way to put rows together");
    if (!fc_take_shape(g, what, 1, &n, &size)) return fc_value(g, FC_NONODE);
    const fc_node i = fc_build_check(&g->ir, ids.node, size);
    return fc_value(g, fc_build_segment(&g->ir, v.node, i, size, mean ? FC_OP_mean : put_rows[op]));
}

static fc_node ragged_bound(fusec_graph *g, fusec_value v, fusec_value bound) {
    fc_dimtab *t = &g->ir.dims;
    if (g->ir.error.code) return FC_NONODE;
    return fc_build_check(&g->ir, bound.node,
                          fc_dim_add(t, fc_axis(&g->ir, v.node, 0), fc_dim_const(t, 1)));
}

fusec_value fusec_ragged(fusec_value v, fusec_value begin, fusec_value end, fusec_ragged_op op) {
    static const uint16_t ops[] = {FC_OP_sum, FC_OP_prod, FC_OP_min,    FC_OP_max,    FC_OP_any,
                                   FC_OP_all, FC_OP_mean, FC_OP_argmin, FC_OP_argmax, FC_OP_NONE};
    const char *what = "fusec_ragged";
    fusec_value failed, all[3] = {v, begin, end};
    fusec_graph *g = two_nodes(what, v, begin, &failed);
    if (!g) return failed;
    if (fc_common_graph(what, all, 3) != g || g->ir.error.code) return fc_value(g, FC_NONODE);
    if (fc_is_number(&end) || fc_is_number(&begin))
        return failed_in(g, FUSEC_INVALID, what, "a bound is an array; use fusec_const");
    if ((unsigned)op >= FC_COUNT(ops))
        return failed_in(g, FUSEC_INVALID, what, "there is no such fusec_ragged_op");
    if (!fc_rank(&g->ir, v.node)) return failed_in(g, FUSEC_BAD_AXIS, what, "a number has no rows");
    const fc_node first = ragged_bound(g, v, begin), last = ragged_bound(g, v, end);
    return fc_value(g, fc_build_ragged_rows(&g->ir, (fc_op)ops[op], v.node, first, last));
}
