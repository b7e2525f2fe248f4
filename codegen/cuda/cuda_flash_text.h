/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_text.h - between cuda_flash_loops.c, the form of joined products, cuda_flash.c, which
 * writes it, cuda_flash_products.c, what tensor cores do, cuda_flash_operands.c, what comes to
 * shared memory, cuda_flash_elements.c, what their kernels do with single elements, and
 * cuda_flash_mask.c, what is done where a mask hides a tile. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_FLASH_TEXT_H
#define FUSEC_CODEGEN_CUDA_CUDA_FLASH_TEXT_H

#include "codegen/cuda/cuda.h"
#include "codegen/cuda/cuda_flash_facts.h"
#include "codegen/cuda/prelude.h"

/* In which form elements go from part to part. */
typedef struct fc_flash_forms {
    bool rounds; /* what the first part passes on is an f32 rounded to 16 bits: score() is the f32,
                    and `x` of the next part a float with the rounded value. Else both are what is
                    stored */
    bool bare;   /* what is passed on last is the operand as it is. Else left() makes that of it */
    bool
        weights; /* weight() is the f32 that is rounded to the operand. Else it is what is stored */
    bool divides; /* weights have quotients by what is the same in a row, which are made the short
                     way first (cuda_divide.c) */
} fc_flash_forms;

/* In place of a part: part 1 with the code of hidden elements, and of tiles that have none. */
enum { FC_FLASH_HIDDEN = FC_MOST_JOINED, FC_FLASH_SHOWN, FC_FLASH_PARTS };

typedef struct fc_flash_gen {
    const fc_joined *j;
    const fc_class *cls; /* of the first part */
    fc_flash f;
    uint32_t row, column, deep, wide; /* axes of the launch, behind those of batches */
    uint32_t form_axis[FC_MOST_JOINED][FC_MAX_AXES]; /* of each part's own, the launch's */
    uint32_t now;                                    /* the part whose text is under way */
    fc_cuda_gen part[FC_FLASH_PARTS];
    uint8_t had[FC_CUH_COUNT]; /* of all */
    fc_flash_forms forms;
    fc_mask mask;        /* n is 0: none, or it is not looked at */
    fc_kernel masked[2]; /* part 1 with its code, hidden and shown; all else is borrowed */
    bool passes;         /* hidden tiles need no second product */
    /* while the form is written: */
    const fc_loop *walk; /* the loop over tiles of columns, */
    uint32_t chunk;      /* and that over chunks around it */
    uint8_t way;         /* of the innermost case */
    bool ends;           /* where a chunk does */
} fc_flash_gen;

/* Sets of stage buffers: the left operand of the first product, which stays; what comes with each
 * tile; what is made in registers. */
enum fc_flash_set {
    FC_FLASH_ROWS,
    FC_FLASH_COLUMNS,
    FC_FLASH_RIGHT,
    FC_FLASH_WEIGHTS,
    FC_FLASH_PASSED /* by the first part, by the next */
};

/* Makes the generator of a part; it, at the depth that the text has. */
fusec_status fc_flash_open_part(fc_flash_gen *x, uint32_t part, const fc_kernel *k, fc_str *out,
                                fc_error *e);
fc_cuda_gen *fc_flash_part(fc_flash_gen *x, uint32_t part);
/* Lines of the frame, which has no part. */
static inline fc_cuda_text *fc_flash_frame(fc_flash_gen *x) {
    return &fc_flash_part(x, 0)->t;
}
#define FC_FLASH_PUT(...) fc_cuda_line(fc_flash_frame(x), __VA_ARGS__)
static inline uint32_t fc_flash_part_of(uint32_t part) {
    return part >= FC_FLASH_HIDDEN ? 1 : part;
}
static inline uint32_t fc_flash_axis(const fc_flash_gen *x, uint32_t part, uint32_t axis) {
    return x->f.axis[fc_flash_part_of(part)][axis];
}
static inline fc_loops *fc_flash_form(fc_flash_gen *x) {
    return &x->part[0].loops;
}
/* How often a block goes over the columns: for each stage of reductions, and once more. */
static inline unsigned fc_flash_walks(const fc_flash_gen *x) {
    return x->f.n == 3 && !x->cls->cuda.flash_once ? x->j->kernel[1]->nstages + 1 : 1;
}
#define FC_FLASH_EACH(r, s) /* reduction of a stage */                                             \
    for (unsigned r = 0; r < x->j->kernel[1]->reductions.len; r++)                                 \
        if (x->j->kernel[1]->reductions.at[r].stage == (s))
/* Whether a stage has reductions that take their elements in the order of the tree, or others. */
static inline bool fc_flash_in_order(const fc_flash_gen *x, unsigned r) {
    return !fc_cuda_any_order(&x->j->kernel[1]->reductions.at[r]);
}
static inline bool fc_flash_has(const fc_flash_gen *x, unsigned stage, bool in_order) {
    FC_FLASH_EACH(r, stage)
    if (fc_flash_in_order(x, r) == in_order) return true;
    return false;
}
/* cuda_flash_loops.c: builds, verifies and prints the loop form. */
fusec_status fc_flash_loops(fc_flash_gen *x, fc_error *e);
/* cuda_flash_operands.c: the rows of a tile, and bring(). */
void fc_flash_bring(fc_flash_gen *x);

/* cuda_flash_products.c: the functions of tensor cores; products of a tile's columns; of them and
 * what has come with them; a chunk of the latter is complete. */
void fc_flash_instructions(fc_flash_gen *x);
void fc_flash_first_product(fc_flash_gen *x, unsigned steps);
void fc_flash_last_product(fc_flash_gen *x, unsigned steps);
void fc_flash_join_levels(fc_flash_gen *x);

/* Opens what a part has in a scope: its arguments, scalars, indices of batches. `row` and `column`
 * (of what is passed on): expressions; NULL: the caller sets that index. */
void fc_flash_open(fc_flash_gen *x, uint32_t part, const char *row, const char *column);
void fc_flash_close(fc_flash_gen *x); /* "}" */
/* "const ix i1 = ...;", of an axis of a part. */
void fc_flash_index(fc_cuda_gen *g, uint32_t axis, const char *format, ...) FC_PRINTF(3, 4);

/* Functions of elements: score(c, row, column), take0(x, row, column, h, w0), ...,
 * weight(x, row, column, h, ...), left(x, row, column), finish(c, row, column). */
void fc_flash_functions(fc_flash_gen *x);
/* What calls them: two elements of the first product; what a stage takes; two of the left operand
 * of the last one. */
void fc_flash_score(fc_flash_gen *x);
void fc_flash_step(fc_flash_gen *x, unsigned stage);
void fc_flash_weights(fc_flash_gen *x);

/* cuda_flash_mask.c. */
fusec_status fc_flash_open_mask(fc_flash_gen *x, fc_str *out, fc_error *e);
void fc_flash_close_mask(fc_flash_gen *x);
void fc_flash_mask_functions(fc_flash_gen *x);
/* What a reduction takes of a hidden tile. */
void fc_flash_hide(fc_flash_gen *x, unsigned r);

void fc_flash_find_forms(fc_flash_gen *x);
/* The type of `x` in the functions of the part behind the first. */
const char *fc_flash_passed_type(const fc_flash_gen *x);
/* "f16", "bf16": of the operands of the last part. */
const char *fc_flash_half(const fc_flash_gen *x, uint32_t part);

#endif
