/* kernel_symbols.c - see kernel_symbols.h. The rows must stay in the order of strcmp. */
#include "runtime/compile/kernel_symbols.h"

#include <math.h>

#include "ir/eval.h"
#include "ir/far.h"

/* lgamma leaves the sign in a global variable of the process; these do not. */
static double lgamma_quiet(double x) {
    int sign;
    return lgamma_r(x, &sign);
}
static float lgammaf_quiet(float x) {
    int sign;
    return lgammaf_r(x, &sign);
}

#define F(name)                                                                                    \
    { #name, (fc_fn)name }
/* clang-format off */
const fc_symbol fc_kernel_symbols[] = {
    F(acos), F(acosf), F(acosh), F(acoshf), F(asin), F(asinf), F(asinh), F(asinhf), F(atan),
    F(atan2), F(atan2f), F(atanf), F(atanh), F(atanhf), F(cbrt), F(cbrtf), F(ceil), F(ceilf),
    F(copysign), F(copysignf), {"cos", (fc_fn)fc_cos}, F(cosf), F(cosh), F(coshf), F(erf), F(erfc),
    F(erfcf), F(erff), F(exp), F(exp10), F(exp10f), F(exp2), F(exp2f), F(expf), F(expm1), F(expm1f),
    F(fabs), F(fabsf), F(fc_far_cos), F(fc_far_cosf), F(fc_far_lanes), F(fc_far_lanesf), F(fc_far_sin),
    F(fc_far_sinf), F(fc_far_tan), F(fc_far_tanf), F(floor), F(floorf), F(fma), F(fmaf), F(fmax), F(fmaxf), F(fmin), F(fminf),
    F(fmod), F(fmodf), {"hypot", (fc_fn)fc_hypot}, {"hypotf", (fc_fn)fc_hypotf}, F(ldexp),
    F(ldexpf), {"lgamma", (fc_fn)lgamma_quiet}, {"lgammaf", (fc_fn)lgammaf_quiet}, F(log),
    {"log10", (fc_fn)fc_log10}, F(log10f), F(log1p), F(log1pf), F(log2), F(log2f), F(logf),
    F(memcpy), F(memmove), F(memset), F(modf), F(modff), F(nearbyint), F(nearbyintf), F(nextafter),
    F(nextafterf), {"pow", (fc_fn)fc_pow}, {"powf", (fc_fn)fc_powf}, F(remainder), F(remainderf),
    F(rint), F(rintf), F(round), F(roundeven), F(roundevenf), F(roundf), {"sin", (fc_fn)fc_sin},
    F(sincos), F(sincosf), F(sinf), F(sinh), F(sinhf), F(sqrt), F(sqrtf), {"tan", (fc_fn)fc_tan},
    F(tanf), F(tanh), F(tanhf), F(tgamma), {"tgammaf", (fc_fn)fc_tgammaf}, F(trunc), F(truncf),
};
/* clang-format on */
const size_t fc_kernel_symbols_count = FC_COUNT(fc_kernel_symbols);
