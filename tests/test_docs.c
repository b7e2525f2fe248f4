/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_docs.c - the documentation keeps to the tree: links lead somewhere, source files and tests
 * that it names exist, and docs/command.md has every flag of the command. What it shows of programs
 * and commands is run in test_docs_run.c. */
#define _GNU_SOURCE /* nftw that can skip folders */
#include "tests/support/test.h"

#include <ctype.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/cli/options.h"
#include "ir/base.h"
#include "tests/support/page.h"

/* ---- files ---------------------------------------------------------------------------------- */

static bool exists(const char *path) {
    char full[1200];
    snprintf(full, sizeof full, "%s/%s", FUSEC_SOURCE_DIR, path);
    return access(full, F_OK) == 0;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

static int line_of(const char *text, const char *at) {
    int line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

static void complain(const char *path, const char *text, const char *at, const char *fmt,
                     const char *what) {
    char full[1200], message[600];
    snprintf(full, sizeof full, "%s/%s", FUSEC_SOURCE_DIR, path);
    snprintf(message, sizeof message, fmt, what);
    fc_test_fail(full, line_of(text, at), "%s", message);
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* Which pages there are: what a person reads first, and every folder's. */
typedef FC_VEC(char *) pages;
static pages found; /* nftw has no argument for its callback */

static int collect(const char *full, const struct stat *st, int kind, struct FTW *ftw) {
    (void)st;
    const char *name = full + ftw->base;
    if (kind == FTW_D && (name[0] == '.' || strncmp(name, "build", 5) == 0) && ftw->level > 0)
        return FTW_SKIP_SUBTREE;
    if (kind != FTW_F || !ends_with(full, ".md")) return FTW_CONTINUE;
    char *path = fc_strdup(&fc_libc_alloc, full + strlen(FUSEC_SOURCE_DIR) + 1);
    return path && fc_push(&fc_libc_alloc, &found, path) ? FTW_CONTINUE : FTW_STOP;
}

static void find_pages(void) {
    nftw(FUSEC_SOURCE_DIR, collect, 16, FTW_PHYS | FTW_ACTIONRETVAL);
}

static void forget_pages(void) {
    for (size_t i = 0; i < found.len; i++) fc_free(&fc_libc_alloc, found.at[i]);
    fc_vec_free(&fc_libc_alloc, &found);
}

/* ---- links ---------------------------------------------------------------------------------- */

/* "a/b" seen from page "docs/x.md" is "docs/a/b"; "../" goes up. */
static void resolve(const char *page, const char *link, size_t len, char *out, size_t size) {
    const char *slash = strrchr(page, '/');
    size_t n = slash ? (size_t)(slash - page) : 0;
    while (len >= 3 && strncmp(link, "../", 3) == 0) {
        link += 3, len -= 3;
        while (n && page[n - 1] != '/') n--;
        if (n) n--;
    }
    snprintf(out, size, "%.*s%s%.*s", (int)n, page, n ? "/" : "", (int)len, link);
}

/* Whether a heading of the text has this anchor: lower case, blanks as "-", other signs gone. */
static bool has_anchor(const char *text, const char *anchor, size_t len) {
    for (const char *p = text; p; p = strchr(p, '\n')) {
        p += p != text;
        if (*p != '#') continue;
        p += strspn(p, "# ");
        size_t k = 0;
        bool same = true;
        for (; *p && *p != '\n' && same; p++) {
            int c = *p == ' ' ? '-' : tolower((unsigned char)*p);
            if (!isalnum(c) && c != '-' && c != '_') continue;
            same = k < len && anchor[k] == c;
            k++;
        }
        if (same && k == len) return true;
        if (!*p) break;
    }
    return false;
}

static void check_link(const char *page, const char *text, const char *link, size_t len) {
    char target[600], shown[300];
    size_t path_len = 0;
    while (path_len < len && link[path_len] != '#') path_len++;
    snprintf(shown, sizeof shown, "%.*s", (int)len, link);
    if (memchr(link, ':', len)) return; /* https: */
    if (path_len)
        resolve(page, link, path_len, target, sizeof target);
    else
        snprintf(target, sizeof target, "%s", page);
    if (!exists(target)) {
        complain(page, text, link, "the link %s leads nowhere", shown);
        return;
    }
    if (path_len == len || !ends_with(target, ".md")) return;
    char *other = page_text(target);
    if (other && !has_anchor(other, link + path_len + 1, len - path_len - 1))
        complain(page, text, link, "%s: there is no such heading", shown);
    free(other);
}

/* Whether a place of the text stands between backquotes of its line. */
static bool in_code(const char *text, const char *p) {
    bool code = false;
    for (const char *q = p; q > text && q[-1] != '\n'; q--) code ^= q[-1] == '`';
    return code;
}

static void check_links(const char *page, const char *text) {
    for (const char *p = text; (p = strstr(p, "](")) != NULL; p += 2) {
        size_t len = strcspn(p + 2, ") \n");
        if (p[2 + len] == ')' && !in_code(text, p)) check_link(page, text, p + 2, len);
    }
}

/* ---- names of files ------------------------------------------------------------------------- */

/* The next word between backquotes on one line; NULL when there is none. */
static const char *quoted(const char *p, size_t *len) {
    for (; (p = strchr(p, '`')) != NULL; p++) {
        if (p[1] == '`') {
            p += strspn(p, "`") - 1;
            continue;
        }
        *len = strcspn(p + 1, "`\n");
        if (p[1 + *len] == '`') return p + 1;
        p += *len;
    }
    return NULL;
}

/* `ir/ops.def` has to be there; patterns, and what a build makes, are left alone. */
static void check_files(const char *page, const char *text) {
    static const char *const roots[] = {"include/",  "ir/",    "passes/", "codegen/", "runtime/",
                                        "frontend/", "tests/", "docs/",   "scripts/", "examples/"};
    size_t len;
    for (const char *p = text; (p = quoted(p, &len)) != NULL; p += len + 1) {
        char name[300];
        bool ours = false;
        snprintf(name, sizeof name, "%.*s", (int)len, p);
        for (size_t i = 0; i < FC_COUNT(roots); i++)
            ours |= strncmp(name, roots[i], strlen(roots[i])) == 0;
        if (ours && !strpbrk(name, " *<>{$") && !exists(name))
            complain(page, text, p, "there is no %s", name);
    }
}

FC_TEST(docs, links_and_files_exist) {
    find_pages();
    FC_EXPECT_GE_I64((int64_t)found.len, 10);
    for (size_t i = 0; i < found.len; i++) {
        char *text = page_text(found.at[i]);
        if (!text) continue;
        check_links(found.at[i], text);
        if (!ends_with(found.at[i], "README.md") || !strchr(found.at[i], '/'))
            check_files(found.at[i], text);
        free(text);
    }
    forget_pages();
}

/* ---- names of tests ------------------------------------------------------------------------- */

static char *all_tests; /* the text of tests/test_*.c and cmake/, one after the other */
static size_t all_len;

static int join(const char *full, const struct stat *st, int kind, struct FTW *ftw) {
    bool ours = strncmp(full + ftw->base, "test_", 5) == 0 && ends_with(full, ".c");
    if (kind != FTW_F || (!ours && !ends_with(full, ".cmake"))) return 0;
    char *text = page_text(full + strlen(FUSEC_SOURCE_DIR) + 1);
    char *more = text ? realloc(all_tests, all_len + (size_t)st->st_size + 1) : NULL;
    if (more) {
        all_tests = more;
        memcpy(all_tests + all_len, text, (size_t)st->st_size + 1);
        all_len += (size_t)st->st_size;
    }
    free(text);
    return 0;
}

/* "suite.test" is an FC_TEST or a program that ctest runs; of "suite.*" the suite is used in one
 * way or another. */
static bool is_test(const char *name) {
    char wanted[340], row[340];
    const char *dot = strchr(name, '.');
    int n = (int)(dot - name);
    if (strcmp(dot, ".*") != 0) {
        snprintf(wanted, sizeof wanted, "FC_TEST(%.*s, %s)", n, name, dot + 1);
        snprintf(row, sizeof row, "add_test(NAME %s ", name);
        return strstr(all_tests, wanted) || strstr(all_tests, row);
    }
    snprintf(wanted, sizeof wanted, "FC_TEST(%.*s, ", n, name);
    snprintf(row, sizeof row, "FC_ADD_TEST(\"%.*s\"", n, name);
    if (strstr(all_tests, wanted) || strstr(all_tests, row)) return true;
    while (n > 0 && name[n - 1] != '_') n--; /* "sweep_cpu": a suite for each device */
    snprintf(row, sizeof row, "add_test(\"%.*s\"", n ? n - 1 : 0, name);
    return n && strstr(all_tests, row);
}

/* Words of the form suite.test or suite.* between backquotes. */
static bool looks_like_test(const char *s) {
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (!n || s[n] != '.') return false;
    if (strcmp(s + n, ".*") == 0) return true;
    s += n + 1;
    if (!*s || s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_")]) return false;
    if (strncmp(s - n - 1, "fusec_", 6) == 0) return false; /* a field of the C API */
    static const char *const endings[] = {"c",   "h",   "def", "md", "fuse", "py",
                                          "npy", "npz", "png", "so", "cc"};
    for (size_t i = 0; i < FC_COUNT(endings); i++)
        if (strcmp(s, endings[i]) == 0) return false; /* a file */
    return true;
}

FC_TEST(docs, tests_that_are_named_exist) {
    static const char *const with_tests[] = {"docs/semantics.md",       "docs/architecture.md",
                                             "docs/testing.md",         "docs/caching.md",
                                             "docs/fuzzing.md",         "docs/reliability.md",
                                             "docs/performance-gpu.md", "docs/performance-cpu.md"};
    char tests[1200];
    snprintf(tests, sizeof tests, "%s/tests", FUSEC_SOURCE_DIR);
    nftw(tests, join, 16, FTW_PHYS);
    snprintf(tests, sizeof tests, "%s/cmake", FUSEC_SOURCE_DIR);
    nftw(tests, join, 16, FTW_PHYS);
    FC_ASSERT_TRUE(all_tests != NULL);
    int named = 0;
    for (size_t i = 0; i < FC_COUNT(with_tests); i++) {
        char *text = page_text(with_tests[i]);
        size_t len;
        if (!text) FC_FAIL("%s can't be read", with_tests[i]);
        for (const char *p = text; text && (p = quoted(p, &len)) != NULL; p += len + 1) {
            char name[300];
            snprintf(name, sizeof name, "%.*s", (int)len, p);
            if (!looks_like_test(name)) continue;
            named++;
            if (!is_test(name)) complain(with_tests[i], text, p, "there is no test %s", name);
        }
        free(text);
    }
    FC_EXPECT_GE_I64(named, 40);
    free(all_tests);
    all_tests = NULL;
    all_len = 0;
}

/* ---- the command ---------------------------------------------------------------------------- */

static bool has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)) != NULL; p += n)
        if (!isalnum((unsigned char)p[n]) && p[n] != '-') return true;
    return false;
}

FC_TEST(docs, command_page_has_every_flag_and_no_other) {
    char *text = page_text("docs/command.md");
    FC_ASSERT_TRUE(text != NULL);
    for (int i = 0; i < FC_FLAG_COUNT; i++) {
        char word[80];
        snprintf(word, sizeof word, "--%s", fc_flags[i].name);
        if (fc_flags[i].kind != FC_ARG_HIDDEN && fc_flags[i].kind != FC_ARG_LATER &&
            !has_word(text, word))
            FC_FAIL("docs/command.md does not have %s", word);
    }
    for (const char *p = text; (p = strstr(p, "--")) != NULL;) {
        size_t n = strspn(p, "-"), len = strspn(p + n, "abcdefghijklmnopqrstuvwxyz0123456789-");
        bool known = n != 2 || len == 0;
        for (int i = 0; i < FC_FLAG_COUNT && !known; i++)
            known = strlen(fc_flags[i].name) == len && !strncmp(fc_flags[i].name, p + 2, len);
        if (!known) {
            char word[80];
            snprintf(word, sizeof word, "%.*s", (int)(n + len), p);
            complain("docs/command.md", text, p, "there is no flag %s", word);
        }
        p += n + len;
    }
    for (int i = FC_CMD_NONE + 1; i < FC_CMD_COUNT; i++) {
        char word[80];
        snprintf(word, sizeof word, "| `%s` |", fc_commands[i].name);
        FC_EXPECT_CONTAINS(text, word);
    }
    free(text);
}

/* Every error that can be reported stands in the table of exit codes, in the right row. */
FC_TEST(docs, language_page_has_every_error) {
    char *text = page_text("docs/language.md");
    FC_ASSERT_TRUE(text != NULL);
    for (int s = FUSEC_OK + 1; s < FC_STATUS_COUNT; s++) {
        char row[40], word[80];
        snprintf(row, sizeof row, "\n| %d | ", fc_status_exit((fusec_status)s));
        snprintf(word, sizeof word, "`%s`", fc_status_slug((fusec_status)s));
        const char *line = strstr(text, row), *end = line ? strchr(line + 1, '\n') : NULL;
        const char *at = line ? strstr(line, word) : NULL;
        if (!at || !end || at > end) FC_FAIL("docs/language.md: %s is not in its row", word);
    }
    free(text);
}
