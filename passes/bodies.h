/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bodies.h - loops of launches: each is a step of the plan, and its body a plan of its own.
 *
 * The body's graph has as inputs the counter of the rounds (a scalar), the carried values that it
 * reads and what it captures: values from outside that do not change from round to round. Its
 * outputs are the condition of the next round, if there is one, the next values and what is
 * collected. Arrays of a body have no rank 0: a scalar that a kernel makes is an array of one
 * element there, so that no round waits for the host. */
#ifndef FUSEC_PASSES_BODIES_H
#define FUSEC_PASSES_BODIES_H

#include "ir/loop.h"
#include "passes/plan.h"

typedef enum fc_body_role { FC_BODY_COUNTER, FC_BODY_CARRIED, FC_BODY_CAPTURED } fc_body_role;
typedef struct fc_body_input {
    fc_body_role role;
    uint32_t number; /* of the carried value, or of the step's input */
} fc_body_input;

typedef struct fc_plan_body {
    fc_loop_shape loop;
    fc_plan *plan; /* owned */
    fc_body_input *in;
    uint32_t nin;
    const char *why; /* the operation that made it a loop of launches: "view", "sum" */
} fc_plan_body;

/* The inputs of the step of a loop are first, end, the condition of the first round if there is
 * one, the starts, and what is captured. */
static inline uint32_t fc_loop_first_start(fc_loop_shape l) {
    return 2 + l.condition;
}

/* Whether rounds beyond the last one do no harm, so that they may be under way when its condition
 * gets known: the body is kernels and sorts that end, call nothing of the user's and report no
 * index. */
bool fc_body_runs_ahead(const fc_plan_body *b);

/* Takes the bodies of all loops out of p->graph: the loops are planned afterwards, and p->bodies
 * has their plans. Fails for a value of a body that is used outside of it. */
fusec_status fc_plan_bodies(fc_plan *p, const fc_pass_options *o, fc_error *e);
void fc_plan_free_bodies(fc_plan *p);

/* host[n] = 1 for every scalar that the host can compute: made of sizes, constants and scalars of
 * the call by what fc_fold computes. */
void fc_plan_host_scalars(const fc_graph *g, uint8_t *host);

#endif
