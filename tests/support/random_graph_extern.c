/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random_graph_extern.c - some rows of a random graph as functions of the user that compute the
 * same (RG_EXTERN), so that both graphs have equal results. Some have operands besides, which they
 * do not look at: they come as a list. */
#include "tests/support/random_graph.h"

#include "ir/external.h"

#define AS(name, T, U)                                                                             \
    static T add_##name(T a, T b) {                                                                \
        return (T)((U)a + (U)b);                                                                   \
    }                                                                                              \
    static T sub_##name(T a, T b) {                                                                \
        return (T)((U)a - (U)b);                                                                   \
    }                                                                                              \
    static T mul_##name(T a, T b) {                                                                \
        return (T)((U)a * (U)b);                                                                   \
    }                                                                                              \
    static T mul5_##name(T a, T b, T c, T d, T e) {                                                \
        (void)c, (void)d, (void)e;                                                                 \
        return (T)((U)a * (U)b);                                                                   \
    }
AS(f32, float, float)
AS(f64, double, double)
AS(i32, int32_t, uint32_t)
AS(i64, int64_t, uint64_t)

#define ROW(op, suffix, TYPE, T, U, sign)                                                          \
    {                                                                                              \
        .name = #op, .nargs = 2, .dtype = {TYPE, TYPE}, .result = TYPE, .slots = 1,                \
        .scalar = (void (*)(void))op##_##suffix,                                                   \
        .cuda = "__device__ " #T " " #op "(" #T " a, " #T " b) { return (" #T ")((" #U ")a " #sign \
                " (" #U ")b); }"                                                                   \
    }
#define ROWS(suffix, TYPE, T, U)                                                                   \
    ROW(add, suffix, TYPE, T, U, +), ROW(sub, suffix, TYPE, T, U, -),                              \
        ROW(mul, suffix, TYPE, T, U, *)
#define LONG(suffix, TYPE, T, U)                                                                   \
    {                                                                                              \
        .name = "mul", .nargs = 5, .dtype = {TYPE, TYPE, TYPE, TYPE, TYPE}, .result = TYPE,        \
        .slots = 1, .scalar = (void (*)(void))mul5_##suffix,                                       \
        .cuda = "__device__ " #T " mul(" #T " a, " #T " b, " #T ", " #T ", " #T ") { return (" #T  \
                ")((" #U ")a * (" #U ")b); }"                                                      \
    }

static fc_extern known[] = {
    LONG(f32, FUSEC_F32, float, float),      LONG(f64, FUSEC_F64, double, double),
    LONG(i32, FUSEC_I32, int, unsigned int), LONG(i64, FUSEC_I64, long long, unsigned long long),
    ROWS(f32, FUSEC_F32, float, float),      ROWS(f64, FUSEC_F64, double, double),
    ROWS(i32, FUSEC_I32, int, unsigned int), ROWS(i64, FUSEC_I64, long long, unsigned long long)};

fc_node rg_build_extern(fc_graph *g, fc_op op, const fc_node x[3]) {
    if (fc_ops[op].arity != 2 || !fc_usable(g, x[0]) || !fc_usable(g, x[1])) return FC_NONODE;
    for (size_t i = 0; i < FC_COUNT(known); i++) {
        fc_extern *e = &known[i];
        if (strcmp(e->name, fc_ops[op].name) != 0 || fc_at(g, x[0])->dtype != e->result ||
            fc_at(g, x[1])->dtype != e->result)
            continue;
        const fc_node all[5] = {x[0], x[1], x[1], x[0], x[0]};
        if (e->nargs > 2 && (x[0] + x[1]) % 2) continue; /* the same by its two operands alone */
        e->fn = fc_extern_by_element(e);
        e->user = e;
        return fc_build_extern(g, e, all);
    }
    return FC_NONODE;
}
