/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_devices.c - what it costs to cut a call into parts for several devices, and how near to the
 * plain copies one call on arrays of the host comes.
 *
 *     bench_devices DEVICE[,DEVICE...] [ELEMENTS]      cuda:0,cuda:1   cuda:0,cuda:0   cpu,cpu
 *
 * A device that is named twice is two logical devices on one: contexts, streams and pools of their
 * own. One line of JSON: microseconds of a small call (4,096 elements a device) on the first
 * device, on all, and how many each device adds; then, for arrays of ELEMENTS f32 (2^26), seconds
 * of a map, of a sum and of x / sum(x) on one device and on all, and on a GPU those of the copies
 * alone, from page-locked memory: to the device, there and back, and both at once on two streams.
 * Whether the bits are equal is a field, and the exit status. */
#include "bench/support/bench.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16, SHARE = 4096, CALLS = 20, ROUNDS = 41, LARGE_ROUNDS = 7 };

typedef struct mesh {
    int n;
    fusec_context *ctx[MOST];
    fusec_program *map[MOST], *sum[MOST], *share[MOST];
} mesh;

typedef struct arrays {
    int64_t n;
    float *x, *y, *z;
    fusec_tensor in, out, other;
} arrays;

static fusec_program *compiled(fusec_context *ctx, const char *text) {
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    bench_check(ctx, fusec_parse(ctx, NULL, text, &m), "parse");
    bench_check(ctx, fusec_module_compile(m, NULL, 0, &p), "compile");
    fusec_module_free(m);
    return p;
}

static void open_device(mesh *m, const char *name) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    const int i = m->n++;
    o.device = name;
    o.tiers = FUSEC_TIERS_FULL;
    o.cache_dir = "";
    bench_check(NULL, fusec_context_new(&o, &m->ctx[i]), name);
    m->map[i] = compiled(m->ctx[i], "def f(x: f32[n]) { return sin(x*2 + 1) }");
    m->sum[i] = compiled(m->ctx[i], "def f(x: f32[n]) { return sum(x) }");
    m->share[i] = compiled(m->ctx[i], "def f(x: f32[n]) { return x / sum(x) }");
}

static void open_all(mesh *m, char *list) {
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
        if (m->n == MOST) bench_fail("at most %d devices", MOST);
        open_device(m, name);
    }
}

static void make_arrays(const mesh *m, arrays *a, int64_t n) {
    void *p[3] = {NULL};
    a->n = n;
    for (int i = 0; i < 3; i++)
        bench_check(m->ctx[0], fusec_host_alloc(m->ctx[0], (size_t)n * sizeof *a->x, &p[i]),
                    "memory of the host");
    a->x = p[0], a->y = p[1], a->z = p[2];
    for (int64_t i = 0; i < n; i++) a->x[i] = (float)(i % 1000) * 0.001f;
    a->in = (fusec_tensor){.data = a->x, .shape = &a->n, .rank = 1, .dtype = FUSEC_F32};
    a->out = a->other = a->in;
    a->out.data = a->y, a->other.data = a->z;
}

static void free_arrays(const mesh *m, arrays *a) {
    void *p[3] = {a->x, a->y, a->z};
    for (int i = 0; i < 3; i++) fusec_host_free(m->ctx[0], p[i]);
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct call {
    const mesh *m;
    fusec_program *const *p;
    int parts; /* 0: without a cut */
    const arrays *a;
    bool scalar;
} call;

static void run(const call *c, const fusec_tensor *whole) {
    fusec_tensor out = *whole;
    if (c->scalar) out.rank = 0, out.shape = NULL;
    const fusec_status s = c->parts ? fusec_run_devices(c->parts, c->p, "n", 1, &c->a->in, 1, &out)
                                    : fusec_run(c->p[0], 1, &c->a->in, 1, &out);
    bench_check(c->m->ctx[0], s, "run");
}

static double seconds(const call *c, int rounds, int calls) {
    double t[ROUNDS];
    for (int r = -2; r < rounds; r++) {
        const double start = bench_now();
        for (int i = 0; i < calls; i++) run(c, &c->a->out);
        if (r >= 0) t[r] = (bench_now() - start) / calls;
    }
    return bench_stat_of(t, rounds).median;
}

/* Whether all devices give what one does. */
static bool equal(call *c) {
    const int parts = c->parts;
    memset(c->a->y, 1, (size_t)c->a->n * sizeof *c->a->y);
    memset(c->a->z, 2, (size_t)c->a->n * sizeof *c->a->z);
    c->parts = 0;
    run(c, &c->a->other);
    c->parts = parts;
    run(c, &c->a->out);
    return !memcmp(c->a->y, c->a->z, (c->scalar ? 1 : (size_t)c->a->n) * sizeof *c->a->y);
}

static bool small(const mesh *m) {
    arrays a;
    make_arrays(m, &a, (int64_t)m->n * SHARE);
    call one = {m, m->map, 0, &a, false}, all = {m, m->map, m->n, &a, false};
    const bool same = equal(&all);
    const double t1 = 1e6 * seconds(&one, ROUNDS, CALLS), tn = 1e6 * seconds(&all, ROUNDS, CALLS);
    all.parts = 1;
    const double cut = 1e6 * seconds(&all, ROUNDS, CALLS);
    printf("\"small_call_us\":%.2f,\"as_one_part_us\":%.2f,\"small_on_all_us\":%.2f,"
           "\"a_device_adds_us\":%.2f",
           t1, cut, tn, (tn - t1) / m->n);
    free_arrays(m, &a);
    return same;
}

/* The copies of a call alone: to the device, there and back, and there while as many come back. */
static void copies(const mesh *m, const arrays *a) {
    double t[3][LARGE_ROUNDS];
    void *there = NULL, *other = NULL;
    const size_t bytes = (size_t)a->n * sizeof *a->x;
    fusec_context *up = m->ctx[0], *down = m->ctx[m->n - 1];
    bench_check(up, fusec_device_alloc(up, bytes, &there), "memory");
    bench_check(down, fusec_device_alloc(down, bytes, &other), "memory");
    for (int r = -1; r < LARGE_ROUNDS; r++) {
        const double start = bench_now();
        bench_check(up, fusec_upload(up, there, a->x, bytes), "upload");
        const double one = bench_now();
        bench_check(up, fusec_download(up, a->y, there, bytes), "download");
        const double both = bench_now();
        bench_check(up, fusec_upload_on(up, NULL, there, a->x, bytes), "upload");
        bench_check(down, fusec_download_on(down, NULL, a->y, other, bytes), "download");
        bench_check(up, fusec_synchronize(up), "wait");
        bench_check(down, fusec_synchronize(down), "wait");
        if (r < 0) continue;
        t[0][r] = one - start, t[1][r] = both - start, t[2][r] = bench_now() - both;
    }
    printf(",\"upload_s\":%.5f,\"copies_s\":%.5f", bench_stat_of(t[0], LARGE_ROUNDS).median,
           bench_stat_of(t[1], LARGE_ROUNDS).median);
    if (up != down) printf(",\"copies_at_once_s\":%.5f", bench_stat_of(t[2], LARGE_ROUNDS).median);
    fusec_device_free(up, there);
    fusec_device_free(down, other);
}

static bool large(const mesh *m, int64_t n) {
    const char *device, *notice;
    arrays a;
    make_arrays(m, &a, n);
    const struct {
        const char *name;
        call c;
    } rows[] = {{"map", {m, m->map, m->n, &a, false}},
                {"sum", {m, m->sum, m->n, &a, true}},
                {"share", {m, m->share, m->n, &a, false}}};
    bool same = true;
    printf(",\"elements\":%lld", (long long)n);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        call c = rows[i].c;
        same &= equal(&c);
        const double all = seconds(&c, LARGE_ROUNDS, 1);
        c.parts = 0;
        printf(",\"%s_s\":%.5f,\"%s_on_all_s\":%.5f", rows[i].name, seconds(&c, LARGE_ROUNDS, 1),
               rows[i].name, all);
    }
    bench_check(m->ctx[0], fusec_device(m->ctx[0], &device, &notice), "device");
    if (!strncmp(device, "cuda", 4)) copies(m, &a);
    free_arrays(m, &a);
    return same;
}

int main(int argc, char **argv) {
    mesh m = {0};
    if (argc < 2) bench_fail("DEVICE[,DEVICE...] [ELEMENTS]");
    printf("{\"devices\":\"%s\",", argv[1]);
    open_all(&m, argv[1]);
    bool same = small(&m);
    same &= large(&m, argc > 2 ? atoll(argv[2]) : INT64_C(1) << 26);
    printf(",\"equal\":%s}\n", same ? "true" : "false");
    for (int i = 0; i < m.n; i++) {
        fusec_program_free(m.map[i]);
        fusec_program_free(m.sum[i]);
        fusec_program_free(m.share[i]);
        fusec_context_free(m.ctx[i]);
    }
    return same ? 0 : 1;
}
