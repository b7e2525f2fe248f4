/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_fake_cuda_memory.c - memory of the CUDA device: scratch on the caller's streams, and which
 * allocations come from where. With the driver of tests/fake. */
#include "runtime/cuda/device_cuda.h"
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

/* ---- scratch on the caller's streams --------------------------------------------------------- */

static const int64_t line[1] = {160};

/* A program of two kernels, whose arrays are on the device. */
typedef struct streamed {
    fusec_context *ctx;
    fusec_graph *g;
    fusec_program *p;
    void *x, *y;
    fc_cuda *cuda;
    fc_cuda_info info;
    fc_cu_context current;
} streamed;

static bool start_streamed(streamed *s, unsigned tiers) {
    fc_error e = {0};
    memset(s, 0, sizeof *s);
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "cuda";
    o.cache_dir = "";
    o.tiers = tiers;
    if (fusec_context_new(&o, &s->ctx) || fusec_graph_new(s->ctx, &s->g)) return false;
    fusec_dim n = fusec_sym(s->g, "n");
    fusec_value x = fusec_input(s->g, "x", FUSEC_F32, 1, &n);
    fusec_value y = fusec_sub(fusec_materialize(fusec_abs(x)), fusec_max(x, 0, NULL, 0));
    fusec_output(s->g, "y", y);
    if (fusec_compile(s->g, &s->p) || fusec_device_alloc(s->ctx, sizeof(float) * 160, &s->x) ||
        fusec_device_alloc(s->ctx, sizeof(float) * 160, &s->y))
        return false;
    return !fc_cuda_open(&fc_libc_alloc, &s->cuda, &e) &&
           !fc_cuda_device(s->cuda, 0, &s->info, &e) &&
           !fc_cuda_retain(s->cuda, s->info.device, &s->current, &e) &&
           !fc_cuda_push(s->cuda, s->current, &e);
}

static void end_streamed(streamed *s) {
    fusec_device_free(s->ctx, s->x);
    fusec_device_free(s->ctx, s->y);
    fusec_program_free(s->p);
    fusec_graph_free(s->g);
    fusec_context_free(s->ctx);
    if (s->current) fc_cuda_pop(s->cuda);
    if (s->current) fc_cuda_release(s->cuda, s->info.device);
    fc_cuda_close(s->cuda);
}

/* Calls of the driver that one call of the program makes. */
static long driver_calls(streamed *s, const fake_machine *m, fc_cu_stream stream) {
    const long before = m->fake->calls;
    fusec_tensor in = {.data = s->x,
                       .shape = line,
                       .rank = 1,
                       .dtype = FUSEC_F32,
                       .place = FUSEC_DEVICE},
                 out = in;
    out.data = s->y;
    FC_EXPECT_EQ_I64(fusec_run_on(s->p, stream, 1, &in, 1, &out), FUSEC_OK);
    return m->fake->calls - before;
}

/* Of two tiers a recorded call has the full code at once: it runs whenever it is replayed. */
FC_TEST(fake_cuda, what_is_recorded_stays_loaded) {
    for (int recorded = 0; recorded < 2; recorded++) {
        fake_machine m;
        streamed s;
        fc_cu_stream a;
        fc_error e = {0};
        if (!fake_machine_open(&m, FAKE("whole"))) return;
        FC_ASSERT_TRUE(start_streamed(&s, FUSEC_TIERS_BOTH));
        FC_ASSERT_OK(fc_cuda_stream_create(s.cuda, &a, &e), &e);
        m.fake->early = true; /* and is launched as ever */
        m.fake->capturing = recorded;
        (void)driver_calls(&s, &m, a);
        m.fake->capturing = false;
        FC_EXPECT_TRUE((m.fake->launched_early > 0) == (recorded == 0));
        FC_EXPECT_EQ_I64(m.fake->recordings_ended, 0);
        m.fake->fail_in = "cuModuleUnload"; /* only counted */
        m.fake->fail_at = 1;
        m.fake->times = 1000;
        m.fake->fired = 0;
        m.fake->result = 0;
        (void)driver_calls(&s, &m, a);
        if (recorded) FC_EXPECT_EQ_I64(m.fake->fired, 0);
        FC_EXPECT_EQ_I64(m.fake->recordings_ended, 0);
        m.fake->fail_in = NULL;
        fc_cuda_stream_destroy(s.cuda, a);
        end_streamed(&s);
        FC_EXPECT_EQ_I64(m.fake->modules, 0);
        fake_machine_close(&m);
    }
}

FC_TEST(fake_cuda, scratch_stays_with_a_stream) {
    fake_machine m;
    streamed s;
    fc_cu_stream a, b;
    fc_error e = {0};
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    FC_ASSERT_TRUE(start_streamed(&s, FUSEC_TIERS_FULL));
    FC_ASSERT_OK(fc_cuda_stream_create(s.cuda, &a, &e), &e);
    FC_ASSERT_OK(fc_cuda_stream_create(s.cuda, &b, &e), &e);
    const long new = driver_calls(&s, &m, a), kept = driver_calls(&s, &m, a);
    const long memory = m.fake->memory;
    FC_EXPECT_GT_I64(new, kept);
    for (int i = 0; i < 3; i++) FC_EXPECT_EQ_I64(driver_calls(&s, &m, a), kept);
    FC_EXPECT_EQ_I64(m.fake->memory, memory);
    FC_EXPECT_GT_I64(driver_calls(&s, &m, b), kept); /* it gets scratch of its own */
    FC_EXPECT_EQ_I64(driver_calls(&s, &m, b), kept);
    FC_EXPECT_EQ_I64(driver_calls(&s, &m, a), kept);
    FC_EXPECT_EQ_I64(m.fake->memory, memory + 1);
    m.fake->capturing = true; /* what is recorded may run beside a later call */
    FC_EXPECT_GT_I64(driver_calls(&s, &m, a), kept);
    FC_EXPECT_EQ_I64(m.fake->memory, memory + 1);
    m.fake->capturing = false;
    FC_EXPECT_EQ_I64(m.fake->recordings_ended, 0);
    FC_EXPECT_EQ_I64(driver_calls(&s, &m, a), kept);
    fc_cuda_stream_destroy(s.cuda, a);
    FC_ASSERT_OK(fc_cuda_stream_create(s.cuda, &a, &e), &e); /* most likely at the same address */
    FC_EXPECT_GT_I64(driver_calls(&s, &m, a), kept);
    FC_EXPECT_EQ_I64(driver_calls(&s, &m, a), kept);
    fc_cuda_stream_destroy(s.cuda, a);
    fc_cuda_stream_destroy(s.cuda, b);
    end_streamed(&s);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* ---- the first allocations ------------------------------------------------------------------- */

/* The driver's pool takes longer to be made than all the rest up to a first result. */
FC_TEST(fake_cuda, the_first_allocations_leave_the_pool_alone) {
    fake_machine m;
    fusec_context *ctx = NULL;
    void *mem[FC_CUDA_EARLY + 1] = {0};
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    FC_ASSERT_OK_TEXT(capi_open("cuda", 1, &ctx), fusec_message(NULL));
    FC_ASSERT_OK_TEXT(fusec_device(ctx, NULL, NULL), fusec_message(ctx));
    m.fake->fail_in = "cuMemAllocAsync";
    m.fake->fail_at = 1;
    m.fake->result = 2;
    m.fake->times = 1000; /* as often as it is called */
    for (int i = 0; i < FC_CUDA_EARLY; i++) {
        FC_EXPECT_OK_TEXT(fusec_device_alloc(ctx, 64, &mem[i]), fusec_message(ctx));
        if (i % 2) fusec_device_free(ctx, mem[i]);
    }
    FC_EXPECT_EQ_I64(m.fake->fired, 0);
    FC_EXPECT_EQ_I64(fusec_device_alloc(ctx, 64, &mem[FC_CUDA_EARLY]), FUSEC_OUT_OF_MEMORY);
    FC_EXPECT_EQ_I64(m.fake->fired, 2); /* again with the pool emptied */
    m.fake->fail_in = "cuMemFree_v2";
    m.fake->fired = 0;
    for (int i = 0; i < FC_CUDA_EARLY; i += 2)
        fusec_device_free(ctx, mem[i]); /* now in the order of the stream */
    FC_EXPECT_EQ_I64(m.fake->fired, 0);
    fusec_context_free(ctx);
    FC_EXPECT_EQ_I64(m.fake->memory, 0);
    FC_EXPECT_EQ_I64(m.fake->misuse, 0);
    fake_machine_close(&m);
}

FC_TEST(fake_cuda, what_the_plain_allocator_has_not_the_pool_may_have) {
    fake_machine m;
    fusec_context *ctx = NULL;
    void *mem = NULL;
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    FC_ASSERT_OK_TEXT(capi_open("cuda", 1, &ctx), fusec_message(NULL));
    FC_ASSERT_OK_TEXT(fusec_device(ctx, NULL, NULL), fusec_message(ctx));
    m.fake->fail_in = "cuMemAlloc_v2";
    m.fake->fail_at = 1;
    m.fake->result = 2;
    FC_EXPECT_OK_TEXT(fusec_device_alloc(ctx, 64, &mem), fusec_message(ctx));
    FC_EXPECT_EQ_I64(m.fake->fired, 1);
    fusec_device_free(ctx, mem);
    fusec_context_free(ctx);
    FC_EXPECT_EQ_I64(m.fake->memory, 0);
    fake_machine_close(&m);
}

/* "Not found" of anything but a kernel in its code is no unknown name. */
FC_TEST(fake_cuda, what_else_is_not_found) {
    fake_machine m;
    fusec_context *ctx = NULL;
    void *mem = NULL;
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    FC_ASSERT_OK_TEXT(capi_open("cuda", 1, &ctx), fusec_message(NULL));
    FC_ASSERT_OK_TEXT(fusec_device_alloc(ctx, 64, &mem), fusec_message(ctx));
    m.fake->fail_in = NULL;
    m.fake->fail_at = 1;
    m.fake->result = 500;
    FC_EXPECT_EQ_I64(fusec_memory_trim(ctx, 0), FUSEC_DRIVER);
    FC_EXPECT_EQ_I64(m.fake->fired, 1);
    fusec_device_free(ctx, mem);
    fusec_context_free(ctx);
    fake_machine_close(&m);
}

/* Statistics are all there, or 0: the driver may fail at any of them. */
FC_TEST(fake_cuda, statistics_of_the_pool_are_whole) {
    fake_machine m;
    fusec_context *ctx = NULL;
    void *mem = NULL;
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    FC_ASSERT_OK_TEXT(capi_open("cuda", 1, &ctx), fusec_message(NULL));
    FC_ASSERT_OK_TEXT(fusec_device_alloc(ctx, 64, &mem), fusec_message(ctx));
    for (int at = 0; at <= 4; at++) {
        fusec_memory_stats s = FUSEC_MEMORY_STATS_INIT;
        m.fake->fail_in = "cuMemPoolGetAttribute";
        m.fake->fail_at = at;
        m.fake->result = 1;
        const fusec_status got = fusec_get_memory_stats(ctx, &s);
        FC_EXPECT_OK_TEXT(got, fusec_message(ctx));
        FC_EXPECT_EQ_I64(m.fake->fired, at);
        if (at) FC_EXPECT_TRUE(!s.reserved && !s.reserved_most && !s.used && !s.used_most);
    }
    fusec_device_free(ctx, mem);
    fusec_context_free(ctx);
    fake_machine_close(&m);
}
