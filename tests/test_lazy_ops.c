/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_lazy_ops.c - operations by number: each gives the same bits as a value of no graph and as a
 * value of a graph (fusec_op); random numbers, whose seeds compile nothing; what is refused. */
#include "tests/support/test.h"

#include <string.h>

#include "tests/support/capi.h"
#include "ir/base.h"

enum { ROWS = 3, COLUMNS = 3, N = ROWS * COLUMNS, MOST = 4096 };
static const int64_t shape[2] = {ROWS, COLUMNS};
static const double elements[N] = {1, 2, 0.5, 3, 1, 0.25, 2, 1, 0.75};

/* What rows may ask for: an axis, two amounts, a shape of as many elements, a text. */
static fusec_attr attributes(int op) {
    static const int64_t axis = 1, all[2] = {1, 0}, one[2] = {1, 1}, zero[2] = {0, 0},
                         step[2] = {1, 1};
    static const int64_t length = N;
    const char *name = fusec_op_name(op);
    fusec_attr a = FUSEC_ATTR_INIT;
    const bool is_slice = !strcmp(name, "slice"),
               is_iota = !strcmp(name, "iota") || !strcmp(name, "permutation");
    const bool turns = !strcmp(name, "permute");
    a.dtype = !strcmp(name, "bits") ? FUSEC_U32 : FUSEC_F64;
    a.naxes = turns ? 2 : 1;
    a.axes = turns ? all : &axis;
    a.rank = is_iota ? 1 : 2;
    a.shape = is_iota ? &length : shape;
    a.start = is_slice ? zero : one;
    a.step = step;
    a.text = "ij,kj->ik";
    return a;
}

typedef struct operands {
    fusec_dtype t[4];
    int rank[4], n;
} operands;

static void data_of(fusec_dtype t, void *out) {
    for (int i = 0; i < N; i++) {
        const double x = elements[i];
        switch (t) {
        case FUSEC_BOOL: ((uint8_t *)out)[i] = x > 0.6; break;
        case FUSEC_I64: ((int64_t *)out)[i] = (int64_t)x % 3; break;
        default: ((double *)out)[i] = x;
        }
    }
}

/* The dtypes an operation takes, found by asking; false: none of these. */
static bool operands_of(fusec_context *c, int op, const fusec_attr *a, operands *o) {
    static const fusec_dtype try[][4] = {{FUSEC_F64, FUSEC_F64, FUSEC_F64, FUSEC_F64},
                                         {FUSEC_I64, FUSEC_I64, FUSEC_I64, FUSEC_I64},
                                         {FUSEC_BOOL, FUSEC_BOOL, FUSEC_BOOL, FUSEC_BOOL},
                                         {FUSEC_BOOL, FUSEC_F64, FUSEC_F64, FUSEC_F64},
                                         {FUSEC_F64, FUSEC_I64, FUSEC_I64, FUSEC_I64}};
    static const double buffer[N] = {0};
    o->n = fusec_op_arity(op) == -2 ? 2 : fusec_op_arity(op);
    for (size_t k = 0; k < FC_COUNT(try) * 3; k++) {
        fusec_lazy *v[4] = {0}, *r = NULL;
        for (int i = 0; i < o->n; i++) {
            o->t[i] = try[k / 3][i];
            o->rank[i] = (int[]){2, 0, 1}[k % 3];
            const fusec_tensor t = {.data = (void *)(uintptr_t)buffer,
                                    .shape = shape,
                                    .rank = o->rank[i],
                                    .dtype = o->t[i]};
            FC_EXPECT_OK_TEXT(fusec_lazy_from(c, &t, NULL, NULL, &v[i]), "");
        }
        const bool fits = !fusec_lazy_op(c, op, o->n, v, a, &r);
        for (int i = 0; i < o->n; i++) fusec_lazy_release(v[i]);
        fusec_lazy_release(r);
        if (fits) return true;
    }
    return false;
}

static size_t lazily(fusec_context *c, int op, const fusec_attr *a, const operands *o, void *out) {
    double data[4][N];
    fusec_lazy *v[4] = {0}, *r = NULL;
    size_t bytes = 0;
    for (int i = 0; i < o->n; i++) {
        data_of(o->t[i], data[i]);
        const fusec_tensor t = {
            .data = data[i], .shape = shape, .rank = o->rank[i], .dtype = o->t[i]};
        FC_EXPECT_OK_TEXT(fusec_lazy_from(c, &t, NULL, NULL, &v[i]), "");
    }
    FC_EXPECT_OK_TEXT(fusec_lazy_op(c, op, o->n, v, a, &r), fusec_message(c));
    if (r) {
        bytes = fusec_dtype_bytes(fusec_lazy_dtype(r));
        for (int i = 0; i < fusec_lazy_rank(r); i++) bytes *= (size_t)fusec_lazy_shape(r)[i];
        FC_EXPECT_TRUE(bytes <= MOST);
        FC_EXPECT_OK_TEXT(fusec_lazy_read(r, out, bytes), fusec_message(c));
    }
    for (int i = 0; i < o->n; i++) fusec_lazy_release(v[i]);
    fusec_lazy_release(r);
    return bytes;
}

static double sum_of(double a, double b) {
    return a + b;
}
static double half_of(double a, double b) {
    return a / 2 - b;
}

/* Functions number 0 and 1, for the row that takes one. */
static void add_functions(fusec_context *c) {
    static const fusec_dtype dtypes[2] = {FUSEC_F64, FUSEC_F64};
    fusec_extern_desc d = FUSEC_EXTERN_DESC_INIT;
    int64_t number = -1;
    d.name = "some";
    d.nargs = 2;
    d.dtypes = dtypes;
    d.result = FUSEC_F64;
    FC_EXPECT_EQ_I64(fusec_extern_number(c, &d, &number), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_extern_number(NULL, &d, &number), FUSEC_INVALID);
    for (int i = 0; i < 4; i++) { /* equal ones have one number */
        d.scalar = (void (*)(void))(i % 2 ? half_of : sum_of);
        FC_EXPECT_OK_TEXT(fusec_extern_number(c, &d, &number), fusec_message(c));
        FC_EXPECT_EQ_I64(number, i % 2);
    }
    FC_EXPECT_EQ_I64(fusec_extern_number(c, &d, NULL), FUSEC_INVALID);
}

/* Texts number 0 to 2, and what is refused where they are given. */
static void add_texts(fusec_context *c) {
    static const char *const names[2] = {"x", "y"}, *const none[2] = {"x", NULL};
    static const char program[] = "def half(x, y) { return x/2, y }", *const texts[3] = {
                                                                          "x + y", "x - y",
                                                                          "half(x, y)"};
    int64_t n = -1;
    for (int i = 0; i < 6; i++) {
        FC_EXPECT_OK_TEXT(fusec_text_number(c, i % 3 ? program : NULL, texts[i % 3], 2, names, &n),
                          fusec_message(c));
        FC_EXPECT_EQ_I64(n, i % 3);
    }
    FC_EXPECT_EQ_I64(fusec_text_number(c, NULL, "x +", 2, names, &n), FUSEC_SYNTAX);
    FC_EXPECT_CONTAINS(fusec_message(c), "<expr>:1:4");
    FC_EXPECT_EQ_I64(fusec_text_number(c, "def f(", "x", 2, names, &n), FUSEC_SYNTAX);
    FC_EXPECT_CONTAINS(fusec_message(c), "<text>:1:7");
    FC_EXPECT_EQ_I64(fusec_text_number(NULL, NULL, "x", 2, names, &n), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_text_number(c, NULL, NULL, 2, names, &n), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_text_number(c, NULL, "x", -1, names, &n), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_text_number(c, NULL, "x", 2, NULL, &n), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_text_number(c, NULL, "x", 2, none, &n), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_text_number(c, NULL, "x", 2, names, NULL), FUSEC_INVALID);
}

/* What is wrong where they are used: one of several results is taken, or all but that is refused.
 */
FC_TEST(lazy_ops, texts) {
    fusec_context *c = capi_device("interp");
    fusec_graph *g = NULL;
    const int op = fusec_op_find("text");
    static const struct {
        int64_t start[3];
        int rank, n;
        fusec_status want;
    } tries[] = {{{2, 0, 2}, 3, 2, FUSEC_OK},       {{2, 1, 2}, 3, 2, FUSEC_OK},
                 {{2}, 1, 2, FUSEC_ARGUMENT_COUNT}, {{2, 0, 3}, 3, 2, FUSEC_ARGUMENT_COUNT},
                 {{2, 2, 2}, 3, 2, FUSEC_INVALID},  {{2, -1, 2}, 3, 2, FUSEC_INVALID},
                 {{2, 0, 65}, 3, 2, FUSEC_INVALID}, {{0}, 1, 1, FUSEC_ARGUMENT_COUNT},
                 {{3}, 1, 2, FUSEC_INVALID},        {{-1}, 1, 2, FUSEC_INVALID},
                 {{0, 0}, 2, 2, FUSEC_OK}};
    FC_ASSERT_TRUE(c != NULL);
    add_texts(c);
    FC_ASSERT_OK_TEXT(fusec_graph_new(c, &g), "");
    for (size_t i = 0; i < FC_COUNT(tries); i++) {
        fusec_attr a = FUSEC_ATTR_INIT;
        double got = 0;
        fusec_graph_reset(g);
        const fusec_value v[2] = {fusec_const(g, FUSEC_F64, 3), fusec_const(g, FUSEC_F64, 4)};
        a.start = tries[i].start;
        a.rank = tries[i].rank;
        const fusec_value r = fusec_op(g, op, tries[i].n, v, &a);
        FC_EXPECT_EQ_I64(fusec_graph_status(g), tries[i].want);
        if (tries[i].want) continue;
        FC_EXPECT_OK_TEXT(fusec_read(r, &got, sizeof got), fusec_message(c));
        FC_EXPECT_TRUE(got == (i == 0 ? 1.5 : i == 1 ? 4 : 7));
    }
    fusec_graph_free(g);
    fusec_context_free(c);
}

FC_TEST(lazy_ops, of_a_graph_and_of_none_are_the_same) {
    fusec_context *c = capi_device("interp");
    fusec_graph *g = NULL;
    int seen = 0;
    FC_ASSERT_TRUE(c != NULL);
    add_functions(c);
    add_texts(c);
    FC_ASSERT_OK_TEXT(fusec_graph_new(c, &g), "");
    for (int op = 0; op < fusec_op_count(); op++) {
        if (fusec_op_arity(op) == -1) continue;
        const char *name = fusec_op_name(op);
        const fusec_attr a = attributes(op);
        uint8_t want[MOST] = {0}, got[MOST] = {1};
        double data[4][N];
        operands o;
        fusec_value v[4];
        if (!operands_of(c, op, &a, &o)) FC_FAIL("no operands for %s", name);
        const size_t bytes = lazily(c, op, &a, &o, want);
        fusec_graph_reset(g);
        for (int i = 0; i < o.n; i++) {
            data_of(o.t[i], data[i]);
            v[i] = fusec_array(g, o.t[i], o.rank[i], shape, data[i]);
        }
        const fusec_value r = fusec_op(g, op, o.n, v, &a);
        FC_TRACE("%s", name);
        FC_EXPECT_OK_TEXT(fusec_read(r, got, bytes), fusec_message(c));
        FC_UNTRACE();
        if (memcmp(want, got, bytes)) FC_FAIL("%s differs", name);
        seen++;
    }
    FC_EXPECT_TRUE(seen > 100);
    fusec_graph_free(g);
    fusec_context_free(c);
}

FC_TEST(lazy_ops, seeds_of_random_numbers_are_arguments) {
    fusec_context *c = capi_device("interp");
    FC_ASSERT_TRUE(c != NULL);
    double first[3] = {0};
    uint64_t plans = 0;
    for (int seed = 0; seed < 20; seed++) {
        fusec_lazy *s[2] = {0}, *u = NULL;
        const int64_t n = 3 + seed;
        double out[32];
        fusec_attr a = FUSEC_ATTR_INIT;
        a.dtype = FUSEC_F64;
        a.rank = 1;
        a.shape = &n;
        for (int i = 0; i < 2; i++)
            FC_EXPECT_OK_TEXT(fusec_lazy_integer(c, FUSEC_U64, i ? 0 : seed, &s[i]), "");
        FC_ASSERT_OK_TEXT(fusec_lazy_op(c, fusec_op_find("uniform"), 2, s, &a, &u),
                          fusec_message(c));
        FC_EXPECT_OK_TEXT(fusec_lazy_read(u, out, (size_t)n * sizeof *out), fusec_message(c));
        FC_EXPECT_TRUE(memcmp(first, out, sizeof first) != 0); /* other numbers */
        memcpy(first, out, sizeof first);
        fusec_counters k = FUSEC_COUNTERS_INIT;
        fusec_get_counters(c, &k);
        if (seed == 0) plans = k.plans;
        FC_EXPECT_EQ_U64(k.plans, plans);
        for (int i = 0; i < 2; i++) fusec_lazy_release(s[i]);
        fusec_lazy_release(u);
    }
    fusec_context_free(c);
}

FC_TEST(lazy_ops, with_sizes_that_are_names) {
    fusec_context *c = capi_device("interp");
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    FC_ASSERT_TRUE(c != NULL);
    FC_ASSERT_OK_TEXT(fusec_graph_new(c, &g), "");
    const fusec_dim n = fusec_sym(g, "n"), both[2] = {n, n};
    const fusec_value x = fusec_input(g, "x", FUSEC_F64, 1, &n);
    fusec_attr a = FUSEC_ATTR_INIT;
    a.rank = 2;
    a.dims = both;
    const fusec_value wide = fusec_op(g, fusec_op_find("broadcast"), 1, &x, &a);
    fusec_value sum[2] = {wide, fusec_num(1.5)};
    fusec_output(g, "y", fusec_op(g, fusec_op_find("add"), 2, sum, NULL));
    FC_ASSERT_OK_TEXT(fusec_compile(g, &p), fusec_message(c));
    const double in[2] = {1, 2};
    const int64_t two[2] = {2, 2};
    double out[4] = {0};
    const fusec_tensor t = {.data = (void *)(uintptr_t)in,
                            .shape = two,
                            .rank = 1,
                            .dtype = FUSEC_F64},
                       y = {.data = out, .shape = two, .rank = 2, .dtype = FUSEC_F64};
    FC_EXPECT_OK_TEXT(fusec_run(p, 1, &t, 1, &y), fusec_message(c));
    FC_EXPECT_TRUE(!memcmp(out, (double[]){2.5, 3.5, 2.5, 3.5}, sizeof out));
    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(c);
}

static fusec_status refused(fusec_graph *g, int op, int n, const fusec_value *v,
                            const fusec_attr *a) {
    fusec_graph_reset(g);
    fusec_value fresh[2] = {fusec_const(g, FUSEC_F64, 1), fusec_num(1)};
    const fusec_value r = fusec_op(g, op, n, v ? v : fresh, a);
    FC_EXPECT_EQ_I64(fusec_rank(r), -1);
    return fusec_graph_status(g);
}

FC_TEST(lazy_ops, what_is_wrong) {
    fusec_context *c = capi_device("interp");
    fusec_graph *g = NULL, *other = NULL;
    FC_ASSERT_TRUE(c != NULL);
    FC_ASSERT_OK_TEXT(fusec_graph_new(c, &g), "");
    FC_ASSERT_OK_TEXT(fusec_graph_new(c, &other), "");
    fusec_attr a = FUSEC_ATTR_INIT;
    const fusec_value foreign = fusec_const(other, FUSEC_F64, 1), empty = {0};
    FC_EXPECT_EQ_I64(refused(g, -1, 1, NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(refused(g, fusec_op_find("sin"), 2, NULL, NULL), FUSEC_ARGUMENT_COUNT);
    FC_EXPECT_EQ_I64(refused(g, fusec_op_find("sin"), 1, &foreign, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(refused(g, fusec_op_find("sin"), 1, &empty, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(refused(g, fusec_op_find("concat"), 0, NULL, NULL), FUSEC_ARGUMENT_COUNT);
    FC_EXPECT_EQ_I64(refused(g, fusec_op_find("concat"), 1, NULL, NULL), FUSEC_BAD_AXIS);
    FC_EXPECT_EQ_I64(refused(g, fusec_op_find("einsum"), 1, NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(refused(g, fusec_op_find("uniform"), 2, NULL, &a), FUSEC_INVALID);
    a.dtype = 77;
    FC_EXPECT_EQ_I64(refused(g, fusec_op_find("cast"), 1, NULL, &a), FUSEC_INVALID);
    a.rank = 1;
    FC_EXPECT_EQ_I64(refused(g, fusec_op_find("broadcast"), 1, NULL, &a), FUSEC_INVALID);
    a.size = 0;
    FC_EXPECT_EQ_I64(refused(g, fusec_op_find("sum"), 1, NULL, &a), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_op(NULL, fusec_op_find("sin"), 1, &foreign, NULL)), -1);
    fusec_graph_free(other);
    fusec_graph_free(g);
    fusec_context_free(c);
}
