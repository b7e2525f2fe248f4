/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graph_eval.h - computes a small graph node by node, for comparing it before and after a pass.
 *
 * Rows fold one element at a time (fc_fold). What does not fold, transcendental functions, is a
 * value mixed from the bits of the operands: enough to tell whether a pass kept the expression.
 * Reductions on integers only. All sizes must be constants. */
#ifndef FUSEC_TESTS_SUPPORT_GRAPH_EVAL_H
#define FUSEC_TESTS_SUPPORT_GRAPH_EVAL_H

#include "ir/graph.h"

/* One array of storage bits for each node; free with fc_values_free. NULL when something is not
 * supported. Element i of an input is a value made of its number, its dtype and i. */
uint64_t **fc_values(const fc_graph *g);
void fc_values_free(const fc_graph *g, uint64_t **values);
size_t fc_values_count(const fc_graph *g, fc_node n);

/* Whether the outputs of both graphs agree (a nan is any nan); `why` gets the first difference. */
bool fc_same_outputs(const fc_graph *a, const fc_graph *b, char *why, size_t size);

/* A random graph of about `nodes` nodes that is valid; the same for the same seed. Contains views,
 * casts, reductions, constants, several dtypes. */
void fc_random_graph(fc_graph *g, uint64_t seed, unsigned nodes);

#endif
