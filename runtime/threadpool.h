/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* threadpool.h - threads that wait for work. All participants of a run are in the float state of
 * ir/float_state.h while it lasts.
 *
 * A run has `n_tasks` tasks. They are cut into one contiguous share for each participant (the
 * caller is one), so that the same tasks tend to meet the same caches from run to run; who is done
 * early takes single tasks from the shares of others. Which thread runs a task is not defined,
 * every task runs exactly once, and all have run when fc_pool_run returns.
 *
 * A brief run is thought to take no longer than to wake a thread does. It is shared with the
 * workers that are awake; others are woken for it only when runs have followed each other closely,
 * or when its first task has shown that it is not brief.
 *
 * Threads start at the first run that needs them. A run with one task, a run inside a task, a
 * second run at the same time, and a run in a forked child do their tasks in the calling thread. */
#ifndef FUSEC_RUNTIME_THREADPOOL_H
#define FUSEC_RUNTIME_THREADPOOL_H

#include "ir/base.h"
#include "ir/float_state.h"

typedef struct fc_pool fc_pool;
typedef void (*fc_task_fn)(void *arg, int64_t begin, int64_t end); /* tasks, mostly one */

/* `n_threads` counts the caller; `stack` in bytes, 0: enough for kernels. NULL when out of memory;
 * fc_pool_run takes a NULL pool. */
fc_pool *fc_pool_create(const fc_alloc *alloc, int n_threads, size_t stack);
void fc_pool_destroy(fc_pool *p); /* no run may be under way; NULL is fine */
int fc_pool_threads(const fc_pool *p);

/* n_tasks >= 0. */
void fc_pool_run(fc_pool *p, int64_t n_tasks, bool brief, fc_task_fn fn, void *arg);

#endif
