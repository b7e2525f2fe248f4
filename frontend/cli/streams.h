/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* streams.h - the process: its three standard descriptors and its signals. */
#ifndef FUSEC_FRONTEND_CLI_STREAMS_H
#define FUSEC_FRONTEND_CLI_STREAMS_H

/* Puts something on descriptors 0 to 2 that are closed, so that no file lands there (writing to
 * them still fails), and catches SIGINT, SIGTERM and SIGHUP: they remove the temporary file of the
 * output being written, erase a line of progress, and end the process with 128 + the signal's
 * number. */
void fc_streams_start(void);

#endif
