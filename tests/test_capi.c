/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capi.c - the public functions that build expressions: contexts, sizes, numbers, views, and
 * what they say about mistakes. Evaluation is in test_capi_run.c. */
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base.h"
#include "ir/ops.h"
#include "tests/support/capi.h"
#include "tests/support/test.h"

static fusec_value vector(fusec_graph *g, const char *name, fusec_dtype t) {
    fusec_dim n = fusec_sym(g, "n");
    return fusec_input(g, name, t, 1, &n);
}

/* The graph's error must be `code` with `part` in its text; then it is reset. */
static void expect_error(int line, fusec_graph *g, fusec_status code, const char *part) {
    FC_TRACE("line %d", line);
    fusec_status s = fusec_graph_status(g);
    FC_EXPECT_EQ_I64(s, code);
    if (s) FC_EXPECT_CONTAINS(fusec_message(NULL), part);
    fusec_graph_reset(g);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_OK);
    FC_UNTRACE();
}
#define EXPECT_ERROR(code, part) expect_error(__LINE__, g, code, part)

/* ---- context --------------------------------------------------------------------------------- */

FC_TEST(capi, version_and_names) {
    FC_EXPECT_STREQ(fusec_version(), "0.1.0");
    FC_EXPECT_STREQ(fusec_status_name(FUSEC_OK), "ok");
    FC_EXPECT_STREQ(fusec_status_name(FUSEC_SHAPE_MISMATCH), "shape-mismatch");
    FC_EXPECT_STREQ(fusec_status_name((fusec_status)9999), "unknown");
    FC_EXPECT_STREQ(fusec_dtype_name(FUSEC_BF16), "bf16");
    FC_EXPECT_STREQ(fusec_dtype_name((fusec_dtype)99), "none");
    FC_EXPECT_EQ_I64(fusec_dtype_bytes(FUSEC_I64), 8);
    FC_EXPECT_EQ_I64(fusec_dtype_bytes((fusec_dtype)-1), 0);
}

FC_TEST(capi, context_options) {
    fusec_context *ctx = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    FC_EXPECT_EQ_I64(fusec_context_new(&o, NULL), FUSEC_INVALID);
    o.threads = -1;
    FC_EXPECT_EQ_I64(fusec_context_new(&o, &ctx), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(NULL), "threads");
    o.threads = 0;
    o.mode = 1u << 20;
    FC_EXPECT_EQ_I64(fusec_context_new(&o, &ctx), FUSEC_INVALID);
    o.mode = FUSEC_MODE_FAST;
    o.size = 0;
    FC_EXPECT_EQ_I64(fusec_context_new(&o, &ctx), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(NULL), "FUSEC_OPTIONS_INIT");
    o.size = 2 * sizeof(size_t); /* an older program: the fields behind are defaults */
    o.device = "interp";
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
    const char *name, *notice;
    FC_EXPECT_OK_TEXT(fusec_device(ctx, &name, &notice), fusec_message(ctx));
    FC_EXPECT_STREQ(name, "interp");
    FC_EXPECT_STREQ(notice, "");
    FC_EXPECT_OK_TEXT(fusec_device(ctx, NULL, NULL), fusec_message(ctx));
    fusec_context_free(ctx);
}

FC_TEST(capi, unknown_device) {
    fusec_context *ctx;
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "toaster";
    FC_EXPECT_EQ_I64(fusec_context_new(&o, &ctx), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(NULL), "toaster");
    FC_EXPECT_TRUE(ctx == NULL);
}

/* Counts bytes by their addresses' sizes: every allocation has to come back. */
typedef struct tally {
    long live;
    long left; /* allocations until the next one fails; negative: never */
} tally;

static void *counting(void *user, void *p, size_t bytes) {
    tally *t = user;
    if (!bytes) {
        if (p) t->live--;
        free(p);
        return NULL;
    }
    if (t->left == 0) return NULL;
    if (t->left > 0) t->left--;
    void *r = realloc(p, bytes);
    if (r && !p) t->live++;
    return r;
}

static fusec_status build_and_run(fusec_options *o) {
    float in[6] = {1, 2, 3, 4, 5, 6}, out[6];
    int64_t shape[2] = {2, 3};
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_status s = fusec_context_new(o, &ctx);
    if (!s) s = fusec_graph_new(ctx, &g);
    if (!s) {
        fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, in);
        fusec_value y = fusec_sub(x, fusec_max(x, 1, (int[]){1}, 1));
        s = fusec_read(fusec_exp(fusec_slice(y, 0, 0, FUSEC_END, 1)), out, sizeof out);
    }
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return s;
}

FC_TEST(capi, allocations_come_back_and_may_fail) {
    tally t = {0, -1};
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "interp";
    o.cache_dir = "";
    o.threads = 1;
    o.alloc = counting;
    o.alloc_user = &t;
    FC_EXPECT_OK_TEXT(build_and_run(&o), fusec_message(NULL));
    FC_EXPECT_EQ_I64(t.live, 0);
    int failures = 0;
    for (long n = 0; n < 5000; n++) { /* every allocation fails once */
        t.left = n;
        fusec_status s = build_and_run(&o);
        FC_EXPECT_EQ_I64(t.live, 0);
        if (!s) break;
        failures++;
        if (s != FUSEC_OUT_OF_MEMORY)
            FC_FAIL("allocation %ld: status %s, %s", n, fusec_status_name(s), fusec_message(NULL));
        if (fc_test_has_failed()) return;
    }
    FC_EXPECT_GE_I64(failures, 20);
}

/* ---- numbers --------------------------------------------------------------------------------- */

FC_TEST(capi, numbers_take_the_dtype_they_meet) {
    CAPI_START();
    fusec_value h = vector(g, "h", FUSEC_F16), i = vector(g, "i", FUSEC_I32),
                b = vector(g, "b", FUSEC_BOOL), u = vector(g, "u", FUSEC_U8);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_add(h, fusec_num(0.1))), FUSEC_F16);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_add(fusec_int(2), h)), FUSEC_F16);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_mul(i, fusec_int(2))), FUSEC_I32);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_mul(i, fusec_num(0.5))), FUSEC_F32);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_add(fusec_num(2), b)), FUSEC_F32);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_add(b, fusec_int(2))), FUSEC_I64);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_div(i, fusec_int(2))), FUSEC_F32);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_clip(u, fusec_int(1), fusec_int(200))), FUSEC_U8);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_where(b, fusec_int(1), fusec_num(0.5))), FUSEC_F32);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_where(b, fusec_int(1), fusec_int(0))), FUSEC_I64);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_lt(i, fusec_num(0.5))), FUSEC_BOOL);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_shl(u, fusec_int(3))), FUSEC_U8);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_OK);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_num(1)), 0);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_num(1)), FUSEC_NO_DTYPE);
    CAPI_END();
}

FC_TEST(capi, numbers_that_do_not_fit) {
    CAPI_START();
    fusec_add(vector(g, "u", FUSEC_U8), fusec_int(256));
    EXPECT_ERROR(FUSEC_LITERAL_RANGE, "the number 256 does not fit u8");
    fusec_add(vector(g, "u", FUSEC_U64), fusec_int(-1));
    EXPECT_ERROR(FUSEC_LITERAL_RANGE, "-1");
    fusec_add(vector(g, "i", FUSEC_I8), fusec_int(-129));
    EXPECT_ERROR(FUSEC_LITERAL_RANGE, "i8");
    fusec_add(vector(g, "h", FUSEC_F16), fusec_int(70000));
    EXPECT_ERROR(FUSEC_LITERAL_RANGE, "f16");
    fusec_value fine = fusec_add(vector(g, "i", FUSEC_I8), fusec_int(-128));
    FC_EXPECT_EQ_I64(fusec_rank(fine), 1);
    CAPI_END();
}

/* f(numbers) must be the constant `want` of the default dtype when it meets an f64 scalar. */
static void expect_number(int line, fusec_graph *g, fusec_value v, double want) {
    double out = 0;
    FC_TRACE("line %d", line);
    fusec_value r = fusec_add(fusec_const(g, FUSEC_F64, 0), v);
    FC_EXPECT_OK_TEXT(fusec_read(r, &out, sizeof out), fusec_message(NULL));
    FC_EXPECT_NEAR(out, want, 1e-15 * (want < 0 ? -want : want));
    fusec_graph_reset(g);
    FC_UNTRACE();
}

FC_TEST(capi, numbers_among_themselves) {
    CAPI_START();
    expect_number(__LINE__, g, fusec_add(fusec_num(1), fusec_num(2)), 3);
    expect_number(__LINE__, g, fusec_div(fusec_int(1), fusec_int(4)), 0.25);
    expect_number(__LINE__, g, fusec_floordiv(fusec_int(-7), fusec_int(2)), -4);
    expect_number(__LINE__, g, fusec_mod(fusec_int(-7), fusec_int(2)), 1);
    expect_number(__LINE__, g, fusec_sqrt(fusec_num(2)), 1.4142135623730951);
    expect_number(__LINE__, g, fusec_exp(fusec_int(1)), 2.718281828459045);
    expect_number(__LINE__, g,
                  fusec_where(fusec_lt(fusec_int(1), fusec_num(1.5)), fusec_int(7), fusec_int(8)),
                  7);
    expect_number(__LINE__, g, fusec_mul(fusec_int(1LL << 40), fusec_int(1 << 20)),
                  1152921504606846976.0);
    fusec_value big =
        fusec_mul(fusec_int(INT64_MAX), fusec_int(2)); /* exact, or an error where it is used */
    fusec_add(vector(g, "x", FUSEC_I64), big);
    EXPECT_ERROR(FUSEC_LITERAL_RANGE, "operand 2");
    fusec_add(vector(g, "x", FUSEC_I64), fusec_bit_and(fusec_num(1), fusec_int(1)));
    EXPECT_ERROR(FUSEC_DTYPE_MISMATCH, "operand 2");
    FC_EXPECT_EQ_I64(fusec_read(fusec_num(1), NULL, 0), FUSEC_INVALID);
    FC_EXPECT_CONTAINS(fusec_message(NULL), "fusec_const");
    CAPI_END();
}

/* ---- errors ---------------------------------------------------------------------------------- */

FC_TEST(capi, the_first_error_stays) {
    CAPI_START();
    fusec_dim n = fusec_sym(g, "n"), m = fusec_sym(g, "m");
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 1, &n),
                y = fusec_input(g, "y", FUSEC_F32, 1, &m);
    fusec_value bad = fusec_add(x, y);
    FC_EXPECT_EQ_I64(fusec_rank(bad), -1);
    FC_EXPECT_EQ_I64(fusec_dtype_of(bad), FUSEC_NO_DTYPE);
    fusec_value worse = fusec_sin(fusec_cast(bad, (fusec_dtype)77));
    fusec_output(g, "z", worse);
    fusec_program *p = (fusec_program *)g;
    FC_EXPECT_EQ_I64(fusec_compile(g, &p), FUSEC_SHAPE_MISMATCH);
    FC_EXPECT_TRUE(p == NULL);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "add of f32[n] and f32[m]");
    FC_EXPECT_CONTAINS(fusec_message(ctx), "axis 0 is n on the left and m on the right");
    FC_EXPECT_EQ_I64(fusec_eval(&worse, 1), FUSEC_SHAPE_MISMATCH);
    EXPECT_ERROR(FUSEC_SHAPE_MISMATCH, "add of");
    CAPI_END();
}

FC_TEST(capi, errors_of_dtypes_and_axes) {
    CAPI_START();
    fusec_add(vector(g, "x", FUSEC_F32), vector(g, "y", FUSEC_I32));
    EXPECT_ERROR(FUSEC_DTYPE_MISMATCH, "f32[n] and i32[n]");
    fusec_where(vector(g, "x", FUSEC_F32), fusec_num(1), fusec_num(2));
    EXPECT_ERROR(FUSEC_NOT_BOOL, "where");
    fusec_bit_and(vector(g, "x", FUSEC_F32), fusec_num(1));
    EXPECT_ERROR(FUSEC_DTYPE_MISMATCH, "bit_and");
    fusec_sum(vector(g, "x", FUSEC_F32), 1, (int[]){1}, 0);
    EXPECT_ERROR(FUSEC_BAD_AXIS, "axis 1");
    fusec_sum(vector(g, "x", FUSEC_F32), 2, (int[]){0, -1}, 0);
    EXPECT_ERROR(FUSEC_BAD_AXIS, "twice");
    fusec_sum(vector(g, "x", FUSEC_F32), 2, NULL, 0);
    EXPECT_ERROR(FUSEC_INVALID, "NULL");
    fusec_sum(vector(g, "x", FUSEC_F32), -1, NULL, 0);
    EXPECT_ERROR(FUSEC_INVALID, "-1 axes");
    fusec_logsumexp(vector(g, "x", FUSEC_F32), 1000, (int[1000]){0}, 0);
    EXPECT_ERROR(FUSEC_BAD_AXIS, "1000 axes");
    fusec_bitcast(vector(g, "x", FUSEC_F32), FUSEC_I64);
    EXPECT_ERROR(FUSEC_DTYPE_MISMATCH, "widths");
    fusec_pow(vector(g, "x", FUSEC_I32), fusec_int(-1));
    EXPECT_ERROR(FUSEC_LITERAL_RANGE, "negative power");
    CAPI_END();
}

FC_TEST(capi, errors_of_views) {
    CAPI_START();
    fusec_flip(vector(g, "x", FUSEC_F32), 1);
    EXPECT_ERROR(FUSEC_BAD_AXIS, "rank is 1");
    fusec_transpose(vector(g, "x", FUSEC_F32), (int[]){1});
    EXPECT_ERROR(FUSEC_BAD_AXIS, "axis 1");
    fusec_squeeze(vector(g, "x", FUSEC_F32), 0);
    EXPECT_ERROR(FUSEC_BAD_AXIS, "constant length 1");
    fusec_expand_dims(vector(g, "x", FUSEC_F32), 2);
    EXPECT_ERROR(FUSEC_BAD_AXIS, "axis 2");
    fusec_slice(vector(g, "x", FUSEC_F32), 0, 0, 1, 0);
    EXPECT_ERROR(FUSEC_BAD_SLICE, "step");
    fusec_slice(vector(g, "x", FUSEC_F32), 0, 0, 1, INT64_MIN);
    EXPECT_ERROR(FUSEC_BAD_SLICE, "step");
    fusec_slice(vector(g, "x", FUSEC_F32), 0, INT64_MAX, INT64_MIN + 1, 2);
    FC_EXPECT_TRUE(fusec_graph_status(g) != FUSEC_OK);
    fusec_graph_reset(g);
    fusec_dim two[2] = {fusec_size(g, 2), fusec_size(g, 3)};
    fusec_reshape(fusec_full(g, FUSEC_F32, 1, 1, two), 2, two);
    EXPECT_ERROR(FUSEC_SHAPE_MISMATCH, "reshape");
    two[0] = fusec_size(g, -2);
    fusec_full(g, FUSEC_F32, 1, 1, two);
    FC_EXPECT_TRUE(fusec_graph_status(g) != FUSEC_OK);
    fusec_graph_reset(g);
    fusec_reshape(vector(g, "x", FUSEC_F32), 1, NULL);
    EXPECT_ERROR(FUSEC_INVALID, "without a shape");
    fusec_reshape(vector(g, "x", FUSEC_F32), 100, two);
    EXPECT_ERROR(FUSEC_LIMIT, "rank 100");
    CAPI_END();
}

FC_TEST(capi, errors_of_bound_arrays_come_at_once) {
    CAPI_START();
    float a[5] = {0}, b[4] = {0};
    fusec_value x = fusec_array(g, FUSEC_F32, 1, (int64_t[]){5}, a);
    fusec_value y = fusec_array(g, FUSEC_F32, 1, (int64_t[]){4}, b);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_add(fusec_slice(x, 0, 1, FUSEC_END, 1), y)),
                     1); /* 5 - 1 is 4 */
    fusec_add(x, y);
    EXPECT_ERROR(FUSEC_SHAPE_MISMATCH, "f32[5] and f32[4]");
    x = fusec_array(g, FUSEC_F32, 1, (int64_t[]){5}, a);
    y = fusec_array(g, FUSEC_F32, 1, (int64_t[]){4}, b);
    fusec_add(fusec_slice(x, 0, 2, FUSEC_END, 1), y); /* 3 is not 4 */
    FC_EXPECT_TRUE(fusec_graph_status(g) != FUSEC_OK);
    fusec_graph_reset(g);
    fusec_slice(fusec_array(g, FUSEC_F32, 1, (int64_t[]){5}, a), 0, 0, 6, 1);
    EXPECT_ERROR(FUSEC_SLICE_RANGE, "outside");
    fusec_max(fusec_array(g, FUSEC_F32, 1, (int64_t[]){0}, NULL), 0, NULL, 0);
    EXPECT_ERROR(FUSEC_EMPTY_REDUCTION, "no elements");
    fusec_array(g, FUSEC_F32, 1, (int64_t[]){-5}, a);
    EXPECT_ERROR(FUSEC_INPUT_SHAPE, "negative size -5");
    fusec_array(g, FUSEC_F32, 2, (int64_t[]){INT64_MAX, 2}, a);
    EXPECT_ERROR(FUSEC_INPUT_SHAPE, "more bytes");
    fusec_array(g, FUSEC_F32, 1, (int64_t[]){5}, NULL);
    EXPECT_ERROR(FUSEC_INVALID, "NULL");
    fusec_array(g, FUSEC_F32, 33, (int64_t[33]){0}, a);
    EXPECT_ERROR(FUSEC_LIMIT, "rank 33");
    fusec_array(g, FUSEC_F32, 1, NULL, a);
    EXPECT_ERROR(FUSEC_INVALID, "without a shape");
    fusec_array(g, (fusec_dtype)-3, 0, NULL, a);
    EXPECT_ERROR(FUSEC_INVALID, "dtype");
    CAPI_END();
}

FC_TEST(capi, errors_of_names) {
    CAPI_START();
    fusec_output(g, "y", fusec_input(g, "x", FUSEC_F32, 0, NULL));
    fusec_output(g, "y", fusec_num(1));
    EXPECT_ERROR(FUSEC_DUPLICATE_NAME, "y");
    fusec_input(g, "x", FUSEC_F32, 0, NULL);
    fusec_input(g, "x", FUSEC_F32, 0, NULL);
    EXPECT_ERROR(FUSEC_DUPLICATE_NAME, "x");
    fusec_input(g, NULL, FUSEC_F32, 0, NULL);
    EXPECT_ERROR(FUSEC_INVALID, "NULL");
    fusec_output(g, NULL, fusec_num(1));
    EXPECT_ERROR(FUSEC_INVALID, "NULL");
    fusec_sym(g, "5");
    EXPECT_ERROR(FUSEC_INVALID, "\"5\"");
    fusec_sym(g, NULL);
    EXPECT_ERROR(FUSEC_INVALID, "NULL");
    CAPI_END();
}

FC_TEST(capi, limits) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    o.device = "interp";
    o.max_nodes = 50;
    o.max_inputs = 2;
    o.max_outputs = 1;
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    fusec_value x = vector(g, "x", FUSEC_F32);
    for (int i = 0; i < 100; i++) x = fusec_sin(x);
    EXPECT_ERROR(FUSEC_LIMIT, "50 nodes");
    fusec_add(vector(g, "x", FUSEC_F32),
              fusec_add(vector(g, "y", FUSEC_F32), vector(g, "z", FUSEC_F32)));
    EXPECT_ERROR(FUSEC_LIMIT, "2 inputs");
    fusec_output(g, "a", vector(g, "x", FUSEC_F32));
    fusec_output(g, "b", vector(g, "y", FUSEC_F32));
    EXPECT_ERROR(FUSEC_LIMIT, "1 outputs");
    CAPI_END();
}

/* ---- hostile use ----------------------------------------------------------------------------- */

FC_TEST(capi, values_where_they_do_not_belong) {
    CAPI_START();
    fusec_graph *other = NULL;
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &other), fusec_message(ctx));
    fusec_add(vector(g, "x", FUSEC_F32), vector(other, "x", FUSEC_F32));
    EXPECT_ERROR(FUSEC_INVALID, "operand 2 belongs to another graph");
    fusec_value old = vector(g, "x", FUSEC_F32);
    fusec_graph_reset(g);
    fusec_sin(old);
    EXPECT_ERROR(FUSEC_INVALID, "before the graph was reset");
    FC_EXPECT_EQ_I64(fusec_read(old, NULL, 0), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_OK); /* a read does not spoil the graph */
    fusec_add(vector(g, "x", FUSEC_F32), (fusec_value){0});
    EXPECT_ERROR(FUSEC_INVALID, "operand 2 is an empty value");
    fusec_value odd = vector(g, "x", FUSEC_F32);
    odd.kind = 77;
    fusec_where(odd, odd, vector(g, "y", FUSEC_F32));
    EXPECT_ERROR(FUSEC_INVALID, "operand 1");
    fusec_output(other, "x", vector(g, "x", FUSEC_F32));
    FC_EXPECT_EQ_I64(fusec_graph_status(other), FUSEC_INVALID);
    fusec_value both[2] = {vector(g, "y", FUSEC_F32), vector(g, "z", FUSEC_F32)};
    fusec_graph_reset(other);
    both[1] = vector(other, "z", FUSEC_F32);
    FC_EXPECT_EQ_I64(fusec_eval(both, 2), FUSEC_INVALID);
    fusec_dim d = fusec_sym(other, "n");
    fusec_graph_reset(g);
    fusec_input(g, "x", FUSEC_F32, 1, &d);
    EXPECT_ERROR(FUSEC_INVALID, "not a size of this graph");
    fusec_dim_add(fusec_sym(g, "n"), d);
    EXPECT_ERROR(FUSEC_INVALID, "same graph");
    fusec_dim_of(vector(g, "x", FUSEC_F32), 1);
    EXPECT_ERROR(FUSEC_BAD_AXIS, "axis 1");
    fusec_graph_free(other);
    CAPI_END();
}

/* ---- all operations -------------------------------------------------------------------------- */

/* Rows by name: what ops.h declares, called with operands that the row takes. */
typedef struct function {
    fc_op op;
    fusec_value (*one)(fusec_value x);
    fusec_value (*two)(fusec_value x, fusec_value y);
    fusec_value (*three)(fusec_value x, fusec_value y, fusec_value z);
    fusec_value (*reduce)(fusec_value x, int naxes, const int *axes, int keepdims);
} function;

#define ONE(name)    {FC_OP_##name, fusec_##name, NULL, NULL, NULL},
#define TWO(name)    {FC_OP_##name, NULL, fusec_##name, NULL, NULL},
#define THREE(name)  {FC_OP_##name, NULL, NULL, fusec_##name, NULL},
#define REDUCE(name) {FC_OP_##name, NULL, NULL, NULL, fusec_##name},
static const function functions[] = {FUSEC_OPS_UNARY(ONE) FUSEC_OPS_BINARY(TWO)
                                         FUSEC_OPS_TERNARY(THREE) FUSEC_OPS_REDUCTIONS(REDUCE)};

static fusec_value call(const function *f, fusec_value c, fusec_value a) {
    if (f->one) return f->one(a);
    if (f->two) return f->two(a, a);
    return f->three ? f->three(c, a, a) : f->reduce(a, 0, NULL, 0);
}

FC_TEST(capi, every_row_has_its_function) {
    CAPI_START();
    bool seen[FC_OP_COUNT_] = {false};
    fusec_value f = vector(g, "f", FUSEC_F32), i = vector(g, "i", FUSEC_I32),
                b = vector(g, "b", FUSEC_BOOL);
    for (size_t k = 0; k < FC_COUNT(functions); k++) {
        fc_rule rule = fc_ops[functions[k].op].rule;
        fusec_value a = rule == FC_RULE_LOGIC || rule == FC_RULE_BOOL ? b
                        : rule == FC_RULE_BITS                        ? i
                                                                      : f;
        fusec_value r = call(&functions[k], rule == FC_RULE_SELECT ? b : a, a);
        FC_TRACE("%s", fc_ops[functions[k].op].name);
        FC_EXPECT_EQ_I64(fusec_rank(r), functions[k].reduce ? 0 : 1);
        FC_EXPECT_OK_TEXT(fusec_graph_status(g), fusec_message(ctx));
        FC_UNTRACE();
        seen[functions[k].op] = true;
    }
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_COUNT_; op++)
        if (!seen[op] && fc_ops[op].name && !(fc_ops[op].flags & FC_F_HIDDEN))
            FC_FAIL("ops.h has no function for %s", fc_ops[op].name);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_logsumexp(f, 1, (int[]){-1}, 1)), 1);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_sum(i, 0, NULL, 0)), FUSEC_I64);
    FC_EXPECT_EQ_I64(fusec_dtype_of(fusec_std(i, 0, NULL, 0)), FUSEC_F32);
    CAPI_END();
}

FC_TEST(capi, equal_expressions_are_one_node) {
    CAPI_START();
    fusec_value x = vector(g, "x", FUSEC_F32), y = vector(g, "y", FUSEC_F32);
    FC_EXPECT_EQ_I64(fusec_add(x, y).node, fusec_add(y, x).node);
    FC_EXPECT_EQ_I64(fusec_mul(x, fusec_num(2)).node, fusec_mul(fusec_num(2), x).node);
    FC_EXPECT_EQ_I64(fusec_flip(fusec_flip(x, 0), 0).node, fusec_flip(fusec_flip(x, -1), 0).node);
    FC_EXPECT_EQ_I64(fusec_squeeze(fusec_expand_dims(x, 0), 0).kind, x.kind);
    fusec_dim n = fusec_dim_of(x, 0), m = fusec_dim_sub(fusec_dim_add(n, n), n);
    FC_EXPECT_EQ_I64(n.id, m.id);
    CAPI_END();
}

FC_TEST(capi, from_cxx) {
    CAPI_START();
    FC_EXPECT_EQ_I64(capi_from_cxx(g), 0);
    CAPI_END();
}

FC_TEST(capi, messages_do_not_depend_on_the_locale) {
    const char *found = setlocale(LC_ALL, "de_DE.UTF-8");
    CAPI_START();
    float a[2] = {1.5f, 2.5f}, out[2];
    fusec_value x = fusec_array(g, FUSEC_F32, 1, (int64_t[]){2}, a);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_mul(x, fusec_num(0.5)), out, sizeof out),
                      fusec_message(ctx));
    FC_EXPECT_EQ_F64(out[0], 0.75);
    fusec_slice(x, 0, 0, 1000000, 1);
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_SLICE_RANGE);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "1 is smaller than 999999");
    CAPI_END();
    if (found) setlocale(LC_ALL, "C");
}

/* ---- documentation --------------------------------------------------------------------------- */

/* A file of the source tree with single blanks between words; freed by the caller. */
static char *squeezed(const char *path) {
    char full[1200];
    snprintf(full, sizeof full, "%s/%s", FUSEC_SOURCE_DIR, path);
    FILE *f = fopen(full, "rb");
    char *text = calloc(1, 1 << 17);
    size_t n = f && text ? fread(text, 1, (1 << 17) - 1, f) : 0, k = 0;
    if (f) fclose(f);
    for (size_t i = 0; i < n; i++) {
        bool blank = text[i] == ' ' || text[i] == '\n';
        if (!blank || (k && text[k - 1] != ' ')) text[k++] = blank ? ' ' : text[i];
    }
    if (text) text[k] = 0;
    return text;
}

FC_TEST(capi, snippets_of_the_guide_are_parts_of_the_examples) {
    static const char *const examples[] = {
        "wave", "dot",   "lazy_loop", "add_square", "device_stream", "lazy_values",
        "text", "saved", "pieces",    "call",       "extern"};
    char *guide = squeezed("docs/c-api.md"), *code[FC_COUNT(examples)];
    for (size_t i = 0; i < FC_COUNT(examples); i++) {
        char path[100];
        snprintf(path, sizeof path, "examples/%s.c", examples[i]);
        code[i] = squeezed(path);
    }
    int snippets = 0;
    for (char *p = guide; p && (p = strstr(p, "```c ")) != NULL; snippets++) {
        char *start = p + 5, *end = strstr(start, " ```");
        bool found = false;
        if (!end) break;
        *end = 0;
        for (size_t i = 0; i < FC_COUNT(examples); i++) found |= code[i] && strstr(code[i], start);
        if (!found) FC_FAIL("in no example: %s", start);
        p = end + 4;
    }
    FC_EXPECT_GE_I64(snippets, 5);
    for (size_t i = 0; i < FC_COUNT(examples); i++) free(code[i]);
    free(guide);
}
