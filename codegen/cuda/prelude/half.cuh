// half.cuh - 16-bit floats, and functions whose result is rounded to 16 bits. FC_EMULATE: the text
// is being compiled for a host, which has functions of its own for the conversions of f16.

//@ f16
// Conversions to 16 bits go in pairs: those of single values run at a quarter of the rate.
#ifndef FC_EMULATE
FC_INLINE float fc_f16_value(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
FC_INLINE unsigned short fc_f16_bits(float f) {
#if __CUDA_ARCH__ >= 800
    unsigned int r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(0.0f), "f"(f));
    return (unsigned short)r;
#else
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#endif
}
#endif

//@ f16_arith
// Sums, differences and products of 16-bit values as instructions of their own: they round once
// what f32 has exactly, or with more than twice the bits and two, so that rounding again changes
// nothing.
#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 530
#define FC_HALF(name, sign)                                                                        \
    FC_INLINE unsigned short fc_f16_##name(unsigned short a, unsigned short b) {                   \
        unsigned short r;                                                                          \
        asm(#name ".rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));                               \
        return r;                                                                                  \
    }
#else
#define FC_HALF(name, sign)                                                                        \
    FC_INLINE unsigned short fc_f16_##name(unsigned short a, unsigned short b) {                   \
        return fc_f16_bits(fc_f16_value(a) sign fc_f16_value(b));                                  \
    }
#endif
FC_HALF(add, +)
FC_HALF(sub, -)
FC_HALF(mul, *)
#undef FC_HALF

//@ bf16
// The upper half of a pair is the float that the 16 bits stand for.
FC_INLINE float fc_bf16_value(unsigned short h) {
#ifdef FC_EMULATE
    return __uint_as_float((unsigned int)h << 16);
#else
    float f;
    asm("{.reg .b16 lower; mov.b16 lower, 0; mov.b32 %0, {lower, %1};}" : "=f"(f) : "h"(h));
    return f;
#endif
}
#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800
FC_INLINE float fc_bf16_round(float f) {
    unsigned int r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(f), "f"(0.0f));
    return __uint_as_float(r);
}
#else
FC_INLINE float fc_bf16_round(float f) {
    const unsigned int u = __float_as_uint(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return __uint_as_float(0x7fff0000u);
    return __uint_as_float((u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u);
}
#endif
/* a move, which joins those around it; a shift would stay one */
FC_INLINE unsigned short fc_bf16_upper(float f) {
#ifdef FC_EMULATE
    return (unsigned short)(__float_as_uint(f) >> 16);
#else
    unsigned short h;
    asm("{.reg .b16 lower; mov.b32 {lower, %0}, %1;}" : "=h"(h) : "f"(f));
    return h;
#endif
}
FC_INLINE unsigned short fc_bf16_bits(float f) {
    return fc_bf16_upper(fc_bf16_round(f));
}

//@ bf16_arith
// As f16_arith.
#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 900
#define FC_HALF(name, sign)                                                                        \
    FC_INLINE unsigned short fc_bf16_##name(unsigned short a, unsigned short b) {                  \
        unsigned short r;                                                                          \
        asm(#name ".rn.bf16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));                              \
        return r;                                                                                  \
    }
#else
#define FC_HALF(name, sign)                                                                        \
    FC_INLINE unsigned short fc_bf16_##name(unsigned short a, unsigned short b) {                  \
        return fc_bf16_bits(fc_bf16_value(a) sign fc_bf16_value(b));                               \
    }
#endif
FC_HALF(add, +)
FC_HALF(sub, -)
FC_HALF(mul, *)
#undef FC_HALF

//@ sign
// Where the sign of a NaN has to be kept (cuda_sign.c). A negation is written in PTX: what the
// compiler knows as one is the adder's again.
FC_INLINE float fc_signed_negf(float f) {
#ifdef FC_EMULATE
    return -f;
#else
    unsigned int r;
    asm("xor.b32 %0, %1, 0x80000000;" : "=r"(r) : "r"(__float_as_uint(f)));
    return __uint_as_float(r);
#endif
}
FC_INLINE double fc_signed_neg(double f) {
#ifdef FC_EMULATE
    return -f;
#else
    long long r;
    asm("xor.b64 %0, %1, 0x8000000000000000;" : "=l"(r) : "l"(__double_as_longlong(f)));
    return __longlong_as_double(r);
#endif
}

//@ sign_f16
FC_INLINE float fc_f16_signed_value(unsigned short h) {
    return __uint_as_float((__float_as_uint(fc_f16_value(h)) & 0x7fffffffu) |
                           ((unsigned int)h & 0x8000u) << 16);
}
FC_INLINE unsigned short fc_f16_signed_bits(float f) {
    return (unsigned short)((fc_f16_bits(f) & 0x7fffu) | (__float_as_uint(f) >> 16 & 0x8000u));
}

//@ sign_bf16
FC_INLINE float fc_bf16_signed_round(float f) {
    return __uint_as_float((__float_as_uint(fc_bf16_round(f)) & 0x7fffffffu) |
                           (__float_as_uint(f) & 0x80000000u));
}

//@ half
// Functions whose result is rounded to 16 bits, at once or (wide16) some time.
//
// A quotient of 16-bit values that is not in the middle of two 16-bit values is at least 2^-17
// (bf16) or 2^-23 (f16) of itself away from any, and one that is (a subnormal one) is an f32.
//
// fc_div_bf16: so the product with the reciprocal rounded to nearest leads to the right side, and
// to the middle itself, too: below 2^-126 it is off by less than half of 2^-149. One step makes any
// reciprocal that is off by two units the nearest one, as the divisor has 8 bits. What depends on
// the divisor alone the compiler does once a row where it is one for all. Scaling keeps the
// reciprocal finite and no subnormal; what it makes overflow overflows anyway, and what it makes
// lose bits is below half of the least bf16.
//
// fc_div_f16: one correction by the exact remainder leads there. Where the remainder is 0 or no
// number, the product is the quotient, sign and all.
//
// fc_div_near: of floats; off by two units of f32 at most, 2^-149 of subnormal results.
#ifdef FC_EMULATE
FC_INLINE float fc_div_bf16(float a, float b) {
    return a / b;
}
FC_INLINE float fc_div_f16(float a, float b) {
    return a / b;
}
FC_INLINE float fc_div_near(float a, float b) {
    return a / b;
}
FC_INLINE float fc_exp16(float x) {
    return expf(x);
}
FC_INLINE float fc_tanh16(float x) {
    return tanhf(x);
}
#else
FC_INLINE float fc_rcp(float x) {
    float r;
    asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
FC_INLINE float fc_scale(float b) {
    return fabsf(b) < 0x1p-64f ? 0x1p64f : fabsf(b) > 0x1p64f ? 0x1p-64f : 1.0f;
}
FC_INLINE float fc_div_bf16(float a, float b) {
    const float s = fc_scale(b), r = fc_rcp(b * s);
    const float off = fminf(fmaf(-(b * s), r, 1.0f), 0x1p-20f); /* r is 0 or infinite: no nan */
    return a * s * fmaf(off, r, r);
}
FC_INLINE float fc_div_near(float a, float b) {
    const float s = fc_scale(b);
    return a * s * fc_rcp(b * s);
}
FC_INLINE float fc_div_f16(float a, float b) {
    const float s = fabsf(b) < 0x1p-64f ? 0x1p64f : 1.0f;
    a *= s;
    b *= s;
    const float r = fc_rcp(b), q = a * r, rest = fmaf(-q, b, a), better = fmaf(rest, r, q);
    return fabsf(rest) > 0 && fabsf(rest) < __uint_as_float(0x7f800000u) ? better : q;
}
/* off by 2^-16 of itself at most; halves, so that no part of it is subnormal */
FC_INLINE float fc_exp16(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 0x1.715476p-1f));
    return r * r;
}
/* off by 2^-11 of itself at most, an eighth of a bf16's ulp */
FC_INLINE float fc_tanh16(float x) {
#if __CUDA_ARCH__ >= 750
    float r;
    asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
#else
    return tanhf(x);
#endif
}
#endif

//@ sine
// sin whose result is rounded to 16 bits, in code that has angles.
#ifdef FC_EMULATE
FC_INLINE float fc_sin16(float x) {
    return sinf(x);
}
#else
/* off by 2^-19 of itself: the angle is taken to half a turn, whose number's last bit is the sign */
FC_INLINE float fc_sin16(float x) {
    if (FC_FAR(x)) return fc_far_sin(x);
    const float t = fmaf(x, 0x1.45f306p-2f, 0x1.8p23f), n = t - 0x1.8p23f;
    float r = fmaf(n, -0x1.921fb4p+1f, x);
    r = fmaf(n, -0x1.4442dp-23f, r);
    r = fmaf(n, -0x1.84698ap-47f, r);
    const float z = r * r, c = fmaf(r, z, 0.0f); /* -0 stays -0 */
    const float p = fmaf(fmaf(z, -0x1.84d4dap-13f, 0x1.1070dep-7f), z, -0x1.55510ep-3f);
    const float s = fmaf(c, p, r);
    return __uint_as_float(__float_as_uint(s) ^ __float_as_uint(t) << 31);
}
#endif
