/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* outfile.h - a file, or a folder, that appears whole or not at all.
 *
 * Bytes go to a temporary file in the directory of the target, which fc_outfile_commit renames over
 * it; fc_outfile_abandon removes it. A target that is not a regular file (a pipe, /dev/null) is
 * written directly. Permissions of a file that is replaced are kept. */
#ifndef FUSEC_FRONTEND_IO_OUTFILE_H
#define FUSEC_FRONTEND_IO_OUTFILE_H

#include "ir/base.h"

typedef struct fc_outfile fc_outfile;

/* Elements that become something else on their way, a folder or a file: what writes them, and what
 * that holds. */
typedef struct fc_outfile_kind {
    fusec_status (*write)(fc_outfile *o, const void *data, size_t n, fc_error *e);
    fusec_status (*finish)(fc_outfile *o, fc_error *e);
    void (*drop)(fc_outfile *o); /* frees `store`; may be called again */
} fc_outfile_kind;

struct fc_outfile {
    const fc_alloc *alloc;
    const fc_outfile_kind *kind; /* NULL: a file */
    void *store;
    int fd;
    bool borrowed;  /* the descriptor belongs to the caller */
    char *path;     /* where it goes, symbolic links resolved */
    char *tmp;      /* the temporary name; NULL when written directly */
    int64_t at;     /* bytes written */
    char name[200]; /* as messages show it */
    /* Called as bytes are written, if set after opening; `expected` is what they will be: 0 when
     * nobody has said, -1 when it is not known. */
    void (*progress)(void *user, int64_t done, int64_t total);
    void *progress_user;
    int64_t expected;
};

fusec_status fc_outfile_open(fc_outfile *o, const fc_alloc *alloc, const char *path, fc_error *e);
/* A folder under a temporary name; commit puts it in the place of what is there, which goes. */
fusec_status fc_outfile_folder(fc_outfile *o, const fc_alloc *alloc, const char *path, fc_error *e);
/* Writes to an open descriptor that stays open; commit and abandon then only finish. */
void fc_outfile_fd(fc_outfile *o, int fd, const char *name);
fusec_status fc_outfile_write(fc_outfile *o, const void *data, size_t n, fc_error *e);
/* To the file itself, as a kind writes it. */
fusec_status fc_outfile_bytes(fc_outfile *o, const void *data, size_t n, fc_error *e);
/* All bytes are there; what may still fail is the rename. To be called before commit where several
 * files are to appear together. */
fusec_status fc_outfile_finish(fc_outfile *o, fc_error *e);
/* Frees everything, also on failure (after which there is no file). Finishes where that was not
 * done. */
fusec_status fc_outfile_commit(fc_outfile *o, fc_error *e);
void fc_outfile_abandon(fc_outfile *o);

/* Follows symbolic links of the last part of a path, also to where nothing is yet. False: too long,
 * or too many links. */
bool fc_resolve_links(const char *path, char *out, size_t size);

#endif
