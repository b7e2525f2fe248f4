/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand_reduce.c - what a reduction does with its accumulators: the rows RED of ops.def as code.
 *
 * In: accumulators and elements. Out: new accumulators, in the dtype fc_acc_dtype gives. The order
 * in which step and combine are applied is the business of the kernel (docs/semantics.md, section
 * 6). */
#include "ir/expand.h"

#include <math.h>

#include "ir/formula.h"
#include "ir/plant.h"

/* ---- dtypes ----------------------------------------------------------------------------- */

fusec_dtype fc_acc_dtype(fc_op red, fusec_dtype element) {
    switch (fc_ops[red].rule) {
    case FC_RULE_SUM:
        if (fc_is_float(element)) break;
        return fc_is_unsigned(element) ? FUSEC_U64 : FUSEC_I64;
    case FC_RULE_BOOL: return FUSEC_BOOL;
    case FC_RULE_MEAN:
        if (!fc_is_float(element)) return FUSEC_F32; /* the builders cast before */
        break;
    default: break;
    }
    return fc_dtypes[element].compute;
}

fusec_dtype fc_red_dtype(fc_op red, fusec_dtype element) {
    if (fc_ops[red].rule == FC_RULE_INDEX) return FUSEC_I64;
    return fc_is_half(element) ? element : fc_acc_dtype(red, element);
}

/* Besides values of the element's dtype there are an index and a number of elements,
 * always last. */
fusec_dtype fc_component_dtype(fc_op red, fusec_dtype t, int component) {
    const bool counted = fc_ops[red].rule == FC_RULE_INDEX || fc_ops[red].components == 3;
    return counted && component == fc_ops[red].components - 1 ? FUSEC_I64 : t;
}

/* ---- argmin and argmax ------------------------------------------------------------------ */

/* Where a minimum (or a maximum) starts: no element is beyond it. */
static uint64_t limit_bits(fusec_dtype t, bool is_min) {
    if (fc_is_float(t) && FC_PLANTED(max_start)) return is_min ? fc_const_max(t) : fc_const_min(t);
    if (fc_is_float(t)) return fc_const_bits(t, is_min ? INFINITY : -INFINITY);
    return is_min ? fc_const_max(t) : fc_const_min(t);
}

/* y is to be preferred to x: it is beyond x, or the first nan. */
static fc_val beats(fc_code *s, const fc_x *x, const fc_x *y, bool max) {
    const fc_x *beyond = LET(max ? GT(y, x) : LT(y, x));
    if (!fc_is_float(fc_val_dtype(s, x->v))) return beyond->v;
    if (FC_PLANTED(arg_nan)) return beyond->v;
    return BUILD(LOGICAL_OR(beyond, LOGICAL_AND(ISNAN(y), EQ(x, x))));
}

/* The first element is taken as it is: it may equal the start value, or be the only nan. */
static void fc_x_arg_step(fc_code *s, const fc_x *a[], const fc_x *x, const fc_x *i, bool max,
                          fc_val out[]) {
    const fc_x *take = LET(LOGICAL_OR(LT(a[1], INDEX(0)), LEAF(beats(s, a[0], x, max))));
    out[0] = BUILD(WHERE(take, x, a[0]));
    out[1] = BUILD(WHERE(take, i, a[1]));
}

static void fc_x_arg_combine(fc_code *s, const fc_x *a[], const fc_x *b[], bool max, fc_val out[]) {
    const fc_x *better = LEAF(beats(s, a[0], b[0], max));
    fc_val tie = BUILD(EQ(a[0], b[0]));
    if (fc_is_float(fc_val_dtype(s, a[0]->v)))
        tie = BUILD(LOGICAL_OR(LEAF(tie), LOGICAL_AND(ISNAN(a[0]), ISNAN(b[0]))));
    const fc_x *first =
        LET(LOGICAL_AND(LEAF(tie), FC_PLANT(arg_tie, GT(b[1], a[1]), LT(b[1], a[1]))));
    const fc_x *wins = LET(LOGICAL_OR(LT(a[1], INDEX(0)), LOGICAL_OR(better, first)));
    const fc_x *take = LET(LOGICAL_AND(GE(b[1], INDEX(0)), wins));
    out[0] = BUILD(WHERE(take, b[0], a[0]));
    out[1] = BUILD(WHERE(take, b[1], a[1]));
}

/* ---- variance --------------------------------------------------------------------------- */

/* One element more, after Welford. Its share of the mean, 1/n, is the same for all accumulators
 * that took as many elements, so that targets have it at hand and no element pays for a
 * division. */
static void fc_x_var_step(fc_code *s, const fc_x *a[], const fc_x *x, fc_val out[]) {
    const fusec_dtype t = fc_val_dtype(s, x->v);
    const fc_x *n = LET(ADD(a[2], INDEX(1)));
    const fc_x *d = LET(SUB(x, a[0]));
    const fc_x *mean = LET(ADD(a[0], MUL(d, DIV(CONSTANT(t, fc_const_bits(t, 1)), CVT(n, t)))));
    out[0] = mean->v;
    out[1] = BUILD(ADD(a[1], MUL(d, SUB(x, mean))));
    out[2] = n->v;
}

/* Two parts joined, after Chan. An empty part leaves the other one untouched. */
static void fc_x_var_combine(fc_code *s, const fc_x *a[], const fc_x *b[], fc_val out[]) {
    const fusec_dtype t = fc_val_dtype(s, a[0]->v);
    const fc_x *n = LET(ADD(a[2], b[2]));
    const fc_x *d = LET(SUB(b[0], a[0]));
    const fc_x *w = LET(DIV(CVT(b[2], t), CVT(n, t)));
    const fc_x *mean = LET(ADD(a[0], MUL(d, w)));
    const fc_x *between = LET(MUL(MUL(d, d), MUL(CVT(FC_PLANT(var_weight, b[2], a[2]), t), w)));
    const fc_x *m2 = LET(ADD(ADD(a[1], b[1]), between));
    const fc_x *no_a = LET(EQ(a[2], INDEX(0))), *no_b = LET(EQ(b[2], INDEX(0)));
    out[0] = BUILD(WHERE(no_b, a[0], WHERE(no_a, b[0], mean)));
    out[1] = BUILD(WHERE(no_b, a[1], WHERE(no_a, b[1], m2)));
    out[2] = n->v;
}

/* ---- the rows --------------------------------------------------------------------------- */

#define LIMIT(is_min)   CONSTANT(TYPE, limit_bits(TYPE, is_min))
#define SET(k, formula) R[k] = BUILD(formula)
#define A0              A[0]
#define A1              A[1]
#define B0              B[0]

void fc_red_init(fc_code *s, fc_op red, fusec_dtype TYPE, fc_val out[FC_MAX_COMPONENTS]) {
    for (int k = 0; k < FC_MAX_COMPONENTS; k++) out[k] = FC_NOVAL;
    switch (red) {
#define RED(name, rule, flags, components, columns, doc)                                           \
    case FC_OP_##name: {                                                                           \
        const fc_x *const start[components] = {columns};                                           \
        for (int k = 0; k < (components); k++) out[k] = BUILD(start[k]);                           \
        break;                                                                                     \
    }
#define INIT(...) __VA_ARGS__
#include "ir/ops.def"
    default: break;
    }
    if (FC_PLANTED(sum_start) && red == FC_OP_sum && fc_is_float(TYPE)) out[0] = BUILD(N(-0.0));
}

/* References to values, as formulas take them. */
typedef struct leaves {
    fc_x x[FC_MAX_COMPONENTS];
    const fc_x *at[FC_MAX_COMPONENTS];
} leaves;

static void leaves_of(leaves *l, fc_op red, const fc_val v[]) {
    for (int k = 0; k < FC_MAX_COMPONENTS; k++) {
        l->x[k] = (fc_x){.op = FC_OP_NONE, .v = k < fc_ops[red].components ? v[k] : FC_NOVAL};
        l->at[k] = &l->x[k];
    }
}

void fc_red_step(fc_code *s, fc_op red, fusec_dtype TYPE, const fc_val acc[], fc_val x, fc_val y,
                 fc_val i, fc_val R[FC_MAX_COMPONENTS]) {
    leaves a;
    leaves_of(&a, red, acc);
    const fc_x **A = a.at, *X = LEAF(x), *Y = LEAF(y), *I = LEAF(i);
    for (int k = 0; k < FC_MAX_COMPONENTS; k++) R[k] = FC_NOVAL;
    switch (red) {
#define RED(name, rule, flags, components, columns, doc)                                           \
    case FC_OP_##name:                                                                             \
        columns;                                                                                   \
        break;
#define STEP(...) __VA_ARGS__
#include "ir/ops.def"
    default: break;
    }
}

void fc_red_combine(fc_code *s, fc_op red, fusec_dtype t, const fc_val x[], const fc_val y[],
                    fc_val R[FC_MAX_COMPONENTS]) {
    (void)t;
    leaves a, b;
    leaves_of(&a, red, x);
    leaves_of(&b, red, y);
    const fc_x **A = a.at, **B = b.at;
    for (int k = 0; k < FC_MAX_COMPONENTS; k++) R[k] = FC_NOVAL;
    switch (red) {
#define RED(name, rule, flags, components, columns, doc)                                           \
    case FC_OP_##name:                                                                             \
        columns;                                                                                   \
        break;
#define COMBINE(...) __VA_ARGS__
#include "ir/ops.def"
    default: break;
    }
}

fc_val fc_red_finish(fc_code *s, fc_op red, fusec_dtype TYPE, const fc_val acc[], fc_val count) {
    leaves a;
    leaves_of(&a, red, acc);
    if (FC_PLANTED(finish_count)) count = BUILD(ADD(LEAF(count), INDEX(1)));
    const fc_x **A = a.at, *COUNT = LEAF(count);
    switch (red) {
#define RED(name, rule, flags, components, columns, doc)                                           \
    case FC_OP_##name:                                                                             \
        return BUILD(columns);
#define FINISH(...) __VA_ARGS__
#include "ir/ops.def"
    default: return FC_NOVAL;
    }
}
