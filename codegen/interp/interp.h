/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* interp.h - the built-in backend: runs a kernel without any compiler, block by block.
 *
 * fc_interp_compile makes tapes from a kernel once; fc_interp_run runs a range of units of it:
 * elements of a map, rows of a reduction (as `fc_interp_target.schedule` counts them). The result
 * of a unit does not depend on the range it is run in. An fc_interp is immutable and independent of
 * the kernel it came from: any number of threads may run it at once. The caller's floating-point
 * mode must be the default one. */
#ifndef FUSEC_CODEGEN_INTERP_INTERP_H
#define FUSEC_CODEGEN_INTERP_INTERP_H

#include "codegen/target.h"

typedef struct fc_interp fc_interp;

/* `rewrite` is what another target legalises with, whose bits functions are to have; NULL: none. */
fusec_status fc_interp_compile(const fc_kernel *k, fc_rewrite rewrite, const fc_alloc *alloc,
                               fc_interp **out, fc_error *e);

/* `words` is a parameter block (codegen/nest.h) of a nest of class `cls`; of the extra words it
 * reads the count, and where what is outside is reported. It can't fail: a run that gets no memory
 * waits for its turn with the memory that the fc_interp has. */
void fc_interp_run(const fc_interp *ip, const fc_class *cls, const int64_t *words, int64_t begin,
                   int64_t end);

void fc_interp_free(fc_interp *ip); /* NULL is fine */

#endif
