/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz.h - one random graph put through all the ways of running it.
 *
 * In: a recipe (random_graph.h) and the ways. Out: nothing, or what differs. The first run is
 * judged by the oracle; every other way has to give the same bits as the first one.
 *
 *   again     the same program a second time, and after it has run with other sizes
 *   rude      the caller rounds up and flushes subnormals; its state has to stay as it is
 *   other     other sizes for the same program; judged by the oracle
 *   unfused   every operation a kernel
 *   constant  sizes as constants in place of names
 *   threads   several threads, with the code of the first run from the disk cache
 *   strided   the inputs are views of larger arrays
 *   externs   some rows are functions of the user
 *   max_ops   kernels cut at so many operations
 *  (kernels of these ways run strip by strip where they can)
 *   compare   the interpreter, where the semantics fix the bits
 *   text      the graph printed as a program and read again
 *   views     arguments with strides (fuzz_ways.h)
 *   lazy      as values of no graph (fuzz_ways.h) */
#ifndef FUSEC_TESTS_SUPPORT_FUZZ_H
#define FUSEC_TESTS_SUPPORT_FUZZ_H

#include "tests/support/random_graph.h"

typedef struct fuzz_ways {
    const char *device; /* "interp", "cpu", "cuda"; "nvrtc": compiled for a GPU that is not there */
    bool again, rude, other, unfused, constant, threads, strided, compare, text, views, lazy,
        externs;
    uint32_t max_ops;
} fuzz_ways;

typedef enum fuzz_verdict {
    FUZZ_GOOD,
    FUZZ_REFUSED, /* the recipe is none: the builders refuse it */
    FUZZ_FAILED,  /* an error where there should be none */
    FUZZ_WRONG    /* a value */
} fuzz_verdict;

/* The graph of a seed, and the ways that the seed chooses. */
void fuzz_make(uint64_t seed, const char *device, rg *r, fuzz_ways *w);
fuzz_verdict fuzz_try(const rg *r, const fuzz_ways *w, fc_str *why);
/* The same in a child process, which may crash or hang. */
fuzz_verdict fuzz_try_apart(const rg *r, const fuzz_ways *w, fc_str *why);
/* Makes r and w smaller as long as the verdict stays. */
void fuzz_shrink(rg *r, fuzz_ways *w, fuzz_verdict v, bool apart, int tries);

/* A caller that rounds up and flushes subnormals, if `rude`: the state that has to be put back, and
 * whether it was kept until then. */
unsigned fuzz_enter(bool rude);
bool fuzz_leave(bool rude, unsigned before);

/* ---- regression files: a program, with its sizes and the seeds of its inputs as comments ----- */

/* `why` may have several lines. */
void fuzz_print(const rg *r, const fuzz_ways *w, uint64_t seed, const char *why, fc_str *out);
/* Runs the text of such a file in the ways of `w`, but for `constant` and `strided`. */
fuzz_verdict fuzz_replay(const char *name, const char *text, const fuzz_ways *w, fc_str *why);

/* ---- many graphs ----------------------------------------------------------------------------- */

/* Compiles together what these `graphs` graphs need on the device: those of seed, seed + step, ...
 * For compilers that take long to start. Errors come again when the graphs are run. */
void fuzz_ahead(uint64_t seed, uint64_t step, int graphs, const char *device);

/* Compiles what is left over from "nvrtc" graphs, which go to the compiler many at a time. */
fuzz_verdict fuzz_flush(fc_str *why);

#endif
