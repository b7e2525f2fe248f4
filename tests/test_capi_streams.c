/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capi_streams.c - events, copies on streams, page-locked memory, what a pointer and a device
 * are: on the CPU, on the driver made for tests, and with arguments that are none. */
#include <string.h>

#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

static void use_all(fusec_context *ctx, bool gpu) {
    fusec_event *a = NULL, *b = NULL;
    void *host = NULL, *device = NULL;
    double seconds = -1;
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    int32_t place = -1, number = -1;
    fusec_device_info info = FUSEC_DEVICE_INFO_INIT;
    FC_ASSERT_OK_TEXT(fusec_event_new(ctx, &a), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_event_new(ctx, &b), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_host_alloc(ctx, sizeof x, &host), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_device_alloc(ctx, sizeof x, &device), fusec_message(ctx));
    FC_EXPECT_EQ_I64(fusec_event_elapsed(a, b, &seconds), FUSEC_INVALID);
    FC_EXPECT_OK_TEXT(fusec_event_record(a, NULL), fusec_message(ctx));
    memcpy(host, x, sizeof x);
    FC_EXPECT_OK_TEXT(fusec_upload_on(ctx, NULL, device, host, sizeof x), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_download_on(ctx, NULL, y, device, sizeof y), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_event_record(b, NULL), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_event_wait(a, NULL), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_stream_wait(ctx, NULL, NULL), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_event_synchronize(b), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_event_elapsed(a, b, &seconds), fusec_message(ctx));
    FC_EXPECT_TRUE(seconds >= 0 && memcmp(x, y, sizeof x) == 0);
    FC_EXPECT_OK_TEXT(fusec_place_of(ctx, device, &place, &number), fusec_message(ctx));
    FC_EXPECT_EQ_I64(place, gpu ? FUSEC_CUDA : FUSEC_HOST);
    FC_EXPECT_EQ_I64(number, 0);
    FC_EXPECT_OK_TEXT(fusec_place_of(ctx, x, &place, NULL), fusec_message(ctx));
    FC_EXPECT_EQ_I64(place, FUSEC_HOST);
    FC_EXPECT_OK_TEXT(fusec_memory_trim(ctx, 0), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_get_device_info(ctx, &info), fusec_message(ctx));
    FC_EXPECT_TRUE(info.name[0] && info.text[0] && (gpu ? info.multiprocessors : info.threads) > 0);
    FC_EXPECT_EQ_I64(info.kind == FUSEC_DEVICE_CUDA, gpu);
    fusec_device_free(ctx, device);
    fusec_host_free(ctx, host);
    fusec_event_free(a);
    fusec_event_free(b);
}

FC_TEST(capi_streams, interp) {
    CAPI_START();
    use_all(ctx, false);
    CAPI_END();
}

FC_TEST(capi_streams, cpu) {
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("no CPU device");
    use_all(ctx, false);
    fusec_context_free(ctx);
}

FC_TEST(capi_streams, misuse) {
    CAPI_START();
    fusec_event *v = NULL;
    void *p = ctx;
    double seconds;
    int32_t place;
    fusec_device_info info = FUSEC_DEVICE_INFO_INIT;
    FC_EXPECT_EQ_I64(fusec_event_new(NULL, &v), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_event_new(ctx, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_event_record(NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_event_wait(NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_event_synchronize(NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_event_elapsed(NULL, NULL, &seconds), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_stream_wait(NULL, NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_host_alloc(ctx, SIZE_MAX, &p), FUSEC_LIMIT);
    FC_EXPECT_TRUE(p == NULL);
    FC_EXPECT_EQ_I64(fusec_host_alloc(NULL, 1, &p), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_host_alloc(ctx, 1, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_upload_on(ctx, NULL, NULL, &place, 4), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_download_on(NULL, NULL, NULL, NULL, 0), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_place_of(ctx, p, NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_place_of(NULL, p, &place, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_memory_trim(NULL, 0), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_get_device_info(ctx, NULL), FUSEC_INVALID);
    info.size = 4;
    FC_EXPECT_EQ_I64(fusec_get_device_info(ctx, &info), FUSEC_INVALID);
    fusec_event_free(NULL);
    fusec_host_free(NULL, NULL);
    CAPI_END();
}

/* ---- the driver made for tests --------------------------------------------------------------- */

static fusec_status once(fusec_context *ctx, void *device) {
    fusec_event *v = NULL;
    void *host = NULL;
    int32_t place;
    double seconds;
    fusec_status s = fusec_event_new(ctx, &v);
    if (!s) s = fusec_event_record(v, NULL);
    if (!s) s = fusec_event_wait(v, NULL);
    if (!s) s = fusec_event_synchronize(v);
    if (!s) s = fusec_event_elapsed(v, v, &seconds);
    if (!s) s = fusec_host_alloc(ctx, 64, &host);
    if (!s) s = fusec_upload_on(ctx, NULL, device, host, 64);
    if (!s) s = fusec_place_of(ctx, device, &place, NULL);
    if (!s) s = fusec_memory_trim(ctx, 0);
    fusec_host_free(ctx, host);
    fusec_event_free(v);
    return s;
}

FC_TEST(capi_streams, a_driver_that_fails) {
    static const char *const calls[] = {
        "cuEventCreate",        "cuEventRecord",         "cuStreamWaitEvent",
        "cuEventSynchronize",   "cuEventElapsedTime",    "cuMemAllocHost_v2",
        "cuMemcpyHtoDAsync_v2", "cuPointerGetAttribute", "cuMemPoolSetAttribute"};
    fake_machine m;
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    fusec_context *ctx = NULL;
    void *device = NULL;
    FC_ASSERT_OK_TEXT(capi_open_full("cuda", 1, &ctx), fusec_message(NULL));
    use_all(ctx, true);
    FC_ASSERT_OK_TEXT(fusec_device_alloc(ctx, 64, &device), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(once(ctx, device), fusec_message(ctx));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        FC_TRACE("%s", calls[i]);
        m.fake->fail_in = calls[i];
        m.fake->fail_at = 1;
        m.fake->result = 801; /* not supported: the device stays */
        const long fired = m.fake->fired;
        FC_EXPECT_EQ_I64(once(ctx, device), FUSEC_DRIVER);
        FC_EXPECT_EQ_I64(m.fake->fired, fired + 1);
        m.fake->fail_at = 0;
        FC_EXPECT_OK_TEXT(once(ctx, device), fusec_message(ctx));
        FC_UNTRACE();
    }
    fusec_device_free(ctx, device);
    fusec_context_free(ctx);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}
