/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* thread.c - see thread.h. */
#include "runtime/thread.h"

#include <signal.h>

bool fc_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *), void *arg) {
    pthread_attr_t attr;
    sigset_t all, before;
    if (pthread_attr_init(&attr)) return false;
    if (stack) (void)pthread_attr_setstacksize(&attr, stack);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = !pthread_create(thread, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return started;
}
