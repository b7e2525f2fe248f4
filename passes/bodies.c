/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bodies.c - see bodies.h.
 *
 * In: the graph of a plan, with loops. Out: the same graph with planned loops, and a plan for each
 * body; loops that elements make on their own are nodes of kernels (repeat.h). Of nested loops the
 * inner ones are in the body's graph, whose plan is made in the same way; they are at most
 * FC_MAX_LOOP_LEVEL deep. */
#include "passes/bodies.h"

#include "ir/fold.h"
#include "passes/ragged.h"
#include "passes/repeat.h"
#include "passes/rewrite.h"

#include <stdio.h>

/* ---- scalars of the host --------------------------------------------------------------------- */

void fc_plan_host_scalars(const fc_graph *g, uint8_t *host) {
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        bool floats = fc_is_float((fusec_dtype)i->dtype);
        host[n] = i->op == FC_OP_CONST || i->op == FC_OP_DIM || i->op == FC_OP_INPUT;
        if (fc_is_pointwise(i->op)) host[n] = 1;
        if (fc_rank(g, n)) host[n] = 0;
        for (int k = 0; k < i->nops && host[n]; k++) {
            host[n] = host[i->src[k]];
            floats |= fc_is_float((fusec_dtype)fc_at(g, i->src[k])->dtype);
        }
        if (floats && fc_is_elementwise(i->op) && !(fc_ops[i->op].flags & FC_F_EXACT)) host[n] = 0;
    }
}

/* ---- one body -------------------------------------------------------------------------------- */

typedef struct taking {
    fc_plan *p;
    const fc_pass_options *o;
    const fc_graph *src;
    fc_graph *dst;          /* the graph around the loops */
    const uint64_t *levels; /* of src */
    uint8_t *light;         /* of src: made of constants, sizes and scalars of the call alone */
    uint8_t *ragged;        /* of src: elements of rows that end by data */
    uint8_t *need;          /* of src, for the body under way */
    fc_node *body_map;
    FC_VEC(fc_node) captured;
    FC_VEC(fc_body_input) inputs;
    const char **why; /* of src: why a loop is launches; NULL: it is no loop of launches */
    fc_repeating repeating;
    fc_error *e;
} taking;

/* What costs next to nothing to make again in every round, and what definitions of folds are made
 * of. */
static void find_light(const fc_graph *g, uint8_t *light) {
    fc_find_bound(g, light);
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (light[n]) continue;
        light[n] = i->op == FC_OP_CONST || i->op == FC_OP_DIM || i->op == FC_OP_IOTA ||
                   (i->op == FC_OP_INPUT && !fc_rank(g, n));
        const bool cheap =
            fc_is_view(i->op) || i->op == FC_OP_CAST || i->op == FC_OP_BITCAST ||
            (fc_is_elementwise(i->op) && !(fc_ops[i->op].flags & FC_F_TRANSCENDENTAL));
        if (!cheap) continue;
        light[n] = 1;
        for (int k = 0; k < i->nops; k++) light[n] &= light[i->src[k]];
    }
}

/* Whether a value from outside is made again inside: it is light, a view, or never stored. */
static bool is_copied(const taking *t, fc_node n) {
    const fc_op op = (fc_op)fc_at(t->src, n)->op;
    return t->light[n] || t->ragged[n] || fc_is_view(op) || op == FC_OP_LIST || op == FC_OP_RECORD;
}

static bool begin_graph(const fc_graph *src, fc_graph *b) {
    fc_limits limits = src->limits;
    limits.nodes = limits.inputs = FC_NONODE - 1;
    fc_graph_init(b, src->alloc, &limits);
    b->default_float = src->default_float;
    if (!b->error.code && !fc_rewrite_context(src, b)) fc_oom(&b->error);
    return !b->error.code;
}

static fc_node new_input(taking *t, fc_graph *b, fc_node like, bool by_value, fc_body_input in) {
    const uint32_t rank = fc_rank(t->src, like);
    const fusec_dtype type = (fusec_dtype)fc_at(t->src, like)->dtype;
    fc_dim shape[FC_MAX_RANK] = {fc_dim_const(&b->dims, 1)};
    char name[24];
    snprintf(name, sizeof name, "v%u", (unsigned)t->inputs.len);
    fc_shape_of(t->src, like, shape);
    if (!fc_push(t->src->alloc, &t->inputs, in)) return fc_oom(&b->error), FC_NONODE;
    const bool one = !rank && !by_value;
    const fc_node n = fc_build_input(b, name, type, one ? 1 : rank, shape);
    return one ? fc_build_reshape(b, n, 0, NULL) : n;
}

static fc_node captured(taking *t, fc_graph *b, fc_node n) {
    const bool by_value = fc_at(t->src, n)->op == FC_OP_INPUT && !fc_rank(t->src, n);
    const fc_body_input in = {FC_BODY_CAPTURED, (uint32_t)t->captured.len};
    if (!fc_push(t->src->alloc, &t->captured, n)) return fc_oom(&b->error), FC_NONODE;
    return new_input(t, b, n, by_value, in);
}

/* Marks what the body needs: what depends on its holes, and below that what is copied. */
static void mark_needed(const taking *t, const fc_loop_view *v) {
    const fc_graph *g = t->src;
    memset(t->need, 0, g->nodes.len);
    if (v->condition != FC_NONODE) t->need[v->condition] = 1;
    for (uint32_t i = 0; i < v->loop.carried; i++) t->need[v->next[i]] = 1;
    for (uint32_t i = 0; i < v->loop.collected; i++) t->need[v->collected[i]] = 1;
    for (fc_node n = (fc_node)g->nodes.len; n-- > 0;) {
        if (!t->need[n] || (!t->levels[n] && !is_copied(t, n))) continue;
        for (int k = 0; k < fc_at(g, n)->nops; k++) t->need[fc_at(g, n)->src[k]] = 1;
    }
}

static fc_node copy_node(taking *t, fc_graph *b, fc_node n, const fc_node *map) {
    return fc_graph_node(b, fc_rewrite_info(t->src, n, map));
}

/* A graph that was read may have holes that its loops lack. */
static bool fits(const fc_graph *g, const fc_loop_view *v, const fc_ninfo *hole) {
    const uint32_t number = fc_hole_number(hole);
    if (!number) return hole->dtype == FUSEC_I64 && !hole->shape;
    if (number > v->loop.carried) return false;
    const fc_ninfo *start = fc_at(g, v->start[number - 1]);
    return hole->dtype == start->dtype &&
           fc_list_len(g, hole->shape) == fc_list_len(g, start->shape);
}

static fc_node body_node(taking *t, fc_graph *b, const fc_loop_view *v, fc_node n) {
    const fc_ninfo *i = fc_at(t->src, n);
    if (i->op == FC_OP_HOLE && fc_hole_level(i) == v->loop.level) {
        const uint32_t number = fc_hole_number(i);
        if (!fits(t->src, v, i)) {
            fc_fail(&b->error, FUSEC_INVALID, "a loop has no value %u of this type", number);
            return FC_NONODE;
        }
        if (number) return new_input(t, b, n, false, (fc_body_input){FC_BODY_CARRIED, number - 1});
        return new_input(t, b, n, true, (fc_body_input){FC_BODY_COUNTER, 0});
    }
    if (!t->levels[n] && (i->op == FC_OP_INPUT || !is_copied(t, n))) return captured(t, b, n);
    return copy_node(t, b, n, t->body_map);
}

/* The condition of the next round: that of this one on the next values. */
static fc_node next_condition(taking *t, fc_graph *b, const fc_loop_view *v) {
    const fc_graph *g = t->src;
    const uint64_t own = UINT64_C(1) << v->loop.level;
    fc_node *map = fc_malloc(g->alloc, g->nodes.len * sizeof *map);
    if (!map) return fc_oom(&b->error), FC_NONODE;
    for (fc_node n = 0; n <= v->condition && !b->error.code; n++) {
        const fc_ninfo *i = fc_at(g, n);
        map[n] = t->body_map[n];
        if (!t->need[n] || !(t->levels[n] & own)) continue;
        if (i->op != FC_OP_HOLE)
            map[n] = copy_node(t, b, n, map);
        else if (fc_hole_number(i))
            map[n] = t->body_map[v->next[fc_hole_number(i) - 1]];
        else
            map[n] = fc_op2(b, FC_OP_add, t->body_map[n], fc_build_const(b, FUSEC_I64, 1));
    }
    const fc_node r = b->error.code ? FC_NONODE : map[v->condition];
    fc_free(g->alloc, map);
    return r;
}

static void add_outputs(taking *t, fc_graph *b, const fc_loop_view *v) {
    char name[24];
    fc_node out[2 * FC_MAX_LOOP_VALUES + 1];
    uint32_t n = 0;
    if (v->condition != FC_NONODE) out[n++] = next_condition(t, b, v);
    for (uint32_t i = 0; i < v->loop.carried; i++) out[n++] = t->body_map[v->next[i]];
    for (uint32_t i = 0; i < v->loop.collected; i++) out[n++] = t->body_map[v->collected[i]];
    for (uint32_t i = 0; i < n && !b->error.code; i++) {
        snprintf(name, sizeof name, "r%u", i);
        fc_build_output(b, name, out[i]);
    }
}

static bool make_body(taking *t, const fc_loop_view *v, const char *why, fc_plan_body *body) {
    const fc_graph *g = t->src;
    fc_graph b;
    t->captured.len = t->inputs.len = 0;
    mark_needed(t, v);
    bool ok = begin_graph(g, &b);
    for (fc_node n = 0; ok && n < g->nodes.len && !b.error.code; n++)
        t->body_map[n] = t->need[n] ? body_node(t, &b, v, n) : FC_NONODE;
    if (ok && !b.error.code) add_outputs(t, &b, v);
    fusec_status s = b.error.code ? fc_fail(t->e, b.error.code, "%s", b.error.message) : FUSEC_OK;
    body->why = fc_arena_strdup(&t->p->arena, why, strlen(why));
    body->loop = v->loop;
    body->nin = (uint32_t)t->inputs.len;
    body->in = fc_arena_alloc(&t->p->arena, (body->nin + 1) * sizeof *body->in);
    if (!s && (!body->in || !body->why)) s = fc_oom(t->e);
    if (!s) memcpy(body->in, t->inputs.at, body->nin * sizeof *body->in);
    if (!s && t->o->dump) fc_str_printf(t->o->dump, "# body %zu\n", t->p->bodies.len - 1);
    if (!s) s = fc_plan_build(&b, t->o, &body->plan, t->e);
    fc_graph_free(&b);
    return !s;
}

/* ---- the graph around ------------------------------------------------------------------------ */

/* The condition of the first round: holes are the starts. */
static fc_node first_condition(taking *t, const fc_loop_view *v, const fc_node *map) {
    const fc_graph *g = t->src;
    fc_node *own = fc_malloc(g->alloc, g->nodes.len * sizeof *own);
    if (!own) return fc_oom(&t->dst->error), FC_NONODE;
    mark_needed(t, v);
    for (fc_node n = 0; n <= v->condition && !t->dst->error.code; n++) {
        const fc_ninfo *i = fc_at(g, n);
        own[n] = map[n];
        if (!t->need[n] || !t->levels[n]) continue;
        if (i->op != FC_OP_HOLE || fc_hole_level(i) != v->loop.level)
            own[n] = copy_node(t, t->dst, n, own);
        else
            own[n] = fc_hole_number(i) ? map[v->start[fc_hole_number(i) - 1]] : map[v->first];
    }
    const fc_node r = t->dst->error.code ? FC_NONODE : own[v->condition];
    fc_free(g->alloc, own);
    return r;
}

/* A start in memory: scalars of the call and constants are stored. */
static fc_node stored(taking *t, fc_node start, fc_node made) {
    if (fc_rank(t->src, start) || fc_at(t->dst, made)->op == FC_OP_RESULT) return made;
    return fc_build_materialize(t->dst, made);
}

static fc_node planned_loop(taking *t, fc_node n, const fc_node *map) {
    fc_graph *g = t->dst;
    fc_loop_view v;
    fc_loop_look(t->src, n, &v);
    fc_plan_body *body = fc_arena_alloc(&t->p->arena, sizeof *body);
    if (!body || !fc_push(t->p->alloc, &t->p->bodies, body)) return fc_oom(&g->error), FC_NONODE;
    const uint64_t number = t->p->bodies.len - 1;
    if (!make_body(t, &v, t->why[n], body)) {
        fc_fail(&g->error, t->e->code, "%s", t->e->message);
        return FC_NONODE;
    }
    FC_VEC(fc_node) in = {0};
    bool ok = fc_push(g->alloc, &in, map[v.first]) && fc_push(g->alloc, &in, map[v.end]);
    for (size_t i = 0; ok && i < t->captured.len; i++) t->captured.at[i] = map[t->captured.at[i]];
    if (ok && v.condition != FC_NONODE) ok = fc_push(g->alloc, &in, first_condition(t, &v, map));
    for (uint32_t i = 0; ok && i < v.loop.carried; i++)
        ok = fc_push(g->alloc, &in, stored(t, v.start[i], map[v.start[i]]));
    for (uint32_t i = 0; i < body->nin; i++)
        if (body->in[i].role == FC_BODY_CAPTURED) body->in[i].number += (uint32_t)in.len;
    for (size_t i = 0; ok && i < t->captured.len; i++)
        ok = fc_push(g->alloc, &in, t->captured.at[i]);
    if (!ok) fc_oom(&g->error);
    const fc_node list = ok ? fc_build_value_list(g, (uint32_t)in.len, in.at) : FC_NONODE;
    fc_vec_free(g->alloc, &in);
    if (list == FC_NONODE) return FC_NONODE;
    return fc_graph_node(g, (fc_ninfo){.op = FC_OP_LOOP,
                                       .dtype = FUSEC_BOOL,
                                       .nops = 1,
                                       .src = {list, FC_NONODE, FC_NONODE},
                                       .attr = FC_LOOP_PLANNED | number});
}

static bool walk(const fc_graph *src, fc_graph *dst, const uint8_t *live, fc_node *map,
                 const void *user) {
    taking *t = *(taking *const *)user;
    t->dst = dst;
    t->repeating =
        (fc_repeating){.src = src, .dst = dst, .levels = t->levels, .map = map, .loop = FC_NONODE};
    for (fc_node n = 0; n < src->nodes.len && !dst->error.code; n++) {
        const fc_ninfo *i = fc_at(src, n);
        map[n] = FC_NONODE;
        if (!live[n] || t->levels[n]) continue;
        const fc_node of = i->op == FC_OP_RESULT ? i->src[0] : n;
        const bool loop = fc_at(src, of)->op == FC_OP_LOOP && !fc_loop_is_planned(fc_at(src, of));
        if (loop && !t->why[of])
            map[n] = of == n ? FC_NONODE : fc_make_repeat(&t->repeating, n);
        else if (loop && of == n)
            map[n] = planned_loop(t, n, map);
        else
            map[n] = fc_rewrite_node(src, dst, n, map);
    }
    return true;
}

static fusec_status check_leaks(const fc_graph *g, const uint64_t *levels, fc_error *e) {
    for (size_t i = 0; i < g->outputs.len; i++)
        if (levels[g->outputs.at[i].node])
            return fc_fail(e, FUSEC_INVALID,
                           "the result %s uses a value of a loop's body outside of it",
                           g->outputs.at[i].name);
    return FUSEC_OK;
}

static bool has_open_loops(const fc_graph *g) {
    for (fc_node n = 0; n < g->nodes.len; n++)
        if (fc_at(g, n)->op == FC_OP_LOOP && !fc_loop_is_planned(fc_at(g, n))) return true;
    return false;
}

static fusec_status check_planned(const fc_graph *g, fc_error *e) {
    for (fc_node n = 0; n < g->nodes.len; n++)
        if (fc_at(g, n)->op == FC_OP_LOOP && fc_loop_is_planned(fc_at(g, n)))
            return fc_fail(e, FUSEC_INVALID, "a loop without its body");
    return FUSEC_OK;
}

static fusec_status take_loops(fc_plan *p, const fc_pass_options *o, fc_error *e) {
    const size_t n = p->graph.nodes.len;
    fc_error own = {0};
    taking t = {.p = p, .o = o, .src = &p->graph, .e = e ? e : &own};
    uint64_t *levels = fc_malloc(p->alloc, n * sizeof *levels);
    t.light = fc_malloc(p->alloc, n);
    t.ragged = fc_calloc(p->alloc, n + 1, 1);
    t.need = fc_malloc(p->alloc, n);
    t.body_map = fc_malloc(p->alloc, n * sizeof *t.body_map);
    t.why = fc_malloc(p->alloc, n * sizeof *t.why);
    fusec_status s =
        levels && t.light && t.ragged && t.need && t.body_map && t.why ? FUSEC_OK : fc_oom(e);
    t.levels = levels;
    if (!s) {
        fc_graph next;
        const taking *user = &t;
        find_light(t.src, t.light);
        fc_find_ragged(t.src, t.ragged);
        fc_body_levels(t.src, levels);
        s = check_leaks(t.src, levels, e);
        if (!s && !fc_find_repeats(t.src, levels, o->max_rounds, t.why)) s = fc_oom(e);
        if (!s) s = fc_rewrite_by(t.src, &next, walk, &user, t.e);
        if (!s) {
            fc_graph_free(&p->graph);
            p->graph = next;
        }
    }
    fc_free(p->alloc, levels);
    fc_free(p->alloc, t.light);
    fc_free(p->alloc, t.ragged);
    fc_free(p->alloc, t.need);
    fc_free(p->alloc, t.body_map);
    fc_free(p->alloc, t.why);
    fc_vec_free(p->alloc, &t.captured);
    fc_vec_free(p->alloc, &t.inputs);
    return s;
}

/* The loops of a condition come up again in that of the first round, which is a value around the
 * loop; they are fewer deep. */
fusec_status fc_plan_bodies(fc_plan *p, const fc_pass_options *o, fc_error *e) {
    if (!(fc_graph_has(&p->graph, FC_OP_LOOP) || fc_graph_has(&p->graph, FC_OP_HOLE)))
        return FUSEC_OK;
    FC_TRY(check_planned(&p->graph, e));
    do FC_TRY(take_loops(p, o, e));
    while (has_open_loops(&p->graph));
    return FUSEC_OK;
}

bool fc_body_runs_ahead(const fc_plan_body *b) {
    const fc_graph *g = &b->plan->graph;
    if (!b->loop.condition) return false;
    for (size_t i = 0; i < b->plan->steps.len; i++) {
        const fc_step_kind kind = b->plan->steps.at[i]->kind;
        if (kind == FC_STEP_LOOP || kind == FC_STEP_CALL) return false;
    }
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op == FC_OP_EXTERN || i->op == FC_OP_CHECK) return false;
        if (i->op == FC_OP_ROUNDS && fc_repeat_of(i).condition) return false;
    }
    return true;
}

uint32_t fc_plan_kernels(const fc_plan *p) {
    uint32_t n = 0;
    for (size_t i = 0; i < p->steps.len; i++) {
        const fc_step *s = p->steps.at[i];
        n += s->kind == FC_STEP_LOOP ? fc_plan_kernels(p->bodies.at[s->body]->plan) : 1;
    }
    return n;
}

void fc_plan_free_bodies(fc_plan *p) {
    for (size_t i = 0; i < p->bodies.len; i++) fc_plan_free(p->bodies.at[i]->plan);
    fc_vec_free(p->alloc, &p->bodies);
}
