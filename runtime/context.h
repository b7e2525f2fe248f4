/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* context.h - everything a process shares between programs: devices, caches, counters,
 * configuration. */
#ifndef FUSEC_RUNTIME_CONTEXT_H
#define FUSEC_RUNTIME_CONTEXT_H

#include <pthread.h>

#include "passes/plan.h"
#include "runtime/device.h"

/* Tiered compilation (runtime/kernel_tiers.h). */
typedef enum fc_tiers {
    FC_TIERS_FULL, /* all code is compiled with full effort before it runs */
    FC_TIERS_BOTH, /* quick code for the first call where that pays */
    FC_TIERS_QUICK /* quick code only, none of it on disk: for tests of it */
} fc_tiers;

/* Read from the environment once, by fc_config_from_env; explicit values win. */
typedef struct fc_config {
    fc_alloc alloc;
    const char *device;    /* FUSEC_DEVICE: auto, cpu, cuda, cuda:N, interp; NULL = auto */
    const char *cache_dir; /* FUSEC_CACHE_DIR; NULL = the default place; "" = no disk cache */
    const char *xdg_cache_home, *home; /* where the default place is */
    const char *compiler; /* FUSEC_COMPILER: see runtime/compile/helper.h; NULL, "": none */
    int threads;          /* FUSEC_THREADS; 0 = all this process may use */
    uint32_t mode;        /* FC_MODE_* */
    fc_tiers tiers;       /* FUSEC_TIERS: full, both, quick; both when that is not set */
    int processors;       /* that two tiers are dealt out to; 0: those this process may use */
    fc_limits limits;
    struct fc_trace *trace; /* what devices do is written there (runtime/trace.h); NULL: nowhere */
    bool nvtx;              /* FUSEC_NVTX=1: ranges for NVIDIA's profilers, where NVTX is found */
    int debug;              /* FUSEC_DEBUG: 1 devices and cache, 2 plans, 4 generated source */
    void (*log)(void *user, const char *line); /* where debug lines go; NULL = nowhere */
    void *log_user;
    const char *llvm_path,
        *nvrtc_path;         /* where compilers are looked for first, ':' between places */
    const char *packs;       /* FUSEC_PACKS: files of compiled kernels, ':' between them */
    const char *cpu;         /* FUSEC_CPU: a level of x86-64; NULL, "": that of the first pack, or
                                this processor */
    bool never_compile;      /* FUSEC_COMPILE=never: code that is not there is an error */
    int (*poll)(void *user); /* whether to stop; NULL: never */
    void *poll_user;
    fc_usermem_fns device_memory; /* where memory of devices comes from; no functions: from them */
} fc_config;

enum { FC_MAX_THREADS = 99999 };

void fc_config_init(fc_config *c); /* defaults */
/* Defaults and the environment. FUSEC_INVALID names the variable whose value can't be taken. */
fusec_status fc_config_from_env(fc_config *c, fc_error *e);
/* Whether it is NULL, "" or one of the names that fc_config.device lists. */
fusec_status fc_device_name_check(const char *name, fc_error *e);

#define FC_MAX_CUDA    16
#define FC_MAX_LOGICAL 16 /* on each: cuda:0/3 has a stream and a pool of its own */
enum { FC_MAX_PACKS = 16 };

typedef struct fc_context {
    fc_config config;
    pthread_mutex_t lock; /* devices and the kernel cache */
    fc_device *cuda[FC_MAX_CUDA][FC_MAX_LOGICAL], *cpu, *interp;
    fc_diskcache *disk; /* NULL: off */
    bool disk_tried;
    struct fc_pack *packs[FC_MAX_PACKS];
    int npacks;
    FC_VEC(struct fc_user_call *) calls; /* functions of the user (runtime/call.h) */
    FC_VEC(struct fc_extern *) externs;  /* those in kernels (runtime/external.h) */
    struct fc_helper *helper;            /* NULL: compilers run in this process */
    fc_str notice;                       /* why the automatic choice passed over a better device */
    struct fc_copier *copiers;           /* programs that copy strided arrays (runtime/stage.c) */
    struct fc_pool *parts;               /* threads of calls on several devices; NULL: none yet */
    struct fc_trace *trace;              /* of the configuration, or its own for NVTX; NULL: none */
    struct fc_kcache *kernels;           /* loaded code, by key (runtime/kernel_cache.h) */
    /* counted under the kernel cache's lock, read at any time */
    _Atomic uint64_t compiles; /* kernels compiled since the context was made */
    _Atomic uint64_t disk_hits, memory_hits;
} fc_context;

fusec_status fc_context_new(const fc_config *c, fc_context **out, fc_error *e);
void fc_context_free(fc_context *c);

/* `name` as in fc_config.device. auto: CUDA if it works, else the CPU, else the interpreter;
 * `notice` (may be NULL) gets one line that says why it fell back, "" if it did not. */
fusec_status fc_context_device(fc_context *c, const char *name, fc_device **out, fc_str *notice,
                               fc_error *e);
/* Memory of a device. When there is too little, loaded kernels that no program holds are dropped,
 * and it is tried once more. */
fusec_status fc_context_memory(fc_context *c, fc_device *d, fc_stream s, size_t bytes, void **out,
                               fc_error *e);
/* Threads that compute the parts of a call on several devices (mesh.h), as many as asked for. */
fusec_status fc_context_parts(fc_context *c, struct fc_pool **out, fc_error *e);
fc_diskcache *fc_context_disk(fc_context *c); /* NULL when there is none */
/* The code by this key from the packs, in order. */
bool fc_context_packed(const fc_context *c, const uint8_t key[FC_CACHE_KEY], uint32_t kind,
                       fc_bytes *out);
void fc_log(fc_context *c, int level, const char *fmt, ...) FC_PRINTF(3, 4);

#endif
