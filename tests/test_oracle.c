/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_oracle.c - that the oracle knows what it is asked. */
#include "ir/ops.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

/* Without a definition of its own the oracle takes any result for right; the sweeps fail then. */
FC_TEST(oracle, defines_every_row) {
    for (fc_op op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_COUNT_; op++) {
        const bool bits = fc_ops[op].rule == FC_RULE_BITS || fc_ops[op].rule == FC_RULE_LOGIC;
        if (!fc_ops[op].name || fc_ops[op].flags & FC_F_HIDDEN) continue;
        if (!fc_o_defines(op, bits ? FUSEC_U8 : FUSEC_F32))
            FC_FAIL("tests/support/oracle* do not define %s", fc_ops[op].name);
    }
}

FC_TEST(oracle, functions_have_narrow_ranges) {
    for (fc_op op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_COUNT_; op++) {
        fc_interval r;
        if (!fc_o_shape_of(op) || !fc_o_math(op, FUSEC_F32, .75, .5, &r)) continue;
        if (!(r.hi - r.lo <= 1e-5) && r.lo == r.lo)
            FC_FAIL("%s of .75 (and .5) is anything from %g to %g", fc_ops[op].name, r.lo, r.hi);
    }
}

/* A row that nobody defined is not judged right by accident. */
FC_TEST(oracle, knows_what_it_does_not_know) {
    FC_EXPECT_FALSE(fc_o_defines(FC_OP_idiv_raw, FUSEC_I32));
    FC_EXPECT_FALSE(fc_o_defines(FC_OP_far_sin, FUSEC_F32));
    FC_EXPECT_FALSE(fc_o_defines(FC_OP_COUNT_, FUSEC_F32));
}
