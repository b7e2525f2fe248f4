/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* row_apply.c - see row_apply.h. */
#include "tests/support/row_apply.h"

fusec_value fc_row_apply(fc_op op, fusec_value x, fusec_value y) {
#define ONE(name)                                                                                  \
    if (op == FC_OP_##name) return fusec_##name(x);
#define TWO(name)                                                                                  \
    if (op == FC_OP_##name) return fusec_##name(x, y);
    FUSEC_OPS_UNARY(ONE)
    FUSEC_OPS_BINARY(TWO)
#undef ONE
#undef TWO
    return (fusec_value){0};
}
