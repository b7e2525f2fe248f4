/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_results.c - contractions: what becomes of the sums of a tile.
 *
 * In: accumulators c0, c1, ... of each thread. Out: text of passes, in each of which a row of the
 * tile's pieces goes through shared memory. Then neighbouring threads have neighbouring columns, or
 * groups of neighbours that are loaded and stored at once, and run the kernel's code behind the
 * product; one copy of that. Or (fc_cuda_is_direct) a thread runs it for its own results. */
#include "codegen/cuda/cuda_dot.h"

/* Where a result is, which opens a scope. */
static void begin_result(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const fc_dot_side *x = &d->x[0], *y = &d->x[1];
    fc_cuda_line(t, "const ix across_at = n0 + (ix)column;");
    fc_cuda_line(t, "if (down_at < %s && across_at < %s) {", x->size, y->size);
    fc_dot_indices(d, x, "down_at");
    if (g->cls->vector == 1) {
        fc_dot_indices(d, y, "across_at");
    } else { /* results walk the axes of the columns as one */
        for (unsigned axis = 0; axis < g->np; axis++)
            if (y->also >> axis & 1) fc_cuda_line(t, "const ix i%u = 0;", axis);
    }
}

/* Where group e of a pass is, which opens a scope. */
static void begin_group(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned rows = fc_cuda_piece_rows(d->tile), v = d->g->cls->vector,
                   groups = d->x[1].side / v;
    fc_cuda_line(t, "const unsigned int row = e / %u, column = e %% %u * %u;", groups, groups, v);
    fc_cuda_line(t, "const ix down_at = m0 + (ix)((row / %u * %u + pass) * %u + row %% %u);", rows,
                 d->tile->high, rows, rows);
    begin_result(d);
}

static unsigned groups_of_pass(const fc_dot *d) {
    return fc_cuda_piece_rows(d->tile) * d->tile->down * (d->x[1].side / d->g->cls->vector);
}

/* A loop over the results of a pass, by groups of a vector. */
static void begin_results(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_dot_begin_pass(d);
    (fc_dot_is_split(d) ? fc_dot_split_join : fc_dot_turn)(d);
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (unsigned int e = thread; e < %u; e += %u) {", groups_of_pass(d),
                 fc_cuda_tile_threads(d->tile));
    begin_group(d);
}

/* Of a tile that is over soon: its warps would wait for each other for longer than it saves to
 * store whole lines. */
static void begin_direct(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned n = fc_cuda_tile_accumulators(d->tile), wide = d->tile->wide / 4;
    fc_cuda_line(t, "{");
    fc_cuda_indent(t);
    fc_str_printf(t->out, "const quad own[%u] = {", n / 4);
    for (unsigned c = 0; c < n; c += 4)
        fc_str_printf(t->out, "%s{{c%u, c%u, c%u, c%u}}", c ? ", " : "", c, c + 1, c + 2, c + 3);
    fc_str_add(t->out, "};\n");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (unsigned int u = 0; u < %u; u++) {", n / 4);
    fc_cuda_line(t, "const ix down_at = m0 + (ix)(u / %u * %u + down * 4 + u / %u %% 4);", 4 * wide,
                 fc_cuda_piece_rows(d->tile), wide);
    fc_cuda_line(t, "const unsigned int column = u %% %u * %u + across * 4;", wide,
                 4 * fc_cuda_piece_columns(d->tile));
    begin_result(d);
}

static void finish(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned v = d->g->cls->vector, line = fc_cuda_tile_turned(d->tile);
    const char *type = fc_cuda_type(d->t);
    fc_cuda_line(t, "const auto finished = [&](%s c) {", type);
    fc_cuda_line(t, "red0 sum;");
    fc_cuda_line(t, "sum.c0 = c;");
    fc_cuda_line(t, "return red0_finish(sum, (long long)count);");
    fc_cuda_line(t, "};");
    if (v == 1) {
        fc_cuda_line(t, "const %s f0 = finished(turned[row * %u + %s]);",
                     fc_cuda_type((fusec_dtype)d->g->k->reductions.at[0].dtype), line,
                     d->tile->tensor ? "column" : "(column ^ 1)");
        return;
    }
    if (fc_cuda_is_direct(d->g->cls)) return;
    const unsigned bytes = v * fc_dtypes[d->t].bytes, align = bytes < 16 ? bytes : 16;
    fc_cuda_line(t, "typedef fc_vec<%s, %u, %u> group;", type, v, align);
    fc_cuda_line(t, "const group sums = *(const group *)(turned + row * %u + column);", line);
}

/* Neighbours along the columns. */
static fc_cuda_group neighbours(const fc_dot *d) {
    const unsigned axis = d->x[1].axis;
    return (fc_cuda_group){.n = d->g->cls->vector,
                           .step = 1,
                           .first = axis,
                           .end = axis + 1,
                           .wide = true,
                           .number = "across_at",
                           .slot = "",
                           .kept = "",
                           .sums = fc_cuda_is_direct(d->g->cls) ? "finished(own[u].e[e])"
                                   : d->tile->tensor            ? "finished(sums.e[e])"
                                                                : "finished(sums.e[e ^ 1])"};
}

/* What a thread loads for its only group of a tile waits in as many bytes of registers. */
enum { AHEAD_BYTES = 64 };

static bool comes_ahead(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    unsigned bytes = 0;
    if (!d->tile->piped || fc_dot_is_split(d) || g->cls->vector == 1 || d->tile->high > 1 ||
        groups_of_pass(d) > fc_cuda_tile_threads(d->tile))
        return false;
    fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->used[a] & FC_CUDA_LOADS) bytes += fc_cuda_bytes(g->k, a) * g->cls->vector;
    return 0 < bytes && bytes <= AHEAD_BYTES;
}

void fc_dot_results_ahead(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const fc_cuda_group gr = neighbours(d);
    if (!comes_ahead(d)) return;
    fc_cuda_group_declare(g, &gr, 0, false);
    fc_cuda_line(t, "if (thread < %u) {", groups_of_pass(d));
    fc_cuda_line(t, "const unsigned int e = thread, pass = 0;");
    begin_group(d);
    fc_cuda_bases_but(g, d->x[1].axis);
    fc_cuda_group_load(g, &gr, false);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
}

static void group_of_results(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    const fc_cuda_group gr = neighbours(d);
    const bool ahead = comes_ahead(d);
    fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW);
    fc_cuda_bases_but(g, d->x[1].axis);
    if (!ahead) {
        fc_cuda_group_declare(g, &gr, 0, false);
        fc_cuda_group_load(g, &gr, false);
    }
    fc_cuda_group_compute(g, &gr, FC_CUDA_STORES);
}

bool fc_dot_results_leaf(const fc_dot *d, const fc_loop *n) {
    fc_cuda_gen *g = d->g;
    const bool group = g->cls->vector > 1;
    switch (n->kind) {
    case FC_LEAF_FOLD:
        if (d->tile->tensor) fc_cuda_line(&g->t, "fc_brought<0>();");
        if (!fc_dot_is_split(d)) (fc_cuda_is_direct(d->g->cls) ? begin_direct : begin_results)(d);
        break;
    case FC_LEAF_PUT: fc_dot_split_put(d); break;
    case FC_LEAF_GET:
        fc_dot_split_wait(d);
        begin_results(d);
        break;
    case FC_LEAF_FINISH: finish(d); break;
    case FC_LEAF_ROW:
        if (group) break;
        fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW);
        fc_cuda_bases(g, g->np);
        fc_cuda_row(g);
        break;
    case FC_LEAF_STORE: (group ? group_of_results(d) : fc_cuda_row_stores(g)); break;
    default: return false;
    }
    return true;
}
