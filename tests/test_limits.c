/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_limits.c - very long, very wide, very large and empty graphs: they run and are right, or are
 * refused with a clear status; nothing overflows on the way. */
#include "codegen/nest.h"
#include "tests/support/gb.h"
#include "tests/support/oracle_run.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static const char *const devices[] = {"interp", "cpu", "cuda"};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs g with the one size n; all inputs hold the small numbers of fill(). */
static float fill(uint32_t input, int64_t i) {
    return (float)((input * 7 + (uint32_t)i * 3) % 11) - 5;
}

static bool run(const char *device, fc_graph *g, int64_t n, fc_arrays *out) {
    fc_oracle sizes;
    fc_arrays in;
    fc_error e = {0};
    fc_how how = {.runs = 1};
    int64_t syms[8] = {n};
    how.ctx = fc_rig(device, 2, &how.device);
    fc_oracle_sizes(&sizes, g, syms);
    fc_arrays_for(&in, g, &sizes, false);
    for (uint32_t i = 0; i < in.n; i++)
        for (int64_t k = 0; k < fc_array_count(&in.t[i]); k++)
            fc_oracle_store(in.t[i].dtype, in.t[i].data, k,
                            fc_o_bits(in.t[i].dtype, (double)fill(i, k)));
    fusec_status s = fc_rig_run(&how, g, syms, &in, out, &e);
    FC_EXPECT_OK(s, &e);
    fc_arrays_free(&in);
    fc_oracle_free(&sizes);
    return s == FUSEC_OK;
}

static bool missing(const char *device) {
    fc_device *d;
    return !fc_rig(device, 2, &d);
}

/* ---- long and wide --------------------------------------------------------------------------- */

static void chain_of_100000(void *arg) {
    FC_TAKE_ONE_OF(1);
    enum { STEPS = 50000, N = 300 };
    const fc_limits l = {.nodes = 400000, .rank = 32, .inputs = 256, .outputs = 256};
    fc_graph g;
    fc_arrays out;
    if (missing(arg)) FC_SKIP("there is no device %s", (const char *)arg);
    fc_graph_init(&g, &fc_libc_alloc, &l);
    fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0), y = x;
    for (int i = 0; i < STEPS; i++) {
        y = gb2(&g, FC_OP_mul, y, gbn(&g, x, 0.25 + (i % 1000) * 1e-4));
        y = gb2(&g, FC_OP_add, y, x);
    }
    fc_build_output(&g, "y", y);
    double start = now();
    if (run(arg, &g, N, &out)) {
        for (int64_t k = 0; k < N; k++) {
            float x0 = fill(0, k), v = x0;
            for (int i = 0; i < STEPS; i++) {
                v = v * (float)(0.25 + (i % 1000) * 1e-4);
                v = v + x0;
            }
            FC_ASSERT_EQ_F64((double)((float *)out.t[0].data)[k], (double)v);
        }
    }
    printf("%s: a chain of 100,000 operations took %.1f s\n", (const char *)arg, now() - start);
    fc_arrays_free(&out);
    fc_graph_free(&g);
}

static void sum_of_10000_inputs(void *arg) {
    FC_TAKE_ONE_OF(1);
    enum { INPUTS = 10000, N = 37 };
    const fc_limits l = {.nodes = 100000, .rank = 32, .inputs = 20000, .outputs = 256};
    fc_graph g;
    fc_arrays out;
    if (missing(arg)) FC_SKIP("there is no device %s", (const char *)arg);
    fc_graph_init(&g, &fc_libc_alloc, &l);
    fc_node y = FC_NONODE;
    fc_dim n = gbd(&g, "n");
    for (int i = 0; i < INPUTS; i++) {
        fc_node x = gbin(&g, "x", FUSEC_F32, 1, n, 0, 0);
        y = y == FC_NONODE ? x : gb2(&g, FC_OP_add, y, x);
    }
    fc_build_output(&g, "y", y);
    double start = now();
    if (run(arg, &g, N, &out))
        for (int64_t k = 0; k < N; k++) {
            float v = fill(0, k);
            for (uint32_t i = 1; i < INPUTS; i++) v += fill(i, k);
            FC_ASSERT_EQ_F64((double)((float *)out.t[0].data)[k], (double)v);
        }
    printf("%s: a graph with 10,000 inputs took %.1f s\n", (const char *)arg, now() - start);
    fc_arrays_free(&out);
    fc_graph_free(&g);
}

/* 256 inputs, each with an output of its own. */
static void most_inputs_and_outputs(void *arg) {
    FC_TAKE_ONE_OF(1);
    fc_graph g;
    fc_arrays out;
    if (missing(arg)) FC_SKIP("there is no device %s", (const char *)arg);
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    for (int i = 0; i < 256; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        fc_node x = gbin(&g, name, FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
        snprintf(name, sizeof name, "y%d", i);
        fc_build_output(&g, name, gb2(&g, FC_OP_add, x, gbn(&g, x, i)));
    }
    if (run(arg, &g, 9, &out))
        for (uint32_t i = 0; i < 256; i++)
            for (int64_t k = 0; k < 9; k++)
                FC_ASSERT_EQ_F64((double)((float *)out.t[i].data)[k],
                                 (double)(fill(i, k) + (float)i));
    fc_arrays_free(&out);
    fc_graph_free(&g);
}

/* Every axis of size 1 but four, in an order that can't be merged. */
static void rank_32(void *arg) {
    fc_graph g;
    fc_arrays out;
    fc_dim shape[32];
    int64_t perm[32];
    if (missing(arg)) FC_SKIP("there is no device %s", (const char *)arg);
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    for (int i = 0; i < 32; i++) {
        shape[i] = fc_dim_const(&g.dims, i % 8 == 3 ? 3 : 1);
        perm[i] = 31 - i;
    }
    fc_node x = fc_build_input(&g, "x", FUSEC_F32, 32, shape);
    fc_build_output(
        &g, "y",
        gb2(&g, FC_OP_add, x, fc_build_reshape(&g, fc_build_permute(&g, x, perm), 32, shape)));
    fc_build_output(&g, "s", gbred(&g, FC_OP_sum, x, 11, false));
    if (run(arg, &g, 0, &out))
        for (int k = 0; k < 81; k++) {
            int turned = k / 27 + k / 9 % 3 * 3 + k / 3 % 3 * 9 + k % 3 * 27;
            FC_ASSERT_EQ_F64((double)((float *)out.t[0].data)[k],
                             (double)(fill(0, k) + fill(0, turned)));
        }
    fc_arrays_free(&out);
    fc_graph_free(&g);
}

/* ---- limits of the builders ------------------------------------------------------------------ */

static void expect_limit(fc_graph *g, bool over) {
    if (over)
        FC_EXPECT_EQ_I64(g->error.code, FUSEC_LIMIT);
    else
        FC_EXPECT_EQ_I64(g->error.code, FUSEC_OK);
    fc_graph_free(g);
}

FC_TEST(limits, rank) {
    for (uint32_t rank = 31; rank <= 33; rank++) {
        fc_graph g;
        fc_dim shape[40];
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        for (int i = 0; i < 40; i++) shape[i] = fc_dim_const(&g.dims, 1);
        fc_node x = fc_build_input(&g, "x", FUSEC_F32, rank, shape);
        if (rank <= 32) FC_EXPECT_EQ_I64(fc_rank(&g, x), rank);
        expect_limit(&g, rank > 32);
    }
    for (uint32_t rank = 31; rank <= 33; rank++) { /* the same by views */
        fc_graph g;
        fc_dim shape[40];
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        for (int i = 0; i < 40; i++) shape[i] = fc_dim_const(&g.dims, 1);
        fc_node x = fc_build_input(&g, "x", FUSEC_F32, 1, shape);
        fc_build_output(&g, "y", fc_build_broadcast(&g, x, rank, shape));
        expect_limit(&g, rank > 32);
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        for (int i = 0; i < 40; i++) shape[i] = fc_dim_const(&g.dims, 1);
        x = fc_build_input(&g, "x", FUSEC_F32, 1, shape);
        fc_build_output(&g, "y", fc_build_reshape(&g, x, rank, shape));
        expect_limit(&g, rank > 32);
    }
}

FC_TEST(limits, inputs_and_outputs) {
    for (int n = 255; n <= 257; n++) {
        fc_graph g;
        char name[16];
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        for (int i = 0; i < n; i++) gbin(&g, "x", FUSEC_F32, 0, 0, 0, 0);
        expect_limit(&g, n > 256);
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        fc_node x = gbin(&g, "x", FUSEC_F32, 0, 0, 0, 0);
        for (int i = 0; i < n; i++) {
            snprintf(name, sizeof name, "y%d", i);
            fc_build_output(&g, name, x);
        }
        expect_limit(&g, n > 256);
    }
}

FC_TEST(limits, nodes) {
    for (uint32_t n = 65535; n <= 65537; n++) {
        fc_graph g;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0), y = x;
        while (g.nodes.len < n && !g.error.code) y = gb1(&g, FC_OP_sin, y);
        expect_limit(&g, n > 65536);
    }
}

/* ---- sizes that do not fit ------------------------------------------------------------------- */

/* Binds without data: what matters is which status comes, and that nothing is touched. */
static fusec_status bind(fc_graph *g, const int64_t *shape, fc_error *e) {
    fc_device *d;
    fc_program *p = NULL;
    fc_context *ctx = fc_rig("interp", 1, &d);
    int64_t shapes[64];
    FC_TRY(fc_program_new(ctx, g, &(fc_program_options){.device = d}, &p, e));
    fc_node x = g->inputs.at[0].node;
    fc_tensor in = {
        .dtype = (fusec_dtype)fc_at(g, x)->dtype, .rank = fc_rank(g, x), .shape = shape};
    fusec_status s = fc_program_shapes(p, 1, &in, 0, NULL, shapes, e);
    if (!s) {
        fc_step_report report[8];
        s = fc_program_report(p, 1, &in, 0, NULL, true, report, e);
    }
    fc_program_free(p);
    return s;
}

static void expect_too_large(fc_graph *g, const int64_t *shape) {
    fc_error e = {0};
    fusec_status s = g->error.code ? g->error.code : bind(g, shape, &e);
    FC_EXPECT_TRUE(s == FUSEC_LIMIT || s == FUSEC_INPUT_SHAPE);
    fc_graph_free(g);
}

static const int64_t BIG = INT64_C(1) << 32;

FC_TEST(too_large, inputs) {
    static const int64_t shapes[][3] = {{INT64_C(1) << 32, INT64_C(1) << 32, 1},
                                        {INT64_C(1) << 31, INT64_C(1) << 31, 2},
                                        {0, INT64_C(1) << 32, INT64_C(1) << 32},
                                        {INT64_C(1) << 32, INT64_C(1) << 32, 0},
                                        {INT64_MAX, 1, 1}};
    for (size_t i = 0; i < FC_COUNT(shapes); i++) {
        fc_graph g;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        fc_node x = gbin(&g, "x", FUSEC_F32, 3, gbd(&g, "a"), gbd(&g, "b"), gbd(&g, "c"));
        fc_build_output(&g, "y", gb1(&g, FC_OP_neg, x));
        FC_TRACE("shape %zu", i);
        expect_too_large(&g, shapes[i]);
        FC_UNTRACE();
    }
}

FC_TEST(too_large, results_of_views_and_broadcasts) {
    fc_graph g;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_dim n = gbd(&g, "n");
    fc_node x = gbin(&g, "x", FUSEC_F32, 1, n, 0, 0);
    fc_build_output(&g, "y", fc_build_broadcast(&g, x, 3, (const fc_dim[]){n, n, n}));
    expect_too_large(&g, (const int64_t[]){1 << 22});

    fc_graph_init(&g, &fc_libc_alloc, NULL);
    x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    fc_dim big = fc_dim_const(&g.dims, BIG);
    fc_build_output(&g, "y", fc_build_full(&g, gbn(&g, x, 1), 2, (const fc_dim[]){big, big}));
    expect_too_large(&g, (const int64_t[]){3});

    fc_graph_init(&g, &fc_libc_alloc, NULL);
    n = gbd(&g, "n");
    x = gbin(&g, "x", FUSEC_F32, 1, n, 0, 0);
    fc_dim cube = fc_dim_mul(&g.dims, n, fc_dim_mul(&g.dims, n, n));
    fc_build_output(&g, "y", fc_build_iota(&g, cube));
    fc_build_output(&g, "z", x);
    expect_too_large(&g, (const int64_t[]){1 << 22});
}

FC_TEST(too_large, dims) {
    fc_graph g;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_dim most = fc_dim_const(&g.dims, INT64_MAX);
    FC_EXPECT_EQ_I64(fc_dim_add(&g.dims, most, fc_dim_const(&g.dims, 1)), FC_DIM_NONE);
    FC_EXPECT_EQ_I64(fc_dim_mul(&g.dims, most, fc_dim_const(&g.dims, 2)), FC_DIM_NONE);
    fc_dim none = FC_DIM_NONE;
    FC_EXPECT_EQ_I64(fc_build_input(&g, "x", FUSEC_F32, 1, &none), FC_NONODE);
    FC_EXPECT_EQ_I64(g.error.code, FUSEC_LIMIT);
    fc_graph_free(&g);
}

/* ---- nothing --------------------------------------------------------------------------------- */

static void reductions_of_nothing(void *arg) {
    static const fc_op ops[] = {FC_OP_sum, FC_OP_prod, FC_OP_mean, FC_OP_var, FC_OP_std};
    static const double wanted[] = {0, 1, NAN, NAN, NAN};
    fc_arrays out;
    if (missing(arg)) FC_SKIP("there is no device %s", (const char *)arg);
    for (size_t i = 0; i < FC_COUNT(ops); i++)
        for (int axis = 0; axis < 2; axis++) {
            fc_graph g;
            fc_graph_init(&g, &fc_libc_alloc, NULL);
            fc_dim n = gbd(&g, "n"), two = fc_dim_const(&g.dims, 2);
            fc_node x = axis ? gbin(&g, "x", FUSEC_F32, 2, two, n, 0)
                             : gbin(&g, "x", FUSEC_F32, 2, n, two, 0);
            fc_build_output(&g, "y", gbred(&g, ops[i], x, axis, false));
            fc_build_output(&g, "all", gball(&g, ops[i], x));
            fc_build_output(&g, "map", gb1(&g, FC_OP_neg, x));
            fc_build_output(&g, "spread", gb2(&g, FC_OP_sub, x, gbred(&g, ops[i], x, axis, true)));
            if (run(arg, &g, 0, &out))
                for (int k = 0; k < 3; k++)
                    FC_EXPECT_EQ_F64((double)((float *)out.t[k / 2].data)[k % 2], wanted[i]);
            fc_arrays_free(&out);
            fc_graph_free(&g);
        }
}

FC_TEST(empty, extremes_are_refused_before_anything_runs) {
    static const fc_op ops[] = {FC_OP_min, FC_OP_max, FC_OP_argmin, FC_OP_argmax};
    for (size_t i = 0; i < FC_COUNT(ops); i++) {
        fc_graph g;
        fc_error e = {0};
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        fc_build_output(
            &g, "y", gbred(&g, ops[i], gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0), 0, false));
        FC_EXPECT_STATUS(bind(&g, (const int64_t[]){0}, &e), FUSEC_EMPTY_REDUCTION, &e);
        fc_graph_free(&g);
    }
}

/* ---- more than 2^31 elements ----------------------------------------------------------------- */

/* Whether the first kernel of the graph's plan takes 64-bit indices for size n. */
static bool is_wide(fc_graph *g, int64_t n) {
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {.verify = true};
    fc_nest nest = {.wide = false};
    int64_t syms[8] = {n}, values[64];
    fc_arena arena;
    fc_arena_init(&arena, &fc_libc_alloc);
    FC_EXPECT_OK(fc_plan_build(g, &o, &p, &e), &e);
    if (p && p->graph.dims.forms.len <= FC_COUNT(values) &&
        fc_dims_eval(&p->graph.dims, syms, values, NULL))
        FC_EXPECT_OK(fc_nest_bind(&p->steps.at[0]->kernel, values, &arena, &nest, &e), &e);
    fc_plan_free(p);
    fc_arena_free(&arena);
    return nest.wide;
}

FC_TEST(wide, chosen_by_elements_offsets_and_strides) {
    fc_graph g;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_dim n = gbd(&g, "n");
    fc_node x = gbin(&g, "x", FUSEC_U8, 1, n, 0, 0);
    fc_build_output(&g, "y", gb1(&g, FC_OP_neg, x));
    FC_EXPECT_FALSE(is_wide(&g, 1000));
    FC_EXPECT_FALSE(is_wide(&g, FC_NARROW_MAX));
    FC_EXPECT_TRUE(is_wide(&g, INT64_C(1) + FC_NARROW_MAX));
    FC_EXPECT_TRUE(is_wide(&g, (INT64_C(1) << 31) + 5));
    fc_graph_free(&g);

    fc_graph_init(&g, &fc_libc_alloc, NULL); /* ten elements at the end */
    n = gbd(&g, "n");
    x = gbin(&g, "x", FUSEC_U8, 1, n, 0, 0);
    fc_slice s = {fc_dim_sub(&g.dims, n, fc_dim_const(&g.dims, 1)), -1, fc_dim_const(&g.dims, 10)};
    fc_build_output(&g, "y", gb1(&g, FC_OP_neg, fc_build_slice(&g, x, &s)));
    FC_EXPECT_FALSE(is_wide(&g, 1000));
    FC_EXPECT_TRUE(is_wide(&g, (INT64_C(1) << 31) + 5));
    fc_graph_free(&g);

    fc_graph_init(&g, &fc_libc_alloc, NULL); /* a column of a very wide array */
    n = gbd(&g, "n");
    x = gbin(&g, "x", FUSEC_U8, 2, fc_dim_const(&g.dims, 3), n, 0);
    fc_build_output(&g, "y", gb1(&g, FC_OP_neg, gbslice(&g, x, 1, 0, fc_dim_const(&g.dims, 1))));
    FC_EXPECT_FALSE(is_wide(&g, 1000));
    FC_EXPECT_TRUE(is_wide(&g, INT64_C(1) << 30));
    fc_graph_free(&g);

    fc_graph_init(&g, &fc_libc_alloc, NULL); /* a long reduction of few bytes */
    n = gbd(&g, "n");
    fc_build_output(&g, "y", gball(&g, FC_OP_sum, fc_build_iota(&g, n)));
    FC_EXPECT_FALSE(is_wide(&g, 1000));
    FC_EXPECT_TRUE(is_wide(&g, INT64_C(1) << 33));
    fc_graph_free(&g);
}

static int64_t memory_available(void) {
    char line[200];
    long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1) break;
    if (f) fclose(f);
    return kib * 1024;
}

static const int64_t LONG = (INT64_C(1) << 31) + 77;

static fusec_status run_long(fc_graph *g, void *x, uint32_t nout, fc_tensor *out, fc_error *e) {
    fc_device *d;
    fc_program *p = NULL;
    fc_context *ctx = fc_rig("cpu", 2, &d);
    int64_t shape[1] = {LONG};
    fc_tensor in = {.dtype = FUSEC_U8, .rank = 1, .shape = shape, .data = x};
    FC_TRY(fc_program_new(ctx, g, &(fc_program_options){.device = d}, &p, e));
    fusec_status s = fc_program_run(p, NULL, 1, &in, 0, NULL, nout, out, e);
    fc_program_free(p);
    return s;
}

/* Pages that are never written take no memory. */
static uint8_t *long_zeros(void) {
    void *p = mmap(NULL, (size_t)LONG, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

FC_TEST(wide, reductions_and_ends_of_an_array_of_more_than_2_to_31_elements) {
    FC_TAKE_ONE_OF(3);
    fc_graph g;
    fc_error e = {0};
    uint64_t sum = 0;
    int64_t at = 0;
    uint8_t most = 0, tail[10], every[3];
    int64_t ten[1] = {10}, three[1] = {3};
    uint8_t *x = long_zeros();
    if (missing("cpu") || !x) FC_SKIP("no device cpu, or no address space");
    x[0] = 3;
    x[LONG - 1] = 9;
    x[LONG - 2] = 8;
    x[INT64_C(1) << 31] = 5;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_dim n = gbd(&g, "n");
    fc_node v = gbin(&g, "x", FUSEC_U8, 1, n, 0, 0);
    fc_slice back = {fc_dim_sub(&g.dims, n, fc_dim_const(&g.dims, 1)), -1,
                     fc_dim_const(&g.dims, 10)};
    fc_slice step = {fc_dim_const(&g.dims, 0), INT64_C(1) << 30, fc_dim_const(&g.dims, 3)};
    fc_build_output(&g, "sum", gball(&g, FC_OP_sum, v));
    fc_build_output(&g, "at", gball(&g, FC_OP_argmax, v));
    fc_build_output(&g, "most", gball(&g, FC_OP_max, v));
    fc_build_output(&g, "tail", gb2(&g, FC_OP_add, fc_build_slice(&g, v, &back), gbn(&g, v, 1)));
    fc_build_output(&g, "every", gb2(&g, FC_OP_add, fc_build_slice(&g, v, &step), gbn(&g, v, 1)));
    fc_tensor out[] = {{.dtype = FUSEC_U64, .data = &sum},
                       {.dtype = FUSEC_I64, .data = &at},
                       {.dtype = FUSEC_U8, .data = &most},
                       {.dtype = FUSEC_U8, .rank = 1, .shape = ten, .data = tail},
                       {.dtype = FUSEC_U8, .rank = 1, .shape = three, .data = every}};
    FC_EXPECT_OK(run_long(&g, x, FC_COUNT(out), out, &e), &e);
    FC_EXPECT_EQ_U64(sum, 25);
    FC_EXPECT_EQ_I64(at, LONG - 1);
    FC_EXPECT_EQ_I64(most, 9);
    FC_EXPECT_EQ_I64(tail[0], 10);
    FC_EXPECT_EQ_I64(tail[1], 9);
    FC_EXPECT_EQ_I64(tail[2], 1);
    FC_EXPECT_EQ_I64(every[0], 4);
    FC_EXPECT_EQ_I64(every[1], 1);
    FC_EXPECT_EQ_I64(every[2], 6);
    fc_graph_free(&g);
    munmap(x, (size_t)LONG);
}

FC_TEST(wide, a_map_of_more_than_2_to_31_elements) {
    FC_TAKE_ONE_OF(3);
    fc_graph g;
    fc_error e = {0};
    int64_t shape[1] = {LONG};
    if (memory_available() < INT64_C(5) << 30) FC_SKIP("less than 5 GiB of memory are free");
    uint8_t *x = long_zeros(), *y = long_zeros();
    if (missing("cpu") || !x || !y) FC_SKIP("no device cpu, or no address space");
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_dim n = gbd(&g, "n");
    fc_node v = gbin(&g, "x", FUSEC_U8, 1, n, 0, 0);
    fc_slice back = {fc_dim_sub(&g.dims, n, fc_dim_const(&g.dims, 1)), -1, n};
    fc_node index = fc_build_cast(
        &g, gb2(&g, FC_OP_mod, fc_build_iota(&g, n), fc_build_const(&g, FUSEC_I64, 251)), FUSEC_U8);
    fc_build_output(&g, "y", gb2(&g, FC_OP_add, index, fc_build_slice(&g, v, &back)));
    x[0] = 3;
    x[5] = 4;
    fc_tensor out = {.dtype = FUSEC_U8, .rank = 1, .shape = shape, .data = y};
    FC_EXPECT_OK(run_long(&g, x, 1, &out, &e), &e);
    int64_t wrong = -1;
    for (int64_t i = 0, k = 0; i < LONG && wrong < 0; i++, k = k == 250 ? 0 : k + 1) {
        int extra = i == LONG - 1 ? 3 : i == LONG - 6 ? 4 : 0;
        if (y[i] != (uint8_t)(k + extra)) wrong = i;
    }
    FC_EXPECT_EQ_I64(wrong, -1);
    fc_graph_free(&g);
    munmap(x, (size_t)LONG);
    munmap(y, (size_t)LONG);
}

/* ---- on every device ------------------------------------------------------------------------- */

FC_REGISTER(on_devices) {
    static const struct {
        const char *name;
        fc_test_fn fn;
    } tests[] = {{"a_chain_of_100000_operations", chain_of_100000},
                 {"a_sum_of_10000_inputs", sum_of_10000_inputs},
                 {"256_inputs_and_outputs", most_inputs_and_outputs},
                 {"rank_32", rank_32},
                 {"reductions_of_nothing", reductions_of_nothing}};
    for (size_t i = 0; i < FC_COUNT(tests); i++)
        for (size_t d = 0; d < FC_COUNT(devices); d++) {
            char name[100];
            snprintf(name, sizeof name, "%s_%s", tests[i].name, devices[d]);
            FC_ADD_TEST("limits", name, tests[i].fn, devices[d]);
        }
}
