/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* driver.c - see driver.h. */
#include "runtime/cuda/driver.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { /* results of the driver that are told apart */
       CU_OK = 0,
       CU_OUT_OF_MEMORY = 2,
       CU_STUB = 34,
       CU_NO_DEVICE = 100,
       CU_NOT_FOUND = 500
};

/* After these the driver promises nothing more for this process: its header says that the process
 * must be ended and started again, or the memory or the link of the device is beyond repair. */
static const short lost_results[] = {214, 220, 226, 700, 702, 709, 710, 714, 715,
                                     716, 717, 718, 719, 721, 810, 911, 999};
/* The image is no code for this device: not an image, no binary for this GPU, bad PTX, unknown PTX
 * version. */
static const short image_results[] = {200, 209, 218, 222};

#define ROW(...) FC_DYN_ROW(fc_cuda_fns, __VA_ARGS__)
static const fc_dynsym symbols[] = {FC_CUDA_FNS(ROW)};

static bool is_one_of(int result, const short *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == result) return true;
    return false;
}

/* ---- results ------------------------------------------------------------------------------- */

fusec_status fc_cuda_result(fc_cuda *c, int result, const char *what, fc_error *e) {
    const char *name = NULL, *text = NULL;
    if (result == CU_OK) return FUSEC_OK;
    if (is_one_of(result, lost_results, FC_COUNT(lost_results))) {
        int none = 0;
        atomic_compare_exchange_strong(&c->lost, &none, result);
    }
    if (c->fn.error_name(result, &name) != CU_OK || !name) name = "unknown";
    if (c->fn.error_string(result, &text) != CU_OK || !text) text = "an unknown error";
    return fc_fail(e, result == CU_OUT_OF_MEMORY ? FUSEC_OUT_OF_MEMORY : FUSEC_DRIVER,
                   "%s: %s (%s, %d)", what, text, name, result);
}

bool fc_cuda_is_lost(const fc_cuda *c) {
    return atomic_load(&c->lost) != 0;
}

/* The process id costs a system call each time; a page that the system empties in a child costs a
 * load. */
static inline bool usable(const fc_cuda *c) {
    return atomic_load_explicit(&c->lost, memory_order_relaxed) == 0 &&
           (c->alive ? *(const volatile char *)c->alive != 0 : c->owner == getpid());
}

static void mark_alive(fc_cuda *c) {
#ifdef MADV_WIPEONFORK
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        munmap(page, size);
        return;
    }
    *page = 1;
    c->alive = page;
#else
    (void)c;
#endif
}

static void unmark_alive(fc_cuda *c) {
    if (c->alive) munmap((void *)(uintptr_t)c->alive, (size_t)sysconf(_SC_PAGESIZE));
}

static fusec_status refuse(const fc_cuda *c, fc_error *e) {
    int lost = atomic_load(&c->lost);
    if (lost)
        return fc_fail(
            e, FUSEC_DRIVER,
            "the CUDA device is lost since an earlier error (%d); this process can't use "
            "CUDA any more",
            lost);
    return fc_fail(e, FUSEC_DRIVER,
                   "CUDA does not survive a fork: this process was forked after CUDA was started");
}

fusec_status fc_cuda_alive(const fc_cuda *c, fc_error *e) {
    return usable(c) ? FUSEC_OK : refuse(c, e);
}

/* The body of nearly every wrapper: refuse when lost, else call and translate the result. */
#define CALL(what, call)                                                                           \
    do {                                                                                           \
        if (!usable(c)) return refuse(c, e);                                                       \
        return fc_cuda_result(c, c->fn.call, what, e);                                             \
    } while (0)
/* Freeing can't fail: nothing is to be done about it, but a lost device is still noted. */
#define DROP(what, call)                                                                           \
    do {                                                                                           \
        if (usable(c)) (void)fc_cuda_result(c, c->fn.call, what, NULL);                            \
    } while (0)

/* ---- beside a stream that records ------------------------------------------------------------ */

enum { RELAXED = 2 /* of CUstreamCaptureMode */ };

/* What may wait for the device is refused while any thread records a stream, and ends that
 * recording, unless the calling thread says that it has nothing to do with it. */
int fc_cuda_relax(fc_cuda *c) {
    int mode = RELAXED;
    if (!c->fn.capture_mode || !usable(c)) return RELAXED;
    const int r = c->fn.capture_mode(&mode);
    if (r != CU_OK) (void)fc_cuda_result(c, r, "cuThreadExchangeStreamCaptureMode", NULL);
    return r == CU_OK ? mode : RELAXED;
}

void fc_cuda_restore(fc_cuda *c, int mode) {
    if (mode != RELAXED && c->fn.capture_mode && usable(c)) (void)c->fn.capture_mode(&mode);
}

/* ---- start --------------------------------------------------------------------------------- */

static fusec_status start(fc_cuda *c, fc_error *e) {
    int result = c->fn.init(0);
    if (result == CU_STUB)
        return fc_fail(e, FUSEC_NO_GPU,
                       "there is no CUDA driver (%s is only a stand-in for linking)",
                       c->lib.path[0] ? c->lib.path : "libcuda.so.1");
    if (result == CU_NO_DEVICE) return fc_fail(e, FUSEC_NO_GPU, "there is no CUDA device");
    if (result != CU_OK) {
        const char *text = NULL;
        if (c->fn.error_string(result, &text) != CU_OK || !text) text = "an unknown error";
        return fc_fail(e, FUSEC_NO_GPU, "the CUDA driver does not start: %s (%d)", text, result);
    }
    if (c->fn.driver_version(&c->version) != CU_OK || c->version < 11020)
        return fc_fail(e, FUSEC_NO_GPU, "the CUDA driver is too old (it is for CUDA %d.%d)",
                       c->version / 1000, c->version % 1000 / 10);
    result = c->fn.device_count(&c->n_devices);
    if (result != CU_OK || c->n_devices <= 0)
        return fc_fail(e, FUSEC_NO_GPU, "there is no CUDA device");
    return FUSEC_OK;
}

static fusec_status start_or_close(fc_cuda *c, fc_cuda **out, fc_error *e) {
    c->owner = getpid();
    mark_alive(c);
    fusec_status st = start(c, e);
    if (st == FUSEC_OK)
        *out = c;
    else
        fc_cuda_close(c);
    return st;
}

fusec_status fc_cuda_open(const fc_alloc *alloc, fc_cuda **out, fc_error *e) {
    static const char *const names[] = {"libcuda.so.1", NULL};
    static const char *const dirs[] = {"", NULL};
    const fc_dynsearch s = {.env_name = "FUSEC_LIBCUDA_PATH",
                            .names = names,
                            .dirs = dirs,
                            .syms = symbols,
                            .n_syms = FC_COUNT(symbols)};
    *out = NULL;
    fc_cuda *c = fc_calloc(alloc, 1, sizeof *c);
    if (!c) return fc_oom(e);
    c->alloc = alloc;
    fc_str why;
    fc_str_init(&why, alloc);
    bool found = fc_dynlib_open(&s, &c->fn, sizeof c->fn, &c->lib, &why);
    fusec_status st = FUSEC_OK;
    if (!found) st = fc_fail(e, FUSEC_NO_GPU, "there is no CUDA driver (%s)", why.data);
    fc_str_free(&why);
    if (found) return start_or_close(c, out, e);
    fc_free(alloc, c);
    return st;
}

fusec_status fc_cuda_open_with(const fc_alloc *alloc, const fc_cuda_fns *fn, fc_cuda **out,
                               fc_error *e) {
    *out = NULL;
    fc_cuda *c = fc_calloc(alloc, 1, sizeof *c);
    if (!c) return fc_oom(e);
    c->alloc = alloc;
    c->fn = *fn;
    return start_or_close(c, out, e);
}

void fc_cuda_close(fc_cuda *c) {
    if (!c) return;
    /* The driver starts threads of its own and registers exit handlers: once it was started it
     * stays loaded until the process ends, so the library is deliberately not closed then. */
    if (c->n_devices == 0) fc_dynlib_close(&c->lib);
    unmark_alive(c);
    fc_free(c->alloc, c);
}

/* ---- devices ------------------------------------------------------------------------------- */

typedef struct attribute {
    int number;
    size_t offset;
    bool required;
} attribute;
#define AT(field) offsetof(fc_cuda_info, field)
static const attribute attributes[] = {
    {1, AT(max_threads_per_block), true},
    {8, AT(shared_per_block), true},
    {10, AT(warp_size), true},
    {12, AT(registers_per_block), true},
    {13, AT(clock_khz), false},
    {16, AT(sm_count), true},
    {36, AT(memory_clock_khz), false},
    {37, AT(memory_bus_bits), false},
    {38, AT(l2_bytes), false},
    {39, AT(max_threads_per_sm), true},
    {81, AT(shared_per_sm), false},
    {82, AT(registers_per_sm), false},
    {97, AT(shared_per_block_optin), false},
    {106, AT(max_blocks_per_sm), false},
    {111, AT(shared_reserved), false},
};
enum {
    ATTRIBUTE_CC_MAJOR = 75,
    ATTRIBUTE_CC_MINOR = 76,
    ATTRIBUTE_TOGETHER = 95,
    ATTRIBUTE_POOLS = 115,
    ATTRIBUTE_CLUSTERS = 120
};

static fusec_status read_attributes(fc_cuda *c, fc_cuda_info *out, fc_error *e) {
    int major = 0, minor = 0, pools = 0, together = 0, clusters = 0;
    for (size_t i = 0; i < FC_COUNT(attributes); i++) {
        const attribute *a = &attributes[i];
        int value = 0;
        int result = c->fn.device_attribute(&value, a->number, out->device);
        if (result != CU_OK && a->required)
            return fc_cuda_result(c, result, "cuDeviceGetAttribute", e);
        memcpy((char *)out + a->offset, &value, sizeof value);
    }
    int result = c->fn.device_attribute(&major, ATTRIBUTE_CC_MAJOR, out->device);
    if (result == CU_OK) result = c->fn.device_attribute(&minor, ATTRIBUTE_CC_MINOR, out->device);
    if (result != CU_OK) return fc_cuda_result(c, result, "cuDeviceGetAttribute", e);
    out->cc = major * 10 + minor;
    if (c->fn.device_attribute(&pools, ATTRIBUTE_POOLS, out->device) != CU_OK) pools = 0;
    if (c->fn.device_attribute(&together, ATTRIBUTE_TOGETHER, out->device) != CU_OK) together = 0;
    if (c->fn.device_attribute(&clusters, ATTRIBUTE_CLUSTERS, out->device) != CU_OK) clusters = 0;
    out->together = together && c->fn.launch_together;
    out->clusters = clusters != 0;
    out->early = out->cc >= FC_CUDA_BEGINS_EARLY && c->fn.launch_early && c->fn.stream_capturing;
    out->memory_pools = pools && c->fn.mem_alloc_async && c->fn.mem_free_async;
    if (out->shared_per_block_optin < out->shared_per_block)
        out->shared_per_block_optin = out->shared_per_block;
    return FUSEC_OK;
}

fusec_status fc_cuda_device(fc_cuda *c, int ordinal, fc_cuda_info *out, fc_error *e) {
    size_t total = 0;
    memset(out, 0, sizeof *out);
    if (!usable(c)) return refuse(c, e);
    if (ordinal < 0 || ordinal >= c->n_devices)
        return fc_fail(e, FUSEC_NO_GPU, "there is no device cuda:%d (there are %d)", ordinal,
                       c->n_devices);
    out->ordinal = ordinal;
    FC_TRY(fc_cuda_result(c, c->fn.device_get(&out->device, ordinal), "cuDeviceGet", e));
    FC_TRY(fc_cuda_result(c, c->fn.device_name(out->name, sizeof out->name, out->device),
                          "cuDeviceGetName", e));
    FC_TRY(fc_cuda_result(c, c->fn.device_total_mem(&total, out->device), "cuDeviceTotalMem", e));
    out->total_memory = total;
    return read_attributes(c, out, e);
}

fusec_status fc_cuda_retain(fc_cuda *c, fc_cu_device d, fc_cu_context *out, fc_error *e) {
    CALL("cuDevicePrimaryCtxRetain", primary_retain(out, d));
}

void fc_cuda_release(fc_cuda *c, fc_cu_device d) {
    DROP("cuDevicePrimaryCtxRelease", primary_release(d));
}

fusec_status fc_cuda_push(fc_cuda *c, fc_cu_context ctx, fc_error *e) {
    CALL("cuCtxPushCurrent", ctx_push(ctx));
}

void fc_cuda_pop(fc_cuda *c) {
    fc_cu_context ignored = NULL;
    /* Also when the device was lost since the push: the caller's context has to come back. */
    if (c->owner == getpid()) (void)fc_cuda_result(c, c->fn.ctx_pop(&ignored), "", NULL);
}

fusec_status fc_cuda_enter(fc_cuda *c, fc_cu_context ctx, bool *pushed, fc_error *e) {
    fc_cu_context now = NULL;
    *pushed = false;
    if (!usable(c)) return refuse(c, e);
    int result = c->fn.ctx_get(&now);
    if (result == CU_OK && now == ctx) return FUSEC_OK;
    (void)fc_cuda_result(c, result, "cuCtxGetCurrent", NULL);
    if (!usable(c)) return refuse(c, e); /* it was lost: nothing is to be pushed */
    FC_TRY(fc_cuda_result(c, c->fn.ctx_push(ctx), "cuCtxPushCurrent", e));
    *pushed = true;
    return FUSEC_OK;
}

fusec_status fc_cuda_sync(fc_cuda *c, fc_error *e) {
    CALL("cuCtxSynchronize", ctx_sync());
}

/* ---- modules and functions ----------------------------------------------------------------- */

fusec_status fc_cuda_load(fc_cuda *c, const void *image, fc_cu_module *out, bool *bad_image,
                          fc_error *e) {
    if (bad_image) *bad_image = false;
    *out = NULL;
    const int mode = fc_cuda_relax(c);
    if (!usable(c)) return refuse(c, e);
    int result = c->fn.module_load(out, image);
    if (bad_image) *bad_image = is_one_of(result, image_results, FC_COUNT(image_results));
    const fusec_status s = fc_cuda_result(c, result, "cuModuleLoadData", e);
    fc_cuda_restore(c, mode);
    return s;
}

void fc_cuda_unload(fc_cuda *c, fc_cu_module m) {
    if (!m) return;
    const int mode = fc_cuda_relax(c);
    DROP("cuModuleUnload", module_unload(m));
    fc_cuda_restore(c, mode);
}

fusec_status fc_cuda_function(fc_cuda *c, fc_cu_module m, const char *name, fc_cu_function *out,
                              fc_error *e) {
    if (!usable(c)) return refuse(c, e);
    const int result = c->fn.module_function(out, m, name);
    const fusec_status s = fc_cuda_result(c, result, "cuModuleGetFunction", e);
    if (result != CU_NOT_FOUND) return s;
    if (e) e->code = FUSEC_UNKNOWN_NAME; /* of a name, not of whatever else is found nowhere */
    return FUSEC_UNKNOWN_NAME;
}

enum {
    FUNC_MAX_THREADS = 0,
    FUNC_SHARED = 1,
    FUNC_CONST = 2,
    FUNC_LOCAL = 3,
    FUNC_REGISTERS = 4,
    FUNC_PTX = 5,
    FUNC_MAX_DYNAMIC_SHARED = 8
};

fusec_status fc_cuda_func_info_get(fc_cuda *c, fc_cu_function f, fc_cuda_func_info *out,
                                   fc_error *e) {
    const struct {
        int number;
        int *to;
    } wanted[] = {{FUNC_MAX_THREADS, &out->max_threads},
                  {FUNC_SHARED, &out->shared_bytes},
                  {FUNC_CONST, &out->const_bytes},
                  {FUNC_LOCAL, &out->local_bytes},
                  {FUNC_REGISTERS, &out->registers}};
    if (!usable(c)) return refuse(c, e);
    for (size_t i = 0; i < FC_COUNT(wanted); i++)
        FC_TRY(fc_cuda_result(c, c->fn.func_attribute(wanted[i].to, wanted[i].number, f),
                              "cuFuncGetAttribute", e));
    return FUSEC_OK;
}

bool fc_cuda_made_for(fc_cuda *c, fc_cu_function f, int cc) {
    int made = 0;
    return usable(c) && !c->fn.func_attribute(&made, FUNC_PTX, f) && made >= cc;
}

fusec_status fc_cuda_max_dynamic_shared(fc_cuda *c, fc_cu_function f, int bytes, fc_error *e) {
    CALL("cuFuncSetAttribute", func_set_attribute(f, FUNC_MAX_DYNAMIC_SHARED, bytes));
}

static fusec_status launch_early(fc_cuda *c, fc_cu_function f, const fc_cuda_grid *g,
                                 fc_cu_stream s, void **extra, fc_error *e) {
    enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
    const fc_cu_launch_attribute may = {.id = PROGRAMMATIC_STREAM_SERIALIZATION, .value.on = 1};
    fc_cu_launch how = {.shared = g->shared, .stream = s, .attributes = &may, .n = 1};
    memcpy(how.grid, g->grid, sizeof how.grid);
    memcpy(how.block, g->block, sizeof how.block);
    CALL("cuLaunchKernelEx", launch_early(&how, f, NULL, extra));
}

fusec_status fc_cuda_launch(fc_cuda *c, fc_cu_function f, const fc_cuda_grid *g, fc_cu_stream s,
                            void *args, size_t args_size, fc_error *e) {
    /* The tags of the packed form: 1 is followed by the block, 2 by its size, 0 ends the list. */
    void *extra[] = {(void *)1, args, (void *)2, &args_size, (void *)0};
    if (g->early) return launch_early(c, f, g, s, extra, e);
    CALL("cuLaunchKernel", launch(f, g->grid[0], g->grid[1], g->grid[2], g->block[0], g->block[1],
                                  g->block[2], g->shared, s, NULL, extra));
}

fusec_status fc_cuda_launch_args(fc_cuda *c, fc_cu_function f, const fc_cuda_grid *g,
                                 fc_cu_stream s, void *const *args, fc_error *e) {
    void **list = (void **)(uintptr_t)args; /* which the driver only reads */
    CALL("cuLaunchKernel", launch(f, g->grid[0], g->grid[1], g->grid[2], g->block[0], g->block[1],
                                  g->block[2], g->shared, s, list, NULL));
}

fusec_status fc_cuda_launch_together(fc_cuda *c, fc_cu_function f, const fc_cuda_grid *g,
                                     fc_cu_stream s, void *args, fc_error *e) {
    void *params[] = {args}; /* one parameter, which is the whole block */
    CALL("cuLaunchCooperativeKernel",
         launch_together(f, g->grid[0], g->grid[1], g->grid[2], g->block[0], g->block[1],
                         g->block[2], g->shared, s, params));
}

/* ---- memory -------------------------------------------------------------------------------- */

fusec_status fc_cuda_alloc(fc_cuda *c, size_t bytes, fc_cu_ptr *out, fc_error *e) {
    *out = 0;
    if (bytes == 0) return FUSEC_OK;
    const int mode = fc_cuda_relax(c);
    if (!usable(c)) return refuse(c, e);
    const fusec_status status = fc_cuda_result(c, c->fn.mem_alloc(out, bytes), "cuMemAlloc", e);
    fc_cuda_restore(c, mode);
    return status;
}

void fc_cuda_free(fc_cuda *c, fc_cu_ptr p) {
    if (!p) return;
    const int mode = fc_cuda_relax(c);
    DROP("cuMemFree", mem_free(p));
    fc_cuda_restore(c, mode);
}

fusec_status fc_cuda_alloc_async(fc_cuda *c, size_t bytes, fc_cu_stream s, fc_cu_ptr *out,
                                 fc_error *e) {
    *out = 0;
    if (bytes == 0) return FUSEC_OK;
    CALL("cuMemAllocAsync", mem_alloc_async(out, bytes, s));
}

void fc_cuda_free_async(fc_cuda *c, fc_cu_ptr p, fc_cu_stream s) {
    if (p) DROP("cuMemFreeAsync", mem_free_async(p, s));
}

fusec_status fc_cuda_keep_memory(fc_cuda *c, fc_cu_device d, uint64_t bytes, fc_error *e) {
    enum { RELEASE_THRESHOLD = 4 };
    fc_cu_pool pool = NULL;
    if (!c->fn.device_pool || !c->fn.pool_set) return FUSEC_OK;
    if (!usable(c)) return refuse(c, e);
    FC_TRY(fc_cuda_result(c, c->fn.device_pool(&pool, d), "cuDeviceGetDefaultMemPool", e));
    CALL("cuMemPoolSetAttribute", pool_set(pool, RELEASE_THRESHOLD, &bytes));
}

fusec_status fc_cuda_pool_stats(fc_cuda *c, fc_cu_device d, fc_memory_stats *out, fc_error *e) {
    enum { RESERVED = 5, RESERVED_MOST, USED, USED_MOST };
    fc_memory_stats now = {0};
    uint64_t *const to[] = {&now.reserved, &now.reserved_most, &now.used, &now.used_most};
    fc_cu_pool pool = NULL;
    if (!c->fn.device_pool || !c->fn.pool_get)
        return fc_fail(e, FUSEC_DRIVER, "the driver has no memory pools");
    if (!usable(c)) return refuse(c, e);
    FC_TRY(fc_cuda_result(c, c->fn.device_pool(&pool, d), "cuDeviceGetDefaultMemPool", e));
    for (int i = 0; i < 4; i++)
        FC_TRY(fc_cuda_result(c, c->fn.pool_get(pool, RESERVED + i, to[i]), "cuMemPoolGetAttribute",
                              e));
    *out = now; /* all of it, or nothing */
    return FUSEC_OK;
}

fusec_status fc_cuda_mem_info(fc_cuda *c, size_t *free_bytes, size_t *total, fc_error *e) {
    CALL("cuMemGetInfo", mem_info(free_bytes, total));
}

fusec_status fc_cuda_h2d_async(fc_cuda *c, fc_cu_ptr to, const void *from, size_t bytes,
                               fc_cu_stream s, fc_error *e) {
    if (bytes == 0) return FUSEC_OK;
    CALL("cuMemcpyHtoDAsync", copy_h2d_async(to, from, bytes, s));
}

fusec_status fc_cuda_d2h_async(fc_cuda *c, void *to, fc_cu_ptr from, size_t bytes, fc_cu_stream s,
                               fc_error *e) {
    if (bytes == 0) return FUSEC_OK;
    CALL("cuMemcpyDtoHAsync", copy_d2h_async(to, from, bytes, s));
}

fusec_status fc_cuda_d2d_async(fc_cuda *c, fc_cu_ptr to, fc_cu_ptr from, size_t bytes,
                               fc_cu_stream s, fc_error *e) {
    if (bytes == 0) return FUSEC_OK;
    CALL("cuMemcpyDtoDAsync", copy_d2d_async(to, from, bytes, s));
}

fusec_status fc_cuda_memset_async(fc_cuda *c, fc_cu_ptr p, uint8_t value, size_t n, fc_cu_stream s,
                                  fc_error *e) {
    if (n == 0) return FUSEC_OK;
    CALL("cuMemsetD8Async", memset8_async(p, value, n, s));
}

fusec_status fc_cuda_memset_2d_async(fc_cuda *c, fc_cu_ptr p, size_t pitch, size_t width,
                                     size_t height, fc_cu_stream s, fc_error *e) {
    if (width == 0 || height == 0) return FUSEC_OK;
    CALL("cuMemsetD2D32Async", memset2d32_async(p, pitch, 0, width / 4, height, s));
}

/* ---- streams and events -------------------------------------------------------------------- */

fusec_status fc_cuda_stream_create(fc_cuda *c, fc_cu_stream *out, fc_error *e) {
    enum { NON_BLOCKING = 1 };
    *out = NULL;
    CALL("cuStreamCreate", stream_create(out, NON_BLOCKING));
}

void fc_cuda_stream_destroy(fc_cuda *c, fc_cu_stream s) {
    if (s) DROP("cuStreamDestroy", stream_destroy(s));
}

fusec_status fc_cuda_stream_sync(fc_cuda *c, fc_cu_stream s, fc_error *e) {
    CALL("cuStreamSynchronize", stream_sync(s));
}

bool fc_cuda_stream_id(fc_cuda *c, fc_cu_stream s, uint64_t *id) {
    unsigned long long number = 0;
    int capturing = 0;
    *id = 0;
    if (!usable(c)) return false;
    if (!c->fn.stream_id || !c->fn.stream_capturing) return true;
    if (fc_cuda_result(c, c->fn.stream_capturing(s, &capturing), "cuStreamIsCapturing", NULL))
        return false;
    if (capturing) return false; /* to ask for more would end the recording */
    if (fc_cuda_result(c, c->fn.stream_id(s, &number), "cuStreamGetId", NULL)) return false;
    *id = number;
    return true;
}

fusec_status fc_cuda_event_create(fc_cuda *c, bool timing, fc_cu_event *out, fc_error *e) {
    enum { DISABLE_TIMING = 2 };
    *out = NULL;
    CALL("cuEventCreate", event_create(out, timing ? 0 : DISABLE_TIMING));
}

void fc_cuda_event_destroy(fc_cuda *c, fc_cu_event ev) {
    if (ev) DROP("cuEventDestroy", event_destroy(ev));
}

fusec_status fc_cuda_event_record(fc_cuda *c, fc_cu_event ev, fc_cu_stream s, fc_error *e) {
    CALL("cuEventRecord", event_record(ev, s));
}

fusec_status fc_cuda_stream_wait(fc_cuda *c, fc_cu_stream s, fc_cu_event ev, fc_error *e) {
    CALL("cuStreamWaitEvent", stream_wait(s, ev, 0));
}

fusec_status fc_cuda_host_alloc(fc_cuda *c, size_t bytes, void **out, fc_error *e) {
    *out = NULL;
    CALL("cuMemAllocHost", host_alloc(out, bytes));
}

void fc_cuda_host_free(fc_cuda *c, void *p) {
    DROP("cuMemFreeHost", host_free(p));
}

fusec_status fc_cuda_pointer(fc_cuda *c, fc_cu_ptr p, bool *on_device, int *ordinal, fc_error *e) {
    enum { MEMORY_TYPE = 2, DEVICE_ORDINAL = 9, OF_DEVICE = 2, NOT_KNOWN = 1 };
    unsigned type = 0;
    int number = 0;
    *on_device = false;
    *ordinal = 0;
    if (!usable(c)) return refuse(c, e);
    if (!c->fn.pointer_attribute) return FUSEC_OK;
    int r = c->fn.pointer_attribute(&type, MEMORY_TYPE, p);
    if (r == NOT_KNOWN) return FUSEC_OK;
    FC_TRY(fc_cuda_result(c, r, "cuPointerGetAttribute", e));
    if (type != OF_DEVICE) return FUSEC_OK;
    r = c->fn.pointer_attribute(&number, DEVICE_ORDINAL, p);
    FC_TRY(fc_cuda_result(c, r, "cuPointerGetAttribute", e));
    *on_device = true;
    *ordinal = number;
    return FUSEC_OK;
}

fusec_status fc_cuda_event_sync(fc_cuda *c, fc_cu_event ev, fc_error *e) {
    CALL("cuEventSynchronize", event_sync(ev));
}

fusec_status fc_cuda_event_ms(fc_cuda *c, fc_cu_event from, fc_cu_event to, float *ms,
                              fc_error *e) {
    CALL("cuEventElapsedTime", event_elapsed(ms, from, to));
}
