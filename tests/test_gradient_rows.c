/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gradient_rows.c - the column GRAD of ops.def: every text is read, and is the derivative that
 * central differences see. */
#include <math.h>
#include <stdio.h>

#include "passes/match.h"
#include "tests/support/gradient_box.h"

FC_TEST(gradient_rows, every_text_is_read) {
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++)
        for (unsigned k = 0; k < fc_ops[op].arity; k++) {
            const fc_formula *f;
            fc_error e = {0};
            FC_ASSERT_OK(fc_gradient_formula(op, k, &f, &e), &e);
            FC_EXPECT_EQ_U64(f->terms == NULL, !strcmp(fc_ops[op].grad[k], "none"));
        }
}

/* What may stand without a guard: see fc_formula. */
FC_TEST(gradient_rows, what_is_linear_without_factors_is_safe) {
    const fc_formula *f;
    fc_error e = {0};
    FC_ASSERT_OK(fc_gradient_formula(FC_OP_add, 0, &f, &e), &e);
    FC_EXPECT_TRUE(f->safe && !f->zero && !f->chooses);
    FC_ASSERT_OK(fc_gradient_formula(FC_OP_sub, 1, &f, &e), &e);
    FC_EXPECT_TRUE(f->safe);
    FC_ASSERT_OK(fc_gradient_formula(FC_OP_where, 1, &f, &e), &e);
    FC_EXPECT_TRUE(f->safe && f->chooses);
    FC_ASSERT_OK(fc_gradient_formula(FC_OP_mul, 0, &f, &e), &e);
    FC_EXPECT_FALSE(f->safe);
    FC_ASSERT_OK(fc_gradient_formula(FC_OP_cos, 0, &f, &e), &e);
    FC_EXPECT_FALSE(f->safe);
    FC_ASSERT_OK(fc_gradient_formula(FC_OP_floor, 0, &f, &e), &e);
    FC_EXPECT_TRUE(f->zero);
}

/* ---- against differences ------------------------------------------------------------------------
 *
 * Each operand runs over these values, so that every combination of them is met; those of one
 * operand lie where no other operand has its own, so that nothing compares equal. The slope is
 * taken between points at h and h/2 on both sides and extrapolated; a point where the two
 * estimates are far apart is a kink or a pole and does not count. */
enum { VALUES = 11, MOST = VALUES * VALUES * VALUES };
static const double points[3][VALUES] = {
    {-3.2, -1.7, -.81, -.27, -.013, .021, .33, .74, 1.31, 2.4, 5.7},
    {-2.9, -1.4, -.73, -.21, -.017, .027, .37, .88, 1.57, 2.7, 4.6},
    {-2.6, -1.1, -.66, -.31, -.011, .033, .41, .93, 1.81, 2.2, 3.9}};
static const double H = 0x1p-16;

typedef struct row {
    gx x;
    fc_op op;
    unsigned first, arity; /* operands that are floats */
    int count;
    fc_node r, d[3]; /* the result, and the derivatives */
} row;

static int power(unsigned n) {
    return n == 0 ? 1 : VALUES * power(n - 1);
}

static void build_row(row *t, fc_op op) {
    fc_node in[3] = {FC_NONODE, FC_NONODE, FC_NONODE};
    double data[MOST];
    memset(t, 0, sizeof *t);
    gx_init(&t->x);
    t->op = op;
    t->first = op == FC_OP_where;
    t->arity = fc_ops[op].arity;
    t->count = power(t->arity);
    for (unsigned k = 0; k < t->arity; k++) {
        for (int i = 0, step = power(k); i < t->count; i++) data[i] = points[k][i / step % VALUES];
        in[k] = gx_in(&t->x, t->count, 0, 0, data, 0);
    }
    fc_graph *g = &t->x.g;
    if (t->first) in[0] = gb2(g, FC_OP_lt, in[0], gbn(g, in[0], 0));
    t->r = fc_build_op(g, op, in[0], in[1], in[2]);
    fc_build_output(g, "r", t->r);
    FC_ASSERT_TRUE(fc_vjp(g, t->r, fc_build_number(g, FUSEC_F64, 1), t->arity - t->first,
                          in + t->first, t->d + t->first));
    for (unsigned k = t->first; k < t->arity; k++) {
        char name[16];
        snprintf(name, sizeof name, "d%u", k);
        fc_build_output(g, name, t->d[k]);
    }
}

/* The results with operand k moved by `by`. */
static void results(row *t, unsigned k, double by, double *out) {
    double kept[MOST];
    memcpy(kept, t->x.data[k], sizeof kept);
    for (int i = 0; i < t->count; i++) t->x.data[k][i] += by;
    gx_run(&t->x);
    for (int i = 0; i < t->count; i++) out[i] = gx_at(&t->x, t->r, i);
    memcpy(t->x.data[k], kept, sizeof kept);
}

static void check_operand(row *t, unsigned k) {
    double a[4][MOST], got[MOST];
    int met = 0;
    const double step[4] = {-H, -H / 2, H / 2, H};
    for (int s = 0; s < 4; s++) results(t, k, step[s], a[s]);
    gx_run(&t->x);
    for (int i = 0; i < t->count; i++) got[i] = gx_at(&t->x, t->d[k], i);
    for (int i = 0; i < t->count; i++) {
        const double wide = (a[3][i] - a[0][i]) / (2 * H), near = (a[2][i] - a[1][i]) / H;
        const double d = (4 * near - wide) / 3, size = 1 + fabs(d);
        if (!isfinite(d) || fabs(near - wide) > 1e-3 * size) continue;
        met++;
        /* what the two estimates differ by is the square of what is left */
        if (fabs(got[i] - d) <= 1e-8 * size + .01 * fabs(near - wide)) continue;
        FC_FAIL("operand %u of %s at %g, %g, %g: %.17g, and differences say %.17g", k,
                fc_ops[t->op].name, t->x.data[0][i], t->x.data[1][i], t->x.data[2][i], got[i], d);
        return;
    }
    if (met < t->count / 4) FC_FAIL("%s: only %d of %d points", fc_ops[t->op].name, met, t->count);
}

static bool derives_floats(fc_op op) {
    const fc_rule rule = fc_ops[op].rule;
    if (fc_ops[op].flags & FC_F_HIDDEN || !strcmp(fc_ops[op].grad[0], "none")) return false;
    return rule == FC_RULE_ARITH || rule == FC_RULE_FLOAT || rule == FC_RULE_ANY ||
           rule == FC_RULE_SELECT;
}

FC_TEST(gradient_rows, every_text_is_the_slope) {
    for (fc_op op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++) {
        static row t;
        if (!derives_floats(op)) continue;
        build_row(&t, op);
        for (unsigned k = t.first; k < t.arity; k++) check_operand(&t, k);
        gx_free(&t.x);
    }
}
