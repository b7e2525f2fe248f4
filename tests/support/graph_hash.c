/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graph_hash.c - see graph_hash.h. A node's hash is made from those of its operands. */
#include "tests/support/graph_hash.h"

typedef struct hasher {
    const fc_graph *g;
    uint64_t *sym, *dim, *node;
} hasher;

/* The first axis of an input that is this symbol alone. */
static uint64_t named_hash(const fc_graph *g, uint32_t sym) {
    for (size_t i = 0; i < g->inputs.len; i++)
        for (uint32_t a = 0; a < fc_rank(g, g->inputs.at[i].node); a++) {
            uint32_t s;
            if (fc_dim_is_sym(&g->dims, fc_axis(g, g->inputs.at[i].node, a), &s) && s == sym)
                return fc_mix(fc_mix(1, i), a);
        }
    const char *name = g->dims.syms.at[sym].name;
    return fc_mix(2, fc_hash_bytes(name, strlen(name)));
}

/* An opaque symbol's operands are dims with smaller ids than the dims that use it, so symbols are
 * hashed when a dim needs them. */
static uint64_t sym_hash(hasher *h, uint32_t sym) {
    const fc_sym *s = &h->g->dims.syms.at[sym];
    if (h->sym[sym]) return h->sym[sym];
    if (s->kind == FC_SYM_NAMED)
        h->sym[sym] = named_hash(h->g, sym);
    else if (s->kind == FC_SYM_MUL) /* either order */
        h->sym[sym] = fc_mix(3, h->dim[s->a] + h->dim[s->b]);
    else
        h->sym[sym] = fc_mix(fc_mix((uint64_t)s->kind + 4, h->dim[s->a]), h->dim[s->b]);
    return h->sym[sym];
}

/* The terms of a form stand in order of symbols, which is that of creation: a sum has none. */
static void hash_dims(hasher *h) {
    for (size_t d = 0; d < h->g->dims.forms.len; d++) {
        const fc_form *f = &h->g->dims.forms.at[d];
        uint64_t sum = 0;
        for (uint32_t t = 0; t < f->nterms; t++)
            sum += fc_mix(sym_hash(h, f->terms[t].sym), (uint64_t)f->terms[t].coef);
        h->dim[d] = fc_mix(fc_mix(5, (uint64_t)f->c), sum);
    }
}

/* `dims`: every entry of the list is one, or (slices) two of three. */
static uint64_t list_hash(const hasher *h, fc_list l, bool dims, bool slices) {
    const uint32_t n = fc_list_len(h->g, l);
    uint64_t r = fc_mix(7, n);
    for (uint32_t i = 0; i < n; i++) {
        int64_t v = fc_list_at(h->g, l)[i];
        bool is_dim = dims || (slices && i % 3 != 1);
        r = fc_mix(r, is_dim ? h->dim[v] : (uint64_t)v);
    }
    return r;
}

static uint64_t view_hash(const hasher *h, fc_list l) {
    const int64_t *v = fc_list_at(h->g, l);
    uint64_t r = 11;
    for (uint32_t i = 0; i < fc_list_len(h->g, l); i++)
        r = fc_mix(r, fc_view_is_dim(v, i) ? h->dim[v[i]] : (uint64_t)v[i]);
    return r;
}

static uint64_t attr_hash(const hasher *h, const fc_ninfo *n) {
    if (n->op == FC_OP_VIEW) return view_hash(h, (fc_list)n->attr);
    if (n->op == FC_OP_CHECK) return list_hash(h, (fc_list)n->attr, true, false);
    if (n->op == FC_OP_SLICE) return list_hash(h, (fc_list)n->attr, false, true);
    if (n->op == FC_OP_PERMUTE || n->op == FC_OP_FOLD || fc_is_reduction(n->op))
        return list_hash(h, (fc_list)n->attr, false, false);
    return n->op == FC_OP_DIM ? h->dim[n->attr] : n->attr;
}

static uint64_t node_hash(const hasher *h, fc_node id) {
    const fc_ninfo *n = fc_at(h->g, id);
    uint64_t r = fc_mix((uint64_t)n->op << 32 | (uint64_t)n->dtype << 16 | n->nops,
                        (uint64_t)n->flags << 32 | n->axis_kind);
    r = fc_mix(fc_mix(r, list_hash(h, n->shape, true, false)), attr_hash(h, n));
    if (n->nops == 2 && (fc_ops[n->op].flags & FC_F_COMMUTES))
        return fc_mix(r, h->node[n->src[0]] + h->node[n->src[1]]);
    for (int k = 0; k < n->nops; k++) r = fc_mix(r, h->node[n->src[k]]);
    return r;
}

uint64_t fc_graph_hash(const fc_graph *g) {
    hasher h = {.g = g,
                .sym = fc_calloc(g->alloc, g->dims.syms.len + 1, sizeof *h.sym),
                .dim = fc_calloc(g->alloc, g->dims.forms.len + 1, sizeof *h.dim),
                .node = fc_calloc(g->alloc, g->nodes.len + 1, sizeof *h.node)};
    uint64_t r = 0;
    if (h.sym && h.dim && h.node) {
        r = fc_mix(g->inputs.len, g->outputs.len);
        hash_dims(&h);
        for (fc_node n = 0; n < g->nodes.len; n++) h.node[n] = node_hash(&h, n);
        for (size_t i = 0; i < g->outputs.len; i++) r = fc_mix(r, h.node[g->outputs.at[i].node]);
    }
    fc_free(g->alloc, h.sym);
    fc_free(g->alloc, h.dim);
    fc_free(g->alloc, h.node);
    return r;
}
