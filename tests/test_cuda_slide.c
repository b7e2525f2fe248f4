/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cuda_slide.c - two maps in one launch, of which the second reads rows of what the first
 * makes (cuda_slide.c): which kernels become one, and that its CUDA C, run on the host, gives the
 * bits of the kernels one after the other, and what the oracle wants. */
#include <stdio.h>
#include <stdlib.h>

#include "codegen/cuda/cuda_slide_facts.h"
#include "frontend/lang/compile.h"
#include "frontend/lang/parse.h"
#include "tests/support/cuda_joined.h"
#include "tests/support/test.h"

/* Arrays [h, w], or [b, h, w] of programs that say so, and weights [k]. */
typedef struct sample {
    const char *text;
    int64_t h, w;
    uint32_t align; /* of arrays */
} sample;

/* ---- programs -------------------------------------------------------------------------------- */

#define TAPS(t, mode, n, r)                                                                        \
    "export def f(u: " t "[h, w], g: " t "[k]) -> " t "[h, w] {\n"                                 \
    "    a = boundary(u, mode=\"" mode "\")\n"                                                     \
    "    t[y in 0..h, x in 0..w] = " t "(sum[i in 0.." n "](g[i]*a[y, x + i - " r "]))\n"          \
    "    b = boundary(materialize(t), mode=\"" mode "\")\n"                                        \
    "    v[y in 0..h, x in 0..w] = " t "(sum[i in 0.." n "](g[i]*b[y + i - " r ", x]))\n"          \
    "    return v\n"                                                                               \
    "}\n"

/* Other modes along the columns than along the rows; rows that are not symmetric; a value that is
 * spread over columns, and one that is spread over rows; work before, between and behind. */
#define MIXED                                                                                      \
    "export def f(u: f32[h, w], g: f32[k]) -> f32[h, w] {\n"                                       \
    "    a = boundary(u, mode=\"wrap\")\n"                                                         \
    "    t[y in 0..h, x in 0..w] = a[y, x - 1]*2 + a[y, x + 5] + u[y, x]*y + x\n"                  \
    "    t = materialize(t)\n"                                                                     \
    "    b = boundary(t, mode=\"reflect\")\n"                                                      \
    "    v[y in 0..h, x in 0..w] = t[y, x]*3 - b[y - 3, x] - b[y + 1, x]/g[2] + u[y, x] - y\n"     \
    "    return v\n"                                                                               \
    "}\n"

/* Slices: what is passed on has other extents than what is made of it. */
#define OPEN                                                                                       \
    "export def f(u: f32[h, w], g: f32[k]) -> f32[h - 4, w - 2] {\n"                               \
    "    t = materialize(g[0]*u[:, :-2] + g[1]*u[:, 1:-1] + exp(u[:, 2:]))\n"                      \
    "    return g[0]*t[:-4] + g[1]*t[1:-3] + g[2]*t[2:-2] + g[3]*t[4:]\n"                          \
    "}\n"

/* A boundary of a part of an array, and parts of it that go on behind that one's edge. */
#define BEYOND(part, mode, others)                                                                 \
    "export def f(u: f32[h, w], g: f32[k]) -> f32[h, w - 4] {\n"                                   \
    "    a = boundary(u[:, " part "], mode=\"" mode "\")\n"                                        \
    "    t[y in 0..h, x in 0..w - 4] = a[y, x + 1] + a[y, x - 1]*g[1]\n"                           \
    "    t = materialize(t + " others ")\n"                                                        \
    "    b = boundary(t, mode=\"edge\")\n"                                                         \
    "    v[y in 0..h, x in 0..w - 4] = b[y - 1, x] + b[y + 1, x]\n"                                \
    "    return v\n"                                                                               \
    "}\n"

/* Rows so short that the next one is near. */
#define SHORT                                                                                      \
    "export def f(u: f32[901, 16], g: f32[k]) -> f32[900, 16] {\n"                                 \
    "    a = boundary(u[:-1], mode=\"edge\")\n"                                                    \
    "    t[y in 0..900, x in 0..16] = a[y, x + 1] + a[y, x - 1]*g[0]\n"                            \
    "    t = materialize(t + u[1:]*u[:-1])\n"                                                      \
    "    b = boundary(t, mode=\"edge\")\n"                                                         \
    "    v[y in 0..900, x in 0..16] = b[y - 1, x] + b[y + 1, x]\n"                                 \
    "    return v\n"                                                                               \
    "}\n"

/* No reads at edges along the columns; rows far from their element only. */
#define BELOW                                                                                      \
    "export def f(u: f32[h, w], g: f32[k]) -> f32[h, w] {\n"                                       \
    "    t = materialize(u*u + g[1])\n"                                                            \
    "    b = boundary(t, mode=\"zero\")\n"                                                         \
    "    v[y in 0..h, x in 0..w] = b[y + 2, x] - b[y + 7, x]\n"                                    \
    "    return v\n"                                                                               \
    "}\n"

#define BATCHES                                                                                    \
    "export def f(u: f32[3, h, w], g: f32[k]) -> f32[3, h, w] {\n"                                 \
    "    a = boundary(u, mode=\"edge\")\n"                                                         \
    "    t[n in 0..3, y in 0..h, x in 0..w] = a[n, y, x - 1] + a[n, y, x + 1]*g[n]\n"              \
    "    b = boundary(materialize(t), mode=\"edge\")\n"                                            \
    "    v[n in 0..3, y in 0..h, x in 0..w] = b[n, y - 2, x] + b[n, y + 1, x]*g[n]\n"              \
    "    return v\n"                                                                               \
    "}\n"

/* Sizes that the text says. */
#define SIZED                                                                                      \
    "export def f(u: f32[70, 300], g: f32[k]) -> f32[70, 300] {\n"                                 \
    "    a = boundary(u, mode=\"zero\")\n"                                                         \
    "    t[y in 0..70, x in 0..300] = a[y, x - 1] + a[y, x + 1]*g[0]\n"                            \
    "    b = boundary(materialize(t), mode=\"zero\")\n"                                            \
    "    v[y in 0..70, x in 0..300] = b[y - 2, x] + b[y + 1, x]*g[1]\n"                            \
    "    return v\n"                                                                               \
    "}\n"

/* Several results, of other dtypes than what is passed on, which is a bool; one that rows are not
 * read of; a scalar. */
#define RESULTS                                                                                    \
    "export def f(u: f32[h, w], g: f32[k], s: f32) {\n"                                            \
    "    a = boundary(u, mode=\"reflect\")\n"                                                      \
    "    t[y in 0..h, x in 0..w] = a[y, x - 2]*s < a[y, x + 9] + g[0]\n"                           \
    "    b = boundary(materialize(t), mode=\"symmetric\")\n"                                       \
    "    v[y in 0..h, x in 0..w] = f64(where(b[y - 2, x], u[y, x], g[1]*s))\n"                     \
    "    r[y in 0..h, x in 0..w] = i32(b[y - 1, x]) + i32(b[y + 2, x]) + x\n"                      \
    "    return v, r\n"                                                                            \
    "}\n"

/* Two arrays and slices of one; a part of a row for all rows, and a column for all columns. */
#define ARRAYS                                                                                     \
    "export def f(u: f32[h, w], g: f32[k], q: bf16[h, w], c: f32[h, 1], l: f32[w]) {\n"            \
    "    a = boundary(q, mode=\"zero\")\n"                                                         \
    "    d[y in 0..h, x in 0..w] = f32(a[y, x - 1]) + f32(a[y, x + 3])*l[x]\n"                     \
    "    t = materialize(bf16(d + u*c - u))\n"                                                     \
    "    b = boundary(t, mode=\"wrap\")\n"                                                         \
    "    v[y in 0..h, x in 0..w] = f32(b[y - 4, x])*l[x] + f32(b[y, x]) + c[y, 0]*f32(q[y, x])\n"  \
    "    return v\n"                                                                               \
    "}\n"

static bool compile(fc_graph *g, const char *text) {
    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_lang_program p = {0};
    fc_error e = {0};
    fc_diags_init(&ds, &fc_libc_alloc);
    if (fc_source_init(&src, &fc_libc_alloc, "<test>", text, strlen(text), &e)) return false;
    fusec_status s = fc_parse_program(&src, &ds, &ast);
    const fc_lang_request rq = {.program = &ast, .default_float = FUSEC_F32};
    if (!s) s = fc_lang_compile(&rq, g, &p, &ds);
    if (s) {
        fc_str why;
        fc_str_init(&why, &fc_libc_alloc);
        fc_diags_text(&ds, false, &why);
        FC_FAIL("%s", why.data);
        fc_str_free(&why);
    }
    fc_lang_program_free(&p);
    fc_ast_free(&ast);
    fc_diags_free(&ds);
    fc_source_free(&src);
    return !s;
}

static void build(fc_graph *g, const void *of) {
    (void)compile(g, ((const sample *)of)->text);
}

enum { SIZES = 3, FEW_SMS = 1 };
static bool open_job(fc_join_job *x, const sample *s, bool judged) {
    const fc_join_size sizes[SIZES] = {{"h", s->h}, {"w", s->w}, {"k", 32}};
    return fc_join_open(x, build, s, sizes, SIZES, 2, 0, s->align ? s->align : 64, FEW_SMS, judged);
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* Every mode; whole vectors and not; columns of several warps and of a few; strips that end
 * anywhere; arrays that are not aligned. */
static const sample samples[] = {
    {TAPS("f32", "edge", "13", "6"), 167, 300, 0},
    {TAPS("f32", "reflect", "7", "3"), 113, 257, 0},
    {TAPS("f32", "wrap", "5", "2"), 85, 140, 4},
    {TAPS("f32", "zero", "9", "4"), 150, 516, 0},
    {TAPS("f32", "symmetric", "4", "0"), 65, 5, 0},
    {TAPS("f64", "edge", "7", "3"), 114, 70, 0},
    {TAPS("bf16", "edge", "7", "3"), 112, 264, 0},
    {TAPS("f16", "zero", "5", "4"), 81, 131, 2},
    {TAPS("i32", "wrap", "9", "8"), 144, 128, 0},
    {TAPS("i8", "reflect", "5", "2"), 83, 192, 0},
    {MIXED, 90, 260, 0},
    {MIXED, 81, 203, 4},
    {OPEN, 85, 130, 0},
    {BEYOND(":-4", "zero", "u[:, 4:] + u[:, 3:-1]"), 90, 264, 0},
    {BEYOND("2:-2", "reflect", "u[:, 4:] + u[:, 3:-1]"), 90, 263, 0},
    {SHORT, 901, 16, 0},
    {BELOW, 99, 132, 0},
    {BATCHES, 40, 150, 0},
    {SIZED, 70, 300, 0},
    {RESULTS, 63, 262, 0},
    {RESULTS, 64, 256, 0},
    {ARRAYS, 70, 136, 0},
    {ARRAYS, 71, 259, 4},
};

FC_TEST(cuda_slide, one_launch_has_the_bits_of_two) {
    fc_cuda_host host;
    static fc_join_job jobs[FC_COUNT(samples)];
    bool taken[FC_COUNT(samples)];
    if (!fc_cuda_host_open(&host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    bool ok = true;
    for (size_t i = 0; i < FC_COUNT(samples); i++) {
        if (!(taken[i] = fc_test_takes(6))) continue;
        FC_TRACE("sample %zu", i);
        ok = open_job(&jobs[i], &samples[i], true) && ok;
        FC_EXPECT_TRUE(jobs[i].can);
        ok = ok && jobs[i].can && fc_join_add_texts(&host, &jobs[i]);
        FC_UNTRACE();
    }
    const bool built = ok && fc_cuda_host_build(&host);
    FC_EXPECT_TRUE(built);
    for (size_t i = 0; i < FC_COUNT(samples); i++) {
        if (!taken[i]) continue;
        FC_TRACE("sample %zu", i);
        if (built) fc_join_compare(&jobs[i], &host, 0);
        FC_UNTRACE();
        fc_join_close(&jobs[i]);
    }
    fc_cuda_host_close(&host);
}

/* ---- random ones ----------------------------------------------------------------------------- */

enum { RANDOM_FILTERS = 40, RANDOM_SEED = 11 };

static const char *pick(fc_rng *r, const char *const *of, size_t n) {
    return of[fc_below(r, n)];
}

static const char *const modes[] = {"edge", "reflect", "wrap", "zero", "symmetric"};
static const char *const dtypes[] = {"f32", "f32", "f32", "f64", "bf16", "f16", "i32", "i8"};

/* A sum of reads of an array, each at a random distance along its axis, and of other things. */
static void put_reads(fc_rng *r, fc_str *text, const char *read, const char *plain, int far) {
    static const char *const others[] = {"",           " + x",    " - y*2",
                                         " + u[y, x]", " + g[1]", " - g[2]*x"};
    const uint64_t n = 2 + fc_below(r, 5), low = fc_below(r, (uint64_t)far);
    for (uint64_t i = 0; i < n; i++) {
        fc_str_add(text, i ? (fc_below(r, 2) ? " + " : " - ") : "");
        if (fc_below(r, 5) == 0)
            fc_str_add(text, plain);
        else
            fc_str_printf(text, read, (int)fc_below(r, (uint64_t)far) - (int)low);
        if (fc_below(r, 2)) fc_str_printf(text, "*g[%d]", (int)fc_below(r, 5));
    }
    fc_str_add(text, pick(r, others, FC_COUNT(others)));
}

static char *random_text(fc_rng *r) {
    const char *t = pick(r, dtypes, FC_COUNT(dtypes)), *between = fc_below(r, 3) ? t : "f32";
    fc_str text;
    fc_str_init(&text, &fc_libc_alloc);
    fc_str_printf(&text,
                  "export def f(u: %s[h, w], g: %s[k]) {\n    a = boundary(u, mode=\"%s\")\n", t, t,
                  pick(r, modes, FC_COUNT(modes)));
    fc_str_printf(&text, "    s[y in 0..h, x in 0..w] = %s(", between);
    put_reads(r, &text, "a[y, x + %d]", "u[y, x]", 12);
    fc_str_printf(&text, ")\n    t = materialize(s)\n    b = boundary(t, mode=\"%s\")\n",
                  pick(r, modes, FC_COUNT(modes)));
    fc_str_printf(&text, "    v[y in 0..h, x in 0..w] = %s(", t);
    put_reads(r, &text, "b[y + %d, x]", "t[y, x]", 8);
    fc_str_add(&text, ")\n    return v\n}\n");
    return text.data;
}

/* Some are no such maps: a result that reads one row only. */
FC_TEST(cuda_slide, random_filters) {
    enum { MANY = RANDOM_FILTERS };
    fc_cuda_host host;
    static fc_join_job jobs[MANY];
    bool taken[MANY] = {0};
    unsigned tried = 0, skipped = 0;
    const char *fresh = getenv("FUSEC_FRESH_SEED");
    fc_rng r = {fresh ? strtoull(fresh, NULL, 10) : RANDOM_SEED};
    if (!fc_cuda_host_open(&host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    for (size_t i = 0; i < MANY; i++) {
        char *text = random_text(&r);
        const sample s = {text, 70 + (int64_t)fc_below(&r, 60), 1 + (int64_t)fc_below(&r, 300),
                          fc_below(&r, 3) ? 0 : 8};
        FC_TRACE("%s h=%d w=%d align=%d", text, (int)s.h, (int)s.w, (int)s.align);
        if (!fc_test_takes(10)) {
            FC_UNTRACE();
            free(text);
            continue;
        }
        tried++;
        taken[i] = open_job(&jobs[i], &s, true) && jobs[i].can;
        if (taken[i]) taken[i] = fc_join_add_texts(&host, &jobs[i]);
        if (!taken[i]) fc_join_close(&jobs[i]);
        skipped += !taken[i];
        FC_UNTRACE();
        free(text);
    }
    FC_EXPECT_TRUE(skipped <= 2 + tried / 3);
    const bool built = fc_cuda_host_build(&host);
    FC_EXPECT_TRUE(built);
    for (size_t i = 0; i < MANY; i++) {
        if (!taken[i]) continue;
        FC_TRACE("filter %zu", i);
        if (built) fc_join_compare(&jobs[i], &host, 0);
        FC_UNTRACE();
        fc_join_close(&jobs[i]);
    }
    fc_cuda_host_close(&host);
}

/* Mistakes that the comparison above has to find: a strip that begins a turn too late, so that the
 * first rows of it lack some of those above; a place beyond an edge that is taken for the next one
 * inside; a row of what is kept that is not moved up; an element at an edge in place of another. */
FC_TEST(cuda_slide, mistakes_change_bits) {
    static const struct {
        const char *find, *put;
    } mistakes[] = {
        {"top = begin - 12;", "top = begin - 8;"},
        {"at = (ix)(", "at = (at < 0) + (ix)("},
        {"t0[r][e] = t0[r + 4][e];", "t0[r][e] = t0[r + 4 - (r == 11)][e];"},
        {"const ix at = l.column[c];", "const ix at = l.column[c] + (c == 3);"},
    };
    static const sample blur = {TAPS("f32", "edge", "13", "6"), 167, 300, 0};
    static fc_join_job jobs[FC_COUNT(mistakes)];
    fc_cuda_host host;
    if (!fc_cuda_host_open(&host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    bool ok = true;
    for (size_t i = 0; i < FC_COUNT(mistakes); i++) {
        ok = open_job(&jobs[i], &blur, false) && ok;
        jobs[i].find = mistakes[i].find;
        jobs[i].put = mistakes[i].put;
        ok = ok && jobs[i].can && fc_join_add_texts(&host, &jobs[i]);
    }
    const bool built = ok && fc_cuda_host_build(&host);
    FC_EXPECT_TRUE(built);
    for (size_t i = 0; i < FC_COUNT(mistakes); i++) {
        FC_TRACE("mistake %zu", i);
        if (built) FC_EXPECT_TRUE(fc_join_differs(&jobs[i], &host));
        FC_UNTRACE();
        fc_join_close(&jobs[i]);
    }
    fc_cuda_host_close(&host);
}

/* ---- which are joined ------------------------------------------------------------------------ */

/* What is passed on is a result as well; read at other columns; or at places that data says. */
#define KEPT                                                                                       \
    "export def f(u: f32[h, w], g: f32[k]) {\n"                                                    \
    "    t = materialize(u*g[0])\n"                                                                \
    "    b = boundary(t, mode=\"edge\")\n"                                                         \
    "    v[y in 0..h, x in 0..w] = b[y - 1, x] + b[y + 1, x]\n"                                    \
    "    return t, v\n"                                                                            \
    "}\n"
#define ASIDE                                                                                      \
    "export def f(u: f32[h, w], g: f32[k]) -> f32[h, w] {\n"                                       \
    "    b = boundary(materialize(u*g[0]), mode=\"edge\")\n"                                       \
    "    v[y in 0..h, x in 0..w] = b[y - 1, x] + b[y + 1, x - 1]\n"                                \
    "    return v\n"                                                                               \
    "}\n"
#define TAKEN                                                                                      \
    "export def f(u: f32[h, w], g: f32[k]) -> f32[h, w] {\n"                                       \
    "    t = materialize(u*g[0])\n"                                                                \
    "    return take(t, i64(g), axis=0)[:1] + t\n"                                                 \
    "}\n"
/* Rows that are far from each other; the second map reads every other row. */
#define FAR                                                                                        \
    "export def f(u: f32[h, w], g: f32[k]) -> f32[h, w] {\n"                                       \
    "    b = boundary(materialize(u*g[0]), mode=\"edge\")\n"                                       \
    "    v[y in 0..h, x in 0..w] = b[y - 20, x] + b[y + 20, x]\n"                                  \
    "    return v\n"                                                                               \
    "}\n"
#define HALF                                                                                       \
    "export def f(u: f32[h, w], g: f32[k]) {\n"                                                    \
    "    b = boundary(materialize(u*g[0]), mode=\"edge\")\n"                                       \
    "    v[y in 0..h//2, x in 0..w] = b[2*y - 1, x] + b[2*y + 1, x]\n"                             \
    "    return v\n"                                                                               \
    "}\n"

FC_TEST(cuda_slide, others_are_left_alone) {
    static const sample other[] = {
        {ASIDE, 256, 256, 0},
        {TAKEN, 256, 256, 0},
        {FAR, 256, 256, 0},
        {HALF, 256, 256, 0},
        {TAPS("f32", "edge", "13", "6"), 50, 300, 0},   /* few rows for a strip */
        {TAPS("f32", "edge", "29", "14"), 500, 300, 0}, /* more than registers keep */
    };
    for (size_t i = 0; i < FC_COUNT(other); i++) {
        fc_join_job x;
        FC_TRACE("sample %zu", i);
        if (open_job(&x, &other[i], false)) FC_EXPECT_FALSE(x.can);
        fc_join_close(&x);
        FC_UNTRACE();
    }
}

static void program_on(const char *text, uint32_t *launches, size_t *scratch) {
    const sample s = {text, 256, 256, 0};
    const fc_join_size sizes[SIZES] = {{"h", s.h}, {"w", s.w}, {"k", 32}};
    fc_join_on_device(build, &s, sizes, SIZES, FEW_SMS, launches, scratch);
}

FC_TEST(cuda_slide, what_is_passed_on_has_no_memory) {
    uint32_t launches;
    size_t scratch;
    program_on(TAPS("f32", "edge", "13", "6"), &launches, &scratch);
    FC_EXPECT_EQ_U64(launches, 1);
    FC_EXPECT_EQ_U64(scratch, 0);
    program_on(ASIDE, &launches, &scratch);
    FC_EXPECT_EQ_U64(launches, 2);
    FC_EXPECT_TRUE(scratch >= 256 * 256 * 4);
    program_on(KEPT, &launches, &scratch);
    FC_EXPECT_EQ_U64(launches, 2);
}
