/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_dtype.c - the table of dtypes, and the conversions of f16 and bf16 against arithmetic that
 * shares nothing with them: a value is made with ldexp from its fields, and the nearest value is
 * found by comparing distances to neighbours. */
#include "tests/support/test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/dtype.h"

typedef struct format {
    const char *name;
    int mant, expo;
    float (*widen)(uint16_t);
    uint16_t (*narrow)(double);
} format;

static const format formats[] = {
    {"f16", 10, 5, fc_half_to_float, fc_double_to_half},
    {"bf16", 7, 8, fc_bf16_to_float, fc_double_to_bf16},
};

static uint16_t inf_of(const format *f) {
    return (uint16_t)(((1 << f->expo) - 1) << f->mant);
}

/* The value of the bits h without sign, finite; infinity counts as the next number after the
 * largest, which is how rounding sees it. */
static double value_of(const format *f, uint16_t h) {
    int expo = h >> f->mant, frac = h & ((1 << f->mant) - 1), bias = (1 << (f->expo - 1)) - 1;
    if (expo == 0) return ldexp(frac, 1 - bias - f->mant);
    return ldexp((1 << f->mant) + frac, expo - bias - f->mant);
}

static void widens(void *arg) {
    const format *f = arg;
    for (uint32_t h = 0; h < 0x10000; h++) {
        uint16_t low = h & 0x7fff;
        float got = f->widen((uint16_t)h);
        if (low > inf_of(f)) {
            FC_ASSERT_TRUE(isnan(got));
            continue;
        }
        double wanted = low == inf_of(f) ? (double)INFINITY : value_of(f, low);
        FC_ASSERT_EQ_F64((double)got, h & 0x8000 ? -wanted : wanted);
    }
}

static void round_trips(void *arg) {
    const format *f = arg;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float wide = f->widen((uint16_t)h);
        uint16_t back = f->narrow((double)wide);
        if (isnan(wide)) {
            FC_ASSERT_TRUE((back & 0x7fff) > inf_of(f));
        } else {
            FC_ASSERT_EQ_U64(back, h);
        }
    }
}

/* Every pair of neighbours: the middle goes to the even one, the doubles beside it to the nearer
 * one. */
static void rounds_to_nearest_even(void *arg) {
    const format *f = arg;
    for (uint16_t h = 0; h < inf_of(f); h++) {
        double lo = value_of(f, h), hi = value_of(f, (uint16_t)(h + 1)), mid = (lo + hi) / 2;
        uint16_t even = h & 1 ? (uint16_t)(h + 1) : h;
        FC_ASSERT_EQ_U64(f->narrow(mid), even);
        FC_ASSERT_EQ_U64(f->narrow(nextafter(mid, -INFINITY)), h);
        FC_ASSERT_EQ_U64(f->narrow(nextafter(mid, INFINITY)), h + 1u);
        FC_ASSERT_EQ_U64(f->narrow(nextafter(lo, INFINITY)), h);
        FC_ASSERT_EQ_U64(f->narrow(nextafter(hi, 0)), h + 1u);
        FC_ASSERT_EQ_U64(f->narrow(-mid), even | 0x8000u);
    }
}

static void edges(void *arg) {
    const format *f = arg;
    uint16_t inf = inf_of(f);
    FC_EXPECT_EQ_U64(f->narrow(0.0), 0);
    FC_EXPECT_EQ_U64(f->narrow(-0.0), 0x8000);
    FC_EXPECT_EQ_U64(f->narrow(INFINITY), inf);
    FC_EXPECT_EQ_U64(f->narrow(-INFINITY), inf | 0x8000u);
    FC_EXPECT_EQ_U64(f->narrow(DBL_MAX), inf);
    FC_EXPECT_EQ_U64(f->narrow(-DBL_MAX), inf | 0x8000u);
    FC_EXPECT_EQ_U64(f->narrow(DBL_MIN), 0);
    FC_EXPECT_EQ_U64(f->narrow(-DBL_TRUE_MIN), 0x8000);
    FC_EXPECT_TRUE((f->narrow(NAN) & 0x7fff) > inf);
    /* A signalling nan whose payload lies below the kept bits must not turn into infinity. */
    uint64_t bits = 0x7ff0000000000001u;
    double snan;
    memcpy(&snan, &bits, sizeof snan);
    FC_EXPECT_TRUE((f->narrow(snan) & 0x7fff) > inf);
}

FC_REGISTER(formats) {
    for (size_t i = 0; i < FC_COUNT(formats); i++) {
        char name[64];
        const struct {
            const char *what;
            fc_test_fn fn;
        } rows[] = {{"widens", widens},
                    {"round_trips", round_trips},
                    {"rounds_to_nearest_even", rounds_to_nearest_even},
                    {"edges", edges}};
        for (size_t k = 0; k < FC_COUNT(rows); k++) {
            snprintf(name, sizeof name, "%s_%s", formats[i].name, rows[k].what);
            FC_ADD_TEST("dtype", name, rows[k].fn, &formats[i]);
        }
    }
}

/* Rounding to f32 on the way would give the even neighbour of a tie that was none. */
FC_TEST(dtype, one_rounding) {
    double above = 1 + ldexp(1, -11) + ldexp(1, -40);
    FC_EXPECT_EQ_U64(fc_double_to_half(above), 0x3c01);
    FC_EXPECT_EQ_U64(fc_double_to_bf16(1 + ldexp(1, -8) + ldexp(1, -40)), 0x3f81);
}

FC_TEST(dtype, table) {
    static const int bytes[FC_DTYPE_COUNT] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
    for (int t = 0; t < FC_DTYPE_COUNT; t++) {
        const fc_dtype_info *d = &fc_dtypes[t];
        FC_TRACE("%s", d->name);
        FC_EXPECT_EQ_I64(d->bytes, bytes[t]);
        FC_EXPECT_EQ_I64(d->bits, t == FUSEC_BOOL ? 1 : 8 * bytes[t]);
        FC_EXPECT_EQ_I64(d->compute, fc_is_half((fusec_dtype)t) ? FUSEC_F32 : t);
        if (d->npy != NULL) FC_EXPECT_EQ_I64(d->npy[2] - '0', bytes[t]);
        FC_UNTRACE();
    }
    FC_EXPECT_TRUE(fc_is_int(FUSEC_U8) && !fc_is_int(FUSEC_BOOL) && !fc_is_int(FUSEC_F16));
    FC_EXPECT_TRUE(fc_is_signed(FUSEC_I64) && fc_is_unsigned(FUSEC_U64) && fc_is_float(FUSEC_BF16));
}

FC_TEST(dtype, by_name) {
    for (int t = 0; t < FC_DTYPE_COUNT; t++) {
        fusec_dtype found = (fusec_dtype)FC_DTYPE_COUNT;
        FC_EXPECT_TRUE(fc_dtype_by_name(fc_dtypes[t].name, strlen(fc_dtypes[t].name), &found));
        FC_EXPECT_EQ_I64(found, t);
        const char *long_name = fc_dtypes[t].long_name;
        FC_EXPECT_TRUE(fc_dtype_by_name(long_name, strlen(long_name), &found));
        FC_EXPECT_EQ_I64(found, t);
    }
    fusec_dtype found = FUSEC_F64;
    FC_EXPECT_FALSE(fc_dtype_by_name("f128", 4, &found));
    FC_EXPECT_FALSE(fc_dtype_by_name("f3", 2, &found));
    FC_EXPECT_FALSE(fc_dtype_by_name("", 0, &found));
    FC_EXPECT_TRUE(fc_dtype_by_name("f32x", 3, &found));
    FC_EXPECT_EQ_I64(found, FUSEC_F32);
}
