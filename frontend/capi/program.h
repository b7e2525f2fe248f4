/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program.h - what is behind fusec_program. */
#ifndef FUSEC_FRONTEND_CAPI_PROGRAM_H
#define FUSEC_FRONTEND_CAPI_PROGRAM_H

#include "frontend/capi/capi.h"

struct fusec_program {
    fusec_context *ctx;
    fc_program *p;
};

/* The arrays of a call as the runtime takes them; in `few` as long as they fit. */
enum { FC_FEW_ARRAYS = 256 }; /* 16 KiB of stack */
typedef struct fc_arrays_taken {
    fc_tensor few[FC_FEW_ARRAYS], *at;
    const fc_alloc *alloc;
} fc_arrays_taken;
fusec_status fc_take_arrays(const fusec_program *p, bool inputs, int n, const fusec_tensor *t,
                            bool need_data, fc_arrays_taken *a, fc_error *e);
void fc_free_arrays(fc_arrays_taken *a); /* of what was taken, and whatever the result */

/* All outputs of a graph whose leaves are inputs; `name` (may be NULL) is for people. */
fusec_status fc_new_program(fusec_context *c, const fc_graph *g, unsigned flags, unsigned mode,
                            const char *name, fusec_program **out, fc_error *e);

#endif
