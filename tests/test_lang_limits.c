/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_lang_limits.c - the limits of the language, below, at and above each, and the stack that
 * deep programs take. */
#include "tests/support/test.h"

#include "tests/support/langbox.h"
#include "tests/support/parsebox.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- of the reader --------------------------------------------------------------------------- */

static char *repeat(const char *a, size_t n, const char *middle, const char *b) {
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    for (size_t i = 0; i < n; i++) fc_str_add(&s, a);
    fc_str_add(&s, middle);
    for (size_t i = 0; i < n; i++) fc_str_add(&s, b);
    char *text = strdup(s.data);
    fc_str_free(&s);
    return text;
}

static void nesting(const char *a, const char *middle, const char *b, int limit) {
    for (int n = limit - 1; n <= limit + 1; n++) {
        char *text = repeat(a, (size_t)n, middle, b);
        parsed r = parse_text("<expr>", text, strlen(text), true);
        FC_TRACE("%s %d", a, n);
        FC_EXPECT_EQ_I64(r.status, n <= limit ? FUSEC_OK : FUSEC_LIMIT);
        FC_EXPECT_EQ_I64(r.errors, n > limit);
        parse_holds(text, strlen(text), true);
        FC_UNTRACE();
        parsed_free(&r);
        free(text);
    }
}

static void all_nesting(void) {
    nesting("(", "x", ")", 256);
    nesting("[", "x", "]", 256);
    nesting("f(", "x", ")", 256);
    nesting("x[", "1", "]", 256);
    nesting("-", "x", "", 256);
    nesting("not ", "x", "", 256);
    nesting("x**", "x", "", 256);
    nesting("x ? y : ", "x", "", 256);
    nesting("x ? ", "x", " : y", 256);
    nesting("for k in 0..n { ", "x = y", " }", 256);
    nesting("-(f([", "x", "]))", 64);
}

static void *all_nesting_thread(void *unused) {
    (void)unused;
    all_nesting();
    return NULL;
}

/* Runs f in a thread whose stack has so many KiB. */
static void in_a_stack(size_t kib, void *(*f)(void *)) {
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, kib * 1024);
    FC_ASSERT_EQ_I64(pthread_create(&thread, &attr, f, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

FC_TEST(lang_limits, nesting_in_a_small_stack) {
    in_a_stack(FC_SANITIZED ? 512 : 64, all_nesting_thread); /* instrumented frames are larger */
}

FC_TEST(lang_limits, names_and_numbers) {
    for (size_t n = 254; n <= 256; n++) {
        char *name = repeat("a", n, "", ""), *numeral = repeat("1", n - 191, "", "");
        parsed r = parse_text("<expr>", name, strlen(name), true);
        FC_EXPECT_EQ_I64(r.status, n <= 255 ? FUSEC_OK : FUSEC_LIMIT);
        parsed_free(&r);
        r = parse_text("<expr>", numeral, strlen(numeral), true);
        FC_EXPECT_EQ_I64(r.status, n - 191 <= 64 ? FUSEC_OK : FUSEC_LIMIT);
        parsed_free(&r);
        free(name);
        free(numeral);
    }
}

FC_TEST(lang_limits, source) {
    const size_t limit = 1 << 20;
    char *text = malloc(limit + 1);
    FC_ASSERT_TRUE(text != NULL);
    for (size_t i = 0; i <= limit; i++) text[i] = i % 2 ? '+' : 'x';
    for (size_t n = limit - 1; n <= limit + 1; n++) {
        if (n == limit) text[n - 1] = ' '; /* not to end in an operator */
        parsed r = parse_text("<expr>", text, n, true);
        FC_EXPECT_EQ_I64(r.status, n <= limit ? FUSEC_OK : FUSEC_LIMIT);
        if (n > limit)
            FC_EXPECT_STREQ(r.text.data,
                            "fusec: error: <expr> has 1048577 bytes; a program may have"
                            " at most 1048576 [limit]\n");
        parsed_free(&r);
    }
    free(text);
}

/* Long texts of one kind: the time must not grow with the square of the length. */
FC_TEST(lang_limits, long_and_wrong) {
    static const char *const parts[] = {"((",  "))",   "[[[))",       "{",    "}", "x ",
                                        "x,",  "1.",   "\n",          "a=b;", "?", ":",
                                        "if ", "\"\n", "def f(x)=x;", "#\n",  "."};
    for (size_t i = 0; i < FC_COUNT(parts); i++) {
        size_t count = 200000 / strlen(parts[i]);
        char *text = repeat(parts[i], count, "", "");
        FC_TRACE("%s", parts[i]);
        parse_holds(text, strlen(text), false);
        parse_holds(text, strlen(text), true);
        FC_UNTRACE();
        free(text);
    }
}

/* ---- of the checker -------------------------------------------------------------------------- */

static char *long_sum(unsigned terms) {
    char *text = calloc(terms + 2, 24), *p = text;
    p += sprintf(p, "sin(x)");
    for (unsigned i = 0; i < terms; i++) p += sprintf(p, " + %u*x", i + 3);
    return text;
}

FC_TEST(lang_limits, node_limit) {
    char *small = long_sum(1000), *large = long_sum(40000);
    langbox b = langbox_snippet(small, "x: f32[4]");
    FC_EXPECT_STREQ(b.text, "");
    langbox_free(&b);
    b = langbox_snippet(large, "x: f32[4]");
    FC_EXPECT_STATUS(b.status, FUSEC_LIMIT, NULL);
    FC_EXPECT_CONTAINS(b.text, "the graph has more than 65536 nodes [limit]");
    FC_EXPECT_EQ_I64(b.errors, 1);
    langbox_free(&b);
    free(small);
    free(large);
}

FC_TEST(lang_limits, rank_limit) {
    char text[400];
    for (int n = 31; n <= 33; n++) {
        char *p = text + sprintf(text, "x[");
        for (int i = 0; i < n; i++) p += sprintf(p, "%sNone", i ? ", " : "");
        sprintf(p, "]");
        langbox b = langbox_snippet(text, "x: f32");
        FC_EXPECT_STATUS(b.status, n <= 32 ? FUSEC_OK : FUSEC_LIMIT, NULL);
        langbox_free(&b);
    }
}

/* A size in so many steps, each of which names the one before `times` times. */
static langbox size_of(int steps, int times, const char *result) {
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    fc_str_add(&s, "export def f(x: f32[n]) {\n    d0 = n\n");
    for (int i = 0; i < steps; i++)
        fc_str_printf(&s, times == 2 ? "    d%d = d%d*d%d\n" : "    d%d = (d%d + 1)//2\n", i + 1, i,
                      i);
    fc_str_printf(&s, result, steps);
    langbox b = langbox_program("p.fuse", s.data, s.len, NULL);
    fc_str_free(&s);
    return b;
}

/* Sizes are written out in a printed program, and a product of two equal ones is twice as long.
 * What is too long for a shape can be computed with, as a number. */
FC_TEST(lang_limits, written_sizes) {
    static const struct { int most, times; } kinds[] = {{10, 2}, {64, 1}};
    for (size_t k = 0; k < FC_COUNT(kinds); k++)
        for (int n = kinds[k].most - 1; n <= kinds[k].most + 1; n++) {
            FC_TRACE("%d steps, %d", n, kinds[k].times);
            langbox b = size_of(n, kinds[k].times, "    return zeros([d%d])\n}\n");
            if (n <= kinds[k].most)
                langbox_round_trip(&b);
            else
                FC_EXPECT_CONTAINS(b.text, "a size has 1024 names and 64 levels at most");
            langbox_free(&b);
            FC_UNTRACE();
        }
    langbox b = size_of(45, 2, "    return x * d%d\n}\n");
    FC_EXPECT_STREQ(b.text, "");
    langbox_round_trip(&b);
    langbox_free(&b);
}

FC_TEST(lang_limits, input_limit) {
    for (int n = 255; n <= 257; n++) {
        fc_str s;
        fc_str_init(&s, &fc_libc_alloc);
        fc_str_add(&s, "def f(");
        for (int i = 0; i < n; i++) fc_str_printf(&s, "%sx%d: f32", i ? ", " : "", i);
        fc_str_add(&s, ") -> f32 = x0\n");
        langbox b = langbox_program("p.fuse", s.data, s.len, NULL);
        FC_EXPECT_STATUS(b.status, n <= 256 ? FUSEC_OK : FUSEC_LIMIT, NULL);
        langbox_free(&b);
        fc_str_free(&s);
    }
}

static void *deep_program(void *unused) {
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    for (int i = 0; i < 250; i++)
        fc_str_printf(&s, "def f%d(x) = sqrt(f%d(-(x + 1))[1:]) * 2\n", i, i + 1);
    fc_str_add(&s, "def f250(x) = x\ndef g(x: f32[n]) -> f32[n - 250] = f0(x)\n");
    langbox b = langbox_program("p.fuse", s.data, s.len, "g");
    FC_EXPECT_STREQ(b.text, "");
    langbox_free(&b);
    fc_str_clear(&s);
    for (int i = 0; i < 250; i++) fc_str_add(&s, "-(");
    fc_str_add(&s, "x");
    for (int i = 0; i < 250; i++) fc_str_add(&s, ")");
    b = langbox_snippet(s.data, "x: f32[4]");
    FC_EXPECT_TRUE(b.status == FUSEC_OK || b.status == FUSEC_LIMIT);
    langbox_free(&b);
    fc_str_free(&s);
    return unused;
}

FC_TEST(lang_limits, deep_programs_in_a_small_stack) {
    in_a_stack(FC_SANITIZED ? 1024 : 256, deep_program);
}
