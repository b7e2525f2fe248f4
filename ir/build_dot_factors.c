/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_dot_factors.c - the sum of a product of factors, as a contraction of two operands.
 *
 * In: factors that stand side by side in one domain, with axes of literal size 1 where they do not
 * differ. The first one with kept axes, and those with no others, become the left operand, the rest
 * the right one, or the other way round if the result's axes are in that order. It is a contraction
 * when each has a kept axis of its own and both have one that is summed over; all else is left to
 * the caller, as a sum like any other. */
#include "ir/graph.h"

/* Bit i: axis i of the domain, which the factor differs along. */
static uint64_t axes_of(const fc_graph *g, fc_node n) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < fc_rank(g, n); i++)
        if (!fc_axis_is_one(g, n, i)) mask |= UINT64_C(1) << i;
    return mask;
}

/* The operand without the axes that it does not differ along; labels are axes of the domain. */
static fc_node bare(fc_graph *g, fc_node n, uint8_t *labels) {
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank = 0;
    if (!fc_usable(g, n)) return FC_NONODE;
    for (uint32_t i = 0; i < fc_rank(g, n); i++) {
        if (fc_axis_is_one(g, n, i)) continue;
        labels[rank] = (uint8_t)i;
        shape[rank++] = fc_axis(g, n, i);
    }
    return fc_build_reshape(g, n, rank, shape);
}

/* The kept axes of the domain; those that no factor has are of size 1. */
static fc_node with_kept(fc_graph *g, fc_node r, uint32_t rank, uint64_t kept, uint64_t has) {
    fc_dim shape[FC_MAX_RANK];
    uint32_t n = 0, at = 0;
    if (!fc_usable(g, r) || (kept & has) == kept) return r;
    for (uint32_t i = 0; i < rank; i++)
        if (kept >> i & 1)
            shape[n++] = has >> i & 1 ? fc_axis(g, r, at++) : fc_dim_const(&g->dims, 1);
    return fc_build_reshape(g, r, n, shape);
}

bool fc_product_sides(uint32_t n, const uint64_t *axes, uint64_t kept, uint64_t summed,
                      uint32_t *right) {
    uint64_t of[2] = {0, 0};
    *right = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int side = (of[0] & kept) != 0 && (axes[i] & kept & ~of[0]) != 0;
        of[side] |= axes[i];
        *right |= (uint32_t)side << i;
    }
    return of[0] & ~of[1] & kept && of[1] & ~of[0] & kept && of[0] & of[1] & summed &&
           ((of[0] | of[1]) & summed) == summed;
}

/* Whether the first axis that only one side has is the left one's: then the result is in order. */
static bool first_is_left(uint64_t left, uint64_t right) {
    const uint64_t one = left ^ right;
    return left & one & (~one + 1);
}

fc_node fc_build_sum_of_product(fc_graph *g, uint32_t n, const fc_node *factor, uint32_t rank,
                                uint64_t summed) {
    const uint64_t kept = ((UINT64_C(1) << rank) - 1) & ~summed;
    fc_node side[2] = {FC_NONODE, FC_NONODE};
    uint64_t axes[FC_MAX_FACTORS] = {0}, has = 0;
    uint8_t label[2][FC_MAX_RANK], out[FC_MAX_RANK];
    uint32_t nout = 0, right;
    for (uint32_t i = 0; i < n; i++) has |= axes[i] = axes_of(g, factor[i]);
    if (!fc_product_sides(n, axes, kept, summed, &right)) return FC_NONODE;
    for (uint32_t i = 0; i < n; i++) {
        fc_node *to = &side[right >> i & 1];
        *to = *to == FC_NONODE ? factor[i] : fc_build_op(g, FC_OP_mul, *to, factor[i], FC_NONODE);
    }
    if (!first_is_left(axes_of(g, side[0]) & kept, axes_of(g, side[1]) & kept)) {
        const fc_node x = side[0];
        side[0] = side[1];
        side[1] = x;
    }
    const fc_node x = bare(g, side[0], label[0]), y = bare(g, side[1], label[1]);
    for (uint32_t i = 0; i < rank; i++)
        if (kept & has & UINT64_C(1) << i) out[nout++] = (uint8_t)i;
    return with_kept(g, fc_build_dot(g, x, label[0], y, label[1], nout, out), rank, kept, has);
}
