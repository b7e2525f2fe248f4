/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* png.c - PNG through libpng. libpng reports errors by a long jump; it never leaves this file: both
 * callbacks and jump targets are here, and nothing is allocated between them except by libpng. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/png.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>

#include "frontend/io/reader.h"

#define SIDE_MAX 1000000
/* Of one allocation of libpng: the longest row takes 8 MB, and a chunk that promises more than this
 * is not to be believed. */
#define ALLOCATION_MAX (16 << 20)

typedef struct png_job {
    const fc_alloc *alloc;
    fc_reader in;
    fc_outfile *out;
    const char *name;
    fc_error *e;
    png_structp png;
    png_infop info;
    int64_t h, w;
    int channels;
    png_bytep row; /* of an image being written */
} png_job;

/* ---- callbacks ------------------------------------------------------------------------------- */

static void on_error(png_structp png, png_const_charp text) {
    png_job *j = png_get_error_ptr(png);
    fc_fail(j->e, j->out ? FUSEC_IO : FUSEC_NPY_FORMAT, "%s %s: libpng says: %s",
            j->out ? "cannot write" : "cannot read", j->name, text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

static void on_read(png_structp png, png_bytep to, size_t n) {
    png_job *j = png_get_io_ptr(png);
    size_t got;
    if (fc_reader_fill(&j->in, to, n, &got, j->e) == FUSEC_OK && got == n) return;
    fc_fail(j->e, FUSEC_NPY_TRUNCATED, "%s is cut short: the image does not end", j->name);
    png_longjmp(png, 1);
}

static void on_write(png_structp png, png_bytep from, size_t n) {
    png_job *j = png_get_io_ptr(png);
    if (fc_outfile_write(j->out, from, n, j->e) != FUSEC_OK) png_longjmp(png, 1);
}

static void on_flush(png_structp png) {
    (void)png;
}

static png_voidp on_malloc(png_structp png, png_alloc_size_t n) {
    png_job *j = png_get_mem_ptr(png);
    if (n > ALLOCATION_MAX) return NULL;
    void *p = fc_malloc(j->alloc, n);
    if (!p) fc_oom(j->e); /* before libpng says so in its own words */
    return p;
}

static void on_free(png_structp png, png_voidp p) {
    png_job *j = png_get_mem_ptr(png);
    fc_free(j->alloc, p);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the chunks before the image and asks for conversion to 8 bits and 1, 3 or 4 channels. */
static fusec_status read_info(png_job *j) {
    unsigned char magic[8];
    size_t got;
    FC_TRY(fc_reader_fill(&j->in, magic, sizeof magic, &got, j->e));
    if (got < sizeof magic || png_sig_cmp(magic, 0, sizeof magic) != 0)
        return fc_fail(j->e, FUSEC_NPY_FORMAT, "%s is not a PNG image", j->name);
    png_set_sig_bytes(j->png, sizeof magic);
    png_set_user_limits(j->png, SIDE_MAX, SIDE_MAX);
    png_read_info(j->png, j->info);
    int depth = png_get_bit_depth(j->png, j->info), type = png_get_color_type(j->png, j->info);
    if (depth == 16)
        return fc_fail(j->e, FUSEC_NPY_FORMAT,
                       "%s has 16 bits per channel; fusec reads PNG images of 8 bits\n"
                       "  help: save it as u16 .npy, or convert the image to 8 bits",
                       j->name);
    bool alpha = (type & PNG_COLOR_MASK_ALPHA) || png_get_valid(j->png, j->info, PNG_INFO_tRNS);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(j->png);
    if (type == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(j->png);
    if (png_get_valid(j->png, j->info, PNG_INFO_tRNS)) png_set_tRNS_to_alpha(j->png);
    if (!(type & PNG_COLOR_MASK_COLOR) && alpha) png_set_gray_to_rgb(j->png);
    png_set_interlace_handling(j->png);
    png_read_update_info(j->png, j->info);
    j->h = png_get_image_height(j->png, j->info);
    j->w = png_get_image_width(j->png, j->info);
    j->channels = png_get_channels(j->png, j->info);
    return FUSEC_OK;
}

static void shape_of(const png_job *j, fc_array *a) {
    a->dtype = FUSEC_U8;
    a->rank = j->channels == 1 ? 2 : 3;
    a->shape[0] = j->h;
    a->shape[1] = j->w;
    a->shape[2] = j->channels;
}

static fusec_status read_rows(png_job *j, const fc_array *a) {
    fc_array now = {0};
    shape_of(j, &now);
    if (a->rank != now.rank ||
        memcmp(a->shape, now.shape, (size_t)now.rank * sizeof now.shape[0]) != 0)
        return fc_fail(j->e, FUSEC_IO, "%s changed while it was read", j->name);
    int passes = png_get_interlace_type(j->png, j->info) == PNG_INTERLACE_NONE ? 1 : 7;
    int64_t stride = j->w * j->channels;
    for (int p = 0; p < passes; p++) {
        for (int64_t y = 0; y < j->h; y++)
            png_read_row(j->png, (png_bytep)a->data + y * stride, NULL);
    }
    png_read_end(j->png, NULL);
    return FUSEC_OK;
}

/* `pixels`: read the image into `a`; otherwise only describe it there. */
static fusec_status read_png(const fc_alloc *alloc, const char *path, fc_array *a, bool pixels,
                             fc_error *e) {
    fc_error own = {0};
    png_job j = {.alloc = alloc, .e = e ? e : &own};
    FC_TRY(fc_reader_open(&j.in, path, j.e));
    j.name = j.in.name;
    j.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &j, on_error, on_warning, &j, on_malloc,
                                     on_free);
    if (j.png) j.info = png_create_info_struct(j.png);
    if (!j.info) {
        fc_oom(j.e);
    } else if (setjmp(png_jmpbuf(j.png)) == 0) {
        png_set_read_fn(j.png, &j, on_read);
        if (read_info(&j) == FUSEC_OK) {
            if (pixels)
                read_rows(&j, a);
            else
                shape_of(&j, a);
        }
    }
    png_destroy_read_struct(&j.png, &j.info, NULL);
    fc_reader_close(&j.in);
    return j.e->code;
}

fusec_status fc_png_info(const char *path, fc_array *a, fc_error *e) {
    return read_png(&fc_libc_alloc, path, a, false, e);
}

fusec_status fc_png_read(const fc_alloc *alloc, const char *path, const fc_array *a, fc_error *e) {
    fc_array into = *a;
    return read_png(alloc, path, &into, true, e);
}

/* ---- writing --------------------------------------------------------------------------------- */

fusec_status fc_png_check(const fc_array *a, const char *path, fc_error *e) {
    char type[200], name[200];
    fc_type_text(type, sizeof type, a->dtype, a->rank, a->shape);
    fc_shown_name(name, sizeof name, path);
    bool shape = a->rank == 2 || (a->rank == 3 && (a->shape[2] == 3 || a->shape[2] == 4));
    if (!shape)
        return fc_fail(
            e, FUSEC_IO,
            "%s: a PNG image is written from [h, w], [h, w, 3] or [h, w, 4], not from %s", name,
            type);
    if (a->shape[0] < 1 || a->shape[1] < 1 || a->shape[0] > SIDE_MAX || a->shape[1] > SIDE_MAX)
        return fc_fail(e, FUSEC_IO, "%s: a PNG image has 1 to 1,000,000 rows and columns, not %s",
                       name, type);
    if (!fc_is_complex(a->dtype)) return FUSEC_OK;
    return fc_fail(e, FUSEC_IO,
                   "%s: a PNG image is written from bool, integers or floats from 0 to 1, not from "
                   "%s\n  help: abs(x) or angle(x) in the program says what is meant",
                   name, type);
}

static double element(const fc_array *a, int64_t i) {
    switch (a->dtype) {
    case FUSEC_F16: return (double)fc_half_to_float(((const uint16_t *)a->data)[i]);
    case FUSEC_BF16: return (double)fc_bf16_to_float(((const uint16_t *)a->data)[i]);
    case FUSEC_F32: return (double)((const float *)a->data)[i];
    case FUSEC_F64: return ((const double *)a->data)[i];
    case FUSEC_I8: return ((const int8_t *)a->data)[i];
    case FUSEC_I16: return ((const int16_t *)a->data)[i];
    case FUSEC_I32: return ((const int32_t *)a->data)[i];
    case FUSEC_I64: return (double)((const int64_t *)a->data)[i];
    case FUSEC_U16: return ((const uint16_t *)a->data)[i];
    case FUSEC_U32: return ((const uint32_t *)a->data)[i];
    case FUSEC_U64: return (double)((const uint64_t *)a->data)[i];
    default: return ((const uint8_t *)a->data)[i];
    }
}

/* What is black and what is white: of integers that are no bytes the least and the greatest. */
typedef struct tones {
    double black, white;
} tones;

static tones tones_of(const fc_array *a, int64_t count) {
    tones t = {0, a->dtype == FUSEC_U8 ? 255 : 1};
    if (!fc_is_int(a->dtype) || a->dtype == FUSEC_U8 || a->dtype == FUSEC_BOOL) return t;
    t = (tones){INFINITY, -INFINITY};
    for (int64_t i = 0; i < count; i++) {
        const double v = element(a, i);
        t.black = v < t.black ? v : t.black;
        t.white = v > t.white ? v : t.white;
    }
    if (t.black == t.white) t.white++; /* one tone: black */
    return t;
}

int64_t fc_png_clipped(const fc_array *a) {
    int64_t count, bytes, n = 0;
    if (!fc_is_float(a->dtype) ||
        !fc_shape_bytes(a->rank, a->shape, fc_dtypes[a->dtype].bytes, &count, &bytes))
        return 0;
    for (int64_t i = 0; i < count; i++) {
        double v = element(a, i);
        n += !(v >= 0 && v <= 1);
    }
    return n;
}

static void make_row(const fc_array *a, tones t, int64_t start, int64_t n, png_bytep row) {
    for (int64_t i = 0; i < n; i++) {
        double v = (element(a, start + i) - t.black) / (t.white - t.black);
        if (!(v > 0)) v = 0; /* nan too */
        if (v > 1) v = 1;
        row[i] = (png_byte)(v * 255 + 0.5);
    }
}

static void write_rows(png_job *j, const fc_array *a) {
    int64_t channels = a->rank == 3 ? a->shape[2] : 1, n = a->shape[1] * channels;
    int type = channels == 1   ? PNG_COLOR_TYPE_GRAY
               : channels == 3 ? PNG_COLOR_TYPE_RGB
                               : PNG_COLOR_TYPE_RGBA;
    png_set_IHDR(j->png, j->info, (png_uint_32)a->shape[1], (png_uint_32)a->shape[0], 8, type,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(j->png, j->info);
    const tones t = tones_of(a, a->shape[0] * n);
    for (int64_t y = 0; y < a->shape[0]; y++) {
        make_row(a, t, y * n, n, j->row);
        png_write_row(j->png, j->row);
    }
    png_write_end(j->png, j->info);
}

fusec_status fc_png_write(const fc_alloc *alloc, fc_outfile *out, const fc_array *a, fc_error *e) {
    fc_error own = {0};
    png_job j = {.alloc = alloc, .out = out, .name = out->name, .e = e ? e : &own};
    FC_TRY(fc_png_check(a, out->name, j.e));
    j.row = fc_malloc(alloc, (size_t)a->shape[1] * 4);
    if (!j.row) return fc_oom(j.e);
    j.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &j, on_error, on_warning, &j,
                                      on_malloc, on_free);
    if (j.png) j.info = png_create_info_struct(j.png);
    if (!j.info) {
        fc_oom(j.e);
    } else if (setjmp(png_jmpbuf(j.png)) == 0) {
        png_set_user_limits(j.png, SIDE_MAX, SIDE_MAX);
        png_set_write_fn(j.png, &j, on_write, on_flush);
        write_rows(&j, a);
    }
    png_destroy_write_struct(&j.png, &j.info);
    fc_free(alloc, j.row);
    return j.e->code;
}
