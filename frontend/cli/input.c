/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* input.c - forms of `name=value`. See input.h. */
#include "frontend/cli/input.h"

#include <math.h>
#include <stdio.h>

#include "frontend/cli/arrow.h"
#include "frontend/cli/b2nd.h"
#include "frontend/cli/npz.h"
#include "frontend/cli/png.h"
#include "frontend/cli/zarr.h"

static bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool digit(char c) {
    return c >= '0' && c <= '9';
}

bool fc_is_assignment(const char *word, size_t *name_len) {
    size_t n = 0;
    if (!letter(word[0])) return false;
    while (letter(word[n]) || digit(word[n])) n++;
    *name_len = n;
    return word[n] == '=' && !(n == 1 && word[0] == '_') && n <= 255;
}

/* ---- types: [dtype][:sizes] ------------------------------------------------------------------ */

static fusec_status bad_value(const fc_cli_input *in, fc_error *e, const char *what) {
    char shown[200];
    return fc_fail(e, FUSEC_USAGE, "%.*s=%s: %s", (int)in->name_len, in->name,
                   fc_shown_name(shown, sizeof shown, in->value), what);
}

static const char too_large[] = "a size does not fit into 64 bits";

static fusec_status parse_number(fc_cli_input *in, const char *p, size_t n, int64_t *out,
                                 fc_error *e) {
    if (!n) return bad_value(in, e, "a size is neither a number nor a name");
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '_' && i) continue;
        if (!digit(p[i])) return bad_value(in, e, "a size is neither a number nor a name");
        if (!fc_mul_ok(*out, 10, out) || !fc_add_ok(*out, p[i] - '0', out))
            return bad_value(in, e, too_large);
    }
    return FUSEC_OK;
}

/* A name, 1000, 1_000, or 10^3. */
static fusec_status parse_dim(fc_cli_input *in, const char *p, size_t n, fc_error *e) {
    if (in->rank == FC_IO_RANK) return bad_value(in, e, "more than 32 sizes");
    fc_input_dim *d = &in->dims[in->rank++];
    *d = (fc_input_dim){0};
    if (n && letter(p[0])) {
        for (size_t i = 1; i < n; i++) {
            if (!letter(p[i]) && !digit(p[i])) return bad_value(in, e, "a size is not a name");
        }
        d->name = p;
        d->name_len = n;
        return FUSEC_OK;
    }
    if (n == 0 || p[n - 1] == '_')
        return bad_value(in, e,
                         "a size is missing\n"
                         "  help: sizes are written 1000x64, or 1000,max_n if a name has an x");
    const char *power = memchr(p, '^', n);
    FC_TRY(parse_number(in, p, power ? (size_t)(power - p) : n, &d->size, e));
    if (!power) return FUSEC_OK;
    int64_t exponent = 0, base = d->size;
    FC_TRY(parse_number(in, power + 1, n - (size_t)(power + 1 - p), &exponent, e));
    for (d->size = 1; exponent && base != 1 && d->size; exponent--)
        if (!fc_mul_ok(d->size, base, &d->size)) return bad_value(in, e, too_large);
    return FUSEC_OK;
}

/* "1000x64", "nxm", "n,64"; with a comma anywhere, "x" is a letter like any other. */
static fusec_status parse_dims(fc_cli_input *in, const char *p, size_t n, fc_error *e) {
    char sep = memchr(p, ',', n) ? ',' : 'x';
    for (;;) {
        const char *next = memchr(p, sep, n);
        size_t len = next ? (size_t)(next - p) : n;
        FC_TRY(parse_dim(in, p, len, e));
        if (!next) return FUSEC_OK;
        p = next + 1;
        n -= len + 1;
    }
}

static size_t part_length(const char *p) {
    return strcspn(p, ":");
}

/* Steps over the part at *p and its colon. */
static void next_part(const char **p, size_t len) {
    *p += len;
    if (**p == ':') ++*p;
}

/* ---- made-up inputs -------------------------------------------------------------------------- */

static uint64_t seed_from_name(const char *name, size_t n) {
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)name[i]) * 0x100000001b3u;
    return h;
}

static fusec_status parse_seed(fc_cli_input *in, const char *p, fc_error *e) {
    fc_weak w;
    if (!fc_weak_parse(p, &w) || w.kind != FC_WEAK_INT || w.negative)
        return bad_value(in, e, "the seed is not a whole number from 0 to 2^64-1");
    in->seed = w.magnitude;
    return FUSEC_OK;
}

static fusec_status parse_made(fc_cli_input *in, const char *p, fc_error *e) {
    in->kind = FC_INPUT_MADE;
    in->seed = seed_from_name(in->name, in->name_len);
    size_t n = part_length(p);
    if (fc_dtype_by_name(p, n, &in->dtype)) {
        in->has_dtype = true;
        next_part(&p, n);
        n = part_length(p);
    }
    if (n && strncmp(p, "seed=", 5) != 0) {
        FC_TRY(parse_dims(in, p, n, e));
        next_part(&p, n);
        n = part_length(p);
    }
    if (n == 0) return FUSEC_OK;
    if (strncmp(p, "seed=", 5) != 0 || p[n])
        return bad_value(in, e,
                         "this is not understood\n"
                         "  help: rand:f32:1000x64 or rand:f32:1000x64:seed=7");
    return parse_seed(in, p + 5, e);
}

static fusec_status parse_raw(fc_cli_input *in, const char *p, fc_error *e) {
    in->kind = FC_INPUT_RAW;
    size_t n = part_length(p);
    bool known = fc_dtype_by_name(p, n, &in->dtype);
    const char *dims = p + n + (p[n] == ':');
    size_t m = part_length(dims);
    if (!known || !m || !dims[m] || !dims[m + 1])
        return bad_value(in, e,
                         "bytes without a header need dtype, sizes and file\n"
                         "  help: raw:f32:1000x64:FILE");
    in->has_dtype = true;
    FC_TRY(parse_dims(in, dims, m, e));
    in->path = fc_strdup(in->alloc, dims + m + 1);
    return in->path ? FUSEC_OK : fc_oom(e);
}

/* ---- files ----------------------------------------------------------------------------------- */

bool fc_ends_with(const char *s, size_t n, const char *end) {
    size_t k = strlen(end);
    if (n <= k) return false;
    for (size_t i = 0; i < k; i++) {
        char c = s[n - k + i];
        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        if (c != end[i]) return false;
    }
    return true;
}

bool fc_arrow_is(const char *p, size_t n) {
    return fc_ends_with(p, n, ".arrow") || fc_ends_with(p, n, ".arrows") ||
           fc_ends_with(p, n, ".feather");
}

static fusec_status parse_file(fc_cli_input *in, fc_error *e) {
    const char *p = in->value, *colon = strrchr(p, ':');
    size_t n = strlen(p);
    in->kind = FC_INPUT_NPY;
    if (colon && fc_ends_with(p, (size_t)(colon - p), ".npz")) {
        in->kind = FC_INPUT_NPZ;
        n = (size_t)(colon - p);
        in->key = fc_strdup(in->alloc, colon + 1);
        if (!in->key) return fc_oom(e);
    } else if (colon && fc_arrow_is(p, (size_t)(colon - p))) {
        in->kind = FC_INPUT_STORE;
        n = (size_t)(colon - p);
        in->key = fc_strdup(in->alloc, colon + 1);
        if (!in->key) return fc_oom(e);
    } else if (fc_ends_with(p, n, ".b2nd") || fc_arrow_is(p, n)) {
        in->kind = FC_INPUT_STORE;
    } else if (fc_ends_with(p, n, ".npz")) {
        in->kind = FC_INPUT_NPZ;
    } else if (fc_ends_with(p, n, ".png")) {
        in->kind = FC_INPUT_PNG;
    }
    in->path = fc_malloc(in->alloc, n + 1);
    if (!in->path) return fc_oom(e);
    memcpy(in->path, p, n);
    in->path[n] = 0;
    return FUSEC_OK;
}

/* "99999999999999999999": digits that are no number of the language. */
static bool only_digits(const char *p) {
    p += *p == '-' || *p == '+';
    if (!digit(*p)) return false;
    while (digit(*p) || *p == '_') p++;
    return !*p;
}

fusec_status fc_input_parse(fc_cli_input *in, const char *word, const fc_alloc *alloc,
                            fc_error *e) {
    memset(in, 0, sizeof *in);
    in->alloc = alloc;
    if (!fc_is_assignment(word, &in->name_len))
        return fc_fail(e, FUSEC_USAGE, "`%.100s` is not name=value", word);
    in->name = word;
    const char *p = in->value = word + in->name_len + 1;
    if (!*p) return bad_value(in, e, "the value is missing");
    if (!strcmp(p, "-")) {
        in->kind = FC_INPUT_STDIN;
        return FUSEC_OK;
    }
    if (fc_weak_parse(p, &in->scalar)) {
        in->kind = FC_INPUT_SCALAR;
        if (in->scalar.kind == FC_WEAK_FLOAT && isinf(in->scalar.number) &&
            strpbrk(p, "0123456789"))
            return bad_value(in, e,
                             "the number is above the largest f64, 1.8e308\n"
                             "  help: inf is infinity");
        return FUSEC_OK;
    }
    if (only_digits(p))
        return bad_value(in, e, "an integer is from -2^63 to 2^64-1\n  help: 1e20 is a float");
    size_t n = part_length(p);
    const char *rest = p + n + (p[n] == ':');
    for (int i = 0; i < FC_MAKER_COUNT; i++) {
        if (n != strlen(fc_maker_names[i]) || memcmp(p, fc_maker_names[i], n) != 0) continue;
        in->maker = (fc_maker)i;
        return parse_made(in, rest, e);
    }
    if (n == 3 && !memcmp(p, "raw", 3) && p[3]) return parse_raw(in, rest, e);
    if (fc_dtype_by_name(p, n, &in->dtype)) {
        in->kind = FC_INPUT_TYPE;
        in->has_dtype = true;
        return *rest ? parse_dims(in, rest, strlen(rest), e) : FUSEC_OK;
    }
    return parse_file(in, e);
}

/* ---- opening and reading --------------------------------------------------------------------- */

static void take_shape(fc_cli_input *in, fusec_dtype dtype, int rank, const int64_t *shape) {
    in->has_dtype = true;
    in->dtype = dtype;
    in->rank = rank;
    for (int i = 0; i < rank; i++) in->dims[i] = (fc_input_dim){.size = shape[i]};
}

/* A word that is no file may be a form that was mistyped. */
static fusec_status open_file(fc_cli_input *in, fc_error *e) {
    fc_error own = {0};
    if (!e) e = &own;
    fusec_status s = in->kind == FC_INPUT_NPZ
                         ? fc_npz_open(&in->reader, in->alloc, in->path, in->key, e)
                         : fc_reader_open(&in->reader, in->path, e);
    in->open = s == FUSEC_OK;
    if (s == FUSEC_IO && in->kind == FC_INPUT_NPY && !strpbrk(in->value, "./")) {
        size_t n = strlen(e->message);
        snprintf(e->message + n, sizeof e->message - n,
                 "\n  help: a value is a file, a number, true or false, or rand:f32:1000x64");
    }
    return s;
}

static fusec_status open_store(fc_cli_input *in, fc_error *e) {
    const size_t n = strlen(in->path);
    if (fc_arrow_is(in->path, n))
        return fc_arrow_open(&in->reader, in->alloc, in->path, in->key, &in->header, e);
    return (fc_ends_with(in->path, n, ".b2nd") ? fc_b2nd_open : fc_zarr_open)(
        &in->reader, in->alloc, in->path, &in->header, e);
}

fusec_status fc_input_open(fc_cli_input *in, fc_error *e) {
    if (in->kind == FC_INPUT_NPY && fc_zarr_is(in->path)) in->kind = FC_INPUT_STORE;
    switch (in->kind) {
    case FC_INPUT_STORE:
        FC_TRY(open_store(in, e));
        in->open = true;
        take_shape(in, in->header.dtype, in->header.rank, in->header.shape);
        return FUSEC_OK;
    case FC_INPUT_NPY:
    case FC_INPUT_NPZ: FC_TRY(open_file(in, e)); break;
    case FC_INPUT_STDIN:
        fc_reader_fd(&in->reader, 0, "standard input");
        in->open = true;
        break;
    case FC_INPUT_PNG: {
        fc_array image;
        FC_TRY(fc_png_info(in->path, &image, e));
        take_shape(in, image.dtype, image.rank, image.shape);
        return FUSEC_OK;
    }
    case FC_INPUT_RAW: return open_file(in, e);
    default: return FUSEC_OK;
    }
    FC_TRY(fc_npy_read_header(&in->reader, &in->header, e));
    take_shape(in, in->header.dtype, in->header.rank, in->header.shape);
    return FUSEC_OK;
}

fusec_status fc_input_again(fc_cli_input *in, fc_error *e) {
    const fc_npy before = in->header;
    const fusec_dtype dtype = in->dtype;
    if (in->open) fc_reader_close(&in->reader);
    in->open = false;
    if (in->kind == FC_INPUT_RAW) return open_file(in, e);
    FC_TRY(fc_input_open(in, e));
    if (in->header.count != before.count || in->dtype != dtype)
        return fc_fail(e, FUSEC_NPY_FORMAT, "%s changed while it was read", in->reader.name);
    return FUSEC_OK;
}

fusec_status fc_input_read(fc_cli_input *in, fusec_dtype dtype, int rank, const int64_t *shape,
                           void *dst, fc_error *e) {
    fc_array image = {.dtype = dtype, .rank = rank, .data = dst};
    int64_t count, bytes;
    char name[256];
    if (!fc_shape_bytes(rank, shape, fc_dtypes[dtype].bytes, &count, &bytes))
        return fc_fail(e, FUSEC_INPUT_SHAPE, "the size of %.*s does not fit into 64 bits",
                       (int)in->name_len, in->name);
    switch (in->kind) {
    case FC_INPUT_NPY:
    case FC_INPUT_NPZ:
    case FC_INPUT_STORE:
    case FC_INPUT_STDIN: return fc_npy_read_data(&in->reader, &in->header, in->alloc, dst, e);
    case FC_INPUT_RAW: return fc_raw_read(&in->reader, dtype, rank, shape, dst, e);
    case FC_INPUT_PNG:
        memcpy(image.shape, shape, (size_t)rank * sizeof *shape);
        return fc_png_read(in->alloc, in->path, &image, e);
    case FC_INPUT_MADE: return fc_make(in->maker, dtype, in->seed, count, dst, e);
    case FC_INPUT_SCALAR:
        snprintf(name, sizeof name, "%.*s", (int)in->name_len, in->name);
        return fc_weak_store(&in->scalar, name, dtype, dst, e);
    case FC_INPUT_TYPE: break;
    }
    return fc_fail(e, FUSEC_USAGE,
                   "%.*s=%s gives a type without data\n"
                   "  help: %.*s=rand:%s makes data up; check and explain need none",
                   (int)in->name_len, in->name, in->value, (int)in->name_len, in->name, in->value);
}

void fc_input_close(fc_cli_input *in) {
    if (in->open) fc_reader_close(&in->reader);
    in->open = false;
    if (!in->alloc) return;
    fc_free(in->alloc, in->path);
    fc_free(in->alloc, in->key);
    in->path = in->key = NULL;
}

const char *fc_input_shown(const fc_cli_input *in, char *buf, size_t size) {
    if (in->kind == FC_INPUT_STDIN) return fc_shown_name(buf, size, "standard input");
    if (in->kind == FC_INPUT_SCALAR) return fc_shown_name(buf, size, in->name);
    return fc_shown_name(buf, size, in->value);
}
