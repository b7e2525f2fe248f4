/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* npy.h - NumPy's .npy format.
 *
 * Reading: versions 1.0 to 3.0, both byte orders, C and Fortran order; what arrives in memory is
 * always native, C order, and bools are 0 or 1. Everything about the header is checked before
 * anything is allocated, and the bytes of data must be exactly those the header promises.
 *
 *     fc_reader in;  fc_npy h;
 *     FC_TRY(fc_reader_open(&in, "a.npy", e));
 *     FC_TRY(fc_npy_read_header(&in, &h, e));          // h.dtype, h.rank, h.shape, h.bytes
 *     FC_TRY(fc_npy_read_data(&in, &h, alloc, memory, e));
 *     fc_reader_close(&in);
 *
 * Writing: version 1.0, data on a multiple of 64 bytes. this format has no bf16: such arrays are written as
 * f32, which holds them exactly. */
#ifndef FUSEC_FRONTEND_IO_NPY_H
#define FUSEC_FRONTEND_IO_NPY_H

#include "frontend/io/array.h"
#include "frontend/io/outfile.h"
#include "frontend/io/reader.h"

#define FC_NPY_HEADER_MAX 10000

typedef struct fc_npy {
    fusec_dtype dtype;
    bool swap;    /* the file has the other byte order */
    bool fortran; /* the first axis varies fastest */
    int rank;
    int64_t shape[FC_IO_RANK];
    int64_t count, bytes; /* elements and bytes of data */
    int64_t offset;       /* where the data starts */
} fc_npy;

/* Reads and checks the header; for a source of known size also that the data is complete. */
fusec_status fc_npy_read_header(fc_reader *in, fc_npy *h, fc_error *e);

/* Reads the data into `dst` (h->bytes) and checks that nothing follows. Fortran order needs as much
 * memory again while it is turned round. */
fusec_status fc_npy_read_data(fc_reader *in, const fc_npy *h, const fc_alloc *alloc, void *dst,
                              fc_error *e);

/* The same in parts, of data in C order: the next `n` bytes, `done` were read before; what reading
 * all says at its end. */
fusec_status fc_npy_read_part(fc_reader *in, const fc_npy *h, int64_t done, size_t n, void *dst,
                              fc_error *e);
fusec_status fc_npy_read_end(fc_reader *in, const fc_npy *h, fc_error *e);

/* Elements as a file has them, in place: native byte order, and bools 0 or 1. */
void fc_npy_make_native(unsigned char *p, size_t n, const fc_npy *h);

/* Reads bytes that have no header, in native order, into a dense array: exactly `bytes` of them. */
fusec_status fc_raw_read(fc_reader *in, fusec_dtype dtype, int rank, const int64_t *shape,
                         void *dst, fc_error *e);

/* The header of an array, padded; returns its length. */
#define FC_NPY_HEADER_ROOM 1024
size_t fc_npy_header(char out[FC_NPY_HEADER_ROOM], fusec_dtype dtype, int rank,
                     const int64_t *shape);

/* Writes header and data; the data alone. */
fusec_status fc_npy_write(fc_outfile *out, const fc_array *a, fc_error *e);
fusec_status fc_npy_write_data(fc_outfile *out, const fc_array *a, fc_error *e);
/* What elements are written as. */
static inline fusec_dtype fc_npy_stored_as(fusec_dtype t) {
    return t == FUSEC_BF16 ? FUSEC_F32 : t;
}
/* Writes a file whole or not at all. `*written` gets its size; may be NULL. */
fusec_status fc_npy_write_file(const fc_alloc *alloc, const char *path, const fc_array *a,
                               int64_t *written, fc_error *e);
/* A remark about what was written instead of `dtype` (bf16), or NULL. */
const char *fc_npy_write_note(fusec_dtype dtype);

#endif
