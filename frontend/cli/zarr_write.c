/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* zarr_write.c - an array that is written as a folder of chunks, one row of them at a time. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/cli/zarr.h"

enum { CHUNK_BYTES = 4 << 20 }; /* about, where nothing says how large chunks are */

typedef struct sink {
    const fc_alloc *alloc;
    fc_zarr z;
    fc_codecs codecs;
    int64_t row, next;  /* bytes of a position; the row of chunks that comes */
    size_t have, want;  /* of the slab */
    size_t slab, chunk; /* bytes of a row of chunks, and of a chunk */
    size_t packed_room;
    int64_t stored; /* bytes of all files */
    char *rows, *one, *packed;
    fc_str name;
} sink;

/* ---- a chunk --------------------------------------------------------------------------------- */

static fusec_status failed(fc_outfile *o, fc_error *e, int err) {
    char text[32];
    return fc_fail(e, FUSEC_IO, "cannot write %s: %s", o->name, fc_errno_text(err, text));
}

static fusec_status write_file(fc_outfile *o, const char *name, const char *data, size_t n,
                               fc_error *e) {
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return failed(o, e, errno);
    int err = 0;
    while (n && !err) {
        const ssize_t k = write(fd, data, n);
        if (k >= 0)
            data += k, n -= (size_t)k;
        else if (errno != EINTR)
            err = errno;
    }
    if (close(fd) != 0 && !err && errno != EINTR) err = errno;
    return err ? failed(o, e, err) : FUSEC_OK;
}

/* Makes the folders of the name, which lie in that of the array. */
static fusec_status make_folders(fc_outfile *o, char *name, fc_error *e) {
    for (char *p = name + strlen(o->tmp) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        const int err = mkdir(name, 0777) != 0 && errno != EEXIST ? errno : 0;
        *p = '/';
        if (err) return failed(o, e, err);
    }
    return FUSEC_OK;
}

static bool is_zero(const char *p, size_t n) {
    return !n || (!*p && !memcmp(p, p + 1, n - 1));
}

static fusec_status write_chunk(fc_outfile *o, const int64_t *chunk, fc_error *e) {
    sink *s = o->store;
    size_t n;
    if (is_zero(s->one, s->chunk)) return FUSEC_OK;
    fc_str_clear(&s->name);
    fc_str_add(&s->name, o->tmp);
    fc_zarr_key(&s->z, chunk, &s->name);
    if (s->name.oom) return fc_oom(e);
    if (!fc_codec_encode(&s->codecs, s->z.chain.codecs[0], s->one, s->chunk, s->packed,
                         s->packed_room, &n))
        return fc_oom(e);
    if (s->z.separator == '/') FC_TRY(make_folders(o, s->name.data, e));
    s->stored += (int64_t)n;
    return write_file(o, s->name.data, s->packed, n, e);
}

/* The part of the slab that belongs to a chunk; what lies beyond the array is zero. */
static void cut_chunk(sink *s, const int64_t *chunk, int64_t rows) {
    const fc_zarr *z = &s->z;
    int64_t count[FC_IO_RANK], step[FC_IO_RANK], at[FC_IO_RANK] = {0}, own[FC_IO_RANK];
    const int64_t item = (int64_t)fc_dtypes[z->dtype].bytes;
    int64_t stride = item, inner = item;
    const char *from = s->rows;
    char *to = s->one;
    const int last = z->rank - 1;
    memset(s->one, 0, s->chunk);
    for (int k = last; k >= 0; k--) {
        const int64_t begin = k ? chunk[k] * z->chunk[k] : 0,
                      left = (k ? z->shape[k] : rows) - begin;
        count[k] = left < z->chunk[k] ? left : z->chunk[k];
        step[k] = stride, own[k] = inner;
        from += begin * stride;
        stride *= z->shape[k], inner *= z->chunk[k];
    }
    const size_t run = (size_t)(z->rank ? count[last] * item : item);
    for (int k = last;;) {
        memcpy(to, from, run);
        for (k = last - 1; k >= 0; k--) {
            from += step[k], to += own[k];
            if (++at[k] < count[k]) break;
            from -= step[k] * count[k], to -= own[k] * count[k];
            at[k] = 0;
        }
        if (k < 0) return;
    }
}

/* A row of chunks is complete, or the array ends. */
static fusec_status write_rows(fc_outfile *o, fc_error *e) {
    sink *s = o->store;
    const fc_zarr *z = &s->z;
    int64_t chunk[FC_IO_RANK] = {s->next++};
    const int64_t rows = s->row ? (int64_t)s->have / s->row : 0;
    int k;
    do {
        cut_chunk(s, chunk, rows);
        FC_TRY(write_chunk(o, chunk, e));
        for (k = z->rank - 1; k > 0; k--) {
            if (++chunk[k] * z->chunk[k] < z->shape[k]) break;
            chunk[k] = 0;
        }
    } while (k > 0);
    s->have = 0;
    return FUSEC_OK;
}

/* ---- the file that it pretends to be --------------------------------------------------------- */

static fusec_status put(fc_outfile *o, const void *data, size_t n, fc_error *e) {
    sink *s = o->store;
    const char *p = data;
    while (n) {
        const size_t part = n < s->slab - s->have ? n : s->slab - s->have;
        memcpy(s->rows + s->have, p, part);
        s->have += part, p += part, n -= part;
        o->at += (int64_t)part;
        if (s->have == s->slab) FC_TRY(write_rows(o, e));
        if (o->progress) o->progress(o->progress_user, o->at, o->expected);
    }
    return FUSEC_OK;
}

static fusec_status end(fc_outfile *o, fc_error *e) {
    sink *s = o->store;
    fc_str text;
    if (s->have) FC_TRY(write_rows(o, e));
    fc_str_init(&text, s->alloc);
    fc_zarr_meta_text(&s->z, &text);
    fc_str_clear(&s->name);
    fc_str_printf(&s->name, "%s/%s", o->tmp, s->z.version == 2 ? ".zarray" : "zarr.json");
    fusec_status st =
        text.oom || s->name.oom ? fc_oom(e) : write_file(o, s->name.data, text.data, text.len, e);
    o->at = s->stored + (int64_t)text.len;
    fc_str_free(&text);
    return st;
}

static void drop(fc_outfile *o) {
    sink *s = o->store;
    if (!s) return;
    fc_codecs_close(&s->codecs);
    fc_str_free(&s->name);
    fc_free(s->alloc, s->rows);
    fc_free(s->alloc, s->one);
    fc_free(s->alloc, s->packed);
    fc_free(s->alloc, s);
    o->store = NULL;
}

static const fc_outfile_kind zarr = {.write = put, .finish = end, .drop = drop};

/* ---- opening --------------------------------------------------------------------------------- */

static void choose_chunks(fc_zarr *z, const fc_zarr *like) {
    int64_t row = (int64_t)fc_dtypes[z->dtype].bytes;
    const bool same = like && like->rank == z->rank &&
                      !memcmp(like->shape, z->shape, (size_t)z->rank * sizeof *z->shape);
    for (int k = z->rank - 1; k >= 0; k--) {
        const int64_t most = row < CHUNK_BYTES ? CHUNK_BYTES / row : 1;
        z->chunk[k] = z->shape[k] < 1 ? 1 : z->shape[k] < most ? z->shape[k] : most;
        row = fc_mul_most(row, z->chunk[k]);
    }
    if (same) memcpy(z->chunk, like->chunk, sizeof z->chunk);
}

static fusec_status set_up(sink *s, fusec_dtype dtype, int rank, const int64_t *shape,
                           const char *like, fc_error *e) {
    fc_zarr *z = &s->z, other;
    fc_error own = {0};
    int64_t count, bytes, chunk, slab;
    const bool known = like && !fc_zarr_read_meta(s->alloc, like, &other, &own);
    *z = (fc_zarr){.version = known ? other.version : 3, .rank = rank, .dtype = dtype};
    z->separator = z->version == 2 && known ? other.separator : '/';
    memcpy(z->shape, shape, (size_t)rank * sizeof *shape);
    choose_chunks(z, known ? &other : NULL);
    z->chain.ncodecs = 1;
    z->chain.codecs[0] =
        fc_codec_open(&s->codecs, FC_CODEC_ZSTD, s->alloc, &own) ? FC_CODEC_ZSTD : FC_CODEC_GZIP;
    if (!fc_shape_bytes(rank, shape, fc_dtypes[dtype].bytes, &count, &bytes) ||
        !fc_shape_bytes(rank, z->chunk, fc_dtypes[dtype].bytes, &count, &chunk))
        return fc_fail(e, FUSEC_INVALID, "the array is too large");
    s->row = rank && shape[0] ? bytes / shape[0] : bytes;
    if (!fc_mul_ok(s->row, rank ? z->chunk[0] : 1, &slab) || slab > bytes) slab = bytes;
    s->slab = (size_t)slab, s->chunk = (size_t)chunk;
    s->packed_room = fc_codec_room(s->chunk);
    s->rows = fc_malloc(s->alloc, s->slab);
    s->one = fc_malloc(s->alloc, s->chunk);
    s->packed = fc_malloc(s->alloc, s->packed_room);
    return s->rows && s->one && s->packed ? FUSEC_OK : fc_oom(e);
}

fusec_status fc_zarr_create(fc_outfile *o, const fc_alloc *alloc, const char *path,
                            fusec_dtype dtype, int rank, const int64_t *shape, const char *like,
                            fc_error *e) {
    struct stat st;
    if (stat(path, &st) == 0 && !fc_zarr_is_array(path)) {
        char shown[200];
        return fc_fail(e, FUSEC_IO,
                       "cannot write %s: it is there already, and no Zarr array that could be "
                       "replaced",
                       fc_shown_name(shown, sizeof shown, path));
    }
    sink *s = fc_calloc(alloc, 1, sizeof *s);
    if (!s) return fc_oom(e);
    s->alloc = alloc;
    fc_str_init(&s->name, alloc);
    fusec_status status = set_up(s, dtype, rank, shape, like, e);
    if (!status)
        status = fc_outfile_folder(o, alloc, path, e);
    else
        memset(o, 0, sizeof *o);
    o->store = s, o->kind = &zarr;
    if (status) drop(o);
    return status;
}
