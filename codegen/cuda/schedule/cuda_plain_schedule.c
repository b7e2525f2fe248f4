/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_plain_schedule.c - the class that takes any sizes: accesses move anywhere along the axes
 * that they may move along at all, indices have 64 bits, nothing is split, and a thread or a warp
 * takes one element at a time. Trees are those of any other class. */
#include "codegen/cuda/schedule/cuda_schedule.h"

/* The kernel's axis behind one of the nest, which has an axis of each sort also where the kernel
 * has none; -1. */
static int32_t axis_behind(const fc_kernel *k, const fc_nest *n, uint32_t axis) {
    if (axis < n->np) return axis < k->np ? (int32_t)axis : -1;
    return axis - n->np < k->nr ? (int32_t)(k->np + axis - n->np) : -1;
}

/* Rows that blocks of many warps walk over. */
static void plain_rows(const fc_nest *n, fc_class *cls, fc_launch *l) {
    const int64_t warps = FC_CUDA_THREADS / 32, chunks = fc_ceil_div(n->count, FC_CHUNK);
    cls->vector = 4;
    cls->cuda.kind = FC_CUDA_LOOP;
    cls->cuda.team = FC_CUDA_THREADS;
    l->spans = 1;
    l->span = fc_cuda_pow2_up(fc_ceil_div(chunks, warps)) * warps * FC_CHUNK;
    l->block[0] = FC_CUDA_THREADS;
    l->grid[0] = (uint64_t)n->rows;
}

static void plain_columns(const fc_kernel *k, const fc_nest *n, fc_class *cls, fc_launch *l) {
    enum { ACROSS = 32, DOWN = FC_CUDA_THREADS / ACROSS };
    const int64_t runs = fc_ceil_div(n->count, fc_run_of(k));
    cls->cuda.kind = FC_CUDA_OUTER;
    cls->cuda.across = ACROSS;
    l->spans = 1;
    l->span = fc_cuda_pow2_up(runs > DOWN ? runs : DOWN) * fc_run_of(k);
    l->block[0] = ACROSS;
    l->block[1] = DOWN;
    l->grid[0] = (uint64_t)fc_ceil_div(n->rows, ACROSS);
}

fusec_status fc_cuda_schedule_plain(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                    fc_arena *arena, fc_class *cls, fc_launch *l, fc_error *e) {
    const uint32_t axes = n->np + n->nr;
    memset(l, 0, sizeof *l);
    for (int i = 0; i < 3; i++) l->grid[i] = l->block[i] = 1;
    FC_TRY(fc_class_of(n, FC_TARGET_CUDA, arena, cls, e));
    uint8_t *move = fc_arena_alloc(arena, (size_t)n->naccess * axes + 1);
    if (!move) return fc_oom(e);
    for (size_t i = 0; i < (size_t)n->naccess * axes; i++) {
        const int32_t axis = axis_behind(k, n, (uint32_t)(i % axes));
        const bool moves = axis >= 0 && fc_access_moves(&k->accesses.at[i / axes], axis);
        move[i] = moves ? FC_MOVE_ANY : FC_MOVE_ZERO;
    }
    cls->move = move;
    cls->wide = true;
    cls->cuda.repeat = 1;
    if (k->schedule == FC_SCHED_MAP) {
        cls->cuda.apart = 1;
        l->block[0] = FC_CUDA_MAP_THREADS;
        l->grid[0] = (uint64_t)fc_ceil_div(n->rows, FC_CUDA_MAP_THREADS);
    } else if (k->schedule == FC_SCHED_INNER) {
        plain_rows(n, cls, l);
    } else if (k->schedule == FC_SCHED_SCAN) {
        cls->cuda.kind = FC_CUDA_SCAN;
        l->block[0] = FC_CUDA_THREADS;
        l->grid[0] = (uint64_t)fc_ceil_div(n->rows, FC_CUDA_THREADS);
    } else {
        if (k->schedule == FC_SCHED_DOT) FC_TRY(fc_cuda_dot_plain(m, k, n, arena, cls, l, e));
        if (cls->cuda.kind != FC_CUDA_DOT) plain_columns(k, n, cls, l);
    }
    return FUSEC_OK;
}
