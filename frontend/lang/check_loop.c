/* check_loop.c - for k in a..b while c { ... } with a constant number of rounds: the body is put in
 * as often as it runs.
 *
 * A name of the body that existed before is carried to the next round and keeps its type; the
 * others are local to a round. With a condition, every element whose condition has failed keeps its
 * values: what is carried is chosen between the old and the new one. */
#include "frontend/lang/check_impl.h"

#define ROUND_LIMIT 1024

static void carry(fc_checker *c, fc_loop *l, const char *name, fc_range at, fc_value v) {
    fc_carried k = {name, at, v};
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

/* Takes the place of what the name stands for, if anything. */
static void rebind(fc_checker *c, const char *name, fc_range at, fc_value v) {
    fc_binding *b = fc_c_find(c->f, name);
    if (b && b->quiet && b->used && !b->type) {
        b->value = v;
        b->at = at;
        b->origin = NULL;
        return;
    }
    fc_c_bind(c, (fc_binding){.name = name, .value = v, .at = at, .quiet = true, .used = true});
}

/* Sorts the names that the body assigns, and gives those that are carried a dtype of their own. */
static void sort_names(fc_checker *c, fc_call *f, fc_loop *l, const fc_stmt *body) {
    for (const fc_stmt *s = body; s && !c->stop; s = s->next) {
        bool binds = s->kind == FC_ST_BIND || s->kind == FC_ST_DEFINE;
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
            rebind(c, name, s->targets[i].at, v);
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

static void end(fc_checker *c, fc_call *f, bool known) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    f->stmt = l->stmt->next;
    forget(f, l->stmt->targets->text);
    if (l->has_outer) rebind(c, l->stmt->targets->text, l->stmt->targets->at, l->outer);
    for (size_t i = 0; i < l->carried.len && !known; i++)
        rebind(c, l->carried.at[i].name, l->carried.at[i].at, FC_UNKNOWN);
    drop(c, f);
}

/* The next round, or the end. */
static void next_round(fc_checker *c, fc_call *f) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    const fc_stmt *s = l->stmt;
    if (l->at >= l->end || c->ds->errors > l->errors) {
        end(c, f, c->ds->errors == l->errors);
        return;
    }
    rebind(c, s->targets->text, s->targets->at, fc_v_int(l->at++));
    f->stmt = s;
    l->phase = FC_LP_CONDITION;
    if (s->cond)
        fc_c_begin(c, f, s->cond);
    else
        f->stmt = s->body, l->phase = FC_LP_BODY;
    if (!s->cond && !s->body) end(c, f, true);
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

static void not_constant(fc_checker *c, fc_call *f) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    fc_c_not_yet(c, f->ast, l->stmt->word, "for");
    sort_all(c, f, l);
    end(c, f, false);
}

static void take_condition(fc_checker *c, fc_call *f, const fc_value *v) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    const fc_expr *e = l->stmt->cond;
    bool good = v->kind != FC_V_UNKNOWN && fc_c_operand(c, e, v);
    if (good && fc_v_dtype(c, v) != FUSEC_BOOL) {
        fc_c_error(c, FUSEC_NOT_BOOL, e->at, "%s is %s, and a condition is bool",
                   fc_c_quote(c, e->at), fc_c_value_type(c, v));
        good = false;
    }
    if (!good || (v->kind == FC_V_BOOL && !v->truth)) {
        end(c, f, good);
        return;
    }
    fc_node n = v->kind == FC_V_BOOL ? l->mask : fc_c_strong(c, e, v);
    if (v->kind != FC_V_BOOL && l->mask != FC_NONODE)
        n = fc_c_built(c, fc_build_op(c->g, FC_OP_logical_and, l->mask, n, FC_NONODE));
    l->mask = n;
    l->phase = FC_LP_BODY;
    f->stmt = l->stmt->body;
    if (!f->stmt) end(c, f, true);
}

void fc_c_take_loop(fc_checker *c, fc_call *f, const fc_value *v) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    c->cur = l->stmt->lo;
    if (l->phase == FC_LP_CONDITION) {
        take_condition(c, f, v);
        return;
    }
    const bool low = l->phase == FC_LP_LOW;
    if (v->kind == FC_V_UNKNOWN) {
        sort_all(c, f, l);
        end(c, f, false);
        return;
    }
    if (v->kind == FC_V_FLOAT || v->kind == FC_V_BOOL || v->kind >= FC_V_TUPLE) {
        const fc_expr *e = low ? l->stmt->lo : l->stmt->hi;
        fc_c_error(c, FUSEC_INDEX_RANGE, e->at, "%s is no integer, and rounds are counted",
                   fc_c_quote(c, e->at));
        sort_all(c, f, l);
        end(c, f, false);
        return;
    }
    if (v->kind != FC_V_INT) {
        not_constant(c, f);
        return;
    }
    *(low ? &l->at : &l->end) = v->i;
    if (low) {
        l->phase = FC_LP_HIGH;
        fc_c_begin(c, f, l->stmt->hi);
        return;
    }
    if (l->end - l->at > ROUND_LIMIT) {
        not_constant(c, f);
        return;
    }
    l->mask = FC_NONODE;
    l->has_outer = value_before(c, f, l->stmt->targets->text, &l->outer);
    sort_all(c, f, l);
    next_round(c, f);
}

/* ---- the end of a round ---------------------------------------------------------------------- */

/* Reports a carried name that came out with another type. */
static bool same_type(fc_checker *c, const fc_carried *k, const fc_value *v) {
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
    if (k->value.kind == FC_V_UNKNOWN || v.kind == FC_V_UNKNOWN || v.kind >= FC_V_TUPLE) {
        k->value = FC_UNKNOWN;
    } else {
        if (fc_v_weak(&v) && !fc_v_rank(c, &k->value))
            v = fc_v_like(fc_c_node(c, l->stmt->lo, &v, fc_v_dtype(c, &k->value)), &v);
        bool good = v.kind != FC_V_UNKNOWN && same_type(c, k, &v);
        if (good && l->mask != FC_NONODE && v.node != k->value.node) {
            v = fc_v_like(
                fc_c_built(c, fc_build_op(c->g, FC_OP_where, l->mask, v.node, k->value.node)), &v);
            good = v.kind != FC_V_UNKNOWN && same_type(c, k, &v);
        }
        k->value = good ? v : FC_UNKNOWN;
    }
    rebind(c, k->name, k->at, k->value);
}

void fc_c_end_round(fc_checker *c, fc_call *f) {
    fc_loop *l = &f->loops.at[f->loops.len - 1];
    for (size_t i = 0; i < l->carried.len && !c->stop; i++) end_name(c, f, l, &l->carried.at[i]);
    for (size_t i = 0; i < l->local.len; i++) forget(f, l->local.at[i]);
    if (!c->stop) next_round(c, f);
}
