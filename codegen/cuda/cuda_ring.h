/* cuda_ring.h - what the files of rings share: cuda_ring_schedule.c (who has one, and what a place
 * has room for), cuda_ring_place.c (elements in a place), cuda_ring.c (the phases). */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_RING_H
#define FUSEC_CODEGEN_CUDA_CUDA_RING_H

#include "codegen/cuda/cuda_inner.h"

typedef struct fc_ring {
    fc_cuda_inner in;
    unsigned each;      /* chunks of a warp */
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
} fc_ring;

/* Elements of a part. */
unsigned fc_ring_part(const fc_class *cls);
/* Bytes of a place, to which `comes` says what comes, before the room of access `a`; of the place.
 */
unsigned fc_ring_room(const fc_kernel *k, const fc_class *cls, const uint8_t *comes, uint32_t a);
unsigned fc_ring_place_bytes(const fc_kernel *k, const fc_class *cls, const uint8_t *comes);

/* g->hold, and in whose room held values and results are; o->first and the like have room. */
fusec_status fc_ring_settle(fc_ring *o, fc_error *e);

/* Text. `here`: the place under way. */
const char *fc_ring_storage(const fc_cuda_gen *g, uint32_t a);
void fc_ring_begin_place(const fc_ring *o);
/* The same and r*, k*, z*: this thread's elements there, of loads, held values and results. */
void fc_ring_pointers(const fc_ring *o);
/* The chunks of a warp; x* of a stage joins them. */
void fc_ring_chunks(fc_ring *o);

#endif
