/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_repeat.c - the same bits a hundred times: sums, a softmax and variances of numbers whose
 * sums depend on the order, on every device found, as single launches and as a CUDA graph. Sums
 * have the same bits on all devices. Without a GPU the kernels run behind the driver of
 * tests/fake. FUSEC_TEST_RUNS=N: N times, for tools under which a run takes seconds. */
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

#include <stdlib.h>

#include "ir/base.h"

#include <fusec/fusec.h>

enum {
    RUNS = 100,
    RESULTS = 4,
    INEXACT = 1 /* how many of them only devices agree on with themselves */
};

typedef struct sheet { /* one shape and what was computed for it */
    int64_t shape[2];
    float *x, *out[RESULTS];
    size_t bytes[RESULTS];
} sheet;

static int runs(void) {
    const char *n = getenv("FUSEC_TEST_RUNS");
    return n && atoi(n) > 1 ? atoi(n) : RUNS;
}

static void open_sheet(sheet *s, int64_t n, int64_t m) {
    const size_t size[RESULTS] = {(size_t)(n * m), (size_t)m, (size_t)n, 1};
    uint32_t seed = 1;
    *s = (sheet){.shape = {n, m}, .x = malloc((size_t)(n * m) * sizeof(float))};
    FC_ASSERT_TRUE(s->x != NULL);
    for (int64_t i = 0; i < n * m; i++) {
        seed = seed * 1664525 + 1013904223;
        s->x[i] = (float)(seed >> 8) * 0x1p-22f - 1.5f;
    }
    for (int i = 0; i < RESULTS; i++) {
        s->bytes[i] = size[i] * sizeof(float);
        s->out[i] = calloc(size[i], sizeof(float));
        FC_ASSERT_TRUE(s->out[i] != NULL);
    }
}

static void close_sheet(sheet *s) {
    free(s->x);
    for (int i = 0; i < RESULTS; i++) free(s->out[i]);
}

static fusec_program *compile(fusec_context *ctx, unsigned flags) {
    static const int first[] = {0}, last[] = {1};
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    if (!g) return NULL;
    fusec_dim shape[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, shape);
    fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, last, 1)));
    fusec_output(g, "softmax", fusec_div(e, fusec_sum(e, 1, last, 1)));
    fusec_output(g, "columns", fusec_sum(x, 1, first, 0));
    fusec_output(g, "var", fusec_var(x, 1, last, 0));
    fusec_output(g, "all", fusec_sum(x, 0, NULL, 0));
    FC_EXPECT_OK_TEXT(fusec_compile_with(g, flags, &p), fusec_message(ctx));
    fusec_graph_free(g);
    return p;
}

typedef struct arrays { /* on the device */
    fusec_context *ctx;
    fusec_tensor in, out[RESULTS];
} arrays;

static bool place(arrays *a, const sheet *s) {
    static const int64_t none[1] = {0};
    const int64_t *shape[RESULTS] = {s->shape, s->shape + 1, s->shape, none};
    const int rank[RESULTS] = {2, 1, 1, 0};
    void *p = NULL;
    fusec_status st = fusec_device_alloc(a->ctx, s->bytes[0], &p);
    a->in = (fusec_tensor){
        .data = p, .shape = s->shape, .rank = 2, .dtype = FUSEC_F32, .place = FUSEC_DEVICE};
    if (!st) st = fusec_upload(a->ctx, p, s->x, s->bytes[0]);
    for (int i = 0; i < RESULTS && !st; i++) {
        st = fusec_device_alloc(a->ctx, s->bytes[i], &p);
        a->out[i] = (fusec_tensor){.data = p,
                                   .shape = shape[i],
                                   .rank = rank[i],
                                   .dtype = FUSEC_F32,
                                   .place = FUSEC_DEVICE};
    }
    FC_EXPECT_OK_TEXT(st, fusec_message(a->ctx));
    return st == FUSEC_OK;
}

static bool run(fusec_program *p, const arrays *a, const sheet *s, float **got) {
    fusec_status st = fusec_run_on(p, NULL, 1, &a->in, RESULTS, a->out);
    if (!st) st = fusec_synchronize(a->ctx);
    for (int i = 0; i < RESULTS && !st; i++)
        st = fusec_download(a->ctx, got[i], a->out[i].data, s->bytes[i]);
    FC_EXPECT_OK_TEXT(st, fusec_message(a->ctx));
    return st == FUSEC_OK;
}

/* Into s->out what the first run gives. */
static void repeat(fusec_context *ctx, sheet *s) {
    arrays a = {.ctx = ctx};
    float *got[RESULTS];
    bool begun = false, good = place(&a, s);
    for (int i = 0; i < RESULTS; i++) got[i] = malloc(s->bytes[i]);
    for (unsigned flags = 0; flags <= FUSEC_PROGRAM_GRAPH && good; flags++) {
        fusec_program *p = compile(ctx, flags);
        for (int n = 0; n < runs() && p && good; n++) {
            good = run(p, &a, s, begun ? got : s->out);
            for (int i = 0; i < RESULTS && begun && good; i++) {
                good = !memcmp(got[i], s->out[i], s->bytes[i]);
                if (!good) FC_FAIL("result %d of run %d%s", i, n, flags ? ", as a graph" : "");
            }
            begun = true;
        }
        fusec_program_free(p);
    }
    for (int i = 0; i < RESULTS; i++) {
        free(got[i]);
        fusec_device_free(ctx, a.out[i].data);
    }
    fusec_device_free(ctx, a.in.data);
}

/* Few long rows are shared by blocks that wait for each other, others are walked by a block or kept
 * by a cluster. */
static void on_all_devices(int64_t n, int64_t m, bool interp) {
    static const char *const devices[] = {"interp", "cpu", "cuda"};
    sheet first = {0};
    for (size_t i = interp ? 0 : 1; i < FC_COUNT(devices); i++) {
        fusec_context *ctx = capi_device(devices[i]);
        sheet s = {0};
        if (!ctx) continue;
        FC_TRACE("%s, %d x %d", devices[i], (int)n, (int)m);
        open_sheet(&s, n, m);
        repeat(ctx, &s);
        for (int k = INEXACT; k < RESULTS && first.x; k++)
            FC_EXPECT_MEMEQ(s.out[k], first.out[k], s.bytes[k]);
        FC_UNTRACE();
        fusec_context_free(ctx);
        if (first.x)
            close_sheet(&s);
        else
            first = s;
    }
    close_sheet(&first);
}

FC_TEST(repeat, short_rows) {
    on_all_devices(33, 1501, true);
}
FC_TEST(repeat, many_rows) {
    on_all_devices(700, 1024, false);
}
FC_TEST(repeat, long_rows) {
    on_all_devices(3, 300001, false);
}
/* Which only a GPU has. */
FC_TEST(repeat, rows_of_clusters) {
    fusec_context *ctx = capi_device("cuda");
    if (!ctx) FC_SKIP("no GPU");
    fusec_context_free(ctx);
    on_all_devices(140, 50257, false);
}

/* The kernels that a device with 4 multiprocessors is given, on the host. */
FC_TEST(repeat, behind_a_fake_driver) {
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    on_all_devices(5, 300, true);
    FC_EXPECT_GT_I64(m.fake->graph_launches, runs() - 5);
    on_all_devices(1, 17000, true);
    FC_EXPECT_GT_I64(m.fake->launched_together, runs());
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* Stores that change places between lanes, of a wide and a narrow dtype: warps that run ahead must
 * not disturb the others. The rows are odd, so that none is aligned, and few, so that most warps
 * have nothing else to do. */
FC_TEST(repeat, stores_of_two_widths_behind_a_fake_driver) {
    enum { N = 3, M = 10 };
    fake_machine m;
    float x[N * M], wide[N * M];
    unsigned char narrow[N * M];
    int64_t best[N];
    const int64_t shape[2] = {N, M};
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    for (int i = 0; i < N * M; i++) x[i] = (float)(i * 7 % 11 + 1);
    fusec_context *ctx = capi_device("cuda");
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    FC_ASSERT_TRUE(ctx != NULL);
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    fusec_dim dims[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    fusec_value v = fusec_input(g, "x", FUSEC_F32, 2, dims);
    fusec_output(g, "best", fusec_argmax(v, 1, (int[]){1}, 0));
    fusec_output(g, "wide", fusec_add(v, v));
    fusec_output(g, "narrow", fusec_gt(v, fusec_num(5)));
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    for (int k = 0; k < 40; k++) {
        fusec_tensor in = {.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
        fusec_tensor out[3] = {{.data = best, .shape = shape, .rank = 1, .dtype = FUSEC_I64},
                               {.data = wide, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                               {.data = narrow, .shape = shape, .rank = 2, .dtype = FUSEC_BOOL}};
        int wrong = 0;
        FC_ASSERT_OK_TEXT(fusec_run(p, 1, &in, 3, out), fusec_message(ctx));
        for (int i = 0; i < N * M; i++) wrong += wide[i] != 2 * x[i] || narrow[i] != (x[i] > 5);
        FC_EXPECT_EQ_I64(wrong, 0);
    }
    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    fake_machine_close(&m);
}
