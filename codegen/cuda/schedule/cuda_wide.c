/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_wide.c - whether accesses can take several elements at once: sizes, strides and the place
 * that an array begins at have to be multiples of them. */
#include "codegen/cuda/schedule/cuda_schedule.h"

bool fc_cuda_can_be_wide(const fc_kernel *k, const fc_nest *nest, const fc_class *cls,
                         uint32_t axis, unsigned n, uint32_t align) {
    uint32_t axes = nest->np + nest->nr;
    for (uint32_t a = 0; a < nest->naccess; a++) {
        if (!fc_cuda_is_memory(k, a) || fc_class_move(cls, a, axis) != FC_MOVE_ONE) continue;
        unsigned bytes = n * fc_cuda_bytes(k, a), unit = bytes < 16 ? bytes : 16;
        int64_t elements = unit / fc_cuda_bytes(k, a);
        if (align % unit || nest->offset[a] % elements) return false;
        for (uint32_t x = 0; x < axes; x++)
            if (x != axis && nest->stride[(size_t)a * axes + x] % elements) return false;
    }
    return true;
}

bool fc_cuda_side_by_side_in(const fc_nest *n, uint32_t a, uint32_t joined, unsigned axis,
                             uint32_t align, int by) {
    const uint32_t axes = n->np + n->nr;
    const int64_t *stride = n->stride + (size_t)a * axes;
    int64_t extent = 1; /* of those that are one, modulo `by` */
    if (align % 16 || stride[axis] != 1 || n->offset[a] % by) return false;
    for (uint32_t x = axis + 1, inner = axis; x-- > 0;) {
        if (x != axis && !(joined >> x & 1)) continue;
        if (x != axis && stride[x] != stride[inner] * n->extent[inner]) return false;
        extent = extent * (n->extent[x] % by) % by;
        inner = x;
    }
    if (extent) return false;
    for (uint32_t x = 0; x < axes; x++)
        if (x != axis && !(joined >> x & 1) && stride[x] % by) return false;
    return true;
}

bool fc_cuda_side_by_side(const fc_nest *n, uint32_t a, unsigned axis, uint32_t align, int by) {
    return fc_cuda_side_by_side_in(n, a, 0, axis, align, by);
}
