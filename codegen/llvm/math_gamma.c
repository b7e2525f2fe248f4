/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_gamma.c - the gamma function and its logarithm for f32, in f64.
 *
 * Stirling's series at an argument that is moved up first, with the product that moves it back:
 *
 *     log gamma(y) = (y - 1/2) log y - y + log(2 pi)/2 + S(1/y)
 *     gamma(z) = gamma(z + k) / (z (z + 1) ... (z + k - 1))
 *
 * and below 1/2 the reflection gamma(x) = pi / (sin(pi x) gamma(1 - x)). The coefficients are those
 * of the series: Bernoulli's numbers for S, B_2k / (2k (2k - 1)), and Taylor's for sin(pi f). */
#include "codegen/llvm/llvm_math.h"

#define LN2             0x1.62e42fefa39efp-1
#define PI              0x1.921fb54442d18p+1
#define HALF_LOG_TWO_PI 0x1.d67f1c864beb5p-1

/* Of 1/y^2; from y = 4.5 on five terms leave 1.3e-10, from 8.5 on all of them 3e-17. */
static const double stirling_short[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188};
static const double stirling[] = {1.0 / 12,   -1.0 / 360,        1.0 / 1260, -1.0 / 1680,
                                  1.0 / 1188, -691.0 / 360360.0, 1.0 / 156,  -3617.0 / 122400.0};
/* sin(pi f) / f of f^2, |f| <= 1/2; what is left out is below 5e-15 of it. */
static const double sin_pi[] = {PI,
                                -0x1.4abbce625be53p+2,
                                0x1.466bc6775aae2p+1,
                                -0x1.32d2cce62bd86p-1,
                                0x1.50783487ee782p-4,
                                -0x1.e3074fde8871fp-8,
                                0x1.e8f434d018d63p-12,
                                -0x1.6fadb9f155744p-16,
                                0x1.aaec32af93359p-21};

/* sin(pi x), with the sign; 0 for whole numbers. All f32 below -2^23 are whole. */
static fc_val sin_of_half_turns(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *y = LEAF(fc_math_at_least(s, x, -0x1p24));
    const fc_x *t = LET(ADD(y, N(ROUND_F64)));
    const fc_x *f = LET(SUB(y, SUB(t, N(ROUND_F64))));
    const fc_x *v = LET(MUL(f, POLY(LET(MUL(f, f)), sin_pi)));
    const fc_x *odd = LET(SHL_RAW(BITCAST(t, FUSEC_U64), CONSTANT(FUSEC_U64, 63)));
    return BUILD(BITCAST(BIT_XOR(BITCAST(v, FUSEC_U64), odd), FUSEC_F64));
}

/* (y - 1/2) log y - y + log(2 pi)/2 + S */
static fc_val log_gamma(fc_code *s, const fc_x *y, const fc_x *log_y, const double *c, size_t n) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *over = LET(DIV(N(1), y)), *z = LET(MUL(over, over));
    const fc_x *rest = LET(FMA(over, LEAF(fc_math_poly(s, z, c, n)), N(HALF_LOG_TWO_PI)));
    return BUILD(ADD(FMA(SUB(y, N(0.5)), log_y, NEG(y)), rest));
}

/* Up to 60 is enough: beyond 35.1 it is above all f32, and as a divisor it leaves 0. */
fc_val fc_math_tgamma_f32(fc_code *s, const fc_x *of) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *x = LET(CVT(of, FUSEC_F64));
    const fc_x *reflected = LET(LT(x, N(0.5)));
    const fc_x *z = LEAF(fc_math_at_most(s, LET(WHERE(reflected, SUB(N(1), x), x)), 60));
    const fc_x *w = LET(MUL(z, ADD(z, N(3))));
    const fc_x *product = LET(MUL(w, ADD(w, N(2)))); /* z (z+1) (z+2) (z+3) */
    const fc_x *y = LET(ADD(z, N(4)));
    const fc_math_parts a = fc_math_split(s, y);
    const fc_x *log_y = LET(FMA(LEAF(a.e), N(LN2), LEAF(fc_math_log_of_sum(s, LEAF(a.f)))));
    const fc_x *log_v = LEAF(log_gamma(s, y, log_y, stirling_short, FC_COUNT(stirling_short)));
    const fc_x *e = LEAF(fc_math_exp_wide(s, log_v));
    const fc_x *sine = LEAF(sin_of_half_turns(s, x));
    const fc_x *above = LET(WHERE(reflected, MUL(product, N(PI)), e));
    const fc_x *below = LET(WHERE(reflected, MUL(sine, e), product));
    const fc_x *v = LET(CVT(DIV(above, below), FUSEC_F32));
    const fc_x *pole = LET(LOGICAL_AND(reflected, EQ(sine, N(0))));
    const fc_x *at_pole = LET(WHERE(EQ(x, N(0)), DIV(CONSTANT(FUSEC_F32, 0x3f800000), of),
                                    CONSTANT(FUSEC_F32, 0x7fc00000)));
    return BUILD(WHERE(pole, at_pole, v));
}

/* Next to 1 and 2, where it is 0, the error is that of the two logarithms, 12.8 each: 4e-15. There
 * no f32 has a logarithm between 0 and 3e-8. */
fc_val fc_math_lgamma_f32(fc_code *s, const fc_x *of) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *x = LET(CVT(of, FUSEC_F64));
    const fc_x *reflected = LET(LT(x, N(0.5)));
    const fc_x *z = LET(WHERE(reflected, SUB(N(1), x), x));
    const fc_x *moved = LET(LT(z, N(8)));
    const fc_x *w = LET(MUL(z, ADD(z, N(7))));
    const fc_x *outer = LET(MUL(w, ADD(w, N(6)))); /* z (z+7) (z+1) (z+6), and the others */
    const fc_x *product = LET(MUL(outer, MUL(ADD(w, N(10)), ADD(w, N(12)))));
    const fc_x *y = LET(WHERE(moved, ADD(z, N(8)), z));
    const fc_x *log_y = LEAF(fc_math_log_f64(s, y));
    const fc_x *l = LEAF(log_gamma(s, y, log_y, stirling, FC_COUNT(stirling)));
    const fc_x *q = LET(WHERE(moved, product, N(1)));
    const fc_x *sine = LET(ABS(LEAF(sin_of_half_turns(s, x))));
    const fc_x *divisor = LET(WHERE(reflected, DIV(MUL(q, N(PI)), sine), q));
    const fc_x *v = LET(SUB(l, LEAF(fc_math_log_f64(s, divisor))));
    const fc_x *is_zero = LET(LT(ABS(v), N(0x1p-40)));
    const fc_x *signed_v = LET(WHERE(is_zero, N(0), WHERE(reflected, NEG(v), v)));
    const fc_x *infinite = LET(EQ(ABS(x), N(INFINITY)));
    return BUILD(CVT(WHERE(infinite, N(INFINITY), signed_v), FUSEC_F32));
}
