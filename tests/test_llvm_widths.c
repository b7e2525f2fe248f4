/* test_llvm_widths.c - whole programs at every vector width of the processor, against the
 * interpreter, to the bit: what the CPU engine does differently for some shapes (tiles, short rows,
 * stores that pass by the cache, extremes, divisions by one number, kept values).
 *
 * Only operations without functions of libm are used where the narrowest width takes part: it has
 * no fma and calls libm for those. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codegen/cpuinfo.h"
#include "frontend/lang/compile.h"
#include "frontend/lang/parse.h"
#include "runtime/bind.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* ---- processors ------------------------------------------------------------------------------ */

typedef struct processor {
    const char *name, *cpu; /* cpu: LLVM's name; NULL: the host */
    int vector_bytes;
    unsigned features;
} processor;

static const processor processors[] = {
    {"host", NULL, 0, 0},
    {"avx512", "x86-64-v4", 64,
     FC_CPU_AVX512F | FC_CPU_AVX512BW | FC_CPU_AVX512DQ | FC_CPU_AVX512VL},
    {"avx2", "x86-64-v3", 32, FC_CPU_AVX2 | FC_CPU_FMA | FC_CPU_F16C},
    {"sse2", "x86-64", 16, 0},
};

enum { MOST_INPUTS = 3, MOST_OUTPUTS = 4, PAD = 256 };

typedef struct target {
    fc_context *ctx;
    fc_device *device;
} target;

static bool open_target(target *t, const processor *p, size_t cache) {
    fc_error e = {0};
    fc_config c;
    fc_cpuinfo host;
    fc_config_init(&c);
    c.cache_dir = "";
    c.threads = 2;
    fc_cpuinfo_get(&host);
#if !defined(__x86_64__)
    if (p && p->cpu) return false;
#endif
    if (p && (host.features & p->features) != p->features) return false;
    if (fc_context_new(&c, &t->ctx, &e)) return false;
    if (fc_context_device(t->ctx, p ? "cpu" : "interp", &t->device, NULL, &e)) {
        fc_context_free(t->ctx);
        return false;
    }
    if (p && p->cpu) {
        t->device->machine.cpu = p->cpu;
        t->device->machine.vector_bytes = p->vector_bytes;
    }
    t->device->machine.cache = cache;
    return true;
}

/* ---- programs -------------------------------------------------------------------------------- */

typedef struct input {
    const char *name;
    fusec_dtype dtype;
    uint32_t rank;
    int64_t shape[4];
} input;

typedef struct arrays {
    uint32_t n;
    fc_tensor t[MOST_OUTPUTS];
    size_t bytes[MOST_OUTPUTS];
    char *base[MOST_OUTPUTS];
    int64_t shape[16];
} arrays;

static size_t bytes_of(const fc_tensor *t) {
    size_t n = fc_dtypes[t->dtype].bytes;
    for (uint32_t i = 0; i < t->rank; i++) n *= (size_t)t->shape[i];
    return n;
}

/* Memory `skew` bytes past an aligned place, with a guard around it. */
static void place(arrays *a, uint32_t i, size_t skew) {
    a->bytes[i] = bytes_of(&a->t[i]);
    a->base[i] = aligned_alloc(64, (a->bytes[i] + 2 * PAD + 63) / 64 * 64);
    memset(a->base[i], 0x5a, a->bytes[i] + 2 * PAD);
    a->t[i].data = a->base[i] + 64 + skew;
}

static bool guards_hold(const arrays *a, uint32_t i) {
    const char *data = a->t[i].data, *p = a->base[i];
    for (; p < data; p++)
        if (*p != 0x5a) return false;
    for (p = data + a->bytes[i]; p < a->base[i] + a->bytes[i] + 2 * PAD; p++)
        if (*p != 0x5a) return false;
    return true;
}

static void free_arrays(arrays *a) {
    for (uint32_t i = 0; i < a->n; i++) free(a->base[i]);
}

static fusec_status compile(const char *text, const input *in, uint32_t n, fc_graph *g,
                            fc_error *e) {
    fc_lang_input given[MOST_INPUTS] = {{0}};
    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_lang_program p = {0};
    for (uint32_t i = 0; i < n; i++)
        given[i] = (fc_lang_input){.name = in[i].name,
                                   .kind = FC_LANG_TYPE,
                                   .has_dtype = true,
                                   .dtype = in[i].dtype,
                                   .rank = in[i].rank,
                                   .shape = in[i].shape};
    fc_graph_init(g, &fc_libc_alloc, NULL);
    fc_diags_init(&ds, &fc_libc_alloc);
    FC_TRY(fc_source_init(&src, &fc_libc_alloc, "<test>", text, strlen(text), e));
    fusec_status s = fc_parse_snippet(&src, &ds, &ast);
    fc_lang_request rq = {.snippet = &ast,
                          .inputs = given,
                          .input_count = n,
                          .complete = true,
                          .default_float = FUSEC_F32};
    if (!s) s = fc_lang_compile(&rq, g, &p, &ds);
    if (s) {
        fc_str why;
        fc_str_init(&why, &fc_libc_alloc);
        fc_diags_text(&ds, false, &why);
        (void)fc_fail(e, s, "%s", why.data);
        fc_str_free(&why);
    }
    fc_lang_program_free(&p);
    fc_ast_free(&ast);
    fc_diags_free(&ds);
    fc_source_free(&src);
    return s;
}

static fusec_status run(const target *t, const fc_graph *g, const arrays *in, const size_t *skew,
                        arrays *out, fc_error *e) {
    fc_program *p = NULL;
    FC_TRY(fc_program_new(t->ctx, g, &(fc_program_options){.device = t->device}, &p, e));
    fusec_status s = fc_program_shapes(p, in->n, in->t, 0, NULL, out->shape, e);
    int64_t *at = out->shape;
    out->n = s ? 0 : (uint32_t)g->outputs.len;
    for (uint32_t i = 0; i < out->n; i++) {
        const fc_node node = g->outputs.at[i].node;
        out->t[i] = (fc_tensor){
            .dtype = (fusec_dtype)fc_at(g, node)->dtype, .rank = fc_rank(g, node), .shape = at};
        at += out->t[i].rank;
        place(out, i, skew[i]);
    }
    if (!s) s = fc_program_run(p, NULL, in->n, in->t, 0, NULL, out->n, out->t, e);
    fc_program_free(p);
    return s;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool same_element(fusec_dtype t, const char *a, const char *b) {
    if (memcmp(a, b, fc_dtypes[t].bytes) == 0) return true;
    uint64_t x = 0, y = 0;
    memcpy(&x, a, fc_dtypes[t].bytes);
    memcpy(&y, b, fc_dtypes[t].bytes);
    return fc_is_float(t) && fc_const_value(t, x) != fc_const_value(t, x) &&
           fc_const_value(t, y) != fc_const_value(t, y);
}

static void compare(const arrays *want, const arrays *got) {
    for (uint32_t i = 0; i < want->n; i++) {
        const fusec_dtype t = want->t[i].dtype;
        const size_t n = fc_dtypes[t].bytes;
        FC_EXPECT_TRUE(guards_hold(got, i));
        for (size_t k = 0; k < want->bytes[i]; k += n) {
            const char *a = (const char *)want->t[i].data + k,
                       *b = (const char *)got->t[i].data + k;
            if (same_element(t, a, b)) continue;
            uint64_t x = 0, y = 0;
            memcpy(&x, a, n);
            memcpy(&y, b, n);
            fc_test_fail(__FILE__, __LINE__, "result %u, element %zu: %llx, but expected %llx", i,
                         k / n, (unsigned long long)y, (unsigned long long)x);
            break;
        }
    }
}

typedef struct check {
    const char *text;
    input in[MOST_INPUTS];
    uint32_t n;
    void (*fill)(const fc_tensor *t, uint64_t seed);
    size_t cache; /* of the machine; 1: everything is streamed */
    size_t skew[MOST_OUTPUTS];
    bool functions; /* of libm: not at the narrowest width */
    bool own;       /* compared with the CPU at its own width and with a large cache */
} check;

static void run_check(const check *c) {
    fc_graph g;
    fc_error e = {0};
    target t;
    arrays in = {.n = c->n}, want = {0};
    const size_t aligned[MOST_OUTPUTS] = {0};
    FC_ASSERT_OK(compile(c->text, c->in, c->n, &g, &e), &e);
    for (uint32_t i = 0; i < c->n; i++) {
        in.t[i] =
            (fc_tensor){.dtype = c->in[i].dtype, .rank = c->in[i].rank, .shape = c->in[i].shape};
        place(&in, i, 0);
        c->fill(&in.t[i], 7 + i);
    }
    FC_ASSERT_TRUE(open_target(&t, c->own ? &processors[0] : NULL, 0));
    FC_EXPECT_OK(run(&t, &g, &in, aligned, &want, &e), &e);
    fc_context_free(t.ctx);
    for (size_t k = 0; k < FC_COUNT(processors); k++) {
        if ((c->functions || c->own) && processors[k].vector_bytes == 16) continue;
        if (!open_target(&t, &processors[k], c->cache)) continue;
        arrays got = {0};
        FC_TRACE("%s on %s", c->text, processors[k].name);
        FC_EXPECT_OK(run(&t, &g, &in, c->skew, &got, &e), &e);
        compare(&want, &got);
        FC_UNTRACE();
        free_arrays(&got);
        fc_context_free(t.ctx);
    }
    free_arrays(&want);
    free_arrays(&in);
    fc_graph_free(&g);
}

/* ---- data ------------------------------------------------------------------------------------ */

static uint64_t next_random(uint64_t *s) {
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Numbers whose sums round in every step; small integers. */
static void plain(const fc_tensor *t, uint64_t seed) {
    const size_t n = fc_dtypes[t->dtype].bytes;
    uint64_t r = seed;
    for (size_t i = 0; i < bytes_of(t) / n; i++) {
        const double v = ((double)(next_random(&r) >> 11) * 0x1p-53 - 0.5) * 40;
        const uint64_t bits = fc_const_bits(t->dtype, fc_is_float(t->dtype) ? v : (double)(int)v);
        memcpy((char *)t->data + i * n, &bits, n);
    }
}

/* Few values, so that there are ties; zeros of both signs; now and then an infinity or a nan. */
static void ties(const fc_tensor *t, uint64_t seed) {
    uint64_t r = seed;
    const double values[] = {0.0, -0.0, -1, -2, -0.0, 0.0, -3, -1};
    for (size_t i = 0; i < bytes_of(t) / 4; i++) {
        const uint64_t x = next_random(&r);
        float v = (float)values[x % 8];
        if (seed % 3 == 1 && x >> 8 & 3) v = -1.5f; /* zeros only here and there */
        if (x >> 16 % 997 == 0) v = -INFINITY;
        if ((x >> 20) % 2999 == 0) v = NAN;
        ((float *)t->data)[i] = v;
    }
}

/* All bits are possible. */
static void any_bits(const fc_tensor *t, uint64_t seed) {
    uint64_t r = seed;
    const size_t n = fc_dtypes[t->dtype].bytes;
    for (size_t i = 0; i < bytes_of(t) / n; i++) {
        uint64_t x = next_random(&r);
        memcpy((char *)t->data + i * n, &x, n);
    }
}

/* Every 16 bits in turn; a few of them are numbers around 1 with all mantissas. */
static void every(const fc_tensor *t, uint64_t seed) {
    const size_t n = bytes_of(t) / 2;
    for (size_t i = 0; i < n; i++) {
        const uint16_t bits = (uint16_t)(n < 65536 ? 0x3f80 + (i * 2 + seed) % 128 : i);
        memcpy((char *)t->data + 2 * i, &bits, 2);
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64, FUSEC_I8, FUSEC_BF16, FUSEC_I64};

FC_TEST(llvm_widths, tiles) {
    const int64_t sizes[][2] = {{64, 64}, {70, 33}, {17, 130}, {8, 200}, {131, 16}};
    for (size_t i = 0; i < FC_COUNT(sizes) * FC_COUNT(dtypes); i++) {
        const int64_t n = sizes[i % FC_COUNT(sizes)][0], m = sizes[i % FC_COUNT(sizes)][1];
        const fusec_dtype t = dtypes[i / FC_COUNT(sizes)];
        check c = {.text = "a.T + b + c", .n = 3, .fill = plain};
        c.in[0] = (input){"a", t, 2, {m, n}};
        c.in[1] = (input){"b", t, 2, {n, m}};
        c.in[2] = (input){"c", t, 2, {n, 1}};
        run_check(&c);
    }
    check c = {
        .text = "transpose(a, (2, 0, 1))*2 + transpose(b, (1, 2, 0))", .n = 2, .fill = plain};
    c.in[0] = (input){"a", FUSEC_F32, 3, {19, 35, 21}};
    c.in[1] = (input){"b", FUSEC_F32, 3, {35, 21, 19}};
    run_check(&c);
}

FC_TEST(llvm_widths, short_rows) {
    static const char *const texts[] = {
        "sum(x, axis=1)", "(argmax(x, axis=1), max(x, axis=1))", "var(x, axis=1)",
        "m = mean(x, axis=1, keepdims=true); (x - m) / (max(x, axis=1, keepdims=true) + y)"};
    const int64_t counts[] = {1, 2, 3, 8, 9, 16, 17, 64, 100, 127};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        check c = {.text = texts[i / FC_COUNT(counts)], .n = 1, .fill = plain};
        const int64_t count = counts[i % FC_COUNT(counts)];
        c.in[0] = (input){"x", FUSEC_F32, 2, {i % 2 ? 67 : 200, count}};
        c.in[1] = (input){"y", FUSEC_F32, 1, {count}};
        c.n = strstr(c.text, "+ y") ? 2 : 1;
        run_check(&c);
    }
    check c = {
        .text = "d = a[:, None, :] - b[None, :, :]; sum(d*d, axis=2)", .n = 2, .fill = plain};
    c.in[0] = (input){"a", FUSEC_F64, 2, {37, 3}};
    c.in[1] = (input){"b", FUSEC_F64, 2, {41, 3}};
    run_check(&c);
}

/* Vectors along the rows, joined across them: every number of vectors, masked and whole, and rows
 * that do not follow each other. */
/* Columns from memory, in wide blocks, with spans and without. */
FC_TEST(llvm_widths, wide_columns) {
    static const char *const texts[] = {"sum(x, axis=0)", "max(abs(x - y), axis=0)",
                                        "(argmin(x, axis=0), sum(x, axis=0))", "var(x, axis=0)",
                                        "sum(x[::3]*y[:, None], axis=0)"};
    for (size_t i = 0; i < 2 * FC_COUNT(texts); i++) {
        const bool bf16 = i % FC_COUNT(texts) == 1, thinned = i % FC_COUNT(texts) == 4;
        const int64_t width = i < FC_COUNT(texts) ? 4200 : 141;
        check c = {.text = texts[i % FC_COUNT(texts)], .n = 1, .fill = plain, .cache = 1};
        c.in[0] = (input){"x", bf16 ? FUSEC_BF16 : FUSEC_F32, 2, {thinned ? 1900 : 633, width}};
        c.in[1] = (input){"y", bf16 ? FUSEC_BF16 : FUSEC_F32, 1, {thinned ? 634 : width}};
        c.n = strstr(c.text, "y") ? 2 : 1;
        run_check(&c);
    }
    check c = {.text = "sum(x*x, axis=1)", .n = 1, .fill = plain, .cache = 1};
    c.in[0] = (input){"x", FUSEC_F32, 3, {128, 130, 133}};
    run_check(&c);
    c.in[0] = (input){"x", FUSEC_F32, 3, {2, 2300, 133}};
    run_check(&c);
}

/* Pairs of rows: what lies across the lanes is the same for all rows of a block. */
FC_TEST(llvm_widths, pairs_of_short_rows) {
    static const char *const texts[] = {
        "sum((a[:, None, :] - b[None, :, :])**2, axis=-1)",
        "(argmax(a[:, None, :] * b[None, :, :], axis=-1), mean(a[:, None, :] + b, axis=-1))",
        "x = a[:, None, :] - b[None, :, :]; x*max(x, axis=-1, keepdims=true)",
        "sum(exp(a[:, None, :] - b[None, :, :]), axis=-1)",
        "max(sum(a*a) - b[None, None, :, :] + c[:, :, None, :], axis=-1)",
        "sum(a[:, None, :]*(b[None, :, :] - b[None, ::-1, :])*b[None, :, ::-1], axis=-1)"};
    const int64_t counts[] = {1, 2, 3, 5, 7, 8, 16, 41};
    const int64_t sizes[][2] = {{5, 16}, {64, 33}, {70, 130}, {3, 64}};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        check c = {.text = texts[i / FC_COUNT(counts)], .n = 2, .fill = plain};
        const int64_t count = counts[i % FC_COUNT(counts)];
        const int64_t *size = sizes[(i + i / FC_COUNT(counts)) % FC_COUNT(sizes)];
        const fusec_dtype t = i % 3 == 2 ? FUSEC_BF16 : FUSEC_F32;
        c.in[0] = (input){"a", t, 2, {size[0], count}};
        c.in[1] = (input){"b", t, 2, {size[1], count}};
        c.in[2] = (input){"c", t, 3, {2, size[0], count}};
        c.n = strstr(c.text, "+ c") ? 3 : 2;
        c.own = c.functions = strstr(c.text, "exp") != NULL;
        run_check(&c);
    }
}

FC_TEST(llvm_widths, packed_rows) {
    static const char *const texts[] = {"sum(x, axis=1)", "max(x, axis=1)",
                                        "(y, sum(x[:, 1:]*y[:, :-1] + k, axis=1))"};
    const int64_t counts[] = {4, 7, 8, 15, 16, 17, 32, 33, 48, 65, 96, 112, 127};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        check c = {.text = texts[i % FC_COUNT(texts)], .n = 1, .fill = i % 2 ? plain : any_bits};
        const fusec_dtype t = dtypes[i * 7 / 2 % FC_COUNT(dtypes)];
        const int64_t rows = i % 2 ? 67 : 16, count = counts[i / FC_COUNT(texts)];
        c.in[0] = (input){"x", t, 2, {rows, count}};
        c.in[1] = (input){"y", t, 2, {rows, count}};
        c.in[2] = (input){"k", t, 1, {1}};
        if (strstr(c.text, "+ k")) c.n = 3;
        run_check(&c);
    }
    check zeros = {.text = "(sum(x - x - 0.0, axis=1), sum(-0.0*abs(x), axis=1))", .n = 1};
    zeros.fill = plain;
    zeros.in[0] = (input){"x", FUSEC_F32, 2, {40, 20}};
    run_check(&zeros);
}

FC_TEST(llvm_widths, streams) {
    const int64_t sizes[] = {1, 15, 64, 1000, 4099, 70001};
    for (size_t i = 0; i < FC_COUNT(sizes) * 6; i++) {
        const int64_t n = sizes[i % FC_COUNT(sizes)];
        check c = {.text = "(x*2 + 1, f64(x) - 1, x > 0)", .n = 1, .fill = plain, .cache = 1};
        c.in[0] = (input){"x", FUSEC_F32, 1, {n}};
        c.skew[0] = 4 * (i / FC_COUNT(sizes));
        c.skew[1] = 8 * (i / FC_COUNT(sizes) % 2);
        c.skew[2] = i / FC_COUNT(sizes);
        run_check(&c);
        c.text = "x*2 + 1";
        run_check(&c);
    }
    const int64_t rows[][2] = {{3, 1024}, {5, 1003}, {9, 16}, {7, 4096}};
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        check c = {.text = "x - mean(x, axis=1, keepdims=true)", .n = 1, .fill = plain, .cache = 1};
        c.in[0] = (input){"x", FUSEC_F32, 2, {rows[i][0], rows[i][1]}};
        c.skew[0] = 4 * i;
        run_check(&c);
        c.text = "x + x[:, :1]";
        run_check(&c);
    }
}

/* Memory is asked for ahead of the loads, also beyond the ends of arrays; transposed tiles are
 * streamed where rows are whole lines. */
FC_TEST(llvm_widths, asks_ahead) {
    static const char *const softmax =
        "e = exp(x - max(x, axis=1, keepdims=true)); e / sum(e, axis=1, keepdims=true)";
    static const struct {
        const char *text;
        int64_t x[2], y[2];
    } cases[] = {
        {"x.T + y", {64, 96}, {96, 64}},
        {"x.T + y", {50, 80}, {80, 50}},
        {"x.T * 2", {80, 130}, {1, 1}},
        {"(x.T + y, f64(x.T), y > 0)", {128, 70}, {70, 128}},
        {"exp(x) + y", {3, 1001}, {3, 1001}},
        {"sum(exp(x), axis=1)", {5, 3000}, {1, 1}},
        {"sum(exp(x), axis=1)", {2, 140000}, {1, 1}},
        {"mean(x, axis=1, keepdims=true) * x", {4, 20000}, {1, 1}},
        {"(x - mean(x, axis=1, keepdims=true)) * y", {40, 30}, {1, 30}},
    };
    for (size_t i = 0; i < FC_COUNT(cases) * 2; i++) {
        const size_t n = i % FC_COUNT(cases);
        check c = {.text = cases[n].text, .n = 2, .fill = plain, .cache = 1};
        c.own = strstr(c.text, "exp") != NULL;
        if (!strchr(c.text, 'y')) c.n = 1;
        c.in[0] = (input){"x", FUSEC_F32, 2, {cases[n].x[0], cases[n].x[1]}};
        c.in[1] = (input){"y", FUSEC_F32, 2, {cases[n].y[0], cases[n].y[1]}};
        c.skew[0] = i == n ? 0 : 4;
        run_check(&c);
    }
    const int64_t rows[][2] = {{5, 1003}, {3, 20000}, {200, 40}, {33, 256}};
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        check c = {.text = softmax, .n = 1, .fill = plain, .cache = 1, .own = true};
        c.in[0] = (input){"x", FUSEC_F32, 2, {rows[i][0], rows[i][1]}};
        run_check(&c);
    }
}

FC_TEST(llvm_widths, extremes) {
    static const char *const texts[] = {"(max(x, axis=1), argmin(x, axis=1))",
                                        "max(x, axis=1)",
                                        "min(x, axis=1)",
                                        "argmax(x, axis=1)",
                                        "argmin(x, axis=1)",
                                        "max(-x, axis=1)",
                                        "argmax(i32(x), axis=1)"};
    const int64_t counts[] = {128, 1000, 1152, 5120, 140000};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        check c = {.text = texts[i / FC_COUNT(counts)], .n = 1, .fill = ties};
        c.in[0] = (input){"x", FUSEC_F32, 2, {3 + (int64_t)i % 4, counts[i % FC_COUNT(counts)]}};
        run_check(&c);
        c.fill = plain;
        run_check(&c);
    }
}

FC_TEST(llvm_widths, divisions) {
    const fusec_dtype floats[] = {FUSEC_F32, FUSEC_F64, FUSEC_F16, FUSEC_BF16};
    for (size_t i = 0; i < 3 * FC_COUNT(floats); i++) {
        check c = {.text = "(x / s, (x - 1) / 3)", .n = 2, .fill = i % 2 ? any_bits : plain};
        c.in[0] = (input){"x", floats[i / 3], 2, {2000, 48}};
        c.in[1] = (input){"s", floats[i / 3], 2, {2000, 1}};
        run_check(&c);
    }
}

/* All values of bf16, by divisors of every length: quotients near to halfway between two. */
FC_TEST(llvm_widths, divisions_of_bf16) {
    check c = {.text = "(x / s, x / s > y, where(x > 0, -x, floor(x)))", .n = 3, .fill = every};
    c.in[0] = (input){"x", FUSEC_BF16, 2, {1, 65536}};
    c.in[1] = (input){"s", FUSEC_BF16, 2, {33, 1}};
    c.in[2] = (input){"y", FUSEC_BF16, 2, {33, 1}};
    run_check(&c);
    c.text = "x / s";
    c.in[1] = (input){"s", FUSEC_BF16, 2, {64, 1}};
    c.n = 2;
    run_check(&c);
}

/* Quotients that are whole up to rounding, large ones, infinities, subnormals, and masked tails. */
FC_TEST(llvm_widths, remainders) {
    const fusec_dtype floats[] = {FUSEC_F32, FUSEC_F64, FUSEC_BF16};
    for (size_t i = 0; i < 4 * FC_COUNT(floats); i++) {
        check c = {.text = i % 2 ? "(fmod(x, y), x % y, x // y, fmod(k, y))"
                                 : "(fmod(y*7, y), fmod(x*100, y), fmod(y*k, y))",
                   .n = 3,
                   .fill = i % 4 < 2 ? plain : any_bits};
        c.in[0] = (input){"x", floats[i / 4], 1, {4001}};
        c.in[1] = (input){"y", floats[i / 4], 1, {4001}};
        c.in[2] = (input){"k", floats[i / 4], 1, {1}};
        run_check(&c);
    }
}

FC_TEST(llvm_widths, var_at_every_count) {
    const int64_t counts[] = {129, 1023, 1024, 1025, 3000, 4096};
    for (size_t i = 0; i < FC_COUNT(counts); i++) {
        check c = {
            .text = "(var(x, axis=1), var(x, axis=0), std(y, axis=1))", .n = 2, .fill = plain};
        c.in[0] = (input){"x", FUSEC_F32, 2, {40, counts[i]}};
        c.in[1] = (input){"y", FUSEC_F64, 2, {5, counts[i]}};
        run_check(&c);
    }
}

/* The functions are not the interpreter's: the CPU's own widths are compared with one another. */
FC_TEST(llvm_widths, kept_values) {
    const int64_t counts[] = {3, 16, 100, 1000, 8192, 8193, 16384, 16385};
    for (size_t i = 0; i < FC_COUNT(counts); i++) {
        input x = {"x", FUSEC_F32, 2, {30, counts[i]}};
        fc_graph g;
        fc_error e = {0};
        arrays in = {.n = 1}, first = {0};
        const size_t aligned[MOST_OUTPUTS] = {0};
        FC_ASSERT_OK(compile("e = exp(x - max(x, axis=1, keepdims=true)); e / sum(e, axis=1, "
                             "keepdims=true)",
                             &x, 1, &g, &e),
                     &e);
        in.t[0] = (fc_tensor){.dtype = x.dtype, .rank = 2, .shape = x.shape};
        place(&in, 0, 0);
        plain(&in.t[0], 3);
        for (size_t k = 0; k < FC_COUNT(processors); k++) {
            target t;
            arrays got = {0};
            if (processors[k].vector_bytes == 16 || !open_target(&t, &processors[k], 0)) continue;
            FC_EXPECT_OK(run(&t, &g, &in, aligned, &got, &e), &e);
            fc_context_free(t.ctx);
            if (first.n) compare(&first, &got);
            if (first.n)
                free_arrays(&got);
            else
                first = got;
        }
        free_arrays(&first);
        free_arrays(&in);
        fc_graph_free(&g);
    }
}

/* ---- AArch64, when its tools are here ----------------------------------------------------------
 *
 * The text for NEON goes through llc and a cross compiler and runs under qemu: in.bin has the
 * numbers of a launch, the parameter block and the arrays, out.bin gets the results. */

static const char neon_main[] =
    "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "void k(const int64_t *, int64_t, int64_t);\n"
    "void k_finish(const int64_t *, int64_t, int64_t) __attribute__((weak));\n"
    "int main(void) {\n"
    "    enum { WORDS, ARGS, UNITS, UNIT, ROWS, SPACE, WORKSPACE, FINISH, N };\n"
    "    int64_t h[N], bytes[32], w[256];\n"
    "    FILE *f = fopen(\"in.bin\", \"rb\"), *o = fopen(\"out.bin\", \"wb\");\n"
    "    if (!f || !o || fread(h, 8, N, f) != N) return 1;\n"
    "    if (fread(bytes, 8, h[ARGS], f) != h[ARGS] || fread(w, 8, h[WORDS], f) != h[WORDS]) "
    "return 2;\n"
    "    for (int i = 0; i < h[ARGS]; i++) {\n"
    "        char *p = aligned_alloc(64, (llabs(bytes[i]) + 128) / 64 * 64);\n"
    "        w[i] = (int64_t)(intptr_t)p;\n"
    "        if (bytes[i] > 0 && fread(p, 1, bytes[i], f) != bytes[i]) return 3;\n"
    "    }\n"
    "    w[h[WORKSPACE]] = (int64_t)(intptr_t)malloc(h[SPACE] + 64);\n"
    "    for (int64_t u = 0; u < h[UNITS]; u += h[UNIT])\n"
    "        k(w, u, u + h[UNIT] < h[UNITS] ? u + h[UNIT] : h[UNITS]);\n"
    "    if (h[FINISH]) k_finish(w, 0, h[ROWS]);\n"
    "    for (int i = 0; i < h[ARGS]; i++)\n"
    "        if (bytes[i] < 0) fwrite((void *)(intptr_t)w[i], 1, -bytes[i], o);\n"
    "    return fclose(o) ? 4 : 0;\n"
    "}\n";

static bool write_launch(const char *path, const fc_kernel *k, const fc_bound *b,
                         const arrays *in) {
    const fc_bound_step *s = &b->steps[0];
    const int64_t head[] = {s->layout.words,
                            (int64_t)k->args.len,
                            s->launch.units,
                            s->launch.unit,
                            s->nest.rows,
                            (int64_t)s->launch.workspace_bytes,
                            s->layout.extra + FC_PB_WORKSPACE,
                            s->launch.finish};
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    fwrite(head, 8, FC_COUNT(head), f);
    for (size_t i = 0; i < k->args.len; i++) {
        int64_t bytes = (int64_t)b->bytes[k->args.at[i].buffer];
        if (k->args.at[i].written) bytes = -bytes;
        fwrite(&bytes, 8, 1, f);
    }
    fwrite(s->words, 8, s->layout.words, f);
    for (size_t i = 0; i < k->args.len; i++)
        if (!k->args.at[i].written)
            fwrite(in->t[k->args.at[i].buffer].data, 1, b->bytes[k->args.at[i].buffer], f);
    return fclose(f) == 0;
}

static void read_results(const char *path, const fc_kernel *k, uint32_t nin, arrays *out) {
    FILE *f = fopen(path, "rb");
    FC_ASSERT_TRUE(f != NULL);
    for (size_t i = 0; i < k->args.len; i++) {
        if (!k->args.at[i].written) continue;
        const uint32_t o = k->args.at[i].buffer - nin;
        FC_EXPECT_EQ_I64((int64_t)fread(out->t[o].data, 1, out->bytes[o], f),
                         (int64_t)out->bytes[o]);
    }
    fclose(f);
}

static bool emit_neon(shell *sh, const target *t, fc_program *p, const fc_bound *b) {
    fc_str text;
    fc_error e = {0};
    fc_str_init(&text, &fc_libc_alloc);
    FC_EXPECT_OK(fc_llvm_target.emit(&t->device->machine, &p->plan->steps.at[0]->kernel,
                                     &b->steps[0].cls, "k", &text, &e),
                 &e);
    bool ok = shell_write(sh, "k.ll", text.data) && shell_write(sh, "main.c", neon_main);
    fc_str_free(&text);
    return ok && shell_run(sh, "\"$LLC\" -mtriple=aarch64-linux-gnu -relocation-model=pic -O2 "
                               "-filetype=obj k.ll -o k.o && aarch64-linux-gnu-gcc -static -O1 -w "
                               "main.c k.o -lm -o k");
}

static void run_neon(shell *sh, const check *c) {
    fc_graph g;
    fc_error e = {0};
    target plain_target, t;
    fc_program *p = NULL;
    fc_bound *b = NULL;
    arrays in = {.n = c->n}, want = {0}, got = {0};
    const size_t aligned[MOST_OUTPUTS] = {0};
    char path[256];
    FC_ASSERT_OK(compile(c->text, c->in, c->n, &g, &e), &e);
    for (uint32_t i = 0; i < c->n; i++) {
        in.t[i] =
            (fc_tensor){.dtype = c->in[i].dtype, .rank = c->in[i].rank, .shape = c->in[i].shape};
        place(&in, i, 0);
        c->fill(&in.t[i], 7 + i);
    }
    FC_ASSERT_TRUE(open_target(&plain_target, NULL, 0) &&
                   open_target(&t, &processors[0], c->cache));
    t.device->machine.vector_bytes = 16;
    t.device->machine.cpu = "generic";
    t.device->machine.features = "+neon";
    FC_EXPECT_OK(run(&plain_target, &g, &in, aligned, &want, &e), &e);
    FC_EXPECT_OK(run(&plain_target, &g, &in, aligned, &got, &e), &e);
    for (uint32_t i = 0; i < got.n; i++) memset(got.t[i].data, 0, got.bytes[i]);
    FC_ASSERT_OK(fc_program_new(t.ctx, &g, &(fc_program_options){.device = t.device}, &p, &e), &e);
    FC_ASSERT_OK(fc_bound_get(p, in.n, in.t, 0, NULL, 64, false, &b, &e), &e);
    FC_EXPECT_EQ_I64((int64_t)p->plan->steps.len, 1);
    FC_TRACE("%s for NEON", c->text);
    snprintf(path, sizeof path, "%s/in.bin", sh->folder);
    if (write_launch(path, &p->plan->steps.at[0]->kernel, b, &in) && emit_neon(sh, &t, p, b) &&
        sh->code == 0 && shell_run(sh, "qemu-aarch64 ./k") && sh->code == 0) {
        snprintf(path, sizeof path, "%s/out.bin", sh->folder);
        read_results(path, &p->plan->steps.at[0]->kernel, in.n, &got);
        compare(&want, &got);
    } else {
        FC_FAIL("code %d: %s", sh->code, sh->err ? sh->err : "");
    }
    FC_UNTRACE();
    fc_bound_release(p, b);
    fc_program_free(p);
    fc_context_free(t.ctx);
    fc_context_free(plain_target.ctx);
    free_arrays(&want);
    free_arrays(&got);
    free_arrays(&in);
    fc_graph_free(&g);
}

FC_TEST(llvm_widths, neon_under_emulation) {
    static const struct {
        const char *text;
        int64_t x[2], y[2];
        size_t cache;
    } cases[] = {
        {"x*2 + y", {3, 1001}, {3, 1001}, 1},
        {"x.T + y", {37, 50}, {50, 37}, 0},
        {"sum(x*y, axis=1)", {5, 3000}, {5, 3000}, 0},
        {"sum(x, axis=0) + y", {100, 33}, {1, 33}, 0},
        {"var(x, axis=1) * y", {40, 30}, {1, 40}, 0},
        {"argmax(x + y, axis=1)", {3, 5000}, {1, 1}, 0},
        {"max(x, axis=1) / y", {7, 2048}, {1, 7}, 0},
        {"x / sum(y, axis=1, keepdims=true)", {9, 256}, {9, 256}, 0},
        {"x > y ? x : f32(f16(y))", {9, 256}, {9, 256}, 0},
    };
    shell sh;
    if (!shell_open(&sh)) return;
    if (!shell_run(&sh, "command -v qemu-aarch64 aarch64-linux-gnu-gcc >/dev/null && "
                        "ls /usr/lib/llvm-*/bin/llc | sort -V | tail -1") ||
        sh.code != 0 || sh.out_len < 4) {
        shell_close(&sh);
        FC_SKIP("needs qemu-aarch64, aarch64-linux-gnu-gcc and llc");
    }
    sh.out[strcspn(sh.out, "\n")] = 0;
    setenv("LLC", sh.out, 1);
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        check c = {.text = cases[i].text, .n = 2, .fill = plain, .cache = cases[i].cache};
        if (!strstr(c.text, "y")) c.n = 1;
        c.in[0] = (input){"x", FUSEC_F32, 2, {cases[i].x[0], cases[i].x[1]}};
        c.in[1] = (input){"y", FUSEC_F32, 2, {cases[i].y[0], cases[i].y[1]}};
        if (cases[i].y[0] == 1) {
            c.in[1].rank = 1;
            c.in[1].shape[0] = cases[i].y[1];
        }
        run_neon(&sh, &c);
    }
    unsetenv("LLC");
    shell_close(&sh);
}
