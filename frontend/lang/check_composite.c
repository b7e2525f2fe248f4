/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_composite.c - calls of functions that are several nodes: the rows of ir/composites.def, var
 * and std with correction=, linspace, tril, triu, diff, and round with digits. */
#include "frontend/lang/check_impl.h"
#include "ir/complex.h"
#include "ir/composites.h"

/* Elementwise, of one result or two. */
static fc_value map(fc_checker *c, fc_call *f, const fc_expr *e, const fc_composite *row) {
    const fc_arg_spec spec = {NULL, row->operands, row->operands, NULL};
    const fc_expr *parts[3] = {NULL, NULL, NULL};
    fc_node out[2] = {FC_NONODE, FC_NONODE};
    fc_value v[3];
    if (!fc_c_args(c, e, &spec, parts, NULL)) return FC_UNKNOWN;
    for (uint32_t i = 0; i < spec.positions; i++) v[i] = *fc_c_val(f, parts[i]);
    const fc_row_operands o = fc_c_row_operands(c, row->like, e, e->at, spec.positions, parts, v);
    if (!o.good) return FC_UNKNOWN;
    row->map(c->g, o.node, out);
    /* a complex number of the text has no dtype of its own yet */
    if (o.weak && out[0] != FC_NONODE && fc_has_parts(c->g, out[0]) && row->results == 1)
        return fc_v_weak_node(c, fc_c_built(c, out[0]));
    if (row->results == 1) return fc_v_element_if(fc_c_built(c, out[0]), o.element);
    fc_value r = {.kind = FC_V_TUPLE, .count = row->results};
    r.items = fc_c_alloc(c, row->results * sizeof *r.items);
    if (!r.items) return FC_UNKNOWN;
    for (uint32_t i = 0; i < r.count; i++) {
        r.items[i] = fc_v_element_if(fc_c_built(c, out[i]), o.element);
        if (r.items[i].kind == FC_V_UNKNOWN) return FC_UNKNOWN;
    }
    return r;
}

static bool number(fc_checker *c, fc_call *f, const fc_expr *e, double *out) {
    if (!e) return true;
    const fc_value *v = fc_c_val(f, e);
    if (fc_v_real(v, out)) return true;
    if (v->kind != FC_V_UNKNOWN)
        fc_c_error(c, FUSEC_INVALID, e->at, "%s is a number that is known before the call",
                   e->label->text);
    return false;
}

static fc_value fold(fc_checker *c, fc_call *f, const fc_expr *e, const fc_composite *row) {
    const char *const keys[] = {"axis", "keepdims", row->parameter, NULL};
    const fc_arg_spec spec = {NULL, 1, 1, keys};
    const fc_expr *array[1], *kw[3] = {NULL, NULL, NULL};
    int64_t list[FC_MAX_RANK];
    uint32_t count;
    double parameter = row->otherwise;
    fc_axes a = {.n = 0};
    fc_value x;
    if (!fc_c_args(c, e, &spec, array, kw) || !fc_c_array_arg(c, f, array[0], &x) ||
        !fc_c_axes(c, f, array[0], &x, kw[0], list, &count) ||
        !fc_c_flag_arg(c, f, kw[1], &a.keepdims) || !number(c, f, kw[2], &parameter))
        return FC_UNKNOWN;
    if (kw[0]) a.n = count, a.at = list;
    return fc_v_node(fc_c_built(c, row->fold(c->g, x.node, &a, parameter)));
}

/* ---- arrays: linspace, tril, triu, diff, round with digits
 * --------------------------------------- */

static bool whole(fc_checker *c, fc_call *f, const fc_expr *e, const char *what, int64_t *out) {
    if (!e) return true;
    const fc_value *v = fc_c_val(f, e);
    if (v->kind == FC_V_INT && v->i >= -INT32_MAX && v->i <= INT32_MAX) {
        *out = (int64_t)v->i;
        return true;
    }
    if (v->kind != FC_V_UNKNOWN)
        fc_c_error(c, FUSEC_INVALID, e->at, "%s is an integer that is known before the call", what);
    return false;
}

static fc_value linspace(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const keys[] = {"dtype", NULL};
    const fc_arg_spec spec = {NULL, 3, 3, keys};
    const fc_expr *p[3], *kw;
    double end[2];
    fc_dim n;
    fusec_dtype t = c->g->default_float;
    if (!fc_c_args(c, e, &spec, p, &kw) || (kw && !fc_c_dtype_arg(c, kw, &t))) return FC_UNKNOWN;
    for (int i = 0; i < 2; i++) {
        const fc_value *v = fc_c_val(f, p[i]);
        if (fc_v_real(v, &end[i])) continue;
        if (v->kind != FC_V_UNKNOWN)
            fc_c_error(c, FUSEC_INVALID, p[i]->at,
                       "the ends of linspace() are numbers that are known before the call");
        return FC_UNKNOWN;
    }
    if (!fc_c_size(c, fc_c_val(f, p[2]), &n)) {
        fc_c_error(c, FUSEC_SHAPE_MISMATCH, p[2]->at, "how many numbers there are is a size");
        return FC_UNKNOWN;
    }
    return fc_v_node(fc_c_built(c, fc_build_linspace(c->g, t, end[0], end[1], n)));
}

/* One array and an integer, by position or by name. */
static fc_value of_integer(fc_checker *c, fc_call *f, const fc_expr *e, const char *name) {
    const bool diff = strcmp(name, "diff") == 0, digits = strcmp(name, "round") == 0;
    const char *const names[] = {NULL, diff ? "axis" : digits ? "digits" : "k"};
    const fc_arg_spec spec = {names, 2, 1, NULL};
    const fc_expr *p[2];
    int64_t k = diff ? -1 : 0;
    fc_value x;
    if (!fc_c_args(c, e, &spec, p, NULL) || !whole(c, f, p[1], names[1], &k) ||
        !fc_c_array_arg(c, f, p[0], &x))
        return FC_UNKNOWN;
    return fc_v_node(
        fc_c_built(c, diff     ? fc_build_diff(c->g, x.node, k)
                      : digits ? fc_build_round_to(c->g, x.node,
                                                   k < -400  ? -400
                                                   : k > 400 ? 400
                                                             : (int)k)
                               : fc_build_triangle(c->g, x.node, k, strcmp(name, "triu") == 0)));
}

const char *const fc_c_array_names[] = {"linspace", "tril", "triu", "diff", NULL};

bool fc_c_is_composite_name(const char *name) {
    return fc_c_listed(fc_c_array_names, name) || fc_composite_by_name(name) != NULL;
}

/* round(x) is a row. */
static bool has_digits(const fc_expr *e, const char *name) {
    return strcmp(name, "round") == 0 && e->list && e->list->next;
}

/* var and std are rows of their own, which divide by n. */
static const fc_composite *corrected(const fc_expr *e, const char *name) {
    for (const fc_expr *a = e->list; a; a = a->next)
        if (a->label && strcmp(a->label->text, "correction") == 0)
            return strcmp(name, "var") == 0   ? fc_composite_by_name("variance")
                   : strcmp(name, "std") == 0 ? fc_composite_by_name("deviation")
                                              : NULL;
    return NULL;
}

bool fc_c_composite_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name,
                         fc_value *out) {
    const fc_composite *row = fc_composite_by_name(name);
    if (!row) row = corrected(e, name);
    if (!row && strcmp(name, "linspace") == 0) return *out = linspace(c, f, e), true;
    if (!row && (fc_c_is_composite_name(name) || has_digits(e, name)))
        return *out = of_integer(c, f, e, name), true;
    if (!row) return false;
    *out = row->map ? map(c, f, e, row) : fold(c, f, e, row);
    return true;
}
