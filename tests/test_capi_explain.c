/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capi_explain.c - plans, sources and times through the public functions. */
#include <stddef.h>

#include "tests/support/capi.h"
#include "tests/support/test.h"

static fusec_program *softmax_with(fusec_context *ctx, unsigned flags) {
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    const int last = -1;
    if (fusec_graph_new(ctx, &g)) return NULL;
    fusec_dim n[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, n);
    fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, &last, 1)));
    fusec_output(g, "y", fusec_div(e, fusec_sum(e, 1, &last, 1)));
    FC_EXPECT_OK_TEXT(fusec_compile_with(g, flags, &p), fusec_message(ctx));
    fusec_graph_free(g);
    return p;
}

static fusec_program *softmax(fusec_context *ctx) {
    return softmax_with(ctx, 0);
}

static int count(const char *text, const char *word) {
    int n = 0;
    for (; (text = strstr(text, word)) != NULL; text++) n++;
    return n;
}

FC_TEST(capi_explain, a_program) {
    fusec_context *ctx = capi_device("interp");
    fusec_program *p = softmax(ctx);
    const int64_t shape[2] = {8, 100};
    static float x[800], y[800];
    char *text = NULL;
    double seconds[4];
    fusec_tensor in = {.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32}, out = in;
    out.data = y;
    FC_ASSERT_OK_TEXT(fusec_explain(p, 0, NULL, 0, &text), fusec_message(ctx));
    FC_EXPECT_CONTAINS(text, "x: f32[n, m]");
    FC_EXPECT_CONTAINS(text, "4*(n*m)"); /* sizes by name */
    FC_EXPECT_CONTAINS(text, "k0");
    FC_EXPECT_EQ_I64(count(text, "k1"), 0);
    fusec_text_free(ctx, text);
    in.data = NULL; /* only its shape counts */
    FC_ASSERT_OK_TEXT(fusec_explain(p, 1, &in, FUSEC_EXPLAIN_JSON | FUSEC_EXPLAIN_COMPILE, &text),
                      fusec_message(ctx));
    FC_EXPECT_EQ_I64(count(text, "\"name\":\"k"), fusec_kernel_count(p));
    FC_EXPECT_CONTAINS(text, "\"bytes_written\":3200");
    fusec_text_free(ctx, text);
    FC_ASSERT_OK_TEXT(fusec_source(p, 0, 1, &in, &text), fusec_message(ctx));
    FC_EXPECT_CONTAINS(text, "exp");
    fusec_text_free(ctx, text);
    in.data = x;
    FC_ASSERT_OK_TEXT(fusec_times(p, 1, &in, 1, &out, seconds, 4), fusec_message(ctx));
    FC_EXPECT_TRUE(seconds[0] > 0 && y[0] > 0.0099f && y[0] < 0.0101f);
    FC_ASSERT_OK_TEXT(fusec_explain(p, 1, &in, FUSEC_EXPLAIN_HTML, &text), fusec_message(ctx));
    FC_EXPECT_CONTAINS(text, "<section id=\"k0\">");
    fusec_text_free(ctx, text);
    FC_ASSERT_OK_TEXT(fusec_explain(p, 0, NULL, FUSEC_EXPLAIN_SVG, &text), fusec_message(ctx));
    FC_EXPECT_TRUE(!strncmp(text, "<svg ", 5));
    fusec_text_free(ctx, text);
    /* what is wrong */
    text = (char *)1;
    FC_EXPECT_EQ_I64(fusec_explain(p, 0, NULL, FUSEC_EXPLAIN_HTML | FUSEC_EXPLAIN_SVG, &text),
                     FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_explain(NULL, 0, NULL, 0, &text), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_explain(p, 0, NULL, 0, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_explain(p, 0, NULL, 1 << 20, &text), FUSEC_INVALID);
    FC_EXPECT_TRUE(text == NULL);
    FC_EXPECT_EQ_I64(fusec_explain(p, 2, &in, 0, &text), FUSEC_ARGUMENT_COUNT);
    FC_EXPECT_EQ_I64(fusec_explain(p, -1, &in, 0, &text), FUSEC_ARGUMENT_COUNT);
    FC_EXPECT_EQ_I64(fusec_source(p, 1, 1, &in, &text), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_source(p, -1, 1, &in, &text), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_times(p, 1, &in, 1, &out, seconds, 0), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_times(p, 1, &in, 1, &out, NULL, 4), FUSEC_INVALID);
    fusec_text_free(NULL, NULL);
    fusec_program_free(p);
    fusec_context_free(ctx);
}

static void expect_text(fusec_context *ctx, fusec_program *p, const fusec_explain_options *o,
                        const char *words) {
    char *text = NULL;
    FC_ASSERT_OK_TEXT(fusec_explain_with(p, o, &text), fusec_message(NULL));
    FC_EXPECT_CONTAINS(text, words);
    fusec_text_free(ctx, text);
}

FC_TEST(capi_explain, with_more_to_say) {
    fusec_context *ctx = capi_device("interp");
    fusec_program *p = softmax(ctx), *unfused = softmax_with(ctx, FUSEC_PROGRAM_UNFUSED);
    const int64_t shape[2] = {8, 100};
    static float x[800], y[800];
    char *text = NULL;
    const fusec_tensor in = {.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                       out = {.data = y, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
    fusec_explain_options o = FUSEC_EXPLAIN_OPTIONS_INIT;
    FC_ASSERT_TRUE(p && unfused);
    FC_EXPECT_GE_I64(fusec_kernel_count(unfused), 5);
    expect_text(ctx, p, NULL, "program(x: f32[n, m]) -> (y: f32[n, m])\n");
    o.title = "the last layer";
    o.unfused = unfused;
    expect_text(ctx, p, &o, "the last layer\n");
    expect_text(ctx, p, &o, "\nunfused   5 kernels");
    o.ninputs = o.noutputs = 1;
    o.inputs = &in;
    o.outputs = &out;
    expect_text(ctx, p, &o, " of traffic (4.0x)\n");
    o.flags = FUSEC_EXPLAIN_TIMES;
    expect_text(ctx, p, &o, "   measured        rate\n");
    FC_EXPECT_TRUE(y[0] > 0.0099f && y[0] < 0.0101f); /* it ran */
    o.flags = FUSEC_EXPLAIN_PLAIN;
    expect_text(ctx, p, &o, "k0\tmax1, sum5, y\tinner\t");
    o.flags = FUSEC_EXPLAIN_DOT;
    expect_text(ctx, p, &o, "digraph");
    o.flags = FUSEC_EXPLAIN_HTML;
    o.text = "def f(x) =\n    softmax_of_it(x)\n";
    expect_text(ctx, p, &o, "softmax_of_it(x)");
    o.size = offsetof(fusec_explain_options, text); /* an older caller */
    FC_ASSERT_OK_TEXT(fusec_explain_with(p, &o, &text), fusec_message(ctx));
    FC_EXPECT_EQ_I64(count(text, "softmax_of_it"), 0);
    fusec_text_free(ctx, text);
    /* what is wrong */
    FC_EXPECT_EQ_I64(fusec_explain(p, 1, &in, FUSEC_EXPLAIN_TIMES, &text), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "FUSEC_EXPLAIN_TIMES needs outputs");
    o.flags = FUSEC_EXPLAIN_PLAIN | FUSEC_EXPLAIN_DOT;
    FC_EXPECT_EQ_I64(fusec_explain_with(p, &o, &text), FUSEC_INVALID);
    o.flags = FUSEC_EXPLAIN_TIMES;
    o.noutputs = 0;
    FC_EXPECT_EQ_I64(fusec_explain_with(p, &o, &text), FUSEC_ARGUMENT_COUNT);
    o.size = 4;
    FC_EXPECT_EQ_I64(fusec_explain_with(p, &o, &text), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_explain_with(NULL, NULL, &text), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_explain_with(p, NULL, NULL), FUSEC_INVALID);
    fusec_program_free(p);
    fusec_program_free(unfused);
    fusec_context_free(ctx);
}

FC_TEST(capi_explain, what_a_call_costs) {
    fusec_context *ctx = capi_device("interp");
    fusec_program *p = softmax(ctx);
    const int64_t shape[2] = {8, 100};
    const fusec_tensor in = {.shape = shape, .rank = 2, .dtype = FUSEC_F32};
    fusec_cost c = FUSEC_COST_INIT, shorter = {.size = offsetof(fusec_cost, traffic), .traffic = 7};
    FC_ASSERT_TRUE(p != NULL);
    FC_ASSERT_OK_TEXT(fusec_cost_of(p, 1, &in, 0, &c), fusec_message(ctx));
    FC_EXPECT_TRUE(c.written == 3200 && c.read >= 3200 && c.traffic == 6400 && c.predicted == 0);
    FC_EXPECT_GE_I64(c.operations, 800 * 4);
    FC_EXPECT_EQ_U64(fusec_compile_count(p), 0);
    FC_ASSERT_OK_TEXT(fusec_cost_of(p, 1, &in, FUSEC_EXPLAIN_COMPILE, &shorter),
                      fusec_message(ctx));
    FC_EXPECT_EQ_U64(fusec_compile_count(p), 1);
    FC_EXPECT_TRUE(shorter.written == 3200 && shorter.traffic == 7);
    FC_EXPECT_EQ_I64(fusec_cost_of(p, 1, &in, FUSEC_EXPLAIN_JSON, &c), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_cost_of(p, 0, NULL, 0, &c), FUSEC_ARGUMENT_COUNT);
    c.size = 0;
    FC_EXPECT_EQ_I64(fusec_cost_of(p, 1, &in, 0, &c), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_cost_of(p, 1, &in, 0, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_cost_of(NULL, 1, &in, 0, &c), FUSEC_INVALID);
    fusec_program_free(p);
    fusec_context_free(ctx);
}

/* Plans and sources of a GPU on a machine without one. */
FC_TEST(capi_explain, a_device_that_is_not_there) {
    fusec_context *ctx = NULL;
    fusec_program *p = NULL;
    char *text = NULL;
    const char *name = NULL, *notice = NULL;
    const int64_t shape[2] = {8, 100};
    static float x[800], y[800];
    fusec_tensor in = {.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32}, out = in;
    fusec_cost c = FUSEC_COST_INIT;
    out.data = y;
    for (int i = 0; i < 4; i++) {
        static const char *const wrong[] = {"sm_", "sm_9", "sm_90a", "sm_9000"};
        FC_EXPECT_EQ_I64(capi_open(wrong[i], 0, &ctx), FUSEC_INVALID);
    }
    FC_ASSERT_OK_TEXT(capi_open("sm_90", 0, &ctx), fusec_message(NULL));
    FC_ASSERT_OK_TEXT(fusec_device(ctx, &name, &notice), fusec_message(ctx));
    FC_EXPECT_STREQ(name, "sm_90");
    p = softmax(ctx);
    FC_ASSERT_TRUE(p != NULL);
    FC_ASSERT_OK_TEXT(fusec_source(p, 0, 1, &in, &text), fusec_message(ctx));
    FC_EXPECT_CONTAINS(text, "__global__");
    fusec_text_free(ctx, text);
    FC_ASSERT_OK_TEXT(fusec_explain(p, 1, &in, 0, &text), fusec_message(ctx));
    FC_EXPECT_CONTAINS(text, "code for sm_90");
    fusec_text_free(ctx, text);
    FC_ASSERT_OK_TEXT(fusec_cost_of(p, 1, &in, 0, &c), fusec_message(ctx));
    FC_EXPECT_TRUE(c.predicted > 0);
    FC_EXPECT_EQ_I64(fusec_run(p, 1, &in, 1, &out), FUSEC_NO_GPU);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "sm_90 compiles only");
    fusec_program_free(p);
    fusec_context_free(ctx);
}

FC_TEST(capi_explain, lazy_values) {
    fusec_context *ctx = capi_device("interp");
    const int64_t n = 1000;
    static double x[1000];
    fusec_lazy *a = NULL, *b = NULL, *c = NULL;
    char *text = NULL;
    fusec_tensor t = {.data = x, .shape = &n, .rank = 1, .dtype = FUSEC_F64};
    FC_ASSERT_OK_TEXT(fusec_lazy_from(ctx, &t, NULL, NULL, &a), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_lazy_op(ctx, fusec_op_find("sin"), 1, &a, NULL, &b),
                      fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_lazy_op(ctx, fusec_op_find("sum"), 1, &b, NULL, &c),
                      fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_lazy_explain(&c, 1, FUSEC_EXPLAIN_JSON, &text), fusec_message(ctx));
    FC_EXPECT_EQ_I64(count(text, "\"name\":\"k"), 1);
    FC_EXPECT_CONTAINS(text, "\"bytes_read\":8000");
    FC_EXPECT_EQ_I64(fusec_lazy_depth(c), 2); /* nothing was computed */
    fusec_text_free(ctx, text);
    FC_EXPECT_EQ_I64(fusec_lazy_explain(&c, 0, 0, &text), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_explain(NULL, 1, 0, &text), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_explain(&c, 1, 0, NULL), FUSEC_INVALID);
    fusec_lazy_release(a);
    fusec_lazy_release(b);
    fusec_lazy_release(c);
    fusec_context_free(ctx);
}
