/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device.h - what can run kernels: a table of functions, three implementations (cuda, cpu, interp).
 *
 * A device belongs to a context and may be used from any thread. Memory of cpu and interp is host
 * memory. */
#ifndef FUSEC_RUNTIME_DEVICE_H
#define FUSEC_RUNTIME_DEVICE_H

#include <stdatomic.h>

#include "codegen/target.h"
#include "ir/fft.h"
#include "runtime/diskcache.h"
#include "runtime/usermem.h"

typedef enum fc_device_kind { FC_DEV_CUDA, FC_DEV_CPU, FC_DEV_INTERP } fc_device_kind;

typedef struct fc_device fc_device;
typedef struct fc_variant
    fc_variant; /* loaded code of one kernel and class; owned by the kernel cache */

/* A stream of the device: a CUstream for cuda (NULL = the device's own), ignored by the others. */
typedef void *fc_stream;

/* Words of a launch's block that are addresses of memory which every thread has its own of, that
 * far from the one's before it. */
typedef struct fc_own_word {
    uint32_t word;
    int64_t by;
} fc_own_word;

/* Launches that are `n` kernels for each of `count` strips (strips.h), which threads of the host do
 * side by side: each all kernels of a strip, with memory of its own. At most FC_ALIKE_WORDS words
 * each. */
typedef struct fc_prepared_strips {
    uint32_t n, count, threads;
    const fc_own_word *const *own; /* [n] */
    const uint32_t *nown;
} fc_prepared_strips;

/* One kernel of a call that is made again and again. */
typedef struct fc_prepared {
    void *code;
    const fc_class *cls;
    const fc_launch *launch;
    int64_t *params;
    uint32_t words;
    const fc_prepared_strips *strips; /* that begin with this launch; NULL: none */
    bool changed;                     /* the block is another one than at the last graph_run */
} fc_prepared;

/* What compiled code takes, a thread; 0 = none, or not known. */
typedef struct fc_code_facts {
    uint32_t registers;
    uint32_t spill_bytes; /* local memory: spilled registers and arrays that are indexed */
} fc_code_facts;

/* Code that is fast, or code that is there soon. In strict mode its results are the same, to the
 * bit, but for the sign and payload of a NaN that an operation makes. */
typedef enum fc_effort { FC_FULL, FC_QUICK } fc_effort;

typedef struct fc_device_ops {
    /* Memory is at least 256-byte (cuda) or 64-byte (host) aligned. Freeing is ordered after the
     * work given to `s` before. bytes 0 gives NULL. */
    fusec_status (*alloc)(fc_device *d, fc_stream s, size_t bytes, void **out, fc_error *e);
    void (*free)(fc_device *d, fc_stream s, void *p);
    fusec_status (*upload)(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                           fc_error *e);
    fusec_status (*download)(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                             fc_error *e);
    /* Inside the device's memory. */
    fusec_status (*copy)(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                         fc_error *e);
    fusec_status (*zero)(fc_device *d, fc_stream s, void *dst, size_t bytes, fc_error *e);
    fusec_status (*sync)(fc_device *d, fc_stream s, fc_error *e);
    /* A number that is this stream's alone as long as the process lives, or 0: nothing tells.
     * False: memory must not stay with the stream, for what is launched is recorded and runs later.
     * NULL where `s` means nothing. */
    bool (*stream_id)(fc_device *d, fc_stream s, uint64_t *id);
    /* Frees what any stream may still use: waits for all of them. NULL as above. */
    void (*free_used)(fc_device *d, void *p);
    /* Everything outside the text that the binary depends on, but for the compiler: architecture,
     * options. */
    void (*salt)(fc_device *d, uint32_t mode, fc_str *out);
    /* The compiler that is here: its version, whatever its path; nothing if there is none. What
     * another one made is not taken from the disk cache. */
    void (*maker)(fc_device *d, fc_str *out);
    /* text -> binary (the bytes kept on disk) -> loaded code. The interpreter has no
     * binary: NULL. */
    fusec_status (*compile)(fc_device *d, uint32_t mode, fc_effort effort, const char *text,
                            fc_bytes *out, fc_error *e);
    fusec_status (*load)(fc_device *d, const fc_kernel *k, const fc_class *c, const char *name,
                         const fc_bytes *binary, void **code, fc_error *e);
    /* Another kernel of the same binary as `code`. Where kernels_together is set. */
    fusec_status (*load_more)(fc_device *d, void *code, const char *name, void **out, fc_error *e);
    void (*unload)(fc_device *d, void *code);
    /* Code for a kernel of any class without a compiler: at once, and much slower. NULL: never. */
    fusec_status (*interpret)(fc_device *d, const fc_kernel *k, void **code, fc_error *e);
    /* What the compiler made of it; NULL: nothing is known. */
    void (*facts)(fc_device *d, void *code, fc_code_facts *out);
    fusec_status (*launch)(fc_device *d, fc_stream s, void *code, const fc_class *c,
                           const fc_launch *l, const int64_t *params, uint32_t words, fc_error *e);
    /* The same of a kernel that the user wrote: a pointer to each of its arguments. NULL where
     * texts are no code. */
    fusec_status (*launch_args)(fc_device *d, fc_stream s, void *code, const fc_launch *l,
                                void *const *args, fc_error *e);
    fusec_status (*launch_all)(fc_device *d, fc_stream s, const fc_prepared *l, uint32_t n,
                               fc_error *e);
    /* The same kernels as one object that is launched at once; NULL where the device has none.
     * graph_run clears `changed`. Freeing waits for what runs. */
    fusec_status (*graph_make)(fc_device *d, const fc_prepared *l, uint32_t n, void **graph,
                               fc_error *e);
    fusec_status (*graph_run)(fc_device *d, fc_stream s, void *graph, fc_prepared *l, uint32_t n,
                              fc_error *e);
    void (*graph_free)(fc_device *d, void *graph);
    /* Seconds of one launch, the mean of `repeats`, measured on the device. */
    fusec_status (*time)(fc_device *d, fc_stream s, void *code, const fc_class *c,
                         const fc_launch *l, const int64_t *params, uint32_t words, int repeats,
                         double *seconds, fc_error *e);
} fc_device_ops;

struct fc_device_hooks;
struct fc_device {
    const fc_device_ops *ops;
    const struct fc_device_hooks *hooks;
    const fc_target *target;
    fc_machine machine;
    fc_device_kind kind;
    int ordinal;
    bool host_memory;
    bool kernels_together; /* several kernels are compiled as one text, and so are one binary */
    /* Elementary operations of a call (of all its elements) that quick code may take for the first
     * time; for more it is faster to wait for the full one. 0: there is no quick code. */
    _Atomic double quick_work;
    /* The same of what may be interpreted meanwhile, whole blocks of 128 elements. */
    _Atomic double interpreted_work;
    const fc_alloc *alloc;
    const char *places;      /* of its compiler; NULL: the usual ones */
    fc_usermem *usermem;     /* where its memory comes from; NULL: its own */
    int (*poll)(void *user); /* fc_config.poll */
    void *poll_user;
    struct fc_helper
        *helper;      /* compiles in a process of its own (runtime/compile/helper.h); NULL: here */
    char name[80];    /* "cuda:0", "cpu", "interp" */
    char text[160];   /* "NVIDIA H200, sm_90, 132 SMs" */
    double bandwidth; /* bytes/s of device memory by its properties, 0 = unknown; offline that of
                         the machine which the architecture stands for */
    double slots;     /* instructions of one thread that are issued a second; the same */
};

/* Devices are made by the context on first need. A failure says what was looked for. */
/* `places` (may be NULL; it must outlive the device): where the compiler is looked for first
 * (runtime/compile/dynlib.h). */
fusec_status fc_device_open_cuda(const fc_alloc *a, int ordinal, const char *places,
                                 fc_device **out, fc_error *e);
/* `level`: code for every processor of a level of x86-64 (fc_cpu_level) in place of this one; NULL,
 * "": none. FUSEC_INVALID: this processor is below it. LLVM is not needed before something must be
 * compiled. */
fusec_status fc_device_open_cpu(const fc_alloc *a, int threads, const char *places,
                                const char *level, fc_device **out, fc_error *e);
fusec_status fc_device_open_interp(const fc_alloc *a, int threads, fc_device **out, fc_error *e);
/* A device that is not there: compiles for compute capability `cc` (90) and runs nothing. For
 * `fusec build`, explain and tests on machines without a GPU. */
fusec_status fc_device_open_cuda_offline(const fc_alloc *a, int cc, fc_device **out, fc_error *e);
void fc_device_close(fc_device *d); /* NULL is fine */

/* Asks the caller whether to go on: FUSEC_CANCELLED if not. */
fusec_status fc_device_poll(const fc_device *d, fc_error *e);

/* What compiling needs besides the device itself: NVRTC for cuda. */
fusec_status fc_device_ready(fc_device *d, fc_error *e);

/* FUSEC_DRIVER when the device was lost, which lasts as long as the process; asks nobody. */
fusec_status fc_device_alive(fc_device *d, fc_error *e);

/* Free and total bytes of the device's memory; false when unknown. */
bool fc_device_memory(fc_device *d, uint64_t *free_bytes, uint64_t *total);
/* What the context has of it; false when unknown. */
bool fc_device_memory_stats(fc_device *d, fc_memory_stats *out);
/* FUSEC_OUT_OF_MEMORY: "not enough memory on cuda:0: this needs 160.2 GiB, 138.6 GiB are free". The
 * one form of this message, whoever finds that the memory is not there. */
fusec_status fc_device_no_memory(fc_device *d, uint64_t bytes, fc_error *e);

/* What compilers call a text in their messages; the entry point of a kernel is fc_kernel_name. */
#define FC_ENTRY "fusec_kernel"

/* (implementations only) */
/* What streams have besides order. Events are the device's. */
struct fc_device_streams {
    fc_stream (*own)(fc_device *d); /* the stream that NULL stands for */
    fusec_status (*event_new)(fc_device *d, void **out, fc_error *e);
    void (*event_free)(fc_device *d, void *ev);
    fusec_status (*event_record)(fc_device *d, void *ev, fc_stream s, fc_error *e);
    /* What comes later on `s` comes after what the event was recorded behind. */
    fusec_status (*event_wait)(fc_device *d, void *ev, fc_stream s, fc_error *e);
    fusec_status (*event_sync)(fc_device *d, void *ev, fc_error *e);
    fusec_status (*event_seconds)(fc_device *d, void *a, void *b, double *out, fc_error *e);
    fusec_status (*host_alloc)(fc_device *d, size_t bytes, void **out,
                               fc_error *e); /* page-locked */
    void (*host_free)(fc_device *d, void *p);
    fusec_status (*place_of)(fc_device *d, const void *p, bool *on_device, int *ordinal,
                             fc_error *e);
};

/* Fourier transforms in the device's memory, by a library that it may have. */
struct fc_device_fft {
    /* For `batch` lines as ir/fft.h has them, t the complex dtype, n the longer of both lengths;
     * takes *room bytes of memory when it runs. *out is NULL: there is no library, or it
     * does not take these. */
    fusec_status (*make)(fc_device *d, fc_fft_kind kind, fusec_dtype t, int64_t n, int64_t batch,
                         size_t *room, void **out, fc_error *e);
    fusec_status (*run)(fc_device *d, fc_stream s, void *plan, const void *in, void *out,
                        void *room, fc_error *e);
    void (*free)(fc_device *d, void *plan); /* NULL is fine */
    void (*who)(fc_device *d, fc_str *out); /* says who transforms, for explain */
};

struct fc_device_hooks {
    const struct fc_device_streams *streams; /* NULL: calls are done when they return */
    const struct fc_device_fft *fft;         /* NULL: the host's */
    void (*close)(fc_device *d);
    bool (*memory)(fc_device *d, uint64_t *free_bytes, uint64_t *total);
    bool (*memory_stats)(fc_device *d, fc_memory_stats *out);
    /* Gives freed memory beyond `keep` bytes back. */
    fusec_status (*trim)(fc_device *d, uint64_t keep, fc_error *e);
    /* Whether kernels can be compiled; NULL: nothing can be missing. */
    fusec_status (*ready)(fc_device *d, fc_error *e);
    /* Whether it still works; NULL: it can't be lost. */
    fusec_status (*alive)(fc_device *d, fc_error *e);
};

#endif
