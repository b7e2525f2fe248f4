/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_llvm_math.c - the vector functions of the LLVM backend against their bounds.
 *
 * Each f32 function is compiled and run on every 97th bit pattern (every 1,009th under a sanitizer;
 * FUSEC_TEST_STRIDE=1 in the environment takes all of them), around the inputs where a formula
 * changes, and on special values; two operands, and f64, on samples. The reference is libm in
 * double, or in long double for f64. Also checked: the sign of zeros, overflow to infinity, and
 * f(-x) = -f(x) or f(x) to the bit. */
#include "codegen/llvm/llvm_math.h"
#include "tests/support/row_run.h"
#include "tests/support/test.h"
#include "tests/support/ulp.h"

#include <stdio.h>
#include <stdlib.h>

enum { STRIDE = FC_SANITIZED ? 1009 : 97 };
enum { N = 4096, EVEN = 1, ODD = -1 };

/* ---- a kernel that applies one row ------------------------------------------------------- */

typedef struct rig {
    fc_row_run *run;
    void *data[3]; /* x, y, result */
} rig;

static bool rig_open(rig *r, fc_op op, fusec_dtype t) {
    fc_error e = {0};
    r->run = fc_row_run_open(0, op, t, N, NULL, &e);
    FC_EXPECT_OK(e.code, &e);
    for (int i = 0; r->run && i < 3; i++) r->data[i] = fc_row_run_data(r->run, i);
    return r->run != NULL;
}

static void rig_close(rig *r) {
    fc_row_run_close(r->run);
}

static bool rig_run(rig *r) {
    fc_error e = {0};
    fusec_status st = fc_row_run_first(r->run, N, &e);
    FC_EXPECT_OK(st, &e);
    return st == FUSEC_OK;
}

/* ---- errors ------------------------------------------------------------------------------ */

typedef struct worst {
    double ulp, x, y, got, want;
} worst;

static void note(worst *w, double ulp, double x, double y, double got, double want) {
    if (ulp > w->ulp) *w = (worst){ulp, x, y, got, want};
}

static void judge(const worst *w, fc_op op, double bound) {
    if (w->ulp > bound)
        FC_FAIL("%s(%a, %a) is %a, not %a: off by %g ulp, the bound is %g", fc_ops[op].name, w->x,
                w->y, w->got, w->want, w->ulp, bound);
    if (getenv("FUSEC_TEST_STRIDE"))
        printf("%-6s %.4f ulp at %a, %a\n", fc_ops[op].name, w->ulp, w->x, w->y);
}

/* ---- functions of one f32 -------------------------------------------------------------------- */

typedef struct unary {
    fc_op op;
    double (*of)(double);
    long double (*wide)(long double);
    int symmetry;
    float around[6]; /* where formulas change or results end */
} unary;

static const unary unaries[] = {
    {FC_OP_exp, exp, expl, 0, {88.72284f, -87.33655f, -103.97208f, -104, 89, 0.34657359f}},
    {FC_OP_exp2, exp2, exp2l, 0, {128, -126, -149, -150, 0.5f}},
    {FC_OP_expm1, expm1, expm1l, 0, {88.72284f, -30, -17.328680f, 0.34657359f}},
    {FC_OP_log, log, logl, 0, {1, 0.70710678f, 1.41421356f, 0x1p-126f, 0x1p127f}},
    {FC_OP_log2, log2, log2l, 0, {1, 0.70710678f, 1.41421356f, 0x1p-126f, 8}},
    {FC_OP_log10, log10, log10l, 0, {1, 0.70710678f, 1.41421356f, 0x1p-126f, 1000}},
    {FC_OP_log1p, log1p, log1pl, 0, {-1, -0.29289322f, 0.41421356f, 0x1p-126f, 0x1p-24f}},
    {FC_OP_cbrt, cbrt, cbrtl, ODD, {1, 0x1p-126f, 27, 8}},
    {FC_OP_sin, sin, sinl, ODD, {0.78539816f, 1.57079633f, 3.14159265f, 0x1p20f, 1647099}},
    {FC_OP_cos, cos, cosl, EVEN, {0.78539816f, 1.57079633f, 3.14159265f, 0x1p20f, 1647099}},
    {FC_OP_tan, tan, tanl, ODD, {0.78539816f, 1.57079633f, 3.14159265f, 0x1p20f, 1647099}},
    {FC_OP_asin, asin, asinl, ODD, {1, 0.5f, 0x1p-126f}},
    {FC_OP_acos, acos, acosl, 0, {1, 0.5f, 0x1p-126f}},
    {FC_OP_atan, atan, atanl, ODD, {1, 0.5f, 0x1p-126f, 0x1p126f}},
    {FC_OP_sinh, sinh, sinhl, ODD, {89.415986f, 91, 0.34657359f, 0x1p-126f}},
    {FC_OP_cosh, cosh, coshl, EVEN, {89.415986f, 91, 0.34657359f, 0x1p-126f}},
    {FC_OP_tanh, tanh, tanhl, ODD, {0.625f, 9.0109134f, 10, 0x1p-126f}},
    {FC_OP_asinh, asinh, asinhl, ODD, {0x1p-12f, 0.41421356f, 0x1p-126f}},
    {FC_OP_acosh, acosh, acoshl, 0, {1, 1.0606602f, 1.5f}},
    {FC_OP_atanh, atanh, atanhl, ODD, {1, 0.29289322f, 0.41421356f, 0x1p-126f}},
    {FC_OP_erf, erf, erfl, ODD, {0.92f, 3.8325067f, 4, 0x1p-126f}},
    {FC_OP_erfc, erfc, erfcl, 0, {10.054125f, 9.194549f, 3.8325067f, -3.8325067f, 10.1f}},
};

static void run_f32(rig *r, const unary *u, worst *w) {
    const float *x = r->data[0], *got = r->data[2];
    if (!rig_run(r)) return;
    for (int i = 0; i < N; i++) {
        const double want = u->of((double)x[i]);
        note(w, fc_ulps(FUSEC_F32, (double)got[i], (long double)want), (double)x[i], 0,
             (double)got[i], want);
    }
}

static float from_bits(uint32_t b) {
    float v;
    memcpy(&v, &b, sizeof v);
    return v;
}

static uint32_t to_bits(float v) {
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

static void sweep_bits(rig *r, const unary *u, worst *w) {
    const char *asked = getenv("FUSEC_TEST_STRIDE");
    const uint64_t stride = asked && atoi(asked) > 0 ? (uint64_t)atoi(asked) : STRIDE;
    float *x = r->data[0];
    for (uint64_t at = 0; at <= UINT32_MAX;) {
        for (int i = 0; i < N; i++, at += stride) x[i] = from_bits((uint32_t)at);
        run_f32(r, u, w);
    }
}

static void sweep_around(rig *r, const unary *u, worst *w) {
    static const float special[] = {0, INFINITY, NAN, 1, 0x1p-149f, 0x1.fffffep127f, 2};
    float *x = r->data[0];
    for (size_t k = 0; k < FC_COUNT(u->around) + FC_COUNT(special); k++) {
        const float at = k < FC_COUNT(u->around) ? u->around[k] : special[k - FC_COUNT(u->around)];
        const uint32_t from = to_bits(at) - N / 4;
        for (uint32_t i = 0; i < N / 2; i++) {
            x[i] = from_bits(from + i);
            x[N / 2 + i] = from_bits((from + i) ^ 0x80000000u);
        }
        run_f32(r, u, w);
    }
}

/* Equal inputs but for the sign must give equal bits but for it. */
static void check_symmetry(rig *r, const unary *u) {
    float *x = r->data[0];
    const float *got = r->data[2];
    for (uint32_t round = 0; u->symmetry != 0 && round < 200; round++) {
        for (uint32_t i = 0; i < N / 2; i++) {
            x[i] = from_bits((round * (N / 2) + i) * 5233u & 0x7fffffff);
            x[N / 2 + i] = -x[i];
        }
        if (!rig_run(r)) return;
        for (int i = 0; i < N / 2; i++) {
            const float other = u->symmetry == ODD ? -got[N / 2 + i] : got[N / 2 + i];
            if (to_bits(got[i]) == to_bits(other) || isnan(other)) continue;
            FC_FAIL("%s(%a) is %a, of its negative %a", fc_ops[u->op].name, (double)x[i],
                    (double)got[i], (double)got[N / 2 + i]);
            return;
        }
    }
}

static void check_f32(void *arg) {
    FC_TAKE_ONE_OF(3);
    const unary *u = arg;
    rig r;
    worst w = {0};
    if (rig_open(&r, u->op, FUSEC_F32)) {
        sweep_bits(&r, u, &w);
        sweep_around(&r, u, &w);
        check_symmetry(&r, u);
        judge(&w, u->op, (double)fc_ops[u->op].ulp32);
    }
    rig_close(&r);
}

/* ---- functions of one f64 -------------------------------------------------------------------- */

static uint64_t noise(uint64_t v) {
    v = (v + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 29)) * 0x94d049bb133111ebu;
    return v ^ (v >> 32);
}

/* Exponents over the whole range, or the middle of it. */
static double sample(uint64_t n) {
    static const double special[] = {0,
                                     INFINITY,
                                     NAN,
                                     1,
                                     0x1p-1074,
                                     0x1p-1022,
                                     0.5,
                                     709.78271,
                                     -745.1332191,
                                     0.625,
                                     0x1.4c96c11134d36p+578,
                                     22,
                                     0x1p30,
                                     0x1p60,
                                     -708.3964,
                                     0x1.fffffffffffffp1023};
    const uint64_t h = noise(n), g = noise(h);
    if (n < 2 * FC_COUNT(special)) return n & 1 ? -special[n / 2] : special[n / 2];
    const double m = 1 + (double)(h >> 12) * 0x1p-52;
    const int e = g & 2 ? (int)(g >> 8) % 2098 - 1074 : (int)(g >> 8 & 63) - 50;
    return ldexp(g & 1 ? -m : m, e);
}

/* The reference would be wrong itself at the hardest inputs, were it not for its eleven
 * more bits. */
static void check_f64(void *arg) {
    FC_TAKE_ONE_OF(3);
    const unary *u = arg;
    rig r;
    worst w = {0};
    if (rig_open(&r, u->op, FUSEC_F64)) {
        double *x = r.data[0];
        const double *got = r.data[2];
        for (uint64_t round = 0; round < 150; round++) {
            for (uint64_t i = 0; i < N; i++) x[i] = sample(round * N + i);
            if (!rig_run(&r)) break;
            for (int i = 0; i < N; i++) {
                const long double want = u->wide(x[i]);
                note(&w, fc_ulps(FUSEC_F64, got[i], want), x[i], 0, got[i], (double)want);
            }
        }
        judge(&w, u->op, (double)fc_ops[u->op].ulp64);
    }
    rig_close(&r);
}

/* ---- two operands ---------------------------------------------------------------------------- */

typedef struct binary {
    fc_op op;
    double (*of)(double, double);
    long double (*wide)(long double, long double);
} binary;

static const binary binaries[] = {
    {FC_OP_pow, pow, powl}, {FC_OP_atan2, atan2, atan2l}, {FC_OP_hypot, hypot, hypotl}};

static const float specials[] = {0,
                                 1,
                                 INFINITY,
                                 NAN,
                                 0.5f,
                                 2,
                                 3,
                                 4,
                                 1e-40f,
                                 3e38f,
                                 1.5f,
                                 2.5f,
                                 1e38f,
                                 0x1.fffffep-1f,
                                 0x1.000002p0f,
                                 0x1p24f,
                                 0x1.fffffep23f,
                                 0x1p-149f,
                                 0x1p-126f,
                                 100,
                                 101,
                                 127,
                                 128,
                                 149};
enum { SPECIALS = FC_COUNT(specials) };

static float special_of(uint64_t n) {
    const float v = specials[n / 2 % SPECIALS];
    return n & 1 ? -v : v;
}

/* Any bits; then a product y log2 x within what has a finite power, and bases near 1; quotients
 * near 1. */
static void pair(uint64_t n, float *x, float *y) {
    const uint64_t h = noise(n), g = noise(h);
    *x = from_bits((uint32_t)h);
    *y = from_bits((uint32_t)g);
    if (n < (uint64_t)SPECIALS * SPECIALS * 4) {
        *x = special_of(n % (SPECIALS * 2));
        *y = special_of(n / (SPECIALS * 2));
    } else if (n % 4 == 1) {
        *y = (float)((double)(g >> 11) * 0x1p-53 * 300 - 150);
        *y /= fmaxf(0x1p-30f, fabsf(log2f(fabsf(*x))));
    } else if (n % 4 == 2) {
        *x = 1 + (float)((double)(h >> 11) * 0x1p-53 - 0.5) / 64;
        *y = (float)((double)(g >> 11) * 0x1p-53 * 8000);
    } else if (n % 4 == 3) {
        *y = truncf(*x) == *x ? (float)(g % 64) : *x * (1 + (float)(g % 1000) / 1000);
    }
}

static void check_pair(void *arg) {
    FC_TAKE_ONE_OF(3);
    const binary *u = arg;
    rig r;
    worst w = {0};
    if (rig_open(&r, u->op, FUSEC_F32)) {
        float *x = r.data[0], *y = r.data[1];
        const float *got = r.data[2];
        for (uint64_t round = 0; round < 300; round++) {
            for (uint64_t i = 0; i < N; i++) pair(round * N + i, &x[i], &y[i]);
            if (!rig_run(&r)) break;
            for (int i = 0; i < N; i++) {
                const double want = u->of((double)x[i], (double)y[i]);
                note(&w, fc_ulps(FUSEC_F32, (double)got[i], (long double)want), (double)x[i],
                     (double)y[i], (double)got[i], want);
            }
        }
        judge(&w, u->op, (double)fc_ops[u->op].ulp32);
    }
    rig_close(&r);
}

/* The like in f64: any exponents, small whole numbers, powers that just fit, quotients near 1. */
static void pair_f64(uint64_t n, double *x, double *y) {
    const uint64_t h = noise(n), g = noise(h);
    *x = sample(2 * n + 100);
    *y = sample(2 * n + 101);
    if (n < (uint64_t)SPECIALS * SPECIALS * 4) {
        *x = (double)special_of(n % (SPECIALS * 2));
        *y = (double)special_of(n / (SPECIALS * 2));
    } else if (n % 4 == 1) {
        *y = ((double)(g >> 11) * 0x1p-53 * 2200 - 1100) / fmax(0x1p-50, fabs(log2(fabs(*x))));
    } else if (n % 4 == 2) {
        *x = 1 + ((double)(h >> 11) * 0x1p-53 - 0.5) / 64;
        *y = (double)(g >> 11) * 0x1p-53 * 80000;
    } else if (n % 4 == 3) {
        *x = (double)(h % 4096);
        *y = n & 4 ? (double)(g % 300) - 100 : *x * (1 + (double)(g % 1000) / 1000);
    }
}

static void check_pair_f64(void *arg) {
    FC_TAKE_ONE_OF(3);
    const binary *u = arg;
    rig r;
    worst w = {0};
    if (rig_open(&r, u->op, FUSEC_F64)) {
        double *x = r.data[0], *y = r.data[1];
        const double *got = r.data[2];
        for (uint64_t round = 0; round < 150; round++) {
            for (uint64_t i = 0; i < N; i++) pair_f64(round * N + i, &x[i], &y[i]);
            if (!rig_run(&r)) break;
            for (int i = 0; i < N; i++) {
                const long double want = u->wide(x[i], y[i]);
                note(&w, fc_ulps(FUSEC_F64, got[i], want), x[i], y[i], got[i], (double)want);
            }
        }
        judge(&w, u->op, (double)fc_ops[u->op].ulp64);
    }
    rig_close(&r);
}

/* Operands of rows that commute may change places, so nothing may depend on which comes first. */
FC_TEST(llvm_math, functions_that_commute) {
    static double kept[N];
    for (fc_op op = 0; op < FC_OP_COUNT_; op++) {
        const uint32_t flags = fc_ops[op].flags;
        rig r;
        if (!(flags & FC_F_COMMUTES) || !(flags & FC_F_TRANSCENDENTAL) || fc_ops[op].arity != 2)
            continue;
        if (rig_open(&r, op, FUSEC_F64)) {
            double *x = r.data[0], *y = r.data[1];
            for (uint64_t round = 0; round < 20; round++) {
                for (uint64_t i = 0; i < N; i++) {
                    x[i] = sample(2 * (round * N + i));
                    y[i] = x[i] * (1 + (double)(noise(i) % 4096) / 1024);
                }
                if (!rig_run(&r)) break;
                memcpy(kept, r.data[2], sizeof kept);
                for (int i = 0; i < N; i++) {
                    const double first = x[i];
                    x[i] = y[i];
                    y[i] = first;
                }
                if (!rig_run(&r)) break;
                FC_TRACE("%s", fc_ops[op].name);
                FC_EXPECT_MEMEQ(r.data[2], kept, sizeof kept);
                FC_UNTRACE();
            }
        }
        rig_close(&r);
    }
}

FC_REGISTER(llvm_math) {
    for (size_t k = 0; k < FC_COUNT(unaries); k++) {
        const unary *u = &unaries[k];
        char name[40];
        FC_ADD_TEST("llvm_math", fc_ops[u->op].name, check_f32, u);
        snprintf(name, sizeof name, "%s_f64", fc_ops[u->op].name);
        FC_ADD_TEST("llvm_math", name, check_f64, u);
    }
    for (size_t k = 0; k < FC_COUNT(binaries); k++) {
        const binary *u = &binaries[k];
        char name[40];
        FC_ADD_TEST("llvm_math", fc_ops[u->op].name, check_pair, u);
        snprintf(name, sizeof name, "%s_f64", fc_ops[u->op].name);
        FC_ADD_TEST("llvm_math", name, check_pair_f64, u);
    }
}
