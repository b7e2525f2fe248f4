/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mask.h - elements that a mask hides: choices that go by indices alone.
 *
 * In: the code of a kernel. Out: conditions, any of which makes elements the same whatever the
 * array has that is masked, and the code with them.
 *
 *     exp(where(row >= column, x, -inf) - max)     is exp(-inf - max) where row < column
 *
 * Conditions are made of rows of integers whose ends are known from those of their operands, so a
 * target can ask for a whole tile of elements whether all are hidden. */
#ifndef FUSEC_CODEGEN_MASK_H
#define FUSEC_CODEGEN_MASK_H

#include "ir/kernel.h"

enum { FC_MASK_WAYS = 4 };

typedef struct fc_way {
    fc_val condition; /* bool of the kernel's code */
    bool when;        /* elements are hidden where that is its value */
} fc_way;

typedef struct fc_mask {
    unsigned n; /* 0: no element is hidden */
    fc_way way[FC_MASK_WAYS];
    fc_code
        code; /* target-neutral: of elements that are hidden, and of those that are not for sure */
    fc_val *map;   /* from the kernel's code, where they are hidden */
    fc_val *shown; /* where no condition has that value */
} fc_mask;

/* What is asked for. `roots` are what is made of elements; hidden ones depend on no array along
 * axis `along` of the kernel. Arrays that conditions read move along the axes of `apart` alone.
 * `finite`: no operand and no result is infinite or NaN, so what is added to -inf does not matter.
 */
typedef struct fc_mask_query {
    const fc_val *roots;
    size_t n;
    uint32_t along;
    uint64_t apart;
    bool finite;
} fc_mask_query;

fusec_status fc_mask_find(const fc_kernel *k, const fc_mask_query *q, const fc_alloc *alloc,
                          fc_mask *out);
void fc_mask_free(fc_mask *m);

/* Whether a value of the kernel is such a condition, or a number that one is made of. */
bool fc_mask_has_ends(const fc_kernel *k, fc_val v, uint64_t apart);
/* The value of hidden elements that is a constant. */
bool fc_mask_constant(const fc_mask *m, fc_val v, double *value);

#endif
