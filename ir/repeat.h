/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* repeat.h - loops that every element makes on its own: nodes of a plan's graph, inside of kernels.
 *
 *     for k in first..end while condition { carried = next }
 *
 * where condition and nexts of an element are made of what the loop carries at that element. An
 * FC_OP_ROUNDS is ONE of the carried values after the last round. Its operands are two records
 * (ir/fold.h): first and end (scalars of i64), the starts, what else a round reads; and the
 * condition, if there is one, with the nexts. The latter are scalars, made of slots: the counter of
 * the rounds, and the values in the order of the first record. Loops that differ in the number of
 * the result only share everything else, and are one loop of a kernel.
 *
 * An element goes on while its condition holds. Rounds that are made beyond that, for others which
 * run side by side, change nothing: who makes a REPEAT sees to it that the nexts are the old values
 * where the condition does not hold, or that it is the same for all elements.
 *
 * Only passes/repeat.c makes them, of the loops of ir/loop.h. */
#ifndef FUSEC_IR_REPEAT_H
#define FUSEC_IR_REPEAT_H

#include "ir/fold.h"

enum {
    FC_MAX_REPEAT = 64, /* values: carried, and read by a round */
    /* numbers of slots: those of folds are below */
    FC_SLOT_COUNTER = 2 * FC_MAX_COMPONENTS,
    FC_SLOT_VALUE = FC_SLOT_COUNTER + 1,
    FC_SLOT_END = FC_SLOT_VALUE + FC_MAX_REPEAT,
    FC_REPEAT_BOUNDS = 2, /* operands before the starts */
    FC_REPEAT_ROUNDS = 16 /* what is expected where the number is not known */
};

typedef struct fc_repeat {
    uint32_t result, carried;
    bool condition;
    uint32_t ops, functions; /* of a round, about: for the limits of kernels */
} fc_repeat;

static inline uint64_t fc_repeat_attr(fc_repeat r) {
    const uint64_t ops = r.ops < 0xffff ? r.ops : 0xffff,
                   functions = r.functions < 0xffff ? r.functions : 0xffff;
    return (uint64_t)r.result | (uint64_t)r.carried << 8 | (uint64_t)r.condition << 16 | ops << 24 |
           functions << 40;
}
static inline fc_repeat fc_repeat_of(const fc_ninfo *n) {
    return (fc_repeat){.result = (uint32_t)n->attr & 0xff,
                       .carried = (uint32_t)(n->attr >> 8) & 0xff,
                       .condition = (n->attr >> 16 & 1) != 0,
                       .ops = (uint32_t)(n->attr >> 24) & 0xffff,
                       .functions = (uint32_t)(n->attr >> 40) & 0xffff};
}

/* How many rounds it makes: a constant, or what is expected. */
uint64_t fc_repeat_rounds(const fc_graph *g, fc_node n);

#endif
