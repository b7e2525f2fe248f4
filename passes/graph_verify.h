/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graph_verify.h - what the files of graph_verify.c share: checks of a node whose operands are
 * nodes. */
#ifndef FUSEC_PASSES_GRAPH_VERIFY_H
#define FUSEC_PASSES_GRAPH_VERIFY_H

#include "passes/plan.h"

typedef const char *fc_reason; /* NULL: fine */

bool fc_verify_may_be_equal(const fc_graph *g, int64_t a, int64_t b);
/* The shape of what is reduced, less the axes. */
fc_reason fc_verify_shape_left(const fc_graph *g, const fc_ninfo *n, fc_list from, uint64_t mask);

fc_reason fc_verify_record(const fc_graph *g, const fc_ninfo *n);
fc_reason fc_verify_fold(const fc_graph *g, const fc_ninfo *n);
fc_reason fc_verify_repeat(const fc_graph *g, const fc_ninfo *n);
fc_reason fc_verify_list(const fc_graph *g, const fc_ninfo *n);
fc_reason fc_verify_loop(const fc_graph *g, const fc_ninfo *n);
fc_reason fc_verify_sort(const fc_graph *g, const fc_ninfo *n);
fc_reason fc_verify_fft(const fc_graph *g, const fc_ninfo *n);
fc_reason fc_verify_result(const fc_graph *g, const fc_ninfo *n);

#endif
