/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_loops.c - the loop forms of joined products (codegen/loop.h), one for each part.
 *
 * In: parts with classes. Out: what the launch does of each, over the part's own axes: 128 rows of
 * a block, 16 of a warp, of which a thread has two; 128 columns at a time, of which it has two
 * neighbours of every 8. The forms have the same blocks, warps and lanes, and their loops over
 * columns are one loop of the text (cuda_flash.c): scores are made where the part behind them runs
 * over its elements, and what that one stores is the operand of the last part. A softmax that goes
 * once has no order of stages, so there is no form of that part. */
#include "codegen/cuda/cuda_flash_text.h"

enum { SIDE = FC_FLASH_SIDE };

static fc_loop *open(fc_cuda_gen *g, fc_loop_kind kind, unsigned axis, uint32_t step,
                     uint32_t count) {
    fc_loop *l = fc_loops_open(&g->loops, kind, axis, axis + 1, step);
    l->count = count;
    return l;
}

static void leaf(fc_cuda_gen *g, fc_loop_kind kind, unsigned phase) {
    fc_loops_leaf(&g->loops, kind, phase);
}

static void close_to(fc_cuda_gen *g, uint32_t depth) {
    fc_loops_close(&g->loops, g->loops.depth - depth);
}

/* Blocks. */
static void tiles(const fc_flash_gen *x, fc_cuda_gen *g, uint32_t part) {
    for (uint32_t a = 0; a + 1 < x->f.rank; a++)
        if (a != x->row) open(g, FC_LOOP_GRID, x->f.axis[part][a], 1, 1);
    open(g, FC_LOOP_GRID, x->f.axis[part][x->row], SIDE, 1);
}

/* Rows of a thread. */
static void rows(const fc_flash_gen *x, fc_cuda_gen *g, uint32_t part) {
    const unsigned row = x->f.axis[part][x->row];
    open(g, FC_LOOP_WARP, row, 16, SIDE / 16);
    open(g, FC_LOOP_UNROLL, row, 8, 2);
    open(g, FC_LOOP_LANE, row, 1, 8);
}

/* Columns of a thread, of so many. */
static void columns(fc_cuda_gen *g, unsigned axis, unsigned of) {
    open(g, FC_LOOP_UNROLL, axis, 8, of / 8);
    open(g, FC_LOOP_LANE, axis, 2, 4);
    open(g, FC_LOOP_UNROLL, axis, 1, 2);
}

static void operand(const fc_flash_gen *x, fc_cuda_gen *g, unsigned set, bool left,
                    uint32_t elements) {
    fc_loops_buffer(
        &g->loops,
        (fc_stage_buffer){.set = (uint8_t)set,
                          .space = FC_SPACE_SHARED,
                          .packed = true,
                          .along = (uint8_t)g->np,
                          .access = left == g->cls->cuda.dot_swapped,
                          .lanes = left || g == &x->part[0] ? SIDE : 64u * x->cls->cuda.flash_wide,
                          .elements = elements,
                          .stages = left ? 0u : x->cls->cuda.dot_stages});
}

/* Sums of `of` columns along k, by 16 at a time. */
static void products(const fc_flash_gen *x, fc_cuda_gen *g, uint32_t part, unsigned across,
                     unsigned of) {
    open(g, FC_LOOP_WARP, x->f.axis[part][x->row], 16, SIDE / 16);
    open(g, FC_LOOP_SERIAL, g->np, FC_CUDA_DEEP, 1);
    open(g, FC_LOOP_UNROLL, across, 8, of / 8);
    leaf(g, FC_LEAF_LANES, 0);
}

static void first(const fc_flash_gen *x, fc_cuda_gen *g) {
    const unsigned across = g->cls->cuda.dot_across, each = SIDE / x->cls->cuda.flash_turns,
                   deep = 64u * fc_flash_blocks_of_k(x->cls);
    operand(x, g, 0, true, deep);
    operand(x, g, 0, false, deep);
    tiles(x, g, 0);
    open(g, FC_LOOP_SERIAL, across, SIDE, 1);
    if (x->cls->cuda.flash_turns > 1) open(g, FC_LOOP_SERIAL, across, each, 1);
    const uint32_t depth = g->loops.depth;
    leaf(g, FC_LEAF_CLEAR, 0);
    open(g, FC_LOOP_SERIAL, g->np, FC_DOT_CHUNK16, 1);
    open(g, FC_LOOP_SERIAL, g->np, deep, 1)->way = FC_LOOP_CARRY;
    leaf(g, FC_LEAF_FILL, 0);
    products(x, g, 0, across, each);
    close_to(g, depth + 1);
    leaf(g, FC_LEAF_PUSH, 0);
    close_to(g, depth);
    leaf(g, FC_LEAF_FOLD, 0);
    rows(x, g, 0);
    columns(g, across, each);
    leaf(g, FC_LEAF_FINISH, 0);
    leaf(g, FC_LEAF_ROW, FC_PHASE_RESULTS);
    leaf(g, FC_LEAF_STORE, FC_PHASE_RESULTS);
}

static bool in_order(const fc_kernel *k, unsigned stage) {
    for (size_t r = 0; r < k->reductions.len; r++)
        if (k->reductions.at[r].stage == stage && !fc_cuda_any_order(&k->reductions.at[r]))
            return true;
    return false;
}

/* A walk of what reduces rows. */
static void stage(fc_cuda_gen *g, unsigned s) {
    const uint32_t depth = g->loops.depth;
    const bool tree = in_order(g->k, s);
    leaf(g, FC_LEAF_ROW, s);
    if (tree) {
        leaf(g, FC_LEAF_CLEAR, s);
        open(g, FC_LOOP_SERIAL, g->np, FC_CHUNK, 1);
    }
    leaf(g, FC_LEAF_START, s);
    fc_loop *n = open(g, FC_LOOP_SERIAL, g->np, SIDE, 1);
    n->way = FC_LOOP_CARRY;
    n->phase = (uint8_t)s;
    columns(g, g->np, SIDE);
    leaf(g, FC_LEAF_POINT, s);
    leaf(g, FC_LEAF_STEP, s);
    close_to(g, depth + tree);
    if (tree) fc_loops_leaf(&g->loops, FC_LEAF_JOIN, s)->over = FC_LOOP_UNROLL;
    fc_loops_leaf(&g->loops, FC_LEAF_JOIN, s)->over = FC_LOOP_LANE;
    if (tree) {
        leaf(g, FC_LEAF_PUSH, s);
        close_to(g, depth);
        leaf(g, FC_LEAF_FOLD, s);
    }
    leaf(g, FC_LEAF_FINISH, s);
}

static void between(const fc_flash_gen *x, fc_cuda_gen *g) {
    tiles(x, g, 1);
    rows(x, g, 1);
    for (unsigned s = 0; s < g->k->nstages; s++) stage(g, s);
    leaf(g, FC_LEAF_ROW, FC_PHASE_ELEMENTS);
    open(g, FC_LOOP_SERIAL, g->np, SIDE, 1);
    columns(g, g->np, SIDE);
    leaf(g, FC_LEAF_POINT, FC_PHASE_ELEMENTS);
    leaf(g, FC_LEAF_STORE, FC_PHASE_ELEMENTS);
}

static void last(const fc_flash_gen *x, fc_cuda_gen *g) {
    const uint32_t part = x->f.n - 1;
    const unsigned across = x->f.across, wide = 64u * x->cls->cuda.flash_wide;
    operand(x, g, 0, false, SIDE);
    tiles(x, g, part);
    open(g, FC_LOOP_GRID, across, wide, 1);
    const uint32_t depth = g->loops.depth;
    leaf(g, FC_LEAF_CLEAR, 0);
    open(g, FC_LOOP_SERIAL, g->np, FC_DOT_CHUNK16, 1);
    open(g, FC_LOOP_SERIAL, g->np, SIDE, 1)->way = FC_LOOP_CARRY;
    leaf(g, FC_LEAF_FILL, 0);
    products(x, g, part, across, wide);
    close_to(g, depth + 1);
    leaf(g, FC_LEAF_PUSH, 0);
    close_to(g, depth);
    leaf(g, FC_LEAF_FOLD, 0);
    rows(x, g, part);
    columns(g, across, wide);
    leaf(g, FC_LEAF_FINISH, 0);
    leaf(g, FC_LEAF_ROW, FC_PHASE_RESULTS);
    leaf(g, FC_LEAF_STORE, FC_PHASE_RESULTS);
}

fusec_status fc_flash_loops(fc_flash_gen *x, fc_error *e) {
    for (uint32_t i = 0; i < x->f.n; i++) {
        fc_cuda_gen *g = &x->part[i];
        if (i && i + 1 < x->f.n && x->cls->cuda.flash_once) continue;
        (i == 0 ? first : i + 1 < x->f.n ? between : last)(x, g);
        if (g->loops.oom) return fc_oom(e);
        FC_TRY(fc_loops_verify(&g->loops, g->k, g->cls, e));
        fc_loops_print(&g->loops, "// ", g->t.out);
    }
    return FUSEC_OK;
}
