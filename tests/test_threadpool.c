/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_threadpool.c - every task once, whatever runs at the same time; the float environment. */
#include "runtime/threadpool.h"
#include "tests/support/test.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static const fc_alloc *const A = &fc_libc_alloc;

/* A function of tasks from one of a task. */
#define TASKS(name)                                                                                \
    static void name##s(void *arg, int64_t begin, int64_t end) {                                   \
        for (int64_t task = begin; task < end; task++) name(arg, task);                            \
    }

typedef struct counted {
    atomic_int *times; /* of each task */
    fc_pool *pool;
    pthread_t caller;
    atomic_int elsewhere; /* tasks that ran in another thread */
} counted;

static void count_task(void *arg, int64_t task) {
    counted *c = arg;
    atomic_fetch_add(&c->times[task], 1);
    if (!pthread_equal(pthread_self(), c->caller)) atomic_fetch_add(&c->elsewhere, 1);
}
TASKS(count_task)

static void expect_once(counted *c, int64_t n) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong += atomic_load(&c->times[i]) != 1;
    FC_EXPECT_EQ_I64(wrong, 0);
}

static void run_counted(fc_pool *p, int64_t n) {
    counted c = {
        .times = calloc((size_t)n + 1, sizeof(atomic_int)), .pool = p, .caller = pthread_self()};
    FC_ASSERT_TRUE(c.times != NULL);
    fc_pool_run(p, n, false, count_tasks, &c);
    expect_once(&c, n);
    free(c.times);
}

FC_TEST(threadpool, every_task_once) {
    const int sizes[] = {1, 2, 3, 4, 8, 33};
    for (size_t i = 0; i < FC_COUNT(sizes); i++) {
        fc_pool *p = fc_pool_create(A, sizes[i], 0);
        FC_ASSERT_TRUE(p != NULL);
        FC_EXPECT_EQ_I64(fc_pool_threads(p), sizes[i]);
        for (int64_t n = 0; n < 70; n++) run_counted(p, n);
        run_counted(p, 10007);
        fc_pool_destroy(p);
    }
    run_counted(NULL, 100);
    fc_pool_destroy(NULL);
    fc_pool_destroy(fc_pool_create(A, 8, 0)); /* never ran */
    fc_pool *none = fc_pool_create(A, -3, 0);
    FC_EXPECT_EQ_I64(fc_pool_threads(none), 1);
    fc_pool_destroy(none);
}

/* ---- who does what ------------------------------------------------------------------------- */

/* Tasks that wait for other tasks: without help they would wait until the patience is over. */
typedef struct waiting {
    counted counted;
    atomic_int done, late;
} waiting;

static void wait_for(waiting *w, atomic_int *count, int most) {
    struct timespec t = {0, 100000};
    for (int i = 0; atomic_load(count) < most; i++) {
        if (i == 200000) {
            atomic_fetch_add(&w->late, 1);
            return;
        }
        nanosleep(&t, NULL);
    }
}

/* The caller's tasks wait until a worker has done one. */
static void shared_task(void *arg, int64_t task) {
    waiting *w = arg;
    if (pthread_equal(pthread_self(), w->counted.caller)) wait_for(w, &w->counted.elsewhere, 1);
    count_task(&w->counted, task);
}
TASKS(shared_task)

FC_TEST(threadpool, work_is_shared) {
    atomic_int times[8] = {0};
    waiting w = {.counted = {.times = times, .caller = pthread_self()}};
    fc_pool *p = fc_pool_create(A, 4, 0);
    fc_pool_run(p, 8, false, shared_tasks, &w);
    expect_once(&w.counted, 8);
    FC_EXPECT_EQ_I64(atomic_load(&w.late), 0);
    fc_pool_destroy(p);
}

/* The first task of the last share takes until all others are done: those behind it in the same
 * share must be taken by the others. */
static void uneven_task(void *arg, int64_t task) {
    waiting *w = arg;
    if (task == 75) wait_for(w, &w->done, 99);
    count_task(&w->counted, task);
    atomic_fetch_add(&w->done, 1);
}
TASKS(uneven_task)

FC_TEST(threadpool, imbalance) {
    atomic_int times[100] = {0};
    waiting w = {.counted = {.times = times, .caller = pthread_self()}};
    fc_pool *p = fc_pool_create(A, 4, 0);
    fc_pool_run(p, 100, false, uneven_tasks, &w);
    expect_once(&w.counted, 100);
    FC_EXPECT_EQ_I64(atomic_load(&w.late), 0);
    fc_pool_destroy(p);
}

/* Each task waits until all threads have one: then every thread has its own share, and it is the
 * same one in all runs. */
typedef struct places {
    waiting waiting;
    pthread_t thread[4];
} places;

static void task_of_all(void *arg, int64_t task) {
    places *p = arg;
    p->thread[task] = pthread_self();
    atomic_fetch_add(&p->waiting.done, 1);
    wait_for(&p->waiting, &p->waiting.done, 4);
}
TASKS(task_of_all)

FC_TEST(threadpool, shares_keep_their_threads) {
    fc_pool *p = fc_pool_create(A, 4, 0);
    places first = {.waiting = {.done = 0}};
    fc_pool_run(p, 4, false, task_of_alls, &first);
    for (int run = 0; run < 50; run++) {
        places now = {.waiting = {.done = 0}};
        fc_pool_run(p, 4, false, task_of_alls, &now);
        FC_EXPECT_EQ_I64(atomic_load(&now.waiting.late), 0);
        for (int i = 0; i < 4; i++)
            FC_EXPECT_TRUE(pthread_equal(now.thread[i], first.thread[i]) != 0);
    }
    fc_pool_destroy(p);
}

FC_TEST(threadpool, many_short_runs) {
    fc_pool *p = fc_pool_create(A, 4, 0);
    for (int i = 0; i < 3000; i++) {
        run_counted(p, i % 13);
        if (i % 300 == 0) { /* long enough for the workers to fall asleep */
            struct timespec t = {0, 2000000};
            nanosleep(&t, NULL);
        }
    }
    fc_pool_destroy(p);
}

/* Takes so long at first that the run is not brief; then the caller's tasks wait for a worker. */
static void slow_task(void *arg, int64_t task) {
    waiting *w = arg;
    struct timespec t = {0, 2000000};
    if (task == 0)
        nanosleep(&t, NULL);
    else if (pthread_equal(pthread_self(), w->counted.caller))
        wait_for(w, &w->counted.elsewhere, 1);
    count_task(&w->counted, task);
}
TASKS(slow_task)

FC_TEST(threadpool, a_brief_run_that_is_not) {
    fc_pool *p = fc_pool_create(A, 4, 0);
    for (int n = 3; n < 20; n++) {
        atomic_int times[20] = {0};
        waiting w = {.counted = {.times = times, .caller = pthread_self()}};
        fc_pool_run(p, n, true, slow_tasks, &w);
        expect_once(&w.counted, n);
        FC_EXPECT_EQ_I64(atomic_load(&w.late), 0);
    }
    fc_pool_destroy(p);
}

/* A brief run wakes nobody, so nobody is born for it; when such runs follow each other closely, the
 * workers come. */
FC_TEST(threadpool, brief_runs) {
    fc_pool *p = fc_pool_create(A, 4, 0);
    struct timespec long_time = {0, 5000000};
    int64_t shared = 0;
    for (int i = 0; i < 3; i++) {
        atomic_int times[16] = {0};
        counted c = {.times = times, .caller = pthread_self()};
        fc_pool_run(p, 16, true, count_tasks, &c);
        expect_once(&c, 16);
        FC_EXPECT_EQ_I64(atomic_load(&c.elsewhere), 0);
        nanosleep(&long_time, NULL);
    }
    for (int i = 0; i < 1000000 && !shared; i++) {
        atomic_int times[64] = {0};
        counted c = {.times = times, .caller = pthread_self()};
        fc_pool_run(p, 64, true, count_tasks, &c);
        expect_once(&c, 64);
        shared = atomic_load(&c.elsewhere);
    }
    FC_EXPECT_TRUE(shared > 0);
    fc_pool_destroy(p);
}

static void nested_task(void *arg, int64_t task) {
    counted *c = arg;
    counted inner = {.times = c->times + task * 5, .caller = pthread_self()};
    fc_pool_run(c->pool, 5, false, count_tasks, &inner);
}
TASKS(nested_task)

FC_TEST(threadpool, run_inside_a_task) {
    atomic_int times[500] = {0};
    counted c = {.times = times, .caller = pthread_self()};
    c.pool = fc_pool_create(A, 3, 0);
    fc_pool_run(c.pool, 100, false, nested_tasks, &c);
    expect_once(&c, 500);
    fc_pool_destroy(c.pool);
}

static void *call_often(void *arg) {
    for (int i = 0; i < 500; i++) run_counted(arg, 3 + i % 50);
    return NULL;
}

FC_TEST(threadpool, concurrent_callers) {
    pthread_t t[6];
    fc_pool *p = fc_pool_create(A, 3, 0);
    for (int i = 0; i < 6; i++) FC_ASSERT_EQ_I64(pthread_create(&t[i], NULL, call_often, p), 0);
    for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
    fc_pool_destroy(p);
}

FC_TEST(threadpool, forked_child_runs_alone) {
    fc_pool *p = fc_pool_create(A, 4, 0);
    int status = -1;
    run_counted(p, 100);
    pid_t child = fork();
    if (child == 0) {
        atomic_int times[50] = {0};
        counted c = {.times = times, .caller = pthread_self()};
        int wrong = 0;
        alarm(100);
        fc_pool_run(p, 50, false, count_tasks, &c);
        for (int i = 0; i < 50; i++) wrong += times[i] != 1;
        wrong += c.elsewhere != 0;
        fc_pool_destroy(p);
        _exit(wrong);
    }
    FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
    FC_EXPECT_EQ_I64(status, 0);
    run_counted(p, 100);
    fc_pool_destroy(p);
}

/* ---- floats -------------------------------------------------------------------------------- */

typedef struct floats {
    atomic_int wrong;
    volatile float tiny, half, three;
} floats;

static void float_task(void *arg, int64_t task) {
    floats *f = arg;
    volatile float subnormal = f->tiny * f->half;   /* 0 when flushing */
    volatile double third = 1.0 / (double)f->three; /* rounded down to nearest */
    (void)task;
    if (!(subnormal > 0) || third != 0x1.5555555555555p-2 || fegetround() != FE_TONEAREST)
        atomic_fetch_add(&f->wrong, 1);
    struct timespec t = {0, 1000000};
    nanosleep(&t, NULL);
}
TASKS(float_task)

static void run_floats(fc_pool *p, int64_t tasks) {
    floats f = {.tiny = 0x1p-126f, .half = 0.5f, .three = 3};
    fc_pool_run(p, tasks, false, float_tasks, &f);
    FC_EXPECT_EQ_I64(atomic_load(&f.wrong), 0);
}

FC_TEST(threadpool, float_environment) {
    fc_pool *p = fc_pool_create(A, 4, 0);
#if defined(__x86_64__)
    const unsigned odd =
        0x1f80 | 0x8040 | 0x4000; /* flush to zero, subnormals are zero, round up */
    unsigned before = _mm_getcsr();
    _mm_setcsr(odd);
    run_floats(p, 16);
    unsigned pooled = _mm_getcsr();
    run_floats(p, 1);
    unsigned alone = _mm_getcsr();
    run_floats(NULL, 3);
    unsigned poolless = _mm_getcsr();
    _mm_setcsr(before);
    FC_EXPECT_EQ_I64(pooled & ~0x3fu, odd); /* but for the flags of what happened */
    FC_EXPECT_EQ_I64(alone & ~0x3fu, odd);
    FC_EXPECT_EQ_I64(poolless & ~0x3fu, odd);
#else
    fesetround(FE_UPWARD);
    run_floats(p, 16);
    run_floats(p, 1);
    int after = fegetround();
    fesetround(FE_TONEAREST);
    FC_EXPECT_EQ_I64(after, FE_UPWARD);
#endif
    fc_pool_destroy(p);
}
