/* sources.c - program texts: files of the command line, and those that they import.
 *
 * One file is one source, however it is named, so that it is read once and its messages always
 * carry the name that it was first found under. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/command.h"

#include <sys/stat.h>

fusec_status fc_cli_source(fc_cli *c, const char *name, const char *text, size_t len,
                           const fc_source **out, fc_error *e) {
    fc_source *src = fc_calloc(c->alloc, 1, sizeof *src);
    if (!src || !fc_push(c->alloc, &c->sources, src)) {
        fc_free(c->alloc, src);
        return fc_oom(e);
    }
    *out = src;
    return fc_source_init(src, c->alloc, name, text, len, e);
}

void fc_cli_free_sources(fc_cli *c) {
    for (size_t i = 0; i < c->sources.len; i++) {
        fc_source_free(c->sources.at[i]);
        fc_free(c->alloc, c->sources.at[i]);
    }
    fc_vec_free(c->alloc, &c->sources);
    fc_vec_free(c->alloc, &c->files);
}

static fusec_status read_file(fc_cli *c, const char *path, const fc_source **out, fc_error *e) {
    fc_str text;
    fc_str_init(&text, c->alloc);
    fusec_status s = fc_cli_read_text(path, &text, e);
    if (!s) s = fc_cli_source(c, strcmp(path, "-") ? path : "<stdin>", text.data, text.len, out, e);
    fc_str_free(&text);
    return s;
}

fusec_status fc_cli_source_file(fc_cli *c, const char *path, const fc_source **out, fc_error *e) {
    struct stat st;
    if (!strcmp(path, "-") || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return read_file(c, path, out, e);
    for (size_t i = 0; i < c->files.len; i++) {
        const fc_known_file *f = &c->files.at[i];
        if (f->device != (uint64_t)st.st_dev || f->number != (uint64_t)st.st_ino) continue;
        *out = f->src;
        return FUSEC_OK;
    }
    FC_TRY(read_file(c, path, out, e));
    fc_known_file f = {(uint64_t)st.st_dev, (uint64_t)st.st_ino, *out};
    return fc_push(c->alloc, &c->files, f) ? FUSEC_OK : fc_oom(e);
}

/* ---- imports --------------------------------------------------------------------------------- */

/* `path` as it is seen from the folder that the first `n` bytes of `folder` name; *out stays NULL:
 * there is no such file. */
static fusec_status look(fc_cli *c, const char *folder, size_t n, const char *path,
                         const fc_source **out, fc_str *tried, fc_error *e) {
    struct stat st;
    fc_str full;
    fusec_status s = FUSEC_OK;
    fc_str_init(&full, c->alloc);
    if (*path != '/' && n)
        fc_str_printf(&full, "%.*s%s", (int)n, folder, folder[n - 1] == '/' ? "" : "/");
    fc_str_add(&full, path);
    fc_str_printf(tried, "%s%s", tried->len ? ", " : "", full.data);
    if (full.oom)
        s = fc_oom(e);
    else if (stat(full.data, &st) == 0)
        s = S_ISREG(st.st_mode) ? fc_cli_source_file(c, full.data, out, e)
                                : fc_fail(e, FUSEC_IO, "%.200s is no file", full.data);
    fc_str_free(&full);
    return s;
}

static fusec_status open_import(void *ctx, const fc_source *from, const char *path,
                                const fc_source **out, fc_str *tried, fc_error *e) {
    fc_cli *c = ctx;
    const char *slash = strrchr(from->name, '/');
    FC_TRY(look(c, from->name, slash ? (size_t)(slash - from->name) + 1 : 0, path, out, tried, e));
    for (size_t i = 0; i < c->o.many.len && !*out && *path != '/'; i++) {
        const char *folder = c->o.many.at[i].text;
        if (c->o.many.at[i].flag == FC_FLAG_INCLUDE)
            FC_TRY(look(c, folder, strlen(folder), path, out, tried, e));
    }
    return FUSEC_OK;
}

fusec_status fc_cli_modules(fc_cli *c, fc_ast *program, fc_modules *m) {
    const fc_opener opener = {c, open_import};
    return fc_modules_load(m, program, &opener, c->alloc, &c->ds);
}
