/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu.c - a stream, events, copies and an empty kernel in the context that fusec uses too: the
 * device's primary one. */
#include "bench/support/bench.h"

#include <stdlib.h>

#include "runtime/cuda/driver.h"

struct bench_gpu {
    fc_alloc alloc;
    fc_cuda *cuda;
    fc_cuda_info info;
    fc_cu_context ctx;
    fc_cu_stream stream;
    fc_cu_event event[2];
    fc_cu_module module;
    fc_cu_function nothing;
};

/* With a block of parameters as the library's kernels have it. */
enum { BLOCK = 144 };
static const char nothing_ptx[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
                                  ".visible .entry nothing(.param .align 8 .b8 p[144]) { ret; }\n";

static void must(bench_gpu *g, int result, const char *what) {
    fc_error e = {0};
    if (result && fc_cuda_result(g->cuda, result, what, &e)) bench_fail("%s", e.message);
}

bench_gpu *bench_gpu_open(void) {
    bench_gpu *g = bench_calloc(1, sizeof *g);
    fc_error e = {0};
    g->alloc = fc_libc_alloc;
    if (fc_cuda_open(&g->alloc, &g->cuda, &e) || fc_cuda_device(g->cuda, 0, &g->info, &e) ||
        fc_cuda_retain(g->cuda, g->info.device, &g->ctx, &e) || fc_cuda_push(g->cuda, g->ctx, &e) ||
        fc_cuda_load(g->cuda, nothing_ptx, &g->module, NULL, &e) ||
        fc_cuda_function(g->cuda, g->module, "nothing", &g->nothing, &e))
        bench_fail("%s", e.message);
    must(g, g->cuda->fn.stream_create(&g->stream, 1), "stream");
    for (int i = 0; i < 2; i++) must(g, g->cuda->fn.event_create(&g->event[i], 0), "event");
    return g;
}

void bench_gpu_close(bench_gpu *g) {
    if (!g) return;
    bench_gpu_sync(g);
    for (int i = 0; i < 2; i++) g->cuda->fn.event_destroy(g->event[i]);
    g->cuda->fn.stream_destroy(g->stream);
    fc_cuda_unload(g->cuda, g->module);
    fc_cuda_pop(g->cuda);
    fc_cuda_release(g->cuda, g->info.device);
    fc_cuda_close(g->cuda);
    free(g);
}

void *bench_gpu_stream(bench_gpu *g) {
    return g->stream;
}

void bench_gpu_mark(bench_gpu *g, int which) {
    must(g, g->cuda->fn.event_record(g->event[which], g->stream), "event");
}

double bench_gpu_elapsed(bench_gpu *g) {
    float ms = 0;
    must(g, g->cuda->fn.event_sync(g->event[1]), "waiting");
    must(g, g->cuda->fn.event_elapsed(&ms, g->event[0], g->event[1]), "elapsed time");
    return ms * 1e-3;
}

void bench_gpu_sync(bench_gpu *g) {
    must(g, g->cuda->fn.stream_sync(g->stream), "waiting");
}

void bench_gpu_copy(bench_gpu *g, void *to, const void *from, size_t bytes) {
    must(g,
         g->cuda->fn.copy_d2d_async((fc_cu_ptr)(uintptr_t)to, (fc_cu_ptr)(uintptr_t)from, bytes,
                                    g->stream),
         "copy");
}

void bench_gpu_empty(bench_gpu *g) {
    int64_t block[BLOCK / 8] = {0};
    size_t bytes = sizeof block;
    void *extra[] = {(void *)1, block, (void *)2, &bytes, NULL};
    must(g, g->cuda->fn.launch(g->nothing, 1, 1, 1, 128, 1, 1, 0, g->stream, NULL, extra),
         "launch");
}

int64_t bench_gpu_l2(bench_gpu *g) {
    return g->info.l2_bytes;
}

const char *bench_gpu_name(bench_gpu *g) {
    return g->info.name;
}
