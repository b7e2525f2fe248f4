/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* eval_float.c - rows on blocks of f32 and f64 values. */
#include "ir/eval_rows.h"

#include <math.h>

#include "ir/eval.h"
#include "ir/far.h"

double fc_log10(double x) {
    return (double)log10l((long double)x);
}

float fc_exp10f(float x) {
    return (float)pow(10, (double)x);
}
double fc_exp10(double x) {
    return (double)powl(10, (long double)x);
}

/* lgamma leaves the sign in a global variable of the process; these do not. */
float fc_lgammaf(float x) {
    int sign;
    return lgammaf_r(x, &sign);
}
double fc_lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* libm's are off by many places at some large angles. */
double fc_sin(double x) {
    return fc_far_sin(x, sin(x));
}
double fc_cos(double x) {
    return fc_far_cos(x, cos(x));
}
double fc_tan(double x) {
    return fc_far_tan(x, tan(x));
}

/* glibc's of f32 is off by seven places; that of f64 is fast enough. */
float fc_tgammaf(float x) {
    return (float)tgamma((double)x);
}

/* Every nan counts as a quiet one: libm gives nan for a signalling nan to the power 0. */
#define QUIET(T, name)                                                                             \
    T fc_##name(T x, T y) {                                                                        \
        return name(isnan(x) ? (T)NAN : x, isnan(y) ? (T)NAN : y);                                 \
    }
QUIET(double, pow)
QUIET(float, powf)

/* In the next wider format nothing overflows and the root is all but exact. (glibc 2.35 has another
 * hypot than those before it: results would depend on it, and the library would not load there.) */
double fc_hypot(double x, double y) {
    if (isinf(x) || isinf(y)) return INFINITY;
    return (double)sqrtl((long double)x * x + (long double)y * y);
}
float fc_hypotf(float x, float y) {
    if (isinf(x) || isinf(y)) return INFINITY;
    return (float)sqrt((double)x * x + (double)y * y);
}

/* x 2^n; any n has a meaning here. */
#define SCALE(T, name, ldexp)                                                                      \
    T name(T x, T n) {                                                                             \
        return isnan(n) ? x + n : ldexp(x, n > 5000 ? 5000 : n < -5000 ? -5000 : (int)n);          \
    }
SCALE(double, fc_scale, ldexp)
SCALE(float, fc_scalef, ldexpf)

#define PICK(f, i) f

#define LOOPS   loops_f32
#define T       float
#define U       float
#define F(name) name##f
#include "ir/eval_loops.def"
#undef F
#define LOOPS   loops_f64
#define T       double
#define U       double
#define F(name) name
#include "ir/eval_loops.def"

void fc_eval_float(fc_op op, fusec_dtype t, size_t n, const void *a, const void *b, const void *c,
                   void *out) {
    if (t == FUSEC_F64)
        loops_f64(op, n, a, b, c, out);
    else
        loops_f32(op, n, a, b, c, out);
}
