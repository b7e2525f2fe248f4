/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* block_map.c - whether an operand of a product is read well without being stored, whatever
 * reshapes stand between it and the arrays that it is made of: then each array is read along axes,
 * or once for a block of one. What needs remainders (a copy with its axes in another order) is
 * better stored. */
#include "passes/index_map.h"

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
    return !fc_is_view(i->op) && !fc_is_pointwise(i->op);
}

static bool push(look *l, fc_node n, fc_list map) {
    if (map == FC_NOMAP || l->n == MOST) return false;
    l->node[l->n] = n;
    l->map[l->n++] = map;
    return true;
}

bool fc_is_read_in_blocks(fc_graph *g, fc_node operand, bool *blocks) {
    look l = {.g = g};
    if (!push(&l, operand, fc_map_identity(g, fc_at(g, operand)->shape))) return false;
    for (uint32_t at = 0; at < l.n; at++) {
        const fc_node n = l.node[at];
        const fc_list map = l.map[at];
        const fc_ninfo i = *fc_at(g, n);
        if (fc_rank(g, n) == 0) continue;
        if (is_array(g, n)) {
            if (!is_plain(&l, i.shape, map)) return false;
            continue;
        }
        if (i.op == FC_OP_TAKE || i.op == FC_OP_VIEW) return false;
        for (int k = 0; k < i.nops; k++)
            if (!push(&l, i.src[k], fc_is_view(i.op) ? fc_map_view(g, n, map) : map)) return false;
    }
    *blocks |= l.blocks;
    return true;
}
