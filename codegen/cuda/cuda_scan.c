/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_scan.c - scans: what is before a run, the results at an element, and elements and results
 * that pass through shared memory.
 *
 * A thread adds up runs of neighbours, so neighbouring threads are a run apart: each of their loads
 * and stores would touch a line of its own. Where there is room the lanes of a warp compute the
 * elements of their runs, and store what is made of their prefixes, side by side, and in between
 * each takes its runs from shared memory and puts results where the elements were. */
#include <stdio.h>

#include "codegen/cuda/cuda_walk.h"

enum { BATCH = 8, WIDE_BATCH = 4 }; /* loads of a thread that are on the way together */

/* ---- what is before a run, and the results at an element ------------------------------------- */

static bool has_records(const fc_cuda_gen *g) {
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].record) return true;
    return false;
}

/* Slots that nobody reads any more are made zero again: where stores come last, behind them. The
 * counter is asked for before. */
static void leave(fc_cuda_gen *g) {
    fc_cuda_line(&g->t,
                 "if (thread == 0) fc_leave(slots, %u, left, ticket, (unsigned int)rows, tiles, n, "
                 "gone);",
                 fc_cuda_all_words(g->k));
}

static void look_back(fc_cuda_gen *g) {
    const unsigned words = fc_cuda_all_words(g->k);
    unsigned at = 0;
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        fc_cuda_line(&g->t, "fc_look_back<%u>(slots + %u, %u, tiles, n, total%u, far%u);",
                     fc_cuda_scan_threads(g->cls), at, words, r, r);
        at += fc_cuda_red_words(&g->k->reductions.at[r]);
    }
    fc_cuda_line(&g->t, "__syncthreads();");
    fc_cuda_line(&g->t, "unsigned int gone = 0;");
    fc_cuda_line(&g->t, "if (thread == 0 && tiles > 1) gone = atomicAdd(left + n / 32, 1u);");
    if (!g->cls->cuda.staged) leave(g);
}

/* The tree over what the threads of a block have, and what is left of each. What threads hand to
 * each other lies in two places by turns: some may read that of a tile while others have the next.
 */
static void join(fc_cuda_gen *g) {
    const bool many = g->cls->cuda.split == FC_CUDA_BACK, down = g->cls->cuda.columns;
    const unsigned threads = fc_cuda_scan_threads(g->cls), set = down ? threads : threads / 32;
    if (!g->cls->cuda.staged && down) {
        FC_EACH_REDUCTION(g, 0, "const columns%u run%u = {{w%u}};", r, r, r);
        FC_EACH_REDUCTION(g, 0, "columns%u left%u[1] = {{{red%u_start()}}};", r, r, r);
    } else if (!g->cls->cuda.staged) {
        FC_EACH_REDUCTION(g, 0, "const red%u run%u[1] = {w%u};", r, r, r);
        FC_EACH_REDUCTION(g, 0, "red%u left%u[1] = {red%u_start()};", r, r, r);
    }
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "const %s%u total%u = ", down ? "columns" : "red", r, r);
        if (down)
            fc_str_printf(g->t.out, "fc_grow_columns<%u>(run%u, left%u[0], ",
                          fc_cuda_scan_down(g->cls), r, r);
        else
            fc_str_printf(g->t.out, "fc_grow<%u>(run%u, left%u, ", threads, r, r);
        fc_str_printf(g->t.out, "tree%u", r);
        if (!many) fc_str_printf(g->t.out, " + (n & 1) * %u", set);
        fc_str_add(g->t.out, ");\n");
    }
}

static void prefix(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    const bool shared = g->cls->cuda.columns || g->cls->cuda.block_rows;
    if (g->cls->cuda.split == FC_CUDA_BACK) look_back(g);
    if (shared) {
        FC_EACH_REDUCTION(g, 0, "fc_far(far%u, n, left%u, thread != 0);", r, r);
        if (!g->cls->cuda.staged)
            FC_EACH_REDUCTION(g, 0, "const red%u before%u = left%u[0]%s;", r, r, r,
                              g->cls->cuda.columns ? ".c[0]" : "");
    } else {
        FC_EACH_REDUCTION(g, 0, "const red%u before%u = fc_sum(far%u, n, red%u_start());", r, r, r,
                          r);
        FC_EACH_REDUCTION(g, 0, "red%u w%u;", r, r);
    }
    if (has_records(g) && !g->cls->cuda.staged)
        fc_cuda_line(&g->t, "const bool first_run = n == 0%s;", shared ? " && thread == 0" : "");
    w->prefixed = true;
}

/* With the start of a definition in front a first run may not be what it is: 0 times infinity. */
static void scanned(const fc_cuda_walk *w, bool exclusive) {
    fc_cuda_gen *g = w->in.g;
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        if (g->k->reductions.at[r].exclusive != exclusive) continue;
        if (g->k->reductions.at[r].record)
            fc_cuda_line(&g->t,
                         "f%u = red%u_finish(first_run ? w%u : fc_join(before%u, w%u), count);", r,
                         r, r, r, r);
        else
            fc_cuda_line(&g->t, "f%u = red%u_finish(fc_join(before%u, w%u), count);", r, r, r, r);
    }
}

/* ---- through shared memory ------------------------------------------------------------------- */

/* Of a tile; of columns, of a thread, in its registers. */
static void declare_stage(fc_cuda_gen *g) {
    const bool down = g->cls->cuda.columns;
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        const fc_reduction *red = &g->k->reductions.at[r];
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "struct of%u {", r);
        for (unsigned v = 0; v < red->nvalues; v++)
            fc_str_printf(g->t.out, " %s v%u;", fc_cuda_type(fc_red_element(red, v)), v);
        fc_str_add(g->t.out, " };\n");
        fc_cuda_line(&g->t, "%sfc_staged<of%u, %s> stage%u[%u];",
                     down ? "" : "alignas(16) __shared__ ", r,
                     fc_cuda_red_result_type(g, r, (char[16]){0}), r,
                     down ? (unsigned)FC_RUN * g->cls->vector : fc_cuda_scan_tile(g->cls));
    }
}

/* The elements of the runs of a warp, neighbours by neighbouring lanes; `results`: with those that
 * are staged, else they are. */
static void side_by_side(fc_cuda_walk *w, unsigned phase, bool results) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_text *t = &g->t;
    fc_cuda_group gr = w->group;
    const int batch = gr.n > 1 ? WIDE_BATCH : BATCH, each = 32 * gr.n,
              turns = FC_RUN * (int)fc_cuda_scan_runs(g->cls) / gr.n;
    gr.slot = "[u]";
    gr.limit = "stop";
    gr.staged = results;
    fc_cuda_slice(g, phase, FC_POINT);
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (int h = 0; h < %d && part + h * %d < stop; h += %d) {", turns, each,
                 batch);
    fc_cuda_group_declare(g, &gr, batch, false);
    for (int half = 0; half < 2; half++) {
        fc_cuda_line(t, "#pragma unroll");
        fc_cuda_line(t, "for (int u = 0; u < %d; u++) {", batch);
        fc_cuda_line(t, "const ix k = part + (h + u) * %d + (int)lane * %d;", each, gr.n);
        if (half == 0) {
            fc_cuda_group_load(g, &gr, false);
        } else {
            FC_EACH_REDUCTION(g, 0,
                              "const int at%u = fc_stage_at(stage%u, (int)(thread / 32) * %d + "
                              "(h + u) * %d + (int)lane * %d);",
                              r, r, turns * each, each, gr.n);
            g->stages = !results;
            fc_cuda_group_compute(g, &gr, phase);
            g->stages = false;
        }
        fc_cuda_line(t, "}");
    }
    fc_cuda_line(t, "}");
}

/* What is made of elements that do not exist is nobody's, but a definition may loop or be a user's,
 * and a bool be neither. */
static bool tests_elements(const fc_cuda_gen *g) {
    for (size_t n = 0; n < fc_cuda_nbodies(g->k); n++)
        for (size_t v = 0; v < g->bodies[n].ins.len; v++)
            if (g->bodies[n].ins.at[v].op == FC_OP_ROUNDS ||
                g->bodies[n].ins.at[v].op == FC_OP_EXTERN)
                return true;
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        for (unsigned v = 0; v < g->k->reductions.at[r].nvalues; v++)
            if (fc_red_element(&g->k->reductions.at[r], v) == FUSEC_BOOL) return true;
    return false;
}

static void step(fc_cuda_gen *g, unsigned r) {
    fc_cuda_indent(&g->t);
    fc_str_printf(g->t.out, "red%u_step(w%u, ", r, r);
    for (unsigned v = 0; v < g->k->reductions.at[r].nvalues; v++)
        fc_str_printf(g->t.out, "x%u[e].v%u, ", r, v);
    fc_str_add(g->t.out, "(long long)k, 0);\n");
}

/* What lies in a four of places, of every reduction; one access of shared memory where it can be.
 */
static void four(fc_cuda_gen *g, const char *format) {
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int e = 0; e < 4; e++) {");
    for (unsigned r = 0; r < g->k->reductions.len; r++) fc_cuda_line(&g->t, format, r, r, r);
    fc_cuda_line(&g->t, "}");
}

/* The runs of a thread, one behind the other or of columns side by side, element by element; with
 * the results in place of the elements. */
static void along_the_runs(fc_cuda_walk *w, bool results) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_text *t = &g->t;
    const bool tested = tests_elements(g), down = g->cls->cuda.columns;
    const unsigned runs = down ? g->cls->vector : fc_cuda_scan_runs(g->cls);
    if (!results && down) {
        FC_EACH_REDUCTION(g, 0, "columns%u run%u, left%u[1];", r, r, r);
    } else if (!results) {
        FC_EACH_REDUCTION(g, 0, "red%u run%u[%u], left%u[%u];", r, r, runs, r, runs);
        FC_EACH_REDUCTION(g, 0, "left%u[0] = red%u_start();", r, r);
    }
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int run = 0; run < %u; run++) {", runs);
    FC_EACH_REDUCTION(g, 0, "red%u w%u = red%u_start();", r, r, r);
    if (results) {
        FC_EACH_REDUCTION(g, 0, "const red%u before%u = left%u[%s];", r, r, r,
                          down ? "0].c[run" : "run");
        if (has_records(g))
            fc_cuda_line(t, "const bool first_run = n == 0 && thread == 0%s;",
                         down ? "" : " && run == 0");
    } else if (down) {
        FC_EACH_REDUCTION(g, 0, "left%u[0].c[run] = w%u;", r, r);
    }
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %d; u += 4) {", FC_RUN);
    if (down) {
        FC_EACH_REDUCTION(g, 0, "const int at%u = run * %d + u;", r, FC_RUN);
    } else {
        FC_EACH_REDUCTION(g, 0,
                          "const int at%u = fc_stage_at(stage%u, ((int)thread * %u + run) * %d + "
                          "u);",
                          r, r, runs, FC_RUN);
    }
    FC_EACH_REDUCTION(g, 0, "of%u x%u[4];", r, r);
    four(g, "x%u[e] = stage%u[at%u ^ e].x;");
    if (results) {
        FC_EACH_REDUCTION(g, 0, "%s y%u[4];", fc_cuda_red_result_type(g, r, (char[16]){0}), r);
    }
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int e = 0; e < 4; e++) {");
    if (down)
        fc_cuda_line(t, "const ix k = begin + u + e;");
    else
        fc_cuda_line(t, "const ix k = begin + run * %d + u + e;", FC_RUN);
    if (tested) fc_cuda_line(t, "if (k < end) {");
    if (results) {
        fc_cuda_declare_results(g, 0);
        scanned(w, true);
    }
    for (unsigned r = 0; r < g->k->reductions.len; r++) step(g, r);
    if (results) {
        scanned(w, false);
        FC_EACH_REDUCTION(g, 0, "y%u[e] = f%u;", r, r);
    }
    if (tested) fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
    if (results) four(g, "stage%u[at%u ^ e].y = y%u[e];");
    fc_cuda_line(t, "}");
    if (!results) FC_EACH_REDUCTION(g, 0, "run%u%s = w%u;", r, down ? ".c[run]" : "[run]", r);
    fc_cuda_line(t, "}");
}

/* ---- through registers ----------------------------------------------------------------------- */

/* What a thread of a column reads for the run from `begin` on; then its elements, or what is made
 * of the results. */
static void read_run(fc_cuda_walk *w, const char *begin) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_group gr = w->group;
    gr.slot = "[u]";
    gr.limit = "stop";
    fc_cuda_slice(g, 0, FC_POINT);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", FC_RUN);
    fc_cuda_line(&g->t, "const ix k = %s + u;", begin);
    fc_cuda_group_load(g, &gr, false);
    fc_cuda_line(&g->t, "}");
}

static void compute_run(fc_cuda_walk *w, bool results) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_group gr = w->group;
    const unsigned phase = results ? (unsigned)FC_CUDA_STORES : 0;
    gr.slot = results ? "" : "[u]";
    gr.limit = "stop";
    gr.staged = results;
    fc_cuda_slice(g, phase, FC_POINT);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", FC_RUN);
    fc_cuda_line(&g->t, "const ix k = begin + u;");
    FC_EACH_REDUCTION(g, 0, "const int at%u = u;", r);
    if (results) {
        fc_cuda_group_declare(g, &gr, 0, false);
        fc_cuda_group_load(g, &gr, false);
    }
    g->stages = !results;
    fc_cuda_group_compute(g, &gr, phase);
    g->stages = false;
    fc_cuda_line(&g->t, "}");
}

/* Before the first tile of a column. */
static void ask_ahead(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_group gr = w->group;
    gr.slot = "[u]";
    fc_cuda_line(&g->t, "const ix stop = live ? count : 0;");
    fc_cuda_slice(g, 0, FC_POINT);
    fc_cuda_group_declare(g, &gr, FC_RUN, false);
    char first[32];
    snprintf(first, sizeof first, "(ix)thread * %d", FC_RUN);
    read_run(w, first);
}

/* The run of the next tile is asked for before this one waits for the other warps. */
static void columns_staged(fc_cuda_walk *w) {
    if (w->prefixed) {
        along_the_runs(w, true);
        compute_run(w, true);
        return;
    }
    char next[32];
    snprintf(next, sizeof next, "begin + %u", fc_cuda_scan_down(w->in.g->cls) * FC_RUN);
    declare_stage(w->in.g);
    compute_run(w, false);
    read_run(w, next);
    along_the_runs(w, false);
}

/* ---- both -------------------------------------------------------------------------------------
 */

/* A warp has the elements of its own runs only, so its lanes wait for no other one. */
static void staged(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    const unsigned runs = FC_RUN * fc_cuda_scan_runs(g->cls), tile = fc_cuda_scan_tile(g->cls);
    if (g->cls->cuda.columns) {
        columns_staged(w);
        return;
    }
    if (!w->prefixed) {
        fc_cuda_line(&g->t, "const ix tile = begin - (ix)thread * %u;", runs);
        fc_cuda_line(&g->t, "const ix part = begin - (ix)lane * %u;", runs);
        fc_cuda_line(&g->t, "const ix stop = tile + %u < count ? tile + %u : count;", tile, tile);
        side_by_side(w, 0, false);
        fc_cuda_line(&g->t, "__syncwarp();");
        along_the_runs(w, false);
        return;
    }
    along_the_runs(w, true);
    fc_cuda_line(&g->t, "__syncwarp();");
    side_by_side(w, FC_CUDA_STORES, true);
    if (g->cls->cuda.split == FC_CUDA_BACK)
        leave(g);
    else
        fc_cuda_line(&g->t, "__syncwarp();"); /* before the next tile */
}

/* ---- who works on what ------------------------------------------------------------------------
 */

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
static void columns_place(fc_cuda_gen *g) {
    const unsigned v = g->cls->vector;
    char lane[40] = "(ix)(threadIdx.x & 31)";
    if (v > 1) snprintf(lane, sizeof lane, "(ix)(threadIdx.x & 31) * %u", v);
    fc_cuda_line(&g->t, "const ix column = (ix)blockIdx.x * %u + %s;", fc_cuda_scan_columns(g->cls),
                 lane);
    fc_cuda_line(&g->t, "const bool live = column < rows;");
    fc_cuda_line(&g->t, "const ix row = live ? column : rows - 1;");
    fc_cuda_line(&g->t, "const unsigned int thread = threadIdx.x / 32;");
}

void fc_cuda_scan_place(fc_cuda_gen *g) {
    const bool many = g->cls->cuda.split == FC_CUDA_BACK, down = g->cls->cuda.columns;
    const bool one = many || g->cls->cuda.block_rows, shared = one || down;
    if (down) {
        columns_place(g);
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
    if (shared) /* for join */
        FC_EACH_REDUCTION(g, 0, "__shared__ %s%u tree%u[%u];", down ? "columns" : "red", r, r,
                          fc_cuda_scan_threads(g->cls) / (down ? 1 : 32) * (many ? 1 : 2));
    if (many) FC_EACH_REDUCTION(g, 0, "__shared__ red%u far%u[%d];", r, r, TILE_LEVELS);
    if (g->cls->cuda.staged && !down) declare_stage(g);
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void serial(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_text *t = &w->in.g->t;
    if (n->way == FC_LOOP_STAGED) {
        staged(w);
        return;
    }
    if (n->step == 1) { /* what the next elements read is on its way */
        fc_cuda_line(t, "#pragma unroll %d", FC_RUN / 2);
        fc_cuda_line(t, "for (ix k = begin; k < end; k++) {");
    } else {
        fc_cuda_line(t, "for (unsigned int n = 0; (ix)n * %u < count; n++) {", (unsigned)n->step);
    }
    if (n->step == FC_RUN) {
        fc_cuda_line(t, "const ix begin = (ix)n * %d;", FC_RUN);
        fc_cuda_line(t, "const ix end = begin + %d < count ? begin + %d : count;", FC_RUN, FC_RUN);
    }
    fc_cuda_walk_list(w, n->body);
    fc_cuda_line(t, "}");
}

/* Threads of a block, which have runs of the tile or rows of their own. */
static void block(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_text *t = &w->in.g->t;
    if (n->step >= FC_RUN) {
        fc_cuda_line(t, "const ix begin = ((ix)n * %u + (ix)thread) * %u;", (unsigned)n->count,
                     (unsigned)n->step);
        fc_cuda_line(t, "const ix end = %sbegin + %u < count ? begin + %u : count;",
                     w->in.g->cls->cuda.columns ? "!live ? begin : " : "", (unsigned)n->step,
                     (unsigned)n->step);
    }
    fc_cuda_walk_list(w, n->body);
}

/* The subtrees before a run, or a tile. */
static void clear(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    enum { LEVELS = 40 };
    if (g->cls->cuda.split == FC_CUDA_BACK) return;
    if (g->cls->cuda.columns && g->cls->cuda.staged) ask_ahead(w);
    if (g->cls->cuda.block_rows) { /* a level a lane */
        FC_EACH_REDUCTION(g, 0, "red%u far%u = red%u_start();", r, r, r);
    } else {
        FC_EACH_REDUCTION(g, 0, "%s%u far%u[%d];", g->cls->cuda.columns ? "columns" : "red", r, r,
                          LEVELS);
    }
}

static void push(fc_cuda_gen *g) {
    if (g->cls->cuda.block_rows) {
        FC_EACH_REDUCTION(g, 0, "fc_keep(far%u, total%u, n);", r, r);
    } else if (g->cls->cuda.columns) {
        FC_EACH_REDUCTION(g, 0, "fc_put(far%u, total%u, n);", r, r);
    } else {
        FC_EACH_REDUCTION(g, 0, "fc_put(far%u, w%u, n);", r, r);
    }
}

static void point(fc_cuda_walk *w, const fc_loop *n) {
    if (w->prefixed && n->phase == 0) {
        fc_cuda_declare_results(w->in.g, 0);
        scanned(w, true);
    }
    fc_cuda_walk_group(w, n->phase, true);
}

bool fc_cuda_scan_node(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    switch (n->kind) {
    case FC_LOOP_SERIAL: serial(w, n); break;
    case FC_LOOP_BLOCK: block(w, n); break;
    case FC_LEAF_ROW:
        fc_cuda_slice(g, n->phase ? (unsigned)FC_CUDA_STORES : 0, FC_POINT);
        fc_cuda_row(g);
        break;
    case FC_LEAF_START: /* if staged, with the text of the runs */
        if (g->cls->cuda.staged) break;
        FC_EACH_REDUCTION(g, 0, w->prefixed ? "w%u = red%u_start();" : "red%u w%u = red%u_start();",
                          r, r, r);
        break;
    case FC_LEAF_CLEAR: clear(w); break;
    case FC_LEAF_JOIN: join(g); break;
    case FC_LEAF_PUSH: push(g); break;
    case FC_LEAF_PREFIX: prefix(w); break;
    case FC_LEAF_SCANNED: scanned(w, false); break;
    case FC_LEAF_POINT: point(w, n); break;
    default: return false;
    }
    return true;
}
