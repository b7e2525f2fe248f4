/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_target.c - the CUDA target: the one file that knows both its schedules and its emitter. */
#include "codegen/cuda/cuda.h"
#include "codegen/cuda/schedule/cuda_schedule.h"

/* A map without functions is straight code, and NVRTC's own start is all it costs. */
static bool long_to_compile(const fc_kernel *k) {
    uint32_t ops, functions;
    fc_kernel_cost(k, &ops, &functions);
    return k->schedule != FC_SCHED_MAP || functions || ops > FC_CUDA_FEW_OPERATIONS;
}

static fusec_status kept(const fc_kernel *k, const fc_class *cls, uint8_t *accesses, fc_error *e) {
    if (fc_cuda_has_places(cls)) return fc_cuda_ring_loads(k, cls, accesses, e);
    return cls->cuda.iterations ? fc_cuda_cache(k, cls, accesses, NULL, e) : FUSEC_OK;
}

/* Whatever leaves the grid's second direction alone and needs nothing that is kept for a launch. */
static uint32_t alike(const fc_kernel *k, const fc_class *cls, const fc_launch *launch) {
    const fc_layout l = fc_layout_of((uint32_t)k->args.len, (uint32_t)cls->np + cls->nr,
                                     cls->naccess, (uint32_t)k->params.len);
    const uint32_t each = fc_alike_layout(l, 1).args - fc_alike_layout(l, 0).args;
    if (cls->cuda.split || launch->grid[1] != 1 || launch->workspace_bytes || launch->tickets)
        return 1;
    return each && l.words < FC_ALIKE_WORDS ? (FC_ALIKE_WORDS - l.words) / each : 1;
}

/* Which form kernels have that are one launch; in the class of the first. */
static fusec_status join(const fc_machine *m, uint32_t mode, uint32_t align, fc_arena *arena,
                         fc_joined *j, fc_launch *launch, bool *can, fc_error *e) {
    FC_TRY(fc_cuda_join_flash(m, mode, align, arena, j, launch, can, e));
    return *can ? FUSEC_OK : fc_cuda_join_slide(m, align, arena, j, launch, can, e);
}

static fusec_status emit_joined(const fc_machine *m, const fc_joined *j, const char *name,
                                fc_str *out, fc_error *e) {
    (void)m; /* what a text may depend on is in the classes */
    return j->cls[0].cuda.slide_rows ? fc_cuda_emit_slide(j, name, out, e)
                                     : fc_cuda_emit_flash(j, name, out, e);
}

/* A clock of an SM: 2,048 products of 16 bits, twice as many of 8, half as many of f32, 128 of f64,
 * or 128 instructions. */
static uint32_t products(const fc_class *cls) {
    if (cls->cuda.kind == FC_CUDA_FLASH) return 16;
    if (!fc_cuda_on_tensor_cores(cls)) return 1;
    const unsigned bytes = fc_cuda_tile_bytes(fc_cuda_tile_of(cls));
    return bytes == 8 ? 1 : 32 / bytes;
}

/* Tensor cores take operands that are in memory 2 to 3 times as fast as those that threads compute
 * for them, except where so few rows are multiplied that memory is what they wait for, or where
 * other warps compute them meanwhile (sm_90: columns, for one or two tiles of rows). A store is one
 * launch more, which a product of 16 x 4096 x 4096 is too short for. */
static bool stores(const fc_machine *m, fusec_dtype t, int64_t elements, int64_t met) {
    enum { MEANWHILE = 9, FEW_PRODUCTS = 1 << 28, FEW_ELEMENTS = 1 << 21 };
    if (!fc_is_half(t) || m->sm_major < 8) return false;
    if (m->sm_major == MEANWHILE) return met > 256 && fc_mul_most(elements, met) > FEW_PRODUCTS;
    return met > 32 && elements >= FEW_ELEMENTS;
}

const fc_target fc_cuda_target = {.kind = FC_TARGET_CUDA,
                                  .schedule = fc_cuda_schedule,
                                  .schedule_plain = fc_cuda_schedule_plain,
                                  .emit = fc_cuda_emit,
                                  .smaller = fc_cuda_smaller,
                                  .alike = alike,
                                  .long_to_compile = long_to_compile,
                                  .quicker = fc_cuda_map_quicker,
                                  .kept = kept,
                                  .products = products,
                                  .stores = stores,
                                  .join = join,
                                  .emit_joined = emit_joined};
