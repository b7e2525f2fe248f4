/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_scan.c - prefixes along an axis: the order of docs/semantics.md 6.5 on every device, what
 * shares a kernel with a scan, and what the builders refuse. */
#include <stdio.h>
#include <stdlib.h>

#include "ir/expand.h"
#include "ir/fold.h"
#include "passes/plan.h"
#include "runtime/bind.h"
#include "tests/support/fake_machine.h"
#include "tests/support/program_fixture.h"
#include "tests/support/gb.h"
#include "tests/support/oracle_run.h"
#include "tests/support/test.h"

static const char *const devices[] = {"interp", "cpu", "cuda"};
static const int thread_counts[] = {1, 3};

static void fill(fc_arrays *in, bool tame) {
    fc_rng r = {7};
    for (uint32_t a = 0; a < in->n; a++)
        for (int64_t i = 0; i < fc_array_count(&in->t[a]); i++)
            fc_oracle_store(in->t[a].dtype, in->t[a].data, i,
                            fc_random_value(in->t[a].dtype, &r, tame));
}

static void judge_everywhere(fc_graph *g, const int64_t *syms, bool tame) {
    fc_oracle sizes, o;
    fc_arrays in;
    fc_oracle_sizes(&sizes, g, syms);
    fc_arrays_for(&in, g, &sizes, false);
    fill(&in, tame);
    fc_oracle_run(&o, g, syms, (const void *const[]){in.t[0].data});
    for (size_t d = 0; d < FC_COUNT(devices); d++)
        for (size_t n = 0; n < FC_COUNT(thread_counts); n++) {
            fc_arrays out;
            fc_error e = {0};
            fc_str why;
            fc_how how = {.runs = 1};
            how.ctx = fc_rig(devices[d], thread_counts[n], &how.device);
            if (!how.ctx) continue;
            fc_str_init(&why, &fc_libc_alloc);
            FC_TRACE("%s, %d threads", devices[d], thread_counts[n]);
            FC_EXPECT_OK(fc_rig_run(&how, g, syms, &in, &out, &e), &e);
            if (!e.code && fc_judge(g, &o, &out, &why)) FC_FAIL("%s", why.data);
            FC_UNTRACE();
            fc_str_free(&why);
            fc_arrays_free(&out);
        }
    fc_arrays_free(&in);
    fc_oracle_free(&o);
    fc_oracle_free(&sizes);
    fc_graph_free(g);
}

/* ---- every row, dtype and direction ---------------------------------------------------------- */

static const fc_op rows[] = {FC_OP_sum, FC_OP_prod, FC_OP_min, FC_OP_max, FC_OP_any, FC_OP_all};

static void run_dtype(void *arg) {
    FC_TAKE_ONE_OF(3);
    const fusec_dtype t = (fusec_dtype)(uintptr_t)arg;
    static const int64_t shapes[][2] = {{3, 37}, {37, 3}, {1, 300}, {0, 5}, {5, 0}};
    for (size_t s = 0; s < FC_COUNT(shapes); s++) {
        fc_graph g;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        fc_node x = gbin(&g, "x", t, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
        for (size_t i = 0; i < FC_COUNT(rows); i++)
            for (int way = 0; way < 4; way++) {
                char name[32];
                snprintf(name, sizeof name, "%s%d", fc_ops[rows[i]].name, way);
                fc_build_output(&g, fc_arena_strdup(&g.arena, name, strlen(name)),
                                fc_build_scan(&g, rows[i], x, way & 1, way & 2, way == 3));
            }
        FC_TRACE("[%lld, %lld]", (long long)shapes[s][0], (long long)shapes[s][1]);
        judge_everywhere(&g, shapes[s], false);
        FC_UNTRACE();
    }
}

FC_REGISTER(scan_dtypes) {
    for (int t = 0; t < FC_DTYPE_COUNT; t++) {
        if (fc_dtypes[t].name)
            FC_ADD_TEST("scan_dtypes", fc_dtypes[t].name, run_dtype, (uintptr_t)t);
    }
}

/* ---- sizes around the constants of the tree -------------------------------------------------- */

FC_TEST(scan, sizes) {
    static const int64_t shapes[][2] = {{1, 1},   {1, 15},  {1, 16},  {1, 17},   {2, 31},
                                        {2, 33},  {1, 255}, {1, 257}, {1, 512},  {1, 513},
                                        {17, 70}, {40, 16}, {70, 17}, {1, 1025}, {300, 2}};
    for (size_t s = 0; s < FC_COUNT(shapes); s++) {
        fc_graph g;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        fc_node x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
        fc_build_output(&g, "rows", fc_build_scan(&g, FC_OP_sum, x, -1, false, false));
        fc_build_output(&g, "columns", fc_build_scan(&g, FC_OP_sum, x, 0, false, false));
        FC_TRACE("[%lld, %lld]", (long long)shapes[s][0], (long long)shapes[s][1]);
        judge_everywhere(&g, shapes[s], true);
        FC_UNTRACE();
    }
}

/* ---- CUDA text on the host, by the driver of the tests --------------------------------------- */

static void judge_cuda(fc_fixture *f, const int64_t *syms, bool tame) {
    fc_oracle sizes, o;
    fc_arrays in, out;
    fc_str why;
    fc_how how = {.ctx = f->ctx, .device = f->device, .runs = 1};
    fc_str_init(&why, &fc_libc_alloc);
    fc_oracle_sizes(&sizes, &f->g, syms);
    fc_arrays_for(&in, &f->g, &sizes, false);
    fill(&in, tame);
    fc_oracle_run(&o, &f->g, syms, (const void *const[]){in.t[0].data});
    FC_EXPECT_OK(fc_rig_run(&how, &f->g, syms, &in, &out, &f->e), &f->e);
    if (!f->e.code && fc_judge(&f->g, &o, &out, &why)) FC_FAIL("%s", why.data);
    fc_str_free(&why);
    fc_arrays_free(&out);
    fc_arrays_free(&in);
    fc_oracle_free(&o);
    fc_oracle_free(&sizes);
    fc_graph_clear(&f->g);
}

FC_TEST(scan, cuda_on_the_host) {
    static const int64_t shapes[][2] = {{1, 1},    {3, 40},    {40, 3},    {2, 129},
                                        {1, 4096}, {2, 4097},  {1, 12300}, {128, 3},
                                        {300, 37}, {135, 452}, {130, 226}};
    fake_machine m;
    fc_fixture f;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    if (!fc_fixture_open(&f, "cuda")) FC_FAIL("no device behind the fake driver");
    for (size_t s = 0; s < FC_COUNT(shapes); s++) {
        if (!fc_test_takes(2)) continue;
        fc_node x = gbin(&f.g, "x", FUSEC_F32, 2, gbd(&f.g, "n"), gbd(&f.g, "m"), 0);
        fc_node c = fc_build_scan(&f.g, FC_OP_sum, gb2(&f.g, FC_OP_mul, x, gbn(&f.g, x, 3)), -1,
                                  false, false);
        fc_build_output(&f.g, "rows", gb2(&f.g, FC_OP_add, c, x));
        fc_build_output(&f.g, "before", fc_build_scan(&f.g, FC_OP_prod, x, -1, true, false));
        fc_build_output(&f.g, "columns", fc_build_scan(&f.g, FC_OP_sum, x, 0, false, true));
        fc_build_output(&f.g, "above", fc_build_scan(&f.g, FC_OP_prod, x, 0, true, false));
        FC_TRACE("[%lld, %lld]", (long long)shapes[s][0], (long long)shapes[s][1]);
        judge_cuda(&f, shapes[s], true);
        FC_UNTRACE();
    }
    fc_fixture_close(&f, NULL);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* Prefixes of one line in the order of docs/semantics.md: runs, and a counter of their subtrees. */
static void plain_sums(const float *x, float *y, int64_t n) {
    float kept[40], run = 0;
    for (int64_t i = 0; i < n; i++) {
        float before = 0;
        bool any = false;
        run = i % 16 ? run + x[i] : 0 + x[i];
        for (int l = 0; i / 16 >> l; l++)
            if (i / 16 >> l & 1) {
                before = any ? kept[l] + before : kept[l];
                any = true;
            }
        y[i] = any ? before + run : run;
        if (i % 16 < 15) continue;
        float total = run;
        int l = 0;
        for (; i / 16 >> l & 1; l++) total = kept[l] + total;
        kept[l] = total;
    }
}

/* Tiles that look back at each other: of two runs a thread and of one, over two levels of groups of
 * 32, by vectors of four and element by element; and again, as the slots are zero when all have
 * left. */
FC_TEST(scan, cuda_looks_back) {
    enum { MOST = 2 * (8192 * 34 + 4) };
    static const int64_t shapes[][2] = {{2, 8192 * 34 + 4}, {2, 8192 * 13 + 5}, {1, 4096 * 37 + 5}};
    fake_machine m;
    fc_fixture f;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    if (!fc_fixture_open(&f, "cuda")) FC_FAIL("no device behind the fake driver");
    fc_node x = gbin(&f.g, "x", FUSEC_F32, 2, gbd(&f.g, "n"), gbd(&f.g, "m"), 0);
    fc_build_output(&f.g, "y", fc_build_scan(&f.g, FC_OP_sum, x, 1, false, false));
    float *in = malloc(3 * MOST * sizeof *in), *out = in + MOST, *want = out + MOST;
    fc_rng r = {5};
    for (int64_t i = 0; i < MOST; i++) in[i] = (float)(int32_t)fc_random(&r) * 0x1p-31f;
    fc_program *p = fc_fixture_compile(&f);
    for (size_t i = 0; p && i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t lines = shapes[i][0], n = shapes[i][1];
        fc_tensor from = {.dtype = FUSEC_F32, .rank = 2, .shape = shapes[i], .data = in}, to = from;
        to.data = out;
        memset(out, 0, MOST * sizeof *out);
        FC_EXPECT_OK(fc_program_run(p, NULL, 1, &from, 0, NULL, 1, &to, &f.e), &f.e);
        for (int64_t k = 0; k < lines; k++) plain_sums(in + k * n, want + k * n, n);
        FC_EXPECT_TRUE(memcmp(out, want, (size_t)(lines * n) * sizeof *out) == 0);
    }
    free(in);
    fc_fixture_close(&f, p);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* Down columns, of which a thread takes four, two or one; the last block and the last runs are not
 * whole. */
FC_TEST(scan, cuda_columns) {
    enum { MOST = 1000 * 226 };
    static const struct {
        int64_t shape[2];
        unsigned side, down; /* runs */
    } cases[] = {{{300, 452}, 4, 4}, {{128, 512}, 4, 4},  {{200, 454}, 2, 8},  {{1000, 226}, 2, 8},
                 {{140, 451}, 1, 8}, {{140, 120}, 1, 16}, {{1000, 60}, 1, 32}, {{200, 1100}, 4, 8}};
    fake_machine m;
    fc_fixture f;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    if (!fc_fixture_open(&f, "cuda")) FC_FAIL("no device behind the fake driver");
    fc_node x = gbin(&f.g, "x", FUSEC_F32, 2, gbd(&f.g, "n"), gbd(&f.g, "m"), 0);
    fc_build_output(&f.g, "y", fc_build_scan(&f.g, FC_OP_sum, x, 0, false, false));
    float *in = malloc(2 * MOST * sizeof *in), *out = in + MOST;
    fc_rng r = {7};
    for (int64_t i = 0; i < MOST; i++) in[i] = (float)(int32_t)fc_random(&r) * 0x1p-31f;
    fc_program *p = fc_fixture_compile(&f);
    for (size_t i = 0; p && i < FC_COUNT(cases); i++) {
        const int64_t n = cases[i].shape[0], columns = cases[i].shape[1];
        float line[1000], want[1000];
        fc_tensor from = {.dtype = FUSEC_F32, .rank = 2, .shape = cases[i].shape, .data = in};
        fc_tensor to = from;
        fc_bound *b = NULL;
        to.data = out;
        FC_TRACE("[%lld, %lld]", (long long)n, (long long)columns);
        FC_EXPECT_OK(fc_program_run(p, NULL, 1, &from, 0, NULL, 1, &to, &f.e), &f.e);
        for (int64_t c = 0; c < columns; c++) {
            int64_t same = 0;
            for (int64_t k = 0; k < n; k++) line[k] = in[k * columns + c];
            plain_sums(line, want, n);
            for (int64_t k = 0; k < n; k++)
                same += memcmp(&out[k * columns + c], &want[k], sizeof want[k]) == 0;
            FC_EXPECT_EQ_I64(same, n);
        }
        FC_EXPECT_OK(fc_bound_get(p, 1, &from, 0, NULL, 64, FC_FULL_CODE, &b, &f.e), &f.e);
        if (b) FC_EXPECT_EQ_I64(b->steps[0].cls.vector, cases[i].side);
        if (b) FC_EXPECT_EQ_I64(b->steps[0].cls.cuda.team, 32 * cases[i].down);
        if (b) fc_bound_release(p, b);
        FC_UNTRACE();
    }
    free(in);
    fc_fixture_close(&f, p);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* Records, and two scans of other widths, of which one is without its own element. */
FC_TEST(scan, cuda_looks_back_at_records) {
    static const int64_t shape[2] = {1, 4096 * 4 + 100};
    fake_machine m;
    fc_fixture f;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    if (!fc_fixture_open(&f, "cuda")) FC_FAIL("no device behind the fake driver");
    fc_node x = gbin(&f.g, "x", FUSEC_F32, 2, gbd(&f.g, "n"), gbd(&f.g, "m"), 0);
    const fc_node half = gb2(&f.g, FC_OP_mul, x, gbn(&f.g, x, 0.5));
    fc_build_output(&f.g, "y",
                    fc_build_linrec(&f.g, half, x, FC_NONODE, 1, (fc_fold_args){.scan = true}));
    judge_cuda(&f, shape, true);
    x = gbin(&f.g, "x", FUSEC_F32, 2, gbd(&f.g, "n"), gbd(&f.g, "m"), 0);
    const fc_node above = gb2(&f.g, FC_OP_gt, x, gbn(&f.g, x, 0));
    fc_build_output(&f.g, "count", fc_build_scan(&f.g, FC_OP_sum, above, 1, true, false));
    fc_build_output(&f.g, "most",
                    gb2(&f.g, FC_OP_add, fc_build_scan(&f.g, FC_OP_max, x, 1, false, true), x));
    judge_cuda(&f, shape, true);
    fc_fixture_close(&f, NULL);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* ---- what shares a kernel -------------------------------------------------------------------- */

static void expect_kernels(fc_graph *g, size_t kernels) {
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {.verify = true};
    FC_EXPECT_OK(fc_plan_build(g, &o, &p, &e), &e);
    if (p) FC_EXPECT_EQ_U64(p->steps.len, kernels);
    fc_plan_free(p);
}

FC_TEST(scan, kernels) {
    fc_graph g;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    fc_node e = gb1(&g, FC_OP_exp, x), c = fc_build_scan(&g, FC_OP_sum, e, -1, false, false);
    fc_build_output(&g, "y", gb2(&g, FC_OP_mul, c, gbn(&g, x, 0.5)));
    fc_build_output(&g, "e", e);
    fc_build_output(&g, "top", fc_build_scan(&g, FC_OP_max, x, -1, true, false));
    expect_kernels(&g, 1);
    judge_everywhere(&g, (const int64_t[]){5, 77}, true);
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    c = fc_build_scan(&g, FC_OP_sum, x, 0, false, false);
    fc_build_output(&g, "y", gb2(&g, FC_OP_div, c, gball(&g, FC_OP_sum, x)));
    expect_kernels(&g, 2);
    judge_everywhere(&g, (const int64_t[]){100}, true);
    fc_graph_init(&g, &fc_libc_alloc, NULL); /* scans of scans, and of what a reduction made */
    x = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    c = fc_build_scan(&g, FC_OP_sum, fc_build_scan(&g, FC_OP_max, x, 1, false, false), 0, false,
                      true);
    fc_build_output(&g, "y", c);
    fc_build_output(
        &g, "z", fc_build_scan(&g, FC_OP_sum, gbred(&g, FC_OP_max, x, 0, false), 0, false, false));
    judge_everywhere(&g, (const int64_t[]){33, 18}, true);
}

/* ---- what is refused ------------------------------------------------------------------------- */

FC_TEST(scan, refused) {
    fc_graph g;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    FC_EXPECT_EQ_U64(fc_build_scan(&g, FC_OP_sum, x, 1, false, false), FC_NONODE);
    FC_EXPECT_EQ_I64(g.error.code, FUSEC_BAD_AXIS);
    FC_EXPECT_CONTAINS(g.error.message, "axis 1 does not exist");
    fc_graph_clear(&g);
    x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    FC_EXPECT_EQ_U64(fc_build_scan(&g, FC_OP_var, x, 0, false, false), FC_NONODE);
    FC_EXPECT_EQ_I64(g.error.code, FUSEC_INVALID);
    fc_graph_free(&g);
}
