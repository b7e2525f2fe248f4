/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* apart.h - whether the results of a call share bytes with anything else. */
#ifndef FUSEC_RUNTIME_APART_H
#define FUSEC_RUNTIME_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fc_extent {
    uintptr_t begin, end; /* begin == end: nothing */
    bool written;
} fc_extent;

/* Whether nothing that is written shares a byte with another extent. Reorders x[n]; `room` is as
 * large. Takes a time that grows with n for extents that come in a few ascending runs, as arrays
 * do that were allocated one after the other, and with n log n at worst. */
bool fc_apart(fc_extent *x, size_t n, fc_extent *room);

/* Of two. */
static inline bool fc_two_apart(const void *a, size_t na, const void *b, size_t nb) {
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x + na <= y || y + nb <= x || !na || !nb;
}

#endif
