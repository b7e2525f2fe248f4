/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_pow.c - powers and the cube root.
 *
 * |x|^y = 2^(y log2 |x|). In f64 the logarithm is the sum of two numbers that together are good to
 * some 65 bits, because the product may be 1075 and its error counts absolutely. The cube root
 * starts from a polynomial for 1/cbrt x, good to 14 bits; two steps make it good to all. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/math_pow_data.h"

#define LOG2E 0x1.71547652b82fep+0

/* ---- cube root -------------------------------------------------------------------------- */

/* |x| = 2^l, and the root is 2^(l/3); 0, inf and nan are their own. */
fc_val fc_math_cbrt_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const fc_x *a = LET(ABS(x));
    const fc_math_parts w = fc_math_split(s, LET(CVT(a, FUSEC_F64)));
    const fc_x *third = CONSTANT(FUSEC_F64, fc_const_bits(FUSEC_F64, LOG2E / 3));
    const fc_x *third_e = CONSTANT(FUSEC_F64, fc_const_bits(FUSEC_F64, 1.0 / 3));
    const fc_x *log_m = LEAF(fc_math_log_of_sum(s, LEAF(w.f))), *e = LEAF(w.e);
    const fc_x *l = LET(FMA(log_m, third, MUL(e, third_e)));
    const fc_x *v = LET(COPYSIGN(CVT(LEAF(fc_math_exp2_wide(s, l)), FUSEC_F32), x));
    const fc_x *whole = LET(LOGICAL_AND(GT(a, N(0)), LT(a, N(INFINITY))));
    return BUILD(WHERE(whole, v, x));
}

/* x = 2^(3n) M, M from 0.35 to 2.83. h = 1 - M r^3 is the error of r = M^(-1/3), of which the
 * series (1 - h)^(-1/3) takes two terms; the last step measures M - y^3 with one rounding. */
fc_val fc_math_cbrt_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(ABS(x));
    const fc_math_parts w = fc_math_split_any(s, a);
    const fc_x *e = LEAF(w.e), *f = LEAF(w.f);
    const fc_x *t = LET(FMA(e, N(1.0 / 3), N(POWER_F64)));
    const fc_x *rest = LET(FMA(SUB(t, N(POWER_F64)), N(-3), e)); /* -1, 0 or 1 */
    const fc_x *less = LET(LT(rest, N(0))), *more = LET(GT(rest, N(0)));
    const fc_x *m = LET(MUL(ADD(f, N(1)), WHERE(less, N(0.5), WHERE(more, N(2), N(1)))));
    const fc_x *at = LET(WHERE(less, N(0x1.428a2f98d728bp+0), /* 2^(1/3), its inverse */
                               WHERE(more, N(0x1.965fea53d6e3dp-1), N(1))));
    const fc_x *r0 = LET(MUL(POLY(f, cbrt_start), at));
    const fc_x *h = LET(FMA(MUL(MUL(r0, r0), NEG(r0)), m, N(1)));
    const fc_x *r = LET(FMA(MUL(r0, h), FMA(h, N(2.0 / 9), N(1.0 / 3)), r0));
    const fc_x *square = LET(MUL(r, r));
    const fc_x *y = LET(MUL(square, m));
    const fc_x *left = LET(FMA(MUL(y, y), NEG(y), m));
    const fc_x *root = LET(FMA(left, MUL(square, N(1.0 / 3)), y));
    const fc_x *v = LET(COPYSIGN(MUL(root, LEAF(fc_math_two_to_f64(s, t))), x));
    const fc_x *whole = LET(LOGICAL_AND(GT(a, N(0)), LT(a, N(INFINITY))));
    return BUILD(WHERE(whole, v, x));
}

/* ---- powers ----------------------------------------------------------------------------- */

/* log2 |x|, with the ends: -inf of 0, inf of inf, nan of nan */
static fc_val log2_fine(fc_code *s, const fc_x *a) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_math_parts w = fc_math_split(s, a);
    const fc_x *f = LEAF(w.f), *e = LEAF(w.e);
    const fc_x *p = POLY(f, log_wide_fine);
    const fc_x *log_m = LET(FMA(MUL(f, f), p, f));
    const fc_x *l = LET(FMA(log_m, N(LOG2E), e));
    const fc_x *ended = LET(WHERE(LT(a, N(INFINITY)), l, a));
    return BUILD(WHERE(EQ(a, N(0)), N(-INFINITY), ended));
}

/* |x| to the power y: 2^(y log2 |x|); 1 to the power inf has no logarithm to multiply. */
static fc_val power_of_size(fc_code *s, const fc_x *a, const fc_x *y) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *xd = LET(CVT(a, FUSEC_F64)), *yd = LET(CVT(y, FUSEC_F64));
    const fc_x *product = LET(MUL(LEAF(log2_fine(s, xd)), yd));
    const fc_x *one_inf = LET(LOGICAL_AND(EQ(xd, N(1)), EQ(ABS(yd), N(INFINITY))));
    const fc_x *l = LET(WHERE(one_inf, N(0), product));
    const fc_x *below = LEAF(fc_math_at_most(s, l, 160));
    const fc_x *within = LEAF(fc_math_at_least(s, below, -160));
    return BUILD(CVT(LEAF(fc_math_exp2_wide(s, within)), FUSEC_F32));
}

/* x^y from |x|^y: signs, and what has no value. */
static fc_val with_sign(fc_code *s, const fc_x *x, const fc_x *y, const fc_x *v) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const fusec_dtype whole_type = TYPE == FUSEC_F64 ? FUSEC_I64 : FUSEC_I32;
    const fc_x *half = LET(MUL(y, N(0.5)));
    const fc_x *whole = LET(EQ(FLOOR(y), y));
    const fc_x *odd = LET(LOGICAL_AND(whole, NE(FLOOR(half), half)));
    const fc_x *bits = LET(BITCAST(x, whole_type)); /* of -0, too, the odd powers are negative */
    const fc_x *minus = LET(LOGICAL_AND(LT(bits, CONSTANT(whole_type, 0)), odd));
    const fc_x *signed_v = LET(WHERE(minus, NEG(v), v));
    const fc_x *finite = LET(LOGICAL_AND(LT(x, N(0)), LT(ABS(x), N(INFINITY))));
    const fc_x *none = LET(LOGICAL_AND(finite, LOGICAL_NOT(whole)));
    const fc_x *real = LET(WHERE(none, N(NAN), signed_v));
    return BUILD(WHERE(LOGICAL_OR(EQ(x, N(1)), EQ(y, N(0))), N(1), real));
}

fc_val fc_math_pow_f32(fc_code *s, const fc_x *x, const fc_x *y) {
    const fc_x *v = LEAF(power_of_size(s, LET(ABS(x)), y));
    return with_sign(s, x, y, v);
}

typedef struct sum {
    fc_val hi, lo;
} sum;

/* 2 atanh(f/(2+f)) = 2 q (1 + z (1/3 + z P(z))), z = q^2. Each step keeps the rounding error of the
 * one before: d + d_lo is 2 + f, q + q_lo the quotient, and so on; all sums have the larger term
 * first. */
static sum log2_sum(fc_code *s, const fc_x *a) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_math_parts parts = fc_math_split_any(s, a);
    const fc_x *e = LEAF(parts.e), *f = LEAF(parts.f);
    const fc_x *d = LET(ADD(f, N(2)));
    const fc_x *d_lo = LET(SUB(f, SUB(d, N(2))));
    const fc_x *inverse = LET(DIV(N(1), d));
    const fc_x *q = LET(MUL(f, inverse));
    const fc_x *minus_q = LET(NEG(q));
    const fc_x *q_lo = LET(MUL(FMA(minus_q, d_lo, FMA(minus_q, d, f)), inverse));
    const fc_x *z = LET(MUL(q, q));
    const fc_x *z_lo = LET(FMA(q, ADD(q_lo, q_lo), FMA(q, q, NEG(z))));
    const fc_x *p = LET(MUL(z, POLY(z, log_f64_fine)));
    const fc_x *w = LET(ADD(N(third_f64[0]), p));
    const fc_x *w_lo = LET(ADD(ADD(SUB(N(third_f64[0]), w), p), N(third_f64[1])));
    const fc_x *v = LET(MUL(z, w));
    const fc_x *v_lo = LET(FMA(z, w_lo, FMA(z_lo, w, FMA(z, w, NEG(v)))));
    const fc_x *u = LET(ADD(N(1), v));
    const fc_x *u_lo = LET(ADD(ADD(SUB(N(1), u), v), v_lo));
    const fc_x *l = LET(MUL(q, u));
    const fc_x *l_lo = LET(FMA(q, u_lo, FMA(q_lo, u, FMA(q, u, NEG(l)))));
    const fc_x *k = LET(MUL(l, N(two_log2e_f64[0])));
    const fc_x *cut = LET(FMA(l, N(two_log2e_f64[0]), NEG(k)));
    const fc_x *k_lo = LET(FMA(l_lo, N(two_log2e_f64[0]), FMA(l, N(two_log2e_f64[1]), cut)));
    const fc_x *h = LET(ADD(e, k));
    return (sum){.hi = h->v, .lo = BUILD(ADD(ADD(SUB(e, h), k), k_lo))};
}

/* Where y log2 |x| is beyond all finite powers, its second part is dropped: it may be nan. */
fc_val fc_math_pow_f64(fc_code *s, const fc_x *x, const fc_x *y) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(ABS(x));
    const sum l = log2_sum(s, a);
    const fc_x *finite = LET(WHERE(LT(a, N(INFINITY)), LEAF(l.hi), a));
    const fc_x *h = LET(WHERE(EQ(a, N(0)), N(-INFINITY), finite));
    const fc_x *product = LET(MUL(y, h));
    const fc_x *product_lo = LET(FMA(y, LEAF(l.lo), FMA(y, h, NEG(product))));
    const fc_x *one_inf = LET(LOGICAL_AND(EQ(a, N(1)), EQ(ABS(y), N(INFINITY))));
    const fc_x *hi = LET(WHERE(one_inf, N(0), product));
    const fc_x *lo = LET(WHERE(LT(ABS(product), N(1100)), product_lo, N(0)));
    const fc_x *below = LEAF(fc_math_at_most(s, hi, 1100));
    const fc_x *within = LEAF(fc_math_at_least(s, below, -1100));
    return with_sign(s, x, y, LEAF(fc_math_exp2_sum_f64(s, within, lo)));
}
