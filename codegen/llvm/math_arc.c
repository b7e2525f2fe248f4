/* math_arc.c - inverse trigonometric functions in f32. */
#include "codegen/llvm/math.h"
#include "codegen/llvm/math_arc_data.h"

/* pi/2 - v and pi - v */
static fc_val from_quarter(fc_code *s, const fc_x *v) {
    const fusec_dtype TYPE = FUSEC_F32;
    return BUILD(SUB(N(pio2_parts[0]), SUB(v, N(pio2_parts[1]))));
}

static fc_val from_half(fc_code *s, const fc_x *v) {
    const fusec_dtype TYPE = FUSEC_F32;
    return BUILD(SUB(N(2 * pio2_parts[0]), SUB(v, N(2 * pio2_parts[1]))));
}

/* Up to 1/2, asin x is x and a polynomial; beyond, it is pi/2 - 2 asin sqrt((1-x)/2). */
typedef struct sine_arc {
    fc_val far;     /* beyond */
    fc_val t, tail; /* t is |x| or the root, t + tail its asin */
} sine_arc;

static sine_arc arc_of(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const fc_x *a = LET(ABS(x));
    const fc_x *far = LET(GT(a, N(0.5)));
    const fc_x *z = LET(WHERE(far, FMA(a, N(-0.5), N(0.5)), MUL(a, a)));
    const fc_x *t = LET(WHERE(far, SQRT(z), a));
    const fc_x *p = POLY(z, asin_f32);
    return (sine_arc){.far = far->v, .t = t->v, .tail = BUILD(MUL(MUL(t, z), p))};
}

fc_val fc_math_asin_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
    const sine_arc w = arc_of(s, x);
    const fc_x *t = LEAF(w.t), *tail = LEAF(w.tail);
    const fc_x *rest = LET(FMA(tail, N(2), N(-pio2_parts[1])));
    const fc_x *far = LET(SUB(FMA(t, N(-2), N(pio2_parts[0])), rest));
    return BUILD(COPYSIGN(WHERE(LEAF(w.far), far, ADD(t, tail)), x));
}

fc_val fc_math_acos_f32(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_F32;
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
