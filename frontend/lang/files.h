/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* files.h - program texts from files: the file that was asked for, and those that it imports.
 *
 * One file is one source, however it is named, so that it is read once and its messages always
 * carry the name that it was first found under. */
#ifndef FUSEC_FRONTEND_LANG_FILES_H
#define FUSEC_FRONTEND_LANG_FILES_H

#include "frontend/lang/modules.h"

typedef struct fc_known_file {
    uint64_t device, number;
    const fc_source *src;
} fc_known_file;

typedef struct fc_files {
    const fc_alloc *alloc;
    FC_VEC(fc_source *) sources;
    FC_VEC(fc_known_file) known;
    /* Folder number i in which imports are looked for after the importing file's own; NULL: there
     * are no more. */
    const char *(*folder)(const void *ctx, size_t i);
    const void *ctx;
} fc_files;

void fc_files_free(fc_files *f);
/* A text as a source that lives as long as `f`. */
fusec_status fc_files_add(fc_files *f, const char *name, const char *text, size_t len,
                          const fc_source **out, fc_error *e);
/* The text of a file, which is read once; "-" is standard input. */
fusec_status fc_files_read(fc_files *f, const char *path, const fc_source **out, fc_error *e);
/* Reads what a program imports. */
fusec_status fc_files_modules(fc_files *f, fc_ast *program, fc_diags *ds, fc_modules *m);

#endif
