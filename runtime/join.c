/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* join.c - see join.h. */
#include "runtime/join.h"

static const fc_kernel *kernel_of(const fc_program *p, uint32_t step) {
    return &p->plan->steps.at[step]->kernel;
}

/* ---- what is passed on ----------------------------------------------------------------------- */

/* A temporary that step `step` makes, the next one reads, and nobody else uses. */
static bool is_passed(const fc_program *p, uint32_t step, uint32_t buffer) {
    const fc_buffer *b = &p->plan->buffers.at[buffer];
    return b->kind == FC_BUF_TEMP && !b->mixed && b->writer == step &&
           b->first_reader == step + 1 && b->last_reader == step + 1;
}

static bool can_follow(const fc_program *p, uint32_t step) {
    const fc_step *s = p->plan->steps.at[step];
    if (s->kind != FC_STEP_KERNEL || p->plan->steps.at[step + 1]->kind != FC_STEP_KERNEL)
        return false;
    for (size_t a = 0; a < s->kernel.args.len; a++)
        if (s->kernel.args.at[a].written && !is_passed(p, step, s->kernel.args.at[a].buffer))
            return false;
    return true;
}

/* Whether the step behind a map reads what that makes at several places next to each element. */
static bool reads_around(const fc_program *p, uint32_t step) {
    const fc_kernel *k = kernel_of(p, step), *next = kernel_of(p, step + 1);
    if (k->schedule != FC_SCHED_MAP || next->schedule != FC_SCHED_MAP || k->stores.len != 1)
        return false;
    const uint32_t buffer = k->args.at[k->accesses.at[k->stores.at[0].access].buffer].buffer;
    uint32_t reads = 0;
    for (size_t v = 0; v < next->code.ins.len; v++) {
        const fc_instr *i = &next->code.ins.at[v];
        const uint64_t arg = i->op == FC_OP_LOAD_AT ? i->imm
                             : i->op == FC_OP_LOAD  ? next->accesses.at[i->imm].buffer
                                                    : next->args.len;
        reads += arg < next->args.len && next->args.at[arg].buffer == buffer;
    }
    return reads > 1;
}

/* ---- joining --------------------------------------------------------------------------------- */

typedef struct attempt {
    fc_joined j;
    fc_nest nest[FC_MOST_JOINED];
    fc_launch launch;
} attempt;

static fusec_status bind_nest(fc_program *p, fc_bound *b, uint32_t step, fc_nest *n, uint32_t * not,
                              fc_error *e) {
    const int64_t *const *strides = NULL;
    const fc_kernel *k = kernel_of(p, step);
    FC_TRY(fc_bound_strides(p, b, k, &strides, not, e));
    return fc_nest_bind_plain(k, b->values, strides, &b->arena, n, e);
}

static bool keep(fc_program *p, fc_bound *b, uint32_t first, const attempt *x) {
    attempt *kept = fc_arena_alloc(&b->arena, sizeof *kept);
    if (!b->inside) b->inside = fc_arena_alloc(&b->arena, p->plan->buffers.len + 1);
    if (!kept || !b->inside) return false;
    *kept = *x;
    for (uint32_t i = 0; i < x->j.n; i++) {
        const fc_kernel *k = kernel_of(p, first + i);
        fc_bound_step *s = &b->steps[first + i];
        kept->j.nest[i] = &kept->nest[i];
        s->joined = &kept->j;
        s->joined_from = first;
        s->nest = kept->nest[i];
        s->cls = kept->j.cls[i];
        s->launch = kept->launch;
        if (i) s->launch.workspace_bytes = s->launch.tickets = 0;
        for (size_t a = 0; i + 1 < x->j.n && a < k->args.len; a++)
            if (k->args.at[a].written) b->inside[k->args.at[a].buffer] = 1;
    }
    return true;
}

static fusec_status try_join(fc_program *p, fc_bound *b, uint32_t first, uint32_t n, bool *done,
                             fc_error *e) {
    const fc_device *d = p->device;
    attempt x = {.j.n = n, .j.values = b->values};
    *done = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t blocked = 0;
        fc_error why = {0};
        x.j.kernel[i] = kernel_of(p, first + i);
        x.j.times[i] = 1;
        x.j.nest[i] = &x.nest[i];
        const fusec_status s = bind_nest(p, b, first + i, &x.nest[i], &blocked, &why);
        if (s == FUSEC_OUT_OF_MEMORY) return fc_oom(e);
        if (s) return FUSEC_OK; /* its own binding says what is wrong */
    }
    if (fc_joined_layouts(&x.j) > FC_ALIKE_WORDS) return FUSEC_OK;
    FC_TRY(d->target->join(&d->machine, p->mode, b->align, &b->arena, &x.j, &x.launch, done, e));
    return *done && !keep(p, b, first, &x) ? fc_oom(e) : FUSEC_OK;
}

fusec_status fc_join_find(fc_program *p, fc_bound *b, fc_error *e) {
    const uint32_t steps = (uint32_t)p->plan->steps.len;
    if (!p->device->target->join || b->plain) return FUSEC_OK;
    for (uint32_t s = 0; s + 1 < steps; s++) {
        uint32_t n = 1;
        bool done = false;
        const bool dot = kernel_of(p, s)->schedule == FC_SCHED_DOT;
        if (!dot && !reads_around(p, s)) continue;
        while (n < (dot ? FC_MOST_JOINED : 2) && s + n < steps && can_follow(p, s + n - 1)) n++;
        for (; n > 1 && !done; n--) {
            FC_TRY(try_join(p, b, s, n, &done, e));
            if (done) s += n - 1;
        }
    }
    return FUSEC_OK;
}

bool fc_join_words(fc_bound *b, fc_bound_launch *l) {
    const fc_joined *j = b->steps[l->steps[0]].joined;
    l->nwords = j->layout[j->n - 1].words;
    l->words = fc_arena_alloc(&b->arena, l->nwords * sizeof *l->words);
    for (uint32_t i = 0; l->words && i < j->n; i++) {
        const fc_bound_step *s = &b->steps[l->steps[i]];
        memcpy(l->words + j->layout[i].args, s->words, s->layout.words * sizeof *l->words);
    }
    return l->words != NULL;
}
