/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_interp.c - the interpreter as a device: needs nothing, runs everywhere. */
#include "codegen/interp/interp.h"
#include "runtime/device_host.h"

static void salt(fc_device *d, uint32_t mode, fc_str *out) {
    (void)d;
    fc_str_printf(out, "interp mode %u", mode);
}

static fusec_status compile(fc_device *d, uint32_t mode, fc_effort effort, const char *text,
                            fc_bytes *out, fc_error *e) {
    (void)d, (void)mode, (void)effort, (void)text, (void)out, (void)e;
    return FUSEC_OK; /* there is no binary: load makes the tapes from the kernel */
}

static fusec_status load(fc_device *d, const fc_kernel *k, const fc_class *c, const char *name,
                         const fc_bytes *binary, void **code, fc_error *e) {
    (void)c, (void)name, (void)binary;
    fc_interp *ip = NULL;
    FC_TRY(fc_interp_compile(k, NULL, d->alloc, &ip, e));
    *code = ip;
    return FUSEC_OK;
}

static void unload(fc_device *d, void *code) {
    (void)d;
    fc_interp_free(code);
}

typedef struct job {
    const fc_interp *ip;
    const fc_class *cls;
    const int64_t *params;
} job;

static fusec_status run(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const job *j = arg;
    (void)e;
    fc_interp_run(j->ip, j->cls, j->params, begin, end);
    return FUSEC_OK;
}

static fusec_status launch(fc_device *d, fc_stream s, void *code, const fc_class *c,
                           const fc_launch *l, const int64_t *params, uint32_t words, fc_error *e) {
    (void)s, (void)words;
    job j = {code, c, params};
    return fc_host_run((fc_host_device *)d, l->units, l->unit, false, run, &j, e);
}

static const fc_device_ops ops = {
    FC_HOST_OPS, .salt = salt, .compile = compile, .load = load, .unload = unload, .launch = launch,
};

static void close_device(fc_device *d) {
    fc_host_close((fc_host_device *)d);
}
static const struct fc_device_hooks hooks = {.close = close_device,
                                             .memory = fc_host_memory,
                                             .memory_stats = fc_host_memory_stats,
                                             .trim = fc_host_trim};

fusec_status fc_device_open_interp(const fc_alloc *a, int threads, fc_device **out, fc_error *e) {
    fc_host_device *h = fc_calloc(a, 1, sizeof *h);
    if (!h) return fc_oom(e);
    fusec_status s = fc_host_open(h, a, threads, e);
    if (s) {
        fc_free(a, h);
        return s;
    }
    h->base.ops = &ops;
    h->base.hooks = &hooks;
    h->base.target = &fc_interp_target;
    h->base.machine.target = FC_TARGET_INTERP;
    h->base.kind = FC_DEV_INTERP;
    memcpy(h->base.name, "interp", 7);
    *out = &h->base;
    return FUSEC_OK;
}
