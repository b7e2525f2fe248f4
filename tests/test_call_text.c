/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_call_text.c - CUDA kernels that the user gives as texts, between kernels: behind a fake
 * driver that runs them on the host; NVRTC takes the text and counts its lines; grids, entries and
 * callbacks that are wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/target.h"
#include "runtime/compile/nvrtc.h"
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* y = x * k in blocks of 64. The fake driver hands over where the arguments are. */
static const char scale[] =
    "#ifdef FC_EMULATE\n"
    "struct P { void *at[4]; };\n"
    "#define ARGUMENTS const P p\n"
    "#define ARG(i, T, name) (*(T *)p.at[i])\n"
    "#else\n"
    "#define ARGUMENTS const float *x, float k, long long n, float *y\n"
    "#define ARG(i, T, name) name\n"
    "#endif\n"
    "extern \"C\" __global__ void fusec_scale(ARGUMENTS) {\n"
    "    const long long i = blockIdx.x * 64 + threadIdx.x;\n"
    "    if (i < ARG(2, long long, n))\n"
    "        ARG(3, float *, y)[i] = ARG(0, const float *, x)[i] * ARG(1, float, k);\n"
    "}\n";

typedef struct wish {
    const char *text, *entry;
    int64_t grid, block, shared; /* grid 0: by threads */
    fusec_call_launch_fn launch;
    void *user;
} wish;

enum { N = 1000 };

/* 1 + k * (x + 1), of named inputs: a kernel, the user's, a kernel. */
static fusec_program *make(fusec_context *ctx, const wish *w) {
    static const fusec_dtype dtype = FUSEC_F32;
    static const int rank = 1;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    const fusec_dim n = fusec_sym(g, "n");
    const fusec_value x = fusec_input(g, "x", FUSEC_F32, 1, &n);
    const fusec_value in[3] = {fusec_add(x, fusec_num(1)), fusec_input(g, "k", FUSEC_F32, 0, NULL),
                               fusec_dim_value(n)};
    fusec_value y;
    fusec_call_desc d = FUSEC_CALL_DESC_INIT;
    d.name = "scale";
    d.text = w->text ? w->text : scale;
    d.entry = w->entry ? w->entry : "fusec_scale";
    d.noutputs = 1;
    d.dtypes = &dtype;
    d.ranks = &rank;
    d.shapes = &n;
    d.block[0] = fusec_size(g, w->block);
    if (w->grid)
        d.grid[0] = fusec_size(g, w->grid - 1);
    else
        d.threads[0] = n;
    d.shared = fusec_size(g, w->shared);
    d.launch = w->launch;
    d.user = w->user;
    FC_EXPECT_OK_TEXT(fusec_call(g, &d, 3, in, &y), fusec_message(ctx));
    fusec_output(g, "y", fusec_add(y, fusec_num(1)));
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    fusec_graph_free(g);
    return p;
}

static fusec_status run(fusec_program *p, int64_t n, float *y) {
    static float x[N];
    float k = 3;
    for (int i = 0; i < N; i++) x[i] = (float)i;
    const fusec_tensor in[2] = {{.data = x, .shape = &n, .rank = 1, .dtype = FUSEC_F32},
                                {.data = &k, .dtype = FUSEC_F32}};
    const fusec_tensor out = {.data = y, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    return fusec_run(p, 2, in, 1, &out);
}

static int by_callback(void *user, const fusec_call_args *a, fusec_call_launch *l) {
    int *calls = user;
    ++*calls;
    l->grid[0] = (uint32_t)((a->inputs[0].shape[0] + 63) / 64);
    l->block[0] = 64;
    return 0;
}

FC_TEST(call_text, runs) {
    fake_machine m;
    int calls = 0;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    fusec_context *ctx = capi_device("cuda");
    for (int way = 0; ctx && way < 2; way++) {
        const wish w = {.block = way ? 1 : 64,
                        .shared = 50000,
                        .launch = way ? by_callback : NULL,
                        .user = way ? &calls : NULL};
        fusec_program *p = make(ctx, &w);
        const uint64_t before = capi_compiles(ctx);
        for (int64_t n = N; p && n >= 0; n -= 250) {
            float y[N] = {0};
            FC_EXPECT_OK_TEXT(run(p, n, y), fusec_message(ctx));
            for (int i = 0; i < n; i++) FC_EXPECT_TRUE(y[i] == 3 * ((float)i + 1) + 1);
        }
        /* the text once for both, kernels once for each program */
        if (way) FC_EXPECT_EQ_U64(capi_compiles(ctx), before);
        fusec_program_free(p);
    }
    FC_EXPECT_EQ_I64(calls, 5);
    fusec_context_free(ctx);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* The second process compiles nothing, neither texts nor kernels: they are in its pack. Without it
 * the text is missing. */
FC_TEST(call_text, in_packs) {
    fake_machine m;
    shell sh;
    fusec_context *ctx = NULL;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!shell_open(&sh)) return;
    if (fake_machine_open(&m, FAKE("whole"))) {
        char kept[300], packed[300];
        float y[N];
        const wish w = {.block = 64};
        fusec_options o = FUSEC_OPTIONS_INIT;
        m.fake->execute = true;
        snprintf(kept, sizeof kept, "%s/kept", sh.folder);
        snprintf(packed, sizeof packed, "%s/app.fpk", sh.folder);
        o.device = "cuda";
        for (int process = 0; process < 3; process++) {
            o.cache_dir = process ? "" : kept;
            o.packs = process == 1 ? packed : NULL;
            o.never_compile = process > 0;
            FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
            fusec_program *p = make(ctx, &w);
            const fusec_status s = run(p, N, y);
            FC_EXPECT_EQ_I64(s, process < 2 ? FUSEC_OK : FUSEC_NO_CODE);
            FC_EXPECT_TRUE(process == 2 || y[7] == 25);
            FC_EXPECT_TRUE(!capi_compiles(ctx) == (process > 0));
            fusec_program_free(p);
            fusec_context_free(ctx);
            if (!process)
                shell_run(&sh, "FUSEC_CACHE_DIR=%s fusec cache --pack app.fpk && chmod 400 app.fpk",
                          kept);
            FC_EXPECT_EQ_I64(sh.code, 0);
        }
        fake_machine_close(&m);
    }
    shell_close(&sh);
}

static int fails(void *user, const fusec_call_args *a, fusec_call_launch *l) {
    (void)user, (void)l;
    snprintf(a->message, a->message_room, "no rows");
    return 7;
}

static int too_large(void *user, const fusec_call_args *a, fusec_call_launch *l) {
    (void)user, (void)a;
    l->grid[1] = 70000;
    return 0;
}

FC_TEST(call_text, what_goes_wrong) {
    static const struct {
        wish w;
        fusec_status status;
        const char *says;
    } wrong[] = {
        {{.block = 64, .entry = "fusec_other"}, FUSEC_CALL_FAILED, "has no kernel"},
        {{.block = 64, .grid = 1}, FUSEC_CALL_FAILED, "a grid of 0 x 1 x 1 blocks"},
        {{.block = 2000}, FUSEC_CALL_FAILED, "blocks of 2000 x 1 x 1 threads"},
        {{.block = 0, .grid = 2}, FUSEC_CALL_FAILED, "blocks of 0 x 1 x 1 threads"},
        {{.block = 64, .launch = fails}, FUSEC_CALL_FAILED, "scale gave 7: no rows"},
        {{.block = 64, .launch = too_large}, FUSEC_LIMIT, "above what CUDA takes"},
        {{.block = 64, .shared = -1}, FUSEC_INPUT_SHAPE, "below zero"},
    };
    fake_machine m;
    float y[N];
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    fusec_context *ctx = capi_device("cuda");
    for (size_t i = 0; ctx && i < FC_COUNT(wrong); i++) {
        FC_TRACE("%s", wrong[i].says);
        fusec_program *p = make(ctx, &wrong[i].w);
        for (int again = 0; p && again < 2; again++) {
            FC_EXPECT_EQ_I64(run(p, N, y), wrong[i].status);
            FC_EXPECT_CONTAINS(fusec_message(ctx), wrong[i].says);
        }
        fusec_program_free(p);
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

FC_TEST(call_text, descriptions) {
    CAPI_START();
    static const fusec_dtype dtype = FUSEC_F32;
    static const int rank = 0;
    for (int i = 0; i < 5; i++) {
        fusec_graph_reset(g);
        fusec_value x = fusec_input(g, "x", FUSEC_F32, 0, NULL), y;
        fusec_call_desc d = FUSEC_CALL_DESC_INIT;
        d.name = "scale";
        d.text = i == 0 ? NULL : scale;
        d.entry = i == 1 ? NULL : i == 2 ? "two words" : "fusec_scale";
        if (i == 3) d.cuda = (fusec_call_fn)(void (*)(void))fails;
        d.noutputs = 1;
        d.dtypes = &dtype;
        d.ranks = &rank;
        FC_EXPECT_EQ_I64(fusec_call(g, &d, 1, &x, &y), i < 4 ? FUSEC_INVALID : FUSEC_OK);
        if (i < 4) continue;
        fusec_program *p = NULL;
        float v = 1;
        fusec_output(g, "y", y);
        FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
        const fusec_tensor t = {.data = &v, .dtype = FUSEC_F32};
        FC_EXPECT_EQ_I64(fusec_run(p, 1, &t, 1, &t), FUSEC_CALL_FAILED);
        FC_EXPECT_CONTAINS(fusec_message(ctx), "scale has no function for the CPU");
        fusec_program_free(p);
    }
    CAPI_END();
}

/* ---- by NVRTC, on a machine that is not there ------------------------------------------------ */

FC_TEST(call_text, nvrtc_counts_its_lines) {
    fc_nvrtc *n = NULL;
    fc_error e = {0};
    if (fc_nvrtc_open(&fc_libc_alloc, &n, &e)) FC_SKIP("%s", e.message);
    const fc_nvrtc_options options = {.arch = "sm_90", .kind = FC_NVRTC_CUBIN};
    for (int wrong = 0; wrong < 2; wrong++) {
        fc_bytes code = {0};
        char text[2000];
        snprintf(text, sizeof text, FC_CUDA_USER "\n#line 1 \"fusec_scale\"\n%s%s", scale,
                 wrong ? "what is this?\n" : "");
        const fusec_status s = fc_nvrtc_compile(n, text, "k", &options, &code, &e);
        FC_EXPECT_EQ_I64(s, wrong ? FUSEC_CALL_FAILED : FUSEC_OK);
        if (wrong) FC_EXPECT_CONTAINS(e.message, "fusec_scale(14): error");
        fc_bytes_free(&fc_libc_alloc, &code);
    }
    fc_nvrtc_close(n);
}
