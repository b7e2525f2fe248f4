/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rows.c - of objects that `fusec build` makes only: the functions that kernels call for each lane.
 *
 * "#log10" of ops.def calls what the row's column EVAL computes (runtime/compile/kernel_symbols.c),
 * which may be better than the library's: kernels get these names when the object is linked. */
#include <math.h>

#include "ir/eval.h"
#include "ir/far.h"
#include "ir/ops.h"
#include "codegen/llvm/llvm_facts.h"

#define PARAMETERS_1(T) T a
#define PARAMETERS_2(T) T a, T b
#define PARAMETERS_3(T) T a, T b, T c
#define USED_1          (void)a
#define USED_2          (void)a, (void)b
#define USED_3          (void)a, (void)b, (void)c

#define OP(name, arity, rule, flags, columns, doc)                                                 \
    float fc_row_##name##_f32(PARAMETERS_##arity(float));                                          \
    float fc_row_##name##_f32(PARAMETERS_##arity(float)) {                                         \
        USED_##arity;                                                                              \
        return columns;                                                                            \
    }
#define EVAL(f, i) f
#define F(name)    name##f
#include "ir/ops.def"
#undef F

#define OP(name, arity, rule, flags, columns, doc)                                                 \
    double fc_row_##name##_f64(PARAMETERS_##arity(double));                                        \
    double fc_row_##name##_f64(PARAMETERS_##arity(double)) {                                       \
        USED_##arity;                                                                              \
        return columns;                                                                            \
    }
#define EVAL(f, i) f
#define F(name)    name
#include "ir/ops.def"
#undef F

/* How long a task is follows from it, and no result: the tables behind it stay at home. */
bool fc_math_has(fc_op op, fusec_dtype t) {
    (void)op, (void)t;
    return true;
}
