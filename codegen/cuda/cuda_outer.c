/* cuda_outer.c - the innermost axis is kept: the outer tree of codegen/nest.h.
 *
 * Threads along x own neighbouring rows, `vector` of them each, so that every access of a warp is
 * contiguous. Threads along y share their rows: each takes an aligned power-of-two span of runs of
 * FC_RUN elements, combines its runs by a binary counter whose lowest levels are registers, and the
 * parts meet in shared memory in order of y. With split a row's spans are spread over blocks as
 * well (blockIdx.y), and blocks that finish last combine them, group by group.
 *
 * With more than one row a thread there is one stage, nothing in it but params is computed once a
 * row, and the end (results, row stores) is a loop over the thread's rows.
 *
 * Threads without a row work on the last ones with `here` = 0 elements: they take part in every
 * barrier. */
#include "codegen/cuda/cuda.h"

typedef struct outer {
    fc_cuda_gen *g;
    unsigned x, y; /* threads of a block */
    unsigned v;    /* rows of a thread */
    int batch;     /* elements whose loads are in flight together */
} outer;

static void places(const outer *o) {
    fc_cuda_gen *g = o->g;
    fc_cuda_line(&g->t, "const ix place = ((ix)blockIdx.x * %u + (ix)threadIdx.x) * %u;", o->x,
                 o->v);
    fc_cuda_line(&g->t, "const bool live = place < rows;");
    fc_cuda_line(&g->t, "const ix row = live ? place : rows - %u;", o->v);
    fc_cuda_line(&g->t, "const ix here = live ? count : 0;");
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
    fc_cuda_line(&g->t, "const ix span = (ix)p.w[%u] / %u;", g->l.extra + FC_PB_SPAN, o->y);
    fc_cuda_line(&g->t,
                 g->cls->split ? "const ix begin = ((ix)blockIdx.y * %u + (ix)threadIdx.y) * span;"
                               : "const ix begin = (ix)threadIdx.y * span;",
                 o->y);
    fc_cuda_line(&g->t, "const ix end = begin + span < here ? begin + span : here;");
}

/* One line for every reduction of a stage and every row of the thread. */
#define EACH_ROW(o, stage, ...)                                                                    \
    do {                                                                                           \
        fc_cuda_line(&(o)->g->t, "#pragma unroll");                                                \
        fc_cuda_line(&(o)->g->t, "for (int e = 0; e < %u; e++) {", (o)->v);                        \
        FC_EACH_REDUCTION((o)->g, stage, __VA_ARGS__);                                             \
        fc_cuda_line(&(o)->g->t, "}");                                                             \
    } while (0)

/* ---- one run -------------------------------------------------------------------------------- */

/* Elements c + h, ... of the run that begins at c. With a limit, loads of elements that do not
 * exist go to the first of the run instead. */
static void elements(const outer *o, unsigned phase, const fc_cuda_group *group, int batch) {
    fc_cuda_gen *g = o->g;
    fc_cuda_group loads = *group;
    loads.limit = NULL;
    fc_cuda_group_declare(g, group, batch, false);
    for (int part = 0; part < 2; part++) {
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", batch);
        if (part == 0 && group->limit)
            fc_cuda_line(&g->t, "const ix k = c + h + u < %s ? c + h + u : c;", group->limit);
        else
            fc_cuda_line(&g->t, "const ix k = c + h + u;");
        if (part == 0)
            fc_cuda_group_load(g, &loads, false);
        else
            fc_cuda_group_compute(g, group, phase);
        fc_cuda_line(&g->t, "}");
    }
}

static void run(const outer *o, unsigned phase, const char *limit, int batch) {
    fc_cuda_gen *g = o->g;
    fc_cuda_group group = {.n = (int)o->v,
                           .step = 1,
                           .first = g->np,
                           .end = g->axes,
                           .across = true,
                           .wide = o->v > 1,
                           .number = "k",
                           .limit = limit,
                           .slot = "[u]",
                           .lanes = true,
                           .whole = true,
                           .taken = "h + u"};
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (int h = 0; h < %d; h += %d) {", FC_RUN, batch);
    elements(o, phase, &group, batch);
    fc_cuda_line(&g->t, "}");
}

/* Whole runs go without a test; at most one run of a row is not whole. */
static void runs(const outer *o, unsigned phase) {
    fc_cuda_gen *g = o->g;
    bool stage = phase != FC_CUDA_STORES;
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (ix c = begin; c < end; c += %d) {", FC_RUN);
    if (stage) {
        FC_EACH_REDUCTION(g, phase, "red%u w%u[%u];", r, r, o->v);
        EACH_ROW(o, phase, "w%u[e] = red%u_start();", r, r);
    }
    fc_cuda_line(&g->t, "if (c + %d <= end) {", FC_RUN);
    run(o, phase, NULL, o->batch);
    fc_cuda_line(&g->t, "} else {");
    run(o, phase, "end", o->batch < 4 ? o->batch : 4);
    fc_cuda_line(&g->t, "}");
    if (stage) {
        EACH_ROW(o, phase, "fc_count(c%u[e], d%u[e], s%u[e], w%u[e], n);", r, r, r, r);
        fc_cuda_line(&g->t, "n++;");
    }
    fc_cuda_line(&g->t, "}");
}

/* ---- one stage ------------------------------------------------------------------------------ */

/* x0 of all threads of a row, in order of y; every thread gets the result. One buffer serves all
 * reductions in turn, so that shared memory stays small whatever the kernel computes. */
static void join_threads(const outer *o, unsigned stage) {
    fc_cuda_text *t = &o->g->t;
    unsigned threads = o->x * o->y;
    for (unsigned r = 0; r < o->g->k->reductions.len && o->y > 1; r++) {
        if (o->g->k->reductions.at[r].stage != stage) continue;
        fc_cuda_line(t, "{");
        fc_cuda_line(t, "red%u *const m = (red%u *)meeting;", r, r);
        fc_cuda_line(t, "const unsigned int at = threadIdx.y * %u + threadIdx.x;", o->x);
        fc_cuda_line(t, "__syncthreads();");
        fc_cuda_line(t, "for (int e = 0; e < %u; e++) m[at + e * %u] = x%u[e];", o->v, threads, r);
        fc_cuda_line(t, "__syncthreads();");
        fc_cuda_line(t, "#pragma unroll 1");
        fc_cuda_line(t, "for (unsigned int s = 1; s < %u; s *= 2) {", o->y);
        fc_cuda_line(t, "if ((threadIdx.y & (2 * s - 1)) == 0) {");
        fc_cuda_line(t, "for (int e = 0; e < %u; e++)", o->v);
        fc_cuda_line(t, "    m[at + e * %u] = fc_join(m[at + e * %u], m[at + e * %u + s * %u]);",
                     threads, threads, threads, o->x);
        fc_cuda_line(t, "}");
        fc_cuda_line(t, "__syncthreads();");
        fc_cuda_line(t, "}");
        fc_cuda_line(t, "for (int e = 0; e < %u; e++) x%u[e] = m[threadIdx.x + e * %u];", o->v, r,
                     threads);
        fc_cuda_line(t, "}");
    }
}

static void declare_meeting(const outer *o) {
    size_t most = 0;
    for (unsigned r = 0; r < o->g->k->reductions.len; r++) {
        size_t bytes = fc_cuda_red_bytes(&o->g->k->reductions.at[r]);
        if (bytes > most) most = bytes;
    }
    unsigned words = o->x * o->y * o->v * (unsigned)((most + 7) / 8);
    if (o->y > 1) fc_cuda_line(&o->g->t, "__shared__ long long meeting[%u];", words);
}

/* x0 = members 0 .. of a group, `step` spans apart, joined as a tree. */
static void join_members(const outer *o) {
    fc_cuda_gen *g = o->g;
    int n = fc_cuda_outer_group((int)o->y) / (int)o->y;
    FC_EACH_REDUCTION(g, 0, "red%u y%u[%d][%u];", r, r, n, o->v);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", n);
    fc_cuda_line(&g->t, "const ix at = (ix)threadIdx.y * %d + u;", n);
    fc_cuda_line(&g->t, "const ix z = (group * %d + at) * step * rows;",
                 fc_cuda_outer_group((int)o->y));
    EACH_ROW(o, 0, "y%u[u][e] = at < members ? z%u[z + e] : red%u_start();", r, r, r);
    fc_cuda_line(&g->t, "}");
    for (int s = 1; s < n; s *= 2)
        for (int u = 0; u < n; u += 2 * s)
            EACH_ROW(o, 0, "y%u[%d][e] = fc_join(y%u[%d][e], y%u[%d][e]);", r, u, r, u, r, u + s);
    EACH_ROW(o, 0, "x%u[e] = y%u[0][e];", r, r);
    join_threads(o, 0);
}

/* Spans are joined in groups, groups in groups of groups: the block that finishes a group last goes
 * on with its x0, and the very last one with whole rows in all its threads. */
static void last_block(const outer *o) {
    fc_cuda_gen *g = o->g;
    fc_cuda_text *t = &g->t;
    int size = fc_cuda_outer_group((int)o->y);
    fc_cuda_partials(g, "row");
    fc_cuda_line(t, "unsigned int *ticket = (unsigned int *)p.w[%u];",
                 (unsigned)g->l.extra + FC_PB_TICKETS);
    fc_cuda_line(t, "__shared__ bool last;");
    fc_cuda_line(t, "ix number = (ix)blockIdx.y, many = spans, step = 1;");
    fc_cuda_line(t, "do {");
    fc_cuda_line(t, "const ix group = number / %d, groups = (many + %d) / %d;", size, size - 1,
                 size);
    fc_cuda_line(t, "const ix members = group + 1 < groups ? %d : many - group * %d;", size, size);
    fc_cuda_line(t, "if (live && threadIdx.y == 0) {");
    EACH_ROW(o, 0, "z%u[number * step * rows + e] = x%u[e];", r, r);
    fc_cuda_line(t, "__threadfence();");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "if (threadIdx.x == 0 && threadIdx.y == 0) {");
    fc_cuda_line(t, "unsigned int *const mine = ticket + blockIdx.x * groups + group;");
    fc_cuda_line(t, "last = atomicAdd(mine, 1u) == (unsigned int)members - 1;");
    fc_cuda_line(t, "if (last) *mine = 0;");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "if (!last) return;");
    fc_cuda_line(t, "__threadfence();");
    join_members(o);
    fc_cuda_line(t, "ticket += gridDim.x * groups;");
    fc_cuda_line(t, "number = group;");
    fc_cuda_line(t, "many = groups;");
    fc_cuda_line(t, "step *= %d;", size);
    fc_cuda_line(t, "} while (many > 1);");
}

static void stage(const outer *o, unsigned s) {
    fc_cuda_gen *g = o->g;
    fc_cuda_slice(g, s, FC_POINT);
    fc_cuda_row(g);
    fc_cuda_declare_results(g, s);
    if (o->v == 1) fc_cuda_line(&g->t, "{");
    fc_cuda_line(&g->t, "unsigned int n = 0;");
    FC_EACH_REDUCTION(g, s, "red%u s%u[%u][32], c%u[%u], d%u[%u], x%u[%u];", r, r, o->v, r, o->v, r,
                      o->v, r, o->v);
    runs(o, s);
    EACH_ROW(o, s, "x%u[e] = fc_counted(c%u[e], d%u[e], s%u[e], n, red%u_start());", r, r, r, r, r);
    join_threads(o, s);
    if (g->cls->split) last_block(o);
    if (o->v > 1) return;
    FC_EACH_REDUCTION(g, s, "f%u = red%u_finish(x%u[0], (long long)count);", r, r, r);
    fc_cuda_line(&g->t, "}");
}

/* ---- results -------------------------------------------------------------------------------- */

static void row_stores(const outer *o) {
    fc_cuda_gen *g = o->g;
    if (!fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW)) return;
    if (o->v == 1) fc_cuda_row(g);
    fc_cuda_line(&g->t, "if (live && threadIdx.y == 0) {");
    if (o->v > 1) {
        fc_cuda_line(&g->t, "const ix column = i%u;", (unsigned)g->np - 1);
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int e = 0; e < %u; e++) {", o->v);
        fc_cuda_line(&g->t, "const ix i%u = column + e;", (unsigned)g->np - 1);
        fc_cuda_bases(g, g->np);
        FC_EACH_REDUCTION(g, 0, "f%u = red%u_finish(x%u[e], (long long)count);", r, r, r);
        fc_cuda_row(g);
    }
    fc_cuda_row_stores(g);
    if (o->v > 1) fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
}

void fc_cuda_emit_outer(fc_cuda_gen *g) {
    unsigned x = 1u << g->cls->teams;
    outer o = {.g = g, .x = x, .y = FC_CUDA_THREADS / x, .v = g->cls->vector};
    o.batch = fc_cuda_outer_batch(g->k, g->cls);
    places(&o);
    declare_meeting(&o);
    for (unsigned s = 0; s < g->k->nstages; s++) stage(&o, s);
    row_stores(&o);
    if (!fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT)) return;
    fc_cuda_row(g);
    runs(&o, FC_CUDA_STORES);
}
