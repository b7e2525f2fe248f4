/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random_graph_loop.c - the loops of random graphs. Of the bits of their node the lowest three are
 * the number of rounds, the next two the first one; the others say what is in the body. */
#include "tests/support/random_graph.h"

#include "ir/loop.h"

enum {
    FLIPS = 32,
    REDUCES = RG_LOOP_REDUCES,
    COUNTS = 128,
    ENDS = 256,
    SWAPS = 512,
    COLLECTS = 1024,
    INNER = 2048,
    EARLY = 4096, /* the condition is made before the body */
    TURNS = 8192, /* and with a loop of its own */
    MASKS = 16384 /* the condition is an array: each element stops on its own */
};

static fc_node like(fc_graph *g, fc_node v, fc_node of) {
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t i = 0; i < fc_rank(g, of); i++) shape[i] = fc_axis(g, of, i);
    return fc_build_broadcast(g, v, fc_rank(g, of), shape);
}

static fc_node hole_like(fc_graph *g, fc_node v) {
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t i = 0; i < fc_rank(g, v); i++) shape[i] = fc_axis(g, v, i);
    return fc_build_hole(g, (fusec_dtype)fc_at(g, v)->dtype, fc_rank(g, v), shape);
}

static fc_node number(fc_graph *g, int64_t v) {
    return fc_build_const(g, FUSEC_I64, (uint64_t)v);
}

static fc_node body(fc_graph *g, const rg_node *n, fc_node y, fc_node z, fc_node k) {
    fc_node v = y;
    if (n->bits & FLIPS && n->rank) v = fc_build_flip(g, v, 0);
    v = fc_build_op(g, n->op, v, z, FC_NONODE);
    if (n->bits & REDUCES && n->rank && n->t != FUSEC_BOOL) {
        const int64_t last = n->rank - 1;
        const fc_node most = fc_build_reduce(g, FC_OP_max, y, 1, &last, true);
        v = fc_build_op(g, FC_OP_minimum, v, like(g, most, y), FC_NONODE);
    }
    if (n->bits & COUNTS) {
        const fc_node odd = fc_build_op(g, FC_OP_lt, k, number(g, 2), FC_NONODE);
        v = fc_build_op(g, FC_OP_where, like(g, odd, y), v, z);
    }
    return v;
}

/* The value of the last round as it was collected. */
static fc_node last_of(fc_graph *g, fc_node path, fc_node like_this, int64_t rounds) {
    fc_slice s[FC_MAX_RANK];
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = fc_rank(g, like_this);
    s[0] = (fc_slice){fc_dim_const(&g->dims, rounds - 1), 1, fc_dim_const(&g->dims, 1)};
    for (uint32_t i = 0; i < rank; i++) {
        shape[i] = fc_axis(g, like_this, i);
        s[i + 1] = (fc_slice){fc_dim_const(&g->dims, 0), 1, shape[i]};
    }
    return fc_build_reshape(g, fc_build_slice(g, path, s), rank, shape);
}

/* True in the first two rounds. */
static fc_node condition(fc_graph *g, const rg_node *n, fc_node k, int64_t first) {
    fc_node sum = k, hole = fc_build_hole(g, FUSEC_I64, 0, NULL), j;
    if (n->bits & TURNS && !g->error.code) { /* k - 3 + 0 + 1 + 2 */
        const fc_node start = fc_build_op(g, FC_OP_sub, k, number(g, 3), FC_NONODE);
        j = fc_build_hole(g, FUSEC_I64, 0, NULL);
        const fc_node next = fc_build_op(g, FC_OP_add, hole, j, FC_NONODE);
        const fc_loop_parts p = {.first = number(g, 0),
                                 .end = number(g, 3),
                                 .counter = j,
                                 .condition = FC_NONODE,
                                 .ncarried = 1,
                                 .start = &start,
                                 .hole = &hole,
                                 .next = &next};
        if (!fc_build_loop(g, &p, &sum)) return FC_NONODE;
    }
    return fc_build_op(g, FC_OP_lt, sum, number(g, first + 2), FC_NONODE);
}

/* Elements below 1 go on, as long as they have never stopped; the others keep what they have. One
 * more value is carried: which elements go on. */
static void stop_elements(fc_graph *g, const rg_node *n, fc_loop_parts *p, fc_node *start,
                          fc_node *hole, fc_node *next) {
    const uint32_t m = p->ncarried++;
    start[m] = like(g, fc_build_const(g, FUSEC_BOOL, 1), start[0]);
    hole[m] = hole_like(g, start[m]);
    const fc_node one = fc_build_number(g, n->t, 1);
    const fc_node low =
        n->t == FUSEC_BOOL ? hole[0] : fc_build_op(g, FC_OP_lt, hole[0], one, FC_NONODE);
    next[m] = fc_build_op(g, FC_OP_logical_and, hole[m], low, FC_NONODE);
    for (uint32_t i = 0; i < m; i++)
        next[i] = fc_build_op(g, FC_OP_where, next[m], next[i], hole[i]);
    p->condition = fc_build_reduce(g, FC_OP_any, next[m], 0, NULL, false);
}

fc_node rg_build_loop(fc_graph *g, const rg_node *n, fc_node y, fc_node z) {
    const int64_t rounds = n->bits & 7, first = (int64_t)(n->bits >> 3 & 3);
    if (g->error.code) return FC_NONODE;
    fc_loop_parts p = {
        .first = number(g, first), .end = number(g, first + rounds), .condition = FC_NONODE};
    fc_node start[3] = {y, z}, hole[3] = {hole_like(g, y), hole_like(g, z)}, next[3], out[4], kept;
    p.counter = fc_build_hole(g, FUSEC_I64, 0, NULL);
    const bool swaps = n->bits & SWAPS,
               collects = n->bits & COLLECTS && !(n->bits & ENDS) && rounds && n->rank < RG_RANK;
    if (n->bits & ENDS && n->bits & EARLY) p.condition = condition(g, n, p.counter, first);
    next[0] = body(g, n, hole[0], swaps ? hole[1] : z, p.counter);
    next[1] = hole[0];
    if (n->bits & INNER) {
        const rg_node inner = {
            .op = n->op, .t = n->t, .rank = n->rank, .bits = 2 | (n->bits & FLIPS)};
        next[0] = rg_build_loop(g, &inner, next[0], hole[0]);
    }
    if (n->bits & ENDS && !(n->bits & EARLY)) p.condition = condition(g, n, p.counter, first);
    p.ncarried = swaps ? 2 : 1;
    if (n->bits & MASKS && n->bits & ENDS && n->rank && !g->error.code)
        stop_elements(g, n, &p, start, hole, next);
    kept = next[0];
    p.ncollected = collects;
    p.start = start;
    p.hole = hole;
    p.next = next;
    p.collected = &kept;
    if (g->error.code || !fc_build_loop(g, &p, out)) return FC_NONODE;
    return collects ? last_of(g, out[p.ncarried], y, rounds) : out[0];
}
