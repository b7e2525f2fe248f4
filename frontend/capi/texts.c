/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* texts.c - expressions of the language by number: operation "text" of values of no graph and of
 * fusec_op. A text is parsed once for a context, and compiled into the graph where it is used. */
#include "frontend/capi/capi.h"
#include "frontend/capi/language.h"
#include "frontend/lang/parse.h"

struct fc_text {
    char *program, *text, **names;
    int n;
    fusec_module *module; /* of `program`; NULL: none */
    fc_source source;
    fc_ast ast; /* of `text` */
    bool read;
};

static void free_text(const fc_alloc *a, struct fc_text *t) {
    if (!t) return;
    fc_ast_free(&t->ast);
    if (t->read) fc_source_free(&t->source);
    fusec_module_free(t->module);
    for (int i = 0; t->names && i < t->n; i++) fc_free(a, t->names[i]);
    fc_free(a, t->names);
    fc_free(a, t->program);
    fc_free(a, t->text);
    fc_free(a, t);
}

void fc_texts_free(fusec_context *c) {
    for (size_t i = 0; i < c->texts.len; i++) free_text(&c->alloc, c->texts.at[i]);
    fc_vec_free(&c->alloc, &c->texts);
}

static bool same(const struct fc_text *t, const char *program, const char *text, int n,
                 const char *const *names) {
    if (t->n != n || strcmp(t->text, text) || !t->program != !program) return false;
    if (program && strcmp(t->program, program)) return false;
    for (int i = 0; i < n; i++)
        if (strcmp(t->names[i], names[i])) return false;
    return true;
}

static struct fc_text *copy(const fc_alloc *a, const char *program, const char *text, int n,
                            const char *const *names) {
    struct fc_text *t = fc_calloc(a, 1, sizeof *t);
    if (!t) return NULL;
    t->text = fc_strdup(a, text);
    t->program = program ? fc_strdup(a, program) : NULL;
    t->names = fc_calloc(a, (size_t)n + 1, sizeof *t->names);
    t->n = t->names ? n : 0;
    bool ok = t->text && t->names && !t->program == !program;
    for (int i = 0; i < t->n; i++) ok &= (t->names[i] = fc_strdup(a, names[i])) != NULL;
    if (ok) return t;
    free_text(a, t);
    return NULL;
}

static fusec_status parse(fusec_context *c, struct fc_text *t, fc_error *e) {
    fc_diags ds;
    FC_TRY(fc_source_init(&t->source, &c->alloc, "<expr>", t->text, strlen(t->text), e));
    t->read = true;
    fc_diags_init(&ds, &c->alloc);
    fusec_status s = fc_parse_snippet(&t->source, &ds, &t->ast);
    if (s) s = fc_language_failed(&ds, &c->alloc, s, e);
    fc_diags_free(&ds);
    return s;
}

static fusec_status make(fusec_context *c, struct fc_text *t, fc_error *e) {
    if (t->program) {
        const fusec_status s = fusec_parse(c, NULL, t->program, &t->module);
        if (s) return fc_fail(e, s, "%s", fusec_message(c));
    }
    return parse(c, t, e);
}

/* NULL: it is not there yet. */
static bool find(fusec_context *c, const char *program, const char *text, int n,
                 const char *const *names, int64_t *number) {
    size_t i = 0;
    while (i < c->texts.len && !same(c->texts.at[i], program, text, n, names)) i++;
    *number = (int64_t)i;
    return i < c->texts.len;
}

fusec_status fusec_text_number(fusec_context *ctx, const char *program, const char *text, int n,
                               const char *const *names, int64_t *number) {
    fc_error e = {0};
    if (!ctx || !text || !number || n < 0 || (n && !names))
        return fc_report_text(FUSEC_INVALID, "fusec_text_number: %s",
                              !ctx      ? "the context is NULL"
                              : !text   ? "the text is NULL"
                              : !number ? "the result pointer is NULL"
                              : n < 0   ? "fewer than no names"
                                        : "the names are NULL");
    for (int i = 0; i < n; i++)
        if (!names[i])
            return fc_report_text(FUSEC_INVALID, "fusec_text_number: name %d is NULL", i + 1);
    pthread_mutex_lock(&ctx->texts_lock);
    if (!find(ctx, program, text, n, names, number)) {
        struct fc_text *t = copy(&ctx->alloc, program, text, n, names);
        if (!t)
            fc_oom(&e);
        else if (!make(ctx, t, &e) && !fc_push(&ctx->alloc, &ctx->texts, t))
            fc_oom(&e);
        if (e.code) free_text(&ctx->alloc, t);
    }
    pthread_mutex_unlock(&ctx->texts_lock);
    return e.code ? fc_report(&e) : FUSEC_OK;
}

fusec_value fc_text_value(fusec_graph *g, int64_t number, int n, const fusec_value *v, int result,
                          int nresults) {
    fusec_context *c = g->ctx;
    fusec_value out[FC_MOST_RESULTS];
    pthread_mutex_lock(&c->texts_lock);
    const bool there = number >= 0 && (uint64_t)number < c->texts.len;
    const struct fc_text *t = there ? c->texts.at[number] : NULL;
    pthread_mutex_unlock(&c->texts_lock);
    if (!t)
        fc_fail(&g->ir.error, FUSEC_INVALID, "text: the context has no text of number %lld",
                (long long)number);
    else if (n != t->n)
        fc_fail(&g->ir.error, FUSEC_ARGUMENT_COUNT, "text: %d operands for %d names", n, t->n);
    else if (nresults < 1 || nresults > FC_MOST_RESULTS || result < 0 || result >= nresults)
        fc_fail(&g->ir.error, FUSEC_INVALID, "text: result %d of %d", result, nresults);
    else if (!fc_language_values(g, t->module, &t->ast, n, (const char *const *)t->names, v,
                                 nresults, out))
        return out[result];
    return fc_value(g, FC_NONODE);
}
