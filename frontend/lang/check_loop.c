/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_loop.c - for k in a..b while c { ... }. A body with a constant number of rounds is put in
 * as often as it runs where that is little; other loops stand in the graph as loops
 * (check_launch.c). Which of them stay inside of a kernel is for the passes to say.
 *
 * A name of the body that existed before is carried to the next round and keeps its type; the
 * others are local to a round. With a condition, every element whose condition has failed keeps its
 * values: what is carried is chosen between the old and the new one. */
#include "frontend/lang/check_impl.h"

#define ROUND_LIMIT 1024

static void carry(fc_checker *c, fc_loop *l, const char *name, fc_range at, fc_value v) {
    fc_carried k = {name, at, v, v, FC_NONODE};
    if (!fc_push(c->alloc, &l->carried, k)) fc_c_oom(c);
}

/* The binding of a name at the beginning; an input of a snippet that was not used yet gets one. */
static bool value_before(fc_checker *c, fc_call *f, const char *name, fc_value *out) {
    fc_binding *b = fc_c_find(f, name);
    const fc_dim_binding *d = b ? NULL : fc_c_dim(f, name);
    bool given = false; /* to a snippet */
    for (uint32_t i = 0; !b && !d && !f->def && i < c->rq->input_count && !given; i++)
        given = strcmp(c->rq->inputs[i].name, name) == 0;
    for (size_t i = 0; given && i < f->ast->exprs.len; i++) {
        const fc_expr *e = f->ast->exprs.at[i];
        if (e->kind != FC_EX_NAME || strcmp(e->text, name) != 0) continue;
        if (fc_c_snippet_input(c, f, e)) b = fc_c_find(f, name);
        break;
    }
    if (d) *out = d->dim == FC_DIM_NONE ? FC_UNKNOWN : fc_v_dim(c, d->dim);
    if (b) *out = b->value, b->used = true;
    return b || d;
}

void fc_c_rebind(fc_checker *c, const char *name, fc_range at, fc_value v) {
    fc_binding *b = fc_c_find(c->f, name);
    if (b && b->quiet && b->used && !b->type) {
        b->value = v;
        b->at = at;
        b->origin = NULL;
        return;
    }
    fc_c_bind(c, (fc_binding){.name = name, .value = v, .at = at, .quiet = true, .used = true});
}

/* path[k] = v in the loop over k. */
static bool collects(const fc_loop *l, const fc_stmt *s) {
    return s->kind == FC_ST_DEFINE && s->indices && s->indices->kind == FC_EX_NAME &&
           !s->indices->next && strcmp(s->indices->text, l->stmt->targets->text) == 0;
}

bool fc_c_collects(const fc_call *f, const fc_stmt *s) {
    const fc_loop *l = f->loops.len ? &f->loops.at[f->loops.len - 1] : NULL;
    return l && l->phase == FC_LP_BODY && collects(l, s);
}

static bool any_collects(const fc_loop *l) {
    for (const fc_stmt *s = l->stmt->body; s; s = s->next)
        if (collects(l, s)) return true;
    return false;
}

/* Sorts the names that the body assigns, and gives those that are carried a dtype of their own. */
static void sort_names(fc_checker *c, fc_call *f, fc_loop *l, const fc_stmt *body) {
    for (const fc_stmt *s = body; s && !c->stop; s = s->next) {
        bool binds = s->kind == FC_ST_BIND || s->kind == FC_ST_DEFINE;
        if (body == l->stmt->body && collects(l, s)) continue;
        for (uint32_t i = 0; i < s->target_count && binds; i++) {
            const char *name = s->targets[i].text;
            fc_value v;
            uint32_t before;
            if (fc_namemap_get(&l->seen, name, &before)) continue;
            if (!fc_namemap_put(c->alloc, &l->seen, name, 0)) fc_c_oom(c);
            if (!value_before(c, f, name, &v)) {
                if (!fc_push(c->alloc, &l->local, name)) fc_c_oom(c);
                continue;
            }
            if (v.kind >= FC_V_TUPLE) v = FC_UNKNOWN;
            c->cur = l->stmt->lo;
            if (v.kind != FC_V_UNKNOWN && fc_v_weak(&v))
                v = fc_v_like(fc_c_strong(c, l->stmt->lo, &v), &v);
            carry(c, l, name, s->targets[i].at, v);
            fc_c_rebind(c, name, s->targets[i].at, v);
        }
    }
}

/* Loops inside bind names of their own body, which outer ones carry as well. */
static void sort_all(fc_checker *c, fc_call *f, fc_loop *l) {
    FC_VEC(const fc_stmt *) open = {0};
    bool good = !l->stmt->body || fc_push(c->alloc, &open, l->stmt->body);
    for (size_t i = 0; i < open.len && good; i++) {
        sort_names(c, f, l, open.at[i]);
        for (const fc_stmt *s = open.at[i]; s && good; s = s->next)
            if (s->kind == FC_ST_LOOP && s->body) good = fc_push(c->alloc, &open, s->body);
    }
    if (!good) fc_c_oom(c);
    fc_vec_free(c->alloc, &open);
}

static void drop(fc_checker *c, fc_call *f) {
    fc_loop *l = &f->loops.at[--f->loops.len];
    fc_vec_free(c->alloc, &l->carried);
    fc_vec_free(c->alloc, &l->local);
    fc_vec_free(c->alloc, &l->collected);
    fc_namemap_free(c->alloc, &l->seen);
}

void fc_c_free_loops(fc_checker *c, fc_call *f) {
    while (f->loops.len) drop(c, f);
    fc_vec_free(c->alloc, &f->loops);
}

/* Names that end with a round are not there afterwards. */
static void forget(fc_call *f, const char *name) {
    fc_binding *b = fc_c_find(f, name);
    if (b) b->gone = b->used = true;
}

void fc_c_end_loop(fc_checker *c, fc_call *f, bool known) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    f->stmt = l->stmt->next;
    forget(f, l->stmt->targets->text);
    if (l->has_outer) fc_c_rebind(c, l->stmt->targets->text, l->stmt->targets->at, l->outer);
    for (size_t i = 0; i < l->carried.len && !known; i++)
        fc_c_rebind(c, l->carried.at[i].name, l->carried.at[i].at, FC_UNKNOWN);
    for (size_t i = 0; i < l->collected.len && !known; i++)
        fc_c_rebind(c, l->collected.at[i].name, l->collected.at[i].at, FC_UNKNOWN);
    drop(c, f);
}

/* The next round, or the end. */
void fc_c_next_round(fc_checker *c, fc_call *f) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    const fc_stmt *s = l->stmt;
    if (l->at >= l->end || c->ds->errors > l->errors) {
        fc_c_end_loop(c, f, c->ds->errors == l->errors);
        return;
    }
    fc_c_rebind(c, s->targets->text, s->targets->at, fc_v_int(l->at++));
    f->stmt = s;
    l->phase = FC_LP_CONDITION;
    if (s->cond)
        fc_c_begin(c, f, s->cond);
    else
        f->stmt = s->body, l->phase = FC_LP_BODY;
    if (!s->cond && !s->body) fc_c_end_loop(c, f, true);
}

/* ---- bounds, condition ----------------------------------------------------------------------- */

void fc_c_begin_loop(fc_checker *c, fc_call *f) {
    fc_loop l = {.stmt = f->stmt, .phase = FC_LP_LOW, .errors = c->ds->errors};
    if (!fc_push(c->alloc, &f->loops, l)) {
        fc_c_oom(c);
        return;
    }
    fc_c_begin(c, f, f->stmt->lo);
}

bool fc_c_is_condition(fc_checker *c, const fc_expr *e, const fc_value *v) {
    if (v->kind == FC_V_UNKNOWN || !fc_c_operand(c, e, v)) return false;
    if (fc_v_dtype(c, v) == FUSEC_BOOL) return true;
    fc_c_error(c, FUSEC_NOT_BOOL, e->at, "%s is %s, and a condition is bool", fc_c_quote(c, e->at),
               fc_c_value_type(c, v));
    return false;
}

static void take_condition(fc_checker *c, fc_call *f, const fc_value *v) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    const fc_expr *e = l->stmt->cond;
    const bool good = fc_c_is_condition(c, e, v);
    if (!good || (v->kind == FC_V_BOOL && !v->truth)) {
        fc_c_end_loop(c, f, good);
        return;
    }
    fc_node n = v->kind == FC_V_BOOL ? l->mask : fc_c_strong(c, e, v);
    if (v->kind != FC_V_BOOL && l->mask != FC_NONODE)
        n = fc_c_built(c, fc_build_op(c->g, FC_OP_logical_and, l->mask, n, FC_NONODE));
    l->mask = n;
    l->phase = FC_LP_BODY;
    f->stmt = l->stmt->body;
    if (!f->stmt) fc_c_end_loop(c, f, true);
}

/* Whether axes from the last one on are the same. */
static bool is_of_shape(const fc_graph *g, fc_node n, fc_node mask) {
    const uint32_t rank = fc_rank(g, n), of = fc_rank(g, mask);
    for (uint32_t i = 1; i <= of && of <= rank; i++)
        if (fc_axis(g, n, rank - i) != fc_axis(g, mask, of - i)) return false;
    return of && of <= rank;
}

fc_node fc_c_going_on(fc_checker *c, const fc_call *f, fc_node index) {
    for (size_t k = 0; k < f->loops.len && index != FC_NONODE; k++) {
        const fc_loop *l = &f->loops.at[k];
        if (l->phase != FC_LP_BODY || l->mask == FC_NONODE) continue;
        if (!is_of_shape(c->g, index, l->mask)) continue;
        const fc_node zero = fc_build_number(c->g, (fusec_dtype)fc_at(c->g, index)->dtype, 0);
        index = fc_c_built(c, fc_build_op(c->g, FC_OP_where, l->mask, index, zero));
    }
    return index;
}

/* One bound: a constant, a size or a scalar. */
static bool is_bound(fc_checker *c, const fc_value *v) {
    if (v->kind == FC_V_INT || v->kind == FC_V_DIM) return true;
    const fusec_dtype t = v->kind == FC_V_NODE ? fc_v_dtype(c, v) : FUSEC_BOOL;
    return v->kind == FC_V_NODE && !v->element && !fc_v_rank(c, v) && fc_is_int(t);
}

fc_node fc_c_loop_bound(fc_checker *c, const fc_expr *e, const fc_value *v) {
    if (v->kind == FC_V_DIM) return fc_c_built(c, fc_build_dim(c->g, v->dim));
    return fc_c_built(
        c,
        fc_build_cast(c->g, fc_c_node(c, e, v, v->kind == FC_V_INT ? FUSEC_I64 : fc_v_dtype(c, v)),
                      FUSEC_I64));
}

static void no_rounds(fc_checker *c, fc_call *f, fc_loop *l) {
    sort_all(c, f, l);
    fc_c_end_loop(c, f, false);
}

/* Both bounds are there: how the loop is made. */
static void start(fc_checker *c, fc_call *f, fc_loop *l, bool constant) {
    const fc_expr *lo = l->stmt->lo;
    if (constant && l->end < l->at) {
        fc_c_error(c, FUSEC_INDEX_RANGE, (fc_range){lo->at.begin, l->stmt->hi->at.end},
                   "the loop goes from %s to %s: its end is before its begin",
                   fc_c_wide_text(c, l->at), fc_c_wide_text(c, l->end));
        no_rounds(c, f, l);
        return;
    }
    l->mask = FC_NONODE;
    l->from = l->at;
    l->diags = c->ds->len;
    l->dropped = c->ds->dropped;
    l->first_error = c->ds->first;
    l->draws = (uint32_t)c->draws.len;
    l->has_outer = value_before(c, f, l->stmt->targets->text, &l->outer);
    sort_all(c, f, l);
    l->launch = !constant || l->end - l->at > ROUND_LIMIT || any_collects(l);
    if (l->launch)
        fc_c_launch(c, f, l);
    else
        fc_c_next_round(c, f);
}

void fc_c_take_loop(fc_checker *c, fc_call *f, const fc_value *v) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    c->cur = l->stmt->lo;
    if (l->phase == FC_LP_CONDITION && l->launch) {
        fc_c_launch_condition(c, f, l, v);
        return;
    }
    if (l->phase == FC_LP_CONDITION) {
        take_condition(c, f, v);
        return;
    }
    const bool low = l->phase == FC_LP_LOW;
    const fc_expr *e = low ? l->stmt->lo : l->stmt->hi;
    if (v->kind == FC_V_UNKNOWN) {
        no_rounds(c, f, l);
        return;
    }
    if (!is_bound(c, v)) {
        fc_c_error(c, FUSEC_INDEX_RANGE, e->at, "%s is no integer, and rounds are counted",
                   fc_c_quote(c, e->at));
        no_rounds(c, f, l);
        return;
    }
    const fc_node n = fc_c_loop_bound(c, e, v);
    if (n == FC_NONODE) {
        no_rounds(c, f, l);
        return;
    }
    if (v->kind == FC_V_INT) *(low ? &l->at : &l->end) = v->i;
    *(low ? &l->first : &l->last) = n;
    l->open |= v->kind != FC_V_INT;
    if (low) {
        l->phase = FC_LP_HIGH;
        fc_c_begin(c, f, l->stmt->hi);
        return;
    }
    start(c, f, l, !l->open);
}

/* ---- the end of a round ---------------------------------------------------------------------- */

/* Reports a carried name that came out with another type. */
bool fc_c_same_carried(fc_checker *c, const fc_carried *k, const fc_value *v) {
    fc_dim a[FC_MAX_RANK], b[FC_MAX_RANK];
    const uint32_t ra = fc_v_shape(c, &k->value, a), rb = fc_v_shape(c, v, b);
    bool same = ra == rb && fc_v_dtype(c, v) == fc_v_dtype(c, &k->value);
    for (uint32_t i = 0; i < ra && same; i++) same = fc_c_same_dim(c, a[i], b[i]) != 0;
    if (same) {
        for (uint32_t i = 0; i < ra; i++)
            if (fc_c_same_dim(c, a[i], b[i]) < 0)
                fc_require(c->g, FC_CHECK_EQ, a[i], b[i], FUSEC_INPUT_SHAPE, NULL);
        return fc_c_fine(c);
    }
    const bool dtype = fc_v_dtype(c, v) != fc_v_dtype(c, &k->value);
    fc_diag *d = fc_c_error(c, dtype ? FUSEC_DTYPE_MISMATCH : FUSEC_SHAPE_MISMATCH, k->at,
                            "`%s` is carried from round to round and keeps its type: it was %s and "
                            "became %s",
                            k->name, fc_c_value_type(c, &k->value), fc_c_value_type(c, v));
    if (dtype)
        fc_diag_help(d, "begin with a value of %s, or cast in the loop: %s = %s( ... )",
                     fc_dtypes[fc_v_dtype(c, v)].name, k->name,
                     fc_dtypes[fc_v_dtype(c, &k->value)].name);
    else
        fc_diag_help(d, "begin with an array of that shape, such as zeros([...])");
    return false;
}

static void end_name(fc_checker *c, fc_call *f, fc_loop *l, fc_carried *k) {
    fc_binding *b = fc_c_find(f, k->name);
    fc_value v = b ? b->value : FC_UNKNOWN;
    if (b) b->used = true;
    c->cur = l->stmt->lo;
    if (k->value.kind != FC_V_UNKNOWN && v.kind >= FC_V_TUPLE)
        fc_c_error(
            c, FUSEC_SHAPE_MISMATCH, k->at,
            "`%s` is carried from round to round and keeps its type: it was %s and became %s",
            k->name, fc_c_value_type(c, &k->value),
            v.kind == FC_V_TUPLE ? "several results" : "no array");
    if (k->value.kind == FC_V_UNKNOWN || v.kind == FC_V_UNKNOWN || v.kind >= FC_V_TUPLE) {
        k->value = FC_UNKNOWN;
    } else {
        if (fc_v_weak(&v) && !fc_v_rank(c, &k->value))
            v = fc_v_like(fc_c_node(c, l->stmt->lo, &v, fc_v_dtype(c, &k->value)), &v);
        bool good = v.kind != FC_V_UNKNOWN && fc_c_same_carried(c, k, &v);
        if (good && l->mask != FC_NONODE && v.node != k->value.node) {
            v = fc_v_like(
                fc_c_built(c, fc_build_op(c->g, FC_OP_where, l->mask, v.node, k->value.node)), &v);
            good = v.kind != FC_V_UNKNOWN && fc_c_same_carried(c, k, &v);
        }
        k->value = good ? v : FC_UNKNOWN;
    }
    fc_c_rebind(c, k->name, k->at, k->value);
}

void fc_c_end_round(fc_checker *c, fc_call *f) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    for (size_t i = 0; i < l->carried.len && !c->stop; i++) end_name(c, f, l, &l->carried.at[i]);
    for (size_t i = 0; i < l->local.len; i++) forget(f, l->local.at[i]);
    if (c->stop) return;
    if (l->launch)
        fc_c_end_launch(c, f, l);
    else if (!l->tried && l->at == l->from + 1 && fc_c_wants_launch(c, l))
        fc_c_try_launch(c, f, l, true);
    else
        fc_c_next_round(c, f);
}
