/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_tiers_text.c - quick code of a processor that does the same as full code by another text: it
 * is shorter, and the bits are those of full code and of the interpreter. */
#include <fusec/fusec.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

enum { BYTES = 1 << 16, MOST_INPUTS = 2 };

typedef struct program {
    const char *text;
    fusec_dtype dtype;
    int nin, rank;
    int64_t shape[MOST_INPUTS][2];
    int64_t result[2];
} program;

/* All edges are met, lanes are left over, and several blocks and levels of the counter are there.
 */
#define EDGES(mode)                                                                                \
    "export def f(x: T[h, w]) {\n"                                                                 \
    "    b = boundary(x, mode=\"" mode "\")\n"                                                     \
    "    s[y in 0..h, x in 0..w] = b[y - 1, x] + 3*b[y, x - 2] + 5*b[y, x + 40] + 7*b[y + 1, x]\n" \
    "    return s\n}\n"

static const program programs[] = {
    {EDGES("wrap"), FUSEC_F32, 1, 2, {{13, 37}}, {13, 37}},
    {EDGES("symmetric"), FUSEC_I32, 1, 2, {{9, 70}}, {9, 70}},
    {EDGES("reflect"), FUSEC_F64, 1, 2, {{9, 53}}, {9, 53}},
    {"export def f(x: T[n, m]) = cumsum(x, axis=-1)", FUSEC_F32, 1, 2, {{5, 2500}}, {5, 2500}},
    {"export def f(x: T[n, m]) = cumsum(x, axis=-1)", FUSEC_BF16, 1, 2, {{3, 777}}, {3, 777}},
    {"export def f(x: T[n, m]) = cummax(x, axis=-1)", FUSEC_F64, 1, 2, {{3, 600}}, {3, 600}},
    {"export def f(x: T[n, m]) = cumsum(x, axis=-1, exclusive=true)",
     FUSEC_I64,
     1,
     2,
     {{2, 1111}},
     {2, 1111}},
    {"export def f(x: T[n, d], y: T[m, d]) {\n"
     "    d = x[:, None, :] - y[None, :, :]\n"
     "    return sum(d*d, axis=-1)\n}\n",
     FUSEC_F32,
     2,
     2,
     {{40, 9}, {50, 9}},
     {40, 50}},
};

static void fill(const program *p, int input, void *data) {
    uint32_t n = 12345u + (uint32_t)input;
    for (int64_t i = 0; i < p->shape[input][0] * p->shape[input][1]; i++) {
        const int v = (int)((n = n * 1664525u + 1013904223u) >> 24);
        if (p->dtype == FUSEC_F32) ((float *)data)[i] = (float)v / 7;
        if (p->dtype == FUSEC_F64) ((double *)data)[i] = (double)v / 7;
        if (p->dtype == FUSEC_I32) ((int32_t *)data)[i] = v;
        if (p->dtype == FUSEC_I64) ((int64_t *)data)[i] = v - 128;
        if (p->dtype == FUSEC_BF16) ((uint16_t *)data)[i] = (uint16_t)(0x3f80 + v);
    }
}

/* The sum of all "... compiled: N bytes of text". */
static void count_text(void *user, const char *line) {
    const char *at = strstr(line, " bytes of text");
    if (!strstr(line, "compiled") || !at) return;
    while (at > line && at[-1] >= '0' && at[-1] <= '9') at--;
    *(int64_t *)user += strtoll(at, NULL, 10);
}

static void set(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* T is the dtype. */
static void write_source(const program *p, char *out, size_t size) {
    size_t n = 0;
    for (const char *s = p->text; *s; s++) {
        if (*s == 'T')
            n += (size_t)snprintf(out + n, size - n, "%s", fusec_dtype_name(p->dtype));
        else
            n += (size_t)snprintf(out + n, size - n, "%c", *s);
    }
}

static fusec_status run_in(fusec_context *c, const program *p, void *result) {
    static _Alignas(64) char data[MOST_INPUTS][BYTES];
    fusec_module *m = NULL;
    fusec_program *made = NULL;
    fusec_tensor in[MOST_INPUTS];
    fusec_tensor out = {.dtype = p->dtype, .rank = p->rank, .shape = p->result, .data = result};
    char source[1000];
    write_source(p, source, sizeof source);
    for (int i = 0; i < p->nin; i++) {
        fill(p, i, data[i]);
        in[i] = (fusec_tensor){.dtype = p->dtype, .rank = 2, .shape = p->shape[i], .data = data[i]};
    }
    fusec_status s = fusec_parse(c, NULL, source, &m);
    if (!s) s = fusec_module_compile(m, NULL, 0, &made);
    if (!s) s = fusec_run(made, p->nin, in, 1, &out);
    if (s) FC_FAIL("%s", fusec_message(c));
    fusec_program_free(made);
    fusec_module_free(m);
    return s;
}

/* False: there is no such device. *text: bytes that were compiled. */
static bool run(const program *p, const char *device, const char *tiers, void *result,
                int64_t *text) {
    static const char *const names[] = {"FUSEC_TIERS", "FUSEC_DEBUG"};
    const char *const values[] = {tiers, "1"};
    char *before[2];
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *c = NULL;
    for (int i = 0; i < 2; i++) {
        before[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
        set(names[i], values[i]);
    }
    o.device = device;
    o.cache_dir = "";
    o.log = count_text;
    o.log_user = text;
    *text = 0;
    memset(result, 0, BYTES);
    const bool there = !fusec_context_new(&o, &c) && !run_in(c, p, result);
    fusec_context_free(c);
    for (int i = 0; i < 2; i++) {
        set(names[i], before[i]);
        free(before[i]);
    }
    return there;
}

FC_TEST(tiers_text, of_edges_and_scans_is_shorter_and_gives_the_same_bits) {
    static _Alignas(64) char result[3][BYTES];
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const program *p = &programs[i];
        int64_t full = 0, quick = 0, none;
        FC_TRACE("%s, %s", p->text, fusec_dtype_name(p->dtype));
        if (!run(p, "cpu", "full", result[0], &full)) FC_SKIP("there is no LLVM");
        FC_EXPECT_TRUE(run(p, "cpu", "quick", result[1], &quick));
        FC_EXPECT_TRUE(run(p, "interp", "both", result[2], &none));
        FC_EXPECT_MEMEQ(result[0], result[1], BYTES);
        FC_EXPECT_MEMEQ(result[0], result[2], BYTES);
        FC_EXPECT_TRUE(quick < full);
        FC_UNTRACE();
    }
}
