/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* formula.h - how expansions are written: WHERE(LT(x, N(0)), NEG(x), x).
 *
 * A formula is a small tree of compound literals in the caller's frame; fc_x_build turns it into
 * code, always from left to right. (Nested calls that add code directly would leave the order of
 * instructions to the C compiler, and generated text has to be the same whoever compiled fusec.)
 *
 * The literals live until their block ends, and the branch of an `if` is a block of its own: what
 * is chosen there is kept as a fc_val.
 *
 * Used by ir/expand*.c and codegen/llvm/math_*.c, which have in scope: s, the code; TYPE, the dtype
 * of N(v). The names in capitals are the rows of ops.def; a row that an expansion needs gets its
 * line here. */
#ifndef FUSEC_IR_FORMULA_H
#define FUSEC_IR_FORMULA_H

#include "ir/code.h"

typedef struct fc_x {
    fc_op op; /* FC_OP_NONE: the value v; FC_OP_CONST: bits of dtype t; else a row or a conversion
                 to t */
    fc_val v;
    fusec_dtype t;
    uint64_t bits;
    const struct fc_x *a, *b, *c;
} fc_x;

/* Adds the formula to the code. The depth is that of a formula in the source, not of a user's
 * program. */
fc_val fc_x_build(fc_code *s, const fc_x *x);

#define LEAF(value)         (&(const fc_x){.op = FC_OP_NONE, .v = (value)})
#define CALL(value)         LEAF(value)
#define BUILD(x)            fc_x_build(s, x)
#define LET(x)              LEAF(BUILD(x)) /* a step of a longer computation */
#define CONSTANT(dt, b)     (&(const fc_x){.op = FC_OP_CONST, .t = (dt), .bits = (b)})
#define N(value)            CONSTANT(TYPE, fc_const_bits(TYPE, value))
#define BOOLEAN(value)      CONSTANT(FUSEC_BOOL, (value) ? 1 : 0)
#define INDEX(value)        CONSTANT(FUSEC_I64, (uint64_t)(int64_t)(value))
#define ROW1(row, x)        (&(const fc_x){.op = FC_OP_##row, .a = (x)})
#define ROW2(row, x, y)     (&(const fc_x){.op = FC_OP_##row, .a = (x), .b = (y)})
#define FMA(x, y, z)        (&(const fc_x){.op = FC_OP_fma, .a = (x), .b = (y), .c = (z)})
#define ROW3(row, x, y, z)  (&(const fc_x){.op = FC_OP_##row, .a = (x), .b = (y), .c = (z)})
#define CVT(x, dt)          (&(const fc_x){.op = FC_OP_CVT, .t = (dt), .a = (x)})
#define BITCAST(x, dt)      (&(const fc_x){.op = FC_OP_BITCAST, .t = (dt), .a = (x)})
#define WHERE(x, y, z)      (&(const fc_x){.op = FC_OP_where, .a = (x), .b = (y), .c = (z)})
#define ADD(x, y)           ROW2(add, x, y)
#define SUB(x, y)           ROW2(sub, x, y)
#define MUL(x, y)           ROW2(mul, x, y)
#define DIV(x, y)           ROW2(div, x, y)
#define FMOD(x, y)          ROW2(fmod, x, y)
#define NEG(x)              ROW1(neg, x)
#define ABS(x)              ROW1(abs, x)
#define COPYSIGN(x, y)      ROW2(copysign, x, y)
#define MINIMUM(x, y)       ROW2(minimum, x, y)
#define MAXIMUM(x, y)       ROW2(maximum, x, y)
#define FLOOR(x)            ROW1(floor, x)
#define CEIL(x)             ROW1(ceil, x)
#define TRUNC(x)            ROW1(trunc, x)
#define ROUND(x)            ROW1(round, x)
#define SQRT(x)             ROW1(sqrt, x)
#define EXP(x)              ROW1(exp, x)
#define EXPM1(x)            ROW1(expm1, x)
#define LOG(x)              ROW1(log, x)
#define LOG1P(x)            ROW1(log1p, x)
#define SIN(x)              ROW1(sin, x)
#define COS(x)              ROW1(cos, x)
#define TAN(x)              ROW1(tan, x)
#define ATAN(x)             ROW1(atan, x)
#define TANH(x)             ROW1(tanh, x)
#define POW(x, y)           ROW2(pow, x, y)
#define EXP2(x)             ROW1(exp2, x)
#define LGAMMA_RAW(x)       ROW1(lgamma_raw, x)
#define EQ(x, y)            ROW2(eq, x, y)
#define NE(x, y)            ROW2(ne, x, y)
#define LT(x, y)            ROW2(lt, x, y)
#define LE(x, y)            ROW2(le, x, y)
#define GT(x, y)            ROW2(gt, x, y)
#define GE(x, y)            ROW2(ge, x, y)
#define ISNAN(x)            ROW1(isnan, x)
#define ISINF(x)            ROW1(isinf, x)
#define LOGICAL_AND(x, y)   ROW2(logical_and, x, y)
#define LOGICAL_OR(x, y)    ROW2(logical_or, x, y)
#define LOGICAL_NOT(x)      ROW1(logical_not, x)
#define BIT_AND(x, y)       ROW2(bit_and, x, y)
#define BIT_OR(x, y)        ROW2(bit_or, x, y)
#define BIT_XOR(x, y)       ROW2(bit_xor, x, y)
#define IDIV_RAW(x, y)      ROW2(idiv_raw, x, y)
#define IREM_RAW(x, y)      ROW2(irem_raw, x, y)
#define POPCOUNT(x)         ROW1(popcount, x)
#define PHILOX_RAW(x, y, z) ROW3(philox_raw, x, y, z)
#define GCD_RAW(x, y)       ROW2(gcd_raw, x, y)
#define NEAR_DIV(x, y)      ROW2(near_div, x, y)
#define NEAR_SQRT(x)        ROW1(near_sqrt, x)
#define SHL_RAW(x, y)       ROW2(shl_raw, x, y)
#define SHR_RAW(x, y)       ROW2(shr_raw, x, y)

/* The unsigned integer dtype of the same width. */
fusec_dtype fc_x_unsigned(fusec_dtype t);

/* ---- what the rows of ops.def call: ir/expand_arith.c ---------------------------------------- */

fc_val fc_x_floordiv_f(fc_code *s, const fc_x *x, const fc_x *y);
fc_val fc_x_floordiv_i(fc_code *s, const fc_x *x, const fc_x *y);
fc_val fc_x_mod_f(fc_code *s, const fc_x *x, const fc_x *y);
fc_val fc_x_mod_i(fc_code *s, const fc_x *x, const fc_x *y);
fc_val fc_x_fmod_i(fc_code *s, const fc_x *x, const fc_x *y);
fc_val fc_x_minmax_f(fc_code *s, const fc_x *x, const fc_x *y, bool max);
fc_val fc_x_pow_i(fc_code *s, const fc_x *x, const fc_x *n);
fc_val fc_x_gcd(fc_code *s, const fc_x *x, const fc_x *y);
fc_val fc_x_bitwise_count(fc_code *s, const fc_x *x);
fc_val fc_x_lcm(fc_code *s, const fc_x *x, const fc_x *y);
fc_val fc_x_shl(fc_code *s, const fc_x *x, const fc_x *n);
fc_val fc_x_shr(fc_code *s, const fc_x *x, const fc_x *n);

fc_val fc_x_mulhi(fc_code *s, const fc_x *x, const fc_x *y);

/* ---- ir/expand_random.c -----------------------------------------------------------------------
 */

fc_val fc_x_philox(fc_code *s, const fc_x *i, const fc_x *seed, const fc_x *stream);
fc_val fc_x_box_muller(fc_code *s, const fc_x *u, const fc_x *v);
fc_val fc_x_normal(fc_code *s, const fc_x *u, const fc_x *v);

/* ---- ir/expand_float.c ------------------------------------------------------------------------
 */

fc_val fc_x_signbit(fc_code *s, const fc_x *x);
fc_val fc_x_mantissa(fc_code *s, const fc_x *x);
fc_val fc_x_exponent(fc_code *s, const fc_x *x);
fc_val fc_x_ldexp(fc_code *s, const fc_x *x, const fc_x *n);
fc_val fc_x_logaddexp(fc_code *s, const fc_x *x, const fc_x *y, bool base2);

#endif
