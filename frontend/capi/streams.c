/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* streams.c - events, copies that do not wait, page-locked memory, what a pointer and a device are.
 *
 * On cpu and interp a stream is the order of the calls: what was called is done, an event is the
 * time at which it was recorded, and host memory is like any other. */
#include <stdlib.h>
#include <time.h>

#include "frontend/capi/capi.h"
#include "runtime/hostmem.h"

struct fusec_event {
    fusec_context *ctx;
    fc_device *device;
    void *event; /* of the device; NULL on cpu and interp */
    double at;   /* there: seconds; below 0: it was not recorded */
};

static fusec_status device_of(const char *what, fusec_context *ctx, fc_device **d, fc_error *e) {
    if (!ctx) return fc_fail(e, FUSEC_INVALID, "%s: the context is NULL", what);
    return fc_open_device(ctx, d, e);
}

/* ---- events ---------------------------------------------------------------------------------- */

fusec_status fusec_event_new(fusec_context *ctx, fusec_event **out) {
    fc_error e = {0};
    fc_device *d;
    if (!out) return fc_report_text(FUSEC_INVALID, "fusec_event_new: the result pointer is NULL");
    *out = NULL;
    if (device_of("fusec_event_new", ctx, &d, &e)) return fc_report(&e);
    fusec_event *v = fc_calloc(&ctx->alloc, 1, sizeof *v);
    if (!v) return fc_report_text(FUSEC_OUT_OF_MEMORY, "out of memory");
    *v = (fusec_event){.ctx = ctx, .device = d, .at = -1};
    if (d->hooks->streams && d->hooks->streams->event_new(d, &v->event, &e)) {
        fc_free(&ctx->alloc, v);
        return fc_report(&e);
    }
    *out = v;
    return FUSEC_OK;
}

void fusec_event_free(fusec_event *v) {
    if (!v) return;
    if (v->event) v->device->hooks->streams->event_free(v->device, v->event);
    fc_free(&v->ctx->alloc, v);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

fusec_status fusec_event_record(fusec_event *v, void *stream) {
    fc_error e = {0};
    if (!v) return fc_report_text(FUSEC_INVALID, "fusec_event_record: the event is NULL");
    v->at = now();
    if (v->event && v->device->hooks->streams->event_record(v->device, v->event, stream, &e))
        return fc_report(&e);
    return FUSEC_OK;
}

fusec_status fusec_event_wait(fusec_event *v, void *stream) {
    fc_error e = {0};
    if (!v) return fc_report_text(FUSEC_INVALID, "fusec_event_wait: the event is NULL");
    if (v->event && v->device->hooks->streams->event_wait(v->device, v->event, stream, &e))
        return fc_report(&e);
    return FUSEC_OK;
}

fusec_status fusec_event_synchronize(fusec_event *v) {
    fc_error e = {0};
    if (!v) return fc_report_text(FUSEC_INVALID, "fusec_event_synchronize: the event is NULL");
    if (v->event && v->device->hooks->streams->event_sync(v->device, v->event, &e))
        return fc_report(&e);
    return FUSEC_OK;
}

fusec_status fusec_event_elapsed(fusec_event *from, fusec_event *to, double *seconds) {
    fc_error e = {0};
    if (!from || !to || !seconds || from->device != to->device)
        return fc_report_text(FUSEC_INVALID, "fusec_event_elapsed: %s",
                              !from || !to ? "an event is NULL"
                              : !seconds   ? "the result pointer is NULL"
                                           : "the events are of two devices");
    if (from->at < 0 || to->at < 0)
        return fc_report_text(FUSEC_INVALID, "fusec_event_elapsed: an event was not recorded");
    *seconds = to->at - from->at;
    if (from->event && from->device->hooks->streams->event_seconds(from->device, from->event,
                                                                   to->event, seconds, &e))
        return fc_report(&e);
    return FUSEC_OK;
}

fusec_status fusec_stream_wait(fusec_context *ctx, void *stream, void *other) {
    fusec_event *v = NULL;
    fusec_status s = fusec_event_new(ctx, &v);
    if (!s) s = fusec_event_record(v, other);
    if (!s) s = fusec_event_wait(v, stream);
    fusec_event_free(v);
    return s;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static fusec_status copy(const char *what, fusec_context *ctx, void *stream, bool up, void *to,
                         const void *from, size_t bytes) {
    fc_error e = {0};
    fc_device *d;
    if (device_of(what, ctx, &d, &e)) return fc_report(&e);
    if (bytes && (!to || !from))
        return fc_report_text(FUSEC_INVALID, "%s: %zu bytes at NULL", what, bytes);
    if (bytes && (up ? d->ops->upload : d->ops->download)(d, stream, to, from, bytes, &e))
        return fc_report(&e);
    return FUSEC_OK;
}

fusec_status fusec_upload_on(fusec_context *ctx, void *stream, void *device, const void *host,
                             size_t bytes) {
    return copy("fusec_upload_on", ctx, stream, true, device, host, bytes);
}

fusec_status fusec_download_on(fusec_context *ctx, void *stream, void *host, const void *device,
                               size_t bytes) {
    return copy("fusec_download_on", ctx, stream, false, host, device, bytes);
}

fusec_status fusec_host_alloc(fusec_context *ctx, size_t bytes, void **out) {
    fc_error e = {0};
    fc_device *d;
    if (!out) return fc_report_text(FUSEC_INVALID, "fusec_host_alloc: the result pointer is NULL");
    *out = NULL;
    if (device_of("fusec_host_alloc", ctx, &d, &e)) return fc_report(&e);
    if (bytes > PTRDIFF_MAX)
        fc_fail(&e, FUSEC_LIMIT, "fusec_host_alloc: %zu bytes are more than memory can address",
                bytes);
    else if (d->hooks->streams)
        d->hooks->streams->host_alloc(d, bytes ? bytes : 1, out, &e);
    else
        d->ops->alloc(d, NULL, bytes ? bytes : 1, out, &e);
    return e.code ? fc_report(&e) : FUSEC_OK;
}

void fusec_host_free(fusec_context *ctx, void *p) {
    fc_error e = {0};
    fc_device *d;
    if (!p || device_of("fusec_host_free", ctx, &d, &e)) return;
    if (d->hooks->streams)
        d->hooks->streams->host_free(d, p);
    else
        d->ops->free(d, NULL, p);
}

fusec_status fusec_memory_trim(fusec_context *ctx, size_t keep) {
    fc_error e = {0};
    fc_device *d;
    if (device_of("fusec_memory_trim", ctx, &d, &e)) return fc_report(&e);
    if (!d->usermem && d->hooks->trim && d->hooks->trim(d, keep, &e)) return fc_report(&e);
    return FUSEC_OK;
}

fusec_status fusec_get_memory_stats(fusec_context *ctx, fusec_memory_stats *out) {
    fc_error e = {0};
    fc_device *d;
    fc_memory_stats m;
    if (!out || out->size < offsetof(fusec_memory_stats, used))
        return fc_report_text(FUSEC_INVALID, "fusec_get_memory_stats: %s",
                              out ? "set the struct up with FUSEC_MEMORY_STATS_INIT"
                                  : "the result pointer is NULL");
    if (device_of("fusec_get_memory_stats", ctx, &d, &e)) return fc_report(&e);
    (void)fc_device_memory_stats(d, &m); /* else zeros */
    const fusec_memory_stats s = {out->size, m.used, m.used_most, m.reserved, m.reserved_most};
    memcpy(out, &s, out->size < sizeof s ? out->size : sizeof s);
    return FUSEC_OK;
}

fusec_status fusec_stream(fusec_context *ctx, void **out) {
    fc_error e = {0};
    fc_device *d;
    if (!out) return fc_report_text(FUSEC_INVALID, "fusec_stream: the result pointer is NULL");
    *out = NULL;
    if (device_of("fusec_stream", ctx, &d, &e)) return fc_report(&e);
    if (d->hooks->streams) *out = d->hooks->streams->own(d);
    return FUSEC_OK;
}

/* ---- what there is --------------------------------------------------------------------------- */

fusec_status fusec_place_of(fusec_context *ctx, const void *p, int32_t *place, int32_t *device_id) {
    fc_error e = {0};
    fc_device *d;
    bool on_device = false;
    int ordinal = 0;
    if (!place) return fc_report_text(FUSEC_INVALID, "fusec_place_of: the result pointer is NULL");
    if (device_of("fusec_place_of", ctx, &d, &e)) return fc_report(&e);
    if (p && d->hooks->streams && d->hooks->streams->place_of(d, p, &on_device, &ordinal, &e))
        return fc_report(&e);
    *place = on_device ? FUSEC_CUDA : FUSEC_HOST;
    if (device_id) *device_id = ordinal;
    return FUSEC_OK;
}

fusec_status fusec_get_device_info(fusec_context *ctx, fusec_device_info *out) {
    fc_error e = {0};
    fc_device *d;
    if (!out || out->size < offsetof(fusec_device_info, kind))
        return fc_report_text(FUSEC_INVALID, "fusec_get_device_info: %s",
                              out ? "set the struct up with FUSEC_DEVICE_INFO_INIT"
                                  : "the result pointer is NULL");
    if (device_of("fusec_get_device_info", ctx, &d, &e)) return fc_report(&e);
    const fc_machine *m = &d->machine;
    fusec_device_info i = {.size = out->size, .kind = FUSEC_DEVICE_CPU, .ordinal = d->ordinal};
    if (d->kind == FC_DEV_CUDA) i.kind = FUSEC_DEVICE_CUDA;
    if (d->kind == FC_DEV_INTERP) i.kind = FUSEC_DEVICE_INTERP;
    i.threads = m->threads;
    i.vector_bytes = m->vector_bytes;
    i.cache_bytes = m->cache;
    i.major = m->sm_major;
    i.minor = m->sm_minor;
    i.multiprocessors = m->sm_count;
    i.threads_per_multiprocessor = m->max_threads_per_sm;
    i.shared_bytes_per_block = m->shared_per_block;
    memcpy(i.name, d->name, sizeof i.name < sizeof d->name ? sizeof i.name : sizeof d->name);
    i.name[sizeof i.name - 1] = 0;
    const size_t n = strlen(d->text) < sizeof i.text ? strlen(d->text) : sizeof i.text - 1;
    memcpy(i.text, d->text, n);
    if (!fc_device_memory(d, &i.memory_free, &i.memory_total)) i.memory_free = i.memory_total = 0;
    memcpy(out, &i, out->size < sizeof i ? out->size : sizeof i);
    return FUSEC_OK;
}
