/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_scan.c - scans: what is before a run, the results at an element, and elements and results
 * that pass through shared memory.
 *
 * A thread adds up a run of neighbours, so neighbouring threads are a run apart: each of their
 * loads and stores would touch a line of its own. Where there is room the threads of a block
 * compute the elements of a tile, and store what is made of their prefixes, side by side, and in
 * between each takes its run from shared memory and puts results where the elements were. */
#include "codegen/cuda/cuda_walk.h"

enum { BATCH = 8 }; /* loads of a thread that are on the way together */

/* ---- what is before a run, and the results at an element ------------------------------------- */

static bool has_records(const fc_cuda_gen *g) {
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].record) return true;
    return false;
}

/* Slots that nobody reads any more are made zero again: where stores come last, behind them. */
static void leave(fc_cuda_gen *g) {
    fc_cuda_line(
        &g->t, "if (thread == 0) fc_leave(slots, %u, left, ticket, (unsigned int)rows, tiles, n);",
        fc_cuda_all_words(g->k));
}

static void look_back(fc_cuda_gen *g) {
    const unsigned words = fc_cuda_all_words(g->k);
    unsigned at = 0;
    fc_cuda_line(&g->t, "if (thread < 32) {");
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        fc_cuda_line(&g->t,
                     "fc_look_back(slots + %u, %u, tiles, n, tree%u[%d], red%u_start(), far%u);",
                     at, words, r, 2 * (int)fc_cuda_scan_threads(g->cls) - 2, r, r);
        at += fc_cuda_red_words(&g->k->reductions.at[r]);
    }
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "__syncthreads();");
    if (!g->cls->cuda.staged) leave(g);
}

void fc_cuda_scan_prefix(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    const bool down = g->cls->cuda.columns,
               shared = down || g->cls->cuda.block_rows || g->cls->cuda.split == FC_CUDA_BACK;
    if (g->cls->cuda.split == FC_CUDA_BACK) look_back(g);
    if (shared) {
        FC_EACH_REDUCTION(g, 0,
                          "const red%u before%u = fc_sum(far%u, n, fc_left%s<%d>(tree%u, "
                          "red%u_start()), thread != 0);",
                          r, r, r, down ? "_columns" : "",
                          down ? FC_CUDA_SCAN_DOWN : (int)fc_cuda_scan_threads(g->cls), r, r);
    } else {
        FC_EACH_REDUCTION(g, 0, "const red%u before%u = fc_sum(far%u, n, red%u_start());", r, r, r,
                          r);
        FC_EACH_REDUCTION(g, 0, "red%u w%u;", r, r);
    }
    if (has_records(g))
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

void fc_cuda_scan_stage(fc_cuda_gen *g) {
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        const fc_reduction *red = &g->k->reductions.at[r];
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "struct of%u {", r);
        for (unsigned v = 0; v < red->nvalues; v++)
            fc_str_printf(g->t.out, " %s v%u;", fc_cuda_type(fc_red_element(red, v)), v);
        fc_str_add(g->t.out, " };\n");
        fc_cuda_line(&g->t, "__shared__ fc_staged<of%u, %s> stage%u[%d];", r,
                     fc_cuda_red_result_type(g, r, (char[16]){0}), r,
                     (int)(fc_cuda_scan_tile(g->cls) + fc_cuda_scan_threads(g->cls)));
    }
}

/* The elements of a tile, neighbours by neighbouring threads; `results`: with those that are
 * staged, else they are. */
static void side_by_side(fc_cuda_walk *w, unsigned phase, bool results) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_text *t = &g->t;
    fc_cuda_group gr = w->group;
    gr.slot = "[u]";
    gr.limit = "stop";
    fc_cuda_slice(g, phase, FC_POINT);
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (int h = 0; h < %d && tile + h * %d < stop; h += %d) {", FC_RUN,
                 (int)fc_cuda_scan_threads(g->cls), (int)BATCH);
    fc_cuda_group_declare(g, &gr, BATCH, false);
    for (int part = 0; part < 2; part++) {
        fc_cuda_line(t, "#pragma unroll");
        fc_cuda_line(t, "for (int u = 0; u < %d; u++) {", (int)BATCH);
        fc_cuda_line(t, "const int in_tile = (h + u) * %d + (int)thread;",
                     (int)fc_cuda_scan_threads(g->cls));
        fc_cuda_line(t, "const ix k = tile + in_tile;");
        if (part == 0) {
            fc_cuda_group_load(g, &gr, false);
        } else {
            fc_cuda_line(t, "const int at = fc_stage_at(in_tile);");
            if (results) FC_EACH_REDUCTION(g, 0, "const auto f%u = stage%u[at].y;", r, r);
            g->stages = !results;
            fc_cuda_group_compute(g, &gr, phase);
            g->stages = false;
        }
        fc_cuda_line(t, "}");
    }
    fc_cuda_line(t, "}");
}

static void step(fc_cuda_gen *g, unsigned r) {
    fc_cuda_indent(&g->t);
    fc_str_printf(g->t.out, "red%u_step(w%u, ", r, r);
    for (unsigned v = 0; v < g->k->reductions.at[r].nvalues; v++)
        fc_str_printf(g->t.out, "x%u.v%u, ", r, v);
    fc_str_add(g->t.out, "(long long)k, 0);\n");
}

/* A run, element by element; with the results in place of the elements. */
static void along_the_run(fc_cuda_walk *w, bool results) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_text *t = &g->t;
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %d; u++) {", FC_RUN);
    fc_cuda_line(t, "const ix k = begin + u;");
    fc_cuda_line(t, "if (k < end) {");
    fc_cuda_line(t, "const int at = fc_stage_at((int)thread * %d + u);", FC_RUN);
    FC_EACH_REDUCTION(g, 0, "const of%u x%u = stage%u[at].x;", r, r, r);
    if (results) {
        fc_cuda_declare_results(g, 0);
        fc_cuda_scanned(w, true);
    }
    for (unsigned r = 0; r < g->k->reductions.len; r++) step(g, r);
    if (results) {
        fc_cuda_scanned(w, false);
        FC_EACH_REDUCTION(g, 0, "stage%u[at].y = f%u;", r, r);
    }
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
}

void fc_cuda_scan_staged(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    const bool many = g->cls->cuda.split == FC_CUDA_BACK;
    if (!w->prefixed) {
        fc_cuda_line(&g->t, "const ix tile = begin - (ix)thread * %d;", FC_RUN);
        fc_cuda_line(&g->t, "const ix stop = tile + %d < count ? tile + %d : count;",
                     (int)fc_cuda_scan_tile(g->cls), (int)fc_cuda_scan_tile(g->cls));
        if (!many) fc_cuda_line(&g->t, "__syncthreads();"); /* the tile before has been stored */
        side_by_side(w, 0, false);
        fc_cuda_line(&g->t, "__syncthreads();");
        along_the_run(w, false);
        return;
    }
    along_the_run(w, true);
    fc_cuda_line(&g->t, "__syncthreads();");
    side_by_side(w, FC_CUDA_STORES, true);
    if (many) leave(g);
}
