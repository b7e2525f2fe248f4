/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_host.h - generated CUDA C on the host: compiles texts with the C++ compiler behind
 * cuda_emu.h, loads them and launches their kernels. */
#ifndef FUSEC_TESTS_SUPPORT_CUDA_HOST_H
#define FUSEC_TESTS_SUPPORT_CUDA_HOST_H

#include "codegen/target.h"

typedef struct fc_cuda_host {
    char folder[64];
    unsigned count; /* texts */
    void *file;     /* FILE *, while texts are added */
    void *library;
} fc_cuda_host;

/* Whether there is a C++ compiler, and AddressSanitizer is off. */
bool fc_cuda_host_is_there(void);
bool fc_cuda_host_open(fc_cuda_host *h); /* false: it is not there */
/* Adds a text; its entry point has to be called k<number>, the value returned by the call before (0
 * at first). */
unsigned fc_cuda_host_add(fc_cuda_host *h, const char *text);
bool fc_cuda_host_build(fc_cuda_host *h);
/* False: not all threads reached a barrier. */
bool fc_cuda_host_run(const fc_cuda_host *h, unsigned number, const fc_launch *l,
                      const int64_t *words);
void fc_cuda_host_close(fc_cuda_host *h);

#endif
