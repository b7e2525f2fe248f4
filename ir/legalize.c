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

/* ---- f32 to bf16 ------------------------------------------------------------------------- */

/* Rows that give one of their operands, its size or sign changed, or it without its fraction. */
static bool needs_no_rounding(uint16_t op) {
    switch (op) {
    case FC_OP_neg:
    case FC_OP_abs:
    case FC_OP_sign:
    case FC_OP_copysign:
    case FC_OP_minimum:
    case FC_OP_maximum:
    case FC_OP_fmin:
    case FC_OP_fmax:
    case FC_OP_clip:
    case FC_OP_relu:
    case FC_OP_floor:
    case FC_OP_ceil:
    case FC_OP_trunc:
    case FC_OP_round:
    case FC_OP_where: return true;
    default: return false;
    }
}

static bool is_bf16(const fc_code *c, fc_val v) {
    const fc_instr *i = &c->ins.at[v];
    if (i->op == FC_OP_CONST) return i->dtype == FUSEC_F32 && (i->imm & 0xffff) == 0;
    return i->op == FC_OP_CVT && i->dtype == FUSEC_F32 && fc_val_dtype(c, i->a) == FUSEC_BF16;
}

fc_narrowing fc_narrowing_of(const fc_code *c, fc_val v) {
    const fc_instr *i = &c->ins.at[v];
    if (!fc_is_elementwise(i->op)) return FC_NARROW_ANY;
    for (int n = fc_ops[i->op].rule == FC_RULE_SELECT; n < fc_instr_arity(i); n++)
        if (!is_bf16(c, fc_instr_operand(i, n))) return FC_NARROW_ANY;
    return needs_no_rounding(i->op) ? FC_NARROW_EXACT : FC_NARROW_RESULT;
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
        const bool narrows = target == FC_TARGET_LLVM && i->op == FC_OP_CVT &&
                             i->dtype == FUSEC_BF16 && to->status == FUSEC_OK;
        map[k] =
            narrows ? fc_expand_to_bf16(to, a, fc_narrowing_of(from, i->a)) : add(to, i, a, b, c);
    }
    return to->status != FUSEC_OK ? to->status : from->status;
}
