/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_erf.c - the error function and its complement. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/math_erf_data.h"

/* Small: a polynomial. Else 1 - e^-g with a polynomial g; beyond 4 it is 1. */
fc_val fc_math_erf_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const fc_x *size = LET(ABS(x));
    const fc_x *a = LEAF(fc_math_at_most(s, size, 4));
    const fc_x *z = LET(MUL(a, a));
    const fc_x *small = LET(FMA(a, POLY(z, erf_f32), a));
    const fc_x *g = LET(FMA(a, POLY(a, erf_f32_far), a));
    const fc_x *rest = LEAF(fc_math_exp_near(s, LET(NEG(g))));
    return BUILD(COPYSIGN(WHERE(LT(a, N(0.92)), small, SUB(N(1), rest)), x));
}

/* For x >= 0 e^-x^2 P(t) / (1 + 2x) with t = (x-3)/(x+3), in f64, by one division; the other half
 * by erfc(-x) = 2 - erfc x. Beyond 10.1 it is 0. */
fc_val fc_math_erfc_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *size = LET(ABS(x));
    const fc_x *a = LET(CVT(LEAF(fc_math_at_most(s, size, 10.1)), FUSEC_F64));
    const fc_x *up = LET(ADD(a, N(3))), *twice = LET(FMA(a, N(2), N(1)));
    const fc_x *inverse = LET(DIV(N(1), MUL(up, twice)));
    const fc_x *t = LET(MUL(MUL(SUB(a, N(3)), twice), inverse));
    const fc_x *e = LEAF(fc_math_exp_wide(s, LET(NEG(MUL(a, a)))));
    const fc_x *p = POLY(t, erfc_wide);
    const fc_x *v = LET(MUL(MUL(p, e), MUL(up, inverse)));
    const fc_x *left = LET(LT(x, CONSTANT(FUSEC_F32, 0)));
    return BUILD(CVT(WHERE(left, SUB(N(2), v), v), FUSEC_F32));
}

/* See fc_math_erf_f32; beyond 6 it is 1. */
fc_val fc_math_erf_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *size = LET(ABS(x));
    const fc_x *a = LEAF(fc_math_at_most(s, size, 6));
    const fc_x *z = LET(MUL(a, a)), *from_two = LET(SUB(a, N(2)));
    const fc_x *small = LET(FMA(a, POLY(z, erf_f64), a));
    const fc_x *g = POLY(from_two, erf_f64_far);
    const fc_x *rest = LEAF(fc_math_exp_near_f64(s, LET(NEG(g))));
    return BUILD(COPYSIGN(WHERE(LT(a, N(0.92)), small, SUB(N(1), rest)), x));
}

/* e^-(z + lo) P(t) / (1 + 2a) with t = (a-4)/(a+4) = 2a/(a+4) - 1, near 0 the better form; z + lo
 * is the square of a = |x|. Beyond 27.3 it is 0. */
fc_val fc_math_erfc_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *size = LET(ABS(x));
    const fc_x *a = LEAF(fc_math_at_most(s, size, 27.3));
    const fc_x *z = LET(MUL(a, a)), *minus_z = LET(NEG(z));
    const fc_x *minus_lo = LET(FMA(a, NEG(a), z));
    const fc_x *t = LET(FMA(DIV(a, ADD(a, N(4))), N(2), N(-1)));
    const fc_x *p = POLY(t, erfc_f64);
    const fc_x *twice = LET(FMA(a, N(2), N(1)));
    const fc_x *v = LEAF(fc_math_exp_times_f64(s, minus_z, minus_lo, p, twice));
    return BUILD(WHERE(LT(x, N(0)), SUB(N(2), v), v));
}
