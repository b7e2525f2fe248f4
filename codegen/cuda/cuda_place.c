/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_place.c - who works on what, of maps and of rows that threads share: the numbers of hardware
 * as names of rows and elements; and what stands around the loops inside of the grid.
 *
 * In: the walk over a form (cuda_walk.c). Out: i0.. and b0.., which row and part of it is a
 * thread's, and what is kept of it from the start. */
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
static void rows_in_turn(fc_cuda_walk *w, const fc_loop *n) {
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
    fc_cuda_walk_list(w, n->body);
    fc_cuda_line(&g->t, "}");
}

/* Vectors of neighbours; all loads of a thread go before the first use. */
static void vectors(fc_cuda_walk *w) {
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

bool fc_cuda_map_node(fc_cuda_walk *w, const fc_loop *n) {
    const fc_class *cls = w->in.g->cls;
    const bool block = n->kind == FC_LOOP_BLOCK;
    if (!block && n->kind != FC_LOOP_SERIAL && n->kind != FC_LOOP_UNROLL) return false;
    if (cls->cuda.rows_in_turn && n->end < cls->np) {
        rows_in_turn(w, n);
    } else if (cls->vector > 1) {
        vectors(w);
    } else {
        if (block) spaced(w);
        fc_cuda_walk_list(w, n->body);
    }
    return true;
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
    if (fc_is_ragged(g->k)) return; /* with the row's end */
    fc_cuda_line(&g->t, "const ix span = (ix)p.w[%u] / %u;", g->l.extra + FC_PB_SPAN, in->warps);
    if (in->gang)
        fc_cuda_line(&g->t, "const ix begin = warp * span;");
    else if (in->warps > 1)
        fc_cuda_line(&g->t, "const ix begin = (%s * %u + warp) * span;", block, in->warps);
    else
        fc_cuda_line(&g->t, "const ix begin = %s * span;", block);
    fc_cuda_line(&g->t, "const ix end = begin + span < here ? begin + span : here;");
}

enum { FAR = 128 }; /* elements for each thread of a row */

bool fc_cuda_has_far(const fc_cuda_gen *g) {
    for (size_t v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (i->level == FC_ROW && fc_is_half((fusec_dtype)i->dtype) && i->op != FC_OP_CONST)
            return false; /* lanes do not pass them on */
    }
    return true;
}

void fc_cuda_walk_row_limit(fc_cuda_walk *w, unsigned stage) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_indent(&g->t);
    fc_str_printf(g->t.out, "const long long asked%u = ", stage);
    fc_cuda_operand(&g->t, fc_cuda_row_limit(g, stage));
    fc_str_add(g->t.out, ";\n");
    fc_cuda_line(&g->t,
                 "const ix limit%u = asked%u < 0 ? 0 : asked%u < (long long)count ? (ix)asked%u : "
                 "count;",
                 stage, stage, stage, stage);
    if (g->cls->cuda.kind == FC_CUDA_THREAD)
        fc_cuda_line(&g->t, "const bool far%u = %slimit%u > %d;", stage,
                     fc_cuda_has_far(g) ? "" : "false && ", stage, (int)g->cls->cuda.team * FAR);

    w->limited = stage;
}

/* Spans of a row are as long as the row asks for: powers of two, that its parts are subtrees. */
void fc_cuda_walk_row_end(fc_cuda_walk *w) {
    const fc_cuda_gen *g = w->in.g;
    fc_cuda_text *t = &w->in.g->t;
    const bool columns = g->cls->cuda.across;
    const unsigned parts = columns ? w->o.down : w->in.warps;
    if (g->cls->cuda.kind == FC_CUDA_THREAD) {
        fc_cuda_line(t, "const ix count = far%u ? 0 : limit%u;", w->limited, w->limited);
        if (!w->members) return;
        /* lanes of other teams exchange values at the same time */
        fc_cuda_line(t, "ix most = count;");
        fc_cuda_line(t, "for (int m = %u; m < 32; m *= 2) {", w->members);
        fc_cuda_line(t, "const ix other = fc_lane_xor(most, m);");
        fc_cuda_line(t, "if (other > most) most = other;");
        fc_cuda_line(t, "}");
        return;
    }
    fc_cuda_line(t, "const ix here = live ? limit%u : 0;", w->limited);
    fc_cuda_line(t, "ix span = %d;", columns ? fc_run_of(g->k) : FC_CHUNK);
    fc_cuda_line(t, "while (span * %u < here) span *= 2;", parts);
    if (parts > 1)
        fc_cuda_line(t, "const ix begin = (ix)%s * span;", columns ? "part" : "warp");
    else
        fc_cuda_line(t, "const ix begin = 0;");
    fc_cuda_line(t, "const ix end = begin + span < here ? begin + span : here;");
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
    case FC_CUDA_SCAN: fc_cuda_scan_place(g); break;
    case FC_CUDA_TILE: fc_cuda_tile_place(g); break;
    case FC_CUDA_RING:
    case FC_CUDA_CLUSTER: fc_ring_begin(w); break;
    case FC_CUDA_DOT: fc_dot_begin(w->dot); break;
    case FC_CUDA_SLIDE: fc_slide_begin(w->slide); break;
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
