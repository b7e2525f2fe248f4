/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dot.h - which axes of a bound contraction a tile of results has: the rows are along an axis that
 * the right operand does not have, the columns along one that the left does not have. */
#ifndef FUSEC_CODEGEN_DOT_H
#define FUSEC_CODEGEN_DOT_H

#include "codegen/nest.h"

typedef struct fc_dot_axes {
    bool found;
    uint32_t down;         /* of the rows; the columns are along the innermost kept axis */
    uint8_t *left, *right; /* [accesses] whether the operand needs them */
} fc_dot_axes;

/* Of a kernel of FC_SCHED_DOT. */
fusec_status fc_dot_find_axes(const fc_kernel *k, const fc_nest *n, fc_arena *arena,
                              fc_dot_axes *out, fc_error *e);

/* The first part: `left` and `right` alone. Whether none of such accesses moves along an axis. */
fusec_status fc_dot_find_accesses(const fc_kernel *k, const fc_nest *n, fc_arena *arena,
                                  fc_dot_axes *out, fc_error *e);
bool fc_dot_stands(const fc_nest *n, const uint8_t *uses, uint32_t axis);

/* Levels that the binary counter of a result needs: chunks before the last one wait there. */
unsigned fc_dot_levels(int64_t count, int64_t chunk);

/* Whether the elements are casts of 8 bits; and whether sums of `count` products of them fit in 32.
 */
bool fc_dot_of_bytes(const fc_kernel *k);
bool fc_dot_has_bytes(const fc_kernel *k, int64_t count);
/* Whether nothing but the lower 32 bits of the sums is looked at. */
bool fc_dot_is_low(const fc_kernel *k);

#endif
