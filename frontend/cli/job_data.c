/* job_data.c - sizes of the arguments, data, memory. See job.h. */
#include "frontend/cli/job.h"

#include <stdio.h>

#include "frontend/cli/term.h"

/* ---- sizes ------------------------------------------------------------------------------------
 */

typedef struct sizes {
    int64_t *symbols;
    bool *known; /* of each symbol */
    int64_t *values;
} sizes;

static const fc_lang_param *param_of(const fc_job *s, uint32_t input) {
    for (uint32_t i = 0; i < s->lang.param_count; i++)
        if (s->lang.params[i].input == input) return &s->lang.params[i];
    return NULL;
}

static void learn(const fc_job *s, sizes *z, fc_dim d, int64_t value) {
    uint32_t sym;
    if (!fc_dim_is_sym(&s->graph.dims, d, &sym) || z->known[sym]) return;
    z->known[sym] = true;
    z->symbols[sym] = value;
}

/* The value of a size that is known by its name. */
static int64_t by_name(const fc_job *s, const sizes *z, const fc_input_dim *d) {
    for (size_t i = 0; d->name && i < s->graph.dims.syms.len; i++) {
        const fc_sym *sym = &s->graph.dims.syms.at[i];
        if (sym->kind == FC_SYM_NAMED && z->known[i] && strlen(sym->name) == d->name_len &&
            !memcmp(sym->name, d->name, d->name_len))
            return z->symbols[i];
    }
    return FC_LANG_ANY_SIZE;
}

/* What the inputs and the numbers on the command line say about the symbols. */
static fusec_status learn_all(fc_job *s, sizes *z, fc_error *e) {
    const fc_graph *g = &s->graph;
    for (uint32_t i = 0; i < s->lang.param_count; i++) {
        const fc_lang_param *p = &s->lang.params[i];
        const fc_lang_input *in = p->given == FC_LANG_NONE ? NULL : &s->given[p->given];
        if (p->is_dim && in) {
            if (in->number.kind != FC_LANG_INT || in->number.negative ||
                in->number.magnitude > INT64_MAX)
                return fc_fail(e, FUSEC_INPUT_SHAPE, "%s is a size and can't be %s", p->name,
                               s->inputs[s->given_from[p->given]].value);
            fc_dim_value v = {p->sym, (int64_t)in->number.magnitude};
            s->dims[s->ndims++] = v;
            z->known[p->sym] = true;
            z->symbols[p->sym] = v.value;
        }
        if (p->input == FC_LANG_NONE || !in) continue;
        fc_node n = g->inputs.at[p->input].node;
        for (uint32_t k = 0; k < in->rank && k < fc_rank(g, n); k++)
            if (in->shape[k] != FC_LANG_ANY_SIZE) learn(s, z, fc_axis(g, n, k), in->shape[k]);
    }
    /* Sizes under names of the program: x=rand:nxm where another input says what n is. */
    for (uint32_t i = 0; i < s->lang.param_count; i++) {
        const fc_lang_param *p = &s->lang.params[i];
        if (p->input == FC_LANG_NONE || p->given == FC_LANG_NONE) continue;
        const fc_lang_input *in = &s->given[p->given];
        fc_node n = g->inputs.at[p->input].node;
        for (uint32_t k = 0; k < in->rank && k < fc_rank(g, n); k++) {
            if (in->shape[k] != FC_LANG_ANY_SIZE) continue;
            int64_t v = by_name(s, z, &s->inputs[s->given_from[p->given]].dims[k]);
            if (v >= 0) learn(s, z, fc_axis(g, n, k), v);
        }
    }
    return FUSEC_OK;
}

static fusec_status unknown_size(const fc_job *s, const sizes *z, fc_error *e) {
    const fc_dimtab *t = &s->graph.dims;
    for (size_t i = 0; i < t->syms.len; i++)
        if (t->syms.at[i].kind == FC_SYM_NAMED && !z->known[i])
            return fc_fail(e, FUSEC_MISSING_INPUT,
                           "the size %s is not known\n  help: %s=1000 gives it", t->syms.at[i].name,
                           t->syms.at[i].name);
    return FUSEC_OK;
}

static bool all_known(const fc_job *s, const sizes *z) {
    const fc_dimtab *t = &s->graph.dims;
    for (size_t i = 0; i < t->syms.len; i++)
        if (t->syms.at[i].kind == FC_SYM_NAMED && !z->known[i]) return false;
    return true;
}

/* A tensor without data for an input of the graph. */
static fusec_status shape_tensor(fc_job *s, const sizes *z, uint32_t i, fc_error *e) {
    const fc_graph *g = &s->graph;
    fc_node n = g->inputs.at[i].node;
    const fc_lang_param *p = param_of(s, i);
    uint32_t rank = fc_rank(g, n);
    int64_t *shape = fc_arena_alloc(&s->arena, (rank + 1) * sizeof *shape);
    if (!shape) return fc_oom(e);
    for (uint32_t k = 0; k < rank; k++) {
        shape[k] = z->values[fc_axis(g, n, k)];
        if (!p || p->given == FC_LANG_NONE) continue;
        const fc_lang_input *in = &s->given[p->given];
        if (in->rank == rank && in->shape[k] != FC_LANG_ANY_SIZE) shape[k] = in->shape[k];
    }
    s->in[i] = (fc_tensor){.dtype = (fusec_dtype)fc_at(g, n)->dtype, .rank = rank, .shape = shape};
    return FUSEC_OK;
}

static fusec_status start_sizes(fc_job *s, sizes *z, fc_error *e) {
    const fc_dimtab *t = &s->graph.dims;
    *z = (sizes){
        .symbols = fc_arena_alloc(&s->arena, (t->syms.len + 1) * sizeof(int64_t)),
        .known = fc_arena_alloc(&s->arena, t->syms.len + 1),
        .values = fc_arena_alloc(&s->arena, (t->forms.len + 1) * sizeof(int64_t)),
    };
    s->nin = (uint32_t)s->graph.inputs.len;
    s->ndims = 0;
    s->in = fc_arena_alloc(&s->arena, (s->nin + 1) * sizeof *s->in);
    s->dims = fc_arena_alloc(&s->arena, (t->syms.len + 1) * sizeof *s->dims);
    if (!z->symbols || !z->known || !z->values || !s->in || !s->dims) return fc_oom(e);
    return learn_all(s, z, e);
}

static fusec_status finish_sizes(fc_job *s, sizes *z, fc_error *e) {
    fc_dim bad;
    if (!fc_dims_eval(&s->graph.dims, z->symbols, z->values, &bad))
        return fc_fail(e, FUSEC_LIMIT, "a size does not fit 64 bits for these inputs");
    for (uint32_t i = 0; i < s->nin; i++) FC_TRY(shape_tensor(s, z, i, e));
    s->values = z->values;
    s->sized = true;
    return FUSEC_OK;
}

fusec_status fc_job_sizes(fc_job *s, bool complete, fc_error *e) {
    sizes z;
    FC_TRY(start_sizes(s, &z, e));
    if (all_known(s, &z)) return finish_sizes(s, &z, e);
    return complete ? unknown_size(s, &z, e) : FUSEC_OK;
}

/* --static n=64 */
static bool static_size(const fc_job *s, const char *name, int64_t *out) {
    const fc_options *o = &s->cli->o;
    for (size_t i = 0; i < o->many.len; i++) {
        size_t n;
        fc_weak w;
        const char *word = o->many.at[i].text;
        if (o->many.at[i].flag != FC_FLAG_STATIC || !fc_is_assignment(word, &n)) continue;
        if (strlen(name) != n || memcmp(name, word, n) != 0) continue;
        if (!fc_weak_parse(word + n + 1, &w) || w.kind != FC_WEAK_INT || w.negative ||
            w.magnitude > INT64_MAX)
            continue;
        *out = (int64_t)w.magnitude;
        return true;
    }
    return false;
}

fusec_status fc_job_examples(fc_job *s, fc_str *note, fc_error *e) {
    const fc_dimtab *t = &s->graph.dims;
    sizes z;
    size_t unknown = 0, said = 0;
    FC_TRY(start_sizes(s, &z, e));
    for (size_t i = 0; i < t->syms.len; i++)
        unknown += t->syms.at[i].kind == FC_SYM_NAMED && !z.known[i];
    /* Large, but all of them together below what 32-bit indices can count. */
    int64_t example = unknown <= 2 ? 4096 : unknown == 3 ? 1024 : unknown <= 5 ? 64 : 4;
    for (size_t i = 0; i < t->syms.len; i++) {
        const fc_sym *sym = &t->syms.at[i];
        if (sym->kind != FC_SYM_NAMED || z.known[i]) continue;
        z.known[i] = true;
        z.symbols[i] = example;
        static_size(s, sym->name, &z.symbols[i]);
        fc_str_printf(note, "%s%s = %lld", said++ ? ", " : "", sym->name, (long long)z.symbols[i]);
        s->dims[s->ndims++] = (fc_dim_value){(uint32_t)i, z.symbols[i]};
    }
    return finish_sizes(s, &z, e);
}

/* ---- memory -------------------------------------------------------------------------------------
 */

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

/* ---- data
 * ------------------------------------------------------------------------------------------ */

fusec_status fc_convert(const fc_alloc *alloc, fusec_dtype from, const void *src, fusec_dtype to,
                        void *dst, int64_t count, fc_error *e) {
    fc_graph g;
    fc_config config;
    fc_context *ctx = NULL;
    fc_program *p = NULL;
    fc_device *d;
    if (!count) return FUSEC_OK;
    fc_config_init(&config);
    config.alloc = *alloc;
    fc_graph_init(&g, alloc, NULL);
    fc_dim n = fc_dim_named(&g.dims, "n");
    fc_node x = fc_build_input(&g, "x", from, 1, &n);
    fc_build_output(&g, "y", fc_build_cast(&g, x, to));
    fusec_status s = g.error.code ? fc_fail(e, g.error.code, "%s", g.error.message) : FUSEC_OK;
    if (!s) s = fc_context_new(&config, &ctx, e);
    if (!s) s = fc_context_device(ctx, "interp", &d, NULL, e);
    if (!s) s = fc_program_new(ctx, &g, &(fc_program_options){.device = d}, &p, e);
    fc_tensor in = {from, 1, &count, (void *)(uintptr_t)src, false};
    fc_tensor out = {to, 1, &count, dst, false};
    if (!s) s = fc_program_run(p, NULL, 1, &in, 0, NULL, 1, &out, e);
    fc_program_free(p);
    fc_context_free(ctx);
    fc_graph_free(&g);
    return s;
}

static fusec_status no_memory_for(const fc_cli_input *in, int64_t bytes, fc_error *e) {
    char shown[32];
    return fc_fail(e, FUSEC_OUT_OF_MEMORY, "not enough memory for the input %.*s: %s",
                   (int)in->name_len, in->name, fc_show_bytes(shown, bytes));
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
    if (!t->data || !into) return no_memory_for(in, bytes, e);
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
    if (!t->data) return fc_oom(e);
    return fc_make(FC_MAKE_RAND, t->dtype, i + 1, count, t->data, e);
}

fusec_status fc_job_data(fc_job *s, bool fill, fc_error *e) {
    for (uint32_t i = 0; i < s->nin; i++) {
        const fc_lang_param *p = param_of(s, i);
        if (s->in[i].data) continue;
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

/* ---- results
 * ---------------------------------------------------------------------------------------- */

static double gib(double bytes) {
    return bytes / (double)(1 << 30);
}

/* Whether arguments, results and temporaries fit the memory that is free. */
static fusec_status check_room(fc_job *s, const fc_program *p, fc_error *e) {
    uint64_t have, total, host;
    double in = 0, out = 0;
    char lines[600] = "", type[200];
    size_t n = 0;
    if (!fc_device_memory(p->device, &have, &total)) return FUSEC_OK;
    for (uint32_t i = 0; i < s->nin; i++) in += (double)tensor_bytes(&s->in[i]);
    for (uint32_t i = 0; i < s->nout; i++) {
        double bytes = (double)tensor_bytes(&s->out[i]);
        fc_array a = fc_tensor_array(&s->out[i]);
        out += bytes;
        if (n + 200 < sizeof lines)
            n += (size_t)snprintf(
                lines + n, sizeof lines - n, "\n  result %.60s: %.80s     %.1f GiB",
                s->graph.outputs.at[i].name,
                fc_type_text(type, sizeof type, a.dtype, a.rank, a.shape), gib(bytes));
    }
    /* Inputs of a host device are in memory already when this is asked again; free means free now.
     */
    double need = out + (p->device->host_memory ? 0 : in);
    if (need <= (double)have) return FUSEC_OK;
    fc_fail(e, FUSEC_OUT_OF_MEMORY,
            "not enough memory on %s: this needs %.1f GiB, %.1f GiB are free%s\n"
            "  inputs:     %.1f GiB     temporaries: %s",
            p->device->name, gib(need), gib((double)have), lines, gib(in),
            p->plan->ntemps ? "some" : "none");
    fc_device *cpu;
    if (!e || p->device->host_memory || fc_context_device(s->ctx, "cpu", &cpu, NULL, NULL))
        return FUSEC_OUT_OF_MEMORY;
    size_t k = strlen(e->message);
    if (fc_device_memory(cpu, &host, &total) && in + out < (double)host)
        snprintf(e->message + k, sizeof e->message - k,
                 "\n  help: --device cpu        the host has %.0f GiB free", gib((double)host));
    return FUSEC_OUT_OF_MEMORY;
}

fusec_status fc_job_results(fc_job *s, fc_program *p, fc_error *e) {
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
    FC_TRY(check_room(s, p, e));
    for (uint32_t i = 0; i < s->nout; i++) {
        char shown[32];
        int64_t bytes = tensor_bytes(&s->out[i]);
        s->out[i].data = fc_job_memory(s, bytes);
        if (!s->out[i].data)
            return fc_fail(e, FUSEC_OUT_OF_MEMORY, "not enough memory for the result %s: %s",
                           g->outputs.at[i].name, fc_show_bytes(shown, bytes));
    }
    return FUSEC_OK;
}

fusec_status fc_job_run(fc_job *s, fc_program *p, double *seconds, fc_error *e) {
    double start = fc_seconds_now();
    FC_TRY(fc_program_run(p, NULL, s->nin, s->in, s->ndims, s->dims, s->nout, s->out, e));
    *seconds = fc_seconds_now() - start;
    return FUSEC_OK;
}
