/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arrow.h - a column of an Arrow IPC file or stream (.arrow, .feather, .arrows), as a source of
 * dense bytes in C order like that of zarr.h.
 *
 * Columns of bools, integers and floats, and lists of them of one length, which are two axes; no
 * nulls. Buffers may be compressed by zstd or LZ4. Messages are hostile input: offsets in them are
 * checked against the file. */
#ifndef FUSEC_FRONTEND_CLI_ARROW_H
#define FUSEC_FRONTEND_CLI_ARROW_H

#include "frontend/io/npy.h"

/* Without a column (NULL or "") there must be one only. */
fusec_status fc_arrow_open(fc_reader *s, const fc_alloc *alloc, const char *path,
                           const char *column, fc_npy *h, fc_error *e);

/* Whether the name says so: .arrow, .feather, .arrows. */
bool fc_arrow_is(const char *path, size_t n);

/* Opens a file to be written as a table of one column, from dense bytes in C order: .arrows as a
 * stream, others as a file. Two axes become lists of one length. */
fusec_status fc_arrow_create(fc_outfile *o, const fc_alloc *alloc, const char *path,
                             const char *column, fusec_dtype dtype, int rank, const int64_t *shape,
                             fc_error *e);

#endif
