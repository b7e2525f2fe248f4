/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* usermem.h - memory of a device from functions of the caller's (options.device_alloc).
 *
 * A device that has them asks them for all its memory, in the order of the stream, and tells them
 * the size again when it gives memory back: pools of others (RMM, torch, CuPy) want to be told. */
#ifndef FUSEC_RUNTIME_USERMEM_H
#define FUSEC_RUNTIME_USERMEM_H

#include <pthread.h>

#include "ir/base.h"

typedef struct fc_usermem_fns {
    void *(*alloc)(void *user, size_t bytes, void *stream);
    void (*free)(void *user, void *p, size_t bytes, void *stream);
    void *user;
} fc_usermem_fns;

typedef struct fc_usermem fc_usermem;

/* What is alive. Bytes. */
typedef struct fc_memory_stats {
    uint64_t used, used_most;         /* given out */
    uint64_t reserved, reserved_most; /* taken from the system: used, or kept for reuse */
} fc_memory_stats;

/* NULL: out of memory. */
fc_usermem *fc_usermem_new(const fc_alloc *a, const fc_usermem_fns *fns);
/* What is alive still goes back first. */
void fc_usermem_free(fc_usermem *m);
/* FUSEC_OUT_OF_MEMORY: it gave NULL. FUSEC_INVALID: what it gave is not aligned to `align`. */
fusec_status fc_usermem_get(fc_usermem *m, size_t bytes, size_t align, void *stream, void **out,
                            fc_error *e);
void fc_usermem_put(fc_usermem *m, void *p, void *stream);
void fc_usermem_stats(fc_usermem *m, fc_memory_stats *out);

#endif
