/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot.h - what `fusec build` puts into an object, and the function that runs it.
 *
 * A definition is a constant: the dims and conditions of its plan, its kernels as the passes made
 * them, and for each level of x-86-64 the code of some shape classes. Everything points to
 * everything by relocations of the object, so nothing is read or made before a call. A call binds
 * the sizes, chooses classes by the same functions as the library (codegen/nest.c,
 * codegen/llvm/schedule) and runs the code; for a class that is not there it runs the plain one,
 * which takes any sizes. Bits do not depend on which it is.
 *
 * The files of the object's run time are listed in cmake/FusecAot.cmake. They know nothing of
 * devices, caches and compilers, and have no state but what the processor is and what a thread called last. */
#ifndef FUSEC_RUNTIME_AOT_AOT_H
#define FUSEC_RUNTIME_AOT_AOT_H

#include "codegen/target.h"
#include "ir/graph.h"

/* What the functions of a generated header return; PREFIX_OK and so on have these numbers. */
enum { FC_AOT_OK, FC_AOT_ARG, FC_AOT_SHAPE, FC_AOT_NOMEM, FC_AOT_INDEX = 6 };

/* nn_env of a generated header. */
typedef struct fc_aot_env {
    void *ctx;
    void (*parallel_for)(void *ctx, int64_t n, void (*body)(void *arg, int64_t i), void *arg);
} fc_aot_env;

typedef void fc_aot_fn(const int64_t *params, int64_t begin, int64_t end);

typedef struct fc_aot_variant {
    fc_class cls;
    fc_aot_fn *main, *finish;
} fc_aot_variant;

/* The code of a kernel: classes, those that most sizes have first, and the plain one. */
typedef struct fc_aot_code {
    const fc_aot_variant *variants;
    uint64_t n;
    fc_aot_variant plain;
} fc_aot_code;

typedef struct fc_aot_level {
    uint64_t features; /* FC_CPU_ bits that it needs */
    int64_t vector_bytes;
    const fc_aot_code *code; /* of each kernel */
} fc_aot_level;

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
    uint64_t nsizes, nconditions, nin, nout, nbuffers, nkernels, nlevels;
} fc_aot_def;

/* `sizes`: the size arguments; `arrays`: inputs (scalars are pointed to), then outputs. */
int fusec_aot_call(const fc_aot_def *d, const fc_aot_env *env, const int64_t *sizes,
                   void *const *arrays);

/* The machine of a level, for whoever chooses classes: the builder and the object have the same. */
static inline fc_machine fc_aot_machine(const char *cpu, int vector_bytes) {
    return (fc_machine){.target = FC_TARGET_LLVM,
                        .cache = (size_t)32 << 20,
                        .vector_bytes = vector_bytes,
                        .threads = 16,
                        .cpu = cpu};
}

#endif
