/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* summed.c - summed axes of a contraction that become one.
 *
 * In: any graph. Out: the same values. Several summed axes are numbered as one in any case, in
 * their order. Where an operand has a scale for each block of k, and both have been given an axis
 * of blocks, the arrays go on from block to block as if there were none: with one axis they are
 * what they are without scales, and the scale is read at a quotient of it (index_map.h). That is
 * done if all arrays of the operands are read so, or once for a block. */
#include "passes/index_map.h"
#include "passes/plan.h"
#include "passes/rewrite.h"

/* The operand with the axes from `first` on as one. */
static fc_node joined(fc_graph *g, fc_node a, uint32_t first) {
    fc_dim shape[FC_MAX_RANK], all = fc_dim_const(&g->dims, 1);
    for (uint32_t i = 0; i < fc_rank(g, a); i++)
        if (i < first)
            shape[i] = fc_axis(g, a, i);
        else
            all = fc_dim_mul(&g->dims, all, fc_axis(g, a, i));
    shape[first] = all;
    return all == FC_DIM_NONE ? FC_NONODE : fc_build_reshape(g, a, first + 1, shape);
}

static fc_node rewritten(const fc_graph *src, fc_graph *dst, fc_node n, const fc_node *map,
                         void *user) {
    (void)user;
    const fc_ninfo *i = fc_at(src, n);
    if (i->op != FC_OP_dot || i->axis_kind != FC_TREE_DOT) return FC_NONODE;
    const uint32_t summed = fc_list_len(src, (fc_list)i->attr), rank = fc_rank(src, i->src[0]),
                   first = rank - summed;
    if (summed < 2 || fc_list_at(src, (fc_list)i->attr)[0] != (int64_t)first) return FC_NONODE;
    for (uint32_t k = first + 1; k < rank; k++)
        if (!fc_dim_is_const(&src->dims, fc_axis(src, i->src[0], k), NULL)) return FC_NONODE;
    fc_ninfo r = fc_rewrite_info(src, n, map);
    bool blocks = false;
    for (int k = 0; k < 2; k++) {
        r.src[k] = joined(dst, r.src[k], first);
        if (r.src[k] == FC_NONODE || !fc_is_read_in_blocks(dst, r.src[k], &blocks))
            return FC_NONODE;
    }
    if (!blocks) return FC_NONODE;
    r.attr = fc_intern_list(dst, (const int64_t[]){first}, 1);
    return fc_graph_node(dst, r);
}

fusec_status fc_pass_summed(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                            fc_error *e) {
    (void)o;
    return fc_rewrite_each(src, dst, rewritten, NULL, e);
}
