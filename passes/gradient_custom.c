/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_custom.c - values with a derivative of their own (fc_build_custom).
 *
 * The rule was built together with the value, for cotangents that were not known yet: each is
 * stood for by a seed. In: what arrives at the results. Out: the nodes of the rule again, with that
 * in place of the seeds. A rule is linear in its seeds, so forward mode is the rule transposed,
 * which is its derivative by them. */
#include "passes/gradient_impl.h"

typedef struct copier {
    fc_grad_ctx *c;
    fc_node from, to; /* nodes from `from` up to, not with, `to` are looked at */
    fc_node *map;     /* of each: what stands for it; FC_NONODE: it does not depend on a seed */
    uint32_t old_number, new_number; /* the record that was copied last, + 1 */
} copier;

fc_node fc_g_custom_first(const fc_graph *g, const fc_custom *r) {
    fc_node first = FC_NONODE;
    for (uint32_t i = 0; i < r->nresults; i++)
        if (fc_at(g, r->result[i])->op == FC_OP_CAST && r->result[i] < first) first = r->result[i];
    return first;
}

static fc_node mapped(const copier *k, fc_node n) {
    const bool inside = n != FC_NONODE && n >= k->from && n < k->to;
    return inside && k->map[n - k->from] != FC_NONODE ? k->map[n - k->from] : n;
}

static const fc_node *mapped_all(copier *k, uint32_t n, const fc_node *nodes) {
    fc_graph *g = k->c->g;
    fc_node *copy = fc_arena_alloc(&g->arena, (n + 1) * sizeof *copy);
    if (!copy) return fc_oom(&g->error), NULL;
    for (uint32_t i = 0; i < n; i++) copy[i] = mapped(k, nodes[i]);
    return copy;
}

/* A rule inside a rule: its record with what stands for its nodes. */
static bool copy_record(copier *k, uint32_t number) {
    fc_graph *g = k->c->g;
    if (k->old_number == number + 1) return true;
    fc_custom r = g->customs.at[number];
    r.arg = mapped_all(k, r.nargs, r.arg);
    r.dx = mapped_all(k, r.nargs, r.dx);
    r.seed = mapped_all(k, r.nresults, r.seed);
    r.result = mapped_all(k, r.nresults, r.result); /* filled in as they are copied */
    if (!g->error.code && !fc_push(g->alloc, &g->customs, r)) fc_oom(&g->error);
    k->old_number = number + 1;
    k->new_number = (uint32_t)g->customs.len - 1;
    return !g->error.code;
}

static bool depends(const copier *k, const fc_ninfo *i) {
    bool dep = false;
    for (int s = 0; s < i->nops; s++) dep |= mapped(k, i->src[s]) != i->src[s];
    if (i->op != FC_OP_CAST || FC_CAST_KIND(i->attr) != FC_CAST_CUSTOM) return dep;
    const fc_graph *g = k->c->g; /* results of one record are copied together */
    const fc_custom *r = &g->customs.at[FC_CAST_NUMBER(i->attr)];
    for (uint32_t n = 0; n < r->nresults; n++) {
        const fc_ninfo *other = fc_at(g, r->result[n]);
        if (other->op == FC_OP_CAST) dep |= mapped(k, other->src[0]) != other->src[0];
    }
    return dep;
}

static void copy_node(copier *k, fc_node n) {
    fc_graph *g = k->c->g;
    fc_ninfo i = *fc_at(g, n);
    if (!depends(k, &i)) return;
    for (int s = 0; s < i.nops; s++) i.src[s] = mapped(k, i.src[s]);
    const bool custom = i.op == FC_OP_CAST && FC_CAST_KIND(i.attr) == FC_CAST_CUSTOM;
    if (custom && !copy_record(k, FC_CAST_NUMBER(i.attr))) return;
    if (custom) i.attr = FC_CAST_ATTR(FC_CAST_CUSTOM, FC_CAST_RESULT(i.attr), k->new_number);
    const fc_node copy = fc_graph_node(g, i);
    k->map[n - k->from] = copy;
    if (custom) ((fc_node *)g->customs.at[k->new_number].result)[FC_CAST_RESULT(i.attr)] = copy;
}

/* The shares of the arguments for these cotangents of the results. */
void fc_g_custom_reverse(fc_grad_ctx *c, fc_node n, const fc_custom *r, const fc_node *arrives,
                         fc_node *share) {
    fc_graph *g = c->g;
    copier k = {.c = c, .from = FC_NONODE};
    for (uint32_t i = 0; i < r->nargs; i++) share[i] = FC_NONODE;
    if (c->nlead) {
        fc_g_fail(c, n, "jacobian() does not go through a rule of its own; take vjp()");
        return;
    }
    for (uint32_t i = 0; i < r->nresults; i++)
        if (r->seed[i] < k.from) k.from = r->seed[i];
    for (uint32_t i = 0; i < r->nargs; i++)
        if (r->dx[i] != FC_NONODE && r->dx[i] >= k.to) k.to = r->dx[i] + 1;
    if (k.from >= k.to) k.to = k.from;
    k.map = fc_malloc(g->alloc, (k.to - k.from + 1) * sizeof *k.map);
    if (!k.map) {
        fc_oom(&g->error);
        return;
    }
    memset(k.map, 0xff, (k.to - k.from) * sizeof *k.map); /* FC_NONODE */
    for (uint32_t i = 0; i < r->nresults; i++)
        if (r->seed[i] < k.to) k.map[r->seed[i] - k.from] = arrives[i];
    for (fc_node id = k.from; id < k.to && !g->error.code; id++)
        if (k.map[id - k.from] == FC_NONODE) copy_node(&k, id);
    for (uint32_t i = 0; i < r->nargs; i++)
        if (r->dx[i] != FC_NONODE) share[i] = mapped(&k, r->dx[i]);
    fc_free(g->alloc, k.map);
}

/* The tangent of result i, from those of the arguments (FC_NONODE: 0). */
fc_node fc_g_custom_forward(fc_grad_ctx *c, const fc_custom *r, uint32_t i, const fc_node *t) {
    fc_graph *g = c->g;
    fc_node sum = FC_NONODE, share;
    for (uint32_t a = 0; a < r->nargs && !g->error.code; a++) {
        if (t[a] == FC_NONODE || r->dx[a] == FC_NONODE) continue;
        if (!fc_vjp(g, r->dx[a], t[a], 1, &r->seed[i], &share)) break;
        sum = sum == FC_NONODE ? share : fc_build_op(g, FC_OP_add, sum, share, FC_NONODE);
    }
    return sum;
}
