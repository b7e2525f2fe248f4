/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loop_verify.h - what the verifier of loop forms knows while it goes over one: loop_verify.c
 * (loops and leaves), loop_verify_buffers.c (stage buffers and what parts pass on). */
#ifndef FUSEC_CODEGEN_LOOP_VERIFY_H
#define FUSEC_CODEGEN_LOOP_VERIFY_H

#include "codegen/facts.h"
#include "codegen/loop.h"
#include "codegen/nest.h"

#define BAD(...) return fc_fail(v->e, FUSEC_INTERNAL, "loop form: " __VA_ARGS__)

enum { WHOLE_AXIS = 0 };
enum { NOBODY = 255 };

enum { MOST_PARTS = 3 };

typedef struct part {
    const fc_kernel *k;
    const fc_class *cls;
    uint8_t made;                           /* stage whose accumulators are there */
    uint8_t carried;                        /* by a loop around */
    uint32_t finished, prefixed, put, held; /* sets of stages; */
    uint32_t so_far, owed;                  /* finished so far; that elements wait for */
    uint32_t turn, around; /* elements of one turn of the innermost reduced loop with a step, and of
                              the one around it */
    unsigned stores[2];    /* leaves: of results, of elements */
} part;

typedef struct verifier {
    const fc_loops *l;
    part part[MOST_PARTS], *p; /* the one at hand, */
    const fc_kernel *k;        /* and its */
    const fc_class *cls;
    uint32_t parts;
    fc_error *e;
    uint32_t range[FC_MAX_AXES]; /* WHOLE_AXIS, or the step of the loop around; 1 along lanes */
    bool in_vector, in_code;     /* inside of a loop that is no task */
    bool in_rest;                /* what a loop before this one does, too */
    uint32_t asked, there;       /* sets of buffers: of those that are copied or passed on */
    bool in_role, in_hidden;
} verifier;

static inline void use(verifier *v, unsigned number) {
    v->p = &v->part[number];
    v->k = v->p->k;
    v->cls = v->p->cls;
}

/* Which of the form's axes one of the part at hand is. */
static inline unsigned axis_of(const verifier *v, unsigned own) {
    return v->l->axis ? v->l->axis[v->p - v->part][own] : own;
}

static inline uint32_t range_of(const verifier *v, unsigned own) {
    return v->range[axis_of(v, fc_class_numbered(v->cls, own))];
}

/* Elements that are stored for the next part are made as often as it reads them. */
static inline bool passes_on(const verifier *v) {
    return v->p + 1 < v->part + v->parts;
}

/* An operand that a thread makes of what is passed on. */
static inline bool is_made(const fc_stage_buffer *b) {
    return b->packed && b->space == FC_SPACE_REGISTERS;
}

static inline bool is_of_turn(const fc_stage_buffer *b) {
    return is_made(b) || (b->passed && !b->around);
}

/* Where it is in `asked` and `there`. */
static inline uint32_t bit_of(size_t buffer) {
    return UINT32_C(1) << buffer % 32;
}

/* ---- loop_verify_buffers.c ---- */
/* Axes of the form. */
unsigned fc_verify_axes(const verifier *v);
/* Whether what the code of a part reads by itself, or from the part before, is there. */
fusec_status fc_verify_reads(verifier *v);
/* Whether operands that are made in registers are there. */
fusec_status fc_verify_operands(verifier *v);
bool fc_verify_moves(unsigned kind); /* a leaf that is about stage buffers, */
fusec_status fc_verify_move(verifier *v, const fc_loop *n); /* and what it does */
fusec_status fc_verify_buffers(verifier *v);                /* each of them, at the end */

#endif
