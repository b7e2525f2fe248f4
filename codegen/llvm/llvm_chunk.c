/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_chunk.c - one chunk of an inner reduction: FC_CHUNK elements of a row, or what is left of
 * it.
 *
 * In: a stage and the place of the chunk. Out: its accumulators. The tree of a chunk: FC_LANES
 * accumulators in registers, when the stage is light, or in a stack array; then neighbours are
 * joined level by level. Lanes without elements hold the start value, which changes nothing, so
 * that it does not matter how many of them are joined. */
#include "codegen/llvm/llvm_text.h"

/* Instructions for an element from which on a branch in every turn does not show. */
enum { LONG_STEPS = 12 };
/* Vectors of a short row that are written out at most, a power of two; fewer than make a band. */
enum { MOST_FEW = 4 };

/* ---- steps ------------------------------------------------------------------------------- */

static const char *element_numbers(fc_ll *f, const fc_ll_stage *st) {
    if (!st->uses_index) return NULL;
    return fc_ll_ins(f, "add <%u x i64> %s, %s", f->V, fc_ll_splat(f, "i64", f->x),
                     fc_ll_iota(f, 64));
}

/* Elements of the chunk that the lanes of the vector at x have taken before. */
static const char *taken(fc_ll *f) {
    const char *in_chunk = fc_ll_bin(f, "and", f->x, fc_ll_number(f, FC_CHUNK - 1));
    return fc_ll_bin(f, "udiv", in_chunk, fc_ll_number(f, FC_LANES));
}

const char **fc_ll_step_vector(fc_ll *f, const fc_ll_stage *st, const char *const *acc) {
    fc_ll_forget_points(f);
    fc_ll_emit_points(f, f->of_stage ? f->of_stage : st->needed);
    fc_ll_keep(f, st, f->x);
    const char *of_band = f->nth;
    if (!of_band) f->nth = taken(f);
    const char **next = fc_ll_step(f, st, f->V, acc, element_numbers(f, st));
    f->nth = of_band;
    return next;
}

bool fc_ll_is_number(const fc_ll *f, const fc_ll_stage *st, unsigned slot) {
    for (uint32_t i = st->first; i < st->first + st->count; i++)
        if (fc_red_counts(f->red[i].of) && f->red[i].slot - st->base + 2 == slot) return true;
    return false;
}

/* Lanes that are not there keep what they have. */
static const char **keep_absent(fc_ll *f, const fc_ll_stage *st, const char *const *now,
                                const char *const *before) {
    fc_ll_if whole;
    const char **kept = fc_ll_names(f, st->nslots), **out = fc_ll_names(f, st->nslots);
    fc_ll_if_begin(f, &whole, fc_ll_ins(f, "xor i1 %s, true", f->whole));
    const char *mask = fc_ll_mask_here(f);
    for (unsigned i = 0; i < st->nslots; i++) {
        const char *type = fc_ll_type(f, st->slot[i], f->V);
        kept[i] = fc_ll_select(f, type, f->V, mask, now[i], before[i]);
    }
    fc_ll_if_else(f, &whole);
    fc_ll_if_end(f, &whole);
    for (unsigned i = 0; i < st->nslots; i++)
        out[i] = fc_ll_either(f, &whole, fc_ll_type(f, st->slot[i], f->V), kept[i], now[i]);
    return out;
}

static void step_in_memory(fc_ll *f, void *user) {
    const fc_ll_stage *st = user;
    const char *lane = fc_ll_bin(f, "and", f->x, fc_ll_number(f, FC_LANES - 1));
    const char **acc = fc_ll_names(f, st->nslots);
    for (unsigned i = 0; i < st->nslots; i++)
        acc[i] = fc_ll_is_number(f, st, i) ? fc_ll_splat(f, "i64", taken(f))
                                           : fc_ll_fill(f, st->slot[i], f->V, st->lanes[i], lane);
    const char **next = fc_ll_step_vector(f, st, acc);
    if (f->whole) next = keep_absent(f, st, next, acc);
    acc = next;
    for (unsigned i = 0; i < st->nslots; i++)
        if (!fc_ll_is_number(f, st, i))
            fc_ll_spill(f, st->slot[i], f->V, st->lanes[i], lane, acc[i]);
}

/* Lane l of n elements has taken (n + FC_LANES - 1 - l) / FC_LANES. */
const char *fc_ll_numbers(fc_ll *f, const char *n, const char *first) {
    const char *type = fc_ll_wide(f, "i64", f->V);
    const char *most = fc_ll_bin(f, "add", n, fc_ll_number(f, FC_LANES - 1));
    const char *v = fc_ll_splat(f, "i64", fc_ll_bin(f, "sub", most, first));
    v = fc_ll_ins(f, "sub %s %s, %s", type, v, fc_ll_iota(f, 64));
    return fc_ll_ins(f, "udiv %s %s, %s", type, v, fc_ll_int(f, 64, FC_LANES, f->V));
}

static void put_numbers(fc_ll *f, const fc_ll_stage *st, const char *n) {
    const char *lanes = fc_ll_number(f, FC_LANES);
    for (unsigned i = 0; i < st->nslots; i++) {
        fc_ll_loop l;
        if (!fc_ll_is_number(f, st, i)) continue;
        const char *j = fc_ll_for(f, &l, "0", lanes);
        fc_ll_spill(f, FUSEC_I64, f->V, st->lanes[i], j, fc_ll_numbers(f, n, j));
        fc_ll_for_end(f, &l, fc_ll_number(f, f->V));
    }
}

static void placed_step(fc_ll *f, void *user) {
    fc_ll_at_vector(f, step_in_memory, user);
}

/* ---- the lanes of a chunk ---------------------------------------------------------------- */

/* Every second lane of a and b, seen as one vector of 2V lanes. */
static const char **every_second(fc_ll *f, const fc_ll_stage *st, unsigned first,
                                 const char *const *a, const char *const *b) {
    const char **out = fc_ll_names(f, st->nslots);
    for (unsigned i = 0; i < st->nslots; i++) {
        const char *type = fc_ll_type(f, st->slot[i], f->V);
        out[i] = fc_ll_pick(f, type, a[i], b[i], f->V, first, 2, 2 * f->V);
    }
    return out;
}

const char **fc_ll_join_neighbours(fc_ll *f, const fc_ll_stage *st, const char *const *a,
                                   const char *const *b) {
    return fc_ll_combine(f, st, f->V, every_second(f, st, 0, a, b), every_second(f, st, 1, a, b));
}

/* The last levels, within one vector: of each the upper half of the lanes is not used. */
static const char **join_lanes(fc_ll *f, const fc_ll_stage *st, const char *const *v) {
    const char **out = fc_ll_names(f, st->nslots);
    for (unsigned n = f->V; n > 1; n /= 2) v = fc_ll_join_neighbours(f, st, v, v);
    for (unsigned i = 0; i < st->nslots; i++)
        out[i] =
            fc_ll_ins(f, "extractelement %s %s, i32 0", fc_ll_type(f, st->slot[i], f->V), v[i]);
    return out;
}

/* The same as a loop, for the way that always works; for one accumulator, as it was not clear that
 * a layernorm keeps its speed with those of var. */
static const char **join_lanes_shortly(fc_ll *f, const fc_ll_stage *st, const char *const *v) {
    fc_ll_loop l;
    const char **out = fc_ll_names(f, st->nslots);
    fc_ll_loop_begin(f, &l, st->nslots + 1, fc_ll_slot_types(f, st, f->V, 1),
                     fc_ll_join(f, st, fc_ll_number(f, f->V), NULL, v));
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ugt i64 %s, 1", l.carry[0]));
    const char *half = fc_ll_bin(f, "lshr", l.carry[0], "1");
    const char **next = fc_ll_join_neighbours(f, st, l.carry + 1, l.carry + 1);
    fc_ll_loop_end(f, &l, fc_ll_join(f, st, half, NULL, next));
    for (unsigned i = 0; i < st->nslots; i++)
        out[i] = fc_ll_ins(f, "extractelement %s %s, i32 0", fc_ll_type(f, st->slot[i], f->V),
                           l.carry[1 + i]);
    return out;
}

/* All levels, for the first lanes of a chunk in `acc`, so many vectors. */
static const char **join_first(fc_ll *f, const fc_ll_stage *st, const char **acc,
                               unsigned vectors) {
    const unsigned slots = st->nslots;
    for (unsigned count = vectors / 2; count > 0; count /= 2)
        for (unsigned i = 0; i < count; i++) {
            const char **sum =
                fc_ll_join_neighbours(f, st, acc + 2 * i * slots, acc + (2 * i + 1) * slots);
            memcpy(acc + i * slots, sum, slots * sizeof *acc);
        }
    return join_lanes(f, st, acc);
}

static const char **join_vectors(fc_ll *f, const fc_ll_stage *st, const char **acc) {
    return join_first(f, st, acc, FC_LANES / f->V);
}

static const char **either(fc_ll *f, const fc_ll_stage *st, const fc_ll_if *whole,
                           const char *const *a, const char *const *b) {
    const char **out = fc_ll_names(f, st->nslots);
    for (unsigned i = 0; i < st->nslots; i++)
        out[i] = fc_ll_either(f, whole, fc_ll_type(f, st->slot[i], 1), a[i], b[i]);
    return out;
}

/* The levels one by one. */
static const char **join_in_memory(fc_ll *f, const fc_ll_stage *st) {
    fc_ll_loop level, pair;
    const char *V = fc_ll_number(f, f->V), *j, *all = fc_ll_number(f, FC_LANES / f->V);
    static const char *const i64[] = {"i64"};
    fc_ll_loop_begin(f, &level, 1, i64, &all);
    fc_ll_loop_test(f, &level, fc_ll_ins(f, "icmp ugt i64 %s, 1", level.carry[0]));
    const char *half = fc_ll_bin(f, "lshr", level.carry[0], "1");
    j = fc_ll_for(f, &pair, "0", fc_ll_bin(f, "mul", half, V));
    const char *at = fc_ll_bin(f, "mul", j, "2");
    const char **a = fc_ll_fill_all(f, st, f->V, st->lanes, at);
    const char **b = fc_ll_fill_all(f, st, f->V, st->lanes, fc_ll_bin(f, "add", at, V));
    fc_ll_spill_all(f, st, f->V, st->lanes, j, fc_ll_join_neighbours(f, st, a, b));
    fc_ll_for_end(f, &pair, V);
    fc_ll_loop_end(f, &level, &half);
    const char **last = fc_ll_fill_all(f, st, f->V, st->lanes, "0");
    return st->nslots == 1 || f->cls->llvm.brief ? join_lanes_shortly(f, st, last)
                                                 : join_lanes(f, st, last);
}

/* A whole chunk: the numbers of elements are known, and with them the weights of var. */
static const char **join_whole(fc_ll *f, const fc_ll_stage *st) {
    const unsigned vectors = FC_LANES / f->V;
    const char **acc = fc_ll_names(f, vectors * st->nslots);
    for (unsigned v = 0; v < vectors; v++)
        for (unsigned i = 0; i < st->nslots; i++)
            acc[v * st->nslots + i] =
                fc_ll_is_number(f, st, i)
                    ? fc_ll_int(f, 64, FC_CHUNK / FC_LANES, f->V)
                    : fc_ll_fill(f, st->slot[i], f->V, st->lanes[i], fc_ll_number(f, v * f->V));
    return join_vectors(f, st, acc);
}

bool fc_ll_has_numbers(const fc_ll *f, const fc_ll_stage *st) {
    for (unsigned i = 0; i < st->nslots; i++)
        if (fc_ll_is_number(f, st, i)) return true;
    return false;
}

static void step_vectors(fc_ll *f, const fc_ll_stage *st, const char *first, const char *n) {
    const char *end = fc_ll_bin(f, "add", first, n);
    if (fc_ll_steps(f, st) >= LONG_STEPS)
        fc_ll_vectors_in_one(f, first, end, NULL, placed_step, (void *)(uintptr_t)st);
    else
        fc_ll_vectors(f, first, end, 1, placed_step, (void *)(uintptr_t)st);
}

/* Whether two accumulators are joined by one instruction: then joining them in registers is no more
 * text than a loop over their levels. */
static bool joins_quickly(const fc_ll *f, const fc_ll_stage *st) {
    const fc_red_program *p = &f->red[st->first].combine;
    unsigned n = 0;
    for (fc_val i = 0; i < p->code.ins.len; i++)
        n += p->needed[i] && p->code.ins.at[i].op != FC_OP_ARG;
    return n == 1;
}

static const char **by_steps(fc_ll *f, const fc_ll_stage *st, const char *first, const char *n,
                             bool may_be_whole) {
    const char **start = fc_ll_inits(f, st, f->V);
    for (unsigned lane = 0; lane < FC_LANES; lane += f->V)
        fc_ll_spill_all(f, st, f->V, st->lanes, fc_ll_number(f, lane), start);
    step_vectors(f, st, first, n);
    if (st->nslots == 1 && joins_quickly(f, st) && !f->cls->llvm.brief) return join_whole(f, st);
    if (!may_be_whole || !fc_ll_has_numbers(f, st)) {
        put_numbers(f, st, n);
        return join_in_memory(f, st);
    }
    fc_ll_if whole;
    fc_ll_if_begin(f, &whole, fc_ll_ins(f, "icmp eq i64 %s, %d", n, FC_CHUNK));
    const char **a = join_whole(f, st);
    fc_ll_if_else(f, &whole);
    put_numbers(f, st, n);
    const char **b = join_in_memory(f, st);
    fc_ll_if_end(f, &whole);
    return either(f, st, &whole, a, b);
}

const char **fc_ll_chunk_by_steps(fc_ll *f, const fc_ll_stage *st, const char *first,
                                  const char *n) {
    return by_steps(f, st, first, n, true);
}

/* The band of FC_LANES elements at x; with `left`, only that many of them are there, and the lanes
 * of the others keep what they have. */
static void step_band(fc_ll *f, const fc_ll_stage *st, const char *x, const char *left,
                      const char *const *acc, const char **next) {
    for (unsigned v = 0; v < FC_LANES / f->V; v++) {
        f->x = fc_ll_bin(f, "add", x, fc_ll_number(f, v * f->V));
        if (left) fc_ll_mask_part(f, left, v);
        memcpy(next + v * st->nslots, fc_ll_step_vector(f, st, acc + v * st->nslots),
               st->nslots * sizeof *next);
    }
    fc_ll_set_mask(f, NULL);
}

/* Accumulators of all lanes, vector by vector, in `acc`: what the loop over bands carries, and in
 * the places of numbers of elements `number`. */
static void accumulators(const fc_ll *f, const fc_ll_stage *st, const char *const *carry,
                         const char *number, const char **acc) {
    for (unsigned i = 0; i < FC_LANES / f->V * st->nslots; i++)
        acc[i] = fc_ll_is_number(f, st, i % st->nslots) ? number : *carry++;
}

/* All accumulators after the whole bands from `first` to `end`, in registers. Numbers of elements
 * are known in each band and not carried along; afterwards they are those of a whole chunk. */
static const char **whole_bands(fc_ll *f, const fc_ll_stage *st, const char *first,
                                const char *end) {
    const unsigned all = FC_LANES / f->V * st->nslots;
    const char **types = fc_ll_names(f, all + 1), **carried = fc_ll_names(f, all + 1);
    const char **start = fc_ll_inits(f, st, f->V), **of_slot = fc_ll_slot_types(f, st, f->V, 0);
    const char **acc = fc_ll_names(f, all), **next = fc_ll_names(f, all);
    unsigned n = 0;
    types[n] = "i64";
    carried[n++] = first;
    for (unsigned i = 0; i < all; i++) {
        if (fc_ll_is_number(f, st, i % st->nslots)) continue;
        types[n] = of_slot[i % st->nslots];
        carried[n++] = start[i % st->nslots];
    }
    fc_ll_loop band;
    fc_ll_loop_begin(f, &band, n, types, carried);
    fc_ll_loop_test(f, &band, fc_ll_ins(f, "icmp ult i64 %s, %s", band.carry[0], end));
    f->x = band.carry[0];
    f->nth = taken(f);
    const bool numbers = fc_ll_has_numbers(f, st);
    accumulators(f, st, band.carry + 1, numbers ? fc_ll_splat(f, "i64", f->nth) : NULL, acc);
    step_band(f, st, band.carry[0], NULL, acc, next);
    f->nth = NULL;
    n = 0;
    carried[n++] = fc_ll_bin(f, "add", band.carry[0], fc_ll_number(f, FC_LANES));
    for (unsigned i = 0; i < all; i++)
        if (!fc_ll_is_number(f, st, i % st->nslots)) carried[n++] = next[i];
    fc_ll_loop_end(f, &band, carried);
    accumulators(f, st, band.carry + 1,
                 numbers ? fc_ll_int(f, 64, FC_CHUNK / FC_LANES, f->V) : NULL, acc);
    return acc;
}

static const char **chunk_in_registers(fc_ll *f, const fc_ll_stage *st, const char *first,
                                       const char *n) {
    const unsigned all = FC_LANES / f->V * st->nslots;
    const char *left = fc_ll_bin(f, "and", n, fc_ll_number(f, FC_LANES - 1));
    const char *whole = fc_ll_bin(f, "add", first, fc_ll_bin(f, "sub", n, left));
    const char **of_slot = fc_ll_slot_types(f, st, f->V, 0), **last = fc_ll_names(f, all);
    const char **acc = whole_bands(f, st, first, whole);
    fc_ll_if tail;
    fc_ll_if_begin(f, &tail, fc_ll_ins(f, "icmp ne i64 %s, 0", left));
    step_band(f, st, whole, left, acc, last);
    fc_ll_if_else(f, &tail);
    fc_ll_if_end(f, &tail);
    for (unsigned i = 0; i < all; i++)
        last[i] = fc_ll_either(f, &tail, of_slot[i % st->nslots], last[i], acc[i]);
    return join_vectors(f, st, last);
}

/* Whether the accumulators of all lanes fit into registers and the code is short enough to
 * repeat. */
static bool fits_registers(const fc_ll *f, const fc_ll_stage *st) {
    const unsigned most = f->m->vector_bytes >= 64 ? 24 : 16;
    unsigned registers = 0;
    for (unsigned i = 0; i < st->nslots; i++)
        if (!fc_ll_is_number(f, st, i))
            registers += FC_LANES / f->V << (fc_dtypes[st->slot[i]].bytes == 8);
    return f->cls->nr == 1 && fc_ll_is_light(f->k) && fc_ll_steps(f, st) <= 6 && registers <= most;
}

const char **fc_ll_reduce_chunk(fc_ll *f, const fc_ll_stage *st, const char *first, const char *n) {
    if (!fits_registers(f, st) || f->has_inside || f->cls->llvm.brief)
        return by_steps(f, st, first, n, !f->cls->llvm.brief);
    if (!fc_ll_has_numbers(f, st)) return chunk_in_registers(f, st, first, n);
    fc_ll_if whole;
    fc_ll_if_begin(f, &whole, fc_ll_ins(f, "icmp eq i64 %s, %d", n, FC_CHUNK));
    const char *end = fc_ll_bin(f, "add", first, fc_ll_number(f, FC_CHUNK));
    const char **a = join_vectors(f, st, whole_bands(f, st, first, end));
    fc_ll_if_else(f, &whole);
    const char **b = by_steps(f, st, first, n, false);
    fc_ll_if_end(f, &whole);
    return either(f, st, &whole, a, b);
}

/* ---- rows that end by data ------------------------------------------------------------------- */

/* Few elements: so many vectors of them, whose lanes have one each. Those that are not there are
 * starts, and levels of nothing else are left out. */
static const char **few_vectors(fc_ll *f, const fc_ll_stage *st, const char *first, const char *n,
                                unsigned vectors) {
    const char **acc = fc_ll_names(f, vectors * st->nslots), **start = fc_ll_inits(f, st, f->V);
    for (unsigned v = 0; v < vectors; v++) {
        f->x = fc_ll_bin(f, "add", first, fc_ll_number(f, v * f->V));
        fc_ll_mask_part(f, n, v);
        memcpy(acc + v * st->nslots, fc_ll_step_vector(f, st, start), st->nslots * sizeof *acc);
    }
    fc_ll_set_mask(f, NULL);
    fc_ll_forget_points(f);
    return join_first(f, st, acc, vectors);
}

static const char **chunk_by_chunk(fc_ll *f, const fc_ll_stage *st, const char *lo,
                                   const char *hi) {
    fc_ll_loop l;
    if (fc_ll_is_extreme(f, st)) return fc_ll_extreme(f, st, lo, hi);
    const char *chunk = fc_ll_number(f, FC_CHUNK), *at = fc_ll_for(f, &l, lo, hi);
    const char *n = fc_ll_min(f, fc_ll_bin(f, "sub", hi, at), chunk);
    const char *number = fc_ll_bin(f, "udiv", fc_ll_bin(f, "sub", at, lo), chunk);
    const char **acc = fc_ll_reduce_chunk(f, st, at, n);
    fc_ll_push(f, st, 1, 1, "0", number, 0, acc);
    fc_ll_for_end(f, &l, chunk);
    fc_ll_forget_points(f);
    const char *all = fc_ll_bin(f, "sub", hi, lo);
    all = fc_ll_bin(f, "add", all, fc_ll_number(f, FC_CHUNK - 1));
    return fc_ll_fold(f, st, 1, 1, "0", fc_ll_bin(f, "udiv", all, chunk));
}

static const char **from_few(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi,
                             unsigned vectors) {
    fc_ll_if fits;
    const bool last = vectors == MOST_FEW || !fc_ll_is_light(f->k);
    const char *n = fc_ll_bin(f, "sub", hi, lo), *most = fc_ll_number(f, vectors * f->V);
    fc_ll_if_begin(f, &fits, fc_ll_ins(f, "icmp ule i64 %s, %s", n, most));
    const char **a = few_vectors(f, st, lo, n, vectors);
    fc_ll_if_else(f, &fits);
    const char **b = last ? chunk_by_chunk(f, st, lo, hi) : from_few(f, st, lo, hi, 2 * vectors);
    fc_ll_if_end(f, &fits);
    return either(f, st, &fits, a, b);
}

/* They are short as often as not, and then nothing passes through memory. */
const char **fc_ll_ragged_row(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi) {
    return from_few(f, st, lo, hi, 1);
}
