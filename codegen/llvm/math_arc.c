/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_arc.c - inverse trigonometric functions. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/math_arc_data.h"

static const double *quarter(fusec_dtype t) {
    return t == FUSEC_F64 ? pio2_parts_f64 : pio2_parts;
}

/* pi/2 - v and pi - v */
static fc_val from_quarter(fc_code *s, const fc_x *v) {
    const fusec_dtype TYPE = fc_val_dtype(s, v->v);
    const double *parts = quarter(TYPE);
    return BUILD(SUB(N(parts[0]), SUB(v, N(parts[1]))));
}

static fc_val from_half(fc_code *s, const fc_x *v) {
    const fusec_dtype TYPE = fc_val_dtype(s, v->v);
    const double *parts = quarter(TYPE);
    return BUILD(SUB(N(2 * parts[0]), SUB(v, N(2 * parts[1]))));
}

/* Up to 1/2, asin x is x and a polynomial; beyond, it is pi/2 - 2 asin sqrt((1-x)/2). */
typedef struct sine_arc {
    fc_val far;     /* beyond */
    fc_val t, tail; /* t is |x| or the root, t + tail its asin */
} sine_arc;

static sine_arc arc_of(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const fc_x *a = LET(ABS(x));
    const fc_x *far = LET(GT(a, N(0.5)));
    const fc_x *z = LET(WHERE(far, FMA(a, N(-0.5), N(0.5)), MUL(a, a)));
    const fc_x *t = LET(WHERE(far, SQRT(z), a));
    const fc_x *p = LEAF(TYPE == FUSEC_F64 ? POLY(z, asin_f64)->v : POLY(z, asin_f32)->v);
    return (sine_arc){.far = far->v, .t = t->v, .tail = BUILD(MUL(MUL(t, z), p))};
}

fc_val fc_math_asin(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const double *parts = quarter(TYPE);
    const sine_arc w = arc_of(s, x);
    const fc_x *t = LEAF(w.t), *tail = LEAF(w.tail);
    const fc_x *rest = LET(FMA(tail, N(2), N(-parts[1])));
    const fc_x *far = LET(SUB(FMA(t, N(-2), N(parts[0])), rest));
    return BUILD(COPYSIGN(WHERE(LEAF(w.far), far, ADD(t, tail)), x));
}

fc_val fc_math_acos(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const sine_arc w = arc_of(s, x);
    const fc_x *p = LET(ADD(LEAF(w.t), LEAF(w.tail)));
    const fc_x *twice = LET(ADD(p, p));
    const fc_x *near = LEAF(from_quarter(s, LET(COPYSIGN(p, x))));
    const fc_x *far = LET(WHERE(LT(x, N(0)), LEAF(from_half(s, twice)), twice));
    return BUILD(WHERE(LEAF(w.far), far, near));
}

static fc_val atan_poly(fc_code *s, const fc_x *t) {
    const fc_x *z = LET(MUL(t, t));
    const fc_x *p = POLY(z, atan_f32);
    return BUILD(FMA(MUL(t, z), p, t));
}

fc_val fc_math_atan_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const fc_x *a = LET(ABS(x));
    const fc_x *far = LET(GT(a, N(1)));
    const fc_x *t = LET(WHERE(far, DIV(N(1), a), a));
    const fc_x *p = LEAF(atan_poly(s, t));
    return BUILD(COPYSIGN(WHERE(far, LEAF(from_quarter(s, p)), p), x));
}

/* The smaller over the larger size; 0/0 counts as 0 and inf/inf as 1. */
fc_val fc_math_atan2_f32(fc_code *s, const fc_x *y, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const fc_x *a = LET(ABS(x)), *b = LET(ABS(y));
    const fc_x *steep = LET(GT(b, a));
    const fc_x *above = LET(WHERE(steep, a, b));
    const fc_x *below = LET(WHERE(steep, b, a));
    const fc_x *equal = LET(EQ(above, below));
    const fc_x *end = LET(LOGICAL_OR(EQ(above, N(INFINITY)), EQ(below, N(0))));
    const fc_x *both = LET(WHERE(EQ(below, N(0)), N(0), N(1)));
    const fc_x *t = LET(WHERE(LOGICAL_AND(equal, end), both, DIV(above, below)));
    const fc_x *p = LEAF(atan_poly(s, t));
    const fc_x *right = LET(WHERE(steep, LEAF(from_quarter(s, p)), p));
    const fc_x *left = LET(LT(BITCAST(x, FUSEC_I32), CONSTANT(FUSEC_I32, 0)));
    return BUILD(COPYSIGN(WHERE(left, LEAF(from_half(s, right)), right), y));
}

/* ---- f64 -------------------------------------------------------------------------------- */

/* k pi/4 + v with k from 0 to 4 */
typedef struct turned {
    fc_val k, v;
} turned;

/* pi - (k pi/4 + v) where `when` and pi is 4 quarters; pi/2 - ... with 2. */
static turned mirrored(fc_code *s, turned a, const fc_x *when, double quarters) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *k = LEAF(a.k), *v = LEAF(a.v);
    return (turned){.k = BUILD(WHERE(when, SUB(N(quarters), k), k)),
                    .v = BUILD(WHERE(when, NEG(v), v))};
}

static fc_val angle_of(fc_code *s, turned a) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *k = LEAF(a.k);
    const fc_x *low = LET(FMA(k, N(pio4_parts_f64[1]), LEAF(a.v)));
    return BUILD(FMA(k, N(pio4_parts_f64[0]), low));
}

/* atan(above/below), 0 <= above <= below: beyond 1/2 it is pi/4 +
 * atan((above-below)/(above+below)), where the difference is exact. */
static turned slope(fc_code *s, const fc_x *above, const fc_x *below) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *mid = LET(GT(ADD(above, above), below));
    const fc_x *up = LET(WHERE(mid, SUB(above, below), above));
    const fc_x *down = LET(WHERE(mid, ADD(above, below), below));
    const fc_x *q = LET(DIV(up, down));
    const fc_x *z = LET(MUL(q, q));
    const fc_x *p = POLY(z, atan_f64);
    return (turned){.k = BUILD(WHERE(mid, N(1), N(0))), .v = BUILD(FMA(MUL(q, z), p, q))};
}

fc_val fc_math_atan_f64(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(ABS(x)), *steep = LET(GT(a, N(1)));
    const fc_x *above = LET(WHERE(steep, N(1), a));
    const fc_x *below = LET(WHERE(steep, a, N(1)));
    const turned w = mirrored(s, slope(s, above, below), steep, 2);
    return BUILD(COPYSIGN(LEAF(angle_of(s, w)), x));
}

/* 0/0 counts as 0 and inf/inf as 1; large numbers are scaled, because they are added. */
fc_val fc_math_atan2_f64(fc_code *s, const fc_x *y, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F64;
    const fc_x *a = LET(ABS(x)), *b = LET(ABS(y)), *steep = LET(GT(b, a));
    const fc_x *less = LET(WHERE(steep, a, b)), *more = LET(WHERE(steep, b, a));
    const fc_x *both_inf = LET(LOGICAL_AND(EQ(a, N(INFINITY)), EQ(b, N(INFINITY))));
    const fc_x *scale = LET(WHERE(GT(more, N(0x1p1000)), N(0x1p-10), N(1)));
    const fc_x *above = LET(WHERE(both_inf, N(1), MUL(less, scale)));
    const fc_x *some = LET(WHERE(EQ(more, N(0)), N(1), MUL(more, scale)));
    const fc_x *below = LET(WHERE(both_inf, N(1), some));
    const turned right = mirrored(s, slope(s, above, below), steep, 2);
    const fc_x *left = LET(LT(BITCAST(x, FUSEC_I64), CONSTANT(FUSEC_I64, 0)));
    return BUILD(COPYSIGN(LEAF(angle_of(s, mirrored(s, right, left, 4))), y));
}
