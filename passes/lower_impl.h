/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower_impl.h - between the files of fc_lower: its state, and the code of indices.
 *
 * Internal to passes/lower*.c. */
#ifndef FUSEC_PASSES_LOWER_IMPL_H
#define FUSEC_PASSES_LOWER_IMPL_H

#include "passes/lower.h"

typedef struct fc_lower_entry {
    uint64_t key; /* node << 32 | map, plus 1; 0 = free */
    fc_val val;
} fc_lower_entry;

typedef struct fc_lower_todo {
    fc_node node;
    fc_list map;
} fc_lower_todo;

/* The record made of a body. */
typedef struct fc_lower_record {
    fc_node body;
    fc_record *record;
} fc_lower_record;

/* The rounds made of a body. */
typedef struct fc_lower_rounds {
    fc_node values, body;
    uint32_t number;
} fc_lower_rounds;

/* An affine read along the rows of an array. */
typedef struct fc_lower_read {
    uint32_t arg;
    fc_list shape, map;
} fc_lower_read;

typedef struct fc_lowering {
    fc_graph *g;
    const fc_fusion *f;
    const fc_region *r;
    const fc_plan *plan;
    const uint32_t *buffer;
    fc_kernel *k;
    const fc_alloc *alloc;
    int32_t axis[FC_MAX_RANK]; /* domain axis -> kernel axis */
    fc_lower_entry *slots;
    uint32_t nslots, nused;
    FC_VEC(fc_lower_todo) todo;
    FC_VEC(fc_lower_record) records;
    FC_VEC(fc_lower_rounds) loops;
    FC_VEC(fc_lower_read) reads;
    FC_VEC(uint8_t) neighbours; /* [args] whether some of them are; known when it is made again */
    bool again;
    bool oom, wide16, tf32;
    fc_node length; /* of the rows that are lowered, which end by data; else FC_NONODE */
} fc_lowering;

/* The value of a node under a map, if it is there. */
bool fc_lower_known(const fc_lowering *l, fc_node n, fc_list map, fc_val *out);

/* What an access of an array says of the rows that it touches (lower_reach.c); `rank` 0: that it
 * may be any. */
void fc_lower_reach(fc_lowering *l, uint32_t arg, uint32_t rank, fc_list map);

/* Affine reads whose places differ by constants are made at computed elements: whether this one is;
 * whether there are any, so that the kernel is to be made again (lower_neighbours.c). */
bool fc_lower_as_element(fc_lowering *l, uint32_t arg, fc_list shape, fc_list map, unsigned pair);
bool fc_lower_find_neighbours(fc_lowering *l);

/* A value at every point of the domain of its own shape. */
fc_val fc_lower_element_of(fc_lowering *l, fc_node n);
/* One result of a FC_OP_FOLD (lower_fold.c). */
fc_val fc_lower_fold(fc_lowering *l, fc_node n, unsigned stage);

/* The value of a FC_OP_ROUNDS; `values` is that of its first operand (lower_repeat.c). */
fc_val fc_lower_repeat(fc_lowering *l, fc_node n, fc_val values);
fc_val fc_lower_record_of(fc_code *c, const fc_val v[3]);
/* The values of the record `body` as code of scalars over FC_OP_ARG, of which the slots from number
 * `first_slot` on are the first. */
bool fc_lower_body(fc_lowering *l, fc_code *c, fc_node body, uint32_t first_slot, fc_val *out);

/* ---- indices (lower_index.c) ------------------------------------------------------------------
 *
 * What they read of nodes (FC_TERM_VALUE) is known by then. */

/* The value of an index, i64. */
fc_val fc_lower_index(fc_lowering *l, fc_list index);
/* The number of the element in a dense array of this shape that a map reads. */
fc_val fc_lower_element(fc_lowering *l, fc_list map, fc_list shape);
/* Whether all guards of a map from number `first` on hold; FC_NOVAL: there are none. */
fc_val fc_lower_guards(fc_lowering *l, fc_list map, uint32_t rank, uint32_t first);
/* The value of a FC_OP_CHECK under `map`; `index` is that of its operand. */
fc_val fc_lower_check(fc_lowering *l, fc_node n, fc_list map, fc_val index);
/* One axis of an affine map for the kernel. `room` has FC_MAX_TERMS entries for its terms. */
void fc_lower_affine(const fc_lowering *l, fc_list index, fc_map *out, fc_map *room);

#endif
