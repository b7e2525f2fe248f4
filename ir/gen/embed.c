/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* embed.c - sections of text files as rows of a table, for the compiler of C.
 *
 *     fusec_embed OUT FILE...
 *
 * In: files of CUDA C, or of the language. A line `//@ NAME` or `#@ NAME` begins a section; what
 * stands before the first one belongs to none. Lines of which nothing but a // comment is there are
 * for readers and are left out, and empty lines at the end of a section. Out: FC_SECTION(NAME,
 * "text") for each, in order. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 4096 };

static bool fail(const char *file, const char *why) {
    fprintf(stderr, "%s: %s\n", file, why);
    return false;
}

static void put_line(FILE *out, const char *line) {
    fputs("\n    \"", out);
    for (; *line; line++) {
        if (*line == '"' || *line == '\\') fputc('\\', out);
        fputc(*line, out);
    }
    fputs("\\n\"", out);
}

/* What a file is read into: how many lines the section has so far, and how many empty ones wait for
 * another line. */
typedef struct section {
    bool begun;
    unsigned lines, empty;
} section;

static void end_section(section *s, FILE *out) {
    if (s->begun) fputs(s->lines ? ")\n" : "\"\")\n", out);
    *s = (section){0};
}

static bool take_line(section *s, const char *file, const char *line, FILE *out) {
    const char *text = line;
    while (isspace((unsigned char)*text)) text++;
    const size_t mark = !strncmp(line, "//@ ", 4) ? 4 : !strncmp(line, "#@ ", 3) ? 3 : 0;
    if (mark) {
        const char *name = line + mark;
        if (!*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
            return fail(file, "a section needs a name of small letters, digits and _");
        end_section(s, out);
        s->begun = true;
        fprintf(out, "FC_SECTION(%s,", name);
    } else if (!*text) {
        s->empty++;
    } else if (strncmp(text, "//", 2) != 0 && (s->begun || strncmp(line, "# ", 2) != 0)) {
        if (!s->begun) return fail(file, "text before the first section");
        for (; s->lines && s->empty; s->empty--) put_line(out, "");
        s->empty = 0;
        s->lines++;
        put_line(out, line);
    }
    return true;
}

static bool embed(const char *file, FILE *out) {
    char line[LINE];
    section s = {0};
    FILE *in = fopen(file, "r");
    bool good = in ? true : fail(file, "can't be read");
    while (good && fgets(line, sizeof line, in)) {
        if (!strchr(line, '\n')) good = fail(file, "a line is too long, or has no end");
        line[strcspn(line, "\n")] = 0;
        good = good && take_line(&s, file, line, out);
    }
    end_section(&s, out);
    if (in) fclose(in);
    return good;
}

int main(int argc, char **argv) {
    FILE *out = argc > 2 ? fopen(argv[1], "w") : NULL;
    bool good = out ? true : fail("fusec_embed", "OUT FILE...");
    for (int i = 2; good && i < argc; i++) good = embed(argv[i], out);
    if (out && fclose(out)) good = fail(argv[1], "can't be written");
    return good ? 0 : 1;
}
