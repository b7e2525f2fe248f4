/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_dot.c - contractions: `a @ b`, matmul, dot, einsum, conv. Dtypes combine as in arithmetic;
 * the builders (ir/build_dot.c, ir/build_conv.c) check the shapes. */
#include "frontend/lang/check_impl.h"

#include "ir/expand.h"

/* The operands as nodes of the dtype they combine to, or of `t` if one was asked for. */
static bool operands(fc_checker *c, fc_range at, uint32_t n, const fc_expr *const *e,
                     const fc_value *v, const fc_expr *asked, fusec_dtype want, fc_node *out) {
    fusec_dtype t;
    bool weak, good = true;
    for (uint32_t i = 0; i < n; i++) good &= fc_c_operand(c, e[i], &v[i]);
    if (!good || !fc_c_combine(c, at, n, e, v, &t, &weak)) return false;
    if (weak && t == FUSEC_F64) t = c->g->default_float;
    if (asked && want != t) {
        if (!fc_is_half(t) || want != FUSEC_F32) {
            fc_diag *d =
                fc_c_error(c, FUSEC_DTYPE_MISMATCH, asked->at,
                           "a product of %s is %s; only one of f16 or bf16 can be asked for in f32",
                           fc_dtypes[t].name, fc_dtypes[fc_red_dtype(FC_OP_dot, t)].name);
            fc_c_fact(c, d, e[0], &v[0]);
            return false;
        }
        t = want; /* products of 16-bit floats are exact in f32 */
    }
    for (uint32_t i = 0; i < n; i++)
        if ((out[i] = fc_c_node(c, e[i], &v[i], t)) == FC_NONODE) return false;
    return true;
}

/* Facts of both operands beside what the builder found. */
static fc_value result(fc_checker *c, fc_range at, const fc_expr *const *e, const fc_value *v,
                       uint32_t n, fc_node r) {
    if (r == FC_NONODE && c->g->error.code && c->g->error.code != FUSEC_OUT_OF_MEMORY &&
        c->g->error.code != FUSEC_LIMIT) {
        fc_diag *d = fc_c_error(c, c->g->error.code, at, "%s", c->g->error.message);
        for (uint32_t i = 0; i < n; i++) fc_c_fact(c, d, e[i], &v[i]);
        memset(&c->g->error, 0, sizeof c->g->error);
        return FC_UNKNOWN;
    }
    return fc_v_node(fc_c_built(c, r));
}

fc_value fc_c_matmul(fc_checker *c, fc_range at, const fc_expr *const e[2], const fc_value v[2],
                     const fc_expr *dtype) {
    fc_node x[2];
    fusec_dtype want = FUSEC_F32;
    if (v[0].kind == FC_V_UNKNOWN || v[1].kind == FC_V_UNKNOWN) return FC_UNKNOWN;
    if (dtype && !fc_c_dtype_arg(c, dtype, &want)) return FC_UNKNOWN;
    if (!operands(c, at, 2, e, v, dtype, want, x)) return FC_UNKNOWN;
    return result(c, at, e, v, 2, fc_build_matmul(c->g, x[0], x[1]));
}

static fc_value product(fc_checker *c, fc_call *f, const fc_expr *e, bool is_dot) {
    static const char *const names[] = {NULL, NULL, "dtype"};
    const fc_arg_spec spec = {names, 3, 2, NULL};
    const fc_expr *p[3];
    if (!fc_c_args(c, e, &spec, p, NULL)) return FC_UNKNOWN;
    const fc_value v[2] = {*fc_c_val(f, p[0]), *fc_c_val(f, p[1])};
    for (int i = 0; i < 2 && is_dot; i++) {
        if (v[i].kind != FC_V_NODE || fc_v_rank(c, &v[i]) <= 2) continue;
        fc_diag *d = fc_c_error(c, FUSEC_SHAPE_MISMATCH, p[i]->at,
                                "dot() takes vectors and matrices, and this is %s",
                                fc_c_value_type(c, &v[i]));
        fc_c_fact(c, d, p[i], &v[i]);
        fc_diag_help(d, "%s @ %s takes leading axes side by side; einsum() sums over any",
                     fc_c_quote(c, p[0]->outer), fc_c_quote(c, p[1]->outer));
        return FC_UNKNOWN;
    }
    return fc_c_matmul(c, e->at, p, v, p[2]);
}

static fc_value einsum(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_expr *p[1 + FC_MAX_FACTORS];
    const fc_arg_spec spec = {NULL, 1 + FC_MAX_FACTORS, 2, NULL};
    fc_value v[FC_MAX_FACTORS];
    fc_node x[FC_MAX_FACTORS];
    uint32_t n = 0;
    if (!fc_c_args(c, e, &spec, p, NULL)) return FC_UNKNOWN;
    if (p[0]->kind != FC_EX_STRING) {
        fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, p[0]->at,
                                "the first argument of einsum() is a text in quotes");
        fc_diag_help(d, "einsum(\"ik,kj->ij\", a, b)");
        return FC_UNKNOWN;
    }
    const char *text = fc_c_text(c, "%.*s", (int)p[0]->len, p[0]->text);
    while (n < FC_MAX_FACTORS && p[1 + n]) {
        v[n] = *fc_c_val(f, p[1 + n]);
        if (v[n].kind == FC_V_UNKNOWN) return FC_UNKNOWN;
        n++;
    }
    if (!text || !operands(c, e->at, n, p + 1, v, NULL, FUSEC_F32, x)) return FC_UNKNOWN;
    return result(c, e->at, p + 1, v, n, fc_build_einsum(c->g, text, n, x));
}

/* ---- conv --------------------------------------------------------------------------------------
 */

/* An integer constant from 1 on. */
static bool whole(fc_checker *c, const fc_expr *e, const fc_value *v, int64_t *out) {
    if (v->kind == FC_V_UNKNOWN) return false;
    if (v->kind == FC_V_INT && v->i >= 1 && v->i <= FC_MAX_STEP) return *out = (int64_t)v->i, true;
    fc_c_error(c, FUSEC_BAD_SLICE, e->at, "%s is no integer constant from 1 on",
               fc_c_quote(c, e->at));
    return false;
}

/* One for all axes, or a list with one for each. */
static const fc_value *of_axis(const fc_value *v, uint32_t i) {
    return fc_v_is_list(v) ? &v->items[i] : v;
}

static bool has_each(fc_checker *c, const fc_expr *e, const fc_value *v, uint32_t n) {
    if (v->kind == FC_V_UNKNOWN) return false;
    if (!fc_v_is_list(v) || v->count == n) return true;
    fc_c_error(c, FUSEC_SHAPE_MISMATCH, e->at, "%s has %u entries; filters slide along %u axes",
               fc_c_quote(c, e->at), (unsigned)v->count, n);
    return false;
}

static bool steps(fc_checker *c, fc_call *f, const fc_expr *e, uint32_t n, int64_t *out) {
    for (uint32_t i = 0; i < n; i++) out[i] = 1;
    if (!e) return true;
    const fc_value *v = fc_c_val(f, e);
    bool good = has_each(c, e, v, n);
    for (uint32_t i = 0; i < n && good; i++) good = whole(c, e, of_axis(v, i), &out[i]);
    return good;
}

/* An entry is a number for both ends, or [before, after]. */
static bool padding(fc_checker *c, fc_call *f, const fc_expr *e, uint32_t n, fc_conv *out) {
    for (uint32_t i = 0; i < n; i++) out->before[i] = out->after[i] = fc_dim_const(&c->g->dims, 0);
    if (!e) return true;
    const fc_value *v = fc_c_val(f, e);
    bool good = has_each(c, e, v, n);
    for (uint32_t i = 0; i < n && good; i++) {
        const fc_value *p = of_axis(v, i);
        const bool pair = fc_v_is_list(p) && p->count == 2;
        good = fc_c_size(c, pair ? &p->items[0] : p, &out->before[i]) &&
               fc_c_size(c, pair ? &p->items[1] : p, &out->after[i]);
        if (good) continue;
        fc_diag *d = fc_c_error(c, FUSEC_SHAPE_MISMATCH, e->at,
                                "padding= takes a size, or a list of sizes or of [before, after]");
        fc_c_fact(c, d, e, v);
    }
    return good;
}

static fc_value conv(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const names[] = {NULL, "filters"}, *const keys[] = {"stride", "padding",
                                                                           "dilation", "groups",
                                                                           NULL};
    const fc_arg_spec spec = {names, 2, 2, keys};
    const fc_expr *p[2], *kw[4];
    fc_conv of = {.groups = 1};
    fc_node x[2];
    if (!fc_c_args(c, e, &spec, p, kw)) return FC_UNKNOWN;
    const fc_value v[2] = {*fc_c_val(f, p[0]), *fc_c_val(f, p[1])};
    if (v[0].kind == FC_V_UNKNOWN || v[1].kind == FC_V_UNKNOWN) return FC_UNKNOWN;
    const uint32_t rank = fc_v_rank(c, &v[1]), n = rank > 2 ? rank - 2 : 0;
    if (!steps(c, f, kw[0], n, of.stride) || !padding(c, f, kw[1], n, &of) ||
        !steps(c, f, kw[2], n, of.dilation) ||
        (kw[3] && !whole(c, kw[3], fc_c_val(f, kw[3]), &of.groups)) ||
        !operands(c, e->at, 2, p, v, NULL, FUSEC_F32, x))
        return FC_UNKNOWN;
    return result(c, e->at, p, v, 2, fc_build_conv(c->g, x[0], x[1], &of));
}

static const char *const dot_names[] = {"conv", "dot", "einsum", "matmul"};

void fc_c_suggest_dots(fc_suggest *s) {
    for (size_t i = 0; i < FC_COUNT(dot_names); i++) fc_suggest_try(s, dot_names[i]);
}

bool fc_c_is_dot_name(const char *name) {
    for (size_t i = 0; i < FC_COUNT(dot_names); i++)
        if (strcmp(name, dot_names[i]) == 0) return true;
    return false;
}

bool fc_c_dot_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out) {
    if (strcmp(name, "dot") == 0 || strcmp(name, "matmul") == 0)
        *out = product(c, f, e, name[0] == 'd');
    else if (strcmp(name, "einsum") == 0)
        *out = einsum(c, f, e);
    else if (strcmp(name, "conv") == 0)
        *out = conv(c, f, e);
    else
        return false;
    return true;
}

/* ---- sum[k](A[i, k] * B[k, j]) -----------------------------------------------------------------
 */

/* The factors of a product as it is written: a*b*c. False: no product, or too many. */
static bool factors(const fc_expr *e, const fc_expr **out, uint32_t *n) {
    const fc_expr *stack[FC_MAX_FACTORS];
    uint32_t depth = 0;
    *n = 0;
    for (;;) {
        while (e->kind == FC_EX_BINARY && e->op == FC_OPER_MUL) {
            if (depth == FC_MAX_FACTORS) return false;
            stack[depth++] = e->b;
            e = e->a;
        }
        if (*n == FC_MAX_FACTORS) return false;
        out[(*n)++] = e;
        if (!depth) return *n > 1;
        e = stack[--depth];
    }
}

/* A contraction if the factors make one; else no node, and it is a sum like any other. */
fc_node fc_c_sum_of_product(fc_checker *c, fc_call *f, const fc_expr *e, uint32_t from,
                            uint32_t n) {
    const fc_expr *part[FC_MAX_FACTORS];
    fc_node x[FC_MAX_FACTORS];
    uint32_t count;
    if (n == 0 || !factors(e, part, &count)) return FC_NONODE;
    const fusec_dtype t = fc_v_dtype(c, fc_c_val(f, e));
    for (uint32_t i = 0; i < count; i++) {
        x[i] = fc_c_node(c, part[i], fc_c_val(f, part[i]), t);
        if (x[i] != FC_NONODE) x[i] = fc_c_with_axes(c, x[i], from + n);
        if (x[i] == FC_NONODE) return x[i];
    }
    return fc_build_sum_of_product(c->g, count, x, from + n, ((UINT64_C(1) << n) - 1) << from);
}
