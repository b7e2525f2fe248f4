/* term.c - terminals: colour and progress. See term.h. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/term.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

bool fc_term_is(int fd) {
    return isatty(fd) == 1;
}

bool fc_term_color(int fd, fc_color flag) {
    const char *force = getenv("FORCE_COLOR"), *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (flag != FC_COLOR_AUTO) return flag == FC_COLOR_ALWAYS;
    if (force && *force && strcmp(force, "0") != 0) return true;
    if (no && *no) return false;
    return fc_term_is(fd) && !(term && !strcmp(term, "dumb"));
}

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *fc_show_bytes(char buf[32], int64_t bytes) {
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    size_t u = 0;
    while (v >= 1023.95 && u + 1 < FC_COUNT(unit)) v /= 1024, u++;
    if (u == 0)
        snprintf(buf, 32, "%" PRId64 " bytes", bytes);
    else
        snprintf(buf, 32, "%" PRId64 ".%d %s", (int64_t)(v * 10 + 0.5) / 10,
                 (int)((int64_t)(v * 10 + 0.5) % 10), unit[u]);
    return buf;
}

const char *fc_show_seconds(char buf[32], double s) {
    static const struct {
        double unit;
        const char *name;
    } scale[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t i = 0;
    while (i + 1 < FC_COUNT(scale) && s < scale[i].unit * 0.99995) i++;
    int64_t tenths = (int64_t)(s / scale[i].unit * 10 + 0.5);
    if (tenths >= 1000)
        snprintf(buf, 32, "%" PRId64 " %s", (tenths + 5) / 10, scale[i].name);
    else
        snprintf(buf, 32, "%" PRId64 ".%d %s", tenths / 10, (int)(tenths % 10), scale[i].name);
    return buf;
}

void fc_progress_start(fc_progress *p, const char *what, bool bytes, bool quiet, bool verbose) {
    *p = (fc_progress){.what = what, .bytes = bytes, .verbose = verbose && !quiet};
    p->terminal = !quiet && fc_term_is(STDERR_FILENO);
    p->started = p->last = milliseconds();
}

void fc_progress_step(void *user, int64_t done, int64_t total) {
    fc_progress *p = user;
    if (!p->terminal && !p->verbose) return;
    int64_t now = milliseconds();
    bool due =
        p->terminal ? now - p->started >= 1000 && now - p->last >= 100 : now - p->last >= 10000;
    if (!due) return;
    p->last = now;
    char a[32], b[32], of[48] = "", percent[16] = "";
    if (p->bytes)
        fc_show_bytes(a, done);
    else
        snprintf(a, sizeof a, "%" PRId64, done);
    if (total > 0) {
        if (p->bytes)
            fc_show_bytes(b, total);
        else
            snprintf(b, sizeof b, "%" PRId64, total);
        snprintf(of, sizeof of, " of %s", b);
        snprintf(percent, sizeof percent, ", %d %%", (int)((double)done / (double)total * 100));
    }
    fprintf(stderr, p->terminal ? "\r\033[K%.60s: %s%s%s" : "%s: %s%s%s\n", p->what, a, of,
            percent);
    fflush(stderr);
    p->drawn = p->terminal;
}

void fc_progress_end(fc_progress *p) {
    if (p->drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    p->drawn = false;
}
