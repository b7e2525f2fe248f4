/* llvm_extreme.c - the largest or smallest element of a chunk, and the first place of it, by the
 * quickest way.
 *
 * In: a stage with nothing but a min, max, argmin or argmax of short code. Out: the accumulators of
 * a chunk, or for the places "none here" when the chunk has nothing better than what was found in
 * this row before. The result of such a reduction does not depend on the order of its elements, so
 * the tree need not be kept. What the step has to look at for each element is looked at for the
 * chunk as a whole:
 *
 *     a nan         whether there is one is known at the end, and then the chunk is done again, by
 * steps +0 and -0     compare as equal: the sign of a result of 0 follows from the signs of all
 * elements the place     is looked for, by steps, only in a chunk that beats those before it
 */
#include "codegen/llvm/llvm_text.h"

#include <math.h>

static bool is_place(fc_op op) {
    return fc_ops[op].rule == FC_RULE_INDEX;
}

bool fc_ll_is_extreme(const fc_ll *f, const fc_ll_stage *st) {
    const fc_ll_red *r = &f->red[st->first];
    const bool known =
        r->op == FC_OP_min || r->op == FC_OP_max || r->op == FC_OP_argmin || r->op == FC_OP_argmax;
    return known && st->count == 1 && f->cls->nr == 1 && r->comp[0] != FUSEC_BOOL &&
           (is_place(r->op) || fc_is_float(r->comp[0])) && fc_ll_steps(f, st) <= 6;
}

/* ---- one vector ---------------------------------------------------------------------------------
 */

/* A comparison, a selection and what is looked at besides: four vectors hide how long each takes.
 */
enum { ROW_VECTORS = 4 };

typedef struct extreme {
    const fc_ll_stage *st;
    const fc_ll_red *r;
    fusec_dtype t;
    bool max, place, real;
    unsigned vectors;        /* of a band */
    const char *type, *bits; /* of a vector, and of its bits as integers */
} extreme;

static const char *better_of(fc_ll *f, const extreme *e, unsigned W, const char *x, const char *y) {
    const char *type = fc_ll_type(f, e->t, W), *how;
    if (e->real)
        how = e->max ? "fcmp ogt" : "fcmp olt";
    else
        how = fc_is_signed(e->t) ? e->max ? "icmp sgt" : "icmp slt"
              : e->max           ? "icmp ugt"
                                 : "icmp ult";
    const char *first = fc_ll_ins(f, "%s %s %s, %s", how, type, x, y);
    return fc_ll_ins(f, "select %s %s, %s %s, %s %s", fc_ll_wide(f, "i1", W), first, type, x, type,
                     y);
}

static const char *element(fc_ll *f, const extreme *e) {
    fc_ll_forget_points(f);
    fc_ll_emit_points(f, e->st->needed);
    return fc_ll_value(f, f->k->reductions.at[e->st->first].value, f->V);
}

/* Signs of all elements: for a maximum whether all are set, for a minimum whether any is. */
static const char *join_signs(fc_ll *f, const extreme *e, const char *signs, const char *x) {
    const char *b = fc_ll_ins(f, "bitcast %s %s to %s", e->type, x, e->bits);
    return fc_ll_ins(f, "%s %s %s, %s", e->max ? "and" : "or", e->bits, signs, b);
}

/* ---- a chunk ------------------------------------------------------------------------------------
 */

/* What a loop over bands carries: the position, an extreme for each vector of a
 * band, whether a nan was seen, and the signs. */
typedef struct carried {
    const char *all[FC_LANES / 4 + 3], *types[FC_LANES / 4 + 3];
    unsigned n, nan, signs;
} carried;

static carried start(fc_ll *f, const extreme *e, const char *first) {
    carried c = {.n = 1};
    c.all[0] = first;
    c.types[0] = "i64";
    for (unsigned v = 0; v < e->vectors; v++, c.n++) {
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
    for (unsigned v = 0; v < e->vectors; v++) {
        f->x = fc_ll_bin(f, "add", carry[0], fc_ll_fmt(f, "%u", v * f->V));
        const char *x = element(f, e);
        c->all[1 + v] = better_of(f, e, f->V, x, c->all[1 + v]);
        if (c->signs) c->all[c->signs] = join_signs(f, e, c->all[c->signs], x);
        if (c->nan && before) {
            const char *nan = fc_ll_ins(f, "fcmp uno %s %s, %s", e->type, before, x);
            c->all[c->nan] = fc_ll_ins(f, "or <%u x i1> %s, %s", f->V, c->all[c->nan], nan);
        }
        before = before ? NULL : x;
    }
    c->all[0] = fc_ll_bin(f, "add", carry[0], fc_ll_fmt(f, "%u", e->vectors * f->V));
}

static const char *any_lane(fc_ll *f, const char *mask) {
    const char *bits = fc_ll_ins(f, "bitcast <%u x i1> %s to i%u", f->V, mask, f->V);
    return fc_ll_ins(f, "icmp ne i%u %s, 0", f->V, bits);
}

static const char *join_lanes(fc_ll *f, const extreme *e, const char *v) {
    for (unsigned n = f->V / 2; n > 0; n /= 2) {
        const char *other = fc_ll_ins(f, "shufflevector %s %s, %s poison, <%u x i32> %s", e->type,
                                      v, e->type, f->V, fc_ll_lanes(f, 32, n, 1, f->V));
        v = better_of(f, e, f->V, v, other);
    }
    return fc_ll_ins(f, "extractelement %s %s, i32 0", e->type, v);
}

/* A result of 0 with its sign. */
static const char *with_sign(fc_ll *f, const extreme *e, const char *m, const char *signs) {
    const char *negative =
        any_lane(f, fc_ll_ins(f, "icmp slt %s %s, zeroinitializer", e->bits, signs));
    if (e->max) { /* set in all lanes */
        const char *positive = fc_ll_ins(f, "icmp sge %s %s, zeroinitializer", e->bits, signs);
        negative = fc_ll_ins(f, "xor i1 %s, true", any_lane(f, positive));
    }
    const char *type = fc_ll_type(f, e->t, 1);
    const char *zero = fc_ll_ins(f, "select i1 %s, %s -0.0, %s 0.0", negative, type, type);
    const char *is_zero = fc_ll_ins(f, "fcmp oeq %s %s, 0.0", type, m);
    return fc_ll_ins(f, "select i1 %s, %s %s, %s %s", is_zero, type, zero, type, m);
}

/* The extreme of n elements, a multiple of FC_LANES; `again` says that they are to be done by
 * steps. */
static const char *quick(fc_ll *f, const extreme *e, const char *first, const char *n,
                         const char *best, const char **again) {
    fc_ll_loop l;
    carried c = start(f, e, first);
    fc_ll_loop_begin(f, &l, c.n, c.types, c.all);
    const char *end = fc_ll_bin(f, "add", first, n);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", l.carry[0], end));
    band(f, e, &c, l.carry);
    fc_ll_loop_end(f, &l, c.all);
    const char *v = l.carry[1];
    for (unsigned i = 1; i < e->vectors; i++) v = better_of(f, e, f->V, v, l.carry[1 + i]);
    const char *m = join_lanes(f, e, v), *type = fc_ll_type(f, e->t, 1);
    if (c.signs) m = with_sign(f, e, m, l.carry[c.signs]);
    *again = c.nan ? any_lane(f, l.carry[c.nan]) : "false";
    if (!e->place) return m;
    /* Beyond the best; or what the search started from, of which the first place is to be found.
     * The start of floats is a nan, and everything counts as beyond it. */
    const char *found = fc_ll_ins(f, "load %s, ptr %s", type, best), *how;
    if (e->real)
        how = e->max ? "fcmp ugt" : "fcmp ult";
    else
        how = fc_is_signed(e->t) ? e->max ? "icmp sgt" : "icmp slt"
              : e->max           ? "icmp ugt"
                                 : "icmp ult";
    *again =
        fc_ll_ins(f, "or i1 %s, %s", *again, fc_ll_ins(f, "%s %s %s, %s", how, type, m, found));
    if (e->real) return m;
    const char *limit = fc_ll_const(f, e->t, e->r->init[0], 1);
    *again =
        fc_ll_ins(f, "or i1 %s, %s", *again, fc_ll_ins(f, "icmp eq %s %s, %s", type, m, limit));
    return m;
}

/* ---- used by llvm_inner.c -----------------------------------------------------------------------
 */

static extreme describe(fc_ll *f, const fc_ll_stage *st) {
    extreme e = {.st = st, .r = &f->red[st->first]};
    e.t = e.r->comp[0];
    e.max = e.r->op == FC_OP_max || e.r->op == FC_OP_argmax;
    e.place = is_place(e.r->op);
    e.real = fc_is_float(e.t);
    e.vectors = e.place ? FC_LANES / f->V : ROW_VECTORS;
    e.type = fc_ll_type(f, e.t, f->V);
    e.bits = fc_ll_wide(f, fc_dtypes[e.t].compute == FUSEC_F64 ? "i64" : "i32", f->V);
    return e;
}

const char *fc_ll_extreme_start(fc_ll *f, const fc_ll_stage *st) {
    const extreme e = describe(f, st);
    if (!e.place) return NULL;
    const char *best = fc_ll_head(f, "alloca %s", fc_ll_type(f, e.t, 1));
    const uint64_t none = e.real ? fc_const_bits(e.t, (double)NAN) : e.r->init[0];
    fc_ll_line(f, "store %s %s, ptr %s", fc_ll_type(f, e.t, 1), fc_ll_const(f, e.t, none, 1), best);
    return best;
}

/* What is left after the bands, a vector at a time: lanes that are not there hold the start, whose
 * sign changes nothing either. */
static void left_over(fc_ll *f, const extreme *e, carried *c, const char *at, const char *hi) {
    fc_ll_loop l;
    const char *init[] = {at, c->all[1], c->all[c->nan], c->all[c->signs]};
    const char *types[] = {"i64", e->type, c->types[c->nan], c->types[c->signs]};
    fc_ll_loop_begin(f, &l, 4, types, init);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", l.carry[0], hi));
    const char *V = fc_ll_fmt(f, "%u", f->V);
    f->x = l.carry[0];
    fc_ll_set_mask(f, fc_ll_min(f, fc_ll_bin(f, "sub", hi, l.carry[0]), V));
    const char *x = fc_ll_ins(f, "select <%u x i1> %s, %s %s, %s %s", f->V, f->mask, e->type,
                              element(f, e), e->type, fc_ll_const(f, e->t, e->r->init[0], f->V));
    fc_ll_set_mask(f, NULL);
    const char *nan = fc_ll_ins(f, "fcmp uno %s %s, %s", e->type, x, x);
    const char *next[] = {fc_ll_bin(f, "add", l.carry[0], V), better_of(f, e, f->V, x, l.carry[1]),
                          fc_ll_ins(f, "or <%u x i1> %s, %s", f->V, l.carry[2], nan),
                          join_signs(f, e, l.carry[3], x)};
    fc_ll_loop_end(f, &l, next);
    c->all[1] = l.carry[1];
    c->all[c->nan] = l.carry[2];
    c->all[c->signs] = l.carry[3];
}

/* Of floats, without the place: nothing is kept of chunks, and nothing is done again, for one nan
 * is as good as another. */
static const char *whole_row(fc_ll *f, const extreme *e, const char *lo, const char *hi) {
    fc_ll_loop l;
    carried c = start(f, e, lo);
    const char *n = fc_ll_bin(f, "sub", hi, lo);
    const char *bands = fc_ll_bin(f, "and", n, fc_ll_fmt(f, "%d", -(int)(e->vectors * f->V)));
    const char *end = fc_ll_bin(f, "add", lo, bands);
    fc_ll_loop_begin(f, &l, c.n, c.types, c.all);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", l.carry[0], end));
    band(f, e, &c, l.carry);
    fc_ll_loop_end(f, &l, c.all);
    for (unsigned i = 0; i < c.n; i++) c.all[i] = l.carry[i];
    left_over(f, e, &c, end, hi);
    const char *v = c.all[1], *type = fc_ll_type(f, e->t, 1);
    for (unsigned i = 1; i < e->vectors; i++) v = better_of(f, e, f->V, v, c.all[1 + i]);
    const char *m = with_sign(f, e, join_lanes(f, e, v), c.all[c.signs]);
    return fc_ll_ins(f, "select i1 %s, %s %s, %s %s", any_lane(f, c.all[c.nan]), type,
                     fc_ll_const(f, e->t, fc_const_bits(e->t, (double)NAN), 1), type, m);
}

const char **fc_ll_extreme_row(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi) {
    const extreme e = describe(f, st);
    if (e.place || !e.real) return NULL;
    const char **out = fc_ll_names(f, 1);
    out[0] = whole_row(f, &e, lo, hi);
    return out;
}

const char **fc_ll_extreme(fc_ll *f, const fc_ll_stage *st, const char *first, const char *n,
                           const char *best, fc_ll_chunk by_steps) {
    const extreme e = describe(f, st);
    const char *type = fc_ll_type(f, e.t, 1), *again, **out = fc_ll_names(f, st->nslots);
    fc_ll_if bands, slow;
    const char *rest = fc_ll_bin(f, "and", n, fc_ll_fmt(f, "%d", FC_LANES - 1));
    fc_ll_if_begin(f, &bands, fc_ll_ins(f, "icmp eq i64 %s, 0", rest));
    const char *m = quick(f, &e, first, n, best, &again), *from_quick = f->block;
    fc_ll_if_else(f, &bands);
    const char *other = f->block;
    fc_ll_if_end(f, &bands);
    const char *must =
        fc_ll_ins(f, "phi i1 [ %s, %%%s ], [ true, %%%s ]", again, from_quick, other);
    const char *start = fc_ll_const(f, e.t, e.r->init[0], 1);
    m = fc_ll_ins(f, "phi %s [ %s, %%%s ], [ %s, %%%s ]", type, m, from_quick, start, other);
    fc_ll_if_begin(f, &slow, must);
    const char **stepped = by_steps(f, st, first, n), *from_steps = f->block;
    if (e.place) {
        const char *found = fc_ll_ins(f, "load %s, ptr %s", type, best);
        const char *now = better_of(f, &e, 1, stepped[0], found);
        if (e.real) { /* a nan stays, except the one of the start */
            const char *nan = fc_ll_ins(f, "fcmp uno %s %s, %s", type, stepped[0], found);
            now = fc_ll_ins(f, "select i1 %s, %s %s, %s %s", nan, type, stepped[0], type, now);
        }
        fc_ll_line(f, "store %s %s, ptr %s", type, now, best);
        from_steps = f->block;
    }
    fc_ll_if_else(f, &slow);
    const char *skipped = f->block;
    fc_ll_if_end(f, &slow);
    for (unsigned i = 0; i < st->nslots; i++) {
        const char *none = fc_ll_const(f, st->slot[i], e.r->init[i], 1);
        out[i] = fc_ll_ins(f, "phi %s [ %s, %%%s ], [ %s, %%%s ]", fc_ll_type(f, st->slot[i], 1),
                           stepped[i], from_steps, e.place ? none : m, skipped);
    }
    return out;
}
