/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* complex_functions.c - what the rows of complex.def compute of the parts.
 *
 * In: parts of one dtype. Out: parts. Special values are those of C99 Annex G, but for products and
 * quotients, which are the plain formulas of NumPy. Where real functions of f32 would add up to
 * more than 4 ulp, c64 computes in f64 and rounds; the formulas are those for f64. */
#include <math.h>

#include "ir/code.h"
#include "ir/complex.h"

#define LN2 0.6931471805599453

/* ---- short forms ----------------------------------------------------------------------------- */

#define ADD(a, b)      fc_op2(g, FC_OP_add, a, b)
#define SUB(a, b)      fc_op2(g, FC_OP_sub, a, b)
#define MUL(a, b)      fc_op2(g, FC_OP_mul, a, b)
#define DIV(a, b)      fc_op2(g, FC_OP_div, a, b)
#define ABS(a)         fc_op1(g, FC_OP_abs, a)
#define NEG(a)         fc_op1(g, FC_OP_neg, a)
#define SQRT(a)        fc_op1(g, FC_OP_sqrt, a)
#define EXP(a)         fc_op1(g, FC_OP_exp, a)
#define LOG(a)         fc_op1(g, FC_OP_log, a)
#define SIN(a)         fc_op1(g, FC_OP_sin, a)
#define COS(a)         fc_op1(g, FC_OP_cos, a)
#define WHERE(c, a, b) fc_where(g, c, a, b)
#define LT(a, b)       fc_op2(g, FC_OP_lt, a, b)
#define GT(a, b)       fc_op2(g, FC_OP_gt, a, b)
#define GE(a, b)       fc_op2(g, FC_OP_ge, a, b)
#define EQ(a, b)       fc_op2(g, FC_OP_eq, a, b)
#define AND(a, b)      fc_op2(g, FC_OP_logical_and, a, b)
#define OR(a, b)       fc_op2(g, FC_OP_logical_or, a, b)
#define ISINF(a)       fc_op1(g, FC_OP_isinf, a)
#define FINITE(a)      fc_op1(g, FC_OP_isfinite, a)
#define SIGNED(a, b)   fc_op2(g, FC_OP_copysign, a, b)

static fusec_dtype dtype_of(const fc_graph *g, fc_node n) {
    return fc_usable(g, n) ? (fusec_dtype)fc_at(g, n)->dtype : FUSEC_F64;
}
static fc_node number(fc_graph *g, fc_node like, double v) {
    return fc_build_number(g, dtype_of(g, like), v);
}
#define N(v) number(g, x.re, v)

static bool is_number(const fc_graph *g, fc_node n, double v) {
    return fc_usable(g, n) && fc_at(g, n)->op == FC_OP_CONST &&
           fc_const_is(dtype_of(g, n), fc_at(g, n)->attr, v);
}

static fc_parts real(fc_node n) {
    return (fc_parts){n, FC_NONODE};
}

/* c64 computes in f64. */
static fc_parts widened(fc_graph *g, fc_parts x) {
    x.re = fc_build_cast(g, x.re, FUSEC_F64);
    x.im = fc_build_cast(g, x.im, FUSEC_F64);
    return x;
}
static fc_parts narrowed(fc_graph *g, fc_parts x, fusec_dtype t) {
    x.re = fc_build_cast(g, x.re, t);
    x.im = fc_build_cast(g, x.im, t);
    return x;
}

typedef fc_parts function(fc_graph *g, fc_parts x);
static fc_parts in_f64(fc_graph *g, fc_parts x, function *f) {
    const fusec_dtype t = dtype_of(g, x.re);
    return narrowed(g, f(g, widened(g, x)), t);
}

/* i x and -i x: f(x) = -i h(i x) or i h(-i x) for the pairs sin and sinh, tan and tanh and so on.
 */
static fc_parts times_i(fc_graph *g, fc_parts x) {
    return (fc_parts){NEG(x.im), x.re};
}
static fc_parts times_minus_i(fc_graph *g, fc_parts x) {
    return (fc_parts){x.im, NEG(x.re)};
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

fc_parts fc_z_add(fc_graph *g, fc_parts x, fc_parts y) {
    const fc_node re = ADD(x.re, y.re);
    if (fc_is_real_pair(g, y)) return (fc_parts){re, x.im};
    if (fc_is_real_pair(g, x)) return (fc_parts){re, y.im};
    return (fc_parts){re, ADD(x.im, y.im)};
}

fc_parts fc_z_sub(fc_graph *g, fc_parts x, fc_parts y) {
    const fc_node re = SUB(x.re, y.re);
    if (fc_is_real_pair(g, y)) return (fc_parts){re, x.im};
    if (fc_is_real_pair(g, x)) return (fc_parts){re, NEG(y.im)};
    return (fc_parts){re, SUB(x.im, y.im)};
}

static fc_parts scaled(fc_graph *g, fc_parts x, fc_node by) {
    const fc_node re = MUL(x.re, by);
    return (fc_parts){re, fc_is_real_pair(g, x) ? x.im : MUL(x.im, by)};
}

fc_parts fc_z_mul(fc_graph *g, fc_parts x, fc_parts y) {
    if (fc_is_real_pair(g, y)) return scaled(g, x, y.re);
    if (fc_is_real_pair(g, x)) return scaled(g, y, x.re);
    const fc_node ac = MUL(x.re, y.re), bd = MUL(x.im, y.im);
    const fc_node ad = MUL(x.re, y.im), bc = MUL(x.im, y.re);
    return (fc_parts){SUB(ac, bd), ADD(ad, bc)};
}

/* Smith's method: the smaller part of the divisor is divided by the larger one. */
fc_parts fc_z_div(fc_graph *g, fc_parts x, fc_parts y) {
    if (fc_is_real_pair(g, y)) {
        const fc_node re = DIV(x.re, y.re);
        return (fc_parts){re, fc_is_real_pair(g, x) ? x.im : DIV(x.im, y.re)};
    }
    const fc_node size = ABS(y.re), other = ABS(y.im), first = GE(size, other);
    const fc_node p = WHERE(first, y.re, y.im), q = WHERE(first, y.im, y.re);
    const fc_node u = WHERE(first, x.re, x.im), v = WHERE(first, x.im, x.re);
    const fc_node ratio = DIV(q, p), below = ADD(p, MUL(q, ratio)), scale = DIV(N(1), below);
    const fc_node re = MUL(ADD(u, MUL(v, ratio)), scale), w = MUL(SUB(v, MUL(u, ratio)), scale);
    const fc_node im = WHERE(first, w, NEG(w));
    const fc_node zero = AND(EQ(y.re, N(0)), EQ(y.im, N(0)));
    const fc_node re0 = DIV(x.re, size), im0 = DIV(x.im, size);
    return (fc_parts){WHERE(zero, re0, re), WHERE(zero, im0, im)};
}

fc_parts fc_z_neg(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    const fc_node re = NEG(x.re);
    return (fc_parts){re, NEG(x.im)};
}

fc_parts fc_z_positive(fc_graph *g, fc_parts x, fc_parts y) {
    (void)g, (void)y;
    return x;
}

fc_parts fc_z_reciprocal(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    return fc_z_div(g, (fc_parts){N(1), N(0)}, x);
}

fc_parts fc_z_square(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    return fc_z_mul(g, x, x);
}

fc_parts fc_z_abs(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    return real(fc_op2(g, FC_OP_hypot, x.re, x.im));
}

/* ---- tests ----------------------------------------------------------------------------------- */

fc_parts fc_z_eq(fc_graph *g, fc_parts x, fc_parts y) {
    const fc_node re = EQ(x.re, y.re), im = EQ(x.im, y.im);
    return real(AND(re, im));
}
fc_parts fc_z_ne(fc_graph *g, fc_parts x, fc_parts y) {
    const fc_node re = fc_op2(g, FC_OP_ne, x.re, y.re), im = fc_op2(g, FC_OP_ne, x.im, y.im);
    return real(OR(re, im));
}
fc_parts fc_z_isnan(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    const fc_node re = fc_op1(g, FC_OP_isnan, x.re), im = fc_op1(g, FC_OP_isnan, x.im);
    return real(OR(re, im));
}
fc_parts fc_z_isinf(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    const fc_node re = ISINF(x.re), im = ISINF(x.im);
    return real(OR(re, im));
}
fc_parts fc_z_isfinite(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    const fc_node re = FINITE(x.re), im = FINITE(x.im);
    return real(AND(re, im));
}

/* ---- exponentials ---------------------------------------------------------------------------- */

/* Where exp(x) leaves the dtype, e is exp(x - c) and f exp(c), so that (e t) f is right for |t| <=
 * 1; elsewhere f is 1. */
typedef struct scaled_exp {
    fc_node e, f, large;
} scaled_exp;

static scaled_exp exp_of(fc_graph *g, fc_node x) {
    const bool f32 = dtype_of(g, x) == FUSEC_F32;
    const fc_node large = GT(x, number(g, x, f32 ? 80 : 700));
    const fc_node less = WHERE(large, SUB(x, number(g, x, f32 ? 64 : 512)), x);
    const fc_node factor = WHERE(
        large, number(g, x, f32 ? 6.235149080811617e27 : 2.2844135865397565e222), number(g, x, 1));
    return (scaled_exp){EXP(less), factor, large};
}

/* exp(x) (cos y + i sin y): at an infinite x what is infinite or 0 stays so, and y = 0 stays. */
fc_parts fc_z_exp(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    if (fc_is_real_pair(g, x)) return (fc_parts){EXP(x.re), x.im};
    const fc_node s = SIN(x.im), c = COS(x.im);
    if (is_number(g, x.re, 0)) return (fc_parts){c, s};
    const scaled_exp e = exp_of(g, x.re);
    const fc_node re = MUL(MUL(e.e, c), e.f), im = MUL(MUL(e.e, s), e.f);
    const fc_node odd = AND(ISINF(x.re), fc_op1(g, FC_OP_logical_not, FINITE(x.im)));
    const fc_node limit = WHERE(GT(x.re, N(0)), x.re, N(0)); /* its sign is open */
    const fc_node nan = WHERE(GT(x.re, N(0)), N((double)NAN), N(0));
    const fc_node flat = EQ(x.im, N(0));
    return (fc_parts){WHERE(odd, limit, WHERE(flat, MUL(e.e, e.f), re)),
                      WHERE(odd, nan, WHERE(flat, x.im, im))};
}

/* expm1(x) cos y - 2 sin(y/2)^2, exp(x) sin y */
fc_parts fc_z_expm1(fc_graph *g, fc_parts x, fc_parts y) {
    const fc_parts e = fc_z_exp(g, x, y);
    const fc_node half = SIN(MUL(x.im, N(0.5)));
    const fc_node less = MUL(N(2), MUL(half, half));
    const fc_node near = SUB(MUL(fc_op1(g, FC_OP_expm1, x.re), COS(x.im)), less);
    const fc_node small = LT(ABS(x.re), N(1));
    return (fc_parts){WHERE(small, near, SUB(e.re, N(1))), e.im};
}

/* cosh and sinh of x as multiples of f, for products with numbers up to 1. */
typedef struct hyperbolic {
    fc_node sinh, cosh, f;
} hyperbolic;

static hyperbolic hyperbolic_of(fc_graph *g, fc_node x) {
    const scaled_exp e = exp_of(g, ABS(x));
    const fc_node s = WHERE(e.large, SIGNED(e.e, x), fc_op1(g, FC_OP_sinh, x));
    const fc_node c = WHERE(e.large, e.e, fc_op1(g, FC_OP_cosh, x));
    const fc_node half = WHERE(e.large, number(g, x, 0.5), number(g, x, 1));
    return (hyperbolic){s, c, MUL(e.f, half)};
}

/* sinh x cos y + i cosh x sin y */
fc_parts fc_z_sinh(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    const hyperbolic h = hyperbolic_of(g, x.re);
    const fc_node c = COS(x.im), s = SIN(x.im);
    const fc_node re = MUL(MUL(h.sinh, c), h.f), im = MUL(MUL(h.cosh, s), h.f);
    const fc_node flat = EQ(x.im, N(0)), fixed = OR(EQ(x.re, N(0)), ISINF(x.re));
    const fc_node odd = AND(fixed, fc_op1(g, FC_OP_logical_not, FINITE(x.im)));
    return (fc_parts){WHERE(odd, x.re, WHERE(flat, MUL(h.sinh, h.f), re)), WHERE(flat, x.im, im)};
}

/* cosh x cos y + i sinh x sin y */
fc_parts fc_z_cosh(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    const hyperbolic h = hyperbolic_of(g, x.re);
    const fc_node c = COS(x.im), s = SIN(x.im);
    const fc_node re = MUL(MUL(h.cosh, c), h.f), im = MUL(MUL(h.sinh, s), h.f);
    const fc_node flat = EQ(x.im, N(0)), none = EQ(x.re, N(0));
    const fc_node away = fc_op1(g, FC_OP_logical_not, FINITE(x.im)), odd = AND(ISINF(x.re), away);
    const fc_node zero = MUL(SIGNED(N(0), x.re), SIGNED(N(1), x.im));
    return (fc_parts){WHERE(odd, ABS(x.re), WHERE(flat, MUL(h.cosh, h.f), re)),
                      WHERE(OR(flat, AND(none, away)), zero, im)};
}

fc_parts fc_z_sin(fc_graph *g, fc_parts x, fc_parts y) {
    return times_minus_i(g, fc_z_sinh(g, times_i(g, x), y));
}

fc_parts fc_z_cos(fc_graph *g, fc_parts x, fc_parts y) {
    return fc_z_cosh(g, times_i(g, x), y);
}

/* tanh x (1 + sin^2 y / d) + i sin y cos y / d with d = sinh^2 x + cos^2 y; +-1 where x is large.
 * The real part is sinh x cosh x / d, but its error is that of tanh where d is not small. */
static fc_parts tanh_f64(fc_graph *g, fc_parts x) {
    const fc_node large = GT(ABS(x.re), N(20)), a = WHERE(large, N(0), x.re);
    const fc_node s = SIN(x.im), c = COS(x.im), sc = MUL(s, c);
    const fc_node sh = fc_op1(g, FC_OP_sinh, a), t = fc_op1(g, FC_OP_tanh, a);
    const fc_node d = ADD(MUL(sh, sh), MUL(c, c));
    const fc_node far = MUL(MUL(N(4), sc), EXP(MUL(N(-2), ABS(x.re))));
    const fc_node odd = fc_op1(g, FC_OP_logical_not, FINITE(x.im));
    const fc_node im =
        WHERE(large, WHERE(AND(ISINF(x.re), odd), SIGNED(N(0), x.im), far), DIV(sc, d));
    const fc_node one = WHERE(AND(odd, FINITE(x.re)), s, SIGNED(N(1), x.re));
    const fc_node re = WHERE(large, one, MUL(t, ADD(N(1), DIV(MUL(s, s), d))));
    const fc_node none = EQ(x.re, N(0)), flat = EQ(x.im, N(0));
    return (fc_parts){WHERE(none, x.re, re), WHERE(flat, x.im, im)};
}

fc_parts fc_z_tanh(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    return in_f64(g, x, tanh_f64);
}

fc_parts fc_z_tan(fc_graph *g, fc_parts x, fc_parts y) {
    return times_minus_i(g, fc_z_tanh(g, times_i(g, x), y));
}

/* ---- logarithms, powers ---------------------------------------------------------------------- */

/* log |d + i y| for d = 1 + u. Near |z| = 1 the logarithm is that of a number close to 1, made of
 * its difference from 1. */
static fc_node log_size(fc_graph *g, fc_node d, fc_node u, fc_node y) {
    const fc_parts x = {u, y};
    const fc_node m = fc_op2(g, FC_OP_maximum, ABS(d), ABS(y));
    const fc_node big = GT(m, N(0x1p1000)), tiny = LT(m, N(0x1p-900));
    const fc_node by = WHERE(big, N(0x1p-3), WHERE(tiny, N(0x1p300), N(1)));
    const fc_node more = WHERE(big, N(3 * LN2), WHERE(tiny, N(-300 * LN2), N(0)));
    const fc_node h = fc_op2(g, FC_OP_hypot, MUL(d, by), MUL(y, by));
    const fc_node far = ADD(LOG(h), more);
    /* the parts in order: the square of the larger one less 1 as (m - 1) (m + 1) */
    const fc_node of_d = GE(ABS(d), ABS(y)), n = fc_op2(g, FC_OP_minimum, ABS(d), ABS(y));
    const fc_node less = WHERE(AND(of_d, GT(d, N(0))), u, SUB(m, N(1)));
    const fc_node off = ADD(MUL(less, ADD(m, N(1))), MUL(n, n));
    const fc_node near = MUL(N(0.5), fc_op1(g, FC_OP_log1p, off));
    return WHERE(AND(GT(h, N(0.5)), LT(h, N(2))), near, far);
}

static fc_parts log_f64(fc_graph *g, fc_parts x) {
    const fc_node re = log_size(g, x.re, SUB(x.re, N(1)), x.im);
    return (fc_parts){re, fc_op2(g, FC_OP_atan2, x.im, x.re)};
}

fc_parts fc_z_log(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    return in_f64(g, x, log_f64);
}

static fc_parts log2_f64(fc_graph *g, fc_parts x) {
    return scaled(g, log_f64(g, x), N(1.4426950408889634));
}
fc_parts fc_z_log2(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    return in_f64(g, x, log2_f64);
}

static fc_parts log10_f64(fc_graph *g, fc_parts x) {
    return scaled(g, log_f64(g, x), N(0.4342944819032518));
}
fc_parts fc_z_log10(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    return in_f64(g, x, log10_f64);
}

static fc_parts log1p_f64(fc_graph *g, fc_parts x) {
    const fc_node d = ADD(x.re, N(1)), re = log_size(g, d, x.re, x.im);
    return (fc_parts){re, fc_op2(g, FC_OP_atan2, x.im, d)};
}
fc_parts fc_z_log1p(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    return in_f64(g, x, log1p_f64);
}

/* t = sqrt((|x| + |z|)/2) is one part, |y|/(2t) the other. */
static fc_parts sqrt_f64(fc_graph *g, fc_parts x) {
    const fc_node m = fc_op2(g, FC_OP_maximum, ABS(x.re), ABS(x.im));
    const fc_node big = GT(m, N(0x1p1000)), tiny = LT(m, N(0x1p-900));
    const fc_node by = WHERE(big, N(0x1p-4), WHERE(tiny, N(0x1p300), N(1)));
    const fc_node back = WHERE(big, N(0x1p2), WHERE(tiny, N(0x1p-150), N(1)));
    const fc_node ax = MUL(ABS(x.re), by), ay = MUL(ABS(x.im), by);
    const fc_node h = fc_op2(g, FC_OP_hypot, ax, ay), t = SQRT(MUL(N(0.5), ADD(ax, h)));
    const fc_node r = WHERE(EQ(h, N(0)), ay, DIV(ay, ADD(t, t))), left = LT(x.re, N(0));
    const fc_node re = MUL(WHERE(left, r, t), back), im = MUL(WHERE(left, t, r), back);
    const fc_node high = ISINF(x.im);
    return (fc_parts){WHERE(high, ABS(x.im), re), WHERE(high, x.im, SIGNED(im, x.im))};
}

fc_parts fc_z_sqrt(fc_graph *g, fc_parts x, fc_parts y) {
    (void)y;
    return in_f64(g, x, sqrt_f64);
}

/* exp(y log x); x**2 is x*x. 0 to a power is 1, 0 or nan. */
fc_parts fc_z_pow(fc_graph *g, fc_parts x, fc_parts y) {
    if (fc_is_real_pair(g, y) && is_number(g, y.re, 2)) return fc_z_mul(g, x, x);
    const fusec_dtype t = dtype_of(g, x.re);
    const fc_node none = AND(EQ(x.re, N(0)), EQ(x.im, N(0)));
    const fc_node zeroth = AND(EQ(y.re, N(0)), EQ(y.im, N(0)));
    const fc_node nan = WHERE(GT(y.re, N(0)), N(0), N((double)NAN));
    const bool is_real = fc_is_real_pair(g, y);
    const fc_parts l = log_f64(g, widened(g, x));
    fc_parts w = widened(g, y);
    if (is_real) w.im = fc_build_number(g, FUSEC_F64, 0);
    fc_parts r = narrowed(g, fc_z_exp(g, fc_z_mul(g, w, l), w), t);
    r.re = WHERE(zeroth, N(1), WHERE(none, nan, r.re));
    return (fc_parts){r.re, WHERE(zeroth, N(0), WHERE(none, nan, r.im))};
}

/* ---- inverse functions ----------------------------------------------------------------------- */

/* Of x, y >= 0: asin, acos and what both have as imaginary part, by the method of Hull, Fairgrieve
 * and Tang (ACM TOMS 23, 1997): a = (|z + 1| + |z - 1|)/2, b = x/a, and their differences from 1
 * without cancellation. */
typedef struct arcs {
    fc_node asin, acos, im;
} arcs;

static arcs arcs_of(fc_graph *g, fc_node ax, fc_node ay) {
    const fc_parts x = {ax, ay};
    const fc_node big = OR(GT(ax, N(1e8)), GT(ay, N(1e8))); /* one may be nan */
    const fc_node u = WHERE(big, N(1), ax), y = WHERE(big, N(1), ay), one = N(1), half = N(0.5);
    const fc_node up = ADD(u, one), r = fc_op2(g, FC_OP_hypot, up, y);
    const fc_node down = SUB(u, one), s = fc_op2(g, FC_OP_hypot, down, y);
    const fc_node a = MUL(half, ADD(r, s)), b = DIV(u, a), left = fc_op2(g, FC_OP_le, u, one);
    const fc_node sum = ADD(r, up), away = ADD(s, ABS(down)), apx = ADD(a, u);
    /* a^2 - u^2 on the left of 1 as a product, on the right as a multiple of y^2 */
    const fc_node yy = DIV(MUL(y, y), sum);
    const fc_node root_left = SQRT(MUL(MUL(half, apx), ADD(yy, away)));
    const fc_node root_right =
        MUL(y, SQRT(MUL(half, ADD(DIV(apx, sum), DIV(apx, WHERE(left, one, away))))));
    const fc_node root = WHERE(left, root_left, root_right);
    const fc_node inner = fc_op2(g, FC_OP_le, b, N(0.6417));
    const fc_node asin = WHERE(inner, fc_op1(g, FC_OP_asin, b), fc_op2(g, FC_OP_atan2, u, root));
    const fc_node acos = WHERE(inner, fc_op1(g, FC_OP_acos, b), fc_op2(g, FC_OP_atan2, root, u));
    /* a - 1, and sqrt(a^2 - 1) */
    const fc_node part = WHERE(EQ(away, N(0)), N(0), DIV(y, WHERE(EQ(away, N(0)), one, away)));
    const fc_node less_left = MUL(half, MUL(y, ADD(DIV(y, sum), part)));
    const fc_node less = WHERE(LT(u, one), less_left, MUL(half, ADD(yy, away)));
    const fc_node inv = ADD(DIV(one, sum), DIV(one, WHERE(EQ(away, N(0)), one, away)));
    const fc_node reach = SQRT(MUL(MUL(half, inv), ADD(a, one)));
    const fc_node wide = WHERE(LT(u, one), MUL(y, reach), SQRT(MUL(less, ADD(a, one))));
    const fc_node im = fc_op1(g, FC_OP_log1p, ADD(less, wide));
    /* far away asin is an angle, and the other part log |2z| */
    const fc_node q = N(0.25), h = fc_op2(g, FC_OP_hypot, MUL(q, ax), MUL(q, ay));
    const fc_node far = ADD(LOG(h), N(3 * LN2));
    return (arcs){WHERE(big, fc_op2(g, FC_OP_atan2, ax, ay), asin),
                  WHERE(big, fc_op2(g, FC_OP_atan2, ay, ax), acos), WHERE(big, far, im)};
}

/* x + i nan with x = +-0: the part that does not depend on y is known. */
static fc_node zero_beside_nan(fc_graph *g, fc_parts x) {
    return AND(EQ(x.re, N(0)), fc_op1(g, FC_OP_isnan, x.im));
}

static fc_parts asin_f64(fc_graph *g, fc_parts x) {
    const arcs a = arcs_of(g, ABS(x.re), ABS(x.im));
    const fc_node re = WHERE(zero_beside_nan(g, x), x.re, SIGNED(a.asin, x.re));
    return (fc_parts){re, SIGNED(a.im, x.im)};
}

#define PI_2 1.5707963267948966
static fc_parts acos_f64(fc_graph *g, fc_parts x) {
    const arcs a = arcs_of(g, ABS(x.re), ABS(x.im));
    const fc_node left = fc_op1(g, FC_OP_signbit, x.re);
    const fc_node angle = WHERE(left, SUB(N(2 * PI_2), a.acos), a.acos);
    const fc_node im = SIGNED(a.im, NEG(x.im));
    return (fc_parts){WHERE(zero_beside_nan(g, x), N(PI_2), angle), im};
}

static fc_parts acosh_f64(fc_graph *g, fc_parts x) {
    const fc_parts c = acos_f64(g, x);
    return (fc_parts){ABS(c.im), SIGNED(c.re, x.im)};
}

static fc_parts asinh_f64(fc_graph *g, fc_parts x) {
    return times_minus_i(g, asin_f64(g, times_i(g, x)));
}

/* log1p(4x / ((1-x)^2 + y^2))/4 + i atan2(2y, (1-x)(1+x) - y^2)/2 */
static fc_parts atanh_f64(fc_graph *g, fc_parts x) {
    const fc_node ax = ABS(x.re), ay = ABS(x.im), one = N(1), less = SUB(one, ax);
    const fc_node big = GT(fc_op2(g, FC_OP_maximum, ax, ay), N(1e150));
    const fc_node u = WHERE(big, one, ax), v = WHERE(big, one, ay), rest = WHERE(big, N(0), less);
    const fc_node d = ADD(MUL(rest, rest), MUL(v, v));
    const fc_node near = AND(EQ(ax, one), LT(ay, N(1e-100)));
    const fc_node at = MUL(N(-0.5), LOG(MUL(N(0.5), ay)));
    const fc_node log = MUL(N(0.25), fc_op1(g, FC_OP_log1p, DIV(MUL(N(4), u), d)));
    const fc_node size = WHERE(big, N(0), WHERE(near, at, log));
    const fc_node below = SUB(MUL(rest, ADD(one, u)), MUL(v, v));
    const fc_node angle = MUL(N(0.5), fc_op2(g, FC_OP_atan2, ADD(v, v), below));
    const fc_node nan = ADD(x.re, x.im);
    const fc_node any = fc_op1(g, FC_OP_isnan, nan), high = ISINF(x.im);
    const fc_node away = OR(high, AND(big, FINITE(nan)));
    const fc_node wide =
        OR(away, AND(ISINF(x.re), fc_op1(g, FC_OP_logical_not, fc_op1(g, FC_OP_isnan, x.im))));
    const fc_node im = WHERE(wide, N(PI_2), WHERE(any, nan, angle));
    const fc_node known = OR(OR(high, ISINF(x.re)), AND(any, EQ(x.re, N(0))));
    const fc_node re = WHERE(known, N(0), WHERE(any, nan, size));
    return (fc_parts){SIGNED(re, x.re), SIGNED(im, x.im)};
}

static fc_parts atan_f64(fc_graph *g, fc_parts x) {
    return times_minus_i(g, atanh_f64(g, times_i(g, x)));
}

#define IN_F64(row)                                                                                \
    fc_parts fc_z_##row(fc_graph *g, fc_parts x, fc_parts y) {                                     \
        (void)y;                                                                                   \
        return in_f64(g, x, row##_f64);                                                            \
    }
IN_F64(asin)
IN_F64(acos)
IN_F64(atan)
IN_F64(asinh)
IN_F64(acosh)
IN_F64(atanh)
