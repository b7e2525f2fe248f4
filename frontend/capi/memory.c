/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory.c - memory of the context's device; plain host memory on cpu and interp. */
#include "frontend/capi/capi.h"

static fusec_status device_of(const char *what, fusec_context *ctx, fc_device **d, fc_error *e) {
    if (!ctx) return fc_fail(e, FUSEC_INVALID, "%s: the context is NULL", what);
    return fc_open_device(ctx, d, e);
}

fusec_status fusec_device_alloc(fusec_context *ctx, size_t bytes, void **out) {
    fc_error e = {0};
    fc_device *d;
    if (!out)
        return fc_report_text(FUSEC_INVALID, "fusec_device_alloc: the result pointer is NULL");
    *out = NULL;
    if (device_of("fusec_device_alloc", ctx, &d, &e)) return fc_report(&e);
    if (bytes > PTRDIFF_MAX)
        fc_fail(&e, FUSEC_LIMIT, "fusec_device_alloc: %zu bytes are more than memory can address",
                bytes);
    /* ready for every stream when we return, not only for the device's own */
    if (!e.code && !fc_context_memory(ctx->runtime, d, NULL, bytes, out, &e) &&
        d->ops->sync(d, NULL, &e)) {
        d->ops->free(d, NULL, *out);
        *out = NULL;
    }
    return e.code ? fc_report(&e) : FUSEC_OK;
}

void fusec_device_free(fusec_context *ctx, void *p) {
    fc_error e = {0};
    fc_device *d;
    if (!p || device_of("fusec_device_free", ctx, &d, &e)) return;
    d->ops->free(d, NULL, p);
}

/* Complete when they return, so that work on any stream sees the bytes. */
static fusec_status copy(const char *what, fusec_context *ctx, bool up, void *to, const void *from,
                         size_t bytes) {
    fc_error e = {0};
    fc_device *d;
    if (device_of(what, ctx, &d, &e)) return fc_report(&e);
    if (bytes && (!to || !from))
        return fc_report_text(FUSEC_INVALID, "%s: %zu bytes at NULL", what, bytes);
    if (!bytes) return FUSEC_OK;
    fusec_status s = up ? d->ops->upload(d, NULL, to, from, bytes, &e)
                        : d->ops->download(d, NULL, to, from, bytes, &e);
    if (!s) s = d->ops->sync(d, NULL, &e);
    return s ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_upload(fusec_context *ctx, void *device, const void *host, size_t bytes) {
    return copy("fusec_upload", ctx, true, device, host, bytes);
}

fusec_status fusec_download(fusec_context *ctx, void *host, const void *device, size_t bytes) {
    return copy("fusec_download", ctx, false, host, device, bytes);
}

fusec_status fusec_synchronize(fusec_context *ctx) {
    fc_error e = {0};
    fc_device *d;
    if (device_of("fusec_synchronize", ctx, &d, &e) || d->ops->sync(d, NULL, &e))
        return fc_report(&e);
    return FUSEC_OK;
}
