/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lang_files.c - reads the files of a folder in the order of their names. */
#include "tests/support/lang_files.h"

#include "ir/base.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *dir, const char *name, size_t *len) {
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    *len = f && text ? fread(text, 1, (1 << 16) - 1, f) : 0;
    if (f) fclose(f);
    return text;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void each_lang_file(const char *dir, const char *ext, lang_file_fn fn) {
    char *names[400];
    size_t count = 0;
    DIR *d = opendir(dir);
    FC_ASSERT_TRUE(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL && count < FC_COUNT(names);) {
        size_t n = strlen(e->d_name), m = strlen(ext);
        if (n > m && strcmp(e->d_name + n - m, ext) == 0) names[count++] = strdup(e->d_name);
    }
    closedir(d);
    FC_EXPECT_TRUE(count > 0);
    qsort(names, count, sizeof names[0], by_name);
    for (size_t i = 0; i < count; i++) {
        size_t len;
        char *text = read_file(dir, names[i], &len);
        FC_TRACE("%s", names[i]);
        fn(dir, names[i], text, len);
        FC_UNTRACE();
        free(text);
        free(names[i]);
    }
}

uint32_t lang_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}
