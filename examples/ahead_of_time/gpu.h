/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu.h - as much of the CUDA driver as a small program needs, found when it runs: no toolkit, no
 * header of CUDA and no compiler but cc. A program that has the CUDA runtime uses that instead. */
#ifndef GPU_H
#define GPU_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long gpu_address;

static struct {
    int (*init)(unsigned flags);
    int (*device)(int *device, int number);
    int (*name)(char *name, int size, int device);
    int (*context)(void **context, int device);
    int (*current)(void *context);
    int (*alloc)(gpu_address *p, size_t bytes);
    int (*free)(gpu_address p);
    int (*upload)(gpu_address to, const void *from, size_t bytes, void *stream);
    int (*download)(void *to, gpu_address from, size_t bytes, void *stream);
    int (*stream)(void **stream, unsigned flags);
    int (*wait)(void *stream);
    int (*event)(void **event, unsigned flags);
    int (*record)(void *event, void *stream);
    int (*elapsed)(float *ms, void *from, void *to);
} gpu;

/* The first device, its primary context current, and a stream; 0, or why not on standard error. */
static int gpu_start(void **stream) {
    static const char *const names[] = {"cuInit",
                                        "cuDeviceGet",
                                        "cuDeviceGetName",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuCtxSetCurrent",
                                        "cuMemAlloc_v2",
                                        "cuMemFree_v2",
                                        "cuMemcpyHtoDAsync_v2",
                                        "cuMemcpyDtoHAsync_v2",
                                        "cuStreamCreate",
                                        "cuStreamSynchronize",
                                        "cuEventCreate",
                                        "cuEventRecord",
                                        "cuEventElapsedTime"};
    enum { N = sizeof names / sizeof *names };
    void *found[N], *lib = dlopen("libcuda.so.1", RTLD_NOW), *context;
    char name[128] = "";
    int device;
    for (int i = 0; i < N; i++)
        if (!lib || !(found[i] = dlsym(lib, names[i]))) {
            fprintf(stderr, "no CUDA driver: %s\n", dlerror());
            return 1;
        }
    memcpy(&gpu, found, sizeof gpu);
    if (gpu.init(0) || gpu.device(&device, 0) || gpu.name(name, sizeof name, device) ||
        gpu.context(&context, device) || gpu.current(context) || gpu.stream(stream, 1)) {
        fprintf(stderr, "no GPU\n");
        return 1;
    }
    printf("%s\n", name);
    return 0;
}

static void *gpu_new(size_t bytes) {
    gpu_address p = 0;
    return bytes && !gpu.alloc(&p, bytes) ? (void *)(size_t)p : NULL;
}
static void gpu_delete(void *p) {
    if (p) gpu.free((gpu_address)(size_t)p);
}

#endif
