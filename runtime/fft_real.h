/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft_real.h - transforms of real lines and back to them, by complex ones of half the length; part
 * of a plan of fft.h. */
#ifndef FUSEC_RUNTIME_FFT_REAL_H
#define FUSEC_RUNTIME_FFT_REAL_H

#include "runtime/fft.h"

typedef struct fc_fft_real fc_fft_real;

/* t: the complex dtype; n: the length of a real line. */
fusec_status fc_fft_real_new(const fc_alloc *alloc, fusec_dtype t, int64_t n, fc_fft_real **out,
                             fc_error *e);
void fc_fft_real_free(fc_fft_real *p);
size_t fc_fft_real_room(const fc_fft_real *p, int64_t batch);
fusec_status fc_fft_real_run(const fc_fft_real *p, bool inverse, int64_t batch, const void *in,
                             void *out, void *room, const fc_fft_runner *r, fc_error *e);

#endif
