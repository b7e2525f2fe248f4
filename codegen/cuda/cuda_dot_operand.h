/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_operand.h - a contraction in tiles and its operands: what all files share that write one
 * (cuda_dot.h). */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_DOT_OPERAND_H
#define FUSEC_CODEGEN_CUDA_CUDA_DOT_OPERAND_H

#include "codegen/cuda/cuda.h"

/* That of the rows, or of the columns, of a tile. */
typedef struct fc_dot_side {
    fc_val value;
    unsigned axis; /* of its rows (columns); the number of kept axes: it has one */
    unsigned also; /* other axes that are numbered together with it, as bits */
    unsigned side; /* of them in a tile */
    fc_cuda_reads reads;
    bool by_k;           /* neighbouring threads fetch neighbours along k */
    bool along;          /* lines in shared memory are along k */
    unsigned line, from; /* elements of a line; where it begins in a stage */
    unsigned raw;        /* if it is made: where what it comes from begins */
    const char *at, *size, *name;
} fc_dot_side;

typedef struct fc_dot {
    fc_cuda_gen *g;
    const fc_cuda_tile *tile;
    fc_dot_side x[2];
    unsigned stage;   /* elements of a stage of both operands */
    fusec_dtype t;    /* of accumulators */
    fusec_dtype half; /* what tensor cores take: f16, bf16, f32 as tf32, i8 for any of 8 bits,
                         f64 */
    const char *type; /* of elements in shared memory */
} fc_dot;

static inline unsigned fc_dot_of_pass(const fc_dot *d) { /* places of results */
    return fc_cuda_tile_places(d->tile) / d->tile->high;
}
static inline bool fc_dot_is_split(const fc_dot *d) {
    return d->g->cls->cuda.dot_parts != 0;
}
/* Where the elements of k of a block begin, to be put in front of what counts from there, and how
 * many they are. */
static inline const char *fc_dot_first(const fc_dot *d) {
    return fc_dot_is_split(d) ? "begin + " : "";
}
static inline const char *fc_dot_many(const fc_dot *d) {
    return fc_dot_is_split(d) ? "many" : "count";
}
static inline bool fc_dot_makes(const fc_dot *d) {
    return fc_cuda_is_made(d->x[0].reads) || fc_cuda_is_made(d->x[1].reads);
}

/* Once a kernel: what numbers of rows, columns and elements of k are divided by. */
void fc_dot_divisors(const fc_dot *d);
/* The indices of a row (column), of which `number` is the text. */
void fc_dot_indices(const fc_dot *d, const fc_dot_side *x, const char *number);
/* Which element of an operand in a stage number `turn` is: `at` of its rows (columns), `deep` of k.
 */
void fc_dot_turn_place(const fc_dot *d, const fc_dot_side *x);
/* Indices and offsets of the element `at` (of its rows or columns) and `deep` (of k) that is
 * fetched, or of `each` from there on; `depth` < count: it exists. */
void fc_dot_element(const fc_dot *d, const fc_dot_side *x, unsigned each);
/* Once a tile: of an operand through windows whose elements a thread reads one by one, at one row
 * (column), the offsets there; `fast` threads are side by side, and all of them are a multiple. */
void fc_dot_begin_place(const fc_dot *d, const fc_dot_side *x, unsigned fast);
/* Once a kernel: what operands need that is the same everywhere. */
void fc_dot_constants(const fc_dot *d);
/* Marks in g->need and g->used what one value needs, or two, all of it at a point. */
void fc_dot_slice(fc_cuda_gen *g, fc_val root);
/* Of an operand through a window, where an element of a group has been placed: the code of its
 * address. Appends that, and whether there is an element. */
void fc_dot_find_window(const fc_dot *d, const fc_dot_side *x);
void fc_dot_window_at(const fc_dot *d, const fc_dot_side *x);
void fc_dot_window_there(const fc_dot *d, const fc_dot_side *x);
/* What tensor cores take, as functions of the prelude call it. */
const char *fc_dot_feed(const fc_dot *d);
/* The value that is stored of an operand, and its bits; groups of 16 bytes along a line, threads
 * that take them, lines from one turn of all threads to the next, lines of a step. */
fc_val fc_mma_narrow_of(const fc_dot *d, fc_val v);
void fc_mma_put_bits(const fc_dot *d, fc_val v);
unsigned fc_dot_groups_of_line(const fc_dot *d, const fc_dot_side *x);
unsigned fc_dot_workers(const fc_dot *d, const fc_dot_side *x);
unsigned fc_dot_lines_of_turn(const fc_dot *d, const fc_dot_side *x);
unsigned fc_dot_lines_of(const fc_dot *d, const fc_dot_side *x);
/* The innermost axis of k, along which neighbours lie. */
static inline unsigned fc_dot_deep_axis(const fc_dot *d) {
    return d->g->axes - 1;
}
/* Appends the elements from one line of array `a` to the next. */
void fc_dot_stride(const fc_dot *d, const fc_dot_side *x, uint32_t a);
/* Once a tile: which of a thread's rows (columns), counted from its first group on, are the last;
 * opens a scope with the places b* of that group in the first step, which need not exist. */
void fc_dot_begin_first(const fc_dot *d, const fc_dot_side *x);

#endif
