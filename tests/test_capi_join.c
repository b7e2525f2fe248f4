/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capi_join.c - the public functions that read at indices, move and join arrays. Their values
 * over all modes and forms are in test_lang_index.c; here are the arguments of C. */
#include "ir/base.h"
#include "tests/support/capi.h"
#include "tests/support/test.h"

static const int64_t shape[2] = {2, 3};
static const float data[6] = {1, 2, 3, 4, 5, 6};
static const fusec_value none = {0};

/* The values as the digits of a number. */
static double digits(fusec_context *ctx, fusec_value v, int n) {
    float out[24] = {0};
    double r = 0;
    FC_EXPECT_OK_TEXT(fusec_read(v, out, (size_t)n * sizeof *out), fusec_message(ctx));
    for (int i = 0; i < n; i++) r = 10 * r + (double)out[i];
    return r;
}

FC_TEST(capi_join, moved) {
    CAPI_START();
    const fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, data);
    const int64_t before[2] = {0, 1}, after[2] = {1, 0}, twice[2] = {1, 2};
    FC_EXPECT_EQ_F64(digits(ctx, fusec_pad(x, before, after, FUSEC_EDGE_ZERO, none), 12),
                     12304560000.0);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_pad(x, before, NULL, FUSEC_EDGE_ZERO, fusec_num(7)), 8),
                     71237456.0);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_pad(x, before, after, FUSEC_EDGE_WRAP, none), 12),
                     312364563123.0);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_roll(x, 1, -1), 6), 312645.0);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_tile(x, 2, twice), 12), 123123456456.0);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_repeat(x, 2, 0), 12), 123123456456.0);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_window(x, 2, 1, 1), 8), 12234556.0);
    CAPI_END();
}

/* 1 2 3 and 4 5 6 are two channels, and all filters are ones. */
FC_TEST(capi_join, convolved) {
    CAPI_START();
    const int64_t of[3] = {1, 2, 3}, all[3] = {1, 2, 2}, each[3] = {2, 1, 2}, one = 1, two = 2;
    static const float ones[4] = {1, 1, 1, 1};
    const fusec_value x = fusec_array(g, FUSEC_F32, 3, of, data);
    const fusec_value w = fusec_array(g, FUSEC_F32, 3, all, ones);
    const fusec_value d = fusec_array(g, FUSEC_F32, 3, each, ones);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_conv(x, w, NULL, NULL, NULL, NULL, 1), 2), 12 * 10 + 16.0);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_conv(x, d, NULL, &one, NULL, NULL, 2), 6),
                     135 * 1000 + 4 * 100 + 9 * 10 + 11.0);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_conv(x, w, &two, &one, &one, &two, 1), 2), 7 * 10 + 7.0);
    float out[8];
    FC_EXPECT_STATUS(fusec_read(fusec_conv(x, w, NULL, NULL, NULL, NULL, 2), out, sizeof out),
                     FUSEC_SHAPE_MISMATCH, NULL);
    CAPI_END();
}

FC_TEST(capi_join, joined) {
    CAPI_START();
    const fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, data);
    const fusec_value parts[2] = {x, fusec_slice(x, 1, 0, 1, 1)}, same[2] = {x, fusec_neg(x)};
    FC_EXPECT_EQ_F64(digits(ctx, fusec_concat(2, parts, 1), 8), 12314564.0);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_abs(fusec_stack(2, same, -1)), 12), 112233445566.0);
    const fusec_value bad = fusec_concat(2, parts, 0);
    float out[8];
    FC_EXPECT_EQ_I64(fusec_rank(bad), -1);
    FC_EXPECT_STATUS(fusec_read(bad, out, sizeof out), FUSEC_INPUT_SHAPE, NULL);
    CAPI_END();
}

FC_TEST(capi_join, indices) {
    CAPI_START();
    const int64_t three = 3, wide[2] = {2, 1}, two = 2;
    const int32_t index[3] = {2, 0, 2};
    const uint8_t column[2] = {1, 2};
    const fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, data);
    const fusec_value i = fusec_array(g, FUSEC_I32, 1, &three, index);
    const fusec_value c = fusec_array(g, FUSEC_U8, 2, wide, column);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_take(x, i, 1), 6), 313646.0);
    FC_EXPECT_EQ_F64(digits(ctx, fusec_take_along(x, c, -1), 2), 26.0);
    /* x[1 - i, i + j], wrapped */
    const fusec_dim size[2] = {fusec_size(g, two), fusec_size(g, three)};
    const fusec_dim start[2] = {fusec_size(g, 1), fusec_size(g, 0)};
    const fusec_edge edges[2] = {FUSEC_EDGE_NONE, FUSEC_EDGE_WRAP};
    const int64_t steps[4] = {-1, 0, 1, 1};
    FC_EXPECT_EQ_F64(digits(ctx, fusec_view(x, 2, size, start, edges, steps), 6), 456231.0);
    float out[9];
    fusec_status s = fusec_read(fusec_take(x, i, 0), out, sizeof out);
    FC_EXPECT_STATUS(s, FUSEC_INDEX_OUT_OF_RANGE, NULL);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "is 2");
    CAPI_END();
}

FC_TEST(capi_join, refused) {
    CAPI_START();
    const int64_t minus[2] = {-1, 0};
    static const char *const wanted[] = {
        "no negative size",
        "no edge mode",
        "a value is for the mode",
        "does not exist",
        "concat of arrays that differ",
        "is no array",
        "integer dtype",
    };
    for (size_t k = 0; k < FC_COUNT(wanted); k++) {
        float out[8];
        const fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, data);
        const fusec_value parts[2] = {
            x, fusec_reshape(x, 2, (fusec_dim[]){fusec_size(g, 3), fusec_size(g, 2)})};
        const fusec_value numbers[2] = {x, fusec_num(1)};
        fusec_value v = k == 0   ? fusec_pad(x, minus, NULL, FUSEC_EDGE_ZERO, none)
                        : k == 1 ? fusec_pad(x, NULL, NULL, (fusec_edge)9, none)
                        : k == 2 ? fusec_pad(x, NULL, NULL, FUSEC_EDGE_EDGE, fusec_num(1))
                        : k == 3 ? fusec_roll(x, 1, 2)
                        : k == 4 ? fusec_concat(2, parts, 0)
                        : k == 5 ? fusec_concat(2, numbers, 0)
                                 : fusec_take(x, x, 0);
        FC_EXPECT_EQ_I64(fusec_rank(v), -1);
        FC_EXPECT_TRUE(fusec_read(v, out, sizeof out) != FUSEC_OK);
        FC_EXPECT_CONTAINS(fusec_message(ctx), wanted[k]);
        fusec_graph_reset(g);
    }
    CAPI_END();
}
