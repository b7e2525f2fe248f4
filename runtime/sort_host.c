/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sort_host.c - see sort_host.h.
 *
 * Many rows are tasks, each sorted by one thread; one long row is cut into chunks, which count and
 * place their items side by side: those of a chunk stand behind those of the chunks before it,
 * digit by digit, so the order is that of one thread. Digits that all keys of a row share take no
 * pass. Where positions are wanted, keys of up to 32 bits stand above them in one word. */
#include "runtime/sort_host.h"

#include "ir/plant.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { SHORT = 48 };            /* elements: sorted by insertion */
enum { WIDE = 11, NARROW = 8 }; /* bits of a digit, of long rows and others; */
enum { LONG = 1 << 14 };        /* fewer passes, whose counts still fit into the first cache */
enum { MOST_DIGITS = 8 };
enum { CHUNK = 1 << 15 }; /* items of a thread, at least */
enum { LINE_BYTES = 64, CACHED = 1 << 20 };

typedef struct item {
    uint64_t key;
    int64_t at;
} item;

typedef enum sort_what { VALUES8, VALUES16, VALUES32, VALUES64, WORDS, ITEMS } sort_what;
typedef enum sort_step { COUNT_ALL, COUNT, PLACE, MAKE, GIVE } sort_step;

/* A row under way. */
typedef struct sort_row {
    const fc_sort_rows *of;
    sort_what what;
    int64_t n;
    uint32_t width, digits, digit;
    sort_step step;
    const char *keys;
    char *sorted;
    int64_t *positions;
    const void *from;
    void *to;
    struct sort_chunk *chunks;
    int64_t nchunks;
} sort_row;

typedef struct sort_chunk {
    int64_t begin, end;
    int64_t *count;  /* [digits][1 << width] */
    int64_t *begins; /* [1 << width] */
    char *lines;     /* [1 << width][LINE_BYTES] */
} sort_chunk;

static inline void store_line(void *to, const void *line) {
#ifdef __SSE2__
    __m128i *t = to;
    const __m128i *l = line;
    for (int i = 0; i < LINE_BYTES / 16; i++) _mm_stream_si128(t + i, _mm_load_si128(l + i));
#else
    memcpy(to, line, LINE_BYTES);
#endif
}

static inline void lines_stored(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#define ITEM   uint8_t
#define KEY(x) ((uint64_t)(x))
#define FN(x)  x##_8
#include "runtime/sort_passes.h"
#define ITEM   uint16_t
#define KEY(x) ((uint64_t)(x))
#define FN(x)  x##_16
#include "runtime/sort_passes.h"
#define ITEM   uint32_t
#define KEY(x) ((uint64_t)(x))
#define FN(x)  x##_32
#include "runtime/sort_passes.h"
#define ITEM   uint64_t
#define KEY(x) (x)
#define FN(x)  x##_64
#include "runtime/sort_passes.h"
#define ITEM   uint64_t
#define KEY(x) ((x) >> 32)
#define FN(x)  x##_word
#include "runtime/sort_passes.h"
#define ITEM   item
#define KEY(x) ((x).key)
#define FN(x)  x##_item
#include "runtime/sort_passes.h"

static const uint32_t item_bytes[] = {1, 2, 4, 8, 8, sizeof(item)};

static uint64_t key_at(uint32_t bytes, const char *keys, int64_t i) {
    switch (bytes) {
    case 1: return ((const uint8_t *)keys)[i];
    case 2: return ((const uint16_t *)(const void *)keys)[i];
    case 4: return ((const uint32_t *)(const void *)keys)[i];
    default: return ((const uint64_t *)(const void *)keys)[i];
    }
}

static void put_key(uint32_t bytes, char *keys, int64_t i, uint64_t k) {
    switch (bytes) {
    case 1: ((uint8_t *)keys)[i] = (uint8_t)k; break;
    case 2: ((uint16_t *)(void *)keys)[i] = (uint16_t)k; break;
    case 4: ((uint32_t *)(void *)keys)[i] = (uint32_t)k; break;
    default: ((uint64_t *)(void *)keys)[i] = k;
    }
}

/* ---- keys with their positions --------------------------------------------------------------- */

static void make_items(const sort_row *r, const sort_chunk *c) {
    uint64_t *words = r->to;
    item *items = r->to;
    for (int64_t i = c->begin; i < c->end; i++) {
        const uint64_t k = key_at(r->of->bytes, r->keys, i);
        if (r->what == WORDS)
            words[i] = k << 32 | (uint64_t)i;
        else
            items[i] = (item){k, i};
    }
}

static void give_items(const sort_row *r, const sort_chunk *c) {
    const uint64_t *words = r->from;
    const item *items = r->from;
    for (int64_t i = c->begin; i < c->end; i++) {
        const uint64_t k = r->what == WORDS ? words[i] >> 32 : items[i].key;
        const int64_t at = r->what == WORDS ? (int64_t)(words[i] & UINT32_MAX) : items[i].at;
        if (r->sorted) put_key(r->of->bytes, r->sorted, i, k);
        r->positions[i] = at;
    }
}

/* ---- steps of all chunks --------------------------------------------------------------------- */

static void step_chunk(const sort_row *r, const sort_chunk *c) {
    if (r->step == MAKE) {
        make_items(r, c);
    } else if (r->step == GIVE) {
        give_items(r, c);
    } else {
        switch (r->what) {
        case VALUES8: step_8(r, c); break;
        case VALUES16: step_16(r, c); break;
        case VALUES32: step_32(r, c); break;
        case VALUES64: step_64(r, c); break;
        case WORDS: step_word(r, c); break;
        case ITEMS: step_item(r, c); break;
        }
    }
}

static fusec_status chunk_tasks(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const sort_row *r = arg;
    (void)e;
    for (int64_t i = begin; i < end; i++) step_chunk(r, &r->chunks[i]);
    return FUSEC_OK;
}

static fusec_status all_chunks(fc_host_device *h, sort_row *r, sort_step step, fc_error *e) {
    r->step = step;
    if (h) return fc_host_run(h, r->nchunks, 1, false, chunk_tasks, r, e);
    for (int64_t i = 0; i < r->nchunks; i++) step_chunk(r, &r->chunks[i]);
    return FUSEC_OK;
}

/* Whether the keys differ in a digit: whether there are others than that of the first one. */
static bool differs(const sort_row *r, uint32_t digit) {
    const uint64_t first = key_at(r->of->bytes, r->keys, 0) >> digit * r->width;
    const int64_t k = (int64_t)(first & ((UINT64_C(1) << r->width) - 1));
    int64_t sum = 0;
    for (int64_t i = 0; i < r->nchunks; i++)
        sum += r->chunks[i].count[((int64_t)digit << r->width) + k];
    return sum != r->n;
}

/* Where the items of each digit and chunk begin. */
static void begins(const sort_row *r) {
    const int64_t digits = INT64_C(1) << r->width, first = (int64_t)r->digit << r->width;
    int64_t sum = 0;
    if (r->nchunks == 1) {
        int64_t *at = r->chunks->count + first;
        for (int64_t k = 0; k < digits; k++) {
            const int64_t c = at[k];
            at[k] = sum;
            sum += c;
        }
        return;
    }
    for (int64_t k = 0; k < digits; k++)
        for (int64_t i = 0; i < r->nchunks; i++) {
            int64_t *at = &r->chunks[i].count[first + k];
            const int64_t c = *at;
            *at = sum;
            sum += c;
        }
}

/* ---- a row ----------------------------------------------------------------------------------- */

static void insertion(const sort_row *r) {
    uint64_t key[SHORT];
    int64_t at[SHORT];
    for (int64_t i = 0; i < r->n; i++) {
        const uint64_t k = key_at(r->of->bytes, r->keys, i);
        int64_t p = i;
        for (; p > 0 && (key[p - 1] > k || FC_PLANT(sort_ties, key[p - 1] == k, false)); p--)
            key[p] = key[p - 1], at[p] = at[p - 1];
        key[p] = k;
        at[p] = i;
    }
    if (r->positions) memcpy(r->positions, at, (size_t)r->n * sizeof *at);
    for (int64_t i = 0; r->sorted && i < r->n; i++) put_key(r->of->bytes, r->sorted, i, key[i]);
}

/* The passes: from `first` to `a`, which the last one writes, by way of `b`. */
static fusec_status passes(fc_host_device *h, sort_row *r, const void *first, void *a, void *b,
                           fc_error *e) {
    uint32_t todo = 0, left = 0;
    r->from = first;
    FC_TRY(all_chunks(h, r, COUNT_ALL, e));
    for (uint32_t d = 0; d < r->digits - FC_PLANT(sort_digit, 1u, 0u); d++)
        if (differs(r, d)) todo |= 1u << d, left++;
    /* what is already in a place may not be written to it */
    const bool other = first == a && left % 2;
    void *const places[2] = {other ? b : a, other ? a : b};
    const bool counted = r->nchunks == 1;
    for (uint32_t d = 0, done = 0; d < r->digits; d++) {
        if (!(todo >> d & 1)) continue;
        r->digit = d;
        if (!counted && done) FC_TRY(all_chunks(h, r, COUNT, e));
        begins(r);
        r->to = places[--left & 1];
        FC_TRY(all_chunks(h, r, PLACE, e));
        r->from = r->to;
        done++;
    }
    return FUSEC_OK;
}

/* `room`: for the items, twice if they are no words. */
static fusec_status radix(fc_host_device *h, sort_row *r, char *room, fc_error *e) {
    const size_t bytes = (size_t)r->n * item_bytes[r->what];
    if (r->what < WORDS) {
        FC_TRY(passes(h, r, r->keys, r->sorted, room, e));
        if (r->from == r->keys) memcpy(r->sorted, r->keys, bytes);
        return FUSEC_OK;
    }
    char *other = r->what == WORDS ? (char *)r->positions : room + bytes;
    r->to = room;
    FC_TRY(all_chunks(h, r, MAKE, e));
    FC_TRY(passes(h, r, room, room, other, e));
    return all_chunks(h, r, GIVE, e);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static sort_row row_of(const fc_sort_rows *x) {
    sort_row r = {.of = x, .n = x->n, .width = x->n >= LONG && x->bytes > 1 ? WIDE : NARROW};
    r.digits = (8 * x->bytes + r.width - 1) / r.width;
    r.what = !x->positions                         ? (sort_what)__builtin_ctz(x->bytes)
             : x->bytes <= 4 && x->n <= UINT32_MAX ? WORDS
                                                   : ITEMS;
    return r;
}

static void begin_row(sort_row *r, int64_t number) {
    const fc_sort_rows *x = r->of;
    r->keys = (const char *)x->keys + (size_t)(number * x->n) * x->bytes;
    r->sorted = x->sorted ? (char *)x->sorted + (size_t)(number * x->n) * x->bytes : NULL;
    r->positions = x->positions ? x->positions + number * x->n : NULL;
}

static size_t count_bytes(const sort_row *r) {
    return (size_t)(r->digits + 1) * sizeof(int64_t) << r->width;
}

/* Memory of so many chunks of a row, and of its items; chunks in front. */
static char *make_room(const fc_alloc *a, sort_row *r, int64_t chunks, void **memory) {
    const size_t count = count_bytes(r), lines = (size_t)LINE_BYTES << r->width,
                 heads =
                     ((size_t)chunks * sizeof(sort_chunk) + LINE_BYTES) / LINE_BYTES * LINE_BYTES,
                 items = (size_t)r->n * item_bytes[r->what] * (r->what == ITEMS ? 2 : 1);
    *memory = fc_malloc(a, heads + (size_t)chunks * (count + lines) + items + LINE_BYTES);
    if (!*memory) return NULL;
    char *at = (char *)(((uintptr_t)*memory + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES);
    r->chunks = (sort_chunk *)(void *)at;
    r->nchunks = chunks;
    at += heads;
    for (int64_t i = 0; i < chunks; i++, at += count + lines)
        r->chunks[i] = (sort_chunk){.begin = r->n * i / chunks,
                                    .end = r->n * (i + 1) / chunks,
                                    .lines = at,
                                    .count = (int64_t *)(void *)(at + lines),
                                    .begins = (int64_t *)(void *)(at + lines) +
                                              ((size_t)r->digits << r->width)};
    return at;
}

fusec_status fc_sort_here(const fc_alloc *a, const fc_sort_rows *x, int64_t begin, int64_t end,
                          fc_error *e) {
    sort_row r = row_of(x);
    void *memory = NULL;
    char *room = r.n > SHORT ? make_room(a, &r, 1, &memory) : NULL;
    if (r.n > SHORT && !room) return fc_oom(e);
    fusec_status s = FUSEC_OK;
    for (int64_t i = begin; i < end && !s; i++) {
        begin_row(&r, i);
        if (room)
            s = radix(NULL, &r, room, e);
        else
            insertion(&r);
    }
    fc_free(a, memory);
    return s;
}

typedef struct rows_job {
    const fc_sort_rows *of;
    const fc_alloc *alloc;
} rows_job;

static fusec_status row_tasks(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const rows_job *j = arg;
    return fc_sort_here(j->alloc, j->of, begin, end, e);
}

static fusec_status long_rows(fc_host_device *h, const fc_alloc *a, const fc_sort_rows *x,
                              int64_t chunks, fc_error *e) {
    sort_row r = row_of(x);
    void *memory;
    char *room = make_room(a, &r, chunks, &memory);
    if (!room) return fc_oom(e);
    fusec_status s = FUSEC_OK;
    for (int64_t i = 0; i < x->rows && !s; i++) {
        begin_row(&r, i);
        s = radix(h, &r, room, e);
    }
    fc_free(a, memory);
    return s;
}

fusec_status fc_sort_host(fc_host_device *h, const fc_alloc *a, const fc_sort_rows *x,
                          fc_error *e) {
    const int64_t threads = fc_pool_threads(h->pool);
    if (x->given && (x->first || x->given != x->n)) return fc_select_host(h, a, x, e);
    int64_t chunks = x->n / CHUNK;
    if (chunks > threads) chunks = threads;
    if (chunks > 1 && x->rows < threads) return long_rows(h, a, x, chunks, e);
    rows_job j = {x, a};
    const int64_t unit = x->n > 4096 ? 1 : 4096 / x->n + 1;
    return fc_host_run(h, x->rows, unit, false, row_tasks, &j, e);
}
