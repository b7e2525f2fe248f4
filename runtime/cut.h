/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cut.h - a program cut along a size, run on pieces of its arrays: see passes/pieces.h for what
 * a cut is, runtime/partial.h for what becomes of reductions over it. */
#ifndef FUSEC_RUNTIME_CUT_H
#define FUSEC_RUNTIME_CUT_H

#include "passes/pieces.h"
#include "runtime/program.h"
#include "runtime/sha256.h"

struct fc_partial;

typedef struct fc_sweep {
    fc_program *program;
    fc_program *by_leaf; /* the same for pieces that are no subtrees; NULL: there is none */
    uint32_t *outputs;   /* numbers of the source's outputs behind the accumulators */
    uint32_t noutputs, nparts;
} fc_sweep;

typedef struct fc_cut {
    fc_context *ctx;
    const fc_alloc *alloc;
    fc_program *whole; /* of the whole arrays: for sizes and their checks; the caller's */
    fc_pieces pieces;  /* of its graph */
    fc_sweep *sweeps;  /* [pieces.nsweeps] */
    fc_sweep finish;
    fc_program **joins;           /* [pieces.nparts]; on a device with host memory */
    uint8_t hash[FC_SHA256_SIZE]; /* of the graph and the size */
    uint32_t ndims;               /* sizes that no input binds: set before the first call */
    const fc_dim_value *dims;
    struct fc_cut *next; /* of those that the program keeps */
} fc_cut;

/* The program, which has to live as long, cut along the size of this name. FUSEC_UNKNOWN_DIM,
 * FUSEC_INVALID with the reason: it can't be cut there. */
fusec_status fc_cut_new(fc_program *whole, const char *dim, fc_cut **out, fc_error *e);
void fc_cut_free(fc_cut *c);

/* Making a cut plans its sweeps, so calls that need one each time share them: it is taken from
 * those that the program keeps, or made, and given back to it. */
fusec_status fc_cut_take(fc_program *whole, const char *dim, fc_cut **out, fc_error *e);
void fc_cut_give(fc_cut *c); /* NULL is fine */
void fc_cuts_free(fc_program *whole);

typedef struct fc_piece {
    int64_t begin, end, total;
} fc_piece;

/* Pieces begin at multiples of so many positions, and end there or at the end. For the sizes of
 * these inputs, whole or of a piece. */
fusec_status fc_cut_grain(const fc_cut *c, uint32_t nin, const fc_tensor *in, int64_t *grain,
                          fc_error *e);

/* The length of the cut size that the inputs show; -1: none lies along the cut. */
int64_t fc_cut_total(const fc_cut *c, uint32_t nin, const fc_tensor *in);
/* The fewest positions that are whole leaves of a reduction, which has `inner` elements at each: a
 * power of two, as leaves are. */
int64_t fc_part_grain(const fc_part *p, int64_t inner);
/* The named size of a graph. FUSEC_UNKNOWN_DIM: there is none. */
fusec_status fc_cut_size(const fc_graph *g, const char *name, uint32_t *sym, fc_error *e);
/* `n` elements of an array along an axis from number `at` on, as a view whose shape and strides are
 * in the arena; the array itself for an axis of -1. Where they go round its ends (`at` is negative,
 * or the end behind its own) they are a copy there. False: out of memory. */
bool fc_cut_view(fc_arena *arena, const fc_tensor *t, int axis, int64_t at, int64_t n,
                 fc_tensor *out);

/* The elements that a piece has of an input or an output along the cut. Of an input the first may
 * be before 0 and the last one behind the end: those are at the other end. */
void fc_cut_input_range(const fc_cut *c, uint32_t i, const fc_piece *p, int64_t *begin,
                        int64_t *end);
/* Of the whole array, how many. */
int64_t fc_cut_input_length(const fc_cut *c, uint32_t i, int64_t total);
int64_t fc_cut_output_length(const fc_cut *c, uint32_t i, int64_t total);
void fc_cut_output_range(const fc_cut *c, uint32_t i, const fc_piece *p, int64_t *begin,
                         int64_t *end);

/* Of pieces that come in order the sweep can be done right after the one before it. */
bool fc_cut_follows(const fc_cut *c, uint32_t sweep);

/* A sweep over a piece. Inputs and outputs that lie along the cut are the piece's part of them, the
 * others whole; of outputs that are whole, or of another sweep, data is not looked at. `before` has
 * all pieces of the sweeps before this one; what this one finds out goes to `into` (it may be the
 * same, either may be NULL where there is nothing of the kind). */
fusec_status fc_cut_run(fc_cut *c, fc_stream stream, uint32_t sweep, const fc_piece *piece,
                        uint32_t nin, const fc_tensor *in, uint32_t nout, const fc_tensor *out,
                        struct fc_partial *before, struct fc_partial *into, fc_error *e);
/* The outputs that are whole, for arrays of `total` positions. Inputs as for a piece; data of those
 * along the cut is not looked at. */
fusec_status fc_cut_finish(fc_cut *c, fc_stream stream, int64_t total, uint32_t nin,
                           const fc_tensor *in, uint32_t nout, const fc_tensor *out,
                           struct fc_partial *all, fc_error *e);

#endif
