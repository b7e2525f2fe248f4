/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel_symbols.c - see kernel_symbols.h.
 *
 * A row of ops.def whose column LLVM is "#name" (or "!name") calls `name`, and `name` is what its
 * column EVAL computes: "#log10" is the interpreter's function, which may be better than the
 * library's. */
#include "runtime/compile/kernel_symbols.h"

#include <math.h>

#include "ir/eval.h"
#include "ir/far.h"
#include "ir/ops.h"

/* ---- functions of the rows; those of rows without a column are never asked for --------------- */

#define PARAMETERS_1(T) T a
#define PARAMETERS_2(T) T a, T b
#define PARAMETERS_3(T) T a, T b, T c
#define USED_1          (void)a
#define USED_2          (void)a, (void)b
#define USED_3          (void)a, (void)b, (void)c

#define OP(name, arity, rule, flags, columns, doc)                                                 \
    static float row_##name##_f32(PARAMETERS_##arity(float)) {                                     \
        USED_##arity;                                                                              \
        return columns;                                                                            \
    }
#define EVAL(f, i) f
#define F(name)    name##f
#include "ir/ops.def"
#undef F

#define OP(name, arity, rule, flags, columns, doc)                                                 \
    static double row_##name##_f64(PARAMETERS_##arity(double)) {                                   \
        USED_##arity;                                                                              \
        return columns;                                                                            \
    }
#define EVAL(f, i) f
#define F(name)    name
#include "ir/ops.def"
#undef F

static const struct {
    fc_fn f32, f64;
} rows[FC_OP_FIRST_REDUCTION] = {
#define OP(name, ...) [FC_OP_##name] = {(fc_fn)row_##name##_f32, (fc_fn)row_##name##_f64},
#include "ir/ops.def"
};

static fc_fn of_row(const char *name) {
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++) {
        const char *column = fc_ops[op].llvm_f;
        if (!column || (column[0] != '#' && column[0] != '!')) continue;
        const size_t n = strlen(column + 1);
        if (strncmp(name, column + 1, n) != 0) continue;
        if (name[n] == 0) return rows[op].f64;
        if (strcmp(name + n, "f") == 0) return rows[op].f32;
    }
    return NULL;
}

/* ---- what no row names ----------------------------------------------------------------------- */

#define SYMBOL(name)                                                                               \
    { #name, (fc_fn)name }
#define BOTH(name) SYMBOL(name), SYMBOL(name##f)
static const struct {
    const char *name;
    fc_fn fn;
} others[] = {SYMBOL(fc_gcd),  SYMBOL(memcpy),  SYMBOL(memmove),    SYMBOL(memset), BOTH(ceil),
              BOTH(copysign),  BOTH(fabs),      BOTH(fc_far_lanes), BOTH(floor),    BOTH(fma),
              BOTH(fmax),      BOTH(fmin),      BOTH(ldexp),        BOTH(modf),     BOTH(nearbyint),
              BOTH(nextafter), BOTH(remainder), BOTH(rint),         BOTH(round),    BOTH(roundeven),
              BOTH(sincos),    BOTH(sqrt),      BOTH(trunc)};

fc_fn fc_kernel_symbol(const char *name) {
    for (size_t i = 0; i < FC_COUNT(others); i++)
        if (strcmp(others[i].name, name) == 0) return others[i].fn;
    return of_row(name);
}
