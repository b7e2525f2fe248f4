/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* strides.h - arrays in memory that are not dense: where their elements are, and copies of them.
 *
 * Strides count elements, may be negative or 0; NULL is dense, row-major. Nothing here knows a
 * device. */
#ifndef FUSEC_RUNTIME_STRIDES_H
#define FUSEC_RUNTIME_STRIDES_H

#include "ir/base.h"

/* Whether these are the strides of a dense array, as far as they matter: those of axes of length 1
 * do not, and none of an empty array. */
bool fc_strides_dense(uint32_t rank, const int64_t *shape, const int64_t *strides);

/* The bytes below and from the first element on that the array touches; false when that is more
 * than memory can address. */
bool fc_strides_span(uint32_t rank, const int64_t *shape, const int64_t *strides, size_t element,
                     size_t *before, size_t *from);

/* Whether no two elements have one place. May say no where that needs more than comparing axes. */
bool fc_strides_apart(uint32_t rank, const int64_t *shape, const int64_t *strides);

/* The strides under which the elements, in C order, are an array of another shape; false: there are
 * none. */
bool fc_strides_reshape(uint32_t rank, const int64_t *shape, const int64_t *strides,
                        uint32_t to_rank, const int64_t *to, int64_t *out);

/* Copies element by element. Neither side needs to be aligned; they must not overlap. */
void fc_strided_copy(size_t element, uint32_t rank, const int64_t *shape, void *dst,
                     const int64_t *dst_strides, const void *src, const int64_t *src_strides);

#endif
