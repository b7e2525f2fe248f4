/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_nvrtc.h - graphs compiled for a GPU that need not be there: all kernels of a graph, many
 * graphs in one call of NVRTC, each kernel in a namespace of its own. */
#ifndef FUSEC_TESTS_SUPPORT_FUZZ_NVRTC_H
#define FUSEC_TESTS_SUPPORT_FUZZ_NVRTC_H

#include "tests/support/fuzz.h"

/* Writes the kernels of g for these sizes; compiles when enough have come together. */
fuzz_verdict fuzz_nvrtc(const fc_graph *g, const int64_t *syms, const fc_arrays *in, fc_str *why);
/* Compiles what has come together. When that fails, `why` is about the first kernel that does. */
fuzz_verdict fuzz_nvrtc_flush(fc_str *why);
/* The graphs from here on are of this seed. Alone: each is compiled whatever was compiled before,
 * and what has come together is dropped; for making a failure smaller. */
void fuzz_nvrtc_seed(uint64_t seed, bool alone);
/* The seed whose kernel failed last. */
uint64_t fuzz_nvrtc_culprit(void);
/* Whether there is a compiler. */
bool fuzz_nvrtc_there(void);
/* Kernels compiled so far. */
uint64_t fuzz_nvrtc_kernels(void);

#endif
