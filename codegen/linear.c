/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* linear.c - see linear.h. */
#include "codegen/linear.h"

bool fc_is_linear_row(const fc_instr *i) {
    return i->dtype == FUSEC_I64 &&
           (i->op == FC_OP_add || i->op == FC_OP_sub || i->op == FC_OP_mul);
}

static bool add_term(fc_linear *f, fc_val of, int64_t by) {
    for (unsigned i = 0; i < f->n; i++) {
        if (f->term[i].of != of) continue;
        if (!fc_add_ok(f->term[i].by, by, &f->term[i].by)) return false;
        if (!f->term[i].by) f->term[i] = f->term[--f->n];
        return true;
    }
    if (f->n == FC_LINEAR_TERMS) return false;
    f->term[f->n].of = of;
    f->term[f->n++].by = by;
    return true;
}

static bool collect(const fc_code *c, fc_val v, int64_t by, fc_linear *f, unsigned depth) {
    static const fc_instr none = {.op = FC_OP_COUNT_};
    const fc_instr *i = v < c->ins.len ? &c->ins.at[v] : &none;
    int64_t scaled;
    if (i->op == FC_OP_CONST)
        return fc_mul_ok((int64_t)i->imm, by, &scaled) &&
               fc_add_ok(f->constant, scaled, &f->constant);
    if (!fc_is_linear_row(i) || depth == 0) return add_term(f, v, by);
    if (i->op == FC_OP_add)
        return collect(c, i->a, by, f, depth - 1) && collect(c, i->b, by, f, depth - 1);
    if (i->op == FC_OP_sub)
        return by != INT64_MIN && collect(c, i->a, by, f, depth - 1) &&
               collect(c, i->b, -by, f, depth - 1);
    const bool left = c->ins.at[i->a].op == FC_OP_CONST;
    const fc_instr *factor = &c->ins.at[left ? i->a : i->b];
    if (factor->op != FC_OP_CONST) return add_term(f, v, by);
    return fc_mul_ok((int64_t)factor->imm, by, &scaled) &&
           collect(c, left ? i->b : i->a, scaled, f, depth - 1);
}

bool fc_linear_add(const fc_code *c, fc_val v, int64_t by, fc_linear *f) {
    return collect(c, v, by, f, FC_LINEAR_DEPTH);
}

bool fc_linear_same_terms(const fc_linear *a, const fc_linear *b) {
    if (a->n != b->n) return false;
    for (unsigned i = 0; i < a->n; i++) {
        unsigned k = 0;
        while (k < b->n && (b->term[k].of != a->term[i].of || b->term[k].by != a->term[i].by)) k++;
        if (k == b->n) return false;
    }
    return true;
}

static bool are_rows_apart(const fc_kernel *k, const fc_instr *a, const fc_instr *b) {
    fc_linear by = {0};
    if (a->imm != b->imm || !fc_linear_add(&k->code, a->a, 1, &by) ||
        !fc_linear_add(&k->code, b->a, -1, &by))
        return false;
    for (unsigned i = 0; i < by.n; i++)
        if (k->code.ins.at[by.term[i].of].op != FC_OP_PARAM) return false;
    return by.n || by.constant > FC_NEAR || by.constant < -FC_NEAR;
}

unsigned fc_reads_other_rows(const fc_kernel *k) {
    const fc_instr *last = NULL;
    unsigned n = 0;
    for (size_t v = 0; v < k->code.ins.len; v++) {
        const fc_instr *i = &k->code.ins.at[v];
        if (i->op != FC_OP_LOAD_AT) continue;
        n += last && are_rows_apart(k, last, i);
        last = i;
    }
    return n;
}
