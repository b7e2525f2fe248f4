/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_tile_schedule.c - which maps have loads that are transposed through shared memory
 * (cuda_tile.c). */
#include "codegen/cuda/schedule/cuda_schedule.h"

enum { MOST_SHARED = 36 << 10, LEAST_EXTENT = 16 };

static bool turns(const fc_kernel *k, const fc_nest *n, uint32_t a, uint32_t axis) {
    const int64_t *stride = n->stride + (size_t)a * n->np;
    int64_t inner = stride[n->np - 1];
    return fc_cuda_is_load(k, a) && stride[axis] == 1 && inner != 0 && inner != 1;
}

/* The axis along which most bytes of loads are turned; `last` if there is none. */
static uint32_t turned_axis(const fc_kernel *k, const fc_nest *n) {
    uint32_t last = n->np - 1, best = last;
    unsigned most = 0;
    for (uint32_t x = 0; x < last; x++) {
        unsigned bytes = 0;
        for (uint32_t a = 0; a < n->naccess && n->extent[x] >= LEAST_EXTENT; a++)
            if (turns(k, n, a, x)) bytes += fc_cuda_bytes(k, a);
        if (bytes > most) best = x;
        if (bytes > most) most = bytes;
    }
    return n->extent[last] >= LEAST_EXTENT ? best : last;
}

static int shared_bytes(const fc_kernel *k, const fc_nest *n, uint32_t axis, int side) {
    int bytes = 0;
    for (uint32_t a = 0; a < n->naccess; a++)
        if (turns(k, n, a, axis))
            bytes += side * fc_cuda_tile_pitch(k, a, side) * (int)fc_cuda_bytes(k, a);
    return bytes;
}

fusec_status fc_cuda_tile_schedule(const fc_kernel *k, const fc_nest *n, uint32_t align,
                                   fc_arena *arena, fc_class *cls, fc_launch *l, fc_error *e) {
    uint32_t last = n->np - 1, along = turned_axis(k, n);
    int side = 64;
    if (along == last) return FUSEC_OK;
    if (shared_bytes(k, n, along, side) > MOST_SHARED) side = 32;
    if (shared_bytes(k, n, along, side) > MOST_SHARED) return FUSEC_OK;
    size_t moves = (size_t)n->naccess * n->np;
    uint8_t *move = fc_arena_alloc(arena, moves);
    if (!move) return fc_oom(e);
    memcpy(move, cls->move, moves);
    for (uint32_t a = 0; a < n->naccess; a++)
        if (turns(k, n, a, along)) move[(size_t)a * n->np + along] = FC_MOVE_ONE;
    cls->move = move;
    unsigned v = 16 / fc_cuda_tile_widest(k, cls, along);
    while (v > 1 &&
           (n->extent[last] % v || n->extent[along] % v || (int)v * FC_CUDA_THREADS > side * side ||
            !fc_cuda_text_fits(k, v, FC_CUDA_MAP_FUNCTIONS) ||
            !fc_cuda_can_be_wide(k, n, cls, last, v, align) ||
            !fc_cuda_can_be_wide(k, n, cls, along, v, align)))
        v /= 2;
    cls->cuda.kind = FC_CUDA_TILE;
    cls->cuda.tile_axis = (uint16_t)along;
    cls->vector = (uint8_t)v;
    cls->aligned = v > 1;
    cls->cuda.tile_side = (uint16_t)side;
    int64_t x = fc_ceil_div(n->extent[last], side), y = fc_ceil_div(n->extent[along], side);
    l->block[0] = FC_CUDA_THREADS;
    l->grid[0] = (uint64_t)(n->rows / n->extent[last] / n->extent[along] * x * y);
    return FUSEC_OK;
}
