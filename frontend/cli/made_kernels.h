/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* made_kernels.h - kernels made before they are needed: `fusec cache --pack FILE PROGRAM --sizes`.
 */
#ifndef FUSEC_FRONTEND_CLI_MADE_KERNELS_H
#define FUSEC_FRONTEND_CLI_MADE_KERNELS_H

#include "frontend/cli/job.h"

/* What is done with a definition in one choice of dtypes; `dtype` NULL: it has no variable. `stem`:
 * a name for its files. */
typedef fusec_status fc_def_fn(void *user, fc_job *s, const fc_item *d, const char *dtype,
                               const char *stem, fc_error *e);

/* Each definition of the program that --entry, or `export`, means, for each dtype of --dtype; an
 * error if there is none: cmd_build.c. */
fusec_status fc_each_def(fc_cli *c, const fc_ast *ast, fc_def_fn *fn, void *user, fc_error *e);

/* Compiles the kernels of each definition for the sizes that --sizes says, into the cache. */
fusec_status fc_make_kernels(fc_cli *c, fc_error *e);

/* Sizes around what schedules look at, in order: aot_code.c. */
const int64_t *fc_size_grid(size_t *n);

#endif
