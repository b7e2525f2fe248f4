/* cuda_scan_schedule.c - who takes a row of a scan: a block, or a thread where rows are short or lie
 * side by side. */
#include "codegen/cuda/schedule/cuda_schedule.h"

enum { SHORT_ROW = 128 }; /* elements */

/* Whether elements, not rows, are neighbours in most of what is moved. */
static bool along_rows(const fc_kernel *k, const fc_nest *n, const fc_class *cls) {
    unsigned along = 0, across = 0;
    for (uint32_t a = 0; a < n->naccess; a++) {
        if (!fc_cuda_is_memory(k, a)) continue;
        if (fc_class_move(cls, a, n->np) == FC_MOVE_ONE) along += fc_cuda_bytes(k, a);
        if (fc_class_move(cls, a, n->np - 1) == FC_MOVE_ONE) across += fc_cuda_bytes(k, a);
    }
    return along >= across;
}

void fc_cuda_scan_schedule(const fc_kernel *k, const fc_nest *n, fc_class *cls, fc_launch *l) {
    cls->cuda.kind = FC_CUDA_SCAN;
    cls->cuda.block_rows = along_rows(k, n, cls) && n->count > SHORT_ROW;
    l->block[0] = FC_CUDA_THREADS;
    l->grid[0] = cls->cuda.block_rows ? (uint64_t)n->rows : (uint64_t)fc_ceil_div(n->rows, FC_CUDA_THREADS);
}
