/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_mma_schedule.c - contractions of 16-bit operands on tensor cores (cuda_mma.c).
 *
 * All of them, whatever their sizes: which bits a result has must not depend on how many others
 * there are. So an axis of columns is any that one operand alone moves along, the innermost of
 * them; an axis of rows any that the other alone moves along; either may be missing, and what
 * remains is walked over tile by tile. */
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/dot.h"

enum { EIGHT = 8, FLAT_ROWS = 16, STATIC_SHARED = 1 << 10 };

static int64_t size_of(const fc_nest *n, unsigned axis) {
    return axis == n->np ? 1 : n->extent[axis];
}

static int64_t tiles_of(const fc_class *cls, const fc_nest *n, unsigned tile) {
    const fc_cuda_tile *t = &fc_cuda_tiles[tile];
    const int64_t rows = size_of(n, cls->cuda.dot_axis), columns = size_of(n, cls->cuda.dot_across);
    return n->rows / rows / columns * fc_ceil_div(rows, fc_cuda_tile_rows(t)) *
           fc_ceil_div(columns, fc_cuda_tile_columns(t));
}

/* Whether eight neighbours along an axis are 16 bytes that can be read at once, everywhere. */
static bool eight_along(const fc_nest *n, uint32_t a, unsigned axis, uint32_t align) {
    const uint32_t axes = n->np + n->nr;
    const int64_t *stride = n->stride + (size_t)a * axes;
    if (align % (2 * EIGHT) || axis >= axes || stride[axis] != 1 || n->extent[axis] % EIGHT ||
        n->offset[a] % EIGHT)
        return false;
    for (uint32_t x = 0; x < axes; x++)
        if (x != axis && stride[x] % EIGHT) return false;
    return true;
}

static uint16_t reads_of(const fc_kernel *k, const fc_nest *n, fc_val operand, unsigned place,
                         uint32_t align) {
    const uint32_t a = fc_cuda_bare(&k->code, operand);
    if (a == UINT32_MAX || n->nr != 1) return FC_CUDA_BY_ONE;
    if (eight_along(n, a, n->np, align)) return FC_CUDA_BY_K;
    return place < n->np && eight_along(n, a, place, align) ? FC_CUDA_BY_PLACE : FC_CUDA_BY_ONE;
}

/* As if all lines lay in the longer way. */
static unsigned stage_bytes(const fc_cuda_tile *t) {
    unsigned bytes = 0;
    for (int s = 0; s < 2; s++) {
        const unsigned side = s ? fc_cuda_tile_columns(t) : fc_cuda_tile_rows(t),
                       k = fc_cuda_tile_room(t, side, true),
                       place = fc_cuda_tile_room(t, side, false);
        bytes += 2 * (k > place ? k : place);
    }
    return bytes;
}

static void launch_of(const fc_machine *m, const fc_nest *n, unsigned tile, fc_class *cls,
                      fc_launch *l) {
    const fc_cuda_tile *t = &fc_cuda_tiles[tile];
    const unsigned room = ((unsigned)m->shared_per_block - STATIC_SHARED) / stage_bytes(t);
    const int64_t tiles = tiles_of(cls, n, tile), together = (int64_t)m->sm_count * 2;
    cls->cuda.dot_tile = (uint16_t)tile;
    cls->cuda.dot_stages = (uint16_t)(room < t->stages ? room : t->stages);
    l->block[0] = FC_CUDA_THREADS;
    l->grid[0] = (uint64_t)(tiles < together ? tiles : together);
    l->shared_bytes = cls->cuda.dot_stages * stage_bytes(t);
    l->spans = fc_dot_levels(n->count, FC_DOT_CHUNK16);
    l->span = tiles;
    l->workspace_bytes = (size_t)l->grid[0] * (size_t)l->spans * t->high * t->wide * 4 *
                         FC_CUDA_THREADS * sizeof(float);
}

fusec_status fc_cuda_mma_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                  uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *l,
                                  fc_error *e) {
    const fc_reduction *r = &k->reductions.at[0];
    fc_dot_axes of;
    unsigned place[2] = {n->np, n->np};
    bool swapped = false;
    if (r->half == FUSEC_BOOL || m->sm_major < 8) return FUSEC_OK;
    FC_TRY(fc_dot_find_accesses(k, n, arena, &of, e));
    for (uint32_t axis = n->np; axis-- > 0;) {
        const bool left = !fc_dot_stands(n, of.left, axis),
                   right = !fc_dot_stands(n, of.right, axis);
        if (left == right) continue;
        if (place[1] == n->np) {
            place[1] = axis;
            swapped = left;
        } else if (place[0] == n->np && left != swapped) {
            place[0] = axis;
        }
    }
    cls->cuda.kind = FC_CUDA_MMA;
    cls->cuda.dot_axis = (uint16_t)place[0];
    cls->cuda.dot_across = (uint16_t)place[1];
    cls->cuda.dot_swapped = swapped;
    cls->cuda.dot_left = reads_of(k, n, swapped ? r->value[1] : r->value[0], place[0], align);
    cls->cuda.dot_right = reads_of(k, n, swapped ? r->value[0] : r->value[1], place[1], align);
    cls->vector = 1;
    cls->wide = n->far;
    const bool flat = size_of(n, place[0]) <= FLAT_ROWS,
               many = tiles_of(cls, n, FC_CUDA_TILE_LARGE) >= m->sm_count;
    launch_of(m, n,
              flat   ? FC_CUDA_TILE_FLAT
              : many ? FC_CUDA_TILE_LARGE
                     : FC_CUDA_TILE_SMALL,
              cls, l);
    return FUSEC_OK;
}

bool fc_cuda_mma_smaller(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                         fc_launch *l) {
    (void)k;
    if (cls->cuda.dot_tile != FC_CUDA_TILE_LARGE) return false;
    launch_of(m, n, FC_CUDA_TILE_SMALL, cls, l);
    return true;
}
