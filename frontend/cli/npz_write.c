/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* npz_write.c - writes arrays as stored entries of a zip archive.
 *
 * Lengths are known before anything is written, so no entry needs to be patched afterwards and the
 * output may be a pipe. Entries carry zip64 sizes only where 32 bits do not hold them. */
#include "frontend/cli/npz.h"

#include <zlib.h>

typedef struct placed {
    int64_t at, size;
    uint32_t crc;
} placed;

static unsigned char *put16(unsigned char *p, uint32_t v) {
    p[0] = (unsigned char)v;
    p[1] = (unsigned char)(v >> 8);
    return p + 2;
}
static unsigned char *put32(unsigned char *p, uint32_t v) {
    return put16(put16(p, v), v >> 16);
}
static unsigned char *put64(unsigned char *p, uint64_t v) {
    return put32(put32(p, (uint32_t)v), (uint32_t)(v >> 32));
}

static uint32_t clamp32(int64_t v) {
    return v >= 0xffffffff ? 0xffffffffu : (uint32_t)v;
}

static uint32_t crc_of(uint32_t crc, const void *data, int64_t n) {
    const unsigned char *p = data;
    while (n > 0) {
        uInt k = n < (1 << 30) ? (uInt)n : 1u << 30;
        crc = (uint32_t)crc32(crc, p, k);
        p += k;
        n -= k;
    }
    return crc;
}

/* Size and checksum of the .npy file that fc_npy_write will make. */
static bool measure(const fc_array *a, placed *p) {
    char header[FC_NPY_HEADER_ROOM];
    int64_t count, bytes;
    bool widen = a->dtype == FUSEC_BF16;
    if (!fc_shape_bytes(a->rank, a->shape, fc_dtypes[a->dtype].bytes, &count, &bytes)) return false;
    size_t n = fc_npy_header(header, a->dtype, a->rank, a->shape);
    p->crc = crc_of(0, header, (int64_t)n);
    if (widen) {
        const uint16_t *h = a->data;
        for (int64_t i = 0; i < count; i++) {
            float f = fc_bf16_to_float(h[i]);
            p->crc = (uint32_t)crc32(p->crc, (const void *)&f, sizeof f);
        }
        bytes *= 2;
    } else {
        p->crc = crc_of(p->crc, a->data, bytes);
    }
    p->size = bytes + (int64_t)n;
    return true;
}

/* The fields that the local header and the directory share, from "version needed" to the
 * lengths. */
static unsigned char *common_fields(unsigned char *h, const placed *p, size_t name, size_t extra,
                                    bool big) {
    h = put16(h, big ? 45 : 20);
    h = put16(h, 1u << 11); /* names are UTF-8 */
    h = put16(h, 0);        /* stored */
    h = put16(h, 0);
    h = put16(h, 33); /* 1980-01-01: the same arrays give the same file */
    h = put32(h, p->crc);
    h = put32(h, big ? 0xffffffffu : (uint32_t)p->size);
    h = put32(h, big ? 0xffffffffu : (uint32_t)p->size);
    h = put16(h, (uint32_t)name);
    return put16(h, (uint32_t)extra);
}

static fusec_status write_name(fc_outfile *out, const char *name, fc_error *e) {
    FC_TRY(fc_outfile_write(out, name, strlen(name), e));
    return fc_outfile_write(out, ".npy", 4, e);
}

static fusec_status write_local(fc_outfile *out, const fc_npz_item *item, const placed *p,
                                fc_error *e) {
    unsigned char head[30], extra[20];
    bool big = p->size >= 0xffffffff;
    common_fields(put32(head, 0x04034b50), p, strlen(item->name) + 4, big ? 20 : 0, big);
    FC_TRY(fc_outfile_write(out, head, sizeof head, e));
    FC_TRY(write_name(out, item->name, e));
    if (big) {
        put64(put64(put16(put16(extra, 1), 16), (uint64_t)p->size), (uint64_t)p->size);
        FC_TRY(fc_outfile_write(out, extra, sizeof extra, e));
    }
    return fc_npy_write(out, item->array, e);
}

static fusec_status write_entry(fc_outfile *out, const fc_npz_item *item, const placed *p,
                                fc_error *e) {
    unsigned char head[46] = {0}, extra[28], *x = extra + 4;
    bool big = p->size >= 0xffffffff, far = p->at >= 0xffffffff;
    if (big) x = put64(put64(x, (uint64_t)p->size), (uint64_t)p->size);
    if (far) x = put64(x, (uint64_t)p->at);
    size_t n = x == extra + 4 ? 0 : (size_t)(x - extra);
    put16(put16(extra, 1), (uint32_t)(x - extra - 4));
    unsigned char *h = put16(put32(head, 0x02014b50), big || far ? 45 : 20);
    common_fields(h, p, strlen(item->name) + 4, n, big || far);
    put32(head + 20, clamp32(p->size));
    put32(head + 24, clamp32(p->size));
    put32(head + 42, clamp32(p->at));
    FC_TRY(fc_outfile_write(out, head, sizeof head, e));
    FC_TRY(write_name(out, item->name, e));
    return fc_outfile_write(out, extra, n, e);
}

static fusec_status write_end(fc_outfile *out, size_t count, int64_t at, int64_t size,
                              fc_error *e) {
    unsigned char big[76], end[22] = {0};
    if (at >= 0xffffffff || size >= 0xffffffff || count >= 0xffff) {
        unsigned char *p = put64(put32(big, 0x06064b50), 44);
        p = put32(put32(put16(put16(p, 45), 45), 0), 0);
        p = put64(put64(put64(put64(p, count), count), (uint64_t)size), (uint64_t)at);
        p = put64(put32(put32(p, 0x07064b50), 0), (uint64_t)(at + size));
        put32(p, 1);
        FC_TRY(fc_outfile_write(out, big, sizeof big, e));
    }
    uint32_t n = count >= 0xffff ? 0xffff : (uint32_t)count;
    unsigned char *p = put16(put16(put32(put32(end, 0x06054b50), 0), n), n);
    put32(put32(p, clamp32(size)), clamp32(at));
    return fc_outfile_write(out, end, sizeof end, e);
}

fusec_status fc_npz_write(fc_outfile *out, const fc_npz_item *items, size_t count, fc_error *e) {
    enum { MOST = 256 }; /* results of a program */
    placed at[MOST];
    if (count > MOST)
        return fc_fail(e, FUSEC_LIMIT, "%s: at most 256 arrays go into one archive", out->name);
    int64_t start = out->at;
    out->expected = -1; /* of several arrays */
    for (size_t i = 0; i < count; i++) {
        if (!measure(items[i].array, &at[i]))
            return fc_fail(e, FUSEC_INVALID, "cannot write %s: an array is too large", out->name);
        at[i].at = out->at - start;
        FC_TRY(write_local(out, &items[i], &at[i], e));
    }
    int64_t directory = out->at - start;
    for (size_t i = 0; i < count; i++) FC_TRY(write_entry(out, &items[i], &at[i], e));
    return write_end(out, count, directory, out->at - start - directory, e);
}
