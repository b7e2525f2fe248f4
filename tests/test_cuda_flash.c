/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cuda_flash.c - products whose results are an operand of the next one, in one launch
 * (cuda_flash.c): which kernels become one, and that its CUDA C, run on the host through
 * tests/support/cuda_emu.h, gives the bits of the kernels one after the other, and what the oracle
 * wants. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codegen/cuda/cuda.h"
#include "codegen/cuda/cuda_flash_facts.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "passes/plan.h"
#include "runtime/bind.h"
#include "tests/support/cuda_host.h"
#include "tests/support/cuda_machines.h"
#include "tests/support/gb.h"
#include "tests/support/oracle_run.h"
#include "tests/support/program_fixture.h"
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
/* Other reductions: two in a stage, one of them in order, and a stage behind it. */
static void normed(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = scores(x, x->q), mean = gbred(g, FC_OP_mean, s, -1, true);
    fc_node low = gbred(g, FC_OP_min, s, -1, true), d = gb2(g, FC_OP_sub, s, mean);
    fc_node v = gbred(g, FC_OP_sum, gb2(g, FC_OP_mul, d, d), -1, true);
    multiply(x, gb2(g, FC_OP_sub, gb2(g, FC_OP_mul, d, gb1(g, FC_OP_rsqrt, v)), low));
}

/* ---- a program with sizes -------------------------------------------------------------------- */

enum { MOST_STEPS = 4 };
typedef struct job {
    fc_graph g;
    fc_plan *plan;
    fc_oracle o;
    fc_arrays in, out;
    fc_arena arena;
    int64_t syms[16], *values;
    uint32_t mode;
    /* apart, and as one */
    fc_nest nest[MOST_STEPS], plain[MOST_STEPS];
    fc_class cls[MOST_STEPS];
    fc_launch launch[MOST_STEPS], all;
    unsigned text[MOST_STEPS], joined_text;
    fc_joined j;
    bool can;
} job;

static void build(job *x, program_fn *program, fusec_dtype t, const sizes *s) {
    fc_graph *g = &x->g;
    fc_graph_init(g, &fc_libc_alloc, NULL);
    const fc_dim h = gbd(g, "h"), n = gbd(g, "n"), m = gbd(g, "m"), d = gbd(g, "d"),
                 c = gbd(g, "c");
    const operands in = {.g = g,
                         .q = gbin(g, "q", t, 3, h, n, d),
                         .k = gbin(g, "k", t, 3, h, m, d),
                         .v = gbin(g, "v", t, 3, h, m, c),
                         .mask = gbin(g, "mask", t, 2, n, m, 0)};
    program(&in);
    const int64_t of[] = {s->h, s->n, s->m, s->d, s->c};
    for (uint32_t i = 0; i < g->dims.syms.len; i++)
        for (int k = 0; g->dims.syms.at[i].name && k < 5; k++)
            if (*g->dims.syms.at[i].name == "hnmdc"[k]) x->syms[i] = of[k];
}

/* Arrays, and with `judged` what the oracle wants. */
static void fill(job *x, bool judged) {
    fc_rng random = {7};
    const void *data[8];
    fc_oracle o;
    fc_oracle_sizes(&o, &x->g, x->syms);
    fc_arrays_for(&x->in, &x->g, &o, false);
    fc_arrays_for(&x->out, &x->g, &o, true);
    fc_oracle_free(&o);
    for (uint32_t i = 0; i < x->in.n; i++) {
        const fc_tensor *t = &x->in.t[i];
        for (int64_t k = 0; k < fc_array_count(t); k++)
            fc_oracle_store(t->dtype, t->data, k,
                            t->dtype == FUSEC_I32 ? (uint64_t)(2 * k)
                                                  : fc_random_value(t->dtype, &random, true));
        data[i] = t->data;
    }
    if (judged) fc_oracle_run(&x->o, &x->g, x->syms, data);
}

static fusec_status join(job *x, fc_error *e) {
    const uint32_t n = (uint32_t)x->plan->steps.len;
    fc_machine few = fc_cuda_h200;
    few.sm_count = 2;
    x->j.n = n;
    for (uint32_t i = 0; i < n && i < FC_MOST_JOINED; i++) {
        x->j.kernel[i] = &x->plan->steps.at[i]->kernel;
        x->j.nest[i] = &x->plain[i];
        FC_TRY(fc_nest_bind_plain(x->j.kernel[i], x->values, NULL, &x->arena, &x->plain[i], e));
    }
    if (n < 2 || n > FC_MOST_JOINED) return FUSEC_OK;
    (void)fc_joined_layouts(&x->j);
    return fc_cuda_target.join(&few, x->mode, 64, &x->arena, &x->j, &x->all, &x->can, e);
}

static bool open_job(job *x, program_fn *program, fusec_dtype t, const sizes *s, uint32_t mode,
                     bool judged) {
    fc_error e = {0};
    fc_dim bad;
    memset(x, 0, sizeof *x);
    x->mode = mode;
    fc_arena_init(&x->arena, &fc_libc_alloc);
    build(x, program, t, s);
    fill(x, judged);
    const fc_pass_options po = {.verify = true, .mode = mode};
    if (fc_plan_build(&x->g, &po, &x->plan, &e)) return FC_FAIL("%s", e.message), false;
    const fc_dimtab *dims = &x->plan->graph.dims;
    x->values = fc_arena_alloc(&x->arena, (dims->forms.len + 1) * sizeof *x->values);
    FC_EXPECT_TRUE(fc_dims_eval(dims, x->syms, x->values, &bad));
    if (join(x, &e)) return FC_FAIL("%s", e.message), false;
    return true;
}

static void close_job(job *x) {
    fc_plan_free(x->plan);
    fc_arrays_free(&x->in);
    fc_arrays_free(&x->out);
    if (x->o.g) fc_oracle_free(&x->o);
    fc_graph_free(&x->g);
    fc_arena_free(&x->arena);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool add_text(fc_cuda_host *host, const job *x, size_t step, unsigned *number) {
    fc_error e = {0};
    fc_str text;
    char name[16];
    fc_str_init(&text, &fc_libc_alloc);
    *number = host->count;
    snprintf(name, sizeof name, "k%u", host->count);
    const fusec_status s =
        step == SIZE_MAX ? fc_cuda_target.emit_joined(&fc_cuda_h200, &x->j, name, &text, &e)
                         : fc_cuda_target.emit(&fc_cuda_h200, &x->plan->steps.at[step]->kernel,
                                               &x->cls[step], name, &text, &e);
    if (!s) fc_cuda_host_add(host, text.data);
    fc_str_free(&text);
    return s ? FC_FAIL("%s", e.message), false : true;
}

static bool add_texts(fc_cuda_host *host, job *x) {
    fc_error e = {0};
    for (size_t i = 0; i < x->plan->steps.len; i++) {
        const fc_kernel *k = &x->plan->steps.at[i]->kernel;
        if (fc_nest_bind(k, x->values, &x->arena, &x->nest[i], &e) ||
            fc_cuda_target.schedule(&fc_cuda_h200, k, &x->nest[i], 64, &x->arena, &x->cls[i],
                                    &x->launch[i], &e))
            return FC_FAIL("%s", e.message), false;
        if (!add_text(host, x, i, &x->text[i])) return false;
    }
    return add_text(host, x, SIZE_MAX, &x->joined_text);
}

static void *zeroed(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) abort();
    memset(p, 0, (bytes + 127) / 64 * 64);
    return p;
}

static void fill_words(const job *x, size_t step, const fc_nest *n, void *const *at, int64_t *to) {
    const fc_kernel *k = &x->plan->steps.at[step]->kernel;
    void *args[16];
    uint64_t scalars[16] = {0};
    for (size_t a = 0; a < k->args.len; a++) args[a] = at[k->args.at[a].buffer];
    fc_nest_fill(k, n, x->values, args, scalars, to);
}

static void launch(const fc_cuda_host *host, unsigned text, const fc_launch *l, uint32_t extra,
                   int64_t *words) {
    void *work = zeroed(l->workspace_bytes), *tickets = zeroed(4 * (size_t)l->tickets);
    words[extra + FC_PB_SPANS] = l->spans;
    words[extra + FC_PB_SPAN] = l->span;
    words[extra + FC_PB_WORKSPACE] = (int64_t)(intptr_t)work;
    words[extra + FC_PB_TICKETS] = (int64_t)(intptr_t)tickets;
    FC_EXPECT_TRUE(fc_cuda_host_run(host, text, l, words));
    free(work);
    free(tickets);
}

static void run_apart(const fc_cuda_host *host, const job *x, void *const *at) {
    for (size_t i = 0; i < x->plan->steps.len; i++) {
        const fc_kernel *k = &x->plan->steps.at[i]->kernel;
        int64_t words[512] = {0};
        const fc_layout l = fc_layout_of((uint32_t)k->args.len, x->nest[i].np + x->nest[i].nr,
                                         (uint32_t)k->accesses.len, (uint32_t)k->params.len);
        fill_words(x, i, &x->nest[i], at, words);
        launch(host, x->text[i], &x->launch[i], l.extra, words);
    }
}

static void run_joined(const fc_cuda_host *host, const job *x, void *const *at) {
    int64_t words[512] = {0};
    for (uint32_t i = 0; i < x->j.n; i++)
        fill_words(x, i, &x->plain[i], at, words + x->j.layout[i].args);
    launch(host, x->joined_text, &x->all, x->j.layout[0].extra, words);
}

static size_t bytes_of(const job *x, size_t buffer) {
    const fc_graph *g = &x->plan->graph;
    const fc_node n = x->plan->buffers.at[buffer].node;
    size_t bytes = fc_dtypes[fc_at(g, n)->dtype].bytes;
    for (uint32_t k = 0; k < fc_rank(g, n); k++) bytes *= (size_t)x->values[fc_axis(g, n, k)];
    return bytes;
}

/* The largest distance of two arrays of 16-bit floats, as a part of the largest element. */
static double distance(const job *x, const uint16_t *a, const uint16_t *b, size_t n) {
    double most = 0, large = 0;
    for (size_t i = 0; i < n; i++) {
        const bool bf16 = x->out.t[0].dtype == FUSEC_BF16;
        const double u = bf16 ? fc_bf16_to_float(a[i]) : fc_half_to_float(a[i]),
                     v = bf16 ? fc_bf16_to_float(b[i]) : fc_half_to_float(b[i]);
        most = fmax(most, fabs(u - v));
        large = fmax(large, fabs(u));
    }
    return most / large;
}

static void compare(job *x, const fc_cuda_host *host) {
    void *at[16] = {0}, *apart;
    fc_str why;
    const size_t out = x->in.n, bytes = bytes_of(x, out);
    fc_str_init(&why, &fc_libc_alloc);
    for (size_t b = 0; b < x->plan->buffers.len; b++) {
        at[b] = zeroed(bytes_of(x, b));
        if (b < x->in.n) memcpy(at[b], x->in.t[b].data, bytes_of(x, b));
    }
    run_apart(host, x, at);
    apart = zeroed(bytes);
    memcpy(apart, at[out], bytes);
    memset(at[out], 0, bytes);
    for (size_t b = out + 1; b < x->plan->buffers.len; b++) /* what is passed on has no memory */
        free(at[b]), at[b] = NULL;
    run_joined(host, x, at);
    if (x->mode)
        FC_EXPECT_TRUE(distance(x, apart, at[out], bytes / 2) < 0x1p-6);
    else
        FC_EXPECT_TRUE(memcmp(apart, at[out], bytes) == 0);
    memcpy(x->out.t[0].data, at[out], bytes);
    if (!x->mode && fc_judge(&x->g, &x->o, &x->out, &why)) FC_FAIL("%s", why.data);
    for (size_t b = 0; b < FC_COUNT(at); b++) free(at[b]);
    free(apart);
    fc_str_free(&why);
}

typedef struct sample {
    program_fn *program;
    fusec_dtype t;
    sizes s;
    uint32_t mode;
    unsigned mask; /* enum fc_flash_masks */
} sample;

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
    static job jobs[FC_COUNT(samples)];
    bool taken[FC_COUNT(samples)];
    if (!fc_cuda_host_open(&host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    bool ok = true;
    for (size_t i = 0; i < FC_COUNT(samples); i++) {
        const sample *s = &samples[i];
        if (!(taken[i] = fc_test_takes(3))) continue;
        FC_TRACE("sample %zu", i);
        ok = open_job(&jobs[i], s->program, s->t, &s->s, s->mode, !s->mode) && ok;
        FC_EXPECT_TRUE(jobs[i].can);
        FC_EXPECT_EQ_U64(jobs[i].j.cls[0].cuda.flash_mask, s->mask);
        ok = ok && jobs[i].can && add_texts(&host, &jobs[i]);
        FC_UNTRACE();
    }
    const bool built = ok && fc_cuda_host_build(&host);
    FC_EXPECT_TRUE(built);
    for (size_t i = 0; i < FC_COUNT(samples); i++) {
        if (!taken[i]) continue;
        FC_TRACE("sample %zu", i);
        if (built) compare(&jobs[i], &host);
        FC_UNTRACE();
        close_job(&jobs[i]);
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
        job x;
        FC_TRACE("sample %zu", i);
        if (open_job(&x, other[i].program, other[i].t, &other[i].s, 0, false))
            FC_EXPECT_FALSE(x.can);
        close_job(&x);
        FC_UNTRACE();
    }
}

/* A program on a device that has such a GPU: what is joined, and how much memory it takes. */
static void program_on(program_fn *program, uint32_t *launches, size_t *scratch) {
    fc_fixture f;
    job x = {0};
    fc_bound *b;
    *launches = 0;
    if (!fc_fixture_open(&f, "interp")) return;
    static const sizes s = {2, 256, 256, 64, 64};
    fc_target joins = fc_interp_target;
    fc_machine machine = f.device->machine;
    joins.schedule = fc_cuda_target.schedule;
    joins.join = fc_cuda_target.join;
    f.device->machine = fc_cuda_h200;
    f.device->machine.sm_count = 2;
    const fc_target *own = f.device->target;
    f.device->target = &joins;
    build(&x, program, FUSEC_BF16, &s);
    fc_graph_free(&f.g);
    f.g = x.g;
    fill(&x, false);
    fc_program *p = fc_fixture_compile(&f);
    if (p && !fc_bound_get(p, x.in.n, x.in.t, 0, NULL, 64, FC_NO_CODE, &b, &f.e)) {
        *launches = b->nlaunches;
        *scratch = b->scratch;
        fc_bound_release(p, b);
    } else {
        FC_FAIL("%s", f.e.message);
    }
    fc_program_free(p);
    f.device->target = own;
    f.device->machine = machine;
    fc_arrays_free(&x.in);
    fc_arrays_free(&x.out);
    fc_fixture_close(&f, NULL);
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
