/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_cuda_stream.c - events, page-locked memory, what a pointer is, and giving memory back. */
#include "runtime/cuda/device_cuda.h"

static fusec_status event_new(fc_device *d, void **out, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    fc_cu_event ev = NULL;
    *out = NULL;
    FC_TRY(fc_gpu_enter(c, e));
    const fusec_status s = fc_cuda_event_create(c->cuda, true, &ev, e);
    fc_gpu_leave(c);
    *out = ev;
    return s;
}

static void event_free(fc_device *d, void *ev) {
    fc_gpu *c = fc_gpu_of(d);
    if (fc_gpu_enter(c, NULL)) return;
    fc_cuda_event_destroy(c->cuda, ev);
    fc_gpu_leave(c);
}

static fusec_status event_record(fc_device *d, void *ev, fc_stream s, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    FC_TRY(fc_gpu_enter(c, e));
    const fusec_status r = fc_cuda_event_record(c->cuda, ev, fc_gpu_stream(c, s), e);
    fc_gpu_leave(c);
    return r;
}

static fusec_status event_wait(fc_device *d, void *ev, fc_stream s, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    FC_TRY(fc_gpu_enter(c, e));
    const fusec_status r = fc_cuda_stream_wait(c->cuda, fc_gpu_stream(c, s), ev, e);
    fc_gpu_leave(c);
    return r;
}

static fusec_status event_sync(fc_device *d, void *ev, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    FC_TRY(fc_gpu_enter(c, e));
    const fusec_status r = fc_cuda_event_sync(c->cuda, ev, e);
    fc_gpu_leave(c);
    return r;
}

static fusec_status event_seconds(fc_device *d, void *a, void *b, double *out, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    float ms = 0;
    FC_TRY(fc_gpu_enter(c, e));
    const fusec_status r = fc_cuda_event_ms(c->cuda, a, b, &ms, e);
    fc_gpu_leave(c);
    *out = (double)ms / 1000;
    return r;
}

static fusec_status host_alloc(fc_device *d, size_t bytes, void **out, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    FC_TRY(fc_gpu_enter(c, e));
    const fusec_status r = fc_cuda_host_alloc(c->cuda, bytes, out, e);
    fc_gpu_leave(c);
    return r;
}

static void host_free(fc_device *d, void *p) {
    fc_gpu *c = fc_gpu_of(d);
    if (fc_gpu_enter(c, NULL)) return;
    fc_cuda_host_free(c->cuda, p);
    fc_gpu_leave(c);
}

static fusec_status place_of(fc_device *d, const void *p, bool *on_device, int *ordinal,
                             fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    FC_TRY(fc_gpu_enter(c, e));
    const fusec_status r = fc_cuda_pointer(c->cuda, (fc_cu_ptr)(uintptr_t)p, on_device, ordinal, e);
    fc_gpu_leave(c);
    return r;
}

static fc_stream own(fc_device *d) {
    return fc_gpu_of(d)->stream;
}

const struct fc_device_streams fc_gpu_streams = {
    .own = own,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_sync = event_sync,
    .event_seconds = event_seconds,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .place_of = place_of,
};
