/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* index_map.h - where in an array a point of a loop nest reads: index maps and how views change
 * them.
 *
 * An index is start + sum of step * term, where a term is the index of a domain axis, the value of
 * a node, another index divided by a number and rounded down, or another index continued at the
 * edge of an array (fc_edge). It is an interned list of the graph: start (a dim), then three
 * numbers a term, ascending: what, which, step. So equal indices are equal lists. A remainder is
 * the index less multiples of its quotient, so that quotient and remainder together are the index
 * again.
 *
 * A map of a node is a list too: an index for each of its axes, then its guards, three numbers
 * each. Where a guard does not hold nothing is read, and what is read counts as 0. Views cost
 * nothing because they only turn the map of their result into the map of their operand. */
#ifndef FUSEC_PASSES_INDEX_MAP_H
#define FUSEC_PASSES_INDEX_MAP_H

#include "ir/graph.h"

#define FC_NOMAP UINT32_MAX

/* What a term is; `which` is the domain axis, node << 32 | map, index << 32 | number, or
 * index << 32 | size. */
enum { FC_TERM_AXIS, FC_TERM_VALUE, FC_TERM_QUOTIENT, FC_TERM_EDGE /* + fc_edge */ };
/* An index is inside [0, size), or the value of a node that was checked is: `which` is as that of a
 * term (FC_GUARD_INDEX: index << 32). */
enum { FC_GUARD_INDEX, FC_GUARD_VALUE };

typedef struct fc_index_term {
    int64_t what, which, step;
} fc_index_term;
typedef struct fc_guard {
    int64_t what, which, size;
} fc_guard;
enum { FC_MAX_TERMS = 64 }; /* of an index */

static inline uint32_t fc_which_first(int64_t which) {
    return (uint32_t)(which >> 32);
}
static inline uint32_t fc_which_second(int64_t which) {
    return (uint32_t)which;
}

/* The pointers stay good until the next list is interned. */
static inline fc_dim fc_index_start(const fc_graph *g, fc_list index) {
    return (fc_dim)fc_list_at(g, index)[0];
}
static inline uint32_t fc_index_terms(const fc_graph *g, fc_list index, const fc_index_term **t) {
    *t = (const fc_index_term *)(const void *)(fc_list_at(g, index) + 1);
    return (fc_list_len(g, index) - 1) / 3;
}
static inline fc_list fc_map_index(const fc_graph *g, fc_list map, uint32_t axis) {
    return (fc_list)fc_list_at(g, map)[axis];
}
static inline uint32_t fc_map_guards(const fc_graph *g, fc_list map, uint32_t rank,
                                     const fc_guard **guards) {
    *guards = (const fc_guard *)(const void *)(fc_list_at(g, map) + rank);
    return (fc_list_len(g, map) - rank) / 3;
}
/* Whether an array is read as it is: domain axes only, no guard. */
bool fc_map_is_affine(const fc_graph *g, fc_list map, uint32_t rank);

/* The map of an array of this shape over a domain of the same shape. Axes of literal size 1 use no
 * domain axis, so that equal accesses have equal maps. */
fc_list fc_map_identity(fc_graph *g, fc_list shape);

/* The map of an array of `shape` whose axes (those of literal size 1 aside) are the chosen axes of
 * the domain in order: `mask` has a bit for each domain axis that takes part. FC_NOMAP when they do
 * not correspond. */
fc_list fc_map_match(fc_graph *g, fc_list shape, fc_list domain, uint64_t mask);

/* Running out of memory gives FC_NOMAP too; then the graph has its error set.
 *
 * The map of the operand of view `n` from the map of its result; FC_NOMAP for a reshape that needs
 * its operand in memory (fc_reshape_has_map). Guards that are new stand behind the old ones:
 * where one of them does not hold, the view's value is 0, whatever the operand is made of. */
fc_list fc_map_view(fc_graph *g, fc_node n, fc_list map);
/* The map of the array that the FC_OP_TAKE `n` reads. */
fc_list fc_map_take(fc_graph *g, fc_node n, fc_list map);

/* The map of the array that the FC_OP_UPDATE `n` puts values into, from that of its index and
 * value. */
fc_list fc_map_put(fc_graph *g, fc_node n, fc_list map);

/* Whether a reshape only adds or drops axes of literal size 1. */
bool fc_reshape_is_free(fc_graph *g, fc_node n);
/* Whether indices of its operand follow from those of its result: of the axes that it changes all
 * but the first of either shape have literal sizes. Those of axes that are not free are quotients.
 */
bool fc_reshape_has_map(fc_graph *g, fc_node n);

/* Whether all arrays that a value is made of, through views and elementwise, are read along the
 * axes of its shape, or at quotients of single axes (*blocks: some are). */
bool fc_is_read_in_blocks(fc_graph *g, fc_node n, bool *blocks);

/* Neighbouring axes of an array in memory become one where less is divided then: (k / 32, k % 32)
 * is k. */
void fc_map_join_axes(fc_graph *g, fc_list *shape, fc_list *map);

#endif
