/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* call.h - steps that are calls of the user's functions: what is called, and calling it.
 *
 * In the graph a call is FC_OP_CALL: a list of the values that it reads, then FC_CALL_SIZES sizes,
 * and the number of the function in its context, which keeps what it is told of it until it is
 * freed. So equal calls of different graphs are equal. */
#ifndef FUSEC_RUNTIME_CALL_H
#define FUSEC_RUNTIME_CALL_H

#include <fusec/fusec.h>

#include "runtime/step.h"

/* The sizes at the end of a call's list: bytes of workspace, grid, block, bytes of shared memory.
 */
enum { FC_CALL_WORKSPACE, FC_CALL_GRID, FC_CALL_BLOCK = 4, FC_CALL_SHARED = 7, FC_CALL_SIZES };

enum { FC_CALL_MOST = 128 }; /* inputs and results */

typedef struct fc_call_code fc_call_code;
typedef struct fc_user_call {
    char *name;
    fusec_call_fn host, cuda;
    void *user;
    char *text, *entry;          /* CUDA C in place of `cuda`; NULL: none */
    fusec_call_launch_fn launch; /* decides on grid and block; NULL: sizes do */
    bool by_threads;             /* the grid's sizes count threads */
    uint32_t nout;               /* results, read or not */
    fc_call_code *code;          /* of `text`, for each device that was asked */
} fc_user_call;

/* The number of this function in the context, which copies its texts. */
fusec_status fc_user_call_number(fc_context *c, const fc_user_call *like, uint32_t *number,
                                 fc_error *e);
fc_user_call *fc_user_call_at(fc_context *c, uint64_t number);
void fc_user_calls_free(fc_context *c); /* before its devices */

/* The steps: see step.h. */
fusec_status fc_call_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e);
fusec_status fc_call_run(const fc_step_call *c, fc_error *e);

/* Texts (call_text.c): the kernel, compiled for this device if that has not happened yet; its
 * launch with these arguments. */
fusec_status fc_call_code_get(fc_context *c, fc_device *d, fc_user_call *u, void **code,
                              fc_error *e);
fusec_status fc_call_launch(const fc_step_call *c, const fc_user_call *u, void *code,
                            const int64_t *sizes, const fusec_call_args *a, fc_error *e);
void fc_call_codes_free(const fc_alloc *a, fc_call_code *list);

#endif
