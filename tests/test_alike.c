/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_alike.c - steps of a program that do the same with other arrays are one launch: how many
 * launches there are, by a driver that counts them, and what they compute, on all devices; and the
 * test of a call's arrays for common bytes. */
#include "runtime/apart.h"
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fusec/fusec.h>

enum { MOST = 250, SETS = 2 };

/* A program of many steps and the arrays of its calls. */
typedef struct many {
    fusec_context *ctx;
    fusec_program *p;
    int n, scalars;
    int64_t size[MOST];
    float *in[SETS][MOST], *out[SETS][MOST]; /* on the host */
    void *din[SETS][MOST], *dout[SETS][MOST];
} many;

typedef enum shape { UPDATES, TWO_SIZES, CHAINS, SWAPPED } shape;

/* x * 0.5 - s or, in two kernels each, flip(x * 2) - s; s is one of two numbers in turn. SWAPPED:
 * x * 0.5 + s, whose operands are written in one order and the other. */
static fusec_value value_of(fusec_value x, fusec_value s, int i, shape how) {
    fusec_value half = fusec_num(0.5);
    if (how == SWAPPED)
        return i % 3 ? fusec_add(s, fusec_mul(half, x)) : fusec_add(fusec_mul(x, half), s);
    if (how != CHAINS) return fusec_sub(fusec_mul(x, half), s);
    return fusec_sub(fusec_flip(fusec_materialize(fusec_mul(x, fusec_num(2))), 0), s);
}

static float expected(const many *m, int set, int i, int64_t at, shape how) {
    const float s = i % 2 ? 10 : 3, *x = m->in[set][i];
    if (how == SWAPPED) return x[at] * 0.5f + s;
    return how != CHAINS ? x[at] * 0.5f - s : x[m->size[i] - 1 - at] * 2 - s;
}

static bool build(many *m, shape how, unsigned flags) {
    fusec_graph *g = NULL;
    if (fusec_graph_new(m->ctx, &g)) return false;
    const fusec_dim n = fusec_sym(g, "n"), other = how == TWO_SIZES ? fusec_sym(g, "m") : n;
    fusec_value s[2] = {fusec_input(g, "s", FUSEC_F32, 0, NULL),
                        fusec_input(g, "t", FUSEC_F32, 0, NULL)};
    for (int i = 0; i < m->n; i++) {
        char name[16];
        const bool longer = how == TWO_SIZES && i % 3 == 0;
        m->size[i] = longer ? 1000 : 640;
        snprintf(name, sizeof name, "x%d", i);
        fusec_value x = fusec_input(g, name, FUSEC_F32, 1, longer ? &other : &n);
        snprintf(name, sizeof name, "y%d", i);
        fusec_output(g, name, value_of(x, s[i % 2], i, how));
    }
    fusec_status st = fusec_graph_status(g);
    if (!st) st = fusec_compile_with(g, flags, &m->p);
    if (st) FC_FAIL("%s", fusec_message(m->ctx));
    fusec_graph_free(g);
    return !st;
}

static void make_arrays(many *m) {
    for (int set = 0; set < SETS; set++)
        for (int i = 0; i < m->n; i++) {
            const size_t bytes = (size_t)m->size[i] * sizeof(float);
            float *x = m->in[set][i] = malloc(bytes);
            m->out[set][i] = malloc(bytes);
            for (int64_t k = 0; k < m->size[i]; k++) x[k] = (float)((k * 7 + i + 50 * set) % 128);
            FC_EXPECT_EQ_I64(fusec_device_alloc(m->ctx, bytes, &m->din[set][i]), FUSEC_OK);
            FC_EXPECT_EQ_I64(fusec_upload(m->ctx, m->din[set][i], x, bytes), FUSEC_OK);
        }
    for (int set = 0; set < SETS; set++)
        for (int i = 0; i < m->n; i++)
            FC_EXPECT_EQ_I64(
                fusec_device_alloc(m->ctx, (size_t)m->size[i] * sizeof(float), &m->dout[set][i]),
                FUSEC_OK);
}

static fusec_status call(many *m, int set, bool on_device) {
    static fusec_tensor in[MOST + 2], out[MOST];
    static float s[2] = {3, 10};
    for (int i = 0; i < 2; i++) in[i] = (fusec_tensor){.data = &s[i], .dtype = FUSEC_F32};
    for (int i = 0; i < m->n; i++) {
        void *x = on_device ? m->din[set][i] : m->in[set][i],
             *y = on_device ? m->dout[set][i] : m->out[set][i];
        const fusec_place place = on_device ? FUSEC_DEVICE : FUSEC_HOST;
        in[2 + i] = (fusec_tensor){
            .data = x, .shape = &m->size[i], .rank = 1, .dtype = FUSEC_F32, .place = place};
        out[i] = (fusec_tensor){
            .data = y, .shape = &m->size[i], .rank = 1, .dtype = FUSEC_F32, .place = place};
    }
    return fusec_run(m->p, m->n + 2, in, m->n, out);
}

static void check(many *m, int set, bool on_device, shape how) {
    int wrong = 0;
    for (int i = 0; i < m->n; i++) {
        const size_t bytes = (size_t)m->size[i] * sizeof(float);
        if (on_device) fusec_download(m->ctx, m->out[set][i], m->dout[set][i], bytes);
        for (int64_t k = 0; k < m->size[i]; k++)
            wrong += m->out[set][i][k] != expected(m, set, i, k, how);
        memset(m->out[set][i], 0, bytes);
    }
    FC_EXPECT_EQ_I64(wrong, 0);
}

static void close_many(many *m) {
    for (int set = 0; set < SETS; set++)
        for (int i = 0; i < m->n; i++) {
            free(m->in[set][i]);
            free(m->out[set][i]);
            fusec_device_free(m->ctx, m->din[set][i]);
            fusec_device_free(m->ctx, m->dout[set][i]);
        }
    fusec_program_free(m->p);
    fusec_context_free(m->ctx);
}

/* The long way with host arrays, then with the device's, and ready calls with changing arrays. */
static void calls(const char *device, int n, shape how, unsigned flags, fake_cuda *fake,
                  long launches) {
    static many m;
    memset(&m, 0, sizeof m);
    m.n = n;
    if (capi_open(device, 1, &m.ctx) || fusec_device(m.ctx, NULL, NULL)) {
        fusec_context_free(m.ctx);
        return;
    }
    const bool computes = !fake || fake->execute;
    if (build(&m, how, flags)) {
        make_arrays(&m);
        for (int k = 0; k < 6; k++) {
            const bool on_device = k > 0;
            const long before = fake ? fake->launched : 0;
            if (call(&m, k % SETS, on_device)) FC_FAIL("%s", fusec_message(m.ctx));
            if (fake) FC_EXPECT_EQ_I64(fake->launched - before, launches);
            if (computes) check(&m, k % SETS, on_device, how);
        }
    }
    close_many(&m);
}

static void on_fake(int n, shape how, unsigned flags, long launches, long compiled) {
    fake_machine f;
    if (!fake_machine_open(&f, FAKE("whole"))) return;
    f.fake->execute = fake_can_execute();
    calls("cuda", n, how, flags, f.fake, launches);
    FC_EXPECT_EQ_I64(f.fake->compiled, compiled);
    FC_EXPECT_EQ_I64(f.fake->misuse, 0);
    FC_EXPECT_EQ_I64(f.fake->memory, 0);
    fake_machine_close(&f);
}

FC_TEST(alike, updates_are_one_launch) {
    on_fake(40, UPDATES, 0, 1, 1);
}

FC_TEST(alike, what_does_not_fit_the_parameters_is_another_launch) {
    on_fake(MOST, UPDATES, 0, 2, 1);
}

FC_TEST(alike, other_sizes_are_another_launch_of_the_same_code) {
    on_fake(40, TWO_SIZES, 0, 2, 1);
}

FC_TEST(alike, what_reads_comes_after_what_makes) {
    on_fake(30, CHAINS, 0, 2, 1);
}

FC_TEST(alike, the_order_of_operands_does_not_matter) {
    on_fake(40, SWAPPED, 0, 1, 1);
}

FC_TEST(alike, graphs_of_launches) {
    on_fake(30, CHAINS, FUSEC_PROGRAM_GRAPH, 2, 1);
}

FC_TEST(alike, every_device_computes_the_same) {
    static const char *const devices[] = {"interp", "cpu", "cuda"};
    for (int d = 0; d < 3; d++) {
        FC_TRACE("%s", devices[d]);
        calls(devices[d], 40, UPDATES, 0, NULL, 0);
        calls(devices[d], 40, TWO_SIZES, 0, NULL, 0);
        calls(devices[d], 30, CHAINS, 0, NULL, 0);
        FC_UNTRACE();
    }
}

/* ---- bytes that arrays share ----------------------------------------------------------------- */

static unsigned next_number(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static bool apart_by_hand(const fc_extent *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            if (i == k || !x[i].written || x[i].begin == x[i].end || x[k].begin == x[k].end)
                continue;
            if (x[i].begin < x[k].end && x[k].begin < x[i].end) return false;
        }
    return true;
}

/* In several orders: ascending, in runs, shuffled; with and without something in common. */
FC_TEST(alike, common_bytes_are_found) {
    enum { N = 40 };
    fc_extent x[N], copy[N], room[N];
    unsigned state = 7;
    int apart = 0, shared = 0;
    for (int round = 0; round < 4000; round++) {
        const size_t n = next_number(&state) % (N + 1);
        const int how = round % 4;
        uintptr_t at = 4096;
        for (size_t i = 0; i < n; i++) {
            const size_t bytes = next_number(&state) % 8 * 16;
            x[i] = (fc_extent){at, at + bytes, next_number(&state) % 2 != 0};
            at += bytes + next_number(&state) % 3 * 8;
            if (how == 1 && i == n / 2) at = 64; /* two runs, which may meet */
        }
        for (size_t i = 0; how >= 2 && i < n; i++) {
            const size_t k = next_number(&state) % n;
            const fc_extent t = x[i];
            x[i] = x[k];
            x[k] = t;
        }
        if (how == 3 && n > 1) x[0].begin -= next_number(&state) % 64; /* into another, perhaps */
        memcpy(copy, x, sizeof copy);
        const bool want = apart_by_hand(x, n);
        FC_EXPECT_EQ_I64(fc_apart(copy, n, room), want);
        apart += want;
        shared += !want;
    }
    FC_EXPECT_GT_I64(apart, 1000);
    FC_EXPECT_GT_I64(shared, 100);
}
