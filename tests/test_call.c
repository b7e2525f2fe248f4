/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_call.c - functions of the caller as steps: among kernels, of several results, with
 * workspace, on values that are evaluated on demand, in loops of calls; and what goes wrong. */
#include <stdio.h>
#include <string.h>

#include "tests/support/capi.h"
#include "tests/support/test.h"

typedef struct counts {
    int calls, code;
    size_t workspace;
} counts;

static int64_t elements(const fusec_tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) n *= t->shape[i];
    return n;
}

/* Row sums and the row numbers, of x and a factor. */
static int rows(void *user, const fusec_call_args *a) {
    counts *c = user;
    const float *x = a->inputs[0].data;
    const int64_t n = a->inputs[0].shape[0], m = a->inputs[0].shape[1];
    float k;
    c->calls++;
    c->workspace = a->workspace_bytes;
    if (a->workspace_bytes) memset(a->workspace, 1, a->workspace_bytes);
    if (c->code) {
        snprintf(a->message, a->message_room, "the rows are %s", "odd");
        return c->code;
    }
    memcpy(&k, a->inputs[1].data, sizeof k);
    float *out = a->outputs[0].data;
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int64_t j = 0; j < m; j++) out[i] += x[i * m + j] * k;
    }
    if (a->noutputs < 2 || !a->outputs[1].data) return 0;
    for (int64_t i = 0; i < elements(&a->outputs[1]); i++) ((int64_t *)a->outputs[1].data)[i] = i;
    return 0;
}

static fusec_call_desc desc_of(counts *c, fusec_dim *shapes, fusec_dim n, fusec_dim workspace) {
    static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_I64};
    static const int ranks[] = {1, 1};
    fusec_call_desc d = FUSEC_CALL_DESC_INIT;
    shapes[0] = shapes[1] = n;
    d.name = "rows";
    d.host = rows;
    d.user = c;
    d.noutputs = 2;
    d.dtypes = dtypes;
    d.ranks = ranks;
    d.shapes = shapes;
    d.workspace = workspace;
    return d;
}

/* exp(sums of (x + 1) * k) - 1 + number of the row: a kernel, the call, a kernel. */
static fusec_program *make(fusec_context *ctx, counts *c) {
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    const fusec_dim n = fusec_sym(g, "n"), m = fusec_sym(g, "m"), shape[] = {n, m};
    fusec_dim shapes[2];
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, shape);
    fusec_value in[2] = {fusec_add(x, fusec_num(1)), fusec_input(g, "k", FUSEC_F32, 0, NULL)},
                out[2];
    const fusec_call_desc d = desc_of(c, shapes, n, fusec_dim_mul(m, fusec_size(g, 8)));
    FC_EXPECT_OK_TEXT(fusec_call(g, &d, 2, in, out), fusec_message(ctx));
    fusec_output(g, "y", fusec_add(fusec_mul(out[0], fusec_num(2)), fusec_cast(out[1], FUSEC_F32)));
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    fusec_graph_free(g);
    return p;
}

static fusec_status run(fusec_program *p, int64_t n, int64_t m, float k, float *y) {
    float x[64];
    for (int i = 0; i < 64; i++) x[i] = (float)(i % 7);
    const int64_t shape[2] = {n, m};
    const fusec_tensor in[2] = {{.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                                {.data = &k, .dtype = FUSEC_F32}};
    const fusec_tensor out = {.data = y, .shape = shape, .rank = 1, .dtype = FUSEC_F32};
    return fusec_run(p, 2, in, 1, &out);
}

static int asks_for_all(void *user, const fusec_call_args *a) {
    counts *c = user;
    c->calls = a->noutputs;
    if (a->noutputs > 1 && a->outputs[1].data) return 1;
    ((float *)a->outputs[0].data)[0] = 5;
    return 0;
}

/* What nobody reads stays in its place: a function counts on as many results as it said. */
FC_TEST(call, results_that_nobody_reads_are_there) {
    static const char *const devices[] = {"cpu", "interp"};
    for (size_t i = 0; i < 2; i++) {
        counts c = {0};
        float y[1] = {0};
        fusec_graph *g = NULL;
        fusec_value out[2];
        fusec_dim shapes[2];
        fusec_context *ctx = capi_device(devices[i]);
        if (!ctx) continue;
        FC_ASSERT_OK(fusec_graph_new(ctx, &g), NULL);
        fusec_call_desc d = desc_of(&c, shapes, fusec_size(g, 1), fusec_size(g, 8));
        d.host = asks_for_all;
        FC_EXPECT_OK_TEXT(fusec_call(g, &d, 0, NULL, out), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_read(out[0], y, sizeof y), fusec_message(ctx));
        FC_EXPECT_EQ_F64(y[0], 5);
        FC_EXPECT_EQ_I64(c.calls, 2);
        fusec_graph_free(g);
        fusec_context_free(ctx);
    }
}

static void on_device(void *arg) {
    fusec_context *ctx = capi_device(arg);
    if (!ctx) FC_SKIP("no device %s", (const char *)arg);
    counts c = {0};
    float y[8];
    fusec_program *p = make(ctx, &c);
    FC_ASSERT_TRUE(p != NULL);
    FC_EXPECT_EQ_I64(fusec_kernel_count(p), 3);
    for (int again = 0; again < 3; again++)
        for (int64_t n = 1; n < 5; n++) {
            FC_ASSERT_OK_TEXT(run(p, n, 3, 0.5f, y), fusec_message(ctx));
            for (int64_t i = 0; i < n; i++) {
                float want = 0;
                for (int64_t j = 0; j < 3; j++) want += ((float)((i * 3 + j) % 7) + 1) * 0.5f;
                FC_EXPECT_EQ_F64(y[i], 2 * want + (float)i);
            }
            FC_EXPECT_EQ_U64(c.workspace, 24);
        }
    FC_EXPECT_EQ_I64(c.calls, 12);
    c.code = 7;
    FC_EXPECT_EQ_I64(run(p, 2, 3, 1, y), FUSEC_CALL_FAILED);
    FC_EXPECT_STREQ(fusec_message(ctx), "rows gave 7: the rows are odd");
    c.code = 0;
    FC_EXPECT_OK_TEXT(run(p, 2, 3, 1, y), fusec_message(ctx));
    char *text = NULL;
    FC_EXPECT_OK_TEXT(fusec_explain(p, 0, NULL, 0, &text), fusec_message(ctx));
    FC_EXPECT_TRUE(text && strstr(text, "call"));
    fusec_text_free(ctx, text);
    fusec_program_free(p);
    fusec_context_free(ctx);
}

FC_REGISTER(call) {
    static char interp[] = "interp", cpu[] = "cpu";
    FC_ADD_TEST("call", "interp", on_device, interp);
    FC_ADD_TEST("call", "cpu", on_device, cpu);
}

/* Evaluated on demand: found again by structure, and equal calls are one. */
FC_TEST(call, on_demand) {
    CAPI_START();
    counts c = {0};
    float x[6] = {1, 2, 3, 4, 5, 6}, y[2];
    const int64_t shape[2] = {2, 3};
    for (int round = 0; round < 3; round++) {
        fusec_dim shapes[2];
        const fusec_dim none = {0};
        fusec_value out[2], same[2];
        fusec_value in[2] = {fusec_array(g, FUSEC_F32, 2, shape, x), fusec_const(g, FUSEC_F32, 3)};
        const fusec_call_desc d = desc_of(&c, shapes, fusec_dim_of(in[0], 0), none);
        FC_ASSERT_OK_TEXT(fusec_call(g, &d, 2, in, out), fusec_message(ctx));
        FC_ASSERT_OK_TEXT(fusec_call(g, &d, 2, in, same), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_read(fusec_add(out[0], same[0]), y, sizeof y), fusec_message(ctx));
        FC_EXPECT_TRUE(y[0] == 36 && y[1] == 90);
        FC_EXPECT_EQ_I64(c.calls, round + 1);
        fusec_graph_reset(g);
    }
    FC_EXPECT_EQ_U64(capi_plans(ctx), 1);
    CAPI_END();
}

FC_TEST(call, misuse) {
    counts c = {0};
    float x[6] = {0};
    const int64_t shape[2] = {2, 3};
    fusec_value out[2];
    for (int what = 0; what < 9; what++) {
        CAPI_START();
        fusec_dim shapes[2];
        fusec_graph *other = NULL;
        const fusec_dim none = {0};
        fusec_value in[2] = {fusec_array(g, FUSEC_F32, 2, shape, x), fusec_num(1)};
        fusec_call_desc d = desc_of(&c, shapes, fusec_dim_of(in[0], 0), none);
        const int bad_ranks[] = {40, 1};
        const fusec_dtype bad_dtypes[] = {(fusec_dtype)99, FUSEC_F32};
        fusec_status want = FUSEC_INVALID;
        int n = 2;
        FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &other), fusec_message(ctx));
        if (what == 0) d.name = NULL;
        if (what == 1) d.host = NULL;
        if (what == 2) d.noutputs = 0;
        if (what == 3) d.size = 3;
        if (what == 4) n = -1;
        if (what == 5) in[1] = fusec_array(other, FUSEC_F32, 2, shape, x);
        if (what == 6) d.ranks = bad_ranks, want = FUSEC_LIMIT;
        if (what == 7) d.dtypes = bad_dtypes;
        if (what == 8) d.workspace = fusec_sym(other, "n");
        FC_TRACE("%d", what);
        FC_EXPECT_EQ_I64(fusec_call(g, &d, n, in, out), want);
        FC_EXPECT_EQ_I64(fusec_graph_status(g), want);
        FC_UNTRACE();
        fusec_graph_free(other);
        CAPI_END();
    }
    FC_EXPECT_EQ_I64(fusec_call(NULL, NULL, 0, NULL, out), FUSEC_INVALID);
    CAPI_START();
    FC_EXPECT_EQ_I64(fusec_call(g, NULL, 0, NULL, out), FUSEC_INVALID);
    CAPI_END();
    FC_EXPECT_EQ_I64(c.calls, 0);
}

/* A function for a GPU alone; no derivative; nothing to be saved. */
FC_TEST(call, what_it_is_not) {
    CAPI_START();
    counts c = {0};
    fusec_dim shapes[2];
    const fusec_dim none = {0}, n = fusec_sym(g, "n"), shape[] = {n, n};
    fusec_value in[2] = {fusec_input(g, "x", FUSEC_F32, 2, shape), fusec_num(1)}, out[2], dx;
    fusec_call_desc d = desc_of(&c, shapes, n, none);
    d.cuda = d.host;
    d.host = NULL;
    FC_ASSERT_OK_TEXT(fusec_call(g, &d, 2, in, out), fusec_message(ctx));
    fusec_output(g, "y", out[0]);
    fusec_program *p = NULL;
    char *bytes = NULL;
    size_t size;
    float x = 1, y;
    const int64_t one[2] = {1, 1};
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    const fusec_tensor tx = {.data = &x, .shape = one, .rank = 2, .dtype = FUSEC_F32};
    const fusec_tensor ty = {.data = &y, .shape = one, .rank = 1, .dtype = FUSEC_F32};
    FC_EXPECT_EQ_I64(fusec_run(p, 1, &tx, 1, &ty), FUSEC_CALL_FAILED);
    FC_EXPECT_STREQ(fusec_message(ctx), "rows has no function for the CPU");
    FC_EXPECT_EQ_I64(fusec_graph_bytes(g, FUSEC_BINARY, &bytes, &size), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_graph_bytes(g, FUSEC_TEXT, &bytes, &size), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_grad(fusec_sum(out[0], 0, NULL, 0), 1, in, &dx), FUSEC_NO_GRADIENT);
    fusec_program_free(p);
    CAPI_END();
}
