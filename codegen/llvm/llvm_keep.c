/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_keep.c - values of a row's points that a stage computes and the stores need again.
 *
 * In: the slices of a stage and of the point stores. Out: which values are kept in a stack array
 * from one to the other, so that the exp of a softmax is computed once. Kept are values that take
 * long, where the two slices part; what is quick, or loaded, is made again. The schedule allows it
 * (`keep`) for rows short enough for the stack, of which it takes at most MOST_BYTES. A value
 * is kept in the form it is computed in, so that no bit depends on it. */
#include "codegen/llvm/llvm_text.h"

enum { LONG = 8, MOST_BYTES = 64 << 10 };

static bool at_points(const fc_ll *f, fc_val i) {
    return !f->at_row[i] && !f->uniform[i];
}

/* Instructions that make up value i at the points. */
static unsigned cost(fc_ll *f, fc_val i) {
    uint8_t *in = fc_ll_alloc(f, f->code.ins.len);
    unsigned n = 0;
    fc_kernel_slice(&f->code, &i, 1, in);
    for (fc_val j = 0; j <= i; j++)
        if (in[j] && at_points(f, j) && f->code.ins.at[j].op != FC_OP_LOAD) n += fc_ll_length(f, j);
    return n;
}

/* Marks what is made from values outside of `shared`, or stored. */
static void mark_last(const fc_ll *f, const uint8_t *shared, uint8_t *last) {
    for (fc_val j = 0; j < f->code.ins.len; j++) {
        const fc_instr *ins = &f->code.ins.at[j];
        if (!f->point_needed[j] || shared[j]) continue;
        for (int n = 0; n < fc_instr_arity(ins); n++) last[fc_instr_operand(ins, n)] = 1;
    }
    for (size_t s = 0; s < f->k->stores.len; s++)
        if (fc_ll_store_level(f, &f->k->stores.at[s]) == FC_POINT)
            last[f->map[f->k->stores.at[s].value]] = 1;
}

/* The stores' slice, in which kept values are leaves. */
static void cut_slice(fc_ll *f) {
    uint8_t *needed = fc_ll_alloc(f, f->code.ins.len);
    for (size_t s = 0; s < f->k->stores.len; s++)
        if (fc_ll_store_level(f, &f->k->stores.at[s]) == FC_POINT)
            needed[f->map[f->k->stores.at[s].value]] = 1;
    for (fc_val j = (fc_val)f->code.ins.len; j-- > 0;) {
        const fc_instr *ins = &f->code.ins.at[j];
        for (int n = 0; needed[j] && !f->kept[j] && n < fc_instr_arity(ins); n++)
            needed[fc_instr_operand(ins, n)] = 1;
    }
    f->point_needed = needed;
}

void fc_ll_choose_kept(fc_ll *f, unsigned elements) {
    if (!f->cls->llvm.keep || !f->any_point_store || !f->k->nstages) return;
    const fc_ll_stage *st = &f->stage[f->k->nstages - 1];
    uint8_t *last = fc_ll_alloc(f, f->code.ins.len);
    unsigned left = MOST_BYTES;
    mark_last(f, st->needed, last);
    f->kept = fc_ll_names(f, f->code.ins.len);
    f->kept_stage = st;
    for (fc_val i = 0; i < f->code.ins.len; i++) {
        const fusec_dtype t = (fusec_dtype)f->code.ins.at[i].dtype;
        if (!st->needed[i] || !f->point_needed[i] || !last[i] || !at_points(f, i)) continue;
        const unsigned bytes = elements * (fc_dtypes[t].bytes < 4 ? 4u : fc_dtypes[t].bytes);
        if (bytes > left || cost(f, i) < LONG) continue;
        left -= bytes;
        f->kept[i] = fc_ll_array(f, t, elements);
    }
    cut_slice(f);
}

void fc_ll_keep(fc_ll *f, const fc_ll_stage *st, const char *at) {
    if (!f->kept || st != f->kept_stage) return;
    for (fc_val i = 0; i < f->code.ins.len; i++)
        if (f->kept[i])
            fc_ll_spill(f, (fusec_dtype)f->code.ins.at[i].dtype, f->V, f->kept[i], at, f->v[i]);
}

void fc_ll_bring(fc_ll *f, const char *at) {
    for (fc_val i = 0; f->kept && i < f->code.ins.len; i++) {
        if (!f->kept[i]) continue;
        f->v[i] = fc_ll_fill(f, (fusec_dtype)f->code.ins.at[i].dtype, f->V, f->kept[i], at);
        f->v_point[i] = true;
    }
}
