/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_fuzz_corpus.c - the committed corpora of the fuzz targets, and what can be made of each of
 * their files by cutting it short, by changing a byte and, of texts, by changing words. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/base.h"
#include "tests/fuzz/mutate_words.h"
#include "tests/fuzz/targets.h"
#include "tests/support/test.h"

typedef struct target {
    const char *name;
    fuzz_target_fn *run;
} target;

#define TARGET(name) {#name, fuzz_##name},
static const target targets[] = {FUZZ_TARGETS(TARGET)};

enum { MAX_FILE = 1 << 16, CHANGES = 12, REWORDED = 40 };

/* In a block of exactly this size, so that a sanitizer sees what reads beyond. */
static void run_copy(const target *t, const uint8_t *data, size_t size, size_t change) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) return;
    memcpy(copy, data, size);
    if (change && size) copy[change * 2654435761u % size] ^= (uint8_t)(1u << change % 8);
    t->run(copy, size);
    free(copy);
}

static size_t read_file(const char *path, uint8_t *data) {
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(data, 1, MAX_FILE, f) : 0;
    if (f) fclose(f);
    FC_EXPECT_TRUE(size > 0);
    return size;
}

static void run_file(const target *t, const char *path) {
    static uint8_t data[MAX_FILE];
    size_t size = read_file(path, data);
    for (size_t i = 0; i <= CHANGES; i++) run_copy(t, data, size, i);
    for (size_t i = 0; i < CHANGES; i++) run_copy(t, data, size * i / CHANGES, 0);
}

/* Each time on top of what came before, so that the texts drift away from the file. */
static void reword_file(const target *t, const char *path) {
    static uint8_t data[MAX_FILE], before[MAX_FILE];
    size_t size = read_file(path, data);
    for (unsigned seed = 0; seed < REWORDED; seed++) {
        size_t old = size, room = size + 100 < MAX_FILE ? size + 100 : MAX_FILE;
        memcpy(before, data, old);
        size = fuzz_mutate_words(data, size, room, seed);
        FC_ASSERT_TRUE(size <= room);
        FC_EXPECT_EQ_U64(fuzz_mutate_words(before, old, room, seed), size);
        FC_EXPECT_TRUE(memcmp(before, data, size) == 0);
        run_copy(t, data, size, 0);
    }
}

static void each_file(const target *t, void (*run)(const target *, const char *)) {
    char pattern[1000];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/tests/fuzz/corpus/%s/*", FUSEC_SOURCE_DIR, t->name);
    FC_ASSERT_EQ_I64(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FC_TRACE("%s", found.gl_pathv[i]);
        run(t, found.gl_pathv[i]);
        FC_UNTRACE();
    }
    globfree(&found);
}

static void run_corpus(void *arg) {
    each_file(arg, run_file);
}

FC_TEST(fuzz_corpus, language_reworded) {
    static const target language = {"language", fuzz_language};
    each_file(&language, reword_file);
}

FC_REGISTER(fuzz_corpus) {
    for (size_t i = 0; i < FC_COUNT(targets); i++)
        FC_ADD_TEST("fuzz_corpus", targets[i].name, run_corpus, &targets[i]);
}
