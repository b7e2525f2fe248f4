/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ops_cast.c - every cast between two dtypes on special and random values, against a reference
 * that rounds exact values once; bit casts; storage formats. */
#include "ir/eval.h"
#include "tests/support/codebox.h"
#include "tests/support/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const fc_target_kind targets[] = {FC_TARGET_INTERP, FC_TARGET_CUDA, FC_TARGET_LLVM};

/* ---- reference: long double holds every value of every dtype ---------------------------- */

_Static_assert(LDBL_MANT_DIG >= 64, "the reference needs 64 bits of precision");

static long double exact_at(fusec_dtype t, const void *array, size_t i) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)array + i * fc_dtypes[t].bytes, fc_dtypes[t].bytes);
    const int drop = 64 - fc_dtypes[t].bits;
    if (fc_is_float(t)) return (long double)fc_const_value(t, bits);
    if (fc_is_signed(t)) return (long double)((int64_t)(bits << drop) >> drop);
    return (long double)bits;
}

/* To a format with `precision` bits, smallest exponent `least` (of the last place) and largest
 * value `top`. */
static long double rounded(long double v, int precision, int least, long double top) {
    int e;
    if (v == 0 || !isfinite(v)) return v;
    frexpl(v, &e);
    const int unit = e - precision > least ? e - precision : least;
    const long double r = ldexpl(rintl(ldexpl(v, -unit)), unit);
    return fabsl(r) > top ? copysignl(INFINITY, v) : r;
}

static long double wrapped(fusec_dtype t, long double v) {
    const long double all = ldexpl(1, fc_dtypes[t].bits);
    v = fmodl(v, all);
    if (v < 0) v += all;
    return fc_is_signed(t) && v >= all / 2 ? v - all : v;
}

static long double saturated(fusec_dtype t, long double v) {
    const bool sign = fc_is_signed(t);
    const long double end = ldexpl(1, fc_dtypes[t].bits - sign), start = sign ? -end : 0;
    if (isnan(v)) return 0;
    if (v >= end) return end - 1;
    return v <= start ? start : truncl(v) + 0.0L;
}

static long double reference(fusec_dtype from, fusec_dtype to, long double v) {
    switch (to) {
    case FUSEC_BOOL: return v != 0;
    case FUSEC_F16: return rounded(v, 11, -24, 65504);
    case FUSEC_BF16: return rounded(v, 8, -133, 0x1.fep127L);
    case FUSEC_F32: return rounded(v, 24, -149, 0x1.fffffep127L);
    case FUSEC_F64: return rounded(v, 53, -1074, 0x1.fffffffffffffp1023L);
    default: return fc_is_float(from) ? saturated(to, v) : wrapped(to, v);
    }
}

static bool same_value(fusec_dtype t, long double a, long double b) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b && (!fc_is_float(t) || !signbit(a) == !signbit(b));
}

/* ---- all pairs of dtypes ---------------------------------------------------------------- */

enum { randoms = 20000 };

/* Special values, then random bits: for floats with exponents that matter, for integers of every
 * length. */
static size_t inputs(fusec_dtype t, char *array) {
    size_t n = fc_box_specials(t, array);
    uint64_t random = 99;
    if (t == FUSEC_BOOL) return n;
    for (size_t k = 0; k < randoms; k++, n++) {
        random = fc_mix(random, k);
        uint64_t bits = random;
        if (fc_is_int(t)) bits = (uint64_t)((int64_t)random >> (k % 64));
        if (t == FUSEC_F64)
            bits = fc_const_bits(t, ldexp((double)(int64_t)random, (int)(k % 330) - 260));
        /* a few low bits only: next to a number with few digits */
        if (t == FUSEC_F64 && k % 2) bits = (bits >> 42 << 42) + (k % 7) - 3;
        if (fc_dtypes[t].bytes == 8 && fc_is_int(t) && k % 2)
            bits = (bits >> 16 << 16) + (k % 7) - 3;
        memcpy(array + n * fc_dtypes[t].bytes, &bits, fc_dtypes[t].bytes);
    }
    return n;
}

static void check_pair(fusec_dtype from, fusec_dtype to, size_t n, const char *in, char *out) {
    for (size_t k = 0; k < FC_COUNT(targets); k++) {
        if (!fc_box_op(FC_OP_CAST, from, to, targets[k], n, in, NULL, NULL, out)) return;
        for (size_t i = 0; i < n; i++) {
            const long double v = exact_at(from, in, i), got = exact_at(to, out, i);
            const long double wanted = reference(from, to, v);
            if (same_value(to, got, wanted)) continue;
            FC_FAIL("%s %La to %s is %La, not %La (target %d)", fc_dtypes[from].name, v,
                    fc_dtypes[to].name, got, wanted, (int)targets[k]);
            break;
        }
    }
}

/* The same through constants, which fold. */
static void check_folded(fusec_dtype from, fusec_dtype to, size_t n, const char *in) {
    for (size_t i = 0; i < n; i++) {
        uint64_t bits[3] = {0}, out = 0;
        memcpy(bits, in + i * fc_dtypes[from].bytes, fc_dtypes[from].bytes);
        if (!fc_fold(FC_OP_CAST, from, to, bits, &out)) {
            FC_FAIL("a cast of a constant does not fold");
            return;
        }
        const long double got = exact_at(to, &out, 0),
                          wanted = reference(from, to, exact_at(from, bits, 0));
        if (!same_value(to, got, wanted)) {
            FC_FAIL("%s %La to %s folds to %La", fc_dtypes[from].name, exact_at(from, bits, 0),
                    fc_dtypes[to].name, got);
            return;
        }
    }
}

static void check_casts_from(void *arg) {
    const fusec_dtype from = (fusec_dtype)(uintptr_t)arg;
    char *in = malloc((FC_BOX_SPECIALS + randoms) * 8),
         *out = malloc((FC_BOX_SPECIALS + randoms) * 8);
    const size_t n = inputs(from, in);
    for (int to = 0; to < FC_DTYPE_COUNT; to++) {
        if (to == (int)from) continue;
        check_pair(from, (fusec_dtype)to, n, in, out);
        check_folded(from, (fusec_dtype)to, n < 200 ? n : 200, in);
    }
    free(in);
    free(out);
}

FC_REGISTER(casts) {
    for (uintptr_t t = 0; t < FC_DTYPE_COUNT; t++)
        FC_ADD_TEST("ops_cast", fc_dtypes[t].name, check_casts_from, t);
}

/* All f16 and bf16 values survive the way through the wider ones. */
FC_TEST(ops_cast, halves_widen_exactly) {
    static uint16_t in[65536], out[65536];
    static double wide[65536];
    for (size_t k = 0; k < 65536; k++) in[k] = (uint16_t)k;
    for (int t = FUSEC_F16; t <= FUSEC_BF16; t++) {
        const fusec_dtype h = (fusec_dtype)t;
        FC_ASSERT_TRUE(
            fc_box_op(FC_OP_CAST, h, FUSEC_F64, FC_TARGET_LLVM, 65536, in, NULL, NULL, wide));
        FC_ASSERT_TRUE(
            fc_box_op(FC_OP_CAST, FUSEC_F64, h, FC_TARGET_LLVM, 65536, wide, NULL, NULL, out));
        for (size_t k = 0; k < 65536; k++)
            if (!isnan(wide[k])) FC_ASSERT_EQ_U64(out[k], in[k]);
    }
}

FC_TEST(ops_cast, the_documented_example) {
    const int32_t in = 1077936129; /* 2^30 + 2^22 + 1 */
    uint16_t out;
    for (size_t k = 0; k < FC_COUNT(targets); k++) {
        FC_ASSERT_TRUE(
            fc_box_op(FC_OP_CAST, FUSEC_I32, FUSEC_BF16, targets[k], 1, &in, NULL, NULL, &out));
        FC_EXPECT_EQ_F64((double)fc_bf16_to_float(out), 1082130432);
    }
}

/* ---- bits ------------------------------------------------------------------------------- */

FC_TEST(ops_cast, bitcasts) {
    static const struct {
        fusec_dtype from, to;
    } rows[] = {{FUSEC_I8, FUSEC_U8},    {FUSEC_U16, FUSEC_I16},  {FUSEC_F16, FUSEC_U16},
                {FUSEC_I16, FUSEC_BF16}, {FUSEC_F16, FUSEC_BF16}, {FUSEC_F32, FUSEC_I32},
                {FUSEC_U32, FUSEC_F32},  {FUSEC_F64, FUSEC_U64},  {FUSEC_I64, FUSEC_F64}};
    const uint16_t in[8] = {0x3c00, 0x8000, 0x0001, 0x7bff, 0xfbff, 0x7c00, 0x3555, 0x0080};
    uint16_t out[8];
    for (size_t k = 0; k < FC_COUNT(rows); k++) {
        const size_t n = sizeof in / fc_dtypes[rows[k].from].bytes;
        FC_ASSERT_TRUE(fc_box_op(FC_OP_BITCAST, rows[k].from, rows[k].to, FC_TARGET_INTERP, n, in,
                                 NULL, NULL, out));
        FC_EXPECT_MEMEQ(in, out, sizeof in);
    }
}

FC_TEST(ops_cast, strided_storage) {
    const uint8_t bools[4] = {0, 7, 0, 1};
    uint8_t flags[4];
    fc_eval_load(FUSEC_BOOL, 4, bools, 1, flags);
    FC_EXPECT_MEMEQ(flags, ((uint8_t[]){0, 1, 0, 1}), 4);
    const int32_t in[6] = {1, 2, 3, 4, 5, 6};
    int32_t block[3], out[6] = {0};
    fc_eval_load(FUSEC_I32, 3, in + 5, -2, block);
    FC_EXPECT_MEMEQ(block, ((int32_t[]){6, 4, 2}), sizeof block);
    fc_eval_store(FUSEC_I32, 3, block, out, 2);
    FC_EXPECT_MEMEQ(out, ((int32_t[]){6, 0, 4, 0, 2, 0}), sizeof out);
    fc_eval_load(FUSEC_I32, 3, in + 1, 0, block); /* a broadcast */
    FC_EXPECT_MEMEQ(block, ((int32_t[]){2, 2, 2}), sizeof block);
    const uint16_t halves[2] = {0x3c00, 0xc000};
    float values[2];
    fc_eval_load(FUSEC_F16, 2, halves, 1, values);
    FC_EXPECT_EQ_F64((double)values[0], 1);
    FC_EXPECT_EQ_F64((double)values[1], -2);
}
