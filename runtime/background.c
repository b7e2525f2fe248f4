/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* background.c - see background.h. */
#include "runtime/background.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cpuinfo.h"
#include "runtime/thread.h"

struct fc_background {
    fc_device *d;
    uint32_t mode;
    char *text;
    fc_background_then *then;
    void *user;
    fc_bytes binary;
    bool failed;
    bool begun, has_thread, joined; /* under lock */
    atomic_bool done;
    pthread_t thread;    /* that compiles, its own or one that waits */
    fc_background *next; /* of all that there are, the oldest first */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_ended = PTHREAD_COND_INITIALIZER;
static fc_background *all;
static int running, most, undone; /* threads, at a time; compilations */

/* ---- one compilation ------------------------------------------------------------------------- */

static void compile(fc_background *b) {
    b->failed = b->d->ops->compile(b->d, b->mode, FC_FULL, b->text, &b->binary, NULL) != FUSEC_OK;
    if (!b->failed && b->then) b->then(b->user, &b->binary);
    fc_free(b->d->alloc, b->text);
    b->text = NULL;
    fc_background_guard_exit(b->d);
}

/* With the lock held. */
static void end(fc_background *b) {
    undone--;
    atomic_store(&b->done, true);
    pthread_cond_broadcast(&one_ended);
}

static void start_others(void);

static void *run(void *user) {
    /* NVRTC parses one text at a time, 10 to 20 ms of it; the whole call on a CPU may be 4 */
    static const struct timespec head_start = {.tv_nsec = 1000000};
    fc_background *b = user;
    nanosleep(&head_start, NULL);
    compile(b);
    pthread_mutex_lock(&lock);
    running--;
    end(b);
    start_others();
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Those that wait, in order, as far as there are processors besides the caller's. With the lock
 * held. What gets no thread waits for the next that ends, or for who wants it. */
static void start_others(void) {
    enum { STACK = 8 << 20 }; /* compilers recurse */
    for (fc_background *b = all; b && running < most; b = b->next) {
        if (b->begun) continue;
        if (!fc_thread_start(&b->thread, STACK, run, b)) return;
        b->begun = b->has_thread = true;
        running++;
    }
}

/* ---- the process ----------------------------------------------------------------------------- */

/* With the lock held, which the thread does not need any more once it is done. What has not been
 * begun is compiled here. */
static void wait_a_little(fc_background *b) {
    if (!b->begun) {
        b->begun = true;
        b->thread = pthread_self();
        pthread_mutex_unlock(&lock);
        compile(b);
        pthread_mutex_lock(&lock);
        end(b);
    } else if (!atomic_load(&b->done)) {
        pthread_cond_wait(&one_ended, &lock);
    } else {
        if (b->has_thread) pthread_join(b->thread, NULL);
        b->joined = true;
    }
}

/* One that is not joined, nor the caller's own thread. */
static fc_background *any_running(void) {
    fc_background *b = all;
    while (b && (b->joined || (b->begun && pthread_equal(b->thread, pthread_self())))) b = b->next;
    return b;
}

/* Gives back with the lock held. While it waits, what there is may go. */
static void wait_for_all(void) {
    pthread_mutex_lock(&lock);
    for (fc_background *b; (b = any_running());) wait_a_little(b);
}

static void in_parent(void) {
    pthread_mutex_unlock(&lock);
}

static void in_child(void) {
    pthread_cond_init(&one_ended, NULL); /* who waited is not here */
    pthread_mutex_unlock(&lock);
}

/* What nobody will see is not begun any more: as if it could not be compiled. With the lock held.
 */
static void drop_unseen(void) {
    for (fc_background *b = all; b; b = b->next) {
        if (b->begun || b->then) continue;
        b->begun = b->joined = b->failed = true;
        end(b);
    }
}

static void at_the_end(void) {
    pthread_mutex_lock(&lock);
    drop_unseen();
    pthread_mutex_unlock(&lock);
    wait_for_all();
    pthread_mutex_unlock(&lock);
}

static bool prepared;

static void prepare(void) {
    const int cpus = fc_usable_cpus();
    most = cpus > 2 ? cpus - 1 : 1;
    prepared = !pthread_atfork(wait_for_all, in_parent, in_child);
}

#if defined(__linux__)
/* What the C library runs at the end of a thread, and of the process when the thread ends that:
 * before all that atexit knows, so also before what a compiler has registered meanwhile. Not
 * everywhere. */
extern int __cxa_thread_atexit_impl(void (*f)(void *), void *arg, void *dso) __attribute__((weak));
extern char __dso_handle __attribute__((visibility("hidden")));

static void at_the_end_of_main(void *none) {
    (void)none;
    at_the_end();
}

/* Of the first thread, which ends the process as a rule; others may end long before. */
static void guard_main(void) {
    static atomic_bool guarded;
    if (!__cxa_thread_atexit_impl || syscall(SYS_gettid) != getpid()) return;
    if (!atomic_exchange(&guarded, true))
        __cxa_thread_atexit_impl(at_the_end_of_main, NULL, &__dso_handle);
}
#else
static void guard_main(void) {}
#endif

/* For processes that another thread ends: what is registered last runs first, and compilers
 * register more as they first meet something, so it is done several times for each. */
void fc_background_guard_exit(const fc_device *d) {
    enum { ENOUGH = 16 };
    static atomic_int times[FC_DEV_INTERP + 1];
    guard_main();
    if (atomic_fetch_add(&times[d->kind], 1) < ENOUGH) (void)atexit(at_the_end);
}

void fc_background_guard_main(void) {
    guard_main();
}

int fc_background_running(void) {
    pthread_mutex_lock(&lock);
    const int n = undone;
    pthread_mutex_unlock(&lock);
    return n;
}

/* ---- from outside ---------------------------------------------------------------------------- */

/* False: no thread can be had, now or when another one ends. */
static bool add(fc_background *b) {
    fc_background **at = &all;
    pthread_mutex_lock(&lock);
    while (*at) at = &(*at)->next;
    *at = b;
    undone++;
    start_others();
    const bool good = b->begun || running;
    if (!good) {
        *at = NULL;
        undone--;
    }
    pthread_mutex_unlock(&lock);
    return good;
}

static void destroy(fc_background *b) {
    const fc_alloc *a = b->d->alloc;
    fc_bytes_free(a, &b->binary);
    fc_free(a, b->text);
    fc_free(a, b);
}

fc_background *fc_background_start(fc_device *d, uint32_t mode, const char *text,
                                   fc_background_then *then, void *user) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    fc_background *b = prepared ? fc_calloc(d->alloc, 1, sizeof *b) : NULL;
    if (!b) return NULL;
    *b = (fc_background){.d = d, .mode = mode, .then = then, .user = user};
    atomic_init(&b->done, false);
    b->text = fc_strdup(d->alloc, text);
    if (b->text && add(b)) return b;
    destroy(b);
    return NULL;
}

bool fc_background_done(const fc_background *b) {
    return atomic_load(&b->done);
}

const fc_bytes *fc_background_result(fc_background *b) {
    pthread_mutex_lock(&lock);
    while (!b->joined) wait_a_little(b);
    pthread_mutex_unlock(&lock);
    return b->failed ? NULL : &b->binary;
}

void fc_background_free(fc_background *b) {
    if (!b) return;
    pthread_mutex_lock(&lock);
    const bool dropped = !b->begun && !b->then; /* nobody would see it */
    if (dropped) undone--;
    while (!dropped && !b->joined) wait_a_little(b);
    fc_background **at = &all;
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    pthread_mutex_unlock(&lock);
    destroy(b);
}
