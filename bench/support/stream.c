/* stream.c - what the CPU's memory gives: a copy, a copy that stores past the cache, and a read, by
 * any number of threads. Each thread has a contiguous share of every block and touches it first. */
#include "bench/support/bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

typedef struct share {
    char *to, *from;
    size_t bytes, stride; /* of one block, and from block to block */
    bench_stream_kind kind;
    int sets, reps;
    pthread_barrier_t *gate;
    uint64_t seen;
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
    size_t at = (size_t)(rep % s->sets) * s->stride;
    if (s->kind == BENCH_COPY) copy(s->to + at, s->from + at, s->bytes);
    if (s->kind == BENCH_COPY_STREAM) copy_past(s->to + at, s->from + at, s->bytes);
    if (s->kind == BENCH_READ) s->seen ^= read_all(s->from + at, s->bytes);
}

static void *work(void *arg) {
    share *s = arg;
    for (int k = 0; k < s->sets; k++)
        for (size_t i = 0; i < s->bytes; i += 64) {
            s->from[(size_t)k * s->stride + i] = (char)i;
            if (s->kind != BENCH_READ) s->to[(size_t)k * s->stride + i] = 0;
        }
    for (int r = 0; r < s->sets; r++) pass(s, r);
    pthread_barrier_wait(s->gate);
    for (int r = 0; r < s->reps; r++) pass(s, r);
    pthread_barrier_wait(s->gate);
    return NULL;
}

static char *block(size_t bytes) {
    void *p = NULL;
    if (posix_memalign(&p, 4096, bytes)) bench_fail("out of memory");
    return p;
}

static double timed(bench_stream_kind kind, size_t bytes, int threads, int sets, int reps) {
    size_t one = kind == BENCH_READ ? bytes : bytes / 2;
    size_t part = one / (size_t)threads / 256 * 256; /* whole turns of the loops above */
    if (!part || !wide_enough()) return 0;
    size_t stride = (part * (size_t)threads + 4095) / 4096 * 4096;
    char *from = block(stride * (size_t)sets),
         *to = block(kind == BENCH_READ ? 64 : stride * (size_t)sets);
    share *s = bench_calloc((size_t)threads, sizeof *s);
    pthread_t *id = bench_calloc((size_t)threads, sizeof *id);
    pthread_barrier_t gate;
    pthread_barrier_init(&gate, NULL, (unsigned)threads + 1);
    for (int t = 0; t < threads; t++) {
        size_t at = (size_t)t * part;
        s[t] = (share){.to = to + at,
                       .from = from + at,
                       .bytes = part,
                       .stride = stride,
                       .kind = kind,
                       .sets = sets,
                       .reps = reps,
                       .gate = &gate};
        if (pthread_create(&id[t], NULL, work, &s[t])) bench_fail("no thread");
    }
    pthread_barrier_wait(&gate);
    double start = bench_now();
    pthread_barrier_wait(&gate);
    double seconds = (bench_now() - start) / reps;
    for (int t = 0; t < threads; t++) pthread_join(id[t], NULL);
    pthread_barrier_destroy(&gate);
    free(from);
    free(to);
    free(s);
    free(id);
    return seconds * (double)one / (double)(part * (size_t)threads);
}

/* As many passes as take 20 ms: threads do not start and end at the same moment. */
double bench_stream(bench_stream_kind kind, size_t bytes, int threads, int sets) {
    int reps = 4;
    double each = timed(kind, bytes, threads, sets, reps);
    while (each > 0 && each * reps < 0.02 && reps < 1 << 24) {
        double more = 0.025 / each;
        reps = more < 4.0 * reps ? 4 * reps : more < 1e7 ? (int)more : 10000000;
        each = timed(kind, bytes, threads, sets, reps);
    }
    return each;
}
