/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_rounds.c - loops that every element makes on its own, inside of a kernel, against the same
 * text with the rounds written out: on the interpreter, the CPU and CUDA behind a fake driver, with
 * the same bits. How many kernels they are, and what explain says. */
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/langbox.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "frontend/capi/program.h"
#include "passes/bodies.h"
#include "tests/support/shell.h"

#include <fusec/fusec.h>

enum { N = 7, M = 45 };

/* f(x: f32[n, m], k: i32) gives y: f32[n, m], for k = 3 the same as without a loop; one kernel
 * where nothing else is said. */
static const struct {
    const char *name, *loop, *flat;
    uint32_t kernels; /* 0: 1 */
} pairs[] = {
    {"newton", "y = x; for s in 0..k { y = 0.5*(y + abs(x)/y) }; y = y*2",
     "y = x; for s in 0..3 { y = 0.5*(y + abs(x)/y) }; y = y*2", 0},
    {"counter", "y = x; for s in 2..k+2 { y = y*f32(s) + s }",
     "y = x; for s in 2..5 { y = y*f32(s) + s }", 0},
    {"swap", "z = 2*x; for s in 0..k { t = x; x = z + s; z = t }; y = x - z",
     "z = 2*x; for s in 0..3 { t = x; x = z + s; z = t }; y = x - z", 0},
    {"each stops",
     "c = zeros([n, m]); for s in 0..k+60 while abs(x) < 8 { x = 2*x + 1; c = c + 1 }; y = x + c",
     "c = zeros([n, m]); for s in 0..9 while abs(x) < 8 { x = 2*x + 1; c = c + 1 }; y = x + c", 0},
    {"all stop", "r = 9.0; for s in 0..99 while r > f32(k) { x = x*1.5 - r; r = r - 2 }; y = x",
     "for s in 0..3 { x = x*1.5 - (9.0 - 2*s) }; y = x", 0},
    {"the counter stops", "for s in 0..99 while s < k { x = sqrt(abs(x) + s) }; y = x",
     "for s in 0..3 { x = sqrt(abs(x) + s) }; y = x", 0},
    {"functions", "for s in 0..k { x = sin(x) + exp(-x*x)*s }; y = x",
     "for s in 0..3 { x = sin(x) + exp(-x*x)*s }; y = x", 0},
    {"nested", "for s in 0..k { for r in 0..s { x = x*0.5 + r }; x = x*s + 1 }; y = x",
     "for s in 0..3 { for r in 0..s { x = x*0.5 + r }; x = x*s + 1 }; y = x", 0},
    {"nested while",
     "for s in 0..k { c = x; for r in 0..k+30 while c > s { c = c - 0.5 }; x = x + c }; y = x",
     "for s in 0..3 { c = x; for r in 0..15 while c > s { c = c - 0.5 }; x = x + c }; y = x", 0},
    {"a scalar besides", "a = 1.0; for s in 0..k { x = x + a; a = a*2 + s }; y = x*a",
     "a = 1.0; for s in 0..3 { x = x + a; a = a*2 + s }; y = x*a", 0},
    {"rows and columns", "u = x[:, 0]; v = x[1, :]; for s in 0..k { x = x*u[:, None] + v }; y = x",
     "u = x[:, 0]; v = x[1, :]; for s in 0..3 { x = x*u[:, None] + v }; y = x", 0},
    {"half", "h = f16(x); for s in 0..k { h = h*h + f16(x) }; y = f32(h)",
     "h = f16(x); for s in 0..3 { h = h*h + f16(x) }; y = f32(h)", 0},
    {"brain", "h = bf16(x); for s in 0..k { h = -h*h/3 + bf16(x) }; y = f32(h)",
     "h = bf16(x); for s in 0..3 { h = -h*h/3 + bf16(x) }; y = f32(h)", 0},
    {"double", "d = f64(x); for s in 0..k { d = d*d - s/7 }; y = f32(d)",
     "d = f64(x); for s in 0..3 { d = d*d - s/7 }; y = f32(d)", 0},
    {"bytes",
     "b = i8(x*8); for s in 0..k { b = b*b - i8(s) + (b < 0 ? i8(3) : i8(1)) }; y = f32(b)",
     "b = i8(x*8); for s in 0..3 { b = b*b - i8(s) + (b < 0 ? i8(3) : i8(1)) }; y = f32(b)", 0},
    {"division of integers", "b = i32(x*8); for s in 0..k { b = (b*7 + s)//(b % 3) }; y = f32(b)",
     "b = i32(x*8); for s in 0..3 { b = (b*7 + s)//(b % 3) }; y = f32(b)", 0},
    {"flags", "b = x > 0; c = x < 1; for s in 0..k { t = b; b = b ^ c; c = t }; y = b ? x : -x",
     "b = x > 0; c = x < 1; for s in 0..3 { t = b; b = b ^ c; c = t }; y = b ? x : -x", 0},
    {"before a sum", "for s in 0..k { x = x*x - 1 }; y = x + sum(x, axis=1, keepdims=true)",
     "for s in 0..3 { x = x*x - 1 }; y = x + sum(x, axis=1, keepdims=true)", 0},
    {"after a sum", "r = max(x, axis=1, keepdims=true); for s in 0..k { x = x*r - s }; y = x",
     "r = max(x, axis=1, keepdims=true); for s in 0..3 { x = x*r - s }; y = x", 0},
    {"of a row", "r = sum(x, axis=1, keepdims=true); for s in 0..k { r = r*0.5 + s }; y = x*r",
     "r = sum(x, axis=1, keepdims=true); for s in 0..3 { r = r*0.5 + s }; y = x*r", 0},
    {"before columns", "for s in 0..k { x = x*x - 1 }; y = x*sum(x, axis=0)",
     "for s in 0..3 { x = x*x - 1 }; y = x*sum(x, axis=0)", 3},
    {"before a scan", "for s in 0..k { x = x*x - 1 }; y = cumsum(x, axis=1)*2",
     "for s in 0..3 { x = x*x - 1 }; y = cumsum(x, axis=1)*2", 0},
    {"after a scan", "c = cumsum(x, axis=0); for s in 0..k { c = c*0.5 + x }; y = c",
     "c = cumsum(x, axis=0); for s in 0..3 { c = c*0.5 + x }; y = c", 0},
    {"read turned", "for s in 0..k { x = x*x - 1 }; y = flip(x, axis=1) + flip(x, axis=0)",
     "for s in 0..3 { x = x*x - 1 }; y = flip(x, axis=1) + flip(x, axis=0)", 2},
    {"twice the same rounds",
     "u = x; v = flip(x, axis=0); for s in 0..k { u = u*u - 1 }; for s in 0..k { v = v*v - 1 }; y "
     "= u - v",
     "u = x; v = flip(x, axis=0); for s in 0..3 { u = u*u - 1 }; for s in 0..3 { v = v*v - 1 }; y "
     "= u - v",
     0},
    {"one after the other", "for s in 0..k { x = x*x - 1 }; for s in 0..k { x = x - s }; y = x",
     "for s in 0..3 { x = x*x - 1 }; for s in 0..3 { x = x - s }; y = x", 0},
    {"beside a nested one",
     "u = x; for s in 0..k { for r in 0..2 { u = u*u - s } }; b = i32(u*2); for s in 0..k { b = "
     "b*b - "
     "s }; y = f32(b)",
     "u = x; for s in 0..3 { for r in 0..2 { u = u*u - s } }; b = i32(u*2); for s in 0..3 { b = "
     "b*b - "
     "s }; y = f32(b)",
     0},
    {"no rounds", "for s in 3..k { x = x*7 }; y = x", "y = x", 0},
    {"of constants", "c = 1.0; for s in 0..k { c = c*3 + s }; y = x*c",
     "c = 1.0; for s in 0..3 { c = c*3 + s }; y = x*c", 0},
};

static fusec_program *compile(fusec_context *ctx, const char *body) {
    char text[900];
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    snprintf(text, sizeof text,
             "export def f(x: f32[n, m], k: i32) -> f32[n, m] {\n%s\nreturn y\n}\n", body);
    for (char *c = text; *c; c++)
        if (*c == ';') *c = '\n';
    FC_EXPECT_OK_TEXT(fusec_parse(ctx, "f.fuse", text, &m), fusec_message(ctx));
    if (m) FC_EXPECT_OK_TEXT(fusec_module_compile(m, "f", 0, &p), fusec_message(ctx));
    fusec_module_free(m);
    return p;
}

static fusec_status run(fusec_program *p, int32_t k, float *y) {
    float x[N * M];
    const int64_t shape[2] = {N, M};
    for (int i = 0; i < N * M; i++) x[i] = (float)(i * 7 % 23) / 8 - 1.3f;
    const fusec_tensor in[2] = {{.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                                {.data = &k, .rank = 0, .dtype = FUSEC_I32}};
    const fusec_tensor out = {.data = y, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
    return fusec_run(p, 2, in, 1, &out);
}

static void compare_on(const char *device, size_t step) {
    fusec_context *ctx = capi_device(device);
    if (!ctx) return;
    for (size_t i = 0; i < FC_COUNT(pairs); i += step) {
        FC_TRACE("%s on %s", pairs[i].name, device);
        float want[N * M] = {0}, got[N * M] = {1};
        fusec_program *flat = compile(ctx, pairs[i].flat), *loop = compile(ctx, pairs[i].loop);
        if (flat && loop) {
            FC_EXPECT_OK_TEXT(run(flat, 3, want), fusec_message(ctx));
            FC_EXPECT_OK_TEXT(run(loop, 3, got), fusec_message(ctx));
            FC_EXPECT_MEMEQ(got, want, sizeof got);
            FC_EXPECT_EQ_U64(loop->p->plan->bodies.len, 0);
            FC_EXPECT_EQ_U64(loop->p->plan->steps.len, pairs[i].kernels ? pairs[i].kernels : 1);
        }
        fusec_program_free(flat);
        fusec_program_free(loop);
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
}

FC_TEST(rounds, as_written_out) {
    compare_on("interp", 1);
    compare_on("cpu", 1);
}

/* Each program behind the driver is compiled by a C++ compiler, so a few of them. */
FC_TEST(rounds, as_written_out_behind_a_fake_driver) {
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    compare_on("cuda", 3);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Which loops are launches, and why. */
FC_TEST(rounds, others_are_launches) {
    static const struct {
        const char *body, *why;
    } plans[] = {
        {"for s in 0..k { x = x + sum(x) }; y = x", "sum"},
        {"for s in 0..k { x = x + flip(x, axis=0) }; y = x", "slice"},
        {"for s in 0..2000000 while x > 0 { x = x - 1 }; y = x",
         "too many rounds for the inside of a kernel"},
        {"r = 0.0; for s in 0..k while x > r { x = x - 1 }; y = x", NULL},
        {"u = x[:, 0]; for s in 0..k { x = x + u[:, None]; u = u*2 }; y = x", "several shapes"},
        {"for s in 0..n { p[s] = x; x = x*2 }; y = sum(p, axis=0)", "values that are collected"},
        {"z = complex(x, 0); for s in 0..k { z = z*z + 1 }; y = real(z)", "complex numbers"},
    };
    fusec_context *ctx = capi_device("interp");
    for (size_t i = 0; i < FC_COUNT(plans); i++) {
        FC_TRACE("%s", plans[i].body);
        fusec_program *p = compile(ctx, plans[i].body);
        const fc_plan *plan = p ? p->p->plan : NULL;
        if (plan) FC_EXPECT_EQ_U64(plan->bodies.len, plans[i].why != NULL);
        if (plan && plan->bodies.len) FC_EXPECT_CONTAINS(plan->bodies.at[0]->why, plans[i].why);
        fusec_program_free(p);
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
}

/* Little that is elementwise is put in, much is not. */
FC_TEST(rounds, kernel_counts) {
    OPEN(sh);
    EXPECT_RUN(
        sh, 0,
        "fusec explain -e 'for k in 0..20 { y = 0.5*(y + a/y) }; y' a=f32:100 y=f32:100 -d interp");
    FC_EXPECT_CONTAINS(sh.out, "rounds    k0: 20 inside, each element on its own\n");
    EXPECT_RUN(sh, 0,
               "fusec explain -e 'for k in 0..n while y > 1 { y = 0.5*(y + a/y) }; y' a=f32:100 "
               "y=f32:100 n=90 -d interp");
    FC_EXPECT_CONTAINS(
        sh.out, "rounds    k0: 90 inside, each element on its own, while its condition holds");
    EXPECT_RUN(sh, 0,
               "fusec explain -e 'for k in 0..20 { y = 0.5*(y + a/y) }; y' a=f32:100 y=f32:100 -d "
               "interp --json");
    FC_EXPECT_CONTAINS(sh.out, "\"inside\":[{\"rounds\":20,\"condition\":false}]");
    shell_close(&sh);
}

/* Rounds of little code are written down several times by the compiler of a GPU's text. */
FC_TEST(rounds, of_little_code_go_together) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "fusec explain -e 'for s in 0..99 while x*x < 9 { x = x*x + 0.1 }; x' x=f32:9 "
               "--device none --arch sm_90 --emit cuda | grep -c 'pragma unroll 4'");
    FC_EXPECT_STREQ(sh.out, "1\n");
    EXPECT_RUN(
        sh, 0,
        "fusec explain -e 'for s in 0..99 { x = sin(x)*exp(x) + log(x) }; x' x=f32:9 "
        "--device none --arch sm_90 --emit cuda | grep -A1 'void loop0' | grep -c 'unroll 1'");
    FC_EXPECT_STREQ(sh.out, "1\n");
    shell_close(&sh);
}
