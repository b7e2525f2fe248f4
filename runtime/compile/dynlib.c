/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dynlib.c - see dynlib.h. One walk over names x places serves both the loading and the mere
 * look-up. */
#include "runtime/compile/dynlib.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true to end the walk. `path` without a slash goes through the dynamic linker's search. */
typedef bool (*visit_fn)(void *user, const char *path);

typedef struct opening {
    const fc_dynsearch *search;
    void *table;
    size_t table_size;
    fc_dynlib *lib;
    fc_str *why;
} opening;

const char *fc_env(const char *name) {
    const char *v = secure_getenv(name);
    return v && *v ? v : NULL;
}

void fc_dyndirs_init(fc_dyndirs *d) {
    memset(d, 0, sizeof *d);
}

void fc_dyndirs_add(fc_dyndirs *d, const char *base, const char *tail) {
    if (!base || d->n == FC_DYN_DIRS) return;
    if (!*base && *tail) return;
    size_t room = sizeof d->text - d->used;
    int len = snprintf(d->text + d->used, room, "%s%s", base, tail);
    if (len < 0 || (size_t)len >= room) return;
    d->at[d->n++] = d->text + d->used;
    d->used += (size_t)len + 1;
}

void fc_dyndirs_add_toolkits(fc_dyndirs *d) {
    fc_dyndirs_add(d, "/usr/local/cuda", "/lib64");
    fc_dyndirs_add(d, "/usr/local/cuda-*", "/lib64");
    fc_dyndirs_add(d, "/opt/cuda", "/lib64");
}

static void add_python(fc_dyndirs *d, const char *prefix, const char *packages, const char *one) {
    const char *const folders[] = {"cu13", one};
    for (int i = 0; i < 2; i++) {
        char tail[100];
        snprintf(tail, sizeof tail, "/lib/python3*/%s/nvidia/%s/lib", packages, folders[i]);
        fc_dyndirs_add(d, prefix, tail);
    }
}

void fc_dyndirs_add_wheels(fc_dyndirs *d, const char *package) {
    add_python(d, fc_env("VIRTUAL_ENV"), "site-packages", package);
    fc_dyndirs_add(d, fc_env("CONDA_PREFIX"), "/lib");
    add_python(d, fc_env("CONDA_PREFIX"), "site-packages", package);
    add_python(d, "/usr/local", "site-packages", package);
    add_python(d, "/usr/local", "dist-packages", package);
    add_python(d, "/usr", "site-packages", package);
    add_python(d, "/opt/*/.venv", "site-packages", package);
    add_python(d, "/opt/*", "site-packages", package);
}

static bool visit_file(const char *dir, const char *name, visit_fn visit, void *user) {
    char path[512];
    int len = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (len < 0 || (size_t)len >= sizeof path) return false;
    return access(path, R_OK) == 0 && visit(user, path);
}

static bool visit_dir(const char *dir, const char *name, visit_fn visit, void *user) {
    if (!*dir) return visit(user, name);
    if (!strpbrk(dir, "*?[")) return visit_file(dir, name, visit, user);
    glob_t found;
    bool done = false;
    if (glob(dir, GLOB_NOSORT, NULL, &found) != 0) return false;
    /* Few matches: picking the largest name left each time puts cuda-13 before cuda-12. */
    for (size_t i = 0; i < found.gl_pathc && !done; i++) {
        size_t best = i;
        for (size_t j = i + 1; j < found.gl_pathc; j++)
            if (strcmp(found.gl_pathv[j], found.gl_pathv[best]) > 0) best = j;
        char *t = found.gl_pathv[i];
        found.gl_pathv[i] = found.gl_pathv[best];
        found.gl_pathv[best] = t;
        done = visit_file(found.gl_pathv[i], name, visit, user);
    }
    globfree(&found);
    return done;
}

/* A file, or the best name in a directory. */
static bool visit_place(const fc_dynsearch *s, const char *place, visit_fn visit, void *user) {
    struct stat st;
    if (stat(place, &st) != 0) return false;
    if (!S_ISDIR(st.st_mode)) return visit(user, place);
    for (const char *const *name = s->names; *name; name++)
        if (visit_file(place, *name, visit, user)) return true;
    return false;
}

static bool visit_first(const fc_dynsearch *s, visit_fn visit, void *user) {
    const char *p = s->first;
    for (size_t n; p && *p; p += n + (p[n] != 0)) {
        char place[512];
        n = strcspn(p, ":");
        if (!n || n >= sizeof place) continue;
        memcpy(place, p, n);
        place[n] = 0;
        if (visit_place(s, place, visit, user)) return true;
    }
    return false;
}

static bool walk(const fc_dynsearch *s, visit_fn visit, void *user) {
    const char *fixed = s->env_name ? fc_env(s->env_name) : NULL;
    struct stat st;
    if (fixed && (stat(fixed, &st) != 0 || !S_ISDIR(st.st_mode))) return visit(user, fixed);
    if (!fixed && visit_first(s, visit, user)) return true;
    for (const char *const *name = s->names; *name; name++) {
        if (fixed) {
            if (visit_file(fixed, *name, visit, user)) return true;
            continue;
        }
        for (const char *const *dir = s->dirs; *dir; dir++)
            if (visit_dir(*dir, *name, visit, user)) return true;
    }
    return false;
}

/* A name that is nowhere is the normal case and is reported once, at the end; everything else that
 * dlopen has to say is worth a line of its own. */
static bool is_absent(const char *path, const char *message) {
    return !strchr(path, '/') && strncmp(message, path, strlen(path)) == 0 &&
           strstr(message, strerror(ENOENT));
}

static bool fill_table(const opening *o) {
    const fc_dynsearch *s = o->search;
    memset(o->table, 0, o->table_size);
    for (size_t i = 0; i < s->n_syms; i++) {
        void *p = dlsym(o->lib->handle, s->syms[i].name);
        if (!p && s->syms[i].required) {
            fc_str_printf(o->why, "%s has no %s; ", o->lib->path, s->syms[i].name);
            return false;
        }
        memcpy((char *)o->table + s->syms[i].offset, &p, sizeof p);
    }
    return true;
}

static bool open_one(void *user, const char *path) {
    opening *o = user;
    fc_dynlib *lib = o->lib;
    char reason[300] = "";
    lib->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle) {
        const char *message = dlerror();
        if (message && !is_absent(path, message))
            fc_str_printf(o->why, "cannot load %s: %s; ", path, message);
        return false;
    }
    snprintf(lib->path, sizeof lib->path, "%s", path);
    if (fill_table(o)) {
        if (!o->search->accept || o->search->accept(o->search->user, lib, reason, sizeof reason))
            return true;
        fc_str_printf(o->why, "%s: %s; ", path, reason);
    }
    fc_dynlib_close(lib);
    return false;
}

static void explain(const fc_dynsearch *s, fc_str *why) {
    const char *fixed = s->env_name ? fc_env(s->env_name) : NULL;
    for (const char *const *name = s->names; *name; name++)
        fc_str_printf(why, "%s%s", name == s->names ? "" : ", ", *name);
    fc_str_add(why, " not found");
    if (fixed) {
        fc_str_printf(why, " (%s is %s, so nothing else was searched)", s->env_name, fixed);
        return;
    }
    if (s->first) fc_str_printf(why, " in %s,", s->first);
    bool linker_only = s->dirs[0] && !s->dirs[0][0] && !s->dirs[1];
    if (linker_only) return;
    for (const char *const *dir = s->dirs; *dir; dir++)
        fc_str_printf(why, "%s%s", dir == s->dirs ? " in " : ", ",
                      **dir ? *dir : "the linker's path");
}

bool fc_dynlib_open(const fc_dynsearch *s, void *table, size_t table_size, fc_dynlib *lib,
                    fc_str *why) {
    opening o = {s, table, table_size, lib, why};
    memset(lib, 0, sizeof *lib);
    if (walk(s, open_one, &o)) return true;
    memset(table, 0, table_size);
    explain(s, why);
    return false;
}

void fc_dynlib_close(fc_dynlib *lib) {
    if (lib->handle) dlclose(lib->handle);
    memset(lib, 0, sizeof *lib);
}

typedef struct finding {
    char *path;
    size_t size;
    bool found;
} finding;

static bool find_one(void *user, const char *path) {
    finding *f = user;
    if (!strchr(path, '/')) return false;
    char *real = realpath(path, NULL);
    if (!real) return false;
    f->found = strlen(real) < f->size;
    if (f->found) memcpy(f->path, real, strlen(real) + 1);
    free(real);
    return true;
}

bool fc_dynlib_find(const fc_dynsearch *s, char *path, size_t size) {
    finding f = {path, size, false};
    (void)walk(s, find_one, &f);
    return f.found;
}
