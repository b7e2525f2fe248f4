/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* strips.h - kernels that share their rows and pass large arrays on run strip by strip.
 *
 * softmax(q @ k.T) @ v is three kernels, with arrays [n, n] between them. No row needs another one,
 * so all three do some rows first and then the next ones: what is between them is as long as a
 * strip, stays in the cache and has the same place for every strip. On a CPU each thread does
 * strips of its own, on a GPU all of it does one after the other.
 *
 * In: the steps of a plan with sizes. Out: chains of steps, each with axes of rows that all its
 * kernels keep, and what a strip has of them. Invariants: what is written in a chain and read in it
 * is read in the rows where it was written; every strip has the same sizes, so that one code and
 * launch does all of them: if the rows do not make whole strips, the last one begins early enough
 * and makes some again, which have the bits they had. No bit of a result depends on it, as none of
 * a row depends on the others (docs/semantics.md). */
#ifndef FUSEC_RUNTIME_STRIPS_H
#define FUSEC_RUNTIME_STRIPS_H

#include "runtime/bind.h"

/* A chain of steps. */
typedef struct fc_strips {
    uint32_t first, n;           /* its steps */
    uint32_t count;              /* strips */
    uint32_t threads;            /* that do one each, at most; 1: one launch after the other */
    uint32_t axes;               /* that are cut */
    int64_t extent[FC_MAX_AXES]; /* of each of them in a strip of the results */
    int64_t whole[FC_MAX_AXES];  /* and in all */
    const int64_t *start;        /* [count][axes] */
    size_t bytes, whole_bytes;   /* of the arrays that it passes on, in strips and uncut */
} fc_strips;

/* Bytes of an array or workspace of which each thread has its own. */
static inline size_t fc_strips_apart(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* Points of the loops of a step, of all strips. */
static inline int64_t fc_strips_points(const fc_bound_step *s) {
    const int64_t n = s->nest.points;
    return s->strips ? fc_mul_most(n, s->strips->count) : n;
}

/* Finds the chains of `b`, whose bytes of buffers are known, and what a strip has of
 * what they pass on. */
fusec_status fc_strips_find(const fc_program *p, fc_bound *b, fc_error *e);

/* The nest of a step of a chain; `strides` are those of its accesses, NULL: dense. Address words
 * of what is read at computed places are not of the strip but of the array of which it would be a
 * part. */
fusec_status fc_strips_bind(fc_bound *b, const fc_kernel *k, fc_bound_step *s,
                            const int64_t *const *strides, fc_error *e);

/* The machine on which a step runs. */
fc_machine fc_strips_machine(const fc_bound *b, const fc_kernel *k, const fc_bound_step *s,
                             const fc_device *d);

/* After the launches of `b` are made, with one for each step of a chain: makes those of all strips
 * of them. */
fusec_status fc_strips_launch(const fc_program *p, fc_bound *b, fc_error *e);

#endif
