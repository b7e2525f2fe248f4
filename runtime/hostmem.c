/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hostmem.c - see hostmem.h. A block has a header right before its aligned address. */
#include "runtime/hostmem.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

typedef struct fc_block {
    void *base;   /* what the allocator gave */
    size_t bytes; /* usable */
    char pad[FC_HOSTMEM_ALIGN - sizeof(void *) - sizeof(size_t)];
} fc_block;
_Static_assert(sizeof(fc_block) == FC_HOSTMEM_ALIGN, "the header keeps the alignment");

enum { HUGE_FROM = 4 << 20, PAGE = 4096 };

/* Large blocks are better off on huge pages: a tenth faster to walk through and several times as
 * fast to touch first. Whoever says no, or has no such pages, is right, too. */
static void advise(char *base, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (bytes < HUGE_FROM) return;
    const size_t skip = (size_t)(-(uintptr_t)base % PAGE);
    (void)madvise(base + skip, (bytes - skip) / PAGE * PAGE, MADV_HUGEPAGE);
#else
    (void)base, (void)bytes;
#endif
}

static inline fc_block *header(void *p) {
    return (fc_block *)p - 1;
}

void fc_hostmem_init(fc_hostmem *m, const fc_alloc *a, size_t limit) {
    memset(m, 0, sizeof *m);
    m->alloc = a;
    m->limit = limit;
    pthread_mutex_init(&m->lock, NULL);
}

void fc_hostmem_close(fc_hostmem *m) {
    for (int i = 0; i < m->nkept; i++) fc_free(m->alloc, header(m->kept[i])->base);
    m->nkept = 0;
    pthread_mutex_destroy(&m->lock);
}

/* Under the lock: so many bytes more are given out, or fewer. */
static void count(fc_hostmem *m, int64_t bytes) {
    fc_memory_stats *s = &m->stats;
    s->used += (uint64_t)bytes;
    s->reserved = s->used + m->kept_bytes;
    if (s->used > s->used_most) s->used_most = s->used;
    if (s->reserved > s->reserved_most) s->reserved_most = s->reserved;
}

/* A kept block that is large enough and wastes at most a quarter. */
static void *reuse(fc_hostmem *m, size_t bytes) {
    void *found = NULL;
    pthread_mutex_lock(&m->lock);
    for (int i = m->nkept; i-- > 0 && !found;) {
        size_t have = header(m->kept[i])->bytes;
        if (have < bytes || have - bytes > bytes / 4 + 4096) continue;
        found = m->kept[i];
        m->kept_bytes -= have;
        memmove(m->kept + i, m->kept + i + 1, (size_t)(m->nkept - i - 1) * sizeof *m->kept);
        m->nkept--;
        count(m, (int64_t)have);
    }
    pthread_mutex_unlock(&m->lock);
    return found;
}

/* The oldest go back to the allocator, until `keep` bytes are kept at most. */
static bool drop_kept(fc_hostmem *m, uint64_t keep) {
    void *drop[FC_HOSTMEM_SLOTS];
    int n = 0;
    pthread_mutex_lock(&m->lock);
    while (n < m->nkept && m->kept_bytes > keep) {
        drop[n] = m->kept[n];
        m->kept_bytes -= header(drop[n++])->bytes;
    }
    m->nkept -= n;
    memmove(m->kept, m->kept + n, (size_t)m->nkept * sizeof *m->kept);
    count(m, 0);
    pthread_mutex_unlock(&m->lock);
    for (int i = 0; i < n; i++) fc_free(m->alloc, header(drop[i])->base);
    return n > 0;
}

void fc_hostmem_trim(fc_hostmem *m, uint64_t keep) {
    (void)drop_kept(m, keep);
}

void fc_hostmem_stats(fc_hostmem *m, fc_memory_stats *out) {
    pthread_mutex_lock(&m->lock);
    *out = m->stats;
    pthread_mutex_unlock(&m->lock);
}

void *fc_hostmem_get(fc_hostmem *m, size_t bytes) {
    void *p = reuse(m, bytes);
    if (p) return p;
    if (bytes > SIZE_MAX - 3 * FC_HOSTMEM_ALIGN) return NULL;
    void *base = fc_malloc(m->alloc, bytes + 2 * FC_HOSTMEM_ALIGN);
    if (!base && drop_kept(m, 0)) base = fc_malloc(m->alloc, bytes + 2 * FC_HOSTMEM_ALIGN);
    if (!base) return NULL;
    advise(base, bytes);
    uintptr_t at =
        ((uintptr_t)base + 2 * FC_HOSTMEM_ALIGN - 1) / FC_HOSTMEM_ALIGN * FC_HOSTMEM_ALIGN;
    header((void *)at)->base = base;
    header((void *)at)->bytes = bytes;
    pthread_mutex_lock(&m->lock);
    count(m, (int64_t)bytes);
    pthread_mutex_unlock(&m->lock);
    return (void *)at;
}

void fc_hostmem_put(fc_hostmem *m, void *p) {
    void *drop[FC_HOSTMEM_SLOTS + 1];
    int ndrop = 0;
    if (!p) return;
    pthread_mutex_lock(&m->lock);
    if (header(p)->bytes > m->limit) {
        drop[ndrop++] = p;
    } else {
        while (m->nkept &&
               (m->nkept == FC_HOSTMEM_SLOTS || m->kept_bytes + header(p)->bytes > m->limit)) {
            drop[ndrop++] = m->kept[0];
            m->kept_bytes -= header(m->kept[0])->bytes;
            memmove(m->kept, m->kept + 1, (size_t)--m->nkept * sizeof *m->kept);
        }
        m->kept[m->nkept++] = p;
        m->kept_bytes += header(p)->bytes;
    }
    count(m, -(int64_t)header(p)->bytes);
    pthread_mutex_unlock(&m->lock);
    for (int i = 0; i < ndrop; i++) fc_free(m->alloc, header(drop[i])->base);
}
