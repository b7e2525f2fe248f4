/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan_view.c - the numbers behind a plan. See plan_view.h. */
#include "frontend/explain/plan_view.h"

#include <stdio.h>

#include "runtime/bind.h"

const char *fc_target_name(const fc_device *d) {
    return d->kind == FC_DEV_CUDA ? "cuda" : d->kind == FC_DEV_CPU ? "llvm" : "interp";
}

void fc_buffer_name(const fc_plan *p, uint32_t buffer, fc_str *out) {
    const fc_buffer *b = &p->buffers.at[buffer];
    if (b->kind == FC_BUF_INPUT)
        fc_str_add(out, p->graph.inputs.at[b->number].name);
    else if (b->kind == FC_BUF_OUTPUT)
        fc_str_add(out, p->graph.outputs.at[b->number].name);
    else
        fc_str_printf(out, "t%u", b->number);
}

void fc_buffer_type(const fc_plan *p, uint32_t buffer, fc_str *out) {
    fc_type_print(&p->graph, p->buffers.at[buffer].node, out);
}

const char *fc_step_name(char buf[16], const fc_plan *p, uint32_t i) {
    static const char letter[] = {[FC_STEP_KERNEL] = 'k',
                                  [FC_STEP_LOOP] = 'l',
                                  [FC_STEP_SORT] = 's',
                                  [FC_STEP_FFT] = 'f',
                                  [FC_STEP_CALL] = 'c'};
    snprintf(buf, 16, "%c%u", letter[p->steps.at[i]->kind], i);
    return buf;
}

size_t fc_plan_passed(const fc_plan_view *v, uint32_t i) {
    size_t bytes = 0;
    for (uint32_t k = i; k + 1 < i + v->kernels[i].joined; k++) {
        const fc_kernel *of = &v->p->plan->steps.at[k]->kernel;
        for (size_t a = 0; a < of->args.len; a++)
            if (of->args.at[a].written) bytes += v->bytes[of->args.at[a].buffer];
    }
    return bytes;
}

const char *fc_step_schedule(const fc_step *s) {
    return s->kind == FC_STEP_LOOP   ? "loop"
           : s->kind == FC_STEP_SORT ? "sort"
           : s->kind == FC_STEP_FFT  ? "fft"
           : s->kind == FC_STEP_CALL ? "call"
                                     : fc_schedule_name(s->kernel.schedule);
}

/* What the bound sizes say beyond the runtime's report. */
static fusec_status take_sizes(fc_plan_view *v, fc_error *e) {
    const fc_plan_query *s = v->s;
    fc_bound *b;
    size_t n = v->p->plan->buffers.len;
    v->bytes = fc_arena_alloc(s->arena, (n + 1) * sizeof *v->bytes);
    if (!v->bytes) return fc_oom(e);
    FC_TRY(fc_bound_get(v->p, s->nin, s->in, s->ndims, s->dims, 64, FC_NO_CODE, &b, e));
    memcpy(v->bytes, b->bytes, n * sizeof *v->bytes);
    for (uint32_t i = 0; i < v->count; i++) {
        v->kernels[i].elements = fc_strips_points(&b->steps[i]);
        if (b->steps[i].strips) v->kernels[i].strips = *b->steps[i].strips;
        v->kernels[i].follows = b->steps[i].joined && b->steps[i].joined_from != i;
        if (!b->steps[i].joined || v->kernels[i].follows) continue;
        v->kernels[i].joined = b->steps[i].joined->n;
        fc_joined_name(b->steps[i].joined, v->kernels[i].launch);
    }
    fc_bound_release(v->p, b);
    return FUSEC_OK;
}

fusec_status fc_plan_view_make(const fc_plan_query *s, fc_program *p, bool load, fc_plan_view *out,
                               fc_error *e) {
    fc_plan_view *v = out;
    if (s->sized) p = fc_program_for(p, s->nin, s->in, s->ndims, s->dims);
    *v = (fc_plan_view){.s = s, .p = p, .count = (uint32_t)p->plan->steps.len};
    v->kernels = fc_arena_alloc(s->arena, (v->count + 1) * sizeof *v->kernels);
    fc_step_report *r = fc_arena_alloc(s->arena, (v->count + 1) * sizeof *r);
    if (!v->kernels || !r) return fc_oom(e);
    if (s->sized) {
        FC_TRY(fc_program_report(p, s->nin, s->in, s->ndims, s->dims, !load, r, e));
        FC_TRY(take_sizes(v, e));
    }
    for (uint32_t i = 0; i < v->count; i++) {
        const fc_step *st = p->plan->steps.at[i];
        v->kernels[i].report = r[i];
        v->kernels[i].report.schedule = fc_step_schedule(st);
        v->kernels[i].report.ops = st->ops;
        v->read = fc_add_most(v->read, r[i].bytes_read);
        v->written = fc_add_most(v->written, r[i].bytes_written);
        v->traffic = fc_add_most(v->traffic, r[i].bytes_floor);
        v->predicted += r[i].predicted;
        v->flop = fc_add_most(v->flop, fc_mul_most(v->kernels[i].elements, (int64_t)st->ops));
    }
    return FUSEC_OK;
}

fusec_status fc_plan_view_time(fc_plan_view *v, fc_error *e) {
    const fc_plan_query *s = v->s;
    double *seconds = fc_arena_alloc(s->arena, (v->count + 1) * sizeof *seconds);
    if (!seconds) return fc_oom(e);
    FC_TRY(fc_program_time(v->p, s->nin, s->in, s->ndims, s->dims, s->nout, s->out, seconds, e));
    v->seconds = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        v->kernels[i].seconds = seconds[i];
        v->seconds += seconds[i];
    }
    return FUSEC_OK;
}
