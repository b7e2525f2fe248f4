/* kernel_cache.h - loaded kernels by what they are made of: text, target, versions, options. In
 * memory here, on disk behind it. Each is compiled once; failures are not kept. */
#ifndef FUSEC_RUNTIME_KERNEL_CACHE_H
#define FUSEC_RUNTIME_KERNEL_CACHE_H

#include "runtime/context.h"

struct fc_variant {
    fc_device *device;
    void *code; /* the device's handle */
    uint8_t key[32];
    uint32_t refs; /* programs that hold it */
    uint64_t used; /* for eviction of what nobody holds */
    bool from_disk;
};

/* The loaded code for this kernel and class; the caller gives it back with fc_kcache_release.
 * *compiles is counted up if it had to be compiled; `label` is what the disk cache then shows for
 * it.
 */
fusec_status fc_kcache_get(fc_context *c, fc_device *d, uint32_t mode, const fc_kernel *k,
                           const fc_class *cls, const char *label, fc_variant **out,
                           uint64_t *compiles, fc_error *e);
void fc_kcache_release(fc_context *c, fc_variant *v);
void fc_kcache_free(fc_context *c); /* with the context */

#endif
