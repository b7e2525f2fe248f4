/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_loops.c - the loop forms of a GPU (codegen/loop.h), one function for each schedule.
 *
 * In: a kernel and a class, and which loads and values are kept. Out: g->loops. What each schedule
 * is for, and when it is chosen: schedule/.
 *
 * map     vector > 1: neighbours along the inner axis; else elements FC_CUDA_MAP_THREADS apart in
 *         the linear order of all points, so that neighbouring threads touch neighbouring points.
 * tile    A block works on a square of two axes: what lies along the other one goes through shared
 *         memory, so that both sides are read and written in whole lines (cuda_tile.c).
 * thread  A thread has a row, lanes of the tree one after the other; of rows that end by data some
 *         threads.
 * rect    A thread has a rectangle of short rows, and loads once what they share.
 * one     A chunk of FC_CHUNK elements is one warp's work: in turn u, lane t takes the elements
 *         u * FC_LANES + 4t .. 4t + 3, so it has four neighbouring lanes of the tree. These join in
 *         the thread and by shuffles, warps through shared memory: always aligned groups of 2^k in
 *         order, which are subtrees. Loads that several phases need stay in registers.
 * loop    The same, but every warp walks over a span of chunks, which meet in a counter that is
 *         spread over its lanes. Spans of a split meet in the workspace.
 * ring    Parts of rows stream through shared memory; each phase has warps of its own.
 * cluster A row lies in the shared memory of a few blocks. Both: cuda_ring.c.
 * outer   Threads along x own neighbouring rows, `vector` of them each, so that every access of a
 *         warp is contiguous; threads along y share them: each takes an aligned power-of-two span
 *         of runs, and what they make of it meets in shared memory.
 * scan    A thread has a row, or a block, whose threads take a run each of a tile.
 * dot     A block makes a tile of results in registers; operands pass through shared memory, some
 *         steps of k ahead (cuda_dot.c). */
#include "codegen/cuda/cuda_ring.h"
#include "codegen/cuda/cuda_walk.h"

static fc_loop *open(fc_cuda_gen *g, fc_loop_kind kind, unsigned first, unsigned end, uint32_t step,
                     uint32_t count) {
    fc_loop *l = fc_loops_open(&g->loops, kind, first, end, step);
    l->count = count;
    return l;
}

static void close(fc_cuda_gen *g, unsigned n) {
    fc_loops_close(&g->loops, n);
}

static fc_loop *leaf(fc_cuda_gen *g, fc_loop_kind kind, unsigned phase) {
    return fc_loops_leaf(&g->loops, kind, phase);
}

static void join(fc_cuda_gen *g, unsigned stage, fc_loop_kind over) {
    leaf(g, FC_LEAF_JOIN, stage)->over = (uint8_t)over;
}

static fc_loop *over_elements(fc_cuda_gen *g, fc_loop_kind kind, uint32_t step, uint32_t count) {
    return open(g, kind, g->np, g->axes, step, count);
}

/* What is done with an element: it is stored, or accumulators take it. */
static void element(fc_cuda_gen *g, unsigned phase) {
    leaf(g, FC_LEAF_POINT, phase);
    leaf(g, phase == FC_PHASE_ELEMENTS ? FC_LEAF_STORE : FC_LEAF_STEP, phase);
}

static void neighbours(fc_cuda_gen *g, unsigned first, unsigned end, unsigned phase) {
    open(g, FC_LOOP_VECTOR, first, end, g->cls->vector, 1);
    element(g, phase);
    close(g, 1);
}

static void results(fc_cuda_gen *g) {
    if (!fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW)) return;
    leaf(g, FC_LEAF_ROW, FC_PHASE_RESULTS);
    leaf(g, FC_LEAF_STORE, FC_PHASE_RESULTS);
}

/* ---- maps ------------------------------------------------------------------------------------ */

enum { MAP = FC_CUDA_MAP_THREADS };

/* Vectors of neighbours; all loads of a thread go before the first use. */
static void map_neighbours(fc_cuda_gen *g) {
    const unsigned last = g->np - 1, v = g->cls->vector, repeat = g->cls->cuda.repeat;
    const unsigned first = g->cls->cuda.rows_of_grid ? last : 0;
    const unsigned rows = g->cls->cuda.rows_in_turn;
    if (first) open(g, FC_LOOP_GRID, 0, last, rows ? rows : 1, 1);
    open(g, FC_LOOP_GRID, first, last + 1, repeat * MAP * v, 1);
    if (rows) open(g, FC_LOOP_SERIAL, 0, last, 1, rows);
    if (repeat > 1)
        open(g, FC_LOOP_UNROLL, first, last + 1, MAP * v, repeat)->batch = (uint8_t)repeat;
    open(g, FC_LOOP_BLOCK, first, last + 1, v, MAP);
    neighbours(g, last, last + 1, FC_PHASE_ELEMENTS);
}

static void map_apart(fc_cuda_gen *g) {
    const unsigned n = g->cls->cuda.apart, repeat = g->cls->cuda.repeat;
    open(g, FC_LOOP_GRID, 0, g->np, repeat * n * MAP, 1);
    if (repeat > 1) open(g, FC_LOOP_SERIAL, 0, g->np, n * MAP, repeat);
    open(g, FC_LOOP_UNROLL, 0, g->np, MAP, n)->way = FC_LOOP_APART;
    open(g, FC_LOOP_BLOCK, 0, g->np, 1, MAP);
    element(g, FC_PHASE_ELEMENTS);
}

static void kept_buffers(fc_cuda_gen *g, unsigned along, unsigned lanes, unsigned n) {
    for (uint32_t a = 0; a < g->cls->naccess; a++)
        if (g->cached[a])
            fc_loops_buffer(&g->loops, (fc_stage_buffer){.set = FC_SET_KEPT,
                                                         .space = FC_SPACE_REGISTERS,
                                                         .along = (uint8_t)along,
                                                         .access = a,
                                                         .lanes = lanes,
                                                         .elements = n});
    if (g->loops.buffer.len) leaf(g, FC_LEAF_FILL, FC_SET_KEPT);
}

/* ---- a row of a thread ----------------------------------------------------------------------- */

static void thread_stage(fc_cuda_gen *g, unsigned s) {
    const unsigned team =
        g->cls->cuda.team ? g->cls->cuda.team : 1; /* of a row that ends by data */
    leaf(g, FC_LEAF_ROW, s);
    if (!g->cls->cuda.once) {
        leaf(g, FC_LEAF_CLEAR, s);
        over_elements(g, FC_LOOP_SERIAL, FC_CHUNK, 1);
        over_elements(g, FC_LOOP_SERIAL, g->cls->vector * team, 1)->way = FC_LOOP_SPREAD;
        leaf(g, FC_LEAF_START, s);
        over_elements(g, FC_LOOP_SERIAL, FC_LANES, 1);
        if (team > 1) over_elements(g, FC_LOOP_LANE, g->cls->vector, team);
    } else {
        leaf(g, FC_LEAF_START, s);
    }
    neighbours(g, g->np, g->axes, s);
    if (!g->cls->cuda.once) close(g, team > 1 ? 2 : 1);
    join(g, s, FC_LOOP_VECTOR);
    if (team > 1) join(g, s, FC_LOOP_LANE);
    if (!g->cls->cuda.once) {
        leaf(g, FC_LEAF_PUSH, s);
        close(g, 2);
        leaf(g, FC_LEAF_FOLD, s);
    }
    leaf(g, FC_LEAF_FINISH, s);
}

/* Opens the places of a thread's rows: one after the other along all kept axes, or a rectangle of
 * two, where what moves along one of them only is read once for several turns. */
static unsigned thread_rows(fc_cuda_gen *g, bool again) {
    const unsigned repeat = g->cls->cuda.repeat, team = g->cls->cuda.team;
    const unsigned threads = (unsigned)FC_CUDA_THREADS / (team ? team : 1);
    const unsigned wide = (unsigned)fc_cuda_repeat_across(g->cls);
    if (!g->cls->cuda.once || g->np != 2) {
        if (!again) open(g, FC_LOOP_GRID, 0, g->np, repeat * threads, 1);
        open(g, FC_LOOP_UNROLL, 0, g->np, threads, repeat);
        open(g, FC_LOOP_BLOCK, 0, g->np, 1, threads)->way = FC_LOOP_BACK;
        return 2;
    }
    if (!again) {
        open(g, FC_LOOP_GRID, 0, 1, repeat / wide, 1);
        open(g, FC_LOOP_GRID, 1, 2, wide * threads, 1);
    }
    open(g, FC_LOOP_UNROLL, 0, 1, 1, repeat / wide)->way = FC_LOOP_BACK;
    open(g, FC_LOOP_UNROLL, 1, 2, threads, wide);
    open(g, FC_LOOP_BLOCK, 1, 2, 1, threads)->way = FC_LOOP_BACK;
    return 3;
}

/* Where nothing but results is stored, those of all turns are there before the first is: no store
 * stands between loads. */
static void thread(fc_cuda_gen *g) {
    const bool points = fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    const unsigned loops = thread_rows(g, false);
    for (unsigned s = 0; s < g->k->nstages; s++) thread_stage(g, s);
    if (g->cls->cuda.repeat > 1 && !points) {
        close(g, loops);
        thread_rows(g, true);
    }
    results(g);
    if (!points) return;
    leaf(g, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    if (!g->cls->cuda.once) over_elements(g, FC_LOOP_SERIAL, g->cls->vector, 1);
    neighbours(g, g->np, g->axes, FC_PHASE_ELEMENTS);
}

static void rect(fc_cuda_gen *g) {
    const unsigned rows = g->cls->cuda.rect_rows, columns = g->cls->cuda.rect_columns;
    open(g, FC_LOOP_GRID, FC_RECT_OUTER, FC_RECT_OUTER + 1, rows, 1);
    open(g, FC_LOOP_GRID, FC_RECT_INNER, FC_RECT_INNER + 1, MAP * columns, 1);
    open(g, FC_LOOP_BLOCK, FC_RECT_INNER, FC_RECT_INNER + 1, columns, MAP);
    kept_buffers(g, FC_RECT_ELEMENT, columns, g->cls->vector);
    open(g, FC_LOOP_UNROLL, FC_RECT_OUTER, FC_RECT_OUTER + 1, 1, rows)->way = FC_LOOP_BACK;
    open(g, FC_LOOP_UNROLL, FC_RECT_INNER, FC_RECT_INNER + 1, 1, columns);
    thread_stage(g, 0);
    results(g);
}

/* ---- a row of a team ------------------------------------------------------------------------- */

static unsigned lanes_of(const fc_cuda_gen *g) {
    const unsigned team = fc_cuda_team(g->cls);
    return team < 32 ? team : 32;
}

/* Turns of a chunk whose elements the lanes of a warp take. */
static fc_loop *quads(fc_cuda_gen *g, fc_loop_kind kind, unsigned turns, unsigned batch,
                      unsigned phase) {
    const bool apart = fc_cuda_apart(g->cls) > 1;
    const uint32_t n = (uint32_t)g->loops.node.len;
    over_elements(g, kind, FC_LANES, turns)->batch = (uint8_t)batch;
    if (apart) over_elements(g, FC_LOOP_UNROLL, 32, FC_CUDA_QUAD)->way = FC_LOOP_APART;
    over_elements(g, FC_LOOP_LANE, apart ? 1 : FC_CUDA_QUAD, lanes_of(g));
    if (!apart) over_elements(g, FC_LOOP_VECTOR, FC_CUDA_QUAD, 1);
    element(g, phase);
    close(g, 3);
    return g->loops.oom ? &g->loops.none : &g->loops.node.at[n];
}

static void lanes_meet(fc_cuda_gen *g, unsigned s) {
    join(g, s, FC_LOOP_VECTOR);
    join(g, s, FC_LOOP_LANE);
}

/* Who has which row: a gang's blocks take row after row. */
static void rows_of_teams(fc_cuda_gen *g) {
    const unsigned repeat = g->cls->cuda.repeat, rows = fc_cuda_block(g->cls) / g->cls->cuda.team;
    if (g->cls->cuda.split >= FC_CUDA_GANG) {
        over_elements(g, FC_LOOP_GRID, FC_STEP_SPAN, 1)->way = FC_LOOP_GANG;
        open(g, FC_LOOP_SERIAL, 0, g->np, 1, 1)->way = FC_LOOP_GANG;
        return;
    }
    open(g, FC_LOOP_GRID, 0, g->np, repeat * rows, 1);
    if (g->cls->cuda.split) over_elements(g, FC_LOOP_GRID, FC_STEP_SPAN, 1);
    if (repeat > 1) open(g, FC_LOOP_UNROLL, 0, g->np, rows, repeat);
    open(g, FC_LOOP_BLOCK, 0, g->np, 1, rows)->way =
        g->cls->cuda.full ? FC_LOOP_PLAIN : FC_LOOP_BACK;
}

/* Warps, blocks of a gang. */
static void parts_meet(fc_cuda_gen *g, unsigned s) {
    if (g->cls->cuda.team > 32) join(g, s, FC_LOOP_WARP);
    if (g->cls->cuda.split == FC_CUDA_SPLIT) {
        leaf(g, FC_LEAF_PUT, s);
        leaf(g, FC_LEAF_GET, s);
    }
    if (g->cls->cuda.split >= FC_CUDA_GANG) join(g, s, FC_LOOP_GRID);
    leaf(g, FC_LEAF_FINISH, s);
}

/* Whether the phase reads what is kept, and whether it reads anything else. */
static void reads(fc_cuda_gen *g, unsigned phase, bool *kept, bool *more) {
    *kept = *more = false;
    fc_cuda_slice(g, phase == FC_PHASE_ELEMENTS ? FC_CUDA_STORES : phase, FC_POINT);
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (g->need[v] && i->op == FC_OP_LOAD && i->level == FC_POINT)
            *(g->cached[i->imm] ? kept : more) = true;
    }
}

/* The part of a row that a warp keeps: written out, if it fits registers and text. */
static void pass(fc_cuda_gen *g, unsigned phase) {
    const unsigned its = g->cls->cuda.iterations;
    unsigned batch = (unsigned)fc_cuda_unroll(g->k, (int)its, FC_CUDA_QUAD);
    bool kept, more;
    reads(g, phase, &kept, &more);
    if (kept && more && its > 2) batch = 2; /* registers are taken already */
    if (g->cls->cuda.team > 32) over_elements(g, FC_LOOP_WARP, FC_CHUNK, g->cls->cuda.team / 32);
    quads(g, kept || batch == its ? FC_LOOP_UNROLL : FC_LOOP_SERIAL, its, batch, phase);
    if (g->cls->cuda.team > 32) close(g, 1);
}

/* Known counts make joins cheap, so that warps that are whole have text of their own. */
static void one_stage(fc_cuda_gen *g, unsigned s) {
    const bool both = fc_cuda_any_counts(g->k, s) && !g->cls->cuda.full;
    leaf(g, FC_LEAF_ROW, s);
    leaf(g, FC_LEAF_START, s);
    for (int i = 0; i < (both ? 2 : 1); i++) {
        if (both)
            over_elements(g, FC_LOOP_CASE, FC_CHUNK, 1)->way = i ? FC_LOOP_REST : FC_LOOP_WHOLE;
        pass(g, s);
        lanes_meet(g, s);
        if (both) close(g, 1);
    }
    parts_meet(g, s);
}

/* What the form says of loads is so when values are held (cuda_hold.c). */
static void one(fc_cuda_gen *g) {
    rows_of_teams(g);
    kept_buffers(g, g->axes - 1, g->cls->cuda.team, FC_CUDA_QUAD * g->cls->cuda.iterations);
    for (unsigned s = 0; s < g->k->nstages; s++) {
        one_stage(g, s);
        fc_cuda_now_held(g);
    }
    results(g);
    if (fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT)) {
        leaf(g, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
        pass(g, FC_PHASE_ELEMENTS);
    }
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->hold[v]) g->hold[v] = FC_CUDA_HOLD;
}

/* ---- spans of chunks ------------------------------------------------------------------------- */

static unsigned chunk_batch(const fc_cuda_gen *g, unsigned phase, bool whole) {
    const int turns = FC_CHUNK / FC_LANES, batch = fc_cuda_unroll(g->k, turns, FC_CUDA_QUAD);
    if (g->ring) return whole ? fc_ring_batch(g->ring, phase) : 1;
    return (unsigned)(!whole && batch > 2 ? 2 : batch);
}

/* A chunk whose counts are known as constants is unrolled whole: its shares are constants then. Of
 * one that is not whole there are at most two turns at a time. */
static fc_loop *chunk(fc_cuda_gen *g, unsigned phase, bool whole) {
    const bool known = whole && phase != FC_PHASE_ELEMENTS && fc_cuda_any_counts(g->k, phase);
    return quads(g, known ? FC_LOOP_UNROLL : FC_LOOP_SERIAL, FC_CHUNK / FC_LANES,
                 chunk_batch(g, phase, whole), phase);
}

static void chunks(fc_cuda_gen *g, fc_loop_way way) {
    over_elements(g, FC_LOOP_SERIAL, FC_CHUNK, 1)->way = (uint8_t)way;
}

/* With elements to count whole chunks have text of their own; without, both go on in one way: with
 * two a sum takes 242 us, not 237. */
static void push_chunks(fc_cuda_gen *g, unsigned s) {
    const bool counts = fc_cuda_any_counts(g->k, s);
    leaf(g, FC_LEAF_CLEAR, s);
    if (!counts) {
        chunks(g, FC_LOOP_PLAIN);
        leaf(g, FC_LEAF_START, s);
    }
    for (int whole = 1; whole >= 0; whole--) {
        const fc_loop_way way = whole ? FC_LOOP_WHOLE : FC_LOOP_REST;
        if (counts) {
            chunks(g, way);
            leaf(g, FC_LEAF_START, s);
        } else {
            over_elements(g, FC_LOOP_CASE, FC_CHUNK, 1)->way = (uint8_t)way;
        }
        chunk(g, s, whole);
        if (!counts) close(g, 1);
        if (!counts && whole) continue;
        lanes_meet(g, s);
        leaf(g, FC_LEAF_PUSH, s);
        close(g, 1);
    }
    leaf(g, FC_LEAF_FOLD, s);
}

static void loop(fc_cuda_gen *g) {
    rows_of_teams(g);
    over_elements(g, FC_LOOP_WARP, FC_STEP_SPAN, fc_cuda_block(g->cls) / 32);
    for (unsigned s = 0; s < g->k->nstages; s++) {
        leaf(g, FC_LEAF_ROW, s);
        push_chunks(g, s);
        parts_meet(g, s);
    }
    results(g);
    if (!fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT)) return;
    leaf(g, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    for (int whole = 1; whole >= 0; whole--) {
        chunks(g, whole ? FC_LOOP_WHOLE : FC_LOOP_REST);
        chunk(g, FC_PHASE_ELEMENTS, whole);
        close(g, 1);
    }
}

/* ---- parts of rows in shared memory ---------------------------------------------------------- */

/* What comes, and results that leave from where it was. */
static void place_buffers(fc_cuda_gen *g) {
    const bool ring = !g->ring->cluster;
    const uint32_t elements = ring ? fc_ring_part(g->cls) : FC_STEP_SPAN;
    for (uint32_t a = 0; a < g->cls->naccess; a++)
        if (g->cached[a] || g->ring->sent[a])
            fc_loops_buffer(&g->loops,
                            (fc_stage_buffer){.set = g->cached[a] ? FC_SET_KEPT : FC_PHASE_ELEMENTS,
                                              .space = FC_SPACE_SHARED,
                                              .along = (uint8_t)g->np,
                                              .access = a,
                                              .lanes = 1,
                                              .elements = elements,
                                              .stages = ring ? g->cls->cuda.buffers : 0});
}

/* Of a block of a cluster every warp takes the next chunk, and all blocks know what becomes of it;
 * of a ring's part a warp has some side by side, which it joins. */
static void chunks_in_place(fc_cuda_gen *g, unsigned phase) {
    const bool cluster = g->ring->cluster, stage = phase != FC_PHASE_ELEMENTS;
    const unsigned warps = fc_cuda_team(g->cls) / 32, each = g->cls->cuda.warp_chunks;
    const bool counts = stage && each > 1;
    if (cluster) over_elements(g, FC_LOOP_SERIAL, warps * FC_CHUNK, 1);
    over_elements(g, FC_LOOP_WARP, cluster ? FC_CHUNK : each * FC_CHUNK, warps);
    if (counts) leaf(g, FC_LEAF_CLEAR, phase);
    if (!cluster) chunks(g, FC_LOOP_PLAIN);
    for (int whole = 1; whole >= (g->cls->cuda.full ? 1 : 0); whole--) {
        if (!g->cls->cuda.full)
            over_elements(g, FC_LOOP_CASE, FC_CHUNK, 1)->way = whole ? FC_LOOP_WHOLE : FC_LOOP_REST;
        if (stage) leaf(g, FC_LEAF_START, phase);
        chunk(g, phase, whole);
        if (stage) lanes_meet(g, phase);
        if (!g->cls->cuda.full) close(g, 1);
    }
    if (counts) leaf(g, FC_LEAF_PUSH, phase);
    if (cluster && stage) leaf(g, FC_LEAF_PUT, phase);
    if (cluster && !stage && fc_ring_sends(g->ring)) leaf(g, FC_LEAF_FLUSH, phase);
    close(g, 1);
    if (counts) leaf(g, FC_LEAF_FOLD, phase);
    close(g, 1);
}

static void get(fc_cuda_gen *g, unsigned s) {
    leaf(g, FC_LEAF_GET, s);
    leaf(g, FC_LEAF_FINISH, s);
}

static void stage_in_place(fc_cuda_gen *g, unsigned s) {
    leaf(g, FC_LEAF_ROW, s);
    fc_cuda_slice(g, s, FC_POINT);
    chunks_in_place(g, s);
    fc_cuda_now_held(g);
}

static void stores_in_place(fc_cuda_gen *g) {
    results(g);
    if (fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT)) {
        leaf(g, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
        chunks_in_place(g, FC_PHASE_ELEMENTS);
    }
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->hold[v]) g->hold[v] = FC_CUDA_HOLD;
}

static void cluster(fc_cuda_gen *g) {
    open(g, FC_LOOP_GRID, 0, g->np, 1, 1);
    over_elements(g, FC_LOOP_GRID, FC_STEP_SPAN, g->cls->cuda.blocks)->way = FC_LOOP_CLOSE;
    place_buffers(g);
    leaf(g, FC_LEAF_FILL, FC_SET_KEPT);
    for (unsigned s = 0; s < g->k->nstages; s++) {
        stage_in_place(g, s);
        get(g, s);
    }
    stores_in_place(g);
}

/* Whether a phase takes results of a stage, and always of the one before it: they say that all
 * warps of earlier phases are done with the place. */
static bool wants(fc_cuda_gen *g, unsigned phase, unsigned stage) {
    const bool stores = phase == g->k->nstages;
    bool any = stage + 1 == phase;
    for (int level = 0; level < (stores ? 2 : 1); level++) {
        fc_cuda_slice(g, stores ? (unsigned)FC_CUDA_STORES : phase, level ? FC_ROW : FC_POINT);
        for (fc_val v = 0; v < g->code.ins.len; v++) {
            const fc_instr *i = &g->code.ins.at[v];
            if (g->need[v] && i->op == FC_OP_ACC)
                any |= g->k->reductions.at[fc_acc_reduction(i)].stage == stage;
        }
    }
    return any;
}

static void role(fc_cuda_gen *g, unsigned phase, unsigned warps) {
    open(g, FC_LOOP_ROLE, 0, 0, 1, warps)->phase = (uint8_t)phase;
    open(g, FC_LOOP_SERIAL, 0, g->np, 1, 1)->way = FC_LOOP_GANG;
}

static void ring(fc_cuda_gen *g) {
    const unsigned stages = g->k->nstages, warps = g->cls->cuda.team / 32;
    over_elements(g, FC_LOOP_GRID, FC_STEP_SPAN, 1)->way = FC_LOOP_GANG;
    place_buffers(g);
    for (unsigned phase = 0; phase <= stages; phase++) {
        role(g, phase < stages ? phase : (unsigned)FC_PHASE_ELEMENTS, warps);
        for (unsigned s = 0; s < phase; s++)
            if (wants(g, phase, s)) get(g, s);
        if (phase < stages) {
            stage_in_place(g, phase);
            join(g, phase, FC_LOOP_WARP);
            leaf(g, FC_LEAF_PUT, phase);
        } else {
            stores_in_place(g);
            if (fc_ring_sends(g->ring)) leaf(g, FC_LEAF_FLUSH, FC_PHASE_ELEMENTS);
        }
        close(g, 2);
    }
    role(g, FC_SET_KEPT, 1);
    leaf(g, FC_LEAF_FILL, FC_SET_KEPT);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void run(fc_cuda_gen *g, unsigned phase, bool whole) {
    const bool known = whole && phase != FC_PHASE_ELEMENTS && fc_cuda_any_counts(g->k, phase);
    const int batch = fc_cuda_outer_batch(g->k, g->cls);
    const int rest = fc_is_ragged(g->k) ? 8 : 4; /* where most runs are not whole */
    over_elements(g, known ? FC_LOOP_UNROLL : FC_LOOP_SERIAL, 1, (uint32_t)fc_run_of(g->k))->batch =
        (uint8_t)(whole || batch < rest ? batch : rest);
    neighbours(g, g->np - 1, g->np, phase);
    close(g, 1);
}

/* Of a transposed warp the lanes have runs side by side, which join first. */
static void count_run(fc_cuda_gen *g, unsigned s) {
    if (g->cls->cuda.transposed) join(g, s, FC_LOOP_LANE);
    leaf(g, FC_LEAF_PUSH, s);
}

/* Whole runs go without a test; at most one run of a row is not whole. */
static void runs(fc_cuda_gen *g, unsigned phase) {
    const bool stage = phase != FC_PHASE_ELEMENTS, full = g->cls->cuda.full;
    const bool evens = stage && fc_cuda_any_counts(g->k, phase);
    const unsigned lanes = g->cls->cuda.transposed ? 32u / g->cls->cuda.across : 1;
    const unsigned size = (unsigned)fc_run_of(g->k);
    over_elements(g, FC_LOOP_SERIAL, size * lanes, full ? g->cls->cuda.runs : 1);
    if (stage) leaf(g, FC_LEAF_START, phase);
    for (int whole = 1; whole >= (full ? 1 : 0); whole--) {
        if (!full)
            over_elements(g, FC_LOOP_CASE, size * lanes, 1)->way =
                whole ? FC_LOOP_WHOLE : FC_LOOP_REST;
        if (lanes > 1) over_elements(g, FC_LOOP_LANE, size, lanes);
        run(g, phase, whole);
        if (lanes > 1) close(g, 1);
        if (evens && !full) count_run(g, phase);
        if (!full) close(g, 1);
    }
    if (stage && (full || !evens)) count_run(g, phase);
    close(g, 1);
}

static void outer(fc_cuda_gen *g) {
    const unsigned x = g->cls->cuda.across, v = g->cls->vector, warps = FC_CUDA_THREADS / 32;
    const bool turned = g->cls->cuda.transposed, full = g->cls->cuda.full;
    const fc_loop_kind part = turned ? FC_LOOP_WARP : FC_LOOP_BLOCK;
    const unsigned parts = turned ? warps : FC_CUDA_THREADS / x;
    open(g, FC_LOOP_GRID, 0, g->np, x * v, 1);
    if (g->cls->cuda.split) over_elements(g, FC_LOOP_GRID, FC_STEP_SPAN, 1);
    open(g, FC_LOOP_BLOCK, 0, g->np, v, x)->way = full ? FC_LOOP_PLAIN : FC_LOOP_BACK;
    over_elements(g, part, FC_STEP_SPAN, parts);
    for (unsigned s = 0; s < g->k->nstages; s++) {
        leaf(g, FC_LEAF_ROW, s);
        leaf(g, FC_LEAF_CLEAR, s);
        runs(g, s);
        leaf(g, FC_LEAF_FOLD, s);
        if (parts > 1) join(g, s, part);
        if (g->cls->cuda.split) {
            leaf(g, FC_LEAF_PUT, s);
            leaf(g, FC_LEAF_GET, s);
        }
        if (v == 1) leaf(g, FC_LEAF_FINISH, s);
    }
    if (v > 1) {
        open(g, FC_LOOP_VECTOR, g->np - 1, g->np, v, 1);
        leaf(g, FC_LEAF_FINISH, 0);
    }
    results(g);
    if (v > 1) close(g, 1);
    if (!fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT)) return;
    leaf(g, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    runs(g, FC_PHASE_ELEMENTS);
}

/* ---- scans ----------------------------------------------------------------------------------- */

static void over_run(fc_cuda_gen *g) {
    fc_loop *n = over_elements(g, FC_LOOP_SERIAL, 1, 1);
    if (n && g->cls->cuda.staged) n->way = FC_LOOP_STAGED;
}

/* Columns of a thread. */
static unsigned side_by_side(fc_cuda_gen *g) {
    if (!g->cls->cuda.columns || g->cls->vector == 1) return 0;
    open(g, FC_LOOP_VECTOR, g->np - 1, g->np, g->cls->vector, 1);
    return 1;
}

static void prefixes(fc_cuda_gen *g) {
    leaf(g, FC_LEAF_PREFIX, 0);
    leaf(g, FC_LEAF_START, 0);
    over_run(g);
    const unsigned opened = side_by_side(g);
    element(g, 0);
    leaf(g, FC_LEAF_SCANNED, 0);
    element(g, FC_PHASE_ELEMENTS);
    close(g, 1 + opened);
}

/* The totals of the threads' runs of a tile become a tree; then each goes through its runs again,
 * with what is before them in front. */
static void tile_of_runs(fc_cuda_gen *g) {
    over_elements(g, FC_LOOP_BLOCK, FC_RUN * fc_cuda_scan_runs(g->cls),
                  g->cls->cuda.columns ? fc_cuda_scan_down(g->cls) : fc_cuda_scan_threads(g->cls));
    leaf(g, FC_LEAF_START, 0);
    over_run(g);
    const unsigned opened = side_by_side(g);
    element(g, 0);
    close(g, 1 + opened);
    join(g, 0, FC_LOOP_BLOCK);
    prefixes(g);
    close(g, 1);
}

static void scan(fc_cuda_gen *g) {
    const bool many = g->cls->cuda.split == FC_CUDA_BACK, one = g->cls->cuda.block_rows,
               down = g->cls->cuda.columns;
    const uint32_t side = down ? g->cls->vector : 1, rows = many || one ? 1
                                                            : down ? fc_cuda_scan_columns(g->cls)
                                                                   : FC_CUDA_THREADS;
    open(g, FC_LOOP_GRID, 0, g->np, rows, 1);
    if (many) over_elements(g, FC_LOOP_GRID, fc_cuda_scan_tile(g->cls), 1)->way = FC_LOOP_TICKET;
    if (rows > 1) open(g, FC_LOOP_BLOCK, 0, g->np, side, rows / side);
    leaf(g, FC_LEAF_ROW, 0);
    leaf(g, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    leaf(g, FC_LEAF_CLEAR, 0);
    if (!many)
        over_elements(g, FC_LOOP_SERIAL,
                      one    ? fc_cuda_scan_tile(g->cls)
                      : down ? fc_cuda_scan_down(g->cls) * FC_RUN
                             : FC_RUN,
                      1);
    if (many || one || down)
        tile_of_runs(g);
    else
        prefixes(g);
    if (!many) leaf(g, FC_LEAF_PUSH, 0);
}

/* ---- contractions ---------------------------------------------------------------------------- */

/* Opens a loop over the axis of the rows, or columns, of a tile, if it has one. */
static fc_loop *side(fc_cuda_gen *g, fc_loop_kind kind, bool columns, uint32_t step,
                     uint32_t count) {
    const unsigned axis = columns ? g->cls->cuda.dot_across : g->cls->cuda.dot_axis;
    return axis < g->np ? open(g, kind, axis, axis + 1, step, count) : &g->loops.none;
}

static void shared_operands(fc_cuda_gen *g, const fc_cuda_tile *t) {
    for (unsigned i = 0; i < 2; i++)
        fc_loops_buffer(
            &g->loops, (fc_stage_buffer){.space = FC_SPACE_SHARED,
                                         .packed = true,
                                         .along = (uint8_t)g->np,
                                         .access = i ^ g->cls->cuda.dot_swapped,
                                         .lanes = (i ? fc_cuda_tile_columns : fc_cuda_tile_rows)(t),
                                         .elements = t->depth,
                                         .stages = g->cls->cuda.dot_stages});
}

/* The pieces of a thread or warp take a step: of tensor cores all elements of k at once. */
static void pieces(fc_cuda_gen *g, const fc_cuda_tile *t) {
    const unsigned rows = fc_cuda_piece_rows(t), columns = fc_cuda_piece_columns(t);
    if (t->tensor) {
        side(g, FC_LOOP_WARP, false, rows * t->high, t->down);
        side(g, FC_LOOP_WARP, true, columns * t->wide, t->across);
        over_elements(g, FC_LOOP_SERIAL, fc_cuda_tile_deep(t), 1);
        side(g, FC_LOOP_UNROLL, false, rows, t->high);
        side(g, FC_LOOP_UNROLL, true, columns, t->wide);
        leaf(g, FC_LEAF_LANES, 0);
    } else {
        over_elements(g, FC_LOOP_SERIAL, 1, 1);
        side(g, FC_LOOP_UNROLL, false, rows, t->high);
        side(g, FC_LOOP_UNROLL, true, 4 * columns, t->wide / 4);
        side(g, FC_LOOP_BLOCK, false, 4, rows / 4);
        side(g, FC_LOOP_BLOCK, true, 4, columns);
        leaf(g, FC_LEAF_STEP, 0);
    }
}

/* Results change places through shared memory, so that neighbouring threads have neighbouring
 * columns, or go from registers to where they are stored. */
static void results_of_tile(fc_cuda_gen *g, const fc_cuda_tile *t) {
    const unsigned columns = fc_cuda_tile_columns(t), v = g->cls->vector,
                   rows = fc_cuda_piece_rows(t) * t->down,
                   all = fc_cuda_tile_threads(t) * v / columns, turn = all < rows ? all : rows;
    if (fc_cuda_is_direct(g->cls)) {
        side(g, FC_LOOP_UNROLL, false, rows, t->high);
        side(g, FC_LOOP_UNROLL, true, 4 * fc_cuda_piece_columns(t), t->wide / 4);
        side(g, FC_LOOP_BLOCK, false, 4, rows / 4);
        side(g, FC_LOOP_BLOCK, true, v, fc_cuda_piece_columns(t));
        side(g, FC_LOOP_UNROLL, false, 1, 4);
    } else {
        side(g, FC_LOOP_SERIAL, false, rows, 1)->way = FC_LOOP_STAGED;
        side(g, FC_LOOP_SERIAL, false, turn, 1);
        side(g, FC_LOOP_BLOCK, false, 1, turn);
        side(g, FC_LOOP_BLOCK, true, v, columns / v);
    }
    if (v > 1) side(g, FC_LOOP_VECTOR, true, v, 1);
    leaf(g, FC_LEAF_FINISH, 0);
    results(g);
}

static void contraction(fc_cuda_gen *g) {
    const fc_cuda_tile *t = fc_cuda_tile_of(g->cls);
    shared_operands(g, t);
    for (unsigned axis = 0; axis < g->np; axis++)
        if (!fc_cuda_is_of_tile(g->cls, axis)) open(g, FC_LOOP_GRID, axis, axis + 1, 1, 1);
    side(g, FC_LOOP_GRID, false, fc_cuda_tile_rows(t), 1);
    side(g, FC_LOOP_GRID, true, fc_cuda_tile_columns(t), 1);
    if (g->cls->cuda.split) over_elements(g, FC_LOOP_GRID, FC_STEP_SPAN, 1);
    const uint32_t depth = g->loops.depth;
    leaf(g, FC_LEAF_CLEAR, 0);
    over_elements(g, FC_LOOP_SERIAL, fc_cuda_tile_chunk(t), 1);
    over_elements(g, FC_LOOP_SERIAL, t->depth, 1)->way = FC_LOOP_CARRY;
    leaf(g, FC_LEAF_FILL, 0);
    pieces(g, t);
    close(g, g->loops.depth - depth - 1);
    leaf(g, FC_LEAF_PUSH, 0);
    close(g, 1);
    leaf(g, FC_LEAF_FOLD, 0);
    if (g->cls->cuda.split) {
        leaf(g, FC_LEAF_PUT, 0);
        leaf(g, FC_LEAF_GET, 0);
    }
    results_of_tile(g, t);
}

/* ---------------------------------------------------------------------------------------------- */

void fc_cuda_schedule_loops(fc_cuda_gen *g) {
    switch (g->cls->cuda.kind) {
    case FC_CUDA_MAP: (g->cls->vector > 1 ? map_neighbours : map_apart)(g); break;
    case FC_CUDA_TILE: fc_cuda_tile_loops(g); break;
    case FC_CUDA_THREAD: thread(g); break;
    case FC_CUDA_RECT: rect(g); break;
    case FC_CUDA_ONE: one(g); break;
    case FC_CUDA_LOOP: loop(g); break;
    case FC_CUDA_OUTER: outer(g); break;
    case FC_CUDA_SCAN: scan(g); break;
    case FC_CUDA_RING: ring(g); break;
    case FC_CUDA_CLUSTER: cluster(g); break;
    case FC_CUDA_DOT: contraction(g); break;
    case FC_CUDA_FLASH:        /* texts of several kernels: a form for each (cuda_flash_loops.c), */
    case FC_CUDA_SLIDE: break; /* and cuda_slide.c */
    }
}
