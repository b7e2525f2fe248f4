/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* externs.h - --extern: the files that functions come from which a program declares `extern`. */
#ifndef FUSEC_FRONTEND_CLI_EXTERNS_H
#define FUSEC_FRONTEND_CLI_EXTERNS_H

#include "frontend/cli/command.h"
#include "frontend/lang/compile.h"

/* Loads the libraries and reads the texts of --extern, once, and gives what looks for functions in
 * them. FUSEC_IO: a file is not there; FUSEC_USAGE: it is neither. */
fusec_status fc_cli_externs_open(fc_cli *c, fc_extern_source *out, fc_error *e);
/* After all graphs, plans and contexts. */
void fc_cli_externs_free(fc_cli *c);

#endif
