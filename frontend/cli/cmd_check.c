/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cmd_check.c - `fusec check`: types, shapes and warnings. Reads headers, compiles nothing.
 *
 * Without inputs a definition is shown as it was written, with the conditions on its sizes, and is
 * checked with every dtype that a dtype variable can stand for. A parameter without a type is a
 * value that nothing is known of. With inputs the sizes stand in place of their names; conditions
 * that they decide are tested, and only the others are shown. */
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

/* The dtypes of a definition's one dtype variable with which it compiles. */
typedef struct letter {
    char name;     /* 0: there is none, or several */
    uint32_t good; /* bit set of dtypes */
} letter;

#define ALL_DTYPES ((1u << FC_DTYPE_ALL) - 1)

static uint32_t dtypes_that(bool (*test)(fusec_dtype)) {
    uint32_t set = 0;
    for (int t = 0; t < FC_DTYPE_ALL; t++) set |= (uint32_t)test((fusec_dtype)t) << t;
    return set;
}

/* "    needs T to be a float" */
static void letter_text(const letter *l, fc_str *out) {
    const uint32_t f = dtypes_that(fc_is_float), i = dtypes_that(fc_is_int);
    const uint32_t b = 1u << FUSEC_BOOL, z = dtypes_that(fc_is_complex);
    const struct {
        uint32_t set;
        const char *text;
    } names[] = {{f, "a float"},
                 {i, "an integer"},
                 {i | b, "an integer or bool"},
                 {f | i, "an integer or a float"},
                 {f | z, "a float or complex"},
                 {z, "complex"},
                 {f | i | z, "a number"},
                 {f | i | b, "an integer, a float or bool"}};
    if (!l->name || l->good == ALL_DTYPES) return;
    fc_str_printf(out, "    needs %c to be ", l->name);
    size_t k = 0;
    while (k < FC_COUNT(names) && names[k].set != l->good) k++;
    if (k < FC_COUNT(names)) {
        fc_str_add(out, names[k].text);
    } else {
        uint32_t left = l->good;
        for (int t = 0; t < FC_DTYPE_ALL; t++) {
            if (!(left >> t & 1)) continue;
            left &= ~(1u << t);
            fc_str_printf(out, "%s%s", fc_dtypes[t].name,
                          !left               ? ""
                          : left & (left - 1) ? ", "
                                              : " or ");
        }
    }
    fc_str_char(out, '\n');
}

static void letter_json(const letter *l, fc_str *out) {
    if (!l->name) return;
    fc_str_printf(out, ",\"dtypes\":{\"%c\":[", l->name);
    for (int t = 0, n = 0; t < FC_DTYPE_ALL; t++)
        if (l->good >> t & 1) fc_str_printf(out, "%s\"%s\"", n++ ? "," : "", fc_dtypes[t].name);
    fc_str_add(out, "]}");
}

static void show_text(const fc_job *s, const letter *l, fc_str *out) {
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
    letter_text(l, out);
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

static void show_json(const fc_job *s, const letter *l, fc_str *out) {
    fc_str text;
    const fc_item *item = s->lang.item;
    fc_str_init(&text, s->alloc);
    if (s->lang.signature) fc_job_title(s, &text);
    json_field(out, "{", "name", fc_job_name(s));
    json_field(out, ",", "file", s->has_snippet ? "<expr>" : s->path);
    fc_str_printf(out, ",\"export\":%s", item && item->exported ? "true" : "false");
    json_field(out, ",", "signature", text.data);
    json_params(s, &text, out);
    fc_str_char(out, ']');
    letter_json(l, out);
    fc_str_add(out, ",\"conditions\":[");
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
    const fc_ast *file;
    bool *called; /* of the file's items, in order */
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

/* ---- dtype variables ------------------------------------------------------------------------- */

/* Whether the request compiles with every dtype variable as `t`; says nothing. */
static bool compiles(fc_cli *c, fc_job_request rq, fusec_dtype t) {
    fc_job s;
    fc_error e = {0};
    fc_lang_dtype list[26];
    fc_diags shown = c->ds;
    fc_job_all_letters(list, t);
    rq.dtypes = list;
    rq.dtype_count = FC_COUNT(list);
    fc_diags_init(&c->ds, c->alloc);
    bool good = !fc_job_open(&s, c, &rq, &e);
    fc_job_close(&s);
    bool oom = c->ds.oom || e.code == FUSEC_OUT_OF_MEMORY;
    fc_diags_free(&c->ds);
    c->ds = shown;
    if (oom) fc_diag_oom(&c->ds);
    return good;
}

/* Opens the job with the default float for dtype variables, or else with another dtype that
 * compiles; `l` says which do. */
static fusec_status open_job(checker *k, const fc_job_request *rq, fc_job *s, letter *l,
                             fc_error *e) {
    fc_cli *c = k->c;
    fc_lang_dtype list[26];
    uint32_t len = c->ds.len, errors = c->ds.errors, dropped = c->ds.dropped, good = 0;
    fusec_status before = c->ds.first, st = fc_job_open(s, c, rq, e);
    const uint32_t letters = fc_job_letters(s->lang.item);
    if (!letters || s->input_count || e->code) return st;
    for (int t = 0; t < FC_DTYPE_ALL; t++) good |= (uint32_t)compiles(c, *rq, (fusec_dtype)t) << t;
    if (c->ds.oom) return FUSEC_OUT_OF_MEMORY;
    if (!(letters & (letters - 1))) l->name = (char)('A' + __builtin_ctz(letters));
    l->good = good;
    if (!st || !good) return st;
    c->ds.len = len, c->ds.errors = errors, c->ds.dropped = dropped, c->ds.first = before;
    fc_job_close(s);
    fc_job_request other = *rq;
    fc_job_all_letters(list, (fusec_dtype)__builtin_ctz(good));
    other.dtypes = list;
    other.dtype_count = FC_COUNT(list);
    return fc_job_open(s, c, &other, e);
}

/* ---- the command ----------------------------------------------------------------------------- */

static fusec_status check_one(checker *k, const fc_job_request *rq, fc_error *e) {
    fc_job s;
    letter l = {0};
    fc_str *out = &k->c->out;
    uint32_t before = k->c->ds.len;
    fusec_status st = open_job(k, rq, &s, &l, e);
    if (!st) st = fc_job_conditions(&s, e);
    if (!st && fc_cli_on(k->c, FC_FLAG_JSON)) {
        fc_str_add(out, k->shown ? "," : "");
        show_json(&s, &l, out);
    } else if (!st) {
        show_text(&s, &l, out);
    }
    k->shown++;
    uint32_t i = 0;
    for (const fc_item *d = k->file ? k->file->items : NULL; d; d = d->next, i++)
        if (d->kind == FC_IT_DEF) k->called[i] |= fc_lang_was_called(&s.lang, d->name.text);
    fc_job_close(&s);
    drop_repeated(&k->c->ds, before);
    return st;
}

/* Those that have types first, in the order of the file, then those that nothing has called. */
static fusec_status check_defs(checker *k, const char *path, fc_error *e) {
    fusec_status first = FUSEC_OK;
    for (int typed = 1; typed >= 0; typed--) {
        uint32_t i = 0;
        for (const fc_item *d = k->file->items; d && !e->code; d = d->next, i++) {
            if (d->kind != FC_IT_DEF || fc_lang_is_typed(d) != typed) continue;
            if (!typed && k->called[i]) continue;
            fc_job_request rq = {
                .file = path, .def = d->name.text, .no_inputs = true, .check = true};
            fusec_status s = check_one(k, &rq, e);
            if (!first) first = s;
        }
    }
    return first;
}

/* Every definition of a file. */
static fusec_status check_file(checker *k, const char *path, fc_error *e) {
    const fc_source *src;
    fc_ast ast;
    fc_modules modules = {0};
    FC_TRY(fc_files_read(&k->c->files, path, &src, e));
    fusec_status first = fc_parse_program(src, &k->c->ds, &ast);
    if (!first) first = fc_files_modules(&k->c->files, &ast, &k->c->ds, &modules);
    fc_modules_free(&modules);
    uint32_t items = 1;
    for (const fc_item *d = ast.items; d; d = d->next) items++;
    k->called = fc_calloc(k->c->alloc, items, sizeof *k->called);
    if (!k->called) first = fc_oom(e);
    k->file = &ast;
    if (!first) first = check_defs(k, path, e);
    k->file = NULL;
    fc_free(k->c->alloc, k->called);
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
    rq.check = true;
    if (c->o.inputs.len && c->o.files.len > 1)
        return fc_fail(e, FUSEC_USAGE, "inputs are for one definition, and here are %zu files",
                       c->o.files.len);
    if (json) fc_str_add(&c->out, "{\"definitions\":[");
    if (rq.expr || !rq.file || c->o.inputs.len) first = check_one(&k, &rq, e);
    for (size_t i = 0; !rq.expr && !c->o.inputs.len && i < c->o.files.len && !e->code; i++) {
        fc_job_request one = {.file = c->o.files.at[i], .check = true};
        fusec_status s =
            names_a_def(one.file) ? check_one(&k, &one, e) : check_file(&k, c->o.files.at[i], e);
        if (!first) first = s;
    }
    if (json) fc_str_add(&c->out, "]}\n");
    return first;
}
