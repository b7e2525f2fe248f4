/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* order.c - sort and its like, and what a mask holds. The builders (ir/build_sort.c) check. */
#include "frontend/capi/capi.h"

static fusec_value sorted(const char *what, fusec_value x, int axis, int down, bool positions) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph(what, x, &failed);
    if (!g) return failed;
    return fc_value(g, positions ? fc_build_argsort(&g->ir, x.node, axis, down != 0)
                                 : fc_build_sort(&g->ir, x.node, axis, down != 0));
}

fusec_value fusec_sort(fusec_value x, int axis, int down) {
    return sorted("fusec_sort", x, axis, down, false);
}

fusec_value fusec_argsort(fusec_value x, int axis, int down) {
    return sorted("fusec_argsort", x, axis, down, true);
}

/* The first of two results; the second goes where the caller wants it. */
static fusec_value first_of(fusec_graph *g, bool made, const fc_node n[2], fusec_value *second) {
    if (second) *second = fc_value(g, made ? n[1] : FC_NONODE);
    return fc_value(g, made ? n[0] : FC_NONODE);
}

fusec_value fusec_topk(fusec_value x, fusec_dim k, int axis, fusec_value *positions) {
    fusec_value failed;
    fc_dim room[FC_MAX_RANK];
    fc_node n[2];
    fusec_graph *g = fc_node_graph("fusec_topk", x, &failed);
    if (positions) *positions = fc_failed(FUSEC_OK);
    if (!g) return failed;
    const bool made = fc_take_shape(g, "fusec_topk", 1, &k, room) &&
                      fc_build_topk(&g->ir, x.node, room[0], axis, n);
    return first_of(g, made, n, positions);
}

fusec_value fusec_searchsorted(fusec_value a, fusec_value v, int right) {
    static const char what[] = "fusec_searchsorted";
    fusec_value failed;
    fusec_graph *g = fc_node_graph(what, a, &failed);
    if (!g) return failed;
    fc_node n = v.node;
    if (!fc_is_node(&v))
        n = fc_build_cast(&g->ir, fc_as_node(g, v), fusec_dtype_of(a));
    else if (fc_node_graph(what, v, &failed) != g)
        return g->ir.error.code ? failed
                                : (fc_fail(&g->ir.error, FUSEC_INVALID, "%s: two graphs", what),
                                   fc_value(g, FC_NONODE));
    return fc_value(g, fc_build_searchsorted(&g->ir, a.node, n, right != 0));
}

fusec_value fusec_quantile(fusec_value x, double q, int axis) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_quantile", x, &failed);
    if (!g) return failed;
    if (!(q >= 0 && q <= 1))
        fc_fail(&g->ir.error, FUSEC_INVALID, "fusec_quantile: %g is not from 0 to 1", q);
    return fc_value(g,
                    fc_build_quantile(&g->ir, x.node, fc_build_number(&g->ir, FUSEC_F64, q), axis));
}

fusec_value fusec_nonzero(fusec_value mask, fusec_dim size, fusec_value *count) {
    fusec_value failed;
    fc_dim room[FC_MAX_RANK];
    fc_node n[2];
    fusec_graph *g = fc_node_graph("fusec_nonzero", mask, &failed);
    if (count) *count = fc_failed(FUSEC_OK);
    if (!g) return failed;
    const bool made = fc_take_shape(g, "fusec_nonzero", 1, &size, room) &&
                      fc_build_nonzero(&g->ir, mask.node, room[0], n);
    return first_of(g, made, n, count);
}

fusec_value fusec_compress(fusec_value mask, fusec_value x, fusec_dim size, fusec_value *count) {
    static const char what[] = "fusec_compress";
    fusec_value failed;
    fc_dim room[FC_MAX_RANK];
    fc_node n[2];
    fusec_graph *g = fc_node_graph(what, mask, &failed);
    if (count) *count = fc_failed(FUSEC_OK);
    if (!g) return failed;
    if (fc_node_graph(what, x, &failed) != g && !g->ir.error.code)
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: two graphs", what);
    const bool made = fc_take_shape(g, what, 1, &size, room) &&
                      fc_build_compress(&g->ir, mask.node, x.node, room[0], n);
    return first_of(g, made, n, count);
}

fusec_value fusec_unique(fusec_value x, fusec_dim size, fusec_value *count) {
    fusec_value failed;
    fc_dim room[FC_MAX_RANK];
    fc_node n[2];
    fusec_graph *g = fc_node_graph("fusec_unique", x, &failed);
    if (count) *count = fc_failed(FUSEC_OK);
    if (!g) return failed;
    const bool made = fc_take_shape(g, "fusec_unique", 1, &size, room) &&
                      fc_build_unique(&g->ir, x.node, room[0], n);
    return first_of(g, made, n, count);
}
