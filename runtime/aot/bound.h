/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bound.h - a definition with the sizes of a call: bound.c makes it, aot.c runs it on a processor,
 * cuda.c on a GPU.
 *
 * In: a definition, the sizes, and whose code. Out: for each kernel its code, its launch and its
 * parameter block without addresses; where everything lies in one block of scratch memory: first
 * what has to be zero (reports of checks, tickets), then what is stored between kernels. */
#ifndef FUSEC_RUNTIME_AOT_BOUND_H
#define FUSEC_RUNTIME_AOT_BOUND_H

#include "runtime/aot/aot.h"

/* A kernel with the sizes of the call, but for addresses and scalars. */
typedef struct fc_aot_step {
    const fc_aot_variant *code; /* NULL: nothing to do */
    uint64_t number;            /* of that code, see fc_aot_code.first */
    int64_t *words;
    fc_layout layout;
    fc_launch launch;
    int64_t rows;
    size_t report; /* in the scratch; SIZE_MAX: it checks nothing */
} fc_aot_step;

/* All that sizes decide. */
typedef struct fc_aot_bound {
    const fc_aot_def *d;
    fc_aot_step *steps;
    size_t *place;                                   /* of each buffer in the scratch */
    uint8_t *needed;                                 /* of each input and output: it has bytes */
    size_t workspace, tickets, zero, reports, bytes; /* zero: bytes of that part, its end; reports:
                                                        of the part of it with reports */
} fc_aot_bound;

/* Whose code is bound: a target's schedules, its machine, the code of each kernel. */
typedef struct fc_aot_side {
    fusec_status (*schedule)(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                             uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *launch,
                             fc_error *e);
    fusec_status (*schedule_plain)(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                   fc_arena *arena, fc_class *cls, fc_launch *launch, fc_error *e);
    const fc_machine *machine;
    const fc_aot_code *code;
    uint32_t align; /* of all arrays */
    uint64_t id;    /* of the GPU that was opened, 0: the processor */
} fc_aot_side;

typedef int fc_aot_run(const fc_aot_bound *b, void *user);

enum { FC_AOT_PLACE = 256 }; /* what the scratch, and each part of it, is aligned to */

/* Binds, unless this thread called the same last, and runs. */
bool fc_aot_is_last(const fc_aot_def *d, const int64_t *sizes, uint32_t align, uint64_t id);
int fc_aot_again(fc_aot_run *run, void *user);
int fc_aot_anew(const fc_aot_def *d, const fc_aot_side *side, const int64_t *sizes, fc_aot_run *run,
                void *user);

/* The parameter block of step i, whose words there is room for. */
void fc_aot_fill(const fc_aot_bound *b, size_t i, void *const *arrays, char *scratch,
                 int64_t *words);
/* Whether an array that has bytes is NULL. */
bool fc_aot_lacks(const fc_aot_bound *b, void *const *arrays);

#endif
