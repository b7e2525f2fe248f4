/* cuda_outer.c - the innermost axis is kept: the outer tree of codegen/nest.h.
 *
 * Threads along x own neighbouring rows, so that every access of a warp is contiguous. Threads
 * along y share a row: each takes an aligned power-of-two span of runs of FC_RUN elements, combines
 * its runs by a binary counter, and the partials meet in shared memory in order of y. With split a
 * row's spans are spread over blocks as well (blockIdx.y); the last block of a group of rows
 * combines them the same way.
 *
 * Threads without a row work on the last one with `here` = 0 elements: they take part in every
 * barrier. */
#include "codegen/cuda/cuda.h"

typedef struct outer {
    fc_cuda_gen *g;
    unsigned x, y; /* threads of a block */
    int batch;     /* elements whose loads are in flight together */
} outer;

static void places(const outer *o) {
    fc_cuda_gen *g = o->g;
    fc_cuda_line(&g->t, "const ix place = (ix)blockIdx.x * %u + (ix)threadIdx.x;", o->x);
    fc_cuda_line(&g->t, "const bool live = place < rows;");
    fc_cuda_line(&g->t, "const ix row = live ? place : rows - 1;");
    fc_cuda_line(&g->t, "const ix here = live ? count : 0;");
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
    fc_cuda_line(&g->t, "const ix span = (ix)p.w[%u] / %u;", g->l.extra + FC_PB_SPAN, o->y);
    if (g->cls->split)
        fc_cuda_line(&g->t, "const ix begin = ((ix)blockIdx.y * %u + (ix)threadIdx.y) * span;",
                     o->y);
    else
        fc_cuda_line(&g->t, "const ix begin = (ix)threadIdx.y * span;");
    fc_cuda_line(&g->t, "const ix end = begin + span < here ? begin + span : here;");
}

/* ---- one run -------------------------------------------------------------------------------- */

static void run(const outer *o, unsigned phase, const char *limit, int batch) {
    fc_cuda_gen *g = o->g;
    fc_cuda_group gr = {.n = batch,
                        .step = 1,
                        .first = g->np,
                        .end = g->axes,
                        .own = g->cls->nr > 1,
                        .number = "k",
                        .limit = limit,
                        .slot = "",
                        .taken = "k - c + e"};
    bool turns = batch < FC_RUN;
    if (turns) {
        fc_cuda_line(&g->t, "#pragma unroll 1");
        fc_cuda_line(&g->t, "for (ix k = c; k < c + %d; k += %d) {", FC_RUN, batch);
    } else {
        fc_cuda_line(&g->t, "const ix k = c;");
    }
    fc_cuda_group_declare(g, &gr, 0, false);
    fc_cuda_group_load(g, &gr, false);
    fc_cuda_group_compute(g, &gr, phase);
    if (turns) fc_cuda_line(&g->t, "}");
}

/* Whole runs go without a test; at most one run of a row is not whole. */
static void runs(const outer *o, unsigned phase) {
    fc_cuda_gen *g = o->g;
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (ix c = begin; c < end; c += %d) {", FC_RUN);
    FC_EACH_REDUCTION(g, phase, "red%u w%u = red%u_start();", r, r, r);
    fc_cuda_line(&g->t, "if (c + %d <= end) {", FC_RUN);
    run(o, phase, NULL, o->batch);
    fc_cuda_line(&g->t, "} else {");
    run(o, phase, "end", o->batch < 4 ? o->batch : 4);
    fc_cuda_line(&g->t, "}");
    FC_EACH_REDUCTION(g, phase, "fc_put(s%u, w%u, n);", r, r);
    if (phase != FC_CUDA_STORES) fc_cuda_line(&g->t, "n++;");
    fc_cuda_line(&g->t, "}");
}

/* ---- one stage ------------------------------------------------------------------------------ */

/* x0 of all threads of a row, in order of y; every thread gets the result. One buffer serves all
 * reductions in turn, so that shared memory stays small whatever the kernel computes. */
static void join_threads(const outer *o, unsigned stage) {
    fc_cuda_text *t = &o->g->t;
    for (unsigned r = 0; r < o->g->k->reductions.len && o->y > 1; r++) {
        if (o->g->k->reductions.at[r].stage != stage) continue;
        fc_cuda_line(t, "{");
        fc_cuda_line(t, "red%u *const m = (red%u *)meeting;", r, r);
        fc_cuda_line(t, "const unsigned int at = threadIdx.y * %u + threadIdx.x;", o->x);
        fc_cuda_line(t, "__syncthreads();");
        fc_cuda_line(t, "m[at] = x%u;", r);
        fc_cuda_line(t, "__syncthreads();");
        fc_cuda_line(t, "#pragma unroll 1");
        fc_cuda_line(t, "for (unsigned int s = 1; s < %u; s *= 2) {", o->y);
        fc_cuda_line(t, "if (threadIdx.y %% (2 * s) == 0) m[at] = fc_join(m[at], m[at + s * %u]);",
                     o->x);
        fc_cuda_line(t, "__syncthreads();");
        fc_cuda_line(t, "}");
        fc_cuda_line(t, "x%u = m[threadIdx.x];", r);
        fc_cuda_line(t, "}");
    }
}

static void declare_meeting(const outer *o) {
    size_t most = 0;
    for (unsigned r = 0; r < o->g->k->reductions.len; r++) {
        size_t bytes = fc_cuda_red_bytes(&o->g->k->reductions.at[r]);
        if (bytes > most) most = bytes;
    }
    unsigned words = o->x * o->y * (unsigned)((most + 7) / 8);
    if (o->y > 1) fc_cuda_line(&o->g->t, "__shared__ long long meeting[%u];", words);
}

/* The last block of a group of rows goes on with x0 = whole rows in all its threads. */
static void last_block(const outer *o) {
    fc_cuda_gen *g = o->g;
    fc_cuda_partials(g, "row");
    fc_cuda_line(&g->t, "unsigned int *const ticket = (unsigned int *)p.w[%u] + blockIdx.x;",
                 (unsigned)g->l.extra + FC_PB_TICKETS);
    fc_cuda_line(&g->t, "__shared__ bool last;");
    fc_cuda_line(&g->t, "if (live && threadIdx.y == 0) {");
    FC_EACH_REDUCTION(g, 0, "z%u[(ix)blockIdx.y * rows] = x%u;", r, r);
    fc_cuda_line(&g->t, "__threadfence();");
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "__syncthreads();");
    fc_cuda_line(&g->t, "if (threadIdx.x == 0 && threadIdx.y == 0) "
                        "last = atomicAdd(ticket, 1u) == (unsigned int)spans - 1;");
    fc_cuda_line(&g->t, "__syncthreads();");
    fc_cuda_line(&g->t, "if (!last) return;");
    fc_cuda_line(&g->t, "__threadfence();");
    fc_cuda_line(&g->t, "if (threadIdx.x == 0 && threadIdx.y == 0) *ticket = 0;");
    fc_cuda_line(
        &g->t,
        "int per = 1; /* partials of a thread: a power of two, so that they are a subtree */");
    fc_cuda_line(&g->t, "while ((ix)per * %u < spans) per *= 2;", o->y);
    fc_cuda_line(&g->t, "for (n = 0; n < (unsigned int)per; n++) {");
    fc_cuda_line(&g->t, "const ix z = (ix)threadIdx.y * per + (ix)n;");
    FC_EACH_REDUCTION(g, 0, "x%u = fc_put(s%u, z < spans ? z%u[z * rows] : red%u_start(), n);", r,
                      r, r, r);
    fc_cuda_line(&g->t, "}");
    join_threads(o, 0);
}

static void stage(const outer *o, unsigned s) {
    fc_cuda_gen *g = o->g;
    fc_cuda_slice(g, s, FC_POINT);
    fc_cuda_row(g);
    fc_cuda_declare_results(g, s);
    fc_cuda_line(&g->t, "{");
    fc_cuda_line(&g->t, "unsigned int n = 0;");
    FC_EACH_REDUCTION(g, s, "red%u s%u[32];", r, r);
    runs(o, s);
    FC_EACH_REDUCTION(g, s, "red%u x%u = fc_sum(s%u, n, red%u_start());", r, r, r, r);
    join_threads(o, s);
    if (g->cls->split) last_block(o);
    FC_EACH_REDUCTION(g, s, "f%u = red%u_finish(x%u, (long long)count);", r, r, r);
    fc_cuda_line(&g->t, "}");
}

void fc_cuda_emit_outer(fc_cuda_gen *g) {
    unsigned x = 1u << g->cls->teams;
    outer o = {.g = g, .x = x, .y = FC_CUDA_THREADS / x, .batch = fc_cuda_unroll(g->k, FC_RUN, 1)};
    places(&o);
    declare_meeting(&o);
    for (unsigned s = 0; s < g->k->nstages; s++) stage(&o, s);
    if (fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW)) {
        fc_cuda_row(g);
        fc_cuda_line(&g->t, "if (live && threadIdx.y == 0) {");
        fc_cuda_row_stores(g);
        fc_cuda_line(&g->t, "}");
    }
    if (!fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT)) return;
    fc_cuda_row(g);
    runs(&o, FC_CUDA_STORES);
}
