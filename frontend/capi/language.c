/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* language.c - the language from C: texts of definitions, programs of them, expressions on values.
 *
 * An expression is compiled into the user's graph: its names are inputs that are nodes already. A
 * mistake is reported with the line and column of the text; as in all of building it sticks to the
 * graph. */
#include "frontend/capi/language.h"

#include "frontend/capi/external.h"
#include "frontend/capi/program.h"
#include "frontend/lang/compile.h"
#include "frontend/lang/files.h"
#include "frontend/lang/parse.h"
#include "runtime/external.h"

struct fusec_module {
    fusec_context *ctx;
    fc_files files; /* the text, and what it imports */
    fc_ast ast;
    fc_modules modules;
    FC_VEC(const fc_extern *) externs; /* the context's; for declarations of their names */
};

/* ---- messages -------------------------------------------------------------------------------- */

fusec_status fc_language_failed(fc_diags *ds, const fc_alloc *a, fusec_status s, fc_error *e) {
    fc_str text;
    fc_str_init(&text, a);
    fc_diags_errors_only(ds);
    fc_diags_text(ds, false, &text);
    while (text.len && text.data[text.len - 1] == '\n') text.data[--text.len] = 0;
    if (text.oom || ds->oom)
        s = fc_oom(e);
    else
        fc_fail(e, s, "%s", text.data);
    for (uint32_t i = 0; i < ds->len; i++)
        if (ds->at[i]->severity == FC_ERROR && ds->at[i]->begin.line) {
            fc_report_place((int)ds->at[i]->begin.line, (int)ds->at[i]->begin.col);
            break;
        }
    fc_str_free(&text);
    return s;
}

/* ---- texts ----------------------------------------------------------------------------------- */

void fusec_module_free(fusec_module *m) {
    if (!m) return;
    const fc_alloc *a = &m->ctx->alloc;
    fc_vec_free(a, &m->externs);
    fc_modules_free(&m->modules);
    fc_ast_free(&m->ast);
    fc_files_free(&m->files);
    fc_free(a, m);
}

/* A text, or what is in a file. */
typedef struct wanted {
    const char *name, *text;
    int n;
    const char *const *folders;
} wanted;

static const char *folder(const void *ctx, size_t i) {
    const wanted *w = ctx;
    return i < (size_t)w->n ? w->folders[i] : NULL;
}

static fusec_status parse(fusec_module *m, const wanted *w, fc_diags *ds, fc_error *e) {
    const fc_source *source = NULL;
    if (w->text)
        FC_TRY(fc_files_add(&m->files, w->name, w->text, strlen(w->text), &source, e));
    else
        FC_TRY(fc_files_read(&m->files, w->name, &source, e));
    fusec_status s = fc_parse_program(source, ds, &m->ast);
    if (!s && w->text) s = fc_modules_load(&m->modules, &m->ast, NULL, m->files.alloc, ds);
    if (!s && !w->text) s = fc_files_modules(&m->files, &m->ast, ds, &m->modules);
    return s ? fc_language_failed(ds, m->files.alloc, s, e) : FUSEC_OK;
}

static fusec_status make(fusec_context *ctx, const wanted *w, fusec_module **out) {
    fc_error e = {0};
    fc_diags ds;
    fusec_module *m = fc_calloc(&ctx->alloc, 1, sizeof *m);
    if (!m) return fc_report_text(FUSEC_OUT_OF_MEMORY, "out of memory");
    m->ctx = ctx;
    m->modules.alloc = &ctx->alloc;
    m->files = (fc_files){.alloc = &ctx->alloc, .folder = folder, .ctx = w};
    fc_diags_init(&ds, &ctx->alloc);
    const fusec_status s = parse(m, w, &ds, &e);
    fc_diags_free(&ds);
    if (s) {
        fusec_module_free(m);
        return fc_report(&e);
    }
    *out = m;
    return FUSEC_OK;
}

fusec_status fusec_parse(fusec_context *ctx, const char *name, const char *text,
                         fusec_module **out) {
    if (!out) return fc_report_text(FUSEC_INVALID, "fusec_parse: the result pointer is NULL");
    *out = NULL;
    if (!ctx || !text)
        return fc_report_text(FUSEC_INVALID, "fusec_parse: the %s is NULL",
                              ctx ? "text" : "context");
    return make(ctx, &(wanted){.name = name ? name : "<text>", .text = text}, out);
}

fusec_status fusec_parse_file(fusec_context *ctx, const char *path, int n,
                              const char *const *folders, fusec_module **out) {
    if (!out) return fc_report_text(FUSEC_INVALID, "fusec_parse_file: the result pointer is NULL");
    *out = NULL;
    if (!ctx || !path || n < 0 || (n && !folders))
        return fc_report_text(FUSEC_INVALID, "fusec_parse_file: %s",
                              !ctx    ? "the context is NULL"
                              : !path ? "the path is NULL"
                              : n < 0 ? "fewer than no folders"
                                      : "the folders are NULL");
    for (int i = 0; i < n; i++)
        if (!folders[i])
            return fc_report_text(FUSEC_INVALID, "fusec_parse_file: folder %d is NULL", i + 1);
    return make(ctx, &(wanted){.name = path, .n = n, .folders = folders}, out);
}

/* ---- functions from outside ------------------------------------------------------------------ */

static fusec_status find_extern(void *ctx, const fc_extern *declared, const fc_extern **out,
                                fc_error *e) {
    const fusec_module *m = ctx;
    for (size_t i = 0; i < m->externs.len; i++) {
        const fc_extern *x = m->externs.at[i];
        if (strcmp(x->name, declared->name)) continue;
        if (x->nargs != declared->nargs || x->result != declared->result ||
            memcmp(x->dtype, declared->dtype, x->nargs))
            return fc_fail(e, FUSEC_DTYPE_MISMATCH,
                           "`%s` is declared with other types than those of fusec_module_extern",
                           x->name);
        return *out = x, FUSEC_OK;
    }
    return FUSEC_OK;
}

static fc_extern_source externs_of(const fusec_module *m) {
    return (fc_extern_source){find_extern, (void *)(uintptr_t)m,
                              "give it with fusec_module_extern"};
}

fusec_status fusec_module_extern(fusec_module *m, const fusec_extern_desc *desc) {
    fc_extern like;
    const fc_extern *x = NULL;
    fc_error e = {0};
    if (!m) return fc_report_text(FUSEC_INVALID, "fusec_module_extern: the module is NULL");
    if (fc_take_extern(desc, &like, &e) || fc_extern_intern(m->ctx->runtime, &like, &x, &e))
        return fc_report(&e);
    for (size_t i = 0; i < m->externs.len; i++)
        if (!strcmp(m->externs.at[i]->name, x->name)) return m->externs.at[i] = x, FUSEC_OK;
    if (fc_push(&m->ctx->alloc, &m->externs, x)) return FUSEC_OK;
    fc_oom(&e);
    return fc_report(&e);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static const fc_item *definition(const fusec_module *m, int i) {
    const fc_item *d = m ? m->ast.items : NULL;
    for (; d; d = d->next) {
        if (d->kind != FC_IT_DEF) continue;
        if (i-- == 0) return d;
    }
    return NULL;
}

const char *fusec_module_name(const fusec_module *m, int i) {
    const fc_item *d = i < 0 ? NULL : definition(m, i);
    return d ? d->name.text : NULL;
}

int fusec_module_count(const fusec_module *m) {
    int n = 0;
    while (definition(m, n)) n++;
    return n;
}

/* ---- programs -------------------------------------------------------------------------------- */

static fusec_status compile(const fusec_module *m, const char *def, unsigned flags,
                            fusec_program **out, fc_error *e) {
    fc_graph g;
    fc_diags ds;
    fc_lang_program p;
    fusec_context *c = m->ctx;
    const fc_extern_source externs = externs_of(m);
    fc_lang_request rq = {.program = &m->ast,
                          .externs = &externs,
                          .def = def,
                          .default_float = c->default_float,
                          .mode = c->runtime->config.mode};
    fc_diags_init(&ds, &c->alloc);
    fc_graph_init(&g, &c->alloc, &c->runtime->config.limits);
    fusec_status s = fc_lang_compile(&rq, &g, &p, &ds);
    if (s) s = fc_language_failed(&ds, &c->alloc, s, e);
    fc_program_options o = fc_program_flags(flags);
    o.mode = p.mode;
    o.name = p.name;
    if (!s) s = fc_new_program(c, &g, &o, out, e);
    fc_lang_program_free(&p);
    fc_graph_free(&g);
    fc_diags_free(&ds);
    return s;
}

fusec_status fusec_module_compile(const fusec_module *m, const char *def, unsigned flags,
                                  fusec_program **out) {
    fc_error e = {0};
    if (!out)
        return fc_report_text(FUSEC_INVALID, "fusec_module_compile: the result pointer is NULL");
    *out = NULL;
    if (!m) return fc_report_text(FUSEC_INVALID, "fusec_module_compile: the module is NULL");
    if (flags & ~FC_PROGRAM_FLAGS)
        return fc_report_text(FUSEC_INVALID, "fusec_module_compile: unknown flags 0x%x", flags);
    return compile(m, def, flags, out, &e) ? fc_report(&e) : FUSEC_OK;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static fc_lang_number number_of(const fusec_value *v) {
    fc_lang_number n = {.kind = v->kind == FC_INT    ? FC_LANG_INT
                                : v->kind == FC_BOOL ? FC_LANG_BOOL
                                                     : FC_LANG_FLOAT};
    const int64_t i = (int64_t)v->bits;
    n.negative = v->kind == FC_INT && i < 0;
    n.magnitude = n.negative ? 0 - (uint64_t)i : (uint64_t)i;
    if (v->kind == FC_FLOAT) memcpy(&n.value, &v->bits, sizeof n.value);
    return n;
}

/* The snippet's results are outputs; those that the graph has stand aside. */
static fusec_status compile_text(fusec_graph *g, const fc_lang_request *rq, int n, fc_node *out,
                                 fc_diags *ds) {
    fc_lang_program p;
    const fusec_dtype own = g->ir.default_float;
    const bool written = g->ir.dims.written;
    struct {
        char bytes[sizeof g->ir.outputs];
    } aside;
    memcpy(&aside, &g->ir.outputs, sizeof aside);
    memset(&g->ir.outputs, 0, sizeof g->ir.outputs);
    fusec_status s = fc_lang_compile(rq, &g->ir, &p, ds);
    if (!s && g->ir.outputs.len != (size_t)n) {
        fc_diag_error(ds, FUSEC_ARGUMENT_COUNT, NULL, (fc_range){0, 0},
                      "the expression has %zu results, but %d are asked for", g->ir.outputs.len, n);
        s = FUSEC_ARGUMENT_COUNT;
    }
    for (int i = 0; !s && i < n; i++) out[i] = g->ir.outputs.at[i].node;
    fc_lang_program_free(&p);
    fc_vec_free(g->ir.alloc, &g->ir.outputs);
    memcpy(&g->ir.outputs, &aside, sizeof aside);
    g->ir.default_float = own;
    g->ir.dims.written = written;
    return s;
}

enum { FEW = 16 };

static fusec_status bind_names(fusec_graph *g, int n, const char *const *names,
                               const fusec_value *values, fc_lang_input *in, fc_error *e) {
    for (int i = 0; i < n; i++) {
        if (!names[i]) return fc_fail(e, FUSEC_INVALID, "fusec_expr: name %d is NULL", i + 1);
        in[i] = (fc_lang_input){.name = names[i], .may_be_unused = true};
        if (fc_is_number(&values[i])) {
            in[i].kind = FC_LANG_SCALAR;
            in[i].number = number_of(&values[i]);
            continue;
        }
        if (values[i].graph != g || !fc_is_node(&values[i]))
            return fc_fail(e, FUSEC_INVALID, "fusec_expr: %.100s is not a value of this graph",
                           names[i]);
        in[i].kind = FC_LANG_NODE;
        in[i].node = values[i].node;
    }
    return FUSEC_OK;
}

static fusec_status compile_ast(fusec_graph *g, const fusec_module *m, const fc_ast *ast,
                                const fc_lang_input *in, int n, int nresults, fc_node *out,
                                fc_error *e) {
    fc_diags ds;
    const fc_extern_source externs = externs_of(m);
    const fc_lang_request rq = {.program = m ? &m->ast : NULL,
                                .externs = m ? &externs : NULL,
                                .snippet = ast,
                                .inputs = in,
                                .input_count = (size_t)n,
                                .complete = true,
                                .default_float = g->ir.default_float,
                                .mode = g->ctx->runtime->config.mode};
    fc_diags_init(&ds, g->ir.alloc);
    fusec_status s = compile_text(g, &rq, nresults, out, &ds);
    if (s) s = fc_language_failed(&ds, g->ir.alloc, s, e);
    fc_diags_free(&ds);
    return s;
}

static fusec_status bind_and_compile(fusec_graph *g, const fusec_module *m, const fc_ast *ast,
                                     int n, const char *const *names, const fusec_value *values,
                                     int nresults, fc_node *out, fc_error *e) {
    fc_lang_input few[FEW], *in = few;
    if (n > FEW && !(in = fc_malloc(g->ir.alloc, (size_t)n * sizeof *in))) return fc_oom(e);
    fusec_status s = bind_names(g, n, names, values, in, e);
    if (!s) s = compile_ast(g, m, ast, in, n, nresults, out, e);
    if (in != few) fc_free(g->ir.alloc, in);
    return s;
}

fusec_status fc_language_values(fusec_graph *g, const fusec_module *m, const fc_ast *ast, int n,
                                const char *const *names, const fusec_value *values, int nresults,
                                fusec_value *results) {
    fc_error e = {0};
    fc_node out[FC_MOST_RESULTS];
    const fusec_status s = bind_and_compile(g, m, ast, n, names, values, nresults, out, &e);
    if (s && !g->ir.error.code) g->ir.error = e;
    for (int i = 0; !s && i < nresults; i++) results[i] = fc_value(g, out[i]);
    return s;
}

static fusec_status expr(fusec_graph *g, const fusec_module *m, const char *text, int n,
                         const char *const *names, const fusec_value *values, int nresults,
                         fc_node *out, fc_error *e) {
    fc_source source;
    fc_ast ast = {0};
    fc_diags ds;
    if (g->ir.error.code) return *e = g->ir.error, e->code;
    if (!text || n < 0 || (n && (!names || !values)))
        return fc_fail(e, FUSEC_INVALID, "fusec_expr: %s",
                       text ? "names or values are NULL" : "the text is NULL");
    if (m && m->ctx != g->ctx)
        return fc_fail(e, FUSEC_INVALID, "fusec_expr: the module belongs to another context");
    FC_TRY(fc_source_init(&source, g->ir.alloc, "<expr>", text, strlen(text), e));
    fc_diags_init(&ds, g->ir.alloc);
    fusec_status s = fc_parse_snippet(&source, &ds, &ast);
    if (s) s = fc_language_failed(&ds, g->ir.alloc, s, e);
    if (!s) s = bind_and_compile(g, m, &ast, n, names, values, nresults, out, e);
    fc_diags_free(&ds);
    fc_ast_free(&ast);
    fc_source_free(&source);
    return s;
}

fusec_status fusec_module_expr(const fusec_module *m, fusec_graph *g, const char *text, int n,
                               const char *const *names, const fusec_value *values, int nresults,
                               fusec_value *results) {
    fc_error e = {0};
    fc_node out[FC_MOST_RESULTS];
    if (!g) return fc_report_text(FUSEC_INVALID, "fusec_expr: the graph is NULL");
    if (nresults < 0 || nresults > FC_MOST_RESULTS || (nresults && !results))
        return fc_report_text(FUSEC_INVALID, "fusec_expr: %d results", nresults);
    for (int i = 0; i < nresults; i++) results[i] = fc_value(g, FC_NONODE);
    const fusec_status s = expr(g, m, text, n, names, values, nresults, out, &e);
    if (s && !g->ir.error.code) g->ir.error = e;
    for (int i = 0; !s && i < nresults; i++) results[i] = fc_value(g, out[i]);
    return s ? fc_report(&e) : fusec_graph_status(g);
}

fusec_value fusec_expr(fusec_graph *g, const char *text, int n, const char *const *names,
                       const fusec_value *values) {
    fusec_value v = fc_failed(FUSEC_INVALID);
    if (g) fusec_module_expr(NULL, g, text, n, names, values, 1, &v);
    return v;
}
