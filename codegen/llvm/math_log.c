/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_log.c - logarithms and what is made with them.
 *
 * x = 2^e m with m from sqrt(1/2) to sqrt(2), so that nothing cancels next to 1; log m is a
 * polynomial in f = m - 1. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/math_log_data.h"

#define LN2    0x1.62e42fefa39efp-1
#define LOG2E  0x1.71547652b82fep+0
#define LOG10E 0x1.bcb7b1526e50ep-2
#define LOG102 0x1.34413509f79ffp-2

/* log x at the ends: of inf and nan themselves, of +-0, of what is below. */
static fc_val with_ends(fc_code *s, const fc_x *x, const fc_x *v, double zero) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const fc_x *a = LET(WHERE(LT(x, N(INFINITY)), v, x));
    const fc_x *b = LET(WHERE(LT(x, N(zero)), N(NAN), a));
    return BUILD(WHERE(EQ(x, N(zero)), N(-INFINITY), b));
}

/* ---- f32 -------------------------------------------------------------------------------- */

fc_val fc_math_log_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const fc_x *root = CONSTANT(FUSEC_U32, 0x3f3504f3); /* sqrt(1/2) */
    const fc_x *small = LET(LT(x, N(0x1p-126)));
    const fc_x *y = LET(WHERE(small, MUL(x, N(0x1p23)), x));
    const fc_x *bits = LET(SUB(BITCAST(y, FUSEC_U32), root));
    const fc_x *power = LET(SHR_RAW(BITCAST(bits, FUSEC_I32), CONSTANT(FUSEC_I32, 23)));
    const fc_x *e = LET(SUB(CVT(power, FUSEC_F32), WHERE(small, N(23), N(0))));
    const fc_x *m = LET(ADD(BIT_AND(bits, CONSTANT(FUSEC_U32, 0x7fffff)), root));
    const fc_x *f = LET(SUB(BITCAST(m, FUSEC_F32), N(1)));
    const fc_x *z = LET(MUL(f, f));
    const fc_x *p = POLY(f, log_f32);
    const fc_x *tail = LET(FMA(MUL(f, z), p, MUL(e, N(ln2_parts_f32[1]))));
    const fc_x *log_m = LET(ADD(f, FMA(z, N(-0.5), tail)));
    return with_ends(s, x, LET(FMA(e, N(ln2_parts_f32[0]), log_m)), 0);
}

/* ---- f32 in f64 ------------------------------------------------------------------------- */

/* Of a positive normal x. */
fc_math_parts fc_math_split(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *root = CONSTANT(FUSEC_U64, 0x3fe6a09e667f3bcd); /* sqrt(1/2) */
    const fc_x *one = CONSTANT(FUSEC_U64, 0x3ff0000000000000);
    const fc_x *bits = LET(ADD(SUB(BITCAST(x, FUSEC_U64), root), one));
    /* e + 1023 becomes the low bits of a whole number at 2^52 */
    const fc_x *high = LET(SHR_RAW(bits, CONSTANT(FUSEC_U64, 52)));
    const fc_x *at = LET(BITCAST(BIT_OR(high, CONSTANT(FUSEC_U64, 0x4330000000000000)), FUSEC_F64));
    const fc_x *e = LET(SUB(at, N(0x1p52 + 1023)));
    const fc_x *m = LET(ADD(BIT_AND(bits, CONSTANT(FUSEC_U64, 0xfffffffffffff)), root));
    return (fc_math_parts){.e = e->v, .f = BUILD(SUB(BITCAST(m, FUSEC_F64), N(1)))};
}

/* log(1 + f) for f32 results */
fc_val fc_math_log_of_sum(fc_code *s, const fc_x *f) {
    const fc_x *p = POLY(f, log_wide);
    return BUILD(FMA(MUL(f, f), p, f));
}

/* log x as e * per_e + log(1 + f) * per_f */
static fc_val log_to(fc_code *s, const fc_x *x, double per_e, double per_f) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_math_parts a = fc_math_split(s, LET(CVT(x, FUSEC_F64)));
    const fc_x *log_m = LEAF(fc_math_log_of_sum(s, LEAF(a.f))), *e = LEAF(a.e);
    const fc_x *v = LET(CVT(FMA(log_m, N(per_f), MUL(e, N(per_e))), FUSEC_F32));
    return with_ends(s, x, v, 0);
}

fc_val fc_math_log2_f32(fc_code *s, const fc_x *x) {
    return log_to(s, x, 1, LOG2E);
}

fc_val fc_math_log10_f32(fc_code *s, const fc_x *x) {
    return log_to(s, x, LOG102, LOG10E);
}

/* log(1 + f) of a sum u = 1 + f rounded. Where u needs no exponent, f itself is taken, and nothing
 * of it was lost. */
static fc_val log1p_wide(fc_code *s, const fc_x *u, const fc_x *f) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_math_parts a = fc_math_split(s, u);
    const fc_x *e = LEAF(a.e);
    const fc_x *near = LET(WHERE(EQ(e, N(0)), f, LEAF(a.f)));
    return BUILD(FMA(e, N(LN2), LEAF(fc_math_log_of_sum(s, near))));
}

fc_val fc_math_log1p_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *y = LET(CVT(x, FUSEC_F64));
    const fc_x *v = LEAF(log1p_wide(s, LET(ADD(y, N(1))), y));
    const fc_x *near = LET(COPYSIGN(CVT(v, FUSEC_F32), x)); /* -0 */
    return with_ends(s, x, near, -1);
}

/* log(a + sqrt(a^2 + 1)), a = |x|. Next to 0, where that cancels, two terms of the series. */
fc_val fc_math_asinh_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(CVT(ABS(x), FUSEC_F64));
    const fc_x *z = LET(MUL(a, a));
    const fc_x *f = LET(ADD(SUB(SQRT(ADD(z, N(1))), N(1)), a));
    const fc_x *log_u = LEAF(log1p_wide(s, LET(ADD(f, N(1))), f));
    const fc_x *small = LET(FMA(MUL(a, z), N(-1.0 / 6), a));
    const fc_x *v = LET(WHERE(LT(a, N(0x1p-12)), small, log_u));
    const fc_x *ended = LET(WHERE(LT(a, N(INFINITY)), v, a));
    return BUILD(COPYSIGN(CVT(ended, FUSEC_F32), x));
}

/* log(x + sqrt(x^2 - 1)); x - 1 and x^2 - 1 are exact where it matters. */
fc_val fc_math_acosh_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *y = LET(CVT(x, FUSEC_F64));
    const fc_x *root = LET(SQRT(FMA(y, y, N(-1))));
    const fc_x *f = LET(ADD(SUB(y, N(1)), root));
    const fc_x *v = LEAF(log1p_wide(s, LET(ADD(f, N(1))), f));
    const fc_x *ended = LET(WHERE(LT(y, N(INFINITY)), v, y));
    return BUILD(CVT(WHERE(GE(y, N(1)), ended, N(NAN)), FUSEC_F32));
}

/* (log(1 + a) - log(1 - a)) / 2, a = |x|: the terms have different signs, nothing cancels. */
fc_val fc_math_atanh_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(CVT(ABS(x), FUSEC_F64)), *minus = LET(NEG(a));
    const fc_x *up = LEAF(log1p_wide(s, LET(ADD(a, N(1))), a));
    const fc_x *down = LEAF(log1p_wide(s, LET(SUB(N(1), a)), minus));
    const fc_x *v = LET(MUL(SUB(up, down), N(0.5)));
    const fc_x *end = LET(WHERE(EQ(a, N(1)), N(INFINITY), N(NAN)));
    const fc_x *ended = LET(WHERE(LT(a, N(1)), v, end));
    return BUILD(COPYSIGN(CVT(ended, FUSEC_F32), x));
}

/* In f64 no square of an f32 overflows. */
fc_val fc_math_hypot_f32(fc_code *s, const fc_x *x, const fc_x *y) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(CVT(ABS(x), FUSEC_F64)), *b = LET(CVT(ABS(y), FUSEC_F64));
    const fc_x *v = LET(SQRT(FMA(a, a, MUL(b, b))));
    const fc_x *far = LET(LOGICAL_OR(EQ(a, N(INFINITY)), EQ(b, N(INFINITY))));
    return BUILD(CVT(WHERE(far, N(INFINITY), v), FUSEC_F32));
}

/* ---- f64 -------------------------------------------------------------------------------- */

/* With q = f/(2+f): log(1+f) = f - (h - q (h + R)), h = f^2/2, R = log(1+f)/q - 2. The rounding
 * error of q meets a small factor only. */
typedef struct fine {
    fc_val e, f, h, rest; /* log x = e ln 2 + f - h + rest */
} fine;

static fine log_f64_of(fc_code *s, fc_val e, fc_val of) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *f = LEAF(of);
    const fc_x *q = LET(DIV(f, ADD(f, N(2))));
    const fc_x *z = LET(MUL(q, q));
    const fc_x *tail = LET(MUL(z, POLY(z, log_f64)));
    const fc_x *h = LET(MUL(MUL(f, f), N(0.5)));
    return (fine){.e = e, .f = of, .h = h->v, .rest = BUILD(MUL(q, ADD(h, tail)))};
}

fc_math_parts fc_math_split_any(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *small = LET(LT(x, N(0x1p-1022)));
    const fc_math_parts w = fc_math_split(s, LET(WHERE(small, MUL(x, N(0x1p54)), x)));
    return (fc_math_parts){.e = BUILD(SUB(LEAF(w.e), WHERE(small, N(54), N(0)))), .f = w.f};
}

static fine log_f64_parts(fc_code *s, const fc_x *x) {
    const fc_math_parts w = fc_math_split_any(s, x);
    return log_f64_of(s, w.e, w.f);
}

fc_val fc_math_log_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fine w = log_f64_parts(s, x);
    const fc_x *e = LEAF(w.e);
    const fc_x *tail = LET(FMA(e, N(ln2_parts_f64[1]), LEAF(w.rest)));
    const fc_x *log_m = LET(SUB(LEAF(w.f), SUB(LEAF(w.h), tail)));
    return with_ends(s, x, LET(FMA(e, N(ln2_parts_f64[0]), log_m)), 0);
}

/* e per_e + log(1+f) per_f, each in two parts. hi + lo is log(1+f), p + tail its product, and what
 * the sum with the exponent rounds off is put back. */
static fc_val log_f64_to(fc_code *s, const fc_x *x, const double *per_e, const double *per_f) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fine w = log_f64_parts(s, x);
    const fc_x *e = LEAF(w.e), *f = LEAF(w.f), *h = LEAF(w.h);
    const fc_x *hi = LET(SUB(f, h));
    const fc_x *lo = LET(ADD(SUB(SUB(f, hi), h), LEAF(w.rest)));
    const fc_x *p = LET(MUL(hi, N(per_f[0])));
    const fc_x *cut = LET(FMA(hi, N(per_f[0]), NEG(p)));
    const fc_x *tail = LET(FMA(lo, N(per_f[0]), FMA(hi, N(per_f[1]), cut)));
    const fc_x *whole = LET(MUL(e, N(per_e[0]))); /* exact */
    const fc_x *sum = LET(ADD(whole, p));
    const fc_x *back = LET(ADD(SUB(whole, sum), p));
    const fc_x *small = LET(FMA(e, N(per_e[1]), ADD(back, tail)));
    return with_ends(s, x, LET(ADD(sum, small)), 0);
}

fc_val fc_math_log2_f64(fc_code *s, const fc_x *x) {
    static const double one[] = {1, 0};
    return log_f64_to(s, x, one, log2e_f64);
}

fc_val fc_math_log10_f64(fc_code *s, const fc_x *x) {
    return log_f64_to(s, x, log10_2_f64, log10e_f64);
}

/* log u + (x - (u - 1))/u with u = 1 + x rounded; x itself is f where u needs no exponent. */
fc_val fc_math_log1p_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *u = LET(ADD(x, N(1)));
    const fc_math_parts a = fc_math_split(s, u);
    const fc_x *e = LEAF(a.e), *whole = LET(EQ(e, N(0)));
    const fc_x *f = LET(WHERE(whole, x, LEAF(a.f)));
    const fc_x *large = LET(GT(x, N(1)));
    const fc_x *lost = LET(WHERE(large, SUB(N(1), SUB(u, x)), SUB(x, SUB(u, N(1)))));
    const fc_x *more = LET(WHERE(whole, N(0), DIV(lost, u)));
    const fine w = log_f64_of(s, a.e, f->v);
    const fc_x *tail = LET(ADD(FMA(e, N(ln2_parts_f64[1]), LEAF(w.rest)), more));
    const fc_x *log_m = LET(SUB(f, SUB(LEAF(w.h), tail)));
    const fc_x *v = LET(COPYSIGN(FMA(e, N(ln2_parts_f64[0]), log_m), x));
    return with_ends(s, x, v, -1);
}
