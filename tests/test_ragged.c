/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ragged.c - reductions whose rows end by data: bits on every device, kernels, and what the
 * language says of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/capi.h"
#include "tests/support/langbox.h"
#include "tests/support/ragged_graph.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* ---- bits ------------------------------------------------------------------------------------ */

static const char *const devices[] = {"interp", "cpu", "cuda"};
static const int thread_counts[] = {1, 3};

static void judge_on(const fc_graph *g, const fc_oracle *o, const int64_t *syms,
                     const fc_arrays *in, const char *device, int threads) {
    fc_arrays out;
    fc_error e = {0};
    fc_str why;
    fc_how how = {.runs = 1};
    how.ctx = fc_rig(device, threads, &how.device);
    if (!how.ctx) return;
    fc_str_init(&why, &fc_libc_alloc);
    FC_TRACE("%s, %d threads", device, threads);
    FC_EXPECT_OK(fc_rig_run(&how, g, syms, in, &out, &e), &e);
    if (!e.code && fc_judge(g, o, &out, &why)) FC_FAIL("%s", why.data);
    FC_UNTRACE();
    fc_str_free(&why);
    fc_arrays_free(&out);
}

/* The oracle adds the whole tree, of elements that are chosen by the index. */
static void judge(const fc_ragged_graph *r, uint64_t seed) {
    fc_graph g;
    fc_oracle sizes, o;
    fc_arrays in;
    int64_t syms[8] = {0};
    const void *data[8];
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_ragged_build(r, &g, syms);
    FC_EXPECT_EQ_U64(g.error.code, FUSEC_OK);
    fc_oracle_sizes(&sizes, &g, syms);
    fc_arrays_for(&in, &g, &sizes, false);
    fc_ragged_fill(r, seed, &in);
    for (uint32_t i = 0; i < in.n; i++) data[i] = in.t[i].data;
    fc_oracle_run(&o, &g, syms, data);
    FC_TRACE("form %d, kind %d, %s of %s, %lld rows, %lld elements", (int)r->form, (int)r->kind,
             fc_ops[r->op].name, fc_dtypes[r->t].name, (long long)r->rows, (long long)r->elements);
    for (size_t d = 0; d < FC_COUNT(devices); d++)
        for (size_t n = 0; n < FC_COUNT(thread_counts); n++)
            judge_on(&g, &o, syms, &in, devices[d], thread_counts[n]);
    FC_UNTRACE();
    fc_arrays_free(&in);
    fc_oracle_free(&o);
    fc_oracle_free(&sizes);
    fc_graph_free(&g);
}

static const fc_op rows[] = {FC_OP_sum, FC_OP_prod,   FC_OP_min,    FC_OP_max, FC_OP_any,
                             FC_OP_all, FC_OP_argmin, FC_OP_argmax, FC_OP_mean};

FC_TEST(ragged, every_row_and_dtype) {
    static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64, FUSEC_F16,
                                         FUSEC_I32, FUSEC_U8,  FUSEC_BOOL};
    for (size_t i = 0; i < FC_COUNT(rows); i++)
        for (size_t t = 0; t < FC_COUNT(dtypes); t++)
            if (fc_test_takes(6))
                judge(&(fc_ragged_graph){FC_RAGGED_ROWS, FC_RAGGED_MIXED, rows[i], dtypes[t], 9,
                                         1500, 1},
                      i + t);
}

/* Around the constants of both trees: what is whole, what is left over, nothing at all. */
FC_TEST(ragged, lengths_around_chunks_and_runs) {
    static const int64_t lengths[] = {0, 1, 15, 16, 17, 127, 128, 129, 1023, 1024, 1025, 2500};
    for (int form = 0; form < FC_RAGGED_FORMS; form++)
        for (int kind = 0; kind < FC_RAGGED_KINDS; kind++)
            for (size_t i = 0; i < FC_COUNT(lengths); i++) {
                const size_t number = ((size_t)form * FC_RAGGED_KINDS + (size_t)kind) * 12 + i;
                const bool few = form == FC_RAGGED_STAGES && !lengths[i]; /* max of no array */
                if (few || !fc_test_takes(8)) continue;
                judge(&(fc_ragged_graph){(fc_ragged_form)form, (fc_ragged_kind)kind, FC_OP_sum,
                                         FUSEC_F32, 7, lengths[i], 1 + (int64_t)i % 5},
                      number);
            }
}

FC_TEST(ragged, many_rows_and_no_rows) {
    static const int64_t counts[] = {0, 1, 300};
    for (size_t i = 0; i < FC_COUNT(counts); i++)
        for (int form = 0; form < FC_RAGGED_FORMS; form++)
            judge(&(fc_ragged_graph){(fc_ragged_form)form, FC_RAGGED_MIXED, FC_OP_sum, FUSEC_F32,
                                     counts[i], 200, 33},
                  i);
}

/* ---- the language ---------------------------------------------------------------------------- */

/* s = 0 2 2 5, v = 3 -1 4 1 5, k = 2 0 1 1 2, x = 10 20 30, l = 1 4 0, h = 3 2 5 */
static const struct {
    const char *text, *json;
} values[] = {
    {"y[i in 0..3] = sum[p in s[i]..s[i + 1]](v[p])", "[2.0, 0.0, 10.0]"},
    {"y[i in 0..3] = sum[p in s[i]..s[i + 1]](v[p]*x[k[p]])", "[80.0, 0.0, 250.0]"},
    {"y[i in 0..3] = prod[p in s[i]..s[i + 1]](v[p])", "[-3.0, 1.0, 20.0]"},
    {"y[i in 0..3] = max[p in s[i]..s[i + 1]](v[p])", "[3.0, \"-inf\", 5.0]"},
    {"y[i in 0..3] = min[p in s[i]..s[i + 1]](i32(v[p]))", "[-1, 2147483647, 1]"},
    {"y[i in 0..3] = argmax[p in s[i]..s[i + 1]](v[p])", "[0, -1, 4]"},
    {"y[i in 0..3] = argmin[p in s[i]..s[i + 1]](v[p])", "[1, -1, 3]"},
    {"y[i in 0..3] = any[p in s[i]..s[i + 1]](v[p] > 4)", "[false, false, true]"},
    {"y[i in 0..3] = all[p in s[i]..s[i + 1]](v[p] > 0)", "[false, true, true]"},
    {"y[i] = mean[p in l[i]..h[i]](v[p])", "[1.5, \"nan\", 2.4]"},
    {"y[i] = sum[p in 0..h[i]](v[p]*(i + 1))", "[6.0, 4.0, 36.0]"},
    {"y[i in 0..3] = sum[p in s[i]..s[i + 1]](v[p])/sum[q](v[q])", "[0.16666667, 0.0, 0.8333333]"},
    {"y[i in 0..3, j in 0..2] = sum[p in s[i]..s[i + 1]](v[p]*A[k[p], j])",
     "[[60.0, 62.0], [0.0, 0.0], [150.0, 160.0]]"},
    {"y[j in 0..2, i in 0..3] = sum[p in s[i]..s[i + 1]](v[p]*A[k[p], j])",
     "[[60.0, 0.0, 150.0], [62.0, 0.0, 160.0]]"},
    {"y[j in 0..2] = sum[i in 0..3](sum[p in s[i]..s[i + 1]](v[p]*A[k[p], j]))", "[210.0, 222.0]"},
    {"r = x; for t in 0..20 { q[i in 0..3] = sum[p in s[i]..s[i + 1]](r[k[p]]/4); r = q + 1 }; y = "
     "r",
     "[2.0, 1.0, 2.0]"},
    {"t = s[1]; y[i in 0..2] = x[i] + sum[p in t..s[3]](v[p])", "[20.0, 30.0]"},
};

static void values_on(void *arg) {
    const char *device = arg;
    OPEN(sh);
    bool absent = false;
    for (size_t i = 0; i < FC_COUNT(values) && !absent; i++) {
        FC_TRACE("%s", values[i].text);
        shell_run(
            &sh,
            "fusec -q -d %s --format json -e 's = i32(arange(4)); s[1] += i32(1); s[3] += "
            "i32(2); n = arange(5); v = f32(n == 0 ? 3 : n == 1 ? -1 : n == 2 ? 4 : n == 3 ? "
            "1 : 5); k = n == 1 ? 0 : n == 2 or n == 3 ? 1 : 2; x = f32(10*arange(3) + 10); "
            "m = arange(3); l = m == 0 ? 1 : m == 1 ? 4 : 0; h = m == 0 ? 3 : m == 1 ? 2 : 5; "
            "A = f32(10*arange(3)[:, None] + arange(2)); "
            "%s; y'",
            device, values[i].text);
        absent = sh.code == 5 && strstr(sh.err, "--device");
        if (!absent) {
            char want[200];
            snprintf(want, sizeof want, "%s\n", values[i].json);
            FC_EXPECT_STREQ(sh.err, "");
            FC_EXPECT_STREQ(sh.out, want);
        }
        FC_UNTRACE();
    }
    shell_close(&sh);
    if (absent) FC_SKIP("there is no %s here", device);
}

FC_TEST(ragged, values_of_the_language) {
    values_on("interp");
}

FC_TEST(ragged, values_of_the_language_on_a_cpu) {
    values_on("cpu");
}

static const struct {
    const char *text, *message;
} messages[] = {
    {"y[i] = sum[p in lo[i]..hi[i]](v[p])", "an index of `p in lo[i]..hi[i]` is outside: hi[i] at "
                                            "[0] is 6, axis 0 of v, with its end, has 6 "
                                            "elements [index-out-of-range]"},
    {"y[i] = sum[p in lo[i]..hi[i]](v[p + 1])", "nothing says how far the index `p` may go"},
    {"y[i] = sum[p in f32(lo[i])..hi[i]](v[p])",
     "f32(lo[i]) is f32, and a range is made of integers"},
    {"y[i] = sum[p in lo[i]..hi[i], q](v[p]*v[q])",
     "an index whose range is data stands alone in its reduction"},
    {"y[i] = sum[p in lo[i]..hi[i]](sum[q](v[p]*v[q]))",
     "a reduction for each `p`, whose range is data"},
    {"y[i] = var[p in lo[i]..hi[i]](v[p])",
     "var of rows whose lengths are data is not compiled yet [not-yet]"},
    {"y[i in lo[0]..3] = v[i]",
     "lo[0] is no size: the range of an index is made of integers and sizes"},
    {"z[i] = sum[p in lo[i]..hi[i]](v[p]); y = grad(sum(z), v)",
     "has no derivative: it is an element of rows whose lengths are data"},
};

FC_TEST(ragged, messages) {
    OPEN(sh);
    for (size_t i = 0; i < FC_COUNT(messages); i++) {
        FC_TRACE("%s", messages[i].text);
        shell_run(
            &sh,
            "fusec -q -d interp -e 'lo = i32(arange(2)); hi = lo + i32(6); v = f32(arange(5)); "
            "%s; y'",
            messages[i].text);
        FC_EXPECT_TRUE(sh.code == 3 || sh.code == 4);
        if (!strstr(sh.err, messages[i].message))
            FC_FAIL("said: %s\n  wanted: %s", sh.err, messages[i].message);
        FC_UNTRACE();
    }
    shell_close(&sh);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* What is made for each element stays in the kernel, however dear it is: its array would have rows
 * as long as the longest may be. */
FC_TEST(ragged, nothing_of_an_element_is_stored) {
    OPEN(sh);
    shell_run(
        &sh, "fusec explain -d none -e 's = w + 1; y[i] = sum[p in lo[i]..hi[i]]("
             "exp(sin(v[p]))*x[k[p], 0]*s[i]); z[i, j] = sum[p in lo[i]..hi[i]]("
             "exp(sin(v[p] - w[i]))*x[k[p], j]); y, z' lo=i32:9 hi=i32:9 w=f32:9 v=f32:50 k=i32:50 "
             "x=f32:7x8 --emit ir");
    FC_EXPECT_EQ_U64((uint64_t)sh.code, 0);
    FC_EXPECT_TRUE(strstr(sh.out, "kernel inner") && strstr(sh.out, "kernel outer"));
    FC_EXPECT_FALSE(strstr(sh.out, "kernel map"));
    shell_run(&sh,
              "fusec explain -d none -e 'r = w; for t in 0..20 { q[i] = sum[p in lo[i]..hi[i]]("
              "r[k[p]]); r = q + 1 }; r' lo=i32:9 hi=i32:9 w=f32:9 k=i32:50");
    FC_EXPECT_EQ_U64((uint64_t)sh.code, 0);
    FC_EXPECT_TRUE(strstr(sh.out, "rounds") && !strstr(sh.out, "[9, 50]"));
    shell_close(&sh);
}

/* ---- the C API ------------------------------------------------------------------------------- */

FC_TEST(ragged, from_c) {
    CAPI_START();
    const int64_t shape[2] = {4, 2}, two = 2;
    const float v[8] = {1, 2, 3, 4, 5, 6, 9, 1};
    const int32_t lo[2] = {1, 3}, hi[2] = {4, 2}, far[2] = {1, 5};
    float out[4];
    int64_t at[4];
    const fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, v);
    const fusec_value a = fusec_array(g, FUSEC_I32, 1, &two, lo),
                      b = fusec_array(g, FUSEC_I32, 1, &two, hi),
                      c = fusec_array(g, FUSEC_I32, 1, &two, far);
    FC_EXPECT_OK_TEXT(
        fusec_read(fusec_ragged(fusec_add(x, x), a, b, FUSEC_RAGGED_SUM), out, sizeof out),
        fusec_message(ctx));
    const float sum[4] = {34, 22, 0, 0};
    FC_EXPECT_TRUE(!memcmp(out, sum, sizeof out));
    FC_EXPECT_OK_TEXT(fusec_read(fusec_ragged(x, a, b, FUSEC_RAGGED_ARGMAX), at, sizeof at),
                      fusec_message(ctx));
    FC_EXPECT_TRUE(at[0] == 3 && at[1] == 2 && at[2] == -1 && at[3] == -1);
    FC_EXPECT_STATUS(fusec_read(fusec_ragged(x, a, c, FUSEC_RAGGED_SUM), out, sizeof out),
                     FUSEC_INDEX_OUT_OF_RANGE, NULL);
    FC_EXPECT_STATUS(fusec_read(fusec_ragged(x, a, b, (fusec_ragged_op)99), out, sizeof out),
                     FUSEC_INVALID, NULL);
    CAPI_END();
}
