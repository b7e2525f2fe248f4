/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_inside.c - maps and reductions whose reads may meet an edge, in two texts.
 *
 * In: the code of codegen/inside.h for the lanes' axis. Out: a row of points as
 *
 *     while (x < end)
 *         if the next vectors lie inside of one part in which all that is asked for holds
 *             whole vectors up to the end of the part, without bounds
 *         else
 *             one turn of the kernel's own code, masked
 *
 * Where a part begins and ends follows from the row alone: what holds along the row is a few
 * numbers that are made with the row's code. Vectors are where they would be without this, so
 * stores that pass by the cache stay aligned; a vector across the end of a part is one of the
 * kernel's own. */
#include "codegen/llvm/llvm_text.h"
#include "ir/plant.h"

enum { LIGHT = 16 }; /* instructions of a point: worth unrolling */

/* ---- the other text -------------------------------------------------------------------------- */

void fc_ll_swap_text(fc_ll *f) {
    const fc_ll_text t = f->text;
    f->text = f->elsewhere;
    f->elsewhere = t;
}

/* What the roots depend on, as far as it is not known of a part. */
static void slice(const fc_ll *f, const fc_val *roots, size_t n, uint8_t *needed) {
    for (size_t i = 0; i < n; i++) needed[roots[i]] = 1;
    for (size_t i = f->code.ins.len; i-- > 0;) {
        const fc_instr *in = &f->code.ins.at[i];
        for (int a = 0; needed[i] && !f->of_part[i] && a < fc_instr_arity(in); a++)
            needed[fc_instr_operand(in, a)] = 1;
    }
}

static uint8_t *needed_by_stores(fc_ll *f) {
    const fc_kernel *k = f->k;
    uint8_t *needed = fc_ll_alloc(f, f->code.ins.len);
    fc_val *roots = fc_ll_alloc(f, (k->stores.len + 1) * sizeof *roots);
    for (size_t i = 0; i < k->stores.len; i++) roots[i] = f->map[k->stores.at[i].value];
    slice(f, roots, k->stores.len, needed);
    return needed;
}

static uint8_t *needed_by_stage(fc_ll *f) {
    const fc_kernel *k = f->k;
    uint8_t *needed = fc_ll_alloc(f, f->code.ins.len);
    for (size_t i = 0; i < k->reductions.len; i++) {
        fc_val roots[FC_MAX_COMPONENTS];
        slice(f, roots, fc_red_values(&k->reductions.at[i], f->map, roots), needed);
    }
    return needed;
}

/* All that the text needs: for its stores or its stage, and to find parts. */
static void slice_for_parts(fc_ll *f) {
    const fc_inside *in = &f->inside;
    fc_val *roots = fc_ll_alloc(f, (in->bounds.len + in->needed.len + 1) * sizeof *roots);
    size_t n = 0;
    for (size_t i = 0; i < in->bounds.len; i++) roots[n++] = f->map[in->bounds.at[i].number];
    for (size_t i = 0; i < in->needed.len; i++) roots[n++] = f->map[in->needed.at[i]];
    f->row_needed = fc_ll_alloc(f, f->code.ins.len);
    memcpy(f->row_needed, f->of_stage ? f->of_stage : f->point_needed, f->code.ins.len);
    slice(f, roots, n, f->row_needed);
}

static void legalise(fc_ll *f) {
    const fc_inside *in = &f->inside;
    fc_val *map = fc_ll_alloc(f, in->code.ins.len * sizeof *map);
    fc_val *both = fc_ll_alloc(f, f->k->code.ins.len * sizeof *both);
    uint8_t *known;
    f->code.rewrite = f->elsewhere.code.rewrite;
    const fusec_status st = fc_legalize(&in->code, FC_TARGET_LLVM, &f->code, map);
    if (st != FUSEC_OK) fc_ll_fail(f, st);
    for (size_t i = 0; i < f->k->code.ins.len; i++) both[i] = map[in->map[i]];
    known = fc_ll_alloc(f, f->code.ins.len);
    for (size_t i = 0; i < in->bounds.len; i++)
        if (in->bounds.at[i].value != FC_NOVAL) known[map[in->bounds.at[i].value]] = 1;
    f->of_part = known;
    f->map = both; /* of stores */
    f->point_needed = needed_by_stores(f);
    if (f->k->nstages) f->of_stage = needed_by_stage(f);
    f->map = map;
    slice_for_parts(f);
    fc_ll_classify(f);
    f->map = both;
    /* from the code of the parts, in which bounds are written */
    for (size_t i = 0; i < in->bounds.len; i++) {
        fc_inside_bound *b = &f->inside.bounds.at[i];
        b->number = map[b->number];
        if (b->value != FC_NOVAL) b->value = map[b->value];
    }
    for (size_t i = 0; i < in->needed.len; i++) f->inside.needed.at[i] = map[in->needed.at[i]];
}

/* Reductions: of one stage, whose accumulators wait in memory while a vector is added to them. */
static fc_inside_of kind_of(const fc_ll *f) {
    if (f->k->nstages) return FC_INSIDE_ELEMENTS;
    return f->cls->llvm.joined ? FC_INSIDE_JOINED : FC_INSIDE_AXIS;
}

static bool may_have_two(const fc_ll *f) {
    return !f->k->updates.len && !fc_is_ragged(f->k) && !f->cls->llvm.brief &&
           (!f->k->nstages || (f->k->nstages == 1 && !f->any_point_store));
}

void fc_ll_prepare_inside(fc_ll *f) {
    if (!may_have_two(f)) return;
    const fusec_status st =
        fc_inside_make(f->k, f->cls, f->lane_axis, kind_of(f), f->alloc, &f->inside);
    if (st != FUSEC_OK) fc_ll_fail(f, st);
    /* of several reduced axes: an index along an outer one is the same throughout a vector */
    const bool several = f->k->nstages && f->cls->nr > 1 && f->inside.map;
    if (!f->inside.bounds.len && !several) return;
    fc_ll_swap_text(f);
    legalise(f);
    fc_ll_swap_text(f);
    f->has_inside = true;
}

unsigned fc_ll_inside_turns(const fc_ll *f) {
    const fc_ll_text *t = &f->elsewhere;
    unsigned n = 0;
    for (size_t i = 0; i < t->code.ins.len; i++) {
        const fc_instr *ins = &t->code.ins.at[i];
        if (!t->point_needed[i] || t->at_row[i] || t->uniform[i] || ins->dtype == FUSEC_I64)
            continue;
        n += ins->op != FC_OP_INDEX && ins->op != FC_OP_CONST;
    }
    return n <= LIGHT ? 4 : 1;
}

/* What of a row the other text needs: uniform values, among them those that parts are found by. */
void fc_ll_emit_inside_rows(fc_ll *f) {
    fc_ll_swap_text(f);
    fc_ll_emit_rows(f, f->row_needed);
    fc_ll_swap_text(f);
}

/* ---- where parts begin ----------------------------------------------------------------------- */

/* A bound: holds from `at` on (rising), or before it. */
typedef struct border {
    const char *at;
    bool rising;
    fc_val value;
} border;

typedef struct parts {
    border *border;
    unsigned n;
    const char *first, *last; /* what is asked for holds in [first, last) */
    unsigned turns;
    bool joined; /* vectors of neighbours to one store */
    const char *all_aligned;
} parts;

static const char *signed_op(fc_ll *f, const char *name, const char *a, const char *b) {
    fc_ll_declare(f, fc_ll_fmt(f, "i64 @llvm.%s.i64(i64, i64)", name));
    return fc_ll_ins(f, "call i64 @llvm.%s.i64(i64 %s, i64 %s)", name, a, b);
}

/* number(x) = n + slope*x >= 0: from -n/slope on, rounded up; or before n/-slope + 1, rounded
 * down. */
static border border_of(fc_ll *f, const fc_inside_bound *b) {
    int moving = 0;
    border r = {.rising = b->slope > 0, .value = b->value};
    f->at_origin = true;
    const char *n = fc_ll_first_of(f, b->number, &moving);
    f->at_origin = false;
    if (!n || moving != b->slope) fc_ll_fail(f, FUSEC_INTERNAL);
    const bool twice = b->slope == 2 || b->slope == -2;
    if (r.rising) n = fc_ll_bin(f, "sub", twice ? "1" : "0", n);
    if (twice) n = fc_ll_bin(f, "ashr", n, "1");
    r.at = r.rising ? n : fc_ll_bin(f, "add", n, FC_PLANT(edge_inside, "2", "1"));
    if (b->passes) r.at = fc_ll_bin(f, "mul", r.at, fc_ll_extent(f, f->lane_axis));
    return r;
}

static void find_borders(fc_ll *f, const char *from, const char *to, parts *p) {
    p->first = from;
    p->last = to;
    p->border = fc_ll_alloc(f, f->inside.bounds.len * sizeof *p->border);
    for (size_t i = 0; i < f->inside.bounds.len; i++) {
        const border b = border_of(f, &f->inside.bounds.at[i]);
        if (b.value != FC_NOVAL)
            p->border[p->n++] = b;
        else if (b.rising)
            p->first = signed_op(f, "smax", p->first, b.at);
        else
            p->last = signed_op(f, "smin", p->last, b.at);
    }
}

/* The end of the part at x. */
static const char *end_of_part(fc_ll *f, const parts *p, const char *x) {
    const char *end = p->last;
    for (unsigned i = 0; i < p->n; i++) {
        const char *after = fc_ll_ins(f, "icmp sgt i64 %s, %s", p->border[i].at, x);
        const char *nearer = signed_op(f, "smin", end, p->border[i].at);
        end = fc_ll_select(f, "i64", 1, after, nearer, end);
    }
    return end;
}

/* What is known in the part at x. */
static void know(fc_ll *f, const parts *p, const char *x) {
    for (unsigned i = 0; i < p->n; i++)
        f->s[p->border[i].value] = fc_ll_ins(
            f, "icmp %s i64 %s, %s", p->border[i].rising ? "sge" : "slt", x, p->border[i].at);
}

static void forget_part(fc_ll *f, const parts *p) {
    fc_ll_forget_points(f);
    for (unsigned i = 0; i < p->n; i++) f->s[p->border[i].value] = f->v[p->border[i].value] = NULL;
}

/* Whether the values that are asked for hold, given what is known. */
static const char *needs_hold(fc_ll *f, const char *also) {
    if (!f->inside.needed.len) return also;
    uint8_t *needed = fc_ll_alloc(f, f->code.ins.len);
    slice(f, f->inside.needed.at, f->inside.needed.len, needed);
    fc_ll_emit_points(f, needed);
    for (size_t i = 0; i < f->inside.needed.len; i++)
        also = fc_ll_ins(f, "and i1 %s, %s", also, fc_ll_here(f, f->inside.needed.at[i], 1));
    return also;
}

/* ---- the two texts --------------------------------------------------------------------------- */

static const char *inside(fc_ll *f, const parts *p, const char *x, const char *end, fc_ll_body body,
                          void *user) {
    const char *n = fc_ll_bin(f, "sub", end, x), *at = x;
    /* what one store writes of several vectors is aligned as long as x is at multiples of them */
    for (unsigned u = p->turns; u > 0; u = u > 1 && !p->joined ? 1 : 0) {
        const char *whole = fc_ll_whole(f, n, u * f->V);
        const char *to = fc_ll_bin(f, "add", x, whole);
        fc_ll_whole_vectors(f, at, to, u, body, user);
        at = to;
    }
    return at;
}

static const char *of_kernel(fc_ll *f, const char *x, const char *end, fc_ll_body body,
                             void *user) {
    fc_ll_vectors_in_one(f, x, end, NULL, body, user);
    return end;
}

static void turn(fc_ll *f, const parts *p, const char *const *carry, const char *to,
                 const char *granule, fc_ll_body body, void *user, const char **next) {
    static const char *const i64 = "i64";
    const char *x = carry[0];
    fc_ll_if is_inside;
    fc_ll_swap_text(f);
    const char *part = end_of_part(f, p, x);
    know(f, p, x);
    const char *room = fc_ll_ins(f, "icmp sge i64 %s, %s", fc_ll_bin(f, "sub", part, x), granule);
    const char *holds = fc_ll_ins(f, "icmp sge i64 %s, %s", x, p->first);
    holds = fc_ll_ins(f, "and i1 %s, %s", holds, room);
    holds =
        fc_ll_ins(f, "and i1 %s, %s", holds, fc_ll_ins(f, "icmp eq i64 %s, %s", carry[1], granule));
    fc_ll_if_begin(f, &is_inside, needs_hold(f, holds));
    f->streaming = f->cls->llvm.stream;
    f->aligned = p->all_aligned;
    const char *a = inside(f, p, x, part, body, user);
    f->streaming = false;
    f->aligned = NULL;
    forget_part(f, p);
    fc_ll_swap_text(f);
    fc_ll_if_else(f, &is_inside);
    const char *end = fc_ll_min(f, fc_ll_bin(f, "add", x, carry[1]), to);
    const char *b = of_kernel(f, x, end, body, user);
    fc_ll_if_end(f, &is_inside);
    next[0] = fc_ll_either(f, &is_inside, i64, a, b);
    next[1] = granule;
}

void fc_ll_parts(fc_ll *f, const char *from, const char *to, fc_ll_body body, void *user) {
    static const char *const types[] = {"i64", "i64"};
    parts p = {.turns = fc_ll_inside_turns(f)};
    fc_ll_loop l;
    fc_ll_swap_text(f);
    find_borders(f, from, to, &p);
    fc_ll_swap_text(f);
    p.joined = fc_ll_most_joined(f, p.turns) > 1;
    const char *granule = fc_ll_number(f, f->V * (p.joined ? p.turns : 1));
    const char *before = fc_ll_before_aligned(f, from, to, p.turns, &p.all_aligned);
    const char *start = granule, *next[2];
    if (before) {
        const char *none = fc_ll_ins(f, "icmp eq i64 %s, 0", before);
        start = fc_ll_select(f, "i64", 1, none, granule, before);
    }
    const char *const init[] = {from, start};
    fc_ll_loop_begin(f, &l, 2, types, init);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", l.carry[0], to));
    turn(f, &p, l.carry, to, granule, body, user, next);
    fc_ll_loop_end(f, &l, next);
}

/* ---- reductions: a vector by itself ---------------------------------------------------------- */

static const char *at_least_0(fc_ll *f, const char *n) {
    return fc_ll_ins(f, "icmp sge i64 %s, 0", n);
}

/* What bounds are made from that is the same in all lanes. */
static void emit_shared(fc_ll *f) {
    uint8_t *needed = fc_ll_alloc(f, f->code.ins.len);
    for (size_t i = 0; i < f->inside.bounds.len; i++)
        slice(f, &f->inside.bounds.at[i].number, 1, needed);
    for (size_t i = 0; i < f->code.ins.len; i++) needed[i] &= f->uniform[i];
    fc_ll_emit_points(f, needed);
}

/* Whether all that is asked for holds in every lane of the vector at hand, and what is known is the
 * same in all of them; then it has the names of its values. */
static const char *vector_is_inside(fc_ll *f) {
    const char *holds = f->whole ? f->whole : "true";
    emit_shared(f);
    for (size_t i = 0; i < f->inside.bounds.len; i++) {
        const fc_inside_bound *b = &f->inside.bounds.at[i];
        int moving = 0;
        const char *first = fc_ll_first_of(f, b->number, &moving), *last = first;
        if (!first) fc_ll_fail(f, FUSEC_INTERNAL);
        const int across = b->slope * ((int)f->V - FC_PLANT(edge_inside, 2, 1));
        if (across) last = fc_ll_bin(f, "add", first, fc_ll_fmt(f, "%d", across));
        const char *a = at_least_0(f, first), *z = across ? at_least_0(f, last) : a;
        if (b->value == FC_NOVAL) {
            holds = fc_ll_ins(f, "and i1 %s, %s", holds, b->slope < 0 ? z : a);
            continue;
        }
        if (z != a)
            holds = fc_ll_ins(f, "and i1 %s, %s", holds, fc_ll_ins(f, "icmp eq i1 %s, %s", a, z));
        f->s[b->value] = a;
    }
    return needs_hold(f, holds);
}

static void forget_known(fc_ll *f) {
    fc_ll_forget_points(f);
    for (size_t i = 0; i < f->inside.bounds.len; i++) {
        const fc_val v = f->inside.bounds.at[i].value;
        if (v != FC_NOVAL) f->s[v] = f->v[v] = NULL;
    }
}

void fc_ll_step_inside(fc_ll *f, fc_ll_body body, void *user) {
    if (!f->has_inside || (f->active && !f->whole)) { /* the last lanes of a row */
        body(f, user);
        return;
    }
    const char *whole = f->whole, *mask = f->mask, *active = f->active;
    fc_ll_if is_inside;
    fc_ll_swap_text(f);
    fc_ll_if_begin(f, &is_inside, vector_is_inside(f));
    f->whole = f->mask = f->active = NULL;
    body(f, user);
    f->whole = whole;
    f->mask = mask;
    f->active = active;
    forget_known(f);
    fc_ll_swap_text(f);
    fc_ll_if_else(f, &is_inside);
    body(f, user);
    fc_ll_if_end(f, &is_inside);
}
