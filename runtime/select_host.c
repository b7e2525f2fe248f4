/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* select_host.c - a part of the order of rows of keys, in host memory: see sort_host.h.
 *
 * The keys of a row are counted in buckets of equal width between the least and the greatest one.
 * Those of the buckets that hold the part are kept in their order, and so on with these, until
 * there are few more than are wanted, or no fewer than before; they are sorted. Many rows are tasks
 * of one thread each; of one long row the threads take chunks. */
#include "runtime/sort_host.h"

enum { MOST_BUCKETS = 2048, FEW_BUCKETS = 64 };
enum { FEW = 64 };        /* keys: sorted at once */
enum { CHUNK = 1 << 15 }; /* keys of a thread, at least */

typedef enum choice_step { BOUNDS, COUNT, KEEP } choice_step;

typedef struct choice_chunk {
    int64_t begin, end;
    uint64_t least, most;
    uint32_t *count; /* two of [buckets] */
    int64_t to;      /* where what it keeps begins */
} choice_chunk;

/* Keys under way, and where they were; at NULL: each in its place. */
typedef struct candidates {
    void *keys;
    int64_t *at;
    int64_t n;
    void *memory;
} candidates;

typedef struct choice {
    const fc_sort_rows *of;
    const fc_alloc *alloc;
    fc_host_device *threads; /* NULL: one thread */
    bool positions;
    choice_step step;
    candidates from, to;
    int64_t skip; /* of `from` before the part */
    int64_t buckets;
    uint32_t shift;
    uint64_t least, most; /* of all */
    uint64_t low, high;   /* of what is kept */
    choice_chunk *chunks;
    int64_t nchunks, most_chunks;
} choice;

#define KEY   uint8_t
#define FN(x) x##_8
#include "runtime/select_passes.h"
#define KEY   uint16_t
#define FN(x) x##_16
#include "runtime/select_passes.h"
#define KEY   uint32_t
#define FN(x) x##_32
#include "runtime/select_passes.h"
#define KEY   uint64_t
#define FN(x) x##_64
#include "runtime/select_passes.h"

static fusec_status chunk_tasks(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const choice *s = arg;
    (void)e;
    for (int64_t i = begin; i < end; i++) {
        choice_chunk *c = &s->chunks[i];
        switch (s->of->bytes) {
        case 1: step_8(s, c); break;
        case 2: step_16(s, c); break;
        case 4: step_32(s, c); break;
        default: step_64(s, c);
        }
    }
    return FUSEC_OK;
}

static fusec_status all_chunks(choice *s, choice_step step, fc_error *e) {
    s->step = step;
    return s->threads ? fc_host_run(s->threads, s->nchunks, 1, false, chunk_tasks, s, e)
                      : chunk_tasks(s, 0, s->nchunks, e);
}

/* ---- fewer candidates ------------------------------------------------------------------------ */

static void cut(choice *s) {
    int64_t n = s->from.n / CHUNK;
    n = n < 1 ? 1 : n < s->most_chunks ? n : s->most_chunks;
    s->nchunks = n;
    for (int64_t i = 0; i < n; i++) {
        s->chunks[i].begin = s->from.n * i / n;
        s->chunks[i].end = s->from.n * (i + 1) / n;
    }
    s->buckets = FEW_BUCKETS;
    while (s->buckets < MOST_BUCKETS && s->buckets < s->from.n / 4) s->buckets *= 2;
}

static void join_bounds(choice *s) {
    s->least = s->chunks[0].least;
    s->most = s->chunks[0].most;
    for (int64_t i = 1; i < s->nchunks; i++) {
        const choice_chunk *c = &s->chunks[i];
        s->least = c->least < s->least ? c->least : s->least;
        s->most = c->most > s->most ? c->most : s->most;
    }
    s->shift = 0;
    while ((s->most - s->least) >> s->shift >= (uint64_t)s->buckets) s->shift++;
}

/* The buckets from that of the first place to that of the last one: how many keys they have, and
 * how many lie below. */
static int64_t find_buckets(choice *s, int64_t last, int64_t *below) {
    int64_t sum = 0, kept = 0, low = -1, high = 0;
    for (int64_t b = 0; b < s->buckets && sum <= last; b++) {
        int64_t n = 0;
        for (int64_t i = 0; i < s->nchunks; i++) n += s->chunks[i].count[b];
        if (low < 0 && sum + n > s->skip) low = b, *below = sum;
        if (low >= 0) kept += n;
        sum += n;
        high = b;
    }
    const uint64_t upto = (uint64_t)high << s->shift | ((UINT64_C(1) << s->shift) - 1);
    s->low = s->least + ((uint64_t)low << s->shift);
    s->high = upto < s->most - s->least ? s->least + upto : s->most;
    for (int64_t i = 0, to = 0; i < s->nchunks; i++) {
        s->chunks[i].to = to;
        for (int64_t b = low; b <= high; b++) to += s->chunks[i].count[b];
    }
    return kept;
}

static fusec_status make_candidates(const choice *s, int64_t n, candidates *c, fc_error *e) {
    const size_t at = s->positions ? (size_t)n * sizeof *c->at : 0;
    c->n = n;
    c->memory = fc_malloc(s->alloc, at + (size_t)n * s->of->bytes);
    if (!c->memory) return fc_oom(e);
    c->at = s->positions ? c->memory : NULL;
    c->keys = (char *)c->memory + at;
    return FUSEC_OK;
}

static fusec_status choose(choice *s, int64_t wanted, fc_error *e) {
    for (bool fewer = true; fewer && s->from.n > 2 * wanted + FEW;) {
        int64_t below = 0;
        cut(s);
        FC_TRY(all_chunks(s, BOUNDS, e));
        join_bounds(s);
        if (s->least == s->most) break;
        FC_TRY(all_chunks(s, COUNT, e));
        const int64_t kept = find_buckets(s, s->skip + wanted - 1, &below);
        fewer = kept < s->from.n / 2;
        if (kept > s->from.n - s->from.n / 8) break;
        FC_TRY(make_candidates(s, kept, &s->to, e));
        FC_TRY(all_chunks(s, KEEP, e));
        fc_free(s->alloc, s->from.memory);
        s->from = s->to;
        s->to = (candidates){0};
        s->skip -= below;
    }
    return FUSEC_OK;
}

/* ---- a row ----------------------------------------------------------------------------------- */

static void copy_key(uint32_t bytes, void *to, int64_t i, const void *from, int64_t k) {
    memcpy((char *)to + (size_t)i * bytes, (const char *)from + (size_t)k * bytes, bytes);
}

static fusec_status give(const choice *s, int64_t row, fc_error *e) {
    const fc_sort_rows *x = s->of;
    const candidates *c = &s->from;
    candidates order = {0};
    FC_TRY(make_candidates(s, c->n, &order, e));
    const fc_sort_rows one = {.keys = c->keys,
                              .bytes = x->bytes,
                              .rows = 1,
                              .n = c->n,
                              .sorted = order.keys,
                              .positions = order.at};
    const fusec_status r = s->threads ? fc_sort_host(s->threads, s->alloc, &one, e)
                                      : fc_sort_here(s->alloc, &one, 0, 1, e);
    for (int64_t i = 0; i < x->given && !r; i++) {
        const int64_t k = s->skip + i < c->n ? s->skip + i : c->n - 1, to = row * x->given + i;
        if (x->sorted) copy_key(x->bytes, x->sorted, to, order.keys, k);
        if (x->positions) x->positions[to] = c->at ? c->at[order.at[k]] : order.at[k];
    }
    fc_free(s->alloc, order.memory);
    return r;
}

static fusec_status select_row(choice *s, int64_t row, fc_error *e) {
    const fc_sort_rows *x = s->of;
    const int64_t left = x->n - x->first;
    s->from = (candidates){.keys = (char *)(uintptr_t)x->keys + (size_t)(row * x->n) * x->bytes,
                           .n = x->n};
    s->skip = x->first;
    fusec_status r = choose(s, x->given < left ? x->given : left, e);
    if (!r) r = give(s, row, e);
    fc_free(s->alloc, s->from.memory);
    fc_free(s->alloc, s->to.memory);
    s->to = (candidates){0};
    return r;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static fusec_status select_rows(const choice *all, int64_t threads, int64_t begin, int64_t end,
                                fc_error *e) {
    enum { COUNTS = 2 * MOST_BUCKETS };
    choice s = *all;
    const int64_t countable = s.of->n / UINT32_MAX + 1,
                  chunks = threads > countable ? threads : countable;
    void *memory =
        fc_malloc(s.alloc, (size_t)chunks * (sizeof *s.chunks + COUNTS * sizeof *s.chunks->count));
    if (!memory) return fc_oom(e);
    uint32_t *counts = (uint32_t *)(void *)((choice_chunk *)memory + chunks);
    s.chunks = memory;
    s.most_chunks = chunks;
    for (int64_t i = 0; i < chunks; i++) s.chunks[i] = (choice_chunk){.count = counts + i * COUNTS};
    fusec_status r = FUSEC_OK;
    for (int64_t i = begin; i < end && !r; i++) r = select_row(&s, i, e);
    fc_free(s.alloc, memory);
    return r;
}

static fusec_status row_tasks(void *arg, int64_t begin, int64_t end, fc_error *e) {
    return select_rows(arg, 1, begin, end, e);
}

fusec_status fc_select_host(fc_host_device *h, const fc_alloc *a, const fc_sort_rows *x,
                            fc_error *e) {
    const int64_t threads = fc_pool_threads(h->pool);
    choice s = {.of = x, .alloc = a, .positions = x->positions != NULL};
    if (x->n > CHUNK && threads > 1 && x->rows < threads) {
        s.threads = h;
        return select_rows(&s, threads, 0, x->rows, e);
    }
    const int64_t unit = x->n > 4096 ? 1 : 4096 / x->n + 1;
    return fc_host_run(h, x->rows, unit, false, row_tasks, &s, e);
}
