/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pack.c - see pack.h. */
#include "runtime/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/sha256.h"

typedef struct header {
    char magic[8];
    uint32_t version, count;
    char level[FC_PACK_LEVEL]; /* zeros behind it */
    uint8_t checksum[FC_SHA256_SIZE];
} header;

typedef struct place {
    uint8_t key[FC_CACHE_KEY];
    uint32_t kind, reserved;
    char label[FC_CACHE_LABEL];
    uint64_t offset, length;
    uint8_t checksum[FC_SHA256_SIZE];
} place;

_Static_assert(sizeof(header) == 80 && sizeof(place) == 152, "no padding");

#define MAGIC "fusecPK\n"
enum { VERSION = 1 };

struct fc_pack {
    const fc_alloc *alloc;
    int fd;
    header head;
    place *at;
};

static void sum_of(const void *a, size_t na, const void *b, size_t nb, uint8_t out[32]) {
    fc_sha256 s;
    fc_sha256_init(&s);
    fc_sha256_add(&s, a, na);
    if (nb) fc_sha256_add(&s, b, nb);
    fc_sha256_end(&s, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_at(int fd, void *data, size_t n, uint64_t at) {
    char *p = data;
    while (n) {
        const ssize_t got = pread(fd, p, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        p += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

/* Why a file is not to be trusted; NULL: it is. */
static const char *owner_fault(const struct stat *st) {
    if (!S_ISREG(st->st_mode)) return "it is no file";
    if (st->st_uid != geteuid() && st->st_uid != 0) return "it belongs to another user";
    return st->st_mode & (S_IWGRP | S_IWOTH) ? "others may write to it" : NULL;
}

static const char *read_index(fc_pack *p, uint64_t size) {
    uint8_t sum[FC_SHA256_SIZE];
    header *h = &p->head;
    if (size < sizeof *h || !read_at(p->fd, h, sizeof *h, 0) || memcmp(h->magic, MAGIC, 8) != 0)
        return "it is no pack";
    if (h->version != VERSION) return "another version of fusec made it";
    const uint64_t bytes = (uint64_t)h->count * sizeof(place);
    if (h->count > FC_PACK_ENTRIES || bytes > size - sizeof *h) return "it is cut off";
    p->at = fc_malloc(p->alloc, (size_t)bytes + 1);
    if (!p->at) return "out of memory";
    if (!read_at(p->fd, p->at, (size_t)bytes, sizeof *h)) return "it is cut off";
    sum_of(h, offsetof(header, checksum), p->at, (size_t)bytes, sum);
    if (memcmp(sum, h->checksum, sizeof sum) != 0) return "it is damaged";
    for (uint32_t i = 0; i < h->count; i++) {
        const place *x = &p->at[i];
        if (i && memcmp(p->at[i - 1].key, x->key, sizeof x->key) >= 0) return "it is not sorted";
        if (x->length > FC_CACHE_MAX_ENTRY || x->offset > size || x->length > size - x->offset)
            return "it is cut off";
    }
    return h->level[FC_PACK_LEVEL - 1] ? "it is damaged" : NULL;
}

fusec_status fc_pack_open(const fc_alloc *a, const char *path, fc_pack **out, fc_error *e) {
    struct stat st;
    fc_pack *p = fc_calloc(a, 1, sizeof *p);
    *out = NULL;
    if (!p) return fc_oom(e);
    p->alloc = a;
    p->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *why = p->fd < 0 || fstat(p->fd, &st) ? strerror(errno) : owner_fault(&st);
    if (!why) why = read_index(p, (uint64_t)st.st_size);
    if (!why) {
        *out = p;
        return FUSEC_OK;
    }
    const bool oom = !strcmp(why, "out of memory");
    fc_pack_close(p);
    return oom ? fc_oom(e) : fc_fail(e, FUSEC_IO, "the pack %.300s: %s", path, why);
}

void fc_pack_close(fc_pack *p) {
    if (!p) return;
    if (p->fd >= 0) close(p->fd);
    fc_free(p->alloc, p->at);
    fc_free(p->alloc, p);
}

const char *fc_pack_level(const fc_pack *p) {
    return p->head.level;
}

uint32_t fc_pack_count(const fc_pack *p) {
    return p->head.count;
}

static int by_key(const void *key, const void *x) {
    return memcmp(key, ((const place *)x)->key, FC_CACHE_KEY);
}

bool fc_pack_get(const fc_pack *p, const uint8_t key[FC_CACHE_KEY], uint32_t kind, fc_bytes *out) {
    uint8_t sum[FC_SHA256_SIZE];
    const place *x =
        p->head.count ? bsearch(key, p->at, p->head.count, sizeof *p->at, by_key) : NULL;
    if (!x || x->kind != kind) return false;
    uint8_t *data = fc_malloc(p->alloc, (size_t)x->length + 1);
    if (!data) return false;
    bool good = read_at(p->fd, data, (size_t)x->length, x->offset);
    if (good) {
        sum_of(data, (size_t)x->length, NULL, 0, sum);
        good = memcmp(sum, x->checksum, sizeof sum) == 0;
    }
    if (!good) {
        fc_free(p->alloc, data);
        return false;
    }
    data[x->length] = 0;
    out->data = data;
    out->len = (size_t)x->length;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int by_packed_key(const void *a, const void *b) {
    return memcmp(((const fc_packed *)a)->key, ((const fc_packed *)b)->key, FC_CACHE_KEY);
}

static void write_index(const fc_packed *x, size_t n, header *h, fc_str *out) {
    uint64_t offset = sizeof *h + n * sizeof(place);
    fc_str index;
    fc_str_init(&index, out->alloc);
    for (size_t i = 0; i < n; i++) {
        place at = {.kind = x[i].kind, .offset = offset, .length = x[i].len};
        memcpy(at.key, x[i].key, sizeof at.key);
        memcpy(at.label, x[i].label, sizeof at.label);
        sum_of(x[i].data, x[i].len, NULL, 0, at.checksum);
        fc_str_addn(&index, (const char *)&at, sizeof at);
        offset += x[i].len;
    }
    sum_of(h, offsetof(header, checksum), index.data, index.len, h->checksum);
    fc_str_addn(out, (const char *)h, sizeof *h);
    fc_str_addn(out, index.data, index.len);
    out->oom |= index.oom;
    fc_str_free(&index);
}

fusec_status fc_pack_write(const char *level, fc_packed *x, size_t n, fc_str *out, fc_error *e) {
    size_t kept = 0;
    header h = {.version = VERSION};
    if (n) qsort(x, n, sizeof *x, by_packed_key);
    for (size_t i = 0; i < n; i++)
        if (!kept || memcmp(x[kept - 1].key, x[i].key, FC_CACHE_KEY) != 0) x[kept++] = x[i];
    if (kept > FC_PACK_ENTRIES || strlen(level) >= FC_PACK_LEVEL)
        return fc_fail(e, FUSEC_LIMIT, "a pack of %zu kernels for %.40s", kept, level);
    memcpy(h.magic, MAGIC, sizeof h.magic);
    memcpy(h.level, level, strlen(level));
    h.count = (uint32_t)kept;
    write_index(x, kept, &h, out);
    for (size_t i = 0; i < kept; i++) fc_str_addn(out, (const char *)x[i].data, x[i].len);
    return out->oom ? fc_oom(e) : FUSEC_OK;
}
