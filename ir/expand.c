/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand.c - an elementwise row written with other rows: the EXPAND column of ops.def as code.
 *
 * In: a row and its operands. Out: instructions with the same result, bit for bit. A row on bool
 * has no integer column of its own; it is one of a few words of logic, here. */
#include "ir/expand.h"

#include <math.h>

#include "ir/formula.h"

fusec_dtype fc_x_unsigned(fusec_dtype t) {
    switch (fc_dtypes[t].bits) {
    case 8: return FUSEC_U8;
    case 16: return FUSEC_U16;
    case 32: return FUSEC_U32;
    case 64: return FUSEC_U64;
    default: return t;
    }
}

fc_val fc_x_build(fc_code *s, const fc_x *x) {
    if (x == NULL) return FC_NOVAL;
    if (x->op == FC_OP_NONE) return x->v;
    if (x->op == FC_OP_CONST) return fc_val_bits(s, x->t, x->bits);
    const fc_val a = fc_x_build(s, x->a);
    if (x->op == FC_OP_CVT) return fc_val_cvt(s, a, x->t);
    if (x->op == FC_OP_BITCAST) return fc_val_bitcast(s, a, x->t);
    const fc_val b = fc_x_build(s, x->b);
    return fc_val_op(s, x->op, a, b, fc_x_build(s, x->c));
}

/* + and * on bool are or and and; false is below true. */
static fc_val expand_bool(fc_code *s, fc_op op, const fc_x *X, const fc_x *Y) {
    switch (op) {
    case FC_OP_add:
    case FC_OP_maximum:
    case FC_OP_fmax:
    case FC_OP_bit_or: return BUILD(LOGICAL_OR(X, Y));
    case FC_OP_mul:
    case FC_OP_minimum:
    case FC_OP_fmin:
    case FC_OP_bit_and: return BUILD(LOGICAL_AND(X, Y));
    case FC_OP_bit_xor: return BUILD(NE(X, Y));
    case FC_OP_bit_not: return BUILD(LOGICAL_NOT(X));
    case FC_OP_gt:
    case FC_OP_shl: /* the width is 1: shifting by true leaves nothing */
    case FC_OP_shr: return BUILD(LOGICAL_AND(X, LOGICAL_NOT(Y)));
    case FC_OP_lt: return BUILD(LOGICAL_AND(LOGICAL_NOT(X), Y));
    case FC_OP_ge: return BUILD(LOGICAL_OR(X, LOGICAL_NOT(Y)));
    case FC_OP_le: return BUILD(LOGICAL_OR(LOGICAL_NOT(X), Y));
    case FC_OP_isnan:
    case FC_OP_signbit:
    case FC_OP_isinf: return BUILD(BOOLEAN(false));
    case FC_OP_isfinite: return BUILD(BOOLEAN(true));
    default: return FC_NOVAL; /* the rule of every other row refuses bool */
    }
}

fc_val fc_expand(fc_code *s, fc_op op, fc_val x, fc_val y, fc_val z) {
    const fusec_dtype TYPE = fc_val_dtype(s, fc_ops[op].rule == FC_RULE_SELECT ? y : x);
    const fc_x *const X = LEAF(x), *const Y = LEAF(y), *const Z = LEAF(z);
    const bool on_float = fc_is_float(TYPE);
    if (TYPE == FUSEC_BOOL) return expand_bool(s, op, X, Y);
    switch (op) {
#define OP(name, arity, rule, flags, columns, doc)                                                 \
    case FC_OP_##name:                                                                             \
        return BUILD(columns);
#define EXPAND(f, i) (on_float ? (const fc_x *)(f) : (const fc_x *)(i))
#include "ir/ops.def"
    default: return FC_NOVAL;
    }
}
