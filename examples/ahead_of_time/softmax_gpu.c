/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* softmax_gpu.c - softmax by an object that `fusec build` made, on the processor and on a GPU, with
 * neither fusec nor a compiler of CUDA:
 *
 *     fusec build examples/softmax.fuse -o code/ --device cuda --arch x86-64-v3,sm_90
 *     cc -O2 examples/ahead_of_time/softmax_gpu.c code/softmax.o -Icode -lm -ldl -o softmax_gpu
 *     ./softmax_gpu             (--check: without the times)
 *
 * The results are the same to the bit for sizes of all kinds; then calls are timed. Exit code 0
 * says that all is right. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "gpu.h"
#include "softmax.h"

static softmax_cuda *cuda;
static void *stream;

/* Arrays on the GPU, of which the first one begins `apart` elements into its memory. */
typedef struct arrays {
    float *memory, *x, *out;
    void *scratch;
} arrays;

static int make(arrays *a, int64_t outer, int64_t n, int apart) {
    const size_t bytes = (size_t)(outer * n) * sizeof(float);
    size_t scratch = 0;
    if (softmax_softmax_f32_cuda_scratch(cuda, outer, n, &scratch)) return 1;
    a->memory = gpu_new(bytes + 64);
    a->x = a->memory + apart;
    a->out = gpu_new(bytes);
    a->scratch = gpu_new(scratch);
    return !a->memory || !a->out || (scratch && !a->scratch);
}

static void drop(arrays *a) {
    gpu_delete(a->memory);
    gpu_delete(a->out);
    gpu_delete(a->scratch);
}

static int on_gpu(int64_t outer, int64_t n, int apart, const float *x, float *out) {
    const size_t bytes = (size_t)(outer * n) * sizeof(float);
    arrays a = {0};
    const int bad =
        make(&a, outer, n, apart) || gpu.upload((gpu_address)(size_t)a.x, x, bytes, stream) ||
        softmax_softmax_f32_cuda(cuda, stream, outer, n, a.x, a.out, a.scratch) ||
        gpu.download(out, (gpu_address)(size_t)a.out, bytes, stream) || gpu.wait(stream);
    drop(&a);
    return bad;
}

/* 0: the processor and the GPU differ by rounding of exp alone, and the GPU has the same bits
 * wherever arrays lie, though other code may run. */
static int compare(int64_t outer, int64_t n) {
    const size_t bytes = (size_t)(outer * n) * sizeof(float);
    float *x = malloc(bytes), *here = malloc(bytes), *there = malloc(bytes), *apart = malloc(bytes);
    int bad = !x || !here || !there || !apart;
    for (int64_t i = 0; !bad && i < outer * n; i++) x[i] = (float)(i * 7919 % 1000) / 50 - 10;
    if (!bad)
        bad = softmax_softmax_f32(NULL, outer, n, x, here) || on_gpu(outer, n, 0, x, there) ||
              on_gpu(outer, n, 1, x, apart);
    if (bad) printf("%lld x %lld: %s\n", (long long)outer, (long long)n, softmax_cuda_message());
    for (int64_t i = 0; !bad && i < outer * n; i++) {
        const float d = here[i] - there[i];
        bad = !(d * d <= 1e-12f * here[i] * here[i]) || memcmp(&there[i], &apart[i], 4) != 0;
        if (bad)
            printf("%lld x %lld: element %lld is %.9g on the processor, %.9g and %.9g on the GPU\n",
                   (long long)outer, (long long)n, (long long)i, here[i], there[i], apart[i]);
    }
    free(x), free(here), free(there), free(apart);
    return bad;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int measure(int64_t outer, int64_t n, int calls) {
    arrays a = {0};
    void *from, *to;
    float ms = 0;
    if (make(&a, outer, n, 0) || gpu.event(&from, 0) || gpu.event(&to, 0)) return 1;
    int bad = softmax_softmax_f32_cuda(cuda, stream, outer, n, a.x, a.out, a.scratch);
    bad |= gpu.wait(stream) | gpu.record(from, stream);
    const double start = now();
    for (int i = 0; i < calls; i++)
        bad |= softmax_softmax_f32_cuda(cuda, stream, outer, n, a.x, a.out, a.scratch);
    const double enqueued = now() - start;
    bad |= gpu.record(to, stream) | gpu.wait(stream) | gpu.elapsed(&ms, from, to);
    printf("%lld x %lld: %.2f us a call to enqueue, %.2f us on the GPU, %.0f GB/s\n",
           (long long)outer, (long long)n, enqueued / calls * 1e6, (double)ms * 1e3 / calls,
           8e-6 * (double)(outer * n) * calls / (double)ms);
    drop(&a);
    return bad;
}

int main(int argc, char **argv) {
    const int timed = argc < 2 || strcmp(argv[1], "--check") != 0;
    static const int64_t sizes[][2] = {{1, 1},     {3, 7},     {64, 33},    {128, 100},
                                       {7, 1000},  {33, 1024}, {1000, 257}, {5, 20000},
                                       {1, 65536}, {2, 300000}};
    int bad = 0;
    if (gpu_start(&stream)) return 2;
    if (softmax_cuda_open(&cuda)) {
        printf("%s\n", softmax_cuda_message());
        return 2;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        bad += compare(sizes[i][0], sizes[i][1]) != 0;
    printf("%d of %d sizes wrong\n", bad, (int)(sizeof sizes / sizeof *sizes));
    if (timed) bad += measure(8, 128, 1000) + measure(8192, 4096, 20);
    softmax_cuda_close(cuda);
    return bad != 0;
}
