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
/* The one of this name and these types. NULL: there is none; of several none is the one:
 * FUSEC_CALL_FAILED. */
fusec_status fc_extern_by_name(fc_context *c, const fc_extern *like, const fc_extern **out,
                               fc_error *e);
/* What tells it from others of its name, for processes that run the same program: its text, and
 * where in which library or program the code on the host is. Code that is in none (a closure, what
 * was compiled at run time) is by its address that of this process alone. */
void fc_extern_identity(const fc_extern *x, fc_str *out);
void fc_externs_free(fc_context *c);

struct fc_program;
/* FUSEC_CALL_FAILED: a kernel uses a function that is not there for the program's device. */
fusec_status fc_externs_check(const struct fc_program *p, fc_error *e);

#endif
