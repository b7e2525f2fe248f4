/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_rule.c - @gradient(g) before a definition: its derivative is what g says.
 *
 * When a call of the definition has its results, g is called in the same place: with the arguments
 * of the call, then a cotangent for each result that is a float or complex. It gives a derivative
 * for each argument; those of other arguments are not looked at. While g is at work, the definition
 * is derived by its body. */
#include "frontend/lang/check_impl.h"

struct fc_own_rule {
    const fc_item *def;
    uint32_t nargs, nseeds;
    fc_value *args, value;   /* of the call */
    fc_node *seeds, *seeded; /* cotangents, and the results they belong to */
};

static const fc_attr *gradient_attr(const fc_item *def) {
    for (const fc_attr *a = def ? def->attrs : NULL; a; a = a->next)
        if (strcmp(a->name.text, "gradient") == 0) return a;
    return NULL;
}

static bool derives(fc_checker *c, const fc_value *v) {
    if (v->kind != FC_V_NODE || v->weak) return false;
    const fusec_dtype t = fc_v_dtype(c, v);
    return fc_is_float(t) || fc_is_complex(t);
}

static fc_def *rule_of(fc_checker *c, const fc_call *f) {
    const fc_attr *a = gradient_attr(f->def);
    const fc_expr *e = a ? a->args : NULL;
    if (!a) return NULL;
    fc_def *g = a->count == 1 && e->kind == FC_EX_NAME && !e->label ? fc_c_callee(c, f, e) : NULL;
    if (g && g->item->kind == FC_IT_DEF) return g;
    fc_diag *d = fc_c_error_in(c, f->ast, FUSEC_UNKNOWN_NAME, a->at,
                               "@gradient() names the definition that gives the derivative");
    fc_diag_help(d, "@gradient(g), and def g(x, dy) = ... for def %s(x)", f->def->name.text);
    return NULL;
}

static bool is_at_work(const fc_checker *c, const fc_item *def) {
    for (size_t i = 0; i < c->calls.len; i++)
        if (c->calls.at[i]->def == def) return true;
    return false;
}

static fc_value *results_of(fc_value *v, uint32_t *n) {
    *n = v->kind == FC_V_TUPLE ? v->count : 1;
    return v->kind == FC_V_TUPLE ? v->items : v;
}

static fc_own_rule *new_rule(fc_checker *c, const fc_call *f, const fc_value *v) {
    fc_own_rule *r = fc_c_alloc(c, sizeof *r);
    uint32_t n;
    if (!r) return NULL;
    *r = (fc_own_rule){.def = f->def, .nargs = f->def->param_count, .value = *v};
    fc_value *results = results_of(&r->value, &n);
    r->args = fc_c_alloc(c, (r->nargs + 1) * sizeof *r->args);
    r->seeds = fc_c_alloc(c, n * sizeof *r->seeds);
    r->seeded = fc_c_alloc(c, n * sizeof *r->seeded);
    if (!r->args || !r->seeds || !r->seeded) return NULL;
    memcpy(r->args, f->args, r->nargs * sizeof *r->args);
    for (uint32_t i = 0; i < n; i++) {
        if (!derives(c, &results[i])) continue;
        r->seeded[r->nseeds] = results[i].node;
        r->seeds[r->nseeds++] = fc_c_built(c, fc_build_seed(c->g, results[i].node));
    }
    return r;
}

/* The frame f of a call has the value v: calls its rule, in whose frame the walk goes on, and drops
 * f. False: it has none. */
bool fc_c_begin_rule(fc_checker *c, fc_call *f, const fc_value *v) {
    bool any = false;
    fc_def *g = v->kind == FC_V_UNKNOWN ? NULL : rule_of(c, f);
    for (uint32_t i = 0; g && i < f->def->param_count; i++) any |= derives(c, &f->args[i]);
    if (!any || is_at_work(c, g->item) || c->stop) return false;
    fc_own_rule *r = new_rule(c, f, v);
    if (!r || !r->nseeds || !fc_c_check_signature(c, g)) return false;
    if (g->item->param_count != r->nargs + r->nseeds) {
        fc_c_error_in(c, f->ast, FUSEC_ARGUMENT_COUNT, gradient_attr(f->def)->at,
                      "%s() takes %u arguments; as the derivative of %s() it gets its %u and %u "
                      "cotangent%s",
                      g->item->name.text, g->item->param_count, f->def->name.text, r->nargs,
                      r->nseeds, r->nseeds == 1 ? "" : "s");
        return false;
    }
    const fc_expr *site = f->site;
    const fc_ast *site_ast = f->site_ast;
    g->called = true;
    fc_c_drop(c);
    fc_call *to = fc_c_push(c, g->scope, g->item);
    if (!to) return true;
    to->site = site;
    to->site_ast = site_ast;
    to->rule = r;
    for (uint32_t i = 0; i < g->item->param_count; i++) {
        to->given[i] = true;
        to->args[i] = i < r->nargs ? r->args[i] : fc_v_node(r->seeds[i - r->nargs]);
    }
    return true;
}

/* The derivative by argument i that the rule gave. */
static fc_node share_of(fc_checker *c, fc_call *f, const fc_own_rule *r, uint32_t i,
                        const fc_value *v) {
    if (v->kind == FC_V_UNKNOWN || !derives(c, &r->args[i])) return FC_NONODE;
    const fusec_dtype t = fc_v_dtype(c, &r->args[i]);
    if (fc_v_weak(v)) return fc_c_node(c, f->site, v, t);
    if (v->kind == FC_V_NODE && fc_v_dtype(c, v) == t) return v->node;
    fc_c_error_in(c, f->ast, FUSEC_RESULT_DTYPE, f->def->name.at,
                  "%s() gives %s as the derivative by argument %u of %s(), which is %s",
                  f->def->name.text, fc_c_value_type(c, v), i + 1, r->def->name.text,
                  fc_c_value_type(c, &r->args[i]));
    return FC_NONODE;
}

/* The rule's frame f has its results: the value of the call, with the rule. */
fc_value fc_c_apply_rule(fc_checker *c, fc_call *f, fc_value given) {
    fc_own_rule *r = f->rule;
    uint32_t n, nresults, k = 0;
    const fc_value *shares = results_of(&given, &n);
    fc_value *results = results_of(&r->value, &nresults);
    if (given.kind == FC_V_UNKNOWN) return FC_UNKNOWN;
    if (n != r->nargs) {
        fc_c_error_in(c, f->ast, FUSEC_ARGUMENT_COUNT, f->def->name.at,
                      "%s() gives %u result%s; as the derivative of %s() it gives one for each of "
                      "its %u arguments",
                      f->def->name.text, n, n == 1 ? "" : "s", r->def->name.text, r->nargs);
        return FC_UNKNOWN;
    }
    fc_node *args = fc_c_alloc(c, n * sizeof *args), *dx = fc_c_alloc(c, n * sizeof *dx),
            *out = fc_c_alloc(c, r->nseeds * sizeof *out);
    if (!args || !dx || !out) return FC_UNKNOWN;
    uint32_t nargs = 0;
    for (uint32_t i = 0; i < n; i++) {
        dx[nargs] = share_of(c, f, r, i, &shares[i]);
        args[nargs] = r->args[i].node;
        nargs += dx[nargs] != FC_NONODE;
    }
    fc_build_custom(c->g, r->nseeds, r->seeded, r->seeds, nargs, args, dx, out);
    if (!fc_c_fine(c)) return FC_UNKNOWN;
    for (uint32_t i = 0; i < nresults; i++)
        if (derives(c, &results[i])) results[i].node = out[k++];
    return r->value;
}
