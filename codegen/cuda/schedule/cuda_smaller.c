/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_smaller.c - classes that take fewer registers, for code that turned out to spill.
 *
 * In: a class and what the compiler gave a thread of it. Out: the next smaller class with its
 * launch, or none. Results never differ: only how many elements a thread has under way, and how
 * many blocks share an SM. Each step makes one of these smaller, so there are few of them. */
#include "codegen/cuda/schedule/cuda_schedule.h"

enum { THREAD_MOST = 255, UNIT = 8 }; /* registers come in units */
enum { FEW_BYTES = 64 }; /* of spills: they stay in the L1 and cost less than smaller code */

/* What the launch bounds leave a thread. Only code that has nearly all of it spills: what else is
 * in local memory are arrays that are indexed, and no class has fewer of those. */
static unsigned most_registers(const fc_kernel *k, const fc_class *cls) {
    const unsigned threads = fc_cuda_block_threads(k, cls), blocks = fc_cuda_min_blocks(k, cls),
                   most = FC_CUDA_SM_REGISTERS / (threads * (blocks ? blocks : 1)) / UNIT * UNIT;
    return most < THREAD_MOST ? most : THREAD_MOST;
}

static bool fewer_repetitions(fc_class *cls, fc_launch *l) {
    if (cls->cuda.repeat < 2) return false;
    cls->cuda.repeat /= 2;
    l->grid[0] *= 2;
    return true;
}

/* Squares keep what they have: their vectors and passes go together. */
static bool smaller_map(const fc_machine *m, const fc_nest *n, fc_class *cls, fc_launch *l) {
    if (cls->cuda.tile_side) return false;
    if (cls->vector > 1) {
        const unsigned repeat = cls->cuda.repeat;
        if (repeat == 1 && cls->vector == 2) return false;
        if (repeat == 1) cls->vector /= 2;
        fc_cuda_map_vectors(m, n, cls, l, repeat > 1 ? repeat / 2 : 1);
        if (!cls->cuda.rows_of_grid) cls->cuda.rows_in_turn = 0;
        return true;
    }
    if (cls->cuda.apart < 2) return false;
    cls->cuda.apart /= 2;
    l->grid[0] = (uint64_t)fc_ceil_div(fc_ceil_div(n->rows, cls->cuda.apart), FC_CUDA_MAP_THREADS);
    return true;
}

static bool smaller_inner(const fc_nest *n, fc_class *cls, fc_launch *l) {
    if (cls->cuda.split) return false;
    if (cls->cuda.rect_rows) {
        const int64_t across = (int64_t)l->grid[0] / fc_ceil_div(n->extent[0], cls->cuda.rect_rows);
        if (cls->cuda.rect_rows < 2) return false;
        cls->cuda.rect_rows /= 2;
        l->grid[0] = (uint64_t)(across * fc_ceil_div(n->extent[0], cls->cuda.rect_rows));
        return true;
    }
    return !(cls->cuda.once && n->np == 2) && fewer_repetitions(cls, l);
}

/* A gang's blocks have to run together: theirs is the only bound that has to stay. */
bool fc_cuda_smaller(const fc_machine *m, const fc_kernel *k, const fc_nest *n, uint32_t align,
                     uint32_t registers, uint32_t spill_bytes, fc_arena *arena, fc_class *cls,
                     fc_launch *l) {
    (void)align, (void)arena;
    const bool counts = fc_cuda_counts_registers(cls);
    if (spill_bytes <= FEW_BYTES || cls->cuda.split == FC_CUDA_GANG ||
        (!counts && registers + UNIT < most_registers(k, cls)))
        return false;
    if (counts || fc_cuda_min_blocks(k, cls)) {
        cls->cuda.roomy = true;
        return true;
    }
    if (cls->cuda.kind == FC_CUDA_DOT) return fc_cuda_dot_smaller(m, k, n, cls, l);
    return k->schedule == FC_SCHED_MAP     ? smaller_map(m, n, cls, l)
           : k->schedule == FC_SCHED_INNER ? smaller_inner(n, cls, l)
                                           : false;
}
