/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_llvm_known.c - exponentials less the largest of their row, and their quotients by their own
 * sum, have the bits that they have when the largest and the sum come from elsewhere and nothing is
 * known of them. */
#include "ir/code.h"
#include "tests/support/capi.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 3000, ROWS = 12, RESULTS = 4 };

typedef struct sheet {
    fusec_dtype dtype;
    int64_t shape[2], row[2]; /* of the largest and the sums */
    int axis;
    enum { NOTHING, LARGEST, SMALLEST, ROUNDED } less; /* what is taken away first */
    _Alignas(64) unsigned char x[ROWS * LONG * 8], e[ROWS * LONG * 8], q[ROWS * LONG * 8],
        m[ROWS * LONG * 8], s[ROWS * LONG * 8];
} sheet;

static fusec_tensor tensor(const sheet *s, void *data, const int64_t *shape) {
    return (fusec_tensor){.data = data, .shape = shape, .rank = 2, .dtype = s->dtype};
}

/* Rounded to fewer bits the largest may be below some. */
static fusec_value taken_away(const sheet *s, fusec_value x) {
    if (s->less == SMALLEST) return fusec_min(x, 1, &s->axis, 1);
    const fusec_value m = fusec_max(x, 1, &s->axis, 1);
    return s->less == ROUNDED ? fusec_cast(fusec_cast(m, FUSEC_BF16), s->dtype) : m;
}

/* Into `q`, as a program has it; with `all` the other results as well, else nothing but the
 * quotients is stored, as of a softmax. */
static void run_whole(fusec_context *ctx, sheet *s, bool all, void *q) {
    fusec_graph *g;
    fusec_program *p = NULL;
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    fusec_dim dims[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    fusec_value x = fusec_input(g, "x", s->dtype, 2, dims), m = taken_away(s, x);
    fusec_value e = fusec_exp(s->less ? fusec_sub(x, m) : x);
    fusec_value sum = fusec_sum(e, 1, &s->axis, 1);
    fusec_output(g, "q", fusec_div(e, sum));
    if (all) {
        fusec_output(g, "e", e);
        fusec_output(g, "m", m);
        fusec_output(g, "s", sum);
    }
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    fusec_tensor in = tensor(s, s->x, s->shape);
    fusec_tensor out[RESULTS] = {tensor(s, q, s->shape), tensor(s, s->e, s->shape),
                                 tensor(s, s->m, s->row), tensor(s, s->s, s->row)};
    FC_EXPECT_OK_TEXT(fusec_run(p, 1, &in, all ? RESULTS : 1, out), fusec_message(ctx));
    fusec_program_free(p);
    fusec_graph_free(g);
}

/* The largest and the sum are arrays like any others. */
static void run_apart(fusec_context *ctx, sheet *s, void *e_out, void *q_out) {
    fusec_graph *g;
    fusec_program *p = NULL;
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    fusec_dim n = fusec_sym(g, "n"), m = fusec_sym(g, "m"), one = fusec_size(g, 1);
    fusec_dim dims[2] = {n, m}, row[2] = {s->axis ? n : one, s->axis ? one : m};
    fusec_value x = fusec_input(g, "x", s->dtype, 2, dims);
    fusec_value most = fusec_input(g, "most", s->dtype, 2, row);
    fusec_value sum = fusec_input(g, "sum", s->dtype, 2, row);
    fusec_value e = fusec_exp(s->less ? fusec_sub(x, most) : x);
    fusec_output(g, "e", e);
    fusec_output(g, "q", fusec_div(e, sum));
    fusec_output(g, "used", most);
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    static unsigned char used[ROWS * LONG * 8];
    fusec_tensor in[3] = {tensor(s, s->x, s->shape), tensor(s, s->m, s->row),
                          tensor(s, s->s, s->row)};
    fusec_tensor out[3] = {tensor(s, e_out, s->shape), tensor(s, q_out, s->shape),
                           tensor(s, used, s->row)};
    FC_EXPECT_OK_TEXT(fusec_run(p, 3, in, 3, out), fusec_message(ctx));
    fusec_program_free(p);
    fusec_graph_free(g);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void put(sheet *s, int64_t i, double v) {
    const uint64_t bits = fc_const_bits(s->dtype, v);
    const size_t size = fc_dtypes[s->dtype].bytes;
    memcpy(s->x + (size_t)i * size, &bits, size);
}

/* Row r of some kind: as scores are; with elements left out; far below the largest, to where
 * exponentials end; all the same; with infinities and NaN; without any number. */
static double element(int kind, int64_t i, double far) {
    const double usual = (double)((i * 2654435761u >> 7) % 1000) / 100 - 6;
    switch (kind) {
    case 0: return usual;
    case 1: return i % 3 ? usual : -INFINITY;
    case 2: return i ? -far * (double)(i % 500) / 450 : 1;
    case 3: return -0.0;
    case 4: return i == 5 ? NAN : usual;
    case 5: return i == 7 ? INFINITY : usual;
    case 6: return -INFINITY;
    case 7: return usual - far; /* their sum is little, or nothing */
    case 8: return usual + 30;  /* much */
    case 9: return i % 2 ? -3e38 : 3e38;
    case 10: return i % 7 ? 0.0 : -0.0;
    default: return usual * 20;
    }
}

static void fill(sheet *s) {
    const double far = s->dtype == FUSEC_F64 ? 745 : 104;
    const int64_t n = s->shape[0], m = s->shape[1];
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < m; i++)
            put(s, r * m + i, s->axis ? element((int)r, i, far) : element((int)(i % 12), r, far));
}

static bool is_nan(fusec_dtype t, const unsigned char *p) {
    uint64_t bits = 0;
    memcpy(&bits, p, fc_dtypes[t].bytes);
    return isnan(fc_const_value(t, bits));
}

static void expect_same(const sheet *s, const char *what, const unsigned char *a,
                        const unsigned char *b) {
    const size_t size = fc_dtypes[s->dtype].bytes;
    for (int64_t i = 0; i < s->shape[0] * s->shape[1]; i++, a += size, b += size)
        if (memcmp(a, b, size) && !(is_nan(s->dtype, a) && is_nan(s->dtype, b))) {
            FC_FAIL("%s: row %d, element %d", what, (int)(i / s->shape[1]), (int)(i % s->shape[1]));
            return;
        }
}

static void compare(fusec_context *ctx, sheet *s) {
    static _Alignas(64) unsigned char e[ROWS * LONG * 8], q[ROWS * LONG * 8];
    FC_TRACE("dtype %d, %d x %d over axis %d, %s", (int)s->dtype, (int)s->shape[0],
             (int)s->shape[1], s->axis,
             s->less ? s->less == LARGEST ? "less the largest" : "less what is not"
                     : "as they are");
    s->row[0] = s->axis ? s->shape[0] : 1;
    s->row[1] = s->axis ? 1 : s->shape[1];
    fill(s);
    run_whole(ctx, s, true, s->q);
    run_apart(ctx, s, e, q);
    expect_same(s, "exponentials", s->e, e);
    expect_same(s, "quotients", s->q, q);
    memset(q, 0, sizeof q);
    run_whole(ctx, s, false, q);
    expect_same(s, "quotients alone", s->q, q);
    FC_UNTRACE();
}

static const fusec_dtype floats[] = {FUSEC_F32, FUSEC_F64, FUSEC_BF16, FUSEC_F16};

static void on_rows(int64_t length, int less) {
    static sheet s;
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    for (size_t t = 0; t < sizeof floats / sizeof *floats; t++) {
        if (!fc_test_takes(2)) continue;
        s.dtype = floats[t];
        s.less = less;
        s.axis = 1;
        s.shape[0] = ROWS;
        s.shape[1] = length;
        compare(ctx, &s);
        s.axis = 0;
        s.shape[0] = length;
        s.shape[1] = ROWS;
        compare(ctx, &s);
    }
    fusec_context_free(ctx);
}

FC_TEST(llvm_known, softmax_of_short_rows) {
    on_rows(17, LARGEST);
}
FC_TEST(llvm_known, softmax_of_rows_of_one_chunk) {
    on_rows(1000, LARGEST);
}
FC_TEST(llvm_known, softmax_of_long_rows) {
    on_rows(LONG, LARGEST);
}
FC_TEST(llvm_known, shares_of_sums_of_any_size) {
    on_rows(100, NOTHING);
    on_rows(1500, NOTHING);
}

/* These overflow. */
FC_TEST(llvm_known, differences_that_are_positive) {
    on_rows(100, SMALLEST);
    on_rows(1500, SMALLEST);
    on_rows(100, ROUNDED);
    on_rows(1500, ROUNDED);
}

/* ---- what only looks like it ----------------------------------------------------------------- */

enum { LIKE_ROWS = 12, LIKE = 300 };

/* A program of x, y and `of`, a value for each row: the largest of x, the sum of its exponentials,
 * the sum of y. With `apart` it comes from outside. */
typedef enum likeness { OTHER_ELEMENT, BELOW, ABOVE, OTHER_EXPONENTIAL, NO_EXPONENTIAL } likeness;

typedef struct like_data {
    _Alignas(64) float x[LIKE_ROWS * LIKE], y[LIKE_ROWS * LIKE], out[LIKE_ROWS * LIKE],
        of[LIKE_ROWS], more[LIKE_ROWS];
} like_data;

static fusec_value value_of_row(likeness how, fusec_value x, fusec_value y) {
    static const int last = 1;
    if (how == OTHER_EXPONENTIAL) return fusec_sum(fusec_exp(x), 1, &last, 1);
    return how == NO_EXPONENTIAL ? fusec_sum(y, 1, &last, 1) : fusec_max(x, 1, &last, 1);
}

static fusec_value like(likeness how, fusec_value x, fusec_value y, fusec_value of) {
    switch (how) {
    case OTHER_ELEMENT: return fusec_exp(fusec_sub(y, of));
    case BELOW:
        x = fusec_sub(x, of);
        return fusec_where(fusec_gt(x, fusec_num(-3)), fusec_num(-3), x);
    case ABOVE:
        x = fusec_sub(x, of);
        return fusec_where(fusec_lt(x, fusec_num(2)), fusec_num(2), x);
    case OTHER_EXPONENTIAL: return fusec_div(fusec_exp(y), of);
    default: return fusec_div(y, of);
    }
}

static void run_like(fusec_context *ctx, likeness how, like_data *d, bool apart) {
    static const int last = 1;
    static const int64_t shape[2] = {LIKE_ROWS, LIKE}, row[2] = {LIKE_ROWS, 1};
    fusec_graph *g;
    fusec_program *p = NULL;
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    fusec_dim dims[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    fusec_dim one[2] = {dims[0], fusec_size(g, 1)};
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, dims);
    fusec_value y = fusec_input(g, "y", FUSEC_F32, 2, dims);
    fusec_value of = apart ? fusec_input(g, "of", FUSEC_F32, 2, one) : value_of_row(how, x, y);
    fusec_output(g, "out", like(how, x, y, of));
    /* exponentials that a sum needs, too, are kept: then quotients are all that is left to do */
    fusec_output(g, "more",
                 fusec_sum(how == OTHER_EXPONENTIAL ? fusec_exp(y) : fusec_add(x, y), 1, &last, 1));
    if (!apart) fusec_output(g, "of", of);
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx));
    const fusec_tensor of_row = {.data = d->of, .shape = row, .rank = 2, .dtype = FUSEC_F32};
    fusec_tensor in[3] = {{.data = d->x, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                          {.data = d->y, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                          of_row};
    fusec_tensor out[3] = {{.data = d->out, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                           {.data = d->more, .shape = row, .rank = 2, .dtype = FUSEC_F32},
                           of_row};
    FC_EXPECT_OK_TEXT(fusec_run(p, apart ? 3 : 2, in, apart ? 2 : 3, out), fusec_message(ctx));
    fusec_program_free(p);
    fusec_graph_free(g);
}

FC_TEST(llvm_known, what_only_looks_like_it) {
    static like_data whole, apart;
    fusec_context *ctx = capi_device("cpu");
    if (!ctx) FC_SKIP("there is no LLVM");
    for (int i = 0; i < LIKE_ROWS * LIKE; i++) {
        const bool first = i < LIKE_ROWS / 2 * LIKE; /* rows: their sums are below 1 */
        whole.x[i] = (float)(i * 37 % 101) / 30 - 17;
        whole.y[i] = first ? (float)(i * 53 % 89) * 4e-5f : (float)(i * 53 % 89) * 1.9f - 79;
        if (i % 5 == 0) whole.y[i] = first ? -0x1.8p-135f * (float)(1 + i % 77) : 3e37f;
        if (i % 17 == 0 && !first) whole.y[i] = INFINITY;
        if (first && i % LIKE / 2 == 6) whole.y[i] = i % 2 ? -0x1p127f : 0x1p127f; /* neighbours */
    }
    for (int how = OTHER_ELEMENT; how <= NO_EXPONENTIAL; how++) {
        apart = whole;
        run_like(ctx, (likeness)how, &whole, false);
        memcpy(apart.of, whole.of, sizeof apart.of);
        run_like(ctx, (likeness)how, &apart, true);
        FC_TRACE("%d", how);
        for (int i = 0; i < LIKE_ROWS * LIKE; i++)
            if (memcmp(&whole.out[i], &apart.out[i], 4) &&
                !(isnan(whole.out[i]) && isnan(apart.out[i]))) {
                FC_FAIL("element %d: %a, %a", i, (double)whole.out[i], (double)apart.out[i]);
                break;
            }
        FC_UNTRACE();
    }
    fusec_context_free(ctx);
}
