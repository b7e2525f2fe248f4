/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compose_view.c - fc_rewrite_view: a view of a view as one view. */
#include "passes/rewrite.h"

static fc_ninfo broadcast_of(const fc_graph *g, fc_node v, fc_list shape) {
    return (fc_ninfo){
        .op = FC_OP_BROADCAST, .dtype = fc_at(g, v)->dtype, .nops = 1, .shape = shape, .src = {v}};
}

/* Axis i of the result is axis outer[i] of the inner result, axis inner[outer[i]] below it. */
static void compose_permutes(fc_graph *g, fc_ninfo *n, const fc_ninfo *inner) {
    int64_t axes[FC_MAX_RANK];
    uint32_t rank = fc_list_len(g, n->shape);
    const int64_t *in = fc_list_at(g, (fc_list)inner->attr), *out = fc_list_at(g, (fc_list)n->attr);
    for (uint32_t i = 0; i < rank; i++) axes[i] = in[out[i]];
    n->attr = fc_intern_list(g, axes, rank);
}

/* Index i of the result is start + step*i of the inner result. False when a number does not fit. */
static bool compose_slices(fc_graph *g, fc_ninfo *n, const fc_ninfo *inner) {
    int64_t s[3 * FC_MAX_RANK];
    uint32_t rank = fc_list_len(g, n->shape);
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t *in = fc_list_at(g, (fc_list)inner->attr) + 3 * i;
        const int64_t *out = fc_list_at(g, (fc_list)n->attr) + 3 * i;
        fc_dim moved = fc_dim_mul(&g->dims, (fc_dim)out[0], fc_dim_const(&g->dims, in[1]));
        fc_dim start = fc_dim_add(&g->dims, (fc_dim)in[0], moved);
        if (start == FC_DIM_NONE || !fc_mul_ok(in[1], out[1], &s[3 * i + 1])) return false;
        s[3 * i] = start;
        s[3 * i + 2] = out[2];
    }
    n->attr = fc_intern_list(g, s, 3 * rank);
    return true;
}

/* Whether some index of a general view reads 0 rather than an element. */
static bool may_read_zero(const fc_graph *g, const fc_ninfo *n) {
    if (n->op != FC_OP_VIEW) return false;
    for (uint32_t i = 0; i < fc_rank(g, n->src[0]); i++)
        if (fc_view_axis_of(g, n, i).edge == FC_EDGE_ZERO) return true;
    return false;
}

/* Makes n stand on the operand of its operand, if they are views of one kind. */
static bool compose(fc_graph *g, fc_ninfo *n) {
    const fc_ninfo inner = *fc_at(g, n->src[0]);
    if (inner.op == FC_OP_BROADCAST && fc_rank(g, inner.src[0]) == 0 && !may_read_zero(g, n)) {
        *n = broadcast_of(g, inner.src[0], n->shape);
        return true;
    }
    if (inner.op != n->op || n->op == FC_OP_VIEW) return false;
    if (n->op == FC_OP_PERMUTE) compose_permutes(g, n, &inner);
    if (n->op == FC_OP_SLICE && !compose_slices(g, n, &inner)) return false;
    n->src[0] = inner.src[0];
    return true;
}

/* Whether the view gives its operand back. */
static bool changes_nothing(const fc_graph *g, const fc_ninfo *n) {
    if (n->shape != fc_at(g, n->src[0])->shape || n->op == FC_OP_VIEW) return false;
    const int64_t *v = fc_list_at(g, (fc_list)n->attr);
    uint32_t rank = fc_list_len(g, n->shape);
    for (uint32_t i = 0; n->op == FC_OP_PERMUTE && i < rank; i++)
        if (v[i] != i) return false;
    for (uint32_t i = 0; n->op == FC_OP_SLICE && i < rank; i++) {
        if (!fc_dim_is(&g->dims, (fc_dim)v[3 * i], 0) || v[3 * i + 1] != 1) return false;
    }
    return true;
}

fc_node fc_rewrite_view(fc_graph *g, fc_ninfo n) {
    if (g->error.code || n.src[0] >= g->nodes.len) return FC_NONODE;
    /* what is below is composed already, so this ends after a step or two */
    while (!g->error.code && compose(g, &n)) {
    }
    if (g->error.code) return FC_NONODE;
    return changes_nothing(g, &n) ? n.src[0] : fc_graph_node(g, n);
}
