/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_inner.h - what the schedules of inner reductions share: cuda_walk.c and
 * cuda_ring.c with cuda_team.c and cuda_divide.c. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_INNER_H
#define FUSEC_CODEGEN_CUDA_CUDA_INNER_H

#include "codegen/cuda/cuda.h"

enum { FC_CUDA_QUAD = 4 };

typedef struct fc_cuda_inner {
    fc_cuda_gen *g;
    unsigned team;  /* threads of a row */
    unsigned warps; /* of a row (of a part of it) */
    bool gang;      /* rows are shared by blocks that wait for each other */
    bool full;      /* no thread lacks an element or a row */
    int its, batch; /* iterations of a chunk, and those whose loads are in flight together */
    unsigned apart; /* from one element of a thread's group to the next: 1 or, where a row is not
                       aligned, the threads of a warp, so that these are neighbours */
    fc_cuda_group quad;
} fc_cuda_inner;

/* From the first element of a thread's group to that of the next thread. */
static inline int fc_inner_lane(const fc_cuda_inner *in) {
    return in->apart > 1 ? 1 : FC_CUDA_QUAD;
}

/* w0[n] = start values */
void fc_inner_start_lanes(fc_cuda_gen *g, unsigned stage, int n);
/* w0[0] = all lanes of the thread, pairwise in order; lanes that do not exist would change
 * nothing */
void fc_inner_join_lanes(fc_cuda_gen *g, unsigned stage, int n);
void fc_inner_join_lane(fc_cuda_gen *g, unsigned r, int n); /* of one reduction */
/* x0 = all lanes of the warp (of the row, if that is less). `even`: all have the same count. */
void fc_inner_meet_lanes(const fc_cuda_inner *in, unsigned stage, bool even);
void fc_inner_meet(const fc_cuda_inner *in, unsigned r, bool even); /* of one reduction */
/* Who works on what: row, here, lane, warp and the bases. */
void fc_inner_team_rows(const fc_cuda_inner *in);
/* x0 of the warps of a row in order; afterwards every thread of the row has the result. */
void fc_inner_join_warps(const fc_cuda_inner *in, unsigned stage, const char *array);
/* The same for the blocks of a gang. */
void fc_inner_join_parts(const fc_cuda_inner *in, unsigned stage);
void fc_inner_finish(fc_cuda_gen *g, unsigned stage);

/* cuda_divide.c. The stores of elements: `pass` writes their text, twice where quotients by a value
 * of the row are made the short way first. */
void fc_inner_store(const fc_cuda_inner *in, void (*pass)(const fc_cuda_inner *in));

fc_cuda_inner fc_cuda_inner_of(fc_cuda_gen *g);

#endif
