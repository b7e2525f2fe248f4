/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* streams.c - descriptors, signals, whole files. See streams.h and command.h.
 *
 * A signal handler reaches nothing but what is static: the names of the temporary files. They are
 * changed while the signals are blocked. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/streams.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "frontend/cli/arrow.h"
#include "frontend/cli/command.h"
#include "frontend/cli/zarr.h"
#include "frontend/io/reader.h"
#include "frontend/io/tree.h"

enum { TEMPORARIES = 512 }; /* files that are written together; more would stay after a signal */
static const char *volatile temporary[TEMPORARIES];
static volatile sig_atomic_t on_terminal;

/* Another thread may put a file into a folder while it is emptied; into one that is gone it can't.
 */
static void remove_temporary(const char *path) {
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES && (!i || access(path, F_OK) == 0); i++) fc_remove_tree(path);
}

static void interrupted(int sig) {
    for (int i = 0; i < TEMPORARIES; i++)
        if (temporary[i]) remove_temporary(temporary[i]);
    if (on_terminal) {
        static const char clear[] = "\r\033[K";
        ssize_t n = write(STDERR_FILENO, clear, sizeof clear - 1);
        (void)n;
    }
    _exit(128 + sig);
}

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};

void fc_streams_start(void) {
    /* The lowest free descriptor is taken. stdin must not be writable nor the others readable. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of write() */
    on_terminal = isatty(STDERR_FILENO) == 1;
    struct sigaction a, old;
    memset(&a, 0, sizeof a);
    a.sa_handler = interrupted;
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < FC_COUNT(caught); i++)
        if (!sigaction(caught[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(caught[i], &a, NULL);
}

static void block(sigset_t *before) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < FC_COUNT(caught); i++) sigaddset(&set, caught[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

/* Puts a name into the list of temporary files in place of another; NULL is an empty place. */
static void replace(const char *old, const char *name) {
    if (old == name) return;
    for (int i = 0; i < TEMPORARIES; i++)
        if (temporary[i] == old) {
            temporary[i] = name;
            return;
        }
}

/* ---- files ---------------------------------------------------------------------------------- */

fusec_status fc_cli_out_open(fc_cli *c, fc_outfile *f, const char *path, fc_error *e) {
    sigset_t before;
    block(&before);
    fusec_status s = fc_outfile_open(f, c->alloc, path, e);
    if (!s && f->tmp) replace(NULL, f->tmp);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return s;
}

fusec_status fc_cli_out_array(fc_cli *c, fc_outfile *f, const char *path, fusec_dtype dtype,
                              int rank, const int64_t *shape, const char *column, const char *like,
                              fc_error *e) {
    sigset_t before;
    block(&before);
    fusec_status s = column ? fc_arrow_create(f, c->alloc, path, column, dtype, rank, shape, e)
                            : fc_zarr_create(f, c->alloc, path, dtype, rank, shape, like, e);
    if (!s && f->tmp) replace(NULL, f->tmp);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return s;
}

fusec_status fc_cli_out_commit(fc_outfile *f, fc_error *e) {
    sigset_t before;
    block(&before);
    replace(f->tmp, NULL);
    fusec_status s = fc_outfile_commit(f, e);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return s;
}

void fc_cli_out_abandon(fc_outfile *f) {
    sigset_t before;
    block(&before);
    replace(f->tmp, NULL);
    fc_outfile_abandon(f);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

fusec_status fc_cli_write_text(fc_cli *c, const char *path, const char *text, size_t len,
                               fc_error *e) {
    fc_outfile f;
    FC_TRY(fc_cli_out_open(c, &f, path, e));
    fusec_status s = fc_outfile_write(&f, text, len, e);
    if (s) {
        fc_cli_out_abandon(&f);
        return s;
    }
    return fc_cli_out_commit(&f, e);
}

/* ---- small texts ----------------------------------------------------------------------------- */

double fc_seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
