/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* inside.h - the code of a kernel for the places where no index meets an edge.
 *
 * An index that is continued at an edge, or guarded, is ordinary code (passes/lower_index.c):
 * minimum, maximum, mod and comparisons of what is affine along an axis with what stays the same.
 * So an axis falls into parts, in each of which all these comparisons have one outcome. The code
 * made here is right in the parts where every row of that kind gives back its operand: there an
 * index is affine again. Comparisons that pick one of two places (a concatenation, a period, a
 * guard) stay, as values that are the same throughout a part.
 *
 *     minimum(maximum(i - 1, 0), n - 1)    is i - 1, which asks for   0 <= i - 1 <= n - 1
 *     where(i < n, a[i], b[i - n])         stays, and i < n is known for the part
 *
 * An emitter writes its text twice, with this code for whole vectors (threads, blocks) inside of
 * one part in which all that is asked for holds, and with the kernel's own code for all others.
 *
 * Where each thread finds out for its own vector (FC_INSIDE_VECTORS), indices along all axes are
 * affine, and what is known of a part is known of a vector. */
#ifndef FUSEC_CODEGEN_INSIDE_H
#define FUSEC_CODEGEN_INSIDE_H

#include "codegen/class.h"

/* What parts are parts of: the axis; that and the one outside of it, which are walked as one;
 * vectors along the axis, anywhere; the same with as few questions as possible, as each vector asks
 * them. */
typedef enum fc_inside_of {
    FC_INSIDE_AXIS,
    FC_INSIDE_JOINED,
    FC_INSIDE_VECTORS,
    FC_INSIDE_ELEMENTS
} fc_inside_of;

/* A number that is affine along the axis: whether it is at least 0 changes once along it. */
typedef struct fc_inside_bound {
    fc_val number; /* i64, of `code`; all in it but indices is the same along the axis */
    bool passes;   /* lanes over two axes: grows when the inner one has been passed */
    int slope;     /* by which it grows when the axis advances by one: -2, -1, 1 or 2; of vectors
                      0, too */
    fc_val value;  /* the bool of `code` that says whether it is at least 0; FC_NOVAL: it is asked
                      for */
} fc_inside_bound;

enum { FC_INSIDE_KNOWN = 16 }; /* bounds with a value at most */

typedef struct fc_inside {
    fc_code code;                   /* target-neutral, as the kernel's */
    fc_val *map;                    /* from the kernel's code */
    FC_VEC(fc_inside_bound) bounds; /* none: the kernel has nothing to gain */
    FC_VEC(fc_val) needed; /* bools of `code`, the same throughout a part: asked for, too */
} fc_inside;

/* Kernels whose text should not stand twice get no bounds. */
fusec_status fc_inside_make(const fc_kernel *k, const fc_class *cls, unsigned axis, fc_inside_of of,
                            const fc_alloc *alloc, fc_inside *out);
void fc_inside_free(fc_inside *in);

#endif
