/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* blocks.h - reads that move once in so many elements of k: the scale of a block of a product's
 * operand.
 *
 * In: a kernel with one reduced axis. Out: the parts of a FC_OP_LOAD_AT whose element is a place
 * that k does not move, plus a multiple of floor(k / of). So a target reads it once for a block, or
 * for all neighbours along another axis together. */
#ifndef FUSEC_CODEGEN_BLOCKS_H
#define FUSEC_CODEGEN_BLOCKS_H

#include "ir/kernel.h"

typedef struct fc_block_read {
    uint32_t arg;
    uint32_t place, depth; /* accesses of FC_OP_INDEX: where it is of block 0; k */
    int64_t of;            /* elements of k in a block */
    fc_val by;             /* elements from a block to the next, a number; FC_NOVAL: one */
} fc_block_read;

/* Of an instruction of the kernel's code. */
bool fc_find_block_read(const fc_kernel *k, fc_val v, fc_block_read *out);

/* Whether an instruction is the index of the reduced axis and nothing else: it begins at 0, as a
 * product's indices have what is added to them in instructions (passes/lower_index.c). */
bool fc_is_depth(const fc_kernel *k, fc_val v);

#endif
