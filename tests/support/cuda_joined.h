/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_joined.h - kernels of a program as one launch (codegen/joined.h) and one after the other,
 * both of them as CUDA C on the host: which are joined, and whether results have the same bits. */
#ifndef FUSEC_TESTS_SUPPORT_CUDA_JOINED_H
#define FUSEC_TESTS_SUPPORT_CUDA_JOINED_H

#include "passes/plan.h"
#include "runtime/program.h"
#include "tests/support/cuda_host.h"
#include "tests/support/oracle_run.h"

enum { FC_JOIN_STEPS = 6, FC_JOIN_SYMBOLS = 16 };

/* Fills a graph, whose sizes have names. */
typedef void fc_join_program(fc_graph *g, const void *of);

typedef struct fc_join_size {
    const char *name;
    int64_t value;
} fc_join_size;

typedef struct fc_join_job {
    fc_graph g;
    fc_plan *plan;
    fc_oracle o;
    fc_arrays in, out;
    fc_arena arena;
    int64_t syms[FC_JOIN_SYMBOLS], *values;
    uint32_t mode, align;
    int sms; /* of the machine that is asked */
    /* apart, and as one: the steps from `first` on */
    uint32_t first;
    fc_nest nest[FC_JOIN_STEPS], plain[FC_JOIN_STEPS];
    fc_class cls[FC_JOIN_STEPS];
    fc_launch launch[FC_JOIN_STEPS], all;
    unsigned text[FC_JOIN_STEPS], joined_text;
    fc_joined j;
    bool can;
    const char *find, *put; /* a mistake that the text as one gets; NULL: none */
} fc_join_job;

/* Plans, fills arrays, asks the target about the last `joined` steps (0: all of them). Arrays begin
 * `align` bytes past a multiple of 64 if that is less than 64. With `judged` the oracle runs, too.
 */
bool fc_join_open(fc_join_job *x, fc_join_program *program, const void *of,
                  const fc_join_size *sizes, size_t nsizes, uint32_t joined, uint32_t mode,
                  uint32_t align, int sms, bool judged);
bool fc_join_add_texts(fc_cuda_host *host, fc_join_job *x);
/* Runs both; what is passed on has no memory when it is one launch. `bound` 0: bits are equal and
 * what the oracle wants; else the distance of 16-bit results, as a part of the largest. */
void fc_join_compare(fc_join_job *x, const fc_cuda_host *host, double bound);
/* Of a text with a mistake: whether bits are other ones. */
bool fc_join_differs(fc_join_job *x, const fc_cuda_host *host);
void fc_join_close(fc_join_job *x);

/* A program on a device that has such a GPU: how many launches it is, how much memory its
 * temporaries take. */
void fc_join_on_device(fc_join_program *program, const void *of, const fc_join_size *sizes,
                       size_t nsizes, int sms, uint32_t *launches, size_t *scratch);

#endif
