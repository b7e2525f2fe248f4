/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* context.c - options, the device, counters.
 *
 * The configuration is the environment's with the options on top. The device is opened when it is
 * first needed. */
#include "frontend/capi/lazy.h"
#include "ir/version.h"

const char *fusec_version(void) {
    return FC_VERSION;
}

/* The caller's structure may be shorter (older program) or longer (newer one) than ours. */
static fusec_status take_options(const fusec_options *from, fusec_options *o) {
    memset(o, 0, sizeof *o);
    if (!from) return FUSEC_OK;
    if (from->size < sizeof from->size)
        return fc_report_text(FUSEC_INVALID,
                              "fusec_context_new: set the options up with FUSEC_OPTIONS_INIT");
    memcpy(o, from, from->size < sizeof *o ? from->size : sizeof *o);
    if (o->threads < 0)
        return fc_report_text(FUSEC_INVALID, "fusec_context_new: options.threads is %d",
                              o->threads);
    if (o->mode & ~(unsigned)(FUSEC_MODE_FAST | FUSEC_MODE_WIDE16 | FUSEC_MODE_TF32))
        return fc_report_text(FUSEC_INVALID,
                              "fusec_context_new: options.mode has unknown bits (0x%x)", o->mode);
    if (!o->device_alloc != !o->device_free)
        return fc_report_text(FUSEC_INVALID, "fusec_context_new: options.device_alloc and "
                                             "options.device_free go together");
    if (o->bounds > FUSEC_BOUNDS_OFF)
        return fc_report_text(FUSEC_INVALID, "fusec_context_new: options.bounds is %u", o->bounds);
    if (o->tiers > FUSEC_TIERS_BOTH)
        return fc_report_text(FUSEC_INVALID, "fusec_context_new: options.tiers is %u", o->tiers);
    if (o->default_float && o->default_float != FUSEC_F32 && o->default_float != FUSEC_F64)
        return fc_report_text(FUSEC_INVALID,
                              "fusec_context_new: options.default_float is %u, not f32 or f64",
                              o->default_float);
    return FUSEC_OK;
}

/* "sm_90": 90; 0: the name of a device that is there. */
static int architecture(const char *name) {
    int cc = 0;
    if (!name || strncmp(name, "sm_", 3)) return 0;
    for (name += 3; *name >= '0' && *name <= '9' && cc < 1000; name++) cc = cc * 10 + (*name - '0');
    return !*name && cc >= 50 && cc <= 199 ? cc : 0;
}

static fusec_status configure(fusec_context *c, const fusec_options *o, fc_config *config,
                              fc_error *e) {
    FC_TRY(fc_config_from_env(config, e));
    c->offline = architecture(o->device);
    if (!c->offline) FC_TRY(fc_device_name_check(o->device, e));
    config->alloc = c->alloc;
    if (o->device && !c->offline &&
        !(config->device = c->device_name = fc_strdup(&c->alloc, o->device)))
        return fc_oom(e);
    if (o->cache_dir && !(config->cache_dir = c->cache_dir = fc_strdup(&c->alloc, o->cache_dir)))
        return fc_oom(e);
    const char *compiler =
        o->compiler ? o->compiler : config->compiler; /* the environment's may go */
    if (compiler && !(config->compiler = c->compiler = fc_strdup(&c->alloc, compiler)))
        return fc_oom(e);
    if (o->threads) config->threads = o->threads;
    config->mode |= o->mode;
    if (o->bounds == FUSEC_BOUNDS_CLAMP) config->mode |= FC_MODE_CLAMP;
    if (o->bounds == FUSEC_BOUNDS_OFF) config->mode |= FC_MODE_UNCHECKED;
    if (o->tiers) config->tiers = o->tiers == FUSEC_TIERS_BOTH ? FC_TIERS_BOTH : FC_TIERS_FULL;
    if (o->max_nodes)
        config->limits.nodes = o->max_nodes < FC_NONODE ? o->max_nodes : FC_NONODE - 1;
    if (o->max_inputs) config->limits.inputs = o->max_inputs;
    if (o->max_outputs) config->limits.outputs = o->max_outputs;
    if (o->llvm_path && !(config->llvm_path = c->llvm_path = fc_strdup(&c->alloc, o->llvm_path)))
        return fc_oom(e);
    if (o->nvrtc_path &&
        !(config->nvrtc_path = c->nvrtc_path = fc_strdup(&c->alloc, o->nvrtc_path)))
        return fc_oom(e);
    if (o->packs && !(config->packs = c->packs = fc_strdup(&c->alloc, o->packs))) return fc_oom(e);
    const char *cpu = o->cpu ? o->cpu : config->cpu;
    if (cpu && !(config->cpu = c->cpu = fc_strdup(&c->alloc, cpu))) return fc_oom(e);
    config->never_compile |= o->never_compile != 0;
    config->poll = o->poll;
    config->poll_user = o->poll_user;
    config->device_memory = (fc_usermem_fns){o->device_alloc, o->device_free, o->device_alloc_user};
    config->log = o->log;
    config->log_user = o->log_user;
    return FUSEC_OK;
}

static fusec_context *empty(const fc_alloc *alloc) {
    fusec_context *c = fc_calloc(alloc, 1, sizeof *c);
    if (!c) return NULL;
    c->alloc = *alloc;
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->plans.lock, NULL);
    pthread_mutex_init(&c->lazy.lock, NULL);
    pthread_mutex_init(&c->texts_lock, NULL);
    c->default_float = FUSEC_F32;
    atomic_init(&c->stamps, 0);
    return c;
}

fusec_status fc_context_over(const fc_config *config, fusec_context **out, fc_error *e) {
    fusec_context *c = empty(&config->alloc);
    if (!c) return fc_oom(e);
    if (!fc_context_new(config, &c->runtime, e)) return *out = c, FUSEC_OK;
    fusec_context_free(c);
    return e->code;
}

fusec_status fusec_context_new(const fusec_options *options, fusec_context **out) {
    fusec_options o;
    fc_config config;
    fc_error e = {0};
    if (!out) return fc_report_text(FUSEC_INVALID, "fusec_context_new: the result pointer is NULL");
    *out = NULL;
    FC_TRY(take_options(options, &o));
    fc_alloc alloc = o.alloc ? (fc_alloc){.fn = o.alloc, .user = o.alloc_user} : fc_libc_alloc;
    fusec_context *c = empty(&alloc);
    if (!c) return fc_oom(&e), fc_report(&e);
    if (o.default_float) c->default_float = (fusec_dtype)o.default_float;
    if (configure(c, &o, &config, &e) || fc_context_new(&config, &c->runtime, &e)) {
        fusec_context_free(c);
        return fc_report(&e);
    }
    *out = c;
    return FUSEC_OK;
}

void fusec_context_free(fusec_context *c) {
    if (!c) return;
    fc_alloc alloc = c->alloc;
    fc_lazy_pool_free(c);
    fc_plans_free(c);
    fc_texts_free(c);
    if (c->runtime) fc_context_free(c->runtime);
    if (c->offline) fc_device_close(c->device);
    fc_free(&alloc, c->notice);
    fc_free(&alloc, c->device_name);
    fc_free(&alloc, c->cache_dir);
    fc_free(&alloc, c->compiler);
    fc_free(&alloc, c->llvm_path);
    fc_free(&alloc, c->nvrtc_path);
    fc_free(&alloc, c->packs);
    fc_free(&alloc, c->cpu);
    pthread_mutex_destroy(&c->plans.lock);
    pthread_mutex_destroy(&c->lazy.lock);
    pthread_mutex_destroy(&c->texts_lock);
    pthread_mutex_destroy(&c->lock);
    fc_free(&alloc, c);
}

/* A GPU that is not there. */
static fusec_status open_offline(fusec_context *c, fc_device **out, fc_error *e) {
    FC_TRY(fc_device_open_cuda_offline(&c->alloc, c->offline, out, e));
    (*out)->helper = c->runtime->helper;
    return FUSEC_OK;
}

fusec_status fc_open_device(fusec_context *c, fc_device **out, fc_error *e) {
    pthread_mutex_lock(&c->lock);
    fusec_status s = FUSEC_OK;
    if (!c->device) {
        fc_str notice;
        fc_str_init(&notice, &c->alloc);
        fc_device *d = NULL;
        if (c->offline)
            s = open_offline(c, &d, e);
        else
            s = fc_context_device(c->runtime, c->runtime->config.device, &d, &notice, e);
        if (!s && !(c->notice = fc_strdup(&c->alloc, notice.data))) s = fc_oom(e);
        if (!s) c->device = d;
        fc_str_free(&notice);
    }
    *out = c->device;
    pthread_mutex_unlock(&c->lock);
    return s;
}

fusec_status fusec_device(fusec_context *c, const char **name, const char **notice) {
    if (name) *name = "";
    if (notice) *notice = "";
    if (!c) return fc_report_text(FUSEC_INVALID, "fusec_device: the context is NULL");
    fc_error e = {0};
    fc_device *d;
    if (fc_open_device(c, &d, &e)) return fc_report(&e);
    if (name) *name = d->name;
    if (notice) *notice = c->notice;
    return fc_device_alive(d, &e) ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_get_counters(const fusec_context *ctx, fusec_counters *to) {
    fusec_counters all = FUSEC_COUNTERS_INIT, *out = &all;
    if (!ctx || !to)
        return fc_report_text(FUSEC_INVALID, "fusec_get_counters: the %s is NULL",
                              ctx ? "result pointer" : "context");
    if (to->size < sizeof to->size)
        return fc_report_text(FUSEC_INVALID,
                              "fusec_get_counters: set the result up with FUSEC_COUNTERS_INIT");
    fusec_context *c = (fusec_context *)(uintptr_t)ctx; /* only its locks are changed */
    pthread_mutex_lock(&c->runtime->lock);
    out->compiles = c->runtime->compiles;
    out->disk_hits = c->runtime->disk_hits;
    out->memory_hits = c->runtime->memory_hits;
    pthread_mutex_unlock(&c->runtime->lock);
    pthread_mutex_lock(&c->plans.lock);
    out->plans = c->plans.made;
    pthread_mutex_unlock(&c->plans.lock);
    out->size = to->size;
    memcpy(to, out, to->size < sizeof *out ? to->size : sizeof *out);
    return FUSEC_OK;
}
