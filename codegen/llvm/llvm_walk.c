/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_walk.c - a loop form (codegen/loop.h) as LLVM IR.
 *
 * In: f->loops. Out: its functions, of the form that llvm_emit.c describes. A walk over the tree
 * knows the range of each axis and where the row is; at a leaf the files for memory, code and
 * accumulators write what is done there. */
#include "codegen/llvm/llvm_walk.h"
#include "ir/plant.h"

static void list(walk *w, uint32_t at);

static const char *extent(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    if (n->first >= f->cls->np) return fc_ll_extra(f, FC_PB_COUNT);
    const char *all = fc_ll_extent(f, n->first);
    for (unsigned a = n->first + 1u; a < n->end; a++)
        all = fc_ll_bin(f, "mul", all, fc_ll_extent(f, a));
    return all;
}

static range range_of(walk *w, const fc_loop *n) {
    if (w->of[n->first].lo) return w->of[n->first];
    return (range){"0", extent(w, n)};
}

/* Of the row. */
range fc_ll_elements_of(walk *w) {
    return range_of(w, &(fc_loop){.first = w->f->cls->np});
}

/* ---- where things are ------------------------------------------------------------------------ */

void fc_ll_find_row(walk *w) {
    for (unsigned a = 0; a < w->rows; a++)
        if (!w->idx[a]) return;
    fc_ll_set_base(w->f, w->idx, w->rows);
}

static bool begins_row(const walk *w, const fc_loop *n) {
    for (uint32_t at = n->body; at; at = w->f->loops.node.at[at].next)
        if (w->f->loops.node.at[at].kind == FC_LEAF_ROW) return true;
    return false;
}

/* Names of a turn are of no use in the next one, or behind the loop. */
static void body(walk *w, const fc_loop *n) {
    void (*const forget)(fc_ll *) = begins_row(w, n) ? fc_ll_forget : fc_ll_forget_points;
    forget(w->f);
    list(w, n->body);
    forget(w->f);
}

/* Of stage buffers whose rows are elements: where row `at` is, less the lanes' position. */
static void find_in_buffers(walk *w, const fc_loop *n, const char *at) {
    fc_ll *f = w->f;
    for (size_t i = 0; i < f->loops.buffer.len; i++) {
        const fc_stage_buffer *b = &f->loops.buffer.at[i];
        if (b->along != n->first || b->packed) continue;
        const unsigned lanes = w->vector ? f->V : b->lanes;
        const char *row = fc_ll_bin(f, "mul", at, fc_ll_number(f, lanes));
        f->tile_row = minus(f, row, w->vector ? f->x : w->of[f->lane_axis].lo);
        return;
    }
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Elements that a turn has at most. */
static const char *step_of(walk *w, const fc_loop *n) {
    if (n->step == FC_STEP_SPAN) return fc_ll_span(w->f);
    if (n->step == FC_STEP_ROWS) return fc_ll_dot_rows(w->f);
    if (n->step == FC_STEP_COLUMNS) return fc_ll_dot_columns(w->f);
    return fc_ll_number(w->f, n->step);
}

/* Splits `rest` into the number of a task loop's turn, which becomes its range, and what is for the
 * loops around it. */
static const char *take_digit(walk *w, const fc_loop *n, const char *rest, bool last) {
    fc_ll *f = w->f;
    const char *digit = rest, *to = extent(w, n);
    if (!last) {
        const char *parts = to;
        if (n->step == FC_STEP_SPAN)
            parts = fc_ll_spans(f);
        else if (n->step > 1)
            parts = fc_ll_bin(f, "udiv", fc_ll_bin(f, "add", to, minus(f, step_of(w, n), "1")),
                              step_of(w, n));
        rest = fc_ll_bin(f, "udiv", digit, parts);
        digit = fc_ll_bin(f, "sub", digit, fc_ll_bin(f, "mul", rest, parts));
    }
    if (n->step == 1) {
        fc_ll_decompose(f, digit, n->first, n->end, w->idx);
        if (f->dot) w->idx[n->first] = FC_PLANT(dot_batch, "0", w->idx[n->first]);
        if (n->first == 0) w->flat = digit;
        return rest;
    }
    const char *size = step_of(w, n);
    range *r = &w->of[n->first];
    r->lo = fc_ll_bin(f, "mul", digit, size);
    r->hi = fc_ll_min(f, fc_ll_bin(f, "add", r->lo, size), to);
    w->unit[n->first] = *r;
    if (n->first >= f->cls->np) w->span = digit;
    return rest;
}

/* One number for all task loops inside each other. */
static void each_unit(walk *w, const fc_loop *const *task, unsigned n) {
    fc_ll_loop l;
    const char *unit = fc_ll_for(w->f, &l, "%begin", "%end");
    for (unsigned i = n; i-- > 0;) unit = take_digit(w, task[i], unit, i == 0);
    fc_ll_find_row(w);
    body(w, task[n - 1]);
    fc_ll_for_end(w->f, &l, "1");
}

/* The last axis takes all neighbours that a task has, up to the end of the axis. */
static void each_stretch(walk *w, const fc_loop *outer, const fc_loop *last) {
    static const char *const i64[] = {"i64"}, *const begin[] = {"%begin"};
    fc_ll *f = w->f;
    fc_ll_loop l;
    range *r = &w->of[last->first];
    fc_ll_loop_begin(f, &l, 1, i64, begin);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %%end", l.carry[0]));
    const char *width = extent(w, last);
    w->flat = fc_ll_bin(f, "udiv", l.carry[0], width);
    const char *first = fc_ll_bin(f, "mul", w->flat, width);
    fc_ll_decompose(f, w->flat, outer->first, outer->end, w->idx);
    r->lo = fc_ll_bin(f, "sub", l.carry[0], first);
    r->hi = fc_ll_min(f, fc_ll_bin(f, "sub", "%end", first), width);
    fc_ll_find_row(w);
    body(w, last);
    const char *next = fc_ll_bin(f, "add", first, r->hi);
    fc_ll_loop_end(f, &l, &next);
}

static void tasks(walk *w, const fc_loop *n) {
    const fc_loop *task[FC_LOOP_DEPTH];
    unsigned count = 0;
    for (; n->kind == FC_LOOP_TASK; n = &w->f->loops.node.at[n->body]) task[count++] = n;
    const fc_loop *last = task[count - 1];
    if (last->step != FC_STEP_TASK) {
        each_unit(w, task, count);
    } else if (count > 1) {
        each_stretch(w, task[0], last);
    } else {
        w->of[last->first] = (range){"%begin", "%end"};
        fc_ll_find_row(w);
        body(w, last);
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* What the reduced axes add to the offset of each access, for all elements of a run. */
static void fill_table(walk *w, const range *r) {
    fc_ll *f = w->f;
    fc_ll_loop l;
    const char *idx[FC_MAX_AXES];
    const unsigned np = f->cls->np, end = np + f->cls->nr;
    const char *n = fc_ll_for(f, &l, r->lo, r->hi), *at = fc_ll_bin(f, "sub", n, r->lo);
    f->run = r->lo;
    fc_ll_decompose(f, n, np, end, idx);
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        if (f->k->accesses.at[a].level != FC_POINT) continue;
        const char *sum = fc_ll_along_axes(f, a, "0", idx, np, end);
        fc_ll_spill(f, FUSEC_I64, 1, f->table, plus(f, at, a * (unsigned)fc_run_of(f->k)), sum);
    }
    fc_ll_for_end(f, &l, "1");
}

/* The number of a lane among those of all chunks. */
static const char *lane_number(walk *w, const char *at) {
    fc_ll *f = w->f;
    const char *before = fc_ll_bin(f, "udiv", w->chunk.lo, fc_ll_number(f, FC_CHUNK / FC_LANES));
    return fc_ll_bin(f, "add", before, minus(f, at, w->chunk.lo));
}

/* Its lanes begin within the first FC_LANES elements of a chunk. */
static const char *end_of_lanes(walk *w, const char *end) {
    return w->chunk.lo ? fc_ll_min(w->f, end, plus(w->f, w->chunk.lo, FC_LANES)) : end;
}

/* The place of a turn that begins at `at`. */
static void begin_turn(walk *w, const fc_loop *n, const range *all, const char *at) {
    fc_ll *f = w->f;
    range *r = &w->of[n->first];
    *r = (range){at, all->hi};
    if (n->step > 1) r->hi = fc_ll_min(f, plus(f, at, n->step), all->hi);
    if (n->first < w->rows && n->end <= w->rows) {
        fc_ll_decompose(f, at, n->first, n->end, w->idx);
        fc_ll_find_row(w);
    } else if (n->first >= f->cls->np) {
        const char *number_of = minus(f, at, all->lo);
        if (w->chunk.lo) number_of = lane_number(w, at);
        if (n->step > 1) number_of = fc_ll_bin(f, "udiv", number_of, fc_ll_number(f, n->step));
        if (n->step > 1 || !f->cls->llvm.across) w->turn = (turn){at, all->hi, number_of, n->step};
        if (n->step == 1) f->element = at;
        if (n->step > 1 && f->table) fill_table(w, r);
    }
    if (n->step == 1) find_in_buffers(w, n, n->first < f->cls->np ? minus(f, at, all->lo) : at);
}

static void serial(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const turn outer = w->turn;
    const range before = w->of[n->first];
    range all = range_of(w, n);
    fc_ll_loop l;
    if (n->way == FC_LOOP_REST) all = (range){w->rest, end_of_lanes(w, all.hi)};
    if (n->way == FC_LOOP_WHOLE)
        w->rest = all.hi = fc_ll_whole(f, end_of_lanes(w, all.hi), (unsigned)n->step);
    begin_turn(w, n, &all, fc_ll_for(f, &l, all.lo, all.hi));
    const bool chunks = f->cls->llvm.deep && n->step == FC_CHUNK;
    if (chunks) w->chunk = w->of[n->first];
    body(w, n);
    if (chunks) w->chunk = (range){NULL, NULL};
    fc_ll_for_end(f, &l, fc_ll_number(f, n->step));
    f->element = NULL;
    w->of[n->first] = before;
    w->turn = outer;
}

static const char *const *carried_types(walk *w, const fc_loop *n) {
    return fc_ll_slot_types(w->f, stage_of(w, n), w->f->V, 1);
}

static void carry_in_loop(walk *w, const fc_loop *n, const range *r) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    fc_ll_loop l;
    fc_ll_loop_begin(f, &l, st->nslots + 1, carried_types(w, n),
                     fc_ll_join(f, st, r->lo, NULL, w->tile ? w->acc : fc_ll_inits(f, st, f->V)));
    f->element = l.carry[0];
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", f->element, r->hi));
    f->ahead = n->ahead;
    f->nth = fc_ll_bin(f, "sub", f->element, r->lo);
    if (n->step > 1) f->nth = fc_ll_bin(f, "udiv", f->nth, fc_ll_number(f, n->step));
    if (f->cls->llvm.tiles) find_in_buffers(w, n, f->nth);
    if (w->tile) f->nth = fc_ll_bin(f, "add", f->nth, w->tile);
    w->acc = l.carry + 1;
    body(w, n);
    fc_ll_loop_end(f, &l, fc_ll_join(f, st, plus(f, f->element, n->step), NULL, w->acc));
    w->acc = l.carry + 1;
}

/* Turns in which a load of few columns goes through one line: each line is asked for at least
 * once. */
static unsigned turns_of_line(const fc_ll *f) {
    unsigned bytes = 1;
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        const fc_access *acc = &f->k->accesses.at[a];
        if (acc->level == FC_POINT && fc_dtypes[acc->dtype].bytes > bytes)
            bytes = fc_dtypes[acc->dtype].bytes;
    }
    return f->V * bytes < 64 ? 64 / (f->V * bytes) : 1;
}

/* Nothing has to be foreseen until a whole run goes to the counter, so a processor is at the next
 * runs before it has finished this one. */
static void carry_written_out(walk *w, const fc_loop *n, const range *r) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    const unsigned each = n->ahead == FC_LOOP_NEXT_ROWS ? turns_of_line(f) : 1;
    if (!w->tile) w->acc = fc_ll_inits(f, st, f->V);
    fc_ll_follow(f, r->lo);
    for (unsigned i = 0; i < n->count; i++) {
        if (f->cls->llvm.tiles) find_in_buffers(w, n, fc_ll_number(f, i));
        f->element = st->uses_index ? plus(f, r->lo, i) : r->lo;
        f->nth = w->tile ? plus(f, w->tile, i) : fc_ll_number(f, i);
        f->ahead = i % each ? FC_LOOP_NOT_AHEAD : n->ahead;
        body(w, n);
        if (i + 1 < n->count) fc_ll_follow_on(f);
    }
    fc_ll_follow_end(f);
}

/* Tiles have the last row in the place of those that are not there. */
static bool lanes_are_there(const fc_ll *f) {
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (f->k->accesses.at[a].level == FC_POINT && !fc_ll_is_tiled(f, a) &&
            fc_class_move(f->cls, a, f->lane_axis) != FC_MOVE_ZERO)
            return false;
    return true;
}

/* Masked columns take no other way for whole runs, unless all are masked. */
static void carry(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    const char **before = w->acc, *mask = f->mask;
    range r = range_of(w, n);
    if (w->chunk.lo) r.hi = w->chunk.hi;
    if (f->cls->llvm.tiles && lanes_are_there(f)) f->mask = NULL;
    w->carries = true;
    if (n->kind == FC_LOOP_SERIAL || (f->mask && !f->cls->llvm.few)) {
        carry_in_loop(w, n, &r);
    } else {
        fc_ll_if whole;
        const char *all = fc_ll_bin(f, "sub", r.hi, r.lo), **acc = fc_ll_names(f, st->nslots);
        fc_ll_if_begin(f, &whole, fc_ll_ins(f, "icmp eq i64 %s, %u", all, (unsigned)n->count));
        carry_written_out(w, n, &r);
        const char **a = w->acc;
        fc_ll_if_else(f, &whole);
        w->acc = before;
        carry_in_loop(w, n, &r);
        fc_ll_if_end(f, &whole);
        for (unsigned i = 0; i < st->nslots; i++)
            acc[i] = fc_ll_either(f, &whole, carried_types(w, n)[1 + i], a[i], w->acc[i]);
        w->acc = acc;
    }
    w->carries = false;
    f->mask = mask;
    f->element = f->nth = NULL;
    f->ahead = FC_LOOP_NOT_AHEAD;
}

/* Tile after tile, which the accumulators go through. */
static void carry_by_tiles(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    const range all = range_of(w, n);
    fc_ll_loop l;
    fc_ll_loop_begin(f, &l, st->nslots + 1, carried_types(w, n),
                     fc_ll_join(f, st, all.lo, NULL, fc_ll_inits(f, st, f->V)));
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", l.carry[0], all.hi));
    const char *next = plus(f, l.carry[0], n->step);
    w->of[n->first] = (range){l.carry[0], fc_ll_min(f, next, all.hi)};
    w->tile = fc_ll_bin(f, "sub", l.carry[0], all.lo);
    w->acc = l.carry + 1;
    body(w, n);
    fc_ll_loop_end(f, &l, fc_ll_join(f, st, next, NULL, w->acc));
    w->acc = l.carry + 1;
    w->of[n->first] = all;
    w->tile = NULL;
}

/* Turn `i` of those whose accumulators are joined pairwise. */
static void one_of_pairs(walk *w, const fc_loop *n, const range *r, const char *at) {
    begin_turn(w, n, r, at);
    body(w, n);
    w->f->element = NULL;
}

static void pairs(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const fc_ll_stage *st = stage_of(w, n);
    const range before = w->of[n->first], r = range_of(w, n);
    const turn outer = w->turn;
    const char **part[8], **kept = NULL; /* so many levels */
    unsigned held = 0;
    if (n->kind == FC_LOOP_SERIAL) {
        fc_ll_loop l;
        kept = fc_ll_arrays(f, st, n->count * f->V);
        const char *i = fc_ll_for(f, &l, "0", fc_ll_number(f, n->count));
        one_of_pairs(w, n, &r, fc_ll_bin(f, "add", r.lo, i));
        fc_ll_spill_all(f, st, f->V, kept, fc_ll_bin(f, "mul", i, fc_ll_number(f, f->V)), w->acc);
        fc_ll_for_end(f, &l, "1");
    }
    for (unsigned i = 0; i < n->count; i++) {
        if (!kept) one_of_pairs(w, n, &r, plus(f, r.lo, i));
        part[held++] = kept ? fc_ll_fill_all(f, st, f->V, kept, fc_ll_number(f, i * f->V)) : w->acc;
        for (unsigned bits = i; bits & 1; bits /= 2, held--)
            part[held - 2] = fc_ll_combine(f, st, f->V, part[held - 2], part[held - 1]);
    }
    for (w->acc = part[--held]; held > 0; held--)
        w->acc = fc_ll_combine(f, st, f->V, part[held - 1], w->acc);
    w->of[n->first] = before;
    w->turn = outer;
}

/* ---- contractions in tiles ------------------------------------------------------------------- */

static fc_ll_box box_of(walk *w) {
    const unsigned across = fc_ll_first_column(w->f->cls), down = fc_ll_first_row(w->f->cls);
    const fc_loop rows = {.first = (uint8_t)down, .end = w->f->cls->llvm.down_axis + 1},
                  columns = {.first = (uint8_t)across, .end = w->f->cls->np};
    const range all[] = {{"0", extent(w, &rows)}, {"0", extent(w, &columns)}};
    const char *last = NULL; /* outside of the loop over chunks */
    if (w->turn.to)
        last = fc_ll_ins(w->f, "icmp eq i64 %s, %s", fc_ll_elements_of(w).hi, w->turn.to);
    return (fc_ll_box){.rows = w->unit[down].lo ? w->unit[down] : all[0],
                       .columns = w->unit[across].lo ? w->unit[across] : all[1],
                       .down = w->of[down],
                       .across = w->of[across],
                       .k = fc_ll_elements_of(w),
                       .chunk = w->turn.number,
                       .last = last};
}

static void last_turn(walk *w, const fc_loop *n) {
    fc_ll_if is_last;
    fc_ll_if_begin(w->f, &is_last, w->box.last);
    list(w, n->body);
    fc_ll_if_else(w->f, &is_last);
    fc_ll_if_end(w->f, &is_last);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void lanes(fc_ll *f, void *user) {
    walk *w = user;
    body(w, w->vector);
    (void)f;
}

static void vector(fc_ll *f, void *user) {
    walk *w = user;
    if (fc_ll_along_row(f)) {
        fc_ll_at_vector(f, lanes, w);
        return;
    }
    f->column = w->columns > f->V ? minus(f, f->x, w->of[w->vector->first].lo) : "0";
    lanes(f, w);
}

static void masked(walk *w, const fc_loop *n, const range *r) {
    fc_ll *f = w->f;
    fc_ll_loop l;
    f->x = n->count > 1 ? fc_ll_for(f, &l, r->lo, r->hi) : r->lo;
    fc_ll_set_mask(f, fc_ll_bin(f, "sub", r->hi, f->x));
    vector(f, w);
    fc_ll_set_mask(f, NULL);
    if (n->count > 1) fc_ll_for_end(f, &l, fc_ll_number(f, f->V));
}

/* What is the same for the rows of a block lies on the stack, vector after vector of lanes. */
static void find_shared(walk *w, const char *x, const char *x0) {
    fc_ll *f = w->f;
    for (size_t i = 0; i < f->loops.buffer.len; i++) {
        const fc_stage_buffer *b = &f->loops.buffer.at[i];
        if (b->lanes == f->V) continue;
        const char *at = fc_ll_bin(f, "mul", minus(f, x, x0), fc_ll_extra(f, FC_PB_COUNT));
        f->tile[b->access] =
            fc_ll_index(f, fc_ll_stored(f, f->k->accesses.at[b->access].dtype, 1), f->array[i], at);
    }
}

static void moved_back(walk *w, const fc_loop *n, const range *r) {
    fc_ll *f = w->f;
    fc_ll_loop l;
    const char *x = fc_ll_for(f, &l, r->lo, r->hi);
    const char *last = fc_ll_bin(f, "sub", extent(w, n), fc_ll_number(f, f->V));
    f->x = fc_ll_min(f, x, last);
    find_shared(w, x, r->lo);
    vector(f, w);
    fc_ll_for_end(f, &l, fc_ll_number(f, f->V));
}

static void vectors(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    const range r = range_of(w, n);
    w->vector = n;
    w->of[n->first] = r;
    f->ahead = n->ahead;
    switch (n->way) {
    case FC_LOOP_ALIGNED: fc_ll_points(f, r.lo, r.hi, n->count, vector, w); break;
    case FC_LOOP_PARTS: fc_ll_parts(f, r.lo, r.hi, vector, w); break;
    case FC_LOOP_LINES: fc_ll_lines(f, r.lo, r.hi, n->count, vector, w); break;
    case FC_LOOP_MASKED: masked(w, n, &r); break;
    case FC_LOOP_BACK: moved_back(w, n, &r); break;
    default: fc_ll_vectors(f, r.lo, r.hi, n->count, vector, w);
    }
    f->ahead = FC_LOOP_NOT_AHEAD;
    w->vector = NULL;
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* What leaves are of a contraction: all but the code of a row and its stores. False: the usual. */
static bool is_of_tile(walk *w, const fc_loop *n) {
    fc_ll *f = w->f;
    if (!f->dot) return false;
    switch (n->kind) {
    case FC_LEAF_FILL:
        w->box = box_of(w), fc_ll_dot_fill(f, n->phase, &w->box, w->idx);
        return true;
    case FC_LEAF_PUSH: w->box = box_of(w), fc_ll_dot_push(f, &w->box); return true;
    case FC_LEAF_FINISH:
        fc_ll_dot_finish(f, &w->box, w->of[fc_ll_first_row(f->cls)].lo);
        return true;
    case FC_LEAF_PUT:
        fc_ll_dot_put(f, &w->box, w->of[fc_ll_first_row(f->cls)].lo, w->idx, w->span);
        return true;
    case FC_LEAF_STORE: return f->cls->llvm.bare;
    default: return n->kind == FC_LEAF_LANES || n->kind == FC_LEAF_FOLD;
    }
}

static void node(walk *w, const fc_loop *n) {
    if (is_of_tile(w, n)) return;
    switch (n->kind) {
    case FC_LOOP_TASK: tasks(w, n); break;
    case FC_LOOP_VECTOR: vectors(w, n); break;
    case FC_LOOP_LAST: last_turn(w, n); break;
    case FC_LOOP_SERIAL:
    case FC_LOOP_UNROLL:
        if (n->way == FC_LOOP_CARRY)
            (w->f->loops.node.at[n->body].kind == FC_LEAF_FILL ? carry_by_tiles : carry)(w, n);
        else
            (n->way == FC_LOOP_PAIRS ? pairs : serial)(w, n);
        break;
    default: fc_ll_leaf(w, n);
    }
}

static void list(walk *w, uint32_t at) {
    for (; at; at = w->f->loops.node.at[at].next) node(w, &w->f->loops.node.at[at]);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Levels of the counter for the partials that there may be. */
static unsigned levels(const fc_ll *f) {
    const fc_llvm_class *c = &f->cls->llvm;
    if (c->narrow && !c->deep) return FC_LL_NARROW_LEVELS;
    if (c->wide) return FC_LL_WIDE_LEVELS;
    if (c->across) return fc_ll_across_levels(f->k, f->cls);
    if (!c->split || fc_ll_along_row(f)) return FC_LL_LEVELS;
    return c->few ? FC_LL_FEW_LEVELS : FC_LL_SPAN_LEVELS;
}

/* Accumulators of the elements of a row that wait on the stack. */
static unsigned lanes_of_row(const fc_ll *f) {
    if (f->cls->llvm.bands) return fc_ll_band_lanes(f);
    return f->cls->llvm.packed ? f->V * f->V : FC_LANES;
}

static void accumulators(fc_ll *f, unsigned nlevels, unsigned columns) {
    for (uint32_t s = 0; s < f->k->nstages; s++) {
        fc_ll_stage *st = &f->stage[s];
        if (f->cls->llvm.packed || (fc_ll_along_row(f) && !f->cls->llvm.along))
            st->lanes = fc_ll_arrays(f, st, lanes_of_row(f));
        for (unsigned p = 0; p < st->nparts; p++) st->part[p].lanes = st->lanes + st->part[p].base;
        if (!f->cls->llvm.packed && !f->cls->llvm.one_chunk)
            st->levels = fc_ll_arrays(f, st, nlevels * columns);
        if (!f->cls->llvm.across) continue;
        st->held = fc_ll_arrays(f, st, columns);
        st->front = fc_ll_arrays(f, st, columns);
    }
    if (fc_ll_along_row(f)) return;
    for (uint32_t i = 0; i < f->k->reductions.len; i++) {
        fc_ll_red *r = &f->red[i];
        r->memory = fc_ll_names(f, fc_red_results(r->of));
        for (unsigned k = 0; k < fc_red_results(r->of); k++)
            r->memory[k] = fc_ll_array(f, fc_red_result(r->of, k), columns);
    }
}

static void buffers(fc_ll *f) {
    if (!f->loops.buffer.len || f->dot) return;
    f->tile = fc_ll_names(f, f->cls->naccess);
    f->array = fc_ll_names(f, f->loops.buffer.len);
    for (size_t i = 0; i < f->loops.buffer.len; i++) {
        const fc_stage_buffer *b = &f->loops.buffer.at[i];
        f->array[i] =
            fc_ll_head(f, "alloca [%u x %s], align 64", (unsigned)(b->lanes * b->elements),
                       fc_ll_stored(f, f->k->accesses.at[b->access].dtype, 1));
        f->tile[b->access] = f->array[i];
    }
}

static void function(fc_ll *f, unsigned which) {
    walk w = {.f = f, .columns = fc_ll_along_row(f) ? 1 : f->V};
    const bool counts =
        which == 0 && f->k->schedule != FC_SCHED_MAP && f->k->schedule != FC_SCHED_INNER;
    if (counts && !f->cls->llvm.along) w.columns = fc_ll_columns(f->k, f->cls);
    w.rows = fc_ll_along_row(f) ? f->cls->np : f->cls->np - 1u - f->cls->llvm.joined;
    f->column = "0";
    const bool tiles = which == 0 && (f->cls->llvm.panels || f->cls->llvm.direct);
    fc_ll_begin(f);
    for (unsigned a = fc_ll_first_column(f->cls); tiles && a + 1 < f->cls->np; a++) w.idx[a] = "0";
    if (tiles)
        fc_ll_dot_begin(f);
    else
        accumulators(f, which ? FC_LL_LEVELS : levels(f), w.columns);
    if (which == 0) {
        buffers(f);
        if (f->cls->llvm.packed && !f->cls->llvm.bands) f->masks = fc_ll_row_masks(f);
        if (f->cls->llvm.narrow)
            fc_ll_choose_kept(f, f->V * FC_LANES);
        else
            fc_ll_choose_kept(f,
                              f->cls->llvm.keep == FC_LL_KEEP_LONG ? FC_LL_KEPT_LONG : FC_LL_KEPT);
        if (counts && f->cls->nr > 1)
            f->table = fc_ll_array(f, FUSEC_I64, f->cls->naccess * (unsigned)fc_run_of(f->k));
    }
    if (f->cls->llvm.copied) fc_ll_own_begin(f);
    list(&w, f->loops.function[which]);
    if (f->cls->llvm.copied) fc_ll_own_end(f);
    if (tiles) fc_ll_dot_end(f);
    f->table = NULL;
    f->tile = NULL;
    fc_ll_end_stream(f);
    fc_ll_end(f, which ? "_finish" : "");
}

void fc_ll_walk(fc_ll *f) {
    for (unsigned i = 0; i < FC_LOOP_FUNCTIONS; i++)
        if (f->loops.function[i]) function(f, i);
}
