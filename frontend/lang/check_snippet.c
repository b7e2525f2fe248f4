/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_snippet.c - the inputs of a snippet: its free names. n, m, k and l that are not given are
 * the lengths of the axes of the first array that is. */
#include "frontend/lang/check_impl.h"

bool fc_c_snippet_inputs(fc_checker *c) {
    return !fc_c_inputs_twice(c);
}

bool fc_c_snippet_length(fc_checker *c, const fc_expr *name, fc_value *out) {
    static const char letters[] = "nmkl";
    const char *letter = name->len == 1 ? strchr(letters, name->text[0]) : NULL;
    const uint32_t axis = letter ? (uint32_t)(letter - letters) : 0;
    uint32_t k = 0;
    while (k < c->rq->input_count && c->rq->inputs[k].kind != FC_LANG_ARRAY &&
           c->rq->inputs[k].kind != FC_LANG_TYPE)
        k++;
    if (!letter || k == c->rq->input_count || c->rq->inputs[k].rank <= axis) return false;
    const fc_lang_input *in = &c->rq->inputs[k];
    if (!(in->names && in->names[axis]) && in->shape[axis] < 0) return false;
    *out = fc_v_dim(c, fc_c_input_size(c, in, axis));
    return true;
}

bool fc_c_snippet_input(fc_checker *c, fc_call *f, const fc_expr *name) {
    uint32_t k = 0;
    while (k < c->rq->input_count && strcmp(c->rq->inputs[k].name, name->text) != 0) k++;
    if (k == c->rq->input_count) return false;
    const fc_lang_input *in = &c->rq->inputs[k];
    fc_lang_param out = {
        .name = in->name, .src = f->ast->src, .at = name->at, .input = FC_LANG_NONE, .given = k};
    fc_value v = FC_UNKNOWN;
    fc_dim shape[FC_MAX_RANK];
    c->input_used[k] = true;
    if (in->kind == FC_LANG_SCALAR) {
        v = fc_v_number(&in->number);
        out.type = "number";
    } else if (in->kind == FC_LANG_NODE) {
        v = fc_v_node(in->node);
        out.type = fc_c_value_type(c, &v);
    } else if (in->rank > FC_MAX_RANK) {
        fc_c_error(c, FUSEC_LIMIT, name->at, "%s has more than %d axes", in->name, FC_MAX_RANK);
    } else {
        for (uint32_t a = 0; a < in->rank; a++) shape[a] = fc_c_input_size(c, in, a);
        out.dtype = in->has_dtype ? in->dtype : c->g->default_float;
        out.rank = in->rank;
        v = fc_v_node(fc_c_built(c, fc_build_input(c->g, in->name, out.dtype, in->rank, shape)));
        out.input = v.kind == FC_V_UNKNOWN ? FC_LANG_NONE : (uint32_t)c->g->inputs.len - 1;
        if (v.kind != FC_V_UNKNOWN) out.type = fc_c_value_type(c, &v);
    }
    if (!fc_push(c->alloc, &c->params, out)) fc_c_oom(c);
    fc_c_bind(c, (fc_binding){.name = in->name,
                              .value = v,
                              .at = name->at,
                              .origin = fc_c_input_origin(c, k),
                              .quiet = true});
    return true;
}

static void suggest_inputs(fc_checker *c, fc_suggest *s) {
    for (size_t i = 0; i < c->rq->input_count; i++) fc_suggest_try(s, c->rq->inputs[i].name);
}

void fc_c_snippet_missing(fc_checker *c, fc_call *f, const fc_expr *name) {
    for (uint32_t i = 0; i < c->ds->len; i++) { /* one message for each name */
        const fc_diag_part *l = c->ds->at[i]->labels.first;
        if (c->ds->at[i]->code != FUSEC_MISSING_INPUT || !l) continue;
        if (l->at.end - l->at.begin == name->len &&
            memcmp(f->ast->src->text + l->at.begin, name->text, name->len) == 0)
            return;
    }
    fc_diag *d = fc_c_input_error(
        c, FUSEC_MISSING_INPUT,
        fc_c_text(c, "the expression needs `%s`, which was not given", name->text));
    fc_diag_label(d, f->ast->src, name->at, "used here");
    fc_str s;
    fc_str_init(&s, c->alloc);
    for (size_t i = 0; i < c->rq->input_count; i++)
        fc_str_printf(&s, "%s%s", i ? ", " : "", c->rq->inputs[i].name);
    fc_diag_line(d, "given: %s", s.len ? s.data : "nothing");
    fc_c_str_free(c, &s);
    fc_suggest g;
    fc_suggest_start(&g, name->text, name->len);
    suggest_inputs(c, &g);
    for (size_t i = 0; i < f->names.len; i++)
        if (fc_c_find(f, f->names.at[i].name)) fc_suggest_try(&g, f->names.at[i].name);
    fc_c_suggest_names(&g, &c->scopes.at[f->scope].consts);
    if (g.count)
        fc_suggest_help(&g, d);
    else
        fc_diag_help(d, "%s%s%s=FILE.npy", c->rq->command ? c->rq->command : "",
                     c->rq->command ? " " : "", name->text);
}

void fc_c_snippet_unused(fc_checker *c) {
    for (size_t i = 0; i < c->rq->input_count; i++)
        if (!c->input_used[i] && !c->rq->inputs[i].may_be_unused)
            fc_c_input_error(
                c, FUSEC_UNKNOWN_INPUT,
                fc_c_text(c, "the expression does not use `%s`", c->rq->inputs[i].name));
}
