/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel_cache.h - loaded kernels by what they are made of: text, target, versions, options. In
 * memory here, on disk behind it. Each is compiled once; failures are not kept. */
#ifndef FUSEC_RUNTIME_KERNEL_CACHE_H
#define FUSEC_RUNTIME_KERNEL_CACHE_H

#include <stdatomic.h>

#include "runtime/context.h"

typedef struct fc_tier fc_tier; /* runtime/kernel_tiers.h */

struct fc_variant {
    fc_device *device;
    void *code; /* the device's handle */
    uint8_t key[32];
    uint32_t refs; /* programs that hold it */
    uint64_t used; /* for eviction of what nobody holds */
    bool from_disk;
    atomic_bool quick; /* there will be better code */
    bool interpreted;  /* until then; only for little work */
    fc_tier *tier;     /* that will have it; NULL: none, or it is there */
    bool replaced;     /* the cache has better code by this key */
    fc_code_facts facts;
};

/* Text that no kernel of a plan is: number `number`, its entry point called `name`. */
typedef void fc_own_text(uint32_t number, const char *name, fc_str *out);

typedef struct fc_wanted {
    const fc_kernel *kernel; /* NULL: own text, with `number`, its entry point like the label */
    const fc_joined *joined; /* this one and others, as one text; NULL: it is alone */
    fc_own_text *own;
    uint32_t number;
    const fc_class *cls;
    const fc_launch *launch;
    fc_variant **out;           /* NULL when it is called */
    char label[FC_CACHE_LABEL]; /* what the disk cache shows for it */
} fc_wanted;

/* What may run as long as the full code is on its way: nothing, it is waited for; quick code; or
 * the interpreter, too. */
typedef enum fc_meanwhile { FC_MEANWHILE_WAIT, FC_MEANWHILE_QUICK, FC_MEANWHILE_ANY } fc_meanwhile;

/* The loaded code of all kernels of a plan; the caller gives it back with fc_kcache_release, also
 * what was there before a failure. What must be compiled is compiled together.
 * *compiles is counted up by the number of kernels compiled. */
fusec_status fc_kcache_get(fc_context *c, fc_device *d, uint32_t mode, const fc_wanted *w, size_t n,
                           fc_meanwhile meanwhile, uint64_t *compiles, fc_error *e);
void fc_kcache_release(fc_context *c, fc_variant *v);
/* Of quick code that is held: whether asking again gives the full one, or says that there is none.
 */
bool fc_kcache_has_full(fc_context *c, const fc_variant *v);
/* Unloads what no program holds; how many. */
uint32_t fc_kcache_drop_idle(fc_context *c, const fc_device *d);
void fc_kcache_free(fc_context *c); /* with the context */

#endif
