/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test.h - tests in C, run by GoogleTest.
 *
 *     FC_TEST(arena, aligns) {
 *         FC_ASSERT_OK(make(&thing, &err), &err);
 *         FC_EXPECT_EQ_I64(thing.count, 3);
 *     }
 *
 * A failed FC_EXPECT_ goes on, a failed FC_ASSERT_ returns from the function it stands in (which
 * has to be void). Suites and tests are named with letters, digits and _. The runner is
 * GoogleTest's: filters, sharding, repetition, XML and JSON reports all work.
 *
 * A sweep over a table registers its tests at start-up, one per row:
 *
 *     static void run_row(void *arg) { const row *r = arg; ... }
 *     FC_REGISTER(rows) {
 *         for (size_t i = 0; i < FC_COUNT(rows); i++)
 *             FC_ADD_TEST("rows", rows[i].name, run_row, &rows[i]);
 *     } */
#ifndef FUSEC_TESTS_SUPPORT_TEST_H
#define FUSEC_TESTS_SUPPORT_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <fusec/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fc_error;
typedef void (*fc_test_fn)(void *arg);

/* Whether this is a build with AddressSanitizer: larger frames, no other stacks, slower. */
#if defined(__SANITIZE_ADDRESS__)
#define FC_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FC_SANITIZED 1
#endif
#endif
#ifndef FC_SANITIZED
#define FC_SANITIZED 0
#endif

/* ---- registering ----------------------------------------------------------------------------- */

/* Names are copied; `arg` has to live until the end of the run. */
void fc_test_add(const char *suite, const char *name, const char *file, int line, fc_test_fn fn,
                 void *arg);

#define FC_ADD_TEST(suite, name, fn, arg)                                                          \
    fc_test_add((suite), (name), __FILE__, __LINE__, (fn), (void *)(uintptr_t)(arg))

/* A block that runs before main and calls FC_ADD_TEST. */
#define FC_REGISTER(id) __attribute__((constructor)) static void fc_register_##id(void)

#define FC_TEST(suite, name)                                                                       \
    static void fc_test_##suite##_##name(void *fc_test_arg_);                                      \
    FC_REGISTER(suite##_##name) {                                                                  \
        fc_test_add(#suite, #name, __FILE__, __LINE__, fc_test_##suite##_##name, NULL);            \
    }                                                                                              \
    static void fc_test_##suite##_##name(__attribute__((unused)) void *fc_test_arg_)

/* ---- what a test may do ---------------------------------------------------------------------- */

void fc_test_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void fc_test_skip(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool fc_test_has_failed(void); /* the running test, so far */

/* Whether the next item of a long sweep is run: one of `of` is, under sanitizers a quarter of
 * those. Which ones the commit says (FUSEC_FRESH_SEED, as of random graphs), so that all are in
 * some commits. Without that, as when a person runs one suite, or with FUSEC_TESTS=all, all of them
 * are. */
bool fc_test_takes(unsigned of);

/* Lines added to every failure until the matching pop; a test's end pops what is left. */
void fc_test_push_trace(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void fc_test_pop_trace(void);

/* Whether golden files are to be rewritten: --bless on the command line. */
bool fc_test_blessing(void);

/* A test that is itself an item of a sweep. 1: only under sanitizers it is left out. */
#define FC_TAKE_ONE_OF(of)                                                                         \
    do {                                                                                           \
        if (!fc_test_takes(of)) FC_SKIP("left to other commits");                                  \
    } while (0)

#define FC_FAIL(...)  fc_test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define FC_TRACE(...) fc_test_push_trace(__FILE__, __LINE__, __VA_ARGS__)
#define FC_UNTRACE()  fc_test_pop_trace()
#define FC_SKIP(...)                                                                               \
    do {                                                                                           \
        fc_test_skip(__FILE__, __LINE__, __VA_ARGS__);                                             \
        return;                                                                                    \
    } while (0)

/* ---- checks: each is a function that reports and returns whether it held --------------------- */

typedef struct fc_site {
    const char *file;
    int line;
    const char *a, *b; /* the expressions as written */
} fc_site;

bool fc_check_bool(fc_site at, bool value, bool wanted);
bool fc_check_i64(fc_site at, const char *op, int64_t a, int64_t b);
bool fc_check_u64(fc_site at, const char *op, uint64_t a, uint64_t b);
bool fc_check_ptr(fc_site at, const void *a, const void *b);
bool fc_check_str(fc_site at, const char *a, const char *b);
bool fc_check_contains(fc_site at, const char *text, const char *part);
bool fc_check_f64(fc_site at, double a, double b); /* equal bits, or both nan */
bool fc_check_near(fc_site at, double a, double b, double tolerance);
bool fc_check_mem(fc_site at, const void *a, const void *b, size_t size);
bool fc_check_status(fc_site at, fusec_status got, fusec_status wanted, const struct fc_error *e);
bool fc_check_ok_text(fc_site at, fusec_status got, const char *message);
/* Compares with the file tests/golden/`name`, or writes it under --bless. */
bool fc_check_golden(fc_site at, const char *name, const char *text);

#define FC_AT(a, b) ((fc_site){__FILE__, __LINE__, a, b})
#define FC_ASSERT_(check)                                                                          \
    do {                                                                                           \
        if (!(check)) return;                                                                      \
    } while (0)

#define FC_EXPECT_TRUE(a)      ((void)fc_check_bool(FC_AT(#a, ""), (a), true))
#define FC_EXPECT_FALSE(a)     ((void)fc_check_bool(FC_AT(#a, ""), (a), false))
#define FC_EXPECT_EQ_I64(a, b) ((void)fc_check_i64(FC_AT(#a, #b), "==", (a), (b)))
#define FC_EXPECT_NE_I64(a, b) ((void)fc_check_i64(FC_AT(#a, #b), "!=", (a), (b)))
#define FC_EXPECT_LT_I64(a, b) ((void)fc_check_i64(FC_AT(#a, #b), "<", (a), (b)))
#define FC_EXPECT_LE_I64(a, b) ((void)fc_check_i64(FC_AT(#a, #b), "<=", (a), (b)))
#define FC_EXPECT_GT_I64(a, b) ((void)fc_check_i64(FC_AT(#a, #b), ">", (a), (b)))
#define FC_EXPECT_GE_I64(a, b) ((void)fc_check_i64(FC_AT(#a, #b), ">=", (a), (b)))
#define FC_EXPECT_EQ_U64(a, b) ((void)fc_check_u64(FC_AT(#a, #b), "==", (a), (b)))
#define FC_EXPECT_NE_U64(a, b) ((void)fc_check_u64(FC_AT(#a, #b), "!=", (a), (b)))
#define FC_EXPECT_EQ_PTR(a, b) ((void)fc_check_ptr(FC_AT(#a, #b), (a), (b)))
#define FC_EXPECT_STREQ(a, b)  ((void)fc_check_str(FC_AT(#a, #b), (a), (b)))
#define FC_EXPECT_CONTAINS(text, part)                                                             \
    ((void)fc_check_contains(FC_AT(#text, #part), (text), (part)))
#define FC_EXPECT_EQ_F64(a, b)      ((void)fc_check_f64(FC_AT(#a, #b), (a), (b)))
#define FC_EXPECT_NEAR(a, b, tol)   ((void)fc_check_near(FC_AT(#a, #b), (a), (b), (tol)))
#define FC_EXPECT_MEMEQ(a, b, size) ((void)fc_check_mem(FC_AT(#a, #b), (a), (b), (size)))
#define FC_EXPECT_STATUS(expr, code, err)                                                          \
    ((void)fc_check_status(FC_AT(#expr, #code), (expr), (code), (err)))
#define FC_EXPECT_OK(expr, err) FC_EXPECT_STATUS(expr, FUSEC_OK, err)
/* For the public API, whose message is a string. It is evaluated after `expr`, as C leaves the
 * order of arguments open. */
#define FC_EXPECT_OK_TEXT(expr, message)                                                           \
    do {                                                                                           \
        fusec_status fc_got_ = (expr);                                                             \
        (void)fc_check_ok_text(FC_AT(#expr, ""), fc_got_, (message));                              \
    } while (0)
#define FC_EXPECT_GOLDEN(name, text) ((void)fc_check_golden(FC_AT(#text, ""), (name), (text)))

#define FC_ASSERT_TRUE(a)      FC_ASSERT_(fc_check_bool(FC_AT(#a, ""), (a), true))
#define FC_ASSERT_FALSE(a)     FC_ASSERT_(fc_check_bool(FC_AT(#a, ""), (a), false))
#define FC_ASSERT_EQ_I64(a, b) FC_ASSERT_(fc_check_i64(FC_AT(#a, #b), "==", (a), (b)))
#define FC_ASSERT_EQ_U64(a, b) FC_ASSERT_(fc_check_u64(FC_AT(#a, #b), "==", (a), (b)))
#define FC_ASSERT_EQ_F64(a, b) FC_ASSERT_(fc_check_f64(FC_AT(#a, #b), (a), (b)))
#define FC_ASSERT_STREQ(a, b)  FC_ASSERT_(fc_check_str(FC_AT(#a, #b), (a), (b)))
#define FC_ASSERT_STATUS(expr, code, err)                                                          \
    FC_ASSERT_(fc_check_status(FC_AT(#expr, #code), (expr), (code), (err)))
#define FC_ASSERT_OK(expr, err) FC_ASSERT_STATUS(expr, FUSEC_OK, err)
#define FC_ASSERT_OK_TEXT(expr, message)                                                           \
    do {                                                                                           \
        fusec_status fc_got_ = (expr);                                                             \
        if (!fc_check_ok_text(FC_AT(#expr, ""), fc_got_, (message))) return;                       \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
