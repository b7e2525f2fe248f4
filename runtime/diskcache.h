/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* diskcache.h - compiled kernels on disk: a 32-byte key in, bytes out.
 *
 * One file per entry, named by the key, in one directory that must belong to the effective user and
 * must not be writable by others. An entry repeats its key and carries a checksum over everything,
 * so a torn, damaged or misplaced file is a miss and is removed; it never becomes an error or a
 * wrong result. The checksum is no signature: a cached kernel is code, and what protects it is the
 * directory's permission.
 *
 * Files appear by rename, so readers and writers of any number of threads and processes need no
 * lock. When the entries grow over the limit, the least recently used go. A directory that can't be
 * used leaves a cache that misses always; all functions take NULL and then do the same. No
 * environment is read here: the caller passes the values of the variables. */
#ifndef FUSEC_RUNTIME_DISKCACHE_H
#define FUSEC_RUNTIME_DISKCACHE_H

#include "runtime/compile/bytes.h"

enum { FC_CACHE_KEY = 32 };
#define FC_CACHE_MAX_ENTRY     ((uint64_t)64 << 20)  /* a file, header included */
#define FC_CACHE_DEFAULT_LIMIT ((uint64_t)512 << 20) /* all files */

typedef struct fc_diskcache fc_diskcache;

/* The first that is not NULL (or "") wins; the last two get /fusec and /.cache/fusec appended. A
 * path that is not absolute is refused, as the working directory may change. */
typedef struct fc_diskcache_dirs {
    const char *dir;            /* asked for by the program */
    const char *cache_dir;      /* $FUSEC_CACHE_DIR */
    const char *xdg_cache_home; /* $XDG_CACHE_HOME */
    const char *home;           /* $HOME */
} fc_diskcache_dirs;

/* `limit` 0: the default. NULL only when out of memory. */
fc_diskcache *fc_diskcache_open(const fc_alloc *alloc, const fc_diskcache_dirs *dirs,
                                uint64_t limit);
void fc_diskcache_close(fc_diskcache *c);

const char *fc_diskcache_why(const fc_diskcache *c); /* why it is off; NULL when it is on */
const char *fc_diskcache_dir(const fc_diskcache *c); /* "" when none could be chosen */

/* True when found; `out` must be empty and stays so on a miss. `kind` tells entries of different
 * formats apart (the caller's numbers). */
bool fc_diskcache_get(fc_diskcache *c, const uint8_t key[FC_CACHE_KEY], uint32_t kind,
                      fc_bytes *out);
/* Whether it was stored; nothing is to be done when not. `label` says to people what it is (NULL:
 * nothing); no more than the beginning is kept, and it is no part of the key. */
bool fc_diskcache_put(fc_diskcache *c, const uint8_t key[FC_CACHE_KEY], uint32_t kind,
                      const char *label, const uint8_t *data, size_t len);

typedef struct fc_diskcache_stats {
    uint64_t entries, bytes, limit;
    uint64_t hits, misses, damaged, stored; /* of this handle */
} fc_diskcache_stats;
void fc_diskcache_stats_get(fc_diskcache *c, fc_diskcache_stats *out);

enum { FC_CACHE_LABEL = 64 };
typedef struct fc_diskcache_entry {
    uint8_t key[FC_CACHE_KEY];
    uint32_t kind;              /* as the file says; not verified */
    char label[FC_CACHE_LABEL]; /* the same; printable ASCII */
    uint64_t bytes;
    int64_t age; /* seconds since the last use, to within an hour */
} fc_diskcache_entry;
typedef void (*fc_diskcache_visit)(void *user, const fc_diskcache_entry *entry);
/* The one that was used last comes first. */
void fc_diskcache_list(fc_diskcache *c, fc_diskcache_visit visit, void *user);

/* Removes entries last used at least `older_than_seconds` ago (0: all), and returns how many. Like
 * eviction it touches files alone that begin as an entry does, or are empty: a name of 64 digits
 * makes no entry. */
uint64_t fc_diskcache_clear(fc_diskcache *c, int64_t older_than_seconds);

#endif
