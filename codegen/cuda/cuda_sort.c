/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_sort.c - see cuda_sort.h. */
#include "codegen/cuda/cuda_sort.h"

#include "codegen/cuda/prelude.h"

#include <stdio.h>

enum { THREADS = 256 }; /* of sort.cuh */
enum { SECTIONS = 3 };

static const struct {
    const char *name;
    fc_cuh sections[SECTIONS];
    unsigned nsections;
    unsigned blocks; /* of an SM: a bound on registers; one less with positions */
    bool at;         /* comes with positions and without */
} kernels[FC_CUDA_SORT_KINDS] = {
    [FC_CUDA_SORT_ROWS] = {"rows", {FC_CUH_sort_rows, FC_CUH_sort_block}, 2, 4, true},
    [FC_CUDA_SORT_COUNT] = {"count", {FC_CUH_sort_count}, 1, 8, false},
    [FC_CUDA_SORT_TILE] = {"tile", {FC_CUH_sort_tiles, FC_CUH_sort_tile}, 2, 4, true},
    [FC_CUDA_SORT_PICK] =
        {"pick", {FC_CUH_sort_tiles, FC_CUH_sort_ends, FC_CUH_sort_pick}, 3, 8, false},
    [FC_CUDA_SORT_KEEP] =
        {"keep", {FC_CUH_sort_tiles, FC_CUH_sort_ends, FC_CUH_sort_keep}, 3, 4, true},
};

bool fc_cuda_sort_has_positions(fc_cuda_sort kind) {
    return kernels[kind].at;
}

static const char *key_type(uint32_t bytes) {
    return bytes == 1   ? "unsigned char"
           : bytes == 2 ? "unsigned short"
           : bytes == 4 ? "unsigned int"
                        : "unsigned long long";
}

void fc_cuda_sort_name(fc_cuda_sort kind, uint32_t key_bytes, bool positions,
                       char name[FC_CUDA_SORT_NAME]) {
    snprintf(name, FC_CUDA_SORT_NAME, "fusec_sort_%s_u%u%s", kernels[kind].name, 8 * key_bytes,
             positions ? "_at" : "");
}

void fc_cuda_sort_text(fc_cuda_sort kind, uint32_t key_bytes, bool positions, const char *name,
                       fc_str *out) {
    fc_str_add(out, fc_cuda_sections[FC_CUH_common].text);
    fc_str_add(out, fc_cuda_sections[FC_CUH_sort].text);
    for (unsigned i = 0; i < kernels[kind].nsections; i++)
        fc_str_add(out, fc_cuda_sections[kernels[kind].sections[i]].text);
    fc_str_printf(out,
                  "struct P {\n    long long w[%d];\n};\n"
                  "extern \"C\" __global__ void __launch_bounds__(%d, %u) %s(const "
                  "__grid_constant__ P p) {\n    fc_begin();\n    fc_sort_%s<%s%s>(p.w);\n}\n",
                  (int)FC_SORT_WORDS, (int)THREADS, kernels[kind].blocks - positions, name,
                  kernels[kind].name, key_type(key_bytes),
                  !kernels[kind].at ? ""
                  : positions       ? ", true"
                                    : ", false");
}

void fc_cuda_sort_launch(fc_cuda_sort kind, uint32_t key_bytes, int64_t rows, int64_t n,
                         fc_launch *l) {
    const bool counts = kind == FC_CUDA_SORT_COUNT || kind == FC_CUDA_SORT_PICK;
    const int64_t each = counts ? FC_CUDA_SORT_SPAN : fc_cuda_sort_tile(key_bytes);
    int64_t blocks = 0;
    if (kind == FC_CUDA_SORT_ROWS)
        blocks = (rows - 1) / (FC_CUDA_SHORT_ROW >> fc_cuda_sort_slots(n)) + 1;
    else
        blocks = rows * ((n - 1) / each + 1);
    *l = (fc_launch){.grid = {(uint64_t)blocks, 1, 1}, .block = {THREADS, 1, 1}};
}
