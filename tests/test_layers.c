/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_layers.c - reads the source tree and keeps the rules that no compiler checks: a file
 * includes its own layer and lower ones only, and the library never aborts, prints or exits. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw, memmem */
#endif
#include "tests/support/test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base.h"

/* runtime/compile, compilers and loaders, knows nothing of the rest of runtime; and as it is above
 * codegen, text is made without asking a compiler. */
static const char *const layers[] = {"include",         "ir",      "passes",  "codegen",
                                     "runtime/compile", "runtime", "frontend"};

/* The layer a path relative to the root lies in, or -1: the first that fits, parts before wholes.
 */
static int layer_of(const char *path) {
    for (int i = 0; i < (int)FC_COUNT(layers); i++) {
        size_t n = strlen(layers[i]);
        if (strncmp(path, layers[i], n) == 0 && path[n] == '/') return i;
    }
    return -1;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

/* ---- what is inside a file: comments and literals are blanked, lines keep their numbers ------ */

/* Skips a literal that starts at p, escapes included; gives its last character. */
static char *skip_literal(char *p) {
    char quote = *p;
    for (p++; *p != '\0' && *p != quote && *p != '\n'; p++) {
        if (*p == '\\' && p[1] != '\0') *p++ = ' ';
        *p = ' ';
    }
    return p;
}

static char *blank(char *p, const char *until, size_t tail) {
    char *stop = strstr(p, until);
    stop = stop != NULL ? stop + tail : p + strlen(p);
    for (; p < stop; p++)
        if (*p != '\n') *p = ' ';
    return p - 1;
}

static void strip(char *text) {
    for (char *p = text; *p != '\0'; p++) {
        if (p[0] == '/' && p[1] == '*') {
            p = blank(p, "*/", 2);
        } else if (p[0] == '/' && p[1] == '/') {
            p = blank(p, "\n", 0);
        } else if (*p == '"' || *p == '\'') {
            p = skip_literal(p);
        }
        if (*p == '\0') return;
    }
}

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int line_of(const char *text, const char *at) {
    int line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

/* A schedule (sizes to class) and the text of a class know nothing of each other: a file in
 * codegen/TARGET/schedule/ includes of its target what is there and the facts, and only the
 * target's own table, TARGET_target.c, includes what is there. */
static bool breaks_the_wall(const char *path, const char *name, size_t n) {
    static const char wall[] = "/schedule/";
    const char *dir = strstr(path, wall), *slash = memchr(name, '/', n);
    if (strncmp(path, "codegen/", 8) != 0 || strncmp(name, "codegen/", 8) != 0) return false;
    const bool to_schedule = memmem(name, n, wall, sizeof wall - 1) != NULL,
               facts = n > 8 && strncmp(name + n - 8, "_facts.h", 8) == 0;
    if (!dir) return to_schedule && !ends_with(path, "_target.c");
    return memchr(slash + 1, '/', n - (size_t)(slash + 1 - name)) && !to_schedule && !facts;
}

/* The command is a client of the C functions like others: for plans, sources, times and what a call
 * costs it has <fusec/fusec.h>. What it needs besides, and which of its files; its own files,
 * arrays of the host (frontend/io) and ir/ are free. docs/architecture.md has the reasons. */
static const struct {
    const char *header, *files;
} of_the_command[] = {
    {"codegen/llvm/schedule/llvm_schedule.h", "aot_code.c"},
    {"frontend/capi/program.h", "job.h"},
    {"frontend/explain/words.h", "command.h term.h"},
    {"frontend/lang/compile.h", "externs.h job.h"},
    {"frontend/lang/diag.h", "report.h"},
    {"frontend/lang/files.h", "command.h"},
    {"frontend/lang/fmt.h", "cmd_fmt.c"},
    {"frontend/lang/library.h", "help.c"},
    {"frontend/lang/parse.h", "job.h"},
    {"frontend/lang/suggest.h", "options.c"},
    {"passes/rewrite.h", "explain_pieces.c"},
    {"runtime/aot/aot.h", "aot.h"},
    {"runtime/bind.h", "job_data.c job_sizes.c made_kernels.c"},
    {"runtime/compile/bytes.h", "emit.h"},
    {"runtime/compile/dynlib.h", "b2nd.c codec.h"},
    {"runtime/compile/helper.h", "aot_code.c aot_cuda.c emit.c main.c"},
    {"runtime/compile/llvm_api.h", "cmd_devices.c"},
    {"runtime/compile/llvm_compile.h", "aot.h"},
    {"runtime/compile/nvrtc.h", "aot.c aot_cuda.c cmd_devices.c emit.c"},
    {"runtime/context.h", "command.h"},
    {"runtime/cpuinfo.h", "aot.c cmd_devices.c emit.c"},
    {"runtime/cuda/driver.h", "cmd_devices.c"},
    {"runtime/cut.h", "explain_pieces.c"},
    {"runtime/mesh.h", "job_mesh.c"},
    {"runtime/pack.h", "cmd_cache.c"},
    {"runtime/partial.h", "split.c"},
    {"runtime/thread.h", "progress.c"},
    {"runtime/trace.h", "timeline.c"},
};

static bool is_word_of(const char *list, const char *word, size_t n) {
    for (; *list; list += strcspn(list, " "), list += *list == ' ')
        if (strcspn(list, " ") == n && !memcmp(list, word, n)) return true;
    return false;
}

static bool is_free_for_command(const char *path, const char *name, size_t n) {
    static const char cli[] = "frontend/cli/";
    static const char *const free[] = {"frontend/cli/", "frontend/io/", "ir/"};
    if (strncmp(path, cli, sizeof cli - 1)) return true;
    for (size_t i = 0; i < FC_COUNT(free); i++)
        if (!strncmp(name, free[i], strlen(free[i]))) return true;
    for (size_t i = 0; i < FC_COUNT(of_the_command); i++)
        if (strlen(of_the_command[i].header) == n && !memcmp(of_the_command[i].header, name, n))
            return is_word_of(of_the_command[i].files, path + sizeof cli - 1,
                              strlen(path + sizeof cli - 1));
    return false;
}

/* ---- the rules: each gets a file's path from the root and its text, and reports through `report`
 * ---- */

typedef void (*report_fn)(const char *path, int line, const char *what);

static void check_include(const char *path, int line, const char *name, char close,
                          report_fn report) {
    char what[300];
    int from = layer_of(path), to = close == '>' ? 0 : layer_of(name);
    if (close == '>' && strncmp(name, "fusec/", 6) != 0) return; /* the system's */
    size_t n = strcspn(name, "\">\n");
    if (to < 0) {
        snprintf(what, sizeof what, "\"%.*s\" is not a path from the root into a layer", (int)n,
                 name);
    } else if (to > from) {
        snprintf(what, sizeof what, "%s includes \"%.*s\" from the higher layer %s", layers[from],
                 (int)n, name, layers[to]);
    } else if (breaks_the_wall(path, name, n)) {
        snprintf(what, sizeof what, "\"%.*s\" is behind the wall between schedules and text",
                 (int)n, name);
    } else if (close == '"' && !is_free_for_command(path, name, n)) {
        snprintf(what, sizeof what, "\"%.*s\" is not for this file of the command", (int)n, name);
    } else {
        return;
    }
    report(path, line, what);
}

static void check_includes(const char *path, const char *text, report_fn report) {
    int line = 1;
    for (const char *p = text; p != NULL; p = strchr(p, '\n'), line++) {
        if (p != text) p++;
        if (*p == '\0') break;
        const char *q = p + strspn(p, " \t");
        if (*q != '#') continue;
        q += 1 + strspn(q + 1, " \t");
        if (strncmp(q, "include", 7) != 0) continue;
        q += 7 + strspn(q + 7, " \t");
        if (*q == '"' || *q == '<') check_include(path, line, q + 1, *q == '"' ? '"' : '>', report);
    }
}

static void check_calls(const char *path, char *text, report_fn report) {
    static const char *const banned[] = {"abort", "exit", "printf", "vprintf", "puts", "perror"};
    if (!ends_with(path, ".c") || strncmp(path, "frontend/cli/", 13) == 0) return;
    strip(text);
    for (size_t i = 0; i < FC_COUNT(banned); i++) {
        size_t n = strlen(banned[i]);
        for (const char *p = text; (p = strstr(p, banned[i])) != NULL; p += n) {
            const char *after = p + n + strspn(p + n, " \t\n");
            if ((p > text && is_word(p[-1])) || *after != '(' || is_word(p[n])) continue;
            char what[100];
            snprintf(what, sizeof what, "the library must not call %s", banned[i]);
            report(path, line_of(text, p), what);
        }
    }
}

/* ---- walking the tree ------------------------------------------------------------------------ */

/* nftw has no argument for its callback, so this one file of the tests keeps two counters. */
static int files_seen, breaches_seen;

static void report_failure(const char *path, int line, const char *what) {
    char full[1200];
    snprintf(full, sizeof full, "%s/%s", FUSEC_SOURCE_DIR, path);
    fc_test_fail(full, line, "%s", what);
}

static void count_breach(const char *path, int line, const char *what) {
    (void)path, (void)line, (void)what;
    breaches_seen++;
}

static void check_text(const char *path, char *text, report_fn report) {
    check_includes(path, text, report);
    check_calls(path, text, report);
}

static int visit(const char *full, const struct stat *st, int kind, struct FTW *ftw) {
    (void)ftw;
    if (kind != FTW_F) return 0;
    if (!ends_with(full, ".c") && !ends_with(full, ".h") && !ends_with(full, ".def")) return 0;
    FILE *f = fopen(full, "rb");
    char *text = calloc(1, (size_t)st->st_size + 1);
    size_t n = f != NULL && text != NULL ? fread(text, 1, (size_t)st->st_size, f) : 0;
    if (n == (size_t)st->st_size) {
        files_seen++;
        check_text(full + strlen(FUSEC_SOURCE_DIR) + 1, text, report_failure);
    } else {
        FC_FAIL("%s can't be read", full);
    }
    free(text);
    if (f != NULL) fclose(f);
    return 0;
}

FC_TEST(layers, the_tree_keeps_its_rules) {
    files_seen = 0;
    for (size_t i = 0; i < FC_COUNT(layers); i++) {
        char root[1024];
        if (strchr(layers[i], '/') != NULL) continue; /* within another */
        snprintf(root, sizeof root, "%s/%s", FUSEC_SOURCE_DIR, layers[i]);
        nftw(root, visit, 16, FTW_PHYS);
    }
    FC_EXPECT_GE_I64(files_seen, 5);
}

/* ---- the checks find what they are there for ------------------------------------------------- */

typedef struct sample {
    const char *path, *text;
    int breaches;
} sample;

FC_TEST(layers, the_rules_catch_breaches) {
    static const sample samples[] = {
        {"ir/a.c", "#include \"ir/b.h\"\n#include <fusec/c.h>\n#include <stdio.h>\n", 0},
        {"codegen/a.c", "#include \"runtime/compile/b.h\"\n", 1},
        {"runtime/compile/a.c", "#include \"codegen/b.h\"\n#include \"runtime/b.h\"\n", 1},
        {"runtime/cuda/a.c", "#include \"runtime/b.h\"\n#include \"runtime/compile/b.h\"\n", 0},
        {"codegen/t/schedule/a.c",
         "#include \"codegen/b.h\"\n#include \"codegen/t/t_facts.h\"\n"
         "#include \"codegen/t/schedule/b.h\"\n#include \"codegen/t/t.h\"\n",
         1},
        {"codegen/t/a.c", "#include \"codegen/t/schedule/b.h\"\n#include \"codegen/t/t.h\"\n", 1},
        {"codegen/t/t_target.c", "#include \"codegen/t/schedule/b.h\"\n", 0},
        {"ir/a.c", "int x;\n  # include \"passes/b.h\"\n", 1},
        {"ir/a.c", "#include \"b.h\"\n#include \"tests/b.h\"\n", 2},
        {"frontend/lang/a.c", "#include \"runtime/b.h\"\n#include \"frontend/capi/c.h\"", 0},
        {"include/fusec/a.h", "#include <fusec/b.h>\n#include \"ir/b.h\"\n", 1},
        {"runtime/a.c", "void f(void) { abort(); exit (1);\nprintf(\"x\"); }", 3},
        {"runtime/a.c", "/* abort() */ char *s = \"a\\\"exit(1)\"; // printf(\nint c = '\"';", 0},
        {"runtime/a.c", "snprintf(b, 3, \"\"); fc_str_printf(s, \"\"); _exit(1); printfx(1);", 0},
        {"runtime/a.c", "const char *quote = \"'\"; abort();", 1},
        {"frontend/cli/a.c", "exit(1);", 0},
        {"frontend/cli/a.c",
         "#include <fusec/fusec.h>\n#include \"frontend/cli/b.h\"\n#include \"ir/b.h\"\n", 0},
        {"frontend/cli/cmd_explain.c", "#include \"frontend/explain/plan_view.h\"\n", 1},
        {"frontend/cli/cmd_fmt.c", "#include \"frontend/lang/fmt.h\"\n", 0},
        {"frontend/cli/fmt.c", "#include \"frontend/lang/fmt.h\"\n", 1},
    };
    for (size_t i = 0; i < FC_COUNT(samples); i++) {
        char text[256];
        snprintf(text, sizeof text, "%s", samples[i].text);
        breaches_seen = 0;
        check_text(samples[i].path, text, count_breach);
        FC_TRACE("%s: %s", samples[i].path, samples[i].text);
        FC_EXPECT_EQ_I64(breaches_seen, samples[i].breaches);
        FC_UNTRACE();
    }
}
