/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_link.c - many objects and the run time to one, in which all names are local but those of the
 * header: `ld -r` and `objcopy` of binutils, in a folder of their own for the time. Libraries are
 * made of that by `ar` and `ld`. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/cli/aot.h"
#include "frontend/cli/emit.h"
#include "frontend/io/reader.h"

extern char **environ;

typedef struct work {
    fc_aot *a;
    char folder[600];
    FC_VEC(char *) args; /* of the command that is made ready */
    fc_arena arena;
} work;

/* ---- commands -------------------------------------------------------------------------------- */

static fusec_status arg(work *w, fc_error *e, const char *fmt, ...) FC_PRINTF(3, 4);
static fusec_status arg(work *w, fc_error *e, const char *fmt, ...) {
    fc_str s;
    va_list ap;
    fc_str_init(&s, w->a->alloc);
    va_start(ap, fmt);
    fc_str_vprintf(&s, fmt, ap);
    va_end(ap);
    char *copy = s.oom ? NULL : fc_arena_strdup(&w->arena, s.data, s.len);
    fc_str_free(&s);
    return copy && fc_push(w->a->alloc, &w->args, copy) ? FUSEC_OK : fc_oom(e);
}

/* Several; one that begins with / is a file of the folder. */
static fusec_status args(work *w, const char *const *list, fc_error *e) {
    for (; *list; list++) FC_TRY(arg(w, e, "%s%s", **list == '/' ? w->folder : "", *list));
    return FUSEC_OK;
}
#define ARGS(...) args(w, (const char *const[]){__VA_ARGS__, NULL}, e)

/* What the command has to say goes to standard error. */
static fusec_status run(work *w, fc_error *e) {
    pid_t pid;
    int state;
    char *none = NULL;
    if (!fc_push(w->a->alloc, &w->args, none)) return fc_oom(e);
    const char *name = w->args.at[0];
    const int why = posix_spawnp(&pid, name, NULL, NULL, w->args.at, environ);
    w->args.len = 0;
    if (why)
        return fc_fail(e, FUSEC_IO, "%s of binutils is needed to put an object together: %s", name,
                       strerror(why));
    while (waitpid(pid, &state, 0) < 0)
        if (errno != EINTR) return fc_fail(e, FUSEC_IO, "%s: %s", name, strerror(errno));
    return WIFEXITED(state) && WEXITSTATUS(state) == 0
               ? FUSEC_OK
               : fc_fail(e, FUSEC_IO, "%s could not put the object together", name);
}

static fusec_status write_file(work *w, const char *name, const void *data, size_t size,
                               fc_error *e) {
    char path[700];
    snprintf(path, sizeof path, "%s/%s", w->folder, name);
    return fc_cli_write_text(w->a->cli, path, data, size, e);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* "log10 fc_row_log10_f64", each once. */
static void list_rows(fc_str *out) {
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++) {
        const char *column = fc_ops[op].llvm_f;
        bool again = !column || (column[0] != '#' && column[0] != '!');
        for (int k = FC_OP_FIRST_ELEMENTWISE; k < op && !again; k++)
            again = fc_ops[k].llvm_f && !strcmp(fc_ops[k].llvm_f, column);
        if (!again)
            fc_str_printf(out, "%s fc_row_%s_f64\n%sf fc_row_%s_f32\n", column + 1, fc_ops[op].name,
                          column + 1, fc_ops[op].name);
    }
}

static fusec_status write_all(work *w, fc_error *e) {
    fc_aot *a = w->a;
    char name[40];
    fc_str names, rows;
    const unsigned char *runtime;
    size_t size;
    fc_str_init(&names, a->alloc);
    fc_str_init(&rows, a->alloc);
    for (size_t i = 0; i < a->names.len; i++) fc_str_printf(&names, "%s\n", a->names.at[i]);
    list_rows(&rows);
    fc_aot_runtime(&runtime, &size);
    fusec_status s = names.oom || rows.oom ? fc_oom(e) : FUSEC_OK;
    if (!s) s = write_file(w, "names", names.data, names.len, e);
    if (!s) s = write_file(w, "rows", rows.data, rows.len, e);
    if (!s) s = write_file(w, "runtime.a", runtime, size, e);
    for (size_t i = 0; !s && i < a->objects.len; i++) {
        snprintf(name, sizeof name, "%zu.o", i);
        s = write_file(w, name, a->objects.at[i].data, a->objects.at[i].len, e);
    }
    fc_str_free(&names);
    fc_str_free(&rows);
    return s;
}

/* Kernels and constants first: names of rows mean the run time's functions there, and there only.
 */
static fusec_status join_code(work *w, fc_error *e) {
    FC_TRY(ARGS("ld", "-r", "-o", "/code.o"));
    for (size_t i = 0; i < w->a->objects.len; i++) FC_TRY(arg(w, e, "%s/%zu.o", w->folder, i));
    FC_TRY(run(w, e));
    FC_TRY(arg(w, e, "objcopy"));
    FC_TRY(arg(w, e, "--redefine-syms=%s/rows", w->folder));
    FC_TRY(ARGS("/code.o"));
    return run(w, e);
}

static fusec_status join_all(work *w, fc_error *e) {
    FC_TRY(ARGS("ld", "-r", "--gc-sections"));
    for (size_t i = 0; i < w->a->names.len; i++) FC_TRY(arg(w, e, "-u%s", w->a->names.at[i]));
    FC_TRY(ARGS("-o", "/all.o", "/code.o", "/runtime.a"));
    FC_TRY(run(w, e));
    FC_TRY(arg(w, e, "objcopy"));
    FC_TRY(arg(w, e, "--keep-global-symbols=%s/names", w->folder));
    FC_TRY(ARGS("--strip-unneeded", "--remove-section=.comment", "/all.o"));
    return run(w, e);
}

static fusec_status join_static(work *w, fc_error *e) {
    FC_TRY(ARGS("ar", "rcsD", "/all.a", "/all.o"));
    return run(w, e);
}

/* libc and libm by the names that they have where nothing is developed. */
static fusec_status join_shared(work *w, fc_error *e) {
    FC_TRY(ARGS("ld", "-shared", "-znoexecstack", "-zrelro", "-znow"));
    FC_TRY(arg(w, e, "-soname=lib%s.so", w->a->prefix));
    FC_TRY(ARGS("-o", "/all.so", "/all.o", "-l:libm.so.6"));
    if (w->a->ngpus) FC_TRY(arg(w, e, "-l:libdl.so.2"));
    FC_TRY(ARGS("-l:libc.so.6"));
    return run(w, e);
}

/* all.o as nn.o, all.so as libnn.so. */
static fusec_status copy_out(work *w, const char *folder, const char *suffix, fc_error *e) {
    const fc_aot *a = w->a;
    char from[700], piece[8192], shown[64];
    size_t got = sizeof piece;
    fc_reader in;
    fc_str all, path;
    snprintf(from, sizeof from, "%s/all%s", w->folder, suffix);
    FC_TRY(fc_reader_open(&in, from, e));
    fc_str_init(&all, a->alloc);
    fc_str_init(&path, a->alloc);
    fc_str_printf(&path, "%.*s/%s%s%s", fc_folder_len(folder), folder,
                  strcmp(suffix, ".o") ? "lib" : "", a->prefix, suffix);
    fusec_status s = FUSEC_OK;
    while (!s && got == sizeof piece) {
        s = fc_reader_fill(&in, piece, sizeof piece, &got, e);
        if (!s) fc_str_addn(&all, piece, got);
    }
    fc_reader_close(&in);
    if (!s && (all.oom || path.oom)) s = fc_oom(e);
    if (!s) s = fc_cli_write_text(a->cli, path.data, all.data, all.len, e);
    if (!s)
        fc_cli_say(a->cli, "%s: %u function%s, %s", path.data, a->count, a->count == 1 ? "" : "s",
                   fc_show_bytes(shown, (int64_t)all.len));
    fc_str_free(&all);
    fc_str_free(&path);
    return s;
}

static void clean(work *w) {
    static const char *const names[] = {"names", "rows",  "runtime.a", "code.o",
                                        "all.o", "all.a", "all.so"};
    char path[700];
    for (size_t i = 0; i < FC_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", w->folder, names[i]);
        unlink(path);
    }
    for (size_t i = 0; i < w->a->objects.len; i++) {
        snprintf(path, sizeof path, "%s/%zu.o", w->folder, i);
        unlink(path);
    }
    rmdir(w->folder);
}

fusec_status fc_aot_link(fc_aot *a, const char *folder, unsigned what, fc_error *e) {
    work w = {.a = a};
    const char *tmp = getenv("TMPDIR");
    snprintf(w.folder, sizeof w.folder, "%.500s/fusec-build-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(w.folder)) return fc_fail(e, FUSEC_IO, "no temporary folder: %s", strerror(errno));
    fc_arena_init(&w.arena, a->alloc);
    fusec_status s = write_all(&w, e);
    if (!s) s = join_code(&w, e);
    if (!s) s = join_all(&w, e);
    if (!s && (what & FC_AOT_OBJECT)) s = copy_out(&w, folder, ".o", e);
    if (!s && (what & FC_AOT_LIB)) s = join_static(&w, e);
    if (!s && (what & FC_AOT_LIB)) s = copy_out(&w, folder, ".a", e);
    if (!s && (what & FC_AOT_SO)) s = join_shared(&w, e);
    if (!s && (what & FC_AOT_SO)) s = copy_out(&w, folder, ".so", e);
    clean(&w);
    fc_vec_free(a->alloc, &w.args);
    fc_arena_free(&w.arena);
    return s;
}
