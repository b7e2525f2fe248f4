/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* explain_pieces.h - `fusec explain --pieces NAME[=N]`: how a program is computed in pieces along
 * a size (passes/pieces.h): the sweeps and why there is more than one, what each reads and writes,
 * and how every array lies. Nothing is compiled or run. */
#ifndef FUSEC_FRONTEND_CLI_EXPLAIN_PIECES_H
#define FUSEC_FRONTEND_CLI_EXPLAIN_PIECES_H

#include "frontend/cli/job.h"

/* To s->cli->out, as text or (--json) as JSON. FUSEC_INVALID: it can't be cut, with the reason. */
fusec_status fc_explain_pieces(fc_job *s, const char *flag, fc_error *e);

/* "n", "n=1000", "n=auto": the name, and the positions of a piece or 0. `what` is the flag. */
fusec_status fc_pieces_flag(const char *what, const char *text, char name[64], int64_t *step,
                            fc_error *e);

/* The size that a program is cut along, and the positions of a piece or 0: those of --split, else
 * that of the first axis of the largest input. */
fusec_status fc_pieces_size(const fc_job *s, char name[64], int64_t *step, fc_error *e);

/* Positions of a piece that has about 8 MiB of arrays, where one has `row` bytes: `grain` times a
 * power of two. */
int64_t fc_pieces_step(int64_t grain, int64_t row);

#endif
