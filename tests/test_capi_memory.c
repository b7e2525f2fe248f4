/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capi_memory.c - memory of devices from functions of the caller's, what is counted of it,
 * what goes back; arrays with a function that releases them; the stream that functions of the
 * caller get. On the hosts and behind the fake driver. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

/* ---- an allocator of the test's ------------------------------------------------------------- */

typedef struct pool {
    int alive, calls, fail_at; /* fail_at: which call gives NULL */
    size_t bytes, misplaced;
    int (*cu_alloc)(unsigned long long *p, size_t n); /* NULL: of the host */
    int (*cu_free)(unsigned long long p);
    bool streams; /* each call had one */
} pool;

static void *take(void *user, size_t bytes, void *stream) {
    pool *p = user;
    unsigned long long at = 0;
    void *m = NULL;
    if (++p->calls == p->fail_at) return NULL;
    p->streams &= stream != NULL;
    if (p->cu_alloc) {
        if (p->cu_alloc(&at, bytes)) return NULL;
        m = (void *)(uintptr_t)at;
    } else if (posix_memalign(&m, 64, bytes + 64)) {
        return NULL;
    }
    p->alive++;
    p->bytes += bytes;
    return (char *)m + p->misplaced;
}

static void give(void *user, void *m, size_t bytes, void *stream) {
    pool *p = user;
    p->alive--;
    p->bytes -= bytes;
    p->streams &= stream != NULL;
    if (p->cu_free)
        p->cu_free((unsigned long long)(uintptr_t)m - p->misplaced);
    else
        free((char *)m - p->misplaced);
}

static fusec_status open_with(const char *device, pool *p, fusec_context **ctx) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = device;
    o.cache_dir = "";
    o.tiers = FUSEC_TIERS_FULL;
    o.device_alloc = take;
    o.device_free = give;
    o.device_alloc_user = p;
    return fusec_context_new(&o, ctx);
}

/* Two kernels with an array between them, and a result that is kept. */
static fusec_status work(fusec_context *ctx, const float *x, int64_t n, float *sum) {
    fusec_graph *g = NULL;
    fusec_status s = fusec_graph_new(ctx, &g);
    if (!s) {
        const fusec_value v = fusec_array(g, FUSEC_F32, 1, &n, x);
        const fusec_value y = fusec_materialize(fusec_add(v, fusec_num(1)));
        s = fusec_read(fusec_sum(fusec_mul(y, y), 0, NULL, 0), sum, sizeof *sum);
    }
    fusec_graph_free(g);
    return s;
}

enum { N = 3000 };

static void allocator_on(const char *device, pool p, bool runs) {
    float x[N], sum = 0;
    fusec_context *ctx = NULL;
    void *memory = NULL;
    for (int i = 0; i < N; i++) x[i] = (float)(i % 3);
    if (open_with(device, &p, &ctx) || fusec_device(ctx, NULL, NULL)) {
        fusec_context_free(ctx);
        return;
    }
    FC_EXPECT_OK_TEXT(fusec_device_alloc(ctx, 1000, &memory), fusec_message(ctx));
    FC_EXPECT_EQ_I64(p.alive, 1);
    FC_EXPECT_OK_TEXT(work(ctx, x, N, &sum), fusec_message(ctx));
    if (runs) FC_EXPECT_EQ_F64(sum, 1000 * (1 + 4 + 9));
    FC_EXPECT_GT_I64(p.calls, 2);
    fusec_memory_stats m = FUSEC_MEMORY_STATS_INIT;
    FC_EXPECT_OK_TEXT(fusec_get_memory_stats(ctx, &m), fusec_message(ctx));
    FC_EXPECT_EQ_U64(m.used, p.bytes);
    FC_EXPECT_GT_I64(m.used_most, N * 4);
    FC_EXPECT_OK_TEXT(fusec_memory_trim(ctx, 0), fusec_message(ctx));
    const int calls = p.calls;
    p.fail_at = calls + 1;
    p.calls = calls;
    void *none = NULL;
    FC_EXPECT_EQ_I64(fusec_device_alloc(ctx, 100, &none), FUSEC_OUT_OF_MEMORY);
    FC_EXPECT_TRUE(none == NULL);
    p.fail_at = 0;
    p.misplaced = 4;
    FC_EXPECT_EQ_I64(fusec_device_alloc(ctx, 100, &none), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "aligned");
    p.misplaced = 0;
    FC_EXPECT_OK_TEXT(work(ctx, x, N, &sum), fusec_message(ctx));
    fusec_device_free(ctx, memory);
    fusec_context_free(ctx);
    FC_EXPECT_EQ_I64(p.alive, 0);
    FC_EXPECT_EQ_U64(p.bytes, 0);
    if (p.cu_alloc) FC_EXPECT_TRUE(p.streams);
}

FC_TEST(capi_memory, from_the_caller) {
    allocator_on("interp", (pool){0}, true);
    allocator_on("cpu", (pool){0}, true);
}

FC_TEST(capi_memory, from_the_caller_behind_a_fake_driver) {
    fake_machine m;
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    void *lib = dlopen(FAKE("whole"), RTLD_NOW);
    pool p = {.streams = true};
    if (lib) {
        *(void **)&p.cu_alloc = dlsym(lib, "cuMemAlloc_v2");
        *(void **)&p.cu_free = dlsym(lib, "cuMemFree_v2");
    }
    FC_EXPECT_TRUE(p.cu_alloc && p.cu_free);
    m.fake->execute = fake_can_execute();
    if (p.cu_alloc && p.cu_free) allocator_on("cuda", p, m.fake->execute);
    if (lib) dlclose(lib);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

FC_TEST(capi_memory, both_or_none) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx = NULL;
    o.device_alloc = take;
    FC_EXPECT_EQ_I64(fusec_context_new(&o, &ctx), FUSEC_INVALID);
    o.device_alloc = NULL;
    o.device_free = give;
    FC_EXPECT_EQ_I64(fusec_context_new(&o, &ctx), FUSEC_INVALID);
}

/* ---- what is counted ------------------------------------------------------------------------- */

static void statistics_on(fusec_context *ctx, bool host) {
    fusec_memory_stats a = FUSEC_MEMORY_STATS_INIT, b = a, c = a;
    void *p = NULL;
    FC_EXPECT_OK_TEXT(fusec_device_alloc(ctx, 100000, &p), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_get_memory_stats(ctx, &a), fusec_message(ctx));
    fusec_device_free(ctx, p);
    FC_EXPECT_OK_TEXT(fusec_get_memory_stats(ctx, &b), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_memory_trim(ctx, 0), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_get_memory_stats(ctx, &c), fusec_message(ctx));
    FC_EXPECT_EQ_U64(a.used - b.used, 100000);
    FC_EXPECT_TRUE(a.reserved >= a.used && b.reserved >= b.used);
    if (!host) return;
    FC_EXPECT_EQ_U64(b.reserved - b.used, 100000);
    FC_EXPECT_EQ_U64(b.used_most, 100000);
    FC_EXPECT_EQ_U64(c.reserved, c.used);
}

FC_TEST(capi_memory, statistics) {
    CAPI_START();
    statistics_on(ctx, true);
    fusec_memory_stats m = {.size = 0};
    FC_EXPECT_EQ_I64(fusec_get_memory_stats(ctx, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_get_memory_stats(ctx, &m), FUSEC_INVALID);
    m.size = sizeof m;
    FC_EXPECT_EQ_I64(fusec_get_memory_stats(NULL, &m), FUSEC_INVALID);
    CAPI_END();
    fake_machine f;
    if (!fake_machine_open(&f, FAKE("whole"))) return;
    fusec_context *gpu = capi_device("cuda");
    if (gpu) statistics_on(gpu, false);
    f.fake->fail_in = "cuMemPoolGetAttribute";
    f.fake->fail_at = 1;
    f.fake->result = 801;
    m.used = 1;
    if (gpu) FC_EXPECT_OK_TEXT(fusec_get_memory_stats(gpu, &m), fusec_message(gpu));
    FC_EXPECT_EQ_U64(m.used + m.reserved, 0); /* nothing is known */
    fusec_context_free(gpu);
    fake_machine_close(&f);
}

/* ---- arrays that are released ---------------------------------------------------------------- */

static void count_release(void *user) {
    ++*(int *)user;
}

FC_TEST(capi_memory, arrays_that_are_released) {
    CAPI_START();
    float x[4] = {1, 2, 3, 4}, y[4];
    const int64_t n = 4, step = 2, shape[2] = {2, 2}, across[2] = {1, 2};
    int released = 0;
    fusec_tensor t = {.data = x, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    for (int place = FUSEC_HOST; place <= FUSEC_DEVICE; place++) {
        t.place = place;
        fusec_value v = fusec_array_from(g, &t, count_release, &released);
        const fusec_value w = fusec_array_from(g, &t, NULL, NULL);
        FC_EXPECT_OK_TEXT(fusec_read(fusec_add(v, w), y, sizeof y), fusec_message(ctx));
        FC_EXPECT_EQ_F64(y[3], 8);
        FC_EXPECT_EQ_I64(released, place);
        fusec_graph_reset(g);
        FC_EXPECT_EQ_I64(released, place + 1);
    }
    for (int i = 0; i < 5; i++) { /* nothing is taken */
        fusec_tensor bad = t;
        if (i == 0) bad.strides = &step;
        if (i == 1) bad.shape = shape, bad.strides = across, bad.rank = 2;
        if (i == 2) bad.place = 9;
        if (i == 3) bad.dtype = 99;
        if (i == 4) bad.data = NULL;
        fusec_array_from(g, &bad, count_release, &released);
        FC_EXPECT_TRUE(fusec_graph_status(g) != FUSEC_OK);
        fusec_graph_reset(g);
    }
    const int64_t none[2] = {2, 0}, ones[2] = {1, 1}; /* strides of no elements say nothing */
    const fusec_tensor empty = {.shape = none, .strides = ones, .rank = 2, .dtype = FUSEC_F32};
    fusec_array_from(g, &empty, NULL, NULL);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_OK);
    fusec_graph_reset(g);
    fusec_array_from(g, NULL, count_release, &released);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_INVALID);
    fusec_graph_reset(g);
    FC_EXPECT_EQ_I64(released, 2);
    fusec_array_from(g, &t, count_release, &released);
    CAPI_END();
    FC_EXPECT_EQ_I64(released, 3);
}

/* ---- streams --------------------------------------------------------------------------------- */

static int note_stream(void *user, const fusec_call_args *a) {
    *(void **)user = a->stream;
    return 0;
}

/* A function that is called without a stream of the caller's gets the device's own, not the default
 * one, for which nothing waits. */
FC_TEST(capi_memory, functions_get_a_stream) {
    fake_machine m;
    static const fusec_dtype dtype = FUSEC_F32;
    static const int rank = 1;
    const int64_t n = 4;
    const float x[4] = {0};
    float y[4];
    void *seen = NULL, *own = NULL;
    FC_EXPECT_EQ_I64(fusec_stream(NULL, &own), FUSEC_INVALID);
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    fusec_context *ctx = capi_device("cuda");
    fusec_graph *g = NULL;
    if (ctx && !fusec_graph_new(ctx, &g)) {
        fusec_value in = fusec_array(g, FUSEC_F32, 1, &n, x), out;
        const fusec_dim size = fusec_dim_of(in, 0);
        fusec_call_desc d = FUSEC_CALL_DESC_INIT;
        d.name = "note";
        d.cuda = note_stream;
        d.user = &seen;
        d.noutputs = 1;
        d.dtypes = &dtype;
        d.ranks = &rank;
        d.shapes = &size;
        FC_EXPECT_OK_TEXT(fusec_call(g, &d, 1, &in, &out), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_read(out, y, sizeof y), fusec_message(ctx));
        FC_EXPECT_EQ_I64(fusec_stream(ctx, NULL), FUSEC_INVALID);
        FC_EXPECT_OK_TEXT(fusec_stream(ctx, &own), fusec_message(ctx));
        FC_EXPECT_TRUE(own && seen == own);
    }
    fusec_graph_free(g);
    fusec_context_free(ctx);
    fake_machine_close(&m);
}

/* ---- where kernels are kept ------------------------------------------------------------------ */

static void keep_last(void *user, const char *line) {
    if (strstr(line, "on disk")) snprintf(user, 300, "%s", line);
}

/* A folder for kernels that can't be used is no error, and the log says why. */
FC_TEST(capi_memory, an_unusable_folder_is_logged) {
    char line[300] = "";
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *c = NULL;
    o.device = "cpu";
    o.cache_dir = "/proc/nowhere/at/all";
    o.log = keep_last;
    o.log_user = line;
    setenv("FUSEC_DEBUG", "1", 1);
    const fusec_status s = fusec_context_new(&o, &c);
    unsetenv("FUSEC_DEBUG");
    if (s == FUSEC_NO_LLVM) FC_SKIP("%s", fusec_message(NULL));
    FC_ASSERT_OK_TEXT(s, fusec_message(NULL));
    fusec_graph *g = NULL;
    float out[1];
    FC_ASSERT_OK_TEXT(fusec_graph_new(c, &g), fusec_message(c));
    fusec_value v = fusec_add(fusec_const(g, FUSEC_F32, 1), fusec_const(g, FUSEC_F32, 2));
    FC_EXPECT_OK_TEXT(fusec_read(v, out, sizeof out), fusec_message(c));
    FC_EXPECT_TRUE(out[0] == 3);
    FC_EXPECT_CONTAINS(line, "kernels are not kept on disk: /proc/nowhere");
    fusec_graph_free(g);
    fusec_context_free(c);
}
