/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_make.c - functions that make arrays: arange, zeros, ones, full, eye. */
#include "frontend/lang/check_impl.h"

#include <math.h>

const char *const fc_c_make_names[] = {"arange", "zeros", "ones", "full", "eye", NULL};

bool fc_c_is_make_name(const char *name) {
    return fc_c_listed(fc_c_make_names, name);
}

static const char *const keys[] = {"dtype", NULL};

/* `t` is left as it is without dtype=. */
static bool dtype_of(fc_checker *c, const fc_expr *kw, fusec_dtype *t) {
    return !kw || fc_c_dtype_arg(c, kw, t);
}

static fc_value binary(fc_checker *c, fc_op op, fc_node a, fc_node b) {
    return fc_v_node(fc_c_built(c, fc_build_op(c->g, op, a, b, FC_NONODE)));
}

/* ---- arange ---------------------------------------------------------------------------------- */

static bool not_a_range(fc_checker *c, const fc_expr *e, const char *why) {
    fc_c_error(c, FUSEC_SHAPE_MISMATCH, e->at, "%s: %s", fc_c_quote(c, e->at), why);
    return false;
}

/* iota*step + start in i64, then the dtype. */
static fc_value integer_range(fc_checker *c, const fc_expr *e, const fc_value *v, fusec_dtype t) {
    fc_dimtab *dims = &c->g->dims;
    fc_dim from, to;
    int64_t step = 1, n;
    if (v[2].kind != FC_V_INT || v[2].i == 0 || v[2].i < -INT32_MAX || v[2].i > INT32_MAX) {
        not_a_range(c, e, "the step is an integer constant, and not 0");
        return FC_UNKNOWN;
    }
    step = (int64_t)v[2].i;
    if (!fc_c_size(c, &v[0], &from) || !fc_c_size(c, &v[1], &to)) {
        not_a_range(c, e, "the length has to be known from sizes and constants");
        return FC_UNKNOWN;
    }
    int64_t mag = step < 0 ? -step : step;
    fc_dim count = step > 0 ? fc_dim_sub(dims, to, from) : fc_dim_sub(dims, from, to);
    if (mag != 1)
        count = fc_dim_floordiv(dims, fc_dim_add(dims, count, fc_dim_const(dims, mag - 1)),
                                fc_dim_const(dims, mag));
    if (count == FC_DIM_NONE) return fc_v_dim(c, count);
    if (fc_dim_is_const(dims, count, &n) && n < 0) {
        not_a_range(c, e, fc_c_text(c, "the length would be %lld", (long long)n));
        return FC_UNKNOWN;
    }
    fc_value r = fc_v_node(fc_c_built(c, fc_build_iota(c->g, count)));
    if (r.kind == FC_V_UNKNOWN) return r;
    if (step != 1)
        r = binary(c, FC_OP_mul, r.node, fc_build_const(c->g, FUSEC_I64, (uint64_t)step));
    if (r.kind == FC_V_UNKNOWN) return r;
    if (from != fc_dim_const(dims, 0)) r = binary(c, FC_OP_add, r.node, fc_build_dim(c->g, from));
    if (r.kind == FC_V_UNKNOWN) return r;
    return fc_v_node(fc_c_built(c, fc_build_cast(c->g, r.node, t)));
}

static fc_value float_range(fc_checker *c, const fc_expr *e, const fc_value *v, fusec_dtype t) {
    double from, to, step;
    if (!fc_v_real(&v[0], &from) || !fc_v_real(&v[1], &to) || !fc_v_real(&v[2], &step)) {
        not_a_range(c, e, "the length has to be known from sizes and constants");
        return FC_UNKNOWN;
    }
    double n = ceil((to - from) / step);
    if (!(n >= 0 && n < 0x1p62)) {
        not_a_range(c, e, "the length would be no size");
        return FC_UNKNOWN;
    }
    fc_graph *g = c->g;
    fc_node i = fc_build_cast(g, fc_build_iota(g, fc_dim_const(&g->dims, (int64_t)n)), t);
    fc_node scaled = fc_build_op(g, FC_OP_mul, i, fc_build_number(g, t, step), FC_NONODE);
    return binary(c, FC_OP_add, scaled, fc_build_number(g, t, from));
}

static fc_value arange(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_arg_spec spec = {NULL, 3, 1, keys};
    const fc_expr *p[3], *kw;
    fc_value v[3] = {fc_v_int(0), FC_UNKNOWN, fc_v_int(1)};
    bool real = false;
    if (!fc_c_args(c, e, &spec, p, &kw)) return FC_UNKNOWN;
    if (!p[1])
        v[1] = *fc_c_val(f, p[0]);
    else
        for (int i = 0; i < 3; i++)
            if (p[i]) v[i] = *fc_c_val(f, p[i]);
    for (int i = 0; i < 3; i++) {
        if (p[i] && !fc_c_operand(c, p[i], fc_c_val(f, p[i]))) return FC_UNKNOWN;
        real |= fc_v_weakness(&v[i]) == FC_W_FLOAT;
        if (v[i].kind == FC_V_BOOL || (v[i].kind == FC_V_NODE && !v[i].weak)) {
            not_a_range(c, e, "the length has to be known from sizes and constants");
            return FC_UNKNOWN;
        }
    }
    fusec_dtype t = real ? c->g->default_float : FUSEC_I64;
    if (!dtype_of(c, kw, &t)) return FC_UNKNOWN;
    if (real && !fc_is_float(t)) {
        not_a_range(c, e, "a range of floats has a float dtype");
        return FC_UNKNOWN;
    }
    return real ? float_range(c, e, v, t) : integer_range(c, e, v, t);
}

/* ---- zeros, ones, full, eye ------------------------------------------------------------------ */

static fc_value filled(fc_checker *c, fc_call *f, const fc_expr *e, int kind) {
    static const char *const names[] = {"shape", "value"};
    uint32_t n = kind == 2 ? 2 : 1;
    const fc_arg_spec spec = {names, n, n, keys};
    const fc_expr *p[2], *kw;
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank;
    fusec_dtype t = c->g->default_float;
    fc_value v = fc_v_int(kind);
    if (!fc_c_args(c, e, &spec, p, &kw)) return FC_UNKNOWN;
    if (!fc_c_shape_arg(c, f, p[0], &rank, shape, NULL)) return FC_UNKNOWN;
    if (kind == 2) {
        v = *fc_c_val(f, p[1]);
        if (!fc_c_operand(c, p[1], &v)) return FC_UNKNOWN;
        if (!fc_v_weak(&v)) t = fc_v_dtype(c, &v);
        if (v.kind == FC_V_BOOL) t = FUSEC_BOOL;
    }
    if (!dtype_of(c, kw, &t)) return FC_UNKNOWN;
    if (v.kind == FC_V_INT && t == FUSEC_BOOL) v = fc_v_bool(v.i != 0);
    if (fc_v_rank(c, &v)) {
        fc_c_error(c, FUSEC_SHAPE_MISMATCH, p[1]->at, "full() repeats a scalar, and this is %s",
                   fc_c_value_type(c, &v));
        return FC_UNKNOWN;
    }
    fc_node s = fc_c_node(c, kind == 2 ? p[1] : e, &v, t);
    if (s == FC_NONODE || !fc_c_require_sizes(c, rank, shape)) return FC_UNKNOWN;
    return fc_v_node(fc_c_built(c, fc_build_broadcast(c->g, s, rank, shape)));
}

static fc_value eye(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_arg_spec spec = {NULL, 2, 1, keys};
    const fc_expr *p[2], *kw;
    fc_dim n[2], side[2];
    fusec_dtype t = c->g->default_float;
    uint32_t rank;
    if (!fc_c_args(c, e, &spec, p, &kw) || !dtype_of(c, kw, &t)) return FC_UNKNOWN;
    for (int i = 0; i < 2; i++) {
        if (!p[i]) {
            n[i] = n[0];
            continue;
        }
        fc_dim shape[FC_MAX_RANK];
        if (!fc_c_shape_arg(c, f, p[i], &rank, shape, NULL)) return FC_UNKNOWN;
        if (rank != 1) {
            fc_c_error(c, FUSEC_SHAPE_MISMATCH, p[i]->at, "eye() takes sizes: eye(n) or eye(n, m)");
            return FC_UNKNOWN;
        }
        n[i] = shape[0];
    }
    fc_graph *g = c->g;
    fc_node row = fc_build_iota(g, n[0]), col = fc_build_iota(g, n[1]);
    side[0] = n[0], side[1] = fc_dim_const(&g->dims, 1);
    row = fc_build_reshape(g, row, 2, side);
    fc_node same = fc_build_op(g, FC_OP_eq, row, col, FC_NONODE);
    return fc_v_node(fc_c_built(c, fc_build_cast(g, same, t)));
}

bool fc_c_make_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out) {
    if (strcmp(name, "arange") == 0)
        *out = arange(c, f, e);
    else if (strcmp(name, "zeros") == 0)
        *out = filled(c, f, e, 0);
    else if (strcmp(name, "ones") == 0)
        *out = filled(c, f, e, 1);
    else if (strcmp(name, "full") == 0)
        *out = filled(c, f, e, 2);
    else if (strcmp(name, "eye") == 0)
        *out = eye(c, f, e);
    else
        return false;
    return true;
}
