/* llvm_inner.c - reductions over the innermost axis: the lanes of a vector are neighbouring
 * elements of a row.
 *
 * A unit is a row, or, when the reduction is split, a span of a row (FC_PB_SPANS of FC_PB_SPAN
 * elements each; a power of two of chunks), whose partials go to the workspace. llvm_chunk.c does a
 * chunk, a binary counter joins chunks where a row may have several. The vector width decides how
 * many lanes move at once, never what is added to what.
 *
 * With several reduced axes a vector either lies within the innermost one (its first element gives
 * all offsets) or crosses it, and then every lane has coordinates of its own and loads are
 * gathers. */
#include "codegen/llvm/llvm_text.h"

/* ---- where a vector is ------------------------------------------------------------------- */

static const char *index_type(const fc_ll *f) {
    return f->cls->wide ? "i64" : "i32";
}

/* Coordinates of the lanes. The quotient of two integers below 2^53, rounded and cut off, is exact,
 * and a division of doubles is a vector instruction. */
static void lane_coordinates(fc_ll *f, const char *first) {
    const char *type = index_type(f), *vec = fc_ll_wide(f, type, f->V);
    const char *f64 = fc_ll_wide(f, "double", f->V), *flat = first;
    if (!f->cls->wide) flat = fc_ll_ins(f, "trunc i64 %s to i32", flat);
    flat = fc_ll_ins(f, "add %s %s, %s", vec, fc_ll_splat(f, type, flat),
                     fc_ll_iota(f, f->cls->wide ? 64 : 32));
    f->coord = fc_ll_names(f, f->cls->nr);
    for (unsigned i = f->cls->nr; i-- > 0;) {
        f->coord[i] = flat;
        if (i == 0) break;
        const char *n = fc_ll_extent(f, f->cls->np + i);
        const char *size = fc_ll_splat(f, "double", fc_ll_ins(f, "sitofp i64 %s to double", n));
        if (!f->cls->wide) n = fc_ll_ins(f, "trunc i64 %s to i32", n);
        const char *q = fc_ll_ins(f, "fdiv %s %s, %s", f64,
                                  fc_ll_ins(f, "sitofp %s %s to %s", vec, flat, f64), size);
        q = fc_ll_ins(f, "fptosi %s %s to %s", f64, q, vec);
        f->coord[i] = fc_ll_ins(f, "sub %s %s, %s", vec, flat,
                                fc_ll_ins(f, "mul %s %s, %s", vec, q, fc_ll_splat(f, type, n)));
        flat = q;
    }
}

static void vector_offsets(fc_ll *f, const char *const *idx) {
    f->fixed = fc_ll_names(f, f->cls->naccess);
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        if (f->k->accesses.at[a].level != FC_POINT) continue;
        f->fixed[a] = f->base[a];
        for (unsigned axis = f->cls->np; axis < (unsigned)f->cls->np + f->cls->nr; axis++)
            f->fixed[a] = fc_ll_bin(f, "add", f->fixed[a],
                                    fc_ll_bin(f, "mul", idx[axis], fc_ll_stride(f, a, axis)));
    }
}

void fc_ll_at_vector(fc_ll *f, fc_ll_body body, void *user) {
    if (f->cls->nr == 1) {
        body(f, user);
        return;
    }
    const char *idx[FC_MAX_AXES];
    const unsigned end = (unsigned)f->cls->np + f->cls->nr;
    fc_ll_decompose(f, f->x, f->cls->np, end, idx);
    const char *lanes = f->active ? f->active : fc_ll_fmt(f, "%u", f->V);
    const char *last = fc_ll_bin(f, "add", idx[end - 1], lanes);
    fc_ll_if within;
    fc_ll_if_begin(f, &within, fc_ll_ins(f, "icmp ule i64 %s, %s", last, fc_ll_extent(f, end - 1)));
    vector_offsets(f, idx);
    body(f, user);
    f->fixed = NULL;
    fc_ll_if_else(f, &within);
    lane_coordinates(f, f->x);
    body(f, user);
    f->coord = NULL;
    fc_ll_if_end(f, &within);
}

/* A part that is quicker alone. A place is looked for by steps in every chunk. */
static bool is_quick(const fc_ll *f, const fc_ll_stage *part) {
    return fc_ll_is_min_max(f->red[part->first].op) && fc_ll_is_extreme(f, part);
}

/* Whether the stage's extremes are found by themselves, from the chunk that the other reductions
 * have brought to the nearest cache. What is kept for the stores is kept by all of a stage
 * together; functions and gathered loads are not done twice. */
static bool goes_apart(const fc_ll *f, const fc_ll_stage *st) {
    unsigned others = 0;
    if (!st->nparts || f->cls->nr > 1 || (f->kept && st == f->kept_stage)) return false;
    for (unsigned p = 0; p < st->nparts; p++) others += !is_quick(f, &st->part[p]);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (fc_class_move(f->cls, a, f->lane_axis) == FC_MOVE_ANY) return false;
    return others < st->nparts && (others < 2 || fc_ll_is_light(f->k));
}

static const char **reduce_chunk(fc_ll *f, const fc_ll_stage *st, const char *first,
                                 const char *n) {
    if (!goes_apart(f, st)) return fc_ll_reduce_chunk(f, st, first, n);
    const char **out = fc_ll_names(f, st->nslots), *hi = fc_ll_bin(f, "add", first, n);
    for (unsigned p = 0; p < st->nparts; p++) {
        const fc_ll_stage *part = &st->part[p];
        const char **acc = is_quick(f, part) ? fc_ll_extreme(f, part, first, hi)
                                             : fc_ll_reduce_chunk(f, part, first, n);
        memcpy(out + part->base, acc, part->nslots * sizeof *out);
    }
    return out;
}

/* Elements [lo, hi) of the row; lo is a multiple of FC_CHUNK. */
static const char **reduce(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi) {
    fc_ll_loop l;
    if (fc_ll_is_extreme(f, st)) return fc_ll_extreme(f, st, lo, hi);
    if (f->cls->llvm.one_chunk) return reduce_chunk(f, st, lo, fc_ll_bin(f, "sub", hi, lo));
    const char *size = fc_ll_fmt(f, "%d", FC_CHUNK), *first = fc_ll_for(f, &l, lo, hi);
    const char *n = fc_ll_min(f, fc_ll_bin(f, "sub", hi, first), size);
    const char **partial = reduce_chunk(f, st, first, n);
    const char *number = fc_ll_bin(f, "udiv", fc_ll_bin(f, "sub", first, lo), size);
    fc_ll_push(f, st, 1, 1, "0", number, 0, partial);
    fc_ll_for_end(f, &l, size);
    const char *all =
        fc_ll_bin(f, "add", fc_ll_bin(f, "sub", hi, lo), fc_ll_fmt(f, "%d", FC_CHUNK - 1));
    return fc_ll_fold(f, st, 1, 1, "0", fc_ll_bin(f, "udiv", all, size));
}

/* ---- rows -------------------------------------------------------------------------------- */

static void store_points(fc_ll *f, void *user) {
    (void)user;
    fc_ll_forget_points(f);
    fc_ll_bring(f, f->x);
    fc_ll_emit_points(f, f->point_needed);
    fc_ll_run_stores(f, FC_POINT, f->V);
}

static void placed_stores(fc_ll *f, void *user) {
    fc_ll_at_vector(f, store_points, user);
}

static void begin_row_at(fc_ll *f, const char *const *idx) {
    fc_ll_set_base(f, idx, f->cls->np);
    fc_ll_forget(f);
}

static void begin_row(fc_ll *f, const char *row) {
    const char *idx[FC_MAX_AXES];
    fc_ll_decompose(f, row, 0, f->cls->np, idx);
    begin_row_at(f, idx);
}

static void finish(fc_ll *f, const fc_ll_stage *st, const char *const *acc) {
    for (uint32_t i = st->first; i < st->first + st->count; i++)
        f->red[i].result = fc_ll_finish(f, i, 1, acc);
}

static void store_row(fc_ll *f) {
    fc_ll_emit_rows(f, f->row_needed);
    fc_ll_run_stores(f, FC_ROW, 1);
}

/* Of rows in several passes the second one asks for the next row, and brings all of a short one
 * while its functions are computed. */
static fc_ll_ahead ahead_in_pass(const fc_ll *f, uint32_t pass) {
    const bool several = f->k->nstages > 1 || f->any_point_store;
    if (!f->cls->llvm.ahead || f->cls->nr > 1) return FC_LL_NOT_AHEAD;
    if (pass > 0) return pass == 1 ? FC_LL_NEXT_ROW : FC_LL_NOT_AHEAD;
    if (several && !fc_ll_is_light(f->k) && f->cls->llvm.one_chunk) return FC_LL_NOT_AHEAD;
    return fc_ll_is_sum(f->k) ? FC_LL_LATER : FC_LL_SOON;
}

/* The row that has begun. */
static void whole_row(fc_ll *f) {
    const char *count = fc_ll_extra(f, FC_PB_COUNT);
    fc_ll_ask_for_edges(f, count);
    for (uint32_t s = 0; s < f->k->nstages; s++) {
        fc_ll_emit_rows(f, f->stage[s].needed);
        f->ahead = ahead_in_pass(f, s);
        finish(f, &f->stage[s], reduce(f, &f->stage[s], "0", count));
    }
    f->ahead = ahead_in_pass(f, f->k->nstages);
    fc_ll_forget_points(f);
    store_row(f);
    if (!f->any_point_store) return;
    fc_ll_emit_rows(f, f->point_needed);
    fc_ll_points(f, "0", count, fc_ll_is_light(f->k) ? 2 : 1, placed_stores, NULL);
}

/* A unit of llvm_narrow.c, done by code that is compiled sooner. */
static void rows_by_row(fc_ll *f, const char *unit) {
    fc_ll_loop l;
    const unsigned outer = f->cls->np - 1u;
    const char *idx[FC_MAX_AXES], *from, *to;
    unit = fc_ll_take_tile(f, unit, outer, &from, &to);
    if (outer) fc_ll_decompose(f, unit, 0, outer, idx);
    idx[outer] = fc_ll_for(f, &l, from, to);
    begin_row_at(f, idx);
    whole_row(f);
    fc_ll_for_end(f, &l, "1");
}

static void row_of_unit(fc_ll *f, const char *unit) {
    begin_row(f, unit);
    whole_row(f);
}

static void span_of_row(fc_ll *f, const char *unit) {
    const char *spans = fc_ll_extra(f, FC_PB_SPANS), *size = fc_ll_extra(f, FC_PB_SPAN);
    const char *row = fc_ll_bin(f, "udiv", unit, spans);
    const char *span = fc_ll_bin(f, "sub", unit, fc_ll_bin(f, "mul", row, spans));
    const char *lo = fc_ll_bin(f, "mul", span, size);
    const char *hi = fc_ll_min(f, fc_ll_bin(f, "add", lo, size), fc_ll_extra(f, FC_PB_COUNT));
    begin_row(f, row);
    fc_ll_emit_rows(f, f->stage[0].needed);
    f->ahead = ahead_in_pass(f, 0);
    fc_ll_put_partial(f, &f->stage[0], 1, span, row, reduce(f, &f->stage[0], lo, hi));
}

void fc_ll_inner(fc_ll *f) {
    fc_ll_loop l;
    f->lane_axis = (uint32_t)f->cls->np + f->cls->nr - 1;
    fc_ll_begin(f);
    for (uint32_t s = 0; s < f->k->nstages; s++) {
        f->stage[s].lanes = fc_ll_arrays(f, &f->stage[s], FC_LANES);
        for (unsigned p = 0; p < f->stage[s].nparts; p++)
            f->stage[s].part[p].lanes = f->stage[s].lanes + f->stage[s].part[p].base;
        if (!f->cls->llvm.one_chunk)
            f->stage[s].levels = fc_ll_arrays(f, &f->stage[s], FC_LL_LEVELS);
    }
    fc_ll_choose_kept(f, f->cls->llvm.keep == FC_LL_KEEP_LONG ? FC_LL_KEPT_LONG : FC_LL_KEPT);
    const char *unit = fc_ll_for(f, &l, "%begin", "%end");
    (f->cls->llvm.split ? span_of_row : f->cls->llvm.by_row ? rows_by_row : row_of_unit)(f, unit);
    fc_ll_for_end(f, &l, "1");
    fc_ll_end_stream(f);
    fc_ll_end(f, "");
}

void fc_ll_inner_finish(fc_ll *f) {
    fc_ll_loop l;
    fc_ll_begin(f);
    f->stage[0].levels = fc_ll_arrays(f, &f->stage[0], FC_LL_LEVELS);
    const char *row = fc_ll_for(f, &l, "%begin", "%end");
    begin_row(f, row);
    finish(f, &f->stage[0], fc_ll_join_spans(f, &f->stage[0], 1, row));
    store_row(f);
    fc_ll_for_end(f, &l, "1");
    fc_ll_end(f, "_finish");
}
