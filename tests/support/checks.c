/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* checks.c - the comparisons behind FC_EXPECT_ and FC_ASSERT_. Each reports once and tells whether
 * it held. */
#include "tests/support/test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base.h"

bool fc_check_bool(fc_site at, bool value, bool wanted) {
    if (value == wanted) return true;
    fc_test_fail(at.file, at.line, "%s is %s", at.a, value ? "true" : "false");
    return false;
}

/* `order` is the sign of a - b. */
static bool holds(const char *op, int order) {
    if (strcmp(op, "==") == 0) return order == 0;
    if (strcmp(op, "!=") == 0) return order != 0;
    if (strcmp(op, "<") == 0) return order < 0;
    if (strcmp(op, "<=") == 0) return order <= 0;
    if (strcmp(op, ">") == 0) return order > 0;
    return order >= 0;
}

bool fc_check_i64(fc_site at, const char *op, int64_t a, int64_t b) {
    if (holds(op, (a > b) - (a < b))) return true;
    fc_test_fail(at.file, at.line, "wanted %s %s %s\n  left:  %" PRId64 "\n  right: %" PRId64, at.a,
                 op, at.b, a, b);
    return false;
}

bool fc_check_u64(fc_site at, const char *op, uint64_t a, uint64_t b) {
    if (holds(op, (a > b) - (a < b))) return true;
    fc_test_fail(at.file, at.line,
                 "wanted %s %s %s\n  left:  %" PRIu64 " (0x%" PRIx64 ")\n  right: %" PRIu64
                 " (0x%" PRIx64 ")",
                 at.a, op, at.b, a, a, b, b);
    return false;
}

bool fc_check_ptr(fc_site at, const void *a, const void *b) {
    if (a == b) return true;
    fc_test_fail(at.file, at.line, "wanted %s == %s\n  left:  %p\n  right: %p", at.a, at.b, a, b);
    return false;
}

bool fc_check_str(fc_site at, const char *a, const char *b) {
    if (a == b || (a != NULL && b != NULL && strcmp(a, b) == 0)) return true;
    fc_test_fail(at.file, at.line, "wanted %s == %s\n  left:  \"%s\"\n  right: \"%s\"", at.a, at.b,
                 a != NULL ? a : "(null)", b != NULL ? b : "(null)");
    return false;
}

bool fc_check_contains(fc_site at, const char *text, const char *part) {
    if (text != NULL && part != NULL && strstr(text, part) != NULL) return true;
    fc_test_fail(at.file, at.line, "%s lacks %s\n  text: \"%s\"\n  part: \"%s\"", at.a, at.b,
                 text != NULL ? text : "(null)", part != NULL ? part : "(null)");
    return false;
}

bool fc_check_f64(fc_site at, double a, double b) {
    if (memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b))) return true;
    fc_test_fail(at.file, at.line, "wanted %s == %s\n  left:  %.17g (%a)\n  right: %.17g (%a)",
                 at.a, at.b, a, a, b, b);
    return false;
}

bool fc_check_near(fc_site at, double a, double b, double tolerance) {
    if (a == b || fabs(a - b) <= tolerance || (isnan(a) && isnan(b))) return true;
    fc_test_fail(at.file, at.line,
                 "wanted %s near %s\n  left:  %.17g\n  right: %.17g\n  off by %g, allowed %g", at.a,
                 at.b, a, b, fabs(a - b), tolerance);
    return false;
}

bool fc_check_mem(fc_site at, const void *a, const void *b, size_t size) {
    const unsigned char *p = a, *q = b;
    for (size_t i = 0; i < size; i++) {
        if (p[i] == q[i]) continue;
        fc_test_fail(at.file, at.line, "%s and %s differ at byte %zu of %zu: 0x%02x, 0x%02x", at.a,
                     at.b, i, size, p[i], q[i]);
        return false;
    }
    return true;
}

bool fc_check_status(fc_site at, fusec_status got, fusec_status wanted, const struct fc_error *e) {
    if (got == wanted) return true;
    fc_test_fail(at.file, at.line, "%s gave [%s], wanted [%s]%s%s", at.a, fc_status_slug(got),
                 fc_status_slug(wanted), e != NULL && e->code != FUSEC_OK ? "\n  message: " : "",
                 e != NULL && e->code != FUSEC_OK ? e->message : "");
    return false;
}

bool fc_check_ok_text(fc_site at, fusec_status got, const char *message) {
    if (got == FUSEC_OK) return true;
    fc_test_fail(at.file, at.line, "%s gave [%s]\n  message: %s", at.a, fc_status_slug(got),
                 message != NULL ? message : "(null)");
    return false;
}

/* ---- golden files ---------------------------------------------------------------------------- */

/* The whole file with a NUL behind it, or NULL. */
static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) return NULL;
    fc_str text;
    char chunk[4096];
    fc_str_init(&text, &fc_libc_alloc);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;) fc_str_addn(&text, chunk, n);
    fclose(f);
    char *copy = text.oom ? NULL : fc_strdup(&fc_libc_alloc, text.data);
    fc_str_free(&text);
    return copy;
}

static int first_difference(const char *a, const char *b) {
    int line = 1;
    for (; *a != '\0' && *a == *b; a++, b++) line += *a == '\n';
    return line;
}

static bool bless(fc_site at, const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    bool ok = f != NULL && fwrite(text, 1, strlen(text), f) == strlen(text);
    if (f != NULL && fclose(f) != 0) ok = false;
    if (!ok) fc_test_fail(at.file, at.line, "%s can't be written", path);
    return ok;
}

bool fc_check_golden(fc_site at, const char *name, const char *text) {
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/%s", FUSEC_SOURCE_DIR, name);
    if (fc_test_blessing()) return bless(at, path, text);
    char *wanted = read_text(path);
    bool same = wanted != NULL && strcmp(wanted, text) == 0;
    if (wanted == NULL) {
        fc_test_fail(at.file, at.line, "%s is missing; --bless writes it. The text is:\n%s", path,
                     text);
    } else if (!same) {
        fc_test_fail(at.file, at.line,
                     "%s differs from line %d on; --bless accepts the new text.\n"
                     "---- wanted\n%s---- got\n%s----",
                     path, first_difference(wanted, text), wanted, text);
    }
    free(wanted);
    return same;
}
