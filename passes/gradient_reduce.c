/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_reduce.c - the derivatives of reductions, both ways.
 *
 * A reduction r over n elements x moves by the sum of f(x) t(x) when its elements move by t(x). So
 * every rule is its factor f: 1 for sum, 1/n for mean, 2/n (x - mean) for var, and so on; what
 * arrives is multiplied by it and spread (reverse), or the product is summed (forward). Factors of
 * 16-bit floats are computed in f32. */
#include "passes/gradient_impl.h"

/* One reduction, and the shapes around it. */
typedef struct reduction {
    fc_grad_ctx *c;
    fc_op op;
    fc_node x, r;         /* operand and result, in the dtype of the computation */
    fusec_dtype dtype, t; /* of the operand; of the computation */
    uint32_t rank, naxes;
    int64_t axes[FC_MAX_RANK];
    fc_dim shape[FC_MAX_RANK]; /* of the operand */
    fc_dim kept[FC_MAX_RANK];  /* the same with 1 at the reduced axes */
    uint32_t rank_r;
    fc_dim shape_r[FC_MAX_RANK]; /* of the result */
    bool guard;
} reduction;

static reduction open(fc_grad_ctx *c, fc_node n, bool guard) {
    fc_graph *g = c->g;
    const fc_ninfo i = *fc_at(g, n);
    reduction s = {.c = c, .op = (fc_op)i.op, .guard = guard};
    s.dtype = (fusec_dtype)i.dtype;
    s.t = fc_is_half(s.dtype) ? FUSEC_F32 : s.dtype;
    s.rank = fc_shape_of(g, i.src[0], s.shape);
    s.rank_r = fc_shape_of(g, n, s.shape_r);
    s.naxes = fc_list_len(g, (fc_list)i.attr);
    memcpy(s.axes, fc_list_at(g, (fc_list)i.attr), s.naxes * sizeof *s.axes);
    memcpy(s.kept, s.shape, sizeof s.kept);
    for (uint32_t k = 0; k < s.naxes; k++) s.kept[s.axes[k]] = fc_dim_const(&g->dims, 1);
    s.x = fc_build_cast(g, i.src[0], s.t);
    s.r = fc_build_cast(g, n, s.t);
    return s;
}

/* ---- between the shape of the result and that of the elements ---------------------------------
 */

/* What belongs to the result, at every element; the leading axes as they are. */
static fc_node to_elements(const reduction *s, fc_node v) {
    if (fc_g_is_const(s->c->g, v)) return v;
    return fc_g_spread(s->c, fc_g_reshape(s->c, v, s->rank, s->kept), s->rank, s->shape);
}

/* The same of a value of the graph, which has no leading axes. */
static fc_node kept_axes(const reduction *s, fc_node v) {
    return fc_build_reshape(s->c->g, v, s->rank, s->kept);
}

/* The sum over the elements of a value that has the leading axes. */
static fc_node sum_elements(const reduction *s, fc_node v) {
    int64_t axes[FC_MAX_RANK];
    if (v == FC_NONODE) return v;
    if (fc_g_is_const(s->c->g, v)) v = fc_g_spread(s->c, v, s->rank, s->shape);
    for (uint32_t k = 0; k < s->naxes; k++) axes[k] = s->axes[k] + s->c->nlead;
    v = fc_build_reduce(s->c->g, FC_OP_sum, v, s->naxes, axes, false);
    return fc_g_reshape(s->c, v, s->rank_r, s->shape_r);
}

static fc_node number(const reduction *s, double v) {
    return fc_build_number(s->c->g, s->t, v);
}

/* The number of elements of one result. */
static fc_node count(const reduction *s) {
    fc_graph *g = s->c->g;
    fc_node n = number(s, 1);
    for (uint32_t k = 0; k < s->naxes; k++) {
        const fc_node d = fc_build_dim(g, s->shape[s->axes[k]]);
        n = fc_g_op(s->c, FC_OP_mul, n, fc_build_cast(g, d, s->t));
    }
    return n;
}

/* v times a factor that may be anything; v is 0 where nothing arrives. */
static fc_node times(const reduction *s, fc_node v, fc_node factor) {
    const fc_node r = fc_g_op(s->c, FC_OP_mul, v, factor);
    return s->guard ? fc_g_guard(s->c, v, r) : r;
}

/* ---- factors -----------------------------------------------------------------------------------
 */

/* x - mean(x) */
static fc_node deviation(const reduction *s) {
    fc_graph *g = s->c->g;
    const fc_node mean = fc_build_reduce(g, FC_OP_mean, s->x, s->naxes, s->axes, true);
    return fc_op2(g, FC_OP_sub, s->x, mean);
}

/* What belongs to the result and multiplies deviations: 2/n for var; 1/(n std) for std, and 0 for
 * equal elements. */
static fc_node deviation_scale(const reduction *s, fc_node v) {
    fc_graph *g = s->c->g;
    const fc_node n = count(s);
    if (s->op == FC_OP_var) {
        const fc_node twice = fc_g_op(s->c, FC_OP_mul, v, number(s, 2));
        return fc_g_op(s->c, FC_OP_div, twice, n);
    }
    const fc_node none = number(s, 0), equal = fc_op2(g, FC_OP_eq, s->r, none);
    const fc_node scaled = fc_g_op(s->c, FC_OP_div, v, fc_g_op(s->c, FC_OP_mul, s->r, n));
    return fc_where(g, equal, none, scaled);
}

/* The elements that are the smallest or largest. */
static fc_node is_extreme(const reduction *s) {
    return fc_op2(s->c->g, FC_OP_eq, s->x, kept_axes(s, s->r));
}

/* They share equally. */
static fc_node per_extreme(const reduction *s, fc_node v) {
    fc_graph *g = s->c->g;
    fc_node n = fc_build_reduce(g, FC_OP_sum, is_extreme(s), s->naxes, s->axes, false);
    n = fc_build_reshape(g, fc_build_cast(g, n, s->t), s->rank_r, s->shape_r);
    return fc_g_op(s->c, FC_OP_div, v, n);
}

static fc_node choose(const reduction *s, fc_node which, fc_node v) {
    return fc_where(s->c->g, which, v, number(s, 0));
}

/* The product of the other elements: of those before times those behind along each axis, where the
 * elements of an axis are the products of the axes that were done. Nothing is divided, so zeros are
 * right, also in derivatives of it. */
static fc_node product_of_others(const reduction *s) {
    fc_graph *g = s->c->g;
    fc_node x = s->x, all = number(s, 1);
    for (uint32_t k = 0; k < s->naxes; k++) {
        const int64_t axis = s->axes[k];
        const fc_node before = fc_build_scan(g, FC_OP_prod, x, axis, true, false);
        const fc_node behind = fc_build_scan(g, FC_OP_prod, x, axis, true, true);
        const fc_node others = fc_op2(g, FC_OP_mul, before, behind);
        all = k ? fc_op2(g, FC_OP_mul, all, others) : others;
        x = fc_build_reduce(g, FC_OP_prod, x, 1, &axis, true);
    }
    return all;
}

/* ---- both ways ---------------------------------------------------------------------------------
 */

fc_node fc_g_reduce_reverse(fc_grad_ctx *c, fc_node n, fc_node a, bool guard, bool *chooses) {
    fc_graph *g = c->g;
    const reduction s = open(c, n, guard);
    fc_node v = fc_build_cast(g, a, s.t);
    switch (s.op) {
    case FC_OP_sum: v = to_elements(&s, v); break;
    case FC_OP_mean: v = to_elements(&s, fc_g_op(c, FC_OP_div, v, count(&s))); break;
    case FC_OP_var:
    case FC_OP_std: v = times(&s, to_elements(&s, deviation_scale(&s, v)), deviation(&s)); break;
    case FC_OP_min:
    case FC_OP_max:
        v = choose(&s, is_extreme(&s), to_elements(&s, per_extreme(&s, v)));
        *chooses = true;
        break;
    case FC_OP_prod:
        v = times(&s, to_elements(&s, v), product_of_others(&s));
        *chooses = true;
        break;
    default: fc_g_fail(c, n, "it has no rule"); return FC_NONODE;
    }
    return fc_build_cast(g, v, s.dtype);
}

fc_node fc_g_reduce_forward(fc_grad_ctx *c, fc_node n, fc_node t, bool guard, bool *chooses) {
    fc_graph *g = c->g;
    const reduction s = open(c, n, guard);
    fc_node v = fc_build_cast(g, t, s.t);
    switch (s.op) {
    case FC_OP_sum: v = sum_elements(&s, v); break;
    case FC_OP_mean: v = fc_g_op(c, FC_OP_div, sum_elements(&s, v), count(&s)); break;
    case FC_OP_var:
    case FC_OP_std: v = deviation_scale(&s, sum_elements(&s, times(&s, v, deviation(&s)))); break;
    case FC_OP_min:
    case FC_OP_max:
        v = per_extreme(&s, sum_elements(&s, choose(&s, is_extreme(&s), v)));
        *chooses = true;
        break;
    case FC_OP_prod:
        v = sum_elements(&s, times(&s, v, product_of_others(&s)));
        *chooses = true;
        break;
    default: fc_g_fail(c, n, "it has no rule"); return FC_NONODE;
    }
    return fc_build_cast(g, v, s.dtype);
}
