/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target.h - what a backend gives the runtime: kernel + sizes -> class and launch; kernel + class
 * -> text.
 *
 * Three targets: codegen/cuda (CUDA C), codegen/llvm (LLVM IR), codegen/interp (walks the code). */
#ifndef FUSEC_CODEGEN_TARGET_H
#define FUSEC_CODEGEN_TARGET_H

#include "codegen/joined.h"
#include "ir/expand.h"

/* What an x86 or ARM processor has; bits of fc_machine.host_features. */
enum {
    FC_CPU_SSE42 = 1 << 0,
    FC_CPU_AVX = 1 << 1,
    FC_CPU_AVX2 = 1 << 2,
    FC_CPU_FMA = 1 << 3,
    FC_CPU_F16C = 1 << 4,
    FC_CPU_BMI2 = 1 << 5,
    FC_CPU_AVX512F = 1 << 6,
    FC_CPU_AVX512BW = 1 << 7,
    FC_CPU_AVX512DQ = 1 << 8,
    FC_CPU_AVX512VL = 1 << 9,
    FC_CPU_NEON = 1 << 10
};

/* Facts of a device that schedules may depend on; from properties, never from a name. */
typedef struct fc_machine {
    fc_target_kind target;
    size_t cache; /* cuda: bytes of the L2; llvm: of the last cache that this process may count on;
                     0: does not matter */
    size_t near_cache; /* llvm: bytes of the second-level cache of a core; 0: not known */
    bool far_cache;    /* llvm: that is hardly nearer than memory, which is far, too */
    /* cuda */
    int sm_major, sm_minor, sm_count, max_threads_per_sm, shared_per_block;
    bool together; /* it can launch a grid whose blocks all run at the same time */
    bool clusters; /* up to 8 blocks side by side can reach each other's shared memory */
    bool later;    /* the code is PTX, which drivers translate for later architectures, too */
    /* llvm */
    int vector_bytes; /* 64, 32 or 16 */
    int threads;
    const char *cpu, *features; /* LLVM's names; NULL = the host's */
    unsigned host_features;     /* FC_CPU_ bits, for a machine that names no other processor */
} fc_machine;

/* A kernel with this comment before its `extern "C" __global__` is as fast when the CUDA compiler
 * optimises little; a program all of whose kernels have it is compiled so. The bits of results are
 * the same. */
#define FC_CUDA_BRIEFLY "/* little optimisation */"
/* In front of CUDA C that the user wrote. */
#define FC_CUDA_USER "/* of the user */"

/* How to run a variant for one nest. */
typedef struct fc_launch {
    uint64_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    int64_t
        tasks;    /* llvm, interp: number of independent tasks; task t covers units [t*unit, ...) */
    int64_t unit; /* units per task */
    int64_t units;       /* total */
    int64_t spans, span; /* split reductions, llvm maps: number of spans of a row, elements in each;
                            always go to FC_PB_SPANS and FC_PB_SPAN */
    size_t workspace_bytes; /* partial results */
    uint32_t tickets; /* u32 counters, zero before the first launch; the kernel leaves them zero */
    bool together;    /* cuda: all blocks run at the same time, as they wait for each other */
    bool brief;       /* llvm: by its costs, no longer than it takes to wake a thread */
    bool finish;      /* llvm, interp: a second function runs over the rows afterwards */
} fc_launch;

typedef struct fc_target {
    fc_target_kind kind;
    /* Chooses the class for these sizes and how to launch it. Deterministic. `move` of the class is
     * allocated from `arena`. `align` is the common alignment of all buffers in bytes. */
    fusec_status (*schedule)(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                             uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *launch,
                             fc_error *e);
    /* The class that takes any sizes, of a nest with the kernel's own axes (fc_nest_bind_plain): it
     * depends on kernel and machine alone. NULL: there is none. */
    fusec_status (*schedule_plain)(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                   fc_arena *arena, fc_class *cls, fc_launch *launch, fc_error *e);
    /* Text of the variant. The entry point is called `name`; a finishing function `name`_finish.
     * Equal kernels and classes give equal text (up to the name). */
    fusec_status (*emit)(const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                         const char *name, fc_str *out, fc_error *e);
    /* For code that needs more registers than there are: `registers` and `spill_bytes` are what the
     * compiler gave a thread of *cls. Puts a class that needs fewer, and its launch, in their
     * places; false: there is none, the code stays. Each class it gives must be smaller than the
     * one before. NULL: never. */
    bool (*smaller)(const fc_machine *m, const fc_kernel *k, const fc_nest *n, uint32_t align,
                    uint32_t registers, uint32_t spill_bytes, fc_arena *arena, fc_class *cls,
                    fc_launch *launch);
    /* How many kernels of this class that differ in their pointers and parameters only one launch
     * can do: with cls->alike, the number of each in the grid's second direction. Below 2: no.
     * NULL: never. */
    uint32_t (*alike)(const fc_kernel *k, const fc_class *cls, const fc_launch *launch);
    /* Whether compiling this kernel with less effort takes noticeably less time. NULL: always. */
    bool (*long_to_compile)(const fc_kernel *k);
    /* Puts into *cls the class whose code does the same under the same launch, to the bit, and is
     * compiled sooner; it runs slower. False: there is none, or it would take longer in all. NULL:
     * never. */
    bool (*quicker)(const fc_machine *m, const fc_kernel *k, const fc_launch *l, fc_class *cls);
    /* Marks in kept[accesses], which come as 0, the loads that a kernel of this class does once for
     * all its stages. NULL: each stage loads what it needs. */
    fusec_status (*kept)(const fc_kernel *k, const fc_class *cls, uint8_t *kept, fc_error *e);
    /* How many products of a contraction of this class take as long as an instruction of a thread.
     * NULL: one. */
    uint32_t (*products)(const fc_class *cls);
    /* Whether a product's operand of dtype t, `elements` that are computed, is better stored first
     * than computed in the product's loads, when each meets `met` rows or columns of the other one.
     * NULL: never. */
    bool (*stores)(const fc_machine *m, fusec_dtype t, int64_t elements, int64_t met);
    /* Whether kernels, whose nests are plain, are one launch: then *j has their classes. `mode`:
     * licences (passes/plan.h). NULL: never. */
    fusec_status (*join)(const fc_machine *m, uint32_t mode, uint32_t align, fc_arena *arena,
                         fc_joined *j, fc_launch *launch, bool *can, fc_error *e);
    /* As emit, of such kernels. */
    fusec_status (*emit_joined)(const fc_machine *m, const fc_joined *j, const char *name,
                                fc_str *out, fc_error *e);
} fc_target;

extern const fc_target fc_cuda_target, fc_llvm_target, fc_interp_target;

#endif
