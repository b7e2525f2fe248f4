/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gradient_plan.c - how many kernels derivatives take. */
#include "passes/gradient.h"
#include "passes/plan.h"
#include "tests/support/gb.h"
#include "tests/support/kernels.h"
#include "tests/support/test.h"

static void outputs(fc_graph *g, int n, const fc_node *d) {
    static const char *const names[] = {"da", "db", "dc"};
    for (int i = 0; i < n; i++) fc_build_output(g, names[i], d[i]);
}

FC_TEST(gradient_plan, of_an_elementwise_chain) {
    fc_graph g;
    fc_node d = FC_NONODE;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    const fc_node y =
        gb1(&g, FC_OP_exp, gb2(&g, FC_OP_mul, gb1(&g, FC_OP_sin, x), gb1(&g, FC_OP_cos, x)));
    FC_EXPECT_TRUE(fc_grad(&g, gball(&g, FC_OP_sum, y), 1, &x, &d));
    outputs(&g, 1, &d);
    expect_kernels(&g, 1);
}

/* The loss is the mean over rows, another reduction than those inside the rows. */
FC_TEST(gradient_plan, of_softmax_cross_entropy) {
    fc_graph g;
    const int64_t axis = -1;
    fc_node d = FC_NONODE;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_node x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    const fc_node t = gbin(&g, "t", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    const fc_node picked = gbred(&g, FC_OP_sum, gb2(&g, FC_OP_mul, x, t), -1, false);
    const fc_node rows = gb2(&g, FC_OP_sub, fc_build_logsumexp(&g, x, 1, &axis, false), picked);
    const fc_node loss = gball(&g, FC_OP_mean, rows);
    FC_EXPECT_TRUE(fc_grad(&g, loss, 1, &x, &d));
    fc_build_output(&g, "loss", loss);
    outputs(&g, 1, &d);
    expect_kernels(&g, 2);
}

FC_TEST(gradient_plan, of_layer_norm) {
    fc_graph g;
    fc_node d[3];
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_dim n = gbd(&g, "n"), m = gbd(&g, "m");
    const fc_node x = gbin(&g, "x", FUSEC_F32, 2, n, m, 0),
                  w = gbin(&g, "w", FUSEC_F32, 1, m, 0, 0);
    const fc_node b = gbin(&g, "b", FUSEC_F32, 1, m, 0, 0),
                  dy = gbin(&g, "dy", FUSEC_F32, 2, n, m, 0);
    const fc_node c = gb2(&g, FC_OP_sub, x, gbred(&g, FC_OP_mean, x, -1, true));
    const fc_node v = gbred(&g, FC_OP_mean, gb2(&g, FC_OP_mul, c, c), -1, true);
    const fc_node r = gb1(&g, FC_OP_rsqrt, gb2(&g, FC_OP_add, v, gbn(&g, v, 1e-5)));
    const fc_node y = gb2(&g, FC_OP_add, gb2(&g, FC_OP_mul, gb2(&g, FC_OP_mul, c, r), w), b);
    FC_EXPECT_TRUE(fc_vjp(&g, y, dy, 3, (fc_node[]){x, w, b}, d));
    outputs(&g, 3, d);
    expect_kernels(&g, 2);
}

/* Backward of a stencil is a stencil. */
FC_TEST(gradient_plan, of_neighbours) {
    fc_graph g;
    fc_node d = FC_NONODE;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_dim n = gbd(&g, "n");
    const fc_node x = gbin(&g, "x", FUSEC_F32, 1, n, 0, 0);
    const int64_t step = 1;
    fc_node sum = gb1(&g, FC_OP_sin, x);
    for (int k = -1; k <= 1; k += 2) {
        const fc_view_axis axis = {fc_dim_const(&g.dims, k), FC_EDGE_REFLECT, &step};
        const fc_node side = fc_build_view(&g, x, 1, &n, &axis);
        sum = gb2(&g, FC_OP_add, sum, gb2(&g, FC_OP_mul, side, side));
    }
    FC_EXPECT_TRUE(fc_grad(&g, gball(&g, FC_OP_sum, sum), 1, &x, &d));
    outputs(&g, 1, &d);
    expect_kernels(&g, 1);
}

/* As many contractions as forward and backward have: 2 and 3. */
FC_TEST(gradient_plan, of_a_network) {
    fc_graph g;
    fc_node d[3];
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_dim n = gbd(&g, "n"), k = gbd(&g, "k"), m = gbd(&g, "m"), o = gbd(&g, "o");
    const fc_node x = gbin(&g, "x", FUSEC_F32, 2, n, k, 0),
                  w = gbin(&g, "w", FUSEC_F32, 2, k, m, 0);
    const fc_node b = gbin(&g, "b", FUSEC_F32, 1, m, 0, 0),
                  u = gbin(&g, "u", FUSEC_F32, 2, m, o, 0);
    const fc_node t = gbin(&g, "t", FUSEC_F32, 2, n, o, 0);
    const fc_node h = gb1(&g, FC_OP_tanh, gb2(&g, FC_OP_add, fc_build_matmul(&g, x, w), b));
    const fc_node off = gb2(&g, FC_OP_sub, fc_build_matmul(&g, h, u), t);
    const fc_node loss = gball(&g, FC_OP_mean, gb2(&g, FC_OP_mul, off, off));
    FC_EXPECT_TRUE(fc_grad(&g, loss, 3, (fc_node[]){w, b, u}, d));
    outputs(&g, 3, d);
    expect_kernels(&g, 6);
}

/* The logit of each row's label is read by index; backward compares places with it. */
FC_TEST(gradient_plan, of_cross_entropy_with_index_labels) {
    fc_graph g;
    const int64_t axis = -1;
    fc_node d = FC_NONODE;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_dim shape[2] = {gbd(&g, "n"), fc_dim_const(&g.dims, 1)};
    const fc_node x = gbin(&g, "x", FUSEC_F32, 2, shape[0], gbd(&g, "m"), 0);
    const fc_node label = gbin(&g, "label", FUSEC_I32, 1, shape[0], 0, 0);
    const fc_node checked = fc_build_check(&g, label, fc_axis(&g, x, 1));
    const fc_node picked = fc_build_take(&g, x, fc_build_reshape(&g, checked, 2, shape), 1);
    const fc_node rows = gb2(&g, FC_OP_sub, fc_build_logsumexp(&g, x, 1, &axis, false),
                             fc_build_reshape(&g, picked, 1, shape));
    const fc_node loss = gball(&g, FC_OP_mean, rows);
    FC_EXPECT_TRUE(fc_grad(&g, loss, 1, &x, &d));
    fc_build_output(&g, "loss", loss);
    outputs(&g, 1, &d);
    expect_kernels(&g, 2);
}
