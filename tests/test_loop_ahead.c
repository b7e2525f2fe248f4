/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_loop_ahead.c - loops of launches on CUDA behind a fake driver: rounds that run ahead of a
 * condition, and rounds that are launched together, against the interpreter, with the same bits;
 * how many are made; a driver that fails between them. */
#include "runtime/loop_watch.h"
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "frontend/capi/program.h"

#include <fusec/fusec.h>

enum { N = 3, M = 7 };

/* f(x: f32[n, m], k: i32): k rounds, or `most`. `kernels` a round; -1: what is launched is not
 * counted. */
static const struct {
    const char *name, *text;
    int kernels, most;
} loops[] = {
    {"counted", "r = 0.0; for s in 0..1000 while r < k { x = cumsum(x, axis=1)*0.5; r = r + 1 }", 2,
     1000},
    {"bounded", "r = 0.0; for s in 0..20 while r < k { x = cumsum(x, axis=1)*0.5; r = r + 1 }", 2,
     20},
    {"by a sum", "for s in 0..1000 while sum(x) < f32(k)*10 { x = x + 1 + roll(x, 1, axis=0)*0 }",
     -1, 0},
    {"random",
     "r = 0.0; for s in 0..1000 while r < k { x = x + cumsum(uniform([n, m], seed=7, stream=s), "
     "axis=1); r = r + 1 }",
     2, 1000},
    {"an order",
     "r = 0.0; for s in 0..1000 while r < k { x = sort(x, axis=1)*2 + roll(x, 1, axis=1); "
     "r = r + 1 }",
     -1, 0},
    {"indices that are checked", /* would be reported: nothing runs ahead */
     "r = 0.0; for s in 0..1000 while r < k { x = x + take(x, i64(r) % 7, axis=1)[0]; r = r + 1 }",
     -1, 0},
    {"a loop inside", /* may have no end: nothing runs ahead */
     "r = 0.0; for s in 0..1000 while r < k { for q in 0..i64(r) { x = cumsum(x, axis=1)*0.5 }; "
     "r = r + 1 }",
     -1, 0},
};

static fusec_program *compile(fusec_context *ctx, const char *body, unsigned flags) {
    char text[900];
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    snprintf(text, sizeof text,
             "export def f(x: f32[n, m], k: i32) -> f32[n, m] {\n%s\nreturn x\n}\n", body);
    for (char *c = text; *c; c++)
        if (*c == ';') *c = '\n';
    FC_EXPECT_OK_TEXT(fusec_parse(ctx, "f.fuse", text, &m), fusec_message(ctx));
    if (m) FC_EXPECT_OK_TEXT(fusec_module_compile(m, "f", flags, &p), fusec_message(ctx));
    fusec_module_free(m);
    return p;
}

static fusec_status run_of(fusec_program *p, int64_t n, int64_t m, int32_t k, const float *x,
                           float *y) {
    const int64_t shape[2] = {n, m};
    const fusec_tensor in[2] = {
        {.data = (void *)(uintptr_t)x, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
        {.data = &k, .rank = 0, .dtype = FUSEC_I32}};
    const fusec_tensor out = {.data = y, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
    return fusec_run(p, 2, in, 1, &out);
}

static fusec_status run(fusec_program *p, int32_t k, float *y) {
    float x[N * M];
    for (int i = 0; i < N * M; i++) x[i] = (float)(i * 7 % 11) / 8 - 0.5f;
    return run_of(p, N, M, k, x, y);
}

/* What k rounds launch, with those ahead; from FC_WATCH_FIRST on some at a time, the next ones
 * while the last ones run. */
static int64_t launches(size_t i, int k) {
    const int64_t few = k + FC_WATCH_EVERY,
                  many =
                      (k + FC_WATCH_EVERY - 1) / FC_WATCH_EVERY * FC_WATCH_EVERY + FC_WATCH_EVERY,
                  made = !k                      ? 0
                         : few <= FC_WATCH_FIRST ? few
                                                 : many; /* one before starts it */
    return 1 + loops[i].kernels * (made < loops[i].most ? made : loops[i].most);
}

static void compare(fake_machine *m, fusec_context *gpu, fusec_context *host, size_t i) {
    static const int32_t rounds[] = {6, 0, 1, 18, 5, 43, 12};
    fusec_program *on_host = compile(host, loops[i].text, 0);
    for (unsigned flags = 0; flags <= FUSEC_PROGRAM_GRAPH; flags++) {
        fusec_program *on_gpu = compile(gpu, loops[i].text, flags);
        for (size_t r = 0; r < FC_COUNT(rounds) && on_gpu && on_host; r++) {
            const int32_t k = rounds[r];
            float want[N * M] = {0}, got[N * M] = {1};
            const long before = m->fake->launched;
            FC_TRACE("%s, k = %d", loops[i].name, k);
            FC_EXPECT_OK_TEXT(run(on_host, k, want), fusec_message(host));
            FC_EXPECT_OK_TEXT(run(on_gpu, k, got), fusec_message(gpu));
            FC_EXPECT_MEMEQ(got, want, sizeof got);
            if (!flags && loops[i].kernels > 0)
                FC_EXPECT_EQ_I64(m->fake->launched - before, launches(i, k));
            FC_UNTRACE();
        }
        fusec_program_free(on_gpu);
    }
    fusec_program_free(on_host);
}

FC_TEST(loop_ahead, as_on_the_interpreter) {
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    fusec_context *gpu = capi_device("cuda"), *host = capi_device("interp");
    for (size_t i = 0; i < FC_COUNT(loops) && gpu; i++) compare(&m, gpu, host, i);
    fusec_context_free(gpu);
    fusec_context_free(host);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* Arrays that are large have two places, so one round is ahead. */
FC_TEST(loop_ahead, one_round_of_large_arrays) {
    enum { ROWS = 3, COLUMNS = 1500000 };
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    fusec_context *gpu = capi_device("cuda");
    float *x = calloc((size_t)ROWS * COLUMNS, sizeof *x), *y = calloc((size_t)ROWS * COLUMNS, 4);
    fusec_program *p = gpu ? compile(gpu,
                                     "r = 0.0; for s in 0..1000 while r < k { x = roll(x, 1, "
                                     "axis=1) + f32(s); r = r + 1 }",
                                     0)
                           : NULL;
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i % COLUMNS);
    for (int32_t k = 1; k < 3 && p; k++) {
        const long before = m.fake->launched;
        int64_t wrong = 0;
        FC_EXPECT_OK_TEXT(run_of(p, ROWS, COLUMNS, k, x, y), fusec_message(gpu));
        for (int i = 0; i < ROWS * COLUMNS; i++)
            wrong += y[i] != (float)((i % COLUMNS + COLUMNS - k) % COLUMNS + (k == 2));
        FC_EXPECT_EQ_I64(wrong, 0);
        FC_EXPECT_EQ_I64(m.fake->launched - before, 1 + 2 * (k + 1));
    }
    fusec_program_free(p);
    fusec_context_free(gpu);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
    free(x);
    free(y);
}

/* The driver fails between rounds: the call fails, and the next one is right. */
FC_TEST(loop_ahead, a_driver_that_fails) {
    static const char *const calls[] = {"cuMemAllocHost_v2", "cuEventCreate", "cuEventRecord",
                                        "cuEventSynchronize", "cuLaunchKernel"};
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    for (size_t i = 0; i < FC_COUNT(calls); i++)
        for (int at = 1; at < 8; at += 3) {
            m.reset();
            m.fake->execute = true;
            fusec_context *gpu = capi_device("cuda");
            fusec_program *p = gpu ? compile(gpu, loops[0].text, 0) : NULL;
            float want[N * M] = {0}, got[N * M] = {1}, again[N * M] = {2};
            FC_TRACE("call %d of %s", at, calls[i]);
            m.fake->fail_in = calls[i];
            m.fake->fail_at = at;
            m.fake->result = 2;
            const fusec_status s = p ? run(p, 6, got) : FUSEC_INTERNAL;
            FC_EXPECT_EQ_I64(s, m.fake->fired ? FUSEC_OUT_OF_MEMORY : FUSEC_OK);
            FC_EXPECT_TRUE(m.fake->fired || at > 1);
            m.fake->fail_at = 0;
            if (p) FC_EXPECT_OK_TEXT(run(p, 6, want), fusec_message(gpu));
            if (p) FC_EXPECT_OK_TEXT(run(p, 6, again), fusec_message(gpu));
            FC_EXPECT_MEMEQ(again, want, sizeof want);
            if (!s) FC_EXPECT_MEMEQ(got, want, sizeof want);
            fusec_program_free(p);
            fusec_context_free(gpu);
            fake_check_balance(&m, false);
            FC_UNTRACE();
        }
    fake_machine_close(&m);
}

/* ---- rounds together --------------------------------------------------------------------------
 */

/* k rounds each, the first of one kernel. */
static const struct {
    const char *name, *text;
    bool graphs;
} counted[] = {
    {"carried", "for s in 0..i64(k) { x = cumsum(x, axis=1)*0.5 }", true},
    {"two kernels", "for s in 0..i64(k) { x = cumsum(x, axis=1)*0.5; x = x - max(x, axis=0) }",
     true},
    {"the counter", "for s in 0..i64(k) { x = cumsum(x + f32(s), axis=1)*0.5 }", true},
    {"what is captured", "y = exp(x); for s in 0..i64(k) { x = cumsum(x*y + f32(k), axis=1)*0.5 }",
     true},
    {"numbers that are drawn",
     "for s in 0..i64(k) { x = x + cumsum(uniform([n, m], seed=7, stream=s), axis=1) }", true},
    {"more rounds than asked for", "for s in 0..i64(k)+5 { x = cumsum(x, axis=1)*0.5 }", true},
    {"a sort", "for s in 0..i64(k) { x = sort(x, axis=1)*0.5 + roll(x, 1, axis=1) }", false},
};

static void compare_counted(fake_machine *m, fusec_context *gpu, fusec_context *host, size_t i) {
    static const int32_t rounds[] = {40, 0, 3, 25, 40, 41, 7, 64};
    fusec_program *on_host = compile(host, counted[i].text, 0),
                  *on_gpu = compile(gpu, counted[i].text, 0);
    for (size_t r = 0; r < FC_COUNT(rounds) && on_gpu && on_host; r++) {
        const int32_t k = rounds[r];
        float want[N * M] = {0}, got[N * M] = {1};
        const long before = m->fake->launched, graphs = m->fake->graph_launches;
        FC_TRACE("%s, k = %d", counted[i].name, k);
        FC_EXPECT_OK_TEXT(run(on_host, k, want), fusec_message(host));
        FC_EXPECT_OK_TEXT(run(on_gpu, k, got), fusec_message(gpu));
        FC_EXPECT_MEMEQ(got, want, sizeof got);
        const bool some = counted[i].graphs && k >= 24; /* the first 16 may come one by one */
        FC_EXPECT_TRUE((m->fake->graph_launches > graphs) >= some);
        FC_EXPECT_TRUE(counted[i].graphs || m->fake->graph_launches == graphs);
        if (i == 0) FC_EXPECT_EQ_I64(m->fake->launched - before, k);
        FC_UNTRACE();
    }
    fusec_program_free(on_gpu);
    fusec_program_free(on_host);
}

FC_TEST(loop_together, as_on_the_interpreter) {
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    fusec_context *gpu = capi_device("cuda"), *host = capi_device("interp");
    for (size_t i = 0; i < FC_COUNT(counted) && gpu; i++) compare_counted(&m, gpu, host, i);
    fusec_context_free(gpu);
    fusec_context_free(host);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* Without graphs rounds come one by one; one that can't be launched or changed is an error. */
FC_TEST(loop_together, a_driver_that_fails) {
    static const struct {
        const char *call;
        bool needed;
    } cases[] = {{"cuGraphCreate", false},
                 {"cuGraphAddKernelNode_v2", false},
                 {"cuGraphInstantiateWithFlags", false},
                 {"cuGraphExecKernelNodeSetParams_v2", true},
                 {"cuGraphLaunch", true}};
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    for (size_t i = 0; i < FC_COUNT(cases); i++)
        for (int at = 1; at < 3; at++) {
            m.reset();
            m.fake->execute = true;
            fusec_context *gpu = capi_device("cuda");
            fusec_program *p = gpu ? compile(gpu, counted[2].text, 0) : NULL;
            float want[N * M] = {0}, got[N * M] = {1}, again[N * M] = {2};
            FC_TRACE("call %d of %s", at, cases[i].call);
            m.fake->fail_in = cases[i].call;
            m.fake->fail_at = at;
            m.fake->result = 2;
            fusec_status s = FUSEC_OK;
            for (int k = 0; k < 3 && p && !s && !m.fake->fired; k++) s = run(p, 40, got);
            FC_EXPECT_TRUE(m.fake->fired || at > 1);
            FC_EXPECT_EQ_I64(s, m.fake->fired && cases[i].needed ? FUSEC_OUT_OF_MEMORY : FUSEC_OK);
            m.fake->fail_at = 0;
            if (p) FC_EXPECT_OK_TEXT(run(p, 40, want), fusec_message(gpu));
            if (p) FC_EXPECT_OK_TEXT(run(p, 40, again), fusec_message(gpu));
            FC_EXPECT_MEMEQ(again, want, sizeof want);
            if (!s) FC_EXPECT_MEMEQ(got, want, sizeof want);
            fusec_program_free(p);
            fusec_context_free(gpu);
            fake_check_balance(&m, false);
            FC_UNTRACE();
        }
    fake_machine_close(&m);
}
