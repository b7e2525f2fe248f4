/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_slide_place.c - whether what stands at a place (cuda_slide_facts.h) is the place itself, as
 * far as the array goes.
 *
 * In: code of a place, as continuations at an edge are written (passes/lower_index.c), and the
 * sizes of a call. Out: a span of places in which every minimum, maximum, remainder and choice
 * gives back its operand. */
#include "codegen/cuda/cuda_slide_facts.h"
#include "codegen/linear.h"

typedef struct span {
    int64_t low, high;
} span;

static void at_most(span *s, int64_t v) {
    if (v < s->high) s->high = v;
}
static void at_least(span *s, int64_t v) {
    if (v > s->low) s->low = v;
}

typedef struct looker {
    const fc_kernel *k; /* whose parameters */
    const fc_code *c;
    const int64_t *values;
} looker;

static const fc_instr *at(const looker *x, fc_val v) {
    return &x->c->ins.at[v];
}

/* A number that does not depend on the place. */
static bool number(const looker *x, fc_val v, int64_t *out) {
    const fc_instr *i = at(x, v);
    int64_t a, b;
    if (i->op == FC_OP_CONST) return *out = (int64_t)i->imm, true;
    if (i->op == FC_OP_PARAM && x->k->params.at[i->imm].is_dim)
        return *out = x->values[x->k->params.at[i->imm].source], true;
    if (i->op != FC_OP_maximum || !number(x, i->a, &a) || !number(x, i->b, &b)) return false;
    *out = a > b ? a : b;
    return true;
}

static bool itself(const looker *x, fc_val v, span *s, unsigned depth);

/* minimum(p, n - p), p the place: below the half. */
static bool folded(const looker *x, fc_val a, fc_val b, span *s, unsigned depth) {
    fc_linear f = {0};
    int64_t n = 0;
    if (!itself(x, a, s, depth) || !fc_linear_add(x->c, b, 1, &f)) return false;
    bool less = false;
    for (unsigned i = 0; i < f.n; i++) {
        int64_t t;
        if (f.term[i].of == a && f.term[i].by == -1)
            less = true;
        else if (number(x, f.term[i].of, &t) && f.term[i].by == 1)
            n += t;
        else
            return false;
    }
    at_most(s, (n + f.constant) / 2);
    return less;
}

/* `index`, where a comparison comes out as `s` then says. */
static bool unless(const looker *x, const fc_instr *i, span *s, unsigned depth) {
    const fc_instr *by = at(x, i->a);
    int64_t n;
    if (by->op == FC_OP_lt && number(x, by->b, &n) && itself(x, by->a, s, depth))
        at_least(s, n);
    else if (by->op == FC_OP_ge && number(x, by->b, &n) && itself(x, by->a, s, depth))
        at_most(s, n - 1);
    else
        return false;
    return itself(x, i->c, s, depth);
}

/* Whether v is the place, at places in *s, which gets smaller. */
static bool itself(const looker *x, fc_val v, span *s, unsigned depth) {
    const fc_instr *i = at(x, v);
    int64_t n;
    if (i->op == FC_OP_INDEX) return true;
    if (!depth) return false;
    switch (i->op) {
    case FC_OP_where: return unless(x, i, s, depth - 1);
    case FC_OP_mod:
        if (!number(x, i->b, &n)) return false;
        at_least(s, 0);
        at_most(s, n - 1);
        return itself(x, i->a, s, depth - 1);
    case FC_OP_minimum:
    case FC_OP_maximum:
        for (int left = 0; left < 2; left++) {
            if (!number(x, left ? i->a : i->b, &n)) continue;
            if (i->op == FC_OP_minimum)
                at_most(s, n);
            else
                at_least(s, n);
            return itself(x, left ? i->b : i->a, s, depth - 1);
        }
        return i->op == FC_OP_minimum &&
               (folded(x, i->a, i->b, s, depth - 1) || folded(x, i->b, i->a, s, depth - 1));
    default: return false;
    }
}

/* Whether 0 <= p < n for the place, as one comparison of unsigned numbers. */
static bool is_there(const looker *x, fc_val v, span *s) {
    const fc_instr *i = at(x, v), *a = i->op == FC_OP_lt ? at(x, i->a) : NULL;
    int64_t n;
    if (!a || a->op != FC_OP_CVT || at(x, a->a)->op != FC_OP_INDEX) return false;
    const fc_instr *b = at(x, i->b);
    if (b->op != FC_OP_CVT ? !number(x, i->b, &n) : !number(x, b->a, &n)) return false;
    at_least(s, 0);
    at_most(s, n - 1);
    return true;
}

bool fc_slide_is_itself(const fc_slide *x, unsigned part, const fc_slide_reads *r, int64_t size,
                        const int64_t *values) {
    enum { DEPTH = 8 };
    const looker l = {.k = x->j->kernel[part], .c = &x->code[part], .values = values};
    span s = {INT64_MIN, INT64_MAX};
    if (r->index != FC_NOVAL && !itself(&l, r->index, &s, DEPTH)) return false;
    if (r->when != FC_NOVAL && !is_there(&l, r->when, &s)) return false;
    return r->index == FC_NOVAL || (s.low <= 0 && s.high >= size - 1);
}
