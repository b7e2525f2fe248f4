/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_scan.c - prefixes along an axis, in the order of codegen/nest.h.
 *
 * A run of FC_RUN elements is taken in order by one thread; in front of it stands the tree over all
 * runs before it. Where neighbouring rows lie side by side, or rows are short, a thread has a row
 * of its own and keeps the finished subtrees of its runs. Else a block has a row: each thread takes
 * one run of a tile, the totals of the runs become a tree in shared memory, every thread puts the
 * subtrees to its left together, with the tiles before in front, and goes through its run once
 * more.
 *
 * Where rows are long and few, several blocks share one (split == FC_CUDA_BACK): each takes a tile
 * by a ticket, publishes its total and looks back at those of the tiles before it, all of which
 * have begun. Totals depend on nothing that is before them, so nobody waits for a chain of others;
 * the subtrees in front of a tile are those that one block would have kept, so the bits are the
 * same (prelude/trees.cuh, section back). Slots and tickets are zero again when the last has left.
 *
 * In: the class: `block_rows` and `split` say which. */
#include "codegen/cuda/cuda.h"

enum { LEVELS = 40 };      /* of the counter of a thread */
enum { TILE_LEVELS = 20 }; /* of the subtrees before a tile: tickets have 32 bits */

typedef struct scan {
    fc_cuda_gen *g;
    fc_cuda_group one; /* element k */
} scan;

/* The text of a slice for element k. */
static void pass(const scan *s, unsigned phase) {
    fc_cuda_gen *g = s->g;
    fc_cuda_slice(g, phase, FC_POINT);
    fc_cuda_line(&g->t, "{");
    fc_cuda_group_declare(g, &s->one, 0, false);
    fc_cuda_group_load(g, &s->one, false);
    fc_cuda_group_compute(g, &s->one, phase);
    fc_cuda_line(&g->t, "}");
}

static bool has_records(const fc_cuda_gen *g) {
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].record) return true;
    return false;
}

/* With the start of a definition in front a first run may not be what it is: 0 times infinity. */
static void results(const scan *s, bool exclusive) {
    fc_cuda_gen *g = s->g;
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        if (g->k->reductions.at[r].exclusive != exclusive) continue;
        if (g->k->reductions.at[r].record)
            fc_cuda_line(&g->t, "f%u = red%u_finish(first ? w%u : fc_join(before%u, w%u), count);",
                         r, r, r, r, r);
        else
            fc_cuda_line(&g->t, "f%u = red%u_finish(fc_join(before%u, w%u), count);", r, r, r, r);
    }
}

/* Elements begin to end, each with its step and, `stored`, with the prefix that it ends. */
static void run(const scan *s, bool stored) {
    fc_cuda_gen *g = s->g;
    FC_EACH_REDUCTION(g, 0, stored ? "w%u = red%u_start();" : "red%u w%u = red%u_start();", r, r,
                      r);
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (ix k = begin; k < end; k++) {");
    if (stored) {
        fc_cuda_declare_results(g, 0);
        results(s, true);
    }
    pass(s, 0);
    if (stored) {
        results(s, false);
        pass(s, FC_CUDA_STORES);
    }
    fc_cuda_line(&g->t, "}");
}

static void place(const scan *s) {
    fc_cuda_gen *g = s->g;
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
    for (int phase = 0; phase < 2; phase++) {
        fc_cuda_slice(g, phase ? (unsigned)FC_CUDA_STORES : 0, FC_POINT);
        fc_cuda_row(g);
    }
}

static void rows_of_threads(const scan *s) {
    fc_cuda_gen *g = s->g;
    fc_cuda_line(&g->t, "const ix row = (ix)blockIdx.x * %d + (ix)threadIdx.x;", FC_CUDA_THREADS);
    fc_cuda_line(&g->t, "if (row >= rows) return;");
    place(s);
    FC_EACH_REDUCTION(g, 0, "red%u far%u[%d];", r, r, LEVELS);
    fc_cuda_line(&g->t, "for (unsigned int n = 0; (ix)n * %d < count; n++) {", FC_RUN);
    fc_cuda_line(&g->t, "const ix begin = (ix)n * %d;", FC_RUN);
    fc_cuda_line(&g->t, "const ix end = begin + %d < count ? begin + %d : count;", FC_RUN, FC_RUN);
    FC_EACH_REDUCTION(g, 0, "const red%u before%u = fc_sum(far%u, n, red%u_start());", r, r, r, r);
    FC_EACH_REDUCTION(g, 0, "red%u w%u;", r, r);
    if (has_records(g)) fc_cuda_line(&g->t, "const bool first = n == 0;");
    run(s, true);
    FC_EACH_REDUCTION(g, 0, "fc_put(far%u, w%u, n);", r, r);
    fc_cuda_line(&g->t, "}");
}

/* The totals of the threads' runs in tile n become a tree. */
static void grow_tile(const scan *s) {
    fc_cuda_gen *g = s->g;
    fc_cuda_line(&g->t, "const ix begin = ((ix)n * %d + (ix)thread) * %d;", FC_CUDA_THREADS,
                 FC_RUN);
    fc_cuda_line(&g->t, "const ix end = begin + %d < count ? begin + %d : count;", FC_RUN, FC_RUN);
    run(s, false);
    FC_EACH_REDUCTION(g, 0, "fc_grow<%d>(tree%u, w%u);", FC_CUDA_THREADS, r, r);
}

/* What is before each thread, and its run once more. */
static void scan_tile(const scan *s) {
    fc_cuda_gen *g = s->g;
    FC_EACH_REDUCTION(g, 0,
                      "const red%u before%u = fc_sum(far%u, n, fc_left<%d>(tree%u, red%u_start()), "
                      "thread != 0);",
                      r, r, r, FC_CUDA_THREADS, r, r);
    if (has_records(g)) fc_cuda_line(&g->t, "const bool first = n == 0 && thread == 0;");
    run(s, true);
}

/* A tile of a row by ticket, where its slots are, and those of the counters of who has left. */
static void take_tile(const scan *s) {
    fc_cuda_gen *g = s->g;
    fc_cuda_text *t = &g->t;
    const unsigned words = fc_cuda_all_words(g->k);
    fc_cuda_line(t, "const unsigned int tiles = (unsigned int)((count + %d) / %d);",
                 FC_CUDA_SCAN_TILE - 1, FC_CUDA_SCAN_TILE);
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

static void rows_of_many(const scan *s) {
    fc_cuda_gen *g = s->g;
    const unsigned words = fc_cuda_all_words(g->k);
    unsigned at = 0;
    fc_cuda_line(&g->t, "const unsigned int thread = threadIdx.x;");
    take_tile(s);
    FC_EACH_REDUCTION(g, 0, "__shared__ red%u tree%u[%d];", r, r, 2 * FC_CUDA_THREADS);
    FC_EACH_REDUCTION(g, 0, "__shared__ red%u far%u[%d];", r, r, TILE_LEVELS);
    place(s);
    grow_tile(s);
    fc_cuda_line(&g->t, "if (thread < 32) {");
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        fc_cuda_line(&g->t,
                     "fc_look_back(slots + %u, %u, tiles, n, tree%u[%d], red%u_start(), far%u);",
                     at, words, r, 2 * FC_CUDA_THREADS - 2, r, r);
        at += fc_cuda_red_words(&g->k->reductions.at[r]);
    }
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "__syncthreads();");
    fc_cuda_line(
        &g->t, "if (thread == 0) fc_leave(slots, %u, left, ticket, (unsigned int)rows, tiles, n);",
        words);
    scan_tile(s);
}

static void rows_of_blocks(const scan *s) {
    fc_cuda_gen *g = s->g;
    fc_cuda_line(&g->t, "const ix row = (ix)blockIdx.x;");
    fc_cuda_line(&g->t, "const unsigned int thread = threadIdx.x;");
    FC_EACH_REDUCTION(g, 0, "__shared__ red%u tree%u[%d];", r, r, 2 * FC_CUDA_THREADS);
    place(s);
    FC_EACH_REDUCTION(g, 0, "red%u far%u[%d];", r, r, LEVELS);
    fc_cuda_line(&g->t, "for (unsigned int n = 0; (ix)n * %d < count; n++) {", FC_CUDA_SCAN_TILE);
    grow_tile(s);
    scan_tile(s);
    FC_EACH_REDUCTION(g, 0, "fc_put(far%u, tree%u[%d], n);", r, r, 2 * FC_CUDA_THREADS - 2);
    fc_cuda_line(&g->t, "__syncthreads();");
    fc_cuda_line(&g->t, "}");
}

void fc_cuda_emit_scan(fc_cuda_gen *g) {
    const scan s = {.g = g,
                    .one = {.n = 1,
                            .step = 1,
                            .first = g->np,
                            .end = g->axes,
                            .number = "k",
                            .slot = "",
                            .taken = "0"}};
    if (g->cls->cuda.split == FC_CUDA_BACK)
        rows_of_many(&s);
    else if (g->cls->cuda.block_rows)
        rows_of_blocks(&s);
    else
        rows_of_threads(&s);
}
