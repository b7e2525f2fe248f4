/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower.h - each region of the fused graph becomes one kernel. */
#ifndef FUSEC_PASSES_LOWER_H
#define FUSEC_PASSES_LOWER_H

#include "passes/fuse.h"

/* First buffer of each root's array; FC_NOBUFFER where nothing is stored. Inputs have their
 * number. */
#define FC_NOBUFFER UINT32_MAX

/* `buffer` is indexed by node. Writes the kernel into `k` (initialised here; free it also on
 * failure). */
fusec_status fc_lower(fc_graph *g, const fc_pass_options *o, const fc_fusion *f, uint32_t region,
                      const fc_plan *plan, const uint32_t *buffer, fc_kernel *k, fc_error *e);

#endif
