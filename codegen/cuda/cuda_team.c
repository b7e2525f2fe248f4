/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_team.c - what the schedules with threads for a row share: lanes, warps and gangs meet, rows
 * are dealt out, stores begin. See cuda_inner.h. */
#include "codegen/cuda/cuda_inner.h"

/* ---- lanes ----------------------------------------------------------------------------------- */

void fc_inner_start_lanes(fc_cuda_gen *g, unsigned stage, int n) {
    FC_EACH_REDUCTION(g, stage, "red%u w%u[%d];", r, r, n);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int e = 0; e < %d; e++) {", n);
    FC_EACH_REDUCTION(g, stage, "w%u[e] = red%u_start();", r, r);
    fc_cuda_line(&g->t, "}");
}

void fc_inner_join_lane(fc_cuda_gen *g, unsigned r, int n) {
    for (int s = 1; s < n; s *= 2)
        for (int e = 0; e + s < n; e += 2 * s)
            fc_cuda_line(&g->t, "w%u[%d] = fc_join(w%u[%d], w%u[%d]);", r, e, r, e, r, e + s);
}

void fc_inner_join_lanes(fc_cuda_gen *g, unsigned stage, int n) {
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].stage == stage) fc_inner_join_lane(g, r, n);
}

/* Lanes a warp apart meet in the order of elements, where that matters. */
void fc_inner_meet(const fc_cuda_inner *in, unsigned r, bool even) {
    fc_cuda_gen *g = in->g;
    const fc_reduction *red = &g->k->reductions.at[r];
    const bool evens = even && fc_red_counts(red);
    if (in->apart > 1 && !fc_cuda_any_order(red)) {
        fc_cuda_line(&g->t, "x%u = fc_apart<%s>(w%u);", r, evens ? "true" : "false", r);
        return;
    }
    fc_inner_join_lane(g, r, FC_CUDA_QUAD);
    fc_cuda_line(&g->t, "x%u = fc_lanes%s(w%u[0], %u);", r, evens ? "_even" : "", r,
                 in->team < 32 ? in->team : 32);
}

void fc_inner_meet_lanes(const fc_cuda_inner *in, unsigned stage, bool even) {
    for (unsigned r = 0; r < in->g->k->reductions.len; r++)
        if (in->g->k->reductions.at[r].stage == stage) fc_inner_meet(in, r, even);
}

/* ---- who works on what, and how it is joined ------------------------------------------------- */

void fc_inner_team_rows(const fc_cuda_inner *in) {
    fc_cuda_gen *g = in->g;
    unsigned rows = fc_cuda_block(in->g->cls) / in->team;
    fc_cuda_line(&g->t, "const int lane = (int)(threadIdx.x %% %u);",
                 in->team < 32 ? in->team : 32);
    if (in->gang) {
        fc_cuda_gang_place(g);
        fc_cuda_line(&g->t, "const ix warp = part * %u + (ix)(threadIdx.x / 32);", in->warps);
        fc_cuda_gang_rooms(g);
        if (g->cls->cuda.ahead) fc_cuda_gang_ahead(g, "gang");
        fc_cuda_gang_begin(g);
        fc_cuda_line(&g->t, "const bool live = true;");
        fc_cuda_line(&g->t, "const ix here = count;");
    } else {
        const int repeat = g->cls->cuda.repeat;
        if (repeat > 1) {
            fc_cuda_line(&g->t, "#pragma unroll");
            fc_cuda_line(&g->t, "for (int turn = 0; turn < %d; turn++) {", repeat);
        }
        if (repeat > 1)
            fc_cuda_line(&g->t, "const ix block = (ix)blockIdx.x * %d + turn;", repeat);
        else
            fc_cuda_line(&g->t, "const ix block = (ix)blockIdx.%c;",
                         g->cls->cuda.split ? 'y' : 'x');
        fc_cuda_line(&g->t, "const ix place = block * %u + (ix)(threadIdx.x / %u);", rows,
                     in->team);
        fc_cuda_line(&g->t,
                     in->full ? "const bool live = true;" : "const bool live = place < rows;");
        fc_cuda_line(&g->t, "const ix row = live ? place : rows - 1;");
        fc_cuda_line(&g->t, "const ix here = live ? count : 0;");
    }
    if (in->warps > 1 && !in->gang)
        fc_cuda_line(&g->t, "const int warp = (int)(threadIdx.x %% %u / 32);", in->team);
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
}

void fc_inner_join_warps(const fc_cuda_inner *in, unsigned stage, const char *array) {
    fc_cuda_gen *g = in->g;
    unsigned w = in->warps, block = fc_cuda_block(in->g->cls);
    if (w == 1) return;
    FC_EACH_REDUCTION(g, stage, "__shared__ red%u %s%u[%u];", r, array, r, block / 32);
    fc_cuda_line(&g->t, "if (lane == 0) {");
    FC_EACH_REDUCTION(g, stage, "%s%u[threadIdx.x / 32] = x%u;", array, r, r);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "__syncthreads();");
    FC_EACH_REDUCTION(g, stage, "x%u = fc_lanes(%s%u[threadIdx.x / %u * %u + lane %% %u], %u);", r,
                      array, r, in->team, w, w, w);
}

void fc_inner_join_parts(const fc_cuda_inner *in, unsigned stage) {
    if (!in->gang) return;
    fc_cuda_gang_publish(in->g, stage);
    if (stage == 0 && in->g->cls->cuda.iterations) fc_cuda_gang_ahead(in->g, "row + gangs");
    fc_cuda_gang_await(in->g, stage);
    fc_inner_join_warps(in, stage, "l");
}

void fc_inner_finish(fc_cuda_gen *g, unsigned stage) {
    FC_EACH_REDUCTION(g, stage, "f%u = red%u_finish(x%u, (long long)count);", r, r, r);
}

/* ---------------------------------------------------------------------------------------------- */

fc_cuda_inner fc_cuda_inner_of(fc_cuda_gen *g) {
    fc_cuda_inner in = {.g = g,
                        .team = fc_cuda_team(g->cls),
                        .gang = g->cls->cuda.split >= FC_CUDA_GANG,
                        .full = g->cls->cuda.full,
                        .apart = fc_cuda_apart(g->cls)};
    in.warps = in.team > 32 ? in.team / 32 : 1;
    in.its = g->cls->cuda.iterations ? g->cls->cuda.iterations : FC_CHUNK / FC_LANES;
    in.batch = fc_cuda_unroll(g->k, in.its, FC_CUDA_QUAD);
    in.quad = (fc_cuda_group){.n = FC_CUDA_QUAD,
                              .step = (int)in.apart,
                              .first = g->np,
                              .end = g->axes,
                              .own = g->cls->nr > 1 && !g->cls->aligned,
                              .wide = g->cls->aligned,
                              .number = "k",
                              .slot = "[u]",
                              .kept = "[u]",
                              .lanes = true};
    if (in.apart == 1) in.quad.exchange = in.team < 32 ? in.team : 32;
    return in;
}
