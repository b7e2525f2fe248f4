/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* step_fft.c - Fourier transforms as steps: by the device's library where it has one, else in host
 * memory (fft.h). */
#include "runtime/device_host.h"
#include "runtime/fft.h"
#include "runtime/step.h"

/* What a step transforms: lines, and the longer of the lengths of an operand's and a result's. */
typedef struct job {
    fc_fft_kind kind;
    fusec_dtype t; /* complex */
    int64_t batch, n;
} job;

static job job_of(const fc_graph *g, fc_node step, fc_node v, const int64_t *values) {
    const fc_ninfo *s = fc_at(g, step);
    const uint32_t rank = fc_rank(g, v);
    job j = {.kind = (fc_fft_kind)s->attr, .t = (fusec_dtype)fc_at(g, v)->dtype, .batch = 1};
    if (!fc_is_complex(j.t)) j.t = fc_complex_of(j.t);
    for (uint32_t i = 0; i + 1 < rank; i++) j.batch *= values[fc_axis(g, v, i)];
    j.n = values[j.kind == FC_FFT_INVERSE_REAL ? (fc_dim)fc_list_at(g, s->shape)[rank - 1]
                                               : fc_axis(g, v, rank - 1)];
    return j;
}

fusec_status fc_fft_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    const fc_step *at = p->plan->steps.at[step];
    const job j = job_of(g, at->node, at->in[0].node, b->values);
    if (!j.batch || !j.n) return FUSEC_OK;
    fc_bound_step *s = &b->steps[step];
    const struct fc_device_fft *own = p->device->hooks->fft;
    if (own)
        FC_TRY(own->make(p->device, j.kind, j.t, j.n, j.batch, &s->launch.workspace_bytes,
                         &s->device_fft, e));
    if (s->device_fft) return FUSEC_OK;
    FC_TRY(fc_fft_new(p->alloc, j.t, j.n, fc_fft_is_real(j.kind), &s->fft, e));
    if (p->device->host_memory) s->launch.workspace_bytes = fc_fft_room(s->fft, j.batch);
    return FUSEC_OK;
}

void fc_fft_unbind(fc_program *p, fc_bound_step *s) {
    fc_fft_free(s->fft);
    if (s->device_fft) p->device->hooks->fft->free(p->device, s->device_fft);
}

void fc_fft_who(fc_device *d, fc_str *out) {
    if (d->hooks->fft) d->hooks->fft->who(d, out);
}

typedef struct task {
    fc_fft_body *body;
    void *arg;
} task;

static fusec_status run_task(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const task *t = arg;
    return t->body(t->arg, begin, end, e);
}

static fusec_status on_threads(void *user, int64_t units, fc_fft_body *body, void *arg,
                               fc_error *e) {
    task t = {body, arg};
    return fc_host_run(user, units, (units + 63) / 64, false, run_task, &t, e);
}

/* Down to the host and back. */
static fusec_status through_host(const fc_step_call *c, bool inverse, int64_t batch,
                                 const void *from, size_t in_bytes, void *to, size_t out_bytes,
                                 fc_error *e) {
    fc_device *d = c->p->device;
    char *in = fc_malloc(c->p->alloc, in_bytes + out_bytes), *out = in + in_bytes;
    if (!in) return fc_oom(e);
    fusec_status s = d->ops->download(d, c->stream, in, from, in_bytes, e);
    if (!s) s = d->ops->sync(d, c->stream, e);
    if (!s)
        s = fc_fft_run(c->b->steps[c->step].fft, inverse, batch, in, out, NULL, &fc_fft_at_once, e);
    if (!s) s = d->ops->upload(d, c->stream, to, out, out_bytes, e);
    if (!s) s = d->ops->sync(d, c->stream, e);
    fc_free(c->p->alloc, in);
    return s;
}

fusec_status fc_fft_step(const fc_step_call *c, fc_error *e) {
    const fc_step *s = c->p->plan->steps.at[c->step];
    const fc_fft *plan = c->b->steps[c->step].fft;
    fc_device *d = c->p->device;
    const fc_fft_runner runner = {on_threads, d};
    void *own = c->b->steps[c->step].device_fft;
    if ((!plan && !own) || !s->nout) return FUSEC_OK;
    const uint32_t in = s->in[0].buffer, out = s->out[0].buffer;
    const void *from = c->at[in];
    void *to = c->at[out];
    if (own) return d->hooks->fft->run(d, c->stream, own, from, to, c->workspace, e);
    const job j = job_of(&c->p->plan->graph, s->node, s->in[0].node, c->b->values);
    const bool inverse = fc_fft_is_inverse(j.kind);
    if (d->host_memory)
        return fc_fft_run(plan, inverse, j.batch, from, to, c->workspace, &runner, e);
    return through_host(c, inverse, j.batch, from, c->b->bytes[in], to, c->b->bytes[out], e);
}
