/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_fold.c - reductions and scans by code of the user's: records of several values in the trees
 * of docs/semantics.md on every device; linear recurrences and scans that start anew; what shares a
 * kernel; what is refused. */
#include <math.h>
#include <stdio.h>

#include "ir/complex.h"
#include "ir/fold.h"
#include "passes/plan.h"
#include "tests/support/fake_machine.h"
#include "tests/support/gb.h"
#include "tests/support/oracle_run.h"
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

static const char *const devices[] = {"interp", "cpu", "cuda"};
static const int thread_counts[] = {1, 3};

static void fill(fc_arrays *in, bool tame) {
    fc_rng r = {11};
    for (uint32_t a = 0; a < in->n; a++)
        for (int64_t i = 0; i < fc_array_count(&in->t[a]); i++)
            fc_oracle_store(in->t[a].dtype, in->t[a].data, i,
                            fc_random_value(in->t[a].dtype, &r, tame));
}

static void judge_on(const fc_how *how, fc_graph *g, const int64_t *syms, const fc_oracle *o,
                     const fc_arrays *in) {
    fc_arrays out;
    fc_error e = {0};
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    FC_EXPECT_OK(fc_rig_run(how, g, syms, in, &out, &e), &e);
    if (!e.code && fc_judge(g, o, &out, &why)) FC_FAIL("%s", why.data);
    fc_str_free(&why);
    fc_arrays_free(&out);
}

/* On one device, or where `ctx` is NULL on all of the machine. */
static void judge(fc_graph *g, const int64_t *syms, bool tame, fc_fixture *f) {
    fc_oracle sizes, o;
    fc_arrays in;
    fc_oracle_sizes(&sizes, g, syms);
    fc_arrays_for(&in, g, &sizes, false);
    fill(&in, tame);
    const void *data[4] = {0};
    for (uint32_t i = 0; i < in.n && i < FC_COUNT(data); i++) data[i] = in.t[i].data;
    fc_oracle_run(&o, g, syms, data);
    if (f) {
        fc_how how = {.ctx = f->ctx, .device = f->device, .runs = 1};
        judge_on(&how, g, syms, &o, &in);
    }
    for (size_t d = 0; !f && d < FC_COUNT(devices); d++)
        for (size_t n = 0; n < FC_COUNT(thread_counts); n++) {
            fc_how how = {.runs = 1};
            how.ctx = fc_rig(devices[d], thread_counts[n], &how.device);
            if (!how.ctx) continue;
            FC_TRACE("%s, %d threads", devices[d], thread_counts[n]);
            judge_on(&how, g, syms, &o, &in);
            FC_UNTRACE();
        }
    fc_arrays_free(&in);
    fc_oracle_free(&o);
    fc_oracle_free(&sizes);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static fc_node hole(fc_graph *g, fc_node x, uint32_t c, bool later) {
    return fc_build_slot(g, fc_record_dtype((fusec_dtype)fc_at(g, x)->dtype),
                         c + (later ? FC_MAX_RECORD : 0));
}

typedef struct body {
    const char *name;
    uint32_t n;
    void (*make)(fc_graph *g, const fc_node *a, const fc_node *b, fc_node *c);
    double start[FC_MAX_RECORD];
} body;

/* Smallest and largest. */
static void extent(fc_graph *g, const fc_node *a, const fc_node *b, fc_node *c) {
    c[0] = gb2(g, FC_OP_minimum, a[0], b[0]);
    c[1] = gb2(g, FC_OP_maximum, a[1], b[1]);
}
/* The composition of x -> a0*x + a1: does not commute. */
static void affine(fc_graph *g, const fc_node *a, const fc_node *b, fc_node *c) {
    c[0] = gb2(g, FC_OP_mul, a[0], b[0]);
    c[1] = gb2(g, FC_OP_add, gb2(g, FC_OP_mul, b[0], a[1]), b[1]);
}
/* The first and the last element, and whether there is one: c0 and c1 of a record meet others'
 * flags. */
static void ends(fc_graph *g, const fc_node *a, const fc_node *b, fc_node *c) {
    c[0] = gb3(g, FC_OP_where, a[2], a[0], b[0]);
    c[1] = gb3(g, FC_OP_where, b[2], b[1], a[1]);
    c[2] = gb2(g, FC_OP_logical_or, a[2], b[2]);
}

static const body bodies[] = {{"extent", 2, extent, {INFINITY, -INFINITY}},
                              {"affine", 2, affine, {1, 0}},
                              {"ends", 3, ends, {0, 0, 0}}};

typedef struct shape {
    bool scan, exclusive, reverse, keepdims, no_start;
    int64_t axis;
} shape;

static bool fold(fc_graph *g, const body *b, const fc_node *x, shape s, fc_node *out) {
    fc_node a[FC_MAX_RECORD], l[FC_MAX_RECORD], c[FC_MAX_RECORD], start[FC_MAX_RECORD];
    for (uint32_t i = 0; i < b->n; i++) {
        a[i] = hole(g, x[i], i, false);
        l[i] = hole(g, x[i], i, true);
        start[i] = gbn(g, a[i], b->start[i]);
    }
    b->make(g, a, l, c);
    const fc_fold_args args = {.what = "reduce",
                               .n = b->n,
                               .element = x,
                               .start = s.no_start ? NULL : start,
                               .body = c,
                               .naxes = 1,
                               .axes = &s.axis,
                               .keepdims = s.keepdims,
                               .scan = s.scan,
                               .exclusive = s.exclusive,
                               .reverse = s.reverse};
    return fc_build_fold(g, &args, out);
}

static void output(fc_graph *g, fc_node n) {
    char name[16];
    snprintf(name, sizeof name, "o%zu", g->outputs.len);
    fc_build_output(g, fc_arena_strdup(&g->arena, name, strlen(name)), n);
}

/* x and x + x, and for the flag of `ends` true. */
static void inputs(fc_graph *g, const body *b, fusec_dtype t, fc_node x[3]) {
    x[0] = gbin(g, "x", t, 2, gbd(g, "n"), gbd(g, "m"), 0);
    x[1] = gb2(g, FC_OP_add, x[0], x[0]);
    x[2] = b->n == 3 ? fc_build_const(g, FUSEC_BOOL, 1) : x[0];
}

static void all_ways(fc_graph *g, const fc_node *x, const body *b) {
    static const shape ways[] = {{.axis = 1},
                                 {.axis = 0},
                                 {.axis = -1, .keepdims = true},
                                 {.axis = 1, .scan = true},
                                 {.axis = 0, .scan = true, .reverse = true},
                                 {.axis = 1, .scan = true, .exclusive = true}};
    fc_node out[FC_MAX_RECORD];
    for (size_t w = 0; w < FC_COUNT(ways); w++) {
        if (!fold(g, b, x, ways[w], out)) {
            FC_FAIL("%s", g->error.message);
            return;
        }
        for (uint32_t i = 0; i < b->n; i++) output(g, out[i]);
    }
}

static const int64_t sizes[][2] = {{3, 37}, {1, 1}, {2, 1100}, {33, 70}, {0, 5}};

static void run_body(void *arg) {
    FC_TAKE_ONE_OF(2);
    const body *b = arg;
    static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64, FUSEC_I32, FUSEC_F16, FUSEC_U8};
    for (size_t t = 0; t < FC_COUNT(dtypes); t++)
        for (size_t s = 0; s < FC_COUNT(sizes); s++) {
            fc_graph g;
            fc_node x[3];
            if (t > 0 && s) continue;
            fc_graph_init(&g, &fc_libc_alloc, NULL);
            inputs(&g, b, dtypes[t], x);
            FC_TRACE("%s [%lld, %lld]", fc_dtypes[dtypes[t]].name, (long long)sizes[s][0],
                     (long long)sizes[s][1]);
            all_ways(&g, x, b);
            judge(&g, sizes[s], true, NULL);
            FC_UNTRACE();
            fc_graph_free(&g);
        }
}

FC_REGISTER(fold_bodies) {
    for (size_t i = 0; i < FC_COUNT(bodies); i++)
        FC_ADD_TEST("fold", bodies[i].name, run_body, &bodies[i]);
}

/* Without starts the trees are the same, and no elements are refused. */
FC_TEST(fold, no_start) {
    fc_graph g;
    fc_node x[3], out[FC_MAX_RECORD];
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    inputs(&g, &bodies[1], FUSEC_F32, x);
    FC_EXPECT_TRUE(fold(&g, &bodies[1], x, (shape){.axis = 1, .no_start = true}, out));
    output(&g, out[0]);
    output(&g, out[1]);
    FC_EXPECT_TRUE(
        fold(&g, &bodies[1], x, (shape){.axis = 0, .scan = true, .no_start = true}, out));
    output(&g, out[1]);
    judge(&g, (const int64_t[]){33, 140}, true, NULL);
    FC_EXPECT_EQ_I64(g.conditions.at[g.conditions.len - 1].status, FUSEC_EMPTY_REDUCTION);
    fc_graph_free(&g);
}

/* ---- recurrences, and scans that start anew -------------------------------------------------- */

FC_TEST(fold, linrec) {
    static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64, FUSEC_BF16, FUSEC_I32};
    for (size_t t = 0; t < FC_COUNT(dtypes); t++) {
        fc_graph g;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        fc_node a = gbin(&g, "a", dtypes[t], 2, gbd(&g, "n"), gbd(&g, "m"), 0),
                b = gbin(&g, "b", dtypes[t], 2, gbd(&g, "n"), gbd(&g, "m"), 0);
        output(&g, fc_build_linrec(&g, a, b, FC_NONODE, -1, (fc_fold_args){.reverse = false}));
        output(&g, fc_build_linrec(&g, a, b, gbn(&g, b, 3), 0, (fc_fold_args){.reverse = true}));
        judge(&g, (const int64_t[]){35, 70}, true, NULL);
        fc_graph_free(&g);
    }
}

/* Without the element itself, in stretches, from the end, of complex numbers: by the oracle, which
 * knows the fold that it becomes, and by products that are sums of their parts. */
FC_TEST(fold, linrec_ways) {
    for (int way = 0; way < 8; way++) {
        fc_graph g;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        fc_node x[4];
        for (int i = 0; i < 4; i++) {
            const char name[] = {(char)('a' + i), 0};
            x[i] = gbin(&g, name, FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
        }
        const fc_fold_args how = {.exclusive = way & 1,
                                  .reverse = way & 2,
                                  .resets = way & 4,
                                  .reset = gb2(&g, FC_OP_gt, x[0], gbn(&g, x[0], 1))};
        const fc_node z = fc_build_linrec(&g, fc_build_pair(&g, x[0], x[1]),
                                          fc_build_pair(&g, x[2], x[3]), FC_NONODE, way & 1, how);
        output(&g, fc_build_linrec(&g, x[0], x[1], x[2], 1, how));
        output(&g, fc_build_part(&g, z, false));
        output(&g, fc_build_part(&g, z, true));
        judge(&g, (const int64_t[]){19, 37}, true, NULL);
        fc_graph_free(&g);
    }
}

/* y = a*y + b, where z stands for two of them: i*i = -1. */
FC_TEST(fold, complex_by_hand) {
    enum { N = 40 };
    fc_fixture f;
    if (!fc_fixture_open(&f, "interp")) return;
    fc_node x = gbin(&f.g, "x", FUSEC_F32, 1, gbd(&f.g, "n"), 0, 0), zero = gbn(&f.g, x, 0);
    const fc_node turn = fc_build_pair(&f.g, zero, gbn(&f.g, x, 1));
    const fc_fold_args how = {.exclusive = true};
    const fc_node z =
        fc_build_linrec(&f.g, fc_build_broadcast(&f.g, turn, 1, &(fc_dim){gbd(&f.g, "n")}),
                        fc_build_pair(&f.g, x, zero), turn, 0, how);
    output(&f.g, fc_build_part(&f.g, z, false));
    output(&f.g, fc_build_part(&f.g, z, true));
    float in[N], re[N], im[N], a = 0, b = 1;
    for (int i = 0; i < N; i++) in[i] = (float)i;
    const int64_t length = N;
    const fc_tensor from = {.dtype = FUSEC_F32, .rank = 1, .shape = &length, .data = in};
    fc_tensor to[2] = {from, from};
    to[0].data = re;
    to[1].data = im;
    fc_program *p = fc_fixture_compile(&f);
    if (p) FC_EXPECT_OK(fc_program_run(p, NULL, 1, &from, 0, NULL, 2, to, &f.e), &f.e);
    for (int i = 0; p && i < N; i++) {
        FC_EXPECT_TRUE(re[i] == a && im[i] == b);
        const float was = a;
        a = in[i] - b;
        b = was;
    }
    fc_fixture_close(&f, p);
}

FC_TEST(fold, reset) {
    static const fc_op rows[] = {FC_OP_sum, FC_OP_prod, FC_OP_min, FC_OP_max, FC_OP_any, FC_OP_all};
    for (size_t r = 0; r < FC_COUNT(rows); r++) {
        fc_graph g;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        fc_node x = gbin(&g, "x", r % 2 ? FUSEC_F32 : FUSEC_I16, 2, gbd(&g, "n"), gbd(&g, "m"), 0),
                when = gb2(&g, FC_OP_gt, x, gbn(&g, x, 1));
        for (int way = 0; way < 4; way++)
            output(&g, fc_build_scan_reset(&g, rows[r], x, when, way & 1, way & 2, way == 3));
        judge(&g, (const int64_t[]){19, 61}, true, NULL);
        fc_graph_free(&g);
    }
}

/* Stretches by hand: what is added up begins anew at each mark. */
FC_TEST(fold, reset_by_hand) {
    enum { N = 100 };
    fc_fixture f;
    if (!fc_fixture_open(&f, "interp")) return;
    fc_node x = gbin(&f.g, "x", FUSEC_I64, 1, gbd(&f.g, "n"), 0, 0),
            when = gb2(&f.g, FC_OP_eq, gb2(&f.g, FC_OP_mod, x, gbn(&f.g, x, 7)), gbn(&f.g, x, 0));
    output(&f.g, fc_build_scan_reset(&f.g, FC_OP_sum, x, when, 0, false, false));
    output(&f.g, fc_build_scan_reset(&f.g, FC_OP_sum, x, when, 0, true, false));
    output(&f.g, fc_build_scan_reset(&f.g, FC_OP_sum, x, when, 0, false, true));
    int64_t in[N], out[3][N], sum = 0;
    for (int64_t i = 0; i < N; i++) in[i] = i + 1;
    const int64_t length = N;
    fc_tensor from = {.dtype = FUSEC_I64, .rank = 1, .shape = &length, .data = in}, to[3];
    for (int i = 0; i < 3; i++) {
        to[i] = from;
        to[i].data = out[i];
    }
    fc_program *p = fc_fixture_compile(&f);
    if (p) FC_EXPECT_OK(fc_program_run(p, NULL, 1, &from, 0, NULL, 3, to, &f.e), &f.e);
    for (int64_t i = 0; p && i < N; i++) {
        const bool anew = in[i] % 7 == 0;
        FC_EXPECT_EQ_I64(out[1][i], anew ? 0 : sum);
        sum = anew ? in[i] : sum + in[i];
        FC_EXPECT_EQ_I64(out[0][i], sum);
    }
    sum = 0;
    for (int64_t i = N; p && i-- > 0;) {
        sum = in[i] % 7 == 0 ? in[i] : sum + in[i];
        FC_EXPECT_EQ_I64(out[2][i], sum);
    }
    fc_fixture_close(&f, p);
}

/* ---- CUDA text on the host, by the driver of the tests --------------------------------------- */

FC_TEST(fold, cuda_on_the_host) {
    static const int64_t shapes[][2] = {{3, 40}, {2, 129}, {300, 70}, {1, 9000}};
    fake_machine m;
    fc_fixture f;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    if (!fc_fixture_open(&f, "cuda")) FC_FAIL("no device behind the fake driver");
    for (size_t s = 0; s < FC_COUNT(shapes); s++) {
        fc_node x[3];
        const body *b = &bodies[s % FC_COUNT(bodies)];
        inputs(&f.g, b, FUSEC_F32, x);
        FC_TRACE("%s [%lld, %lld]", b->name, (long long)shapes[s][0], (long long)shapes[s][1]);
        fc_node out[FC_MAX_RECORD];
        fold(&f.g, b, x, (shape){.axis = s % 2 ? 1 : 0}, out);
        output(&f.g, out[1]);
        fold(&f.g, b, x, (shape){.axis = 1, .scan = true, .exclusive = true}, out);
        output(&f.g, out[0]);
        output(&f.g, out[1]);
        judge(&f.g, shapes[s], true, &f);
        FC_UNTRACE();
        fc_graph_clear(&f.g);
    }
    fc_fixture_close(&f, NULL);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* ---- what shares a kernel -------------------------------------------------------------------- */

static void expect_kernels(fc_graph *g, size_t kernels, size_t reductions) {
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {.verify = true};
    FC_EXPECT_OK(fc_plan_build(g, &o, &p, &e), &e);
    if (p) {
        FC_EXPECT_EQ_U64(p->steps.len, kernels);
        FC_EXPECT_EQ_U64(p->steps.at[0]->kernel.reductions.len, reductions);
    }
    fc_plan_free(p);
    fc_graph_free(g);
}

FC_TEST(fold, kernels) {
    fc_graph g;
    fc_node x[3], out[FC_MAX_RECORD];
    fc_graph_init(&g, &fc_libc_alloc, NULL); /* all values of a record are one reduction */
    inputs(&g, &bodies[0], FUSEC_F32, x);
    fold(&g, &bodies[0], x, (shape){.axis = 1, .keepdims = true}, out);
    output(&g, gb2(&g, FC_OP_div, gb2(&g, FC_OP_sub, x[0], out[0]),
                   gb2(&g, FC_OP_sub, out[1], out[0])));
    expect_kernels(&g, 1, 1);
    fc_graph_init(&g, &fc_libc_alloc, NULL); /* with what a row reduces */
    inputs(&g, &bodies[0], FUSEC_F32, x);
    fold(&g, &bodies[0], x, (shape){.axis = 1}, out);
    output(&g, gb2(&g, FC_OP_add, out[1], gbred(&g, FC_OP_sum, x[0], 1, false)));
    expect_kernels(&g, 1, 2);
    fc_graph_init(&g, &fc_libc_alloc,
                  NULL); /* a scan with what it is made of and what is made of it */
    fc_node a = gbin(&g, "a", FUSEC_F32, 1, gbd(&g, "n"), 0, 0),
            s = fc_build_scan_reset(&g, FC_OP_sum, gb1(&g, FC_OP_exp, a),
                                    gb2(&g, FC_OP_gt, a, gbn(&g, a, 1)), 0, false, false);
    output(&g, gb2(&g, FC_OP_mul, s, gbn(&g, s, 0.5)));
    expect_kernels(&g, 1, 1);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect_refused(fc_graph *g, fc_node made, fusec_status s, const char *why) {
    fc_node x = gbin(g, "x", FUSEC_F32, 1, gbd(g, "n"), 0, 0), out[1];
    const int64_t axis = 0;
    const fc_fold_args args = {
        .what = "reduce", .n = 1, .element = &x, .body = &made, .naxes = 1, .axes = &axis};
    FC_EXPECT_TRUE(!fc_build_fold(g, &args, out));
    FC_EXPECT_EQ_I64(g->error.code, s);
    FC_EXPECT_CONTAINS(g->error.message, why);
    fc_graph_clear(g);
}

FC_TEST(fold, refused) {
    fc_graph g;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_dim none = 0;
    fc_node a = fc_build_slot(&g, FUSEC_F32, 0);
    expect_refused(&g, gball(&g, FC_OP_sum, a), FUSEC_NOT_POINTWISE, "not elementwise: it has `");
    fc_node p = gbin(&g, "p", FUSEC_F32, 0, none, none, none);
    a = fc_build_slot(&g, FUSEC_F32, 0);
    expect_refused(&g, gb2(&g, FC_OP_mul, a, p), FUSEC_NOT_POINTWISE, "the definition reads p");
    a = fc_build_slot(&g, FUSEC_F32, 0);
    expect_refused(&g, gb2(&g, FC_OP_lt, a, gbn(&g, a, 1)), FUSEC_RESULT_DTYPE, "a record bool");
    a = fc_build_slot(&g, FUSEC_F32, 3); /* of a longer record */
    expect_refused(&g, a, FUSEC_NOT_POINTWISE, "not elementwise");
    a = gbin(&g, "i", FUSEC_I32, 1, gbd(&g, "n"), 0, 0);
    fc_node b = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    FC_EXPECT_EQ_U64(fc_build_linrec(&g, a, b, FC_NONODE, 0, (fc_fold_args){.reverse = false}),
                     FC_NONODE);
    FC_EXPECT_EQ_I64(g.error.code, FUSEC_DTYPE_MISMATCH);
    fc_graph_free(&g);
}
