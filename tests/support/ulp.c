/* ulp.c - see ulp.h. */
#include "tests/support/ulp.h"

#include <math.h>

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

double fc_ulps(fusec_dtype t, double got, long double exact) {
    const format *f = &formats[t];
    if (isnan(got) || isnan(exact)) return isnan(got) && isnan(exact) ? 0 : INFINITY;
    if (isinf(exact)) return (long double)got == exact ? 0 : INFINITY;
    if (exact == 0) {
        if (got == 0) return !signbit(got) == !signbit(exact) ? 0 : INFINITY;
        return (double)(fabsl(got) / ldexpl(1, f->low + 1 - f->digits));
    }
    int e;
    frexpl(exact, &e);
    const long double last = ldexpl(1, (e <= f->low ? f->low + 1 : e) - f->digits);
    if (!isinf(got)) return (double)(fabsl(got - exact) / last);
    const long double next = ldexpl(1, f->end); /* infinity counts as the next number */
    if ((got > 0) != (exact > 0)) return INFINITY;
    return fabsl(exact) >= next ? 0 : (double)((next - fabsl(exact)) / last);
}
