/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cmd_explain.c - `fusec explain`: the plan, its cost, and any level of its code. */
#include "frontend/cli/emit.h"
#include "frontend/cli/explain_pieces.h"

/* ---- emit ------------------------------------------------------------------------------------ */

static fusec_status emit_levels(fc_job *s, unsigned levels, fc_error *e) {
    fc_emitter m;
    fc_str *out = &s->cli->out;
    fusec_status st = fc_emitter_open(&m, s, s->cli->o.text[FC_FLAG_ARCH], e);
    for (int l = 0; !st && l < FC_LEVEL_COUNT; l++) {
        if (!(levels >> l & 1)) continue;
        uint32_t n = l < FC_LEVEL_IR ? 1 : fc_emit_steps(&m);
        for (uint32_t i = 0; !st && i < n; i++) {
            if (out->len) fc_str_char(out, '\n');
            st = fc_emit(&m, (fc_emit_level)l, i, out, e);
        }
    }
    fc_emitter_close(&m);
    return st;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* The device of the plan; one that is not there with --device none, or for an --arch of
 * GPUs alone. */
static fusec_status choose_device(fc_job *s, fc_device **out, fc_device **offline, fc_error *e) {
    const fc_options *o = &s->cli->o;
    const char *device = o->text[FC_FLAG_DEVICE], *arch = o->text[FC_FLAG_ARCH];
    bool none = device && !strcmp(device, "none");
    if (!none && !(arch && !device && !strncmp(arch, "sm_", 3)))
        return fc_job_device(s, NULL, out, e);
    int cc;
    const char *cpu;
    size_t n;
    FC_TRY(fc_arch_parse(arch, &cc, &cpu, &n, e));
    if (fc_cli_on(s->cli, FC_FLAG_TIME))
        return fc_fail(e, FUSEC_USAGE, "--time runs the program, and --device none runs nothing");
    FC_TRY(fc_job_context(s, e));
    FC_TRY(fc_device_open_cuda_offline(s->alloc, cc, offline, e));
    *out = *offline;
    return FUSEC_OK;
}

/* Inputs that were not given are made up, but somebody has to say how large they are. */
static fusec_status no_sizes(const fc_job *s, fc_error *e) {
    const fc_graph *g = &s->graph;
    fc_str list;
    fc_str_init(&list, s->alloc);
    for (uint32_t i = 0; i < g->inputs.len; i++) {
        fc_node n = g->inputs.at[i].node;
        const fc_lang_param *p = fc_job_param(s, i);
        if (!fc_rank(g, n) || (p && p->given != FC_LANG_NONE)) continue;
        fc_str_printf(&list, " %s=%s", g->inputs.at[i].name, fc_dtypes[fc_at(g, n)->dtype].name);
        for (uint32_t k = 0; k < fc_rank(g, n); k++) {
            fc_dim d = fc_axis(g, n, k);
            fc_str_printf(&list, "%s%lld", k ? "x" : ":",
                          s->known[d] ? (long long)s->values[d] : 1000);
        }
    }
    fusec_status st =
        fc_fail(e, FUSEC_MISSING_INPUT, "--time runs the program, and its sizes are not known%s%s",
                list.len ? "\n  help: with" : "", list.len ? list.data : "");
    fc_str_free(&list);
    return st;
}

/* What is only compared with may be too large where the program is not: it stores more between its
 * kernels, and has kernels of more elements. Then it is shown why it does not run. */
static fusec_status allow(fc_plan_view *u, fusec_status st, bool too_large, const fc_error *why,
                          fc_error *e) {
    if (!st) return FUSEC_OK;
    if (!too_large) return fc_fail(e, st, "%s", why->message);
    u->refused = fc_arena_strdup(u->s->arena, why->message, strlen(why->message));
    return u->refused ? FUSEC_OK : fc_oom(e);
}

static fusec_status compare(const fc_plan_query *q, fc_program *unfused, fc_plan_view *u,
                            fc_error *e) {
    fc_error why = {0};
    fusec_status st = fc_plan_view_make(q, unfused, false, u, &why);
    return allow(u, st, st == FUSEC_LIMIT || st == FUSEC_INPUT_SHAPE, &why, e);
}

static fusec_status measure(fc_job *s, fc_plan_query *q, fc_plan_view *v, fc_plan_view *u,
                            fc_error *e) {
    fc_error why = {0};
    if (!s->sized) return no_sizes(s, e);
    FC_TRY(fc_job_results(s, v->p, e));
    FC_TRY(fc_job_data(s, true, e));
    FC_TRY(fc_job_query(s, q, e));
    FC_TRY(fc_plan_view_time(v, e));
    if (u->refused) return FUSEC_OK;
    fusec_status st = fc_plan_view_time(u, &why);
    return allow(u, st, st == FUSEC_OUT_OF_MEMORY && !u->p->device->host_memory, &why, e);
}

/* ---- pages and pictures -----------------------------------------------------------------------
 */

/* A file, or standard output for "-". */
static fusec_status put(fc_job *s, const char *path, const fc_str *text, fc_error *e) {
    char shown[200], bytes[32];
    if (text->oom) return fc_oom(e);
    if (!strcmp(path, "-")) {
        fc_str_addn(&s->cli->out, text->data, text->len);
        return FUSEC_OK;
    }
    FC_TRY(fc_cli_write_text(s->cli, path, text->data, text->len, e));
    fc_cli_say(s->cli, "fusec: wrote %s: %s", fc_shown_name(shown, sizeof shown, path),
               fc_show_bytes(bytes, (int64_t)text->len));
    return FUSEC_OK;
}

static fusec_status write_page(fc_job *s, const fc_plan_view *v, const fc_plan_view *u,
                               fc_error *e) {
    fc_plan_program text[2];
    size_t n = 0;
    fc_str out;
    fc_str_init(&out, s->alloc);
    if (s->has_program)
        text[n++] = (fc_plan_program){s->program.src->name, s->program.src->text, 0};
    if (s->has_snippet) text[n++] = (fc_plan_program){"-e", s->snippet.src->text, FC_PLACE_SNIPPET};
    fusec_status st = fc_plan_html(v, u, text, n, &out, e);
    if (!st) st = put(s, s->cli->o.text[FC_FLAG_HTML], &out, e);
    fc_str_free(&out);
    return st;
}

static fusec_status write_picture(fc_job *s, const fc_plan_view *v, fc_error *e) {
    fc_str out;
    fc_str_init(&out, s->alloc);
    fc_plan_svg(v, false, &out);
    const fusec_status st = put(s, s->cli->o.text[FC_FLAG_SVG], &out, e);
    fc_str_free(&out);
    return st;
}

static fusec_status show(fc_job *s, fc_program *p, fc_program *unfused, fc_error *e) {
    fc_plan_view v, u;
    fc_plan_query q;
    bool json = fc_cli_on(s->cli, FC_FLAG_JSON), runs = p->device->host_memory || s->ctx->cuda[0][0];
    bool time = fc_cli_on(s->cli, FC_FLAG_TIME);
    FC_TRY(fc_job_query(s, &q, e));
    FC_TRY(fc_plan_view_make(&q, p, (json || time) && runs, &v, e));
    FC_TRY(compare(&q, unfused, &u, e));
    if (time) FC_TRY(measure(s, &q, &v, &u, e));
    const bool page = fc_cli_on(s->cli, FC_FLAG_HTML), picture = fc_cli_on(s->cli, FC_FLAG_SVG);
    if (page) FC_TRY(write_page(s, &v, &u, e));
    if (picture) FC_TRY(write_picture(s, &v, e));
    if (page || picture) return s->cli->out.oom ? fc_oom(e) : FUSEC_OK;
    if (json)
        fc_plan_json(&v, &u, &s->cli->out);
    else if (fc_cli_on(s->cli, FC_FLAG_DOT))
        fc_plan_dot(&v, &s->cli->out);
    else if (fc_cli_on(s->cli, FC_FLAG_PLAIN))
        fc_plan_plain(&v, &s->cli->out);
    else
        fc_plan_text(&v, &u, &s->cli->out);
    return s->cli->out.oom ? fc_oom(e) : FUSEC_OK;
}

static fusec_status plan(fc_job *s, fc_error *e) {
    fc_device *d = NULL, *offline = NULL;
    fc_program *p = NULL, *unfused = NULL;
    fusec_status st = choose_device(s, &d, &offline, e);
    if (!st) st = fc_job_program(s, d, false, &p, e);
    if (!st) st = fc_job_program(s, d, true, &unfused, e);
    if (!st) st = show(s, p, unfused, e);
    fc_program_free(p);
    fc_program_free(unfused);
    fc_device_close(offline);
    return st;
}

fusec_status fc_cmd_explain(fc_cli *c, fc_error *e) {
    fc_job s;
    unsigned levels = 0;
    if (fc_cli_on(c, FC_FLAG_EMIT)) FC_TRY(fc_levels_parse(c->o.text[FC_FLAG_EMIT], &levels, e));
    if (levels >> FC_LEVEL_CUBIN & 1)
        return fc_fail(e, FUSEC_USAGE,
                       "a cubin is no text\n  help: fusec build writes it to a file");
    fc_job_request rq = fc_job_words(c, false);
    const char *pieces = c->o.text[FC_FLAG_PIECES];
    rq.cut = pieces != NULL;
    fusec_status st = fc_job_open(&s, c, &rq, e);
    if (!st && pieces)
        st = fc_explain_pieces(&s, pieces, e);
    else if (!st)
        st = levels ? emit_levels(&s, levels, e) : plan(&s, e);
    fc_job_close(&s);
    return st;
}
