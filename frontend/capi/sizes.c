/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sizes.c - sizes of arrays that exist: symbols with known values, tests of conditions, shapes.
 *
 * Values are computed once for each dim, in order of ids: an opaque symbol is used by larger ids
 * than those of its operands only, as in fc_dims_eval. */
#include "frontend/capi/capi.h"

fc_dim fc_extent_of(fusec_graph *g, int64_t n) {
    if (n <= 1) return fc_dim_const(&g->ir.dims, n);
    fc_str name;
    fc_str_init(&name, g->ir.alloc);
    fc_str_printf(&name, "%lld",
                  (long long)n); /* reads like the number it is; users' names start with letters */
    fc_dim d = name.oom ? FC_DIM_NONE : fc_dim_named(&g->ir.dims, name.data);
    fc_str_free(&name);
    uint32_t sym;
    bool made = fc_dim_is_sym(&g->ir.dims, d, &sym);
    while (made && g->syms.len <= sym)
        made = fc_push(g->ir.alloc, &g->syms, ((fc_known){0, false}));
    if (!made) return fc_oom(&g->ir.error), FC_DIM_NONE;
    g->syms.at[sym] = (fc_known){n, true};
    return d;
}

/* ---- values ---------------------------------------------------------------------------------- */

static fc_known opaque_value(const fusec_graph *g, const fc_sym *s) {
    fc_known a = g->dims.at[s->a], b = g->dims.at[s->b];
    int64_t v;
    if (!a.known || !b.known) return (fc_known){0, false};
    if (s->kind == FC_SYM_MUL) {
        bool fits = fc_mul_ok(a.value, b.value, &v);
        return (fc_known){v, fits};
    }
    if (b.value == 0 || (a.value == INT64_MIN && b.value == -1)) return (fc_known){0, false};
    int64_t q = a.value / b.value, r = a.value % b.value;
    if (r && (r < 0) != (b.value < 0)) q--, r += b.value;
    return (fc_known){s->kind == FC_SYM_FLOORDIV ? q : r, true};
}

static fc_known sym_value(const fusec_graph *g, uint32_t sym) {
    const fc_sym *s = &g->ir.dims.syms.at[sym];
    if (s->kind != FC_SYM_NAMED) return opaque_value(g, s);
    return sym < g->syms.len ? g->syms.at[sym] : (fc_known){0, false};
}

static fc_known form_value(const fusec_graph *g, const fc_form *f) {
    fc_known r = {f->c, true};
    for (uint32_t i = 0; i < f->nterms && r.known; i++) {
        fc_known s = sym_value(g, f->terms[i].sym);
        int64_t p;
        r.known =
            s.known && fc_mul_ok(f->terms[i].coef, s.value, &p) && fc_add_ok(r.value, p, &r.value);
    }
    return r;
}

/* Brings the values up to date with the dims; false: out of memory. */
static bool update_values(fusec_graph *g) {
    while (g->dims.len < g->ir.dims.forms.len) {
        fc_known v = form_value(g, &g->ir.dims.forms.at[g->dims.len]);
        if (!fc_push(g->ir.alloc, &g->dims, v)) return false;
    }
    return true;
}

/* ---- conditions ------------------------------------------------------------------------------ */

static void test_condition(fusec_graph *g, const fc_condition *c) {
    fc_known a = g->dims.at[c->a], b = g->dims.at[c->b];
    if (!a.known || !b.known) return; /* a matter of the call */
    if (c->kind == FC_CHECK_EQ ? a.value == b.value : a.value >= b.value) return;
    fc_fail(&g->ir.error, c->status, "%s: %lld %s %lld",
            c->message ? c->message : "sizes do not fit together", (long long)a.value,
            c->kind == FC_CHECK_EQ ? "is not" : "is smaller than", (long long)b.value);
}

void fc_test_conditions(fusec_graph *g) {
    if (!update_values(g)) fc_oom(&g->ir.error);
    for (; g->tested < g->ir.conditions.len; g->tested++)
        if (!g->ir.error.code) test_condition(g, &g->ir.conditions.at[g->tested]);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

bool fc_array_bytes(fusec_dtype t, uint32_t rank, const int64_t *shape, size_t *bytes) {
    int64_t count = 1;
    bool empty = false;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 0) return false;
        empty |= shape[i] == 0;
    }
    for (uint32_t i = 0; i < rank && !empty; i++)
        if (!fc_mul_ok(count, shape[i], &count)) return false;
    if (!fc_mul_ok(count, fc_dtypes[t].bytes, &count) || (uint64_t)count > PTRDIFF_MAX)
        return false;
    *bytes = empty ? 0 : (size_t)count;
    return true;
}

static fusec_status unknown_size(fusec_graph *g, fc_dim d, fc_error *e) {
    fc_str s;
    fc_str_init(&s, g->ir.alloc);
    fc_dim_print(&g->ir.dims, d, &s);
    fc_fail(e, FUSEC_UNKNOWN_DIM,
            "the size %s is not known: only a program's call gives it a value", s.data);
    fc_str_free(&s);
    return e->code;
}

fusec_status fc_known_shape(fusec_graph *g, fc_node n, int64_t *shape, size_t *bytes, fc_error *e) {
    uint32_t rank = fc_rank(&g->ir, n);
    size_t room;
    if (!update_values(g)) return fc_oom(e);
    for (uint32_t i = 0; i < rank; i++) {
        fc_dim d = fc_axis(&g->ir, n, i);
        if (!g->dims.at[d].known) return unknown_size(g, d, e);
        shape[i] = g->dims.at[d].value;
    }
    if (!fc_array_bytes((fusec_dtype)fc_at(&g->ir, n)->dtype, rank, shape, bytes ? bytes : &room))
        return fc_fail(e, FUSEC_INPUT_SHAPE, "a result has more bytes than memory can address");
    return FUSEC_OK;
}

/* In a graph of bound arrays a literal size in a shape is an extent like those of the arrays, so
 * that the same code with other numbers is the same expression. */
static fc_dim take_dim(fusec_graph *g, fc_dim d) {
    int64_t n;
    if (g->leaves.len == g->ninputs || !fc_dim_is_const(&g->ir.dims, d, &n) || n <= 1) return d;
    return fc_extent_of(g, n);
}

bool fc_take_shape(fusec_graph *g, const char *what, int rank, const fusec_dim *shape,
                   fc_dim *out) {
    if (g->ir.error.code) return false;
    if (rank < 0 || (rank > 0 && !shape))
        return fc_fail(&g->ir.error, FUSEC_INVALID, "%s: rank %d%s", what, rank,
                       rank > 0 ? " without a shape" : ""),
               false;
    if (rank > FC_MAX_RANK)
        return fc_fail(&g->ir.error, FUSEC_LIMIT, "%s: rank %d is above the limit of %d", what,
                       rank, FC_MAX_RANK),
               false;
    for (int i = 0; i < rank; i++) {
        if (shape[i].graph != g || shape[i].id >= g->ir.dims.forms.len)
            return fc_fail(&g->ir.error, FUSEC_INVALID,
                           "%s: the size of axis %d is not a size of this graph", what, i),
                   false;
        out[i] = take_dim(g, shape[i].id);
    }
    return true;
}
