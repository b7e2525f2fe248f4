/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* b2nd.c - see b2nd.h. The header of a frame is MessagePack: big-endian numbers behind a byte that
 * says what they are; the metalayer "b2nd" has the shape. */
#include "frontend/cli/b2nd.h"

#include <stdio.h>

#include "frontend/cli/zarr.h"
#include "runtime/compile/dynlib.h"

enum { HEADER_MOST = 65536, RANK_MOST = 15, SLAB = 8 << 20 };

#define B2ND_FNS(X)                                                                                \
    X(void, init, "blosc2_init", (void), 1)                                                        \
    X(int, open, "b2nd_open", (const char *path, void **array), 1)                                 \
    X(int, release, "b2nd_free", (void *array), 1)                                                 \
    X(int, slice, "b2nd_get_slice_cbuffer",                                                        \
      (const void *array, const int64_t *start, const int64_t *stop, void *to,                     \
       const int64_t *shape, int64_t bytes),                                                       \
      1)
typedef struct b2nd_fns {
    B2ND_FNS(FC_DYN_FIELD)
} b2nd_fns;
#define B2ND_ROW(...) FC_DYN_ROW(b2nd_fns, __VA_ARGS__)

typedef struct source {
    const fc_alloc *alloc;
    b2nd_fns fn;
    fc_dynlib lib;
    void *array;
    fc_npy h;
    int64_t chunk[RANK_MOST];
    int64_t row, step, next; /* bytes of a position; positions of a slab; the first of the next */
    char *slab;
    size_t at, have;
    char name[200];
} source;

/* ---- the header ------------------------------------------------------------------------------ */

typedef struct scan {
    const unsigned char *p, *end;
    bool bad;
} scan;

static uint64_t number(scan *s, int bytes) {
    uint64_t v = 0;
    if (s->end - s->p < bytes) return s->bad = true, 0;
    while (bytes--) v = v << 8 | *s->p++;
    return v;
}

/* A list of `n` signed numbers, each behind the byte `kind`. */
static void list(scan *s, int n, unsigned kind, int64_t *out) {
    if (number(s, 1) != 0x90u + (unsigned)n) s->bad = true;
    for (int k = 0; k < n && !s->bad; k++) {
        if (number(s, 1) != kind) s->bad = true;
        out[k] = kind == 0xd3 ? (int64_t)number(s, 8) : (int32_t)number(s, 4);
    }
}

static bool descr(source *b, scan *s) {
    char text[16] = "";
    const uint64_t format = number(s, 1), kind = number(s, 1), n = number(s, 4);
    if (s->bad || format || kind != 0xdb || n >= sizeof text || (uint64_t)(s->end - s->p) < n)
        return false;
    memcpy(text, s->p, n);
    return fc_zarr_descr(text, &b->h.dtype, &b->h.swap);
}

/* The contents of the metalayer. */
static bool metalayer(source *b, const unsigned char *p, const unsigned char *end) {
    scan s = {p, end, false};
    int64_t block[RANK_MOST];
    if (number(&s, 1) != 0xc6) return false;
    const uint64_t n = number(&s, 4);
    if (s.bad || n > (uint64_t)(s.end - s.p)) return false;
    s.end = s.p + n;
    const uint64_t parts = number(&s, 1), version = number(&s, 1);
    const int rank = (int)number(&s, 1);
    if (parts != 0x97 || version || s.bad || rank > RANK_MOST) return false;
    b->h.rank = rank;
    list(&s, rank, 0xd3, b->h.shape);
    list(&s, rank, 0xd2, b->chunk);
    list(&s, rank, 0xd2, block);
    for (int k = 0; k < rank; k++) s.bad |= b->h.shape[k] < 0 || b->chunk[k] < (b->h.shape[k] > 0);
    return !s.bad && descr(b, &s) &&
           fc_shape_bytes(rank, b->h.shape, fc_dtypes[b->h.dtype].bytes, &b->h.count, &b->h.bytes);
}

static bool read_header(source *b, const unsigned char *head, size_t n) {
    static const unsigned char magic[] = "\x9e\xa8"
                                         "b2frame",
                               name[] = "\xa4"
                                        "b2nd\xd2";
    const size_t len = sizeof name - 1;
    scan length = {head + 11, head + 15, false};
    if (n < 15 || memcmp(head, magic, sizeof magic) != 0) return false;
    const uint64_t own = number(&length, 4);
    if (own < n) n = (size_t)own;
    for (size_t i = 15; i + len + 4 <= n; i++) {
        if (memcmp(head + i, name, len) != 0) continue;
        scan s = {head + i + len, head + n, false};
        const uint64_t at = number(&s, 4);
        return at < n && metalayer(b, head + at, head + n);
    }
    return false;
}

/* ---- the source ------------------------------------------------------------------------------ */

static int64_t read_bytes(fc_reader *r, void *buf, size_t n, fc_error *e) {
    source *b = r->user;
    if (b->at == b->have) {
        int64_t start[RANK_MOST + 1] = {0}, stop[RANK_MOST + 1], shape[RANK_MOST + 1];
        const int64_t total = b->h.rank ? b->h.shape[0] : 1;
        if (b->next >= total || !b->h.bytes) return 0;
        memcpy(stop, b->h.shape, sizeof *stop * (size_t)b->h.rank);
        memcpy(shape, b->h.shape, sizeof *shape * (size_t)b->h.rank);
        const int64_t count = total - b->next < b->step ? total - b->next : b->step;
        if (b->h.rank) start[0] = b->next, stop[0] = b->next + count, shape[0] = count;
        if (b->fn.slice(b->array, start, stop, b->slab, shape, count * b->row) < 0) {
            fc_fail(e, FUSEC_NPY_FORMAT,
                    "%s is damaged: its chunks from position %lld of axis 0 "
                    "on can't be read",
                    b->name, (long long)b->next);
            return -1;
        }
        b->next += count;
        b->at = 0, b->have = (size_t)(count * b->row);
        fc_npy_make_native((unsigned char *)b->slab, b->have, &b->h);
    }
    if (n > b->have - b->at) n = b->have - b->at;
    memcpy(buf, b->slab + b->at, n);
    b->at += n;
    return (int64_t)n;
}

/* The library stays, as it may have threads. */
static void free_source(source *b) {
    if (b->array) b->fn.release(b->array);
    fc_free(b->alloc, b->slab);
    fc_free(b->alloc, b);
}

static void close_source(fc_reader *r) {
    free_source(r->user);
    r->user = NULL;
}

static fusec_status open_library(source *b, fc_error *e) {
    static const fc_dynsym syms[] = {B2ND_FNS(B2ND_ROW)};
    static const char *const names[] = {
        "libblosc2.so.9", "libblosc2.so.8", "libblosc2.so.7", "libblosc2.so.6",
        "libblosc2.so.5", "libblosc2.so.4", "libblosc2.so",   NULL};
    static const char *const dirs[] = {"", "/usr/local/lib",
                                       "/usr/local/lib/python3*/site-packages/blosc2/lib",
                                       "/usr/lib/python3*/site-packages/blosc2/lib", NULL};
    const fc_dynsearch s = {.env_name = "FUSEC_BLOSC2_PATH",
                            .names = names,
                            .dirs = dirs,
                            .syms = syms,
                            .n_syms = FC_COUNT(syms)};
    fc_str why;
    fusec_status st = FUSEC_OK;
    fc_str_init(&why, b->alloc);
    if (!fc_dynlib_open(&s, &b->fn, sizeof b->fn, &b->lib, &why))
        st = fc_fail(e, FUSEC_IO,
                     "cannot read %s without libblosc2 2.8 or later: %.400s\n"
                     "  help: pip install blosc2 has it; FUSEC_BLOSC2_PATH names the file",
                     b->name, why.data);
    else
        b->fn.init();
    fc_str_free(&why);
    return st;
}

static fusec_status prepare(source *b, const char *path, fc_error *e) {
    fc_reader r;
    size_t n = 0;
    FC_TRY(fc_reader_open(&r, path, e));
    unsigned char *head = fc_malloc(b->alloc, HEADER_MOST);
    fusec_status st = head ? fc_reader_fill(&r, head, HEADER_MOST, &n, e) : fc_oom(e);
    fc_reader_close(&r);
    if (!st && !read_header(b, head, n))
        st = fc_fail(e, FUSEC_NPY_FORMAT,
                     "%s is not a Blosc2 array fusec can read: its header is damaged, or its "
                     "elements are no numbers",
                     b->name);
    fc_free(b->alloc, head);
    if (st) return st;
    FC_TRY(open_library(b, e));
    if (b->fn.open(path, &b->array) < 0) {
        b->array = NULL;
        return fc_fail(e, FUSEC_NPY_FORMAT, "%s is damaged: libblosc2 does not open it", b->name);
    }
    const int64_t total = b->h.rank ? b->h.shape[0] : 1;
    b->row = total ? b->h.bytes / total : 0;
    b->step = b->h.rank && b->chunk[0] > 0 ? b->chunk[0] : 1;
    if (b->row > 0 && b->step * b->row < SLAB) b->step = (SLAB / b->row / b->step + 1) * b->step;
    if (b->step > total) b->step = total;
    b->slab = fc_malloc(b->alloc, (size_t)(b->step * b->row) + 1);
    return b->slab ? FUSEC_OK : fc_oom(e);
}

fusec_status fc_b2nd_open(fc_reader *r, const fc_alloc *alloc, const char *path, fc_npy *h,
                          fc_error *e) {
    source *b = fc_calloc(alloc, 1, sizeof *b);
    memset(r, 0, sizeof *r);
    r->fd = -1;
    if (!b) return fc_oom(e);
    b->alloc = alloc;
    fc_shown_name(b->name, sizeof b->name, path);
    const fusec_status st = prepare(b, path, e);
    if (st) {
        free_source(b);
        return st;
    }
    *h = b->h;
    h->swap = false; /* of what is given */
    r->read = read_bytes, r->close = close_source, r->user = b;
    r->size = b->h.bytes;
    memcpy(r->name, b->name, sizeof r->name);
    return FUSEC_OK;
}
