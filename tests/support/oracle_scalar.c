/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle_scalar.c - exact scalars of the oracle: storage formats, casts, integer operations, and
 * the float operations whose result is fixed to the bit (docs/semantics.md, sections 3 to 5). */
#include "tests/support/oracle.h"

#include <math.h>

/* ---- storage formats ------------------------------------------------------------------------ */

static double half_value(uint64_t bits, int mantissa, int bias) {
    int exponent = (int)(bits >> mantissa) & (2 * bias + 1);
    double m = (double)(bits & ((1u << mantissa) - 1)), v;
    if (exponent == 2 * bias + 1)
        v = m != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        v = ldexp(m, 1 - bias - mantissa);
    else
        v = ldexp(m + (double)(1u << mantissa), exponent - bias - mantissa);
    return bits >> 15 & 1 ? -v : v;
}

double fc_o_value(fusec_dtype t, uint64_t bits) {
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    switch (t) {
    case FUSEC_F16: return half_value(bits, 10, 15);
    case FUSEC_BF16: return half_value(bits, 7, 127);
    case FUSEC_F32: memcpy(&f, &low, sizeof f); return (double)f;
    default: memcpy(&d, &bits, sizeof d); return d;
    }
}

static uint64_t half_bits(double v, int mantissa, int bias) {
    uint64_t sign = signbit(v) ? 0x8000 : 0, top = (uint64_t)(2 * bias + 1) << mantissa;
    double a = fabs(v);
    if (isnan(v)) return top | (uint64_t)1 << (mantissa - 1);
    if (a == 0) return sign;
    if (isinf(a)) return sign | top;
    int e = ilogb(a);
    if (e < 1 - bias) e = 1 - bias;
    double steps = rint(ldexp(a, mantissa - e)); /* exact but for the rint */
    if (steps >= (double)(2u << mantissa)) {
        steps /= 2;
        e++;
    }
    if (e > bias) return sign | top;
    uint64_t m = (uint64_t)steps;
    if (m < (uint64_t)1 << mantissa) return sign | m; /* subnormal */
    return sign | (uint64_t)(e + bias) << mantissa | (m - ((uint64_t)1 << mantissa));
}

uint64_t fc_o_bits(fusec_dtype t, double v) {
    float f;
    uint32_t low;
    uint64_t all;
    switch (t) {
    case FUSEC_F16: return half_bits(v, 10, 15);
    case FUSEC_BF16: return half_bits(v, 7, 127);
    case FUSEC_F32:
        f = (float)v;
        memcpy(&low, &f, sizeof low);
        return low;
    default: memcpy(&all, &v, sizeof all); return all;
    }
}

double fc_o_round(fusec_dtype t, double v) {
    return fc_o_value(t, fc_o_bits(t, v));
}

/* ---- integers ------------------------------------------------------------------------------- */

static int width(fusec_dtype t) {
    return 8 * fc_dtypes[t].bytes;
}

static uint64_t wrap(fusec_dtype t, uint64_t v) {
    return width(t) == 64 ? v : v & (((uint64_t)1 << width(t)) - 1);
}

/* The value as 64 bits: sign-extended if signed. */
static uint64_t extend(fusec_dtype t, uint64_t bits) {
    bits = wrap(t, bits);
    if (!fc_is_signed(t) || width(t) == 64 || !(bits >> (width(t) - 1) & 1)) return bits;
    return bits | ~(uint64_t)0 << width(t);
}

static bool less(fusec_dtype t, uint64_t a, uint64_t b) {
    return fc_is_signed(t) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t int_min(fusec_dtype t) {
    return fc_is_signed(t) ? extend(t, (uint64_t)1 << (width(t) - 1)) : 0;
}

/* Quotient and remainder toward zero, or toward minus infinity; 0 and 0 for b == 0. */
static void divide(fusec_dtype t, uint64_t a, uint64_t b, bool down, uint64_t *q, uint64_t *r) {
    *q = *r = 0;
    if (b == 0) return;
    if (!fc_is_signed(t)) {
        *q = a / b;
        *r = a % b;
        return;
    }
    if (b == UINT64_MAX) {
        *q = 0 - a;
        return;
    }
    int64_t x = (int64_t)a, y = (int64_t)b, quotient = x / y, rest = x % y;
    if (down && rest != 0 && (x < 0) != (y < 0)) {
        quotient -= 1;
        rest += y;
    }
    *q = (uint64_t)quotient;
    *r = (uint64_t)rest;
}

static uint64_t quotient_of(fusec_dtype t, uint64_t a, uint64_t b) {
    uint64_t q, r;
    divide(t, a, b, true, &q, &r);
    return q;
}

static uint64_t rest_of(fusec_dtype t, uint64_t a, uint64_t b, bool down) {
    uint64_t q, r;
    divide(t, a, b, down, &q, &r);
    return r;
}

static uint64_t power(fusec_dtype t, uint64_t x, uint64_t n) {
    if (fc_is_signed(t) && (int64_t)n < 0) {
        if (x == 1) return 1;
        if (x == UINT64_MAX) return n & 1 ? UINT64_MAX : 1;
        return 0;
    }
    uint64_t p = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) p *= x;
    return p;
}

static uint64_t shift(fusec_dtype t, uint64_t a, uint64_t by, bool left) {
    by = wrap(t, by);
    bool all = by >= (uint64_t)width(t);
    if (left) return all ? 0 : a << by;
    bool minus = fc_is_signed(t) && (int64_t)a < 0;
    if (all) return minus ? UINT64_MAX : 0;
    return minus ? ~(~a >> by) : a >> by;
}

static uint64_t size_of(fusec_dtype t, uint64_t a) {
    return fc_is_signed(t) && (int64_t)a < 0 ? 0 - a : a;
}

/* By Euclid, with subtractions of shifted numbers. */
static uint64_t divisor(uint64_t a, uint64_t b) {
    while (a && b) {
        uint64_t *larger = a >= b ? &a : &b, smaller = a >= b ? b : a, step = smaller;
        while (step <= *larger / 2) step *= 2;
        *larger -= step;
    }
    return a | b;
}

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

static uint64_t upper_half(fusec_dtype t, uint64_t a, uint64_t b) {
    if (fc_is_signed(t)) return (uint64_t)((int128)(int64_t)a * (int128)(int64_t)b >> width(t));
    return (uint64_t)((uint128)a * b >> width(t));
}

/* Philox4x32-10 as its authors write it (Salmon et al., 2011): ten rounds of two products, the key
 * raised between them. Two draws are the four words of a block. */
static uint64_t draw(uint64_t i, uint64_t seed, uint64_t stream) {
    uint32_t r0 = (uint32_t)(i >> 1), l0 = (uint32_t)(i >> 33);
    uint32_t r1 = (uint32_t)stream, l1 = (uint32_t)(stream >> 32);
    for (uint32_t round = 0; round < 10; round++) {
        const uint128 p0 = (uint128)r0 * 3528531795u, p1 = (uint128)r1 * 3449720151u;
        const uint32_t k0 = (uint32_t)seed + round * 2654435769u;
        const uint32_t k1 = (uint32_t)(seed >> 32) + round * 3144134277u;
        r0 = (uint32_t)(p1 >> 32) ^ l0 ^ k0;
        l0 = (uint32_t)p1;
        r1 = (uint32_t)(p0 >> 32) ^ l1 ^ k1;
        l1 = (uint32_t)p0;
    }
    return i & 1 ? r1 | (uint64_t)l1 << 32 : r0 | (uint64_t)l0 << 32;
}

static uint64_t int_op(fc_op op, fusec_dtype t, uint64_t a, uint64_t b, uint64_t c, bool *known) {
    uint64_t m;
    bool minus = fc_is_signed(t) && (int64_t)a < 0;
    switch (op) {
    case FC_OP_add: return a + b;
    case FC_OP_sub: return a - b;
    case FC_OP_mul: return a * b;
    case FC_OP_floordiv: return quotient_of(t, a, b);
    case FC_OP_mod: return rest_of(t, a, b, true);
    case FC_OP_fmod: return rest_of(t, a, b, false);
    case FC_OP_neg: return 0 - a;
    case FC_OP_abs: return minus ? 0 - a : a;
    case FC_OP_sign: return minus ? UINT64_MAX : a != 0;
    case FC_OP_minimum:
    case FC_OP_fmin: return less(t, a, b) ? a : b;
    case FC_OP_maximum:
    case FC_OP_fmax: return less(t, a, b) ? b : a;
    case FC_OP_clip: m = less(t, a, b) ? b : a; return less(t, m, c) ? m : c;
    case FC_OP_relu: return minus ? 0 : a;
    case FC_OP_positive: return a;
    case FC_OP_square: return a * a;
    case FC_OP_gcd: return divisor(size_of(t, a), size_of(t, b));
    case FC_OP_lcm:
        m = divisor(size_of(t, a), size_of(t, b));
        return m ? size_of(t, a) / m * size_of(t, b) : 0;
    case FC_OP_bitwise_count:
        for (m = 0, a = wrap(t, minus ? 0 - a : a); a; a &= a - 1) m++;
        return m;
    case FC_OP_signbit: return minus;
    case FC_OP_mulhi: return upper_half(t, a, b);
    case FC_OP_philox: return draw(a, b, c);
    case FC_OP_logical_xor: return a != b;
    case FC_OP_pow: return power(t, a, b);
    case FC_OP_eq: return a == b;
    case FC_OP_ne: return a != b;
    case FC_OP_lt: return less(t, a, b);
    case FC_OP_le: return !less(t, b, a);
    case FC_OP_gt: return less(t, b, a);
    case FC_OP_ge: return !less(t, a, b);
    case FC_OP_isfinite: return 1;
    case FC_OP_logical_and:
    case FC_OP_bit_and: return a & b;
    case FC_OP_logical_or:
    case FC_OP_bit_or: return a | b;
    case FC_OP_bit_xor: return a ^ b;
    case FC_OP_logical_not: return !a;
    case FC_OP_bit_not: return ~a;
    case FC_OP_shl: return shift(t, a, b, true);
    case FC_OP_shr: return shift(t, a, b, false);
    case FC_OP_isnan:
    case FC_OP_isinf: return 0;
    case FC_OP_floor:
    case FC_OP_ceil:
    case FC_OP_trunc:
    case FC_OP_round: return a;
    default: *known = false; return 0;
    }
}

bool fc_o_int_defines(fc_op op) {
    bool known = true;
    int_op(op, FUSEC_U8, 1, 1, 1, &known);
    return known;
}

uint64_t fc_o_int_op(fc_op op, fusec_dtype t, uint64_t a, uint64_t b, uint64_t c) {
    bool known;
    uint64_t r = int_op(op, t, extend(t, a), extend(t, b), extend(t, c), &known);
    fc_rule rule = fc_ops[op].rule;
    return rule == FC_RULE_COMPARE || rule == FC_RULE_TEST ? r : wrap(t, r);
}

/* ---- casts ---------------------------------------------------------------------------------- */

static uint64_t to_int(fusec_dtype t, double v) {
    int bits = width(t) - fc_is_signed(t);
    if (isnan(v)) return 0;
    if (v >= ldexp(1, bits)) return wrap(t, ((uint64_t)1 << (bits - 1)) * 2 - 1);
    if (fc_is_signed(t))
        return v <= -ldexp(1, bits) ? wrap(t, int_min(t)) : wrap(t, (uint64_t)(int64_t)v);
    return v <= 0 ? 0 : (uint64_t)v;
}

/* An integer as a double that rounds on to 24 bits or fewer as the integer itself would: what does
 * not fit is cut off and leaves a mark in the last place. */
static double int_to_odd(bool minus, uint64_t magnitude) {
    int drop = 0;
    bool lost = false;
    while (magnitude >> drop >> 53) drop++;
    if (drop) lost = (magnitude & (((uint64_t)1 << drop) - 1)) != 0;
    double v = ldexp((double)(magnitude >> drop | lost), drop);
    return minus ? -v : v;
}

static uint64_t int_to_float(fusec_dtype from, fusec_dtype to, uint64_t v) {
    bool minus = fc_is_signed(from) && (int64_t)v < 0;
    if (to == FUSEC_F64) return fc_o_bits(to, minus ? (double)(int64_t)v : (double)v);
    return fc_o_bits(to, int_to_odd(minus, minus ? 0 - v : v));
}

uint64_t fc_o_cast(fusec_dtype from, fusec_dtype to, uint64_t bits) {
    if (fc_is_float(from)) {
        double v = fc_o_value(from, bits);
        if (to == FUSEC_BOOL) return v != 0;
        return fc_is_float(to) ? fc_o_bits(to, v) : to_int(to, v);
    }
    uint64_t v = extend(from, bits);
    if (to == FUSEC_BOOL) return v != 0;
    return fc_is_float(to) ? int_to_float(from, to, v) : wrap(to, v);
}

/* ---- floats --------------------------------------------------------------------------------- */

#define EXACT(R, f, name)                                                                          \
    static R least_##name(R a, R b) {                                                              \
        if (isnan(a) || isnan(b)) return (R)NAN;                                                   \
        if (a == b) return signbit(a) ? a : b;                                                     \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    static R most_##name(R a, R b) {                                                               \
        if (isnan(a) || isnan(b)) return (R)NAN;                                                   \
        if (a == b) return signbit(a) ? b : a;                                                     \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    static R mod_##name(R a, R b) {                                                                \
        R r = fmod##f(a, b);                                                                       \
        if (r == 0) return copysign##f(0, b);                                                      \
        return (r < 0) != (b < 0) ? r + b : r;                                                     \
    }                                                                                              \
    static R floordiv_##name(R a, R b) {                                                           \
        if (b == 0) return a / b;                                                                  \
        R m = fmod##f(a, b), d = a - m, q = d / b;                                                 \
        if (m != 0 && (m < 0) != (b < 0)) q = q - 1;                                               \
        if (q == 0) return copysign##f(0, a / b);                                                  \
        R whole = floor##f(q);                                                                     \
        return q - whole > (R)0.5 ? whole + 1 : whole;                                             \
    }                                                                                              \
    static bool exact_##name(fc_op op, R a, R b, R c, R *r) {                                      \
        R t;                                                                                       \
        int e = 0;                                                                                 \
        switch (op) {                                                                              \
        case FC_OP_add: *r = a + b; return true;                                                   \
        case FC_OP_sub: *r = a - b; return true;                                                   \
        case FC_OP_mul: *r = a * b; return true;                                                   \
        case FC_OP_div: *r = a / b; return true;                                                   \
        case FC_OP_floordiv: *r = floordiv_##name(a, b); return true;                              \
        case FC_OP_mod: *r = mod_##name(a, b); return true;                                        \
        case FC_OP_fmod: *r = fmod##f(a, b); return true;                                          \
        case FC_OP_neg: *r = -a; return true;                                                      \
        case FC_OP_abs: *r = fabs##f(a); return true;                                              \
        case FC_OP_sign: *r = isnan(a) ? a : (R)((a > 0) - (a < 0)); return true;                  \
        case FC_OP_copysign: *r = copysign##f(a, b); return true;                                  \
        case FC_OP_fma: *r = fma##f(a, b, c); return true;                                         \
        case FC_OP_lerp:                                                                           \
            t = b - a;                                                                             \
            t = c * t;                                                                             \
            *r = a + t;                                                                            \
            return true;                                                                           \
        case FC_OP_minimum: *r = least_##name(a, b); return true;                                  \
        case FC_OP_maximum: *r = most_##name(a, b); return true;                                   \
        case FC_OP_fmin: *r = isnan(a) ? b : isnan(b) ? a : least_##name(a, b); return true;       \
        case FC_OP_fmax: *r = isnan(a) ? b : isnan(b) ? a : most_##name(a, b); return true;        \
        case FC_OP_clip: *r = least_##name(most_##name(a, b), c); return true;                     \
        case FC_OP_relu: *r = most_##name(a, 0); return true;                                      \
        case FC_OP_floor: *r = floor##f(a); return true;                                           \
        case FC_OP_ceil: *r = ceil##f(a); return true;                                             \
        case FC_OP_trunc: *r = trunc##f(a); return true;                                           \
        case FC_OP_round: *r = rint##f(a); return true;                                            \
        case FC_OP_sqrt: *r = sqrt##f(a); return true;                                             \
        case FC_OP_positive: *r = a; return true;                                                  \
        case FC_OP_reciprocal: *r = 1 / a; return true;                                            \
        case FC_OP_square: *r = a * a; return true;                                                \
        case FC_OP_heaviside: *r = isnan(a) ? a : a == 0 ? b : (R)(a > 0); return true;            \
        case FC_OP_deg2rad: *r = a * (R)0.017453292519943295; return true;                         \
        case FC_OP_rad2deg: *r = a * (R)57.29577951308232; return true;                            \
        case FC_OP_mantissa: *r = isfinite(a) ? frexp##f(a, &e) : a; return true;                  \
        case FC_OP_exponent:                                                                       \
            if (isfinite(a)) frexp##f(a, &e);                                                      \
            *r = (R)e;                                                                             \
            return true;                                                                           \
        case FC_OP_ldexp:                                                                          \
            *r = isnan(b) ? a + b : ldexp##f(a, b > 9999 ? 9999 : b < -9999 ? -9999 : (int)b);     \
            return true;                                                                           \
        case FC_OP_signbit: *r = signbit(a) != 0; return true;                                     \
        case FC_OP_eq: *r = a == b; return true;                                                   \
        case FC_OP_ne: *r = a != b; return true;                                                   \
        case FC_OP_lt: *r = a < b; return true;                                                    \
        case FC_OP_le: *r = a <= b; return true;                                                   \
        case FC_OP_gt: *r = a > b; return true;                                                    \
        case FC_OP_ge: *r = a >= b; return true;                                                   \
        case FC_OP_isnan: *r = isnan(a) != 0; return true;                                         \
        case FC_OP_isinf: *r = isinf(a) != 0; return true;                                         \
        case FC_OP_isfinite: *r = isfinite(a) != 0; return true;                                   \
        default: return false;                                                                     \
        }                                                                                          \
    }

EXACT(float, f, narrow)
EXACT(double, , wide)

bool fc_o_float_op(fc_op op, bool wide, double a, double b, double c, double *out) {
    float r = 0;
    if (wide) return exact_wide(op, a, b, c, out);
    bool known = exact_narrow(op, (float)a, (float)b, (float)c, &r);
    *out = (double)r;
    return known;
}
