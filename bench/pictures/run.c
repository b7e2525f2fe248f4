/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run.c - the time of a definition, or of a copy: see compare.
 *
 *     run FILE DEF THREADS CALLS OUT IN...      arrays as dtype:AxB or dtype:AxB:LIMIT, integers below it
 *     run copy BYTES THREADS CALLS              memcpy: so many bytes are read and written together
 *
 * prints the least seconds on the clock and of the processor. */
#include <fusec/fusec.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 8, AXES = 4 };

typedef struct array {
    fusec_tensor t;
    int64_t shape[AXES];
    size_t bytes;
} array;

static double now(clockid_t c) {
    struct timespec t;
    clock_gettime(c, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *room(size_t bytes) {
    void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!p) exit(1);
    memset(p, 0, bytes);
    return p;
}

static uint32_t noise(size_t i) {
    uint32_t x = (uint32_t)i * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    return x ^ x >> 13;
}

/* "f32:4096x4096" */
static void make(array *a, const char *text) {
    static const struct {
        const char *name;
        unsigned dtype, bytes;
    } of[] = {{"f32", FUSEC_F32, 4}, {"u8", FUSEC_U8, 1}, {"i32", FUSEC_I32, 4}, {"i64", FUSEC_I64, 8}};
    size_t n = 1, k = 0;
    while (strncmp(of[k].name, text, strlen(of[k].name)) != 0)
        if (++k == sizeof of / sizeof *of) exit(2);
    char *at = (char *)text + strlen(of[k].name);
    while (*at && (*at == 'x' || (*at == ':' && !a->t.rank)) && a->t.rank < AXES) {
        a->shape[a->t.rank] = strtoll(at + 1, &at, 10);
        n *= (size_t)a->shape[a->t.rank++];
    }
    const uint32_t limit = *at == ':' ? (uint32_t)strtoul(at + 1, NULL, 10) : 256;
    a->bytes = n * of[k].bytes;
    a->t.dtype = of[k].dtype;
    a->t.shape = a->shape;
    a->t.data = room(a->bytes);
    for (size_t i = 0; i < n; i++) {
        const uint32_t x = noise(i);
        if (of[k].dtype == FUSEC_F32) ((float *)a->t.data)[i] = (float)(x >> 8) * 0x1p-24f;
        if (of[k].dtype == FUSEC_U8) ((uint8_t *)a->t.data)[i] = (uint8_t)(x % limit);
        if (of[k].dtype == FUSEC_I32) ((int32_t *)a->t.data)[i] = (int32_t)(x % limit);
    }
}

static char *slurp(const char *path) {
    enum { TEXT = 1 << 16 };
    char *s = room(TEXT);
    FILE *f = fopen(path, "rb");
    if (!f || !fread(s, 1, TEXT - 1, f)) exit(3);
    fclose(f);
    return s;
}

typedef struct best {
    double clock, processor;
} best;

static void less(best *b, double clock, double processor) {
    if (clock < b->clock) b->clock = clock;
    if (processor < b->processor) b->processor = processor;
}

static void copy(size_t bytes, int calls, best *b) {
    char *x = room(bytes / 2), *y = room(bytes / 2);
    for (int i = 0; i < calls; i++) {
        const double c = now(CLOCK_MONOTONIC), p = now(CLOCK_PROCESS_CPUTIME_ID);
        memcpy(y, x, bytes / 2);
        less(b, now(CLOCK_MONOTONIC) - c, now(CLOCK_PROCESS_CPUTIME_ID) - p);
    }
    if (y[bytes / 4]) exit(4);
}

int main(int argc, char **argv) {
    best b = {1e30, 1e30};
    if (argc < 5) return 2;
    const int threads = atoi(argv[3]), calls = atoi(argv[4]);
    if (!strcmp(argv[1], "copy")) {
        copy((size_t)atoll(argv[2]), calls, &b);
        printf("%.9g %.9g\n", b.clock, b.processor);
        return 0;
    }
    array a[MOST] = {0};
    fusec_tensor in[MOST], out;
    int n = 0;
    for (int i = 5; i < argc && n < MOST; i++) make(&a[n++], argv[i]);
    out = a[0].t;
    for (int i = 1; i < n; i++) in[i - 1] = a[i].t;
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx;
    fusec_module *m;
    fusec_program *p;
    o.device = "cpu";
    o.threads = threads;
    o.cache_dir = "";
    if (fusec_context_new(&o, &ctx)) return 1;
    if (fusec_parse(ctx, argv[1], slurp(argv[1]), &m) || fusec_module_compile(m, argv[2], 0, &p)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }
    for (int i = 0; i < calls + 3; i++) { /* the first ones compile */
        const double c = now(CLOCK_MONOTONIC), q = now(CLOCK_PROCESS_CPUTIME_ID);
        if (fusec_run(p, n - 1, in, 1, &out)) {
            fprintf(stderr, "%s\n", fusec_message(ctx));
            return 1;
        }
        const struct timespec rest = {0, i < 3 ? 200000000 : 0};
        if (i >= 3) less(&b, now(CLOCK_MONOTONIC) - c, now(CLOCK_PROCESS_CPUTIME_ID) - q);
        nanosleep(&rest, NULL);
    }
    printf("%.9g %.9g\n", b.clock, b.processor);
    return 0;
}
