/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sample_build.h - shorthand for the samples: kernels of a few lines. The buffers of a sample are
 * its arguments. */
#ifndef FUSEC_TESTS_SUPPORT_SAMPLE_BUILD_H
#define FUSEC_TESTS_SUPPORT_SAMPLE_BUILD_H

#include "tests/support/sample_kernels.h"

#define AXES(...)                                                                                  \
    (const int[]) {                                                                                \
        __VA_ARGS__                                                                                \
    }
#define DIMS(...)                                                                                  \
    (const fc_dim[]) {                                                                             \
        __VA_ARGS__                                                                                \
    }

static inline uint32_t arg_number(const fc_kernel *k) {
    return (uint32_t)k->args.len;
}

static inline void space(fc_kernel *k, fc_schedule schedule, uint32_t np, uint32_t nr,
                         const fc_dim *extent) {
    k->schedule = schedule;
    k->np = np;
    k->nr = nr;
    for (uint32_t i = 0; i < np + nr; i++) k->extent[i] = extent[i];
}

/* An access that reads buffer axis i at kernel axis axes[i]. */
static inline uint32_t access_of(fc_kernel *k, fc_dimtab *t, uint32_t arg, uint32_t rank,
                                 const fc_dim *shape, const int *axes) {
    fc_map map[4];
    for (uint32_t i = 0; i < rank; i++)
        map[i] = (fc_map){.axis = axes[i], .step = 1, .start = fc_dim_const(t, 0)};
    return fc_kernel_access(k, arg, rank, shape, map);
}

static inline fc_val input(fc_kernel *k, fc_dimtab *t, fusec_dtype type, uint32_t rank,
                           const fc_dim *shape, const int *axes) {
    uint32_t arg = fc_kernel_arg(k, type, false, arg_number(k));
    return fc_kernel_load(k, access_of(k, t, arg, rank, shape, axes));
}

static inline void output(fc_kernel *k, fc_dimtab *t, fusec_dtype type, uint32_t rank,
                          const fc_dim *shape, const int *axes, fc_val value) {
    uint32_t arg = fc_kernel_arg(k, type, true, arg_number(k));
    fc_kernel_store(k, access_of(k, t, arg, rank, shape, axes), value);
}

static inline fc_val op2(fc_kernel *k, fc_op op, fc_val a, fc_val b) {
    return fc_val_op(&k->code, op, a, b, FC_NOVAL);
}
static inline fc_val op1(fc_kernel *k, fc_op op, fc_val a) {
    return fc_val_op(&k->code, op, a, FC_NOVAL, FC_NOVAL);
}
static inline fc_val f32(fc_kernel *k, double v) {
    return fc_val_const(&k->code, FUSEC_F32, v);
}

#endif
