/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ragged.h - rows that end by data (ir/build_ragged.c), as passes see them. */
#ifndef FUSEC_PASSES_RAGGED_H
#define FUSEC_PASSES_RAGGED_H

#include "ir/graph.h"

/* Where the rows of a reduction end, as a value; FC_NONODE: all together. */
fc_node fc_row_end(const fc_graph *g, fc_node n);

/* Marks of[n] for what is made for each element of such a row. It is not stored, and nothing takes
 * it from outside: its array would have rows as long as the longest may be. What elements read, and
 * what a row has once, is not marked. `of` is cleared by the caller. */
void fc_find_ragged(const fc_graph *g, uint8_t *of);

#endif
