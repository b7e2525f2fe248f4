/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_math.c - which functions have vector code, and what their formulas share; see
 * llvm_math.h. */
#include "codegen/llvm/llvm_math.h"

#include <string.h>

static bool has_fma(const fc_machine *m) {
    if (m->features) {
        if (strstr(m->features, "+fma") || strstr(m->features, "+neon")) return true;
        if (strstr(m->features, "-fma") || !m->cpu) return false;
    }
    if (m->cpu) return strstr(m->cpu, "x86-64-v3") || strstr(m->cpu, "x86-64-v4");
    return (m->host_features & (FC_CPU_FMA | FC_CPU_NEON)) != 0;
}

fc_rewrite fc_math_rewrite(const fc_machine *m) {
    return has_fma(m) ? fc_math_row : NULL;
}

/* The comments give the largest error found, in ulp and rounded up: f32 over all inputs, or 10^8
 * pairs, and f64 over 10^7 inputs (docs/accuracy.md). */
typedef struct function {
    fc_op op;
    fc_math_fn1 *f32, *f64;     /* of one operand */
    fc_math_fn2 *f32_2, *f64_2; /* of two */
} function;

#define ONE(row)                                                                                   \
    { FC_OP_##row, fc_math_##row##_f32, fc_math_##row##_f64, NULL, NULL }
#define SAME(row)                                                                                  \
    { FC_OP_##row, fc_math_##row, fc_math_##row, NULL, NULL } /* one for both dtypes */
#define F32(row)                                                                                   \
    { FC_OP_##row, fc_math_##row##_f32, NULL, NULL, NULL } /* libm for f64 */
#define TWO(row)                                                                                   \
    { FC_OP_##row, NULL, NULL, fc_math_##row##_f32, fc_math_##row##_f64 }
static const function functions[] = {
    ONE(exp),    /* 0.90, 1.01 */
    ONE(exp2),   /* 0.88, 0.87 */
    ONE(exp10),  /* 0.51, 0.65 */
    ONE(expm1),  /* 0.51, 1.33 */
    ONE(log),    /* 0.86, 0.79 */
    ONE(log2),   /* 0.52, 0.75 */
    ONE(log10),  /* 0.52, 0.68 */
    ONE(log1p),  /* 0.52, 0.79 */
    ONE(cbrt),   /* 0.51, 0.74 */
    SAME(sin),   /* 1.67, 0.78 */
    SAME(cos),   /* 1.81, 0.79 */
    SAME(tan),   /* 3.70, 2.17 */
    SAME(asin),  /* 2.03, 2.08 */
    SAME(acos),  /* 1.14, 1.16 */
    ONE(atan),   /* 1.39, 1.76 */
    ONE(sinh),   /* 0.51, 1.46 */
    ONE(cosh),   /* 0.50, 1.54 */
    ONE(tanh),   /* 2.42, 2.49 */
    ONE(asinh),  /* 0.52, 1.80 */
    ONE(acosh),  /* 0.52, 1.97 */
    ONE(atanh),  /* 0.51, 1.96 */
    ONE(erf),    /* 1.04, 1.67 */
    ONE(erfc),   /* 0.51, 4.87 */
    F32(tgamma), /* 0.59 */
    F32(lgamma), /* 1.29 */
    TWO(pow),    /* 0.51, 0.78 */
    TWO(atan2),  /* 1.43, 1.95 */
    TWO(hypot),  /* 0.50, 1.18 */
};

static const function *find(fc_op op, fusec_dtype t) {
    if (t != FUSEC_F32 && t != FUSEC_F64) return NULL;
    for (size_t k = 0; k < FC_COUNT(functions); k++) {
        const function *f = &functions[k];
        if (f->op != op) continue;
        const bool is_there = t == FUSEC_F32 ? f->f32 || f->f32_2 : f->f64 || f->f64_2;
        return is_there ? f : NULL;
    }
    return NULL;
}

bool fc_math_has(fc_op op, fusec_dtype t) {
    return find(op, t) != NULL;
}

fc_val fc_math_row(fc_code *s, fc_op op, const fc_val v[3]) {
    const fusec_dtype t = fc_val_dtype(s, v[0]);
    if (op == FC_OP_mul) return fc_math_sin_times_cos(s, v[0], v[1]);
    if (!(fc_ops[op].flags & FC_F_TRANSCENDENTAL)) return FC_NOVAL; /* most instructions */
    const function *f = find(op, t);
    if (!f) return FC_NOVAL;
    if (f->f32_2) return (t == FUSEC_F32 ? f->f32_2 : f->f64_2)(s, LEAF(v[0]), LEAF(v[1]));
    return (t == FUSEC_F32 ? f->f32 : f->f64)(s, LEAF(v[0]));
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

/* ---- bf16 -------------------------------------------------------------------------------- */

/* Rows that give one of their operands, its size or sign changed, or it without its fraction. */
static bool needs_no_rounding(uint16_t op) {
    switch (op) {
    case FC_OP_neg:
    case FC_OP_abs:
    case FC_OP_sign:
    case FC_OP_copysign:
    case FC_OP_minimum:
    case FC_OP_maximum:
    case FC_OP_fmin:
    case FC_OP_fmax:
    case FC_OP_clip:
    case FC_OP_relu:
    case FC_OP_floor:
    case FC_OP_ceil:
    case FC_OP_trunc:
    case FC_OP_round:
    case FC_OP_where: return true;
    default: return false;
    }
}

static bool is_widened(const fc_code *c, fc_val v) {
    const fc_instr *i = &c->ins.at[v];
    if (i->op == FC_OP_CONST) return i->dtype == FUSEC_F32 && (i->imm & 0xffff) == 0;
    return (i->op == FC_OP_CVT || i->op == FC_OP_CAST) && i->dtype == FUSEC_F32 &&
           fc_val_dtype(c, i->a) == FUSEC_BF16;
}

bool fc_math_of_bf16(const fc_code *c, fc_val v) {
    const fc_instr *i = &c->ins.at[v];
    if (!fc_is_elementwise(i->op)) return false;
    for (int n = fc_ops[i->op].rule == FC_RULE_SELECT; n < fc_instr_arity(i); n++)
        if (!is_widened(c, fc_instr_operand(i, n))) return false;
    return true;
}

bool fc_math_is_bf16(const fc_code *c, fc_val v) {
    return is_widened(c, v) || (fc_math_of_bf16(c, v) && needs_no_rounding(c->ins.at[v].op));
}

/* v where x is v rounded to bf16, else x. */
static fc_val before_rounding(const fc_code *s, fc_val x) {
    const fc_instr *wide = &s->ins.at[x];
    if (wide->op != FC_OP_CVT || fc_val_dtype(s, wide->a) != FUSEC_BF16) return x;
    const fc_instr *narrow = &s->ins.at[wide->a];
    return narrow->op == FC_OP_CVT && !fc_math_is_bf16(s, narrow->a) ? narrow->a : x;
}

/* v to nearest even of 8 bits, as long as 2^16 v is a number. 2^16 v - v, rounded, is off 2^16 v by
 * a multiple of what such numbers are multiples of. (Where it has one bit less than 2^16 v, v is so
 * near to a power of two that it becomes that.) Below 2^-126 bf16 has fewer than 8 bits, and a zero
 * is always +0. */
static fc_val short_of(fc_code *s, const fc_x *v) {
    const fusec_dtype TYPE = FUSEC_F32;
    return BUILD(FMA(v, N(0x1p16), NEG(MUL(v, N(0x1p16 - 1)))));
}

fc_val fc_math_between(fc_code *s, const fc_x *x, double low, double high) {
    const fc_val v = before_rounding(s, x->v);
    const fc_x *below = LEAF(fc_math_at_most(s, LEAF(v), high));
    const fc_x *y = LEAF(fc_math_at_least(s, below, low));
    return v == x->v ? y->v : short_of(s, y);
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
