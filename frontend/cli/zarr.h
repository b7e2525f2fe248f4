/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* zarr.h - arrays in chunks: folders of Zarr, versions 2 and 3.
 *
 * Reading: as a source of dense bytes in C order (frontend/io/reader.h) with a header like that of
 * an .npy file, so that all that reads those reads stores. A row of chunks is in memory at a time.
 * Missing chunks are the fill value; codecs are bytes (both byte orders), transpose, gzip, zlib,
 * zstd, blosc, lz4, crc32c and sharding_indexed. All in a store is hostile input: every size is
 * checked before it is used, and a chunk that does not decode to what it should is an error that
 * names it.
 *
 * Writing: to an fc_outfile, as dense bytes in C order. The folder appears whole or not at all. A
 * chunk of zeros is not written, as zero is the fill value. */
#ifndef FUSEC_FRONTEND_CLI_ZARR_H
#define FUSEC_FRONTEND_CLI_ZARR_H

#include "frontend/cli/codec.h"
#include "frontend/io/npy.h"

enum { FC_ZARR_CODECS = 4 };

/* How the elements of a chunk become bytes. */
typedef struct fc_zarr_chain {
    uint8_t axis[FC_IO_RANK]; /* of the array, for each axis of what is stored */
    bool swap;                /* the other byte order */
    int ncodecs;
    fc_codec codecs[FC_ZARR_CODECS]; /* in the order of encoding */
} fc_zarr_chain;

typedef struct fc_zarr {
    int version, rank;
    fusec_dtype dtype;
    int64_t shape[FC_IO_RANK];
    int64_t chunk[FC_IO_RANK]; /* of what is encoded at once: the inner ones, where there are shards
                                */
    int64_t per[FC_IO_RANK];   /* chunks in a file, along each axis */
    bool sharded, index_first;
    fc_zarr_chain chain, index;
    unsigned char fill[16];
    char separator;
    char name[200]; /* as messages show it */
} fc_zarr;

/* Whether a path is the folder of an array, or of a group of arrays (which fc_zarr_read_meta
 * refuses, with their names). */
bool fc_zarr_is(const char *path);
bool fc_zarr_is_array(const char *path);
fusec_status fc_zarr_read_meta(const fc_alloc *alloc, const char *path, fc_zarr *z, fc_error *e);
/* A dtype as NumPy writes it, "<f4"; false: none of those. */
bool fc_zarr_descr(const char *text, fusec_dtype *out, bool *swap);
/* The text of zarr.json or .zarray for an array that is written. */
void fc_zarr_meta_text(const fc_zarr *z, fc_str *out);
/* Where in the folder the file of chunks `at` is: "/c/0/1". */
void fc_zarr_key(const fc_zarr *z, const int64_t *at, fc_str *out);

/* Opens an array as a source; `h` gets what fc_npy_read_part and the like need. */
fusec_status fc_zarr_open(fc_reader *s, const fc_alloc *alloc, const char *path, fc_npy *h,
                          fc_error *e);

/* Opens an array to be written. `like`, where it is not NULL, is a store whose version is taken,
 * and whose chunks, where its shape is the same. `how` says what it became. */
fusec_status fc_zarr_create(fc_outfile *o, const fc_alloc *alloc, const char *path,
                            fusec_dtype dtype, int rank, const int64_t *shape, const char *like,
                            fc_error *e);

#endif
