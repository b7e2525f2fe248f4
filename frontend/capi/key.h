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

/* ---- maps by id of the user's graph, marked with a round: (round << 32) | new id ---------------
 */

#define FC_MAPPED(g, map, id) ((map).at[id] >> 32 == (g)->round)
#define FC_NEW_ID(map, id)    ((uint32_t)(map).at[id])
#define FC_SET(g, map, id, v) ((map).at[id] = (uint64_t)(g)->round << 32 | (v))

/* ---- the walk (extract.c) ----------------------------------------------------------------------
 */

bool fc_extract_next_round(fusec_graph *g); /* all maps are empty again */
/* Hashes of everything below the roots: the order of the operands of commutative operations. */
bool fc_extract_hashes(fusec_graph *g, const fc_node *roots, uint32_t n);
bool fc_extract_is_leaf(const fusec_graph *g, fc_node n);
/* Push what must be done before, on g->stack; true when there is nothing. */
bool fc_extract_operands_ready(fusec_graph *g, fc_node n, bool ordered, bool *oom);
bool fc_extract_dim_ready(fusec_graph *g, fc_dim d, bool *ok);

#endif
