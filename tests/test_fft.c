/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_fft.c - Fourier transforms: the engine at lengths of all kinds against the definition, the C
 * interface, what fuses around a transform, derivatives, text and back. */
#include "tests/support/capi.h"
#include "tests/support/test.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fusec/ops.h>

#include "runtime/fft.h"
#include "tests/support/fake_machine.h"
#undef I
#define I _Complex_I

typedef long double _Complex wide;

static double next(uint64_t *s) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (double)(float)((double)(int32_t)(*s >> 32) * 0x1p-31);
}

/* Element k by the definition. */
static double _Complex term(const double _Complex *x, int64_t n, int64_t k, bool inverse) {
    wide sum = 0;
    const long double full = 8 * atanl(1) * (inverse ? 1 : -1);
    for (int64_t j = 0; j < n; j++) {
        const long double a = full * (long double)(j * k % n) / (long double)n;
        sum += (wide)x[j] * (cosl(a) + I * sinl(a));
    }
    return (double _Complex)sum;
}

/* Some elements of `batch` lines, as a root mean square of errors over that of values. */
static void check_length(fusec_dtype t, int64_t n, int64_t batch, bool inverse) {
    const bool narrow = t == FUSEC_C64;
    const size_t count = (size_t)(n * batch);
    double _Complex *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
    float _Complex *u = malloc(count * sizeof *u), *v = malloc(count * sizeof *v);
    uint64_t state = (uint64_t)n;
    fc_error e = {0};
    fc_fft *p = NULL;
    double error = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        x[i] = next(&state);
        x[i] += I * next(&state);
        u[i] = (float _Complex)x[i];
    }
    FC_EXPECT_OK(fc_fft_new(&fc_libc_alloc, t, n, false, &p, &e), &e);
    FC_EXPECT_OK(fc_fft_run(p, inverse, batch, narrow ? (void *)u : (void *)x,
                            narrow ? (void *)v : (void *)y, NULL, &fc_fft_at_once, &e),
                 &e);
    for (int s = 0; s < 12; s++) {
        const int64_t b = s * 7 % batch, k = s < 3 ? s % n : (s * 7919 + 5) % n;
        const double _Complex want = term(x + b * n, n, k, inverse);
        const double _Complex got = narrow ? (double _Complex)v[b * n + k] : y[b * n + k];
        error += pow(cabs(got - want), 2);
        size += pow(cabs(want), 2);
    }
    const double eps = narrow ? 0x1p-24 : 0x1p-53, off = sqrt(error / size) / eps;
    if (!(off < 4 + 2 * log2((double)n)))
        FC_FAIL("length %lld, batch %lld, %s%s: %.1f eps", (long long)n, (long long)batch,
                narrow ? "c64" : "c128", inverse ? ", inverse" : "", off);
    fc_fft_free(p);
    free(x);
    free(y);
    free(u);
    free(v);
}

/* Small factors, powers, primes of passes, primes of chirps, matrices with and without a table. */
FC_TEST(fft, lengths_against_the_definition) {
    static const int64_t lengths[] = {
        1,   2,    3,    4,    5,    6,    7,    8,    9,    11,    12,    13,    16,    17,
        19,  30,   32,   49,   64,   97,   100,  128,  143,  169,   210,   243,   256,   360,
        625, 1000, 1009, 1024, 2048, 2187, 4096, 5040, 8192, 10007, 12289, 16384, 65536, 196608};
    for (size_t i = 0; i < FC_COUNT(lengths); i++)
        for (int k = 0; k < 4; k++) {
            const int64_t batch = lengths[i] > 2000 ? 1 : k == 1 ? 1 : k == 2 ? 16 : 19;
            if (FC_SANITIZED && lengths[i] > 20000) continue;
            check_length(k & 1 ? FUSEC_C128 : FUSEC_C64, lengths[i], batch, k > 1);
        }
}

/* Lines of reals, whose halves go there and back: element k by the definition, and x n times. */
static void check_real_length(fusec_dtype t, int64_t n, int64_t batch) {
    const bool narrow = t == FUSEC_C64;
    const int64_t half = n / 2 + 1;
    const size_t count = (size_t)(n * batch), pairs = (size_t)(half * batch);
    double _Complex *x = malloc(count * sizeof *x);
    char *in = malloc(count * 8), *out = malloc(pairs * 16), *back = malloc(count * 8);
    uint64_t state = (uint64_t)n;
    fc_error e = {0};
    fc_fft *p = NULL;
    double error = 0, size = 0;
#define REAL_AT(a, i) (narrow ? (double)((float *)(a))[i] : ((double *)(a))[i])
    for (size_t i = 0; i < count; i++) {
        x[i] = next(&state);
        if (narrow)
            ((float *)in)[i] = (float)creal(x[i]);
        else
            ((double *)in)[i] = creal(x[i]);
    }
    FC_EXPECT_OK(fc_fft_new(&fc_libc_alloc, t, n, true, &p, &e), &e);
    FC_EXPECT_OK(fc_fft_run(p, false, batch, in, out, NULL, &fc_fft_at_once, &e), &e);
    for (int64_t i = 0; i < batch; i++) /* what is no real number at the ends is not read */
        for (int end = 0; end < (n % 2 ? 1 : 2); end++) {
            const int64_t at = 2 * (i * half + (end ? half - 1 : 0)) + 1;
            FC_EXPECT_TRUE(REAL_AT(out, at) == 0);
            if (narrow)
                ((float *)out)[at] = 7;
            else
                ((double *)out)[at] = 7;
        }
    FC_EXPECT_OK(fc_fft_run(p, true, batch, out, back, NULL, &fc_fft_at_once, &e), &e);
    for (int s = 0; s < 12; s++) {
        const int64_t b = s * 7 % batch, k = s < 3 ? s % half : (s * 7919 + 5) % half;
        const double _Complex want = term(x + b * n, n, k, false);
        const double re = REAL_AT(out, 2 * (b * half + k));
        const double im = 2 * k % n ? REAL_AT(out, 2 * (b * half + k) + 1) : cimag(want);
        error += pow(cabs(re + I * im - want), 2);
        size += pow(cabs(want), 2);
    }
    const double eps = narrow ? 0x1p-24 : 0x1p-53, off = sqrt(error / size) / eps;
    error = size = 0;
    for (size_t i = 0; i < count; i++) {
        error += pow(REAL_AT(back, i) / (double)n - creal(x[i]), 2);
        size += pow(creal(x[i]), 2);
    }
    const double returned = sqrt(error / size) / eps;
    if (!(off < 4 + 2 * log2((double)n) && returned < 4 + 2 * log2((double)n)))
        FC_FAIL("length %lld, batch %lld, reals of %s: %.1f eps, and back %.1f", (long long)n,
                (long long)batch, narrow ? "f32" : "f64", off, returned);
    fc_fft_free(p);
    free(x);
    free(in);
    free(out);
    free(back);
}

/* Halves of small factors, of chirps, of one element; odd ones; some that all threads share. */
FC_TEST(fft, real_lengths_against_the_definition) {
    static const int64_t lengths[] = {1,  2,   3,   4,   5,    6,    8,    9,     15,   16,    22,
                                      34, 100, 127, 194, 1000, 1009, 2048, 10006, 4096, 196608};
    for (size_t i = 0; i < FC_COUNT(lengths); i++)
        for (int k = 0; k < 4; k++) {
            const int64_t batch = lengths[i] > 2000 ? 1 : k > 1 ? 19 : 1;
            if (lengths[i] > 20000 && (FC_SANITIZED || k)) continue;
            check_real_length(k & 1 ? FUSEC_C128 : FUSEC_C64, lengths[i], batch);
        }
}

FC_TEST(fft, a_length_of_nothing_is_refused) {
    fc_error e = {0};
    fc_fft *p = NULL;
    FC_EXPECT_STATUS(fc_fft_new(&fc_libc_alloc, FUSEC_C64, 0, false, &p, &e), FUSEC_LIMIT, &e);
    FC_EXPECT_TRUE(p == NULL);
}

/* ---- the C interface ---------------------------------------------------------------------------
 */

enum { ROWS = 3, N = 20 };
static double _Complex z[ROWS * N];
static double x[ROWS * N];

static void fill(void) {
    uint64_t s = 5;
    for (int i = 0; i < ROWS * N; i++) {
        z[i] = next(&s);
        z[i] += I * next(&s);
        x[i] = next(&s);
    }
}

static void same(fusec_context *ctx, const char *what, fusec_value v, const double _Complex *want,
                 int n) {
    double _Complex got[ROWS * N];
    FC_EXPECT_OK_TEXT(fusec_read(v, got, (size_t)n * sizeof *got), fusec_message(ctx));
    for (int i = 0; i < n; i++)
        if (cabs(got[i] - want[i]) > 1e-13)
            FC_FAIL("%s: element %d is %g%+gi, wanted %g%+gi", what, i, creal(got[i]),
                    cimag(got[i]), creal(want[i]), cimag(want[i]));
}

static const char *const devices[] = {"interp", "cpu"};

static void transform_on(const char *const *device, size_t n) {
    const int64_t shape[2] = {ROWS, N};
    double _Complex w[ROWS * N], line[ROWS];
    fill();
    for (size_t d = 0; d < n; d++) {
        fusec_context *ctx;
        fusec_graph *g = capi_start(device[d], &ctx);
        if (!g) return;
        const fusec_value a = fusec_array(g, FUSEC_C128, 2, shape, z),
                          r = fusec_array(g, FUSEC_F64, 2, shape, x);
        for (int i = 0; i < ROWS; i++)
            for (int k = 0; k < N; k++) w[i * N + k] = term(z + i * N, N, k, false);
        same(ctx, "fft", fusec_fft(a, -1), w, ROWS * N);
        same(ctx, "ifft(fft)", fusec_ifft(fusec_fft(a, 1), 1), z, ROWS * N);
        same(ctx, "a transposed array",
             fusec_fft(fusec_transpose(fusec_transpose(a, NULL), NULL), 1), w, ROWS * N);
        for (int k = 0; k < N; k++) {
            for (int i = 0; i < ROWS; i++) line[i] = z[i * N + k];
            for (int i = 0; i < ROWS; i++) w[i * N + k] = term(line, ROWS, i, false);
        }
        same(ctx, "fft, axis 0", fusec_fft(a, 0), w, ROWS * N);
        double _Complex in[N];
        for (int i = 0; i < ROWS; i++) {
            for (int k = 0; k < N; k++) in[k] = x[i * N + k];
            for (int k = 0; k <= N / 2; k++) w[i * (N / 2 + 1) + k] = term(in, N, k, false);
        }
        const fusec_value half = fusec_rfft(r, -1);
        same(ctx, "rfft", half, w, ROWS * (N / 2 + 1));
        double back[ROWS * N];
        FC_EXPECT_OK_TEXT(fusec_read(fusec_irfft(half, 0, -1), back, sizeof back),
                          fusec_message(ctx));
        for (int i = 0; i < ROWS * N; i++) FC_EXPECT_TRUE(fabs(back[i] - x[i]) < 1e-14);
        /* Imaginary parts at the ends are not read, and z stays what it is. */
        const fusec_value there = fusec_irfft(a, N, -1), whole = fusec_rfft(there, -1);
        for (int i = 0; i < ROWS; i++)
            for (int k = 0; k <= N / 2; k++)
                w[i * (N / 2 + 1) + k] = k % (N / 2) ? z[i * N + k] : creal(z[i * N + k]);
        same(ctx, "rfft(irfft)", whole, w, ROWS * (N / 2 + 1));
        for (int i = 0; i < ROWS * N; i++) w[i] = conj(z[i]);
        same(ctx, "what irfft read", fusec_conj(a), w, ROWS * N);
        capi_end(ctx, g);
    }
}

FC_TEST(fft, transforms_of_arrays) {
    transform_on(devices, FC_COUNT(devices));
}

/* What explain says of who transforms, on a CUDA device. */
static void expect_explained(const char *what) {
    fusec_context *ctx;
    fusec_graph *g = capi_start("cuda", &ctx);
    if (!g) return;
    const fusec_dim n = fusec_size(g, N);
    fusec_program *p = NULL;
    char *text = NULL;
    fusec_output(g, "y", fusec_abs(fusec_fft(fusec_input(g, "a", FUSEC_C64, 1, &n), 0)));
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_explain(p, 0, NULL, 0, &text), fusec_message(ctx));
    if (text) FC_EXPECT_CONTAINS(text, what);
    fusec_text_free(ctx, text);
    fusec_program_free(p);
    capi_end(ctx, g);
}

/* cuFFT works where the arrays are; without it they go to the host and back. */
FC_TEST(fft, by_cufft_or_the_cpu_behind_a_fake_driver) {
    static const char *const cuda[] = {"cuda"};
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    transform_on(cuda, 1);
    FC_EXPECT_TRUE(m.fake->transformed > 0);
    expect_explained("fft       by cuFFT 12.0");
    m.fake->transformed = 0;
    setenv("FUSEC_CUFFT_PATH", "/nowhere/libcufft.so", 1);
    transform_on(cuda, 1);
    FC_EXPECT_EQ_I64(m.fake->transformed, 0);
    expect_explained(
        "fft       by the CPU, so the arrays go to the host and back: there is no cuFFT");
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* Each function of cuFFT that may fail does once: a message that names it, and nothing is left. */
FC_TEST(fft, failures_of_cufft) {
    static const char *const calls[] = {"cufftCreate",  "cufftMakePlanMany64",
                                        "cufftExecZ2Z", "cufftExecD2Z",
                                        "cufftExecZ2D", "cuMemsetD2D32Async"};
    for (size_t i = 0; i < FC_COUNT(calls); i++) {
        fake_machine m;
        fusec_context *ctx;
        const int64_t n = N;
        double _Complex out[N];
        if (!fake_machine_open(&m, FAKE("whole"))) return;
        fusec_graph *g = capi_start("cuda", &ctx);
        if (!g) return;
        const fusec_value a = fusec_array(g, FUSEC_C128, 1, &n, z);
        const fusec_value y = i < 3    ? fusec_fft(a, 0)
                              : i == 3 ? fusec_rfft(fusec_array(g, FUSEC_F64, 1, &n, x), 0)
                                       : fusec_irfft(a, n, 0);
        const size_t bytes = i < 3    ? sizeof out
                             : i == 3 ? (N / 2 + 1) * sizeof *out
                                      : N * sizeof *x;
        m.fake->fail_in = calls[i];
        m.fake->fail_at = 1;
        m.fake->result = 2;
        FC_EXPECT_EQ_I64(fusec_read(y, out, bytes), FUSEC_OUT_OF_MEMORY);
        FC_EXPECT_CONTAINS(fusec_message(ctx), calls[i]);
        capi_end(ctx, g);
        fake_check_balance(&m, false);
        fake_machine_close(&m);
    }
}

/* What cuFFT does not take the CPU does. */
FC_TEST(fft, a_plan_that_cufft_refuses) {
    static const char *const calls[] = {"cufftCreate", "cufftMakePlanMany64"};
    for (size_t i = 0; i < FC_COUNT(calls); i++) {
        fake_machine m;
        fusec_context *ctx;
        const int64_t n = N;
        double _Complex out[N], want = 0;
        char *text = NULL;
        if (!fake_machine_open(&m, FAKE("whole"))) return;
        fusec_graph *g = capi_start("cuda", &ctx);
        if (!g) return;
        const fusec_dim size = fusec_size(g, N);
        fill();
        for (int k = 0; k < N; k++) want += z[k];
        fusec_output(g, "y", fusec_fft(fusec_input(g, "a", FUSEC_C128, 1, &size), 0));
        fusec_program *p = NULL;
        FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
        const fusec_tensor in = {.data = z, .shape = &n, .rank = 1, .dtype = FUSEC_C128},
                           y = {.data = out, .shape = &n, .rank = 1, .dtype = FUSEC_C128};
        m.fake->fail_in = calls[i];
        m.fake->fail_at = 1;
        m.fake->result = 5;
        m.fake->transformed = 0;
        FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &y), fusec_message(ctx));
        FC_EXPECT_EQ_I64(m.fake->transformed, 0);
        FC_EXPECT_TRUE(cabs(out[0] - want) < 1e-12);
        FC_EXPECT_OK_TEXT(fusec_explain(p, 0, NULL, 0, &text), fusec_message(ctx));
        FC_EXPECT_CONTAINS(text, "; by the CPU what cuFFT refused, the last time lines of ");
        FC_EXPECT_CONTAINS(text, calls[i]);
        fusec_text_free(ctx, text);
        fusec_program_free(p);
        capi_end(ctx, g);
        fake_check_balance(&m, false);
        fake_machine_close(&m);
    }
}

FC_TEST(fft, odd_lengths_go_there_and_back) {
    CAPI_START();
    const int64_t n = 15;
    double back[15];
    fill();
    const fusec_value r = fusec_array(g, FUSEC_F64, 1, &n, x);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_irfft(fusec_rfft(r, 0), n, 0), back, sizeof back),
                      fusec_message(ctx));
    for (int i = 0; i < n; i++) FC_EXPECT_TRUE(fabs(back[i] - x[i]) < 1e-14);
    CAPI_END();
}

/* The same bits from one thread and from several. */
FC_TEST(fft, threads_change_nothing) {
    const int64_t n = 1 << 16;
    float _Complex *in = malloc((size_t)n * 8), *out[2];
    uint64_t s = 1;
    for (int64_t i = 0; i < n; i++) in[i] = (float)next(&s);
    for (int k = 0; k < 2; k++) {
        fusec_context *ctx = NULL;
        fusec_graph *g = NULL;
        out[k] = malloc((size_t)n * 8);
        FC_EXPECT_OK_TEXT(capi_open("interp", k ? 4 : 1, &ctx), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(
            fusec_read(fusec_fft(fusec_array(g, FUSEC_C64, 1, &n, in), 0), out[k], (size_t)n * 8),
            fusec_message(ctx));
        fusec_graph_free(g);
        fusec_context_free(ctx);
    }
    FC_EXPECT_TRUE(memcmp(out[0], out[1], (size_t)n * 8) == 0);
    free(in);
    free(out[0]);
    free(out[1]);
}

/* What is before and behind a transform is one kernel each, and a bare one has none. */
FC_TEST(fft, neighbours_fuse) {
    fusec_context *ctx;
    fusec_graph *g = capi_start("interp", &ctx);
    if (!g) return;
    const int64_t shape[2] = {ROWS, N};
    double _Complex out[ROWS * N];
    double size[ROWS * N];
    fill();
    const fusec_value a = fusec_array(g, FUSEC_C128, 2, shape, z);
    uint64_t before = capi_compiles(ctx);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_fft(a, -1), out, sizeof out), fusec_message(ctx));
    FC_EXPECT_EQ_I64((int64_t)(capi_compiles(ctx) - before), 0);
    before = capi_compiles(ctx);
    const fusec_value window = fusec_sub(fusec_mul(a, fusec_exp(a)), fusec_num(1));
    FC_EXPECT_OK_TEXT(fusec_read(fusec_square(fusec_abs(fusec_fft(window, -1))), size, sizeof size),
                      fusec_message(ctx));
    FC_EXPECT_EQ_I64((int64_t)(capi_compiles(ctx) - before), 2);
    capi_end(ctx, g);
}

/* sum |fft(z)|^2 is n sum |z|^2, so its gradient 2 n z; of a chain by differences. */
FC_TEST(fft, derivatives) {
    CAPI_START();
    const int64_t n = N;
    double _Complex d[N], w[N];
    fill();
    const fusec_value a = fusec_array(g, FUSEC_C128, 1, &n, z);
    fusec_value da;
    const fusec_value power = fusec_sum(fusec_square(fusec_abs(fusec_fft(a, 0))), 0, NULL, 0);
    FC_EXPECT_OK_TEXT(fusec_grad(power, 1, &a, &da), fusec_message(ctx));
    for (int i = 0; i < N; i++) w[i] = 2 * N * z[i];
    same(ctx, "the gradient of the power", da, w, N);
    const fusec_value r = fusec_array(g, FUSEC_F64, 1, &n, x);
    fusec_value dr;
    double real[N];
    const fusec_value same_power =
        fusec_sum(fusec_square(fusec_irfft(fusec_rfft(r, 0), 0, 0)), 0, NULL, 0);
    FC_EXPECT_OK_TEXT(fusec_grad(same_power, 1, &r, &dr), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(dr, real, sizeof real), fusec_message(ctx));
    for (int i = 0; i < N; i++) FC_EXPECT_TRUE(fabs(real[i] - 2 * x[i]) < 1e-13);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_jvp(fusec_fft(a, 0), 1, &a, &a), d, sizeof d),
                      fusec_message(ctx));
    for (int i = 0; i < N; i++) w[i] = term(z, N, i, false);
    same(ctx, "the tangent", fusec_jvp(fusec_fft(a, 0), 1, &a, &a), w, N);
    CAPI_END();
}

FC_TEST(fft, what_is_refused) {
    CAPI_START();
    const int64_t n = N;
    double out[2];
    fill();
    const fusec_value a = fusec_array(g, FUSEC_C128, 1, &n, z);
    (void)fusec_read(fusec_rfft(a, 0), out, sizeof out);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "rfft of c128[20]: it transforms real numbers");
    CAPI_END();
}

/* The same by number, as bindings call them. */
FC_TEST(fft, transforms_by_number) {
    CAPI_START();
    const int64_t n = N;
    double _Complex w[N];
    double back[N];
    fill();
    const int64_t axis = 0, length = N;
    fusec_attr a = FUSEC_ATTR_INIT;
    a.axes = &axis;
    a.naxes = 1;
    const fusec_value v = fusec_array(g, FUSEC_C128, 1, &n, z);
    for (int i = 0; i < N; i++) w[i] = term(z, N, i, false);
    const fusec_value forth = fusec_op(g, fusec_op_find("fft"), 1, &v, &a);
    same(ctx, "fft", forth, w, N);
    same(ctx, "ifft", fusec_op(g, fusec_op_find("ifft"), 1, &forth, &a), z, N);
    const fusec_value r = fusec_array(g, FUSEC_F64, 1, &n, x);
    const fusec_value half = fusec_op(g, fusec_op_find("rfft"), 1, &r, &a);
    a.start = &length;
    a.rank = 1;
    FC_EXPECT_OK_TEXT(
        fusec_read(fusec_op(g, fusec_op_find("irfft"), 1, &half, &a), back, sizeof back),
        fusec_message(ctx));
    for (int i = 0; i < N; i++) FC_EXPECT_TRUE(fabs(back[i] - x[i]) < 1e-14);
    CAPI_END();
}

/* What arrives at a transform may be one number for all its elements. */
FC_TEST(fft, derivatives_of_sums_of_transforms) {
    CAPI_START();
    const int64_t n = N;
    double there[N], half[N];
    fill();
    const fusec_value r = fusec_array(g, FUSEC_F64, 1, &n, x), f = fusec_rfft(r, 0);
    fusec_value d;
    FC_EXPECT_OK_TEXT(fusec_grad(fusec_sum(fusec_irfft(f, n, 0), 0, NULL, 0), 1, &r, &d),
                      fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(d, there, sizeof there), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_grad(fusec_sum(fusec_real(f), 0, NULL, 0), 1, &r, &d),
                      fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(d, half, sizeof half), fusec_message(ctx));
    for (int j = 0; j < N; j++) {
        double want = 0;
        for (int k = 0; k <= N / 2; k++) want += cos(8 * atan(1) * (j * k % N) / N);
        FC_EXPECT_TRUE(fabs(there[j] - 1) < 1e-14 && fabs(half[j] - want) < 1e-14);
    }
    CAPI_END();
}
