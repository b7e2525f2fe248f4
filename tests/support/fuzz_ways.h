/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_ways.h - ways of running a random graph that are more than another program of it. */
#ifndef FUSEC_TESTS_SUPPORT_FUZZ_WAYS_H
#define FUSEC_TESTS_SUPPORT_FUZZ_WAYS_H

#include "tests/support/fuzz.h"

/* A graph with its sizes and arrays, and what the first run gave. */
typedef struct fuzz_case {
    const rg *r;
    const fc_graph *g;
    const int64_t *syms;
    const fc_oracle *o;
    const fc_arrays *in, *out;
} fuzz_case;

/* Arguments with strides of all kinds (rows apart, axes reversed or in another order, columns of
 * records), at addresses that are aligned or not, every result on an input now and then. What lies
 * between the elements must stay as it is. */
fuzz_verdict fuzz_views(const fuzz_case *c, const char *device, fc_str *why);
/* The recipe as values of no graph (fusec_lazy). */
fuzz_verdict fuzz_lazy(const fuzz_case *c, const char *device, fc_str *why);

#endif
