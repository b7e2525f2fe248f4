/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernels.h - how many kernels a graph takes. */
#ifndef FUSEC_TESTS_SUPPORT_KERNELS_H
#define FUSEC_TESTS_SUPPORT_KERNELS_H

#include "ir/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Plans the graph and expects so many kernels; a failure shows the plan. Frees the graph. */
void expect_kernels(fc_graph *g, size_t n);

#ifdef __cplusplus
}
#endif

#endif
