/* threadpool.c - see threadpool.h.
 *
 * One run at a time owns the pool (`busy`). It writes the run, opens `joined` for claims and wakes
 * sleepers. A worker that wants to take part claims a number from `joined`; at the end the caller
 * closes it and waits for exactly those that came in time. A worker that wakes up late finds it
 * closed and goes back to sleep, so nobody ever waits for a thread that was not needed. The fields
 * of a run are only written while `joined` is closed and all who had joined are done.
 *
 * To wake a thread takes longer than a short run, for who wakes as for who is woken. So workers
 * look out for the next run for a while before they sleep: all of them briefly, longer when runs
 * have followed each other closely, and as many as the runs have use for until the next run is
 * overdue, as long as runs keep coming within HORIZON. The caller wakes the first sleepers and each
 * of these some more: on a machine whose processors sleep deeply a thread is awake after some
 * 100 us, and there a second step costs more than fifteen calls. A sleeper waits at a semaphore;
 * who wants to wake one takes it out of `sleepers` first, so that there is a sleeper for every
 * post. */
#include "runtime/threadpool.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "ir/plant.h"

enum { MAX_THREADS = 1024, STACK_BYTES = 1 << 20 };
enum {                        /* nanoseconds; to sleep and be woken takes 5 to 120 us */
       LOOKOUT = 10000,       /* of a worker after a run */
       LONG_LOOKOUT = 100000, /* when runs have come as soon after each other */
       HORIZON = 2000000,     /* runs further apart than this are not looked out for */
       PATIENCE = 50000       /* of a caller whose workers are not done */
};
enum { LOOKS = 16, FAN = 16 }; /* looks for each question of the time; sleepers that one wakes */
enum { FADING = 16 };          /* a longer pause is forgotten by a part in so many with every run */
#define CLOSED      (1 << 30)
#define NOT_WAITING (-1)

typedef struct share { /* of one participant, in a cache line of its own */
    _Alignas(64) atomic_llong next;
    int64_t end;
} share;

struct fc_pool {
    const fc_alloc *alloc;
    void *block; /* what was allocated; `shares` is aligned inside it */
    share *shares;
    int n_threads;
    int n_started;   /* workers, only touched by the owner of a run */
    atomic_int born; /* workers that have taken their numbers */
    pid_t pid;
    pthread_t *threads;
    pthread_mutex_t mutex;
    pthread_cond_t done;
    sem_t work; /* a post for each sleeper that somebody took */

    atomic_bool busy;
    fc_task_fn fn;
    void *arg;
    int n_shares;
    atomic_int joined;      /* claims so far, the caller's included; CLOSED or more: no run */
    atomic_int finished;    /* workers that joined and are done */
    atomic_int waited_for;  /* workers that the caller waits for, or NOT_WAITING */
    atomic_uint generation; /* goes up with every run */
    atomic_int sleepers;    /* that nobody has taken yet */
    atomic_int to_wake;     /* for this run, by whoever comes to it; may pass below 0 */
    atomic_int lookout;     /* of all workers, nanoseconds */
    atomic_int watch;       /* of those that the runs have use for; no less than `lookout` */
    atomic_int may_sleep;   /* so many have no part in that */
    int64_t last_end, rest; /* of a run; what is usual between two. Only touched by the owner */
    int in_use;             /* workers that recent runs had shares for, likewise */
    atomic_bool stop;
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

/* ---- running tasks ------------------------------------------------------------------------- */

static void run_here(int64_t n_tasks, fc_task_fn fn, void *arg) {
    uint64_t before = fc_float_enter();
    for (int64_t i = 0; i < n_tasks; i++) fn(arg, i);
    fc_float_leave(before);
}

/* Own share first, then what is left of the others. */
static void take_part(fc_pool *p, int me) {
    uint64_t before = fc_float_enter();
    for (int k = 0; k < p->n_shares; k++) {
        share *s = &p->shares[(me + k) % p->n_shares];
        for (;;) {
            if (atomic_load_explicit(&s->next, memory_order_relaxed) >= s->end) break;
            int64_t task = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
            if (task >= s->end) break;
            p->fn(p->arg, task);
        }
    }
    fc_float_leave(before);
}

/* ---- workers ------------------------------------------------------------------------------- */

/* Takes a sleeper out of the number of those that can be woken. */
static bool take_sleeper(fc_pool *p) {
    int n = atomic_load(&p->sleepers);
    while (n > 0)
        if (atomic_compare_exchange_weak(&p->sleepers, &n, n - 1)) return true;
    return false;
}

static void wake(fc_pool *p, int most) {
    for (int i = 0; i < most && take_sleeper(p); i++) sem_post(&p->work);
}

static void wake_for_run(fc_pool *p) {
    for (int i = 0; i < FAN && atomic_fetch_sub(&p->to_wake, 1) > 0; i++) wake(p, 1);
}

static bool has_news(fc_pool *p, unsigned seen) {
    return atomic_load(&p->generation) != seen || atomic_load(&p->stop);
}

/* Counts the caller among the sleepers while there are fewer than `most`. */
static bool become_sleeper(fc_pool *p, int most) {
    int n = atomic_load(&p->sleepers);
    while (n < most)
        if (atomic_compare_exchange_weak(&p->sleepers, &n, n + 1)) return true;
    return false;
}

/* True: there is news. False: nothing came, and the caller counts as a sleeper. */
static bool look_out(fc_pool *p, unsigned seen) {
    int64_t start = 0;
    for (int i = 0;; i++) {
        if (has_news(p, seen)) return true;
        pause_briefly();
        if (i % LOOKS) continue;
        const int64_t now = let_others();
        if (!start) start = now;
        if (now - start < atomic_load_explicit(&p->lookout, memory_order_relaxed)) continue;
        const bool overdue = now - start >= atomic_load_explicit(&p->watch, memory_order_relaxed);
        const int most = atomic_load_explicit(&p->may_sleep, memory_order_relaxed);
        if (become_sleeper(p, overdue ? MAX_THREADS : most)) return false;
    }
}

/* Returns when there may be work, or when the pool ends; true: it was asleep. */
static bool wait_for_work(fc_pool *p, unsigned seen) {
    if (look_out(p, seen)) return false;
    /* What came before that may have passed over this one; it is out again if nobody took it. */
    if (has_news(p, seen) && take_sleeper(p)) return false;
    while (sem_wait(&p->work) != 0) {
    } /* interrupted */
    return true;
}

/* Every worker begins with the same share in every run, so that data which is used over and over
 * stays in the caches of the cores it is in; one with a number beyond the shares takes that of its
 * place among those that joined. */
static void *worker(void *user) {
    fc_pool *p = user;
    unsigned seen = 0;
    const int own = atomic_fetch_add(&p->born, 1) + 1;
    while (!atomic_load(&p->stop)) {
        bool slept = wait_for_work(p, seen);
        seen = atomic_load(&p->generation);
        /* Looking first keeps a crowd of late workers from counting `joined` up. */
        if (atomic_load(&p->joined) >= CLOSED) continue;
        if (slept) wake_for_run(p);
        int me = atomic_fetch_add(&p->joined, 1);
        if (me >= CLOSED) continue;
        if (me < p->n_shares) take_part(p, own < p->n_shares ? own : me);
        if (atomic_fetch_add(&p->finished, 1) + 1 != atomic_load(&p->waited_for)) continue;
        pthread_mutex_lock(&p->mutex);
        pthread_cond_signal(&p->done);
        pthread_mutex_unlock(&p->mutex);
    }
    return NULL;
}

/* Starts workers up to `wanted`; fewer when the system gives no more. */
static void start_workers(fc_pool *p, int wanted) {
    pthread_attr_t attr;
    sigset_t all, before;
    if (p->n_started >= wanted || pthread_attr_init(&attr) != 0) return;
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all); /* signals are the business of the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->n_started < wanted &&
           pthread_create(&p->threads[p->n_started], &attr, worker, p) == 0)
        p->n_started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
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

/* How long workers wait for the run after this one. */
static void set_lookout(fc_pool *p, int n_workers) {
    const int64_t pause = now_ns() - p->last_end;
    p->rest = usual_pause(p->rest, pause);
    p->in_use = n_workers > p->in_use - 1 ? n_workers : p->in_use - 1;
    const int lookout = pause < LONG_LOOKOUT ? LONG_LOOKOUT : LOOKOUT;
    const int watch = (int)(p->rest + p->rest / 2) + LOOKOUT;
    atomic_store_explicit(&p->lookout, lookout, memory_order_relaxed);
    atomic_store_explicit(&p->watch, watch, memory_order_relaxed);
    atomic_store_explicit(&p->may_sleep, p->n_started - p->in_use, memory_order_relaxed);
}

static void open_run(fc_pool *p, int n_shares, int64_t n_tasks, fc_task_fn fn, void *arg) {
    int64_t each = n_tasks / n_shares, more = n_tasks % n_shares, at = 0;
    p->fn = fn;
    p->arg = arg;
    p->n_shares = n_shares;
    for (int i = 0; i < n_shares; i++) {
        atomic_store_explicit(&p->shares[i].next, at, memory_order_relaxed);
        at += each + (i < more) - (FC_PLANTED(last_task) && i == n_shares - 1);
        p->shares[i].end = at;
    }
    atomic_store(&p->finished, 0);
    atomic_store(&p->waited_for, NOT_WAITING);
    atomic_store(&p->joined, 1); /* publishes all of the above; the caller is number 0 */
    atomic_fetch_add(&p->generation, 1);
    /* who looks out comes by itself */
    const int awake = p->n_started - atomic_load(&p->sleepers);
    if (n_shares - 1 <= awake) return;
    atomic_store(&p->to_wake, n_shares - 1 - awake);
    wake_for_run(p);
}

static void close_run(fc_pool *p) {
    int workers = atomic_exchange(&p->joined, CLOSED) - 1;
    const int64_t start = now_ns();
    for (int i = 1; i % LOOKS || let_others() - start < PATIENCE; i++) {
        if (atomic_load(&p->finished) == workers) return;
        pause_briefly();
    }
    pthread_mutex_lock(&p->mutex);
    atomic_store(&p->waited_for, workers);
    while (atomic_load(&p->finished) != workers) pthread_cond_wait(&p->done, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

void fc_pool_run(fc_pool *p, int64_t n_tasks, fc_task_fn fn, void *arg) {
    bool free_pool = false;
    if (!p || n_tasks <= 1 || p->n_threads == 1 || p->pid != getpid() ||
        !atomic_compare_exchange_strong(&p->busy, &free_pool, true)) {
        run_here(n_tasks, fn, arg);
        return;
    }
    int n_shares = n_tasks < p->n_threads ? (int)n_tasks : p->n_threads;
    start_workers(p, n_shares - 1);
    set_lookout(p, n_shares - 1);
    open_run(p, n_shares, n_tasks, fn, arg);
    take_part(p, 0);
    close_run(p);
    p->last_end = now_ns();
    atomic_store(&p->busy, false);
}

/* ---- life ---------------------------------------------------------------------------------- */

int fc_pool_threads(const fc_pool *p) {
    return p ? p->n_threads : 1;
}

fc_pool *fc_pool_create(const fc_alloc *alloc, int n_threads) {
    if (n_threads < 1) n_threads = 1;
    if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
    fc_pool *p = fc_calloc(alloc, 1, sizeof *p);
    if (!p) return NULL;
    p->alloc = alloc;
    p->n_threads = n_threads;
    p->pid = getpid();
    p->threads = fc_calloc(alloc, (size_t)n_threads, sizeof *p->threads);
    p->block = fc_calloc(alloc, (size_t)n_threads + 1, sizeof(share));
    if (!p->threads || !p->block || sem_init(&p->work, 0, 0) != 0) {
        fc_free(alloc, p->threads);
        fc_free(alloc, p->block);
        fc_free(alloc, p);
        return NULL;
    }
    p->shares = (share *)(((uintptr_t)p->block + 63) & ~(uintptr_t)63);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->done, NULL);
    atomic_init(&p->joined, CLOSED);
    atomic_init(&p->waited_for, NOT_WAITING);
    return p;
}

void fc_pool_destroy(fc_pool *p) {
    if (!p) return;
    /* In a forked child the workers do not exist, and the mutex may be held for ever by one of
     * them. */
    if (p->pid == getpid()) {
        atomic_store(&p->stop, true);
        wake(p, p->n_started);
        for (int i = 0; i < p->n_started; i++) pthread_join(p->threads[i], NULL);
        sem_destroy(&p->work);
        pthread_cond_destroy(&p->done);
        pthread_mutex_destroy(&p->mutex);
    }
    fc_free(p->alloc, p->threads);
    fc_free(p->alloc, p->block);
    fc_free(p->alloc, p);
}
