/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_inner.c - the innermost axis is reduced: the inner tree of codegen/nest.h.
 *
 * A chunk of FC_CHUNK elements is one warp's work: in iteration u, thread t takes the elements
 * u * FC_LANES + 4t .. 4t + 3, so it holds four neighbouring lanes of the tree. Lanes are combined
 * in the thread and by shuffles, chunks by a binary counter spread over the lanes, warps through
 * shared memory, and blocks (split) through the workspace: always aligned groups of 2^k in index
 * order, which are subtrees.
 *
 * - FC_CUDA_THREAD: one thread a row, lane groups of `vector` lanes one after the other.
 * - FC_CUDA_ONE: one chunk (or a part of one) for each warp of a row; loads that several phases
 *   need stay in registers.
 * - FC_CUDA_LOOP: every warp walks over a span of chunks; with split the last block of a row
 *   finishes it.
 * - FC_CUDA_RING: see cuda_ring.c; FC_CUDA_CLUSTER: see cuda_cluster.c.
 *
 * ONE and LOOP can be spread over a gang of blocks (cuda_gang.c): `warp` counts through all of
 * them.
 *
 * Threads without a row work on the last one with `here` = 0 elements: they take part in every
 * exchange. */
#include <stdio.h>

#include "codegen/cuda/cuda_inner.h"

/* ---- one thread a row ----------------------------------------------------------------------- */

static void thread_group(fc_cuda_gen *g, unsigned phase) {
    char taken[24];
    snprintf(taken, sizeof taken, "(k - l) / %d", FC_LANES);
    fc_cuda_group gr = {.n = g->cls->vector,
                        .step = 1,
                        .first = g->np,
                        .end = g->axes,
                        .own = g->cls->nr > 1 && !g->cls->aligned,
                        .wide = g->cls->aligned,
                        .number = "k",
                        .limit = g->cls->cuda.whole ? NULL : "count",
                        .slot = "",
                        .lanes = true,
                        .taken = taken};
    fc_cuda_group_declare(g, &gr, 0, false);
    fc_cuda_group_load(g, &gr, false);
    fc_cuda_group_compute(g, &gr, phase);
}

/* A row of at most one group: its lanes have an element each. */
static void thread_once(fc_cuda_gen *g, unsigned stage) {
    fc_cuda_line(&g->t, "const ix l = 0, k = 0;");
    fc_inner_start_lanes(g, stage, g->cls->vector);
    thread_group(g, stage);
    fc_inner_join_lanes(g, stage, g->cls->vector);
    FC_EACH_REDUCTION(g, stage, "f%u = red%u_finish(w%u[0], (long long)count);", r, r, r);
    fc_cuda_line(&g->t, "}");
}

static void thread_stage(fc_cuda_gen *g, unsigned stage) {
    int n = g->cls->vector;
    fc_cuda_slice(g, stage, FC_POINT);
    fc_cuda_row(g);
    fc_cuda_declare_results(g, stage);
    fc_cuda_line(&g->t, "{");
    if (g->cls->cuda.once) {
        thread_once(g, stage);
        return;
    }
    FC_EACH_REDUCTION(g, stage, "red%u s%u[32];", r, r);
    fc_cuda_line(&g->t, "unsigned int n = 0;");
    fc_cuda_line(&g->t, "for (ix c = 0; c < count; c += %d) {", FC_CHUNK);
    fc_cuda_line(&g->t, "for (ix l = c; l < c + %d && l < count; l += %d) {", FC_LANES, n);
    fc_inner_start_lanes(g, stage, n);
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (ix k = l; k < c + %d && k < count; k += %d) {", FC_CHUNK, FC_LANES);
    thread_group(g, stage);
    fc_cuda_line(&g->t, "}");
    fc_inner_join_lanes(g, stage, n);
    FC_EACH_REDUCTION(g, stage, "fc_put(s%u, w%u[0], n);", r, r);
    fc_cuda_line(&g->t, "n++;");
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
    FC_EACH_REDUCTION(g, stage,
                      "f%u = red%u_finish(fc_sum(s%u, n, red%u_start()), (long long)count);", r, r,
                      r, r);
    fc_cuda_line(&g->t, "}");
}

/* What does not exist is the last row again, so that loads need no test and those that all turns
 * share are one. */
static void place_of_axis(fc_cuda_gen *g, unsigned axis, const char *place) {
    unsigned extent = (unsigned)g->l.extents + axis;
    fc_cuda_line(&g->t, "const ix at%u = %s;", axis, place);
    fc_cuda_line(&g->t, "const ix i%u = at%u < (ix)p.w[%u] ? at%u : (ix)p.w[%u] - 1;", axis, axis,
                 extent, axis, extent);
}

static void begin_thread_row(fc_cuda_gen *g) {
    const bool once = g->cls->cuda.once;
    const int repeat = g->cls->cuda.repeat;
    char place[96];
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int turn = 0; turn < %d; turn++) {", repeat);
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

/* The results of all turns, g*, before the first is stored: no store stands between loads. */
static fusec_status thread_results(fc_cuda_gen *g, fc_error *e) {
    size_t n = g->code.ins.len;
    uint8_t *done = fc_malloc(g->code.alloc, n + 1);
    if (!done) return fc_oom(e);
    memcpy(done, g->done, n);
    for (unsigned s = 0; s < g->k->nstages; s++)
        for (unsigned r = 0; r < g->k->reductions.len; r++)
            if (g->k->reductions.at[r].stage == s) fc_cuda_declare_turns(g, r);
    begin_thread_row(g);
    for (unsigned s = 0; s < g->k->nstages; s++) {
        thread_stage(g, s);
        FC_EACH_REDUCTION(g, s, "g%u[turn] = f%u;", r, r);
    }
    fc_cuda_line(&g->t, "}");
    memcpy(g->done, done, n);
    fc_free(g->code.alloc, done);
    begin_thread_row(g);
    for (unsigned s = 0; s < g->k->nstages; s++) {
        fc_cuda_declare_results(g, s);
        FC_EACH_REDUCTION(g, s, "f%u = g%u[turn];", r, r);
    }
    fc_inner_begin_stores(g, "live");
    fc_cuda_line(&g->t, "}");
    return FUSEC_OK;
}

static fusec_status emit_thread(fc_cuda_gen *g, fc_error *e) {
    const bool once = g->cls->cuda.once;
    if (g->cls->cuda.repeat > 1 && !fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT))
        return thread_results(g, e);
    begin_thread_row(g);
    for (unsigned s = 0; s < g->k->nstages; s++) thread_stage(g, s);
    if (fc_inner_begin_stores(g, "live")) {
        fc_cuda_line(&g->t, "if (live) {");
        fc_cuda_line(&g->t, once ? "const ix l = 0, k = 0;" : "#pragma unroll 1");
        if (!once) fc_cuda_line(&g->t, "for (ix k = 0; k < count; k += %d) {", g->cls->vector);
        thread_group(g, FC_CUDA_STORES);
        if (!once) fc_cuda_line(&g->t, "}");
        fc_cuda_line(&g->t, "}");
    }
    fc_cuda_line(&g->t, "}");
    return FUSEC_OK;
}

/* ---- one chunk a warp ----------------------------------------------------------------------- */

static void one_number(const fc_cuda_inner *in, const char *name, const char *u) {
    fc_cuda_gen *g = in->g;
    if (in->warps > 1)
        fc_cuda_line(&g->t, "const ix %s = warp * %d + (%s) * %d + lane * %d;", name, FC_CHUNK, u,
                     FC_LANES, fc_inner_lane(in));
    else
        fc_cuda_line(&g->t, "const ix %s = (%s) * %d + lane * %d;", name, u, FC_LANES,
                     fc_inner_lane(in));
}

static void begin_batch(const fc_cuda_inner *in, int batch, const char *u) {
    fc_cuda_line(&in->g->t, "#pragma unroll");
    fc_cuda_line(&in->g->t, "for (int u = 0; u < %d; u++) {", batch);
    one_number(in, "k", u);
    if (in->apart > 1) fc_cuda_line(&in->g->t, "const ix t = (%s) * %d;", u, FC_LANES);
}

/* Loads of a few iterations. Of whole groups those that do not exist read the first one of the row
 * instead of nothing: no element needs a test. */
static void load_batch(const fc_cuda_inner *in, int batch, const char *u, const fc_cuda_group *quad,
                       bool cached) {
    fc_cuda_gen *g = in->g;
    fc_cuda_group gr = *quad;
    if (quad->whole && quad->limit) {
        gr.limit = NULL;
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", batch);
        one_number(in, "at", u);
        fc_cuda_line(&g->t, "const ix k = at < here ? at : 0;");
    } else {
        begin_batch(in, batch, u);
    }
    fc_cuda_group_load(g, &gr, cached);
    fc_cuda_line(&g->t, "}");
}

static bool any_load(const fc_cuda_gen *g, bool cached) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if ((g->used[a] & FC_CUDA_LOADS) && (g->cached[a] != 0) == cached) return true;
    return false;
}

static void one_pass(const fc_cuda_inner *in, unsigned phase, const char *limit) {
    fc_cuda_gen *g = in->g;
    fc_cuda_group quad = in->quad;
    quad.limit = limit;
    bool kept = any_load(g, true), more = any_load(g, false);
    int batch = kept && more && in->its > 2 ? 2 : in->batch; /* registers are taken already */
    bool turns = batch < in->its;
    const char *u = turns ? "h + u" : "u";
    if (turns) {
        fc_cuda_line(&g->t, kept ? "#pragma unroll" : "#pragma unroll 1");
        fc_cuda_line(&g->t, "for (int h = 0; h < %d; h += %d) {", in->its, batch);
        quad.kept = "[h + u]";
    }
    fc_cuda_group_declare(g, &quad, batch, false);
    if (more) load_batch(in, batch, u, &quad, false);
    begin_batch(in, batch, u);
    quad.taken = u;
    fc_cuda_group_compute(g, &quad, phase);
    fc_cuda_line(&g->t, "}");
    if (turns) fc_cuda_line(&g->t, "}");
}

fusec_status fc_cuda_keep(fc_cuda_gen *g, fc_error *e) {
    const int its = g->cls->cuda.iterations;
    FC_TRY(fc_cuda_cache(g->k, g->cls, g->cached, NULL, e));
    return fc_cuda_unroll(g->k, its, FC_CUDA_QUAD) == its
               ? fc_cuda_choose_held(g, its * FC_CUDA_QUAD, e)
               : FUSEC_OK;
}

/* Where elements end: for lanes side by side as seen from a thread's first one, so that each test
 * is of a number against a constant; elements with indices of their own know their number. */
static const char *limit_of(const fc_cuda_inner *in) {
    return in->full ? NULL : in->apart > 1 && !in->quad.own ? "left" : "here";
}

static void one_keep(const fc_cuda_inner *in) {
    fc_cuda_gen *g = in->g;
    for (uint32_t a = 0; a < g->k->accesses.len; a++) g->used[a] = g->cached[a] ? FC_CUDA_LOADS : 0;
    if (!any_load(g, true)) return;
    fc_cuda_group_declare(g, &in->quad, in->its, true);
    if (in->gang && g->cls->cuda.ahead) {
        fc_cuda_line(&g->t, "fc_copied();");
    }
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        if (!in->gang || !fc_cuda_gang_room(g, a)) continue;
        fc_cuda_gang_arrived(g, a);
        g->used[a] = 0;
    }
    fc_cuda_group quad = in->quad;
    quad.limit = limit_of(in);
    if (any_load(g, true)) load_batch(in, in->its, "u", &quad, true);
}

/* Whether all elements of this warp exist; the same in all its threads, which exchange values. */
static void declare_whole(const fc_cuda_inner *in) {
    fc_cuda_text *t = &in->g->t;
    int elements = in->its * (int)(in->team < 32 ? in->team : 32) * FC_CUDA_QUAD;
    if (in->full) return;
    if (in->warps > 1)
        fc_cuda_line(t, "const bool whole = (warp + 1) * %d <= here;", elements);
    else
        fc_cuda_line(t, "const bool whole = (block + 1) * %u <= rows && %d <= count;",
                     fc_cuda_block(in->g->cls) / in->team, elements);
}

static void one_stage(const fc_cuda_inner *in, unsigned stage) {
    fc_cuda_gen *g = in->g;
    fc_cuda_slice(g, stage, FC_POINT);
    fc_cuda_row(g);
    fc_cuda_declare_results(g, stage);
    fc_cuda_line(&g->t, "{");
    fc_inner_start_lanes(g, stage, FC_CUDA_QUAD);
    FC_EACH_REDUCTION(g, stage, "red%u x%u;", r, r);
    bool both = fc_cuda_any_counts(g->k, stage); /* known counts make joins cheap */
    if (both && !in->full) fc_cuda_line(&g->t, "if (whole) {");
    if (both || in->full) {
        one_pass(in, stage, NULL);
        fc_inner_meet_lanes(in, stage, true);
    }
    if (both && !in->full) fc_cuda_line(&g->t, "} else {");
    if (!in->full) {
        one_pass(in, stage, limit_of(in));
        fc_inner_meet_lanes(in, stage, false);
    }
    if (both && !in->full) fc_cuda_line(&g->t, "}");
    fc_cuda_now_held(g);
    fc_inner_join_warps(in, stage, "m");
    fc_inner_join_parts(in, stage);
    fc_inner_finish(g, stage);
    fc_cuda_line(&g->t, "}");
}

static void one_store(const fc_cuda_inner *in) {
    one_pass(in, FC_CUDA_STORES, limit_of(in));
}

static void emit_one(fc_cuda_inner *in) {
    fc_cuda_gen *g = in->g;
    fc_cuda_group_turn(g, &in->quad, fc_cuda_block(in->g->cls));
    fc_inner_team_rows(in);
    if (in->apart > 1) {
        in->quad.tested = "t";
        fc_cuda_line(&g->t,
                     in->warps > 1 ? "const ix left = here - warp * %d - lane;"
                                   : "const ix left = here - lane;",
                     FC_CHUNK);
    }
    in->quad.whole = in->apart == 1 && g->cls->cuda.whole;
    one_keep(in);
    fc_cuda_declare_held(g, FC_CUDA_QUAD, in->its);
    declare_whole(in);
    for (unsigned s = 0; s < g->k->nstages; s++) one_stage(in, s);
    if (fc_inner_begin_stores(g, in->warps > 1 ? "live && lane == 0 && warp == 0"
                                               : "live && lane == 0"))
        fc_inner_store(in, one_store);
    if (in->gang) {
        fc_cuda_line(&g->t, "}");
        fc_cuda_gang_end(g);
    }
    if (g->cls->cuda.repeat > 1) fc_cuda_line(&g->t, "}");
}

/* ---- entry ---------------------------------------------------------------------------------- */

fusec_status fc_cuda_emit_inner(fc_cuda_gen *g, fc_error *e) {
    const fc_cuda_kind kind = g->cls->cuda.kind;
    if (kind == FC_CUDA_THREAD) return emit_thread(g, e);
    fc_cuda_inner in = {.g = g,
                        .team =
                            kind == FC_CUDA_CLUSTER ? 32u * g->cls->cuda.warps : g->cls->cuda.team,
                        .gang = g->cls->cuda.split >= FC_CUDA_GANG,
                        .full = g->cls->cuda.full};
    in.warps = in.team > 32 ? in.team / 32 : 1;
    in.its = kind == FC_CUDA_ONE ? g->cls->cuda.iterations : FC_CHUNK / FC_LANES;
    in.batch = fc_cuda_unroll(g->k, in.its, FC_CUDA_QUAD);
    in.quad = (fc_cuda_group){.n = FC_CUDA_QUAD,
                              .step = 1,
                              .first = g->np,
                              .end = g->axes,
                              .own = g->cls->nr > 1 && !g->cls->aligned,
                              .wide = g->cls->aligned,
                              .number = "k",
                              .slot = "[u]",
                              .kept = "[u]",
                              .lanes = true,
                              .exchange = in.team < 32 ? in.team : 32};
    in.apart = fc_cuda_apart(g->cls);
    in.quad.step = (int)in.apart;
    if (in.apart > 1) in.quad.exchange = 0;
    if (kind == FC_CUDA_RING) return fc_cuda_emit_ring(&in, e);
    if (kind == FC_CUDA_CLUSTER) return fc_cuda_emit_cluster(&in, e);
    if (kind == FC_CUDA_ONE)
        emit_one(&in);
    else
        fc_cuda_emit_loop(&in);
    return FUSEC_OK;
}
