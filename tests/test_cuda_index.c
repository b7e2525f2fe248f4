/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cuda_index.c - random graphs that read at indices: their CUDA C, run on the host through
 * tests/support/cuda_emu.h, gives what the oracle wants. */
#include <stdio.h>
#include <stdlib.h>

#include "codegen/cuda/cuda.h"
#include "passes/rewrite.h"
#include "tests/support/cuda_host.h"
#include "tests/support/cuda_machines.h"
#include "tests/support/gb.h"
#include "tests/support/ragged_graph.h"
#include "tests/support/random_graph.h"
#include "tests/support/test.h"

enum { GRAPHS = 60, STEPS = 24 };

typedef struct step {
    fc_nest nest;
    fc_class cls;
    fc_launch launch;
    unsigned text;
} step;

/* One graph with everything for a run. */
typedef struct job {
    rg r;
    fc_graph g;
    fc_plan *plan;
    fc_oracle o;
    fc_arrays in, out;
    fc_arena arena;
    int64_t syms[256], *values;
    step steps[STEPS];
    const fc_machine *machine;
} job;

typedef bool wanted(const fc_graph *g);

static bool reads_at_indices(const fc_graph *g) {
    for (fc_node n = 0; n < g->nodes.len; n++)
        if (fc_at(g, n)->op == FC_OP_VIEW || fc_at(g, n)->op == FC_OP_TAKE) return true;
    return false;
}

static void close_job(job *j) {
    fc_plan_free(j->plan);
    if (j->in.t) fc_arrays_free(&j->in);
    if (j->out.t) fc_arrays_free(&j->out);
    if (j->o.g) fc_oracle_free(&j->o);
    fc_graph_free(&j->g);
    fc_arena_free(&j->arena);
    free(j);
}

/* Text of every step, added to the host. */
static bool add_texts(job *j, fc_cuda_host *host) {
    fc_error e = {0};
    for (size_t i = 0; i < j->plan->steps.len; i++) {
        const fc_kernel *k = &j->plan->steps.at[i]->kernel;
        step *s = &j->steps[i];
        fc_str text;
        char name[16];
        if (fc_nest_bind(k, j->values, &j->arena, &s->nest, &e))
            return FC_FAIL("%s", e.message), false;
        if (s->nest.empty) continue;
        if (fc_cuda_target.schedule(j->machine, k, &s->nest, 64, &j->arena, &s->cls, &s->launch,
                                    &e))
            return FC_FAIL("%s", e.message), false;
        snprintf(name, sizeof name, "k%u", host->count);
        fc_str_init(&text, &fc_libc_alloc);
        const fusec_status st = fc_cuda_target.emit(j->machine, k, &s->cls, name, &text, &e);
        s->text = host->count;
        if (!st) fc_cuda_host_add(host, text.data);
        fc_str_free(&text);
        if (st) return FC_FAIL("%s", e.message), false;
    }
    return true;
}

/* The plan of j->g, and arrays for it; false: it has steps that are no texts. */
static bool plan_job(job *j) {
    fc_error e = {0};
    fc_dim bad;
    fc_pass_options po = {.verify = true};
    if (fc_plan_build(&j->g, &po, &j->plan, &e)) return FC_FAIL("%s", e.message), false;
    const fc_dimtab *t = &j->plan->graph.dims;
    j->values = fc_arena_alloc(&j->arena, (t->forms.len + 1) * sizeof *j->values);
    for (size_t i = 0; i < j->plan->steps.len; i++) /* loops and sorts are no texts */
        if (j->plan->steps.at[i]->kind != FC_STEP_KERNEL) return false;
    if (j->plan->steps.len > STEPS || !fc_dims_eval(t, j->syms, j->values, &bad)) return false;
    fc_oracle sizes;
    fc_oracle_sizes(&sizes, &j->g, j->syms);
    fc_arrays_for(&j->in, &j->g, &sizes, false);
    fc_arrays_for(&j->out, &j->g, &sizes, true);
    fc_oracle_free(&sizes);
    return true;
}

/* What is wanted of arrays that are filled, and the texts. */
static bool expect(job *j, fc_cuda_host *host) {
    const void *data[256];
    for (uint32_t i = 0; i < j->in.n; i++) data[i] = j->in.t[i].data;
    fc_oracle_run(&j->o, &j->g, j->syms, data);
    return add_texts(j, host);
}

static job *new_job(const fc_machine *machine) {
    job *j = calloc(1, sizeof *j);
    j->machine = machine;
    fc_arena_init(&j->arena, &fc_libc_alloc);
    return j;
}

static job *open_job(uint64_t seed, wanted *is_wanted, fc_cuda_host *host) {
    job *j = new_job(&fc_cuda_big);
    fc_rng rng = {seed};
    int input[RG_NODES];
    const rg_options o = {.nodes = 7, .elements = 3000, .exact = true};
    rg_make(&j->r, &rng, &o);
    rg_build(&j->r, RG_SYMBOLIC, &j->g, input, j->syms);
    if (j->g.error.code || !is_wanted(&j->g) || !plan_job(j)) return close_job(j), NULL;
    for (uint32_t i = 0; i < j->in.n; i++) rg_fill(j->r.node[input[i]].bits, &j->in.t[i]);
    if (!expect(j, host)) return close_job(j), NULL;
    return j;
}

static void *zeroed(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) abort();
    memset(p, 0, (bytes + 127) / 64 * 64);
    return p;
}

/* Runs one step; `at` has the memory of each buffer. */
static void run_step(const job *j, size_t i, fc_cuda_host *host, void *const *at,
                     uint64_t *report) {
    const fc_kernel *k = &j->plan->steps.at[i]->kernel;
    const step *s = &j->steps[i];
    const fc_layout l = fc_layout_of((uint32_t)k->args.len, s->nest.np + s->nest.nr,
                                     (uint32_t)k->accesses.len, (uint32_t)k->params.len);
    int64_t *words = zeroed(l.words * sizeof *words);
    void *args[256];
    uint64_t scalars[256] = {0};
    void *work = zeroed(s->launch.workspace_bytes), *tickets = zeroed(4 * s->launch.tickets);
    for (size_t a = 0; a < k->args.len; a++) args[a] = at[k->args.at[a].buffer];
    for (size_t a = 0; a < k->params.len; a++)
        if (!k->params.at[a].is_dim)
            memcpy(&scalars[a], at[k->params.at[a].source], fc_dtypes[k->params.at[a].dtype].bytes);
    fc_nest_fill(k, &s->nest, j->values, args, scalars, words);
    words[l.extra + FC_PB_SPANS] = s->launch.spans;
    words[l.extra + FC_PB_SPAN] = s->launch.span;
    words[l.extra + FC_PB_WORKSPACE] = (int64_t)(intptr_t)work;
    words[l.extra + FC_PB_TICKETS] = (int64_t)(intptr_t)tickets;
    words[l.extra + FC_PB_REPORT] = (int64_t)(intptr_t)report;
    FC_EXPECT_TRUE(fc_cuda_host_run(host, s->text, &s->launch, words));
    free(work);
    free(tickets);
    free(words);
}

static void run_job(job *j, fc_cuda_host *host) {
    const fc_graph *g = &j->plan->graph;
    void *at[512] = {0};
    uint64_t report[2 * 64] = {0};
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    for (size_t b = 0; b < j->plan->buffers.len && b < FC_COUNT(at); b++) {
        const fc_node n = j->plan->buffers.at[b].node;
        size_t bytes = fc_dtypes[fc_at(g, n)->dtype].bytes;
        for (uint32_t k = 0; k < fc_rank(g, n); k++) bytes *= (size_t)j->values[fc_axis(g, n, k)];
        at[b] = zeroed(bytes);
        if (b < j->in.n) memcpy(at[b], j->in.t[b].data, bytes);
    }
    for (size_t i = 0; i < j->plan->steps.len; i++)
        if (!j->steps[i].nest.empty) run_step(j, i, host, at, report);
    for (uint32_t o = 0; o < j->out.n; o++)
        memcpy(j->out.t[o].data, at[j->in.n + o],
               (size_t)fc_array_count(&j->out.t[o]) * fc_dtypes[j->out.t[o].dtype].bytes);
    if (fc_judge(&j->g, &j->o, &j->out, &why)) FC_FAIL("%s", why.data);
    for (size_t i = 0; i < FC_COUNT(report); i++) FC_EXPECT_EQ_U64(report[i], 0);
    for (size_t b = 0; b < FC_COUNT(at); b++) free(at[b]);
    fc_str_free(&why);
}

/* Builds what is on the host, runs and closes all jobs; `seeds` say which they are, NULL: their
 * numbers. */
static void run_all(fc_cuda_host *host, const char *what, job *const *jobs, const uint64_t *seeds,
                    size_t n) {
    const bool built = fc_cuda_host_build(host);
    FC_EXPECT_TRUE(built);
    for (size_t i = 0; i < n; i++) {
        FC_TRACE("%s %llu", what, (unsigned long long)(seeds ? seeds[i] : i));
        if (built) run_job(jobs[i], host);
        FC_UNTRACE();
        close_job(jobs[i]);
    }
    fc_cuda_host_close(host);
}

static void run_graphs(wanted *is_wanted) {
    FC_TAKE_ONE_OF(2);
    fc_cuda_host host;
    static job *jobs[GRAPHS];
    static uint64_t seeds[GRAPHS];
    size_t n = 0;
    if (!fc_cuda_host_open(&host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    for (uint64_t seed = 1; n < GRAPHS && seed < 40000; seed++)
        if ((jobs[n] = open_job(seed, is_wanted, &host))) seeds[n++] = seed;
    FC_EXPECT_EQ_U64(n, GRAPHS);
    run_all(&host, "seed", jobs, seeds, n);
}

FC_TEST(cuda_index, random_graphs_on_the_host) {
    run_graphs(reads_at_indices);
}

static bool stores_at_indices(const fc_graph *g) {
    return fc_graph_has(g, FC_OP_SCATTER);
}

FC_TEST(cuda_index, random_stores_on_the_host) {
    run_graphs(stores_at_indices);
}

/* ---- stencils: vectors inside and at edges, rows of a block in turn -------------------------- */

static fc_node shifted(fc_graph *g, fc_node x, fc_edge mode, int64_t down, int64_t across) {
    static const int64_t rows[] = {1, 0}, columns[] = {0, 1};
    const fc_view_axis axes[] = {{fc_dim_const(&g->dims, down), mode, rows},
                                 {fc_dim_const(&g->dims, across), mode, columns}};
    return fc_build_view(g, x, 2, (fc_dim[]){fc_axis(g, x, 0), fc_axis(g, x, 1)}, axes);
}

/* Neighbours up to two rows and five columns away: windows of whole vectors, of halves, of single
 * elements; zeros beyond the edge; a picture that goes round. */
static fc_node stencil(fc_graph *g, fc_node x, fc_edge mode) {
    static const int8_t at[][2] = {{0, -5}, {0, 2}, {-2, 0}, {2, 1}, {1, -1}};
    fc_node y = x;
    for (size_t i = 0; i < FC_COUNT(at); i++)
        y = gb2(g, FC_OP_add, gb2(g, FC_OP_mul, y, gbn(g, y, 3)),
                shifted(g, x, mode, at[i][0], at[i][1]));
    return y;
}

/* An index continued at an edge, less itself: what is asked for inside has no index left. */
static fc_node index_at_an_edge(fc_graph *g, fc_dim n, fc_edge mode) {
    const fc_node i = fc_build_iota(g, n);
    const fc_view_axis next = {fc_dim_const(&g->dims, -1), mode, (const int64_t[]){1}};
    return gb2(g, FC_OP_maximum, i, fc_build_view(g, i, 1, &n, &next));
}

/* `far`: rows that go round by so many elements, so that vectors lie before or behind the seam.
 * `fixed`: the program says the sizes. */
static job *open_stencil(fusec_dtype t, fc_edge mode, int64_t far, bool fixed, int64_t h, int64_t w,
                         fc_cuda_host *host) {
    job *j = new_job(&fc_cuda_small);
    fc_graph_init(&j->g, &fc_libc_alloc, NULL);
    const fc_dim n = fixed ? fc_dim_const(&j->g.dims, h) : gbd(&j->g, "h"),
                 m = fixed ? fc_dim_const(&j->g.dims, w) : gbd(&j->g, "w");
    j->syms[0] = h;
    j->syms[1] = w;
    const fc_node x = gbin(&j->g, "x", t, 2, n, m, 0);
    fc_build_output(&j->g, "y",
                    far ? gb2(&j->g, FC_OP_mul, shifted(&j->g, x, FC_EDGE_WRAP, 0, -far), x)
                        : stencil(&j->g, x, mode));
    fc_build_output(&j->g, "i", index_at_an_edge(&j->g, n, mode));
    if (!plan_job(j)) return close_job(j), NULL;
    fc_rng rng = {(uint64_t)(h * w)};
    uint8_t *bytes = j->in.t[0].data;
    for (int64_t i = 0; i < h * w; i++) {
        const uint8_t small = (uint8_t)(fc_below(&rng, 16));
        if (t == FUSEC_F32)
            ((float *)j->in.t[0].data)[i] = small;
        else
            bytes[i] = small;
    }
    if (!expect(j, host)) return close_job(j), NULL;
    return j;
}

/* Rows above and below in each of several pictures, whose rows follow each other. */
static job *open_pictures(int64_t planes, int64_t h, int64_t w, fc_cuda_host *host) {
    static const int64_t steps[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    job *j = new_job(&fc_cuda_small);
    fc_graph_init(&j->g, &fc_libc_alloc, NULL);
    const fc_dim shape[] = {gbd(&j->g, "n"), gbd(&j->g, "h"), gbd(&j->g, "w")};
    const fc_dim zero = fc_dim_const(&j->g.dims, 0);
    j->syms[0] = planes;
    j->syms[1] = h;
    j->syms[2] = w;
    fc_node x = gbin(&j->g, "x", FUSEC_F32, 3, shape[0], shape[1], shape[2]), y = x;
    for (int64_t down = -1; down <= 1; down += 2) {
        const fc_view_axis axes[] = {{zero, FC_EDGE_EDGE, steps[0]},
                                     {fc_dim_const(&j->g.dims, down), FC_EDGE_EDGE, steps[1]},
                                     {zero, FC_EDGE_EDGE, steps[2]}};
        y = gb2(&j->g, FC_OP_add, gb2(&j->g, FC_OP_mul, y, gbn(&j->g, y, 3)),
                fc_build_view(&j->g, x, 3, shape, axes));
    }
    fc_build_output(&j->g, "y", y);
    if (!plan_job(j)) return close_job(j), NULL;
    fc_rng rng = {7};
    for (int64_t i = 0; i < planes * h * w; i++)
        ((float *)j->in.t[0].data)[i] = (float)fc_below(&rng, 16);
    if (!expect(j, host)) return close_job(j), NULL;
    return j;
}

/* x[i//2 of p planes, i + (-1, 0, 1) inside, j]: from row to row the plane changes, too. */
static fc_node planes_in_turn(fc_graph *g, fc_node x, fc_dim p, fc_dim n, fc_dim m) {
    const fc_dim rows[] = {n, fc_dim_const(&g->dims, 1)}, all[] = {n, m};
    const fc_node i = fc_build_reshape(g, fc_build_iota(g, n), 2, rows), j = fc_build_iota(g, m),
                  zero = gbn(g, i, 0), one = gbn(g, i, 1),
                  last = gb2(g, FC_OP_sub, fc_build_dim(g, n), one);
    const fc_node half = gb2(g, FC_OP_floordiv, i, gbn(g, i, 2)),
                  plane = gb2(g, FC_OP_minimum, half, gb2(g, FC_OP_sub, fc_build_dim(g, p), one));
    const fc_dim picture = fc_dim_mul(&g->dims, n, m), size = fc_dim_mul(&g->dims, p, picture);
    const fc_node flat = fc_build_reshape(g, x, 1, &size);
    fc_node y = FC_NONODE;
    for (int d = -1; d <= 1; d++) {
        fc_node row = gb2(g, FC_OP_add, i, gbn(g, i, d));
        row = gb2(g, FC_OP_minimum, gb2(g, FC_OP_maximum, row, zero), last);
        row = gb2(g, FC_OP_add, gb2(g, FC_OP_mul, plane, fc_build_dim(g, n)), row);
        row = gb2(g, FC_OP_add, gb2(g, FC_OP_mul, row, fc_build_dim(g, m)), j);
        row = fc_build_reshape(g, fc_build_broadcast(g, row, 2, all), 1, &picture);
        const fc_node at = fc_build_reshape(g, fc_build_take(g, flat, row, 0), 2, all);
        y = y == FC_NONODE ? at : gb2(g, FC_OP_add, gb2(g, FC_OP_mul, y, gbn(g, y, 3)), at);
    }
    return y;
}

static job *open_planes(int64_t planes, int64_t h, int64_t w, fc_cuda_host *host) {
    job *j = new_job(&fc_cuda_small);
    fc_graph_init(&j->g, &fc_libc_alloc, NULL);
    const fc_dim p = gbd(&j->g, "p"), n = gbd(&j->g, "h"), m = gbd(&j->g, "w");
    j->syms[0] = planes;
    j->syms[1] = h;
    j->syms[2] = w;
    fc_build_output(&j->g, "y",
                    planes_in_turn(&j->g, gbin(&j->g, "x", FUSEC_F32, 3, p, n, m), p, n, m));
    if (!plan_job(j)) return close_job(j), NULL;
    for (int64_t i = 0; i < planes * h * w; i++)
        ((float *)j->in.t[0].data)[i] = (float)(i / (h * w) * 1000 + i / w % h);
    if (!expect(j, host)) return close_job(j), NULL;
    return j;
}

/* Reads that together are wider than a window may be. */
static job *open_wide(int64_t h, int64_t w, fc_cuda_host *host) {
    static const int8_t at[][2] = {{1, -1}, {1, 20}, {1, 50}};
    job *j = new_job(&fc_cuda_small);
    fc_graph_init(&j->g, &fc_libc_alloc, NULL);
    const fc_dim n = gbd(&j->g, "h"), m = gbd(&j->g, "w");
    j->syms[0] = h;
    j->syms[1] = w;
    const fc_node x = gbin(&j->g, "x", FUSEC_F32, 2, n, m, 0);
    fc_node y = shifted(&j->g, x, FC_EDGE_EDGE, -1, -30);
    for (size_t i = 0; i < FC_COUNT(at); i++)
        y = gb2(&j->g, FC_OP_add, gb2(&j->g, FC_OP_mul, y, gbn(&j->g, y, 3)),
                shifted(&j->g, x, FC_EDGE_EDGE, at[i][0], at[i][1]));
    fc_build_output(&j->g, "y", y);
    if (!plan_job(j)) return close_job(j), NULL;
    for (int64_t i = 0; i < h * w; i++) ((float *)j->in.t[0].data)[i] = (float)(i * 7 % 31);
    if (!expect(j, host)) return close_job(j), NULL;
    return j;
}

/* Neighbours along rows; of those as many fewer are made as `less` says; `far`: as far away as a
 * size of the call says. */
static job *open_across(int64_t h, int64_t w, int64_t less, int64_t far, fc_cuda_host *host) {
    static const int64_t rows[] = {1, 0}, columns[] = {0, 1};
    static const int8_t at[] = {-4, 3, 5, -1};
    job *j = new_job(&fc_cuda_small);
    fc_graph_init(&j->g, &fc_libc_alloc, NULL);
    const fc_dim n = gbd(&j->g, "h"), m = gbd(&j->g, "w");
    const fc_dim shape[] = {n, fc_dim_sub(&j->g.dims, m, fc_dim_const(&j->g.dims, less))},
                 s = far ? gbd(&j->g, "s") : fc_dim_const(&j->g.dims, 0);
    j->syms[2] = far;
    j->syms[0] = h;
    j->syms[1] = w;
    const fc_node x = gbin(&j->g, "x", FUSEC_F32, 2, n, m, 0);
    fc_node y = FC_NONODE;
    for (size_t i = 0; i < FC_COUNT(at); i++) {
        const fc_view_axis axes[] = {
            {fc_dim_const(&j->g.dims, 0), FC_EDGE_EDGE, rows},
            {fc_dim_add(&j->g.dims, s, fc_dim_const(&j->g.dims, at[i])), FC_EDGE_EDGE, columns}};
        const fc_node v = fc_build_view(&j->g, x, 2, shape, axes);
        y = i ? gb2(&j->g, FC_OP_add, gb2(&j->g, FC_OP_mul, y, gbn(&j->g, y, 3)), v) : v;
    }
    fc_build_output(&j->g, "y", y);
    if (!plan_job(j)) return close_job(j), NULL;
    for (int64_t i = 0; i < h * w; i++) ((float *)j->in.t[0].data)[i] = (float)(i * 7 % 31);
    if (!expect(j, host)) return close_job(j), NULL;
    return j;
}

/* x[1:-1, 1:-1] and its neighbours, a view each; `cross`: those beside it, too. */
static job *open_views(fusec_dtype t, bool cross, int64_t h, int64_t w, fc_cuda_host *host) {
    static const int8_t at[][2] = {{1, 1}, {0, 1}, {2, 1}, {1, 0}, {1, 2}};
    job *j = new_job(&fc_cuda_small);
    fc_graph_init(&j->g, &fc_libc_alloc, NULL);
    const fc_dim n = gbd(&j->g, "h"), m = gbd(&j->g, "w"), two = fc_dim_const(&j->g.dims, 2);
    const fc_dim rows = fc_dim_sub(&j->g.dims, n, two),
                 columns = cross ? fc_dim_sub(&j->g.dims, m, two) : m;
    j->syms[0] = h;
    j->syms[1] = w;
    const fc_node x = gbin(&j->g, "x", t, 2, n, m, 0);
    fc_node y = FC_NONODE;
    for (size_t i = 0; i < (cross ? FC_COUNT(at) : 3); i++) {
        const fc_slice axes[] = {{fc_dim_const(&j->g.dims, at[i][0]), 1, rows},
                                 {fc_dim_const(&j->g.dims, cross ? at[i][1] : 0), 1, columns}};
        const fc_node v = fc_build_slice(&j->g, x, axes);
        y = i ? gb2(&j->g, FC_OP_sub, gb2(&j->g, FC_OP_mul, y, gbn(&j->g, y, 3)), v) : v;
    }
    fc_build_output(&j->g, "y", y);
    if (!plan_job(j)) return close_job(j), NULL;
    for (int64_t i = 0; i < h * w; i++) {
        const uint8_t v = (uint8_t)(i * 7 % 31);
        if (t == FUSEC_F32) ((float *)j->in.t[0].data)[i] = v;
        if (t == FUSEC_F64) ((double *)j->in.t[0].data)[i] = v;
        if (t == FUSEC_U8) ((uint8_t *)j->in.t[0].data)[i] = v;
    }
    if (!expect(j, host)) return close_job(j), NULL;
    return j;
}

static bool text_has(const job *j, const char *what) {
    fc_error e = {0};
    fc_str text;
    fc_str_init(&text, &fc_libc_alloc);
    FC_EXPECT_OK(fc_cuda_target.emit(j->machine, &j->plan->steps.at[0]->kernel, &j->steps[0].cls,
                                     "f", &text, &e),
                 &e);
    const bool has = strstr(text.data, what) != NULL;
    fc_str_free(&text);
    return has;
}

FC_TEST(cuda_index, stencils_on_the_host) {
    FC_TAKE_ONE_OF(2);
    static const fc_edge modes[] = {FC_EDGE_ZERO, FC_EDGE_EDGE, FC_EDGE_WRAP, FC_EDGE_REFLECT,
                                    FC_EDGE_SYMMETRIC};
    static const int64_t sizes[][2] = {{140, 512}, {9, 37}};
    fc_cuda_host host;
    static const int64_t far[] = {101, 100};
    job *jobs[4 * FC_COUNT(modes) + FC_COUNT(far) + 6];
    size_t n = 0;
    unsigned in_turn = 0, windows = 0, twos = 0, together = 0;
    if (!fc_cuda_host_open(&host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    for (size_t m = 0; m < FC_COUNT(modes); m++)
        for (size_t s = 0; s < FC_COUNT(sizes); s++)
            for (int u8 = 0; u8 < (s ? 1 : 2); u8++) {
                job *j = open_stencil(u8 ? FUSEC_U8 : FUSEC_F32, modes[m], 0, false, sizes[s][0],
                                      sizes[s][1] * (u8 ? 4 : 1), &host);
                if (!j) continue;
                in_turn += j->steps[0].cls.cuda.rows_in_turn > 0;
                windows += j->steps[0].cls.aligned;
                twos += j->steps[0].cls.vector == 2 && !j->steps[0].cls.aligned;
                together += text_has(j, "bool every = ");
                jobs[n++] = j;
            }
    for (size_t m = 0; m < FC_COUNT(modes); m++) {
        job *j = open_stencil(FUSEC_F32, modes[m], 0, true, 140, 512, &host);
        if (!j) continue;
        FC_EXPECT_TRUE(text_has(j, "const long long by = 512ll;"));
        jobs[n++] = j;
    }
    for (size_t i = 0; i < FC_COUNT(far); i++) {
        job *j = open_stencil(FUSEC_F32, FC_EDGE_WRAP, far[i], false, 140, 512, &host);
        if (!j) continue;
        FC_EXPECT_TRUE(text_has(j, "= w0[e + 0];")); /* one place, picked for the vector */
        jobs[n++] = j;
    }
    if ((jobs[n] = open_pictures(21, 7, 512, &host)) != NULL)
        FC_EXPECT_TRUE(text_has(jobs[n++], "bool every = "));
    if ((jobs[n] = open_planes(8, 64, 512, &host)) != NULL)
        FC_EXPECT_FALSE(text_has(jobs[n++], "bool every = "));
    if ((jobs[n] = open_wide(140, 512, &host)) != NULL) n++;
    /* rows that begin at multiples of a vector, and rows that do not */
    if ((jobs[n] = open_across(140, 512, 0, 0, &host)) != NULL) {
        FC_EXPECT_FALSE(text_has(jobs[n], "bool fits = "));
        FC_EXPECT_TRUE(text_has(jobs[n++], " & 15) == 0;"));
    }
    if ((jobs[n] = open_across(140, 514, 2, 0, &host)) != NULL)
        FC_EXPECT_TRUE(text_has(jobs[n++], "bool fits = "));
    if ((jobs[n] = open_across(140, 512, 0, 9, &host)) != NULL)
        FC_EXPECT_TRUE(text_has(jobs[n++], "bool fits = "));
    FC_EXPECT_EQ_U64(n, FC_COUNT(jobs));
    FC_EXPECT_EQ_U64(in_turn, 2 * FC_COUNT(modes));
    FC_EXPECT_EQ_U64(windows, 2 * FC_COUNT(modes));
    FC_EXPECT_EQ_U64(twos, FC_COUNT(modes)); /* rows of 37 */
    FC_EXPECT_EQ_U64(together, 2 * FC_COUNT(modes));
    run_all(&host, "stencil", jobs, NULL, n);
}

/* Views that differ by constants are reads at computed elements, in rows
 * together or not, as whole vectors or not. */
FC_TEST(cuda_index, views_on_the_host) {
    static const struct {
        fusec_dtype dtype;
        bool cross;
        int64_t h, w;
        unsigned vector, rows;
    } all[] = {{FUSEC_F32, true, 142, 514, 4, 4},   {FUSEC_F32, true, 142, 512, 2, 4},
               {FUSEC_F32, true, 145, 513, 2, 4},   {FUSEC_F32, true, 9, 38, 4, 0},
               {FUSEC_F64, true, 142, 763, 2, 4},   {FUSEC_U8, true, 142, 2050, 16, 4},
               {FUSEC_F32, false, 130, 1024, 4, 4}, {FUSEC_F32, false, 130, 1023, 4, 0}};
    fc_cuda_host host;
    job *jobs[FC_COUNT(all)];
    size_t n = 0;
    if (!fc_cuda_host_open(&host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    for (size_t i = 0; i < FC_COUNT(all); i++) {
        FC_TRACE("views %u", (unsigned)i);
        job *j = open_views(all[i].dtype, all[i].cross, all[i].h, all[i].w, &host);
        if (j) {
            FC_EXPECT_EQ_U64(j->steps[0].cls.vector, all[i].vector);
            FC_EXPECT_EQ_U64(j->steps[0].cls.cuda.rows_in_turn, all[i].rows);
            FC_EXPECT_EQ_U64(text_has(j, "bool every = "), all[i].rows > 0);
            jobs[n++] = j;
        }
        FC_UNTRACE();
    }
    FC_EXPECT_EQ_U64(n, FC_COUNT(all));
    run_all(&host, "views", jobs, NULL, n);
}

/* ---- rows that end by data ------------------------------------------------------------------- */

static job *open_ragged(const fc_ragged_graph *r, uint64_t seed, fc_cuda_host *host) {
    job *j = new_job(&fc_cuda_big);
    fc_graph_init(&j->g, &fc_libc_alloc, NULL);
    fc_ragged_build(r, &j->g, j->syms);
    if (!plan_job(j)) return close_job(j), NULL;
    fc_ragged_fill(r, seed, &j->in);
    if (!expect(j, host)) return close_job(j), NULL;
    return j;
}

/* A thread, a warp, several warps for a row; threads for columns, one for each or several. */
FC_TEST(cuda_index, ragged_rows_on_the_host) {
    static const struct {
        fc_ragged_graph r;
        fc_cuda_kind kind;
        unsigned team;
    } all[] = {
        {{FC_RAGGED_PRODUCT, FC_RAGGED_MIXED, FC_OP_sum, FUSEC_F32, 90, 500, 1}, FC_CUDA_THREAD, 1},
        {{FC_RAGGED_PRODUCT, FC_RAGGED_MIXED, FC_OP_sum, FUSEC_F32, 110, 1300, 1},
         FC_CUDA_THREAD,
         2},
        {{FC_RAGGED_STAGES, FC_RAGGED_LONG, FC_OP_argmax, FUSEC_F32, 30, 300, 1},
         FC_CUDA_THREAD,
         2},
        {{FC_RAGGED_ROWS, FC_RAGGED_EMPTY, FC_OP_prod, FUSEC_F32, 3, 100, 1}, FC_CUDA_THREAD, 8},
        {{FC_RAGGED_STAGES, FC_RAGGED_MIXED, FC_OP_sum, FUSEC_F64, 20, 1300, 1},
         FC_CUDA_THREAD,
         16},
        {{FC_RAGGED_ROWS, FC_RAGGED_ONE, FC_OP_max, FUSEC_F16, 9, 1500, 1}, FC_CUDA_LOOP, 32},
        {{FC_RAGGED_STAGES, FC_RAGGED_MIXED, FC_OP_sum, FUSEC_F64, 17, 2500, 1}, FC_CUDA_LOOP, 32},
        {{FC_RAGGED_STAGES, FC_RAGGED_LONG, FC_OP_sum, FUSEC_F32, 1, 9000, 1}, FC_CUDA_LOOP, 1024},
        {{FC_RAGGED_COLUMNS, FC_RAGGED_MIXED, FC_OP_sum, FUSEC_F32, 9, 300, 5}, FC_CUDA_OUTER, 0},
        {{FC_RAGGED_COLUMNS, FC_RAGGED_LONG, FC_OP_max, FUSEC_F32, 3, 210, 33}, FC_CUDA_OUTER, 0},
    };
    fc_cuda_host host;
    job *jobs[FC_COUNT(all)];
    size_t n = 0;
    if (!fc_cuda_host_open(&host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    for (size_t i = 0; i < FC_COUNT(all); i++) {
        FC_TRACE("ragged %u", (unsigned)i);
        job *j = open_ragged(&all[i].r, i + 1, &host);
        if (j) {
            FC_EXPECT_EQ_U64(j->plan->steps.len, 1);
            FC_EXPECT_TRUE(fc_is_ragged(&j->plan->steps.at[0]->kernel));
            FC_EXPECT_EQ_U64(j->steps[0].cls.cuda.kind, all[i].kind);
            FC_EXPECT_EQ_U64(j->steps[0].cls.cuda.team, all[i].team);
            jobs[n++] = j;
        }
        FC_UNTRACE();
    }
    FC_EXPECT_EQ_U64(n, FC_COUNT(all));
    run_all(&host, "ragged", jobs, NULL, n);
}
