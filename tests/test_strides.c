/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_strides.c - arrays that are not dense, results on inputs, data that is not aligned: on the
 * interpreter, the CPU, and the fake GPU, which runs kernels on the host. (Random ones:
 * tests/support/fuzz_views.c.) */
#include <math.h>
#include <stdlib.h>

#include "runtime/strides.h"
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

/* ---- arithmetic of strides ------------------------------------------------------------------- */

FC_TEST(strides, dense_spans_and_places) {
    const int64_t shape[3] = {2, 3, 4}, dense[3] = {12, 4, 1}, turned[3] = {1, 2, 6},
                  back[3] = {12, -4, 1}, rows[3] = {15, 5, 1}, same[3] = {12, 0, 1},
                  one[3] = {1, 3, 1}, any[3] = {99, 1, -7};
    size_t before, from;
    FC_EXPECT_TRUE(fc_strides_dense(3, shape, dense) && fc_strides_dense(3, shape, NULL));
    FC_EXPECT_TRUE(!fc_strides_dense(3, shape, turned) && !fc_strides_dense(3, shape, rows));
    FC_EXPECT_TRUE(fc_strides_dense(3, one, any)); /* axes of one element say nothing */
    FC_EXPECT_TRUE(fc_strides_span(3, shape, back, 4, &before, &from));
    FC_EXPECT_EQ_U64(before, 32);
    FC_EXPECT_EQ_U64(from, 64);
    FC_EXPECT_TRUE(fc_strides_apart(3, shape, turned) && fc_strides_apart(3, shape, back));
    FC_EXPECT_TRUE(!fc_strides_apart(3, shape, same));
    FC_EXPECT_TRUE(
        !fc_strides_span(3, shape, (const int64_t[3]){INT64_MAX, 1, 1}, 4, &before, &from));
}

FC_TEST(strides, other_shapes) {
    const int64_t shape[3] = {2, 3, 4}, rows[3] = {20, 5, 1}, whole[3] = {24, 8, 2};
    int64_t out[4];
    FC_EXPECT_TRUE(fc_strides_reshape(3, shape, rows, 4, (const int64_t[4]){2, 1, 3, 4}, out));
    FC_EXPECT_TRUE(out[0] == 20 && out[2] == 5 && out[3] == 1);
    FC_EXPECT_TRUE(fc_strides_reshape(3, shape, rows, 4, (const int64_t[4]){2, 3, 2, 2}, out));
    FC_EXPECT_TRUE(out[2] == 2 && out[3] == 1);
    FC_EXPECT_TRUE(!fc_strides_reshape(3, shape, rows, 2, (const int64_t[2]){6, 4}, out));
    FC_EXPECT_TRUE(fc_strides_reshape(3, shape, whole, 1, (const int64_t[1]){24}, out));
    FC_EXPECT_EQ_I64(out[0], 2);
    FC_EXPECT_TRUE(fc_strides_reshape(3, shape, whole, 2, (const int64_t[2]){8, 3}, out));
    FC_EXPECT_TRUE(out[0] == 6 && out[1] == 2);
    FC_EXPECT_TRUE(!fc_strides_reshape(3, shape, rows, 2, (const int64_t[2]){8, 3}, out));
}

/* ---- calls ----------------------------------------------------------------------------------- */

enum { ROWS = 6, COLUMNS = 10, ROOM = 400 };
static const int64_t sheet[2] = {ROWS, COLUMNS};

/* How an array lies, with room around it. */
typedef struct layout {
    const char *name;
    int64_t strides[2], first;
} layout;

static const layout layouts[] = {
    {"dense", {COLUMNS, 1}, 0},
    {"columns first", {1, ROWS}, 0},
    {"rows apart", {COLUMNS + 3, 1}, 5},
    {"every third", {3 * COLUMNS, 3}, 1},
    {"rows reversed", {-COLUMNS, 1}, COLUMNS *(ROWS - 1)},
    {"all reversed", {-COLUMNS, -1}, COLUMNS *ROWS - 1},
    {"columns reversed", {1, -ROWS}, ROWS *(COLUMNS - 1)},
};

static double *at(double *memory, const layout *l, int i, int k) {
    return memory + l->first + i * l->strides[0] + k * l->strides[1];
}

/* y = 2*x + 1; s = sum of a row; t = y read as another shape. */
typedef struct setup {
    fusec_context *ctx;
    fusec_program *map, *rows, *shape;
} setup;

static fusec_program *compile(fusec_context *ctx, int which) {
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    if (fusec_graph_new(ctx, &g)) return NULL;
    fusec_dim n[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")}, all = fusec_dim_mul(n[0], n[1]);
    const int last = 1;
    fusec_value x = fusec_input(g, "x", FUSEC_F64, 2, n);
    fusec_value y = fusec_add(fusec_mul(x, fusec_num(2)), fusec_num(1));
    if (which == 0) fusec_output(g, "y", y);
    if (which == 1) fusec_output(g, "y", fusec_sub(x, fusec_max(x, 1, &last, 1)));
    if (which == 2) fusec_output(g, "y", fusec_reshape(y, 1, &all));
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    fusec_graph_free(g);
    return p;
}

static double wanted(int which, int i, int k) {
    const double x = (double)(i * 17 + k * 5 % 7);
    double most = x;
    for (int q = 0; q < COLUMNS; q++)
        if ((double)(i * 17 + q * 5 % 7) > most) most = (double)(i * 17 + q * 5 % 7);
    return which == 1 ? x - most : 2 * x + 1;
}

static void run_layouts(fusec_context *ctx, fusec_program *p, int which, const layout *from,
                        const layout *to, fusec_place place) {
    static double x[ROOM], y[ROOM];
    void *dx = x, *dy = y;
    for (int i = 0; i < ROOM; i++) x[i] = y[i] = -1;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++) *at(x, from, i, k) = (double)(i * 17 + k * 5 % 7);
    if (place == FUSEC_DEVICE) {
        FC_ASSERT_OK_TEXT(fusec_device_alloc(ctx, sizeof x, &dx), fusec_message(ctx));
        FC_ASSERT_OK_TEXT(fusec_device_alloc(ctx, sizeof y, &dy), fusec_message(ctx));
        FC_ASSERT_OK_TEXT(fusec_upload(ctx, dx, x, sizeof x), fusec_message(ctx));
        FC_ASSERT_OK_TEXT(fusec_upload(ctx, dy, y, sizeof y), fusec_message(ctx));
    }
    const int64_t all[1] = {ROWS * COLUMNS}, line[1] = {3};
    fusec_tensor in = {.data = (double *)dx + from->first,
                       .shape = sheet,
                       .strides = from->strides,
                       .rank = 2,
                       .dtype = FUSEC_F64,
                       .place = place};
    fusec_tensor out = in;
    out.data = (double *)dy + to->first;
    out.strides = to->strides;
    if (which == 2) {
        out.data = dy;
        out.rank = 1;
        out.shape = all;
        out.strides = line;
    }
    FC_TRACE("program %d, %s to %s", which, from->name, to->name);
    for (int turn = 0; turn < 2; turn++) /* the second call is a ready one */
        FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &out), fusec_message(ctx));
    if (place == FUSEC_DEVICE) {
        FC_EXPECT_OK_TEXT(fusec_download(ctx, y, dy, sizeof y), fusec_message(ctx));
        fusec_device_free(ctx, dx);
        fusec_device_free(ctx, dy);
    }
    int right = 0, touched = 0;
    for (int i = 0; i < ROOM; i++) touched += y[i] != -1;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            right +=
                (which == 2 ? y[3 * (i * COLUMNS + k)] : *at(y, to, i, k)) == wanted(which, i, k);
    FC_EXPECT_EQ_I64(right, ROWS * COLUMNS);
    FC_EXPECT_LE_I64(touched, ROWS * COLUMNS);
    FC_UNTRACE();
}

/* A result on its input: exactly there, or so that they overlap. */
static void run_in_place(fusec_context *ctx, fusec_program *p, int which, int shift) {
    double x[ROWS * COLUMNS + 8];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (double)(i / COLUMNS * 17 + i % COLUMNS * 5 % 7);
    fusec_tensor in = {.data = x, .shape = sheet, .rank = 2, .dtype = FUSEC_F64}, out = in;
    out.data = x + shift;
    FC_TRACE("program %d, shifted by %d", which, shift);
    FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &out), fusec_message(ctx));
    int right = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        right += x[shift + i] == wanted(which, i / COLUMNS, i % COLUMNS);
    FC_EXPECT_EQ_I64(right, ROWS * COLUMNS);
    FC_UNTRACE();
}

static void run_odd(fusec_context *ctx, fusec_program *p) {
    unsigned char memory[2][8 * ROWS * COLUMNS + 8];
    double v;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        v = (double)(i / COLUMNS * 17 + i % COLUMNS * 5 % 7);
        memcpy(memory[0] + 3 + 8 * i, &v, 8);
    }
    fusec_tensor in = {.data = memory[0] + 3, .shape = sheet, .rank = 2, .dtype = FUSEC_F64},
                 out = in;
    out.data = memory[1] + 5;
    FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &out), fusec_message(ctx));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        memcpy(&v, memory[1] + 5 + 8 * i, 8);
        FC_EXPECT_TRUE(v == wanted(0, i / COLUMNS, i % COLUMNS));
    }
}

static void run_all(const char *device, bool thorough) {
    fusec_context *ctx = capi_device(device);
    if (!ctx) FC_SKIP("there is no device %s", device);
    const int n = (int)FC_COUNT(layouts);
    for (int which = 0; which < 3; which++) {
        fusec_program *p = compile(ctx, which);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < (which == 2 ? 1 : n); b++)
                for (int place = 0; place < 2; place++)
                    if (thorough || (a * n + b + which) % 5 == 0)
                        run_layouts(ctx, p, which, &layouts[a], &layouts[b],
                                    place ? FUSEC_DEVICE : FUSEC_HOST);
        for (int shift = 0; shift < 8 && which < 2; shift += 3) run_in_place(ctx, p, which, shift);
        if (which == 0) run_odd(ctx, p);
        fusec_program_free(p);
    }
    fusec_context_free(ctx);
}

FC_TEST(strides, interp) {
    run_all("interp", true);
}

FC_TEST(strides, cpu) {
    run_all("cpu", true);
}

FC_TEST(strides, a_fake_gpu) {
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    run_all("cuda", false);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* x += 1 without a copy, where every element depends on its own place only. */
FC_TEST(strides, in_place_needs_no_memory) {
    fusec_context *ctx = capi_device("interp");
    fusec_program *p = compile(ctx, 0);
    double x[4] = {1, 2, 3, 4};
    const int64_t two[2] = {2, 2};
    fusec_tensor t = {.data = x, .shape = two, .rank = 2, .dtype = FUSEC_F64};
    for (int i = 0; i < 3; i++) FC_EXPECT_OK_TEXT(fusec_run(p, 1, &t, 1, &t), fusec_message(ctx));
    FC_EXPECT_TRUE(x[0] == 15 && x[3] == 39);
    fusec_program_free(p);
    fusec_context_free(ctx);
}

FC_TEST(strides, lazy_values) {
    fusec_context *ctx = capi_device("interp");
    const double x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const int64_t shape[2] = {3, 2}, strides[2] = {-4, 2}, out_strides[2] = {1, 3};
    double y[6];
    fusec_lazy *v = NULL, *z = NULL;
    fusec_tensor t = {.data = (void *)(uintptr_t)(x + 8),
                      .shape = shape,
                      .strides = strides,
                      .rank = 2,
                      .dtype = FUSEC_F64};
    FC_ASSERT_OK_TEXT(fusec_lazy_from(ctx, &t, NULL, NULL, &v), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_lazy_read(v, y, sizeof y), fusec_message(ctx));
    FC_EXPECT_TRUE(y[0] == 8 && y[1] == 10 && y[2] == 4 && y[5] == 2);
    FC_ASSERT_OK_TEXT(fusec_lazy_op(ctx, fusec_op_find("neg"), 1, &v, NULL, &z),
                      fusec_message(ctx));
    t = (fusec_tensor){
        .data = y, .shape = shape, .strides = out_strides, .rank = 2, .dtype = FUSEC_F64};
    FC_EXPECT_OK_TEXT(fusec_lazy_eval(&z, 1, &t, NULL), fusec_message(ctx));
    FC_EXPECT_TRUE(y[0] == -8 && y[1] == -4 && y[3] == -10 && y[5] == -2);
    FC_EXPECT_OK_TEXT(fusec_lazy_tensor(v, &t), fusec_message(ctx));
    FC_EXPECT_TRUE(t.strides[0] == -4 && t.strides[1] == 2 && t.data == x + 8);
    fusec_lazy_release(v);
    fusec_lazy_release(z);
    fusec_context_free(ctx);
}
