/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_launch.c - loops whose body stands in the graph once, made of holes (ir/loop.h): the number
 * of rounds is not known, or large, or something is collected, or its elements make it on their
 * own.
 *
 * A condition that is a scalar ends the loop. With one that is an array every element stops on its
 * own: a mask is carried, and the loop ends when no element goes on. path[k] = v in the body makes
 * an array of what v is in each round. */
#include "frontend/lang/check_impl.h"

#include "ir/loop.h"
#include "passes/repeat.h"

enum {
    FEW_ROUNDS = 16, /* are put in, whatever the body is, */
    FEW_NODES = 128  /* unless together they are more than these, and elementwise */
};

/* ---- which loops ----------------------------------------------------------------------------- */

static bool is_pointwise(const fc_graph *g, fc_node n, const uint8_t *depends) {
    const fc_ninfo *i = fc_at(g, n);
    if (i->op == FC_OP_TAKE) return !depends[i->src[0]];
    return fc_is_elementwise(i->op) || i->op == FC_OP_CAST || i->op == FC_OP_BITCAST ||
           i->op == FC_OP_CHECK || i->op == FC_OP_BROADCAST || !i->nops;
}

bool fc_c_wants_launch(fc_checker *c, fc_loop *l) {
    const fc_graph *g = c->g;
    const fc_wide rounds = l->end - l->from;
    uint32_t nodes = 0;
    if (rounds < 2 || !l->carried.len) return false;
    uint8_t *depends = fc_calloc(c->alloc, g->nodes.len + 1, 1),
            *need = fc_calloc(c->alloc, g->nodes.len + 1, 1);
    bool found = false;
    for (size_t i = 0; depends && need && i < l->carried.len; i++) {
        const fc_carried *k = &l->carried.at[i];
        if (k->start.kind == FC_V_NODE) depends[k->start.node] = 1;
        if (k->value.kind == FC_V_NODE) need[k->value.node] = 1;
    }
    for (fc_node n = (fc_node)g->nodes.len; depends && need && n-- > 0;)
        for (int k = 0; need[n] && !depends[n] && k < fc_at(g, n)->nops; k++)
            need[fc_at(g, n)->src[k]] = 1;
    for (fc_node n = 0; depends && need && n < g->nodes.len && !found; n++) {
        bool inside = false;
        for (int k = 0; need[n] && k < fc_at(g, n)->nops; k++)
            inside |= depends[fc_at(g, n)->src[k]];
        if (inside && !depends[n]) found = !is_pointwise(g, n, depends);
        nodes += inside && !depends[n];
        depends[n] |= inside;
    }
    if (!depends || !need) fc_c_oom(c);
    fc_free(c->alloc, depends);
    fc_free(c->alloc, need);
    l->elements = !found;
    return rounds > FEW_ROUNDS || (!found && (fc_wide)nodes * rounds > FEW_NODES);
}

/* ---- begin ----------------------------------------------------------------------------------- */

static fc_node hole_like(fc_checker *c, const fc_value *v) {
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = fc_v_shape(c, v, shape);
    return fc_c_built(c, fc_build_hole(c->g, fc_v_dtype(c, v), rank, shape));
}

static void begin_body(fc_checker *c, fc_call *f, fc_loop *l) {
    l->phase = FC_LP_BODY;
    f->stmt = l->stmt->body;
    if (!f->stmt) fc_c_end_loop(c, f, true);
    (void)c;
}

void fc_c_launch(fc_checker *c, fc_call *f, fc_loop *l) {
    const fc_stmt *s = l->stmt;
    l->launch = true;
    l->mask = l->condition = l->mask_hole = l->mask_start = FC_NONODE;
    l->collected.len = 0;
    for (size_t i = 0; i < l->carried.len && !c->stop; i++) {
        fc_carried *k = &l->carried.at[i];
        k->value = k->start;
        k->hole = k->start.kind == FC_V_NODE ? hole_like(c, &k->start) : FC_NONODE;
        if (k->start.kind == FC_V_NODE) k->value = fc_v_like(k->hole, &k->start);
        fc_c_rebind(c, k->name, k->at, k->value);
    }
    l->counter = fc_c_built(c, fc_build_hole(c->g, FUSEC_I64, 0, NULL));
    if (c->stop) return;
    fc_value k = fc_v_node(l->counter);
    k.weak = FC_W_INT;
    fc_c_rebind(c, s->targets->text, s->targets->at, k);
    f->stmt = s;
    l->phase = FC_LP_CONDITION;
    if (s->cond)
        fc_c_begin(c, f, s->cond);
    else
        begin_body(c, f, l);
}

void fc_c_try_launch(fc_checker *c, fc_call *f, fc_loop *l, bool launch) {
    l->launch = launch;
    l->tried = true;
    c->draws.len = l->draws;
    c->ds->len = l->diags;
    c->ds->errors = l->errors;
    c->ds->dropped = l->dropped;
    c->ds->first = l->first_error;
    l->mask = FC_NONODE;
    l->at = l->from;
    for (size_t i = 0; i < l->carried.len; i++) {
        fc_carried *k = &l->carried.at[i];
        k->value = k->start;
        fc_c_rebind(c, k->name, k->at, k->value);
    }
    if (launch)
        fc_c_launch(c, f, l);
    else
        fc_c_next_round(c, f);
}

/* What is wrong in a body of holes may be right with numbers: a slice x[k:k + 1], a shape. */
static void give_up(fc_checker *c, fc_call *f, fc_loop *l) {
    if (l->tried)
        fc_c_try_launch(c, f, l, false);
    else
        fc_c_end_loop(c, f, false);
}

/* ---- condition ------------------------------------------------------------------------------- */

static bool make_mask(fc_checker *c, fc_loop *l, fc_node n) {
    fc_graph *g = c->g;
    fc_dim shape[FC_MAX_RANK];
    const fc_value v = fc_v_node(n);
    const uint32_t rank = fc_v_shape(c, &v, shape);
    l->mask_start = fc_build_broadcast(g, fc_build_const(g, FUSEC_BOOL, 1), rank, shape);
    l->mask_hole = fc_build_hole(g, FUSEC_BOOL, rank, shape);
    l->mask = fc_build_op(g, FC_OP_logical_and, l->mask_hole, n, FC_NONODE);
    l->condition = fc_c_built(c, fc_build_reduce(g, FC_OP_any, l->mask, 0, NULL, false));
    return l->condition != FC_NONODE;
}

void fc_c_launch_condition(fc_checker *c, fc_call *f, fc_loop *l, const fc_value *v) {
    const fc_expr *e = l->stmt->cond;
    bool good = fc_c_is_condition(c, e, v);
    fc_node n = good ? fc_c_strong(c, e, v) : FC_NONODE;
    if (n != FC_NONODE && !fc_rank(c->g, n))
        l->condition = n;
    else if (n != FC_NONODE)
        good = make_mask(c, l, n);
    if (!good || n == FC_NONODE)
        give_up(c, f, l);
    else
        begin_body(c, f, l);
}

/* ---- what is collected ----------------------------------------------------------------------- */

void fc_c_collect(fc_checker *c, fc_call *f, fc_value v) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    const fc_stmt *s = f->stmt;
    c->cur = s->value;
    fc_collected one = {s->targets->text, s->targets->at, FC_UNKNOWN};
    for (size_t i = 0; i < l->collected.len; i++)
        if (strcmp(l->collected.at[i].name, one.name) == 0)
            fc_c_error(c, FUSEC_DUPLICATE_NAME, one.at, "`%s` is collected twice in a round",
                       one.name);
    if (v.kind != FC_V_UNKNOWN && fc_c_operand(c, s->value, &v)) {
        const fc_node n = fc_c_strong(c, s->value, &v);
        one.value = fc_v_like(n, &v);
        one.value.edges = NULL;
    }
    if (!fc_push(c->alloc, &l->collected, one)) fc_c_oom(c);
    f->stmt = s->next;
}

/* Whether the number of rounds is a size, and no condition ends the loop. */
static bool can_collect(fc_checker *c, const fc_loop *l) {
    const fc_collected *k = &l->collected.at[0];
    const fc_node n[2] = {l->first, l->last};
    if (l->condition != FC_NONODE) {
        fc_diag *d = fc_c_error(c, FUSEC_INDEX_RANGE, k->at,
                                "`%s` collects a value of each round, and how many rounds there "
                                "are is not known with `while`",
                                k->name);
        fc_diag_help(d, "leave `while` out, or choose in the body: where(..., new, old)");
        return false;
    }
    for (int i = 0; i < 2; i++) {
        const fc_op op = (fc_op)fc_at(c->g, n[i])->op;
        if (op == FC_OP_CONST || op == FC_OP_DIM) continue;
        const fc_expr *e = i ? l->stmt->hi : l->stmt->lo;
        fc_diag *d = fc_c_error(c, FUSEC_INDEX_RANGE, e->at,
                                "`%s` collects a value of each round, so %s has to be a size, not "
                                "a value",
                                k->name, fc_c_quote(c, e->at));
        fc_diag_help(d, "a parameter of type dim: %s: dim", fc_c_quote(c, e->at));
        return false;
    }
    return true;
}

/* ---- end ------------------------------------------------------------------------------------- */

typedef struct parts {
    fc_node start[FC_MAX_LOOP_VALUES], hole[FC_MAX_LOOP_VALUES], next[FC_MAX_LOOP_VALUES],
        collected[FC_MAX_LOOP_VALUES], out[2 * FC_MAX_LOOP_VALUES];
} parts;

/* The hole of a carried name: what it stood for at the beginning of the round. */
static bool take_parts(fc_checker *c, const fc_loop *l, parts *x, fc_loop_parts *p) {
    if (l->carried.len + l->collected.len >= FC_MAX_LOOP_VALUES) {
        fc_c_error(c, FUSEC_LIMIT, l->stmt->word, "a loop carries and collects at most %d values",
                   FC_MAX_LOOP_VALUES - 1);
        return false;
    }
    for (size_t i = 0; i < l->carried.len; i++) {
        const fc_carried *k = &l->carried.at[i];
        if (k->value.kind != FC_V_NODE || k->start.kind != FC_V_NODE) return false;
        x->start[p->ncarried] = k->start.node;
        x->hole[p->ncarried] = k->hole;
        x->next[p->ncarried++] = k->value.node;
    }
    if (l->mask_hole != FC_NONODE) {
        x->start[p->ncarried] = l->mask_start;
        x->hole[p->ncarried] = l->mask_hole;
        x->next[p->ncarried++] = l->mask;
    }
    for (size_t i = 0; i < l->collected.len; i++) {
        if (l->collected.at[i].value.kind != FC_V_NODE) return false;
        x->collected[p->ncollected++] = l->collected.at[i].value.node;
    }
    return true;
}

static bool build(fc_checker *c, const fc_loop *l, parts *x) {
    fc_loop_parts p = {.first = l->first,
                       .end = l->last,
                       .counter = l->counter,
                       .condition = l->condition,
                       .start = x->start,
                       .hole = x->hole,
                       .next = x->next,
                       .collected = x->collected};
    if (!take_parts(c, l, x, &p) || (l->collected.len && !can_collect(c, l))) return false;
    c->cur = l->stmt->lo;
    if (!p.ncarried && !p.ncollected) return true;
    return fc_build_loop(c->g, &p, x->out) || fc_c_fine(c);
}

/* Whether something in a round is made along axes of what changes from round to round: a prefix of
 * numbers drawn by the counter. */
static bool makes_rows(fc_checker *c, const fc_loop *l, const parts *x) {
    const fc_graph *g = c->g;
    uint8_t *depends = fc_calloc(c->alloc, g->nodes.len, 1),
            *need = fc_calloc(c->alloc, g->nodes.len, 1);
    bool found = false;
    if (!depends || !need) fc_c_oom(c);
    for (size_t i = 0; depends && need && i < l->carried.len; i++) {
        depends[x->hole[i]] = 1;
        need[x->next[i]] = 1;
    }
    if (depends) depends[l->counter] = 1;
    for (fc_node n = (fc_node)g->nodes.len; depends && need && n-- > 0;)
        for (int k = 0; need[n] && k < fc_at(g, n)->nops; k++) need[fc_at(g, n)->src[k]] = 1;
    for (fc_node n = 0; depends && need && n < g->nodes.len && !found; n++) {
        for (int k = 0; need[n] && k < fc_at(g, n)->nops; k++)
            depends[n] |= depends[fc_at(g, n)->src[k]];
        found = need[n] && depends[n] && fc_at(g, n)->nops && !is_pointwise(g, n, depends);
    }
    fc_free(c->alloc, depends);
    fc_free(c->alloc, need);
    return found;
}

/* What looked elementwise with a number for the counter may read at places that the counter says:
 * such rounds are put in. */
static bool is_as_wanted(fc_checker *c, const fc_loop *l, const parts *x) {
    if (!l->tried || !l->elements || !l->carried.len) return true;
    return fc_is_repeat(c->g, fc_at(c->g, x->out[0])->src[0]) || makes_rows(c, l, x);
}

void fc_c_end_launch(fc_checker *c, fc_call *f, fc_loop *l) {
    parts *x = fc_c_alloc(c, sizeof *x);
    if (c->stop) return;
    if (c->ds->errors > l->errors || !build(c, l, x) || !is_as_wanted(c, l, x)) {
        give_up(c, f, l);
        return;
    }
    for (size_t i = 0; i < l->carried.len; i++) {
        const fc_carried *k = &l->carried.at[i];
        fc_c_rebind(c, k->name, k->at, fc_v_like(x->out[i], &k->value));
    }
    const size_t first = l->carried.len + (l->mask_hole != FC_NONODE);
    for (size_t i = 0; i < l->collected.len; i++)
        fc_c_rebind(c, l->collected.at[i].name, l->collected.at[i].at,
                    fc_v_node(x->out[first + i]));
    fc_c_end_loop(c, f, true);
}
