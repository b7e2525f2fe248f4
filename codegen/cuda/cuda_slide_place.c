/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_slide_place.c - code of indices, at places of an axis and with the sizes of a call: what it
 * gives, and whether what stands at a place (cuda_slide_facts.h) is the place itself, as far as the
 * array goes.
 *
 * It is if it is so at the first place and at the last, and changes by one at most from each place
 * to the next: then no place between can be left out. */
#include "codegen/cuda/cuda_slide_facts.h"
#include "codegen/linear.h"
#include "ir/eval.h"

bool fc_slide_eval(const fc_kernel *k, const fc_code *c, const uint8_t *need, const int64_t *values,
                   int64_t place, uint64_t *bits) {
    for (fc_val v = 0; v < c->ins.len; v++) {
        const fc_instr *i = &c->ins.at[v];
        const int n = fc_instr_arity(i);
        uint64_t of[3] = {0};
        if (!need[v]) continue;
        for (int o = 0; o < n; o++) of[o] = bits[fc_instr_operand(i, o)];
        if (i->op == FC_OP_CONST)
            bits[v] = i->imm;
        else if (i->op == FC_OP_INDEX)
            bits[v] = (uint64_t)place;
        else if (i->op == FC_OP_PARAM && k->params.at[i->imm].is_dim)
            bits[v] = (uint64_t)values[k->params.at[i->imm].source];
        else if ((!fc_is_elementwise(i->op) && i->op != FC_OP_CVT) ||
                 !fc_fold(i->op == FC_OP_CVT ? FC_OP_CAST : (fc_op)i->op,
                          (fusec_dtype)c->ins.at[fc_instr_operand(i, n - 1)].dtype,
                          (fusec_dtype)i->dtype, of, &bits[v]))
            return false;
    }
    return true;
}

typedef struct looker {
    const fc_code *c;
    const uint64_t *first, *last; /* [instructions] at the places 0 and `end` */
    int64_t end;
} looker;

static const fc_instr *at(const looker *x, fc_val v) {
    return &x->c->ins.at[v];
}

static bool varies(const looker *x, fc_val v) {
    const fc_instr *i = at(x, v);
    bool any = i->op == FC_OP_INDEX;
    for (int n = 0; n < fc_instr_arity(i) && !any; n++) any = varies(x, fc_instr_operand(i, n));
    return any;
}

static bool is_gentle(const looker *x, fc_val v);

static bool is_place(const looker *x, fc_val v) {
    return !x->first[v] && (int64_t)x->last[v] == x->end && is_gentle(x, v);
}

/* Whether a comparison comes out in one way at all places. */
static bool is_certain(const looker *x, fc_val v) {
    const fc_instr *i = at(x, v);
    return (i->op == FC_OP_lt || i->op == FC_OP_ge) && is_place(x, i->a) && !varies(x, i->b) &&
           x->first[v] == x->last[v];
}

/* A sum of one thing that varies and others that do not. */
static bool is_gentle_sum(const looker *x, fc_val v) {
    fc_linear f = {0};
    unsigned n = 0;
    if (!fc_linear_add(x->c, v, 1, &f)) return false;
    for (unsigned i = 0; i < f.n; i++) {
        const fc_val of = f.term[i].of;
        if (!varies(x, of)) continue;
        if (of == v || fc_magnitude(f.term[i].by) != 1 || !is_gentle(x, of)) return false;
        n++;
    }
    return n <= 1;
}

/* Whether v changes by one at most from each place to the next. */
static bool is_gentle(const looker *x, fc_val v) {
    const fc_instr *i = at(x, v);
    if (!varies(x, v)) return true;
    switch (i->op) {
    case FC_OP_INDEX: return true;
    case FC_OP_minimum:
    case FC_OP_maximum: return is_gentle(x, i->a) && is_gentle(x, i->b);
    case FC_OP_mod:
        return is_place(x, i->a) && !varies(x, i->b) && (int64_t)x->first[i->b] > x->end;
    case FC_OP_where: return is_certain(x, i->a) && is_gentle(x, x->first[i->a] ? i->b : i->c);
    default: return is_gentle_sum(x, v);
    }
}

/* Whether 0 <= p < n for the place, as one comparison of unsigned numbers. */
static bool is_there(const looker *x, fc_val v) {
    const fc_instr *i = at(x, v);
    return i->op == FC_OP_lt && at(x, i->a)->op == FC_OP_CVT &&
           at(x, at(x, i->a)->a)->op == FC_OP_INDEX && !varies(x, i->b) && x->first[v] &&
           x->last[v];
}

bool fc_slide_is_itself(const fc_slide *x, int64_t size) {
    const fc_slide_reads *r = &x->reads[FC_SLIDE_TAKES].at[0];
    const fc_kernel *k = x->j->kernel[FC_SLIDE_TAKES];
    const fc_code *c = &x->code[FC_SLIDE_TAKES];
    const int64_t *values = x->j->values;
    const size_t len = c->ins.len;
    const fc_val roots[2] = {r->index, r->when};
    if (r->index == FC_NOVAL) return true;
    uint64_t *bits = fc_calloc(c->alloc, 2 * len, sizeof *bits);
    uint8_t *need = fc_calloc(c->alloc, len, 1);
    const looker l = {.c = c, .first = bits, .last = bits + len, .end = size - 1};
    if (need) fc_kernel_slice(c, roots, r->when == FC_NOVAL ? 1 : 2, need);
    const bool itself = bits && need && fc_slide_eval(k, c, need, values, 0, bits) &&
                        fc_slide_eval(k, c, need, values, size - 1, bits + len) &&
                        is_place(&l, r->index) && (r->when == FC_NOVAL || is_there(&l, r->when));
    fc_free(c->alloc, bits);
    fc_free(c->alloc, need);
    return itself;
}
