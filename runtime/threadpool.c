/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* threadpool.c - see threadpool.h.
 *
 * One run at a time owns the pool (`busy`). It writes to each worker what its share is and offers
 * it, wakes those that sleep, and takes part itself. A worker looks at nothing but its own line
 * while it waits, and finds all that it needs there: fifteen that look at one line and count
 * themselves in and out of another take longer than many a run. The first task of a share belongs
 * to its worker or, when that does not come, to somebody who is done; the others are claimed one by
 * one, and a worker that comes late still takes part in them. Nobody waits long for one that does
 * not come: at the end of a run the caller takes back what it had offered, and waits for exactly
 * those workers that have taken it. An offer carries the number of its run; what stands beside it
 * belongs to that run, and nobody writes to it before the run is over.
 *
 * Who takes a task of another takes its lines out of the cache that they are in, and may be three
 * times as long about it. So the share of a worker that is awake is left to it for GRACE, as it
 * begins within a microsecond, and the last task of a share for as long as a task takes, up to
 * PATIENCE.
 *
 * To wake a thread takes longer than a short run, for who wakes as for who is woken. So workers
 * look out for the next run for a while before they sleep: all of them briefly, longer when runs
 * have followed each other closely, and as many as the runs have use for until the next run is
 * overdue, as long as runs keep coming within HORIZON. The caller wakes the first sleepers and each
 * of these some more: on a machine whose processors sleep deeply a thread is awake after some
 * 100 us, and there a second step costs more than fifteen calls. Who wakes a sleeper takes its mark
 * (`asleep`) first, so that there is a sleeper for every post. */
#include "runtime/threadpool.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "ir/plant.h"
#include "runtime/thread.h"

enum { MAX_THREADS = 1024, STACK_BYTES = 1 << 20 };
enum {                        /* nanoseconds; to sleep and be woken takes 5 to 120 us */
       LOOKOUT = 10000,       /* of a worker after a run */
       LONG_LOOKOUT = 100000, /* when runs have come as soon after each other */
       HORIZON = 2000000,     /* runs further apart than this are not looked out for */
       GRACE = 3000,          /* for workers that are awake and have not begun */
       LONG_RUN = 100000,     /* what was taken for brief is not, from here on */
       PATIENCE = 50000       /* of a caller whose workers are not done; for last tasks, at most */
};
enum { LOOKS = 16, FAN = 16 }; /* looks for each question of the time; sleepers that one wakes */
enum { PAUSES = 4 };           /* between looks at the shares of others */
enum { FADING = 16 };          /* a longer pause is forgotten by a part in so many with every run */
enum { CLOSE_RUNS = 8 };       /* so many soon after each other pay for waking somebody */
enum { LINE = 128 };           /* bytes: lines of 64 are fetched in pairs */

/* An offer is the number of its run times OFFERS, and how it stands. BEGUN: somebody else has the
 * first task. */
enum { NONE, OFFERED, BEGUN, TAKEN, DONE, THE_END, OFFERS = 8 };

/* A worker and its share of a run. The first one is the caller's and has no thread. */
typedef struct worker {
    _Alignas(LINE) atomic_ullong offer;
    atomic_bool asleep; /* and nobody has undertaken to wake it */
    bool single;        /* no share of the run has more than one task */
    int n_shares;       /* of the run */
    fc_task_fn fn;
    void *arg;
    atomic_llong next; /* of the tasks behind the first */
    int64_t first, end;
    _Alignas(LINE / 2) fc_pool *pool;
    pthread_t thread;
    sem_t bell;
} worker;

struct fc_pool {
    const fc_alloc *alloc;
    void *block; /* what was allocated; the pool is aligned inside it */
    int n_threads;
    size_t stack;
    pid_t pid;
    atomic_bool busy;
    /* only touched by the owner of a run: */
    int n_started;          /* workers */
    uint64_t run;           /* its number times OFFERS */
    int64_t last_end, rest; /* of a run; what is usual between two */
    int close;              /* runs that came soon after the one before, at most CLOSE_RUNS */
    int in_use;             /* workers that recent runs had shares for */
    pthread_mutex_t mutex;
    pthread_cond_t done;
    /* read by all, seldom written: */
    _Alignas(LINE) atomic_bool caller_sleeps;
    atomic_int some_sleep; /* when the run began */
    atomic_int lookout;    /* of all workers, nanoseconds */
    atomic_int watch;      /* of those that the runs have use for; no less than `lookout` */
    atomic_int kept;       /* how many these are */
    /* how many sleep, and who is to be woken for this run by whoever comes to it: */
    _Alignas(LINE) atomic_int sleepers;
    atomic_ullong to_wake;

    worker workers[];
};

static void pause_briefly(void) {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The time while somebody looks out: there may be more threads than processors. */
static int64_t let_others(void) {
    sched_yield();
    return now_ns();
}

/* Leaves the line to its readers when there is nothing new. */
static void set_int(atomic_int *at, int value) {
    if (atomic_load_explicit(at, memory_order_relaxed) != value) atomic_store(at, value);
}

/* ---- running tasks ------------------------------------------------------------------------- */

typedef struct tasks {
    fc_task_fn fn;
    void *arg;
    int64_t begin, end;
} tasks;

static void run_here(tasks t) {
    uint64_t before = fc_float_enter();
    if (t.begin < t.end) t.fn(t.arg, t.begin, t.end);
    fc_float_leave(before);
}

/* Whether the offer stood like this and now stands like that. */
static bool take_offer(worker *w, uint64_t run, unsigned from, unsigned to) {
    unsigned long long is = atomic_load_explicit(&w->offer, memory_order_acquire);
    return is == run + from && atomic_compare_exchange_strong(&w->offer, &is, run + to);
}

/* The tasks behind the first of a share but for the last `left`; whether any are left. */
static bool run_rest(worker *w, int left) {
    while (atomic_load_explicit(&w->next, memory_order_relaxed) < w->end - left) {
        const int64_t task = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (task < w->end) w->fn(w->arg, task, task + 1);
    }
    return left && atomic_load_explicit(&w->next, memory_order_relaxed) < w->end;
}

static void run_share(worker *w) {
    if (w->first < w->end) w->fn(w->arg, w->first, w->first + 1);
    run_rest(w, 0);
}

/* What is left to the workers of shares that are not done: nothing, the last task of each, or also
 * shares that a worker which is awake has not begun. */
typedef enum patience { NOTHING, LAST_TASKS, SHARES } patience;

/* With one share; true: something was left. */
static bool help(worker *w, uint64_t run, patience leave) {
    const uint64_t is = atomic_load_explicit(&w->offer, memory_order_acquire);
    if (is - run >= OFFERS) return true; /* not offered yet */
    if (is != run + OFFERED) return run_rest(w, leave != NOTHING);
    if (leave == SHARES && !atomic_load_explicit(&w->asleep, memory_order_relaxed)) return true;
    if (take_offer(w, run, OFFERED, BEGUN)) run_share(w);
    return false;
}

static bool help_all(worker *me, uint64_t run, patience leave) {
    worker *all = me->pool->workers;
    const int n = me->n_shares;
    bool left = false;
    for (int k = 1; k < n; k++) left |= help(&all[(me - all + k) % n], run, leave);
    return left;
}

/* Called by who is done with his share, which he `start`ed then. */
static void help_others(worker *me, uint64_t run, int64_t start) {
    int64_t task = 0, done = 0;
    patience leave = SHARES;
    for (int looks = 1; help_all(me, run, leave) && leave != NOTHING; looks++) {
        for (int i = 0; i < PAUSES; i++) pause_briefly();
        const int64_t now = looks % LOOKS ? now_ns() : let_others();
        if (!done) {
            done = now;
            task = (now - start) / (me->end > me->first ? me->end - me->first : 1);
            if (task > PATIENCE) task = PATIENCE;
        }
        leave = now - done < GRACE ? SHARES : now - done < task ? LAST_TASKS : NOTHING;
    }
}

/* ---- workers ------------------------------------------------------------------------------- */

static bool wake(worker *w) {
    if (!atomic_load(&w->asleep) || !atomic_exchange(&w->asleep, false)) return false;
    sem_post(&w->bell);
    return true;
}

/* `to_wake` is the worker to be looked at next, and 2^32 times the one behind the last. */
static void wake_for_run(fc_pool *p) {
    unsigned long long at = atomic_load(&p->to_wake);
    for (int woken = 0; woken < FAN && (at & UINT32_MAX) < at >> 32;) {
        if (!atomic_compare_exchange_weak(&p->to_wake, &at, at + 1)) continue;
        woken += wake(&p->workers[at & UINT32_MAX]);
        at = atomic_load(&p->to_wake);
    }
}

static bool has_news(worker *w) {
    const uint64_t is = atomic_load_explicit(&w->offer, memory_order_acquire) % OFFERS;
    return is == OFFERED || is == BEGUN || is == THE_END;
}

/* True: there is news. */
static bool look_out(worker *w) {
    fc_pool *p = w->pool;
    int64_t start = 0;
    for (int i = 0;; i++) {
        if (has_news(w)) return true;
        pause_briefly();
        if (i % LOOKS) continue;
        const int64_t now = let_others();
        if (!start) start = now;
        const bool kept = w - p->workers <= atomic_load_explicit(&p->kept, memory_order_relaxed);
        atomic_int *most = kept ? &p->watch : &p->lookout;
        if (now - start >= atomic_load_explicit(most, memory_order_relaxed)) return false;
    }
}

/* Returns when there may be an offer; true: the worker was asleep. */
static bool wait_for_work(worker *w) {
    fc_pool *p = w->pool;
    if (look_out(w)) return false;
    atomic_store(&w->asleep, true);
    atomic_fetch_add(&p->sleepers, 1); /* what came before the count of any_sleepers is seen now */
    const bool news = has_news(w) && atomic_exchange(&w->asleep, false);
    while (!news && sem_wait(&w->bell) != 0) {
    } /* interrupted */
    atomic_fetch_sub(&p->sleepers, 1);
    return !news;
}

/* Every worker has the same share in every run, so that data which is used over and over stays in
 * the caches of the cores it is in. */
static void *work(void *user) {
    worker *w = user;
    fc_pool *p = w->pool;
    for (;;) {
        if (wait_for_work(w)) wake_for_run(p);
        const uint64_t is = atomic_load(&w->offer), run = is - is % OFFERS;
        if (is % OFFERS == THE_END) return NULL;
        const bool whole = take_offer(w, run, OFFERED, TAKEN);
        if (!whole && !take_offer(w, run, BEGUN, TAKEN)) continue;
        const uint64_t before = fc_float_enter();
        const int64_t start = now_ns();
        if (whole)
            run_share(w);
        else
            run_rest(w, 0);
        /* shares of one task are left to their workers and, in the end, to the caller */
        if (!w->single || atomic_load_explicit(&p->some_sleep, memory_order_relaxed))
            help_others(w, run, start);
        fc_float_leave(before);
        atomic_exchange(&w->offer, run + DONE);
        if (!atomic_load(&p->caller_sleeps)) continue;
        pthread_mutex_lock(&p->mutex);
        pthread_cond_signal(&p->done);
        pthread_mutex_unlock(&p->mutex);
    }
}

/* Starts workers up to `wanted`; fewer when the system gives no more. */
static void start_workers(fc_pool *p, int wanted) {
    while (p->n_started < wanted) {
        worker *w = &p->workers[p->n_started + 1];
        if (!fc_thread_start(&w->thread, p->stack, work, w)) break;
        p->n_started++;
    }
}

/* ---- a run --------------------------------------------------------------------------------- */

/* The pause that is usual between two runs. After one beyond the horizon it is not known: one more
 * within it is no habit yet. Then a longer one counts at once and fades slowly, so that the pause
 * between two bursts of runs is not forgotten in them. */
static int64_t usual_pause(int64_t usual, int64_t pause) {
    if (pause > HORIZON) return 0;
    if (!usual) return pause < LONG_LOOKOUT ? pause + 1 : LONG_LOOKOUT;
    usual -= usual / FADING;
    return pause > usual ? pause : usual;
}

/* How long workers wait for the run after this one. Nobody is kept awake for brief runs that come
 * seldom. */
static void set_lookout(fc_pool *p, int n_workers, bool brief) {
    const int64_t pause = now_ns() - p->last_end;
    if (brief && pause <= HORIZON)
        p->rest -= p->rest / FADING;
    else
        p->rest = usual_pause(p->rest, pause);
    p->in_use -= p->in_use > 0;
    if (!brief && p->in_use < n_workers) p->in_use = n_workers;
    p->close = pause < LONG_LOOKOUT ? p->close + (p->close < CLOSE_RUNS) : 0;
    const int lookout = p->close ? LONG_LOOKOUT : LOOKOUT;
    const int watch = (int)(p->rest + p->rest / 2) + LOOKOUT;
    set_int(&p->lookout, lookout);
    set_int(&p->watch, watch > lookout ? watch : lookout);
    set_int(&p->kept, p->in_use);
}

/* Called when something was offered: either the worker that goes to sleep counts itself later and
 * sees the offer, or it is counted here. */
static bool any_sleepers(fc_pool *p) {
    return atomic_fetch_add(&p->sleepers, 0) > 0;
}

static void open_run(fc_pool *p, int n_shares, tasks t) {
    const int64_t n = t.end - t.begin, each = n / n_shares, more = n % n_shares;
    int64_t at = t.begin;
    p->run += OFFERS;
    for (int i = 0; i < n_shares; i++) {
        worker *w = &p->workers[i];
        w->single = n == n_shares;
        w->n_shares = n_shares;
        w->fn = t.fn;
        w->arg = t.arg;
        w->first = at;
        atomic_store_explicit(&w->next, at + 1, memory_order_relaxed);
        at += each + (i < more) - (FC_PLANTED(last_task) && i == n_shares - 1);
        w->end = at;
        atomic_store_explicit(&w->offer, p->run + (i ? OFFERED : TAKEN), memory_order_release);
    }
}

/* Takes the offer back; false: its worker is at work. */
static bool is_over(fc_pool *p, int i) {
    worker *w = &p->workers[i];
    return take_offer(w, p->run, BEGUN, NONE) || atomic_load(&w->offer) != p->run + TAKEN;
}

static void close_run(fc_pool *p, int n_shares) {
    int at = 1;
    const int64_t start = now_ns();
    for (int i = 1; i % LOOKS || let_others() - start < PATIENCE; i++) {
        while (at < n_shares && is_over(p, at)) at++;
        if (at == n_shares) return;
        pause_briefly();
    }
    pthread_mutex_lock(&p->mutex);
    atomic_store(&p->caller_sleeps, true);
    for (; at < n_shares; at++)
        while (!is_over(p, at)) pthread_cond_wait(&p->done, &p->mutex);
    atomic_store(&p->caller_sleeps, false);
    pthread_mutex_unlock(&p->mutex);
}

static int shares_of(const fc_pool *p, tasks t) {
    return t.end - t.begin < p->n_threads ? (int)(t.end - t.begin) : p->n_threads;
}

static void run_shared(fc_pool *p, bool may_wake, tasks t) {
    int n_shares = shares_of(p, t);
    if (may_wake) start_workers(p, n_shares - 1);
    if (n_shares > p->n_started + 1) n_shares = p->n_started + 1;
    const uint64_t before = fc_float_enter();
    const int64_t start = now_ns();
    open_run(p, n_shares, t);
    const bool sleepers = any_sleepers(p);
    set_int(&p->some_sleep, sleepers);
    if (sleepers && may_wake) {
        atomic_store(&p->to_wake, ((unsigned long long)n_shares << 32) + 1);
        wake_for_run(p);
    }
    run_share(&p->workers[0]);
    help_others(&p->workers[0], p->run, start);
    fc_float_leave(before);
    close_run(p, n_shares);
}

/* The first task shows whether the run is as brief as it was taken for. */
static void run_brief(fc_pool *p, tasks t) {
    tasks first = t;
    const int64_t start = now_ns();
    first.end = t.begin = first.begin + 1;
    run_here(first);
    if (now_ns() - start > LONG_RUN / (t.end - t.begin))
        run_shared(p, true, t);
    else
        run_here(t);
}

void fc_pool_run(fc_pool *p, int64_t n_tasks, bool brief, fc_task_fn fn, void *arg) {
    const tasks t = {fn, arg, 0, n_tasks};
    bool free_pool = false;
    if (!p || n_tasks <= 1 || p->n_threads == 1 || p->pid != getpid() ||
        !atomic_compare_exchange_strong(&p->busy, &free_pool, true)) {
        run_here(t);
        return;
    }
    set_lookout(p, shares_of(p, t) - 1, brief);
    const bool may_wake = !brief || p->close == CLOSE_RUNS;
    if (may_wake || atomic_load(&p->sleepers) < p->n_started)
        run_shared(p, may_wake, t);
    else
        run_brief(p, t);
    p->last_end = now_ns();
    atomic_store(&p->busy, false);
}

/* ---- life ---------------------------------------------------------------------------------- */

int fc_pool_threads(const fc_pool *p) {
    return p ? p->n_threads : 1;
}

static bool init_workers(fc_pool *p) {
    for (int i = 0; i < p->n_threads; i++) {
        worker *w = &p->workers[i];
        w->pool = p;
        if (sem_init(&w->bell, 0, 0) == 0) continue;
        while (i-- > 0) sem_destroy(&p->workers[i].bell);
        return false;
    }
    return true;
}

fc_pool *fc_pool_create(const fc_alloc *alloc, int n_threads, size_t stack) {
    if (n_threads < 1) n_threads = 1;
    if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
    const size_t bytes = sizeof(fc_pool) + (size_t)n_threads * sizeof(worker);
    char *block = fc_calloc(alloc, 1, bytes + LINE - 1);
    if (!block) return NULL;
    fc_pool *p = (fc_pool *)(((uintptr_t)block + LINE - 1) & ~(uintptr_t)(LINE - 1));
    p->alloc = alloc;
    p->block = block;
    p->n_threads = n_threads;
    p->stack = stack ? stack : STACK_BYTES;
    p->pid = getpid();
    if (!init_workers(p)) {
        fc_free(alloc, block);
        return NULL;
    }
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->done, NULL);
    return p;
}

void fc_pool_destroy(fc_pool *p) {
    if (!p) return;
    /* In a forked child the workers do not exist, and the mutex may be held for ever by one of
     * them. */
    if (p->pid == getpid()) {
        for (int i = 1; i <= p->n_started; i++) atomic_store(&p->workers[i].offer, THE_END);
        (void)any_sleepers(p);
        for (int i = 1; i <= p->n_started; i++) {
            wake(&p->workers[i]);
            pthread_join(p->workers[i].thread, NULL);
        }
        for (int i = 0; i < p->n_threads; i++) sem_destroy(&p->workers[i].bell);
        pthread_cond_destroy(&p->done);
        pthread_mutex_destroy(&p->mutex);
    }
    fc_free(p->alloc, p->block);
}
