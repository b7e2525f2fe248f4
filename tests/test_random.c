/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_random.c - random graphs in all the ways of tests/support/fuzz.h, on every device, for
 * seconds; bin/fusec_fuzz does the same for hours. And the programs of tests/regressions: graphs
 * that failed once.
 *
 * A graph that fails is shrunk and printed as a regression file. The seed of the fresh campaigns
 * comes from FUSEC_FRESH_SEED, which scripts/test makes of the commit, so that a commit passes or
 * fails each time. FUSEC_FUZZ_SEED repeats a failure, FUSEC_FUZZ_COUNT sets the number of graphs.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fuzz.h"
#include "tests/support/fuzz_nvrtc.h"
#include "tests/support/test.h"

/* ---- campaigns ------------------------------------------------------------------------------- */

enum { SLOWER = FC_SANITIZED ? 4 : 1 };

typedef struct campaign {
    const char *device;
    int count, fresh_count; /* graphs */
} campaign;

static void report(rg *r, fuzz_ways *w, uint64_t seed, fuzz_verdict v) {
    fc_str why, text;
    fc_str_init(&why, &fc_libc_alloc);
    fc_str_init(&text, &fc_libc_alloc);
    fuzz_shrink(r, w, v, false, 400);
    if (!fuzz_try(r, w, &why)) fuzz_flush(&why);
    fuzz_print(r, w, seed, why.data, &text);
    FC_FAIL("%s", text.data);
    fc_str_free(&why);
    fc_str_free(&text);
}

static bool run_seed(const char *device, uint64_t seed) {
    rg r;
    fuzz_ways w;
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    fuzz_make(seed, device, &r, &w);
    fuzz_verdict v = fuzz_try(&r, &w, &why);
    fc_str_free(&why);
    if (v) report(&r, &w, seed, v);
    return v == FUZZ_GOOD;
}

static bool there(const char *device) {
    fc_device *d;
    return !strcmp(device, "nvrtc") ? fuzz_nvrtc_there() : fc_rig(device, 1, &d) != NULL;
}

static void run_campaign(const campaign *c, uint64_t seed, int usual) {
    const char *wanted = getenv("FUSEC_FUZZ_COUNT");
    int count = wanted ? atoi(wanted) : usual / SLOWER;
    if (!there(c->device)) FC_SKIP("there is no device %s", c->device);
    printf("%s: %d graphs from seed %llu\n", c->device, count, (unsigned long long)seed);
    fflush(stdout); /* a crash must not take it along */
    for (int i = 0; i < count && run_seed(c->device, seed + (uint64_t)i); i++) {
    }
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    if (fuzz_flush(&why)) FC_FAIL("%s", why.data);
    fc_str_free(&why);
}

static void run_fixed(void *arg) {
    const campaign *c = arg;
    run_campaign(c, 1, c->count);
}

static const campaign campaigns[] = {
    {"interp", 500, 2000},
    {"cpu", 40, 160},
    {"cuda", 500, 400},
    {"nvrtc", 10, 40},
};

/* Each device and each build has graphs of its own. */
static void run_fresh(void *arg) {
    const campaign *c = arg;
    const char *given = getenv("FUSEC_FUZZ_SEED"), *fresh = getenv("FUSEC_FRESH_SEED");
    const uint64_t part = (uint64_t)(c - campaigns) * 2 + FC_SANITIZED;
    run_campaign(c,
                 given   ? strtoull(given, NULL, 10)
                 : fresh ? strtoull(fresh, NULL, 10) + part * 1000000
                         : 1000000 + part * 1000000,
                 c->fresh_count);
}

FC_REGISTER(campaigns) {
    for (size_t i = 0; i < FC_COUNT(campaigns); i++) {
        char name[64];
        snprintf(name, sizeof name, "fixed_seed_%s", campaigns[i].device);
        FC_ADD_TEST("random_graphs", name, run_fixed, &campaigns[i]);
        snprintf(name, sizeof name, "fresh_seed_%s", campaigns[i].device);
        FC_ADD_TEST("random_graphs", name, run_fresh, &campaigns[i]);
    }
}

/* ---- regressions ----------------------------------------------------------------------------- */

static char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    if (f && text && fread(text, 1, (1 << 16) - 1, f) == 0) text[0] = 0;
    if (f) fclose(f);
    return text;
}

static void run_regression(void *arg) {
    static const char *const devices[] = {"interp", "cpu", "cuda"};
    char *text = read_file(arg);
    for (size_t d = 0; text && d < FC_COUNT(devices); d++) {
        fuzz_ways w = {.device = devices[d],
                       .again = true,
                       .rude = true,
                       .unfused = true,
                       .threads = true,
                       .text = true,
                       .max_ops = 3};
        fc_str why;
        if (!there(devices[d])) continue;
        fc_str_init(&why, &fc_libc_alloc);
        if (fuzz_replay(arg, text, &w, &why)) FC_FAIL("%s: %s", devices[d], why.data);
        fc_str_free(&why);
    }
    FC_EXPECT_TRUE(text && text[0]);
    free(text);
}

static glob_t found; /* stays to the end: the tests keep its names */

__attribute__((destructor)) static void forget_files(void) {
    globfree(&found);
}

FC_REGISTER(regressions) {
    if (glob(FUSEC_SOURCE_DIR "/tests/regressions/*.fuse", 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char name[80];
        const char *base = strrchr(found.gl_pathv[i], '/') + 1;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "."), base);
        FC_ADD_TEST("regressions", name, run_regression, found.gl_pathv[i]);
    }
}
