/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bands.h - maps one after the other, row by row: what one makes and the next ones read stays in
 * the cache.
 *
 * The rows of a picture that are blurred along the rows, and then down, are made as the second pass
 * comes to them: of the array between the two there are a few rows at a time, and no row is made
 * twice but at the ends of tasks. The kernels are those that they are without: a launch is over
 * rows instead of all of them, and an address is that of the array of which these rows would be
 * part.
 *
 * CPU only. Which rows a kernel reads is known from its index maps (fc_arg.reach). */
#ifndef FUSEC_RUNTIME_BANDS_H
#define FUSEC_RUNTIME_BANDS_H

#include "runtime/bind.h"
#include "runtime/device_host.h"

enum { FC_BANDS_KERNELS = 8, FC_BANDS_ARRAYS = 8, FC_BANDS_WORDS = 192 };

/* An array between two of the kernels. */
typedef struct fc_band_array {
    uint32_t buffer, maker; /* kernel */
    int64_t row_bytes, rows;
    int64_t room; /* rows of it that are kept */
} fc_band_array;

typedef struct fc_band_use {
    uint8_t kernel, arg, array;
    bool written;
    int32_t low, high; /* rows that row 0 reads */
} fc_band_use;

struct fc_bands {
    struct fc_bands *next;
    uint32_t first, n; /* launches of the call */
    uint32_t narrays, nuses;
    int64_t rows, band, task;         /* of the results, at a time, and of a task */
    int64_t units[FC_BANDS_KERNELS];  /* of a row */
    int64_t extent[FC_BANDS_KERNELS]; /* rows */
    uint32_t nargs[FC_BANDS_KERNELS];
    uint64_t results; /* a bit for each argument of the last kernel that is written */
    fc_band_array array[FC_BANDS_ARRAYS];
    fc_band_use use[FC_BANDS_KERNELS * FC_BANDS_ARRAYS];
};

/* Finds them for a bound whose launches are known, and schedules their kernels anew. */
fusec_status fc_bands_find(fc_program *p, fc_bound *b, fc_error *e);
/* Those that begin with this launch, or NULL. */
const struct fc_bands *fc_bands_at(const fc_bound *b, uint32_t launch);

/* Runs units [begin, end) of a kernel. */
typedef void fc_bands_run_units(void *code, const int64_t *params, int64_t begin, int64_t end);
/* Launches l[0..bands->n), which are those of the bands. Results that lie on inputs are made kernel
 * by kernel: *done is false. */
fusec_status fc_bands_run(fc_host_device *h, const struct fc_bands *bands, const fc_prepared *l,
                          fc_bands_run_units *run, bool *done, fc_error *e);

#endif
