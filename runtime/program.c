/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program.c - a call of a compiled program: bind, place arguments, launch the steps in order. */
#include "runtime/program.h"

#include <stdio.h>
#include <time.h>

#include "passes/bodies.h"
#include "runtime/apart.h"
#include "runtime/cut.h"
#include "runtime/external.h"
#include "runtime/outside.h"
#include "runtime/ready.h"
#include "runtime/stage.h"
#include "runtime/step.h"
#include "runtime/strides.h"

/* ---- life -------------------------------------------------------------------------------- */

static fc_program *new_program(fc_context *c, const fc_program_options *o) {
    fc_program *p = fc_calloc(&c->config.alloc, 1, sizeof *p);
    if (!p) return NULL;
    p->ctx = c;
    p->alloc = &c->config.alloc;
    p->device = o->device;
    p->mode = o->mode;
    snprintf(p->name, sizeof p->name, "%s", o->name ? o->name : "");
    p->graph = o->graph;
    p->max_rounds = o->max_rounds;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

/* The bodies of its loops as programs; they are at most FC_MAX_LOOP_LEVEL deep. */
static fusec_status make_bodies(fc_program *p, const fc_program_options *o, fc_error *e) {
    const size_t n = p->plan->bodies.len;
    if (!n) return FUSEC_OK;
    p->bodies = fc_calloc(p->alloc, n, sizeof(fc_program *));
    if (!p->bodies) return fc_oom(e);
    for (size_t i = 0; i < n; i++) {
        fc_program *body = p->bodies[i] = new_program(p->ctx, o);
        if (!body) return fc_oom(e);
        body->plan = p->plan->bodies.at[i]->plan;
        body->is_body = true;
        FC_TRY(fc_externs_check(body, e));
        FC_TRY(make_bodies(body, o, e));
    }
    return FUSEC_OK;
}

fusec_status fc_program_new(fc_context *c, const fc_graph *g, const fc_program_options *o,
                            fc_program **out, fc_error *e) {
    *out = NULL;
    fc_program *p = new_program(c, o);
    if (!p) return fc_oom(e);
    fc_pass_options po = {.mode = o->mode,
                          .unfused = o->unfused,
                          .max_ops = o->max_ops,
                          .store_operands = o->store_operands,
                          .dump = o->dump,
                          .max_rounds = o->max_rounds};
#ifndef NDEBUG
    po.verify = g->nodes.len <= 4096;
#endif
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    fusec_status s = fc_plan_build(g, &po, &p->plan, e);
    clock_gettime(CLOCK_MONOTONIC, &b);
    p->plan_ns = (int64_t)(b.tv_sec - a.tv_sec) * 1000000000 + (b.tv_nsec - a.tv_nsec);
    if (!s) s = fc_externs_check(p, e);
    if (!s) s = make_bodies(p, o, e);
    if (!s) s = fc_program_store_operands(p, g, o, e);
    if (s) {
        fc_program_free(p);
        return s;
    }
    fc_log(c, 2, "plan: %zu nodes, %zu kernels, %lld us", p->plan->graph.nodes.len,
           p->plan->steps.len, (long long)(p->plan_ns / 1000));
    *out = p;
    return FUSEC_OK;
}

void fc_program_free(fc_program *p) {
    if (!p) return;
    fc_cuts_free(p);
    fc_ready_free_all(p);
    while (p->bound) {
        fc_bound *b = p->bound;
        p->bound = b->next;
        fc_bound_free(p, b); /* may hold calls of bodies */
    }
    for (size_t i = 0; p->bodies && i < p->plan->bodies.len; i++) fc_program_free(p->bodies[i]);
    fc_free(p->alloc, p->bodies);
    fc_program_free(p->stored);
    fc_outside_free(p);
    if (!p->is_body) fc_plan_free(p->plan);
    pthread_mutex_destroy(&p->lock);
    fc_free(p->alloc, p);
}

/* ---- the arguments of one call ----------------------------------------------------------- */

typedef struct fc_call {
    fc_program *p;
    fc_stream stream;
    fc_bound *b;
    uint32_t nin, nout;
    const fc_tensor *in;
    const fc_tensor *out;
    void **at;       /* address of each buffer of the plan */
    void **borrowed; /* device copies of host arrays, by buffer: freed at the end */
    void *scratch;
    const int64_t **strides; /* of all arguments; NULL: all are dense */
    uint32_t blocked;        /* an argument that has to be replaced by a copy; UINT32_MAX: none */
} fc_call;

static bool touch(const fc_call *c, uint32_t a, const void *x, uint32_t b, const void *y) {
    return !fc_bound_apart(c->b, a, x, b, y);
}

/* Results may share no byte with each other, nor their elements with themselves. One that shares
 * bytes with an input has to be exactly this input, where that is harmless. */
static fusec_status check_overlap(fc_call *c, fc_error *e) {
    const fc_graph *g = &c->p->plan->graph;
    for (uint32_t o = 0; o < c->nout; o++) {
        const uint32_t at = c->nin + o;
        if (c->b->bytes[at] && !c->out[o].data)
            return fc_fail(e, FUSEC_INVALID, "no memory was given for the result %s",
                           g->outputs.at[o].name);
        if (!fc_strides_apart(c->out[o].rank, c->out[o].shape, c->out[o].strides))
            return fc_fail(e, FUSEC_INVALID, "the strides of the result %s let elements overlap",
                           g->outputs.at[o].name);
        for (uint32_t i = 0; i < o; i++)
            if (touch(c, at, c->out[o].data, c->nin + i, c->out[i].data))
                return fc_fail(e, FUSEC_INVALID, "the results %s and %s share memory",
                               g->outputs.at[i].name, g->outputs.at[o].name);
        for (uint32_t i = 0; i < c->nin; i++)
            if (touch(c, at, c->out[o].data, i, c->in[i].data) &&
                !fc_bound_in_place(c->b, c->nin, i, c->in[i].data, o, c->out[o].data))
                c->blocked = at;
    }
    return FUSEC_OK;
}

static fusec_status check_counts(const fc_call *c, fc_error *e) {
    const fc_graph *g = &c->p->plan->graph;
    if (c->nin != g->inputs.len)
        return fc_fail(e, FUSEC_ARGUMENT_COUNT, "the program has %zu inputs, but %u were given",
                       g->inputs.len, c->nin);
    if (c->nout != g->outputs.len)
        return fc_fail(e, FUSEC_ARGUMENT_COUNT,
                       "the program has %zu results, but memory for %u was given", g->outputs.len,
                       c->nout);
    return FUSEC_OK;
}

static fusec_status check_outputs(fc_call *c, fc_error *e) {
    const fc_graph *g = &c->p->plan->graph;
    for (uint32_t i = 0; i < c->nin; i++)
        if (!c->in[i].data && c->b->bytes[i])
            return fc_fail(e, FUSEC_INVALID, "the input %s has no data", g->inputs.at[i].name);
    for (uint32_t i = 0; i < c->nout; i++) {
        fc_node n = g->outputs.at[i].node;
        bool same = c->out[i].dtype == fc_at(g, n)->dtype && c->out[i].rank == fc_rank(g, n);
        for (uint32_t k = 0; same && k < c->out[i].rank; k++)
            same = c->out[i].shape[k] == c->b->values[fc_axis(g, n, k)];
        if (same) continue;
        fc_str s;
        fc_str_init(&s, c->p->alloc);
        fc_str_printf(&s, "the result %s is %s", g->outputs.at[i].name,
                      fc_dtypes[fc_at(g, n)->dtype].name);
        for (uint32_t k = 0; k < fc_rank(g, n); k++)
            fc_str_printf(&s, "%s%lld", k ? ", " : "[", (long long)c->b->values[fc_axis(g, n, k)]);
        fc_str_add(&s, fc_rank(g, n) ? "], but the memory given for it is described otherwise"
                                     : ", but the memory given for it is described otherwise");
        fusec_status r = fc_fail(
            e, c->out[i].dtype == fc_at(g, n)->dtype ? FUSEC_RESULT_SHAPE : FUSEC_RESULT_DTYPE,
            "%s", s.data);
        fc_str_free(&s);
        return r;
    }
    return check_overlap(c, e);
}

/* Puts array `buf` where the device can use it: as it is, or a copy in device memory. */
static fusec_status place_array(fc_call *c, uint32_t buf, const fc_tensor *a, bool is_input,
                                fc_error *e) {
    fc_device *d = c->p->device;
    size_t bytes = c->b->bytes[buf];
    if (d->host_memory || a->on_device) {
        c->at[buf] = a->data;
        return FUSEC_OK;
    }
    if (is_input && a->rank == 0) return FUSEC_OK; /* passed by value */
    FC_TRY(fc_context_memory(c->p->ctx, d, c->stream, bytes, &c->borrowed[buf], e));
    c->at[buf] = c->borrowed[buf];
    return is_input ? d->ops->upload(d, c->stream, c->at[buf], a->data, bytes, e) : FUSEC_OK;
}

static fusec_status place_all(fc_call *c, fc_error *e) {
    fc_device *d = c->p->device;
    for (uint32_t i = 0; i < c->nin; i++) FC_TRY(place_array(c, i, &c->in[i], true, e));
    for (uint32_t i = 0; i < c->nout; i++) FC_TRY(place_array(c, c->nin + i, &c->out[i], false, e));
    if (!c->b->scratch) return FUSEC_OK;
    FC_TRY(fc_context_memory(c->p->ctx, d, c->stream, c->b->scratch, &c->scratch, e));
    for (size_t i = c->nin + c->nout; i < c->p->plan->buffers.len; i++)
        c->at[i] = (char *)c->scratch + c->b->place[i];
    return c->b->tickets_bytes
               ? d->ops->zero(d, c->stream, (char *)c->scratch + c->b->tickets_begin,
                              c->b->tickets_bytes, e)
               : FUSEC_OK;
}

static void release_all(fc_call *c) {
    fc_device *d = c->p->device;
    for (size_t i = 0; c->borrowed && i < c->p->plan->buffers.len; i++)
        if (c->borrowed[i]) d->ops->free(d, c->stream, c->borrowed[i]);
    if (c->scratch) d->ops->free(d, c->stream, c->scratch);
}

/* ---- launching --------------------------------------------------------------------------- */

static void fill_step(const fc_call *c, uint32_t step, fc_layout at, int64_t *words) {
    const fc_kernel *k = &c->p->plan->steps.at[step]->kernel;
    for (uint32_t a = 0; a < k->args.len; a++)
        words[at.args + a] += (int64_t)(uintptr_t)c->at[k->args.at[a].buffer];
    for (uint32_t x = 0; x < k->params.len; x++) {
        const fc_scalar *prm = &k->params.at[x];
        if (prm->is_dim) continue;
        int64_t bits = 0;
        const size_t bytes = fc_dtypes[prm->dtype].bytes;
        memcpy(&bits, (const char *)c->in[prm->source].data + prm->part * bytes, bytes);
        words[at.params + x] = bits;
    }
}

/* The parameter block of a launch with this call's pointers and scalars. */
static void fill(const fc_call *c, const fc_bound_launch *l, int64_t *words) {
    const fc_bound_step *s = &c->b->steps[l->steps[0]];
    memcpy(words, l->words, l->nwords * sizeof *words);
    for (uint32_t i = 0; i < l->n; i++) fill_step(c, l->steps[i], fc_launch_layout(s, l, i), words);
    if (s->workspace != SIZE_MAX)
        words[s->layout.extra + FC_PB_WORKSPACE] =
            (int64_t)(uintptr_t)((char *)c->scratch + s->workspace);
    if (s->tickets != SIZE_MAX)
        words[s->layout.extra + FC_PB_TICKETS] =
            (int64_t)(uintptr_t)((char *)c->scratch + s->tickets);
    words[s->layout.extra + FC_PB_REPORT] = fc_outside_address(c->p, c->b, l->steps[0], c->scratch);
}

static bool is_kernel(const fc_program *p, uint32_t step) {
    return p->plan->steps.at[step]->kind == FC_STEP_KERNEL;
}

static fusec_status run_step(const fc_call *c, uint32_t step, double *seconds, fc_error *e) {
    struct timespec a, b;
    fc_device *d = c->p->device;
    const size_t at = c->b->steps[step].workspace;
    const fc_step_call s = {.p = c->p,
                            .stream = c->stream,
                            .b = c->b,
                            .step = step,
                            .at = c->at,
                            .in = c->in,
                            .workspace = at == SIZE_MAX ? NULL : (char *)c->scratch + at};
    if (!seconds) return fc_step_run(&s, e);
    FC_TRY(d->ops->sync(d, c->stream, e));
    clock_gettime(CLOCK_MONOTONIC, &a);
    FC_TRY(fc_step_run(&s, e));
    FC_TRY(d->ops->sync(d, c->stream, e));
    clock_gettime(CLOCK_MONOTONIC, &b);
    *seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    return FUSEC_OK;
}

static fusec_status launch(const fc_call *c, const fc_bound_launch *l, int64_t *words, int repeats,
                           double *seconds, fc_error *e) {
    const fc_bound_step *s = &c->b->steps[l->steps[0]];
    fc_device *d = c->p->device;
    if (!is_kernel(c->p, l->steps[0])) return run_step(c, l->steps[0], seconds, e);
    if (s->nest.empty) return FUSEC_OK;
    fill(c, l, words);
    if (!seconds)
        return d->ops->launch(d, c->stream, s->variant->code, &s->cls, &s->launch, words, l->nwords,
                              e);
    return d->ops->time(d, c->stream, s->variant->code, &s->cls, &s->launch, words, l->nwords,
                        repeats, seconds, e);
}

/* Strips of one chain, side by side; gives the number of launches. */
static fusec_status launch_strips(const fc_call *c, const fc_bound_launch *l, uint32_t *n,
                                  fc_error *e) {
    fc_device *d = c->p->device;
    fc_arena arena;
    fc_arena_init(&arena, c->p->alloc);
    *n = l->strips->n * l->strips->count;
    fc_prepared *all = fc_arena_alloc(&arena, *n * sizeof *all);
    fusec_status s = all ? FUSEC_OK : fc_oom(e);
    for (uint32_t i = 0; !s && i < *n; i++) {
        const fc_bound_step *step = &c->b->steps[l[i].steps[0]];
        all[i] = (fc_prepared){.code = step->variant->code,
                               .cls = &step->cls,
                               .launch = &step->launch,
                               .words = l[i].nwords,
                               .strips = l[i].strips};
        all[i].params = fc_arena_alloc(&arena, l[i].nwords * sizeof *all[i].params);
        if (all[i].params)
            fill(c, &l[i], all[i].params);
        else
            s = fc_oom(e);
    }
    if (!s) s = d->ops->launch_all(d, c->stream, all, *n, e);
    fc_arena_free(&arena);
    return s;
}

/* Its kernels have equal shares of the time of a chain. */
static fusec_status time_strips(const fc_call *c, const fc_bound_launch *l, double *seconds,
                                uint32_t *n, fc_error *e) {
    enum { REPEATS = 4 };
    struct timespec a = {0}, b;
    for (int i = 0; i < REPEATS; i++) {
        if (i == 1) clock_gettime(CLOCK_MONOTONIC, &a);
        FC_TRY(launch_strips(c, l, n, e));
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    const double all = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    for (uint32_t i = 0; i < l->strips->n; i++)
        seconds[l[i].steps[0]] = all / (REPEATS - 1) / l->strips->n;
    return FUSEC_OK;
}

/* Steps of one launch have equal shares of its time. */
static fusec_status time_launch(const fc_call *c, const fc_bound_launch *l, int64_t *words,
                                double *seconds, fc_error *e) {
    double once = 0, each = 0;
    FC_TRY(launch(c, l, words, 1, &once, e)); /* also warms up */
    if (!is_kernel(c->p, l->steps[0])) return launch(c, l, words, 1, &seconds[l->steps[0]], e);
    int repeats = once > 0.02 ? 3 : once > 1e-4 ? 20 : 100;
    FC_TRY(launch(c, l, words, repeats, &each, e));
    for (uint32_t i = 0; i < l->n; i++) seconds[l->steps[i]] += each / l->n;
    return FUSEC_OK;
}

static fusec_status launch_all(fc_call *c, double *seconds, fc_error *e) {
    int64_t small[FC_ALIKE_WORDS], *words = small;
    uint32_t most = 0;
    for (uint32_t i = 0; i < c->b->nlaunches; i++)
        if (c->b->launches[i].nwords > most) most = c->b->launches[i].nwords;
    if (most > FC_COUNT(small)) words = fc_malloc(c->p->alloc, most * sizeof *words);
    if (!words) return fc_oom(e);
    for (size_t i = 0; seconds && i < c->p->plan->steps.len; i++) seconds[i] = 0;
    fusec_status s = FUSEC_OK;
    for (uint32_t i = 0, n = 1; !s && i < c->b->nlaunches; i += n) {
        const fc_bound_launch *l = &c->b->launches[i];
        n = 1;
        if (l->strips)
            s = seconds ? time_strips(c, l, seconds, &n, e) : launch_strips(c, l, &n, e);
        else
            s = seconds ? time_launch(c, l, words, seconds, e) : launch(c, l, words, 1, NULL, e);
    }
    if (words != small) fc_free(c->p->alloc, words);
    return s;
}

static fusec_status collect(fc_call *c, fc_error *e) {
    fc_device *d = c->p->device;
    for (uint32_t i = 0; i < c->nout; i++)
        if (c->borrowed[c->nin + i])
            FC_TRY(d->ops->download(d, c->stream, c->out[i].data, c->at[c->nin + i],
                                    c->b->bytes[c->nin + i], e));
    return FUSEC_OK;
}

static bool any_copied(const fc_call *c) {
    bool copied = false;
    for (uint32_t i = 0; i < c->nin + c->nout; i++) copied |= c->borrowed[i] != NULL;
    return copied;
}

/* The caller may use its host arrays again when the call is over, whatever became of it: none of
 * them is still being copied. A call on device arrays alone does not wait. */
static fusec_status wait_for_copies(const fc_call *c, fc_error *e) {
    fc_device *d = c->p->device;
    return any_copied(c) ? d->ops->sync(d, c->stream, e) : FUSEC_OK;
}

/* What is measured is full code. What is recorded on a stream runs whenever it is replayed, so its
 * code must not be such as is replaced. */
static fc_code_wanted code_for(const fc_call *c, const double *seconds) {
    fc_device *d = c->p->device;
    uint64_t id = 1;
    if (seconds) return FC_FULL_CODE;
    if (!c->stream || !d->ops->stream_id) return FC_ANY_CODE;
    return d->ops->stream_id(d, c->stream, &id) && id ? FC_ANY_CODE : FC_FULL_CODE;
}

/* Binds the call; c->blocked says what has to be replaced before it can be tried again. */
static fusec_status bind(fc_call *c, uint32_t ndims, const fc_dim_value *dims,
                         const double *seconds, fc_error *e) {
    fc_layouts l = {.blocked = UINT32_MAX};
    l.align = fc_common_alignment(c->p->device, c->nin, c->in, c->nout, c->out);
    c->blocked = UINT32_MAX;
    bool strided = false;
    for (uint32_t i = 0; i < c->nin; i++) strided |= c->in[i].strides != NULL;
    for (uint32_t i = 0; i < c->nout; i++) strided |= c->out[i].strides != NULL;
    if (strided && !c->strides &&
        !(c->strides = fc_malloc(c->p->alloc, (c->nin + c->nout) * sizeof *c->strides)))
        return fc_oom(e);
    for (uint32_t i = 0; strided && i < c->nin; i++) c->strides[i] = c->in[i].strides;
    for (uint32_t i = 0; strided && i < c->nout; i++) c->strides[c->nin + i] = c->out[i].strides;
    l.strides = strided ? c->strides : NULL;
    fusec_status s =
        fc_bound_get_for(c->p, c->nin, c->in, ndims, dims, &l, code_for(c, seconds), &c->b, e);
    if (s == FUSEC_NOT_YET && l.blocked != UINT32_MAX) {
        c->blocked = l.blocked;
        e->code = s = FUSEC_OK;
    }
    if (!s && c->blocked == UINT32_MAX) s = check_outputs(c, e);
    return s;
}

static fusec_status run(fc_call *c, double *seconds, fc_error *e) {
    FC_TRY(fc_outside_make(c->p, e));
    void *small[2 * 32] = {0};
    size_t n = c->p->plan->buffers.len;
    void **table = n <= 32 ? small : fc_calloc(c->p->alloc, 2 * n, sizeof *table);
    if (!table) return fc_oom(e);
    c->at = table;
    c->borrowed = table + n;
    fusec_status s = place_all(c, e);
    if (!s) s = launch_all(c, seconds, e);
    if (!s) s = collect(c, e);
    fusec_status waited = wait_for_copies(c, s ? NULL : e);
    if (!s) s = waited;
    if (!s && c->b->report != SIZE_MAX)
        s = fc_outside_look(c->p, c->b, (uint64_t *)(void *)((char *)c->scratch + c->b->report), e);
    if (!s && any_copied(c)) s = fc_outside_wait(c->p, c->b, c->stream, e);
    release_all(c);
    if (table != small) fc_free(c->p->alloc, table);
    return s;
}

/* Calls of others are not made ready. */
static bool has_kernels_alone(const fc_program *p) {
    for (size_t i = 0; i < p->plan->steps.len; i++)
        if (p->plan->steps.at[i]->kind != FC_STEP_KERNEL) return false;
    return true;
}

static fusec_status call(fc_program *p, fc_stream stream, uint32_t nin, const fc_tensor *in,
                         uint32_t ndims, const fc_dim_value *dims, uint32_t nout,
                         const fc_tensor *out, double *seconds, fc_error *e) {
    fc_stage stage;
    fc_call c = {.p = p, .stream = stream, .nin = nin, .nout = nout, .in = in, .out = out};
    FC_TRY(check_counts(&c, e));
    fc_stage_open(&stage, p, stream, nin, in, nout, out);
    fusec_status s = fc_stage_start(&stage, e);
    for (bool again = true; !s && again;) {
        c.in = fc_stage_in(&stage);
        c.out = fc_stage_out(&stage);
        s = bind(&c, ndims, dims, seconds, e);
        again = !s && c.blocked != UINT32_MAX;
        if (again && fc_stage_has(&stage, c.blocked))
            s = fc_fail(e, FUSEC_INTERNAL, "an argument was replaced in vain");
        if (again && !s) s = fc_stage_replace(&stage, c.blocked, e);
        if (again && c.b) {
            fc_bound_release(p, c.b);
            c.b = NULL;
        }
    }
    if (!s) s = run(&c, seconds, e);
    if (!s) s = fc_stage_finish(&stage, e);
    if (!s && !seconds && !stage.args && !c.b->quick && has_kernels_alone(p))
        fc_ready_keep(p, stream, c.b, nin, in, ndims, dims, nout, out);
    if (c.b) fc_bound_release(p, c.b);
    fc_stage_close(&stage);
    fc_free(p->alloc, c.strides);
    return s;
}

fusec_status fc_program_run(fc_program *p, fc_stream stream, uint32_t nin, const fc_tensor *in,
                            uint32_t ndims, const fc_dim_value *dims, uint32_t nout, fc_tensor *out,
                            fc_error *e) {
    fusec_status s;
    if (fc_ready_run(p, stream, nin, in, ndims, dims, nout, out, &s, e)) return s;
    p = fc_program_for(p, nin, in, ndims, dims);
    return call(p, stream, nin, in, ndims, dims, nout, out, NULL, e);
}

fusec_status fc_program_time(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                             const fc_dim_value *dims, uint32_t nout, fc_tensor *out,
                             double *seconds, fc_error *e) {
    p = fc_program_for(p, nin, in, ndims, dims);
    return call(p, NULL, nin, in, ndims, dims, nout, out, seconds, e);
}
