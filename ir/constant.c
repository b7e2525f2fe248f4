/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* constant.c - one value of any dtype as bits of its storage format, and back.
 *
 * Bits are zero-extended to 64. The conversions are those of a cast (docs/semantics.md): saturating
 * with nan as 0 into integers, round to nearest even once into floats. */
#include "ir/code.h"
#include "ir/plant.h"

#include <math.h>

static uint64_t mask_of(fusec_dtype t) {
    return fc_dtypes[t].bytes == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * fc_dtypes[t].bytes)) - 1;
}

static uint64_t f32_bits(float f) {
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}

static uint64_t f64_bits(double d) {
    uint64_t b;
    memcpy(&b, &d, sizeof b);
    return b;
}

uint64_t fc_const_max(fusec_dtype t) {
    switch (t) {
    case FUSEC_BOOL: return 1;
    case FUSEC_F16: return 0x7bff;
    case FUSEC_BF16: return 0x7f7f;
    case FUSEC_F32: return 0x7f7fffff;
    case FUSEC_F64: return 0x7fefffffffffffff;
    default: return fc_is_signed(t) ? mask_of(t) >> 1 : mask_of(t);
    }
}

uint64_t fc_const_min(fusec_dtype t) {
    if (t == FUSEC_BOOL || fc_is_unsigned(t)) return 0;
    const uint64_t sign = (uint64_t)1 << (fc_dtypes[t].bits - 1);
    return fc_is_float(t) ? sign | fc_const_max(t) : sign;
}

static uint64_t int_bits(fusec_dtype t, double v) {
    const int bits = fc_dtypes[t].bits;
    if (v != v) return 0;
    if (fc_is_signed(t)) {
        const double end = ldexp(1, bits - 1); /* MAX + 1 is exact, MAX need not be */
        if (v >= end) return fc_const_max(t);
        if (v < -end) return fc_const_min(t);
        return (uint64_t)(int64_t)v & mask_of(t);
    }
    if (v >= ldexp(1, bits)) return fc_const_max(t);
    return v <= 0 ? 0 : (uint64_t)v;
}

uint64_t fc_const_bits(fusec_dtype t, double v) {
    switch (t) {
    case FUSEC_BOOL: return v != 0;
    case FUSEC_F16: return fc_double_to_half(v);
    case FUSEC_BF16: return fc_double_to_bf16(v);
    case FUSEC_F32: return f32_bits((float)v);
    case FUSEC_F64: return f64_bits(v);
    default: return int_bits(t, v);
    }
}

/* The double between `v` and zero, or `v` itself; odd where it is not exact, so that rounding it
 * further gives what rounding `v` would have. */
static double to_odd(int64_t v) {
    double d = (double)v;
    /* 2^63 is the one value that does not convert back */
    const bool above = d >= 0x1p63 || (int64_t)d > v;
    if (!above && (int64_t)d == v) return d;
    uint64_t bits = f64_bits(d);
    /* `above` is toward zero from a negative v, away from it from a positive one */
    if (above == (v > 0)) bits--;
    bits |= 1;
    memcpy(&d, &bits, sizeof d);
    return d;
}

uint64_t fc_const_int(fusec_dtype t, int64_t v) {
    switch (t) {
    case FUSEC_BOOL: return v != 0;
    case FUSEC_F16: return fc_double_to_half(to_odd(v));
    case FUSEC_BF16: return fc_double_to_bf16(to_odd(v));
    case FUSEC_F32: return f32_bits((float)v);
    case FUSEC_F64: return f64_bits((double)v);
    default: return (uint64_t)v & mask_of(t);
    }
}

static int64_t signed_value(fusec_dtype t, uint64_t bits) {
    const int drop = 64 - fc_dtypes[t].bits;
    return (int64_t)(bits << drop) >> drop;
}

double fc_const_value(fusec_dtype t, uint64_t bits) {
    const uint32_t low = (uint32_t)bits;
    float f;
    double d;
    switch (t) {
    case FUSEC_BOOL: return bits != 0;
    case FUSEC_F16: return (double)fc_half_to_float((uint16_t)bits);
    case FUSEC_BF16: return (double)fc_bf16_to_float((uint16_t)bits);
    case FUSEC_F32: memcpy(&f, &low, sizeof f); return (double)f;
    case FUSEC_F64: memcpy(&d, &bits, sizeof d); return d;
    default: return fc_is_signed(t) ? (double)signed_value(t, bits) : (double)bits;
    }
}

bool fc_const_is(fusec_dtype t, uint64_t bits, double v) {
    const double is = fc_const_value(t, bits);
    if (!fc_is_float(t)) { /* beyond 2^53 `is` is rounded, and the end of the range saturates */
        const double end = ldexp(1, fc_dtypes[t].bits - fc_is_signed(t));
        return is == v && v < end && fc_const_bits(t, v) == bits;
    }
    if (is != is) return v != v;
    return is == v && (FC_PLANTED(zero_sign) || !signbit(is) == !signbit(v));
}
