/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand_random.c - random draws, and pairs of uniform numbers as normal ones. What is made here
 * are exact rows only, so that the bits are the same on every target. */
#include "ir/expand.h"

#include <math.h>

#include "ir/formula.h"

fc_val fc_x_philox(fc_code *s, const fc_x *i, const fc_x *seed, const fc_x *stream) {
    const fusec_dtype TYPE = fc_val_dtype(s, i->v);
    const fc_x *of[3] = {CVT(i, FUSEC_U64), CVT(seed, FUSEC_U64), CVT(stream, FUSEC_U64)};
    return BUILD(CVT(PHILOX_RAW(of[0], of[1], of[2]), TYPE));
}

/* c[0] + c[1] z + ... */
static fc_val poly(fc_code *s, const fc_x *z, const double *c, int n) {
    const fusec_dtype TYPE = fc_val_dtype(s, z->v);
    fc_val sum = BUILD(N(c[n - 1]));
    for (int k = n - 1; k-- > 0;) sum = BUILD(ROW3(fma, LEAF(sum), z, N(c[k])));
    return sum;
}

/* (artanh t - t)/t^3 at z = t^2. */
static fc_val artanh_rest(fc_code *s, const fc_x *z) {
    static const double c[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                               1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    return poly(s, z, c, fc_val_dtype(s, z->v) == FUSEC_F64 ? 10 : 5);
}

/* log u: e ln 2 + 2 artanh((m - 1)/(m + 1)) with u = m 2^e and m from sqrt(1/2) to sqrt(2). */
static fc_val log_of(fc_code *s, const fc_x *u) {
    const fusec_dtype TYPE = fc_val_dtype(s, u->v);
    const fc_x *half = LEAF(fc_x_mantissa(s, u)), *up = LEAF(fc_x_exponent(s, u));
    const fc_x *small = LET(LT(half, N(0x1.6a09e667f3bcdp-1)));
    const fc_x *m = LET(WHERE(small, ADD(half, half), half));
    const fc_x *e = LET(WHERE(small, SUB(up, N(1)), up));
    const fc_x *t = LET(DIV(SUB(m, N(1)), ADD(m, N(1)))), *z = LET(MUL(t, t));
    const fc_x *p = LEAF(artanh_rest(s, z));
    const fc_x *twice = LET(ADD(t, t));
    const fc_x *near = LET(ROW3(fma, MUL(twice, z), p, twice));
    return BUILD(ROW3(fma, e, N(0x1.62e42fefa39efp-1), near));
}

/* sin(2 pi d), |d| at most a quarter: the Taylor series, whose coefficients have the powers of 2 pi
 * in them. */
static fc_val sin_of_turns(fc_code *s, const fc_x *d) {
    static const double c[] = {
        0x1.921fb54442d18p+2, -0x1.4abbce625be53p+5, 0x1.466bc6775aae2p+6,  -0x1.32d2cce62bd86p+6,
        0x1.50783487ee782p+5, -0x1.e3074fde8871fp+3, 0x1.e8f434d018d63p+1,  -0x1.6fadb9f155744p-1,
        0x1.aaec32af93359p-4, -0x1.8a404211f9547p-7, 0x1.2877020d52cf0p-10, -0x1.7215f879e1ac9p-14};
    const fc_x *z = LET(MUL(d, d));
    return BUILD(MUL(d, LEAF(poly(s, z, c, fc_val_dtype(s, d->v) == FUSEC_F64 ? 12 : 7))));
}

/* cos(2 pi v): d is how far the nearest v + n is from a quarter. */
static fc_val cos_of_turns(fc_code *s, const fc_x *v) {
    const fusec_dtype TYPE = fc_val_dtype(s, v->v);
    return sin_of_turns(s, LET(SUB(N(0.25), ABS(SUB(v, ROUND(v))))));
}

/* u = 0 is infinite, and beyond 0 to 1 there is nothing. */
fc_val fc_x_box_muller(fc_code *s, const fc_x *u, const fc_x *v) {
    const fusec_dtype TYPE = fc_val_dtype(s, u->v);
    const fc_x *of_zero = WHERE(EQ(u, N(0)), N(-INFINITY), LEAF(log_of(s, u)));
    const fc_x *log = LET(WHERE(LT(u, N(0)), N(NAN), of_zero));
    return BUILD(MUL(SQRT(MUL(N(-2), log)), LEAF(cos_of_turns(s, v))));
}

/* The same bits, where the operands are those of a draw. u is an ordinary number, so m and e are
 * parts of its bits; each step is -2 times that of log_of, which is exact; and of v from -1
 * to 1 the distance from the nearest whole number is 0.5 - ||v| - 0.5|, exact too. */
fc_val fc_x_normal(fc_code *s, const fc_x *u, const fc_x *v) {
    const fusec_dtype TYPE = fc_val_dtype(s, u->v);
    const bool wide = TYPE == FUSEC_F64;
    const fusec_dtype bits = wide ? FUSEC_I64 : FUSEC_I32;
    const uint64_t fraction = wide ? 52 : 23, below = (UINT64_C(1) << fraction) - 1;
    const fc_x *root = CONSTANT(bits, wide ? UINT64_C(0x3fe6a09e667f3bcd) : UINT64_C(0x3f3504f3));
    const fc_x *from = LET(SUB(BITCAST(u, bits), root));
    const fc_x *e = CVT(SHR_RAW(from, CONSTANT(bits, fraction)), TYPE);
    const fc_x *m = LET(BITCAST(ADD(BIT_AND(from, CONSTANT(bits, below)), root), TYPE));
    const fc_x *t = LET(NEAR_DIV(SUB(m, N(1)), ADD(m, N(1)))), *z = LET(MUL(t, t));
    const fc_x *p = LEAF(artanh_rest(s, z)), *w = LET(MUL(t, N(-4)));
    const fc_x *near = LET(ROW3(fma, MUL(w, z), p, w));
    const fc_x *square = LET(ROW3(fma, e, N(-0x1.62e42fefa39efp+0), near));
    const fc_x *d = LET(SUB(ABS(SUB(ABS(v), N(0.5))), N(0.25)));
    return BUILD(MUL(NEAR_SQRT(square), LEAF(sin_of_turns(s, d))));
}
