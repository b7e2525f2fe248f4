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

enum { MOST = 64 }; /* values below an operand that are looked at */

typedef struct look {
    fc_graph *g;
    fc_node node[MOST];
    fc_list map[MOST];
    uint32_t n;
    bool blocks; /* something is read once for a block */
} look;

/* Whether an array of this shape is read along k, or once for a block of it. */
static bool is_plain(look *l, fc_list shape, fc_list map) {
    fc_map_join_axes(l->g, &shape, &map);
    if (map == FC_NOMAP) return false;
    const uint32_t rank = fc_list_len(l->g, shape);
    if (fc_list_len(l->g, map) != rank) return false;
    for (uint32_t i = 0; i < rank; i++) {
        const fc_index_term *t;
        const uint32_t n = fc_index_terms(l->g, fc_map_index(l->g, map, i), &t);
        const bool quotient = n == 1 && t->what == FC_TERM_QUOTIENT && t->step == 1;
        l->blocks |= quotient;
        for (uint32_t k = 0; k < n && !quotient; k++)
            if (t[k].what != FC_TERM_AXIS) return false;
    }
    return true;
}

static bool is_array(fc_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    if (i->op == FC_OP_RESHAPE && !fc_reshape_is_free(g, n)) return is_array(g, i->src[0]);
    return !fc_is_view(i->op) && !fc_is_elementwise(i->op) && i->op != FC_OP_CAST &&
           i->op != FC_OP_BITCAST;
}

static bool push(look *l, fc_node n, fc_list map) {
    if (map == FC_NOMAP || l->n == MOST) return false;
    l->node[l->n] = n;
    l->map[l->n++] = map;
    return true;
}

/* Whether all that the operand is made of is read in such ways. */
static bool look_below(look *l, fc_node operand) {
    l->n = 0;
    if (!push(l, operand, fc_map_identity(l->g, fc_at(l->g, operand)->shape))) return false;
    for (uint32_t at = 0; at < l->n; at++) {
        const fc_node n = l->node[at];
        const fc_ninfo i = *fc_at(l->g, n);
        if (fc_rank(l->g, n) == 0) continue;
        if (i.op == FC_OP_TAKE || i.op == FC_OP_VIEW || i.op == FC_OP_SLICE) return false;
        if (is_array(l->g, n)) {
            if (!is_plain(l, i.shape, l->map[at])) return false;
            continue;
        }
        for (int k = 0; k < i.nops; k++)
            if (!push(l, i.src[k],
                      fc_is_view(i.op) ? fc_map_view(l->g, n, l->map[at]) : l->map[at]))
                return false;
    }
    return true;
}

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
    look l = {.g = dst};
    for (int k = 0; k < 2; k++) {
        r.src[k] = joined(dst, r.src[k], first);
        if (r.src[k] == FC_NONODE || !look_below(&l, r.src[k])) return FC_NONODE;
    }
    if (!l.blocks) return FC_NONODE;
    r.attr = fc_intern_list(dst, (const int64_t[]){first}, 1);
    return fc_graph_node(dst, r);
}

fusec_status fc_pass_summed(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                            fc_error *e) {
    (void)o;
    return fc_rewrite_each(src, dst, rewritten, NULL, e);
}
