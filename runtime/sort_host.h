/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sort_host.h - rows of keys in order, in host memory: by radix from the lowest digit, stable. Of a
 * part of the order only what may belong to it is sorted (select_host.c). */
#ifndef FUSEC_RUNTIME_SORT_HOST_H
#define FUSEC_RUNTIME_SORT_HOST_H

#include "runtime/device_host.h"

/* Rows of n unsigned integers of 1, 2, 4 or 8 bytes, one after the other. */
typedef struct fc_sort_rows {
    const void *keys;
    uint32_t bytes;
    int64_t rows, n;
    int64_t first, given; /* the part that is wanted: so many places from one in the row; behind the
                             last one it stays the last one. 0 of them: all places */
    void *sorted;         /* the keys in order; NULL: not wanted */
    int64_t *positions;   /* where they were; NULL: not wanted */
} fc_sort_rows;

/* The results share no byte with the keys. */
fusec_status fc_sort_host(fc_host_device *h, const fc_alloc *a, const fc_sort_rows *x, fc_error *e);

/* (select_host.c) The same, where less than all places are wanted. */
fusec_status fc_select_host(fc_host_device *h, const fc_alloc *a, const fc_sort_rows *x,
                            fc_error *e);
/* All places of rows from `begin` to `end`, by the calling thread. */
fusec_status fc_sort_here(const fc_alloc *a, const fc_sort_rows *x, int64_t begin, int64_t end,
                          fc_error *e);

#endif
