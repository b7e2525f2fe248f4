/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* outputs.h - where results go: -o, --format, --expect, --check-finite. */
#ifndef FUSEC_FRONTEND_CLI_OUTPUTS_H
#define FUSEC_FRONTEND_CLI_OUTPUTS_H

#include "frontend/cli/job.h"

/* Checks every -o against the names of the results, the inputs and each other, before anything
 * runs. */
fusec_status fc_outputs_check(fc_job *s, fc_error *e);
/* Writes or prints all results. */
fusec_status fc_outputs_write(fc_job *s, double seconds, fc_error *e);

/* Opens the file of a result, .npy with its header written, .zarr or .arrow, for its elements in
 * order; nothing is left where that fails. */
fusec_status fc_output_open(fc_job *s, fc_outfile *f, const char *file, const fc_tensor *t,
                            fc_error *e);
/* The file of one of these kinds that a result goes to; NULL: none, or not to it alone. */
const char *fc_output_file(fc_job *s, uint32_t which, fc_error *e);

/* Compares results with the files of --expect; cli->answer becomes 1 on a difference. */
fusec_status fc_expect_check(fc_job *s, fc_error *e); /* before the run: names only */
fusec_status fc_expect_compare(fc_job *s, fc_error *e);

/* FUSEC_NOT_FINITE at the first nan or infinity of the results, naming the operation that
 * made it. */
fusec_status fc_finite_check(fc_job *s, fc_error *e);

/* The number of the result with this name, or of the only result when `len` is 0. */
fusec_status fc_result_by_name(const fc_job *s, const char *name, size_t len, const char *flag,
                               uint32_t *out, fc_error *e);
/* "[3, 4]" for element `index`; "" for rank 0. Returns buf. */
const char *fc_place_text(char *buf, size_t size, const fc_array *a, int64_t index);

#endif
