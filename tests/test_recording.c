/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_recording.c - calls on a stream that its owner records into a CUDA graph
 * (cuStreamBeginCapture) and replays: the first call of a program or a later one, with scratch and
 * without, whatever the recording allows other calls of the thread. On a GPU; behind the fake
 * driver: fake_cuda.*. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <fusec/fusec.h>

#include "ir/base.h"
#include "tests/support/capi.h"
#include "tests/support/test.h"

enum { N = 1 << 20, MODES = 3 /* global, of the thread, relaxed */ };

/* What the library itself has no use for. */
typedef struct driver {
    void *lib;
    int (*get_device)(int *d, int ordinal);
    int (*retain)(void **ctx, int d);
    int (*release)(int d);
    int (*set_current)(void *ctx);
    int (*stream_create)(void **s, unsigned flags);
    int (*stream_destroy)(void *s);
    int (*stream_sync)(void *s);
    int (*begin)(void *s, int mode);
    int (*end)(void *s, void **graph);
    int (*instantiate)(void **exec, void *graph, unsigned long long flags);
    int (*launch)(void *exec, void *s);
    int (*exec_destroy)(void *exec);
    int (*graph_destroy)(void *graph);
} driver;

static bool find(driver *d) {
    static const char *const names[] = {"cuDeviceGet",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuDevicePrimaryCtxRelease_v2",
                                        "cuCtxSetCurrent",
                                        "cuStreamCreate",
                                        "cuStreamDestroy_v2",
                                        "cuStreamSynchronize",
                                        "cuStreamBeginCapture_v2",
                                        "cuStreamEndCapture",
                                        "cuGraphInstantiateWithFlags",
                                        "cuGraphLaunch",
                                        "cuGraphExecDestroy",
                                        "cuGraphDestroy"};
    void *at[FC_COUNT(names)];
    d->lib = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < FC_COUNT(names); i++)
        if (!d->lib || !(at[i] = dlsym(d->lib, names[i]))) return false;
    memcpy((char *)d + offsetof(driver, get_device), at, sizeof at);
    return true;
}

typedef struct recording {
    driver d;
    fusec_context *ctx;
    void *cu, *stream;
    float *host;
    void *x, *y;
} recording;

static bool start(recording *r) {
    int device = 0;
    memset(r, 0, sizeof *r);
    r->ctx = capi_device("cuda");
    if (!r->ctx || !find(&r->d)) return false;
    r->host = malloc(N * sizeof *r->host);
    for (int i = 0; i < N; i++) r->host[i] = (float)(i % 64);
    return !r->d.get_device(&device, 0) && !r->d.retain(&r->cu, device) &&
           !r->d.set_current(r->cu) && !r->d.stream_create(&r->stream, 1) &&
           !fusec_device_alloc(r->ctx, N * sizeof(float), &r->x) &&
           !fusec_device_alloc(r->ctx, N * sizeof(float), &r->y) &&
           !fusec_upload(r->ctx, r->x, r->host, N * sizeof(float));
}

static void finish(recording *r) {
    if (r->stream) r->d.stream_destroy(r->stream);
    fusec_device_free(r->ctx, r->x);
    fusec_device_free(r->ctx, r->y);
    fusec_context_free(r->ctx);
    if (r->cu) r->d.set_current(NULL);
    if (r->cu) r->d.release(0);
    if (r->d.lib) dlclose(r->d.lib);
    free(r->host);
}

/* y = exp(sin(x)*cos(x)), or y = x - sum(x), which needs scratch. */
static fusec_program *compile(recording *r, bool sum) {
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    FC_EXPECT_OK_TEXT(fusec_graph_new(r->ctx, &g), fusec_message(r->ctx));
    fusec_dim n = fusec_sym(g, "n");
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 1, &n);
    fusec_output(g, "y",
                 sum ? fusec_sub(x, fusec_sum(x, 0, NULL, 0))
                     : fusec_exp(fusec_mul(fusec_sin(x), fusec_cos(x))));
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(r->ctx));
    fusec_graph_free(g);
    return p;
}

static void call(recording *r, fusec_program *p) {
    static const int64_t n = N;
    fusec_tensor in = {.data = r->x,
                       .shape = &n,
                       .rank = 1,
                       .dtype = FUSEC_F32,
                       .place = FUSEC_DEVICE},
                 out = in;
    out.data = r->y;
    FC_EXPECT_OK_TEXT(fusec_run_on(p, r->stream, 1, &in, 1, &out), fusec_message(r->ctx));
}

/* The results of a call, from the device. */
static float *results(recording *r, float *to) {
    FC_EXPECT_EQ_I64(r->d.stream_sync(r->stream), 0);
    FC_EXPECT_OK_TEXT(fusec_download(r->ctx, to, r->y, N * sizeof *to), fusec_message(r->ctx));
    FC_EXPECT_OK_TEXT(fusec_upload(r->ctx, r->y, r->host, N * sizeof *to), /* nothing of it stays */
                      fusec_message(r->ctx));
    return to;
}

/* Call number `number` is recorded; then others are made, and the recording is replayed. */
static void record(recording *r, bool sum, int number, int mode, float *now, float *replayed) {
    void *graph = NULL, *exec = NULL;
    fusec_program *p = compile(r, sum);
    for (int i = 1; i < number; i++) call(r, p);
    FC_EXPECT_EQ_I64(r->d.stream_sync(r->stream), 0);
    FC_EXPECT_EQ_I64(r->d.begin(r->stream, mode), 0);
    call(r, p);
    FC_EXPECT_EQ_I64(r->d.end(r->stream, &graph), 0);
    for (int i = 0; i < 3; i++) call(r, p);
    results(r, now);
    FC_EXPECT_EQ_I64(r->d.instantiate(&exec, graph, 0), 0);
    for (int i = 0; i < 2; i++) {
        FC_EXPECT_EQ_I64(r->d.launch(exec, r->stream), 0);
        FC_EXPECT_MEMEQ(now, results(r, replayed), N * sizeof *now);
    }
    if (exec) r->d.exec_destroy(exec);
    if (graph) r->d.graph_destroy(graph);
    fusec_program_free(p);
}

FC_TEST(recording, of_any_call_of_a_program_cuda) {
    recording r;
    if (!start(&r)) {
        finish(&r);
        FC_SKIP("there is no GPU");
    }
    float *now = malloc(N * sizeof *now), *replayed = malloc(N * sizeof *now);
    for (int number = 1; number <= 4; number++)
        for (int mode = 0; mode < MODES; mode++)
            for (int sum = 0; sum < 2; sum++) record(&r, sum, number, mode, now, replayed);
    free(now);
    free(replayed);
    finish(&r);
}
