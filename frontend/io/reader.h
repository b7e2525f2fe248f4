/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reader.h - where bytes are read from: a file, standard input, memory, or an entry of an archive.
 *
 * Bytes are read in order and never mapped, so a file that shrinks meanwhile is a short read and
 * not a signal. `size` is what the source holds in total when that is known (a regular file), else
 * -1. */
#ifndef FUSEC_FRONTEND_IO_READER_H
#define FUSEC_FRONTEND_IO_READER_H

#include "ir/base.h"

typedef struct fc_reader fc_reader;

struct fc_reader {
    /* Reads 1 to n bytes; 0 at the end; -1 with the error set. */
    int64_t (*read)(fc_reader *s, void *buf, size_t n, fc_error *e);
    void (*close)(fc_reader *s); /* may be NULL */
    void *user;
    int fd;
    int64_t size, at;
    bool large;     /* more than half of the memory: what was read is dropped from the page cache */
    int64_t behind; /* bytes that were read and are still there */
    char name[200]; /* as messages show it */
    /* Called now and then while much is read; may be NULL. */
    void (*progress)(void *user, int64_t done, int64_t total);
    void *progress_user;
};

/* Opens a file for reading; a directory is refused. "-" is not special here. */
fusec_status fc_reader_open(fc_reader *s, const char *path, fc_error *e);
/* Takes an open descriptor, which stays open afterwards. */
void fc_reader_fd(fc_reader *s, int fd, const char *name);
/* Reads from memory, which must outlive the source. */
void fc_reader_memory(fc_reader *s, const void *data, size_t size, const char *name);
void fc_reader_close(fc_reader *s);

/* Reads exactly n bytes unless the end comes first; `*got` says how many came. */
fusec_status fc_reader_fill(fc_reader *s, void *buf, size_t n, size_t *got, fc_error *e);
/* Goes on n bytes behind, or to the end: in a file without reading them. */
fusec_status fc_reader_skip(fc_reader *s, int64_t n, fc_error *e);

#endif
