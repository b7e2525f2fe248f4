/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_slide_facts.h - two maps in one launch: the second reads rows of what the first makes, above
 * and below its own, and these are never in memory (cuda_slide.c).
 *
 * Both have the same axes, of which the last two are rows and columns. Reads are described by
 * *places*: a read of the first map that is `shift` columns away from its element has the place
 * column + shift, one of the second map that is `shift` rows away the place row + shift. What
 * stands at a place, beyond an edge too, is a function of the place alone: so many elements have it
 * in common. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_SLIDE_FACTS_H
#define FUSEC_CODEGEN_CUDA_CUDA_SLIDE_FACTS_H

#include "codegen/cuda/cuda_facts.h"
#include "codegen/joined.h"

enum {
    FC_SLIDE_MAKES,    /* the parts: the one whose results are passed on, */
    FC_SLIDE_TAKES,    /* and the one that reads rows of them */
    FC_SLIDE_MOST = 32 /* places side by side */
};
enum { FC_SLIDE_WARPS = 4 /* of a block */, FC_SLIDE_INDEX = 8 /* bytes of an index, at most */ };

/* Reads of one array, whose places are side by side. */
typedef struct fc_slide_reads {
    uint32_t arg, access; /* access: its place is that of the element itself */
    uint8_t dtype;
    int32_t low, high;
    fc_val index, when; /* in fc_slide.code: the column (row) that stands at a place, FC_NOVAL: it
                           is the place; whether any does, FC_NOVAL: always */
} fc_slide_reads;

typedef struct fc_slide {
    const fc_joined *j;
    uint32_t row, column; /* axes */
    fc_code code[2];      /* of each part: functions of a place, which is a FC_OP_INDEX */
    uint16_t *of[2];      /* [instructions] the number of its reads + 1; 0: it is none */
    FC_VEC(fc_slide_reads) reads[2];
} fc_slide;

/* Whether kernels have this form, whatever their sizes are; j->shift is there. */
bool fc_slide_find(const fc_joined *j, fc_slide *out);
void fc_slide_free(fc_slide *x);
/* What their nests say: fills j->shift and j->same. False: they do not have the form, or no memory.
 */
bool fc_slide_shifts(fc_joined *j, fc_arena *arena);
/* The bits that code gives at a place, of what is in `need`; every index of it is the place.
 * False: it depends on more. */
bool fc_slide_eval(const fc_kernel *k, const fc_code *c, const uint8_t *need, const int64_t *values,
                   int64_t place, uint64_t *bits);
/* Whether the rows that stand at the places [0, size) are these; with the sizes of a call. */
bool fc_slide_is_itself(const fc_slide *x, int64_t size);

/* The argument of the second part that is passed on. */
uint32_t fc_slide_passed(const fc_joined *j);

/* Rows of what is passed on that a thread keeps. */
static inline unsigned fc_slide_span(const fc_slide *x) {
    const fc_slide_reads *r = &x->reads[FC_SLIDE_TAKES].at[0];
    return (unsigned)(r->high - r->low) + 1;
}
/* Elements in shared memory of a line of reads of the first part: where its first and its last
 * place are next to those of the first element, in whole units of 16 bytes. */
static inline int32_t fc_slide_line_low(const fc_slide_reads *r) {
    const int32_t unit = 16 / fc_dtypes[r->dtype].bytes, below = r->low < 0 ? -r->low : 0;
    return -((below + unit - 1) / unit * unit);
}
static inline int32_t fc_slide_line_high(const fc_slide_reads *r) {
    const int32_t unit = 16 / fc_dtypes[r->dtype].bytes, high = r->high > 0 ? r->high : 0;
    return (high + unit - 1) / unit * unit;
}
static inline unsigned fc_slide_line(const fc_slide_reads *r, unsigned vector) {
    const unsigned unit = 16 / fc_dtypes[r->dtype].bytes,
                   n = 32 * vector + (unsigned)(fc_slide_line_high(r) - fc_slide_line_low(r));
    return (n + unit - 1) / unit * unit;
}
/* Bytes of shared memory of a warp, of its first `n` arrays. */
static inline unsigned fc_slide_room(const fc_slide *x, size_t n, unsigned vector, unsigned rows) {
    unsigned bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const fc_slide_reads *r = &x->reads[FC_SLIDE_MAKES].at[i];
        bytes += fc_slide_line(r, vector) * (fc_dtypes[r->dtype].bytes * rows + FC_SLIDE_INDEX);
    }
    return bytes;
}

#endif
