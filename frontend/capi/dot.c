/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dot.c - contractions: fusec_matmul, fusec_dot, fusec_einsum, fusec_conv. The builders
 * (ir/build_dot.c, ir/build_conv.c) check shapes and dtypes. */
#include "frontend/capi/capi.h"

enum { MAX_OPERANDS = 8 };

/* The graph of operands that must be arrays; numbers among them have no axes, and no graph. */
static fusec_graph *graph_of(const char *what, const fusec_value *v, int n, fc_node *nodes,
                             fusec_value *failed) {
    fusec_graph *g = fc_common_graph(what, v, n);
    if (!g) {
        *failed = fc_failed(FUSEC_INVALID);
        return NULL;
    }
    for (int i = 0; i < n && !g->ir.error.code; i++) nodes[i] = fc_as_node(g, v[i]);
    return g;
}

static fusec_value product(const char *what, fusec_value a, fusec_value b) {
    const fusec_value v[2] = {a, b};
    fc_node n[2] = {FC_NONODE, FC_NONODE};
    fusec_value failed;
    fusec_graph *g = graph_of(what, v, 2, n, &failed);
    return g ? fc_value(g, fc_build_matmul(&g->ir, n[0], n[1])) : failed;
}

fusec_value fusec_matmul(fusec_value a, fusec_value b) {
    return product("fusec_matmul", a, b);
}

fusec_value fusec_dot(fusec_value a, fusec_value b) {
    return product("fusec_dot", a, b);
}

fusec_value fusec_einsum(const char *text, int n, const fusec_value *operands) {
    fc_node nodes[MAX_OPERANDS];
    fusec_value failed;
    if (!text || n < 1 || n > MAX_OPERANDS || !operands) return fc_failed(FUSEC_INVALID);
    fusec_graph *g = graph_of("fusec_einsum", operands, n, nodes, &failed);
    return g ? fc_value(g, fc_build_einsum(&g->ir, text, (uint32_t)n, nodes)) : failed;
}

fusec_value fusec_conv(fusec_value x, fusec_value filters, const int64_t *stride,
                       const int64_t *before, const int64_t *after, const int64_t *dilation,
                       int64_t groups) {
    const fusec_value v[2] = {x, filters};
    fc_node n[2] = {FC_NONODE, FC_NONODE};
    fusec_value failed;
    fusec_graph *g = graph_of("fusec_conv", v, 2, n, &failed);
    fc_conv c = {.groups = groups};
    if (!g) return failed;
    const uint32_t rank = g->ir.error.code ? 0 : fc_rank(&g->ir, n[1]);
    for (uint32_t i = 0; i + 2 < rank; i++) {
        c.stride[i] = stride ? stride[i] : 1;
        c.dilation[i] = dilation ? dilation[i] : 1;
        c.before[i] = fc_dim_const(&g->ir.dims, before ? before[i] : 0);
        c.after[i] = fc_dim_const(&g->ir.dims, after ? after[i] : 0);
    }
    return fc_value(g, fc_build_conv(&g->ir, n[0], n[1], &c));
}
