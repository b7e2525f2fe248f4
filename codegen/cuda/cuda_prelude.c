/* cuda_prelude.c - the functions and types that stand above a kernel.
 *
 * In: what the kernel's code, class and g->cached use. Out: CUDA C that includes nothing; with
 * FC_EMULATE defined a host that brings the rest (atomics, shuffles, conversions) compiles
 * it, too. */
#include "codegen/cuda/cuda.h"

static const char prelude_common[] =
    "#pragma nv_diag_suppress 177 /* a kernel need not use all of this */\n"
    "#define FC_INLINE static __device__ __forceinline__\n"
    "template <typename T, int N, int A> struct alignas(A) fc_vec {\n"
    "    T e[N];\n"
    "};\n"
    "/* x, but no compiler knows its value */\n"
    "FC_INLINE float fc_opaque(float x, long long zero) {\n"
    "    return __uint_as_float(__float_as_uint(x) | (unsigned int)zero);\n"
    "}\n"
    "FC_INLINE double fc_opaque(double x, long long zero) {\n"
    "    return __longlong_as_double(__double_as_longlong(x) | zero);\n"
    "}\n";

static const char prelude_narrow[] =
    "typedef int ix;\n"
    "FC_INLINE ix fc_quotient(ix a, ix b) { return (ix)((unsigned int)a / (unsigned int)b); }\n";

static const char prelude_wide[] =
    "typedef long long ix;\n"
    "FC_INLINE ix fc_quotient(ix a, ix b) {\n"
    "    if (((unsigned long long)a | (unsigned long long)b) >> 32) return a / b;\n"
    "    return (ix)((unsigned int)a / (unsigned int)b);\n"
    "}\n";

/* Templates over the accumulator types of cuda_red.c. Trees are built by a binary counter: after n
 * leaves there is one finished subtree of 2^l leaves for each bit l of n; a new leaf joins those
 * that it completes. */
static const char prelude_trees[] =
    "template <typename T> FC_INLINE T fc_lane_xor(T v, int mask) {\n"
    "    return (T)__shfl_xor_sync(0xffffffffu, v, mask);\n"
    "}\n"
    "template <typename T> FC_INLINE T fc_lane_from(T v, int lane) {\n"
    "    return (T)__shfl_sync(0xffffffffu, v, lane);\n"
    "}\n"
    "/* over aligned groups of `width` lanes, in lane order; every lane gets the result */\n"
    "template <typename R> FC_INLINE R fc_lanes(R x, int width) {\n"
    "#pragma unroll\n"
    "    for (int m = 1; m < width; m *= 2) x = fc_meet(x, fc_xor(x, m), (threadIdx.x & m) != 0);\n"
    "    return x;\n"
    "}\n"
    "template <typename R> FC_INLINE R fc_lanes_even(R x, int width) {\n"
    "#pragma unroll\n"
    "    for (int m = 1; m < width; m *= 2) x = fc_meet(x, fc_even(x, m), (threadIdx.x & m) != "
    "0);\n"
    "    return x;\n"
    "}\n"
    "/* lane l keeps the subtree of 2^l leaves */\n"
    "template <typename R> FC_INLINE R fc_total(const R &kept, unsigned int n, R start) {\n"
    "    bool any = false;\n"
    "    for (int l = 0; n >> l; l++) {\n"
    "        if (!(n >> l & 1)) continue;\n"
    "        const R y = fc_from(kept, l);\n"
    "        start = any ? fc_join(y, start) : y;\n"
    "        any = true;\n"
    "    }\n"
    "    return start;\n"
    "}\n"
    "/* the same in one thread; gives the largest subtree that x completes */\n"
    "template <typename R> FC_INLINE R fc_put(R *kept, R x, unsigned int n) {\n"
    "    int l = 0;\n"
    "    for (; n >> l & 1; l++) x = fc_join(kept[l], x);\n"
    "    kept[l] = x;\n"
    "    return x;\n"
    "}\n"
    "template <typename R>\n"
    "FC_INLINE R fc_sum(const R *kept, unsigned int n, R start, bool any = false) {\n"
    "    for (int l = 0; n >> l; l++) {\n"
    "        if (!(n >> l & 1)) continue;\n"
    "        start = any ? fc_join(kept[l], start) : kept[l];\n"
    "        any = true;\n"
    "    }\n"
    "    return start;\n"
    "}\n"
    "/* the same with the lowest levels in registers */\n"
    "template <int L = 0, typename R, int N>\n"
    "FC_INLINE void fc_count(R (&near)[N], R *far, R x, unsigned int n) {\n"
    "    if constexpr (L == N)\n"
    "        fc_put(far, x, n >> N);\n"
    "    else if (n >> L & 1)\n"
    "        fc_count<L + 1>(near, far, fc_join(near[L], x), n);\n"
    "    else\n"
    "        near[L] = x;\n"
    "}\n"
    "template <typename R, int N>\n"
    "FC_INLINE R fc_near(const R (&near)[N], unsigned int n, R x, bool &any) {\n"
    "#pragma unroll\n"
    "    for (int l = 0; l < N; l++) {\n"
    "        if (n >> l & 1) {\n"
    "            if (any)\n"
    "                x = fc_join(near[l], x);\n"
    "            else\n"
    "                x = near[l];\n"
    "            any = true;\n"
    "        }\n"
    "    }\n"
    "    return x;\n"
    "}\n"
    "template <typename R, int N>\n"
    "FC_INLINE R fc_counted(const R (&near)[N], const R *far, unsigned int n, R x) {\n"
    "    bool any = false;\n"
    "    x = fc_near(near, n, x, any);\n"
    "    return fc_sum(far, n >> N, x, any);\n"
    "}\n"
    "/* the same where all levels are near */\n"
    "template <int L = 0, typename R, int N>\n"
    "FC_INLINE void fc_fill(R (&near)[N], R x, unsigned int n) {\n"
    "    if constexpr (L + 1 < N) {\n"
    "        if (n >> L & 1) {\n"
    "            fc_fill<L + 1>(near, fc_join(near[L], x), n);\n"
    "            return;\n"
    "        }\n"
    "    }\n"
    "    near[L] = x;\n"
    "}\n"
    "template <typename R, int N>\n"
    "FC_INLINE R fc_filled(const R (&near)[N], unsigned int n, R x) {\n"
    "    bool any = false;\n"
    "    return fc_near(near, n, x, any);\n"
    "}\n";

/* Four lanes of a thread that are a warp apart. Threads exchange halves of what they have: after
 * two steps each has one of the four, so that it takes 8 exchanges, not 20. */
static const char prelude_apart[] =
    "template <bool EVEN, typename R> FC_INLINE R fc_meets(const R &keep, const R &give, int m) {\n"
    "    if constexpr (EVEN) return fc_meet(keep, fc_even(give, m), (threadIdx.x & m) != 0);\n"
    "    else return fc_meet(keep, fc_xor(give, m), (threadIdx.x & m) != 0);\n"
    "}\n"
    "template <bool EVEN, typename R> FC_INLINE R fc_apart(const R *w) {\n"
    "    const bool odd = (threadIdx.x & 1) != 0, high = (threadIdx.x & 2) != 0;\n"
    "    const R x = fc_meets<EVEN>(fc_pick(w[0], w[2], odd), fc_pick(w[2], w[0], odd), 1);\n"
    "    const R y = fc_meets<EVEN>(fc_pick(w[1], w[3], odd), fc_pick(w[3], w[1], odd), 1);\n"
    "    R z = fc_meets<EVEN>(fc_pick(x, y, high), fc_pick(y, x, high), 2);\n"
    "#pragma unroll\n"
    "    for (int m = 4; m < 32; m *= 2) z = fc_meets<EVEN>(z, z, m);\n"
    "    z = fc_meets<EVEN>(z, z, 2);\n"
    "    return fc_meets<EVEN>(z, z, 1);\n"
    "}\n";

/* FC_EMULATE: the text is being compiled for a host, which has functions of its own for these.
 * Conversions to 16 bits go in pairs: those of single values run at a quarter of the rate. */
static const char prelude_f16[] = "#ifndef FC_EMULATE\n"
                                  "FC_INLINE float fc_f16_value(unsigned short h) {\n"
                                  "    float f;\n"
                                  "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h));\n"
                                  "    return f;\n"
                                  "}\n"
                                  "FC_INLINE unsigned short fc_f16_bits(float f) {\n"
                                  "#if __CUDA_ARCH__ >= 800\n"
                                  "    unsigned int r;\n"
                                  "    asm(\"cvt.rn.f16x2.f32 %0, %1, %2;\" : \"=r\"(r) : "
                                  "\"f\"(0.0f), \"f\"(f));\n"
                                  "    return (unsigned short)r;\n"
                                  "#else\n"
                                  "    unsigned short h;\n"
                                  "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f));\n"
                                  "    return h;\n"
                                  "#endif\n"
                                  "}\n"
                                  "#endif\n";

/* The upper half of a pair is the float that the 16 bits stand for. */
static const char prelude_bf16[] =
    "FC_INLINE float fc_bf16_value(unsigned short h) {\n"
    "#ifdef FC_EMULATE\n"
    "    return __uint_as_float((unsigned int)h << 16);\n"
    "#else\n"
    "    float f;\n"
    "    asm(\"{.reg .b16 lower; mov.b16 lower, 0; mov.b32 %0, {lower, %1};}\" : \"=f\"(f) : "
    "\"h\"(h));\n"
    "    return f;\n"
    "#endif\n"
    "}\n"
    "#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800\n"
    "FC_INLINE float fc_bf16_round(float f) {\n"
    "    unsigned int r;\n"
    "    asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(r) : \"f\"(f), \"f\"(0.0f));\n"
    "    return __uint_as_float(r);\n"
    "}\n"
    "#else\n"
    "FC_INLINE float fc_bf16_round(float f) {\n"
    "    const unsigned int u = __float_as_uint(f);\n"
    "    if ((u & 0x7fffffffu) > 0x7f800000u) return __uint_as_float(0x7fff0000u);\n"
    "    return __uint_as_float((u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u);\n"
    "}\n"
    "#endif\n"
    "/* a move, which joins those around it; a shift would stay one */\n"
    "FC_INLINE unsigned short fc_bf16_upper(float f) {\n"
    "#ifdef FC_EMULATE\n"
    "    return (unsigned short)(__float_as_uint(f) >> 16);\n"
    "#else\n"
    "    unsigned short h;\n"
    "    asm(\"{.reg .b16 lower; mov.b32 {lower, %0}, %1;}\" : \"=h\"(h) : \"f\"(f));\n"
    "    return h;\n"
    "#endif\n"
    "}\n"
    "FC_INLINE unsigned short fc_bf16_bits(float f) { return fc_bf16_upper(fc_bf16_round(f)); }\n";

/* Sums, differences and products of 16-bit values as instructions of their own: they round once
 * what f32 has exactly, or with more than twice the bits and two, so that rounding again changes
 * nothing. */
static const char prelude_arith[] =
    "#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= %d\n"
    "#define FC_HALF(name, sign) \\\n"
    "    FC_INLINE unsigned short fc_%s_##name(unsigned short a, unsigned short b) { \\\n"
    "        unsigned short r; \\\n"
    "        asm(#name \".rn.%s %%0, %%1, %%2;\" : \"=h\"(r) : \"h\"(a), \"h\"(b)); \\\n"
    "        return r; \\\n"
    "    }\n"
    "#else\n"
    "#define FC_HALF(name, sign) \\\n"
    "    FC_INLINE unsigned short fc_%s_##name(unsigned short a, unsigned short b) { \\\n"
    "        return fc_%s_bits(fc_%s_value(a) sign fc_%s_value(b)); \\\n"
    "    }\n"
    "#endif\n"
    "FC_HALF(add, +)\n"
    "FC_HALF(sub, -)\n"
    "FC_HALF(mul, *)\n"
    "#undef FC_HALF\n";

/* Functions whose result is rounded to 16 bits, at once or (wide16) some time.
 *
 * A quotient of 16-bit values that is not in the middle of two 16-bit values is at least 2^-17
 * (bf16) or 2^-23 (f16) of itself away from any, and one that is (a subnormal one) is an f32.
 *
 * fc_div_bf16: so the product with the reciprocal rounded to nearest leads to the right side, and
 * to the middle itself, too: below 2^-126 it is off by less than half of 2^-149. One step makes any
 * reciprocal that is off by two units the nearest one, as the divisor has 8 bits. What depends on
 * the divisor alone the compiler does once a row where it is one for all. Scaling keeps the
 * reciprocal finite and no subnormal; what it makes overflow overflows anyway, and what it makes
 * lose bits is below half of the least bf16.
 *
 * fc_div_f16: one correction by the exact remainder leads there. Where the remainder is 0 or no
 * number, the product is the quotient, sign and all.
 *
 * fc_div_near: of floats; off by two units of f32 at most, 2^-149 of subnormal results. */
static const char prelude_half[] =
    "#ifdef FC_EMULATE\n"
    "FC_INLINE float fc_div_bf16(float a, float b) { return a / b; }\n"
    "FC_INLINE float fc_div_f16(float a, float b) { return a / b; }\n"
    "FC_INLINE float fc_div_near(float a, float b) { return a / b; }\n"
    "FC_INLINE float fc_exp16(float x) { return expf(x); }\n"
    "FC_INLINE float fc_tanh16(float x) { return tanhf(x); }\n"
    "#else\n"
    "FC_INLINE float fc_rcp(float x) {\n"
    "    float r;\n"
    "    asm(\"rcp.approx.f32 %0, %1;\" : \"=f\"(r) : \"f\"(x));\n"
    "    return r;\n"
    "}\n"
    "FC_INLINE float fc_scale(float b) {\n"
    "    return fabsf(b) < 0x1p-64f ? 0x1p64f : fabsf(b) > 0x1p64f ? 0x1p-64f : 1.0f;\n"
    "}\n"
    "FC_INLINE float fc_div_bf16(float a, float b) {\n"
    "    const float s = fc_scale(b), r = fc_rcp(b * s);\n"
    "    const float off = fminf(fmaf(-(b * s), r, 1.0f), 0x1p-20f); /* r is 0 or infinite: no nan "
    "*/\n"
    "    return a * s * fmaf(off, r, r);\n"
    "}\n"
    "FC_INLINE float fc_div_near(float a, float b) {\n"
    "    const float s = fc_scale(b);\n"
    "    return a * s * fc_rcp(b * s);\n"
    "}\n"
    "FC_INLINE float fc_div_f16(float a, float b) {\n"
    "    const float s = fabsf(b) < 0x1p-64f ? 0x1p64f : 1.0f;\n"
    "    a *= s;\n"
    "    b *= s;\n"
    "    const float r = fc_rcp(b), q = a * r, rest = fmaf(-q, b, a), better = fmaf(rest, r, q);\n"
    "    return fabsf(rest) > 0 && fabsf(rest) < __uint_as_float(0x7f800000u) ? better : q;\n"
    "}\n"
    "/* off by 2^-16 of itself at most; halves, so that no part of it is subnormal */\n"
    "FC_INLINE float fc_exp16(float x) {\n"
    "    float r;\n"
    "    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(x * 0x1.715476p-1f));\n"
    "    return r * r;\n"
    "}\n"
    "/* off by 2^-11 of itself at most, an eighth of a bf16's ulp */\n"
    "FC_INLINE float fc_tanh16(float x) {\n"
    "#if __CUDA_ARCH__ >= 750\n"
    "    float r;\n"
    "    asm(\"tanh.approx.f32 %0, %1;\" : \"=f\"(r) : \"f\"(x));\n"
    "    return r;\n"
    "#else\n"
    "    return tanhf(x);\n"
    "#endif\n"
    "}\n"
    "#endif\n";

/* NaN wins and -0 is below +0, as instructions and, elsewhere, by hand. */
static const char prelude_minmax[] =
    "FC_INLINE double fc_minimum(double a, double b) {\n"
    "    const double zero = __longlong_as_double(__double_as_longlong(a) | "
    "__double_as_longlong(b));\n"
    "    return a < b || a != a ? a : a == b ? zero : b;\n"
    "}\n"
    "FC_INLINE double fc_maximum(double a, double b) {\n"
    "    const double zero = __longlong_as_double(__double_as_longlong(a) & "
    "__double_as_longlong(b));\n"
    "    return a > b || a != a ? a : a == b ? zero : b;\n"
    "}\n"
    "FC_INLINE float fc_minimumf(float a, float b) {\n"
    "#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800\n"
    "    float r;\n"
    "    asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n"
    "    return r;\n"
    "#else\n"
    "    const float zero = __uint_as_float(__float_as_uint(a) | __float_as_uint(b));\n"
    "    return a < b || a != a ? a : a == b ? zero : b;\n"
    "#endif\n"
    "}\n"
    "FC_INLINE float fc_maximumf(float a, float b) {\n"
    "#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800\n"
    "    float r;\n"
    "    asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n"
    "    return r;\n"
    "#else\n"
    "    const float zero = __uint_as_float(__float_as_uint(a) & __float_as_uint(b));\n"
    "    return a > b || a != a ? a : a == b ? zero : b;\n"
    "#endif\n"
    "}\n";

/* 1 / n where n is mostly known when the text is compiled. */
static const char prelude_count[] =
    "FC_INLINE float fc_share(float n) { return 1.0f / n; }\n"
    "FC_INLINE double fc_share(double n) { return 1.0 / n; }\n"
    "/* mostly b is half of n, as two parts of the same size are joined */\n"
    "template <typename T> FC_INLINE T fc_part(T b, T n) { return b + b == n ? (T)0.5 : b / n; }\n";

/* fc_count and fc_fill where all that was taken before and x have `each` elements. */
static const char prelude_even[] =
    "FC_INLINE float fc_half(float n) { return 0.5f; }\n"
    "FC_INLINE double fc_half(double n) { return 0.5; }\n"
    "template <int L = 0, typename R, int N>\n"
    "FC_INLINE void fc_count_even(R (&near)[N], R *far, R x, unsigned int n, long long each) {\n"
    "    if constexpr (L == N) {\n"
    "        int l = 0;\n"
    "        for (; n >> N >> l & 1; l++) x = fc_join_even(far[l], x, each << l);\n"
    "        far[l] = x;\n"
    "    } else if (n >> L & 1) {\n"
    "        fc_count_even<L + 1>(near, far, fc_join_even(near[L], x, each), n, each * 2);\n"
    "    } else {\n"
    "        near[L] = x;\n"
    "    }\n"
    "}\n"
    "template <int L = 0, typename R, int N>\n"
    "FC_INLINE void fc_fill_even(R (&near)[N], R x, unsigned int n, long long each) {\n"
    "    if constexpr (L + 1 < N) {\n"
    "        if (n >> L & 1) {\n"
    "            fc_fill_even<L + 1>(near, fc_join_even(near[L], x, each), n, each * 2);\n"
    "            return;\n"
    "        }\n"
    "    }\n"
    "    near[L] = x;\n"
    "}\n";

/* -x of a 16-bit integer. ptxas 13.0 takes a plain one into a comparison as an operand of 32 bits,
 * in which -(-32768) is 32768 and -1 of u16 is more than 65535. */
static const char prelude_neg[] = "FC_INLINE unsigned int fc_neg(unsigned int x) {\n"
                                  "    unsigned int r = 0u - x;\n"
                                  "#ifndef FC_EMULATE\n"
                                  "    asm(\"\" : \"+r\"(r));\n"
                                  "#endif\n"
                                  "    return r;\n"
                                  "}\n";

/* Angles far from 0 need hundreds of instructions that hardly ever run: once in the text, not at
 * each place of use. The functions divide the angles at the same place themselves, so that the
 * compiler leaves their own far part out of the near one, and every bit stays. Quick code calls
 * the far ones of f32 for all angles. */
static const char prelude_angles[] =
    "#define FC_FAR(x) (fabsf(x) >= 105615.0f)\n"
    "#ifdef FC_TEXT_QUICK\n"
    "#define FC_ASIDE(x) true\n"
    "#else\n"
    "#define FC_ASIDE(x) FC_FAR(x)\n"
    "#endif\n"
    "#ifdef FC_EMULATE\n"
    "#define FC_APART static\n"
    "#else\n"
    "#define FC_APART static __device__ __noinline__\n"
    "#endif\n"
    "struct fc_sine_cosine { float s, c; };\n"
    "FC_APART float fc_far_sin(float x) { return sinf(x); }\n"
    "FC_APART float fc_far_cos(float x) { return cosf(x); }\n"
    "FC_APART float fc_far_tan(float x) { return tanf(x); }\n"
    "FC_APART fc_sine_cosine fc_far_sincos(float x) {\n"
    "    fc_sine_cosine r;\n"
    "    sincosf(x, &r.s, &r.c);\n"
    "    return r;\n"
    "}\n"
    "FC_INLINE float fc_sinf(float x) { return FC_ASIDE(x) ? fc_far_sin(x) : sinf(x); }\n"
    "FC_INLINE float fc_cosf(float x) { return FC_ASIDE(x) ? fc_far_cos(x) : cosf(x); }\n"
    "FC_INLINE float fc_tanf(float x) { return FC_ASIDE(x) ? fc_far_tan(x) : tanf(x); }\n"
    "FC_INLINE void fc_sincosf(float x, float *s, float *c) {\n"
    "    if (!FC_ASIDE(x)) return sincosf(x, s, c);\n"
    "    const fc_sine_cosine r = fc_far_sincos(x);\n"
    "    *s = r.s;\n"
    "    *c = r.c;\n"
    "}\n"
    "FC_INLINE double fc_sin(double x) { return sin(x); }\n"
    "FC_INLINE double fc_cos(double x) { return cos(x); }\n"
    "FC_INLINE double fc_tan(double x) { return tan(x); }\n"
    "FC_INLINE void fc_sincos(double x, double *s, double *c) { sincos(x, s, c); }\n";

/* sin whose result is rounded to 16 bits, in code that has angles. */
static const char prelude_sine[] =
    "#ifdef FC_EMULATE\n"
    "FC_INLINE float fc_sin16(float x) { return sinf(x); }\n"
    "#else\n"
    "/* off by 2^-19 of itself: the angle is taken to half a turn, whose number's last bit is the "
    "sign */\n"
    "FC_INLINE float fc_sin16(float x) {\n"
    "    if (FC_FAR(x)) return fc_far_sin(x);\n"
    "    const float t = fmaf(x, 0x1.45f306p-2f, 0x1.8p23f), n = t - 0x1.8p23f;\n"
    "    float r = fmaf(n, -0x1.921fb4p+1f, x);\n"
    "    r = fmaf(n, -0x1.4442dp-23f, r);\n"
    "    r = fmaf(n, -0x1.84698ap-47f, r);\n"
    "    const float z = r * r, c = fmaf(r, z, 0.0f); /* -0 stays -0 */\n"
    "    const float p = fmaf(fmaf(z, -0x1.84d4dap-13f, 0x1.1070dep-7f), z, -0x1.55510ep-3f);\n"
    "    const float s = fmaf(c, p, r);\n"
    "    return __uint_as_float(__float_as_uint(s) ^ __float_as_uint(t) << 31);\n"
    "}\n"
    "#endif\n";

static bool uses_angles(const fc_cuda_gen *g) {
    for (size_t i = 0; i < g->code.ins.len; i++) {
        fc_op op = g->code.ins.at[i].op;
        if (op == FC_OP_sin || op == FC_OP_cos || op == FC_OP_tan) return true;
    }
    return false;
}

static bool uses_gamma(const fc_cuda_gen *g) {
    for (size_t i = 0; i < g->code.ins.len; i++)
        if (g->code.ins.at[i].op == FC_OP_lgamma_raw) return true;
    return false;
}

static bool uses_erfc(const fc_cuda_gen *g) {
    for (size_t i = 0; i < g->code.ins.len; i++)
        if (g->code.ins.at[i].op == FC_OP_erfc) return true;
    return false;
}

static bool uses_neg(const fc_cuda_gen *g) {
    for (size_t i = 0; i < g->code.ins.len; i++) {
        fusec_dtype t = (fusec_dtype)g->code.ins.at[i].dtype;
        if (g->code.ins.at[i].op == FC_OP_neg && fc_is_int(t) && fc_dtypes[t].bytes == 2)
            return true;
    }
    return false;
}

static bool counts(const fc_cuda_gen *g) {
    for (size_t r = 0; r < g->k->reductions.len; r++)
        if (fc_cuda_counts(g->k->reductions.at[r].op)) return true;
    return false;
}

static bool uses_minmax(const fc_cuda_gen *g) {
    for (size_t r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].op == FC_OP_min || g->k->reductions.at[r].op == FC_OP_max ||
            fc_cuda_seeks(g, g->k->reductions.at[r].op))
            return true;
    for (size_t i = 0; i < g->code.ins.len; i++)
        if (g->code.ins.at[i].op == FC_OP_minimum || g->code.ins.at[i].op == FC_OP_maximum)
            return true;
    return false;
}

static bool uses_dtype(const fc_cuda_gen *g, fusec_dtype t) {
    for (size_t i = 0; i < g->code.ins.len; i++)
        if (g->code.ins.at[i].dtype == t) return true;
    return false;
}

static bool uses_half_functions(const fc_cuda_gen *g) {
    for (size_t i = 0; i < g->code.ins.len; i++)
        if (fc_cuda_node16(&g->code.ins.at[i])) return true;
    return uses_dtype(g, FUSEC_F16) || uses_dtype(g, FUSEC_BF16);
}

static void half_arithmetic(fc_str *out, const char *name, int from_arch) {
    fc_str_printf(out, prelude_arith, from_arch, name, name, name, name, name, name);
}

/* ---- what of it a kernel needs --------------------------------------------------------------- */

void fc_cuda_prelude(fc_cuda_gen *g) {
    fc_str *out = g->t.out;
    fc_str_add(out, prelude_common);
    fc_str_printf(out, "struct P {\n    long long w[%u];\n};\n",
                  g->cls->alike ? (unsigned)FC_ALIKE_WORDS : (unsigned)g->l.words);
    fc_str_add(out, g->cls->wide ? prelude_wide : prelude_narrow);
    fc_cuda_load_prelude(g);
    if (g->k->reductions.len) fc_str_add(out, prelude_trees);
    if (g->k->schedule == FC_SCHED_INNER && fc_cuda_apart(g->cls) > 1)
        fc_str_add(out, prelude_apart);
    if (g->cls->split == FC_CUDA_GANG) fc_str_add(out, fc_cuda_gang_prelude);
    if (fc_cuda_has_places(g->k, g->cls)) fc_cuda_ring_prelude(g);
    if (fc_cuda_is_cluster(g->k, g->cls)) fc_cuda_cluster_prelude(g);
    fc_cuda_divide_prelude(g);
    if (counts(g)) fc_str_add(out, prelude_count);
    if (fc_cuda_evens(g)) fc_str_add(out, prelude_even);
    if (uses_minmax(g)) fc_str_add(out, prelude_minmax);
    if (uses_neg(g)) fc_str_add(out, prelude_neg);
    if (uses_angles(g)) fc_str_add(out, prelude_angles);
    if (uses_gamma(g)) fc_cuda_gamma_prelude(out);
    if (uses_erfc(g)) fc_cuda_erf_prelude(out);
    if (uses_dtype(g, FUSEC_F16)) {
        fc_str_add(out, prelude_f16);
        half_arithmetic(out, "f16", 530);
    }
    if (uses_dtype(g, FUSEC_BF16)) {
        fc_str_add(out, prelude_bf16);
        half_arithmetic(out, "bf16", 900);
    }
    fc_cuda_sign_prelude(g);
    fc_cuda_guard_prelude(g);
    if (!uses_half_functions(g)) return;
    fc_str_add(out, prelude_half);
    if (uses_angles(g)) fc_str_add(out, prelude_sine);
}
