/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* npy_header.c - the header of an .npy file.
 *
 * The header is the text of a Python dict with exactly the keys descr, fortran_order and shape. It
 * is read into a fixed buffer and scanned once, without recursion; anything that is not needed is
 * refused. */
#include "frontend/io/npy.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct scan {
    const char *p, *end;
    fc_reader *in;
    fc_error *e;
} scan;

static fusec_status bad(scan *s, const char *what) {
    return fc_fail(s->e, FUSEC_NPY_FORMAT, "%s is not an NPY file fusec can read: %s", s->in->name,
                   what);
}

static void spaces(scan *s) {
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

/* Skips spaces, then takes the character c if it stands there. */
static bool take(scan *s, char c) {
    spaces(s);
    if (s->p == s->end || *s->p != c) return false;
    s->p++;
    return true;
}

/* A quoted string without escapes. */
static bool take_string(scan *s, const char **text, size_t *len) {
    spaces(s);
    if (s->p == s->end || (*s->p != '\'' && *s->p != '"')) return false;
    char quote = *s->p++;
    const char *start = s->p;
    while (s->p < s->end && *s->p != quote) {
        if (*s->p == '\\' || *s->p == '\n') return false;
        s->p++;
    }
    if (s->p == s->end) return false;
    *text = start;
    *len = (size_t)(s->p++ - start);
    return true;
}

static bool take_word(scan *s, const char *word) {
    size_t n = strlen(word);
    spaces(s);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0) return false;
    s->p += n;
    return true;
}

/* A size; Python 2 wrote an L behind it. */
static fusec_status take_size(scan *s, int64_t *out) {
    spaces(s);
    if (s->p < s->end && *s->p == '-') return bad(s, "a size in its shape is negative");
    if (s->p == s->end || *s->p < '0' || *s->p > '9') return bad(s, "its shape is not a tuple");
    int64_t v = 0;
    for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++) {
        if (!fc_mul_ok(v, 10, &v) || !fc_add_ok(v, *s->p - '0', &v))
            return bad(s, "a size in its shape does not fit into 64 bits");
    }
    if (s->p < s->end && *s->p == 'L') s->p++;
    *out = v;
    return FUSEC_OK;
}

static fusec_status read_shape(scan *s, fc_npy *h) {
    if (!take(s, '(')) return bad(s, "its shape is not a tuple");
    while (!take(s, ')')) {
        if (h->rank == FC_IO_RANK) return bad(s, "it has more than 32 axes");
        FC_TRY(take_size(s, &h->shape[h->rank++]));
        if (take(s, ',')) continue;
        if (h->rank == 1 || !take(s, ')')) return bad(s, "its shape is not a tuple");
        break;
    }
    return FUSEC_OK;
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static const struct {
    char kind;
    const char *what, *help;
} refused[] = {
    {'O', "Python objects", "numbers among them are saved by array.astype('f8')"},
    {'V', "raw bytes", NULL},
    {'S', "byte strings", NULL},
    {'a', "byte strings", NULL},
    {'U', "text", NULL},
    {'c', "complex numbers of an unusual size", "save array.astype('c8')"},
    {'M', "dates", "save array.astype('i8')"},
    {'m', "time differences", "save array.astype('i8')"},
    {'f', "floats of an unusual size", "save array.astype('f8')"},
    {'g', "floats of an unusual size", "save array.astype('f8')"},
};

/* `text` is the descr as it stands in the header, up to where it ends. */
static fusec_status refuse_descr(scan *s, const char *text, size_t len, const char *what,
                                 const char *help) {
    char shown[72];
    size_t n = len < sizeof shown - 4 ? len : sizeof shown - 4;
    for (size_t i = 0; i < n; i++) shown[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    memcpy(shown + n, n < len ? "..." : "", n < len ? 4 : 1);
    return fc_fail(s->e, FUSEC_NPY_FORMAT,
                   "%s holds elements of dtype %s (%s), which fusec does not take\n"
                   "  taken: bool, i8 to i64, u8 to u64, f16, f32, f64%s%s",
                   s->in->name, shown, what, help ? "\n  help: " : "", help ? help : "");
}

static fusec_status refuse_kind(scan *s, const char *text, size_t len, const char *code, size_t n) {
    if (n == 2 && code[0] == 'V' && code[1] == '2')
        return refuse_descr(s, text, len, "raw bytes",
                            "bfloat16 arrays are saved like this; save array.astype('f4')");
    for (size_t i = 0; n && i < FC_COUNT(refused); i++)
        if (refused[i].kind == code[0])
            return refuse_descr(s, text, len, refused[i].what, refused[i].help);
    return refuse_descr(s, text, len, "unknown", NULL);
}

/* The end of a list of fields: where its bracket closes, outside quotes; NULL if it does not. */
static const char *list_end(const char *p, const char *end) {
    int depth = 0;
    char quote = 0;
    for (; p < end; p++) {
        if (quote) {
            if (*p == quote) quote = 0;
        } else if (*p == '\'' || *p == '"') {
            quote = *p;
        } else if (*p == '[' || *p == '(') {
            depth++;
        } else if ((*p == ']' || *p == ')') && --depth == 0) {
            return p + 1;
        }
    }
    return NULL;
}

/* [('x', '<f4'), ('y', '<f4')] */
static fusec_status refuse_records(scan *s) {
    const char *start = s->p, *end = list_end(s->p, s->end), *field;
    char help[120];
    size_t len;
    bool named = end && take(s, '[') && take(s, '(') && take_string(s, &field, &len) && len < 40;
    for (size_t i = 0; named && i < len; i++) named = field[i] > 0x20 && field[i] < 0x7f;
    if (!end) return bad(s, "its descr is not a string");
    if (named) snprintf(help, sizeof help, "save one field: array['%.*s'].copy()", (int)len, field);
    return refuse_descr(s, start, (size_t)(end - start), "records", named ? help : NULL);
}

static fusec_status read_descr(scan *s, fc_npy *h) {
    spaces(s);
    const char *start = s->p, *text;
    size_t len;
    if (s->p < s->end && *s->p == '[') return refuse_records(s);
    if (!take_string(s, &text, &len)) return bad(s, "its descr is not a string");
    char order = '=';
    const char *code = text;
    size_t n = len;
    if (n && strchr("<>=|", code[0])) {
        order = *code++;
        n--;
    }
    if (n == 1 && code[0] == '?') code = "b1", n = 2;
    for (int t = 0; t < FC_DTYPE_ALL; t++) {
        const char *npy = fc_dtypes[t].npy;
        if (!npy || n != strlen(npy + 1) || memcmp(npy + 1, code, n) != 0) continue;
        h->dtype = (fusec_dtype)t;
        /* "|" says that byte order does not apply. */
        if (order == '|' && fc_dtypes[t].bytes > 1) break;
        bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
        h->swap = fc_dtypes[t].bytes > 1 && order == (little ? '>' : '<');
        return FUSEC_OK;
    }
    return refuse_kind(s, start, (size_t)(s->p - start), code, n);
}

static fusec_status read_dict(scan *s, fc_npy *h) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    int seen = 0;
    if (!take(s, '{')) return bad(s, "its header is not a dict");
    while (!take(s, '}')) {
        const char *key;
        size_t len;
        if (!take_string(s, &key, &len) || !take(s, ':'))
            return bad(s, "its header is not a dict of three entries");
        int which = len == 5 && !memcmp(key, "descr", 5)             ? DESCR
                    : len == 13 && !memcmp(key, "fortran_order", 13) ? ORDER
                    : len == 5 && !memcmp(key, "shape", 5)           ? SHAPE
                                                                     : 0;
        if (!which || (seen & which))
            return bad(s, "its header does not have exactly descr, fortran_order and shape");
        seen |= which;
        if (which == DESCR) {
            FC_TRY(read_descr(s, h));
        } else if (which == SHAPE) {
            FC_TRY(read_shape(s, h));
        } else {
            h->fortran = take_word(s, "True");
            if (!h->fortran && !take_word(s, "False"))
                return bad(s, "its fortran_order is neither True nor False");
        }
        if (take(s, ',')) continue;
        if (!take(s, '}')) return bad(s, "its header is not a dict of three entries");
        break;
    }
    spaces(s);
    if (s->p != s->end) return bad(s, "something stands behind the dict of its header");
    if (seen != (DESCR | ORDER | SHAPE))
        return bad(s, "its header does not have exactly descr, fortran_order and shape");
    return FUSEC_OK;
}

/* ---- length ---------------------------------------------------------------------------------- */

/* ", ends after row 64 of 100": counts what the data is made of, slowest axis first. */
static void where_it_ends(const fc_npy *h, int64_t have, char *out, size_t size) {
    int axis = h->fortran ? h->rank - 1 : 0;
    out[0] = 0;
    if (h->rank == 0 || h->shape[axis] == 0) return;
    const char *what = h->rank == 1 ? "element" : h->fortran ? "column" : "row";
    int64_t unit = h->bytes / h->shape[axis], whole = have / unit;
    snprintf(out, size, ", ends %s %s %" PRId64 " of %" PRId64,
             have % unit ? "inside"
             : whole     ? "after"
                         : "before",
             what, have % unit || !whole ? whole + 1 : whole, h->shape[axis]);
}

static fusec_status check_length(fc_reader *in, const fc_npy *h, fc_error *e) {
    int64_t have = in->size - h->offset;
    if (in->size < 0 || have == h->bytes) return FUSEC_OK;
    char type[200], ends[80], want[FC_COMMAS], got[FC_COMMAS], off[FC_COMMAS], all[FC_COMMAS];
    fc_commas(want, h->bytes);
    fc_commas(got, have);
    fc_commas(off, h->offset);
    fc_commas(all, in->size);
    fc_type_text(type, sizeof type, h->dtype, h->rank, h->shape);
    const char *order = h->fortran ? "Fortran" : "C";
    if (have > h->bytes)
        return fc_fail(e, FUSEC_NPY_FORMAT,
                       "%s is too long: its header promises %s bytes of data, the file has %s\n"
                       "  header: %s, %s order, data starts at byte %s",
                       in->name, want, got, type, order, off);
    where_it_ends(h, have, ends, sizeof ends);
    return fc_fail(e, FUSEC_NPY_TRUNCATED,
                   "%s is cut short: its header promises %s bytes of data, the file has %s\n"
                   "  header: %s, %s order, data starts at byte %s\n"
                   "  file:   %s bytes%s\n"
                   "  help: write the file again; was it still being written?",
                   in->name, want, got, type, order, off, all, ends);
}

/* ---- the beginning of the file --------------------------------------------------------------- */

static bool is_text(const unsigned char *head, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((head[i] < 0x20 && !strchr("\t\r\n", head[i])) || head[i] >= 0x7f || !head[i])
            return false;
    return n > 0;
}

static fusec_status not_npy(fc_reader *in, const unsigned char *head, size_t got, fc_error *e) {
    if (got == 0) return fc_fail(e, FUSEC_NPY_TRUNCATED, "%s is empty", in->name);
    static const struct {
        const char *magic;
        size_t len;
        const char *what;
    } known[] = {
        {"PK\003\004", 4, "it is a zip archive\n  help: name the array in it: x=FILE.npz:key"},
        {"\x89PNG", 4, "it is a PNG image\n  help: give it a name that ends in .png"},
        {"\x1f\x8b", 2, "it is compressed with gzip\n  help: gunzip -c FILE.gz, then x=-"},
        {"\x80", 1, "it looks like a Python pickle\n  help: save it with numpy.save"},
        {"\x89HDF", 4, "it is an HDF5 file\n  help: save the array with numpy.save"},
        {"\xff\xd8\xff", 3,
         "it is a JPEG image\n  help: convert it to PNG, or save it with numpy.save"},
        {"II*", 4, "it is a TIFF image\n  help: convert it to PNG, or save it with numpy.save"},
        {"MM\0*", 4, "it is a TIFF image\n  help: convert it to PNG, or save it with numpy.save"},
    };
    for (size_t i = 0; i < FC_COUNT(known); i++) {
        if (got >= known[i].len && !memcmp(head, known[i].magic, known[i].len))
            return fc_fail(e, FUSEC_NPY_FORMAT, "%s is not an NPY file: %s", in->name,
                           known[i].what);
    }
    if (got < 6 && !memcmp(head, "\x93NUMPY", got))
        return fc_fail(e, FUSEC_NPY_TRUNCATED, "%s is cut short inside its header", in->name);
    if (is_text(head, got))
        return fc_fail(e, FUSEC_NPY_FORMAT,
                       "%s is not an NPY file: it is text\n"
                       "  help: numpy.save(\"FILE.npy\", numpy.loadtxt(\"%s\", delimiter=\",\"))",
                       in->name, in->name);
    char hex[32] = "";
    for (size_t i = 0; i < got && i < 6; i++) snprintf(hex + 3 * i, 4, " %02x", head[i]);
    return fc_fail(e, FUSEC_NPY_FORMAT, "%s is not an NPY file: it begins with the bytes%s",
                   in->name, hex);
}

static fusec_status read_length(fc_reader *in, size_t *length, fc_error *e) {
    unsigned char head[12];
    size_t got;
    FC_TRY(fc_reader_fill(in, head, 6, &got, e));
    if (got < 6 || memcmp(head, "\x93NUMPY", 6) != 0) return not_npy(in, head, got, e);
    FC_TRY(fc_reader_fill(in, head, 2, &got, e));
    if (got == 2) {
        if (head[0] < 1 || head[0] > 3 || head[1] != 0)
            return fc_fail(e, FUSEC_NPY_FORMAT,
                           "%s is NPY version %d.%d; versions 1.0 to 3.0 are known", in->name,
                           head[0], head[1]);
        size_t width = head[0] == 1 ? 2 : 4;
        FC_TRY(fc_reader_fill(in, head + 2, width, &got, e));
        if (got == width) {
            *length = head[2] | (size_t)head[3] << 8;
            if (width == 4) *length |= (size_t)head[4] << 16 | (size_t)head[5] << 24;
            return FUSEC_OK;
        }
    }
    return fc_fail(e, FUSEC_NPY_TRUNCATED, "%s is cut short inside its header", in->name);
}

fusec_status fc_npy_read_header(fc_reader *in, fc_npy *h, fc_error *e) {
    char text[FC_NPY_HEADER_MAX], a[FC_COMMAS], b[FC_COMMAS];
    size_t length = 0, got;
    memset(h, 0, sizeof *h);
    FC_TRY(read_length(in, &length, e));
    if (length > FC_NPY_HEADER_MAX)
        return fc_fail(e, FUSEC_NPY_FORMAT, "the header of %s has %s bytes; at most %s are read",
                       in->name, fc_commas(a, (int64_t)length), fc_commas(b, FC_NPY_HEADER_MAX));
    if (in->size >= 0 && (int64_t)length > in->size - in->at)
        return fc_fail(e, FUSEC_NPY_TRUNCATED,
                       "%s is cut short inside its header: it has %s bytes, the file has %s",
                       in->name, fc_commas(a, (int64_t)length), fc_commas(b, in->size - in->at));
    FC_TRY(fc_reader_fill(in, text, length, &got, e));
    if (got < length)
        return fc_fail(e, FUSEC_NPY_TRUNCATED, "%s is cut short inside its header", in->name);
    scan s = {text, text + length, in, e};
    FC_TRY(read_dict(&s, h));
    h->offset = in->at;
    if (!fc_shape_bytes(h->rank, h->shape, fc_dtypes[h->dtype].bytes, &h->count, &h->bytes))
        return bad(&s, "the size of its array does not fit into 64 bits");
    return check_length(in, h, e);
}
