/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bind_sizes.c - sizes of a call: from the shapes of the inputs to the values of all dims, with the
 * checks whose messages the user sees. */
#include "runtime/bind.h"

static const char *input_name(const fc_program *p, uint32_t i) {
    return p->plan->graph.inputs.at[i].name;
}

static void print_array(const fc_tensor *a, fc_str *s) {
    fc_str_add(s, fc_dtypes[a->dtype].name);
    for (uint32_t i = 0; i < a->rank; i++)
        fc_str_printf(s, "%s%lld", i ? ", " : "[", (long long)a->shape[i]);
    if (a->rank) fc_str_char(s, ']');
}

/* "input x is f32[n, m], but f64[100, 64] was given" */
static fusec_status mismatch(const fc_program *p, uint32_t i, const fc_tensor *a, fusec_status code,
                             fc_error *e) {
    fc_str want, have;
    fc_str_init(&want, p->alloc);
    fc_str_init(&have, p->alloc);
    fc_type_print(&p->plan->graph, p->plan->graph.inputs.at[i].node, &want);
    print_array(a, &have);
    fusec_status s = fc_fail(e, code, "input %s is %s, but %s was given", input_name(p, i),
                             want.data, have.data);
    fc_str_free(&want);
    fc_str_free(&have);
    return s;
}

/* That there is such a dtype is for the faces to check. */
static fusec_status check_array(const fc_program *p, uint32_t i, const fc_tensor *a, fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    fc_node n = g->inputs.at[i].node;
    int64_t total = fc_dtypes[fc_at(g, n)->dtype].bytes;
    if (a->dtype != fc_at(g, n)->dtype) return mismatch(p, i, a, FUSEC_INPUT_DTYPE, e);
    if (a->rank != fc_rank(g, n)) return mismatch(p, i, a, FUSEC_INPUT_SHAPE, e);
    for (uint32_t k = 0; k < a->rank; k++) {
        if (a->shape[k] < 0)
            return fc_fail(e, FUSEC_INPUT_SHAPE, "input %s has the negative size %lld",
                           input_name(p, i), (long long)a->shape[k]);
        /* a zero elsewhere must not hide an overflow */
        if (!fc_mul_ok(total, a->shape[k] ? a->shape[k] : 1, &total))
            return fc_fail(e, FUSEC_INPUT_SHAPE, "input %s has more bytes than 64 bits can count",
                           input_name(p, i));
    }
    return FUSEC_OK;
}

/* ---- symbols ----------------------------------------------------------------------------- */

static fusec_status bind_symbols(const fc_program *p, uint32_t nin, const fc_tensor *in,
                                 uint32_t ndims, const fc_dim_value *dims, int64_t *symbols,
                                 fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    const fc_dimtab *t = &g->dims;
    uint32_t small[64] = {0}, *from = small; /* where a symbol was met: input + 2; 1 = given */
    if (t->syms.len > FC_COUNT(small)) from = fc_calloc(p->alloc, t->syms.len, sizeof *from);
    if (!from) return fc_oom(e);
    fusec_status s = FUSEC_OK;
    for (uint32_t i = 0; i < ndims; i++)
        if (dims[i].sym < t->syms.len) {
            symbols[dims[i].sym] = dims[i].value;
            from[dims[i].sym] = 1;
        }
    for (uint32_t i = 0; !s && i < nin; i++)
        for (uint32_t k = 0; !s && k < in[i].rank; k++) {
            uint32_t sym;
            if (!fc_dim_is_sym(t, fc_axis(g, g->inputs.at[i].node, k), &sym)) continue;
            if (t->syms.at[sym].kind != FC_SYM_NAMED) continue;
            if (!from[sym]) {
                symbols[sym] = in[i].shape[k];
                from[sym] = i + 2;
            } else if (symbols[sym] != in[i].shape[k]) {
                const char *first = from[sym] == 1 ? "the call" : input_name(p, from[sym] - 2);
                s = fc_fail(e, FUSEC_INPUT_SHAPE, "%s is %lld in %s but %lld in %s",
                            t->syms.at[sym].name, (long long)symbols[sym], first,
                            (long long)in[i].shape[k], input_name(p, i));
            }
        }
    for (uint32_t i = 0; !s && i < t->syms.len; i++)
        if (t->syms.at[i].kind == FC_SYM_NAMED && !from[i])
            s = fc_fail(e, FUSEC_MISSING_INPUT, "nothing gives the size %s", t->syms.at[i].name);
    if (from != small) fc_free(p->alloc, from);
    return s;
}

/* ---- conditions -------------------------------------------------------------------------- */

/* " (n = 1, m = 3)": the names in two sizes, unless a size is just its name. */
static void print_names(const fc_graph *g, fc_dim a, fc_dim b, const int64_t *values, fc_str *out) {
    const fc_dimtab *t = &g->dims;
    const fc_form *form[2] = {&t->forms.at[a], &t->forms.at[b]};
    uint32_t said = 0;
    if (fc_dim_is_sym(t, a, NULL) && (form[1]->nterms == 0 || fc_dim_is_sym(t, b, NULL))) return;
    for (fc_dim d = 0; d < t->forms.len; d++) {
        uint32_t sym;
        bool used = false;
        if (!fc_dim_is_sym(t, d, &sym) || t->syms.at[sym].kind != FC_SYM_NAMED) continue;
        for (int i = 0; i < 2; i++)
            for (uint32_t k = 0; k < form[i]->nterms; k++) used |= form[i]->terms[k].sym == sym;
        if (!used) continue;
        fc_str_printf(out, "%s%s = %lld", said++ ? ", " : " (", t->syms.at[sym].name,
                      (long long)values[d]);
    }
    if (said) fc_str_char(out, ')');
}

fusec_status fc_condition_test(const fc_graph *g, const fc_condition *c, const int64_t *values,
                               fc_error *e) {
    int64_t a = values[c->a], b = values[c->b];
    if (c->kind == FC_CHECK_EQ ? a == b : a >= b) return FUSEC_OK;
    fc_str s;
    fc_str_init(&s, g->alloc);
    if (c->message) fc_str_printf(&s, "%s: ", c->message);
    fc_dim_print(&g->dims, c->a, &s);
    fc_str_add(&s, c->kind == FC_CHECK_EQ ? " must equal " : " must be at least ");
    fc_dim_print(&g->dims, c->b, &s);
    if (fc_dim_is_const(&g->dims, c->b, NULL))
        fc_str_printf(&s, ", but it is %lld", (long long)a);
    else
        fc_str_printf(&s, ", but they are %lld and %lld", (long long)a, (long long)b);
    print_names(g, c->a, c->b, values, &s);
    fusec_status r = fc_fail(e, c->status, "%s", s.data);
    fc_str_free(&s);
    return r;
}

static fusec_status check_axes(const fc_program *p, uint32_t nin, const fc_tensor *in,
                               const int64_t *values, fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    for (uint32_t i = 0; i < nin; i++)
        for (uint32_t k = 0; k < in[i].rank; k++) {
            int64_t want = values[fc_axis(g, g->inputs.at[i].node, k)];
            if (want == in[i].shape[k]) continue;
            fc_str s;
            fc_str_init(&s, p->alloc);
            fc_dim_print(&g->dims, fc_axis(g, g->inputs.at[i].node, k), &s);
            fc_fail(e, FUSEC_INPUT_SHAPE, "axis %u of input %s must be %s = %lld, but it is %lld",
                    k, input_name(p, i), s.data, (long long)want, (long long)in[i].shape[k]);
            fc_str_free(&s);
            return FUSEC_INPUT_SHAPE;
        }
    return FUSEC_OK;
}

fusec_status fc_bind_sizes(const fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                           const fc_dim_value *dims, int64_t *symbols, int64_t *values,
                           fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    fc_dim bad = 0;
    if (nin != g->inputs.len)
        return fc_fail(e, FUSEC_ARGUMENT_COUNT, "the program has %zu inputs, but %u were given",
                       g->inputs.len, nin);
    for (uint32_t i = 0; i < nin; i++) FC_TRY(check_array(p, i, &in[i], e));
    FC_TRY(bind_symbols(p, nin, in, ndims, dims, symbols, e));
    if (!fc_dims_eval(&g->dims, symbols, values, &bad)) {
        fc_str s;
        fc_str_init(&s, p->alloc);
        fc_dim_print(&g->dims, bad, &s);
        fusec_status r = fc_fail(e, FUSEC_INPUT_SHAPE,
                                 "the size %s does not fit into 64 bits for these inputs", s.data);
        fc_str_free(&s);
        return r;
    }
    FC_TRY(check_axes(p, nin, in, values, e));
    for (size_t i = 0; i < g->conditions.len; i++)
        FC_TRY(fc_condition_test(g, &g->conditions.at[i], values, e));
    return FUSEC_OK;
}
