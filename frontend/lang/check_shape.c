/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_shape.c - the functions on shapes: views of their operand. */
#include "frontend/lang/check_impl.h"

const char *const fc_c_shape_names[] = {"reshape",   "transpose", "squeeze", "flip",
                                        "broadcast", "size",      NULL};

bool fc_c_is_shape_name(const char *name) {
    return fc_c_listed(fc_c_shape_names, name);
}

static fc_dim constant(fc_checker *c, int64_t v) {
    return fc_dim_const(&c->g->dims, v);
}

static bool is_one(const fc_checker *c, fc_dim d) {
    int64_t v;
    return fc_dim_is_const(&c->g->dims, d, &v) && v == 1;
}

/* ---- transpose ------------------------------------------------------------------------------- */

fc_value fc_c_transpose2(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_value *v = fc_c_val(f, e->object);
    const int64_t perm[2] = {1, 0};
    if (!fc_c_operand(c, e->object, v)) return FC_UNKNOWN;
    uint32_t rank = fc_v_rank(c, v);
    if (rank == 2) return fc_v_node(fc_c_built(c, fc_build_permute(c->g, v->node, perm)));
    const char *x = fc_c_quote(c, e->object->at);
    fc_diag *d = fc_c_error(c, FUSEC_BAD_AXIS, e->op_at, ".T is for two axes, and %s is %s", x,
                            fc_c_value_type(c, v));
    fc_c_fact(c, d, e->object, v);
    if (rank > 2) {
        fc_str s;
        fc_str_init(&s, c->alloc);
        for (uint32_t i = 0; i < rank; i++)
            fc_str_printf(&s, "%s%u", i ? ", " : "",
                          i + 2 < rank    ? i
                          : i + 2 == rank ? rank - 1
                                          : rank - 2);
        fc_diag_help(d, "transpose(%s, [%s])", x, s.data);
        fc_c_str_free(c, &s);
    }
    return FC_UNKNOWN;
}

static fc_value transpose(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const names[] = {NULL, "axes"};
    const fc_arg_spec spec = {names, 2, 1, NULL};
    const fc_expr *p[2];
    int64_t axes[FC_MAX_RANK];
    uint32_t n = 0;
    if (!fc_c_args(c, e, &spec, p, NULL)) return FC_UNKNOWN;
    const fc_value *v = fc_c_val(f, p[0]);
    if (!fc_c_operand(c, p[0], v)) return FC_UNKNOWN;
    uint32_t rank = fc_v_rank(c, v);
    fc_node x = fc_c_strong(c, p[0], v);
    if (x == FC_NONODE) return FC_UNKNOWN;
    if (!p[1])
        for (uint32_t i = 0; i < rank; i++) axes[i] = rank - 1 - i;
    else if (!fc_c_axes(c, f, p[0], v, p[1], axes, &n))
        return FC_UNKNOWN;
    if (p[1] && n != rank) {
        fc_diag *d = fc_c_error(c, FUSEC_BAD_AXIS, p[1]->at,
                                "transpose() needs every axis once: %s has %u, and these are %u",
                                fc_c_quote(c, p[0]->at), rank, n);
        fc_c_fact(c, d, p[0], v);
        return FC_UNKNOWN;
    }
    return fc_v_node(fc_c_built(c, fc_build_permute(c->g, x, axes)));
}

/* A sum of sizes is not negative whatever they are. */
static bool never_negative(const fc_dimtab *t, fc_dim d) {
    const fc_form *f = &t->forms.at[d];
    bool good = f->c >= 0;
    for (uint32_t i = 0; i < f->nterms; i++)
        good &= f->terms[i].coef > 0 && t->syms.at[f->terms[i].sym].kind == FC_SYM_NAMED;
    return good;
}

bool fc_c_require_sizes(fc_checker *c, uint32_t rank, const fc_dim *shape) {
    for (uint32_t i = 0; i < rank; i++)
        if (shape[i] != FC_DIM_NONE && !never_negative(&c->g->dims, shape[i]))
            fc_require(c->g, FC_CHECK_GE, shape[i], constant(c, 0), FUSEC_INPUT_SHAPE,
                       "a size is not negative");
    return fc_c_fine(c);
}

/* ---- reshape, broadcast ---------------------------------------------------------------------- */

bool fc_c_shape_arg(fc_checker *c, fc_call *f, const fc_expr *e, uint32_t *rank, fc_dim *shape,
                    int *open_axis) {
    bool many = e->kind == FC_EX_LIST || e->kind == FC_EX_TUPLE;
    const fc_value *whole = fc_c_val(f, e);
    bool value = !many && (whole->kind == FC_V_LIST || whole->kind == FC_V_TUPLE);
    uint32_t n = many ? e->count : value ? whole->count : 1;
    if (open_axis) *open_axis = -1;
    *rank = 0;
    if (n > FC_MAX_RANK) {
        fc_c_error(c, FUSEC_LIMIT, e->at, "more than %d axes", FC_MAX_RANK);
        return false;
    }
    const fc_expr *p = many ? e->list : e;
    for (uint32_t i = 0; i < n; i++, p = many ? p->next : p) {
        const fc_value *v = value ? &whole->items[i] : fc_c_val(f, p);
        if (v->kind == FC_V_UNKNOWN) return false;
        if (open_axis && *open_axis < 0 && v->kind == FC_V_INT && v->i == -1) {
            *open_axis = (int)i;
            shape[(*rank)++] = constant(c, 1);
            continue;
        }
        bool negative = v->kind == FC_V_INT && v->i < 0;
        if (v->kind >= FC_V_TUPLE || negative || !fc_c_size(c, v, &shape[*rank])) {
            fc_diag *d =
                fc_c_error(c, FUSEC_SHAPE_MISMATCH, p->at, "%s is no size", fc_c_quote(c, p->at));
            if (c->g->dims.too_long)
                fc_diag_help(d, "written out, a size has %d names and %d levels at most",
                             FC_DIM_NAMES, FC_DIM_DEPTH);
            return false;
        }
        ++*rank;
    }
    return true;
}

/* The size that -1 stands for: equal sizes cancel, then the products are divided. */
static fc_dim open_size(fc_checker *c, const fc_value *v, uint32_t rank, const fc_dim *shape,
                        int open_axis) {
    fc_dimtab *t = &c->g->dims;
    fc_dim have[FC_MAX_RANK], want[FC_MAX_RANK], a = constant(c, 1), b = a;
    uint32_t nh = fc_v_shape(c, v, have), nw = 0;
    for (uint32_t i = 0; i < rank; i++) {
        bool found = false;
        if ((int)i == open_axis) continue;
        for (uint32_t k = 0; k < nh && !found; k++)
            if (have[k] == shape[i]) have[k] = have[--nh], found = true;
        if (!found) want[nw++] = shape[i];
    }
    for (uint32_t i = 0; i < nh; i++) a = fc_dim_mul(t, a, have[i]);
    for (uint32_t i = 0; i < nw; i++) b = fc_dim_mul(t, b, want[i]);
    int64_t zero;
    if (fc_dim_is_const(t, b, &zero) && zero == 0) return constant(c, 0);
    return is_one(c, b) ? a : fc_dim_floordiv(t, a, b);
}

static bool same_count(fc_checker *c, const fc_expr *e, const fc_expr *x, const fc_value *v,
                       uint32_t rank, const fc_dim *shape) {
    fc_dimtab *t = &c->g->dims;
    fc_dim a = constant(c, 1), b = a;
    int64_t diff;
    for (uint32_t i = 0; i < fc_v_rank(c, v); i++) a = fc_dim_mul(t, a, fc_axis(c->g, v->node, i));
    for (uint32_t i = 0; i < rank; i++) b = fc_dim_mul(t, b, shape[i]);
    if (!fc_dim_diff(t, a, b, &diff) || diff == 0) return true;
    fc_diag *d = fc_c_error(c, FUSEC_SHAPE_MISMATCH, e->at,
                            "reshape() keeps the number of elements: %s has %s, and %s is %s",
                            fc_c_quote(c, x->at), fc_c_dim_text(c, a),
                            fc_c_type_text(c, fc_v_dtype(c, v), rank, shape), fc_c_dim_text(c, b));
    fc_c_fact(c, d, x, v);
    return false;
}

static fc_value reshape(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const names[] = {NULL, "shape"};
    const fc_arg_spec spec = {names, 2, 2, NULL};
    const fc_expr *p[2];
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank;
    int open_axis;
    if (!fc_c_args(c, e, &spec, p, NULL)) return FC_UNKNOWN;
    const fc_value *v = fc_c_val(f, p[0]);
    if (!fc_c_operand(c, p[0], v) || !fc_c_shape_arg(c, f, p[1], &rank, shape, &open_axis))
        return FC_UNKNOWN;
    fc_value x = fc_v_node(fc_c_strong(c, p[0], v));
    if (x.kind == FC_V_UNKNOWN) return x;
    if (open_axis >= 0) shape[open_axis] = open_size(c, &x, rank, shape, open_axis);
    if (!same_count(c, e, p[0], &x, rank, shape)) return FC_UNKNOWN;
    return fc_v_node(fc_c_built(c, fc_build_reshape(c->g, x.node, rank, shape)));
}

static fc_value broadcast(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const names[] = {NULL, "shape"};
    const fc_arg_spec spec = {names, 2, 2, NULL};
    const fc_expr *p[2];
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank;
    if (!fc_c_args(c, e, &spec, p, NULL)) return FC_UNKNOWN;
    const fc_value *v = fc_c_val(f, p[0]);
    if (!fc_c_operand(c, p[0], v) || !fc_c_shape_arg(c, f, p[1], &rank, shape, NULL))
        return FC_UNKNOWN;
    uint32_t have = fc_v_rank(c, v);
    bool good = have <= rank;
    for (uint32_t i = 0; i < have && good; i++) {
        fc_dim d = fc_axis(c->g, v->node, i);
        good = is_one(c, d) || fc_c_same_dim(c, d, shape[rank - have + i]) != 0;
    }
    if (!good) {
        fc_diag *d =
            fc_c_error(c, FUSEC_SHAPE_MISMATCH, e->at, "%s does not broadcast to %s",
                       fc_c_value_type(c, v), fc_c_type_text(c, fc_v_dtype(c, v), rank, shape));
        fc_c_fact(c, d, p[0], v);
        return FC_UNKNOWN;
    }
    fc_node n = fc_c_strong(c, p[0], v);
    if (n == FC_NONODE || !fc_c_require_sizes(c, rank, shape)) return FC_UNKNOWN;
    return fc_v_node(fc_c_built(c, fc_build_broadcast(c->g, n, rank, shape)));
}

/* ---- squeeze, flip, size --------------------------------------------------------------------- */

static bool array_and_axis(fc_checker *c, fc_call *f, const fc_expr *e, const fc_expr **x,
                           fc_value *v, const fc_expr **axis, int64_t *axes, uint32_t *n) {
    static const char *const keys[] = {"axis", NULL};
    const fc_arg_spec spec = {NULL, 1, 1, keys};
    return fc_c_args(c, e, &spec, x, axis) && fc_c_array_arg(c, f, *x, v) &&
           fc_c_axes(c, f, *x, v, *axis, axes, n);
}

static fc_value squeeze(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_expr *x, *axis;
    fc_value v;
    int64_t axes[FC_MAX_RANK];
    uint32_t n, rank = 0, gone = 0;
    fc_dim shape[FC_MAX_RANK], have[FC_MAX_RANK];
    if (!array_and_axis(c, f, e, &x, &v, &axis, axes, &n)) return FC_UNKNOWN;
    uint32_t r = fc_v_shape(c, &v, have);
    for (uint32_t i = 0; i < n; i++) {
        if (is_one(c, have[axes[i]])) {
            gone |= 1u << axes[i];
        } else if (axis) {
            fc_diag *d = fc_c_error(c, FUSEC_BAD_AXIS, axis->at,
                                    "axis %lld of %s is %s, and only the literal size 1 can go",
                                    (long long)axes[i], fc_c_quote(c, x->at),
                                    fc_c_dim_text(c, have[axes[i]]));
            fc_c_fact(c, d, x, &v);
            return FC_UNKNOWN;
        }
    }
    for (uint32_t i = 0; i < r; i++)
        if (!(gone >> i & 1)) shape[rank++] = have[i];
    return fc_v_node(fc_c_built(c, fc_build_reshape(c->g, v.node, rank, shape)));
}

static fc_value flip(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_expr *x, *axis;
    fc_value v;
    int64_t axes[FC_MAX_RANK];
    uint32_t n;
    fc_slice slices[FC_MAX_RANK];
    if (!array_and_axis(c, f, e, &x, &v, &axis, axes, &n)) return FC_UNKNOWN;
    for (uint32_t i = 0; i < fc_v_rank(c, &v); i++)
        slices[i] = (fc_slice){constant(c, 0), 1, fc_axis(c->g, v.node, i)};
    for (uint32_t i = 0; i < n; i++) {
        fc_slice *s = &slices[axes[i]];
        s->start = fc_dim_sub(&c->g->dims, s->size, constant(c, 1));
        s->step = -1;
    }
    return fc_v_node(fc_c_built(c, fc_build_slice(c->g, v.node, slices)));
}

static fc_value size_of(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_expr *x, *axis;
    fc_value v;
    int64_t axes[FC_MAX_RANK];
    uint32_t n;
    if (!array_and_axis(c, f, e, &x, &v, &axis, axes, &n)) return FC_UNKNOWN;
    fc_dim d = constant(c, 1);
    for (uint32_t i = 0; i < n; i++)
        d = fc_dim_mul(&c->g->dims, d, fc_axis(c->g, v.node, (uint32_t)axes[i]));
    return fc_v_dim(c, d);
}

bool fc_c_shape_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out) {
    static fc_value (*const functions[])(fc_checker *, fc_call *, const fc_expr *) = {
        reshape, transpose, squeeze, flip, broadcast, size_of};
    for (size_t i = 0; fc_c_shape_names[i]; i++) {
        if (strcmp(fc_c_shape_names[i], name) != 0) continue;
        *out = functions[i](c, f, e);
        return true;
    }
    return false;
}
