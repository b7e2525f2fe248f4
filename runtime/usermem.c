/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* usermem.c - see usermem.h. Sizes are in a list: a context has few arrays alive at a time. */
#include "runtime/usermem.h"

typedef struct block {
    void *p;
    size_t bytes;
} block;

struct fc_usermem {
    const fc_alloc *alloc;
    fc_usermem_fns fns;
    pthread_mutex_t lock;
    FC_VEC(block) blocks;
    uint64_t used, most;
};

fc_usermem *fc_usermem_new(const fc_alloc *a, const fc_usermem_fns *fns) {
    fc_usermem *m = fc_calloc(a, 1, sizeof *m);
    if (!m) return NULL;
    m->alloc = a;
    m->fns = *fns;
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

void fc_usermem_free(fc_usermem *m) {
    if (!m) return;
    for (size_t i = 0; i < m->blocks.len; i++)
        m->fns.free(m->fns.user, m->blocks.at[i].p, m->blocks.at[i].bytes, NULL);
    fc_vec_free(m->alloc, &m->blocks);
    pthread_mutex_destroy(&m->lock);
    fc_free(m->alloc, m);
}

static bool note(fc_usermem *m, void *p, size_t bytes) {
    const block b = {p, bytes};
    pthread_mutex_lock(&m->lock);
    const bool ok = fc_push(m->alloc, &m->blocks, b);
    if (ok) m->used += bytes;
    if (m->used > m->most) m->most = m->used;
    pthread_mutex_unlock(&m->lock);
    return ok;
}

fusec_status fc_usermem_get(fc_usermem *m, size_t bytes, size_t align, void *stream, void **out,
                            fc_error *e) {
    *out = NULL;
    void *p = m->fns.alloc(m->fns.user, bytes, stream);
    if (!p) return fc_fail(e, FUSEC_OUT_OF_MEMORY, "options.device_alloc has no %zu bytes", bytes);
    fusec_status s = FUSEC_OK;
    if ((uintptr_t)p % align)
        s = fc_fail(e, FUSEC_INVALID, "options.device_alloc gave memory not aligned to %zu bytes",
                    align);
    else if (!note(m, p, bytes))
        s = fc_oom(e);
    if (s) m->fns.free(m->fns.user, p, bytes, stream);
    if (!s) *out = p;
    return s;
}

void fc_usermem_put(fc_usermem *m, void *p, void *stream) {
    block b = {NULL, 0};
    pthread_mutex_lock(&m->lock);
    for (size_t i = m->blocks.len; i-- > 0 && !b.p;)
        if (m->blocks.at[i].p == p) {
            b = m->blocks.at[i];
            m->blocks.at[i] = m->blocks.at[--m->blocks.len];
            m->used -= b.bytes;
        }
    pthread_mutex_unlock(&m->lock);
    if (b.p) m->fns.free(m->fns.user, b.p, b.bytes, stream);
}

void fc_usermem_stats(fc_usermem *m, fc_memory_stats *out) {
    pthread_mutex_lock(&m->lock);
    *out = (fc_memory_stats){m->used, m->most, m->used, m->most};
    pthread_mutex_unlock(&m->lock);
}
