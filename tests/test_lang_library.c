/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_lang_library.c - definitions that come with fusec: what they compute, and who sees them. */
#include "frontend/lang/library.h"
#include "tests/support/lang_files.h"
#include "tests/support/langbox.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static void same_graph(const char *text, const char *as, const char *inputs) {
    langbox a = langbox_snippet(text, inputs), b = langbox_snippet(as, inputs);
    FC_EXPECT_STREQ(a.text, "");
    FC_EXPECT_STREQ(b.text, "");
    FC_EXPECT_EQ_I64(a.hash, b.hash);
    if (a.hash != b.hash) FC_EXPECT_STREQ(a.graph, b.graph);
    langbox_free(&a);
    langbox_free(&b);
}

FC_TEST(lang_library, definitions_are_their_formulas) {
    same_graph("gelu(x)", "0.5*x*(1 + erf(x*0.7071067811865476))", "x: f32[5, 7]");
    same_graph("silu(x) + 1", "x*sigmoid(x) + 1", "x: bf16[5, 7]");
    same_graph("softmax(x)",
               "e = exp(x - max(x, axis=-1, keepdims=true)); e/sum(e, axis=-1, keepdims=true)",
               "x: f32[5, 7]");
    same_graph("softmax(x, axis=0)",
               "e = exp(x - max(x, axis=0, keepdims=true)); e/sum(e, axis=0, keepdims=true)",
               "x: f64[5, 7]");
    same_graph(
        "log_softmax(x)",
        "s = x - max(x, axis=-1, keepdims=true); s - log(sum(exp(s), axis=-1, keepdims=true))",
        "x: f32[5, 7]");
    same_graph("rms_norm(x, g)", "x*rsqrt(mean(x**2, axis=-1, keepdims=true) + 1e-6)*g",
               "x: f32[5, 7], g: f32[7]");
    same_graph(
        "layer_norm(x, g, b, eps=0.5)",
        "c = x - mean(x, axis=-1, keepdims=true); c*rsqrt(mean(c**2, axis=-1, keepdims=true) "
        "+ 0.5)*g + b",
        "x: f32[5, 7], g: f32[7], b: f32[7]");
    same_graph("attention(q, k, v)",
               "softmax(einsum(\"...nd,...md->...nm\", q, k)*(1/sqrt(4.0)))@v",
               "q: f32[2, 3, 4], k: f32[2, 5, 4], v: f32[2, 5, 6]");
}

FC_TEST(lang_library, a_definition_of_the_program_comes_first) {
    const char text[] = "def softmax(x) = x + 1\nexport def f(x: f32[n]) -> f32[n] = softmax(x)\n";
    langbox b = langbox_program("a.fuse", text, strlen(text), "f");
    FC_EXPECT_STREQ(b.text, "");
    FC_EXPECT_TRUE(b.graph && !strstr(b.graph, "exp"));
    langbox_free(&b);
    const char other[] = "export def f(x: f32[n]) -> f32[n] = softmax(x)\n";
    b = langbox_program("a.fuse", other, strlen(other), "f");
    FC_EXPECT_STREQ(b.text, "");
    FC_EXPECT_TRUE(b.graph && strstr(b.graph, "exp"));
    langbox_free(&b);
}

/* A snippet that ends with a binding gives what is bound. */
FC_TEST(lang_library, a_last_binding_is_the_result) {
    same_graph("C[i, j] = sum[k](A[i, k]*B[k, j])", "C[i, j] = sum[k](A[i, k]*B[k, j]); C",
               "A: f32[5, 7], B: f32[7, 3]");
    same_graph("y = x*2; z = y + 1", "x*2 + 1", "x: f32[5]");
    same_graph("u, v = divmod(x, 2.0)", "u, v = divmod(x, 2.0); u, v", "x: f32[5]");
}

/* The dtype of a product is no value, with or without its label. */
FC_TEST(lang_library, products_take_a_dtype) {
    same_graph("dot(x, y, f32)", "dot(x, y, dtype=f32)", "x: bf16[5, 7], y: bf16[7, 3]");
    same_graph("matmul(x, y, f32) + 1", "matmul(x, y, dtype=f32) + 1",
               "x: f16[5, 7], y: f16[7, 3]");
}

FC_TEST(lang_library, values_may_have_the_names) {
    same_graph("softmax = x*2; softmax + 1", "s = x*2; s + 1", "x: f32[5]");
}

FC_TEST(lang_library, messages_name_the_definition_and_the_call) {
    langbox b = langbox_snippet("softmax(x, axis=2)", "x: f32[5, 7]");
    FC_EXPECT_TRUE(strstr(b.text, "fusec's softmax:"));
    FC_EXPECT_TRUE(strstr(b.text, "in this call"));
    langbox_free(&b);
    b = langbox_snippet("sotfmax(x)", "x: f32[5, 7]");
    FC_EXPECT_TRUE(strstr(b.text, "did you mean softmax"));
    langbox_free(&b);
    b = langbox_snippet("cross_entropy(x, l)", "x: f32[5, 7], l: i32[4]");
    FC_EXPECT_STATUS(b.status, FUSEC_SHAPE_MISMATCH, NULL);
    langbox_free(&b);
}

/* Every definition is what its section is called, has a line of help and one in
 * the documentation. */
static void look_at_entries(const char *dir, const char *name, const char *docs, size_t len) {
    (void)dir, (void)len;
    if (strcmp(name, "language.md") != 0) return;
    for (size_t i = 0; i < fc_library_count; i++) {
        const fc_library_entry *e = &fc_library[i];
        char start[64];
        fc_str s;
        fc_str_init(&s, &fc_libc_alloc);
        fc_library_signature(e, &s);
        snprintf(start, sizeof start, "%s(", e->name);
        FC_EXPECT_TRUE(strstr(s.data, start) == s.data);
        FC_EXPECT_TRUE(strstr(docs, start) != NULL);
        fc_str_free(&s);
        fc_library_doc(e, &s);
        FC_EXPECT_TRUE(s.len > 20 && s.data[s.len - 1] == '.');
        fc_str_free(&s);
    }
}

FC_TEST(lang_library, entries_are_complete) {
    each_lang_file(FUSEC_SOURCE_DIR "/docs", ".md", look_at_entries);
}
