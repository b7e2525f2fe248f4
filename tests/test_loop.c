/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_loop.c - loops of launches against the same text with the rounds written out: on the
 * interpreter, the CPU and CUDA behind a fake driver, with the same bits. What plans they make, and
 * what is wrong with some. */
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/langbox.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "frontend/capi/program.h"
#include "ir/loop.h"
#include "passes/bodies.h"
#include "passes/repeat.h"
#include "tests/support/shell.h"

#include <fusec/fusec.h>

enum { N = 6, M = 5 };

/* ---- programs ------------------------------------------------------------------------------- */

/* f(x: f32[n, m], k: i32) gives y: f32[n, m]; `loop` with rounds that only the call knows, `flat`
 * the same without a loop for k = 3. */
static const struct {
    const char *name, *loop, *flat;
} pairs[] = {
    {"stencil",
     "for s in 0..k { c = boundary(x, mode=\"edge\"); y[i in 0..n, j in 0..m] = c[i, j] + "
     "f32(0.1)*(c[i-1, j] + c[i, j+1]); x = y }; y = x",
     "for s in 0..3 { c = boundary(x, mode=\"edge\"); y[i in 0..n, j in 0..m] = c[i, j] + "
     "f32(0.1)*(c[i-1, j] + c[i, j+1]); x = y }; y = x"},
    {"counter", "for s in 2..k+2 { x = x*f32(s) + flip(x, axis=0) }; y = x",
     "for s in 2..5 { x = x*f32(s) + flip(x, axis=0) }; y = x"},
    {"swap", "z = 2*x; for s in 0..k { t = x; x = z + sum(z); z = t }; y = x - z",
     "z = 2*x; for s in 0..3 { t = x; x = z + sum(z); z = t }; y = x - z"},
    {"captured", "e = exp(x); q = sum(e); for s in 0..k { x = x*e - q*mean(x) }; y = x",
     "e = exp(x); q = sum(e); for s in 0..3 { x = x*e - q*mean(x) }; y = x"},
    {"scalars", "a = 0.0; b = sum(x); for s in 0..k { a = a + b; b = sqrt(abs(b)) }; y = x + a*b",
     "a = 0.0; b = sum(x); for s in 0..3 { a = a + b; b = sqrt(abs(b)) }; y = x + a*b"},
    {"while",
     "r = 9.0; for s in 0..1000000 while r > f32(k) { x = cumsum(x, axis=1); r = r - 2 }; y = x",
     "for s in 0..3 { x = cumsum(x, axis=1) }; y = x"},
    {"mask", "for s in 0..2000 while abs(x) < 8 { x = 2*x + 1 }; y = x + k - 3",
     "for s in 0..9 while abs(x) < 8 { x = 2*x + 1 }; y = x + k - 3"},
    {"nested", "for s in 0..k { for r in 0..s { x = x - mean(x) + 1 }; x = x*s + max(x) }; y = x",
     "for s in 0..3 { for r in 0..s { x = x - mean(x) + 1 }; x = x*s + max(x) }; y = x"},
    {"collected", "for s in 0..n { p[s] = x*s; x = flip(x, axis=1)*2 }; y = sum(p, axis=0) + x*k",
     "p = zeros([n, m]); for s in 0..6 { p = p + x*s; x = flip(x, axis=1)*2 }; y = p + x*k"},
    {"two results of one value", "for s in 0..k { x = x + sum(x); z = x }; y = x + 0*x",
     "for s in 0..3 { x = x + sum(x) }; y = x + 0*x"},
    {"none", "for s in 3..k { x = x + sum(x) }; y = x", "y = x"},
};

static fusec_program *compile(fusec_context *ctx, const char *body, unsigned flags) {
    char text[900];
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    snprintf(text, sizeof text,
             "export def f(x: f32[n, m], k: i32) -> f32[n, m] {\n%s\nreturn y\n}\n", body);
    for (char *c = text; *c; c++)
        if (*c == ';') *c = '\n';
    FC_EXPECT_OK_TEXT(fusec_parse(ctx, "f.fuse", text, &m), fusec_message(ctx));
    if (m) FC_EXPECT_OK_TEXT(fusec_module_compile(m, "f", flags, &p), fusec_message(ctx));
    fusec_module_free(m);
    return p;
}

static fusec_status run(fusec_program *p, int32_t k, float *y) {
    float x[N * M];
    const int64_t shape[2] = {N, M};
    for (int i = 0; i < N * M; i++) x[i] = (float)(i * 7 % 11) / 8 - 0.5f;
    const fusec_tensor in[2] = {{.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                                {.data = &k, .rank = 0, .dtype = FUSEC_I32}};
    const fusec_tensor out = {.data = y, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
    return fusec_run(p, 2, in, 1, &out);
}

static void compare_on(const char *device, size_t first, size_t count) {
    fusec_context *ctx = capi_device(device);
    if (!ctx) return;
    for (size_t i = first; i < first + count; i++) {
        FC_TRACE("%s on %s", pairs[i].name, device);
        float want[N * M] = {0}, got[N * M] = {1};
        fusec_program *flat = compile(ctx, pairs[i].flat, 0);
        FC_EXPECT_OK_TEXT(run(flat, 3, want), fusec_message(ctx));
        for (unsigned flags = 0; flags <= FUSEC_PROGRAM_GRAPH; flags++) {
            fusec_program *loop = compile(ctx, pairs[i].loop, flags);
            for (int again = 0; again < 2 && loop; again++) {
                memset(got, 1, sizeof got);
                FC_EXPECT_OK_TEXT(run(loop, 3, got), fusec_message(ctx));
                FC_EXPECT_MEMEQ(got, want, sizeof got);
            }
            fusec_program_free(loop);
        }
        fusec_program_free(flat);
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
}

FC_TEST(loop, as_written_out) {
    compare_on("interp", 0, FC_COUNT(pairs));
    compare_on("cpu", 0, FC_COUNT(pairs));
}

/* Each program behind the driver is compiled by a C++ compiler, so a few of them. */
FC_TEST(loop, as_written_out_behind_a_fake_driver) {
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    compare_on("cuda", 0, FC_COUNT(pairs));
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Rounds cost what their kernels cost: nothing is compiled or planned again. */
FC_TEST(loop, many_rounds_compile_once) {
    fusec_context *ctx = capi_device("cpu");
    float y[N * M];
    if (!ctx) FC_SKIP("no LLVM");
    fusec_program *p = compile(ctx, "for s in 0..k { x = x + sum(x)*f32(1e-30) }; y = x", 0);
    FC_EXPECT_OK_TEXT(run(p, 3, y), fusec_message(ctx));
    const uint64_t before = p->p->bodies[0]->compiles;
    FC_EXPECT_OK_TEXT(run(p, 500, y), fusec_message(ctx));
    FC_EXPECT_EQ_U64(p->p->bodies[0]->compiles, before);
    fusec_program_free(p);
    fusec_context_free(ctx);
}

FC_TEST(loop, kernel_counts) {
    static const struct {
        const char *body;
        uint32_t steps, kernels;
    } plans[] = {
        {"for s in 0..k { x = x + 0.1*(roll(x, 1, axis=0) - 2*x) }; y = x", 1, 1},
        {"for s in 0..100 { x = x + 0.1*(roll(x, 1, axis=0) - 2*x) }; y = x", 1, 1},
        {"for s in 0..100 { x = 0.5*(x + 2/x) }; y = x", 1, 1},
        {"for s in 0..k while sum(x) > 1 { x = x/2 }; y = x", 2, 3},
        {"for s in 0..k { x = x - mean(x) }; y = x*2", 2, 3},
        {"for s in 0..100 { x = x + cumsum(uniform([n, m], stream=s), axis=1) }; y = x", 1, 1},
    };
    fusec_context *ctx = capi_device("interp");
    for (size_t i = 0; i < FC_COUNT(plans); i++) {
        FC_TRACE("%s", plans[i].body);
        fusec_program *p = compile(ctx, plans[i].body, 0);
        if (p) {
            FC_EXPECT_EQ_U64(p->p->plan->steps.len, plans[i].steps);
            FC_EXPECT_EQ_U64(fc_plan_kernels(p->p->plan), plans[i].kernels);
        }
        fusec_program_free(p);
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

FC_TEST(loop, an_end_before_the_begin) {
    fusec_context *ctx = capi_device("interp");
    float y[N * M];
    fusec_program *p = compile(ctx, "for s in 0..k { x = x + sum(x) }; y = x", 0);
    FC_EXPECT_EQ_I64(run(p, -4, y), FUSEC_SLICE_RANGE);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "from 0 to -4");
    fusec_program_free(p);
    fusec_context_free(ctx);
}

/* An index that is outside in some round, or in a round that is not made. */
FC_TEST(loop, an_index_outside) {
    OPEN(sh);
    EXPECT_RUN(sh, 4,
               "fusec -e 'x = f32(arange(3)); for s in 0..k { x = x + x[s] }; x' k=5 -d interp");
    EXPECT_RUN(sh, 0,
               "fusec -e 'x = f32(arange(3)); for s in 0..k while s < 3 { x = x + x[s] }; x' k=5 "
               "-d interp");
    shell_close(&sh);
}

FC_TEST(loop, may_be_bounded) {
    OPEN(sh);
    EXPECT_RUN(sh, 3,
               "fusec -e 'x = 1.0; for s in 0..k while x > 0 { x = x + 1 }; x' k=1000000 "
               "--max-rounds 50 -d interp -o y.npy");
    FC_EXPECT_CONTAINS(sh.err, "has not ended after 50 rounds");
    EXPECT_RUN(sh, 0,
               "fusec -e 'x = 1.0; for s in 0..k while x < 9 { x = x + 1 }; x' k=1000000 "
               "--max-rounds 50 -d interp");
    EXPECT_RUN(sh, 0, "test ! -e y.npy");
    shell_close(&sh);
}

/* How rounds are launched, and how their conditions are read. */
FC_TEST(loop, explain_says_how_rounds_go) {
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"for s in 0..100 { x = cumsum(x) }; x",
         "as the body has scan; on a GPU many go some at a time, as one graph\n"},
        {"r = 0.0; for s in 0..100 while r < 50 { x = cumsum(x); r = r + 1 }; x",
         "as the body has scan; the condition is read after each, on a GPU while later ones run; "
         "on a "
         "GPU many go some at a time, as one graph\n"},
        {"for s in 0..100 { x = sort(x)*0.5 }; x", "as the body has sort\n"},
    };
    OPEN(sh);
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        FC_TRACE("%s", cases[i].text);
        EXPECT_RUN(sh, 0, "fusec explain -d none -e '%s' x=rand:f32:9", cases[i].text);
        FC_EXPECT_CONTAINS(sh.out, cases[i].said);
        FC_UNTRACE();
    }
    shell_close(&sh);
}

/* Ctrl-C: as if the program had not run. */
FC_TEST(loop, may_be_interrupted) {
    OPEN(sh);
    EXPECT_RUN(sh, 130,
               "timeout --preserve-status -s INT 1 " FUSEC_COMMAND " -e 'x = ones([9]); "
               "for s in 0..k while sum(x) > 0 { x = x + sum(x)*0 }; x' "
               "k=1000000000000 -d interp -o y.npy");
    EXPECT_RUN(sh, 0, "test -z \"$(ls -A | grep npy)\"");
    shell_close(&sh);
}

/* ---- in C ------------------------------------------------------------------------------------ */

FC_TEST(loop, written_down_in_c) {
    fusec_context *ctx = NULL;
    fusec_graph *g = capi_start(NULL, &ctx);
    const float x[3] = {1, 2, 4};
    const int64_t n = 3;
    fusec_value out[3], u, k;
    fusec_loop *l = fusec_loop_begin(g, fusec_int(0), fusec_int(4));
    u = fusec_carry(l, fusec_array(g, FUSEC_F32, 1, &n, x));
    k = fusec_carry(l, fusec_sum(fusec_array(g, FUSEC_F32, 1, &n, x), 0, NULL, 0));
    fusec_next(l, u, fusec_add(u, fusec_sum(u, 0, NULL, 0)));
    fusec_next(l, k, fusec_add(k, fusec_cast(fusec_loop_counter(l), FUSEC_F32)));
    fusec_collect(l, fusec_max(u, 0, NULL, 0));
    FC_EXPECT_OK_TEXT(fusec_loop_end(l, 3, out), fusec_message(ctx));
    float got[3], sum, path[4], want[3] = {1, 2, 4}, most[4];
    for (int r = 0; r < 4; r++) {
        const float s = want[0] + want[1] + want[2];
        most[r] = want[2];
        for (int i = 0; i < 3; i++) want[i] += s;
    }
    FC_EXPECT_OK_TEXT(fusec_read(out[0], got, sizeof got), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(out[1], &sum, sizeof sum), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(out[2], path, sizeof path), fusec_message(ctx));
    FC_EXPECT_MEMEQ(got, want, sizeof got);
    FC_EXPECT_MEMEQ(path, most, sizeof path);
    FC_EXPECT_TRUE(sum == 13);
    fusec_graph_free(g);
    fusec_context_free(ctx);
}

FC_TEST(loop, mistakes_in_c) {
    fusec_context *ctx = NULL;
    fusec_graph *g = capi_start(NULL, &ctx);
    const float x[2] = {1, 2};
    const int64_t n = 2;
    float got[2];
    fusec_value out[2];
    fusec_loop *l = fusec_loop_begin(g, fusec_int(0), fusec_int(4));
    fusec_value u = fusec_carry(l, fusec_array(g, FUSEC_F32, 1, &n, x)), inside = fusec_add(u, u);
    fusec_next(l, u, inside);
    FC_EXPECT_OK_TEXT(fusec_loop_end(l, 1, out), fusec_message(ctx));
    FC_EXPECT_TRUE(fusec_read(inside, got, sizeof got) != FUSEC_OK);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "outside of it");
    l = fusec_loop_begin(g, fusec_int(0), fusec_int(4));
    u = fusec_carry(l, fusec_array(g, FUSEC_F32, 1, &n, x));
    fusec_next(l, u, fusec_sum(u, 0, NULL, 0));
    FC_EXPECT_EQ_I64(fusec_loop_end(l, 1, out), FUSEC_SHAPE_MISMATCH);
    fusec_graph_free(g);
    fusec_context_free(ctx);
}

/* ---- inside of a kernel or not --------------------------------------------------------------- */

/* Two loops inside of another read 35 values each: the outer one would read 70, which no kernel
 * takes. */
FC_TEST(loop, loops_inside_that_read_much_together) {
    char text[9000];
    int n = snprintf(text, sizeof text, "export def f(x: f32[n], k: i64) -> f32[n] {\nt = x\n");
    for (int i = 0; i < 70; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "v%d = x*%d\n", i, i);
    n += snprintf(text + n, sizeof text - (size_t)n, "for i in 0..k {\n");
    for (int half = 0; half < 2; half++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "for j in 0..k {\nt = t*0.5");
        for (int i = 0; i < 35; i++)
            n += snprintf(text + n, sizeof text - (size_t)n, " + v%d", half * 35 + i);
        n += snprintf(text + n, sizeof text - (size_t)n, "\n}\n");
    }
    snprintf(text + n, sizeof text - (size_t)n, "}\nreturn t\n}\n");
    fusec_context *ctx = capi_device("interp");
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    float x[3] = {1, 2, 4}, y[3] = {0};
    const int64_t size = 3, k = 1;
    FC_EXPECT_OK_TEXT(fusec_parse(ctx, "f.fuse", text, &m), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_module_compile(m, "f", 0, &p), fusec_message(ctx));
    const fusec_tensor in[2] = {{.data = x, .shape = &size, .rank = 1, .dtype = FUSEC_F32},
                                {.data = (void *)(uintptr_t)&k, .dtype = FUSEC_I64}};
    const fusec_tensor out = {.data = y, .shape = &size, .rank = 1, .dtype = FUSEC_F32};
    if (p) FC_EXPECT_OK_TEXT(fusec_run(p, 2, in, 1, &out), fusec_message(ctx));
    for (int i = 0; i < 3; i++) /* 0 + .. + 34 is 595, 35 + .. + 69 is 1820 */
        FC_EXPECT_EQ_F64((double)y[i], (double)x[i] * ((0.5 + 595) * 0.5 + 1820));
    fusec_program_free(p);
    fusec_module_free(m);
    fusec_context_free(ctx);
}

/* The `any` that ends a loop of elements has no value inside of a kernel: not in a loop inside of
 * it, where it is what a carried value begins with. */
FC_TEST(loop, the_end_of_a_loop_as_a_value_of_one_inside) {
    for (int uses = 0; uses < 2; uses++) {
        fc_graph g;
        fc_node y[2], inner;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        const fc_dim n = fc_dim_const(&g.dims, 4);
        const fc_node x = fc_build_input(&g, "x", FUSEC_F32, 1, &n),
                      no = fc_build_const(&g, FUSEC_BOOL, 0);
        fc_node start[2] = {x, fc_build_broadcast(&g, fc_build_const(&g, FUSEC_BOOL, 1), 1, &n)};
        fc_node hole[2] = {fc_build_hole(&g, FUSEC_F32, 1, &n),
                           fc_build_hole(&g, FUSEC_BOOL, 1, &n)};
        fc_node b = fc_build_hole(&g, FUSEC_BOOL, 0, NULL), next[2];
        const fc_node less = fc_build_op(&g, FC_OP_lt, hole[0], x, FC_NONODE);
        next[1] = fc_build_op(&g, FC_OP_logical_and, hole[1], less, FC_NONODE);
        const fc_node any = fc_build_reduce(&g, FC_OP_any, next[1], 0, NULL, false);
        const fc_node first = fc_build_const(&g, FUSEC_I64, 0),
                      end = fc_build_const(&g, FUSEC_I64, 3), from = uses ? any : no,
                      turned = fc_build_op(&g, FC_OP_logical_not, b, FC_NONODE, FC_NONODE);
        const fc_loop_parts inside = {.first = first,
                                      .end = end,
                                      .counter = FC_NONODE,
                                      .condition = FC_NONODE,
                                      .ncarried = 1,
                                      .start = &from,
                                      .hole = &b,
                                      .next = &turned};
        FC_EXPECT_TRUE(fc_build_loop(&g, &inside, &inner));
        const fc_node half =
            fc_build_op(&g, FC_OP_mul, hole[0], fc_build_cast(&g, inner, FUSEC_F32), FC_NONODE);
        next[0] = fc_build_op(&g, FC_OP_where, next[1], half, hole[0]);
        const fc_loop_parts p = {.first = first,
                                 .end = end,
                                 .counter = FC_NONODE,
                                 .condition = any,
                                 .ncarried = 2,
                                 .start = start,
                                 .hole = hole,
                                 .next = next};
        FC_EXPECT_TRUE(fc_build_loop(&g, &p, y));
        if (!g.error.code) FC_EXPECT_EQ_I64(fc_is_repeat(&g, fc_at(&g, y[0])->src[0]), !uses);
        FC_EXPECT_OK(g.error.code, &g.error);
        fc_graph_free(&g);
    }
}

/* Loops in the condition of a loop: of the first round they are made around it. */
FC_TEST(loop, a_condition_with_loops) {
    static const struct {
        const char *text;
        float want[3];
    } programs[] = {
        {"def h(t, k) {\n s = k - 3\n for j in 0..i64(t[0]) { s = s + j }\n return s < 2\n}\n",
         {6, 6, 6}},
        {"def h(t, k) {\n s = t\n for j in 0..3000 while sum(s) < 50 { s = flip(s, axis=0) + "
         "f32(j) }\n"
         "return sum(s) < 56\n}\n",
         {6, 6, 6}},
    };
    static const char *const devices[] = {"interp", "cpu"};
    for (size_t i = 0; i < 2 * FC_COUNT(programs); i++) {
        char text[600];
        fusec_context *ctx = capi_device(devices[i % 2]);
        if (!ctx) continue;
        fusec_module *m = NULL;
        fusec_program *p = NULL;
        float x[3] = {2, 3, 4}, y[3] = {0};
        const int64_t n = 3, k = 9;
        snprintf(text, sizeof text,
                 "%sexport def f(x: f32[n], k: i64) -> f32[n] {\nt = x\n"
                 "for i in 0..k while h(t, i) { t = flip(t, axis=0) + x }\nreturn t\n}\n",
                 programs[i / 2].text);
        FC_EXPECT_OK_TEXT(fusec_parse(ctx, "f.fuse", text, &m), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_module_compile(m, "f", 0, &p), fusec_message(ctx));
        const fusec_tensor in[2] = {{.data = x, .shape = &n, .rank = 1, .dtype = FUSEC_F32},
                                    {.data = (void *)(uintptr_t)&k, .dtype = FUSEC_I64}};
        const fusec_tensor out = {.data = y, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
        if (p) FC_EXPECT_OK_TEXT(fusec_run(p, 2, in, 1, &out), fusec_message(ctx));
        for (int e = 0; e < 3; e++) FC_EXPECT_EQ_F64((double)y[e], (double)programs[i / 2].want[e]);
        fusec_program_free(p);
        fusec_module_free(m);
        fusec_context_free(ctx);
    }
}
