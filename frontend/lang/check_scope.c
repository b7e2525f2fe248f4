/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_scope.c - the names of files: definitions, consts, and what imports bring.
 *
 * In: the program, with the files that it imports read (modules.h). Out: one scope for each file,
 * the program's first. A file sees its own names, those that it imports by `from`, and its modules
 * under their names; what a file imports is not seen through it. */
#include "frontend/lang/check_impl.h"

#include "frontend/lang/library.h"
#include "frontend/lang/parse.h"

/* ---- reading ------------------------------------------------------------------------------------
 */

static const fc_ast *ast_of(const fc_checker *c, uint32_t scope) {
    return c->scopes.at[scope].ast;
}

static void twice(fc_checker *c, uint32_t scope, const char *name, fc_range at,
                  const fc_item *first, uint32_t first_scope) {
    fc_diag *d =
        fc_c_error_in(c, ast_of(c, scope), FUSEC_DUPLICATE_NAME, at, "`%s` is defined twice", name);
    if (scope == first_scope)
        fc_diag_related(d, first->name.at, "the first one");
    else
        fc_diag_label(d, ast_of(c, first_scope)->src, first->name.at, "the first one");
}

static bool put(fc_checker *c, fc_namemap *m, const char *name, uint32_t i) {
    if (fc_namemap_put(c->alloc, m, name, i)) return true;
    fc_c_oom(c);
    return false;
}

static fc_def *def_of(const fc_checker *c, uint32_t scope, const char *name) {
    uint32_t i;
    return fc_namemap_get(&c->scopes.at[scope].defs, name, &i) ? &c->defs.at[i] : NULL;
}

/* The definition and the const number `i` under a name of file `scope`. */
static void add_def(fc_checker *c, uint32_t scope, const char *name, fc_range at, uint32_t i) {
    const fc_def *before = def_of(c, scope, name);
    if (before)
        twice(c, scope, name, at, before->item, before->scope);
    else
        put(c, &c->scopes.at[scope].defs, name, i);
}

static void add_const(fc_checker *c, uint32_t scope, const char *name, fc_range at, uint32_t i) {
    uint32_t before;
    if (fc_c_const(c, scope, name, &before))
        twice(c, scope, name, at, c->consts.at[before].item, c->consts.at[before].scope);
    else
        put(c, &c->scopes.at[scope].consts, name, i);
}

/* The number of a file's scope; a new one when it is seen first. */
static uint32_t scope_of(fc_checker *c, const fc_ast *ast) {
    for (uint32_t i = 0; i < c->scopes.len; i++)
        if (c->scopes.at[i].ast == ast) return i;
    fc_scope s = {.ast = ast};
    if (!fc_push(c->alloc, &c->scopes, s)) fc_c_oom(c);
    return (uint32_t)c->scopes.len - 1;
}

static bool is_function(const fc_item *it) {
    return it->kind == FC_IT_DEF || it->kind == FC_IT_EXTERN;
}

static void own_names(fc_checker *c, uint32_t scope) {
    const fc_ast *ast = ast_of(c, scope);
    for (const fc_item *it = ast ? ast->items : NULL; it && !c->stop; it = it->next) {
        fc_const_entry k = {.item = it, .scope = scope};
        fc_def d = {.item = it, .scope = scope};
        if (it->kind == FC_IT_CONST && fc_push(c->alloc, &c->consts, k))
            add_const(c, scope, it->name.text, it->name.at, (uint32_t)c->consts.len - 1);
        else if (is_function(it) && fc_push(c->alloc, &c->defs, d))
            add_def(c, scope, it->name.text, it->name.at, (uint32_t)c->defs.len - 1);
        else if (it->kind == FC_IT_CONST || is_function(it))
            fc_c_oom(c);
        else if (it->module)
            scope_of(c, it->module);
    }
}

/* "nn" of "lib/nn.fuse", if that is a name. */
static const char *stem(fc_checker *c, const char *path) {
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t n = strcspn(base, ".");
    for (size_t i = 0; i < n; i++)
        if (!(i ? fc_is_word(base[i]) : fc_is_letter(base[i]))) return NULL;
    return n ? fc_c_text(c, "%.*s", (int)n, base) : NULL;
}

static void add_module(fc_checker *c, uint32_t scope, const fc_item *it) {
    const char *name = it->name.len ? it->name.text : stem(c, it->path);
    uint32_t before;
    if (!name) {
        fc_diag *d = fc_c_error_in(c, ast_of(c, scope), FUSEC_SYNTAX, it->path_at,
                                   "\"%s\" gives the module no name", it->path);
        fc_diag_help(d, "import \"%s\" as NAME", it->path);
        return;
    }
    if (fc_namemap_get(&c->scopes.at[scope].modules, name, &before)) {
        fc_c_error_in(c, ast_of(c, scope), FUSEC_DUPLICATE_NAME,
                      it->name.len ? it->name.at : it->path_at, "two modules are called `%s`",
                      name);
        return;
    }
    put(c, &c->scopes.at[scope].modules, name, scope_of(c, it->module));
}

/* What a file defines itself: nothing is seen through it. */
static fc_def *own_def(const fc_checker *c, uint32_t scope, const char *name) {
    fc_def *d = def_of(c, scope, name);
    return d && d->scope == scope ? d : NULL;
}

/* from "nn.fuse" import NAME: a definition or a const of that file. */
static void add_from(fc_checker *c, uint32_t scope, const fc_item *it) {
    uint32_t from = scope_of(c, it->module);
    for (uint32_t n = 0; n < it->name_count && !c->stop; n++) {
        const fc_name *name = &it->names[n];
        const fc_def *def = own_def(c, from, name->text);
        uint32_t i;
        if (def) {
            add_def(c, scope, name->text, name->at, (uint32_t)(def - c->defs.at));
            continue;
        }
        if (fc_c_module_const(c, from, name->text, &i)) {
            add_const(c, scope, name->text, name->at, i);
            continue;
        }
        fc_diag *d = fc_c_error_in(c, ast_of(c, scope), FUSEC_UNKNOWN_NAME, name->at,
                                   "%s has no `%s`", ast_of(c, from)->src->name, name->text);
        fc_suggest s;
        fc_suggest_start(&s, name->text, name->len);
        for (const fc_item *o = it->module->items; o; o = o->next)
            if (is_function(o) || o->kind == FC_IT_CONST) fc_suggest_try(&s, o->name.text);
        fc_suggest_help(&s, d);
    }
}

static void imports(fc_checker *c, uint32_t scope) {
    const fc_ast *ast = ast_of(c, scope);
    for (const fc_item *it = ast ? ast->items : NULL; it && !c->stop; it = it->next) {
        if (it->kind != FC_IT_IMPORT && it->kind != FC_IT_FROM) continue;
        if (!it->module)
            fc_c_error_in(c, ast, FUSEC_IO, it->path_at,
                          "\"%s\" can't be imported: this text stands alone, without files",
                          it->path);
        else if (it->kind == FC_IT_IMPORT)
            add_module(c, scope, it);
        else
            add_from(c, scope, it);
    }
}

/* ---- the library ----------------------------------------------------------------------------- */

/* Whether the program, the snippet or a definition of the library that is read has the name. */
static bool is_named(const fc_checker *c, const char *name) {
    if (c->rq->snippet && fc_library_is_named(name, c->rq->snippet->src->text)) return true;
    for (size_t i = 0; i < c->scopes.len; i++)
        if (c->scopes.at[i].ast && fc_library_is_named(name, c->scopes.at[i].ast->src->text))
            return true;
    return false;
}

/* Messages may be about its text, so that is theirs. */
static const fc_source *library_text(fc_checker *c, const fc_library_entry *e) {
    fc_error why = {0};
    fc_source *src = fc_calloc(c->alloc, 1, sizeof *src);
    const char *name = fc_c_text(c, "fusec's %s", e->name);
    if (src && fc_source_init(src, c->alloc, name, e->text, strlen(e->text), &why) == FUSEC_OK &&
        fc_push(c->alloc, &c->ds->library, src))
        return src;
    if (src) fc_source_free(src);
    fc_free(c->alloc, src);
    return NULL;
}

static void free_tree(fc_checker *c, const fc_ast *tree) {
    fc_ast *ast = (fc_ast *)(uintptr_t)tree;
    if (ast) fc_ast_free(ast);
    fc_free(c->alloc, ast);
}

/* A definition of the library, with a file of its own. */
static void read_entry(fc_checker *c, const fc_library_entry *e) {
    const fc_source *src = library_text(c, e);
    fc_ast *ast = src ? fc_calloc(c->alloc, 1, sizeof *ast) : NULL;
    const fc_scope s = {.ast = ast, .library = true};
    if (!ast || fc_parse_program(src, c->ds, ast) || !fc_push(c->alloc, &c->scopes, s)) {
        free_tree(c, ast);
        fc_c_oom(c);
        return;
    }
    own_names(c, (uint32_t)c->scopes.len - 1);
    put(c, &c->library, e->name, (uint32_t)c->defs.len - 1);
}

/* Those that are named, and those that they name. */
static void read_library(fc_checker *c) {
    uint32_t i;
    for (size_t before = 0; before != c->scopes.len && !c->stop;) {
        before = c->scopes.len;
        for (size_t k = 0; k < fc_library_count && !c->stop; k++)
            if (!fc_namemap_get(&c->library, fc_library[k].name, &i) &&
                is_named(c, fc_library[k].name))
                read_entry(c, &fc_library[k]);
    }
}

void fc_c_read_scopes(fc_checker *c) {
    fc_scope s = {.ast = c->rq->program};
    if (!fc_push(c->alloc, &c->scopes, s)) fc_c_oom(c);
    for (uint32_t i = 0; i < c->scopes.len && !c->stop; i++) own_names(c, i);
    read_library(c);
    for (uint32_t i = 0; i < c->scopes.len && !c->stop; i++) imports(c, i);
}

void fc_c_free_scopes(fc_checker *c) {
    for (size_t i = 0; i < c->scopes.len; i++) {
        fc_namemap_free(c->alloc, &c->scopes.at[i].defs);
        fc_namemap_free(c->alloc, &c->scopes.at[i].consts);
        fc_namemap_free(c->alloc, &c->scopes.at[i].modules);
        if (c->scopes.at[i].library) free_tree(c, c->scopes.at[i].ast);
    }
    fc_namemap_free(c->alloc, &c->library);
    fc_vec_free(c->alloc, &c->scopes);
    fc_vec_free(c->alloc, &c->consts);
    fc_vec_free(c->alloc, &c->defs);
}

/* ---- looking up ---------------------------------------------------------------------------------
 */

fc_def *fc_c_def(const fc_checker *c, uint32_t scope, const char *name) {
    uint32_t i;
    fc_def *d = def_of(c, scope, name);
    if (d || fc_c_is_builtin(name) || !fc_namemap_get(&c->library, name, &i)) return d;
    return &c->defs.at[i];
}

bool fc_c_const(const fc_checker *c, uint32_t scope, const char *name, uint32_t *out) {
    return fc_namemap_get(&c->scopes.at[scope].consts, name, out);
}

bool fc_c_module(const fc_checker *c, const fc_call *f, const fc_expr *member, uint32_t *scope) {
    const fc_expr *o = member->object;
    return o->kind == FC_EX_NAME && fc_namemap_get(&c->scopes.at[f->scope].modules, o->text, scope);
}

fc_def *fc_c_callee(const fc_checker *c, const fc_call *f, const fc_expr *callee) {
    uint32_t scope;
    if (callee->kind == FC_EX_NAME) return fc_c_def(c, f->scope, callee->text);
    if (callee->kind != FC_EX_MEMBER || !fc_c_module(c, f, callee, &scope)) return NULL;
    return own_def(c, scope, callee->member->text);
}

bool fc_c_module_const(const fc_checker *c, uint32_t scope, const char *name, uint32_t *out) {
    return fc_c_const(c, scope, name, out) && c->consts.at[*out].scope == scope;
}

void fc_c_suggest_names(fc_suggest *s, const fc_namemap *m) {
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->keys[i]) fc_suggest_try(s, m->keys[i]);
}

void fc_c_no_member(fc_checker *c, uint32_t scope, const fc_expr *member, bool called) {
    const fc_scope *s = &c->scopes.at[scope];
    const fc_name *name = member->member;
    uint32_t i;
    bool def = own_def(c, scope, name->text) != NULL;
    bool value = fc_c_module_const(c, scope, name->text, &i);
    const char *file = s->ast->src->name;
    if (def && !called) {
        fc_diag *d = fc_c_error(c, FUSEC_UNKNOWN_NAME, member->at,
                                "`%s` is a function, not a value", fc_c_quote(c, member->at));
        fc_diag_help(d, "call it: %s( )", fc_c_quote(c, member->at));
        return;
    }
    fc_diag *d = fc_c_error(c, FUSEC_UNKNOWN_NAME, name->at, "%s has no %s `%s`%s", file,
                            called ? "function" : "const", name->text,
                            value && called ? ": it is a const" : "");
    fc_suggest g;
    fc_suggest_start(&g, name->text, name->len);
    for (const fc_item *it = s->ast->items; it; it = it->next)
        if (called ? is_function(it) : it->kind == FC_IT_CONST) fc_suggest_try(&g, it->name.text);
    fc_suggest_help(&g, d);
}

void fc_c_value_name(fc_checker *c, const fc_call *f, const char *name, fc_range at) {
    uint32_t scope;
    if (!fc_namemap_get(&c->scopes.at[f->scope].modules, name, &scope)) return;
    fc_diag *d = fc_c_error_in(c, f->ast, FUSEC_DUPLICATE_NAME, at, "`%s` is a module here", name);
    fc_diag_help(d, "call the value otherwise, or import %s under another name",
                 c->scopes.at[scope].ast->src->name);
}
