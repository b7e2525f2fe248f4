/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* context.c - configuration, devices on first need, the disk cache. */
#include "runtime/stage.h"
#include "runtime/context.h"

#include <stdlib.h>

#include "runtime/compile/dynlib.h"
#include "runtime/compile/helper.h"
#include "runtime/background.h"
#include "runtime/call.h"
#include "runtime/external.h"
#include "runtime/kernel_cache.h"
#include "runtime/pack.h"
#include "runtime/threadpool.h"
#include "runtime/trace.h"

void fc_config_init(fc_config *c) {
    memset(c, 0, sizeof *c);
    c->alloc = fc_libc_alloc;
    c->limits = fc_default_limits;
}

/* A variable that is not set, or empty, leaves *v. */
static fusec_status number_from_env(const char *name, int most, int *v, fc_error *e) {
    const char *s = getenv(name);
    int n = 0;
    if (!s || !*s) return FUSEC_OK;
    for (const char *p = s; *p; p++) {
        if (*p < '0' || *p > '9' || n > most)
            return fc_fail(e, FUSEC_INVALID, "%s=%.60s: a whole number from 0 to %d is needed",
                           name, s, most);
        n = 10 * n + *p - '0';
    }
    if (n > most) return fc_fail(e, FUSEC_INVALID, "%s=%.60s: the most is %d", name, s, most);
    *v = n;
    return FUSEC_OK;
}

static fusec_status tiers_from_env(fc_tiers *t, fc_error *e) {
    const char *s = getenv("FUSEC_TIERS");
    *t = FC_TIERS_BOTH;
    if (!s || !*s || !strcmp(s, "both")) return FUSEC_OK;
    if (!strcmp(s, "full"))
        *t = FC_TIERS_FULL;
    else if (!strcmp(s, "quick"))
        *t = FC_TIERS_QUICK;
    else
        return fc_fail(e, FUSEC_INVALID, "FUSEC_TIERS=%.60s: it is both, full or quick", s);
    return FUSEC_OK;
}

static fusec_status compile_from_env(bool *never, fc_error *e) {
    const char *s = getenv("FUSEC_COMPILE");
    *never = s && !strcmp(s, "never");
    if (!s || !*s || *never || !strcmp(s, "auto")) return FUSEC_OK;
    return fc_fail(e, FUSEC_INVALID, "FUSEC_COMPILE=%.60s: it is auto or never", s);
}

static fusec_status switch_from_env(const char *name, bool *on, fc_error *e) {
    const char *s = getenv(name);
    *on = s && !strcmp(s, "1");
    if (!s || !*s || *on || !strcmp(s, "0")) return FUSEC_OK;
    return fc_fail(e, FUSEC_INVALID, "%s=%.60s: it is 0 or 1", name, s);
}

fusec_status fc_config_from_env(fc_config *c, fc_error *e) {
    fc_config_init(c);
    c->device = getenv("FUSEC_DEVICE");
    c->cache_dir = getenv("FUSEC_CACHE_DIR");
    c->xdg_cache_home = getenv("XDG_CACHE_HOME");
    c->home = getenv("HOME");
    c->compiler = fc_env("FUSEC_COMPILER"); /* a program that is started: not in set-user-id ones */
    c->packs = fc_env("FUSEC_PACKS");       /* code: not in set-user-id programs either */
    c->cpu = getenv("FUSEC_CPU");
    FC_TRY(compile_from_env(&c->never_compile, e));
    FC_TRY(fc_device_name_check(c->device, e));
    FC_TRY(tiers_from_env(&c->tiers, e));
    FC_TRY(switch_from_env("FUSEC_NVTX", &c->nvtx, e));
    FC_TRY(number_from_env("FUSEC_THREADS", FC_MAX_THREADS, &c->threads, e));
    return number_from_env("FUSEC_DEBUG", 9, &c->debug, e);
}

static fusec_status open_packs(fc_context *c, fc_error *e) {
    const char *at = c->config.packs;
    while (at && *at) {
        char path[1024];
        const size_t n = strcspn(at, ":");
        if (n >= sizeof path || c->npacks == FC_MAX_PACKS)
            return fc_fail(e, FUSEC_LIMIT,
                           n < sizeof path ? "more than %d packs"
                                           : "the path of a pack has more than %d bytes",
                           n < sizeof path ? FC_MAX_PACKS : (int)sizeof path - 1);
        memcpy(path, at, n);
        path[n] = 0;
        if (n) FC_TRY(fc_pack_open(&c->config.alloc, path, &c->packs[c->npacks], e));
        c->npacks += n > 0;
        at += n + (at[n] == ':');
    }
    return FUSEC_OK;
}

/* The level that code of the CPU is for: asked for, or that of the packs. */
static const char *cpu_level(const fc_context *c) {
    if (c->config.cpu && *c->config.cpu) return c->config.cpu;
    return c->npacks ? fc_pack_level(c->packs[0]) : NULL;
}

bool fc_context_packed(const fc_context *c, const uint8_t key[FC_CACHE_KEY], uint32_t kind,
                       fc_bytes *out) {
    for (int i = 0; i < c->npacks; i++)
        if (fc_pack_get(c->packs[i], key, kind, out)) return true;
    return false;
}

/* Without NVTX nothing is missing but its ranges. */
static fusec_status open_trace(fc_context *c, fc_error *e) {
    c->trace = c->config.trace;
    if (!c->config.nvtx) return FUSEC_OK;
    fc_str why;
    fc_str_init(&why, &c->config.alloc);
    fusec_status s = c->trace ? FUSEC_OK : fc_trace_new(&c->config.alloc, false, &c->trace, e);
    if (!s && !fc_trace_nvtx(c->trace, &why)) fc_log(c, 1, "no NVTX: %s", why.data);
    fc_str_free(&why);
    return s;
}

fusec_status fc_context_new(const fc_config *config, fc_context **out, fc_error *e) {
    *out = NULL;
    fc_background_guard_main();
    fc_context *c = fc_calloc(&config->alloc, 1, sizeof *c);
    if (!c) return fc_oom(e);
    c->config = *config;
    pthread_mutex_init(&c->lock, NULL);
    fc_str_init(&c->notice, &c->config.alloc);
    if (config->compiler && *config->compiler) {
        fc_helper_options o = {.program = config->compiler};
        c->helper = fc_helper_new(&c->config.alloc, &o);
        if (!c->helper) {
            fc_context_free(c);
            return fc_oom(e);
        }
    }
    fusec_status s = open_packs(c, e);
    if (!s) s = open_trace(c, e);
    if (s) {
        fc_context_free(c);
        return s;
    }
    *out = c;
    return FUSEC_OK;
}

void fc_context_free(fc_context *c) {
    if (!c) return;
    fc_pool_destroy(c->parts);
    fc_copiers_free(c);
    fc_kcache_free(c);
    fc_user_calls_free(c);
    for (int i = 0; i < FC_MAX_CUDA * FC_MAX_LOGICAL; i++)
        fc_device_close(c->cuda[i / FC_MAX_LOGICAL][i % FC_MAX_LOGICAL]);
    fc_device_close(c->cpu);
    fc_device_close(c->interp);
    fc_externs_free(c);
    fc_diskcache_close(c->disk);
    for (int i = 0; i < c->npacks; i++) fc_pack_close(c->packs[i]);
    fc_helper_free(c->helper);
    if (c->trace != c->config.trace) fc_trace_free(c->trace);
    fc_str_free(&c->notice);
    pthread_mutex_destroy(&c->lock);
    fc_alloc a = c->config.alloc;
    fc_free(&a, c);
}

/* They compile what is new, too, which takes as much stack as in a thread of the caller's. */
fusec_status fc_context_parts(fc_context *c, fc_pool **out, fc_error *e) {
    enum { MOST = 64, STACK = 8 << 20 };
    pthread_mutex_lock(&c->lock);
    if (!c->parts) c->parts = fc_pool_create(&c->config.alloc, MOST, STACK);
    *out = c->parts;
    pthread_mutex_unlock(&c->lock);
    return *out ? FUSEC_OK : fc_oom(e);
}

void fc_log(fc_context *c, int level, const char *fmt, ...) {
    if (!c->config.log || c->config.debug < level) return;
    fc_str s;
    va_list ap;
    fc_str_init(&s, &c->config.alloc);
    va_start(ap, fmt);
    fc_str_vprintf(&s, fmt, ap);
    va_end(ap);
    c->config.log(c->config.log_user, s.data);
    fc_str_free(&s);
}

/* ---- devices ----------------------------------------------------------------------------- */

static fusec_status open_cuda(fc_context *c, int n, int logical, fc_device **out, fc_error *e) {
    if (n < 0 || n >= FC_MAX_CUDA) return fc_fail(e, FUSEC_NO_GPU, "there is no cuda:%d", n);
    fc_device **d = &c->cuda[n][logical];
    if (!*d) FC_TRY(fc_device_open_cuda(&c->config.alloc, n, c->config.nvrtc_path, d, e));
    *out = *d;
    return FUSEC_OK;
}

static fusec_status open_cpu(fc_context *c, fc_device **out, fc_error *e) {
    fusec_status s = c->cpu ? FUSEC_OK
                            : fc_device_open_cpu(&c->config.alloc, c->config.threads,
                                                 c->config.llvm_path, cpu_level(c), &c->cpu, e);
    *out = c->cpu;
    return s;
}

static fusec_status open_interp(fc_context *c, fc_device **out, fc_error *e) {
    fusec_status s =
        c->interp ? FUSEC_OK
                  : fc_device_open_interp(&c->config.alloc, c->config.threads, &c->interp, e);
    *out = c->interp;
    return s;
}

static fusec_status open_auto(fc_context *c, fc_device **out, fc_str *notice, fc_error *e) {
    fc_error gpu = {0}, cpu = {0};
    if (!open_cuda(c, 0, 0, out, &gpu) && !fc_device_ready(*out, &gpu)) return FUSEC_OK;
    const bool here = c->npacks || c->config.never_compile; /* nothing need be compiled */
    if (!open_cpu(c, out, &cpu) && (here || !fc_device_ready(*out, &cpu))) {
        if (notice)
            fc_str_printf(notice, "%s; running on the CPU, %d thread%s", gpu.message,
                          (*out)->machine.threads, (*out)->machine.threads == 1 ? "" : "s");
        return FUSEC_OK;
    }
    if (notice)
        fc_str_printf(notice, "%s; %s; running on the interpreter", gpu.message, cpu.message);
    return open_interp(c, out, e);
}

/* One or two digits; -1: others. */
static int few_digits(const char **p) {
    int n = 0, digits = 0;
    for (; **p >= '0' && **p <= '9' && digits < 3; ++*p, digits++) n = 10 * n + (**p - '0');
    return digits == 1 || digits == 2 ? n : -1;
}

/* "cuda", "cuda:3" or "cuda:3/1" */
static bool cuda_name(const char *name, int *number, int *logical) {
    *number = *logical = 0;
    if (strncmp(name, "cuda", 4) != 0) return false;
    if (!*(name += 4)) return true;
    if (*name++ != ':' || (*number = few_digits(&name)) < 0) return false;
    if (*name == '/' && (name++, *logical = few_digits(&name)) < 0) return false;
    return !*name && *logical < FC_MAX_LOGICAL;
}

fusec_status fc_device_name_check(const char *name, fc_error *e) {
    int number, logical;
    if (!name || !*name || !strcmp(name, "auto") || !strcmp(name, "cpu") ||
        !strcmp(name, "interp") || cuda_name(name, &number, &logical))
        return FUSEC_OK;
    return fc_fail(e, FUSEC_INVALID, "unknown device %.60s: auto, cpu, cuda, cuda:N or interp",
                   name);
}

fusec_status fc_context_device(fc_context *c, const char *name, fc_device **out, fc_str *notice,
                               fc_error *e) {
    *out = NULL;
    if (!name || !*name) name = c->config.device && *c->config.device ? c->config.device : "auto";
    FC_TRY(fc_device_name_check(name, e));
    pthread_mutex_lock(&c->lock);
    fusec_status s;
    int number, logical;
    if (!strcmp(name, "auto"))
        s = open_auto(c, out, notice, e);
    else if (!strcmp(name, "cpu"))
        s = open_cpu(c, out, e);
    else if (!strcmp(name, "interp"))
        s = open_interp(c, out, e);
    else if (cuda_name(name, &number, &logical))
        s = open_cuda(c, number, logical, out, e);
    else
        s = fc_fail(e, FUSEC_INVALID, "unknown device %.60s", name);
    if (!s) {
        (*out)->helper = c->helper;
        (*out)->poll = c->config.poll;
        (*out)->poll_user = c->config.poll_user;
        if (c->config.device_memory.alloc && !(*out)->usermem &&
            !((*out)->usermem = fc_usermem_new(&c->config.alloc, &c->config.device_memory)))
            s = fc_oom(e);
        if (c->trace && !fc_trace_attach(c->trace, *out)) s = fc_oom(e);
    }
    pthread_mutex_unlock(&c->lock);
    if (!s) fc_log(c, 1, "device %s: %s", (*out)->name, (*out)->text);
    return s;
}

fusec_status fc_context_memory(fc_context *c, fc_device *d, fc_stream s, size_t bytes, void **out,
                               fc_error *e) {
    fc_error first;
    first.code = FUSEC_OK; /* not the text, which is long */
    fusec_status r = d->ops->alloc(d, s, bytes, out, &first);
    if (r == FUSEC_OUT_OF_MEMORY && fc_kcache_drop_idle(c, d)) {
        first.code = FUSEC_OK;
        r = d->ops->alloc(d, s, bytes, out, &first);
    }
    return r ? fc_fail(e, r, "%s", first.message) : FUSEC_OK;
}

fc_diskcache *fc_context_disk(fc_context *c) {
    pthread_mutex_lock(&c->lock);
    const bool first = !c->disk_tried;
    if (first) {
        c->disk_tried = true;
        const fc_config *f = &c->config;
        bool off = f->cache_dir && !*f->cache_dir;
        fc_diskcache_dirs dirs = {f->cache_dir, NULL, f->xdg_cache_home, f->home};
        if (!off) c->disk = fc_diskcache_open(&c->config.alloc, &dirs, 0);
    }
    pthread_mutex_unlock(&c->lock);
    const char *why = first && c->disk ? fc_diskcache_why(c->disk) : NULL;
    if (why) fc_log(c, 1, "kernels are not kept on disk: %s", why);
    return c->disk;
}
