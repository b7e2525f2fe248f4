/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* base.c - ending with a message, the clock, statistics, JSON. */
#include "bench/support/bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void bench_fail(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fputs("bench: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

void bench_check(fusec_context *ctx, fusec_status s, const char *what) {
    if (s) bench_fail("%s: %s: %s", what, fusec_status_name(s), fusec_message(ctx));
}

void *bench_calloc(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) bench_fail("out of memory");
    return p;
}

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_stat bench_stat_of(double *t, int n) {
    bench_stat s = {.n = n};
    if (!n) return s;
    qsort(t, (size_t)n, sizeof *t, ascending);
    s.median = n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
    s.spread = (t[n - 1 - n / 4] - t[n / 4]) / 2;
    s.least = t[0];
    return s;
}

/* The programs never call setlocale, so numbers have a point. */
void bench_put_stat(FILE *f, const char *name, bench_stat s, double scale) {
    fprintf(f, "\"%s\":%.9g,\"%s_spread\":%.4g,\"%s_least\":%.9g,\"%s_samples\":%d", name,
            s.median * scale, name, s.spread * scale, name, s.least * scale, name, s.n);
}

void bench_put_text(FILE *f, const char *text) {
    fputc('"', f);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 32)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}
