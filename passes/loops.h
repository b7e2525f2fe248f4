/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loops.h - loops that are part of another, and values of loops that nobody reads.
 *
 * Derivatives make loops that carry what another loop carries, and more: tangents beside the
 * values, or what each round began with. One of the two is enough. */
#ifndef FUSEC_PASSES_LOOPS_H
#define FUSEC_PASSES_LOOPS_H

#include "ir/graph.h"

/* In place: a loop whose rounds another one makes as well is that one; what no result of a loop
 * depends on is not carried, nor collected. */
fusec_status fc_merge_loops(fc_graph *g, fc_error *e);

#endif
