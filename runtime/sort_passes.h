/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sort_passes.h - one pass of a radix sort in host memory; included by sort_host.c for each type of
 * what moves, with ITEM, KEY(x) and FN(name) defined.
 *
 * A pass puts the items of a chunk where their digit says, in their order. Where the arrays are
 * larger than the caches, items of a digit are gathered until they fill a line of memory, which
 * then goes past the caches: a store to each of 2048 places would bring each line in first. */

static inline __attribute__((always_inline)) void FN(count_digits)(const sort_chunk *c,
                                                                   const ITEM *from,
                                                                   uint32_t digits,
                                                                   uint32_t width) {
    const uint64_t mask = (UINT64_C(1) << width) - 1;
    for (int64_t i = c->begin; i < c->end; i++) {
        const uint64_t k = KEY(from[i]);
        for (uint32_t d = 0; d < digits; d++)
            c->count[((size_t)d << width) + (k >> d * width & mask)]++;
    }
}

/* Of long rows the numbers are known to the compiler. */
static void FN(count_all)(const sort_row *r, const sort_chunk *c, const ITEM *from) {
    memset(c->count, 0, ((size_t)r->digits << r->width) * sizeof *c->count);
    if (r->width == WIDE && r->digits == 3)
        FN(count_digits)(c, from, 3, WIDE);
    else if (r->width == WIDE && r->digits == 6)
        FN(count_digits)(c, from, 6, WIDE);
    else if (r->width == NARROW && r->digits == 4)
        FN(count_digits)(c, from, 4, NARROW);
    else
        FN(count_digits)(c, from, r->digits, r->width);
}

static void FN(count_one)(const sort_row *r, const sort_chunk *c, const ITEM *from) {
    const uint32_t shift = r->digit * r->width;
    const uint64_t mask = (UINT64_C(1) << r->width) - 1;
    int64_t *count = c->count + ((size_t)r->digit << r->width);
    memset(count, 0, sizeof *count << r->width);
    for (int64_t i = c->begin; i < c->end; i++) count[KEY(from[i]) >> shift & mask]++;
}

static void FN(place)(const sort_row *r, const sort_chunk *c, const ITEM *from, ITEM *to) {
    const uint32_t shift = r->digit * r->width;
    const uint64_t mask = (UINT64_C(1) << r->width) - 1;
    int64_t *at = c->count + ((size_t)r->digit << r->width);
    for (int64_t i = c->begin; i < c->end; i++) {
        const ITEM x = from[i];
        to[at[KEY(x) >> shift & mask]++] = x;
    }
}

enum { FN(LINE) = LINE_BYTES / sizeof(ITEM) };

/* A line that is full: whole, or from the first item of this chunk on. `ahead` items of the first
 * line lie before `to`. */
static void FN(leave)(const ITEM *line, ITEM *to, int64_t ahead, int64_t end, int64_t begin) {
    const int64_t first = end - FN(LINE);
    if (first >= begin)
        store_line(to + (first - ahead), line);
    else
        for (int64_t i = begin; i < end; i++) to[i - ahead] = line[i & (FN(LINE) - 1)];
}

static void FN(place_lines)(const sort_row *r, const sort_chunk *c, const ITEM *from, ITEM *to) {
    const uint32_t shift = r->digit * r->width;
    const uint64_t mask = (UINT64_C(1) << r->width) - 1;
    const int64_t ahead = (int64_t)((uintptr_t)to / sizeof(ITEM) & (FN(LINE) - 1));
    int64_t *at = c->count + ((size_t)r->digit << r->width), *begin = c->begins;
    ITEM *lines = (ITEM *)(void *)c->lines;
    for (uint64_t d = 0; d <= mask; d++) begin[d] = at[d] += ahead;
    for (int64_t i = c->begin; i < c->end; i++) {
        const ITEM x = from[i];
        const uint64_t d = KEY(x) >> shift & mask;
        const int64_t p = at[d]++;
        ITEM *line = lines + d * FN(LINE);
        line[p & (FN(LINE) - 1)] = x;
        if ((p & (FN(LINE) - 1)) == FN(LINE) - 1) FN(leave)(line, to, ahead, p + 1, begin[d]);
    }
    for (uint64_t d = 0; d <= mask; d++) {
        int64_t i = at[d] & ~(int64_t)(FN(LINE) - 1);
        for (i = i < begin[d] ? begin[d] : i; i < at[d]; i++)
            to[i - ahead] = lines[d * FN(LINE) + (uint64_t)(i & (FN(LINE) - 1))];
    }
    lines_stored();
}

/* What a chunk does in a step of a row: see sort_host.c. */
static void FN(step)(const sort_row *r, const sort_chunk *c) {
    const ITEM *from = r->from;
    ITEM *to = r->to;
    if (r->step == COUNT_ALL)
        FN(count_all)(r, c, from);
    else if (r->step == COUNT)
        FN(count_one)(r, c, from);
    else if ((size_t)r->n * sizeof(ITEM) > CACHED)
        FN(place_lines)(r, c, from, to);
    else
        FN(place)(r, c, from, to);
}

#undef ITEM
#undef KEY
#undef FN
