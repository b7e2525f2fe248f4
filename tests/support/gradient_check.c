/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_check.c - see gradient_check.h. */
#include "tests/support/gradient_check.h"

#include <math.h>

static double value_at(gx *x, fc_node y, int64_t i, double by) {
    const double kept = x->data[0][i];
    x->data[0][i] += by;
    gx_run(x);
    const double v = gx_at(x, y, 0);
    x->data[0][i] = kept;
    return v;
}

static fc_node weighted_sum(gx *x, fc_node y) {
    fc_graph *g = &x->g;
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t i = 0; i < fc_rank(g, y); i++) shape[i] = fc_axis(g, y, i);
    int64_t n[3] = {0, 0, 0};
    for (uint32_t i = 0; i < fc_rank(g, y); i++) fc_dim_is_const(&g->dims, shape[i], &n[i]);
    const fc_node w = gx_in(x, n[0], n[1], n[2], NULL, 77);
    return gball(g, FC_OP_sum, gb2(g, FC_OP_mul, y, w));
}

/* w J t, of the jacobian: what the weighted sum moves along t. */
static fc_node by_jacobian(fc_graph *g, fc_node y, fc_node x, fc_node w, fc_node t) {
    fc_dim shape[FC_MAX_RANK];
    const uint32_t ry = fc_rank(g, y), rx = fc_rank(g, x);
    for (uint32_t i = 0; i < ry; i++) shape[i] = fc_axis(g, y, i);
    for (uint32_t i = 0; i < rx; i++) shape[ry + i] = fc_dim_const(&g->dims, 1);
    const fc_node j = fc_jacobian(g, y, x);
    const fc_node weights = fc_build_reshape(g, w, ry + rx, shape);
    return gball(g, FC_OP_sum, gb2(g, FC_OP_mul, gb2(g, FC_OP_mul, j, weights), t));
}

/* Reverse and forward against differences. The result has at most three axes. */
void gx_check(const char *what, gx_function f, int64_t a, int64_t b, int64_t c) {
    static gx x;
    const double h = 0x1p-14;
    gx_init(&x);
    fc_graph *g = &x.g;
    const fc_node in = gx_in(&x, a, b, c, NULL, 5), y = f(g, in), loss = weighted_sum(&x, y);
    const fc_node t = gx_in(&x, a, b, c, NULL, 9);
    fc_node d = FC_NONODE;
    FC_EXPECT_TRUE(fc_grad(g, loss, 1, &in, &d));
    const fc_node moved = fc_jvp(g, loss, 1, &in, &t);
    const fc_node w = fc_rank(g, y) ? x.g.inputs.at[1].node : FC_NONODE;
    const fc_node along = fc_rank(g, y) ? by_jacobian(g, y, in, w, t) : moved;
    if (g->error.code) FC_FAIL("%s: %s", what, g->error.message);
    fc_build_output(g, "loss", loss);
    fc_build_output(g, "d", d);
    fc_build_output(g, "moved", moved);
    fc_build_output(g, "along", along);
    gx_run(&x);
    const int64_t n = gx_count(&x, d);
    double dot = 0, got[64];
    FC_ASSERT_TRUE(n <= 64);
    for (int64_t i = 0; i < n; i++) {
        got[i] = gx_at(&x, d, i);
        dot += got[i] * x.data[x.n - 1][i];
    }
    if (!(fabs(dot - gx_at(&x, moved, 0)) <= 1e-10 * (1 + fabs(dot))))
        FC_FAIL("%s: reverse says %.17g, forward %.17g", what, dot, gx_at(&x, moved, 0));
    if (!(fabs(dot - gx_at(&x, along, 0)) <= 1e-10 * (1 + fabs(dot))))
        FC_FAIL("%s: reverse says %.17g, the jacobian %.17g", what, dot, gx_at(&x, along, 0));
    for (int64_t i = 0; i < n; i++) {
        const double want = (value_at(&x, loss, i, h) - value_at(&x, loss, i, -h)) / (2 * h);
        if (!(fabs(got[i] - want) <= 1e-6 * (1 + fabs(want))))
            FC_FAIL("%s: element %d is %.17g, differences say %.17g", what, (int)i, got[i], want);
    }
    gx_free(&x);
}
