/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check.c - the walk: frames of calls, statements, names.
 *
 * A frame evaluates one expression at a time, node by node (check_expr.c); a call pushes a frame
 * and the walk goes on there. When the last frame has ended its results are the graph's outputs. */
#include "frontend/lang/check_impl.h"

#define CALL_LIMIT 256        /* calls of definitions inside each other */
#define SYM_LIMIT  8192       /* names of sizes, and products and quotients of them */
#define SIZE_LIMIT (1u << 17) /* different sizes */
#define TERM_LIMIT 64         /* of one size */
#define COND_LIMIT 4096       /* conditions on sizes */
#define STEP_LIMIT (1u << 20) /* nodes evaluated in all, calls put in */

/* ---- names ----------------------------------------------------------------------------------- */

static uint32_t name_slot(const fc_namemap *m, const char *name) {
    uint64_t h = fc_hash_bytes(name, strlen(name));
    for (;; h++) {
        uint32_t i = (uint32_t)h & (m->cap - 1);
        if (!m->keys[i] || strcmp(m->keys[i], name) == 0) return i;
    }
}

static bool namemap_grow(const fc_alloc *a, fc_namemap *m) {
    fc_namemap next = {.cap = m->cap ? 2 * m->cap : 16};
    next.keys = fc_calloc(a, next.cap, sizeof *next.keys);
    next.values = fc_calloc(a, next.cap, sizeof *next.values);
    if (!next.keys || !next.values) {
        fc_free(a, next.keys);
        fc_free(a, next.values);
        return false;
    }
    for (uint32_t i = 0; i < m->cap; i++) {
        if (!m->keys[i]) continue;
        uint32_t s = name_slot(&next, m->keys[i]);
        next.keys[s] = m->keys[i];
        next.values[s] = m->values[i];
    }
    next.len = m->len;
    fc_free(a, m->keys);
    fc_free(a, m->values);
    *m = next;
    return true;
}

bool fc_namemap_put(const fc_alloc *a, fc_namemap *m, const char *name, uint32_t value) {
    if (2 * m->len >= m->cap && !namemap_grow(a, m)) return false;
    uint32_t s = name_slot(m, name);
    if (!m->keys[s]) m->len++;
    m->keys[s] = name;
    m->values[s] = value;
    return true;
}

bool fc_namemap_get(const fc_namemap *m, const char *name, uint32_t *value) {
    if (!m->cap) return false;
    uint32_t s = name_slot(m, name);
    if (!m->keys[s]) return false;
    *value = m->values[s];
    return true;
}

void fc_namemap_free(const fc_alloc *a, fc_namemap *m) {
    fc_free(a, m->keys);
    fc_free(a, m->values);
}

fc_binding *fc_c_find(fc_call *f, const char *name) {
    uint32_t i;
    return fc_namemap_get(&f->map, name, &i) && !f->names.at[i].gone ? &f->names.at[i] : NULL;
}

void fc_c_bind(fc_checker *c, fc_binding b) {
    fc_call *f = c->f;
    if (!fc_push(c->alloc, &f->names, b) ||
        !fc_namemap_put(c->alloc, &f->map, b.name, (uint32_t)f->names.len - 1))
        fc_c_oom(c);
}

/* ---- memory ---------------------------------------------------------------------------------- */

void fc_c_oom(fc_checker *c) {
    fc_diag_oom(c->ds); /* also after a mistake that ended the check: it may come of this */
    c->stop = true;
}

void fc_c_str_free(fc_checker *c, fc_str *s) {
    if (s->oom) fc_c_oom(c);
    fc_str_free(s);
}

void *fc_c_alloc(fc_checker *c, size_t size) {
    void *p = fc_arena_alloc(&c->arena, size);
    if (!p) fc_c_oom(c);
    return p;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void call_free(fc_checker *c, fc_call *f) {
    fc_vec_free(c->alloc, &f->names);
    fc_vec_free(c->alloc, &f->dims);
    fc_vec_free(c->alloc, &f->results);
    fc_vec_free(c->alloc, &f->result_exprs);
    fc_namemap_free(c->alloc, &f->map);
    fc_free(c->alloc, f->args);
    fc_free(c->alloc, f->given);
    fc_c_free_loops(c, f);
    fc_vec_free(c->alloc, &f->left);
    fc_vec_free(c->alloc, &f->binders);
    fc_free(c->alloc, f->masks);
    fc_free(c->alloc, f->vals);
    fc_free(c->alloc, f->roles);
    fc_free(c->alloc, f);
}

void fc_c_drop(fc_checker *c) {
    call_free(c, c->calls.at[--c->calls.len]);
    c->f = c->calls.len ? c->calls.at[c->calls.len - 1] : NULL;
}

fc_call *fc_c_push(fc_checker *c, uint32_t scope, const fc_item *def) {
    if (c->calls.len >= CALL_LIMIT) {
        fc_c_error(c, FUSEC_LIMIT, fc_c_here(c), "calls are nested more than %d deep", CALL_LIMIT);
        c->stop = true;
        return NULL;
    }
    fc_call *f = fc_calloc(c->alloc, 1, sizeof *f);
    size_t n = def ? def->param_count : 0;
    if (f) {
        f->scope = scope;
        f->ast = c->scopes.at[scope].ast;
        f->def = def;
        f->args = fc_calloc(c->alloc, n + 1, sizeof *f->args);
        f->given = fc_calloc(c->alloc, n + 1, sizeof *f->given);
    }
    if (!f || !f->args || !f->given || !fc_push(c->alloc, &c->calls, f)) {
        if (f) call_free(c, f);
        fc_c_oom(c);
        return NULL;
    }
    c->f = f;
    return f;
}

void fc_c_begin(fc_checker *c, fc_call *f, const fc_expr *root) {
    size_t n = root->id - root->first + 1;
    if (n > f->room) {
        fc_free(c->alloc, f->vals);
        fc_free(c->alloc, f->roles);
        fc_free(c->alloc, f->masks);
        f->vals = fc_malloc(c->alloc, n * sizeof *f->vals);
        f->roles = fc_malloc(c->alloc, n);
        f->masks = fc_malloc(c->alloc, n * sizeof *f->masks);
        f->room = f->vals && f->roles && f->masks ? n : 0;
        if (!f->room) {
            fc_c_oom(c);
            return;
        }
    }
    memset(f->vals, 0, n * sizeof *f->vals);
    memset(f->roles, 0, n);
    f->root = root;
    f->at = root->first;
    fc_c_mark_roles(c, f);
    fc_c_find_indices(c, f);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void warn_unused(fc_checker *c, fc_call *f) {
    if (c->ds->errors) return;
    for (size_t i = 0; i < f->names.len; i++) {
        const fc_binding *b = &f->names.at[i];
        bool before = b->quiet || b->used;
        for (uint32_t k = 0; k < c->ds->len && !before; k++)
            before = c->ds->at[k]->src == f->ast->src && c->ds->at[k]->at.begin == b->at.begin;
        if (!before)
            fc_diag_warning(c->ds, "unused-value", f->ast->src, b->at, "`%s` is never used",
                            b->name);
    }
}

static const char *output_name(fc_checker *c, const fc_call *f, size_t i) {
    const fc_result *r = f->def ? f->def->results : NULL;
    for (size_t k = 0; r && k < i; k++) r = r->next;
    if (r && r->name.len) return r->name.text;
    if (f->results.len == 1) return "out";
    const fc_expr *e = f->result_exprs.at[i];
    bool unique = !f->def && e->kind == FC_EX_NAME;
    for (size_t k = 0; unique && k < i; k++) {
        const fc_expr *o = f->result_exprs.at[k];
        unique = o->kind != FC_EX_NAME || strcmp(o->text, e->text) != 0;
    }
    return unique ? e->text : fc_c_text(c, "out%zu", i + 1);
}

/* The results of the outermost frame. */
static void make_outputs(fc_checker *c, fc_call *f) {
    fc_lang_program *out = c->out;
    size_t n = f->results.len;
    out->results = fc_arena_alloc(&out->arena, (n + 1) * sizeof *out->results);
    if (!out->results) {
        fc_c_oom(c);
        return;
    }
    for (size_t i = 0; i < n && !c->stop; i++) {
        fc_value *v = &f->results.at[i];
        c->cur = f->result_exprs.at[i];
        if (v->kind == FC_V_UNKNOWN || !fc_c_operand(c, c->cur, v)) continue;
        fc_node node = fc_c_strong(c, c->cur, v);
        const char *name = v->names ? v->names[0] : output_name(c, f, i);
        if (node == FC_NONODE || !name) continue;
        fc_build_output(c->g, name, node);
        if (!fc_c_fine(c)) continue;
        fc_value strong = fc_v_node(node);
        const char *type = fc_c_value_type(c, &strong);
        out->results[out->result_count++] = (fc_lang_result){
            .name = fc_arena_strdup(&out->arena, name, strlen(name)),
            .type = fc_arena_strdup(&out->arena, type, strlen(type)),
        };
    }
}

/* A call that gives several results may stand where they are wanted. */
static void expand_tuple(fc_checker *c, fc_call *f) {
    if (f->results.len != 1 || f->results.at[0].kind != FC_V_TUPLE) return;
    fc_value t = f->results.at[0];
    const fc_expr *e = f->result_exprs.at[0];
    f->results.len = f->result_exprs.len = 0;
    for (uint32_t i = 0; i < t.count; i++) {
        fc_value v = t.items[i];
        if (t.names && !f->def && v.kind != FC_V_UNKNOWN) v.names = &t.names[i];
        if (!fc_push(c->alloc, &f->results, v) || !fc_push(c->alloc, &f->result_exprs, e))
            fc_c_oom(c);
    }
}

static fc_value results_value(fc_checker *c, const fc_call *f) {
    size_t n = f->results.len;
    if (n == 1) return f->results.at[0];
    if (n == 0) return FC_UNKNOWN;
    fc_value *items = fc_c_alloc(c, n * sizeof *items);
    const char **names = fc_c_alloc(c, n * sizeof *names);
    if (!items || !names) return FC_UNKNOWN;
    memcpy(items, f->results.at, n * sizeof *items);
    const fc_result *r = f->def->results;
    for (size_t i = 0; i < n; i++, r = r ? r->next : NULL)
        names[i] = r && r->name.len ? r->name.text : fc_c_text(c, "out%zu", i + 1);
    return (fc_value){.kind = FC_V_TUPLE, .count = (uint32_t)n, .items = items, .names = names};
}

/* The frame has its results, or could not get them (`good` false). */
static void finish(fc_checker *c, fc_call *f, bool good) {
    fc_value v = FC_UNKNOWN;
    if (good) {
        expand_tuple(c, f);
        if (f->def) fc_c_check_results(c, f);
        warn_unused(c, f);
        if (c->calls.len == 1)
            make_outputs(c, f);
        else
            v = results_value(c, f);
        if (f->fold) {
            fc_c_end_fold(c, f, &v);
            return;
        }
        if (f->rule) v = fc_c_apply_rule(c, f, v);
        if (c->calls.len > 1 && fc_c_begin_rule(c, f, &v)) return;
    }
    fc_c_drop(c);
    if (!c->f) return;
    c->f->vals[c->f->at - c->f->root->first] = v;
    c->f->at++;
}

void fc_c_finish_const(fc_checker *c, fc_call *f, fc_value v) {
    fc_const_entry *e = &c->consts.at[f->const_id];
    const fc_type *t = e->item->type;
    fusec_dtype dtype;
    if (t && v.kind != FC_V_UNKNOWN) {
        bool scalar = fc_c_type_class(t, &dtype) == FC_TC_ARRAY && !t->brackets;
        c->cur = e->item->value;
        if (!scalar) {
            fc_c_error(c, FUSEC_AMBIGUOUS_TYPE, t->at, "the type of a const is a dtype");
            v = FC_UNKNOWN;
        } else if (!fc_c_operand(c, c->cur, &v)) {
            v = FC_UNKNOWN;
        } else if (!fc_v_weak(&v) && fc_v_dtype(c, &v) != dtype) {
            fc_c_error(c, FUSEC_DTYPE_MISMATCH, e->item->value->at,
                       "%s is declared %s, but this is %s", e->item->name.text,
                       fc_dtypes[dtype].name, fc_c_value_type(c, &v));
            v = FC_UNKNOWN;
        } else {
            v = fc_v_node(fc_c_node(c, c->cur, &v, dtype));
        }
    }
    e->value = v;
    e->state = 2;
    fc_c_drop(c); /* the caller looks the name up again */
}

/* ---- statements ------------------------------------------------------------------------------ */

static void bind_targets(fc_checker *c, fc_call *f, const fc_stmt *s, fc_value v) {
    uint32_t n = s->target_count;
    bool split = n > 1 && v.kind == FC_V_TUPLE && v.count == n;
    if (n > 1 && !split && v.kind != FC_V_UNKNOWN) {
        const char *what = fc_c_quote(c, s->value->outer);
        fc_diag *d = v.kind == FC_V_TUPLE
                         ? fc_c_error(c, FUSEC_ARGUMENT_COUNT, s->value->outer,
                                      "%s gives %u results for %u names", what, v.count, n)
                         : fc_c_error(c, FUSEC_ARGUMENT_COUNT, s->value->outer,
                                      "%s gives one result for %u names", what, n);
        fc_diag_partner(d, (fc_range){s->targets[0].at.begin, s->targets[n - 1].at.end});
    }
    if (n == 1 && v.kind == FC_V_STRING) {
        fc_c_operand(c, s->value, &v);
        v = FC_UNKNOWN;
    }
    for (uint32_t i = 0; i < n; i++) {
        fc_c_value_name(c, f, s->targets[i].text, s->targets[i].at);
        fc_value one = split ? v.items[i] : n > 1 ? FC_UNKNOWN : v;
        one.names = n > 1 ? NULL : one.names;
        fc_c_bind(c, (fc_binding){.name = s->targets[i].text,
                                  .value = one,
                                  .at = s->targets[i].at,
                                  .quiet = n > 1});
    }
    f->stmt = s->next;
}

static void deliver(fc_checker *c, fc_call *f) {
    fc_value v = *fc_c_val(f, f->root);
    const fc_expr *root = f->root;
    f->root = NULL;
    f->done = root;
    if (f->phase == FC_PH_CONST) {
        fc_c_finish_const(c, f, v);
    } else if (f->phase == FC_PH_DEFAULTS) {
        if (!f->given[f->next_default - 1]) f->args[f->next_default - 1] = v;
    } else if (f->loops.len && f->loops.at[f->loops.len - 1].phase != FC_LP_BODY) {
        fc_c_take_loop(c, f, &v);
    } else if (f->stmt && f->stmt->kind == FC_ST_BIND) {
        bind_targets(c, f, f->stmt, v);
    } else if (f->stmt && fc_c_collects(f, f->stmt)) {
        fc_c_collect(c, f, v);
    } else if (f->stmt && f->stmt->kind == FC_ST_DEFINE && root != f->stmt->value) {
        f->root = root;
        fc_c_take_range(c, f, root);
        f->root = NULL;
    } else if (f->stmt && f->stmt->kind == FC_ST_DEFINE) {
        c->cur = root;
        bind_targets(c, f, f->stmt, fc_c_defined_array(c, f, root, &v));
    } else {
        if (!fc_push(c->alloc, &f->results, v) || !fc_push(c->alloc, &f->result_exprs, root)) {
            fc_c_oom(c);
            return;
        }
        f->value = f->stmt ? root->next : NULL;
        f->returned = !f->value;
    }
}

/* Evaluates the next default that is needed, or looked at; false when there are no more. */
static bool next_default(fc_checker *c, fc_call *f) {
    bool all = f->top && c->rq->check;
    const fc_param *p = f->def->params;
    for (uint32_t i = 0; p; p = p->next, i++) {
        if (i < f->next_default || (f->given[i] && !all) || !p->fallback) continue;
        f->next_default = i + 1;
        fc_c_begin(c, f, p->fallback);
        return true;
    }
    return false;
}

static void enter_body(fc_checker *c, fc_call *f) {
    f->phase = FC_PH_BODY;
    if (f->def) {
        bool good = f->top ? fc_c_bind_top(c, f) : fc_c_bind_call(c, f);
        if (!good || c->stop) {
            finish(c, f, false);
            return;
        }
        f->stmt = f->def->body;
        if (!f->def->block) fc_c_begin(c, f, f->def->value);
    }
}

static void no_result(fc_checker *c, fc_call *f) {
    if (f->def) {
        fc_diag *d = fc_c_error(c, FUSEC_SYNTAX, f->def->end_brace, "%s() ends without a return",
                                f->def->name.text);
        fc_diag_help(d, "return the result in the last line of the block");
    } else {
        uint32_t end = f->ast->src->len;
        fc_c_error(c, FUSEC_SYNTAX, (fc_range){end, end},
                   "expected the result before the end of the text");
    }
    finish(c, f, false);
}

/* The frame has no expression under way: on to the next one. */
static void advance(fc_checker *c, fc_call *f) {
    if (f->phase == FC_PH_DEFAULTS) {
        if (!f->def || !next_default(c, f)) enter_body(c, f);
    } else if (f->returned) {
        if (f->stmt && f->stmt->next)
            fc_c_error(c, FUSEC_SYNTAX, f->stmt->next->at, "nothing after `return` is reached");
        finish(c, f, true);
    } else if (f->value) {
        fc_c_begin(c, f, f->value);
    } else if (!f->stmt && f->loops.len) {
        fc_c_end_round(c, f);
    } else if (!f->stmt) {
        no_result(c, f);
    } else if (f->stmt->kind == FC_ST_BIND || fc_c_collects(f, f->stmt)) {
        fc_c_begin(c, f, f->stmt->value);
    } else if (f->stmt->kind == FC_ST_DEFINE) {
        fc_c_next_of_define(c, f);
    } else if (f->stmt->kind == FC_ST_RETURN || f->stmt->kind == FC_ST_RESULT) {
        if (f->loops.len) {
            fc_c_error(c, FUSEC_SYNTAX, f->stmt->word,
                       "`return` stands at the end of a definition, not in a loop");
            finish(c, f, false);
            return;
        }
        f->value = f->stmt->value;
    } else {
        fc_c_begin_loop(c, f);
    }
}

/* New nodes come from this expression. */
static void note_places(fc_checker *c, const fc_call *f, const fc_expr *e) {
    fc_place p = {f->ast, e->at};
    while (c->places.len < c->g->nodes.len && !c->stop)
        if (!fc_push(c->alloc, &c->places, p)) fc_c_oom(c);
}

/* Sizes are compared with each other and kept, so that their number has to be bounded too. */
static void limit_sizes(fc_checker *c) {
    const fc_dimtab *t = &c->g->dims;
    bool many =
        t->syms.len > SYM_LIMIT || t->forms.len > SIZE_LIMIT || c->g->conditions.len > COND_LIMIT;
    if (!many && (!t->forms.len || t->forms.at[t->forms.len - 1].nterms <= TERM_LIMIT)) return;
    if (many)
        fc_c_error(c, FUSEC_LIMIT, fc_c_here(c),
                   "the program has too many different sizes, or conditions on them");
    else
        fc_c_error(c, FUSEC_LIMIT, fc_c_here(c), "a size has more than %d terms", TERM_LIMIT);
    c->stop = true;
}

/* Whether the pass that the frame is in leaves a node out. */
static bool left_out(const fc_call *f) {
    const bool arrays = f->masks[f->at - f->root->first] == 0;
    return f->pass != FC_ONE_PASS && arrays != (f->pass == FC_PASS_ARRAYS);
}

/* True when the value of the root is there. */
static bool evaluate(fc_checker *c, fc_call *f) {
    while (f->at <= f->root->id || f->pass == FC_PASS_ARRAYS) {
        if (f->at > f->root->id) {
            f->pass = FC_PASS_ELEMENTS;
            f->at = f->root->first;
            if (!fc_c_find_ranges(c, f)) return !c->stop; /* the root is unknown */
        }
        const fc_expr *e = f->ast->exprs.at[f->at];
        if (f->roles[f->at - f->root->first] != FC_R_SKIP && !left_out(f)) {
            c->cur = e;
            if (++c->steps > STEP_LIMIT) {
                fc_c_error(c, FUSEC_LIMIT, e->at,
                           "with all calls put in, the program is too large");
                c->stop = true;
            }
            if (c->stop || !fc_c_step(c, f, e)) return false;
            note_places(c, f, e);
            limit_sizes(c);
            if (c->stop) return false;
        }
        f->at++;
    }
    return true;
}

void fc_c_run(fc_checker *c) {
    while (c->f && !c->stop) {
        fc_call *f = c->f;
        if (!f->root)
            advance(c, f);
        else if (evaluate(c, f))
            deliver(c, f);
    }
    while (c->f) fc_c_drop(c);
}
