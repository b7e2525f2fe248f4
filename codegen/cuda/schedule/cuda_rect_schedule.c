/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_rect_schedule.c - which short rows come in rectangles. */
#include "codegen/cuda/schedule/cuda_schedule.h"

enum { ROWS = 8, WIDE = 16 }; /* rows of a rectangle at most; bytes of an access */

/* How many results fill an access; 0 if some store can't take so many at once. */
static unsigned neighbours_of(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                              uint32_t align) {
    unsigned widest = 1;
    for (size_t s = 0; s < k->stores.len; s++) {
        const uint32_t a = k->stores.at[s].access;
        if (k->accesses.at[a].level != FC_ROW ||
            fc_class_move(cls, a, FC_RECT_INNER) != FC_MOVE_ONE)
            return 0;
        if (fc_cuda_bytes(k, a) > widest) widest = fc_cuda_bytes(k, a);
    }
    const unsigned v = WIDE / widest;
    for (size_t s = 0; s < k->stores.len; s++) {
        const uint32_t a = k->stores.at[s].access;
        if (n->offset[a] % v || n->stride[(size_t)a * FC_RECT_AXES + FC_RECT_OUTER] % v) return 0;
    }
    return align % WIDE == 0 && n->extent[FC_RECT_INNER] % v == 0 ? v : 0;
}

/* Whether the elements of v neighbours are whole vectors, one after the other. */
static bool side_by_side(const fc_kernel *k, const fc_nest *n, const fc_class *cls, unsigned v) {
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *stride = n->stride + (size_t)a * FC_RECT_AXES,
                      each = WIDE / fc_cuda_bytes(k, a);
        if (!fc_cuda_of_neighbours(k, cls, a)) continue;
        if (stride[FC_RECT_OUTER] || stride[FC_RECT_INNER] != n->count ||
            stride[FC_RECT_ELEMENT] != 1)
            return false;
        if (n->offset[a] % each || v * n->count % each) return false;
    }
    return true;
}

bool fc_cuda_rect_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                           uint32_t align, fc_class *cls, fc_launch *l) {
    if (n->np != 2 || n->nr != 1 || k->nstages != 1) return false;
    const unsigned v = neighbours_of(k, n, cls, align);
    if (v < 2) return false;
    const int64_t across = fc_ceil_div(n->extent[FC_RECT_INNER] / v, FC_CUDA_MAP_THREADS);
    int64_t rows = fc_cuda_unroll(k, ROWS * (int)v, (int)n->count) / (int)v;
    if (rows < 1) return false;
    while (rows > 1 &&
           n->extent[FC_RECT_OUTER] / rows * across < (int64_t)m->sm_count * FC_CUDA_ENOUGH_BLOCKS)
        rows /= 2;
    cls->cuda.kind = FC_CUDA_RECT;
    cls->cuda.rect_columns = (uint16_t)v;
    cls->cuda.rect_rows = (uint16_t)rows;
    cls->aligned = side_by_side(k, n, cls, v);
    l->block[0] = FC_CUDA_MAP_THREADS;
    l->grid[0] = (uint64_t)(fc_ceil_div(n->extent[FC_RECT_OUTER], rows) * across);
    return true;
}
