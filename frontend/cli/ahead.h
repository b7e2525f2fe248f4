/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ahead.h - a thread that makes items, in order, before they are asked for: pieces of a file that
 * are read while others are computed with.
 *
 * There is room for `slots` items; item k lies in slot k % slots until it is given back. Without a
 * thread (none can be had) items are made when they are waited for. */
#ifndef FUSEC_FRONTEND_CLI_AHEAD_H
#define FUSEC_FRONTEND_CLI_AHEAD_H

#include <pthread.h>

#include "ir/base.h"

/* Makes item k. The slot of item k - 1 still has it. */
typedef fusec_status (*fc_ahead_fn)(void *user, int64_t k, unsigned slot, fc_error *e);

typedef struct fc_ahead {
    fc_ahead_fn make;
    void *user;
    unsigned slots;
    int64_t count;            /* of all items */
    int64_t made, given_back; /* so far */
    fusec_status status;      /* why it stopped before the end */
    fc_error error;
    bool threaded, stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
} fc_ahead;

void fc_ahead_start(fc_ahead *a, unsigned slots, int64_t count, fc_ahead_fn make, void *user);
/* Waits for item k; those before it have been given back. An error of making it is given here. */
fusec_status fc_ahead_wait(fc_ahead *a, int64_t k, fc_error *e);
/* The slot of the oldest item may be used again. */
void fc_ahead_give_back(fc_ahead *a);
/* Ends the thread, also before all was made. */
void fc_ahead_end(fc_ahead *a);

#endif
