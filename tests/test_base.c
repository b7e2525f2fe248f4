/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_base.c - errors, allocator, arena, text buffer, vectors, hashing, numbers as text. */
#define _GNU_SOURCE /* mkdtemp, setenv */
#include "tests/support/test.h"

#include <errno.h>
#include <fenv.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "ir/base.h"

/* ---- an allocator that counts, and fails when told to ---------------------------------------- */

typedef struct meter {
    long live, calls, fail_at; /* fail_at 0: never */
} meter;

static void *meter_fn(void *user, void *p, size_t size) {
    meter *m = user;
    if (size == 0) {
        m->live -= p != NULL;
        free(p);
        return NULL;
    }
    if (++m->calls == m->fail_at || size > 1 << 30) return NULL;
    m->live += p == NULL;
    return realloc(p, size);
}

/* ---- errors ---------------------------------------------------------------------------------- */

FC_TEST(base, first_error_stays) {
    fc_error e = {0};
    FC_EXPECT_STATUS(fc_fail(&e, FUSEC_IO, "%s %d", "first", 1), FUSEC_IO, NULL);
    FC_EXPECT_STATUS(fc_fail(&e, FUSEC_LLVM, "second"), FUSEC_IO, NULL);
    FC_EXPECT_STATUS(fc_oom(&e), FUSEC_IO, NULL);
    FC_EXPECT_STREQ(e.message, "first 1");
    FC_EXPECT_STATUS(fc_fail(NULL, FUSEC_LLVM, "nobody hears"), FUSEC_LLVM, NULL);
}

FC_TEST(base, long_message_is_cut_between_characters) {
    for (int shift = 0; shift < 4; shift++) {
        char text[4000];
        memset(text, 'a', (size_t)shift);
        for (size_t i = (size_t)shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4);
        fc_error e = {0};
        fc_fail(&e, FUSEC_IO, "%s", text);
        size_t n = strlen(e.message);
        FC_ASSERT_TRUE(n < sizeof e.message && n > sizeof e.message - 8);
        FC_EXPECT_STREQ(e.message + n - 3, "...");
        FC_EXPECT_EQ_I64((int64_t)(n - 3 - (size_t)shift) % 3, 0);
    }
}

FC_TEST(base, status_table) {
    FC_EXPECT_STREQ(fc_status_slug(FUSEC_SHAPE_MISMATCH), "shape-mismatch");
    FC_EXPECT_EQ_I64(fc_status_exit(FUSEC_SHAPE_MISMATCH), 3);
    FC_EXPECT_EQ_I64(fc_status_exit(FUSEC_OK), 0);
    FC_EXPECT_STREQ(fc_status_slug((fusec_status)12345), "internal");
    for (int i = 0; i < FC_STATUS_COUNT; i++) {
        FC_ASSERT_TRUE(fc_status_slug((fusec_status)i) != NULL);
        const char *text = fc_status_text((fusec_status)i);
        FC_ASSERT_TRUE(text != NULL && text[strlen(text) - 1] == '.');
        for (int k = 0; k < i; k++)
            FC_EXPECT_TRUE(
                strcmp(fc_status_slug((fusec_status)i), fc_status_slug((fusec_status)k)));
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

FC_TEST(base, alloc_edges) {
    meter m = {0};
    fc_alloc a = {meter_fn, &m};
    void *p = fc_malloc(&a, 0), *q = fc_malloc(&a, 0);
    FC_EXPECT_TRUE(p != NULL && q != NULL && p != q);
    FC_EXPECT_TRUE(fc_calloc(&a, SIZE_MAX / 2, 3) == NULL);
    unsigned char *z = fc_calloc(&a, 100, 3);
    FC_ASSERT_TRUE(z != NULL);
    for (int i = 0; i < 300; i++) FC_ASSERT_EQ_I64(z[i], 0);
    char *s = fc_strdup(&a, "abc");
    FC_EXPECT_STREQ(s, "abc");
    fc_free(&a, NULL);
    fc_free(&a, p);
    fc_free(&a, q);
    fc_free(&a, z);
    fc_free(&a, s);
    FC_EXPECT_EQ_I64(m.live, 0);
}

FC_TEST(base, arena) {
    meter m = {0};
    fc_alloc al = {meter_fn, &m};
    fc_arena a;
    unsigned char *kept[400];
    fc_arena_init(&a, &al);
    for (size_t i = 0; i < FC_COUNT(kept); i++) {
        size_t size = i * i % 9000;
        kept[i] = fc_arena_alloc(&a, size);
        FC_ASSERT_TRUE(kept[i] != NULL && (uintptr_t)kept[i] % 16 == 0);
        for (size_t k = 0; k < size; k++) FC_ASSERT_EQ_I64(kept[i][k], 0);
        memset(kept[i], (int)i & 255, size);
    }
    for (size_t i = 0; i < FC_COUNT(kept); i++)
        for (size_t k = 0; k < i * i % 9000; k++) FC_ASSERT_EQ_I64(kept[i][k], (int)i & 255);
    FC_EXPECT_TRUE(fc_arena_alloc(&a, SIZE_MAX) == NULL);
    FC_EXPECT_TRUE(fc_arena_alloc(&a, SIZE_MAX / 2 - 8) == NULL);
    FC_EXPECT_STREQ(fc_arena_strdup(&a, "abcdef", 3), "abc");
    FC_EXPECT_STREQ(fc_arena_strdup(&a, NULL, 0), "");
    m.fail_at = m.calls + 1;
    FC_EXPECT_TRUE(fc_arena_alloc(&a, 1 << 20) == NULL);
    FC_EXPECT_TRUE(fc_arena_alloc(&a, 1 << 20) != NULL);
    fc_arena_free(&a);
    FC_EXPECT_EQ_I64(m.live, 0);
}

FC_TEST(base, small_after_large_stays_in_the_block) {
    meter m = {0};
    fc_alloc al = {meter_fn, &m};
    fc_arena a;
    fc_arena_init(&a, &al);
    for (int i = 0; i < 10; i++) {
        FC_ASSERT_TRUE(fc_arena_alloc(&a, 16) != NULL);
        FC_ASSERT_TRUE(fc_arena_alloc(&a, 100000) != NULL);
    }
    FC_EXPECT_EQ_I64(m.calls, 11);
    fc_arena_free(&a);
}

FC_TEST(base, text_buffer) {
    meter m = {0};
    fc_alloc al = {meter_fn, &m};
    fc_str s;
    fc_str_init(&s, &al);
    FC_EXPECT_STREQ(s.data, "");
    fc_str_clear(&s);
    fc_str_addn(&s, "", 0);
    FC_EXPECT_EQ_I64(m.calls, 0);
    for (int i = 0; i < 1000; i++) {
        fc_str_char(&s, 'x');
        fc_str_add(&s, "yz");
        fc_str_printf(&s, "%03d", i);
    }
    FC_EXPECT_EQ_I64((int64_t)s.len, 6000);
    FC_EXPECT_EQ_I64((int64_t)strlen(s.data), 6000);
    FC_EXPECT_STREQ(s.data + 5994, "xyz999");
    fc_str_clear(&s);
    FC_EXPECT_STREQ(s.data, "");
    fc_str_free(&s);
    FC_EXPECT_STREQ(s.data, "");
    FC_EXPECT_EQ_I64(m.live, 0);
}

FC_TEST(base, text_buffer_out_of_memory) {
    meter m = {.fail_at = 2};
    fc_alloc al = {meter_fn, &m};
    fc_str s;
    fc_str_init(&s, &al);
    fc_str_add(&s, "kept");
    char big[500];
    memset(big, 'b', sizeof big);
    fc_str_addn(&s, big, sizeof big);
    fc_str_add(&s, "!");
    FC_EXPECT_TRUE(s.oom);
    FC_EXPECT_STREQ(s.data, "kept");
    fc_str_free(&s);
    FC_EXPECT_EQ_I64(m.live, 0);
}

FC_TEST(base, vectors) {
    meter m = {0};
    fc_alloc al = {meter_fn, &m};
    FC_VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 1000; i++) FC_ASSERT_TRUE(fc_push(&al, &v, i * i));
    FC_EXPECT_EQ_I64((int64_t)v.len, 1000);
    for (uint32_t i = 0; i < 1000; i++) FC_ASSERT_EQ_U64(v.at[i], i * i);
    FC_EXPECT_TRUE(fc_reserve(&al, &v, 5000));
    FC_EXPECT_TRUE(v.cap >= 5000);
    FC_EXPECT_FALSE(fc_reserve(&al, &v, SIZE_MAX / 2));
    m.fail_at = m.calls + 1;
    FC_EXPECT_FALSE(fc_reserve(&al, &v, v.cap + 1));
    FC_EXPECT_EQ_U64(v.at[999], 999 * 999);
    fc_vec_free(&al, &v);
    FC_EXPECT_EQ_I64(m.live, 0);
}

FC_TEST(base, hash_of_bytes) {
    unsigned char b[40] = {0};
    for (size_t n = 0; n < sizeof b; n++)
        FC_EXPECT_NE_U64(fc_hash_bytes(b, n), fc_hash_bytes(b, n + 1));
    uint64_t zero = fc_hash_bytes(b, sizeof b);
    for (size_t i = 0; i < sizeof b; i++) {
        b[i] = 1;
        FC_EXPECT_NE_U64(fc_hash_bytes(b, sizeof b), zero);
        b[i] = 0;
    }
    char text[] = "_abcdefgh";
    FC_EXPECT_EQ_U64(fc_hash_bytes(text + 1, 8), fc_hash_bytes("abcdefgh", 8));
}

/* ---- numbers as text ------------------------------------------------------------------------- */

/* The text of v in `out`. */
static const char *text_of(double v, bool f32, char out[64]) {
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    fc_str_double(&s, v, f32);
    snprintf(out, 64, "%s", s.oom ? "(out of memory)" : s.data);
    fc_str_free(&s);
    return out;
}

typedef struct spelling {
    double v;
    const char *f64, *f32;
} spelling;

static const spelling spellings[] = {
    {0.0, "0", "0"},
    {-0.0, "-0", "-0"},
    {1.0, "1", "1"},
    {-100.0, "-100", "-100"},
    {0.5, "0.5", "0.5"},
    {0.1, "0.1", "0.1"},
    {1.0 / 3, "0.3333333333333333", "0.33333334"},
    {123456.75, "123456.75", "123456.75"},
    {16777216.0, "16777216", "16777216"},
    {1e15, "1000000000000000", "1000000000000000"},
    {1e16, "1e16", "1e16"},
    {-2.5e-3, "-0.0025", "-0.0025"},
    {1.5e-5, "0.000015", "0.000015"},
    {1.5e-6, "1.5e-6", "1.5e-6"},
    {1e23, "1e23", "1e23"},
    {9007199254740993.0, "9007199254740992", "9007199000000000"},
    {0x1p-44, "5.684341886080802e-14", "5.684342e-14"},
    {9.5367431640625e-7, "9.5367431640625e-7", "9.536743e-7"},
    {DBL_MAX, "1.7976931348623157e308", "inf"},
    {DBL_MIN, "2.2250738585072014e-308", "0"},
    {DBL_TRUE_MIN, "5e-324", "0"},
    {(double)FLT_MAX, "3.4028234663852886e38", "3.4028235e38"},
    {(double)FLT_TRUE_MIN, "1.401298464324817e-45", "1e-45"},
    {(double)INFINITY, "inf", "inf"},
    {(double)-INFINITY, "-inf", "-inf"},
    {(double)NAN, "nan", "nan"},
};

static void check_spellings(void) {
    char out[64];
    for (size_t i = 0; i < FC_COUNT(spellings); i++) {
        FC_EXPECT_STREQ(text_of(spellings[i].v, false, out), spellings[i].f64);
        FC_EXPECT_STREQ(text_of(spellings[i].v, true, out), spellings[i].f32);
        const char *end;
        double back;
        FC_ASSERT_TRUE(fc_parse_double(spellings[i].f64, &end, &back));
        FC_EXPECT_STREQ(end, "");
        FC_EXPECT_EQ_F64(back, spellings[i].v);
    }
}

FC_TEST(base, doubles_as_text) {
    check_spellings();
}

static uint64_t next_random(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15u;
    return fc_mix(*state, *state >> 29);
}

/* Digits between the first that is not zero and the last that is not zero. */
static int digits_in(const char *text) {
    int count = 0, zeros = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (*text == '0' && count == 0)) continue;
        if (*text == '0') {
            zeros++;
        } else {
            count += zeros + 1;
            zeros = 0;
        }
    }
    return count;
}

/* Reads back to the same bits, and one digit less does not, whichever way it is rounded. */
static bool check_shortest(double v) {
    char out[64], less[64];
    const char *end;
    double back;
    text_of(v, false, out);
    bool ok = fc_parse_double(out, &end, &back) && *end == '\0' && memcmp(&back, &v, sizeof v) == 0;
    int n = digits_in(out);
    if (ok && n > 1) {
        snprintf(less, sizeof less, "%.*e", n - 2, v);
        if (strtod(less, NULL) == v) ok = false;
        double step = pow(10, floor(log10(fabs(v))) - (n - 2));
        snprintf(less, sizeof less, "%.*e", n - 2, v + (v < 0 ? -step / 2 : step / 2));
        if (strtod(less, NULL) == v) ok = false;
    }
    if (!ok) FC_FAIL("%a is written %s", v, out);
    return ok;
}

FC_TEST(base, doubles_are_shortest) {
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&state);
        if (i % 4 == 0) bits &= 0x800fffffffffffffu >> (i / 4 % 50); /* subnormals of every size */
        double v;
        memcpy(&v, &bits, sizeof v);
        if (isfinite(v) && !check_shortest(v)) return;
    }
    for (int e = -1074; e < 1024; e++)
        if (!check_shortest(ldexp(1, e))) return;
}

/* Read straight into a float, and through a double. */
FC_TEST(base, floats_read_back) {
    uint64_t state = 2;
    char out[64];
    for (int i = 0; i < 20000; i++) {
        uint32_t bits = i < 254 ? (uint32_t)i << 23 : (uint32_t)next_random(&state);
        if (i % 4 == 3) bits &= 0x807fffff;
        float v, straight;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v)) continue;
        double through;
        const char *end;
        straight = strtof(text_of((double)v, true, out), NULL);
        FC_ASSERT_TRUE(fc_parse_double(out, &end, &through) && *end == '\0');
        FC_ASSERT_EQ_F64((double)straight, (double)v);
        FC_ASSERT_EQ_F64((double)(float)through, (double)v);
        FC_ASSERT_TRUE(digits_in(out) <= 9);
    }
}

typedef struct reading {
    const char *text;
    double v;
    int used; /* characters; 0: no number */
} reading;

FC_TEST(base, parse) {
    static const reading readings[] = {
        {"12", 12, 2},
        {"-1.5e3x", -1500, 6},
        {"1e", 1, 1},
        {"1e+", 1, 1},
        {".5", 0.5, 2},
        {"5.", 5, 2},
        {"+2", 2, 2},
        {"0x1.8p1,", 3, 7},
        {"0x", 0, 1},
        {"0xg", 0, 1},
        {"1,5", 1, 1},
        {"1.2.3", 1.2, 3},
        {"inf", INFINITY, 3},
        {"-inf)", -INFINITY, 4},
        {"1e999", INFINITY, 5},
        {"-1e999", -INFINITY, 6},
        {"1e-999", 0, 6},
        {"", 0, 0},
        {" 1", 0, 0},
        {"-", 0, 0},
        {".", 0, 0},
        {"e5", 0, 0},
        {"infinity", 0, 0},
        {"nano", 0, 0},
        {"--1", 0, 0},
        {"-.e1", 0, 0},
        {"2.4703282292062328e-324", DBL_TRUE_MIN, 23},
        {"9007199254740993", 9007199254740992.0, 16},
    };
    for (size_t i = 0; i < FC_COUNT(readings); i++) {
        const reading *r = &readings[i];
        const char *end = NULL;
        double v = 77;
        errno = 0;
        FC_TRACE("\"%s\"", r->text);
        FC_EXPECT_TRUE(fc_parse_double(r->text, &end, &v) == (r->used > 0));
        FC_EXPECT_EQ_I64(end - r->text, r->used);
        FC_EXPECT_EQ_F64(v, r->used > 0 ? r->v : 77);
        FC_EXPECT_EQ_I64(errno, 0);
        FC_UNTRACE();
    }
}

/* ---- the caller's modes ---------------------------------------------------------------------- */

FC_TEST(base, numbers_under_other_floating_point_modes) {
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t i = 0; i < FC_COUNT(modes); i++) {
        fesetround(modes[i]);
        check_spellings();
        FC_EXPECT_EQ_I64(fegetround(), modes[i]);
    }
    fesetround(FE_TONEAREST);
#if defined(__SSE2__)
    unsigned csr = _mm_getcsr();
    _mm_setcsr(csr | 0x8040); /* flush to zero, denormals are zero */
    check_spellings();
    FC_EXPECT_TRUE((_mm_getcsr() & 0x8040) == 0x8040);
    _mm_setcsr(csr);
#endif
}

/* Switches to a locale that writes 1,5: an installed one, or one made with localedef in `dir`. */
static bool use_comma_locale(char *dir) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "pt_BR.UTF-8"};
    for (size_t i = 0; i < FC_COUNT(names); i++)
        if (setlocale(LC_NUMERIC, names[i]) != NULL) return true;
    if (mkdtemp(dir) == NULL) return false;
    char path[256], command[1024];
    snprintf(path, sizeof path, "%s/source", dir);
    FILE *f = fopen(path, "w");
    if (f == NULL) return false;
    fputs("LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n",
          f);
    fclose(f);
    snprintf(command, sizeof command, "localedef -c -i %s %s/comma >/dev/null 2>&1", path, dir);
    if (system(command) < 0) return false; /* it warns about the other categories: status 1 */
    setenv("LOCPATH", dir, 1);
    return setlocale(LC_NUMERIC, "comma") != NULL;
}

FC_TEST(base, numbers_under_a_foreign_locale) {
    char dir[] = "/tmp/fusec_locale_XXXXXX", seen[16], command[64];
    const char *before = getenv("LOCPATH");
    bool foreign = use_comma_locale(dir);
    snprintf(seen, sizeof seen, "%g", 1.5);
    if (foreign) {
        FC_EXPECT_STREQ(seen, "1,5");
        check_spellings();
        FC_EXPECT_STREQ(setlocale(LC_NUMERIC, NULL)[0] == 'C' ? "C" : "kept", "kept");
    }
    setlocale(LC_NUMERIC, "C");
    if (before == NULL) unsetenv("LOCPATH");
    if (strstr(dir, "XXXXXX") == NULL) {
        snprintf(command, sizeof command, "rm -rf %s", dir);
        FC_EXPECT_EQ_I64(system(command), 0);
    }
    if (!foreign) FC_SKIP("no locale with a decimal comma, and localedef can't make one");
}
