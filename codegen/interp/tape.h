/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tape.h - what the interpreter runs: instructions on numbered slots, each slot a block of FC_LANES
 * values.
 *
 * Internal to codegen/interp. compile.c makes tapes, run.c runs them. The slots of the kernel's
 * frame: first the values that are the same everywhere (`once` fills them when a run begins), then
 * the finished reductions (FC_OP_ACC), then what a phase computes, where slots are used again. */
#ifndef FUSEC_CODEGEN_INTERP_TAPE_H
#define FUSEC_CODEGEN_INTERP_TAPE_H

#include <pthread.h>

#include "codegen/interp/interp.h"
#include "ir/red_program.h"

enum { FC_SLOT_BYTES = FC_LANES * 8 };

typedef struct fc_step {
    uint16_t op;
    uint8_t t, to; /* dtype of the operands, of the result */
    uint32_t dst, a, b, c;
    uint64_t imm;
} fc_step;

typedef struct fc_tape {
    FC_VEC(fc_step) steps;
} fc_tape;

/* A stage, or the stores after the last one. */
typedef struct fc_phase {
    fc_tape row, point;
    bool limited;   /* rows have an end of their own: */
    uint32_t limit; /* its slot */
} fc_phase;

/* A part of a reduction (ir/red_program.h). Its operands are in slots 0.. of its own frame. */
typedef struct fc_program {
    fc_tape once, body;
    uint32_t nslots;
    uint32_t out[FC_MAX_REPEAT + 1]; /* never an operand's slot */
} fc_program;

/* A loop at its place in a tape: its rounds have a frame of their own, where its results stay until
 * it runs again. */
typedef struct fc_interp_loop {
    fc_program round; /* operands: counter, values */
    uint8_t ncarried, nvalues;
    bool condition;
    uint8_t size[FC_MAX_REPEAT];     /* of the values: bytes in a block */
    uint32_t operand[FC_MAX_LISTED]; /* slots of the tape's frame */
} fc_interp_loop;

typedef struct fc_interp_reduction {
    uint8_t stage, ncomponents, nvalues, nresults;
    bool indexed;   /* the step reads the index */
    bool exclusive; /* of a scan: the result is that before the element */
    /* bytes in a block */
    uint8_t size[FC_MAX_COMPONENTS], value_size[FC_MAX_COMPONENTS], result_size[FC_MAX_COMPONENTS];
    uint32_t value[FC_MAX_COMPONENTS]; /* slots of the kernel's frame */
    uint32_t result;                   /* the first one's; the others follow */
    fc_program init, step, combine, finish;
} fc_interp_reduction;

typedef struct fc_interp_access {
    uint32_t buffer;
    uint8_t dtype, level;
} fc_interp_access;

/* A step of FC_OP_EXTERN has its operands' slots in `operands`, from its `a` on. */
typedef struct fc_interp_extern {
    uint32_t param; /* the address of its description */
} fc_interp_extern;

typedef struct fc_interp_update {
    uint32_t arg;
    uint16_t op;
    uint8_t dtype;
} fc_interp_update;

/* Working memory, enough for all sizes, for runs that get no other: they take turns. So a launch
 * does not fail half-way, when a part of its results is written. */
typedef struct fc_spare {
    pthread_mutex_t turn;
    char *memory;
} fc_spare;

struct fc_interp {
    const fc_alloc *alloc;
    fc_rewrite rewrite;
    fc_schedule schedule;
    uint32_t nargs, nparams, nstages, nslots;
    fc_tape once;
    FC_VEC(fc_phase) phases; /* nstages + 1 */
    FC_VEC(fc_interp_access) accesses;
    FC_VEC(fc_interp_reduction) reductions;
    FC_VEC(fc_store) stores; /* `value` is a slot */
    FC_VEC(fc_interp_update) updates;
    FC_VEC(fc_interp_extern) externs;
    FC_VEC(uint32_t) operands;
    FC_VEC(fc_interp_loop) loops; /* those inside of others before them */
    fc_spare *spare;
};

/* Makes ip->spare; run.c knows how much a run needs. */
bool fc_interp_make_spare(fc_interp *ip);

#endif
