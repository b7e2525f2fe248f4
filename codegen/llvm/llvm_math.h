/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_math.h - functions as vector code: formulas of primitives in place of calls of libm.
 *
 * The rows stay rows; fc_legalize replaces them through fc_code.rewrite, so that the emitter sees
 * additions, products, fma, bit operations and selects only, and a value has the same bits in every
 * lane, at every vector width and on every processor. All of it needs fma in hardware; a machine
 * without gets libm.
 *
 * One file for each family (math_exp.c, ...) with its polynomials in math_*_data.h, which
 * scripts/math-coefficients makes. The bounds are those of docs/semantics.md, section 9; what was
 * measured stands in the table of llvm_math.c.
 *
 * "wide" are f32 functions computed in f64, where all care about rounding is unnecessary. */
#ifndef FUSEC_CODEGEN_LLVM_MATH_H
#define FUSEC_CODEGEN_LLVM_MATH_H

#include <math.h>

#include "codegen/llvm/llvm_facts.h"
#include "ir/formula.h"

/* For fc_code.rewrite; NULL when the machine has no fma. */
fc_rewrite fc_math_rewrite(const fc_machine *m);
/* The function of a row on f32 or f64; FC_NOVAL when there is no vector code for it. */
fc_val fc_math_row(fc_code *s, fc_op op, const fc_val v[3]);

/* ---- for the math_*.c files, which have s and TYPE in scope as ir/formula.h wants it */

#define ROW3(row, x, y, z) (&(const fc_x){.op = FC_OP_##row, .a = (x), .b = (y), .c = (z)})
/* c[0] + c[1] z + c[2] z^2 + ... */
#define POLY(z, c) LEAF(fc_math_poly(s, z, c, FC_COUNT(c)))

fc_val fc_math_poly(fc_code *s, const fc_x *z, const double *c, size_t n);

/* Adding and taking away one of these rounds to a whole number (to even); in between the low bits
 * are that number. Good below 2^22 and 2^51. */
#define ROUND_F32 0x1.8p23
#define ROUND_F64 0x1.8p52
/* The same, and the low bits are the number plus the bias of exponents: shifted up, they are the
 * power of two. */
#define POWER_F32 (ROUND_F32 + 127)
#define POWER_F64 (ROUND_F64 + 1023)

/* 2^x and e^x in f64 for f32 results, |x| below 900. */
fc_val fc_math_exp2_wide(fc_code *s, const fc_x *x);
fc_val fc_math_exp_wide(fc_code *s, const fc_x *x);
/* e^x in f32, |x| below 80 (or nan). */
fc_val fc_math_exp_near(fc_code *s, const fc_x *x);
/* The same in f64, |x| below 700. */
fc_val fc_math_exp_near_f64(fc_code *s, const fc_x *x);
/* 2^n in f64 from the number n + POWER_F64; |n| <= 1022. */
fc_val fc_math_two_to_f64(fc_code *s, const fc_x *n);
/* 2^(x + more) in f64, |x| <= 1100 and |more| below its last place. */
fc_val fc_math_exp2_sum_f64(fc_code *s, const fc_x *x, const fc_x *more);
/* e^(x + lo) times / over in f64, rounded to a subnormal once; x from -1200 to 700. */
fc_val fc_math_exp_times_f64(fc_code *s, const fc_x *x, const fc_x *lo, const fc_x *times,
                             const fc_x *over);
/* x = 2^e (1 + f), 1 + f from sqrt(1/2) to sqrt(2); x is f64, positive and normal, or with _any not
 * normal, too. */
typedef struct fc_math_parts {
    fc_val e, f;
} fc_math_parts;
fc_math_parts fc_math_split(fc_code *s, const fc_x *x);
fc_math_parts fc_math_split_any(fc_code *s, const fc_x *x);
/* log(1 + f) of such an f in f64, for f32 results. */
fc_val fc_math_log_of_sum(fc_code *s, const fc_x *f);
/* The smaller of x and a constant; nan stays. */
fc_val fc_math_at_most(fc_code *s, const fc_x *x, double limit);
fc_val fc_math_at_least(fc_code *s, const fc_x *x, double limit);
/* Both, of an f32, for functions to which zeros and what bf16 has less than 8 bits for are all one.
 * An x that was rounded to bf16, as the limits are, is cut off first, and then rounded by two
 * operations in place of four or five. */
fc_val fc_math_between(fc_code *s, const fc_x *x, double low, double high);

/* Whether an f32 is the result of a row on nothing but values of bf16; whether it is one itself. */
bool fc_math_of_bf16(const fc_code *c, fc_val v);
bool fc_math_is_bf16(const fc_code *c, fc_val v);
/* The product of the sine and the cosine of one operand; FC_NOVAL if a and b are not these. */
fc_val fc_math_sin_times_cos(fc_code *s, fc_val a, fc_val b);

/* No value of |v| is above this, as far as its formula says; infinity if nothing is known. */
double fc_math_bound(const fc_code *s, fc_val v);

typedef fc_val fc_math_fn1(fc_code *s, const fc_x *x);
typedef fc_val fc_math_fn2(fc_code *s, const fc_x *x, const fc_x *y);
fc_math_fn1 fc_math_exp10_f32, fc_math_exp10_f64;
fc_math_fn1 fc_math_exp_f32, fc_math_exp2_f32, fc_math_expm1_f32;
fc_math_fn1 fc_math_exp_f64, fc_math_exp2_f64, fc_math_expm1_f64;
fc_math_fn1 fc_math_sinh_f32, fc_math_cosh_f32, fc_math_tanh_f32, fc_math_tanh_f64;
fc_math_fn1 fc_math_log_f32, fc_math_log2_f32, fc_math_log10_f32, fc_math_log1p_f32;
fc_math_fn1 fc_math_log_f64, fc_math_log2_f64, fc_math_log10_f64, fc_math_log1p_f64;
fc_math_fn1 fc_math_asinh_f32, fc_math_acosh_f32, fc_math_atanh_f32, fc_math_cbrt_f32;
fc_math_fn1 fc_math_sinh_f64, fc_math_cosh_f64;
fc_math_fn1 fc_math_asinh_f64, fc_math_acosh_f64, fc_math_atanh_f64, fc_math_cbrt_f64;
fc_math_fn2 fc_math_pow_f32, fc_math_hypot_f32, fc_math_pow_f64, fc_math_hypot_f64;
fc_math_fn1 fc_math_atan_f32, fc_math_atan_f64;
/* One formula for both dtypes. */
fc_math_fn1 fc_math_sin, fc_math_cos, fc_math_tan, fc_math_asin, fc_math_acos;
fc_math_fn2 fc_math_atan2_f32, fc_math_atan2_f64;
fc_math_fn1 fc_math_tgamma_f32, fc_math_lgamma_f32;
fc_math_fn1 fc_math_erf_f32, fc_math_erfc_f32, fc_math_erf_f64, fc_math_erfc_f64;

#endif
