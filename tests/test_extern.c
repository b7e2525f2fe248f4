/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_extern.c - scalar functions of the user inside kernels, against the same expressions made of
 * rows: the same bits in the same number of kernels, on the interpreter, the CPU and CUDA behind a
 * fake driver; NVRTC takes their texts; and what goes wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/capi/program.h"
#include "runtime/compile/nvrtc.h"
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

enum { N = 9, M = 77 };

/* ---- the functions --------------------------------------------------------------------------- */

static float bend(float x, float a) {
    return x * x - a * x;
}

static void pick(void *user, int64_t n, const void *const *in, void *out) {
    const unsigned char *c = in[0];
    const float *x = in[1];
    const short *k = in[2];
    const double factor = *(const double *)user;
    for (int64_t i = 0; i < n; i++)
        ((double *)out)[i] = c[i] ? (double)x[i] * factor : (double)k[i];
}

static int64_t odd(int64_t x) {
    return x * 3 + 1;
}

static void is_low(void *user, int64_t n, const void *const *in, void *out) {
    (void)user;
    for (int64_t i = 0; i < n; i++)
        ((unsigned char *)out)[i] = ((const unsigned char *)in[0])[i] < 100;
}

static float five(float a, float b, float c, float d, float e) {
    return a * b - c * d + e;
}

/* Of as many operands as there may be, and of two types. */
static void all_of(void *user, int64_t n, const void *const *in, void *out) {
    (void)user;
    for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (int k = 0; k < 15; k++) sum = sum * 0.5f + ((const float *)in[k])[i];
        ((float *)out)[i] = ((const unsigned char *)in[15])[i] ? sum : 1;
    }
}

static const fusec_dtype floats[] = {FUSEC_F32, FUSEC_F32},
                         mixed[] = {FUSEC_BOOL, FUSEC_F32, FUSEC_I16}, whole[] = {FUSEC_I64},
                         bytes[] = {FUSEC_U8};
static const fusec_dtype many[16] = {
    FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32,
    FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_BOOL};
static double two = 2;

static fusec_extern_desc desc_of(char which) {
    fusec_extern_desc d = FUSEC_EXTERN_DESC_INIT;
    if (which == 'b') {
        d.name = "bend";
        d.nargs = 2;
        d.dtypes = floats;
        d.result = FUSEC_F32;
        d.scalar = (void (*)(void))bend;
        d.cuda = "#define SQUARE(x) ((x) * (x))\n"
                 "__device__ float bend(float x, float a) { return SQUARE(x) - a * x; }\n";
    } else if (which == 'p') {
        d.name = "pick";
        d.nargs = 3;
        d.dtypes = mixed;
        d.result = FUSEC_F64;
        d.arrays = pick;
        d.user = &two;
        d.cuda = "__device__ double twice(double x) { return 2 * x; }\n"
                 "__device__ double pick(bool c, float x, short k) { return c ? twice(x) : k; }";
    } else if (which == 'o') {
        d.name = "odd";
        d.nargs = 1;
        d.dtypes = whole;
        d.result = FUSEC_I64;
        d.scalar = (void (*)(void))odd;
        d.cuda = "__device__ long long odd(long long x) { return x * 3 + 1; }";
    } else if (which == '5') {
        d.name = "five";
        d.nargs = 5;
        d.dtypes = many;
        d.result = FUSEC_F32;
        d.scalar = (void (*)(void))five;
        d.cuda = "__device__ float five(float a, float b, float c, float d, float e)\n"
                 "{ return a * b - c * d + e; }";
    } else if (which == 'a') {
        d.name = "all_of";
        d.nargs = 16;
        d.dtypes = many;
        d.result = FUSEC_F32;
        d.arrays = all_of;
        d.cuda =
            "__device__ float all_of(float a, float b, float c, float d, float e, float f, float "
            "g, float h, float i, float j, float k, float l, float m, float n, float o, bool p) {\n"
            "    const float v[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o};\n"
            "    float sum = 0;\n"
            "    for (int q = 0; q < 15; q++) sum = sum * 0.5f + v[q];\n"
            "    return p ? sum : 1;\n"
            "}";
    } else {
        d.name = "is_low";
        d.nargs = 1;
        d.dtypes = bytes;
        d.result = FUSEC_BOOL;
        d.arrays = is_low;
        d.slots = 1;
        d.cuda = "__device__ bool is_low(unsigned char x) { return x < 100; }";
    }
    return d;
}

/* Made of the function, or of rows. */
static bool of_rows;

static fusec_value bend_of(fusec_value x, fusec_value a) {
    const fusec_value in[] = {x, a};
    const fusec_extern_desc d = desc_of('b');
    if (!of_rows) return fusec_extern(x.graph, &d, in);
    return fusec_sub(fusec_mul(x, x), fusec_mul(a, x));
}

static fusec_value pick_of(fusec_value c, fusec_value x, fusec_value k) {
    const fusec_value in[] = {c, x, k};
    const fusec_extern_desc d = desc_of('p');
    if (!of_rows) return fusec_extern(x.graph, &d, in);
    return fusec_where(c, fusec_mul(fusec_cast(x, FUSEC_F64), fusec_num(2)),
                       fusec_cast(k, FUSEC_F64));
}

static fusec_value odd_of(fusec_value x) {
    const fusec_extern_desc d = desc_of('o');
    if (!of_rows) return fusec_extern(x.graph, &d, &x);
    return fusec_add(fusec_mul(x, fusec_int(3)), fusec_int(1));
}

static fusec_value low_of(fusec_value x) {
    const fusec_extern_desc d = desc_of('l');
    if (!of_rows) return fusec_extern(x.graph, &d, &x);
    return fusec_lt(x, fusec_int(100));
}

static fusec_value five_of(fusec_value a, fusec_value b, fusec_value c, fusec_value d,
                           fusec_value e) {
    const fusec_value in[] = {a, b, c, d, e};
    const fusec_extern_desc desc = desc_of('5');
    if (!of_rows) return fusec_extern(a.graph, &desc, in);
    return fusec_add(fusec_sub(fusec_mul(a, b), fusec_mul(c, d)), e);
}

/* Every third operand is x, others r or a number. */
static fusec_value all_of_them(fusec_value x, fusec_value r, fusec_value when) {
    fusec_value in[16], sum = fusec_num(0);
    const fusec_extern_desc desc = desc_of('a');
    for (int k = 0; k < 15; k++) in[k] = k % 3 == 0 ? x : k % 3 == 1 ? r : fusec_num(k);
    in[15] = when;
    if (!of_rows) return fusec_extern(x.graph, &desc, in);
    for (int k = 0; k < 15; k++) sum = fusec_add(k ? fusec_mul(sum, fusec_num(0.5)) : sum, in[k]);
    return fusec_where(when, sum, fusec_num(1));
}

/* ---- programs -------------------------------------------------------------------------------- */

static const int rows[] = {1}, columns[] = {0};

static fusec_value a_map(fusec_value x, fusec_value r) {
    return fusec_add(fusec_mul(bend_of(fusec_add(x, fusec_num(1)), r), fusec_num(2)), x);
}
static fusec_value a_number(fusec_value x, fusec_value r) {
    return bend_of(bend_of(x, fusec_num(0.5)), fusec_add(r, fusec_num(2)));
}
static fusec_value row_sums(fusec_value x, fusec_value r) {
    return fusec_add(fusec_mul(x, fusec_num(0)), fusec_sum(bend_of(x, r), 1, rows, 1));
}
static fusec_value column_sums(fusec_value x, fusec_value r) {
    (void)r;
    return fusec_broadcast(fusec_sum(bend_of(x, fusec_num(0.25)), 1, columns, 0), 2,
                           (fusec_dim[]){fusec_dim_of(x, 0), fusec_dim_of(x, 1)});
}
static fusec_value after_a_row(fusec_value x, fusec_value r) {
    const fusec_value e = bend_of(fusec_sub(x, fusec_max(x, 1, rows, 1)), r);
    return fusec_div(e, fusec_add(fusec_sum(fusec_abs(e), 1, rows, 1), fusec_num(1)));
}
static fusec_value of_rows_alone(fusec_value x, fusec_value r) {
    const fusec_value s = fusec_sum(x, 1, rows, 1);
    return fusec_add(x, fusec_mul(bend_of(s, s), r));
}
static fusec_value a_scan(fusec_value x, fusec_value r) {
    return fusec_cumsum(bend_of(x, r), 1, 0);
}
static fusec_value turned(fusec_value x, fusec_value r) {
    return bend_of(fusec_flip(x, 1), fusec_add(fusec_flip(x, 0), r));
}
static fusec_value of_mixed(fusec_value x, fusec_value r) {
    const fusec_value k = fusec_cast(fusec_mul(x, fusec_num(8)), FUSEC_I16);
    return fusec_cast(pick_of(fusec_gt(x, r), x, k), FUSEC_F32);
}
static fusec_value of_integers(fusec_value x, fusec_value r) {
    const fusec_value i = odd_of(fusec_cast(fusec_mul(x, fusec_num(1000)), FUSEC_I64));
    return fusec_mul(fusec_cast(i, FUSEC_F32), r);
}
static fusec_value of_bytes(fusec_value x, fusec_value r) {
    return fusec_where(low_of(fusec_cast(fusec_mul(fusec_abs(x), fusec_num(90)), FUSEC_U8)), x, r);
}

static fusec_value of_many(fusec_value x, fusec_value r) {
    return five_of(r, x, fusec_num(3), fusec_sub(x, r), fusec_flip(x, 1));
}
static fusec_value of_all(fusec_value x, fusec_value r) {
    const fusec_value y = all_of_them(x, r, fusec_gt(x, fusec_num(0)));
    return fusec_sub(y, fusec_sum(y, 1, rows, 1));
}
/* Its third operand, the first of a list, is a number, which stands at any place. */
static fusec_value numbers_first(fusec_value x, fusec_value r) {
    return five_of(x, x, fusec_num(0.25), fusec_num(2), fusec_sum(fusec_mul(x, r), 1, rows, 1));
}

/* ---- in the code of others: bodies of reductions, of scans, of the rounds of an element */

static fusec_value joined(fusec_value x, fusec_value r, bool scan) {
    const fusec_value v[] = {x, fusec_mul(x, r)}, start[] = {fusec_num(0), fusec_num(1)};
    fusec_value a[2], b[2], out[2];
    if (fusec_record_pair(2, v, a, b)) return (fusec_value){0};
    const fusec_value c[] = {five_of(a[0], fusec_num(0.5), b[1], a[1], b[0]),
                             bend_of(fusec_add(a[1], b[1]), fusec_num(0.125))};
    if (scan)
        fusec_scan_by(2, v, start, c, 1, 0, out);
    else
        fusec_reduce_by(2, v, start, c, 1, rows, 1, out);
    return fusec_add(fusec_mul(x, fusec_num(0)), fusec_sub(out[0], out[1]));
}
static fusec_value a_reduction_by(fusec_value x, fusec_value r) {
    return joined(x, r, false);
}
static fusec_value a_scan_by(fusec_value x, fusec_value r) {
    return joined(x, r, true);
}
/* A round reads arrays, too; the operands from the third on come all from outside, or none. */
static fusec_value rounds(fusec_value x, fusec_value r) {
    fusec_value last;
    fusec_loop *l = fusec_loop_begin(x.graph, fusec_int(0), fusec_int(5));
    const fusec_value u = fusec_carry(l, fusec_mul(x, fusec_num(0.5)));
    const fusec_value outside = five_of(u, fusec_num(0.25), x, fusec_num(0.5), fusec_mul(r, x));
    fusec_next(l, u, bend_of(five_of(u, u, x, outside, u), fusec_num(2)));
    fusec_loop_end(l, 1, &last);
    return last;
}

static const struct {
    const char *name;
    fusec_value (*make)(fusec_value x, fusec_value r);
} cases[] = {{"map", a_map},
             {"numbers, twice", a_number},
             {"row sums", row_sums},
             {"column sums", column_sums},
             {"after a row", after_a_row},
             {"of rows", of_rows_alone},
             {"scan", a_scan},
             {"turned", turned},
             {"mixed types", of_mixed},
             {"integers", of_integers},
             {"bytes", of_bytes},
             {"many", of_many},
             {"as many as there may be", of_all},
             {"numbers first", numbers_first},
             {"reduction by a function", a_reduction_by},
             {"scan by a function", a_scan_by},
             {"rounds of an element", rounds}};

static fusec_program *compile(fusec_context *ctx, size_t number, bool by_rows) {
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    of_rows = by_rows;
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    const fusec_dim shape[] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    const fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, shape),
                      r = fusec_input(g, "r", FUSEC_F32, 1, shape + 1);
    fusec_output(g, "y", cases[number].make(x, r));
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    fusec_graph_free(g);
    return p;
}

static fusec_status run(fusec_program *p, int64_t n, int64_t m, float *y) {
    static float x[N * M], r[M];
    const int64_t shape[] = {n, m};
    for (int i = 0; i < N * M; i++) x[i] = (float)(i * 7 % 23) / 8 - 1.3f;
    for (int i = 0; i < M; i++) r[i] = (float)(i % 5) - 1.5f;
    const fusec_tensor in[2] = {{.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                                {.data = r, .shape = shape + 1, .rank = 1, .dtype = FUSEC_F32}};
    const fusec_tensor out = {.data = y, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
    return fusec_run(p, 2, in, 1, &out);
}

static void compare_on(const char *device, size_t step) {
    static const int64_t sizes[][2] = {{N, M}, {1, 1}, {3, 16}, {2, 5}};
    fusec_context *ctx = capi_device(device);
    if (!ctx) return;
    for (size_t i = 0; i < FC_COUNT(cases); i += step) {
        FC_TRACE("%s on %s", cases[i].name, device);
        fusec_program *want = compile(ctx, i, true), *got = compile(ctx, i, false);
        for (size_t k = 0; want && got && k < (step > 1 ? 1 : FC_COUNT(sizes)); k++) {
            float a[N * M] = {0}, b[N * M] = {1};
            const size_t n = (size_t)(sizes[k][0] * sizes[k][1]) * sizeof *a;
            FC_EXPECT_OK_TEXT(run(want, sizes[k][0], sizes[k][1], a), fusec_message(ctx));
            FC_EXPECT_OK_TEXT(run(got, sizes[k][0], sizes[k][1], b), fusec_message(ctx));
            FC_EXPECT_MEMEQ(b, a, n);
        }
        if (want && got) FC_EXPECT_EQ_I64(fusec_kernel_count(got), fusec_kernel_count(want));
        fusec_program_free(want);
        fusec_program_free(got);
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
}

FC_TEST(extern, as_rows) {
    compare_on("interp", 1);
    compare_on("cpu", 1);
}

/* Each program behind the driver is compiled by a C++ compiler, so a few of them. */
FC_TEST(extern, as_rows_behind_a_fake_driver) {
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    compare_on("cuda", 4);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}

/* One kernel where rows make one. */
FC_TEST(extern, fuses) {
    fusec_context *ctx = capi_device("interp");
    static const size_t one[] = {0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    for (size_t i = 0; i < FC_COUNT(one); i++) {
        fusec_program *p = compile(ctx, one[i], false);
        if (p && fusec_kernel_count(p) != 1)
            FC_FAIL("%s: %d kernels", cases[one[i]].name, fusec_kernel_count(p));
        fusec_program_free(p);
    }
    fusec_context_free(ctx);
}

/* ---- by its structure, and by its text ------------------------------------------------------- */

static float third(float x) {
    return x / 3;
}
static float half(float x) {
    return x / 2;
}

/* Equal descriptions are one function; others with the same text are not. */
FC_TEST(extern, on_demand) {
    static const char *const devices[] = {"interp", "cpu"};
    const int64_t n = 5;
    const float x[] = {1, 2, 3, 4, 5};
    for (int d = 0; d < 2; d++) {
        fusec_context *ctx = capi_device(devices[d]);
        for (int round = 0; ctx && round < 4; round++) {
            fusec_graph *g = NULL;
            float y[5];
            fusec_extern_desc desc = desc_of('b');
            desc.name = "part";
            desc.nargs = 1;
            desc.scalar = (void (*)(void))(round % 2 ? half : third);
            FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
            const fusec_value v = fusec_array(g, FUSEC_F32, 1, &n, x);
            FC_EXPECT_OK_TEXT(fusec_read(fusec_extern(g, &desc, &v), y, sizeof y),
                              fusec_message(ctx));
            for (int i = 0; i < 5; i++) FC_EXPECT_TRUE(y[i] == x[i] / (round % 2 ? 2 : 3));
            FC_EXPECT_EQ_U64(capi_plans(ctx), round < 2 ? (uint64_t)round + 1 : 2);
            fusec_graph_free(g);
        }
        if (ctx) FC_EXPECT_EQ_U64(capi_compiles(ctx), 1); /* the address is an argument */
        fusec_context_free(ctx);
    }
}

/* ---- derivatives ----------------------------------------------------------------------------- */

FC_TEST(extern, derivatives) {
    CAPI_START();
    const int64_t n = 3;
    const float at[] = {1, 2, 3};
    float dx[3];
    const fusec_value x = fusec_array(g, FUSEC_F32, 1, &n, at), a = fusec_num(0.5);
    of_rows = false;
    fusec_value y = bend_of(x, a), d;
    const fusec_value dy = fusec_cotangent(y);
    const fusec_value by = fusec_mul(dy, fusec_sub(fusec_mul(x, fusec_num(2)), a));
    y = fusec_custom_grad(y, dy, 1, &x, &by);
    FC_ASSERT_OK_TEXT(fusec_grad(fusec_sum(y, 0, NULL, 0), 1, &x, &d), fusec_message(ctx));
    FC_ASSERT_OK_TEXT(fusec_read(d, dx, sizeof dx), fusec_message(ctx));
    for (int i = 0; i < 3; i++) FC_EXPECT_TRUE(dx[i] == 2 * at[i] - 0.5f);
    FC_EXPECT_EQ_I64(fusec_grad(fusec_sum(bend_of(x, a), 0, NULL, 0), 1, &x, &d),
                     FUSEC_NO_GRADIENT);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "extern");
    CAPI_END();
}

/* ---- where else it may be -------------------------------------------------------------------- */

/* In a loop's body, which is then launches; in a program that is cut; in the plan that is shown. */
FC_TEST(extern, in_loops_pieces_and_plans) {
    static const char *const devices[] = {"interp", "cpu"};
    const float at[6] = {1, 2, 3, 4, 5, 6};
    for (int device = 0; device < 2; device++) {
        fusec_context *ctx = capi_device(devices[device]);
        fusec_graph *g = NULL;
        fusec_program *p = NULL;
        fusec_cut *cut = NULL;
        fusec_partial *sums = NULL;
        char *text = NULL;
        if (!ctx) continue;
        of_rows = false;
        FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
        const fusec_dim n = fusec_sym(g, "n");
        const fusec_value x = fusec_input(g, "x", FUSEC_F32, 1, &n);
        fusec_loop *l = fusec_loop_begin(g, fusec_int(0), fusec_int(3));
        const fusec_value u = fusec_carry(l, x);
        fusec_value last;
        fusec_next(l, u, bend_of(u, fusec_num(0.5)));
        FC_EXPECT_OK_TEXT(fusec_loop_end(l, 1, &last), fusec_message(ctx));
        fusec_output(g, "y", last);
        FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
        float y[6], want[6];
        int64_t size = 6;
        fusec_tensor in = {
            .data = (void *)(uintptr_t)at, .shape = &size, .rank = 1, .dtype = FUSEC_F32};
        fusec_tensor out = {.data = y, .shape = &size, .rank = 1, .dtype = FUSEC_F32};
        FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &out), fusec_message(ctx));
        for (int i = 0; i < 6; i++) {
            want[i] = at[i];
            for (int k = 0; k < 3; k++) want[i] = bend(want[i], 0.5f);
        }
        FC_EXPECT_MEMEQ(y, want, sizeof y);
        fusec_program_free(p);
        fusec_graph_reset(g);

        const fusec_value z = fusec_input(g, "x", FUSEC_F32, 1, (fusec_dim[]){fusec_sym(g, "n")});
        fusec_output(g, "s", fusec_sum(bend_of(z, fusec_num(0.5)), 0, NULL, 0));
        FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
        float all = 0, cut_sum = 0;
        fusec_tensor one = {.data = &all, .dtype = FUSEC_F32};
        FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, 1, &one), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_explain(p, 1, &in, FUSEC_EXPLAIN_JSON, &text), fusec_message(ctx));
        fusec_text_free(ctx, text);
        FC_ASSERT_OK_TEXT(fusec_program_cut(p, "n", &cut), fusec_message(ctx));
        FC_ASSERT_OK_TEXT(fusec_partial_new(cut, &sums), fusec_message(ctx));
        fusec_piece piece = FUSEC_PIECE_INIT;
        piece.end = piece.total = 6;
        one.data = &cut_sum;
        FC_EXPECT_OK_TEXT(fusec_run_piece(cut, NULL, 0, &piece, 1, &in, 1, &one, NULL, sums),
                          fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_run_finish(cut, NULL, 6, 1, &in, 1, &one, sums),
                          fusec_message(ctx));
        FC_EXPECT_TRUE(cut_sum == all);
        fusec_partial_free(sums);
        fusec_cut_free(cut);
        fusec_program_free(p);
        fusec_graph_free(g);
        fusec_context_free(ctx);
    }
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

FC_TEST(extern, misuse) {
    CAPI_START();
    const fusec_dtype halves[] = {FUSEC_F16, FUSEC_F32}, complexes[] = {FUSEC_F32, FUSEC_C64},
                      unlike[] = {FUSEC_F32, FUSEC_F64};
    for (int i = 0; i < 13; i++) {
        FC_TRACE("%d", i);
        fusec_graph_reset(g);
        const fusec_value x = fusec_input(g, "x", FUSEC_F32, 0, NULL),
                          i64 = fusec_input(g, "k", FUSEC_I64, 0, NULL);
        fusec_value in[2] = {x, x};
        fusec_extern_desc d = desc_of('b');
        fusec_status want = FUSEC_INVALID;
        if (i == 0) d.size = 8;
        if (i == 1) d.name = NULL;
        if (i == 2) d.name = "two words";
        if (i == 3) d.name = "1st";
        if (i == 4) d.nargs = 0;
        if (i == 5) d.nargs = 17;
        if (i == 6) d.dtypes = NULL;
        if (i == 7) d.dtypes = halves;
        if (i == 8) d.dtypes = complexes;
        if (i == 9) d.dtypes = unlike; /* which `scalar` can't be */
        if (i == 10) d.cuda = NULL, d.scalar = NULL;
        if (i == 11) in[1] = i64, want = FUSEC_DTYPE_MISMATCH;
        if (i == 12) in[1] = (fusec_value){0};
        const fusec_value y = fusec_extern(g, &d, in);
        FC_EXPECT_EQ_I64(fusec_graph_status(g), want);
        FC_EXPECT_EQ_I64(fusec_rank(y), -1);
        FC_UNTRACE();
    }
    fusec_graph_reset(g);
    const fusec_value x = fusec_input(g, "x", FUSEC_F32, 0, NULL);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_extern(NULL, NULL, &x)), -1);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_extern(g, NULL, &x)), -1);
    fusec_graph_reset(g);
    const fusec_extern_desc d = desc_of('b');
    fusec_extern(g, &d, NULL);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_INVALID);
    CAPI_END();
}

FC_TEST(extern, what_it_is_not) {
    CAPI_START();
    fusec_program *p = NULL;
    fusec_value in[2] = {fusec_input(g, "x", FUSEC_F32, 0, NULL), fusec_num(2)};
    fusec_extern_desc d = desc_of('b');
    d.scalar = NULL;
    fusec_output(g, "y", fusec_extern(g, &d, in));
    FC_EXPECT_EQ_I64(fusec_compile(g, &p), FUSEC_CALL_FAILED);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "bend has no function for the CPU");
    CAPI_END();
}

/* ---- texts for a GPU ------------------------------------------------------------------------- */

/* What a kernel of case `i` becomes; false: there is no fake driver. */
static bool with_text(const char *cuda, char **out, fusec_status want) {
    fake_machine m;
    if (!fake_machine_open(&m, FAKE("whole"))) return false;
    fusec_context *ctx = capi_device("cuda");
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    if (ctx && !fusec_graph_new(ctx, &g)) {
        fusec_extern_desc d = desc_of('b');
        d.cuda = cuda;
        const fusec_dim n = fusec_sym(g, "n");
        fusec_value in[2] = {fusec_input(g, "x", FUSEC_F32, 1, &n), fusec_num(2)};
        fusec_output(g, "y", fusec_extern(g, &d, in));
        FC_EXPECT_EQ_I64(fusec_compile(g, &p), want);
        const int64_t shape[] = {100};
        const fusec_tensor x = {.shape = shape, .rank = 1, .dtype = FUSEC_F32};
        if (p) FC_EXPECT_OK_TEXT(fusec_source(p, 0, 1, &x, out), fusec_message(ctx));
        if (p && *out) {
            char *copy = strdup(*out);
            fusec_text_free(ctx, *out);
            *out = copy;
        }
    }
    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    fake_machine_close(&m);
    return true;
}

static fusec_status compile_text(const char *text, fc_error *e) {
    fc_nvrtc *n = NULL;
    const fusec_status s = fc_nvrtc_open(&fc_libc_alloc, &n, e);
    if (s) return s;
    const fc_nvrtc_options options = {.arch = "sm_90", .kind = FC_NVRTC_CUBIN};
    fc_bytes code = {0};
    const fusec_status made = fc_nvrtc_compile(n, text, "k", &options, &code, e);
    fc_bytes_free(&fc_libc_alloc, &code);
    fc_nvrtc_close(n);
    return made;
}

FC_TEST(extern, texts_and_their_lines) {
    static const struct {
        const char *cuda, *says;
    } texts[] = {
        {"__device__ float bend(float x, float a) { return x - a; }", NULL},
        {"// a comment\n__device__ float bend(float x, float a) {\n    return x -;\n}", "bend(3)"},
        {"__device__ float other(float x) { return x; }", "bend"},
        {"#error \"not this one\"", "not this one"},
    };
    for (size_t i = 0; i < FC_COUNT(texts); i++) {
        char *text = NULL;
        fc_error e = {0};
        if (!with_text(texts[i].cuda, &text, FUSEC_OK)) return;
        const fusec_status s = text ? compile_text(text, &e) : FUSEC_INTERNAL;
        if (s == FUSEC_NVRTC_SETUP) {
            free(text);
            FC_SKIP("there is no NVRTC");
        }
        FC_EXPECT_EQ_I64(s, texts[i].says ? FUSEC_CALL_FAILED : FUSEC_OK);
        if (texts[i].says) FC_EXPECT_CONTAINS(e.message, texts[i].says);
        free(text);
    }
    char *none = NULL;
    with_text(NULL, &none, FUSEC_CALL_FAILED);
}
