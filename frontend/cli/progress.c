/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* progress.c - see progress.h. A clock's thread holds the lock whenever it draws, and has ended
 * before the line is erased. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "frontend/cli/term.h"
#include "runtime/thread.h"

enum { QUIET_MS = 1000, REDRAW_MS = 100, LOG_MS = 10000 };

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool shown(const fc_progress *p) {
    return p->terminal || p->verbose;
}

/* Whether the line is to be written now; then it counts as written. */
static bool due(fc_progress *p) {
    int64_t now = milliseconds();
    if (p->terminal ? now - p->started < QUIET_MS || now - p->last < REDRAW_MS
                    : now - p->last < LOG_MS)
        return false;
    p->last = now;
    return true;
}

static void draw(fc_progress *p, const char *text) {
    fprintf(stderr, p->terminal ? "\r\033[K%.60s: %s" : "%s: %s\n", p->what, text);
    fflush(stderr);
    p->drawn = p->terminal;
}

void fc_progress_start(fc_progress *p, const char *what, bool bytes, bool quiet, bool verbose) {
    *p = (fc_progress){.what = what, .bytes = bytes, .verbose = verbose && !quiet};
    p->terminal = !quiet && fc_term_is(STDERR_FILENO);
    p->started = p->last = milliseconds();
}

static const char *amount(const fc_progress *p, char buf[32], int64_t n) {
    if (p->bytes) return fc_show_bytes(buf, n);
    snprintf(buf, 32, "%" PRId64, n);
    return buf;
}

void fc_progress_step(void *user, int64_t done, int64_t total) {
    fc_progress *p = user;
    char a[32], b[32], text[100];
    if (!shown(p) || !due(p)) return;
    if (total > 0)
        snprintf(text, sizeof text, "%s of %s, %d %%", amount(p, a, done), amount(p, b, total),
                 (int)((double)done / (double)total * 100));
    else
        snprintf(text, sizeof text, "%s", amount(p, a, done));
    draw(p, text);
}

/* ---- a clock --------------------------------------------------------------------------------- */

static void *tick(void *arg) {
    fc_progress *p = arg;
    char text[40];
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += REDRAW_MS * 1000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&p->ended, &p->lock, &until);
        if (p->stop || !due(p)) continue;
        snprintf(text, sizeof text, "%" PRId64 " s", (p->last - p->started) / 1000);
        draw(p, text);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void fc_progress_clock(fc_progress *p, const char *what, bool quiet, bool verbose) {
    pthread_condattr_t attr;
    fc_progress_start(p, what, false, quiet, verbose);
    if (!shown(p) || pthread_condattr_init(&attr)) return;
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ended, &attr);
    pthread_condattr_destroy(&attr);
    p->ticking = fc_thread_start(&p->thread, 0, tick, p);
    if (p->ticking) return;
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
}

static void stop_clock(fc_progress *p) {
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->ended);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    p->ticking = false;
}

void fc_progress_end(fc_progress *p) {
    if (p->ticking) stop_clock(p);
    if (p->drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    p->drawn = false;
}
