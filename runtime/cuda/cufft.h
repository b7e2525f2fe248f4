/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cufft.h - cuFFT, found at run time as NVRTC is: Fourier transforms of a device's memory.
 *
 * In: a length, a dtype, how many lines. Out: a plan, run on any stream. It is not there on every
 * machine with a GPU; then fc_cufft_open says what was looked for, and the CPU transforms. */
#ifndef FUSEC_RUNTIME_CUDA_CUFFT_H
#define FUSEC_RUNTIME_CUDA_CUFFT_H

#include "ir/dtype.h"
#include "ir/fft.h"
#include "runtime/compile/dynlib.h"

#define FC_CUFFT_FNS(X)                                                                            \
    X(int, version, "cufftGetVersion", (int *v), 1)                                                \
    X(int, create, "cufftCreate", (int *plan), 1)                                                  \
    X(int, own_memory, "cufftSetAutoAllocation", (int plan, int on), 1)                            \
    X(int, make, "cufftMakePlanMany64",                                                            \
      (int plan, int rank, long long *n, long long *in_shape, long long in_step, long long in_far, \
       long long *out_shape, long long out_step, long long out_far, int type, long long batch,     \
       size_t *room),                                                                              \
      1)                                                                                           \
    X(int, set_memory, "cufftSetWorkArea", (int plan, void *room), 1)                              \
    X(int, set_stream, "cufftSetStream", (int plan, void *stream), 1)                              \
    X(int, run_c64, "cufftExecC2C", (int plan, void *in, void *out, int direction), 1)             \
    X(int, run_c128, "cufftExecZ2Z", (int plan, void *in, void *out, int direction), 1)            \
    X(int, run_r2c, "cufftExecR2C", (int plan, void *in, void *out), 1)                            \
    X(int, run_d2z, "cufftExecD2Z", (int plan, void *in, void *out), 1)                            \
    X(int, run_c2r, "cufftExecC2R", (int plan, void *in, void *out), 1)                            \
    X(int, run_z2d, "cufftExecZ2D", (int plan, void *in, void *out), 1)                            \
    X(int, destroy, "cufftDestroy", (int plan), 1)
typedef struct fc_cufft_fns {
    FC_CUFFT_FNS(FC_DYN_FIELD)
} fc_cufft_fns;

typedef struct fc_cufft {
    const fc_alloc *alloc;
    fc_cufft_fns fn;
    fc_dynlib lib;
    int version; /* 12000: 12.0 */
} fc_cufft;

/* `places` as for NVRTC. False: why says what was looked for, or that memory ran out. */
bool fc_cufft_open(const fc_alloc *alloc, const char *places, fc_cufft **out, fc_str *why);
void fc_cufft_close(fc_cufft *f); /* NULL is fine */

/* The device's context is current for all of these. Plans of one library are used by one thread at
 * a time. t is the complex dtype, n the longer of both lengths. An FC_FFT_INVERSE_REAL writes into
 * its operand, too, and wants zeros where ir/fft.h takes them. */
fusec_status fc_cufft_plan(fc_cufft *f, fc_fft_kind kind, fusec_dtype t, int64_t n, int64_t batch,
                           int *plan, size_t *room, fc_error *e);
fusec_status fc_cufft_run(fc_cufft *f, int plan, fc_fft_kind kind, fusec_dtype t, void *stream,
                          void *in, void *out, void *room, fc_error *e);
void fc_cufft_drop(fc_cufft *f, int plan);

#endif
