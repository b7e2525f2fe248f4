// functions.cuh - functions that are not CUDA's own. scripts/math-coefficients writes the lines
// after comments that name a polynomial, "NAME: what it is".

//@ angles
// Angles far from 0 need hundreds of instructions that hardly ever run: once in the text, not at
// each place of use. The functions divide the angles at the same place themselves, so that the
// compiler leaves their own far part out of the near one, and every bit stays. Quick code calls the
// far ones of f32 for all angles.
#define FC_FAR(x) (fabsf(x) >= 105615.0f)
#ifdef FC_TEXT_QUICK
#define FC_ASIDE(x) true
#else
#define FC_ASIDE(x) FC_FAR(x)
#endif
#ifdef FC_EMULATE
#define FC_APART static
#else
#define FC_APART static __device__ __noinline__
#endif
struct fc_sine_cosine {
    float s, c;
};
FC_APART float fc_far_sin(float x) {
    return sinf(x);
}
FC_APART float fc_far_cos(float x) {
    return cosf(x);
}
FC_APART float fc_far_tan(float x) {
    return tanf(x);
}
FC_APART fc_sine_cosine fc_far_sincos(float x) {
    fc_sine_cosine r;
    sincosf(x, &r.s, &r.c);
    return r;
}
FC_INLINE float fc_sinf(float x) {
    return FC_ASIDE(x) ? fc_far_sin(x) : sinf(x);
}
FC_INLINE float fc_cosf(float x) {
    return FC_ASIDE(x) ? fc_far_cos(x) : cosf(x);
}
FC_INLINE float fc_tanf(float x) {
    return FC_ASIDE(x) ? fc_far_tan(x) : tanf(x);
}
FC_INLINE void fc_sincosf(float x, float *s, float *c) {
    if (!FC_ASIDE(x)) return sincosf(x, s, c);
    const fc_sine_cosine r = fc_far_sincos(x);
    *s = r.s;
    *c = r.c;
}
FC_INLINE double fc_sin(double x) {
    return sin(x);
}
FC_INLINE double fc_cos(double x) {
    return cos(x);
}
FC_INLINE double fc_tan(double x) {
    return tan(x);
}
FC_INLINE void fc_sincos(double x, double *s, double *c) {
    sincos(x, s, c);
}

//@ lgamma
// lgamma of f32 where CUDA's own loses its digits.
//
// From -2.2 down lgamma goes through zero twice between any two poles, and near the zeros CUDA's is
// off by some 1e-6, which is all of it. There (down to -14; from -10 on floats are too far apart to
// come near a zero) it is computed in f64: 1/gamma is a polynomial on [1, 2], and an argument n
// below needs n factors, none of which is rounded. It stands apart, once in a text, as it is rarely
// wanted.
#ifdef FC_EMULATE
#define FC_BELOW static
#else
#define FC_BELOW static __device__ __noinline__
#endif
FC_BELOW float fc_lgamma_below(float a) {
    // reciprocal_gamma: 1 / gamma(1.5 + u), |u| <= 1/2; error 1.83e-17
    const double c[] = {
        0x1.20dd750429b6dp+0,  -0x1.514d3d9058483p-5, -0x1.0da5a671c0465p-1,
        0x1.669be41a93212p-3,  0x1.a18540be2aa3cp-5,  -0x1.5955cc3931940p-5,
        0x1.b16203eb90e13p-8,  0x1.15f7f01993557p-9,  -0x1.232bd96c97cffp-10,
        0x1.3f8488ba64303p-13, 0x1.a9650eff5416fp-16, -0x1.d259390e563a2p-17,
        0x1.214d889dfae4fp-19, 0x1.08d6d32e9d867p-24, -0x1.7d516f1f91e9dp-24,
        0x1.c57a8cf62abbap-27,
    };
    const int last = (int)(sizeof c / sizeof *c) - 1;
    double x = a, p = 1, r = c[last];
    for (; x < 1; x += 1) p *= x;
#pragma unroll
    for (int i = last - 1; i >= 0; i--) r = fma(r, x - 1.5, c[i]);
    return (float)-log(fabs(p * r));
}
FC_INLINE float fc_lgammaf(float x) {
    return x < -2.2f && x > -14.0f ? fc_lgamma_below(x) : lgammaf(x);
}
FC_INLINE double fc_lgamma(double x) {
    return lgamma(x);
}

//@ erfc
// erfc in fewer instructions than CUDA's own has.
//
// For a >= 0 erfc a is exp(-a^2) times a smooth function of s = 1/(a + k), which takes one
// reciprocal. There are no tests but of the sign: a is cut off where erfc is 0, and a nan stays
// one. The polynomial makes its results 2^-24 (f64: 2^-60) too small, so that even where erfc is
// subnormal the power of two is a normal number whose exponent comes by a shift, and the last
// product rounds to the place that there is.
//
// f32: a^2 L = n + f with |f| <= 1/2, L is 1/ln 2 rounded, and the polynomial takes in what that
// changes; products are rounded once, l is what h lost. The reciprocal is an approximate one. If it
// is off by a part r, the polynomial is by 1.2 to 2.3 times as much, which is near 1.02 + 2.56 s;
// instead of s f is put right, as 2^(f + c r L) is 2^f (1 + c r). r takes in that a + k was
// rounded.
//
// f64: the reciprocal is made good from its first 20 bits by e + e^2, where e is how far it is off;
// what its rounding leaves goes into the exponent as for f32. The upper coefficients are numbers
// that fit into an instruction.
//
// Coefficients are given lowest power first.
FC_INLINE float fc_erfcf(float x) {
#if !defined(FC_EMULATE) && __CUDA_ARCH__ < 800
    return erfcf(x);
#else
    const float L = 0x1.715476p+0f, whole = 0x1.8p23f + 127 + 24;
    float a, s, e;
#ifdef FC_EMULATE
    a = fabsf(x) > 10.1f ? 10.1f : fabsf(x);
    s = 1 / (a + 2.0f);
#else
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(a) : "f"(fabsf(x)), "f"(10.1f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(s) : "f"(a + 2.0f));
#endif
    const float r = fmaf(-s, a, fmaf(-s, 2.0f, 1.0f));
    // erfc_f32: erfc a = 2^(-a^2 L) 2^24 P(1/(a + 2)), 0 <= a <= 10.06, L = 0x1.715476p+0;
    // error 6.05e-09
    const float pc[] = {
        0x1.0caef60000000p-41,  0x1.209e1e0000000p-25,  0x1.240ee60000000p-24,
        0x1.ca74240000000p-24,  0x1.2276b80000000p-22,  -0x1.fbfb9c0000000p-22,
        0x1.5b2d920000000p-19,  -0x1.ebb8000000000p-18, 0x1.45f3220000000p-17,
        -0x1.aab2ee0000000p-18, 0x1.c25f540000000p-20,
    };
    const int pn = (int)(sizeof pc / sizeof *pc) - 1;
    float p = pc[pn];
#pragma unroll
    for (int i = pn - 1; i >= 0; i--) p = fmaf(p, s, pc[i]);
    const float h = a * L, l = fmaf(a, -L, h), n = fmaf(-a, h, whole);
    const float c = fmaf(s, 0x1.d8be08p+1f, 0x1.78b76ep+0f);
    const float f = fmaf(r, c, fmaf(a, l, fmaf(-a, h, whole - n)));
#ifdef FC_EMULATE
    e = exp2f(f);
#else
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(f));
#endif
    const float y = p * e * __uint_as_float(__float_as_uint(n) << 23);
    return x < 0 ? 2.0f - y : y;
#endif
}
FC_INLINE double fc_erfc(double x) {
#if !defined(FC_EMULATE) && __CUDA_ARCH__ < 800
    return erfc(x);
#else
    const double L = 0x1.71547652b82fep+0, whole = 0x1.8p52 + 1023 + 60;
    const double a = fabs(x) > 27.3 ? 27.3 : fabs(x);
    double s;
#ifdef FC_EMULATE
    s = 1 / (a + 4.0);
    s = __longlong_as_double(__double_as_longlong(s) >> 32 << 32);
#else
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(s) : "d"(a + 4.0));
#endif
    const double e = fma(-s, a, fma(-s, 4.0, 1.0));
    s = fma(s, fma(e, e, e), s);
    const double t = fma(s, -8.0, 1.0);
    // erfc_f64: erfc a = exp(-a^2) 2^60 P((a - 4)/(a + 4)) / (a + 4), 0 <= a <= 27.3;
    // error 5.86e-17
    const double pc[] = {
        0x1.18932bf08e154p-60,  -0x1.f3fe31ecb49c0p-61, 0x1.8be202d26c70bp-61,
        -0x1.14eacb1ad02c3p-61, 0x1.52cac2370feecp-62,  -0x1.645fd8a4c0309p-63,
        0x1.38dbd2c8ef4edp-64,  -0x1.b00c052a1c87bp-66, 0x1.908f471b73653p-68,
        -0x1.269b56e28e371p-72, -0x1.dd2841d57ad0ap-72, 0x1.72cddbb26de91p-73,
        -0x1.e7ef864f242bfp-79, -0x1.3c74673bbe990p-76, 0x1.3b116a2926292p-78,
        0x1.7f0fd3bd0ded0p-80,  -0x1.c68b800000000p-81, -0x1.54c5900000000p-84,
        0x1.0ac1400000000p-83,  0x1.00ec400000000p-88,  -0x1.05a4500000000p-86,
        -0x1.ae5c300000000p-91, 0x1.d941d00000000p-91,
    };
    const int pn = (int)(sizeof pc / sizeof *pc) - 1;
    double p = pc[pn];
#pragma unroll
    for (int i = pn - 1; i >= 0; i--) p = fma(p, t, pc[i]);
    const double h = a * a, l = fma(a, a, -h), n = fma(h, -L, whole);
    double f = fma(whole - n, 0x1.62e42fefa39efp-1, -h);
    f = fma(whole - n, 0x1.abc9e3b39803fp-56, f) - l;
    f = fma(fma(-s, a, fma(-s, 4.0, 1.0)), fma(s, 15.0, 0.375), f);
    // exp_f64: e^r = P(r), |r| <= ln(2)/2; error 9.92e-18
    const double qc[] = {
        0x1.0000000000000p+0,  0x1.0000000000000p+0,  0x1.0000000000016p-1,  0x1.555555555557ap-3,
        0x1.555555554e1acp-5,  0x1.111111110ad73p-7,  0x1.6c16c18991027p-10, 0x1.a01a01bfffa2ep-13,
        0x1.a019900000000p-16, 0x1.71dde00000000p-19, 0x1.28b4100000000p-22, 0x1.af78700000000p-26,
    };
    const int qn = (int)(sizeof qc / sizeof *qc) - 1;
    double q = qc[qn];
#pragma unroll
    for (int i = qn - 1; i >= 0; i--) q = fma(q, f, qc[i]);
    const unsigned long long to = (unsigned long long)__double_as_longlong(n) << 52;
    const double y = p * s * q * __longlong_as_double((long long)to);
    return x < 0 ? 2.0 - y : y;
#endif
}
