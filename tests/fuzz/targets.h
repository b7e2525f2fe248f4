/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* targets.h - what takes bytes from outside, each as a function of bytes.
 *
 * The same functions are libFuzzer's targets (libfuzzer.c) and tests over the committed corpora
 * (tests/test_fuzz_corpus.c). They return nothing: a fault is a crash, a sanitizer's report, or
 * abort() where a promise does not hold. */
#ifndef FUSEC_TESTS_FUZZ_TARGETS_H
#define FUSEC_TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

typedef void fuzz_target_fn(const uint8_t *data, size_t size);

fuzz_target_fn fuzz_language;  /* a program or a snippet: parse, check, format, print, plan */
fuzz_target_fn fuzz_capi;      /* calls of the C API, also wrong ones */
fuzz_target_fn fuzz_npy;       /* an .npy file */
fuzz_target_fn fuzz_npz;       /* an archive of them */
fuzz_target_fn fuzz_png;       /* an image */
fuzz_target_fn fuzz_cache;     /* the file of a cache entry */
fuzz_target_fn fuzz_object;    /* machine code as the cache gives it to the loader */
fuzz_target_fn fuzz_saved;     /* a saved graph, and the body of one */
fuzz_target_fn fuzz_pack;      /* a file of compiled kernels */
fuzz_target_fn fuzz_arguments; /* words of the command line */

#define FUZZ_TARGETS(X) X(language) X(capi) X(npy) X(npz) X(png) X(cache) X(object) X(saved) X(pack) X(arguments)

/* Ends the process if a promise does not hold. */
void fuzz_require(int holds, const char *what);

#endif
