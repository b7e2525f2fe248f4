/* index_map.h - where in an array a point of a loop nest reads: index maps and how views change
 * them.
 *
 * A map of a node gives, for each of its axes, start + step * (index of one domain axis). It is an
 * interned list of the graph, three numbers an axis: domain axis (-1: none), step, start (a dim).
 * Views cost nothing because they only turn the map of their result into the map of their
 * operand. */
#ifndef FUSEC_PASSES_INDEX_MAP_H
#define FUSEC_PASSES_INDEX_MAP_H

#include "ir/graph.h"

#define FC_NOMAP UINT32_MAX

/* The map of an array of this shape over a domain of the same shape. Axes of literal size 1 use no
 * domain axis, so that equal accesses have equal maps. */
fc_list fc_map_identity(fc_graph *g, fc_list shape);

/* The map of an array of `shape` whose axes (those of literal size 1 aside) are the chosen axes of
 * the domain in order: `mask` has a bit for each domain axis that takes part. FC_NOMAP when they do
 * not correspond. */
fc_list fc_map_match(fc_graph *g, fc_list shape, fc_list domain, uint64_t mask);

/* Running out of memory gives FC_NOMAP too; then the graph has its error set.
 *
 * The map of the operand of view `n` from the map of its result; FC_NOMAP for a reshape that merges
 * or splits axes, which needs its operand in memory. */
fc_list fc_map_view(fc_graph *g, fc_node n, fc_list map);

/* Whether a reshape only adds or drops axes of literal size 1. */
bool fc_reshape_is_free(fc_graph *g, fc_node n);

#endif
