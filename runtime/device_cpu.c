/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_cpu.c - the CPU through LLVM. LLVM itself is loaded when something must be compiled: code
 * from the disk cache runs without it. */
#include <sys/stat.h>

#include "codegen/interp/interp.h"
#include "codegen/llvm/llvm_math.h"
#include "runtime/compile/helper.h"
#include "runtime/compile/kernel_symbols.h"
#include "runtime/compile/llvm_compile.h"
#include "runtime/compile/objload.h"
#include "runtime/device_host.h"
#include "ir/float_state.h"

/* Operations of one thread that take about a millisecond; quick code takes up to two, and is there
 * two to six earlier. */
enum { QUICK_WORK = 1 << 25 };
/* Operations that take the interpreter 0.05 to 0.3 ms; LLVM takes 12 to be opened, and then 2 to 20
 * for quick code. */
enum { INTERPRETED_WORK = 1 << 19 };

typedef void (*kernel_fn)(const int64_t *params, int64_t begin, int64_t end);

typedef struct cpu_device {
    fc_host_device host;
    char llvm_path[512]; /* what fc_llvm_open will load; "": nothing is there */
    long long llvm_size; /* of that file: an update behind the same name differs in it */
    bool sought;         /* these two are known; under lock */
    pthread_mutex_t lock;
    fc_llvm *llvm;
} cpu_device;

typedef struct cpu_code {
    fc_object *object;
    kernel_fn main, finish;
    fc_interp *interp; /* in their place */
} cpu_code;

static const fc_llvm_options compile_options = {.passes = FC_LLVM_EARLY_CSE, .level = 2},
                             quick_options = {.passes = FC_LLVM_NO_PASSES, .level = 0};

/* The processor's raw identification, or the level that the code is for. */
static void salt(fc_device *d, uint32_t mode, fc_str *out) {
    const cpu_device *c = (const cpu_device *)d;
    fc_str_printf(out, "cpu %s passes %d level %d vector %d mode %u",
                  d->machine.cpu ? d->machine.cpu : c->host.cpu.key, (int)compile_options.passes,
                  compile_options.level, d->machine.vector_bytes, mode);
}

/* Looks for LLVM when it is first asked for: it means to look through many folders, and with a pack
 * nobody may ask. */
static bool there_is_llvm(cpu_device *c) {
    struct stat st;
    pthread_mutex_lock(&c->lock);
    if (!c->sought) {
        if (!fc_llvm_find(c->host.base.places, c->llvm_path, sizeof c->llvm_path))
            c->llvm_path[0] = 0;
        if (*c->llvm_path && !stat(c->llvm_path, &st)) c->llvm_size = (long long)st.st_size;
        c->sought = true;
    }
    pthread_mutex_unlock(&c->lock);
    return *c->llvm_path;
}

/* The library's file, whose name holds the version: exact without loading LLVM. */
static void maker(fc_device *d, fc_str *out) {
    cpu_device *c = (cpu_device *)d;
    const bool any = there_is_llvm(c);
    const char *slash = strrchr(c->llvm_path, '/');
    if (any) fc_str_printf(out, "%s %lld", slash ? slash + 1 : c->llvm_path, c->llvm_size);
}

static fusec_status need_llvm(cpu_device *c, fc_error *e) {
    pthread_mutex_lock(&c->lock);
    fusec_status s =
        c->llvm ? FUSEC_OK : fc_llvm_open_in(c->host.base.alloc, c->host.base.places, &c->llvm, e);
    pthread_mutex_unlock(&c->lock);
    return s;
}

static fusec_status compile(fc_device *d, uint32_t mode, fc_effort effort, const char *text,
                            fc_bytes *out, fc_error *e) {
    cpu_device *c = (cpu_device *)d;
    fc_llvm_options o = effort == FC_QUICK ? quick_options : compile_options;
    o.cpu = d->machine.cpu;
    o.features = d->machine.features;
    (void)mode;
    if (d->helper) return fc_helper_llvm(d->helper, text, strlen(text), FC_ENTRY, &o, out, e);
    FC_TRY(need_llvm(c, e));
    return fc_llvm_compile(c->llvm, text, strlen(text), FC_ENTRY, &o, out, e);
}

static void unload(fc_device *d, void *code) {
    cpu_code *x = code;
    if (!x) return;
    fc_object_unload(x->object);
    fc_interp_free(x->interp);
    fc_free(d->alloc, x);
}

static fusec_status load(fc_device *d, const fc_kernel *k, const fc_class *cls, const char *name,
                         const fc_bytes *binary, void **code, fc_error *e) {
    (void)k, (void)cls;
    cpu_code *x = fc_calloc(d->alloc, 1, sizeof *x);
    if (!x) return fc_oom(e);
    fusec_status s =
        fc_object_load(d->alloc, binary->data, binary->len, fc_kernel_symbol, &x->object, e);
    char finish[64];
    size_t n = strlen(name);
    if (!s && n + 8 < sizeof finish) {
        memcpy(finish, name, n);
        memcpy(finish + n, "_finish", 8);
        x->main = (kernel_fn)fc_object_function(x->object, name);
        x->finish = (kernel_fn)fc_object_function(x->object, finish);
    }
    if (!s && !x->main) s = fc_fail(e, FUSEC_LLVM, "the object has no function %s", name);
    if (s) {
        unload(d, x);
        return s;
    }
    *code = x;
    return FUSEC_OK;
}

/* By the formulas that compiled code has for functions, to the bit. */
static fusec_status interpret(fc_device *d, const fc_kernel *k, void **code, fc_error *e) {
    cpu_code *x = fc_calloc(d->alloc, 1, sizeof *x);
    if (!x) return fc_oom(e);
    const fusec_status s =
        fc_interp_compile(k, fc_math_rewrite(&d->machine), d->alloc, &x->interp, e);
    if (s)
        fc_free(d->alloc, x);
    else
        *code = x;
    return s;
}

/* Work for one thread needs no job: kernels do not fail. */
static inline bool run_here(kernel_fn fn, const int64_t *params, int64_t units, int64_t unit) {
    if (units > unit) return false;
    uint64_t before = fc_float_enter();
    if (units > 0) fn(params, 0, units);
    fc_float_leave(before);
    return true;
}

typedef struct job {
    kernel_fn fn;
    const int64_t *params;
} job;

static fusec_status run(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const job *j = arg;
    (void)e;
    j->fn(j->params, begin, end);
    return FUSEC_OK;
}

typedef struct interp_job {
    const fc_interp *interp;
    const fc_class *cls;
    const int64_t *params;
} interp_job;

static fusec_status run_interp(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const interp_job *j = arg;
    (void)e;
    fc_interp_run(j->interp, j->cls, j->params, begin, end);
    return FUSEC_OK;
}

/* Its units are rows; so little is not worth waking a thread. */
static fusec_status launch_interp(fc_host_device *h, const fc_interp *ip, const fc_class *c,
                                  const int64_t *params, uint32_t words, fc_error *e) {
    interp_job j = {ip, c, params};
    const int64_t rows = params[words - FC_PB_EXTRA + FC_PB_ROWS];
    return fc_host_run(h, rows, rows, true, run_interp, &j, e);
}

static fusec_status launch(fc_device *d, fc_stream s, void *code, const fc_class *c,
                           const fc_launch *l, const int64_t *params, uint32_t words, fc_error *e) {
    (void)s;
    const cpu_code *x = code;
    fc_host_device *h = (fc_host_device *)d;
    if (x->interp) return launch_interp(h, x->interp, c, params, words, e);
    job j = {x->main, params};
    if (!run_here(x->main, params, l->units, l->unit))
        FC_TRY(fc_host_run(h, l->units, l->unit, l->brief, run, &j, e));
    if (!l->finish) return FUSEC_OK;
    if (!x->finish)
        return fc_fail(e, FUSEC_INTERNAL, "a split reduction has no finishing function");
    j.fn = x->finish;
    return fc_host_run(h, params[words - FC_PB_EXTRA + FC_PB_ROWS], 256, l->brief, run, &j, e);
}

static const fc_device_ops ops = {
    FC_HOST_OPS,  .salt = salt,     .maker = maker,   .compile = compile,
    .load = load, .unload = unload, .launch = launch, .interpret = interpret,
};

static void close_device(fc_device *d) {
    cpu_device *c = (cpu_device *)d;
    fc_llvm_close(c->llvm);
    pthread_mutex_destroy(&c->lock);
    fc_host_close(&c->host);
}

static fusec_status ready(fc_device *d, fc_error *e) {
    cpu_device *c = (cpu_device *)d;
    return there_is_llvm(c) ? FUSEC_OK : need_llvm(c, e);
}
static const struct fc_device_hooks hooks = {.close = close_device,
                                             .memory = fc_host_memory,
                                             .memory_stats = fc_host_memory_stats,
                                             .trim = fc_host_trim,
                                             .ready = ready};

/* Caches of a level are those of a usual server, so that every machine makes the same kernels. */
static fusec_status take_level(fc_device *d, const char *level, fc_error *e) {
    static const char *const names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    unsigned needs = 0;
    if (!fc_cpu_level(level, &d->machine.vector_bytes, &needs))
        return fc_fail(e, FUSEC_INVALID,
                       "%.60s is no level of the CPU: x86-64, x86-64-v2, x86-64-v3 or x86-64-v4",
                       level);
    if ((d->machine.host_features & needs) != needs)
        return fc_fail(e, FUSEC_INVALID, "this processor lacks what %s has", level);
    for (size_t i = 0; i < FC_COUNT(names); i++)
        if (!strcmp(names[i], level)) d->machine.cpu = names[i];
    d->machine.cache = (size_t)32 << 20;
    d->machine.near_cache = (size_t)1 << 20;
    d->machine.far_cache = false;
    return FUSEC_OK;
}

fusec_status fc_device_open_cpu(const fc_alloc *a, int threads, const char *places,
                                const char *level, fc_device **out, fc_error *e) {
    cpu_device *c = fc_calloc(a, 1, sizeof *c);
    if (!c) return fc_oom(e);
    fusec_status s = fc_host_open(&c->host, a, threads, e);
    if (s) {
        fc_free(a, c);
        return s;
    }
    pthread_mutex_init(&c->lock, NULL);
    fc_device *d = &c->host.base;
    d->places = places;
    d->ops = &ops;
    d->hooks = &hooks;
    d->target = &fc_llvm_target;
    d->machine.target = FC_TARGET_LLVM;
    d->kind = FC_DEV_CPU;
    d->quick_work = QUICK_WORK * (double)d->machine.threads;
    d->interpreted_work = INTERPRETED_WORK;
    memcpy(d->name, "cpu", 4);
    if (level && *level && (s = take_level(d, level, e)) != FUSEC_OK) {
        close_device(d);
        return s;
    }
    *out = d;
    return FUSEC_OK;
}
