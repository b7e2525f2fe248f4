/* test_oracle.c - that the oracle knows what it is asked. */
#include "ir/ops.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

/* Without a definition of its own the oracle takes any result for right. */
FC_TEST(oracle, defines_every_function) {
    for (fc_op op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_COUNT_; op++) {
        unsigned flags = fc_ops[op].flags;
        if (!fc_ops[op].name || fc_is_reduction(op) || flags & (FC_F_HIDDEN | FC_F_EXACT)) continue;
        if (!(flags & FC_F_TRANSCENDENTAL)) continue;
        fc_interval r;
        if (!fc_o_math(op, FUSEC_F32, .75, .5, &r))
            FC_FAIL("tests/support/oracle_math.c does not define %s", fc_ops[op].name);
        else if (!(r.hi - r.lo <= 1e-5) && r.lo == r.lo)
            FC_FAIL("%s of .75 (and .5) is anything from %g to %g", fc_ops[op].name, r.lo, r.hi);
    }
}
