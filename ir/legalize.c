/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* legalize.c - code as one target can run it.
 *
 * In: target-neutral code: rows, casts, loads. Out: the same values made of rows that have a column
 * for the target and of FC_OP_CVT. The work is done by the constructors of ir/code.c, which expand
 * while they add as soon as the code has a target; expansions of expansions end because ops.def has
 * no cycles. */
#include "ir/expand.h"

bool fc_target_has(fc_target_kind target, fc_op op, fusec_dtype t) {
    const fc_op_info *row = &fc_ops[op];
    const bool on_float = fc_is_float(t);
    if (!fc_is_elementwise(op) || fc_is_half(t)) return false;
    if (t == FUSEC_BOOL && row->rule != FC_RULE_LOGIC && op != FC_OP_eq && op != FC_OP_ne &&
        op != FC_OP_where)
        return false;
    switch (target) {
    case FC_TARGET_CUDA: return (on_float ? row->cuda_f : row->cuda_i) != NULL;
    case FC_TARGET_LLVM:
        if (on_float) return row->llvm_f != NULL;
        return (fc_is_signed(t) ? row->llvm_s : row->llvm_u) != NULL;
    case FC_TARGET_INTERP: return on_float ? row->eval_f : row->eval_i;
    }
    return false;
}

bool fc_op_foldable(fc_op op) {
    if (op == FC_OP_CAST || op == FC_OP_BITCAST) return true;
    return fc_is_elementwise(op) && (fc_ops[op].flags & FC_F_EXACT);
}

/* ---- all code ---------------------------------------------------------------------------- */

static fc_val add(fc_code *to, const fc_instr *i, fc_val a, fc_val b, fc_val c) {
    const fusec_dtype t = (fusec_dtype)i->dtype;
    if (fc_is_elementwise(i->op)) {
        to->node16 = (uint8_t)i->imm;
        const fc_val r = fc_val_op(to, (fc_op)i->op, a, b, c);
        to->node16 = 0;
        return r;
    }
    switch (i->op) {
    case FC_OP_CAST: return fc_val_cast(to, a, t);
    case FC_OP_CVT: return fc_val_cvt(to, a, t);
    case FC_OP_BITCAST: return fc_val_bitcast(to, a, t);
    case FC_OP_LOAD_AT:
    case FC_OP_INSIDE:
    case FC_OP_PUT_AT:
    case FC_OP_EXTERN:
    case FC_OP_RECORD:
    case FC_OP_ROUNDS:
    case FC_OP_RESULT: {
        fc_instr same = *i;
        same.a = a;
        same.b = b;
        same.c = c;
        return fc_code_add(to, same);
    }
    default: return fc_code_add(to, *i); /* loads, parameters, constants: leaves */
    }
}

fusec_status fc_legalize(const fc_code *from, fc_target_kind target, fc_code *to, fc_val *map) {
    to->target = (int)target;
    for (size_t k = 0; k < from->ins.len; k++) {
        const fc_instr *i = &from->ins.at[k];
        const fc_val a = i->a < k ? map[i->a] : FC_NOVAL;
        const fc_val b = i->b < k ? map[i->b] : FC_NOVAL;
        const fc_val c = i->c < k ? map[i->c] : FC_NOVAL;
        map[k] = add(to, i, a, b, c);
    }
    return to->status != FUSEC_OK ? to->status : from->status;
}
