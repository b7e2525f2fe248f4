/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_cuda.h - what the parts of the CUDA device share: device_cuda.c opens and closes it,
 * device_cuda_memory.c is its memory, device_cuda_code.c what it compiles and launches,
 * device_cuda_fft.c its Fourier transforms. */
#ifndef FUSEC_RUNTIME_CUDA_DEVICE_CUDA_H
#define FUSEC_RUNTIME_CUDA_DEVICE_CUDA_H

#include "runtime/cuda/driver.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/device.h"

#include <pthread.h>
#include <stdatomic.h>

enum { FC_CUDA_EARLY = 16 };

typedef struct fc_gpu {
    fc_device base;
    fc_device_ops ops;
    fc_cuda *cuda; /* NULL: offline */
    fc_cuda_info info;
    fc_cu_context ctx;
    fc_cu_stream stream;
    pthread_mutex_t lock; /* nvrtc; shared memory of kernels */
    fc_nvrtc *nvrtc;
    char nvrtc_path[512]; /* what will be loaded; "" when only the linker knows */
    long long nvrtc_size; /* of that file: an update behind the same name differs in it */
    bool searched;
    pthread_mutex_t fft_lock; /* the three below, and their use */
    struct fc_cufft *cufft;   /* NULL: none, or not searched yet */
    bool cufft_searched;
    char no_cufft[400]; /* what was looked for */
    char refused[200];  /* the last plan that cuFFT did not make */
    int cc;
    char arch[16];
    fc_nvrtc_kind kind;
    atomic_bool settled; /* memory comes from the pool (device_cuda_memory.c) */
    atomic_uint allocated;
    _Atomic(fc_cu_ptr) early[FC_CUDA_EARLY]; /* what did not, and has not been freed */
} fc_gpu;

static inline fc_gpu *fc_gpu_of(fc_device *d) {
    return (fc_gpu *)d;
}

/* Makes the device's context current; a push for each pop. */
fusec_status fc_gpu_enter(fc_gpu *c, fc_error *e);
void fc_gpu_leave(fc_gpu *c);
fusec_status fc_gpu_offline(const fc_gpu *c, fc_error *e);

/* The caller's stream, or the device's own. */
static inline fc_cu_stream fc_gpu_stream(fc_gpu *c, fc_stream s) {
    if (!s) return c->stream;
    if (!atomic_load_explicit(&c->settled, memory_order_relaxed)) atomic_store(&c->settled, true);
    return (fc_cu_stream)s;
}

/* Their parts of fc_device_ops and of the hooks. */
extern const struct fc_device_streams fc_gpu_streams;
extern const struct fc_device_fft fc_gpu_fft;
void fc_gpu_memory_ops(fc_device_ops *ops);
void fc_gpu_code_ops(fc_device_ops *ops);
bool fc_gpu_memory(fc_device *d, uint64_t *free_bytes, uint64_t *total);
bool fc_gpu_memory_stats(fc_device *d, fc_memory_stats *out);
fusec_status fc_gpu_trim(fc_device *d, uint64_t keep, fc_error *e);
fusec_status fc_gpu_ready(fc_device *d, fc_error *e);

#endif
