/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_golden.c - what the compiler makes of small programs, kept as files a person can read: the
 * graph after each pass with the kernels (NAME.plan.txt), the loop forms on a GPU (NAME.grid.txt)
 * and on a processor (NAME.loops.txt), and, for a few, CUDA C (NAME.cu.txt) in tests/golden. After
 * an intended change, look at the difference and run fusec_tests --bless. The CUDA text of all of
 * them, and of the sample programs of the language, also goes through NVRTC for sm_90 where it is
 * found. */
#include "frontend/lang/compile.h"
#include "frontend/lang/parse.h"
#include "runtime/program.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct golden_input {
    const char *name;
    fusec_dtype dtype;
    uint32_t rank;
    int64_t shape[4];
} golden_input;

typedef struct golden_case {
    const char *name, *text;
    golden_input in[5];
} golden_case;

static const golden_case cases[] = {
    {"wave", "sin(x*2 + 1)", {{"x", FUSEC_F32, 1, {4096}}}},
    {"conditional", "y = exp(sin(x)*cos(x)); y > 0.5 ? y*2 : y/2", {{"x", FUSEC_F32, 1, {4096}}}},
    {"halves", "x*2 + 1", {{"x", FUSEC_F16, 1, {4096}}}},
    {"outer_sum", "a + b", {{"a", FUSEC_F32, 2, {300, 1}}, {"b", FUSEC_F32, 2, {1, 200}}}},
    {"transposed", "a + b.T", {{"a", FUSEC_F32, 2, {300, 200}}, {"b", FUSEC_F32, 2, {200, 300}}}},
    {"dot", "sum(a*b)", {{"a", FUSEC_F32, 1, {1000000}}, {"b", FUSEC_F32, 1, {1000000}}}},
    {"columns", "mean(x, axis=0), var(x, axis=0)", {{"x", FUSEC_F32, 2, {5000, 300}}}},
    {"softmax",
     "e = exp(x - max(x, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true)",
     {{"x", FUSEC_F32, 2, {512, 1000}}}},
    {"softmax_bf16", /* blocks without a test for their ends */
     "e = exp(x - max(x, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true)",
     {{"x", FUSEC_BF16, 2, {512, 1024}}}},
    {"softmax_odd", /* neighbouring threads take neighbouring elements */
     "e = exp(x - max(x, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true)",
     {{"x", FUSEC_F32, 2, {512, 1003}}}},
    {"wide16", /* shorter functions for x, not for y */
     "tanh(x) / exp(x), tanh(y) / exp(y)",
     {{"x", FUSEC_BF16, 1, {4096}}, {"y", FUSEC_F32, 1, {4096}}}},
    {"tf32", /* the first product alone is of f32 */
     "x @ y, h @ g",
     {{"x", FUSEC_F32, 2, {512, 512}},
      {"y", FUSEC_F32, 2, {512, 512}},
      {"h", FUSEC_BF16, 2, {512, 512}},
      {"g", FUSEC_BF16, 2, {512, 512}}}},
    {"best", "argmax(x, axis=1)", {{"x", FUSEC_F32, 2, {512, 1000}}}},
    {"integers",
     "(a // b) % 7 + (a << b)",
     {{"a", FUSEC_I32, 1, {777}}, {"b", FUSEC_I32, 1, {777}}}},
    {"stencil", "x[1:-1] - (x[:-2] + x[2:]) / 2", {{"x", FUSEC_F32, 1, {4098}}}},
    {"two_kernels", "(x - mean(x)) / std(x)", {{"x", FUSEC_F32, 1, {100000}}}},
};

/* One for each other schedule of a processor. */
static const golden_case loop_cases[] = {
    {"loops_gathered", "sum(x, axis=-1)", {{"x", FUSEC_F32, 2, {5000, 3}}}},
    {"loops_packed", "sum(x, axis=-1)", {{"x", FUSEC_F32, 2, {5000, 20}}}},
    {"loops_bands", "var(x, axis=-1)", {{"x", FUSEC_F32, 2, {5000, 200}}}},
    {"loops_across", "a @ b.T", {{"a", FUSEC_F32, 2, {1, 300}}, {"b", FUSEC_F32, 2, {200, 300}}}},
    {"loops_collide", "sum(x, axis=0)", {{"x", FUSEC_F32, 2, {512, 512}}}},
    {"loops_transposed",
     "e = exp(x - max(x, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true)",
     {{"x", FUSEC_F32, 2, {5000, 20}}}},
    {"loops_shared",
     "sum((a[:, None, :] - b[None, :, :])**2, axis=-1)",
     {{"a", FUSEC_F32, 2, {500, 20}}, {"b", FUSEC_F32, 2, {700, 20}}}},
    {"loops_few", "sum(x, axis=0)", {{"x", FUSEC_F32, 2, {50000, 8}}}},
    {"loops_two_axes", "sum(x, axis=(0, 2))", {{"x", FUSEC_F32, 4, {50, 30, 7, 90}}}},
    {"loops_scan", "cumsum(x, axis=1)", {{"x", FUSEC_F32, 2, {500, 700}}}},
    {"loops_scan_across", "cumsum(x, axis=0)", {{"x", FUSEC_F32, 2, {500, 700}}}},
    {"loops_panels", "a @ b", {{"a", FUSEC_F32, 2, {500, 700}}, {"b", FUSEC_F32, 2, {700, 300}}}},
    {"loops_small_products", /* a stack, and what follows */
     "maximum(a @ b + c, 0)",
     {{"a", FUSEC_F32, 3, {90, 20, 30}},
      {"b", FUSEC_F32, 3, {90, 30, 40}},
      {"c", FUSEC_F32, 1, {40}}}},
    {"loops_turned", "a @ b.T", {{"a", FUSEC_F32, 2, {900, 64}}, {"b", FUSEC_F32, 2, {12, 64}}}},
    {"loops_row_sums", "sum(x, axis=-1)", {{"x", FUSEC_F32, 2, {64, 300000}}}},
};
/* And of a GPU. */
static const golden_case grid_cases[] = {
    {"grid_rows_of_threads", "sum(x, axis=-1)", {{"x", FUSEC_F32, 2, {5000, 3}}}},
    {"grid_few_columns", "sum(x, axis=0)", {{"x", FUSEC_F32, 2, {65536, 8}}}},
    {"grid_long_rows",
     "e = exp(x - max(x, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true)",
     {{"x", FUSEC_F32, 2, {8, 40000}}}},
    {"grid_walked_rows", "sum(x, axis=-1)", {{"x", FUSEC_F32, 2, {16384, 4096}}}},
    {"grid_cluster",
     "e = exp(x - max(x, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true)",
     {{"x", FUSEC_F32, 2, {4096, 50257}}}},
    {"grid_ring",
     "e = exp(x - max(x, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true)",
     {{"x", FUSEC_F32, 2, {128, 1048576}}}},
    {"grid_scan", "cumsum(x, axis=1)", {{"x", FUSEC_F32, 2, {5000, 700}}}},
    {"grid_products",
     "a @ b",
     {{"a", FUSEC_F32, 2, {2048, 700}}, {"b", FUSEC_F32, 2, {700, 2048}}}},
    {"grid_tensor_products",
     "maximum(a @ b + c, 0)",
     {{"a", FUSEC_BF16, 3, {6, 256, 64}},
      {"b", FUSEC_BF16, 2, {64, 512}},
      {"c", FUSEC_BF16, 1, {512}}}},
    {"grid_flat_products", /* by fetchers and gates */
     "a @ (bf16(q)*s[:, None]).T",
     {{"a", FUSEC_BF16, 2, {16, 4096}},
      {"q", FUSEC_I8, 2, {4096, 4096}},
      {"s", FUSEC_BF16, 1, {4096}}}},
    {"grid_joined_products", /* a form for each part of one launch */
     "s = f32(q @ transpose(k, [0, 2, 1])); e = exp(s - max(s, axis=-1, keepdims=true)); "
     "bf16(e / sum(e, axis=-1, keepdims=true)) @ v",
     {{"q", FUSEC_BF16, 3, {16, 1024, 64}},
      {"k", FUSEC_BF16, 3, {16, 1024, 64}},
      {"v", FUSEC_BF16, 3, {16, 1024, 128}}}},
    {"grid_joined_maps", /* one form of two kernels */
     "t = materialize(u[:, :-2] + 2*u[:, 1:-1] + u[:, 2:]); t[:-2] + 2*t[1:-1] + t[2:]",
     {{"u", FUSEC_F32, 2, {8194, 8194}}}},
    {"grid_scan_columns", "cumsum(x, axis=0)", {{"x", FUSEC_F32, 2, {1000, 16384}}}},
    {"grid_long_scan", "cumsum(x, axis=0)", {{"x", FUSEC_F32, 1, {1000000}}}},
};

/* ---- from text to a program ------------------------------------------------------------------ */

static void report(fc_diags *ds, const char *name) {
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    fc_diags_text(ds, false, &s);
    FC_FAIL("%s: %s", name, s.data);
    fc_str_free(&s);
}

static bool snippet_graph(const golden_case *c, fc_graph *g) {
    fc_source src;
    fc_diags ds;
    fc_ast ast;
    fc_lang_program out;
    fc_lang_input in[5];
    size_t n = 0;
    for (; n < FC_COUNT(c->in) && c->in[n].name; n++)
        in[n] = (fc_lang_input){.name = c->in[n].name,
                                .kind = FC_LANG_TYPE,
                                .has_dtype = true,
                                .dtype = c->in[n].dtype,
                                .rank = c->in[n].rank,
                                .shape = c->in[n].shape};
    fc_diags_init(&ds, &fc_libc_alloc);
    fc_source_init(&src, &fc_libc_alloc, "<expr>", c->text, strlen(c->text), NULL);
    fc_graph_init(g, &fc_libc_alloc, NULL);
    bool ok = fc_parse_snippet(&src, &ds, &ast) == FUSEC_OK;
    fc_lang_request rq = {
        .snippet = &ast, .inputs = in, .input_count = n, .default_float = FUSEC_F32};
    if (ok) {
        ok = fc_lang_compile(&rq, g, &out, &ds) == FUSEC_OK;
        fc_lang_program_free(&out);
    }
    if (!ok) report(&ds, c->name);
    fc_ast_free(&ast);
    fc_source_free(&src);
    fc_diags_free(&ds);
    return ok;
}

/* The arrays of a graph whose sizes are known, without data. */
static size_t inputs_of(const fc_graph *g, fc_tensor *in, int64_t (*shapes)[8]) {
    for (size_t i = 0; i < g->inputs.len; i++) {
        fc_node n = g->inputs.at[i].node;
        in[i] = (fc_tensor){
            .dtype = (fusec_dtype)fc_at(g, n)->dtype, .rank = fc_rank(g, n), .shape = shapes[i]};
        for (uint32_t k = 0; k < in[i].rank; k++)
            if (!fc_dim_is_const(&g->dims, fc_axis(g, n, k), &shapes[i][k]))
                shapes[i][k] = 1000 + 8 * (int64_t)k;
    }
    return g->inputs.len;
}

static void all_sources(fc_program *p, fc_str *out, fc_error *e) {
    fc_tensor in[16];
    int64_t shapes[16][8];
    uint32_t n = (uint32_t)inputs_of(&p->plan->graph, in, shapes);
    for (uint32_t i = 0; i < p->plan->steps.len; i++)
        FC_EXPECT_OK(fc_program_source(p, i, n, in, 0, NULL, out, e), e);
}

/* The loop forms, which stand above each text as comments. */
static void take_forms(fc_str *text, const char *comment) {
    const size_t skip = strlen(comment);
    fc_str forms;
    fc_str_init(&forms, text->alloc);
    for (const char *line = text->data, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end) break;
        if (!strncmp(line, comment, skip))
            fc_str_addn(&forms, line + skip, (size_t)(end + 1 - line) - skip);
    }
    fc_str_free(text);
    *text = forms;
}

static void check_text(const char *name, const char *what, const char *text) {
    char file[96];
    snprintf(file, sizeof file, "%s.%s.txt", name, what);
    FC_EXPECT_GOLDEN(file, text);
}

/* The same machines everywhere, so that the text does not depend on where the test runs. */
static fc_machine machine_for(fc_target_kind t) {
    fc_machine m = {
        .target = t, .vector_bytes = 32, .threads = 4, .cpu = "x86-64-v3", .features = ""};
    m.sm_major = 9;
    m.sm_count = 132;
    m.max_threads_per_sm = 2048;
    m.shared_per_block = 227 * 1024;
    m.together = m.clusters = true;
    return m;
}

/* The few whose CUDA text is kept, too: a map, a row, columns, functions of 16 bits. */
static bool has_text(const char *name) {
    static const char *const names[] = {"wave", "softmax", "columns", "wide16"};
    for (size_t i = 0; i < FC_COUNT(names); i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

static void golden_text(const golden_case *c, fc_context *ctx, fc_device *d, const char *what) {
    fc_graph g;
    fc_error e = {0};
    fc_program *p = NULL;
    fc_str dump, text;
    if (!snippet_graph(c, &g)) {
        fc_graph_free(&g);
        return;
    }
    fc_str_init(&dump, &fc_libc_alloc);
    fc_str_init(&text, &fc_libc_alloc);
    const uint32_t mode = !strcmp(c->name, "wide16") ? FC_MODE_WIDE16
                          : !strcmp(c->name, "tf32") ? FC_MODE_TF32
                                                     : 0; /* a case named after its mode */
    fc_program_options o = {.device = d, .mode = mode, .dump = &dump};
    FC_EXPECT_OK(fc_program_new(ctx, &g, &o, &p, &e), &e);
    if (p) {
        all_sources(p, &text, &e);
        const bool gpu = !strcmp(what, "grid");
        if (gpu && has_text(c->name)) check_text(c->name, "cu", text.data);
        take_forms(&text, gpu ? "// " : "; ");
        check_text(c->name, what, text.data);
        if (gpu && strncmp(c->name, "grid", 4)) check_text(c->name, "plan", dump.data);
    }
    fc_program_free(p);
    fc_str_free(&dump);
    fc_str_free(&text);
    fc_graph_free(&g);
}

static void each_case(const char *what, fc_target_kind t, const golden_case *all, size_t count) {
    fc_config config;
    fc_context *ctx = NULL;
    fc_device *d = NULL;
    fc_error e = {0};
    fc_config_init(&config);
    config.cache_dir = "";
    FC_ASSERT_OK(fc_context_new(&config, &ctx, &e), &e);
    fusec_status s = t == FC_TARGET_CUDA
                         ? fc_device_open_cuda_offline(&fc_libc_alloc, 90, &d, &e)
                         : fc_device_open_cpu(&fc_libc_alloc, 4, NULL, NULL, &d, &e);
    if (s) {
        fc_context_free(ctx);
        FC_SKIP("no such compiler here");
        return;
    }
    d->machine = machine_for(t);
    for (size_t i = 0; i < count; i++) golden_text(&all[i], ctx, d, what);
    fc_context_free(ctx);
    fc_device_close(d);
}

FC_TEST(golden, plans_and_cuda_forms) {
    each_case("grid", FC_TARGET_CUDA, cases, FC_COUNT(cases));
    each_case("grid", FC_TARGET_CUDA, grid_cases, FC_COUNT(grid_cases));
}
FC_TEST(golden, loop_forms) {
    each_case("loops", FC_TARGET_LLVM, cases, FC_COUNT(cases));
    each_case("loops", FC_TARGET_LLVM, loop_cases, FC_COUNT(loop_cases));
}

/* ---- NVRTC takes all of it ------------------------------------------------------------------- */

static const char *const programs[] = {
    "wave",  "expsincos", "threshold", "black_scholes", "softmax",  "norms",  "standardise",
    "pdist", "logsumexp", "midpoints", "nbody",         "newlines", "corners"};

static char *read_program(const char *name, size_t *len) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/lang/programs/%s.fuse", FUSEC_SOURCE_DIR, name);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = malloc(1 << 16);
    *len = text ? fread(text, 1, 1 << 16, f) : 0;
    fclose(f);
    return text;
}

/* Compiles every kernel of one definition; sizes of some thousand, dtype variables as `t`. */
static void compile_def(fc_context *ctx, fc_device *d, const fc_ast *ast, const char *def,
                        fusec_dtype t) {
    fc_graph g;
    fc_diags ds;
    fc_lang_program out;
    fc_error e = {0};
    fc_program *p = NULL;
    fc_diags_init(&ds, &fc_libc_alloc);
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_lang_dtype letter = {'T', t};
    fc_lang_request rq = {.program = ast,
                          .def = def,
                          .default_float = FUSEC_F32,
                          .dtypes = &letter,
                          .dtype_count = 1};
    if (fc_lang_compile(&rq, &g, &out, &ds)) {
        report(&ds, def);
    } else {
        fc_program_options o = {.device = d};
        FC_EXPECT_OK(fc_program_new(ctx, &g, &o, &p, &e), &e);
    }
    if (p) {
        fc_tensor in[16];
        int64_t shapes[16][8];
        fc_step_report reports[32];
        uint32_t n = (uint32_t)inputs_of(&g, in, shapes);
        /* sizes follow from names, so that equal names are equal */
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < in[i].rank; k++) {
                fc_dim dim = fc_axis(&g, g.inputs.at[i].node, k);
                if (!fc_dim_is_const(&g.dims, dim, NULL)) shapes[i][k] = 1000 + 8 * (int64_t)dim;
            }
        FC_TRACE("%s", def);
        FC_EXPECT_TRUE(p->plan->steps.len <= FC_COUNT(reports));
        FC_EXPECT_OK(fc_program_report(p, n, in, 0, NULL, false, reports, &e), &e);
        FC_UNTRACE();
    }
    fc_program_free(p);
    fc_lang_program_free(&out);
    fc_graph_free(&g);
    fc_diags_free(&ds);
}

FC_TEST(golden, nvrtc_compiles_the_sample_programs) {
    if (FC_SANITIZED) FC_SKIP("NVRTC is not instrumented");
    fc_config config;
    fc_context *ctx = NULL;
    fc_device *d = NULL;
    fc_error e = {0};
    fc_config_init(&config);
    config.cache_dir = "";
    FC_ASSERT_OK(fc_context_new(&config, &ctx, &e), &e);
    FC_ASSERT_OK(fc_device_open_cuda_offline(&fc_libc_alloc, 90, &d, &e), &e);
    fc_bytes probe = {0};
    if (d->ops->compile(d, 0, FC_FULL, "extern \"C\" __global__ void fusec_kernel() {}", &probe,
                        &e)) {
        fc_context_free(ctx);
        fc_device_close(d);
        FC_SKIP("no NVRTC here");
        return;
    }
    fc_bytes_free(&fc_libc_alloc, &probe);
    for (size_t i = 0; i < FC_COUNT(programs); i++) {
        size_t len;
        char *text = read_program(programs[i], &len);
        FC_EXPECT_TRUE(text != NULL);
        if (!text) continue;
        fc_source src;
        fc_diags ds;
        fc_ast ast;
        fc_diags_init(&ds, &fc_libc_alloc);
        fc_source_init(&src, &fc_libc_alloc, programs[i], text, len, NULL);
        if (fc_parse_program(&src, &ds, &ast)) report(&ds, programs[i]);
        for (const fc_item *item = ast.items; item; item = item->next) {
            if (item->kind != FC_IT_DEF || !fc_lang_is_typed(item)) continue;
            char def[64];
            snprintf(def, sizeof def, "%.*s", (int)item->name.len, item->name.text);
            compile_def(ctx, d, &ast, def, i % 2 ? FUSEC_F16 : FUSEC_F32);
        }
        fc_ast_free(&ast);
        fc_source_free(&src);
        fc_diags_free(&ds);
        free(text);
    }
    fc_context_free(ctx);
    fc_device_close(d);
}
