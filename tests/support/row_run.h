/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* row_run.h - machine code of the LLVM backend that applies one row of ir/ops.def to arrays. */
#ifndef FUSEC_TESTS_SUPPORT_ROW_RUN_H
#define FUSEC_TESTS_SUPPORT_ROW_RUN_H

#include "ir/code.h"
#include "tests/support/llvm_run.h"

typedef struct fc_row_run fc_row_run;

/* `make` adds the value to the code; NULL: the row `op` of x, or of x and y. NULL comes back where
 * there is no LLVM, or this processor has no such vectors or no vector code for functions. */
typedef fc_val fc_row_make(fc_code *code, fc_op op, fc_val x, fc_val y);
fc_row_run *fc_row_run_open(unsigned width, fc_op op, fusec_dtype t, int64_t n, fc_row_make *make,
                            fc_error *e);
void fc_row_run_close(fc_row_run *r); /* NULL is fine */

/* The arrays, with room for n elements: 0 is x, 1 is y, 2 the result. */
void *fc_row_run_data(fc_row_run *r, int which);
/* Computes the first n elements, at most those it was opened with. */
fusec_status fc_row_run_first(fc_row_run *r, int64_t n, fc_error *e);

#endif
