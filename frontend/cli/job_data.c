/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* job_data.c - data of the inputs, memory for the results, and the call. See job.h. */
#include "frontend/cli/job.h"

#include <stdio.h>

#include "frontend/cli/progress.h"
#include "runtime/bind.h"

/* ---- memory ---------------------------------------------------------------------------------- */

void *fc_job_memory(fc_job *s, int64_t bytes) {
    if (bytes < 0 || (uint64_t)bytes > SIZE_MAX - 64) return NULL;
    char *p = fc_malloc(s->alloc, (size_t)bytes + 64);
    if (!p) return NULL;
    if (!fc_push(s->alloc, &s->blocks, p)) {
        fc_free(s->alloc, p);
        return NULL;
    }
    return p + (64 - (uintptr_t)p % 64) % 64;
}

fc_array fc_tensor_array(const fc_tensor *t) {
    fc_array a = {.dtype = t->dtype, .rank = (int)t->rank, .data = t->data};
    for (uint32_t k = 0; k < t->rank; k++) a.shape[k] = t->shape[k];
    return a;
}

static int64_t tensor_bytes(const fc_tensor *t) {
    int64_t count, bytes;
    return fc_shape_bytes((int)t->rank, t->shape, fc_dtypes[t->dtype].bytes, &count, &bytes)
               ? bytes
               : INT64_MAX;
}

/* ---- room ------------------------------------------------------------------------------------ */

static double gib(uint64_t bytes) {
    return (double)bytes / (1 << 30);
}

/* What the arrays of the call take. */
typedef struct needs {
    uint64_t inputs, results, temporaries, more; /* more: what is not there yet */
} needs;

static needs count_needs(const fc_job *s) {
    needs n = {.temporaries = s->scratch};
    bool host = !s->device || s->device->host_memory;
    for (uint32_t i = 0; i < s->nin; i++) {
        n.inputs += (uint64_t)tensor_bytes(&s->in[i]);
        if (!host || !s->in[i].data) n.more += (uint64_t)tensor_bytes(&s->in[i]);
    }
    for (uint32_t i = 0; i < s->nout; i++) {
        n.results += (uint64_t)tensor_bytes(&s->out[i]);
        if (!host || !s->out[i].data) n.more += (uint64_t)tensor_bytes(&s->out[i]);
    }
    n.more += n.temporaries;
    return n;
}

enum { SHOWN_RESULTS = 4 };

/* "result out: f32[200000, 215000]" for the first results, then "inputs:"; returns the widest. */
static int room_labels(const fc_job *s, uint32_t count, char label[SHOWN_RESULTS + 1][200]) {
    size_t width = 0;
    for (uint32_t i = 0; i < count; i++) {
        char type[120];
        fc_array a = fc_tensor_array(&s->out[i]);
        snprintf(label[i], sizeof label[i], "result %.60s: %s", s->graph.outputs.at[i].name,
                 fc_type_text(type, sizeof type, a.dtype, a.rank, a.shape));
    }
    snprintf(label[count], sizeof label[count], "inputs:");
    for (uint32_t i = 0; i <= count; i++)
        if (strlen(label[i]) > width) width = strlen(label[i]);
    return (int)width;
}

/* The arrays of the call do not fit into the memory of its device; shows them all. */
static fusec_status no_room(const fc_job *s, fc_error *e) {
    fc_error own = {0};
    fc_device *cpu;
    uint64_t host, total;
    uint32_t shown = s->nout < SHOWN_RESULTS ? s->nout : SHOWN_RESULTS;
    char label[SHOWN_RESULTS + 1][200];
    needs n = count_needs(s);
    fc_str text;
    if (!s->device) return fc_oom(e);
    int width = room_labels(s, shown, label);
    fc_device_no_memory(s->device, n.more, &own);
    fc_str_init(&text, s->alloc);
    for (uint32_t i = 0; i <= shown; i++)
        fc_str_printf(&text, "\n  %-*s     %5.1f GiB", width, label[i],
                      gib(i < shown ? (uint64_t)tensor_bytes(&s->out[i]) : n.inputs));
    fc_str_add(&text, "     temporaries: ");
    if (n.temporaries)
        fc_str_printf(&text, "%.1f GiB", gib(n.temporaries));
    else
        fc_str_add(&text, "none");
    if (!s->device->host_memory && !fc_context_device(s->ctx, "cpu", &cpu, NULL, NULL) &&
        fc_device_memory(cpu, &host, &total) && n.inputs + n.results + n.temporaries < host)
        fc_str_printf(&text, "\n  help: --device cpu        the host has %.0f GiB free", gib(host));
    fusec_status st = fc_fail(e, FUSEC_OUT_OF_MEMORY, "%s%s", own.message, text.data);
    fc_str_free(&text);
    return st;
}

/* Refuses what does not fit before anything is read. */
static fusec_status check_room(fc_job *s, fc_program *p, fc_error *e) {
    uint64_t have, total;
    fc_bound *b;
    p = fc_program_for(p, s->nin, s->in, s->ndims, s->dims);
    FC_TRY(fc_bound_get(p, s->nin, s->in, s->ndims, s->dims, 64, FC_NO_CODE, &b, e));
    s->scratch = b->scratch;
    s->device = p->device;
    fc_bound_release(p, b);
    if (!fc_device_memory(p->device, &have, &total)) return FUSEC_OK;
    return count_needs(s).more <= have ? FUSEC_OK : no_room(s, e);
}

/* ---- data ------------------------------------------------------------------------------------ */

fusec_status fc_convert(const fc_alloc *alloc, fusec_dtype from, const void *src, fusec_dtype to,
                        void *dst, int64_t count, fc_error *e) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    if (!count) return FUSEC_OK;
    o.device = "interp";
    o.cache_dir = o.compiler = "";
    o.alloc = alloc->fn;
    o.alloc_user = alloc->user;
    fusec_status s = fusec_context_new(&o, &ctx);
    if (!s) s = fusec_graph_new(ctx, &g);
    if (!s) {
        const fusec_dim n = fusec_sym(g, "n");
        fusec_output(g, "y", fusec_cast(fusec_input(g, "x", from, 1, &n), to));
        s = fusec_compile(g, &p);
    }
    const fusec_tensor in = {.data = (void *)(uintptr_t)src,
                             .shape = &count,
                             .rank = 1,
                             .dtype = from},
                       out = {.data = dst, .shape = &count, .rank = 1, .dtype = to};
    if (!s) s = fusec_run(p, 1, &in, 1, &out);
    s = fc_job_failed(s, e);
    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return s;
}

static fusec_status read_input(fc_job *s, fc_cli_input *in, fc_tensor *t, bool fill, fc_error *e) {
    fusec_dtype stored = in->has_dtype && in->kind != FC_INPUT_SCALAR ? in->dtype : t->dtype;
    int64_t count, bytes;
    fc_progress progress;
    char what[280] = "reading ";
    if (in->kind == FC_INPUT_TYPE && fill) {
        in->kind = FC_INPUT_MADE;
        in->maker = FC_MAKE_RAND;
    }
    if (!fc_shape_bytes((int)t->rank, t->shape, fc_dtypes[stored].bytes, &count, &bytes))
        return fc_fail(e, FUSEC_INPUT_SHAPE, "the size of %.*s does not fit into 64 bits",
                       (int)in->name_len, in->name);
    t->data = fc_job_memory(s, tensor_bytes(t));
    void *into = stored == t->dtype ? t->data : fc_job_memory(s, bytes);
    if (!t->data || !into) return no_room(s, e);
    fc_input_shown(in, what + strlen(what), 200);
    fc_progress_start(&progress, what, true, s->cli->quiet, s->cli->verbose);
    in->reader.progress = fc_progress_step;
    in->reader.progress_user = &progress;
    fusec_status st = fc_input_read(in, stored, (int)t->rank, t->shape, into, e);
    fc_progress_end(&progress);
    in->reader.progress = NULL;
    if (st || into == t->data) return st;
    return fc_convert(s->alloc, stored, into, t->dtype, t->data, count, e);
}

/* An input that was not given, for --time of a plan: random numbers. */
static fusec_status make_input(fc_job *s, uint32_t i, fc_error *e) {
    fc_tensor *t = &s->in[i];
    int64_t count, bytes;
    if (!fc_shape_bytes((int)t->rank, t->shape, fc_dtypes[t->dtype].bytes, &count, &bytes))
        return fc_fail(e, FUSEC_INPUT_SHAPE, "the sizes of the inputs do not fit into 64 bits");
    t->data = fc_job_memory(s, bytes);
    if (!t->data) return no_room(s, e);
    return fc_make(FC_MAKE_RAND, t->dtype, i + 1, count, t->data, e);
}

fusec_status fc_job_data(fc_job *s, bool fill, fc_error *e) {
    for (uint32_t i = 0; i < s->nin; i++) {
        const fc_lang_param *p = fc_job_param(s, i);
        if (s->in[i].data || (s->streamed && s->streamed[i])) continue;
        if (p && p->given != FC_LANG_NONE)
            FC_TRY(read_input(s, &s->inputs[s->given_from[p->given]], &s->in[i], fill, e));
        else if (fill)
            FC_TRY(make_input(s, i, e));
        else
            return fc_fail(e, FUSEC_MISSING_INPUT, "the input %s was not given",
                           s->graph.inputs.at[i].name);
    }
    return FUSEC_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

fusec_status fc_job_shapes(fc_job *s, fc_program *p, fc_error *e) {
    const fc_graph *g = &s->graph;
    size_t room = 1;
    s->nout = (uint32_t)g->outputs.len;
    for (uint32_t i = 0; i < s->nout; i++) room += fc_rank(g, g->outputs.at[i].node);
    int64_t *shapes = fc_arena_alloc(&s->arena, room * sizeof *shapes);
    s->out = fc_arena_alloc(&s->arena, (s->nout + 1) * sizeof *s->out);
    if (!shapes || !s->out) return fc_oom(e);
    FC_TRY(fc_program_shapes(p, s->nin, s->in, s->ndims, s->dims, shapes, e));
    for (uint32_t i = 0; i < s->nout; i++) {
        fc_node n = g->outputs.at[i].node;
        s->out[i] = (fc_tensor){
            .dtype = (fusec_dtype)fc_at(g, n)->dtype, .rank = fc_rank(g, n), .shape = shapes};
        shapes += s->out[i].rank;
    }
    return FUSEC_OK;
}

fusec_status fc_job_results(fc_job *s, fc_program *p, fc_error *e) {
    FC_TRY(fc_job_shapes(s, p, e));
    FC_TRY(check_room(s, p, e));
    for (uint32_t i = 0; i < s->nout; i++) {
        s->out[i].data = fc_job_memory(s, tensor_bytes(&s->out[i]));
        if (!s->out[i].data) return no_room(s, e);
    }
    return FUSEC_OK;
}

fusec_status fc_job_run(fc_job *s, fusec_program *p, double *seconds, fc_error *e) {
    fusec_tensor *in, *out;
    FC_TRY(fc_job_inputs(s, p, &in, e));
    FC_TRY(fc_job_outputs(s, &out, e));
    double start = fc_seconds_now();
    FC_TRY(fc_job_failed(fusec_run(p, fusec_input_count(p), in, fusec_output_count(p), out), e));
    *seconds = fc_seconds_now() - start;
    return FUSEC_OK;
}
