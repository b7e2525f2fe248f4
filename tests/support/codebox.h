/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* codebox.h - runs straight-line code (ir/code.h) on whole arrays: expands it for a target as an
 * emitter would and computes every instruction with fc_eval. */
#ifndef FUSEC_TESTS_SUPPORT_CODEBOX_H
#define FUSEC_TESTS_SUPPORT_CODEBOX_H

#include "ir/expand.h"

/* `code` is target-neutral; FC_OP_ARG number k reads arrays[k], FC_OP_COUNT is n. results[k]
 * receives the value out[k]. All arrays have n elements in storage format. False (after a failed
 * check) when something can't be expanded or is not allowed in the target's code. */
bool fc_box_run(const fc_code *code, fc_target_kind target, const fc_val *out, size_t nout,
                size_t n, const void *const *arrays, void *const *results);

/* The same with the code that a backend has for some rows (fc_code.rewrite). */
bool fc_box_run_as(const fc_code *code, fc_target_kind target, fc_rewrite rewrite,
                   const fc_val *out, size_t nout, size_t n, const void *const *arrays,
                   void *const *results);

/* One row (or FC_OP_CAST, FC_OP_BITCAST to `to`) on arrays of dtype t. */
bool fc_box_op(fc_op op, fusec_dtype t, fusec_dtype to, fc_target_kind target, size_t n,
               const void *a, const void *b, const void *c, void *result);
bool fc_box_op_as(fc_op op, fusec_dtype t, fusec_dtype to, fc_target_kind target,
                  fc_rewrite rewrite, size_t n, const void *a, const void *b, const void *c,
                  void *result);

/* Whether the graph lets this row see operands of dtype t. */
bool fc_box_takes(const fc_op_info *row, fusec_dtype t);

/* The one value of an array, as double. */
double fc_box_at(fusec_dtype t, const void *array, size_t i);

/* Interesting values of a dtype in storage format: the ends, 0, +-1, powers of two and their
 * neighbours, and for floats subnormals, infinities, nan and halfway cases. Returns how many; at
 * most FC_BOX_SPECIALS. */
#define FC_BOX_SPECIALS 400
size_t fc_box_specials(fusec_dtype t, void *array);

#endif
