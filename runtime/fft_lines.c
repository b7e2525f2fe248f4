/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft_lines.c - the passes of fft_passes.h for each dtype and instruction set, and which one this
 * processor takes. No product and sum are contracted, so that all give the same bits. */
#include <string.h>

#include "runtime/fft_lines.h"

#define INLINE __attribute__((always_inline))
enum { BLOCK = 16 };

#define LANES  16
#define REAL   float
#define FN(fn) fn##_f32
#define TARGET
#define WIDTH (LANES / 4)
#include "runtime/fft_passes.h"
#undef FN
#undef TARGET
#undef WIDTH

#if defined(__x86_64__)
#define FN(fn) fn##_f32_avx2
#define TARGET __attribute__((target("avx2")))
#define WIDTH  (LANES / 2)
#include "runtime/fft_passes.h"
#undef FN
#undef TARGET
#undef WIDTH
#define FN(fn) fn##_f32_avx512
#define TARGET __attribute__((target("avx512f")))
#define WIDTH  LANES
#include "runtime/fft_passes.h"
#undef FN
#undef TARGET
#undef WIDTH
#endif
#undef REAL
#undef LANES

#define LANES  8
#define REAL   double
#define FN(fn) fn##_f64
#define TARGET
#define WIDTH (LANES / 4)
#include "runtime/fft_passes.h"
#undef FN
#undef TARGET
#undef WIDTH

#if defined(__x86_64__)
#define FN(fn) fn##_f64_avx2
#define TARGET __attribute__((target("avx2")))
#define WIDTH  (LANES / 2)
#include "runtime/fft_passes.h"
#undef FN
#undef TARGET
#undef WIDTH
#define FN(fn) fn##_f64_avx512
#define TARGET __attribute__((target("avx512f")))
#define WIDTH  LANES
#include "runtime/fft_passes.h"
#undef FN
#undef TARGET
#undef WIDTH
#endif

fc_fft_lines_fn *fc_fft_lines_of(fusec_dtype part) {
    const bool wide = part == FUSEC_F64;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return wide ? lines_f64_avx512 : lines_f32_avx512;
    if (__builtin_cpu_supports("avx2")) return wide ? lines_f64_avx2 : lines_f32_avx2;
#endif
    return wide ? lines_f64 : lines_f32;
}
