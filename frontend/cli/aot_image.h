/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_image.h - constants that point to each other, as LLVM IR: memory of this process laid down in
 * an object.
 *
 * In: blocks of bytes, and which of their words are addresses of what. Out: a global constant for
 * each block. */
#ifndef FUSEC_FRONTEND_CLI_AOT_IMAGE_H
#define FUSEC_FRONTEND_CLI_AOT_IMAGE_H

#include "ir/base.h"

typedef struct fc_image_pointer {
    size_t at;
    uint32_t block;     /* what it points to, */
    const char *symbol; /* or a function or constant of another object */
} fc_image_pointer;

typedef struct fc_image_block {
    fc_str bytes;
    FC_VEC(fc_image_pointer) pointers; /* ascending */
} fc_image_block;

typedef struct fc_image {
    const fc_alloc *alloc;
    FC_VEC(fc_image_block) blocks;
    bool oom;
} fc_image;

#define FC_NO_BLOCK UINT32_MAX

void fc_image_init(fc_image *m, const fc_alloc *alloc);
void fc_image_free(fc_image *m);
/* A block of these bytes. Their pointers are to be set one by one, in ascending order. */
uint32_t fc_image_add(fc_image *m, const void *data, size_t size);
/* The word at `at`: the address of another block (FC_NO_BLOCK: NULL), or of `symbol`, which must
 * outlive the image. */
void fc_image_point(fc_image *m, uint32_t block, size_t at, uint32_t to);
void fc_image_point_symbol(fc_image *m, uint32_t block, size_t at, const char *symbol);
/* Block i is the global @fc.i. */
void fc_image_write(const fc_image *m, fc_str *out);

#endif
