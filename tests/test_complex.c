/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_complex.c - complex numbers through the C interface: every row of ir/complex.def against the
 * C library in long double, special values of C99 Annex G, arithmetic against plain C, reductions,
 * views, products, kernels, derivatives and refusals. */
#include "tests/support/capi.h"
#include "tests/support/test.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fusec/ops.h>

#include "ir/base.h"
#undef I
#define I _Complex_I

typedef long double _Complex wide;

/* ---- functions ------------------------------------------------------------------------------- */

typedef fusec_value unary(fusec_value);
typedef struct function {
    const char *name;
    unary *fn;
    wide (*want)(wide);
    double ulp;
} function;

static wide log10_of(wide z) {
    return clogl(z) / logl(10.0L);
}
static wide log2_of(wide z) {
    return clogl(z) / logl(2.0L);
}
static wide abs_of(wide z) {
    return cabsl(z);
}
static wide angle_of(wide z) {
    return cargl(z);
}

#define SAME(name, most)                                                                           \
    { #name, fusec_##name, c##name##l, most }
static const function functions[] = {
    {"abs", fusec_abs, abs_of, 4},
    {"angle", fusec_angle, angle_of, 4},
    SAME(exp, 4),
    SAME(log, 4),
    {"log10", fusec_log10, log10_of, 4},
    {"log2", fusec_log2, log2_of, 4},
    SAME(sqrt, 4),
    SAME(sin, 4),
    SAME(cos, 4),
    SAME(tan, 4),
    SAME(sinh, 4),
    SAME(cosh, 4),
    SAME(tanh, 4),
    SAME(asin, 4),
    SAME(acos, 4),
    SAME(atan, 4),
    SAME(asinh, 4),
    SAME(acosh, 4),
    SAME(atanh, 4),
};

/* One dtype's points, and results as pairs of doubles. */
typedef struct points {
    size_t n;
    double *in, *out;
    bool narrow, real;
} points;

static void evaluate(fusec_context *ctx, const function *f, points *p) {
    fusec_graph *g = NULL;
    const int64_t n = (int64_t)p->n;
    float *in = malloc(p->n * 16), *out = malloc(p->n * 16);
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    for (size_t i = 0; i < 2 * p->n; i++) in[i] = (float)p->in[i];
    const fusec_value x = fusec_array(g, p->narrow ? FUSEC_C64 : FUSEC_C128, 1, &n,
                                      p->narrow ? (const void *)in : (const void *)p->in);
    const fusec_value y = f->fn(x);
    p->real = fusec_dtype_of(y) == FUSEC_F32 || fusec_dtype_of(y) == FUSEC_F64;
    const size_t bytes = p->n * fusec_dtype_bytes(fusec_dtype_of(y));
    FC_EXPECT_OK_TEXT(fusec_read(y, p->narrow ? (void *)out : (void *)p->out, bytes),
                      fusec_message(ctx));
    for (size_t i = 0; p->narrow && i < p->n * (p->real ? 1 : 2); i++) p->out[i] = (double)out[i];
    fusec_graph_free(g);
    free(in);
    free(out);
}

static double random_part(uint64_t *state, bool narrow) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t r = *state >> 11;
    const int mode = (int)(r & 7), span = mode < 5 ? 8 : narrow ? 120 : 1000;
    const double m = 1 + (double)(r >> 3 & 0xffffffff) / 4294967296.0;
    const int e = (int)((r >> 35) % (unsigned)(2 * span)) - span;
    const double v = ldexp(r >> 60 & 1 ? -m : m, e);
    const double s = *state >> 63 ? -v : v;
    return narrow ? (double)(float)s : s;
}

static double part(wide z, int k) {
    return (double)(k ? cimagl(z) : creall(z));
}

/* Units in the last place of the larger part. */
static double error_of(const points *p, size_t i, wide want, bool real) {
    const long double re = fabsl(creall(want)), im = real ? 0 : fabsl(cimagl(want));
    const long double size = re > im ? re : im;
    const long double max = p->narrow ? (long double)FLT_MAX : (long double)DBL_MAX;
    if (size > max * 0.999999L) return 0;
    int e;
    frexpl(size, &e);
    const int least = p->narrow ? -149 : -1074, digits = p->narrow ? 24 : 53;
    const long double ulp = ldexpl(1, e - digits > least ? e - digits : least);
    const double *got = p->out + (real ? i : 2 * i);
    const long double x = fabsl((long double)got[0] - creall(want));
    const long double y = real ? 0 : fabsl((long double)got[1] - cimagl(want));
    return (double)((x > y ? x : y) / ulp);
}

static const double specials[] = {
    0.0,        -0.0, 1, -1, 0.5, -2, 3, 0x1p-100, -0x1p100, (double)INFINITY, (double)-INFINITY,
    (double)NAN};
enum { NSPECIAL = FC_COUNT(specials), NRANDOM = 6000 };

static void run_function(void *arg) {
    const function *f = arg;
    points p = {.n = NRANDOM};
    p.in = malloc(NRANDOM * 16);
    p.out = malloc(NRANDOM * 16);
    fusec_context *ctx = capi_device("cpu");
    for (int narrow = 0; narrow < 2 && ctx; narrow++) {
        uint64_t state = 7;
        double worst = 0;
        size_t where = 0;
        p.narrow = narrow != 0;
        for (size_t i = 0; i < 2 * p.n; i++) p.in[i] = random_part(&state, p.narrow);
        /* near the places where functions are close to 1, 0 and their cuts */
        for (size_t i = 0; i < 2 * p.n; i += 16) {
            const double s = ldexp(1, -(int)(i / 16 % (narrow ? 22 : 50)));
            p.in[i] = 1 + s * fmod(p.in[i], 4), p.in[i + 1] = s * fmod(p.in[i + 1], 3);
            if (i / 32 % 3 == 1) p.in[i + 1] += 1, p.in[i] -= 1;
            if (p.narrow)
                p.in[i] = (double)(float)p.in[i], p.in[i + 1] = (double)(float)p.in[i + 1];
        }
        evaluate(ctx, f, &p);
        for (size_t i = 0; i < p.n; i++) {
            const wide z = (long double)p.in[2 * i] + I * (long double)p.in[2 * i + 1];
            const double e = error_of(&p, i, f->want(z), p.real);
            if (e <= worst) continue;
            worst = e;
            where = i;
        }
        if (getenv("FUSEC_TEST_REPORT"))
            printf("%s %s %.2f at %a %a: %a %a\n", f->name, narrow ? "c64" : "c128", worst,
                   p.in[2 * where], p.in[2 * where + 1], p.out[2 * where], p.out[2 * where + 1]);
        if (worst > f->ulp || worst != worst)
            FC_FAIL("%s of %s is %.2f ulp off at %a + %ai: %a %a", f->name, narrow ? "c64" : "c128",
                    worst, p.in[2 * where], p.in[2 * where + 1], p.out[2 * where],
                    p.out[2 * where + 1]);
    }
    fusec_context_free(ctx);
    free(p.in);
    free(p.out);
}

/* nan is nan; zeros and infinities have their sign; where Annex G leaves a sign open, `open` says
 * so. */
static bool same_special(double got, double want, bool sign_open) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (isinf(want)) return isinf(got) && (sign_open || got * want > 0);
    if (want == 0) return got == 0 && (sign_open || signbit(got) == signbit(want));
    return fabs(got - want) <= 1e-5 * fabs(want);
}

static void run_specials(void *arg) {
    const function *f = arg;
    points p = {.n = NSPECIAL * NSPECIAL};
    p.in = malloc(p.n * 16);
    p.out = malloc(p.n * 16);
    fusec_context *ctx = capi_device("cpu");
    for (size_t i = 0; i < p.n; i++) {
        p.in[2 * i] = specials[i / NSPECIAL];
        p.in[2 * i + 1] = specials[i % NSPECIAL];
    }
    for (int narrow = 0; narrow < 2 && ctx; narrow++) {
        p.narrow = narrow != 0;
        evaluate(ctx, f, &p);
        for (size_t i = 0; i < p.n; i++) {
            const double x = p.in[2 * i], y = p.in[2 * i + 1];
            wide z;
            ((long double *)&z)[0] = (long double)x;
            ((long double *)&z)[1] = (long double)y;
            const wide want = f->want(z);
            const bool open = isnan(x) || isnan(y) || (isinf(x) && isinf(y));
            for (int k = 0; k < (p.real ? 1 : 2); k++) {
                double w = part(want, k), got = p.out[p.real ? i : 2 * i + (size_t)k];
                if (p.narrow) w = (double)(float)w;
                if (isfinite(x) && isfinite(y) && fabs(w) > 1e30 && isinf(got)) continue;
                const double size = (double)cabsl(want);
                if (!(isfinite(size) && fabs(got - w) <= 1e-5 * size && w != 0 && size != 0) &&
                    !same_special(got, w, open || isnan(part(want, !k))))
                    FC_FAIL("%s of %s at %g + %gi: part %d is %g, wanted %g", f->name,
                            narrow ? "c64" : "c128", x, y, k, got, w);
            }
        }
    }
    fusec_context_free(ctx);
    free(p.in);
    free(p.out);
}

FC_REGISTER(complex_functions) {
    for (size_t i = 0; i < FC_COUNT(functions); i++) {
        FC_ADD_TEST("complex_accuracy", functions[i].name, run_function, &functions[i]);
        FC_ADD_TEST("complex_specials", functions[i].name, run_specials, &functions[i]);
    }
}

/* ---- arithmetic against plain C ----------------------------------------------------------------
 */

enum { N = 37 };
static float _Complex za[N], zb[N], zc[N];
static double _Complex da[N], db[N];

static void fill(void) {
    uint64_t s = 3;
    for (int i = 0; i < N; i++) {
        float v[6];
        for (int k = 0; k < 6; k++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            v[k] = (float)(int32_t)(s >> 32) * 0x1p-30f;
        }
        za[i] = v[0] + v[1] * I;
        zb[i] = v[2] + v[3] * I;
        zc[i] = v[4] + v[5] * I;
        da[i] = za[i];
        db[i] = zb[i];
    }
}

static bool close(double _Complex got, double _Complex want, double tolerance) {
    return cabs(got - want) <= tolerance * (cabs(want) + 1e-30);
}

static const char *const devices[] = {"interp", "cpu"};

#define EACH_DEVICE(ctx, g)                                                                        \
    fusec_context *ctx = NULL;                                                                     \
    fusec_graph *g = NULL;                                                                         \
    fill();                                                                                        \
    for (size_t device_ = 0; device_ < FC_COUNT(devices); device_++)                               \
        if ((g = capi_start(devices[device_], &ctx)) != NULL)

static void check_c64(fusec_context *ctx, const char *what, fusec_value v,
                      const float _Complex *want) {
    float _Complex got[N];
    FC_EXPECT_OK_TEXT(fusec_read(v, got, sizeof got), fusec_message(ctx));
    for (int i = 0; i < N; i++)
        if (!close((double _Complex)got[i], (double _Complex)want[i], 1e-6))
            FC_FAIL("%s: element %d is %g%+gi, wanted %g%+gi", what, i, (double)crealf(got[i]),
                    (double)cimagf(got[i]), (double)crealf(want[i]), (double)cimagf(want[i]));
}

FC_TEST(complex, arithmetic) {
    EACH_DEVICE(ctx, g) {
        const int64_t n = N;
        const fusec_value a = fusec_array(g, FUSEC_C64, 1, &n, za),
                          b = fusec_array(g, FUSEC_C64, 1, &n, zb),
                          c = fusec_array(g, FUSEC_C64, 1, &n, zc);
        float _Complex w[N];
        const uint64_t before = capi_compiles(ctx);
        for (int i = 0; i < N; i++) w[i] = za[i] * zb[i] + zc[i];
        check_c64(ctx, "a*b + c", fusec_add(fusec_mul(a, b), c), w);
        if (device_) FC_EXPECT_EQ_I64((int64_t)(capi_compiles(ctx) - before), 1);
        for (int i = 0; i < N; i++) w[i] = za[i] / zb[i] - 2.5f;
        check_c64(ctx, "a/b - 2.5", fusec_sub(fusec_div(a, b), fusec_num(2.5)), w);
        for (int i = 0; i < N; i++) w[i] = conjf(za[i]) * 3;
        check_c64(ctx, "conj(a)*3", fusec_mul(fusec_conj(a), fusec_int(3)), w);
        for (int i = 0; i < N; i++) w[i] = cimagf(za[i]) + crealf(zb[i]) * I;
        check_c64(ctx, "complex(imag(a), real(b))", fusec_complex(fusec_imag(a), fusec_real(b)), w);
        for (int i = 0; i < N; i++) w[i] = cabsf(za[i]) > 1 ? za[i] : zb[i];
        check_c64(ctx, "where", fusec_where(fusec_gt(fusec_abs(a), fusec_num(1)), a, b), w);
        for (int i = 0; i < N; i++) w[i] = cpowf(za[i], zb[i]);
        check_c64(ctx, "pow", fusec_pow(a, b), w);
        for (int i = 0; i < N; i++) w[i] = za[N - 1 - i];
        check_c64(ctx, "flip", fusec_flip(a, 0), w);
        float _Complex run = 0;
        for (int i = 0; i < N; i++) w[i] = run += za[i];
        check_c64(ctx, "cumsum", fusec_cumsum(a, 0, 0), w);
        capi_end(ctx, g);
    }
}

/* A real operand multiplies both parts, and infinities stay what they are. */
FC_TEST(complex, real_operands) {
    CAPI_START();
    const double _Complex in = CMPLX((double)INFINITY, 0);
    double _Complex out;
    const fusec_value z = fusec_array(g, FUSEC_C128, 0, NULL, &in);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_mul(z, fusec_num(2)), &out, sizeof out), fusec_message(ctx));
    FC_EXPECT_TRUE(isinf(creal(out)) && cimag(out) == 0);
    const fusec_value one = fusec_cast(fusec_const(g, FUSEC_F64, 2), FUSEC_C128);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_div(z, one), &out, sizeof out), fusec_message(ctx));
    FC_EXPECT_TRUE(isinf(creal(out)) && cimag(out) == 0);
    CAPI_END();
}

FC_TEST(complex, reductions_and_scalars) {
    EACH_DEVICE(ctx, g) {
        const int64_t n = N;
        const fusec_value a = fusec_array(g, FUSEC_C128, 1, &n, da);
        double _Complex sum = 0, got[1], mean;
        double var = 0, v;
        bool any;
        for (int i = 0; i < N; i++) sum += da[i];
        mean = sum / N;
        for (int i = 0; i < N; i++) var += creal((da[i] - mean) * conj(da[i] - mean)) / N;
        FC_EXPECT_OK_TEXT(fusec_read(fusec_sum(a, 0, NULL, 0), got, sizeof got),
                          fusec_message(ctx));
        FC_EXPECT_TRUE(close(got[0], sum, 1e-14));
        FC_EXPECT_OK_TEXT(fusec_read(fusec_mean(a, 0, NULL, 0), got, sizeof got),
                          fusec_message(ctx));
        FC_EXPECT_TRUE(close(got[0], mean, 1e-14));
        FC_EXPECT_OK_TEXT(fusec_read(fusec_var(a, 0, NULL, 0), &v, sizeof v), fusec_message(ctx));
        FC_EXPECT_TRUE(fabs(v - var) < 1e-14 * var);
        FC_EXPECT_OK_TEXT(fusec_read(fusec_any(a, 0, NULL, 0), &any, 1), fusec_message(ctx));
        FC_EXPECT_TRUE(any);
        /* a scalar that was computed is an argument of the next expression */
        fusec_value total = fusec_sum(a, 0, NULL, 0);
        FC_EXPECT_OK_TEXT(fusec_eval(&total, 1), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_read(fusec_sum(fusec_div(a, total), 0, NULL, 0), got, sizeof got),
                          fusec_message(ctx));
        FC_EXPECT_TRUE(close(got[0], 1, 1e-14));
        capi_end(ctx, g);
    }
}

FC_TEST(complex, products_and_indices) {
    EACH_DEVICE(ctx, g) {
        const int64_t sa[2] = {5, 7}, sb[2] = {7, 4}, index[3] = {4, 0, 4}, three = 3;
        const fusec_value a = fusec_array(g, FUSEC_C64, 2, sa, za),
                          b = fusec_array(g, FUSEC_C64, 2, sb, zb);
        float _Complex got[20], rows[21];
        FC_EXPECT_OK_TEXT(fusec_read(fusec_matmul(a, b), got, sizeof got), fusec_message(ctx));
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 4; j++) {
                double _Complex w = 0;
                for (int k = 0; k < 7; k++) w += da[7 * i + k] * db[4 * k + j];
                FC_EXPECT_TRUE(close((double _Complex)got[4 * i + j], w, 1e-5));
            }
        const fusec_value at = fusec_array(g, FUSEC_I64, 1, &three, index);
        FC_EXPECT_OK_TEXT(fusec_read(fusec_take(a, at, 0), rows, sizeof rows), fusec_message(ctx));
        for (int i = 0; i < 21; i++) FC_EXPECT_TRUE(rows[i] == za[7 * index[i / 7] + i % 7]);
        capi_end(ctx, g);
    }
}

/* Products along an axis and of prefixes; 2i in a text is a number without a dtype. */
FC_TEST(complex, products_along_an_axis) {
    EACH_DEVICE(ctx, g) {
        enum { ROWS = 5, COLUMNS = 7, ALL = ROWS * COLUMNS };
        const int64_t shape[2] = {ROWS, COLUMNS};
        const int axis = 1;
        static const char *const names[] = {"a"};
        const fusec_value a = fusec_array(g, FUSEC_C64, 2, shape, za);
        float _Complex all[ROWS], each[ALL], text[ALL];
        FC_EXPECT_OK_TEXT(fusec_read(fusec_prod(a, 1, &axis, 0), all, sizeof all),
                          fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_read(fusec_cumprod(a, 1, 0), each, sizeof each),
                          fusec_message(ctx));
        for (int i = 0; i < ROWS; i++) {
            double _Complex w = 1;
            for (int k = 0; k < COLUMNS; k++) {
                w *= da[COLUMNS * i + k];
                FC_EXPECT_TRUE(close((double _Complex)each[COLUMNS * i + k], w, 1e-5));
            }
            FC_EXPECT_TRUE(close((double _Complex)all[i], w, 1e-5));
        }
        const fusec_value t = fusec_expr(g, "0.5i*a - 2e0i + 1", 1, names, &a);
        FC_EXPECT_EQ_I64((int64_t)fusec_dtype_of(t), FUSEC_C64);
        FC_EXPECT_OK_TEXT(fusec_read(t, text, sizeof text), fusec_message(ctx));
        for (int i = 0; i < ALL; i++)
            FC_EXPECT_TRUE(close((double _Complex)text[i], 0.5 * I * da[i] - 2.0 * I + 1, 1e-6));
        capi_end(ctx, g);
    }
}

/* ---- derivatives -------------------------------------------------------------------------------
 */

/* dL/dx + i dL/dy of a real loss against central differences. */
static double loss_at(fusec_context *ctx, unary *f, double _Complex z, double _Complex *gradient) {
    fusec_graph *g = NULL;
    double loss = 0;
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    const fusec_value x = fusec_array(g, FUSEC_C128, 0, NULL, &z);
    const fusec_value y = f(x), w = fusec_mul(y, fusec_conj(fusec_sub(y, fusec_num(0.5))));
    const fusec_value l = fusec_real(fusec_add(w, y));
    fusec_value d;
    FC_EXPECT_OK_TEXT(fusec_read(l, &loss, sizeof loss), fusec_message(ctx));
    if (gradient) {
        FC_EXPECT_OK_TEXT(fusec_grad(l, 1, &x, &d), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_read(d, gradient, sizeof *gradient), fusec_message(ctx));
    }
    fusec_graph_free(g);
    return loss;
}

static void run_gradient(void *arg) {
    const function *f = arg;
    static const double _Complex where[] = {0.3 + 0.4 * I, -0.7 + 0.2 * I, 1.2 - 0.9 * I,
                                            -1.5 - 2 * I};
    fusec_context *ctx = capi_device("interp");
    const double h = 1e-6;
    for (size_t i = 0; ctx && i < FC_COUNT(where); i++) {
        double _Complex got;
        const double _Complex z = where[i];
        loss_at(ctx, f->fn, z, &got);
        const double re = (loss_at(ctx, f->fn, z + h, NULL) - loss_at(ctx, f->fn, z - h, NULL));
        const double im =
            (loss_at(ctx, f->fn, z + h * I, NULL) - loss_at(ctx, f->fn, z - h * I, NULL));
        const double _Complex want = (re + im * I) / (2 * h);
        if (cabs(got - want) > 1e-7 * (1 + cabs(want)))
            FC_FAIL("%s at %g%+gi: %.9g%+.9gi, wanted %.9g%+.9gi", f->name, creal(z), cimag(z),
                    creal(got), cimag(got), creal(want), cimag(want));
    }
    fusec_context_free(ctx);
}

FC_REGISTER(complex_gradients) {
    for (size_t i = 0; i < FC_COUNT(functions); i++)
        FC_ADD_TEST("complex_gradient", functions[i].name, run_gradient, &functions[i]);
}

/* Forward mode along i is i f'(z). */
FC_TEST(complex, forward_mode) {
    CAPI_START();
    const double _Complex in = 0.4 - 0.8 * I, along = I;
    double _Complex out;
    const fusec_value z = fusec_array(g, FUSEC_C128, 0, NULL, &in),
                      t = fusec_array(g, FUSEC_C128, 0, NULL, &along);
    const fusec_value d = fusec_jvp(fusec_exp(z), 1, &z, &t);
    FC_EXPECT_OK_TEXT(fusec_read(d, &out, sizeof out), fusec_message(ctx));
    FC_EXPECT_TRUE(close(out, I * cexp(in), 1e-14));
    CAPI_END();
}

/* ---- what is refused ---------------------------------------------------------------------------
 */

static void refused(fusec_value (*build)(fusec_value), const char *words) {
    CAPI_START();
    const double _Complex in = 1;
    FC_EXPECT_TRUE(fusec_dtype_of(build(fusec_array(g, FUSEC_C128, 0, NULL, &in))) ==
                   FUSEC_NO_DTYPE);
    double out[2];
    (void)fusec_read(build(fusec_array(g, FUSEC_C128, 0, NULL, &in)), out, sizeof out);
    FC_EXPECT_CONTAINS(fusec_message(ctx), words);
    CAPI_END();
}

static fusec_value less(fusec_value x) {
    return fusec_lt(x, x);
}
static fusec_value largest(fusec_value x) {
    return fusec_max(x, 0, NULL, 0);
}
static fusec_value rest(fusec_value x) {
    return fusec_mod(x, x);
}
static fusec_value as_f32(fusec_value x) {
    return fusec_cast(x, FUSEC_F32);
}
static fusec_value bits(fusec_value x) {
    return fusec_bit_and(x, x);
}
static fusec_value to_two_digits(fusec_value x) {
    return fusec_round_to(x, 2);
}
static fusec_value words_of(fusec_value x) {
    return fusec_bitcast(x, FUSEC_U64);
}
FC_TEST(complex, what_has_no_meaning_is_refused) {
    refused(less, "lt of c128: complex numbers have no order");
    refused(largest, "max of c128: complex numbers have no order");
    refused(rest, "mod of c128: complex numbers are not rounded");
    refused(as_f32, "f32 of c128: a complex number has two parts");
    refused(bits, "not defined on complex numbers");
    refused(to_two_digits, "round of c128: complex numbers are not rounded");
    refused(words_of, "complex numbers have two parts");
    refused(fusec_tgamma, "tgamma of c128: not defined on complex numbers");
}

FC_TEST(complex, the_gradient_is_that_of_a_real_number) {
    CAPI_START();
    const double _Complex in = 1;
    const fusec_value z = fusec_array(g, FUSEC_C128, 0, NULL, &in);
    fusec_value d;
    FC_EXPECT_TRUE(fusec_grad(fusec_exp(z), 1, &z, &d) == FUSEC_NO_GRADIENT);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "grad of c128: the gradient is that of a real number");
    CAPI_END();
}
