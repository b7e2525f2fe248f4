/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_program.c - graphs compiled and called: sizes, caches, messages. Every test runs on all
 * devices found. */
#include "runtime/program.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/gb.h"
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

static const char *const device_names[] = {"interp", "cpu", "cuda"};

#define EACH_DEVICE(f)                                                                             \
    for (size_t dev_ = 0; dev_ < FC_COUNT(device_names); dev_++)                                   \
        if (fc_fixture_open(&(f), device_names[dev_]))

static fc_tensor f32s(float *data, uint32_t rank, const int64_t *shape) {
    return (fc_tensor){.dtype = FUSEC_F32, .rank = rank, .shape = shape, .data = data};
}

static void build_softmax(fc_graph *g) {
    fc_node x = gbin(g, "x", FUSEC_F32, 2, gbd(g, "n"), gbd(g, "m"), 0);
    fc_node e = gb1(g, FC_OP_exp, gb2(g, FC_OP_sub, x, gbred(g, FC_OP_max, x, -1, true)));
    fc_build_output(g, "p", gb2(g, FC_OP_div, e, gbred(g, FC_OP_sum, e, -1, true)));
}

FC_TEST(program, softmax_rows_sum_to_one) {
    fc_fixture f;
    EACH_DEVICE(f) {
        enum { N = 37, M = 1500 };
        static float x[N * M], y[N * M];
        int64_t shape[2] = {N, M};
        for (int i = 0; i < N * M; i++) x[i] = (float)((i * 7919) % 1000) / 100.0f;
        build_softmax(&f.g);
        fc_program *p = fc_fixture_compile(&f);
        fc_tensor in = f32s(x, 2, shape), out = f32s(y, 2, shape);
        FC_EXPECT_OK(fc_program_run(p, NULL, 1, &in, 0, NULL, 1, &out, &f.e), &f.e);
        for (int r = 0; r < N; r++) {
            double sum = 0, want = 0, top = 0;
            for (int i = 0; i < M; i++) top = fmax(top, x[r * M + i]);
            for (int i = 0; i < M; i++) want += exp((double)x[r * M + i] - top);
            for (int i = 0; i < M; i++) sum += y[r * M + i];
            FC_EXPECT_NEAR(sum, 1, 1e-5);
            FC_EXPECT_NEAR(y[r * M + 5] * want, exp((double)x[r * M + 5] - top), 1e-5);
        }
        fc_fixture_close(&f, p);
    }
}

FC_TEST(program, many_sizes_compile_once_per_class) {
    fc_fixture f;
    EACH_DEVICE(f) {
        static float x[64 * 4096], y[64 * 4096];
        for (size_t i = 0; i < FC_COUNT(x); i++) x[i] = (float)(i % 97) * 0.1f;
        build_softmax(&f.g);
        fc_program *p = fc_fixture_compile(&f);
        for (int i = 0; i < 200; i++) {
            int64_t shape[2] = {2 + i % 50, 40 + 20 * i};
            fc_tensor in = f32s(x, 2, shape), out = f32s(y, 2, shape);
            FC_EXPECT_OK(fc_program_run(p, NULL, 1, &in, 0, NULL, 1, &out, &f.e), &f.e);
        }
        FC_TRACE("%s", device_names[dev_]);
        FC_EXPECT_LE_I64((int64_t)p->compiles, 12);
        FC_UNTRACE();
        fc_fixture_close(&f, p);
    }
}

FC_TEST(program, scalars_dims_and_several_results) {
    fc_fixture f;
    EACH_DEVICE(f) {
        fc_dim n = gbd(&f.g, "n");
        fc_node x = gbin(&f.g, "x", FUSEC_F32, 1, n, 0, 0),
                s = gbin(&f.g, "s", FUSEC_F32, 0, 0, 0, 0);
        fc_node len = fc_build_cast(&f.g, fc_build_dim(&f.g, n), FUSEC_F32);
        fc_build_output(&f.g, "y", gb2(&f.g, FC_OP_mul, x, s));
        fc_build_output(&f.g, "total", gball(&f.g, FC_OP_sum, x));
        fc_build_output(&f.g, "z",
                        gb2(&f.g, FC_OP_add, gb2(&f.g, FC_OP_add, x, len),
                            fc_build_cast(&f.g, fc_build_iota(&f.g, n), FUSEC_F32)));
        fc_program *p = fc_fixture_compile(&f);
        float x0[5] = {1, 2, 3, 4, 5}, k = 10, y[5], z[5], t = 0;
        int64_t shape[1] = {5};
        fc_tensor in[2] = {f32s(x0, 1, shape), f32s(&k, 0, NULL)};
        fc_tensor out[3] = {f32s(y, 1, shape), f32s(&t, 0, NULL), f32s(z, 1, shape)};
        FC_EXPECT_OK(fc_program_run(p, NULL, 2, in, 0, NULL, 3, out, &f.e), &f.e);
        FC_EXPECT_NEAR(t, 15, 0);
        for (int i = 0; i < 5; i++) {
            FC_EXPECT_NEAR(y[i], 10 * x0[i], 0);
            FC_EXPECT_NEAR(z[i], x0[i] + 5 + (float)i, 0);
        }
        fc_fixture_close(&f, p);
    }
}

FC_TEST(program, temporaries_and_split_reductions) {
    fc_fixture f;
    EACH_DEVICE(f) {
        enum { N = 300000 };
        float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
        double want = 0;
        int64_t shape[1] = {N};
        fc_node a = gbin(&f.g, "x", FUSEC_F32, 1, gbd(&f.g, "n"), 0, 0);
        fc_build_output(&f.g, "y", gb2(&f.g, FC_OP_div, a, gball(&f.g, FC_OP_sum, a)));
        fc_program *p = fc_fixture_compile(&f);
        for (int i = 0; i < N; i++) want += x[i] = (float)(i % 13);
        fc_tensor in = f32s(x, 1, shape), out = f32s(y, 1, shape);
        for (int k = 0; k < 3; k++) {
            FC_EXPECT_OK(fc_program_run(p, NULL, 1, &in, 0, NULL, 1, &out, &f.e), &f.e);
            FC_EXPECT_NEAR(y[12], 12 / want, 1e-12);
            FC_EXPECT_NEAR(y[N - 1], x[N - 1] / want, 1e-12);
        }
        fc_fixture_close(&f, p);
        free(x);
        free(y);
    }
}

FC_TEST(program, empty_arrays) {
    fc_fixture f;
    EACH_DEVICE(f) {
        fc_node x = gbin(&f.g, "x", FUSEC_F32, 2, gbd(&f.g, "n"), gbd(&f.g, "m"), 0);
        fc_build_output(&f.g, "s", gbred(&f.g, FC_OP_sum, x, 1, false));
        fc_build_output(&f.g, "y", gb1(&f.g, FC_OP_sin, x));
        fc_program *p = fc_fixture_compile(&f);
        float s[3] = {9, 9, 9};
        int64_t shape[2] = {3, 0}, rows[1] = {3};
        fc_tensor in = f32s(NULL, 2, shape), out[2] = {f32s(s, 1, rows), f32s(NULL, 2, shape)};
        FC_EXPECT_OK(fc_program_run(p, NULL, 1, &in, 0, NULL, 2, out, &f.e), &f.e);
        for (int i = 0; i < 3; i++) FC_EXPECT_EQ_F64(s[i], 0.0);
        fc_fixture_close(&f, p);
    }
}

FC_TEST(program, wrong_arguments_are_named) {
    fc_fixture f;
    if (!fc_fixture_open(&f, "interp")) return;
    fc_dim n = gbd(&f.g, "n");
    fc_node x = gbin(&f.g, "x", FUSEC_F32, 1, n, 0, 0), w = gbin(&f.g, "w", FUSEC_F32, 1, n, 0, 0);
    fc_build_output(&f.g, "y", gb2(&f.g, FC_OP_add, x, w));
    fc_program *p = fc_fixture_compile(&f);
    float a[8] = {0}, b[8] = {0}, c[8];
    int64_t four[1] = {4}, five[1] = {5};
    fc_tensor in[2] = {f32s(a, 1, four), f32s(b, 1, five)}, out = f32s(c, 1, four);
    fc_error e = {0};
    FC_EXPECT_EQ_I64(fc_program_run(p, NULL, 2, in, 0, NULL, 1, &out, &e), FUSEC_INPUT_SHAPE);
    FC_EXPECT_STREQ(e.message, "n is 4 in x but 5 in w");
    in[1] = f32s(b, 1, four);
    out = f32s(c, 1, five);
    e = (fc_error){0};
    FC_EXPECT_EQ_I64(fc_program_run(p, NULL, 2, in, 0, NULL, 1, &out, &e), FUSEC_RESULT_SHAPE);
    in[0].dtype = FUSEC_F64;
    e = (fc_error){0};
    FC_EXPECT_EQ_I64(fc_program_run(p, NULL, 2, in, 0, NULL, 1, &out, &e), FUSEC_INPUT_DTYPE);
    fc_fixture_close(&f, p);
}
