/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ops_float.c - the rows of ops.def on floats: the exact ones to the bit, on pairs of special
 * values and of random bits; the others against the double-precision library within their
 * bounds. */
#include "tests/support/codebox.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

static const fc_target_kind targets[] = {FC_TARGET_INTERP, FC_TARGET_CUDA, FC_TARGET_LLVM};

/* ---- reference, from docs/semantics.md
 * ------------------------------------------------------------------------------
 *
 * As functions on a type R with its own fmod and so on: every step has to round in that type. */

#define REFERENCE(R, f, U)                                                                         \
    static R from_bits_##R(U bits) {                                                               \
        R v;                                                                                       \
        memcpy(&v, &bits, sizeof v);                                                               \
        return v;                                                                                  \
    }                                                                                              \
    static U bits_##R(R v) {                                                                       \
        U bits;                                                                                    \
        memcpy(&bits, &v, sizeof v);                                                               \
        return bits;                                                                               \
    }                                                                                              \
    static R remainder_##R(R a, R b) {                                                             \
        R r = fmod##f(a, b);                                                                       \
        if (r == 0) return copysign##f(0, b);                                                      \
        return (r < 0) != (b < 0) ? r + b : r;                                                     \
    }                                                                                              \
    static R floor_divide_##R(R a, R b) {                                                          \
        if (b == 0) return a / b;                                                                  \
        R m = fmod##f(a, b), q = (a - m) / b;                                                      \
        if (m != 0 && (m < 0) != (b < 0)) q -= 1;                                                  \
        if (q == 0) return copysign##f(0, a / b);                                                  \
        R whole = floor##f(q);                                                                     \
        return q - whole > (R)0.5 ? whole + 1 : whole;                                             \
    }                                                                                              \
    static R maximum_##R(R a, R b) {                                                               \
        if (isnan(a) || isnan(b)) return (R)NAN;                                                   \
        return a > b ? a : a < b ? b : from_bits_##R(bits_##R(a) & bits_##R(b));                   \
    }                                                                                              \
    static R minimum_##R(R a, R b) {                                                               \
        if (isnan(a) || isnan(b)) return (R)NAN;                                                   \
        return a < b ? a : a > b ? b : from_bits_##R(bits_##R(a) | bits_##R(b));                   \
    }                                                                                              \
    static R reference_##R(fc_op op, R a, R b) {                                                   \
        switch (op) {                                                                              \
        case FC_OP_add: return a + b;                                                              \
        case FC_OP_sub: return a - b;                                                              \
        case FC_OP_mul: return a * b;                                                              \
        case FC_OP_div: return a / b;                                                              \
        case FC_OP_floordiv: return floor_divide_##R(a, b);                                        \
        case FC_OP_mod: return remainder_##R(a, b);                                                \
        case FC_OP_fmod: return fmod##f(a, b);                                                     \
        case FC_OP_neg: return -a;                                                                 \
        case FC_OP_abs: return fabs##f(a);                                                         \
        case FC_OP_sign: return isnan(a) ? (R)NAN : (R)((a > 0) - (a < 0));                        \
        case FC_OP_copysign: return copysign##f(a, b);                                             \
        case FC_OP_minimum: return minimum_##R(a, b);                                              \
        case FC_OP_maximum: return maximum_##R(a, b);                                              \
        case FC_OP_fmin: return isnan(a) ? b : isnan(b) ? a : minimum_##R(a, b);                   \
        case FC_OP_fmax: return isnan(a) ? b : isnan(b) ? a : maximum_##R(a, b);                   \
        case FC_OP_relu: return maximum_##R(a, 0);                                                 \
        case FC_OP_clip: return minimum_##R(maximum_##R(a, b), 1);                                 \
        case FC_OP_floor: return floor##f(a);                                                      \
        case FC_OP_ceil: return ceil##f(a);                                                        \
        case FC_OP_trunc: return trunc##f(a);                                                      \
        case FC_OP_round: return rint##f(a);                                                       \
        case FC_OP_sqrt: return sqrt##f(a);                                                        \
        case FC_OP_fma: return fma##f(a, b, 1);                                                    \
        case FC_OP_lerp: return a + 1 * (b - a);                                                   \
        case FC_OP_eq: return a == b;                                                              \
        case FC_OP_ne: return a != b;                                                              \
        case FC_OP_lt: return a < b;                                                               \
        case FC_OP_le: return a <= b;                                                              \
        case FC_OP_gt: return a > b;                                                               \
        case FC_OP_ge: return a >= b;                                                              \
        case FC_OP_isnan: return isnan(a) != 0;                                                    \
        case FC_OP_isinf: return isinf(a) != 0;                                                    \
        case FC_OP_isfinite: return isfinite(a) != 0;                                              \
        default: return (R)NAN;                                                                    \
        }                                                                                          \
    }

REFERENCE(float, f, uint32_t)
REFERENCE(double, , uint64_t)

static const fc_op exact_ops[] = {
    FC_OP_add,  FC_OP_sub,  FC_OP_mul,   FC_OP_div,      FC_OP_floordiv, FC_OP_mod,     FC_OP_fmod,
    FC_OP_neg,  FC_OP_abs,  FC_OP_sign,  FC_OP_copysign, FC_OP_minimum,  FC_OP_maximum, FC_OP_fmin,
    FC_OP_fmax, FC_OP_relu, FC_OP_clip,  FC_OP_floor,    FC_OP_ceil,     FC_OP_trunc,   FC_OP_round,
    FC_OP_sqrt, FC_OP_fma,  FC_OP_lerp,  FC_OP_eq,       FC_OP_ne,       FC_OP_lt,      FC_OP_le,
    FC_OP_gt,   FC_OP_ge,   FC_OP_isnan, FC_OP_isinf,    FC_OP_isfinite};

/* The reference in the compute dtype, rounded to t. */
static double wanted(fc_op op, fusec_dtype t, double a, double b) {
    if (t == FUSEC_F64) return reference_double(op, a, b);
    return fc_const_value(t, fc_const_bits(t, (double)reference_float(op, (float)a, (float)b)));
}

static bool same_bits(double a, double b) {
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : bits_double(a) == bits_double(b);
}

typedef struct pairs {
    size_t n;
    char *a, *b, *ones, *out;
} pairs;

/* All pairs of special values, then random bits, half of them near each other. */
static pairs make_pairs(fusec_dtype t) {
    char values[FC_BOX_SPECIALS * 8];
    const size_t size = fc_dtypes[t].bytes, m = fc_box_specials(t, values), n = m * m + 20000;
    pairs p = {n, malloc(n * size), malloc(n * size), malloc(n * size), malloc(n * size)};
    uint64_t random = 12345;
    const uint64_t one = fc_const_bits(t, 1);
    for (size_t k = 0; k < n; k++) {
        random = fc_mix(random, k);
        uint64_t x = random, y = k & 1 ? random + (random >> 61) : fc_mix(random, 1);
        if (k < m * m) {
            memcpy(&x, values + k / m * size, size);
            memcpy(&y, values + k % m * size, size);
        }
        memcpy(p.a + k * size, &x, size);
        memcpy(p.b + k * size, &y, size);
        memcpy(p.ones + k * size, &one, size);
    }
    return p;
}

static void check_exact(fc_op op, fusec_dtype t, const pairs *p, fc_target_kind target) {
    const fc_rule rule = fc_ops[op].rule;
    const fusec_dtype to = rule == FC_RULE_COMPARE || rule == FC_RULE_TEST ? FUSEC_BOOL : t;
    if (!fc_box_op(op, t, to, target, p->n, p->a, p->b, p->ones, p->out)) return;
    for (size_t k = 0; k < p->n; k++) {
        const double x = fc_box_at(t, p->a, k), y = fc_box_at(t, p->b, k);
        const double got = fc_box_at(to, p->out, k), should = wanted(op, t, x, y);
        if (same_bits(got, should)) continue;
        FC_FAIL("%s(%a, %a) on %s is %a, not %a (target %d)", fc_ops[op].name, x, y,
                fc_dtypes[t].name, got, should, (int)target);
        return;
    }
}

static void check_float_dtype(void *arg) {
    FC_TAKE_ONE_OF(1);
    const fusec_dtype t = (fusec_dtype)(uintptr_t)arg;
    const pairs p = make_pairs(t);
    for (size_t k = 0; k < FC_COUNT(exact_ops); k++)
        for (size_t i = 0; i < FC_COUNT(targets); i++) check_exact(exact_ops[k], t, &p, targets[i]);
    free(p.a);
    free(p.b);
    free(p.ones);
    free(p.out);
}

FC_REGISTER(float_ops) {
    for (uintptr_t t = FUSEC_F16; t <= FUSEC_F64; t++)
        FC_ADD_TEST("ops_float", fc_dtypes[t].name, check_float_dtype, t);
}

/* ---- the values docs/semantics.md calls easy to get wrong ------------------------------- */

FC_TEST(ops_float, documented_cases) {
    static const struct {
        fc_op op;
        double a, b, out;
    } rows[] = {{FC_OP_mod, -0.0, 1, 0.0},
                {FC_OP_mod, 1, INFINITY, 1},
                {FC_OP_mod, -1, INFINITY, INFINITY},
                {FC_OP_floordiv, -1, INFINITY, -1},
                {FC_OP_floordiv, INFINITY, 1, NAN},
                {FC_OP_floordiv, 1, 0, INFINITY},
                {FC_OP_maximum, 0.0, -0.0, 0.0},
                {FC_OP_maximum, -0.0, 0.0, 0.0},
                {FC_OP_minimum, 0.0, -0.0, -0.0},
                {FC_OP_maximum, NAN, 1, NAN},
                {FC_OP_maximum, 1, NAN, NAN},
                {FC_OP_fmax, NAN, 1, 1},
                {FC_OP_sign, -0.0, 0, 0.0},
                {FC_OP_round, 2.5, 0, 2},
                {FC_OP_round, -0.4, 0, -0.0},
                {FC_OP_pow, 1, NAN, 1},
                {FC_OP_pow, NAN, 0, 1},
                {FC_OP_pow, -1, INFINITY, 1},
                {FC_OP_pow, -INFINITY, 0.5, INFINITY},
                {FC_OP_pow, -0.0, 0.5, 0.0},
                {FC_OP_rsqrt, -0.0, 0, -INFINITY},
                {FC_OP_rsqrt, INFINITY, 0, 0.0},
                {FC_OP_lgamma, -INFINITY, 0, INFINITY},
                {FC_OP_lgamma, -3, 0, INFINITY},
                {FC_OP_hypot, INFINITY, NAN, INFINITY},
                {FC_OP_exp, -INFINITY, 0, 0.0},
                {FC_OP_log, -0.0, 0, -INFINITY},
                {FC_OP_log1p, -1, 0, -INFINITY},
                {FC_OP_sigmoid, -INFINITY, 0, 0.0},
                {FC_OP_sigmoid, INFINITY, 0, 1},
                {FC_OP_sigmoid, NAN, 0, NAN},
                {FC_OP_softplus, -INFINITY, 0, 0.0},
                {FC_OP_softplus, INFINITY, 0, INFINITY}};
    for (size_t k = 0; k < FC_COUNT(rows); k++) {
        FC_TRACE("%s(%g, %g)", fc_ops[rows[k].op].name, rows[k].a, rows[k].b);
        float a = (float)rows[k].a, b = (float)rows[k].b, x;
        double y;
        if (fc_box_op(rows[k].op, FUSEC_F32, FUSEC_F32, FC_TARGET_INTERP, 1, &a, &b, NULL, &x))
            FC_EXPECT_EQ_F64((double)x, rows[k].out);
        if (fc_box_op(rows[k].op, FUSEC_F64, FUSEC_F64, FC_TARGET_INTERP, 1, &rows[k].a, &rows[k].b,
                      NULL, &y))
            FC_EXPECT_EQ_F64(y, rows[k].out);
        FC_UNTRACE();
    }
}

FC_TEST(ops_float, where_drops_the_other_arm) {
    const uint8_t choose[2] = {1, 0};
    const float x[2] = {1, NAN}, y[2] = {NAN, 2};
    float out[2];
    for (size_t i = 0; i < FC_COUNT(targets); i++) {
        FC_ASSERT_TRUE(
            fc_box_op(FC_OP_where, FUSEC_F32, FUSEC_F32, targets[i], 2, choose, x, y, out));
        FC_EXPECT_EQ_F64((double)out[0], 1);
        FC_EXPECT_EQ_F64((double)out[1], 2);
    }
}

/* ---- functions within their bounds ------------------------------------------------------ */

enum { SAMPLES = 20000 };

/* Half of the numbers from all of the range, by their bits, half where most functions turn. */
static float sample(uint64_t *random, size_t k) {
    *random = fc_mix(*random, k);
    if (k % 2) return (float)((double)(*random >> 11) * 0x1p-53 - 0.5) * (k % 4 == 1 ? 4 : 200);
    return from_bits_float((uint32_t)(*random >> 32));
}

/* The operands of a draw (normal_raw), which has no others: above 0 and at most 1; from -0.25 to
 * below 1. */
static void draw(float *x, float *y, uint64_t random) {
    *x = (float)(((double)(random >> 40) + 1) * 0x1p-24);
    *y = (float)((double)(random % 20971520) * 0x1p-24 - 0.25);
}

static bool accepts(const fc_interval *r, double got) {
    if (isnan(got)) return r->nan || isnan(r->lo);
    return r->exact ? same_bits(got, r->lo) : got >= r->lo && got <= r->hi;
}

static void check_function(void *arg) {
    const fc_op op = (fc_op)(uintptr_t)arg;
    static float x[SAMPLES], y[SAMPLES], out[SAMPLES];
    uint64_t random = 1;
    for (size_t k = 0; k < SAMPLES; k++) {
        x[k] = sample(&random, k);
        y[k] = sample(&random, k / 2);
        if (isnan(x[k])) x[k] = NAN; /* not a signalling one */
        if (isnan(y[k])) y[k] = NAN;
        if (op == FC_OP_normal_raw) draw(&x[k], &y[k], random);
    }
    if (!fc_box_op(op, FUSEC_F32, FUSEC_F32, FC_TARGET_INTERP, SAMPLES, x, y, NULL, out)) return;
    for (size_t k = 0; k < SAMPLES; k++) {
        fc_interval r = {0};
        fc_o_math(op, FUSEC_F32, (double)x[k], (double)y[k], &r);
        if (accepts(&r, (double)out[k])) continue;
        FC_FAIL("%s(%a, %a) is %a; the bound of %g ulp takes %a to %a", fc_ops[op].name,
                (double)x[k], (double)y[k], (double)out[k], (double)fc_ops[op].ulp32, r.lo, r.hi);
        return;
    }
}

FC_REGISTER(functions) {
    for (uintptr_t op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++)
        if (fc_o_shape_of((fc_op)op))
            FC_ADD_TEST("ops_function", fc_ops[op].name, check_function, op);
}
