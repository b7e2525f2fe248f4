/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_failures.c - fourteen ways in which users of other array compilers were let down by a plan,
 * each as a small program whose plan here has a shape: how many kernels, which schedule, how many
 * bytes. Planned for an sm_90 that need not be there; nothing is compiled or run. */
#include "frontend/lang/compile.h"
#include "frontend/lang/parse.h"
#include "runtime/bind.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16 };

typedef struct shape {
    size_t kernels, temps;
    int64_t bytes, temp_bytes; /* of all kernels: each array of a kernel once; of temporaries */
    fc_step_report step[MOST];
    fc_launch launch[MOST];
    uint64_t hash; /* of the dump: what every process must get alike */
} shape;

static bool graph_of(const char *text, fc_graph *g) {
    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_error e = {0};
    fc_lang_program p = {0};
    fc_diags_init(&ds, &fc_libc_alloc);
    fc_graph_init(g, &fc_libc_alloc, NULL);
    FC_EXPECT_OK(fc_source_init(&src, &fc_libc_alloc, "case", text, strlen(text), &e), &e);
    bool ok = fc_parse_program(&src, &ds, &ast) == FUSEC_OK;
    fc_lang_request rq = {.program = &ast, .default_float = FUSEC_F32};
    ok = ok && fc_lang_compile(&rq, g, &p, &ds) == FUSEC_OK;
    FC_EXPECT_TRUE(ok);
    fc_lang_program_free(&p);
    fc_ast_free(&ast);
    fc_source_free(&src);
    fc_diags_free(&ds);
    return ok;
}

/* "f32:4096x1 f32:4096x4096": the inputs in order. */
static uint32_t inputs_of(const char *list, fc_tensor *in, int64_t sizes[][FC_MAX_RANK]) {
    uint32_t n = 0;
    for (const char *p = list; *p; n++) {
        size_t name = strcspn(p, ":");
        static const float scalar = 1;
        in[n] = (fc_tensor){.shape = sizes[n], .data = (void *)(uintptr_t)&scalar};
        FC_EXPECT_TRUE(fc_dtype_by_name(p, name, &in[n].dtype));
        p += name;
        p += *p == ':' && (p[1] == ' ' || !p[1]); /* a scalar */
        while (*p == ':' || *p == 'x') sizes[n][in[n].rank++] = strtoll(p + 1, (char **)&p, 10);
        p += strspn(p, " ");
    }
    return n;
}

static uint64_t hash_of(const char *text) {
    uint64_t h = 1469598103934665603u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

static void measure(fc_program *p, const char *inputs, shape *s) {
    fc_tensor in[MOST];
    int64_t sizes[MOST][FC_MAX_RANK];
    fc_bound *b;
    fc_error e = {0};
    uint32_t n = inputs_of(inputs, in, sizes);
    s->kernels = p->plan->steps.len;
    s->temps = p->plan->ntemps;
    FC_EXPECT_LE_I64((int64_t)s->kernels, MOST);
    FC_EXPECT_OK(fc_program_report(p, n, in, 0, NULL, true, s->step, &e), &e);
    for (size_t i = 0; i < s->kernels; i++) s->bytes += s->step[i].bytes_floor;
    fusec_status bound = fc_bound_get(p, n, in, 0, NULL, 64, FC_NO_CODE, &b, &e);
    FC_EXPECT_OK(bound, &e);
    if (bound != FUSEC_OK) return;
    for (size_t i = 0; i < s->kernels; i++) s->launch[i] = b->steps[i].launch;
    for (size_t i = 0; i < p->plan->buffers.len; i++)
        if (p->plan->buffers.at[i].kind == FC_BUF_TEMP) s->temp_bytes += (int64_t)b->bytes[i];
    fc_bound_release(p, b);
}

static shape plan_with(const char *text, const char *inputs, bool unfused) {
    shape s = {0};
    fc_graph g;
    fc_config c;
    fc_context *ctx = NULL;
    fc_device *d = NULL;
    fc_program *p = NULL;
    fc_str dump;
    fc_error e = {0};
    fc_config_init(&c);
    c.cache_dir = "";
    fc_str_init(&dump, &fc_libc_alloc);
    FC_EXPECT_OK(fc_context_new(&c, &ctx, &e), &e);
    FC_EXPECT_OK(fc_device_open_cuda_offline(&fc_libc_alloc, 90, &d, &e), &e);
    bool ok = graph_of(text, &g);
    fc_program_options o = {.device = d, .unfused = unfused, .dump = &dump};
    if (ok && ctx && d) FC_EXPECT_OK(fc_program_new(ctx, &g, &o, &p, &e), &e);
    if (p) measure(p, inputs, &s);
    s.hash = hash_of(dump.data);
    fc_program_free(p);
    fc_graph_free(&g);
    fc_str_free(&dump);
    if (d) fc_device_close(d);
    fc_context_free(ctx);
    return s;
}

static shape plan_of(const char *text, const char *inputs) {
    return plan_with(text, inputs, false);
}

/* "export def f(" HEAD ") -> " RESULT " {" with a statement that comes often, then the rest. */
static char *program(const char *head, const char *again, int times, const char *rest) {
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    fc_str_printf(&s, "export def f(%s {\n", head);
    for (int i = 0; i < times; i++) fc_str_printf(&s, "%s\n", again);
    fc_str_printf(&s, "%s\n}\n", rest);
    return s.data;
}

#define MIB *INT64_C(1048576)

/* ---- what is computed how often ------------------------------------------------------------- */

FC_TEST(failures, case_1_cheap_operations_are_not_repeated_by_a_broadcast) {
    char *text =
        program("c: f32[n, 1], x: f32[n, m]) -> f32[n, m]", "c = c*1.5 + c*c;", 83, "return c * x");
    shape s = plan_of(text, "f32:65536x1 f32:65536x512");
    FC_EXPECT_EQ_U64(s.kernels, 2);
    FC_EXPECT_EQ_I64(s.temp_bytes, 65536 * 4);
    FC_EXPECT_LE_I64(s.step[1].ops, 2);
    fc_free(&fc_libc_alloc, text);
}

FC_TEST(failures, case_2_an_exponential_chain_is_not_repeated_by_a_broadcast) {
    shape s = plan_of("export def f(c: f32[n, 1], x: f32[n, m]) -> f32[n, m] { "
                      "return x * exp(exp(c) - 1) }",
                      "f32:4096x1 f32:4096x4096");
    FC_EXPECT_EQ_U64(s.kernels, 2);
    FC_EXPECT_EQ_I64(s.temp_bytes, 4096 * 4);
    FC_EXPECT_EQ_U64(s.step[1].ops, 1);
}

FC_TEST(failures, case_3_a_costly_producer_is_made_once_for_all_its_slices) {
    shape s = plan_of("export def f(x: f32[n]) -> f32[n - 2] { "
                      "p = exp(sin(x)) * tanh(x); return p[2:] - 2*p[1:-1] + p[:-2] }",
                      "f32:16777218");
    FC_EXPECT_EQ_U64(s.kernels, 2);
    FC_EXPECT_EQ_I64(s.temp_bytes, 16777218 * 4);
    /* a cheap one is not worth the memory */
    s = plan_of("export def f(x: f32[n]) -> f32[n - 2] { "
                "p = x*x + 1; return p[2:] - 2*p[1:-1] + p[:-2] }",
                "f32:16777218");
    FC_EXPECT_EQ_U64(s.kernels, 1);
}

FC_TEST(failures, case_13_what_reads_much_and_is_only_reduced_is_not_stored) {
    shape s = plan_of("export def f(a: f32[n, m], b: f32[n, m], c: f32[n, m], d: f32[n, m], "
                      "e: f32[n, m], g: f32[n, m]) -> f32[n] { "
                      "s = a + b*c + d*e - g + a*g; return sum(s*s, axis=-1) }",
                      "f32:4096x1024 f32:4096x1024 f32:4096x1024 f32:4096x1024 f32:4096x1024 "
                      "f32:4096x1024");
    FC_EXPECT_EQ_U64(s.kernels, 1);
    FC_EXPECT_EQ_U64(s.temps, 0);
    FC_EXPECT_EQ_I64(s.bytes, 6 * 16 MIB + 4096 * 4);
}

/* ---- schedules that fusion must not spoil --------------------------------------------------- */

FC_TEST(failures, case_4_an_epilogue_keeps_the_schedule_of_the_reduction) {
    shape plain = plan_of("export def f(x: f32[n, m]) -> f32[n] { return sum(x, axis=-1) }",
                          "f32:16384x16384");
    shape more = plan_of("export def f(x: f32[n, m], b: f32[n]) -> f32[n] { "
                         "s = sum(x, axis=-1); return maximum(s*0.5 + b, 0) }",
                         "f32:16384x16384 f32:16384");
    FC_EXPECT_EQ_U64(plain.kernels, 1);
    FC_EXPECT_EQ_U64(more.kernels, 1);
    FC_EXPECT_STREQ(plain.step[0].schedule, more.step[0].schedule);
    FC_EXPECT_EQ_U64(strncmp(plain.step[0].cls, more.step[0].cls, strcspn(more.step[0].cls, "x")),
                     0);
    FC_EXPECT_EQ_U64(plain.launch[0].grid[0], more.launch[0].grid[0]);
}

FC_TEST(failures, case_9_a_reduction_of_many_arrays_keeps_few_of_them_in_flight) {
    char *text = program("a: f32[n, m], b: f32[n, m], c: f32[n, m], d: f32[n, m], e: f32[n, m], "
                         "g: f32[n, m], h: f32[n, m], i: f32[n, m]) -> f32[m]",
                         "", 0, "return sum((a*b + c*d) * (e*g - h*i), axis=0)");
    shape s = plan_of(text, "f32:4096x4096 f32:4096x4096 f32:4096x4096 f32:4096x4096 "
                            "f32:4096x4096 f32:4096x4096 f32:4096x4096 f32:4096x4096");
    FC_EXPECT_EQ_U64(s.kernels, 1);
    FC_EXPECT_STREQ(s.step[0].schedule, "outer");
    FC_EXPECT_EQ_I64(s.bytes, 8 * 64 MIB + 4096 * 4);
    /* 8 arrays of 4 elements each are 128 bytes a thread: what a batch may have (cuda_facts.c) */
    FC_EXPECT_CONTAINS(s.step[0].cls, " v4 ");
    fc_free(&fc_libc_alloc, text);
}

FC_TEST(failures, case_10_a_shared_scalar_is_no_reason_to_fuse) {
    shape s = plan_of("export def f(a: f32[n], b: f32[n], s: f32) -> (x: f32[n], y: f32) { "
                      "return a * s, sum(b * s) }",
                      "f32:1048576 f32:1048576 f32:");
    FC_EXPECT_EQ_U64(s.kernels, 2);
    FC_EXPECT_EQ_I64(s.bytes, 12 MIB + 4);
    FC_EXPECT_STREQ(s.step[1].schedule, "inner"); /* whose own fusion stays whole */
}

FC_TEST(failures, case_11_accumulators_of_a_column_reduction_fit_the_registers) {
    shape s = plan_of("export def f(a: f32[n, m], b: f32[n, m], c: f32[n, m], d: f32[n, m], "
                      "e: f32[n, m], g: f32[n, m], h: f32[n, m], i: f32[n, m], j: f32[n, m], "
                      "k: f32[n, m], l: f32[n, m]) -> (p: f32[m], q: f32[m], v: f32[m]) { "
                      "s = a + b + c + d + e + g; t = h*i - j*k + l; "
                      "return sum(s*t, axis=0), var(t, axis=0), var(s, axis=0) }",
                      "f32:8192x4096 f32:8192x4096 f32:8192x4096 f32:8192x4096 f32:8192x4096 "
                      "f32:8192x4096 f32:8192x4096 f32:8192x4096 f32:8192x4096 f32:8192x4096 "
                      "f32:8192x4096");
    FC_EXPECT_EQ_U64(s.kernels, 1);
    /* 7 components: one column a thread, where one component gets four */
    FC_EXPECT_CONTAINS(s.step[0].cls, " v1 ");
}

FC_TEST(failures, case_14_long_rows_need_no_temporary) {
    static const char softmax[] = "export def f(x: f32[n, m]) -> f32[n, m] { "
                                  "e = exp(x - max(x, axis=-1, keepdims=true)); "
                                  "return e / sum(e, axis=-1, keepdims=true) }";
    static const char *const sizes[] = {"f32:65536x1024", "f32:4096x50257", "f32:128x1048576",
                                        "f32:2x16777216"};
    for (size_t i = 0; i < FC_COUNT(sizes); i++) {
        shape s = plan_of(softmax, sizes[i]);
        FC_TRACE("%s", sizes[i]);
        FC_EXPECT_EQ_U64(s.kernels, 1);
        FC_EXPECT_EQ_U64(s.temps, 0);
        /* whatever the number of rows, most of the machine works on them */
        FC_EXPECT_GE_I64((int64_t)s.launch[0].grid[0] * s.launch[0].block[0], 132 * 512);
        FC_UNTRACE();
    }
}

/* ---- splits --------------------------------------------------------------------------------- */

FC_TEST(failures, case_8_splits_follow_from_rows_and_length) {
    static const char sum[] = "export def f(x: f32[n, m]) -> f32[n] { return sum(x, axis=-1) }";
    shape s = plan_of("export def f(p: f32[n]) -> f32 { return -sum(p * log(p)) }", "f32:32768");
    FC_EXPECT_EQ_U64(s.kernels, 1);   /* one launch, also where it is split */
    s = plan_of(sum, "f32:32x40960"); /* a block has read a row before others could hand over */
    FC_EXPECT_EQ_U64(s.kernels, 1);
    FC_EXPECT_EQ_I64(s.launch[0].spans, 1);
    FC_EXPECT_EQ_U64(s.launch[0].block[0], 1024);
    s = plan_of(sum, "f32:32x262144");
    FC_EXPECT_EQ_U64(s.kernels, 1);
    FC_EXPECT_GE_I64((int64_t)(s.launch[0].grid[0] * s.launch[0].grid[1]), 132);
    s = plan_of(sum, "f32:512x40960"); /* enough rows: nothing to combine */
    FC_EXPECT_EQ_I64(s.launch[0].spans, 1);
    FC_EXPECT_EQ_I64((int64_t)s.launch[0].workspace_bytes, 0);
}

/* ---- memory, order, size of a kernel -------------------------------------------------------- */

FC_TEST(failures, case_5_fusion_needs_no_more_memory_than_single_operations) {
    static const char *const texts[] = {
        "export def f(x: f32[n, m], w: f32[m]) -> f32[n, m] { "
        "a = x - mean(x, axis=0); b = a * w; c = b - max(b, axis=0); d = exp(c); "
        "return d / sum(d, axis=0) }",
        "export def f(x: f32[n, m], w: f32[m]) -> f32[m] { "
        "a = tanh(x*w) + exp(x); b = a - mean(a, axis=-1, keepdims=true); "
        "return sum(b * max(b, axis=0) + a, axis=0) }"};
    for (size_t i = 0; i < FC_COUNT(texts); i++) {
        shape fused = plan_with(texts[i], "f32:8192x1024 f32:1024", false),
              single = plan_with(texts[i], "f32:8192x1024 f32:1024", true);
        FC_EXPECT_LE_I64(fused.temp_bytes, single.temp_bytes);
        FC_EXPECT_LE_I64(fused.bytes, single.bytes);
        FC_EXPECT_LE_I64((int64_t)fused.kernels, (int64_t)single.kernels - 1);
    }
}

/* Plans follow from the graph alone: other addresses, the same plan. */
FC_TEST(failures, case_6_near_ties_go_the_same_way_each_time) {
    static const char text[] =
        "export def f(x: f32[n, m], y: f32[n, m]) -> (a: f32[n, m], b: f32[n, m], c: f32[n]) { "
        "p = exp(x)*y; q = exp(y)*x; r = p + q; s = p - q; "
        "return r * max(r, axis=0), s * max(s, axis=0), sum(r*s, axis=-1) }";
    shape first = plan_of(text, "f32:4096x4096 f32:4096x4096");
    void *moved[8];
    for (int i = 0; i < 8; i++) {
        moved[i] = malloc((size_t)1 << (6 + 2 * i));
        shape again = plan_of(text, "f32:4096x4096 f32:4096x4096");
        FC_EXPECT_EQ_U64(again.hash, first.hash);
        FC_EXPECT_EQ_I64(again.bytes, first.bytes);
    }
    for (int i = 0; i < 8; i++) free(moved[i]);
}

FC_TEST(failures, case_7_pairs_that_are_reduced_at_once_are_never_stored) {
    shape s = plan_of("export def f(x: f32[n], y: f32[m]) -> f32[n] { "
                      "return sum(exp(-abs(x[:, None] - y[None, :])), axis=-1) }",
                      "f32:65536 f32:65536");
    FC_EXPECT_EQ_U64(s.kernels, 1);
    FC_EXPECT_EQ_U64(s.temps, 0);
    FC_EXPECT_EQ_I64(s.bytes, 3 * 65536 * 4);
}

FC_TEST(failures, case_12_no_kernel_takes_long_to_compile) {
    char *text = program("x: f32[n]) -> f32[n]", "x = x*1.25 + sin(x)*0.5;", 250, "return x");
    shape s = plan_of(text, "f32:1048576");
    FC_EXPECT_LE_I64((int64_t)s.kernels, 8);
    FC_EXPECT_GE_I64((int64_t)s.kernels, 250 / 64);
    for (size_t i = 0; i < s.kernels; i++) FC_EXPECT_LE_I64(s.step[i].ops, 64 * 4 + 4);
    fc_free(&fc_libc_alloc, text);
}
