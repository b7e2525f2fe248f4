/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_slide.h - what the files share that write two maps in one launch: cuda_slide_loops.c (the
 * loop form), cuda_walk.c (the walk over it), cuda_slide.c (text). */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_SLIDE_H
#define FUSEC_CODEGEN_CUDA_CUDA_SLIDE_H

#include "codegen/cuda/cuda_slide_facts.h"
#include "codegen/cuda/cuda_walk.h"

typedef struct fc_slide_gen {
    const fc_joined *j;
    const fc_class *cls; /* of the first part */
    fc_slide f;
    fc_cuda_walk w;       /* its `g` is the one whose text is under way */
    fc_cuda_gen part[2];  /* the form is the first one's */
    fc_cuda_gen place[2]; /* of f.code */
    fc_kernel places[2];  /* theirs; all but the code is borrowed */
    uint8_t *aside;       /* [accesses of the first part] its store */
    char number[16];      /* name of a thread's first column */
} fc_slide_gen;

/* cuda_slide_loops.c: the form, which stands above the text. */
fusec_status fc_slide_loops(fc_slide_gen *x, fc_error *e);
/* cuda_slide.c: what stands before the loops inside of the grid; a node, if it is not as in all
 * forms. */
void fc_slide_begin(fc_slide_gen *x);
bool fc_slide_node(fc_cuda_walk *w, const fc_loop *n);

#endif
