/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* diskcache_scan.h - what the two halves of the disk cache share: entries (diskcache.c) and the
 * walks over the whole directory (diskcache_scan.c). */
#ifndef FUSEC_RUNTIME_DISKCACHE_SCAN_H
#define FUSEC_RUNTIME_DISKCACHE_SCAN_H

#include <stdatomic.h>

#include "runtime/diskcache.h"

enum { FC_CACHE_NAME = 2 * FC_CACHE_KEY };

struct fc_diskcache {
    const fc_alloc *alloc;
    int dirfd; /* -1: off */
    uint64_t limit;
    char dir[1024];
    char why[1200];
    atomic_ulong serial; /* of temporary files */
    atomic_ullong hits, misses, damaged, stored;
};

/* The start of every file, little-endian as the machine; a foreign byte order fails at
 * the magic. */
typedef struct fc_cache_header {
    char magic[8];
    uint32_t format, kind;
    uint64_t length; /* of the payload */
    uint8_t key[FC_CACHE_KEY];
    char label[FC_CACHE_LABEL]; /* zeros behind it */
    uint8_t checksum[32];       /* SHA-256 of the header before it and of the payload */
} fc_cache_header;

#define FC_CACHE_MAGIC "fusecKC\n"
enum { FC_CACHE_FORMAT = 2 };

/* Opens a file of the cache for reading if it is a plain file of this user; -1 otherwise. */
int fc_cache_open_entry(const fc_diskcache *c, const char *name, uint64_t *size, int64_t *mtime);
bool fc_cache_read_all(int fd, void *data, size_t len);

/* Called after an entry of `size` bytes was stored: now and then brings the cache under
 * its limit. */
void fc_cache_after_put(fc_diskcache *c, const uint8_t key[FC_CACHE_KEY], uint64_t size);

#endif
