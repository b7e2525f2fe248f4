/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* blocks.h - reads of a product's operands that move once in so many elements: the scale of a block
 * of k, or of k and of columns.
 *
 * In: a kernel with one reduced axis. Out: the parts of a FC_OP_LOAD_AT whose element is an affine
 * place and multiples of quotients of single indices, floor(k / 32). So a target reads it once for
 * a block, or for all neighbours along another axis together. */
#ifndef FUSEC_CODEGEN_BLOCKS_H
#define FUSEC_CODEGEN_BLOCKS_H

#include "ir/kernel.h"

/* floor(index / of), times `by`. */
typedef struct fc_block_part {
    uint32_t index; /* access of FC_OP_INDEX: one axis */
    int64_t of;
    fc_val by; /* a number; FC_NOVAL: one */
} fc_block_part;

enum { FC_BLOCK_PARTS = 3 };
typedef struct fc_block_read {
    uint32_t arg, place; /* access of FC_OP_INDEX: the affine part */
    unsigned n;          /* at least 1 */
    fc_block_part part[FC_BLOCK_PARTS];
} fc_block_read;

/* Of an instruction of the kernel's code. */
bool fc_find_block_read(const fc_kernel *k, fc_val v, fc_block_read *out);

/* Whether an instruction is the index of one axis and nothing else: it begins at 0, as a product's
 * indices have what is added to them in instructions (passes/lower_index.c). fc_is_depth: of the
 * reduced one. */
bool fc_is_single_index(const fc_kernel *k, fc_val v);
bool fc_is_depth(const fc_kernel *k, uint32_t index);

#endif
