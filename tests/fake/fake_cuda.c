/* fake_cuda.c - a CUDA driver and NVRTC for machines without a GPU: host memory, kernels that run
 * on the host or not at all, checks of every handle and range, and errors on demand. See
 * fake_cuda.h.
 *
 * "Code" is the text of the kernel behind a mark. Work is done when it is ordered; only errors come
 * late. The lock makes it safe for threads; a test changes the controls while nobody calls. */
#include "tests/fake/fake_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API      __attribute__((visibility("default")))
#define MARK     "\177FAKE\n"
#define MARK_LEN (sizeof MARK - 1)

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, BAD_IMAGE = 200, BAD_CONTEXT = 201, NOT_FOUND = 500 };
enum { MOST = 4096, DEPTH = 64, TEXTS = 256, KERNELS = 16 };

typedef unsigned long long address;

static fake_cuda control;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pending, dead; /* an error that waits to be seen; one that stays */
static int version = 13000, devices = 1, nvrtc_version = 13000;
static char behaviour[16], fail_name[64];

API fake_cuda *fake_cuda_control(void);
API void fake_cuda_reset(void);
fake_cuda *fake_cuda_control(void) {
    return &control;
}

static int number(const char *name, int otherwise) {
    const char *s = getenv(name);
    return s ? atoi(s) : otherwise;
}

__attribute__((constructor)) static void from_environment(void) {
    const char *fail = getenv("FAKE_CUDA_FAIL"), *does = getenv("FAKE_NVRTC");
    version = number("FAKE_CUDA_VERSION", version);
    devices = number("FAKE_CUDA_DEVICES", devices);
    nvrtc_version = number("FAKE_NVRTC_VERSION", nvrtc_version);
    if (does) snprintf(behaviour, sizeof behaviour, "%s", does);
    if (fail && sscanf(fail, "%63[^:]:%ld:%d", fail_name, &control.fail_at, &control.result) == 3)
        control.fail_in = fail_name;
}

/* ---- errors on demand -------------------------------------------------------------------------
 */

static bool is_lost(int r) {
    return r == 214 || r == 220 || r == 226 || r == 700 || r == 702 || (r >= 709 && r <= 721) ||
           r == 810 || r == 911 || r == 999;
}

static void misuse(const char *where) {
    if (!control.misuse++) control.misused = where;
}

/* Every call comes by here. `waits` is whether the call would notice what went wrong before. */
static int hit(const char *name, bool waits) {
    pthread_mutex_lock(&lock);
    int r = OK;
    control.calls++;
    if (dead) {
        control.calls_after_loss += strcmp(name, "cuCtxPopCurrent_v2") != 0;
        r = dead;
    } else if (control.fail_at && (!control.fail_in || !strcmp(control.fail_in, name)) &&
               --control.fail_at == 0) {
        if (control.times > 1) control.times--, control.fail_at = 1;
        control.fired++;
        control.last = name;
        if (control.later) {
            pending = control.result;
        } else {
            r = control.result;
            if (control.stays || is_lost(r)) dead = r;
        }
    } else if (waits && pending) {
        r = pending;
        pending = 0;
        if (control.stays || is_lost(r)) dead = r;
    }
    pthread_mutex_unlock(&lock);
    return r;
}
#define HIT(name)                                                                                  \
    do {                                                                                           \
        int r_ = hit(name, false);                                                                 \
        if (r_) return r_;                                                                         \
    } while (0)
#define WAIT(name)                                                                                 \
    do {                                                                                           \
        int r_ = hit(name, true);                                                                  \
        if (r_) return r_;                                                                         \
    } while (0)

/* ---- things that are alive --------------------------------------------------------------------
 */

typedef struct thing {
    char *at;
    size_t bytes;
    long *count;

} thing;
static thing things[MOST];
static __thread void *stack[DEPTH]; /* of current contexts */
static __thread int depth;

static thing *find(const void *p, size_t bytes) {
    for (int i = 0; i < MOST; i++) {
        thing *t = &things[i];
        if (t->at && (const char *)p >= t->at && (const char *)p + bytes <= t->at + t->bytes)
            return t;
    }
    return NULL;
}

static void *make(size_t bytes, long *count) {
    void *p = NULL;
    pthread_mutex_lock(&lock);
    bool room =
        count != &control.memory || !control.limit || control.bytes + bytes <= control.limit;
    for (int i = 0; i < MOST && room && !p; i++) {
        if (things[i].at) continue;
        p = aligned_alloc(256, (bytes + 255) / 256 * 256);
        if (!p) break;
        memset(p, 0xee, bytes);
        things[i] = (thing){p, bytes, count};
        ++*count;
        if (count == &control.memory) control.bytes += bytes;
    }
    pthread_mutex_unlock(&lock);
    return p;
}

static int drop(const void *p, const long *count, const char *where) {
    pthread_mutex_lock(&lock);
    thing *t = find(p, 0);
    int r = OK;
    if (!t || t->at != p || t->count != count) {
        misuse(where);
        r = INVALID;
    } else {
        if (count == &control.memory) control.bytes -= t->bytes;
        --*t->count;
        free(t->at);
        memset(t, 0, sizeof *t);
    }
    pthread_mutex_unlock(&lock);
    return r;
}

static bool is_alive(const void *p, const long *count) {
    pthread_mutex_lock(&lock);
    thing *t = find(p, 0);
    bool alive = t && t->at == p && t->count == count;
    pthread_mutex_unlock(&lock);
    return alive;
}

static bool in_memory(address p, size_t bytes, const char *where) {
    pthread_mutex_lock(&lock);
    thing *t = find((void *)(uintptr_t)p, bytes);
    bool good = t && t->count == &control.memory;
    if (!good) misuse(where);
    pthread_mutex_unlock(&lock);
    return good;
}

/* Between tests: nothing is alive and nothing is wrong. */
void fake_cuda_reset(void) {
    for (int i = 0; i < MOST; i++) free(things[i].at);
    memset(things, 0, sizeof things);
    memset(&control, 0, sizeof control);
    pending = dead = depth = 0;
}

/* ---- devices and contexts ----------------------------------------------------------------------
 */

static char primary;

static bool current(const char *where) {
    if (depth && stack[depth - 1]) return true;
    misuse(where);
    return false;
}
#define NEED_CONTEXT(name)                                                                         \
    do {                                                                                           \
        if (!current(name)) return BAD_CONTEXT;                                                    \
    } while (0)

#define FN(name, args)                                                                             \
    API int name args;                                                                             \
    int name args

FN(cuInit, (unsigned flags)) {
    (void)flags;
    HIT("cuInit");
    return number("FAKE_CUDA_INIT", OK);
}
FN(cuDriverGetVersion, (int *v)) {
    *v = version;
    return OK;
}
FN(cuGetErrorName, (int r, const char **t)) {
    *t = is_lost(r)       ? "CUDA_ERROR_LOST"
         : r == NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                          : "CUDA_ERROR";
    return OK;
}
FN(cuGetErrorString, (int r, const char **t)) {
    *t = is_lost(r) ? "the device is gone" : r == NO_MEMORY ? "out of memory" : "made to fail";
    return OK;
}
FN(cuDeviceGetCount, (int *n)) {
    HIT("cuDeviceGetCount");
    *n = devices;
    return OK;
}
FN(cuDeviceGet, (int *d, int i)) {
    HIT("cuDeviceGet");
    *d = i;
    return i < devices ? OK : 101;
}
FN(cuDeviceGetName, (char *name, int size, int d)) {
    HIT("cuDeviceGetName");
    snprintf(name, (size_t)size, "Fake GPU %d", d);
    return OK;
}
FN(cuDeviceGetAttribute, (int *v, int a, int d)) {
    (void)d;
    HIT("cuDeviceGetAttribute");
    switch (a) {
    case 1: *v = 1024; break;
    case 8: *v = 48 << 10; break;
    case 10: *v = 32; break;
    case 12: *v = 65536; break;
    case 16: *v = 4; break;
    case 39: *v = 2048; break;
    case 75: *v = 9; break;
    case 76: *v = 0; break;
    case 97: *v = 227 << 10; break;
    case 115: *v = !control.no_pools; break;
    default: *v = 0;
    }
    return OK;
}
FN(cuDeviceTotalMem_v2, (size_t * n, int d)) {
    (void)d;
    HIT("cuDeviceTotalMem_v2");
    *n = (size_t)1 << 34;
    return OK;
}
FN(cuDevicePrimaryCtxRetain, (void **c, int d)) {
    (void)d;
    HIT("cuDevicePrimaryCtxRetain");
    control.contexts++;
    *c = &primary;
    return OK;
}
FN(cuDevicePrimaryCtxRelease_v2, (int d)) {
    (void)d;
    HIT("cuDevicePrimaryCtxRelease_v2");
    if (--control.contexts < 0) misuse("cuDevicePrimaryCtxRelease");
    return OK;
}
FN(cuCtxPushCurrent_v2, (void *c)) {
    HIT("cuCtxPushCurrent_v2");
    if (depth == DEPTH) return misuse("cuCtxPushCurrent"), INVALID;
    stack[depth++] = c;
    return OK;
}
FN(cuCtxPopCurrent_v2, (void **c)) {
    int r = hit("cuCtxPopCurrent_v2", false); /* it is popped all the same */
    if (!depth) return misuse("cuCtxPopCurrent"), BAD_CONTEXT;
    *c = stack[--depth];
    return r;
}
FN(cuCtxSetCurrent, (void *c)) {
    HIT("cuCtxSetCurrent");
    if (!depth) depth = 1;
    stack[depth - 1] = c;
    return OK;
}
FN(cuCtxGetCurrent, (void **c)) {
    HIT("cuCtxGetCurrent");
    *c = depth ? stack[depth - 1] : NULL;
    return OK;
}
FN(cuCtxSynchronize, (void)) {
    NEED_CONTEXT("cuCtxSynchronize");
    WAIT("cuCtxSynchronize");
    return OK;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static int allocate(address *p, size_t n) {
    void *m = make(n, &control.memory);
    *p = (address)(uintptr_t)m;
    return m ? OK : NO_MEMORY;
}
FN(cuMemGetInfo_v2, (size_t * have, size_t *total)) {
    NEED_CONTEXT("cuMemGetInfo");
    HIT("cuMemGetInfo_v2");
    *total = control.limit ? control.limit : (size_t)1 << 34;
    *have = *total - control.bytes;
    return OK;
}
FN(cuMemAlloc_v2, (address * p, size_t n)) {
    NEED_CONTEXT("cuMemAlloc");
    HIT("cuMemAlloc_v2");
    return allocate(p, n);
}
FN(cuMemFree_v2, (address p)) {
    NEED_CONTEXT("cuMemFree");
    HIT("cuMemFree_v2");
    return drop((void *)(uintptr_t)p, &control.memory, "cuMemFree");
}
static bool stream_good(void *s, const char *where) {
    if (!s || is_alive(s, &control.streams)) return true;
    misuse(where);
    return false;
}
#define NEED_STREAM(s, name)                                                                       \
    do {                                                                                           \
        if (!stream_good(s, name)) return 400;                                                     \
    } while (0)
FN(cuMemAllocHost_v2, (void **p, size_t n)) {
    HIT("cuMemAllocHost_v2");
    *p = malloc(n);
    return *p ? OK : NO_MEMORY;
}
FN(cuMemFreeHost, (void *p)) {
    HIT("cuMemFreeHost");
    free(p);
    return OK;
}
#ifndef FAKE_NO_POOLS
FN(cuMemAllocAsync, (address * p, size_t n, void *s)) {
    NEED_CONTEXT("cuMemAllocAsync");
    NEED_STREAM(s, "cuMemAllocAsync");
    HIT("cuMemAllocAsync");
    return allocate(p, n);
}
FN(cuMemFreeAsync, (address p, void *s)) {
    NEED_CONTEXT("cuMemFreeAsync");
    NEED_STREAM(s, "cuMemFreeAsync");
    HIT("cuMemFreeAsync");
    return drop((void *)(uintptr_t)p, &control.memory, "cuMemFreeAsync");
}
FN(cuDeviceGetDefaultMemPool, (void **p, int d)) {
    (void)d;
    HIT("cuDeviceGetDefaultMemPool");
    *p = &primary;
    return OK;
}
FN(cuMemPoolSetAttribute, (void *p, int a, void *v)) {
    (void)p, (void)a, (void)v;
    HIT("cuMemPoolSetAttribute");
    return OK;
}
#endif

static int copy(address to, address from, size_t n, bool check_to, bool check_from,
                const char *name) {
    if (check_to && !in_memory(to, n, name)) return INVALID;
    if (check_from && !in_memory(from, n, name)) return INVALID;
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
    return OK;
}
#define COPY(symbol, args, to, from, n, check_to, check_from, waits, s)                            \
    FN(symbol, args) {                                                                             \
        NEED_CONTEXT(#symbol);                                                                     \
        NEED_STREAM(s, #symbol);                                                                   \
        int r = hit(#symbol, waits);                                                               \
        return r ? r                                                                               \
                 : copy((address)(uintptr_t)(to), (address)(uintptr_t)(from), n, check_to,         \
                        check_from, #symbol);                                                      \
    }
COPY(cuMemcpyHtoD_v2, (address to, const void *from, size_t n), to, from, n, true, false, true,
     NULL)
COPY(cuMemcpyDtoH_v2, (void *to, address from, size_t n), to, from, n, false, true, true, NULL)
COPY(cuMemcpyDtoD_v2, (address to, address from, size_t n), to, from, n, true, true, true, NULL)
COPY(cuMemcpyHtoDAsync_v2, (address to, const void *from, size_t n, void *s), to, from, n, true,
     false, false, s)
COPY(cuMemcpyDtoHAsync_v2, (void *to, address from, size_t n, void *s), to, from, n, false, true,
     false, s)
COPY(cuMemcpyDtoDAsync_v2, (address to, address from, size_t n, void *s), to, from, n, true, true,
     false, s)

FN(cuMemsetD8_v2, (address p, unsigned char v, size_t n)) {
    NEED_CONTEXT("cuMemsetD8");
    WAIT("cuMemsetD8_v2");
    if (!in_memory(p, n, "cuMemsetD8")) return INVALID;
    memset((void *)(uintptr_t)p, v, n);
    return OK;
}
FN(cuMemsetD8Async, (address p, unsigned char v, size_t n, void *s)) {
    NEED_CONTEXT("cuMemsetD8Async");
    NEED_STREAM(s, "cuMemsetD8Async");
    HIT("cuMemsetD8Async");
    if (!in_memory(p, n, "cuMemsetD8Async")) return INVALID;
    memset((void *)(uintptr_t)p, v, n);
    return OK;
}
FN(cuMemsetD32Async, (address p, unsigned v, size_t n, void *s)) {
    NEED_CONTEXT("cuMemsetD32Async");
    NEED_STREAM(s, "cuMemsetD32Async");
    HIT("cuMemsetD32Async");
    if (!in_memory(p, 4 * n, "cuMemsetD32Async")) return INVALID;
    for (size_t i = 0; i < n; i++) ((unsigned *)(uintptr_t)p)[i] = v;
    return OK;
}
FN(cuPointerGetAttribute, (void *v, int a, address p)) {
    HIT("cuPointerGetAttribute");
    pthread_mutex_lock(&lock);
    thing *t = find((void *)(uintptr_t)p, 0);
    bool mine = t && t->count == &control.memory;
    pthread_mutex_unlock(&lock);
    if (!mine) return INVALID;
    *(unsigned *)v = a == 2 ? 2 : 0;
    return OK;
}

/* ---- streams and events ------------------------------------------------------------------------
 */

static atomic_long made_streams; /* the number of the latest: a place in memory comes again */

FN(cuStreamCreate, (void **s, unsigned flags)) {
    (void)flags;
    NEED_CONTEXT("cuStreamCreate");
    HIT("cuStreamCreate");
    *s = make(sizeof(unsigned long long), &control.streams);
    if (*s) *(unsigned long long *)*s = (unsigned long long)++made_streams;
    return *s ? OK : NO_MEMORY;
}
FN(cuStreamGetId, (void *s, unsigned long long *id)) {
    NEED_STREAM(s, "cuStreamGetId");
    HIT("cuStreamGetId");
    if (!s) return INVALID;
    *id = *(unsigned long long *)s;
    return OK;
}
FN(cuStreamIsCapturing, (void *s, int *status)) {
    NEED_STREAM(s, "cuStreamIsCapturing");
    HIT("cuStreamIsCapturing");
    *status = control.capturing;
    return OK;
}
FN(cuStreamDestroy_v2, (void *s)) {
    HIT("cuStreamDestroy_v2");
    return drop(s, &control.streams, "cuStreamDestroy");
}
FN(cuStreamSynchronize, (void *s)) {
    NEED_STREAM(s, "cuStreamSynchronize");
    WAIT("cuStreamSynchronize");
    return OK;
}
FN(cuStreamQuery, (void *s)) {
    NEED_STREAM(s, "cuStreamQuery");
    WAIT("cuStreamQuery");
    return OK;
}
FN(cuStreamWaitEvent, (void *s, void *ev, unsigned flags)) {
    (void)flags, (void)ev;
    NEED_STREAM(s, "cuStreamWaitEvent");
    HIT("cuStreamWaitEvent");
    return OK;
}
FN(cuEventCreate, (void **ev, unsigned flags)) {
    (void)flags;
    HIT("cuEventCreate");
    *ev = make(1, &control.events);
    return *ev ? OK : NO_MEMORY;
}
FN(cuEventDestroy_v2, (void *ev)) {
    HIT("cuEventDestroy_v2");
    return drop(ev, &control.events, "cuEventDestroy");
}
FN(cuEventRecord, (void *ev, void *s)) {
    NEED_STREAM(s, "cuEventRecord");
    HIT("cuEventRecord");
    return is_alive(ev, &control.events) ? OK : (misuse("cuEventRecord"), 400);
}
FN(cuEventSynchronize, (void *ev)) {
    (void)ev;
    WAIT("cuEventSynchronize");
    return OK;
}
FN(cuEventQuery, (void *ev)) {
    (void)ev;
    WAIT("cuEventQuery");
    return OK;
}
FN(cuEventElapsedTime, (float *ms, void *a, void *b)) {
    (void)a, (void)b;
    HIT("cuEventElapsedTime");
    *ms = 1;
    return OK;
}

/* ---- code --------------------------------------------------------------------------------------
 */

typedef bool (*run_fn)(const long long *, const unsigned *, const unsigned *);
typedef size_t (*params_fn)(void);
typedef struct function { /* a kernel of a module; its address is the handle */
    char name[32];
    run_fn run;
    size_t params; /* bytes of the one parameter */
} function;
typedef struct module {
    function fn[KERNELS];
    int n;
} module;

/* Texts that were compiled for the host in this process. */
static struct {
    unsigned long long hash;
    module m;
} texts[TEXTS];

/* The kernels of a text: one in the open, or several in name spaces of their own. */
static void find_kernels(const char *text, module *m) {
    static const char opening[] = "namespace fusec_kernel_";
    m->n = 0;
    for (const char *at = text; (at = strstr(at, opening)) && m->n < KERNELS; at++)
        snprintf(m->fn[m->n++].name, sizeof m->fn[0].name, "fusec_kernel_%d",
                 atoi(at + sizeof opening - 1));
    if (m->n) return;
    snprintf(m->fn[0].name, sizeof m->fn[0].name, "fusec_kernel");
    m->n = 1;
}

static void write_program(FILE *f, const char *text, const module *m) {
    fprintf(f, "#define FC_EMULATE 1\n#include \"tests/support/cuda_emu.h\"\n%s\n", text);
    for (int i = 0; i < m->n; i++) {
        const char *name = m->fn[i].name;
        char space[64] = "";
        if (strcmp(name, "fusec_kernel")) snprintf(space, sizeof space, "%s_space::", name);
        fprintf(
            f,
            "extern \"C\" bool run_%s(const long long *w, const unsigned *g, const unsigned *b) {\n"
            "    %sP p;\n    memcpy(&p, w, sizeof p);\n"
            "    return fc_emu::launch(g, b, false, [&] { %s%s(p); });\n}\n"
            "extern \"C\" size_t params_%s() { return sizeof(%sP); }\n",
            name, space, space, name, name, space);
    }
}

static bool find_symbols(void *so, module *m) {
    for (int i = 0; i < m->n; i++) {
        char name[64];
        params_fn size;
        snprintf(name, sizeof name, "run_%s", m->fn[i].name);
        void *run = dlsym(so, name);
        snprintf(name, sizeof name, "params_%s", m->fn[i].name);
        void *params = dlsym(so, name);
        if (!run || !params) return false;
        memcpy(&size, &params, sizeof size);
        memcpy(&m->fn[i].run, &run, sizeof run);
        m->fn[i].params = size();
    }
    return true;
}

static bool compile_for_host(const char *text, module *m) {
    unsigned long long h = 1469598103934665603ull;
    for (const char *p = text; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211ull;
    int i = 0;
    for (; i < TEXTS && texts[i].hash; i++)
        if (texts[i].hash == h) {
            *m = texts[i].m;
            return true;
        }
    char folder[] = "/tmp/fusec-fake-XXXXXX", path[64], command[600];
    if (i == TEXTS || !mkdtemp(folder)) return false;
    snprintf(path, sizeof path, "%s/k.cc", folder);
    FILE *f = fopen(path, "w");
    if (!f) return false;
    write_program(f, text, m);
    fclose(f);
    snprintf(command, sizeof command,
             "c++ -std=c++17 -O0 -w -fPIC -shared -ffp-contract=off -fno-strict-aliasing "
             "-U_FORTIFY_SOURCE -I%s %s -o %s/k.so",
             FUSEC_SOURCE_DIR, path, folder);
    bool good = false;
    if (system(command) == 0) {
        snprintf(path, sizeof path, "%s/k.so", folder);
        void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        good = so && find_symbols(so, m);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0 || !good) return false;
    texts[i].hash = h;
    texts[i].m = *m;
    return true;
}

/* Whether `f` is a kernel of a module that is loaded. */
static bool is_function(const void *f) {
    pthread_mutex_lock(&lock);
    thing *t = find(f, sizeof(function));
    bool good = t && t->count == &control.modules;
    pthread_mutex_unlock(&lock);
    return good;
}

FN(cuModuleLoadData, (void **m, const void *image)) {
    NEED_CONTEXT("cuModuleLoadData");
    HIT("cuModuleLoadData");
    if (memcmp(image, MARK, MARK_LEN) != 0) return BAD_IMAGE;
    module *x = make(sizeof *x, &control.modules);
    if (!x) return NO_MEMORY;
    memset(x, 0, sizeof *x);
    find_kernels((const char *)image + MARK_LEN, x);
    if (control.execute && !compile_for_host((const char *)image + MARK_LEN, x))
        for (int i = 0; i < x->n; i++) x->fn[i].run = NULL;
    *m = x;
    return OK;
}
FN(cuModuleUnload, (void *m)) {
    NEED_CONTEXT("cuModuleUnload");
    HIT("cuModuleUnload");
    return drop(m, &control.modules, "cuModuleUnload");
}
FN(cuModuleGetFunction, (void **f, void *m, const char *name)) {
    HIT("cuModuleGetFunction");
    if (!is_alive(m, &control.modules)) return misuse("cuModuleGetFunction"), 400;
    module *x = m;
    for (int i = 0; i < x->n; i++)
        if (!strcmp(name, x->fn[i].name)) {
            *f = &x->fn[i];
            return OK;
        }
    return NOT_FOUND;
}
FN(cuFuncGetAttribute, (int *v, int a, void *f)) {
    (void)a, (void)f;
    HIT("cuFuncGetAttribute");
    *v = 32;
    return OK;
}
FN(cuFuncSetAttribute, (void *f, int a, int v)) {
    (void)a, (void)f, (void)v;
    HIT("cuFuncSetAttribute");
    return OK;
}
FN(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, void *f, int block, size_t shared)) {
    (void)f, (void)block, (void)shared;
    HIT("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    *n = 4;
    return OK;
}
static int launch_code(const function *c, const unsigned g[3], const unsigned b[3],
                       const void *args) {
    /* launches of threads take turns: shared memory of the emulation is static */
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    control.launched++;
    if (!control.execute) return OK;
    pthread_mutex_lock(&turn);
    bool good = c->run && c->run(args, g, b);
    pthread_mutex_unlock(&turn);
    return good ? OK : 719;
}

#ifndef FAKE_NO_LAUNCH
FN(cuLaunchKernel, (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                    unsigned bz, unsigned shared, void *s, void **params, void **extra)) {
    (void)shared;
    NEED_CONTEXT("cuLaunchKernel");
    NEED_STREAM(s, "cuLaunchKernel");
    HIT("cuLaunchKernel");
    if (!is_function(f)) return misuse("cuLaunchKernel"), 400;
    if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024) return INVALID;
    const unsigned g[3] = {gx, gy, gz}, b[3] = {bx, by, bz};
    return params ? OK : launch_code(f, g, b, extra[1]);
}
#endif

/* ---- graphs: kernels in a row
 * -------------------------------------------------------------------- */

enum { NODES = 16, PARAMS = 4096 };
typedef struct node_params { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    const function *function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
    void *kernel, *context;
} node_params;
typedef struct graph {
    size_t n;
    struct {
        node_params p;
        char args[PARAMS];
    } node[NODES];
} graph;

static void take_node(graph *g, size_t i, const node_params *p) {
    g->node[i].p = *p;
    if (p->params) memcpy(g->node[i].args, p->params[0], p->function->params);
}
FN(cuGraphCreate, (graph * *g, unsigned flags)) {
    (void)flags;
    HIT("cuGraphCreate");
    *g = make(sizeof **g, &control.graphs);
    if (*g) (*g)->n = 0;
    return *g ? OK : NO_MEMORY;
}
FN(cuGraphAddKernelNode_v2,
   (void **at, graph *g, void *const *after, size_t nafter, const node_params *p)) {
    (void)after, (void)nafter;
    HIT("cuGraphAddKernelNode_v2");
    if (!is_alive(g, &control.graphs) || g->n == NODES) return misuse("cuGraphAddKernelNode"), 400;
    if (!is_function(p->function)) return misuse("cuGraphAddKernelNode"), 400;
    take_node(g, g->n, p);
    *at = (void *)(uintptr_t)++g->n;
    return OK;
}
FN(cuGraphInstantiateWithFlags, (graph * *x, graph *g, unsigned long long flags)) {
    (void)flags;
    HIT("cuGraphInstantiateWithFlags");
    if (!is_alive(g, &control.graphs)) return misuse("cuGraphInstantiate"), 400;
    *x = make(sizeof **x, &control.graphs);
    if (*x) **x = *g;
    return *x ? OK : NO_MEMORY;
}
FN(cuGraphExecKernelNodeSetParams_v2, (graph * x, void *at, const node_params *p)) {
    HIT("cuGraphExecKernelNodeSetParams_v2");
    size_t i = (size_t)(uintptr_t)at;
    if (!is_alive(x, &control.graphs) || i < 1 || i > x->n)
        return misuse("cuGraphExecKernelNodeSetParams"), 400;
    take_node(x, i - 1, p);
    return OK;
}
FN(cuGraphLaunch, (graph * x, void *s)) {
    NEED_STREAM(s, "cuGraphLaunch");
    HIT("cuGraphLaunch");
    if (!is_alive(x, &control.graphs)) return misuse("cuGraphLaunch"), 400;
    control.graph_launches++;
    for (size_t i = 0; i < x->n; i++) {
        const node_params *p = &x->node[i].p;
        if (!is_function(p->function)) return misuse("cuGraphLaunch"), 400;
        int r = launch_code(p->function, p->grid, p->block, x->node[i].args);
        if (r) return r;
    }
    return OK;
}
FN(cuGraphExecDestroy, (graph * x)) {
    HIT("cuGraphExecDestroy");
    return drop(x, &control.graphs, "cuGraphExecDestroy");
}
FN(cuGraphDestroy, (graph * g)) {
    HIT("cuGraphDestroy");
    return drop(g, &control.graphs, "cuGraphDestroy");
}

/* ---- NVRTC --------------------------------------------------------------------------------------
 */

typedef struct program {
    char *text;
} program;

#ifndef FAKE_NO_COMPILE
static void misbehave(void) {
    if (!strcmp(behaviour, "crash")) raise(SIGSEGV);
    if (!strcmp(behaviour, "abort")) {
        fprintf(stderr, "LLVM ERROR: out of memory\n");
        abort();
    }
    while (!strcmp(behaviour, "hang")) pause();
    while (!strcmp(behaviour, "spin")) __asm__ volatile("");
    if (!strcmp(behaviour, "noise")) {
        for (int i = 0; i < 20000; i++) printf("a compiler that talks %d\n", i);
        fflush(stdout);
        for (int i = 0; i < 20000; i++) fprintf(stderr, "and warns %d\n", i);
    }
    while (!strcmp(behaviour, "memory")) {
        char *p = malloc(64 << 20);
        if (!p) {
            fprintf(stderr, "terminate called after throwing an instance of 'std::bad_alloc'\n");
            abort();
        }
        memset(p, 1, 64 << 20);
    }
}
#endif

API const char *nvrtcGetErrorString(int r);
const char *nvrtcGetErrorString(int r) {
    return r ? "made to fail" : "no error";
}
FN(nvrtcVersion, (int *major, int *minor)) {
    *major = nvrtc_version / 1000;
    *minor = nvrtc_version % 1000 / 10;
    return nvrtc_version ? OK : 1;
}
FN(nvrtcCreateProgram, (program * *p, const char *source, const char *name, int n,
                        const char *const *headers, const char *const *names)) {
    (void)name, (void)n, (void)headers, (void)names;
    *p = malloc(sizeof **p);
    if (*p && !((*p)->text = strdup(source))) free(*p), *p = NULL;
    return *p ? OK : 1;
}
FN(nvrtcDestroyProgram, (program * *p)) {
    free((*p)->text);
    free(*p);
    *p = NULL;
    return OK;
}
#ifndef FAKE_NO_COMPILE
FN(nvrtcCompileProgram, (program * p, int n, const char *const *options)) {
    (void)p, (void)n, (void)options;
    control.compiled++;
    const char *count = getenv("FAKE_COUNT");
    FILE *f = count ? fopen(count, "a") : NULL;
    if (f) {
        fputc('x', f);
        fclose(f);
    }
    misbehave();
    return OK;
}
#endif
FN(nvrtcGetProgramLogSize, (program * p, size_t *n)) {
    (void)p;
    *n = 1;
    return OK;
}
FN(nvrtcGetProgramLog, (program * p, char *t)) {
    (void)p;
    *t = 0;
    return OK;
}
FN(nvrtcGetCUBINSize, (program * p, size_t *n)) {
    *n = MARK_LEN + strlen(p->text) + 1;
    return OK;
}
FN(nvrtcGetCUBIN, (program * p, char *to)) {
    memcpy(to, MARK, MARK_LEN);
    memcpy(to + MARK_LEN, p->text, strlen(p->text) + 1);
    if (control.bad_cubin) *to = 'x';
    return OK;
}
FN(nvrtcGetPTXSize, (program * p, size_t *n)) {
    return nvrtcGetCUBINSize(p, n);
}
FN(nvrtcGetPTX, (program * p, char *to)) {
    return nvrtcGetCUBIN(p, to);
}
FN(nvrtcGetNumSupportedArchs, (int *n)) {
    *n = 3;
    return OK;
}
FN(nvrtcGetSupportedArchs, (int *a)) {
    a[0] = 75, a[1] = 80, a[2] = 90;
    return OK;
}
