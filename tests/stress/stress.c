/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stress.c - one context under many threads, and one under many graphs.
 *
 *     fusec_stress threads DEVICE SECONDS [SEED]   16 threads build, compile, run, read and evict;
 *                                                  every result is compared; also with an allocator
 *                                                  that now and then has no memory
 *     fusec_stress soak DEVICE GRAPHS [SEED]       distinct graphs; the most memory, descriptors
 *                                                  and mappings in the last quarter are those in
 *                                                  the second. DEVICE cuda-dry: the driver runs
 *                                                  nothing (tests/fake), so no result is
 *                                                  looked at
 *
 * It prints its figures and exits with 1 when something is wrong, a soak that is ended early
 * with 3. Built with FUSEC_SANITIZE=thread it is the test of data races. */
#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <fusec/fusec.h>

enum { THREADS = 16, N = 48, M = 40, SIZE = N * M, STEPS = 12 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t next_random(uint64_t *s) {
    *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
    return *s;
}

/* ---- a graph for every number ---------------------------------------------------------------- */

/* Exact in f32 whatever is fused: sums, differences, maxima and doublings of small integers. */
static fusec_value step(fusec_value v, fusec_value x, unsigned what) {
    switch (what % 6) {
    case 0: return fusec_add(v, x);
    case 1: return fusec_sub(v, x);
    case 2: return fusec_maximum(v, fusec_num((double)(what % 97)));
    case 3: return fusec_minimum(fusec_neg(v), x);
    case 4: return fusec_abs(fusec_sub(v, fusec_num((double)(what % 89))));
    default: return fusec_where(fusec_gt(v, fusec_num(0)), v, x);
    }
}

static float step_plain(float v, float x, unsigned what) {
    switch (what % 6) {
    case 0: return v + x;
    case 1: return v - x;
    case 2: return v > (float)(what % 97) ? v : (float)(what % 97);
    case 3: return -v < x ? -v : x;
    case 4: return fabsf(v - (float)(what % 89));
    default: return v > 0 ? v : x;
    }
}

/* The digits of `number` choose the operations, so numbers are structures; some end in a
 * reduction. */
static fusec_value build(fusec_value x, uint64_t number) {
    fusec_value v = x;
    uint64_t seed = number * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < STEPS; i++) v = step(v, x, (unsigned)(next_random(&seed) >> 20));
    return number % 3 ? v : fusec_max(v, 1, (int[]){1}, 0);
}

static int wrong(const float *x, uint64_t number, const float *got) {
    for (int i = 0; i < N; i++) {
        float most = -INFINITY;
        for (int j = 0; j < M; j++) {
            uint64_t seed = number * 0x9e3779b97f4a7c15u + 1;
            float v = x[i * M + j];
            for (int k = 0; k < STEPS; k++)
                v = step_plain(v, x[i * M + j], (unsigned)(next_random(&seed) >> 20));
            if (v > most) most = v;
            if (number % 3 && got[i * M + j] != v) return 1;
        }
        if (number % 3 == 0 && got[i] != most) return 1;
    }
    return 0;
}

static size_t result_bytes(uint64_t number) {
    return number % 3 ? SIZE * sizeof(float) : N * sizeof(float);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct shared {
    fusec_context *ctx;
    double until;
    atomic_long rounds, failures, shortages, allocations;
    long short_every; /* an allocation of so many fails; 0: none */
} shared;

typedef struct thread_arg {
    shared *s;
    uint64_t seed;
} thread_arg;

static void *may_fail(void *user, void *p, size_t n) {
    shared *s = user;
    if (n == 0) {
        free(p);
        return NULL;
    }
    if (s->short_every && atomic_fetch_add(&s->allocations, 1) % s->short_every == 0) return NULL;
    return realloc(p, n);
}

static fusec_status lazily(fusec_context *ctx, const float *x, uint64_t number, float *out) {
    const int64_t shape[2] = {N, M};
    fusec_graph *g = NULL;
    fusec_status st = fusec_graph_new(ctx, &g);
    if (!st)
        st = fusec_read(build(fusec_array(g, FUSEC_F32, 2, shape, x), number), out,
                        result_bytes(number));
    fusec_graph_free(g);
    return st;
}

static fusec_status as_program(fusec_context *ctx, const float *x, uint64_t number, float *out) {
    const int64_t shape[2] = {N, M};
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    fusec_status st = fusec_graph_new(ctx, &g);
    if (!st) {
        fusec_dim dims[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
        fusec_output(g, "y", build(fusec_input(g, "x", FUSEC_F32, 2, dims), number));
        st = fusec_compile(g, &p);
    }
    fusec_graph_free(g);
    for (int i = 0; i < 2 && !st; i++) {
        fusec_tensor in = {
            .data = (void *)(uintptr_t)x, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
        fusec_tensor to = {
            .data = out, .shape = shape, .rank = number % 3 ? 2 : 1, .dtype = FUSEC_F32};
        st = fusec_run(p, 1, &in, 1, &to);
    }
    fusec_program_free(p);
    return st;
}

static fusec_status memory(fusec_context *ctx, const float *x, float *out) {
    void *p = NULL;
    fusec_counters c = FUSEC_COUNTERS_INIT;
    fusec_status st = fusec_device_alloc(ctx, SIZE * sizeof(float), &p);
    if (!st) st = fusec_upload(ctx, p, x, SIZE * sizeof(float));
    if (!st) st = fusec_download(ctx, out, p, SIZE * sizeof(float));
    fusec_device_free(ctx, p);
    fusec_get_counters(ctx, &c);
    return st ? st : fusec_device(ctx, NULL, NULL);
}

static void *work(void *arg) {
    thread_arg *a = arg;
    shared *s = a->s;
    float *x = malloc(SIZE * sizeof(float)), *out = malloc(SIZE * sizeof(float));
    while (x && out && now() < s->until) {
        /* half of the numbers are met again and again, the others make the caches overflow */
        uint64_t r = next_random(&a->seed), number = r % 2 ? r / 7 % 40 : r / 7 % 1000000;
        for (int i = 0; i < SIZE; i++) x[i] = (float)((uint64_t)i * (r % 13 + 1) % 41) - 20;
        unsigned what = (unsigned)(r >> 40) % 8;
        fusec_status st = what == 0  ? memory(s->ctx, x, out)
                          : what < 4 ? as_program(s->ctx, x, number, out)
                                     : lazily(s->ctx, x, number, out);
        atomic_fetch_add(&s->rounds, 1);
        if (st == FUSEC_OUT_OF_MEMORY && s->short_every) {
            atomic_fetch_add(&s->shortages, 1);
        } else if (st || (what && wrong(x, number, out))) {
            if (atomic_fetch_add(&s->failures, 1) < 5)
                fprintf(stderr, "graph %llu: %s\n", (unsigned long long)number,
                        st ? fusec_message(s->ctx) : "a wrong result");
        }
    }
    free(x);
    free(out);
    return NULL;
}

static int threads_for(const char *device, double seconds, uint64_t seed, long short_every) {
    shared s = {.until = now() + seconds, .short_every = short_every};
    fusec_options o = FUSEC_OPTIONS_INIT;
    pthread_t t[THREADS];
    thread_arg a[THREADS];
    o.device = device;
    o.cache_dir = "";
    o.threads = 3;
    o.alloc = may_fail;
    o.alloc_user = &s;
    while (fusec_context_new(&o, &s.ctx) == FUSEC_OUT_OF_MEMORY && short_every) {
    }
    if (!s.ctx) return fprintf(stderr, "%s\n", fusec_message(NULL)), 1;
    for (int i = 0; i < THREADS; i++) {
        a[i] = (thread_arg){&s, seed + (uint64_t)i * 7919 + 1};
        if (pthread_create(&t[i], NULL, work, &a[i]) != 0) return 1;
    }
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    fusec_counters c = FUSEC_COUNTERS_INIT;
    fusec_get_counters(s.ctx, &c);
    printf(
        "%d threads on %s: %ld rounds in %.0f s, %llu kernels compiled, %llu found, %llu planned, "
        "%ld times short of memory, %ld failures\n",
        THREADS, device, s.rounds, seconds, (unsigned long long)c.compiles,
        (unsigned long long)c.memory_hits, (unsigned long long)c.plans, s.shortages, s.failures);
    fusec_context_free(s.ctx);
    return s.failures != 0 || s.rounds == 0;
}

/* ---- soak ------------------------------------------------------------------------------------ */

typedef struct usage {
    long in_use_kb, resident_kb, descriptors, mappings;
} usage;

static atomic_long in_use; /* bytes that the library has allocated */

static void *counted(void *user, void *p, size_t bytes) {
    const long before = (long)malloc_usable_size(p);
    (void)user;
    if (!bytes) {
        free(p);
        in_use -= before;
        return NULL;
    }
    void *to = realloc(p, bytes);
    if (to) in_use += (long)malloc_usable_size(to) - before;
    return to;
}

static usage used(void) {
    usage u = {.in_use_kb = in_use / 1024};
    long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &size, &resident) == 2)
        u.resident_kb = resident * (sysconf(_SC_PAGESIZE) / 1024);
    if (f) fclose(f);
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d)) u.descriptors++;
    if (d) closedir(d);
    f = fopen("/proc/self/maps", "r");
    for (int c; f && (c = fgetc(f)) != EOF;) u.mappings += c == '\n';
    if (f) fclose(f);
    return u;
}

static long most(long a, long b) {
    return a > b ? a : b;
}

/* Caches that drop the older half when they are full go up and down: what counts is the top. */
static void raise_to_used(usage *top) {
    const usage u = used();
    top->in_use_kb = most(top->in_use_kb, u.in_use_kb);
    top->resident_kb = most(top->resident_kb, u.resident_kb);
    top->descriptors = most(top->descriptors, u.descriptors);
    top->mappings = most(top->mappings, u.mappings);
}

enum { LOOK_EVERY = 97 };

static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static int soak(const char *device, long graphs, uint64_t seed) {
    static float x[SIZE], out[SIZE];
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx = NULL;
    usage warm = {0}, end = {0};
    const bool dry = !strcmp(device, "cuda-dry");
    o.device = dry ? "cuda" : device;
    o.cache_dir = "";
    o.alloc = counted;
    if (fusec_context_new(&o, &ctx)) return fprintf(stderr, "%s\n", fusec_message(NULL)), 1;
    for (int i = 0; i < SIZE; i++) x[i] = (float)(i * 7 % 41) - 20;
    double start = now();
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    for (long i = 0; i < graphs; i++) {
        if (stopped) {
            printf("%ld of %ld graphs on %s in %.0f s, all right; ended by a signal, so nothing is "
                   "known of what they leave behind\n",
                   i, graphs, device, now() - start);
            fusec_context_free(ctx);
            return 3;
        }
        /* the caches hold some hundred plans and a thousand kernels: they are full by then */
        if (i % LOOK_EVERY == 0 && i >= graphs / 4 && i < graphs / 2) raise_to_used(&warm);
        if (i % LOOK_EVERY == 0 && i >= graphs / 4 * 3) raise_to_used(&end);
        uint64_t number = seed + (uint64_t)i;
        fusec_status st = i % 2 ? lazily(ctx, x, number, out) : as_program(ctx, x, number, out);
        if (!st && (dry || !wrong(x, number, out))) continue;
        fprintf(stderr, "graph %llu: %s\n", (unsigned long long)number,
                st ? fusec_message(ctx) : "a wrong result");
        fusec_context_free(ctx);
        return 1;
    }
    fusec_counters c = FUSEC_COUNTERS_INIT;
    fusec_get_counters(ctx, &c);
    printf("%ld graphs on %s in %.0f s (%llu kernels): at most, in the second and in the last "
           "quarter: in use %ld, %ld kB; resident %ld, %ld kB; descriptors %ld, %ld; mappings %ld, "
           "%ld\n",
           graphs, device, now() - start, (unsigned long long)c.compiles, warm.in_use_kb,
           end.in_use_kb, warm.resident_kb, end.resident_kb, warm.descriptors, end.descriptors,
           warm.mappings, end.mappings);
    fusec_context_free(ctx);
    /* A top may lie between two looks, and a little is the allocator's. Pages of what is in use may
     * be touched late: more of them are resident then. */
    const long little = 2048 + warm.resident_kb / 25;
    return end.in_use_kb > warm.in_use_kb + little ||
           end.resident_kb > most(warm.resident_kb, end.in_use_kb) + little ||
           end.descriptors != warm.descriptors ||
           end.mappings > warm.mappings + 64 + warm.mappings / 8;
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    if (argc > 3 && !strcmp(argv[1], "threads")) {
        double seconds = strtod(argv[3], NULL) / 2;
        return threads_for(argv[2], seconds, seed, 0) ||
               threads_for(argv[2], seconds, seed + 99, 500);
    }
    if (argc > 3 && !strcmp(argv[1], "soak")) return soak(argv[2], strtol(argv[3], NULL, 10), seed);
    fprintf(stderr,
            "usage: fusec_stress threads DEVICE SECONDS [SEED] | soak DEVICE GRAPHS [SEED]\n");
    return 2;
}
