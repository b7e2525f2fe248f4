/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* outfile.c - writing through a temporary name. See outfile.h. */
#define _XOPEN_SOURCE 700
#include "frontend/io/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "frontend/io/array.h"

#define PIECE ((size_t)64 << 20)

static fusec_status fail_errno(fc_outfile *o, fc_error *e, int err) {
    char text[32];
    return fc_fail(e, FUSEC_IO, "cannot write %s: %s", o->name, fc_errno_text(err, text));
}

static void release(fc_outfile *o) {
    if (o->fd >= 0 && !o->borrowed) close(o->fd);
    o->fd = -1;
    if (!o->alloc) return;
    fc_free(o->alloc, o->path);
    fc_free(o->alloc, o->tmp);
    o->path = o->tmp = NULL;
}

/* A name next to `path` that no other process picks: process, clock and a counter of attempts. */
static char *temporary_name(const fc_alloc *alloc, const char *path, int attempt) {
    const char *slash = strrchr(path, '/');
    size_t dir = slash ? (size_t)(slash - path) + 1 : 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    size_t size = dir + 64;
    char *tmp = fc_malloc(alloc, size);
    if (!tmp) return NULL;
    memcpy(tmp, path, dir);
    snprintf(tmp + dir, size - dir, ".fusec-%ld-%lx-%d.tmp", (long)getpid(),
             (unsigned long)now.tv_nsec, attempt);
    return tmp;
}

static fusec_status open_temporary(fc_outfile *o, fc_error *e) {
    for (int attempt = 0; attempt < 100; attempt++) {
        o->tmp = temporary_name(o->alloc, o->path, attempt);
        if (!o->tmp) return fc_oom(e);
        o->fd = open(o->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (o->fd >= 0) return FUSEC_OK;
        int err = errno;
        fc_free(o->alloc, o->tmp);
        o->tmp = NULL;
        if (err != EEXIST) return fail_errno(o, e, err);
    }
    return fail_errno(o, e, EEXIST);
}

bool fc_resolve_links(const char *path, char *out, size_t size) {
    char link[PATH_MAX];
    size_t n = strlen(path);
    if (n >= size) return false;
    memcpy(out, path, n + 1);
    for (int hops = 0; hops < 40; hops++) {
        ssize_t len = readlink(out, link, sizeof link - 1);
        if (len < 0) return true; /* no link, or nothing there */
        const char *slash = strrchr(out, '/');
        n = link[0] == '/' || !slash ? 0 : (size_t)(slash - out) + 1;
        if (n + (size_t)len >= size) return false;
        memcpy(out + n, link, (size_t)len);
        out[n + (size_t)len] = 0;
    }
    return false;
}

fusec_status fc_outfile_open(fc_outfile *o, const fc_alloc *alloc, const char *path, fc_error *e) {
    memset(o, 0, sizeof *o);
    o->alloc = alloc;
    o->fd = -1;
    fc_shown_name(o->name, sizeof o->name, path);
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) return fail_errno(o, e, EISDIR);
    /* rename() would replace a symbolic link instead of the file behind it. */
    char real[PATH_MAX];
    o->path = fc_strdup(alloc, fc_resolve_links(path, real, sizeof real) ? real : path);
    if (!o->path) return fc_oom(e);
    fusec_status s = FUSEC_OK;
    if (exists && !S_ISREG(st.st_mode)) {
        o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (o->fd < 0) s = fail_errno(o, e, errno);
    } else if (exists && access(path, W_OK) != 0) {
        s = fail_errno(o, e, errno); /* renaming would get round a write protection */
    } else {
        s = open_temporary(o, e);
        if (s == FUSEC_OK && exists) (void)fchmod(o->fd, st.st_mode & 0777);
    }
    if (s != FUSEC_OK) release(o);
    return s;
}

void fc_outfile_fd(fc_outfile *o, int fd, const char *name) {
    memset(o, 0, sizeof *o);
    o->fd = fd;
    o->borrowed = true;
    fc_shown_name(o->name, sizeof o->name, name);
}

fusec_status fc_outfile_write(fc_outfile *o, const void *data, size_t n, fc_error *e) {
    const char *p = data;
    while (n) {
        ssize_t k = write(o->fd, p, n < PIECE ? n : PIECE);
        if (k < 0) {
            if (errno == EINTR) continue;
            return fail_errno(o, e, errno);
        }
        p += k;
        n -= (size_t)k;
        o->at += k;
        if (o->progress) o->progress(o->progress_user, o->at, o->expected);
    }
    return FUSEC_OK;
}

fusec_status fc_outfile_finish(fc_outfile *o, fc_error *e) {
    if (o->borrowed || o->fd < 0) return FUSEC_OK;
    /* Network file systems report a full disk here. */
    int err = close(o->fd) != 0 && errno != EINTR ? errno : 0;
    o->fd = -1;
    return err ? fail_errno(o, e, err) : FUSEC_OK;
}

fusec_status fc_outfile_commit(fc_outfile *o, fc_error *e) {
    fusec_status s = fc_outfile_finish(o, e);
    if (!s && o->tmp && rename(o->tmp, o->path) != 0) s = fail_errno(o, e, errno);
    if (s && o->tmp) unlink(o->tmp);
    release(o);
    return s;
}

void fc_outfile_abandon(fc_outfile *o) {
    if (o->tmp) unlink(o->tmp);
    release(o);
}
