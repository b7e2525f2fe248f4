/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_place.c - who works on what: the numbers of hardware as names of rows and elements.
 *
 * In: the loops of a form over the grid, the threads of a block, its warps and lanes. Out: i0.. and
 * b0.., which row and part of it is a thread's, and what is kept of it from the start. */
#include <stdio.h>

#include "codegen/cuda/cuda_dot.h"
#include "codegen/cuda/cuda_ring.h"
#include "codegen/cuda/cuda_slide.h"

/* ---- maps ------------------------------------------------------------------------------------ */

/* What all vectors of a thread have in common. */
static void map_place(fc_cuda_gen *g) {
    unsigned last = g->np - 1u, v = g->cls->vector;
    fc_cuda_line(&g->t, "const ix inner = (ix)p.w[%u];", g->l.extents + last);
    if (g->cls->cuda.rows_of_grid) {
        if (!g->cls->cuda.rows_in_turn) fc_cuda_line(&g->t, "const ix outer = (ix)blockIdx.y;");
        fc_cuda_indices(g, 0, last, "outer");
    } else if (g->np > 1) {
        fc_cuda_line(&g->t, "const ix pieces = (inner + %u) / %u;", v - 1, v);
    }
}

/* The number of the part that is done: of its block, or one of many that a block does. */
static const char *part(const fc_cuda_gen *g) {
    return g->cls->cuda.copied ? "block" : "(ix)blockIdx.x";
}

/* i0.. of vector t, the last one pointing at its first element; opens an `if` for what exists. */
static void begin_vector(fc_cuda_gen *g, int repeat) {
    unsigned last = g->np - 1u, v = g->cls->vector;
    if (repeat > 1) {
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", repeat);
        fc_cuda_line(&g->t, "const ix t = (%s * %d + u) * %d + (ix)threadIdx.x;", part(g), repeat,
                     FC_CUDA_MAP_THREADS);
    } else {
        fc_cuda_line(&g->t, "const ix t = %s * %d + (ix)threadIdx.x;", part(g),
                     FC_CUDA_MAP_THREADS);
    }
    const bool branch = repeat > 1 || g->cls->cuda.copied;
    if (g->np == 1 || g->cls->cuda.rows_of_grid) {
        fc_cuda_line(&g->t, "const ix i%u = t * %u;", last, v);
        fc_cuda_line(&g->t, branch ? "if (i%u < inner) {" : "if (i%u >= inner) return;", last);
    } else {
        fc_cuda_line(&g->t, "const ix outer = fc_quotient(t, pieces);");
        fc_cuda_line(&g->t,
                     branch ? "if (outer * inner < rows) {" : "if (outer * inner >= rows) return;");
        fc_cuda_line(&g->t, "const ix i%u = (t - outer * pieces) * %u;", last, v);
        fc_cuda_indices(g, 0, last, "outer");
    }
    fc_cuda_bases(g, last);
}

static void end_vector(fc_cuda_gen *g, int repeat) {
    if (repeat > 1 || g->cls->cuda.copied) fc_cuda_line(&g->t, "}");
    if (repeat > 1) fc_cuda_line(&g->t, "}");
}

static fc_cuda_group map_group(const fc_cuda_gen *g, char *number, size_t size) {
    const unsigned last = g->np - 1u;
    snprintf(number, size, "i%u", last);
    return (fc_cuda_group){.n = g->cls->vector,
                           .step = 1,
                           .first = last,
                           .end = last + 1,
                           .wide = g->cls->aligned,
                           .number = number,
                           .limit = g->cls->cuda.whole ? NULL : "inner",
                           .slot = g->cls->cuda.repeat > 1 ? "[u]" : ""};
}

/* The place of row r of those that are done together. */
static void begin_row(fc_cuda_gen *g, unsigned rows, const char *r) {
    fc_cuda_line(&g->t, "const ix outer = band * %u + %s;", rows, r);
    map_place(g);
    begin_vector(g, 1);
}

/* All rows of a block, where none of them meets an edge. */
static void rows_together(fc_cuda_gen *g, unsigned rows) {
    const unsigned inner = (unsigned)g->l.extents + g->np - 1, v = g->cls->vector;
    char number[16];
    const fc_cuda_group gr = map_group(g, number, sizeof number);
    fc_cuda_group whole = gr;
    whole.limit = NULL;
    fc_cuda_line(&g->t, "{");
    fc_cuda_line(&g->t,
                 "bool every = band * %u + %u <= last && ((ix)blockIdx.x * %d + "
                 "(ix)threadIdx.x) * %u < (ix)p.w[%u];",
                 rows, rows, FC_CUDA_MAP_THREADS, v, inner);
    fc_cuda_inside_rows_begin(g);
    if (g->np > 2) fc_cuda_line(&g->t, "ix from = 0;");
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int r = 0; r < %u; r += %u)", rows, rows - 1);
    fc_cuda_line(&g->t, "if (every) {");
    begin_row(g, rows, "r");
    fc_cuda_inside_rows_test(g, &gr);
    if (g->np > 2) { /* none of them is the first row of another picture */
        const unsigned axis = g->np - 2u;
        fc_cuda_line(&g->t, "every = every && (r == 0 || i%u == from + %u);", axis, rows - 1);
        fc_cuda_line(&g->t, "from = i%u;", axis);
    }
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "if (every) {");
    fc_cuda_inside_rows_declare(g, rows);
    fc_cuda_line(&g->t, "{");
    begin_row(g, rows, "0");
    fc_cuda_inside_rows_load(g, &whole, rows);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int r = 0; r < %u; r++) {", rows);
    fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    begin_row(g, rows, "r");
    fc_cuda_group_declare(g, &whole, 0, false);
    fc_cuda_group_load(g, &whole, false);
    fc_cuda_inside_rows_compute(g, &whole);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "return;");
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
    fc_cuda_inside_rows_end(g);
}

/* Rows at an edge take many times as long as others. The last ones come first, so that nothing
 * waits for them alone. */
void fc_cuda_walk_rows(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    const unsigned rows = (unsigned)n->count;
    fc_cuda_line(&g->t, "const ix last = fc_quotient(rows, (ix)p.w[%u]);",
                 (unsigned)g->l.extents + g->np - 1);
    fc_cuda_line(&g->t, "const ix band = (ix)(blockIdx.y ? blockIdx.y : gridDim.y) - 1;");
    if (fc_cuda_inside_stacked(g)) rows_together(g, rows);
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (int r = 0; r < %u; r++) {", rows);
    fc_cuda_line(&g->t, "const ix outer = band * %u + r;", rows);
    fc_cuda_line(&g->t, "if (outer >= last) return;");
}

/* Vectors of neighbours; all loads of a thread go before the first use. */
void fc_cuda_walk_map(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    const int repeat = g->cls->cuda.repeat;
    char number[16];
    const fc_cuda_group gr = map_group(g, number, sizeof number);
    map_place(g);
    fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    fc_cuda_group_declare(g, &gr, repeat > 1 ? repeat : 0, false);
    begin_vector(g, repeat);
    fc_cuda_group_load(g, &gr, false);
    if (repeat > 1) {
        end_vector(g, repeat);
        begin_vector(g, repeat);
    }
    if (g->inside)
        fc_cuda_inside_compute(g, &gr);
    else
        fc_cuda_group_compute(g, &gr, FC_CUDA_STORES);
    end_vector(g, repeat);
}

/* Elements that lie apart, by the thread; those of a thread have indices of their own. */
static void spaced(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    const int n = g->cls->cuda.apart, repeat = g->cls->cuda.repeat;
    if (repeat > 1) {
        fc_cuda_line(&g->t, "#pragma unroll 1");
        fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", repeat);
        fc_cuda_line(&g->t, "const ix k = (%s * %d + u) * %d + (ix)threadIdx.x;", part(g), repeat,
                     n * FC_CUDA_MAP_THREADS);
    } else {
        fc_cuda_line(&g->t, "const ix k = %s * %d + (ix)threadIdx.x;", part(g),
                     n * FC_CUDA_MAP_THREADS);
    }
    fc_cuda_line(&g->t, g->cls->cuda.copied ? "if (k < rows) {" : "if (k >= rows) return;");
    fc_cuda_bases(g, 0);
    w->closes = (g->cls->cuda.copied ? 1 : 0) + (repeat > 1 ? 1 : 0);
}

/* ---- rows of threads ------------------------------------------------------------------------- */

/* What does not exist is the last row again, so that loads need no test and those that all turns
 * share are one. */
static void place_of_axis(fc_cuda_gen *g, unsigned axis, const char *place) {
    unsigned extent = (unsigned)g->l.extents + axis;
    fc_cuda_line(&g->t, "const ix at%u = %s;", axis, place);
    fc_cuda_line(&g->t, "const ix i%u = at%u < (ix)p.w[%u] ? at%u : (ix)p.w[%u] - 1;", axis, axis,
                 extent, axis, extent);
}

static void thread_row(fc_cuda_gen *g) {
    const bool once = g->cls->cuda.once;
    const int repeat = g->cls->cuda.repeat;
    char place[96];
    if (once && g->np == 2) { /* what moves along one axis only is read once for several turns */
        int wide = fc_cuda_repeat_across(g->cls);
        fc_cuda_line(&g->t, "const ix across = ((ix)p.w[%u] + %d) / %d;",
                     (unsigned)g->l.extents + 1, wide * FC_CUDA_THREADS - 1,
                     wide * FC_CUDA_THREADS);
        fc_cuda_line(&g->t, "const ix down = fc_quotient((ix)blockIdx.x, across);");
        snprintf(place, sizeof place, "down * %d + turn / %d", repeat / wide, wide);
        place_of_axis(g, 0, place);
        snprintf(place, sizeof place,
                 "(((ix)blockIdx.x - down * across) * %d + turn %% %d) * %d + (ix)threadIdx.x",
                 wide, wide, FC_CUDA_THREADS);
        place_of_axis(g, 1, place);
        fc_cuda_line(&g->t, "const bool live = at0 == i0 && at1 == i1;");
    } else {
        fc_cuda_line(&g->t, "const ix place = ((ix)blockIdx.x * %d + turn) * %d + (ix)threadIdx.x;",
                     repeat, FC_CUDA_THREADS);
        fc_cuda_line(&g->t, "const bool live = place < rows;");
        fc_cuda_line(&g->t, "const ix row = live ? place : rows - 1;");
        fc_cuda_indices(g, 0, g->np, "row");
    }
    fc_cuda_bases(g, g->np);
}

/* The results of all turns are there before the first is stored. */
static void kept_results(fc_cuda_gen *g) {
    for (unsigned s = 0; s < g->k->nstages; s++) {
        fc_cuda_declare_results(g, s);
        FC_EACH_REDUCTION(g, s, "f%u = g%u[turn];", r, r);
    }
}

/* ---- rectangles of short rows ---------------------------------------------------------------- */

enum { WIDE = 16 }; /* bytes of an access */

/* ---- text ----------------------------------------------------------------------------------- */

static void rect_place(fc_cuda_gen *g) {
    const unsigned width = (unsigned)g->l.extents + FC_RECT_INNER;
    fc_cuda_line(&g->t, "const ix across = ((ix)p.w[%u] / %d + %d) / %d;", width,
                 g->cls->cuda.rect_columns, FC_CUDA_MAP_THREADS - 1, FC_CUDA_MAP_THREADS);
    fc_cuda_line(&g->t, "const ix down = fc_quotient((ix)blockIdx.x, across);");
    fc_cuda_line(&g->t,
                 "const ix left = (((ix)blockIdx.x - down * across) * %d + (ix)threadIdx.x) * %d;",
                 FC_CUDA_MAP_THREADS, g->cls->cuda.rect_columns);
    fc_cuda_line(&g->t, "if (left >= (ix)p.w[%u]) return;", width);
}

/* q*[v] of all neighbours from vectors n*. */
static void load_neighbours(fc_cuda_gen *g, const fc_cuda_group *gr) {
    const int v = g->cls->cuda.rect_columns, count = g->cls->vector;
    fc_cuda_group_declare(g, gr, v, true);
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        const unsigned name = (unsigned)a, buffer = (unsigned)g->k->accesses.at[a].buffer;
        const int each = WIDE / (int)fc_cuda_bytes(g->k, a);
        const char *type = fc_dtypes[g->k->accesses.at[a].dtype].cuda;
        if (!g->cached[a] || !(g->used[a] & FC_CUDA_LOADS)) continue;
        fc_cuda_line(&g->t, "fc_vec<%s, %d, %d> n%u[%d];", type, each, WIDE, name,
                     v * count / each);
        fc_cuda_line(&g->t, "const fc_vec<%s, %d, %d> *const from%u =", type, each, WIDE, name);
        fc_cuda_line(&g->t, "    (const fc_vec<%s, %d, %d> *)(a%u + ((ix)p.w[%u] + left * %d));",
                     type, each, WIDE, buffer, fc_cuda_word(g, a), count);
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", v * count / each);
        fc_cuda_line(&g->t, "n%u[u] = from%u[u];", name, name);
        fc_cuda_line(&g->t, "}");
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", v * count);
        fc_cuda_line(&g->t, "q%u[u / %d].e[u %% %d] = n%u[u / %d].e[u %% %d];", name, count, count,
                     name, each, each);
        fc_cuda_line(&g->t, "}");
    }
}

static void keep_columns(fc_cuda_gen *g) {
    fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW);
    fc_cuda_row(g);
    for (size_t s = 0; s < g->k->stores.len; s++) {
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "y%u.e[v] = ", (unsigned)g->k->stores.at[s].access);
        fc_cuda_to_storage(&g->t, g->store_value[s]);
        fc_str_add(g->t.out, ";\n");
    }
}

static void each_store(fc_cuda_gen *g, bool declare) {
    for (size_t s = 0; s < g->k->stores.len; s++) {
        const uint32_t a = g->k->stores.at[s].access;
        const char *type = fc_dtypes[g->k->accesses.at[a].dtype].cuda;
        const int v = g->cls->cuda.rect_columns;
        const unsigned bytes = fc_cuda_bytes(g->k, a) * (unsigned)v, word = fc_cuda_word(g, a);
        if (declare)
            fc_cuda_line(&g->t, "fc_vec<%s, %d, %u> y%u;", type, v, bytes, (unsigned)a);
        else
            fc_cuda_line(&g->t,
                         "*(fc_vec<%s, %d, %u> *)(a%u + ((ix)p.w[%u] + i0 * (ix)p.w[%u] + left)) = "
                         "y%u;",
                         type, v, bytes, (unsigned)g->k->accesses.at[a].buffer, word, word + 1,
                         (unsigned)a);
    }
}

void fc_cuda_walk_keep_results(fc_cuda_walk *w, bool store) {
    fc_cuda_gen *g = w->in.g;
    if (!store) {
        keep_columns(g);
        return;
    }
    fc_cuda_line(&g->t, "if (at == i0) {");
    each_store(g, false);
    fc_cuda_line(&g->t, "}");
}

/* The row under way: along the outer axis what does not exist is the last one again, and is not
 * stored. */
static void rect_row(fc_cuda_gen *g, const fc_loop *n) {
    const unsigned height = (unsigned)g->l.extents + FC_RECT_OUTER;
    fc_cuda_line(&g->t, "#pragma unroll");
    if (n->first == FC_RECT_OUTER) {
        fc_cuda_line(&g->t, "for (int r = 0; r < %u; r++) {", (unsigned)n->count);
        fc_cuda_line(&g->t, "const ix at = down * %u + r;", (unsigned)n->count);
        fc_cuda_line(&g->t, "const ix i0 = at < (ix)p.w[%u] ? at : (ix)p.w[%u] - 1;", height,
                     height);
        each_store(g, true);
    } else {
        fc_cuda_line(&g->t, "for (int v = 0; v < %u; v++) {", (unsigned)n->count);
        fc_cuda_line(&g->t, "const ix i1 = left + v;");
        fc_cuda_bases(g, g->np);
    }
}

/* ---- scans ----------------------------------------------------------------------------------- */

/* A tile of a row by ticket, where its slots are, and those of the counters of who has left. */
static void take_tile(fc_cuda_gen *g) {
    fc_cuda_text *t = &g->t;
    const unsigned words = fc_cuda_all_words(g->k);
    fc_cuda_line(t, "const unsigned int tiles = (unsigned int)((count + %u) / %u);",
                 fc_cuda_scan_tile(g->cls) - 1, fc_cuda_scan_tile(g->cls));
    fc_cuda_line(t, "unsigned int *const ticket = (unsigned int *)((p.w[%u] + 7) / 8 * 8);",
                 (unsigned)g->l.extra + FC_PB_TICKETS);
    fc_cuda_line(t, "__shared__ unsigned int taken;");
    fc_cuda_line(t, "if (thread == 0) taken = atomicAdd(ticket, 1u);");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "const ix row = (ix)(taken / tiles);");
    fc_cuda_line(t, "const unsigned int n = taken - (unsigned int)row * tiles;");
    fc_cuda_line(t, "unsigned int kept = 0, groups = 0;");
    fc_cuda_line(t, "for (unsigned int k = tiles; k > 1; k = fc_above(k)) {");
    fc_cuda_line(t, "kept += k;");
    fc_cuda_line(t, "groups += fc_above(k);");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "unsigned long long *const first = (unsigned long long *)ticket + 1;");
    fc_cuda_line(
        t, "unsigned long long *const slots = first + (unsigned long long)row * kept * %u;", words);
    fc_cuda_line(t,
                 "unsigned int *const left = (unsigned int *)(first + (unsigned long long)rows * "
                 "kept * %u) + (unsigned long long)row * groups;",
                 words);
}

enum { TILE_LEVELS = 20 }; /* of the subtrees before a tile: tickets have 32 bits */

/* Threads behind the last column have the last one, and none of its elements. */
static void scan_columns_place(fc_cuda_gen *g) {
    const unsigned v = g->cls->vector;
    char lane[40] = "(ix)(threadIdx.x & 31)";
    if (v > 1) snprintf(lane, sizeof lane, "(ix)(threadIdx.x & 31) * %u", v);
    fc_cuda_line(&g->t, "const ix column = (ix)blockIdx.x * %u + %s;", fc_cuda_scan_columns(g->cls),
                 lane);
    fc_cuda_line(&g->t, "const bool live = column < rows;");
    fc_cuda_line(&g->t, "const ix row = live ? column : rows - 1;");
    fc_cuda_line(&g->t, "const unsigned int thread = threadIdx.x / 32;");
}

static void scan_place(fc_cuda_gen *g) {
    const bool many = g->cls->cuda.split == FC_CUDA_BACK, down = g->cls->cuda.columns;
    const bool one = many || g->cls->cuda.block_rows, shared = one || down;
    if (down) {
        scan_columns_place(g);
    } else if (!shared) {
        fc_cuda_line(&g->t, "const ix row = (ix)blockIdx.x * %d + (ix)threadIdx.x;",
                     FC_CUDA_THREADS);
        fc_cuda_line(&g->t, "if (row >= rows) return;");
    } else if (!many) {
        fc_cuda_line(&g->t, "const ix row = (ix)blockIdx.x;");
    }
    if (one) fc_cuda_line(&g->t, "const unsigned int thread = threadIdx.x, lane = thread & 31;");
    if (many) take_tile(g);
    if (down)
        FC_EACH_REDUCTION(g, 0, "typedef fc_columns<red%u, %u> columns%u;", r,
                          (unsigned)g->cls->vector, r);
    if (shared) /* cuda_scan.c: fc_cuda_scan_join */
        FC_EACH_REDUCTION(g, 0, "__shared__ %s%u tree%u[%u];", down ? "columns" : "red", r, r,
                          fc_cuda_scan_threads(g->cls) / (down ? 1 : 32) * (many ? 1 : 2));
    if (many) FC_EACH_REDUCTION(g, 0, "__shared__ red%u far%u[%d];", r, r, TILE_LEVELS);
    if (g->cls->cuda.staged && !down) fc_cuda_scan_stage(g);
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
}

/* ---- rows of teams --------------------------------------------------------------------------- */

/* Where elements end: for lanes side by side as seen from a thread's first one, so that each test
 * is of a number against a constant; elements with indices of their own know their number. */
static void team_place(fc_cuda_walk *w) {
    const fc_cuda_inner *in = &w->in;
    fc_cuda_gen *g = in->g;
    fc_cuda_group_turn(g, &w->group, fc_cuda_block(g->cls));
    fc_inner_team_rows(in);
    w->leader = in->warps > 1 ? "live && lane == 0 && warp == 0" : "live && lane == 0";
    if (!g->cls->cuda.iterations) return;
    w->limit = in->apart > 1 && !w->group.own ? "left" : "here";
    w->group.whole = in->apart == 1 && g->cls->cuda.whole;
    if (in->apart == 1) return;
    w->group.tested = "t";
    fc_cuda_line(&g->t,
                 in->warps > 1 ? "const ix left = here - warp * %d - lane;"
                               : "const ix left = here - lane;",
                 FC_CHUNK);
}

/* The span of chunks that is a warp's. */
static void span_place(fc_cuda_walk *w) {
    const fc_cuda_inner *in = &w->in;
    fc_cuda_gen *g = in->g;
    const char *block = g->cls->cuda.split ? "(ix)blockIdx.x" : "(ix)0";
    fc_cuda_line(&g->t, "const ix span = (ix)p.w[%u] / %u;", g->l.extra + FC_PB_SPAN, in->warps);
    if (in->gang)
        fc_cuda_line(&g->t, "const ix begin = warp * span;");
    else if (in->warps > 1)
        fc_cuda_line(&g->t, "const ix begin = (%s * %u + warp) * span;", block, in->warps);
    else
        fc_cuda_line(&g->t, "const ix begin = %s * span;", block);
    fc_cuda_line(&g->t, "const ix end = begin + span < here ? begin + span : here;");
}

/* What phases take over from each other, and whether all elements of this warp exist: the same in
 * all its threads, which exchange values. */
void fc_cuda_walk_held(fc_cuda_walk *w) {
    const fc_cuda_inner *in = &w->in;
    fc_cuda_text *t = &in->g->t;
    const int elements = in->its * (int)(in->team < 32 ? in->team : 32) * FC_CUDA_QUAD;
    fc_cuda_declare_held(in->g, FC_CUDA_QUAD, in->its);
    if (in->full) return;
    if (in->warps > 1)
        fc_cuda_line(t, "const bool whole = (warp + 1) * %d <= here;", elements);
    else
        fc_cuda_line(t, "const bool whole = (block + 1) * %u <= rows && %d <= count;",
                     fc_cuda_block(in->g->cls) / in->team, elements);
}

/* ---------------------------------------------------------------------------------------------- */

void fc_cuda_walk_fill(fc_cuda_walk *w) {
    fc_cuda_slice(w->in.g, 0, FC_POINT);
    load_neighbours(w->in.g, &w->group);
}

/* Text before that of the loops inside the grid. */
void fc_cuda_walk_begin(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    switch (g->cls->cuda.kind) {
    case FC_CUDA_THREAD:
        for (unsigned r = 0; w->keeps && r < g->k->reductions.len; r++) fc_cuda_declare_turns(g, r);
        break;
    case FC_CUDA_ONE: team_place(w); break;
    case FC_CUDA_LOOP:
        team_place(w);
        span_place(w);
        break;
    case FC_CUDA_OUTER: fc_columns_place(&w->o); break;
    case FC_CUDA_SCAN: scan_place(g); break;
    case FC_CUDA_TILE: fc_cuda_tile_place(g); break;
    case FC_CUDA_RING:
    case FC_CUDA_CLUSTER: fc_ring_begin(w); break;
    case FC_CUDA_DOT: fc_dot_begin(w->dot); break;
    case FC_CUDA_SLIDE: fc_slide_begin(w->slide); break;
    default: break;
    }
}

/* And that of a thread of a block, or of a row of a thread's rectangle. */
void fc_cuda_walk_thread(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    switch (g->cls->cuda.kind) {
    case FC_CUDA_THREAD:
        thread_row(g);
        if (w->again) kept_results(g);
        break;
    case FC_CUDA_RECT:
        if (n->kind == FC_LOOP_BLOCK)
            rect_place(g);
        else
            rect_row(g, n);
        break;
    case FC_CUDA_MAP:
        if (g->cls->vector == 1) spaced(w);
        break;
    case FC_CUDA_SCAN:
        if (n->step < FC_RUN) break;
        fc_cuda_line(&g->t, "const ix begin = ((ix)n * %u + (ix)thread) * %u;", (unsigned)n->count,
                     (unsigned)n->step);
        fc_cuda_line(&g->t, "const ix end = %sbegin + %u < count ? begin + %u : count;",
                     g->cls->cuda.columns ? "!live ? begin : " : "", (unsigned)n->step,
                     (unsigned)n->step);
        break;
    default: break;
    }
}

void fc_cuda_walk_end(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    for (; w->closes; w->closes--) fc_cuda_line(&g->t, "}");
    if (g->ring) fc_ring_end(w);
    if (w->dot) fc_dot_end(w->dot);
    if (g->cls->cuda.split == FC_CUDA_GANG) {
        fc_cuda_line(&g->t, "}");
        fc_cuda_gang_end(g);
    }
    if (w->in.team && g->cls->cuda.repeat > 1) fc_cuda_line(&g->t, "}");
}
