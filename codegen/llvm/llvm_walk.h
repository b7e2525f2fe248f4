/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_walk.h - what the files share that write a loop form as LLVM IR: llvm_walk.c (loops and
 * functions), llvm_leaves.c (what is done at a place). */
#ifndef FUSEC_CODEGEN_LLVM_LLVM_WALK_H
#define FUSEC_CODEGEN_LLVM_LLVM_WALK_H

#include "codegen/llvm/llvm_text.h"

typedef fc_ll_range range;

/* A turn of the innermost loop over elements: where it begins, the end of the loop, and which turn
 * it is. */
typedef struct turn {
    const char *at, *to, *number;
    uint32_t step;
} turn;

typedef struct walk {
    fc_ll *f;
    const fc_loop *vector;   /* the loop whose body is written */
    range of[FC_MAX_AXES];   /* by the first of the axes that are numbered together */
    range unit[FC_MAX_AXES]; /* what task loops left of them */
    fc_ll_box box;           /* the last tile of a contraction */
    const char *idx[FC_MAX_AXES];
    unsigned rows;    /* kept axes but the lanes */
    const char *rest; /* where whole turns ended */
    const char *span; /* number of the span */
    const char *flat; /* number of the row, the lanes' axis apart; NULL: there is one */
    turn turn;
    range chunk;         /* deep: the one under way */
    const char *tile;    /* columns from tiles: elements of the run before this one; else NULL */
    bool carries;        /* steps go on from `acc` */
    const char **acc;    /* of the stage under way */
    const char **before; /* scan: before the last step */
    const char **prefix; /* scan: of the runs before this one */
    unsigned columns;    /* for which accumulators and results are kept side by side */
} walk;

static inline const fc_ll_stage *stage_of(const walk *w, const fc_loop *n) {
    return &w->f->stage[n->phase];
}

static inline const char *plus(fc_ll *f, const char *a, unsigned n) {
    if (!strcmp(a, "0") || !n) return n ? fc_ll_number(f, n) : a;
    return fc_ll_bin(f, "add", a, fc_ll_number(f, n));
}

static inline const char *minus(fc_ll *f, const char *a, const char *b) {
    return strcmp(b, "0") ? fc_ll_bin(f, "sub", a, b) : a;
}

/* llvm_walk.c: the range of the axes of a loop, of the elements of a row; the addresses of the row
 * whose indices are known. */
range fc_ll_elements_of(walk *w);
void fc_ll_find_row(walk *w);

/* llvm_leaves.c */
void fc_ll_leaf(walk *w, const fc_loop *n);

#endif
