/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_exp.c - exponentials.
 *
 * e^x = 2^n e^r, where n is the whole number nearest to x / ln 2 and x - n ln 2 = r is at most
 * ln(2)/2 in size; ln 2 is taken in two parts, and the first difference is exact. Where 2^n or the
 * result may not be a normal number, the row scale_raw multiplies and rounds once. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/math_exp_data.h"

#define LOG2E 0x1.71547652b82fep+0

/* 2^n in f32 from the number n + POWER_F32; |n| <= 126. */
static fc_val power_f32(fc_code *s, const fc_x *n) {
    const fusec_dtype TYPE = FUSEC_U32;
    return BUILD(BITCAST(SHL_RAW(BITCAST(n, FUSEC_U32), N(23)), FUSEC_F32));
}

fc_val fc_math_two_to_f64(fc_code *s, const fc_x *n) {
    const fusec_dtype TYPE = FUSEC_U64;
    return BUILD(BITCAST(SHL_RAW(BITCAST(n, FUSEC_U64), N(52)), FUSEC_F64));
}

typedef struct parts_f32 {
    fc_val n, r;
    fc_val t; /* n + POWER_F32 */
} parts_f32;

static parts_f32 reduce_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const fc_x *t = LET(FMA(x, N(LOG2E), N(POWER_F32)));
    const fc_x *n = LET(SUB(t, N(POWER_F32)));
    const fc_x *near = LET(FMA(n, N(-ln2_f32[0]), x));
    return (parts_f32){.n = n->v, .r = BUILD(FMA(n, N(-ln2_f32[1]), near)), .t = t->v};
}

/* What is known to be small is neither cut off nor subnormal. */
fc_val fc_math_exp_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const bool small = fc_math_bound(s, x->v) < 87;
    const fc_x *y = small ? x : LEAF(fc_math_between(s, x, -105, 89));
    const parts_f32 a = reduce_f32(s, y);
    const fc_x *r = LEAF(a.r), *e = LET(FMA(r, POLY(r, exp_f32), N(1)));
    if (small) return BUILD(MUL(e, LEAF(power_f32(s, LEAF(a.t)))));
    return BUILD(ROW2(scale_raw, e, LEAF(a.n)));
}

fc_val fc_math_exp_near(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const parts_f32 a = reduce_f32(s, x);
    const fc_x *r = LEAF(a.r), *p = POLY(r, exp_f32_near);
    const fc_x *e = LET(ADD(FMA(MUL(r, r), p, r), N(1)));
    return BUILD(MUL(e, LEAF(power_f32(s, LEAF(a.t)))));
}

fc_val fc_math_exp2_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const fc_x *y = LEAF(fc_math_between(s, x, -151, 129));
    const fc_x *n = LET(SUB(ADD(y, N(POWER_F32)), N(POWER_F32)));
    const fc_x *r = LET(SUB(y, n));
    return BUILD(ROW2(scale_raw, FMA(r, POLY(r, exp2_f32), N(1)), n));
}

/* ---- f32 in f64 ------------------------------------------------------------------------- */

typedef struct parts {
    fc_val two_n, r;
    fc_val t; /* n + POWER_F64 */
} parts;

static parts reduce_wide(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *t = LET(FMA(x, N(LOG2E), N(POWER_F64)));
    const fc_x *n = LET(SUB(t, N(POWER_F64)));
    const fc_x *near = LET(FMA(n, N(-ln2_f64[0]), x));
    return (parts){.two_n = fc_math_two_to_f64(s, t), .r = near->v, .t = t->v};
}

/* e^r - 1 */
static fc_val expm1_poly(fc_code *s, const fc_x *r) {
    const fc_x *p = POLY(r, exp_wide);
    return BUILD(FMA(MUL(r, r), p, r));
}

fc_val fc_math_exp_wide(fc_code *s, const fc_x *x) {
    const parts a = reduce_wide(s, x);
    const fc_x *two_n = LEAF(a.two_n), *p = LEAF(expm1_poly(s, LEAF(a.r)));
    return BUILD(FMA(two_n, p, two_n));
}

fc_val fc_math_exp2_wide(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *t = LET(ADD(x, N(POWER_F64)));
    const fc_x *r = LET(MUL(SUB(x, SUB(t, N(POWER_F64))), N(ln2_f64[0])));
    const fc_x *two_n = LEAF(fc_math_two_to_f64(s, t)), *p = LEAF(expm1_poly(s, r));
    return BUILD(FMA(two_n, p, two_n));
}

/* 2^n (e^r - 1) + (2^n - 1); the sign of x is right for zeros, too */
fc_val fc_math_expm1_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *below = LEAF(fc_math_at_most(s, x, 90));
    const fc_x *y = LET(CVT(LEAF(fc_math_at_least(s, below, -30)), FUSEC_F64));
    const parts a = reduce_wide(s, y);
    const fc_x *two_n = LEAF(a.two_n), *p = LEAF(expm1_poly(s, LEAF(a.r)));
    const fc_x *v = LET(FMA(two_n, p, SUB(two_n, N(1))));
    return BUILD(COPYSIGN(CVT(v, FUSEC_F32), x));
}

/* ---- hyperbolic functions --------------------------------------------------------------- */

/* With C = cosh r, S = sinh r, A = cosh(n ln 2), B = sinh(n ln 2): sinh x = C B + S A and
 * cosh x = C A + S B, where nothing cancels. */
typedef struct hyper {
    fc_val C, S, A, B;
} hyper;

static hyper hyper_wide(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *size = LET(ABS(x));
    const fc_x *y = LET(CVT(LEAF(fc_math_at_most(s, size, 91)), FUSEC_F64));
    const parts a = reduce_wide(s, y);
    const fc_x *r = LEAF(a.r), *two_n = LEAF(a.two_n);
    const fc_x *twice = CONSTANT(FUSEC_U64, (uint64_t)(2 * 1023) << 52); /* both biases */
    const fc_x *inverse = LET(BITCAST(
        SUB(twice, SHL_RAW(BITCAST(LEAF(a.t), FUSEC_U64), CONSTANT(FUSEC_U64, 52))), FUSEC_F64));
    const fc_x *z = LET(MUL(r, r));
    const fc_x *c = POLY(z, cosh_wide), *p = POLY(z, sinh_wide);
    return (hyper){.C = BUILD(FMA(z, c, N(1))),
                   .S = BUILD(FMA(MUL(r, z), p, r)),
                   .A = BUILD(MUL(ADD(two_n, inverse), N(0.5))),
                   .B = BUILD(MUL(SUB(two_n, inverse), N(0.5)))};
}

fc_val fc_math_sinh_f32(fc_code *s, const fc_x *x) {
    const hyper h = hyper_wide(s, x);
    const fc_x *v = LET(FMA(LEAF(h.C), LEAF(h.B), MUL(LEAF(h.S), LEAF(h.A))));
    return BUILD(COPYSIGN(CVT(v, FUSEC_F32), x));
}

fc_val fc_math_cosh_f32(fc_code *s, const fc_x *x) {
    const hyper h = hyper_wide(s, x);
    const fc_x *v = LET(FMA(LEAF(h.C), LEAF(h.A), MUL(LEAF(h.S), LEAF(h.B))));
    return BUILD(CVT(v, FUSEC_F32));
}

/* E / (E + 2) with E = e^2|x| - 1. As 2|x| = n ln 2 + 2u, E is 2^n (2u + u^2 P(u)) + 2^n - 1: small
 * where x is, and there all but the last sum is exact or of second order. n is 1 only from 2|x| =
 * 3/4 ln 2 on, so that what 2u takes away from 2^n - 1 is little. */
static fc_val tanh_of(fc_code *s, const fc_x *x, double limit, const double *ln2,
                      fc_val p(fc_code *, const fc_x *)) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const double power = TYPE == FUSEC_F64 ? POWER_F64 : POWER_F32;
    const fc_x *y = LEAF(fc_math_at_most(s, LET(ABS(x)), limit));
    const fc_x *t = LET(ADD(FMA(y, N(2 * LOG2E), N(-0.25)), N(power)));
    const fc_x *n = LET(SUB(t, N(power)));
    const fc_x *near = LET(FMA(n, N(-ln2[0] / 2), y));
    const fc_x *u = LET(FMA(n, N(-ln2[1] / 2), near));
    const fc_x *two_n = LEAF(TYPE == FUSEC_F64 ? fc_math_two_to_f64(s, t) : power_f32(s, t));
    const fc_x *first = LET(MUL(two_n, u));
    const fc_x *start = LET(FMA(first, N(2), SUB(two_n, N(1))));
    const fc_x *E = LET(FMA(MUL(first, u), LEAF(p(s, u)), start));
    return BUILD(COPYSIGN(DIV(E, ADD(E, N(2))), x));
}

static fc_val tanh_poly_f32(fc_code *s, const fc_x *u) {
    return fc_math_poly(s, u, tanh_f32, FC_COUNT(tanh_f32));
}

static fc_val tanh_poly_f64(fc_code *s, const fc_x *u) {
    return fc_math_poly(s, u, tanh_f64, FC_COUNT(tanh_f64));
}

/* Beyond these it rounds to 1. */
fc_val fc_math_tanh_f32(fc_code *s, const fc_x *x) {
    return tanh_of(s, x, 10, ln2_f32, tanh_poly_f32);
}

fc_val fc_math_tanh_f64(fc_code *s, const fc_x *x) {
    return tanh_of(s, x, 22, ln2_f64, tanh_poly_f64);
}

/* ---- f64 -------------------------------------------------------------------------------- */

/* e^r; n + POWER_F64 goes to *t */
static fc_val exp_parts_f64(fc_code *s, const fc_x *x, fc_val *out) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *t = LET(FMA(x, N(LOG2E), N(POWER_F64)));
    const fc_x *n = LET(SUB(t, N(POWER_F64)));
    const fc_x *near = LET(FMA(n, N(-ln2_f64[0]), x));
    const fc_x *r = LET(FMA(n, N(-ln2_f64[1]), near));
    const fc_x *p = POLY(r, exp_f64);
    *out = t->v;
    return BUILD(ADD(FMA(MUL(r, r), p, r), N(1)));
}

fc_val fc_math_exp_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    fc_val t;
    const fc_x *below = LEAF(fc_math_at_most(s, x, 710));
    const fc_x *e = LEAF(exp_parts_f64(s, LEAF(fc_math_at_least(s, below, -746)), &t));
    return BUILD(ROW2(scale_raw, e, SUB(LEAF(t), N(POWER_F64))));
}

/* r ln 2 is the sum of two numbers. */
fc_val fc_math_exp2_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *below = LEAF(fc_math_at_most(s, x, 1025));
    const fc_x *y = LEAF(fc_math_at_least(s, below, -1076));
    const fc_x *n = LET(SUB(ADD(y, N(POWER_F64)), N(POWER_F64)));
    const fc_x *r = LET(SUB(y, n));
    const fc_x *hi = LET(MUL(r, N(ln2_f64[0])));
    const fc_x *cut = LET(FMA(r, N(ln2_f64[0]), NEG(hi)));
    const fc_x *lo = LET(FMA(r, N(ln2_f64[1]), cut));
    const fc_x *p = POLY(hi, exp_f64);
    const fc_x *e = LET(ADD(ADD(FMA(MUL(hi, hi), p, lo), hi), N(1)));
    return BUILD(ROW2(scale_raw, e, n));
}

/* Like exp2, but what adding 1 rounds off is put back: less than 0.5 ulp before the last rounding,
 * so that a power that is a number of f64 is exact. Here lo is not so small that lo e^hi
 * were lo. */
fc_val fc_math_exp2_sum_f64(fc_code *s, const fc_x *x, const fc_x *more) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *n = LET(SUB(ADD(x, N(POWER_F64)), N(POWER_F64)));
    const fc_x *r = LET(SUB(x, n));
    const fc_x *hi = LET(MUL(r, N(ln2_f64[0])));
    const fc_x *cut = LET(FMA(r, N(ln2_f64[0]), NEG(hi)));
    const fc_x *lo = LET(FMA(more, N(ln2_f64[0]), FMA(r, N(ln2_f64[1]), cut)));
    const fc_x *u = LET(ADD(hi, N(1)));
    const fc_x *back = LET(ADD(SUB(N(1), u), hi));
    const fc_x *p = LET(MUL(MUL(hi, hi), POLY(hi, exp_f64)));
    const fc_x *rest = LET(FMA(lo, ADD(hi, p), ADD(p, lo))); /* lo e^hi + p */
    return BUILD(ROW2(scale_raw, ADD(u, ADD(back, rest)), n));
}

/* 10^x = 2^(x log2 10), the product as the sum of two numbers. */
fc_val fc_math_exp10_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const double log2_10[] = {0x1.a934f0979a371p+1, 0x1.7f2495fb7fa6dp-53};
    const fc_x *y = LEAF(fc_math_at_least(s, LEAF(fc_math_at_most(s, x, 309)), -324));
    const fc_x *hi = LET(MUL(y, N(log2_10[0])));
    const fc_x *lo = LET(FMA(y, N(log2_10[1]), FMA(y, N(log2_10[0]), NEG(hi))));
    return fc_math_exp2_sum_f64(s, hi, lo);
}

fc_val fc_math_exp10_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *y = LET(CVT(LEAF(fc_math_between(s, x, -46, 39)), FUSEC_F64));
    return BUILD(CVT(LEAF(fc_math_exp2_wide(s, LET(MUL(y, N(0x1.a934f0979a371p+1))))), FUSEC_F32));
}

fc_val fc_math_exp_near_f64(fc_code *s, const fc_x *x) {
    fc_val t;
    const fc_x *e = LEAF(exp_parts_f64(s, x, &t));
    return BUILD(MUL(e, LEAF(fc_math_two_to_f64(s, LEAF(t)))));
}

fc_val fc_math_exp_times_f64(fc_code *s, const fc_x *x, const fc_x *lo, const fc_x *times,
                             const fc_x *over) {
    const fusec_dtype TYPE = FUSEC_F64;
    fc_val t;
    const fc_x *p = LEAF(exp_parts_f64(s, x, &t));
    const fc_x *e = LET(DIV(MUL(FMA(p, lo, p), times), over));
    return BUILD(ROW2(scale_raw, e, SUB(LEAF(t), N(POWER_F64))));
}

/* Half of 2^n r + (2^n - 1) + 2^n (e^r - 1 - r), because 2^n alone may overflow; the first product
 * is exact. */
fc_val fc_math_expm1_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *below = LEAF(fc_math_at_most(s, x, 710));
    const fc_x *y = LEAF(fc_math_at_least(s, below, -45));
    const fc_x *t = LET(FMA(y, N(LOG2E), N(POWER_F64)));
    const fc_x *n = LET(SUB(t, N(POWER_F64)));
    const fc_x *near = LET(FMA(n, N(-ln2_f64[0]), y));
    const fc_x *r = LET(FMA(n, N(-ln2_f64[1]), near));
    const fc_x *lo = LET(FMA(n, N(-ln2_f64[1]), SUB(near, r)));
    const fc_x *p = POLY(r, exp_f64);
    const fc_x *rest = LET(FMA(MUL(r, r), p, lo));
    const fc_x *half = LEAF(fc_math_two_to_f64(s, LET(SUB(t, N(1)))));
    const fc_x *sum = LET(FMA(half, r, SUB(half, N(0.5))));
    const fc_x *v = LET(FMA(half, rest, sum));
    return BUILD(COPYSIGN(ADD(v, v), x));
}
