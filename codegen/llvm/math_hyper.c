/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_hyper.c - hyperbolic functions, their inverses and hypot in f64. (Those of f32 are in
 * math_exp.c and math_log.c.) */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/math_hyper_data.h"

#define LOG2E 0x1.71547652b82fep+0

/* |x| = n ln 2 + r + lo. With A = cosh(n ln 2), B = sinh(n ln 2), C = cosh r - 1, S = sinh r: sinh
 * x = B + (S A + C B) and cosh x = A + (S B + C A), where nothing cancels, and S = r + rest.
 * `scale` is what A and B lack where e^x is near the end of the range. */
typedef struct hyper {
    fc_val A, B, C, r, rest, scale;
} hyper;

static hyper hyper_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *size = LET(ABS(x));
    const fc_x *a = LEAF(fc_math_at_most(s, size, 711));
    const fc_x *t = LET(FMA(a, N(LOG2E), N(POWER_F64)));
    const fc_x *n = LET(SUB(t, N(POWER_F64)));
    const fc_x *near = LET(FMA(n, N(-ln2_f64[0]), a));
    const fc_x *r = LET(FMA(n, N(-ln2_f64[1]), near));
    const fc_x *lo = LET(FMA(n, N(-ln2_f64[1]), SUB(near, r)));
    const fc_x *large = LET(GT(a, N(700)));
    const fc_x *two = LEAF(fc_math_two_to_f64(s, LET(SUB(t, WHERE(large, N(3), N(1))))));
    const fc_x *down = LEAF(fc_math_two_to_f64(s, LET(SUB(N(POWER_F64 - 1), n))));
    const fc_x *inverse = LET(WHERE(GT(n, N(60)), N(0), down));
    const fc_x *z = LET(MUL(r, r));
    return (hyper){.A = BUILD(ADD(two, inverse)),
                   .B = BUILD(SUB(two, inverse)),
                   .C = BUILD(MUL(z, POLY(z, cosh_f64))),
                   .r = r->v,
                   .rest = BUILD(FMA(MUL(r, z), POLY(z, sinh_f64), lo)),
                   .scale = BUILD(WHERE(large, N(4), N(1)))};
}

/* (main + (S other + C main)) scale */
static fc_val combined(fc_code *s, const hyper *h, const fc_x *main, const fc_x *other) {
    const fc_x *low = LET(FMA(LEAF(h->rest), other, MUL(LEAF(h->C), main)));
    return BUILD(MUL(ADD(main, FMA(LEAF(h->r), other, low)), LEAF(h->scale)));
}

fc_val fc_math_sinh_f64(fc_code *s, const fc_x *x) {
    const hyper h = hyper_f64(s, x);
    return BUILD(COPYSIGN(LEAF(combined(s, &h, LEAF(h.B), LEAF(h.A))), x));
}

fc_val fc_math_cosh_f64(fc_code *s, const fc_x *x) {
    const hyper h = hyper_f64(s, x);
    return combined(s, &h, LEAF(h.A), LEAF(h.B));
}

/* log1p(a + a^2/(1 + sqrt(a^2 + 1))), a = |x|; far out log(2a). */
fc_val fc_math_asinh_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(ABS(x)), *far = LET(GT(a, N(0x1p60)));
    const fc_x *z = LET(MUL(a, a));
    const fc_x *f = LET(ADD(a, DIV(z, ADD(SQRT(ADD(z, N(1))), N(1)))));
    const fc_x *l = LEAF(fc_math_log1p_f64(s, LET(WHERE(far, a, f))));
    return BUILD(COPYSIGN(ADD(l, WHERE(far, N(ln2_f64[0]), N(0))), x));
}

/* log1p(t + sqrt(t (t + 2))), t = x - 1; far out log(2x). */
fc_val fc_math_acosh_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *far = LET(GT(x, N(0x1p60)));
    const fc_x *t = LET(SUB(x, N(1)));
    const fc_x *f = LET(ADD(t, SQRT(FMA(t, t, ADD(t, t)))));
    const fc_x *l = LEAF(fc_math_log1p_f64(s, LET(WHERE(far, x, f))));
    const fc_x *v = LET(ADD(l, WHERE(far, N(ln2_f64[0]), N(0))));
    return BUILD(WHERE(GE(x, N(1)), v, N(NAN)));
}

/* log1p(2a/(1 - a))/2, a = |x| */
fc_val fc_math_atanh_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(ABS(x));
    const fc_x *f = LET(DIV(ADD(a, a), SUB(N(1), a)));
    const fc_x *v = LET(MUL(LEAF(fc_math_log1p_f64(s, f)), N(0.5)));
    return BUILD(COPYSIGN(v, x));
}

/* Scaled by a power of two where the squares would not fit. The larger square is the one that is
 * not rounded by itself, so that the operands may change places. */
fc_val fc_math_hypot_f64(fc_code *s, const fc_x *x, const fc_x *y) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(ABS(x)), *b = LET(ABS(y));
    const fc_x *more = LET(GT(a, b)), *above = LET(WHERE(more, a, b)),
               *below = LET(WHERE(more, b, a));
    const fc_x *large = LET(GT(above, N(0x1p500))), *small = LET(LT(above, N(0x1p-400)));
    const fc_x *scale = LET(WHERE(large, N(0x1p-600), WHERE(small, N(0x1p600), N(1))));
    const fc_x *back = LET(WHERE(large, N(0x1p600), WHERE(small, N(0x1p-600), N(1))));
    const fc_x *l = LET(MUL(above, scale)), *m = LET(MUL(below, scale));
    const fc_x *v = LET(MUL(SQRT(FMA(l, l, MUL(m, m))), back));
    const fc_x *far = LET(LOGICAL_OR(EQ(a, N(INFINITY)), EQ(b, N(INFINITY))));
    return BUILD(WHERE(far, N(INFINITY), v));
}
