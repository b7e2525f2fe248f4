/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_cuda.h - what a test says to, and asks of, the CUDA driver and NVRTC made in the other
 * files.
 *
 * The library is found as the real ones are, by FUSEC_LIBCUDA_PATH and FUSEC_NVRTC_PATH, so the
 * whole path from dlopen on is the product's. A test in the same process reaches the controls
 * through the symbol "fake_cuda_control"; a command in another one is told by the environment:
 *
 *     FAKE_CUDA_VERSION=11000     what the driver says it is
 *     FAKE_CUDA_DEVICES=0         how many devices there are
 *     FAKE_CUDA_EXECUTE=1         kernels run, on the host
 *     FAKE_CUDA_FAIL=cuLaunchKernel:2:700     the second call of it gives 700
 *     FAKE_NVRTC=crash|hang|abort|memory|noise|spin   what compiling does instead of compiling
 *     FAKE_NVRTC_VERSION=11000
 *     FAKE_COUNT=FILE             a byte is appended for each text that is compiled */
#ifndef FUSEC_TESTS_FAKE_CUDA_H
#define FUSEC_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_cuda {
    /* what goes wrong */
    const char *fail_in; /* the name of a function of the driver; NULL: any */
    long fail_at;        /* at which call of it, from 1; 0: never */
    long times;          /* how many fail from there on; 0: one */
    int result;          /* what these calls give */
    bool later;          /* the call succeeds, and the next that waits for the device gives it */
    bool stays;          /* and every call after it too */
    size_t limit;        /* bytes of memory; 0: plenty */
    bool no_pools, no_gangs, no_clusters;
    bool bad_cubin; /* NVRTC gives bytes that are no code */
    bool execute;   /* kernels run, on the host */
    bool early;     /* code is of an architecture whose kernels may be launched early */
    bool capturing; /* streams record */
    bool recording; /* another thread does: what may wait is refused, but to a relaxed thread */
    long spilling;  /* so many modules, the next ones, have code that spills registers */
    /* what happened */
    long calls, fired, calls_after_loss;
    long memory, pinned, modules, streams, events, contexts, graphs, transforms; /* alive */
    long transformed; /* by cuFFT */
    size_t bytes;
    long misuse;         /* unknown handles, ranges outside of an allocation, no current context */
    const char *misused; /* where the first was */
    const char *last;    /* the call that failed on purpose */
    long strict_calls;   /* that a recording of another thread did not survive */
    int capture_mode;    /* of the thread that changed its own last */
    long recordings_ended; /* by a call that none allows */
    long compiled, launched, launched_together, launched_early, graph_launches;
    const char *kernel; /* that was launched last, as long as its module lives */
} fake_cuda;

#endif
