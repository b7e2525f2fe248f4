/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fault.c - reports of faults in fusec. See fault.h.
 *
 * The folder is reports/NAME-HASH beside the compiled kernels. It holds the programs, the generated
 * kernels, the whole message, and the versions; nothing of the user's data. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/fault.h"

#include <stdio.h>
#include <stdlib.h>

#include "frontend/cli/emit.h"
#include "ir/version.h"

static bool keep(fc_cli *c, const char *name, const fc_str *text) {
    fc_attachment a = {fc_strdup(c->alloc, name), fc_strdup(c->alloc, text->data)};
    if (a.name && a.text && fc_push(c->alloc, &c->attachments, a)) return true;
    fc_free(c->alloc, a.name);
    fc_free(c->alloc, a.text);
    return false;
}

void fc_fault_kernels(fc_job *s, fusec_program *p) {
    for (uint32_t i = 0; i < (uint32_t)fusec_kernel_count(p); i++) {
        fc_str name, text;
        fc_str_init(&name, s->alloc);
        fc_str_init(&text, s->alloc);
        fc_emit_kernel_name(s, i, &name);
        fc_str_add(&name, fc_emit_source_suffix(p));
        if (!fc_emit_source(s, p, i, &text, NULL)) keep(s->cli, name.data, &text);
        fc_str_free(&name);
        fc_str_free(&text);
    }
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Makes a folder and the one it is in. */
static bool make_folders(const fc_cli *c, const char *name, fc_str *path) {
    const fc_config *f = &c->config;
    if (f->cache_dir && *f->cache_dir)
        fc_str_add(path, f->cache_dir);
    else if (f->xdg_cache_home && *f->xdg_cache_home)
        fc_str_printf(path, "%s/fusec", f->xdg_cache_home);
    else if (f->home && *f->home)
        fc_str_printf(path, "%s/.cache/fusec", f->home);
    else
        fc_str_add(path, "/tmp/fusec");
    fc_make_folder(path->data, NULL);
    fc_str_add(path, "/reports");
    fc_make_folder(path->data, NULL);
    fc_str_printf(path, "/%s", name);
    return fc_make_folder(path->data, NULL) == FUSEC_OK && !path->oom;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put(fc_cli *c, const char *folder, const char *name, const char *text, fc_str *list) {
    fc_str path;
    fc_str_init(&path, c->alloc);
    fc_str_printf(&path, "%s/%s", folder, name);
    if (!path.oom && !fc_cli_write_text(c, path.data, text, strlen(text), NULL))
        fc_str_printf(list, "%s%s", list->len ? "  " : "", name);
    fc_str_free(&path);
}

static void versions(const fc_cli *c, fc_str *out) {
    fc_str_printf(out, "fusec " FC_VERSION ", language %d\nfusec %s", FC_LANGUAGE_VERSION,
                  fc_commands[c->o.command].name);
    for (size_t i = 0; i < c->o.files.len; i++) fc_str_printf(out, " %s", c->o.files.at[i]);
    for (size_t i = 0; i < c->o.inputs.len; i++) fc_str_printf(out, " %s", c->o.inputs.at[i]);
    fc_str_char(out, '\n');
}

static void write_all(fc_cli *c, const char *folder, const fc_error *e, fc_str *list) {
    fc_str text;
    for (size_t i = 0; i < c->files.sources.len; i++) {
        const fc_source *src = c->files.sources.at[i];
        if (!src->text) continue;
        put(c, folder, src->name[0] == '<' ? "expr.txt" : last_part(src->name), src->text, list);
    }
    for (size_t i = 0; i < c->attachments.len; i++)
        put(c, folder, c->attachments.at[i].name, c->attachments.at[i].text, list);
    put(c, folder, "message.txt", e->message, list);
    fc_str_init(&text, c->alloc);
    versions(c, &text);
    put(c, folder, "version.txt", text.data, list);
    fc_str_free(&text);
}

void fc_fault_report(fc_cli *c, fc_error *e) {
    fc_str folder, name, list;
    uint64_t hash = fc_hash_bytes(e->message, strlen(e->message));
    const char *program = "expr";
    fc_str_init(&folder, c->alloc);
    fc_str_init(&name, c->alloc);
    fc_str_init(&list, c->alloc);
    for (size_t i = 0; i < c->files.sources.len; i++) {
        const fc_source *src = c->files.sources.at[i];
        hash = fc_mix(hash, src->text ? fc_hash_bytes(src->text, src->len) : 0);
        if (src->name && src->name[0] != '<') program = last_part(src->name);
    }
    fc_str_addn(&name, program, strcspn(program, "."));
    fc_str_printf(&name, "-%08x", (unsigned)hash);
    if (make_folders(c, name.data, &folder)) write_all(c, folder.data, e, &list);
    size_t n = strlen(e->message);
    n += (size_t)snprintf(e->message + n, sizeof e->message - n,
                          "\n  This is a fault in fusec, not in the program.");
    if (list.len && n < sizeof e->message)
        n += (size_t)snprintf(e->message + n, sizeof e->message - n,
                              " To report it, attach\n      %s/      %s", folder.data, list.data);
    if (e->code == FUSEC_NVRTC && n < sizeof e->message)
        snprintf(e->message + n, sizeof e->message - n,
                 "\n  help: --device cpu runs the same program without NVRTC");
    fc_str_free(&folder);
    fc_str_free(&name);
    fc_str_free(&list);
}
