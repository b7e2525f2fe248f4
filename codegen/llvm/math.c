/* math.c - which functions have vector code, and what their formulas share; see math.h. */
#include "codegen/llvm/math.h"

#include <string.h>

#include "codegen/cpuinfo.h"

static bool has_fma(const fc_machine *m) {
    if (m->features) {
        if (strstr(m->features, "+fma") || strstr(m->features, "+neon")) return true;
        if (strstr(m->features, "-fma") || !m->cpu) return false;
    }
    if (m->cpu) return strstr(m->cpu, "x86-64-v3") || strstr(m->cpu, "x86-64-v4");
    fc_cpuinfo host;
    fc_cpuinfo_get(&host);
    return (host.features & (FC_CPU_FMA | FC_CPU_NEON)) != 0;
}

fc_rewrite fc_math_rewrite(const fc_machine *m) {
    return has_fma(m) ? fc_math_row : NULL;
}

/* The comments give the largest error found, in ulp and rounded up: f32 over all inputs, or 10^8
 * pairs, and f64 over 10^7 inputs (docs/accuracy.md). */
typedef struct function {
    fc_op op;
    fc_math_fn1 *f32, *f64;
} function;

typedef struct function2 {
    fc_op op;
    fc_math_fn2 *f32, *f64;
} function2;

static const function2 functions2[] = {
    {FC_OP_pow, fc_math_pow_f32, fc_math_pow_f64},       /* 0.51, 0.78 */
    {FC_OP_atan2, fc_math_atan2_f32, fc_math_atan2_f64}, /* 1.43, 1.95 */
    {FC_OP_hypot, fc_math_hypot_f32, fc_math_hypot_f64}, /* 0.50, 1.18 */
};

static const function functions[] = {
    {FC_OP_exp, fc_math_exp_f32, fc_math_exp_f64},       /* 1.62, 1.01 */
    {FC_OP_exp2, fc_math_exp2_f32, fc_math_exp2_f64},    /* 0.88, 0.87 */
    {FC_OP_expm1, fc_math_expm1_f32, fc_math_expm1_f64}, /* 0.51, 1.33 */
    {FC_OP_log, fc_math_log_f32, fc_math_log_f64},       /* 0.86, 0.79 */
    {FC_OP_log2, fc_math_log2_f32, fc_math_log2_f64},    /* 0.52, 0.75 */
    {FC_OP_log10, fc_math_log10_f32, fc_math_log10_f64}, /* 0.52, 0.68 */
    {FC_OP_log1p, fc_math_log1p_f32, fc_math_log1p_f64}, /* 0.52, 0.79 */
    {FC_OP_cbrt, fc_math_cbrt_f32, fc_math_cbrt_f64},    /* 0.51, 0.74 */
    {FC_OP_sin, fc_math_sin_f32, fc_math_sin_f64},       /* 1.67, 0.78 */
    {FC_OP_cos, fc_math_cos_f32, fc_math_cos_f64},       /* 1.81, 0.79 */
    {FC_OP_tan, fc_math_tan_f32, fc_math_tan_f64},       /* 3.70, 2.17 */
    {FC_OP_asin, fc_math_asin_f32, fc_math_asin_f64},    /* 2.03, 2.08 */
    {FC_OP_acos, fc_math_acos_f32, fc_math_acos_f64},    /* 1.14, 1.16 */
    {FC_OP_atan, fc_math_atan_f32, fc_math_atan_f64},    /* 1.39, 1.76 */
    {FC_OP_sinh, fc_math_sinh_f32, fc_math_sinh_f64},    /* 0.51, 1.46 */
    {FC_OP_cosh, fc_math_cosh_f32, fc_math_cosh_f64},    /* 0.50, 1.54 */
    {FC_OP_tanh, fc_math_tanh_f32, fc_math_tanh_f64},    /* 1.34, 1.32 */
    {FC_OP_asinh, fc_math_asinh_f32, fc_math_asinh_f64}, /* 0.52, 1.80 */
    {FC_OP_acosh, fc_math_acosh_f32, fc_math_acosh_f64}, /* 0.52, 1.97 */
    {FC_OP_atanh, fc_math_atanh_f32, fc_math_atanh_f64}, /* 0.51, 1.96 */
    {FC_OP_erf, fc_math_erf_f32, fc_math_erf_f64},       /* 1.04, 1.67 */
    {FC_OP_erfc, fc_math_erfc_f32, fc_math_erfc_f64},    /* 0.51, 4.87 */
};

bool fc_math_has(fc_op op, fusec_dtype t) {
    if (t != FUSEC_F32 && t != FUSEC_F64) return false;
    for (size_t k = 0; k < FC_COUNT(functions2); k++)
        if (functions2[k].op == op) return true;
    for (size_t k = 0; k < FC_COUNT(functions); k++)
        if (functions[k].op == op) return true;
    return false;
}

fc_val fc_math_row(fc_code *s, fc_op op, const fc_val v[3]) {
    const fusec_dtype t = fc_val_dtype(s, v[0]);
    if (!(fc_ops[op].flags & FC_F_TRANSCENDENTAL) || (t != FUSEC_F32 && t != FUSEC_F64))
        return FC_NOVAL;
    for (size_t k = 0; k < FC_COUNT(functions2); k++) {
        if (functions2[k].op != op) continue;
        fc_math_fn2 *fn = t == FUSEC_F32 ? functions2[k].f32 : functions2[k].f64;
        return fn(s, LEAF(v[0]), LEAF(v[1]));
    }
    for (size_t k = 0; k < FC_COUNT(functions); k++) {
        if (functions[k].op != op) continue;
        fc_math_fn1 *fn = t == FUSEC_F32 ? functions[k].f32 : functions[k].f64;
        return fn(s, LEAF(v[0]));
    }
    return FC_NOVAL;
}

fc_val fc_math_poly(fc_code *s, const fc_x *z, const double *c, size_t n) {
    const fusec_dtype TYPE = fc_val_dtype(s, z->v);
    fc_val sum = BUILD(N(c[n - 1]));
    for (size_t k = n - 1; k-- > 0;) sum = BUILD(FMA(LEAF(sum), z, N(c[k])));
    return sum;
}

fc_val fc_math_at_most(fc_code *s, const fc_x *x, double limit) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    return BUILD(WHERE(GT(x, N(limit)), N(limit), x));
}

fc_val fc_math_at_least(fc_code *s, const fc_x *x, double limit) {
    const fusec_dtype TYPE = fc_val_dtype(s, x->v);
    return BUILD(WHERE(LT(x, N(limit)), N(limit), x));
}

/* ---- bounds ----------------------------------------------------------------------------- */

static double bound_below(const fc_code *s, fc_val v, int depth) {
    const fc_instr *i = &s->ins.at[v];
    if (i->op == FC_OP_CONST) return fabs(fc_const_value((fusec_dtype)i->dtype, i->imm));
    if (depth == 0) return INFINITY;
    switch (i->op) {
    case FC_OP_far_sin:
    case FC_OP_far_cos: return 1;
    case FC_OP_neg:
    case FC_OP_abs:
    case FC_OP_copysign: return bound_below(s, i->a, depth - 1);
    case FC_OP_add:
    case FC_OP_sub: return bound_below(s, i->a, depth - 1) + bound_below(s, i->b, depth - 1);
    case FC_OP_mul: return bound_below(s, i->a, depth - 1) * bound_below(s, i->b, depth - 1);
    default: return INFINITY;
    }
}

/* A product of 0 and infinity is nan: nothing known. The steps are as many as doubling fits. */
double fc_math_bound(const fc_code *s, fc_val v) {
    enum { DEPTH = 5 };
    const double b = bound_below(s, v, DEPTH);
    return b >= 0 ? b * (1 + 0x1p-20) : INFINITY;
}
