/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* eval.h - computes one row on blocks of values: the interpreter's inner loops and constant
 * folding.
 *
 * Blocks hold values in the compute representation: bool uint8_t 0/1, integers as they are, f16 and
 * bf16 as float (with the narrow type's bits), f32 float, f64 double. fc_eval_size gives the bytes
 * of one value. */
#ifndef FUSEC_IR_EVAL_H
#define FUSEC_IR_EVAL_H

#include "ir/code.h"

size_t fc_eval_size(fusec_dtype t);

/* out[i] = op(a[i], b[i], c[i]) for i < n. `t` is the dtype of the operands (for FC_OP_where of b
 * and c), `to` the dtype of the result (used by FC_OP_CVT and FC_OP_BITCAST only). Rows without an
 * EVAL column are not accepted (fc_target_has(FC_TARGET_INTERP, ...)), nor conversions other than
 * fc_cvt_direct; false then. Operands the row does not have may be NULL. out may be an operand
 * whose values are not smaller. */
bool fc_eval(fc_op op, fusec_dtype t, fusec_dtype to, size_t n, const void *a, const void *b,
             const void *c, void *out);

/* Storage format to block and back. `stride` in elements of the storage type. */
void fc_eval_load(fusec_dtype t, size_t n, const void *src, int64_t stride, void *block);
void fc_eval_store(fusec_dtype t, size_t n, const void *block, void *dst, int64_t stride);

/* Folds `op` (a row, FC_OP_CAST or FC_OP_BITCAST) on constants given as storage bits, as kernels
 * compute it; false if it can't be folded. On integers and bool every row is in the exact class, on
 * floats those with FC_F_EXACT. `operand` is the dtype of the operands (for where of the
 * last two). */
bool fc_fold(fc_op op, fusec_dtype operand, fusec_dtype result, const uint64_t bits[3],
             uint64_t *out);

/* The functions of the C library that miss the bound of docs/semantics.md or read a signalling nan
 * in their own way. */
double fc_log10(double x);
#define fc_log10f log10f
#define fc_sinf   sinf
#define fc_cosf   cosf
#define fc_tanf   tanf
#define fc_tgamma tgamma
float fc_exp10f(float x);
double fc_exp10(double x);
float fc_lgammaf(float x);
double fc_lgamma(double x);
double fc_sin(double x);
double fc_cos(double x);
double fc_tan(double x);
float fc_tgammaf(float x);
double fc_pow(double x, double y);
float fc_powf(float x, float y);
double fc_scale(double x, double n);
float fc_scalef(float x, float n);
double fc_hypot(double x, double y);
float fc_hypotf(float x, float y);

uint64_t fc_gcd(uint64_t a, uint64_t b); /* what kernels on a CPU call, too */

#endif
