/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_rect.c - rows of at most 8 elements over two kept axes, such as the distances between the
 * points of two sets.
 *
 * A thread has a rectangle of rows: `rect_rows` along the outer axis by `rect_columns` neighbours
 * along the inner one, whose results it stores at once. What moves along the inner axis only is
 * loaded before the first row, and with `aligned` as whole vectors: the elements of neighbours lie
 * side by side then. Along the inner axis the rectangles fit; along the outer one what does not
 * exist is the last row again, and is not stored. */
#include <stdio.h>

#include "codegen/cuda/cuda.h"

enum { WIDE = 16 }; /* bytes of an access */

/* ---- text ----------------------------------------------------------------------------------- */

static void place(fc_cuda_gen *g) {
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

/* The results f* of the row at i0, i1, whose elements have a lane each. */
static void reduce(fc_cuda_gen *g, const fc_cuda_group *gr) {
    const int n = g->cls->vector;
    fc_cuda_slice(g, 0, FC_POINT);
    fc_cuda_row(g);
    fc_cuda_declare_results(g, 0);
    fc_cuda_line(&g->t, "{");
    fc_cuda_line(&g->t, "const ix l = 0, k = 0;");
    FC_EACH_REDUCTION(g, 0, "red%u w%u[%d];", r, r, n);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int e = 0; e < %d; e++) {", n);
    FC_EACH_REDUCTION(g, 0, "w%u[e] = red%u_start();", r, r);
    fc_cuda_line(&g->t, "}");
    fc_cuda_group_declare(g, gr, 0, false);
    fc_cuda_group_load(g, gr, false);
    fc_cuda_group_compute(g, gr, 0);
    for (int s = 1; s < n; s *= 2)
        for (int e = 0; e + s < n; e += 2 * s)
            FC_EACH_REDUCTION(g, 0, "w%u[%d] = fc_join(w%u[%d], w%u[%d]);", r, e, r, e, r, e + s);
    FC_EACH_REDUCTION(g, 0, "f%u = red%u_finish(w%u[0], (long long)count);", r, r, r);
    fc_cuda_line(&g->t, "}");
}

static void keep_results(fc_cuda_gen *g) {
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

void fc_cuda_emit_rect(fc_cuda_gen *g) {
    const unsigned height = (unsigned)g->l.extents + FC_RECT_OUTER;
    const fc_cuda_group gr = {.n = g->cls->vector,
                              .step = 1,
                              .first = FC_RECT_ELEMENT,
                              .end = FC_RECT_AXES,
                              .number = "k",
                              .slot = "",
                              .kept = "[v]",
                              .lanes = true,
                              .taken = "0"};
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        g->cached[a] = g->cls->aligned && fc_cuda_of_neighbours(g->k, g->cls, a);
    place(g);
    fc_cuda_slice(g, 0, FC_POINT);
    load_neighbours(g, &gr);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int r = 0; r < %d; r++) {", g->cls->cuda.rect_rows);
    fc_cuda_line(&g->t, "const ix at = down * %d + r;", g->cls->cuda.rect_rows);
    fc_cuda_line(&g->t, "const ix i0 = at < (ix)p.w[%u] ? at : (ix)p.w[%u] - 1;", height, height);
    each_store(g, true);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int v = 0; v < %d; v++) {", g->cls->cuda.rect_columns);
    fc_cuda_line(&g->t, "const ix i1 = left + v;");
    fc_cuda_bases(g, g->np);
    reduce(g, &gr);
    keep_results(g);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "if (at == i0) {");
    each_store(g, false);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
}
