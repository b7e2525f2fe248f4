/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_ring.h - what the files of rings share: cuda_ring_place.c (elements in a place), cuda_ring.c
 * (the phases). A block of a cluster (cuda_cluster.c) has one place, and its warps take the chunks
 * of it in turn. What a place has room for: cuda_facts.h. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_RING_H
#define FUSEC_CODEGEN_CUDA_CUDA_RING_H

#include "codegen/cuda/cuda_inner.h"

enum { FC_RING_BYTES = 40 }; /* characters of an expression for a number of bytes */

typedef struct fc_ring {
    fc_cuda_inner in;
    bool cluster;       /* one place for a whole block, else those of a ring */
    unsigned each;      /* chunks of a warp, of a ring */
    unsigned phase;     /* whose text is under way, or FC_CUDA_STORES */
    uint32_t *inside;   /* [ins] of what is held: the access whose room it takes */
    uint8_t *first;     /* [ins] of what is held: the phase that computes it */
    uint8_t *last;      /* [accesses] the last phase that loads it */
    uint8_t *done;      /* [ins] what the text around the phases has */
    uint8_t *wanted;    /* [stages] whether the phase needs a result of it */
    uint8_t *sent;      /* [accesses] whether a store goes through the place */
    uint32_t *outside;  /* [accesses] of such a store: the load whose room it takes */
    fc_cuda_group quad; /* of the chunk under way, and how many iterations side by side */
    int batch;
    void (*after)(const struct fc_ring *); /* text after each chunk, in its loop; may be NULL */
} fc_ring;

fusec_status fc_ring_open(fc_ring *o, const fc_cuda_inner *in, fc_error *e);
void fc_ring_close(fc_ring *o);
/* g->hold, and in whose room held values and results are. */
fusec_status fc_ring_settle(fc_ring *o, fc_error *e);

/* Text. `here`: the place under way. */
const char *fc_ring_storage(const fc_cuda_gen *g, uint32_t a);
void fc_ring_room_before(const fc_ring *o, uint32_t access, char out[FC_RING_BYTES]);
/* Asks for what comes, by all lanes of a warp, which then join at `gate`. */
void fc_ring_fetch(const fc_ring *o, const char *gate);
void fc_ring_begin_place(const fc_ring *o);
/* The same and r*, k*, z*: this thread's elements there, of loads, held values and results. */
void fc_ring_pointers(const fc_ring *o);
/* The chunks of a warp; x* of a stage is that of each. */
void fc_ring_chunks(fc_ring *o);

#endif
