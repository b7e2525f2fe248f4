/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sum_products.c - sum(a[:, :, None] * b[None], axis=1) as the contraction it is.
 *
 * In: a sum. Out: a dot, where its elements are a product of factors that are spread over each
 * other's axes. Its order is another and its products are not rounded, so floats need `reassoc` and
 * `contract`, and a sum that lacks them is marked for explain; integers as wide as their sums are
 * exact in every order.
 *
 * A factor is spread by a broadcast, perhaps below elementwise operations and permutes: it is made
 * anew with axes of size 1 in place of those. Sums of few elements stay what they are: written out
 * (passes/short.c) they join the map around them, which a contraction can't. */
#include "passes/rewrite.h"

#include "ir/expand.h"
#include "passes/plan.h"

enum { DEPTH = 8, NODES = 64 };

/* ---- what a factor differs along ---------------------------------------------------------------
 */

static uint64_t own_axes(const fc_graph *g, fc_node n, uint32_t first) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < fc_rank(g, n); i++)
        if (!fc_axis_is_one(g, n, i)) mask |= UINT64_C(1) << (first + i);
    return mask;
}

/* At most: axes of the value that it may differ along. */
static uint64_t axes_of(const fc_graph *g, fc_node n, unsigned depth, unsigned *fuel) {
    const fc_ninfo *i = fc_at(g, n);
    uint64_t mask = 0;
    if (!depth || !*fuel) return own_axes(g, n, 0);
    --*fuel;
    if (i->op == FC_OP_BROADCAST)
        return own_axes(g, i->src[0], fc_list_len(g, i->shape) - fc_rank(g, i->src[0]));
    if (i->op == FC_OP_PERMUTE) {
        const uint64_t of = axes_of(g, i->src[0], depth - 1, fuel);
        for (uint32_t k = 0; k < fc_list_len(g, i->shape); k++)
            mask |= (of >> fc_list_at(g, (fc_list)i->attr)[k] & 1) << k;
        return mask;
    }
    if (!fc_is_pointwise(i->op)) return own_axes(g, n, 0);
    for (int k = 0; k < i->nops; k++) mask |= axes_of(g, i->src[k], depth - 1, fuel);
    return mask;
}

/* ---- factors without what they are spread along -----------------------------------------------
 */

static fc_node narrow(fc_graph *g, fc_node n, unsigned depth, unsigned *fuel);

static fc_node narrow_broadcast(fc_graph *g, const fc_ninfo *b) {
    const uint32_t rank = fc_list_len(g, b->shape), own = fc_rank(g, b->src[0]);
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        shape[i] =
            i + own < rank ? fc_dim_const(&g->dims, 1) : fc_axis(g, b->src[0], i + own - rank);
    return fc_build_reshape(g, b->src[0], rank, shape);
}

static fc_node narrow_permute(fc_graph *g, const fc_ninfo *p, unsigned depth, unsigned *fuel) {
    int64_t perm[FC_MAX_RANK] = {0};
    const fc_list order = (fc_list)p->attr;
    for (uint32_t i = 0; i < fc_list_len(g, order); i++) perm[i] = fc_list_at(g, order)[i];
    return fc_build_permute(g, narrow(g, p->src[0], depth, fuel), perm);
}

/* Operands are broadcast to the axes that one of them has. */
static fc_node narrow_row(fc_graph *g, fc_ninfo n, unsigned depth, unsigned *fuel) {
    const uint32_t rank = fc_list_len(g, n.shape);
    fc_dim shape[FC_MAX_RANK];
    int64_t sizes[FC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) shape[i] = fc_dim_const(&g->dims, 1);
    for (int k = 0; k < n.nops; k++) {
        if (fc_is_scalar_leaf(g, n.src[k])) continue;
        if ((n.src[k] = narrow(g, n.src[k], depth, fuel)) == FC_NONODE) return FC_NONODE;
        for (uint32_t i = 0; i < rank; i++)
            if (!fc_axis_is_one(g, n.src[k], i)) shape[i] = fc_axis(g, n.src[k], i);
    }
    for (int k = 0; k < n.nops; k++) {
        if (fc_is_scalar_leaf(g, n.src[k])) continue;
        if ((n.src[k] = fc_build_broadcast(g, n.src[k], rank, shape)) == FC_NONODE)
            return FC_NONODE;
    }
    for (uint32_t i = 0; i < rank; i++) sizes[i] = shape[i];
    n.shape = fc_intern_list(g, sizes, rank);
    return fc_graph_node(g, n);
}

/* A node of the same rank that has size 1 where the value is known not to differ. */
static fc_node narrow(fc_graph *g, fc_node n, unsigned depth, unsigned *fuel) {
    const fc_ninfo i = *fc_at(g, n);
    if (!depth || !*fuel) return n;
    --*fuel;
    if (i.op == FC_OP_BROADCAST) return narrow_broadcast(g, &i);
    if (i.op == FC_OP_PERMUTE) return narrow_permute(g, &i, depth - 1, fuel);
    if (fc_is_pointwise(i.op)) return narrow_row(g, i, depth - 1, fuel);
    return n;
}

/* ---- the sum ----------------------------------------------------------------------------------
 */

/* The factors of a product, from left to right; 0: too many. */
static uint32_t factors_of(const fc_graph *g, fc_node n, fc_node *out) {
    fc_node stack[FC_MAX_FACTORS];
    uint32_t depth = 0, count = 0;
    for (;;) {
        while (fc_at(g, n)->op == FC_OP_mul) {
            if (depth == FC_MAX_FACTORS) return 0;
            stack[depth++] = fc_at(g, n)->src[1];
            n = fc_at(g, n)->src[0];
        }
        if (count == FC_MAX_FACTORS) return 0;
        out[count++] = n;
        if (!depth) return count;
        n = stack[--depth];
    }
}

static bool licensed(const fc_graph *g, const fc_ninfo *sum, uint32_t mode) {
    const uint32_t both = FC_MODE_REASSOC | FC_MODE_CONTRACT;
    return !fc_is_float((fusec_dtype)fc_at(g, sum->src[0])->dtype) || (mode & both) == both;
}

/* Sums of narrow integers are of products that have wrapped. */
static bool may_be_dot(const fc_graph *g, const fc_ninfo *sum) {
    const fusec_dtype t = (fusec_dtype)fc_at(g, sum->src[0])->dtype;
    return fc_at(g, sum->src[0])->op == FC_OP_mul && sum->dtype == t &&
           fc_red_dtype(FC_OP_dot, t) == t && !fc_short_count(g, sum);
}

/* The same product, by factors without the axes that they do not differ along. */
static fc_node as_dot(fc_graph *g, const fc_ninfo *sum, uint32_t n, const fc_node *factor,
                      uint64_t summed) {
    fc_node x[FC_MAX_FACTORS];
    const uint32_t rank = fc_rank(g, sum->src[0]), left = fc_list_len(g, sum->shape);
    fc_dim shape[FC_MAX_RANK];
    unsigned fuel = NODES;
    for (uint32_t i = 0; i < n; i++) {
        x[i] = narrow(g, factor[i], DEPTH, &fuel);
        if (x[i] == FC_NONODE) return FC_NONODE;
    }
    const fc_node r = fc_build_sum_of_product(g, n, x, rank, summed);
    if (r == FC_NONODE) return r;
    uint32_t at = 0;
    const bool all = sum->flags & FC_NODE_KEEPDIMS;
    for (uint32_t i = 0; all && i < rank;
         i++) /* of r, with axes of size 1 for those that are gone */
        shape[i] = summed >> i & 1 ? fc_dim_const(&g->dims, 1) : fc_axis(g, r, at++);
    const fc_node wide = all ? fc_build_reshape(g, r, rank, shape) : r;
    for (uint32_t i = 0; i < left; i++) shape[i] = (fc_dim)fc_list_at(g, sum->shape)[i];
    return wide == FC_NONODE ? wide : fc_build_broadcast(g, wide, left, shape);
}

fc_node fc_sum_as_dot(fc_graph *g, fc_ninfo sum, uint32_t mode) {
    fc_node factor[FC_MAX_FACTORS];
    uint64_t axes[FC_MAX_FACTORS], summed = 0;
    uint32_t right;
    unsigned fuel = NODES;
    if (!may_be_dot(g, &sum)) return FC_NONODE;
    for (uint32_t i = 0; i < fc_list_len(g, (fc_list)sum.attr); i++)
        summed |= UINT64_C(1) << fc_list_at(g, (fc_list)sum.attr)[i];
    const uint64_t kept = ((UINT64_C(1) << fc_rank(g, sum.src[0])) - 1) & ~summed;
    const uint32_t n = factors_of(g, sum.src[0], factor);
    for (uint32_t i = 0; i < n; i++) axes[i] = axes_of(g, factor[i], DEPTH, &fuel);
    if (!n || !fc_product_sides(n, axes, kept, summed, &right)) return FC_NONODE;
    if (licensed(g, &sum, mode)) return as_dot(g, &sum, n, factor, summed);
    sum.flags |= FC_NODE_PRODUCT;
    return fc_graph_node(g, sum);
}
