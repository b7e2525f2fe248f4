/* llvm_known.c - what is known of a row's elements from what was computed of all of them.
 *
 * In: the kernel's code. Out, by value of the legalised code:
 *
 *     coarse        quotients that are nothing but a bf16: fc_ll_coarse
 *     share         quotients of exponentials by their own sum, none of which is negative or
 *                   noticeably above it
 *     as_it_is      choices of the smaller of x and a limit that x, an element less the largest of
 *                   its row, is not above
 *
 * A softmax has all of them: see llvm_divide.c for what the first two save; exp need not be told
 * where it overflows. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/llvm_text.h"

static const fc_instr *at(const fc_code *c, fc_val v) {
    return &c->ins.at[v];
}

static bool converts(const fc_code *c, fc_val v) {
    const fc_instr *i = at(c, v);
    return (i->op == FC_OP_CVT || i->op == FC_OP_CAST) && fc_is_float((fusec_dtype)i->dtype) &&
           fc_is_float(fc_val_dtype(c, i->a));
}

/* Whether all numbers of `narrow` are numbers of `wide`. */
static bool holds(fusec_dtype wide, fusec_dtype narrow) {
    return wide == narrow || (fc_is_float(wide) && fc_dtypes[wide].bytes > fc_dtypes[narrow].bytes);
}

/* v before it was rounded, and before it was only written in another way. */
static fc_val unrounded(const fc_code *c, fc_val v) {
    while (converts(c, v)) v = at(c, v)->a;
    return v;
}

static fc_val itself(const fc_code *c, fc_val v) {
    while (converts(c, v) && holds((fusec_dtype)at(c, v)->dtype, fc_val_dtype(c, at(c, v)->a)))
        v = at(c, v)->a;
    return v;
}

static const fc_reduction *reduction(const fc_ll *f, fc_val v, fc_op op) {
    const fc_instr *i = at(&f->k->code, v);
    if (i->op != FC_OP_ACC) return NULL;
    const fc_reduction *r = &f->k->reductions.at[i->imm];
    return r->op == op ? r : NULL;
}

/* ---- quotients ------------------------------------------------------------------------------- */

static bool narrows(const fc_instr *i) {
    return (i->op == FC_OP_CVT || i->op == FC_OP_CAST) && i->dtype == FUSEC_BF16;
}

/* A quotient that is used as anything but a bf16, too, is not coarse: also by what rows are made of
 * in f->code, where equal quotients are one. Of numbers that may have any nan, another look at all
 * of them takes as long as it saves. */
static void find_coarse(fc_ll *f) {
    const fc_code *c = &f->k->code;
    for (fc_val v = 0; v < c->ins.len; v++) {
        const fc_instr *i = at(c, v);
        if (narrows(i) && at(c, i->a)->op == FC_OP_div && fc_val_dtype(c, i->a) == FUSEC_F32)
            f->coarse[f->map[i->a]] = fc_math_of_bf16(c, i->a) ? FC_LL_OF_BF16
                                      : f->narrowing[f->map[v]] == FC_LL_NARROW_CLEAN
                                          ? FC_LL_TO_BF16
                                          : FC_LL_FINE;
    }
    for (fc_val v = 0; v < f->code.ins.len; v++) {
        const fc_instr *i = at(&f->code, v);
        for (int n = 0; !narrows(i) && n < fc_instr_arity(i); n++)
            f->coarse[fc_instr_operand(i, n)] = FC_LL_FINE;
    }
    for (size_t i = 0; i < f->k->stores.len; i++)
        f->coarse[f->map[f->k->stores.at[i].value]] = FC_LL_FINE;
    for (size_t i = 0; i < f->k->reductions.len; i++)
        f->coarse[f->map[f->k->reductions.at[i].value]] = FC_LL_FINE;
}

/* Rounding moves one or the other by a 256th at most, which is noticed by nobody. */
static bool is_share(const fc_ll *f, const fc_instr *i) {
    const fc_code *c = &f->k->code;
    if (i->op != FC_OP_div) return false;
    const fc_val e = unrounded(c, i->a);
    const fc_reduction *sum = reduction(f, unrounded(c, i->b), FC_OP_sum);
    return sum && at(c, e)->op == FC_OP_exp && unrounded(c, sum->value) == e;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* The largest of a row in the elements' own dtype, or one that holds it, is not below any. */
static bool is_below_own_largest(const fc_ll *f, const fc_instr *i) {
    const fc_code *c = &f->k->code;
    if (i->op != FC_OP_sub || !fc_is_float((fusec_dtype)i->dtype)) return false;
    const fc_val x = itself(c, i->a);
    const fusec_dtype t = fc_val_dtype(c, x);
    fc_val b = i->b;
    while (converts(c, b) && holds((fusec_dtype)at(c, b)->dtype, t)) b = at(c, b)->a;
    const fc_reduction *most = reduction(f, b, FC_OP_max);
    return most && itself(c, most->value) == x;
}

static uint8_t *find_not_positive(fc_ll *f) {
    const fc_code *c = &f->k->code;
    uint8_t *is = fc_ll_alloc(f, c->ins.len), *out = fc_ll_alloc(f, f->code.ins.len);
    for (fc_val v = 0; v < c->ins.len; v++) {
        is[v] = converts(c, v) ? is[at(c, v)->a] : is_below_own_largest(f, at(c, v));
        if (is[v]) out[f->map[v]] = 1;
    }
    return out;
}

/* where(x > limit, limit, x): nan stays, too. */
static bool is_smaller_of(const fc_code *c, const fc_instr *i) {
    if (i->op != FC_OP_where || at(c, i->b)->op != FC_OP_CONST) return false;
    const fc_instr *is_above = at(c, i->a);
    return is_above->op == FC_OP_gt && is_above->a == i->c && is_above->b == i->b &&
           fc_is_float((fusec_dtype)i->dtype) &&
           fc_const_value((fusec_dtype)i->dtype, at(c, i->b)->imm) >= 0;
}

void fc_ll_find_known(fc_ll *f) {
    f->coarse = fc_ll_alloc(f, f->code.ins.len);
    f->share = fc_ll_alloc(f, f->code.ins.len);
    f->as_it_is = fc_ll_alloc(f, f->code.ins.len);
    find_coarse(f);
    for (fc_val v = 0; v < f->k->code.ins.len; v++)
        if (is_share(f, at(&f->k->code, v))) f->share[f->map[v]] = 1;
    const uint8_t *not_positive = find_not_positive(f);
    for (fc_val v = 0; v < f->code.ins.len; v++)
        f->as_it_is[v] =
            is_smaller_of(&f->code, at(&f->code, v)) && not_positive[at(&f->code, v)->c];
}
