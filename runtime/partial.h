/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* partial.h - what is known of a cut program's reductions from some pieces: accumulators of
 * finished subtrees, for each reduction over the cut (passes/pieces.h) a set of them.
 *
 * Putting and merging add all or nothing, also where there is no memory in the middle. Two siblings
 * are joined to their parent, at once where that is possible, so what is kept of a contiguous range
 * are at most two subtrees a level, whatever the pieces were. When all is there, the subtrees that
 * remain are joined from the right, which is what the tree does with missing right parts
 * (docs/semantics.md, section 6): the result is that of a single call, to the bit.
 *
 * Of a scan all that was put is kept, in order, as each piece needs what came before it.
 *
 * Threads may share one: each function locks it while it looks at it. */
#ifndef FUSEC_RUNTIME_PARTIAL_H
#define FUSEC_RUNTIME_PARTIAL_H

#include <pthread.h>

#include "runtime/cut.h"

typedef struct fc_subtree {
    unsigned level; /* 2^level leaves */
    int64_t index;  /* it begins at leaf index * 2^level */
    int64_t count;  /* elements, fewer than that many leaves have at the end of the array */
    char *data;     /* the arrays of the accumulator, one after the other */
} fc_subtree;

typedef struct fc_partial {
    const fc_cut *cut;
    const fc_alloc *alloc;
    pthread_mutex_t lock; /* of all below */
    int64_t total;        /* the cut size; -1: no piece came yet */
    struct fc_partial_set {
        FC_VEC(fc_subtree) at;
        int64_t width, inner;    /* elements of an array of an accumulator; of the reduction at a
                                    position of the cut; -1: no piece came yet */
        char *all;               /* the accumulator of everything, once it was asked for */
        FC_VEC(fc_subtree) made; /* of a scan: joined ones that were asked for */
    } * set;                     /* [parts] */
} fc_partial;

fusec_status fc_partial_new(const fc_cut *cut, fc_partial **out, fc_error *e);
void fc_partial_free(fc_partial *p);

/* The sizes that a set is for; FUSEC_INVALID if it is for others already. */
fusec_status fc_partial_sizes(fc_partial *p, uint32_t part, int64_t total, int64_t width,
                              int64_t inner, fc_error *e);
int64_t fc_partial_elements(const fc_partial *p, uint32_t part); /* -1: not known yet; unlocked */
/* Adds `n` subtrees of a level, from `index` on, that have `count` elements in all; arrays[k] has
 * theirs one after the other. FUSEC_INVALID if some of their elements are there already. */
fusec_status fc_partial_put(fc_partial *p, uint32_t part, unsigned level, int64_t index, int64_t n,
                            int64_t count, const char *const *arrays, fc_error *e);
/* The accumulator of all elements, its arrays one after the other, with its width and the number of
 * elements; FUSEC_INVALID while some are missing. It belongs to `p`, and stays as it is. */
typedef struct fc_partial_whole {
    const char *data;
    int64_t width, count;
} fc_partial_whole;
fusec_status fc_partial_all(fc_partial *p, uint32_t part, fc_partial_whole *out, fc_error *e);

/* The subtrees before leaf `leaf` of a scan's elements, FC_CARRIES of them in an array: the one
 * that ends there first, start values behind the last. FUSEC_INVALID while some are missing, or
 * where no piece ended there. */
fusec_status fc_partial_before(fc_partial *p, uint32_t part, int64_t leaf, char *out, fc_error *e);

/* Puts everything of `from` into `p`. FUSEC_INVALID: they do not go together, and nothing was
 * done. */
fusec_status fc_partial_merge(fc_partial *p, fc_partial *from, fc_error *e);
/* The same with one that nobody else has, of the same cut: what it has moves. */
fusec_status fc_partial_take(fc_partial *p, fc_partial *from, fc_error *e);

/* The same for one of another cut of the same program, on another device: as bytes, since each has
 * accumulators of its own cut. */
fusec_status fc_partial_tell(fc_partial *from, fc_partial *to, fc_error *e);

/* As bytes, and from them: for other processes of the same kind of machine. What is read may be
 * anything; FUSEC_BAD_INPUT says what is wrong with it. */
size_t fc_partial_write(fc_partial *p, void *out, size_t room); /* bytes it takes; else nothing */
fusec_status fc_partial_read(const fc_cut *cut, const void *bytes, size_t n, fc_partial **out,
                             fc_error *e);

/* Bytes of the arrays of an accumulator of `width`; of one of them. */
size_t fc_part_bytes(const fc_cut *cut, uint32_t part, int64_t width);
size_t fc_part_array_bytes(const fc_cut *cut, uint32_t part, unsigned array, int64_t width);

#endif
