/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* substitute.c - nodes made again with others in the place of what they are made of.
 *
 * In: nodes and what stands in for them. Out: for each root the node that is made in the same way
 * of what stands in. What does not depend on one of them is not made again. Rules of derivatives
 * (fc_custom) go with their values: a copy has a record of its own. */
#include "ir/substitute.h"

#include "ir/complex.h"

typedef struct copying {
    fc_graph *g;
    const fc_substitution *s;
    uint32_t len;  /* nodes there were before */
    uint8_t *need; /* of them: a root is made of it */
    fc_node *map;
    uint32_t old_number, new_number; /* the record that was copied last, + 1 */
} copying;

static const fc_custom *record_of(const fc_graph *g, const fc_ninfo *i) {
    const bool custom = i->op == FC_OP_CAST && FC_CAST_KIND(i->attr) == FC_CAST_CUSTOM;
    const uint32_t number = FC_CAST_NUMBER(i->attr);
    return custom && number < g->customs.len ? &g->customs.at[number] : NULL;
}

static void need_all(copying *c, uint32_t n, const fc_node *list) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i] < c->len) c->need[list[i]] = 1;
}

/* Operands of what is needed, down from the last node. The results of a record are copied
 * together. */
static void find_needed(copying *c) {
    fc_graph *g = c->g;
    need_all(c, c->s->nroots, c->s->root);
    for (fc_node n = c->len; n-- > 0;) {
        const fc_ninfo *i = fc_at(g, n);
        if (!c->need[n]) continue;
        need_all(c, i->nops, i->src);
        const fc_custom *r = record_of(g, i);
        if (!r) continue;
        need_all(c, r->nargs, r->arg);
        need_all(c, r->nargs, r->dx);
        need_all(c, r->nresults, r->seed);
        need_all(c, r->nresults, r->result);
        for (uint32_t k = 0; k < r->nresults; k++)
            need_all(c, fc_at(g, r->result[k])->nops, fc_at(g, r->result[k])->src);
    }
}

static fc_node mapped(const copying *c, fc_node n) {
    return n < c->len ? c->map[n] : n;
}

static bool any_new(const copying *c, uint32_t n, const fc_node *list) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++) any |= mapped(c, list[i]) != list[i];
    return any;
}

static bool is_new(const copying *c, fc_node n) {
    const fc_ninfo *i = fc_at(c->g, n);
    if (any_new(c, i->nops, i->src)) return true;
    const fc_custom *r = record_of(c->g, i);
    if (!r) return false;
    for (uint32_t k = 0; k < r->nresults; k++)
        if (any_new(c, 1, fc_at(c->g, r->result[k])->src)) return true;
    return any_new(c, r->nargs, r->arg) || any_new(c, r->nargs, r->dx);
}

static const fc_node *mapped_all(copying *c, uint32_t n, const fc_node *nodes) {
    fc_graph *g = c->g;
    fc_node *copy = fc_arena_alloc(&g->arena, (n + 1) * sizeof *copy);
    if (!copy) return fc_oom(&g->error), NULL;
    for (uint32_t i = 0; i < n; i++) copy[i] = mapped(c, nodes[i]);
    return copy;
}

/* Its results are filled in as they are copied. */
static bool copy_record(copying *c, uint32_t number) {
    fc_graph *g = c->g;
    if (c->old_number == number + 1) return true;
    fc_custom r = g->customs.at[number];
    r.arg = mapped_all(c, r.nargs, r.arg);
    r.dx = mapped_all(c, r.nargs, r.dx);
    r.seed = mapped_all(c, r.nresults, r.seed);
    r.result = mapped_all(c, r.nresults, r.result);
    if (!g->error.code && !fc_push(g->alloc, &g->customs, r)) fc_oom(&g->error);
    c->old_number = number + 1;
    c->new_number = (uint32_t)g->customs.len - 1;
    return !g->error.code;
}

static fc_node copy_node(copying *c, fc_node n) {
    fc_graph *g = c->g;
    fc_ninfo i = *fc_at(g, n);
    const bool custom = record_of(g, &i) != NULL;
    const uint32_t result = FC_CAST_RESULT(i.attr);
    for (int k = 0; k < i.nops; k++) i.src[k] = mapped(c, i.src[k]);
    if (i.op == FC_OP_PART) return fc_build_part(g, i.src[0], i.attr != 0);
    if (custom && !copy_record(c, FC_CAST_NUMBER(i.attr))) return FC_NONODE;
    if (custom) i.attr = FC_CAST_ATTR(FC_CAST_CUSTOM, result, c->new_number);
    const fc_node copy = fc_graph_node(g, i);
    if (custom) ((fc_node *)g->customs.at[c->new_number].result)[result] = copy;
    return copy;
}

static void copy_all(copying *c) {
    const fc_substitution *s = c->s;
    for (fc_node n = 0; n < c->len; n++) c->map[n] = n;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->from[i] < c->len) c->map[s->from[i]] = s->to[i];
    for (fc_node n = 0; n < c->len && !c->g->error.code; n++) {
        if (!c->need[n] || c->map[n] != n || (s->levels && !(s->levels[n] & s->bit))) continue;
        if (is_new(c, n)) c->map[n] = copy_node(c, n);
    }
}

bool fc_substitute(fc_graph *g, const fc_substitution *s, fc_node *out) {
    copying c = {.g = g, .s = s, .len = (uint32_t)g->nodes.len};
    if (g->error.code) return false;
    c.need = fc_calloc(g->alloc, c.len, 1);
    c.map = fc_malloc(g->alloc, c.len * sizeof *c.map);
    if (!c.need || !c.map) fc_oom(&g->error);
    if (!g->error.code) {
        find_needed(&c);
        copy_all(&c);
    }
    for (uint32_t i = 0; i < s->nroots && !g->error.code; i++)
        out[i] = s->root[i] == FC_NONODE ? FC_NONODE : mapped(&c, s->root[i]);
    fc_free(g->alloc, c.need);
    fc_free(g->alloc, c.map);
    return !g->error.code;
}
