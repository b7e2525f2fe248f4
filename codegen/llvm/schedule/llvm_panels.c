/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_panels.c - which contractions go through panels (llvm_dot.c), and how they are cut into
 * blocks. The order of a result does not depend on it. */
#include "codegen/dot.h"
#include "codegen/llvm/schedule/llvm_schedule.h"

enum {
    NEAR = 2 << 20,          /* bytes of the second-level cache, if nobody knows */
    AHEAD_BYTES = 16 << 10,  /* of a matrix and its product: the next one is asked for */
    DIRECT_BYTES = 32 << 10, /* of a matrix that is read where it is */
    DIRECT_MOST = 256 << 10, /* the same in parts */
    TASKS = 3,               /* for each thread at least, if there are tiles enough */
    TASK_STEPS = 1 << 20,    /* fma of a task at least */
    FEW = 1 << 14,           /* results that are split along k first */
    SPLIT_CHUNKS = 4         /* of a span of k, at least */
};

/* Whether the sums are stored side by side as they are, and nothing else is. */
static bool is_bare(const fc_kernel *k, const fc_nest *n) {
    if (k->stores.len != 1 || k->updates.len || k->reductions.len != 1) return false;
    const uint32_t a = k->stores.at[0].access;
    const fc_instr *value = &k->code.ins.at[k->stores.at[0].value];
    const int64_t *s = n->stride + (size_t)a * (n->np + n->nr);
    return value->op == FC_OP_ACC && s[n->np - 1] == 1 &&
           k->accesses.at[a].dtype == k->reductions.at[0].dtype &&
           value->dtype == k->reductions.at[0].dtype;
}

/* Whether an operand is an array's elements as they are. */
static bool is_plain(const fc_kernel *k, fc_val v, uint32_t *access) {
    const fc_instr *in = &k->code.ins.at[v];
    const fusec_dtype t = (fusec_dtype)k->reductions.at[0].dtype;
    *access = (uint32_t)in->imm;
    return in->op == FC_OP_LOAD && fc_is_float(t) && k->accesses.at[*access].dtype == t;
}

static int64_t near_of(const fc_machine *m) {
    return m->near_cache ? (int64_t)m->near_cache : NEAR;
}

/* Half cycles that a tile takes, about: two fma or two loads at a time, and no chain is quicker
 * than one fma after the other. */
static int64_t time_of_tile(int64_t count, int64_t high, int64_t vectors) {
    enum { LATENCY = 8, BEGIN = 80 };
    const int64_t fma = high * vectors, loads = high + vectors;
    const int64_t step = fma > LATENCY ? fma > loads ? fma : loads : LATENCY;
    return step * count + 4 * fma + BEGIN;
}

static int64_t time_of_tiles(const fc_nest *n, int64_t rows, unsigned lanes, unsigned high,
                             unsigned vectors) {
    const int64_t columns = n->extent[n->np - 1], low = time_of_tile(n->count, FC_LL_LOW, vectors);
    int64_t time = fc_ceil_div(rows, FC_LL_LOW) * low;
    if (high > FC_LL_LOW)
        time = rows / high * time_of_tile(n->count, high, vectors) +
               fc_ceil_div(rows % high, FC_LL_LOW) * low;
    return time * fc_ceil_div(columns, (int64_t)vectors * lanes);
}

/* The tile that does all rows and columns soonest. */
static void choose_tile(const fc_machine *m, const fc_nest *n, int64_t rows, unsigned lanes,
                        fc_class *cls) {
    static const unsigned heights[] = {16, 14, 12, 8, 6, FC_LL_LOW};
    const unsigned registers = m->vector_bytes >= 64 ? 28 : 12; /* for results */
    int64_t least = INT64_MAX;
    for (unsigned v = 1; v <= FC_LL_ROW_VECTORS; v++)
        for (size_t i = 0; i < FC_COUNT(heights); i++) {
            const int64_t time = time_of_tiles(n, rows, lanes, heights[i], v);
            const bool wider = v > 1 && n->extent[n->np - 1] <= (int64_t)(v - 1) * lanes;
            if (heights[i] * v > registers || wider || time >= least) continue;
            /* one register of columns is masked; of several none is, so that each is full */
            if (v == 1 && n->extent[n->np - 1] > lanes) continue;
            least = time;
            cls->llvm.direct = (uint16_t)v;
            cls->llvm.direct_rows = (uint16_t)heights[i];
        }
}

/* Whether matrices of so many bytes are read where they are: those that half of the second-level
 * cache holds. What is copied would have to be read again for it to pay, so the left one may be
 * larger if there is one tile of columns. */
static bool are_direct(const fc_machine *m, int64_t left, int64_t right, bool one_tile) {
    const int64_t half = near_of(m) / 2 < DIRECT_MOST ? near_of(m) / 2 : DIRECT_MOST;
    const int64_t most = half > DIRECT_BYTES ? half : DIRECT_BYTES;
    return right <= most && (left <= most || one_tile);
}

/* Whether the right operand lies along k, and there is room for it where it is turned. */
static bool can_turn(const fc_machine *m, const fc_nest *n, uint32_t right, int64_t bytes) {
    const int64_t V = fc_ll_widest(m), *s = n->stride + (size_t)right * (n->np + n->nr);
    return fc_ll_move_by(s[n->np - 1]) == FC_MOVE_ANY && s[n->np] == 1 &&
           fc_ceil_div(n->count, V) * fc_ceil_div(n->extent[n->np - 1], V) * V * V * bytes <=
               FC_LL_TURNED;
}

/* Few results, of operands that a near cache holds, are made from where the operands are: the tile
 * is as high as leaves the fewest rows idle. Larger ones are done in parts, by several threads. */
static void choose_direct(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                          const fc_dot_axes *of, fc_class *cls) {
    const fusec_dtype t = (fusec_dtype)k->reductions.at[0].dtype;
    const int64_t rows = n->extent[of->down], columns = n->extent[n->np - 1];
    const int64_t bytes = fc_dtypes[t].bytes, left_bytes = rows * n->count * bytes,
                  right_bytes = columns * n->count * bytes;
    const fc_ll_panels p = fc_ll_panels_of(m, t);
    uint32_t left, right;
    fc_val value[2];
    fc_red_values(&k->reductions.at[0], NULL, value);
    if (n->nr != 1 || m->vector_bytes < 32 || !is_plain(k, value[0], &left) ||
        !is_plain(k, value[1], &right))
        return;
    const bool lies = n->stride[(size_t)right * (n->np + n->nr) + n->np - 1] == 1;
    if ((!lies && !can_turn(m, n, right, bytes)) ||
        !are_direct(m, left_bytes, right_bytes, columns <= p.width) ||
        n->count > (int64_t)FC_DOT_CHUNK << FC_LL_DIRECT_LEVELS)
        return;
    choose_tile(m, n, rows, p.lanes, cls);
    cls->llvm.turned = !lies;
    cls->llvm.direct_parts = left_bytes > DIRECT_BYTES || right_bytes > DIRECT_BYTES;
    const int64_t each = rows * n->count + n->count * columns + rows * columns;
    cls->llvm.ahead = lies && !cls->llvm.direct_parts && each * bytes >= AHEAD_BYTES &&
                      n->rows > rows * columns &&
                      n->rows / (rows * columns) * each * bytes > near_of(m) / 2;
}

/* Whether what is read and stored behind the product walks an axis and the next one as one. */
static bool are_one(const fc_kernel *k, const fc_nest *n, uint32_t axis) {
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * (n->np + n->nr);
        if (k->accesses.at[a].level == FC_ROW && s[axis] != s[axis + 1] * n->extent[axis + 1])
            return false;
    }
    return true;
}

static bool walks_k_as_one(const fc_nest *n, const uint8_t *uses) {
    const uint32_t axes = n->np + n->nr;
    for (uint32_t a = 0; a < n->naccess; a++)
        for (uint32_t x = n->np; uses[a] && x + 1 < axes; x++) {
            const int64_t *s = n->stride + (size_t)a * axes;
            if (s[x] != s[x + 1] * n->extent[x + 1]) return false;
        }
    return true;
}

/* Windows of an operand keep axes apart that are one for the rest: a line of a picture may be short
 * of a tile, and a block of it has no time to copy filters for. */
static void join_axes(const fc_kernel *k, const fc_nest *n, const fc_dot_axes *of, fc_class *cls) {
    enum { SHORT = 256 };
    const uint32_t across = n->np - 1;
    uint32_t columns = 1, rows = 1;
    while (n->extent[across] < SHORT && columns <= across && across - columns != of->down &&
           fc_dot_stands(n, of->left, across - columns) && are_one(k, n, across - columns))
        columns++;
    while (n->extent[of->down] < SHORT && rows <= of->down &&
           fc_dot_stands(n, of->right, of->down - rows) &&
           !fc_dot_stands(n, of->left, of->down - rows))
        rows++;
    cls->llvm.columns = (uint16_t)(columns > 1 ? columns : 0);
    cls->llvm.rows = (uint16_t)(rows > 1 ? rows : 0);
    cls->llvm.deep_one = n->nr > 1 && walks_k_as_one(n, of->left);
    for (uint32_t x = of->down; x + rows > of->down + 1; x--)
        if (!are_one(k, n, x - 1)) cls->llvm.bare = false; /* rows of results lie anyhow */
}

/* Rows, or columns, of all that is numbered so. */
static int64_t product_of(const fc_nest *n, uint32_t last, uint32_t axes) {
    int64_t size = n->extent[last];
    for (uint32_t i = 1; i < axes; i++) size *= n->extent[last - i];
    return size;
}

fusec_status fc_ll_choose_panels(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                 fc_arena *arena, fc_class *cls, fc_error *e) {
    const uint32_t axes = n->np + n->nr, across = n->np - 1, deep = axes - 1;
    fc_dot_axes of;
    FC_TRY(fc_dot_find_axes(k, n, arena, &of, e));
    if (!of.found || n->count < 1) return FUSEC_OK;
    uint8_t *move = fc_arena_alloc(arena, (size_t)n->naccess * axes + 1);
    if (!move) return fc_oom(e);
    cls->llvm.down_axis = (uint16_t)of.down;
    cls->llvm.pairs = m->vector_bytes >= 32 && fc_dot_has_bytes(k, n->count);
    cls->llvm.low = !cls->llvm.pairs && fc_dot_is_low(k);
    cls->llvm.bare = !cls->llvm.pairs && is_bare(k, n);
    choose_direct(m, k, n, &of, cls);
    cls->llvm.panels = !cls->llvm.direct;
    if (cls->llvm.panels) join_axes(k, n, &of, cls);
    memset(move, 0, (size_t)n->naccess * axes);
    cls->wide = false;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * axes;
        move[(size_t)a * axes + across] = (uint8_t)fc_ll_move_by(s[across]);
        if (of.left[a]) move[(size_t)a * axes + of.down] = (uint8_t)fc_ll_move_by(s[of.down]);
        if (of.left[a] || of.right[a])
            move[(size_t)a * axes + deep] = (uint8_t)fc_ll_move_by(s[deep]);
        cls->wide |= n->wide && (n->nr > 1 || fc_ll_move_by(s[across]) == FC_MOVE_ANY ||
                                 fc_ll_move_by(s[deep]) == FC_MOVE_ANY);
    }
    cls->move = move;
    return FUSEC_OK;
}

/* The same parts for all, of whole tiles. */
static int64_t even(int64_t all, int64_t part, int64_t tile) {
    return fc_ceil_div(fc_ceil_div(all, fc_ceil_div(all, part)), tile) * tile;
}

/* How many times a span of k has to be doubled, from one chunk on, until there are not many more
 * spans than so many; 0: it is not worth it, as sums of spans go through memory. */
static unsigned span_of(const fc_nest *n, int64_t rows, int64_t columns, int64_t spans) {
    unsigned doubled = 0;
    while (fc_ceil_div(n->count, (int64_t)FC_DOT_CHUNK << (doubled + 1)) >= spans) doubled++;
    const int64_t span = (int64_t)FC_DOT_CHUNK << doubled;
    const bool long_enough = span >= SPLIT_CHUNKS * FC_DOT_CHUNK && span < n->count;
    return long_enough && rows * columns <= (rows + columns) * span / 8 ? doubled : 0;
}

/* A unit is a matrix, or a part of its rows. */
static void launch_direct(const fc_machine *m, const fc_nest *n, int64_t rows, int64_t columns,
                          const fc_class *cls, fc_launch *l) {
    const int64_t others = n->rows / rows / columns, height = cls->llvm.direct_rows;
    int64_t high = fc_ceil_div(rows, height) * height;
    while (cls->llvm.direct_parts && m->threads > 1 && high > height &&
           others * fc_ceil_div(rows, high) < TASKS * m->threads &&
           high * columns * n->count > 2 * TASK_STEPS)
        high = fc_ceil_div(high / 2, height) * height;
    const int64_t steps = fc_ll_at_least_one((high < rows ? high : rows) * columns * n->count);
    l->units = others * fc_ceil_div(rows, high);
    l->unit = fc_ll_at_least_one(TASK_STEPS / steps);
    l->tasks = fc_ceil_div(l->units, l->unit);
    l->brief = (double)l->units * (double)steps < 3 * TASK_STEPS;
    if (cls->llvm.direct_parts) l->span = high;
}

void fc_ll_launch_panels(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                         fc_launch *l) {
    const fusec_dtype t = fc_ll_dot_type(k, cls);
    const fc_ll_panels p = fc_ll_panels_of(m, t);
    const int64_t rows = product_of(n, cls->llvm.down_axis, cls->llvm.rows),
                  columns = product_of(n, n->np - 1, cls->llvm.columns);
    const int64_t others = n->rows / rows / columns, slots = m->threads + 1;
    if (cls->llvm.direct) {
        launch_direct(m, n, rows, columns, cls, l);
        return;
    }
    const int64_t chunk = FC_DOT_CHUNK * (int64_t)fc_dtypes[t].bytes;
    const int64_t near = near_of(m);
    /* a chunk of the columns of a block fills half of the cache, one of the rows a quarter */
    int64_t high = fc_ll_at_least_one(near / 4 / chunk / p.height) * p.height;
    int64_t wide = fc_ll_at_least_one(near / 2 / chunk / p.width) * p.width;
    if (high > rows) high = fc_ceil_div(rows, p.height) * p.height;
    if (wide > columns) wide = fc_ceil_div(columns, p.width) * p.width;
    const int64_t wanted = TASKS * m->threads;
    const bool may_split = m->threads > 1 && fc_can_split(k) && n->rows * n->count > 2 * TASK_STEPS;
    int64_t blocks = others * fc_ceil_div(rows, high) * fc_ceil_div(columns, wide);
    unsigned doubled = 0;
    if (may_split && blocks < wanted && n->rows <= FEW)
        doubled = span_of(n, rows, columns, fc_ceil_div(wanted, blocks));
    while (!doubled && (high > p.height || wide > 2 * p.width) && m->threads > 1 &&
           others * fc_ceil_div(rows, high) * fc_ceil_div(columns, wide) < TASKS * m->threads &&
           high * wide * n->count > 2 * TASK_STEPS) {
        if (high > p.height && high >= wide / 2)
            high = fc_ceil_div(high / 2, p.height) * p.height;
        else if (wide > 2 * (int64_t)p.width)
            wide = fc_ceil_div(wide / 2, p.width) * p.width;
        else
            high = fc_ceil_div(high / 2, p.height) * p.height;
    }
    high = even(rows, high, p.height);
    wide = even(columns, wide, p.width);
    const int64_t levels = fc_dot_levels(n->count, FC_DOT_CHUNK);
    blocks = others * fc_ceil_div(rows, high) * fc_ceil_div(columns, wide);
    if (!doubled && may_split && blocks < wanted)
        doubled = span_of(n, rows, columns, fc_ceil_div(wanted, blocks));
    const int64_t span = doubled ? (int64_t)FC_DOT_CHUNK << doubled : n->count;
    const int64_t spans = fc_ceil_div(n->count, span);
    l->units = blocks * spans;
    const int64_t steps =
        fc_ll_at_least_one((high < rows ? high : rows) * (wide < columns ? wide : columns) * span);
    l->unit = fc_ll_at_least_one(TASK_STEPS / steps);
    l->tasks = fc_ceil_div(l->units, l->unit);
    l->brief = (double)l->units * (double)steps < TASK_STEPS;
    l->spans = wide;
    l->span = high | slots << 32;
    l->tickets = (uint32_t)slots;
    l->workspace_bytes = (size_t)slots * fc_dtypes[t].bytes *
                         (size_t)(wide * FC_DOT_CHUNK + high * p.step + high * wide * levels +
                                  (cls->llvm.columns ? wide + FC_LL_LINE_ROOM : 0));
    if (!doubled) return;
    cls->llvm.split = l->finish = true;
    cls->llvm.bare = false;
    l->spans |= spans << 32;
    l->span |= (int64_t)doubled << 48;
    l->workspace_bytes += (size_t)n->rows * (size_t)spans * 8;
}
