/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle_loop.c - steps that are no kernels: a loop, whose body is computed round by round, node by
 * node, and the order of keys. */
#include "tests/support/oracle.h"

#include <stdlib.h>

#include "ir/loop.h"

static void copy(fc_oarray *to, const fc_oarray *from) {
    fc_oval *at = calloc(from->count ? (size_t)from->count : 1, sizeof *at);
    if (!at) abort();
    memcpy(at, from->at, (size_t)from->count * sizeof *at);
    free(to->at);
    *to = *from;
    to->at = at;
}

static void bind(fc_oracle *o, const fc_loop_view *v, uint32_t number, const fc_oarray *value) {
    for (fc_node n = 0; n < o->g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(o->g, n);
        if (i->op == FC_OP_HOLE && fc_hole_level(i) == v->loop.level && fc_hole_number(i) == number)
            copy(&o->node[n], value);
    }
}

/* What depends on this loop's holes, or on those of loops inside it. */
static bool *body_of(const fc_oracle *o, const fc_loop_view *v) {
    const fc_graph *g = o->g;
    bool *need = calloc(g->nodes.len + 1, sizeof *need);
    if (!need) abort();
    for (uint32_t i = 0; i < v->loop.carried; i++) need[v->next[i]] = true;
    for (uint32_t i = 0; i < v->loop.collected; i++) need[v->collected[i]] = true;
    if (v->condition != FC_NONODE) need[v->condition] = true;
    for (fc_node n = (fc_node)g->nodes.len; n-- > 0;) {
        need[n] = need[n] && o->levels[n] >> v->loop.level & 1;
        for (int k = 0; need[n] && k < fc_at(g, n)->nops; k++) need[fc_at(g, n)->src[k]] = true;
    }
    return need;
}

static int64_t number_of(const fc_oracle *o, fc_node n) {
    return (int64_t)o->node[n].at[0].bits;
}

static void keep(fc_oarray *all, const fc_oarray *one, int64_t round, int64_t rounds) {
    if (!all->at) {
        *all = *one;
        all->rank = one->rank + 1;
        all->shape[0] = rounds;
        memcpy(all->shape + 1, one->shape, one->rank * sizeof *all->shape);
        all->count = rounds * one->count;
        all->at = calloc(all->count ? (size_t)all->count : 1, sizeof *all->at);
        if (!all->at) abort();
    }
    memcpy(all->at + round * one->count, one->at, (size_t)one->count * sizeof *all->at);
}

void fc_o_loop(fc_oracle *o, fc_node id) {
    fc_loop_view v;
    fc_loop_look(o->g, id, &v);
    const uint32_t carried = v.loop.carried, all = carried + v.loop.collected;
    const int64_t first = number_of(o, v.first), end = number_of(o, v.end);
    bool *need = body_of(o, &v);
    fc_oarray *now = calloc(all + 1, sizeof *now), *next = calloc(all + 1, sizeof *next);
    if (!now || !next) abort();
    for (uint32_t i = 0; i < carried; i++) copy(&now[i], &o->node[v.start[i]]);
    for (int64_t k = first; k < end; k++) {
        fc_oval count = {.bits = (uint64_t)k, .r = {.exact = true}};
        const fc_oarray counter = {.dtype = FUSEC_I64, .count = 1, .at = &count};
        bind(o, &v, 0, &counter);
        for (uint32_t i = 0; i < carried; i++) bind(o, &v, i + 1, &now[i]);
        for (fc_node n = 0; n < o->g->nodes.len; n++)
            if (need[n] && (uint32_t)__builtin_ctzll(o->levels[n]) == v.loop.level)
                fc_o_compute(o, n);
        if (v.condition != FC_NONODE && !o->node[v.condition].at[0].bits) break;
        for (uint32_t i = 0; i < carried; i++) copy(&next[i], &o->node[v.next[i]]);
        for (uint32_t i = 0; i < carried; i++) copy(&now[i], &next[i]);
        for (uint32_t i = 0; i < v.loop.collected; i++)
            keep(&now[carried + i], &o->node[v.collected[i]], k - first, end - first);
    }
    for (uint32_t i = 0; i < carried; i++) free(next[i].at);
    for (uint32_t i = 0; o->tuple[id] && i < all; i++) free(o->tuple[id][i].at);
    free(o->tuple[id]);
    free(next);
    free(need);
    o->tuple[id] = now;
}

/* The position of an element is how many of its row come before it. Of a part of the order the
 * places from `first` on are given, and the last one for those behind it. */
static void sorted(fc_oracle *o, fc_node id) {
    const fc_ninfo *sort = fc_at(o->g, fc_at(o->g, id)->src[0]);
    const fc_ninfo *list = fc_at(o->g, sort->src[0]);
    const fc_oarray *key = &o->node[list->src[0]];
    fc_oarray *to = &o->node[id];
    const int64_t n = key->shape[key->rank - 1], given = to->shape[to->rank - 1];
    fc_oval one = {.bits = 0, .r = {.exact = true}};
    if (list->nops > 1) one = o->node[fc_at(o->g, list->src[1])->src[0]].at[0];
    int64_t first = (int64_t)one.bits;
    first = first < 0 ? 0 : first < n ? first : n - 1;
    for (int64_t row = 0, out = 0; n && row < key->count; row += n, out += given) {
        bool exact = true, taint = false;
        for (int64_t i = row; i < row + n; i++) {
            exact = exact && key->at[i].r.exact;
            taint = taint || (!key->at[i].r.exact && key->at[i].r.taint);
        }
        exact = exact && one.r.exact;
        for (int64_t i = 0; i < given; i++) to->at[out + i] = (fc_oval){.r = fc_o_anything(taint)};
        for (int64_t i = 0; i < n && exact; i++) {
            int64_t before = 0;
            for (int64_t k = 0; k < n; k++)
                before += key->at[row + k].bits < key->at[row + i].bits ||
                          (k < i && key->at[row + k].bits == key->at[row + i].bits);
            for (int64_t k = before - first; k >= 0 && k < given;
                 k = before == n - 1 ? k + 1 : given)
                to->at[out + k] = (fc_oval){.bits = (uint64_t)i, .r = {.exact = true}};
        }
    }
}

/* A loop without rounds has collected nothing. */
void fc_o_result(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    if (fc_at(o->g, n->src[0])->op == FC_OP_SORT) {
        sorted(o, id);
        return;
    }
    if (fc_at(o->g, n->src[0])->op == FC_OP_FFT) {
        fc_o_transform(o, id);
        return;
    }
    const fc_oarray *from = &o->tuple[n->src[0]][n->attr];
    fc_oarray *to = &o->node[id];
    if (from->at) memcpy(to->at, from->at, (size_t)to->count * sizeof *to->at);
}

void fc_o_free_tuples(fc_oracle *o) {
    fc_loop_view v;
    for (fc_node n = 0; n < o->g->nodes.len; n++) {
        if (!o->tuple[n]) continue;
        fc_loop_look(o->g, n, &v);
        for (uint32_t i = 0; i < v.loop.carried + v.loop.collected; i++) free(o->tuple[n][i].at);
        free(o->tuple[n]);
    }
}
