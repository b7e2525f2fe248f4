/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target_pack.c - a file of compiled kernels: opened, and every entry of it read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/pack.h"
#include "runtime/sha256.h"
#include "tests/fuzz/targets.h"

enum { SUM_AT = 48, INDEX = 80, ENTRY = 152 };

/* The first byte says whether the checksum of the index is made anew, or stays as it is. */
static void sign(uint8_t *file, size_t size) {
    fc_sha256 s;
    uint32_t count;
    if (size < INDEX) return;
    memcpy(&count, file + 12, sizeof count);
    if (count > (size - INDEX) / ENTRY) return;
    fc_sha256_init(&s);
    fc_sha256_add(&s, file, SUM_AT);
    fc_sha256_add(&s, file + INDEX, (size_t)count * ENTRY);
    fc_sha256_end(&s, file + SUM_AT);
}

static void use(const char *path, const uint8_t *file) {
    fc_pack *p = NULL;
    fc_error e = {0};
    const fusec_status s = fc_pack_open(&fc_libc_alloc, path, &p, &e);
    fuzz_require(!s == (p != NULL) && !s == !e.code, "a pack or an error");
    for (uint32_t i = 0; p && i < fc_pack_count(p); i++) {
        uint8_t key[FC_CACHE_KEY];
        uint32_t kind;
        fc_bytes b = {0};
        memcpy(key, file + INDEX + (size_t)i * ENTRY, sizeof key);
        memcpy(&kind, file + INDEX + (size_t)i * ENTRY + sizeof key, sizeof kind);
        if (fc_pack_get(p, key, kind, &b)) fc_bytes_free(&fc_libc_alloc, &b);
    }
    fc_pack_close(p);
}

void fuzz_pack(const uint8_t *data, size_t size) {
    char path[64];
    if (!size) return;
    uint8_t *file = malloc(size);
    const int fd = file ? memfd_create("fuzz", MFD_CLOEXEC) : -1;
    if (fd >= 0) {
        memcpy(file, data + 1, size - 1);
        if (data[0] & 1) sign(file, size - 1);
        if (size > 1 && write(fd, file, size - 1) != (ssize_t)(size - 1)) abort();
        if (fchmod(fd, 0600)) abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        use(path, file);
        close(fd);
    }
    free(file);
}
