/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_schedule.c - contractions: the larger tiles where there are enough of them for all SMs.
 * Matrices too small for any go by columns. As many blocks as run at the same time walk over the
 * tiles: each has its own levels in the workspace. */
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/dot.h"

enum { MATRIX = 16 }; /* up to such sizes each thread has a result of its own, as in columns */

static int64_t tiles_of(const fc_nest *n, unsigned down, unsigned tile) {
    const int64_t side = tile * FC_CUDA_DOT_GRID, rows = n->extent[down],
                  columns = n->extent[n->np - 1];
    return n->rows / rows / columns * fc_ceil_div(rows, side) * fc_ceil_div(columns, side);
}

/* Of an accumulator. */
static unsigned bytes_of(const fc_kernel *k, const fc_class *cls) {
    return cls->cuda.dot_narrow ? 4 : fc_dtypes[k->reductions.at[0].dtype].bytes;
}

static void launch_of(const fc_machine *m, const fc_kernel *k, const fc_nest *n, unsigned tile,
                      fc_class *cls, fc_launch *l) {
    const int64_t tiles = tiles_of(n, cls->cuda.dot_axis, tile);
    const int64_t together = (int64_t)m->sm_count * (tile == 8 ? 2 : 3);
    const unsigned bytes = bytes_of(k, cls);
    cls->cuda.dot_tile = (uint16_t)tile;
    l->block[0] = FC_CUDA_THREADS;
    l->grid[0] = (uint64_t)(tiles < together ? tiles : together);
    l->spans = fc_dot_levels(n->count, FC_DOT_CHUNK);
    l->span = tiles;
    l->workspace_bytes =
        (size_t)l->grid[0] * (size_t)l->spans * tile * tile * FC_CUDA_THREADS * bytes;
}

/* Whether four neighbours along an axis are 16 bytes that can be read at once, everywhere. */
static bool four_along(const fc_nest *n, uint32_t a, unsigned axis, uint32_t align) {
    const uint32_t axes = n->np + n->nr;
    const int64_t *stride = n->stride + (size_t)a * axes;
    if (align % 16 || stride[axis] != 1 || n->extent[axis] % 4 || n->offset[a] % 4) return false;
    for (uint32_t x = 0; x < axes; x++)
        if (x != axis && stride[x] % 4) return false;
    return true;
}

static uint16_t reads_of(const fc_kernel *k, const fc_nest *n, fc_val operand, unsigned place,
                         uint32_t align) {
    const fc_instr *i = &k->code.ins.at[operand];
    if (i->op != FC_OP_LOAD || n->nr != 1 || fc_dtypes[i->dtype].bytes != 4 ||
        i->dtype != k->reductions.at[0].dtype)
        return FC_CUDA_BY_ONE;
    if (four_along(n, (uint32_t)i->imm, n->np, align)) return FC_CUDA_BY_K;
    return four_along(n, (uint32_t)i->imm, place, align) ? FC_CUDA_BY_PLACE : FC_CUDA_BY_ONE;
}

fusec_status fc_cuda_dot_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                  uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *l,
                                  fc_error *e) {
    fc_dot_axes of;
    FC_TRY(fc_dot_find_axes(k, n, arena, &of, e));
    if (!of.found) return FUSEC_OK;
    const int64_t rows = n->extent[of.down], columns = n->extent[n->np - 1];
    if (rows <= MATRIX && columns <= MATRIX) return FUSEC_OK;
    cls->cuda.kind = FC_CUDA_DOT;
    cls->cuda.dot_axis = (uint16_t)of.down;
    cls->cuda.dot_left = reads_of(k, n, k->reductions.at[0].value[0], of.down, align);
    cls->cuda.dot_right = reads_of(k, n, k->reductions.at[0].value[1], n->np - 1, align);
    cls->cuda.dot_narrow = fc_dot_has_bytes(k, n->count) || fc_dot_is_low(k);
    cls->vector = 1;
    cls->wide = n->far;
    const unsigned bytes = bytes_of(k, cls);
    const int64_t large = tiles_of(n, of.down, 8), small = tiles_of(n, of.down, 4);
    launch_of(m, k, n, bytes == 4 && large >= m->sm_count && large * 3 <= small ? 8 : 4, cls, l);
    return FUSEC_OK;
}

bool fc_cuda_dot_smaller(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                         fc_launch *l) {
    if (cls->cuda.dot_tile != 8) return false;
    launch_of(m, k, n, 4, cls, l);
    return true;
}
