/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* externs.c - functions for `extern def`, from the files of --extern. See externs.h.
 *
 * A library gives the C function, a text of CUDA C the device function; the first file of each kind
 * that has the name is taken. A symbol counts that the library itself defines: not what the ones
 * have that it needs, so `extern def write(...)` never means that of libc; and a variable is no
 * function. Libraries stay loaded. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, dlinfo */
#endif
#include "frontend/cli/externs.h"

#include <dlfcn.h>
#include <link.h>

typedef struct library {
    const char *path;
    void *handle;
} library;

typedef struct made {
    fc_extern like; /* what was declared: its name, dtypes and result */
    fc_extern function;
    char name[];
} made;

struct fc_cli_externs {
    FC_VEC(library) libraries;
    FC_VEC(const fc_source *) texts;
    FC_VEC(made *) made;
};

/* ---- files ----------------------------------------------------------------------------------- */

/* Whether a path ends so, or has it before a version: libm.so.6. */
static bool has_suffix(const char *path, const char *suffix, bool version) {
    const char *base = strrchr(path, '/');
    const size_t n = strlen(suffix);
    for (const char *p = base ? base : path; (p = strstr(p, suffix)); p++)
        if (!p[n] || (version && p[n] == '.')) return true;
    return false;
}

static fusec_status load(fc_cli *c, const char *path, fc_error *e) {
    fc_str full;
    fc_str_init(&full, c->alloc);
    fc_str_printf(&full, "%s%s", strchr(path, '/') ? "" : "./", path); /* no search of folders */
    library l = {path, full.oom ? NULL : dlopen(full.data, RTLD_NOW | RTLD_LOCAL)};
    const char *why = l.handle || full.oom ? NULL : dlerror();
    fusec_status s = FUSEC_OK;
    if (full.oom)
        s = fc_oom(e);
    else if (!l.handle)
        s = fc_fail(e, FUSEC_IO, "--extern: cannot load %.150s", why ? why : path);
    else if (!fc_push(c->alloc, &c->externs->libraries, l))
        s = fc_oom(e);
    fc_str_free(&full);
    return s;
}

static fusec_status open_file(fc_cli *c, const char *path, fc_error *e) {
    const fc_source *text;
    if (has_suffix(path, ".so", true)) return load(c, path, e);
    if (!has_suffix(path, ".cu", false) && !has_suffix(path, ".cuh", false))
        return fc_fail(e, FUSEC_USAGE,
                       "--extern %.150s is neither a library (.so) nor CUDA C (.cu, .cuh)", path);
    FC_TRY(fc_files_read(&c->files, path, &text, e));
    return fc_push(c->alloc, &c->externs->texts, text) ? FUSEC_OK : fc_oom(e);
}

/* ---- functions ------------------------------------------------------------------------------- */

typedef void (*function)(void);

static function in_library(const library *l, const char *name) {
    Dl_info at;
    struct link_map *map;
    const ElfW(Sym) *symbol = NULL;
    void *p = dlsym(l->handle, name);
    function f = NULL;
    if (!p || dlinfo(l->handle, RTLD_DI_LINKMAP, &map) ||
        !dladdr1(p, &at, (void **)(uintptr_t)&symbol, RTLD_DL_SYMENT))
        return NULL;
    /* what a function is chosen at load time by has no symbol of its own here */
    const bool data = symbol && at.dli_saddr == p && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT;
    if (!data && strcmp(at.dli_fname, map->l_name) == 0) memcpy(&f, &p, sizeof f);
    return f;
}

/* A text that has the name as a word: whether it is a device function is for the compiler. */
static bool in_text(const fc_source *src, const char *name) {
    const size_t n = strlen(name);
    for (const char *p = src->text; (p = strstr(p, name)); p++)
        if ((p == src->text || !fc_is_word(p[-1])) && !fc_is_word(p[n])) return true;
    return false;
}

static bool same(const fc_extern *a, const fc_extern *b) {
    return a->nargs == b->nargs && a->result == b->result &&
           !memcmp(a->dtype, b->dtype, a->nargs) && !strcmp(a->name, b->name);
}

static fusec_status make(fc_cli *c, made *m, fc_error *e) {
    struct fc_cli_externs *x = c->externs;
    fc_extern *f = &m->function;
    const char *from = NULL;
    *f = m->like;
    f->slots = FC_EXTERN_SLOTS;
    for (size_t i = 0; i < x->libraries.len && !f->scalar; i++) {
        f->scalar = in_library(&x->libraries.at[i], m->name);
        from = x->libraries.at[i].path;
    }
    for (size_t i = 0; i < x->texts.len && !f->cuda; i++)
        if (in_text(x->texts.at[i], m->name)) f->cuda = x->texts.at[i]->text;
    if (f->scalar && !(f->fn = fc_extern_by_element(f)))
        return fc_fail(e, FUSEC_DTYPE_MISMATCH,
                       "`%s` of %.100s has to be of f32, f64, i32 or i64, of one of them for "
                       "parameters (%d at most) and result alike",
                       m->name, from, FC_EXTERN_SCALARS);
    f->user = f;
    if (!f->scalar && !f->cuda)
        return fc_fail(e, FUSEC_CALL_FAILED, "no file of --extern has a function `%s`", m->name);
    return FUSEC_OK;
}

static fusec_status find(void *ctx, const fc_extern *declared, const fc_extern **out, fc_error *e) {
    fc_cli *c = ctx;
    struct fc_cli_externs *x = c->externs;
    if (!x) return FUSEC_OK;
    for (size_t i = 0; i < x->made.len; i++)
        if (same(&x->made.at[i]->like, declared)) return *out = &x->made.at[i]->function, FUSEC_OK;
    const size_t n = strlen(declared->name) + 1;
    made *m = fc_calloc(c->alloc, 1, sizeof *m + n);
    if (!m) return fc_oom(e);
    memcpy(m->name, declared->name, n);
    m->like = *declared;
    m->like.name = m->name;
    fusec_status s = make(c, m, e);
    m->function.number = (uint32_t)x->made.len;
    if (!s && !fc_push(c->alloc, &x->made, m)) s = fc_oom(e);
    if (s)
        fc_free(c->alloc, m);
    else
        *out = &m->function;
    return s;
}

/* ---- the whole ------------------------------------------------------------------------------- */

fusec_status fc_cli_externs_open(fc_cli *c, fc_extern_source *out, fc_error *e) {
    const bool may = fc_flag_applies(FC_FLAG_EXTERN, c->o.command);
    *out =
        (fc_extern_source){find, c,
                          may ? "say where it is: --extern FILE, a library (.so) or CUDA C (.cu)"
                              : "it is there only where a program runs: fusec run --extern FILE"};
    if (c->externs || !fc_cli_on(c, FC_FLAG_EXTERN)) return FUSEC_OK;
    c->externs = fc_calloc(c->alloc, 1, sizeof *c->externs);
    if (!c->externs) return fc_oom(e);
    for (size_t i = 0; i < c->o.many.len; i++)
        if (c->o.many.at[i].flag == FC_FLAG_EXTERN) FC_TRY(open_file(c, c->o.many.at[i].text, e));
    return FUSEC_OK;
}

void fc_cli_externs_free(fc_cli *c) {
    struct fc_cli_externs *x = c->externs;
    if (!x) return;
    for (size_t i = 0; i < x->made.len; i++) fc_free(c->alloc, x->made.at[i]);
    fc_vec_free(c->alloc, &x->made);
    fc_vec_free(c->alloc, &x->texts);
    fc_vec_free(c->alloc, &x->libraries);
    fc_free(c->alloc, x);
    c->externs = NULL;
}
