/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* page.c - see page.h. */
#include "tests/support/page.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *page_text(const char *path) {
    char full[1200];
    struct stat st;
    snprintf(full, sizeof full, "%s/%s", FUSEC_SOURCE_DIR, path);
    FILE *f = fopen(full, "rb");
    char *text = f && fstat(fileno(f), &st) == 0 ? calloc(1, (size_t)st.st_size + 1) : NULL;
    bool whole = text && fread(text, 1, (size_t)st.st_size, f) == (size_t)st.st_size;
    if (f) fclose(f);
    if (whole) return text;
    free(text);
    return NULL;
}

char *page_block(const char **at, const char *lang) {
    char open[32];
    snprintf(open, sizeof open, "\n```%s\n", lang);
    const char *begin = strstr(*at, open);
    if (!begin) return NULL;
    begin += strlen(open);
    const char *end = strstr(begin - 1, "\n```\n");
    if (!end) return NULL;
    *at = end + 4;
    size_t n = (size_t)(end + 1 - begin);
    char *text = calloc(1, n + 1);
    if (text) memcpy(text, begin, n);
    return text;
}
