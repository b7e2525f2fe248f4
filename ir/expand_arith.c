/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand_arith.c - arithmetic that takes more than a line: division, remainder, minimum, power,
 * shifts, common divisors.
 *
 * Everything is free of branches, so it serves vector code, and nothing that runs can trap or leave
 * the range an instruction is defined on, whatever the operands are: operands are made harmless by
 * a select first. */
#include "ir/expand.h"

#include "ir/formula.h"
#include "ir/plant.h"

static fusec_dtype dtype_of(const fc_code *s, const fc_x *x) {
    return fc_val_dtype(s, x->v); /* operands are values, see fc_expand */
}

/* ---- floor division and remainder ------------------------------------------------------- */

/* A divisor that can't trap: 1 in place of 0 and, when signed, of -1 (MIN / -1 overflows). */
static fc_val safe_divisor(fc_code *s, const fc_x *y) {
    const fusec_dtype TYPE = dtype_of(s, y);
    if (!fc_is_signed(TYPE)) return BUILD(WHERE(EQ(y, N(0)), N(1), y));
    return BUILD(WHERE(LOGICAL_OR(EQ(y, N(0)), EQ(y, N(-1))), N(1), y));
}

fc_val fc_x_floordiv_i(fc_code *s, const fc_x *x, const fc_x *y) {
    const fusec_dtype TYPE = dtype_of(s, x);
    const fc_x *d = LEAF(safe_divisor(s, y));
    const fc_x *q = LET(IDIV_RAW(x, d));
    if (!fc_is_signed(TYPE)) return BUILD(WHERE(EQ(y, N(0)), N(0), q));
    const fc_x *r = LET(SUB(x, MUL(q, d)));
    const fc_x *down = LET(LOGICAL_AND(NE(r, N(0)), LT(BIT_XOR(r, d), N(0)))); /* signs differ */
    const fc_x *floored = LET(WHERE(down, SUB(q, N(1)), q));
    const fc_x *by_zero = N(FC_PLANT(floordiv_zero, 1, 0));
    return BUILD(WHERE(EQ(y, N(0)), by_zero, WHERE(EQ(y, N(-1)), NEG(x), floored)));
}

/* Dividing by the replaced divisor 1 leaves the remainder 0, which is the answer for 0 and
 * for -1. */
fc_val fc_x_mod_i(fc_code *s, const fc_x *x, const fc_x *y) {
    const fusec_dtype TYPE = dtype_of(s, x);
    const fc_x *d = LEAF(safe_divisor(s, y));
    const fc_x *r = LET(IREM_RAW(x, d));
    if (!fc_is_signed(TYPE) || FC_PLANTED(mod_sign)) return r->v;
    const fc_x *differ = LET(LOGICAL_AND(NE(r, N(0)), LT(BIT_XOR(r, d), N(0))));
    return BUILD(WHERE(differ, ADD(r, d), r));
}

fc_val fc_x_fmod_i(fc_code *s, const fc_x *x, const fc_x *y) {
    return BUILD(IREM_RAW(x, LEAF(safe_divisor(s, y))));
}

fc_val fc_x_floordiv_f(fc_code *s, const fc_x *x, const fc_x *y) {
    const fusec_dtype TYPE = dtype_of(s, x);
    const fc_x *m = LET(FMOD(x, y));
    const fc_x *q0 = LET(DIV(SUB(x, m), y));
    const fc_x *down = LET(LOGICAL_AND(NE(m, N(0)), NE(LT(m, N(0)), LT(y, N(0)))));
    const fc_x *q = LET(WHERE(down, SUB(q0, N(FC_PLANT(floordiv_float, 0, 1))), q0));
    const fc_x *f = LET(FLOOR(q));
    const fc_x *nearest =
        LET(WHERE(GT(SUB(q, f), N(0.5)), ADD(f, N(1)), f)); /* q is not quite whole */
    const fc_x *exact = LET(DIV(x, y));
    return BUILD(WHERE(EQ(y, N(0)), exact, WHERE(EQ(q, N(0)), COPYSIGN(N(0), exact), nearest)));
}

fc_val fc_x_mod_f(fc_code *s, const fc_x *x, const fc_x *y) {
    const fusec_dtype TYPE = dtype_of(s, x);
    const fc_x *r = LET(FMOD(x, y));
    const fc_x *differ = LET(NE(LT(r, N(0)), LT(y, N(0))));
    return BUILD(WHERE(EQ(r, N(0)), COPYSIGN(N(0), y), WHERE(differ, ADD(r, y), r)));
}

/* ---- minimum and maximum ---------------------------------------------------------------- */

/* Equal operands differ at most in the sign of a zero: `and` of the bits keeps +0, `or` keeps -0. A
 * nan in y comes through the first comparison, which is false; one in x is put back. */
fc_val fc_x_minmax_f(fc_code *s, const fc_x *x, const fc_x *y, bool max) {
    const fusec_dtype t = dtype_of(s, x), u = fc_x_unsigned(t);
    const fc_x *picked = LET(WHERE(max ? GT(x, y) : LT(x, y), x, y));
    const fc_x *i = LET(BITCAST(x, u)), *j = LET(BITCAST(y, u));
    const fc_x *zero =
        LET(BITCAST(max != FC_PLANTED(minmax_zero) ? BIT_AND(i, j) : BIT_OR(i, j), t));
    if (FC_PLANTED(minmax_nan)) return BUILD(WHERE(EQ(x, y), zero, picked));
    return BUILD(WHERE(ISNAN(x), x, WHERE(EQ(x, y), zero, picked)));
}

/* ---- integer power ---------------------------------------------------------------------- */

/* x ** n for n < 0 is 1 / x**-n truncated: 1 for 1, +-1 for -1, else 0. */
static fc_val one_over(fc_code *s, const fc_x *x, const fc_x *n) {
    const fusec_dtype TYPE = dtype_of(s, x);
    const fc_x *odd = LET(NE(BIT_AND(n, N(1)), N(0)));
    const fc_x *minus =
        LET(WHERE(EQ(x, N(-1)), WHERE(odd, N(FC_PLANT(pow_odd, 1, -1)), N(1)), N(0)));
    return BUILD(WHERE(EQ(x, N(1)), N(1), minus));
}

static fc_val where_bit(fc_code *s, const fc_x *n, int k, fc_val set, fc_val clear) {
    const fusec_dtype TYPE = dtype_of(s, n);
    const fc_x *bit = CONSTANT(TYPE, (uint64_t)1 << k);
    return BUILD(WHERE(NE(BIT_AND(n, bit), N(0)), LEAF(set), LEAF(clear)));
}

/* By squaring, a step for each bit of the exponent; for a constant exponent only those it has. */
fc_val fc_x_pow_i(fc_code *s, const fc_x *x, const fc_x *n) {
    const fusec_dtype TYPE = dtype_of(s, x);
    if (s->status != FUSEC_OK) return FC_NOVAL;
    const fc_instr exponent = s->ins.at[n->v];
    const bool known = exponent.op == FC_OP_CONST, is_signed = fc_is_signed(TYPE);
    const int bits = fc_dtypes[TYPE].bits - is_signed; /* a negative exponent is dealt with apart */
    if (known && is_signed && (exponent.imm >> bits & 1)) return one_over(s, x, n);
    const fc_val one = BUILD(N(1));
    fc_val result = one, power = x->v;
    for (int k = 0; k < bits; k++) {
        if (known && exponent.imm >> k == 0) break;
        if (k > 0) power = fc_val_op(s, FC_OP_mul, power, power, FC_NOVAL);
        if (known && !(exponent.imm >> k & 1)) continue;
        fc_val times = power;
        if (result != one) times = BUILD(MUL(LEAF(result), LEAF(power)));
        result = known ? times : where_bit(s, n, k, times, result);
    }
    if (known || !is_signed) return result;
    return BUILD(WHERE(LT(n, N(0)), LEAF(one_over(s, x, n)), LEAF(result)));
}

/* ---- shifts ----------------------------------------------------------------------------- */

/* The count, read as unsigned, is below the width. */
static fc_val count_fits(fc_code *s, const fc_x *n) {
    const fusec_dtype t = dtype_of(s, n), u = fc_x_unsigned(t);
    return BUILD(LT(BITCAST(n, u), CONSTANT(u, fc_dtypes[t].bits + FC_PLANTED(shift_count))));
}

fc_val fc_x_shl(fc_code *s, const fc_x *x, const fc_x *n) {
    const fusec_dtype TYPE = dtype_of(s, x);
    const fc_x *fits = LEAF(count_fits(s, n));
    return BUILD(WHERE(fits, SHL_RAW(x, WHERE(fits, n, N(0))), N(0)));
}

fc_val fc_x_shr(fc_code *s, const fc_x *x, const fc_x *n) {
    const fusec_dtype TYPE = dtype_of(s, x);
    const fc_x *fits = LEAF(count_fits(s, n));
    const double last = fc_dtypes[TYPE].bits - 1;
    if (fc_is_signed(TYPE))
        return BUILD(SHR_RAW(x, WHERE(fits, n, N(last)))); /* the sign everywhere */
    return BUILD(WHERE(fits, SHR_RAW(x, WHERE(fits, n, N(0))), N(0)));
}

/* ---- divisors -------------------------------------------------------------------------------- */

/* |x| as u32 or u64; that of MIN is a number there. */
static fc_val magnitude(fc_code *s, const fc_x *x, fusec_dtype to) {
    const fusec_dtype TYPE = dtype_of(s, x), u = fc_x_unsigned(TYPE);
    const fc_x *size = fc_is_signed(TYPE) ? WHERE(LT(x, N(0)), NEG(x), x) : x;
    return BUILD(CVT(BITCAST(LET(size), u), to));
}

fc_val fc_x_bitwise_count(fc_code *s, const fc_x *x) {
    const fusec_dtype wide = fc_dtypes[dtype_of(s, x)].bits > 32 ? FUSEC_U64 : FUSEC_U32;
    return BUILD(CVT(POPCOUNT(LEAF(magnitude(s, x, wide))), dtype_of(s, x)));
}

fc_val fc_x_gcd(fc_code *s, const fc_x *x, const fc_x *y) {
    const fc_x *a = LEAF(magnitude(s, x, FUSEC_U64)), *b = LEAF(magnitude(s, y, FUSEC_U64));
    return BUILD(CVT(GCD_RAW(a, b), dtype_of(s, x)));
}

fc_val fc_x_lcm(fc_code *s, const fc_x *x, const fc_x *y) {
    const fusec_dtype TYPE = FUSEC_U64;
    const fc_x *a = LEAF(magnitude(s, x, FUSEC_U64)), *b = LEAF(magnitude(s, y, FUSEC_U64));
    const fc_x *d = LET(GCD_RAW(a, b));
    const fc_x *times = IDIV_RAW(a, WHERE(EQ(d, N(0)), N(1), d));
    return BUILD(CVT(MUL(times, b), dtype_of(s, x)));
}

/* ---- products of twice the bits ----------------------------------------------------------------
 */

/* Of u64: by halves, none of whose sums overflows. */
static fc_val mulhi_u64(fc_code *s, const fc_x *x, const fc_x *y) {
    const fusec_dtype TYPE = FUSEC_U64;
    const fc_x *half = N(32), *mask = CONSTANT(TYPE, UINT32_MAX);
    const fc_x *xl = LET(BIT_AND(x, mask)), *xh = LET(SHR_RAW(x, half));
    const fc_x *yl = LET(BIT_AND(y, mask)), *yh = LET(SHR_RAW(y, half));
    const fc_x *low = LET(SHR_RAW(MUL(xl, yl), half));
    const fc_x *a = LET(ADD(MUL(xh, yl), low)), *b = LET(ADD(MUL(xl, yh), BIT_AND(a, mask)));
    return BUILD(ADD(MUL(xh, yh), ADD(SHR_RAW(a, half), SHR_RAW(b, half))));
}

fc_val fc_x_mulhi(fc_code *s, const fc_x *x, const fc_x *y) {
    const fusec_dtype TYPE = dtype_of(s, x);
    const int bits = fc_dtypes[TYPE].bits;
    if (bits < 64) {
        const fusec_dtype wide = fc_is_signed(TYPE) ? FUSEC_I64 : FUSEC_U64;
        const fc_x *all = LET(MUL(CVT(x, wide), CVT(y, wide)));
        return BUILD(CVT(SHR_RAW(all, CONSTANT(wide, (uint64_t)bits)), TYPE));
    }
    const fc_x *high = LEAF(mulhi_u64(s, LET(BITCAST(x, FUSEC_U64)), LET(BITCAST(y, FUSEC_U64))));
    if (!fc_is_signed(TYPE)) return high->v;
    const fc_x *less = ADD(WHERE(LT(x, N(0)), y, N(0)), WHERE(LT(y, N(0)), x, N(0)));
    return BUILD(SUB(BITCAST(high, TYPE), less));
}
