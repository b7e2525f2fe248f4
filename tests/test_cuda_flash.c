/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cuda_flash.c - products whose results are an operand of the next one, in one launch
 * (cuda_flash.c): which kernels become one, and that its CUDA C, run on the host through
 * tests/support/cuda_emu.h, gives the bits of the kernels one after the other, and what the oracle
 * wants. */
#include <math.h>

#include "codegen/cuda/cuda_flash_facts.h"
#include "tests/support/cuda_joined.h"
#include "tests/support/gb.h"
#include "tests/support/test.h"

#define FAST 127u /* all licences but one: docs/semantics.md */

/* Stacks q [h, n, d], k [h, m, d] and v [h, m, c], and a mask [n, m]. */
typedef struct sizes {
    int64_t h, n, m, d, c;
} sizes;
typedef struct operands {
    fc_graph *g;
    fc_node q, k, v, mask;
} operands;
typedef void program_fn(const operands *x);

/* ---- programs -------------------------------------------------------------------------------- */

static fc_node turned(fc_graph *g, fc_node a) {
    return fc_build_permute(g, a, (const int64_t[]){0, 2, 1});
}
static fc_node scores(const operands *x, fc_node q) {
    fc_graph *g = x->g;
    fc_node s = fc_build_cast(g, fc_build_matmul(g, q, turned(g, x->k)), FUSEC_F32);
    return gb2(g, FC_OP_mul, s, gbn(g, s, .125));
}
static fc_node softmax(fc_graph *g, fc_node s) {
    fc_node e = gb1(g, FC_OP_exp, gb2(g, FC_OP_sub, s, gbred(g, FC_OP_max, s, -1, true)));
    return gb2(g, FC_OP_div, e, gbred(g, FC_OP_sum, e, -1, true));
}
static void multiply(const operands *x, fc_node p) {
    fc_graph *g = x->g;
    p = fc_build_cast(g, p, (fusec_dtype)fc_at(g, x->v)->dtype);
    fc_build_output(g, "out", fc_build_matmul(g, p, x->v));
}

static void attention(const operands *x) {
    multiply(x, softmax(x->g, scores(x, x->q)));
}
/* Every node of 16 bits. */
static void narrow(const operands *x) {
    fc_graph *g = x->g;
    multiply(x, softmax(g, fc_build_matmul(g, x->q, turned(g, x->k))));
}
/* Keys up to the row's own, and an array that is added. */
static void masked(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = scores(x, x->q);
    const fc_dim one = fc_dim_const(&g->dims, 1), n = fc_axis(g, s, 1);
    fc_node row = fc_build_reshape(g, fc_build_iota(g, n), 2, (const fc_dim[]){n, one});
    fc_node later = gb2(g, FC_OP_lt, row, fc_build_iota(g, fc_axis(g, s, 2)));
    s = gb2(g, FC_OP_add, s, fc_build_cast(g, x->mask, FUSEC_F32));
    multiply(x, softmax(g, gb3(g, FC_OP_where, later, gbn(g, s, -INFINITY), s)));
}
/* ---- masks that hide tiles */

static fc_node place(const operands *x, fc_node s, int axis) {
    fc_graph *g = x->g;
    const fc_dim one = fc_dim_const(&g->dims, 1), n = fc_axis(g, s, (uint32_t)axis);
    const fc_node i = fc_build_iota(g, n);
    return axis == 2 ? i : fc_build_reshape(g, i, 2, (const fc_dim[]){n, one});
}
static fc_node minus(fc_graph *g, fc_node a, double by) {
    return gb2(g, FC_OP_sub, a, gbn(g, a, by));
}
static fc_node where(fc_graph *g, fc_node c, fc_node s, double hidden) {
    return gb3(g, FC_OP_where, c, s, gbn(g, s, hidden));
}
/* Keys up to the row's own. */
static void causal(const operands *x) {
    fc_node s = scores(x, x->q);
    fc_node open = gb2(x->g, FC_OP_ge, place(x, s, 1), place(x, s, 2));
    multiply(x, softmax(x->g, where(x->g, open, s, -INFINITY)));
}
/* 16 bits all along; rows begin before the keys, so the first ones are hidden whole: their results
 * are NaN. */
static void before(const operands *x, double by) {
    fc_graph *g = x->g;
    fc_node s = fc_build_matmul(g, x->q, turned(g, x->k));
    fc_node later = gb2(g, FC_OP_gt, place(x, s, 2), minus(g, place(x, s, 1), by));
    multiply(x, softmax(g, gb3(g, FC_OP_where, later, gbn(g, s, -INFINITY), s)));
}
static void late(const operands *x) {
    before(x, 150);
}
/* The mask begins inside of tiles. */
static void shifted(const operands *x) {
    before(x, 20);
}
static void ahead(const operands *x) {
    before(x, -20);
}
/* A window around the row, and the first keys; what is hidden is a number, which a row that is
 * hidden whole has everywhere. */
static void window(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = scores(x, x->q), column = place(x, s, 2);
    fc_node far = gb1(g, FC_OP_abs, gb2(g, FC_OP_sub, minus(g, place(x, s, 1), 100), column));
    fc_node open = gb2(g, FC_OP_logical_or, gb2(g, FC_OP_lt, far, gbn(g, far, 30)),
                       gb2(g, FC_OP_lt, column, gbn(g, column, 3)));
    s = where(g, open, s, -1e30);
    s = where(g, gb2(g, FC_OP_ne, place(x, s, 1), gbn(g, column, 130)), s, -1e30);
    multiply(x, softmax(g, s));
}
/* As many keys as an array says, in blocks of 64; other reductions, one of them counts. */
static void lengths(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = scores(x, x->q), column = place(x, s, 2);
    fc_node block = gb2(g, FC_OP_shr, column, gbn(g, column, 6));
    const fc_dim one = fc_dim_const(&g->dims, 1), h = fc_axis(g, s, 0);
    fc_node count = gbin(g, "len", FUSEC_I32, 1, h, 0, 0);
    count = fc_build_reshape(g, count, 3, (const fc_dim[]){h, one, one});
    fc_node open = gb2(g, FC_OP_lt, block, fc_build_cast(g, count, FUSEC_I64));
    s = where(g, open, s, -7);
    fc_node mean = gbred(g, FC_OP_mean, s, -1, true), low = gbred(g, FC_OP_min, s, -1, true);
    multiply(x, gb2(g, FC_OP_mul, gb2(g, FC_OP_sub, s, mean), low));
}
/* Nothing is reduced: hidden weights are 0. */
static void causal_linear(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = fc_build_matmul(g, x->q, turned(g, x->k));
    s = gb2(g, FC_OP_maximum, s, gbn(g, s, 0));
    fc_node later = gb2(g, FC_OP_gt, place(x, s, 2), place(x, s, 1));
    multiply(x, gb3(g, FC_OP_where, later, gbn(g, s, 0), s));
}
/* -inf is added to what is hidden. */
static void added(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = scores(x, x->q);
    fc_node later = gb2(g, FC_OP_gt, place(x, s, 2), place(x, s, 1));
    fc_node off = gb3(g, FC_OP_where, later, gbn(g, s, -INFINITY), gbn(g, s, 0));
    multiply(x, softmax(g, gb2(g, FC_OP_add, s, off)));
}
/* No rows are reduced between; results have work behind them. */
static void linear(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = scores(x, x->q);
    s = fc_build_cast(g, gb2(g, FC_OP_maximum, s, gbn(g, s, 0)), FUSEC_BF16);
    fc_node o = fc_build_matmul(g, s, x->v);
    fc_build_output(g, "out", gb2(g, FC_OP_add, o, gbn(g, o, 1)));
}
/* Operands that are computed: a scale, keys that lie the other way, values that are turned. */
static void computed(const operands *x) {
    fc_graph *g = x->g;
    fc_node q = gb2(g, FC_OP_mul, x->q, gbn(g, x->q, .5));
    fc_node s = softmax(g, scores(x, q));
    fc_node v = gb2(g, FC_OP_sub, x->v, gbn(g, x->v, .25));
    fc_build_output(g, "out",
                    fc_build_matmul(g, fc_build_cast(g, s, (fusec_dtype)fc_at(g, v)->dtype), v));
}
/* What is passed on last is computed with: some weights are left out. */
static void dropped(const operands *x) {
    fc_graph *g = x->g;
    fc_node p = fc_build_cast(g, softmax(g, scores(x, x->q)), (fusec_dtype)fc_at(g, x->v)->dtype);
    multiply(x, gb2(g, FC_OP_mul, fc_build_materialize(g, p), x->mask));
}
/* Scores lie the other way, keys first. */
static void keys_first(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = fc_build_cast(g, turned(g, fc_build_matmul(g, x->k, turned(g, x->q))), FUSEC_F32);
    multiply(x, softmax(g, gb2(g, FC_OP_mul, s, gbn(g, s, .125))));
}
/* All arrays that are passed on do: columns of weights are reduced, and turned for the product. */
static void columns(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = fc_build_cast(g, fc_build_matmul(g, x->k, turned(g, x->q)), FUSEC_F32);
    fc_node e = gb1(g, FC_OP_exp, gb2(g, FC_OP_sub, s, gbred(g, FC_OP_max, s, 1, true)));
    e = gb2(g, FC_OP_div, e, gbred(g, FC_OP_sum, e, 1, true));
    multiply(x, turned(g, fc_build_cast(g, e, (fusec_dtype)fc_at(g, x->v)->dtype)));
}
/* All heads have the same keys and values, and the results are turned. */
static void shared_keys(const operands *x) {
    fc_graph *g = x->g;
    const fusec_dtype t = (fusec_dtype)fc_at(g, x->v)->dtype;
    const fc_node k = gbin(g, "k1", t, 2, fc_axis(g, x->k, 1), fc_axis(g, x->k, 2), 0);
    const fc_node v = gbin(g, "v1", t, 2, fc_axis(g, x->v, 1), fc_axis(g, x->v, 2), 0);
    const fc_node kt = fc_build_permute(g, k, (const int64_t[]){1, 0});
    const fc_node s = fc_build_cast(g, fc_build_matmul(g, x->q, kt), FUSEC_F32);
    fc_build_output(g, "out", fc_build_matmul(g, fc_build_cast(g, softmax(g, s), t), v));
}
/* Heads stand behind rows in the result, as models have them. */
static void heads_inside(const operands *x) {
    fc_graph *g = x->g;
    const fc_node p =
        fc_build_cast(g, softmax(g, scores(x, x->q)), (fusec_dtype)fc_at(g, x->v)->dtype);
    fc_build_output(g, "out", fc_build_einsum(g, "hnm,hmc->nhc", 2, (fc_node[]){p, x->v}));
}
/* Other reductions: two in a stage, one of them in order, and a stage behind it. */
static void normed(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = scores(x, x->q), mean = gbred(g, FC_OP_mean, s, -1, true);
    fc_node low = gbred(g, FC_OP_min, s, -1, true), d = gb2(g, FC_OP_sub, s, mean);
    fc_node v = gbred(g, FC_OP_sum, gb2(g, FC_OP_mul, d, d), -1, true);
    multiply(x, gb2(g, FC_OP_sub, gb2(g, FC_OP_mul, d, gb1(g, FC_OP_rsqrt, v)), low));
}

/* ---- programs with sizes --------------------------------------------------------------------- */

typedef struct sample {
    program_fn *program;
    fusec_dtype t;
    sizes s;
    uint32_t mode;
    unsigned mask; /* enum fc_flash_masks */
} sample;

static void build(fc_graph *g, const void *of) {
    const sample *s = of;
    const fc_dim h = gbd(g, "h"), n = gbd(g, "n"), m = gbd(g, "m"), d = gbd(g, "d"),
                 c = gbd(g, "c");
    const operands in = {.g = g,
                         .q = gbin(g, "q", s->t, 3, h, n, d),
                         .k = gbin(g, "k", s->t, 3, h, m, d),
                         .v = gbin(g, "v", s->t, 3, h, m, c),
                         .mask = gbin(g, "mask", s->t, 2, n, m, 0)};
    s->program(&in);
}

enum { SIZES = 5, FEW_SMS = 2 };
static void name_sizes(const sizes *s, fc_join_size to[SIZES]) {
    const fc_join_size all[SIZES] = {
        {"h", s->h}, {"n", s->n}, {"m", s->m}, {"d", s->d}, {"c", s->c}};
    memcpy(to, all, sizeof all);
}

static bool open_job(fc_join_job *x, const sample *s, bool judged) {
    fc_join_size to[SIZES];
    name_sizes(&s->s, to);
    return fc_join_open(x, build, s, to, SIZES, 0, s->mode, 64, FEW_SMS, judged);
}

/* Whole tiles and not; rows of several chunks of 1024 and of 4096; k and columns of any number. */
static const sample samples[] = {
    {attention, FUSEC_BF16, {2, 128, 128, 64, 64}, 0, FC_FLASH_OPEN},
    {attention, FUSEC_F16, {1, 130, 131, 24, 40}, 0, FC_FLASH_OPEN},
    {attention, FUSEC_BF16, {1, 20, 1090, 80, 128}, 0, FC_FLASH_OPEN},
    {attention, FUSEC_BF16, {1, 9, 4200, 16, 8}, 0, FC_FLASH_OPEN},
    {narrow, FUSEC_BF16, {1, 30, 200, 64, 64}, 0, FC_FLASH_OPEN},
    {masked, FUSEC_BF16, {2, 140, 140, 32, 64}, 0, FC_FLASH_MASKED},
    {linear, FUSEC_BF16, {1, 40, 300, 64, 72}, 0, FC_FLASH_OPEN},
    {computed, FUSEC_F16, {1, 140, 150, 33, 17}, 0, FC_FLASH_OPEN},
    {normed, FUSEC_BF16, {1, 33, 1300, 32, 32}, 0, FC_FLASH_OPEN},
    {attention, FUSEC_BF16, {1, 130, 256, 64, 64}, FC_MODE_REASSOC, FC_FLASH_OPEN},
    {masked, FUSEC_BF16, {1, 140, 140, 100, 100}, FC_MODE_REASSOC, FC_FLASH_MASKED},
    {dropped, FUSEC_F16, {1, 130, 131, 24, 40}, 0, FC_FLASH_OPEN},
    {dropped, FUSEC_BF16, {1, 130, 256, 64, 64}, FC_MODE_REASSOC, FC_FLASH_OPEN},
    {keys_first, FUSEC_BF16, {2, 140, 150, 64, 64}, 0, FC_FLASH_OPEN},
    {keys_first, FUSEC_F16, {1, 150, 140, 32, 64}, FC_MODE_REASSOC, FC_FLASH_OPEN},
    {columns, FUSEC_BF16, {2, 140, 150, 64, 64}, FC_MODE_REASSOC, FC_FLASH_OPEN},
    {shared_keys, FUSEC_BF16, {3, 70, 140, 32, 40}, 0, FC_FLASH_OPEN},
    {heads_inside, FUSEC_BF16, {3, 140, 150, 64, 64}, 0, FC_FLASH_OPEN},
    {heads_inside, FUSEC_F16, {2, 130, 256, 32, 40}, FC_MODE_REASSOC, FC_FLASH_OPEN},
    {causal, FUSEC_BF16, {1, 256, 256, 64, 64}, 0, FC_FLASH_MASKED},
    {causal, FUSEC_F16, {1, 140, 300, 16, 24}, 0, FC_FLASH_MASKED},
    {causal, FUSEC_BF16, {1, 256, 256, 64, 64}, FC_MODE_REASSOC, FC_FLASH_MASKED},
    {causal, FUSEC_BF16, {2, 140, 420, 16, 128}, FAST, FC_FLASH_FINITE},
    {late, FUSEC_BF16, {1, 200, 200, 16, 16}, 0, FC_FLASH_MASKED},
    {shifted, FUSEC_BF16, {1, 200, 300, 16, 16}, 0, FC_FLASH_MASKED},
    {ahead, FUSEC_BF16, {1, 140, 200, 16, 16}, 0, FC_FLASH_MASKED},
    {window, FUSEC_BF16, {1, 260, 300, 16, 16}, 0, FC_FLASH_MASKED},
    {window, FUSEC_BF16, {1, 260, 300, 16, 16}, FAST, FC_FLASH_OPEN},
    {lengths, FUSEC_F16, {3, 20, 400, 16, 16}, 0, FC_FLASH_MASKED},
    {causal_linear, FUSEC_BF16, {1, 10, 4300, 16, 16}, 0, FC_FLASH_MASKED},
    {causal_linear, FUSEC_BF16, {1, 140, 300, 16, 16}, FAST, FC_FLASH_FINITE},
    {added, FUSEC_BF16, {1, 140, 200, 16, 16}, 0, FC_FLASH_OPEN},
    {added, FUSEC_BF16, {1, 140, 300, 16, 16}, FAST, FC_FLASH_FINITE},
};

FC_TEST(cuda_flash, one_launch_has_the_bits_of_three) {
    fc_cuda_host host;
    static fc_join_job jobs[FC_COUNT(samples)];
    bool taken[FC_COUNT(samples)];
    if (!fc_cuda_host_open(&host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    bool ok = true;
    for (size_t i = 0; i < FC_COUNT(samples); i++) {
        const sample *s = &samples[i];
        if (!(taken[i] = fc_test_takes(6))) continue;
        FC_TRACE("sample %zu", i);
        ok = open_job(&jobs[i], s, true) && ok;
        FC_EXPECT_TRUE(jobs[i].can);
        FC_EXPECT_EQ_U64(jobs[i].j.cls[0].cuda.flash_mask, s->mask);
        ok = ok && jobs[i].can && fc_join_add_texts(&host, &jobs[i]);
        FC_UNTRACE();
    }
    const bool built = ok && fc_cuda_host_build(&host);
    FC_EXPECT_TRUE(built);
    for (size_t i = 0; i < FC_COUNT(samples); i++) {
        if (!taken[i]) continue;
        FC_TRACE("sample %zu", i);
        if (built) fc_join_compare(&jobs[i], &host, samples[i].mode ? 0x1p-6 : 0);
        FC_UNTRACE();
        fc_join_close(&jobs[i]);
    }
    fc_cuda_host_close(&host);
}

/* Sizes that no block has room for, and kernels that need what is between. */
static void shared_weights(const operands *x) {
    fc_node p = fc_build_cast(x->g, softmax(x->g, scores(x, x->q)), FUSEC_BF16);
    fc_build_output(x->g, "p", p);
    fc_build_output(x->g, "out", fc_build_matmul(x->g, p, x->v));
}
static void twice(const operands *x) {
    fc_graph *g = x->g;
    fc_node p = fc_build_cast(g, softmax(g, scores(x, x->q)), FUSEC_BF16);
    fc_build_output(g, "out", fc_build_matmul(g, turned(g, p), x->q));
}

FC_TEST(cuda_flash, others_are_left_alone) {
    static const sample other[] = {
        {attention,
         FUSEC_BF16,
         {1, 256, 256, 136, 64},
         0,
         FC_FLASH_OPEN}, /* k of the first product, */
        {attention,
         FUSEC_BF16,
         {1, 256, 256, 64, 136},
         0,
         FC_FLASH_OPEN},                                                 /* columns of the second */
        {attention, FUSEC_BF16, {2, 256, 32, 64, 64}, 0, FC_FLASH_OPEN}, /* and few between */
        {attention, FUSEC_F32, {2, 256, 256, 64, 64}, 0, FC_FLASH_OPEN}, /* no tensor cores */
        {twice, FUSEC_BF16, {2, 256, 256, 64, 64}, 0, FC_FLASH_OPEN},    /* summed along the rows */
        {columns, FUSEC_BF16, {2, 256, 256, 64, 64}, 0, FC_FLASH_OPEN},  /* in order by runs */
    };
    for (size_t i = 0; i < FC_COUNT(other); i++) {
        fc_join_job x;
        FC_TRACE("sample %zu", i);
        if (open_job(&x, &other[i], false)) FC_EXPECT_FALSE(x.can);
        fc_join_close(&x);
        FC_UNTRACE();
    }
}

static void program_on(program_fn *program, uint32_t *launches, size_t *scratch) {
    const sample s = {program, FUSEC_BF16, {2, 256, 256, 64, 64}, 0, FC_FLASH_OPEN};
    fc_join_size to[SIZES];
    name_sizes(&s.s, to);
    fc_join_on_device(build, &s, to, SIZES, FEW_SMS, launches, scratch);
}

FC_TEST(cuda_flash, what_is_passed_on_has_no_memory) {
    uint32_t launches;
    size_t scratch;
    program_on(attention, &launches, &scratch);
    FC_EXPECT_EQ_U64(launches, 1);
    FC_EXPECT_EQ_U64(scratch, 0);
    program_on(linear, &launches, &scratch);
    FC_EXPECT_EQ_U64(launches, 1);
    program_on(shared_weights, &launches, &scratch);
    FC_EXPECT_EQ_U64(launches, 3);
    FC_EXPECT_TRUE(scratch >= 2 * 256 * 256 * 2);
}
