/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loop.h - bodies: loops in the graph.
 *
 * A body is no second graph. Its bound variables are leaves (FC_OP_HOLE) of the same array of
 * nodes, and what a body uses from outside are nodes like any other. What does not depend on a
 * loop's holes does not change from round to round.
 *
 * While a body is built its holes are open: no two are equal, so that a value that leaks out of its
 * loop is found. fc_build_loop closes them: it makes the body once more, of holes that are known by
 * level and number alone, so that equal loops are one node. Levels count from the inside: a loop's
 * is one more than the highest in its body.
 *
 *     for k in first..end while condition { carried = next }      LOOP; RESULT 0 .. are the carried
 *
 * A step is a node without elements that is no kernel: its results are read by FC_OP_RESULT. */
#ifndef FUSEC_IR_LOOP_H
#define FUSEC_IR_LOOP_H

#include "ir/graph.h"

enum {
    FC_MAX_LOOP_LEVEL = 8,  /* loops inside each other */
    FC_MAX_LOOP_VALUES = 64 /* of one loop: carried and collected ones */
};

/* ---- holes --------------------------------------------------------------------------------- */

/* The attr of a hole. Level 0: open, and number is its own. Of a closed one number 0 is the counter
 * of the rounds, and i + 1 carried value i. */
static inline uint64_t fc_hole_attr(uint32_t level, uint32_t number) {
    return (uint64_t)level << 32 | number;
}
static inline uint32_t fc_hole_level(const fc_ninfo *hole) {
    return (uint32_t)(hole->attr >> 32);
}
static inline uint32_t fc_hole_number(const fc_ninfo *hole) {
    return (uint32_t)hole->attr;
}
/* A new one that is open. */
fc_node fc_build_hole(fc_graph *g, fusec_dtype t, uint32_t rank, const fc_dim *shape);

/* levels[n], for each node: bit l says that it depends on a hole of level l, bit 0 that it depends
 * on an open one. A loop does not depend on its own level. */
void fc_body_levels(const fc_graph *g, uint64_t *levels);

/* ---- lists --------------------------------------------------------------------------------- */

fc_node fc_build_value_list(fc_graph *g, uint32_t n, const fc_node *v); /* n is 1 or more */
/* The values of a list, at most `room`; how many there are. */
uint32_t fc_value_list(const fc_graph *g, fc_node list, fc_node *v, uint32_t room);

/* ---- loops --------------------------------------------------------------------------------- */

/* The attr of a loop. After fc_pass_bodies (passes/bodies.h) a loop is `planned`: its one operand
 * is the list of all that it reads, and `body` is the number of its body in the plan. */
typedef struct fc_loop_shape {
    uint32_t level, carried, collected;
    bool condition;
} fc_loop_shape;
static inline uint64_t fc_loop_attr(fc_loop_shape l) {
    return (uint64_t)l.level | (uint64_t)l.carried << 8 | (uint64_t)l.collected << 24 |
           (uint64_t)l.condition << 40;
}
static inline fc_loop_shape fc_loop_of(const fc_ninfo *n) {
    return (fc_loop_shape){(uint32_t)n->attr & 0xff, (uint32_t)(n->attr >> 8) & 0xffff,
                           (uint32_t)(n->attr >> 24) & 0xffff, (n->attr >> 40 & 1) != 0};
}
#define FC_LOOP_PLANNED (UINT64_C(1) << 63)
static inline bool fc_loop_is_planned(const fc_ninfo *n) {
    return (n->attr & FC_LOOP_PLANNED) != 0;
}

/* What a loop is made of, in nodes of one graph. first and end are scalars of i64; counter is a
 * hole of i64, or FC_NONODE; condition is a scalar bool made of the holes, or FC_NONODE. start,
 * hole and next of a carried value have one dtype and one shape. What is collected gets the number
 * of rounds as a new first axis; then first and end have to be sizes, and there is no condition. */
typedef struct fc_loop_parts {
    fc_node first, end, counter, condition;
    uint32_t ncarried, ncollected;
    const fc_node *start, *hole, *next, *collected;
} fc_loop_parts;
/* out gets ncarried values, those after the last round, then the collected ones. False: g->error
 * says why. */
bool fc_build_loop(fc_graph *g, const fc_loop_parts *p, fc_node *out);
fc_node fc_build_result(fc_graph *g, fc_node step, uint32_t number, fusec_dtype t, fc_list shape);

/* The operands of a loop, read back. */
typedef struct fc_loop_view {
    fc_loop_shape loop;
    fc_node first, end, condition;
    fc_node start[FC_MAX_LOOP_VALUES], next[FC_MAX_LOOP_VALUES], collected[FC_MAX_LOOP_VALUES];
} fc_loop_view;
void fc_loop_look_at(const fc_graph *g, const fc_ninfo *loop, fc_loop_view *v);
static inline void fc_loop_look(const fc_graph *g, fc_node loop, fc_loop_view *v) {
    fc_loop_look_at(g, fc_at(g, loop), v);
}

/* A loop whose body is made again, of open holes: what fc_build_loop was given. */
typedef struct fc_open_loop {
    fc_loop_view v; /* closed */
    fc_node counter, condition;
    fc_node hole[FC_MAX_LOOP_VALUES], next[FC_MAX_LOOP_VALUES], collected[FC_MAX_LOOP_VALUES];
} fc_open_loop;
/* False: g->error says why. */
bool fc_loop_open(fc_graph *g, fc_node loop, fc_open_loop *o);

/* " level 1 number 2", for dumps. */
void fc_print_body_attr(const fc_ninfo *n, fc_str *out);

#endif
