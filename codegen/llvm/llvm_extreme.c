/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_extreme.c - the largest or smallest element of a row or a span of it, and the first place of
 * it, by the quickest way.
 *
 * In: a stage with nothing but a min, max, argmin or argmax of short code. Out: its accumulators.
 * The result of such a reduction does not depend on the order of its elements, so the tree need not
 * be kept. What the step has to look at for each element is looked at for many as a whole:
 *
 *     a nan         whether there is one is known at the end, and then it is the result
 *     +0 and -0     compare as equal: the sign of a result of 0 follows from the signs of all
 *     the place     is looked for, by steps, only in the first chunk that has the extreme
 */
#include "codegen/llvm/llvm_text.h"

#include <math.h>

static bool is_place(fc_op op) {
    return fc_ops[op].rule == FC_RULE_INDEX;
}

bool fc_ll_is_extreme(const fc_ll *f, const fc_ll_stage *st) {
    const fc_ll_red *r = &f->red[st->first];
    return (fc_ll_is_min_max(r->op) || is_place(r->op)) && st->count == 1 && !f->has_inside &&
           f->cls->nr == 1 && r->comp[0] != FUSEC_BOOL &&
           (is_place(r->op) || fc_is_float(r->comp[0])) && fc_ll_steps(f, st) <= 6;
}

/* ---- one vector -------------------------------------------------------------------------- */

typedef struct extreme {
    const fc_ll_stage *st;
    const fc_ll_red *r;
    fusec_dtype t;
    bool max, place, real;
    const char *type, *bits; /* of a vector, and of its bits as integers */
} extreme;

static const char *how_better(const extreme *e) {
    if (e->real) return e->max ? "fcmp ogt" : "fcmp olt";
    if (fc_is_signed(e->t)) return e->max ? "icmp sgt" : "icmp slt";
    return e->max ? "icmp ugt" : "icmp ult";
}

static const char *better_of(fc_ll *f, const extreme *e, unsigned W, const char *x, const char *y) {
    const char *type = fc_ll_type(f, e->t, W);
    const char *first = fc_ll_ins(f, "%s %s %s, %s", how_better(e), type, x, y);
    return fc_ll_select(f, type, W, first, x, y);
}

/* Lanes that are masked off hold what an accumulator starts from. */
static const char *element(fc_ll *f, const extreme *e) {
    fc_ll_forget_points(f);
    fc_ll_emit_points(f, e->st->needed);
    const char *x = fc_ll_value(f, f->k->reductions.at[e->st->first].value[0], f->V);
    if (!f->mask) return x;
    return fc_ll_select(f, e->type, f->V, f->mask, x, fc_ll_const(f, e->t, e->r->init[0], f->V));
}

/* Signs of all elements: for a maximum whether all are set, for a minimum whether any is. */
static const char *join_signs(fc_ll *f, const extreme *e, const char *signs, const char *x) {
    const char *b = fc_ll_ins(f, "bitcast %s %s to %s", e->type, x, e->bits);
    return fc_ll_ins(f, "%s %s %s, %s", e->max ? "and" : "or", e->bits, signs, b);
}

/* ---- a chunk ----------------------------------------------------------------------------- */

/* Vectors that are done together: a comparison, a selection and what is looked at besides; four
 * hide how long each takes. */
enum { BAND = 4 };

/* What a loop over bands carries: the position, an extreme for each vector of a band, whether a nan
 * was seen, and the signs. */
typedef struct carried {
    const char *all[BAND + 3], *types[BAND + 3];
    unsigned n, nan, signs;
} carried;

static carried start(fc_ll *f, const extreme *e, const char *first) {
    carried c = {.n = 1};
    c.all[0] = first;
    c.types[0] = "i64";
    for (unsigned v = 0; v < BAND; v++, c.n++) {
        c.all[c.n] = fc_ll_const(f, e->t, e->r->init[0], f->V);
        c.types[c.n] = e->type;
    }
    if (!e->real) return c;
    c.nan = c.n++;
    c.all[c.nan] = "zeroinitializer";
    c.types[c.nan] = fc_ll_wide(f, "i1", f->V);
    if (e->place) return c;
    c.signs = c.n++;
    c.all[c.signs] =
        fc_ll_int(f, fc_dtypes[e->t].compute == FUSEC_F64 ? 64 : 32, e->max ? -1 : 0, f->V);
    c.types[c.signs] = e->bits;
    return c;
}

/* One band. Two vectors are looked at for a nan with one comparison. */
static void band(fc_ll *f, const extreme *e, carried *c, const char *const *carry) {
    const char *before = NULL;
    for (unsigned i = 1; i < c->n; i++) c->all[i] = carry[i];
    for (unsigned v = 0; v < BAND; v++) {
        f->x = fc_ll_bin(f, "add", carry[0], fc_ll_number(f, v * f->V));
        const char *x = element(f, e);
        c->all[1 + v] = better_of(f, e, f->V, x, c->all[1 + v]);
        if (c->signs) c->all[c->signs] = join_signs(f, e, c->all[c->signs], x);
        if (c->nan && before) {
            const char *nan = fc_ll_ins(f, "fcmp uno %s %s, %s", e->type, before, x);
            c->all[c->nan] = fc_ll_ins(f, "or <%u x i1> %s, %s", f->V, c->all[c->nan], nan);
        }
        before = before ? NULL : x;
    }
    c->all[0] = fc_ll_bin(f, "add", carry[0], fc_ll_number(f, BAND * f->V));
}

/* What is left after the bands, a vector at a time. */
static void left_over(fc_ll *f, const extreme *e, carried *c, const char *hi) {
    fc_ll_loop l;
    const char *V = fc_ll_number(f, f->V);
    fc_ll_loop_begin(f, &l, c->n, c->types, c->all);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", l.carry[0], hi));
    memcpy(c->all, l.carry, c->n * sizeof *c->all);
    f->x = l.carry[0];
    fc_ll_set_mask(f, fc_ll_min(f, fc_ll_bin(f, "sub", hi, l.carry[0]), V));
    const char *x = element(f, e);
    fc_ll_set_mask(f, NULL);
    c->all[0] = fc_ll_bin(f, "add", l.carry[0], V);
    c->all[1] = better_of(f, e, f->V, x, l.carry[1]);
    if (c->signs) c->all[c->signs] = join_signs(f, e, l.carry[c->signs], x);
    if (c->nan) {
        const char *nan = fc_ll_ins(f, "fcmp uno %s %s, %s", e->type, x, x);
        c->all[c->nan] = fc_ll_ins(f, "or <%u x i1> %s, %s", f->V, l.carry[c->nan], nan);
    }
    fc_ll_loop_end(f, &l, c->all);
    memcpy(c->all, l.carry, c->n * sizeof *c->all);
}

/* All of n elements; what the loops carry is left in c->all. */
static void bands(fc_ll *f, const extreme *e, carried *c, const char *first, const char *n) {
    fc_ll_loop l;
    const char *whole = fc_ll_whole(f, n, BAND * f->V);
    const char *end = fc_ll_bin(f, "add", first, whole);
    fc_ll_loop_begin(f, &l, c->n, c->types, c->all);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", l.carry[0], end));
    band(f, e, c, l.carry);
    fc_ll_loop_end(f, &l, c->all);
    memcpy(c->all, l.carry, c->n * sizeof *c->all);
    left_over(f, e, c, fc_ll_bin(f, "add", first, n));
}

static const char *join_lanes(fc_ll *f, const extreme *e, const char *v) {
    for (unsigned n = f->V / 2; n > 0; n /= 2) {
        const char *other = fc_ll_ins(f, "shufflevector %s %s, %s poison, <%u x i32> %s", e->type,
                                      v, e->type, f->V, fc_ll_lanes(f, 32, f->V, n, 1, f->V));
        v = better_of(f, e, f->V, v, other);
    }
    return fc_ll_ins(f, "extractelement %s %s, i32 0", e->type, v);
}

/* A result of 0 with its sign. */
static const char *with_sign(fc_ll *f, const extreme *e, const char *m, const char *signs) {
    const char *negative =
        fc_ll_any_lane(f, f->V, fc_ll_ins(f, "icmp slt %s %s, zeroinitializer", e->bits, signs));
    if (e->max) { /* set in all lanes */
        const char *positive = fc_ll_ins(f, "icmp sge %s %s, zeroinitializer", e->bits, signs);
        negative = fc_ll_ins(f, "xor i1 %s, true", fc_ll_any_lane(f, f->V, positive));
    }
    const char *type = fc_ll_type(f, e->t, 1);
    const char *zero = fc_ll_ins(f, "select i1 %s, %s -0.0, %s 0.0", negative, type, type);
    const char *is_zero = fc_ll_ins(f, "fcmp oeq %s %s, 0.0", type, m);
    return fc_ll_select(f, type, 1, is_zero, zero, m);
}

/* The extreme of n elements without a nan; `nan` says whether there is one. */
static const char *quick(fc_ll *f, const extreme *e, const char *first, const char *n,
                         const char **nan) {
    carried c = start(f, e, first);
    bands(f, e, &c, first, n);
    const char *v = c.all[1];
    for (unsigned i = 1; i < BAND; i++) v = better_of(f, e, f->V, v, c.all[1 + i]);
    const char *m = join_lanes(f, e, v);
    if (c.signs) m = with_sign(f, e, m, c.all[c.signs]);
    *nan = c.nan ? fc_ll_any_lane(f, f->V, c.all[c.nan]) : NULL;
    return m;
}

static const char *or_nan(fc_ll *f, const extreme *e, const char *m, const char *nan) {
    const char *type = fc_ll_type(f, e->t, 1);
    if (!nan) return m;
    return fc_ll_select(f, type, 1, nan, fc_ll_const(f, e->t, fc_const_bits(e->t, (double)NAN), 1),
                        m);
}

/* Beyond what was found before, or the first nan. */
static const char *is_better(fc_ll *f, const extreme *e, const char *m, const char *found,
                             const char *nan) {
    const char *type = fc_ll_type(f, e->t, 1);
    const char *beyond = fc_ll_ins(f, "%s %s %s, %s", how_better(e), type, m, found);
    if (!nan) return beyond;
    const char *no_nan = fc_ll_ins(f, "fcmp ord %s %s, %s", type, found, found);
    return fc_ll_ins(f, "or i1 %s, %s", beyond, fc_ll_ins(f, "and i1 %s, %s", nan, no_nan));
}

static const char *length(fc_ll *f, const char *first, const char *hi) {
    return fc_ll_min(f, fc_ll_bin(f, "sub", hi, first), fc_ll_number(f, FC_CHUNK));
}

/* The first element of the chunk that has the extreme. If nothing is beyond the start value, it is
 * the first chunk. */
static const char *best_chunk(fc_ll *f, const extreme *e, const char *lo, const char *hi) {
    fc_ll_loop l;
    const char *type = fc_ll_type(f, e->t, 1), *nan;
    const char *types[] = {"i64", type, "i64"};
    const char *init[] = {lo, fc_ll_const(f, e->t, e->r->init[0], 1), lo}, *next[3];
    fc_ll_loop_begin(f, &l, 3, types, init);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", l.carry[0], hi));
    const char *m = quick(f, e, l.carry[0], length(f, l.carry[0], hi), &nan);
    const char *better = is_better(f, e, m, l.carry[1], nan);
    m = or_nan(f, e, m, nan);
    next[0] = fc_ll_bin(f, "add", l.carry[0], fc_ll_number(f, FC_CHUNK));
    next[1] = fc_ll_select(f, type, 1, better, m, l.carry[1]);
    next[2] = fc_ll_select(f, "i64", 1, better, l.carry[0], l.carry[2]);
    fc_ll_loop_end(f, &l, next);
    return l.carry[2];
}

/* ---- a range ---------------------------------------------------------------------------- */

const char **fc_ll_extreme(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi) {
    extreme e = {.st = st, .r = &f->red[st->first]};
    e.t = e.r->comp[0];
    e.max = e.r->op == FC_OP_max || e.r->op == FC_OP_argmax;
    e.real = fc_is_float(e.t);
    e.place = is_place(e.r->op);
    e.type = fc_ll_type(f, e.t, f->V);
    e.bits = fc_ll_wide(f, fc_dtypes[e.t].compute == FUSEC_F64 ? "i64" : "i32", f->V);
    if (e.place) {
        const char *first = best_chunk(f, &e, lo, hi);
        return fc_ll_chunk_by_steps(f, st, first, length(f, first, hi));
    }
    const char *nan, **out = fc_ll_names(f, 1);
    const char *m = quick(f, &e, lo, fc_ll_bin(f, "sub", hi, lo), &nan);
    out[0] = or_nan(f, &e, m, nan);
    return out;
}
