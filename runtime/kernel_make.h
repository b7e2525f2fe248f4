/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel_make.h - code for kernels that are not loaded: from the disk cache or the compiler.
 * Between kernel_cache.c, which knows what there is, and kernel_make.c. */
#ifndef FUSEC_RUNTIME_KERNEL_MAKE_H
#define FUSEC_RUNTIME_KERNEL_MAKE_H

#include "runtime/kernel_cache.h"

/* One kernel on its way: where it comes from. */
typedef struct fc_item {
    const fc_wanted *w;
    fc_str text;
    uint8_t key[32];
    fc_variant *v;           /* new; NULL: found, or the same as an earlier item */
    fc_variant *interpreted; /* whose place it takes with quick code, and whose full code it waits
                                for; NULL: none */
    bool grouped, loaded;
    uint8_t binary[32]; /* key of the binary it is in, when it is on disk */
    uint32_t index;     /* in that binary */
    size_t job;
    fc_effort effort; /* that its code was compiled with */
} fc_item;

enum { FC_MAKER = 128 }; /* what fc_device_ops.maker says, cut */

/* Its text, the entry point called `name`. */
fusec_status fc_item_text(const fc_device *d, const fc_wanted *w, const fc_class *cls,
                          const char *name, fc_str *out, fc_error *e);
/* What its entry point is called where it is alone. */
void fc_item_name(const fc_wanted *w, char name[FC_KERNEL_NAME]);

typedef struct fc_making {
    fc_context *c;
    fc_device *d;
    uint32_t mode;
    fc_item *items;
    size_t n, loaded; /* items; those with code */
    uint64_t compiled;
    fc_meanwhile meanwhile;
    char maker[FC_MAKER];
} fc_making;

/* The entry point of a kernel: its name, and in a text of several its number there. */
enum { FC_ENTRY_NAME = FC_KERNEL_NAME + 12 };

/* A kernel of a compiled text. */
typedef struct fc_part {
    uint8_t key[32];
    char name[FC_ENTRY_NAME]; /* of its entry point */
    uint32_t index;           /* in that name, when it is not alone */
    char label[FC_CACHE_LABEL];
    fc_variant *v; /* that gets its code */
} fc_part;

/* The new kernels of job `job`, *n of them; of the context's allocator. NULL: no memory. */
fc_part *fc_parts_of(const fc_making *x, size_t job, size_t *n);
/* Puts the binary of these kernels on disk. From any thread. */
void fc_parts_store(fc_context *c, const fc_device *d, const fc_part *parts, size_t n,
                    const fc_bytes *binary);

/* Loads the code of the `missing` items that have a new variant. What was loaded before a failure
 * is marked. */
fusec_status fc_kernels_make(fc_making *x, size_t missing, fc_error *e);

/* Code by its key: kept on disk with the compiler that made it, and found in the packs, whoever
 * made it, or on disk, made by the compiler that there is (any, where there is none). */
bool fc_code_keep(fc_diskcache *disk, const fc_device *d, const uint8_t key[FC_CACHE_KEY],
                  const char *label, const fc_bytes *binary);
bool fc_code_find(fc_context *c, const fc_device *d, fc_diskcache *disk,
                  const uint8_t key[FC_CACHE_KEY], fc_bytes *out);

#endif
