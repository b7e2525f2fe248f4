/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sample_kernels.h - kernels built by hand, with inputs and plain C references, for tests of all
 * targets.
 *
 *     fc_sample_run run;
 *     FC_ASSERT_OK(fc_sample_open(&fc_samples[i], sizes, &run, &err), &err);
 *     ... compile run.kernel for the class of run.nest; run it on run.data ...
 *     FC_EXPECT_OK(fc_sample_check(&run, &err), &err);
 *     fc_sample_close(&run);
 *
 * The references know nothing of fusec's code: reductions follow the trees at the end of
 * ir/graph.h literally. So outputs of samples with ulps == 0 have equal bits on every
 * target. */
#ifndef FUSEC_TESTS_SUPPORT_SAMPLE_KERNELS_H
#define FUSEC_TESTS_SUPPORT_SAMPLE_KERNELS_H

#include "codegen/nest.h"

enum { FC_SAMPLE_SIZES = 3, FC_SAMPLE_ARGS = 8 };

typedef struct fc_sample {
    const char *name;
    unsigned nsizes;     /* how many entries of `size` it uses */
    bool needs_elements; /* has a reduction that is an error for no elements: reduced sizes must not
                            be 0 */
    bool specials;       /* inputs contain nan, inf and both zeros */
    int ulps;            /* largest difference of float outputs; 0: equal bits */
    void (*build)(fc_kernel *k, fc_dimtab *t, const fc_dim *size);
    void (*reference)(const int64_t *size, void *const *arg, const uint64_t *scalar);
} fc_sample;

extern const fc_sample fc_samples[];
extern const size_t fc_nsamples;
/* Whether its reference is what tensor cores make of f32 that they round. */
bool fc_sample_rounds(const fc_sample *s);
const fc_sample *fc_sample_find(const char *name); /* NULL if there is none */

typedef struct fc_sample_run {
    const fc_sample *sample;
    int64_t size[FC_SAMPLE_SIZES];
    fc_dimtab dims;
    fc_kernel kernel;
    fc_arena arena;
    int64_t *values; /* of all dims */
    fc_nest nest;
    unsigned nargs;
    size_t bytes[FC_SAMPLE_ARGS], elements[FC_SAMPLE_ARGS];
    void *data[FC_SAMPLE_ARGS]; /* 64-byte aligned; inputs are filled, outputs hold a pattern */
    void *want[FC_SAMPLE_ARGS]; /* inputs: the same as data; outputs: of the reference */
    uint64_t scalars[FC_SAMPLE_ARGS];
} fc_sample_run;

/* Builds, verifies and binds the kernel; no arrays. Close it also after a failure. */
fusec_status fc_sample_bind(const fc_sample *s, const int64_t size[FC_SAMPLE_SIZES],
                            fc_sample_run *run, fc_error *e);
/* The same, and makes the arrays. */
fusec_status fc_sample_open(const fc_sample *s, const int64_t size[FC_SAMPLE_SIZES],
                            fc_sample_run *run, fc_error *e);
/* To nearest even; of numbers. */
uint16_t fc_sample_bf16(double v);
void fc_sample_run_reference(fc_sample_run *run); /* fills `want`; fc_sample_check does it itself */
/* Runs the reference and compares all outputs; FUSEC_INTERNAL with the first difference. */
fusec_status fc_sample_check(fc_sample_run *run, fc_error *e);
void fc_sample_close(fc_sample_run *run);

/* The parameter block of the run, from its arena (args: addresses to use, NULL = run->data). The
 * extra words beyond rows and count are 0. Words: fc_layout_of(nargs, nest.np + nest.nr,
 * nest.naccess, params.len). */
int64_t *fc_sample_words(fc_sample_run *run, void *const *args);

#endif
