/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* background.h - texts compiled by threads of their own, while the caller goes on: as many at a
 * time as there are processors besides the caller's, one at least. Others wait for their turn, or
 * for who can't go on without them and compiles them himself.
 *
 * A process that ends waits for these threads, as a compiler must not be taken apart under one
 * (fc_background_guard_exit), and so does a fork: the child, which has no threads, has what they
 * made, and no lock is held by one of them. */
#ifndef FUSEC_RUNTIME_BACKGROUND_H
#define FUSEC_RUNTIME_BACKGROUND_H

#include "runtime/device.h"

typedef struct fc_background fc_background;

/* What is done with the code on that thread, before anybody who waits has it. */
typedef void fc_background_then(void *user, const fc_bytes *binary);

/* Compiles a copy of `text` with full effort. The caller, who compiles as well or is about to run
 * what it has, has a head start of a millisecond. NULL: there is no thread or no memory for it. The
 * device and `user` stay until fc_background_free. */
fc_background *fc_background_start(fc_device *d, uint32_t mode, const char *text,
                                   fc_background_then *then, void *user);
bool fc_background_done(const fc_background *b);
/* Waits. NULL: it could not be compiled. */
const fc_bytes *fc_background_result(fc_background *b);
/* Waits for what has been begun or is to be kept (`then`); NULL is fine. */
void fc_background_free(fc_background *b);

int fc_background_running(void); /* in this process, with those that wait for their turn */

/* For the wait at the end of the process to come before the end of the device's compiler, it is
 * asked for when that has been loaded and used. */
void fc_background_guard_exit(const fc_device *d);
/* On the thread that main() runs in: its end waits too, also if other threads alone compile. */
void fc_background_guard_main(void);

#endif
