/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft.h - Fourier transforms of arrays in host memory, along the last axis.
 *
 *     X[k] = sum_j x[j] exp(-2 pi i j k / n)      inverse: exp(+2 pi i j k / n), not divided by n
 *
 * In: the length, a dtype. Out: a plan, which is not changed by its use and may be used by several
 * threads. Lengths whose prime factors are at most 13 are done by Stockham passes, long ones in two
 * sweeps over the data (as a matrix, columns first), others by Bluestein's algorithm as a
 * convolution of a power of two. The result does not depend on the number of threads, the batch, or
 * the vector width.
 *
 * Transforms of real lines give elements 0 to n/2; their inverse takes these, whose elements 0 and
 * n/2 (n even) count as real, and gives n real ones. They cost half of a complex one (fft_real.h).
 */
#ifndef FUSEC_RUNTIME_FFT_H
#define FUSEC_RUNTIME_FFT_H

#include "ir/base.h"
#include "ir/dtype.h"

typedef struct fc_fft fc_fft;

/* Runs body(arg, begin, end) over [0, units), on threads or at once. */
typedef fusec_status fc_fft_body(void *arg, int64_t begin, int64_t end, fc_error *e);
typedef struct fc_fft_runner {
    fusec_status (*run)(void *user, int64_t units, fc_fft_body *body, void *arg, fc_error *e);
    void *user;
} fc_fft_runner;

extern const fc_fft_runner fc_fft_at_once;

/* t is FUSEC_C64 or FUSEC_C128; n > 0. `real`: between n real elements and n/2 + 1 complex ones. */
fusec_status fc_fft_new(const fc_alloc *alloc, fusec_dtype t, int64_t n, bool real, fc_fft **out,
                        fc_error *e);
void fc_fft_free(fc_fft *p);
/* `batch` lines, one behind the other. in and out are apart. `room`: fc_fft_room
 * bytes, or NULL: they are allocated for the time. */
size_t fc_fft_room(const fc_fft *p, int64_t batch);
fusec_status fc_fft_run(const fc_fft *p, bool inverse, int64_t batch, const void *in, void *out,
                        void *room, const fc_fft_runner *runner, fc_error *e);

#endif
