/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle_math.c - the range that a function of exact arguments must lie in: the bounds of
 * docs/semantics.md, section 9, around a reference far more precise than the result's dtype. That
 * is MPFR for f64 and double-precision libm (off by some 2^-48 at most) for the narrower ones. What
 * the functions are: oracle_functions.def. */
#include "tests/support/oracle.h"

#include <math.h>

#ifdef FUSEC_TEST_MPFR
#include <mpfr.h>
#endif

/* ---- the rows: each look at them takes one column -------------------------------------------- */

/* `low` to `high` is the range of the function itself. */
typedef struct function {
    fc_op op;
    double low, high;
    fc_o_shape shape;
} function;

static const function functions[] = {
#define RANGE(...)               RANGE_(__VA_ARGS__)
#define SHAPE(...)               SHAPE_(__VA_ARGS__)
#define FN(name, columns)        {.op = FC_OP_##name, columns},
#define RANGE_(least, most)      .low = (least), .high = (most),
#define SHAPE_(kind, start, end) .shape = {FC_O_##kind, (start), (end)},
#include "tests/support/oracle_functions.def"
};
#undef RANGE_
#undef SHAPE_

static const function *function_of(fc_op op) {
    for (size_t i = 0; i < FC_COUNT(functions); i++)
        if (functions[i].op == op) return &functions[i];
    return NULL;
}

const fc_o_shape *fc_o_shape_of(fc_op op) {
    const function *f = function_of(op);
    return f ? &f->shape : NULL;
}

/* The bounds that ops.def promises; f16 and bf16 have 1 everywhere. */
static double ulps_of(fc_op op, fusec_dtype t) {
    if (fc_is_half(t)) return 1;
    return (double)(t == FUSEC_F64 ? fc_ops[op].ulp64 : fc_ops[op].ulp32);
}

/* The one value that must come out to the bit besides nan, infinities and zeros. */
static bool known_one(fc_op op, double a, double b) {
    (void)a, (void)b;
    switch (op) {
#define FN(name, columns)                                                                          \
    case FC_OP_##name:                                                                             \
        return columns;
#define ONE(c) c
#include "tests/support/oracle_functions.def"
    default: return false;
    }
}

/* Whether a zero is the function's value, not an underflow of the reference. */
static bool true_zero(fc_op op, double a, double b) {
    (void)a, (void)b;
    switch (op) {
#define FN(name, columns)                                                                          \
    case FC_OP_##name:                                                                             \
        return columns;
#define ZERO(c) c
#include "tests/support/oracle_functions.def"
    default: return false;
    }
}

/* Near the zeros of lgamma at negative arguments no ulp bound holds in f64; near those of logaddexp
 * the error is that of numbers of the size of 1. */
static double floor_of_error(fc_op op, fusec_dtype t, double a) {
    if (op == FC_OP_logaddexp || op == FC_OP_logaddexp2) return t == FUSEC_F64 ? 0x1p-50 : 0x1p-21;
    return op == FC_OP_lgamma && t == FUSEC_F64 && a >= -23.0001 && a <= -2.2637 ? 1e-14 : 0;
}

static int last_place(fusec_dtype t, int exponent) {
    static const int digits[] = {
        [FUSEC_F16] = 11, [FUSEC_BF16] = 8, [FUSEC_F32] = 24, [FUSEC_F64] = 53};
    static const int lowest[] = {
        [FUSEC_F16] = -24, [FUSEC_BF16] = -133, [FUSEC_F32] = -149, [FUSEC_F64] = -1074};
    int e = exponent - digits[t] + 1;
    return e < lowest[t] ? lowest[t] : e;
}

static fc_interval clipped(const function *b, double lo, double hi) {
    fc_interval r = {.lo = lo < b->low ? b->low : lo, .hi = hi > b->high ? b->high : hi};
    return r;
}

/* ---- narrower than f64 ---------------------------------------------------------------------- */

/* sin(pi a)/(pi a): what is left of a after whole numbers is exact. */
static double sinc(double a) {
    const double pi = 3.14159265358979323846, n = rint(a);
    if (a == n) return a == 0;
    return (remainder(n, 2) == 0 ? 1 : -1) * sin(pi * (a - n)) / (pi * a);
}

static double softplus(double a) {
    return a > 0 ? a + log1p(exp(-a)) : log1p(exp(a));
}

/* cos 2 pi b by its distance from a quarter turn, which is exact. */
static double box_muller(double a, double b) {
    const double d = 0.25 - fabs(b - rint(b));
    return sqrt(-2 * log(a)) * sin(6.28318530717958647693 * d);
}

static double logaddexp(double a, double b) {
    if (a == b) return a + 0.693147180559945309417;
    return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b) + log1p(exp(-fabs(a - b)));
}

static double logaddexp2(double a, double b) {
    if (a == b) return a + 1;
    return isnan(a) || isnan(b) ? (double)NAN
                                : fmax(a, b) + log1p(exp2(-fabs(a - b))) / 0.693147180559945309417;
}

static double libm(fc_op op, double a, double b) {
    (void)a, (void)b;
    switch (op) {
#define FN(name, columns)                                                                          \
    case FC_OP_##name:                                                                             \
        return columns;
#define LIBM(e) e
#include "tests/support/oracle_functions.def"
    default: return (double)NAN;
    }
}

static fc_interval narrow(const function *f, fusec_dtype t, double a, double b) {
    double y = libm(f->op, a, b);
    if (isnan(y) || isinf(y) || (y == 0 && true_zero(f->op, a, b)) || known_one(f->op, a, b))
        return fc_o_point(y);
    double d = ldexp(ulps_of(f->op, t), last_place(t, y == 0 ? -2000 : ilogb(y))),
           least = floor_of_error(f->op, t, a);
    if (d < least) d = least;
    d += fabs(y) * 0x1p-45;
    double top = fc_o_value(t, t == FUSEC_F16 ? 0x7bff : t == FUSEC_BF16 ? 0x7f7f : 0x7f7fffff);
    double lo = y - d, hi = y + d;
    lo = lo < -top ? -(double)INFINITY : fc_o_round(t, lo);
    hi = hi > top ? (double)INFINITY : fc_o_round(t, hi);
    return clipped(f, lo, hi);
}

/* ---- f64 ------------------------------------------------------------------------------------ */

#ifdef FUSEC_TEST_MPFR

/* Whole numbers and infinities are exact; sin takes its argument with bits to spare. */
static int sinc_wide(mpfr_ptr y, mpfr_srcptr a) {
    mpfr_t x;
    if (mpfr_zero_p(a)) return mpfr_set_ui(y, 1, MPFR_RNDN);
    if (mpfr_integer_p(a) || mpfr_inf_p(a)) return mpfr_set_zero(y, 1), 0;
    mpfr_init2(x, 1600);
    mpfr_const_pi(x, MPFR_RNDN);
    mpfr_mul(x, x, a, MPFR_RNDN);
    mpfr_sin(y, x, MPFR_RNDN);
    mpfr_div(y, y, x, MPFR_RNDN);
    mpfr_clear(x);
    return !mpfr_nan_p(a);
}

/* Near 1 the sum keeps all bits: 400 of them, and exponents of f64. */
static int sigmoid_wide(mpfr_ptr y, mpfr_srcptr a) {
    mpfr_t e;
    mpfr_init2(e, 400);
    mpfr_neg(e, a, MPFR_RNDN);
    mpfr_exp(e, e, MPFR_RNDN);
    mpfr_add_ui(e, e, 1, MPFR_RNDN);
    const int inexact = mpfr_ui_div(y, 1, e, MPFR_RNDN) | !mpfr_inf_p(a);
    mpfr_clear(e);
    return inexact;
}

static int softplus_wide(mpfr_ptr y, mpfr_srcptr a) {
    mpfr_t e;
    int inexact = 1;
    mpfr_init2(e, 400);
    if (mpfr_sgn(a) > 0) {
        mpfr_neg(e, a, MPFR_RNDN);
        mpfr_exp(e, e, MPFR_RNDN);
        mpfr_log1p(e, e, MPFR_RNDN);
        mpfr_add(y, e, a, MPFR_RNDN);
    } else {
        mpfr_exp(e, a, MPFR_RNDN);
        inexact = mpfr_log1p(y, e, MPFR_RNDN) | !mpfr_inf_p(a);
    }
    mpfr_clear(e);
    return inexact;
}

static int box_muller_wide(mpfr_ptr y, mpfr_srcptr a, mpfr_srcptr b) {
    mpfr_t c;
    mpfr_init2(c, 200);
    mpfr_rint(c, b, MPFR_RNDN); /* half to even */
    mpfr_sub(c, b, c, MPFR_RNDN);
    mpfr_abs(c, c, MPFR_RNDN);
    mpfr_d_sub(c, 0.25, c, MPFR_RNDN);
    mpfr_const_pi(y, MPFR_RNDN);
    mpfr_mul(c, c, y, MPFR_RNDN);
    mpfr_mul_2si(c, c, 1, MPFR_RNDN);
    mpfr_sin(c, c, MPFR_RNDN);
    mpfr_log(y, a, MPFR_RNDN);
    mpfr_mul_si(y, y, -2, MPFR_RNDN);
    mpfr_sqrt(y, y, MPFR_RNDN);
    mpfr_mul(y, y, c, MPFR_RNDN);
    mpfr_clear(c);
    return !mpfr_zero_p(y);
}

/* log_b(b^a + b^c) of base e or 2. 400 bits, as what is left may be small. */
static int log_sum_wide(mpfr_ptr y, mpfr_srcptr a, mpfr_srcptr c, bool two) {
    mpfr_t e, ln2;
    if (mpfr_nan_p(a) || mpfr_nan_p(c)) return mpfr_set_nan(y), 0;
    mpfr_srcptr top = mpfr_cmp(a, c) >= 0 ? a : c, low = top == a ? c : a;
    if (mpfr_inf_p(top)) return mpfr_set(y, top, MPFR_RNDN);
    mpfr_init2(e, 400);
    mpfr_init2(ln2, 400);
    mpfr_const_log2(ln2, MPFR_RNDN);
    mpfr_sub(e, low, top, MPFR_RNDN);
    if (two)
        mpfr_exp2(e, e, MPFR_RNDN);
    else
        mpfr_exp(e, e, MPFR_RNDN);
    mpfr_log1p(e, e, MPFR_RNDN);
    if (two) mpfr_div(e, e, ln2, MPFR_RNDN);
    mpfr_add(y, e, top, MPFR_RNDN);
    mpfr_clear(e);
    mpfr_clear(ln2);
    return 1;
}
static int logaddexp_wide(mpfr_ptr y, mpfr_srcptr a, mpfr_srcptr c) {
    return log_sum_wide(y, a, c, false);
}
static int logaddexp2_wide(mpfr_ptr y, mpfr_srcptr a, mpfr_srcptr c) {
    return log_sum_wide(y, a, c, true);
}

/* Returns whether y is rounded. */
static int reference(fc_op op, mpfr_ptr y, mpfr_srcptr x, mpfr_srcptr z) {
    int sign;
    (void)sign, (void)z;
    switch (op) {
#define FN(name, columns)                                                                          \
    case FC_OP_##name:                                                                             \
        return columns;
#define MPFR(e) e
#include "tests/support/oracle_functions.def"
    default: return mpfr_set_nan(y), 0;
    }
}

/* lo and hi: y minus and plus d, as the outermost doubles within. */
static void surround(mpfr_ptr y, double ulps, int place, double least, double *lo, double *hi) {
    MPFR_DECL_INIT(d, 200);
    MPFR_DECL_INIT(x, 200);
    mpfr_set_d(d, ulps, MPFR_RNDU);
    mpfr_mul_2si(d, d, place, MPFR_RNDU);
    if (mpfr_cmp_d(d, least) < 0) mpfr_set_d(d, least, MPFR_RNDU);
    mpfr_sub(x, y, d, MPFR_RNDD);
    *lo = mpfr_cmp_d(x, -0x1.fffffffffffffp1023) < 0 ? -(double)INFINITY : mpfr_get_d(x, MPFR_RNDU);
    mpfr_add(x, y, d, MPFR_RNDU);
    *hi = mpfr_cmp_d(x, 0x1.fffffffffffffp1023) > 0 ? (double)INFINITY : mpfr_get_d(x, MPFR_RNDD);
}

static bool wide(const function *f, double a, double b, fc_interval *out) {
    MPFR_DECL_INIT(x, 53);
    MPFR_DECL_INIT(z, 53);
    MPFR_DECL_INIT(y, 120);
    if (f->op == FC_OP_rsqrt && a == 0) { /* MPFR's has no -inf */
        *out = fc_o_point(1 / a);
        return true;
    }
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(z, b, MPFR_RNDN);
    int inexact = reference(f->op, y, x, z);
    bool zero = mpfr_zero_p(y) != 0;
    if (mpfr_nan_p(y) || mpfr_inf_p(y) || (zero && !inexact) || known_one(f->op, a, b)) {
        *out = fc_o_point(mpfr_get_d(y, MPFR_RNDN));
        return true;
    }
    double lo, hi;
    mpfr_exp_t e = zero ? -2000 : mpfr_get_exp(y) - 1;
    int place = last_place(FUSEC_F64, e < -2000 ? -2000 : e > 2000 ? 2000 : (int)e);
    surround(y, ulps_of(f->op, FUSEC_F64), place, floor_of_error(f->op, FUSEC_F64, a), &lo, &hi);
    *out = clipped(f, lo, hi);
    return true;
}

#else

static bool wide(const function *f, double a, double b, fc_interval *out) {
    (void)f, (void)a, (void)b, (void)out;
    return false;
}

#endif

double fc_o_libm(fc_op op, double a, double b) {
    return libm(op, a, b);
}

bool fc_o_mpfr(fc_op op, double a, double b, long double *out) {
#ifdef FUSEC_TEST_MPFR
    MPFR_DECL_INIT(x, 53);
    MPFR_DECL_INIT(z, 53);
    MPFR_DECL_INIT(y, 100);
    *out = 1 / a;
    if (op == FC_OP_rsqrt && a == 0) return true; /* MPFR's has no -inf */
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(z, b, MPFR_RNDN);
    reference(op, y, x, z);
    *out = mpfr_get_ld(y, MPFR_RNDN);
    return true;
#else
    (void)op, (void)a, (void)b, (void)out;
    return false;
#endif
}

void fc_o_mpfr_done(void) {
#ifdef FUSEC_TEST_MPFR
    mpfr_free_cache();
#endif
}

double fc_o_math_slack(fc_op op, fusec_dtype t, double a) {
    return floor_of_error(op, t, a);
}

bool fc_o_math(fc_op op, fusec_dtype t, double a, double b, fc_interval *out) {
    const function *f = function_of(op);
    if (!f) return false;
    if (t == FUSEC_F64) return wide(f, a, b, out);
    *out = narrow(f, t, a, b);
    return true;
}
