/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_sign.c - where the sign of a NaN has to be kept.
 *
 * A device gives one NaN, the positive one, where it widens or narrows 16 bits and where it negates
 * by its adder. Nearly always nobody can tell. These can: copysign, of its second operand; a view
 * of the bits; and who reads a result. They can of a NaN that came from memory and went through
 * rows that keep or set the sign (neg, copysign, where, conversions); that of a NaN which was
 * computed is open everywhere (docs/semantics.md).
 *
 * In: legalised code and the values that are stored. Out: g->sign, 1 for each value that is both:
 * somebody can tell, and it is not open. cuda_code.c writes those with functions of
 * prelude/half.cuh, two instructions more; all other text stays what it is. */
#include "codegen/cuda/cuda.h"

static bool is_float(const fc_cuda_gen *g, fc_val v) {
    return fc_is_float((fusec_dtype)g->code.ins.at[v].dtype);
}

/* From users to what they use: who can tell. */
static void find_readers(fc_cuda_gen *g) {
    for (size_t s = 0; s < g->k->stores.len; s++) g->sign[g->store_value[s]] = 1;
    for (size_t u = 0; u < g->k->updates.len; u++) g->sign[g->code.ins.at[g->put_value[u]].c] = 1;
    for (fc_val v = (fc_val)g->code.ins.len; v-- > 0;) {
        const fc_instr *i = &g->code.ins.at[v];
        const uint8_t read = g->sign[v] && is_float(g, v);
        switch (i->op) {
        case FC_OP_BITCAST: g->sign[i->a] = 1; break;
        case FC_OP_copysign: g->sign[i->b] = 1; break;
        case FC_OP_neg:
        case FC_OP_CVT: g->sign[i->a] |= read; break;
        case FC_OP_where:
            g->sign[i->b] |= read;
            g->sign[i->c] |= read;
            break;
        default: break;
        }
    }
}

/* The other way: what is not open. */
static bool is_fixed(const fc_cuda_gen *g, const fc_instr *i) {
    switch (i->op) {
    case FC_OP_LOAD:
    case FC_OP_LOAD_AT:
    case FC_OP_PARAM:
    case FC_OP_ARG:
    case FC_OP_CONST:
    case FC_OP_BITCAST:
    case FC_OP_copysign: return true;
    case FC_OP_neg:
    case FC_OP_CVT: return g->sign[i->a];
    case FC_OP_where: return g->sign[i->b] || g->sign[i->c];
    default: return false;
    }
}

void fc_cuda_find_signs(fc_cuda_gen *g) {
    find_readers(g);
    for (fc_val v = 0; v < g->code.ins.len; v++)
        g->sign[v] = g->sign[v] && is_float(g, v) && is_fixed(g, &g->code.ins.at[v]);
}
