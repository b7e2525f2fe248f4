/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot.h - what writes contractions in tiles: cuda_dot.c with cuda_dot_results.c, and
 * cuda_dot_chain.c for chains, cuda_mma.c and cuda_wgmma.c for tensor cores. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_DOT_H
#define FUSEC_CODEGEN_CUDA_CUDA_DOT_H

#include "codegen/cuda/cuda_dot_operand.h"
#include "codegen/cuda/cuda_walk.h"

fc_dot fc_dot_of(fc_cuda_gen *g);
/* Around the loops of a block; nodes that are not as in all forms. */
void fc_dot_begin(const fc_dot *d);
void fc_dot_end(const fc_dot *d);
bool fc_dot_node(fc_cuda_walk *w, const fc_loop *n);

/* cuda_dot_results.c: the leaves behind the sums. */
bool fc_dot_results_leaf(const fc_dot *d, const fc_loop *n);
/* What flat tiles load for their results, before there are any: it comes while they multiply. */
void fc_dot_results_ahead(const fc_dot *d);
/* cuda_dot_pass.c: opens the loop over passes, in each of which the results of a thread go to their
 * places in shared memory, where those of the others are. */
void fc_dot_begin_pass(const fc_dot *d);
void fc_dot_turn(const fc_dot *d);
/* Where result c of a pass is, from the first one of the thread on. */
unsigned fc_dot_place(const fc_dot *d, unsigned c);

/* cuda_dot_split.c: of a product whose k is split. Which parts there are, where their partials are;
 * the part of a block; a partial to the workspace; whether all are there; they become results in
 * shared memory. */
void fc_dot_split_sizes(const fc_dot *d);
void fc_dot_split_part(const fc_dot *d);
void fc_dot_split_put(const fc_dot *d);
void fc_dot_split_wait(const fc_dot *d);
void fc_dot_split_join(const fc_dot *d);

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

/* cuda_mma_blocks.c. The groups that a thread has in a step: neighbours of one; how many, on lines
 * so far apart; which threads have any ("a && "). */
typedef struct fc_blocks_turn {
    unsigned n, turns, down;
    const char *who;
} fc_blocks_turn;
/* As fc_dot_slice of an operand that is made, down to what is one for a block of k, where the slice
 * ends. Of that slice: whether there is any; whether groups have several bytes of one; pointers,
 * once a tile, and where they begin; held*; their loads for the step that is made next, while those
 * of `ahead` steps later come to the L2; r* and o* of group u; on to the next step. */
void fc_made_slice(const fc_dot *d, const fc_dot_side *x, fc_val root);
bool fc_blocks_any(const fc_dot *d);
bool fc_blocks_have_bytes(const fc_dot *d);
void fc_blocks_declare(const fc_dot *d, const fc_dot_side *x);
void fc_blocks_begin(const fc_dot *d, const fc_dot_side *x);
void fc_blocks_hold(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn);
void fc_blocks_load(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn,
                    unsigned ahead);
/* next* of the step after it, of numbers packed in bytes and if there are registers; they become
 * held*. */
bool fc_blocks_load_next(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn,
                         unsigned ahead);
void fc_blocks_take_next(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn);
void fc_blocks_values(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn);
void fc_blocks_advance(const fc_dot *d, const fc_dot_side *x);

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
void fc_wgmma_multiply(const fc_dot *d); /* of the stage that begins at `held` */
void fc_wgmma_settle(const fc_dot *d);

/* cuda_flat_fetch.c. Threads of a flat tile that fetch, how many join the gate of a step, and their
 * text. */
unsigned fc_flat_fetchers(const fc_dot *d);
unsigned fc_flat_joins(const fc_dot *d);
void fc_flat_fetching_places(const fc_dot *d);
void fc_flat_fetch(const fc_dot *d);
/* cuda_flat.c: which stage is next, for both. */
void fc_flat_begin_slots(const fc_dot *d);
void fc_flat_next_slot(const fc_dot *d);
/* cuda_flat.c. The same of flat tiles whose warps fetch or multiply: elements of 16 bits behind the
 * stages; the place of a tile; around the loop over chunks. */
unsigned fc_flat_behind(const fc_dot *d);
void fc_flat_places(const fc_dot *d);
void fc_flat_place(const fc_dot *d, const char *tile);
void fc_flat_begin_tile(const fc_dot *d);
void fc_flat_begin_chunks(const fc_dot *d);
void fc_flat_end_chunks(const fc_dot *d);
void fc_flat_products(const fc_dot *d);

#endif
