/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile_jobs.c - see compile_jobs.h. Compilers take milliseconds, so threads are started for them
 * and end with them: the pool of the CPU device has other users, and there may be none. */
#include "runtime/compile_jobs.h"

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/cpuinfo.h"
#include "runtime/thread.h"

typedef struct work {
    fc_device *d;
    uint32_t mode;
    fc_compile_job *jobs;
    size_t n;
    atomic_size_t next;
} work;

int fc_compile_threads(void) {
    const int cores = fc_usable_cpus();
    return cores < FC_COMPILE_THREADS ? cores : FC_COMPILE_THREADS;
}

static void *run(void *user) {
    work *w = user;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->n;) {
        fc_compile_job *j = &w->jobs[i];
        if (j->left_out) continue;
        fusec_status s =
            w->d->ops->compile(w->d, w->mode, j->effort, fc_compile_text(j), &j->binary, &j->error);
        if (s && !j->error.code) fc_fail(&j->error, s, "a kernel could not be compiled");
    }
    return NULL;
}

void fc_compile_jobs(fc_device *d, uint32_t mode, fc_compile_job *jobs, size_t n) {
    work w = {.d = d, .mode = mode, .jobs = jobs, .n = n};
    pthread_t thread[FC_COMPILE_THREADS];
    size_t started = 0, wanted = n > 1 ? (size_t)fc_compile_threads() : 1;
    atomic_init(&w.next, 0);
    if (wanted > n) wanted = n;
    while (started + 1 < wanted && fc_thread_start(&thread[started], 0, run, &w)) started++;
    run(&w);
    for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
}
