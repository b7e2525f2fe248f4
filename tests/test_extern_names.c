/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_extern_names.c - functions of the user by their names: in saved graphs and printed programs,
 * and in what partials of several processes have in common. */
#include <string.h>

#include "frontend/capi/capi.h"
#include "tests/support/capi.h"
#include "tests/support/fuzz_text.h"
#include "tests/support/test.h"

static float third(float x) {
    return x / 3;
}
static float half(float x) {
    return x / 2;
}
static double half_of_two(double x, double y) {
    return (x + y) / 2;
}
static float weigh(float a, float b, float c, float d) {
    return a * b + c * d;
}

static const fusec_dtype singles[] = {FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32},
                         doubles[] = {FUSEC_F64, FUSEC_F64};

static fusec_extern_desc desc_of(const char *name, float (*f)(float)) {
    fusec_extern_desc d = FUSEC_EXTERN_DESC_INIT;
    d.name = name;
    d.nargs = 1;
    d.dtypes = singles;
    d.result = FUSEC_F32;
    d.scalar = (void (*)(void))f;
    return d;
}

static fusec_extern_desc weigh_desc(void) {
    fusec_extern_desc d = desc_of("weigh", NULL);
    d.nargs = 4;
    d.scalar = (void (*)(void))weigh;
    return d;
}

/* sum(weigh(part(x), x, 2, x)) */
static void build(fusec_graph *g, const fusec_extern_desc *part) {
    const fusec_dim n = fusec_sym(g, "n");
    const fusec_value x = fusec_input(g, "x", FUSEC_F32, 1, &n);
    const fusec_extern_desc w = weigh_desc();
    const fusec_value in[] = {fusec_extern(g, part, &x), x, fusec_num(2), x};
    fusec_output(g, "y", fusec_sum(fusec_extern(g, &w, in), 0, NULL, 0));
}

/* ---- saved graphs ---------------------------------------------------------------------------- */

static float result_of(fusec_context *ctx, fusec_graph *g) {
    fusec_program *p = NULL;
    float x[] = {1, 2, 3, 4}, y = 0;
    const int64_t n = 4;
    const fusec_tensor in = {.data = x, .shape = &n, .rank = 1, .dtype = FUSEC_F32},
                       out = {.data = &y, .dtype = FUSEC_F32};
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    if (p) FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &out), fusec_message(ctx));
    fusec_program_free(p);
    return y;
}

static void give(fusec_context *ctx, const fusec_extern_desc *d) {
    int64_t number;
    FC_EXPECT_OK_TEXT(fusec_extern_number(ctx, d, &number), fusec_message(ctx));
}

/* What another process does: it has the functions before it reads, or reading says which one lacks.
 */
static void read_it(unsigned form, const char *bytes, size_t size, float want) {
    fusec_context *ctx;
    fusec_graph *g = NULL;
    const fusec_extern_desc part = desc_of("part", third), other = desc_of("part", half),
                            w = weigh_desc();
    FC_EXPECT_EQ_I64(capi_open("interp", 1, &ctx), 0);
    FC_EXPECT_EQ_I64(fusec_graph_from_bytes(ctx, "g", bytes, size, &g), FUSEC_CALL_FAILED);
    FC_EXPECT_CONTAINS(fusec_message(ctx), form == FUSEC_TEXT ? "`part`" : "function part");
    FC_EXPECT_CONTAINS(fusec_message(ctx), "fusec_extern_number");
    give(ctx, &w);
    give(ctx, &part);
    FC_EXPECT_OK_TEXT(fusec_graph_from_bytes(ctx, "g", bytes, size, &g), fusec_message(ctx));
    if (g) {
        char *again = NULL;
        size_t n = 0;
        FC_EXPECT_TRUE(result_of(ctx, g) == want);
        FC_EXPECT_OK_TEXT(fusec_graph_bytes(g, form, &again, &n), fusec_message(ctx));
        FC_EXPECT_TRUE(n == size && !memcmp(again, bytes, n));
        fusec_text_free(ctx, again);
    }
    fusec_graph_free(g);
    give(ctx, &other);
    FC_EXPECT_EQ_I64(fusec_graph_from_bytes(ctx, "g", bytes, size, &g), FUSEC_CALL_FAILED);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "2 functions part");
    fusec_context_free(ctx);
}

FC_TEST(extern_names, saved_graphs) {
    for (unsigned form = FUSEC_TEXT; form <= FUSEC_BINARY; form++) {
        CAPI_START();
        char *bytes = NULL;
        size_t size = 0;
        const fusec_extern_desc part = desc_of("part", third);
        build(g, &part);
        const float want = result_of(ctx, g);
        FC_ASSERT_OK_TEXT(fusec_graph_bytes(g, form, &bytes, &size), fusec_message(ctx));
        read_it(form, bytes, size, want);
        for (size_t i = 0; form == FUSEC_BINARY && i < size; i++) {
            fusec_graph *no = NULL;
            bytes[i] ^= 0x21;
            FC_EXPECT_TRUE(fusec_graph_from_bytes(ctx, "g", bytes, size, &no) != FUSEC_OK && !no);
            bytes[i] ^= 0x21;
        }
        fusec_text_free(ctx, bytes);
        CAPI_END();
    }
}

/* ---- two of one name ------------------------------------------------------------------------- */

static const fc_extern *known[2];

static fusec_status find(void *user, const fc_extern *like, const fc_extern **out, fc_error *e) {
    (void)user;
    (void)e;
    *out = known[like->nargs - 1];
    return FUSEC_OK;
}

/* They are not saved, and a print for people has them apart: it reads as the same text. */
FC_TEST(extern_names, two_of_one_name) {
    CAPI_START();
    char *bytes = NULL;
    size_t size;
    fusec_extern_desc two = desc_of("part", NULL);
    const fusec_extern_desc one = desc_of("part", third);
    two.nargs = 2;
    two.dtypes = doubles;
    two.result = FUSEC_F64;
    two.scalar = (void (*)(void))half_of_two;
    const fusec_value x = fusec_input(g, "part", FUSEC_F32, 0, NULL);
    const fusec_value a = fusec_cast(fusec_extern(g, &one, &x), FUSEC_F64), in[] = {a, a};
    fusec_output(g, "y", fusec_extern(g, &two, in));
    for (unsigned form = FUSEC_TEXT; form <= FUSEC_BINARY; form++) {
        FC_EXPECT_EQ_I64(fusec_graph_bytes(g, form, &bytes, &size), FUSEC_INVALID);
        FC_EXPECT_CONTAINS(fusec_message(ctx), "two functions of the graph are called part");
    }

    fc_graph read;
    fc_str text, again, why;
    fc_str_init(&text, &fc_libc_alloc);
    fc_str_init(&again, &fc_libc_alloc);
    fc_str_init(&why, &fc_libc_alloc);
    const fc_extern like[2] = {
        {.name = "part", .nargs = 1, .dtype = {FUSEC_F32}, .result = FUSEC_F32},
        {.name = "part0", .nargs = 2, .dtype = {FUSEC_F64, FUSEC_F64}, .result = FUSEC_F64}};
    for (int i = 0; i < 2; i++) known[i] = &like[i];
    const fc_extern_source source = {find, NULL, NULL};
    fuzz_text_print(&g->ir, &text);
    FC_EXPECT_CONTAINS(text.data, "extern def part(x1: f32) -> f32\n");
    FC_EXPECT_CONTAINS(text.data, "extern def part0(x1: f64, x2: f64) -> f64\n");
    const bool good = fuzz_text_read_with("f.fuse", text.data, &source, &read, &why);
    FC_EXPECT_STREQ(why.data ? why.data : "", "");
    if (good) fuzz_text_print(&read, &again);
    FC_EXPECT_STREQ(again.data, text.data);
    fc_graph_free(&read);
    fc_str_free(&text);
    fc_str_free(&again);
    fc_str_free(&why);
    CAPI_END();
}

/* ---- partials -------------------------------------------------------------------------------- */

/* Of two programs that differ in a function alone, one does not take in what the other made. */
FC_TEST(extern_names, partials_of_other_functions) {
    CAPI_START();
    float (*const f[])(float) = {third, third, half};
    fusec_program *p[3];
    fusec_cut *cut[3];
    fusec_partial *sum[3];
    for (int i = 0; i < 3; i++) {
        fusec_extern_desc part = desc_of("part", f[i]);
        fusec_graph_reset(g);
        build(g, &part);
        FC_ASSERT_OK_TEXT(fusec_compile(g, &p[i]), fusec_message(ctx));
        FC_ASSERT_OK_TEXT(fusec_program_cut(p[i], "n", &cut[i]), fusec_message(ctx));
        FC_ASSERT_OK_TEXT(fusec_partial_new(cut[i], &sum[i]), fusec_message(ctx));
    }
    FC_EXPECT_OK_TEXT(fusec_partial_merge(sum[0], sum[1]), fusec_message(ctx));
    FC_EXPECT_EQ_I64(fusec_partial_merge(sum[0], sum[2]), FUSEC_INVALID);
    for (int i = 0; i < 3; i++) {
        fusec_partial_free(sum[i]);
        fusec_cut_free(cut[i]);
        fusec_program_free(p[i]);
    }
    CAPI_END();
}
