/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_bands.c - packed reductions (llvm_packed.c) of rows of FC_LANES elements up to a chunk: some
 * rows together, which share what follows from numbers of elements alone, as the weights of a
 * variance do.
 *
 * In: where V neighbouring rows are. Out: their accumulators, a lane for each. As accumulators have
 * to stay in registers, a few rows take row_vectors of each band of FC_LANES elements to the end,
 * and then the next ones; each time is one vector for a row, which waits on the stack. */
#include "codegen/llvm/llvm_text.h"

enum { ROWS = FC_LL_BAND_ROWS };

typedef struct bands {
    const fc_ll_stage *st;
    const char **base[ROWS]; /* where the rows are, */
    fc_ll_text text[ROWS];   /* and what is known of them */
    const char *first;       /* i64: of the lanes of a band that are done */
    const char *n;           /* i64: elements of a row */
} bands;

static unsigned vectors_of(const fc_ll *f) {
    return f->cls->llvm.row_vectors;
}

/* Times that rows are gone through. */
static unsigned times(const fc_ll *f) {
    return FC_LANES / f->V / vectors_of(f);
}

/* Lanes that are put by until a row is through; behind them are the results of all rows. */
static unsigned waiting(const fc_ll *f) {
    return ROWS * times(f) * f->V;
}

unsigned fc_ll_band_lanes(const fc_ll *f) {
    return waiting(f) + f->V;
}

/* The vectors at x, and at x + V, ..., of all rows; with `left`, only so many elements of them are
 * there. */
static void step_rows(fc_ll *f, bands *b, const char *x, const char *left, const char *const *acc,
                      const char **next) {
    const unsigned slots = b->st->nslots;
    const fc_ll_text text = f->text;
    for (unsigned v = 0; v < vectors_of(f); v++) {
        f->x = fc_ll_bin(f, "add", x, fc_ll_number(f, v * f->V));
        if (left) fc_ll_mask_part(f, left, v);
        for (unsigned r = 0; r < ROWS; r++) {
            const unsigned at = (r * vectors_of(f) + v) * slots;
            f->base = b->base[r];
            f->text = b->text[r];
            memcpy(next + at, fc_ll_step_vector(f, b->st, acc + at), slots * sizeof *next);
            fc_ll_forget_points(f);
        }
    }
    f->text = text;
    fc_ll_set_mask(f, NULL);
}

/* Accumulators of all vectors of all rows; numbers of elements are not among `carry`. */
static void accumulators(const fc_ll *f, const bands *b, const char *const *carry,
                         const char *number, const char **acc) {
    const unsigned slots = b->st->nslots;
    for (unsigned i = 0; i < ROWS * vectors_of(f) * slots; i++)
        acc[i] = fc_ll_is_number(f, b->st, i % slots) ? number : *carry++;
}

static unsigned carried(const fc_ll *f, const bands *b, const char *const *acc, const char **out) {
    const unsigned slots = b->st->nslots;
    unsigned n = 0;
    for (unsigned i = 0; i < ROWS * vectors_of(f) * slots; i++)
        if (!fc_ll_is_number(f, b->st, i % slots)) out[n++] = acc[i];
    return n;
}

/* Elements that each lane has taken before x. */
static void count_taken(fc_ll *f, const bands *b, const char *x) {
    if (!fc_ll_has_numbers(f, b->st)) return;
    f->nth = fc_ll_bin(f, "udiv", x, fc_ll_number(f, FC_LANES));
}

static const char *taken(fc_ll *f) {
    return f->nth ? fc_ll_splat(f, "i64", f->nth) : NULL;
}

/* All accumulators after the rows: those of whole bands, and of what is left. */
static const char **through_row(fc_ll *f, bands *b) {
    const unsigned slots = b->st->nslots, all = ROWS * vectors_of(f) * slots;
    const char **types = fc_ll_names(f, all + 1), **next = fc_ll_names(f, all + 1);
    const char **acc = fc_ll_names(f, all), **last = fc_ll_names(f, all);
    const char **start = fc_ll_inits(f, b->st, f->V),
               **of_slot = fc_ll_slot_types(f, b->st, f->V, 0);
    for (unsigned i = 0; i < all; i++) {
        acc[i] = start[i % slots];
        last[i] = of_slot[i % slots];
    }
    types[0] = "i64";
    next[0] = "0";
    const unsigned n = 1 + carried(f, b, last, types + 1);
    carried(f, b, acc, next + 1);
    const char *left = fc_ll_bin(f, "and", b->n, fc_ll_number(f, FC_LANES - 1));
    const char *whole = fc_ll_bin(f, "sub", b->n, left);
    fc_ll_loop band;
    fc_ll_loop_begin(f, &band, n, types, next);
    fc_ll_loop_test(f, &band, fc_ll_ins(f, "icmp ult i64 %s, %s", band.carry[0], whole));
    count_taken(f, b, band.carry[0]);
    accumulators(f, b, band.carry + 1, taken(f), acc);
    step_rows(f, b, fc_ll_bin(f, "add", band.carry[0], b->first), NULL, acc, last);
    next[0] = fc_ll_bin(f, "add", band.carry[0], fc_ll_number(f, FC_LANES));
    carried(f, b, last, next + 1);
    fc_ll_loop_end(f, &band, next);
    fc_ll_declare(f, "i64 @llvm.usub.sat.i64(i64, i64)");
    left = fc_ll_ins(f, "call i64 @llvm.usub.sat.i64(i64 %s, i64 %s)", left, b->first);
    fc_ll_if some;
    fc_ll_if_begin(f, &some, fc_ll_ins(f, "icmp ne i64 %s, 0", left));
    count_taken(f, b, whole);
    accumulators(f, b, band.carry + 1, taken(f), acc);
    step_rows(f, b, fc_ll_bin(f, "add", whole, b->first), left, acc, last);
    fc_ll_if_else(f, &some);
    fc_ll_if_end(f, &some);
    f->nth = NULL;
    accumulators(f, b, band.carry + 1, NULL, acc);
    for (unsigned i = 0; i < all; i++)
        if (acc[i]) acc[i] = fc_ll_either(f, &some, of_slot[i % slots], last[i], acc[i]);
    return acc;
}

/* One vector of each row, of the vectors that it has a lane for each row in. */
static void join_vectors(fc_ll *f, const bands *b, const char **acc) {
    const unsigned slots = b->st->nslots;
    const char **number = fc_ll_names(f, vectors_of(f));
    for (unsigned v = 0; fc_ll_has_numbers(f, b->st) && v < vectors_of(f); v++)
        number[v] =
            fc_ll_numbers(f, b->n, fc_ll_bin(f, "add", b->first, fc_ll_number(f, v * f->V)));
    for (unsigned r = 0; r < ROWS; r++) {
        fc_ll_joined joined = {.n = 0};
        for (unsigned v = 0; v < vectors_of(f); v++) {
            const char **one = acc + (r * vectors_of(f) + v) * slots;
            for (unsigned i = 0; i < slots; i++)
                if (fc_ll_is_number(f, b->st, i)) one[i] = number[v];
            fc_ll_join_next(f, b->st, &joined, v, one);
        }
        memcpy(acc + r * slots, joined.at[0], slots * sizeof *acc);
    }
}

/* Where the vector of the `time` that a row is gone through waits: as a number of elements is the
 * same in all rows, it stands once. */
static const char *place(fc_ll *f, const bands *b, unsigned slot, unsigned row, const char *time) {
    const unsigned first = fc_ll_is_number(f, b->st, slot) ? 0 : row * times(f) * f->V;
    return fc_ll_bin(f, "add", fc_ll_bin(f, "mul", time, fc_ll_number(f, f->V)),
                     fc_ll_number(f, first));
}

static void put_vectors(fc_ll *f, const bands *b, const char *const *acc, const char *time) {
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned i = 0; i < b->st->nslots; i++)
            fc_ll_spill(f, b->st->slot[i], f->V, b->st->lanes[i], place(f, b, i, r, time),
                        acc[r * b->st->nslots + i]);
}

static const char **get_vector(fc_ll *f, const bands *b, unsigned row, unsigned time) {
    const char **v = fc_ll_names(f, b->st->nslots);
    for (unsigned i = 0; i < b->st->nslots; i++)
        v[i] = fc_ll_fill(f, b->st->slot[i], f->V, b->st->lanes[i],
                          place(f, b, i, row, fc_ll_number(f, time)));
    return v;
}

/* The accumulators of the rows, a lane each. */
static const char **all_rows(fc_ll *f, bands *b) {
    const fc_ll_stage *st = b->st;
    fc_ll_loop l;
    fc_ll_joined joined = {.n = 0};
    const char *time = fc_ll_for(f, &l, "0", fc_ll_number(f, times(f)));
    b->first = fc_ll_bin(f, "mul", time, fc_ll_number(f, vectors_of(f) * f->V));
    const char **acc = through_row(f, b);
    join_vectors(f, b, acc);
    put_vectors(f, b, acc, time);
    fc_ll_for_end(f, &l, "1");
    for (unsigned i = 0; i < ROWS * times(f); i++)
        fc_ll_join_next(f, st, &joined, i, get_vector(f, b, i / times(f), i % times(f)));
    acc = joined.at[0];
    for (unsigned lanes = ROWS; lanes < f->V; lanes *= 2)
        acc = fc_ll_join_neighbours(f, st, acc, acc);
    for (unsigned i = 0; i < st->nslots; i++)
        acc[i] = fc_ll_pick(f, fc_ll_type(f, st->slot[i], f->V), acc[i], NULL, ROWS, 0, 1, f->V);
    return acc;
}

/* The rows from `first` on; where there are fewer, the last one stands for those that are not
 * there. */
static void find_rows(fc_ll *f, bands *b, const char *const *base, const char *first,
                      const char *there) {
    for (unsigned r = 0; r < ROWS; r++) {
        const char *row = fc_ll_bin(f, "add", first, fc_ll_number(f, r));
        row = fc_ll_min(f, row, fc_ll_bin(f, "sub", there, "1"));
        f->base = b->base[r] = fc_ll_names(f, f->cls->naccess);
        for (uint32_t a = 0; a < f->cls->naccess; a++) {
            const bool moves = fc_class_move(f->cls, a, f->cls->np - 1u) != FC_MOVE_ZERO;
            const char *by =
                moves ? fc_ll_bin(f, "mul", row, fc_ll_stride(f, a, f->cls->np - 1u)) : NULL;
            b->base[r][a] = moves ? fc_ll_bin(f, "add", base[a], by) : base[a];
        }
        fc_ll_look_along(f, f->cls->np, true);
        fc_ll_emit_rows(f, b->st->needed);
        b->text[r] = f->text;
    }
}

const char **fc_ll_by_bands(fc_ll *f, const fc_ll_stage *st, const char *there) {
    fc_ll_loop rows;
    bands b = {.st = st, .n = fc_ll_extra(f, FC_PB_COUNT)};
    const char **base = f->base, *row = fc_ll_for(f, &rows, "0", there);
    find_rows(f, &b, base, row, there);
    const char **acc = all_rows(f, &b);
    fc_ll_spill_all(f, st, ROWS, st->lanes, fc_ll_bin(f, "add", row, fc_ll_number(f, waiting(f))),
                    acc);
    fc_ll_for_end(f, &rows, fc_ll_number(f, ROWS));
    return fc_ll_fill_all(f, st, f->V, st->lanes, fc_ll_number(f, waiting(f)));
}
