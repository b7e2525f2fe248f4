/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target_files.c - files of arrays and images, cache entries, machine code. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/compile/kernel_symbols.h"
#include "runtime/compile/objload.h"
#include "frontend/cli/npz.h"
#include "frontend/cli/png.h"
#include "runtime/diskcache.h"
#include "runtime/sha256.h"
#include "tests/fuzz/targets.h"

enum { MAX_DATA = 1 << 22 };

/* ---- .npy: reads twice, once knowing the size of the file and once not ----------------------- */

static void *take(int64_t bytes) {
    void *p = malloc(bytes ? (size_t)bytes : 1);
    if (!p) abort();
    return p;
}

static void write_again(const fc_npy *h, void *data) {
    char header[FC_NPY_HEADER_ROOM];
    fc_reader in;
    fc_npy again;
    size_t n = fc_npy_header(header, h->dtype, h->rank, h->shape);
    if (h->dtype == FUSEC_BF16) return;
    char *file = take((int64_t)n + h->bytes);
    memcpy(file, header, n);
    if (h->bytes) memcpy(file + n, data, (size_t)h->bytes);
    fc_reader_memory(&in, file, n + (size_t)h->bytes, "again");
    fc_error e = {0};
    fusec_status s = fc_npy_read_header(&in, &again, &e);
    fuzz_require(!s && again.dtype == h->dtype && again.bytes == h->bytes,
                 "what is written is what was read");
    fc_reader_close(&in);
    free(file);
}

static bool read_npy(fc_reader *in, int64_t *count) {
    fc_npy h;
    fc_error e = {0};
    if (fc_npy_read_header(in, &h, &e)) return false;
    fuzz_require(h.count >= 0 && h.bytes >= 0 && h.rank <= FC_IO_RANK, "sizes of a header");
    if (h.bytes > MAX_DATA) return false;
    void *data = take(h.bytes);
    bool good = !fc_npy_read_data(in, &h, &fc_libc_alloc, data, &e);
    if (good) write_again(&h, data);
    *count = good ? h.count : -1;
    free(data);
    return good;
}

/* A pipe: nobody knows how much will come, and it comes in small pieces. */
typedef struct pipe_source {
    const uint8_t *data;
    size_t size;
} pipe_source;

static int64_t read_pipe(fc_reader *s, void *buf, size_t n, fc_error *e) {
    pipe_source *p = s->user;
    (void)e;
    if (n > 7) n = 7;
    if (n > p->size) n = p->size;
    if (n) memcpy(buf, p->data, n);
    p->data += n;
    p->size -= n;
    return (int64_t)n;
}

void fuzz_npy(const uint8_t *data, size_t size) {
    fc_reader in;
    int64_t a = -1, b = -1;
    fc_reader_memory(&in, data, size, "a.npy");
    bool known = read_npy(&in, &a);
    fc_reader_close(&in);
    pipe_source p = {data, size};
    in = (fc_reader){.read = read_pipe, .user = &p, .fd = -1, .size = -1, .name = "a.npy"};
    bool unknown = read_npy(&in, &b);
    fc_reader_close(&in);
    fuzz_require(known == unknown && a == b, "a pipe gives what a file gives");
}

/* ---- readers that take a path ---------------------------------------------------------------- */

/* A file in memory; its path is good while it is open. */
static int file_of(const uint8_t *data, size_t size, char path[64]) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0) return -1;
    if (size && write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

void fuzz_npz(const uint8_t *data, size_t size) {
    static const char *const keys[] = {NULL, "x", "arr_0"};
    char path[64];
    int fd = file_of(data, size, path);
    for (size_t i = 0; fd >= 0 && i < FC_COUNT(keys); i++) {
        fc_reader in;
        fc_error e = {0};
        int64_t count;
        if (fc_npz_open(&in, &fc_libc_alloc, path, keys[i], &e)) continue;
        read_npy(&in, &count);
        fc_reader_close(&in);
    }
    if (fd >= 0) close(fd);
}

void fuzz_png(const uint8_t *data, size_t size) {
    char path[64];
    fc_array a;
    fc_error e = {0};
    memset(&a, 0, sizeof a);
    int fd = file_of(data, size, path);
    if (fd >= 0 && !fc_png_info(path, &a, &e)) {
        int64_t bytes = 1;
        for (int k = 0; k < a.rank; k++) bytes *= a.shape[k];
        fuzz_require(bytes >= 0, "the size of an image");
        if (bytes <= MAX_DATA) {
            a.data = take(bytes);
            fc_png_read(&fc_libc_alloc, path, &a, &e);
            free(a.data);
        }
    }
    if (fd >= 0) close(fd);
}

/* ---- machine code ---------------------------------------------------------------------------- */

/* Loaded and looked at, not run: the checksum of the cache is what stands for the code itself. */
void fuzz_object(const uint8_t *data, size_t size) {
    fc_object *o = NULL;
    fc_error e = {0};
    if (fc_object_load(&fc_libc_alloc, data, size, fc_kernel_symbol, &o, &e)) return;
    fc_object_function(o, "fusec_kernel");
    fc_object_function(o, "");
    fc_object_mapped_bytes(o);
    fc_object_unload(o);
}

/* ---- cache entries --------------------------------------------------------------------------- */

static struct cache {
    fc_diskcache *c;
    char dir[150];
} cache;

static void close_cache(void) {
    fc_diskcache_clear(cache.c, 0);
    fc_diskcache_close(cache.c);
    char lock[200];
    snprintf(lock, sizeof lock, "%s/.lock", cache.dir);
    unlink(lock);
    rmdir(cache.dir);
}

static fc_diskcache *open_cache(void) {
    if (cache.c) return cache.c;
    const char *tmp = getenv("TMPDIR"); /* one in memory spares the disk */
    snprintf(cache.dir, sizeof cache.dir, "%.100s/fusec-fuzz-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(cache.dir)) abort();
    fc_diskcache_dirs d = {.dir = cache.dir};
    cache.c = fc_diskcache_open(&fc_libc_alloc, &d, 0);
    if (!cache.c || fc_diskcache_why(cache.c)) abort();
    atexit(close_cache);
    return cache.c;
}

static void write_file(const char *path, const uint8_t *data, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) return;
    if (size && write(fd, data, size) != (ssize_t)size) abort();
    close(fd);
}

/* The first byte says what stands in the file: the rest of the input; or an entry made of the rest,
 * a byte of which the next three bytes change. A changed one is a miss. */
void fuzz_cache(const uint8_t *data, size_t size) {
    fc_diskcache *c = open_cache();
    uint8_t key[FC_CACHE_KEY] = {1, 2, 3};
    char hex[2 * FC_CACHE_KEY + 1], path[300];
    fc_bytes out = {0};
    if (size < 4) return;
    fc_sha256_hex(key, hex);
    snprintf(path, sizeof path, "%s/%s", cache.dir, hex);
    if (data[0] & 1) {
        write_file(path, data + 1, size - 1);
        if (fc_diskcache_get(c, key, 2, &out)) fc_bytes_free(&fc_libc_alloc, &out);
        return;
    }
    fuzz_require(fc_diskcache_put(c, key, 2, "fuzz", data + 4, size - 4), "an entry is stored");
    fuzz_require(fc_diskcache_get(c, key, 2, &out), "and found");
    fuzz_require(out.len == size - 4 && !memcmp(out.data, data + 4, out.len), "as it was");
    fc_bytes_free(&fc_libc_alloc, &out);
    size_t at = (size_t)data[1] << 8 | data[2];
    FILE *f = fopen(path, "r+b");
    if (!f) abort();
    fseek(f, 0, SEEK_END);
    at %= (size_t)ftell(f);
    fseek(f, (long)at, SEEK_SET);
    int was = fgetc(f);
    fseek(f, (long)at, SEEK_SET);
    fputc(data[3], f);
    fclose(f);
    bool found = fc_diskcache_get(c, key, 2, &out);
    fuzz_require(found == (was == data[3]), "a changed entry is a miss");
    if (found) fc_bytes_free(&fc_libc_alloc, &out);
}
