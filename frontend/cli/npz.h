/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* npz.h - .npz archives: zip files whose entries are .npy files.
 *
 * Reading takes stored and deflated entries, also of zip64 archives, and checks their CRC. Writing
 * stores entries uncompressed. */
#ifndef FUSEC_FRONTEND_CLI_NPZ_H
#define FUSEC_FRONTEND_CLI_NPZ_H

#include "frontend/io/npy.h"

/* Opens the array `key` of an archive as a source for fc_npy_read_header and fc_npy_read_data.
 * Without a key (NULL or "") the archive must hold one array only. */
fusec_status fc_npz_open(fc_reader *s, const fc_alloc *alloc, const char *path, const char *key,
                         fc_error *e);

typedef struct fc_npz_item {
    const char *name; /* without ".npy" */
    const fc_array *array;
} fc_npz_item;

/* Writes all arrays to an opened output; the caller commits it. */
fusec_status fc_npz_write(fc_outfile *out, const fc_npz_item *items, size_t count, fc_error *e);

#endif
