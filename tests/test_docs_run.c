/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_docs_run.c - what the documentation shows is what happens: commands with their output,
 * command lines without it, and the C program that README.md and fusec.h open with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/page.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* A folder with the examples, the files that samples read, and nothing else. */
static bool lay_out(shell *sh) {
    return shell_run(sh,
                     "cp -r '%s/examples' . && fusec -q -d interp -e x x=rand:f32:100x64 -o in.npy",
                     FUSEC_SOURCE_DIR) &&
           sh->code == 0;
}

/* ---- "$ fusec ...", and what it prints ------------------------------------------------------- */

/* Runs the commands of a block; the lines behind each are its output. Returns how many
 * there are. */
static int run_block(shell *sh, const char *page, const char *block) {
    int count = 0;
    for (const char *p = strncmp(block, "$ ", 2) ? strstr(block, "\n$ ") : block; p; count++) {
        p += *p == '\n' ? 3 : 2;
        size_t n = strcspn(p, "\n");
        const char *shown = p + n + (p[n] == '\n'), *next = strstr(p + n, "\n$ ");
        size_t len = next ? (size_t)(next + 1 - shown) : strlen(shown);
        char wanted[4000];
        FC_TRACE("%s: %.*s", page, (int)n, p);
        if (!shell_run(sh, "%.*s", (int)n, p)) return count;
        snprintf(wanted, sizeof wanted, "%.*s", (int)len, shown);
        FC_EXPECT_STREQ(sh->code == 0 ? sh->out : sh->err, wanted);
        FC_UNTRACE();
        p = next;
    }
    return count;
}

FC_TEST(docs, samples_show_what_is_printed) {
    static const char *const with_samples[] = {"README.md", "docs/command.md", "docs/language.md",
                                               "docs/architecture.md", "docs/caching.md"};
    int count = 0;
    OPEN(sh);
    if (!lay_out(&sh)) FC_FAIL("%s", sh.err);
    for (size_t i = 0; i < sizeof with_samples / sizeof with_samples[0]; i++) {
        char *text = page_text(with_samples[i]), *block;
        const char *at = text;
        if (!text) FC_FAIL("%s can't be read", with_samples[i]);
        while (text && (block = page_block(&at, "text")) != NULL) {
            count += run_block(&sh, with_samples[i], block);
            free(block);
        }
        free(text);
    }
    FC_EXPECT_GE_I64(count, 1);
    shell_close(&sh);
}

/* "one kernel, where each operation alone would be 17" below the picture. */
FC_TEST(docs, kernels_that_the_picture_saves) {
    static const char claim[] = "one kernel,\nwhere each operation alone would be ";
    char *text = page_text("README.md"), line[80];
    const char *at = text ? strstr(text, claim) : NULL;
    OPEN(sh);
    if (!at || !lay_out(&sh)) FC_FAIL("README.md does not say how many kernels the picture saves");
    if (at) {
        EXPECT_RUN(sh, 0,
                   "fusec explain -d none examples/hillshade.fuse z=examples/data/elevation.npy");
        snprintf(line, sizeof line, "\nunfused   %d kernels, ", atoi(at + sizeof claim - 1));
        FC_EXPECT_CONTAINS(sh.out, line);
        FC_EXPECT_CONTAINS(sh.out, "\nk0 ");
        FC_EXPECT_TRUE(!strstr(sh.out, "\nk1 "));
    }
    free(text);
    shell_close(&sh);
}

/* ---- command lines --------------------------------------------------------------------------- */

FC_TEST(docs, command_lines_run) {
    static const char *const with_commands[] = {"README.md", "docs/language.md"};
    int count = 0;
    OPEN(sh);
    if (!lay_out(&sh)) FC_FAIL("%s", sh.err);
    for (size_t i = 0; i < sizeof with_commands / sizeof with_commands[0]; i++) {
        char *text = page_text(with_commands[i]), *block;
        const char *at = text;
        while (text && (block = page_block(&at, "sh")) != NULL) {
            for (char *line = strtok(block, "\n"); line; line = strtok(NULL, "\n")) {
                if (strncmp(line, "fusec ", 6) != 0) continue;
                EXPECT_RUN(sh, 0, "FUSEC_DEVICE=interp; export FUSEC_DEVICE; %s", line);
                count++;
            }
            free(block);
        }
        free(text);
    }
    FC_EXPECT_GE_I64(count, 6);
    shell_close(&sh);
}

/* ---- the program in C ------------------------------------------------------------------------ */

/* The comment of fusec.h without its margins: from #include to the closing brace. */
static char *program_of_header(void) {
    char *text = page_text("include/fusec/fusec.h"), *out = calloc(1, 4000), *to = out;
    const char *p = text ? strstr(text, " *     #include <fusec/fusec.h>") : NULL;
    for (bool more = p != NULL && out; more;) {
        size_t n = strcspn(p, "\n");
        more = strncmp(p, " *     }", n < 8 ? 8 : n) != 0 && (size_t)(to - out) + n < 3900;
        size_t margin = n < 7 ? n : 7; /* " *     " */
        to += snprintf(to, 4000 - (size_t)(to - out), "%.*s\n", (int)(n - margin), p + margin);
        p += n + 1;
    }
    free(text);
    return out;
}

static char *program_of_readme(void) {
    char *text = page_text("README.md");
    const char *at = text;
    char *block = text ? page_block(&at, "c") : NULL;
    free(text);
    return block;
}

/* Blanks before comments are a matter of the page's width. */
static void squeeze(char *text) {
    char *to = text;
    for (const char *p = text; *p; p++)
        if (*p != ' ' || (to > text && to[-1] != ' ')) *to++ = *p;
    *to = 0;
}

static void build_and_run(char *program) {
#ifdef FUSEC_TEST_CC
    OPEN(sh);
    shell_write(&sh, "first.c", program);
    shell_run(&sh, "command -v %s && test -e '%s/lib/libfusec.a'", FUSEC_TEST_CC,
              FUSEC_BINARY_DIR);
    if (sh.code != 0) {
        free(program);
        shell_close(&sh);
        FC_SKIP("there is no compiler here");
    }
    EXPECT_RUN(sh, 0,
               "%s %s -std=c99 -Wall -Wextra -Wpedantic -Werror -I '%s/include' first.c "
               "'%s/lib/libfusec.a' -lm -ldl -lpthread -o first && FUSEC_DEVICE=interp "
               "./first",
               FUSEC_TEST_CC, FUSEC_TEST_CFLAGS, FUSEC_SOURCE_DIR, FUSEC_BINARY_DIR);
    FC_EXPECT_STREQ(sh.out, "0.841471\n0.14112\n-0.958924\n0.656987\n"); /* sin of 1, 3, 5, 7 */
    FC_EXPECT_STREQ(sh.err, "");
    shell_close(&sh);
#endif
    free(program);
}

FC_TEST(docs, the_program_in_the_header_runs) {
    char *program = program_of_header();
    FC_ASSERT_TRUE(program && *program);
    build_and_run(program);
}

FC_TEST(docs, the_program_in_the_readme_runs) {
    char *program = program_of_readme();
    FC_ASSERT_TRUE(program && *program);
    build_and_run(program);
}

FC_TEST(docs, both_are_one_program) {
    char *a = program_of_header(), *b = program_of_readme();
    FC_ASSERT_TRUE(a && b);
    squeeze(a);
    squeeze(b);
    FC_EXPECT_STREQ(a, b);
    free(a);
    free(b);
}
