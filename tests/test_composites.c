/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_composites.c - functions of several nodes (ir/composites.def) against plain C: special
 * values through the maps, rows with nans and without through the folds, on the interpreter and the
 * CPU. */
#include "tests/support/capi.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "ir/base.h"
#include "ir/dtype.h"
#include "tests/support/gb.h"

static const char *const devices[] = {"interp", "cpu"};

/* ---- maps --------------------------------------------------------------------------------------
 */

static const double specials[] = {
    0,        -0.0,      1,        -1,        2.5, -2.5,     0.1,     -7, 1e30,  1e-40,
    0x1p-149, -0x1p-149, INFINITY, -INFINITY, NAN, 0x1p-126, 0x1p127, 3,  65504, 0x1.fffffep127};
enum { N = FC_COUNT(specials), PAIRS = N * N };

static bool same(double a, double b) {
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static void expect(const char *what, const float *got, const float *x, const float *y, float want,
                   size_t i) {
    if (!same((double)got[i], (double)want))
        FC_FAIL("%s(%a, %a) is %a, not %a", what, (double)x[i], (double)y[i], (double)got[i],
                (double)want);
}

static float spacing(float x) {
    if (!isfinite(x)) return NAN;
    const float a = fabsf(x), up = nextafterf(a, INFINITY);
    return copysignf(isinf(up) ? a - nextafterf(a, 0) : up - a, x);
}

static void check_maps(void *arg) {
    static float x[PAIRS], y[PAIRS], next[PAIRS], step[PAIRS], part[PAIRS], whole[PAIRS], m[PAIRS];
    static float q[PAIRS], r[PAIRS], quotient[PAIRS], rest[PAIRS];
    static int32_t e[PAIRS];
    const int64_t n = PAIRS;
    fusec_context *ctx = NULL;
    if (capi_open(arg, 2, &ctx) || fusec_device(ctx, NULL, NULL)) {
        fusec_context_free(ctx);
        FC_SKIP("there is no device %s", (const char *)arg);
    }
    fusec_graph *g = NULL;
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    for (size_t i = 0; i < PAIRS; i++) {
        x[i] = (float)specials[i / N];
        y[i] = (float)specials[i % N];
    }
    const fusec_value a = fusec_array(g, FUSEC_F32, 1, &n, x);
    const fusec_value b = fusec_array(g, FUSEC_F32, 1, &n, y);
    fusec_value two[6];
    fusec_modf(a, &two[0], &two[1]);
    fusec_frexp(a, &two[2], &two[3]);
    fusec_divmod(a, b, &two[4], &two[5]);
    const struct {
        fusec_value v;
        void *out;
    } rows[] = {{fusec_nextafter(a, b), next},
                {fusec_spacing(a), step},
                {two[0], part},
                {two[1], whole},
                {two[2], m},
                {two[3], e},
                {two[4], q},
                {two[5], r},
                {fusec_floordiv(a, b), quotient},
                {fusec_mod(a, b), rest}};
    for (size_t k = 0; k < FC_COUNT(rows); k++)
        FC_EXPECT_OK_TEXT(fusec_read(rows[k].v, rows[k].out, sizeof x), fusec_message(ctx));
    for (size_t i = 0; i < PAIRS && !fc_test_has_failed(); i++) {
        float w;
        int k = 0;
        const float f = modff(x[i], &w);
        expect("nextafter", next, x, y, nextafterf(x[i], y[i]), i);
        expect("spacing", step, x, y, spacing(x[i]), i);
        expect("modf", part, x, y, f, i);
        expect("modf", whole, x, y, w, i);
        expect("frexp", m, x, y, isfinite(x[i]) ? frexpf(x[i], &k) : x[i], i);
        FC_EXPECT_EQ_I64(e[i], isfinite(x[i]) ? k : 0);
        expect("divmod", q, x, y, quotient[i], i);
        expect("divmod", r, x, y, rest[i], i);
    }
    capi_end(ctx, g);
}

/* The step of f16 and bf16 is theirs, not that of the f32 they compute in. */
FC_TEST(composites, halves) {
    static const uint16_t in[2][4] = {{0x3c00, 0x0000, 0x7bff, 0xbc00},
                                      {0x3f80, 0, 0x7f7f, 0xbf80}};
    static const uint16_t want[2][4] = {{0x3c01, 0x0001, 0x7c00, 0xbbff},
                                        {0x3f81, 0x0001, 0x7f80, 0xbf7f}};
    for (int k = 0; k < 2; k++) {
        uint16_t out[4];
        const int64_t n = 4;
        fusec_context *ctx;
        fusec_graph *g = capi_start(NULL, &ctx);
        const fusec_dtype t = k ? FUSEC_BF16 : FUSEC_F16;
        const fusec_value x = fusec_array(g, t, 1, &n, in[k]);
        FC_EXPECT_OK_TEXT(
            fusec_read(fusec_nextafter(x, fusec_num((double)INFINITY)), out, sizeof out),
            fusec_message(ctx));
        FC_EXPECT_MEMEQ(out, want[k], sizeof out);
        capi_end(ctx, g);
    }
}

/* ---- folds -------------------------------------------------------------------------------------
 */

enum { ROWS = 5, LENGTH = 300 };
typedef double fold_fn(const double *x, int n);

static double mean_of(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return s / n;
}
static double squares(const double *x, int n) {
    double s = 0, m = mean_of(x, n);
    for (int i = 0; i < n; i++) s += (x[i] - m) * (x[i] - m);
    return s;
}
static double var_1(const double *x, int n) {
    return n ? squares(x, n) / (n - 1) : (double)NAN;
}
static double std_1(const double *x, int n) {
    return sqrt(var_1(x, n));
}
static double sum_of(const double *x, int n) {
    return n ? mean_of(x, n) * n : 0;
}
static double prod_of(const double *x, int n) {
    double p = 1;
    for (int i = 0; i < n; i++) p *= x[i];
    return p;
}
static double least(const double *x, int n) {
    double v = n ? x[0] : (double)NAN;
    for (int i = 1; i < n; i++) v = fmin(v, x[i]);
    return v;
}
static double most(const double *x, int n) {
    double v = n ? x[0] : (double)NAN;
    for (int i = 1; i < n; i++) v = fmax(v, x[i]);
    return v;
}
static double norm_p(const double *x, int n, double p) {
    double s = 0;
    for (int i = 0; i < n; i++) s += pow(fabs(x[i]), p);
    return pow(s, 1 / p);
}
static double norm_2(const double *x, int n) {
    return norm_p(x, n, 2);
}
static double norm_1(const double *x, int n) {
    return norm_p(x, n, 1);
}
static double norm_3(const double *x, int n) {
    return norm_p(x, n, 3);
}
static double norm_inf(const double *x, int n) {
    return fmax(most(x, n), -least(x, n));
}
static double norm_0(const double *x, int n) {
    double c = 0;
    for (int i = 0; i < n; i++) c += x[i] != 0;
    return c;
}

/* One of the rows is all nans, one has some, the others none. `drops`: nans do not count. */
static void fill(double *x) {
    uint64_t random = 3;
    for (int i = 0; i < ROWS * LENGTH; i++) {
        random = fc_mix(random, (uint64_t)i);
        x[i] = (double)(random >> 11) * 0x1p-52 - 1;
        if (random % 7 == 0) x[i] = 0;
        if (i / LENGTH == 1 || (i / LENGTH == 2 && random % 5 == 0)) x[i] = (double)NAN;
    }
}

static void check_fold(const char *what, fusec_context *ctx, fusec_value v, fold_fn *fn,
                       const double *x, bool drops) {
    double got[ROWS];
    FC_EXPECT_OK_TEXT(fusec_read(v, got, sizeof got), fusec_message(ctx));
    for (int r = 0; r < ROWS; r++) {
        double kept[LENGTH];
        int n = 0;
        bool nan = false;
        for (int i = 0; i < LENGTH; i++) {
            nan = nan || isnan(x[r * LENGTH + i]);
            if (!drops || !isnan(x[r * LENGTH + i])) kept[n++] = x[r * LENGTH + i];
        }
        if (nan && !drops) continue;
        const double want = fn(kept, n);
        if (isnan(want) ? !isnan(got[r]) : !(fabs(got[r] - want) <= 1e-12 * fmax(1, fabs(want))))
            FC_FAIL("%s of row %d is %.17g, not %.17g", what, r, got[r], want);
    }
}

static void check_folds(void *arg) {
    static double x[ROWS * LENGTH];
    const int64_t shape[2] = {ROWS, LENGTH};
    const int last = -1;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    if (capi_open(arg, 2, &ctx) || fusec_device(ctx, NULL, NULL)) {
        fusec_context_free(ctx);
        FC_SKIP("there is no device %s", (const char *)arg);
    }
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    fill(x);
    const fusec_value v = fusec_array(g, FUSEC_F64, 2, shape, x);
#define CHECK(call, fn, drops) check_fold(#call, ctx, call, fn, x, drops)
    CHECK(fusec_variance(v, 1, 1, &last, 0), var_1, false);
    CHECK(fusec_deviation(v, 1, 1, &last, 0), std_1, false);
    CHECK(fusec_norm(v, 2, 1, &last, 0), norm_2, false);
    CHECK(fusec_norm(v, 1, 1, &last, 0), norm_1, false);
    CHECK(fusec_norm(v, 3, 1, &last, 0), norm_3, false);
    CHECK(fusec_norm(v, (double)INFINITY, 1, &last, 0), norm_inf, false);
    CHECK(fusec_cast(fusec_count_nonzero(v, 1, &last, 0), FUSEC_F64), norm_0, false);
    CHECK(fusec_nansum(v, 1, &last, 0), sum_of, true);
    CHECK(fusec_nanprod(v, 1, &last, 0), prod_of, true);
    CHECK(fusec_nanmin(v, 1, &last, 0), least, true);
    CHECK(fusec_nanmax(v, 1, &last, 1), most, true);
    CHECK(fusec_nanmean(v, 1, &last, 0), mean_of, true);
    CHECK(fusec_nanvar(v, 1, 1, &last, 0), var_1, true);
    CHECK(fusec_nanstd(v, 1, 1, &last, 0), std_1, true);
    capi_end(ctx, g);
}

/* ---- arrays ------------------------------------------------------------------------------------
 */

FC_TEST(composites, arrays) {
    fusec_context *ctx;
    fusec_graph *g = capi_start(NULL, &ctx);
    double line[5], one[1], steps[3];
    int32_t whole[4];
    static const double x[4] = {1, 4, 2, 2.675};
    static const int32_t i[4] = {15, 25, -15, 14}, square[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    int32_t low[9], high[9];
    const int64_t four = 4, three[2] = {3, 3};
    const fusec_value a = fusec_array(g, FUSEC_F64, 1, &four, x);
    const fusec_value b = fusec_array(g, FUSEC_I32, 1, &four, i);
    const fusec_value m = fusec_array(g, FUSEC_I32, 2, three, square);
    const struct {
        fusec_value v;
        void *out;
        size_t size;
    } rows[] = {{fusec_linspace(g, FUSEC_F64, -1, 1, fusec_size(g, 5)), line, sizeof line},
                {fusec_linspace(g, FUSEC_F64, 3, 7, fusec_size(g, 1)), one, sizeof one},
                {fusec_diff(a, -1), steps, sizeof steps},
                {fusec_round_to(b, -1), whole, sizeof whole},
                {fusec_tril(m, 0), low, sizeof low},
                {fusec_triu(m, 1), high, sizeof high}};
    for (size_t k = 0; k < FC_COUNT(rows); k++)
        FC_EXPECT_OK_TEXT(fusec_read(rows[k].v, rows[k].out, rows[k].size), fusec_message(ctx));
    for (int k = 0; k < 5; k++) FC_EXPECT_EQ_F64(line[k], -1 + .5 * k);
    FC_EXPECT_EQ_F64(one[0], 3);
    for (int k = 0; k < 3; k++) FC_EXPECT_EQ_F64(steps[k], x[k + 1] - x[k]);
    FC_EXPECT_MEMEQ(whole, ((int32_t[]){20, 20, -20, 10}), sizeof whole);
    FC_EXPECT_MEMEQ(low, ((int32_t[]){1, 0, 0, 4, 5, 0, 7, 8, 9}), sizeof low);
    FC_EXPECT_MEMEQ(high, ((int32_t[]){0, 2, 3, 0, 0, 6, 0, 0, 0}), sizeof high);
    double rounded[4];
    FC_EXPECT_OK_TEXT(fusec_read(fusec_round_to(a, 2), rounded, sizeof rounded),
                      fusec_message(ctx));
    FC_EXPECT_EQ_F64(rounded[3], rint(2.675 * 100) / 100);
    capi_end(ctx, g);
}

FC_REGISTER(composites) {
    for (size_t i = 0; i < FC_COUNT(devices); i++) {
        FC_ADD_TEST("composites_maps", devices[i], check_maps, (void *)(uintptr_t)devices[i]);
        FC_ADD_TEST("composites_folds", devices[i], check_folds, (void *)(uintptr_t)devices[i]);
    }
}

/* ---- digamma -----------------------------------------------------------------------------------
 */

FC_TEST(composites, digamma_and_the_derivatives_of_gamma) {
    CAPI_START();
    static const double x[] = {1, 0.5, 10, -0.5, 1e-5, 100.5, 2.25, -3.75, 8, 1.4616321449683623};
    static const double want[] = {-0.57721566490153286, -1.9635100260214235,
                                  2.2517525890667211,   0.03648997397857652,
                                  -100000.57719921568,  4.605174352581845,
                                  0.5725464666237347,   -1.6923885983113294,
                                  2.0156414779556098,   0};
    enum { COUNT = FC_COUNT(x) };
    const int64_t n = COUNT;
    double out[COUNT], gamma[COUNT], log_gamma[COUNT];
    const fusec_value v = fusec_array(g, FUSEC_F64, 1, &n, x);
    fusec_value d;
    FC_EXPECT_OK_TEXT(fusec_read(fusec_digamma(v), out, sizeof out), fusec_message(ctx));
    for (int i = 0; i < COUNT; i++)
        if (!(fabs(out[i] - want[i]) <= 4e-15 * (1 + fabs(want[i]))))
            FC_FAIL("digamma(%g) is %.17g, wanted %.17g", x[i], out[i], want[i]);
    FC_EXPECT_OK_TEXT(fusec_grad(fusec_sum(fusec_lgamma(v), 0, NULL, 0), 1, &v, &d),
                      fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(d, log_gamma, sizeof log_gamma), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_grad(fusec_sum(fusec_tgamma(v), 0, NULL, 0), 1, &v, &d),
                      fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(d, gamma, sizeof gamma), fusec_message(ctx));
    for (int i = 0; i < COUNT; i++) {
        FC_EXPECT_TRUE(log_gamma[i] == out[i]);
        const double w = tgamma(x[i]) * want[i];
        FC_EXPECT_TRUE(fabs(gamma[i] - w) <= 1e-13 * (1 + fabs(w)));
    }
    const double odd[] = {-1, (double)INFINITY, (double)NAN, 0};
    const int64_t four = 4;
    FC_EXPECT_OK_TEXT(
        fusec_read(fusec_digamma(fusec_array(g, FUSEC_F64, 1, &four, odd)), out, 4 * sizeof *out),
        fusec_message(ctx));
    FC_EXPECT_TRUE(isnan(out[0]) && isinf(out[1]) && out[1] > 0 && isnan(out[2]));
    FC_EXPECT_TRUE(isinf(out[3]) && out[3] < 0);
    CAPI_END();
}
