/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_window.h - what the files share that read neighbours at computed elements: cuda_window.c
 * (the windows of a thread's vector), cuda_stack.c (stacks of windows, for several rows). */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_WINDOW_H
#define FUSEC_CODEGEN_CUDA_CUDA_WINDOW_H

#include "codegen/cuda/cuda.h"
#include "codegen/linear.h"

enum { FC_WINDOW_MOST = FC_NEAR }; /* elements of a window */

typedef struct window {
    uint32_t arg;
    fc_val when;      /* FC_NOVAL: always */
    fc_val chosen;    /* FC_NOVAL; or the place, one of several that are affine */
    fc_linear leader; /* without its constant */
    int64_t whole;    /* elements of whole rows in the place, where rows have a constant length */
    int64_t low;      /* of the constants, less those */
    uint64_t used;    /* a bit for each element from low on */
    int64_t row;      /* in its stack */
    uint16_t stack;   /* its number + 1 */
    uint8_t dtype;
} window;

typedef struct stack {
    uint32_t first; /* one of its windows: but for `by` and `low` all have the same leader */
    fc_val by;      /* elements of a row of the array, or FC_NOVAL: `length` */
    int64_t length;
    int64_t low, high; /* rows */
    int64_t from, end; /* the least `low` of its windows; behind the last element of any */
} stack;

typedef struct place {
    uint16_t window; /* its number + 1 */
    int64_t at;      /* constant of the place */
} place;

struct fc_cuda_windows {
    FC_VEC(window) of;
    FC_VEC(stack) stacks;
    bool together;   /* the text is for several rows, r is the one under way */
    bool given;      /* others fill w* and t* */
    place *place;    /* [ins] */
    uint8_t *varies; /* [ins] along the neighbours */
};

/* cuda_window.c: bytes to which the leader has to be aligned for vectors of n; appends a form, as
 * the place of the first of the neighbours; loads the elements in `used`, of which the first is
 * w->low, to `to`; they lie behind `from`. */
unsigned fc_cuda_window_bytes(const window *w, unsigned n);
void fc_cuda_window_leader(fc_cuda_gen *g, const fc_linear *f);
void fc_cuda_window_elements(fc_cuda_gen *g, const window *w, uint64_t used, bool vectors,
                             const char *to, const char *from);
unsigned fc_cuda_window_length(const window *w);
/* Marks what is not the same all along kept axis `axis`; `known` is. */
void fc_cuda_windows_vary(const fc_cuda_gen *g, const uint8_t *known, unsigned axis,
                          uint8_t *varies);
/* The elements of a row of a window's array, as a value of its leader; or FC_NOVAL. */
fc_val fc_cuda_window_row(const fc_cuda_gen *g, const window *w);

#endif
