/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_loop.c - builders of loops: see loop.h.
 *
 * In: nodes made of open holes. Out: a LOOP whose body is made of closed ones, and its results. */
#include "ir/loop.h"

#include "ir/substitute.h"

/* ---- holes ----------------------------------------------------------------------------------- */

fc_node fc_build_hole(fc_graph *g, fusec_dtype t, uint32_t rank, const fc_dim *shape) {
    int64_t v[FC_MAX_RANK];
    if (g->error.code || rank > FC_MAX_RANK) return FC_NONODE;
    for (uint32_t i = 0; i < rank; i++) v[i] = (int64_t)shape[i];
    return fc_graph_node(g, (fc_ninfo){.op = FC_OP_HOLE,
                                       .dtype = (uint8_t)t,
                                       .shape = fc_intern_list(g, v, rank),
                                       .attr = fc_hole_attr(0, g->nholes++)});
}

void fc_body_levels(const fc_graph *g, uint64_t *levels) {
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        levels[n] = 0;
        for (int k = 0; k < i->nops; k++) levels[n] |= levels[i->src[k]];
        if (i->op == FC_OP_HOLE) levels[n] = UINT64_C(1) << (fc_hole_level(i) & 63);
        if (i->op == FC_OP_LOOP && !fc_loop_is_planned(i))
            levels[n] &= ~(UINT64_C(1) << (fc_loop_of(i).level & 63));
    }
}

void fc_print_body_attr(const fc_ninfo *n, fc_str *out) {
    if (n->op == FC_OP_HOLE) fc_str_printf(out, " level %u", fc_hole_level(n));
    fc_str_printf(out, " number %u", n->op == FC_OP_HOLE ? fc_hole_number(n) : (uint32_t)n->attr);
}

/* ---- lists ----------------------------------------------------------------------------------- */

fc_node fc_build_value_list(fc_graph *g, uint32_t n, const fc_node *v) {
    fc_node rest = FC_NONODE;
    for (uint32_t i = n; i-- > 0;) {
        if (!fc_usable(g, v[i])) return FC_NONODE;
        fc_ninfo l = {.op = FC_OP_LIST, .dtype = FUSEC_BOOL, .nops = rest == FC_NONODE ? 1 : 2};
        l.src[0] = v[i];
        l.src[1] = rest;
        rest = fc_graph_node(g, l);
    }
    return rest;
}

uint32_t fc_value_list(const fc_graph *g, fc_node list, fc_node *v, uint32_t room) {
    uint32_t n = 0;
    for (bool more = true; more; n++) {
        const fc_ninfo *i = fc_at(g, list);
        if (n < room) v[n] = i->src[0];
        more = i->nops == 2;
        list = i->src[1];
    }
    return n;
}

/* ---- what a loop is made of ------------------------------------------------------------------ */

fc_node fc_build_result(fc_graph *g, fc_node step, uint32_t number, fusec_dtype t, fc_list shape) {
    if (!fc_usable(g, step)) return FC_NONODE;
    return fc_graph_node(g, (fc_ninfo){.op = FC_OP_RESULT,
                                       .dtype = (uint8_t)t,
                                       .nops = 1,
                                       .shape = shape,
                                       .src = {step, FC_NONODE, FC_NONODE},
                                       .attr = number});
}

static bool same_type(fc_graph *g, fc_node a, fc_node b) {
    const uint32_t rank = fc_rank(g, a);
    bool same = fc_at(g, a)->dtype == fc_at(g, b)->dtype && rank == fc_rank(g, b);
    for (uint32_t i = 0; same && i < rank; i++)
        same = fc_same_size(g, fc_axis(g, a, i), fc_axis(g, b, i));
    if (same || g->error.code) return !g->error.code;
    fc_fail_types(
        g, fc_at(g, a)->dtype == fc_at(g, b)->dtype ? FUSEC_SHAPE_MISMATCH : FUSEC_DTYPE_MISMATCH,
        "a carried value", a, b, "it keeps its type from round to round");
    return false;
}

static bool is_scalar(const fc_graph *g, fc_node n, fusec_dtype t) {
    return fc_at(g, n)->dtype == t && !fc_rank(g, n);
}

static bool check(fc_graph *g, const fc_loop_parts *p) {
    if (!fc_usable(g, p->first) || !fc_usable(g, p->end)) return false;
    if (p->ncarried + p->ncollected > FC_MAX_LOOP_VALUES || !(p->ncarried + p->ncollected)) {
        fc_fail(&g->error, FUSEC_LIMIT, "a loop with %u values; it may have 1 to %d",
                p->ncarried + p->ncollected, FC_MAX_LOOP_VALUES);
        return false;
    }
    if (!is_scalar(g, p->first, FUSEC_I64) || !is_scalar(g, p->end, FUSEC_I64))
        return fc_fail(&g->error, FUSEC_INDEX_RANGE, "rounds are counted by scalars of i64"), false;
    if (p->condition != FC_NONODE &&
        (!fc_usable(g, p->condition) || !is_scalar(g, p->condition, FUSEC_BOOL)))
        return fc_fail(&g->error, FUSEC_NOT_BOOL, "the condition of a loop is a scalar bool"),
               false;
    if (p->condition != FC_NONODE && p->ncollected)
        return fc_fail(&g->error, FUSEC_INVALID,
                       "a loop with a condition can't collect: how many "
                       "rounds it makes is not known"),
               false;
    for (uint32_t i = 0; i < p->ncarried; i++) {
        if (!fc_usable(g, p->start[i]) || !fc_usable(g, p->next[i]) || !fc_usable(g, p->hole[i]) ||
            fc_at(g, p->hole[i])->op != FC_OP_HOLE || fc_hole_level(fc_at(g, p->hole[i])))
            return fc_fail(&g->error, FUSEC_INVALID,
                           "a carried value needs a start, a variable and "
                           "a next value"),
                   false;
        if (!same_type(g, p->start[i], p->hole[i]) || !same_type(g, p->hole[i], p->next[i]))
            return false;
    }
    for (uint32_t i = 0; i < p->ncollected; i++)
        if (!fc_usable(g, p->collected[i])) return false;
    return true;
}

/* ---- closing --------------------------------------------------------------------------------- */

typedef struct closing {
    fc_graph *g;
    const fc_loop_parts *p;
    uint32_t level;
    uint32_t len;  /* nodes there were before */
    uint8_t *need; /* of them: 1 needed by the body, 2 and depends on its holes */
    fc_node made[FC_MAX_LOOP_VALUES + 1]; /* condition, nexts and collected of closed holes */
    uint32_t nmade;
} closing;

static uint32_t hole_number(const closing *c, fc_node n) {
    if (n == c->p->counter) return 0;
    for (uint32_t i = 0; i < c->p->ncarried; i++)
        if (c->p->hole[i] == n) return i + 1;
    return UINT32_MAX;
}

static void need(closing *c, fc_node n) {
    if (n != FC_NONODE) c->need[n] = 1;
}

static bool find_body(closing *c) {
    fc_graph *g = c->g;
    uint32_t most = 0;
    need(c, c->p->condition);
    for (uint32_t i = 0; i < c->p->ncarried; i++) need(c, c->p->next[i]);
    for (uint32_t i = 0; i < c->p->ncollected; i++) need(c, c->p->collected[i]);
    fc_mark_operands(g, c->len, c->need);
    for (fc_node n = 0; n < c->len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (!c->need[n]) continue;
        for (int k = 0; k < i->nops; k++)
            if (c->need[i->src[k]] == 2) c->need[n] = 2;
        if (i->op == FC_OP_HOLE && !fc_hole_level(i) && hole_number(c, n) != UINT32_MAX)
            c->need[n] = 2;
        if (i->op == FC_OP_LOOP && c->need[n] == 2 && fc_loop_of(i).level > most)
            most = fc_loop_of(i).level;
    }
    c->level = most + 1;
    if (c->level <= FC_MAX_LOOP_LEVEL) return true;
    fc_fail(&g->error, FUSEC_LIMIT, "loops are inside each other more than %d deep",
            FC_MAX_LOOP_LEVEL);
    return false;
}

/* The hole again, known by level and number alone. */
static fc_node closed(closing *c, fc_node hole) {
    fc_ninfo i = *fc_at(c->g, hole);
    i.attr = fc_hole_attr(c->level, hole_number(c, hole));
    return fc_graph_node(c->g, i);
}

static bool make_body(closing *c) {
    const fc_loop_parts *p = c->p;
    fc_node from[FC_MAX_LOOP_VALUES + 1], to[FC_MAX_LOOP_VALUES + 1], root[FC_COUNT(c->made)];
    uint32_t n = 0;
    if (p->counter != FC_NONODE) from[n++] = p->counter;
    for (uint32_t i = 0; i < p->ncarried; i++) from[n++] = p->hole[i];
    for (uint32_t i = 0; i < n; i++) to[i] = closed(c, from[i]);
    if (p->condition != FC_NONODE) root[c->nmade++] = p->condition;
    for (uint32_t i = 0; i < p->ncarried; i++) root[c->nmade++] = p->next[i];
    for (uint32_t i = 0; i < p->ncollected; i++) root[c->nmade++] = p->collected[i];
    const fc_substitution s = {.n = n, .nroots = c->nmade, .from = from, .to = to, .root = root};
    return fc_substitute(c->g, &s, c->made);
}

/* The number of rounds, for what is collected. */
static bool count_of(fc_graph *g, const fc_loop_parts *p, fc_dim *count) {
    fc_dim d[2];
    const fc_node n[2] = {p->first, p->end};
    for (int i = 0; i < 2; i++) {
        const fc_ninfo *x = fc_at(g, n[i]);
        if (x->op == FC_OP_DIM)
            d[i] = (fc_dim)x->attr;
        else if (x->op == FC_OP_CONST)
            d[i] = fc_dim_const(&g->dims, (int64_t)x->attr);
        else
            return fc_fail(&g->error, FUSEC_INDEX_RANGE,
                           "a loop that collects needs a size for its number of rounds"),
                   false;
    }
    *count = fc_dim_sub(&g->dims, d[1], d[0]);
    return !fc_require(g, FC_CHECK_GE, *count, fc_dim_const(&g->dims, 0), FUSEC_SLICE_RANGE,
                       "the number of rounds of a loop");
}

static fc_list with_count(fc_graph *g, fc_dim count, fc_node n) {
    int64_t v[FC_MAX_RANK + 1] = {(int64_t)count};
    const uint32_t rank = fc_rank(g, n);
    if (rank >= FC_MAX_RANK || rank >= g->limits.rank)
        return fc_fail(&g->error, FUSEC_LIMIT, "rank %u is above the limit of %u", rank + 1,
                       g->limits.rank),
               0;
    for (uint32_t i = 0; i < rank; i++) v[1 + i] = (int64_t)fc_axis(g, n, i);
    return fc_intern_list(g, v, rank + 1);
}

static fc_node make_loop(closing *c) {
    const fc_loop_parts *p = c->p;
    fc_graph *g = c->g;
    fc_node v[FC_MAX_LOOP_VALUES + 2] = {p->first, p->end};
    for (uint32_t i = 0; i < p->ncarried; i++) v[2 + i] = p->start[i];
    const fc_node starts = fc_build_value_list(g, 2 + p->ncarried, v);
    const fc_node body = fc_build_value_list(g, c->nmade, c->made);
    if (starts == FC_NONODE || body == FC_NONODE) return FC_NONODE;
    const fc_loop_shape l = {c->level, p->ncarried, p->ncollected, p->condition != FC_NONODE};
    return fc_graph_node(g, (fc_ninfo){.op = FC_OP_LOOP,
                                       .dtype = FUSEC_BOOL,
                                       .nops = 2,
                                       .src = {starts, body, FC_NONODE},
                                       .attr = fc_loop_attr(l)});
}

static bool make_results(closing *c, fc_node loop, fc_node *out) {
    const fc_loop_parts *p = c->p;
    fc_graph *g = c->g;
    fc_dim count = 0;
    if (p->ncollected && !count_of(g, p, &count)) return false;
    for (uint32_t i = 0; i < p->ncarried; i++)
        out[i] = fc_build_result(g, loop, i, (fusec_dtype)fc_at(g, p->start[i])->dtype,
                                 fc_at(g, p->start[i])->shape);
    for (uint32_t i = 0; i < p->ncollected && !g->error.code; i++)
        out[p->ncarried + i] =
            fc_build_result(g, loop, p->ncarried + i, (fusec_dtype)fc_at(g, p->collected[i])->dtype,
                            with_count(g, count, p->collected[i]));
    return !g->error.code;
}

bool fc_build_loop(fc_graph *g, const fc_loop_parts *p, fc_node *out) {
    if (!check(g, p)) return false;
    closing c = {.g = g, .p = p, .len = (uint32_t)g->nodes.len};
    c.need = fc_calloc(g->alloc, c.len, 1);
    bool ok = c.need != NULL;
    if (!ok) fc_oom(&g->error);
    ok = ok && find_body(&c) && make_body(&c);
    const fc_node loop = ok ? make_loop(&c) : FC_NONODE;
    ok = ok && loop != FC_NONODE && make_results(&c, loop, out);
    fc_free(g->alloc, c.need);
    return ok;
}

void fc_loop_look_at(const fc_graph *g, const fc_ninfo *n, fc_loop_view *v) {
    fc_node all[FC_MAX_LOOP_VALUES + 2] = {FC_NONODE, FC_NONODE};
    v->loop = fc_loop_of(n);
    fc_value_list(g, n->src[0], all, FC_COUNT(all));
    v->first = all[0];
    v->end = all[1];
    memcpy(v->start, all + 2, v->loop.carried * sizeof *v->start);
    fc_value_list(g, n->src[1], all, FC_COUNT(all));
    const uint32_t c = v->loop.condition;
    v->condition = c ? all[0] : FC_NONODE;
    memcpy(v->next, all + c, v->loop.carried * sizeof *v->next);
    memcpy(v->collected, all + c + v->loop.carried, v->loop.collected * sizeof *v->collected);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

typedef struct opening {
    fc_graph *g;
    fc_open_loop *o;
    uint64_t *levels;
    uint8_t *need;
    uint32_t nroots, nfrom;
    fc_node root[FC_MAX_LOOP_VALUES + 1], from[FC_MAX_LOOP_VALUES + 1], to[FC_MAX_LOOP_VALUES + 1];
} opening;

static bool is_inside(const opening *c, fc_node n) {
    return c->levels[n] >> c->o->v.loop.level & 1;
}

/* The holes that the body has. */
static void find_holes(opening *c) {
    fc_graph *g = c->g;
    fc_open_loop *o = c->o;
    for (uint32_t i = 0; i < c->nroots; i++) c->need[c->root[i]] = 1;
    for (fc_node n = (fc_node)g->nodes.len; n-- > 0;) {
        if (!c->need[n] || !is_inside(c, n)) continue;
        const fc_ninfo *i = fc_at(g, n);
        for (int k = 0; k < i->nops; k++) c->need[i->src[k]] = 1;
        if (i->op != FC_OP_HOLE || fc_hole_level(i) != o->v.loop.level) continue;
        const uint32_t number = fc_hole_number(i);
        if (number <= o->v.loop.carried && c->nfrom < FC_COUNT(c->from)) c->from[c->nfrom++] = n;
    }
}

static fc_node open_like(fc_graph *g, fc_node n) {
    fc_dim shape[FC_MAX_RANK];
    if (!fc_usable(g, n)) return FC_NONODE;
    const uint32_t rank = fc_shape_of(g, n, shape);
    return fc_build_hole(g, (fusec_dtype)fc_at(g, n)->dtype, rank, shape);
}

static bool open_holes(opening *c) {
    fc_graph *g = c->g;
    fc_open_loop *o = c->o;
    o->counter = fc_build_hole(g, FUSEC_I64, 0, NULL);
    for (uint32_t i = 0; i < o->v.loop.carried; i++) o->hole[i] = FC_NONODE;
    for (uint32_t i = 0; i < c->nfrom; i++) {
        const uint32_t number = fc_hole_number(fc_at(g, c->from[i]));
        c->to[i] = number ? open_like(g, c->from[i]) : o->counter;
        if (number) o->hole[number - 1] = c->to[i];
    }
    for (uint32_t i = 0; i < o->v.loop.carried; i++) /* those that the body does not read */
        if (o->hole[i] == FC_NONODE) o->hole[i] = open_like(g, o->v.start[i]);
    return !g->error.code;
}

static bool open_body(opening *c) {
    fc_open_loop *o = c->o;
    fc_node made[FC_MAX_LOOP_VALUES + 1];
    uint32_t n = 0;
    const fc_substitution s = {.n = c->nfrom,
                               .nroots = c->nroots,
                               .from = c->from,
                               .to = c->to,
                               .root = c->root,
                               .levels = c->levels,
                               .bit = UINT64_C(1) << o->v.loop.level};
    if (!fc_substitute(c->g, &s, made)) return false;
    o->condition = o->v.condition == FC_NONODE ? FC_NONODE : made[n++];
    for (uint32_t i = 0; i < o->v.loop.carried; i++) o->next[i] = made[n++];
    for (uint32_t i = 0; i < o->v.loop.collected; i++) o->collected[i] = made[n++];
    return true;
}

bool fc_loop_open(fc_graph *g, fc_node loop, fc_open_loop *o) {
    opening c = {.g = g, .o = o};
    if (!fc_usable(g, loop)) return false;
    fc_loop_look(g, loop, &o->v);
    if (o->v.condition != FC_NONODE) c.root[c.nroots++] = o->v.condition;
    for (uint32_t i = 0; i < o->v.loop.carried; i++) c.root[c.nroots++] = o->v.next[i];
    for (uint32_t i = 0; i < o->v.loop.collected; i++) c.root[c.nroots++] = o->v.collected[i];
    c.levels = fc_malloc(g->alloc, g->nodes.len * sizeof *c.levels);
    c.need = fc_calloc(g->alloc, g->nodes.len, 1);
    bool ok = c.levels && c.need;
    if (!ok) fc_oom(&g->error);
    if (ok) fc_body_levels(g, c.levels);
    if (ok) find_holes(&c);
    ok = ok && open_holes(&c) && open_body(&c);
    fc_free(g->alloc, c.levels);
    fc_free(g->alloc, c.need);
    return ok;
}
