/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_cuda_code.c - code of a CUDA device: NVRTC, modules and their kernels, launches one by one
 * and as graphs. */
#include "runtime/compile/helper.h"
#include "passes/plan.h"
#include "runtime/cuda/device_cuda.h"

#include <sys/stat.h>

/* The code of one or several kernels. */
typedef struct cuda_module {
    fc_cu_module at;
    atomic_int users;
} cuda_module;

typedef struct cuda_code {
    cuda_module *module;
    fc_cu_function function;
    _Atomic uint32_t shared; /* dynamic shared memory allowed so far */
    bool early;              /* waits for what was launched ahead of it (fc_begin of its text) */
} cuda_code;

/* ---- compiling ---------------------------------------------------------------------------- */

static fusec_status need_nvrtc(fc_gpu *c, fc_error *e) {
    pthread_mutex_lock(&c->lock);
    fusec_status s = FUSEC_OK;
    if (!c->nvrtc) {
        s = fc_nvrtc_open_in(c->base.alloc, c->base.places, &c->nvrtc, e);
        if (!s && !fc_nvrtc_best_arch(c->nvrtc, c->cc, c->arch, &c->kind)) {
            s = fc_fail(e, FUSEC_NVRTC_SETUP, "NVRTC %d.%d knows no architecture as old as sm_%d",
                        c->nvrtc->major, c->nvrtc->minor, c->cc);
            fc_nvrtc_close(c->nvrtc);
            c->nvrtc = NULL;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return s;
}

static fc_nvrtc_options options_of(const fc_gpu *c, uint32_t mode) {
    return (fc_nvrtc_options){
        .arch = c->arch, .kind = c->kind, .fmad = (mode & FC_MODE_CONTRACT) != 0};
}

/* The library's file stands for its version, so that what is on disk runs without NVRTC: loading it
 * takes 6 ms, and half a second when it is not in memory. */
static bool find_nvrtc(fc_gpu *c) {
    pthread_mutex_lock(&c->lock);
    if (!c->nvrtc_path[0] && !c->searched) {
        struct stat st;
        c->searched = true;
        if (!fc_nvrtc_find(c->base.places, c->nvrtc_path, sizeof c->nvrtc_path))
            c->nvrtc_path[0] = 0;
        if (c->nvrtc_path[0] && !stat(c->nvrtc_path, &st)) c->nvrtc_size = (long long)st.st_size;
    }
    pthread_mutex_unlock(&c->lock);
    return c->nvrtc_path[0] != 0;
}

/* Which architecture is taken follows from the device's and from the library. */
static void salt(fc_device *d, uint32_t mode, fc_str *out) {
    fc_gpu *c = fc_gpu_of(d);
    fc_nvrtc_options o = {
        .arch = "sm_0", .kind = FC_NVRTC_CUBIN, .fmad = (mode & FC_MODE_CONTRACT) != 0};
    fc_str_printf(out, "cuda sm_%d mode %u ", c->cc, mode);
    fc_nvrtc_describe(&o, out);
}

static void maker(fc_device *d, fc_str *out) {
    fc_gpu *c = fc_gpu_of(d);
    if (find_nvrtc(c)) {
        const char *slash = strrchr(c->nvrtc_path, '/');
        fc_str_printf(out, "%s %lld", slash ? slash + 1 : c->nvrtc_path, c->nvrtc_size);
    } else if (!need_nvrtc(c, NULL)) {
        fc_str_printf(out, "nvrtc %d.%d", c->nvrtc->major, c->nvrtc->minor);
    }
}

static fusec_status compile(fc_device *d, uint32_t mode, fc_effort effort, const char *text,
                            fc_bytes *out, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    FC_TRY(need_nvrtc(c, e));
    fc_nvrtc_options o = options_of(c, mode);
    bool refused = false;
    o.quick = effort == FC_QUICK;
    o.refused = &refused;
    if (d->helper) return fc_helper_nvrtc(d->helper, text, FC_ENTRY ".cu", &o, out, e);
    const fusec_status s = fc_nvrtc_compile(c->nvrtc, text, FC_ENTRY ".cu", &o, out, e);
    if (refused) atomic_store(&d->quick_work, 0); /* hardly sooner than the full one */
    return s;
}

/* ---- modules ----------------------------------------------------------------------------- */

static void drop_module(fc_gpu *c, cuda_module *m) {
    if (!m || atomic_fetch_sub(&m->users, 1) != 1) return;
    if (c->cuda && !fc_gpu_enter(c, NULL)) {
        fc_cuda_unload(c->cuda, m->at);
        fc_gpu_leave(c);
    }
    fc_free(c->base.alloc, m);
}

static void unload(fc_device *d, void *code) {
    cuda_code *x = code;
    if (!x) return;
    drop_module(fc_gpu_of(d), x->module);
    fc_free(d->alloc, x);
}

/* A kernel of module `m`, which gets one more user. */
static fusec_status function_of(fc_gpu *c, cuda_module *m, const char *name, void **code,
                                fc_error *e) {
    cuda_code *x = fc_calloc(c->base.alloc, 1, sizeof *x);
    if (!x) return fc_oom(e);
    fusec_status s = FUSEC_OK;
    if (c->cuda) { /* offline: compiled is all there is */
        s = fc_gpu_enter(c, e);
        if (!s) {
            s = fc_cuda_function(c->cuda, m->at, name, &x->function, e);
            x->early =
                !s && c->info.early && fc_cuda_made_for(c->cuda, x->function, FC_CUDA_BEGINS_EARLY);
            fc_gpu_leave(c);
        }
    }
    if (s) {
        fc_free(c->base.alloc, x);
        return s;
    }
    atomic_fetch_add(&m->users, 1);
    x->module = m;
    *code = x;
    return FUSEC_OK;
}

static fusec_status load(fc_device *d, const fc_kernel *k, const fc_class *cls, const char *name,
                         const fc_bytes *binary, void **code, fc_error *e) {
    (void)k, (void)cls;
    fc_gpu *c = fc_gpu_of(d);
    cuda_module *m = fc_calloc(d->alloc, 1, sizeof *m);
    if (!m) return fc_oom(e);
    atomic_init(&m->users, 1);
    fusec_status s = FUSEC_OK;
    if (c->cuda) {
        s = fc_gpu_enter(c, e);
        if (!s) {
            s = fc_cuda_load(c->cuda, binary->data, &m->at, NULL, e);
            fc_gpu_leave(c);
        }
    }
    if (!s) s = function_of(c, m, name, code, e);
    if (m->at || !c->cuda || !s)
        drop_module(c, m);
    else
        fc_free(d->alloc, m);
    return s;
}

static fusec_status load_more(fc_device *d, void *code, const char *name, void **out, fc_error *e) {
    return function_of(fc_gpu_of(d), ((cuda_code *)code)->module, name, out, e);
}

static void facts(fc_device *d, void *code, fc_code_facts *out) {
    fc_gpu *c = fc_gpu_of(d);
    fc_cuda_func_info info = {0};
    if (!c->cuda || fc_gpu_enter(c, NULL)) return;
    if (!fc_cuda_func_info_get(c->cuda, ((cuda_code *)code)->function, &info, NULL)) {
        out->registers = (uint32_t)info.registers;
        out->spill_bytes = (uint32_t)info.local_bytes;
    }
    fc_gpu_leave(c);
}

/* ---- launches ---------------------------------------------------------------------------- */

/* More than 48 KiB of shared memory must be asked for, and what a kernel declares is a part of
 * them: so whatever a launch adds is asked for. It rises only, whoever launches beside this. */
static fusec_status raise_shared(fc_gpu *c, cuda_code *x, uint32_t bytes, fc_error *e) {
    fusec_status s = FUSEC_OK;
    pthread_mutex_lock(&c->lock);
    if (bytes > x->shared) {
        s = fc_cuda_max_dynamic_shared(c->cuda, x->function, (int)bytes, e);
        if (!s) x->shared = bytes;
    }
    pthread_mutex_unlock(&c->lock);
    return s;
}

static fusec_status make_grid(fc_gpu *c, cuda_code *x, const fc_launch *l, fc_cuda_grid *g,
                              fc_error *e) {
    if (l->grid[0] > INT32_MAX || l->grid[1] > 65535 || l->grid[2] > 65535)
        return fc_fail(e, FUSEC_LIMIT,
                       "the launch grid %llu x %llu x %llu is above what CUDA takes",
                       (unsigned long long)l->grid[0], (unsigned long long)l->grid[1],
                       (unsigned long long)l->grid[2]);
    if (l->shared_bytes > atomic_load_explicit(&x->shared, memory_order_relaxed))
        FC_TRY(raise_shared(c, x, l->shared_bytes, e));
    g->shared = l->shared_bytes;
    g->early = false;
    for (int i = 0; i < 3; i++) {
        g->grid[i] = (unsigned)l->grid[i];
        g->block[i] = l->block[i];
    }
    return FUSEC_OK;
}

/* A recording takes launches as they have always been. */
static bool is_recorded(fc_gpu *c, fc_stream s) {
    int status = 0;
    return s && (c->cuda->fn.stream_capturing(fc_gpu_stream(c, s), &status) || status);
}

static fusec_status launch_now(fc_gpu *c, fc_stream s, cuda_code *x, const fc_launch *l,
                               const int64_t *params, uint32_t words, fc_error *e) {
    fc_cuda_grid g;
    FC_TRY(make_grid(c, x, l, &g, e));
    void *args = (void *)(uintptr_t)params;
    g.early = x->early && !is_recorded(c, s);
    if (l->together)
        return fc_cuda_launch_together(c->cuda, x->function, &g, fc_gpu_stream(c, s), args, e);
    return fc_cuda_launch(c->cuda, x->function, &g, fc_gpu_stream(c, s), args, words * 8u, e);
}

static fusec_status launch(fc_device *d, fc_stream s, void *code, const fc_class *cls,
                           const fc_launch *l, const int64_t *params, uint32_t words, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    (void)cls;
    FC_TRY(fc_gpu_enter(c, e));
    fusec_status r = launch_now(c, s, code, l, params, words, e);
    fc_gpu_leave(c);
    return r;
}

static fusec_status launch_args(fc_device *d, fc_stream s, void *code, const fc_launch *l,
                                void *const *args, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    cuda_code *x = code;
    fc_cuda_grid g;
    FC_TRY(fc_gpu_enter(c, e));
    fusec_status r = make_grid(c, x, l, &g, e);
    if (!r) r = fc_cuda_launch_args(c->cuda, x->function, &g, fc_gpu_stream(c, s), args, e);
    fc_gpu_leave(c);
    return r;
}

static fusec_status launch_all(fc_device *d, fc_stream s, const fc_prepared *l, uint32_t n,
                               fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    bool pushed;
    if (!c->cuda) return fc_gpu_offline(c, e);
    FC_TRY(fc_cuda_enter(c->cuda, c->ctx, &pushed, e));
    fusec_status r = FUSEC_OK;
    for (uint32_t i = 0; i < n && !r; i++)
        r = launch_now(c, s, l[i].code, l[i].launch, l[i].params, l[i].words, e);
    if (pushed) fc_cuda_pop(c->cuda);
    return r;
}

/* ---- graphs ------------------------------------------------------------------------------ */

static fusec_status graph_parts(fc_gpu *c, const fc_prepared *l, uint32_t n, fc_arena *arena,
                                fc_cuda_graph **out, fc_error *e) {
    fc_cu_function *f = fc_arena_alloc(arena, n * sizeof *f);
    fc_cuda_grid *g = fc_arena_alloc(arena, n * sizeof *g);
    void **args = fc_arena_alloc(arena, n * sizeof *args);
    if (!f || !g || !args) return fc_oom(e);
    for (uint32_t i = 0; i < n; i++) {
        cuda_code *x = l[i].code;
        if (l[i].launch->together)
            return fc_fail(e, FUSEC_DRIVER,
                           "a kernel whose blocks wait for each other is no part "
                           "of a graph");
        FC_TRY(make_grid(c, x, l[i].launch, &g[i], e));
        f[i] = x->function;
        args[i] = l[i].params;
    }
    /* what was allocated and zeroed on the device's stream may be used on any from now on */
    FC_TRY(fc_cuda_stream_sync(c->cuda, c->stream, e));
    return fc_cuda_graph_make(c->cuda, n, f, g, args, out, e);
}

static fusec_status graph_make(fc_device *d, const fc_prepared *l, uint32_t n, void **graph,
                               fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    fc_arena arena;
    fc_cuda_graph *made = NULL;
    FC_TRY(fc_gpu_enter(c, e));
    fc_arena_init(&arena, d->alloc);
    fusec_status r = graph_parts(c, l, n, &arena, &made, e);
    fc_arena_free(&arena);
    fc_gpu_leave(c);
    *graph = made;
    return r;
}

static fusec_status graph_run(fc_device *d, fc_stream s, void *graph, fc_prepared *l, uint32_t n,
                              fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    bool pushed;
    FC_TRY(fc_cuda_enter(c->cuda, c->ctx, &pushed, e));
    fusec_status r = FUSEC_OK;
    for (uint32_t i = 0; i < n && !r; i++) {
        if (!l[i].changed) continue;
        r = fc_cuda_graph_set(graph, i, l[i].params, e);
        if (!r) l[i].changed = false;
    }
    if (!r) r = fc_cuda_graph_launch(graph, fc_gpu_stream(c, s), e);
    if (pushed) fc_cuda_pop(c->cuda);
    return r;
}

static void graph_free(fc_device *d, void *graph) {
    fc_gpu *c = fc_gpu_of(d);
    bool inside = !fc_gpu_enter(c, NULL);
    if (inside) fc_cuda_sync(c->cuda, NULL); /* it may run on a stream of the caller's */
    fc_cuda_graph_free(graph);
    if (inside) fc_gpu_leave(c);
}

static fusec_status time_launches(fc_device *d, fc_stream s, void *code, const fc_class *cls,
                                  const fc_launch *l, const int64_t *params, uint32_t words,
                                  int repeats, double *seconds, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    (void)cls;
    fc_cu_event a = NULL, b = NULL;
    float ms = 0;
    FC_TRY(fc_gpu_enter(c, e));
    fusec_status r = fc_cuda_event_create(c->cuda, true, &a, e);
    if (!r) r = fc_cuda_event_create(c->cuda, true, &b, e);
    if (!r) r = fc_cuda_event_record(c->cuda, a, fc_gpu_stream(c, s), e);
    for (int i = 0; !r && i < repeats; i++) r = launch_now(c, s, code, l, params, words, e);
    if (!r) r = fc_cuda_event_record(c->cuda, b, fc_gpu_stream(c, s), e);
    if (!r) r = fc_cuda_event_sync(c->cuda, b, e);
    if (!r) r = fc_cuda_event_ms(c->cuda, a, b, &ms, e);
    if (a) fc_cuda_event_destroy(c->cuda, a);
    if (b) fc_cuda_event_destroy(c->cuda, b);
    fc_gpu_leave(c);
    *seconds = (double)ms * 1e-3 / repeats;
    return r;
}

fusec_status fc_gpu_ready(fc_device *d, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    return find_nvrtc(c) ? FUSEC_OK : need_nvrtc(c, e);
}

void fc_gpu_code_ops(fc_device_ops *ops) {
    ops->salt = salt;
    ops->maker = maker;
    ops->compile = compile;
    ops->load = load;
    ops->load_more = load_more;
    ops->unload = unload;
    ops->facts = facts;
    ops->launch = launch;
    ops->launch_args = launch_args;
    ops->launch_all = launch_all;
    ops->graph_make = graph_make;
    ops->graph_run = graph_run;
    ops->graph_free = graph_free;
    ops->time = time_launches;
}
