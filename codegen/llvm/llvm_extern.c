/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_extern.c - calls of the user's scalar functions (ir/external.h).
 *
 * In: operands by name, the address of the function's description as a word of the parameter block.
 * Out: a call of what is at its begin, with the lanes as arrays on the stack. Lanes that are masked
 * are computed, too: nobody reads them. */
#include "codegen/llvm/llvm_text.h"

static const char *call(fc_ll *f, const fc_instr *i, unsigned W, const char *const *operand) {
    const fc_extern_use *use = &f->k->externs.at[i->imm];
    const fc_extern *x = use->function;
    const fusec_dtype to = (fusec_dtype)x->result;
    const char *list = fc_ll_head(f, "alloca [%d x ptr], align 8", x->nargs);
    const char *out = fc_ll_array(f, to, W);
    for (unsigned k = 0; k < x->nargs; k++) {
        const fusec_dtype t = (fusec_dtype)x->dtype[k];
        const char *array = fc_ll_array(f, t, W);
        fc_ll_spill(f, t, W, array, "0", operand[k]);
        const char *at = fc_ll_ins(f, "getelementptr ptr, ptr %s, i64 %u", list, k);
        fc_ll_line(f, "store ptr %s, ptr %s", array, at);
    }
    const char *address = fc_ll_word(f, f->lay.params + use->param, "i64");
    const char *known = fc_ll_ins(f, "inttoptr i64 %s to ptr", address);
    const char *fn = fc_ll_ins(f, "load ptr, ptr %s", known);
    const char *second = fc_ll_ins(f, "getelementptr ptr, ptr %s, i64 1", known);
    const char *user = fc_ll_ins(f, "load ptr, ptr %s", second);
    fc_ll_line(f, "call void %s(ptr %s, i64 %u, ptr %s, ptr %s)", fn, user, W, list, out);
    return fc_ll_fill(f, to, W, out, "0");
}

const char *fc_ll_extern(fc_ll *f, fc_val v, unsigned W) {
    fc_val operand[FC_MAX_EXTERN];
    const char *name[FC_MAX_EXTERN];
    const fc_instr *i = &f->code.ins.at[v];
    const unsigned n = fc_extern_values(&f->code, i, operand);
    for (unsigned k = 0; k < n; k++) name[k] = fc_ll_here(f, operand[k], W);
    return call(f, i, W, name);
}

const char *fc_ll_extern_in(fc_ll *f, const fc_code *c, fc_val v, unsigned W,
                            const char *const *named) {
    fc_val operand[FC_MAX_EXTERN];
    const char *name[FC_MAX_EXTERN];
    const unsigned n = fc_extern_values(c, &c->ins.at[v], operand);
    for (unsigned k = 0; k < n; k++) name[k] = named[operand[k]];
    return call(f, &c->ins.at[v], W, name);
}
