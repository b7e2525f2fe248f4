/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arrow_write.c - a column that is written as an Arrow stream or file: messages of as many rows as
 * make some MiB. A FlatBuffer is built from its end, so that what an object points to is there
 * before it; places count from the end. */
#include <stdio.h>

#include "frontend/cli/arrow.h"

enum { BATCH_BYTES = 4 << 20, FLAT_ROOM = 1024, ALIGN = 64 };
enum { SCHEMA = 1, BATCH = 3, VERSION = 4 };
enum { T_INT = 2, T_FLOAT = 3, T_BOOL = 6, T_FIXED_LIST = 16 };

/* ---- FlatBuffers ----------------------------------------------------------------------------- */

typedef struct flat {
    const fc_alloc *alloc;
    unsigned char *p;
    size_t n, room; /* bytes, which lie at the end of p */
    bool oom;
} flat;

/* A field of a table: `bytes` of a value, or of 0 where it has none; `at` is a place instead. */
typedef struct slot {
    unsigned bytes;
    uint64_t value;
    size_t at;
} slot;
#define NONE                                                                                       \
    { 0, 0, 0 }
#define VALUE(bytes, v)                                                                            \
    { bytes, (uint64_t)(v), 0 }
#define PLACE(at)                                                                                  \
    { 4, 0, at }

static bool more(flat *f, size_t n) {
    if (f->room - f->n >= n) return true;
    const size_t room = 2 * f->room + n + FLAT_ROOM;
    unsigned char *p = fc_malloc(f->alloc, room);
    if (!p) return f->oom = true, false;
    if (f->n) memcpy(p + room - f->n, f->p + f->room - f->n, f->n);
    fc_free(f->alloc, f->p);
    f->p = p, f->room = room;
    return true;
}

static void set(flat *f, size_t at, unsigned bytes, uint64_t v) {
    for (unsigned i = 0; i < bytes && !f->oom; i++, v >>= 8)
        f->p[f->room - at + i] = (unsigned char)v;
}

static void put(flat *f, unsigned bytes, uint64_t v) {
    if (!more(f, bytes)) return;
    f->n += bytes;
    set(f, f->n, bytes, v);
}

/* So that what comes, behind `before` other bytes, lies at a multiple of `align`. */
static void pad(flat *f, size_t align, size_t before) {
    while ((f->n + before) % align && !f->oom) put(f, 1, 0);
}

static void put_place(flat *f, size_t at) {
    put(f, 4, f->n + 4 - at);
}

static size_t table(flat *f, const slot *s, unsigned n) {
    size_t at[8] = {0};
    const size_t start = f->n;
    for (unsigned i = n; i-- > 0;) {
        if (!s[i].bytes) continue;
        pad(f, s[i].bytes, s[i].bytes);
        if (s[i].at)
            put_place(f, s[i].at);
        else
            put(f, s[i].bytes, s[i].value);
        at[i] = f->n;
    }
    pad(f, 4, 0);
    put(f, 4, 0);
    const size_t here = f->n;
    for (unsigned i = n; i-- > 0;) put(f, 2, at[i] ? here - at[i] : 0);
    put(f, 2, here - start);
    put(f, 2, 4 + 2 * n);
    set(f, here, 4, f->n - here);
    return here;
}

static size_t text(flat *f, const char *s) {
    const size_t n = strlen(s);
    pad(f, 4, n + 1);
    for (size_t i = n + 1; i-- > 0;) put(f, 1, (unsigned char)s[i]);
    put(f, 4, n);
    return f->n;
}

static size_t places(flat *f, const size_t *at, unsigned n) {
    pad(f, 4, 0);
    for (unsigned i = n; i-- > 0;) put_place(f, at[i]);
    put(f, 4, n);
    return f->n;
}

/* Of structs of 64-bit numbers, `each` in one. */
static size_t numbers(flat *f, const int64_t *v, size_t n, unsigned each) {
    pad(f, 8, 0);
    for (size_t i = n * each; i-- > 0;) put(f, 8, (uint64_t)v[i]);
    put(f, 4, n);
    return f->n;
}

static void finish(flat *f, size_t root) {
    pad(f, 8, 4);
    put_place(f, root);
}

static const unsigned char *bytes_of(const flat *f) {
    return f->p + f->room - f->n;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Where a message is, for the footer. */
typedef struct block {
    int64_t at, meta, body;
} block;

typedef struct sink {
    const fc_alloc *alloc;
    fusec_dtype dtype;
    bool nested, footer;
    int64_t size, item, row; /* elements of a row; bytes of an element, and of a row */
    int64_t at;              /* bytes of the file */
    char *rows, *bits;       /* those that come; bools, eight in a byte */
    size_t have, room;
    FC_VEC(block) blocks;
    char column[200];
} sink;

static size_t type_of(flat *f, fusec_dtype t, unsigned *kind) {
    const unsigned bits = 8 * (unsigned)fc_dtypes[t].bytes;
    if (t == FUSEC_BOOL) return *kind = T_BOOL, table(f, NULL, 0);
    if (fc_is_float(t)) {
        const slot s[] = {VALUE(2, bits == 16 ? 0 : bits == 32 ? 1 : 2)};
        return *kind = T_FLOAT, table(f, s, 1);
    }
    const slot s[] = {VALUE(4, bits), VALUE(1, fc_dtypes[t].name[0] == 'i')};
    return *kind = T_INT, table(f, s, 2);
}

static size_t schema(const sink *k, flat *f) {
    unsigned kind;
    const size_t type = type_of(f, k->dtype, &kind), none = places(f, NULL, 0);
    const size_t name = text(f, k->nested ? "item" : k->column);
    const slot item[] = {PLACE(name), NONE, VALUE(1, kind), PLACE(type), NONE, PLACE(none)};
    size_t field = table(f, item, 6);
    if (k->nested) {
        const slot list[] = {VALUE(4, k->size)};
        const size_t children = places(f, &field, 1), of = table(f, list, 1);
        const size_t own = text(f, k->column);
        const slot s[] = {PLACE(own), NONE, VALUE(1, T_FIXED_LIST),
                          PLACE(of),  NONE, PLACE(children)};
        field = table(f, s, 6);
    }
    const size_t fields = places(f, &field, 1);
    const slot s[] = {VALUE(2, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__), PLACE(fields)};
    return table(f, s, 2);
}

static fusec_status write_bytes(fc_outfile *o, const void *p, size_t n, fc_error *e) {
    ((sink *)o->store)->at += (int64_t)n;
    return fc_outfile_bytes(o, p, n, e);
}

/* The head of a message that has `body` bytes; frees f. */
static fusec_status write_message(fc_outfile *o, flat *f, unsigned kind, size_t header,
                                  int64_t body, fc_error *e) {
    const slot s[] = {VALUE(2, VERSION), VALUE(1, kind), PLACE(header), VALUE(8, body)};
    flat head = {.alloc = f->alloc};
    finish(f, table(f, s, 4));
    put(&head, 4, f->n);
    put(&head, 4, UINT32_MAX);
    fusec_status st = f->oom || head.oom ? fc_oom(e) : write_bytes(o, bytes_of(&head), 8, e);
    if (!st) st = write_bytes(o, bytes_of(f), f->n, e);
    fc_free(f->alloc, head.p);
    fc_free(f->alloc, f->p);
    return st;
}

static void pack(const unsigned char *from, char *to, size_t n) {
    memset(to, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++)
        if (from[i]) to[i / 8] = (char)(to[i / 8] | 1 << i % 8);
}

static fusec_status write_batch(fc_outfile *o, fc_error *e) {
    static const char zeros[ALIGN];
    sink *k = o->store;
    flat f = {.alloc = k->alloc};
    const bool bits = k->dtype == FUSEC_BOOL;
    const int64_t count = (int64_t)k->have / k->row;
    const size_t n = bits ? (k->have + 7) / 8 : k->have, gap = (ALIGN - n % ALIGN) % ALIGN;
    const int64_t nodes[] = {count, 0, count * k->size, 0};
    const int64_t buffers[] = {0, 0, 0, 0, 0, 0}; /* none says which rows are there: all are */
    int64_t all[6];
    const unsigned levels = k->nested ? 2 : 1;
    memcpy(all, buffers, sizeof all);
    all[2 * levels + 1] = (int64_t)n;
    const size_t at_buffers = numbers(&f, all, levels + 1, 2);
    const size_t at_nodes = numbers(&f, nodes, levels, 2);
    const slot s[] = {VALUE(8, count), PLACE(at_nodes), PLACE(at_buffers)};
    const size_t batch = table(&f, s, 3);
    block b = {.at = k->at, .body = (int64_t)(n + gap)};
    FC_TRY(write_message(o, &f, BATCH, batch, b.body, e));
    b.meta = k->at - b.at;
    if (k->footer && !fc_push(k->alloc, &k->blocks, b)) return fc_oom(e);
    if (bits) pack((const unsigned char *)k->rows, k->bits, k->have);
    k->have = 0;
    FC_TRY(write_bytes(o, bits ? k->bits : k->rows, n, e));
    return write_bytes(o, zeros, gap, e);
}

/* What a file has behind its stream, so that batches are found from its end. */
static fusec_status write_footer(fc_outfile *o, fc_error *e) {
    sink *k = o->store;
    flat f = {.alloc = k->alloc}, tail = {.alloc = k->alloc};
    pad(&f, 8, 0);
    for (size_t i = k->blocks.len; i-- > 0;) {
        const block *b = &k->blocks.at[i];
        put(&f, 8, (uint64_t)b->body);
        put(&f, 8, (uint64_t)b->meta);
        put(&f, 8, (uint64_t)b->at);
    }
    put(&f, 4, k->blocks.len);
    const size_t blocks = f.n, of = schema(k, &f);
    const slot s[] = {VALUE(2, VERSION), PLACE(of), NONE, PLACE(blocks)};
    finish(&f, table(&f, s, 4));
    put(&tail, 4, f.n);
    fusec_status st = f.oom || tail.oom ? fc_oom(e) : write_bytes(o, bytes_of(&f), f.n, e);
    if (!st) st = write_bytes(o, bytes_of(&tail), 4, e);
    fc_free(k->alloc, f.p);
    fc_free(k->alloc, tail.p);
    return st ? st : write_bytes(o, "ARROW1", 6, e);
}

/* ---- the file that it pretends to be --------------------------------------------------------- */

static fusec_status write_rows(fc_outfile *o, const void *data, size_t n, fc_error *e) {
    sink *k = o->store;
    for (const char *p = data; n;) {
        const size_t part = n < k->room - k->have ? n : k->room - k->have;
        memcpy(k->rows + k->have, p, part);
        k->have += part, p += part, n -= part;
        if (k->have == k->room) FC_TRY(write_batch(o, e));
    }
    return FUSEC_OK;
}

static fusec_status end(fc_outfile *o, fc_error *e) {
    static const unsigned char over[8] = {0xff, 0xff, 0xff, 0xff};
    sink *k = o->store;
    if (k->have) FC_TRY(write_batch(o, e));
    FC_TRY(write_bytes(o, over, sizeof over, e));
    return k->footer ? write_footer(o, e) : FUSEC_OK;
}

static void drop(fc_outfile *o) {
    sink *k = o->store;
    if (!k) return;
    fc_vec_free(k->alloc, &k->blocks);
    fc_free(k->alloc, k->rows);
    fc_free(k->alloc, k->bits);
    fc_free(k->alloc, k);
    o->store = NULL;
}

static const fc_outfile_kind arrow = {.write = write_rows, .finish = end, .drop = drop};

static fusec_status set_up(sink *k, int rank, const int64_t *shape, const char *path, fc_error *e) {
    char shown[200];
    fc_shown_name(shown, sizeof shown, path);
    if (rank < 1 || rank > 2 || (rank == 2 && (shape[1] < 1 || shape[1] > INT32_MAX)))
        return fc_fail(e, FUSEC_INVALID,
                       "cannot write %s: a column of Arrow has one axis, or two where rows are "
                       "not empty",
                       shown);
    k->nested = rank == 2;
    if (fc_is_complex(k->dtype) || (k->nested && k->dtype == FUSEC_BOOL))
        return fc_fail(e, FUSEC_INVALID, "cannot write %s: columns of %s%s are not written",
                       shown, k->nested ? "rows of " : "", fc_dtypes[k->dtype].name);
    k->item = (int64_t)fc_dtypes[k->dtype].bytes;
    k->size = k->nested ? shape[1] : 1;
    k->row = k->item * k->size;
    int64_t rows = k->row < BATCH_BYTES ? BATCH_BYTES / k->row : 1;
    if (rows > shape[0]) rows = shape[0] ? shape[0] : 1;
    k->room = (size_t)(rows * k->row);
    k->rows = fc_malloc(k->alloc, k->room);
    k->bits = fc_malloc(k->alloc, (size_t)rows / 8 + 1);
    return k->rows && k->bits ? FUSEC_OK : fc_oom(e);
}

static fusec_status begin(fc_outfile *o, fc_error *e) {
    sink *k = o->store;
    flat f = {.alloc = k->alloc};
    if (k->footer) FC_TRY(write_bytes(o, "ARROW1\0", 8, e));
    const size_t at = schema(k, &f);
    return write_message(o, &f, SCHEMA, at, 0, e);
}

fusec_status fc_arrow_create(fc_outfile *o, const fc_alloc *alloc, const char *path,
                             const char *column, fusec_dtype dtype, int rank, const int64_t *shape,
                             fc_error *e) {
    const size_t n = strlen(path);
    sink *k = fc_calloc(alloc, 1, sizeof *k);
    memset(o, 0, sizeof *o);
    o->fd = -1;
    if (!k) return fc_oom(e);
    k->alloc = alloc, k->dtype = dtype;
    k->footer = path[n - 1] != 's'; /* .arrows is a stream */
    snprintf(k->column, sizeof k->column, "%s", column);
    fusec_status st = set_up(k, rank, shape, path, e);
    if (!st) st = fc_outfile_open(o, alloc, path, e);
    o->store = k, o->kind = &arrow;
    if (!st && (st = begin(o, e))) {
        fc_outfile_abandon(o);
        return st;
    }
    if (st) drop(o);
    return st;
}
