/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ops.c - the rows of ops.def: the table itself, and what every row computes on integers.
 *
 * Each operation runs as the code of every target (expanded for it, then computed by fc_eval) and
 * must give what a reference of its own, written from docs/semantics.md, gives. */
#include "ir/eval.h"
#include "tests/support/codebox.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

static const fc_target_kind targets[] = {FC_TARGET_INTERP, FC_TARGET_CUDA, FC_TARGET_LLVM};

/* ---- the table -------------------------------------------------------------------------- */

FC_TEST(ops, table_is_complete) {
    for (int op = 0; op < FC_OP_COUNT_; op++) {
        FC_TRACE("operation %d", op);
        FC_EXPECT_TRUE(fc_ops[op].name != NULL && fc_ops[op].doc != NULL);
        FC_EXPECT_TRUE((fc_ops[op].rule == FC_RULE_STRUCT) == (op < FC_OP_FIRST_ELEMENTWISE));
        FC_UNTRACE();
    }
    FC_EXPECT_EQ_I64(FC_OP_add, FC_OP_FIRST_ELEMENTWISE);
    FC_EXPECT_EQ_I64(FC_OP_sum, FC_OP_FIRST_REDUCTION);
    FC_EXPECT_EQ_I64(fc_ops[FC_OP_fma].arity, 3);
    FC_EXPECT_TRUE(fc_ops[FC_OP_add].flags == (FC_F_COMMUTES | FC_F_EXACT | FC_F_OPERATOR));
    FC_EXPECT_EQ_I64(fc_ops[FC_OP_argmin].components, 2);
}

FC_TEST(ops, names) {
    FC_EXPECT_EQ_I64(fc_op_by_name("sin", 3), FC_OP_sin);
    FC_EXPECT_EQ_I64(fc_op_by_name("sinh", 3), FC_OP_sin); /* three characters of it */
    FC_EXPECT_EQ_I64(fc_op_by_name("argmax", 6), FC_OP_argmax);
    FC_EXPECT_EQ_I64(fc_op_by_name("idiv_raw", 8), FC_OP_NONE);
    FC_EXPECT_EQ_I64(fc_op_by_name("load", 4), FC_OP_NONE);
    FC_EXPECT_EQ_I64(fc_op_by_name("", 0), FC_OP_NONE);
}

/* Every row on every dtype it takes becomes legal code of every target. */
FC_TEST(ops, every_row_runs_everywhere) {
    uint64_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, out[8];
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++) {
        if (fc_ops[op].flags & FC_F_HIDDEN) continue;
        for (int t = 0; t < FC_DTYPE_COUNT; t++) {
            if (!fc_box_takes(&fc_ops[op], (fusec_dtype)t)) continue;
            FC_TRACE("%s on %s", fc_ops[op].name, fc_dtypes[t].name);
            for (size_t k = 0; k < FC_COUNT(targets); k++)
                FC_EXPECT_TRUE(fc_box_op((fc_op)op, (fusec_dtype)t, (fusec_dtype)t, targets[k], 1,
                                         ones, ones, ones, out));
            FC_UNTRACE();
        }
    }
}

/* ---- code ------------------------------------------------------------------------------- */

FC_TEST(ops, code_shares_equal_instructions) {
    fc_code c;
    fc_code_init(&c, &fc_libc_alloc);
    fc_val x = fc_val_arg(&c, 0, FUSEC_F32, FC_POINT), y = fc_val_arg(&c, 1, FUSEC_F32, FC_ROW);
    fc_val p = fc_val_op(&c, FC_OP_add, x, y, FC_NOVAL),
           q = fc_val_op(&c, FC_OP_add, y, x, FC_NOVAL);
    FC_EXPECT_EQ_I64(p, q);
    fc_val d = fc_val_op(&c, FC_OP_sub, x, y, FC_NOVAL),
           e = fc_val_op(&c, FC_OP_sub, y, x, FC_NOVAL);
    FC_EXPECT_NE_I64(d, e);
    FC_EXPECT_EQ_I64(c.ins.at[p].level, FC_POINT);
    fc_val k = fc_val_const(&c, FUSEC_F32, 1.5);
    FC_EXPECT_EQ_I64(k, fc_val_const(&c, FUSEC_F32, 1.5));
    fc_val less = fc_val_op(&c, FC_OP_lt, y, k, FC_NOVAL);
    FC_EXPECT_EQ_I64(fc_val_dtype(&c, less), FUSEC_BOOL);
    FC_EXPECT_EQ_I64(c.ins.at[less].level, FC_ROW);
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    fc_code_print(&c, &s);
    FC_EXPECT_STREQ(s.data, "%0 = f32 arg #0\n%1 = f32 arg #1 @row\n%2 = f32 add %0 %1\n"
                            "%3 = f32 sub %0 %1\n%4 = f32 sub %1 %0\n%5 = f32 const 1.5 @row\n"
                            "%6 = bool lt %1 %5 @row\n");
    fc_str_free(&s);
    fc_code_free(&c);
}

FC_TEST(ops, code_grows) {
    fc_code c;
    fc_code_init(&c, &fc_libc_alloc);
    for (int round = 0; round < 2; round++)
        for (int k = 0; k < 5000; k++) FC_EXPECT_EQ_I64(fc_val_i64(&c, k), k);
    fc_code_free(&c);
}

FC_TEST(ops, wrong_code_fails_softly) {
    fc_code c;
    fc_code_init(&c, &fc_libc_alloc);
    fc_val x = fc_val_arg(&c, 0, FUSEC_F32, FC_POINT), y = fc_val_arg(&c, 1, FUSEC_F64, FC_POINT);
    FC_EXPECT_EQ_I64(fc_val_op(&c, FC_OP_add, x, y, FC_NOVAL), FC_NOVAL);
    FC_EXPECT_EQ_I64(c.status, FUSEC_INTERNAL);
    FC_EXPECT_EQ_I64(fc_val_op(&c, FC_OP_add, x, x, FC_NOVAL), FC_NOVAL); /* stays failed */
    fc_code_free(&c);
    fc_code_init(&c, &fc_libc_alloc);
    x = fc_val_arg(&c, 0, FUSEC_F32, FC_POINT);
    FC_EXPECT_EQ_I64(fc_val_op(&c, FC_OP_bit_and, x, x, FC_NOVAL), FC_NOVAL);
    fc_code_free(&c);
    fc_code_init(&c, &fc_libc_alloc);
    x = fc_val_arg(&c, 0, FUSEC_F64, FC_POINT);
    FC_EXPECT_EQ_I64(fc_val_cvt(&c, x, FUSEC_F16), FC_NOVAL); /* would round twice */
    fc_code_free(&c);
}

/* ---- integers --------------------------------------------------------------------------- */

/* Arrays a and b with all pairs of the values; returns how many. */
static size_t all_pairs(fusec_dtype t, const void *values, size_t n, char *a, char *b) {
    const size_t size = fc_dtypes[t].bytes;
    for (size_t k = 0; k < n * n; k++) {
        memcpy(a + k * size, (const char *)values + k / n * size, size);
        memcpy(b + k * size, (const char *)values + k % n * size, size);
    }
    return n * n;
}

static size_t int_values(fusec_dtype t, void *values) {
    if (fc_dtypes[t].bytes > 1) return fc_box_specials(t, values);
    for (int k = 0; k < 256; k++) ((uint8_t *)values)[k] = (uint8_t)k;
    return 256;
}

static void check_int_op(fc_op op, fusec_dtype t, size_t n, const char *a, const char *b,
                         char *out) {
    const fc_rule rule = fc_ops[op].rule;
    const fusec_dtype to = rule == FC_RULE_COMPARE || rule == FC_RULE_TEST ? FUSEC_BOOL : t;
    for (size_t k = 0; k < FC_COUNT(targets); k++) {
        if (!fc_box_op(op, t, to, targets[k], n, a, b, b, out)) return;
        for (size_t i = 0; i < n; i++) {
            const uint64_t x = fc_oracle_load(t, a, (int64_t)i),
                           y = fc_oracle_load(t, b, (int64_t)i);
            const uint64_t got = fc_oracle_load(to, out, (int64_t)i);
            const uint64_t wanted = fc_o_int_op(op, t, x, y, y);
            if (got == wanted) continue;
            FC_FAIL("%s(0x%llx, 0x%llx) on %s is 0x%llx, not 0x%llx (target %d)", fc_ops[op].name,
                    (unsigned long long)x, (unsigned long long)y, fc_dtypes[t].name,
                    (unsigned long long)got, (unsigned long long)wanted, (int)targets[k]);
            return;
        }
    }
}

/* All pairs of 8-bit values, pairs of special values of the others. */
static void check_int_dtype(void *arg) {
    FC_TAKE_ONE_OF(1);
    const fusec_dtype t = (fusec_dtype)(uintptr_t)arg;
    const size_t room = (size_t)FC_BOX_SPECIALS * FC_BOX_SPECIALS * 8;
    char *a = malloc(room), *b = malloc(room), *out = malloc(room);
    uint64_t values[FC_BOX_SPECIALS];
    const size_t n = all_pairs(t, values, int_values(t, values), a, b);
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++) {
        const fc_op_info *row = &fc_ops[op];
        if (row->flags & FC_F_HIDDEN || !fc_box_takes(row, t) || row->rule == FC_RULE_SELECT)
            continue;
        if (!fc_o_defines((fc_op)op, t)) FC_FAIL("the oracle lacks %s", row->name);
        check_int_op((fc_op)op, t, n, a, b, out);
    }
    free(a);
    free(b);
    free(out);
}

FC_REGISTER(int_ops) {
    for (uintptr_t t = FUSEC_I8; t <= FUSEC_U64; t++)
        FC_ADD_TEST("ops_int", fc_dtypes[t].name, check_int_dtype, t);
}

/* A constant exponent takes another path than one that varies. */
FC_TEST(ops, power_with_constant_exponent) {
    for (int n = -3; n <= 70; n++) {
        const uint64_t in[3] = {(uint64_t)-3, (uint64_t)(int64_t)n, 0};
        uint64_t out;
        FC_ASSERT_TRUE(fc_fold(FC_OP_pow, FUSEC_I64, FUSEC_I64, in, &out));
        FC_EXPECT_EQ_U64(out, fc_o_int_op(FC_OP_pow, FUSEC_I64, in[0], in[1], 0));
    }
}

/* ---- bool ------------------------------------------------------------------------------- */

FC_TEST(ops, bools) {
    static const struct {
        fc_op op;
        uint8_t out[4];
    } rows[] = {{FC_OP_add, {0, 1, 1, 1}},         {FC_OP_mul, {0, 0, 0, 1}},
                {FC_OP_minimum, {0, 0, 0, 1}},     {FC_OP_maximum, {0, 1, 1, 1}},
                {FC_OP_eq, {1, 0, 0, 1}},          {FC_OP_ne, {0, 1, 1, 0}},
                {FC_OP_lt, {0, 1, 0, 0}},          {FC_OP_le, {1, 1, 0, 1}},
                {FC_OP_gt, {0, 0, 1, 0}},          {FC_OP_ge, {1, 0, 1, 1}},
                {FC_OP_bit_and, {0, 0, 0, 1}},     {FC_OP_bit_or, {0, 1, 1, 1}},
                {FC_OP_bit_xor, {0, 1, 1, 0}},     {FC_OP_bit_not, {1, 1, 0, 0}},
                {FC_OP_logical_and, {0, 0, 0, 1}}, {FC_OP_logical_or, {0, 1, 1, 1}},
                {FC_OP_logical_not, {1, 1, 0, 0}}, {FC_OP_shl, {0, 0, 1, 0}},
                {FC_OP_shr, {0, 0, 1, 0}},         {FC_OP_isnan, {0, 0, 0, 0}},
                {FC_OP_isfinite, {1, 1, 1, 1}}};
    const uint8_t a[4] = {0, 0, 1, 1}, b[4] = {0, 1, 0, 1};
    for (size_t k = 0; k < FC_COUNT(rows) * FC_COUNT(targets); k++) {
        const size_t row = k / FC_COUNT(targets);
        uint8_t out[4];
        FC_TRACE("%s", fc_ops[rows[row].op].name);
        if (fc_box_op(rows[row].op, FUSEC_BOOL, FUSEC_BOOL, targets[k % FC_COUNT(targets)], 4, a, b,
                      NULL, out))
            FC_EXPECT_MEMEQ(out, rows[row].out, 4);
        FC_UNTRACE();
    }
}

/* ---- folding ---------------------------------------------------------------------------- */

static double fold_f32(fc_op op, double a, double b) {
    const uint64_t in[3] = {fc_const_bits(FUSEC_F32, a), fc_const_bits(FUSEC_F32, b), 0};
    uint64_t out = 0;
    FC_EXPECT_TRUE(fc_fold(op, FUSEC_F32, FUSEC_F32, in, &out));
    return fc_const_value(FUSEC_F32, out);
}

FC_TEST(ops, folding) {
    FC_EXPECT_EQ_F64(fold_f32(FC_OP_add, 0.1, 0.2), (double)(0.1f + 0.2f));
    FC_EXPECT_EQ_F64(fold_f32(FC_OP_mod, -7, 3), 2);
    FC_EXPECT_EQ_F64(fold_f32(FC_OP_maximum, -0.0, 0.0), 0.0);
    FC_EXPECT_EQ_F64(fold_f32(FC_OP_minimum, 1, NAN), NAN);
    uint64_t out, in[3] = {fc_const_bits(FUSEC_F32, 1), fc_const_bits(FUSEC_F32, 2), 0};
    FC_EXPECT_FALSE(fc_fold(FC_OP_sin, FUSEC_F32, FUSEC_F32, in, &out));
    FC_EXPECT_FALSE(fc_fold(FC_OP_pow, FUSEC_F32, FUSEC_F32, in, &out));
    FC_EXPECT_FALSE(fc_fold(FC_OP_sum, FUSEC_F32, FUSEC_F32, in, &out));
    FC_ASSERT_TRUE(fc_fold(FC_OP_lt, FUSEC_F32, FUSEC_BOOL, in, &out));
    FC_EXPECT_EQ_U64(out, 1);
    FC_ASSERT_TRUE(fc_fold(FC_OP_CAST, FUSEC_F32, FUSEC_BF16, in, &out));
    FC_EXPECT_EQ_U64(out, 0x3f80);
    FC_ASSERT_TRUE(fc_fold(FC_OP_BITCAST, FUSEC_F32, FUSEC_I32, in, &out));
    FC_EXPECT_EQ_U64(out, 0x3f800000);
    const uint64_t choice[3] = {0, 7, 9};
    FC_ASSERT_TRUE(fc_fold(FC_OP_where, FUSEC_I8, FUSEC_I8, choice, &out));
    FC_EXPECT_EQ_U64(out, 9);
    const uint64_t half[3] = {0x3c00, 0x1000, 0}; /* f16: 1 + 2^-11, a tie */
    FC_ASSERT_TRUE(fc_fold(FC_OP_add, FUSEC_F16, FUSEC_F16, half, &out));
    FC_EXPECT_EQ_U64(out, 0x3c00);
}

FC_TEST(ops, constants) {
    FC_EXPECT_EQ_U64(fc_const_bits(FUSEC_I8, 300.7), 127);
    FC_EXPECT_EQ_U64(fc_const_bits(FUSEC_I8, -300.7), 0x80);
    FC_EXPECT_EQ_U64(fc_const_bits(FUSEC_U64, 1e30), UINT64_MAX);
    FC_EXPECT_EQ_U64(fc_const_bits(FUSEC_U32, NAN), 0);
    FC_EXPECT_EQ_U64(fc_const_int(FUSEC_U8, -1), 255);
    FC_EXPECT_EQ_F64(fc_const_value(FUSEC_BF16, fc_const_int(FUSEC_BF16, 1077936129)), 1082130432);
    FC_EXPECT_EQ_F64(fc_const_value(FUSEC_BF16, fc_const_int(FUSEC_BF16, -1077936129)),
                     -1082130432);
    /* halfway plus 1, which a double does not hold */
    FC_EXPECT_EQ_F64(fc_const_value(FUSEC_BF16, fc_const_int(FUSEC_BF16, 0x4040000000000001)),
                     0x4080p48);
    FC_EXPECT_EQ_F64(fc_const_value(FUSEC_BF16, fc_const_int(FUSEC_BF16, -0x4040000000000001)),
                     -0x4080p48);
    FC_EXPECT_EQ_F64(fc_const_value(FUSEC_BF16, fc_const_int(FUSEC_BF16, 0x403fffffffffffff)),
                     0x4000p48);
    FC_EXPECT_TRUE(fc_const_is(FUSEC_F32, fc_const_bits(FUSEC_F32, -0.0), -0.0));
    FC_EXPECT_FALSE(fc_const_is(FUSEC_F32, fc_const_bits(FUSEC_F32, -0.0), 0.0));
    FC_EXPECT_TRUE(fc_const_is(FUSEC_I32, 0, 0.0));
    FC_EXPECT_FALSE(fc_const_is(FUSEC_I64, INT64_MAX, 0x1p63));
    FC_EXPECT_EQ_F64(fc_const_value(FUSEC_I16, fc_const_min(FUSEC_I16)), -32768);
    FC_EXPECT_EQ_F64(fc_const_value(FUSEC_F16, fc_const_max(FUSEC_F16)), 65504);
}
