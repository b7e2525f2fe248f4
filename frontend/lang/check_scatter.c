/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_scatter.c - stores at computed places; their nodes are made by ir/build_scatter.c.
 *
 *     scatter(h, idx, v, op=, axis=, unique=, bounds=)   scatter_along(...)
 *     histogram(idx, n, weights=)   segment(v, ids, n, op=)
 *     h[k[i], j] += v[i, j] */
#include "frontend/lang/check_impl.h"

/* ---- arguments -------------------------------------------------------------------------------
 */

static const fc_op rows[] = {FC_OP_sum, FC_OP_min, FC_OP_max, FC_OP_any, FC_OP_all};

/* op="...": a reduction, or "set" or "mean" where they can be. */
static bool op_arg(fc_checker *c, const fc_expr *e, const char *more, fc_op *out) {
    *out = FC_OP_sum;
    if (!e) return true;
    const bool text = e->kind == FC_EX_STRING;
    for (size_t i = 0; text && i < FC_COUNT(rows); i++)
        if (strcmp(e->text, fc_ops[rows[i]].name) == 0) return *out = rows[i], true;
    if (text && strcmp(e->text, more) == 0)
        return *out = strcmp(more, "mean") == 0 ? FC_OP_mean : FC_OP_NONE, true;
    fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at, "%s is no way to put values together",
                            fc_c_quote(c, e->at));
    fc_diag_help(d, "op= is \"sum\", \"min\", \"max\", \"any\", \"all\" or \"%s\"", more);
    return false;
}

/* Whether elements of this dtype take values in so. */
static bool can_scatter(fc_checker *c, const fc_expr *at, fc_op op, fusec_dtype t) {
    if (fc_can_scatter(op, t)) return true;
    fc_diag *d =
        fc_c_error(c, FUSEC_DTYPE_MISMATCH, at->at, "elements of dtype %s do not take in %s",
                   fc_dtypes[t].name, fc_ops[op].name);
    fc_diag_help(d, t == FUSEC_BOOL ? "of bool there are \"any\" and \"all\""
                                    : "\"any\" and \"all\" are for bool");
    return false;
}

/* The values in the dtype of what they go to. */
static bool value_of(fc_checker *c, const fc_expr *e, const fc_value *v, const fc_expr *array,
                     const fc_value *x, fc_node *out) {
    const fusec_dtype t = fc_v_dtype(c, x);
    if (!fc_c_operand(c, e, v)) return false;
    if (!fc_v_weak(v) && fc_v_dtype(c, v) != t) {
        fc_diag *d = fc_c_error(c, FUSEC_DTYPE_MISMATCH, e->at, "%s is %s, and %s takes %s in",
                                fc_c_quote(c, e->at), fc_c_value_type(c, v),
                                fc_c_quote(c, array->at), fc_dtypes[t].name);
        fc_c_fact(c, d, array, x);
        fc_diag_help(d, "%s(%s)", fc_dtypes[t].name, fc_c_quote(c, e->outer));
        return false;
    }
    *out = fc_c_node(c, e, v, t);
    return *out != FC_NONODE;
}

static fc_node bounded(fc_checker *c, fc_call *f, const fc_expr *e, const fc_expr *at,
                       fc_bounds bounds, uint32_t axis, fc_node n, fc_dim size) {
    if (bounds == FC_BOUNDS_CHECK) return fc_c_checked(c, f, e, at, axis, n, size);
    if (bounds == FC_BOUNDS_CLAMP) return fc_c_folded(c, FC_EDGE_EDGE, n, size);
    return n;
}

/* ---- functions -------------------------------------------------------------------------------
 */

static fc_value scatter_at(fc_checker *c, fc_call *f, const fc_expr *e, bool along) {
    static const char *const names[] = {NULL, "index", "value"}, *const keys[] = {"op", "axis",
                                                                                  "unique",
                                                                                  "bounds", NULL};
    const fc_arg_spec spec = {names, 3, 3, keys};
    const fc_expr *p[3], *kw[4];
    fc_scatter s;
    fc_value x, i;
    fc_node value;
    if (!fc_c_args(c, e, &spec, p, kw) || !fc_c_array_arg(c, f, p[0], &x) ||
        !fc_c_index_arg(c, f, p[1], &i) || !op_arg(c, kw[0], "set", &s.op) ||
        !fc_c_axis_arg(c, f, e, p[0], &x, kw[1], 0, &s.axis) ||
        !fc_c_flag_arg(c, f, kw[2], &s.unique) ||
        !can_scatter(c, kw[0] ? kw[0] : p[0], s.op, fc_v_dtype(c, &x)) ||
        !value_of(c, p[2], fc_c_val(f, p[2]), p[0], &x, &value))
        return FC_UNKNOWN;
    const fc_bounds bounds = fc_c_bounds_arg(c, kw[3], "drop");
    if (bounds == FC_BOUNDS_BAD) return FC_UNKNOWN;
    if (!fc_v_rank(c, &x)) {
        fc_c_error(c, FUSEC_BAD_AXIS, p[0]->at, "%s has no axes", fc_c_quote(c, p[0]->at));
        return FC_UNKNOWN;
    }
    const fc_dim size = fc_axis(c->g, x.node, s.axis);
    const fc_node at = bounded(c, f, e, p[1], bounds, s.axis, i.node, size);
    const bool inside = bounds == FC_BOUNDS_INSIDE;
    if (at == FC_NONODE) return FC_UNKNOWN;
    const fc_node r = !along   ? fc_build_put(c->g, x.node, at, value, s, inside)
                      : inside ? fc_build_scatter_inside(c->g, x.node, at, value, s)
                               : fc_build_scatter(c->g, x.node, at, value, s);
    return fc_v_node(fc_c_built(c, r));
}

static fc_value scatter(fc_checker *c, fc_call *f, const fc_expr *e) {
    return scatter_at(c, f, e, false);
}

static fc_value scatter_along(fc_checker *c, fc_call *f, const fc_expr *e) {
    return scatter_at(c, f, e, true);
}

/* How many indices have each of the numbers 0 .. n - 1, or the sums of their weights. */
static fc_value histogram(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const names[] = {NULL, "n"}, *const keys[] = {"weights", NULL};
    const fc_arg_spec spec = {names, 2, 2, keys};
    const fc_expr *p[2], *kw[1];
    fc_dim n;
    fc_value i;
    if (!fc_c_args(c, e, &spec, p, kw) || !fc_c_index_arg(c, f, p[0], &i) ||
        !fc_c_size_arg(c, f, p[1], &n))
        return FC_UNKNOWN;
    fc_graph *g = c->g;
    fc_node value = fc_build_const(g, FUSEC_I64, 1);
    if (kw[0]) {
        const fc_value *v = fc_c_val(f, kw[0]);
        if (!fc_c_operand(c, kw[0], v)) return FC_UNKNOWN;
        value = fc_c_strong(c, kw[0], v);
        if (value == FC_NONODE) return FC_UNKNOWN;
    }
    const fusec_dtype t = (fusec_dtype)fc_at(g, value)->dtype;
    if (!can_scatter(c, kw[0] ? kw[0] : p[0], FC_OP_sum, t)) return FC_UNKNOWN;
    const fc_node at = fc_c_checked_for(c, f, e, p[0], "the result", i.node, n);
    return fc_v_node(fc_c_built(c, fc_build_histogram(g, at, value, n)));
}

static fc_value segment(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const names[] = {NULL, "ids", "n"}, *const keys[] = {"op", NULL};
    const fc_arg_spec spec = {names, 3, 3, keys};
    const fc_expr *p[3], *kw[1];
    fc_op op;
    fc_dim n;
    fc_value x, i;
    if (!fc_c_args(c, e, &spec, p, kw) || !fc_c_array_arg(c, f, p[0], &x) ||
        !fc_c_index_arg(c, f, p[1], &i) || !fc_c_size_arg(c, f, p[2], &n) ||
        !op_arg(c, kw[0], "mean", &op))
        return FC_UNKNOWN;
    const fusec_dtype t = fc_v_dtype(c, &x);
    if (!can_scatter(c, kw[0] ? kw[0] : p[0], op == FC_OP_mean ? FC_OP_sum : op, t))
        return FC_UNKNOWN;
    if (op == FC_OP_mean && !fc_is_float(t)) {
        fc_c_error(c, FUSEC_DTYPE_MISMATCH, p[0]->at, "the mean of %s is taken of floats",
                   fc_c_value_type(c, &x));
        return FC_UNKNOWN;
    }
    if (!fc_v_rank(c, &i) || fc_v_rank(c, &i) > fc_v_rank(c, &x)) {
        fc_diag *d =
            fc_c_error(c, FUSEC_SHAPE_MISMATCH, p[1]->at,
                       "segment() needs a number for each row of %s", fc_c_quote(c, p[0]->at));
        fc_c_fact(c, d, p[0], &x);
        fc_c_fact(c, d, p[1], &i);
        return FC_UNKNOWN;
    }
    const fc_node ids = fc_c_checked_for(c, f, e, p[1], "the result", i.node, n);
    if (ids == FC_NONODE) return FC_UNKNOWN;
    return fc_v_node(fc_c_built(c, fc_build_segment(c->g, x.node, ids, n, op)));
}

/* ---- h[k[i], j] += v[i, j] ---------------------------------------------------------------------
 *
 * Every index is an axis of the updates. What stands alone on the left goes along an axis of the
 * array; all else is computed, and several computed axes, with what is between them, are one. */

typedef struct put {
    fc_checker *c;
    fc_call *f;
    const fc_expr *e; /* h[...] */
    fc_node array;
    uint32_t rank, axes; /* of the array; of the updates */
    fc_dim sizes[FC_MAX_RANK];
    const fc_expr *parts[FC_MAX_RANK];
    int bare[FC_MAX_RANK]; /* of each axis of the array: the index that stands alone, or -1 */
    uint32_t first, last;  /* axes of the array that are computed */
} put;

static bool part_error(put *p, const fc_expr *at, const char *text) {
    const fc_value v = fc_v_node(p->array);
    fc_diag *d = fc_c_error(p->c, FUSEC_BAD_SLICE, at->at, "%s", text);
    fc_c_fact(p->c, d, p->e->a, &v);
    return false;
}

/* Whether the index goes through all of the axis, as no other part does. */
static int stands_alone(const put *p, const fc_value *v, uint32_t axis) {
    int64_t low;
    if (v->kind != FC_V_INDEX || v->count != 1 || v->terms[0].coef != 1) return -1;
    if (!fc_dim_is_const(&p->c->g->dims, v->dim, &low) || low) return -1;
    if (v->terms[0].size != fc_axis(p->c->g, p->array, axis)) return -1;
    for (uint32_t i = 0; i < axis; i++)
        if (p->bare[i] == (int)v->terms[0].axis) return -1;
    return (int)v->terms[0].axis;
}

static bool read_parts(put *p) {
    fc_checker *c = p->c;
    uint32_t axis = 0;
    bool any = false;
    for (const fc_expr *s = p->e->list; s; s = s->next, axis++) {
        p->parts[axis] = s;
        p->bare[axis] = -1;
        if (s->kind == FC_EX_SLICE || s->kind == FC_EX_ELLIPSIS || s->kind == FC_EX_NEWAXIS)
            return part_error(p, s, "on the left of `+=` every axis has one index");
        const fc_binder *b = NULL;
        for (size_t i = 0; i < p->f->binders.len && s->kind == FC_EX_INDEX; i++)
            if (p->f->binders.at[i].range == s) b = &p->f->binders.at[i];
        if (s->kind == FC_EX_INDEX) *fc_c_val(p->f, s) = b ? fc_c_index_value(c, p->f, b) : FC_UNKNOWN;
        const fc_value *v = fc_c_val(p->f, s);
        if (!fc_c_operand(c, s, v)) return false;
        const bool whole = v->kind == FC_V_INT || v->kind == FC_V_DIM || v->kind == FC_V_INDEX;
        if (!whole && !(v->kind == FC_V_NODE && fc_is_int(fc_v_dtype(c, v))))
            return part_error(p, s,
                              fc_c_text(c, "%s is %s, and an index is an integer",
                                        fc_c_quote(c, s->at), fc_c_value_type(c, v)));
        if (v->kind == FC_V_NODE && fc_v_rank(c, v) && !v->element)
            return part_error(p, s,
                              fc_c_text(c, "%s is %s, an array, among indices of single elements",
                                        fc_c_quote(c, s->at), fc_c_value_type(c, v)));
        p->bare[axis] = stands_alone(p, v, axis);
        if (p->bare[axis] >= 0) continue;
        if (!any) p->first = axis;
        p->last = axis;
        any = true;
    }
    return true;
}

/* The place along all computed axes, as one number. */
static fc_node flat_index(put *p) {
    fc_checker *c = p->c;
    fc_graph *g = c->g;
    fc_node flat = FC_NONODE;
    for (uint32_t i = p->first; i <= p->last; i++) {
        const fc_dim size = fc_axis(g, p->array, i);
        fc_node n = fc_c_strong(c, p->parts[i], fc_c_val(p->f, p->parts[i]));
        if (n != FC_NONODE && p->bare[i] < 0)
            n = fc_c_checked(c, p->f, p->e, p->parts[i], i, n, size);
        n = n == FC_NONODE ? n : fc_c_with_axes(c, n, p->axes);
        if (n == FC_NONODE) return n;
        flat = flat == FC_NONODE
                   ? n
                   : fc_build_op(g, FC_OP_add,
                                 fc_build_op(g, FC_OP_mul, flat, fc_build_dim(g, size), FC_NONODE),
                                 n, FC_NONODE);
        if (!fc_c_fine(c)) return FC_NONODE;
    }
    return flat;
}

/* What has an axis for each index gets them in the order of the updates: those that the array has
 * not, then the array's, the last of the former in the place of the computed axis. */
static fc_node in_order(put *p, fc_node n, const fc_dim *sizes) {
    fc_graph *g = p->c->g;
    fc_dim shape[FC_MAX_RANK + 1];
    int64_t perm[FC_MAX_RANK + 1];
    bool own[FC_MAX_RANK] = {false};
    uint32_t at = 0, after = 0;
    for (uint32_t i = 0; i < p->rank; i++)
        if (p->bare[i] >= 0 && (i < p->first || i > p->last)) own[p->bare[i]] = true;
    uint32_t last = p->axes; /* an axis of size 1, if all have their places */
    for (uint32_t i = 0; i < p->axes; i++)
        if (!own[i]) last = i;
    const uint32_t all = p->axes + (last == p->axes);
    for (uint32_t i = 0; i < all; i++)
        shape[i] = i == p->axes ? fc_dim_const(&g->dims, 1) : sizes ? sizes[i] : fc_axis(g, n, i);
    n = sizes ? fc_build_broadcast(g, n, p->axes, shape) : n;
    n = fc_build_reshape(g, n, all, shape);
    for (uint32_t i = 0; i < p->axes; i++)
        if (!own[i] && i != last) perm[at++] = i;
    for (uint32_t i = 0; i < p->rank; i++) {
        after = i >= p->first && i <= p->last;
        if (after && i > p->first) continue;
        perm[at++] = after ? last : (uint32_t)p->bare[i];
    }
    return fc_build_permute(g, n, perm);
}

static fc_node build_put(put *p, fc_node value) {
    fc_graph *g = p->c->g;
    fc_dim shape[FC_MAX_RANK], line = fc_dim_const(&g->dims, 1);
    uint32_t rank = 0;
    const fc_node index = flat_index(p);
    if (index == FC_NONODE) return index;
    for (uint32_t i = 0; i < p->rank; i++) {
        if (i >= p->first && i <= p->last)
            line = fc_dim_mul(&g->dims, line, fc_axis(g, p->array, i));
        if (i < p->first || i >= p->last)
            shape[rank++] = i == p->last ? line : fc_axis(g, p->array, i);
    }
    const fc_node base =
        p->first == p->last ? p->array : fc_build_reshape(g, p->array, rank, shape);
    value = in_order(p, fc_c_with_axes(p->c, value, p->axes), p->sizes);
    const fc_scatter s = {FC_OP_sum, p->first, false};
    const fc_node r = fc_build_scatter(g, base, in_order(p, index, NULL), value, s);
    for (uint32_t i = 0; i < p->rank; i++) shape[i] = fc_axis(g, p->array, i);
    return p->first == p->last ? r : fc_build_reshape(g, r, p->rank, shape);
}

fc_value fc_c_put(fc_checker *c, fc_call *f, const fc_expr *e) {
    put p = {.c = c, .f = f, .e = e->a};
    const fc_value *x = fc_c_val(f, e->a->a), *v = fc_c_val(f, e->b);
    fc_node value;
    if (!fc_c_operand(c, e->a->a, x)) return FC_UNKNOWN;
    p.array = fc_c_strong(c, e->a->a, x);
    if (p.array == FC_NONODE) return FC_UNKNOWN;
    p.rank = fc_rank(c->g, p.array);
    p.axes = (uint32_t)f->binders.len;
    for (size_t i = f->binders.len; i-- > 0;) /* those of reductions come behind */
        if (f->binders.at[i].last != f->root->id) p.axes = (uint32_t)i;
    if (e->a->count != p.rank) {
        fc_c_bad_count(c, e->a, x);
        return FC_UNKNOWN;
    }
    for (uint32_t i = 0; i < p.axes; i++) {
        if (!f->binders.at[i].known) return FC_UNKNOWN;
        p.sizes[i] = f->binders.at[i].size;
    }
    if (f->base || p.axes + 1 > FC_MAX_RANK) {
        fc_c_not_yet(c, f->ast, e->at, "`+=` in a definition that is called for single elements");
        return FC_UNKNOWN;
    }
    const fusec_dtype t = fc_v_dtype(c, x);
    if (!read_parts(&p) || !can_scatter(c, e->a->a, FC_OP_sum, t) ||
        !value_of(c, e->b, v, e->a->a, x, &value))
        return FC_UNKNOWN;
    if (!fc_v_element(v) && fc_v_rank(c, v)) {
        const fc_expr *part[1] = {e->b};
        fc_c_no_arrays(c, 1, part, v);
        return FC_UNKNOWN;
    }
    return fc_v_node(fc_c_built(c, build_put(&p, value)));
}

/* ---- which there are -------------------------------------------------------------------------
 */

static fc_value (*const functions[])(fc_checker *, fc_call *, const fc_expr *) = {
    histogram, scatter, scatter_along, segment};
const char *const fc_c_scatter_names[] = {"histogram", "scatter", "scatter_along", "segment", NULL};

bool fc_c_is_scatter_name(const char *name) {
    return fc_c_listed(fc_c_scatter_names, name);
}

bool fc_c_scatter_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name,
                       fc_value *out) {
    for (size_t i = 0; fc_c_scatter_names[i]; i++) {
        if (strcmp(fc_c_scatter_names[i], name) != 0) continue;
        *out = functions[i](c, f, e);
        return true;
    }
    return false;
}
