/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* linear.h - an index of some code as a constant and multiples of values.
 *
 * In: code with sums, differences and products by constants of i64. Out: the form in which two ways
 * to write an index are one, and an index less itself is 0. */
#ifndef FUSEC_CODEGEN_LINEAR_H
#define FUSEC_CODEGEN_LINEAR_H

#include "ir/kernel.h"

enum { FC_LINEAR_TERMS = 12, FC_LINEAR_DEPTH = 64 };

typedef struct fc_linear {
    int64_t constant;
    unsigned n;
    struct {
        fc_val of;
        int64_t by; /* not 0 */
    } term[FC_LINEAR_TERMS];
} fc_linear;

/* Whether it is a sum, a difference or a product of i64. */
bool fc_is_linear_row(const fc_instr *i);
/* Adds `by` times v. False: it has too many terms, or its constants pass 64 bits. */
bool fc_linear_add(const fc_code *c, fc_val v, int64_t by, fc_linear *f);
/* Whether two forms are equal but for their constants. */
bool fc_linear_same_terms(const fc_linear *a, const fc_linear *b);

/* Elements that are near to each other in a row of an array: a thread reads them together. */
enum { FC_NEAR = 64 };
/* How many reads at computed elements are in another row of their array than the read before them,
 * in the same columns: their places differ by sizes, or by constants that are not near. */
unsigned fc_reads_other_rows(const fc_kernel *k);

#endif
