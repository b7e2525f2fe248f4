/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ops.c - one function for each row of ir/ops.def: operands in, a node out.
 *
 * The usual case, all operands nodes of one graph, goes straight to the builder. */
#include "frontend/capi/capi.h"

static fusec_value slow(fc_op op, const fusec_value *v, int n) {
    fc_node src[3] = {FC_NONODE, FC_NONODE, FC_NONODE};
    fusec_graph *g = fc_common_graph(fc_ops[op].name, v, n);
    if (!g) return fc_fold_numbers(op, v, n);
    if (g->ir.error.code || !fc_adapt(g, op, v, n, src)) return fc_value(g, FC_NONODE);
    return fc_value(g, fc_build_op(&g->ir, op, src[0], src[1], src[2]));
}

static fusec_value unary(fc_op op, fusec_value x) {
    if (!fc_is_node(&x)) return slow(op, &x, 1);
    return fc_value(x.graph, fc_build_op(&x.graph->ir, op, x.node, FC_NONODE, FC_NONODE));
}

/* A fraction next to a float array, the other common case: a constant of the array's dtype. */
static inline bool is_plain_number(const fusec_value *array, const fusec_value *v) {
    return v->kind == FC_FLOAT && fc_is_node(array) &&
           fc_is_float((fusec_dtype)fc_at(&array->graph->ir, array->node)->dtype);
}

static inline fc_node plain_number(const fusec_value *array, const fusec_value *v) {
    fusec_graph *g = array->graph;
    const fusec_dtype t = (fusec_dtype)fc_at(&g->ir, array->node)->dtype;
    fc_recent *r = &g->recent[v->bits * 0x9e3779b97f4a7c15u >> 61];
    if (r->bits == v->bits && r->dtype == (uint32_t)t + 1) return r->node;
    double d;
    memcpy(&d, &v->bits, sizeof d);
    *r = (fc_recent){v->bits, fc_build_number(&g->ir, t, d), (uint32_t)t + 1};
    return r->node;
}

static fusec_value binary(fc_op op, fusec_value x, fusec_value y) {
    if (x.graph == y.graph && fc_is_node(&x) && fc_is_node(&y))
        return fc_value(x.graph, fc_build_op(&x.graph->ir, op, x.node, y.node, FC_NONODE));
    if (is_plain_number(&x, &y))
        return fc_value(x.graph,
                        fc_build_op(&x.graph->ir, op, x.node, plain_number(&x, &y), FC_NONODE));
    if (is_plain_number(&y, &x))
        return fc_value(y.graph,
                        fc_build_op(&y.graph->ir, op, plain_number(&y, &x), y.node, FC_NONODE));
    return slow(op, (fusec_value[]){x, y}, 2);
}

static fusec_value ternary(fc_op op, fusec_value x, fusec_value y, fusec_value z) {
    return slow(op, (fusec_value[]){x, y, z}, 3);
}

bool fc_take_axes(fusec_graph *g, const char *what, int n, const int *axes, int64_t *out) {
    if (n < 0 || (n > 0 && !axes))
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: %d axes%s", what, n, n > 0 ? " at NULL" : "");
    else if (n > FC_MAX_RANK)
        fc_fail(&g->ir.error, FUSEC_BAD_AXIS, "%s: %d axes are more than an array can have", what,
                n);
    for (int i = 0; i < n && !g->ir.error.code; i++) out[i] = axes[i];
    return !g->ir.error.code;
}

static fusec_value reduction(fc_op op, fusec_value x, int naxes, const int *axes, int keepdims) {
    int64_t list[FC_MAX_RANK];
    fusec_value failed;
    fusec_graph *g = fc_node_graph(fc_ops[op].name, x, &failed);
    if (!g) return failed;
    if (!fc_take_axes(g, fc_ops[op].name, naxes, axes, list)) return fc_value(g, FC_NONODE);
    return fc_value(
        g, fc_build_reduce(&g->ir, op, x.node, (uint32_t)naxes, axes ? list : NULL, keepdims != 0));
}

fusec_value fusec_logsumexp(fusec_value x, int naxes, const int *axes, int keepdims) {
    int64_t list[FC_MAX_RANK];
    fusec_value failed;
    fusec_graph *g = fc_node_graph("logsumexp", x, &failed);
    if (!g) return failed;
    if (!fc_take_axes(g, "logsumexp", naxes, axes, list)) return fc_value(g, FC_NONODE);
    return fc_value(
        g, fc_build_logsumexp(&g->ir, x.node, (uint32_t)naxes, axes ? list : NULL, keepdims != 0));
}

/* ---- the functions; those of hidden rows are declared nowhere and not exported -------------- */

#define PARAMETERS_1 fusec_value x
#define PARAMETERS_2 fusec_value x, fusec_value y
#define PARAMETERS_3 fusec_value x, fusec_value y, fusec_value z
#define BODY_1(op)   return unary(op, x);
#define BODY_2(op)   return binary(op, x, y);
#define BODY_3(op)   return ternary(op, x, y, z);

#define OP(name, arity, ...)                                                                       \
    fusec_value fusec_##name(PARAMETERS_##arity);                                                  \
    fusec_value fusec_##name(PARAMETERS_##arity) {                                                 \
        BODY_##arity(FC_OP_##name)                                                                 \
    }
#define RED(name, ...)                                                                             \
    fusec_value fusec_##name(fusec_value x, int naxes, const int *axes, int keepdims) {            \
        return reduction(FC_OP_##name, x, naxes, axes, keepdims);                                  \
    }
#define RED2(...)
#define PART(...)
#include "ir/ops.def"
