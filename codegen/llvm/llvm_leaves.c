/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_leaves.c - the leaves of a loop form: what is done with the kernel's code, accumulators and
 * stage buffers at the place that the loops around them give.
 *
 * In: a walk that knows the place (llvm_walk.c). Out: the text, by the files for memory, code and
 * accumulators. */
#include "codegen/llvm/llvm_walk.h"

/* ---- leaves: code and accumulators ----------------------------------------------------------- */

static const uint8_t *needed_by(const walk *w, unsigned phase) {
    if (phase == FC_PHASE_RESULTS) return w->f->row_needed;
    return phase == FC_PHASE_ELEMENTS ? w->f->point_needed : w->f->stage[phase].needed;
}

/* Where values of the point are kept for the stores (llvm_keep.c). */
static const char *kept_at(fc_ll *f) {
    if (!f->kept) return NULL;
    return fc_ll_along_row(f) ? f->x : fc_ll_bin(f, "mul", f->element, fc_ll_number(f, f->V));
}

static void point(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    if (n->phase == FC_PHASE_ELEMENTS) fc_ll_bring(f, kept_at(f));
    fc_ll_emit_points(f, needed_by(w, n->phase));
    if (n->phase < FC_PHASE_ELEMENTS) fc_ll_keep(f, stage_of(w, n), kept_at(f));
}

static void step(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    const char *index = st->uses_index ? fc_ll_splat(f, "i64", f->element) : NULL;
    w->before = w->carries ? w->acc : fc_ll_inits(f, st, f->V);
    w->acc = fc_ll_step(f, st, f->V, w->before, index);
}

static unsigned width(const fc_ll *f) {
    return fc_ll_along_row(f) ? 1 : f->V;
}

/* Accumulators of the elements under way, by the quickest way. */
static void reduce_lanes(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    f->ahead = n->ahead;
    if (f->cls->llvm.packed) {
        w->acc = fc_ll_packed(f, st);
    } else {
        const range r = fc_ll_elements_of(w);
        const char *chunk = NULL;
        if (w->turn.at)
            chunk = fc_ll_min(f, minus(f, w->turn.to, w->turn.at), fc_ll_number(f, w->turn.step));
        w->acc = fc_ll_reduce_range(f, st, r.lo, r.hi, chunk);
    }
    f->ahead = FC_LOOP_NOT_AHEAD;
}

/* Elements of the row under way that the stage takes. */
static void end_row(walk *w, unsigned phase) {
    fc_ll *f = w->f;
    const unsigned axis = f->cls->np;
    if (!fc_is_ragged(f->k)) return;
    w->of[axis] = (range){NULL, NULL};
    if (phase >= f->k->nstages) return;
    const fc_val limit = f->map[fc_stage_limit(f->k, phase)];
    if (!f->at_row[limit] && !f->uniform[limit]) fc_ll_fail(f, FUSEC_INTERNAL);
    fc_ll_declare(f, "i64 @llvm.smax.i64(i64, i64)");
    const char *end =
        fc_ll_ins(f, "call i64 @llvm.smax.i64(i64 %s, i64 0)", fc_ll_here(f, limit, 1));
    w->of[axis] = (range){"0", fc_ll_min(f, end, fc_ll_extra(f, FC_PB_COUNT))};
}

static void push(walk *w, const fc_loop *n) {
    fc_ll_push(w->f, stage_of(w, n), width(w->f), w->columns, w->f->column, w->turn.number,
               n->level, w->acc);
    w->carries = false;
}

/* Lanes of the tree of so many elements. */
static const char *lanes_of(fc_ll *f, const char *count) {
    const char *whole = fc_ll_bin(f, "udiv", count, fc_ll_number(f, FC_CHUNK)),
               *rest = fc_ll_bin(f, "urem", count, fc_ll_number(f, FC_CHUNK));
    return fc_ll_bin(f, "add", fc_ll_bin(f, "mul", whole, fc_ll_number(f, FC_LANES)),
                     fc_ll_min(f, rest, fc_ll_number(f, FC_LANES)));
}

static void fold(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const range r = fc_ll_elements_of(w);
    const char *all = minus(f, r.hi, r.lo);
    if (f->cls->llvm.deep) all = lanes_of(f, all);
    if (n->step > 1)
        all = fc_ll_bin(f, "udiv", plus(f, all, n->step - 1), fc_ll_number(f, n->step));
    w->acc = fc_ll_fold(f, stage_of(w, n), width(f), w->columns, f->column, all);
}

/* The first run stands alone: a start of the user's need not be neutral for every element (inf *
 * 0). */
static void first_alone(const walk *w, const fc_ll_red *r, const char **now, const char **all) {
    fc_ll *f = w->f;
    if (!r->of->record) return;
    const char *first = fc_ll_ins(f, "icmp eq i64 %s, 0", w->turn.number);
    for (unsigned c = 0; c < r->components; c++) {
        const char *type = fc_ll_type(f, fc_red_component(r->of, c), f->V);
        const unsigned at = r->slot + c;
        all[at] = fc_ll_select(f, type, 1, first, now[at], all[at]);
    }
}

static void scanned(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    const char **now = fc_ll_names(f, st->nslots);
    for (uint32_t i = st->first; i < st->first + st->count; i++)
        for (unsigned c = f->red[i].slot; c < f->red[i].slot + f->red[i].components; c++)
            now[c] = f->k->reductions.at[i].exclusive ? w->before[c] : w->acc[c];
    const char **all = fc_ll_combine(f, st, f->V, w->prefix, now);
    for (uint32_t i = st->first; i < st->first + st->count; i++) {
        first_alone(w, &f->red[i], now, all);
        f->red[i].scanned = fc_ll_finish(f, i, f->V, all);
    }
}

/* At the first row of a run: what is in front of it, and accumulators of nothing. */
static void hold(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    if (!w->carries) {
        fc_ll_spill_all(f, st, f->V, st->front, f->column, w->prefix);
        w->acc = fc_ll_inits(f, st, f->V);
    }
    fc_ll_spill_all(f, st, f->V, st->held, f->column, w->acc);
    w->carries = false;
}

static void take(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    w->prefix = fc_ll_fill_all(f, st, f->V, st->front, f->column);
    w->acc = fc_ll_fill_all(f, st, f->V, st->held, f->column);
    w->carries = true;
}

static void finish(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    for (uint32_t i = st->first; i < st->first + st->count; i++) {
        fc_ll_red *r = &f->red[i];
        r->result = fc_ll_finish(f, i, width(f), w->acc);
        for (unsigned k = 0; !fc_ll_along_row(f) && k < fc_red_results(r->of); k++)
            fc_ll_spill(f, fc_red_result(r->of, k), f->V, r->memory[k], f->column, r->result[k]);
    }
}

/* The number of the row, or of that of lane 0. */
static const char *flat_row(walk *w) {
    fc_ll *f = w->f;
    if (fc_ll_along_row(f)) return w->flat;
    if (!w->flat) return f->x;
    return fc_ll_bin(f, "add", fc_ll_bin(f, "mul", w->flat, fc_ll_extent(f, f->lane_axis)), f->x);
}

/* ---- leaves: stage buffers ------------------------------------------------------------------- */

enum { AHEAD_ALONG = 512 }; /* bytes of each of the rows that are columns */

static void move_tile(walk *w, const fc_stage_buffer *b, bool out, const char *r, const char *n) {
    fc_ll *f = w->f;
    const fusec_dtype t = f->k->accesses.at[b->access].dtype;
    const char *stride = fc_ll_stride(f, b->access, f->lane_axis);
    const char *by = fc_ll_bin(f, "mul", f->x, stride),
               *last = f->active ? minus(f, f->active, "1") : fc_ll_number(f, f->V - 1);
    const char *element = fc_ll_bin(f, "add", f->base[b->access], by),
               *ahead = fc_ll_number(f, f->V);
    const char *to = "0";
    if (w->vector) {
        element = fc_ll_bin(f, "add", element, r);
        to = fc_ll_bin(f, "mul", minus(f, r, fc_ll_elements_of(w).lo), fc_ll_number(f, f->V));
        ahead = f->cls->llvm.narrow ? fc_ll_bin(f, "mul", stride, ahead)
                                    : fc_ll_number(f, AHEAD_ALONG / fc_dtypes[t].bytes);
    } else {
        last = fc_ll_bin(f, "sub", fc_ll_extent(f, f->lane_axis), f->x);
        last = fc_ll_bin(f, "sub", last, "1");
        to = fc_ll_bin(f, "sub", f->x, w->of[f->lane_axis].lo);
    }
    const char *array = fc_ll_index(f, fc_ll_stored(f, t, 1), f->tile[b->access], to);
    fc_ll_move_tile(f, b->access, out, element, last, n, array,
                    fc_ll_number(f, w->vector ? f->V : b->lanes), ahead);
}

static void gather(walk *w, const fc_stage_buffer *b) {
    fc_ll *f = w->f;
    fc_ll_loop l;
    const char *tile = f->tile[b->access];
    const char *at = fc_ll_for(f, &l, "0", fc_ll_extra(f, FC_PB_COUNT));
    f->element = at;
    f->tile[b->access] = NULL;
    const char *v = fc_ll_load(f, b->access, f->V);
    f->tile[b->access] = tile;
    f->tile_row = minus(f, fc_ll_bin(f, "mul", at, fc_ll_number(f, f->V)), f->x);
    fc_ll_store(f, b->access, f->V, v);
    f->element = NULL;
    fc_ll_for_end(f, &l, "1");
}

/* All buffers of the set: of the lanes at x, elements after elements; or of all lanes of the range,
 * and the elements of a band. */
static void move(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    fc_ll_loop l;
    const char *at = NULL, *end = NULL;
    for (unsigned a = 0; a < w->rows; a++) {
        if (w->idx[a]) continue;
        w->idx[a] = w->of[a].lo; /* for a block of rows: at the first one */
        fc_ll_find_row(w);
    }
    for (size_t i = 0; i < f->loops.buffer.len; i++) {
        const fc_stage_buffer *b = &f->loops.buffer.at[i];
        if (b->set != n->phase) continue;
        if (!b->transposed) {
            gather(w, b);
            continue;
        }
        const range r = w->vector ? fc_ll_elements_of(w) : w->of[f->lane_axis];
        if (!at) at = fc_ll_for(f, &l, r.lo, r.hi);
        end = w->vector ? r.hi : minus(f, w->of[b->along].hi, w->of[b->along].lo);
        if (!w->vector) f->x = at;
        move_tile(w, b, n->kind == FC_LEAF_FLUSH, at,
                  w->vector ? fc_ll_bin(f, "sub", end, at) : end);
    }
    if (at) fc_ll_for_end(f, &l, fc_ll_number(f, f->V));
}

/* ---------------------------------------------------------------------------------------------- */

void fc_ll_leaf(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    switch (n->kind) {
    case FC_LEAF_FILL:
    case FC_LEAF_FLUSH: move(w, n); break;
    case FC_LEAF_ROW:
        fc_ll_emit_rows(f, needed_by(w, n->phase));
        end_row(w, n->phase);
        if (f->has_inside && n->phase != FC_PHASE_RESULTS) fc_ll_emit_inside_rows(f);
        break;
    case FC_LEAF_POINT: point(w, n); break;
    case FC_LEAF_STORE:
        if (n->phase == FC_PHASE_RESULTS)
            fc_ll_run_stores(f, FC_ROW, width(f));
        else
            fc_ll_run_stores(f, FC_POINT, f->V);
        break;
    case FC_LEAF_STEP: step(w, n); break;
    case FC_LEAF_LANES: reduce_lanes(w, n); break;
    case FC_LEAF_PUSH: push(w, n); break;
    case FC_LEAF_FOLD: fold(w, n); break;
    case FC_LEAF_PREFIX:
        w->prefix = fc_ll_fold(f, stage_of(w, n), f->V, w->columns, f->column, w->turn.number);
        break;
    case FC_LEAF_SCANNED: scanned(w, n); break;
    case FC_LEAF_HOLD: hold(w, n); break;
    case FC_LEAF_TAKE: take(w, n); break;
    case FC_LEAF_SCAN: {
        const range r = fc_ll_elements_of(w);
        fc_ll_scan_block(f, stage_of(w, n), r.lo, r.hi, w->turn.number);
        break;
    }
    case FC_LEAF_PUT:
        fc_ll_put_partial(f, stage_of(w, n), width(f), w->span, flat_row(w), w->acc);
        break;
    case FC_LEAF_GET: w->acc = fc_ll_join_spans(f, stage_of(w, n), width(f), flat_row(w)); break;
    case FC_LEAF_FINISH: finish(w, n); break;
    default: fc_ll_fail(f, FUSEC_INTERNAL);
    }
}
