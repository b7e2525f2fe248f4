/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* apart.c - see apart.h. Ascending runs are merged pair by pair; in the order of addresses each
 * extent has to begin behind all that was written before it, and a written one behind all. */
#include "runtime/apart.h"

#include <string.h>

static size_t end_of_run(const fc_extent *x, size_t from, size_t n) {
    while (++from < n && x[from - 1].begin <= x[from].begin) continue;
    return from < n ? from : n;
}

static void merge(const fc_extent *a, size_t na, const fc_extent *b, size_t nb, fc_extent *out) {
    while (na && nb) {
        const bool first = a->begin <= b->begin;
        *out++ = first ? *a++ : *b++;
        na -= first;
        nb -= !first;
    }
    memcpy(out, na ? a : b, (na + nb) * sizeof *out);
}

/* One pass: pairs of neighbouring runs become one. */
static void merge_runs(const fc_extent *from, size_t n, fc_extent *to) {
    for (size_t at = 0; at < n;) {
        const size_t middle = end_of_run(from, at, n),
                     end = middle < n ? end_of_run(from, middle, n) : n;
        merge(from + at, middle - at, from + middle, end - middle, to + at);
        at = end;
    }
}

bool fc_apart(fc_extent *x, size_t n, fc_extent *room) {
    size_t full = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i].begin != x[i].end) x[full++] = x[i];
    while (full && end_of_run(x, 0, full) < full) {
        merge_runs(x, full, room);
        fc_extent *other = x;
        x = room;
        room = other;
    }
    uintptr_t any = 0, written = 0; /* where what came before ends */
    for (size_t i = 0; i < full; i++) {
        if (x[i].begin < (x[i].written ? any : written)) return false;
        if (x[i].end > any) any = x[i].end;
        if (x[i].written && x[i].end > written) written = x[i].end;
    }
    return true;
}
