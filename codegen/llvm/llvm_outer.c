/* llvm_outer.c - reductions whose innermost axis is kept, and scans: the lanes of a vector are neighbouring
 * rows, which this file calls columns.
 *
 * A unit is a block of fc_ll_columns columns, numbered along the innermost kept axis first, then
 * through the other kept axes; when the reduction is split, the spans (FC_PB_SPANS of FC_PB_SPAN
 * elements, a power of two of runs) come after all blocks. For each run of FC_RUN elements every
 * vector of the block walks down the run and then adds its result to a binary counter, which each
 * column has in a stack array. So a run of the block's columns is read while it is in the cache,
 * and the tree is that of codegen/nest.h.
 *
 * Of few columns (`few`) a block is one vector, as wide as they are: memory is read as it lies.
 * Of more, a vector is a register. */
#include "codegen/llvm/llvm_text.h"

/* A block of columns and a range of elements. */
typedef struct block {
    const fc_ll_stage *st;
    unsigned columns;
    const char *row0;        /* number of the row of column 0 of this stretch */
    const char *x0, *x1;     /* columns */
    const char *lo, *hi;     /* elements */
    const char *span;        /* split: number of the span */
    const char *run0, *run1; /* elements of the current run */
    const char *run;         /* its number within [lo, hi) */
} block;

/* ---- runs -------------------------------------------------------------------------------- */

/* What the reduced axes add to the offset of each access, for all elements of the run. */
static void fill_table(fc_ll *f, const block *b) {
    fc_ll_loop l;
    const char *idx[FC_MAX_AXES];
    const unsigned np = f->cls->np, end = np + f->cls->nr;
    const char *r = fc_ll_for(f, &l, b->run0, b->run1), *at = fc_ll_bin(f, "sub", r, b->run0);
    fc_ll_decompose(f, r, np, end, idx);
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        if (f->k->accesses.at[a].level != FC_POINT) continue;
        const char *sum = "0";
        for (unsigned axis = np; axis < end; axis++)
            sum =
                fc_ll_bin(f, "add", sum, fc_ll_bin(f, "mul", idx[axis], fc_ll_stride(f, a, axis)));
        const char *to = fc_ll_bin(f, "add", at, fc_ll_fmt(f, "%u", a * (unsigned)fc_run_of(f->k)));
        fc_ll_spill(f, FUSEC_I64, 1, f->table, to, sum);
    }
    fc_ll_for_end(f, &l, "1");
}

/* With masks of its own a processor needs no other text for a vector that is whole. */
static void for_vectors(fc_ll *f, block *b, fc_ll_body body) {
    if (!f->cls->llvm.few || f->m->vector_bytes < 64) {
        fc_ll_vectors(f, b->x0, b->x1, 1, body, b);
        return;
    }
    fc_ll_set_mask(f, fc_ll_bin(f, "sub", b->x1, b->x0));
    f->x = b->x0;
    body(f, b);
    fc_ll_set_mask(f, NULL);
}

static void for_runs(fc_ll *f, block *b, fc_ll_body body) {
    fc_ll_loop l;
    const char *size = fc_ll_fmt(f, "%d", fc_run_of(f->k));
    b->run0 = fc_ll_for(f, &l, b->lo, b->hi);
    b->run1 = fc_ll_min(f, fc_ll_bin(f, "add", b->run0, size), b->hi);
    b->run = fc_ll_bin(f, "udiv", fc_ll_bin(f, "sub", b->run0, b->lo), size);
    f->run = b->run0;
    if (f->table) fill_table(f, b);
    for_vectors(f, b, body);
    fc_ll_for_end(f, &l, size);
}

static void begin_columns(fc_ll *f, const block *b, const uint8_t *needed) {
    fc_ll_forget(f);
    f->column = fc_ll_bin(f, "sub", f->x, b->x0);
    fc_ll_emit_rows(f, needed);
}

/* Steps in which a load of few columns goes through one line: each line is asked for at least
 * once. */
static unsigned steps_of_line(const fc_ll *f) {
    unsigned bytes = 1;
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        const fc_access *acc = &f->k->accesses.at[a];
        if (acc->level == FC_POINT && fc_dtypes[acc->dtype].bytes > bytes)
            bytes = fc_dtypes[acc->dtype].bytes;
    }
    return f->V * bytes < 64 ? 64 / (f->V * bytes) : 1;
}

/* Before step n of a run. */
static fc_ll_ahead ahead_at(const fc_ll *f, unsigned n) {
    if (f->cls->llvm.wide) return FC_LL_NEXT_RUN;
    const bool ask = f->cls->llvm.few && f->cls->llvm.ahead;
    return ask && f->cls->nr == 1 && n % steps_of_line(f) == 0 ? FC_LL_NEXT_ROWS : FC_LL_NOT_AHEAD;
}

/* The step of element f->element of the run, the nth one. */
static const char **step(fc_ll *f, const block *b, const char *nth, const char *const *acc) {
    const fc_ll_stage *st = b->st;
    fc_ll_emit_points(f, st->needed);
    f->ahead = FC_LL_NOT_AHEAD;
    const char *number = st->uses_index ? fc_ll_splat(f, "i64", f->element) : NULL;
    f->nth = nth;
    const char **next = fc_ll_step(f, st, f->V, acc, number);
    f->nth = NULL;
    fc_ll_forget_points(f);
    return next;
}

/* The steps of a whole run, written out: nothing has to be foreseen until it goes to the counter,
 * so a processor is at the next runs before it has finished this one. */
static const char **whole_run(fc_ll *f, const block *b) {
    const char **acc = fc_ll_inits(f, b->st, f->V);
    fc_ll_follow(f, b->run0);
    for (unsigned n = 0; n < FC_RUN; n++) {
        const char *nth = fc_ll_fmt(f, "%u", n);
        f->element = n && b->st->uses_index ? fc_ll_bin(f, "add", b->run0, nth) : b->run0;
        f->ahead = ahead_at(f, n);
        acc = step(f, b, nth, acc);
        if (n + 1 < FC_RUN) fc_ll_follow_on(f);
    }
    fc_ll_follow_end(f);
    return acc;
}

static const char *const *any_run(fc_ll *f, const block *b) {
    const fc_ll_stage *st = b->st;
    fc_ll_loop l;
    fc_ll_loop_begin(f, &l, st->nslots + 1, fc_ll_slot_types(f, st, f->V, 1),
                     fc_ll_join(f, st, b->run0, NULL, fc_ll_inits(f, st, f->V)));
    f->element = l.carry[0];
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", f->element, b->run1));
    f->ahead = ahead_at(f, 0);
    const char **next = step(f, b, fc_ll_bin(f, "sub", f->element, b->run0), l.carry + 1);
    fc_ll_loop_end(f, &l, fc_ll_join(f, st, fc_ll_bin(f, "add", f->element, "1"), NULL, next));
    f->element = NULL;
    return l.carry + 1;
}

/* Steps of few instructions wait for each other, unless a vector has several registers. The
 * prefetcher of the hardware follows one load from line to line, but not sixteen. */
static bool writes_out(const fc_ll *f, const fc_ll_stage *st) {
    const bool light = st->nslots == 1 && fc_ll_is_light(f->k) && fc_ll_steps(f, st) <= 6;
    const unsigned register_lanes = fc_ll_widest(f->m);
    if (!light || f->cls->nr != 1 || f->k->schedule == FC_SCHED_DOT) return false;
    if (!f->cls->llvm.few) return !f->mask;
    return f->V < register_lanes || (f->V == register_lanes && f->m->far_cache);
}

static const char *const *run(fc_ll *f, const block *b) {
    if (!writes_out(f, b->st)) return any_run(f, b);
    fc_ll_if whole;
    const char *n = fc_ll_bin(f, "sub", b->run1, b->run0),
               *type = fc_ll_type(f, b->st->slot[0], f->V);
    fc_ll_if_begin(f, &whole, fc_ll_ins(f, "icmp eq i64 %s, %d", n, FC_RUN));
    const char *all = whole_run(f, b)[0], *from = f->block;
    fc_ll_if_else(f, &whole);
    const char *part = any_run(f, b)[0], *other = f->block;
    fc_ll_if_end(f, &whole);
    const char **acc = fc_ll_names(f, 1);
    acc[0] = fc_ll_phi(f, type, all, from, part, other);
    return acc;
}

static void reduce_run(fc_ll *f, void *user) {
    const block *b = user;
    begin_columns(f, b, b->st->needed);
    fc_ll_push(f, b->st, f->V, b->columns, f->column, b->run, 0, run(f, b));
}

static void store_run(fc_ll *f, void *user) {
    const block *b = user;
    fc_ll_loop l;
    begin_columns(f, b, f->point_needed);
    f->element = fc_ll_for(f, &l, b->run0, b->run1);
    fc_ll_emit_points(f, f->point_needed);
    fc_ll_run_stores(f, FC_POINT, f->V);
    fc_ll_forget_points(f);
    fc_ll_for_end(f, &l, "1");
    f->element = NULL;
}

/* ---- scans ------------------------------------------------------------------------------- */

/* What FC_OP_ACC is at this element: what the prefix before the run and the run so far make
 * together. */
static void set_scanned(fc_ll *f, const block *b, const char *const *prefix,
                        const char *const *before, const char *const *after) {
    const fc_ll_stage *st = b->st;
    const char **now = fc_ll_names(f, st->nslots);
    for (uint32_t i = st->first; i < st->first + st->count; i++)
        for (unsigned c = 0; c < f->red[i].components; c++) {
            const unsigned slot = f->red[i].slot + c;
            now[slot] = f->k->reductions.at[i].exclusive ? before[slot] : after[slot];
        }
    const char **all = fc_ll_combine(f, st, f->V, prefix, now);
    for (uint32_t i = st->first; i < st->first + st->count; i++)
        f->red[i].scanned = fc_ll_finish(f, i, f->V, all);
}

/* Every element is a step and, with what it has made of it, the stores. */
static void scan_run(fc_ll *f, void *user) {
    const block *b = user;
    const fc_ll_stage *st = b->st;
    fc_ll_loop l;
    begin_columns(f, b, st->needed);
    fc_ll_emit_rows(f, f->point_needed);
    const char **prefix = fc_ll_fold(f, st, f->V, b->columns, f->column, b->run);
    fc_ll_loop_begin(f, &l, st->nslots + 1, fc_ll_slot_types(f, st, f->V, 1),
                     fc_ll_join(f, st, b->run0, NULL, fc_ll_inits(f, st, f->V)));
    f->element = l.carry[0];
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", f->element, b->run1));
    fc_ll_emit_points(f, st->needed);
    const char **next = fc_ll_step(f, st, f->V, l.carry + 1, NULL);
    set_scanned(f, b, prefix, l.carry + 1, next);
    fc_ll_emit_points(f, f->point_needed);
    fc_ll_run_stores(f, FC_POINT, f->V);
    fc_ll_forget_points(f);
    fc_ll_loop_end(f, &l, fc_ll_join(f, st, fc_ll_bin(f, "add", f->element, "1"), NULL, next));
    f->element = NULL;
    fc_ll_push(f, st, f->V, b->columns, f->column, b->run, 0, l.carry + 1);
}

/* ---- results ----------------------------------------------------------------------------- */

static const char *row_of(fc_ll *f, const block *b) {
    return fc_ll_bin(f, "add", b->row0, f->x);
}

static void finish(fc_ll *f, const block *b, const char *const *acc) {
    for (uint32_t i = b->st->first; i < b->st->first + b->st->count; i++) {
        const fc_ll_red *r = &f->red[i];
        fc_ll_spill(f, fc_red_dtype(r->op, r->t), f->V, r->memory, f->column,
                    fc_ll_finish(f, i, f->V, acc));
    }
}

static void fold_columns(fc_ll *f, void *user) {
    const block *b = user;
    f->column = fc_ll_bin(f, "sub", f->x, b->x0);
    const char *n = fc_ll_bin(f, "add", fc_ll_bin(f, "sub", b->hi, b->lo),
                              fc_ll_fmt(f, "%d", fc_run_of(f->k) - 1));
    const char *runs = fc_ll_bin(f, "udiv", n, fc_ll_fmt(f, "%d", fc_run_of(f->k)));
    const char **acc = fc_ll_fold(f, b->st, f->V, b->columns, f->column, runs);
    if (f->cls->llvm.split)
        fc_ll_put_partial(f, b->st, f->V, b->span, row_of(f, b), acc);
    else
        finish(f, b, acc);
}

static void store_columns(fc_ll *f, void *user) {
    begin_columns(f, user, f->row_needed);
    fc_ll_run_stores(f, FC_ROW, f->V);
}

static void join_columns(fc_ll *f, void *user) {
    const block *b = user;
    f->column = "0";
    finish(f, b, fc_ll_join_spans(f, b->st, f->V, row_of(f, b)));
    fc_ll_forget(f);
    fc_ll_emit_rows(f, f->row_needed);
    fc_ll_run_stores(f, FC_ROW, f->V);
}

/* ---- functions --------------------------------------------------------------------------- */

static void arrays(fc_ll *f, unsigned levels, unsigned columns) {
    f->table = NULL;
    for (uint32_t s = 0; s < f->k->nstages; s++)
        f->stage[s].levels = fc_ll_arrays(f, &f->stage[s], levels * columns);
    for (uint32_t i = 0; i < f->k->reductions.len; i++)
        f->red[i].memory = fc_ll_array(f, fc_red_dtype(f->red[i].op, f->red[i].t), columns);
}

static unsigned levels(const fc_class *c) {
    if (c->llvm.wide) return FC_LL_WIDE_LEVELS;
    if (!c->llvm.split) return FC_LL_LEVELS;
    return c->llvm.few ? FC_LL_FEW_LEVELS : FC_LL_SPAN_LEVELS;
}

static void set_rows(fc_ll *f, block *b, const char *outer) {
    const char *idx[FC_MAX_AXES];
    const unsigned axes = f->cls->np - 1u;
    if (axes) fc_ll_decompose(f, outer, 0, axes, idx);
    fc_ll_set_base(f, idx, axes);
    b->row0 = fc_ll_bin(f, "mul", outer, fc_ll_extent(f, axes));
}

/* The columns and elements of a unit. */
static void place(fc_ll *f, block *b, const char *unit) {
    const char *size = fc_ll_fmt(f, "%u", b->columns), *width = fc_ll_extent(f, f->cls->np - 1u);
    const char *count = fc_ll_extra(f, FC_PB_COUNT);
    const char *more = fc_ll_bin(f, "add", width, fc_ll_fmt(f, "%u", b->columns - 1));
    const char *blocks = fc_ll_bin(f, "udiv", more, size);
    const char *outer = fc_ll_bin(f, "udiv", unit, blocks);
    const char *number = fc_ll_bin(f, "sub", unit, fc_ll_bin(f, "mul", outer, blocks));
    b->x0 = fc_ll_bin(f, "mul", number, size);
    b->x1 = fc_ll_min(f, fc_ll_bin(f, "add", b->x0, size), width);
    b->lo = "0";
    b->hi = count;
    if (f->cls->llvm.split) {
        const char *rows = fc_ll_bin(f, "udiv", fc_ll_extra(f, FC_PB_ROWS), width);
        const char *length = fc_ll_extra(f, FC_PB_SPAN);
        b->span = fc_ll_bin(f, "udiv", outer, rows);
        outer = fc_ll_bin(f, "sub", outer, fc_ll_bin(f, "mul", b->span, rows));
        b->lo = fc_ll_bin(f, "mul", b->span, length);
        b->hi = fc_ll_min(f, fc_ll_bin(f, "add", b->lo, length), count);
    }
    set_rows(f, b, outer);
}

void fc_ll_outer(fc_ll *f) {
    block b = {.columns = fc_ll_columns(f->k, f->cls)};
    fc_ll_loop l;
    f->lane_axis = f->cls->np - 1u;
    fc_ll_begin(f);
    arrays(f, levels(f->cls), b.columns);
    if (f->cls->nr > 1)
        f->table = fc_ll_array(f, FUSEC_I64, f->cls->naccess * (unsigned)fc_run_of(f->k));
    place(f, &b, fc_ll_for(f, &l, "%begin", "%end"));
    for (uint32_t s = 0; s < f->k->nstages; s++) {
        b.st = &f->stage[s];
        if (f->k->schedule == FC_SCHED_SCAN) {
            for_runs(f, &b, scan_run);
            break;
        }
        for_runs(f, &b, reduce_run);
        for_vectors(f, &b, fold_columns);
    }
    if (f->any_row_store && !f->cls->llvm.split) for_vectors(f, &b, store_columns);
    if (f->any_point_store && f->k->schedule != FC_SCHED_SCAN) for_runs(f, &b, store_run);
    fc_ll_for_end(f, &l, "1");
    fc_ll_end(f, "");
}

/* Rows [begin, end) in stretches that do not pass the end of the innermost kept axis. */
void fc_ll_outer_finish(fc_ll *f) {
    static const char *const i64[] = {"i64"};
    static const char *const begin[] = {"%begin"};
    block b = {.st = &f->stage[0], .columns = f->V};
    fc_ll_loop l;
    fc_ll_begin(f);
    arrays(f, FC_LL_LEVELS, b.columns);
    fc_ll_loop_begin(f, &l, 1, i64, begin);
    const char *row = l.carry[0], *width = fc_ll_extent(f, f->cls->np - 1u);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %%end", row));
    const char *outer = fc_ll_bin(f, "udiv", row, width);
    set_rows(f, &b, outer);
    b.x0 = fc_ll_bin(f, "sub", row, b.row0);
    b.x1 = fc_ll_min(f, fc_ll_bin(f, "sub", "%end", b.row0), width);
    fc_ll_vectors(f, b.x0, b.x1, 1, join_columns, &b);
    const char *next = fc_ll_bin(f, "add", b.row0, b.x1);
    fc_ll_loop_end(f, &l, &next);
    fc_ll_end(f, "_finish");
}
