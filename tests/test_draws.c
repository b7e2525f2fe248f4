/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_draws.c - random numbers: the vectors of Philox's authors, every distribution against the
 * oracle and with equal bits on every device, and simple statistics.
 *
 * FUSEC_DRAWS=30 draws 2^30 numbers for the statistics (scripts/campaign draws). */
#include "ir/philox.h"
#include "tests/support/capi.h"
#include "tests/support/gb.h"
#include "tests/support/oracle_run.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const devices[] = {"interp", "cpu", "cuda"};

/* Random123's known answers, kat_vectors: counter, key, result. */
FC_TEST(draws, known_answers) {
    static const struct {
        uint64_t n, stream, seed;
        uint32_t out[4];
    } rows[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x85a308d3243f6a88,
         0x0370734413198a2e,
         0x299f31d0a4093822,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    for (size_t k = 0; k < FC_COUNT(rows); k++) {
        uint32_t w[4];
        fc_philox_block(rows[k].n, rows[k].seed, rows[k].stream, w);
        FC_EXPECT_MEMEQ(w, rows[k].out, sizeof w);
        for (uint64_t i = 0; i < 2 && rows[k].n < UINT64_MAX / 2; i++)
            FC_EXPECT_EQ_U64(fc_philox(2 * rows[k].n + i, rows[k].seed, rows[k].stream),
                             w[2 * i] | (uint64_t)w[2 * i + 1] << 32);
    }
}

/* ---- every distribution, dtype and shape -------------------------------------------------------
 */

static fc_node scalar_input(fc_graph *g, const char *name, fusec_dtype t) {
    return fc_build_input(g, name, t, 0, NULL);
}

static void add(fc_graph *g, const char *name, fc_node n) {
    if (n != FC_NONODE) fc_build_output(g, name, n);
}

static void distributions(fc_graph *g, const fc_draw *d, const char *prefix) {
    static const fusec_dtype floats[] = {FUSEC_F16, FUSEC_BF16, FUSEC_F32, FUSEC_F64};
    char name[40];
    for (size_t k = 0; k < FC_COUNT(floats); k++) {
        snprintf(name, sizeof name, "%s_uniform_%s", prefix, fc_dtypes[floats[k]].name);
        add(g, name, fc_build_uniform(g, d, floats[k]));
        snprintf(name, sizeof name, "%s_normal_%s", prefix, fc_dtypes[floats[k]].name);
        add(g, name, fc_build_normal(g, d, floats[k]));
    }
    snprintf(name, sizeof name, "%s_bits", prefix);
    add(g, name, fc_build_bits(g, d, FUSEC_U32));
    snprintf(name, sizeof name, "%s_wide", prefix);
    add(g, name, fc_build_bits(g, d, FUSEC_U64));
    snprintf(name, sizeof name, "%s_dice", prefix);
    add(g, name,
        fc_build_randint(g, d, fc_build_const(g, FUSEC_I64, (uint64_t)-3),
                         fc_build_const(g, FUSEC_I64, 4)));
    snprintf(name, sizeof name, "%s_coin", prefix);
    add(g, name, fc_build_bernoulli(g, d, fc_build_number(g, FUSEC_F32, .3)));
}

/* Inputs: seed and stream. Also of slices, which begin anywhere, and of sums. */
static void draws_graph(fc_graph *g) {
    fc_graph_init(g, &fc_libc_alloc, NULL);
    const fc_node seed = scalar_input(g, "seed", FUSEC_U64);
    const fc_node stream = scalar_input(g, "stream", FUSEC_U64);
    const fc_dim n = gbd(g, "n"), m = gbd(g, "m"), one = fc_dim_const(&g->dims, 1);
    const fc_dim line[1] = {n}, box[3] = {m, fc_dim_const(&g->dims, 3), n};
    const fc_draw of_line = {1, line, seed, stream}, of_box = {3, box, seed, stream};
    const fc_draw of_one = {0, NULL, seed, stream};
    distributions(g, &of_line, "line");
    distributions(g, &of_box, "box");
    distributions(g, &of_one, "one");
    const fc_dim long_line[1] = {fc_dim_add(&g->dims, n, fc_dim_const(&g->dims, 5))};
    const fc_draw of_more = {1, long_line, seed, stream};
    fc_node u = fc_build_uniform(g, &of_more, FUSEC_F32);
    add(g, "part", gbslice(g, u, 0, 3, n));
    fc_slice back = {fc_dim_sub(&g->dims, n, one), -1, n};
    add(g, "back", fc_build_slice(g, u, &back));
    add(g, "rows", gbred(g, FC_OP_sum, fc_build_uniform(g, &of_box, FUSEC_F32), 2, false));
}

static void run(const char *device, const fc_graph *g, const int64_t *syms, const fc_arrays *in,
                fc_arrays *out) {
    fc_error e = {0};
    fc_device *d;
    fc_how how = {.ctx = fc_rig(device, 2, &d)};
    how.device = d;
    FC_EXPECT_OK(fc_rig_run(&how, g, syms, in, out, &e), &e);
}

static void same_outputs(const fc_graph *g, const fc_arrays *a, const fc_arrays *b) {
    for (uint32_t i = 0; i < a->n; i++) {
        const size_t bytes = (size_t)fc_array_count(&a->t[i]) * fc_dtypes[a->t[i].dtype].bytes;
        if (memcmp(a->t[i].data, b->t[i].data, bytes) == 0) continue;
        FC_FAIL("%s differs from the interpreter's", g->outputs.at[i].name);
        return;
    }
}

static void check_sizes(const char *device, int64_t n, int64_t m) {
    fc_graph g;
    fc_oracle sizes, o;
    fc_arrays in, out, wanted;
    fc_str why;
    const void *data[2];
    const int64_t syms[2] = {n, m};
    draws_graph(&g);
    FC_EXPECT_STATUS(g.error.code, FUSEC_OK, &g.error);
    fc_oracle_sizes(&sizes, &g, syms);
    fc_arrays_for(&in, &g, &sizes, false);
    *(uint64_t *)in.t[0].data = 0x123456789abcdefu;
    *(uint64_t *)in.t[1].data = 0xfedcba9876543210u;
    for (int i = 0; i < 2; i++) data[i] = in.t[i].data;
    fc_oracle_run(&o, &g, syms, data);
    fc_str_init(&why, &fc_libc_alloc);
    run("interp", &g, syms, &in, &wanted);
    run(device, &g, syms, &in, &out);
    if (!fc_test_has_failed() && fc_judge(&g, &o, &out, &why)) FC_FAIL("%s", why.data);
    if (!fc_test_has_failed()) same_outputs(&g, &out, &wanted);
    fc_str_free(&why);
    fc_arrays_free(&in);
    fc_arrays_free(&out);
    fc_arrays_free(&wanted);
    fc_oracle_free(&o);
    fc_oracle_free(&sizes);
    fc_graph_free(&g);
}

static void check_device(void *arg) {
    fc_device *d;
    if (!fc_rig(arg, 2, &d)) FC_SKIP("there is no device %s", (const char *)arg);
    static const int64_t n[] = {1, 2, 3, 5, 16, 63, 64, 130, 1001};
    for (size_t i = 0; i < FC_COUNT(n) && !fc_test_has_failed(); i++) {
        FC_TRACE("n = %lld", (long long)n[i]);
        check_sizes(arg, n[i], i % 2 ? 4 : 0);
        FC_UNTRACE();
    }
}

FC_REGISTER(draws) {
    for (size_t i = 0; i < FC_COUNT(devices); i++)
        FC_ADD_TEST("draws", devices[i], check_device, (void *)(uintptr_t)devices[i]);
}

/* A normal number takes the short way of box_muller, as its operands are known to be ordinary: the
 * bits are those of box_muller of the words of a draw, written as docs/semantics.md has it. */
static void same_as_box_muller(void *arg) {
    enum { N = 1 << 18 };
    fc_device *d;
    fc_graph g;
    fc_arrays in, out;
    fc_oracle sizes;
    const int64_t count = strcmp(arg, "interp") ? N : N / 16;
    if (!fc_rig(arg, 2, &d)) FC_SKIP("there is no device %s", (const char *)arg);
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_node seed = scalar_input(&g, "seed", FUSEC_U64),
                  stream = scalar_input(&g, "stream", FUSEC_U64),
                  i = fc_build_iota(&g, gbd(&g, "n"));
    const fc_dim twice[1] = {fc_dim_mul(&g.dims, gbd(&g, "n"), fc_dim_const(&g.dims, 2))};
    const fc_draw of_pairs = {1, twice, seed, stream};
    const fc_node draw =
        fc_build_op(&g, FC_OP_philox, fc_build_cast(&g, i, FUSEC_U64), seed, stream);
    const fc_node u =
        gb2(&g, FC_OP_mul,
            gb2(&g, FC_OP_add, fc_build_cast(&g, fc_build_cast(&g, draw, FUSEC_U32), FUSEC_F64),
                fc_build_number(&g, FUSEC_F64, .5)),
            fc_build_number(&g, FUSEC_F64, 0x1p-32));
    const fc_node turn = gb2(
        &g, FC_OP_mul,
        fc_build_cast(&g, gb2(&g, FC_OP_shr, draw, fc_build_const(&g, FUSEC_U64, 40)), FUSEC_F32),
        fc_build_number(&g, FUSEC_F32, 0x1p-24));
    const fc_node x = fc_build_cast(&g, u, FUSEC_F32);
    fc_build_output(&g, "even", gb2(&g, FC_OP_box_muller, x, turn));
    fc_build_output(&g, "odd",
                    gb2(&g, FC_OP_box_muller, x,
                        gb2(&g, FC_OP_sub, turn, fc_build_number(&g, FUSEC_F32, .25))));
    fc_build_output(&g, "normal", fc_build_normal(&g, &of_pairs, FUSEC_F32));
    FC_EXPECT_STATUS(g.error.code, FUSEC_OK, &g.error);
    fc_oracle_sizes(&sizes, &g, &count);
    fc_arrays_for(&in, &g, &sizes, false);
    *(uint64_t *)in.t[0].data = 77;
    *(uint64_t *)in.t[1].data = 5;
    run(arg, &g, &count, &in, &out);
    const float *even = out.t[0].data, *odd = out.t[1].data, *all = out.t[2].data;
    for (int64_t k = 0; k < count && !fc_test_has_failed(); k++)
        if (memcmp(all + 2 * k, even + k, 4) || memcmp(all + 2 * k + 1, odd + k, 4))
            FC_FAIL("pair %lld: %a %a, not %a %a", (long long)k, all[2 * k], all[2 * k + 1],
                    even[k], odd[k]);
    fc_arrays_free(&in);
    fc_arrays_free(&out);
    fc_oracle_free(&sizes);
    fc_graph_free(&g);
}

FC_REGISTER(draws_pairs) {
    for (size_t i = 0; i < FC_COUNT(devices); i++)
        FC_ADD_TEST("draws_pairs", devices[i], same_as_box_muller, (void *)(uintptr_t)devices[i]);
}

/* ---- values that are written down
 * ---------------------------------------------------------------- */

FC_TEST(draws, values) {
    static const double want[8] = {16015482, 12585465, 1915578, 1437100,
                                   6827662,  13342652, 2882303, 16070126};
    float got[8];
    int64_t dice[1000];
    fusec_context *ctx;
    fusec_graph *g = capi_start(NULL, &ctx);
    FC_ASSERT_TRUE(g != NULL);
    const fusec_dim eight = fusec_size(g, 8), many = fusec_size(g, 1000);
    const fusec_value zero = fusec_int(0), seed = fusec_int(7);
    FC_EXPECT_OK_TEXT(
        fusec_read(fusec_uniform(g, FUSEC_F32, 1, &eight, seed, zero), got, sizeof got),
        fusec_message(ctx));
    for (int i = 0; i < 8; i++) FC_EXPECT_EQ_F64((double)got[i] * 16777216, want[i]);
    FC_EXPECT_OK_TEXT(
        fusec_read(fusec_randint(g, fusec_int(-2), fusec_int(3), 1, &many, seed, zero), dice,
                   sizeof dice),
        fusec_message(ctx));
    int seen[5] = {0};
    for (int i = 0; i < 1000; i++) {
        FC_ASSERT_TRUE(dice[i] >= -2 && dice[i] < 3);
        seen[dice[i] + 2]++;
    }
    for (int i = 0; i < 5; i++) FC_EXPECT_NEAR(seen[i], 200, 50);
    capi_end(ctx, g);
}

FC_TEST(draws, wrong_use) {
    static const char *const messages[] = {"fusec_uniform does not make i32",
                                           "fusec_bits does not make f32",
                                           "fusec_normal: the seed is no integer"};
    for (int k = 0; k < 3; k++) {
        fusec_context *ctx;
        fusec_graph *g = capi_start(NULL, &ctx);
        FC_ASSERT_TRUE(g != NULL);
        const fusec_dim n = fusec_size(g, 8);
        const fusec_value zero = fusec_int(0);
        float out[8];
        fusec_value v = zero;
        if (k == 0) v = fusec_uniform(g, FUSEC_I32, 1, &n, zero, zero);
        if (k == 1) v = fusec_bits(g, FUSEC_F32, 1, &n, zero, zero);
        if (k == 2) v = fusec_normal(g, FUSEC_F32, 1, &n, fusec_full(g, FUSEC_U64, 1, 1, &n), zero);
        FC_EXPECT_TRUE(fusec_read(v, out, sizeof out) != FUSEC_OK);
        FC_EXPECT_CONTAINS(fusec_message(ctx), messages[k]);
        capi_end(ctx, g);
    }
}

/* ---- statistics
 * ------------------------------------------------------------------------------------ */

/* Chi-square of the 256 top bits' values of uniform, and of normal numbers in 256 cells of equal
 * probability: 255 degrees of freedom, mean 255, deviation 22.6. */
static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov-Smirnov: the largest distance between what share of the numbers is below x and what
 * should be, times the root of their number. */
static double distance(float *x, int n, bool normal) {
    double most = 0;
    qsort(x, (size_t)n, sizeof *x, ascending);
    for (int i = 0; i < n; i++) {
        const double p = normal ? .5 * erfc((double)-x[i] * M_SQRT1_2) : x[i];
        const double up = (i + 1.0) / n - p, down = p - (double)i / n;
        if (up > most) most = up;
        if (down > most) most = down;
    }
    return most * sqrt(n);
}

FC_TEST(draws, statistics) {
    enum { PIECE = 1 << 16, CELLS = 256 };
    static float u[PIECE], z[PIECE];
    static double count[2][CELLS];
    const char *wish = getenv("FUSEC_DRAWS");
    double worst = 0;
    const int64_t pieces = (int64_t)1 << ((wish ? atoi(wish) : 20) - 16);
    /* a sample of right numbers is above 2.2 once in 8,000; of many, one run in a million has one
     * above x where 2 exp(-2 x^2) is a millionth of their share */
    const double most = wish ? sqrt(log(4e6 * ((double)pieces / 16 + 1)) / 2) : 2.2;
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no device cpu");
    memset(count, 0, sizeof count);
    for (int64_t p = 0; p < pieces && !fc_test_has_failed(); p++) {
        fusec_graph *g = NULL;
        FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
        const fusec_dim n = fusec_size(g, PIECE);
        const int64_t key[2] = {11, p};
        const fusec_value seed = fusec_array(g, FUSEC_I64, 0, NULL, &key[0]);
        const fusec_value stream = fusec_array(g, FUSEC_I64, 0, NULL, &key[1]);
        FC_EXPECT_OK_TEXT(fusec_read(fusec_uniform(g, FUSEC_F32, 1, &n, seed, stream), u, sizeof u),
                          fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_read(fusec_normal(g, FUSEC_F32, 1, &n, seed, stream), z, sizeof z),
                          fusec_message(ctx));
        for (int i = 0; i < PIECE; i++) {
            count[0][(int)(u[i] * CELLS)]++;
            const int cell = (int)(.5 * erfc((double)-z[i] * M_SQRT1_2) * CELLS);
            count[1][cell < CELLS ? cell : CELLS - 1]++;
        }
        fusec_graph_free(g);
        if (p % 16) continue;
        const double of_uniform = distance(u, PIECE, false), of_normal = distance(z, PIECE, true);
        if (of_uniform > worst) worst = of_uniform;
        if (of_normal > worst) worst = of_normal;
    }
    if (wish) printf("Kolmogorov-Smirnov, the worst: %.2f\n", worst);
    FC_EXPECT_TRUE(worst > 0.2 && worst < most);
    for (int k = 0; k < 2; k++) {
        double chi = 0;
        const double each = (double)pieces * PIECE / CELLS;
        for (int i = 0; i < CELLS; i++) chi += (count[k][i] - each) * (count[k][i] - each) / each;
        if (wish) printf("chi-square of %s: %.1f\n", k ? "normal" : "uniform", chi);
        FC_EXPECT_TRUE(chi > 160 && chi < 370);
    }
    fusec_context_free(ctx);
}
