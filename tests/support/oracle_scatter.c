/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle_scatter.c - what an element becomes that takes several values in: docs/semantics.md 6.6,
 * written with integers of 128 bits and one rounding at the end. */
#include "tests/support/oracle.h"

#include <math.h>

__extension__ typedef __int128 fc_i128;
__extension__ typedef unsigned __int128 fc_u128;

/* ---- sums of floats on a grid ---------------------------------------------------------------- */

/* m * 2^e rounded once, to nearest even. */
static uint64_t rounded(fusec_dtype t, fc_i128 m, int e) {
    const bool minus = m < 0;
    fc_u128 u = minus ? -(fc_u128)m : (fc_u128)m;
    const int keep = t == FUSEC_F64 ? 62 : 50; /* bits, the last of them a sticky one */
    bool more = false;
    while (u >> keep) {
        more |= u & 1;
        u >>= 1;
        e++;
    }
    const uint64_t bits = (uint64_t)u | more;
    if (t == FUSEC_F64) {
        const double v = (double)ldexpl((long double)bits, e);
        return fc_o_bits(t, minus ? -v : v);
    }
    const double v = ldexp((double)bits, e);
    return fc_o_bits(t, minus && bits ? -v : v);
}

static int bit_length(uint64_t v) {
    int n = 0;
    for (; v; v >>= 1) n++;
    return n;
}

uint64_t fc_o_grid_sum(fusec_dtype t, uint64_t base, const double *x, int64_t count, int64_t n) {
    const bool wide = t == FUSEC_F64;
    const int least = wide ? -1022 : -126;
    const int length = bit_length((uint64_t)n + 1), b = 62 - length < 51 ? 62 - length : 51;
    const double old = fc_o_value(t, base);
    bool nan = isnan(old), up = old == INFINITY, down = old == -INFINITY;
    int e = least, exponent;
    fc_i128 sum = 0;
    if (!count) return base;
    for (int64_t i = -1; i < count; i++) {
        const double v = i < 0 ? old : x[i];
        nan |= isnan(v);
        up |= v == INFINITY;
        down |= v == -INFINITY;
        if (!isfinite(v) || v == 0) continue;
        frexp(v, &exponent); /* 2^(exponent - 1) <= |v| < 2^exponent */
        if (exponent - 1 > e) e = exponent - 1;
    }
    if (nan || (up && down)) return fc_o_bits(t, NAN);
    if (up || down) return fc_o_bits(t, up ? INFINITY : -INFINITY);
    for (int64_t i = -1; i < count; i++) {
        const double v = i < 0 ? old : x[i], y = ldexp(v, b - 1 - e), near = nearbyint(y);
        sum += (fc_i128)near * ((fc_i128)1 << b);
        if (wide) sum += (fc_i128)nearbyint(ldexp(y - near, b));
    }
    return rounded(t, sum, e + 1 - 2 * b);
}
