/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* external.h - the functions of the user that kernels of a context have in them (ir/external.h). */
#ifndef FUSEC_RUNTIME_EXTERNAL_H
#define FUSEC_RUNTIME_EXTERNAL_H

#include "ir/external.h"
#include "runtime/context.h"

/* The context's own description like this one, with copies of its texts; of functions with `scalar`
 * it fills in what calls them. One for equal descriptions. */
fusec_status fc_extern_intern(fc_context *c, const fc_extern *like, const fc_extern **out,
                              fc_error *e);
const fc_extern *fc_extern_at(fc_context *c, int64_t number); /* NULL: there is none */
void fc_externs_free(fc_context *c);

struct fc_program;
/* FUSEC_CALL_FAILED: a kernel uses a function that is not there for the program's device. */
fusec_status fc_externs_check(const struct fc_program *p, fc_error *e);

#endif
