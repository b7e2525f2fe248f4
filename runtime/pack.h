/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pack.h - compiled kernels in one file that is only read: what a program takes along to machines
 * without a compiler.
 *
 * The file, little-endian:
 *
 *     magic, version, number of entries, level of the CPU ("x86-64-v3", or the model's own: "")
 *     SHA-256 of what is before it and of the index
 *     index          sorted by key: key, kind, label, where the code is, its SHA-256
 *     code
 *
 * Equal entries make equal files. The index is checked when the file is opened, an entry when it is
 * read, so opening takes no longer for large packs. Checksums find damage; they are no signature: a
 * pack is code, and is trusted because of who owns it (the user or root) and may write to it
 * (nobody else). */
#ifndef FUSEC_RUNTIME_PACK_H
#define FUSEC_RUNTIME_PACK_H

#include "runtime/diskcache.h"

enum { FC_PACK_LEVEL = 32, FC_PACK_ENTRIES = 1 << 20 };

typedef struct fc_pack fc_pack;

/* FUSEC_IO with the path and the reason: what is no pack, is damaged, or belongs to somebody else.
 */
fusec_status fc_pack_open(const fc_alloc *a, const char *path, fc_pack **out, fc_error *e);
void fc_pack_close(fc_pack *p); /* NULL is fine */
const char *fc_pack_level(const fc_pack *p);
uint32_t fc_pack_count(const fc_pack *p);
/* As fc_diskcache_get; a damaged entry is a miss. From any thread. */
bool fc_pack_get(const fc_pack *p, const uint8_t key[FC_CACHE_KEY], uint32_t kind, fc_bytes *out);

typedef struct fc_packed {
    uint8_t key[FC_CACHE_KEY];
    uint32_t kind;
    char label[FC_CACHE_LABEL];
    const uint8_t *data;
    size_t len;
} fc_packed;
/* The bytes of a pack of these entries, which are sorted, at the end of `out`. Two with one key:
 * the first. */
fusec_status fc_pack_write(const char *level, fc_packed *entries, size_t n, fc_str *out,
                           fc_error *e);

#endif
