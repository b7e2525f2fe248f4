/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* diskcache.c - the directory, and reading and writing of one entry. See diskcache.h. */
#include "runtime/diskcache_scan.h"
#include "runtime/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

enum { TOUCH_AFTER = 3600 }; /* seconds: an entry's time of use is written at most this often */

_Static_assert(sizeof(fc_cache_header) == 152, "the header has no padding");
_Static_assert(offsetof(fc_cache_header, checksum) == 120, "the checksum ends the header");

/* ---- the directory ------------------------------------------------------------------------- */

static bool given(const char *s) {
    return s && *s;
}

static bool choose_dir(fc_diskcache *c, const fc_diskcache_dirs *d) {
    int n = 0;
    if (given(d->dir))
        n = snprintf(c->dir, sizeof c->dir, "%s", d->dir);
    else if (given(d->cache_dir))
        n = snprintf(c->dir, sizeof c->dir, "%s", d->cache_dir);
    else if (given(d->xdg_cache_home))
        n = snprintf(c->dir, sizeof c->dir, "%s/fusec", d->xdg_cache_home);
    else if (given(d->home))
        n = snprintf(c->dir, sizeof c->dir, "%s/.cache/fusec", d->home);
    if (n >= (int)sizeof c->dir || n < 0) {
        snprintf(c->why, sizeof c->why, "the path of the cache directory is too long");
        c->dir[0] = 0;
    } else if (n == 0) {
        snprintf(c->why, sizeof c->why, "there is no home directory to put it in");
    } else if (c->dir[0] != '/') {
        snprintf(c->why, sizeof c->why, "%s is not an absolute path", c->dir);
        return false;
    }
    return c->dir[0] != 0;
}

/* Makes the directory and its missing parents, for this user alone. Failures show when it is
 * opened. */
static void make_dirs(const char *path) {
    char part[1024];
    size_t len = strlen(path);
    memcpy(part, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i] != 0) continue;
        char kept = part[i];
        part[i] = 0;
        (void)mkdir(part, 0700);
        part[i] = kept;
    }
}

static bool is_privileged(void) {
#if defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#else
    return geteuid() != getuid() || getegid() != getgid();
#endif
}

static void open_dir(fc_diskcache *c) {
    struct stat st;
    make_dirs(c->dir);
    int fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0)
        snprintf(c->why, sizeof c->why, "%s: %s", c->dir, strerror(errno));
    else if (st.st_uid != geteuid())
        snprintf(c->why, sizeof c->why, "%s belongs to another user", c->dir);
    else if (st.st_mode & (S_IWGRP | S_IWOTH))
        snprintf(c->why, sizeof c->why, "others may write to %s", c->dir);
    else
        c->dirfd = fd;
    if (c->dirfd < 0 && fd >= 0) close(fd);
}

fc_diskcache *fc_diskcache_open(const fc_alloc *alloc, const fc_diskcache_dirs *dirs,
                                uint64_t limit) {
    fc_diskcache *c = fc_calloc(alloc, 1, sizeof *c);
    if (!c) return NULL;
    c->alloc = alloc;
    c->dirfd = -1;
    c->limit = limit ? limit : FC_CACHE_DEFAULT_LIMIT;
    if (is_privileged())
        snprintf(c->why, sizeof c->why, "this process runs with the rights of another user");
    else if (choose_dir(c, dirs))
        open_dir(c);
    return c;
}

void fc_diskcache_close(fc_diskcache *c) {
    if (!c) return;
    if (c->dirfd >= 0) close(c->dirfd);
    fc_free(c->alloc, c);
}

const char *fc_diskcache_why(const fc_diskcache *c) {
    if (!c) return "it was not asked for";
    return c->dirfd < 0 ? c->why : NULL;
}

const char *fc_diskcache_dir(const fc_diskcache *c) {
    return c ? c->dir : "";
}

/* ---- one file ------------------------------------------------------------------------------ */

int fc_cache_open_entry(const fc_diskcache *c, const char *name, uint64_t *size, int64_t *mtime) {
    struct stat st;
    int fd;
    do {
        /* Neither following a link nor waiting for the other end of a pipe. */
        fd = openat(c->dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink <= 1 &&
        !(st.st_mode & (S_IWGRP | S_IWOTH)) && st.st_size >= 0 &&
        (uint64_t)st.st_size <= FC_CACHE_MAX_ENTRY) {
        *size = (uint64_t)st.st_size;
        *mtime = (int64_t)st.st_mtime;
        return fd;
    }
    close(fd);
    errno = EINVAL;
    return -1;
}

bool fc_cache_read_all(int fd, void *data, size_t len) {
    char *p = data;
    while (len) {
        ssize_t n = read(fd, p, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *data, size_t len) {
    const char *p = data;
    while (len) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

static void checksum(const fc_cache_header *h, const uint8_t *data, uint8_t out[FC_SHA256_SIZE]) {
    fc_sha256 s;
    fc_sha256_init(&s);
    fc_sha256_add(&s, h, offsetof(fc_cache_header, checksum));
    fc_sha256_add(&s, data, (size_t)h->length);
    fc_sha256_end(&s, out);
}

static bool header_fits(const fc_cache_header *h, const uint8_t key[FC_CACHE_KEY], uint32_t kind,
                        uint64_t size) {
    return memcmp(h->magic, FC_CACHE_MAGIC, sizeof h->magic) == 0 && h->format == FC_CACHE_FORMAT &&
           h->kind == kind && h->length == size - sizeof *h &&
           memcmp(h->key, key, FC_CACHE_KEY) == 0;
}

/* A clock that was wrong when the entry was written must not keep it for ever or drop it
 * at once. */
static void touch(int fd, int64_t mtime) {
    int64_t now = (int64_t)time(NULL);
    if (mtime > now || now - mtime > TOUCH_AFTER) (void)futimens(fd, NULL);
}

typedef enum verdict { GOOD, DAMAGED, NO_MEMORY } verdict;

static verdict read_entry(const fc_diskcache *c, int fd, uint64_t size,
                          const uint8_t key[FC_CACHE_KEY], uint32_t kind, fc_bytes *out) {
    fc_cache_header h;
    uint8_t sum[FC_SHA256_SIZE];
    if (size < sizeof h || !fc_cache_read_all(fd, &h, sizeof h)) return DAMAGED;
    if (!header_fits(&h, key, kind, size)) return DAMAGED;
    uint8_t *data = fc_malloc(c->alloc, (size_t)h.length + 1);
    if (!data) return NO_MEMORY;
    bool good = fc_cache_read_all(fd, data, (size_t)h.length);
    if (good) {
        checksum(&h, data, sum);
        good = memcmp(sum, h.checksum, sizeof sum) == 0;
    }
    if (!good) {
        fc_free(c->alloc, data);
        return DAMAGED;
    }
    data[h.length] = 0;
    out->data = data;
    out->len = (size_t)h.length;
    return GOOD;
}

bool fc_diskcache_get(fc_diskcache *c, const uint8_t key[FC_CACHE_KEY], uint32_t kind,
                      fc_bytes *out) {
    char name[FC_CACHE_NAME + 1];
    uint64_t size = 0;
    int64_t mtime = 0;
    verdict v = DAMAGED;
    if (!c || c->dirfd < 0) return false;
    fc_sha256_hex(key, name);
    int fd = fc_cache_open_entry(c, name, &size, &mtime);
    bool absent = fd < 0 && errno != EINVAL && errno != ELOOP;
    if (fd >= 0) {
        v = read_entry(c, fd, size, key, kind, out);
        if (v == GOOD) touch(fd, mtime);
        close(fd);
    }
    if (v == GOOD) {
        atomic_fetch_add_explicit(&c->hits, 1, memory_order_relaxed);
        return true;
    }
    atomic_fetch_add_explicit(&c->misses, 1, memory_order_relaxed);
    if (absent || v == NO_MEMORY) return false;
    atomic_fetch_add_explicit(&c->damaged, 1, memory_order_relaxed);
    (void)unlinkat(c->dirfd, name, 0);
    return false;
}

/* The name is taken by O_EXCL; the numbers only make a clash unlikely. */
static int open_temporary(fc_diskcache *c, char *name, size_t size) {
    for (int attempt = 0; attempt < 16; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, size, ".tmp-%ld-%lu-%09ld", (long)getpid(), atomic_fetch_add(&c->serial, 1),
                 now.tv_nsec);
        int fd = openat(c->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || (errno != EEXIST && errno != EINTR)) return fd;
    }
    return -1;
}

/* The beginning of `text` as printable ASCII; the rest of `out` is zeros. */
static void copy_label(char out[FC_CACHE_LABEL], const char *text) {
    memset(out, 0, FC_CACHE_LABEL);
    for (size_t i = 0; text && text[i] && i < FC_CACHE_LABEL - 1; i++)
        out[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
}

bool fc_diskcache_put(fc_diskcache *c, const uint8_t key[FC_CACHE_KEY], uint32_t kind,
                      const char *label, const uint8_t *data, size_t len) {
    char name[FC_CACHE_NAME + 1], temporary[80];
    fc_cache_header h = {.format = FC_CACHE_FORMAT, .kind = kind, .length = len};
    if (!c || c->dirfd < 0 || len > FC_CACHE_MAX_ENTRY - sizeof h) return false;
    memcpy(h.magic, FC_CACHE_MAGIC, sizeof h.magic);
    memcpy(h.key, key, FC_CACHE_KEY);
    copy_label(h.label, label);
    checksum(&h, data, h.checksum);
    fc_sha256_hex(key, name);
    int fd = open_temporary(c, temporary, sizeof temporary);
    if (fd < 0) return false;
    bool good = write_all(fd, &h, sizeof h) && write_all(fd, data, len);
    good = close(fd) == 0 && good;
    if (good) good = renameat(c->dirfd, temporary, c->dirfd, name) == 0;
    if (!good) {
        (void)unlinkat(c->dirfd, temporary, 0);
        return false;
    }
    atomic_fetch_add_explicit(&c->stored, 1, memory_order_relaxed);
    fc_cache_after_put(c, key, sizeof h + len);
    return true;
}
