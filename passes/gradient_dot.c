/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_dot.c - the derivatives of contractions, which are contractions again.
 *
 * Of c = a[b, m, k] . b[b, k, n] with the labels batch, m, n, k: a gets what arrives contracted
 * with b over n, b what arrives contracted with a over m. Both go to the operands before they were
 * spread over the domain. Where one operand has all labels (a matrix by a vector) there is nothing
 * to contract for it, and the products are written out; they fuse with what uses them. */
#include "passes/gradient_impl.h"

typedef struct labelled {
    fc_node n;
    uint8_t label[FC_MAX_RANK];
} labelled;

static bool is_contraction(const fc_graph *g, fc_node n) {
    return fc_at(g, n)->axis_kind == FC_TREE_DOT;
}

/* Operand k, before it was spread if its axes are plainly those of the domain. */
static labelled operand(const fc_graph *g, fc_node n, int k) {
    labelled x;
    const fc_node spread = fc_at(g, n)->src[k];
    x.n = fc_dot_operand(g, n, k, x.label);
    bool plain = is_contraction(g, n) && fc_rank(g, x.n); /* a number has nothing to go by */
    for (uint32_t i = 0; i < fc_rank(g, x.n); i++)
        plain &= fc_axis(g, x.n, i) == fc_axis(g, spread, x.label[i]);
    if (plain) return x;
    x.n = spread;
    for (uint32_t i = 0; i < fc_rank(g, spread); i++) x.label[i] = (uint8_t)i;
    return x;
}

/* The labels of the result: the axes of the domain that are not summed over. */
static uint32_t result_labels(const fc_graph *g, fc_node n, uint8_t *label) {
    const fc_ninfo *i = fc_at(g, n);
    const uint32_t rank = fc_rank(g, i->src[0]);
    uint32_t count = 0, k = 0;
    for (uint32_t axis = 0; axis < rank; axis++) {
        if (k < fc_list_len(g, (fc_list)i->attr) && fc_list_at(g, (fc_list)i->attr)[k] == axis)
            k++;
        else
            label[count++] = (uint8_t)axis;
    }
    return count;
}

fc_node fc_g_dot_target(const fc_graph *g, fc_node n, int k) {
    return operand(g, n, k).n;
}

/* What arrives, at every point of the domain. */
static fc_node over_domain(fc_grad_ctx *c, fc_node n, fc_node a, uint32_t nkept,
                           const uint8_t *kept) {
    fc_dim shape[FC_MAX_RANK], with_ones[FC_MAX_RANK];
    const uint32_t rank = fc_shape_of(c->g, fc_at(c->g, n)->src[0], shape);
    for (uint32_t i = 0; i < rank; i++) with_ones[i] = fc_dim_const(&c->g->dims, 1);
    for (uint32_t i = 0; i < nkept; i++) with_ones[kept[i]] = shape[kept[i]];
    return fc_g_spread(c, fc_g_reshape(c, a, rank, with_ones), rank, shape);
}

fc_node fc_g_dot_reverse(fc_grad_ctx *c, fc_node n, int k, fc_node a, bool guard) {
    fc_graph *g = c->g;
    enum { FIRST_LEAD = FC_MAX_RANK }; /* labels of the leading axes, behind those of the domain */
    uint8_t kept[FC_MAX_RANK], arrives[FC_MAX_RANK], out[FC_MAX_RANK];
    const labelled x = operand(g, n, k), y = operand(g, n, !k);
    const uint32_t nkept = result_labels(g, n, kept);
    if (!is_contraction(g, n)) {
        const fc_node v = over_domain(c, n, a, nkept, kept);
        const fc_node r = v == FC_NONODE ? v : fc_g_op(c, FC_OP_mul, v, y.n);
        return guard ? fc_g_guard(c, v, r) : r;
    }
    const uint32_t nx = fc_rank(g, x.n);
    a = fc_g_spread_as(c, a, n);
    for (uint32_t i = 0; i < c->nlead; i++) arrives[i] = out[i] = (uint8_t)(FIRST_LEAD + i);
    for (uint32_t i = 0; i < nkept; i++) arrives[c->nlead + i] = kept[i];
    for (uint32_t i = 0; i < nx; i++) out[c->nlead + i] = x.label[i];
    /* the operand that comes first has the first axes of what is made */
    return k ? fc_build_dot(g, y.n, y.label, a, arrives, c->nlead + nx, out)
             : fc_build_dot(g, a, arrives, y.n, y.label, c->nlead + nx, out);
}

/* `t` is the tangent of operand k before it was spread. */
fc_node fc_g_dot_forward(fc_grad_ctx *c, fc_node n, int k, fc_node t) {
    fc_graph *g = c->g;
    uint8_t kept[FC_MAX_RANK];
    const labelled x = operand(g, n, k), y = operand(g, n, !k);
    const uint32_t nkept = result_labels(g, n, kept);
    t = fc_g_spread_as(c, t, x.n);
    return fc_build_dot(g, k ? y.n : t, k ? y.label : x.label, k ? t : y.n, k ? x.label : y.label,
                        nkept, kept);
}
