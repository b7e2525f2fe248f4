/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_facts.h - two products on tensor cores in one launch: elements of the first, and what
 * kernels between do with its rows, are the left operand of the second and never in memory.
 *
 * Parts are the joined kernels, each with its class and axes: the first product, what reduces its
 * rows (or nothing), the second product. An array that is passed on has the axes of batches, one of
 * rows and one of columns, along which the second product sums; in which order they are in its
 * array does not matter. Axes of the launch are these, then k of the first product and the columns
 * of the second one. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_FLASH_FACTS_H
#define FUSEC_CODEGEN_CUDA_CUDA_FLASH_FACTS_H

#include "codegen/cuda/cuda_facts.h"
#include "codegen/joined.h"
#include "codegen/mask.h"

/* What is done where a mask hides a whole tile: 128 rows, 128 columns of the first product. */
enum fc_flash_masks {
    FC_FLASH_OPEN,   /* all is made; no element is hidden */
    FC_FLASH_MASKED, /* the first product is left out */
    FC_FLASH_FINITE  /* and the second one where its left operand is 0, as no NaN and no infinity
                        is among the right one's */
};

enum {
    FC_FLASH_SIDE = 128,    /* rows of a block; columns of the first product at a time */
    FC_FLASH_BLOCK = 64,    /* elements of a line in shared memory of groups */
    FC_FLASH_MOST_DEEP = 8, /* sixteens of k of the first product, */
    FC_FLASH_MOST_WIDE = 2, /* and 64s of columns of the second, for which a block has room */
    FC_FLASH_ROOM = FC_FLASH_SIDE * FC_FLASH_BLOCK /* elements of 128 lines */
};

#define FC_FLASH_NONE UINT32_MAX
typedef struct fc_flash {
    uint32_t n, rank;                           /* parts; of the arrays that are passed on */
    uint32_t axis[FC_MOST_JOINED][FC_MAX_AXES]; /* each part's own, of those of the launch, or none:
                                                   `rank` of the arrays, columns last; two more */
    uint32_t taken[FC_MOST_JOINED];             /* access by which a part takes what is passed on */
    uint32_t across;                            /* the last part's axis of its columns */
} fc_flash;

/* Whether kernels have this form, whatever their sizes are. */
bool fc_flash_find(const fc_joined *j, fc_flash *out);
/* Says which axis is that of the rows: it comes next to the columns. */
void fc_flash_set_rows(fc_flash *f, uint32_t axis);
/* Whether the kernel between is a softmax, in whose sum and quotient factors may move. */
bool fc_flash_is_softmax(const fc_kernel *k);
/* Of the part that takes what the first one passes on. `finite`: as in fc_mask_query. */
fusec_status fc_flash_find_mask(const fc_joined *j, const fc_flash *f, bool finite,
                                const fc_alloc *alloc, fc_mask *out);
/* Whether hidden elements add nothing to results: those of a softmax that goes once have a largest
 * of -inf, those without reductions are 0. */
bool fc_flash_hides_all(const fc_joined *j, const fc_mask *m);
static inline unsigned fc_flash_blocks_of_k(const fc_class *cls) {
    return (cls->cuda.flash_deep + 3u) / 4;
}
/* Elements of 16 bits of a stage: of the right operands of both products. */
static inline unsigned fc_flash_stage(const fc_class *cls) {
    return FC_FLASH_ROOM * (fc_flash_blocks_of_k(cls) + cls->cuda.flash_wide);
}
static inline unsigned fc_flash_rows_room(const fc_class *cls) {
    return FC_FLASH_ROOM * fc_flash_blocks_of_k(cls);
}
/* Sums of a thread: of the first product at a time, of the second. */
static inline unsigned fc_flash_scores(const fc_class *cls) {
    return FC_FLASH_SIDE / 2u / cls->cuda.flash_turns;
}
static inline unsigned fc_flash_sums(const fc_class *cls) {
    return 32u * cls->cuda.flash_wide;
}
/* Blocks of an SM. */
static inline unsigned fc_flash_together(const fc_class *cls) {
    return cls->cuda.flash_deep <= 4 && cls->cuda.flash_wide == 1 ? 2 : 1;
}

#endif
