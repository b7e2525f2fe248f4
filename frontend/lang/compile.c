/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile.c - the entry of the checker: consts, and what is compiled.
 *
 * In: a request (compile.h). Out: the graph and its description. */
#include "frontend/lang/check_impl.h"

/* ---- consts ------------------------------------------------------------------------------------
 */

static void apply_defines(fc_checker *c) {
    for (size_t i = 0; i < c->rq->define_count; i++) {
        const fc_lang_define *def = &c->rq->defines[i];
        uint32_t k;
        if (fc_c_const(c, 0, def->name, &k)) continue;
        fc_diag *d = fc_diag_error(c->ds, FUSEC_UNKNOWN_NAME, NULL, (fc_range){0, 0},
                                   "-D %s: there is no const `%s`", def->name, def->name);
        fc_suggest s;
        fc_suggest_start(&s, def->name, strlen(def->name));
        fc_c_suggest_names(&s, &c->scopes.at[0].consts);
        fc_suggest_help(&s, d);
    }
}

/* Evaluates all consts, so that sizes in types can use them. */
static void read_consts(fc_checker *c) {
    for (uint32_t i = 0; i < c->consts.len && !c->stop; i++) {
        fc_const_entry *e = &c->consts.at[i];
        if (e->state == 2) continue;
        c->cur = e->item->value;
        fc_call *f = fc_c_push(c, e->scope, NULL);
        if (!f) return;
        f->phase = FC_PH_CONST;
        f->const_id = i;
        e->state = 1;
        fc_c_begin(c, f, e->item->value);
        fc_c_run(c);
    }
}

/* The consts that -D replaces come first: others may be made from them. */
static void read_defined_consts(fc_checker *c) {
    for (size_t k = 0; k < c->rq->define_count && !c->stop; k++) {
        uint32_t i;
        if (!fc_c_const(c, 0, c->rq->defines[k].name, &i)) continue;
        c->cur = c->consts.at[i].item->value;
        fc_call *f = fc_c_push(c, c->consts.at[i].scope, NULL);
        if (!f) return;
        f->phase = FC_PH_CONST;
        f->const_id = i;
        fc_c_finish_const(c, f, fc_v_number(&c->rq->defines[k].value));
    }
}

/* ---- entry ----------------------------------------------------------------------------------- */

bool fc_lang_is_typed(const fc_item *def) {
    for (const fc_param *p = def->params; p; p = p->next)
        if (!p->type) return false;
    return true;
}

static void list_defs(fc_diag *d, const fc_ast *program, bool exported) {
    for (const fc_item *it = program->items; it; it = it->next) {
        if (it->kind != FC_IT_DEF || (exported && !it->exported)) continue;
        fc_str s;
        fc_str_init(&s, program->src->alloc);
        fc_ast_quote(program, it->signature, &s);
        fc_diag_line(d, "%s:%s", program->src->name, s.data);
        fc_str_free(&s);
    }
}

const fc_item *fc_lang_find_def(const fc_ast *program, const char *def, fc_diags *ds) {
    const fc_item *found = NULL, *only = NULL;
    size_t exports = 0, defs = 0;
    const fc_range none = {0, 0};
    const char *file = program->src->name;
    for (const fc_item *it = program->items; it; it = it->next) {
        if (it->kind != FC_IT_DEF) continue;
        if (def && strcmp(it->name.text, def) == 0) return it;
        only = it;
        defs++;
        if (it->exported) found = it, exports++;
    }
    if (def) {
        fc_diag *d = fc_diag_error(ds, FUSEC_UNKNOWN_NAME, NULL, none,
                                   "there is no definition `%s` in %s", def, file);
        fc_suggest s;
        fc_suggest_start(&s, def, strlen(def));
        for (const fc_item *it = program->items; it; it = it->next)
            if (it->kind == FC_IT_DEF) fc_suggest_try(&s, it->name.text);
        if (s.count)
            fc_suggest_help(&s, d);
        else
            list_defs(d, program, false);
        return NULL;
    }
    if (exports == 1) return found;
    if (exports == 0 && defs == 1) return only;
    fc_diag *d = exports ? fc_diag_error(ds, FUSEC_USAGE, NULL, none,
                                         "%s has %zu export defs; say which one: %s:NAME", file,
                                         exports, file)
                 : defs  ? fc_diag_error(ds, FUSEC_USAGE, NULL, none,
                                         "%s has no export def; say which def: %s:NAME", file, file)
                         : fc_diag_error(ds, FUSEC_USAGE, NULL, none, "%s has no definition", file);
    list_defs(d, program, exports > 0);
    return NULL;
}

static void compile_def(fc_checker *c) {
    const fc_item *def = fc_lang_find_def(c->rq->program, c->rq->def, c->ds);
    if (!def) return;
    fc_def *entry = fc_c_def(c, 0, def->name.text);
    fc_call *f = entry ? fc_c_push(c, 0, def) : NULL;
    if (!f) return;
    f->top = true;
    c->out->item = def;
    c->out->name = fc_arena_strdup(&c->out->arena, def->name.text, def->name.len);
    c->out->mode = fc_c_float_mode(c, def);
    if (!c->out->name) fc_c_oom(c);
    f->input_of = fc_c_alloc(c, (def->param_count + 1) * sizeof *f->input_of);
    if (!f->input_of || !fc_c_check_signature(c, entry) || !fc_c_match_inputs(c, f)) {
        fc_c_drop(c);
        return;
    }
    fc_c_run(c);
}

static void compile_snippet(fc_checker *c) {
    c->input_used = fc_c_alloc(c, c->rq->input_count + 1);
    if (!c->input_used || !fc_c_snippet_inputs(c)) return;
    c->out->mode = c->rq->mode;
    fc_call *f = fc_c_push(c, 0, NULL);
    if (!f) return;
    f->ast = c->rq->snippet;
    f->top = true;
    f->phase = FC_PH_BODY;
    f->stmt = c->rq->snippet->stmts;
    fc_c_run(c);
    if (!c->ds->errors) fc_c_snippet_unused(c);
}

bool fc_lang_was_called(const fc_lang_program *p, const char *def) {
    for (uint32_t i = 0; i < p->called_count; i++)
        if (strcmp(p->called[i], def) == 0) return true;
    return false;
}

static void keep_called(fc_checker *c) {
    fc_lang_program *out = c->out;
    out->called = fc_arena_alloc(&out->arena, (c->defs.len + 1) * sizeof *out->called);
    if (!out->called) {
        fc_c_oom(c);
        return;
    }
    for (size_t i = 0; i < c->defs.len; i++) {
        const fc_def *d = &c->defs.at[i];
        if (d->scope != 0 || !d->called) continue;
        const char *name = fc_arena_strdup(&out->arena, d->item->name.text, d->item->name.len);
        if (name)
            out->called[out->called_count++] = name;
        else
            fc_c_oom(c);
    }
}

static void keep_params(fc_checker *c) {
    fc_lang_program *out = c->out;
    size_t n = c->params.len;
    out->params = fc_arena_alloc(&out->arena, (n + 1) * sizeof *out->params);
    if (!out->params) {
        fc_c_oom(c);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        fc_lang_param p = c->params.at[i];
        p.name = fc_arena_strdup(&out->arena, p.name, strlen(p.name));
        p.type = p.type ? fc_arena_strdup(&out->arena, p.type, strlen(p.type)) : "";
        if (!p.name || !p.type) fc_c_oom(c);
        out->params[i] = p;
    }
    out->param_count = (uint32_t)n;
}

fusec_status fc_lang_compile(const fc_lang_request *rq, fc_graph *g, fc_lang_program *out,
                             fc_diags *ds) {
    uint32_t before = ds->errors;
    fc_checker c = {.rq = rq, .alloc = g->alloc, .g = g, .ds = ds, .out = out};
    memset(out, 0, sizeof *out);
    fc_arena_init(&out->arena, g->alloc);
    fc_arena_init(&c.arena, g->alloc);
    g->default_float = rq->default_float;
    g->dims.written = true;
    fc_c_read_scopes(&c);
    if (!c.stop) fc_c_read_externs(&c);
    if (!c.stop) apply_defines(&c);
    if (!c.stop) read_defined_consts(&c);
    if (!c.stop) read_consts(&c);
    if (!c.stop && rq->snippet) compile_snippet(&c);
    if (!c.stop && !rq->snippet && rq->program) compile_def(&c);
    while (c.f) fc_c_drop(&c);
    keep_params(&c);
    keep_called(&c);
    if (g->dims.oom || g->error.code == FUSEC_OUT_OF_MEMORY) fc_c_oom(&c);
    fc_vec_free(c.alloc, &c.calls);
    fc_vec_free(c.alloc, &c.places);
    fc_vec_free(c.alloc, &c.draws);
    fc_c_free_scopes(&c);
    fc_vec_free(c.alloc, &c.params);
    fc_arena_free(&c.arena);
    if (ds->oom) return FUSEC_OUT_OF_MEMORY;
    /* what was reported for another definition of the file is not counted again */
    const bool lost = ds->errors && !g->outputs.len;
    return ds->errors == before && !lost ? FUSEC_OK : ds->first;
}

void fc_lang_program_free(fc_lang_program *p) {
    fc_arena_free(&p->arena);
    memset(p, 0, sizeof *p);
}
