/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_sort.h - the kernels that order rows of keys: what they are, what they take, how they are
 * launched. They are the same for all programs; their text is codegen/cuda/prelude/sort.cuh. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_SORT_H
#define FUSEC_CODEGEN_CUDA_CUDA_SORT_H

#include "codegen/target.h"

typedef enum fc_cuda_sort {
    FC_CUDA_SORT_ROWS,  /* short rows, at once */
    FC_CUDA_SORT_COUNT, /* long rows: how often each digit is there */
    FC_CUDA_SORT_TILE,  /* in order by one digit */
    FC_CUDA_SORT_PICK,  /* parts of long rows: the next digit of their ends */
    FC_CUDA_SORT_KEEP,  /* what lies between these */
    FC_CUDA_SORT_KINDS
} fc_cuda_sort;

/* Words of their parameters, as in sort.cuh. */
enum {
    FC_SORT_IN,
    FC_SORT_OUT,
    FC_SORT_AT_IN,
    FC_SORT_AT_OUT,
    FC_SORT_N,
    FC_SORT_ROWS,
    FC_SORT_PLACE,
    FC_SORT_LAST,
    FC_SORT_COUNTS,
    FC_SORT_TILES,
    FC_SORT_TICKETS,
    FC_SORT_FIRST,
    FC_SORT_GIVEN,
    FC_SORT_ENDS,
    FC_SORT_WORDS
};

enum {
    FC_CUDA_SHORT_ROW = 2048,
    FC_CUDA_SORT_SPAN = 256 * 64, /* elements that a block counts */
    FC_CUDA_SORT_NAME = 40
};

/* Elements of a tile. */
static inline int64_t fc_cuda_sort_tile(uint32_t key_bytes) {
    return key_bytes == 8 ? 2048 : 4096;
}

/* log2 of the slots that a short row takes: a power of two of elements, 8 at least. */
static inline uint32_t fc_cuda_sort_slots(int64_t n) {
    uint32_t s = 3;
    while (INT64_C(1) << s < n) s++;
    return s;
}

bool fc_cuda_sort_has_positions(fc_cuda_sort kind); /* it comes with them and without */
/* A kernel for keys of so many bytes, with their positions or without: its own name, and its text
 * with another one. */
void fc_cuda_sort_name(fc_cuda_sort kind, uint32_t key_bytes, bool positions,
                       char name[FC_CUDA_SORT_NAME]);
void fc_cuda_sort_text(fc_cuda_sort kind, uint32_t key_bytes, bool positions, const char *name,
                       fc_str *out);
void fc_cuda_sort_launch(fc_cuda_sort kind, uint32_t key_bytes, int64_t rows, int64_t n,
                         fc_launch *l);

#endif
