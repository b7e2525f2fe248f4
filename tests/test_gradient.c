/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gradient.c - reverse and forward mode: rules of reductions and views, ties, what a choice
 * keeps away, errors, orders above the first. */
#include <math.h>

#include "tests/support/gradient_check.h"

/* ---- reductions and views -----------------------------------------------------------------------
 */

static fc_node reduce(fc_graph *g, fc_op op, fc_node x) {
    return gb2(g, FC_OP_add, gbred(g, op, gb2(g, FC_OP_mul, x, x), 0, false),
               gbred(g, op, x, 0, false));
}
static fc_node slope(fc_graph *g, fc_node y, fc_node x) {
    fc_node d = FC_NONODE;
    fc_grad(g, gball(g, FC_OP_sum, y), 1, &x, &d);
    return d;
}

#define REDUCTION(op)                                                                              \
    static fc_node f_##op(fc_graph *g, fc_node x) {                                                \
        return reduce(g, FC_OP_##op, x);                                                           \
    }                                                                                              \
    static fc_node all_##op(fc_graph *g, fc_node x) {                                              \
        return gb1(g, FC_OP_sin, gball(g, FC_OP_##op, x));                                         \
    }                                                                                              \
    static fc_node inner_##op(fc_graph *g, fc_node x) {                                            \
        return gb2(g, FC_OP_mul, x, gbred(g, FC_OP_##op, x, -1, true));                            \
    }                                                                                              \
    static fc_node slope_##op(fc_graph *g, fc_node x) {                                            \
        return slope(g, inner_##op(g, x), x);                                                      \
    }
REDUCTION(sum)
REDUCTION(prod)
REDUCTION(min)
REDUCTION(max)
REDUCTION(mean)
REDUCTION(var)
REDUCTION(std)

FC_TEST(gradient, of_reductions) {
#define CHECK(op)                                                                                  \
    gx_check(#op, f_##op, 4, 3, 0);                                                                \
    gx_check(#op " of all", all_##op, 5, 2, 0);                                                    \
    gx_check(#op " of rows", inner_##op, 3, 4, 0);                                                 \
    gx_check("second derivative of " #op, slope_##op, 3, 4, 0);
    CHECK(sum)
    CHECK(prod)
    CHECK(min)
    CHECK(max)
    CHECK(mean)
    CHECK(var)
    CHECK(std)
}

static fc_node f_logsumexp(fc_graph *g, fc_node x) {
    const int64_t axis = -1;
    return fc_build_logsumexp(g, x, 1, &axis, false);
}

static fc_node f_cumsum(fc_graph *g, fc_node x) {
    return gb1(g, FC_OP_exp, fc_build_scan(g, FC_OP_sum, x, 1, false, false));
}

static fc_node f_cumsum_back(fc_graph *g, fc_node x) {
    return gb1(g, FC_OP_exp, fc_build_scan(g, FC_OP_sum, x, 0, true, true));
}

static fc_node f_softmax(fc_graph *g, fc_node x) {
    const fc_node e = gb1(g, FC_OP_exp, gb2(g, FC_OP_sub, x, gbred(g, FC_OP_max, x, -1, true)));
    return gb2(g, FC_OP_div, e, gbred(g, FC_OP_sum, e, -1, true));
}

static fc_node f_transpose(fc_graph *g, fc_node x) {
    const int64_t perm[3] = {2, 0, 1};
    return gb1(g, FC_OP_exp, fc_build_permute(g, x, perm));
}

static fc_node f_reshape(fc_graph *g, fc_node x) {
    const fc_dim shape[2] = {fc_dim_const(&g->dims, 6), fc_dim_const(&g->dims, 2)};
    const fc_node y = fc_build_reshape(g, x, 2, shape);
    return gb2(g, FC_OP_mul, y, gbred(g, FC_OP_sum, y, 0, true));
}

/* Repeats along a new axis, along one of length 1, and the whole. */
static fc_node f_broadcast(fc_graph *g, fc_node x) {
    const fc_dim shape[3] = {fc_dim_const(&g->dims, 2), fc_axis(g, x, 0),
                             fc_dim_const(&g->dims, 3)};
    const fc_node y = gb1(g, FC_OP_sin, fc_build_broadcast(g, x, 3, shape));
    return gb2(g, FC_OP_mul, y, gball(g, FC_OP_sum, x));
}

static fc_node f_materialize(fc_graph *g, fc_node x) {
    return gb2(g, FC_OP_mul, fc_build_materialize(g, gb1(g, FC_OP_sin, x)), x);
}

static fc_node f_casts(fc_graph *g, fc_node x) {
    const fc_node whole = fc_build_cast(g, fc_build_cast(g, x, FUSEC_I32), FUSEC_F64);
    return gb2(g, FC_OP_mul, x, whole);
}

FC_TEST(gradient, of_views_and_composites) {
    gx_check("logsumexp", f_logsumexp, 3, 4, 0);
    gx_check("softmax", f_softmax, 3, 4, 0);
    gx_check("cumsum", f_cumsum, 3, 4, 0);
    gx_check("cumsum_back", f_cumsum_back, 3, 4, 0);
    gx_check("transpose", f_transpose, 2, 3, 2);
    gx_check("reshape", f_reshape, 3, 4, 0);
    gx_check("broadcast", f_broadcast, 4, 1, 0);
    gx_check("materialize", f_materialize, 5, 0, 0);
    gx_check("casts", f_casts, 7, 0, 0);
}

/* ---- reads at indices ---------------------------------------------------------------------------
 */

static fc_node strided(fc_graph *g, fc_node x, int64_t start, int64_t step, int64_t size) {
    const fc_slice s[2] = {{fc_dim_const(&g->dims, start), step, fc_dim_const(&g->dims, size)},
                           {fc_dim_const(&g->dims, 1), 1, fc_dim_const(&g->dims, 2)}};
    return gb1(g, FC_OP_sin, fc_build_slice(g, x, s));
}

#define SLICE(name, start, step, size)                                                             \
    static fc_node name(fc_graph *g, fc_node x) {                                                  \
        return strided(g, x, start, step, size);                                                   \
    }
SLICE(slice_part, 2, 1, 3)
SLICE(slice_steps, 1, 2, 3)
SLICE(slice_back, 6, -1, 4)
SLICE(slice_back_steps, 6, -3, 3)
SLICE(slice_one, 4, 1, 1)

/* A view of x with these terms: of two result axes (0: without the second). */
static fc_node seen(fc_graph *g, fc_node x, int64_t n, int64_t m, const int64_t (*step)[2],
                    const int64_t *start, fc_edge edge) {
    const fc_dim shape[2] = {fc_dim_const(&g->dims, n), fc_dim_const(&g->dims, m ? m : 1)};
    fc_view_axis axes[2];
    for (uint32_t k = 0; k < fc_rank(g, x); k++)
        axes[k] = (fc_view_axis){fc_dim_const(&g->dims, start[k]), edge, step[k]};
    return gb1(g, FC_OP_exp, fc_build_view(g, x, m ? 2 : 1, shape, axes));
}

#define VIEW(name, n, m, s0, s1, a0, a1, edge)                                                     \
    static fc_node name(fc_graph *g, fc_node x) {                                                  \
        const int64_t step[2][2] = {s0, s1}, start[2] = {a0, a1};                                  \
        return seen(g, x, n, m, step, start, edge);                                                \
    }
#define S(a, b)                                                                                    \
    { a, b }
VIEW(window, 5, 3, S(1, 1), S(0, 0), 0, 0, FC_EDGE_NONE)
VIEW(pool, 3, 2, S(2, 1), S(0, 0), 0, 0, FC_EDGE_NONE)
VIEW(backwards, 4, 3, S(-1, 1), S(0, 0), 4, 0, FC_EDGE_NONE)
VIEW(diagonal, 3, 0, S(1, 0), S(1, 0), 0, 1, FC_EDGE_NONE)
VIEW(fixed, 3, 0, S(0, 0), S(1, 0), 2, 0, FC_EDGE_ZERO)
VIEW(skewed, 2, 3, S(1, 1), S(0, 1), 0, 0, FC_EDGE_NONE)
VIEW(zero, 6, 5, S(1, 0), S(0, 1), -1, -2, FC_EDGE_ZERO)
VIEW(edge, 7, 6, S(1, 0), S(0, 1), -2, -1, FC_EDGE_EDGE)
VIEW(wrap, 8, 5, S(1, 0), S(0, 1), -2, -1, FC_EDGE_WRAP)
VIEW(reflect, 8, 6, S(1, 0), S(0, 1), -2, -2, FC_EDGE_REFLECT)
VIEW(symmetric, 8, 6, S(1, 0), S(0, 1), -2, -1, FC_EDGE_SYMMETRIC)
VIEW(wide_window, 7, 3, S(1, 1), S(0, 0), -1, 0, FC_EDGE_REFLECT)
VIEW(strided_edge, 4, 3, S(2, 1), S(0, 0), -1, 0, FC_EDGE_EDGE)
VIEW(turned_wrap, 7, 0, S(-1, 0), S(0, 0), 6, 0, FC_EDGE_WRAP)

/* Two elements of each column at computed places, of which one is outside. */
static fc_node f_taken(fc_graph *g, fc_node x) {
    const fc_dim two[2] = {fc_dim_const(&g->dims, 2), fc_dim_const(&g->dims, 3)};
    const fc_node six = fc_build_iota(g, fc_dim_const(&g->dims, 6));
    return gb1(g, FC_OP_exp, fc_build_take(g, x, fc_build_reshape(g, six, 2, two), 0));
}

/* Twelve of each column, of which some are one element, others outside. */
static fc_node many_taken(fc_graph *g, fc_node x) {
    const fc_dim shape[2] = {fc_dim_const(&g->dims, 12), fc_dim_const(&g->dims, 3)};
    const fc_node n = fc_build_iota(g, fc_dim_const(&g->dims, 36));
    const fc_node k = gb2(g, FC_OP_mod, n, fc_build_const(g, FUSEC_I64, 7));
    return gb1(g, FC_OP_exp, fc_build_take(g, x, fc_build_reshape(g, k, 2, shape), 0));
}

/* Two values for each element of x, at places that meet, into another array made of it. */
static fc_node stored(fc_graph *g, fc_node x, fc_op op) {
    const fc_dim shape[3] = {fc_dim_const(&g->dims, 2), fc_axis(g, x, 0), fc_axis(g, x, 1)};
    const fc_node n =
        fc_build_iota(g, fc_dim_mul(&g->dims, shape[0], fc_dim_mul(&g->dims, shape[1], shape[2])));
    const fc_node k = gb2(g, FC_OP_mod, n, fc_build_const(g, FUSEC_I64, 5));
    const fc_node both[2] = {gb2(g, FC_OP_mul, x, fc_build_number(g, FUSEC_F64, -3)),
                             gb1(g, FC_OP_square, x)};
    const fc_node base = gb2(g, FC_OP_add, x, fc_build_number(g, FUSEC_F64, 1));
    const fc_scatter s = {op, 0, false};
    return gb1(g, FC_OP_sin,
               fc_build_scatter(g, base, fc_build_reshape(g, k, 3, shape),
                                fc_build_stack(g, 2, both, 0), s));
}
static fc_node stored_sum(fc_graph *g, fc_node x) {
    return stored(g, x, FC_OP_sum);
}
static fc_node stored_max(fc_graph *g, fc_node x) {
    return stored(g, x, FC_OP_max);
}
static fc_node stored_last(fc_graph *g, fc_node x) {
    return stored(g, x, FC_OP_NONE);
}

FC_TEST(gradient, of_stores) {
    gx_check("many taken", many_taken, 4, 3, 0);
    gx_check("sum", stored_sum, 4, 3, 0);
    gx_check("max", stored_max, 4, 3, 0);
    gx_check("last", stored_last, 4, 3, 0);
}

FC_TEST(gradient, of_reads_at_indices) {
    gx_check("taken", f_taken, 4, 3, 0);
    gx_check("slice", slice_part, 7, 3, 0);
    gx_check("every second", slice_steps, 7, 3, 0);
    gx_check("backwards", slice_back, 7, 3, 0);
    gx_check("backwards in steps", slice_back_steps, 7, 3, 0);
    gx_check("one row", slice_one, 7, 3, 0);
    gx_check("window", window, 7, 0, 0);
    gx_check("pool", pool, 7, 0, 0);
    gx_check("window backwards", backwards, 7, 0, 0);
    gx_check("diagonal", diagonal, 3, 4, 0);
    gx_check("fixed", fixed, 4, 3, 0);
    gx_check("skewed", skewed, 4, 3, 0);
    gx_check("zero", zero, 4, 3, 0);
    gx_check("edge", edge, 4, 3, 0);
    gx_check("wrap", wrap, 4, 3, 0);
    gx_check("reflect", reflect, 4, 3, 0);
    gx_check("symmetric", symmetric, 4, 3, 0);
    gx_check("windows over the edge", wide_window, 7, 0, 0);
    gx_check("steps over the edge", strided_edge, 7, 0, 0);
    gx_check("backwards and around", turned_wrap, 5, 0, 0);
}

#define FUNCTION(name, ...)                                                                        \
    static fc_node name(fc_graph *g, fc_node x) {                                                  \
        return __VA_ARGS__;                                                                        \
    }

/* ---- contractions
 * -------------------------------------------------------------------------------- */

static fc_node other(fc_graph *g, int64_t a, int64_t b) {
    const fc_dim shape[2] = {fc_dim_const(&g->dims, a), fc_dim_const(&g->dims, b)};
    const fc_node n = fc_build_cast(g, fc_build_iota(g, fc_dim_const(&g->dims, a * b)), FUSEC_F64);
    return fc_build_reshape(g, gb1(g, FC_OP_sin, n), 2, shape);
}

FUNCTION(f_matmul, fc_build_matmul(g, gb1(g, FC_OP_sin, x), other(g, 4, 3)))
FUNCTION(f_from_left, fc_build_matmul(g, other(g, 3, 2), x))
FUNCTION(f_matrix_vector, fc_build_matmul(g, other(g, 3, 5), x))
FUNCTION(f_rows, fc_build_matmul(g, x, gbred(g, FC_OP_sum, x, 0, false)))

static fc_node f_gram(fc_graph *g, fc_node x) {
    const int64_t perm[2] = {1, 0};
    return fc_build_matmul(g, fc_build_permute(g, x, perm), gb1(g, FC_OP_exp, x));
}

static fc_node f_batched(fc_graph *g, fc_node x) {
    const int64_t perm[3] = {0, 2, 1};
    return fc_build_matmul(g, x, fc_build_permute(g, gb1(g, FC_OP_sin, x), perm));
}

/* With a matrix that is one number. */
static fc_node f_of_twos(fc_graph *g, fc_node x) {
    const fc_dim shape[2] = {fc_dim_const(&g->dims, 3), fc_dim_const(&g->dims, 2)};
    return fc_build_matmul(g, fc_build_full(g, gbn(g, x, 2), 2, shape), gb1(g, FC_OP_sin, x));
}

FC_TEST(gradient, of_contractions) {
    gx_check("a matrix of one number", f_of_twos, 2, 4, 0);
    gx_check("matrices", f_matmul, 3, 4, 0);
    gx_check("from the left", f_from_left, 2, 4, 0);
    gx_check("matrix by vector", f_matrix_vector, 5, 0, 0);
    gx_check("by a vector made of it", f_rows, 3, 4, 0);
    gx_check("both sides", f_gram, 3, 4, 0);
    gx_check("batches", f_batched, 2, 3, 2);
}

/* ---- values that are told ---------------------------------------------------------------------
 */

/* The gradient of the sum of f at these points. */
static void expect_gradient(const char *what, gx_function f, int n, const double *at,
                            const double *want) {
    static gx x;
    gx_init(&x);
    const fc_node in = gx_in(&x, n, 0, 0, at, 0), y = f(&x.g, in);
    fc_node d = FC_NONODE;
    FC_EXPECT_TRUE(fc_grad(&x.g, gball(&x.g, FC_OP_sum, y), 1, &in, &d));
    fc_build_output(&x.g, "d", d);
    gx_run(&x);
    for (int i = 0; i < n; i++) {
        const double got = gx_at(&x, d, i);
        if (!(fabs(got - want[i]) <= 1e-14 * fabs(want[i])))
            FC_FAIL("%s: the derivative at %g is %g, not %g", what, at[i], got, want[i]);
    }
    gx_free(&x);
}

#define ZERO          gbn(g, x, 0)
#define POSITIVE      gb2(g, FC_OP_gt, x, ZERO)
#define CHOOSE(value) gb3(g, FC_OP_where, POSITIVE, value, ZERO)
FUNCTION(root, CHOOSE(gb1(g, FC_OP_sqrt, x)))
FUNCTION(logarithm, CHOOSE(gb1(g, FC_OP_log, x)))
FUNCTION(entropy, CHOOSE(gb2(g, FC_OP_mul, x, gb1(g, FC_OP_log, x))))
FUNCTION(quotient, CHOOSE(gb2(g, FC_OP_div, gb1(g, FC_OP_sin, x), x)))
FUNCTION(far, CHOOSE(gb1(g, FC_OP_sin, gb2(g, FC_OP_div, gbn(g, x, 1), x))))
FUNCTION(power, CHOOSE(gb2(g, FC_OP_pow, x, gbn(g, x, -.5))))
FUNCTION(clipped, gb1(g, FC_OP_sqrt, gb2(g, FC_OP_maximum, x, ZERO)))
FUNCTION(rectified, gb1(g, FC_OP_log1p, gb1(g, FC_OP_sqrt, gb1(g, FC_OP_relu, x))))

FC_TEST(gradient, nothing_leaks_through_a_choice) {
    const double at[3] = {-1, 0, 4}, root_d[3] = {0, 0, .25}, log_d[3] = {0, 0, .25};
    const double l = log(4) + 1, q = (4 * cos(4) - sin(4)) / 16, f = -cos(.25) / 16;
    const double entropy_d[3] = {0, 0, l}, quotient_d[3] = {0, 0, q}, far_d[3] = {0, 0, f};
    const double power_d[3] = {0, 0, -.5 / 8}, rectified_d[3] = {0, 0, .25 / 3};
    expect_gradient("sqrt", root, 3, at, root_d);
    expect_gradient("log", logarithm, 3, at, log_d);
    expect_gradient("x log x", entropy, 3, at, entropy_d);
    expect_gradient("sin(x)/x", quotient, 3, at, quotient_d);
    expect_gradient("sin(1/x)", far, 3, at, far_d);
    expect_gradient("x**-.5", power, 3, at, power_d);
    const double below[2] = {-1, 4}, clipped_d[2] = {0, .25};
    expect_gradient("sqrt(maximum(x, 0))", clipped, 2, below, clipped_d);
    expect_gradient("log1p(sqrt(relu(x)))", rectified, 3, at, rectified_d);
}

FUNCTION(half_each, gb2(g, FC_OP_maximum, x, ZERO))
FUNCTION(relu, gb1(g, FC_OP_relu, x))
FUNCTION(absolute, gb1(g, FC_OP_abs, x))
FUNCTION(largest, gbred(g, FC_OP_max, x, 0, false))
FUNCTION(smallest, gbred(g, FC_OP_min, x, 0, false))
FUNCTION(product, gbred(g, FC_OP_prod, x, 0, false))
FUNCTION(deviation, gbred(g, FC_OP_std, x, 0, false))
FUNCTION(square, gb2(g, FC_OP_mul, fc_build_stop_grad(g, x), x))

FC_TEST(gradient, ties_zeros_and_what_is_stopped) {
    const double zero[1] = {0}, half[1] = {.5};
    expect_gradient("maximum(x, 0)", half_each, 1, zero, half);
    expect_gradient("relu", relu, 1, zero, zero);
    expect_gradient("abs", absolute, 1, zero, zero);
    const double tie[4] = {3, 1, 3, 2}, high[4] = {.5, 0, .5, 0}, low[4] = {0, 1, 0, 0};
    expect_gradient("max", largest, 4, tie, high);
    expect_gradient("min", smallest, 4, tie, low);
    const double none[3] = {2, 3, 4}, one[3] = {2, 0, 4}, two[3] = {0, 3, 0};
    const double d_none[3] = {12, 8, 6}, d_one[3] = {0, 8, 0}, d_two[3] = {0, 0, 0};
    expect_gradient("prod", product, 3, none, d_none);
    expect_gradient("prod with a zero", product, 3, one, d_one);
    expect_gradient("prod with two zeros", product, 3, two, d_two);
    const double equal[3] = {2, 2, 2};
    expect_gradient("std of equal elements", deviation, 3, equal, d_two);
    expect_gradient("stop_grad(x)*x", square, 3, none, none);
}

/* ---- orders above the first ---------------------------------------------------------------------
 */

FC_TEST(gradient, derivatives_have_derivatives) {
    static gx x;
    const double at[3] = {.5, -1.25, 2};
    gx_init(&x);
    fc_graph *g = &x.g;
    const fc_node in = gx_in(&x, 3, 0, 0, at, 0);
    fc_node y = gball(g, FC_OP_sum, gb2(g, FC_OP_mul, gb1(g, FC_OP_sin, in), in));
    for (int order = 0; order < 4; order++) {
        fc_node d = FC_NONODE;
        FC_ASSERT_TRUE(fc_grad(g, y, 1, &in, &d));
        y = order < 3 ? gball(g, FC_OP_sum, d) : d;
    }
    fc_build_output(g, "d", y);
    gx_run(&x);
    for (int i = 0; i < 3; i++) { /* (x sin x)'''' = x sin x - 4 cos x */
        const double want = at[i] * sin(at[i]) - 4 * cos(at[i]);
        FC_EXPECT_TRUE(fabs(gx_at(&x, y, i) - want) <= 1e-14 * fabs(want));
    }
    gx_free(&x);
}

/* The product of (0, 2, 3) and that of all of ((0, 2), (3, 5)): d2/dx[0]dx[k] is not 0. */
FC_TEST(gradient, products_with_a_zero_have_second_derivatives) {
    const double at[4] = {0, 2, 3, 5};
    for (int rank = 1; rank <= 2; rank++) {
        static gx x;
        gx_init(&x);
        fc_graph *g = &x.g;
        const fc_node in = gx_in(&x, rank == 1 ? 3 : 2, rank == 1 ? 0 : 2, 0, at, 0);
        fc_node d = FC_NONODE, y = gball(g, FC_OP_prod, in);
        FC_ASSERT_TRUE(fc_grad(g, y, 1, &in, &d));
        y = gball(g, FC_OP_sum, d);
        FC_ASSERT_TRUE(fc_grad(g, y, 1, &in, &d));
        fc_build_output(g, "d", d);
        gx_run(&x);
        const double want[2][4] = {{5, 3, 2}, {31, 15, 10, 6}};
        for (int i = 0; i < rank + 2; i++) FC_EXPECT_EQ_F64(gx_at(&x, d, i), want[rank - 1][i]);
        gx_free(&x);
    }
}

FC_TEST(gradient, jacobian_has_the_axes_of_both) {
    static gx x;
    gx_init(&x);
    fc_graph *g = &x.g;
    const fc_node in = gx_in(&x, 2, 3, 0, NULL, 4);
    const fc_node p = f_softmax(g, in), j = fc_jacobian(g, p, in);
    const fc_node root = gb1(g, FC_OP_sqrt, fc_build_op(g, FC_OP_floor, in, FC_NONODE, FC_NONODE));
    FC_EXPECT_TRUE(fc_jacobian(g, root, in) != FC_NONODE);
    FC_ASSERT_EQ_I64(fc_rank(g, j), 4);
    fc_build_output(g, "p", p);
    fc_build_output(g, "j", j);
    gx_run(&x);
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++) {
            const double pa = gx_at(&x, p, a), pb = gx_at(&x, p, b);
            const double want = a / 3 != b / 3 ? 0 : a == b ? pa * (1 - pb) : -pa * pb;
            FC_EXPECT_TRUE(fabs(gx_at(&x, j, 6 * a + b) - want) < 1e-15);
        }
    gx_free(&x);
}

/* ---- errors -------------------------------------------------------------------------------------
 */

FC_TEST(gradient, what_has_none_is_said) {
    fc_graph g;
    fc_node d;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    FC_EXPECT_FALSE(fc_grad(&g, x, 1, &x, &d));
    FC_EXPECT_STATUS(g.error.code, FUSEC_NO_GRADIENT, &g.error);
    FC_EXPECT_CONTAINS(g.error.message, "grad of f32[n]: the gradient is that of a scalar");

    memset(&g.error, 0, sizeof g.error);
    const fc_node i = gball(&g, FC_OP_argmax, x);
    FC_EXPECT_FALSE(fc_grad(&g, i, 1, &x, &d));
    FC_EXPECT_CONTAINS(g.error.message, "what is derived is i64; derivatives are of floats");

    memset(&g.error, 0, sizeof g.error);
    const fc_node bits = fc_build_bitcast(&g, fc_build_cast(&g, x, FUSEC_F16), FUSEC_BF16);
    FC_EXPECT_FALSE(fc_grad(&g, gball(&g, FC_OP_sum, bits), 1, &x, &d));
    FC_EXPECT_CONTAINS(g.error.message, "bitcast, which gives bf16[n], has no derivative");
    fc_graph_free(&g);
}
