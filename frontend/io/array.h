/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* array.h - a dense array in host memory as files, the printer and the command hand it around.
 *
 * Row-major, native byte order, no gaps. The struct does not own `data`. */
#ifndef FUSEC_FRONTEND_IO_ARRAY_H
#define FUSEC_FRONTEND_IO_ARRAY_H

#include "ir/base.h"
#include "ir/dtype.h"

#define FC_IO_RANK 32

typedef struct fc_array {
    fusec_dtype dtype;
    int rank;
    int64_t shape[FC_IO_RANK];
    void *data;
} fc_array;

/* A complex array as one of its parts: twice the elements along the last axis; one element has two.
 */
fc_array fc_array_parts(const fc_array *a);

/* Number of elements and of bytes of a shape. False when a size is negative or the bytes do not fit
 * into an int64_t; a zero among the sizes does not hide an overflow of the others. */
bool fc_shape_bytes(int rank, const int64_t *shape, size_t itemsize, int64_t *count,
                    int64_t *bytes);

/* "f32[100, 64]"; a scalar is "f32". Cut with "..." where `size` is too small. Returns buf. */
const char *fc_type_text(char *buf, size_t size, fusec_dtype dtype, int rank, const int64_t *shape);

/* "25,600". Returns buf. */
#define FC_COMMAS 32
const char *fc_commas(char buf[FC_COMMAS], int64_t v);

/* What an errno means, in English, without the locale and without a lock. Unknown values
 * get `buf`. */
const char *fc_errno_text(int err, char buf[32]);

/* Copies a file name for use in a message: control characters become '?', and a long name is cut in
 * the middle. Returns buf. */
const char *fc_shown_name(char *buf, size_t size, const char *name);

#endif
