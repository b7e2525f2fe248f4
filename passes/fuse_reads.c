/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuse_reads.c - the arrays that each value is made from: inputs and roots, in the order in which a
 * walk from the value meets them. Lists are shared between nodes wherever they are the same, so a
 * pass over the graph makes all of them in about the time of one walk. */
#include "passes/fuse.h"

bool fc_reads_init(const fc_alloc *a, fc_reads *r, size_t nodes) {
    fc_arena_init(&r->arena, a);
    r->of = fc_calloc(a, nodes + 1, sizeof *r->of);
    r->self = fc_malloc(a, (nodes + 1) * sizeof *r->self);
    r->stamp = fc_calloc(a, nodes + 1, sizeof *r->stamp);
    r->merged = fc_malloc(a, (nodes + 1) * sizeof *r->merged);
    if (!r->of || !r->self || !r->stamp || !r->merged) return false;
    for (size_t n = 0; n <= nodes; n++) r->self[n] = (fc_node)n;
    return true;
}

void fc_reads_free(const fc_alloc *a, fc_reads *r) {
    fc_free(a, r->of);
    fc_free(a, r->self);
    fc_free(a, r->stamp);
    fc_free(a, r->merged);
    fc_arena_free(&r->arena);
}

/* What reading `n` itself reads. */
static fc_read_list seen_from_above(const fc_graph *g, const fc_fusion *f, const fc_reads *r,
                                    fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    bool leaf = f->is_root[n] || (i->op == FC_OP_INPUT && fc_rank(g, n) != 0);
    if (leaf) return (fc_read_list){&r->self[n], 1};
    return r->of[n];
}

/* `a`, then what `b` has besides. */
static bool merge(fc_reads *r, fc_read_list a, fc_read_list b, fc_read_list *out) {
    *out = a;
    if (!b.n || a.at == b.at) return true;
    if (!a.n) return *out = b, true;
    uint32_t n = 0;
    r->round++;
    for (uint32_t i = 0; i < a.n; i++) {
        r->stamp[a.at[i]] = r->round;
        r->merged[n++] = a.at[i];
    }
    for (uint32_t i = 0; i < b.n; i++)
        if (r->stamp[b.at[i]] != r->round) r->merged[n++] = b.at[i];
    if (n == a.n) return true;
    fc_node *copy = fc_arena_alloc(&r->arena, n * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, r->merged, n * sizeof *copy);
    *out = (fc_read_list){copy, n};
    return true;
}

bool fc_reads_add(fc_graph *g, const fc_fusion *f, fc_reads *r, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    fc_read_list all = {NULL, 0};
    fc_node a;
    if (fc_reshape_reads(g, f, n, &a)) {
        all = (fc_read_list){&r->self[a], 1};
    } else {
        for (int k = i->nops; k-- > 0;)
            if (!merge(r, all, seen_from_above(g, f, r, i->src[k]), &all)) return false;
    }
    r->of[n] = all;
    return true;
}
