/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_facts.h - what schedules and texts of the CPU target both ask of a kernel, a class and a
 * machine: numbers, and no text. A schedule (schedule/) includes this and never asks an emitter;
 * emitters never ask a schedule. */
#ifndef FUSEC_CODEGEN_LLVM_LLVM_FACTS_H
#define FUSEC_CODEGEN_LLVM_LLVM_FACTS_H

#include "codegen/facts.h"
#include "codegen/target.h"

/* ---- the kernel ------------------------------------------------------------------------------ */

bool fc_ll_is_light(const fc_kernel *k); /* memory-bound: worth unrolling */
bool fc_ll_is_sum(const fc_kernel *k);   /* and reads its arrays once, to store little */
static inline bool fc_ll_is_min_max(unsigned op) {
    return op == FC_OP_min || op == FC_OP_max;
}
/* Whether there is vector code for a row (llvm_math.c). */
bool fc_math_has(fc_op op, fusec_dtype t);

/* ---- rows ------------------------------------------------------------------------------------ */

/* Elements of rows whose values may be kept: FC_LL_KEEP_SHORT, FC_LL_KEEP_LONG. */
enum { FC_LL_KEPT = 8192, FC_LL_KEPT_LONG = 16384 };
enum { FC_LL_TILE = 64 }; /* elements of a block of tiles along each of its two axes */
/* Narrow: no row has more elements than that; those that are gathered are shorter. */
static inline unsigned fc_ll_narrow_elements(const fc_class *c) {
    return c->llvm.tiles ? FC_LANES : c->vector / 2u;
}

enum { FC_LL_NARROW_LEVELS = 8 }; /* of the counter of their elements */
enum { FC_LL_BAND_ROWS = 4 };     /* of packed bands, at a time */
/* Vectors of each of these that have accumulators in registers; 0: there are not enough. */
unsigned fc_ll_band_vectors(const fc_machine *m, const fc_kernel *k);
/* Rows of a unit of narrow. */
static inline unsigned fc_ll_unit_rows(const fc_class *c) {
    return c->llvm.bands ? c->vector : FC_LL_TILE;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Levels of a tree's binary counter: enough for FC_RUN << 48 elements. */
enum { FC_LL_LEVELS = 48 };
/* Elements of a span of outer at most, and levels of the counter of its runs; the same in wide
 * blocks, and of few columns. */
enum { FC_LL_SPAN = 1024, FC_LL_SPAN_LEVELS = 7, FC_LL_WIDE_SPAN = 256, FC_LL_WIDE_LEVELS = 5 };
/* Columns that class.across counts. */
enum { FC_LL_ACROSS = 64 };
enum { FC_LL_FEW_SPAN = 16384, FC_LL_FEW_LEVELS = 11 };
enum { FC_LL_WIDE_FROM = 128 };                /* columns of a wide block at least */
unsigned fc_ll_slot_bytes(const fc_kernel *k); /* of the accumulators of a column */
unsigned fc_ll_columns(const fc_kernel *k, const fc_class *cls);       /* of a block of outer */
unsigned fc_ll_across_levels(const fc_kernel *k, const fc_class *cls); /* of its counter */

/* ---- the machine ----------------------------------------------------------------------------- */

unsigned fc_ll_widest(const fc_machine *m); /* lanes of f32 of a vector register */
/* How tiles of a contraction are cut: rows and columns of one, lanes of a register, elements from a
 * row of a panel of the left operand to the next. */
typedef struct fc_ll_panels {
    unsigned height, width, lanes, step;
} fc_ll_panels;
enum { FC_LL_LINE_ROOM = 64 }; /* elements of a vector, at most */
/* The outermost of the axes that are numbered as columns of a contraction, as rows. */
static inline unsigned fc_ll_first_column(const fc_class *c) {
    return c->np - (c->llvm.columns ? c->llvm.columns : 1u);
}
static inline unsigned fc_ll_first_row(const fc_class *c) {
    return c->llvm.down_axis + 1u - (c->llvm.rows ? c->llvm.rows : 1u);
}
fc_ll_panels fc_ll_panels_of(const fc_machine *m, fusec_dtype t);
/* What a contraction in tiles adds up. */
fusec_dtype fc_ll_dot_type(const fc_kernel *k, const fc_class *c);
/* The same of a class, whose operands may be read where they are. */
fc_ll_panels fc_ll_tile_of(const fc_machine *m, fusec_dtype t, const fc_class *c);
/* Bytes of the stack for an operand that is turned (class.llvm.turned). */
enum { FC_LL_TURNED = 256 << 10 };
/* Rows of tiles that take what whole tiles leave, and of all in brief code; levels of the counter
 * of those that are read where they are. */
enum { FC_LL_LOW = 4, FC_LL_BRIEF_LOW = 2, FC_LL_DIRECT_LEVELS = 4, FC_LL_ROW_VECTORS = 4 };

#endif
