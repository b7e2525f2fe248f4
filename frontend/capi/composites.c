/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* composites.c - one function for each row of ir/composites.def. */
#include "frontend/capi/capi.h"
#include "ir/composites.h"

static void map(const char *name, const fusec_value *v, fusec_value *out) {
    const fc_composite *row = fc_composite_by_name(name);
    fc_node src[3] = {FC_NONODE, FC_NONODE, FC_NONODE}, made[2] = {FC_NONODE, FC_NONODE};
    fusec_graph *g = fc_common_graph(name, v, row->operands);
    for (int k = 0; k < row->results; k++) out[k] = fc_failed(FUSEC_INVALID);
    if (!g) return;
    if (!g->ir.error.code && fc_adapt(g, row->like, v, row->operands, src))
        row->map(&g->ir, src, made);
    for (int k = 0; k < row->results; k++)
        out[k] = fc_value(g, g->ir.error.code ? FC_NONODE : made[k]);
}

static fusec_value fold(const char *name, fusec_value x, double parameter, int naxes,
                        const int *axes, int keepdims) {
    int64_t list[FC_MAX_RANK];
    fusec_value failed;
    fusec_graph *g = fc_node_graph(name, x, &failed);
    if (!g) return failed;
    if (!fc_take_axes(g, name, naxes, axes, list)) return fc_value(g, FC_NONODE);
    const fc_axes a = {(uint32_t)naxes, axes ? list : NULL, keepdims != 0};
    return fc_value(g, fc_composite_by_name(name)->fold(&g->ir, x.node, &a, parameter));
}

#define OPERANDS_1 fusec_value x
#define OPERANDS_2 fusec_value x, fusec_value y
#define VALUES_1                                                                                   \
    (fusec_value[]) {                                                                              \
        x                                                                                          \
    }
#define VALUES_2                                                                                   \
    (fusec_value[]) {                                                                              \
        x, y                                                                                       \
    }
#define RESULTS_1(fn, n)                                                                           \
    fusec_value fusec_##fn(OPERANDS_##n);                                                          \
    fusec_value fusec_##fn(OPERANDS_##n) {                                                         \
        fusec_value out;                                                                           \
        map(#fn, VALUES_##n, &out);                                                                \
        return out;                                                                                \
    }
#define RESULTS_2(fn, n)                                                                           \
    void fusec_##fn(OPERANDS_##n, fusec_value *first, fusec_value *second);                        \
    void fusec_##fn(OPERANDS_##n, fusec_value *first, fusec_value *second) {                       \
        fusec_value out[2];                                                                        \
        map(#fn, VALUES_##n, out);                                                                 \
        *first = out[0];                                                                           \
        *second = out[1];                                                                          \
    }
#define MAP(fn, n, results, like, doc) RESULTS_##results(fn, n)

#define FOLD_0(fn)                                                                                 \
    fusec_value fusec_##fn(fusec_value x, int naxes, const int *axes, int keepdims);               \
    fusec_value fusec_##fn(fusec_value x, int naxes, const int *axes, int keepdims) {              \
        return fold(#fn, x, 0, naxes, axes, keepdims);                                             \
    }
#define FOLD_ord(fn)        FOLD_NUMBER(fn)
#define FOLD_correction(fn) FOLD_NUMBER(fn)
#define WITH_NUMBER         fusec_value x, double parameter, int naxes, const int *axes, int keepdims
#define FOLD_NUMBER(fn)                                                                            \
    fusec_value fusec_##fn(WITH_NUMBER);                                                           \
    fusec_value fusec_##fn(WITH_NUMBER) {                                                          \
        return fold(#fn, x, parameter, naxes, axes, keepdims);                                     \
    }
#define FOLD(fn, parameter, value, doc) FOLD_##parameter(fn)
#include "ir/composites.def"

/* ---- arrays
 * -------------------------------------------------------------------------------------- */

fusec_value fusec_linspace(fusec_graph *g, fusec_dtype t, double a, double b, fusec_dim n) {
    static const char what[] = "fusec_linspace";
    fc_dim d;
    if (!g) return fc_failed(FUSEC_INVALID);
    if (!fc_dtype_ok(g, what, t) || !fc_take_shape(g, what, 1, &n, &d))
        return fc_value(g, FC_NONODE);
    return fc_value(g, fc_build_linspace(&g->ir, t, a, b, d));
}

fusec_value fusec_tril(fusec_value x, int64_t k) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_tril", x, &failed);
    return g ? fc_value(g, fc_build_triangle(&g->ir, x.node, k, false)) : failed;
}

fusec_value fusec_triu(fusec_value x, int64_t k) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_triu", x, &failed);
    return g ? fc_value(g, fc_build_triangle(&g->ir, x.node, k, true)) : failed;
}

fusec_value fusec_diff(fusec_value x, int axis) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_diff", x, &failed);
    return g ? fc_value(g, fc_build_diff(&g->ir, x.node, axis)) : failed;
}

fusec_value fusec_round_to(fusec_value x, int digits) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_round_to", x, &failed);
    return g ? fc_value(g, fc_build_round_to(&g->ir, x.node, digits)) : failed;
}
