/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report.h - errors without a place in a program, on their way to the user.
 *
 * A message may have several lines: the first is the message, a line that begins with "  help: "
 * begins the help, which takes the rest, and every other line is a fact. */
#ifndef FUSEC_FRONTEND_CLI_REPORT_H
#define FUSEC_FRONTEND_CLI_REPORT_H

#include "frontend/lang/diag.h"

/* Adds an error to a list, its lines sorted into facts and help. */
void fc_report_add(fc_diags *ds, const fc_error *e);
/* The text or the JSON object of one error. */
void fc_report_error(fc_str *out, const fc_error *e, bool color, bool json);

#endif
