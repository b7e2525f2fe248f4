/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* zarr_read.c - a Zarr array as a source of bytes in C order: a row of chunks is decoded at a time.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/cli/zarr.h"

typedef struct source {
    const fc_alloc *alloc;
    char *path;
    fc_zarr z;
    fc_npy like; /* dtype and byte order of stored elements */
    fc_codecs codecs;
    int64_t row;        /* bytes of a position of the first axis */
    int64_t next, rows; /* the row of chunks that comes next, and how many there are */
    size_t chunk_bytes, at, have, slab_room; /* of the slab */
    char *slab;
    char *raw, *work[2]; /* a chunk as it is stored, and between codecs */
    size_t raw_room, work_room;
    fc_str name;     /* of the file of the chunk that is read */
    fc_str index_of; /* of the shard whose index is known */
    uint64_t *index;
} source;

/* ---- bytes of a chunk ------------------------------------------------------------------------ */

static fusec_status damaged(source *s, fc_error *e, const char *what) {
    char shown[300];
    return fc_fail(e, FUSEC_NPY_FORMAT, "the chunk %s is damaged: %s",
                   fc_shown_name(shown, sizeof shown, s->name.data), what);
}

static fusec_status cannot_read(source *s, fc_error *e, int err) {
    char shown[300], text[32];
    return fc_fail(e, FUSEC_IO, "cannot read the chunk %s: %s",
                   fc_shown_name(shown, sizeof shown, s->name.data), fc_errno_text(err, text));
}

static fusec_status read_at(source *s, int fd, int64_t at, void *buf, size_t n, fc_error *e) {
    char *p = buf;
    while (n) {
        const ssize_t got = pread(fd, p, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return cannot_read(s, e, errno);
        if (!got) return damaged(s, e, "it is cut short");
        p += got, at += got, n -= (size_t)got;
    }
    return FUSEC_OK;
}

/* Undoes the codecs behind the first ones: `n` bytes of `in` become exactly `size`, at *out. */
static fusec_status unpack(source *s, const fc_zarr_chain *c, char *in, size_t n, size_t size,
                           char **out, fc_error *e) {
    *out = in;
    for (int k = c->ncodecs; k-- > 0;) {
        size_t room = size, got = 0;
        for (int j = 0; j < k; j++) room += 4; /* what is below a compression are checksums */
        if (c->codecs[k] == FC_CODEC_CRC32C) room = n;
        char *to = s->work[k & 1];
        if (room > s->work_room) return damaged(s, e, "it is longer than it should be");
        if (!fc_codec_decode(&s->codecs, c->codecs[k], *out, n, to, room, &got))
            return damaged(s, e,
                           c->codecs[k] == FC_CODEC_CRC32C
                               ? "its checksum does not match its bytes"
                               : "its compressed bytes are not valid, or not as many as they say");
        *out = to, n = got;
    }
    if (n == size) return FUSEC_OK;
    return damaged(s, e, n < size ? "it has too few elements" : "it has too many elements");
}

/* ---- shards ---------------------------------------------------------------------------------- */

static fusec_status read_index(source *s, int fd, int64_t size, fc_error *e) {
    const fc_zarr *z = &s->z;
    size_t count = 1, bytes;
    char *out;
    if (!strcmp(s->index_of.data, s->name.data)) return FUSEC_OK;
    for (int k = 0; k < z->rank; k++) count *= (size_t)z->per[k];
    bytes = count * 16 + 4 * (size_t)z->index.ncodecs;
    if ((int64_t)bytes > size) return damaged(s, e, "it is shorter than its index");
    fc_str_clear(&s->index_of);
    FC_TRY(read_at(s, fd, z->index_first ? 0 : size - (int64_t)bytes, s->raw, bytes, e));
    FC_TRY(unpack(s, &z->index, s->raw, bytes, count * 16, &out, e));
    memcpy(s->index, out, count * 16);
    for (size_t i = 0; z->index.swap && i < 2 * count; i++)
        s->index[i] = __builtin_bswap64(s->index[i]);
    fc_str_add(&s->index_of, s->name.data);
    return s->index_of.oom ? fc_oom(e) : FUSEC_OK;
}

/* Where in its file the chunk is; a length of -1: nowhere. */
static fusec_status place(source *s, int fd, int64_t size, const int64_t *chunk, int64_t *at,
                          int64_t *n, fc_error *e) {
    const fc_zarr *z = &s->z;
    uint64_t k = 0;
    *at = 0, *n = size;
    if (!z->sharded) return FUSEC_OK;
    FC_TRY(read_index(s, fd, size, e));
    for (int a = 0; a < z->rank; a++)
        k = k * (uint64_t)z->per[a] + (uint64_t)(chunk[a] % z->per[a]);
    const uint64_t from = s->index[2 * k], length = s->index[2 * k + 1];
    *n = -1;
    if (from == UINT64_MAX && length == UINT64_MAX) return FUSEC_OK;
    if (from > (uint64_t)size || length > (uint64_t)size - from)
        return damaged(s, e, "a part of it lies outside");
    *at = (int64_t)from, *n = (int64_t)length;
    return FUSEC_OK;
}

/* ---- a chunk --------------------------------------------------------------------------------- */

/* The bytes of a chunk at *out, decoded; NULL: it is not there. */
static fusec_status read_open(source *s, int fd, const int64_t *chunk, char **out, fc_error *e) {
    struct stat st;
    int64_t at, n;
    *out = NULL;
    if (fstat(fd, &st) != 0) return cannot_read(s, e, errno);
    if (!S_ISREG(st.st_mode)) return damaged(s, e, "it is no file");
    FC_TRY(place(s, fd, st.st_size, chunk, &at, &n, e));
    if (n < 0) return FUSEC_OK;
    if ((uint64_t)n > s->raw_room) return damaged(s, e, "it is longer than its elements can be");
    FC_TRY(read_at(s, fd, at, s->raw, (size_t)n, e));
    return unpack(s, &s->z.chain, s->raw, (size_t)n, s->chunk_bytes, out, e);
}

static fusec_status read_chunk(source *s, const int64_t *chunk, char **out, fc_error *e) {
    int64_t file[FC_IO_RANK];
    for (int k = 0; k < s->z.rank; k++) file[k] = chunk[k] / s->z.per[k];
    *out = NULL;
    fc_str_clear(&s->name);
    fc_str_add(&s->name, s->path);
    fc_zarr_key(&s->z, file, &s->name);
    if (s->name.oom) return fc_oom(e);
    const int fd = open(s->name.data, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT ? FUSEC_OK : cannot_read(s, e, errno);
    const fusec_status st = read_open(s, fd, chunk, out, e);
    close(fd);
    return st;
}

/* ---- from chunks to rows --------------------------------------------------------------------- */

typedef struct box {
    int rank;
    size_t item;
    int64_t count[FC_IO_RANK];                /* elements that are copied along each axis */
    int64_t from[FC_IO_RANK], to[FC_IO_RANK]; /* bytes from one to the next; from is 0: a fill */
} box;

/* Axes from the last that lie one behind the other in both are one run of bytes. */
static void copy(const box *b, const char *from, char *to) {
    int64_t at[FC_IO_RANK] = {0};
    int axes = b->rank;
    size_t run = b->item;
    while (axes && b->from[axes - 1] == (int64_t)run && b->to[axes - 1] == (int64_t)run)
        run *= (size_t)b->count[--axes];
    for (;;) {
        switch (run) {
        case 2: memcpy(to, from, 2); break;
        case 4: memcpy(to, from, 4); break;
        case 8: memcpy(to, from, 8); break;
        default: memcpy(to, from, run); break;
        }
        int k = axes;
        while (k-- > 0) {
            from += b->from[k], to += b->to[k];
            if (++at[k] < b->count[k]) break;
            from -= b->from[k] * b->count[k], to -= b->to[k] * b->count[k];
            at[k] = 0;
        }
        if (k < 0) return;
    }
}

/* Puts the part of a chunk that lies inside of the array where it belongs in the slab. */
static void put(source *s, const int64_t *chunk, const char *data) {
    const fc_zarr *z = &s->z;
    box b = {.rank = z->rank, .item = fc_dtypes[z->dtype].bytes};
    int64_t stride = (int64_t)b.item, stored = (int64_t)b.item;
    char *to = s->slab;
    for (int k = z->rank; k-- > 0;) {
        const int64_t begin = chunk[k] * z->chunk[k], left = z->shape[k] - begin;
        b.count[k] = left < z->chunk[k] ? left : z->chunk[k];
        b.to[k] = stride;
        if (k) to += begin * stride;
        stride *= z->shape[k];
        b.from[z->chain.axis[k]] = data ? stored : 0;
        stored *= z->chunk[z->chain.axis[k]];
    }
    copy(&b, data ? data : (const char *)z->fill, to);
}

/* The next row of chunks. */
static fusec_status fill_slab(source *s, fc_error *e) {
    const fc_zarr *z = &s->z;
    int64_t chunk[FC_IO_RANK] = {s->next};
    int k;
    do {
        char *data;
        FC_TRY(read_chunk(s, chunk, &data, e));
        if (data && (s->like.swap || z->dtype == FUSEC_BOOL))
            fc_npy_make_native((unsigned char *)data, s->chunk_bytes, &s->like);
        put(s, chunk, data);
        for (k = z->rank - 1; k > 0; k--) {
            if (++chunk[k] * z->chunk[k] < z->shape[k]) break;
            chunk[k] = 0;
        }
    } while (k > 0);
    const int64_t begin = z->rank ? s->next * z->chunk[0] : 0,
                  left = z->rank ? z->shape[0] - begin : 1;
    const int64_t n = z->rank && left > z->chunk[0] ? z->chunk[0] : left;
    s->at = 0, s->have = (size_t)(n * s->row);
    s->next++;
    return FUSEC_OK;
}

/* ---- the source ------------------------------------------------------------------------------ */

static int64_t read_bytes(fc_reader *r, void *buf, size_t n, fc_error *e) {
    source *s = r->user;
    if (s->at == s->have) {
        if (s->next == s->rows) return 0;
        if (fill_slab(s, e)) return -1;
    }
    if (n > s->have - s->at) n = s->have - s->at;
    memcpy(buf, s->slab + s->at, n);
    s->at += n;
    return (int64_t)n;
}

static void free_source(source *s) {
    fc_codecs_close(&s->codecs);
    fc_str_free(&s->name);
    fc_str_free(&s->index_of);
    void *const blocks[] = {s->path, s->slab, s->raw, s->work[0], s->work[1], s->index};
    for (size_t i = 0; i < FC_COUNT(blocks); i++) fc_free(s->alloc, blocks[i]);
    fc_free(s->alloc, s);
}

static void close_source(fc_reader *r) {
    free_source(r->user);
    r->user = NULL;
}

/* Sizes of buffers. Those of a chunk are below 1 GiB; a row of chunks may be anything. */
static fusec_status make_room(source *s, int64_t total, fc_error *e) {
    const fc_zarr *z = &s->z;
    size_t count = 1;
    int64_t elements, bytes, slab;
    fc_shape_bytes(z->rank, z->chunk, fc_dtypes[z->dtype].bytes, &elements, &bytes);
    for (int k = 0; k < z->rank; k++) count *= (size_t)z->per[k];
    s->chunk_bytes = (size_t)bytes;
    s->raw_room = fc_codec_room(s->chunk_bytes) + 65536;
    if (z->sharded && s->raw_room < count * 16 + 64) s->raw_room = count * 16 + 64;
    s->work_room = s->raw_room;
    s->row = z->rank && z->shape[0] ? total / z->shape[0] : total;
    if (!fc_mul_ok(s->row, z->rank ? z->chunk[0] : 1, &slab) || slab > total) slab = total;
    s->rows = !total ? 0 : z->rank ? (z->shape[0] - 1) / z->chunk[0] + 1 : 1;
    s->raw = fc_malloc(s->alloc, s->raw_room);
    s->work[0] = fc_malloc(s->alloc, s->work_room);
    s->work[1] = fc_malloc(s->alloc, s->work_room);
    s->slab = fc_malloc(s->alloc, (size_t)slab);
    s->index = fc_malloc(s->alloc, z->sharded ? count * 16 : 1);
    return s->raw && s->work[0] && s->work[1] && s->slab && s->index ? FUSEC_OK : fc_oom(e);
}

static fusec_status prepare(source *s, const char *path, fc_npy *h, fc_error *e) {
    FC_TRY(fc_zarr_read_meta(s->alloc, path, &s->z, e));
    const fc_zarr *z = &s->z;
    *h = (fc_npy){.dtype = z->dtype, .rank = z->rank};
    memcpy(h->shape, z->shape, sizeof h->shape);
    fc_shape_bytes(z->rank, z->shape, fc_dtypes[z->dtype].bytes, &h->count, &h->bytes);
    s->like = *h;
    s->like.swap = z->chain.swap;
    if (!(s->path = fc_strdup(s->alloc, path))) return fc_oom(e);
    for (int k = 0; k < z->chain.ncodecs; k++) {
        fc_error why = {0};
        if (!fc_codec_open(&s->codecs, z->chain.codecs[k], s->alloc, &why))
            return fc_fail(e, FUSEC_IO, "cannot read %s: %s", z->name, why.message);
    }
    return make_room(s, h->bytes, e);
}

fusec_status fc_zarr_open(fc_reader *r, const fc_alloc *alloc, const char *path, fc_npy *h,
                          fc_error *e) {
    source *s = fc_calloc(alloc, 1, sizeof *s);
    memset(r, 0, sizeof *r);
    r->fd = -1;
    if (!s) return fc_oom(e);
    s->alloc = alloc;
    fc_str_init(&s->name, alloc);
    fc_str_init(&s->index_of, alloc);
    const fusec_status st = prepare(s, path, h, e);
    if (st) {
        free_source(s);
        return st;
    }
    r->read = read_bytes, r->close = close_source, r->user = s;
    r->size = h->bytes;
    fc_shown_name(r->name, sizeof r->name, path);
    return FUSEC_OK;
}
