/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* files.c - see files.h. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/lang/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include "frontend/io/reader.h"

fusec_status fc_files_add(fc_files *f, const char *name, const char *text, size_t len,
                          const fc_source **out, fc_error *e) {
    fc_source *src = fc_calloc(f->alloc, 1, sizeof *src);
    if (!src || !fc_push(f->alloc, &f->sources, src)) {
        fc_free(f->alloc, src);
        return fc_oom(e);
    }
    *out = src;
    return fc_source_init(src, f->alloc, name, text, len, e);
}

void fc_files_free(fc_files *f) {
    for (size_t i = 0; i < f->sources.len; i++) {
        fc_source_free(f->sources.at[i]);
        fc_free(f->alloc, f->sources.at[i]);
    }
    fc_vec_free(f->alloc, &f->sources);
    fc_vec_free(f->alloc, &f->known);
}

/* A text of at most the size a program may have. */
static fusec_status read_text(const char *path, fc_str *out, fc_error *e) {
    fc_reader r;
    char piece[8192];
    fusec_status s = FUSEC_OK;
    if (!strcmp(path, "-"))
        fc_reader_fd(&r, STDIN_FILENO, "standard input");
    else
        FC_TRY(fc_reader_open(&r, path, e));
    for (size_t got = sizeof piece; !s && got == sizeof piece && out->len <= FC_SOURCE_LIMIT;) {
        s = fc_reader_fill(&r, piece, sizeof piece, &got, e);
        if (!s) fc_str_addn(out, piece, got);
    }
    fc_reader_close(&r);
    return !s && out->oom ? fc_oom(e) : s;
}

static fusec_status read_file(fc_files *f, const char *path, const fc_source **out, fc_error *e) {
    fc_str text;
    fc_str_init(&text, f->alloc);
    fusec_status s = read_text(path, &text, e);
    if (!s) s = fc_files_add(f, strcmp(path, "-") ? path : "<stdin>", text.data, text.len, out, e);
    fc_str_free(&text);
    return s;
}

fusec_status fc_files_read(fc_files *f, const char *path, const fc_source **out, fc_error *e) {
    struct stat st;
    if (!strcmp(path, "-") || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return read_file(f, path, out, e);
    for (size_t i = 0; i < f->known.len; i++) {
        const fc_known_file *k = &f->known.at[i];
        if (k->device != (uint64_t)st.st_dev || k->number != (uint64_t)st.st_ino) continue;
        *out = k->src;
        return FUSEC_OK;
    }
    FC_TRY(read_file(f, path, out, e));
    const fc_known_file k = {(uint64_t)st.st_dev, (uint64_t)st.st_ino, *out};
    return fc_push(f->alloc, &f->known, k) ? FUSEC_OK : fc_oom(e);
}

/* ---- imports --------------------------------------------------------------------------------- */

/* `path` as it is seen from the folder that the first `n` bytes of `folder` name; *out stays NULL:
 * there is no such file. */
static fusec_status look(fc_files *f, const char *folder, size_t n, const char *path,
                         const fc_source **out, fc_str *tried, fc_error *e) {
    struct stat st;
    fc_str full;
    fusec_status s = FUSEC_OK;
    fc_str_init(&full, f->alloc);
    if (*path != '/' && n)
        fc_str_printf(&full, "%.*s%s", (int)n, folder, folder[n - 1] == '/' ? "" : "/");
    fc_str_add(&full, path);
    fc_str_printf(tried, "%s%s", tried->len ? ", " : "", full.data);
    if (full.oom)
        s = fc_oom(e);
    else if (stat(full.data, &st) == 0)
        s = S_ISREG(st.st_mode) ? fc_files_read(f, full.data, out, e)
                                : fc_fail(e, FUSEC_IO, "%.200s is no file", full.data);
    fc_str_free(&full);
    return s;
}

static fusec_status open_import(void *ctx, const fc_source *from, const char *path,
                                const fc_source **out, fc_str *tried, fc_error *e) {
    fc_files *f = ctx;
    const char *slash = strrchr(from->name, '/');
    FC_TRY(look(f, from->name, slash ? (size_t)(slash - from->name) + 1 : 0, path, out, tried, e));
    const char *folder;
    for (size_t i = 0; !*out && *path != '/' && f->folder && (folder = f->folder(f->ctx, i)); i++)
        FC_TRY(look(f, folder, strlen(folder), path, out, tried, e));
    return FUSEC_OK;
}

fusec_status fc_files_modules(fc_files *f, fc_ast *program, fc_diags *ds, fc_modules *m) {
    const fc_opener opener = {f, open_import};
    return fc_modules_load(m, program, &opener, f->alloc, ds);
}
