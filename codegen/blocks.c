/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* blocks.c - see blocks.h. */
#include "codegen/blocks.h"

static const fc_instr *instr(const fc_kernel *k, fc_val v) {
    return &k->code.ins.at[v];
}

bool fc_is_single_index(const fc_kernel *k, fc_val v) {
    if (instr(k, v)->op != FC_OP_INDEX) return false;
    const fc_access *a = &k->accesses.at[instr(k, v)->imm];
    return a->rank == 1 && !a->shape && a->map->axis >= 0 && a->map->step == 1 && !a->map->next;
}

bool fc_is_depth(const fc_kernel *k, uint32_t index) {
    return k->accesses.at[index].map->axis == (int32_t)k->np;
}

static bool is_number(const fc_kernel *k, fc_val v) {
    return instr(k, v)->op == FC_OP_CONST || instr(k, v)->op == FC_OP_PARAM;
}

/* As rules and indices are lowered to it. */
static bool is_quotient(const fc_kernel *k, fc_val v, fc_block_part *out) {
    const fc_instr *i = instr(k, v);
    if ((i->op != FC_OP_shr && i->op != FC_OP_floordiv) || !fc_is_single_index(k, i->a) ||
        instr(k, i->b)->op != FC_OP_CONST)
        return false;
    const int64_t by = (int64_t)instr(k, i->b)->imm;
    if (by < 1 || by > (i->op == FC_OP_shr ? 30 : INT32_MAX)) return false;
    out->index = (uint32_t)instr(k, i->a)->imm;
    out->of = i->op == FC_OP_shr ? INT64_C(1) << by : by;
    return true;
}

static bool is_part(const fc_kernel *k, fc_val v, fc_block_part *out) {
    const fc_instr *i = instr(k, v);
    out->by = FC_NOVAL;
    if (is_quotient(k, v, out)) return true;
    if (i->op != FC_OP_mul) return false;
    const bool first = is_number(k, i->a);
    out->by = first ? i->a : i->b;
    return is_number(k, out->by) && is_quotient(k, first ? i->b : i->a, out);
}

enum { DEPTH = 4 }; /* sums in a sum */

static bool collect(const fc_kernel *k, fc_val v, fc_block_read *out, unsigned depth) {
    const fc_instr *i = instr(k, v);
    if (i->op == FC_OP_INDEX && out->place == UINT32_MAX) {
        out->place = (uint32_t)i->imm;
        return true;
    }
    if (i->op == FC_OP_add && depth)
        return collect(k, i->a, out, depth - 1) && collect(k, i->b, out, depth - 1);
    return out->n < FC_BLOCK_PARTS && is_part(k, v, &out->part[out->n]) && ++out->n;
}

bool fc_find_block_read(const fc_kernel *k, fc_val v, fc_block_read *out) {
    const fc_instr *i = instr(k, v);
    if (k->nr != 1 || i->op != FC_OP_LOAD_AT || instr(k, i->b)->op != FC_OP_CONST ||
        !instr(k, i->b)->imm)
        return false;
    *out = (fc_block_read){.arg = (uint32_t)i->imm, .place = UINT32_MAX};
    return collect(k, i->a, out, DEPTH) && out->place != UINT32_MAX && out->n;
}
