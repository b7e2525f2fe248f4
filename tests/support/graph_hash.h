/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graph_hash.h - the structure of what a graph's outputs depend on, as one number.
 *
 * Neither dead nodes nor the order in which nodes were made count; nor do names. Inputs count by
 * their number. A named size is known by the first input axis that has it, an opaque one by its
 * operands. */
#ifndef FUSEC_TESTS_SUPPORT_GRAPH_HASH_H
#define FUSEC_TESTS_SUPPORT_GRAPH_HASH_H

#include "ir/graph.h"

uint64_t fc_graph_hash(const fc_graph *g); /* 0 when out of memory */

#endif
