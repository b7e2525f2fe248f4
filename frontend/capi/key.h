/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* key.h - the structure of an expression as words, and the walk it shares with extract.c. */
#ifndef FUSEC_FRONTEND_CAPI_KEY_H
#define FUSEC_FRONTEND_CAPI_KEY_H

#include "frontend/capi/capi.h"

typedef struct fc_key {
    const fc_alloc *alloc;
    FC_VEC(uint32_t) words;
    FC_VEC(fc_node) inputs; /* leaves of the user's graph, in the order of the program's inputs */
    FC_VEC(int64_t) sizes;  /* values of named sizes, in the order in which they are met */
    uint64_t hash;
    uint32_t nnodes, nlists, ndims, nsymbols;
} fc_key;

/* False: there is no key, because memory is missing or the expression can't be evaluated as it is;
 * fc_extract_make says why. `k` has to be freed whatever the result. */
bool fc_key_make(fusec_graph *g, const fc_node *roots, uint32_t n, fc_key *k);
void fc_key_free(fc_key *k);
uint64_t fc_key_hash(const uint32_t *words, size_t n);

/* Words at the end, for which there is room. */
static inline bool fc_key_room(fc_key *k, size_t n) {
    return k->words.len + n <= k->words.cap || fc_reserve(k->alloc, &k->words, k->words.len + n);
}
static inline void fc_key_add(fc_key *k, uint32_t w) {
    k->words.at[k->words.len++] = w;
}
static inline void fc_key_add64(fc_key *k, uint64_t w) {
    fc_key_add(k, (uint32_t)w);
    fc_key_add(k, (uint32_t)(w >> 32));
}

/* ---- maps by id of the user's graph, marked with a round: (round << 32) | new id ------------- */

#define FC_MAPPED(g, map, id) ((map).at[id] >> 32 == (g)->round)
#define FC_NEW_ID(map, id)    ((uint32_t)(map).at[id])
#define FC_SET(g, map, id, v) ((map).at[id] = (uint64_t)(g)->round << 32 | (v))

/* ---- the walk (extract.c) -------------------------------------------------------------------- */

bool fc_extract_next_round(fusec_graph *g); /* all maps are empty again */
/* Hashes of everything that was built until the roots were: the order of the operands of
 * commutative operations. A node has its hash from the first evaluation that could have needed it;
 * of what was a stored result by then nothing but dtype and rank counts. */
bool fc_extract_hashes(fusec_graph *g, const fc_node *roots, uint32_t n);
void fc_extract_is_stored(fusec_graph *g, fc_node n); /* from now on; it has a hash */
/* Push what must be done before, on g->stack; true when there is nothing. */
bool fc_extract_dim_ready(fusec_graph *g, fc_dim d, bool *ok);

/* ---- numbers (numbers.c) --------------------------------------------------------------------- */

enum { FC_MOST_ARGUMENTS = 128 }; /* numbers of an expression; those after them are constants */

/* A number of an expression is an argument of its kernel, so that other numbers need no other code;
 * but not one that simplifies (0, 1, -1, 2, 0.5, a truth value), */
bool fc_number_simplifies(fusec_dtype t, uint64_t bits);
/* nor as this operand: a whole exponent, the divisor of integers, what is no arithmetic. */
bool fc_number_is_structure(fc_op op, int operand, fusec_dtype t, uint64_t bits);
/* Whether there are such operands of an operation; asked for every node of every evaluation. */
static inline bool fc_number_has_structure(fc_op op) {
    if (!fc_is_elementwise((int)op)) return op != FC_OP_BROADCAST;
    return op == FC_OP_pow || op == FC_OP_float_power || op == FC_OP_floordiv || op == FC_OP_mod ||
           op == FC_OP_fmod;
}

/* Whether a constant of the graph is an argument in this round. */
static inline bool fc_extract_is_argument(const fusec_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(&g->ir, n);
    return i->op == FC_OP_CONST && !(i->flags & FC_NODE_OWN) && !FC_MAPPED(g, g->fixed, n) &&
           g->narguments < FC_MOST_ARGUMENTS &&
           !fc_number_simplifies((fusec_dtype)i->dtype, i->attr);
}

static inline bool fc_extract_is_leaf(const fusec_graph *g, fc_node n) {
    return fc_at(&g->ir, n)->op == FC_OP_INPUT || fc_result_of(g, n) ||
           fc_extract_is_argument(g, n);
}

/* Constants that are what they are because of this user. */
static inline void fc_extract_fix(fusec_graph *g, const fc_ninfo *user) {
    for (int k = 0; k < user->nops; k++) {
        const fc_ninfo *i = fc_at(&g->ir, user->src[k]);
        if (i->op == FC_OP_CONST &&
            fc_number_is_structure((fc_op)user->op, k, (fusec_dtype)i->dtype, i->attr))
            FC_SET(g, g->fixed, user->src[k], 1);
    }
}

/* The operands are visited in order; those of a commutative operation stand in order of ids, which
 * depend on what else the graph has: the order of hashes does not. Runs for every node of every
 * evaluation. */
static inline bool fc_extract_operands_ready(fusec_graph *g, fc_node n, bool *oom) {
    const fc_ninfo *i = fc_at(&g->ir, n);
    const size_t before = g->stack.len;
    fc_node first = i->src[0], second = i->src[1];
    if (!i->nops || fc_extract_is_leaf(g, n)) return true;
    if (fc_number_has_structure((fc_op)i->op)) fc_extract_fix(g, i);
    if (i->nops == 2 && g->hashes.at[second] < g->hashes.at[first] &&
        (fc_ops[i->op].flags & FC_F_COMMUTES)) {
        first = i->src[1];
        second = i->src[0];
    }
    if (i->nops > 2 && !FC_MAPPED(g, g->node_map, i->src[2]))
        *oom |= !fc_push(g->ir.alloc, &g->stack, i->src[2]);
    if (i->nops > 1 && !FC_MAPPED(g, g->node_map, second))
        *oom |= !fc_push(g->ir.alloc, &g->stack, second);
    if (!FC_MAPPED(g, g->node_map, first)) *oom |= !fc_push(g->ir.alloc, &g->stack, first);
    return g->stack.len == before;
}

#endif
