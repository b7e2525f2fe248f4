/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* modules.c - reads imports, depth first, on a stack of its own. See modules.h. */
#include "frontend/lang/modules.h"

#include "frontend/lang/parse.h"

/* A file whose imports are being read. */
typedef struct open_file {
    fc_ast *ast;
    fc_item *next; /* the import that is read next, or what stands before it */
    const fc_item *at;
} open_file;

typedef struct loader {
    fc_modules *m;
    const fc_opener *opener;
    fc_diags *ds;
    FC_VEC(open_file) open;
} loader;

static bool is_import(const fc_item *it) {
    return it->kind == FC_IT_IMPORT || it->kind == FC_IT_FROM;
}

/* "a.fuse imports b.fuse, which imports a.fuse", and where each does. */
static void cycle(loader *l, size_t from) {
    const open_file *last = &l->open.at[l->open.len - 1];
    fc_str chain;
    fc_str_init(&chain, l->m->alloc);
    fc_str_add(&chain, l->open.at[from].ast->src->name);
    for (size_t i = from + 1; i < l->open.len; i++)
        fc_str_printf(&chain, " imports %s, which", l->open.at[i].ast->src->name);
    fc_str_printf(&chain, " imports %s",
                  l->open.len - from > 1 ? l->open.at[from].ast->src->name : "itself");
    fc_diag *d = fc_diag_error(l->ds, FUSEC_IMPORT_CYCLE, last->ast->src, last->at->path_at, "%s",
                               chain.data);
    for (size_t i = from; i + 1 < l->open.len; i++)
        fc_diag_label(d, l->open.at[i].ast->src, l->open.at[i].at->path_at, "imported here");
    fc_diag_help(d, "put what both need into a third file");
    if (chain.oom) fc_diag_oom(l->ds);
    fc_str_free(&chain);
}

static void not_there(loader *l, const fc_source *src, const fc_item *it, const fc_str *tried) {
    fc_diag *d =
        fc_diag_error(l->ds, FUSEC_IO, src, it->path_at, "there is no file \"%s\"", it->path);
    if (tried->len) fc_diag_line(d, "looked for: %s", tried->data);
    fc_diag_help(d, "a path is relative to the importing file; -I DIR says where else to look");
}

/* The source of an import; NULL after a report. */
static const fc_source *find(loader *l, const fc_source *src, const fc_item *it) {
    const fc_source *out = NULL;
    fc_error e = {0};
    fc_str tried;
    fc_str_init(&tried, l->m->alloc);
    fusec_status s = l->opener->open(l->opener->ctx, src, it->path, &out, &tried, &e);
    if (tried.oom || s == FUSEC_OUT_OF_MEMORY)
        fc_diag_oom(l->ds);
    else if (s)
        fc_diag_error(l->ds, s, src, it->path_at, "%s", e.message);
    else if (!out)
        not_there(l, src, it, &tried);
    fc_str_free(&tried);
    return s ? NULL : out;
}

/* A new file: parsed, and its imports come next. NULL after a report. */
static fc_ast *add(loader *l, const fc_source *src, const fc_source *by, const fc_item *it) {
    fc_modules *m = l->m;
    if (m->asts.len == FC_MODULE_LIMIT) {
        fc_diag_error(l->ds, FUSEC_LIMIT, by, it->path_at, "more than %d imported files",
                      FC_MODULE_LIMIT);
        return NULL;
    }
    fc_ast *ast = fc_calloc(m->alloc, 1, sizeof *ast);
    if (!ast || !fc_push(m->alloc, &m->asts, ast)) {
        fc_free(m->alloc, ast);
        fc_diag_oom(l->ds);
        return NULL;
    }
    if (fc_parse_program(src, l->ds, ast)) return NULL;
    open_file o = {.ast = ast, .next = ast->items};
    if (fc_push(m->alloc, &l->open, o)) return ast;
    fc_diag_oom(l->ds);
    return NULL;
}

static void load_one(loader *l, fc_item *it) {
    const fc_source *by = l->open.at[l->open.len - 1].ast->src, *src = find(l, by, it);
    if (!src) return;
    for (size_t i = 0; i < l->open.len; i++) {
        if (l->open.at[i].ast->src != src) continue;
        cycle(l, i);
        return;
    }
    for (size_t i = 0; i < l->m->asts.len; i++) {
        if (l->m->asts.at[i]->src != src) continue;
        it->module = l->m->asts.at[i];
        return;
    }
    it->module = add(l, src, by, it);
}

fusec_status fc_modules_load(fc_modules *m, fc_ast *program, const fc_opener *opener,
                             const fc_alloc *alloc, fc_diags *ds) {
    loader l = {.m = m, .opener = opener, .ds = ds};
    uint32_t before = ds->errors;
    memset(m, 0, sizeof *m);
    m->alloc = alloc;
    open_file root = {.ast = program, .next = program->items};
    if (!opener) return FUSEC_OK;
    if (!fc_push(alloc, &l.open, root)) fc_diag_oom(ds);
    while (l.open.len && !ds->oom) {
        open_file *top = &l.open.at[l.open.len - 1];
        fc_item *it = top->next;
        top->at = it;
        if (it) top->next = it->next;
        if (!it)
            l.open.len--;
        else if (is_import(it))
            load_one(&l, it);
    }
    fc_vec_free(alloc, &l.open);
    return ds->oom ? FUSEC_OUT_OF_MEMORY : ds->errors == before ? FUSEC_OK : ds->first;
}

void fc_modules_free(fc_modules *m) {
    for (size_t i = 0; i < m->asts.len; i++) {
        fc_ast_free(m->asts.at[i]);
        fc_free(m->alloc, m->asts.at[i]);
    }
    fc_vec_free(m->alloc, &m->asts);
    memset(m, 0, sizeof *m);
}
