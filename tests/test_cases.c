/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cases.c - worked programs with known results, on every device there is.
 *
 * A file cases.txt holds one command line for each case. Those of tests/lang/expected run in
 * tests/lang/programs. Folders next to this checkout that have programs/expected/cases.txt are run
 * too, up to the line "# later". */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/shell.h"
#include "tests/support/test.h"

typedef struct test_case {
    char *folder, *command; /* "run wave.fuse x=..." */
    const char *device;
    struct test_case *next;
} test_case;

static test_case *all; /* keeps them reachable to the end */

static void run_case(void *arg) {
    const test_case *c = arg;
    shell sh;
    if (!shell_open(&sh)) return;
    shell_run(&sh, "cd '%s' && fusec %s --device %s", c->folder, c->command, c->device);
    bool absent = sh.code == 5 && strstr(sh.err, "--device");
    if (!absent && sh.code != 0) FC_FAIL("exit code %d\n%s", sh.code, sh.err);
    if (!absent) FC_EXPECT_STREQ(sh.out, "");
    shell_close(&sh);
    if (absent) FC_SKIP("there is no %s here", c->device);
}

/* "run norms.fuse:rmsnorm x=..." gives "norms_rmsnorm". */
static void name_of(const char *command, char name[80]) {
    const char *p = strchr(command, ' ') + 1;
    size_t n = 0;
    for (; *p && *p != ' ' && n < 60; p++) {
        if (!strncmp(p, ".fuse", 5)) {
            p += 4;
            continue;
        }
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_';
        name[n++] = plain ? *p : '_';
    }
    name[n] = 0;
}

static void add_file(const char *suite, const char *path, const char *folder) {
    static const char *const devices[] = {"interp", "cpu", "cuda"};
    char line[2000];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "# later", 7)) break;
        if (strncmp(line, "fusec ", 6) != 0) continue;
        for (size_t d = 0; d < 3; d++) {
            char name[80], full[100];
            test_case *c = malloc(sizeof *c);
            if (!c) break;
            *c = (test_case){strdup(folder), strdup(line + 6), devices[d], all};
            all = c;
            name_of(line + 6, name);
            snprintf(full, sizeof full, "%s_%s", name, devices[d]);
            if (c->folder && c->command) FC_ADD_TEST(suite, full, run_case, c);
        }
    }
    if (f) fclose(f);
}

FC_REGISTER(cases) {
    glob_t found;
    add_file("cases", FUSEC_SOURCE_DIR "/tests/lang/expected/cases.txt",
             FUSEC_SOURCE_DIR "/tests/lang/programs");
    if (glob(FUSEC_SOURCE_DIR "/../*/programs/expected/cases.txt", 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char folder[1000];
        size_t n = strlen(found.gl_pathv[i]) - strlen("/expected/cases.txt");
        snprintf(folder, sizeof folder, "%.*s", (int)n, found.gl_pathv[i]);
        add_file("cases_beside", found.gl_pathv[i], folder);
    }
    globfree(&found);
}
