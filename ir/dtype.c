/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dtype.c - the table of element types and the conversions of the 16-bit floating-point formats.
 *
 * In: values and names. Out: rows of dtypes.def and storage bits. The conversions work on bits
 * alone: they round to nearest even once, keep subnormals, infinities and the sign of zero, and do
 * not depend on the rounding or flush-to-zero mode of the thread. */
#include "ir/dtype.h"

const fc_dtype_info fc_dtypes[FC_DTYPE_ALL] = {
#define DTYPE(number, id, name, numpy, npy, kind, bytes, bits, compute, cuda, llvm, c)             \
    [FUSEC_##id] = {name, numpy, npy, FC_KIND_##kind, bytes, bits, FUSEC_##compute, cuda, llvm, c},
#include "ir/dtypes.def"
#undef DTYPE
};

/* The public header says the same numbers. */
#define DTYPE(number, id, ...)                                                                     \
    _Static_assert(FUSEC_##id == (number) && (number) < FC_DTYPE_ALL, #id);
#include "ir/dtypes.def"
#undef DTYPE

static bool is_name(const char *name, size_t len, const char *of) {
    return strlen(of) == len && memcmp(name, of, len) == 0;
}

bool fc_dtype_by_name(const char *name, size_t len, fusec_dtype *out) {
    for (int t = 0; t < FC_DTYPE_ALL; t++) {
        const fc_dtype_info *d = &fc_dtypes[t];
        if (!is_name(name, len, d->name) && !is_name(name, len, d->long_name)) continue;
        *out = (fusec_dtype)t;
        return true;
    }
    return false;
}

/* Rounds a binary64 to a format of 16 bits with `mant` fraction bits.
 *
 * Exponent field and fraction lie side by side, so a carry out of the fraction steps into the next
 * binade, and from the largest finite number into infinity, without a special case. A nan keeps the
 * top of its payload and becomes quiet. */
static uint16_t narrow16(double v, int mant) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const int expo = 15 - mant, bias = (1 << (expo - 1)) - 1, top = (1 << expo) - 1;
    const uint16_t sign = (uint16_t)(bits >> 63 << 15), inf = (uint16_t)(top << mant);
    const int e = (int)(bits >> 52 & 0x7ff) - 1023 + bias; /* exponent field in the narrow format */
    uint64_t frac = bits & (((uint64_t)1 << 52) - 1);
    if ((bits >> 52 & 0x7ff) == 0x7ff) {
        if (frac == 0) return sign | inf;
        return (uint16_t)(sign | inf | 1u << (mant - 1) | (unsigned)(frac >> (52 - mant)));
    }
    if (e >= top) return sign | inf;
    int drop = 52 - mant; /* low bits to round away */
    uint64_t whole = frac;
    if (e > 0) {
        whole |= (uint64_t)e << 52;
    } else { /* subnormal: the implicit bit becomes an ordinary one */
        drop += 1 - e;
        if (drop > 54) return sign; /* below half of the smallest, binary64 subnormals included */
        whole |= (uint64_t)1 << 52;
    }
    uint64_t kept = whole >> drop, rest = whole & (((uint64_t)1 << drop) - 1);
    uint64_t half = (uint64_t)1 << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    return (uint16_t)(sign | kept);
}

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

float fc_half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, expo = h >> 10 & 0x1f, frac = h & 0x3ff;
    if (expo == 0x1f) /* a nan becomes a quiet one, as in hardware */
        return float_of(sign | 0x7f800000u | (frac ? 0x400000u : 0) | frac << 13);
    if (expo != 0) return float_of(sign | (expo + 112) << 23 | frac << 13);
    if (frac == 0) return float_of(sign);
    int shift = __builtin_clz(frac) - 21; /* brings the leading one to bit 10 */
    return float_of(sign | (uint32_t)(113 - shift) << 23 | (frac << shift & 0x3ff) << 13);
}

uint16_t fc_double_to_half(double v) {
    return narrow16(v, 10);
}

float fc_bf16_to_float(uint16_t h) {
    return float_of((uint32_t)h << 16);
}

uint16_t fc_double_to_bf16(double v) {
    return narrow16(v, 7);
}
