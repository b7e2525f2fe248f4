/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gradient_capi.c - the public functions that derive: values, rules of one's own, errors, and
 * that a step of training is planned once. */
#include <math.h>

#include "tests/support/capi.h"
#include "tests/support/test.h"

static fusec_value bind(fusec_graph *g, int64_t n, const double *data) {
    return fusec_array(g, FUSEC_F64, 1, &n, data);
}

static fusec_value total(fusec_value v) {
    return fusec_sum(v, 0, NULL, 0);
}

static double read_one(fusec_context *ctx, fusec_value v, int i) {
    double all[8] = {0};
    int64_t shape[1] = {1};
    FC_EXPECT_OK_TEXT(fusec_shape(v, shape), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(v, all, (size_t)shape[0] * sizeof *all), fusec_message(ctx));
    return all[i];
}

FC_TEST(gradient_capi, reverse_and_forward) {
    CAPI_START();
    const double a[3] = {.5, -1, 2}, b[3] = {3, .25, -2};
    fusec_value x = bind(g, 3, a), y = bind(g, 3, b), both[2] = {x, y}, d[2];
    fusec_value z = fusec_mul(fusec_sin(x), y);
    FC_ASSERT_OK_TEXT(fusec_grad(total(z), 2, both, d), fusec_message(ctx));
    for (int i = 0; i < 3; i++) {
        FC_EXPECT_TRUE(fabs(read_one(ctx, d[0], i) - cos(a[i]) * b[i]) < 1e-15);
        FC_EXPECT_TRUE(fabs(read_one(ctx, d[1], i) - sin(a[i])) < 1e-15);
    }
    FC_ASSERT_OK_TEXT(fusec_vjp(z, fusec_num(2), 1, &y, d), fusec_message(ctx));
    FC_EXPECT_TRUE(fabs(read_one(ctx, d[0], 1) - 2 * sin(a[1])) < 1e-15);
    const fusec_value along[2] = {fusec_int(1), y};
    fusec_value moved = fusec_jvp(z, 2, both, along);
    FC_EXPECT_TRUE(fabs(read_one(ctx, moved, 2) - (cos(2) * -2 + sin(2) * -2)) < 1e-15);
    fusec_value j = fusec_jacobian(z, x);
    FC_EXPECT_EQ_I64(fusec_rank(j), 2);
    double all[9];
    FC_ASSERT_OK_TEXT(fusec_read(j, all, sizeof all), fusec_message(ctx));
    FC_EXPECT_EQ_F64(all[1], 0);
    FC_EXPECT_TRUE(fabs(all[4] - cos(-1) * .25) < 1e-15);
    fusec_value stopped = fusec_mul(fusec_stop_grad(x), x);
    FC_ASSERT_OK_TEXT(fusec_grad(total(stopped), 1, &x, d), fusec_message(ctx));
    FC_EXPECT_EQ_F64(read_one(ctx, d[0], 2), 2);
    CAPI_END();
}

/* round(x) whose derivative is that of x. */
static fusec_value straight(fusec_value x) {
    fusec_value y = fusec_round(x), dy = fusec_cotangent(y);
    return fusec_custom_grad(y, dy, 1, &x, &dy);
}

FC_TEST(gradient_capi, a_rule_of_its_own) {
    CAPI_START();
    const double a[3] = {.25, -1.75, 2.5}, rounded[3] = {0, -2, 2};
    fusec_value x = bind(g, 3, a), y = straight(x), d;
    FC_EXPECT_EQ_F64(read_one(ctx, y, 1), -2);
    FC_ASSERT_OK_TEXT(fusec_grad(total(fusec_mul(y, y)), 1, &x, &d), fusec_message(ctx));
    for (int i = 0; i < 3; i++) FC_EXPECT_EQ_F64(read_one(ctx, d, i), 2 * rounded[i]);
    fusec_value moved = fusec_jvp(fusec_mul(y, y), 1, &x, &x);
    for (int i = 0; i < 3; i++) FC_EXPECT_EQ_F64(read_one(ctx, moved, i), 2 * rounded[i] * a[i]);
    /* the rule's own derivative: d2 of y*y is 2 */
    FC_ASSERT_OK_TEXT(fusec_grad(total(d), 1, &x, &d), fusec_message(ctx));
    FC_EXPECT_EQ_F64(read_one(ctx, d, 0), 2);
    CAPI_END();
}

/* z*z derived as if it were 3*z*z/2: what arrives times conj(3 z). */
FC_TEST(gradient_capi, a_rule_of_complex_numbers) {
    CAPI_START();
    const double a[4] = {.25, -1.75, 2.5, 3}, want[4] = {.75, 5.25, 7.5, -9};
    const int64_t shape[1] = {2};
    double got[4];
    fusec_value z = fusec_array(g, FUSEC_C128, 1, shape, a), y = fusec_mul(z, z), d;
    fusec_value dy = fusec_cotangent(y), dz = fusec_mul(dy, fusec_conj(fusec_mul(z, fusec_num(3))));
    fusec_value by = fusec_custom_grad(y, dy, 1, &z, &dz);
    FC_ASSERT_OK_TEXT(fusec_grad(total(fusec_real(by)), 1, &z, &d), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_read(d, got, sizeof got), fusec_message(ctx));
    for (int i = 0; i < 4; i++) FC_EXPECT_EQ_F64(got[i], want[i]);
    fusec_value moved = fusec_jvp(by, 1, &z, &z); /* 3 z*z */
    FC_ASSERT_OK_TEXT(fusec_read(moved, got, sizeof got), fusec_message(ctx));
    FC_EXPECT_EQ_F64(got[0], 3 * (.25 * .25 - 1.75 * 1.75));
    FC_EXPECT_EQ_F64(got[1], 3 * 2 * .25 * -1.75);
    CAPI_END();
}

/* A rule that uses a value with a rule: sin(x) derived as straight(cos(x)). */
FC_TEST(gradient_capi, a_rule_within_a_rule) {
    CAPI_START();
    const double a[2] = {.25, 2.5};
    fusec_value x = bind(g, 2, a), y = fusec_sin(x), dy = fusec_cotangent(y), d, again;
    fusec_value dx = fusec_mul(straight(fusec_mul(dy, fusec_num(3))), fusec_cos(x));
    fusec_value z = fusec_custom_grad(y, dy, 1, &x, &dx);
    fusec_value w = bind(g, 2, a);
    FC_ASSERT_OK_TEXT(fusec_vjp(z, w, 1, &x, &d), fusec_message(ctx));
    FC_EXPECT_TRUE(fabs(read_one(ctx, d, 0) - 1 * cos(.25)) < 1e-15); /* round(.75) is 1 */
    FC_EXPECT_TRUE(fabs(read_one(ctx, d, 1) - 8 * cos(2.5)) < 1e-14); /* round(7.5) is 8 */
    /* by w, through the copy of the inner rule: 3 cos(x) */
    FC_ASSERT_OK_TEXT(fusec_grad(total(d), 1, &w, &again), fusec_message(ctx));
    FC_EXPECT_TRUE(fabs(read_one(ctx, again, 1) - 3 * cos(2.5)) < 1e-14);
    CAPI_END();
}

/* The same step with other data and another graph is found again. */
FC_TEST(gradient_capi, a_step_is_planned_once) {
    CAPI_START();
    double w[4] = {0, 0, 0, 0};
    const double t[4] = {1, 2, 3, 4};
    uint64_t first = 0;
    for (int step = 0; step < 40; step++) {
        double next[4];
        fusec_value x = bind(g, 4, w), off = fusec_sub(x, bind(g, 4, t)), d;
        fusec_value loss = fusec_mean(fusec_mul(off, off), 0, NULL, 0);
        FC_ASSERT_OK_TEXT(fusec_grad(loss, 1, &x, &d), fusec_message(ctx));
        fusec_value moved = fusec_sub(x, d);
        FC_ASSERT_OK_TEXT(fusec_read(moved, next, sizeof next), fusec_message(ctx));
        memcpy(w, next, sizeof w);
        fusec_counters c = FUSEC_COUNTERS_INIT;
        fusec_get_counters(ctx, &c);
        if (step == 0) first = c.plans;
        FC_EXPECT_EQ_U64(c.plans, first);
        fusec_graph_reset(g);
    }
    FC_EXPECT_TRUE(fabs(w[3] - 4) < 1e-9);
    CAPI_END();
}

FC_TEST(gradient_capi, errors_stick_and_say_what) {
    CAPI_START();
    const double a[2] = {1, 2};
    fusec_value x = bind(g, 2, a), d = {0}, none = {0};
    FC_EXPECT_EQ_I64(fusec_grad(x, 1, &x, &d), FUSEC_NO_GRADIENT);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "the gradient is that of a scalar");
    FC_EXPECT_EQ_I64(d.kind, 0);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_NO_GRADIENT);
    fusec_graph_reset(g);

    x = bind(g, 2, a);
    fusec_value number = fusec_num(1);
    FC_EXPECT_EQ_I64(fusec_grad(total(x), 1, &number, &d), FUSEC_NO_GRADIENT);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "value 1 is a number");
    fusec_graph_reset(g);

    x = bind(g, 2, a);
    FC_EXPECT_EQ_I64(fusec_grad(total(x), 1, &none, &d), FUSEC_INVALID);
    fusec_graph_reset(g);
    x = bind(g, 2, a);
    FC_EXPECT_EQ_I64(fusec_grad(total(x), 1, NULL, &d), FUSEC_INVALID);
    fusec_graph_reset(g);
    x = bind(g, 2, a);
    FC_EXPECT_EQ_I64(fusec_grad(total(x), 1, &x, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_grad(none, 1, &x, &d), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_vjp(number, number, 1, &x, &d), FUSEC_INVALID);
    fusec_graph_reset(g);
    x = bind(g, 2, a);
    fusec_custom_grad(x, x, 1, &x, &x);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_INVALID);
    fusec_graph_reset(g);
    x = bind(g, 2, a);
    fusec_jvp(x, 1, &x, NULL);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_jacobian(none, none).kind + fusec_stop_grad(none).kind +
                         fusec_cotangent(none).kind,
                     0);
    CAPI_END();
}
