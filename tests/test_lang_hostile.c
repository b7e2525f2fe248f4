/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_lang_hostile.c - texts nobody meant: cut off, changed and random programs, and a reader that
 * runs out of memory. What is read ends, and says something exactly if it fails. */
#include "tests/support/test.h"

#include "tests/support/faults.h"
#include "tests/support/lang_files.h"
#include "tests/support/parsebox.h"

#include "frontend/lang/fmt.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- texts ----------------------------------------------------------------------------------- */

static void truncations(const char *dir, const char *name, const char *text, size_t len) {
    (void)dir, (void)name;
    for (size_t n = 0; n <= len; n++) {
        parse_holds(text, n, false);
        parse_holds(text + n, len - n, false);
    }
}

FC_TEST(lang_hostile, truncations) {
    each_lang_file(LANG_PROGRAMS, ".fuse", truncations);
}

/* Programs with white space put in, words taken out and characters replaced. Many stay correct. */
static void mutations(const char *dir, const char *name, const char *text, size_t len) {
    static const char spice[] = "  \n\t;#()[]{},:?=-+*/.0x\"@!<&|^~_";
    static unsigned good;
    uint64_t seed = fc_hash_bytes(name, strlen(name));
    (void)dir;
    for (int round = 0; round < 300; round++) {
        char copy[4096];
        size_t n = 0;
        uint32_t rate = 10 + lang_random(&seed) % 400;
        bool only_space = round % 2 == 0;
        for (size_t i = 0; i < len && n + 3 < sizeof copy; i++) {
            bool here = lang_random(&seed) % rate == 0;
            uint32_t pick = lang_random(&seed) % (only_space ? 4 : (uint32_t)sizeof spice - 1);
            if (here && only_space && !fc_is_word(text[i])) copy[n++] = spice[pick];
            if (here && !only_space && round % 4 == 1) continue;
            copy[n++] = here && !only_space ? spice[pick] : text[i];
        }
        good += parse_holds(copy, n, false);
    }
    FC_EXPECT_TRUE(good > 0);
}

FC_TEST(lang_hostile, mutations) {
    each_lang_file(LANG_PROGRAMS, ".fuse", mutations);
}

FC_TEST(lang_hostile, random_bytes) {
    uint64_t seed = 1;
    for (int round = 0; round < 2000; round++) {
        char text[400];
        size_t len = lang_random(&seed) % sizeof text;
        uint32_t range = round % 2 ? 256 : 128;
        for (size_t i = 0; i < len; i++) {
            text[i] = (char)(lang_random(&seed) % range);
            if (range == 128 && (unsigned char)text[i] < 32) text[i] = '\n';
        }
        parse_holds(text, len, round % 3 == 0);
    }
}

/* Tokens in any order: gets further into the parser than bytes do. */
FC_TEST(lang_hostile, random_tokens) {
    static const char *const words[] = {
        "x",     "y",    "1",   "2.5", "0x1",  "\"s\"",  "(",    ")",     "(",      ")",   "[",
        "]",     "[",    "]",   "{",   "}",    ",",      ",",    ":",     ":",      "?",   "=",
        "->",    ".",    "..",  "...", "_",    "+",      "-",    "*",     "/",      "//",  "**",
        "@",     "<",    "==",  "&",   "<<",   "&&",     "!",    "and",   "not",    "for", "in",
        "while", "if",   "or",  "def", "None", "return", "\n",   ";",     "else",   "f(",  "x[",
        "k in ", "0..n", "x =", "y",   "y",    "x",      "#c\n", "const", "a, b = "};
    uint64_t seed = 7;
    unsigned good = 0;
    for (int round = 0; round < 20000; round++) {
        char text[600];
        size_t len = 0, count = 1 + lang_random(&seed) % (round % 2 ? 8 : 40);
        for (size_t i = 0; i < count; i++) {
            const char *w = words[lang_random(&seed) % FC_COUNT(words)];
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", w,
                                    lang_random(&seed) % 3 ? " " : "");
        }
        good += parse_holds(text, len, round % 4 != 0);
    }
    FC_EXPECT_TRUE(good > 100);
}

/* ---- out of memory --------------------------------------------------------------------------- */

static fusec_status format_limited(const char *text, long allocations) {
    fault_heap h;
    fault_heap_init(&h);
    fault_arm(&h, allocations + 1, true);
    fc_source src;
    fc_diags ds;
    fc_str out;
    fc_str_init(&out, &h.alloc);
    fc_diags_init(&ds, &h.alloc);
    fusec_status s = fc_source_init(&src, &h.alloc, "p.fuse", text, strlen(text), NULL);
    if (s == FUSEC_OK) {
        s = fc_format(&src, false, &ds, &out);
        fc_diags_text(&ds, false, &out);
    }
    fc_str_free(&out);
    fc_diags_free(&ds);
    fc_source_free(&src);
    FC_EXPECT_EQ_I64(atomic_load(&h.live), 0);
    return s;
}

FC_TEST(lang_hostile, out_of_memory) {
    const char *good = "# d\n@fast(a)\nexport def f(x: f32[n, m] = 1) -> (a: f32, b: f32) {\n"
                       "    y = 0 < x < 1 ? g(x, axis=1)[1:, None] : -x.T # c\n"
                       "    for k in 0..3 { z = y }\n    return y, float32(x)\n}\n";
    const char *bad = "def f(x) = x if y else z\ndef g(x) = (x\nconst = 3\n";
    long n = 0;
    while (format_limited(good, n) != FUSEC_OK && n < 10000) {
        fusec_status s = format_limited(good, n++);
        FC_EXPECT_EQ_I64(s, FUSEC_OUT_OF_MEMORY);
    }
    FC_EXPECT_TRUE(n > 5 && n < 10000);
    for (n = 0; n < 100; n++) FC_EXPECT_NE_I64(format_limited(bad, n), FUSEC_OK);
}
