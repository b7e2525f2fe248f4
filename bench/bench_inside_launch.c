/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_inside_launch.c - what a launch costs by itself: kernels that do nothing, with a block of
 * parameters as ours have it, straight through the driver; one by one and as a CUDA graph. The
 * host's time of giving work to a stream; bench_calls cuda measures the same for whole programs. */
#include <stdio.h>
#include <time.h>

#include "runtime/cuda/driver.h"
#include "runtime/compile/nvrtc.h"

enum { WORDS = 24, ROUNDS = 40 };

static const char source[] = "struct P { long long w[24]; };\n"
                             "extern \"C\" __global__ void empty(const __grid_constant__ P p) {\n"
                             "    if (p.w[0] == 1) *(long long *)p.w[1] = 0;\n"
                             "}\n";

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct setup {
    fc_cuda *c;
    fc_cu_context ctx;
    fc_cu_stream stream;
    fc_cu_function f;
    fc_cuda_grid grid;
} setup;

static fusec_status prepare(setup *s, fc_error *e) {
    fc_cuda_info info;
    fc_nvrtc *n;
    fc_bytes cubin = {0};
    fc_cu_module m;
    char arch[16];
    fc_nvrtc_options o = {.arch = arch};
    FC_TRY(fc_cuda_open(&fc_libc_alloc, &s->c, e));
    FC_TRY(fc_cuda_device(s->c, 0, &info, e));
    FC_TRY(fc_cuda_retain(s->c, info.device, &s->ctx, e));
    FC_TRY(fc_cuda_push(s->c, s->ctx, e));
    FC_TRY(fc_cuda_stream_create(s->c, &s->stream, e));
    FC_TRY(fc_nvrtc_open(&fc_libc_alloc, &n, e));
    if (!fc_nvrtc_best_arch(n, info.cc, arch, &o.kind))
        return fc_fail(e, FUSEC_NVRTC_SETUP, "arch");
    FC_TRY(fc_nvrtc_compile(n, source, "empty.cu", &o, &cubin, e));
    FC_TRY(fc_cuda_load(s->c, cubin.data, &m, NULL, e));
    FC_TRY(fc_cuda_function(s->c, m, "empty", &s->f, e));
    s->grid = (fc_cuda_grid){.grid = {8, 1, 1}, .block = {128, 1, 1}};
    return FUSEC_OK;
}

/* Best host time of `count` launches in a row. */
static fusec_status raw(setup *s, int count, double *best, fc_error *e) {
    int64_t words[WORDS] = {0};
    size_t bytes = sizeof words;
    void *extra[] = {(void *)1, words, (void *)2, &bytes, NULL};
    *best = 1e9;
    for (int r = 0; r < ROUNDS; r++) {
        double start = now();
        for (int i = 0; i < count; i++)
            FC_TRY(fc_cuda_result(
                s->c, s->c->fn.launch(s->f, 8, 1, 1, 128, 1, 1, 0, s->stream, NULL, extra),
                "cuLaunchKernel", e));
        double t = (now() - start) / count;
        if (t < *best) *best = t;
        FC_TRY(fc_cuda_stream_sync(s->c, s->stream, e));
    }
    return FUSEC_OK;
}

static fusec_status graph(setup *s, uint32_t kernels, bool set, double *best, fc_error *e) {
    int64_t words[WORDS] = {0};
    fc_cu_function f[16];
    fc_cuda_grid g[16];
    void *args[16];
    fc_cuda_graph *x;
    for (uint32_t i = 0; i < kernels; i++) f[i] = s->f, g[i] = s->grid, args[i] = words;
    FC_TRY(fc_cuda_graph_make(s->c, kernels, f, g, args, &x, e));
    *best = 1e9;
    for (int r = 0; r < ROUNDS; r++) {
        double start = now();
        for (int i = 0; i < 64; i++) {
            for (uint32_t k = 0; set && k < kernels; k++) FC_TRY(fc_cuda_graph_set(x, k, words, e));
            FC_TRY(fc_cuda_graph_launch(x, s->stream, e));
        }
        double t = (now() - start) / 64;
        if (t < *best) *best = t;
        FC_TRY(fc_cuda_stream_sync(s->c, s->stream, e));
    }
    fc_cuda_graph_free(x);
    return FUSEC_OK;
}

static fusec_status measure(fc_error *e) {
    setup s = {0};
    double t;
    FC_TRY(prepare(&s, e));
    FC_TRY(raw(&s, 64, &t, e));
    printf("64 launches in a row   %7.0f ns each\n", 1e9 * t);
    FC_TRY(raw(&s, 640, &t, e));
    printf("640 launches in a row  %7.0f ns each\n", 1e9 * t);
    FC_TRY(graph(&s, 10, false, &t, e));
    printf("graph of 10            %7.0f ns\n", 1e9 * t);
    FC_TRY(graph(&s, 10, true, &t, e));
    printf("the same, all blocks set %5.0f ns\n", 1e9 * t);
    return FUSEC_OK;
}

int main(void) {
    fc_error e = {0};
    if (!measure(&e)) return 0;
    fprintf(stderr, "%s\n", e.message);
    return 1;
}
