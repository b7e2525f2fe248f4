/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* npy_read.c - data of an .npy file: exact length, byte order, Fortran order. The header is in
 * npy_header.c. */
#include "frontend/io/npy.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- one piece of data, brought into native form --------------------------------------------- */

static void swap_bytes(unsigned char *p, size_t n, size_t itemsize) {
    if (itemsize == 2) {
        for (size_t i = 0; i + 2 <= n; i += 2) {
            uint16_t v;
            memcpy(&v, p + i, 2);
            v = __builtin_bswap16(v);
            memcpy(p + i, &v, 2);
        }
    } else if (itemsize == 4) {
        for (size_t i = 0; i + 4 <= n; i += 4) {
            uint32_t v;
            memcpy(&v, p + i, 4);
            v = __builtin_bswap32(v);
            memcpy(p + i, &v, 4);
        }
    } else if (itemsize == 8) {
        for (size_t i = 0; i + 8 <= n; i += 8) {
            uint64_t v;
            memcpy(&v, p + i, 8);
            v = __builtin_bswap64(v);
            memcpy(p + i, &v, 8);
        }
    }
}

void fc_npy_make_native(unsigned char *p, size_t n, const fc_npy *h) {
    if (h->dtype == FUSEC_BOOL) {
        for (size_t i = 0; i < n; i++) p[i] = p[i] != 0;
    } else if (h->swap) {
        swap_bytes(p, n,
                   fc_dtypes[fc_is_complex(h->dtype) ? fc_part_dtype(h->dtype) : h->dtype].bytes);
    }
}

/* ---- Fortran order --------------------------------------------------------------------------- */

/* dst[i * dst_row + j] = src[j * src_row + i] in tiles that fit the first cache. */
static void transpose_plane(char *dst, int64_t dst_row, const char *src, int64_t src_row,
                            int64_t rows, int64_t cols, size_t size) {
    enum { TILE = 32 };
    for (int64_t i0 = 0; i0 < rows; i0 += TILE) {
        int64_t i1 = i0 + TILE < rows ? i0 + TILE : rows;
        for (int64_t j0 = 0; j0 < cols; j0 += TILE) {
            int64_t j1 = j0 + TILE < cols ? j0 + TILE : cols;
            for (int64_t i = i0; i < i1; i++) {
                char *d = dst + (size_t)(i * dst_row + j0) * size;
                const char *s = src + (size_t)(j0 * src_row + i) * size;
                for (int64_t j = j0; j < j1; j++, d += size, s += (size_t)src_row * size) {
                    switch (size) {
                    case 1: *d = *s; break;
                    case 2: memcpy(d, s, 2); break;
                    case 4: memcpy(d, s, 4); break;
                    case 8: memcpy(d, s, 8); break;
                    default: memcpy(d, s, 16); break;
                    }
                }
            }
        }
    }
}

/* `src` has the first axis fastest, `dst` the last. The first and the last axis of the array span
 * one plane; the axes between them are counted through. */
static void fortran_to_c(void *dst, const void *src, const fc_npy *h) {
    int64_t shape[FC_IO_RANK], to[FC_IO_RANK], from[FC_IO_RANK], at[FC_IO_RANK] = {0};
    int rank = 0;
    size_t size = fc_dtypes[h->dtype].bytes;
    for (int i = 0; i < h->rank; i++) {
        if (h->shape[i] != 1) shape[rank++] = h->shape[i];
    }
    if (rank < 2 || h->count == 0) {
        memcpy(dst, src, (size_t)h->bytes);
        return;
    }
    int64_t step = 1;
    for (int i = 0; i < rank; step *= shape[i++]) from[i] = step;
    step = 1;
    for (int i = rank - 1; i >= 0; step *= shape[i--]) to[i] = step;
    int last = rank - 1;
    for (;;) {
        int64_t d = 0, s = 0;
        for (int i = 1; i < last; i++) {
            d += at[i] * to[i];
            s += at[i] * from[i];
        }
        transpose_plane((char *)dst + (size_t)d * size, to[0], (const char *)src + (size_t)s * size,
                        from[last], shape[0], shape[last], size);
        int i = last - 1;
        while (i >= 1 && ++at[i] == shape[i]) at[i--] = 0;
        if (i < 1) break;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static fusec_status shrunk(fc_reader *in, const fc_npy *h, int64_t got, fc_error *e) {
    char type[200], want[FC_COMMAS], have[FC_COMMAS], off[FC_COMMAS];
    bool pipe = in->size < 0;
    return fc_fail(e, FUSEC_NPY_TRUNCATED,
                   "%s %s: its header promises %s bytes of data, %s came\n"
                   "  header: %s, %s order, data starts at byte %s\n"
                   "  help: %s",
                   in->name, pipe ? "is cut short" : "became shorter while it was read",
                   fc_commas(want, h->bytes), fc_commas(have, got),
                   fc_type_text(type, sizeof type, h->dtype, h->rank, h->shape),
                   h->fortran ? "Fortran" : "C", fc_commas(off, h->offset),
                   pipe ? "did the program that writes it fail?"
                        : "run it again when the file is no longer being written");
}

static fusec_status expect_end(fc_reader *in, fc_error *e, fusec_status code, int64_t bytes) {
    char one, want[FC_COMMAS];
    size_t got;
    FC_TRY(fc_reader_fill(in, &one, 1, &got, e));
    if (got == 0) return FUSEC_OK;
    return fc_fail(e, code, "%s goes on after its %s bytes of data", in->name,
                   fc_commas(want, bytes));
}

fusec_status fc_npy_read_part(fc_reader *in, const fc_npy *h, int64_t done, size_t n, void *dst,
                              fc_error *e) {
    enum { PIECE = 1 << 20 };
    for (size_t at = 0; at < n;) {
        const size_t want = n - at < PIECE ? n - at : PIECE;
        size_t got;
        FC_TRY(fc_reader_fill(in, (char *)dst + at, want, &got, e));
        fc_npy_make_native((unsigned char *)dst + at, got, h);
        at += got;
        if (got < want) return shrunk(in, h, done + (int64_t)at, e);
    }
    return FUSEC_OK;
}

fusec_status fc_npy_read_end(fc_reader *in, const fc_npy *h, fc_error *e) {
    return expect_end(in, e, FUSEC_NPY_FORMAT, h->bytes);
}

fusec_status fc_npy_read_data(fc_reader *in, const fc_npy *h, const fc_alloc *alloc, void *dst,
                              fc_error *e) {
    const bool turn = h->fortran && h->rank > 1 && h->count > 0;
    void *to = dst;
    if (turn && !(to = fc_malloc(alloc, (size_t)h->bytes))) return fc_oom(e);
    fusec_status s = fc_npy_read_part(in, h, 0, (size_t)h->bytes, to, e);
    if (!s) s = fc_npy_read_end(in, h, e);
    if (turn) {
        if (!s) fortran_to_c(dst, to, h);
        fc_free(alloc, to);
    }
    return s;
}

fusec_status fc_raw_read(fc_reader *in, fusec_dtype dtype, int rank, const int64_t *shape,
                         void *dst, fc_error *e) {
    fc_npy h = {.dtype = dtype, .rank = rank};
    char type[200], want[FC_COMMAS], have[FC_COMMAS];
    if (!fc_shape_bytes(rank, shape, fc_dtypes[dtype].bytes, &h.count, &h.bytes))
        return fc_fail(e, FUSEC_INPUT_SHAPE, "the size of %s does not fit into 64 bits", in->name);
    fc_type_text(type, sizeof type, dtype, rank, shape);
    size_t got = 0;
    if (in->size < 0 || in->size == h.bytes) {
        FC_TRY(fc_reader_fill(in, dst, (size_t)h.bytes, &got, e));
        if ((int64_t)got == h.bytes) {
            fc_npy_make_native(dst, got, &h);
            return expect_end(in, e, FUSEC_IO, h.bytes);
        }
    }
    return fc_fail(e, FUSEC_IO, "%s has %s bytes, but %s takes %s", in->name,
                   fc_commas(have, in->size < 0 ? (int64_t)got : in->size), type,
                   fc_commas(want, h.bytes));
}
