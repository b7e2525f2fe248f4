/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ahead.c - see ahead.h. The lock is not held while an item is made. */
#include "frontend/cli/ahead.h"

#include <string.h>

static void make_next(fc_ahead *a) {
    fc_error e = {0};
    const fusec_status s = a->make(a->user, a->made, (unsigned)(a->made % a->slots), &e);
    pthread_mutex_lock(&a->lock);
    if (s)
        a->status = s, a->error = e;
    else
        a->made++;
    pthread_cond_signal(&a->moved);
    pthread_mutex_unlock(&a->lock);
}

/* False: there is nothing more to be done. */
static bool wait_for_room(fc_ahead *a) {
    pthread_mutex_lock(&a->lock);
    while (!a->stop && a->made - a->given_back >= a->slots) pthread_cond_wait(&a->moved, &a->lock);
    const bool more = !a->stop && !a->status && a->made < a->count;
    pthread_mutex_unlock(&a->lock);
    return more;
}

static void *run(void *user) {
    while (wait_for_room(user)) make_next(user);
    return NULL;
}

void fc_ahead_start(fc_ahead *a, unsigned slots, int64_t count, fc_ahead_fn make, void *user) {
    *a = (fc_ahead){.make = make, .user = user, .slots = slots, .count = count};
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->moved, NULL);
    a->threaded = !pthread_create(&a->thread, NULL, run, a);
}

fusec_status fc_ahead_wait(fc_ahead *a, int64_t k, fc_error *e) {
    while (!a->threaded && a->made <= k && !a->status) make_next(a);
    pthread_mutex_lock(&a->lock);
    while (a->made <= k && !a->status) pthread_cond_wait(&a->moved, &a->lock);
    const bool there = a->made > k;
    pthread_mutex_unlock(&a->lock);
    return there ? FUSEC_OK : fc_fail(e, a->status, "%s", a->error.message);
}

void fc_ahead_give_back(fc_ahead *a) {
    pthread_mutex_lock(&a->lock);
    a->given_back++;
    pthread_cond_signal(&a->moved);
    pthread_mutex_unlock(&a->lock);
}

void fc_ahead_end(fc_ahead *a) {
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->moved);
    pthread_mutex_unlock(&a->lock);
    if (a->threaded) pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->moved);
    pthread_mutex_destroy(&a->lock);
}
