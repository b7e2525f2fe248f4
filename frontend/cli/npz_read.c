/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* npz_read.c - one entry of a zip archive as a source of bytes.
 *
 * The central directory at the end of the file is the only authority about names and sizes; the
 * local header in front of an entry is read for its length alone. Every offset is checked against
 * the file. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/npz.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#define DIRECTORY_MAX ((int64_t)64 << 20)

typedef struct entry {
    const unsigned char *name;
    size_t name_len;
    int method, flags;
    uint32_t crc;
    int64_t packed, size, at; /* compressed and plain length, place of the local header */
} entry;

typedef struct npz_stream {
    const fc_alloc *alloc;
    int64_t at, left; /* the next compressed byte in the file, and how many are left */
    int64_t plain;    /* plain bytes still to come */
    uint32_t crc, want_crc;
    bool deflated;
    z_stream z;
    unsigned char in[1 << 16];
} npz_stream;

static uint32_t le16(const unsigned char *p) {
    return p[0] | (uint32_t)p[1] << 8;
}
static uint32_t le32(const unsigned char *p) {
    return le16(p) | le16(p + 2) << 16;
}
static uint64_t le64(const unsigned char *p) {
    return le32(p) | (uint64_t)le32(p + 4) << 32;
}

static fusec_status damaged(fc_reader *s, fc_error *e, const char *what) {
    return fc_fail(e, FUSEC_NPY_FORMAT, "%s is not an archive fusec can read: %s", s->name, what);
}

static fusec_status read_at(fc_reader *s, int64_t at, void *buf, size_t n, fc_error *e) {
    unsigned char *p = buf;
    while (n) {
        ssize_t got = pread(s->fd, p, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            char text[32];
            return fc_fail(e, FUSEC_IO, "cannot read %s: %s", s->name, fc_errno_text(errno, text));
        }
        if (got == 0)
            return fc_fail(e, FUSEC_NPY_TRUNCATED, "%s became shorter while it was read", s->name);
        p += got;
        at += got;
        n -= (size_t)got;
    }
    return FUSEC_OK;
}

/* ---- the central directory ------------------------------------------------------------------- */

typedef struct directory {
    unsigned char *data;
    int64_t at, size, count;
} directory;

/* The record at the end, behind which a comment of up to 64 KiB may stand. */
static fusec_status find_directory(fc_reader *s, const fc_alloc *alloc, int64_t file, directory *d,
                                   fc_error *e) {
    int64_t tail = file < 65557 ? file : 65557;
    if (tail < 22) return damaged(s, e, "it is too short");
    unsigned char *buf = fc_malloc(alloc, (size_t)tail);
    if (!buf) return fc_oom(e);
    fusec_status st = read_at(s, file - tail, buf, (size_t)tail, e);
    int64_t i = tail - 22;
    while (st == FUSEC_OK && i >= 0 && memcmp(buf + i, "PK\005\006", 4) != 0) i--;
    if (st == FUSEC_OK && i < 0) {
        bool zip = !memcmp(buf, "PK\003\004", 4);
        st = damaged(s, e,
                     zip ? "its end is missing; was it still being written?"
                         : "it has no zip directory");
    }
    if (st == FUSEC_OK) {
        d->count = le16(buf + i + 10);
        d->size = le32(buf + i + 12);
        d->at = le32(buf + i + 16);
        if (i >= 20 && !memcmp(buf + i - 20, "PK\006\007", 4)) {
            unsigned char big[56];
            uint64_t where = le64(buf + i - 12);
            if (where > (uint64_t)(file - 56))
                st = damaged(s, e, "its zip64 directory lies outside the file");
            else
                st = read_at(s, (int64_t)where, big, sizeof big, e);
            if (st == FUSEC_OK && memcmp(big, "PK\006\006", 4) == 0) {
                d->count = (int64_t)(le64(big + 32) & INT64_MAX);
                d->size = (int64_t)(le64(big + 40) & INT64_MAX);
                d->at = (int64_t)(le64(big + 48) & INT64_MAX);
            }
        }
    }
    fc_free(alloc, buf);
    return st;
}

static fusec_status read_directory(fc_reader *s, const fc_alloc *alloc, int64_t file, directory *d,
                                   fc_error *e) {
    FC_TRY(find_directory(s, alloc, file, d, e));
    if (d->at < 0 || d->size < 0 || d->at > file || d->size > file - d->at)
        return damaged(s, e, "its directory lies outside the file");
    if (d->size > DIRECTORY_MAX) return damaged(s, e, "its directory is larger than 64 MiB");
    d->data = fc_malloc(alloc, (size_t)d->size);
    if (!d->data) return fc_oom(e);
    return read_at(s, d->at, d->data, (size_t)d->size, e);
}

/* Sizes of 4 GiB and more stand in an extra field, in this order, if the short field is full. */
static bool zip64_sizes(entry *n, const unsigned char *p, size_t len) {
    while (len >= 4) {
        uint32_t id = le16(p), part = le16(p + 2);
        p += 4;
        len -= 4;
        if (part > len) return false;
        if (id == 1) {
            int64_t *fields[] = {&n->size, &n->packed, &n->at};
            for (size_t i = 0; i < 3; i++) {
                if (*fields[i] != 0xffffffff) continue;
                if (part < 8) return false;
                *fields[i] = (int64_t)(le64(p) & INT64_MAX);
                p += 8;
                part -= 8;
            }
            return true;
        }
        p += part;
        len -= part;
    }
    return true;
}

/* Steps to the next entry; false at the end or when the directory is damaged. */
static bool next_entry(const directory *d, size_t *pos, entry *n) {
    size_t left = (size_t)d->size - *pos;
    const unsigned char *p = d->data + *pos;
    if (left < 46 || memcmp(p, "PK\001\002", 4) != 0) return false;
    size_t name = le16(p + 28), extra = le16(p + 30), comment = le16(p + 32);
    if (46 + name + extra + comment > left) return false;
    *n = (entry){.name = p + 46,
                 .name_len = name,
                 .flags = (int)le16(p + 8),
                 .method = (int)le16(p + 10),
                 .crc = le32(p + 16),
                 .packed = le32(p + 20),
                 .size = le32(p + 24),
                 .at = le32(p + 42)};
    *pos += 46 + name + extra + comment;
    return zip64_sizes(n, p + 46 + name, extra);
}

static size_t key_length(const entry *n) {
    bool npy = n->name_len > 4 && !memcmp(n->name + n->name_len - 4, ".npy", 4);
    return npy ? n->name_len - 4 : n->name_len;
}

static bool is_key(const entry *n, const char *key) {
    size_t len = strlen(key);
    return (len == n->name_len || len == key_length(n)) && !memcmp(n->name, key, len);
}

static fusec_status no_such_key(fc_reader *s, const directory *d, const char *key, fc_error *e) {
    char list[400] = "";
    size_t len = 0, pos = 0, more = 0;
    entry n;
    while (next_entry(d, &pos, &n)) {
        size_t k = key_length(&n);
        if (len + k + 3 > sizeof list) {
            more++;
            continue;
        }
        if (len) list[len++] = ',', list[len++] = ' ';
        for (size_t i = 0; i < k; i++)
            list[len++] = n.name[i] >= 0x20 && n.name[i] != 0x7f ? (char)n.name[i] : '?';
        list[len] = 0;
    }
    const char *dots = more ? ", ..." : "";
    if (!key || !*key)
        return fc_fail(e, FUSEC_IO,
                       "%s holds several arrays, and none was named\n  arrays: %s%s\n"
                       "  help: %s:%.*s",
                       s->name, list, dots, s->name, (int)strcspn(list, ","), list);
    char shown[100];
    return fc_fail(e, FUSEC_IO, "%s has no array `%s`\n  arrays: %s%s", s->name,
                   fc_shown_name(shown, sizeof shown, key), *list ? list : "none", dots);
}

static fusec_status find_entry(fc_reader *s, const directory *d, const char *key, entry *out,
                               fc_error *e) {
    size_t pos = 0;
    int64_t count = 0;
    bool found = false;
    entry n;
    while (next_entry(d, &pos, &n)) {
        count++;
        bool hit = key && *key ? is_key(&n, key) : count == 1;
        if (hit && !found) *out = n;
        found |= hit;
    }
    if (pos != (size_t)d->size || count != d->count)
        return damaged(s, e, "its directory is damaged");
    if (!found || ((!key || !*key) && count > 1)) return no_such_key(s, d, key, e);
    return FUSEC_OK;
}

/* ---- the entry as a source ------------------------------------------------------------------- */

static int64_t deliver(fc_reader *s, npz_stream *z, const void *buf, size_t n, fc_error *e) {
    z->crc = (uint32_t)crc32(z->crc, buf, (uInt)n);
    z->plain -= (int64_t)n;
    if (z->plain == 0 && z->crc != z->want_crc) {
        fc_fail(e, FUSEC_NPY_FORMAT, "%s is damaged: its checksum does not match its data",
                s->name);
        return -1;
    }
    return (int64_t)n;
}

static bool refill(fc_reader *s, npz_stream *z, fc_error *e) {
    if (z->z.avail_in || z->left == 0) return true;
    size_t n = z->left < (int64_t)sizeof z->in ? (size_t)z->left : sizeof z->in;
    if (read_at(s, z->at, z->in, n, e) != FUSEC_OK) return false;
    z->at += (int64_t)n;
    z->left -= (int64_t)n;
    z->z.next_in = z->in;
    z->z.avail_in = (uInt)n;
    return true;
}

static int64_t read_entry(fc_reader *s, void *buf, size_t n, fc_error *e) {
    npz_stream *z = s->user;
    if ((int64_t)n > z->plain) n = (size_t)z->plain;
    if (n > (size_t)1 << 30) n = (size_t)1 << 30;
    if (n == 0) return 0;
    if (!z->deflated) {
        if (read_at(s, z->at, buf, n, e) != FUSEC_OK) return -1;
        z->at += (int64_t)n;
        return deliver(s, z, buf, n, e);
    }
    z->z.next_out = buf;
    z->z.avail_out = (uInt)n;
    while (z->z.avail_out == n) {
        if (!refill(s, z, e)) return -1;
        int rc = inflate(&z->z, Z_NO_FLUSH);
        if (z->z.avail_out < n) break;
        if (rc != Z_OK) {
            fc_fail(e, FUSEC_NPY_FORMAT, "%s is damaged: its compressed data is %s", s->name,
                    rc == Z_STREAM_END || rc == Z_BUF_ERROR ? "too short" : "not valid");
            return -1;
        }
    }
    return deliver(s, z, buf, n - z->z.avail_out, e);
}

static void close_entry(fc_reader *s) {
    npz_stream *z = s->user;
    if (z->deflated) inflateEnd(&z->z);
    close(s->fd);
    fc_free(z->alloc, z);
}

static voidpf zlib_alloc(voidpf user, uInt count, uInt size) {
    return fc_calloc(user, count, size);
}
static void zlib_free(voidpf user, voidpf p) {
    fc_free(user, p);
}

static fusec_status check_entry(fc_reader *s, const entry *n, int64_t file, int64_t *data,
                                fc_error *e) {
    unsigned char local[30];
    if (n->flags & 1) return damaged(s, e, "it is encrypted");
    if (n->method != 0 && n->method != 8)
        return damaged(s, e, "it is compressed by another method than deflate");
    if (n->method == 0 && n->packed != n->size) return damaged(s, e, "its sizes do not agree");
    if (n->at > file - 30) return damaged(s, e, "an entry lies outside the file");
    FC_TRY(read_at(s, n->at, local, sizeof local, e));
    if (memcmp(local, "PK\003\004", 4) != 0) return damaged(s, e, "an entry does not begin well");
    *data = n->at + 30 + le16(local + 26) + le16(local + 28);
    if (*data > file || n->packed > file - *data)
        return damaged(s, e, "an entry lies outside the file");
    return FUSEC_OK;
}

static fusec_status start_entry(fc_reader *s, const fc_alloc *alloc, const entry *n, int64_t data,
                                fc_error *e) {
    npz_stream *z = fc_calloc(alloc, 1, sizeof *z);
    if (!z) return fc_oom(e);
    z->alloc = alloc;
    z->at = data;
    z->left = n->packed;
    z->plain = n->size;
    z->want_crc = n->crc;
    z->deflated = n->method == 8;
    if (z->deflated) {
        z->z.zalloc = zlib_alloc;
        z->z.zfree = zlib_free;
        z->z.opaque = (voidpf)(uintptr_t)alloc;
        if (inflateInit2(&z->z, -MAX_WBITS) != Z_OK) {
            fc_free(alloc, z);
            return fc_oom(e);
        }
    }
    s->user = z;
    s->read = read_entry;
    s->close = close_entry;
    s->size = n->size;
    s->at = 0;
    return FUSEC_OK;
}

fusec_status fc_npz_open(fc_reader *s, const fc_alloc *alloc, const char *path, const char *key,
                         fc_error *e) {
    directory d = {0};
    entry n = {0};
    int64_t data = 0;
    FC_TRY(fc_reader_open(s, path, e));
    int64_t file = s->size;
    fusec_status st = file < 0 ? damaged(s, e, "an archive must be a regular file")
                               : read_directory(s, alloc, file, &d, e);
    if (st == FUSEC_OK) st = find_entry(s, &d, key, &n, e);
    if (st == FUSEC_OK) st = check_entry(s, &n, file, &data, e);
    if (st == FUSEC_OK) {
        /* From here on messages name the entry. */
        size_t len = strlen(s->name), k = key_length(&n);
        if (len + k + 2 < sizeof s->name) {
            char shown[sizeof s->name];
            memcpy(shown, n.name, k);
            shown[k] = 0;
            s->name[len] = ':';
            fc_shown_name(s->name + len + 1, sizeof s->name - len - 1, shown);
        }
        st = start_entry(s, alloc, &n, data, e);
    }
    fc_free(alloc, d.data);
    if (st != FUSEC_OK) fc_reader_close(s);
    return st;
}
