/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_lang_check_hostile.c - the checker on programs that parse and are mostly wrong, and without
 * memory. Whatever the text, it ends, and says something exactly if it fails. */
#include "tests/support/test.h"

#include "tests/support/faults.h"
#include "tests/support/lang_files.h"
#include "tests/support/langbox.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- texts ----------------------------------------------------------------------------------- */

/* Whatever the text, the checker ends, and says something exactly if it fails. */
static bool holds(const char *text, size_t len, bool snippet) {
    langbox b;
    if (snippet) {
        char *copy = calloc(1, len + 1);
        memcpy(copy, text, len);
        b = langbox_snippet(copy, "x: f32[4, 6], y: i32[6], n=3");
        free(copy);
    } else {
        b = langbox_program("p.fuse", text, len, NULL);
    }
    bool good = b.status == FUSEC_OK;
    langbox_round_trip(&b);
    if (b.errors == 0 && !good) FC_FAIL("no message for:\n%.*s", (int)len, text);
    langbox_free(&b);
    return good;
}

static void truncations(const char *dir, const char *name, const char *text, size_t len) {
    (void)dir, (void)name;
    for (size_t n = len; n > 0; n -= n > 3 ? 3 : n) {
        holds(text, n, false);
        holds(text + n, len - n, false);
    }
}

FC_TEST(lang_check_hostile, truncations) {
    each_lang_file(LANG_PROGRAMS, ".fuse", truncations);
}

/* Words exchanged for others: most of these parse, and few are right. */
static void mutations(const char *dir, const char *name, const char *text, size_t len) {
    static const char *const words[] = {"x",      "y",         "n",
                                        "m",      "d",         "0",
                                        "1",      "-1",        "2.5",
                                        "f32",    "T",         "i64",
                                        "sum",    "max",       "exp",
                                        "where",  "None",      "...",
                                        ":",      "axis=0",    "+",
                                        "-",      "*",         "/",
                                        "//",     "**",        "<",
                                        "and",    "?",         ",",
                                        "(",      ")",         "[",
                                        "]",      "x.T",       "[1:]",
                                        "f(x)",   "transpose", "9999999999999",
                                        "==",     "true",      "not",
                                        "1e400",  "squeeze",   "size",
                                        "arange", "reshape"};
    (void)dir;
    char *out = calloc(2, len + 500);
    uint64_t seed = fc_hash_bytes(name, strlen(name));
    for (int round = 0; round < 120; round++) {
        size_t n = 0;
        unsigned every = 12 + lang_random(&seed) % 60;
        for (size_t i = 0; i < len;) {
            size_t w = 1;
            if (fc_is_word(text[i]))
                while (fc_is_word(text[i + w])) w++;
            if (text[i] != '\n' && text[i] != ' ' && lang_random(&seed) % every == 0) {
                const char *new = words[lang_random(&seed) % FC_COUNT(words)];
                if (n + strlen(new) + len - i < 2 * len + 400)
                    n += (size_t)sprintf(out + n, "%s", new);
            } else {
                memcpy(out + n, text + i, w);
                n += w;
            }
            i += w;
        }
        holds(out, n, false);
    }
    free(out);
}

FC_TEST(lang_check_hostile, mutations) {
    each_lang_file(LANG_PROGRAMS, ".fuse", mutations);
}

/* Expressions that parse, made of everything there is. */
static size_t random_expr(uint64_t *seed, char *out, size_t room, int depth) {
    static const char *const leaves[] = {
        "x",      "y",      "n",     "0",     "1",
        "-3",     "2.5",    "true",  "pi",    "x.T",
        "[1, 2]", "(x, y)", "\"s\"", "1e300", "18446744073709551615"};
    static const char *const infix[] = {"+", "-", "*", "/",  "//", "%",   "**", "<", "==",
                                        "&", "|", "^", "<<", ">>", "and", "or", "@"};
    static const char *const calls[] = {
        "sin",  "sum",     "max",     "where",     "clip",   "maximum",   "f16",
        "bool", "reshape", "zeros",   "arange",    "size",   "flip",      "squeeze",
        "eye",  "full",    "bitcast", "logsumexp", "argmin", "transpose", "broadcast",
        "fma",  "mean",    "grad",    "foo",       "np.abs", "u8"};
    static const char *const subs[] = {"0",  "1:", "::-1", "None", "...",      "-1",
                                       ":2", "n",  "::0",  "9",    "k in 0..n"};
    if (room < 200) return 0;
    uint32_t r = lang_random(seed) % 10;
    size_t n = 0;
    if (depth <= 0 || r < 2)
        return (size_t)sprintf(out, "%s", leaves[lang_random(seed) % FC_COUNT(leaves)]);
    out[n++] = '(';
    if (r < 5) {
        n += random_expr(seed, out + n, room / 3, depth - 1);
        n += (size_t)sprintf(out + n, " %s ", infix[lang_random(seed) % FC_COUNT(infix)]);
        n += random_expr(seed, out + n, room / 3, depth - 1);
    } else if (r < 8) {
        n += (size_t)sprintf(out + n, "%s(", calls[lang_random(seed) % FC_COUNT(calls)]);
        uint32_t args = 1 + lang_random(seed) % 3;
        for (uint32_t i = 0; i < args; i++) {
            n += (size_t)sprintf(out + n, "%s", i ? ", " : "");
            n += random_expr(seed, out + n, room / 5, depth - 1);
        }
        if (lang_random(seed) % 3 == 0)
            n += (size_t)sprintf(out + n, ", axis=%d", (int)(lang_random(seed) % 4) - 2);
        if (lang_random(seed) % 5 == 0) n += (size_t)sprintf(out + n, ", dtype=i8");
        if (lang_random(seed) % 5 == 0) n += (size_t)sprintf(out + n, ", keepdims=true");
        n += (size_t)sprintf(out + n, ")");
    } else if (r < 9) {
        n += random_expr(seed, out + n, room / 3, depth - 1);
        n += (size_t)sprintf(out + n, "[%s, %s]", subs[lang_random(seed) % FC_COUNT(subs)],
                             subs[lang_random(seed) % FC_COUNT(subs)]);
    } else {
        n += random_expr(seed, out + n, room / 4, depth - 1);
        n += (size_t)sprintf(out + n, " ? ");
        n += random_expr(seed, out + n, room / 4, depth - 1);
        n += (size_t)sprintf(out + n, " : ");
        n += random_expr(seed, out + n, room / 4, depth - 1);
    }
    out[n++] = ')';
    out[n] = '\0';
    return n;
}

FC_TEST(lang_check_hostile, random_expressions) {
    uint64_t seed = 11;
    unsigned good = 0;
    static char text[100100];
    for (int round = 0; round < 4000; round++) {
        size_t n = random_expr(&seed, text, 100000, 1 + round % 5);
        n += (size_t)sprintf(text + n, ", x, y, n"); /* every input is used */
        good += holds(text, n, true);
    }
    FC_EXPECT_TRUE(good > 100);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Every allocation fails once; the checker says so and frees everything. */
FC_TEST(lang_check_hostile, out_of_memory) {
    static const char text[] =
        "const S = 3\ndef g(a, k = S) -> (u: f32[n], v: f32[n]) {\n    return a[1:], a[:-1]\n}\n"
        "def h(x: T[..., m]) -> T[...] = sum(x, axis=m)\n"
        "export def f(x: f32[n], y: f32[n, n]) -> f32[n - 1] {\n"
        "    u, v = h(y) * 2 > 0 ? (x, x) : (x, x)\n"
        "    return (x[1:] + x[:-1]) * h(y)[:n - 1] + np.abs(x) + reshape(y, [-1]) + nope\n}\n"
        "export def e(x: f32[n], y: f32[n, n]) -> f32[n - 1] =\n"
        "    (x[1:] + silu(x[:-1])) * h(y)[:n - 1] / (1/3 + S) + where(n > 3, 2, 1.5)\n";
    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_diags_init(&ds, &fc_libc_alloc);
    FC_ASSERT_OK(fc_source_init(&src, &fc_libc_alloc, "p", text, sizeof text - 1, NULL), NULL);
    FC_ASSERT_OK(fc_parse_program(&src, &ds, &ast), NULL);
    for (int def = 0; def < 2; def++) {
        fusec_status last = FUSEC_OUT_OF_MEMORY;
        for (long n = 0; n < 3000; n++) {
            fault_heap h;
            fault_heap_init(&h);
            fault_arm(&h, n + 1, true);
            fc_diags found;
            fc_graph g;
            fc_lang_program out;
            fc_str printed;
            fc_lang_request rq = {
                .program = &ast, .def = def ? "e" : "f", .default_float = FUSEC_F32};
            fc_diags_init(&found, &h.alloc);
            fc_graph_init(&g, &h.alloc, NULL);
            fc_str_init(&printed, &h.alloc);
            last = fc_lang_compile(&rq, &g, &out, &found);
            FC_EXPECT_TRUE(last == FUSEC_OK || found.errors > 0 || found.oom);
            if (last == FUSEC_OK) fc_lang_print_graph(&g, "f", &printed);
            bool done = atomic_load(&h.failed) == 0;
            fc_str_free(&printed);
            fc_lang_program_free(&out);
            fc_graph_free(&g);
            fc_diags_free(&found);
            FC_EXPECT_EQ_I64(atomic_load(&h.live), 0);
            if (done) break;
        }
        if (def) FC_EXPECT_STATUS(last, FUSEC_OK, NULL);
    }
    fc_ast_free(&ast);
    fc_diags_free(&ds);
    fc_source_free(&src);
}
