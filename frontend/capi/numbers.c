/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* numbers.c - which numbers of an expression are arguments of its kernel, and which are part of it.
 */
#include "frontend/capi/key.h"

#include "ir/code.h"

bool fc_number_simplifies(fusec_dtype t, uint64_t bits) {
    const double x = fc_const_value(t, bits);
    return t == FUSEC_BOOL || x == 0 || x == 1 || x == -1 || x == 2 || x == 0.5;
}

bool fc_number_is_structure(fc_op op, int operand, fusec_dtype t, uint64_t bits) {
    if (op == FC_OP_BROADCAST) return false;
    if (!fc_is_elementwise((int)op)) return true;
    if (operand != 1) return false;
    if (op == FC_OP_pow || op == FC_OP_float_power) {
        const double x = fc_const_value(t, bits);
        return x >= -64 && x <= 64 && x == (double)(int)x;
    }
    return !fc_is_float(t) && (op == FC_OP_floordiv || op == FC_OP_mod || op == FC_OP_fmod);
}
