/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sort.c - what stands in order, next to plain C: rows of all lengths on the interpreter, the
 * CPU and CUDA behind a fake driver; searching and masks; what plans they
 * make. */
#include "codegen/cuda/cuda_sort.h"
#include "tests/support/capi.h"
#include "tests/support/cuda_host.h"
#include "tests/support/fake_machine.h"
#include "tests/support/faults.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/capi/program.h"
#include "runtime/sort_host.h"
#include "tests/support/oracle_run.h"

#include <fusec/fusec.h>

/* ---- against plain C ------------------------------------------------------------------------- */

/* nan last, -0 before +0. */
static int before(float a, float b) {
    if (isnan(a) || isnan(b)) return !isnan(a) && isnan(b);
    return a < b || (a == b && signbit(a) && !signbit(b));
}

static void fill(float *x, int64_t n) {
    uint32_t s = (uint32_t)n * 77 + 5;
    for (int64_t i = 0; i < n; i++) {
        s = s * 1664525 + 1013904223;
        x[i] = (float)(int32_t)(s >> 28) - 8;
        if (s >> 16 & 1) x[i] += 0.25f * (float)(s >> 20 & 7);
        if ((s >> 8 & 31) == 3) x[i] = s & 128 ? NAN : -0.0f;
        if ((s >> 8 & 31) == 4) x[i] = s & 128 ? INFINITY : -INFINITY;
    }
}

static fusec_program *compile(fusec_context *ctx, const char *text) {
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    FC_EXPECT_OK_TEXT(fusec_parse(ctx, "f.fuse", text, &m), fusec_message(ctx));
    if (m) FC_EXPECT_OK_TEXT(fusec_module_compile(m, "f", 0, &p), fusec_message(ctx));
    fusec_module_free(m);
    return p;
}

/* Each element stands before the next one, equal ones in their order, and every position is there.
 */
static void judge(const float *x, const float *y, const int64_t *at, int64_t n) {
    char *seen = calloc((size_t)n + 1, 1);
    int wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool inside = at[i] >= 0 && at[i] < n && !seen[at[i]];
        wrong += !inside;
        if (!inside) continue;
        seen[at[i]] = 1;
        wrong += memcmp(&y[i], &x[at[i]], sizeof *y) != 0;
        if (i == 0) continue;
        wrong += before(y[i], y[i - 1]);
        wrong += !before(y[i - 1], y[i]) && at[i - 1] > at[i];
    }
    FC_EXPECT_EQ_I64(wrong, 0);
    free(seen);
}

static void rows_on(const char *device, const int64_t *lengths, size_t count) {
    fusec_context *ctx = capi_device(device);
    if (!ctx) return;
    fusec_program *p =
        compile(ctx, "export def f(x: f32[m, n]) -> (y: f32[m, n], at: i64[m, n]) {\n"
                     "return sort(x), argsort(x)\n}\n");
    for (size_t k = 0; k < count && p; k++) {
        const int64_t n = lengths[k], shape[2] = {3, n};
        FC_TRACE("%s, rows of %d", device, (int)n);
        float *x = calloc((size_t)(3 * n) + 1, 4), *y = calloc((size_t)(3 * n) + 1, 4);
        int64_t *at = calloc((size_t)(3 * n) + 1, 8);
        fill(x, 3 * n);
        const fusec_tensor in = {.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
        const fusec_tensor out[2] = {{.data = y, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                                     {.data = at, .shape = shape, .rank = 2, .dtype = FUSEC_I64}};
        FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 2, out), fusec_message(ctx));
        for (int r = 0; r < 3; r++) judge(x + r * n, y + r * n, at + r * n, n);
        free(x);
        free(y);
        free(at);
        FC_UNTRACE();
    }
    fusec_program_free(p);
    fusec_context_free(ctx);
}

FC_TEST(sort, rows) {
    static const int64_t lengths[] = {0, 1, 2, 3, 16, 47, 48, 49, 255, 512, 4097, 70000};
    rows_on("interp", lengths, FC_COUNT(lengths));
    rows_on("cpu", lengths, FC_COUNT(lengths));
}

FC_TEST(sort, rows_behind_a_fake_driver) {
    static const int64_t lengths[] = {1, 2, 3, 5, 8, 33, 100, 300, 2048, 2049, 5000};
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    rows_on("cuda", lengths, FC_COUNT(lengths));
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* ---- parts of the order ---------------------------------------------------------------------- */

/* The largest k of rows and a quantile, next to rows that are sorted whole by plain C. */
typedef struct placed {
    float x;
    int64_t at;
} placed;

static int upward(const void *a, const void *b) {
    const placed *p = a, *q = b;
    return before(p->x, q->x) ? -1 : before(q->x, p->x) ? 1 : p->at < q->at ? -1 : 1;
}
/* nan last again */
static int downward(const void *a, const void *b) {
    const placed *p = a, *q = b;
    if (isnan(p->x) || isnan(q->x)) return upward(a, b);
    return before(q->x, p->x) ? -1 : before(p->x, q->x) ? 1 : p->at < q->at ? -1 : 1;
}

static void judge_part(const float *x, int64_t n, int64_t k, const float *v, const int64_t *at,
                       float median) {
    placed *all = malloc((size_t)n * sizeof *all);
    int wrong = 0;
    for (int64_t i = 0; i < n; i++) all[i] = (placed){x[i], i};
    qsort(all, (size_t)n, sizeof *all, downward);
    for (int64_t i = 0; i < k; i++)
        wrong += at[i] != all[i].at || memcmp(&v[i], &all[i].x, sizeof *v) != 0;
    qsort(all, (size_t)n, sizeof *all, upward);
    const float a = all[(n - 1) / 2].x, b = all[n / 2].x,
                m = isnan(all[n - 1].x) ? NAN
                    : a == b            ? a
                                        : a + (b - a) * 0.5f;
    FC_EXPECT_EQ_I64(wrong, 0);
    FC_EXPECT_TRUE(isnan(m) ? isnan(median) : m == median);
    free(all);
}

typedef struct part_case {
    int64_t n, k;
} part_case;

static void parts_on(const char *device, const part_case *cases, size_t count) {
    enum { ROWS = 3 };
    fusec_context *ctx = capi_device(device);
    for (size_t c = 0; c < count && ctx; c++) {
        const int64_t n = cases[c].n, k = cases[c].k, in_shape[2] = {ROWS, n}, shape[2] = {ROWS, k},
                      median_shape[1] = {ROWS};
        char text[300];
        snprintf(text, sizeof text,
                 "export def f(x: f32[m, n]) -> (v: f32[m, %d], p: i64[m, %d], h: f32[m]) {\n"
                 "v, p = topk(x, %d)\nreturn v, p, median(x, axis=-1)\n}\n",
                 (int)k, (int)k, (int)k);
        FC_TRACE("%s, %d of rows of %d", device, (int)k, (int)n);
        fusec_program *p = compile(ctx, text);
        float *x = calloc((size_t)(ROWS * n), 4), *v = calloc((size_t)(ROWS * k) + 1, 4), h[ROWS];
        int64_t *at = calloc((size_t)(ROWS * k) + 1, 8);
        for (int nans = 0; nans < 2; nans++) {
            fill(x, ROWS * n);
            for (int64_t i = 0; i < ROWS * n && !nans; i++) /* in clusters, far apart */
                x[i] = isnan(x[i]) ? 1e30f : x[i] > 6 ? x[i] * 1e20f : x[i];
            const fusec_tensor in = {.data = x, .shape = in_shape, .rank = 2, .dtype = FUSEC_F32};
            const fusec_tensor out[3] = {
                {.data = v, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                {.data = at, .shape = shape, .rank = 2, .dtype = FUSEC_I64},
                {.data = h, .shape = median_shape, .rank = 1, .dtype = FUSEC_F32}};
            if (p) FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 3, out), fusec_message(ctx));
            for (int r = 0; r < ROWS && p; r++)
                judge_part(x + r * n, n, k, v + r * k, at + r * k, h[r]);
        }
        fusec_program_free(p);
        free(x);
        free(v);
        free(at);
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
}

FC_TEST(sort, parts) {
    static const part_case cases[] = {{1, 1},      {2, 1},     {15, 4},        {16, 16},
                                      {64, 0},     {65, 3},    {200, 199},     {512, 17},
                                      {4097, 300}, {70001, 5}, {131072, 40000}};
    parts_on("interp", cases, FC_COUNT(cases));
    parts_on("cpu", cases, FC_COUNT(cases));
}

FC_TEST(sort, parts_behind_a_fake_driver) {
    /* short rows; rows of one block and of several; a part that is short and one that is not */
    static const part_case cases[] = {{1, 1},     {33, 5},      {2048, 7},
                                      {2049, 40}, {5000, 3000}, {17000, 9}};
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    parts_on("cuda", cases, FC_COUNT(cases));
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* ---- rows in host memory: all widths, with and without positions, by one thread and several ----
 */

static uint64_t key_of(const void *keys, uint32_t bytes, int64_t i) {
    uint64_t k = 0;
    memcpy(&k, (const char *)keys + i * bytes, bytes);
    return k;
}

/* Keys of few digits, or of few values, so that many are equal and whole digits are the same. */
static void make_keys(char *keys, uint32_t bytes, int64_t n, bool few) {
    uint64_t s = (uint64_t)n + bytes;
    for (int64_t i = 0; i < n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        const uint64_t k =
            few ? (s >> 60) << 8 * (bytes - 1) | (s >> 40 & 1) : s >> (64 - 8 * bytes);
        memcpy(keys + i * bytes, &k, bytes);
    }
}

static void judge_keys(const fc_sort_rows *x) {
    int64_t wrong = 0;
    uint64_t sum = 0; /* of differences: it wraps around */
    for (int64_t i = 0; i < x->n; i++) {
        const uint64_t k = key_of(x->sorted, x->bytes, i);
        if (i) wrong += key_of(x->sorted, x->bytes, i - 1) > k;
        if (!x->positions) continue;
        wrong += x->positions[i] < 0 || x->positions[i] >= x->n ||
                 key_of(x->keys, x->bytes, x->positions[i]) != k;
        wrong +=
            i && key_of(x->sorted, x->bytes, i - 1) == k && x->positions[i - 1] >= x->positions[i];
    }
    for (int64_t i = 0; i < x->n; i++)
        sum += key_of(x->keys, x->bytes, i) - key_of(x->sorted, x->bytes, i);
    FC_EXPECT_EQ_I64(wrong, 0);
    FC_EXPECT_TRUE(sum == 0);
}

FC_TEST(sort, keys_in_host_memory) {
    enum { MOST = 300001 };
    char *keys = malloc(MOST * 8), *sorted = malloc(MOST * 8 + 8);
    int64_t *positions = malloc(MOST * sizeof *positions);
    static const int64_t lengths[] = {40, 1000, 20000, MOST};
    for (int threads = 1; threads < 4; threads += 2) {
        fc_device *d;
        fc_context *c = fc_rig("interp", threads, &d);
        for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
            for (size_t l = 0; l < FC_COUNT(lengths); l++)
                for (int way = 0; way < 4; way++) {
                    const int64_t n = lengths[l];
                    fc_error e = {0};
                    fc_sort_rows x = {.keys = keys,
                                      .bytes = bytes,
                                      .rows = 1,
                                      .n = n,
                                      .sorted = sorted + (way & 1 ? bytes : 0),
                                      .positions = way & 1 ? positions : NULL};
                    FC_TRACE("%d threads, %d bytes, %d of %d", threads, (int)bytes, way, (int)n);
                    make_keys(keys, bytes, n, way & 2);
                    FC_EXPECT_OK(fc_sort_host((fc_host_device *)d, &fc_libc_alloc, &x, &e), &e);
                    judge_keys(&x);
                    FC_UNTRACE();
                }
        FC_EXPECT_TRUE(c != NULL);
    }
    free(keys);
    free(sorted);
    free(positions);
}

/* A part of the order is what the whole one has there. */
static void judge_places(const fc_sort_rows *whole, const fc_sort_rows *part) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < part->given; i++) {
        const int64_t k = part->first + i < whole->n ? part->first + i : whole->n - 1;
        wrong += key_of(part->sorted, part->bytes, i) != key_of(whole->sorted, whole->bytes, k);
        wrong += part->positions && part->positions[i] != whole->positions[k];
    }
    FC_EXPECT_EQ_I64(wrong, 0);
}

FC_TEST(sort, parts_in_host_memory) {
    enum { MOST = 300001 };
    char *keys = malloc(MOST * 8), *sorted = malloc(MOST * 8), *some = malloc(MOST * 8);
    int64_t *at = malloc(MOST * sizeof *at), *some_at = malloc(MOST * sizeof *some_at);
    static const int64_t lengths[] = {40, 1000, 20000, MOST};
    for (int threads = 1; threads < 4; threads += 2) {
        fc_device *d;
        fc_context *c = fc_rig("interp", threads, &d);
        fc_host_device *h = (fc_host_device *)d;
        for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
            for (int way = 0; way < 8; way++) {
                const int64_t n = lengths[way >> 1];
                fc_error e = {0};
                fc_sort_rows x = {.keys = keys,
                                  .bytes = bytes,
                                  .rows = 1,
                                  .n = n,
                                  .sorted = sorted,
                                  .positions = at};
                make_keys(keys, bytes, n, way & 1);
                FC_EXPECT_OK(fc_sort_host(h, &fc_libc_alloc, &x, &e), &e);
                fc_sort_rows parts[] = {{.first = 0, .given = 5},
                                        {.first = n / 2, .given = 2},
                                        {.first = n - 1, .given = 2},
                                        {.first = n / 3, .given = n / 2},
                                        {.first = 0, .given = n - 1}};
                for (size_t i = 0; i < FC_COUNT(parts); i++) {
                    FC_TRACE("%d threads, %d bytes, part %d of %d", threads, (int)bytes, (int)i,
                             (int)n);
                    fc_sort_rows p = x;
                    p.first = parts[i].first;
                    p.given = parts[i].given;
                    p.sorted = some;
                    p.positions = i & 1 ? some_at : NULL;
                    FC_EXPECT_OK(fc_sort_host(h, &fc_libc_alloc, &p, &e), &e);
                    judge_places(&x, &p);
                    FC_UNTRACE();
                }
            }
        FC_EXPECT_TRUE(c != NULL);
    }
    free(keys);
    free(sorted);
    free(some);
    free(at);
    free(some_at);
}

/* Memory is short in a part of the order: it says so, nothing is lost, and the next try is right.
 */
enum { SCARCE = 5000, SCARCE_GIVEN = 30 };

typedef struct scarce {
    fc_device *d;
    uint32_t keys[SCARCE], sorted[SCARCE_GIVEN];
    int64_t positions[SCARCE_GIVEN];
} scarce;

static bool ready_scarce(fault_run *r) {
    scarce *s = r->state;
    make_keys((char *)s->keys, 4, SCARCE, false);
    return fc_rig("interp", 1, &s->d) != NULL;
}

static fusec_status act_scarce(fault_run *r) {
    scarce *s = r->state;
    const fc_sort_rows x = {.keys = s->keys,
                            .bytes = 4,
                            .rows = 1,
                            .n = SCARCE,
                            .first = 100,
                            .given = SCARCE_GIVEN,
                            .sorted = s->sorted,
                            .positions = s->positions};
    FC_TRY(fc_select_host((fc_host_device *)s->d, &r->heap.alloc, &x, &r->e));
    int64_t wrong = 0;
    for (int i = 0; i < SCARCE_GIVEN; i++) {
        int64_t less = 0;
        for (int k = 0; k < SCARCE; k++) less += s->keys[k] < s->sorted[i];
        wrong += less != 100 + i || s->keys[s->positions[i]] != s->sorted[i];
    }
    FC_EXPECT_EQ_I64(wrong, 0);
    return FUSEC_OK;
}

FC_TEST(sort, parts_where_memory_is_short) {
    static const fault_scene scene = {
        .name = "part", .state_bytes = sizeof(scarce), .ready = ready_scarce, .act = act_scarce};
    fault_scene_run(&scene);
}

/* ---- the kernels of a GPU, on the host: tiles that run side by side wait for each other ---------
 */

enum { GPU_ROWS = 2, GPU_N = 9000 };

typedef struct gpu_sort {
    uint64_t in[GPU_ROWS * GPU_N], keys[2][GPU_ROWS * GPU_N];
    int64_t at[2][GPU_ROWS * GPU_N];
    uint32_t counts[GPU_ROWS * 8 * 256], tickets[8];
    uint64_t tiles[GPU_ROWS * 5 * 256];
} gpu_sort;

static void run_passes(const fc_cuda_host *h, unsigned first, uint32_t bytes, bool at,
                       gpu_sort *g) {
    int64_t w[FC_SORT_WORDS] = {0};
    fc_launch l;
    w[FC_SORT_IN] = (int64_t)(uintptr_t)g->in;
    w[FC_SORT_N] = GPU_N;
    w[FC_SORT_ROWS] = GPU_ROWS;
    w[FC_SORT_COUNTS] = (int64_t)(uintptr_t)g->counts;
    w[FC_SORT_TILES] = (int64_t)(uintptr_t)g->tiles;
    w[FC_SORT_TICKETS] = (int64_t)(uintptr_t)g->tickets;
    fc_cuda_sort_launch(FC_CUDA_SORT_COUNT, bytes, GPU_ROWS, GPU_N, &l);
    FC_EXPECT_TRUE(fc_cuda_host_run(h, first, &l, w));
    fc_cuda_sort_launch(FC_CUDA_SORT_TILE, bytes, GPU_ROWS, GPU_N, &l);
    l.together = true;
    for (uint32_t p = 0; p < bytes; p++) {
        w[FC_SORT_PLACE] = p;
        w[FC_SORT_LAST] = p + 1 == bytes;
        w[FC_SORT_OUT] = (int64_t)(uintptr_t)g->keys[p & 1];
        w[FC_SORT_AT_OUT] = at ? (int64_t)(uintptr_t)g->at[p & 1] : 0;
        FC_EXPECT_TRUE(fc_cuda_host_run(h, first + 1, &l, w));
        w[FC_SORT_IN] = w[FC_SORT_OUT];
        w[FC_SORT_AT_IN] = w[FC_SORT_AT_OUT];
    }
}

FC_TEST(sort, tiles_look_back) {
    static const uint32_t widths[] = {1, 4, 8};
    gpu_sort *g = malloc(sizeof *g);
    fc_cuda_host h;
    fc_str s;
    if (!g || !fc_cuda_host_open(&h)) {
        free(g);
        FC_SKIP("no C++ compiler, or under AddressSanitizer");
    }
    for (unsigned i = 0; i < 2 * FC_COUNT(widths); i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i);
        fc_str_init(&s, &fc_libc_alloc);
        fc_cuda_sort_text(i & 1 ? FC_CUDA_SORT_TILE : FC_CUDA_SORT_COUNT, widths[i / 2],
                          (i & 1) && i != 3, name, &s);
        fc_cuda_host_add(&h, s.data);
        fc_str_free(&s);
    }
    FC_EXPECT_TRUE(fc_cuda_host_build(&h));
    for (unsigned i = 0; i < FC_COUNT(widths); i++)
        for (int few = 0; few < 2; few++) {
            const uint32_t b = widths[i], last = (b - 1) & 1;
            FC_TRACE("%d bytes, %s values", (int)b, few ? "few" : "many");
            memset(g, 0, sizeof *g);
            make_keys((char *)g->in, b, GPU_ROWS * GPU_N, few);
            run_passes(&h, 2 * i, b, i != 1, g);
            for (int r = 0; r < GPU_ROWS; r++)
                judge_keys(&(fc_sort_rows){.keys = (char *)g->in + r * GPU_N * b,
                                           .bytes = b,
                                           .n = GPU_N,
                                           .sorted = (char *)g->keys[last] + r * GPU_N * b,
                                           .positions = i != 1 ? g->at[last] + r * GPU_N : NULL});
            FC_UNTRACE();
        }
    fc_cuda_host_close(&h);
    free(g);
}

enum { PART_N = 17000, PART_TILES = 9 };

typedef struct gpu_part {
    uint64_t in[GPU_ROWS * PART_N], keys[GPU_ROWS * PART_N], whole[PART_N];
    uint32_t at[GPU_ROWS * PART_N], counts[GPU_ROWS * 2 * 256], tickets[GPU_ROWS + 1];
    int64_t whole_at[PART_N];
    uint64_t tiles[GPU_ROWS * PART_TILES * 4], ends[GPU_ROWS * 4];
} gpu_part;

static void run_part(const fc_cuda_host *h, unsigned first_kernel, uint32_t bytes, int64_t first,
                     int64_t given, gpu_part *g) {
    fc_launch l;
    int64_t w[FC_SORT_WORDS] = {[FC_SORT_IN] = (int64_t)(uintptr_t)g->in,
                                [FC_SORT_OUT] = (int64_t)(uintptr_t)g->keys,
                                [FC_SORT_AT_OUT] = (int64_t)(uintptr_t)g->at,
                                [FC_SORT_N] = PART_N,
                                [FC_SORT_ROWS] = GPU_ROWS,
                                [FC_SORT_COUNTS] = (int64_t)(uintptr_t)g->counts,
                                [FC_SORT_TILES] = (int64_t)(uintptr_t)g->tiles,
                                [FC_SORT_TICKETS] = (int64_t)(uintptr_t)g->tickets,
                                [FC_SORT_FIRST] = first,
                                [FC_SORT_GIVEN] = given,
                                [FC_SORT_ENDS] = (int64_t)(uintptr_t)g->ends};
    memset(g->counts, 0, sizeof g->counts);
    memset(g->tickets, 0, sizeof g->tickets);
    memset(g->tiles, 0, sizeof g->tiles);
    fc_cuda_sort_launch(FC_CUDA_SORT_PICK, bytes, GPU_ROWS, PART_N, &l);
    l.together = true;
    for (w[FC_SORT_PLACE] = bytes; w[FC_SORT_PLACE]-- > 0;)
        FC_EXPECT_TRUE(fc_cuda_host_run(h, first_kernel, &l, w));
    fc_cuda_sort_launch(FC_CUDA_SORT_KEEP, bytes, GPU_ROWS, PART_N, &l);
    l.together = true;
    FC_EXPECT_TRUE(fc_cuda_host_run(h, first_kernel + 1, &l, w));
}

/* What is kept are the keys of the part, each at its position, in the order of positions. */
static void judge_kept(gpu_part *g, uint32_t bytes, int64_t first, int64_t given) {
    fc_device *d;
    fc_context *c = fc_rig("interp", 1, &d);
    FC_EXPECT_TRUE(c != NULL);
    for (int r = 0; r < GPU_ROWS; r++) {
        const char *in = (const char *)g->in + (size_t)r * PART_N * bytes,
                   *kept = (const char *)g->keys + (size_t)(r * given) * bytes;
        int64_t wrong = 0;
        fc_error e = {0};
        fc_sort_rows x = {.keys = in,
                          .bytes = bytes,
                          .rows = 1,
                          .n = PART_N,
                          .sorted = g->whole,
                          .positions = g->whole_at};
        FC_EXPECT_OK(fc_sort_host((fc_host_device *)d, &fc_libc_alloc, &x, &e), &e);
        char *wanted = calloc(PART_N, 1);
        for (int64_t i = 0; i < given; i++) wanted[g->whole_at[first + i]] = 1;
        for (int64_t i = 0; i < given; i++) {
            const uint32_t at = g->at[r * given + i];
            wrong += at >= PART_N || !wanted[at] || (i && at <= g->at[r * given + i - 1]);
            wrong += at < PART_N && key_of(kept, bytes, i) != key_of(in, bytes, at);
        }
        FC_EXPECT_EQ_I64(wrong, 0);
        free(wanted);
    }
}

FC_TEST(sort, parts_look_back) {
    static const uint32_t widths[] = {1, 4, 8};
    static const int64_t parts[][2] = {{0, 30}, {9999, 2}, {100, 12000}};
    gpu_part *g = malloc(sizeof *g);
    fc_cuda_host h;
    fc_str s;
    if (!g || !fc_cuda_host_open(&h)) {
        free(g);
        FC_SKIP("no C++ compiler, or under AddressSanitizer");
    }
    for (unsigned i = 0; i < 2 * FC_COUNT(widths); i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i);
        fc_str_init(&s, &fc_libc_alloc);
        fc_cuda_sort_text(i & 1 ? FC_CUDA_SORT_KEEP : FC_CUDA_SORT_PICK, widths[i / 2], i & 1, name,
                          &s);
        fc_cuda_host_add(&h, s.data);
        fc_str_free(&s);
    }
    FC_EXPECT_TRUE(fc_cuda_host_build(&h));
    for (unsigned i = 0; i < FC_COUNT(widths); i++)
        for (int few = 0; few < 2; few++) {
            make_keys((char *)g->in, widths[i], GPU_ROWS * PART_N, few);
            for (size_t p = 0; p < FC_COUNT(parts); p++) {
                FC_TRACE("%d bytes, %s values, %d from %d", (int)widths[i], few ? "few" : "many",
                         (int)parts[p][1], (int)parts[p][0]);
                run_part(&h, 2 * i, widths[i], parts[p][0], parts[p][1], g);
                judge_kept(g, widths[i], parts[p][0], parts[p][1]);
                FC_UNTRACE();
            }
        }
    fc_cuda_host_close(&h);
    free(g);
}

/* ---- in the language ------------------------------------------------------------------------- */

FC_TEST(sort, what_programs_print) {
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"x = f32(arange(6)*5 % 7); sort(x), argsort(x, descending=true)",
         "out1: f32[6]\n[0. 1. 3. 4. 5. 6.]\n\nout2: i64[6]\n[4 1 5 2 3 0]\n"},
        {"v, p = topk(f32(arange(8)*5 % 8), 3); v, p",
         "v: f32[3]\n[7. 6. 5.]\n\np: i64[3]\n[3 6 1]\n"},
        {"x = f32(arange(6)*5 % 7); argsort(x, first=1, count=2), "
         "argsort(x, first=sum(arange(3)) + 2, count=3, descending=true), "
         "argsort(x, first=-2, count=1)", /* places outside are the nearest ones */
         "out1: i64[2]\n[3 2]\n\nout2: i64[3]\n[0 0 0]\n\nout3: i64[1]\n[0]\n"},
        {"searchsorted(arange(5)*2, 4), searchsorted(arange(5)*2, 4, side=\"right\")",
         "out1: i64\n2\n\nout2: i64\n3\n"},
        {"median(f32(arange(4))), quantile(f32(arange(5)), 0.25)",
         "out1: f32\n1.5\n\nout2: f32\n1.0\n"},
        {"median(1/f32(2 - arange(3))), median(0 - 1/f32(arange(2)))", /* 1/2, 1, inf; -inf, -1 */
         "out1: f32\n1.0\n\nout2: f32\n-inf\n"},
        {"v, k = unique(arange(9) % 4, size=6); v, k", "v: i64[6]\n[0 1 2 3 0 0]\n\nk: i64\n4\n"},
        {"p, k = nonzero(arange(6) % 2 == 1, size=4); p, k", "p: i64[4]\n[1 3 5 0]\n\nk: i64\n3\n"},
        {"v, k = compress(arange(6) > 2, arange(6)*arange(6), size=2); v, k",
         "v: i64[2]\n[ 9 16]\n\nk: i64\n3\n"},
        {"sum(permutation(100, seed=4)), max(permutation(100, seed=4))",
         "out1: i64\n4950\n\nout2: i64\n99\n"},
    };
    OPEN(sh);
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        FC_TRACE("%s", cases[i].text);
        EXPECT_RUN(sh, 0, "fusec -e '%s' -d interp", cases[i].text);
        FC_EXPECT_STREQ(sh.out, cases[i].wanted);
        FC_UNTRACE();
    }
    shell_close(&sh);
}

/* What is sorted is made by the kernel before, and what follows reads at the positions. */
FC_TEST(sort, kernel_counts) {
    static const struct {
        const char *text;
        int64_t steps;
    } plans[] = {
        {"sort(exp(x))*2", 3}, /* keys of exp; sort; the rest */
        {"sort(x)", 3},        {"sort(u32(x))", 2}, {"argsort(x)", 2}, {"searchsorted(x, x*2)", 2},
    };
    fusec_context *ctx = capi_device("interp");
    for (size_t i = 0; i < FC_COUNT(plans); i++) {
        char text[200];
        snprintf(text, sizeof text, "export def f(x: f32[n]) { return %s }\n", plans[i].text);
        FC_TRACE("%s", plans[i].text);
        fusec_program *p = compile(ctx, text);
        if (p) FC_EXPECT_LE_I64((int64_t)p->p->plan->steps.len, plans[i].steps);
        fusec_program_free(p);
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
}
