/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_chunks.c - the tree over the chunks of a row that warps walk over.
 *
 * In: x*, what a warp makes of a chunk. Out: x*, what it makes of its span, and what the last block
 * of a split makes of the row: chunks in a binary counter that is spread over the lanes, spans of a
 * split in the workspace. */
#include <stdio.h>

#include "codegen/cuda/cuda_walk.h"

/* Reductions of a stage whose chunks are joined in order: where elements are counted, those that
 * need it, else all. */
static bool in_order(const fc_cuda_gen *g, unsigned stage, unsigned r) {
    const fc_reduction *red = &g->k->reductions.at[r];
    return red->stage == stage && !(fc_cuda_any_order(red) && fc_cuda_any_counts(g->k, stage));
}

/* x0, the same in all lanes, joins the subtree of 2^level chunks. `even`: all of them are whole. */
static void join_level(fc_cuda_gen *g, unsigned stage, const char *level, const char *size) {
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        if (!in_order(g, stage, r)) continue;
        if (size)
            fc_cuda_line(&g->t, "x%u = fc_join_even(fc_from(p%u, %s), x%u, %s);", r, r, level, r,
                         size);
        else
            fc_cuda_line(&g->t, "x%u = fc_join(fc_from(p%u, %s), x%u);", r, r, level, r);
    }
}

/* x0 joins what it completes; lane l keeps the subtree of 2^l chunks. Of whole chunks most joins
 * are of known numbers of elements. */
enum { KNOWN_LEVELS = 2 };

void fc_cuda_walk_push_chunk(fc_cuda_walk *w, unsigned stage) {
    fc_cuda_gen *g = w->in.g;
    const bool even = w->whole && fc_cuda_any_counts(g->k, stage);
    char level[24], size[48];
    const int known = even ? KNOWN_LEVELS : 0;
    fc_cuda_line(&g->t, "int l = 0;");
    for (int l = 0; l < known; l++) {
        snprintf(level, sizeof level, "%d", l);
        snprintf(size, sizeof size, "%d", FC_CHUNK << l);
        fc_cuda_line(&g->t, "if (n & %d) {", 1 << l);
        join_level(g, stage, level, size);
        fc_cuda_line(&g->t, "l = %d;", l + 1);
    }
    snprintf(size, sizeof size, "(long long)%d << l", FC_CHUNK);
    fc_cuda_line(&g->t, "for (; n >> l & 1; l++) {");
    join_level(g, stage, "l", even ? size : NULL);
    fc_cuda_line(&g->t, "}");
    for (int l = 0; l < known; l++) fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "if (lane == l) {");
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        if (in_order(g, stage, r)) fc_cuda_line(&g->t, "p%u = x%u;", r, r);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "n++;");
}

void fc_cuda_walk_clear_chunks(fc_cuda_walk *w, unsigned stage) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_line(&g->t, "unsigned int n = 0;");
    FC_EACH_REDUCTION(g, stage, "red%u %c%u = red%u_start();", r, in_order(g, stage, r) ? 'p' : 'x',
                      r, r);
}

/* A chunk and what becomes of it. What any order suits is kept by each lane for itself. */
void fc_cuda_walk_meet_chunk(fc_cuda_walk *w, unsigned stage) {
    fc_cuda_gen *g = w->in.g;
    const bool counts = fc_cuda_any_counts(g->k, stage);
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        if (in_order(g, stage, r)) {
            if (counts) fc_cuda_line(&g->t, "red%u x%u;", r, r);
            fc_inner_meet(&w->in, r, w->whole);
        } else if (g->k->reductions.at[r].stage == stage) {
            fc_inner_join_lane(g, r, FC_CUDA_QUAD);
            fc_cuda_line(&g->t, "x%u = fc_join(x%u, w%u[0]);", r, r, r);
        }
    }
}

void fc_cuda_walk_fold_chunks(fc_cuda_walk *w, unsigned stage) {
    fc_cuda_gen *g = w->in.g;
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        if (in_order(g, stage, r))
            fc_cuda_line(&g->t, "red%u x%u = fc_total(p%u, n, red%u_start());", r, r, r, r);
        else if (g->k->reductions.at[r].stage == stage)
            fc_cuda_line(&g->t, "x%u = fc_lanes(x%u, 32);", r, r);
    }
}

/* ---- the spans of a row ---------------------------------------------------------------------- */

/* x0 of each thread = its part of the row's partials, a power of two of them, so that they are a
 * subtree. Several are on their way at a time: one after the other each would be waited for. */
static void read_partials(const fc_cuda_inner *in) {
    fc_cuda_gen *g = in->g;
    const int several = fc_components(g->k) > 3 ? 4 : 8;
    fc_cuda_line(&g->t, "int per = 1;");
    fc_cuda_line(&g->t, "while ((ix)per * %u < spans) per *= 2;", fc_cuda_block(g->cls));
    FC_EACH_REDUCTION(g, 0, "red%u s%u[32];", r, r);
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (int n = 0; n < per; n += %d) {", several);
    FC_EACH_REDUCTION(g, 0, "red%u w%u[%d];", r, r, several);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", several);
    fc_cuda_line(&g->t, "const ix z = (ix)threadIdx.x * per + n + u;");
    fc_cuda_line(&g->t, "const bool is = n + u < per && z < spans;");
    FC_EACH_REDUCTION(g, 0, "w%u[u] = is ? z%u[z] : red%u_start();", r, r, r);
    fc_cuda_line(&g->t, "}");
    fc_inner_join_lanes(g, 0, several);
    FC_EACH_REDUCTION(g, 0, "x%u = fc_put(s%u, w%u[0], n / %d);", r, r, r, several);
    fc_cuda_line(&g->t, "}");
}

/* The last block of a row goes on with x0 = the whole row in all its threads. */
void fc_cuda_walk_last_block(fc_cuda_walk *w) {
    const fc_cuda_inner *in = &w->in;
    fc_cuda_gen *g = in->g;
    fc_cuda_partials(g, "row * spans");
    fc_cuda_line(&g->t, "unsigned int *const ticket = (unsigned int *)p.w[%u] + row;",
                 (unsigned)g->l.extra + FC_PB_TICKETS);
    fc_cuda_line(&g->t, "__shared__ bool last;");
    fc_cuda_line(&g->t, "if (threadIdx.x == 0) {");
    FC_EACH_REDUCTION(g, 0, "z%u[blockIdx.x] = x%u;", r, r);
    fc_cuda_line(&g->t, "__threadfence();");
    fc_cuda_line(&g->t, "last = atomicAdd(ticket, 1u) == (unsigned int)spans - 1;");
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "__syncthreads();");
    fc_cuda_line(&g->t, "if (!last) return;");
    fc_cuda_line(&g->t, "__threadfence();");
    fc_cuda_line(&g->t, "if (threadIdx.x == 0) *ticket = 0;");
    read_partials(in);
    FC_EACH_REDUCTION(g, 0, "x%u = fc_lanes(x%u, 32);", r, r);
    fc_inner_join_warps(in, 0, "l");
}
