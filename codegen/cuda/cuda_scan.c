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
void fc_cuda_scan_join(fc_cuda_gen *g) {
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

void fc_cuda_scan_prefix(fc_cuda_walk *w) {
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
void fc_cuda_scanned(const fc_cuda_walk *w, bool exclusive) {
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
void fc_cuda_scan_stage(fc_cuda_gen *g) {
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
        fc_cuda_scanned(w, true);
    }
    for (unsigned r = 0; r < g->k->reductions.len; r++) step(g, r);
    if (results) {
        fc_cuda_scanned(w, false);
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
void fc_cuda_scan_ahead(fc_cuda_walk *w) {
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
    fc_cuda_scan_stage(w->in.g);
    compute_run(w, false);
    read_run(w, next);
    along_the_runs(w, false);
}

/* ---- both -------------------------------------------------------------------------------------
 */

/* A warp has the elements of its own runs only, so its lanes wait for no other one. */
void fc_cuda_scan_staged(fc_cuda_walk *w) {
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
