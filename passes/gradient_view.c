/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_view.c - the derivatives of views: a view moves elements, so does its transpose. Slices
 * and general views are in gradient_index.c. */
#include "passes/gradient_impl.h"

/* ---- broadcast: the elements that one element became are summed ---------------------------------
 */

/* The axes of the result along which the operand repeats. */
static uint32_t repeated_axes(const fc_graph *g, fc_node n, fc_node x, int64_t *axes) {
    const uint32_t rank = fc_rank(g, n), from = rank - fc_rank(g, x);
    uint32_t count = 0;
    for (uint32_t i = 0; i < rank; i++) {
        const bool stretched =
            i >= from && fc_axis_is_one(g, x, i - from) && !fc_axis_is_one(g, n, i);
        if (i < from || stretched) axes[count++] = i;
    }
    return count;
}

/* The sum of a constant is its multiple. */
static fc_node multiple(fc_grad_ctx *c, fc_node n, fc_node a, uint32_t count, const int64_t *axes) {
    fc_graph *g = c->g;
    const fusec_dtype own = (fusec_dtype)fc_at(g, a)->dtype, t = fc_is_half(own) ? FUSEC_F32 : own;
    a = fc_build_cast(g, a, t);
    for (uint32_t k = 0; k < count; k++) {
        const fc_node d = fc_build_dim(g, fc_axis(g, n, (uint32_t)axes[k]));
        a = fc_g_op(c, FC_OP_mul, a, fc_build_cast(g, d, t));
    }
    return fc_build_cast(g, a, own);
}

static fc_node reverse_broadcast(fc_grad_ctx *c, fc_node n, fc_node x, fc_node a) {
    fc_graph *g = c->g;
    int64_t axes[FC_MAX_RANK];
    uint32_t count = repeated_axes(g, n, x, axes);
    if (fc_g_is_const(g, a)) return multiple(c, n, a, count, axes);
    for (uint32_t k = 0; k < count; k++) axes[k] += c->nlead;
    if (count) a = fc_build_reduce(g, FC_OP_sum, a, count, axes, false);
    return fc_g_reshape_as(c, a, x);
}

/* ---- permute ------------------------------------------------------------------------------------
 */

static fc_node permute(fc_grad_ctx *c, fc_node n, fc_node a, bool reverse) {
    fc_graph *g = c->g;
    const fc_list list = (fc_list)fc_at(g, n)->attr;
    int64_t perm[FC_MAX_RANK];
    if (fc_g_is_const(g, a)) return a;
    for (uint32_t i = 0; i < c->nlead; i++) perm[i] = i;
    for (uint32_t i = 0; i < fc_list_len(g, list); i++) {
        const int64_t from = fc_list_at(g, list)[i];
        if (reverse)
            perm[c->nlead + from] = c->nlead + i;
        else
            perm[c->nlead + i] = c->nlead + from;
    }
    return fc_build_permute(g, a, perm);
}

/* ---- both ways ----------------------------------------------------------------------------------
 */

fc_node fc_g_view_reverse(fc_grad_ctx *c, fc_node n, fc_node a, bool *chooses) {
    fc_graph *g = c->g;
    const fc_node x = fc_at(g, n)->src[0];
    switch (fc_at(g, n)->op) {
    case FC_OP_BROADCAST: return reverse_broadcast(c, n, x, a);
    case FC_OP_PERMUTE: return permute(c, n, a, true);
    case FC_OP_RESHAPE: return fc_g_reshape_as(c, a, x);
    case FC_OP_SLICE:
    case FC_OP_VIEW: *chooses = true; return fc_g_index_reverse(c, n, a);
    default: fc_g_fail(c, n, "it has no rule"); return FC_NONODE;
    }
}

fc_node fc_g_view_forward(fc_grad_ctx *c, fc_node n, fc_node t) {
    switch (fc_at(c->g, n)->op) {
    case FC_OP_BROADCAST: return fc_g_is_const(c->g, t) ? t : fc_g_spread_as(c, t, n);
    case FC_OP_PERMUTE: return permute(c, n, t, false);
    case FC_OP_SLICE:
    case FC_OP_VIEW: return fc_g_index_forward(c, n, t);
    case FC_OP_RESHAPE: return fc_g_reshape_as(c, t, n);
    default: fc_g_fail(c, n, "it has no rule"); return FC_NONODE;
    }
}
