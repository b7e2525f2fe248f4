/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft_lines.h - between fft.c and fft_lines.c: transforms of a few lines at once in the cache. */
#ifndef FUSEC_RUNTIME_FFT_LINES_H
#define FUSEC_RUNTIME_FFT_LINES_H

#include "runtime/fft.h"

enum { FC_FFT_FACTORS = 48, FC_FFT_MOST_RADIX = 13 };

/* exp(-2 pi i k / n) for all k as products of two entries: low[k % step], high[k / step]. */
typedef struct fc_fft_roots {
    int64_t n, step;
    double *low, *high;
    void *table; /* of a short matrix: root k*l at k*across + l, pairs of the dtype of the parts */
    int64_t across;
} fc_fft_roots;
bool fc_fft_make_roots(const fc_alloc *alloc, int64_t n,
                       fc_fft_roots *r); /* false: no memory; r->low is to be freed */
void fc_fft_root(const fc_fft_roots *r, int64_t k, double z[2]);

/* The passes of a length that has small factors only. */
typedef struct fc_fft_line {
    int64_t n;
    unsigned nfactors;
    uint8_t factor[FC_FFT_FACTORS];
    uint16_t root_at[FC_FFT_FACTORS]; /* where the roots of an odd factor begin */
    void *twiddles, *roots;           /* pairs of the dtype of the parts */
} fc_fft_line;

/* Where lines stand, in complex elements, and what else is done to them. */
typedef struct fc_fft_lines {
    int64_t in_by, in_across, out_by, out_across;
    int64_t have;             /* lines, at most fc_fft_lanes */
    const fc_fft_roots *turn; /* element k of line l is multiplied by root k*(first + l) */
    int64_t first;
    bool inverse;
} fc_fft_lines;

typedef void fc_fft_lines_fn(const fc_fft_line *p, const fc_fft_lines *j, const void *in, void *out,
                             void *work);
/* The code for this processor. `work` holds 4 * n * lanes parts. */
fc_fft_lines_fn *fc_fft_lines_of(fusec_dtype part);
static inline int64_t fc_fft_lanes(fusec_dtype part) {
    return part == FUSEC_F64 ? 8 : 16;
}

#endif
