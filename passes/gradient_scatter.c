/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_scatter.c - the derivatives of stores at computed places, which read there, and in
 * reverse of reads at many computed places, which store there.
 *
 * A sum hands on what arrives: to the base as it is, to each value that of its element. Of what is
 * set, the last one gets all. A largest or smallest value shares it with all that are equal. */
#include "passes/gradient_impl.h"

static fc_node zero_of(fc_graph *g, fc_node n) {
    return fc_build_number(g, (fusec_dtype)fc_at(g, n)->dtype, 0);
}

/* n with `lead` axes of c in front, or of size 1 where it has none, then `more` of size 1, then its
 * own axes from `from` on. */
static fc_node behind(fc_grad_ctx *c, fc_node n, bool has_lead, uint32_t more) {
    fc_graph *g = c->g;
    fc_dim shape[2 * FC_MAX_RANK];
    const uint32_t lead = c->nlead, own = fc_rank(g, n) - (has_lead ? lead : 0);
    for (uint32_t i = 0; i < lead + more; i++)
        shape[i] = has_lead && i < lead ? c->lead[i] : fc_dim_const(&g->dims, 1);
    for (uint32_t i = 0; i < own; i++)
        shape[lead + more + i] = fc_axis(g, n, (has_lead ? lead : 0) + i);
    return fc_build_reshape(g, n, lead + more + own, shape);
}

/* What an array of the shape of scatter n, behind leading axes or not, has where its values go. */
static fc_node read_there(fc_grad_ctx *c, const fc_ninfo *n, fc_node array, bool has_lead) {
    fc_graph *g = c->g;
    const uint32_t rank = fc_rank(g, n->src[1]), more = rank - fc_list_len(g, n->shape);
    fc_grad_ctx plain = {.g = g};
    fc_grad_ctx *x = has_lead ? c : &plain;
    const fc_node a = behind(x, array, has_lead, more), i = behind(x, n->src[1], false, 0);
    const uint32_t axis = x->nlead + more + fc_scatter_of(n).axis;
    return n->flags & FC_NODE_INSIDE ? fc_build_take_inside(g, a, i, axis)
                                     : fc_build_take(g, a, i, axis);
}

static fc_node scatter_like(fc_graph *g, const fc_ninfo *n, fc_node base, fc_node value, fc_op op) {
    const fc_scatter s = {op, fc_scatter_of(n).axis, false};
    return n->flags & FC_NODE_INSIDE ? fc_build_scatter_inside(g, base, n->src[1], value, s)
                                     : fc_build_scatter(g, base, n->src[1], value, s);
}

/* Who goes into each element: for the base and for the values, whether they do (bool), and how many
 * they are (FC_NONODE: one). */
typedef struct chosen {
    fc_node base, value, count;
} chosen;

static chosen who_is_set(fc_grad_ctx *c, const fc_ninfo *n) {
    fc_graph *g = c->g;
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = fc_shape_of(g, n->src[1], shape), lead = rank - fc_list_len(g, n->shape);
    const fc_node at = fc_build_positions(g, rank, shape, lead, fc_scatter_of(n).axis);
    const fc_node none = fc_build_like(g, fc_i64(g, -1), n->src[0]);
    const fc_node last = scatter_like(g, n, none, at, FC_OP_max);
    const fc_node there = read_there(c, n, last, false);
    return (chosen){fc_op2(g, FC_OP_lt, last, fc_i64(g, 0)), fc_op2(g, FC_OP_eq, there, at),
                    FC_NONODE};
}

static chosen who_is_best(fc_grad_ctx *c, fc_node id, const fc_ninfo *n) {
    fc_graph *g = c->g;
    chosen r = {.base = fc_op2(g, FC_OP_eq, n->src[0], id)};
    r.value = fc_op2(g, FC_OP_eq, n->src[2], read_there(c, n, id, false));
    r.count = scatter_like(g, n, fc_build_cast(g, r.base, FUSEC_I64),
                           fc_build_cast(g, r.value, FUSEC_I64), FC_OP_sum);
    r.count = fc_build_cast(g, r.count, (fusec_dtype)n->dtype);
    return r;
}

static chosen who(fc_grad_ctx *c, fc_node id, const fc_ninfo *n) {
    return fc_scatter_of(n).op == FC_OP_NONE ? who_is_set(c, n) : who_is_best(c, id, n);
}

fc_node fc_g_scatter_reverse(fc_grad_ctx *c, fc_node id, int k, fc_node a, bool *chooses) {
    fc_graph *g = c->g;
    const fc_ninfo n = *fc_at(g, id);
    if (c->nlead + fc_rank(g, n.src[1]) > FC_MAX_RANK) {
        fc_g_fail(c, id, "it has too many axes");
        return FC_NONODE;
    }
    a = fc_g_spread_as(c, a, id);
    if (fc_scatter_of(&n).op == FC_OP_sum) return k ? read_there(c, &n, a, true) : a;
    *chooses = true;
    const chosen w = who(c, id, &n);
    if (w.count != FC_NONODE) a = fc_op2(g, FC_OP_div, a, w.count);
    if (k) a = read_there(c, &n, a, true);
    return a == FC_NONODE ? a : fc_where(g, k ? w.value : w.base, a, zero_of(g, a));
}

fc_node fc_g_scatter_forward(fc_grad_ctx *c, fc_node id, fc_node base, fc_node value) {
    fc_graph *g = c->g;
    const fc_ninfo n = *fc_at(g, id);
    const fc_scatter s = fc_scatter_of(&n);
    const fc_node zero = zero_of(g, id);
    base = fc_g_spread_as(c, base == FC_NONODE ? zero : base, id);
    value = fc_g_spread_as(c, value == FC_NONODE ? zero : value, n.src[2]);
    if (s.op == FC_OP_sum || s.op == FC_OP_NONE) return scatter_like(g, &n, base, value, s.op);
    const chosen w = who(c, id, &n);
    base = fc_where(g, w.base, base, zero);
    value = fc_where(g, w.value, value, zero);
    return fc_op2(g, FC_OP_div, scatter_like(g, &n, base, value, FC_OP_sum), w.count);
}

/* Element q of an array that was read at many places gets the sum of what arrives at them. */
fc_node fc_g_take_to(fc_grad_ctx *c, fc_node id, fc_node a) {
    fc_graph *g = c->g;
    const fc_ninfo n = *fc_at(g, id);
    a = fc_g_spread_as(c, a, id);
    const fc_node base = fc_g_spread_as(c, zero_of(g, id), n.src[0]);
    const fc_node index = behind(c, n.src[1], false, 0);
    const fc_scatter s = {FC_OP_sum, c->nlead + (uint32_t)n.attr, false};
    return n.flags & FC_NODE_INSIDE ? fc_build_scatter_inside(g, base, index, a, s)
                                    : fc_build_scatter(g, base, index, a, s);
}
