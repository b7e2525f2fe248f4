/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_stream.c - stores that pass by the cache.
 *
 * In: a range of points whose stores are contiguous. Out: the loops over it, in which whole vectors
 * are stored with the nontemporal mark. Invariants: a store with the mark, of one vector or of
 * several narrow ones of an unrolled loop, is aligned to itself or to a cache line, whichever is
 * smaller, so that lines are written whole; what is before the first aligned place and after the
 * last whole vector is stored as usual. When several results do not reach an aligned place
 * together, none is streamed.
 *
 * Whether it pays follows from sizes (llvm_schedule.c): a line that will have left the cache before
 * anybody reads it costs a read of the old line and pushes out another one. */
#include "codegen/llvm/llvm_text.h"

enum { MOST_VECTORS = 4 }; /* of a store */

static bool streams(const fc_ll *f, const fc_store *s) {
    return fc_ll_store_level(f, s) == FC_POINT &&
           fc_class_move(f->cls, s->access, f->lane_axis) == FC_MOVE_ONE;
}

/* Whether all streamed results have elements of so many bytes: wide and narrow ones together would
 * reach aligned places less often than each for itself. */
static bool all_as_wide(const fc_ll *f, unsigned bytes) {
    for (size_t i = 0; i < f->k->stores.len; i++) {
        const fc_store *s = &f->k->stores.at[i];
        if (streams(f, s) && fc_dtypes[f->k->accesses.at[s->access].dtype].bytes != bytes)
            return false;
    }
    return true;
}

/* Vectors of a store, one from each turn of a loop: narrow results make a line together, which is
 * written by one store where a register holds it. (Half a line at a time comes to memory slower,
 * and LLVM makes a usual store of one that shortens its elements on the way.) With several reduced
 * axes a turn has two ways, and what one of them makes is not known in the next turn. */
static unsigned vectors_of_store(const fc_ll *f, uint32_t access, unsigned turns) {
    const unsigned element = fc_dtypes[f->k->accesses.at[access].dtype].bytes;
    const unsigned bytes = f->V * element, most = (unsigned)f->m->vector_bytes;
    const unsigned n = bytes < most ? most / bytes : 1;
    const bool joins = f->cls->nr <= 1 && turns && turns % n == 0 && n <= MOST_VECTORS;
    return joins && all_as_wide(f, element) ? n : 1;
}

static unsigned alignment(const fc_ll *f, uint32_t access, unsigned turns) {
    const unsigned bytes = f->V * fc_dtypes[f->k->accesses.at[access].dtype].bytes *
                           vectors_of_store(f, access, turns);
    return bytes < 64 ? bytes : 64;
}

static const char *side_by_side(fc_ll *f, const char *scalar, const char *const *parts,
                                unsigned n) {
    if (n == 1) return parts[0];
    const char *a = side_by_side(f, scalar, parts, n / 2),
               *b = side_by_side(f, scalar, parts + n / 2, n / 2);
    const unsigned lanes = f->V * n;
    const char *type = fc_ll_wide(f, scalar, lanes / 2);
    return fc_ll_pick(f, type, a, b, lanes, 0, 1, lanes);
}

void fc_ll_store_past(fc_ll *f, uint32_t access, const char *element, const char *stored) {
    const fusec_dtype t = f->k->accesses.at[access].dtype;
    const unsigned n = vectors_of_store(f, access, f->turns), i = n > 1 ? f->turn % n : 0;
    if (n > 1) {
        if (!f->line) f->line = fc_ll_names(f, f->cls->naccess * (MOST_VECTORS + 1u));
        const char **part = f->line + access * (MOST_VECTORS + 1u);
        part[i] = stored;
        if (i == 0) part[MOST_VECTORS] = element;
        if (i + 1 < n) return;
        element = part[MOST_VECTORS];
        stored = side_by_side(f, fc_ll_stored(f, t, 1), part, n);
    }
    fc_ll_line(f, "store %s %s, ptr %s, align %u, !nontemporal !0", fc_ll_stored(f, t, f->V * n),
               stored, fc_ll_element(f, access, element), alignment(f, access, f->turns));
}

/* Bytes from an address to the last aligned one before it. */
static const char *beyond(fc_ll *f, uint32_t access, unsigned turns, const char *address) {
    return fc_ll_bin(f, "and", address, fc_ll_number(f, alignment(f, access, turns) - 1));
}

/* Elements before the first aligned one of `access`, at most the whole range. */
static const char *elements_before(fc_ll *f, uint32_t access, unsigned turns, const char *from,
                                   const char *to) {
    const char *at =
        beyond(f, access, turns, fc_ll_bin(f, "sub", "0", fc_ll_address(f, access, from)));
    const unsigned bytes = fc_dtypes[f->k->accesses.at[access].dtype].bytes;
    return fc_ll_min(f, fc_ll_bin(f, "udiv", at, fc_ll_number(f, bytes)),
                     fc_ll_bin(f, "sub", to, from));
}

/* Down columns those of all elements. */
static const char *beyond_in_column(fc_ll *f, uint32_t access, unsigned turns, const char *rest) {
    const unsigned bytes = fc_dtypes[f->k->accesses.at[access].dtype].bytes;
    if (fc_ll_along_row(f) || !f->cls->nr) return rest;
    const char *stride = fc_ll_stride(f, access, f->cls->np);
    const char *by = fc_ll_bin(f, "mul", stride, fc_ll_number(f, bytes));
    return fc_ll_bin(f, "or", rest, beyond(f, access, turns, by));
}

/* Whether the streamed stores from `first` on are aligned; NULL when there are none. */
static const char *all_aligned(fc_ll *f, size_t first, unsigned turns, const char *from) {
    const char *any = NULL;
    for (size_t i = first; i < f->k->stores.len; i++) {
        const fc_store *s = &f->k->stores.at[i];
        if (!streams(f, s)) continue;
        const char *rest = beyond(f, s->access, turns, fc_ll_address(f, s->access, from));
        rest = beyond_in_column(f, s->access, turns, rest);
        any = any ? fc_ll_bin(f, "or", any, rest) : rest;
    }
    return any ? fc_ll_ins(f, "icmp eq i64 %s, 0", any) : NULL;
}

static void stream(fc_ll *f, const char *from, const char *to, unsigned unroll, fc_ll_body body,
                   void *user) {
    f->streaming = true;
    fc_ll_vectors(f, from, to, unroll, body, user);
    f->streaming = false;
}

static void stream_if(fc_ll *f, const char *aligned, const char *from, const char *to,
                      unsigned unroll, fc_ll_body body, void *user) {
    fc_ll_if yes;
    fc_ll_if_begin(f, &yes, aligned);
    stream(f, from, to, unroll, body, user);
    fc_ll_if_else(f, &yes);
    fc_ll_vectors(f, from, to, unroll, body, user);
    fc_ll_if_end(f, &yes);
}

/* Long bodies stand once: the vector before the first aligned place is the first turn. */
static void points_in_one(fc_ll *f, size_t first, const char *from, const char *to, fc_ll_body body,
                          void *user) {
    const char *before = NULL;
    if (f->cls->llvm.stream && first < f->k->stores.len) {
        before = elements_before(f, f->k->stores.at[first].access, 0, from, to);
        f->streaming = true;
        f->aligned = all_aligned(f, first + 1, 0, fc_ll_bin(f, "add", from, before));
        const char *none = fc_ll_ins(f, "icmp eq i64 %s, 0", before);
        before = fc_ll_ins(f, "select i1 %s, i64 %u, i64 %s", none, f->V, before);
    }
    fc_ll_vectors_in_one(f, from, to, before, body, user);
    f->streaming = false;
    f->aligned = NULL;
}

unsigned fc_ll_most_joined(const fc_ll *f, unsigned turns) {
    unsigned most = 1;
    for (size_t i = 0; f->cls->llvm.stream && i < f->k->stores.len; i++) {
        const fc_store *s = &f->k->stores.at[i];
        const unsigned n = streams(f, s) ? vectors_of_store(f, s->access, turns) : 1;
        if (n > most) most = n;
    }
    return most;
}

const char *fc_ll_before_aligned(fc_ll *f, const char *from, const char *to, unsigned turns,
                                 const char **all) {
    size_t first = 0;
    while (first < f->k->stores.len && !streams(f, &f->k->stores.at[first])) first++;
    if (!f->cls->llvm.stream || first == f->k->stores.len) return NULL;
    const char *before = elements_before(f, f->k->stores.at[first].access, turns, from, to);
    *all = all_aligned(f, first + 1, turns, fc_ll_bin(f, "add", from, before));
    return before;
}

static void before_aligned(fc_ll *f, const char *from, const char *count, bool vectors,
                           fc_ll_body body, void *user) {
    if (vectors) {
        fc_ll_vectors(f, from, fc_ll_bin(f, "add", from, count), 1, body, user);
        return;
    }
    fc_ll_if head;
    fc_ll_if_begin(f, &head, fc_ll_ins(f, "icmp ne i64 %s, 0", count));
    fc_ll_set_mask(f, count);
    f->x = from;
    body(f, user);
    fc_ll_set_mask(f, NULL);
    fc_ll_if_else(f, &head);
    fc_ll_if_end(f, &head);
}

void fc_ll_points(fc_ll *f, const char *from, const char *to, unsigned unroll, fc_ll_body body,
                  void *user) {
    size_t first = 0;
    while (first < f->k->stores.len && !streams(f, &f->k->stores.at[first])) first++;
    if (unroll == 1) {
        points_in_one(f, first, from, to, body, user);
        return;
    }
    if (!f->cls->llvm.stream || first == f->k->stores.len) {
        fc_ll_vectors(f, from, to, unroll, body, user);
        return;
    }
    const uint32_t access = f->k->stores.at[first].access;
    const char *before = elements_before(f, access, unroll, from, to);
    before_aligned(f, from, before, vectors_of_store(f, access, unroll) > 1, body, user);
    from = fc_ll_bin(f, "add", from, before);
    const char *all = all_aligned(f, first + 1, unroll, from);
    if (!all) {
        stream(f, from, to, unroll, body, user);
        return;
    }
    stream_if(f, all, from, to, unroll, body, user);
}

void fc_ll_lines(fc_ll *f, const char *from, const char *to, unsigned unroll, fc_ll_body body,
                 void *user) {
    const char *all = f->cls->llvm.stream ? all_aligned(f, 0, unroll, from) : NULL;
    if (all)
        stream_if(f, all, from, to, unroll, body, user);
    else
        fc_ll_vectors(f, from, to, unroll, body, user);
}

/* Streamed stores are ordered by nothing but a fence: the thread that is told that this part is
 * done may be another one. */
void fc_ll_end_stream(fc_ll *f) {
    if (!f->cls->llvm.stream) return;
    fc_ll_line(f, "fence seq_cst");
    if (!strstr(f->decls.data, "!0 = ")) fc_str_add(&f->decls, "!0 = !{i32 1}\n");
}
