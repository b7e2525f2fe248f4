/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_host.h - what the cpu and interp devices share: host memory, threads, copies. */
#ifndef FUSEC_RUNTIME_DEVICE_HOST_H
#define FUSEC_RUNTIME_DEVICE_HOST_H

#include "runtime/cpuinfo.h"
#include "runtime/device.h"
#include "runtime/hostmem.h"
#include "runtime/threadpool.h"

typedef struct fc_host_device {
    fc_device base;
    fc_hostmem memory;
    fc_pool *pool;
    fc_cpuinfo cpu; /* reading it takes a tenth of a millisecond */
} fc_host_device;

fusec_status fc_host_open(fc_host_device *h, const fc_alloc *a, int threads, fc_error *e);
void fc_host_close(fc_host_device *h);

fusec_status fc_host_alloc(fc_device *d, fc_stream s, size_t bytes, void **out, fc_error *e);
void fc_host_free(fc_device *d, fc_stream s, void *p);
fusec_status fc_host_copy(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                          fc_error *e);
fusec_status fc_host_zero(fc_device *d, fc_stream s, void *dst, size_t bytes, fc_error *e);
fusec_status fc_host_sync(fc_device *d, fc_stream s, fc_error *e);
fusec_status fc_host_launch_all(fc_device *d, fc_stream s, const fc_prepared *l, uint32_t n,
                                fc_error *e);
fusec_status fc_host_time(fc_device *d, fc_stream s, void *code, const fc_class *c,
                          const fc_launch *l, const int64_t *params, uint32_t words, int repeats,
                          double *seconds, fc_error *e);
/* The fields of an fc_device_ops that are the same. */
#define FC_HOST_OPS                                                                                \
    .alloc = fc_host_alloc, .free = fc_host_free, .upload = fc_host_copy,                          \
    .download = fc_host_copy, .copy = fc_host_copy, .zero = fc_host_zero, .sync = fc_host_sync,    \
    .launch_all = fc_host_launch_all, .time = fc_host_time
bool fc_host_memory(fc_device *d, uint64_t *free_bytes, uint64_t *total);
bool fc_host_memory_stats(fc_device *d, fc_memory_stats *out);
fusec_status fc_host_trim(fc_device *d, uint64_t keep, fc_error *e);

/* Runs fn(arg, begin, end) over `units` cut into tasks of `unit`, `brief` as in threadpool.h; the
 * first failure is returned. */
typedef fusec_status (*fc_host_fn)(void *arg, int64_t begin, int64_t end, fc_error *e);
fusec_status fc_host_run(fc_host_device *h, int64_t units, int64_t unit, bool brief, fc_host_fn fn,
                         void *arg, fc_error *e);

#endif
