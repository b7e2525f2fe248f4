/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* red_program.h - a part of a reduction as a program that a target runs or writes: legal code,
 * where its results are, and which instructions they need. */
#ifndef FUSEC_IR_RED_PROGRAM_H
#define FUSEC_IR_RED_PROGRAM_H

#include "ir/kernel.h"

typedef enum fc_red_part {
    FC_RED_START,  /* () -> the accumulator of no elements */
    FC_RED_STEP,   /* (accumulator, element, number of the element) -> accumulator */
    FC_RED_JOIN,   /* (accumulator of earlier elements, one of later ones) -> accumulator */
    FC_RED_FINISH, /* (accumulator, number of all elements) -> the result */
    FC_RED_PARTS
} fc_red_part;

/* Numbers of a part's operands (FC_OP_ARG). All but START have the accumulator's components first:
 * operands 0 to FC_MAX_COMPONENTS - 1. */
enum {
    FC_ARG_ELEMENT = FC_MAX_COMPONENTS,     /* of STEP: its elements */
    FC_ARG_INDEX = 2 * FC_MAX_COMPONENTS,   /* and, of rows, the number of the element: i64 */
    FC_ARG_LATER = FC_MAX_COMPONENTS,       /* of JOIN: the components of the later accumulator */
    FC_ARG_COUNT = FC_MAX_COMPONENTS,       /* of FINISH: i64 */
    FC_RED_ARGS = 2 * FC_MAX_COMPONENTS + 1 /* room for the operands of any part */
};

typedef struct fc_red_program {
    fc_code code;
    fc_val out[FC_MAX_COMPONENTS]; /* a component each; of FINISH a result each */
    unsigned nout;
    uint8_t *needed; /* [instructions of code] those that `out` depends on */
    bool uses_index; /* STEP: reads FC_ARG_INDEX */
} fc_red_program;

/* `rewrite` is what the target legalises with (fc_code.rewrite); may be NULL. After a failure *p is
 * empty. */
fusec_status fc_red_program_make(fc_red_program *p, const fc_alloc *a, fc_target_kind target,
                                 fc_rewrite rewrite, const fc_reduction *r, fc_red_part part,
                                 fc_error *e);
void fc_red_program_free(fc_red_program *p); /* an empty one (all 0) is fine */

#endif
