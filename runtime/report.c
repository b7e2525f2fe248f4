/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report.c - what a program will do for given sizes: shapes of results, bytes, classes, generated
 * text. */
#include "runtime/strips.h"

fusec_status fc_program_shapes(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                               const fc_dim_value *dims, int64_t *shapes, fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    fc_bound *b;
    FC_TRY(fc_bound_get(p, nin, in, ndims, dims, 64, FC_NO_CODE, &b, e));
    for (size_t i = 0; i < g->outputs.len; i++)
        for (uint32_t k = 0; k < fc_rank(g, g->outputs.at[i].node); k++)
            *shapes++ = b->values[fc_axis(g, g->outputs.at[i].node, k)];
    fc_bound_release(p, b);
    return FUSEC_OK;
}

/* What count_bytes needs to know of the kernel's code and arrays. */
typedef struct traffic {
    const fc_bound *b;
    const fc_kernel *k;
    fc_val *roots;   /* [2 * reductions + stores] of the loop under way */
    uint8_t *needed; /* [ins] by the roots */
    uint8_t *seen;   /* [args] read by the loop under way */
    uint8_t *kept;   /* [accesses] loaded once for all loops */
    uint8_t *have;   /* [args] loaded to be kept */
} traffic;

/* What stays inside of a launch is nowhere. */
static int64_t bytes_of(const fc_bound *b, uint32_t buffer) {
    return b->inside && b->inside[buffer] ? 0 : (int64_t)b->bytes[buffer];
}

/* Bytes that the loop of the first n roots reads: every array once, but for what is kept. */
static int64_t read_bytes(const traffic *t, size_t n) {
    const fc_kernel *k = t->k;
    int64_t bytes = 0;
    memset(t->needed, 0, k->code.ins.len);
    memset(t->seen, 0, k->args.len + 1);
    fc_kernel_slice(&k->code, t->roots, n, t->needed);
    for (size_t i = 0; i < k->code.ins.len; i++) {
        const fc_instr *in = &k->code.ins.at[i];
        const bool at = in->op == FC_OP_LOAD_AT; /* imm: of an array, not of an access */
        if (!t->needed[i] || (!at && in->op != FC_OP_LOAD)) continue;
        const size_t arg = at ? in->imm : k->accesses.at[in->imm].buffer;
        if (t->seen[arg]++ || (!at && t->kept[in->imm] && t->have[arg]++)) continue;
        bytes = fc_add_most(bytes, bytes_of(t->b, k->args.at[arg].buffer));
    }
    return bytes;
}

/* Each loop reads its arrays, so a softmax of three loops reads its row three times, unless the
 * class keeps rows. */
static void add_loops(const traffic *t, fc_step_report *r) {
    const fc_kernel *k = t->k;
    size_t n = 0;
    for (uint32_t stage = 0; stage < k->nstages; stage++) {
        n = 0;
        for (size_t i = 0; i < k->reductions.len; i++)
            if (k->reductions.at[i].stage == stage)
                n += fc_red_values(&k->reductions.at[i], NULL, t->roots + n);
        r->bytes_read = fc_add_most(r->bytes_read, read_bytes(t, n));
    }
    n = 0;
    for (size_t i = 0; i < k->stores.len; i++) t->roots[n++] = k->stores.at[i].value;
    for (size_t i = 0; i < k->updates.len; i++) t->roots[n++] = k->updates.at[i].value;
    r->bytes_read = fc_add_most(r->bytes_read, read_bytes(t, n));
    for (size_t i = 0; i < k->args.len; i++) {
        const int64_t bytes = bytes_of(t->b, k->args.at[i].buffer);
        if (k->args.at[i].written) r->bytes_written = fc_add_most(r->bytes_written, bytes);
        r->bytes_floor = fc_add_most(r->bytes_floor, bytes);
    }
}

static fusec_status count_bytes(const fc_program *p, const fc_bound *b, size_t step,
                                fc_step_report *r, fc_error *e) {
    const fc_kernel *k = &p->plan->steps.at[step]->kernel;
    const fc_target *target = p->device->target;
    fc_arena arena;
    fc_arena_init(&arena, p->alloc);
    traffic t = {.b = b, .k = k};
    t.roots = fc_arena_alloc(
        &arena, (FC_MAX_COMPONENTS * k->reductions.len + fc_kernel_ends(k) + 1) * sizeof *t.roots);
    t.needed = fc_arena_alloc(&arena, k->code.ins.len + 1);
    t.seen = fc_arena_alloc(&arena, k->args.len + 1);
    t.kept = fc_arena_alloc(&arena, k->accesses.len + 1);
    t.have = fc_arena_alloc(&arena, k->args.len + 1);
    fusec_status s = t.roots && t.needed && t.seen && t.kept && t.have ? FUSEC_OK : fc_oom(e);
    if (!s) {
        memset(t.kept, 0, k->accesses.len + 1);
        memset(t.have, 0, k->args.len + 1);
    }
    if (!s && target->kept && !b->steps[step].nest.empty)
        s = target->kept(k, &b->steps[step].cls, t.kept, e);
    if (!s) add_loops(&t, r);
    fc_arena_free(&arena);
    return s;
}

double fc_predicted_seconds(const fc_device *d, int64_t bytes, double instructions) {
    const double reached = 0.88, launch = 3.1e-6;
    if (d->bandwidth <= 0) return 0;
    double seconds = (double)bytes / (reached * d->bandwidth);
    if (d->slots > 0 && instructions / d->slots > seconds) seconds = instructions / d->slots;
    return seconds < launch ? launch : seconds;
}

/* Of all points of a step; see fc_work_slots (passes/fuse.h). */
static double instructions_of(const fc_target *t, const fc_step *s, const fc_bound_step *b) {
    const bool dot = s->kind == FC_STEP_KERNEL && s->kernel.schedule == FC_SCHED_DOT;
    return (double)fc_strips_points(b) * (s->ops + 12.0 * s->transcendental) /
           (dot && t->products ? t->products(&b->cls) : 1);
}

/* A launch of several kernels counts as one with the work of all, for the first of them. */
static double predicted(const fc_program *p, const fc_bound *b, uint32_t step,
                        const fc_step_report *r) {
    const fc_bound_step *s = &b->steps[step];
    const fc_joined *j = s->joined;
    const uint32_t n = s->sharing; /* of one launch, all of the same size */
    int64_t bytes = 0;
    double work = 0;
    if (s->nest.empty || (j && s->joined_from != step)) return 0;
    for (uint32_t i = 0; i < (j ? j->n : 1); i++) {
        bytes = fc_add_most(bytes, r[step + i].bytes_floor);
        work +=
            (j ? j->times[i] : 1) *
            instructions_of(p->device->target, p->plan->steps.at[step + i], &b->steps[step + i]);
    }
    return fc_predicted_seconds(p->device, bytes * n, n * work) / n;
}

fusec_status fc_program_report(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                               const fc_dim_value *dims, bool dry, fc_step_report *out,
                               fc_error *e) {
    fc_bound *b;
    p = fc_program_for(p, nin, in, ndims, dims);
    FC_TRY(fc_bound_get(p, nin, in, ndims, dims, 64, dry ? FC_NO_CODE : FC_FULL_CODE, &b, e));
    fusec_status s = FUSEC_OK;
    for (size_t i = 0; !s && i < p->plan->steps.len; i++) {
        const fc_step *st = p->plan->steps.at[i];
        fc_str cls;
        memset(&out[i], 0, sizeof out[i]);
        out[i].step = (uint32_t)i;
        out[i].schedule = st->kind == FC_STEP_LOOP   ? "loop"
                          : st->kind == FC_STEP_FFT  ? "fft"
                          : st->kind == FC_STEP_CALL ? "call"
                                                     : fc_schedule_name(st->kernel.schedule);
        out[i].ops = st->ops;
        const fc_variant *code = b->steps[b->leader[i]].variant;
        if (code) {
            out[i].compiled = true;
            out[i].facts = code->facts;
        }
        fc_str_init(&cls, p->alloc);
        if (!b->steps[i].nest.empty) fc_class_print(&b->steps[i].cls, &cls);
        size_t len = cls.len < sizeof out[i].cls - 1 ? cls.len : sizeof out[i].cls - 1;
        memcpy(out[i].cls, cls.data, len);
        out[i].cls[len] = 0;
        s = cls.oom ? fc_oom(e) : count_bytes(p, b, i, &out[i], e);
        fc_str_free(&cls);
    }
    for (uint32_t i = 0; !s && i < p->plan->steps.len; i++)
        out[i].predicted = predicted(p, b, i, out);
    fc_bound_release(p, b);
    return s;
}

fusec_status fc_program_source(fc_program *p, uint32_t step, uint32_t nin, const fc_tensor *in,
                               uint32_t ndims, const fc_dim_value *dims, fc_str *out, fc_error *e) {
    fc_bound *b;
    p = fc_program_for(p, nin, in, ndims, dims);
    FC_TRY(fc_bound_get(p, nin, in, ndims, dims, 64, FC_NO_CODE, &b, e));
    fusec_status s = FUSEC_OK;
    if (step >= p->plan->steps.len)
        s = fc_fail(e, FUSEC_INVALID, "the program has %zu kernels", p->plan->steps.len);
    else if (!b->steps[step].nest.empty) {
        const fc_kernel *k = &p->plan->steps.at[step]->kernel;
        const fc_joined *j = b->steps[step].joined;
        char name[FC_KERNEL_NAME];
        fc_kernel_name(k, name);
        if (j) fc_joined_name(j, name);
        if (j && step != b->steps[step].joined_from)
            fc_str_printf(out, "// part of the launch of k%u\n", b->steps[step].joined_from);
        else if (j)
            s = p->device->target->emit_joined(&p->device->machine, j, name, out, e);
        else
            s = p->device->target->emit(&p->device->machine, k, &b->steps[step].cls, name, out, e);
    }
    fc_bound_release(p, b);
    return s;
}
