/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_saved.c - saved graphs: every graph comes back as it was, damaged bytes are an error, and
 * what one process compiled the next one finds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "frontend/saved/saved.h"
#include "runtime/sha256.h"
#include "tests/fuzz/targets.h"
#include "tests/support/capi.h"
#include "tests/support/fuzz.h"
#include "tests/support/fuzz_text.h"
#include "tests/support/graph_hash.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* ---- random graphs --------------------------------------------------------------------------- */

FC_TEST(saved, random_graphs_come_back) {
    static rg r;
    int64_t syms[256];
    int input[RG_NODES], made = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        fuzz_ways w;
        fc_graph g;
        fc_str why;
        fuzz_make(seed, "interp", &r, &w);
        rg_build(&r, seed % 2 ? RG_SYMBOLIC : 0, &g, input, syms);
        fc_str_init(&why, &fc_libc_alloc);
        if (!g.error.code && g.outputs.len) {
            made++;
            if (!fuzz_saved_agrees(&g, &why)) FC_EXPECT_STREQ(why.data, "");
        }
        fc_str_free(&why);
        fc_graph_free(&g);
    }
    FC_EXPECT_TRUE(made > 300);
}

/* ---- programs that have what random graphs lack ---------------------------------------------- */

static const char *const programs[] = {
    "export def f(x: f32[n, m]) -> f32[n, m] {\n"
    "    e = exp(x - max(x, axis=1, keepdims=true))\n"
    "    return e / sum(e, axis=1, keepdims=true)\n}\n",
    /* checks with words, edges, slices whose bounds are conditions, opaque sizes */
    "export def f(t: f32[n], i: i32[m], x: f32[n*m]) -> (a: f32[m], b: f32[n, m], c: f32[n - 1]) "
    "{\n"
    "    return t[i] + f32(1/3), reshape(x, [n, m]) + t[:, None], t[1:] - t[:n - 1]\n}\n",
    "export def f(x: f32[n, n], w: f32[n, n]) -> (a: f32[n, n], b: f32[n], c: f16[n, n]) {\n"
    "    y = tanh(x @ w)\n"
    "    return y, cumsum(roll(x, 1, axis=0)[0, :], axis=0), f16(stop_grad(y))\n}\n",
    /* derivatives of the user's own */
    "def rule(x: f32[n], dy: f32[n]) -> f32[n] = dy*2\n"
    "@gradient(rule)\ndef steps(x: f32[n]) -> f32[n] = round(x)\n"
    "export def f(x: f32[n]) -> f32[n] = sin(steps(x))\n",
    "export def f(x: f64, k: i64) -> (a: f64, b: i64) {\n"
    "    return x*nan + 1e-300, k % 3 + 9223372036854775807\n}\n",
};

FC_TEST(saved, programs_come_back) {
    for (size_t i = 0; i < FC_COUNT(programs); i++) {
        fc_graph g;
        fc_str why;
        fc_str_init(&why, &fc_libc_alloc);
        FC_TRACE("program %zu", i);
        FC_EXPECT_TRUE(fuzz_text_read("f.fuse", programs[i], &g, &why) &&
                       fuzz_saved_agrees(&g, &why));
        FC_EXPECT_STREQ(why.data, "");
        FC_UNTRACE();
        fc_graph_free(&g);
        fc_str_free(&why);
    }
}

/* ---- hostile bytes --------------------------------------------------------------------------- */

/* Every byte of the file changed in turn, as it is: the checksum says so. */
FC_TEST(saved, every_changed_byte_is_an_error) {
    fc_graph g, read;
    fc_str bytes, why;
    fc_error e = {0};
    fc_str_init(&why, &fc_libc_alloc);
    fc_str_init(&bytes, &fc_libc_alloc);
    FC_ASSERT_TRUE(fuzz_text_read("f.fuse", programs[0], &g, &why));
    FC_ASSERT_OK(fc_saved_write(&g, &bytes, &e), &e);
    for (size_t i = 0; i < bytes.len; i++)
        for (unsigned bit = 0; bit < 8; bit += 3) {
            e = (fc_error){0};
            bytes.data[i] = (char)(bytes.data[i] ^ 1 << bit);
            fc_graph_init(&read, &fc_libc_alloc, NULL);
            FC_EXPECT_EQ_I64(fc_saved_read(bytes.data, bytes.len, NULL, &read, &e), FUSEC_IO);
            FC_EXPECT_TRUE(e.message[0] != 0);
            fc_graph_free(&read);
            bytes.data[i] = (char)(bytes.data[i] ^ 1 << bit);
        }
    for (size_t n = 0; n < bytes.len; n++) {
        fc_graph_init(&read, &fc_libc_alloc, NULL);
        FC_EXPECT_EQ_I64(fc_saved_read(bytes.data, n, NULL, &read, &e), FUSEC_IO);
        fc_graph_free(&read);
    }
    fc_graph_free(&g);
    fc_str_free(&bytes);
    fc_str_free(&why);
}

/* Every byte of the body changed to everything it can be, with the checksum made anew: a graph or
 * an error, and a graph can be saved and planned. */
FC_TEST(saved, every_changed_body_is_a_graph_or_an_error) {
    for (size_t i = 0; i < FC_COUNT(programs); i++) {
        fc_graph g;
        fc_str bytes, why;
        fc_error e = {0};
        fc_str_init(&why, &fc_libc_alloc);
        fc_str_init(&bytes, &fc_libc_alloc);
        FC_ASSERT_TRUE(fuzz_text_read("f.fuse", programs[i], &g, &why));
        FC_ASSERT_OK(fc_saved_write(&g, &bytes, &e), &e);
        uint8_t *body = (uint8_t *)bytes.data + FC_SAVED_HEADER - 1;
        const size_t size = bytes.len - FC_SAVED_HEADER - FC_SAVED_DIGEST;
        body[0] = 0;
        for (size_t k = 1; k <= size; k++) {
            const uint8_t was = body[k];
            for (unsigned v = 0; v < 256; v += 1 + (unsigned)k % 7) {
                body[k] = (uint8_t)v;
                fuzz_saved(body, size + 1);
            }
            body[k] = was;
            fuzz_saved(body, k);
        }
        fc_graph_free(&g);
        fc_str_free(&bytes);
        fc_str_free(&why);
    }
}

FC_TEST(saved, limits_are_those_of_the_graph) {
    fc_graph g, read;
    fc_str bytes, why;
    fc_error e = {0};
    fc_limits few = fc_default_limits;
    few.nodes = 3;
    fc_str_init(&why, &fc_libc_alloc);
    fc_str_init(&bytes, &fc_libc_alloc);
    FC_ASSERT_TRUE(fuzz_text_read("f.fuse", programs[0], &g, &why));
    FC_ASSERT_OK(fc_saved_write(&g, &bytes, &e), &e);
    fc_graph_init(&read, &fc_libc_alloc, &few);
    FC_EXPECT_EQ_I64(fc_saved_read(bytes.data, bytes.len, NULL, &read, &e), FUSEC_LIMIT);
    FC_EXPECT_STREQ(e.message, "the graph has more than 3 nodes");
    fc_graph_free(&read);
    fc_graph_free(&g);
    fc_str_free(&bytes);
    fc_str_free(&why);
}

/* ---- from C ---------------------------------------------------------------------------------- */

static void softmax(fusec_graph *g) {
    const fusec_dim shape[] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    const int last = -1;
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, shape);
    fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, &last, 1)));
    fusec_output(g, "y", fusec_div(e, fusec_sum(e, 1, &last, 1)));
}

static uint64_t disk_hits(const fusec_context *ctx) {
    fusec_counters c = FUSEC_COUNTERS_INIT;
    fusec_get_counters(ctx, &c);
    return c.disk_hits;
}

static fusec_context *with_cache(const char *dir) {
    fusec_context *ctx = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "cpu";
    o.cache_dir = dir;
    o.threads = 1;
    o.tiers = FUSEC_TIERS_FULL;
    if (!fusec_context_new(&o, &ctx) && !fusec_device(ctx, NULL, NULL)) return ctx;
    fusec_context_free(ctx);
    return NULL;
}

static void run_softmax(fusec_graph *g, float out[4]) {
    fusec_program *p = NULL;
    const float x[4] = {0, 0, 1, 3};
    const int64_t shape[2] = {2, 2};
    fusec_tensor in = {.data = (void *)(uintptr_t)x, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
    fusec_tensor to = in;
    to.data = out;
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(NULL));
    FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &to), fusec_message(NULL));
    fusec_program_free(p);
}

static void load_and_run(const char *dir, const char *path, const float want[4]) {
    fusec_context *ctx = with_cache(dir);
    fusec_graph *g = NULL;
    float out[4] = {0};
    FC_ASSERT_OK_TEXT(fusec_graph_load(ctx, path, &g), fusec_message(ctx));
    FC_EXPECT_EQ_I64(fusec_graph_input_count(g), 1);
    FC_EXPECT_STREQ(fusec_graph_input_name(g, 0), "x");
    FC_EXPECT_STREQ(fusec_graph_output_name(g, 0), "y");
    FC_EXPECT_EQ_I64(fusec_rank(fusec_graph_input(g, 0)), 2);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_graph_output(g, 0)), FUSEC_F32);
    run_softmax(g, out);
    FC_EXPECT_EQ_I64(memcmp(out, want, sizeof out), 0);
    FC_EXPECT_EQ_U64(capi_compiles(ctx), 0);
    FC_EXPECT_TRUE(disk_hits(ctx) > 0);
    capi_end(ctx, g);
}

FC_TEST(saved, what_was_compiled_is_found_again) {
    char dir[] = "/tmp/fusec-saved-XXXXXX", path[2][64];
    FC_ASSERT_TRUE(mkdtemp(dir) != NULL);
    for (int form = 0; form < 2; form++)
        snprintf(path[form], sizeof path[form], "%s/%d.graph", dir, form);
    char cache[64];
    snprintf(cache, sizeof cache, "%s/cache", dir);
    fusec_context *ctx = with_cache(cache);
    if (!ctx) FC_SKIP("no CPU device");
    fusec_graph *g = NULL;
    float want[4];
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    softmax(g);
    run_softmax(g, want);
    FC_EXPECT_TRUE(want[0] == 0.5f);
    for (unsigned form = 0; form < 2; form++)
        FC_EXPECT_OK_TEXT(fusec_graph_save(g, path[form], form), fusec_message(ctx));
    capi_end(ctx, g);
    for (int form = 0; form < 2; form++) load_and_run(cache, path[form], want);
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    FC_EXPECT_EQ_I64(system(command), 0);
}

FC_TEST(saved, small_and_quick) {
    CAPI_START();
    char *bytes = NULL;
    size_t size = 0;
    softmax(g);
    FC_ASSERT_OK_TEXT(fusec_graph_bytes(g, FUSEC_BINARY, &bytes, &size), fusec_message(ctx));
    FC_EXPECT_TRUE(size > 0 && size <= 2048);
    double best = 1;
    for (int i = 0; i < 200; i++) {
        struct timespec a, b;
        fc_graph read;
        fc_error e = {0};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        fc_graph_init(&read, &fc_libc_alloc, NULL);
        FC_EXPECT_OK(fc_saved_read(bytes, size, NULL, &read, &e), &e);
        FC_EXPECT_TRUE(fc_graph_hash(&read) != 0);
        fc_graph_free(&read);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        const double t = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
        if (t < best) best = t;
    }
    if (getenv("FUSEC_TEST_TIMES")) printf("%zu bytes, %.1f us\n", size, best * 1e6);
    FC_EXPECT_TRUE(best < 1e-3); /* the best of 200, 50 us when nothing is sanitized */
    fusec_text_free(ctx, bytes);
    CAPI_END();
}

FC_TEST(saved, misuse) {
    CAPI_START();
    fusec_graph *other = g;
    char *bytes = g ? "" : NULL;
    size_t size = 1;
    float one = 1;
    FC_EXPECT_EQ_I64(fusec_graph_save(NULL, "x", 0), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_graph_save(g, NULL, 0), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_graph_save(g, "/tmp/x", FUSEC_TEXT), FUSEC_INVALID);
    FC_EXPECT_STREQ(fusec_message(ctx), "the graph has no outputs: name one with fusec_output");
    FC_EXPECT_EQ_I64(fusec_graph_bytes(g, 0, NULL, &size), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_graph_bytes(g, 2, &bytes, &size), FUSEC_INVALID);
    FC_EXPECT_TRUE(bytes == NULL && size == 0);
    FC_EXPECT_EQ_I64(fusec_graph_load(ctx, "/nosuch/file", &other), FUSEC_IO);
    FC_EXPECT_TRUE(other == NULL);
    FC_EXPECT_EQ_I64(fusec_graph_load(NULL, "x", &other), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_graph_load(ctx, "x", NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_graph_from_bytes(ctx, NULL, NULL, 3, &other), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_graph_from_bytes(ctx, NULL, "def f(x) = ?", 12, &other), FUSEC_SYNTAX);
    FC_EXPECT_EQ_I64(fusec_graph_from_bytes(ctx, NULL, FC_SAVED_MAGIC, 8, &other), FUSEC_IO);
    FC_EXPECT_STREQ(fusec_message(ctx), "no saved graph: it ends too early");
    FC_EXPECT_EQ_I64(fusec_graph_from_bytes(ctx, "a.fg", FC_SAVED_MAGIC, 8, &other), FUSEC_IO);
    FC_EXPECT_STREQ(fusec_message(ctx), "a.fg: no saved graph: it ends too early");
    softmax(g);
    FC_EXPECT_EQ_I64(fusec_graph_save(g, "/nosuch/folder/x", FUSEC_BINARY), FUSEC_IO);
    FC_EXPECT_TRUE(fusec_graph_input_name(g, 1) == NULL && fusec_graph_input_name(NULL, 0) == NULL);
    FC_EXPECT_TRUE(fusec_graph_output_name(g, -1) == NULL);
    FC_EXPECT_EQ_I64(fusec_graph_output_count(NULL), 0);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_graph_output(NULL, 0)), -1);
    fusec_output(g, "z", fusec_add(fusec_array(g, FUSEC_F32, 0, NULL, &one), fusec_num(1)));
    FC_EXPECT_EQ_I64(fusec_graph_save(g, "/tmp/x", FUSEC_BINARY), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_graph_output(g, 7)), -1);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_INVALID);
    CAPI_END();
}

/* ---- a corpus from these programs: FUSEC_SAVED_CORPUS names the folder ----------------------- */

FC_TEST(saved, corpus) {
    const char *dir = getenv("FUSEC_SAVED_CORPUS");
    for (size_t i = 0; dir && i < FC_COUNT(programs); i++) {
        fc_graph g;
        fc_str bytes, why;
        fc_error e = {0};
        char path[200];
        fc_str_init(&why, &fc_libc_alloc);
        fc_str_init(&bytes, &fc_libc_alloc);
        FC_ASSERT_TRUE(fuzz_text_read("f.fuse", programs[i], &g, &why));
        FC_ASSERT_OK(fc_saved_write(&g, &bytes, &e), &e);
        snprintf(path, sizeof path, "%s/program%zu", dir, i);
        FILE *f = fopen(path, "wb");
        FC_ASSERT_TRUE(f != NULL);
        fputc(0, f);
        fwrite(bytes.data + FC_SAVED_HEADER, 1, bytes.len - FC_SAVED_HEADER - FC_SAVED_DIGEST, f);
        fclose(f);
        fc_graph_free(&g);
        fc_str_free(&bytes);
        fc_str_free(&why);
    }
}
