/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* saved.c - graphs to files and back, and what a graph that was read has in it. */
#include <stdio.h>

#include "frontend/capi/capi.h"
#include "frontend/capi/language.h"
#include "frontend/io/outfile.h"
#include "frontend/io/reader.h"
#include "frontend/lang/compile.h"
#include "frontend/lang/parse.h"
#include "frontend/saved/saved.h"
#include "runtime/external.h"

/* ---- saving ---------------------------------------------------------------------------------- */

/* Functions are found again by their names. */
static fusec_status only_one(const fc_extern *x, const fc_extern **seen, size_t n, fc_error *e) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(seen[i]->name, x->name))
            return fc_fail(e, FUSEC_INVALID,
                           "two functions of the graph are called %.60s: who reads it could not "
                           "tell them apart",
                           x->name);
    return FUSEC_OK;
}

static fusec_status check_functions(const fc_graph *g, fc_error *e) {
    FC_VEC(const fc_extern *) seen = {0};
    for (fc_node n = 0; n < g->nodes.len && !e->code; n++) {
        const fc_ninfo *i = fc_at(g, n);
        const fc_extern *x = fc_extern_of(i);
        size_t k = 0;
        if (i->op == FC_OP_CALL) /* its number is one of the context */
            fc_fail(e, FUSEC_INVALID, "a graph with calls of the user can't be saved");
        if (i->op != FC_OP_EXTERN) continue;
        while (k < seen.len && seen.at[k] != x) k++;
        if (k < seen.len || only_one(x, seen.at, seen.len, e)) continue;
        if (!fc_push(g->alloc, &seen, x)) fc_oom(e);
    }
    fc_vec_free(g->alloc, &seen);
    return e->code;
}

static fusec_status to_bytes(const fusec_graph *g, unsigned form, fc_str *out, fc_error *e) {
    if (g->ir.error.code) return *e = g->ir.error, e->code;
    if (!g->ir.outputs.len)
        return fc_fail(e, FUSEC_INVALID, "the graph has no outputs: name one with fusec_output");
    if (g->leaves.len != g->ninputs)
        return fc_fail(e, FUSEC_INVALID,
                       "a saved graph has no arrays in it: use fusec_input, not fusec_array");
    FC_TRY(check_functions(&g->ir, e));
    if (form == FUSEC_BINARY) return fc_saved_write(&g->ir, out, e);
    if (g->ir.customs.len)
        return fc_fail(e, FUSEC_INVALID,
                       "a derivative of the user's own has no text: save it as FUSEC_BINARY");
    fc_lang_print_graph(&g->ir, "graph", out);
    return out->oom ? fc_oom(e) : FUSEC_OK;
}

static fusec_status save(const char *what, const fusec_graph *g, unsigned form, fc_str *out,
                         fc_error *e) {
    if (!g) return fc_fail(e, FUSEC_INVALID, "%s: the graph is NULL", what);
    if (form > FUSEC_BINARY) return fc_fail(e, FUSEC_INVALID, "%s: %u is no form", what, form);
    fc_str_init(out, g->ir.alloc);
    const fusec_status s = to_bytes(g, form, out, e);
    if (s) fc_str_free(out);
    return s;
}

fusec_status fusec_graph_save(const fusec_graph *g, const char *path, unsigned form) {
    fc_error e = {0};
    fc_str bytes;
    fc_outfile f;
    if (!path) return fc_report_text(FUSEC_INVALID, "fusec_graph_save: the path is NULL");
    if (save("fusec_graph_save", g, form, &bytes, &e)) return fc_report(&e);
    if (!fc_outfile_open(&f, g->ir.alloc, path, &e)) {
        if (fc_outfile_write(&f, bytes.data, bytes.len, &e))
            fc_outfile_abandon(&f);
        else
            fc_outfile_commit(&f, &e);
    }
    fc_str_free(&bytes);
    return e.code ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_graph_bytes(const fusec_graph *g, unsigned form, char **out, size_t *size) {
    fc_error e = {0};
    fc_str bytes;
    if (!out || !size)
        return fc_report_text(FUSEC_INVALID, "fusec_graph_bytes: a result pointer is NULL");
    *out = NULL;
    *size = 0;
    if (save("fusec_graph_bytes", g, form, &bytes, &e)) return fc_report(&e);
    *out = bytes.data; /* not empty, so it is the string's own memory */
    *size = bytes.len;
    return FUSEC_OK;
}

static fusec_status find_extern(void *ctx, const fc_extern *like, const fc_extern **out,
                                fc_error *e) {
    return fc_extern_by_name(ctx, like, out, e);
}

static fc_extern_source source_of(const fusec_graph *g) {
    return (fc_extern_source){find_extern, g->ctx->runtime,
                              "give it to the context with fusec_extern_number first"};
}

/* ---- loading --------------------------------------------------------------------------------- */

static fusec_status from_text(fusec_graph *g, const char *name, const char *text, size_t size,
                              fc_error *e) {
    fc_source source;
    fc_ast ast = {0};
    fc_diags ds;
    fc_lang_program p;
    const fc_extern_source externs = source_of(g);
    fc_lang_request rq = {.program = &ast,
                          .externs = &externs,
                          .default_float = g->ir.default_float,
                          .mode = 0,
                          .complete = false};
    FC_TRY(fc_source_init(&source, g->ir.alloc, name, text, size, e));
    fc_diags_init(&ds, g->ir.alloc);
    fusec_status s = fc_parse_program(&source, &ds, &ast);
    if (!s) {
        s = fc_lang_compile(&rq, &g->ir, &p, &ds);
        fc_lang_program_free(&p);
    }
    if (s) s = fc_language_failed(&ds, g->ir.alloc, s, e);
    fc_diags_free(&ds);
    fc_ast_free(&ast);
    fc_source_free(&source);
    return s;
}

/* A graph that only has inputs without data. */
static fusec_status take_inputs(fusec_graph *g, fc_error *e) {
    const uint32_t most = g->ctx->runtime->config.limits.inputs;
    if (g->ir.inputs.len > most) return fc_fail(e, FUSEC_LIMIT, "more than %u inputs", most);
    for (size_t i = 0; i < g->ir.inputs.len; i++) {
        const fc_leaf leaf = {.bound = false};
        if (!fc_push(g->ir.alloc, &g->leaves, leaf)) return fc_oom(e);
    }
    g->ninputs = (uint32_t)g->ir.inputs.len;
    return FUSEC_OK;
}

/* `name`: NULL, or what messages begin with; those of texts always say where. */
static fusec_status from_binary(fusec_graph *g, const char *name, const void *data, size_t size,
                                fc_error *e) {
    const fc_extern_source externs = source_of(g);
    fc_error why = {0};
    if (!fc_saved_read(data, size, &externs, &g->ir, &why)) return FUSEC_OK;
    return fc_fail(e, why.code, "%.200s%s%s", name ? name : "", name ? ": " : "", why.message);
}

static fusec_status load(fusec_graph *g, const char *name, const void *data, size_t size,
                         fc_error *e) {
    if (fc_saved_is(data, size))
        FC_TRY(from_binary(g, name, data, size, e));
    else
        FC_TRY(from_text(g, name ? name : "<graph>", data, size, e));
    return take_inputs(g, e);
}

fusec_status fusec_graph_from_bytes(fusec_context *ctx, const char *name, const void *data,
                                    size_t size, fusec_graph **out) {
    fc_error e = {0};
    if (!out)
        return fc_report_text(FUSEC_INVALID, "fusec_graph_from_bytes: the result pointer is NULL");
    *out = NULL;
    if (!ctx || (size && !data))
        return fc_report_text(FUSEC_INVALID, "fusec_graph_from_bytes: the %s NULL",
                              ctx ? "bytes are" : "context is");
    fusec_graph *g;
    FC_TRY(fusec_graph_new(ctx, &g));
    if (load(g, name, data ? data : "", size, &e)) {
        fusec_graph_free(g);
        return fc_report(&e);
    }
    *out = g;
    return FUSEC_OK;
}

enum { PIECE = 1 << 16 };
#define MOST_BYTES ((size_t)1 << 30)

static fusec_status read_all(const char *path, fc_str *bytes, fc_error *e) {
    fc_reader in;
    size_t got = PIECE;
    char piece[PIECE];
    FC_TRY(fc_reader_open(&in, path, e));
    while (!e->code && got == PIECE) {
        if (fc_reader_fill(&in, piece, PIECE, &got, e)) break;
        fc_str_addn(bytes, piece, got);
        if (bytes->oom) fc_oom(e);
        if (bytes->len > MOST_BYTES) fc_fail(e, FUSEC_LIMIT, "%s has more than 1 GiB", in.name);
    }
    fc_reader_close(&in);
    return e->code;
}

fusec_status fusec_graph_load(fusec_context *ctx, const char *path, fusec_graph **out) {
    fc_error e = {0};
    fc_str bytes;
    if (out) *out = NULL;
    if (!ctx || !path || !out)
        return fc_report_text(FUSEC_INVALID, "fusec_graph_load: the %s is NULL",
                              !ctx    ? "context"
                              : !path ? "path"
                                      : "result pointer");
    fc_str_init(&bytes, &ctx->alloc);
    fusec_status s = read_all(path, &bytes, &e)
                         ? fc_report(&e)
                         : fusec_graph_from_bytes(ctx, path, bytes.data, bytes.len, out);
    fc_str_free(&bytes);
    return s;
}

/* ---- what is in it --------------------------------------------------------------------------- */

int fusec_graph_input_count(const fusec_graph *g) {
    return g ? (int)g->ninputs : 0;
}

int fusec_graph_output_count(const fusec_graph *g) {
    return g ? (int)g->ir.outputs.len : 0;
}

/* The graph's input that is the i-th named one. */
static uint32_t named_input(const fusec_graph *g, int i) {
    for (uint32_t k = 0; g && i >= 0 && k < g->leaves.len && k < g->ir.inputs.len; k++)
        if (!g->leaves.at[k].bound && i-- == 0) return k;
    return UINT32_MAX;
}

const char *fusec_graph_input_name(const fusec_graph *g, int i) {
    const uint32_t k = named_input(g, i);
    return k == UINT32_MAX ? NULL : g->ir.inputs.at[k].name;
}

const char *fusec_graph_output_name(const fusec_graph *g, int i) {
    return g && i >= 0 && i < (int)g->ir.outputs.len ? g->ir.outputs.at[i].name : NULL;
}

static fusec_value none(fusec_graph *g, const char *what, int i) {
    if (!g) return fc_failed(FUSEC_INVALID);
    fc_fail(&g->ir.error, FUSEC_INVALID, "the graph has no %s %d", what, i);
    return fc_value(g, FC_NONODE);
}

fusec_value fusec_graph_input(fusec_graph *g, int i) {
    const uint32_t k = named_input(g, i);
    return k == UINT32_MAX ? none(g, "input", i) : fc_value(g, g->ir.inputs.at[k].node);
}

fusec_value fusec_graph_output(fusec_graph *g, int i) {
    if (!g || i < 0 || i >= (int)g->ir.outputs.len) return none(g, "output", i);
    return fc_value(g, g->ir.outputs.at[i].node);
}
