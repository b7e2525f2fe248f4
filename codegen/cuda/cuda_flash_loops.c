/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_loops.c - the loop form of joined products (codegen/loop.h).
 *
 * In: parts with classes. Out: x->part[0].loops, over the axes of fc_flash: what cuda_flash.c
 * writes. A block has 128 rows, a thread two of each 16 of a warp. It goes over the columns, 128 at
 * a time, once for each stage of what reduces its rows, and once more for the last product; each
 * time it makes the results of the first product, and of the code between, again. Of 8 columns a
 * thread has two neighbours. A softmax that may be regrouped takes both stages and the product in
 * one walk.
 *
 * Where a mask hides a tile accumulators take what all its elements are, or nothing. */
#include "codegen/cuda/cuda_flash_text.h"

enum { SIDE = FC_FLASH_SIDE, ELEMENTS = FC_PHASE_ELEMENTS, RESULTS = FC_PHASE_RESULTS };

static fc_loop *open(fc_flash_gen *x, fc_loop_kind kind, unsigned axis, uint32_t step,
                     uint32_t count) {
    fc_loop *l = fc_loops_open(fc_flash_form(x), kind, axis, axis + 1, step);
    l->count = count;
    return l;
}

static void close(fc_flash_gen *x, unsigned n) {
    fc_loops_close(fc_flash_form(x), n);
}

static fc_loop *leaf(fc_flash_gen *x, unsigned part, fc_loop_kind kind, unsigned phase) {
    fc_loop *l = fc_loops_leaf(fc_flash_form(x), kind, phase);
    l->part = (uint8_t)part;
    return l;
}

static void join(fc_flash_gen *x, unsigned stage, fc_loop_kind over) {
    leaf(x, 1, FC_LEAF_JOIN, stage)->over = (uint8_t)over;
}

static void case_of(fc_flash_gen *x, fc_loop_way way) {
    fc_loop *l = open(x, FC_LOOP_CASE, x->column, 1, 1);
    l->way = (uint8_t)way;
    l->part = 1;
}

/* ---- operands, and what is passed on --------------------------------------------------------- */

static void buffer(fc_flash_gen *x, unsigned set, unsigned part, unsigned along, unsigned lanes,
                   unsigned elements) {
    const bool passed = set >= FC_FLASH_PASSED,
               streams = set == FC_FLASH_COLUMNS || set == FC_FLASH_RIGHT;
    const bool columns = streams != x->j->cls[part].cuda.dot_swapped;
    fc_loops_buffer(
        fc_flash_form(x),
        (fc_stage_buffer){.set = (uint8_t)set,
                          .space = set < FC_FLASH_WEIGHTS ? FC_SPACE_SHARED : FC_SPACE_REGISTERS,
                          .packed = !passed,
                          .passed = passed,
                          .along = (uint8_t)along,
                          .part = (uint8_t)part,
                          .access = passed ? x->j->kernel[part]->stores.at[0].access : columns,
                          .lanes = lanes,
                          .elements = elements,
                          .stages = streams ? x->cls->cuda.dot_stages : 0u});
}

static void buffers(fc_flash_gen *x) {
    const unsigned deep = FC_FLASH_BLOCK * fc_flash_blocks_of_k(x->cls), last = x->f.n - 1,
                   wide = FC_FLASH_BLOCK * x->cls->cuda.flash_wide,
                   each = SIDE / x->cls->cuda.flash_turns;
    buffer(x, FC_FLASH_ROWS, 0, x->deep, SIDE, deep);
    buffer(x, FC_FLASH_COLUMNS, 0, x->deep, SIDE, deep);
    buffer(x, FC_FLASH_RIGHT, last, x->column, wide, SIDE);
    buffer(x, FC_FLASH_WEIGHTS, last, x->column, SIDE, each);
    for (unsigned part = 0; part < last; part++)
        buffer(x, FC_FLASH_PASSED + part, part, x->column, SIDE, each);
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Columns of a thread, of so many; neighbours of which become one register, or one by one. */
static void columns(fc_flash_gen *x, unsigned axis, unsigned of, bool pairs) {
    open(x, FC_LOOP_UNROLL, axis, 8, of / 8);
    open(x, FC_LOOP_LANE, axis, 2, 4);
    if (pairs)
        open(x, FC_LOOP_VECTOR, axis, 2, 1);
    else
        open(x, FC_LOOP_UNROLL, axis, 1, 2);
}

static void tile_columns(fc_flash_gen *x, bool pairs) {
    columns(x, x->column, SIDE / x->cls->cuda.flash_turns, pairs);
}

/* Elements of the middle part: its stages take them, or they are the next operand. */
static void elements(fc_flash_gen *x, unsigned phase) {
    tile_columns(x, phase == ELEMENTS);
    if (x->f.n == 3) leaf(x, 1, FC_LEAF_POINT, phase);
    if (x->f.n == 3) leaf(x, 1, phase == ELEMENTS ? FC_LEAF_STORE : FC_LEAF_STEP, phase);
    if (phase == ELEMENTS) leaf(x, x->f.n - 1, FC_LEAF_FILL, FC_FLASH_WEIGHTS);
    close(x, 3);
}

/* In two texts if there is a mask: tiles of which nothing is hidden need not look at it. */
static void masked_elements(fc_flash_gen *x, unsigned phase) {
    if (x->mask.n) {
        case_of(x, FC_LOOP_SHOWN);
        elements(x, phase);
        close(x, 1);
        case_of(x, FC_LOOP_REST);
    }
    elements(x, phase);
    if (x->mask.n) close(x, 1);
    if (phase != ELEMENTS || !x->forms.divides) return;
    case_of(x, FC_LOOP_FAR);
    elements(x, phase);
    close(x, 1);
}

/* The first product of the columns of a turn, and its kernel's code. */
static void scores(fc_flash_gen *x) {
    open(x, FC_LOOP_UNROLL, x->deep, FC_CUDA_DEEP, x->cls->cuda.flash_deep)->way = FC_LOOP_CARRY;
    leaf(x, 0, FC_LEAF_LANES, 0);
    close(x, 1);
    tile_columns(x, true);
    leaf(x, 0, FC_LEAF_FINISH, 0);
    leaf(x, 0, FC_LEAF_ROW, RESULTS);
    leaf(x, 0, FC_LEAF_STORE, RESULTS);
    close(x, 3);
}

/* ---- walks over the columns ------------------------------------------------------------------ */

/* By chunks of the tree, if the order is one of those, and tiles. */
static void begin_walk(fc_flash_gen *x, unsigned part, unsigned stage, uint32_t chunk) {
    if (chunk) open(x, FC_LOOP_SERIAL, x->column, chunk, 1);
    fc_loop *l = open(x, FC_LOOP_SERIAL, x->column, SIDE, 1);
    l->way = FC_LOOP_CARRY;
    l->part = (uint8_t)part;
    l->phase = (uint8_t)stage;
}

static void begin_turns(fc_flash_gen *x, fc_loop_kind kind) {
    const unsigned turns = x->cls->cuda.flash_turns;
    open(x, kind, x->column, SIDE / turns, turns);
}

static void close_to(fc_flash_gen *x, uint32_t depth) {
    close(x, fc_flash_form(x)->depth - depth);
}

static void stage(fc_flash_gen *x, unsigned s) {
    const uint32_t depth = fc_flash_form(x)->depth;
    const bool tree = fc_flash_has(x, s, true);
    leaf(x, 1, FC_LEAF_ROW, s);
    leaf(x, 1, FC_LEAF_START, s);
    if (tree) leaf(x, 1, FC_LEAF_CLEAR, s);
    begin_walk(x, 1, s, tree ? FC_CHUNK : 0);
    const uint32_t walk = fc_flash_form(x)->depth;
    if (x->mask.n) {
        case_of(x, FC_LOOP_HIDDEN);
        leaf(x, 1, FC_LEAF_LANES, s);
        close(x, 1);
        case_of(x, FC_LOOP_REST);
    }
    leaf(x, 0, FC_LEAF_FILL, FC_FLASH_COLUMNS);
    begin_turns(x, tree ? FC_LOOP_UNROLL : FC_LOOP_SERIAL);
    scores(x);
    masked_elements(x, s);
    close_to(x, walk);
    if (tree) {
        open(x, FC_LOOP_LAST, x->column, 1, 1)->part = 1;
        join(x, s, FC_LOOP_UNROLL);
        join(x, s, FC_LOOP_LANE);
        leaf(x, 1, FC_LEAF_PUSH, s);
        leaf(x, 1, FC_LEAF_START, s);
    }
    close_to(x, depth);
    if (tree) leaf(x, 1, FC_LEAF_FOLD, s);
    if (fc_flash_has(x, s, false)) join(x, s, FC_LOOP_LANE);
    leaf(x, 1, FC_LEAF_FINISH, s);
}

/* What the last product multiplies by: of tiles that are hidden, known. */
static void weights(fc_flash_gen *x) {
    if (x->mask.n && !x->passes) {
        case_of(x, FC_LOOP_HIDDEN);
        elements(x, ELEMENTS);
        close(x, 1);
        case_of(x, FC_LOOP_REST);
    }
    scores(x);
    if (x->cls->cuda.flash_once) {
        masked_elements(x, 0);
        join(x, 0, FC_LOOP_LANE);
        leaf(x, 1, FC_LEAF_RESCALE, 0);
        leaf(x, 2, FC_LEAF_RESCALE, 0);
        elements(x, 1);
        elements(x, ELEMENTS);
    } else {
        masked_elements(x, ELEMENTS);
    }
    if (x->mask.n && !x->passes) close(x, 1);
}

static void last_walk(fc_flash_gen *x) {
    const unsigned last = x->f.n - 1, each = SIDE / x->cls->cuda.flash_turns;
    const bool once = x->cls->cuda.flash_once;
    const uint32_t depth = fc_flash_form(x)->depth;
    leaf(x, last, FC_LEAF_CLEAR, 0);
    for (unsigned s = 0; once && s < 2; s++) leaf(x, 1, FC_LEAF_START, s);
    begin_walk(x, last, 0, once ? 0 : FC_DOT_CHUNK16);
    const uint32_t walk = fc_flash_form(x)->depth;
    if (x->passes) case_of(x, FC_LOOP_SEEN);
    leaf(x, 0, FC_LEAF_FILL, FC_FLASH_COLUMNS);
    leaf(x, last, FC_LEAF_FILL, FC_FLASH_RIGHT);
    begin_turns(x, FC_LOOP_SERIAL);
    weights(x);
    open(x, FC_LOOP_UNROLL, x->column, FC_CUDA_DEEP, each / FC_CUDA_DEEP);
    leaf(x, last, FC_LEAF_LANES, 0);
    close_to(x, walk);
    if (!once) {
        open(x, FC_LOOP_LAST, x->column, 1, 1)->part = (uint8_t)last;
        leaf(x, last, FC_LEAF_PUSH, 0);
    }
    close_to(x, depth);
    if (once) {
        join(x, 1, FC_LOOP_LANE);
        leaf(x, 1, FC_LEAF_FINISH, 1);
        leaf(x, last, FC_LEAF_RESCALE, 1);
    } else {
        leaf(x, last, FC_LEAF_FOLD, 0);
    }
}

static void launch(fc_flash_gen *x) {
    const unsigned row = x->row, last = x->f.n - 1, wide = FC_FLASH_BLOCK * x->cls->cuda.flash_wide;
    buffers(x);
    if (row) open(x, FC_LOOP_GRID, 0, 1, 1)->end = (uint8_t)row;
    open(x, FC_LOOP_GRID, row, SIDE, 1);
    open(x, FC_LOOP_GRID, x->wide, wide, 1);
    leaf(x, 0, FC_LEAF_FILL, FC_FLASH_ROWS);
    open(x, FC_LOOP_WARP, row, 16, SIDE / 16);
    open(x, FC_LOOP_UNROLL, row, 8, 2);
    open(x, FC_LOOP_LANE, row, 1, 8);
    for (unsigned s = 0; s + 1 < fc_flash_walks(x); s++) stage(x, s);
    last_walk(x);
    columns(x, x->wide, wide, false);
    leaf(x, last, FC_LEAF_FINISH, 0);
    leaf(x, last, FC_LEAF_ROW, RESULTS);
    leaf(x, last, FC_LEAF_STORE, RESULTS);
}

fusec_status fc_flash_loops(fc_flash_gen *x, fc_error *e) {
    fc_loops *l = fc_flash_form(x);
    for (uint32_t part = 0; part < x->f.n; part++)
        for (uint32_t a = 0; a < x->f.rank + 2; a++)
            if (x->f.axis[part][a] != FC_FLASH_NONE) x->form_axis[part][x->f.axis[part][a]] = a;
    l->axis = (const uint32_t(*)[FC_MAX_AXES])x->form_axis;
    launch(x);
    if (l->oom) return fc_oom(e);
    FC_TRY(fc_loops_verify_parts(l, x->j->kernel, x->j->cls, x->f.n, e));
    fc_loops_print(l, "// ", x->part[0].t.out);
    return FUSEC_OK;
}
