/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LLVM IR of the sample kernels: compiled for three vector widths, run at sizes around every length
 * of the trees, compared with plain C, and with each other bit for bit. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/target.h"
#include "tests/support/llvm_run.h"
#include "tests/support/sample_kernels.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- arrays that end where the memory ends --------------------------------------------------- */

typedef struct fence {
    char *pages;
    size_t size; /* without the forbidden page */
    char *data;
} fence;

static bool fence_open(fence *f, const void *data, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    f->size = (bytes + page - 1) / page * page;
    f->pages =
        mmap(NULL, f->size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->pages == MAP_FAILED) return false;
    f->data = f->pages + f->size - bytes;
    memcpy(f->data, data, bytes);
    return mprotect(f->pages + f->size, page, PROT_NONE) == 0;
}

static void fence_close(fence *f) {
    if (f->pages && f->pages != MAP_FAILED)
        munmap(f->pages, f->size + (size_t)sysconf(_SC_PAGESIZE));
}

/* Runs on fenced copies and brings the outputs back. */
static fusec_status run_fenced(fc_llvm_run *r, fc_sample_run *run, fc_class *cls, fc_error *e) {
    fence f[FC_SAMPLE_ARGS] = {{0}};
    void *args[FC_SAMPLE_ARGS];
    fusec_status st = FUSEC_OK;
    for (unsigned i = 0; i < run->nargs; i++) {
        if (!fence_open(&f[i], run->data[i], run->bytes[i])) st = fc_oom(e);
        args[i] = f[i].data;
    }
    int64_t *words = fc_sample_words(run, args);
    if (!words) st = fc_oom(e);
    if (st == FUSEC_OK)
        st = fc_llvm_run_kernel(r, &run->kernel, &run->nest, &run->arena, words, cls, e);
    for (unsigned i = 0; i < run->nargs; i++) {
        if (run->kernel.args.at[i].written) memcpy(run->data[i], f[i].data, run->bytes[i]);
        fence_close(&f[i]);
    }
    return st;
}

/* ---- one kernel at one size, at all widths --------------------------------------------------- */

typedef struct bench {
    fc_llvm_run *run[FC_LLVM_WIDTHS];
    void *first[FC_SAMPLE_ARGS]; /* what the first width gave; the others must give the same */
} bench;

static bool calls_functions(const fc_code *c) {
    for (size_t i = 0; i < c->ins.len; i++)
        if (fc_ops[c->ins.at[i].op].flags & FC_F_TRANSCENDENTAL) return true;
    return false;
}

/* Without fma, functions come from libm. */
static void match_first(bench *b, const fc_llvm_run *r, const fc_sample_run *run) {
    const fc_machine m = fc_llvm_run_machine(r);
    if (!fc_math_rewrite(&m) && calls_functions(&run->kernel.code)) return;
    for (unsigned i = 0; i < run->nargs; i++) {
        if (!run->kernel.args.at[i].written) continue;
        if (!b->first[i]) {
            b->first[i] = malloc(run->bytes[i] + 1);
            if (b->first[i]) memcpy(b->first[i], run->data[i], run->bytes[i]);
        } else if (!run->sample->specials) { /* the bits of a nan may differ */
            FC_EXPECT_MEMEQ(run->data[i], b->first[i], run->bytes[i]);
        }
    }
}

static void try_width(bench *b, fc_llvm_run *r, const fc_sample *s, const int64_t *size,
                      bool want_split) {
    fc_sample_run run;
    fc_class cls;
    fc_error err = {0};
    fusec_status st = fc_sample_open(s, size, &run, &err);
    if (st == FUSEC_OK) st = run_fenced(r, &run, &cls, &err);
    if (st == FUSEC_OK) st = fc_sample_check(&run, &err);
    FC_EXPECT_OK(st, &err);
    if (st == FUSEC_OK) {
        match_first(b, r, &run);
        if (want_split) FC_EXPECT_EQ_I64(cls.llvm.split, 1);
    }
    fc_sample_close(&run);
}

static void try_sizes(bench *b, const fc_sample *s, int64_t n, int64_t m, int64_t d,
                      bool want_split) {
    const int64_t size[FC_SAMPLE_SIZES] = {n, m, d};
    for (size_t w = 0; w < FC_LLVM_WIDTHS; w++) {
        if (!b->run[w]) continue;
        FC_TRACE("%s [%lld, %lld, %lld] with %d bytes", s->name, (long long)n, (long long)m,
                 (long long)d, fc_llvm_run_bytes(b->run[w]));
        try_width(b, b->run[w], s, size, want_split);
        FC_UNTRACE();
    }
    for (size_t i = 0; i < FC_SAMPLE_ARGS; i++) free(b->first[i]);
    memset(b->first, 0, sizeof b->first);
}

/* At all widths; under a sanitizer, as machine code is not instrumented, at one that `number` says.
 */
static bool open_bench(bench *b, size_t number) {
    bool any = false;
    memset(b, 0, sizeof *b);
    for (unsigned w = 0; w < FC_LLVM_WIDTHS; w++) {
        if (FC_SANITIZED && number % FC_LLVM_WIDTHS != w) continue;
        b->run[w] = fc_llvm_run_open(w);
        any = any || b->run[w];
    }
    return any;
}

static void close_bench(bench *b) {
    for (unsigned w = 0; w < FC_LLVM_WIDTHS; w++) fc_llvm_run_close(b->run[w]);
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static const int64_t lengths[] = {1,    2,    3,    7,    15,   16,   17,   31,   33,
                                  64,   127,  128,  129,  255,  256,  384,  640,  1000,
                                  1023, 1024, 1025, 1280, 2049, 3200, 5000, 10000};

static void sweep(bench *b, const fc_sample *s) {
    for (size_t i = 0; i < FC_COUNT(lengths); i++) {
        int64_t l = lengths[i];
        try_sizes(b, s, l, l < 300 ? 5 : 3, l < 300 ? 7 : 2, false);
        if (s->nsizes > 1) try_sizes(b, s, 3, l, 2, false);
        if (s->nsizes > 2) try_sizes(b, s, 2, 3, l, false);
    }
    try_sizes(b, s, 130, 260, 3, false);
    try_sizes(b, s, 19, 67, 70, false);
    try_sizes(b, s, 300, 1, 1, false);
    for (unsigned axis = 0; axis < s->nsizes; axis++)
        if (!s->needs_elements)
            try_sizes(b, s, axis == 0 ? 0 : 3, axis == 1 ? 0 : 5, axis == 2 ? 0 : 2, false);
}

static void run_sample(void *arg) {
    FC_TAKE_ONE_OF(2);
    bench b;
    const fc_sample *s = arg;
    if (!open_bench(&b, (size_t)(s - fc_samples))) FC_SKIP("no LLVM, or no vectors of that width");
    sweep(&b, s);
    close_bench(&b);
}

FC_REGISTER(llvm_samples) {
    for (size_t i = 0; i < fc_nsamples; i++)
        if (!fc_sample_rounds(&fc_samples[i]))
            FC_ADD_TEST("llvm_emit", fc_samples[i].name, run_sample, &fc_samples[i]);
}

/* Few rows, many elements: partials in the workspace, then the finishing function. */
static const struct {
    const char *sample;
    int64_t size[FC_SAMPLE_SIZES];
} splits[] = {
    {"square_error_all", {131072, 0, 0}},
    {"square_error_all", {300001, 0, 0}},
    {"square_error_rows", {3, 200003, 0}},
    {"stats_inner", {5, 131073, 0}},
    {"middle", {300, 3, 700}},
    {"column_sum", {4096, 3, 0}},
    {"column_sum", {10001, 130, 0}},
    {"stats_outer", {5001, 37, 0}},
    {"extremes_outer", {4100, 70, 0}},
};

FC_TEST(llvm_emit, wide_indices) {
    static const char *const samples[] = {"map_broadcast", "map_index", "map_slices", "middle"};
    bench b;
    if (!open_bench(&b, 0)) FC_SKIP("no LLVM");
    for (size_t i = 0; i < FC_COUNT(samples); i++) {
        for (unsigned w = 0; w < FC_LLVM_WIDTHS; w++)
            if (b.run[w]) fc_llvm_run_wide(b.run[w], true);
        try_sizes(&b, fc_sample_find(samples[i]), 19, 37, 23, false);
        try_sizes(&b, fc_sample_find(samples[i]), 130, 3, 5, false);
        for (unsigned w = 0; w < FC_LLVM_WIDTHS; w++) fc_llvm_run_clear(b.run[w]);
    }
    close_bench(&b);
}

FC_TEST(llvm_emit, split) {
    bench b;
    if (!open_bench(&b, 1)) FC_SKIP("no LLVM, or no vectors of that width");
    for (size_t i = 0; i < FC_COUNT(splits); i++) {
        try_sizes(&b, fc_sample_find(splits[i].sample), splits[i].size[0], splits[i].size[1],
                  splits[i].size[2], true);
        for (unsigned w = 0; w < FC_LLVM_WIDTHS; w++) fc_llvm_run_clear(b.run[w]);
    }
    close_bench(&b);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void emit_text(const char *sample, const int64_t *size, const char *features, fc_str *text) {
    fc_sample_run run;
    fc_class cls;
    fc_launch l;
    fc_error e = {0};
    fc_machine m = {.target = FC_TARGET_LLVM, .vector_bytes = 32, .features = features};
    FC_ASSERT_OK(fc_sample_open(fc_sample_find(sample), size, &run, &e), &e);
    FC_EXPECT_OK(fc_llvm_target.schedule(&m, &run.kernel, &run.nest, 4, &run.arena, &cls, &l, &e),
                 &e);
    FC_EXPECT_OK(fc_llvm_target.emit(&m, &run.kernel, &cls, "k", text, &e), &e);
    fc_sample_close(&run);
}

FC_TEST(llvm_emit, text_has_no_sizes) {
    for (size_t i = 0; i < fc_nsamples; i++) {
        fc_str a, b;
        fc_str_init(&a, &fc_libc_alloc);
        fc_str_init(&b, &fc_libc_alloc);
        emit_text(fc_samples[i].name, (const int64_t[]){18, 50, 9}, "", &a);
        emit_text(fc_samples[i].name, (const int64_t[]){24, 53, 10}, "", &b);
        FC_EXPECT_STREQ(a.data, b.data);
        fc_str_free(&a);
        fc_str_free(&b);
    }
}

FC_TEST(llvm_emit, text_is_strict) {
    static const char *const never[] = {" fast ",     " nsw ",        " nuw ",
                                        "fmuladd",    "llvm.maximum", "llvm.minimum",
                                        " contract ", " reassoc ",    " nnan "};
    for (size_t i = 0; i < fc_nsamples; i++) {
        fc_str a;
        fc_str_init(&a, &fc_libc_alloc);
        emit_text(fc_samples[i].name, (const int64_t[]){11, 50, 9}, "", &a);
        for (size_t n = 0; n < FC_COUNT(never); n++)
            FC_EXPECT_TRUE(strstr(a.data, never[n]) == NULL);
        fc_str_free(&a);
    }
}

FC_TEST(llvm_emit, half_conversions) {
    fc_str soft, hard;
    fc_str_init(&soft, &fc_libc_alloc);
    fc_str_init(&hard, &fc_libc_alloc);
    emit_text("map_mixed", (const int64_t[]){11, 0, 0}, "-f16c", &soft);
    emit_text("map_mixed", (const int64_t[]){11, 0, 0}, "+avx2,+f16c", &hard);
    FC_EXPECT_TRUE(strstr(soft.data, " half") == NULL);
    FC_EXPECT_CONTAINS(hard.data, "fptrunc <8 x float>");
    fc_str_free(&soft);
    fc_str_free(&hard);
}

/* Fails the allocation number `left`. */
static void *failing(void *user, void *p, size_t size) {
    long *left = user;
    if (size > 0 && (*left)-- <= 0) return NULL;
    return fc_libc_alloc.fn(fc_libc_alloc.user, p, size);
}

FC_TEST(llvm_emit, out_of_memory) {
    fc_sample_run run;
    fc_class cls;
    fc_launch l;
    fc_error e = {0};
    fc_machine m = {.target = FC_TARGET_LLVM, .vector_bytes = 64, .features = ""};
    FC_ASSERT_OK(fc_sample_open(fc_sample_find("softmax"), (const int64_t[]){3, 5, 0}, &run, &e),
                 &e);
    FC_ASSERT_OK(fc_llvm_target.schedule(&m, &run.kernel, &run.nest, 4, &run.arena, &cls, &l, &e),
                 &e);
    fusec_status st = FUSEC_OUT_OF_MEMORY;
    for (long allowed = 0; st != FUSEC_OK; allowed++) {
        long left = allowed;
        fc_alloc alloc = {failing, &left};
        fc_error why = {0};
        fc_str text;
        fc_str_init(&text, &alloc);
        st = fc_llvm_target.emit(&m, &run.kernel, &cls, "k", &text, &why);
        if (st != FUSEC_OK) FC_EXPECT_EQ_I64(st, FUSEC_OUT_OF_MEMORY);
        fc_str_free(&text);
        if (allowed > 100000) break;
    }
    FC_EXPECT_EQ_I64(st, FUSEC_OK);
    fc_sample_close(&run);
}
