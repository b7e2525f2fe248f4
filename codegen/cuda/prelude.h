/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* prelude.h - CUDA C that stands above kernels, as it is in codegen/cuda/prelude/.
 *
 * The files there are CUDA C that a person, a formatter and a compiler read; ir/gen/embed.c makes
 * prelude.inc of them when fusec is built. A section is named by a line `//@ NAME`; its text is
 * fc_cuda_sections[FC_CUH_NAME].text, without lines that are // comments. */
#ifndef FUSEC_CODEGEN_CUDA_PRELUDE_H
#define FUSEC_CODEGEN_CUDA_PRELUDE_H

typedef enum fc_cuh {
#define FC_SECTION(name, text) FC_CUH_##name,
#include "codegen/cuda/prelude.inc"
#undef FC_SECTION
    FC_CUH_COUNT
} fc_cuh;

typedef struct fc_cuda_section {
    const char *name, *text;
} fc_cuda_section;

extern const fc_cuda_section fc_cuda_sections[FC_CUH_COUNT];

#endif
