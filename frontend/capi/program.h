/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program.h - what is behind fusec_program. */
#ifndef FUSEC_FRONTEND_CAPI_PROGRAM_H
#define FUSEC_FRONTEND_CAPI_PROGRAM_H

#include "frontend/capi/capi.h"

struct fusec_program {
    fusec_context *ctx;
    fc_program *p;
    char *name;               /* for people, whole */
    uint32_t nsizes, sizes[]; /* symbols that no input has: inputs behind the others */
};

/* The arrays of a call as the runtime takes them; in `few` as long as they fit. */
enum { FC_FEW_ARRAYS = 256, FC_FEW_SIZES = 16 }; /* 16 KiB of stack */
typedef struct fc_arrays_taken {
    fc_tensor few[FC_FEW_ARRAYS], *at;
    fc_dim_value few_dims[FC_FEW_SIZES], *dims;
    uint32_t n, ndims; /* arrays, and the sizes behind them */
    const fc_alloc *alloc;
} fc_arrays_taken;
void fc_start_arrays(fc_arrays_taken *a, const fc_alloc *alloc); /* none yet */
fusec_status fc_take_arrays(const fusec_program *p, bool inputs, int n, const fusec_tensor *t,
                            bool need_data, fc_arrays_taken *a, fc_error *e);
void fc_free_arrays(fc_arrays_taken *a); /* of what was taken, and whatever the result */

#define FC_PROGRAM_FLAGS (unsigned)(FUSEC_PROGRAM_GRAPH | FUSEC_PROGRAM_UNFUSED)
fc_program_options fc_program_flags(unsigned flags); /* without device, mode and name */
/* All outputs of a graph whose leaves are inputs; without a device of its own that of the context.
 */
fusec_status fc_new_program(fusec_context *c, const fc_graph *g, const fc_program_options *options,
                            fusec_program **out, fc_error *e);

#endif
