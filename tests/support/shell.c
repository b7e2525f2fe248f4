/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* shell.c - see shell.h. */
#include "tests/support/shell.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/test.h"

bool shell_open(shell *sh) {
    const char *tmp = getenv("TMPDIR");
    memset(sh, 0, sizeof *sh);
    snprintf(sh->folder, sizeof sh->folder, "%.150s/fusec-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(sh->folder)) return true;
    FC_FAIL("no temporary folder");
    return false;
}

static char *read_all(const char *folder, const char *name, size_t *len) {
    char path[300];
    size_t cap = 4096, n = 0;
    char *text = malloc(cap);
    snprintf(path, sizeof path, "%s.%s", folder, name);
    FILE *f = fopen(path, "rb");
    for (size_t k = 1; f && text && k; n += k) {
        if (n + 4096 > cap) {
            char *more = realloc(text, cap *= 2);
            if (!more) free(text);
            text = more;
        }
        k = text ? fread(text + n, 1, 4095, f) : 0;
    }
    if (f) fclose(f);
    if (text) text[n] = 0;
    if (len) *len = n;
    return text;
}

static void forget(shell *sh) {
    free(sh->out);
    free(sh->err);
    sh->out = sh->err = NULL;
}

/* The script in its folder with its standard streams; `to` is where its errors go. */
static void whole_script(const shell *sh, char *out, size_t size, const char *to, const char *fmt,
                         va_list ap) {
    char script[8192];
    vsnprintf(script, sizeof script, fmt, ap);
    snprintf(out, size,
             "cd '%s' || exit 99\n"
             "unset FUSEC_DEVICE FUSEC_DEBUG FUSEC_THREADS FORCE_COLOR\n"
             "export FUSEC_CACHE_DIR='%s/.cache' NO_COLOR=1\n"
             "fusec() { '%s' \"$@\"; }\n"
             "{ %s\n} >'%s.out' %s </dev/null",
             sh->folder, sh->folder, FUSEC_COMMAND, script, sh->folder, to);
}

static int code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool have_texts(shell *sh) {
    sh->out = read_all(sh->folder, "out", &sh->out_len);
    if (!sh->err) sh->err = read_all(sh->folder, "err", NULL);
    if (sh->out && sh->err) return true;
    FC_FAIL("not enough memory");
    return false;
}

bool shell_run(shell *sh, const char *fmt, ...) {
    char whole[9500], to[300];
    va_list ap;
    forget(sh);
    snprintf(to, sizeof to, "2>'%s.err'", sh->folder);
    va_start(ap, fmt);
    whole_script(sh, whole, sizeof whole, to, fmt, ap);
    va_end(ap);
    int status = system(whole);
    if (status < 0) {
        FC_FAIL("no shell");
        return false;
    }
    sh->code = code_of(status);
    return have_texts(sh);
}

bool shell_write(shell *sh, const char *name, const char *text) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", sh->folder, name);
    FILE *f = fopen(path, "wb");
    bool ok = f && fputs(text, f) >= 0;
    if (f && fclose(f) != 0) ok = false;
    if (!ok) FC_FAIL("%s can't be written", path);
    return ok;
}

/* ---- a terminal ------------------------------------------------------------------------------ */

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A child in a process group of its own; returns the terminal's other end, or -1. */
static int start_on_terminal(const char *script, pid_t *child) {
    int end = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (end < 0 || grantpt(end) || unlockpt(end)) return -1;
    *child = fork();
    if (*child != 0) return *child < 0 ? -1 : end;
    setpgid(0, 0);
    setenv("TERM", "xterm", 1);
    int tty = open(ptsname(end), O_RDWR | O_NOCTTY);
    if (tty < 0 || dup2(tty, STDERR_FILENO) < 0) _exit(98);
    close(tty);
    execl("/bin/sh", "sh", "-c", script, (char *)NULL);
    _exit(97);
}

/* What is written until the last writer has closed it. */
static char *drawn(shell *sh, int end, pid_t group, int64_t stop, const char *until) {
    size_t n = 0, cap = 1 << 20;
    char *text = calloc(1, cap);
    bool told = false;
    while (text && n + 1 < cap) {
        struct pollfd p = {end, POLLIN, 0};
        int64_t left = stop - milliseconds();
        if (left > 0 && poll(&p, 1, (int)left) > 0) {
            ssize_t k = read(end, text + n, cap - 1 - n);
            if (k <= 0) break;
            n += (size_t)k;
            if (until && strstr(text, until)) {
                shell_write(sh, "seen", "");
                until = NULL;
            }
        } else if (left <= 0) {
            kill(-group, told ? SIGKILL : SIGTERM);
            if (told) break;
            told = true;
            stop = milliseconds() + 2000;
        }
    }
    return text;
}

bool shell_run_on_terminal(shell *sh, int ms, const char *until, const char *fmt, ...) {
    char whole[9500];
    va_list ap;
    pid_t child = -1;
    int status = 0;
    forget(sh);
    va_start(ap, fmt);
    whole_script(sh, whole, sizeof whole, "", fmt, ap);
    va_end(ap);
    int end = start_on_terminal(whole, &child);
    if (end < 0) {
        FC_FAIL("no terminal");
        return false;
    }
    setpgid(child, child);
    sh->err = drawn(sh, end, child, milliseconds() + ms, until);
    waitpid(child, &status, 0);
    close(end);
    sh->code = code_of(status);
    return have_texts(sh);
}

void shell_close(shell *sh) {
    char line[1000];
    forget(sh);
    snprintf(line, sizeof line, "chmod -R u+w '%s'; rm -rf '%s' '%s.out' '%s.err'", sh->folder,
             sh->folder, sh->folder, sh->folder);
    if (system(line) != 0) FC_FAIL("%s can't be removed", sh->folder);
}
