/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* array.c - sizes and texts about arrays and files, used by all readers and writers. */
#include "frontend/io/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

bool fc_shape_bytes(int rank, const int64_t *shape, size_t itemsize, int64_t *count,
                    int64_t *bytes) {
    int64_t span = (int64_t)itemsize; /* the product with zeros counted as one */
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0) return false;
        if (shape[i] == 0)
            empty = true;
        else if (!fc_mul_ok(span, shape[i], &span))
            return false;
    }
    *bytes = empty ? 0 : span;
    *count = *bytes / (int64_t)itemsize;
    return true;
}

fc_array fc_array_parts(const fc_array *a) {
    fc_array r = *a;
    r.dtype = fc_part_dtype(a->dtype);
    if (!r.rank) r.shape[r.rank++] = 1;
    r.shape[r.rank - 1] *= 2;
    return r;
}

const char *fc_type_text(char *buf, size_t size, fusec_dtype dtype, int rank,
                         const int64_t *shape) {
    size_t n = (size_t)snprintf(buf, size, "%s", fc_dtypes[dtype].name);
    for (int i = 0; i < rank; i++) {
        char part[32];
        size_t len = (size_t)snprintf(part, sizeof part, "%s%" PRId64, i ? ", " : "[", shape[i]);
        if (n + len + 6 >= size) {
            snprintf(buf + n, size - n, ",...");
            n = strlen(buf);
            break;
        }
        memcpy(buf + n, part, len + 1);
        n += len;
    }
    if (rank > 0 && n + 1 < size) memcpy(buf + n, "]", 2);
    return buf;
}

const char *fc_commas(char buf[FC_COMMAS], int64_t v) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRId64, v);
    char *out = buf;
    for (int i = 0; i < n; i++) {
        *out++ = digits[i];
        int left = n - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-') *out++ = ',';
    }
    *out = 0;
    return buf;
}

const char *fc_errno_text(int err, char buf[32]) {
    switch (err) {
    case ENOENT: return "no such file or directory";
    case EACCES:
    case EPERM: return "permission denied";
    case EISDIR: return "it is a directory";
    case ENOTDIR: return "a part of the path is not a directory";
    case ENAMETOOLONG: return "the name is too long";
    case ELOOP: return "too many symbolic links";
    case EMFILE:
    case ENFILE: return "too many open files";
    case ENOSPC: return "no space left on the device";
    case EDQUOT: return "the disk quota is used up";
    case EFBIG: return "the file is too large for the file system";
    case EROFS: return "the file system is read-only";
    case EPIPE: return "the reader has gone";
    case EIO: return "an input/output error";
    case EBADF: return "the file is not open";
    case ENXIO:
    case ENODEV: return "no such device";
    case ENOMEM: return "out of memory";
    default: snprintf(buf, 32, "system error %d", err); return buf;
    }
}

const char *fc_shown_name(char *buf, size_t size, const char *name) {
    size_t len = strlen(name);
    if (len < size) {
        memcpy(buf, name, len + 1);
    } else {
        size_t half = (size - 4) / 2;
        memcpy(buf, name, half);
        memcpy(buf + half, "...", 3);
        memcpy(buf + half + 3, name + len - half, half + 1);
    }
    for (char *c = buf; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    }
    return buf;
}
