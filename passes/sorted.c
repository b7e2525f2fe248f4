/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sorted.c - arrays that are read in the order of their own sort.
 *
 * In: any graph. Out: the same values, but for the payload of a NaN. `sort` reads its array at the
 * positions that a SORT of its keys gives. The keys say all about the elements, so the SORT can
 * give them in order instead: it moves half as many bytes or fewer, and nothing is read here and
 * there. Where nobody reads the positions they are not made. */
#include "passes/plan.h"
#include "passes/rewrite.h"

/* The SORT whose positions these are, along their last axis or another one. */
static fc_node sort_of(const fc_graph *g, fc_node positions) {
    if (fc_at(g, positions)->op == FC_OP_PERMUTE) positions = fc_at(g, positions)->src[0];
    const fc_ninfo *r = fc_at(g, positions);
    const bool is = r->op == FC_OP_RESULT && r->attr == FC_SORT_POSITIONS &&
                    fc_at(g, r->src[0])->op == FC_OP_SORT;
    return is ? r->src[0] : FC_NONODE;
}

/* What `take`, a node of another graph with operands of g, is; FC_NONODE: nothing else. */
static fc_node in_order(fc_graph *g, const fc_ninfo *take) {
    const fc_node x = take->src[0], sort = sort_of(g, take->src[1]);
    const int64_t axis = (int64_t)take->attr;
    if (sort == FC_NONODE || fc_is_complex((fusec_dtype)take->dtype)) return FC_NONODE;
    const fc_node key = fc_at(g, fc_at(g, sort)->src[0])->src[0];
    for (int down = 0; down < 2 && !g->error.code; down++)
        if (fc_build_sort_key(g, x, axis, down) == key)
            return fc_build_sorted(g, sort, (fusec_dtype)take->dtype, axis, down);
    return FC_NONODE;
}

static fc_node rewritten(const fc_graph *src, fc_graph *dst, fc_node n, const fc_node *map,
                         void *user) {
    (void)user;
    if (fc_at(src, n)->op != FC_OP_TAKE) return FC_NONODE;
    const fc_ninfo i = fc_rewrite_info(src, n, map);
    return in_order(dst, &i);
}

fusec_status fc_pass_sorted(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                            fc_error *e) {
    (void)o;
    return fc_rewrite_each(src, dst, rewritten, NULL, e);
}
