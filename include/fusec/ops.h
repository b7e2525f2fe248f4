/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ops.h - the elementwise operations and reductions, one function each. Part of fusec.h.
 *
 * Made from ir/ops.def by fusec_gen; change it there. Operands are broadcast to one shape (axes align
 * from the right, only the constant size 1 stretches) and have one dtype; numbers take it.
 *
 * Reductions go over `naxes` axes, negative ones count from the end; naxes 0 and axes NULL mean all.
 * keepdims keeps the reduced axes with size 1. */
#ifndef FUSEC_OPS_H
#define FUSEC_OPS_H

#include <fusec/fusec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

/* arithmetic */
FUSEC_API fusec_value fusec_add(fusec_value x, fusec_value y);                           /* x + y; integers wrap */
FUSEC_API fusec_value fusec_sub(fusec_value x, fusec_value y);                           /* x - y; integers wrap */
FUSEC_API fusec_value fusec_mul(fusec_value x, fusec_value y);                           /* x * y; integers wrap */
FUSEC_API fusec_value fusec_div(fusec_value x, fusec_value y);                           /* x / y by IEEE 754; integers become the default float first */
FUSEC_API fusec_value fusec_floordiv(fusec_value x, fusec_value y);                      /* x // y rounded down; integer x // 0 is 0, MIN // -1 is MIN */
FUSEC_API fusec_value fusec_mod(fusec_value x, fusec_value y);                           /* x % y with the sign of y; integer x % 0 is 0 */
FUSEC_API fusec_value fusec_fmod(fusec_value x, fusec_value y);                          /* remainder with the sign of x, as in C; integer fmod(x, 0) is 0 */
FUSEC_API fusec_value fusec_neg(fusec_value x);                                          /* -x; integers wrap */
FUSEC_API fusec_value fusec_abs(fusec_value x);                                          /* absolute value; abs(MIN) is MIN */
FUSEC_API fusec_value fusec_sign(fusec_value x);                                         /* -1, 0 or 1; sign(-0) is +0, sign(nan) is nan */
FUSEC_API fusec_value fusec_positive(fusec_value x);                                     /* x as it is */
FUSEC_API fusec_value fusec_reciprocal(fusec_value x);                                   /* 1/x; integers become the default float first */
FUSEC_API fusec_value fusec_square(fusec_value x);                                       /* x*x; integers wrap */
FUSEC_API fusec_value fusec_copysign(fusec_value x, fusec_value y);                      /* the magnitude of x with the sign of y */
FUSEC_API fusec_value fusec_fma(fusec_value x, fusec_value y, fusec_value z);            /* x*y + z with one rounding */
FUSEC_API fusec_value fusec_lerp(fusec_value x, fusec_value y, fusec_value z);           /* x + z*(y - x) */
FUSEC_API fusec_value fusec_mulhi(fusec_value x, fusec_value y);                         /* the upper half of x*y, which has twice the bits */
FUSEC_API fusec_value fusec_gcd(fusec_value x, fusec_value y);                           /* greatest common divisor, not negative; gcd(0, 0) is 0 */
FUSEC_API fusec_value fusec_lcm(fusec_value x, fusec_value y);                           /* least common multiple, not negative as long as it does not wrap; lcm(0, x) is 0 */

/* smaller, larger */
FUSEC_API fusec_value fusec_minimum(fusec_value x, fusec_value y);                       /* the smaller of x and y; nan wins, -0 is below +0 */
FUSEC_API fusec_value fusec_maximum(fusec_value x, fusec_value y);                       /* the larger of x and y; nan wins, +0 is above -0 */
FUSEC_API fusec_value fusec_fmin(fusec_value x, fusec_value y);                          /* the smaller of x and y; a nan is dropped */
FUSEC_API fusec_value fusec_fmax(fusec_value x, fusec_value y);                          /* the larger of x and y; a nan is dropped */
FUSEC_API fusec_value fusec_clip(fusec_value x, fusec_value y, fusec_value z);           /* minimum(maximum(x, lo), hi) */
FUSEC_API fusec_value fusec_relu(fusec_value x);                                         /* maximum(x, 0) */
FUSEC_API fusec_value fusec_heaviside(fusec_value x, fusec_value y);                     /* 0 where x < 0, 1 where x > 0, y at 0; nan at nan */

/* rounding */
FUSEC_API fusec_value fusec_floor(fusec_value x);                                        /* rounded down */
FUSEC_API fusec_value fusec_ceil(fusec_value x);                                         /* rounded up */
FUSEC_API fusec_value fusec_trunc(fusec_value x);                                        /* rounded toward zero */
FUSEC_API fusec_value fusec_round(fusec_value x);                                        /* rounded to the nearest integer, half to even */

/* powers, exponentials, logarithms */
FUSEC_API fusec_value fusec_sqrt(fusec_value x);                                         /* square root; sqrt(x < 0) is nan */
FUSEC_API fusec_value fusec_rsqrt(fusec_value x);                                        /* 1/sqrt(x); rsqrt(+-0) is +-inf */
FUSEC_API fusec_value fusec_cbrt(fusec_value x);                                         /* cube root */
FUSEC_API fusec_value fusec_exp(fusec_value x);                                          /* e to the power x */
FUSEC_API fusec_value fusec_exp2(fusec_value x);                                         /* 2 to the power x */
FUSEC_API fusec_value fusec_exp10(fusec_value x);                                        /* 10 to the power x */
FUSEC_API fusec_value fusec_expm1(fusec_value x);                                        /* exp(x) - 1, accurate near 0 */
FUSEC_API fusec_value fusec_log(fusec_value x);                                          /* natural logarithm; log(+-0) is -inf, log(x < 0) is nan */
FUSEC_API fusec_value fusec_log2(fusec_value x);                                         /* logarithm to base 2 */
FUSEC_API fusec_value fusec_log10(fusec_value x);                                        /* logarithm to base 10 */
FUSEC_API fusec_value fusec_log1p(fusec_value x);                                        /* log(1 + x), accurate near 0 */
FUSEC_API fusec_value fusec_pow(fusec_value x, fusec_value y);                           /* x to the power y; integers wrap, 0 ** 0 is 1, x ** -n is 1/x**n truncated */
FUSEC_API fusec_value fusec_float_power(fusec_value x, fusec_value y);                   /* pow; integers become the default float first */
FUSEC_API fusec_value fusec_logaddexp(fusec_value x, fusec_value y);                     /* log(exp(x) + exp(y)) without overflow; near 0 the error is that of the larger operand */
FUSEC_API fusec_value fusec_logaddexp2(fusec_value x, fusec_value y);                    /* log2(2**x + 2**y), alike */
FUSEC_API fusec_value fusec_mantissa(fusec_value x);                                     /* m of x = m * 2**exponent(x) with |m| in [0.5, 1); zeros, infinities and nan as they are */
FUSEC_API fusec_value fusec_exponent(fusec_value x);                                     /* the whole number e of x = mantissa(x) * 2**e; 0 of zeros, infinities and nan */
FUSEC_API fusec_value fusec_ldexp(fusec_value x, fusec_value y);                         /* x * 2**y, rounded once; y is rounded toward zero */
FUSEC_API fusec_value fusec_hypot(fusec_value x, fusec_value y);                         /* sqrt(x*x + y*y) without overflow */

/* trigonometry (angles in radians) */
FUSEC_API fusec_value fusec_sin(fusec_value x);                                          /* sine */
FUSEC_API fusec_value fusec_cos(fusec_value x);                                          /* cosine */
FUSEC_API fusec_value fusec_tan(fusec_value x);                                          /* tangent */
FUSEC_API fusec_value fusec_asin(fusec_value x);                                         /* arc sine, in [-pi/2, pi/2] */
FUSEC_API fusec_value fusec_acos(fusec_value x);                                         /* arc cosine, in [0, pi] */
FUSEC_API fusec_value fusec_atan(fusec_value x);                                         /* arc tangent, in [-pi/2, pi/2] */
FUSEC_API fusec_value fusec_atan2(fusec_value x, fusec_value y);                         /* the angle of the point (y, x), in [-pi, pi] */
FUSEC_API fusec_value fusec_deg2rad(fusec_value x);                                      /* degrees to radians */
FUSEC_API fusec_value fusec_rad2deg(fusec_value x);                                      /* radians to degrees */
FUSEC_API fusec_value fusec_sinh(fusec_value x);                                         /* hyperbolic sine */
FUSEC_API fusec_value fusec_cosh(fusec_value x);                                         /* hyperbolic cosine */
FUSEC_API fusec_value fusec_tanh(fusec_value x);                                         /* hyperbolic tangent */
FUSEC_API fusec_value fusec_asinh(fusec_value x);                                        /* inverse hyperbolic sine */
FUSEC_API fusec_value fusec_acosh(fusec_value x);                                        /* inverse hyperbolic cosine; acosh(x < 1) is nan */
FUSEC_API fusec_value fusec_atanh(fusec_value x);                                        /* inverse hyperbolic tangent; atanh(+-1) is +-inf */

/* special functions */
FUSEC_API fusec_value fusec_erf(fusec_value x);                                          /* error function */
FUSEC_API fusec_value fusec_erfc(fusec_value x);                                         /* 1 - erf(x), accurate for large x */
FUSEC_API fusec_value fusec_lgamma(fusec_value x);                                       /* logarithm of |gamma(x)| */
FUSEC_API fusec_value fusec_tgamma(fusec_value x);                                       /* gamma function */
FUSEC_API fusec_value fusec_sigmoid(fusec_value x);                                      /* 1/(1 + exp(-x)) */
FUSEC_API fusec_value fusec_softplus(fusec_value x);                                     /* log(1 + exp(x)) without overflow */
FUSEC_API fusec_value fusec_sinc(fusec_value x);                                         /* sin(pi*x)/(pi*x), 1 at 0, 0 at other whole numbers and infinities */

/* comparisons and tests */
FUSEC_API fusec_value fusec_eq(fusec_value x, fusec_value y);                            /* x == y; false when either is nan */
FUSEC_API fusec_value fusec_ne(fusec_value x, fusec_value y);                            /* x != y; true when either is nan */
FUSEC_API fusec_value fusec_lt(fusec_value x, fusec_value y);                            /* x < y; false when either is nan */
FUSEC_API fusec_value fusec_le(fusec_value x, fusec_value y);                            /* x <= y; false when either is nan */
FUSEC_API fusec_value fusec_gt(fusec_value x, fusec_value y);                            /* x > y; false when either is nan */
FUSEC_API fusec_value fusec_ge(fusec_value x, fusec_value y);                            /* x >= y; false when either is nan */
FUSEC_API fusec_value fusec_isnan(fusec_value x);                                        /* is x a nan */
FUSEC_API fusec_value fusec_isinf(fusec_value x);                                        /* is x +inf or -inf */
FUSEC_API fusec_value fusec_isfinite(fusec_value x);                                     /* is x neither nan nor inf */
FUSEC_API fusec_value fusec_signbit(fusec_value x);                                      /* is the sign of x minus; true of -0 */

/* logic and bits */
FUSEC_API fusec_value fusec_logical_and(fusec_value x, fusec_value y);                   /* both */
FUSEC_API fusec_value fusec_logical_or(fusec_value x, fusec_value y);                    /* at least one */
FUSEC_API fusec_value fusec_logical_not(fusec_value x);                                  /* not x */
FUSEC_API fusec_value fusec_logical_xor(fusec_value x, fusec_value y);                   /* exactly one */
FUSEC_API fusec_value fusec_bit_and(fusec_value x, fusec_value y);                       /* x & y */
FUSEC_API fusec_value fusec_bit_or(fusec_value x, fusec_value y);                        /* x | y */
FUSEC_API fusec_value fusec_bit_xor(fusec_value x, fusec_value y);                       /* x ^ y */
FUSEC_API fusec_value fusec_bit_not(fusec_value x);                                      /* ~x */
FUSEC_API fusec_value fusec_shl(fusec_value x, fusec_value y);                           /* x << y; 0 when y is negative or at least the width */
FUSEC_API fusec_value fusec_shr(fusec_value x, fusec_value y);                           /* x >> y; the sign when y is negative or at least the width */
FUSEC_API fusec_value fusec_bitwise_count(fusec_value x);                                /* number of ones in the absolute value of x */

/* what random numbers are made of */
FUSEC_API fusec_value fusec_philox(fusec_value x, fusec_value y, fusec_value z);         /* draw x of 64 bits of Philox4x32-10 with seed y and stream z, cut to the dtype */
FUSEC_API fusec_value fusec_box_muller(fusec_value x, fusec_value y);                    /* sqrt(-2 log(x)) * cos(2 pi y), the same bits everywhere */

/* choice */
FUSEC_API fusec_value fusec_where(fusec_value x, fusec_value y, fusec_value z);          /* y where x is true, else z */

/* reductions */
FUSEC_API fusec_value fusec_sum(fusec_value x, int naxes, const int *axes, int keepdims); /* sum; integers and bool to i64, unsigned to u64 */
FUSEC_API fusec_value fusec_prod(fusec_value x, int naxes, const int *axes, int keepdims); /* product */
FUSEC_API fusec_value fusec_min(fusec_value x, int naxes, const int *axes, int keepdims); /* smallest element; nan wins */
FUSEC_API fusec_value fusec_max(fusec_value x, int naxes, const int *axes, int keepdims); /* largest element; nan wins */
FUSEC_API fusec_value fusec_any(fusec_value x, int naxes, const int *axes, int keepdims); /* is any element true */
FUSEC_API fusec_value fusec_all(fusec_value x, int naxes, const int *axes, int keepdims); /* are all elements true */
FUSEC_API fusec_value fusec_argmin(fusec_value x, int naxes, const int *axes, int keepdims); /* index of the first smallest element, or of the first nan */
FUSEC_API fusec_value fusec_argmax(fusec_value x, int naxes, const int *axes, int keepdims); /* index of the first largest element, or of the first nan */
FUSEC_API fusec_value fusec_mean(fusec_value x, int naxes, const int *axes, int keepdims); /* arithmetic mean; of no elements nan */
FUSEC_API fusec_value fusec_var(fusec_value x, int naxes, const int *axes, int keepdims); /* variance, divided by n */
FUSEC_API fusec_value fusec_std(fusec_value x, int naxes, const int *axes, int keepdims); /* standard deviation, divided by n */
FUSEC_API fusec_value fusec_logsumexp(fusec_value x, int naxes, const int *axes, int keepdims); /* log(sum(exp(x))) without overflow */

/* made of several operations; results after the operands */
FUSEC_API fusec_value fusec_complex(fusec_value x, fusec_value y);                       /* x + iy of two real numbers: c64, c128 where they are f64 */
FUSEC_API fusec_value fusec_real(fusec_value x);                                         /* real part of a complex number; a real number as it is */
FUSEC_API fusec_value fusec_imag(fusec_value x);                                         /* imaginary part; of a real number 0 */
FUSEC_API fusec_value fusec_conj(fusec_value x);                                         /* the number with the opposite imaginary part; a real number as it is */
FUSEC_API fusec_value fusec_angle(fusec_value x);                                        /* atan2(imag, real): the angle of a complex number, in [-pi, pi]; of a real number 0 or pi */
FUSEC_API fusec_value fusec_digamma(fusec_value x);                                      /* derivative of lgamma; nan at negative integers */
FUSEC_API void fusec_divmod(fusec_value x, fusec_value y, fusec_value *first, fusec_value *second); /* x // y and x % y */
FUSEC_API void fusec_modf(fusec_value x, fusec_value *first, fusec_value *second); /* fraction and whole part, both with the sign of x */
FUSEC_API void fusec_frexp(fusec_value x, fusec_value *first, fusec_value *second); /* m and e of x = m * 2**e with |m| in [0.5, 1); e is i32, and 0 for zeros, infinities and nan */
FUSEC_API fusec_value fusec_nextafter(fusec_value x, fusec_value y);                     /* the number of the dtype next to x on the way to y */
FUSEC_API fusec_value fusec_spacing(fusec_value x);                                      /* distance from x to the next number away from 0, with the sign of x; nan at infinities */
FUSEC_API fusec_value fusec_count_nonzero(fusec_value x, int naxes, const int *axes, int keepdims); /* number of elements that are not 0, i64; nan counts */
FUSEC_API fusec_value fusec_norm(fusec_value x, double ord, int naxes, const int *axes, int keepdims); /* vector norm: sum(abs(x)**ord)**(1/ord); inf and -inf the largest and smallest size, 0 how many are not 0 */
FUSEC_API fusec_value fusec_variance(fusec_value x, double correction, int naxes, const int *axes, int keepdims); /* squared deviations from the mean, divided by n - correction, or nan and inf where that is not positive */
FUSEC_API fusec_value fusec_deviation(fusec_value x, double correction, int naxes, const int *axes, int keepdims); /* square root of variance */
FUSEC_API fusec_value fusec_nansum(fusec_value x, int naxes, const int *axes, int keepdims); /* sum without nans */
FUSEC_API fusec_value fusec_nanprod(fusec_value x, int naxes, const int *axes, int keepdims); /* product without nans */
FUSEC_API fusec_value fusec_nanmin(fusec_value x, int naxes, const int *axes, int keepdims); /* smallest element that is no nan; nan if there is none */
FUSEC_API fusec_value fusec_nanmax(fusec_value x, int naxes, const int *axes, int keepdims); /* largest element that is no nan; nan if there is none */
FUSEC_API fusec_value fusec_nanmean(fusec_value x, int naxes, const int *axes, int keepdims); /* mean of the elements that are no nan; nan if there is none */
FUSEC_API fusec_value fusec_nanvar(fusec_value x, double correction, int naxes, const int *axes, int keepdims); /* variance of the elements that are no nan */
FUSEC_API fusec_value fusec_nanstd(fusec_value x, double correction, int naxes, const int *axes, int keepdims); /* deviation of the elements that are no nan */

/* The names with 1, 2 and 3 operands and the reductions, for tables and bindings: X(name) for each. */
#define FUSEC_OPS_UNARY(X) X(neg) X(abs) X(sign) X(positive) X(reciprocal) X(square) X(relu) X(floor) X(ceil) X(trunc) X(round) X(sqrt) X(rsqrt) X(cbrt) X(exp) X(exp2) X(exp10) X(expm1) X(log) X(log2) X(log10) X(log1p) X(mantissa) X(exponent) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(deg2rad) X(rad2deg) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc) X(lgamma) X(tgamma) X(sigmoid) X(softplus) X(sinc) X(isnan) X(isinf) X(isfinite) X(signbit) X(logical_not) X(bit_not) X(bitwise_count)
#define FUSEC_OPS_BINARY(X) X(add) X(sub) X(mul) X(div) X(floordiv) X(mod) X(fmod) X(copysign) X(mulhi) X(gcd) X(lcm) X(minimum) X(maximum) X(fmin) X(fmax) X(heaviside) X(pow) X(float_power) X(logaddexp) X(logaddexp2) X(ldexp) X(hypot) X(atan2) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(logical_and) X(logical_or) X(logical_xor) X(bit_and) X(bit_or) X(bit_xor) X(shl) X(shr) X(box_muller)
#define FUSEC_OPS_TERNARY(X) X(fma) X(lerp) X(clip) X(philox) X(where)
#define FUSEC_OPS_REDUCTIONS(X) X(sum) X(prod) X(min) X(max) X(any) X(all) X(argmin) X(argmax) X(mean) X(var) X(std)
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
