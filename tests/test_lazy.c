/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_lazy.c - values of no graph: every operation next to the same one of a graph, plans found
 * again, lives, errors, threads. */
#include "tests/support/test.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/faults.h"

static fusec_lazy *from(fusec_context *c, fusec_dtype t, int rank, const int64_t *shape,
                        const void *data) {
    fusec_lazy *v = NULL;
    fusec_tensor a = {.data = (void *)(uintptr_t)data, .shape = shape, .rank = rank, .dtype = t};
    FC_EXPECT_OK_TEXT(fusec_lazy_from(c, &a, NULL, NULL, &v), fusec_message(c));
    return v;
}

static fusec_lazy *number(fusec_context *c, fusec_dtype t, double x) {
    fusec_lazy *v = NULL;
    FC_EXPECT_OK_TEXT(fusec_lazy_number(c, t, x, &v), fusec_message(c));
    return v;
}

/* An operation that takes its operands with it. */
static fusec_lazy *op(fusec_context *c, const char *name, const fusec_attr *a, int n, ...) {
    fusec_lazy *src[3] = {0}, *v = NULL;
    va_list ap;
    va_start(ap, n);
    for (int i = 0; i < n; i++) src[i] = va_arg(ap, fusec_lazy *);
    va_end(ap);
    FC_EXPECT_OK_TEXT(fusec_lazy_op(c, fusec_op_find(name), n, src, a, &v), fusec_message(c));
    for (int i = 0; i < n; i++) fusec_lazy_release(src[i]);
    return v;
}

FC_TEST(lazy, an_expression) {
    fusec_context *c = capi_device("interp");
    const int64_t n = 4;
    const float in[4] = {0, 1, 2, 3};
    float out[4];
    FC_ASSERT_TRUE(c != NULL);
    fusec_lazy *y =
        op(c, "sin", NULL, 1,
           op(c, "add", NULL, 2,
              op(c, "mul", NULL, 2, from(c, FUSEC_F32, 1, &n, in), number(c, FUSEC_F32, 3)),
              number(c, FUSEC_F32, 1)));
    FC_EXPECT_EQ_I64(fusec_lazy_depth(y), 3);
    FC_EXPECT_OK_TEXT(fusec_lazy_read(y, out, sizeof out), fusec_message(c));
    for (int i = 0; i < 4; i++) FC_EXPECT_TRUE(fabsf(out[i] - sinf(in[i] * 3 + 1)) < 1e-6f);
    FC_EXPECT_EQ_I64(fusec_lazy_depth(y), 0);
    fusec_lazy_release(y);
    fusec_context_free(c);
}

FC_TEST(lazy, numbers_are_arguments) {
    fusec_context *c = capi_device("interp");
    const int64_t n = 3;
    const double in[3] = {1, 2, 3};
    double out[3];
    for (int k = 3; k < 103; k++) {
        fusec_lazy *y = op(
            c, "sin", NULL, 1,
            op(c, "mul", NULL, 2, from(c, FUSEC_F64, 1, &n, in), number(c, FUSEC_F64, k + 0.25)));
        FC_EXPECT_OK_TEXT(fusec_lazy_read(y, out, sizeof out), fusec_message(c));
        FC_EXPECT_TRUE(fabs(out[2] - sin(3 * (k + 0.25))) < 1e-12);
        fusec_lazy_release(y);
    }
    FC_EXPECT_EQ_U64(capi_plans(c), 1);
    FC_EXPECT_EQ_U64(capi_compiles(c), 1);
    /* what simplifies stays: another plan each */
    const double special[] = {0, 1, -1, 2, 0.5};
    for (int i = 0; i < 5; i++) {
        fusec_lazy *y =
            op(c, "mul", NULL, 2, from(c, FUSEC_F64, 1, &n, in), number(c, FUSEC_F64, special[i]));
        FC_EXPECT_OK_TEXT(fusec_lazy_read(y, out, sizeof out), fusec_message(c));
        FC_EXPECT_TRUE(out[2] == 3 * special[i]);
        fusec_lazy_release(y);
    }
    FC_EXPECT_EQ_U64(capi_plans(c), 6);
    fusec_context_free(c);
}

FC_TEST(lazy, views_and_reductions_for_other_sizes) {
    fusec_context *c = capi_device("interp");
    for (int64_t n = 2; n < 7; n++) {
        const int64_t shape[2] = {n, n + 1};
        double in[64], out[64];
        for (int i = 0; i < n * (n + 1); i++) in[i] = i * i;
        fusec_attr cut = FUSEC_ATTR_INIT, sum = FUSEC_ATTR_INIT, turn = FUSEC_ATTR_INIT;
        int64_t start[2] = {0, n}, size[2] = {n, n}, step[2] = {1, -1}, axis = -1;
        cut.rank = 2;
        cut.start = start;
        cut.shape = size;
        cut.step = step;
        sum.naxes = 1;
        sum.axes = &axis;
        sum.keepdims = 1;
        fusec_lazy *x = from(c, FUSEC_F64, 2, shape, in);
        fusec_lazy *y = op(c, "permute", &turn, 1, op(c, "slice", &cut, 1, x));
        fusec_lazy_retain(y);
        fusec_lazy *z = op(c, "sub", NULL, 2, y, op(c, "sum", &sum, 1, y));
        FC_EXPECT_EQ_I64(fusec_lazy_rank(z), 2);
        FC_EXPECT_EQ_I64(fusec_lazy_shape(z)[0], n);
        FC_EXPECT_OK_TEXT(fusec_lazy_read(z, out, (size_t)(n * n) * 8), fusec_message(c));
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double s = 0;
                for (int64_t k = 0; k < n; k++) s += in[k * (n + 1) + n - i];
                FC_EXPECT_TRUE(out[i * n + j] == in[j * (n + 1) + n - i] - s);
            }
        fusec_lazy_release(z);
    }
    FC_EXPECT_TRUE(capi_plans(c) <= 2);
    fusec_context_free(c);
}

/* x - x[3:] of four elements: the one that is left broadcasts. */
FC_TEST(lazy, a_slice_of_one_element_broadcasts) {
    fusec_context *c = capi_device("interp");
    for (int64_t n = 4; n < 6; n++) {
        const float in[5] = {1, 2, 4, 8, 16};
        float out[5];
        int64_t start = n - 1, size = 1;
        fusec_attr cut = FUSEC_ATTR_INIT;
        cut.rank = 1;
        cut.start = &start;
        cut.shape = &size;
        fusec_lazy *x = from(c, FUSEC_F32, 1, &n, in);
        fusec_lazy_retain(x);
        fusec_lazy *y = op(c, "sub", NULL, 2, x, op(c, "slice", &cut, 1, x));
        FC_EXPECT_OK_TEXT(fusec_lazy_read(y, out, (size_t)n * 4), fusec_message(c));
        for (int64_t i = 0; i < n; i++) FC_EXPECT_TRUE(out[i] == in[i] - in[n - 1]);
        fusec_lazy_release(y);
    }
    fusec_context_free(c);
}

FC_TEST(lazy, products) {
    fusec_context *c = capi_device("interp");
    const int64_t shape[2] = {2, 3}, turned[2] = {3, 2};
    const float a[6] = {1, 2, 3, 4, 5, 6};
    float out[4];
    fusec_lazy *y =
        op(c, "matmul", NULL, 2, from(c, FUSEC_F32, 2, shape, a), from(c, FUSEC_F32, 2, turned, a));
    FC_EXPECT_OK_TEXT(fusec_lazy_read(y, out, sizeof out), fusec_message(c));
    FC_EXPECT_TRUE(out[0] == 22 && out[3] == 64);
    fusec_lazy_release(y);
    fusec_context_free(c);
}

/* Values that are several nodes of a graph, with their attributes. */
static bool is(fusec_context *c, fusec_lazy *v, int n, const double *want) {
    double out[32];
    int64_t all = 1;
    for (int i = 0; i < fusec_lazy_rank(v); i++) all *= fusec_lazy_shape(v)[i];
    FC_EXPECT_EQ_I64(all, n);
    FC_EXPECT_OK_TEXT(fusec_lazy_read(v, out, (size_t)n * sizeof *out), fusec_message(c));
    bool same = all == n;
    for (int i = 0; same && i < n; i++) same = out[i] == want[i];
    fusec_lazy_release(v);
    return same;
}

FC_TEST(lazy, moving_and_joining) {
    fusec_context *c = capi_device("interp");
    const int64_t three = 3, index[2] = {2, 0}, two = 2;
    const double in[3] = {1, 2, 3};
    int64_t axis = 0, start = 1, step = 2;
    fusec_lazy *x = from(c, FUSEC_F64, 1, &three, in), *y = NULL;
    fusec_attr a = FUSEC_ATTR_INIT;
    a.rank = 1;
    a.start = &start;
    a.step = &step;
    for (int i = 0; i < 7; i++) fusec_lazy_retain(x);
    FC_EXPECT_TRUE(is(c, op(c, "pad", &a, 1, x), 6, (double[]){0, 1, 2, 3, 0, 0}));
    a.mode = FUSEC_EDGE_EDGE;
    FC_EXPECT_TRUE(is(c, op(c, "pad", &a, 1, x), 6, (double[]){1, 1, 2, 3, 3, 3}));
    a.naxes = 1;
    a.axes = &axis;
    FC_EXPECT_TRUE(is(c, op(c, "roll", &a, 1, x), 3, (double[]){3, 1, 2}));
    a.mode = 0;
    fusec_lazy_retain(x);
    FC_EXPECT_TRUE(is(c, op(c, "cumsum", &a, 1, x), 3, (double[]){1, 3, 6}));
    a.mode = FUSEC_SCAN_EXCLUSIVE | FUSEC_SCAN_REVERSE;
    fusec_lazy_retain(x);
    FC_EXPECT_TRUE(is(c, op(c, "cumprod", &a, 1, x), 3, (double[]){6, 3, 1}));
    start = 2;
    FC_EXPECT_TRUE(is(c, op(c, "repeat", &a, 1, x), 6, (double[]){1, 1, 2, 2, 3, 3}));
    FC_EXPECT_TRUE(is(c, op(c, "tile", &a, 1, x), 6, (double[]){1, 2, 3, 1, 2, 3}));
    step = 1;
    FC_EXPECT_TRUE(is(c, op(c, "window", &a, 1, x), 4, (double[]){1, 2, 2, 3}));
    y = op(c, "take", &a, 2, x, from(c, FUSEC_I64, 1, &two, index));
    FC_EXPECT_TRUE(is(c, y, 2, (double[]){3, 1}));
    /* five parts, one of them computed, along an old axis and a new one */
    fusec_lazy *z = op(c, "neg", NULL, 1, x), *parts[5] = {z, z, z, z, z}, *sum = NULL;
    fusec_lazy *xs = from(c, FUSEC_F64, 1, &three, in);
    parts[1] = parts[4] = xs;
    FC_ASSERT_OK_TEXT(fusec_lazy_op(c, fusec_op_find("concat"), 5, parts, &a, &y),
                      fusec_message(c));
    FC_EXPECT_TRUE(is(c, y, 15, (double[]){-1, -2, -3, 1, 2, 3, -1, -2, -3, -1, -2, -3, 1, 2, 3}));
    FC_ASSERT_OK_TEXT(fusec_lazy_op(c, fusec_op_find("stack"), 5, parts, &a, &y), fusec_message(c));
    FC_EXPECT_EQ_I64(fusec_lazy_shape(y)[0], 5);
    FC_ASSERT_OK_TEXT(fusec_lazy_op(c, fusec_op_find("sum"), 1, &y, &a, &sum), fusec_message(c));
    FC_EXPECT_OK_TEXT(fusec_lazy_eval(&y, 1, NULL, NULL), fusec_message(c));
    FC_EXPECT_TRUE(is(c, sum, 3, (double[]){-1, -2, -3}));
    fusec_lazy_release(y);
    /* what is wrong */
    axis = 7;
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("concat"), 5, parts, &a, &y), FUSEC_BAD_AXIS);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("concat"), 5, parts, NULL, &y), FUSEC_BAD_AXIS);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("concat"), 0, parts, &a, &y),
                     FUSEC_ARGUMENT_COUNT);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("roll"), 1, parts, NULL, &y), FUSEC_BAD_AXIS);
    a.rank = 33;
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("pad"), 1, parts, &a, &y), FUSEC_INVALID);
    a.rank = 0;
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("pad"), 1, parts, &a, &y), FUSEC_INVALID);
    fusec_lazy_release(z);
    fusec_lazy_release(xs);
    fusec_context_free(c);
}

static void count(void *user) {
    atomic_fetch_add((atomic_int *)user, 1);
}

FC_TEST(lazy, borrowed_memory_is_released_once) {
    fusec_context *c = capi_device("interp");
    atomic_int released;
    const int64_t n = 2;
    float in[2] = {1, 2}, out[2];
    fusec_lazy *x = NULL, *y = NULL;
    atomic_init(&released, 0);
    fusec_tensor t = {.data = in, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    FC_ASSERT_OK_TEXT(fusec_lazy_from(c, &t, count, &released, &x), fusec_message(c));
    FC_ASSERT_OK_TEXT(fusec_lazy_op(c, fusec_op_find("exp"), 1, &x, NULL, &y), fusec_message(c));
    fusec_lazy_release(x);
    FC_EXPECT_EQ_I64(atomic_load(&released), 0);
    FC_EXPECT_OK_TEXT(fusec_lazy_eval(&y, 1, NULL, NULL), fusec_message(c));
    FC_EXPECT_EQ_I64(atomic_load(&released), 1); /* a computed value drops its operands */
    FC_EXPECT_OK_TEXT(fusec_lazy_read(y, out, sizeof out), fusec_message(c));
    fusec_lazy_release(y);
    t.rank = -1;
    FC_EXPECT_EQ_I64(fusec_lazy_from(c, &t, count, &released, &x), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(atomic_load(&released), 1);
    fusec_context_free(c);
}

FC_TEST(lazy, into_the_callers_memory) {
    fusec_context *c = capi_device("interp");
    const int64_t n = 3;
    int32_t in[3] = {1, 2, 3}, out[3], again[3];
    fusec_lazy *y = op(c, "mul", NULL, 2, from(c, FUSEC_I32, 1, &n, in), number(c, FUSEC_I32, 7));
    fusec_tensor to = {.data = out, .shape = &n, .rank = 1, .dtype = FUSEC_I32};
    FC_EXPECT_OK_TEXT(fusec_lazy_eval(&y, 1, &to, NULL), fusec_message(c));
    FC_EXPECT_EQ_I64(out[2], 21);
    FC_EXPECT_EQ_I64(fusec_lazy_depth(y), 1);
    FC_EXPECT_OK_TEXT(fusec_lazy_eval(&y, 1, NULL, NULL), fusec_message(c));
    to.data = again; /* what is there is copied; twice, and a number, in one plan */
    fusec_lazy *all[3] = {y, y, number(c, FUSEC_F64, 2.5)};
    double half = 0;
    fusec_tensor three[3] = {to, to, {.data = &half, .dtype = FUSEC_F64}};
    three[1].data = out;
    out[1] = 0;
    FC_EXPECT_OK_TEXT(fusec_lazy_eval(all, 3, three, NULL), fusec_message(c));
    FC_EXPECT_EQ_I64(again[1], 14);
    FC_EXPECT_EQ_I64(out[1], 14);
    FC_EXPECT_TRUE(half == 2.5);
    to.dtype = FUSEC_F32;
    FC_EXPECT_EQ_I64(fusec_lazy_eval(&y, 1, &to, NULL), FUSEC_RESULT_DTYPE);
    fusec_lazy_release(all[2]);
    fusec_lazy_release(y);
    fusec_context_free(c);
}

FC_TEST(lazy, errors_harm_nothing) {
    fusec_context *c = capi_device("interp"), *other = NULL;
    const int64_t three = 3, four = 4;
    const float in[4] = {1, 2, 3, 4};
    float out[3];
    fusec_lazy *x = from(c, FUSEC_F32, 1, &three, in), *y = from(c, FUSEC_F32, 1, &four, in), *z;
    fusec_lazy *both[2] = {x, y}, *one[2] = {x, NULL};
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("add"), 2, both, NULL, &z),
                     FUSEC_SHAPE_MISMATCH);
    FC_EXPECT_CONTAINS(fusec_message(c), "add of f32[3] and f32[4]");
    FC_EXPECT_TRUE(z == NULL);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("add"), 1, both, NULL, &z),
                     FUSEC_ARGUMENT_COUNT);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("add"), 2, one, NULL, &z), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, -1, 2, both, NULL, &z), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, 1 << 20, 2, both, NULL, &z), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("add"), 2, NULL, NULL, &z), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("add"), 2, both, NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_op(NULL, fusec_op_find("add"), 2, both, NULL, &z), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(
        fusec_lazy_op(c, fusec_op_find("logical_and"), 2, (fusec_lazy *[]){x, x}, NULL, &z),
        FUSEC_NOT_BOOL);
    fusec_attr a = FUSEC_ATTR_INIT;
    int64_t axis = 1, start = 2, size = 2, zero = 0;
    a.naxes = 1;
    a.axes = &axis;
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("sum"), 1, &x, &a, &z), FUSEC_BAD_AXIS);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("permute"), 1, &x, &a, &z), FUSEC_BAD_AXIS);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("cast"), 1, &x,
                                   &(fusec_attr){.size = sizeof a, .dtype = 99}, &z),
                     FUSEC_INVALID);
    a.rank = 1;
    a.start = &start;
    a.shape = &size;
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("slice"), 1, &x, &a, &z), FUSEC_SLICE_RANGE);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("reshape"), 1, &x, &a, &z), FUSEC_INPUT_SHAPE);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("broadcast"), 1, &x, &a, &z),
                     FUSEC_SHAPE_MISMATCH);
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("reshape"), 1, &x, NULL, &z),
                     FUSEC_INPUT_SHAPE);
    a.step = &zero;
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("slice"), 1, &x, &a, &z), FUSEC_BAD_SLICE);
    a.size = 0;
    FC_EXPECT_EQ_I64(fusec_lazy_op(c, fusec_op_find("slice"), 1, &x, &a, &z), FUSEC_INVALID);
    FC_EXPECT_OK_TEXT(capi_open("interp", 1, &other), fusec_message(NULL));
    FC_EXPECT_EQ_I64(fusec_lazy_op(other, fusec_op_find("sin"), 1, &x, NULL, &z), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_eval(both, -1, NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_eval(one, 2, NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_eval(NULL, 1, NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_OK_TEXT(fusec_lazy_eval(NULL, 0, NULL, NULL), fusec_message(c));
    FC_EXPECT_EQ_I64(fusec_lazy_read(x, out, 1), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_read(NULL, out, 1), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_tensor(x, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_lazy_dtype(NULL), FUSEC_NO_DTYPE);
    FC_EXPECT_EQ_I64(fusec_lazy_rank(NULL), -1);
    FC_EXPECT_TRUE(fusec_lazy_shape(NULL) == NULL);
    fusec_lazy_release(NULL);
    fusec_lazy_retain(NULL);
    FC_EXPECT_EQ_I64(fusec_op_find("nosuch"), -1);
    FC_EXPECT_EQ_I64(fusec_op_find(NULL), -1);
    /* and x is as good as before */
    FC_EXPECT_OK_TEXT(fusec_lazy_op(c, fusec_op_find("neg"), 1, &x, NULL, &z), fusec_message(c));
    FC_EXPECT_OK_TEXT(fusec_lazy_read(z, out, sizeof out), fusec_message(c));
    FC_EXPECT_TRUE(out[1] == -2);
    fusec_lazy_release(x);
    fusec_lazy_release(y);
    fusec_lazy_release(z);
    fusec_context_free(other);
    fusec_context_free(c);
}

/* ---- many ------------------------------------------------------------------------------------ */

/* x = x*k + k at each step, one value held: memory does not grow. And a chain that is never
 * computed goes away whatever its length. */
FC_TEST(lazy, memory_is_flat) {
    fault_heap h;
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *c = NULL;
    const int64_t n = 8;
    const double in[8] = {1, 2, 3};
    long long after = 0;
    fault_heap_init(&h);
    o.device = "interp";
    o.cache_dir = "";
    o.threads = 1;
    o.alloc = fault_realloc;
    o.alloc_user = &h;
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &c), fusec_message(NULL));
    fusec_lazy *x = from(c, FUSEC_F64, 1, &n, in);
    for (int i = 0; i < 5000; i++) {
        fusec_lazy *k = number(c, FUSEC_F64, 1.0 / (i + 3));
        fusec_lazy_retain(k);
        x = op(c, "add", NULL, 2, op(c, "mul", NULL, 2, x, k), k);
        FC_EXPECT_OK_TEXT(fusec_lazy_eval(&x, 1, NULL, NULL), fusec_message(c));
        if (i == 100) after = atomic_load(&h.bytes);
    }
    FC_EXPECT_LE_I64(atomic_load(&h.bytes), after + 1024);
    for (int i = 0; i < 200000; i++) x = op(c, "neg", NULL, 1, x);
    FC_EXPECT_EQ_I64(fusec_lazy_depth(x), 200000);
    FC_EXPECT_EQ_I64(fusec_lazy_eval(&x, 1, NULL, NULL), FUSEC_LIMIT);
    fusec_lazy_release(x);
    fusec_context_free(c);
    FC_EXPECT_EQ_I64(atomic_load(&h.live), 0);
    FC_EXPECT_EQ_I64(atomic_load(&h.bytes), 0);
}

enum { THREADS = 4, TURNS = 200 };

typedef struct crowd {
    fusec_context *c;
    fusec_lazy *shared; /* all evaluate it, and build on it */
    atomic_int wrong;
} crowd;

static void *one_of_many(void *arg) {
    crowd *w = arg;
    float out[4];
    for (int i = 0; i < TURNS; i++) {
        fusec_lazy *k = NULL, *y = NULL, *src[2];
        if (fusec_lazy_number(w->c, FUSEC_F32, i + 3, &k)) atomic_fetch_add(&w->wrong, 1);
        src[0] = w->shared;
        src[1] = k;
        if (fusec_lazy_op(w->c, fusec_op_find("mul"), 2, src, NULL, &y) ||
            (i % 3 == 0 && fusec_lazy_eval(&w->shared, 1, NULL, NULL)) ||
            fusec_lazy_read(y, out, sizeof out) || out[3] != 8 * (float)(i + 3))
            atomic_fetch_add(&w->wrong, 1);
        fusec_lazy_release(k);
        fusec_lazy_release(y);
    }
    return NULL;
}

FC_TEST(lazy, threads_share_values) {
    crowd w = {.c = capi_device("interp")};
    pthread_t t[THREADS];
    atomic_int released;
    const int64_t n = 4;
    float in[4] = {1, 2, 3, 4};
    fusec_tensor a = {.data = in, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    fusec_lazy *x = NULL;
    atomic_init(&w.wrong, 0);
    atomic_init(&released, 0);
    FC_ASSERT_OK_TEXT(fusec_lazy_from(w.c, &a, count, &released, &x), fusec_message(w.c));
    fusec_lazy_retain(x);
    w.shared = op(w.c, "add", NULL, 2, x, x);
    for (int i = 0; i < THREADS; i++) FC_ASSERT_TRUE(!pthread_create(&t[i], NULL, one_of_many, &w));
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    FC_EXPECT_EQ_I64(atomic_load(&w.wrong), 0);
    FC_EXPECT_EQ_I64(atomic_load(&released), 1);
    fusec_lazy_release(w.shared);
    fusec_context_free(w.c);
}

/* ---- on a GPU -------------------------------------------------------------------------------- */

/* Host and device memory, strides, results that are scalars of what follows, a caller's stream, and
 * memory that is given back. */
FC_TEST(lazy, a_fake_gpu) {
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    fusec_context *c = capi_device("cuda");
    FC_ASSERT_TRUE(c != NULL);
    const int64_t n = 40, two = 2, half = 20;
    double in[40], out[40], mean;
    void *device = NULL;
    for (int i = 0; i < 40; i++) in[i] = i;
    FC_ASSERT_OK_TEXT(fusec_device_alloc(c, sizeof in, &device), fusec_message(c));
    FC_ASSERT_OK_TEXT(fusec_upload(c, device, in, sizeof in), fusec_message(c));
    fusec_lazy *there = NULL, *here = from(c, FUSEC_F64, 1, &n, in), *every = NULL;
    fusec_tensor t = {
        .data = device, .shape = &n, .rank = 1, .dtype = FUSEC_F64, .place = FUSEC_CUDA};
    FC_ASSERT_OK_TEXT(fusec_lazy_from(c, &t, NULL, NULL, &there), fusec_message(c));
    t.device_id = 1;
    FC_EXPECT_EQ_I64(fusec_lazy_from(c, &t, NULL, NULL, &every), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(c), "cuda:1");
    t = (fusec_tensor){.data = in, .shape = &half, .strides = &two, .rank = 1, .dtype = FUSEC_F64};
    FC_ASSERT_OK_TEXT(fusec_lazy_from(c, &t, NULL, NULL, &every), fusec_message(c));
    fusec_lazy_retain(there);
    fusec_lazy_retain(here);
    fusec_lazy *mid = op(c, "mean", NULL, 1, there);
    fusec_lazy_retain(mid);
    fusec_lazy *y = op(c, "sub", NULL, 2, op(c, "add", NULL, 2, there, here), mid);
    FC_EXPECT_OK_TEXT(fusec_lazy_eval(&mid, 1, NULL, NULL), fusec_message(c)); /* a scalar of y */
    FC_EXPECT_OK_TEXT(fusec_lazy_read(y, out, sizeof out), fusec_message(c));
    FC_EXPECT_EQ_F64(out[7], 14 - 19.5);
    FC_EXPECT_OK_TEXT(fusec_lazy_read(mid, &mean, 8), fusec_message(c));
    FC_EXPECT_EQ_F64(mean, 19.5);
    FC_EXPECT_OK_TEXT(fusec_lazy_read(every, out, 20 * 8), fusec_message(c));
    FC_EXPECT_EQ_F64(out[19], 38);
    FC_EXPECT_OK_TEXT(fusec_lazy_tensor(y, &t), fusec_message(c));
    FC_EXPECT_TRUE(t.place == FUSEC_CUDA && t.device_id == 0 && t.data != NULL);
    /* into memory of the device, and into strides of the host */
    fusec_lazy *z = op(c, "neg", NULL, 1, every);
    const int64_t back = -1;
    fusec_tensor to = {
        .data = out + 19, .shape = &half, .strides = &back, .rank = 1, .dtype = FUSEC_F64};
    FC_EXPECT_OK_TEXT(fusec_lazy_eval(&z, 1, &to, NULL), fusec_message(c));
    FC_EXPECT_TRUE(out[19] == 0 && out[0] == -38);
    to = (fusec_tensor){
        .data = device, .shape = &half, .rank = 1, .dtype = FUSEC_F64, .place = FUSEC_DEVICE};
    FC_EXPECT_OK_TEXT(fusec_lazy_eval(&z, 1, &to, NULL), fusec_message(c));
    FC_EXPECT_OK_TEXT(fusec_download(c, out, device, 20 * 8), fusec_message(c));
    FC_EXPECT_EQ_F64(out[3], -6);
    fusec_lazy_release(here);
    fusec_lazy_release(y);
    fusec_lazy_release(z);
    fusec_lazy_release(mid);
    fusec_device_free(c, device);
    fusec_context_free(c);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}
