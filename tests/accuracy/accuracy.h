/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* accuracy.h - fusec_accuracy: how far the functions are off, and how long they take.
 *
 * A job is a function on one dtype: inputs by number (inputs.c), the exact results (double
 * precision for f32 and narrower, MPFR for f64; of operations of the exact class those of the
 * oracle, which have to be met), and what each device makes of them through the
 * public functions (sweep.c). What comes out is a line for each device with the largest error and
 * where it is; scripts/accuracy runs it and makes docs/accuracy.md. */
#ifndef FUSEC_TESTS_ACCURACY_H
#define FUSEC_TESTS_ACCURACY_H

#include <fusec/fusec.h>

#include "ir/ops.h"

enum { FC_ACC_DEVICES = 3, FC_ACC_BLOCK = 1 << 18 };

typedef struct fc_acc_job {
    fc_op op;
    fusec_dtype dtype;
    bool exact;                 /* nothing but the oracle's value will do */
    uint64_t first, last, step; /* numbers of inputs, see inputs.c */
} fc_acc_job;

typedef struct fc_acc_setup {
    fusec_context *context[FC_ACC_DEVICES]; /* NULL: not measured */
    const char *name[FC_ACC_DEVICES];
    int threads;
} fc_acc_setup;

/* ---- inputs.c */

/* f32 or f64. One operand of f32: bit patterns. Two of f32, and all of f64: hard ones first, then
 * random ones without end. */
void fc_acc_input(const fc_acc_job *j, uint64_t number, double *x, double *y);
/* How many there are: all bit patterns, or `samples`. */
uint64_t fc_acc_count(fc_op op, fusec_dtype t, uint64_t samples);
double fc_acc_noise(uint64_t n);

/* ---- sweep.c */

/* Prints the lines. False: something failed, or an error is beyond the bound of its row. */
bool fc_acc_sweep(const fc_acc_setup *s, const fc_acc_job *j);

/* ---- speed.c */

void fc_accuracy_speed(const char *only);

#endif
