/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_loops.c - the loop forms of a processor (codegen/loop.h), one function for each schedule.
 *
 * In: a kernel and a class, prepared. Out: f->loops.
 *
 * map     Vectors along the innermost axis. Along one axis a unit is an element, along several a
 *         block of a row. tiles: where arrays are read across, a unit is a block of two axes, done
 *         in bands of V rows, which are transposed on their way to the stack.
 * inner   The lanes are neighbouring elements of a row; a unit is a row, or a span of one.
 * narrow  Rows too short for that: the lanes are neighbouring rows. There are at least V of them;
 *         the last vector is moved back. A row has at most FC_LANES elements, so that in the tree
 *         every element has a lane of its own, and lanes combine pairwise: what a counter over the
 *         elements does. Eight at a time are combined in registers, what is left over one by one.
 *         Arrays that lie along the rows are transposed on their way to the stack and back; what is
 *         the same for all rows of a block (`shared`) comes once for all of them.
 * deep    Narrow rows of any length, which lie side by side already. Lane after lane of the tree
 *         goes through its elements of a chunk, FC_LANES apart, and what it has is pushed to the
 *         counter; as a chunk has a power of two of them, the counter goes on over the chunks.
 * contraction  Tiles of results in registers (llvm_dot.c): chunk by chunk from panels of a block,
 * or each from operands where they are, of which a unit is a product of two matrices. outer   The
 * lanes are neighbouring rows, called columns. For each run of elements every vector of a block
 * walks down the run and adds its result to a counter of each column: so a run of the block is read
 * while it is in the cache. A scan stores on the way. */
#include "codegen/llvm/llvm_text.h"

/* ---- maps ------------------------------------------------------------------------------------ */

/* Whether a result is at the end of a chain of more instructions than a processor sees the end of
 * while it has two vectors at hand. Numbers of 64 bits take twice as many registers, and functions
 * that are called have chains of their own. */
static bool is_deep(fc_ll *f) {
    enum { DEEP = 25 };
    const fc_code *c = &f->code;
    if (f->functions) return false;
    unsigned *depth = fc_ll_alloc(f, c->ins.len * sizeof *depth), most = 0;
    for (fc_val i = 0; i < c->ins.len; i++) {
        const fc_instr *ins = &c->ins.at[i];
        if (!f->point_needed[i] || f->at_row[i] || f->uniform[i]) continue;
        if (fc_dtypes[ins->dtype].bytes > 4) return false;
        for (int n = 0; n < fc_instr_arity(ins); n++) {
            const unsigned before = depth[fc_instr_operand(ins, n)];
            if (before + fc_ll_length(f, i) > depth[i]) depth[i] = before + fc_ll_length(f, i);
        }
        if (depth[i] > most) most = depth[i];
    }
    return most >= DEEP;
}

static fc_loop *vectors(fc_ll *f, unsigned axis, fc_loop_way way, unsigned count) {
    fc_loop *v = fc_loops_open(&f->loops, FC_LOOP_VECTOR, axis, axis + 1, f->V);
    v->way = (uint8_t)way;
    v->count = count;
    return v;
}

static void leaf(fc_ll *f, fc_loop_kind kind, unsigned phase) {
    fc_loops_leaf(&f->loops, kind, phase);
}

static fc_loop *loop(fc_ll *f, fc_loop_kind kind, unsigned first, unsigned end, uint32_t step) {
    return fc_loops_open(&f->loops, kind, first, end, step);
}

static fc_loop *over_elements(fc_ll *f, fc_loop_kind kind, uint32_t step) {
    return loop(f, kind, f->cls->np, (unsigned)f->cls->np + f->cls->nr, step);
}

static void task(fc_ll *f, unsigned first, unsigned end, uint32_t step) {
    if (first < end) loop(f, FC_LOOP_TASK, first, end, step);
}

static void elements(fc_ll *f) {
    leaf(f, FC_LEAF_POINT, FC_PHASE_ELEMENTS);
    leaf(f, FC_LEAF_STORE, FC_PHASE_ELEMENTS);
}

/* A stage buffer for each access that lies along `along` and across the lanes. */
static void tile_buffers(fc_ll *f, unsigned set, unsigned along, unsigned lanes, unsigned n) {
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (fc_ll_is_tiled(f, a) && !fc_is_stored(f->k, a) && !fc_ll_is_shared(f, a))
            fc_loops_buffer(&f->loops, (fc_stage_buffer){.set = (uint8_t)set,
                                                         .space = FC_SPACE_STACK,
                                                         .transposed = true,
                                                         .along = (uint8_t)along,
                                                         .access = a,
                                                         .lanes = lanes,
                                                         .elements = n});
}

static void map(fc_ll *f) {
    const unsigned end = f->cls->np, lanes = end - 1 - f->cls->llvm.joined;
    task(f, 0, lanes, 1);
    task(f, lanes, end, lanes ? FC_STEP_SPAN : FC_STEP_TASK);
    leaf(f, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    fc_ll_prepare_inside(f);
    unsigned turns = fc_ll_is_light(f->k) && !f->k->updates.len ? 4 : 1;
    if (f->has_inside) turns = fc_ll_inside_turns(f);
    if (f->cls->llvm.channels) turns = f->cls->llvm.channels;
    fc_loop *v = vectors(f, lanes,
                         f->has_inside           ? FC_LOOP_PARTS
                         : f->cls->llvm.channels ? FC_LOOP_PLAIN
                                                 : FC_LOOP_ALIGNED,
                         turns);
    v->end = (uint8_t)end;
    v->ahead = f->cls->llvm.ahead ? FC_LOOP_SOON : FC_LOOP_NOT_AHEAD;
    elements(f);
}

static void tiles(fc_ll *f) {
    const unsigned lanes = f->cls->np - 1u, across = f->cls->llvm.tile_axis;
    tile_buffers(f, 0, across, FC_LL_TILE, f->V);
    task(f, 0, across, 1);
    task(f, across + 1, lanes, 1);
    task(f, across, across + 1, FC_LL_TILE);
    task(f, lanes, lanes + 1, FC_LL_TILE);
    loop(f, FC_LOOP_SERIAL, across, across + 1, f->V);
    if (f->loops.buffer.len) leaf(f, FC_LEAF_FILL, 0);
    loop(f, FC_LOOP_SERIAL, across, across + 1, 1);
    leaf(f, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    vectors(f, lanes, FC_LOOP_LINES, 1)->ahead =
        f->cls->llvm.ahead ? FC_LOOP_NEXT_BAND : FC_LOOP_NOT_AHEAD;
    elements(f);
}

/* ---- inner ----------------------------------------------------------------------------------- */

static void results(fc_ll *f) {
    if (!f->any_row_store) return;
    leaf(f, FC_LEAF_ROW, FC_PHASE_RESULTS);
    leaf(f, FC_LEAF_STORE, FC_PHASE_RESULTS);
}

static void fold(fc_ll *f, unsigned stage, uint32_t size) {
    fc_loops_leaf(&f->loops, FC_LEAF_FOLD, stage)->step = size;
}

/* Of rows in several passes the second one asks for the next row, and brings all of a short one
 * while its functions are computed. */
static uint8_t ahead_in_pass(const fc_ll *f, uint32_t pass) {
    const bool several = f->k->nstages > 1 || f->any_point_store;
    if (!f->cls->llvm.ahead || f->cls->nr > 1) return FC_LOOP_NOT_AHEAD;
    if (pass > 0) return pass == 1 ? FC_LOOP_NEXT_ROW : FC_LOOP_NOT_AHEAD;
    if (several && !fc_ll_is_light(f->k) && f->cls->llvm.one_chunk) return FC_LOOP_NOT_AHEAD;
    return fc_ll_is_sum(f->k) ? FC_LOOP_LATER : FC_LOOP_SOON;
}

/* The accumulators of the row's range. */
static void reduce_row(fc_ll *f, unsigned s) {
    const bool at_once =
        f->cls->llvm.one_chunk || fc_is_ragged(f->k) || fc_ll_is_extreme(f, &f->stage[s]);
    if (!at_once) over_elements(f, FC_LOOP_SERIAL, FC_CHUNK);
    fc_loops_leaf(&f->loops, FC_LEAF_LANES, s)->ahead = ahead_in_pass(f, s);
    if (at_once) return;
    leaf(f, FC_LEAF_PUSH, s);
    fc_loops_close(&f->loops, 1);
    fold(f, s, FC_CHUNK);
}

/* `by_row`: a unit of narrow, done by code that is compiled sooner. */
static void inner(fc_ll *f) {
    const unsigned np = f->cls->np, elements_axis = np + f->cls->nr - 1u;
    const unsigned rows = f->cls->llvm.by_row ? np - 1 : np;
    task(f, 0, rows, 1);
    task(f, rows, np, FC_LL_TILE);
    if (rows < np) loop(f, FC_LOOP_SERIAL, rows, np, 1);
    if (f->cls->llvm.split) task(f, np, elements_axis + 1, FC_STEP_SPAN);
    fc_ll_prepare_inside(f);
    for (unsigned s = 0; s < f->k->nstages; s++) {
        leaf(f, FC_LEAF_ROW, s);
        reduce_row(f, s);
        leaf(f, f->cls->llvm.split ? FC_LEAF_PUT : FC_LEAF_FINISH, s);
    }
    if (f->cls->llvm.split) return;
    results(f);
    if (!f->any_point_store) return;
    leaf(f, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    fc_loop *v = fc_loops_open(&f->loops, FC_LOOP_VECTOR, np, elements_axis + 1, f->V);
    v->way = FC_LOOP_ALIGNED;
    v->count = fc_ll_is_light(f->k) ? 2 : 1;
    v->ahead = ahead_in_pass(f, f->k->nstages);
    elements(f);
}

/* ---- narrow ---------------------------------------------------------------------------------- */

enum { SHARED, LOADED, RESULTS }; /* sets of buffers */
/* Elements that are combined at a time, the level of the counter that this makes; instructions of
 * code that is written out for such a group. */
enum { GROUP = 8, GROUP_LEVEL = 3, SHORT = 8 };

static void element(fc_ll *f, unsigned s) {
    leaf(f, FC_LEAF_POINT, s);
    leaf(f, FC_LEAF_STEP, s);
}

/* What a lane of the tree has: an element, or those of a chunk. */
static void lane(fc_ll *f, unsigned s) {
    if (f->cls->llvm.deep) {
        fc_loop *l = over_elements(f, FC_LOOP_SERIAL, FC_LANES);
        l->way = FC_LOOP_CARRY;
        l->phase = (uint8_t)s;
    }
    element(f, s);
    if (f->cls->llvm.deep) fc_loops_close(&f->loops, 1);
}

static void pairs(fc_ll *f, unsigned s, fc_loop_kind kind, uint32_t count) {
    fc_loop *l = over_elements(f, kind, 1);
    l->way = FC_LOOP_PAIRS;
    l->phase = (uint8_t)s;
    l->count = count;
    lane(f, s);
    fc_loops_close(&f->loops, 1);
}

static void reduce_column(fc_ll *f, unsigned s) {
    if (f->cls->llvm.packed) {
        fc_loops_leaf(&f->loops, FC_LEAF_LANES, s)->ahead =
            f->cls->llvm.ahead ? FC_LOOP_LATER : FC_LOOP_NOT_AHEAD;
        return;
    }
    if (f->cls->llvm.row_elements) {
        pairs(f, s, FC_LOOP_UNROLL, f->cls->llvm.row_elements);
        return;
    }
    if (f->cls->llvm.deep) over_elements(f, FC_LOOP_SERIAL, FC_CHUNK);
    over_elements(f, FC_LOOP_SERIAL, GROUP)->way = FC_LOOP_WHOLE;
    pairs(f, s, fc_ll_steps(f, &f->stage[s]) <= SHORT ? FC_LOOP_UNROLL : FC_LOOP_SERIAL, GROUP);
    fc_loops_leaf(&f->loops, FC_LEAF_PUSH, s)->level = GROUP_LEVEL;
    fc_loops_close(&f->loops, 1);
    over_elements(f, FC_LOOP_SERIAL, 1)->way = FC_LOOP_REST;
    lane(f, s);
    leaf(f, FC_LEAF_PUSH, s);
    fc_loops_close(&f->loops, f->cls->llvm.deep ? 2 : 1);
    fold(f, s, 1);
}

static bool move(fc_ll *f, fc_loop_kind kind, unsigned set) {
    for (size_t i = 0; i < f->loops.buffer.len; i++)
        if (f->loops.buffer.at[i].set == set) {
            leaf(f, kind, set);
            return true;
        }
    return false;
}

static void narrow_buffers(fc_ll *f) {
    const unsigned n = fc_ll_narrow_elements(f->cls);
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        const bool shared = fc_ll_is_shared(f, a), tiled = fc_ll_is_tiled(f, a);
        const unsigned set = shared ? SHARED : fc_is_stored(f->k, a) ? RESULTS : LOADED;
        if (shared || tiled)
            fc_loops_buffer(&f->loops, (fc_stage_buffer){.set = (uint8_t)set,
                                                         .space = FC_SPACE_STACK,
                                                         .transposed = tiled,
                                                         .along = f->cls->np,
                                                         .access = a,
                                                         .lanes = shared ? FC_LL_TILE : f->V,
                                                         .elements = n});
    }
}

static void narrow(fc_ll *f) {
    const unsigned lanes = f->cls->np - 1u, rows = f->cls->llvm.shared ? lanes - 1 : lanes;
    narrow_buffers(f);
    task(f, 0, rows, 1);
    task(f, rows, lanes, FC_LL_TILE);
    task(f, lanes, lanes + 1, fc_ll_unit_rows(f->cls));
    if (f->cls->llvm.shared) {
        vectors(f, lanes, FC_LOOP_BACK, 1);
        move(f, FC_LEAF_FILL, SHARED);
        fc_loops_close(&f->loops, 1);
        loop(f, FC_LOOP_SERIAL, rows, lanes, 1);
    }
    vectors(f, lanes, f->cls->llvm.bands ? FC_LOOP_MASKED : FC_LOOP_BACK, 1);
    move(f, FC_LEAF_FILL, LOADED);
    for (unsigned s = 0; s < f->k->nstages; s++) {
        leaf(f, FC_LEAF_ROW, s);
        reduce_column(f, s);
        leaf(f, FC_LEAF_FINISH, s);
    }
    results(f);
    if (!f->any_point_store) return;
    leaf(f, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    over_elements(f, FC_LOOP_SERIAL, 1);
    elements(f);
    fc_loops_close(&f->loops, 1);
    move(f, FC_LEAF_FLUSH, RESULTS);
}

/* ---- outer ----------------------------------------------------------------------------------- */

/* With masks of its own a processor needs no other text for a vector that is whole. */
static void columns(fc_ll *f) {
    const bool one = f->cls->llvm.few || f->cls->llvm.tiles || f->V > fc_ll_widest(f->m);
    if (one && f->m->vector_bytes >= 64)
        vectors(f, f->cls->np - 1u, FC_LOOP_MASKED, fc_ll_columns(f->k, f->cls) / f->V);
    else
        vectors(f, f->cls->np - 1u, FC_LOOP_PLAIN, 1);
}

/* Steps of few instructions wait for each other, unless a vector has several registers. The
 * prefetcher of the hardware follows one load from line to line, but not sixteen. */
static bool writes_out(const fc_ll *f, const fc_ll_stage *st) {
    const bool light = st->nslots == 1 && fc_ll_is_light(f->k) && fc_ll_steps(f, st) <= 6;
    const unsigned register_lanes = fc_ll_widest(f->m);
    if (!light || f->cls->nr != 1 || f->k->schedule != FC_SCHED_OUTER) return false;
    return !f->cls->llvm.few || f->V < register_lanes ||
           (f->V == register_lanes && f->m->far_cache);
}

static uint8_t ahead_in_columns(const fc_ll *f) {
    const bool scan = f->k->schedule == FC_SCHED_SCAN && f->cls->llvm.ahead;
    if (f->cls->llvm.wide || scan) return FC_LOOP_NEXT_RUN;
    const bool rows = f->cls->llvm.few || (f->k->schedule == FC_SCHED_DOT && !f->cls->llvm.tiles);
    const bool ask = rows && f->cls->llvm.ahead && f->cls->nr == 1;
    return ask ? FC_LOOP_NEXT_ROWS : FC_LOOP_NOT_AHEAD;
}

static void steps_of_run(fc_ll *f, unsigned s) {
    const bool of_tile = f->cls->llvm.tiles && fc_ll_steps(f, &f->stage[s]) <= SHORT;
    const bool out = of_tile || writes_out(f, &f->stage[s]);
    fc_loop *l = over_elements(f, out ? FC_LOOP_UNROLL : FC_LOOP_SERIAL, 1);
    if (out) l->count = of_tile ? f->V : FC_RUN;
    l->way = FC_LOOP_CARRY;
    l->phase = (uint8_t)s;
    l->ahead = ahead_in_columns(f);
    element(f, s);
}

static void reduce_columns(fc_ll *f, unsigned s) {
    const uint32_t run = (uint32_t)fc_run_of(f->k);
    const bool several = f->cls->llvm.tiles && run > f->V;
    over_elements(f, FC_LOOP_SERIAL, run);
    columns(f);
    leaf(f, FC_LEAF_ROW, s);
    if (several) {
        fc_loop *l = over_elements(f, FC_LOOP_SERIAL, f->V);
        l->way = FC_LOOP_CARRY;
        l->phase = (uint8_t)s;
    }
    if (f->cls->llvm.tiles) leaf(f, FC_LEAF_FILL, LOADED);
    steps_of_run(f, s);
    if (several) fc_loops_close(&f->loops, 1);
    fc_loops_close(&f->loops, 1);
    leaf(f, FC_LEAF_PUSH, s);
    fc_loops_close(&f->loops, 2);
    columns(f);
    fold(f, s, run);
    leaf(f, f->cls->llvm.split ? FC_LEAF_PUT : FC_LEAF_FINISH, s);
    fc_loops_close(&f->loops, 1);
}

/* Blocks of columns whose rows end together, but other blocks elsewhere. */
static void reduce_ragged_columns(fc_ll *f, unsigned s) {
    const uint32_t run = (uint32_t)fc_run_of(f->k);
    columns(f);
    leaf(f, FC_LEAF_ROW, s);
    over_elements(f, FC_LOOP_SERIAL, run);
    steps_of_run(f, s);
    fc_loops_close(&f->loops, 1);
    leaf(f, FC_LEAF_PUSH, s);
    fc_loops_close(&f->loops, 1);
    fold(f, s, run);
    leaf(f, FC_LEAF_FINISH, s);
    fc_loops_close(&f->loops, 1);
}

static void scan_along(fc_ll *f) {
    task(f, 0, f->cls->np, 1);
    leaf(f, FC_LEAF_ROW, 0);
    leaf(f, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    over_elements(f, FC_LOOP_SERIAL, (uint32_t)fc_run_of(f->k) * f->V);
    leaf(f, FC_LEAF_SCAN, 0);
}

/* A run, row after row: rows are read and written as they lie, and accumulators wait for the next
 * one in memory. */
static void scan_across(fc_ll *f) {
    const unsigned lanes = f->cls->np - 1u;
    over_elements(f, FC_LOOP_SERIAL, (uint32_t)fc_run_of(f->k));
    vectors(f, lanes, FC_LOOP_PLAIN, 1);
    leaf(f, FC_LEAF_PREFIX, 0);
    leaf(f, FC_LEAF_HOLD, 0);
    fc_loops_close(&f->loops, 1);
    over_elements(f, FC_LOOP_SERIAL, 1);
    vectors(f, lanes, FC_LOOP_LINES, 1);
    leaf(f, FC_LEAF_ROW, 0);
    leaf(f, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    leaf(f, FC_LEAF_TAKE, 0);
    element(f, 0);
    leaf(f, FC_LEAF_SCANNED, 0);
    elements(f);
    leaf(f, FC_LEAF_HOLD, 0);
    fc_loops_close(&f->loops, 2);
    vectors(f, lanes, FC_LOOP_PLAIN, 1);
    leaf(f, FC_LEAF_TAKE, 0);
    leaf(f, FC_LEAF_PUSH, 0);
}

static void scan(fc_ll *f) {
    if (f->cls->llvm.across) {
        scan_across(f);
        return;
    }
    over_elements(f, FC_LOOP_SERIAL, (uint32_t)fc_run_of(f->k));
    vectors(f, f->cls->np - 1u, FC_LOOP_LINES, 1);
    leaf(f, FC_LEAF_ROW, 0);
    leaf(f, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    leaf(f, FC_LEAF_PREFIX, 0);
    steps_of_run(f, 0);
    leaf(f, FC_LEAF_SCANNED, 0);
    elements(f);
    fc_loops_close(&f->loops, 1);
    leaf(f, FC_LEAF_PUSH, 0);
}

static void outer(fc_ll *f) {
    const unsigned lanes = f->cls->np - 1u;
    if (f->cls->llvm.tiles) tile_buffers(f, LOADED, f->cls->np, f->V, f->V);
    if (f->cls->llvm.split) task(f, f->cls->np, (unsigned)f->cls->np + f->cls->nr, FC_STEP_SPAN);
    task(f, 0, lanes, 1);
    task(f, lanes, lanes + 1, fc_ll_columns(f->k, f->cls));
    if (f->k->schedule == FC_SCHED_SCAN) {
        scan(f);
        return;
    }
    for (unsigned s = 0; s < f->k->nstages; s++)
        (fc_is_ragged(f->k) ? reduce_ragged_columns : reduce_columns)(f, s);
    if (f->any_row_store && !f->cls->llvm.split) {
        columns(f);
        results(f);
        fc_loops_close(&f->loops, 1);
    }
    if (!f->any_point_store) return;
    over_elements(f, FC_LOOP_SERIAL, (uint32_t)fc_run_of(f->k));
    columns(f);
    leaf(f, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    over_elements(f, FC_LOOP_SERIAL, 1);
    elements(f);
}

/* ---- contractions in tiles ------------------------------------------------------------------- */

/* A panel of each operand: a chunk of it for a block, `lanes` side by side. */
static void panel_buffers(fc_ll *f, const fc_ll_panels *p) {
    const unsigned k = f->cls->np;
    for (unsigned i = 0; i < 2; i++)
        fc_loops_buffer(&f->loops, (fc_stage_buffer){.set = (uint8_t)i,
                                                     .space = FC_SPACE_WORKSPACE,
                                                     .packed = true,
                                                     .along = (uint8_t)k,
                                                     .access = i,
                                                     .lanes = i ? p->width : 1,
                                                     .elements = FC_DOT_CHUNK});
}

/* The whole right operand, vectors of columns side by side. */
static void turned_buffer(fc_ll *f) {
    const fusec_dtype t = (fusec_dtype)f->k->reductions.at[0].dtype;
    fc_val value[2];
    fc_red_values(&f->k->reductions.at[0], NULL, value);
    fc_loops_buffer(&f->loops,
                    (fc_stage_buffer){.set = 1,
                                      .space = FC_SPACE_STACK,
                                      .transposed = true,
                                      .along = f->cls->np,
                                      .access = (uint32_t)f->k->code.ins.at[value[1]].imm,
                                      .lanes = f->V,
                                      .elements = FC_LL_TURNED / fc_dtypes[t].bytes / f->V});
}

/* After the last chunk. */
static void finish_tile(fc_ll *f, unsigned count) {
    const unsigned across = fc_ll_first_column(f->cls), down = fc_ll_first_row(f->cls);
    over_elements(f, FC_LOOP_LAST, 1);
    fold(f, 0, FC_DOT_CHUNK);
    if (f->cls->llvm.bare) {
        leaf(f, FC_LEAF_FINISH, 0);
        leaf(f, FC_LEAF_STORE, FC_PHASE_RESULTS);
        return;
    }
    loop(f, FC_LOOP_SERIAL, down, f->cls->llvm.down_axis + 1u, 1);
    const bool masks = f->m->vector_bytes >= 64;
    vectors(f, across, masks ? FC_LOOP_MASKED : FC_LOOP_ALIGNED, masks ? count : 1)->end =
        f->cls->np;
    leaf(f, f->cls->llvm.split ? FC_LEAF_PUT : FC_LEAF_FINISH, 0);
    if (!f->cls->llvm.split) results(f);
}

/* Chunks outermost, so that a panel serves all tiles of a block; or tile by tile. */
static void contraction(fc_ll *f) {
    const unsigned across = fc_ll_first_column(f->cls), down = fc_ll_first_row(f->cls),
                   end = f->cls->llvm.down_axis + 1u;
    const fc_ll_panels p = fc_ll_tile_of(f->m, fc_ll_dot_type(f->k, f->cls), f->cls);
    const bool direct = f->cls->llvm.direct;
    if (!direct) panel_buffers(f, &p);
    if (f->cls->llvm.split) task(f, f->cls->np, (unsigned)f->cls->np + f->cls->nr, FC_STEP_SPAN);
    task(f, 0, down, 1);
    task(f, end, across, 1);
    if (!direct) {
        task(f, across, f->cls->np, FC_STEP_COLUMNS);
        task(f, down, end, FC_STEP_ROWS);
        over_elements(f, FC_LOOP_SERIAL, FC_DOT_CHUNK);
        leaf(f, FC_LEAF_FILL, 1);
        leaf(f, FC_LEAF_FILL, 0);
    } else if (f->cls->llvm.direct_parts) {
        task(f, down, end, FC_STEP_ROWS);
    }
    if (f->cls->llvm.turned) {
        turned_buffer(f);
        leaf(f, FC_LEAF_FILL, 1);
    }
    loop(f, FC_LOOP_SERIAL, across, f->cls->np, p.width);
    loop(f, FC_LOOP_SERIAL, down, end, p.height);
    if (direct) over_elements(f, FC_LOOP_SERIAL, FC_DOT_CHUNK);
    leaf(f, FC_LEAF_LANES, 0);
    leaf(f, FC_LEAF_PUSH, 0);
    finish_tile(f, (p.width + f->V - 1) / f->V);
}

/* ---- split reductions ------------------------------------------------------------------------ */

/* Over the rows, when all spans are in the workspace. */
static void finish(fc_ll *f, bool along_row) {
    const unsigned lanes = f->cls->np - 1u;
    task(f, 0, along_row ? lanes + 1 : lanes, 1);
    if (!along_row) {
        task(f, lanes, lanes + 1, FC_STEP_TASK);
        vectors(f, lanes, FC_LOOP_PLAIN, 1);
    }
    leaf(f, FC_LEAF_GET, 0);
    leaf(f, FC_LEAF_FINISH, 0);
    results(f);
}

/* ---------------------------------------------------------------------------------------------- */

enum { FOUR_REGISTERS = 64 }; /* lanes */

void fc_ll_schedule_loops(fc_ll *f) {
    const fc_llvm_class *c = &f->cls->llvm;
    const bool is_map = f->k->schedule == FC_SCHED_MAP, is_inner = f->k->schedule == FC_SCHED_INNER;
    if (is_map && f->V == FOUR_REGISTERS && !is_deep(f)) f->V /= 2;
    if (c->panels || c->direct)
        contraction(f);
    else if (c->along)
        scan_along(f);
    else
        (is_map ? c->tiles ? tiles : map : is_inner ? c->narrow ? narrow : inner : outer)(f);
    if (!c->split) return;
    fc_loops_function(&f->loops, 1);
    finish(f, is_inner);
}
