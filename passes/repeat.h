/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* repeat.h - which loops every element can make on its own, inside of a kernel, and their nodes
 * (ir/repeat.h). */
#ifndef FUSEC_PASSES_REPEAT_H
#define FUSEC_PASSES_REPEAT_H

#include "ir/repeat.h"

/* Loops with more rounds are launches, which can be interrupted and counted. */
#define FC_MOST_ROUNDS_INSIDE (INT64_C(1) << 20)

/* why[n], for each loop of the graph: NULL if its elements make it on their own; else what keeps it
 * from that, in a few words. `levels` as of fc_body_levels. With a condition it makes at most
 * `most` rounds, as far as is known (0: any number). False: out of memory. */
bool fc_find_repeats(const fc_graph *g, const uint64_t *levels, uint64_t most, const char **why);

/* Whether that is so of one loop; false, too, when memory is short. */
bool fc_is_repeat(const fc_graph *g, fc_node loop);

/* The loops of one graph as nodes of another. */
typedef struct fc_repeating {
    const fc_graph *src;
    fc_graph *dst;
    const uint64_t *levels;
    const fc_node *map;         /* of nodes that are in no body */
    fc_node loop, values, body; /* the last one: its records, which its results share */
    bool scalars;               /* it is what its scalars need */
    fc_repeat spec;
    uint8_t place[FC_MAX_REPEAT]; /* of each value that it carries, among those of the records */
} fc_repeating;
/* An FC_OP_RESULT of such a loop. */
fc_node fc_make_repeat(fc_repeating *r, fc_node result);

#endif
