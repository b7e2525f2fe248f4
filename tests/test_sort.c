/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sort.c - what stands in order, next to plain C: rows of all lengths on the interpreter, the
 * CPU and CUDA behind a fake driver, which sorts by exchanges; searching and masks; what plans they
 * make. */
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/capi/program.h"
#include "tests/support/oracle_run.h"

#include <fusec/fusec.h>

/* ---- against plain C ------------------------------------------------------------------------- */

/* nan last, -0 before +0. */
static int before(float a, float b) {
    if (isnan(a) || isnan(b)) return !isnan(a) && isnan(b);
    return a < b || (a == b && signbit(a) && !signbit(b));
}

static void fill(float *x, int64_t n) {
    uint32_t s = (uint32_t)n * 77 + 5;
    for (int64_t i = 0; i < n; i++) {
        s = s * 1664525 + 1013904223;
        x[i] = (float)(int32_t)(s >> 28) - 8;
        if (s >> 16 & 1) x[i] += 0.25f * (float)(s >> 20 & 7);
        if ((s >> 8 & 31) == 3) x[i] = s & 128 ? NAN : -0.0f;
        if ((s >> 8 & 31) == 4) x[i] = s & 128 ? INFINITY : -INFINITY;
    }
}

static fusec_program *compile(fusec_context *ctx, const char *text) {
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    FC_EXPECT_OK_TEXT(fusec_parse(ctx, "f.fuse", text, &m), fusec_message(ctx));
    if (m) FC_EXPECT_OK_TEXT(fusec_module_compile(m, "f", 0, &p), fusec_message(ctx));
    fusec_module_free(m);
    return p;
}

/* Each element stands before the next one, equal ones in their order, and every position is there.
 */
static void judge(const float *x, const float *y, const int64_t *at, int64_t n) {
    char *seen = calloc((size_t)n + 1, 1);
    int wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool inside = at[i] >= 0 && at[i] < n && !seen[at[i]];
        wrong += !inside;
        if (!inside) continue;
        seen[at[i]] = 1;
        wrong += memcmp(&y[i], &x[at[i]], sizeof *y) != 0;
        if (i == 0) continue;
        wrong += before(y[i], y[i - 1]);
        wrong += !before(y[i - 1], y[i]) && at[i - 1] > at[i];
    }
    FC_EXPECT_EQ_I64(wrong, 0);
    free(seen);
}

static void rows_on(const char *device, const int64_t *lengths, size_t count) {
    fusec_context *ctx = capi_device(device);
    if (!ctx) return;
    fusec_program *p =
        compile(ctx, "export def f(x: f32[m, n]) -> (y: f32[m, n], at: i64[m, n]) {\n"
                     "return sort(x), argsort(x)\n}\n");
    for (size_t k = 0; k < count && p; k++) {
        const int64_t n = lengths[k], shape[2] = {3, n};
        FC_TRACE("%s, rows of %d", device, (int)n);
        float *x = calloc((size_t)(3 * n) + 1, 4), *y = calloc((size_t)(3 * n) + 1, 4);
        int64_t *at = calloc((size_t)(3 * n) + 1, 8);
        fill(x, 3 * n);
        const fusec_tensor in = {.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
        const fusec_tensor out[2] = {{.data = y, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                                     {.data = at, .shape = shape, .rank = 2, .dtype = FUSEC_I64}};
        FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 2, out), fusec_message(ctx));
        for (int r = 0; r < 3; r++) judge(x + r * n, y + r * n, at + r * n, n);
        free(x);
        free(y);
        free(at);
        FC_UNTRACE();
    }
    fusec_program_free(p);
    fusec_context_free(ctx);
}

FC_TEST(sort, rows) {
    static const int64_t lengths[] = {0, 1, 2, 3, 16, 47, 48, 49, 255, 512, 4097, 70000};
    rows_on("interp", lengths, FC_COUNT(lengths));
    rows_on("cpu", lengths, FC_COUNT(lengths));
}

FC_TEST(sort, rows_behind_a_fake_driver) {
    static const int64_t lengths[] = {1, 2, 3, 5, 8, 33, 100};
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    rows_on("cuda", lengths, FC_COUNT(lengths));
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* The network that other devices run, for all lengths up to 40 and all widths of keys. */
FC_TEST(sort, network) {
    static const fusec_dtype keys[] = {FUSEC_U8, FUSEC_U16, FUSEC_U32, FUSEC_U64};
    for (size_t k = 0; k < FC_COUNT(keys); k++) {
        fc_graph g;
        fc_device *d;
        fc_context *c = fc_rig("interp", 1, &d);
        fc_program *p = NULL;
        fc_error e = {0};
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        FC_EXPECT_TRUE(fc_build_sort_network(&g, keys[k]));
        FC_EXPECT_OK(fc_program_new(c, &g, &(fc_program_options){.device = d}, &p, &e), &e);
        for (int64_t n = 1; n <= 40 && p; n++) {
            uint64_t x[40] = {0};
            int64_t at[40], wrong = 0;
            const uint32_t bytes = fc_dtypes[keys[k]].bytes;
            for (int64_t i = 0; i < n; i++) {
                const uint64_t v = (uint64_t)(i * 37 % 11) << (8 * bytes - 4);
                memcpy((char *)x + i * bytes, &v, bytes);
            }
            const int64_t shape[2] = {1, n};
            const fc_tensor in = {.dtype = keys[k], .rank = 2, .shape = shape, .data = x};
            fc_tensor out = {.dtype = FUSEC_I64, .rank = 2, .shape = shape, .data = at};
            FC_EXPECT_OK(fc_program_run(p, NULL, 1, &in, 0, NULL, 1, &out, &e), &e);
            for (int64_t i = 1; i < n; i++) {
                const int64_t a = at[i - 1] * 37 % 11, b = at[i] * 37 % 11;
                wrong += a > b || (a == b && at[i - 1] >= at[i]);
            }
            FC_EXPECT_EQ_I64(wrong, 0);
        }
        fc_program_free(p);
        fc_graph_free(&g);
    }
}

/* ---- in the language ------------------------------------------------------------------------- */

FC_TEST(sort, what_programs_print) {
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"x = f32(arange(6)*5 % 7); sort(x), argsort(x, descending=true)",
         "out1: f32[6]\n[0. 1. 3. 4. 5. 6.]\n\nout2: i64[6]\n[4 1 5 2 3 0]\n"},
        {"v, p = topk(f32(arange(8)*5 % 8), 3); v, p",
         "v: f32[3]\n[7. 6. 5.]\n\np: i64[3]\n[3 6 1]\n"},
        {"searchsorted(arange(5)*2, 4), searchsorted(arange(5)*2, 4, side=\"right\")",
         "out1: i64\n2\n\nout2: i64\n3\n"},
        {"median(f32(arange(4))), quantile(f32(arange(5)), 0.25)",
         "out1: f32\n1.5\n\nout2: f32\n1.0\n"},
        {"v, k = unique(arange(9) % 4, size=6); v, k", "v: i64[6]\n[0 1 2 3 0 0]\n\nk: i64\n4\n"},
        {"p, k = nonzero(arange(6) % 2 == 1, size=4); p, k", "p: i64[4]\n[1 3 5 0]\n\nk: i64\n3\n"},
        {"v, k = compress(arange(6) > 2, arange(6)*arange(6), size=2); v, k",
         "v: i64[2]\n[ 9 16]\n\nk: i64\n3\n"},
        {"sum(permutation(100, seed=4)), max(permutation(100, seed=4))",
         "out1: i64\n4950\n\nout2: i64\n99\n"},
    };
    OPEN(sh);
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        FC_TRACE("%s", cases[i].text);
        EXPECT_RUN(sh, 0, "fusec -e '%s' -d interp", cases[i].text);
        FC_EXPECT_STREQ(sh.out, cases[i].wanted);
        FC_UNTRACE();
    }
    shell_close(&sh);
}

/* What is sorted is made by the kernel before, and what follows reads at the positions. */
FC_TEST(sort, kernel_counts) {
    static const struct {
        const char *text;
        int64_t steps;
    } plans[] = {
        {"sort(exp(x))*2", 4}, /* exp, keys; sort; the rest */
        {"argsort(x)", 2},
        {"searchsorted(x, x*2)", 2},
    };
    fusec_context *ctx = capi_device("interp");
    for (size_t i = 0; i < FC_COUNT(plans); i++) {
        char text[200];
        snprintf(text, sizeof text, "export def f(x: f32[n]) { return %s }\n", plans[i].text);
        FC_TRACE("%s", plans[i].text);
        fusec_program *p = compile(ctx, text);
        if (p) FC_EXPECT_LE_I64((int64_t)p->p->plan->steps.len, plans[i].steps);
        fusec_program_free(p);
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
}
