/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* blocks.c - see blocks.h. */
#include "codegen/blocks.h"

static const fc_instr *instr(const fc_kernel *k, fc_val v) {
    return &k->code.ins.at[v];
}

bool fc_is_depth(const fc_kernel *k, fc_val v) {
    if (instr(k, v)->op != FC_OP_INDEX) return false;
    const fc_access *a = &k->accesses.at[instr(k, v)->imm];
    return k->nr == 1 && a->rank == 1 && !a->shape && a->map->axis == (int32_t)k->np &&
           a->map->step == 1 && !a->map->next;
}

static bool is_number(const fc_kernel *k, fc_val v) {
    return instr(k, v)->op == FC_OP_CONST || instr(k, v)->op == FC_OP_PARAM;
}

/* floor(k / of), as rules and indices are lowered to it. */
static bool is_quotient(const fc_kernel *k, fc_val v, fc_block_read *out) {
    const fc_instr *i = instr(k, v);
    if ((i->op != FC_OP_shr && i->op != FC_OP_floordiv) || !fc_is_depth(k, i->a) ||
        instr(k, i->b)->op != FC_OP_CONST)
        return false;
    const int64_t by = (int64_t)instr(k, i->b)->imm;
    if (by < 1 || by > (i->op == FC_OP_shr ? 30 : INT32_MAX)) return false;
    out->depth = (uint32_t)instr(k, i->a)->imm;
    out->of = i->op == FC_OP_shr ? INT64_C(1) << by : by;
    return true;
}

static bool is_multiple(const fc_kernel *k, fc_val v, fc_block_read *out) {
    const fc_instr *i = instr(k, v);
    out->by = FC_NOVAL;
    if (is_quotient(k, v, out)) return true;
    if (i->op != FC_OP_mul) return false;
    const bool first = is_number(k, i->a);
    out->by = first ? i->a : i->b;
    return is_number(k, out->by) && is_quotient(k, first ? i->b : i->a, out);
}

bool fc_find_block_read(const fc_kernel *k, fc_val v, fc_block_read *out) {
    const fc_instr *i = instr(k, v);
    if (i->op != FC_OP_LOAD_AT || instr(k, i->b)->op != FC_OP_CONST || !instr(k, i->b)->imm)
        return false;
    const fc_instr *sum = instr(k, i->a);
    if (sum->op != FC_OP_add) return false;
    const bool first = instr(k, sum->a)->op == FC_OP_INDEX;
    const fc_instr *place = instr(k, first ? sum->a : sum->b);
    if (place->op != FC_OP_INDEX || place->level != FC_ROW) return false;
    out->arg = (uint32_t)i->imm;
    out->place = (uint32_t)place->imm;
    return is_multiple(k, first ? sum->b : sum->a, out);
}
