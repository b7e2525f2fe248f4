/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capi_fold.c - reductions and scans by a function of the caller's, linear recurrences and
 * scans in stretches, through the public functions. Their trees are test_fold.c's. */
#include <math.h>

#include "ir/base.h"
#include "tests/support/capi.h"
#include "tests/support/test.h"

static const int64_t shape[2] = {2, 3};
static const float data[6] = {1, 2, 3, 4, 5, 6};
static const fusec_value none = {0};

/* (m1, s1), (m2, s2) -> the larger m, and both sums for it */
static void join(const fusec_value *a, const fusec_value *b, fusec_value *c) {
    c[0] = fusec_maximum(a[0], b[0]);
    for (int i = 0; i < 2; i++) {
        const fusec_value *x = i ? b : a,
                          part = fusec_where(fusec_eq(x[0], c[0]), x[1],
                                             fusec_mul(x[1], fusec_exp(fusec_sub(x[0], c[0]))));
        c[1] = i ? fusec_add(c[1], part) : part;
    }
}

FC_TEST(capi_fold, logsumexp) {
    CAPI_START();
    const fusec_value x[2] = {fusec_array(g, FUSEC_F32, 2, shape, data), fusec_num(1)},
                      start[2] = {fusec_num(-INFINITY), fusec_num(0)};
    fusec_value a[2], b[2], c[2], out[2];
    const int axis = -1;
    float got[2][2];
    FC_EXPECT_EQ_I64(fusec_record_pair(2, x, a, b), FUSEC_OK);
    join(a, b, c);
    FC_EXPECT_EQ_I64(fusec_reduce_by(2, x, start, c, 1, &axis, 0, out), FUSEC_OK);
    FC_EXPECT_OK_TEXT(fusec_eval(out, 2), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(out[0], got[0], sizeof got[0]), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(out[1], got[1], sizeof got[1]), fusec_message(ctx));
    for (int r = 0; r < 2; r++) {
        FC_EXPECT_EQ_F64((double)got[0][r], (double)data[3 * r + 2]);
        FC_EXPECT_NEAR((double)got[1][r], 1 + exp(-1) + exp(-2), 1e-6);
    }
    CAPI_END();
}

/* A number of a body is no argument of the kernel, though an equal one outside is. */
FC_TEST(capi_fold, numbers) {
    CAPI_START();
    const fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, data);
    for (int k = 3; k < 5; k++) {
        fusec_value a, b, out;
        float got[6];
        const fusec_value y = fusec_mul(x, fusec_num(k)), start = fusec_num(0);
        FC_EXPECT_EQ_I64(fusec_record_pair(1, &y, &a, &b), FUSEC_OK);
        const fusec_value c = fusec_div(
            fusec_add(fusec_mul(a, fusec_num(k)), fusec_mul(b, fusec_num(k))), fusec_num(k));
        FC_EXPECT_EQ_I64(fusec_scan_by(1, &y, &start, &c, 1, FUSEC_SCAN_REVERSE, &out), FUSEC_OK);
        FC_EXPECT_OK_TEXT(fusec_read(out, got, sizeof got), fusec_message(ctx));
        FC_EXPECT_EQ_F64((double)got[0], 6.0 * k);
        FC_EXPECT_EQ_F64((double)got[4], 11.0 * k);
    }
    CAPI_END();
}

FC_TEST(capi_fold, recurrences) {
    CAPI_START();
    static const bool anew[3] = {false, false, true};
    const int64_t three = 3;
    const fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, data),
                      when = fusec_array(g, FUSEC_BOOL, 1, &three, anew);
    float got[6];
    FC_EXPECT_OK_TEXT(fusec_read(fusec_linrec(fusec_num(10), x, 1, 0), got, sizeof got),
                      fusec_message(ctx));
    FC_EXPECT_EQ_F64((double)got[2], 123.0);
    FC_EXPECT_EQ_F64((double)got[5], 456.0);
    FC_EXPECT_OK_TEXT(
        fusec_read(fusec_linrec(fusec_num(10), x, 1, FUSEC_SCAN_EXCLUSIVE), got, sizeof got),
        fusec_message(ctx));
    FC_EXPECT_EQ_F64((double)got[2], 12.0);
    FC_EXPECT_EQ_F64((double)got[3], 0.0);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_linrec(x, x, 0, FUSEC_SCAN_REVERSE), got, sizeof got),
                      fusec_message(ctx));
    FC_EXPECT_EQ_F64((double)got[1], 2 + 2 * 5.0);
    FC_EXPECT_OK_TEXT(fusec_read(fusec_cumsum_reset(x, when, 1, 0), got, sizeof got),
                      fusec_message(ctx));
    FC_EXPECT_EQ_F64((double)got[2], 3.0);
    FC_EXPECT_EQ_F64((double)got[4], 9.0);
    FC_EXPECT_OK_TEXT(
        fusec_read(fusec_cummax_reset(x, when, 1, FUSEC_SCAN_EXCLUSIVE), got, sizeof got),
        fusec_message(ctx));
    FC_EXPECT_EQ_F64((double)got[4], 4.0);
    FC_EXPECT_TRUE(isinf(got[5]));
    CAPI_END();
}

FC_TEST(capi_fold, refused) {
    fusec_value a[17] = {{0}}, b[17], out[17], x[17];
    FC_EXPECT_EQ_I64(fusec_record_pair(0, a, b, out), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_record_pair(1, NULL, b, out), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_record_pair(1, &none, b, out), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_reduce_by(17, a, NULL, b, 0, NULL, 0, out), FUSEC_LIMIT);
    FC_EXPECT_EQ_I64(fusec_scan_by(1, a, NULL, NULL, 0, 8, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_rank(fusec_linrec(none, none, 0, 0)), -1);
    CAPI_START();
    x[0] = fusec_array(g, FUSEC_F32, 2, shape, data);
    FC_EXPECT_EQ_I64(fusec_record_pair(1, x, NULL, b), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_record_pair(1, x, a, b), FUSEC_OK);
    FC_EXPECT_EQ_I64(fusec_reduce_by(1, x, NULL, NULL, 0, NULL, 0, out), FUSEC_INVALID);
    const fusec_value sum = fusec_add(a[0], x[0]); /* reads an array of the outside */
    FC_EXPECT_EQ_I64(fusec_reduce_by(1, x, NULL, &sum, 0, NULL, 0, out), FUSEC_NOT_POINTWISE);
    FC_EXPECT_EQ_I64(fusec_rank(out[0]), -1);
    CAPI_END();
}
