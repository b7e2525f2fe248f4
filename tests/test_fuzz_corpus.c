/* test_fuzz_corpus.c - the committed corpora of the fuzz targets, and what can be made of each of
 * their files by cutting it short and by changing a byte. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/base.h"
#include "tests/fuzz/targets.h"
#include "tests/support/test.h"

typedef struct target {
    const char *name;
    fuzz_target_fn *run;
} target;

#define TARGET(name) {#name, fuzz_##name},
static const target targets[] = {FUZZ_TARGETS(TARGET)};

enum { MAX_FILE = 1 << 16, CHANGES = 12 };

/* In a block of exactly this size, so that a sanitizer sees what reads beyond. */
static void run_copy(const target *t, const uint8_t *data, size_t size, size_t change) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) return;
    memcpy(copy, data, size);
    if (change && size) copy[change * 2654435761u % size] ^= (uint8_t)(1u << change % 8);
    t->run(copy, size);
    free(copy);
}

static void run_file(const target *t, const char *path) {
    static uint8_t data[MAX_FILE];
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(data, 1, sizeof data, f) : 0;
    if (f) fclose(f);
    FC_TRACE("%s", path);
    FC_EXPECT_TRUE(size > 0);
    for (size_t i = 0; i <= CHANGES; i++) run_copy(t, data, size, i);
    for (size_t i = 0; i < CHANGES; i++) run_copy(t, data, size * i / CHANGES, 0);
    FC_UNTRACE();
}

static void run_corpus(void *arg) {
    const target *t = arg;
    char pattern[1000];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/tests/fuzz/corpus/%s/*", FUSEC_SOURCE_DIR, t->name);
    FC_ASSERT_EQ_I64(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) run_file(t, found.gl_pathv[i]);
    globfree(&found);
}

FC_REGISTER(fuzz_corpus) {
    for (size_t i = 0; i < FC_COUNT(targets); i++)
        FC_ADD_TEST("fuzz_corpus", targets[i].name, run_corpus, &targets[i]);
}
