/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_trees.c - float reductions to the bit: the trees that docs/semantics.md fixes, on every
 * device, for any number of threads, whether a row is split or not and whatever the reduction is
 * fused with. And: sizes do not compile. */
#include "tests/support/gb.h"
#include "tests/support/oracle_run.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const devices[] = {"interp", "cpu", "cuda"};
static const int thread_counts[] = {1, 2, 3, 8};

/* Values whose sums round in every step. */
static void fill(const fc_arrays *in) {
    fc_rng r = {99};
    for (uint32_t i = 0; i < in->n; i++)
        for (int64_t k = 0; k < fc_array_count(&in->t[i]); k++)
            fc_oracle_store(in->t[i].dtype, in->t[i].data, k,
                            fc_random_value(in->t[i].dtype, &r, true));
}

/* ---- sums against the trees ------------------------------------------------------------------ */

typedef struct shape {
    int64_t rows, columns;
} shape;

/* One long row, few long columns, many short ones, and sizes around chunks, lanes and runs. */
static const shape shapes[] = {{1, 400001}, {2, 131073}, {300007, 1}, {150001, 3}, {65536, 2},
                               {33000, 16}, {1, 1024},   {3, 1025},   {511, 1023}, {9001, 31},
                               {16, 35001}, {5, 65536},  {129, 4097}, {4097, 129}, {7, 8191}};

static void sum_graph(fc_graph *g, fusec_dtype t) {
    fc_graph_init(g, &fc_libc_alloc, NULL);
    fc_node x = gbin(g, "x", t, 2, gbd(g, "n"), gbd(g, "m"), 0);
    fc_build_output(g, "rows", gbred(g, FC_OP_sum, x, 1, false));
    fc_build_output(g, "columns", gbred(g, FC_OP_sum, x, 0, false));
    fc_build_output(g, "all", gball(g, FC_OP_sum, x));
    fc_build_output(g, "mean", gbred(g, FC_OP_mean, x, 0, false));
    fc_build_output(g, "var", gball(g, FC_OP_var, x));
    fc_build_output(g, "std", gbred(g, FC_OP_std, x, 1, false));
    fc_build_output(g, "turned",
                    gbred(g, FC_OP_sum, fc_build_permute(g, x, (const int64_t[]){1, 0}), 1, false));
}

static void compare_everywhere(fc_graph *g, const fc_oracle *o, const int64_t *syms,
                               const fc_arrays *in) {
    for (size_t d = 0; d < FC_COUNT(devices); d++)
        for (size_t n = 0; n < FC_COUNT(thread_counts); n++) {
            bool threaded = strcmp(devices[d], "cuda") != 0;
            fc_arrays out;
            fc_error e = {0};
            fc_str why;
            fc_how how = {.runs = 2};
            how.ctx = fc_rig(devices[d], thread_counts[n], &how.device);
            if (!how.ctx || (!threaded && n)) continue;
            fc_str_init(&why, &fc_libc_alloc);
            FC_TRACE("%s, %d threads", devices[d], thread_counts[n]);
            FC_EXPECT_OK(fc_rig_run(&how, g, syms, in, &out, &e), &e);
            if (!e.code && fc_judge(g, o, &out, &why)) FC_FAIL("%s", why.data);
            FC_UNTRACE();
            fc_str_free(&why);
            fc_arrays_free(&out);
        }
}

static void run_shape(void *arg) {
    FC_TAKE_ONE_OF(3);
    const shape *s = arg;
    static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64, FUSEC_F16};
    for (size_t t = 0; t < FC_COUNT(dtypes); t++) {
        fc_graph g;
        fc_oracle sizes, o;
        fc_arrays in;
        int64_t syms[2] = {s->rows, s->columns};
        if (s->rows * s->columns > (FC_SANITIZED ? 140000 : t ? 300000 : INT64_MAX))
            continue; /* the oracle takes its time */
        FC_TRACE("%s[%lld, %lld]", fc_dtypes[dtypes[t]].name, (long long)s->rows,
                 (long long)s->columns);
        sum_graph(&g, dtypes[t]);
        fc_oracle_sizes(&sizes, &g, syms);
        fc_arrays_for(&in, &g, &sizes, false);
        fill(&in);
        fc_oracle_run(&o, &g, syms, (const void *const[]){in.t[0].data});
        compare_everywhere(&g, &o, syms, &in);
        fc_arrays_free(&in);
        fc_oracle_free(&o);
        fc_oracle_free(&sizes);
        fc_graph_free(&g);
        FC_UNTRACE();
    }
}

FC_REGISTER(trees) {
    for (size_t i = 0; i < FC_COUNT(shapes); i++) {
        char name[64];
        snprintf(name, sizeof name, "sums_%lld_by_%lld", (long long)shapes[i].rows,
                 (long long)shapes[i].columns);
        FC_ADD_TEST("trees", name, run_shape, &shapes[i]);
    }
}

/* ---- fused as unfused ------------------------------------------------------------------------ */

static fc_node softmax(fc_graph *g, fc_node x, int64_t axis) {
    fc_node e = gb1(g, FC_OP_exp, gb2(g, FC_OP_sub, x, gbred(g, FC_OP_max, x, axis, true)));
    return gb2(g, FC_OP_div, e, gbred(g, FC_OP_sum, e, axis, true));
}

static fc_node layernorm(fc_graph *g, fc_node x, int64_t axis) {
    fc_node c = gb2(g, FC_OP_sub, x, gbred(g, FC_OP_mean, x, axis, true));
    fc_node v = gbred(g, FC_OP_mean, gb2(g, FC_OP_mul, c, c), axis, true);
    return gb2(g, FC_OP_mul, c, gb1(g, FC_OP_rsqrt, gb2(g, FC_OP_add, v, gbn(g, v, 1e-5))));
}

static void compare_plans(fc_graph *g, const int64_t *syms) {
    fc_oracle sizes, o;
    fc_arrays in, first = {0};
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    fc_oracle_sizes(&sizes, g, syms);
    fc_arrays_for(&in, g, &sizes, false);
    fill(&in);
    fc_oracle_run(&o, g, syms, (const void *const[]){in.t[0].data});
    for (size_t d = 0; d < FC_COUNT(devices); d++) {
        for (size_t n = 0; n < 2 * FC_COUNT(thread_counts); n++) {
            fc_arrays out;
            fc_error e = {0};
            fc_how how = {.unfused = n % 2 == 0};
            how.ctx = fc_rig(devices[d], thread_counts[n / 2], &how.device);
            if (!how.ctx) continue;
            FC_TRACE("%s, %d threads, %s", devices[d], thread_counts[n / 2],
                     how.unfused ? "unfused" : "fused");
            FC_EXPECT_OK(fc_rig_run(&how, g, syms, &in, &out, &e), &e);
            bool bad = e.code || (first.t ? fc_differ(g, &o, &first, &out, &why)
                                          : fc_judge(g, &o, &out, &why));
            if (bad) FC_FAIL("%s", why.data);
            FC_UNTRACE();
            fc_str_clear(&why);
            if (first.t || e.code)
                fc_arrays_free(&out);
            else
                first = out;
        }
        fc_arrays_free(&first);
    }
    fc_arrays_free(&in);
    fc_oracle_free(&o);
    fc_oracle_free(&sizes);
    fc_str_free(&why);
}

typedef fc_node (*maker)(fc_graph *, fc_node, int64_t axis);

/* Of at most that many elements. */
static void try_plans_to(int64_t most, fusec_dtype t, int64_t axis, maker make) {
    static const shape sizes[] = {{3, 5}, {1, 20001}, {200, 129}, {129, 200}, {7, 1024}, {1025, 3}};
    for (size_t i = 0; i < FC_COUNT(sizes); i++) {
        fc_graph g;
        if (sizes[i].rows * sizes[i].columns > most || !fc_test_takes(3)) continue;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        fc_node x = gbin(&g, "x", t, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
        fc_build_output(&g, "y", make(&g, x, axis));
        FC_TRACE("%s[%lld, %lld], axis %lld", fc_dtypes[t].name, (long long)sizes[i].rows,
                 (long long)sizes[i].columns, (long long)axis);
        compare_plans(&g, (const int64_t[]){sizes[i].rows, sizes[i].columns});
        FC_UNTRACE();
        fc_graph_free(&g);
    }
}

static void try_plans(fusec_dtype t, int64_t axis, maker make) {
    try_plans_to(FC_SANITIZED ? 10000 : INT64_MAX, t, axis, make);
}

/* Both of the same angle, which a backend may compute together, far from zero too. */
static fc_node sine_and_cosine(fc_graph *g, fc_node x, int64_t axis) {
    fc_node a = gb2(g, FC_OP_mul, gb2(g, FC_OP_mul, x, x), gb2(g, FC_OP_mul, x, gbn(g, x, 1000)));
    (void)axis;
    return gb2(g, FC_OP_div, gb1(g, FC_OP_sin, a), gb1(g, FC_OP_cos, a));
}

FC_TEST(fused_as_unfused, sine_and_cosine) {
    try_plans(FUSEC_F32, 0, sine_and_cosine);
    try_plans(FUSEC_F64, 0, sine_and_cosine);
}

/* More functions than a backend writes out in one kernel: of points, and of what a row shares. */
static fc_node many_functions(fc_graph *g, fc_node x, int64_t axis) {
    static const fc_op ops[] = {FC_OP_sin,  FC_OP_exp,  FC_OP_cos,   FC_OP_tanh, FC_OP_log1p,
                                FC_OP_atan, FC_OP_erf,  FC_OP_asinh, FC_OP_cbrt, FC_OP_log,
                                FC_OP_tan,  FC_OP_sinh, FC_OP_exp2,  FC_OP_expm1};
    fc_node far = gb2(g, FC_OP_mul, x, gbn(g, x, 1e6)), row = gbred(g, FC_OP_max, x, axis, true);
    fc_node sum = gb2(g, FC_OP_hypot, x, row);
    for (size_t i = 0; i < 2 * FC_COUNT(ops); i++) {
        const fc_op op = ops[i % FC_COUNT(ops)];
        fc_node of = gb2(g, FC_OP_mul, i % 5 == 4 ? row : x, gbn(g, x, 0.125 * (double)(i + 1)));
        if (op == FC_OP_log || op == FC_OP_log1p) of = gb1(g, FC_OP_abs, of);
        sum = gb2(g, FC_OP_add, sum, gb1(g, op, of));
    }
    return gb2(g, FC_OP_atan2, gb2(g, FC_OP_add, sum, gb1(g, FC_OP_sin, far)), row);
}

FC_TEST(fused_as_unfused, many_functions) {
    try_plans(FUSEC_F32, -1, many_functions);
    try_plans(FUSEC_F64, 0, many_functions);
}

FC_TEST(fused_as_unfused, softmax) {
    try_plans(FUSEC_F32, -1, softmax);
    try_plans(FUSEC_F32, 0, softmax);
    try_plans(FUSEC_F16, -1, softmax);
    try_plans(FUSEC_F64, -1, softmax);
}

FC_TEST(fused_as_unfused, layernorm) {
    try_plans(FUSEC_F32, -1, layernorm);
    try_plans(FUSEC_F32, 0, layernorm);
    try_plans(FUSEC_BF16, -1, layernorm);
    try_plans(FUSEC_F64, 0, layernorm);
}

/* ---- compiles -------------------------------------------------------------------------------- */

typedef struct seen {
    char (*text)[200];
    size_t n;
} seen;

static void note_class(seen *s, const char *cls) {
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->text[i], cls)) return;
    snprintf(s->text[s->n++], sizeof *s->text, "%s", cls);
}

/* 200 sizes of one program: no more compiles than shape classes, and few of those. */
static void run_sizes(void *arg) {
    fc_device *d;
    fc_graph g;
    fc_error e = {0};
    fc_config c;
    fc_context *ctx = NULL;
    fc_program *p = NULL;
    seen classes = {calloc(200, sizeof *classes.text), 0};
    fc_config_init(&c);
    c.cache_dir = "";
    FC_EXPECT_OK(fc_context_new(&c, &ctx, &e), &e);
    if (!classes.text || fc_context_device(ctx, arg, &d, NULL, &e)) {
        fc_context_free(ctx);
        free(classes.text);
        FC_SKIP("there is no device %s", (const char *)arg);
    }
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    fc_build_output(&g, "p", softmax(&g, x, -1));
    FC_EXPECT_OK(fc_program_new(ctx, &g, &(fc_program_options){.device = d}, &p, &e), &e);
    FC_EXPECT_EQ_I64((int64_t)p->plan->steps.len, 1);
    for (int64_t i = 0; i < 200; i++) {
        fc_oracle sizes;
        fc_arrays in, out;
        fc_step_report report[1];
        fc_oracle_sizes(&sizes, &g, (const int64_t[]){2 + i * 7 % 63, 2 + i * i % 3001});
        fc_arrays_for(&in, &g, &sizes, false);
        fc_arrays_for(&out, &g, &sizes, true);
        fill(&in);
        FC_EXPECT_OK(fc_program_run(p, NULL, 1, in.t, 0, NULL, 1, out.t, &e), &e);
        FC_EXPECT_OK(fc_program_report(p, 1, in.t, 0, NULL, true, report, &e), &e);
        note_class(&classes, report[0].cls);
        fc_arrays_free(&in);
        fc_arrays_free(&out);
        fc_oracle_free(&sizes);
    }
    FC_EXPECT_LE_I64((int64_t)ctx->compiles, (int64_t)classes.n);
    FC_EXPECT_LE_I64((int64_t)classes.n, 16);
    fc_program_free(p);
    fc_context_free(ctx);
    fc_graph_free(&g);
    free(classes.text);
}

FC_REGISTER(sizes) {
    for (size_t i = 0; i < FC_COUNT(devices); i++) {
        char name[64];
        snprintf(name, sizeof name, "of_200_sizes_%s", devices[i]);
        FC_ADD_TEST("compiles", name, run_sizes, devices[i]);
    }
}
