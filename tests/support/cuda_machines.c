/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_machines.c - see cuda_machines.h. */
#include "tests/support/cuda_machines.h"

#define MACHINE(sms, threads, shared, ...)                                                         \
    {                                                                                              \
        .target = FC_TARGET_CUDA, .sm_major = 9, .sm_count = (sms),                                \
        .max_threads_per_sm = (threads), .shared_per_block = (shared) << 10, __VA_ARGS__           \
    }

const fc_machine fc_cuda_h200 =
    MACHINE(132, 2048, 227, .together = true, .clusters = true, .cache = 60 << 20);
const fc_machine fc_cuda_big = MACHINE(132, 2048, 48, .together = true, .cache = 60 << 20);
const fc_machine fc_cuda_small = MACHINE(2, 64, 48, .together = false);
const fc_machine fc_cuda_narrow = MACHINE(2, 1024, 227, .together = true);
const fc_machine fc_cuda_ringed = MACHINE(9, 2048, 227, .together = true);
const fc_machine fc_cuda_clustered = MACHINE(1, 2048, 227, .clusters = true);
