/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* far.c - see far.h.
 *
 * x = m * 2^e. Of 2/pi only the bits from weight 2^(1-e) on matter: those before them give
 * multiples of 4 quadrants. 192 of them, times m, leave the turn modulo 1 with an error below
 * 2^-138, and no double is nearer than 2^-62 to a multiple of pi/2. The rest is ordinary: a reduced
 * angle as the sum of two doubles, and the series, whose terms beyond the last one kept are below
 * 2^-60. */
#include "ir/far.h"

#include <math.h>
#include <string.h>

#include "ir/base.h"

enum { LIMBS = 6, LEAD = 64 };

/* 64 zero bits, then the fraction bits of 2/pi. */
static const uint32_t two_over_pi[] = {
    0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab,
};

/* Bits [at, at + 192) of the table, highest limb first. */
static void window(unsigned at, uint32_t w[LIMBS]) {
    const uint32_t *from = two_over_pi + at / 32;
    for (unsigned i = 0; i < LIMBS; i++) {
        const uint64_t two = (uint64_t)from[i] << 32 | from[i + 1];
        w[i] = (uint32_t)(two << at % 32 >> 32);
    }
}

/* w * m modulo 2^192 */
static void times(uint32_t w[LIMBS], uint64_t m) {
    const uint64_t part[2] = {m & 0xffffffff, m >> 32};
    uint32_t out[LIMBS] = {0};
    for (int p = 0; p < 2; p++) {
        uint64_t carry = 0;
        for (int i = LIMBS - 1 - p, from = LIMBS - 1; i >= 0; i--, from--) {
            carry += part[p] * w[from] + out[i];
            out[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    for (int i = 0; i < LIMBS; i++) w[i] = out[i];
}

static void negate(uint32_t w[LIMBS]) {
    uint64_t carry = 1;
    for (int i = LIMBS - 1; i >= 0; i--) {
        carry += (uint32_t)~w[i];
        w[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

typedef struct angle {
    double hi, lo; /* in [-pi/4, pi/4] */
    unsigned quadrant;
} angle;

/* 2^e of a normal number */
static double power(int e) {
    const uint64_t bits = (uint64_t)(1023 + e) << 52;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A fraction of a turn as hi + lo in radians. Its first 96 bits are not all zero. */
static angle radians(const uint32_t t[LIMBS]) {
    int first = 0;
    while (first < LIMBS - 4 && t[first] == 0) first++;
    uint64_t a = (uint64_t)t[first] << 32 | t[first + 1];
    uint64_t b = (uint64_t)t[first + 2] << 32 | t[first + 3];
    const int shift = __builtin_clzll(a);
    if (shift > 0) {
        a = a << shift | b >> (64 - shift);
        b <<= shift;
    }
    const double hi = (double)(a >> 11) * power(-53 - 32 * first - shift);
    const double lo = (double)((a & 0x7ff) << 53 | b >> 11) * power(-117 - 32 * first - shift);
    const double turn = 0x1.921fb54442d18p+2, rest = 0x1.1a62633145c07p-52; /* 2 pi */
    const double p = hi * turn, e = fma(hi, turn, -p) + (hi * rest + lo * turn);
    angle r = {.hi = p + e};
    r.lo = e - (r.hi - p);
    return r;
}

/* x is finite and |x| >= FC_FAR_F64 */
static angle reduce(double x) {
    uint32_t t[LIMBS];
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int e = (int)(bits >> 52 & 0x7ff) - 1023 - 52;
    window((unsigned)(e - 2 + LEAD), t);
    times(t, (bits & 0xfffffffffffff) | (uint64_t)1 << 52);
    const unsigned quadrant = (t[0] + 0x20000000u) >> 30; /* the nearest multiple of pi/2 */
    t[0] -= (uint32_t)quadrant << 30;
    const bool below = t[0] >> 31 != 0;
    if (below) negate(t);
    angle r = radians(t);
    const bool minus = below != (x < 0);
    r.hi = minus ? -r.hi : r.hi;
    r.lo = minus ? -r.lo : r.lo;
    r.quadrant = x < 0 ? 0u - quadrant : quadrant;
    return r;
}

/* The same for an f32, whose 24 bits leave no more than 32 zeros in front of the fraction: 64 bits
 * of it do, and a double. */
static angle reduce_f32(float x) {
    uint32_t t[LIMBS], bits;
    memcpy(&bits, &x, sizeof bits);
    const int e = (int)(bits >> 23 & 0xff) - 127 - 23;
    window((unsigned)(e - 2 + LEAD), t);
    const uint64_t m = (bits & 0x7fffff) | 1u << 23;
    const uint64_t turn = (m * t[0] << 32) + m * t[1] + (m * t[2] >> 32);
    const unsigned quadrant = (unsigned)((turn + ((uint64_t)1 << 61)) >> 62);
    const uint64_t rest = turn - ((uint64_t)quadrant << 62);
    const bool below = rest >> 63 != 0;
    const double size = (double)(below ? 0 - rest : rest) * 0x1.921fb54442d18p-62; /* pi/2 2^-62 */
    return (angle){.hi = below != (x < 0) ? -size : size,
                   .quadrant = x < 0 ? 0u - quadrant : quadrant};
}

static double series_sin(double r, double lo) {
    static const double c[] = {-1.0 / 6,
                               1.0 / 120,
                               -1.0 / 5040,
                               1.0 / 362880,
                               -1.0 / 39916800,
                               1.0 / 6227020800.0,
                               -1.0 / 1307674368000.0,
                               1.0 / 355687428096000.0};
    const double z = r * r;
    double p = 0;
    for (size_t k = FC_COUNT(c); k-- > 0;) p = p * z + c[k];
    return r + (lo * (1 - 0.5 * z) + r * z * p);
}

static double series_cos(double r, double lo) {
    static const double c[] = {1.0 / 24,
                               -1.0 / 720,
                               1.0 / 40320,
                               -1.0 / 3628800,
                               1.0 / 479001600,
                               -1.0 / 87178291200.0,
                               1.0 / 20922789888000.0,
                               -1.0 / 6402373705728000.0};
    const double z = r * r, half = 0.5 * z, h = 1 - half;
    double p = 0;
    for (size_t k = FC_COUNT(c); k-- > 0;) p = p * z + c[k];
    return h + ((1 - h - half) + (z * z * p - r * lo));
}

/* sin of a + quarter * pi/2 */
static double sine(angle a, unsigned quarter) {
    const unsigned q = a.quadrant + quarter;
    const double v = q & 1 ? series_cos(a.hi, a.lo) : series_sin(a.hi, a.lo);
    return q & 2 ? -v : v;
}

static double tangent(angle a) {
    const double s = series_sin(a.hi, a.lo), c = series_cos(a.hi, a.lo);
    return a.quadrant & 1 ? -c / s : s / c;
}

#define FAR(name, T, limit, result)                                                                \
    T name(T x, T y) {                                                                             \
        if (!(fabs((double)x) >= (limit))) return y;                                               \
        if (isinf(x)) return x - x;                                                                \
        return (T)(result);                                                                        \
    }
FAR(fc_far_sinf, float, FC_FAR_F32, sine(reduce_f32(x), 0))
FAR(fc_far_cosf, float, FC_FAR_F32, sine(reduce_f32(x), 1))
FAR(fc_far_tanf, float, FC_FAR_F32, tangent(reduce_f32(x)))
FAR(fc_far_sin, double, FC_FAR_F64, sine(reduce(x), 0))
FAR(fc_far_cos, double, FC_FAR_F64, sine(reduce(x), 1))
FAR(fc_far_tan, double, FC_FAR_F64, tangent(reduce(x)))

#define LANES(name, T, sin, cos, tan)                                                              \
    void name(T *v, long long width, long long kinds, long long n) {                               \
        for (T *y = v + width; kinds; kinds >>= 2, y += width)                                     \
            for (long long i = 0; i < n; i++)                                                      \
                y[i] = (kinds & 3) == FC_FAR_SIN   ? sin(v[i], y[i])                               \
                       : (kinds & 3) == FC_FAR_COS ? cos(v[i], y[i])                               \
                                                   : tan(v[i], y[i]);                              \
    }
LANES(fc_far_lanesf, float, fc_far_sinf, fc_far_cosf, fc_far_tanf)
LANES(fc_far_lanes, double, fc_far_sin, fc_far_cos, fc_far_tan)
