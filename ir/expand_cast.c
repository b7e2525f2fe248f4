/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand_cast.c - casts written with the conversions that every target has (ir/code.h).
 *
 * The rules are those of docs/semantics.md: into integers saturating with nan as 0, between
 * integers modulo 2^n, into floats to nearest even with ONE rounding. A conversion that would round
 * twice goes through a value rounded to odd: cut off, with the lowest kept bit set if anything was
 * lost. Rounding such a value to a format at least two bits narrower gives what rounding the exact
 * one would have given. */
#include "ir/expand.h"

#include <math.h>

#include "ir/formula.h"
#include "ir/plant.h"

/* ---- to 16-bit floats ------------------------------------------------------------------- */

/* f64 -> f32 rounded to odd. Also right where f32 is subnormal (it still has 16 bits more than
 * bf16), and beyond its range: the largest f32 is odd and rounds to infinity. */
static fc_val narrow_to_odd(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = FUSEC_U32;
    const fc_x *y = LET(CVT(x, FUSEC_F32));
    const fc_x *back = LET(CVT(y, FUSEC_F64));
    const fc_x *bits = LET(BITCAST(y, FUSEC_U32));
    const fc_x *cut = LET(WHERE(GT(ABS(back), ABS(x)), SUB(bits, N(1)), bits));
    return BUILD(BITCAST(WHERE(NE(back, x), BIT_OR(cut, N(1)), bits), FUSEC_F32));
}

/* 32- and 64-bit integers that f32 need not hold. From 2^24 on, the last place of a bf16 is worth
 * 2^17 or more, so of the low 16 bits only matters whether they are all zero: bit 15 then stands
 * for them. In two's complement this is right for negative numbers, too. What remains has 49 bits
 * at most. */
static fc_val collect_low_bits(fc_code *s, const fc_x *x) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v), u = fc_x_unsigned(TYPE);
    const fc_x *bits = LET(BITCAST(x, u));
    const fc_x *limit = CONSTANT(u, 1 << 24), *twice = CONSTANT(u, 1 << 25);
    const fc_x *small = LET(fc_is_signed(TYPE) ? LT(ADD(bits, limit), twice) : LT(bits, limit));
    const uint64_t high = (UINT64_MAX >> (64 - fc_dtypes[u].bits)) ^ 0xffff;
    const fc_x *low = LET(BIT_AND(bits, CONSTANT(u, 0xffff)));
    const fc_x *sticky = LET(WHERE(EQ(low, CONSTANT(u, 0)), CONSTANT(u, 0), CONSTANT(u, 0x8000)));
    const fc_x *jammed = LET(BIT_OR(BIT_AND(bits, CONSTANT(u, high)), sticky));
    return BUILD(BITCAST(WHERE(small, bits, jammed), TYPE));
}

static fc_val to_half(fc_code *s, const fc_x *x, fusec_dtype to) {
    const fusec_dtype from = fc_val_dtype(s, x->v);
    const bool big_int = fc_is_int(from) && fc_dtypes[from].bits >= 32;
    if (from == FUSEC_F64 && !FC_PLANTED(f16_twice))
        return BUILD(CVT(LEAF(narrow_to_odd(s, x)), to));
    /* a 32-bit integer without its low bits fits an f32, a 64-bit one an f64. f16 needs none of
     * this: every integer below its overflow threshold is exact in f32. */
    if (to == FUSEC_BF16 && big_int) {
        const fc_x *jammed = LEAF(collect_low_bits(s, x));
        if (fc_dtypes[from].bits == 32) return BUILD(CVT(CVT(jammed, FUSEC_F32), to));
        return to_half(s, LET(CVT(jammed, FUSEC_F64)), to);
    }
    return BUILD(CVT(CVT(x, FUSEC_F32), to));
}

/* ---- to integers ------------------------------------------------------------------------ */

/* Compares in float: MIN and MAX + 1 are powers of two or 0 and exact, MAX need not be. */
static fc_val float_to_int(fc_code *s, const fc_x *x, fusec_dtype to) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    const bool is_signed = fc_is_signed(to), is_small = fc_dtypes[to].bits < 32;
    const fusec_dtype via = !is_small ? to : is_signed ? FUSEC_I32 : FUSEC_U32;
    const fc_x *end = N(ldexp(1, fc_dtypes[to].bits - is_signed));
    const fc_x *start = N(is_signed ? -ldexp(1, fc_dtypes[to].bits - 1) : 0);
    const fc_x *inside = LET(LOGICAL_AND(GE(x, start), LT(x, end)));
    const fc_x *whole =
        LET(CVT(CVT(WHERE(inside, x, N(FC_PLANT(nan_to_int, 1, 0))), via), to)); /* 0 for nan */
    const fc_x *above = CONSTANT(to, fc_const_max(to)), *below = CONSTANT(to, fc_const_min(to));
    const fc_x *lower = is_signed ? LET(WHERE(LT(x, start), below, whole)) : whole;
    return FC_PLANTED(int_above) ? lower->v : BUILD(WHERE(GE(x, end), above, lower));
}

fc_val fc_expand_cast(fc_code *s, fc_val a, fusec_dtype to) {
    const fusec_dtype from = fc_val_dtype(s, a);
    if (from == to) return a;
    if (fc_is_half(from)) { /* exact */
        return fc_expand_cast(s, fc_val_cvt(s, a, FUSEC_F32), to);
    }
    const fusec_dtype TYPE = from;
    const fc_x *x = LEAF(a);
    if (to == FUSEC_BOOL) /* true for nan, too */
        return BUILD(FC_PLANT(bool_positive, GT(x, N(0)), NE(x, N(0))));
    if (fc_is_half(to)) return to_half(s, x, to);
    if (fc_is_float(from) && fc_is_int(to)) return float_to_int(s, x, to);
    return BUILD(CVT(x, to));
}
