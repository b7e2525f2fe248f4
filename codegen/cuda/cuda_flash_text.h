/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_text.h - between cuda_flash.c, the frame of joined products, cuda_flash_operands.c,
 * what comes to shared memory, cuda_flash_elements.c, what their kernels do with single elements,
 * and cuda_flash_mask.c, what is done where a mask hides a tile. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_FLASH_TEXT_H
#define FUSEC_CODEGEN_CUDA_CUDA_FLASH_TEXT_H

#include "codegen/cuda/cuda.h"
#include "codegen/cuda/cuda_flash_facts.h"

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
    uint32_t row; /* which axis of what is passed on its rows are along */
    uint32_t now; /* the part whose text is under way */
    fc_cuda_gen part[FC_FLASH_PARTS];
    fc_flash_forms forms;
    fc_mask mask;        /* n is 0: none, or it is not looked at */
    fc_kernel masked[2]; /* part 1 with its code, hidden and shown; all else is borrowed */
    bool passes;         /* hidden tiles need no second product */
} fc_flash_gen;

/* The generator of a part, at the depth that the text has. */
fc_cuda_gen *fc_flash_part(fc_flash_gen *x, uint32_t part);
static inline fc_cuda_gen *fc_flash_last(fc_flash_gen *x) {
    return fc_flash_part(x, x->f.n - 1);
}
/* Lines of the frame, which has no part. */
static inline fc_cuda_text *fc_flash_frame(fc_flash_gen *x) {
    return &fc_flash_part(x, 0)->t;
}
static inline uint32_t fc_flash_part_of(uint32_t part) {
    return part >= FC_FLASH_HIDDEN ? 1 : part;
}
static inline uint32_t fc_flash_axis(const fc_flash_gen *x, uint32_t part, uint32_t axis) {
    return x->f.axis[fc_flash_part_of(part)][axis];
}
/* How often a block goes over the columns: for each stage of reductions, and once more. */
static inline unsigned fc_flash_walks(const fc_flash_gen *x) {
    return x->f.n == 3 && !x->cls->cuda.flash_once ? x->j->kernel[1]->nstages + 1 : 1;
}
/* cuda_flash_loops.c: builds, verifies and prints the loop form of each part. */
fusec_status fc_flash_loops(fc_flash_gen *x, fc_error *e);
/* cuda_flash_operands.c: the rows of a tile, and bring(). */
void fc_flash_bring(fc_flash_gen *x);

/* Opens what a part has in a scope: its arguments, scalars, indices of batches. `row` and `column`
 * (of what is passed on): expressions; NULL: the caller sets that index. */
void fc_flash_open(fc_flash_gen *x, uint32_t part, const char *row, const char *column);
void fc_flash_close(fc_flash_gen *x); /* "}" */
/* "const ix i1 = ...;", of an axis of a part. */
void fc_flash_index(fc_cuda_gen *g, uint32_t axis, const char *format, ...) FC_PRINTF(3, 4);

/* Functions of elements: score(c, row, column), take0(x, row, column, h, w0), ...,
 * weight(x, row, column, h, ...), left(x, row, column), finish(c, row, column). */
void fc_flash_functions(fc_flash_gen *x);

/* What they are made of. f* of the reductions of stages before `stage`; the code of one value where
 * all axes [0, end) have indices; "return ...;", of a float that is rounded or of what is stored;
 * left() of a part, or of hidden elements. */
void fc_flash_results(fc_cuda_gen *g, unsigned stage);
void fc_flash_value(fc_cuda_gen *g, fc_val root, uint32_t end);
void fc_flash_give_back(fc_cuda_gen *g, fc_val v, bool rounded);
void fc_flash_left(fc_flash_gen *x, uint32_t part, const char *name);

/* cuda_flash_mask.c. */
fusec_status fc_flash_open_mask(fc_flash_gen *x, fc_str *out, uint8_t *had, fc_error *e);
void fc_flash_close_mask(fc_flash_gen *x);
void fc_flash_mask_functions(fc_flash_gen *x);
/* A hidden tile of a stage of the reductions; the other branch stays open. */
void fc_flash_hide_stage(fc_flash_gen *x, unsigned stage);

/* Fills x->forms. */
void fc_flash_find_forms(fc_flash_gen *x);
/* The type of `x` in the functions of the part behind the first. */
const char *fc_flash_passed_type(const fc_flash_gen *x);
/* "f16", "bf16": of the operands of the last part. */
const char *fc_flash_half(const fc_flash_gen *x, uint32_t part);

#endif
