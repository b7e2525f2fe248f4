/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sample_reduce.h - the reduction trees of ir/graph.h, literally, for the references of the
 * samples. */
#ifndef FUSEC_TESTS_SUPPORT_SAMPLE_REDUCE_H
#define FUSEC_TESTS_SUPPORT_SAMPLE_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ref_kind {
    REF_SUM_F32,
    REF_SUM_F64,
    REF_SUM_I64,
    REF_PROD_F32,
    REF_MIN_F32,
    REF_MAX_F32,
    REF_ARGMIN_F32,
    REF_ARGMAX_F32,
    REF_VAR_F32 /* result.f is the variance, result.mean the mean of the same recurrence */
} ref_kind;

typedef struct ref_node {
    float f, mean;
    double d;
    int64_t i;
} ref_node;

/* Reduces n elements (each exact in double) by the inner or the outer tree; var is divided by n
 * already. */
ref_node fc_ref_reduce(ref_kind kind, bool inner, const double *elements, int64_t n);

#endif
