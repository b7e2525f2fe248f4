/* cuda_erf.c - erfc in fewer instructions than CUDA's own has.
 *
 * In: nothing. Out: fc_erfcf and fc_erfc for the text of a kernel.
 *
 * For a >= 0 erfc a is exp(-a^2) times a smooth function of s = 1/(a + k), which takes one
 * reciprocal. There are no tests but of the sign: a is cut off where erfc is 0, and a nan stays
 * one. The polynomial makes its results 2^-24 (f64: 2^-60) too small, so that even where erfc is
 * subnormal the power of two is a normal number whose exponent comes by a shift, and the last
 * product rounds to the place that there is.
 *
 * f32: a^2 L = n + f with |f| <= 1/2, L is 1/ln 2 rounded, and the polynomial takes in what that
 * changes; products are rounded once, l is what h lost. The reciprocal is an approximate one. If it
 * is off by a part r, the polynomial is by 1.2 to 2.3 times as much, which is near 1.02 + 2.56 s;
 * instead of s f is put right, as 2^(f + c r L) is 2^f (1 + c r). r takes in that a + k was
 * rounded.
 *
 * f64: the reciprocal is made good from its first 20 bits by e + e^2, where e is how far it is off;
 * what its rounding leaves goes into the exponent as for f32.
 * The upper coefficients are numbers that fit into an instruction. */
#include "codegen/cuda/cuda.h"
#include "codegen/cuda/cuda_erf_data.h"

/* Declares p, the polynomial with coefficients c in x. */
static void polynomial(fc_str *out, const char *type, const char *p, const char *x, const char *c) {
    fc_str_printf(out, "    const %s %sc[] = {%s};\n", type, p, c);
    fc_str_printf(out,
                  "    const int %sn = (int)(sizeof %sc / sizeof *%sc) - 1;\n"
                  "    %s %s = %sc[%sn];\n"
                  "#pragma unroll\n"
                  "    for (int i = %sn - 1; i >= 0; i--) %s = fma%s(%s, %s, %sc[i]);\n",
                  p, p, p, type, p, p, p, p, p, type[0] == 'f' ? "f" : "", p, x, p);
}

static void erfc_of_f32(fc_str *out) {
    fc_str_add(out,
               "    const float L = 0x1.715476p+0f, whole = 0x1.8p23f + 127 + 24;\n"
               "    float a, s, e;\n"
               "#ifdef FC_EMULATE\n"
               "    a = fabsf(x) > 10.1f ? 10.1f : fabsf(x);\n"
               "    s = 1 / (a + 2.0f);\n"
               "#else\n"
               "    asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(a) : \"f\"(fabsf(x)), \"f\"(10.1f));\n"
               "    asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(s) : \"f\"(a + 2.0f));\n"
               "#endif\n"
               "    const float r = fmaf(-s, a, fmaf(-s, 2.0f, 1.0f));\n");
    polynomial(out, "float", "p", "s", erfc_f32);
    fc_str_add(out, "    const float h = a * L, l = fmaf(a, -L, h), n = fmaf(-a, h, whole);\n"
                    "    const float c = fmaf(s, 0x1.d8be08p+1f, 0x1.78b76ep+0f);\n"
                    "    const float f = fmaf(r, c, fmaf(a, l, fmaf(-a, h, whole - n)));\n"
                    "#ifdef FC_EMULATE\n"
                    "    e = exp2f(f);\n"
                    "#else\n"
                    "    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(e) : \"f\"(f));\n"
                    "#endif\n"
                    "    const float y = p * e * __uint_as_float(__float_as_uint(n) << 23);\n"
                    "    return x < 0 ? 2.0f - y : y;\n");
}

static void erfc_of_f64(fc_str *out) {
    fc_str_add(out, "    const double L = 0x1.71547652b82fep+0, whole = 0x1.8p52 + 1023 + 60;\n"
                    "    const double a = fabs(x) > 27.3 ? 27.3 : fabs(x);\n"
                    "    double s;\n"
                    "#ifdef FC_EMULATE\n"
                    "    s = 1 / (a + 4.0);\n"
                    "    s = __longlong_as_double(__double_as_longlong(s) >> 32 << 32);\n"
                    "#else\n"
                    "    asm(\"rcp.approx.ftz.f64 %0, %1;\" : \"=d\"(s) : \"d\"(a + 4.0));\n"
                    "#endif\n"
                    "    const double e = fma(-s, a, fma(-s, 4.0, 1.0));\n"
                    "    s = fma(s, fma(e, e, e), s);\n"
                    "    const double t = fma(s, -8.0, 1.0);\n");
    polynomial(out, "double", "p", "t", erfc_f64);
    fc_str_add(out, "    const double h = a * a, l = fma(a, a, -h), n = fma(h, -L, whole);\n"
                    "    double f = fma(whole - n, 0x1.62e42fefa39efp-1, -h);\n"
                    "    f = fma(whole - n, 0x1.abc9e3b39803fp-56, f) - l;\n"
                    "    f = fma(fma(-s, a, fma(-s, 4.0, 1.0)), fma(s, 15.0, 0.375), f);\n");
    polynomial(out, "double", "q", "f", exp_f64);
    fc_str_add(
        out,
        "    const unsigned long long to = (unsigned long long)__double_as_longlong(n) << 52;\n"
        "    const double y = p * s * q * __longlong_as_double((long long)to);\n"
        "    return x < 0 ? 2.0 - y : y;\n");
}

void fc_cuda_erf_prelude(fc_str *out) {
    static void (*const write[])(fc_str *) = {erfc_of_f32, erfc_of_f64};
    for (int wide = 0; wide < 2; wide++) {
        const char *type = wide ? "double" : "float", *f = wide ? "" : "f";
        fc_str_printf(out,
                      "FC_INLINE %s fc_erfc%s(%s x) {\n"
                      "#if !defined(FC_EMULATE) && __CUDA_ARCH__ < 800\n"
                      "    return erfc%s(x);\n"
                      "#else\n",
                      type, f, type, f);
        write[wide](out);
        fc_str_add(out, "#endif\n}\n");
    }
}
