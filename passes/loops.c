/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loops.c - see loops.h.
 *
 * In: a graph with loops, before their bodies are taken out. Out: the same results from as few
 * loops as there are different ones, of values that are needed. Bodies have their turn when their
 * own plan is made. */
#include "passes/loops.h"

#include "ir/loop.h"
#include "ir/substitute.h"
#include "passes/rewrite.h"

typedef struct merging {
    fc_graph *g;
    uint32_t len; /* nodes there were before */
    uint8_t *live;
    uint64_t *levels;
    FC_VEC(fc_node) loops, from, to; /* whole loops; results, and what they become */
} merging;

static bool begin(merging *m) {
    fc_graph *g = m->g;
    m->len = (uint32_t)g->nodes.len;
    m->live = fc_malloc(g->alloc, m->len);
    m->levels = fc_malloc(g->alloc, m->len * sizeof *m->levels);
    if (!m->live || !m->levels) return fc_oom(&g->error), false;
    fc_rewrite_live(g, m->live);
    fc_body_levels(g, m->levels);
    for (fc_node n = 0; n < m->len; n++)
        if (m->live[n] && fc_at(g, n)->op == FC_OP_LOOP && !m->levels[n] &&
            !fc_loop_is_planned(fc_at(g, n)) && !fc_push(g->alloc, &m->loops, n))
            return fc_oom(&g->error), false;
    return true;
}

static void end(merging *m) {
    const fc_alloc *a = m->g->alloc;
    fc_free(a, m->live);
    fc_free(a, m->levels);
    fc_vec_free(a, &m->loops);
    fc_vec_free(a, &m->from);
    fc_vec_free(a, &m->to);
}

static bool become(merging *m, fc_node from, fc_node to) {
    if (to != FC_NONODE && fc_push(m->g->alloc, &m->from, from) && fc_push(m->g->alloc, &m->to, to))
        return true;
    fc_oom(&m->g->error);
    return false;
}

/* The outputs, of what results have become. */
static bool replace(merging *m) {
    fc_graph *g = m->g;
    if (!m->from.len || g->error.code) return !g->error.code;
    FC_VEC(fc_node) root = {0};
    bool ok = true;
    for (size_t i = 0; i < g->outputs.len && ok; i++)
        ok = fc_push(g->alloc, &root, g->outputs.at[i].node);
    if (!ok) fc_oom(&g->error);
    const fc_substitution s = {.n = (uint32_t)m->from.len,
                               .nroots = (uint32_t)root.len,
                               .from = m->from.at,
                               .to = m->to.at,
                               .root = root.at};
    ok = ok && fc_substitute(g, &s, root.at);
    for (size_t i = 0; i < g->outputs.len && ok; i++) g->outputs.at[i].node = root.at[i];
    fc_vec_free(g->alloc, &root);
    return ok;
}

/* ---- loops that another one makes as well -------------------------------------------------------
 */

static uint32_t find(const fc_node *list, uint32_t n, fc_node what) {
    uint32_t i = 0;
    while (i < n && list[i] != what) i++;
    return i;
}

/* Whether b carries what a carries in its first places, and collects at least as much. */
static bool is_part(const fc_loop_view *a, const fc_loop_view *b) {
    bool part = a->first == b->first && a->end == b->end && a->condition == b->condition &&
                a->loop.level == b->loop.level && a->loop.carried <= b->loop.carried;
    for (uint32_t i = 0; part && i < a->loop.carried; i++)
        part = a->start[i] == b->start[i] && a->next[i] == b->next[i];
    for (uint32_t i = 0; part && i < a->loop.collected; i++)
        part = find(b->collected, b->loop.collected, a->collected[i]) < b->loop.collected;
    return part;
}

static bool merge_into(merging *m, fc_node loop, const fc_loop_view *a, fc_node other,
                       const fc_loop_view *b) {
    fc_graph *g = m->g;
    for (fc_node n = 0; n < m->len && !g->error.code; n++) {
        const fc_ninfo i = *fc_at(g, n);
        if (i.op != FC_OP_RESULT || i.src[0] != loop) continue;
        uint32_t number = (uint32_t)i.attr;
        if (number >= a->loop.carried)
            number = b->loop.carried +
                     find(b->collected, b->loop.collected, a->collected[number - a->loop.carried]);
        become(m, n, fc_build_result(g, other, number, (fusec_dtype)i.dtype, i.shape));
    }
    return !g->error.code;
}

static bool merge(merging *m) {
    static const size_t none = (size_t)-1;
    fc_loop_view a, b;
    for (size_t i = 0; i < m->loops.len; i++) {
        size_t into = none;
        fc_loop_look(m->g, m->loops.at[i], &a);
        for (size_t k = 0; k < m->loops.len && into == none; k++) {
            if (k == i) continue;
            fc_loop_look(m->g, m->loops.at[k], &b);
            if (is_part(&a, &b)) into = k;
        }
        if (into == none) continue;
        if (!merge_into(m, m->loops.at[i], &a, m->loops.at[into], &b)) return false;
        m->loops.at[i--] = m->loops.at[--m->loops.len];
    }
    return replace(m);
}

/* ---- values that no result depends on
 * ------------------------------------------------------------- */

typedef struct used {
    bool carried[FC_MAX_LOOP_VALUES], collected[FC_MAX_LOOP_VALUES];
} used;

/* Which holes of the loop a value of its body depends on. */
static void mark_holes(const merging *m, const fc_loop_view *v, fc_node root, uint8_t *need,
                       used *u) {
    const fc_graph *g = m->g;
    memset(need, 0, (size_t)root + 1);
    need[root] = 1;
    for (fc_node n = root + 1; n-- > 0;) {
        const fc_ninfo *i = fc_at(g, n);
        if (!need[n] || !(m->levels[n] >> v->loop.level & 1)) continue;
        for (int k = 0; k < i->nops; k++) need[i->src[k]] = 1;
        const bool own = i->op == FC_OP_HOLE && fc_hole_level(i) == v->loop.level;
        const uint32_t number = own ? fc_hole_number(i) : 0;
        if (number && number <= v->loop.carried) u->carried[number - 1] = true;
    }
}

/* False: all is used. */
static bool find_used(const merging *m, fc_node loop, const fc_loop_view *v, uint8_t *need,
                      used *u) {
    const fc_graph *g = m->g;
    bool done[FC_MAX_LOOP_VALUES] = {false}, more = true, all = true;
    for (fc_node n = 0; n < m->len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (!m->live[n] || i->op != FC_OP_RESULT || i->src[0] != loop) continue;
        if (i->attr < v->loop.carried)
            u->carried[i->attr] = true;
        else
            u->collected[i->attr - v->loop.carried] = true;
    }
    if (v->condition != FC_NONODE) mark_holes(m, v, v->condition, need, u);
    for (uint32_t i = 0; i < v->loop.collected; i++)
        if (u->collected[i]) mark_holes(m, v, v->collected[i], need, u);
    while (more) {
        more = false;
        for (uint32_t i = 0; i < v->loop.carried; i++) {
            if (!u->carried[i] || done[i]) continue;
            more = done[i] = true;
            mark_holes(m, v, v->next[i], need, u);
        }
    }
    for (uint32_t i = 0; i < v->loop.carried; i++) all &= u->carried[i];
    for (uint32_t i = 0; i < v->loop.collected; i++) all &= u->collected[i];
    return !all;
}

static bool make_smaller(merging *m, fc_node loop, const used *u) {
    fc_graph *g = m->g;
    fc_open_loop o;
    fc_node start[FC_MAX_LOOP_VALUES], out[FC_MAX_LOOP_VALUES];
    uint32_t place[FC_MAX_LOOP_VALUES];
    if (!fc_loop_open(g, loop, &o)) return false;
    fc_loop_parts p = {o.v.first, o.v.end, o.counter, o.condition, 0,
                       0,         start,   o.hole,    o.next,      o.collected};
    for (uint32_t i = 0; i < o.v.loop.carried; i++) {
        if (!u->carried[i]) continue;
        place[i] = p.ncarried;
        start[p.ncarried] = o.v.start[i];
        o.hole[p.ncarried] = o.hole[i];
        o.next[p.ncarried++] = o.next[i];
    }
    for (uint32_t i = 0; i < o.v.loop.collected; i++) {
        if (!u->collected[i]) continue;
        place[o.v.loop.carried + i] = p.ncarried + p.ncollected;
        o.collected[p.ncollected++] = o.collected[i];
    }
    if (!fc_build_loop(g, &p, out)) return false;
    for (fc_node n = 0; n < m->len && !g->error.code; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (m->live[n] && i->op == FC_OP_RESULT && i->src[0] == loop)
            become(m, n, out[place[i->attr]]);
    }
    return !g->error.code;
}

static bool shrink(merging *m) {
    fc_graph *g = m->g;
    uint8_t *need = fc_malloc(g->alloc, m->len);
    if (!need) return fc_oom(&g->error), false;
    for (size_t k = 0; k < m->loops.len && !g->error.code; k++) {
        used u = {{false}, {false}};
        fc_loop_view v;
        fc_loop_look(g, m->loops.at[k], &v);
        if (find_used(m, m->loops.at[k], &v, need, &u)) make_smaller(m, m->loops.at[k], &u);
    }
    fc_free(g->alloc, need);
    return replace(m);
}

/* ---- both ------------------------------------------------------------------------------------ */

fusec_status fc_merge_loops(fc_graph *g, fc_error *e) {
    if (!fc_graph_has(g, FC_OP_LOOP)) return FUSEC_OK;
    for (int step = 0; step < 2 && !g->error.code; step++) {
        merging m = {.g = g};
        if (begin(&m)) (void)(step ? shrink(&m) : merge(&m));
        end(&m);
    }
    if (g->error.code) return fc_fail(e, g->error.code, "%s", g->error.message);
    return fc_rewrite_sweep(g, e);
}
