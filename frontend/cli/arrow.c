/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arrow.c - see arrow.h. A file is a sequence of messages, each a FlatBuffer behind its length and
 * a body of buffers behind that; the first is the schema. They are looked through when it is
 * opened, as the number of rows stands nowhere else. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/arrow.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "frontend/cli/codec.h"

enum { META_MOST = 64 << 20, BUFFER_MOST = 1 << 30, DEPTH = 16 };
enum { SCHEMA = 1, BATCH = 3 };
enum { NONE, LZ4_FRAME, ZSTD };

/* A column's elements in a batch of rows. */
typedef struct batch {
    int64_t at, bytes, rows; /* in the file */
    size_t number;
    int codec;
} batch;

typedef struct source {
    const fc_alloc *alloc;
    int fd;
    int64_t end; /* of the messages */
    fc_npy h;
    bool bits; /* bools, of which a byte has eight */
    int64_t row;
    uint32_t field, node, buffer; /* of the column: numbers among all; `buffer` is its data */
    bool nested;                  /* a list of one length, whose elements are the node behind it */
    FC_VEC(batch) batches;        /* that have rows */
    size_t nbatches;              /* of all that were read */
    size_t next;
    int64_t done; /* bytes of an uncompressed batch that were read */
    char *packed, *plain;
    size_t packed_room, plain_room, at, have;
    fc_codecs codecs;
    char name[200];
} source;

static fusec_status damaged(const source *s, fc_error *e, const char *what) {
    return fc_fail(e, FUSEC_NPY_FORMAT, "%s is not an Arrow file fusec can read: %s", s->name,
                   what);
}

/* Batch `i` of the column, from 0 on. */
static fusec_status damaged_batch(const source *s, fc_error *e, size_t i, const char *what) {
    return fc_fail(e, FUSEC_NPY_FORMAT, "%s is not an Arrow file fusec can read: batch %zu %s",
                   s->name, i, what);
}

/* ---- FlatBuffers ----------------------------------------------------------------------------- */

/* All places are offsets into it; 0 is none. What lies outside reads as 0 and makes it bad. */
typedef struct flat {
    const unsigned char *p;
    size_t n;
    bool bad;
} flat;

static uint64_t get(flat *f, size_t at, unsigned bytes) {
    uint64_t v = 0;
    if (at > f->n || f->n - at < bytes) return f->bad = true, 0;
    for (unsigned i = bytes; i-- > 0;) v = v << 8 | f->p[at + i];
    return v;
}

/* The place of a table's field; 0: it is not there. */
static size_t field(flat *f, size_t table, unsigned number) {
    if (!table) return 0;
    const int64_t v = (int64_t)table - (int32_t)get(f, table, 4);
    if (v < 0 || (size_t)v > f->n) return f->bad = true, 0;
    const size_t size = get(f, (size_t)v, 2), slot = 4 + 2 * (size_t)number;
    const size_t off = slot + 2 <= size ? get(f, (size_t)v + slot, 2) : 0;
    return off ? table + off : 0;
}

static size_t follow(flat *f, size_t at) {
    const size_t to = at ? at + get(f, at, 4) : 0;
    if (to > f->n) return f->bad = true, 0;
    return to;
}

static uint64_t number(flat *f, size_t table, unsigned n, unsigned bytes) {
    const size_t at = field(f, table, n);
    return at ? get(f, at, bytes) : 0;
}

/* A vector's first element, with their number. */
static size_t vector(flat *f, size_t table, unsigned n, size_t item, uint32_t *count) {
    const size_t at = follow(f, field(f, table, n));
    *count = at ? (uint32_t)get(f, at, 4) : 0;
    if (*count && (f->n - at < 4 || *count > (f->n - at - 4) / item)) f->bad = true, *count = 0;
    return at + 4;
}

/* ---- the schema ------------------------------------------------------------------------------ */

enum {
    T_NULL = 1,
    T_INT,
    T_FLOAT,
    T_BINARY,
    T_TEXT,
    T_BOOL,
    T_LIST = 12,
    T_STRUCT,
    T_UNION,
    T_FIXED,
    T_FIXED_LIST,
    T_MAP,
    T_LONG_BINARY = 19,
    T_LONG_TEXT,
    T_LONG_LIST,
    T_RUNS,
    T_VIEW,
    T_TEXT_VIEW
};

/* How many nodes and buffers a field has in a batch; false: not known. */
static bool count_field(flat *f, size_t x, uint32_t *nodes, uint32_t *buffers, int depth) {
    const unsigned t = (unsigned)number(f, x, 2, 1);
    uint32_t children;
    const size_t first = vector(f, x, 5, 4, &children);
    if (f->bad || depth == DEPTH) return false;
    ++*nodes;
    if (field(f, x, 4)) return *buffers += 2, true; /* indices into a dictionary */
    switch (t) {
    case T_NULL: break;
    case T_BINARY:
    case T_TEXT:
    case T_LONG_BINARY:
    case T_LONG_TEXT: *buffers += 3; break;
    case T_STRUCT:
    case T_FIXED_LIST: *buffers += 1; break;
    case T_UNION: *buffers += number(f, follow(f, field(f, x, 3)), 0, 2) ? 2 : 1; break;
    case T_RUNS: break;
    default:
        if (t > T_RUNS) return false;
        *buffers += 2;
    }
    for (uint32_t i = 0; i < children; i++)
        if (!count_field(f, follow(f, first + 4 * (size_t)i), nodes, buffers, depth + 1))
            return false;
    return !f->bad;
}

static bool dtype_of(flat *f, size_t x, fusec_dtype *out) {
    const size_t type = follow(f, field(f, x, 3));
    const unsigned t = (unsigned)number(f, x, 2, 1);
    char name[8];
    if (field(f, x, 4)) return false;
    if (t == T_BOOL) return *out = FUSEC_BOOL, true;
    if (t == T_INT)
        snprintf(name, sizeof name, "%c%u", number(f, type, 1, 1) ? 'i' : 'u',
                 (unsigned)number(f, type, 0, 4) % 100);
    else if (t == T_FLOAT)
        snprintf(name, sizeof name, "f%u", 16u << (number(f, type, 0, 2) & 3));
    else
        return false;
    return fc_dtype_by_name(name, strlen(name), out);
}

static bool set_type(source *s, flat *f, size_t x) {
    uint32_t children;
    s->h.rank = 1;
    if (number(f, x, 2, 1) == T_FIXED_LIST) {
        const size_t child = vector(f, x, 5, 4, &children);
        const int64_t size = (int32_t)number(f, follow(f, field(f, x, 3)), 0, 4);
        if (children != 1 || size < 1 || !dtype_of(f, follow(f, child), &s->h.dtype) ||
            s->h.dtype == FUSEC_BOOL)
            return false;
        s->nested = true, s->h.rank = 2, s->h.shape[1] = size;
        s->row = size * (int64_t)fc_dtypes[s->h.dtype].bytes;
        return true;
    }
    if (!dtype_of(f, x, &s->h.dtype)) return false;
    s->bits = s->h.dtype == FUSEC_BOOL;
    s->row = (int64_t)fc_dtypes[s->h.dtype].bytes;
    return true;
}

/* The name of a field, cut off where it is long. */
static void name_of(flat *f, size_t x, char out[64]) {
    uint32_t len;
    const size_t at = vector(f, x, 0, 1, &len);
    const size_t n = len < 63 ? len : 63;
    memcpy(out, n ? (const char *)f->p + at : "", n);
    out[n] = 0;
}

static fusec_status no_column(const source *s, flat *f, size_t first, uint32_t n, const char *want,
                              fc_error *e) {
    char list[300] = "", one[64], shown[64], asked[64];
    size_t len = 0;
    for (uint32_t i = 0; i < n && len + 70 < sizeof list; i++) {
        name_of(f, follow(f, first + 4 * (size_t)i), one);
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "",
                                fc_shown_name(shown, sizeof shown, one));
    }
    if (!want || !*want)
        return fc_fail(e, FUSEC_IO,
                       "%s has several columns, and none was named\n  columns: %s\n  help: %s:%.*s",
                       s->name, list, s->name, (int)strcspn(list, ","), list);
    return fc_fail(e, FUSEC_IO, "%s has no column `%s`\n  columns: %s", s->name,
                   fc_shown_name(asked, sizeof asked, want), list);
}

static fusec_status read_schema(source *s, flat *f, size_t schema, const char *column,
                                fc_error *e) {
    uint32_t n, nodes = 0, buffers = 0;
    const size_t first = vector(f, schema, 1, 4, &n);
    const bool big = number(f, schema, 0, 2);
    for (uint32_t i = 0; i < n && !f->bad; i++) {
        const size_t x = follow(f, first + 4 * (size_t)i);
        char own[64];
        name_of(f, x, own);
        if (column && *column ? !strcmp(own, column) : n == 1) {
            if (!set_type(s, f, x))
                return damaged(s, e, "the column holds no bools, integers or floats");
            s->h.swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
            s->field = i, s->node = nodes, s->buffer = buffers + (s->nested ? 2 : 1);
            return f->bad ? damaged(s, e, "its schema is damaged") : FUSEC_OK;
        }
        if (!count_field(f, x, &nodes, &buffers, 0))
            return damaged(s, e, "a column of it has a type that is not known");
    }
    return f->bad ? damaged(s, e, "its schema is damaged") : no_column(s, f, first, n, column, e);
}

/* ---- messages -------------------------------------------------------------------------------- */

static fusec_status read_at(const source *s, int64_t at, void *buf, size_t n, fc_error *e) {
    char *p = buf, text[32];
    if (at < 0 || at > s->end || (int64_t)n > s->end - at)
        return fc_fail(e, FUSEC_NPY_TRUNCATED, "%s is cut short", s->name);
    while (n) {
        const ssize_t got = pread(s->fd, p, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return fc_fail(e, FUSEC_IO, "cannot read %s: %s", s->name, fc_errno_text(errno, text));
        if (!got) return fc_fail(e, FUSEC_NPY_TRUNCATED, "%s is cut short", s->name);
        p += got, at += got, n -= (size_t)got;
    }
    return FUSEC_OK;
}

static fusec_status read_batch(source *s, flat *f, size_t x, int64_t body, int64_t size,
                               fc_error *e) {
    uint32_t nodes, buffers;
    const size_t node = vector(f, x, 1, 16, &nodes), buffer = vector(f, x, 2, 16, &buffers);
    const size_t packed = follow(f, field(f, x, 3));
    const uint32_t last = s->node + (s->nested ? 1 : 0);
    batch b = {.rows = (int64_t)number(f, x, 0, 8)};
    if (f->bad || last >= nodes || s->buffer >= buffers || b.rows < 0)
        return damaged_batch(s, e, s->nbatches, "is damaged");
    for (uint32_t k = s->node; k <= last; k++)
        if (get(f, node + 16 * (size_t)k + 8, 8))
            return damaged(s, e,
                           "the column has nulls\n  help: leave them out, or fill them, "
                           "before it is written");
    b.codec = !packed ? NONE : number(f, packed, 0, 1) ? ZSTD : LZ4_FRAME;
    const int64_t off = (int64_t)get(f, buffer + 16 * (size_t)s->buffer, 8);
    b.bytes = (int64_t)get(f, buffer + 16 * (size_t)s->buffer + 8, 8);
    int64_t need;
    if (f->bad || off < 0 || b.bytes < 0 || off > size || b.bytes > size - off ||
        !fc_mul_ok(b.rows, s->bits ? 1 : s->row, &need))
        return damaged_batch(s, e, s->nbatches, "is damaged");
    if (s->bits) need = (need + 7) / 8;
    if (b.codec == NONE ? b.bytes < need : need > BUFFER_MOST || b.bytes > BUFFER_MOST)
        return damaged_batch(s, e, s->nbatches,
                             b.codec == NONE ? "has too few elements"
                                             : "has more than 1 GiB, compressed");
    b.at = body + off;
    b.number = s->nbatches++;
    if (!fc_add_ok(s->h.shape[0], b.rows, &s->h.shape[0]) || s->h.shape[0] > INT64_MAX / s->row)
        return damaged(s, e, "it has too many rows");
    return b.rows && !fc_push(s->alloc, &s->batches, b) ? fc_oom(e) : FUSEC_OK;
}

static fusec_status read_message(source *s, const unsigned char *meta, size_t n, int64_t at,
                                 bool *schema, int64_t *body, const char *column, fc_error *e) {
    flat f = {meta, n, false};
    const size_t message = follow(&f, 0) ? follow(&f, 0) : get(&f, 0, 4);
    const unsigned kind = (unsigned)number(&f, message, 1, 1);
    const size_t header = follow(&f, field(&f, message, 2));
    *body = (int64_t)number(&f, message, 3, 8);
    if (f.bad || *body < 0 || *body > s->end - at)
        return damaged(s, e, "a message of it is damaged");
    if (kind == SCHEMA && !*schema) return *schema = true, read_schema(s, &f, header, column, e);
    if (!*schema) return damaged(s, e, "it does not begin with a schema");
    return kind == BATCH ? read_batch(s, &f, header, at, *body, e) : FUSEC_OK;
}

static fusec_status read_messages(source *s, int64_t at, const char *column, fc_error *e) {
    bool schema = false;
    while (s->end - at >= 4) {
        unsigned char head[4];
        int64_t body = 0;
        FC_TRY(read_at(s, at, head, 4, e));
        flat f = {head, 4, false};
        uint64_t n = get(&f, 0, 4);
        at += 4;
        if (n == UINT32_MAX) { /* and then the length; older files have it alone */
            FC_TRY(read_at(s, at, head, 4, e));
            n = get(&f, 0, 4);
            at += 4;
        }
        if (!n) break;
        if (n > META_MOST) return damaged(s, e, "a message of it is longer than 64 MiB");
        unsigned char *meta = fc_malloc(s->alloc, (size_t)n);
        fusec_status st = meta ? read_at(s, at, meta, (size_t)n, e) : fc_oom(e);
        at += (int64_t)n;
        if (!st) st = read_message(s, meta, (size_t)n, at, &schema, &body, column, e);
        fc_free(s->alloc, meta);
        if (st) return st;
        at += body;
    }
    return schema ? FUSEC_OK : damaged(s, e, "it has no schema");
}

/* ---- the source ------------------------------------------------------------------------------ */

static void expand(const unsigned char *from, char *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] = from[i / 8] >> (i % 8) & 1;
}

static bool has_room(source *s, char **p, size_t *room, size_t n) {
    if (n <= *room) return true;
    fc_free(s->alloc, *p);
    *p = fc_malloc(s->alloc, n);
    *room = *p ? n : 0;
    return *p;
}

/* The whole batch as bytes at s->plain. */
static fusec_status unpack(source *s, const batch *b, fc_error *e) {
    const size_t need = (size_t)(s->bits ? (b->rows + 7) / 8 : b->rows * s->row);
    const size_t room = s->bits ? need + (size_t)b->rows : need;
    const fc_codec codec = b->codec == ZSTD ? FC_CODEC_ZSTD : FC_CODEC_LZ4_FRAME;
    fc_error why = {0};
    size_t got = 0;
    if (!has_room(s, &s->packed, &s->packed_room, (size_t)b->bytes + 1) ||
        !has_room(s, &s->plain, &s->plain_room, room + 1))
        return fc_oom(e);
    FC_TRY(read_at(s, b->at, s->packed, (size_t)b->bytes, e));
    flat f = {(unsigned char *)s->packed, (size_t)b->bytes, false};
    const int64_t length = b->codec == NONE ? -1 : (int64_t)get(&f, 0, 8);
    const size_t skip = b->codec == NONE ? 0 : 8;
    if (f.bad || (length < 0 ? f.n - skip : (uint64_t)length) < need)
        return damaged_batch(s, e, b->number, "has too few elements");
    if (length < 0) {
        memcpy(s->plain, s->packed + skip, need);
    } else {
        if (!fc_codec_open(&s->codecs, codec, s->alloc, &why))
            return fc_fail(e, FUSEC_IO, "cannot read %s: %s", s->name, why.message);
        if (length > BUFFER_MOST)
            return damaged_batch(s, e, b->number, "says of a buffer that it is too large");
        if (!has_room(s, &s->plain, &s->plain_room, (size_t)length + (size_t)b->rows + 1))
            return fc_oom(e);
        if (!fc_codec_decode(&s->codecs, codec, s->packed + skip, f.n - skip, s->plain,
                             (size_t)length, &got) ||
            got != (size_t)length)
            return damaged_batch(s, e, b->number,
                                 "is damaged: it does not decompress to its length");
    }
    if (s->bits) {
        if (!has_room(s, &s->packed, &s->packed_room, need + 1)) return fc_oom(e);
        memcpy(s->packed, s->plain, need);
        expand((unsigned char *)s->packed, s->plain, b->rows);
    }
    s->at = 0, s->have = (size_t)(b->rows * s->row);
    return FUSEC_OK;
}

/* What is stored as it is goes straight to who reads. */
static int64_t read_bytes(fc_reader *r, void *buf, size_t n, fc_error *e) {
    source *s = r->user;
    if (s->at == s->have && s->next < s->batches.len) {
        const batch *b = &s->batches.at[s->next];
        const int64_t left = b->rows * s->row - s->done;
        if (b->codec == NONE && !s->bits) {
            if ((int64_t)n > left) n = (size_t)left;
            if (read_at(s, b->at + s->done, buf, n, e)) return -1;
            s->done += (int64_t)n;
            if ((int64_t)n == left) s->next++, s->done = 0;
            return (int64_t)n;
        }
        if (unpack(s, b, e)) return -1;
        s->next++;
    }
    if (n > s->have - s->at) n = s->have - s->at;
    if (n) memcpy(buf, s->plain + s->at, n);
    s->at += n;
    return (int64_t)n;
}

static void free_source(source *s) {
    if (s->fd >= 0) close(s->fd);
    fc_codecs_close(&s->codecs);
    fc_vec_free(s->alloc, &s->batches);
    fc_free(s->alloc, s->packed);
    fc_free(s->alloc, s->plain);
    fc_free(s->alloc, s);
}

static void close_source(fc_reader *r) {
    free_source(r->user);
    r->user = NULL;
}

/* A file has the messages of a stream between its marks, and a footer, which is not needed. */
static fusec_status prepare(source *s, const char *path, const char *column, fc_error *e) {
    char mark[10];
    fc_reader r;
    FC_TRY(fc_reader_open(&r, path, e));
    s->fd = r.fd, s->end = r.size;
    if (r.size < 0) return damaged(s, e, "it is no regular file");
    FC_TRY(read_at(s, 0, mark, r.size < 8 ? 0 : 8, e));
    const bool file = r.size >= 20 && !memcmp(mark, "ARROW1", 6);
    if (file) {
        FC_TRY(read_at(s, s->end - 10, mark, 10, e));
        flat f = {(unsigned char *)mark, 10, false};
        const int64_t footer = (int64_t)get(&f, 0, 4);
        if (memcmp(mark + 4, "ARROW1", 6) != 0 || footer > s->end - 18)
            return damaged(s, e, "its end is missing; was it still being written?");
        s->end -= 10 + footer;
    }
    FC_TRY(read_messages(s, file ? 8 : 0, column, e));
    if (!fc_shape_bytes(s->h.rank, s->h.shape, fc_dtypes[s->h.dtype].bytes, &s->h.count,
                        &s->h.bytes))
        return damaged(s, e, "it has too many rows");
    return FUSEC_OK;
}

fusec_status fc_arrow_open(fc_reader *r, const fc_alloc *alloc, const char *path,
                           const char *column, fc_npy *h, fc_error *e) {
    source *s = fc_calloc(alloc, 1, sizeof *s);
    memset(r, 0, sizeof *r);
    r->fd = -1;
    if (!s) return fc_oom(e);
    s->alloc = alloc, s->fd = -1;
    fc_shown_name(s->name, sizeof s->name, path);
    const fusec_status st = prepare(s, path, column, e);
    if (st) {
        free_source(s);
        return st;
    }
    *h = s->h;
    r->read = read_bytes, r->close = close_source, r->user = s;
    r->size = s->h.bytes;
    memcpy(r->name, s->name, sizeof r->name);
    return FUSEC_OK;
}
