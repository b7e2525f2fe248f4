/* device_cuda.c - a CUDA GPU through the driver and NVRTC, both found at run time.
 *
 * Every entry makes the device's primary context current and puts back what the caller had. Work is
 * ordered on the caller's stream or on the device's own; memory comes from the driver's
 * stream-ordered pool. An offline device has no driver: it compiles for an architecture and runs
 * nothing. */
#include "codegen/cuda/driver.h"
#include "codegen/helper.h"
#include "codegen/cuda/nvrtc.h"
#include "runtime/device.h"

#include <pthread.h>
#include <sys/stat.h>
#include <stdatomic.h>

typedef struct cuda_device {
    fc_device base;
    fc_cuda *cuda; /* NULL: offline */
    fc_cuda_info info;
    fc_cu_context ctx;
    fc_cu_stream stream;
    pthread_mutex_t lock; /* nvrtc */
    fc_nvrtc *nvrtc;
    char nvrtc_path[512]; /* what will be loaded; "" when only the linker knows */
    long long nvrtc_size; /* of that file: an update behind the same name differs in it */
    bool searched;
    int cc;
    char arch[16];
    fc_nvrtc_kind kind;
} cuda_device;

/* The code of one or several kernels. */
typedef struct cuda_module {
    fc_cu_module at;
    atomic_int users;
} cuda_module;

typedef struct cuda_code {
    cuda_module *module;
    fc_cu_function function;
    _Atomic uint32_t shared; /* dynamic shared memory allowed so far */
} cuda_code;

static inline fc_cu_stream stream_of(const cuda_device *c, fc_stream s) {
    return s ? (fc_cu_stream)s : c->stream;
}

static fusec_status no_device(const cuda_device *c, fc_error *e) {
    return fc_fail(e, FUSEC_NO_GPU, "%s compiles only: there is no such GPU here", c->base.name);
}

static fusec_status enter(cuda_device *c, fc_error *e) {
    if (!c->cuda) return no_device(c, e);
    return fc_cuda_push(c->cuda, c->ctx, e);
}
static void leave(cuda_device *c) {
    fc_cuda_pop(c->cuda);
}

/* ---- memory ------------------------------------------------------------------------------ */

static fusec_status mem_alloc(fc_device *d, fc_stream s, size_t bytes, void **out, fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    *out = NULL;
    if (!bytes) return FUSEC_OK;
    FC_TRY(enter(c, e));
    fc_cu_ptr p = 0;
    fc_error first = {0};
    fusec_status r = fc_cuda_alloc_async(c->cuda, bytes, stream_of(c, s), &p, &first);
    if (r ==
        FUSEC_OUT_OF_MEMORY) { /* what is freed but still kept by the pool comes back at a sync */
        fc_cuda_keep_memory(c->cuda, c->info.device, 0, NULL);
        fc_cuda_sync(c->cuda, NULL);
        first = (fc_error){0};
        r = fc_cuda_alloc_async(c->cuda, bytes, stream_of(c, s), &p, &first);
        fc_cuda_keep_memory(c->cuda, c->info.device, UINT64_MAX, NULL);
        if (r == FUSEC_OUT_OF_MEMORY) fc_device_no_memory(d, bytes, e);
    }
    leave(c);
    if (r) return fc_fail(e, first.code, "%s", first.message), r;
    *out = (void *)(uintptr_t)p;
    return FUSEC_OK;
}

static void mem_free(fc_device *d, fc_stream s, void *p) {
    cuda_device *c = (cuda_device *)d;
    if (!p || enter(c, NULL)) return;
    fc_cuda_free_async(c->cuda, (fc_cu_ptr)(uintptr_t)p, stream_of(c, s));
    leave(c);
}

static fusec_status upload(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                           fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    if (!bytes) return FUSEC_OK;
    FC_TRY(enter(c, e));
    fusec_status r =
        fc_cuda_h2d_async(c->cuda, (fc_cu_ptr)(uintptr_t)dst, src, bytes, stream_of(c, s), e);
    leave(c);
    return r;
}

static fusec_status download(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                             fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    if (!bytes) return FUSEC_OK;
    FC_TRY(enter(c, e));
    fusec_status r =
        fc_cuda_d2h_async(c->cuda, dst, (fc_cu_ptr)(uintptr_t)src, bytes, stream_of(c, s), e);
    leave(c);
    return r;
}

static fusec_status zero(fc_device *d, fc_stream s, void *dst, size_t bytes, fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    if (!bytes) return FUSEC_OK;
    FC_TRY(enter(c, e));
    fusec_status r =
        fc_cuda_memset_async(c->cuda, (fc_cu_ptr)(uintptr_t)dst, 0, bytes, stream_of(c, s), e);
    leave(c);
    return r;
}

static fusec_status sync(fc_device *d, fc_stream s, fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    FC_TRY(enter(c, e));
    fusec_status r = fc_cuda_stream_sync(c->cuda, stream_of(c, s), e);
    leave(c);
    return r;
}

static bool stream_id(fc_device *d, fc_stream s, uint64_t *id) {
    cuda_device *c = (cuda_device *)d;
    return fc_cuda_stream_id(c->cuda, (fc_cu_stream)s, id);
}

static void free_used(fc_device *d, void *p) {
    cuda_device *c = (cuda_device *)d;
    if (!p || enter(c, NULL)) return;
    fc_cuda_sync(c->cuda, NULL);
    fc_cuda_free_async(c->cuda, (fc_cu_ptr)(uintptr_t)p, c->stream);
    leave(c);
}

static bool memory(fc_device *d, uint64_t *free_bytes, uint64_t *total) {
    cuda_device *c = (cuda_device *)d;
    size_t f, t;
    if (enter(c, NULL)) return false;
    bool ok = fc_cuda_mem_info(c->cuda, &f, &t, NULL) == FUSEC_OK;
    leave(c);
    *free_bytes = ok ? f : 0;
    *total = ok ? t : 0;
    return ok;
}

/* ---- code -------------------------------------------------------------------------------- */

static fusec_status need_nvrtc(cuda_device *c, fc_error *e) {
    pthread_mutex_lock(&c->lock);
    fusec_status s = FUSEC_OK;
    if (!c->nvrtc) {
        s = fc_nvrtc_open(c->base.alloc, &c->nvrtc, e);
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

static fc_nvrtc_options options_of(const cuda_device *c, uint32_t mode) {
    return (fc_nvrtc_options){
        .arch = c->arch, .kind = c->kind, .fmad = (mode & 1) != 0 /* FC_MODE_CONTRACT */};
}

/* The library's file stands for its version, so that what is on disk runs without NVRTC: loading it
 * takes 6 ms, and half a second when it is not in memory. */
static bool find_nvrtc(cuda_device *c) {
    pthread_mutex_lock(&c->lock);
    if (!c->nvrtc_path[0] && !c->searched) {
        struct stat st;
        c->searched = true;
        if (!fc_nvrtc_find(c->nvrtc_path, sizeof c->nvrtc_path)) c->nvrtc_path[0] = 0;
        if (c->nvrtc_path[0] && !stat(c->nvrtc_path, &st)) c->nvrtc_size = (long long)st.st_size;
    }
    pthread_mutex_unlock(&c->lock);
    return c->nvrtc_path[0] != 0;
}

/* Which architecture is taken follows from the device's and from the library. */
static void salt(fc_device *d, uint32_t mode, fc_str *out) {
    cuda_device *c = (cuda_device *)d;
    fc_nvrtc_options o = {.arch = "sm_0", .kind = FC_NVRTC_CUBIN, .fmad = (mode & 1) != 0};
    fc_str_printf(out, "cuda sm_%d mode %u ", c->cc, mode);
    if (find_nvrtc(c))
        fc_str_printf(out, "nvrtc %s %lld", c->nvrtc_path, c->nvrtc_size);
    else if (!need_nvrtc(c, NULL))
        fc_str_printf(out, "nvrtc %d.%d", c->nvrtc->major, c->nvrtc->minor);
    fc_nvrtc_describe(&o, out);
}

static fusec_status compile(fc_device *d, uint32_t mode, const char *text, fc_bytes *out,
                            fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    FC_TRY(need_nvrtc(c, e));
    fc_nvrtc_options o = options_of(c, mode);
    if (d->helper) return fc_helper_nvrtc(d->helper, text, FC_ENTRY ".cu", &o, out, e);
    return fc_nvrtc_compile(c->nvrtc, text, FC_ENTRY ".cu", &o, out, e);
}

static void drop_module(cuda_device *c, cuda_module *m) {
    if (!m || atomic_fetch_sub(&m->users, 1) != 1) return;
    if (c->cuda && !enter(c, NULL)) {
        fc_cuda_unload(c->cuda, m->at);
        leave(c);
    }
    fc_free(c->base.alloc, m);
}

static void unload(fc_device *d, void *code) {
    cuda_code *x = code;
    if (!x) return;
    drop_module((cuda_device *)d, x->module);
    fc_free(d->alloc, x);
}

/* A kernel of module `m`, which gets one more user. */
static fusec_status function_of(cuda_device *c, cuda_module *m, const char *name, void **code,
                                fc_error *e) {
    cuda_code *x = fc_calloc(c->base.alloc, 1, sizeof *x);
    if (!x) return fc_oom(e);
    fusec_status s = FUSEC_OK;
    if (c->cuda) { /* offline: compiled is all there is */
        s = enter(c, e);
        if (!s) {
            s = fc_cuda_function(c->cuda, m->at, name, &x->function, e);
            leave(c);
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
    cuda_device *c = (cuda_device *)d;
    cuda_module *m = fc_calloc(d->alloc, 1, sizeof *m);
    if (!m) return fc_oom(e);
    atomic_init(&m->users, 1);
    fusec_status s = FUSEC_OK;
    if (c->cuda) {
        s = enter(c, e);
        if (!s) {
            s = fc_cuda_load(c->cuda, binary->data, &m->at, NULL, e);
            leave(c);
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
    return function_of((cuda_device *)d, ((cuda_code *)code)->module, name, out, e);
}

static void facts(fc_device *d, void *code, fc_code_facts *out) {
    cuda_device *c = (cuda_device *)d;
    fc_cuda_func_info info = {0};
    if (!c->cuda || enter(c, NULL)) return;
    if (!fc_cuda_func_info_get(c->cuda, ((cuda_code *)code)->function, &info, NULL)) {
        out->registers = (uint32_t)info.registers;
        out->spill_bytes = (uint32_t)info.local_bytes;
    }
    leave(c);
}

/* More than 48 KiB of shared memory must be asked for; it rises only, whoever launches beside this.
 */
static fusec_status raise_shared(cuda_device *c, cuda_code *x, uint32_t bytes, fc_error *e) {
    fusec_status s = FUSEC_OK;
    pthread_mutex_lock(&c->lock);
    if (bytes > x->shared) {
        s = fc_cuda_max_dynamic_shared(c->cuda, x->function, (int)bytes, e);
        if (!s) x->shared = bytes;
    }
    pthread_mutex_unlock(&c->lock);
    return s;
}

static fusec_status make_grid(cuda_device *c, cuda_code *x, const fc_launch *l, fc_cuda_grid *g,
                              fc_error *e) {
    if (l->grid[0] > INT32_MAX || l->grid[1] > 65535 || l->grid[2] > 65535)
        return fc_fail(e, FUSEC_LIMIT,
                       "the launch grid %llu x %llu x %llu is above what CUDA takes",
                       (unsigned long long)l->grid[0], (unsigned long long)l->grid[1],
                       (unsigned long long)l->grid[2]);
    if (l->shared_bytes > 48 * 1024 &&
        l->shared_bytes > atomic_load_explicit(&x->shared, memory_order_relaxed))
        FC_TRY(raise_shared(c, x, l->shared_bytes, e));
    g->shared = l->shared_bytes;
    for (int i = 0; i < 3; i++) {
        g->grid[i] = (unsigned)l->grid[i];
        g->block[i] = l->block[i];
    }
    return FUSEC_OK;
}

static fusec_status launch_now(cuda_device *c, fc_stream s, cuda_code *x, const fc_launch *l,
                               const int64_t *params, uint32_t words, fc_error *e) {
    fc_cuda_grid g;
    FC_TRY(make_grid(c, x, l, &g, e));
    void *args = (void *)(uintptr_t)params;
    if (l->together)
        return fc_cuda_launch_together(c->cuda, x->function, &g, stream_of(c, s), args, e);
    return fc_cuda_launch(c->cuda, x->function, &g, stream_of(c, s), args, words * 8u, e);
}

static fusec_status launch(fc_device *d, fc_stream s, void *code, const fc_class *cls,
                           const fc_launch *l, const int64_t *params, uint32_t words, fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    (void)cls;
    FC_TRY(enter(c, e));
    fusec_status r = launch_now(c, s, code, l, params, words, e);
    leave(c);
    return r;
}

static fusec_status launch_all(fc_device *d, fc_stream s, const fc_prepared *l, uint32_t n,
                               fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    bool pushed;
    if (!c->cuda) return no_device(c, e);
    FC_TRY(fc_cuda_enter(c->cuda, c->ctx, &pushed, e));
    fusec_status r = FUSEC_OK;
    for (uint32_t i = 0; i < n && !r; i++)
        r = launch_now(c, s, l[i].code, l[i].launch, l[i].params, l[i].words, e);
    if (pushed) fc_cuda_pop(c->cuda);
    return r;
}

/* ---- graphs ------------------------------------------------------------------------------ */

static fusec_status graph_parts(cuda_device *c, const fc_prepared *l, uint32_t n, fc_arena *arena,
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
    cuda_device *c = (cuda_device *)d;
    fc_arena arena;
    fc_cuda_graph *made = NULL;
    FC_TRY(enter(c, e));
    fc_arena_init(&arena, d->alloc);
    fusec_status r = graph_parts(c, l, n, &arena, &made, e);
    fc_arena_free(&arena);
    leave(c);
    *graph = made;
    return r;
}

static fusec_status graph_run(fc_device *d, fc_stream s, void *graph, fc_prepared *l, uint32_t n,
                              fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    bool pushed;
    FC_TRY(fc_cuda_enter(c->cuda, c->ctx, &pushed, e));
    fusec_status r = FUSEC_OK;
    for (uint32_t i = 0; i < n && !r; i++) {
        if (!l[i].changed) continue;
        r = fc_cuda_graph_set(graph, i, l[i].params, e);
        if (!r) l[i].changed = false;
    }
    if (!r) r = fc_cuda_graph_launch(graph, stream_of(c, s), e);
    if (pushed) fc_cuda_pop(c->cuda);
    return r;
}

static void graph_free(fc_device *d, void *graph) {
    cuda_device *c = (cuda_device *)d;
    bool inside = !enter(c, NULL);
    if (inside) fc_cuda_sync(c->cuda, NULL); /* it may run on a stream of the caller's */
    fc_cuda_graph_free(graph);
    if (inside) leave(c);
}

static fusec_status time_launches(fc_device *d, fc_stream s, void *code, const fc_class *cls,
                                  const fc_launch *l, const int64_t *params, uint32_t words,
                                  int repeats, double *seconds, fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    (void)cls;
    fc_cu_event a = NULL, b = NULL;
    float ms = 0;
    FC_TRY(enter(c, e));
    fusec_status r = fc_cuda_event_create(c->cuda, true, &a, e);
    if (!r) r = fc_cuda_event_create(c->cuda, true, &b, e);
    if (!r) r = fc_cuda_event_record(c->cuda, a, stream_of(c, s), e);
    for (int i = 0; !r && i < repeats; i++) r = launch_now(c, s, code, l, params, words, e);
    if (!r) r = fc_cuda_event_record(c->cuda, b, stream_of(c, s), e);
    if (!r) r = fc_cuda_event_sync(c->cuda, b, e);
    if (!r) r = fc_cuda_event_ms(c->cuda, a, b, &ms, e);
    if (a) fc_cuda_event_destroy(c->cuda, a);
    if (b) fc_cuda_event_destroy(c->cuda, b);
    leave(c);
    *seconds = (double)ms * 1e-3 / repeats;
    return r;
}

static const fc_device_ops ops = {
    .alloc = mem_alloc,
    .free = mem_free,
    .upload = upload,
    .download = download,
    .zero = zero,
    .sync = sync,
    .stream_id = stream_id,
    .free_used = free_used,
    .salt = salt,
    .compile = compile,
    .load = load,
    .load_more = load_more,
    .unload = unload,
    .facts = facts,
    .launch = launch,
    .launch_all = launch_all,
    .graph_make = graph_make,
    .graph_run = graph_run,
    .graph_free = graph_free,
    .time = time_launches,
};

/* ---- opening ----------------------------------------------------------------------------- */

static void close_device(fc_device *d) {
    cuda_device *c = (cuda_device *)d;
    if (c->cuda) {
        if (c->stream && !enter(c, NULL)) {
            fc_cuda_stream_sync(c->cuda, c->stream, NULL);
            fc_cuda_stream_destroy(c->cuda, c->stream);
            leave(c);
        }
        if (c->ctx) fc_cuda_release(c->cuda, c->info.device);
        fc_cuda_close(c->cuda);
    }
    fc_nvrtc_close(c->nvrtc);
    pthread_mutex_destroy(&c->lock);
    fc_free(d->alloc, c);
}
static fusec_status ready(fc_device *d, fc_error *e) {
    cuda_device *c = (cuda_device *)d;
    return find_nvrtc(c) ? FUSEC_OK : need_nvrtc(c, e);
}
static fusec_status alive(fc_device *d, fc_error *e) {
    const cuda_device *c = (cuda_device *)d;
    return c->cuda ? fc_cuda_alive(c->cuda, e) : FUSEC_OK;
}
static const struct fc_device_hooks hooks = {
    .close = close_device, .memory = memory, .ready = ready, .alive = alive};

static cuda_device *make(const fc_alloc *a, int cc) {
    cuda_device *c = fc_calloc(a, 1, sizeof *c);
    if (!c) return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->cc = cc;
    c->base.alloc = a;
    c->base.ops = &ops;
    c->base.hooks = &hooks;
    c->base.target = &fc_cuda_target;
    c->base.machine.target = FC_TARGET_CUDA;
    c->base.kind = FC_DEV_CUDA;
    c->base.kernels_together = true;
    return c;
}

static void set_machine(cuda_device *c) {
    fc_machine *m = &c->base.machine;
    m->sm_major = c->cc / 10;
    m->sm_minor = c->cc % 10;
    m->sm_count = c->info.sm_count;
    m->max_threads_per_sm = c->info.max_threads_per_sm;
    m->shared_per_block = c->info.shared_per_block_optin;
    m->together = c->info.together;
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

static fusec_status open_on(cuda_device *c, int ordinal, fc_error *e) {
    FC_TRY(fc_cuda_open(c->base.alloc, &c->cuda, e));
    if (ordinal >= c->cuda->n_devices)
        return fc_fail(e, FUSEC_NO_GPU, "there is no cuda:%d: the driver shows %d device%s",
                       ordinal, c->cuda->n_devices, c->cuda->n_devices == 1 ? "" : "s");
    FC_TRY(fc_cuda_device(c->cuda, ordinal, &c->info, e));
    FC_TRY(fc_cuda_retain(c->cuda, c->info.device, &c->ctx, e));
    c->cc = c->info.cc;
    set_machine(c);
    FC_TRY(enter(c, e));
    fusec_status s = fc_cuda_stream_create(c->cuda, &c->stream, e);
    if (!s && c->info.memory_pools) fc_cuda_keep_memory(c->cuda, c->info.device, UINT64_MAX, NULL);
    leave(c);
    if (s) return s;
    c->base.ordinal = ordinal;
    /* double data rate: two transfers a clock */
    c->base.bandwidth = 2e3 * c->info.memory_clock_khz * (c->info.memory_bus_bits / 8.0);
    print_to(c->base.name, sizeof c->base.name, c->base.alloc, "cuda:%d", ordinal);
    print_to(c->base.text, sizeof c->base.text, c->base.alloc, "%s, sm_%d, %d SMs", c->info.name,
             c->cc, c->info.sm_count);
    return FUSEC_OK;
}

fusec_status fc_device_open_cuda(const fc_alloc *a, int ordinal, fc_device **out, fc_error *e) {
    cuda_device *c = make(a, 0);
    if (!c) return fc_oom(e);
    fusec_status s = open_on(c, ordinal, e);
    if (s) {
        close_device(&c->base);
        return s;
    }
    *out = &c->base;
    return FUSEC_OK;
}

/* The machine that an architecture stands for: A100 80 GB, H200, B200, by their data sheets. */
static double usual_bandwidth(int cc) {
    return cc == 80 ? 2.0e12 : cc == 90 ? 4.8e12 : cc == 100 ? 8.0e12 : 0;
}

/* Sizes of the class of machine that the architecture stands for; they shape launches, never
 * results. */
fusec_status fc_device_open_cuda_offline(const fc_alloc *a, int cc, fc_device **out, fc_error *e) {
    cuda_device *c = make(a, cc);
    if (!c) return fc_oom(e);
    c->info.sm_count = 132;
    c->info.max_threads_per_sm = 2048;
    c->info.together = true;
    c->info.shared_per_block_optin = cc >= 90 ? 227 * 1024 : 99 * 1024;
    set_machine(c);
    print_to(c->base.name, sizeof c->base.name, a, "sm_%d", cc);
    c->base.bandwidth = usual_bandwidth(cc);
    if (c->base.bandwidth > 0)
        print_to(c->base.text, sizeof c->base.text, a, "code for sm_%d at %.1f TB/s, not run here",
                 cc, c->base.bandwidth * 1e-12);
    else
        print_to(c->base.text, sizeof c->base.text, a, "code for sm_%d, not run here", cc);
    *out = &c->base;
    return FUSEC_OK;
}
