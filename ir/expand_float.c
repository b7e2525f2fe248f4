/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand_float.c - rows that look into the bits of floats, and sums of exponentials. Operands are
 * f32 or f64: the 16-bit floats widen without loss before. */
#include "ir/expand.h"

#include <math.h>

#include "ir/formula.h"

typedef struct format {
    fusec_dtype bits; /* unsigned of the same width */
    int fraction, bias, most;
    double up; /* 2^shift lifts every subnormal among the normal numbers */
    int shift;
} format;

static format format_of(fusec_dtype t) {
    if (t == FUSEC_F64) return (format){FUSEC_U64, 52, 1023, 2047, 0x1p54, 54};
    return (format){FUSEC_U32, 23, 127, 255, 0x1p25, 25};
}

/* ---- signs, parts ------------------------------------------------------------------------ */

fc_val fc_x_signbit(fc_code *s, const fc_x *x) {
    fusec_dtype TYPE = fc_val_dtype(s, x->v);
    if (!fc_is_float(TYPE)) return fc_is_signed(TYPE) ? BUILD(LT(x, N(0))) : BUILD(BOOLEAN(false));
    const fusec_dtype u = fc_x_unsigned(TYPE);
    const uint64_t top = (uint64_t)1 << (fc_dtypes[u].bits - 1);
    return BUILD(GE(BITCAST(x, u), CONSTANT(u, top)));
}

/* x with subnormals lifted, what its exponent field says, and whether it was lifted. */
typedef struct parts {
    fc_val bits, field, lifted, plain;
} parts;

static parts parts_of(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const format f = format_of(TYPE);
    const double least = TYPE == FUSEC_F64 ? 0x1p-1022 : 0x1p-126;
    parts p;
    p.lifted = BUILD(LT(ABS(x), N(least)));
    p.bits = BUILD(BITCAST(WHERE(LEAF(p.lifted), MUL(x, N(f.up)), x), f.bits));
    p.field = BUILD(BIT_AND(SHR_RAW(LEAF(p.bits), CONSTANT(f.bits, (uint64_t)f.fraction)),
                            CONSTANT(f.bits, (uint64_t)f.most)));
    p.plain = BUILD(LOGICAL_OR(EQ(x, N(0)), LOGICAL_NOT(LT(ABS(x), N(INFINITY)))));
    return p;
}

fc_val fc_x_mantissa(fc_code *s, const fc_x *x) {
    const fusec_dtype t = fc_val_dtype(s, x->v);
    const format f = format_of(t);
    const parts p = parts_of(s, x);
    const uint64_t field = (uint64_t)f.most << f.fraction;
    const fc_x *rest = LET(BIT_AND(LEAF(p.bits), CONSTANT(f.bits, ~field)));
    const fc_x *half = CONSTANT(f.bits, (uint64_t)(f.bias - 1) << f.fraction);
    return BUILD(WHERE(LEAF(p.plain), x, BITCAST(BIT_OR(rest, half), t)));
}

fc_val fc_x_exponent(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const format f = format_of(TYPE);
    const parts p = parts_of(s, x);
    const fc_x *e = LET(SUB(CVT(LEAF(p.field), TYPE), N(f.bias - 1)));
    const fc_x *of_lifted = SUB(e, N(f.shift));
    return BUILD(WHERE(LEAF(p.plain), N(0), WHERE(LEAF(p.lifted), of_lifted, e)));
}

/* 2^n as a float; n is whole and 2^n a normal number. */
static fc_val power_of_two(fc_code *s, const fc_x *n) {
    const fusec_dtype TYPE = fc_val_dtype(s, n->v);
    const format f = format_of(TYPE);
    const fc_x *field = CVT(ADD(n, N(f.bias)), f.bits);
    return BUILD(BITCAST(SHL_RAW(field, CONSTANT(f.bits, (uint64_t)f.fraction)), TYPE));
}

/* m 2^k with |m| in [0.5, 1), or m zero, infinite or nan. The first product is exact, as it is a
 * normal number; where the whole is none, the second rounds, and it is the only one that does. */
fc_val fc_x_ldexp(fc_code *s, const fc_x *x, const fc_x *n) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const format f = format_of(TYPE);
    const double low = 2 - f.bias, high = f.bias, rest = f.fraction + 10;
    const fc_x *m = LEAF(fc_x_mantissa(s, x));
    const fc_x *k = LET(ADD(LEAF(fc_x_exponent(s, x)), TRUNC(n))); /* nan: see the end */
    const fc_x *first = LET(MINIMUM(MAXIMUM(k, N(low)), N(high)));
    const fc_x *second = LET(MINIMUM(MAXIMUM(SUB(k, first), N(-rest)), N(rest)));
    const fc_x *known = LET(EQ(n, n));
    const fc_x *a = LEAF(power_of_two(s, LET(WHERE(known, first, N(0)))));
    const fc_x *b = LEAF(power_of_two(s, LET(WHERE(known, second, N(0)))));
    return BUILD(WHERE(known, MUL(MUL(m, a), b), ADD(x, n)));
}

/* ---- sums of exponentials ------------------------------------------------------------------ */

/* The larger plus log(1 + exp of minus the difference); equal operands, infinities among them, have
 * no difference to be computed. */
fc_val fc_x_logaddexp(fc_code *s, const fc_x *x, const fc_x *y, bool base2) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const fc_x *top = LET(MAXIMUM(x, y));
    const fc_x *apart = LET(NEG(ABS(WHERE(EQ(x, y), N(0), SUB(x, y)))));
    if (!base2) return BUILD(ADD(top, LOG1P(EXP(apart))));
    return BUILD(ADD(top, MUL(LOG1P(EXP2(apart)), N(0x1.71547652b82fep+0))));
}
