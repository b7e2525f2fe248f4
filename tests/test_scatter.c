/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_scatter.c - stores at computed places: values on every device, independence of the order of
 * updates, kernels, messages, what prints reads back. Random graphs have them too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base.h"
#include "tests/support/capi.h"
#include "tests/support/langbox.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* k = 2 0 2 1 0 2, v = 0.5 1.5 2.5 3.5 4.5 5.5, h = 10 20 30 40 */
static const struct {
    const char *text, *json;
} rows[] = {
    {"histogram(k, 4)", "[2, 1, 3, 0]"},
    {"histogram(k, 4, weights=v)", "[6.0, 3.5, 8.5, 0.0]"},
    {"histogram(k, 4, weights=f64(v))", "[6.0, 3.5, 8.5, 0.0]"},
    {"scatter(h, k, v)", "[16.0, 23.5, 38.5, 40.0]"},
    {"scatter(f16(h), k, f16(v))", "[16.0, 23.5, 38.5, 40.0]"},
    {"scatter(h, k, v, op=\"max\")", "[10.0, 20.0, 30.0, 40.0]"},
    {"scatter(h, k, v, op=\"min\")", "[1.5, 3.5, 0.5, 40.0]"},
    {"scatter(h, k, v, op=\"set\")", "[4.5, 3.5, 5.5, 40.0]"},
    {"scatter(h, k[:2], v[:2], op=\"set\", unique=true)", "[1.5, 20.0, 0.5, 40.0]"},
    {"scatter(h, k, 1)", "[12.0, 21.0, 33.0, 40.0]"},
    {"scatter(u8(h), k, u8(200))", "[154, 220, 118, 40]"},
    {"scatter(h > 15, k, v > 2, op=\"any\")", "[true, true, true, true]"},
    {"scatter(h > 15, k, v > 2, op=\"all\")", "[false, true, false, true]"},
    {"segment(v, k, 4)", "[6.0, 3.5, 8.5, 0.0]"},
    {"segment(v, k, 3, op=\"max\")", "[4.5, 3.5, 5.5]"},
    {"segment(v, k, 3, op=\"min\")", "[1.5, 3.5, 0.5]"},
    {"segment(v, k, 3, op=\"mean\")", "[3.0, 3.5, 2.8333333]"},
    {"segment(reshape(v, [3, 2]), k[:3], 3)", "[[2.5, 3.5], [0.0, 0.0], [5.0, 7.0]]"},
    {"segment(reshape(v, [3, 2]), reshape(k, [3, 2]), 3)", "[6.0, 3.5, 8.5]"},
    {"scatter(zeros([2, 3]), k, reshape(concat([v, v]), [2, 6]), axis=1)",
     "[[6.0, 3.5, 8.5], [6.0, 3.5, 8.5]]"},
    {"scatter(zeros([2, 3]), reshape(k, [3, 2]), reshape(concat([v, v]), [2, 3, 2]), axis=1, "
     "op=\"set\")",
     "[[4.5, 3.5, 5.5], [4.5, 3.5, 5.5]]"},
    {"scatter_along(zeros([3, 2]), reshape(k, [3, 2]), reshape(v, [3, 2]))",
     "[[4.5, 1.5], [0.0, 3.5], [3.0, 5.5]]"},
    {"scatter_along(zeros([3, 3]), reshape(k, [3, 2]), reshape(v, [3, 2]), axis=1)",
     "[[1.5, 0.0, 0.5], [0.0, 3.5, 2.5], [4.5, 0.0, 5.5]]"},
    {"scatter(h, i32(2), 5)", "[10.0, 20.0, 35.0, 40.0]"},
    {"scatter(h, 3*k - 2, v, bounds=\"drop\")", "[10.0, 23.5, 30.0, 40.0]"},
    {"scatter(h, 3*k - 2, v, bounds=\"clamp\")", "[16.0, 23.5, 30.0, 48.5]"},
    {"scatter(scatter(h, k, v), k, -v)", "[10.0, 20.0, 30.0, 40.0]"},
    /* the array, after a statement */
    {"a; a[k[i]] += v[i]", "[16.0, 23.5, 38.5, 40.0]"},
    {"a; a[k[e]] += v[e]", "[16.0, 23.5, 38.5, 40.0]"}, /* an index, not 2.718 */
    {"a; a[3] += 5", "[10.0, 20.0, 30.0, 45.0]"},
    {"a; a[n[i] // 2] += 1", "[12.0, 22.0, 32.0, 40.0]"},
    {"a; for r in 0..3 { a[r] += r }", "[10.0, 21.0, 32.0, 40.0]"},
    {"B; B[k[i], j] += v[i]",
     "[[6.0, 7.0, 8.0, 9.0], [13.5, 14.5, 15.5, 16.5], [28.5, 29.5, 30.5, 31.5]]"},
    {"B; B[j, k[i]] += v[i]",
     "[[6.0, 4.5, 10.5, 3.0], [16.0, 14.5, 20.5, 13.0], [26.0, 24.5, 30.5, 23.0]]"},
    {"B; B[k[i], k[i] + 1] += 1",
     "[[0.0, 3.0, 2.0, 3.0], [10.0, 11.0, 13.0, 13.0], [20.0, 21.0, 22.0, 26.0]]"},
    {"B; B[i in 0..2, 3] += v[i]",
     "[[0.0, 1.0, 2.0, 3.5], [10.0, 11.0, 12.0, 14.5], [20.0, 21.0, 22.0, 23.0]]"},
    {"a; a[k[i]] += v[i]*sum[j](B[j, 0])", "[190.0, 125.0, 285.0, 40.0]"},
    {"T; T[k[i], j, k[i] // 2] += 1",
     "[[[2.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], [[0.0, 3.0], [0.0, 3.0]]]"},
};

static const char setup[] = "n = arange(6)\n"
                            "k = i32(n == 1 or n == 4 ? 0 : n == 3 ? 1 : 2)\n"
                            "v = f32(n) + 0.5\n"
                            "h = 10*f32(arange(4)) + 10\n"
                            "A = f32(10*arange(3)[:, None] + arange(4))\n";
static const char anew[] = "a = h\nB = A\nT = zeros([3, 2, 2])\n"; /* before each statement */

static size_t row_text(char *out, size_t room, size_t i) {
    const char *text = rows[i].text;
    if (text[1] != ';') return (size_t)snprintf(out, room, "r%zu = %s\n", i, text);
    return (size_t)snprintf(out, room, "%s%s\nr%zu = %c\n", anew, text + 3, i, text[0]);
}

/* All rows in one program, so that they are compiled at once. */
static void values_on(void *arg) {
    const char *device = arg;
    enum { ROOM = 16384 };
    char *text = calloc(1, ROOM), *want = calloc(1, ROOM);
    OPEN(sh);
    size_t at = (size_t)snprintf(text, ROOM, "%s", setup), w = 0;
    for (size_t i = 0; i < FC_COUNT(rows); i++) at += row_text(text + at, ROOM - at, i);
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        at += (size_t)snprintf(text + at, ROOM - at, "%sr%zu", i ? ", " : "", i);
        w += (size_t)snprintf(want + w, ROOM - w, "%s\"r%zu\":%s", i ? "," : "{", i, rows[i].json);
    }
    snprintf(want + w, ROOM - w, "}\n");
    shell_write(&sh, "rows.txt", text);
    shell_run(&sh, "fusec -q -e \"$(cat rows.txt)\" -d %s --format json", device);
    const bool absent = sh.code == 5 && strstr(sh.err, "--device");
    if (!absent) {
        FC_EXPECT_STREQ(sh.err, "");
        FC_EXPECT_STREQ(sh.out, want);
    }
    shell_close(&sh);
    free(text);
    free(want);
    if (absent) FC_SKIP("there is no %s here", device);
}

FC_REGISTER(scatter_values) {
    static const char *const devices[] = {"interp", "cpu", "cuda"};
    for (size_t i = 0; i < FC_COUNT(devices); i++)
        FC_ADD_TEST("scatter_values", devices[i], values_on, devices[i]);
}

/* ---- order ------------------------------------------------------------------------------------
 */

enum { UPDATES = 60000, BINS = 37 };

/* The bits of sums, in the order of the updates or the other way round; `bins` of them. */
static void sums(const char *device, int threads, bool turned, fusec_dtype t, void *out,
                 size_t bytes) {
    fusec_options options = FUSEC_OPTIONS_INIT;
    options.device = device;
    options.threads = threads;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    FC_EXPECT_OK_TEXT(fusec_context_new(&options, &ctx), "context");
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    const int64_t n = UPDATES;
    int32_t *k = calloc(UPDATES, sizeof *k);
    double *v = calloc(UPDATES, sizeof *v);
    uint64_t seed = 7;
    for (int i = 0; i < UPDATES; i++) {
        const int to = turned ? UPDATES - 1 - i : i;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        k[to] = (int32_t)(seed >> 40) % BINS;
        v[to] = ((double)(int32_t)(seed >> 20)) * pow(2, (int)(seed >> 58) - 40);
    }
    const fusec_value x = fusec_cast(fusec_array(g, FUSEC_F64, 1, &n, v), t);
    const fusec_dim bins = fusec_size(g, BINS);
    const fusec_value base = fusec_full(g, t, 0, 1, &bins);
    const fusec_value s =
        fusec_scatter(base, fusec_array(g, FUSEC_I32, 1, &n, k), x, 0, FUSEC_PUT_SUM, 0);
    FC_EXPECT_OK_TEXT(fusec_read(s, out, bytes), fusec_message(ctx));
    fusec_graph_free(g);
    fusec_context_free(ctx);
    free(k);
    free(v);
}

/* One set of bits, whoever adds in whatever order. */
FC_TEST(scatter, no_order) {
    static const fusec_dtype dtypes[] = {FUSEC_F64, FUSEC_F32, FUSEC_F16};
    for (size_t d = 0; d < FC_COUNT(dtypes); d++) {
        double first[BINS], other[BINS];
        const size_t bytes = BINS * (dtypes[d] == FUSEC_F64 ? 8 : dtypes[d] == FUSEC_F32 ? 4 : 2);
        sums("interp", 1, false, dtypes[d], first, bytes);
        for (int i = 0; i < 4; i++) {
            sums(i < 2 ? "cpu" : "interp", 1 + 3 * (i & 1), i != 2, dtypes[d], other, bytes);
            FC_EXPECT_TRUE(!memcmp(first, other, bytes));
        }
    }
}

/* ---- kernels, messages, print ------------------------------------------------------------------
 */

FC_TEST(scatter, kernel_counts) {
    static const struct {
        int n;
        const char *arguments;
    } counts[] = {
        {2, "-e 'histogram(k, 256)' k=u8:1000000"},
        {2, "-e 'scatter(h, k, 1)' h=i64:100 k=i32:1000"},
        {4, "-e 'scatter(h, k, exp(v))' h=f32:100 k=i32:1000 v=f32:1000"},
        {4, "-e 'segment(v, k, 100, op=\"mean\")' k=i32:1000 v=f32:1000"},
        {3, "-e 'sqrt(segment(v, k, 100, op=\"max\"))' k=i32:1000 v=f32:1000"},
        {2, "-e 'scatter(exp(h), k, v, op=\"set\", unique=true)' h=f32:100 k=i32:50 v=f32:50"},
        {3, "-e 'scatter(h, k, v, op=\"set\")' h=f32:100 k=i32:50 v=f32:50"},
    };
    OPEN(sh);
    for (size_t i = 0; i < FC_COUNT(counts); i++) {
        int n = 0;
        FC_TRACE("%s", counts[i].arguments);
        shell_run(&sh, "fusec explain %s -d none --json", counts[i].arguments);
        FC_EXPECT_STREQ(sh.err, "");
        for (const char *p = sh.out; (p = strstr(p, "\"name\":\"k")) != NULL; p++) n++;
        FC_EXPECT_EQ_I64(n, counts[i].n);
        FC_UNTRACE();
    }
    shell_close(&sh);
}

FC_TEST(scatter, data_outside) {
    OPEN(sh);
    for (int d = 0; d < 2; d++) {
        const char *device = d ? "cpu" : "interp";
        EXPECT_RUN(sh, 4, "fusec -e 'scatter(h, 2*i, 1)' h=iota:i32:5 i=iota:i32:4 -d %s", device);
        FC_EXPECT_CONTAINS(sh.err,
                           "an index of `scatter(h, 2*i, 1)` is outside: 2*i at [3] is 6, axis "
                           "0 of h has 5 elements [index-out-of-range]");
        EXPECT_RUN(sh, 4, "fusec -e 'histogram(i - 1, 9)' i=iota:i32:4 -d %s", device);
        FC_EXPECT_CONTAINS(sh.err, "is -1, the result has 9 elements");
    }
    EXPECT_RUN(sh, 0,
               "fusec -q -e 'scatter(h, 2*i, 1)' h=iota:i32:5 i=iota:i32:4 -d interp "
               "--bounds clamp");
    FC_EXPECT_STREQ(sh.out, "[1 1 3 3 6]\n");
    shell_close(&sh);
}

FC_TEST(scatter, printed_graphs_read_back) {
    static const char *const texts[] = {
        "scatter(x, i, y)",
        "scatter(x, i, y, op=\"max\"), scatter(x, i, y, op=\"set\", unique=true)",
        "scatter(A, J, A[0, 0], axis=1, bounds=\"clamp\")",
        "scatter_along(A, J[:, :, None]*0, f32(1), bounds=\"drop\")",
        "histogram(i, 5, weights=y), segment(A, J[:, 0], 7, op=\"mean\")",
        "scatter(x > 0, i, y > 0, op=\"any\", bounds=\"inside\")",
    };
    for (size_t i = 0; i < FC_COUNT(texts); i++) {
        char text[300];
        snprintf(text, sizeof text, "%s, x, A, i, J, y", texts[i]);
        langbox b =
            langbox_snippet(text, "x: f32[5], A: f32[3, 4], i: i32[6], J: i64[3, 2], y: f32[6]");
        FC_TRACE("%s", texts[i]);
        FC_EXPECT_STREQ(b.text, "");
        langbox_round_trip(&b);
        FC_UNTRACE();
        langbox_free(&b);
    }
}

/* Rows that go to places from data are updated by the neighbours of a warp; single elements by the
 * vectors of a thread. */
FC_TEST(scatter, neighbours_of_a_warp_update_neighbours) {
    OPEN(sh);
    shell_run(&sh,
              "fusec explain -d none --json -e 'segment(d, i, 500)' d=f32:65536x64 i=i32:65536");
    const char *k1 = strstr(sh.out, "\"name\":\"k1\"");
    FC_EXPECT_CONTAINS(k1 ? k1 : "", "v1 map apart=");
    shell_run(&sh,
              "fusec explain -d none --json -e 'segment(d, i, 50000)' d=f32:4194304 i=i32:4194304");
    FC_EXPECT_TRUE(!strstr(sh.out, "apart="));
    shell_close(&sh);
}

FC_TEST(scatter, histograms_and_segments_of_c) {
    CAPI_START();
    const int64_t four = 4, shape[2] = {4, 2};
    const int32_t ids[4] = {2, 0, 2, 2};
    const float v[8] = {1, 2, 3, 4, 5, 6, 9, 1}, w[4] = {.5f, 1, 2, 4};
    const fusec_value i = fusec_array(g, FUSEC_I32, 1, &four, ids), none = {0};
    const fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, v);
    const fusec_value y = fusec_array(g, FUSEC_F32, 1, &four, w);
    const fusec_dim n = fusec_size(g, 3), few = fusec_size(g, 2);
    int64_t count[3];
    float out[6];
    FC_EXPECT_OK_TEXT(fusec_read(fusec_histogram(i, n, none), count, sizeof count),
                      fusec_message(ctx));
    FC_EXPECT_TRUE(count[0] == 1 && count[1] == 0 && count[2] == 3);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_histogram(i, n, y), out, 3 * sizeof *out),
                      fusec_message(ctx));
    FC_EXPECT_TRUE(out[0] == 1 && out[1] == 0 && out[2] == 6.5f);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_segment(x, i, n, FUSEC_PUT_SUM), out, sizeof out),
                      fusec_message(ctx));
    const float sum[6] = {3, 4, 0, 0, 15, 9}, mean[6] = {3, 4, 0, 0, 5, 3};
    FC_EXPECT_TRUE(!memcmp(out, sum, sizeof out));
    FC_EXPECT_OK_TEXT(fusec_read(fusec_segment(x, i, n, FUSEC_PUT_MEAN), out, sizeof out),
                      fusec_message(ctx));
    FC_EXPECT_TRUE(isnan(out[2]) && isnan(out[3]));
    out[2] = out[3] = 0;
    FC_EXPECT_TRUE(!memcmp(out, mean, sizeof out));
    FC_EXPECT_STATUS(fusec_read(fusec_histogram(i, few, none), count, 2 * sizeof *count),
                     FUSEC_INDEX_OUT_OF_RANGE, NULL);
    FC_EXPECT_STATUS(fusec_read(fusec_segment(x, i, n, FUSEC_PUT_SET), out, sizeof out),
                     FUSEC_INVALID, NULL);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "there is no such way to put rows together");
    CAPI_END();
}

FC_TEST(scatter, of_c) {
    CAPI_START();
    const int64_t shape[2] = {3, 2}, two = 2, four[2] = {2, 2};
    const float base[6] = {1, 2, 3, 4, 5, 6}, v[4] = {10, 20, 30, 40};
    const int32_t index[2] = {2, 0}, along[4] = {0, 2, 0, 2};
    float out[6];
    const fusec_value b = fusec_array(g, FUSEC_F32, 2, shape, base);
    const fusec_value i = fusec_array(g, FUSEC_I32, 1, &two, index);
    const fusec_value x = fusec_array(g, FUSEC_F32, 2, four, v);
    const fusec_value j = fusec_array(g, FUSEC_I32, 2, four, along);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_scatter(b, i, x, 0, FUSEC_PUT_SUM, 0), out, sizeof out),
                      fusec_message(ctx));
    const float sum[6] = {31, 42, 3, 4, 15, 26};
    FC_EXPECT_TRUE(!memcmp(out, sum, sizeof out));
    FC_EXPECT_OK_TEXT(
        fusec_read(fusec_scatter_along(b, j, x, -2, FUSEC_PUT_SET, 0), out, sizeof out),
        fusec_message(ctx));
    const float set[6] = {30, 2, 3, 4, 5, 40};
    FC_EXPECT_TRUE(!memcmp(out, set, sizeof out));
    FC_EXPECT_OK_TEXT(
        fusec_read(fusec_scatter(b, i, fusec_num(1), 0, FUSEC_PUT_MIN, 0), out, sizeof out),
        fusec_message(ctx));
    const float least[6] = {1, 1, 3, 4, 1, 1};
    FC_EXPECT_TRUE(!memcmp(out, least, sizeof out));
    FC_EXPECT_STATUS(fusec_read(fusec_scatter(b, i, x, 0, (fusec_put)9, 0), out, sizeof out),
                     FUSEC_INVALID, NULL);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "there is no such fusec_put");
    CAPI_END();
}
