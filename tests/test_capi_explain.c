/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capi_explain.c - plans, sources and times through the public functions. */
#include "tests/support/capi.h"
#include "tests/support/test.h"

static fusec_program *softmax(fusec_context *ctx) {
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    const int last = -1;
    if (fusec_graph_new(ctx, &g)) return NULL;
    fusec_dim n[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, n);
    fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, &last, 1)));
    fusec_output(g, "y", fusec_div(e, fusec_sum(e, 1, &last, 1)));
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    fusec_graph_free(g);
    return p;
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
