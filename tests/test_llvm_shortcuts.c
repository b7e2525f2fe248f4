/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_llvm_shortcuts.c - what the CPU does in fewer instructions than it is written with has the
 * bits of what is written: sine times cosine, rounding to bf16, quotients that become bf16, the
 * largest and smallest of 16-bit floats.
 *
 * Where both ways can be run, the same program is run in one piece and in two, with what lies
 * between them stored; otherwise the reference is plain C. */
#include "ir/code.h"
#include "tests/support/capi.h"
#include "tests/support/test.h"
#include "tests/support/widths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 19 };

typedef struct array {
    fusec_dtype dtype;
    int64_t shape[2];
    _Alignas(64) unsigned char data[MOST * 8];
} array;

static fusec_tensor tensor(array *a) {
    return (fusec_tensor){.data = a->data, .shape = a->shape, .rank = 2, .dtype = a->dtype};
}

static int64_t length(const array *a) {
    return a->shape[0] * a->shape[1];
}

static void set(array *a, int64_t i, uint64_t bits) {
    memcpy(a->data + (size_t)i * fc_dtypes[a->dtype].bytes, &bits, fc_dtypes[a->dtype].bytes);
}

static uint64_t get(const array *a, int64_t i) {
    uint64_t bits = 0;
    memcpy(&bits, a->data + (size_t)i * fc_dtypes[a->dtype].bytes, fc_dtypes[a->dtype].bytes);
    return bits;
}

static double value(const array *a, int64_t i) {
    return fc_const_value(a->dtype, get(a, i));
}

/* ---- programs ---------------------------------------------------------------------------- */

typedef fusec_value formula(fusec_value x, fusec_value y);

/* out = of(x, y); y may be a column that is spread over the rows, or be missing. */
static void run(fusec_context *ctx, formula *of, array *x, array *y, array *out) {
    fusec_graph *g;
    fusec_program *p = NULL;
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    const fusec_dim n = fusec_sym(g, "n"), m = fusec_sym(g, "m");
    const fusec_dim dims[2] = {n, m}, column[2] = {n, fusec_size(g, 1)};
    const fusec_value a = fusec_input(g, "x", x->dtype, 2, dims);
    const bool spread = y && y->shape[1] != x->shape[1];
    const fusec_value b = y ? fusec_input(g, "y", y->dtype, 2, spread ? column : dims) : a;
    fusec_output(g, "out", of(a, b));
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    fusec_tensor in[2] = {tensor(x), tensor(y ? y : x)}, result = tensor(out);
    FC_EXPECT_OK_TEXT(fusec_run(p, y ? 2 : 1, in, 1, &result), fusec_message(ctx));
    fusec_program_free(p);
    fusec_graph_free(g);
}

static void shape(array *a, fusec_dtype t, int64_t n, int64_t m) {
    a->dtype = t;
    a->shape[0] = n;
    a->shape[1] = m;
}

static void expect_same(const array *got, const array *want, const array *x) {
    for (int64_t i = 0; i < length(want); i++) {
        const uint64_t a = get(got, i), b = get(want, i);
        if (a == b || (isnan(value(got, i)) && isnan(value(want, i)))) continue;
        FC_FAIL("element %lld, of %#llx: %#llx, not %#llx", (long long)i,
                (unsigned long long)get(x, i), (unsigned long long)a, (unsigned long long)b);
        return;
    }
}

/* ---- sine times cosine ------------------------------------------------------------------- */

static fusec_value sin_of(fusec_value x, fusec_value y) {
    return (void)y, fusec_sin(x);
}
static fusec_value cos_of(fusec_value x, fusec_value y) {
    return (void)y, fusec_cos(x);
}
static fusec_value product(fusec_value x, fusec_value y) {
    return fusec_mul(x, y);
}
static fusec_value sin_cos(fusec_value x, fusec_value y) {
    return (void)y, fusec_mul(fusec_sin(x), fusec_cos(x));
}
static fusec_value cos_sin(fusec_value x, fusec_value y) {
    return (void)y, fusec_mul(fusec_cos(x), fusec_sin(x));
}
/* Not of the same operand. */
static fusec_value sin_cos_twice(fusec_value x, fusec_value y) {
    return (void)y, fusec_mul(fusec_sin(x), fusec_cos(fusec_add(x, x)));
}
static fusec_value cos_twice(fusec_value x, fusec_value y) {
    return (void)y, fusec_cos(fusec_add(x, x));
}

/* All exponents and both signs; every quarter turn up to 8,000; the ends of the formula. */
static void fill_angles(array *x, fusec_dtype t) {
    const double ends[] = {0, INFINITY, NAN, 0x1p20, 0x1p21, 1647099, 0x1p-1074, 0x1p-149, 1e30};
    const int64_t n = 60000;
    shape(x, t, n / 10, 10);
    for (int64_t i = 0; i < n; i++) {
        double v = (double)(i / 2) * 0.26179938779914943 + (double)(i % 7) * 1e-3;
        if (i % 3 == 0) v = ldexp(1 + (double)(i % 97) / 97, (int)(i / 2 % 300) - 150);
        if (i < 18) v = ends[i / 2];
        set(x, i, fc_const_bits(t, i % 2 ? -v : v));
    }
}

FC_TEST(llvm_shortcuts, sine_times_cosine) {
    static array x, s, c, want, got;
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    for (int wide = 0; wide < 2; wide++) {
        const fusec_dtype t = wide ? FUSEC_F64 : FUSEC_F32;
        fill_angles(&x, t);
        s = c = want = got = x;
        FC_TRACE("%s", fc_dtypes[t].name);
        run(ctx, sin_of, &x, NULL, &s);
        run(ctx, cos_of, &x, NULL, &c);
        run(ctx, product, &s, &c, &want);
        run(ctx, sin_cos, &x, NULL, &got);
        expect_same(&got, &want, &x);
        run(ctx, cos_sin, &x, NULL, &got);
        expect_same(&got, &want, &x);
        run(ctx, cos_twice, &x, NULL, &c);
        run(ctx, product, &s, &c, &want);
        run(ctx, sin_cos_twice, &x, NULL, &got);
        expect_same(&got, &want, &x);
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
}

/* ---- rounding to bf16 -------------------------------------------------------------------- */

static const uint16_t lows[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};

static fusec_value to_bf16(fusec_value x, fusec_value y) {
    return (void)y, fusec_cast(x, FUSEC_BF16);
}

/* All upper halves, and what of the lower ones matters. */
FC_TEST(llvm_shortcuts, floats_become_bf16) {
    static array x, want, got;
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    shape(&x, FUSEC_F32, 65536, FC_COUNT(lows));
    shape(&want, FUSEC_BF16, 65536, FC_COUNT(lows));
    shape(&got, FUSEC_BF16, 65536, FC_COUNT(lows));
    for (int64_t i = 0; i < length(&x); i++) {
        set(&x, i, (uint64_t)(i / (int64_t)FC_COUNT(lows)) << 16 | lows[i % FC_COUNT(lows)]);
        set(&want, i, fc_double_to_bf16(value(&x, i)));
    }
    run(ctx, to_bf16, &x, NULL, &got);
    expect_same(&got, &want, &x);
    fusec_context_free(ctx);
}

/* Some of the nans of f16 have bits there that rounding could carry out of. */
FC_TEST(llvm_shortcuts, f16_become_bf16) {
    static array x, want, got;
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    shape(&x, FUSEC_F16, 65536, 1);
    shape(&want, FUSEC_BF16, 65536, 1);
    shape(&got, FUSEC_BF16, 65536, 1);
    for (int64_t i = 0; i < length(&x); i++) {
        set(&x, i, (uint64_t)i);
        set(&want, i, fc_double_to_bf16(value(&x, i)));
    }
    run(ctx, to_bf16, &x, NULL, &got);
    expect_same(&got, &want, &x);
    fusec_context_free(ctx);
}

/* The lower half of a nan is known to be 0: the product, which is exact but where it over- or
 * underflows, rounds once. */
FC_TEST(llvm_shortcuts, products_become_bf16) {
    static array x, y, want, got;
    static const uint16_t by[] = {0x3f80, 0xbf81, 0x3fff, 0x0080, 0x0001, 0x7f80, 0xffc0, 0x3fab};
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    shape(&x, FUSEC_BF16, 65536, FC_COUNT(by));
    y = want = got = x;
    for (int64_t i = 0; i < length(&x); i++) {
        set(&x, i, (uint64_t)(i / (int64_t)FC_COUNT(by)));
        set(&y, i, by[i % FC_COUNT(by)]);
        set(&want, i, fc_double_to_bf16((double)((float)value(&x, i) * (float)value(&y, i))));
    }
    run(ctx, product, &x, &y, &got);
    expect_same(&got, &want, &x);
    fusec_context_free(ctx);
}

/* Numbers, and nans of which rounding their bits would make zeros or infinities. */
static void dirty_nans(const fc_tensor *t, uint64_t seed) {
    static const uint32_t bits[] = {0x7fffffff, 0xffffffff, 0x7fff8000, 0x3f812345, 0xffff8000};
    static const uint16_t halves[] = {0x7fff, 0xffff, 0x7ffc, 0x3c01, 0x4bcd};
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++) n *= t->shape[i];
    for (int64_t i = 0; i < n; i++) {
        const size_t k = (size_t)(i / 5 + i + (int64_t)seed) % FC_COUNT(bits);
        if (fc_dtypes[t->dtype].bytes == 4) ((uint32_t *)t->data)[i] = bits[k];
        if (fc_dtypes[t->dtype].bytes == 2) ((uint16_t *)t->data)[i] = halves[k];
    }
}

/* By ways that do not show in the dtype, or in the operation before. */
FC_TEST(llvm_shortcuts, nans_that_are_not_clean) {
    static const struct {
        const char *text;
        fusec_dtype dtype;
    } cases[] = {{"bf16(bitcast(x, f32))", FUSEC_U32},     {"bf16(sum(x, axis=1))", FUSEC_F32},
                 {"bf16(max(x, axis=0)*2)", FUSEC_F32},    {"bf16(f32(x) + 1)", FUSEC_F16},
                 {"bf16(where(x > 0, x, -x))", FUSEC_F32}, {"bf16(f64(x)*2)", FUSEC_F32},
                 {"bf16(f16(x) + f16(1))", FUSEC_F32}};
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        width_check c = {.text = cases[i].text, .n = 1, .fill = dirty_nans};
        c.in[0] = (width_input){"x", cases[i].dtype, 2, {33, 70}};
        width_run_check(&c);
    }
    width_check c = {.text = "bf16(x + k)", .n = 2, .fill = dirty_nans};
    c.in[0] = (width_input){"x", FUSEC_BF16, 1, {100}};
    c.in[1] = (width_input){"k", FUSEC_F32, 0, {0}};
    width_run_check(&c);
}

/* A value of bf16 and a number that is none: the larger is not always one. */
FC_TEST(llvm_shortcuts, what_is_exact) {
    static const char *const texts[] = {"bf16(maximum(f32(x), 0.1))", "bf16(maximum(f32(x), 0.5))",
                                        "bf16(where(x > 0, f32(x), f32(x)*1.01))",
                                        "bf16(sqrt(abs(f32(x))))"};
    for (size_t i = 0; i < FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i], .n = 1, .fill = width_plain};
        c.in[0] = (width_input){"x", FUSEC_BF16, 1, {1000}};
        width_run_check(&c);
    }
}

/* ---- rounding before an exponential ---------------------------------------------------------- */

static fusec_value difference(fusec_value x, fusec_value y) {
    return fusec_sub(x, y);
}
static fusec_value exp_of(fusec_value x, fusec_value y) {
    return (void)y, fusec_exp(x);
}
static fusec_value exp2_of(fusec_value x, fusec_value y) {
    return (void)y, fusec_exp2(x);
}
static fusec_value exp_of_difference(fusec_value x, fusec_value y) {
    return fusec_exp(fusec_sub(x, y));
}
static fusec_value exp2_of_difference(fusec_value x, fusec_value y) {
    return fusec_exp2(fusec_sub(x, y));
}

/* Every bf16 less some: around 1, where halves are many; large, tiny, infinite, none. */
FC_TEST(llvm_shortcuts, exponentials_of_rounded_differences) {
    static array x, y, d, want, got;
    static const uint16_t less[] = {0x0000, 0x3f81, 0xc0b5, 0x4297, 0x0001, 0x7f7f, 0xff80, 0x7fc1};
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    shape(&x, FUSEC_BF16, 65536, FC_COUNT(less));
    y = d = want = got = x;
    for (int64_t i = 0; i < length(&x); i++) {
        set(&x, i, (uint64_t)(i / (int64_t)FC_COUNT(less)));
        set(&y, i, less[i % FC_COUNT(less)]);
    }
    run(ctx, difference, &x, &y, &d);
    run(ctx, exp_of, &d, NULL, &want);
    run(ctx, exp_of_difference, &x, &y, &got);
    expect_same(&got, &want, &x);
    run(ctx, exp2_of, &d, NULL, &want);
    run(ctx, exp2_of_difference, &x, &y, &got);
    expect_same(&got, &want, &x);
    fusec_context_free(ctx);
}

static fusec_value exp_of_short(fusec_value x, fusec_value y) {
    return (void)y, fusec_exp(fusec_cast(x, FUSEC_BF16));
}
static fusec_value exp2_of_short(fusec_value x, fusec_value y) {
    return (void)y, fusec_exp2(fusec_cast(x, FUSEC_BF16));
}

/* The payload is that of the number before it was rounded. */
FC_TEST(llvm_shortcuts, exponentials_of_rounded_nans) {
    static array x, out;
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    for (int wide = 0; wide < 2; wide++) {
        shape(&x, wide ? FUSEC_F32 : FUSEC_F16, 10, 20);
        shape(&out, FUSEC_BF16, 10, 20);
        for (int64_t i = 0; i < length(&x); i++)
            set(&x, i,
                wide ? 0x7fff8000u | (uint64_t)i << 25 | 0x7fff : 0x7fff | (uint64_t)i << 15);
        for (int two = 0; two < 2; two++) {
            run(ctx, two ? exp2_of_short : exp_of_short, &x, NULL, &out);
            for (int64_t i = 0; i < length(&x); i++) FC_EXPECT_TRUE(isnan(value(&out, i)));
        }
    }
    fusec_context_free(ctx);
}

/* ---- quotients --------------------------------------------------------------------------- */

static fusec_value quotient(fusec_value x, fusec_value y) {
    return fusec_div(x, y);
}
static fusec_value short_quotient(fusec_value x, fusec_value y) {
    return fusec_cast(fusec_div(fusec_cast(x, FUSEC_F32), fusec_cast(y, FUSEC_F32)), FUSEC_BF16);
}

static void expect_quotients(fusec_context *ctx, formula *of, array *x, array *by) {
    static array want, got;
    shape(&want, FUSEC_BF16, x->shape[0], x->shape[1]);
    shape(&got, FUSEC_BF16, x->shape[0], x->shape[1]);
    for (int64_t i = 0; i < length(x); i++) {
        const double a = value(x, i), b = value(by, i / x->shape[1]);
        set(&want, i, fc_double_to_bf16((double)((float)a / (float)b)));
    }
    run(ctx, of, x, by, &got);
    expect_same(&got, &want, x);
}

/* Every bf16 by divisors from 2^-20 to 2^24, and by others, which go another way. */
FC_TEST(llvm_shortcuts, quotients_of_bf16) {
    static array x, by;
    static const float divisors[] = {3,  0x1.9p-20f, 0x1.fep23f,  0x1p24f,
                                     -3, 0x1.9p126f, 0x1.8p-130f, 0};
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    shape(&x, FUSEC_BF16, FC_COUNT(divisors), 65536);
    shape(&by, FUSEC_BF16, FC_COUNT(divisors), 1);
    for (int64_t i = 0; i < length(&x); i++) set(&x, i, (uint64_t)(i % 65536));
    for (int64_t i = 0; i < by.shape[0]; i++)
        set(&by, i, fc_const_bits(FUSEC_BF16, (double)divisors[i]));
    expect_quotients(ctx, quotient, &x, &by);
    fusec_context_free(ctx);
}

/* Quotients next to halfway between two bf16, on both sides, of numbers that have no nan (only then
 * is it done so): whole ones. */
FC_TEST(llvm_shortcuts, quotients_that_become_bf16) {
    static array x, by;
    enum { EACH = 50000 };
    static const float divisors[] = {3, 1.234375f, 0x1.fep-20f, 0x1.02p23f, 7e-5f, -3, 0x1p-130f};
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    shape(&x, FUSEC_I32, FC_COUNT(divisors), EACH);
    shape(&by, FUSEC_BF16, FC_COUNT(divisors), 1);
    for (int64_t i = 0; i < by.shape[0]; i++)
        set(&by, i, fc_const_bits(FUSEC_BF16, (double)divisors[i]));
    for (int64_t i = 0; i < length(&x); i++) {
        const double b = value(&by, i / EACH);
        const int64_t k = i % EACH;
        double half = (128 + (double)(k * 40503 % 128)) * 2 + 1; /* 9 bits, one more than a bf16 */
        while (fabs(half * b) < 0x1p22) half *= 2;
        while (fabs(half * b) > 0x1p24) half /= 2;
        set(&x, i, (uint32_t)(int32_t)(rint(half * b) + (double)(k / 256 % 9 - 4)));
    }
    expect_quotients(ctx, short_quotient, &x, &by);
    fusec_context_free(ctx);
}

/* 0, 1, 2, ... by a number of which they are some 2^24 times as much. */
static void steps(const fc_tensor *t, uint64_t seed) {
    (void)seed;
    if (t->rank == 0) *(uint16_t *)t->data = fc_double_to_bf16(0.095);
    for (int64_t i = 0; t->rank && i < t->shape[0]; i++) ((int32_t *)t->data)[i] = (int32_t)i;
}

/* Quotients of which more is seen than a bf16: by a result, a reduction, another row, and by what a
 * row is made of. */
FC_TEST(llvm_shortcuts, quotients_that_are_seen) {
    static const char *const texts[] = {"q = f32(x)/f32(s); (bf16(q), q)",
                                        "q = f32(x)/f32(s); (bf16(q), max(q, axis=1))",
                                        "q = f32(x)/f32(s); (bf16(q), q*3)"};
    for (size_t i = 0; i < FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i], .n = 2, .fill = width_plain};
        c.in[0] = (width_input){"x", FUSEC_BF16, 2, {40, 300}};
        c.in[1] = (width_input){"s", FUSEC_BF16, 2, {40, 1}};
        width_run_check(&c);
    }
    width_check c = {.text = "y = f32(x); l = f32(k)/256; "
                             "(bf16((y - fmod(y, l))/l), y//l, (y + 1)/l, (y + 2)/l)"};
    c.n = 2;
    c.fill = steps;
    c.in[0] = (width_input){"x", FUSEC_I32, 1, {8192}};
    c.in[1] = (width_input){"k", FUSEC_BF16, 0, {0}};
    width_run_check(&c);
}

/* ---- the largest and the smallest -------------------------------------------------------- */

static const int last_axis = 1;

static fusec_value largest(fusec_value x, fusec_value y) {
    return (void)y, fusec_max(x, 1, &last_axis, 1);
}
static fusec_value smallest(fusec_value x, fusec_value y) {
    return (void)y, fusec_min(x, 1, &last_axis, 1);
}

/* Of a row of some kind: both signs, one of them, zeros of both, infinities, a nan of either sign,
 * first, last or amid the others. */
static uint64_t element(fusec_dtype t, int kind, int64_t i, int64_t m) {
    const uint64_t nan = fc_const_bits(t, NAN), sign = 0x8000;
    const double v = (double)((i * 2654435761 >> 7) % 1000 + 1) / 64;
    switch (kind) {
    case 0: return fc_const_bits(t, v - 8);
    case 1: return fc_const_bits(t, v);
    case 2: return fc_const_bits(t, -v);
    case 3: return i == m / 2 ? 0 : sign;
    case 4: return i == m / 2 ? sign : 0;
    case 5: return i == m - 1 ? sign : fc_const_bits(t, -v);
    case 6: return i == 0 ? sign : fc_const_bits(t, v);
    case 7: return fc_const_bits(t, i % 2 ? INFINITY : -INFINITY);
    case 8: return fc_const_bits(t, -INFINITY);
    case 9: return fc_const_bits(t, INFINITY);
    case 10: return i == 0 ? nan : fc_const_bits(t, v);
    case 11: return i == m - 1 ? nan | sign : fc_const_bits(t, v);
    case 12: return i == m / 3 ? nan | sign : fc_const_bits(t, -v);
    case 13:
        return i == m / 3 ? nan - (nan & -nan) + 1 : fc_const_bits(t, INFINITY); /* no payload */
    default: return i % 3 ? 1 : sign | 1;
    }
}

static bool comes_first(double a, double b, bool max) {
    if (a == b) return max ? signbit(b) && !signbit(a) : signbit(a) && !signbit(b);
    return max ? a > b : a < b;
}

static void expect_extremes(fusec_context *ctx, fusec_dtype t, int64_t m) {
    static array x, want, got;
    enum { KINDS = 15 };
    FC_TRACE("%s, %d", fc_dtypes[t].name, (int)m);
    shape(&x, t, KINDS, m);
    shape(&want, t, KINDS, 1);
    shape(&got, t, KINDS, 1);
    for (int64_t i = 0; i < length(&x); i++) set(&x, i, element(t, (int)(i / m), i % m, m));
    for (int max = 0; max < 2; max++) {
        for (int64_t r = 0; r < KINDS; r++) {
            double best = value(&x, r * m);
            for (int64_t i = 1; i < m && !isnan(best); i++) {
                const double v = value(&x, r * m + i);
                if (isnan(v) || comes_first(v, best, max)) best = v;
            }
            set(&want, r, fc_const_bits(t, best));
        }
        run(ctx, max ? largest : smallest, &x, NULL, &got);
        expect_same(&got, &want, &want);
    }
    FC_UNTRACE();
}

FC_TEST(llvm_shortcuts, extremes_of_halves) {
    static const int64_t lengths[] = {5, 16, 63, 64, 65, 127, 128, 1000, 2049, 20000};
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    for (size_t i = 0; i < FC_COUNT(lengths); i++) {
        expect_extremes(ctx, FUSEC_BF16, lengths[i]);
        expect_extremes(ctx, FUSEC_F16, lengths[i]);
    }
    fusec_context_free(ctx);
}
