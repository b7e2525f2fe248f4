/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bytes.h - an owned block of bytes: an object file, a cubin, PTX or assembly text. Empty is {NULL,
 * 0}. */
#ifndef FUSEC_RUNTIME_COMPILE_BYTES_H
#define FUSEC_RUNTIME_COMPILE_BYTES_H

#include "ir/base.h"

typedef struct fc_bytes {
    uint8_t *data;
    size_t len;
} fc_bytes;

/* Replaces nothing: `b` must be empty. A NUL that `len` does not count follows, so that text is a
 * string. */
static inline bool fc_bytes_copy(const fc_alloc *a, fc_bytes *b, const void *data, size_t len) {
    uint8_t *p = len < SIZE_MAX ? fc_malloc(a, len + 1) : NULL;
    if (!p) return false;
    if (len) memcpy(p, data, len);
    p[len] = 0;
    b->data = p;
    b->len = len;
    return true;
}

static inline void fc_bytes_free(const fc_alloc *a, fc_bytes *b) {
    fc_free(a, b->data);
    b->data = NULL;
    b->len = 0;
}

#endif
