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
        uint32_t n = 0;
        st = fc_emit_steps(&m, (fc_emit_level)l, &n, e);
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

/* A file, or standard output for "-". */
static fusec_status put(fc_job *s, const char *path, const char *text, fc_error *e) {
    char shown[200], bytes[32];
    const size_t n = strlen(text);
    if (!strcmp(path, "-")) {
        fc_str_addn(&s->cli->out, text, n);
        return s->cli->out.oom ? fc_oom(e) : FUSEC_OK;
    }
    FC_TRY(fc_cli_write_text(s->cli, path, text, n, e));
    fc_cli_say(s->cli, "fusec: wrote %s: %s", fc_shown_name(shown, sizeof shown, path),
               fc_show_bytes(bytes, (int64_t)n));
    return FUSEC_OK;
}

/* What is asked about the program as it stands in the job. */
static fusec_status ask(fc_job *s, fusec_program *p, fusec_explain_options *o, fc_error *e) {
    fc_str title;
    fusec_tensor *in = NULL, *out = NULL;
    fc_str_init(&title, s->alloc);
    fc_job_title(s, &title);
    o->title = fc_arena_strdup(&s->arena, title.data, title.len);
    fc_str_free(&title);
    if (!o->title) return fc_oom(e);
    if (s->has_program) o->text_name = s->program.src->name, o->text = s->program.src->text;
    if (s->has_snippet) o->expr = s->snippet.src->text;
    if (!s->sized) return FUSEC_OK;
    FC_TRY(fc_job_inputs(s, p, &in, e));
    FC_TRY(fc_job_outputs(s, &out, e));
    o->ninputs = fusec_input_count(p);
    o->inputs = in;
    o->noutputs = (int32_t)s->nout;
    o->outputs = out;
    return FUSEC_OK;
}

static fusec_status write(fc_job *s, fusec_program *p, const fusec_explain_options *o,
                          const char *file, fc_error *e) {
    char *text = NULL;
    FC_TRY(fc_job_failed(fusec_explain_with(p, o, &text), e));
    const fusec_status st = put(s, file, text, e);
    fusec_text_free(s->api, text);
    return st;
}

static fusec_status show(fc_job *s, fusec_program *p, fusec_program *unfused, bool runs,
                         fc_error *e) {
    const fc_cli *c = s->cli;
    fusec_explain_options o = FUSEC_EXPLAIN_OPTIONS_INIT;
    const bool json = fc_cli_on(c, FC_FLAG_JSON), page = fc_cli_on(c, FC_FLAG_HTML),
               picture = fc_cli_on(c, FC_FLAG_SVG);
    o.unfused = unfused;
    if (fc_cli_on(c, FC_FLAG_TIME)) {
        o.flags |= FUSEC_EXPLAIN_TIMES;
        if (!s->sized) return no_sizes(s, e);
        FC_TRY(fc_job_results(s, p->p, e));
        FC_TRY(fc_job_data(s, true, e));
    }
    if (json && runs) o.flags |= FUSEC_EXPLAIN_COMPILE;
    FC_TRY(ask(s, p, &o, e));
    const unsigned common = o.flags;
    o.flags = common | FUSEC_EXPLAIN_HTML;
    if (page) FC_TRY(write(s, p, &o, c->o.text[FC_FLAG_HTML], e));
    o.flags = common | FUSEC_EXPLAIN_SVG;
    if (picture) FC_TRY(write(s, p, &o, c->o.text[FC_FLAG_SVG], e));
    if (page || picture) return FUSEC_OK;
    o.flags = common | (json                          ? FUSEC_EXPLAIN_JSON
                        : fc_cli_on(c, FC_FLAG_DOT)   ? FUSEC_EXPLAIN_DOT
                        : fc_cli_on(c, FC_FLAG_PLAIN) ? FUSEC_EXPLAIN_PLAIN
                                                      : 0);
    return write(s, p, &o, "-", e);
}

static fusec_status plan(fc_job *s, fc_error *e) {
    fc_device *d = NULL, *offline = NULL;
    fusec_program *p = NULL, *unfused = NULL;
    fusec_status st = choose_device(s, &d, &offline, e);
    if (!st) st = fc_job_program(s, d, false, &p, e);
    if (!st) st = fc_job_program(s, d, true, &unfused, e);
    if (!st) st = show(s, p, unfused, !offline, e);
    fusec_program_free(p);
    fusec_program_free(unfused);
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
