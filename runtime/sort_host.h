/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sort_host.h - rows of keys in order, in host memory: by radix from the lowest digit, stable. */
#ifndef FUSEC_RUNTIME_SORT_HOST_H
#define FUSEC_RUNTIME_SORT_HOST_H

#include "runtime/device_host.h"

/* Rows of n unsigned integers of 1, 2, 4 or 8 bytes, one after the other. */
typedef struct fc_sort_rows {
    const void *keys;
    uint32_t bytes;
    int64_t rows, n;
    void *sorted;       /* the keys in order; NULL: not wanted */
    int64_t *positions; /* where they were; NULL: not wanted */
} fc_sort_rows;

/* The results share no byte with the keys. */
fusec_status fc_sort_host(fc_host_device *h, const fc_alloc *a, const fc_sort_rows *x, fc_error *e);

#endif
