/* test_gradient_rows.c - the column GRAD of ops.def: every text is read. */
#include "passes/match.h"
#include "tests/support/test.h"

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
