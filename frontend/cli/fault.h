/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fault.h - when fusec itself is wrong (exit code 70): a folder with all that a report needs. */
#ifndef FUSEC_FRONTEND_CLI_FAULT_H
#define FUSEC_FRONTEND_CLI_FAULT_H

#include "frontend/cli/job.h"

/* Keeps the generated text of a program for a report, as far as it can be had. Never fails. */
void fc_fault_kernels(fc_job *s, fusec_program *p);
/* Writes the report of an error and adds to its message where it is. Never fails: what can't be
 * written is left out. */
void fc_fault_report(fc_cli *c, fc_error *e);

#endif
