/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_schedule.c - contractions: the larger tiles where there are enough of them for all SMs.
 * As many blocks as run at the same time walk over the tiles: each has its own levels in the
 * workspace. */
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/dot.h"

static void launch_of(const fc_machine *m, const fc_kernel *k, const fc_nest *n, unsigned tile,
                      fc_class *cls, fc_launch *l) {
    const int64_t side = tile * FC_CUDA_DOT_GRID, rows = n->extent[cls->cuda.dot_axis],
                  columns = n->extent[n->np - 1];
    const int64_t tiles =
        n->rows / rows / columns * fc_ceil_div(rows, side) * fc_ceil_div(columns, side);
    const int64_t together = (int64_t)m->sm_count * (tile == 8 ? 2 : 3);
    const unsigned bytes = fc_dtypes[k->reductions.at[0].dtype].bytes;
    cls->cuda.dot_tile = (uint16_t)tile;
    l->block[0] = FC_CUDA_THREADS;
    l->grid[0] = (uint64_t)(tiles < together ? tiles : together);
    l->spans = fc_dot_levels(n->count, FC_DOT_CHUNK);
    l->span = tiles;
    l->workspace_bytes =
        (size_t)l->grid[0] * (size_t)l->spans * tile * tile * FC_CUDA_THREADS * bytes;
}

fusec_status fc_cuda_dot_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                  fc_arena *arena, fc_class *cls, fc_launch *l, fc_error *e) {
    fc_dot_axes of;
    FC_TRY(fc_dot_find_axes(k, n, arena, &of, e));
    if (!of.found) return FUSEC_OK;
    const unsigned bytes = fc_dtypes[k->reductions.at[0].dtype].bytes;
    const int64_t side = 8 * FC_CUDA_DOT_GRID, rows = n->extent[of.down],
                  columns = n->extent[n->np - 1];
    const int64_t tiles =
        n->rows / rows / columns * fc_ceil_div(rows, side) * fc_ceil_div(columns, side);
    cls->cuda.kind = FC_CUDA_DOT;
    cls->cuda.dot_axis = (uint16_t)of.down;
    cls->vector = 1;
    cls->wide = n->far;
    launch_of(m, k, n, bytes == 4 && tiles >= m->sm_count ? 8 : 4, cls, l);
    return FUSEC_OK;
}

bool fc_cuda_dot_smaller(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                         fc_launch *l) {
    if (cls->cuda.dot_tile != 8) return false;
    launch_of(m, k, n, 4, cls, l);
    return true;
}
