/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program.c - compiled graphs: arguments as C has them, checked and handed to the runtime. */
#include "frontend/capi/program.h"

#include "runtime/ready.h"
#include "runtime/strides.h"

/* ---- compiling ------------------------------------------------------------------------------- */

/* A call's sizes come from its arrays; one that is the length of no axis is an input of its own. */
static bool is_free(const fc_graph *g, uint32_t s) {
    uint32_t sym;
    bool bound = g->dims.syms.at[s].kind != FC_SYM_NAMED;
    for (size_t i = 0; i < g->inputs.len && !bound; i++)
        for (uint32_t a = 0; a < fc_rank(g, g->inputs.at[i].node) && !bound; a++)
            bound = fc_dim_is_sym(&g->dims, fc_axis(g, g->inputs.at[i].node, a), &sym) && sym == s;
    return !bound;
}

fusec_status fc_new_program(fusec_context *c, const fc_graph *g, const fc_program_options *options,
                            fusec_program **out, fc_error *e) {
    fc_program_options o = *options;
    uint32_t free = 0;
    if (!o.device) FC_TRY(fc_open_device(c, &o.device, e));
    for (uint32_t s = 0; s < g->dims.syms.len; s++) free += is_free(g, s);
    fusec_program *p = fc_calloc(&c->alloc, 1, sizeof *p + free * sizeof *p->sizes);
    if (!p) return fc_oom(e);
    p->ctx = c;
    for (uint32_t s = 0; s < g->dims.syms.len; s++)
        if (is_free(g, s)) p->sizes[p->nsizes++] = s;
    p->name = fc_strdup(&c->alloc, o.name ? o.name : "program");
    if (!p->name) fc_oom(e);
    if (!p->name || fc_program_new(c->runtime, g, &o, &p->p, e)) {
        fusec_program_free(p);
        return e->code;
    }
    *out = p;
    return FUSEC_OK;
}

fc_program_options fc_program_flags(unsigned flags) {
    return (fc_program_options){.graph = (flags & FUSEC_PROGRAM_GRAPH) != 0,
                                .unfused = (flags & FUSEC_PROGRAM_UNFUSED) != 0};
}

static fusec_status compile(fusec_graph *g, unsigned flags, fusec_program **out, fc_error *e) {
    if (g->ir.error.code) return *e = g->ir.error, e->code;
    if (!g->ir.outputs.len)
        return fc_fail(e, FUSEC_INVALID, "the graph has no outputs: name one with fusec_output");
    if (g->leaves.len != g->ninputs)
        return fc_fail(e, FUSEC_INVALID,
                       "a program's arrays come with the call: use fusec_input, not fusec_array");
    fc_program_options o = fc_program_flags(flags);
    o.mode = g->mode;
    return fc_new_program(g->ctx, &g->ir, &o, out, e);
}

fusec_status fusec_graph_mode(fusec_graph *g, unsigned mode) {
    static const unsigned licences = FUSEC_MODE_FAST | FUSEC_MODE_WIDE16 | FUSEC_MODE_TF32;
    if (!g) return fc_report_text(FUSEC_INVALID, "fusec_graph_mode: the graph is NULL");
    if (mode & ~licences)
        return fc_report_text(FUSEC_INVALID, "fusec_graph_mode: unknown bits (0x%x)", mode);
    g->mode = (g->mode & ~licences) | mode;
    return FUSEC_OK;
}

static fusec_status compile_for(const char *what, fusec_graph *g, unsigned flags,
                                fusec_program **out) {
    fc_error e = {0};
    if (!out) return fc_report_text(FUSEC_INVALID, "%s: the result pointer is NULL", what);
    *out = NULL;
    if (!g) return fc_report_text(FUSEC_INVALID, "%s: the graph is NULL", what);
    if (flags & ~FC_PROGRAM_FLAGS)
        return fc_report_text(FUSEC_INVALID, "%s: unknown flags 0x%x", what, flags);
    return compile(g, flags, out, &e) ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_compile(fusec_graph *g, fusec_program **out) {
    return compile_for("fusec_compile", g, 0, out);
}

fusec_status fusec_compile_with(fusec_graph *g, unsigned flags, fusec_program **out) {
    return compile_for("fusec_compile_with", g, flags, out);
}

void fusec_program_free(fusec_program *p) {
    if (!p) return;
    fc_program_free(p->p);
    fc_free(&p->ctx->alloc, p->name);
    fc_free(&p->ctx->alloc, p);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const fc_graph *graph_of(const fusec_program *p) {
    return &p->p->plan->graph;
}

static const int64_t *strides_of(const fusec_tensor *t) {
    if (!t->strides || fc_strides_dense((uint32_t)t->rank, t->shape, t->strides)) return NULL;
    return t->strides;
}

/* Where an array is: false when the place is unknown. */
static bool take_place(const fusec_tensor *t, bool *on_device) {
    *on_device = t->place != FUSEC_HOST;
    return (uint32_t)t->place <= FUSEC_CUDA;
}

fusec_status fc_take_tensor(const fc_device *d, const char *kind, const char *name,
                            const fusec_tensor *t, bool need_data, fc_tensor *out, fc_error *e) {
    size_t bytes, from;
    bool on_device;
    if ((unsigned)t->dtype >= FC_DTYPE_ALL)
        return fc_fail(e, FUSEC_INVALID, "%s %s: %d is not a dtype", kind, name, (int)t->dtype);
    if (t->rank < 0 || t->rank > FC_MAX_RANK || (t->rank && !t->shape))
        return fc_fail(e, FUSEC_INVALID, "%s %s: rank %d%s", kind, name, (int)t->rank,
                       t->rank > 0 && !t->shape ? " without a shape" : "");
    if (!take_place(t, &on_device))
        return fc_fail(e, FUSEC_INVALID, "%s %s: %d is not a place", kind, name, (int)t->place);
    if (t->place == FUSEC_CUDA && (d->kind != FC_DEV_CUDA || d->ordinal != t->device_id))
        return fc_fail(e, FUSEC_INVALID, "%s %s is on cuda:%d, but the context computes on %s",
                       kind, name, (int)t->device_id, d->name);
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] < 0)
            return fc_fail(e, FUSEC_INPUT_SHAPE, "%s %s has the negative size %lld", kind, name,
                           (long long)t->shape[i]);
    if (!fc_array_bytes((fusec_dtype)t->dtype, (uint32_t)t->rank, t->shape, &bytes))
        return fc_fail(e, FUSEC_INPUT_SHAPE, "%s %s has more bytes than memory can address", kind,
                       name);
    if (need_data && bytes && !t->data)
        return fc_fail(e, FUSEC_INVALID, "%s %s: the data of a non-empty array is NULL", kind,
                       name);
    *out = (fc_tensor){.dtype = (fusec_dtype)t->dtype,
                       .rank = (uint32_t)t->rank,
                       .shape = t->shape,
                       .data = t->data,
                       .on_device = on_device,
                       .strides = strides_of(t)};
    if (!fc_strides_span(out->rank, out->shape, out->strides, fc_dtypes[out->dtype].bytes, &bytes,
                         &from))
        return fc_fail(e, FUSEC_INPUT_SHAPE, "%s %s: the strides reach over more than 2^63 bytes",
                       kind, name);
    return FUSEC_OK;
}

static const char *name_at(const fusec_program *p, bool inputs, int i) {
    const fc_graph *g = graph_of(p);
    if (!inputs) return g->outputs.at[i].name;
    const size_t n = g->inputs.len;
    return (size_t)i < n ? g->inputs.at[i].name : g->dims.syms.at[p->sizes[(size_t)i - n]].name;
}

void fc_start_arrays(fc_arrays_taken *a, const fc_alloc *alloc) {
    a->at = a->few;
    a->dims = a->few_dims;
    a->n = a->ndims = 0;
    a->alloc = alloc;
}

/* The sizes behind the arrays of inputs. */
static fusec_status take_sizes(const fusec_program *p, const fusec_tensor *t, fc_arrays_taken *a,
                               fc_error *e) {
    const uint32_t first = (uint32_t)graph_of(p)->inputs.len;
    if (p->nsizes > FC_FEW_SIZES && !(a->dims = fc_malloc(a->alloc, p->nsizes * sizeof *a->dims)))
        return a->dims = a->few_dims, fc_oom(e);
    for (uint32_t i = 0; i < p->nsizes; i++) {
        const char *name = name_at(p, true, (int)(first + i));
        if (t[i].dtype != FUSEC_I64 || t[i].rank || !t[i].data)
            return fc_fail(e, FUSEC_INVALID, "input %s is a size: an i64 of rank 0, with its data",
                           name);
        a->dims[i].sym = p->sizes[i];
        memcpy(&a->dims[i].value, t[i].data, sizeof a->dims[i].value);
        if (a->dims[i].value < 0)
            return fc_fail(e, FUSEC_INPUT_SHAPE, "input %s is a size and can't be %lld", name,
                           (long long)a->dims[i].value);
    }
    a->ndims = p->nsizes;
    return FUSEC_OK;
}

fusec_status fc_take_arrays(const fusec_program *p, bool inputs, int n, const fusec_tensor *t,
                            bool need_data, fc_arrays_taken *a, fc_error *e) {
    const char *kind = inputs ? "input" : "output";
    const int want = inputs ? fusec_input_count(p) : fusec_output_count(p);
    if (n != want)
        return fc_fail(e, FUSEC_ARGUMENT_COUNT, "the program has %d %ss, but %d were given", want,
                       kind, n);
    if (n && !t) return fc_fail(e, FUSEC_INVALID, "the array of %ss is NULL", kind);
    if (n > FC_FEW_ARRAYS && !(a->at = fc_malloc(a->alloc, (size_t)n * sizeof *a->at)))
        return a->at = a->few, fc_oom(e);
    a->n = (uint32_t)n - (inputs ? p->nsizes : 0);
    for (uint32_t i = 0; i < a->n; i++)
        FC_TRY(fc_take_tensor(p->p->device, kind, name_at(p, inputs, (int)i), &t[i], need_data,
                              &a->at[i], e));
    return inputs && p->nsizes ? take_sizes(p, t + a->n, a, e) : FUSEC_OK;
}

void fc_free_arrays(fc_arrays_taken *a) {
    if (a->at != a->few) fc_free(a->alloc, a->at);
    if (a->dims != a->few_dims) fc_free(a->alloc, a->dims);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Arguments as they are, for a call like one before: what is compared with a call that was
 * checked needs no checks of its own. False: something makes that impossible. */
static bool take_unchecked(size_t want, int n, const fusec_tensor *t, fc_tensor *out) {
    if (n < 0 || (size_t)n != want || n > FC_FEW_ARRAYS || (n && !t)) return false;
    for (int i = 0; i < n; i++) {
        if ((uint32_t)t[i].rank > FC_MAX_RANK || (t[i].rank && !t[i].shape) ||
            (unsigned)t[i].place > FUSEC_DEVICE)
            return false;
        out[i] = (fc_tensor){.dtype = (fusec_dtype)t[i].dtype,
                             .rank = (uint32_t)t[i].rank,
                             .shape = t[i].shape,
                             .data = t[i].data,
                             .on_device = t[i].place == FUSEC_DEVICE,
                             .strides = strides_of(&t[i])};
    }
    return true;
}

static fusec_status run(fusec_program *p, void *stream, bool wait, int nin, const fusec_tensor *in,
                        int nout, const fusec_tensor *out, fc_error *e) {
    const fc_alloc *alloc = &p->ctx->alloc;
    fc_device *d = p->p->device;
    fc_arrays_taken a, b;
    fusec_status again;
    if (!p->nsizes && take_unchecked(graph_of(p)->inputs.len, nin, in, a.few) &&
        take_unchecked(graph_of(p)->outputs.len, nout, out, b.few) &&
        fc_ready_run(p->p, stream, (uint32_t)nin, a.few, 0, NULL, (uint32_t)nout, b.few, &again, e))
        return !again && wait && !d->host_memory ? d->ops->sync(d, stream, e) : again;
    fc_start_arrays(&a, alloc);
    fc_start_arrays(&b, alloc);
    fusec_status s = fc_take_arrays(p, true, nin, in, true, &a, e);
    if (!s) s = fc_take_arrays(p, false, nout, out, true, &b, e);
    if (!s) s = fc_program_run(p->p, stream, a.n, a.at, a.ndims, a.dims, b.n, b.at, e);
    if (!s && wait && !d->host_memory) s = d->ops->sync(d, stream, e);
    fc_free_arrays(&a);
    fc_free_arrays(&b);
    return s;
}

fusec_status fusec_run(fusec_program *p, int ninputs, const fusec_tensor *inputs, int noutputs,
                       const fusec_tensor *outputs) {
    fc_error e; /* of a thousand bytes one is looked at */
    e.code = FUSEC_OK;
    if (!p) return fc_report_text(FUSEC_INVALID, "fusec_run: the program is NULL");
    return run(p, NULL, true, ninputs, inputs, noutputs, outputs, &e) ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_run_on(fusec_program *p, void *stream, int ninputs, const fusec_tensor *inputs,
                          int noutputs, const fusec_tensor *outputs) {
    fc_error e;
    e.code = FUSEC_OK;
    if (!p) return fc_report_text(FUSEC_INVALID, "fusec_run_on: the program is NULL");
    return run(p, stream, false, ninputs, inputs, noutputs, outputs, &e) ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_output_shapes(fusec_program *p, int ninputs, const fusec_tensor *inputs,
                                 int64_t *sizes, int room) {
    fc_error e = {0};
    if (!p) return fc_report_text(FUSEC_INVALID, "fusec_output_shapes: the program is NULL");
    size_t need = 0;
    for (int i = 0; i < fusec_output_count(p); i++) need += (size_t)fusec_output_rank(p, i);
    if (room < 0 || (size_t)room < need)
        return fc_report_text(
            FUSEC_INVALID, "fusec_output_shapes: the outputs have %zu sizes, there is room for %d",
            need, room);
    if (need && !sizes) return fc_report_text(FUSEC_INVALID, "fusec_output_shapes: sizes is NULL");
    fc_arrays_taken a;
    fc_start_arrays(&a, &p->ctx->alloc);
    fusec_status s = fc_take_arrays(p, true, ninputs, inputs, false, &a, &e);
    if (!s) s = fc_program_shapes(p->p, a.n, a.at, a.ndims, a.dims, sizes, &e);
    fc_free_arrays(&a);
    return s ? fc_report(&e) : FUSEC_OK;
}

/* ---- facts ----------------------------------------------------------------------------------- */

int fusec_input_count(const fusec_program *p) {
    return p ? (int)(graph_of(p)->inputs.len + p->nsizes) : 0;
}

int fusec_output_count(const fusec_program *p) {
    return p ? (int)graph_of(p)->outputs.len : 0;
}

const char *fusec_input_name(const fusec_program *p, int i) {
    return i >= 0 && i < fusec_input_count(p) ? name_at(p, true, i) : NULL;
}

const char *fusec_output_name(const fusec_program *p, int i) {
    return i >= 0 && i < fusec_output_count(p) ? name_at(p, false, i) : NULL;
}

fusec_dtype fusec_output_dtype(const fusec_program *p, int i) {
    if (i < 0 || i >= fusec_output_count(p)) return FUSEC_NO_DTYPE;
    return (fusec_dtype)fc_at(graph_of(p), graph_of(p)->outputs.at[i].node)->dtype;
}

int fusec_output_rank(const fusec_program *p, int i) {
    if (i < 0 || i >= fusec_output_count(p)) return -1;
    return (int)fc_rank(graph_of(p), graph_of(p)->outputs.at[i].node);
}

int fusec_kernel_count(const fusec_program *p) {
    if (!p) return 0;
    const fc_plan *most = p->p->stored ? p->p->stored->plan : p->p->plan;
    return (int)most->steps.len;
}

uint64_t fusec_compile_count(const fusec_program *p) {
    uint64_t n = 0;
    for (fc_program *x = p ? p->p : NULL; x; x = x->stored) {
        pthread_mutex_lock(&x->lock);
        n += x->compiles;
        pthread_mutex_unlock(&x->lock);
    }
    return n;
}
