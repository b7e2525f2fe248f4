/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle_range.c - the oracle's arithmetic on ranges. Rounding is monotone, so an operation on the
 * ends gives the ends of the result wherever the exact operation is monotone; where it is not, or
 * a pole or an invalid operation may be inside, the result is anything. */
#include "tests/support/oracle.h"

#include <math.h>

static const double INF = (double)INFINITY;

fc_interval fc_o_point(double v) {
    return (fc_interval){.lo = v, .hi = v, .exact = true};
}

fc_interval fc_o_anything(bool taint) {
    return (fc_interval){.lo = -INF, .hi = INF, .nan = true, .taint = taint};
}

static bool is_nan(fc_interval a) {
    return a.exact && isnan(a.lo);
}

/* Equal to the bit, or both nan. */
static bool same_point(fc_interval a, fc_interval b) {
    if (!a.exact || !b.exact) return false;
    return (isnan(a.lo) && isnan(b.lo)) || (a.lo == b.lo && !signbit(a.lo) == !signbit(b.lo));
}

fc_interval fc_o_union(fc_interval a, fc_interval b) {
    if (same_point(a, b)) return a;
    fc_interval r = {.taint = a.taint || b.taint};
    r.nan = a.nan || b.nan || is_nan(a) || is_nan(b);
    if (is_nan(a)) a = b;
    if (is_nan(b)) b = a;
    r.lo = a.lo < b.lo ? a.lo : b.lo;
    r.hi = a.hi > b.hi ? a.hi : b.hi;
    return r;
}

static double exact(fc_op op, bool wide, double a, double b, double c) {
    double r = (double)NAN;
    fc_o_float_op(op, wide, a, b, c, &r);
    return r;
}

/* The least range with all the values in it; a nan makes it anything. */
static fc_interval around(const double *v, int n) {
    fc_interval r = {.lo = v[0], .hi = v[0]};
    for (int i = 0; i < n; i++) {
        if (isnan(v[i])) return fc_o_anything(false);
        if (v[i] < r.lo) r.lo = v[i];
        if (v[i] > r.hi) r.hi = v[i];
    }
    return r;
}

static bool has_zero(fc_interval a) {
    return a.lo <= 0 && a.hi >= 0;
}

static bool has_inf(fc_interval a) {
    return isinf(a.lo) || isinf(a.hi);
}

/* ---- arithmetic: operands that are not both exact, and none of them nan for sure ------------- */

static fc_interval add(bool w, fc_interval a, fc_interval b) {
    if ((a.hi == INF && b.lo == -INF) || (a.lo == -INF && b.hi == INF)) return fc_o_anything(false);
    return (fc_interval){.lo = exact(FC_OP_add, w, a.lo, b.lo, 0),
                         .hi = exact(FC_OP_add, w, a.hi, b.hi, 0)};
}

static fc_interval flipped(fc_interval a) {
    fc_interval r = a;
    r.lo = -a.hi;
    r.hi = -a.lo;
    return r;
}

static fc_interval corners(fc_op op, bool w, fc_interval a, fc_interval b) {
    double v[4] = {exact(op, w, a.lo, b.lo, 0), exact(op, w, a.lo, b.hi, 0),
                   exact(op, w, a.hi, b.lo, 0), exact(op, w, a.hi, b.hi, 0)};
    return around(v, 4);
}

static fc_interval mul(bool w, fc_interval a, fc_interval b) {
    if ((has_zero(a) && has_inf(b)) || (has_zero(b) && has_inf(a))) return fc_o_anything(false);
    return corners(FC_OP_mul, w, a, b);
}

static fc_interval divide(bool w, fc_interval a, fc_interval b) {
    if (has_zero(b) || (has_inf(a) && has_inf(b))) return fc_o_anything(false);
    return corners(FC_OP_div, w, a, b);
}

static fc_interval fused(bool w, fc_interval a, fc_interval b, fc_interval c) {
    if (has_inf(a) || has_inf(b) || has_inf(c)) return fc_o_anything(false);
    double v[8];
    for (int i = 0; i < 8; i++)
        v[i] = exact(FC_OP_fma, w, i & 1 ? a.hi : a.lo, i & 2 ? b.hi : b.lo, i & 4 ? c.hi : c.lo);
    return around(v, 8);
}

static fc_interval ends(fc_op op, bool w, fc_interval a, fc_interval b) {
    return (fc_interval){.lo = exact(op, w, a.lo, b.lo, 0), .hi = exact(op, w, a.hi, b.hi, 0)};
}

static fc_interval absolute(fc_interval a) {
    fc_interval r = {.lo = has_zero(a) ? 0 : fmin(fabs(a.lo), fabs(a.hi)),
                     .hi = fmax(fabs(a.lo), fabs(a.hi))};
    return r;
}

/* ---- comparisons and tests ------------------------------------------------------------------- */

enum { NO, YES, MAYBE };

static int below(fc_interval a, fc_interval b, bool or_equal) {
    bool nan = a.nan || b.nan;
    if (or_equal ? a.hi <= b.lo : a.hi < b.lo) return nan ? MAYBE : YES;
    if (or_equal ? a.lo > b.hi : a.lo >= b.hi) return NO;
    return MAYBE;
}

static int equal(fc_interval a, fc_interval b) {
    if (a.hi < b.lo || b.hi < a.lo) return NO;
    bool single = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
    return single && !a.nan && !b.nan ? YES : MAYBE;
}

static int opposite(int answer) {
    return answer == MAYBE ? MAYBE : answer == YES ? NO : YES;
}

static int tested(fc_op op, fc_interval a, fc_interval b) {
    fc_interval top = fc_o_point(INF), size = absolute(a);
    size.nan = a.nan;
    switch (op) {
    case FC_OP_eq: return equal(a, b);
    case FC_OP_ne: return opposite(equal(a, b));
    case FC_OP_lt: return below(a, b, false);
    case FC_OP_le: return below(a, b, true);
    case FC_OP_gt: return below(b, a, false);
    case FC_OP_ge: return below(b, a, true);
    case FC_OP_signbit: return a.nan || has_zero(a) ? MAYBE : a.hi < 0 ? YES : NO;
    case FC_OP_isnan: return a.nan ? MAYBE : NO;
    case FC_OP_isinf: return equal(size, top);
    default: return below(size, top, false); /* isfinite */
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static fc_interval at(fc_op op, fusec_dtype t, double a, double b) {
    fc_interval r = fc_o_anything(false);
    fc_o_math(op, t, a, b, &r);
    return r;
}

static fc_interval monotone(fc_op op, const fc_o_shape *s, fusec_dtype t, fc_interval a) {
    bool outside = a.lo < s->from || a.hi > s->to;
    if (a.hi < s->from || a.lo > s->to) return fc_o_point((double)NAN);
    fc_interval x = at(op, t, fmax(a.lo, s->from), 0), y = at(op, t, fmin(a.hi, s->to), 0);
    if (is_nan(x) || is_nan(y)) return fc_o_anything(false);
    fc_interval r = fc_o_union(x, y);
    r.nan = r.nan || outside;
    r.exact = false;
    return r;
}

/* Sine and cosine move no faster than their argument. */
static fc_interval wave(fc_op op, fusec_dtype t, fc_interval a) {
    double width = a.hi - a.lo;
    if (!isfinite(width)) {
        fc_interval r = {.lo = -1, .hi = 1, .nan = a.lo == -INF || a.hi == INF};
        return r;
    }
    fc_interval r = at(op, t, a.lo, 0);
    r.lo = fc_o_round(t, fmax(-1, r.lo - 1.001 * width));
    r.hi = fc_o_round(t, fmin(1, r.hi + 1.001 * width));
    r.exact = false;
    return r;
}

static fc_interval of_corners(fc_op op, fusec_dtype t, fc_interval a, fc_interval b) {
    fc_interval r = at(op, t, a.lo, b.lo);
    r = fc_o_union(r, at(op, t, a.lo, b.hi));
    r = fc_o_union(r, at(op, t, a.hi, b.lo));
    r = fc_o_union(r, at(op, t, a.hi, b.hi));
    r.exact = false;
    return r;
}

static fc_interval function(fc_op op, fusec_dtype t, fc_interval a, fc_interval b) {
    const fc_o_shape *s = fc_o_shape_of(op);
    if (s && s->kind != FC_O_OTHER) return monotone(op, s, t, a);
    switch (op) {
    case FC_OP_sin:
    case FC_OP_cos: return wave(op, t, a);
    case FC_OP_tan:
        return a.lo > -1.57 && a.hi < 1.57 ? of_corners(op, t, a, b) : fc_o_anything(false);
    case FC_OP_cosh: a = absolute(a); return of_corners(op, t, a, a);
    case FC_OP_hypot: return of_corners(op, t, absolute(a), absolute(b));
    case FC_OP_rsqrt: return a.lo > 0 ? of_corners(op, t, a, a) : fc_o_anything(false);
    case FC_OP_logaddexp:
    case FC_OP_logaddexp2: return of_corners(op, t, a, b);
    case FC_OP_float_power:
    case FC_OP_pow: return a.lo > 0 ? of_corners(op, t, a, b) : fc_o_anything(false);
    case FC_OP_atan2: return b.lo > 0 ? of_corners(op, t, a, b) : fc_o_anything(false);
    default: return fc_o_anything(false); /* gamma functions */
    }
}

/* ---- one row --------------------------------------------------------------------------------- */

static fc_interval dropping_nan(fc_op op, bool w, fc_interval a, fc_interval b) {
    if (is_nan(a)) return b;
    if (is_nan(b)) return a;
    fc_interval r = ends(op == FC_OP_fmin ? FC_OP_minimum : FC_OP_maximum, w, a, b);
    fc_interval plain_a = a, plain_b = b;
    plain_a.nan = plain_b.nan = false;
    if (a.nan) r = fc_o_union(r, plain_b);
    if (b.nan) r = fc_o_union(r, plain_a);
    r.exact = false;
    r.nan = a.nan && b.nan;
    return r;
}

static fc_interval with_sign(fc_interval a, fc_interval b) {
    fc_interval size = is_nan(a) ? a : absolute(a), minus = flipped(size);
    if (is_nan(a)) return a;
    bool unknown = b.nan || is_nan(b) || (!b.exact && has_zero(b));
    if (a.exact) size = fc_o_point(size.lo), minus = fc_o_point(minus.lo);
    size.nan = minus.nan = a.nan;
    if (!unknown) return signbit(b.hi) ? minus : size;
    fc_interval r = fc_o_union(size, minus);
    r.taint = r.taint || is_nan(b) || b.nan;
    return r;
}

static fc_interval steps(fc_op op, fusec_dtype t, fc_interval a, fc_interval b, fc_interval c) {
    bool w = t == FUSEC_F64;
    switch (op) {
    case FC_OP_add: return add(w, a, b);
    case FC_OP_sub: return add(w, a, flipped(b));
    case FC_OP_mul: return mul(w, a, b);
    case FC_OP_div: return divide(w, a, b);
    case FC_OP_square: return mul(w, a, a);
    case FC_OP_reciprocal: return divide(w, fc_o_point(1), a);
    case FC_OP_positive: return a;
    case FC_OP_lerp: return fc_o_add(w, a, fc_o_mul(w, c, fc_o_sub(w, b, a)));
    case FC_OP_fma: return fused(w, a, b, c);
    case FC_OP_minimum:
    case FC_OP_maximum: return ends(op, w, a, b);
    case FC_OP_clip: return fc_o_minmax(false, fc_o_minmax(true, a, b), c);
    case FC_OP_relu: return fc_o_minmax(true, a, fc_o_point(0));
    case FC_OP_neg: return flipped(a);
    case FC_OP_abs: return absolute(a);
    case FC_OP_sign:
    case FC_OP_floor:
    case FC_OP_ceil:
    case FC_OP_trunc:
    case FC_OP_round: return ends(op, w, a, a);
    case FC_OP_sqrt: return fc_o_sqrt(w, a);
    case FC_OP_mod:
    case FC_OP_fmod:
    case FC_OP_floordiv: return fc_o_anything(false);
    default: return function(op, t, a, b);
    }
}

static bool is_test(fc_op op) {
    return fc_ops[op].rule == FC_RULE_COMPARE || fc_ops[op].rule == FC_RULE_TEST;
}

/* Rows that need not give nan for one. */
static bool takes_nan(fc_op op) {
    return op == FC_OP_fmin || op == FC_OP_fmax || op == FC_OP_pow || op == FC_OP_hypot ||
           op == FC_OP_copysign || op == FC_OP_float_power || op == FC_OP_heaviside ||
           op == FC_OP_exponent || is_test(op);
}

static fc_interval inexact_row(fc_op op, fusec_dtype t, fc_interval a, fc_interval b,
                               fc_interval c) {
    if (op == FC_OP_fmin || op == FC_OP_fmax) return dropping_nan(op, t == FUSEC_F64, a, b);
    if (op == FC_OP_copysign) return with_sign(a, b);
    if (is_nan(a) || is_nan(b) || is_nan(c)) {
        if (op == FC_OP_ne) return fc_o_point(1);
        if (op == FC_OP_signbit) return fc_o_anything(true);
        if (is_test(op)) return fc_o_point(op == FC_OP_isnan);
        return takes_nan(op) ? fc_o_anything(false) : fc_o_point((double)NAN);
    }
    if (is_test(op)) {
        int answer = tested(op, a, b);
        return answer == MAYBE ? fc_o_anything(false) : fc_o_point(answer == YES);
    }
    fc_interval r = steps(op, t, a, b, c);
    if (takes_nan(op) && (a.nan || b.nan)) return fc_o_anything(false);
    r.nan = r.nan || ((a.nan || b.nan || c.nan) && !is_nan(r));
    if (r.nan && r.exact) r.exact = false;
    return r;
}

fc_interval fc_o_to(fusec_dtype t, fc_interval a) {
    a.lo = fc_o_round(t, a.lo);
    a.hi = fc_o_round(t, a.hi);
    return a;
}

fc_interval fc_o_apply(fc_op op, fusec_dtype t, fc_interval a, fc_interval b, fc_interval c) {
    int n = fc_ops[op].arity;
    if (n < 2) b = fc_o_point(1);
    if (n < 3) c = fc_o_point(1);
    fusec_dtype w = fc_dtypes[t].compute;
    fc_interval r = fc_o_anything(false);
    double v;
    bool points = a.exact && b.exact && c.exact;
    bool nan_sign =
        (op == FC_OP_copysign && is_nan(b) && !is_nan(a)) || (op == FC_OP_signbit && is_nan(a));
    if (points && !nan_sign && fc_o_float_op(op, w == FUSEC_F64, a.lo, b.lo, c.lo, &v))
        r = fc_o_point(v);
    else if (points && !nan_sign)
        fc_o_math(op, t, a.lo, b.lo, &r);
    else
        r = inexact_row(op, fc_ops[op].flags & FC_F_TRANSCENDENTAL || op == FC_OP_rsqrt ? t : w, a,
                        b, c);
    if (!is_test(op)) r = fc_o_to(t, r);
    r.taint = !r.exact && (r.taint || a.taint || b.taint || c.taint);
    return r;
}

/* ---- what reductions are made of: in f32 or f64 ---------------------------------------------- */

/* The way of almost all elements. */
#define STEP(name, op)                                                                             \
    fc_interval fc_o_##name(bool w, fc_interval a, fc_interval b) {                                \
        if (a.exact && b.exact)                                                                    \
            return fc_o_point(w ? a.lo op b.lo : (double)((float)a.lo op(float) b.lo));            \
        return fc_o_apply(FC_OP_##name, w ? FUSEC_F64 : FUSEC_F32, a, b, b);                       \
    }

STEP(add, +)
STEP(sub, -)
STEP(mul, *)
STEP(div, /)

fc_interval fc_o_minmax(bool max, fc_interval a, fc_interval b) {
    return fc_o_apply(max ? FC_OP_maximum : FC_OP_minimum, FUSEC_F64, a, b, b);
}
fc_interval fc_o_sqrt(bool w, fc_interval a) {
    if (a.exact) return fc_o_apply(FC_OP_sqrt, w ? FUSEC_F64 : FUSEC_F32, a, a, a);
    if (a.hi < 0) return a.nan ? fc_o_anything(a.taint) : fc_o_point((double)NAN);
    fc_interval r = {.lo = a.lo <= 0 ? 0 : exact(FC_OP_sqrt, w, a.lo, 0, 0),
                     .hi = exact(FC_OP_sqrt, w, a.hi, 0, 0),
                     .nan = a.nan || a.lo < 0,
                     .taint = a.taint};
    return r;
}
