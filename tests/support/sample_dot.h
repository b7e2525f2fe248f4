/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sample_dot.h - the samples that are contractions, for the table of sample_kernels.c. */
#ifndef FUSEC_TESTS_SUPPORT_SAMPLE_DOT_H
#define FUSEC_TESTS_SUPPORT_SAMPLE_DOT_H

#include "tests/support/sample_build.h"

#define FC_DOT_SAMPLE(name)                                                                        \
    void fc_dot_##name(fc_kernel *k, fc_dimtab *t, const fc_dim *s);                               \
    void fc_dot_##name##_ref(const int64_t *s, void *const *arg, const uint64_t *scalar)

FC_DOT_SAMPLE(layer);
FC_DOT_SAMPLE(batch);
FC_DOT_SAMPLE(doubles);
FC_DOT_SAMPLE(bytes);
FC_DOT_SAMPLE(halves);
FC_DOT_SAMPLE(halves_turned);
FC_DOT_SAMPLE(halves_across);
FC_DOT_SAMPLE(halves_made);
FC_DOT_SAMPLE(halves_made_turned);
FC_DOT_SAMPLE(halves_scaled);
FC_DOT_SAMPLE(bytes_lines);
FC_DOT_SAMPLE(bytes_across);
FC_DOT_SAMPLE(bytes_made);
FC_DOT_SAMPLE(words);
FC_DOT_SAMPLE(words_across);
FC_DOT_SAMPLE(words_made);

#endif
