/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* step.c - see step.h: what all steps have in common. */
#include "runtime/step.h"

#include "runtime/call.h"

#include "ir/code.h"
#include "ir/eval.h"

fusec_status fc_step_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e) {
    fc_bound_step *s = &b->steps[step];
    const fc_kernel *k = &p->plan->steps.at[step]->kernel;
    s->nest.empty = true; /* there is no kernel to launch */
    s->layout = fc_layout_of((uint32_t)k->args.len, 0, 0, 0);
    s->words = fc_arena_alloc(&b->arena, s->layout.words * sizeof *s->words);
    if (!s->words) return fc_oom(e);
    switch (p->plan->steps.at[step]->kind) {
    case FC_STEP_LOOP: return fc_loop_bind(p, b, step, e);
    case FC_STEP_FFT: return fc_fft_bind(p, b, step, e);
    case FC_STEP_SORT: return fc_sort_bind(p, b, step, e);
    case FC_STEP_CALL: return fc_call_bind(p, b, step, e);
    default: return FUSEC_OK;
    }
}

/* ---- scalars --------------------------------------------------------------------------------- */

static uint64_t value_of(const fc_step *s, const uint64_t *values, fc_node n) {
    uint32_t lo = 0, hi = s->nscalars;
    while (hi - lo > 1) {
        const uint32_t mid = (lo + hi) / 2;
        *(s->scalars[mid] <= n ? &lo : &hi) = mid;
    }
    return values[lo];
}

static uint64_t leaf(const fc_step_call *c, const fc_ninfo *i) {
    uint64_t bits = 0;
    if (i->op == FC_OP_DIM) return (uint64_t)c->b->values[i->attr];
    if (i->op == FC_OP_CONST) return i->attr;
    memcpy(&bits, c->in[i->attr].data, fc_dtypes[i->dtype].bytes);
    return bits;
}

static fusec_status compute(const fc_step_call *c, const fc_step *s, uint32_t upto,
                            uint64_t *values, fc_error *e) {
    const fc_graph *g = &c->p->plan->graph;
    for (uint32_t i = 0; i <= upto; i++) {
        const fc_ninfo *n = fc_at(g, s->scalars[i]);
        uint64_t in[3] = {0};
        if (!n->nops) {
            values[i] = leaf(c, n);
            continue;
        }
        for (int k = 0; k < n->nops; k++) in[k] = value_of(s, values, n->src[k]);
        const fusec_dtype t = (fusec_dtype)fc_at(g, n->src[n->op == FC_OP_where ? 1 : 0])->dtype;
        if (!fc_fold((fc_op)n->op, t, (fusec_dtype)n->dtype, in, &values[i]))
            return fc_fail(e, FUSEC_INTERNAL, "the host can't compute %s", fc_ops[n->op].name);
    }
    return FUSEC_OK;
}

fusec_status fc_step_scalar(const fc_step_call *c, uint32_t number, uint64_t *bits, fc_error *e) {
    const fc_step *s = c->p->plan->steps.at[c->step];
    const fc_step_input *in = &s->in[number];
    fc_device *d = c->p->device;
    *bits = 0;
    if (in->buffer != FC_ON_HOST) {
        const size_t bytes = fc_dtypes[fc_at(&c->p->plan->graph, in->node)->dtype].bytes;
        FC_TRY(d->ops->download(d, c->stream, bits, c->at[in->buffer], bytes, e));
        return d->host_memory ? FUSEC_OK : d->ops->sync(d, c->stream, e);
    }
    uint32_t at = 0;
    while (s->scalars[at] != in->node) at++;
    uint64_t *values = fc_malloc(c->p->alloc, (at + 1) * sizeof *values);
    if (!values) return fc_oom(e);
    const fusec_status r = compute(c, s, at, values, e);
    *bits = values[at];
    fc_free(c->p->alloc, values);
    return r;
}

fusec_status fc_step_run(const fc_step_call *c, fc_error *e) {
    const fc_step *s = c->p->plan->steps.at[c->step];
    fc_device *d = c->p->device;
    FC_TRY(s->kind == FC_STEP_LOOP   ? fc_loop_run(c, e)
           : s->kind == FC_STEP_FFT  ? fc_fft_step(c, e)
           : s->kind == FC_STEP_CALL ? fc_call_run(c, e)
                                     : fc_sort_run(c, e));
    for (uint32_t i = 1; i < s->nout; i++) {
        const fc_step_output *from = &s->out[i - 1], *to = &s->out[i];
        if (from->number == to->number)
            FC_TRY(d->ops->copy(d, c->stream, c->at[to->buffer], c->at[from->buffer],
                                c->b->bytes[to->buffer], e));
    }
    return FUSEC_OK;
}
