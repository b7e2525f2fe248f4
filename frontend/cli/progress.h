/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* progress.h - a line that says how far long work has come.
 *
 * One line on stderr that is rewritten, from the first second on, and erased at the end. Where
 * stderr is no terminal there is nothing, or with `verbose` one line every 10 seconds; with `quiet`
 * nothing at all. Two ways:
 *
 *     fc_progress_start(&p, "reading a.npy", true, quiet, verbose);     the work counts:
 *     ... fc_progress_step(&p, done, total) ...                         "reading a.npy: 1.2 GiB of
 *     fc_progress_end(&p);                                              4.0 GiB, 30 %"
 *
 *     fc_progress_clock(&p, "computing", quiet, verbose);               the work says nothing of
 *     ... one long call ...                                             itself: "computing: 12 s"
 *     fc_progress_end(&p);
 */
#ifndef FUSEC_FRONTEND_CLI_PROGRESS_H
#define FUSEC_FRONTEND_CLI_PROGRESS_H

#include <pthread.h>

#include "ir/base.h"

typedef struct fc_progress {
    const char *what; /* the string must stay */
    bool bytes;       /* counts bytes, otherwise pieces of work */
    bool terminal, verbose, drawn;
    int64_t started, last; /* milliseconds */
    /* of a clock: a thread that draws, and how it is told to end */
    bool ticking, stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
} fc_progress;

void fc_progress_start(fc_progress *p, const char *what, bool bytes, bool quiet, bool verbose);
/* `user` is an fc_progress: may be set as the progress function of an fc_reader or fc_outfile.
 * total <= 0: unknown. */
void fc_progress_step(void *user, int64_t done, int64_t total);
/* Starts a thread, which blocks all signals, when there is something to draw on. Without one (no
 * thread could be made) nothing is drawn. `p` must stay where it is. */
void fc_progress_clock(fc_progress *p, const char *what, bool quiet, bool verbose);
/* Erases the line. A second call does nothing. */
void fc_progress_end(fc_progress *p);

#endif
