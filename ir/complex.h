/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* complex.h - complex numbers: builders that make nodes of their parts.
 *
 * In the graph a complex number is two real nodes: FC_OP_PAIR joins them, for a result that is
 * stored, and FC_OP_PART takes them out of an array of pairs in memory. Nothing else has a complex
 * dtype: every builder that is given one builds its nodes for the parts and joins them. So
 * simplification, fusion, derivatives and targets work on real numbers. What the rows of ops.def
 * compute by parts is ir/complex.def and ir/complex_functions.c.
 *
 * An imaginary part that is the constant +0 says that the number is real, as one is that was cast:
 * it takes no part in products, quotients and sums (docs/semantics.md, "Complex numbers"). */
#ifndef FUSEC_IR_COMPLEX_H
#define FUSEC_IR_COMPLEX_H

#include "ir/graph.h"

typedef struct fc_parts {
    fc_node re, im;
} fc_parts;

static inline bool fc_has_parts(const fc_graph *g, fc_node n) {
    return fc_is_complex((fusec_dtype)fc_at(g, n)->dtype);
}
/* The parts of a complex node, as they are (a constant for all elements has rank 0), or both of its
 * shape. */
fc_parts fc_complex_parts(fc_graph *g, fc_node z);
fc_parts fc_full_parts(fc_graph *g, fc_node z);
/* A node that has elements of its first operand at other places: of a complex number, one of each
 * part; a constant 0 as imaginary part stays as it is. */
fc_node fc_build_moved(fc_graph *g, fc_ninfo n);
/* The complex number of two floats of one dtype, f32 or f64, whose shapes broadcast. */
fc_node fc_build_pair(fc_graph *g, fc_node re, fc_node im);
/* real(x) and imag(x); of a real number that number, and 0. */
fc_node fc_build_part(fc_graph *g, fc_node x, bool imaginary);
bool fc_is_real_pair(const fc_graph *g, fc_parts z); /* the imaginary part is the constant +0 */

/* A number in its storage format: the word of a c64, the two words of a c128. */
fc_node fc_complex_const(fc_graph *g, fusec_dtype t, const uint64_t *bits);

/* What the builders do with complex operands; they have checked that there are such. `op` may be
 * any row, and is an error where it is not defined. */
fc_node fc_complex_op(fc_graph *g, fc_op op, const fc_node *x);
fc_node fc_complex_cast(fc_graph *g, fc_node a, fusec_dtype t);
fc_node fc_complex_reduce(fc_graph *g, fc_op op, fc_node a, uint32_t naxes, const int64_t *axes,
                          bool keepdims);
fc_node fc_complex_scan(fc_graph *g, fc_op op, fc_node a, int64_t axis, bool exclusive,
                        bool reverse);
/* Whether a row (elementwise or a reduction) is defined on complex numbers. */
bool fc_complex_takes(fc_op op);
const char *fc_complex_reason(fc_op op); /* why it is not */
/* Fails: the row is not defined, with the reason. */
fc_node fc_complex_refuse(fc_graph *g, fc_op op, fc_node a);

/* A row by parts: y has the parts of the second operand. A result that is real or bool has im
 * FC_NONODE. */
typedef fc_parts fc_complex_fn(fc_graph *g, fc_parts x, fc_parts y);
#define COMPLEX(row) fc_complex_fn fc_z_##row;
#include "ir/complex.def"

#endif
