/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_load.c - which loads of whole vectors say what caches should do with what they read; their
 * text is prelude/load.cuh. */
#include "codegen/cuda/cuda.h"

/* Whether each element is read for one element of the nest, and not written. */
static bool streams(const fc_cuda_gen *g, uint32_t a) {
    if (!fc_cuda_is_memory(g->k, a) || g->k->args.at[g->k->accesses.at[a].buffer].written)
        return false;
    for (uint32_t x = 0; x < g->axes; x++)
        if (fc_class_move(g->cls, a, x) == FC_MOVE_ZERO) return false;
    return true;
}

/* The same of what is read at computed places: it is as large as what is read in order. */
bool fc_cuda_windows_last(const fc_cuda_gen *g) {
    return g->cls->cuda.large;
}

bool fc_cuda_lasts(const fc_cuda_gen *g, uint32_t a) {
    return g->cls->cuda.large && streams(g, a);
}
