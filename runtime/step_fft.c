/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* step_fft.c - Fourier transforms as steps: by the device's library where it has one, else in host
 * memory (fft.h). */
#include "runtime/device_host.h"
#include "runtime/fft.h"
#include "runtime/step.h"

static fc_node operand_of(const fc_step_call *c) {
    return c->p->plan->steps.at[c->step]->in[0].node;
}

/* Lines and their length. */
static void sizes(const fc_graph *g, fc_node v, const int64_t *values, int64_t *batch, int64_t *n) {
    const uint32_t rank = fc_rank(g, v);
    *batch = 1;
    for (uint32_t i = 0; i + 1 < rank; i++) *batch *= values[fc_axis(g, v, i)];
    *n = values[fc_axis(g, v, rank - 1)];
}

fusec_status fc_fft_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    const fc_node v = p->plan->steps.at[step]->in[0].node;
    int64_t batch, n;
    sizes(g, v, b->values, &batch, &n);
    if (!batch || !n) return FUSEC_OK;
    fc_bound_step *s = &b->steps[step];
    const struct fc_device_fft *own = p->device->hooks->fft;
    const fusec_dtype t = (fusec_dtype)fc_at(g, v)->dtype;
    if (own)
        FC_TRY(own->make(p->device, t, n, batch, &s->launch.workspace_bytes, &s->device_fft, e));
    if (s->device_fft) return FUSEC_OK;
    FC_TRY(fc_fft_new(p->alloc, t, n, &s->fft, e));
    if (p->device->host_memory) s->launch.workspace_bytes = fc_fft_room(s->fft, batch);
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

static fusec_status at_once(void *user, int64_t units, fc_fft_body *body, void *arg, fc_error *e) {
    (void)user;
    return body(arg, 0, units, e);
}

/* Down to the host and back. */
static fusec_status through_host(const fc_step_call *c, bool inverse, int64_t batch,
                                 const void *from, void *to, size_t bytes, fc_error *e) {
    fc_device *d = c->p->device;
    const fc_fft_runner runner = {at_once, NULL};
    char *in = fc_malloc(c->p->alloc, 2 * bytes);
    if (!in) return fc_oom(e);
    fusec_status s = d->ops->download(d, c->stream, in, from, bytes, e);
    if (!s) s = d->ops->sync(d, c->stream, e);
    if (!s)
        s = fc_fft_run(c->b->steps[c->step].fft, inverse, batch, in, in + bytes, NULL, &runner, e);
    if (!s) s = d->ops->upload(d, c->stream, to, in + bytes, bytes, e);
    if (!s) s = d->ops->sync(d, c->stream, e);
    fc_free(c->p->alloc, in);
    return s;
}

fusec_status fc_fft_step(const fc_step_call *c, fc_error *e) {
    const fc_step *s = c->p->plan->steps.at[c->step];
    const fc_graph *g = &c->p->plan->graph;
    const bool inverse = fc_at(g, s->node)->attr != 0;
    const fc_fft *plan = c->b->steps[c->step].fft;
    fc_device *d = c->p->device;
    const fc_fft_runner runner = {on_threads, d};
    const void *from = c->at[s->in[0].buffer];
    int64_t batch, n;
    void *own = c->b->steps[c->step].device_fft;
    if ((!plan && !own) || !s->nout) return FUSEC_OK;
    void *to = c->at[s->out[0].buffer];
    if (own) return d->hooks->fft->run(d, c->stream, own, inverse, from, to, c->workspace, e);
    sizes(g, operand_of(c), c->b->values, &batch, &n);
    if (d->host_memory) return fc_fft_run(plan, inverse, batch, from, to, c->workspace, &runner, e);
    return through_host(c, inverse, batch, from, to, c->b->bytes[s->out[0].buffer], e);
}
