/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_fibers.h - the threads of CUDA blocks on the host: each is a fiber that runs until it
 * reaches a barrier or a shuffle, and chance decides which warps go on first. C and C++.
 *
 * Kernels are compiled behind cuda_emu.h, which is all that they see, into a library of their own.
 * It calls back through `fc_fibers`, so that nothing of this is compiled with them. Blocks run one
 * after the other, or, where they wait for each other (`together`, and those of a cluster), each in
 * a thread of the host. */
#ifndef FUSEC_TESTS_SUPPORT_CUDA_FIBERS_H
#define FUSEC_TESTS_SUPPORT_CUDA_FIBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fc_index {
    unsigned x, y, z;
} fc_index;

/* Where a thread is; what it reads as threadIdx, blockIdx, gridDim and blockDim. */
typedef struct fc_thread {
    fc_index thread, block, grid, threads;
} fc_thread;

/* The blocks of a cluster: how many of their threads have arrived, and where the variables of each
 * are: in every thread of the host they lie at the same distance from its `place`. */
enum { FC_MOST_OF_CLUSTER = 8 };
typedef struct fc_cluster_blocks {
    unsigned threads, arrived;
    char *place[FC_MOST_OF_CLUSTER];
} fc_cluster_blocks;

/* What a thread of a kernel may ask for. The waits return when those who wait for each other are
 * all there. */
typedef struct fc_fibers {
    const fc_thread *(*self)(void);
    fc_cluster_blocks *(*cluster)(void);
    void (*pause)(void); /* others go on first */
    void (*wait_block)(void);
    void (*wait_warp)(void);
    void (*wait_group)(int number, int threads);
    uint64_t (*exchange)(uint64_t v, unsigned lane); /* all lanes; the value that `lane` brought */
} fc_fibers;

/* What the library of a kernel exports for it. */
typedef struct fc_fiber_kernel {
    void (*run)(const void *params);
    size_t params;             /* bytes */
    unsigned (*cluster)(void); /* blocks that form one, or 0 */
    char *(*place)(void);      /* a variable of the host's thread */
} fc_fiber_kernel;

/* A library of kernels that the host's compiler made, and its kernel of that name; NULL: none. */
void *fc_fibers_load(const char *path);
const fc_fiber_kernel *fc_fibers_kernel(void *library, const char *name);

/* Whether all threads reached all barriers and shuffles that others waited at. */
bool fc_fibers_launch(const fc_fiber_kernel *k, const void *params, const unsigned grid[3],
                      const unsigned block[3], bool together);

#ifdef __cplusplus
}
#endif
#endif
