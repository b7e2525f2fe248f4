/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_ring.h - parts of rows in shared memory: cuda_ring_place.c (what lies where, a chunk of it),
 * cuda_ring.c (what a form with such parts has beside others). A block of a cluster has one place,
 * and its warps take the chunks of it in turn. What a place has room for: cuda_facts.h. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_RING_H
#define FUSEC_CODEGEN_CUDA_CUDA_RING_H

#include "codegen/cuda/cuda_walk.h"

typedef struct fc_ring {
    fc_cuda_inner in;
    bool cluster;       /* one place for a whole block, else those of a ring */
    unsigned phase;     /* whose text is under way, or FC_CUDA_STORES */
    uint32_t *inside;   /* [ins] of what is held: the access whose room it takes */
    uint8_t *first;     /* [ins] of what is held: the phase that computes it */
    uint8_t *last;      /* [accesses] the last phase that loads it */
    uint8_t *sent;      /* [accesses] whether a store goes through the place */
    uint32_t *outside;  /* [accesses] of such a store: the load whose room it takes */
    fc_cuda_group quad; /* of the chunk under way, and how many iterations side by side */
    int batch;
} fc_ring;

/* Iterations of a whole chunk whose loads stand side by side; the slice is that of the phase. */
unsigned fc_ring_batch(fc_ring *o, unsigned phase);
bool fc_ring_sends(const fc_ring *o); /* whether any store goes through the place */

/* Text. `here`: the place under way. */
/* Asks for what comes, by all lanes of a warp, which then join at `gate`. */
void fc_ring_fetch(const fc_ring *o, const char *gate);
void fc_ring_begin_place(const fc_ring *o);
/* The same and r*, k*, z*: this thread's elements there, of loads, held values and results. */
void fc_ring_pointers(const fc_ring *o);
/* Turns of a chunk, of which elements from `limit` on do not exist. */
void fc_ring_turns(fc_ring *o, const fc_loop *n, const char *limit);

/* cuda_ring.c: what surrounds the loops inside of blocks; nodes that are not as in all forms. */
void fc_ring_begin(fc_cuda_walk *w);
void fc_ring_end(fc_cuda_walk *w);
bool fc_ring_node(fc_cuda_walk *w, const fc_loop *n);

#endif
