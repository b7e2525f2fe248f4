/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_tile.c - a map whose operands lie in memory in different orders.
 *
 * Most accesses and all stores have their neighbours along the innermost axis (`last`); some loads,
 * the turned ones, have theirs along another axis (`along`). A block works on a square of these two
 * axes: turned loads are read along their own axis into shared memory, and after a barrier every
 * thread picks what it needs for its few neighbours along `last`, so that both sides are read and
 * written in whole lines. Loads that are not turned are issued before the barrier.
 *
 * In shared memory a turned operand has the same order as in its array. A line is longer than the
 * square by one bank, so that neither side has conflicts for elements of 4 and 8 bytes. */
#include <stdio.h>

#include "codegen/cuda/cuda_walk.h"

enum { THREADS = FC_CUDA_THREADS, SEGMENT = 128 };

typedef struct name {
    char text[16];
} name;
typedef struct tile {
    fc_cuda_gen *g;
    uint32_t along, last;
    int side, v;       /* of the square; neighbours a thread takes at once */
    int lanes, passes; /* threads along a line; pieces of v elements that each thread takes */
    bool early;        /* all loads are issued before the first is used */
    fc_cuda_group turned, straight;
    name of_last, of_along;
} tile;

/* ---- text ----------------------------------------------------------------------------------- */

/* x0, y0: where the square of this block begins; indices of the other axes. */
static void place(const tile *t) {
    fc_cuda_gen *g = t->g;
    fc_cuda_line(&g->t, "const ix width = (ix)p.w[%u];", (unsigned)(g->l.extents + t->last));
    fc_cuda_line(&g->t, "const ix height = (ix)p.w[%u];", (unsigned)(g->l.extents + t->along));
    fc_cuda_line(&g->t, "const ix across = (width + %d) / %d;", t->side - 1, t->side);
    fc_cuda_line(&g->t, "const ix down = (height + %d) / %d;", t->side - 1, t->side);
    fc_cuda_line(&g->t, "const ix band = fc_quotient((ix)blockIdx.x, across);");
    fc_cuda_line(&g->t, "const ix x0 = ((ix)blockIdx.x - band * across) * %d;", t->side);
    fc_cuda_line(&g->t, "ix outer = fc_quotient(band, down);");
    fc_cuda_line(&g->t, "const ix y0 = (band - outer * down) * %d;", t->side);
    for (uint32_t x = t->last; x-- > 0;) {
        if (x == t->along) continue;
        unsigned extent = (unsigned)(g->l.extents + x);
        fc_cuda_line(&g->t, "const ix i%u = outer - fc_quotient(outer, (ix)p.w[%u]) * (ix)p.w[%u];",
                     (unsigned)x, extent, extent);
        fc_cuda_line(&g->t, "outer = fc_quotient(outer, (ix)p.w[%u]);", extent);
    }
    fc_cuda_line(&g->t, "const int lane = (int)threadIdx.x %% %d * %d;", t->lanes, t->v);
    fc_cuda_line(&g->t, "const int first = (int)threadIdx.x / %d;", t->lanes);
}

/* Piece u of this thread: elements `piece`, ... of line `line`. */
static void begin_pass(const tile *t, bool unrolled) {
    fc_cuda_text *o = &t->g->t;
    int pieces = t->side / t->v / t->lanes;
    fc_cuda_line(o, unrolled ? "#pragma unroll" : "#pragma unroll 1");
    fc_cuda_line(o, "for (int u = 0; u < %d; u++) {", t->passes);
    fc_cuda_line(o, "const int piece = u %% %d * %d + lane;", pieces, t->lanes * t->v);
    fc_cuda_line(o, "const int line = u / %d * %d + first;", pieces, THREADS / t->lanes);
}

/* Both extents are multiples of v: a piece lies inside as a whole or not at all. Indices and bases
 * of a piece whose elements are neighbours along `axis`; ends with an open `if`
 * for what lies inside. */
static void begin_inside(const tile *t, uint32_t axis) {
    fc_cuda_text *o = &t->g->t;
    bool straight = axis == t->last;
    fc_cuda_line(o, "const ix i%u = x0 + %s;", (unsigned)t->last, straight ? "piece" : "line");
    fc_cuda_line(o, "const ix i%u = y0 + %s;", (unsigned)t->along, straight ? "line" : "piece");
    fc_cuda_line(o, "if (i%u < width && i%u < height) {", (unsigned)t->last, (unsigned)t->along);
    fc_cuda_bases_but(t->g, axis);
}

static void end_inside(const tile *t) {
    fc_cuda_line(&t->g->t, "}");
    fc_cuda_line(&t->g->t, "}");
}

static void declare_shared(const tile *t) {
    const fc_kernel *k = t->g->k;
    for (uint32_t a = 0; a < k->accesses.len; a++)
        if (t->g->cached[a])
            fc_cuda_line(&t->g->t, "__shared__ %s t%u[%d];",
                         fc_dtypes[k->accesses.at[a].dtype].cuda, (unsigned)a,
                         t->side * fc_cuda_tile_pitch(k, a, t->side));
}

static bool is_turned(const tile *t, uint32_t a) {
    return t->g->cached[a] && (t->g->used[a] & FC_CUDA_LOADS);
}

/* Turned loads, then the others while those are under way, then the turned ones go to shared
 * memory. */
static void fill(const tile *t) {
    fc_cuda_gen *g = t->g;
    if (t->early) fc_cuda_group_declare(g, &t->straight, t->passes, false);
    fc_cuda_line(&g->t, "{");
    fc_cuda_group_declare(g, &t->turned, t->passes, true);
    begin_pass(t, true);
    begin_inside(t, t->along);
    fc_cuda_group_load(g, &t->turned, true);
    end_inside(t);
    if (t->early) {
        begin_pass(t, true);
        begin_inside(t, t->last);
        fc_cuda_group_load(g, &t->straight, false);
        end_inside(t);
    }
    begin_pass(t, true);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int e = 0; e < %d; e++) {", t->v);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (is_turned(t, a))
            fc_cuda_line(&g->t, "t%u[line * %d + piece + e] = q%u[u].e[e];", (unsigned)a,
                         fc_cuda_tile_pitch(g->k, a, t->side), (unsigned)a);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
}

static void pick(const tile *t) {
    fc_cuda_gen *g = t->g;
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int e = 0; e < %d; e++) {", t->v);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (is_turned(t, a))
            fc_cuda_line(&g->t, "q%u.e[e] = t%u[(piece + e) * %d + line];", (unsigned)a,
                         (unsigned)a, fc_cuda_tile_pitch(g->k, a, t->side));
    fc_cuda_line(&g->t, "}");
}

static void compute(const tile *t) {
    fc_cuda_gen *g = t->g;
    fc_cuda_group straight = t->straight;
    begin_pass(t, t->early);
    begin_inside(t, t->last);
    if (!t->early) {
        straight.slot = "";
        fc_cuda_group_declare(g, &straight, 0, false);
        fc_cuda_group_load(g, &straight, false);
    }
    fc_cuda_group_declare(g, &straight, 0, true);
    pick(t);
    fc_cuda_group_compute(g, &straight, FC_CUDA_STORES);
    end_inside(t);
}

static void groups(tile *t) {
    snprintf(t->of_last.text, sizeof t->of_last.text, "i%u", (unsigned)t->last);
    snprintf(t->of_along.text, sizeof t->of_along.text, "i%u", (unsigned)t->along);
    t->straight = (fc_cuda_group){.n = t->v,
                                  .step = 1,
                                  .first = t->last,
                                  .end = t->last + 1,
                                  .wide = t->v > 1,
                                  .number = t->of_last.text,
                                  .slot = "[u]",
                                  .kept = ""};
    t->turned = t->straight;
    t->turned.first = t->along;
    t->turned.end = t->along + 1;
    t->turned.number = t->of_along.text;
    t->turned.kept = "[u]";
}

/* Bytes of a line for neighbouring threads: a line of a square where nothing but turned loads is
 * under way. */
static int segment(const fc_cuda_gen *g, uint32_t along) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (fc_cuda_is_load(g->k, a) && fc_class_move(g->cls, a, along) != FC_MOVE_ONE)
            return SEGMENT;
    return 2 * SEGMENT;
}

static void facts(fc_cuda_gen *g, tile *t) {
    *t = (tile){.g = g, .along = g->cls->cuda.tile_axis, .last = g->np - 1u};
    t->side = g->cls->cuda.tile_side;
    t->v = g->cls->vector;
    t->lanes = segment(g, t->along) / (t->v * (int)fc_cuda_tile_widest(g->k, g->cls, t->along));
    if (t->lanes > 32) t->lanes = 32;
    if (t->lanes > t->side / t->v) t->lanes = t->side / t->v;
    t->passes = t->side * t->side / (t->v * THREADS);
    t->early = fc_cuda_unroll(g->k, t->passes, t->v) == t->passes;
    groups(t);
}

/* ---- the form, and the parts of its text ----------------------------------------------------- */

static void buffers(const tile *t) {
    for (uint32_t a = 0; a < t->g->cls->naccess; a++)
        if (t->g->cached[a])
            fc_loops_buffer(&t->g->loops, (fc_stage_buffer){.set = FC_SET_KEPT,
                                                            .space = FC_SPACE_SHARED,
                                                            .transposed = true,
                                                            .along = (uint8_t)t->along,
                                                            .access = a,
                                                            .lanes = (uint32_t)t->side,
                                                            .elements = (uint32_t)t->side});
}

static fc_loop *loop(const tile *t, fc_loop_kind kind, uint32_t axis, int step, int count) {
    fc_loop *l = fc_loops_open(&t->g->loops, kind, axis, axis + 1, (uint32_t)step);
    l->count = (uint32_t)count;
    return l;
}

void fc_cuda_tile_loops(fc_cuda_gen *g) {
    tile t;
    facts(g, &t);
    const int pieces = t.side / t.v / t.lanes, rows = THREADS / t.lanes;
    buffers(&t);
    for (uint32_t x = 0; x < t.last; x++)
        if (x != t.along) loop(&t, FC_LOOP_GRID, x, 1, 1);
    loop(&t, FC_LOOP_GRID, t.along, t.side, 1);
    loop(&t, FC_LOOP_GRID, t.last, t.side, 1);
    fc_loops_leaf(&g->loops, FC_LEAF_FILL, FC_SET_KEPT);
    loop(&t, FC_LOOP_UNROLL, t.along, rows, t.passes / pieces);
    loop(&t, FC_LOOP_UNROLL, t.last, t.lanes * t.v, pieces)->batch = t.early ? (uint8_t)pieces : 0;
    loop(&t, FC_LOOP_BLOCK, t.along, 1, rows);
    loop(&t, FC_LOOP_BLOCK, t.last, t.v, t.lanes);
    loop(&t, FC_LOOP_VECTOR, t.last, t.v, 1);
    fc_loops_leaf(&g->loops, FC_LEAF_POINT, FC_PHASE_ELEMENTS);
    fc_loops_leaf(&g->loops, FC_LEAF_STORE, FC_PHASE_ELEMENTS);
}

void fc_cuda_tile_place(fc_cuda_gen *g) {
    tile t;
    facts(g, &t);
    fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    declare_shared(&t);
    place(&t);
}

bool fc_cuda_tile_node(fc_cuda_walk *w, const fc_loop *n) {
    const bool rows = n->kind == FC_LOOP_SERIAL || n->kind == FC_LOOP_UNROLL;
    tile t;
    if (!rows && n->kind != FC_LEAF_FILL) return false;
    facts(w->in.g, &t);
    if (rows) {
        compute(&t);
    } else {
        fill(&t);
        fc_cuda_line(&w->in.g->t, "__syncthreads();");
    }
    return true;
}
