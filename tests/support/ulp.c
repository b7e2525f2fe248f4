/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ulp.c - see ulp.h. */
#include "tests/support/ulp.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct format {
    int digits, low; /* 2^low is the smallest normal number */
    int end;         /* 2^end is the first that is too large */
} format;

static const format formats[] = {
    [FUSEC_F16] = {11, -14, 16},
    [FUSEC_BF16] = {8, -126, 128},
    [FUSEC_F32] = {24, -126, 128},
    [FUSEC_F64] = {53, -1022, 1024},
};

/* 2^e for e from -1074 to 1023. */
static double power(int e) {
    const uint64_t bits = e >= -1022 ? (uint64_t)(e + 1023) << 52 : (uint64_t)1 << (e + 1074);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* As frexpl has it, for v that is not 0; below -1021 something below that. Most of the time of some
 * tests would go into the C library's functions for long double. */
static int exponent(long double v) {
    const double near = (double)fabsl(v);
    uint64_t bits;
    int e;
    memcpy(&bits, &near, sizeof bits);
    e = (int)(bits >> 52) - 1022;
    if (e == 0x7ff - 1022)
        (void)frexpl(v, &e);
    else if (fabsl(v) < (long double)power(e - 1)) /* v was rounded up */
        e--;
    return e;
}

double fc_ulps(fusec_dtype t, double got, long double exact) {
    const format *f = &formats[t];
    if (isnan(got) || isnan(exact)) return isnan(got) && isnan(exact) ? 0 : INFINITY;
    if (isinf(exact)) return (long double)got == exact ? 0 : INFINITY;
    if (exact == 0) {
        if (got == 0) return !signbit(got) == !signbit(exact) ? 0 : INFINITY;
        return (double)(fabsl(got) / power(f->low + 1 - f->digits));
    }
    const int e = exponent(exact);
    const int place = (e <= f->low ? f->low + 1 : e) - f->digits;
    const bool usual = place >= -1022 && place <= 1022; /* multiplies, which is quicker */
    const long double in_last = usual ? (long double)power(-place) : 1 / ldexpl(1, place);
    if (!isinf(got)) return (double)(fabsl(got - exact) * in_last);
    const long double next = ldexpl(1, f->end); /* infinity counts as the next number */
    if ((got > 0) != (exact > 0)) return INFINITY;
    return fabsl(exact) >= next ? 0 : (double)((next - fabsl(exact)) * in_last);
}
