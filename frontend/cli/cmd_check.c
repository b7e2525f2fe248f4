/* cmd_check.c - `fusec check`: types, shapes and warnings. Reads headers, compiles nothing.
 *
 * Without inputs a definition is shown as it was written, with the conditions on its sizes. With
 * inputs the sizes stand in place of their names; conditions that they decide are tested, and only
 * the others are shown. */
#include "frontend/cli/job.h"

/* ---- what is shown of one definition --------------------------------------------------------- */

static void condition_text(const fc_job *s, const fc_condition *x, fc_str *out) {
    fc_dim_print(&s->graph.dims, x->a, out);
    fc_str_add(out, x->kind == FC_CHECK_EQ ? " == " : " >= ");
    fc_dim_print(&s->graph.dims, x->b, out);
}

static void param_type(const fc_job *s, uint32_t i, fc_str *out) {
    const fc_lang_param *p = &s->lang.params[i];
    if (s->input_count && p->input != FC_LANG_NONE)
        fc_job_type(s, s->graph.inputs.at[p->input].node, out);
    else
        fc_str_add(out, p->type);
}

static void result_type(const fc_job *s, uint32_t i, fc_str *out) {
    if (s->input_count)
        fc_job_type(s, s->graph.outputs.at[i].node, out);
    else
        fc_str_add(out, s->lang.results[i].type);
}

static void show_text(const fc_job *s, fc_str *out) {
    if (s->lang.signature) {
        fc_job_title(s, out);
        fc_str_char(out, '\n');
    }
    for (uint32_t i = 0; !s->lang.signature && i < s->lang.param_count; i++) {
        fc_str_printf(out, "%s: ", s->lang.params[i].name);
        param_type(s, i, out);
        fc_str_char(out, '\n');
    }
    bool one = s->lang.result_count == 1;
    for (uint32_t i = 0; !s->lang.signature && i < s->lang.result_count; i++) {
        fc_str_printf(out, "%s%s: ", one ? "result" : "result ",
                      one ? "" : s->lang.results[i].name);
        result_type(s, i, out);
        fc_str_char(out, '\n');
    }
    for (size_t i = 0; i < s->graph.conditions.len; i++) {
        if (fc_job_decides(s, &s->graph.conditions.at[i])) continue;
        fc_str_add(out, "    needs ");
        condition_text(s, &s->graph.conditions.at[i], out);
        fc_str_char(out, '\n');
    }
}

static void json_field(fc_str *out, const char *before, const char *key, const char *text) {
    fc_str_printf(out, "%s\"%s\":", before, key);
    fc_json_text(out, text ? text : "");
}

static void json_params(const fc_job *s, fc_str *text, fc_str *out) {
    fc_str_add(out, ",\"params\":[");
    for (uint32_t i = 0; i < s->lang.param_count; i++) {
        const fc_lang_param *p = &s->lang.params[i];
        fc_str_clear(text);
        param_type(s, i, text);
        json_field(out, i ? ",{" : "{", "name", p->name);
        json_field(out, ",", "type", text->data);
        fc_str_printf(out, ",\"default\":%s}", p->has_default ? "true" : "false");
    }
    fc_str_add(out, "],\"results\":[");
    for (uint32_t i = 0; i < s->lang.result_count; i++) {
        fc_str_clear(text);
        result_type(s, i, text);
        json_field(out, i ? ",{" : "{", "name", s->lang.results[i].name);
        json_field(out, ",", "type", text->data);
        fc_str_char(out, '}');
    }
}

static void show_json(const fc_job *s, fc_str *out) {
    fc_str text;
    const fc_item *item = s->lang.item;
    fc_str_init(&text, s->alloc);
    if (s->lang.signature) fc_job_title(s, &text);
    json_field(out, "{", "name", fc_job_name(s));
    json_field(out, ",", "file", s->has_snippet ? "<expr>" : s->path);
    fc_str_printf(out, ",\"export\":%s", item && item->exported ? "true" : "false");
    json_field(out, ",", "signature", text.data);
    json_params(s, &text, out);
    fc_str_add(out, "],\"conditions\":[");
    for (size_t i = 0, n = 0; i < s->graph.conditions.len; i++) {
        if (fc_job_decides(s, &s->graph.conditions.at[i])) continue;
        fc_str_clear(&text);
        condition_text(s, &s->graph.conditions.at[i], &text);
        fc_str_add(out, n++ ? "," : "");
        fc_json_text(out, text.data);
    }
    fc_str_free(&text);
    fc_str_add(out, "]}");
}

/* ---- definitions ----------------------------------------------------------------------------- */

typedef struct checker {
    fc_cli *c;
    uint32_t shown;
} checker;

/* The same warning about a definition that two others call is said once. */
static void drop_repeated(fc_diags *ds, uint32_t from) {
    uint32_t keep = from;
    for (uint32_t i = from; i < ds->len; i++) {
        const fc_diag *d = ds->at[i];
        bool again = false;
        for (uint32_t k = 0; k < keep && !again; k++) {
            const fc_diag *x = ds->at[k];
            again = x->begin.line == d->begin.line && x->begin.col == d->begin.col &&
                    !strcmp(x->message, d->message) && !x->src == !d->src &&
                    (!x->src || !strcmp(x->src->name, d->src->name));
        }
        if (again && d->severity == FC_ERROR) ds->errors--;
        if (!again) ds->at[keep++] = ds->at[i];
    }
    ds->len = keep;
}

static fusec_status check_one(checker *k, const fc_job_request *rq, fc_error *e) {
    fc_job s;
    fc_str *out = &k->c->out;
    uint32_t before = k->c->ds.len;
    fusec_status st = fc_job_open(&s, k->c, rq, e);
    if (!st) st = fc_job_conditions(&s, e);
    if (!st && fc_cli_on(k->c, FC_FLAG_JSON)) {
        fc_str_add(out, k->shown ? "," : "");
        show_json(&s, out);
    } else if (!st) {
        show_text(&s, out);
    }
    k->shown++;
    fc_job_close(&s);
    drop_repeated(&k->c->ds, before);
    return st;
}

/* Every definition that can be checked by itself; one without types is checked where it is
 * called. */
static fusec_status check_file(checker *k, const char *path, fc_error *e) {
    const fc_source *src;
    fc_ast ast;
    FC_TRY(fc_cli_source_file(k->c, path, &src, e));
    fusec_status first = fc_parse_program(src, &k->c->ds, &ast);
    bool parsed = !first;
    for (const fc_item *d = parsed ? ast.items : NULL; d; d = d->next) {
        if (d->kind != FC_IT_DEF || !fc_lang_is_typed(d)) continue;
        fc_job_request rq = {.file = path, .def = d->name.text, .no_inputs = true};
        fusec_status s = check_one(k, &rq, e);
        if (!first) first = s;
        if (e->code) break;
    }
    fc_ast_free(&ast);
    return first;
}

static bool names_a_def(const char *word) {
    const char *colon = strrchr(word, ':');
    return colon && !strchr(colon, '/') && !strchr(colon, '.') && colon[1];
}

fusec_status fc_cmd_check(fc_cli *c, fc_error *e) {
    checker k = {.c = c};
    fusec_status first = FUSEC_OK;
    bool json = fc_cli_on(c, FC_FLAG_JSON);
    fc_job_request rq = fc_job_words(c, false);
    if (c->o.inputs.len && c->o.files.len > 1)
        return fc_fail(e, FUSEC_USAGE, "inputs are for one definition, and here are %zu files",
                       c->o.files.len);
    if (json) fc_str_add(&c->out, "{\"definitions\":[");
    if (rq.expr || !rq.file || c->o.inputs.len) first = check_one(&k, &rq, e);
    for (size_t i = 0; !rq.expr && !c->o.inputs.len && i < c->o.files.len && !e->code; i++) {
        fc_job_request one = {.file = c->o.files.at[i]};
        fusec_status s =
            names_a_def(one.file) ? check_one(&k, &one, e) : check_file(&k, c->o.files.at[i], e);
        if (!first) first = s;
    }
    if (json) fc_str_add(&c->out, "]}\n");
    return first;
}
