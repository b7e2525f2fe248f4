/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* outfile.c - writing through a temporary name. See outfile.h. */
#define _GNU_SOURCE /* renameat2 */
#include "frontend/io/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "frontend/io/array.h"
#include "frontend/io/tree.h"

#define PIECE ((size_t)64 << 20)

static fusec_status fail_errno(fc_outfile *o, fc_error *e, int err) {
    char text[32];
    return fc_fail(e, FUSEC_IO, "cannot write %s: %s", o->name, fc_errno_text(err, text));
}

static void release(fc_outfile *o) {
    if (o->fd >= 0 && !o->borrowed) close(o->fd);
    o->fd = -1;
    if (o->kind) o->kind->drop(o);
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

/* 0, or why it is not there. A name that is taken is another try. */
static int make_temporary(fc_outfile *o, bool folder) {
    if (folder) return mkdir(o->tmp, 0777) == 0 ? 0 : errno;
    o->fd = open(o->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return o->fd >= 0 ? 0 : errno;
}

static fusec_status open_temporary(fc_outfile *o, bool folder, fc_error *e) {
    for (int attempt = 0; attempt < 100; attempt++) {
        o->tmp = temporary_name(o->alloc, o->path, attempt);
        if (!o->tmp) return fc_oom(e);
        const int err = make_temporary(o, folder);
        if (!err) return FUSEC_OK;
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
        s = open_temporary(o, false, e);
        if (s == FUSEC_OK && exists) (void)fchmod(o->fd, st.st_mode & 0777);
    }
    if (s != FUSEC_OK) release(o);
    return s;
}

fusec_status fc_outfile_folder(fc_outfile *o, const fc_alloc *alloc, const char *path,
                               fc_error *e) {
    char real[PATH_MAX];
    memset(o, 0, sizeof *o);
    o->alloc = alloc;
    o->fd = -1;
    if (!fc_resolve_links(path, real, sizeof real)) return fail_errno(o, e, ENAMETOOLONG);
    for (size_t n = strlen(real); n > 1 && real[n - 1] == '/'; n--) real[n - 1] = 0;
    fc_shown_name(o->name, sizeof o->name, path);
    o->path = fc_strdup(alloc, real);
    const fusec_status s = o->path ? open_temporary(o, true, e) : fc_oom(e);
    if (s) release(o);
    return s;
}

void fc_outfile_fd(fc_outfile *o, int fd, const char *name) {
    memset(o, 0, sizeof *o);
    o->fd = fd;
    o->borrowed = true;
    fc_shown_name(o->name, sizeof o->name, name);
}

fusec_status fc_outfile_write(fc_outfile *o, const void *data, size_t n, fc_error *e) {
    return o->kind ? o->kind->write(o, data, n, e) : fc_outfile_bytes(o, data, n, e);
}

fusec_status fc_outfile_bytes(fc_outfile *o, const void *data, size_t n, fc_error *e) {
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
    if (o->store) {
        const fusec_status s = o->kind->finish(o, e);
        o->kind->drop(o);
        if (s) return s;
    }
    if (o->borrowed || o->fd < 0) return FUSEC_OK;
    /* Network file systems report a full disk here. */
    int err = close(o->fd) != 0 && errno != EINTR ? errno : 0;
    o->fd = -1;
    return err ? fail_errno(o, e, err) : FUSEC_OK;
}

/* A folder with something in it is not replaced by a rename: the two change places, and the old one
 * goes. */
static int put_in_place(fc_outfile *o) {
    if (rename(o->tmp, o->path) == 0) return 0;
    if (!o->kind || (errno != ENOTEMPTY && errno != EEXIST)) return errno;
    if (renameat2(AT_FDCWD, o->tmp, AT_FDCWD, o->path, RENAME_EXCHANGE) != 0) return errno;
    fc_remove_tree(o->tmp);
    return 0;
}

fusec_status fc_outfile_commit(fc_outfile *o, fc_error *e) {
    fusec_status s = fc_outfile_finish(o, e);
    const int err = !s && o->tmp ? put_in_place(o) : 0;
    if (err) s = fail_errno(o, e, err);
    if (s && o->tmp) fc_remove_tree(o->tmp);
    release(o);
    return s;
}

void fc_outfile_abandon(fc_outfile *o) {
    if (o->tmp) fc_remove_tree(o->tmp);
    release(o);
}
