/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stream.c - what the CPU's memory gives: a copy, a copy that stores past the cache, and a read, by
 * any number of threads. Each thread has a contiguous share of every block and touches it first. */
#include "bench/support/bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

struct share;

typedef struct crew { /* of threads that make passes until they are told to stop */
    bench_stream_kind kind;
    int threads, sets, reps; /* passes between two gates; 0: the end */
    struct share *shares;
    pthread_barrier_t gate;
} crew;

typedef struct share {
    crew *crew;
    char *to, *from;
    size_t bytes, stride; /* of one block, and from block to block */
    uint64_t seen;
    double begin, end; /* of the passes: who waits for them may be awake too late to tell */
} share;

#ifdef __x86_64__
static bool wide_enough(void) {
    return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx"))) static void copy(char *to, const char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 128)
        for (size_t k = 0; k < 128; k += 32)
            _mm256_store_si256((__m256i *)(to + i + k),
                               _mm256_load_si256((const __m256i *)(from + i + k)));
}

__attribute__((target("avx"))) static void copy_past(char *to, const char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 128)
        for (size_t k = 0; k < 128; k += 32)
            _mm256_stream_si256((__m256i *)(to + i + k),
                                _mm256_load_si256((const __m256i *)(from + i + k)));
    _mm_sfence();
}

__attribute__((target("avx2"))) static uint64_t read_all(const char *from, size_t bytes) {
    __m256i a[8] = {0};
    for (size_t i = 0; i < bytes; i += 256)
        for (size_t k = 0; k < 8; k++)
            a[k] = _mm256_xor_si256(a[k], _mm256_load_si256((const __m256i *)(from + i + 32 * k)));
    for (size_t k = 1; k < 8; k++) a[0] = _mm256_xor_si256(a[0], a[k]);
    return (uint64_t)_mm256_extract_epi64(a[0], 0) ^ (uint64_t)_mm256_extract_epi64(a[0], 2);
}
#else
/* Elsewhere what the C library and the compiler make of it; there is no copy past the cache. */
static bool wide_enough(void) {
    return true;
}

static void copy(char *to, const char *from, size_t bytes) {
    memcpy(to, from, bytes);
}

static void copy_past(char *to, const char *from, size_t bytes) {
    memcpy(to, from, bytes);
}

static uint64_t read_all(const char *from, size_t bytes) {
    const uint64_t *p = (const uint64_t *)(const void *)from;
    uint64_t a[8] = {0};
    for (size_t i = 0; i < bytes / 8; i += 8)
        for (size_t k = 0; k < 8; k++) a[k] ^= p[i + k];
    for (size_t k = 1; k < 8; k++) a[0] ^= a[k];
    return a[0];
}
#endif

static void pass(share *s, int rep) {
    size_t at = (size_t)(rep % s->crew->sets) * s->stride;
    switch (s->crew->kind) {
    case BENCH_COPY: copy(s->to + at, s->from + at, s->bytes); break;
    case BENCH_COPY_STREAM: copy_past(s->to + at, s->from + at, s->bytes); break;
    case BENCH_READ: s->seen ^= read_all(s->from + at, s->bytes); break;
    }
}

static void *work(void *arg) {
    share *s = arg;
    crew *c = s->crew;
    for (int k = 0; k < c->sets; k++)
        for (size_t i = 0; i < s->bytes; i += 64) {
            s->from[(size_t)k * s->stride + i] = (char)i;
            if (c->kind != BENCH_READ) s->to[(size_t)k * s->stride + i] = 0;
        }
    for (int r = 0; r < c->sets; r++) pass(s, r);
    for (;;) {
        pthread_barrier_wait(&c->gate);
        if (!c->reps) return NULL;
        s->begin = bench_now();
        for (int r = 0; r < c->reps; r++) pass(s, r);
        s->end = bench_now();
        pthread_barrier_wait(&c->gate);
    }
}

/* In large pages, as the library's own memory. */
static char *block(size_t bytes) {
    const size_t page = (size_t)2 << 20;
    void *p = NULL;
    if (posix_memalign(&p, bytes < page ? 4096 : page, bytes)) bench_fail("out of memory");
    if (bytes >= page) (void)madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

/* Seconds of a pass, from the first that begins to the last that ends. */
static double timed(crew *c, int reps) {
    c->reps = reps;
    pthread_barrier_wait(&c->gate);
    pthread_barrier_wait(&c->gate);
    double begin = c->shares[0].begin, end = c->shares[0].end;
    for (int k = 1; k < c->threads; k++) {
        if (c->shares[k].begin < begin) begin = c->shares[k].begin;
        if (c->shares[k].end > end) end = c->shares[k].end;
    }
    return (end - begin) / reps;
}

/* As many passes as take 20 ms: threads do not start and end at the same moment. */
static int passes(crew *c) {
    int reps = 4;
    double each = timed(c, reps);
    while (each * reps < 0.02 && reps < 1 << 24) {
        double more = 0.025 / each;
        reps = more < 4.0 * reps ? 4 * reps : more < 1e7 ? (int)more : 10000000;
        each = timed(c, reps);
    }
    return reps;
}

bench_stat bench_stream(bench_stream_kind kind, size_t bytes, int threads, int sets) {
    enum { RUNS = 5 };
    double t[RUNS] = {0};
    size_t one = kind == BENCH_READ ? bytes : bytes / 2;
    size_t part = one / (size_t)threads / 256 * 256; /* whole turns of the loops above */
    if (!part || !wide_enough()) return bench_stat_of(t, 0);
    size_t stride = (part * (size_t)threads + 4095) / 4096 * 4096;
    char *from = block(stride * (size_t)sets),
         *to = block(kind == BENCH_READ ? 64 : stride * (size_t)sets);
    share *s = bench_calloc((size_t)threads, sizeof *s);
    pthread_t *id = bench_calloc((size_t)threads, sizeof *id);
    crew c = {.kind = kind, .threads = threads, .sets = sets, .shares = s};
    pthread_barrier_init(&c.gate, NULL, (unsigned)threads + 1);
    for (int k = 0; k < threads; k++) {
        size_t at = (size_t)k * part;
        s[k] =
            (share){.crew = &c, .to = to + at, .from = from + at, .bytes = part, .stride = stride};
        if (pthread_create(&id[k], NULL, work, &s[k])) bench_fail("no thread");
    }
    const int reps = passes(&c);
    for (int i = 0; i < RUNS; i++)
        t[i] = timed(&c, reps) * (double)one / (double)(part * (size_t)threads);
    c.reps = 0;
    pthread_barrier_wait(&c.gate);
    for (int k = 0; k < threads; k++) pthread_join(id[k], NULL);
    pthread_barrier_destroy(&c.gate);
    free(from);
    free(to);
    free(s);
    free(id);
    return bench_stat_of(t, RUNS);
}
