/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* thread.h - threads of the library's own. */
#ifndef FUSEC_RUNTIME_THREAD_H
#define FUSEC_RUNTIME_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Starts a thread that gets no signals: those are the business of the program's own. The caller
 * joins it. `stack` in bytes, 0: the usual size. False: there is none. */
bool fc_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *), void *arg);

#endif
