/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_plan.c - kernel counts: what must become one kernel, and what must not. No device is
 * needed. */
#include "passes/plan.h"
#include "tests/support/gb.h"
#include "tests/support/kernels.h"
#include "tests/support/test.h"

static fc_graph graph_of(void) {
    fc_graph g;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    return g;
}

FC_TEST(plan, elementwise_chain_with_several_outputs) {
    fc_graph g = graph_of();
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    fc_node a = gb1(&g, FC_OP_sin, gb2(&g, FC_OP_mul, x, gbn(&g, x, 2)));
    fc_node b = gb1(&g, FC_OP_exp, gb2(&g, FC_OP_add, a, gbn(&g, x, 1)));
    fc_build_output(&g, "a", a);
    fc_build_output(&g, "b", b);
    fc_build_output(&g, "c", gb2(&g, FC_OP_mul, b, x));
    expect_kernels(&g, 1);
}

FC_TEST(plan, softmax) {
    fc_graph g = graph_of();
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    fc_node e = gb1(&g, FC_OP_exp, gb2(&g, FC_OP_sub, x, gbred(&g, FC_OP_max, x, -1, true)));
    fc_build_output(&g, "p", gb2(&g, FC_OP_div, e, gbred(&g, FC_OP_sum, e, -1, true)));
    expect_kernels(&g, 1);
}

FC_TEST(plan, layernorm_with_weights) {
    fc_graph g = graph_of();
    fc_dim n = gbd(&g, "n"), d = gbd(&g, "d");
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, n, d, 0), w = gbin(&g, "w", FUSEC_F32, 1, d, 0, 0);
    fc_node b = gbin(&g, "b", FUSEC_F32, 1, d, 0, 0);
    fc_node xc = gb2(&g, FC_OP_sub, x, gbred(&g, FC_OP_mean, x, -1, true));
    fc_node v = gbred(&g, FC_OP_mean, gb2(&g, FC_OP_mul, xc, xc), -1, true);
    fc_node r = gb1(&g, FC_OP_rsqrt, gb2(&g, FC_OP_add, v, gbn(&g, v, 1e-5)));
    fc_build_output(&g, "y",
                    gb2(&g, FC_OP_add, gb2(&g, FC_OP_mul, gb2(&g, FC_OP_mul, xc, r), w), b));
    expect_kernels(&g, 1);
}

FC_TEST(plan, rmsnorm) {
    fc_graph g = graph_of();
    fc_node x = gbin(&g, "x", FUSEC_F16, 3, gbd(&g, "a"), gbd(&g, "n"), gbd(&g, "d"));
    fc_node v = gbred(&g, FC_OP_mean, gb2(&g, FC_OP_mul, x, x), -1, true);
    fc_node r = gb1(&g, FC_OP_rsqrt, gb2(&g, FC_OP_add, v, gbn(&g, v, 1e-3)));
    fc_build_output(&g, "y", gb2(&g, FC_OP_mul, x, r));
    expect_kernels(&g, 1);
}

FC_TEST(plan, logsumexp) {
    fc_graph g = graph_of();
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    int64_t axis = -1;
    fc_build_output(&g, "y", fc_build_logsumexp(&g, x, 1, &axis, false));
    expect_kernels(&g, 1);
}

/* Random numbers are made where they are used: pi by Monte Carlo, and dropout. */
FC_TEST(plan, random_numbers) {
    fc_graph g = graph_of();
    const fc_dim n = gbd(&g, "n");
    fc_node u[2];
    for (unsigned i = 0; i < 2; i++) {
        const fc_draw d = {1, &n, fc_build_const(&g, FUSEC_U64, 7),
                           fc_build_const(&g, FUSEC_U64, i)};
        const fc_node x = fc_build_uniform(&g, &d, FUSEC_F32);
        u[i] = gb2(&g, FC_OP_mul, x, x);
    }
    fc_node sum = gb2(&g, FC_OP_add, u[0], u[1]);
    fc_node in = fc_build_cast(&g, gb2(&g, FC_OP_lt, sum, gbn(&g, sum, 1)), FUSEC_F64);
    fc_build_output(&g, "pi", gball(&g, FC_OP_mean, in));
    expect_kernels(&g, 1);
    g = graph_of();
    const fc_dim m = gbd(&g, "m"), shape[2] = {gbd(&g, "n"), m};
    const fc_draw d = {2, shape, fc_build_const(&g, FUSEC_U64, 7),
                       fc_build_const(&g, FUSEC_U64, 0)};
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, shape[0], m, 0);
    fc_node kept = fc_build_bernoulli(&g, &d, fc_build_number(&g, FUSEC_F32, .9));
    fc_build_output(&g, "y", fc_build_op(&g, FC_OP_where, kept, x, gbn(&g, x, 0)));
    expect_kernels(&g, 1);
}

FC_TEST(plan, statistics_of_one_tensor) {
    static const fc_op ops[] = {FC_OP_mean, FC_OP_var, FC_OP_min, FC_OP_max};
    static const char *const names[] = {"mean", "var", "min", "max"};
    for (int axis = -1; axis <= 0; axis++) {
        fc_graph g = graph_of();
        fc_node x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
        for (int i = 0; i < 4; i++)
            fc_build_output(&g, names[i], gbred(&g, ops[i], x, axis, false));
        expect_kernels(&g, 1);
    }
}

FC_TEST(plan, sum_of_squared_differences) {
    fc_graph g = graph_of();
    fc_node a = gbin(&g, "a", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    fc_node b = gbin(&g, "b", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    fc_node d = gb2(&g, FC_OP_sub, a, b);
    fc_build_output(&g, "s", gball(&g, FC_OP_sum, gb2(&g, FC_OP_mul, d, d)));
    expect_kernels(&g, 1);
}

FC_TEST(plan, transposed_operand) {
    fc_graph g = graph_of();
    fc_dim n = gbd(&g, "n");
    fc_node a = gbin(&g, "a", FUSEC_F32, 2, n, n, 0), b = gbin(&g, "b", FUSEC_F32, 2, n, n, 0);
    fc_build_output(&g, "y",
                    gb2(&g, FC_OP_add, a, fc_build_permute(&g, b, (const int64_t[]){1, 0})));
    expect_kernels(&g, 1);
}

FC_TEST(plan, pairwise_distance) {
    fc_graph g = graph_of();
    fc_dim n = gbd(&g, "n"), m = gbd(&g, "m"), d = gbd(&g, "d"), one = fc_dim_const(&g.dims, 1);
    fc_node a = gbin(&g, "a", FUSEC_F32, 2, n, d, 0), b = gbin(&g, "b", FUSEC_F32, 2, m, d, 0);
    a = fc_build_reshape(&g, a, 3, (const fc_dim[]){n, one, d});
    b = fc_build_reshape(&g, b, 3, (const fc_dim[]){one, m, d});
    fc_node x = gb2(&g, FC_OP_sub, a, b);
    fc_build_output(&g, "y",
                    gb1(&g, FC_OP_sqrt, gbred(&g, FC_OP_sum, gb2(&g, FC_OP_mul, x, x), -1, false)));
    expect_kernels(&g, 1);
}

/* An axis in the middle: its columns lie in blocks, which need no split. */
FC_TEST(plan, softmax_over_an_axis_in_the_middle) {
    fc_graph g = graph_of();
    fc_node x = gbin(&g, "x", FUSEC_F32, 3, gbd(&g, "a"), gbd(&g, "n"), gbd(&g, "c"));
    fc_node e = gb1(&g, FC_OP_exp, gb2(&g, FC_OP_sub, x, gbred(&g, FC_OP_max, x, 1, true)));
    fc_build_output(&g, "p", gb2(&g, FC_OP_div, e, gbred(&g, FC_OP_sum, e, 1, true)));
    expect_kernels(&g, 1);
    g = graph_of(); /* elements of a map that is there, too */
    x = gbin(&g, "x", FUSEC_F32, 3, gbd(&g, "a"), gbd(&g, "n"), gbd(&g, "c"));
    e = gb1(&g, FC_OP_exp, x);
    fc_build_output(&g, "e", e);
    fc_build_output(&g, "s", gbred(&g, FC_OP_sum, e, 1, false));
    expect_kernels(&g, 1);
}

FC_TEST(plan, standardise_columns) {
    fc_graph g = graph_of();
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "d"), 0);
    fc_node mu = gbred(&g, FC_OP_mean, x, 0, false), sd = gbred(&g, FC_OP_std, x, 0, false);
    fc_build_output(&g, "z",
                    gb2(&g, FC_OP_div, gb2(&g, FC_OP_sub, x, mu),
                        gb2(&g, FC_OP_maximum, sd, gbn(&g, sd, 1e-12))));
    fc_build_output(&g, "mean", mu);
    fc_build_output(&g, "std", sd);
    expect_kernels(&g, 2);
}

FC_TEST(plan, slices_of_one_array) {
    fc_graph g = graph_of();
    fc_dim n = gbd(&g, "n"), m = gbd(&g, "m");
    fc_dim h = fc_dim_sub(&g.dims, n, fc_dim_const(&g.dims, 2)),
           w = fc_dim_sub(&g.dims, m, fc_dim_const(&g.dims, 2));
    fc_node z = fc_build_cast(&g, gbin(&g, "z", FUSEC_I16, 2, n, m, 0), FUSEC_F32);
    fc_node mid = gbslice(&g, z, 0, 1, h), col = gbslice(&g, z, 1, 1, w);
    fc_node dx = gb2(&g, FC_OP_sub, gbslice(&g, mid, 1, 2, w), gbslice(&g, mid, 1, 0, w));
    fc_node dy = gb2(&g, FC_OP_sub, gbslice(&g, col, 0, 2, h), gbslice(&g, col, 0, 0, h));
    fc_node s = gb2(&g, FC_OP_add, gb2(&g, FC_OP_mul, dx, dx), gb2(&g, FC_OP_mul, dy, dy));
    fc_build_output(&g, "shade", gb1(&g, FC_OP_rsqrt, gb2(&g, FC_OP_add, s, gbn(&g, s, 1))));
    expect_kernels(&g, 1);
}

FC_TEST(plan, an_expensive_column_is_not_repeated_for_every_element) {
    fc_graph g = graph_of();
    fc_dim n = gbd(&g, "n"), m = gbd(&g, "m"), one = fc_dim_const(&g.dims, 1);
    fc_node c = gbin(&g, "c", FUSEC_F32, 2, n, one, 0), x = gbin(&g, "x", FUSEC_F32, 2, n, m, 0);
    fc_build_output(&g, "y", gb2(&g, FC_OP_add, gb1(&g, FC_OP_exp, gb1(&g, FC_OP_sin, c)), x));
    expect_kernels(&g, 2);
}

FC_TEST(plan, a_reduction_of_a_reduction_reads_it_from_memory) {
    fc_graph g = graph_of();
    fc_node x = gbin(&g, "x", FUSEC_F32, 3, gbd(&g, "a"), gbd(&g, "b"), gbd(&g, "c"));
    fc_build_output(&g, "y", gbred(&g, FC_OP_sum, gbred(&g, FC_OP_max, x, 2, false), 1, false));
    expect_kernels(&g, 2);
    g = graph_of();
    x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    fc_node y = fc_build_materialize(&g, gb1(&g, FC_OP_sin, x));
    fc_build_output(&g, "s", gball(&g, FC_OP_sum, y));
    expect_kernels(&g, 2);
}

FC_TEST(plan, materialize_cuts) {
    fc_graph g = graph_of();
    fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    fc_node y = fc_build_materialize(&g, gb1(&g, FC_OP_sin, x));
    fc_build_output(&g, "y", gb1(&g, FC_OP_cos, y));
    expect_kernels(&g, 2);
}

FC_TEST(plan, outputs_that_are_inputs_or_constants) {
    fc_graph g = graph_of();
    fc_dim n = gbd(&g, "n");
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, n, n, 0), s = gbin(&g, "s", FUSEC_F64, 0, 0, 0, 0);
    fc_build_output(&g, "a", x);
    fc_build_output(&g, "b", x);
    fc_build_output(&g, "t", fc_build_permute(&g, x, (const int64_t[]){1, 0}));
    fc_build_output(&g, "s", s);
    fc_build_output(&g, "c", fc_build_number(&g, FUSEC_I32, 7));
    fc_build_output(&g, "z", fc_build_full(&g, fc_build_number(&g, FUSEC_F32, 0), 1, &n));
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {.verify = true};
    FC_EXPECT_OK(fc_plan_build(&g, &o, &p, &e), &e);
    fc_plan_free(p);
    fc_graph_free(&g);
}

FC_TEST(plan, a_chain_of_100000_operations_is_split) {
    fc_graph g;
    fc_limits l = fc_default_limits;
    l.nodes = 400000;
    fc_graph_init(&g, &fc_libc_alloc, &l);
    fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0), y = x;
    for (int i = 0; i < 50000; i++) {
        y = gb2(&g, FC_OP_mul, y, gbn(&g, x, 1.0 + i * 1e-6));
        y = gb2(&g, FC_OP_add, y, x);
    }
    fc_build_output(&g, "y", y);
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {0};
    FC_EXPECT_OK(fc_plan_build(&g, &o, &p, &e), &e);
    if (p) {
        FC_EXPECT_GE_I64((int64_t)p->steps.len, 100000 / 512);
        FC_EXPECT_LE_I64((int64_t)p->steps.len, 2 * 100000 / 512);
        for (size_t i = 0; i < p->steps.len; i++) FC_EXPECT_LE_I64(p->steps.at[i]->ops, 520);
    }
    fc_plan_free(p);
    fc_graph_free(&g);
}

/* Softmax after softmax: what passes from one kernel to the next is stored, at every boundary, so
 * that no kernel starts again from the first array. */
FC_TEST(plan, a_chain_of_softmaxes_is_not_computed_again) {
    fc_graph g = graph_of();
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0), y = x;
    for (int i = 0; i < 60; i++) {
        fc_node e = gb1(&g, FC_OP_exp, gb2(&g, FC_OP_sub, y, gbred(&g, FC_OP_max, y, -1, true)));
        y = gb2(&g, FC_OP_add, gb2(&g, FC_OP_div, e, gbred(&g, FC_OP_sum, e, -1, true)), x);
    }
    fc_build_output(&g, "y", y);
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {.verify = true};
    FC_EXPECT_OK(fc_plan_build(&g, &o, &p, &e), &e);
    if (p) {
        FC_EXPECT_LE_I64((int64_t)p->steps.len, 60 / 4 + 1);
        for (size_t i = 0; i < p->steps.len; i++) {
            const fc_kernel *k = &p->steps.at[i]->kernel;
            FC_EXPECT_LE_I64((int64_t)k->code.ins.len, 32); /* four softmaxes, and what it reads */
            FC_EXPECT_LE_I64((int64_t)k->args.len, 8);
        }
    }
    fc_plan_free(p);
    fc_graph_free(&g);
}

FC_TEST(plan, a_graph_with_10000_inputs_is_split) {
    fc_graph g;
    fc_limits l = {.nodes = 100000, .rank = 32, .inputs = 20000, .outputs = 256};
    fc_graph_init(&g, &fc_libc_alloc, &l);
    fc_node y = FC_NONODE;
    fc_dim n = gbd(&g, "n");
    for (int i = 0; i < 10000; i++) {
        fc_node x = gbin(&g, "x", FUSEC_F32, 1, n, 0, 0);
        y = y == FC_NONODE ? x : gb2(&g, FC_OP_add, y, x);
    }
    fc_build_output(&g, "y", y);
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {0};
    FC_EXPECT_OK(fc_plan_build(&g, &o, &p, &e), &e);
    if (p)
        for (size_t i = 0; i < p->steps.len; i++)
            FC_EXPECT_LE_I64((int64_t)p->steps.at[i]->kernel.args.len, 70);
    fc_plan_free(p);
    fc_graph_free(&g);
}

/* A long chain of kernels, the first of which grow when the chain is there: who needs whom is then
 * not followed to the end, and still no two kernels may need each other. */
FC_TEST(plan, a_chain_of_kernels_that_grow) {
    enum { N = 3000 };
    static fc_node chain[N];
    fc_graph g;
    fc_limits l = {.nodes = 100000, .rank = 32, .inputs = 16, .outputs = 256};
    fc_graph_init(&g, &fc_libc_alloc, &l);
    fc_node y = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    for (int i = 0; i < N; i++) chain[i] = y = fc_build_materialize(&g, gb1(&g, FC_OP_sin, y));
    for (int i = N; i-- > 0;) {
        fc_node part = fc_build_materialize(&g, gb2(&g, FC_OP_mul, chain[i], gbn(&g, y, 3)));
        y = fc_build_materialize(&g, gb2(&g, FC_OP_add, y, part));
    }
    fc_build_output(&g, "y", y);
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {.verify = true};
    FC_EXPECT_OK(fc_plan_build(&g, &o, &p, &e), &e);
    if (p) FC_EXPECT_LE_I64((int64_t)p->steps.len, 3 * N);
    fc_plan_free(p);
    fc_graph_free(&g);
}

/* Of the first step of 24 the last kernel would read 49 * 49 places: each step is stored once it is
 * read at many, and planning does not follow all ways there. */
FC_TEST(plan, stencils_of_stencils_are_stored) {
    enum { STEPS = 24 };
    fc_graph g;
    fc_limits l = {.nodes = 100000, .rank = 32, .inputs = 16, .outputs = 256};
    fc_graph_init(&g, &fc_libc_alloc, &l);
    const fc_dim shape[2] = {gbd(&g, "n"), gbd(&g, "m")};
    fc_node y = gbin(&g, "x", FUSEC_F32, 2, shape[0], shape[1], 0);
    for (int step = 0; step < STEPS; step++) {
        fc_node sum = FC_NONODE;
        for (int at = 0; at < 9; at++) {
            const fc_view_axis axes[2] = {
                {fc_dim_const(&g.dims, at / 3 - 1), FC_EDGE_WRAP, (const int64_t[]){1, 0}},
                {fc_dim_const(&g.dims, at % 3 - 1), FC_EDGE_WRAP, (const int64_t[]){0, 1}}};
            const fc_node moved = at == 4 ? y : fc_build_view(&g, y, 2, shape, axes);
            sum = sum == FC_NONODE ? moved : gb2(&g, FC_OP_add, sum, moved);
        }
        y = gb1(&g, FC_OP_abs, sum);
    }
    fc_build_output(&g, "y", y);
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {.verify = true};
    FC_EXPECT_OK(fc_plan_build(&g, &o, &p, &e), &e);
    if (p) {
        FC_EXPECT_LE_I64((int64_t)p->steps.len, STEPS);
        for (size_t i = 0; i < p->steps.len; i++)
            FC_EXPECT_LE_I64((int64_t)p->steps.at[i]->kernel.code.ins.len, 4096);
    }
    fc_plan_free(p);
    fc_graph_free(&g);
}
