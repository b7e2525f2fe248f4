/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* joined.h - kernels of a plan that follow each other and are one launch: what they pass on stays
 * on the chip.
 *
 * softmax(q @ k.T) @ v is three kernels, with arrays [n, n] between them. Where a target can
 * (fc_target.join) its text does a block of rows of all three: it makes elements of the first
 * product, as often as it needs them, and multiplies by them at once. Bits are those of the
 * kernels one after the other, but for what a licence allows (docs/semantics.md).
 *
 * Two maps, of which the second reads rows of what the first makes, are one launch as well
 * (codegen/cuda/cuda_slide.c).
 *
 * The parameter block of the launch has the blocks of all kernels, one behind the other. Their
 * nests are plain: axes are the kernels' own. */
#ifndef FUSEC_CODEGEN_JOINED_H
#define FUSEC_CODEGEN_JOINED_H

#include <stdio.h>
#include <string.h>

#include "codegen/nest.h"

enum { FC_MOST_JOINED = 3 };

typedef struct fc_joined {
    uint32_t n;
    const fc_kernel *kernel[FC_MOST_JOINED];
    const fc_nest *nest[FC_MOST_JOINED]; /* for who chooses; who writes the text has none */
    const int64_t *values;               /* of all dims; likewise */
    fc_class cls[FC_MOST_JOINED];        /* the choice is in the first; the others' say the rest */
    /* what a form of joining found; NULL: nothing */
    const int32_t *shift[FC_MOST_JOINED]; /* [instructions] how far a read is from its element */
    const uint32_t *same; /* [accesses of the last] the access of the first that is at the same
                             element all the time, + 1; 0: none */
    fc_layout layout[FC_MOST_JOINED]; /* in the block of the launch */
    uint32_t times[FC_MOST_JOINED];   /* how often it makes what each of them does */
} fc_joined;

static inline fc_layout fc_layout_from(fc_layout l, uint32_t first) {
    l.args += first;
    l.extents += first;
    l.accesses += first;
    l.params += first;
    l.extra += first;
    l.words += first;
    return l;
}

/* Fills `layout`, of kernels with their own axes; the words of all. */
static inline uint32_t fc_joined_layouts(fc_joined *j) {
    uint32_t words = 0;
    for (uint32_t i = 0; i < j->n; i++) {
        const fc_kernel *k = j->kernel[i];
        const fc_layout own = fc_layout_of((uint32_t)k->args.len, k->np + k->nr,
                                           (uint32_t)k->accesses.len, (uint32_t)k->params.len);
        j->layout[i] = fc_layout_from(own, words);
        words = j->layout[i].words;
    }
    return words;
}

/* A name for profilers, as fc_kernel_name: "fusec_joined_max_sum_exp". */
static inline void fc_joined_name(const fc_joined *j, char out[FC_KERNEL_NAME]) {
    char of[FC_KERNEL_NAME];
    fc_kernel_name(j->kernel[j->n - 2], of);
    const char *what = strchr(of + strlen("fusec_"), '_'); /* behind its schedule */
    snprintf(out, FC_KERNEL_NAME, "fusec_joined%.*s", FC_KERNEL_NAME - 16, what ? what : "");
}

#endif
