/* term.c - terminals: colour, numbers for people. See term.h. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/term.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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
