/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_trig.c - sine, cosine and tangent.
 *
 * |x| = n pi/2 + r with the whole number n nearest to |x| 2/pi. pi/2 is taken in three parts. The
 * first difference is exact: both terms are multiples of the last place of the first part, and it
 * is below 1. The first part is cut off, not rounded, so that the others are positive. Functions of
 * the same operand share all this as common subexpressions. Beyond the limits of ir/far.h the
 * result comes from there. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/math_trig_data.h"

#define TWO_OVER_PI 0x1.45f306dc9c883p-1

typedef struct angle {
    fc_val sine, cosine; /* of r */
    fc_val n;            /* unsigned; the low bits are those of the whole number */
} angle;

static angle polynomials_f32(fc_code *s, const fc_x *r, fc_val n) {
    const fusec_dtype TYPE = FUSEC_F32;
    const fc_x *z = LET(MUL(r, r));
    const fc_x *p = POLY(z, sin_f32), *q = POLY(z, cos_f32);
    const fc_x *h = LET(FMA(q, z, N(-0.5)));
    const fc_val sine = BUILD(FMA(MUL(r, z), p, r));
    return (angle){.n = n, .sine = sine, .cosine = BUILD(FMA(z, h, N(1)))};
}

/* sin(r + lo) = sin r + lo cos r, cos(r + lo) = cos r - lo r; `cut` is the rounding error of 1 -
 * z/2, exactly. */
static angle polynomials_f64(fc_code *s, const fc_x *r, const fc_x *lo, fc_val n) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *z = LET(MUL(r, r));
    const fc_x *p = POLY(z, sin_f64), *q = POLY(z, cos_f64);
    const fc_x *h = LET(FMA(z, N(-0.5), N(1)));
    const fc_x *cut = LET(FMA(z, N(-0.5), SUB(N(1), h)));
    const fc_x *rest = LET(FMA(r, NEG(lo), FMA(MUL(z, z), q, cut)));
    const fc_val sine = BUILD(ADD(FMA(MUL(r, z), p, MUL(lo, h)), r));
    return (angle){.n = n, .sine = sine, .cosine = BUILD(ADD(rest, h))};
}

static angle reduce_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const fc_x *a = LET(ABS(x));
    const fc_x *t = LET(FMA(a, N(TWO_OVER_PI), N(ROUND_F32)));
    const fc_x *n = LET(SUB(t, N(ROUND_F32)));
    const fc_x *r1 = LET(FMA(n, N(-pio2_f32[0]), a));
    const fc_x *r2 = LET(FMA(n, N(-pio2_f32[1]), r1));
    const fc_x *r = LET(FMA(n, N(-pio2_f32[2]), r2));
    return polynomials_f32(s, r, BUILD(BITCAST(t, FUSEC_U32)));
}

/* The rounding errors of the second step are kept: the product's as `tail`, the difference's as
 * `cut`. */
static angle reduce_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(ABS(x));
    const fc_x *t = LET(FMA(a, N(TWO_OVER_PI), N(ROUND_F64)));
    const fc_x *n = LET(SUB(t, N(ROUND_F64)));
    const fc_x *r1 = LET(FMA(n, N(-pio2_f64[0]), a));
    const fc_x *p = LET(MUL(n, N(pio2_f64[1])));
    const fc_x *tail = LET(FMA(n, N(pio2_f64[1]), NEG(p)));
    const fc_x *r = LET(SUB(r1, p));
    const fc_x *cut = LET(SUB(SUB(r1, r), p));
    const fc_x *lo = LET(FMA(n, N(-pio2_f64[2]), SUB(cut, tail)));
    return polynomials_f64(s, r, lo, BUILD(BITCAST(t, FUSEC_U64)));
}

static angle reduce(fc_code *s, const fc_x *x) {
    return fc_val_dtype(s, x->v) == FUSEC_F64 ? reduce_f64(s, x) : reduce_f32(s, x);
}

/* The bit 2 of n moved to the sign bit. */
static fc_val half_turns(fc_code *s, const fc_x *n) {
    const fusec_dtype TYPE = fc_val_dtype(s, n->v);
    return BUILD(SHL_RAW(n, N(fc_dtypes[TYPE].bits - 2)));
}

/* Whether the bit below that is set: the lowest bit of n. */
static fc_val is_odd(fc_code *s, const fc_x *n) {
    const fusec_dtype TYPE = fc_val_dtype(s, n->v);
    const fc_x *bit = CONSTANT(TYPE, (uint64_t)1 << (fc_dtypes[TYPE].bits - 2));
    return BUILD(NE(BIT_AND(LEAF(half_turns(s, n)), bit), N(0)));
}

/* v with its sign changed where the sign bit of the integer `flip` is set */
static fc_val with_sign(fc_code *s, const fc_x *v, const fc_x *flip) {
    const fusec_dtype t = fc_val_dtype(s, v->v), TYPE = fc_x_unsigned(t);
    const fc_x *top = CONSTANT(TYPE, (uint64_t)1 << (fc_dtypes[t].bits - 1));
    return BUILD(BITCAST(BIT_XOR(BITCAST(v, TYPE), BIT_AND(flip, top)), t));
}

fc_val fc_math_sin(fc_code *s, const fc_x *x) {
    const fusec_dtype t = fc_val_dtype(s, x->v), TYPE = fc_x_unsigned(t);
    const angle a = reduce(s, x);
    const fc_x *n = LEAF(a.n);
    const fc_x *v = LET(WHERE(LEAF(is_odd(s, n)), LEAF(a.cosine), LEAF(a.sine)));
    const fc_x *flip = LET(BIT_XOR(LEAF(half_turns(s, n)), BITCAST(x, TYPE)));
    return BUILD(ROW2(far_sin, x, LEAF(with_sign(s, v, flip))));
}

fc_val fc_math_cos(fc_code *s, const fc_x *x) {
    const fusec_dtype t = fc_val_dtype(s, x->v), TYPE = fc_x_unsigned(t);
    const angle a = reduce(s, x);
    const fc_x *n = LEAF(a.n);
    const fc_x *v = LET(WHERE(LEAF(is_odd(s, n)), LEAF(a.sine), LEAF(a.cosine)));
    const fc_x *flip = LEAF(half_turns(s, LET(ADD(n, N(1)))));
    return BUILD(ROW2(far_cos, x, LEAF(with_sign(s, v, flip))));
}

fc_val fc_math_tan(fc_code *s, const fc_x *x) {
    const fusec_dtype t = fc_val_dtype(s, x->v), TYPE = fc_x_unsigned(t);
    const angle a = reduce(s, x);
    const fc_x *n = LEAF(a.n), *odd = LEAF(is_odd(s, n));
    const fc_x *above = LET(WHERE(odd, LEAF(a.cosine), LEAF(a.sine)));
    const fc_x *below = LET(WHERE(odd, LEAF(a.sine), LEAF(a.cosine)));
    const fc_x *turn = LET(SHL_RAW(n, N(fc_dtypes[t].bits - 1)));
    const fc_x *flip = LET(BIT_XOR(turn, BITCAST(x, TYPE)));
    const fc_x *v = LET(DIV(above, below));
    return BUILD(ROW2(far_tan, x, LEAF(with_sign(s, v, flip))));
}

/* v if it is such a row, else NULL. */
static const fc_instr *far_row(const fc_code *s, fc_val v, fc_op op) {
    const fc_instr *i = &s->ins.at[v];
    return i->op == op ? i : NULL;
}

/* A quarter turn exchanges sine and cosine but for a sign: where n is odd the product has the other
 * sign, and nothing needs to be chosen. Rounding is the same for both signs. */
fc_val fc_math_sin_times_cos(fc_code *s, fc_val a, fc_val b) {
    const bool first = s->ins.at[a].op == FC_OP_far_sin;
    const fc_instr *sine = far_row(s, first ? a : b, FC_OP_far_sin);
    const fc_instr *cosine = far_row(s, first ? b : a, FC_OP_far_cos);
    if (!sine || !cosine || sine->a != cosine->a) return FC_NOVAL;
    const fusec_dtype t = (fusec_dtype)sine->dtype, TYPE = fc_x_unsigned(t);
    const fc_x *x = LEAF(sine->a);
    const angle r = reduce(s, x);
    const fc_x *turn = LET(SHL_RAW(LEAF(r.n), N(fc_dtypes[t].bits - 1)));
    const fc_x *flip = LET(BIT_XOR(turn, BITCAST(x, TYPE)));
    const fc_val near = with_sign(s, LEAF(r.sine), flip);
    const fc_val factor[2] = {BUILD(ROW2(far_sin, x, LEAF(near))),
                              BUILD(ROW2(far_cos, x, LEAF(r.cosine)))};
    return fc_code_add(
        s,
        (fc_instr){
            .op = FC_OP_mul, .dtype = (uint8_t)t, .a = factor[0], .b = factor[1], .c = FC_NOVAL});
}
