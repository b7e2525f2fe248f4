/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capi_language.c - the language from C: definitions, expressions on values, places of
 * mistakes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/support/capi.h"
#include "tests/support/test.h"

static const char text[] = "# two definitions\n"
                           "def scale(x: f32[...], k: f32) = x*k\n"
                           "export def softmax(x: f32[n, m]) -> f32[n, m] {\n"
                           "    e = exp(x - max(x, axis=1, keepdims=true))\n"
                           "    return e / sum(e, axis=1, keepdims=true)\n"
                           "}\n";

FC_TEST(capi_language, definitions_are_programs) {
    fusec_context *ctx = capi_device("interp");
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    FC_ASSERT_OK_TEXT(fusec_parse(ctx, "two.fuse", text, &m), fusec_message(ctx));
    FC_EXPECT_EQ_I64(fusec_module_count(m), 2);
    FC_EXPECT_STREQ(fusec_module_name(m, 0), "scale");
    FC_EXPECT_STREQ(fusec_module_name(m, 1), "softmax");
    FC_EXPECT_TRUE(fusec_module_name(m, 2) == NULL && fusec_module_name(m, -1) == NULL);
    FC_ASSERT_OK_TEXT(fusec_module_compile(m, NULL, 0, &p), fusec_message(ctx));
    FC_EXPECT_STREQ(fusec_input_name(p, 0), "x");
    const float x[4] = {0, 0, 1, 3};
    float y[4];
    const int64_t shape[2] = {2, 2};
    fusec_tensor in = {.data = (void *)(uintptr_t)x, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
    fusec_tensor out = in;
    out.data = y;
    FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &out), fusec_message(ctx));
    FC_EXPECT_TRUE(y[0] == 0.5f && fabsf(y[2] + y[3] - 1) < 1e-6f);
    fusec_program_free(p);
    FC_EXPECT_EQ_I64(fusec_module_compile(m, "nosuch", 0, &p), FUSEC_UNKNOWN_NAME);
    FC_EXPECT_TRUE(p == NULL);
    fusec_module_free(m);
    fusec_context_free(ctx);
}

FC_TEST(capi_language, sizes_of_a_definition_are_inputs) {
    fusec_context *ctx = capi_device("interp");
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    FC_ASSERT_OK_TEXT(
        fusec_parse(ctx, NULL, "def f(m: dim, x: f32[n]) -> f32[m] = arange(m)*1.0 + x[0]", &m),
        fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_module_compile(m, NULL, FUSEC_PROGRAM_UNFUSED, &p), fusec_message(ctx));
    FC_ASSERT_EQ_I64(fusec_input_count(p), 2);
    FC_EXPECT_STREQ(fusec_input_name(p, 1), "m");
    float x = 0.5f, y[3] = {0};
    int64_t one = 1, three = 3;
    const fusec_tensor in[2] = {{.data = &x, .shape = &one, .rank = 1, .dtype = FUSEC_F32},
                                {.data = &three, .dtype = FUSEC_I64}},
                       out = {.data = y, .shape = &three, .rank = 1, .dtype = FUSEC_F32};
    FC_EXPECT_OK_TEXT(fusec_run(p, 2, in, 1, &out), fusec_message(ctx));
    FC_EXPECT_TRUE(y[0] == 0.5f && y[2] == 2.5f);
    fusec_program_free(p);
    fusec_module_free(m);
    fusec_context_free(ctx);
}

FC_TEST(capi_language, expressions_on_values) {
    fusec_context *ctx = NULL;
    fusec_graph *g = capi_start(NULL, &ctx);
    fusec_module *m = NULL;
    FC_ASSERT_OK_TEXT(fusec_parse(ctx, NULL, text, &m), fusec_message(ctx));
    const float in[3] = {-1, 0, 2};
    const int64_t n = 3;
    float out[3];
    const char *names[] = {"x", "a", "b"};
    fusec_value v[] = {fusec_array(g, FUSEC_F32, 1, &n, in), fusec_num(0.5), fusec_int(2)};
    fusec_value y = fusec_expr(g, "x > 0 ? x : a*expm1(x)", 3, names, v);
    FC_EXPECT_OK_TEXT(fusec_read(y, out, sizeof out), fusec_message(ctx));
    FC_EXPECT_TRUE(out[2] == 2 && out[1] == 0 && fabsf(out[0] - 0.5f * expm1f(-1)) < 1e-6f);
    /* its result goes on, with the definitions of a module, and into two results */
    fusec_value two[2], more[] = {y, fusec_num(3)};
    const char *short_names[] = {"y", "k"};
    FC_EXPECT_OK_TEXT(
        fusec_module_expr(m, g, "s = scale(y, f32(k)); s, sum(s)", 2, short_names, more, 2, two),
        fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(two[0], out, sizeof out), fusec_message(ctx));
    FC_EXPECT_TRUE(out[2] == 6);
    float sum;
    FC_EXPECT_OK_TEXT(fusec_read(two[1], &sum, 4), fusec_message(ctx));
    FC_EXPECT_TRUE(fabsf(sum - (6 + 1.5f * expm1f(-1))) < 1e-5f);
    fusec_module_free(m);
    capi_end(ctx, g);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *content) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    FC_ASSERT_TRUE(f != NULL);
    fputs(content, f);
    fclose(f);
}

FC_TEST(capi_language, files_and_what_they_import) {
    char dir[] = "/tmp/fusec-parse-XXXXXX", path[100], lib[100];
    FC_ASSERT_TRUE(mkdtemp(dir) != NULL);
    snprintf(lib, sizeof lib, "%s/lib", dir);
    FC_ASSERT_EQ_I64(mkdir(lib, 0700), 0);
    write_file(lib, "nn.fuse", "const EPS = 0.25\nexport def shift(x: f32[n]) = x + EPS\n");
    write_file(dir, "top.fuse",
               "import \"nn.fuse\" as nn\nconst K = nn.EPS*2\n"
               "export def f(x: f32[n]) -> f32[n] = nn.shift(x)*K\n");
    write_file(dir, "wrong.fuse", "import \"nowhere.fuse\" as n\nexport def f(x: f32[n]) = x\n");
    CAPI_START();
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    const char *folders[] = {dir, lib, NULL};
    snprintf(path, sizeof path, "%s/top.fuse", dir);
    FC_EXPECT_EQ_I64(fusec_parse_file(ctx, path, 0, NULL, &m), FUSEC_IO);
    FC_EXPECT_TRUE(m == NULL && strstr(fusec_message(ctx), "there is no file \"nn.fuse\""));
    FC_ASSERT_OK_TEXT(fusec_parse_file(ctx, path, 2, folders, &m), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_module_compile(m, "f", 0, &p), fusec_message(ctx));
    float x = 1, y = 0, k = 0;
    const int64_t n = 1;
    fusec_tensor in = {.data = &x, .shape = &n, .rank = 1, .dtype = FUSEC_F32}, out = in;
    out.data = &y;
    FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &out), fusec_message(ctx));
    FC_EXPECT_EQ_F64(y, 0.625);
    fusec_value c;
    FC_EXPECT_OK_TEXT(fusec_module_expr(m, g, "f32(K + nn.EPS)", 0, NULL, NULL, 1, &c),
                      fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(c, &k, sizeof k), fusec_message(ctx));
    FC_EXPECT_EQ_F64(k, 0.75);
    fusec_program_free(p);
    fusec_module_free(m);
    snprintf(path, sizeof path, "%s/wrong.fuse", dir);
    FC_EXPECT_EQ_I64(fusec_parse_file(ctx, path, 2, folders, &m), FUSEC_IO);
    FC_EXPECT_EQ_I64(fusec_parse_file(ctx, "/nosuch.fuse", 0, NULL, &m), FUSEC_IO);
    FC_EXPECT_EQ_I64(fusec_parse_file(ctx, NULL, 0, NULL, &m), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_parse_file(NULL, path, 0, NULL, &m), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_parse_file(ctx, path, -1, NULL, &m), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_parse_file(ctx, path, 1, NULL, &m), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_parse_file(ctx, path, 3, folders, &m), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_parse_file(ctx, path, 0, NULL, NULL), FUSEC_INVALID);
    CAPI_END();
    char command[140];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    FC_EXPECT_EQ_I64(system(command), 0);
}

FC_TEST(capi_language, sizes_by_name) {
    fusec_context *ctx = NULL;
    fusec_graph *g = capi_start(NULL, &ctx);
    fusec_program *p = NULL;
    fusec_dim n = fusec_sym(g, "n");
    const char *names[] = {"x"};
    fusec_value x = fusec_input(g, "x", FUSEC_F64, 1, &n);
    fusec_output(g, "y", fusec_expr(g, "x[1:] - x[:-1]", 1, names, &x));
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    for (int64_t size = 2; size < 5; size++) {
        const double in[4] = {1, 2, 4, 8};
        double out[3];
        const int64_t less = size - 1;
        fusec_tensor a = {
            .data = (void *)(uintptr_t)in, .shape = &size, .rank = 1, .dtype = FUSEC_F64};
        fusec_tensor b = {.data = out, .shape = &less, .rank = 1, .dtype = FUSEC_F64};
        FC_EXPECT_OK_TEXT(fusec_run(p, 1, &a, 1, &b), fusec_message(ctx));
        FC_EXPECT_EQ_F64(out[less - 1], (double)(1 << (less - 1)));
    }
    fusec_program_free(p);
    capi_end(ctx, g);
}

FC_TEST(capi_language, mistakes_have_places) {
    fusec_context *ctx = NULL;
    fusec_graph *g = capi_start(NULL, &ctx);
    fusec_module *m = NULL;
    int line = -1, column = -1;
    FC_EXPECT_EQ_I64(fusec_parse(ctx, "a.fuse", "def f(x: f32[n]) = x +\n\ndef g(x) = ?", &m),
                     FUSEC_SYNTAX);
    FC_EXPECT_TRUE(m == NULL);
    fusec_message_place(&line, &column);
    FC_EXPECT_TRUE(line >= 1 && line <= 3 && column > 0);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "a.fuse:");
    FC_ASSERT_OK_TEXT(fusec_parse(ctx, "b.fuse", "def f(x: f32[n]) =\n    x + nosuch(x)", &m),
                      fusec_message(ctx));
    fusec_program *p = NULL;
    FC_EXPECT_EQ_I64(fusec_module_compile(m, "f", 0, &p), FUSEC_UNKNOWN_NAME);
    fusec_message_place(&line, &column);
    FC_EXPECT_EQ_I64(line, 2);
    FC_EXPECT_EQ_I64(column, 9);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "nosuch");
    fusec_module_free(m);
    /* in expressions they stick to the graph */
    const int64_t three = 3, four = 4;
    const float in[4] = {0};
    const char *names[] = {"x", "y", NULL};
    fusec_value v[] = {fusec_array(g, FUSEC_F32, 1, &three, in),
                       fusec_array(g, FUSEC_F32, 1, &four, in), fusec_num(1)};
    FC_EXPECT_EQ_I64(fusec_rank(fusec_expr(g, "x + y", 2, names, v)), -1);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_SHAPE_MISMATCH);
    fusec_graph_reset(g);
    v[0] = fusec_array(g, FUSEC_F32, 1, &three, in);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_expr(g, "x +", 1, names, v)), -1);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_SYNTAX);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_expr(g, "x", 1, names, v)), -1);
    fusec_graph_reset(g);
    v[0] = fusec_array(g, FUSEC_F32, 1, &three, in);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_expr(g, "x + z", 1, names, v)), -1);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_MISSING_INPUT);
    fusec_graph_reset(g);
    fusec_value two[2];
    v[0] = fusec_array(g, FUSEC_F32, 1, &three, in);
    FC_EXPECT_EQ_I64(fusec_module_expr(NULL, g, "x", 1, names, v, 2, two), FUSEC_ARGUMENT_COUNT);
    fusec_graph_reset(g);
    v[0] = fusec_array(g, FUSEC_F32, 1, &three, in);
    FC_EXPECT_EQ_I64(fusec_module_expr(NULL, g, "x", 3, names, v, 1, two), FUSEC_INVALID);
    fusec_graph_reset(g);
    FC_EXPECT_EQ_I64(fusec_module_expr(NULL, g, "x", 1, names, v, 1, two), FUSEC_INVALID);
    fusec_graph_reset(g);
    FC_EXPECT_EQ_I64(fusec_module_expr(NULL, g, NULL, 0, NULL, NULL, 1, two), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_module_expr(NULL, NULL, "x", 1, names, v, 1, two), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_module_expr(NULL, g, "x", 1, names, v, -1, two), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_parse(ctx, NULL, NULL, &m), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_parse(NULL, NULL, "x", &m), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_parse(ctx, NULL, "x", NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_module_compile(NULL, NULL, 0, &p), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_module_count(NULL), 0);
    fusec_message_place(&line, &column);
    FC_EXPECT_TRUE(line == 0 && column == 0);
    fusec_module_free(NULL);
    capi_end(ctx, g);
}

/* ---- what texts become ----------------------------------------------------------------------- */

static fusec_value elements_by_rows(fusec_value x, fusec_value a) {
    return fusec_where(fusec_gt(x, fusec_num(0)), x, fusec_mul(a, fusec_expm1(x)));
}

static fusec_value norm_by_rows(fusec_value x, fusec_value a) {
    return fusec_mul(fusec_sqrt(fusec_sum(fusec_mul(x, x), 0, NULL, 0)), a);
}

/* The kernel of a text or of operations; freed by the caller. */
static char *kernel_of(fusec_context *ctx, const char *written,
                       fusec_value (*rows)(fusec_value, fusec_value)) {
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    char *source = NULL;
    const int64_t n = 1000;
    const char *names[] = {"x", "a"};
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    const fusec_dim size = fusec_sym(g, "n");
    const fusec_value v[] = {fusec_input(g, "x", FUSEC_F32, 1, &size),
                             fusec_input(g, "a", FUSEC_F32, 0, NULL)};
    fusec_output(g, "y", written ? fusec_expr(g, written, 2, names, v) : rows(v[0], v[1]));
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    const fusec_tensor in[] = {{.shape = &n, .rank = 1, .dtype = FUSEC_F32}, {.dtype = FUSEC_F32}};
    if (p) FC_EXPECT_EQ_I64(fusec_kernel_count(p), 1);
    if (p) FC_EXPECT_OK_TEXT(fusec_source(p, 0, 2, in, &source), fusec_message(ctx));
    fusec_program_free(p);
    fusec_graph_free(g);
    return source;
}

/* An elementwise text and a reduction's (map, sum, finish) are one kernel each, with the very text
 * that operations have. */
FC_TEST(capi_language, texts_are_the_kernels_of_operations) {
    static const char *const devices[] = {"interp", "cpu"};
    for (int d = 0; d < 2; d++) {
        fusec_context *ctx = capi_device(devices[d]);
        for (int i = 0; ctx && i < 2; i++) {
            char *got = kernel_of(ctx, i ? "sqrt(sum(x*x))*a" : "x > 0 ? x : a*expm1(x)", NULL);
            char *rows = kernel_of(ctx, NULL, i ? norm_by_rows : elements_by_rows);
            FC_EXPECT_STREQ(got ? got : "", rows ? rows : "no kernel");
            fusec_text_free(ctx, got);
            fusec_text_free(ctx, rows);
        }
        fusec_context_free(ctx);
    }
}

/* extern def: the function comes from C, or the program can't be made. */
static float bend(float x, float a) {
    return x * x - a * x;
}

FC_TEST(capi_language, functions_from_outside) {
    static const fusec_dtype types[] = {FUSEC_F32, FUSEC_F32}, others[] = {FUSEC_F32, FUSEC_F64};
    fusec_context *ctx = capi_device("interp");
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    fusec_extern_desc d = FUSEC_EXTERN_DESC_INIT;
    d.name = "bend";
    d.nargs = 2;
    d.dtypes = others;
    d.result = FUSEC_F32;
    d.cuda = "__device__ float bend(float x, float a) { return x * x - a * x; }";
    FC_ASSERT_OK_TEXT(fusec_parse(ctx, "b.fuse",
                                  "extern def bend(x: f32, a: f32) -> f32\n"
                                  "def f(x: f32[n]) -> f32[n] = bend(x, 2) + 1\n",
                                  &m),
                      fusec_message(ctx));
    FC_EXPECT_EQ_I64(fusec_module_count(m), 1);
    FC_EXPECT_EQ_I64(fusec_module_compile(m, NULL, 0, &p), FUSEC_CALL_FAILED);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "help: give it with fusec_module_extern");
    FC_EXPECT_EQ_I64(fusec_module_extern(NULL, &d), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_module_extern(m, NULL), FUSEC_INVALID);
    FC_EXPECT_OK_TEXT(fusec_module_extern(m, &d), fusec_message(ctx));
    FC_EXPECT_EQ_I64(fusec_module_compile(m, NULL, 0, &p), FUSEC_DTYPE_MISMATCH);
    d.dtypes = types;
    d.scalar = (void (*)(void))bend;
    FC_EXPECT_OK_TEXT(fusec_module_extern(m, &d), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_module_compile(m, NULL, 0, &p), fusec_message(ctx));
    const int64_t n = 3;
    const float x[3] = {0, 1, 4};
    float y[3];
    fusec_tensor in = {.data = (void *)(uintptr_t)x, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    fusec_tensor out = in;
    out.data = y;
    FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &out), fusec_message(ctx));
    FC_EXPECT_TRUE(y[0] == 1 && y[1] == 0 && y[2] == 9);
    fusec_program_free(p);
    fusec_module_free(m);
    fusec_context_free(ctx);
}
