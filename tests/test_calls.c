/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_calls.c - the short ways: calls that are ready, expressions found again, kernels compiled
 * together, code that is lowered again because it spilled. What they give must be what the long
 * ways give. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fusec/fusec.h>

#include "runtime/bind.h"
#include "runtime/program.h"
#include "tests/support/graph_hash.h"
#include "tests/support/gb.h"
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

static const char *const host_devices[] = {"interp", "cpu"};
#define EACH_HOST_DEVICE(f)                                                                        \
    for (size_t dev_ = 0; dev_ < FC_COUNT(host_devices); dev_++)                                   \
        if (fc_fixture_open(&(f), host_devices[dev_]))

/* y = x*a + 1 in one kernel, z = sum of y behind it in another, a a scalar. */
static void build_two(fc_graph *g) {
    fc_node x = gbin(g, "x", FUSEC_F32, 1, gbd(g, "n"), 0, 0),
            a = gbin(g, "a", FUSEC_F32, 0, 0, 0, 0);
    fc_node y = fc_build_materialize(g, gb2(g, FC_OP_mul, x, a));
    y = gb2(g, FC_OP_add, y, fc_build_number(g, FUSEC_F32, 1));
    fc_build_output(g, "y", y);
    fc_build_output(g, "z", gbred(g, FC_OP_sum, y, -1, false));
}

static fc_tensor f32s(float *data, uint32_t rank, const int64_t *shape) {
    return (fc_tensor){.dtype = FUSEC_F32, .rank = rank, .shape = shape, .data = data};
}

static fusec_status call_two(fc_program *p, float *x, float *a, int64_t n, float *y, float *z,
                             fc_error *e) {
    fc_tensor in[2] = {f32s(x, 1, &n), f32s(a, 0, NULL)},
              out[2] = {f32s(y, 1, &n), f32s(z, 0, NULL)};
    return fc_program_run(p, NULL, 2, in, 0, NULL, 2, out, e);
}

static void check_two(fc_program *p, float a, int64_t n, float *x, float *y, fc_error *e) {
    float z = -1, want = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(i % 8);
        y[i] = -1;
        want += x[i] * a + 1;
    }
    FC_EXPECT_OK(call_two(p, x, &a, n, y, &z, e), e);
    for (int64_t i = 0; i < n; i++) FC_EXPECT_EQ_F64(y[i], x[i] * a + 1);
    FC_EXPECT_EQ_F64(z, want);
}

static int ready_count(const fc_program *p) {
    int n = 0;
    for (int i = 0; i < FC_READY_PLACES; i++) n += p->ready[i] != NULL;
    return n;
}

FC_TEST(calls, a_ready_call_takes_new_pointers_scalars_and_sizes) {
    fc_fixture f;
    EACH_HOST_DEVICE(f) {
        static float x[2][600], y[2][600];
        build_two(&f.g);
        fc_program *p = fc_fixture_compile(&f);
        FC_EXPECT_EQ_I64(ready_count(p), 0);
        for (int i = 0; i < 12 * 15 + 7; i++) /* more sizes than there are places */
            check_two(p, (float)(i % 5), 32 * (i % 12), x[i % 2], y[i / 2 % 2], &f.e);
        FC_EXPECT_GE_I64(ready_count(p), FC_READY_PLACES - 1);
        for (int i = 0; i < 10; i++) check_two(p, 2, 500, x[i % 2] + i, y[i / 2 % 2] + 2 * i, &f.e);
        fc_fixture_close(&f, p);
    }
}

FC_TEST(calls, what_is_wrong_is_told_after_calls_that_were_right) {
    fc_fixture f;
    EACH_HOST_DEVICE(f) {
        static float x[100], y[100];
        float a = 1, z;
        build_two(&f.g);
        fc_program *p = fc_fixture_compile(&f);
        for (int i = 0; i < 3; i++) check_two(p, 3, 100, x, y, &f.e);
        fc_error e = {0};
        FC_EXPECT_EQ_I64(call_two(p, x, &a, 100, y, y + 99, &e), FUSEC_INVALID);
        e.code = FUSEC_OK;
        FC_EXPECT_EQ_I64(call_two(p, NULL, &a, 100, y, &z, &e), FUSEC_INVALID);
        e.code = FUSEC_OK;
        FC_EXPECT_EQ_I64(call_two(p, x, &a, 100, NULL, &z, &e), FUSEC_INVALID);
        e.code = FUSEC_OK;
        FC_EXPECT_EQ_I64(call_two(p, x, &a, -1, y, &z, &e), FUSEC_INPUT_SHAPE);
        int64_t n = 100, m = 99;
        fc_tensor in[2] = {f32s(x, 1, &n), f32s(&a, 0, NULL)},
                  out[2] = {f32s(y, 1, &m), f32s(&z, 0, NULL)};
        e.code = FUSEC_OK;
        FC_EXPECT_EQ_I64(fc_program_run(p, NULL, 2, in, 0, NULL, 2, out, &e), FUSEC_RESULT_SHAPE);
        in[0].dtype = FUSEC_I32;
        e.code = FUSEC_OK;
        FC_EXPECT_EQ_I64(fc_program_run(p, NULL, 2, in, 0, NULL, 2, out, &e), FUSEC_INPUT_DTYPE);
        e.code = FUSEC_OK;
        FC_EXPECT_EQ_I64(fc_program_run(p, NULL, 1, in, 0, NULL, 2, out, &e), FUSEC_ARGUMENT_COUNT);
        for (int i = 0; i < 3; i++) check_two(p, 3, 100, x, y, &f.e);
        fc_fixture_close(&f, p);
    }
}

typedef struct caller {
    fc_program *p;
    int number;
    fc_error e;
} caller;

static void *call_often(void *user) {
    caller *c = user;
    float *x = malloc(2 * 300 * sizeof *x), z = 0;
    for (int i = 0; i < 2000 && x && !c->e.code; i++) {
        float a = (float)(c->number + i % 3);
        int64_t n = 100 + 50 * (i % 2) + c->number % 2;
        for (int64_t k = 0; k < n; k++) x[k] = 1;
        if (call_two(c->p, x, &a, n, x + 300, &z, &c->e)) break;
        if (z != (float)n * (a + 1) || x[300 + n - 1] != a + 1)
            fc_fail(&c->e, FUSEC_INTERNAL, "call %d of thread %d gave %g", i, c->number, z);
    }
    free(x);
    return NULL;
}

FC_TEST(calls, threads_share_a_program) {
    fc_fixture f;
    EACH_HOST_DEVICE(f) {
        caller c[6] = {{0}};
        pthread_t t[6];
        build_two(&f.g);
        fc_program *p = fc_fixture_compile(&f);
        for (int i = 0; i < 6; i++) {
            c[i] = (caller){.p = p, .number = i};
            FC_ASSERT_TRUE(!pthread_create(&t[i], NULL, call_often, &c[i]));
        }
        for (int i = 0; i < 6; i++) {
            pthread_join(t[i], NULL);
            FC_EXPECT_OK(c[i].e.code, &c[i].e);
        }
        fc_fixture_close(&f, p);
    }
}

/* ---- CUDA graphs ----------------------------------------------------------------------------- */

/* Eight kernels with a scalar and a reduction among them. */
static fusec_value chain_with_sum(fusec_value x, fusec_value a) {
    int last = -1;
    fusec_value y = x;
    for (int i = 0; i < 3; i++) y = fusec_materialize(fusec_add(fusec_mul(fusec_sin(y), a), x));
    y = fusec_sub(y, fusec_sum(y, 1, &last, 1));
    for (int i = 0; i < 3; i++) y = fusec_mul(fusec_materialize(y), fusec_num(1.25));
    return y;
}

static fusec_program *compile_chain(fusec_context *ctx, unsigned flags) {
    fusec_graph *g;
    fusec_program *p = NULL;
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    fusec_dim n[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, n);
    fusec_output(g, "y", chain_with_sum(x, fusec_input(g, "a", FUSEC_F32, 0, NULL)));
    FC_EXPECT_OK_TEXT(fusec_compile_with(g, flags, &p), fusec_message(ctx));
    fusec_graph_free(g);
    return p;
}

/* Three buffers, two sizes, other scalars: with a graph and without, every bit is the same. */
static void compare_graph(const char *device) {
    enum { MOST = 300 * 70 };
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx;
    static float x[MOST], want[MOST], have[MOST];
    void *dx[3], *dy[3];
    o.device = device;
    o.cache_dir = "";
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), "context");
    if (fusec_device(ctx, NULL, NULL)) {
        fusec_context_free(ctx);
        return;
    }
    fusec_program *plain = compile_chain(ctx, 0), *graph = compile_chain(ctx, FUSEC_PROGRAM_GRAPH);
    for (int i = 0; i < MOST; i++) x[i] = (float)(i % 1001) / 77.0f;
    for (int i = 0; i < 3; i++) {
        FC_EXPECT_OK_TEXT(fusec_device_alloc(ctx, sizeof x, &dx[i]), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_device_alloc(ctx, sizeof x, &dy[i]), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_upload(ctx, dx[i], x + i, sizeof x - 12), fusec_message(ctx));
    }
    for (int i = 0; i < 40; i++) {
        int64_t shape[2] = {i % 4 ? 300 : 7, i % 4 ? 60 : 64};
        size_t bytes = (size_t)(shape[0] * shape[1]) * 4;
        float a = (float)(i / 5);
        fusec_tensor in[2] = {{.data = dx[i % 3],
                               .shape = shape,
                               .rank = 2,
                               .dtype = FUSEC_F32,
                               .place = FUSEC_DEVICE},
                              {.data = &a, .dtype = FUSEC_F32}},
                     out = {.data = dy[i % 2],
                            .shape = shape,
                            .rank = 2,
                            .dtype = FUSEC_F32,
                            .place = FUSEC_DEVICE};
        FC_EXPECT_OK_TEXT(fusec_run(plain, 2, in, 1, &out), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_download(ctx, want, out.data, bytes), fusec_message(ctx));
        out.data = dy[2 - i % 2];
        FC_EXPECT_OK_TEXT(fusec_run(graph, 2, in, 1, &out), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_download(ctx, have, out.data, bytes), fusec_message(ctx));
        FC_EXPECT_MEMEQ(have, want, bytes);
    }
    for (int i = 0; i < 3; i++) fusec_device_free(ctx, dx[i]), fusec_device_free(ctx, dy[i]);
    fusec_program_free(plain);
    fusec_program_free(graph);
    fusec_context_free(ctx);
}

FC_TEST(calls, a_graph_gives_the_same_bits) {
    compare_graph("interp");
    compare_graph("cpu");
    compare_graph("cuda");
}

FC_TEST(calls, unknown_flags_are_refused) {
    fusec_program *p;
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx;
    fusec_graph *g;
    o.device = "interp";
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), "context");
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    FC_EXPECT_EQ_I64(fusec_compile_with(g, 1u << 20, &p), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "unknown flags 0x100000");
    fusec_graph_free(g);
    fusec_context_free(ctx);
}

/* ---- expressions found again ----------------------------------------------------------------- */

static fusec_value some_expression(fusec_value x, fusec_value y, bool other_order) {
    int last = -1;
    fusec_value a = other_order ? fusec_add(y, fusec_sin(x)) : fusec_add(fusec_sin(x), y);
    fusec_value b = other_order ? fusec_mul(a, x) : fusec_mul(x, a);
    return fusec_sub(b, fusec_sum(b, 1, &last, 1));
}

/* The values of an expression whose graph holds other things, and whose parts were made in another
 * order. */
FC_TEST(calls, an_expression_is_found_whatever_else_its_graph_has) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx;
    fusec_counters before = FUSEC_COUNTERS_INIT, after = FUSEC_COUNTERS_INIT;
    float x[12], y[12], out[2][12];
    int64_t shape[2] = {3, 4};
    o.device = "interp";
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), "context");
    for (int i = 0; i < 12; i++) x[i] = (float)i, y[i] = (float)(i * i % 7);
    for (int round = 0; round < 2; round++) {
        fusec_graph *g;
        FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
        fusec_value vy, vx;
        if (round) {
            vy = fusec_array(g, FUSEC_F32, 2, shape, y);
            for (int i = 0; i < 50; i++) (void)fusec_cos(fusec_mul(vy, fusec_num(i)));
            vx = fusec_array(g, FUSEC_F32, 2, shape, x);
        } else {
            vx = fusec_array(g, FUSEC_F32, 2, shape, x);
            vy = fusec_array(g, FUSEC_F32, 2, shape, y);
        }
        fusec_get_counters(ctx, &before);
        FC_ASSERT_OK_TEXT(fusec_read(some_expression(vx, vy, round), out[round], sizeof out[0]),
                          fusec_message(ctx));
        fusec_get_counters(ctx, &after);
        FC_EXPECT_EQ_U64(after.plans - before.plans, round ? 0u : 1u);
        fusec_graph_free(g);
    }
    for (int i = 0; i < 12; i++) FC_EXPECT_EQ_F64(out[0][i], out[1][i]);
    fusec_context_free(ctx);
}

static uint64_t hash_of_order(bool other_order, bool dead) {
    fc_graph g;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, other_order ? "k" : "n"), 0, 0);
    fc_node y = gbin(&g, "y", FUSEC_F32, 1, gbd(&g, other_order ? "k" : "n"), 0, 0);
    if (dead) (void)gb1(&g, FC_OP_cos, y);
    fc_node s = FC_NONODE, c = FC_NONODE;
    for (int i = 0; i < 2; i++) {
        if (i == other_order) s = gb1(&g, FC_OP_sin, x);
        if (i != other_order) c = gb1(&g, FC_OP_exp, y);
    }
    fc_build_output(&g, "r", gb2(&g, FC_OP_sub, gb2(&g, FC_OP_mul, s, c), x));
    uint64_t h = fc_graph_hash(&g);
    fc_build_output(&g, "c", c);
    FC_EXPECT_TRUE(fc_graph_hash(&g) != h);
    fc_graph_free(&g);
    return h;
}

FC_TEST(calls, a_graph_hash_does_not_see_dead_nodes_nor_order) {
    uint64_t h = hash_of_order(false, false);
    FC_EXPECT_TRUE(h != 0);
    FC_EXPECT_EQ_U64(hash_of_order(true, false), h);
    FC_EXPECT_EQ_U64(hash_of_order(false, true), h);
    FC_EXPECT_EQ_U64(hash_of_order(true, true), h);
}

/* ---- kernels compiled together --------------------------------------------------------------- */

static fusec_status load_offline(const char *cache, uint64_t *compiles, uint64_t *hits,
                                 fc_error *e) {
    fc_config c;
    fc_context *ctx;
    fc_device *d;
    fc_program *p = NULL;
    fc_graph g;
    int64_t n = 1000;
    fc_step_report r[16];
    fc_config_init(&c);
    c.cache_dir = cache;
    FC_TRY(fc_context_new(&c, &ctx, e));
    FC_TRY(fc_device_open_cuda_offline(&fc_libc_alloc, 90, &d, e));
    fusec_status s = fc_device_ready(d, e);
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_node y = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    static const fc_op ops[] = {FC_OP_sin, FC_OP_cos, FC_OP_exp, FC_OP_tanh, FC_OP_sqrt};
    for (size_t i = 0; i < FC_COUNT(ops); i++) y = fc_build_materialize(&g, gb1(&g, ops[i], y));
    fc_build_output(&g, "y", y);
    if (!s) s = fc_program_new(ctx, &g, &(fc_program_options){.device = d}, &p, e);
    fc_tensor in = {.dtype = FUSEC_F32, .rank = 1, .shape = &n};
    if (!s) s = fc_program_report(p, 1, &in, 0, NULL, false, r, e);
    FC_EXPECT_EQ_U64(p ? p->plan->steps.len : 0, s ? 0 : FC_COUNT(ops));
    *compiles = ctx->compiles;
    *hits = ctx->disk_hits;
    fc_program_free(p);
    fc_graph_free(&g);
    fc_context_free(ctx);
    fc_device_close(d);
    return s;
}

FC_TEST(calls, kernels_of_a_plan_are_one_program_of_nvrtc_and_come_back_from_disk) {
    char dir[] = "/tmp/fusec-calls-XXXXXX";
    fc_error e = {0};
    uint64_t compiles = 0, hits = 0;
    FC_ASSERT_TRUE(mkdtemp(dir) != NULL);
    if (load_offline(dir, &compiles, &hits, &e) == FUSEC_NVRTC_SETUP) FC_SKIP("%s", e.message);
    FC_EXPECT_OK(e.code, &e);
    FC_EXPECT_EQ_U64(compiles, 5);
    FC_EXPECT_EQ_U64(hits, 0);
    FC_EXPECT_OK(load_offline(dir, &compiles, &hits, &e), &e);
    FC_EXPECT_EQ_U64(compiles, 0);
    FC_EXPECT_EQ_U64(hits, 5);
    fc_diskcache_dirs dirs = {dir, NULL, NULL, NULL};
    fc_diskcache *disk = fc_diskcache_open(&fc_libc_alloc, &dirs, 0);
    fc_diskcache_clear(disk, 0);
    fc_diskcache_close(disk);
    rmdir(dir);
}

/* ---- code that spills ------------------------------------------------------------------------ */

/* A device and a target as they are, but code of vectors spills until they are small. */
static fc_device_ops spilling_ops;
static fc_target shrinking_target;
static int shrinks;
static uint16_t axis_before;

static void told_facts(fc_device *d, void *code, fc_code_facts *out) {
    (void)d, (void)code;
    *out = (fc_code_facts){.registers = 255, .spill_bytes = shrinks < 2 ? 64 : 0};
}

static bool smaller(const fc_machine *m, const fc_kernel *k, const fc_nest *n, uint32_t align,
                    uint32_t registers, uint32_t spill_bytes, fc_arena *arena, fc_class *cls,
                    fc_launch *launch) {
    (void)m, (void)k, (void)n, (void)align, (void)arena, (void)launch;
    FC_EXPECT_EQ_U64(registers, 255);
    FC_EXPECT_EQ_U64(spill_bytes, 64);
    if (cls->llvm.tile_axis < 100) axis_before = cls->llvm.tile_axis;
    cls->llvm.tile_axis = (uint16_t)(100 + shrinks++); /* another class: another text and key */
    return true;
}

static fusec_status emit_class(const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                               const char *name, fc_str *out, fc_error *e) {
    fc_class as_it_was = *cls;
    if (as_it_was.llvm.tile_axis >= 100) {
        fc_str_printf(out, "; made smaller %u times\n", cls->llvm.tile_axis - 99u);
        as_it_was.llvm.tile_axis = axis_before;
    }
    return fc_llvm_target.emit(m, k, &as_it_was, name, out, e);
}

FC_TEST(calls, code_that_spills_is_lowered_again_smaller) {
    fc_fixture f;
    if (!fc_fixture_open(&f, "cpu")) FC_SKIP("there is no LLVM");
    static float x[64], y[64];
    shrinks = 0;
    spilling_ops = *f.device->ops;
    spilling_ops.facts = told_facts;
    shrinking_target = *f.device->target;
    shrinking_target.smaller = smaller;
    shrinking_target.emit = emit_class;
    f.device->ops = &spilling_ops;
    f.device->target = &shrinking_target;
    fc_node in = gbin(&f.g, "x", FUSEC_F32, 1, gbd(&f.g, "n"), 0, 0);
    fc_build_output(&f.g, "y", gb2(&f.g, FC_OP_add, in, in));
    fc_program *p = fc_fixture_compile(&f);
    int64_t n = 64;
    fc_tensor ti = f32s(x, 1, &n), to = f32s(y, 1, &n);
    for (int i = 0; i < 64; i++) x[i] = (float)i;
    FC_EXPECT_OK(fc_program_run(p, NULL, 1, &ti, 0, NULL, 1, &to, &f.e), &f.e);
    for (int i = 0; i < 64; i++) FC_EXPECT_EQ_F64(y[i], 2 * i);
    FC_EXPECT_EQ_I64(shrinks, 2);
    FC_EXPECT_EQ_U64(p->compiles, 3);
    fc_step_report r;
    FC_EXPECT_OK(fc_program_report(p, 1, &ti, 0, NULL, false, &r, &f.e), &f.e);
    FC_EXPECT_TRUE(r.compiled);
    FC_EXPECT_EQ_U64(r.facts.registers, 255);
    FC_EXPECT_EQ_U64(r.facts.spill_bytes, 0);
    fc_fixture_close(&f, p);
}
