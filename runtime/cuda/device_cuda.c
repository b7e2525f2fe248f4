/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_cuda.c - a CUDA GPU through the driver and NVRTC, both found at run time.
 *
 * Every entry makes the device's primary context current and puts back what the caller had. Work is
 * ordered on the caller's stream or on the device's own. An offline device has no driver: it
 * compiles for an architecture and runs nothing. */
#include "runtime/cuda/device_cuda.h"

#include "runtime/cuda/cufft.h"

/* Operations of one SM that take half a millisecond or more; quick code takes up to ten times as
 * long, and is there 10 to 100 ms earlier. */
enum { QUICK_WORK = 1 << 28 };

fusec_status fc_gpu_offline(const fc_gpu *c, fc_error *e) {
    return fc_fail(e, FUSEC_NO_GPU, "%s compiles only: there is no such GPU here", c->base.name);
}

fusec_status fc_gpu_enter(fc_gpu *c, fc_error *e) {
    if (!c->cuda) return fc_gpu_offline(c, e);
    return fc_cuda_push(c->cuda, c->ctx, e);
}

void fc_gpu_leave(fc_gpu *c) {
    fc_cuda_pop(c->cuda);
}

enum { LANES = 128 }; /* instructions of a thread that an SM issues a clock: four warps */

static void close_device(fc_device *d) {
    fc_gpu *c = fc_gpu_of(d);
    if (c->cuda) {
        if (c->stream && !fc_gpu_enter(c, NULL)) {
            fc_cuda_stream_sync(c->cuda, c->stream, NULL);
            fc_cuda_stream_destroy(c->cuda, c->stream);
            fc_gpu_leave(c);
        }
        if (c->ctx) fc_cuda_release(c->cuda, c->info.device);
        fc_cuda_close(c->cuda);
    }
    fc_nvrtc_close(c->nvrtc);
    fc_cufft_close(c->cufft);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->fft_lock);
    fc_free(d->alloc, c);
}
static fusec_status alive(fc_device *d, fc_error *e) {
    const fc_gpu *c = fc_gpu_of(d);
    return c->cuda ? fc_cuda_alive(c->cuda, e) : FUSEC_OK;
}
static const struct fc_device_hooks hooks = {.streams = &fc_gpu_streams,
                                             .fft = &fc_gpu_fft,
                                             .close = close_device,
                                             .memory = fc_gpu_memory,
                                             .memory_stats = fc_gpu_memory_stats,
                                             .trim = fc_gpu_trim,
                                             .ready = fc_gpu_ready,
                                             .alive = alive};

static fc_gpu *make(const fc_alloc *a, int cc) {
    fc_gpu *c = fc_calloc(a, 1, sizeof *c);
    if (!c) return NULL;
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->fft_lock, NULL);
    c->cc = cc;
    c->base.alloc = a;
    fc_gpu_memory_ops(&c->ops);
    fc_gpu_code_ops(&c->ops);
    c->base.ops = &c->ops;
    c->base.hooks = &hooks;
    c->base.target = &fc_cuda_target;
    c->base.machine.target = FC_TARGET_CUDA;
    c->base.kind = FC_DEV_CUDA;
    c->base.kernels_together = true;
    return c;
}

static void set_machine(fc_gpu *c) {
    fc_machine *m = &c->base.machine;
    m->sm_major = c->cc / 10;
    m->sm_minor = c->cc % 10;
    m->sm_count = c->info.sm_count;
    c->base.quick_work = QUICK_WORK * (double)c->info.sm_count;
    m->max_threads_per_sm = c->info.max_threads_per_sm;
    m->shared_per_block = c->info.shared_per_block_optin;
    m->together = c->info.together;
    m->clusters = c->info.clusters;
    m->cache = c->info.l2_bytes > 0 ? (size_t)c->info.l2_bytes : 0;
}

static void print_to(char *to, size_t size, const fc_alloc *a, const char *fmt, ...)
    FC_PRINTF(4, 5);
static void print_to(char *to, size_t size, const fc_alloc *a, const char *fmt, ...) {
    fc_str s;
    va_list ap;
    fc_str_init(&s, a);
    va_start(ap, fmt);
    fc_str_vprintf(&s, fmt, ap);
    va_end(ap);
    size_t n = s.len < size - 1 ? s.len : size - 1;
    memcpy(to, s.data, n);
    to[n] = 0;
    fc_str_free(&s);
}

static fusec_status open_on(fc_gpu *c, int ordinal, fc_error *e) {
    FC_TRY(fc_cuda_open(c->base.alloc, &c->cuda, e));
    if (ordinal >= c->cuda->n_devices)
        return fc_fail(e, FUSEC_NO_GPU, "there is no cuda:%d: the driver shows %d device%s",
                       ordinal, c->cuda->n_devices, c->cuda->n_devices == 1 ? "" : "s");
    FC_TRY(fc_cuda_device(c->cuda, ordinal, &c->info, e));
    FC_TRY(fc_cuda_retain(c->cuda, c->info.device, &c->ctx, e));
    c->cc = c->info.cc;
    set_machine(c);
    FC_TRY(fc_gpu_enter(c, e));
    fusec_status s = fc_cuda_stream_create(c->cuda, &c->stream, e);
    if (!s && c->info.memory_pools) fc_cuda_keep_memory(c->cuda, c->info.device, UINT64_MAX, NULL);
    fc_gpu_leave(c);
    if (s) return s;
    c->base.ordinal = ordinal;
    /* double data rate: two transfers a clock */
    c->base.bandwidth = 2e3 * c->info.memory_clock_khz * (c->info.memory_bus_bits / 8.0);
    c->base.slots = LANES * 1e3 * c->info.clock_khz * c->info.sm_count;
    print_to(c->base.name, sizeof c->base.name, c->base.alloc, "cuda:%d", ordinal);
    print_to(c->base.text, sizeof c->base.text, c->base.alloc, "%s, sm_%d, %d SMs", c->info.name,
             c->cc, c->info.sm_count);
    return FUSEC_OK;
}

fusec_status fc_device_open_cuda(const fc_alloc *a, int ordinal, const char *places,
                                 fc_device **out, fc_error *e) {
    fc_gpu *c = make(a, 0);
    if (!c) return fc_oom(e);
    fusec_status s = open_on(c, ordinal, e);
    if (s) {
        close_device(&c->base);
        return s;
    }
    c->base.places = places;
    *out = &c->base;
    return FUSEC_OK;
}

/* The machine that an architecture stands for: A100 80 GB, H200, B200, by their data sheets. */
static double usual_bandwidth(int cc) {
    return cc == 80 ? 2.0e12 : cc == 90 ? 4.8e12 : cc == 100 ? 8.0e12 : 0;
}
static double usual_slots(int cc) {
    return LANES * (cc == 80    ? 108 * 1.41e9
                    : cc == 90  ? 132 * 1.98e9
                    : cc == 100 ? 148 * 1.97e9
                                : 0);
}

/* Sizes of the class of machine that the architecture stands for; they shape launches, never
 * results. */
fusec_status fc_device_open_cuda_offline(const fc_alloc *a, int cc, fc_device **out, fc_error *e) {
    fc_gpu *c = make(a, cc);
    if (!c) return fc_oom(e);
    c->info.sm_count = 132;
    c->info.l2_bytes = cc >= 100 ? 120 << 20 : cc >= 90 ? 60 << 20 : 40 << 20;
    c->info.max_threads_per_sm = 2048;
    c->info.together = true;
    c->info.clusters = cc >= 90;
    c->info.shared_per_block_optin = cc >= 90 && cc < 120 ? 227 * 1024 : 99 * 1024;
    set_machine(c);
    print_to(c->base.name, sizeof c->base.name, a, "sm_%d", cc);
    c->base.bandwidth = usual_bandwidth(cc);
    c->base.slots = usual_slots(cc);
    if (c->base.bandwidth > 0)
        print_to(c->base.text, sizeof c->base.text, a, "code for sm_%d at %.1f TB/s, not run here",
                 cc, c->base.bandwidth * 1e-12);
    else
        print_to(c->base.text, sizeof c->base.text, a, "code for sm_%d, not run here", cc);
    *out = &c->base;
    return FUSEC_OK;
}
