/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* made.c - generators of input data; what each gives is written down in made.h. */
#include "frontend/cli/made.h"

#include <math.h>

#include "ir/philox.h"

const char *const fc_maker_names[FC_MAKER_COUNT] = {"rand", "randn", "zeros", "ones", "iota"};

/* Words are made a piece at a time, so that they stay in the first cache until they are used. */
#define PIECE 4096

/* `words` gets blocks first, first + 1, ... */
static void words_from(uint64_t seed, uint64_t first, size_t blocks, uint32_t *words) {
    for (size_t i = 0; i < blocks; i++) {
        fc_philox_block(first + i, seed, 0, words + 4 * i);
    }
}

/* ---- normal numbers, without the math library: the same bits everywhere --------------------- */

/* Natural logarithm of an integer from 1 to 2^32 divided by 2^32: exponent, then the series of
 * 2 artanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)), good to 1e-15. */
static inline double log_of(uint64_t n) {
    double x = (double)n;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t exponent = (int64_t)(bits >> 52) - 1023 - 32;
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    int64_t high = bits >= 0x3ff6a09e667f3bcdu; /* at least sqrt(2): halve */
    bits -= (uint64_t)high << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    double t = (m - 1) / (m + 1), t2 = t * t, s = 1.0 / 21;
    s = s * t2 + 1.0 / 19;
    s = s * t2 + 1.0 / 17;
    s = s * t2 + 1.0 / 15;
    s = s * t2 + 1.0 / 13;
    s = s * t2 + 1.0 / 11;
    s = s * t2 + 1.0 / 9;
    s = s * t2 + 1.0 / 7;
    s = s * t2 + 1.0 / 5;
    s = s * t2 + 1.0 / 3;
    return (double)(exponent + high) * 0.69314718055994530942 + 2 * t * (1 + t2 * s);
}

/* Cosine and sine of 2 pi v / 2^32: the octant is exact, the rest a Taylor series on
 * [-pi/4, pi/4]. */
static inline void turn(uint32_t v, double *cosine, double *sine) {
    uint32_t quarter = (v + 0x20000000u) >> 30;
    int32_t rest = (int32_t)(v - (quarter << 30)); /* in [-2^29, 2^29) */
    double x = (double)rest * (6.28318530717958647693 / 4294967296.0), x2 = x * x;
    double s = -1.0 / 1307674368000.0, c = -1.0 / 87178291200.0;
    s = s * x2 + 1.0 / 6227020800.0;
    c = c * x2 + 1.0 / 479001600;
    s = s * x2 - 1.0 / 39916800;
    c = c * x2 - 1.0 / 3628800;
    s = s * x2 + 1.0 / 362880;
    c = c * x2 + 1.0 / 40320;
    s = s * x2 - 1.0 / 5040;
    c = c * x2 - 1.0 / 720;
    s = s * x2 + 1.0 / 120;
    c = c * x2 + 1.0 / 24;
    s = s * x2 - 1.0 / 6;
    c = c * x2 - 0.5;
    s = s * x2 + 1;
    c = c * x2 + 1;
    s *= x;
    double a = quarter & 1 ? s : c, b = quarter & 1 ? c : s;
    *cosine = quarter == 1 || quarter == 2 ? -a : a;
    *sine = quarter >= 2 ? -b : b;
}

static void normals(const uint32_t *words, size_t n, double *out) {
    for (size_t i = 0; i < n; i += 2) {
        double r = sqrt(-2 * log_of((uint64_t)words[i] + 1)), c, s;
        turn(words[i + 1], &c, &s);
        out[i] = r * c;
        out[i + 1] = r * s;
    }
}

/* ---- one piece ------------------------------------------------------------------------------- */

static void store_normals(fusec_dtype t, const double *v, size_t n, void *out) {
    for (size_t i = 0; i < n; i++) {
        switch (t) {
        case FUSEC_F16: ((uint16_t *)out)[i] = fc_double_to_half(v[i]); break;
        case FUSEC_BF16: ((uint16_t *)out)[i] = fc_double_to_bf16(v[i]); break;
        case FUSEC_F32: ((float *)out)[i] = (float)v[i]; break;
        default: ((double *)out)[i] = v[i]; break;
        }
    }
}

static void store_uniform(fusec_dtype t, const uint32_t *w, size_t n, void *out) {
    uint8_t *u8 = out;
    uint16_t *u16 = out;
    uint32_t *u32 = out;
    uint64_t *u64 = out;
    switch (t) {
    case FUSEC_F16:
        for (size_t i = 0; i < n; i++) u16[i] = fc_double_to_half((double)(w[i] >> 21) * 0x1p-11);
        return;
    case FUSEC_BF16:
        for (size_t i = 0; i < n; i++) u16[i] = fc_double_to_bf16((double)(w[i] >> 24) * 0x1p-8);
        return;
    case FUSEC_F32:
        for (size_t i = 0; i < n; i++) ((float *)out)[i] = (float)(w[i] >> 8) * 0x1p-24f;
        return;
    case FUSEC_F64:
        for (size_t i = 0; i < n; i++) {
            uint64_t draw = w[2 * i] | (uint64_t)w[2 * i + 1] << 32;
            ((double *)out)[i] = (double)(draw >> 11) * 0x1p-53;
        }
        return;
    case FUSEC_BOOL:
        for (size_t i = 0; i < n; i++) u8[i] = (uint8_t)(w[i] >> 31);
        return;
    default: break;
    }
    /* 0 to 99 has the same bytes in the signed and the unsigned type. */
    for (size_t i = 0; i < n; i++) {
        uint32_t v = (uint32_t)((uint64_t)w[i] * 100 >> 32);
        switch (fc_dtypes[t].bytes) {
        case 1: u8[i] = (uint8_t)v; break;
        case 2: u16[i] = (uint16_t)v; break;
        case 4: u32[i] = v; break;
        default: u64[i] = v; break;
        }
    }
}

static void store_counted(fusec_dtype t, uint64_t first, uint64_t step, size_t n, void *out) {
    for (size_t i = 0; i < n; i++) {
        uint64_t v = first + i * step;
        switch (t) {
        case FUSEC_BOOL: ((uint8_t *)out)[i] = v != 0; break;
        case FUSEC_I8:
        case FUSEC_U8: ((uint8_t *)out)[i] = (uint8_t)v; break;
        case FUSEC_I16:
        case FUSEC_U16: ((uint16_t *)out)[i] = (uint16_t)v; break;
        case FUSEC_I32:
        case FUSEC_U32: ((uint32_t *)out)[i] = (uint32_t)v; break;
        case FUSEC_F16: ((uint16_t *)out)[i] = fc_double_to_half((double)v); break;
        case FUSEC_BF16: ((uint16_t *)out)[i] = fc_double_to_bf16((double)v); break;
        case FUSEC_F32: ((float *)out)[i] = (float)v; break;
        case FUSEC_F64: ((double *)out)[i] = (double)v; break;
        default: ((uint64_t *)out)[i] = v; break;
        }
    }
}

static void make_piece(fc_maker maker, fusec_dtype t, uint64_t seed, uint64_t at, size_t n,
                       void *out) {
    uint32_t words[2 * PIECE];
    double pairs[PIECE];
    if (maker == FC_MAKE_IOTA || maker == FC_MAKE_ONES) {
        store_counted(t, maker == FC_MAKE_IOTA ? at : 1, maker == FC_MAKE_IOTA, n, out);
        return;
    }
    /* `at` is a multiple of PIECE, hence of the elements in a block. */
    bool wide = t == FUSEC_F64 && maker == FC_MAKE_RAND;
    size_t per_block = wide ? 2 : 4;
    words_from(seed, at / per_block, (n + per_block - 1) / per_block, words);
    if (maker == FC_MAKE_RAND) {
        store_uniform(t, words, n, out);
    } else {
        normals(words, n, pairs);
        store_normals(t, pairs, n, out);
    }
}

/* Complex numbers: random parts one after the other; what is counted is real. */
static fusec_status make_parts(fc_maker maker, fusec_dtype t, uint64_t seed, int64_t count,
                               void *out, fc_error *e) {
    const bool counted = maker == FC_MAKE_IOTA || maker == FC_MAKE_ONES;
    if (!counted) return fc_make(maker, fc_part_dtype(t), seed, 2 * count, out, e);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t v = maker == FC_MAKE_IOTA ? (uint64_t)i : 1;
        char *at = (char *)out + (size_t)i * fc_dtypes[t].bytes;
        memset(at, 0, fc_dtypes[t].bytes);
        store_counted(fc_part_dtype(t), v, 0, 1, at);
    }
    return FUSEC_OK;
}

fusec_status fc_make(fc_maker maker, fusec_dtype dtype, uint64_t seed, int64_t count, void *out,
                     fc_error *e) {
    size_t size = fc_dtypes[dtype].bytes;
    if (fc_is_complex(dtype)) return make_parts(maker, dtype, seed, count, out, e);
    if (maker == FC_MAKE_RANDN && !fc_is_float(dtype))
        return fc_fail(e, FUSEC_INPUT_DTYPE,
                       "randn makes floats, not %s\n  help: rand makes integers from 0 to 99",
                       fc_dtypes[dtype].name);
    if (maker == FC_MAKE_ZEROS) {
        memset(out, 0, (size_t)count * size);
        return FUSEC_OK;
    }
    for (int64_t at = 0; at < count; at += PIECE) {
        size_t n = count - at < PIECE ? (size_t)(count - at) : PIECE;
        make_piece(maker, dtype, seed, (uint64_t)at, n, (char *)out + (size_t)at * size);
    }
    return FUSEC_OK;
}
