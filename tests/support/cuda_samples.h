/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_samples.h - more samples (sample_kernels.h), for schedules that only the CUDA target has:
 * squares of turned loads, columns of several rows a thread. */
#ifndef FUSEC_TESTS_SUPPORT_CUDA_SAMPLES_H
#define FUSEC_TESTS_SUPPORT_CUDA_SAMPLES_H

#include "tests/support/sample_kernels.h"

extern const fc_sample fc_cuda_samples[];
extern const size_t fc_ncuda_samples;

#endif
