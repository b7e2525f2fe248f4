/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_map.c - no reduction: every thread computes a few points.
 *
 * vector > 1   neighbours along the inner axis. Where they lie follows from the linear thread
 * number by one division for each outer axis and thread, or, with `rows_of_grid`, the outer axes
 * are the grid's second direction. With `whole` vectors exist as a whole or not at all:
 * no element needs a test, and 16-bit ones stay in pairs from the load to the store.
 * vector 1     elements FC_CUDA_MAP_THREADS apart in the linear order of all points, so that
 * neighbouring threads always touch neighbouring points. With one axis the places differ by a
 * constant; with more each element works out its own indices. Quick code takes them one by one. */
#include <stdio.h>

#include "codegen/cuda/cuda.h"

/* ---- text ----------------------------------------------------------------------------------- */

/* What all vectors of a thread have in common. */
static void place(fc_cuda_gen *g) {
    unsigned last = g->np - 1u, v = g->cls->vector;
    fc_cuda_line(&g->t, "const ix inner = (ix)p.w[%u];", g->l.extents + last);
    if (g->cls->cuda.rows_of_grid) {
        fc_cuda_line(&g->t, "const ix outer = (ix)blockIdx.y;");
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

/* Vectors of neighbours; all loads of a thread go before the first use. */
static void neighbours(fc_cuda_gen *g) {
    unsigned last = g->np - 1u, v = g->cls->vector;
    const int repeat = g->cls->cuda.repeat;
    char number[16];
    snprintf(number, sizeof number, "i%u", last);
    fc_cuda_group gr = {.n = (int)v,
                        .step = 1,
                        .first = last,
                        .end = last + 1,
                        .wide = true,
                        .number = number,
                        .limit = g->cls->cuda.whole ? NULL : "inner",
                        .slot = repeat > 1 ? "[u]" : ""};
    place(g);
    fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    fc_cuda_group_declare(g, &gr, repeat > 1 ? repeat : 0, false);
    begin_vector(g, repeat);
    fc_cuda_group_load(g, &gr, false);
    if (repeat > 1) {
        end_vector(g, repeat);
        begin_vector(g, repeat);
    }
    fc_cuda_group_compute(g, &gr, FC_CUDA_STORES);
    end_vector(g, repeat);
}

static void spaced(fc_cuda_gen *g) {
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
    fc_cuda_group gr = {.n = n,
                        .step = FC_CUDA_MAP_THREADS,
                        .first = 0,
                        .end = g->np,
                        .own = g->np > 1,
                        .number = "k",
                        .limit = "rows",
                        .slot = ""};
    fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    fc_cuda_group_declare(g, &gr, 0, false);
    fc_cuda_group_load(g, &gr, false);
    fc_cuda_group_compute(g, &gr, FC_CUDA_STORES);
    if (g->cls->cuda.copied) fc_cuda_line(&g->t, "}");
    if (repeat > 1) fc_cuda_line(&g->t, "}");
}

void fc_cuda_emit_map(fc_cuda_gen *g) {
    if (g->cls->cuda.copied) fc_cuda_own_begin(g);
    if (g->cls->cuda.kind == FC_CUDA_TILE)
        fc_cuda_emit_tile(g);
    else if (g->cls->vector > 1)
        neighbours(g);
    else
        spaced(g);
    if (g->cls->cuda.copied) fc_cuda_own_end(g);
}
