/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* timeline.h - run --trace: what a run did and when, in the Trace Event format that Perfetto and
 * Chrome open. Without the flag none of these does anything. */
#ifndef FUSEC_FRONTEND_CLI_TIMELINE_H
#define FUSEC_FRONTEND_CLI_TIMELINE_H

#include "frontend/cli/command.h"

/* Before the context is made. */
fusec_status fc_timeline_open(fc_cli *c, fc_error *e);
double fc_timeline_now(const fc_cli *c);
/* A phase of the command that began at `begin`; gives the time now. */
double fc_timeline_phase(fc_cli *c, const char *name, double begin);
/* Before the context goes. */
void fc_timeline_settle(fc_cli *c);
/* Writes the file when the run came to its end: `st`. Gives `st`, or what writing gave. */
fusec_status fc_timeline_close(fc_cli *c, fusec_status st, fc_error *e);

#endif
