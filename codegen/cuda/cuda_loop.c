/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_loop.c - FC_CUDA_LOOP: every warp of a team walks over a span of chunks.
 *
 * In: a stage or the stores at the end. Out: for a stage x0 = the span of the warp, then that of
 * the team, of the blocks of a split, of a gang. The rest is in cuda_inner.c. */
#include <stdio.h>

#include "codegen/cuda/cuda_inner.h"

/* ---- one chunk ------------------------------------------------------------------------------ */

/* Iterations h .. h + batch of the chunk at c: its loads, or what becomes of them. */
static void quads(const fc_cuda_inner *in, const fc_cuda_group *quad, int batch, int phase) {
    fc_cuda_gen *g = in->g;
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", batch);
    fc_cuda_line(&g->t, "const ix k = c + (h + u) * %d + lane * %d;", FC_LANES, FC_CUDA_QUAD);
    if (phase < 0)
        fc_cuda_group_load(g, quad, false);
    else
        fc_cuda_group_compute(g, quad, (unsigned)phase);
    fc_cuda_line(&g->t, "}");
}

static fc_cuda_group quad_of(const fc_cuda_inner *in, const char *limit) {
    fc_cuda_group quad = in->quad;
    quad.limit = limit;
    quad.taken = "h + u";
    return quad;
}

/* A chunk whose counts are known as constants is unrolled whole: its shares are constants then. Of
 * one that is not whole (`limit`) there are at most two iterations at a time. */
static void chunk(const fc_cuda_inner *in, unsigned phase, const char *limit) {
    fc_cuda_gen *g = in->g;
    const int batch = limit && in->batch > 2 ? 2 : in->batch;
    fc_cuda_group quad = quad_of(in, limit);
    bool known = !limit && phase != FC_CUDA_STORES && fc_cuda_any_counts(g->k, phase);
    fc_cuda_line(&g->t, known ? "#pragma unroll" : "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (int h = 0; h < %d; h += %d) {", FC_CHUNK / FC_LANES, batch);
    fc_cuda_group_declare(g, &quad, batch, false);
    quads(in, &quad, batch, -1);
    quads(in, &quad, batch, (int)phase);
    fc_cuda_line(&g->t, "}");
}

static void whole_chunks(const fc_cuda_inner *in) {
    fc_cuda_line(&in->g->t, "ix c = begin;");
    fc_cuda_line(&in->g->t, "#pragma unroll 1");
    fc_cuda_line(&in->g->t, "for (; c + %d <= end; c += %d) {", FC_CHUNK, FC_CHUNK);
}

/* ---- a span of a warp ------------------------------------------------------------------------ */

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

static void push(fc_cuda_gen *g, unsigned stage, bool even) {
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

/* Without counts both kinds of chunks go on in one way: with two a sum takes 242 us, not 237. */
static void push_alike(const fc_cuda_inner *in, unsigned stage) {
    fc_cuda_gen *g = in->g;
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (ix c = begin; c < end; c += %d) {", FC_CHUNK);
    fc_inner_start_lanes(g, stage, FC_CUDA_QUAD);
    FC_EACH_REDUCTION(g, stage, "red%u x%u;", r, r);
    fc_cuda_line(&g->t, "if (c + %d <= end) {", FC_CHUNK);
    chunk(in, stage, NULL);
    fc_cuda_line(&g->t, "} else {");
    chunk(in, stage, "end");
    fc_cuda_line(&g->t, "}");
    fc_inner_meet_lanes(in, stage, false);
    push(g, stage, false);
    fc_cuda_line(&g->t, "}");
}

/* A chunk and what becomes of it. What any order suits is kept by each lane for itself. */
static void push_counted(const fc_cuda_inner *in, unsigned stage, const char *limit) {
    fc_cuda_gen *g = in->g;
    fc_inner_start_lanes(g, stage, FC_CUDA_QUAD);
    chunk(in, stage, limit);
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        if (in_order(g, stage, r)) {
            fc_cuda_line(&g->t, "red%u x%u;", r, r);
            fc_inner_meet(in, r, !limit);
        } else if (g->k->reductions.at[r].stage == stage) {
            fc_inner_join_lane(g, r, FC_CUDA_QUAD);
            fc_cuda_line(&g->t, "x%u = fc_join(x%u, w%u[0]);", r, r, r);
        }
    }
    push(g, stage, !limit);
}

static void push_whole_and_rest(const fc_cuda_inner *in, unsigned stage) {
    whole_chunks(in);
    push_counted(in, stage, NULL);
    fc_cuda_line(&in->g->t, "}");
    fc_cuda_line(&in->g->t, "if (c < end) {");
    push_counted(in, stage, "end");
    fc_cuda_line(&in->g->t, "}");
}

/* The tree, chunk by chunk. */
static void push_chunks(const fc_cuda_inner *in, unsigned stage) {
    fc_cuda_gen *g = in->g;
    fc_cuda_line(&g->t, "unsigned int n = 0;");
    FC_EACH_REDUCTION(g, stage, "red%u %c%u = red%u_start();", r, in_order(g, stage, r) ? 'p' : 'x',
                      r, r);
    if (fc_cuda_any_counts(g->k, stage))
        push_whole_and_rest(in, stage);
    else
        push_alike(in, stage);
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        if (in_order(g, stage, r))
            fc_cuda_line(&g->t, "red%u x%u = fc_total(p%u, n, red%u_start());", r, r, r, r);
        else if (g->k->reductions.at[r].stage == stage)
            fc_cuda_line(&g->t, "x%u = fc_lanes(x%u, 32);", r, r);
    }
}

/* An element's place is asked for (argmin, argmax): any order of joins gives the same. Only chunks
 * that may have something better than what was found so far are looked at in full. */
static void seek_chunks(const fc_cuda_inner *in, unsigned stage) {
    fc_cuda_gen *g = in->g;
    fc_cuda_group quad = quad_of(in, NULL);
    FC_EACH_REDUCTION(g, stage, "red%u x%u = red%u_start();", r, r, r);
    whole_chunks(in);
    fc_cuda_line(&g->t, "const int h = 0;");
    fc_cuda_group_declare(g, &quad, in->batch, false);
    quads(in, &quad, in->batch, -1);
    fc_inner_start_lanes(g, stage, FC_CUDA_QUAD);
    quad.peek = true;
    quads(in, &quad, in->batch, (int)stage);
    quad.peek = false;
    fc_cuda_line(&g->t, "bool better = false;");
    FC_EACH_REDUCTION(g, stage, "for (int e = 0; e < 4; e++) better |= red%u_better(x%u, w%u[e]);",
                      r, r, r);
    fc_cuda_line(&g->t, "if (__any_sync(0xffffffffu, better)) {");
    fc_inner_start_lanes(g, stage, FC_CUDA_QUAD);
    quads(in, &quad, in->batch, (int)stage);
    fc_inner_join_lanes(g, stage, FC_CUDA_QUAD);
    FC_EACH_REDUCTION(g, stage, "x%u = fc_join(x%u, fc_lanes(w%u[0], 32));", r, r, r);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "if (c < end) {");
    fc_inner_start_lanes(g, stage, FC_CUDA_QUAD);
    chunk(in, stage, "end");
    fc_inner_join_lanes(g, stage, FC_CUDA_QUAD);
    FC_EACH_REDUCTION(g, stage, "x%u = fc_join(x%u, fc_lanes(w%u[0], 32));", r, r, r);
    fc_cuda_line(&g->t, "}");
}

static bool seeks(const fc_cuda_inner *in, unsigned stage) {
    for (size_t r = 0; r < in->g->k->reductions.len; r++)
        if (in->g->k->reductions.at[r].stage == stage &&
            !fc_cuda_seeks(in->g, in->g->k->reductions.at[r].op))
            return false;
    return in->batch == FC_CHUNK / FC_LANES;
}

static void chunk_stores(const fc_cuda_inner *in) {
    fc_cuda_gen *g = in->g;
    whole_chunks(in);
    chunk(in, FC_CUDA_STORES, NULL);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "if (c < end) {");
    chunk(in, FC_CUDA_STORES, "end");
    fc_cuda_line(&g->t, "}");
}

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
static void last_block(const fc_cuda_inner *in) {
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

static void loop_stage(const fc_cuda_inner *in, unsigned stage) {
    fc_cuda_gen *g = in->g;
    fc_cuda_slice(g, stage, FC_POINT);
    fc_cuda_row(g);
    fc_cuda_declare_results(g, stage);
    fc_cuda_line(&g->t, "{");
    if (seeks(in, stage))
        seek_chunks(in, stage);
    else
        push_chunks(in, stage);
    fc_inner_join_warps(in, stage, "m");
    if (g->cls->cuda.split == FC_CUDA_SPLIT) last_block(in);
    fc_inner_join_parts(in, stage);
    fc_inner_finish(g, stage);
    fc_cuda_line(&g->t, "}");
}

void fc_cuda_emit_loop(fc_cuda_inner *in) {
    fc_cuda_gen *g = in->g;
    fc_cuda_group_turn(g, &in->quad, fc_cuda_block(in->g->cls));
    fc_inner_team_rows(in);
    fc_cuda_line(&g->t, "const ix span = (ix)p.w[%u] / %u;", g->l.extra + FC_PB_SPAN, in->warps);
    const char *block = g->cls->cuda.split ? "(ix)blockIdx.x" : "(ix)0";
    if (in->gang)
        fc_cuda_line(&g->t, "const ix begin = warp * span;");
    else if (in->warps > 1)
        fc_cuda_line(&g->t, "const ix begin = (%s * %u + warp) * span;", block, in->warps);
    else
        fc_cuda_line(&g->t, "const ix begin = %s * span;", block);
    fc_cuda_line(&g->t, "const ix end = begin + span < here ? begin + span : here;");
    for (unsigned s = 0; s < g->k->nstages; s++) loop_stage(in, s);
    if (fc_inner_begin_stores(g, in->warps > 1 ? "live && lane == 0 && warp == 0"
                                               : "live && lane == 0"))
        chunk_stores(in);
    if (in->gang) {
        fc_cuda_line(&g->t, "}");
        fc_cuda_gang_end(g);
    }
}
