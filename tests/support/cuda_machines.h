/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_machines.h - devices for tests of schedules; all are of sm_90. */
#ifndef FUSEC_TESTS_SUPPORT_CUDA_MACHINES_H
#define FUSEC_TESTS_SUPPORT_CUDA_MACHINES_H

#include "codegen/target.h"

extern const fc_machine fc_cuda_h200;
/* An H200 whose blocks have 48 KiB of shared memory each and do not reach that of others. */
extern const fc_machine fc_cuda_big;
/* 128 threads in all. */
extern const fc_machine fc_cuda_small;
/* Room for few blocks that wait for each other. */
extern const fc_machine fc_cuda_narrow;
/* Room for one gang, whose rows stream through shared memory. */
extern const fc_machine fc_cuda_ringed;
/* Blocks that have little shared memory, but reach that of others. */
extern const fc_machine fc_cuda_clustered;

#endif
