/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pieces.h - a graph cut along a size, so that it is computed from pieces of its arrays: of a file
 * larger than memory, by several processes, in any order.
 *
 * What makes this exact is the order of reductions (docs/semantics.md, section 6): an aligned group
 * of 2^k leaves of a tree is a subtree, whose accumulator does not depend on who computes the rest.
 * A leaf is a chunk of the inner tree, a run of the outer one, a chunk of a contraction.
 *
 * Every node is whole (the same for all pieces) or lies along the cut: element i of one of its axes
 * belongs to position i of the cut size, and of that axis, n + extra elements long, a piece needs
 * some more before and after its own, where a slice or a view reads its neighbours, also those that
 * a boundary mode shows beyond an end (fc_piece_range); where it shows the other end, the range
 * goes round. A reduction over that axis is partial: pieces give accumulators of subtrees, and what
 * is made of the finished result comes a sweep later. A scan along it is, too, as its element i is
 * the subtrees of the runs before it and what of its own run is there: a sweep gives the
 * accumulators, the next one needs of them those before the piece (fc_part.carry). So
 *
 *     sweep s     a graph for a piece: accumulators of the partial reductions of that sweep, then
 *                 the outputs along the cut that need no later one
 *     join        a graph for a partial reduction: two accumulators to one
 *     finish      a graph: from finished accumulators the outputs that are whole
 *
 * All inputs of the source are inputs of the derived graphs under the same numbers (not of join).
 * Behind them: the position where the piece begins (i64; of sweeps), the sizes in `totals` (i64),
 * and of each partial reduction of an earlier sweep (of finish: of every one) its accumulator and
 * the number of its elements (i64); of a scan (not of finish) the subtrees before each of its
 * places, FC_CARRIES of them in a new axis in front, from the last one on, then start values.
 *
 * Sizes of ranges are named sizes of the derived graphs, which the call gives.
 *
 * Refused, with the node in the message: what reads anywhere along the cut (steps, reversals,
 * reshapes across it), scans by a definition, an array that has the size twice or in a multiple, a
 * reduction in which an axis outside the cut one is reduced too. */
#ifndef FUSEC_PASSES_PIECES_H
#define FUSEC_PASSES_PIECES_H

#include "ir/expand.h"
#include "ir/graph.h"

/* Of an axis with n + extra elements a piece [begin, end) of n has those from begin - before up to
 * end + after, as far as they are there; the last piece all to the end. One that goes round
 * (extra is 0) has all of them: element -1 is the last one, element n the first. */
typedef struct fc_piece_range {
    int64_t before, after, extra, round;
} fc_piece_range;

/* Its first element, and the one behind its last, for a piece of `total` positions. */
static inline int64_t fc_piece_range_end(const fc_piece_range *r, int64_t end, int64_t total) {
    const int64_t last = total + r->extra;
    if (r->round) return end + r->after;
    return end == total || end + r->after > last ? last : end + r->after;
}
static inline int64_t fc_piece_range_begin(const fc_piece_range *r, int64_t begin, int64_t end,
                                           int64_t total) {
    if (r->round) return begin - r->before;
    const int64_t first = begin < r->before ? 0 : begin - r->before;
    const int64_t last = fc_piece_range_end(r, end, total);
    return first < last ? first : last;
}

/* Subtrees before a place, at most: a bit each of the number of runs. */
enum { FC_CARRIES = 48 };

/* A reduction over the axis of the cut, or a scan along it. Its accumulators are arrays of the
 * shape `kept`, of a scan with an axis of 1 behind. */
typedef struct fc_part {
    fc_node node;
    fc_op red;
    bool carry;          /* a scan: what is before a place is needed, not all of it */
    uint32_t sweep;      /* in which its accumulators are made */
    const int64_t *kept; /* [nkept] the sizes of the result without those of reduced axes */
    fc_tree tree;
    bool half;            /* its elements have 16 bits */
    uint32_t range;       /* number in `ranges` of the elements that are reduced */
    uint32_t around;      /* of a scan: of those whose prefixes a piece needs */
    uint32_t places;      /* of a scan: where it begins anew in a piece, 1; or 3: before the piece,
                             with it, behind it */
    int64_t grain;        /* of a scan: what lies before a piece or behind it is in so many */
    const int64_t *inner; /* [ninner] the sizes of its other reduced axes */
    uint32_t nkept, ninner;
    unsigned narrays;             /* that an accumulator has */
    fusec_dtype dtype;            /* accumulated in */
    fc_op row[FC_MAX_COMPONENTS]; /* whose result each is; FC_OP_NONE: the number of elements */
} fc_part;

typedef struct fc_pieces {
    const fc_graph *graph;
    uint32_t sym; /* the size that is cut */
    uint32_t nsweeps;
    int8_t *along;          /* [nodes] the axis of the cut, -1: whole */
    uint16_t *range;        /* [nodes] which of `ranges`, of those along the cut */
    fc_piece_range *ranges; /* the first is that of the piece itself */
    uint32_t nranges;
    uint32_t *own;    /* [outputs] the range that a piece gives of them */
    uint16_t *inside; /* [nodes] the range without what goes round */
    uint16_t *sweep;  /* [nodes] the first sweep in which it can be computed */
    fc_part *parts;   /* ascending by node */
    uint32_t nparts;
    fc_dim *totals; /* sizes that are wanted as numbers, of the whole arrays */
    uint32_t ntotals;
    fc_arena arena;
} fc_pieces;

/* Analyses `g`, which has to live as long as the result. FUSEC_INVALID with the reason: it can't be
 * cut there. */
fusec_status fc_pieces_find(const fc_graph *g, uint32_t sym, fc_pieces *out, fc_error *e);
void fc_pieces_free(fc_pieces *p);

/* Whether the size depends on the symbol. */
bool fc_dim_has(const fc_dimtab *t, fc_dim d, uint32_t sym);

/* A slice or view of what lies along the cut; one that goes round its ends. */
bool fc_piece_shifts(const fc_pieces *p, fc_node n);
bool fc_piece_wraps(const fc_pieces *p, fc_node n);
/* What a node is a part of all pieces for; NULL: nothing. The same for scans alone. */
fc_part *fc_piece_part(const fc_pieces *p, fc_node n);
fc_part *fc_piece_scan(const fc_pieces *p, fc_node n);
/* Whether a sweep waits for nothing of the sweep before it but scans: of pieces that come in order
 * both can be done one after the other. */
bool fc_pieces_follows(const fc_pieces *p, uint32_t sweep);

/* Symbols of the derived graphs for range k > 0: its length, and how many elements of it lie before
 * the piece. */
static inline uint32_t fc_range_length_sym(const fc_pieces *p, uint32_t k) {
    return (uint32_t)p->graph->dims.syms.len + 2 * (k - 1);
}
static inline uint32_t fc_range_before_sym(const fc_pieces *p, uint32_t k) {
    return fc_range_length_sym(p, k) + 1;
}

/* Make a graph (empty when they fail). Of a sweep outputs[i] is the number of the source's output
 * that follows the accumulators as number i; room for all, *noutputs of them.
 *
 * The accumulator of a piece is one of a subtree where the piece is an aligned group of leaves.
 * Where positions and leaves do not fall together there is no such piece, and `leaves` is for it:
 * each reduction gives the accumulators of all whole leaves of the piece, an axis in front, and
 * that of the elements behind them. Not for sweeps with a contraction. leaves[tree] are the
 * elements of one; NULL: one accumulator. */
fusec_status fc_pieces_sweep(const fc_pieces *p, uint32_t sweep, const int64_t *leaves,
                             fc_graph *out, uint32_t *outputs, uint32_t *noutputs, fc_error *e);
fusec_status fc_pieces_finish(const fc_pieces *p, fc_graph *out, uint32_t *outputs,
                              uint32_t *noutputs, fc_error *e);
/* Inputs: the arrays of the earlier accumulator, flat, those of the later one, and the numbers of
 * elements of either (i64). Outputs: the arrays of the joined one. */
fusec_status fc_pieces_join(const fc_pieces *p, uint32_t part, fc_graph *out, fc_error *e);

#endif
