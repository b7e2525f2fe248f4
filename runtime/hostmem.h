/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hostmem.h - aligned host memory that is kept for reuse: fresh pages cost more than the work on
 * them. */
#ifndef FUSEC_RUNTIME_HOSTMEM_H
#define FUSEC_RUNTIME_HOSTMEM_H

#include <pthread.h>

#include "ir/base.h"
#include "runtime/usermem.h"

enum { FC_HOSTMEM_ALIGN = 64, FC_HOSTMEM_SLOTS = 32 };

typedef struct fc_hostmem {
    const fc_alloc *alloc;
    pthread_mutex_t lock;
    void *kept[FC_HOSTMEM_SLOTS]; /* freed blocks, oldest first */
    size_t kept_bytes, limit;
    int nkept;
    fc_memory_stats stats;
} fc_hostmem;

void fc_hostmem_init(fc_hostmem *m, const fc_alloc *a, size_t limit);
void fc_hostmem_close(fc_hostmem *m);
void *fc_hostmem_get(fc_hostmem *m, size_t bytes); /* 64-byte aligned; NULL when out of memory */
void fc_hostmem_put(fc_hostmem *m, void *p);       /* NULL is fine */
void fc_hostmem_stats(fc_hostmem *m, fc_memory_stats *out);
/* Gives what is kept back to the allocator, but for `keep` bytes at most. */
void fc_hostmem_trim(fc_hostmem *m, uint64_t keep);

#endif
