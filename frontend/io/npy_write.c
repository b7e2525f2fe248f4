/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* npy_write.c - writing .npy: version 1.0, C order, data aligned to 64 bytes. */
#include "frontend/io/npy.h"

#include <inttypes.h>
#include <stdio.h>

const char *fc_npy_write_note(fusec_dtype dtype) {
    return dtype == FUSEC_BF16 ? "this format has no bf16: written as f32, which holds the same values"
                               : NULL;
}

size_t fc_npy_header(char out[FC_NPY_HEADER_ROOM], fusec_dtype dtype, int rank,
                     const int64_t *shape) {
    enum { START = 10 }; /* magic, version, length */
    const fc_dtype_info *info = &fc_dtypes[fc_npy_stored_as(dtype)];
    bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    char *text = out + START;
    size_t room = FC_NPY_HEADER_ROOM - START - 80, n;
    n = (size_t)snprintf(text, room, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                         info->bytes == 1 ? '|'
                         : big            ? '>'
                                          : '<',
                         info->npy + 1);
    for (int i = 0; i < rank; i++)
        n += (size_t)snprintf(text + n, room - n, "%s%" PRId64, i ? ", " : "", shape[i]);
    n += (size_t)snprintf(text + n, room - n, rank == 1 ? ",), }" : "), }");
    size_t total = (START + n + 1 + 63) / 64 * 64;
    memset(text + n, ' ', total - START - n);
    out[total - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((total - START) & 0xff);
    out[9] = (char)((total - START) >> 8);
    return total;
}

static fusec_status write_widened(fc_outfile *out, const uint16_t *p, int64_t count, fc_error *e) {
    float piece[4096];
    while (count > 0) {
        int64_t n = count < (int64_t)FC_COUNT(piece) ? count : (int64_t)FC_COUNT(piece);
        for (int64_t i = 0; i < n; i++) piece[i] = fc_bf16_to_float(p[i]);
        FC_TRY(fc_outfile_write(out, piece, (size_t)n * sizeof(float), e));
        p += n;
        count -= n;
    }
    return FUSEC_OK;
}

static fusec_status bytes_of(const fc_outfile *out, const fc_array *a, int64_t *count,
                             int64_t *bytes, fc_error *e) {
    if (a->rank > FC_IO_RANK ||
        !fc_shape_bytes(a->rank, a->shape, fc_dtypes[a->dtype].bytes, count, bytes))
        return fc_fail(e, FUSEC_INVALID, "cannot write %s: the array is too large", out->name);
    return FUSEC_OK;
}

fusec_status fc_npy_write_data(fc_outfile *out, const fc_array *a, fc_error *e) {
    int64_t count, bytes;
    FC_TRY(bytes_of(out, a, &count, &bytes, e));
    if (!out->expected) out->expected = out->at + (a->dtype == FUSEC_BF16 ? 2 * bytes : bytes);
    if (a->dtype == FUSEC_BF16) return write_widened(out, a->data, count, e);
    return fc_outfile_write(out, a->data, (size_t)bytes, e);
}

fusec_status fc_npy_write(fc_outfile *out, const fc_array *a, fc_error *e) {
    char header[FC_NPY_HEADER_ROOM];
    int64_t count, bytes;
    FC_TRY(bytes_of(out, a, &count, &bytes, e));
    FC_TRY(fc_outfile_write(out, header, fc_npy_header(header, a->dtype, a->rank, a->shape), e));
    return fc_npy_write_data(out, a, e);
}

fusec_status fc_npy_write_file(const fc_alloc *alloc, const char *path, const fc_array *a,
                               int64_t *written, fc_error *e) {
    fc_outfile out;
    FC_TRY(fc_outfile_open(&out, alloc, path, e));
    fusec_status s = fc_npy_write(&out, a, e);
    if (written) *written = out.at;
    if (s == FUSEC_OK) return fc_outfile_commit(&out, e);
    fc_outfile_abandon(&out);
    return s;
}
