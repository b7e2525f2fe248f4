/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda.c - calls on a GPU; see aot.h. The driver, libcuda.so.1, is found when a program opens it.
 *
 * Opening loads the code of all definitions into the context that is current. A call only zeroes
 * tickets and launches, on the caller's stream and in the caller's scratch memory: it waits for
 * nothing and allocates nothing, so it may be captured. */
#include "runtime/aot/bound.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "codegen/cuda/schedule/cuda_schedule.h"

/* ---- the driver ------------------------------------------------------------------------------ */

/* clang-format off */
#define DRIVER(X)                                                                                  \
    X(get_context, "cuCtxGetCurrent", (void **context), 1)                                         \
    X(get_device, "cuCtxGetDevice", (int *device), 1)                                              \
    X(attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device), 1)               \
    X(load, "cuModuleLoadData", (void **module, const void *image), 1)                             \
    X(unload, "cuModuleUnload", (void *module), 1)                                                 \
    X(function, "cuModuleGetFunction", (void **f, void *module, const char *name), 1)              \
    X(get, "cuFuncGetAttribute", (int *value, int attribute, void *f), 1)                          \
    X(set, "cuFuncSetAttribute", (void *f, int attribute, int value), 1)                           \
    X(launch, "cuLaunchKernel", (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **params, void **extra), 1) \
    X(launch_together, "cuLaunchCooperativeKernel", (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **params), 0) \
    X(zero, "cuMemsetD8Async", (uint64_t at, unsigned char value, size_t n, void *stream), 1)      \
    X(error_name, "cuGetErrorName", (int result, const char **text), 1)                            \
    X(error_words, "cuGetErrorString", (int result, const char **text), 1)
/* clang-format on */

typedef struct driver {
#define X(field, name, args, needed) int(*field) args;
    DRIVER(X)
#undef X
} driver;

typedef struct loaded {
    void *module;
    void **functions; /* of all variants */
    const fc_aot_image *image;
} loaded;

struct fc_aot_cuda {
    void *library;
    driver fn;
    fc_machine machine; /* but for what an image says */
    uint64_t id;
    uint64_t n;
    loaded *at; /* [definitions] */
};

static _Thread_local char said[240];

const char *fusec_aot_cuda_message(void) {
    return said;
}

static int say(int code, const char *fmt, ...) FC_PRINTF(2, 3);
static int say(int code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(said, sizeof said, fmt, ap);
    va_end(ap);
    return code;
}

/* The code for a result of the driver; 0 is success. */
static int answer(const fc_aot_cuda *c, int result, const char *what) {
    enum { OUT_OF_MEMORY = 2 };
    const char *name = NULL, *words = NULL;
    if (!result) return FC_AOT_OK;
    c->fn.error_name(result, &name);
    c->fn.error_words(result, &words);
    return say(result == OUT_OF_MEMORY ? FC_AOT_NOMEM : FC_AOT_DRIVER, "%s: %s (%s)", what,
               words ? words : "an error", name ? name : "?");
}

static int find_driver(fc_aot_cuda *c) {
    static const struct {
        const char *name;
        bool needed;
    } names[] = {
#define X(field, name, args, needed) {name, needed},
        DRIVER(X)
#undef X
    };
    void *found[FC_COUNT(names)];
    _Static_assert(sizeof found == sizeof(driver), "a table of functions");
    c->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!c->library) return say(FC_AOT_NODEVICE, "there is no CUDA driver: %s", dlerror());
    for (size_t i = 0; i < FC_COUNT(names); i++) {
        found[i] = dlsym(c->library, names[i].name);
        if (!found[i] && names[i].needed)
            return say(FC_AOT_NODEVICE, "libcuda.so.1 is too old: it has no %s", names[i].name);
    }
    memcpy(&c->fn, found, sizeof found);
    return FC_AOT_OK;
}

static int read_machine(fc_aot_cuda *c) {
    int v[8] = {0}, device = 0;
    void *context = NULL;
    /* SMs, threads of one, L2, cooperative launches, clusters, 7.5, shared memory of a block */
    static const int wanted[8] = {16, 39, 38, 95, 120, 75, 76, 97};
    if (c->fn.get_context(&context) || !context)
        return say(FC_AOT_NODEVICE, "no CUDA context is current on this thread");
    int r = answer(c, c->fn.get_device(&device), "cuCtxGetDevice");
    for (int i = 0; !r && i < 8; i++)
        r = answer(c, c->fn.attribute(&v[i], wanted[i], device), "cuDeviceGetAttribute");
    c->machine = (fc_machine){.target = FC_TARGET_CUDA,
                              .sm_count = v[0],
                              .max_threads_per_sm = v[1],
                              .cache = v[2] > 0 ? (size_t)v[2] : 0,
                              .together = v[3] && c->fn.launch_together,
                              .clusters = v[4] != 0,
                              .sm_major = v[5],
                              .sm_minor = v[6],
                              .shared_per_block = v[7]};
    return r;
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool fits(const fc_machine *m, const fc_aot_image *x) {
    const int cc = 10 * m->sm_major + m->sm_minor;
    return x->cc <= cc && (x->ptx || x->cc / 10 == m->sm_major) && x->shared <= m->shared_per_block;
}

/* More than 48 KiB of shared memory must be asked for: what a kernel does not declare may be added.
 * A launch says what is wrong, if anything is. */
static void allow_shared(fc_aot_cuda *c, void *f) {
    enum { SHARED_BYTES = 1, MOST_DYNAMIC = 8 };
    int bytes = 0;
    if (!c->fn.get(&bytes, SHARED_BYTES, f))
        (void)c->fn.set(f, MOST_DYNAMIC, c->machine.shared_per_block - bytes);
}

static int find_functions(fc_aot_cuda *c, loaded *l, const fc_aot_code *code) {
    int r = FC_AOT_OK;
    for (uint64_t v = 0; !r && v <= code->n; v++) {
        void **f = &l->functions[code->first + v];
        const char *name = v < code->n ? code->variants[v].name : code->plain.name;
        r = answer(c, c->fn.function(f, l->module, name), "cuModuleGetFunction");
        if (!r) allow_shared(c, *f);
    }
    return r;
}

static int load(fc_aot_cuda *c, const fc_aot_def *d, loaded *l) {
    for (uint64_t i = 0; i < d->nimages && !l->image; i++)
        if (fits(&c->machine, &d->images[i])) l->image = &d->images[i];
    if (!l->image)
        return say(FC_AOT_NODEVICE,
                   "there is no code for sm_%d%d in the object; fusec build --arch adds it",
                   c->machine.sm_major, c->machine.sm_minor);
    l->functions = calloc(l->image->nfunctions + 1, sizeof *l->functions);
    if (!l->functions) return say(FC_AOT_NOMEM, "no memory");
    int r = answer(c, c->fn.load(&l->module, l->image->binary), "cuModuleLoadData");
    for (uint64_t k = 0; !r && k < d->nkernels; k++) r = find_functions(c, l, &l->image->code[k]);
    return r;
}

void fusec_aot_cuda_close(fc_aot_cuda *c) {
    if (!c) return;
    for (uint64_t i = 0; c->at && i < c->n; i++) {
        if (c->at[i].module) (void)c->fn.unload(c->at[i].module);
        free(c->at[i].functions);
    }
    if (c->library) dlclose(c->library);
    free(c->at);
    free(c);
}

static int open_all(fc_aot_cuda *c, const fc_aot_defs *defs) {
    static atomic_ullong opened;
    int r = find_driver(c);
    c->id = atomic_fetch_add(&opened, 1) + 1;
    if (!r) r = read_machine(c);
    c->at = calloc(defs->n + 1, sizeof *c->at);
    if (!r && !c->at) return say(FC_AOT_NOMEM, "no memory");
    c->n = defs->n;
    for (uint64_t i = 0; !r && i < defs->n; i++) r = load(c, defs->at[i], &c->at[i]);
    return r;
}

int fusec_aot_cuda_open(const fc_aot_defs *defs, fc_aot_cuda **out) {
    said[0] = 0;
    if (!out) return say(FC_AOT_ARG, "where to?");
    *out = NULL;
    fc_aot_cuda *c = calloc(1, sizeof *c);
    if (!c) return say(FC_AOT_NOMEM, "no memory");
    const int r = open_all(c, defs);
    if (r)
        fusec_aot_cuda_close(c);
    else
        *out = c;
    return r;
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct arguments {
    const fc_aot_cuda *c;
    void *const *functions;
    void *stream, *scratch;
    void *const *arrays;
} arguments;

static int launch(const arguments *x, const fc_aot_step *s, int64_t *words) {
    const driver *fn = &x->c->fn;
    const fc_launch *l = &s->launch;
    const unsigned gx = (unsigned)l->grid[0], gy = (unsigned)l->grid[1], gz = (unsigned)l->grid[2];
    void *f = x->functions[s->number], *params[] = {words};
    size_t size = s->layout.words * sizeof *words;
    /* the tags of the packed form: 1 is followed by the block, 2 by its size, 0 ends the list */
    void *extra[] = {(void *)1, words, (void *)2, &size, (void *)0};
    if (l->grid[0] > INT32_MAX || l->grid[1] > 65535 || l->grid[2] > 65535)
        return say(FC_AOT_SHAPE, "more blocks than CUDA takes");
    if (l->together)
        return answer(x->c,
                      fn->launch_together(f, gx, gy, gz, l->block[0], l->block[1], l->block[2],
                                          l->shared_bytes, x->stream, params),
                      "cuLaunchCooperativeKernel");
    return answer(x->c,
                  fn->launch(f, gx, gy, gz, l->block[0], l->block[1], l->block[2], l->shared_bytes,
                             x->stream, NULL, extra),
                  "cuLaunchKernel");
}

static int run_step(const fc_aot_bound *b, size_t i, const arguments *x) {
    int64_t few[256], *words = few;
    const fc_aot_step *s = &b->steps[i];
    const size_t size = s->layout.words * sizeof *words;
    if (size > sizeof few && !(words = malloc(size))) return say(FC_AOT_NOMEM, "no memory");
    fc_aot_fill(b, i, x->arrays, x->scratch, words);
    const int r = launch(x, s, words);
    if (words != few) free(words);
    return r;
}

/* Inputs of no axes are numbers of the host. */
static bool is_number(const fc_aot_def *d, uint64_t i) {
    return i < d->nin && !d->buffers[i].rank;
}

/* Bytes of an element of an array that is not aligned to them, as GPUs want it; 0: there is none.
 */
static unsigned misplaced(const fc_aot_def *d, void *const *arrays) {
    for (uint64_t i = 0; i < d->nin + d->nout; i++)
        if (!is_number(d, i) && (uintptr_t)arrays[i] % d->buffers[i].bytes)
            return d->buffers[i].bytes;
    return 0;
}

static int run(const fc_aot_bound *b, void *user) {
    const arguments *x = user;
    const unsigned bytes = misplaced(b->d, x->arrays);
    int r = FC_AOT_OK;
    if (bytes)
        return say(FC_AOT_ARG, "an array of %u bytes an element is not aligned to them", bytes);
    if (fc_aot_lacks(b, x->arrays)) return say(FC_AOT_ARG, "an array is NULL");
    if (b->bytes && (!x->scratch || (uintptr_t)x->scratch % FC_AOT_PLACE))
        return say(FC_AOT_ARG, "scratch is %s: it has to have %zu bytes",
                   x->scratch ? "not aligned to 256 bytes" : "NULL", b->bytes);
    if (b->zero)
        r = answer(x->c, x->c->fn.zero((uint64_t)(uintptr_t)x->scratch, 0, b->zero, x->stream),
                   "cuMemsetD8Async");
    for (size_t i = 0; !r && i < b->d->nkernels; i++)
        if (b->steps[i].code) r = run_step(b, i, x);
    return r;
}

static int measure(const fc_aot_bound *b, void *user) {
    size_t *bytes = user;
    if (b->bytes > *bytes) *bytes = b->bytes;
    return FC_AOT_OK;
}

/* What schedules tell apart: 16, or less. */
static uint32_t alignment(const fc_aot_def *d, void *const *arrays) {
    uintptr_t bits = 16;
    for (uint64_t i = 0; i < d->nin + d->nout; i++)
        if (!is_number(d, i)) bits |= (uintptr_t)arrays[i];
    return (uint32_t)(bits & (~bits + 1));
}

static int anew(const fc_aot_def *d, const fc_aot_cuda *c, uint32_t align, const int64_t *sizes,
                fc_aot_run *what, void *user) {
    fc_machine m = c->machine;
    const fc_aot_image *x = c->at[d->number].image;
    m.sm_major = x->cc / 10;
    m.sm_minor = x->cc % 10;
    m.shared_per_block = (int)x->shared;
    m.clusters &= x->cc >= 90;
    m.later = x->ptx;
    const fc_aot_side side = {.schedule = fc_cuda_schedule,
                              .schedule_plain = fc_cuda_schedule_plain,
                              .machine = &m,
                              .code = x->code,
                              .align = align,
                              .id = c->id};
    const int r = fc_aot_anew(d, &side, sizes, what, user);
    if (r == FC_AOT_SHAPE && !said[0]) say(r, "a negative size, or sizes that do not fit together");
    return r;
}

/* The most that arrays anywhere take. */
int fusec_aot_cuda_scratch(const fc_aot_def *d, fc_aot_cuda *c, const int64_t *sizes,
                           size_t *bytes) {
    int r = FC_AOT_OK;
    said[0] = 0;
    if (!c || !bytes) return say(FC_AOT_ARG, "no %s", c ? "place for the number" : "GPU");
    *bytes = 0;
    for (uint32_t align = 16; !r && align; align /= 2) r = anew(d, c, align, sizes, measure, bytes);
    return r;
}

int fusec_aot_cuda_call(const fc_aot_def *d, fc_aot_cuda *c, void *stream, const int64_t *sizes,
                        void *const *arrays, void *scratch) {
    said[0] = 0;
    if (!c) return say(FC_AOT_ARG, "no GPU: nn_cuda_open gives it");
    const uint32_t align = alignment(d, arrays);
    arguments x = {.c = c,
                   .functions = c->at[d->number].functions,
                   .stream = stream,
                   .scratch = scratch,
                   .arrays = arrays};
    return fc_aot_is_last(d, sizes, align, c->id) ? fc_aot_again(run, &x)
                                                  : anew(d, c, align, sizes, run, &x);
}
