/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* driver.h - the CUDA driver, found at run time, as functions that give a fusec_status and a
 * message.
 *
 * All calls go through the table fc_cuda_fns, which tests replace by a driver of their own. Symbol
 * names are the versioned ones of the binary interface: the unversioned name of many of them still
 * exists and is an older function with 32-bit pointers.
 *
 * An error after which CUDA promises nothing for this process (an illegal address, say) makes the
 * driver *lost*: every later call fails at once without touching the driver, and frees do nothing;
 * only the pop of a context that was pushed before is still made.
 * A process that was forked after fc_cuda_open is refused in the same way, because the driver does
 * not survive a fork. Apart from the lost flag an fc_cuda never changes; all calls may come from
 * any thread, and those that need a context want it current (fc_cuda_push). */
#ifndef FUSEC_RUNTIME_CUDA_DRIVER_H
#define FUSEC_RUNTIME_CUDA_DRIVER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "runtime/compile/dynlib.h"
#include "runtime/usermem.h"

typedef int fc_cu_device;
typedef uint64_t fc_cu_ptr; /* an address of the device */
typedef struct fc_cu_context_ *fc_cu_context;
typedef struct fc_cu_module_ *fc_cu_module;
typedef struct fc_cu_function_ *fc_cu_function;
typedef struct fc_cu_stream_ *fc_cu_stream;
typedef struct fc_cu_event_ *fc_cu_event;
typedef struct fc_cu_pool_ *fc_cu_pool;
typedef struct fc_cu_graph_ *fc_cu_graph;
typedef struct fc_cu_graph_exec_ *fc_cu_graph_exec;
typedef struct fc_cu_graph_node_ *fc_cu_graph_node;

/* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct fc_cu_kernel_node {
    fc_cu_function function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
    void *kernel;
    fc_cu_context context;
} fc_cu_kernel_node;

/* CUlaunchAttribute and CUlaunchConfig */
typedef struct fc_cu_launch_attribute {
    int id, unused;
    union {
        int on;
        uint64_t room[8];
    } value;
} fc_cu_launch_attribute;
typedef struct fc_cu_launch {
    unsigned grid[3], block[3], shared;
    fc_cu_stream stream;
    const fc_cu_launch_attribute *attributes;
    unsigned n;
} fc_cu_launch;

/* clang-format off */
#define FC_CUDA_FNS(X)                                                                             \
    X(int, init, "cuInit", (unsigned flags), 1)                                                    \
    X(int, driver_version, "cuDriverGetVersion", (int *version), 1)                                \
    X(int, error_name, "cuGetErrorName", (int result, const char **text), 1)                       \
    X(int, error_string, "cuGetErrorString", (int result, const char **text), 1)                   \
    X(int, device_count, "cuDeviceGetCount", (int *n), 1)                                          \
    X(int, device_get, "cuDeviceGet", (fc_cu_device *d, int ordinal), 1)                           \
    X(int, device_name, "cuDeviceGetName", (char *name, int size, fc_cu_device d), 1)              \
    X(int, device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, fc_cu_device d), 1) \
    X(int, device_total_mem, "cuDeviceTotalMem_v2", (size_t *bytes, fc_cu_device d), 1)            \
    X(int, primary_retain, "cuDevicePrimaryCtxRetain", (fc_cu_context *c, fc_cu_device d), 1)      \
    X(int, primary_release, "cuDevicePrimaryCtxRelease_v2", (fc_cu_device d), 1)                   \
    X(int, ctx_push, "cuCtxPushCurrent_v2", (fc_cu_context c), 1)                                  \
    X(int, ctx_pop, "cuCtxPopCurrent_v2", (fc_cu_context *c), 1)                                   \
    X(int, ctx_get, "cuCtxGetCurrent", (fc_cu_context *c), 1)                                      \
    X(int, ctx_sync, "cuCtxSynchronize", (void), 1)                                                \
    X(int, module_load, "cuModuleLoadData", (fc_cu_module *m, const void *image), 1)               \
    X(int, module_unload, "cuModuleUnload", (fc_cu_module m), 1)                                   \
    X(int, module_function, "cuModuleGetFunction", (fc_cu_function *f, fc_cu_module m, const char *name), 1) \
    X(int, func_attribute, "cuFuncGetAttribute", (int *value, int attribute, fc_cu_function f), 1) \
    X(int, func_set_attribute, "cuFuncSetAttribute", (fc_cu_function f, int attribute, int value), 1) \
    X(int, launch, "cuLaunchKernel", (fc_cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, fc_cu_stream s, void **params, void **extra), 1) \
    X(int, launch_early, "cuLaunchKernelEx", (const fc_cu_launch *how, fc_cu_function f, void **params, void **extra), 0) \
    X(int, launch_together, "cuLaunchCooperativeKernel", (fc_cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, fc_cu_stream s, void **params), 0) \
    X(int, mem_info, "cuMemGetInfo_v2", (size_t *free_bytes, size_t *total), 1)                    \
    X(int, mem_alloc, "cuMemAlloc_v2", (fc_cu_ptr *p, size_t bytes), 1)                            \
    X(int, mem_free, "cuMemFree_v2", (fc_cu_ptr p), 1)                                             \
    X(int, mem_alloc_async, "cuMemAllocAsync", (fc_cu_ptr *p, size_t bytes, fc_cu_stream s), 0)    \
    X(int, mem_free_async, "cuMemFreeAsync", (fc_cu_ptr p, fc_cu_stream s), 0)                     \
    X(int, device_pool, "cuDeviceGetDefaultMemPool", (fc_cu_pool *p, fc_cu_device d), 0)           \
    X(int, pool_set, "cuMemPoolSetAttribute", (fc_cu_pool p, int attribute, void *value), 0)       \
    X(int, pool_get, "cuMemPoolGetAttribute", (fc_cu_pool p, int attribute, void *value), 0)       \
    X(int, copy_h2d_async, "cuMemcpyHtoDAsync_v2", (fc_cu_ptr to, const void *from, size_t bytes, fc_cu_stream s), 1) \
    X(int, copy_d2h_async, "cuMemcpyDtoHAsync_v2", (void *to, fc_cu_ptr from, size_t bytes, fc_cu_stream s), 1) \
    X(int, copy_d2d_async, "cuMemcpyDtoDAsync_v2", (fc_cu_ptr to, fc_cu_ptr from, size_t bytes, fc_cu_stream s), 1) \
    X(int, memset8_async, "cuMemsetD8Async", (fc_cu_ptr p, unsigned char value, size_t n, fc_cu_stream s), 1) \
    X(int, memset2d32_async, "cuMemsetD2D32Async", (fc_cu_ptr p, size_t pitch, unsigned value, size_t width, size_t height, fc_cu_stream s), 1) \
    X(int, stream_create, "cuStreamCreate", (fc_cu_stream *s, unsigned flags), 1)                  \
    X(int, stream_destroy, "cuStreamDestroy_v2", (fc_cu_stream s), 1)                              \
    X(int, stream_sync, "cuStreamSynchronize", (fc_cu_stream s), 1)                                \
    X(int, stream_id, "cuStreamGetId", (fc_cu_stream s, unsigned long long *id), 0)                \
    X(int, stream_capturing, "cuStreamIsCapturing", (fc_cu_stream s, int *status), 0)              \
    X(int, capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode), 0)                      \
    X(int, event_create, "cuEventCreate", (fc_cu_event *ev, unsigned flags), 1)                    \
    X(int, event_destroy, "cuEventDestroy_v2", (fc_cu_event ev), 1)                                \
    X(int, event_record, "cuEventRecord", (fc_cu_event ev, fc_cu_stream s), 1)                     \
    X(int, stream_wait, "cuStreamWaitEvent", (fc_cu_stream s, fc_cu_event ev, unsigned flags), 1)  \
    X(int, host_alloc, "cuMemAllocHost_v2", (void **p, size_t bytes), 1)                           \
    X(int, host_free, "cuMemFreeHost", (void *p), 1)                                               \
    X(int, pointer_attribute, "cuPointerGetAttribute", (void *value, int attribute, fc_cu_ptr p), 0) \
    X(int, event_sync, "cuEventSynchronize", (fc_cu_event ev), 1)                                  \
    X(int, event_elapsed, "cuEventElapsedTime", (float *ms, fc_cu_event a, fc_cu_event b), 1)      \
    X(int, graph_create, "cuGraphCreate", (fc_cu_graph *g, unsigned flags), 0)                     \
    X(int, graph_destroy, "cuGraphDestroy", (fc_cu_graph g), 0)                                    \
    X(int, graph_add_kernel, "cuGraphAddKernelNode_v2", (fc_cu_graph_node *n, fc_cu_graph g, const fc_cu_graph_node *after, size_t nafter, const fc_cu_kernel_node *p), 0) \
    X(int, graph_instantiate, "cuGraphInstantiateWithFlags", (fc_cu_graph_exec *x, fc_cu_graph g, unsigned long long flags), 0) \
    X(int, graph_set_kernel, "cuGraphExecKernelNodeSetParams_v2", (fc_cu_graph_exec x, fc_cu_graph_node n, const fc_cu_kernel_node *p), 0) \
    X(int, graph_launch, "cuGraphLaunch", (fc_cu_graph_exec x, fc_cu_stream s), 0)                 \
    X(int, graph_exec_destroy, "cuGraphExecDestroy", (fc_cu_graph_exec x), 0)
/* clang-format on */
typedef struct fc_cuda_fns {
    FC_CUDA_FNS(FC_DYN_FIELD)
} fc_cuda_fns;

typedef struct fc_cuda {
    const fc_alloc *alloc;
    fc_dynlib lib;
    fc_cuda_fns fn;
    int version; /* 13000: CUDA 13.0 */
    int n_devices;
    pid_t owner;
    const char *alive; /* a page that reads 0 in a forked process; NULL: the pid is asked for */
    atomic_int lost;   /* the result that ended it, or 0 */
} fc_cuda;

/* Loads the driver and starts it. FUSEC_NO_GPU, with the reason, when there is none, when it is the
 * toolkit's stand-in for linking, when it is too old, or when it has no device. */
fusec_status fc_cuda_open(const fc_alloc *alloc, fc_cuda **out, fc_error *e);
fusec_status fc_cuda_open_with(const fc_alloc *alloc, const fc_cuda_fns *fn, fc_cuda **out,
                               fc_error *e);
void fc_cuda_close(fc_cuda *c); /* NULL is fine */
bool fc_cuda_is_lost(const fc_cuda *c);
/* FUSEC_DRIVER, with the reason, when calls are refused: lost, or forked. */
fusec_status fc_cuda_alive(const fc_cuda *c, fc_error *e);

/* The status for a result of the driver, with "what: the driver's text" as the message; notes a
 * lost device. 2 gives FUSEC_OUT_OF_MEMORY, all else FUSEC_DRIVER. For calls
 * through `fn` directly. */
fusec_status fc_cuda_result(fc_cuda *c, int result, const char *what, fc_error *e);

/* ---- devices ------------------------------------------------------------------------------- */

enum { FC_CUDA_BEGINS_EARLY = 90 }; /* the first compute capability with early launches */
typedef struct fc_cuda_info {
    char name[128];
    int ordinal;
    fc_cu_device device;
    int cc; /* 90 for compute capability 9.0 */
    int sm_count, warp_size;
    int max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
    int registers_per_block, registers_per_sm;
    int shared_per_block, shared_per_block_optin, shared_per_sm, shared_reserved;
    int l2_bytes;
    int clock_khz, memory_clock_khz, memory_bus_bits; /* 0 when the driver does not tell */
    bool memory_pools;                                /* the async allocator works */
    bool together;                                    /* so does fc_cuda_launch_together */
    bool clusters;                                    /* blocks reach each other's shared memory */
    bool early;                                       /* kernels may be launched early */
    uint64_t total_memory;
} fc_cuda_info;
fusec_status fc_cuda_device(fc_cuda *c, int ordinal, fc_cuda_info *out, fc_error *e);

fusec_status fc_cuda_retain(fc_cuda *c, fc_cu_device d, fc_cu_context *out, fc_error *e);
void fc_cuda_release(fc_cuda *c, fc_cu_device d);
/* Makes the context current for this thread; the pop brings back whatever the caller had. */
/* What may wait for the device, such as allocations, is refused while any thread records a stream,
 * unless the calling thread says that it has nothing to do with it; restore takes what relax gave. */
int fc_cuda_relax(fc_cuda *c);
void fc_cuda_restore(fc_cuda *c, int mode);
fusec_status fc_cuda_push(fc_cuda *c, fc_cu_context ctx, fc_error *e);
void fc_cuda_pop(fc_cuda *c);
/* The same for a launch: nothing is pushed when the context is current already. */
fusec_status fc_cuda_enter(fc_cuda *c, fc_cu_context ctx, bool *pushed, fc_error *e);
fusec_status fc_cuda_sync(fc_cuda *c, fc_error *e);

/* ---- modules and functions ----------------------------------------------------------------- */

/* `bad_image` (may be NULL) is set when the bytes are at fault: a cached cubin is a miss then. */
fusec_status fc_cuda_load(fc_cuda *c, const void *image, fc_cu_module *out, bool *bad_image,
                          fc_error *e);
void fc_cuda_unload(fc_cuda *c, fc_cu_module m);
fusec_status fc_cuda_function(fc_cuda *c, fc_cu_module m, const char *name, fc_cu_function *out,
                              fc_error *e);
typedef struct fc_cuda_func_info {
    int registers;
    int local_bytes;  /* a thread: spilled registers and local arrays */
    int shared_bytes; /* a block, static */
    int const_bytes;
    int max_threads; /* a block */
} fc_cuda_func_info;
fusec_status fc_cuda_func_info_get(fc_cuda *c, fc_cu_function f, fc_cuda_func_info *out,
                                   fc_error *e);
/* Whether its code is of an architecture at least as new, not made from that of an older one. */
bool fc_cuda_made_for(fc_cuda *c, fc_cu_function f, int cc);
/* Needed before a launch with more than 48 KiB of dynamic shared memory. */
fusec_status fc_cuda_max_dynamic_shared(fc_cuda *c, fc_cu_function f, int bytes, fc_error *e);

typedef struct fc_cuda_grid {
    unsigned grid[3], block[3];
    unsigned shared; /* dynamic shared memory, bytes */
    bool early;      /* for fc_cuda_launch: it may be on the device before the kernel ahead of it in
                        the stream has ended, and waits for it by itself */
} fc_cuda_grid;
/* The arguments as one packed block, laid out like a C struct of them. */
fusec_status fc_cuda_launch(fc_cuda *c, fc_cu_function f, const fc_cuda_grid *g, fc_cu_stream s,
                            void *args, size_t args_size, fc_error *e);
/* The same with a pointer to each argument. */
fusec_status fc_cuda_launch_args(fc_cuda *c, fc_cu_function f, const fc_cuda_grid *g,
                                 fc_cu_stream s, void *const *args, fc_error *e);
/* The same with all blocks running at the same time, so that they may wait for each other; more
 * blocks than the device has room for are an error. */
fusec_status fc_cuda_launch_together(fc_cuda *c, fc_cu_function f, const fc_cuda_grid *g,
                                     fc_cu_stream s, void *args, fc_error *e);
/* Kernels that run one after the other, as one object (CUDA graph). `args[i]` is the packed block
 * of kernel i. FUSEC_DRIVER when the driver is too old for it. Setting arguments does not change
 * launches that were made before. */
typedef struct fc_cuda_graph fc_cuda_graph;
fusec_status fc_cuda_graph_make(fc_cuda *c, uint32_t n, const fc_cu_function *f,
                                const fc_cuda_grid *g, void *const *args, fc_cuda_graph **out,
                                fc_error *e);
fusec_status fc_cuda_graph_set(fc_cuda_graph *g, uint32_t i, void *args, fc_error *e);
fusec_status fc_cuda_graph_launch(fc_cuda_graph *g, fc_cu_stream s, fc_error *e);
void fc_cuda_graph_free(fc_cuda_graph *g); /* NULL is fine */

/* ---- memory --------------------------------------------------------------------------------
 * Sizes of 0 are right everywhere: an allocation of 0 bytes gives 0, which may be freed. */

fusec_status fc_cuda_alloc(fc_cuda *c, size_t bytes, fc_cu_ptr *out, fc_error *e);
void fc_cuda_free(fc_cuda *c, fc_cu_ptr p);
/* In the order of the stream; where the driver has no such allocator, the plain one. */
fusec_status fc_cuda_alloc_async(fc_cuda *c, size_t bytes, fc_cu_stream s, fc_cu_ptr *out,
                                 fc_error *e);
void fc_cuda_free_async(fc_cuda *c, fc_cu_ptr p, fc_cu_stream s);
/* How many freed bytes the async allocator keeps instead of giving them back at each sync. */
fusec_status fc_cuda_keep_memory(fc_cuda *c, fc_cu_device d, uint64_t bytes, fc_error *e);
/* Of the device's pool, whoever uses it. */
fusec_status fc_cuda_pool_stats(fc_cuda *c, fc_cu_device d, fc_memory_stats *out, fc_error *e);
fusec_status fc_cuda_mem_info(fc_cuda *c, size_t *free_bytes, size_t *total, fc_error *e);

fusec_status fc_cuda_h2d_async(fc_cuda *c, fc_cu_ptr to, const void *from, size_t bytes,
                               fc_cu_stream s, fc_error *e);
fusec_status fc_cuda_d2h_async(fc_cuda *c, void *to, fc_cu_ptr from, size_t bytes, fc_cu_stream s,
                               fc_error *e);
fusec_status fc_cuda_d2d_async(fc_cuda *c, fc_cu_ptr to, fc_cu_ptr from, size_t bytes,
                               fc_cu_stream s, fc_error *e);
fusec_status fc_cuda_memset_async(fc_cuda *c, fc_cu_ptr p, uint8_t value, size_t n, fc_cu_stream s,
                                  fc_error *e);

/* Zeros in the first `width` bytes, a multiple of 4, of `height` rows that are `pitch` bytes apart. */
fusec_status fc_cuda_memset_2d_async(fc_cuda *c, fc_cu_ptr p, size_t pitch, size_t width,
                                     size_t height, fc_cu_stream s, fc_error *e);

/* ---- streams and events -------------------------------------------------------------------- */

fusec_status fc_cuda_stream_create(fc_cuda *c, fc_cu_stream *out, fc_error *e); /* non-blocking */
void fc_cuda_stream_destroy(fc_cuda *c, fc_cu_stream s);
fusec_status fc_cuda_stream_sync(fc_cuda *c, fc_cu_stream s, fc_error *e);
/* A number that no other stream of the process has or had, 0 when the driver does not tell. False
 * when the stream records what it is given: then it runs who knows when and where. */
bool fc_cuda_stream_id(fc_cuda *c, fc_cu_stream s, uint64_t *id);
fusec_status fc_cuda_event_create(fc_cuda *c, bool timing, fc_cu_event *out, fc_error *e);
void fc_cuda_event_destroy(fc_cuda *c, fc_cu_event ev);
fusec_status fc_cuda_event_record(fc_cuda *c, fc_cu_event ev, fc_cu_stream s, fc_error *e);
fusec_status fc_cuda_stream_wait(fc_cuda *c, fc_cu_stream s, fc_cu_event ev, fc_error *e);
fusec_status fc_cuda_host_alloc(fc_cuda *c, size_t bytes, void **out, fc_error *e);
void fc_cuda_host_free(fc_cuda *c, void *p);
/* Whether it is memory of a GPU, and of which; what CUDA does not know is the host's. */
fusec_status fc_cuda_pointer(fc_cuda *c, fc_cu_ptr p, bool *on_device, int *ordinal, fc_error *e);
fusec_status fc_cuda_event_sync(fc_cuda *c, fc_cu_event ev, fc_error *e);
fusec_status fc_cuda_event_ms(fc_cuda *c, fc_cu_event from, fc_cu_event to, float *ms, fc_error *e);

#endif
