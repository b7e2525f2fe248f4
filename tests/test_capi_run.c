/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capi_run.c - the public functions that compute: evaluation on demand and its plan cache,
 * programs, memory, threads. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base.h"
#include "runtime/compile/llvm_api.h"
#include "tests/support/capi.h"
#include "tests/support/test.h"

static fusec_value bind(fusec_graph *g, int64_t n, const float *data) {
    return fusec_array(g, FUSEC_F32, 1, &n, data);
}

/* ---- on demand ------------------------------------------------------------------------------- */

FC_TEST(capi_run, views_and_operations) {
    CAPI_START();
    float in[6] = {1, 2, 3, 4, 5, 6}, out[6] = {0};
    int64_t shape[2] = {2, 3}, got[2];
    fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, in);
    fusec_value t = fusec_transpose(x, NULL);
    FC_EXPECT_OK_TEXT(fusec_shape(t, got), fusec_message(ctx));
    FC_EXPECT_EQ_I64(got[0] * 10 + got[1], 32);
    FC_ASSERT_OK_TEXT(fusec_read(fusec_mul(t, fusec_num(2)), out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[1], 8);
    fusec_value s = fusec_slice(fusec_flip(x, 1), 1, 0, 2, 1); /* 3 2 | 6 5 */
    FC_ASSERT_OK_TEXT(fusec_read(fusec_neg(s), out, 16), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[2], -6);
    fusec_dim flat[1] = {fusec_size(g, 6)};
    fusec_value r =
        fusec_add(fusec_reshape(x, 1, flat), fusec_cast(fusec_arange(g, flat[0]), FUSEC_F32));
    FC_ASSERT_OK_TEXT(fusec_read(r, out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[5], 11);
    fusec_value m = fusec_sub(x, fusec_mean(x, 1, (int[]){0}, 1));
    FC_ASSERT_OK_TEXT(fusec_read(m, out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[3], 1.5);
    fusec_value d = fusec_mul(x, fusec_cast(fusec_dim_value(fusec_dim_of(x, 1)), FUSEC_F32));
    FC_ASSERT_OK_TEXT(fusec_read(d, out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[0], 3);
    CAPI_END();
}

FC_TEST(capi_run, slices_as_in_python) {
    CAPI_START();
    float in[7] = {0, 1, 2, 3, 4, 5, 6}, out[7];
    static const struct {
        int64_t start, stop, step;
        int n;
        float first, last;
    } rows[] = {{FUSEC_END, FUSEC_END, 1, 7, 0, 6},
                {1, FUSEC_END, 1, 6, 1, 6},
                {FUSEC_END, -1, 1, 6, 0, 5},
                {-3, FUSEC_END, 1, 3, 4, 6},
                {0, 7, 2, 4, 0, 6},
                {0, 7, 3, 3, 0, 6},
                {1, 7, 5, 2, 1, 6},
                {FUSEC_END, FUSEC_END, -1, 7, 6, 0},
                {5, 1, -2, 2, 5, 3},
                {-1, FUSEC_END, -3, 3, 6, 0},
                {3, 3, 1, 0, 0, 0}};
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        fusec_value v = fusec_slice(bind(g, 7, in), 0, rows[i].start, rows[i].stop, rows[i].step);
        int64_t n = -1;
        FC_TRACE("row %zu", i);
        FC_EXPECT_OK_TEXT(fusec_shape(v, &n), fusec_message(ctx));
        FC_EXPECT_EQ_I64(n, rows[i].n);
        FC_EXPECT_OK_TEXT(fusec_read(fusec_add(v, fusec_num(0)), out, (size_t)rows[i].n * 4),
                          fusec_message(ctx));
        if (rows[i].n) {
            FC_EXPECT_EQ_F64(out[0], rows[i].first);
            FC_EXPECT_EQ_F64(out[rows[i].n - 1], rows[i].last);
        }
        FC_UNTRACE();
        fusec_graph_reset(g);
    }
    CAPI_END();
}

FC_TEST(capi_run, leaves_constants_and_empty_arrays_can_be_read) {
    CAPI_START();
    float in[3] = {1, 2, 3}, out[3] = {0};
    double d = 0;
    int64_t i = 0;
    FC_EXPECT_OK_TEXT(fusec_read(bind(g, 3, in), out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[2], 3);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_const(g, FUSEC_F64, 2.5), &d, sizeof d), fusec_message(ctx));
    FC_EXPECT_EQ_F64(d, 2.5);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_dim_value(fusec_dim_of(bind(g, 3, in), 0)), &i, sizeof i),
                      fusec_message(ctx));
    FC_EXPECT_EQ_I64(i, 3);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_sin(bind(g, 0, NULL)), NULL, 0), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(fusec_sum(bind(g, 0, NULL), 0, NULL, 0), out, 4),
                      fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[0], 0);
    fusec_dim four = fusec_size(g, 4);
    uint16_t h[4] = {0};
    FC_EXPECT_OK_TEXT(fusec_read(fusec_full(g, FUSEC_F16, 1, 1, &four), h, sizeof h),
                      fusec_message(ctx));
    FC_EXPECT_EQ_I64(h[3], 0x3c00);
    const void *p = NULL;
    FC_EXPECT_OK_TEXT(fusec_data(bind(g, 3, in), &p), fusec_message(ctx));
    FC_EXPECT_EQ_PTR(p, in);
    FC_EXPECT_EQ_I64(fusec_read(bind(g, 3, in), out, 8), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "12 bytes");
    FC_EXPECT_EQ_I64(fusec_read(bind(g, 3, in), NULL, 12), FUSEC_INVALID);
    CAPI_END();
}

FC_TEST(capi_run, results_stay_with_their_values) {
    CAPI_START();
    float in[4] = {1, 2, 3, 4}, out[4];
    const void *first, *again;
    fusec_value x = bind(g, 4, in), y = fusec_mul(x, x), s = fusec_sum(y, 0, NULL, 0);
    fusec_value pair[4] = {y, s, y, x};
    FC_ASSERT_OK_TEXT(fusec_eval(pair, 4), fusec_message(ctx));
    FC_EXPECT_EQ_U64(capi_plans(ctx), 1);
    FC_ASSERT_OK_TEXT(fusec_data(y, &first), fusec_message(ctx));
    memset(in, 0, sizeof in); /* the results do not need the array any more */
    FC_ASSERT_OK_TEXT(fusec_read(y, out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[3], 16);
    FC_ASSERT_OK_TEXT(fusec_data(y, &again), fusec_message(ctx));
    FC_EXPECT_EQ_PTR(first, again);
    FC_EXPECT_EQ_U64(capi_plans(ctx), 1);
    fusec_value z = fusec_div(y, s); /* from the stored y and the stored scalar */
    FC_ASSERT_OK_TEXT(fusec_read(z, out, sizeof out), fusec_message(ctx));
    FC_EXPECT_NEAR(out[3], 16.0 / 30, 1e-6);
    CAPI_END();
}

/* One step of a loop: an expression with several sizes, views and a reduction. */
static fusec_status step(fusec_graph *g, int64_t n, const float *a, const float *b, float *out) {
    int64_t shape[2] = {3, n};
    fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, a), y = bind(g, n, b);
    fusec_value z = fusec_sub(x, fusec_max(x, 1, (int[]){-1}, 1));
    z = fusec_mul(fusec_exp(z), fusec_add(y, fusec_num(1)));
    z = fusec_add(fusec_slice(z, 1, 1, FUSEC_END, 1), fusec_slice(z, 1, 0, -1, 1));
    return fusec_read(z, out, (size_t)(3 * (n - 1)) * sizeof *out);
}

FC_TEST(capi_run, a_loop_plans_and_compiles_once) {
    CAPI_START();
    static float a[3 * 64], b[64], out[3 * 64], want[3 * 64];
    for (int i = 0; i < 3 * 64; i++) a[i] = (float)(i % 17) * 0.1f;
    for (int i = 0; i < 64; i++) b[i] = (float)i;
    FC_ASSERT_OK_TEXT(step(g, 64, a, b, want), fusec_message(ctx));
    uint64_t compiled = capi_compiles(ctx);
    FC_EXPECT_GE_I64((int64_t)compiled, 1);
    for (int i = 0; i < 5; i++) { /* the same graph, going on */
        FC_ASSERT_OK_TEXT(step(g, 64, a, b, out), fusec_message(ctx));
        FC_EXPECT_MEMEQ(out, want, sizeof(float) * 3 * 63);
    }
    for (int i = 0; i < 5; i++) { /* after a reset */
        fusec_graph_reset(g);
        FC_ASSERT_OK_TEXT(step(g, 64, a, b, out), fusec_message(ctx));
    }
    for (int i = 0; i < 5; i++) { /* new graphs, other sizes */
        fusec_graph *fresh = NULL;
        FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &fresh), fusec_message(ctx));
        FC_ASSERT_OK_TEXT(step(fresh, 20 + 4 * i, a, b, out), fusec_message(ctx));
        fusec_graph_free(fresh);
    }
    FC_EXPECT_EQ_U64(capi_plans(ctx), 1);
    FC_EXPECT_EQ_U64(capi_compiles(ctx), compiled);
    CAPI_END();
}

FC_TEST(capi_run, other_structures_are_other_plans) {
    CAPI_START();
    float in[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, out[9];
    int64_t square[2] = {3, 3};
    fusec_value x = bind(g, 3, in), y = fusec_array(g, FUSEC_F32, 2, square, in);
    FC_ASSERT_OK_TEXT(fusec_read(fusec_add(x, fusec_num(1)), out, 12), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_read(fusec_add(x, fusec_num(2)), out, 12), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[0], 3);
    FC_EXPECT_EQ_U64(capi_plans(ctx), 2);
    FC_ASSERT_OK_TEXT(fusec_read(fusec_add(y, fusec_num(2)), out, 36), fusec_message(ctx));
    FC_EXPECT_EQ_U64(capi_plans(ctx), 3);
    FC_ASSERT_OK_TEXT(fusec_read(fusec_sub(x, y), out, 36), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[3], -3);
    FC_ASSERT_OK_TEXT(fusec_read(fusec_sub(y, x), out, 36), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[3], 3);
    FC_EXPECT_EQ_U64(capi_plans(ctx), 5);
    CAPI_END();
}

/* Expression number i; *times what it makes of x. */
static fusec_value numbered(fusec_value x, int i, float *times) {
    fusec_value y = x;
    *times = 1;
    for (int bit = 0; bit < 9; bit++) {
        y = i >> bit & 1 ? fusec_add(y, x) : fusec_sub(y, x);
        *times += i >> bit & 1 ? 1 : -1;
    }
    return y;
}

FC_TEST(capi_run, the_plan_cache_is_bounded) {
    CAPI_START();
    float in[2] = {1, 2}, out[2], times;
    for (int i = 0; i < 300; i++) {
        fusec_graph_reset(g);
        FC_ASSERT_OK_TEXT(fusec_read(numbered(bind(g, 2, in), i, &times), out, 8),
                          fusec_message(ctx));
        FC_ASSERT_EQ_F64(out[1], 2.0f * times);
    }
    FC_EXPECT_EQ_U64(capi_plans(ctx), 300);
    fusec_graph_reset(g);
    FC_ASSERT_OK_TEXT(fusec_read(numbered(bind(g, 2, in), 299, &times), out, 8),
                      fusec_message(ctx));
    FC_EXPECT_EQ_U64(capi_plans(ctx), 300); /* recent: still there */
    FC_ASSERT_OK_TEXT(fusec_read(numbered(bind(g, 2, in), 0, &times), out, 8), fusec_message(ctx));
    FC_EXPECT_EQ_U64(capi_plans(ctx), 301); /* the oldest went */
    CAPI_END();
}

FC_TEST(capi_run, other_numbers_need_no_other_code) {
    CAPI_START();
    float in[2] = {1, 2}, out[2];
    for (int i = 0; i < 50; i++) {
        const float k = (float)i + 3.25f;
        fusec_graph_reset(g);
        fusec_value x = bind(g, 2, in);
        fusec_value y = fusec_add(fusec_mul(fusec_abs(x), fusec_num(k)), fusec_num(i + 0.125));
        FC_ASSERT_OK_TEXT(fusec_read(fusec_pow(y, fusec_num(3)), out, 8), fusec_message(ctx));
        const float want = 2 * k + (float)i + 0.125f;
        FC_EXPECT_NEAR(out[1], want * want * want, 1e-6 * want * want * want);
    }
    FC_EXPECT_EQ_U64(capi_plans(ctx), 1);
    /* another exponent, and an array of the number, which is a scalar as it is */
    fusec_graph_reset(g);
    fusec_value x = bind(g, 2, in);
    FC_ASSERT_OK_TEXT(fusec_read(fusec_pow(x, fusec_num(5)), out, 8), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[1], 32);
    fusec_dim n = fusec_size(g, 2);
    FC_ASSERT_OK_TEXT(fusec_read(fusec_full(g, FUSEC_F32, 3.75, 1, &n), out, 8),
                      fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[1], 3.75);
    FC_ASSERT_OK_TEXT(fusec_read(fusec_full(g, FUSEC_F32, 4.75, 1, &n), out, 8),
                      fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[0], 4.75);
    FC_EXPECT_EQ_U64(capi_plans(ctx), 3);
    /* more of them than a kernel takes as arguments */
    fusec_value y = x;
    for (int i = 0; i < 300; i++) y = fusec_add(fusec_abs(y), fusec_num(i + 3.5));
    FC_ASSERT_OK_TEXT(fusec_read(y, out, 8), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[0], 1 + 300 * 3.5f + 299 * 150);
    CAPI_END();
}

FC_TEST(capi_run, the_default_float) {
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "interp";
    o.default_float = FUSEC_I32;
    FC_EXPECT_EQ_I64(fusec_context_new(&o, &ctx), FUSEC_INVALID);
    o.default_float = FUSEC_F64;
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    const int32_t in[2] = {1, 3};
    const int64_t two = 2;
    double out[2], mean;
    fusec_value x = fusec_array(g, FUSEC_I32, 1, &two, in);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_div(x, fusec_int(2))), FUSEC_F64);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_div(x, fusec_int(2)), out, 16), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[1], 1.5);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_mean(x, 0, NULL, 0), &mean, 8), fusec_message(ctx));
    FC_EXPECT_EQ_F64(mean, 2);
    fusec_lazy *v = NULL, *m = NULL;
    fusec_tensor t = {.data = (void *)(uintptr_t)in, .shape = &two, .rank = 1, .dtype = FUSEC_I32};
    FC_ASSERT_OK_TEXT(fusec_lazy_from(ctx, &t, NULL, NULL, &v), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_lazy_op(ctx, fusec_op_find("mean"), 1, &v, NULL, &m),
                      fusec_message(ctx));
    FC_EXPECT_EQ_I64(fusec_lazy_dtype(m), FUSEC_F64);
    FC_EXPECT_OK_TEXT(fusec_lazy_read(m, &mean, 8), fusec_message(ctx));
    FC_EXPECT_EQ_F64(mean, 2);
    fusec_lazy_release(v);
    fusec_lazy_release(m);
    fusec_graph_free(g);
    fusec_context_free(ctx);
}

FC_TEST(capi_run, long_chains_do_not_overflow_the_stack) {
    CAPI_START();
    float in[2] = {0, 1}, out[2];
    fusec_value x = bind(g, 2, in), y = x;
    for (int i = 0; i < 20000; i++) y = fusec_add(y, x);
    FC_ASSERT_OK_TEXT(fusec_read(y, out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[1], 20001);
    fusec_dim d = fusec_dim_of(x, 0), n = d;
    for (int i = 0; i < 100; i++)
        n = fusec_dim_sub(fusec_dim_mul(n, d), n); /* (2*n - n): stays 2, as a deep term */
    FC_ASSERT_OK_TEXT(
        fusec_read(fusec_mul(x, fusec_cast(fusec_dim_value(n), FUSEC_F32)), out, sizeof out),
        fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[1], 2);
    CAPI_END();
}

FC_TEST(capi_run, what_has_no_data_is_refused) {
    CAPI_START();
    float in[2] = {0, 1}, out[2];
    fusec_dim n = fusec_sym(g, "n");
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 1, &n);
    FC_EXPECT_EQ_I64(fusec_read(x, out, 8), FUSEC_UNKNOWN_DIM);
    FC_EXPECT_EQ_I64(fusec_eval(&x, 1), FUSEC_UNKNOWN_DIM);
    fusec_value s = fusec_input(g, "s", FUSEC_F32, 0, NULL), y = fusec_mul(bind(g, 2, in), s);
    FC_EXPECT_EQ_I64(fusec_read(y, out, 8), FUSEC_MISSING_INPUT);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "input s has no data");
    FC_EXPECT_EQ_I64(fusec_read(fusec_arange(g, n), out, 8), FUSEC_UNKNOWN_DIM);
    fusec_program *p;
    fusec_output(g, "y", y);
    FC_EXPECT_EQ_I64(fusec_compile(g, &p), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "fusec_input");
    CAPI_END();
}

/* ---- programs -------------------------------------------------------------------------------- */

static fusec_program *softmax_program(fusec_context *ctx) {
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    fusec_dim mn[2] = {fusec_sym(g, "m"), fusec_sym(g, "n")};
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, mn);
    fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, (int[]){-1}, 1)));
    fusec_output(g, "p", fusec_div(e, fusec_sum(e, 1, (int[]){-1}, 1)));
    fusec_output(g, "rows", fusec_sum(x, 1, (int[]){-1}, 0));
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    fusec_graph_free(g); /* not needed by the program */
    return p;
}

static void check_softmax(const float *x, const float *p, int64_t m, int64_t n) {
    for (int64_t r = 0; r < m; r++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += exp((double)x[r * n + i]);
        for (int64_t i = 0; i < n; i++)
            FC_EXPECT_NEAR(p[r * n + i], exp((double)x[r * n + i]) / sum, 1e-5);
    }
}

FC_TEST(capi_run, one_program_many_sizes) {
    CAPI_START();
    static float x[40 * 50], y[40 * 50], rows[50];
    static const int64_t shapes[][2] = {{3, 5}, {1, 1}, {40, 50}, {7, 8}, {2, 33}, {0, 5}};
    for (int i = 0; i < 40 * 50; i++) x[i] = (float)(i % 13) * 0.25f;
    fusec_program *p = softmax_program(ctx);
    FC_ASSERT_TRUE(p != NULL);
    FC_EXPECT_EQ_I64(fusec_input_count(p), 1);
    FC_EXPECT_EQ_I64(fusec_output_count(p), 2);
    FC_EXPECT_STREQ(fusec_input_name(p, 0), "x");
    FC_EXPECT_STREQ(fusec_output_name(p, 1), "rows");
    FC_EXPECT_TRUE(fusec_output_name(p, 2) == NULL && fusec_input_name(p, -1) == NULL);
    FC_EXPECT_EQ_I64(fusec_output_dtype(p, 0), FUSEC_F32);
    FC_EXPECT_EQ_I64(fusec_output_rank(p, 0) * 10 + fusec_output_rank(p, 1), 21);
    FC_EXPECT_GE_I64(fusec_kernel_count(p), 1);
    for (size_t i = 0; i < FC_COUNT(shapes); i++) {
        int64_t got[3] = {-1, -1, -1};
        fusec_tensor in = {.data = x, .shape = shapes[i], .rank = 2, .dtype = FUSEC_F32};
        fusec_tensor out[2] = {{.data = y, .shape = shapes[i], .rank = 2, .dtype = FUSEC_F32},
                               {.data = rows, .shape = shapes[i], .rank = 1, .dtype = FUSEC_F32}};
        FC_EXPECT_OK_TEXT(fusec_output_shapes(p, 1, &in, got, 3), fusec_message(ctx));
        FC_EXPECT_EQ_I64(got[0] * 10000 + got[1] * 100 + got[2],
                         shapes[i][0] * 10000 + shapes[i][1] * 100 + shapes[i][0]);
        FC_ASSERT_OK_TEXT(fusec_run(p, 1, &in, 2, out), fusec_message(ctx));
        check_softmax(x, y, shapes[i][0], shapes[i][1]);
    }
    uint64_t compiled = fusec_compile_count(p);
    int64_t again[2] = {11, 31};
    fusec_tensor in = {.data = x, .shape = again, .rank = 2, .dtype = FUSEC_F32};
    fusec_tensor out[2] = {
        {.data = y, .shape = again, .rank = 2, .dtype = FUSEC_F32, .place = FUSEC_DEVICE},
        {.data = rows, .shape = again, .rank = 1, .dtype = FUSEC_F32}};
    FC_ASSERT_OK_TEXT(fusec_run_on(p, NULL, 1, &in, 2, out), fusec_message(ctx));
    FC_EXPECT_EQ_U64(fusec_compile_count(p), compiled);
    fusec_program_free(p);
    CAPI_END();
}

FC_TEST(capi_run, wrong_calls) {
    CAPI_START();
    float x[6] = {0}, y[6], rows[2];
    int64_t s23[2] = {2, 3}, s32[2] = {3, 2}, minus[2] = {-2, 3}, huge[2] = {INT64_MAX, 3};
    const int64_t zeros[2] = {0, 0}, far[2] = {INT64_MAX / 2, 1};
    fusec_program *p = softmax_program(ctx);
    FC_ASSERT_TRUE(p != NULL);
    fusec_tensor in = {.data = x, .shape = s23, .rank = 2, .dtype = FUSEC_F32};
    fusec_tensor out[2] = {{.data = y, .shape = s23, .rank = 2, .dtype = FUSEC_F32},
                           {.data = rows, .shape = s23, .rank = 1, .dtype = FUSEC_F32}};
#define BAD(status, text, what, value)                                                             \
    do {                                                                                           \
        fusec_tensor in0 = in, out0 = out[0];                                                      \
        what = value;                                                                              \
        fusec_status got = fusec_run(p, 1, &in, 2, out);                                           \
        FC_EXPECT_EQ_I64(got, status);                                                             \
        if (got) FC_EXPECT_CONTAINS(fusec_message(ctx), text);                                     \
        in = in0;                                                                                  \
        out[0] = out0;                                                                             \
    } while (0)
    BAD(FUSEC_INPUT_DTYPE, "f64", in.dtype, FUSEC_F64);
    BAD(FUSEC_INVALID, "dtype", in.dtype, (fusec_dtype)50);
    BAD(FUSEC_INPUT_SHAPE, "x", in.rank, 1);
    BAD(FUSEC_INVALID, "rank", in.rank, -1);
    BAD(FUSEC_INVALID, "rank", in.rank, 1000);
    BAD(FUSEC_INVALID, "shape", in.shape, NULL);
    BAD(FUSEC_INVALID, "NULL", in.data, NULL);
    BAD(FUSEC_INPUT_SHAPE, "negative", in.shape, minus);
    BAD(FUSEC_INPUT_SHAPE, "bytes", in.shape, huge);
    BAD(FUSEC_INVALID, "place", in.place, (fusec_place)9);
    BAD(FUSEC_RESULT_SHAPE, "p", out[0].shape, s32);
    BAD(FUSEC_RESULT_DTYPE, "p", out[0].dtype, FUSEC_I32);
    BAD(FUSEC_INVALID, "NULL", out[0].data, NULL);
    BAD(FUSEC_INVALID, "share memory", out[0].data, out[1].data);
    BAD(FUSEC_INVALID, "overlap", out[0].strides, zeros);
    BAD(FUSEC_INPUT_SHAPE, "2^63", in.strides, far);
#undef BAD
    FC_EXPECT_EQ_I64(fusec_run(p, 2, &in, 2, out), FUSEC_ARGUMENT_COUNT);
    FC_EXPECT_EQ_I64(fusec_run(p, 1, &in, 1, out), FUSEC_ARGUMENT_COUNT);
    FC_EXPECT_EQ_I64(fusec_run(p, -1, &in, 1, out), FUSEC_ARGUMENT_COUNT);
    FC_EXPECT_EQ_I64(fusec_run(p, 1, NULL, 2, out), FUSEC_INVALID);
    int64_t sizes[3];
    FC_EXPECT_EQ_I64(fusec_output_shapes(p, 1, &in, sizes, 2), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_output_shapes(p, 1, &in, NULL, 3), FUSEC_INVALID);
    FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 2, out), fusec_message(ctx));
    fusec_program_free(p);
    CAPI_END();
}

FC_TEST(capi_run, sizes_that_must_fit_together) {
    CAPI_START();
    float a[6] = {1, 2, 3, 4, 5, 6}, y[6];
    fusec_dim n = fusec_sym(g, "n"), less = fusec_dim_sub(n, fusec_size(g, 1));
    fusec_value u = fusec_input(g, "u", FUSEC_F32, 1, &n),
                v = fusec_input(g, "v", FUSEC_F32, 1, &less);
    fusec_output(g, "y", fusec_add(fusec_slice(u, 0, 1, FUSEC_END, 1), v));
    fusec_program *p = NULL;
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    int64_t five = 5, four = 4, three = 3;
    fusec_tensor in[2] = {{.data = a, .shape = &five, .rank = 1, .dtype = FUSEC_F32},
                          {.data = a, .shape = &four, .rank = 1, .dtype = FUSEC_F32}};
    fusec_tensor out = {.data = y, .shape = &four, .rank = 1, .dtype = FUSEC_F32};
    FC_EXPECT_OK_TEXT(fusec_run(p, 2, in, 1, &out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(y[3], 9);
    in[1].shape = &three;
    FC_EXPECT_EQ_I64(fusec_run(p, 2, in, 1, &out), FUSEC_INPUT_SHAPE);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "n - 1");
    fusec_program_free(p);
    CAPI_END();
}

FC_TEST(capi_run, programs_that_can_not_be) {
    CAPI_START();
    fusec_program *p;
    FC_EXPECT_EQ_I64(fusec_compile(g, &p), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "no outputs");
    fusec_output(g, "i", fusec_arange(g, fusec_sym(g, "n")));
    CAPI_END();
}

/* Sizes that no array has are inputs behind the others. */
FC_TEST(capi_run, sizes_as_inputs) {
    CAPI_START();
    fusec_program *p = NULL;
    fusec_dim n = fusec_sym(g, "n"), m = fusec_sym(g, "m"), k = fusec_sym(g, "k");
    fusec_value x = fusec_input(g, "x", FUSEC_I64, 1, &n);
    fusec_output(g, "y", fusec_add(fusec_arange(g, m), fusec_dim_value(k)));
    fusec_output(g, "z", x);
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    FC_ASSERT_EQ_I64(fusec_input_count(p), 3);
    FC_EXPECT_STREQ(fusec_input_name(p, 0), "x");
    FC_EXPECT_STREQ(fusec_input_name(p, 1), "m");
    FC_EXPECT_STREQ(fusec_input_name(p, 2), "k");
    FC_EXPECT_TRUE(fusec_input_name(p, 3) == NULL);
    int64_t one = 7, y[4] = {0}, z = 0, sizes[2] = {3, 100}, shapes[2], length = 1;
    fusec_tensor in[3] = {{.data = &one, .shape = &length, .rank = 1, .dtype = FUSEC_I64},
                          {.data = &sizes[0], .dtype = FUSEC_I64},
                          {.data = &sizes[1], .dtype = FUSEC_I64}};
    for (int round = 0; round < 3; round++) { /* the same program with other sizes */
        sizes[0] = 2 + round % 2;
        sizes[1] = 100 + round;
        FC_EXPECT_OK_TEXT(fusec_output_shapes(p, 3, in, shapes, 2), fusec_message(ctx));
        FC_EXPECT_EQ_I64(shapes[0], sizes[0]);
        const fusec_tensor out[2] = {{.data = y, .shape = sizes, .rank = 1, .dtype = FUSEC_I64},
                                     {.data = &z, .shape = &length, .rank = 1, .dtype = FUSEC_I64}};
        FC_EXPECT_OK_TEXT(fusec_run(p, 3, in, 2, out), fusec_message(ctx));
        FC_EXPECT_TRUE(y[1] == 101 + round && y[sizes[0] - 1] == 99 + round + sizes[0] && z == 7);
    }
    sizes[0] = -1;
    FC_EXPECT_EQ_I64(fusec_output_shapes(p, 3, in, shapes, 2), FUSEC_INPUT_SHAPE);
    in[1].dtype = FUSEC_I32;
    FC_EXPECT_EQ_I64(fusec_output_shapes(p, 3, in, shapes, 2), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "m is a size");
    FC_EXPECT_EQ_I64(fusec_output_shapes(p, 1, in, shapes, 2), FUSEC_ARGUMENT_COUNT);
    fusec_cut *cut = NULL;
    FC_EXPECT_EQ_I64(fusec_program_cut(p, "n", &cut), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "no array has");
    fusec_program_free(p);
    CAPI_END();
}

FC_TEST(capi_run, scalars_in_and_out) {
    CAPI_START();
    double a = 3, y = 0;
    fusec_value x = fusec_input(g, "x", FUSEC_F64, 0, NULL);
    fusec_program *p = NULL;
    fusec_output(g, "y", fusec_mul(x, fusec_int(2)));
    fusec_output(g, "two", fusec_num(2)); /* a number becomes the default float */
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    float two = 0;
    fusec_tensor in = {.data = &a, .dtype = FUSEC_F64};
    fusec_tensor out[2] = {{.data = &y, .dtype = FUSEC_F64}, {.data = &two, .dtype = FUSEC_F32}};
    FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 2, out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(y, 6);
    FC_EXPECT_EQ_F64(two, 2);
    fusec_program_free(p);
    CAPI_END();
}

/* ---- memory, devices, threads ---------------------------------------------------------------- */

FC_TEST(capi_run, device_memory) {
    CAPI_START();
    float in[4] = {1, 2, 3, 4}, out[4] = {0};
    void *p = NULL;
    int64_t four = 4;
    FC_ASSERT_OK_TEXT(fusec_device_alloc(ctx, sizeof in, &p), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_upload(ctx, p, in, sizeof in), fusec_message(ctx));
    fusec_value x = fusec_device_array(g, FUSEC_F32, 1, &four, p);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_mul(x, x), out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[3], 16);
    FC_EXPECT_OK_TEXT(fusec_read(x, out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[3], 4);
    FC_EXPECT_OK_TEXT(fusec_synchronize(ctx), fusec_message(ctx));
    FC_EXPECT_EQ_I64(fusec_upload(ctx, NULL, in, 4), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_download(ctx, out, NULL, 4), FUSEC_INVALID);
    FC_EXPECT_OK_TEXT(fusec_download(ctx, NULL, NULL, 0), fusec_message(ctx));
    fusec_device_free(ctx, p);
    FC_EXPECT_TRUE(fusec_device_alloc(ctx, SIZE_MAX, &p) != FUSEC_OK);
    FC_EXPECT_TRUE(p == NULL);
    FC_EXPECT_OK_TEXT(fusec_device_alloc(ctx, 0, &p), fusec_message(ctx));
    fusec_device_free(ctx, p);
    CAPI_END();
}

/* Whatever "auto" finds gives the same as the interpreter. */
FC_TEST(capi_run, the_best_device_agrees) {
    static float in[3 * 64], b[64], mine[3 * 64], other[3 * 64];
    for (int i = 0; i < 3 * 64; i++) in[i] = (float)(i % 17) * 0.1f;
    for (int i = 0; i < 64; i++) b[i] = (float)i;
    fusec_context *ctx, *best;
    fusec_graph *g = capi_start(NULL, &ctx), *h = capi_start("auto", &best);
    FC_ASSERT_TRUE(g && h);
    FC_EXPECT_OK_TEXT(step(g, 64, in, b, mine), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(step(h, 64, in, b, other), fusec_message(best));
    for (int i = 0; i < 3 * 63; i++) FC_EXPECT_NEAR(mine[i], other[i], 1e-4);
    capi_end(ctx, g);
    capi_end(best, h);
}

FC_TEST(capi_run, lengths_that_are_numbers) {
    CAPI_START();
    int64_t n;
    fusec_dim a = fusec_sym(g, "n");
    FC_EXPECT_EQ_I64(fusec_dim_known(a, &n), 0);
    FC_EXPECT_TRUE(fusec_dim_known(fusec_dim_sub(fusec_dim_add(a, fusec_size(g, 7)), a), &n) &&
                   n == 7);
    CAPI_END();
}

typedef struct worker {
    fusec_context *ctx;
    fusec_program *p;
    int failures;
} worker;

static void *work(void *arg) {
    worker *w = arg;
    static const float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    float y[12], rows[4], z[8];
    fusec_graph *g = NULL;
    if (fusec_graph_new(w->ctx, &g)) return w->failures++, NULL;
    for (int i = 0; i < 50; i++) {
        int64_t shape[2] = {1 + i % 4, 3};
        fusec_tensor in = {
            .data = (void *)(uintptr_t)x, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
        fusec_tensor out[2] = {{.data = y, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                               {.data = rows, .shape = shape, .rank = 1, .dtype = FUSEC_F32}};
        w->failures += fusec_run(w->p, 1, &in, 2, out) != FUSEC_OK || rows[0] != 6;
        int64_t n = 2 + i % 7;
        fusec_value v = fusec_mul(bind(g, n, x), fusec_num(i % 3));
        w->failures += fusec_read(v, z, (size_t)n * 4) != FUSEC_OK || z[1] != 2.0f * (float)(i % 3);
        fusec_sum(v, 1, &(int){3}, 0);
        w->failures +=
            fusec_graph_status(g) != FUSEC_BAD_AXIS || !strstr(fusec_message(w->ctx), "axis 3");
        fusec_graph_reset(g);
    }
    fusec_graph_free(g);
    return NULL;
}

FC_TEST(capi_run, threads_share_a_context_and_a_program) {
    CAPI_START();
    fusec_program *p = softmax_program(ctx);
    FC_ASSERT_TRUE(p != NULL);
    worker w[4];
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        w[i] = (worker){ctx, p, 0};
        FC_ASSERT_EQ_I64(pthread_create(&t[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        FC_EXPECT_EQ_I64(w[i].failures, 0);
    }
    fusec_program_free(p);
    CAPI_END();
}

/* ---- stopping, and where compilers are ------------------------------------------------------- */

typedef struct asker {
    atomic_int asked, stop_at;
} asker;

static int ask(void *user) {
    asker *a = user;
    return atomic_fetch_add(&a->asked, 1) + 1 >= atomic_load(&a->stop_at);
}

FC_TEST(capi_run, the_caller_may_stop_a_call) {
    enum { N = 8000000 };
    fusec_context *ctx = NULL;
    asker a;
    fusec_options o = FUSEC_OPTIONS_INIT;
    float *x = calloc(N, sizeof *x);
    const int64_t n = N;
    fusec_lazy *v = NULL, *y = NULL;
    atomic_init(&a.asked, 0);
    atomic_init(&a.stop_at, 1);
    o.device = "interp";
    o.threads = 2;
    o.poll = ask;
    o.poll_user = &a;
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
    fusec_tensor t = {.data = x, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    FC_ASSERT_OK_TEXT(fusec_lazy_from(ctx, &t, NULL, NULL, &v), fusec_message(ctx));
    for (int i = 0; i < 60; i++) { /* long enough to be asked */
        FC_ASSERT_OK_TEXT(fusec_lazy_op(ctx, fusec_op_find("sin"), 1, &v, NULL, &y),
                          fusec_message(ctx));
        fusec_lazy_release(v);
        v = y;
    }
    FC_EXPECT_EQ_I64(fusec_lazy_eval(&v, 1, NULL, NULL), FUSEC_CANCELLED); /* before compiling */
    atomic_store(&a.stop_at, 3);
    FC_EXPECT_EQ_I64(fusec_lazy_eval(&v, 1, NULL, NULL), FUSEC_CANCELLED); /* while it runs */
    FC_EXPECT_TRUE(fusec_lazy_depth(v) == 60);
    atomic_store(&a.stop_at, INT_MAX); /* and the context is as good as before */
    fusec_lazy_release(v);
    FC_ASSERT_OK_TEXT(fusec_lazy_number(ctx, FUSEC_F32, 3.5, &v), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_lazy_op(ctx, fusec_op_find("neg"), 1, &v, NULL, &y),
                      fusec_message(ctx));
    float out;
    FC_EXPECT_OK_TEXT(fusec_lazy_read(y, &out, 4), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out, -3.5);
    fusec_lazy_release(y);
    fusec_lazy_release(v);
    fusec_context_free(ctx);
    free(x);
}

FC_TEST(capi_run, places_of_compilers) {
    char path[512], again[512];
    if (!fc_llvm_find(NULL, path, sizeof path) || fc_env("FUSEC_LIBLLVM_PATH")) FC_SKIP("no LLVM");
    FC_EXPECT_TRUE(fc_llvm_find("/nowhere:/etc/hostname:/", again, sizeof again));
    FC_EXPECT_STREQ(again, "/etc/hostname"); /* what is named comes first, whatever it is */
    FC_EXPECT_TRUE(fc_llvm_find("/nowhere:/etc", again, sizeof again));
    FC_EXPECT_STREQ(again, path);
    fusec_context *ctx = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "cpu";
    o.cache_dir = "";
    o.llvm_path = "/etc/hostname"; /* no library: the usual places follow */
    o.nvrtc_path = "/nowhere";
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
    fusec_lazy *v = NULL, *y = NULL;
    const float x[2] = {1, 2};
    float out[2];
    const int64_t n = 2;
    fusec_tensor t = {.data = (void *)(uintptr_t)x, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    FC_ASSERT_OK_TEXT(fusec_lazy_from(ctx, &t, NULL, NULL, &v), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_lazy_op(ctx, fusec_op_find("neg"), 1, &v, NULL, &y),
                      fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_lazy_read(y, out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[1], -2);
    fusec_lazy_release(v);
    fusec_lazy_release(y);
    fusec_context_free(ctx);
}

/* 1 + 2^-12 squared has one bit more than f32 holds: a product and a sum that round once see it. */
FC_TEST(capi_run, licences_of_a_graph) {
    static const unsigned modes[] = {FUSEC_MODE_STRICT, FUSEC_MODE_CONTRACT};
    float in = 1 + 0x1p-12f, got[2] = {0};
    int64_t shape[1] = {1};
    for (int i = 0; i < 2; i++) {
        CAPI_START();
        fusec_program *p = NULL;
        fusec_dim n = fusec_sym(g, "n");
        fusec_value x = fusec_input(g, "x", FUSEC_F32, 1, &n);
        fusec_output(g, "y", fusec_sub(fusec_mul(x, x), fusec_num(1 + 0x1p-11)));
        FC_EXPECT_EQ_I64(fusec_graph_mode(g, 1u << 20), FUSEC_INVALID);
        FC_EXPECT_OK_TEXT(fusec_graph_mode(g, modes[i]), fusec_message(ctx));
        FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
        fusec_tensor a = {.data = &in, .shape = shape, .rank = 1, .dtype = FUSEC_F32},
                     b = {.data = &got[i], .shape = shape, .rank = 1, .dtype = FUSEC_F32};
        FC_EXPECT_OK_TEXT(fusec_run(p, 1, &a, 1, &b), fusec_message(ctx));
        fusec_program_free(p);
        CAPI_END();
    }
    FC_EXPECT_EQ_F64(got[0], 0);
    FC_EXPECT_EQ_F64(got[1], 0x1p-24);
    FC_EXPECT_EQ_I64(fusec_graph_mode(NULL, 0), FUSEC_INVALID);
}
