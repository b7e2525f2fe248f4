/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* split.h - programs whose arrays do not fit into memory: computed in pieces along a size
 * (runtime/cut.h), which are read while the one before is computed, and written as they come.
 *
 * In: a job that was opened with fc_job_request.cut, and its program. NPY and raw files in C order,
 * and standard input where one sweep is enough, are read a piece at a time where they lie along the
 * cut by their first axis; a result is written so to an .npy file of its own. All other arrays are
 * whole. Several devices (--devices) compute a piece each at the same time, and what they find out
 * about reductions goes between sweeps from each to all. */
#ifndef FUSEC_FRONTEND_CLI_SPLIT_H
#define FUSEC_FRONTEND_CLI_SPLIT_H

#include "frontend/cli/job.h"

/* Computes all results. Those that went to their files have an entry in s->written. */
fusec_status fc_split_run(fc_job *s, fc_program *p, double *seconds, fc_error *e);
/* Removes files that were not committed. */
void fc_split_close(fc_job *s);

#endif
