/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot.h - what writes contractions in tiles: cuda_dot.c with cuda_dot_results.c, and
 * cuda_dot_chain.c for chains, cuda_mma.c and cuda_wgmma.c for tensor cores. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_DOT_H
#define FUSEC_CODEGEN_CUDA_CUDA_DOT_H

#include "codegen/cuda/cuda_walk.h"

/* That of the rows, or of the columns, of a tile. */
typedef struct fc_dot_side {
    fc_val value;
    unsigned axis; /* of its rows (columns); the number of kept axes: it has one */
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
    unsigned stage; /* elements of a stage of both operands */
    fusec_dtype t;  /* of accumulators */
    fusec_dtype half;
    const char *type; /* of elements in shared memory */
} fc_dot;

fc_dot fc_dot_of(fc_cuda_gen *g);
/* Around the loops of a block; nodes that are not as in all forms. */
void fc_dot_begin(const fc_dot *d);
void fc_dot_end(const fc_dot *d);
bool fc_dot_node(fc_cuda_walk *w, const fc_loop *n);
/* Indices and offsets of the element `at` (of its rows or columns) and `deep` (of k) that is
 * fetched, or of `each` from there on; `depth` < count: it exists. */
void fc_dot_element(const fc_dot *d, const fc_dot_side *x, unsigned each);
/* Marks in g->need and g->used what one value needs, all of it at a point. */
void fc_dot_slice(fc_cuda_gen *g, fc_val root);

/* cuda_dot_results.c: the leaves behind the sums. Opens the loop over passes, in each of which the
 * results of a thread go to their places in shared memory, where those of the others are. */
bool fc_dot_results_leaf(const fc_dot *d, const fc_loop *n);
void fc_dot_begin_pass(const fc_dot *d);
void fc_dot_turn(const fc_dot *d);
/* Where result c of a pass is, from the first one of the thread on. */
unsigned fc_dot_place(const fc_dot *d, unsigned c);
static inline unsigned fc_dot_of_pass(const fc_dot *d) { /* places of results */
    return fc_cuda_tile_places(d->tile) / d->tile->high;
}

/* cuda_dot_split.c: of a product whose k is split. Which parts there are, where their partials are;
 * the part of a block; a partial to the workspace; whether all are there; they become results in
 * shared memory. */
void fc_dot_split_sizes(const fc_dot *d);
void fc_dot_split_part(const fc_dot *d);
void fc_dot_split_put(const fc_dot *d);
void fc_dot_split_wait(const fc_dot *d);
void fc_dot_split_join(const fc_dot *d);
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

/* cuda_dot_chain.c: functions of an element; places of threads, once and for each tile; around the
 * loop over steps; what a step asks for; its products. */
void fc_chain_functions(const fc_dot *d);
void fc_chain_places(const fc_dot *d);
void fc_chain_begin_tile(const fc_dot *d);
void fc_chain_begin(const fc_dot *d);
void fc_chain_end(const fc_dot *d);
void fc_chain_fill(const fc_dot *d);
void fc_chain_products(const fc_dot *d);

/* cuda_mma_made.c: of operands that are computed eight elements at a time. Elements of 16 bits of a
 * stage that what they come from takes; once a tile; what a step asks for; the operands of the next
 * step. */
unsigned fc_made_room(const fc_dot *d, const fc_dot_side *x);
void fc_made_begin(const fc_dot *d, const fc_dot_side *x);
void fc_made_ask(const fc_dot *d, const fc_dot_side *x);
void fc_made_make(const fc_dot *d);
/* Of the slice under way: whether neighbours along a line have elements of their own of an array.
 * Appends the elements from one line to the next, or along a line, in array `a`. Text that makes n
 * neighbours of q*: their bits, two in a word; zeros where `kept` is zero, if it is not NULL. */
bool fc_made_comes(const fc_dot *d, const fc_dot_side *x, uint32_t a);
void fc_made_stride(const fc_dot *d, uint32_t a, unsigned axis);
void fc_made_group(const fc_dot *d, const fc_dot_side *x, unsigned n, const char *kept);
static inline bool fc_dot_makes(const fc_dot *d) {
    return fc_cuda_is_made(d->x[0].reads) || fc_cuda_is_made(d->x[1].reads);
}
/* cuda_mma.c: the value that is stored of an operand, and its bits; groups of eight along a line,
 * threads that take them, lines from one turn of all threads to the next, lines of a step. */
fc_val fc_mma_narrow_of(const fc_dot *d, fc_val v);
void fc_mma_put_bits(const fc_dot *d, fc_val v);
unsigned fc_mma_groups_of_line(const fc_dot *d, const fc_dot_side *x);
unsigned fc_mma_workers(const fc_dot *d, const fc_dot_side *x);
unsigned fc_mma_lines_of_turn(const fc_dot *d, const fc_dot_side *x);
unsigned fc_mma_lines_of(const fc_dot *d, const fc_dot_side *x);
/* Appends the elements from one line of array `a` to the next. */
void fc_mma_stride(const fc_dot *d, const fc_dot_side *x, uint32_t a);
/* Once a tile: which of a thread's rows (columns), counted from its first group on, are the last;
 * opens a scope with the places b* of that group in the first step, which need not exist. */
void fc_mma_begin_first(const fc_dot *d, const fc_dot_side *x);

/* cuda_mma.c. Places of threads, once and for each tile; a stage of operands; products of one; what
 * waits for it; the place of a thread's first result of a pass, and of result c from there. */
void fc_mma_places(const fc_dot *d);
void fc_mma_begin_tile(const fc_dot *d);
void fc_mma_fill(const fc_dot *d);
void fc_mma_products(const fc_dot *d);
/* Appends the place of an element of an operand in shared memory: `line`, and `in` it. */
void fc_mma_place(const fc_dot *d, const fc_dot_side *x, const char *line, const char *in);

/* cuda_wgmma.c. The same of tiles whose warps multiply in groups; what waits for all products. */
void fc_wgmma_place(const fc_dot *d, const char *line, const char *in);
void fc_wgmma_places(const fc_dot *d);
void fc_wgmma_products(const fc_dot *d);
void fc_wgmma_settle(const fc_dot *d);

/* cuda_flat.c. The same of flat tiles whose warps fetch or multiply: elements of 16 bits of a
 * stage; the place of a tile; around the loop over chunks. */
unsigned fc_flat_stage(const fc_dot *d);
void fc_flat_places(const fc_dot *d);
void fc_flat_place(const fc_dot *d, const char *tile);
void fc_flat_begin_tile(const fc_dot *d);
void fc_flat_begin_chunks(const fc_dot *d);
void fc_flat_end_chunks(const fc_dot *d);
void fc_flat_products(const fc_dot *d);

#endif
