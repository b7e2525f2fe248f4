/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gradient_loop.c - derivatives of loops: both modes against central differences, higher
 * orders, loops inside each other, what has none. */
#include <math.h>

#include "ir/complex.h"
#include "ir/loop.h"
#include "passes/plan.h"
#include "tests/support/gradient_check.h"

/* ---- loops of one carried value -----------------------------------------------------------------
 */

typedef struct lone {
    fc_node k, hole; /* the counter and the carried value */
    fc_loop_parts p;
    fc_node start, next, collected, out[2];
} lone;

static void begin(fc_graph *g, lone *l, fc_node start, int64_t rounds) {
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = start == FC_NONODE ? 0 : fc_rank(g, start);
    for (uint32_t i = 0; i < rank; i++) shape[i] = fc_axis(g, start, i);
    memset(l, 0, sizeof *l);
    l->start = start;
    l->hole = fc_build_hole(g, FUSEC_F64, rank, shape);
    l->k = fc_build_hole(g, FUSEC_I64, 0, NULL);
    l->p = (fc_loop_parts){.first = fc_build_const(g, FUSEC_I64, 1),
                           .end = fc_build_const(g, FUSEC_I64, (uint64_t)rounds + 1),
                           .counter = l->k,
                           .condition = FC_NONODE,
                           .ncarried = 1,
                           .start = &l->start,
                           .hole = &l->hole,
                           .next = &l->next,
                           .collected = &l->collected};
}

/* What is carried after the last round. */
static fc_node end(fc_graph *g, lone *l, fc_node next) {
    l->next = next;
    return fc_build_loop(g, &l->p, l->out) ? l->out[0] : FC_NONODE;
}

static fc_node counted(fc_graph *g, fc_node k) {
    return fc_build_cast(g, k, FUSEC_F64);
}

/* h = sin(h*x) + k/2 */
static fc_node f_plain(fc_graph *g, fc_node x) {
    lone l;
    begin(g, &l, x, 3);
    const fc_node half = gb2(g, FC_OP_mul, counted(g, l.k), fc_build_number(g, FUSEC_F64, .5));
    return end(g, &l, gb2(g, FC_OP_add, gb1(g, FC_OP_sin, gb2(g, FC_OP_mul, l.hole, x)), half));
}

/* A step of descent: w = w - g of a loss, from a constant. */
static fc_node f_training(fc_graph *g, fc_node x) {
    lone l;
    fc_node d = FC_NONODE;
    const fc_dim shape[1] = {fc_axis(g, x, 1)};
    begin(g, &l, fc_build_full(g, fc_build_number(g, FUSEC_F64, .25), 1, shape), 3);
    const fc_node z = fc_build_matmul(g, x, l.hole);
    fc_grad(g, gball(g, FC_OP_mean, gb1(g, FC_OP_softplus, z)), 1, &l.hole, &d);
    return end(g, &l, gb2(g, FC_OP_sub, l.hole, d));
}

/* Row k of x in round k, and what the rounds made. */
static fc_node f_rows(fc_graph *g, fc_node x) {
    lone l;
    const fc_dim shape[1] = {fc_axis(g, x, 1)};
    begin(g, &l, fc_build_full(g, fc_build_number(g, FUSEC_F64, .5), 1, shape), 3);
    const fc_node row = fc_build_gather(g, x, l.k, 0, true);
    l.p.ncollected = 1;
    l.next = gb1(g, FC_OP_tanh, gb2(g, FC_OP_add, l.hole, row));
    l.collected = gb2(g, FC_OP_mul, l.next, l.hole);
    end(g, &l, l.next);
    return gb2(g, FC_OP_add, l.out[1], l.out[0]);
}

/* Ends when the values have become large. */
static fc_node until(fc_graph *g, fc_node x) {
    lone l;
    begin(g, &l, x, 9);
    l.p.condition = gb2(g, FC_OP_lt, gball(g, FC_OP_max, l.hole), fc_build_number(g, FUSEC_F64, 9));
    return end(g, &l,
               gb2(g, FC_OP_mul, l.hole, gb2(g, FC_OP_add, x, fc_build_number(g, FUSEC_F64, 2))));
}

/* A loop in each round of a loop. */
static fc_node f_nested(fc_graph *g, fc_node x) {
    lone outer, inner;
    begin(g, &outer, x, 2);
    begin(g, &inner, gb1(g, FC_OP_cos, outer.hole), 2);
    const fc_node by = gb2(g, FC_OP_mul, gb1(g, FC_OP_sin, x), gb1(g, FC_OP_cos, outer.hole));
    const fc_node v = gb2(g, FC_OP_mul, gb1(g, FC_OP_tanh, inner.hole), by);
    const fc_node w = end(g, &inner, gb2(g, FC_OP_add, v, counted(g, outer.k)));
    return end(g, &outer, gb1(g, FC_OP_sin, w));
}

/* Complex numbers are carried: z = z*z + x. */
static fc_node f_complex(fc_graph *g, fc_node x) {
    lone l;
    fc_dim shape[1] = {fc_axis(g, x, 0)};
    begin(g, &l, fc_build_pair(g, x, gb1(g, FC_OP_cos, x)), 3);
    l.hole = fc_build_hole(g, FUSEC_C128, 1, shape);
    const fc_node z = gb2(
        g, FC_OP_mul, gb2(g, FC_OP_mul, l.hole, l.hole),
        fc_build_pair(g, fc_build_number(g, FUSEC_F64, .25), fc_build_number(g, FUSEC_F64, .5)));
    return gb1(g, FC_OP_abs, end(g, &l, gb2(g, FC_OP_add, z, fc_build_cast(g, x, FUSEC_C128))));
}

/* Nothing that leaks: the root is not chosen where it is infinite. */
static fc_node f_choice(fc_graph *g, fc_node x) {
    lone l;
    begin(g, &l, x, 3);
    const fc_node zero = fc_build_number(g, FUSEC_F64, 0);
    const fc_node floor = gb2(g, FC_OP_maximum, l.hole, zero);
    const fc_node root =
        gb3(g, FC_OP_where, gb2(g, FC_OP_gt, l.hole, zero), gb1(g, FC_OP_sqrt, floor), zero);
    return end(g, &l, gb2(g, FC_OP_add, root, zero));
}

static fc_node slope_of(fc_graph *g, gx_function f, fc_node x) {
    fc_node d = FC_NONODE;
    fc_grad(g, gball(g, FC_OP_sum, f(g, x)), 1, &x, &d);
    return d;
}

static fc_node slope_plain(fc_graph *g, fc_node x) {
    return slope_of(g, f_plain, x);
}

static fc_node slope_rows(fc_graph *g, fc_node x) {
    return slope_of(g, f_rows, x);
}

FC_TEST(gradient_loop, both_modes) {
    gx_check("a loop", f_plain, 3, 0, 0);
    gx_check("descent", f_training, 4, 2, 0);
    gx_check("rows by the counter", f_rows, 4, 2, 0);
    gx_check("a loop in a loop", f_nested, 2, 0, 0);
    gx_check("complex numbers", f_complex, 3, 0, 0);
    gx_check("a choice", f_choice, 5, 0, 0);
}

FC_TEST(gradient_loop, second_derivatives) {
    gx_check("a loop", slope_plain, 3, 0, 0);
    gx_check("rows by the counter", slope_rows, 4, 2, 0);
}

static fc_node moved(fc_graph *g, fc_node x) {
    return fc_jvp(g, until(g, x), 1, &x, &x);
}

/* x*(x + 2)**n along x, n the rounds that it takes. */
FC_TEST(gradient_loop, forward_through_a_condition) {
    static gx x;
    const double at[2] = {.5, 1};
    gx_init(&x);
    const fc_node in = gx_in(&x, 2, 0, 0, at, 0), y = moved(&x.g, in);
    fc_build_output(&x.g, "y", y);
    gx_run(&x);
    for (int i = 0; i < 2; i++) {
        const double b = at[i] + 2, want = at[i] * (b * b + at[i] * 2 * b);
        FC_EXPECT_TRUE(fabs(gx_at(&x, y, i) - want) < 1e-13);
    }
    gx_free(&x);
}

/* Forward once, which keeps what each round began with, and once back. */
FC_TEST(gradient_loop, is_two_loops) {
    fc_graph g;
    fc_plan *plan = NULL;
    fc_error e = {0};
    fc_node d;
    const fc_pass_options o = {.verify = true};
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_node x = gbin(&g, "x", FUSEC_F64, 1, gbd(&g, "n"), 0, 0), y = f_plain(&g, x);
    FC_EXPECT_TRUE(fc_grad(&g, gball(&g, FC_OP_sum, y), 1, &x, &d));
    fc_build_output(&g, "y", y);
    fc_build_output(&g, "d", d);
    FC_EXPECT_STATUS(fc_plan_build(&g, &o, &plan, &e), FUSEC_OK, &e);
    FC_EXPECT_EQ_I64(plan ? (int64_t)plan->bodies.len : 0, 2);
    fc_plan_free(plan);
    fc_graph_free(&g);
}

FC_TEST(gradient_loop, what_has_none_is_said) {
    fc_graph g;
    fc_node d;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_node x = gbin(&g, "x", FUSEC_F64, 1, gbd(&g, "n"), 0, 0);
    FC_EXPECT_FALSE(fc_grad(&g, gball(&g, FC_OP_sum, until(&g, x)), 1, &x, &d));
    FC_EXPECT_STATUS(g.error.code, FUSEC_NO_GRADIENT, &g.error);
    FC_EXPECT_CONTAINS(g.error.message, "how many rounds a `while` makes is not known before");
    FC_EXPECT_CONTAINS(g.error.message, "take jvp()");

    memset(&g.error, 0, sizeof g.error);
    lone l;
    begin(&g, &l, x, 3);
    l.p.end = fc_build_input(&g, "rounds", FUSEC_I64, 0, NULL);
    const fc_node y = end(&g, &l, gb1(&g, FC_OP_sin, l.hole));
    FC_EXPECT_FALSE(fc_grad(&g, gball(&g, FC_OP_sum, y), 1, &x, &d));
    FC_EXPECT_CONTAINS(g.error.message, "how many rounds it makes is a value");
    fc_graph_free(&g);
}
