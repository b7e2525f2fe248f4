/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* diskcache_scan.c - walks over the whole cache directory: eviction, statistics, listing, clearing.
 *
 * A name that is not 64 hexadecimal digits is never touched, except temporaries of crashed writers;
 * nor is a file of such a name that does not begin as an entry does.
 * Other processes add and remove files during a walk; a file that is gone when its turn comes is no
 * matter. */
#include "runtime/diskcache_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STALE_TEMPORARY = 3600 }; /* seconds after which a writer is taken for dead */
enum { SCANS_PER_LIMIT = 64 };   /* about this many walks while the cache is filled once */

typedef struct file {
    uint8_t key[FC_CACHE_KEY];
    int64_t used; /* seconds */
    long nanos;   /* of the last second: what was just stored is younger than the rest of it */
    uint64_t bytes;
} file;

typedef struct listing {
    FC_VEC(file) files;
    uint64_t bytes;
} listing;

static int hex_digit(char ch) {
    if (ch >= '0' && ch <= '9') return ch - '0';
    if (ch >= 'a' && ch <= 'f') return ch - 'a' + 10;
    return -1;
}

static bool parse_name(const char *name, uint8_t key[FC_CACHE_KEY]) {
    if (strlen(name) != FC_CACHE_NAME) return false;
    for (int i = 0; i < FC_CACHE_KEY; i++) {
        int hi = hex_digit(name[2 * i]), lo = hex_digit(name[2 * i + 1]);
        if (hi < 0 || lo < 0) return false;
        key[i] = (uint8_t)(hi << 4 | lo);
    }
    return true;
}

static void name_of(const file *f, char name[FC_CACHE_NAME + 1]) {
    for (int i = 0; i < FC_CACHE_KEY; i++) {
        name[2 * i] = "0123456789abcdef"[f->key[i] >> 4];
        name[2 * i + 1] = "0123456789abcdef"[f->key[i] & 15];
    }
    name[FC_CACHE_NAME] = 0;
}

static bool is_stale(const struct stat *st, int64_t now) {
    int64_t age = now - (int64_t)st->st_mtime;
    return age > STALE_TEMPORARY || age < -STALE_TEMPORARY;
}

/* Fills `l` with the entries and removes stale temporaries; what does not fit into memory is left
 * out. */
static void scan(fc_diskcache *c, listing *l) {
    memset(l, 0, sizeof *l);
    if (!c || c->dirfd < 0) return;
    int fd = openat(c->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0) close(fd);
        return;
    }
    int64_t now = (int64_t)time(NULL);
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        struct stat st;
        file f;
        bool temporary = strncmp(d->d_name, ".tmp-", 5) == 0;
        if (!temporary && !parse_name(d->d_name, f.key)) continue;
        if (fstatat(c->dirfd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!S_ISREG(st.st_mode)) continue;
        if (temporary) {
            if (is_stale(&st, now)) (void)unlinkat(c->dirfd, d->d_name, 0);
            continue;
        }
        /* A time far in the future is a clock that was wrong: such an entry counts as the
         * oldest. */
        f.used = (int64_t)st.st_mtime > now + STALE_TEMPORARY ? 0 : (int64_t)st.st_mtime;
        f.nanos = st.st_mtim.tv_nsec;
        f.bytes = (uint64_t)st.st_size;
        if (!fc_push(c->alloc, &l->files, f)) break;
        l->bytes += f.bytes;
    }
    closedir(dir);
}

/* Reads the beginning of a file; false if it is no entry. An empty one is: a crash of the system
 * can leave it, and there is nothing in it to lose. */
static bool read_header(const fc_diskcache *c, const file *f, fc_cache_header *h) {
    char name[FC_CACHE_NAME + 1];
    uint64_t size = 0;
    int64_t mtime = 0;
    bool good = false;
    name_of(f, name);
    memset(h, 0, sizeof *h);
    int fd = fc_cache_open_entry(c, name, &size, &mtime);
    if (fd < 0) return false;
    if (size >= sizeof h->magic)
        good = fc_cache_read_all(fd, h, size < sizeof *h ? (size_t)size : sizeof *h) &&
               memcmp(h->magic, FC_CACHE_MAGIC, sizeof h->magic) == 0;
    close(fd);
    return good || size == 0;
}

/* Leaves only entries in the list. It opens every file, so it is for when something is to be
 * removed or shown. */
static void keep_entries(const fc_diskcache *c, listing *l) {
    fc_cache_header h;
    size_t n = 0;
    for (size_t i = 0; i < l->files.len; i++) {
        if (read_header(c, &l->files.at[i], &h))
            l->files.at[n++] = l->files.at[i];
        else
            l->bytes -= l->files.at[i].bytes;
    }
    l->files.len = n;
}

static bool drop(const fc_diskcache *c, const file *f) {
    char name[FC_CACHE_NAME + 1];
    name_of(f, name);
    return unlinkat(c->dirfd, name, 0) == 0;
}

/* ---- eviction ------------------------------------------------------------------------------ */

static int by_use(const void *a, const void *b) {
    const file *x = a, *y = b;
    if (x->used != y->used) return x->used < y->used ? -1 : 1;
    if (x->nanos != y->nanos) return x->nanos < y->nanos ? -1 : 1;
    return memcmp(x->key, y->key, sizeof x->key);
}

/* `fresh` was stored just now and stays, however coarse the clock of the file system is. */
static void evict(fc_diskcache *c, const uint8_t fresh[FC_CACHE_KEY]) {
    listing l;
    scan(c, &l);
    if (l.bytes > c->limit) keep_entries(c, &l);
    if (l.bytes > c->limit) {
        uint64_t target = c->limit - c->limit / 10;
        qsort(l.files.at, l.files.len, sizeof *l.files.at, by_use);
        for (size_t i = 0; i < l.files.len && l.bytes > target; i++) {
            if (!memcmp(l.files.at[i].key, fresh, FC_CACHE_KEY)) continue;
            (void)drop(c, &l.files.at[i]); /* a reader that has it open keeps what it reads */
            l.bytes -= l.files.at[i].bytes;
        }
    }
    fc_vec_free(c->alloc, &l.files);
}

/* Who does not get the lock leaves the work to who has it. */
static void evict_locked(fc_diskcache *c, const uint8_t fresh[FC_CACHE_KEY]) {
    struct stat st;
    int fd =
        openat(c->dirfd, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        evict(c, fresh);
    close(fd); /* gives the lock back */
}

/* Knowing the size needs a walk, which a put can't afford each time and a short process never would
 * come to if it counted. So chance decides, in proportion to the bytes: keys are hashes, and four
 * bytes of one are the dice. One walk for every limit / 64 bytes on average keeps the overshoot
 * within a few percent. */
void fc_cache_after_put(fc_diskcache *c, const uint8_t key[FC_CACHE_KEY], uint64_t size) {
    uint32_t dice;
    memcpy(&dice, key + FC_CACHE_KEY - sizeof dice, sizeof dice);
    uint64_t interval = c->limit / SCANS_PER_LIMIT;
    if (size >= interval || dice < (size << 32) / interval) evict_locked(c, key);
}

/* ---- for people ---------------------------------------------------------------------------- */

void fc_diskcache_stats_get(fc_diskcache *c, fc_diskcache_stats *out) {
    listing l;
    memset(out, 0, sizeof *out);
    if (!c) return;
    scan(c, &l);
    keep_entries(c, &l);
    out->entries = l.files.len;
    out->bytes = l.bytes;
    out->limit = c->limit;
    out->hits = atomic_load(&c->hits);
    out->misses = atomic_load(&c->misses);
    out->damaged = atomic_load(&c->damaged);
    out->stored = atomic_load(&c->stored);
    fc_vec_free(c->alloc, &l.files);
}

/* What stands in a file may be anything. */
static void show_label(char out[FC_CACHE_LABEL], const char label[FC_CACHE_LABEL]) {
    memset(out, 0, FC_CACHE_LABEL);
    for (size_t i = 0; i < FC_CACHE_LABEL - 1 && label[i]; i++)
        out[i] = label[i] >= 0x20 && label[i] < 0x7f ? label[i] : '?';
}

void fc_diskcache_list(fc_diskcache *c, fc_diskcache_visit visit, void *user) {
    listing l;
    if (!c) return;
    int64_t now = (int64_t)time(NULL);
    scan(c, &l);
    if (l.files.len) qsort(l.files.at, l.files.len, sizeof *l.files.at, by_use);
    for (size_t i = l.files.len; i-- > 0;) { /* the latest first */
        const file *f = &l.files.at[i];
        fc_cache_header h;
        if (!read_header(c, f, &h)) continue;
        fc_diskcache_entry entry = {
            .kind = h.kind, .bytes = f->bytes, .age = f->used < now ? now - f->used : 0};
        memcpy(entry.key, f->key, sizeof entry.key);
        if (h.format == FC_CACHE_FORMAT) show_label(entry.label, h.label);
        visit(user, &entry);
    }
    fc_vec_free(c->alloc, &l.files);
}

uint64_t fc_diskcache_clear(fc_diskcache *c, int64_t older_than_seconds) {
    listing l;
    uint64_t removed = 0;
    if (!c) return 0;
    int64_t now = (int64_t)time(NULL);
    scan(c, &l);
    keep_entries(c, &l);
    for (size_t i = 0; i < l.files.len; i++) {
        const file *f = &l.files.at[i];
        if (older_than_seconds > 0 && now - f->used < older_than_seconds) continue;
        removed += drop(c, f);
    }
    fc_vec_free(c->alloc, &l.files);
    return removed;
}
