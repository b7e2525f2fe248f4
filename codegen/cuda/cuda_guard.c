/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_guard.c - what NVRTC 13.0 gets wrong, and the texts that it gets right.
 *
 * Each was found by random graphs on a GPU (tests/regressions), where the PTX or the machine code
 * shows it:
 *
 * - 8-bit integers of a vector load, computed on and compared: some are compared in 16 bits without
 *   the extension of their sign. So they are widened to 32 bits when they are loaded, by an empty
 *   asm that the compiler can't look through.
 * - -x of a 16-bit integer as an operand of a comparison is taken in 32 bits: fc_neg, see
 *   prelude/arith.cuh.
 * - -x of int as an operand of two joined minima or maxima (VIMNMX3) loses its sign. So it is
 *   written as a difference from a zero that only the launch knows.
 * - a float that is nan or not negative, |x|, is taken to be above any negative constant, and to be
 *   no less than zero. So the constant of such a comparison is hidden.
 * - a choice between two constants of f32, -0 and -1, is a conversion of 0 and -1, whose zero has
 * no sign. So a -0 that stands beside another constant is hidden.
 *
 * In: instructions of legalised code. Out: their text. */
#include "codegen/cuda/cuda.h"

static const fc_instr *instr(const fc_cuda_text *t, fc_val v) {
    return &t->code->ins.at[v];
}

static bool is_byte(fusec_dtype t) {
    return fc_is_int(t) && fc_dtypes[t].bytes == 1;
}

bool fc_cuda_computes_bytes(const fc_code *c) {
    for (size_t k = 0; k < c->ins.len; k++) {
        const fc_instr *i = &c->ins.at[k];
        if (!fc_is_elementwise(i->op) || fc_instr_arity(i) == 0) continue;
        const fc_val last = i->op == FC_OP_where ? i->b : i->a;
        if (is_byte((fusec_dtype)c->ins.at[last].dtype)) return true;
    }
    return false;
}

bool fc_cuda_guard_load(const fc_cuda_text *t, fc_val v) {
    return t->bytes && is_byte((fusec_dtype)instr(t, v)->dtype);
}

static bool is_zero(const fc_instr *i) {
    return i->op == FC_OP_CONST && i->imm == 0;
}

/* Whether x * i is -x, perhaps shifted. */
static bool negates(const fc_instr *i) {
    const unsigned unused = 64 - 8u * fc_dtypes[i->dtype].bytes;
    const uint64_t minus = (0 - (uint64_t)i->imm) << unused; /* of i, at the upper end of 64 bits */
    return i->op == FC_OP_CONST && (int64_t)minus > 0 && (minus & (minus - 1)) == 0;
}

/* -x, and what the compiler would make of it: 0 - x and x * -2^n. */
const char *fc_cuda_guard_row(const fc_cuda_text *t, const fc_instr *i) {
    const fusec_dtype type = (fusec_dtype)i->dtype;
    if (!fc_is_int(type)) return NULL;
    if (i->op == FC_OP_neg && fc_dtypes[type].bytes == 2) return "($t)fc_neg(($u)$a)";
    if (!t->sign || fc_dtypes[type].bytes < 4) return NULL;
    if (i->op == FC_OP_neg) return "($t)(($u)zero - ($u)$a)";
    if (i->op == FC_OP_sub && is_zero(instr(t, i->a))) return "($t)(($u)zero - ($u)$b)";
    if (i->op != FC_OP_mul) return NULL;
    if (negates(instr(t, i->b))) return "($t)(($u)$a * (($u)$b | ($u)zero))";
    if (negates(instr(t, i->a))) return "($t)((($u)$a | ($u)zero) * ($u)$b)";
    return NULL;
}

/* Whether the compiler may work out from how v is computed that it is not negative. What it has
 * from memory and what sums and products are it can't say anything about. */
static bool of_known_sign(const fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    while (i->op == FC_OP_CVT && fc_is_float((fusec_dtype)instr(t, i->a)->dtype))
        i = instr(t, i->a);
    switch (i->op) {
    case FC_OP_LOAD:
    case FC_OP_LOAD_AT:
    case FC_OP_PARAM:
    case FC_OP_ARG:
    case FC_OP_ACC:
    case FC_OP_CVT:
    case FC_OP_add:
    case FC_OP_sub:
    case FC_OP_mul:
    case FC_OP_div:
    case FC_OP_fma: return false;
    default: return true;
    }
}

static bool is_minus_zero(const fc_instr *i) {
    return i->op == FC_OP_CONST && i->dtype == FUSEC_F32 && (uint32_t)i->imm == 0x80000000u;
}

bool fc_cuda_guard_constant(const fc_cuda_text *t, const fc_instr *i, fc_val v) {
    if (i->op == FC_OP_where && v != i->a && is_minus_zero(instr(t, v)))
        return t->sign && instr(t, v == i->b ? i->c : i->b)->op == FC_OP_CONST;
    if (!t->sign || !fc_is_elementwise(i->op) || fc_ops[i->op].rule != FC_RULE_COMPARE)
        return false;
    if (instr(t, v)->op != FC_OP_CONST || instr(t, v)->dtype != FUSEC_F32) return false;
    return of_known_sign(t, v == i->a ? i->b : i->a);
}
