/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reader.c - sources of bytes: descriptors and memory. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/io/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/io/array.h"

/* Small enough for the cache, so that a caller can work on a piece while it is warm. */
#define PIECE ((size_t)1 << 20)

enum { DROPPED = 64 << 20 }; /* bytes that are dropped from the page cache at once */

/* A file that memory does not hold is not read from there again: its pages would push out others',
 * and finding room for each takes as long as reading it. */
static void drop_behind(fc_reader *s, ssize_t got) {
    s->behind += got;
    if (s->behind < DROPPED) return;
    const off_t here = lseek(s->fd, 0, SEEK_CUR);
    if (here >= s->behind)
        (void)posix_fadvise(s->fd, here - s->behind, s->behind, POSIX_FADV_DONTNEED);
    s->behind = 0;
}

static int64_t read_fd(fc_reader *s, void *buf, size_t n, fc_error *e) {
    for (;;) {
        ssize_t got = read(s->fd, buf, n);
        if (got > 0 && s->large) drop_behind(s, got);
        if (got >= 0) return got;
        if (errno == EINTR) continue;
        char text[32];
        fc_fail(e, FUSEC_IO, "cannot read %s: %s", s->name, fc_errno_text(errno, text));
        return -1;
    }
}

static void close_fd(fc_reader *s) {
    close(s->fd);
}

static int64_t read_memory(fc_reader *s, void *buf, size_t n, fc_error *e) {
    (void)e;
    int64_t left = s->size - s->at;
    if ((int64_t)n > left) n = (size_t)left;
    if (n) memcpy(buf, (const char *)s->user + s->at, n);
    return (int64_t)n;
}

void fc_reader_fd(fc_reader *s, int fd, const char *name) {
    memset(s, 0, sizeof *s);
    s->read = read_fd;
    s->fd = fd;
    s->size = -1;
    fc_shown_name(s->name, sizeof s->name, name);
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return;
    /* Standard input may be a file that somebody has read a part of already. */
    off_t here = lseek(fd, 0, SEEK_CUR);
    if (here >= 0 && here <= st.st_size) s->size = (int64_t)(st.st_size - here);
}

fusec_status fc_reader_open(fc_reader *s, const char *path, fc_error *e) {
    memset(s, 0, sizeof *s);
    s->fd = -1;
    fc_shown_name(s->name, sizeof s->name, path);
    char text[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fc_fail(e, FUSEC_IO, "cannot open %s: %s", s->name, fc_errno_text(errno, text));
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return fc_fail(e, FUSEC_IO, "cannot read %s: it is a directory", s->name);
    }
    fc_reader_fd(s, fd, path);
    s->close = close_fd;
    if (s->size < 0) return FUSEC_OK;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    s->large = pages > 0 && page > 0 && s->size / page > pages / 2;
    return FUSEC_OK;
}

void fc_reader_memory(fc_reader *s, const void *data, size_t size, const char *name) {
    memset(s, 0, sizeof *s);
    s->read = read_memory;
    s->user = (void *)(uintptr_t)data;
    s->fd = -1;
    s->size = (int64_t)size;
    fc_shown_name(s->name, sizeof s->name, name);
}

void fc_reader_close(fc_reader *s) {
    if (s->close) s->close(s);
    s->close = NULL;
    s->read = NULL;
}

fusec_status fc_reader_fill(fc_reader *s, void *buf, size_t n, size_t *got, fc_error *e) {
    size_t done = 0;
    *got = 0;
    while (done < n) {
        size_t want = n - done < PIECE ? n - done : PIECE;
        int64_t k = s->read(s, (char *)buf + done, want, e);
        if (k < 0) return e ? e->code : FUSEC_IO;
        if (k == 0) break;
        done += (size_t)k;
        s->at += k;
        if (s->progress) s->progress(s->progress_user, s->at, s->size);
    }
    *got = done;
    return FUSEC_OK;
}

fusec_status fc_reader_skip(fc_reader *s, int64_t n, fc_error *e) {
    char some[4096];
    size_t got = 1;
    if (s->read == read_fd && s->size >= 0 && n <= s->size - s->at &&
        lseek(s->fd, (off_t)n, SEEK_CUR) >= 0) {
        s->at += n;
        return FUSEC_OK;
    }
    for (; n > 0 && got; n -= (int64_t)got)
        FC_TRY(
            fc_reader_fill(s, some, n < (int64_t)sizeof some ? (size_t)n : sizeof some, &got, e));
    return FUSEC_OK;
}
