/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_host.c - see device_host.h. */
#include "runtime/device_host.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

fusec_status fc_host_open(fc_host_device *h, const fc_alloc *a, int threads, fc_error *e) {
    fc_cpuinfo_get(&h->cpu);
    h->base.alloc = a;
    h->base.host_memory = true;
    h->base.machine.vector_bytes = h->cpu.vector_bytes;
    h->base.machine.cache = h->cpu.cache;
    h->base.machine.near_cache = h->cpu.l2;
    h->base.machine.far_cache = h->cpu.far_cache;
    h->base.machine.host_features = h->cpu.features;
    h->base.machine.threads = threads > 0 ? threads : h->cpu.cores;
    h->pool = fc_pool_create(a, h->base.machine.threads, 0);
    if (!h->pool) return fc_oom(e);
    fc_hostmem_init(&h->memory, a, (size_t)1 << 30);
    fc_str s;
    fc_str_init(&s, a);
    fc_str_printf(&s, "%s, %d thread%s, ", h->cpu.name, h->base.machine.threads,
                  h->base.machine.threads == 1 ? "" : "s");
    fc_cpuinfo_features(&h->cpu, &s);
    size_t n = s.len < sizeof h->base.text - 1 ? s.len : sizeof h->base.text - 1;
    memcpy(h->base.text, s.data, n);
    h->base.text[n] = 0;
    bool whole = !s.oom;
    fc_str_free(&s);
    if (whole) return FUSEC_OK;
    fc_pool_destroy(h->pool);
    fc_hostmem_close(&h->memory);
    return fc_oom(e);
}

void fc_host_close(fc_host_device *h) {
    fc_pool_destroy(h->pool);
    fc_hostmem_close(&h->memory);
    fc_free(h->base.alloc, h);
}

fusec_status fc_host_alloc(fc_device *d, fc_stream s, size_t bytes, void **out, fc_error *e) {
    *out = NULL;
    if (!bytes) return FUSEC_OK;
    if (d->usermem) return fc_usermem_get(d->usermem, bytes, FC_HOSTMEM_ALIGN, s, out, e);
    *out = fc_hostmem_get(&((fc_host_device *)d)->memory, bytes);
    if (*out) return FUSEC_OK;
    return fc_device_no_memory(d, bytes, e);
}

void fc_host_free(fc_device *d, fc_stream s, void *p) {
    if (d->usermem) {
        fc_usermem_put(d->usermem, p, s);
        return;
    }
    fc_hostmem_put(&((fc_host_device *)d)->memory, p);
}

bool fc_host_memory_stats(fc_device *d, fc_memory_stats *out) {
    fc_hostmem_stats(&((fc_host_device *)d)->memory, out);
    return true;
}

fusec_status fc_host_trim(fc_device *d, uint64_t keep, fc_error *e) {
    (void)e;
    fc_hostmem_trim(&((fc_host_device *)d)->memory, keep);
    return FUSEC_OK;
}

fusec_status fc_host_copy(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                          fc_error *e) {
    (void)d, (void)s, (void)e;
    if (bytes && dst != src) memmove(dst, src, bytes);
    return FUSEC_OK;
}

fusec_status fc_host_zero(fc_device *d, fc_stream s, void *dst, size_t bytes, fc_error *e) {
    (void)d, (void)s, (void)e;
    if (bytes) memset(dst, 0, bytes);
    return FUSEC_OK;
}

fusec_status fc_host_sync(fc_device *d, fc_stream s, fc_error *e) {
    (void)d, (void)s, (void)e;
    return FUSEC_OK;
}

bool fc_host_memory(fc_device *d, uint64_t *free_bytes, uint64_t *total) {
    (void)d;
    long page = sysconf(_SC_PAGESIZE), all = sysconf(_SC_PHYS_PAGES),
         av = sysconf(_SC_AVPHYS_PAGES);
    if (page <= 0 || all <= 0 || av < 0) return false;
    *free_bytes = (uint64_t)page * (uint64_t)av;
    *total = (uint64_t)page * (uint64_t)all;
    return true;
}

static fusec_status launch_one(fc_device *d, const fc_prepared *l, const int64_t *words,
                               fc_error *e) {
    return d->ops->launch(d, NULL, l->code, l->cls, l->launch, words, l->words, e);
}

/* ---- strips: kernels inside a task run in its thread ------------------------------------------
 */

typedef struct strips_job {
    fc_device *d;
    const fc_prepared *l;
    atomic_uchar *busy; /* [threads] whose memory is in use */
} strips_job;

/* There is memory for as many threads as there are. */
static uint32_t take_memory(const strips_job *j) {
    for (uint32_t i = 0;; i = (i + 1) % j->l->strips->threads) {
        unsigned char no = 0;
        if (atomic_compare_exchange_weak_explicit(&j->busy[i], &no, 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return i;
    }
}

static fusec_status run_strip(const strips_job *j, int64_t strip, uint32_t memory, fc_error *e) {
    const fc_prepared_strips *c = j->l->strips;
    int64_t words[FC_ALIKE_WORDS];
    for (uint32_t k = 0; k < c->n; k++) {
        const fc_prepared *l = &j->l[(size_t)strip * c->n + k];
        memcpy(words, l->params, l->words * sizeof *words);
        for (uint32_t i = 0; i < c->nown[k]; i++)
            words[c->own[k][i].word] += (int64_t)memory * c->own[k][i].by;
        FC_TRY(launch_one(j->d, l, words, e));
    }
    return FUSEC_OK;
}

static fusec_status run_strips(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const strips_job *j = arg;
    const uint32_t memory = take_memory(j);
    fusec_status s = FUSEC_OK;
    for (int64_t i = begin; !s && i < end; i++) s = run_strip(j, i, memory, e);
    atomic_store_explicit(&j->busy[memory], 0, memory_order_release);
    return s;
}

static fusec_status launch_strips(fc_device *d, const fc_prepared *l, fc_error *e) {
    const fc_prepared_strips *c = l->strips;
    strips_job j = {.d = d, .l = l};
    j.busy = fc_calloc(d->alloc, c->threads, sizeof *j.busy);
    if (!j.busy) return fc_oom(e);
    const fusec_status s = fc_host_run((fc_host_device *)d, c->count, 1, false, run_strips, &j, e);
    fc_free(d->alloc, j.busy);
    return s;
}

fusec_status fc_host_launch_all(fc_device *d, fc_stream s, const fc_prepared *l, uint32_t n,
                                fc_error *e) {
    (void)s;
    for (uint32_t i = 0; i < n; i++) {
        const fc_prepared_strips *c = l[i].strips;
        FC_TRY(c ? launch_strips(d, &l[i], e) : launch_one(d, &l[i], l[i].params, e));
        if (c) i += c->n * c->count - 1;
    }
    return FUSEC_OK;
}

fusec_status fc_host_time(fc_device *d, fc_stream s, void *code, const fc_class *c,
                          const fc_launch *l, const int64_t *params, uint32_t words, int repeats,
                          double *seconds, fc_error *e) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < repeats; i++) FC_TRY(d->ops->launch(d, s, code, c, l, params, words, e));
    clock_gettime(CLOCK_MONOTONIC, &b);
    *seconds = ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)) / repeats;
    return FUSEC_OK;
}

/* ---- tasks ------------------------------------------------------------------------------- */

typedef struct fc_host_job {
    fc_host_fn fn;
    void *arg;
    int64_t units, unit;
    const fc_device *device; /* NULL: it has no poll function */
    pthread_t caller;
    struct timespec asked; /* the caller's alone */
    atomic_int failed;
    fc_error error; /* of the task that failed first */
} fc_host_job;

enum { POLL_MS = 50 };

static fusec_status ask(fc_host_job *j, fc_error *e) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t ms =
        (int64_t)(now.tv_sec - j->asked.tv_sec) * 1000 + (now.tv_nsec - j->asked.tv_nsec) / 1000000;
    if (ms < POLL_MS) return FUSEC_OK;
    j->asked = now;
    return fc_device_poll(j->device, e);
}

static void run_tasks(void *arg, int64_t begin, int64_t end) {
    fc_host_job *j = arg;
    const int64_t last = (end - 1) * j->unit;
    fc_error e;
    e.code = FUSEC_OK; /* not the text, which is long */
    if (j->device && atomic_load_explicit(&j->failed, memory_order_relaxed)) return;
    fusec_status s = j->device && pthread_equal(j->caller, pthread_self()) ? ask(j, &e) : FUSEC_OK;
    if (!s)
        s = j->fn(j->arg, begin * j->unit, j->units - last < j->unit ? j->units : last + j->unit,
                  &e);
    if (s && !atomic_exchange(&j->failed, 1)) {
        j->error = e;
        j->error.code = s;
    }
}

fusec_status fc_host_run(fc_host_device *h, int64_t units, int64_t unit, bool brief, fc_host_fn fn,
                         void *arg, fc_error *e) {
    if (units <= 0) return FUSEC_OK;
    if (unit < 1) unit = 1;
    fc_host_job j; /* the message is written by a task that fails, and read then only */
    j.fn = fn;
    j.arg = arg;
    j.units = units;
    j.unit = unit;
    j.device = h->base.poll ? &h->base : NULL;
    j.caller = pthread_self();
    if (j.device) clock_gettime(CLOCK_MONOTONIC, &j.asked);
    atomic_init(&j.failed, 0);
    fc_pool_run(h->pool, (units - 1) / unit + 1, brief, run_tasks, &j);
    return atomic_load(&j.failed) ? fc_fail(e, j.error.code, "%s", j.error.message) : FUSEC_OK;
}
