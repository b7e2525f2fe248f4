/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_bf16.c - values that become bf16: what is known of them, and how they are rounded.
 *
 * In: a float. Out: a float with the bits of a bf16, by operations on integers: AVX512_BF16 has an
 * instruction, which takes subnormal numbers for zero. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/llvm_text.h"
#include "ir/plant.h"

/* ---- what is known ----------------------------------------------------------------------- */

/* Whether a nan among the values has nothing in the lower half of an f32: it came with a bf16, or
 * was made without a payload. An operation hands on that of an operand, or makes one without. What
 * was rounded to bf16 is only if it was before, as some functions take it then (fc_math_between).
 */
static bool is_clean(const fc_ll *f, const uint8_t *clean, fc_val v) {
    const fc_code *c = &f->k->code;
    const fc_instr *i = &c->ins.at[v];
    const fusec_dtype t = (fusec_dtype)i->dtype;
    if (!fc_is_float(t)) return true;
    switch (i->op) {
    case FC_OP_LOAD:
    case FC_OP_LOAD_AT:
    case FC_OP_PARAM:
    case FC_OP_BITCAST: return t == FUSEC_BF16;
    case FC_OP_CONST: {
        const double value = fc_const_value(t, i->imm);
        return value == value;
    }
    case FC_OP_ACC: {
        const fc_reduction *r = &f->k->reductions.at[fc_acc_reduction(i)];
        return !r->record && clean[r->value[0]];
    }
    case FC_OP_CVT:
    case FC_OP_CAST: return clean[i->a];
    default: break;
    }
    if (!fc_is_elementwise(i->op)) return false;
    for (int n = 0; n < fc_instr_arity(i); n++)
        if (!clean[fc_instr_operand(i, n)]) return false;
    return true;
}

void fc_ll_find_narrowing(fc_ll *f) {
    const fc_code *c = &f->k->code;
    uint8_t *clean = fc_ll_alloc(f, c->ins.len);
    f->narrowing = fc_ll_alloc(f, f->code.ins.len);
    for (fc_val v = 0; v < c->ins.len; v++) {
        const fc_instr *i = &c->ins.at[v];
        clean[v] = is_clean(f, clean, v);
        if (i->dtype != FUSEC_BF16 || (i->op != FC_OP_CVT && i->op != FC_OP_CAST)) continue;
        f->narrowing[f->map[v]] = fc_math_is_bf16(c, i->a) ? FC_LL_NARROW_EXACT
                                  : clean[i->a]            ? FC_LL_NARROW_CLEAN
                                                           : FC_LL_NARROW_ANY;
    }
}

/* ---- rounding ---------------------------------------------------------------------------- */

static const char *op_const(fc_ll *f, const char *op, unsigned W, const char *a, int64_t c) {
    return fc_ll_ins(f, "%s %s %s, %s", op, fc_ll_wide(f, "i32", W), a, fc_ll_int(f, 32, c, W));
}

/* Half of the last place that is kept is added, less one where that place is even; infinity is
 * carried into. With AVX-512 a mask chooses between the two, an instruction less, unless there is
 * one for nans already: a processor makes one or two in the time of two or three other results. */
static const char *rounded(fc_ll *f, bool masks, unsigned W, const char *bits) {
    const int64_t even = FC_PLANT(bf16_tie, 0x8000, 0x7fff);
    if (!masks || W * 4 < 64 || f->m->vector_bytes < 64) {
        const char *last = op_const(f, "and", W, op_const(f, "lshr", W, bits, 16), 1);
        return fc_ll_ins(f, "add %s %s, %s", fc_ll_wide(f, "i32", W), bits,
                         op_const(f, "add", W, last, even));
    }
    const char *last = op_const(f, "and", W, bits, 0x10000);
    return fc_ll_select(f, fc_ll_wide(f, "i32", W), W, op_const(f, "icmp ne", W, last, 0),
                        op_const(f, "add", W, bits, even + 1), op_const(f, "add", W, bits, even));
}

const char *fc_ll_to_bf16(fc_ll *f, fc_ll_narrowing how, unsigned W, const char *v) {
    if (how == FC_LL_NARROW_EXACT) return v;
    const char *f32 = fc_ll_wide(f, "float", W), *i32 = fc_ll_wide(f, "i32", W);
    const char *bits = fc_ll_ins(f, "bitcast %s %s to %s", f32, v, i32);
    const char *r = rounded(f, how == FC_LL_NARROW_CLEAN, W, bits);
    if (how == FC_LL_NARROW_ANY) /* the payload could be carried out of */
        r = fc_ll_select(f, fc_ll_wide(f, "i32", W), W,
                         fc_ll_ins(f, "fcmp uno %s %s, %s", f32, v, v),
                         op_const(f, "or", W, bits, 0x400000), r);
    return fc_ll_ins(f, "bitcast %s %s to %s", i32, op_const(f, "and", W, r, -0x10000), f32);
}
