// arith.cuh - arithmetic that CUDA C has no function for, or that NVRTC gets wrong (cuda_guard.c).

//@ divide
// Quotients by a value of the row without the tests of a division (cuda_divide.c). `most` and
// `least` are of the bits of a with the sign last, `least` of those less 1: +0 the largest, -0 the
// least.
FC_INLINE unsigned int fc_sign_last(float a) {
    const unsigned int u = __float_as_uint(a);
#ifdef FC_EMULATE
    return u << 1 | u >> 31;
#else
    return __funnelshift_l(u, u, 1);
#endif
}
FC_INLINE float fc_div_by_row(float a, float b, unsigned int &most, unsigned int &least) {
    const unsigned int u = fc_sign_last(a);
    const float r = 1.0f / b, rest = fmaf(-b, r, 1.0f) * r, q = fmaf(a, r, a * rest);
    most = u > most ? u : most;
    least = u - 1 < least ? u - 1 : least;
    return fmaf(fmaf(-q, b, a), r, q);
}
FC_INLINE bool fc_near_ones(unsigned int most, unsigned int least) {
    return most <= 2 * __float_as_uint(0x1p60f) && least >= 2 * __float_as_uint(0x1p-60f) - 1;
}
FC_INLINE bool fc_near_one(float b) {
    return b > 0x1p-24f && b < 0x1p60f;
}
#ifdef FC_EMULATE
static float fc_far_div(float a, float b) {
    return a / b;
}
#else
static __device__ __noinline__ float fc_far_div(float a, float b) {
    return a / b;
}
#endif

//@ minmax
// NaN wins and -0 is below +0, as instructions and, elsewhere, by hand.
FC_INLINE double fc_minimum(double a, double b) {
    const double zero = __longlong_as_double(__double_as_longlong(a) | __double_as_longlong(b));
    return a < b || a != a ? a : a == b ? zero : b;
}
FC_INLINE double fc_maximum(double a, double b) {
    const double zero = __longlong_as_double(__double_as_longlong(a) & __double_as_longlong(b));
    return a > b || a != a ? a : a == b ? zero : b;
}
FC_INLINE float fc_minimumf(float a, float b) {
#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    const float zero = __uint_as_float(__float_as_uint(a) | __float_as_uint(b));
    return a < b || a != a ? a : a == b ? zero : b;
#endif
}
FC_INLINE float fc_maximumf(float a, float b) {
#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    const float zero = __uint_as_float(__float_as_uint(a) & __float_as_uint(b));
    return a > b || a != a ? a : a == b ? zero : b;
#endif
}

//@ neg
// -x of a 16-bit integer. ptxas 13.0 takes a plain one into a comparison as an operand of 32 bits,
// in which -(-32768) is 32768 and -1 of u16 is more than 65535.
FC_INLINE unsigned int fc_neg(unsigned int x) {
    unsigned int r = 0u - x;
#ifndef FC_EMULATE
    asm("" : "+r"(r));
#endif
    return r;
}

//@ byte
// An 8-bit integer in a register of its own, widened: the compiler can't look through.
template <typename T> FC_INLINE T fc_byte(T x) {
    int r = x;
#ifndef FC_EMULATE
    asm("" : "+r"(r));
#endif
    return (T)r;
}

//@ of_byte
// An 8-bit integer as a float: as the last bits of 2^23 it is one already, too large by 2^23, and
// with a sign by 128 more. The instruction that converts runs at a quarter of the rate of these
// two.
FC_INLINE float fc_of_byte(unsigned char x) {
    return __uint_as_float(0x4b000000u | x) - 0x1p23f;
}
FC_INLINE float fc_of_byte(signed char x) {
    return __uint_as_float(0x4b000080u ^ (unsigned char)x) - 0x1.0001p23f;
}

//@ gcd
FC_INLINE unsigned long long fc_gcd(unsigned long long a, unsigned long long b) {
    while (b != 0) {
        const unsigned long long rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

//@ near
// Quotients and roots by IEEE 754 without the tests for operands that are far from 1: the steps are
// those behind such tests. All quotients of normal_raw are right whatever the approximation, as
// long as it is within two units, and exact at the one divisor whose digits are all ones.
FC_INLINE double fc_near_div(double a, double b) {
    return a / b;
}
FC_INLINE double fc_near_sqrt(double a) {
    return sqrt(a);
}
#ifdef FC_EMULATE
FC_INLINE float fc_near_div(float a, float b) {
    return a / b;
}
FC_INLINE float fc_near_sqrt(float a) {
    return sqrtf(a);
}
#else
FC_INLINE float fc_near_div(float a, float b) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
    r = fmaf(fmaf(-b, r, 1.0f), r, r);
    const float q = a * r;
    return fmaf(fmaf(-b, q, a), r, q);
}
FC_INLINE float fc_near_sqrt(float a) {
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fmaxf(a, 0x1p-80f))); /* of 0: no infinity */
    const float q = a * r, h = 0.5f * r;
    return fmaf(fmaf(-q, q, a), h, q);
}
#endif

//@ philox
// Draw i of 64 bits of Philox4x32-10 (ir/philox.h).
FC_INLINE unsigned long long fc_philox(unsigned long long i, unsigned long long seed,
                                       unsigned long long stream) {
    unsigned int c0 = (unsigned int)(i >> 1), c1 = (unsigned int)(i >> 33);
    unsigned int c2 = (unsigned int)stream, c3 = (unsigned int)(stream >> 32);
    unsigned int k0 = (unsigned int)seed, k1 = (unsigned int)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        /* products of 64 bits would keep the words in pairs of registers, with masks */
        const unsigned int a = c0, b = c2;
        c0 = __umulhi(b, 0xCD9E8D57u) ^ c1 ^ k0;
        c1 = b * 0xCD9E8D57u;
        c2 = __umulhi(a, 0xD2511F53u) ^ c3 ^ k1;
        c3 = a * 0xD2511F53u;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return i & 1 ? c2 | (unsigned long long)c3 << 32 : c0 | (unsigned long long)c1 << 32;
}
