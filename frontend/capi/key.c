/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* key.c - the structure of an expression as words: what finds the program of an expression that was
 * evaluated before.
 *
 * In: nodes of the user's graph. Out: one record for each node that they depend on, down to arrays
 * and stored results, in the order in which a walk from the roots finishes them; lists and sizes
 * have their records where they are first needed. All are numbered in this order, so an expression
 * that is built again, in this graph or another one, whatever else the graph has, gives the same
 * words. The walk, and with it the order of inputs and sizes, is that of extract.c. No graph is
 * made: that is for expressions that are new. */
#include "frontend/capi/key.h"

enum { REC_FORM = 0x8001, REC_SYMBOL, REC_LIST, REC_ROOT, REC_LEAF };

/* Room for the longest record of fixed length. */
#define ROOM 16

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Records a symbol whose operands have their numbers, if it is new. */
static bool symbol(fusec_graph *g, fc_key *k, uint32_t sym) {
    const fc_sym *s = &g->ir.dims.syms.at[sym];
    if (FC_MAPPED(g, g->sym_map, sym)) return true;
    FC_SET(g, g->sym_map, sym, k->nsymbols++);
    if (!fc_key_room(k, ROOM)) return false;
    fc_key_add(k, REC_SYMBOL);
    fc_key_add(k, (uint32_t)s->kind);
    if (s->kind != FC_SYM_NAMED) {
        fc_key_add(k, FC_NEW_ID(g->dim_map, s->a));
        fc_key_add(k, FC_NEW_ID(g->dim_map, s->b));
        return true;
    }
    if (sym >= g->syms.len || !g->syms.at[sym].known) return false;
    return fc_push(k->alloc, &k->sizes, g->syms.at[sym].value);
}

static bool form(fusec_graph *g, fc_key *k, fc_dim d) {
    const fc_form *f = &g->ir.dims.forms.at[d];
    for (uint32_t i = 0; i < f->nterms; i++)
        if (!symbol(g, k, f->terms[i].sym)) return false;
    if (!fc_key_room(k, ROOM + 3 * f->nterms)) return false;
    fc_key_add(k, REC_FORM);
    fc_key_add(k, f->nterms);
    fc_key_add64(k, (uint64_t)f->c);
    for (uint32_t i = 0; i < f->nterms; i++) {
        fc_key_add(k, FC_NEW_ID(g->sym_map, f->terms[i].sym));
        fc_key_add64(k, (uint64_t)f->terms[i].coef);
    }
    FC_SET(g, g->dim_map, d, k->ndims++);
    return true;
}

/* Sizes may be nested as deep as the user likes: products of sums of products. */
static bool dim(fusec_graph *g, fc_key *k, fc_dim d, uint32_t *number) {
    if (!FC_MAPPED(g, g->dim_map, d)) {
        const size_t base = g->stack.len;
        bool ok = fc_push(g->ir.alloc, &g->stack, d);
        while (ok && g->stack.len > base) {
            fc_dim top = g->stack.at[g->stack.len - 1];
            if (!FC_MAPPED(g, g->dim_map, top)) {
                if (!fc_extract_dim_ready(g, top, &ok)) continue;
                ok = ok && form(g, k, top);
            }
            g->stack.len--;
        }
        g->stack.len = base;
        if (!ok) return false;
    }
    *number = FC_NEW_ID(g->dim_map, d);
    return true;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The same list may be met as several kinds (FC_ATTR_LIST and after), which are apart. */
static bool new_list(fusec_graph *g, fc_key *k, fc_list l, fc_attr_kind kind, uint32_t *number) {
    const uint32_t n = fc_list_len(&g->ir, l);
    int64_t v[1 + FC_MAX_RANK * (2 + FC_MAX_RANK)];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d;
        v[i] = fc_list_at(&g->ir, l)[i];
        if (!fc_attr_is_dim(kind, fc_list_at(&g->ir, l), i)) continue;
        if (!dim(g, k, (fc_dim)v[i], &d)) return false;
        v[i] = d;
    }
    if (!fc_key_room(k, ROOM + 2 * n)) return false;
    fc_key_add(k, REC_LIST);
    fc_key_add(k, n);
    for (uint32_t i = 0; i < n; i++) fc_key_add64(k, (uint64_t)v[i]);
    *number = k->nlists++;
    FC_SET(g, g->list_map[kind - FC_ATTR_LIST], l, *number);
    return true;
}

static inline bool list(fusec_graph *g, fc_key *k, fc_list l, fc_attr_kind kind, uint32_t *number) {
    if (!FC_MAPPED(g, g->list_map[kind - FC_ATTR_LIST], l)) return new_list(g, k, l, kind, number);
    *number = FC_NEW_ID(g->list_map[kind - FC_ATTR_LIST], l);
    return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool leaf(fusec_graph *g, fc_key *k, fc_node n, uint32_t shape) {
    const fc_ninfo *i = fc_at(&g->ir, n);
    if (i->op == FC_OP_INPUT && !g->leaves.at[i->attr].bound) return false;
    fc_key_add(k, REC_LEAF | (uint32_t)i->dtype << 16);
    fc_key_add(k, shape);
    g->narguments += i->op == FC_OP_CONST;
    return fc_push(k->alloc, &k->inputs, n);
}

static bool attribute(fusec_graph *g, fc_key *k, const fc_ninfo *i, uint64_t *attr) {
    uint32_t number = 0;
    bool ok = true;
    *attr = i->attr;
    const fc_attr_kind kind = (fc_attr_kind)fc_ops[i->op].attr;
    if (kind >= FC_ATTR_LIST)
        ok = list(g, k, (fc_list)i->attr, kind, &number);
    else if (kind == FC_ATTR_DIM)
        ok = dim(g, k, (fc_dim)i->attr, &number);
    else
        return true;
    *attr = number;
    return ok;
}

static bool node(fusec_graph *g, fc_key *k, fc_node n) {
    const fc_ninfo *i = fc_at(&g->ir, n);
    uint32_t shape;
    uint64_t attr;
    if (!list(g, k, i->shape, FC_ATTR_DIMS, &shape) || !fc_key_room(k, ROOM)) return false;
    if (fc_extract_is_leaf(g, n)) return leaf(g, k, n, shape);
    if (!attribute(g, k, i, &attr) || !fc_key_room(k, ROOM)) return false;
    const bool has_attr = attr || i->flags || i->axis_kind;
    fc_key_add(k, i->op | (uint32_t)i->dtype << 16 | (uint32_t)i->nops << 24 |
                      (uint32_t)has_attr << 31);
    fc_key_add(k, shape);
    if (has_attr) {
        fc_key_add64(k, attr);
        fc_key_add(k, i->flags << 2 | i->axis_kind);
    }
    if (i->nops == 2) {
        const uint32_t a = FC_NEW_ID(g->node_map, i->src[0]), b = FC_NEW_ID(g->node_map, i->src[1]);
        const bool swap = b < a && (fc_ops[i->op].flags & FC_F_COMMUTES);
        fc_key_add(k, swap ? b : a);
        fc_key_add(k, swap ? a : b);
        return true;
    }
    for (int s = 0; s < i->nops; s++) fc_key_add(k, FC_NEW_ID(g->node_map, i->src[s]));
    return true;
}

/* Operands before users; the same order as when the part is extracted. */
static bool walk(fusec_graph *g, fc_key *k, fc_node root) {
    bool oom = !fc_push(g->ir.alloc, &g->stack, root);
    while (!oom && g->stack.len) {
        fc_node top = g->stack.at[g->stack.len - 1];
        if (!FC_MAPPED(g, g->node_map, top)) {
            if (!fc_extract_operands_ready(g, top, &oom)) continue;
            if (!node(g, k, top)) return false;
            FC_SET(g, g->node_map, top, k->nnodes++);
        }
        g->stack.len--;
    }
    return !oom;
}

/* Four sums that run beside each other: a key has ten words a node. */
uint64_t fc_key_hash(const uint32_t *w, size_t n) {
    uint64_t h[4] = {n, 1, 2, 3}, v[4];
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(v, w + i, sizeof v);
        for (int k = 0; k < 4; k++) {
            h[k] = (h[k] ^ v[k]) * 0x9e3779b97f4a7c15u;
            h[k] ^= h[k] >> 29;
        }
    }
    for (; i < n; i++) h[i % 4] = fc_mix(h[i % 4], w[i]);
    return fc_mix(fc_mix(fc_mix(h[0], h[1]), h[2]), h[3]);
}

bool fc_key_make(fusec_graph *g, const fc_node *roots, uint32_t n, fc_key *k) {
    memset(k, 0, sizeof *k);
    k->alloc = g->ir.alloc;
    if (!fc_extract_hashes(g, roots, n) || !fc_extract_next_round(g)) return false;
    g->stack.len = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!walk(g, k, roots[i]) || !fc_key_room(k, 2)) return false;
        fc_key_add(k, REC_ROOT);
        fc_key_add(k, FC_NEW_ID(g->node_map, roots[i]));
    }
    k->hash = fc_key_hash(k->words.at, k->words.len);
    return true;
}

void fc_key_free(fc_key *k) {
    fc_vec_free(k->alloc, &k->words);
    fc_vec_free(k->alloc, &k->inputs);
    fc_vec_free(k->alloc, &k->sizes);
}
