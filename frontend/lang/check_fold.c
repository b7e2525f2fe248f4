/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_fold.c - reduce(f, starts, arrays), scan(f, starts, arrays): reductions and prefixes by a
 * definition, which makes one record of two; and linrec.
 *
 * In: a call whose first argument names a definition. The definition runs once, in a frame of its
 * own, on the values of two records (ir/fold.h); when it has its results, the fold is built, and
 * the definition that finish= names is called with what comes out. */
#include "frontend/lang/check_impl.h"

#include "ir/fold.h"

struct fc_folding {
    const char *what; /* "reduce" */
    fc_def *finish;   /* or NULL */
    fc_fold_args args;
    fc_node element[FC_MAX_RECORD], start[FC_MAX_RECORD], body[FC_MAX_RECORD];
    int64_t axes[FC_MAX_RANK];
};

const char *const fc_c_fold_names[] = {"reduce", "scan", "linrec", NULL};

bool fc_c_is_fold_name(const char *name) {
    return fc_c_listed(fc_c_fold_names, name);
}

/* Whether argument `n` of such a call (or the one with this label) names a definition. */
bool fc_c_names_definition(const char *name, const fc_expr *a, uint32_t n) {
    if (strcmp(name, "reduce") != 0 && strcmp(name, "scan") != 0) return false;
    return a->label ? strcmp(a->label->text, "finish") == 0 : n == 0;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static fc_def *definition(fc_checker *c, fc_call *f, const fc_expr *call, const fc_expr *e) {
    fc_def *def = fc_c_callee(c, f, e);
    if (def && fc_c_may_call(c, call, def)) return def;
    if (def) return NULL;
    const char *name = fc_c_quote(c, call->callee->at);
    fc_diag *d = fc_c_error(c, FUSEC_UNKNOWN_NAME, e->at,
                            "%s() takes the name of a definition that makes one of two; %s is none",
                            name, fc_c_quote(c, e->at));
    fc_diag_help(d, "def join(a, b) = a + b, and %s(join, 0, x, axis=0)", name);
    return NULL;
}

/* The expressions of a list, or the one that stands alone. */
static uint32_t parts_of(fc_checker *c, const fc_expr *e, const fc_expr *out[FC_MAX_RECORD]) {
    const bool many = e->kind == FC_EX_LIST || e->kind == FC_EX_TUPLE;
    uint32_t n = 0;
    for (const fc_expr *p = many ? e->list : e; p; p = many ? p->next : NULL) {
        if (n == FC_MAX_RECORD) {
            fc_c_error(c, FUSEC_LIMIT, e->at, "a record has %d values at most", FC_MAX_RECORD);
            return 0;
        }
        out[n++] = p;
    }
    if (n == 0) fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at, "a record has no values");
    return n;
}

/* The arrays; `widest` is the one with most axes, which axis= is about. */
static bool take_arrays(fc_checker *c, fc_call *f, const fc_expr *e, fc_folding *to,
                        const fc_expr **widest, fc_value *shape) {
    const fc_expr *part[FC_MAX_RECORD];
    to->args.n = parts_of(c, e, part);
    *widest = NULL;
    for (uint32_t i = 0; i < to->args.n; i++) {
        fc_value v;
        if (!fc_c_array_arg(c, f, part[i], &v)) return false;
        to->element[i] = v.node;
        if (*widest && fc_rank(c->g, v.node) <= fc_rank(c->g, shape->node)) continue;
        *widest = part[i];
        *shape = v;
    }
    return to->args.n > 0;
}

static fusec_dtype dtype_of(const fc_checker *c, const fc_folding *to, uint32_t i) {
    return fc_record_dtype((fusec_dtype)fc_at(c->g, to->element[i])->dtype);
}

static bool is_known(const fc_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    return i->op == FC_OP_CONST ||
           (i->op == FC_OP_PAIR && is_known(g, i->src[0]) && is_known(g, i->src[1]));
}

static bool take_starts(fc_checker *c, fc_call *f, const fc_expr *e, fc_folding *to) {
    const fc_expr *part[FC_MAX_RECORD];
    if (!e) return true;
    const uint32_t n = parts_of(c, e, part);
    if (n && n != to->args.n) {
        fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at, "%u start%s for records of %u value%s", n,
                   n == 1 ? "" : "s", to->args.n, to->args.n == 1 ? "" : "s");
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const fc_value *v = fc_c_val(f, part[i]);
        if (!fc_c_operand(c, part[i], v)) return false;
        to->start[i] = fc_c_node(c, part[i], v, dtype_of(c, to, i));
        if (to->start[i] == FC_NONODE) return false;
        if (is_known(c->g, to->start[i])) continue;
        fc_c_error(c, FUSEC_INVALID, part[i]->at, "a start is a number that is known, not %s",
                   fc_c_quote(c, part[i]->at));
        return false;
    }
    to->args.start = to->start;
    return n > 0;
}

static bool take_axes(fc_checker *c, fc_call *f, const fc_expr *e, const fc_expr *array,
                      const fc_value *x, const fc_expr *given, fc_folding *to) {
    uint32_t count;
    if (to->args.scan) {
        to->args.naxes = 1;
        to->args.axes = to->axes;
        return fc_c_the_axis(c, f, e, array, x, given, to->axes);
    }
    if (!fc_c_axes(c, f, array, x, given, to->axes, &count)) return false;
    to->args.naxes = given ? count : 0;
    to->args.axes = given ? to->axes : NULL;
    return true;
}

/* exclusive=, reverse= and reset= */
static bool take_flags(fc_checker *c, fc_call *f, const fc_expr *const *kw, fc_fold_args *to) {
    fc_value reset;
    if (!fc_c_flag_arg(c, f, kw[0], &to->exclusive) || !fc_c_flag_arg(c, f, kw[1], &to->reverse))
        return false;
    if (!kw[2]) return true;
    if (!fc_c_array_arg(c, f, kw[2], &reset)) return false;
    to->resets = true;
    to->reset = reset.node;
    return true;
}

static bool take_args(fc_checker *c, fc_call *f, const fc_expr *e, fc_folding *to) {
    static const char *const of_reduce[] = {"axis", "finish", "keepdims", NULL};
    static const char *const of_scan[] = {"axis", "finish", "exclusive", "reverse", "reset", NULL};
    const fc_arg_spec spec = {NULL, 3, 2, to->args.scan ? of_scan : of_reduce};
    const fc_expr *p[3], *kw[5] = {NULL}, *widest;
    fc_value x;
    if (!fc_c_args(c, e, &spec, p, kw)) return false;
    const fc_expr *starts = p[2] ? p[1] : NULL, *arrays = p[2] ? p[2] : p[1];
    if (kw[1] && !(to->finish = definition(c, f, e, kw[1]))) return false;
    return take_arrays(c, f, arrays, to, &widest, &x) && take_starts(c, f, starts, to) &&
           take_axes(c, f, e, widest, &x, kw[0], to) &&
           (to->args.scan ? take_flags(c, f, kw + 2, &to->args)
                          : fc_c_flag_arg(c, f, kw[2], &to->args.keepdims));
}

/* ---- the definition at work ------------------------------------------------------------------ */

static fc_call *enter(fc_checker *c, fc_call *f, const fc_expr *e, fc_def *def) {
    def->called = true;
    const fc_ast *ast = f->ast;
    fc_call *to = fc_c_push(c, def->scope, def->item);
    if (!to) return NULL;
    to->site = e;
    to->site_ast = ast;
    for (uint32_t i = 0; i < def->item->param_count; i++) to->given[i] = true;
    return to;
}

/* Its arguments: the values of the record of earlier elements, then those of the later one. */
static bool enter_body(fc_checker *c, fc_call *f, const fc_expr *e, fc_def *def, fc_folding *to) {
    const uint32_t n = to->args.n, takes = def->item->param_count;
    if (takes != 2 * n) {
        fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->list->at,
                   "%s() takes %u argument%s; with records of %u value%s it gets two of them, %u",
                   def->item->name.text, takes, takes == 1 ? "" : "s", n, n == 1 ? "" : "s", 2 * n);
        return true;
    }
    fc_call *body = enter(c, f, e, def);
    if (!body) return false;
    body->fold = to;
    for (uint32_t i = 0, slot = 0; i < n; i++) {
        const fusec_dtype t = dtype_of(c, to, i);
        body->args[i] = fc_v_node(fc_build_slot(c->g, t, slot));
        body->args[n + i] = fc_v_node(fc_build_slot(c->g, t, FC_MAX_RECORD + slot));
        slot += fc_slots_of(t);
    }
    return false;
}

/* One value of the record that the definition made. */
static bool take_result(fc_checker *c, fc_call *f, fc_folding *to, uint32_t i, const fc_value *v) {
    const fusec_dtype t = dtype_of(c, to, i);
    if (v->kind == FC_V_UNKNOWN) return false;
    if (fc_v_weak(v)) {
        to->body[i] = fc_c_node(c, f->site, v, t);
        return to->body[i] != FC_NONODE;
    }
    to->body[i] = v->node;
    if (v->kind == FC_V_NODE && fc_v_dtype(c, v) == t) return true;
    fc_diag *d = fc_c_error_in(c, f->ast, FUSEC_RESULT_DTYPE, f->def->name.at,
                               "%s() makes %s of value %u of a record, where its elements are %s",
                               f->def->name.text, fc_c_value_type(c, v), i + 1, fc_dtypes[t].name);
    fc_diag_help(d, "%s(...) in the result", fc_dtypes[t].name);
    return false;
}

static bool take_results(fc_checker *c, fc_call *f, fc_folding *to, const fc_value *v) {
    const uint32_t n = v->kind == FC_V_TUPLE ? v->count : 1;
    if (v->kind == FC_V_UNKNOWN) return false;
    if (n != to->args.n) {
        fc_c_error_in(c, f->ast, FUSEC_ARGUMENT_COUNT, f->def->name.at,
                      "%s() gives %u result%s; of records of %u value%s it makes one of %u",
                      f->def->name.text, n, n == 1 ? "" : "s", to->args.n,
                      to->args.n == 1 ? "" : "s", to->args.n);
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!take_result(c, f, to, i, v->kind == FC_V_TUPLE ? &v->items[i] : v)) return false;
    return true;
}

static fc_value built(fc_checker *c, fc_folding *to) {
    fc_node out[FC_MAX_RECORD];
    fc_build_fold(c->g, &to->args, out);
    if (!fc_c_fine(c)) return FC_UNKNOWN;
    if (to->args.n == 1) return fc_v_node(out[0]);
    fc_value *items = fc_c_alloc(c, to->args.n * sizeof *items);
    if (!items) return FC_UNKNOWN;
    for (uint32_t i = 0; i < to->args.n; i++) items[i] = fc_v_node(out[i]);
    return (fc_value){.kind = FC_V_TUPLE, .count = to->args.n, .items = items};
}

/* The frame f of a definition has the value v: drops it, and gives the call its value, or calls the
 * definition that finishes. */
void fc_c_end_fold(fc_checker *c, fc_call *f, const fc_value *v) {
    fc_folding *to = f->fold;
    const fc_expr *site = f->site;
    fc_value r = FC_UNKNOWN;
    const bool good = take_results(c, f, to, v);
    fc_c_drop(c);
    c->cur = site;
    if (good) r = built(c, to);
    fc_def *def = r.kind == FC_V_UNKNOWN ? NULL : to->finish;
    if (def && def->item->param_count != to->args.n) {
        fc_c_error(c, FUSEC_ARGUMENT_COUNT, site->at,
                   "%s() takes %u arguments; it gets a record of %u", def->item->name.text,
                   def->item->param_count, to->args.n);
        r = FC_UNKNOWN;
    } else if (def) {
        fc_call *last = enter(c, c->f, site, def);
        for (uint32_t i = 0; last && i < to->args.n; i++)
            last->args[i] = r.kind == FC_V_TUPLE ? r.items[i] : r;
        return;
    }
    c->f->vals[c->f->at - c->f->root->first] = r;
    c->f->at++;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static fc_value linrec(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const keys[] = {"axis", "init", "exclusive", "reverse", "reset", NULL};
    const fc_arg_spec spec = {NULL, 2, 2, keys};
    const fc_expr *p[2], *kw[5];
    fc_fold_args how = {.scan = true};
    fc_value v[2], x[2];
    fc_node init = FC_NONODE;
    fusec_dtype t;
    int64_t axis;
    bool weak;
    if (!fc_c_args(c, e, &spec, p, kw)) return FC_UNKNOWN;
    for (int i = 0; i < 2; i++) {
        v[i] = *fc_c_val(f, p[i]);
        if (!fc_c_operand(c, p[i], &v[i])) return FC_UNKNOWN;
    }
    if (!fc_c_combine(c, e->at, 2, p, v, &t, &weak)) return FC_UNKNOWN;
    if (weak && t == FUSEC_F64) t = c->g->default_float;
    for (int i = 0; i < 2; i++) {
        x[i] = fc_v_node(fc_c_node(c, p[i], &v[i], t));
        if (x[i].kind == FC_V_UNKNOWN) return FC_UNKNOWN;
    }
    const int wide = fc_rank(c->g, x[0].node) > fc_rank(c->g, x[1].node) ? 0 : 1;
    if (!fc_c_the_axis(c, f, e, p[wide], &x[wide], kw[0], &axis) || !take_flags(c, f, kw + 2, &how))
        return FC_UNKNOWN;
    if (kw[1]) {
        const fc_value *from = fc_c_val(f, kw[1]);
        if (!fc_c_operand(c, kw[1], from)) return FC_UNKNOWN;
        init = fc_c_node(c, kw[1], from, t);
        if (init == FC_NONODE) return FC_UNKNOWN;
    }
    return fc_v_node(fc_c_built(c, fc_build_linrec(c->g, x[0].node, x[1].node, init, axis, how)));
}

bool fc_c_fold_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name) {
    if (!fc_c_no_elements(c, f, e)) return true;
    if (strcmp(name, "linrec") == 0) {
        *fc_c_val(f, e) = linrec(c, f, e);
        return true;
    }
    fc_folding *to = fc_c_alloc(c, sizeof *to);
    if (!to) return true;
    *to = (fc_folding){.what = strcmp(name, "scan") == 0 ? "scan" : "reduce"};
    to->args = (fc_fold_args){.what = to->what,
                              .element = to->element,
                              .body = to->body,
                              .scan = strcmp(name, "scan") == 0};
    if (!take_args(c, f, e, to)) return true;
    fc_def *def = definition(c, f, e, e->list);
    return !def || enter_body(c, f, e, def, to);
}
