/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_cuda_memory.c - memory of a CUDA device: allocation in the order of streams, copies.
 *
 * Memory comes from the driver's stream-ordered pool, which takes 5 ms to be made, as long as
 * everything else that a process does up to its first result. So the first few allocations come
 * from the plain allocator, until there are FC_CUDA_EARLY of them or a stream of the caller's has
 * been seen: the plain allocator may wait for the device, and must not be called where a stream
 * records. A device without pools has only the plain one, and waits before it frees. */
#include "runtime/cuda/device_cuda.h"

enum { ALIGNED = 256 };

/* ---- the first allocations ------------------------------------------------------------------- */

static bool take_early(fc_gpu *c, fc_stream s, size_t bytes, fc_cu_ptr *p) {
    if (s || atomic_load_explicit(&c->settled, memory_order_relaxed)) return false;
    const unsigned number = atomic_fetch_add(&c->allocated, 1);
    if (number >= FC_CUDA_EARLY) {
        atomic_store(&c->settled, true);
        return false;
    }
    if (fc_cuda_alloc(c->cuda, bytes, p, NULL)) return false; /* the long way tells why */
    atomic_store(&c->early[number], *p);
    return true;
}

/* True: it was one of them, and is free. Once the pool is there that takes it, too. */
static bool free_early(fc_gpu *c, fc_cu_ptr p) {
    if (atomic_load_explicit(&c->settled, memory_order_relaxed)) return false;
    for (unsigned i = 0; i < FC_CUDA_EARLY; i++) {
        fc_cu_ptr same = p;
        if (!atomic_compare_exchange_strong(&c->early[i], &same, 0)) continue;
        fc_cuda_stream_sync(c->cuda, c->stream, NULL);
        fc_cuda_free(c->cuda, p);
        return true;
    }
    return false;
}

/* ---- a device without pools ------------------------------------------------------------------ */

static void free_plain(fc_gpu *c, fc_cu_ptr p, fc_cu_stream s) {
    fc_cuda_stream_sync(c->cuda, s, NULL);
    fc_cuda_free(c->cuda, p);
}

/* ---- allocation ------------------------------------------------------------------------------ */

/* What is freed but still kept by the pool comes back at a sync. */
static fusec_status alloc_again(fc_gpu *c, size_t bytes, fc_cu_stream s, fc_cu_ptr *p,
                                fc_error *e) {
    fc_cuda_keep_memory(c->cuda, c->info.device, 0, NULL);
    fc_cuda_sync(c->cuda, NULL);
    fusec_status r = fc_cuda_alloc_async(c->cuda, bytes, s, p, e);
    fc_cuda_keep_memory(c->cuda, c->info.device, UINT64_MAX, NULL);
    return r;
}

static fusec_status alloc_in_order(fc_gpu *c, fc_stream s, size_t bytes, fc_cu_ptr *p,
                                   fc_error *e) {
    const fc_cu_stream stream = fc_gpu_stream(c, s);
    fc_error first = {0};
    fusec_status r = fc_cuda_alloc_async(c->cuda, bytes, stream, p, &first);
    if (r == FUSEC_OUT_OF_MEMORY) return alloc_again(c, bytes, stream, p, e);
    return r ? fc_fail(e, first.code, "%s", first.message) : FUSEC_OK;
}

static fusec_status mem_alloc(fc_device *d, fc_stream s, size_t bytes, void **out, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    fc_cu_ptr p = 0;
    fc_error why = {0};
    *out = NULL;
    if (!bytes) return FUSEC_OK;
    FC_TRY(fc_gpu_enter(c, e));
    fusec_status r = FUSEC_OK;
    if (d->usermem) {
        r = fc_usermem_get(d->usermem, bytes, ALIGNED, fc_gpu_stream(c, s), out, e);
        fc_gpu_leave(c);
        return r;
    }
    if (!c->info.memory_pools)
        r = fc_cuda_alloc(c->cuda, bytes, &p, &why);
    else if (!take_early(c, s, bytes, &p))
        r = alloc_in_order(c, s, bytes, &p, &why);
    fc_gpu_leave(c);
    if (r == FUSEC_OUT_OF_MEMORY) fc_device_no_memory(d, bytes, e);
    if (r) return fc_fail(e, why.code, "%s", why.message), r;
    *out = (void *)(uintptr_t)p;
    return FUSEC_OK;
}

static void free_in_order(fc_gpu *c, fc_cu_ptr p, fc_cu_stream s) {
    if (c->base.usermem)
        fc_usermem_put(c->base.usermem, (void *)(uintptr_t)p, s);
    else if (!c->info.memory_pools)
        free_plain(c, p, s);
    else if (!free_early(c, p))
        fc_cuda_free_async(c->cuda, p, s);
}

static void mem_free(fc_device *d, fc_stream s, void *p) {
    fc_gpu *c = fc_gpu_of(d);
    const fc_cu_stream stream = fc_gpu_stream(c, s);
    if (!p || fc_gpu_enter(c, NULL)) return;
    free_in_order(c, (fc_cu_ptr)(uintptr_t)p, stream);
    fc_gpu_leave(c);
}

/* ---- contents -------------------------------------------------------------------------------- */

static fusec_status copy(fc_device *d, fc_stream s, bool up, void *dst, const void *src,
                         size_t bytes, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    if (!bytes) return FUSEC_OK;
    FC_TRY(fc_gpu_enter(c, e));
    const fc_cu_stream on = fc_gpu_stream(c, s);
    fusec_status r = up ? fc_cuda_h2d_async(c->cuda, (fc_cu_ptr)(uintptr_t)dst, src, bytes, on, e)
                        : fc_cuda_d2h_async(c->cuda, dst, (fc_cu_ptr)(uintptr_t)src, bytes, on, e);
    fc_gpu_leave(c);
    return r;
}

static fusec_status upload(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                           fc_error *e) {
    return copy(d, s, true, dst, src, bytes, e);
}

static fusec_status download(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                             fc_error *e) {
    return copy(d, s, false, dst, src, bytes, e);
}

static fusec_status copy_inside(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                                fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    if (!bytes || dst == src) return FUSEC_OK;
    FC_TRY(fc_gpu_enter(c, e));
    fusec_status r = fc_cuda_d2d_async(c->cuda, (fc_cu_ptr)(uintptr_t)dst,
                                       (fc_cu_ptr)(uintptr_t)src, bytes, fc_gpu_stream(c, s), e);
    fc_gpu_leave(c);
    return r;
}

static fusec_status zero(fc_device *d, fc_stream s, void *dst, size_t bytes, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    if (!bytes) return FUSEC_OK;
    FC_TRY(fc_gpu_enter(c, e));
    fusec_status r =
        fc_cuda_memset_async(c->cuda, (fc_cu_ptr)(uintptr_t)dst, 0, bytes, fc_gpu_stream(c, s), e);
    fc_gpu_leave(c);
    return r;
}

static fusec_status sync(fc_device *d, fc_stream s, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    FC_TRY(fc_gpu_enter(c, e));
    fusec_status r = fc_cuda_stream_sync(c->cuda, fc_gpu_stream(c, s), e);
    fc_gpu_leave(c);
    return r;
}

static bool stream_id(fc_device *d, fc_stream s, uint64_t *id) {
    fc_gpu *c = fc_gpu_of(d);
    return fc_cuda_stream_id(c->cuda, (fc_cu_stream)s, id);
}

static void free_used(fc_device *d, void *p) {
    fc_gpu *c = fc_gpu_of(d);
    if (!p || fc_gpu_enter(c, NULL)) return;
    fc_cuda_sync(c->cuda, NULL);
    free_in_order(c, (fc_cu_ptr)(uintptr_t)p, c->stream);
    fc_gpu_leave(c);
}

bool fc_gpu_memory(fc_device *d, uint64_t *free_bytes, uint64_t *total) {
    fc_gpu *c = fc_gpu_of(d);
    size_t f, t;
    if (fc_gpu_enter(c, NULL)) return false;
    bool ok = fc_cuda_mem_info(c->cuda, &f, &t, NULL) == FUSEC_OK;
    fc_gpu_leave(c);
    *free_bytes = ok ? f : 0;
    *total = ok ? t : 0;
    return ok;
}

bool fc_gpu_memory_stats(fc_device *d, fc_memory_stats *out) {
    fc_gpu *c = fc_gpu_of(d);
    if (!c->info.memory_pools || fc_gpu_enter(c, NULL)) return false;
    const bool ok = fc_cuda_pool_stats(c->cuda, c->info.device, out, NULL) == FUSEC_OK;
    fc_gpu_leave(c);
    return ok;
}

/* What the pool keeps beyond `keep` goes back when the device is idle. */
fusec_status fc_gpu_trim(fc_device *d, uint64_t keep, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    FC_TRY(fc_gpu_enter(c, e));
    fusec_status r = fc_cuda_keep_memory(c->cuda, c->info.device, keep, e);
    if (!r) r = fc_cuda_sync(c->cuda, e);
    if (!r) r = fc_cuda_keep_memory(c->cuda, c->info.device, UINT64_MAX, e);
    fc_gpu_leave(c);
    return r;
}

void fc_gpu_memory_ops(fc_device_ops *ops) {
    ops->alloc = mem_alloc;
    ops->free = mem_free;
    ops->upload = upload;
    ops->download = download;
    ops->copy = copy_inside;
    ops->zero = zero;
    ops->sync = sync;
    ops->stream_id = stream_id;
    ops->free_used = free_used;
}
