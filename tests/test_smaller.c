/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_smaller.c - code that spills registers is lowered again smaller: on a driver that says which
 * code spills, and which classes there are below a first one. */
#include <fusec/fusec.h>

#include <stdio.h>
#include <string.h>

#include "codegen/cuda/cuda.h"
#include "tests/support/cuda_machines.h"
#include "tests/support/fake_machine.h"
#include "tests/support/sample_kernels.h"
#include "tests/support/test.h"

/* ---- by a driver ----------------------------------------------------------------------------- */

enum { N = 1000, ARRAYS = 20 };

/* The sum of many arrays, on a driver whose first `spilling` modules spill. */
static void sum_arrays(fake_machine *m, long spilling, long compiled) {
    static float x[ARRAYS][N], y[N];
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    fusec_tensor in[ARRAYS], out;
    const int64_t n = N;
    o.device = "cuda";
    o.cache_dir = "";
    m->fake->spilling = spilling;
    m->fake->compiled = 0;
    FC_EXPECT_EQ_I64(fusec_context_new(&o, &ctx), FUSEC_OK);
    FC_EXPECT_EQ_I64(fusec_graph_new(ctx, &g), FUSEC_OK);
    fusec_dim d = fusec_sym(g, "n");
    fusec_value sum = {0};
    for (int i = 0; i < ARRAYS; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        fusec_value v = fusec_input(g, name, FUSEC_F32, 1, &d);
        sum = i ? fusec_add(sum, v) : v;
        for (int k = 0; k < N; k++) x[i][k] = (float)((k + 3 * i) % 50);
        in[i] = (fusec_tensor){.data = x[i], .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    }
    fusec_output(g, "y", sum);
    out = (fusec_tensor){.data = y, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    memset(y, 0, sizeof y);
    FC_EXPECT_EQ_I64(fusec_compile(g, &p), FUSEC_OK);
    FC_EXPECT_EQ_I64(fusec_run(p, ARRAYS, in, 1, &out), FUSEC_OK);
    FC_EXPECT_EQ_I64(m->fake->compiled, compiled);
    int wrong = 0;
    for (int k = 0; m->fake->execute && k < N; k++) {
        float want = 0;
        for (int i = 0; i < ARRAYS; i++) want += x[i][k];
        wrong += y[k] != want;
    }
    FC_EXPECT_EQ_I64(wrong, 0);
    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
}

/* Vectors of 4 become 2; below that there is nothing smaller, and the code stays. */
FC_TEST(smaller, a_map_that_spills_takes_fewer_elements) {
    fake_machine m;
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = fake_can_execute();
    sum_arrays(&m, 0, 1);
    sum_arrays(&m, 1, 2);
    sum_arrays(&m, 9, 2);
    FC_EXPECT_EQ_I64(m.fake->misuse, 0);
    FC_EXPECT_EQ_I64(m.fake->memory, 0);
    fake_machine_close(&m);
}

/* ---- the ladder ------------------------------------------------------------------------------ */

/* All classes below the first, for code that always spills; prints them. */
static void ladder(const char *sample, const int64_t *size, const char *want) {
    fc_sample_run run;
    fc_class cls;
    fc_launch l;
    fc_error err = {0};
    fc_str steps;
    fc_str_init(&steps, &fc_libc_alloc);
    FC_TRACE("%s", sample);
    if (fc_sample_open(fc_sample_find(sample), size, &run, &err) ||
        fc_cuda_target.schedule(&fc_cuda_h200, &run.kernel, &run.nest, 256, &run.arena, &cls, &l,
                                &err)) {
        FC_FAIL("%s", err.message);
        return;
    }
    for (int i = 0; i < 20; i++) {
        const unsigned threads = fc_cuda_block_threads(&run.kernel, &cls),
                       blocks = fc_cuda_min_blocks(&run.kernel, &cls);
        unsigned most = 65536 / (threads * (blocks ? blocks : 1));
        if (most > 255) most = 255;
        const int64_t work = (int64_t)l.grid[0] * cls.vector * cls.cuda.repeat;
        fc_class same = cls;
        fc_launch same_launch = l;
        FC_EXPECT_FALSE(fc_cuda_target.smaller(&fc_cuda_h200, &run.kernel, &run.nest, 256, most / 2,
                                               128, &run.arena, &same, &same_launch));
        FC_EXPECT_FALSE(fc_cuda_target.smaller(&fc_cuda_h200, &run.kernel, &run.nest, 256, most, 16,
                                               &run.arena, &same, &same_launch));
        if (!fc_cuda_target.smaller(&fc_cuda_h200, &run.kernel, &run.nest, 256, most, 128,
                                    &run.arena, &cls, &l))
            break;
        fc_str_printf(&steps, "v%u", (unsigned)cls.vector);
        fc_class_print_choice(&cls, &steps);
        fc_str_add(&steps, ", ");
        if (run.kernel.schedule == FC_SCHED_MAP && cls.vector > 1)
            FC_EXPECT_GE_I64((int64_t)l.grid[0] * cls.vector * cls.cuda.repeat, work);
    }
    FC_EXPECT_STREQ(steps.data ? steps.data : "", want);
    FC_UNTRACE();
    fc_str_free(&steps);
    fc_sample_close(&run);
}

FC_TEST(smaller, every_step_takes_less) {
    static const struct {
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
        const char *want;
    } rows[] = {
        {"map_affine", {1 << 18}, "v2 map whole, "},
        {"distance", {4500, 512, 3}, "v3 rect whole once rect_rows rect_columns=4, "},
        {"column_sum", {4096, 64}, "v1 outer split full across=8 runs roomy, "},
        {"column_sum", {65536, 1024}, "v4 outer split full across=16 runs=4 roomy, "},
        {"square_error_rows", {64, 8192}, "v4 loop team=256 roomy, "},
        {"softmax", {4, 70000}, ""}, /* a gang */
    };
    for (size_t i = 0; i < FC_COUNT(rows); i++) ladder(rows[i].sample, rows[i].size, rows[i].want);
}
