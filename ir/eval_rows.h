/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* eval_rows.h - between the parts of eval: rows on integers, rows on floats, conversions. The
 * caller has made sure that the row or conversion exists, and operands that a row lacks are not
 * NULL. */
#ifndef FUSEC_IR_EVAL_ROWS_H
#define FUSEC_IR_EVAL_ROWS_H

#include "ir/code.h"

void fc_eval_int(fc_op op, fusec_dtype t, size_t n, const void *a, const void *b, const void *c,
                 void *out);
void fc_eval_float(fc_op op, fusec_dtype t, size_t n, const void *a, const void *b, const void *c,
                   void *out);
void fc_eval_cvt(fusec_dtype from, fusec_dtype to, size_t n, const void *a, void *out);

#endif
