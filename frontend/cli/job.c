/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* job.c - texts, inputs as they are written, and the graph. See job.h. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/job.h"

#include "frontend/cli/externs.h"

#include <unistd.h>

/* ---- texts ----------------------------------------------------------------------------------- */

static bool is_name(const char *p) {
    bool ok = *p && !(*p >= '0' && *p <= '9');
    for (; *p; p++)
        ok = ok && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                    (*p >= '0' && *p <= '9') || *p == '_');
    return ok;
}

/* FILE[:DEF]; a file that has the whole word as its name is that file. */
static fusec_status split_def(fc_job *s, const char *word, fc_error *e) {
    const char *colon = strrchr(word, ':');
    size_t n = colon && is_name(colon + 1) && access(word, F_OK) != 0 ? (size_t)(colon - word)
                                                                      : strlen(word);
    s->path = fc_arena_strdup(&s->arena, word, n);
    if (!s->def && word[n]) s->def = word + n + 1;
    return s->path ? FUSEC_OK : fc_oom(e);
}

static fusec_status read_texts(fc_job *s, const fc_job_request *rq, fc_error *e) {
    fc_cli *c = s->cli;
    const fc_source *src;
    s->def = rq->def;
    if (rq->file) {
        if (rq->expr)
            s->path = rq->file;
        else
            FC_TRY(split_def(s, rq->file, e));
        FC_TRY(fc_files_read(&c->files, s->path, &src, e));
        s->has_program = true;
        FC_TRY(fc_parse_program(src, &c->ds, &s->program));
        FC_TRY(fc_files_modules(&c->files, &s->program, &c->ds, &s->modules));
    }
    if (rq->expr) {
        FC_TRY(fc_files_add(&c->files, "<expr>", rq->expr, strlen(rq->expr), &src, e));
        s->has_snippet = true;
        FC_TRY(fc_parse_snippet(src, &c->ds, &s->snippet));
    }
    return FUSEC_OK;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static const fc_param *find_param(const fc_item *def, const char *name, size_t len) {
    for (const fc_param *p = def ? def->params : NULL; p; p = p->next)
        if (p->name.len == len && !memcmp(p->name.text, name, len)) return p;
    return NULL;
}

static bool snippet_has_name(const fc_job *s, const char *name, size_t len) {
    for (size_t i = 0; i < s->snippet.exprs.len; i++) {
        const fc_expr *x = s->snippet.exprs.at[i];
        if (x->kind == FC_EX_NAME && x->len == len && !memcmp(x->text, name, len)) return true;
    }
    return false;
}

/* A number given for a name that is only the size of made-up inputs: the program never sees it. */
static bool is_only_a_size(const fc_job *s, const fc_item *def, const fc_cli_input *in) {
    if (in->kind != FC_INPUT_SCALAR || in->scalar.kind != FC_WEAK_INT) return false;
    if (s->has_snippet ? snippet_has_name(s, in->name, in->name_len)
                       : find_param(def, in->name, in->name_len) != NULL)
        return false;
    for (size_t i = 0; i < s->input_count; i++)
        for (int k = 0; k < s->inputs[i].rank; k++) {
            const fc_input_dim *d = &s->inputs[i].dims[k];
            if (d->name && d->name_len == in->name_len && !memcmp(d->name, in->name, d->name_len))
                return true;
        }
    return false;
}

/* x=rand: sizes, where none are written, are those of the declaration. */
static fusec_status take_declared_sizes(fc_cli_input *in, const fc_param *p, fc_error *e) {
    if (in->kind != FC_INPUT_MADE || in->rank || !p || !p->type) return FUSEC_OK;
    for (const fc_expr *d = p->type->dims; d; d = d->next) {
        fc_input_dim *to = &in->dims[in->rank];
        bool known = d->kind == FC_EX_NAME || (d->kind == FC_EX_NUMBER && !d->real && !d->huge);
        if (!known || in->rank == FC_IO_RANK)
            return fc_fail(e, FUSEC_USAGE,
                           "%.*s=%s gives no sizes, and the declared ones are not plain names\n"
                           "  help: %.*s=%s:1000x64",
                           (int)in->name_len, in->name, in->value, (int)in->name_len, in->name,
                           in->value);
        *to = (fc_input_dim){0};
        if (d->kind == FC_EX_NAME) {
            to->name = d->text;
            to->name_len = d->len;
        } else {
            to->size = (int64_t)d->number.i;
        }
        in->rank++;
    }
    return FUSEC_OK;
}

/* A size by name that the command line gives as a number: n=1000. */
static int64_t size_by_number(const fc_job *s, const fc_input_dim *d) {
    if (!d->name) return d->size;
    for (size_t i = 0; i < s->input_count; i++) {
        const fc_cli_input *in = &s->inputs[i];
        if (in->kind == FC_INPUT_SCALAR && in->scalar.kind == FC_WEAK_INT && !in->scalar.negative &&
            in->name_len == d->name_len && !memcmp(in->name, d->name, d->name_len) &&
            in->scalar.magnitude <= INT64_MAX)
            return (int64_t)in->scalar.magnitude;
    }
    return FC_LANG_ANY_SIZE;
}

static fc_lang_number number_of(const fc_weak *w) {
    static const fc_lang_numkind kinds[] = {FC_LANG_BOOL, FC_LANG_INT, FC_LANG_FLOAT};
    return (fc_lang_number){kinds[w->kind], w->negative, w->magnitude, w->number};
}

static fusec_dtype default_float(const fc_cli *c) {
    const char *text = c->o.text[FC_FLAG_DEFAULT_FLOAT];
    return text && !strcmp(text, "f64") ? FUSEC_F64 : FUSEC_F32;
}

/* The length of the first axis of the largest file, for several devices of made-up arrays, too; -1:
 * there is none. */
static int64_t longest_axis(const fc_job *s) {
    const bool made = s->cli->o.text[FC_FLAG_DEVICES];
    int64_t most = 0, size = -1;
    for (size_t i = 0; i < s->input_count; i++) {
        const fc_cli_input *in = &s->inputs[i];
        int64_t bytes = in->has_dtype ? (int64_t)fc_dtypes[in->dtype].bytes : 0;
        if (in->kind != FC_INPUT_NPY && in->kind != FC_INPUT_STORE && in->kind != FC_INPUT_RAW &&
            in->kind != FC_INPUT_STDIN && in->kind != FC_INPUT_TYPE &&
            !(in->kind == FC_INPUT_MADE && made))
            continue;
        for (int k = 0; k < in->rank; k++) bytes = fc_mul_most(bytes, in->dims[k].size);
        if (in->rank && !in->dims[0].name && bytes > most) most = bytes, size = in->dims[0].size;
    }
    return size;
}

/* The names of an input's sizes where the program is cut: the first of its axes that is as long as
 * the one that is cut. */
static fusec_status name_cut(fc_job *s, fc_lang_input *g, fc_error *e) {
    const int64_t size = longest_axis(s);
    const char **names = fc_arena_alloc(&s->arena, FC_IO_RANK * sizeof *names);
    if (!names) return fc_oom(e);
    memset(names, 0, FC_IO_RANK * sizeof *names);
    for (uint32_t k = 0; k < g->rank && size > 1; k++) {
        if (g->shape[k] != size) continue;
        names[k] = "n";
        break;
    }
    g->names = names;
    return FUSEC_OK;
}

/* What the checker is told about one input. */
static fusec_status describe(fc_job *s, const fc_cli_input *in, bool cut, fc_lang_input *g,
                             fc_error *e) {
    char shown[256];
    int64_t *shape = fc_arena_alloc(&s->arena, FC_IO_RANK * sizeof *shape);
    g->name = fc_arena_strdup(&s->arena, in->name, in->name_len);
    if (!g->name || !shape) return fc_oom(e);
    g->shape = shape;
    if (in->kind == FC_INPUT_SCALAR) {
        g->kind = FC_LANG_SCALAR;
        g->number = number_of(&in->scalar);
        return FUSEC_OK;
    }
    g->kind = in->kind == FC_INPUT_TYPE ? FC_LANG_TYPE : FC_LANG_ARRAY;
    g->has_dtype = in->has_dtype;
    g->dtype = in->dtype;
    if (!g->has_dtype && s->has_snippet) {
        g->has_dtype = true;
        g->dtype = default_float(s->cli);
    }
    g->rank = (uint32_t)in->rank;
    for (int k = 0; k < in->rank; k++) shape[k] = size_by_number(s, &in->dims[k]);
    fc_input_shown(in, shown, sizeof shown);
    g->origin = fc_arena_strdup(&s->arena, shown, strlen(shown));
    if (!g->origin) return fc_oom(e);
    return cut ? name_cut(s, g, e) : FUSEC_OK;
}

static fusec_status open_inputs(fc_job *s, bool cut, fc_error *e) {
    const fc_options *o = &s->cli->o;
    const fc_item *def = NULL;
    s->inputs = fc_arena_alloc(&s->arena, (o->inputs.len + 1) * sizeof *s->inputs);
    s->given = fc_arena_alloc(&s->arena, (o->inputs.len + 1) * sizeof *s->given);
    s->given_from = fc_arena_alloc(&s->arena, (o->inputs.len + 1) * sizeof *s->given_from);
    if (!s->inputs || !s->given || !s->given_from) return fc_oom(e);
    if (!s->has_snippet) {
        def = fc_lang_find_def(&s->program, s->def, &s->cli->ds);
        if (!def) return s->cli->ds.first;
    }
    for (size_t i = 0; i < o->inputs.len; i++) {
        fc_cli_input *in = &s->inputs[s->input_count++];
        FC_TRY(fc_input_parse(in, o->inputs.at[i], s->alloc, e));
        FC_TRY(take_declared_sizes(in, find_param(def, in->name, in->name_len), e));
        FC_TRY(fc_input_open(in, e));
    }
    for (size_t i = 0; i < s->input_count; i++) {
        if (is_only_a_size(s, def, &s->inputs[i])) continue;
        s->given_from[s->given_count] = (uint32_t)i;
        FC_TRY(describe(s, &s->inputs[i], cut, &s->given[s->given_count++], e));
    }
    return FUSEC_OK;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static fusec_status read_defines(fc_job *s, fc_lang_request *rq, fc_error *e) {
    const fc_options *o = &s->cli->o;
    fc_lang_define *list = fc_arena_alloc(&s->arena, (o->many.len + 1) * sizeof *list);
    if (!list) return fc_oom(e);
    rq->defines = list;
    for (size_t i = 0; i < o->many.len; i++) {
        const char *word = o->many.at[i].text;
        size_t n;
        fc_weak w;
        if (o->many.at[i].flag != FC_FLAG_DEFINE || !fc_is_assignment(word, &n)) continue;
        if (!fc_weak_parse(word + n + 1, &w))
            return fc_fail(e, FUSEC_USAGE, "-D %.100s: the value is not a number, true or false",
                           word);
        fc_lang_define *d = &list[rq->define_count++];
        d->name = fc_arena_strdup(&s->arena, word, n);
        d->value = number_of(&w);
        if (!d->name) return fc_oom(e);
    }
    return FUSEC_OK;
}

/* The command as it was given, for help lines. */
static const char *command_text(fc_job *s, const fc_job_request *rq) {
    const fc_options *o = &s->cli->o;
    fc_str t;
    fc_str_init(&t, s->alloc);
    fc_str_printf(&t, "fusec %s", fc_commands[o->command].name);
    if (rq->expr) {
        fc_str_clear(&t);
        if (o->command == FC_CMD_RUN)
            fc_str_printf(&t, "fusec -e '%s'", rq->expr);
        else
            fc_str_printf(&t, "fusec %s -e '%s'", fc_commands[o->command].name, rq->expr);
    } else if (rq->file) {
        fc_str_printf(&t, " %s", rq->file);
    }
    for (size_t i = 0; i < o->inputs.len; i++) fc_str_printf(&t, " %s", o->inputs.at[i]);
    const char *text = t.oom ? NULL : fc_arena_strdup(&s->arena, t.data, t.len);
    fc_str_free(&t);
    return text;
}

static fusec_status compile(fc_job *s, const fc_job_request *rq, fc_error *e) {
    fc_cli *c = s->cli;
    fc_lang_request q = {
        .program = s->has_program ? &s->program : NULL,
        .snippet = s->has_snippet ? &s->snippet : NULL,
        .def = s->def,
        .inputs = s->given,
        .input_count = s->given_count,
        .dtypes = rq->dtypes,
        .dtype_count = rq->dtype_count,
        .complete = rq->complete,
        .check = rq->check,
        .cast = fc_cli_on(c, FC_FLAG_CAST),
        .default_float = default_float(c),
        .mode = c->config.mode,
    };
    fc_extern_source externs;
    FC_TRY(fc_cli_externs_open(c, &externs, e));
    q.externs = &externs;
    FC_TRY(read_defines(s, &q, e));
    q.command = command_text(s, rq);
    fc_graph_init(&s->graph, s->alloc, &c->config.limits);
    s->graph.default_float = q.default_float;
    s->has_graph = true;
    return fc_lang_compile(&q, &s->graph, &s->lang, &c->ds);
}

fc_job_request fc_job_words(const fc_cli *c, bool complete) {
    bool expr = fc_cli_on(c, FC_FLAG_EXPR);
    return (fc_job_request){
        .file = expr             ? c->o.text[FC_FLAG_FILE]
                : c->o.files.len ? c->o.files.at[0]
                                 : NULL,
        .expr = expr ? c->o.text[FC_FLAG_EXPR] : NULL,
        .complete = complete,
    };
}

uint32_t fc_job_letters(const fc_item *def) {
    uint32_t set = 0;
    for (const fc_param *p = def ? def->params : NULL; p; p = p->next) {
        const char *n = p->type ? p->type->name.text : "";
        if (*n >= 'A' && *n <= 'Z' && !n[1]) set |= 1u << (*n - 'A');
    }
    return set;
}

void fc_job_all_letters(fc_lang_dtype list[26], fusec_dtype t) {
    for (int i = 0; i < 26; i++) list[i] = (fc_lang_dtype){(char)('A' + i), t};
}

fusec_status fc_job_open(fc_job *s, fc_cli *c, const fc_job_request *rq, fc_error *e) {
    memset(s, 0, sizeof *s);
    s->cli = c;
    s->alloc = c->alloc;
    fc_arena_init(&s->arena, c->alloc);
    if (!rq->file && !rq->expr)
        return fc_fail(e, FUSEC_USAGE,
                       "there is no program\n"
                       "  help: fusec %s FILE, or fusec %s -e 'x*2' x=a.npy",
                       fc_commands[c->o.command].name, fc_commands[c->o.command].name);
    FC_TRY(read_texts(s, rq, e));
    if (!rq->no_inputs) FC_TRY(open_inputs(s, rq->cut, e));
    FC_TRY(compile(s, rq, e));
    return fc_job_sizes(s, rq->complete, e);
}

void fc_job_close(fc_job *s) {
    for (size_t i = 0; i < s->input_count; i++) fc_input_close(&s->inputs[i]);
    for (size_t i = 0; i < s->blocks.len; i++) fc_free(s->alloc, s->blocks.at[i]);
    fc_vec_free(s->alloc, &s->blocks);
    fusec_context_free(s->api);
    if (s->has_graph) {
        fc_lang_program_free(&s->lang);
        fc_graph_free(&s->graph);
    }
    fc_modules_free(&s->modules);
    if (s->has_program) fc_ast_free(&s->program);
    if (s->has_snippet) fc_ast_free(&s->snippet);
    fc_arena_free(&s->arena);
}

/* ---- devices and plans ----------------------------------------------------------------------- */

fusec_status fc_job_context(fc_job *s, fc_error *e) {
    if (s->ctx) return FUSEC_OK;
    FC_TRY(fc_context_over(&s->cli->config, &s->api, e));
    s->ctx = s->api->runtime;
    return FUSEC_OK;
}

/* "there is no CUDA driver (...)", said of a device that was asked for by name. */
static fusec_status absent(const fc_job *s, const char *name, bool vs, const fc_error *why,
                           fc_error *e) {
    bool flag = fc_cli_on(s->cli, FC_FLAG_DEVICE);
    if (vs)
        return fc_fail(e, why->code,
                       "--%s %s, but %.600s\n  help: fusec devices lists what was looked for",
                       s->cli->o.text[FC_FLAG_DEVICES] ? "devices" : "vs", name, why->message);
    return fc_fail(e, why->code,
                   "%s%s, but %.600s\n"
                   "  help: leave %s out to use the CPU when there is no GPU; fusec devices lists "
                   "what was looked for",
                   flag ? "--device " : "FUSEC_DEVICE=", name, why->message,
                   flag ? "--device" : "FUSEC_DEVICE");
}

/* A folder that was asked for by name and can't be used. */
static void note_cache(fc_job *s) {
    const char *asked = s->cli->config.cache_dir;
    const char *why = asked && *asked ? fc_diskcache_why(fc_context_disk(s->ctx)) : NULL;
    if (!why || s->noticed_cache) return;
    s->noticed_cache = true;
    fc_cli_note(s->cli, "io", "kernels are not kept on disk: FUSEC_CACHE_DIR: %s", why);
}

fusec_status fc_job_device(fc_job *s, const char *name, fc_device **out, fc_error *e) {
    FC_TRY(fc_job_context(s, e));
    bool asked = name != NULL;
    fc_error own = {0};
    fc_str notice;
    if (!name) name = s->cli->config.device;
    bool named = name && *name && strcmp(name, "auto") != 0;
    fc_str_init(&notice, s->alloc);
    fusec_status st = fc_context_device(s->ctx, name, out, &notice, &own);
    if (!st && notice.len && !s->noticed) {
        s->noticed = true;
        const char *text = notice.data;
        if (!strncmp(text, "there is ", 9)) text += 9;
        fc_cli_note(s->cli, "no-gpu", "%s", text);
    }
    fc_str_free(&notice);
    if (!st) note_cache(s);
    if (st == FUSEC_NO_GPU && named) return absent(s, name, asked, &own, e);
    return st ? fc_fail(e, st, "%s", own.message) : FUSEC_OK;
}

fusec_status fc_job_program(fc_job *s, fc_device *d, bool unfused, fusec_program **out,
                            fc_error *e) {
    fc_program_options o = {
        .device = d, .mode = s->lang.mode, .unfused = unfused, .name = fc_job_name(s)};
    if (fc_cli_on(s->cli, FC_FLAG_MAX_ROUNDS))
        o.max_rounds = (uint64_t)s->cli->o.number[FC_FLAG_MAX_ROUNDS];
    return fc_new_program(s->api, &s->graph, &o, out, e);
}

fusec_status fc_job_failed(fusec_status s, fc_error *e) {
    return s ? fc_fail(e, s, "%s", fusec_message(NULL)) : FUSEC_OK;
}

/* A size that the command line says and an array has, too. */
static fusec_status check_size(const fc_job *s, const fc_dim_value *v, fc_error *e) {
    const fc_graph *g = &s->graph;
    uint32_t sym;
    for (uint32_t i = 0; i < s->nin; i++)
        for (uint32_t k = 0; k < s->in[i].rank; k++)
            if (fc_dim_is_sym(&g->dims, fc_axis(g, g->inputs.at[i].node, k), &sym) &&
                sym == v->sym && s->in[i].shape[k] != v->value)
                return fc_fail(e, FUSEC_INPUT_SHAPE, "%s is %lld in the call but %lld in %s",
                               g->dims.syms.at[sym].name, (long long)v->value,
                               (long long)s->in[i].shape[k], g->inputs.at[i].name);
    return FUSEC_OK;
}

static fusec_status tensors(fc_job *s, const fc_tensor *from, uint32_t n, uint32_t room,
                            fusec_tensor **out, fc_error *e) {
    *out = fc_arena_alloc(&s->arena, (room + 1) * sizeof **out);
    if (!*out) return fc_oom(e);
    for (uint32_t i = 0; i < n; i++)
        (*out)[i] = (fusec_tensor){.data = from[i].data,
                                   .shape = from[i].shape,
                                   .rank = (int32_t)from[i].rank,
                                   .dtype = from[i].dtype};
    return FUSEC_OK;
}

fusec_status fc_job_inputs(fc_job *s, const fusec_program *p, fusec_tensor **in, fc_error *e) {
    const uint32_t n = (uint32_t)fusec_input_count(p);
    FC_TRY(tensors(s, s->in, s->nin, n, in, e));
    for (uint32_t k = 0; k < s->ndims; k++) {
        const char *name = s->graph.dims.syms.at[s->dims[k].sym].name;
        for (uint32_t i = s->nin; i < n; i++)
            if (!strcmp(fusec_input_name(p, (int)i), name))
                (*in)[i] = (fusec_tensor){.data = &s->dims[k].value, .dtype = FUSEC_I64};
        FC_TRY(check_size(s, &s->dims[k], e));
    }
    return FUSEC_OK;
}

fusec_status fc_job_outputs(fc_job *s, fusec_tensor **out, fc_error *e) {
    return tensors(s, s->out, s->nout, s->nout, out, e);
}

const char *fc_job_name(const fc_job *s) {
    return s->lang.name ? s->lang.name : "expr";
}

const fc_lang_param *fc_job_param(const fc_job *s, uint32_t input) {
    for (uint32_t i = 0; i < s->lang.param_count; i++)
        if (s->lang.params[i].input == input) return &s->lang.params[i];
    return NULL;
}

void fc_job_type(const fc_job *s, fc_node n, fc_str *out) {
    const fc_graph *g = &s->graph;
    fc_str_add(out, fc_dtypes[fc_at(g, n)->dtype].name);
    for (uint32_t k = 0; k < fc_rank(g, n); k++) {
        fc_dim d = fc_axis(g, n, k);
        fc_str_add(out, k ? ", " : "[");
        if (s->known[d])
            fc_str_printf(out, "%lld", (long long)s->values[d]);
        else
            fc_dim_print(&g->dims, d, out);
    }
    if (fc_rank(g, n)) fc_str_char(out, ']');
}

void fc_job_title(const fc_job *s, fc_str *out) {
    const fc_graph *g = &s->graph;
    if (s->lang.signature && !s->input_count) {
        fc_str_add(out, s->lang.signature);
        return;
    }
    fc_str_printf(out, "%s(", fc_job_name(s));
    for (uint32_t i = 0, n = 0; i < s->lang.param_count; i++) {
        const fc_lang_param *p = &s->lang.params[i];
        if (p->input == FC_LANG_NONE && !p->is_dim) continue;
        fc_str_printf(out, "%s%s", n++ ? ", " : "", p->name);
        if (!p->is_dim) {
            fc_str_add(out, ": ");
            fc_job_type(s, g->inputs.at[p->input].node, out);
        } else if (p->given != FC_LANG_NONE) {
            fc_str_printf(out, " = %s", s->inputs[s->given_from[p->given]].value);
        } else {
            fc_str_add(out, ": dim");
        }
    }
    fc_str_add(out, ") -> ");
    bool list = g->outputs.len > 1;
    for (size_t i = 0; i < g->outputs.len; i++) {
        fc_str_add(out, i ? ", " : list ? "(" : "");
        if (list) fc_str_printf(out, "%s: ", g->outputs.at[i].name);
        fc_job_type(s, g->outputs.at[i].node, out);
    }
    if (list) fc_str_char(out, ')');
}
