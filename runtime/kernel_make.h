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
    fc_variant *v; /* new; NULL: found, or the same as an earlier item */
    bool grouped, loaded;
    uint8_t binary[32]; /* key of the binary it is in, when it is on disk */
    uint32_t index;     /* in that binary */
    size_t job;
} fc_item;

typedef struct fc_making {
    fc_context *c;
    fc_device *d;
    uint32_t mode;
    fc_item *items;
    size_t n, loaded; /* items; those with code */
    uint64_t compiled;
} fc_making;

/* Loads the code of the `missing` items that have a new variant. What was loaded before a failure
 * is marked. */
fusec_status fc_kernels_make(fc_making *x, size_t missing, fc_error *e);

#endif
