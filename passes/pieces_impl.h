/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pieces_impl.h - what the files that make the graphs of pieces share. */
#ifndef FUSEC_PASSES_PIECES_IMPL_H
#define FUSEC_PASSES_PIECES_IMPL_H

#include "passes/pieces.h"

typedef struct fc_piece_maker {
    const fc_pieces *p;
    fc_graph *g;
    fc_node *map;       /* [nodes of the source]; FC_NONODE: not in this graph */
    const fc_node *acc; /* [parts][FC_MAX_COMPONENTS + 1] of parts that are joined: their
                           accumulators and numbers of elements */
    fc_node begin;      /* where the piece begins */
    const fc_node *totals;
    uint32_t sweep;
    const int64_t *leaves; /* see fc_pieces_sweep */
    bool whole;            /* the finish: nothing along the cut */
} fc_piece_maker;

/* Operands of code about accumulators: the earlier one, the later one, the number of elements. */
enum {
    FC_PIECE_EARLIER = 0,
    FC_PIECE_LATER = FC_MAX_COMPONENTS,
    FC_PIECE_COUNT = 2 * FC_MAX_COMPONENTS
};

/* The nodes of values of `c`, whose operands (FC_OP_ARG) are args[]. */
bool fc_piece_inline(fc_graph *g, const fc_code *c, const fc_node *args, const fc_val *v,
                     unsigned n, fc_node *out);
/* The components of an accumulator, operands from number `from` on. */
void fc_piece_accumulator(fc_code *c, const fc_part *part, unsigned from, fc_val out[]);

/* Elements [from, from + n) of an axis. */
fc_node fc_piece_range_of(fc_graph *g, fc_node x, uint32_t axis, fc_dim from, fc_dim n);
/* Sizes of range k in a piece; where range `inner` begins in range `outer`. */
fc_dim fc_piece_length(const fc_piece_maker *m, uint32_t k);
fc_dim fc_piece_before(const fc_piece_maker *m, uint32_t k);
fc_dim fc_piece_offset(const fc_piece_maker *m, uint32_t outer, uint32_t inner);
/* Of a node that others need more of, the elements of range k. */
fc_node fc_piece_narrowed(const fc_piece_maker *m, fc_node x, uint32_t k);

/* pieces_scan.c: what a piece has of a scan, of the subtrees that came before each of its places;
 * the accumulator of the elements that it scans. */
fc_node fc_piece_scanned(const fc_piece_maker *m, const fc_part *part, const fc_node *carries);
fc_node fc_piece_carried(const fc_piece_maker *m, const fc_part *part);

#endif
