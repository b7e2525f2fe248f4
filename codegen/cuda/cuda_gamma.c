/* cuda_gamma.c - lgamma of f32 where CUDA's own loses its digits.
 *
 * In: nothing. Out: fc_lgammaf and fc_lgamma for the text of a kernel.
 *
 * From -2.2 down lgamma goes through zero twice between any two poles, and near the zeros CUDA's is
 * off by some 1e-6, which is all of it. There (down to -14; from -10 on floats are too far apart to
 * come near a zero) it is computed in f64: 1/gamma is a polynomial on [1, 2], and an argument n
 * below needs n factors, none of which is rounded. It stands apart, once in a text, as it is rarely
 * wanted. */
#include "codegen/cuda/cuda.h"
#include "codegen/cuda/cuda_gamma_data.h"

void fc_cuda_gamma_prelude(fc_str *out) {
    fc_str_add(out, "#ifndef FC_EMULATE\n"
                    "__device__ __noinline__\n"
                    "#endif\n"
                    "static float fc_lgamma_below(float a) {\n");
    fc_str_printf(out, "    const double c[] = {%s};\n", reciprocal_gamma);
    fc_str_add(out, "    const int last = (int)(sizeof c / sizeof *c) - 1;\n"
                    "    double x = a, p = 1, r = c[last];\n"
                    "    for (; x < 1; x += 1) p *= x;\n"
                    "#pragma unroll\n"
                    "    for (int i = last - 1; i >= 0; i--) r = fma(r, x - 1.5, c[i]);\n"
                    "    return (float)-log(fabs(p * r));\n"
                    "}\n"
                    "FC_INLINE float fc_lgammaf(float x) {\n"
                    "    return x < -2.2f && x > -14.0f ? fc_lgamma_below(x) : lgammaf(x);\n"
                    "}\n"
                    "FC_INLINE double fc_lgamma(double x) { return lgamma(x); }\n");
}
