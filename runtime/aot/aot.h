/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot.h - what `fusec build` puts into an object, and the functions that run it.
 *
 * A definition is a constant: the dims and conditions of its plan, its kernels as the passes made
 * them, and for each level of x86-64 and each GPU architecture the code of some shape classes.
 * Everything points to everything by relocations of the object, so nothing is read or made before a
 * call. A call binds the sizes, chooses classes by the same functions as the library
 * (codegen/nest.c, the schedules of both targets) and runs the code (bound.h); for a class that is
 * not there it runs the plain one, which takes any sizes. Bits do not depend on which it is.
 *
 * The files of the object's run time are listed in cmake/FusecAot.cmake. They know nothing of
 * devices, caches and compilers, and have no state but what the processor is, what a thread called
 * last, what it was told, and what nn_cuda_open gave. */
#ifndef FUSEC_RUNTIME_AOT_AOT_H
#define FUSEC_RUNTIME_AOT_AOT_H

#include "codegen/target.h"
#include "ir/graph.h"

/* What the functions of a generated header return; PREFIX_OK and so on have these numbers. */
enum {
    FC_AOT_OK,
    FC_AOT_ARG,
    FC_AOT_SHAPE,
    FC_AOT_NOMEM,
    FC_AOT_NODEVICE,
    FC_AOT_DRIVER,
    FC_AOT_INDEX
};

/* nn_env of a generated header. */
typedef struct fc_aot_env {
    void *ctx;
    void (*parallel_for)(void *ctx, int64_t n, void (*body)(void *arg, int64_t i), void *arg);
} fc_aot_env;

typedef void fc_aot_fn(const int64_t *params, int64_t begin, int64_t end);

typedef struct fc_aot_variant {
    fc_class cls;
    fc_aot_fn *main, *finish; /* of a processor */
    const char *name;         /* of a GPU: the entry point in the image */
} fc_aot_variant;

/* The code of a kernel: classes, those that most sizes have first, and the plain one. */
typedef struct fc_aot_code {
    const fc_aot_variant *variants;
    uint64_t n;
    fc_aot_variant plain;
    uint64_t first; /* number of the first variant among all of the definition; the plain one is
                       the last of the kernel's */
} fc_aot_code;

typedef struct fc_aot_level {
    uint64_t features; /* FC_CPU_ bits that it needs */
    int64_t vector_bytes;
    const fc_aot_code *code; /* of each kernel */
} fc_aot_level;

/* What a GPU loads: a cubin, or PTX that its driver translates. */
typedef struct fc_aot_image {
    int32_t cc; /* 90: made for compute capability 9.0 */
    int32_t ptx;
    int64_t shared; /* bytes of a block that classes were chosen with */
    const void *binary;
    const fc_aot_code *code;
    uint64_t nfunctions;
} fc_aot_image;

typedef struct fc_aot_array {
    uint32_t bytes, rank; /* of an element */
    const fc_dim *shape;
} fc_aot_array;

typedef struct fc_aot_size {
    uint32_t sym, given; /* given: number of the argument + 1; 0: it is `value` */
    int64_t value;
} fc_aot_size;

typedef struct fc_aot_def {
    const fc_dimtab *dims;
    const fc_aot_size *sizes;
    const fc_condition *conditions;
    const fc_aot_array *buffers; /* of the plan: inputs, outputs, temporaries */
    const fc_kernel *const *kernels;
    const fc_aot_level *levels; /* the best first; the last one runs everywhere it was built for */
    const fc_aot_image *images; /* in the order in which they are tried */
    uint64_t nsizes, nconditions, nin, nout, nbuffers, nkernels, nlevels, nimages;
    uint64_t number; /* among those of the object */
} fc_aot_def;

/* `sizes`: the size arguments; `arrays`: inputs (scalars are pointed to), then outputs. */
int fusec_aot_call(const fc_aot_def *d, const fc_aot_env *env, const int64_t *sizes,
                   void *const *arrays);

/* ---- GPUs: cuda.c ---------------------------------------------------------------------------- */

typedef struct fc_aot_cuda fc_aot_cuda; /* nn_cuda of a generated header */

/* All definitions of the object that have images. */
typedef struct fc_aot_defs {
    const fc_aot_def *const *at;
    uint64_t n;
} fc_aot_defs;

int fusec_aot_cuda_open(const fc_aot_defs *defs, fc_aot_cuda **out);
void fusec_aot_cuda_close(fc_aot_cuda *c);
const char *fusec_aot_cuda_message(void);
int fusec_aot_cuda_scratch(const fc_aot_def *d, fc_aot_cuda *c, const int64_t *sizes,
                           size_t *bytes);
int fusec_aot_cuda_call(const fc_aot_def *d, fc_aot_cuda *c, void *stream, const int64_t *sizes,
                        void *const *arrays, void *scratch);

/* ---------------------------------------------------------------------------------------------- */

/* The machine of a level, for whoever chooses classes: the builder and the object have the same. */
static inline fc_machine fc_aot_machine(const char *cpu, int vector_bytes) {
    return (fc_machine){.target = FC_TARGET_LLVM,
                        .cache = (size_t)32 << 20,
                        .vector_bytes = vector_bytes,
                        .threads = 16,
                        .cpu = cpu};
}

#endif
