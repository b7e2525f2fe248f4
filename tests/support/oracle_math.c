/* oracle_math.c - the range that a function of exact arguments must lie in: the bounds of
 * docs/semantics.md, section 9, around a reference far more precise than the result's dtype. That
 * is MPFR for f64 and double-precision libm (off by some 2^-48 at most) for the narrower ones. */
#include "tests/support/oracle.h"

#include <math.h>

#ifdef FUSEC_TEST_MPFR
#include <mpfr.h>
#endif

/* Bounds in ulp of f32 and f64; f16 and bf16 have 1 everywhere. `low` to `high` is the range of the
 * function itself. */
typedef struct bound {
    fc_op op;
    double ulp32, ulp64, low, high;
} bound;

static const bound bounds[] = {
    {FC_OP_rsqrt, 2.5, 2, -INFINITY, INFINITY},
    {FC_OP_exp, 2.5, 1.5, 0, INFINITY},
    {FC_OP_exp2, 2.5, 1.5, 0, INFINITY},
    {FC_OP_expm1, 2, 1.5, -1, INFINITY},
    {FC_OP_log, 1.5, 1.5, -INFINITY, INFINITY},
    {FC_OP_log2, 1.5, 1.5, -INFINITY, INFINITY},
    {FC_OP_log10, 2.5, 1.5, -INFINITY, INFINITY},
    {FC_OP_log1p, 2, 1.5, -INFINITY, INFINITY},
    {FC_OP_sin, 2.5, 2.5, -1, 1},
    {FC_OP_cos, 2.5, 2.5, -1, 1},
    {FC_OP_tan, 4.5, 2.5, -INFINITY, INFINITY},
    {FC_OP_asin, 2.5, 2.5, -INFINITY, INFINITY},
    {FC_OP_acos, 2.5, 2.5, 0, INFINITY},
    {FC_OP_atan, 2.5, 2.5, -INFINITY, INFINITY},
    {FC_OP_atan2, 3.5, 2.5, -INFINITY, INFINITY},
    {FC_OP_sinh, 3.5, 2.5, -INFINITY, INFINITY},
    {FC_OP_cosh, 2.5, 2.5, 1, INFINITY},
    {FC_OP_tanh, 2.5, 2.5, -1, 1},
    {FC_OP_asinh, 3.5, 3.5, -INFINITY, INFINITY},
    {FC_OP_acosh, 4.5, 3.5, 0, INFINITY},
    {FC_OP_atanh, 3.5, 3.5, -INFINITY, INFINITY},
    {FC_OP_pow, 4.5, 2.5, -INFINITY, INFINITY},
    {FC_OP_cbrt, 1.5, 3.5, -INFINITY, INFINITY},
    {FC_OP_hypot, 3.5, 2.5, 0, INFINITY},
    {FC_OP_erf, 2.5, 2.5, -1, 1},
    {FC_OP_erfc, 4.5, 5.5, 0, 2},
    {FC_OP_tgamma, 6, 11, -INFINITY, INFINITY},
    {FC_OP_lgamma, 7, 5, -INFINITY, INFINITY},
    {FC_OP_sigmoid, 4, 4, 0, 1},
    {FC_OP_softplus, 4, 4, 0, INFINITY},
    {FC_OP_sinc, 4, 4, -0.2172336282112217, 1},
};

static const bound *bound_of(fc_op op) {
    for (size_t i = 0; i < FC_COUNT(bounds); i++)
        if (bounds[i].op == op) return &bounds[i];
    return NULL;
}

/* The one value that must come out to the bit besides nan, infinities and zeros. */
static bool known_one(fc_op op, double a, double b) {
    switch (op) {
    case FC_OP_exp:
    case FC_OP_exp2:
    case FC_OP_cos:
    case FC_OP_cosh: return a == 0;
    case FC_OP_pow: return a == 1 || b == 0;
    default: return false;
    }
}

/* Near the zeros of lgamma at negative arguments no ulp bound holds in f64. */
static double floor_of_error(fc_op op, fusec_dtype t, double a) {
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

static fc_interval clipped(const bound *b, double lo, double hi) {
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

static double libm(fc_op op, double a, double b) {
    switch (op) {
    case FC_OP_rsqrt: return 1 / sqrt(a);
    case FC_OP_exp: return exp(a);
    case FC_OP_exp2: return exp2(a);
    case FC_OP_expm1: return expm1(a);
    case FC_OP_log: return log(a);
    case FC_OP_log2: return log2(a);
    case FC_OP_log10: return log10(a);
    case FC_OP_log1p: return log1p(a);
    case FC_OP_sin: return sin(a);
    case FC_OP_cos: return cos(a);
    case FC_OP_tan: return tan(a);
    case FC_OP_asin: return asin(a);
    case FC_OP_acos: return acos(a);
    case FC_OP_atan: return atan(a);
    case FC_OP_atan2: return atan2(a, b);
    case FC_OP_sinh: return sinh(a);
    case FC_OP_cosh: return cosh(a);
    case FC_OP_tanh: return tanh(a);
    case FC_OP_asinh: return asinh(a);
    case FC_OP_acosh: return acosh(a);
    case FC_OP_atanh: return atanh(a);
    case FC_OP_pow: return pow(a, b);
    case FC_OP_cbrt: return cbrt(a);
    case FC_OP_hypot: return hypot(a, b);
    case FC_OP_erf: return erf(a);
    case FC_OP_erfc: return erfc(a);
    case FC_OP_tgamma: return tgamma(a);
    case FC_OP_lgamma: return lgamma(a);
    case FC_OP_sigmoid: return 1 / (1 + exp(-a));
    case FC_OP_sinc: return sinc(a);
    default: return a > 0 ? a + log1p(exp(-a)) : log1p(exp(a)); /* softplus */
    }
}

/* Whether a zero is the function's value, not an underflow of the reference. */
static bool true_zero(fc_op op, double a, double b) {
    switch (op) {
    case FC_OP_exp:
    case FC_OP_exp2:
    case FC_OP_erfc:
    case FC_OP_sigmoid:
    case FC_OP_softplus:
    case FC_OP_tgamma: return isinf(a);
    case FC_OP_pow: return a == 0 || isinf(a) || isinf(b);
    case FC_OP_atan2: return a == 0 || isinf(b);
    default: return true;
    }
}

static fc_interval narrow(const bound *bd, fusec_dtype t, double a, double b) {
    double y = libm(bd->op, a, b);
    if (isnan(y) || isinf(y) || (y == 0 && true_zero(bd->op, a, b)) || known_one(bd->op, a, b))
        return fc_o_point(y);
    double ulps = t == FUSEC_F32 ? bd->ulp32 : 1;
    double d = ldexp(ulps, last_place(t, y == 0 ? -2000 : ilogb(y))),
           least = floor_of_error(bd->op, t, a);
    if (d < least) d = least;
    d += fabs(y) * 0x1p-45;
    double top = fc_o_value(t, t == FUSEC_F16 ? 0x7bff : t == FUSEC_BF16 ? 0x7f7f : 0x7f7fffff);
    double lo = y - d, hi = y + d;
    lo = lo < -top ? -(double)INFINITY : fc_o_round(t, lo);
    hi = hi > top ? (double)INFINITY : fc_o_round(t, hi);
    return clipped(bd, lo, hi);
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

/* The two that MPFR lacks. Near 1 the sum keeps all bits: 400 of them, and exponents of f64. */
static int composite(fc_op op, mpfr_ptr y, mpfr_srcptr a) {
    mpfr_t e;
    int inexact = 1;
    mpfr_init2(e, 400);
    if (op == FC_OP_sigmoid) {
        mpfr_neg(e, a, MPFR_RNDN);
        mpfr_exp(e, e, MPFR_RNDN);
        mpfr_add_ui(e, e, 1, MPFR_RNDN);
        inexact = mpfr_ui_div(y, 1, e, MPFR_RNDN) | !mpfr_inf_p(a);
    } else if (mpfr_sgn(a) > 0) {
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

/* Returns whether y is rounded. */
static int reference(fc_op op, mpfr_ptr y, mpfr_srcptr a, mpfr_srcptr b) {
    int sign;
    switch (op) {
    case FC_OP_rsqrt: return mpfr_rec_sqrt(y, a, MPFR_RNDN);
    case FC_OP_exp: return mpfr_exp(y, a, MPFR_RNDN);
    case FC_OP_exp2: return mpfr_exp2(y, a, MPFR_RNDN);
    case FC_OP_expm1: return mpfr_expm1(y, a, MPFR_RNDN);
    case FC_OP_log: return mpfr_log(y, a, MPFR_RNDN);
    case FC_OP_log2: return mpfr_log2(y, a, MPFR_RNDN);
    case FC_OP_log10: return mpfr_log10(y, a, MPFR_RNDN);
    case FC_OP_log1p: return mpfr_log1p(y, a, MPFR_RNDN);
    case FC_OP_sin: return mpfr_sin(y, a, MPFR_RNDN);
    case FC_OP_cos: return mpfr_cos(y, a, MPFR_RNDN);
    case FC_OP_tan: return mpfr_tan(y, a, MPFR_RNDN);
    case FC_OP_asin: return mpfr_asin(y, a, MPFR_RNDN);
    case FC_OP_acos: return mpfr_acos(y, a, MPFR_RNDN);
    case FC_OP_atan: return mpfr_atan(y, a, MPFR_RNDN);
    case FC_OP_atan2: return mpfr_atan2(y, a, b, MPFR_RNDN);
    case FC_OP_sinh: return mpfr_sinh(y, a, MPFR_RNDN);
    case FC_OP_cosh: return mpfr_cosh(y, a, MPFR_RNDN);
    case FC_OP_tanh: return mpfr_tanh(y, a, MPFR_RNDN);
    case FC_OP_asinh: return mpfr_asinh(y, a, MPFR_RNDN);
    case FC_OP_acosh: return mpfr_acosh(y, a, MPFR_RNDN);
    case FC_OP_atanh: return mpfr_atanh(y, a, MPFR_RNDN);
    case FC_OP_pow: return mpfr_pow(y, a, b, MPFR_RNDN);
    case FC_OP_cbrt: return mpfr_cbrt(y, a, MPFR_RNDN);
    case FC_OP_hypot: return mpfr_hypot(y, a, b, MPFR_RNDN);
    case FC_OP_erf: return mpfr_erf(y, a, MPFR_RNDN);
    case FC_OP_erfc: return mpfr_erfc(y, a, MPFR_RNDN);
    case FC_OP_tgamma: return mpfr_gamma(y, a, MPFR_RNDN);
    case FC_OP_lgamma: return mpfr_lgamma(y, &sign, a, MPFR_RNDN);
    case FC_OP_sinc: return sinc_wide(y, a);
    default: return composite(op, y, a);
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

static bool wide(const bound *bd, double a, double b, fc_interval *out) {
    MPFR_DECL_INIT(x, 53);
    MPFR_DECL_INIT(z, 53);
    MPFR_DECL_INIT(y, 120);
    if (bd->op == FC_OP_rsqrt && a == 0) { /* MPFR's has no -inf */
        *out = fc_o_point(1 / a);
        return true;
    }
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(z, b, MPFR_RNDN);
    int inexact = reference(bd->op, y, x, z);
    bool zero = mpfr_zero_p(y) != 0;
    if (mpfr_nan_p(y) || mpfr_inf_p(y) || (zero && !inexact) || known_one(bd->op, a, b)) {
        *out = fc_o_point(mpfr_get_d(y, MPFR_RNDN));
        return true;
    }
    double lo, hi;
    mpfr_exp_t e = zero ? -2000 : mpfr_get_exp(y) - 1;
    int place = last_place(FUSEC_F64, e < -2000 ? -2000 : e > 2000 ? 2000 : (int)e);
    surround(y, bd->ulp64, place, floor_of_error(bd->op, FUSEC_F64, a), &lo, &hi);
    *out = clipped(bd, lo, hi);
    return true;
}

#else

static bool wide(const bound *bd, double a, double b, fc_interval *out) {
    (void)bd, (void)a, (void)b, (void)out;
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
    const bound *bd = bound_of(op);
    if (!bd) return false;
    if (t == FUSEC_F64) return wide(bd, a, b, out);
    *out = narrow(bd, t, a, b);
    return true;
}
