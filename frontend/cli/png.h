/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* png.h - 8-bit PNG images as arrays u8[h, w], u8[h, w, 3] or u8[h, w, 4]. */
#ifndef FUSEC_FRONTEND_CLI_PNG_H
#define FUSEC_FRONTEND_CLI_PNG_H

#include "frontend/io/array.h"
#include "frontend/io/outfile.h"

/* Reads the header only: dtype, rank and shape of what fc_png_read will give. Palettes become RGB,
 * a palette with transparency and grey with alpha RGBA, fewer than 8 bits become 8; 16 bits are
 * refused. */
fusec_status fc_png_info(const char *path, fc_array *a, fc_error *e);

/* Reads the image into a->data, of the shape that fc_png_info gave. */
fusec_status fc_png_read(const fc_alloc *alloc, const char *path, const fc_array *a, fc_error *e);

/* Whether an array can be written: [h, w], [h, w, 3] or [h, w, 4], not empty, u8, bool or float. */
fusec_status fc_png_check(const fc_array *a, const char *path, fc_error *e);

/* How many of its floats are not from 0 to 1, so that they are cut off. */
int64_t fc_png_clipped(const fc_array *a);

/* Writes u8 as it is, bool as 0 and 255, floats from 0 to 1 clamped and rounded, nan as 0. The
 * caller commits the output. */
fusec_status fc_png_write(const fc_alloc *alloc, fc_outfile *out, const fc_array *a, fc_error *e);

#endif
