/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace.c - see trace.h. */
#include "runtime/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "runtime/compile/dynlib.h"

enum { ROWS = 64, PENDING = 4096 };

#define NVTX_FNS(X)                                                                                \
    X(int, push, "nvtxRangePushA", (const char *name), 1)                                          \
    X(int, pop, "nvtxRangePop", (void), 1)
typedef struct nvtx_fns {
    NVTX_FNS(FC_DYN_FIELD)
} nvtx_fns;
#define NVTX_ROW(...) FC_DYN_ROW(nvtx_fns, __VA_ARGS__)

/* In front of a device's own functions. */
typedef struct traced {
    fc_device_ops ops; /* first: what fc_device.ops points to */
    const fc_device_ops *real;
    fc_device *d;
    fc_trace *t;
    void *base;      /* event from which the device's times count */
    double base_at;  /* when that was */
    bool has_events; /* kernels run on their own time */
} traced;

typedef struct named { /* loaded code */
    const fc_device *d;
    void *code;
    char name[FC_TRACE_NAME];
} named;

typedef struct pending { /* a launch, until its events are asked */
    fc_device *d;
    void *begin, *end;
    char name[FC_TRACE_NAME];
} pending;

struct fc_trace_state {
    pthread_mutex_t lock;
    struct timespec start;
    pthread_t thread[ROWS];
    uint32_t threads;
    FC_VEC(named) codes;
    FC_VEC(pending) waiting;
    FC_VEC(traced *) devices;
    nvtx_fns nvtx;
    fc_dynlib nvtx_lib;
};

/* ---- events ------------------------------------------------------------------------------------
 */

double fc_trace_now(const fc_trace *t) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - t->state->start.tv_sec) +
           1e-9 * (double)(now.tv_nsec - t->state->start.tv_nsec);
}

/* The lock is held. Threads beyond the last row share it. */
static uint32_t row_of(struct fc_trace_state *s) {
    const pthread_t me = pthread_self();
    for (uint32_t i = 0; i < s->threads; i++)
        if (pthread_equal(s->thread[i], me)) return i;
    if (s->threads == ROWS) return ROWS - 1;
    s->thread[s->threads] = me;
    return s->threads++;
}

static void put(fc_trace *t, fc_trace_event x) {
    if (t->events.len >= FC_TRACE_EVENTS || !fc_push(t->alloc, &t->events, x)) t->dropped++;
}

static void add(fc_trace *t, const char *kind, const char *name, double begin, int64_t bytes) {
    if (!t->record) return;
    fc_trace_event x = {.kind = kind, .begin = begin, .end = fc_trace_now(t), .bytes = bytes};
    snprintf(x.name, sizeof x.name, "%s", name);
    pthread_mutex_lock(&t->state->lock);
    x.row = row_of(t->state);
    put(t, x);
    pthread_mutex_unlock(&t->state->lock);
}

void fc_trace_span(fc_trace *t, const char *kind, const char *name, double begin) {
    add(t, kind, name, begin, -1);
}

static void push(const fc_trace *t, const char *what, const char *name) {
    char text[FC_TRACE_NAME + 32];
    if (!t->state->nvtx.push) return;
    snprintf(text, sizeof text, "fusec: %s%s", what, name);
    t->state->nvtx.push(text);
}

static void pop(const fc_trace *t) {
    if (t->state->nvtx.pop) t->state->nvtx.pop();
}

/* ---- names of code ------------------------------------------------------------------------------
 */

static traced *of(const fc_device *d) {
    return (traced *)(uintptr_t)d->ops;
}

static void remember(traced *x, const fc_device *d, void *code, const char *name) {
    struct fc_trace_state *s = x->t->state;
    named n = {.d = d, .code = code};
    snprintf(n.name, sizeof n.name, "%s", name);
    pthread_mutex_lock(&s->lock);
    (void)fc_push(x->t->alloc, &s->codes, n); /* without a name it is "a kernel" */
    pthread_mutex_unlock(&s->lock);
}

static void name_of(traced *x, const fc_device *d, const void *code, char out[FC_TRACE_NAME]) {
    struct fc_trace_state *s = x->t->state;
    snprintf(out, FC_TRACE_NAME, "a kernel");
    pthread_mutex_lock(&s->lock);
    for (size_t i = s->codes.len; i-- > 0;)
        if (s->codes.at[i].d == d && s->codes.at[i].code == code) {
            memcpy(out, s->codes.at[i].name, FC_TRACE_NAME);
            break;
        }
    pthread_mutex_unlock(&s->lock);
}

static void forget(traced *x, const fc_device *d, const void *code) {
    struct fc_trace_state *s = x->t->state;
    pthread_mutex_lock(&s->lock);
    for (size_t i = s->codes.len; i-- > 0;)
        if (s->codes.at[i].d == d && s->codes.at[i].code == code)
            s->codes.at[i] = s->codes.at[--s->codes.len];
    pthread_mutex_unlock(&s->lock);
}

/* The entry point of a text: CUDA C or LLVM IR. */
static void entry_of(const char *text, char out[FC_TRACE_NAME]) {
    const char *at = strstr(text, "extern \"C\" __global__");
    at = at ? strstr(at, " fusec_") : strstr(text, "define void @fusec_");
    if (at) at = strstr(at, "fusec_");
    snprintf(out, FC_TRACE_NAME, "%.*s", at ? (int)strcspn(at, "( \n") : 9, at ? at : "a program");
}

/* ---- functions of a device ----------------------------------------------------------------------
 */

#define COPY(fn, name)                                                                             \
    static fusec_status fn(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,    \
                           fc_error *e) {                                                          \
        traced *x = of(d);                                                                         \
        const double begin = fc_trace_now(x->t);                                                   \
        const fusec_status st = x->real->fn(d, s, dst, src, bytes, e);                             \
        add(x->t, "copy", name, begin, (int64_t)bytes);                                            \
        return st;                                                                                 \
    }
COPY(upload, "to the device")
COPY(download, "from the device")
COPY(copy, "on the device")

static fusec_status sync(fc_device *d, fc_stream s, fc_error *e) {
    traced *x = of(d);
    const double begin = fc_trace_now(x->t);
    const fusec_status st = x->real->sync(d, s, e);
    if (!d->host_memory) add(x->t, "wait", "wait", begin, -1);
    return st;
}

static fusec_status compile(fc_device *d, uint32_t mode, fc_effort effort, const char *text,
                            fc_bytes *out, fc_error *e) {
    traced *x = of(d);
    char name[FC_TRACE_NAME];
    entry_of(text, name);
    const double begin = fc_trace_now(x->t);
    push(x->t, effort == FC_QUICK ? "compile quickly " : "compile ", name);
    const fusec_status st = x->real->compile(d, mode, effort, text, out, e);
    pop(x->t);
    add(x->t, effort == FC_QUICK ? "compile quickly" : "compile", name, begin, (int64_t)out->len);
    return st;
}

static fusec_status load(fc_device *d, const fc_kernel *k, const fc_class *c, const char *name,
                         const fc_bytes *binary, void **code, fc_error *e) {
    traced *x = of(d);
    char own[FC_KERNEL_NAME];
    const double begin = fc_trace_now(x->t);
    const fusec_status st = x->real->load(d, k, c, name, binary, code, e);
    if (k && d->kind == FC_DEV_INTERP) { /* its code has no entry point */
        fc_kernel_name(k, own);
        name = own;
    }
    if (!st) remember(x, d, *code, name);
    add(x->t, "load", name, begin, (int64_t)binary->len);
    return st;
}

static fusec_status load_more(fc_device *d, void *code, const char *name, void **out, fc_error *e) {
    traced *x = of(d);
    const fusec_status st = x->real->load_more(d, code, name, out, e);
    if (!st) remember(x, d, *out, name);
    return st;
}

static void unload(fc_device *d, void *code) {
    traced *x = of(d);
    forget(x, d, code);
    x->real->unload(d, code);
}

/* The events before and after a launch; false: it goes without. */
static bool begin_events(traced *x, fc_device *d, fc_stream s, pending *p) {
    const struct fc_device_streams *f = d->hooks->streams;
    *p = (pending){.d = d};
    if (!x->has_events || x->t->state->waiting.len >= PENDING) return false;
    if (f->event_new(d, &p->begin, NULL)) return false;
    if (!f->event_new(d, &p->end, NULL) && !f->event_record(d, p->begin, s, NULL)) return true;
    f->event_free(d, p->begin);
    if (p->end) f->event_free(d, p->end);
    return false;
}

static void end_events(traced *x, fc_device *d, fc_stream s, pending *p) {
    const struct fc_device_streams *f = d->hooks->streams;
    fc_trace *t = x->t;
    bool kept = !f->event_record(d, p->end, s, NULL);
    pthread_mutex_lock(&t->state->lock);
    kept = kept && fc_push(t->alloc, &t->state->waiting, *p);
    pthread_mutex_unlock(&t->state->lock);
    if (kept) return;
    f->event_free(d, p->begin);
    f->event_free(d, p->end);
}

static fusec_status launch(fc_device *d, fc_stream s, void *code, const fc_class *c,
                           const fc_launch *l, const int64_t *params, uint32_t words, fc_error *e) {
    traced *x = of(d);
    pending p;
    char name[FC_TRACE_NAME];
    name_of(x, d, code, name);
    push(x->t, "", name);
    const bool events = begin_events(x, d, s, &p);
    const double begin = fc_trace_now(x->t);
    const fusec_status st = x->real->launch(d, s, code, c, l, params, words, e);
    add(x->t, d->host_memory ? "kernel" : "launch", name, begin, -1);
    if (events) {
        memcpy(p.name, name, sizeof p.name);
        end_events(x, d, s, &p);
    }
    pop(x->t);
    return st;
}

/* One by one, so that each has its time. */
static fusec_status launch_all(fc_device *d, fc_stream s, const fc_prepared *l, uint32_t n,
                               fc_error *e) {
    for (uint32_t i = 0; i < n; i++)
        FC_TRY(launch(d, s, l[i].code, l[i].cls, l[i].launch, l[i].params, l[i].words, e));
    return FUSEC_OK;
}

static fusec_status graph_run(fc_device *d, fc_stream s, void *graph, fc_prepared *l, uint32_t n,
                              fc_error *e) {
    traced *x = of(d);
    const double begin = fc_trace_now(x->t);
    push(x->t, "graph", "");
    const fusec_status st = x->real->graph_run(d, s, graph, l, n, e);
    pop(x->t);
    add(x->t, "launch", "graph", begin, -1);
    return st;
}

/* ---- attaching ----------------------------------------------------------------------------------
 */

/* The device's clock and ours meet where it has nothing to do. */
static void start_clock(traced *x, fc_device *d) {
    const struct fc_device_streams *f = d->hooks->streams;
    if (!x->t->record || d->host_memory || !f || f->event_new(d, &x->base, NULL)) return;
    x->has_events = !f->event_record(d, x->base, NULL, NULL) && !f->event_sync(d, x->base, NULL);
    x->base_at = fc_trace_now(x->t);
}

bool fc_trace_attach(fc_trace *t, fc_device *d) {
    struct fc_trace_state *s = t->state;
    for (size_t i = 0; i < s->devices.len; i++)
        if (&s->devices.at[i]->ops == d->ops) return true;
    traced *x = fc_calloc(t->alloc, 1, sizeof *x);
    if (!x || !fc_push(t->alloc, &s->devices, x)) {
        fc_free(t->alloc, x);
        return false;
    }
    x->t = t;
    x->d = d;
    x->real = d->ops;
    x->ops = *d->ops;
    x->ops.upload = upload;
    x->ops.download = download;
    x->ops.copy = copy;
    x->ops.sync = sync;
    if (x->ops.compile) x->ops.compile = compile;
    x->ops.load = load;
    if (x->ops.load_more) x->ops.load_more = load_more;
    x->ops.unload = unload;
    x->ops.launch = launch;
    x->ops.launch_all = launch_all;
    if (x->ops.graph_run) x->ops.graph_run = graph_run;
    start_clock(x, d);
    d->ops = &x->ops;
    return true;
}

void fc_trace_settle(fc_trace *t) {
    struct fc_trace_state *s = t->state;
    for (size_t i = 0; i < s->waiting.len; i++) {
        pending *p = &s->waiting.at[i];
        traced *x = of(p->d);
        const struct fc_device_streams *f = p->d->hooks->streams;
        double begin = 0, took = 0;
        if (!f->event_sync(p->d, p->end, NULL) &&
            !f->event_seconds(p->d, x->base, p->begin, &begin, NULL) &&
            !f->event_seconds(p->d, p->begin, p->end, &took, NULL)) {
            fc_trace_event k = {.kind = "kernel", .bytes = -1};
            memcpy(k.name, p->name, sizeof k.name);
            k.row = FC_TRACE_DEVICE_ROW + (uint32_t)p->d->ordinal;
            k.begin = x->base_at + begin;
            k.end = k.begin + took;
            put(t, k);
        }
        f->event_free(p->d, p->begin);
        f->event_free(p->d, p->end);
    }
    s->waiting.len = 0;
    for (size_t i = 0; i < s->devices.len; i++) {
        traced *x = s->devices.at[i];
        if (x->base) x->d->hooks->streams->event_free(x->d, x->base);
        x->base = NULL;
        x->has_events = false;
    }
}

/* ---- NVTX ---------------------------------------------------------------------------------------
 */

bool fc_trace_nvtx(fc_trace *t, fc_str *why) {
    static const fc_dynsym syms[] = {NVTX_FNS(NVTX_ROW)};
    static const char *const names[] = {"libnvToolsExt.so.1", "libnvtx3interop.so.1",
                                        "libnvtx3interop.so", NULL};
    static const char *const dirs[] = {"", "/usr/local/cuda*/lib64", "/opt/cuda/lib64", NULL};
    const fc_dynsearch look = {.env_name = "FUSEC_NVTX_PATH",
                               .names = names,
                               .dirs = dirs,
                               .syms = syms,
                               .n_syms = FC_COUNT(syms)};
    return fc_dynlib_open(&look, &t->state->nvtx, sizeof t->state->nvtx, &t->state->nvtx_lib, why);
}

/* ---- the trace ----------------------------------------------------------------------------------
 */

fusec_status fc_trace_new(const fc_alloc *a, bool record, fc_trace **out, fc_error *e) {
    fc_trace *t = fc_calloc(a, 1, sizeof *t);
    struct fc_trace_state *s = fc_calloc(a, 1, sizeof *s);
    *out = NULL;
    if (!t || !s) {
        fc_free(a, t);
        fc_free(a, s);
        return fc_oom(e);
    }
    t->alloc = a;
    t->record = record;
    t->state = s;
    pthread_mutex_init(&s->lock, NULL);
    clock_gettime(CLOCK_MONOTONIC, &s->start);
    *out = t;
    return FUSEC_OK;
}

void fc_trace_free(fc_trace *t) {
    if (!t) return;
    struct fc_trace_state *s = t->state;
    const fc_alloc *a = t->alloc;
    for (size_t i = 0; i < s->devices.len; i++) fc_free(a, s->devices.at[i]);
    fc_vec_free(a, &s->devices);
    fc_vec_free(a, &s->codes);
    fc_vec_free(a, &s->waiting);
    fc_vec_free(a, &t->events);
    fc_dynlib_close(&s->nvtx_lib);
    pthread_mutex_destroy(&s->lock);
    fc_free(a, s);
    fc_free(a, t);
}
