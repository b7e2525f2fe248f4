/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient.c - derivatives: arguments checked, and handed to passes/gradient.h. */
#include "frontend/capi/capi.h"

#include "passes/gradient.h"

enum { MOST = 256 }; /* what one call derives by */

/* The graph of `first`; NULL: it has none, or something is wrong, and *failed says so. */
static fusec_graph *open(const char *what, fusec_value first, int n, const fusec_value *x,
                         fusec_value *failed) {
    fusec_graph *g = fc_node_graph(what, first, failed);
    if (!g) return NULL;
    if (n < 0 || n > MOST || (n > 0 && !x))
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: %d values%s", what, n,
                n > MOST ? ", more than 256"
                : n > 0  ? " at NULL"
                         : "");
    *failed = fc_value(g, FC_NONODE);
    return g->ir.error.code ? NULL : g;
}

/* Values that must be nodes of this graph. */
static bool take(fusec_graph *g, const char *what, int n, const fusec_value *v, fc_node *out) {
    for (int i = 0; i < n; i++) {
        const fusec_value pair[2] = {{.graph = g, .bits = g->stamp, .node = 0, .kind = FC_NODE},
                                     v[i]};
        if (fc_is_number(&v[i]))
            fc_fail(&g->ir.error, FUSEC_NO_GRADIENT,
                    "%s: value %d is a number; derivatives are by arrays and inputs", what, i + 1);
        else
            fc_common_graph(what, pair, 2);
        if (g->ir.error.code) return false;
        out[i] = v[i].node;
    }
    return true;
}

/* A cotangent or tangent of `of`; a number takes its dtype. */
static fc_node along(fusec_graph *g, const char *what, fusec_value v, fc_node of) {
    if (fc_is_number(&v)) {
        const double d =
            v.kind == FC_FLOAT ? fc_const_value(FUSEC_F64, v.bits) : (double)(int64_t)v.bits;
        return fc_build_number(&g->ir, (fusec_dtype)fc_at(&g->ir, of)->dtype, d);
    }
    fc_node n;
    return take(g, what, 1, &v, &n) ? n : FC_NONODE;
}

static fusec_status give(fusec_graph *g, int n, const fc_node *nodes, fusec_value *out) {
    for (int i = 0; i < n; i++) out[i] = fc_value(g, g->ir.error.code ? FC_NONODE : nodes[i]);
    return g->ir.error.code ? fc_report(&g->ir.error) : FUSEC_OK;
}

static fusec_status reverse(const char *what, fusec_value y, const fusec_value *dy, int n,
                            const fusec_value *x, fusec_value *dx) {
    fc_node from[MOST], to[MOST];
    fusec_value failed;
    if (n > 0 && dx)
        for (int i = 0; i < n; i++) dx[i] = fc_failed(FUSEC_INVALID);
    const fusec_status wrong = fc_check_value(what, y);
    if (wrong) return wrong;
    if (n > 0 && !dx) return fc_report_text(FUSEC_INVALID, "%s: the results are at NULL", what);
    fusec_graph *g = open(what, y, n, x, &failed);
    if (!g) return fusec_graph_status(y.graph);
    if (take(g, what, n, x, from)) {
        const fc_node v = dy ? along(g, what, *dy, y.node) : FC_NONODE;
        if (!dy)
            fc_grad(&g->ir, y.node, (uint32_t)n, from, to);
        else if (v != FC_NONODE)
            fc_vjp(&g->ir, y.node, v, (uint32_t)n, from, to);
    }
    return give(g, n, to, dx);
}

fusec_status fusec_grad(fusec_value loss, int n, const fusec_value *x, fusec_value *dx) {
    return reverse("fusec_grad", loss, NULL, n, x, dx);
}

fusec_status fusec_vjp(fusec_value y, fusec_value dy, int n, const fusec_value *x,
                       fusec_value *dx) {
    return reverse("fusec_vjp", y, &dy, n, x, dx);
}

fusec_value fusec_jvp(fusec_value y, int n, const fusec_value *x, const fusec_value *dx) {
    static const char what[] = "fusec_jvp";
    fc_node by[MOST], to[MOST];
    fusec_value failed;
    fusec_graph *g = open(what, y, n, x, &failed);
    if (!g) return failed;
    if (n > 0 && !dx) fc_fail(&g->ir.error, FUSEC_INVALID, "%s: the tangents are at NULL", what);
    if (g->ir.error.code || !take(g, what, n, x, by)) return fc_value(g, FC_NONODE);
    for (int i = 0; i < n; i++)
        if ((to[i] = along(g, what, dx[i], by[i])) == FC_NONODE) return fc_value(g, FC_NONODE);
    return fc_value(g, fc_jvp(&g->ir, y.node, (uint32_t)n, by, to));
}

fusec_value fusec_jacobian(fusec_value y, fusec_value x) {
    fc_node by;
    fusec_value failed;
    fusec_graph *g = open("fusec_jacobian", y, 1, &x, &failed);
    if (!g) return failed;
    if (!take(g, "fusec_jacobian", 1, &x, &by)) return fc_value(g, FC_NONODE);
    return fc_value(g, fc_jacobian(&g->ir, y.node, by));
}

fusec_value fusec_stop_grad(fusec_value v) {
    fusec_value failed;
    if (fc_is_number(&v)) return v;
    fusec_graph *g = fc_node_graph("fusec_stop_grad", v, &failed);
    return g ? fc_value(g, fc_build_stop_grad(&g->ir, v.node)) : failed;
}

/* ---- values with a rule of their own ------------------------------------------------------------
 */

fusec_value fusec_cotangent(fusec_value y) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_cotangent", y, &failed);
    return g ? fc_value(g, fc_build_seed(&g->ir, y.node)) : failed;
}

fusec_value fusec_custom_grad(fusec_value y, fusec_value dy, int n, const fusec_value *x,
                              const fusec_value *dx) {
    static const char what[] = "fusec_custom_grad";
    fc_node by[MOST], to[MOST], seed, out = FC_NONODE;
    fusec_value failed;
    fusec_graph *g = open(what, y, n, x, &failed);
    if (!g) return failed;
    if (n > 0 && !dx) fc_fail(&g->ir.error, FUSEC_INVALID, "%s: the derivatives are at NULL", what);
    if (g->ir.error.code || !take(g, what, 1, &dy, &seed) || !take(g, what, n, x, by))
        return fc_value(g, FC_NONODE);
    if (!fc_is_seed_of(&g->ir, seed, y.node))
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: dy is not what fusec_cotangent gave for y", what);
    for (int i = 0; i < n && !g->ir.error.code; i++) to[i] = along(g, what, dx[i], by[i]);
    if (!g->ir.error.code) fc_build_custom(&g->ir, 1, &y.node, &seed, (uint32_t)n, by, to, &out);
    return fc_value(g, out);
}
