/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_tasks.c - how much work makes a task, and how work is cut into tasks. */
#include "codegen/llvm/schedule/llvm_tasks.h"

enum {
    FINEST = 16, /* a task is cut in as many at most, so that there is one for each thread */
    PART = 256,  /* elements: lines of every dtype; a part has four at least */
    LIBM = 100,  /* times what another function takes */
    BRIEF = 3,   /* tasks: to wake a thread takes some 30 us */
};

/* Functions of which there is no vector code. */
static uint32_t calls_of_libm(const fc_kernel *k) {
    uint32_t n = 0;
    for (size_t i = 0; i < k->code.ins.len; i++) {
        const fc_instr *ins = &k->code.ins.at[i];
        if (!fc_is_elementwise(ins->op) || !(fc_ops[ins->op].flags & FC_F_TRANSCENDENTAL)) continue;
        const char *column = fc_ops[ins->op].llvm_f;
        const fusec_dtype t = fc_val_dtype(&k->code, ins->a);
        n += column && column[0] == '#' &&
             !fc_math_has((fc_op)ins->op, fc_is_half(t) ? FUSEC_F32 : t);
    }
    return n;
}

int64_t fc_ll_task_elements(const fc_kernel *k) {
    uint32_t ops, transcendental;
    fc_kernel_cost(k, &ops, &transcendental);
    int64_t n = FC_LL_TASK / (1 + ops / 16 + transcendental + LIBM * calls_of_libm(k));
    return n < 1024 ? 1024 : n & ~(int64_t)1023;
}

bool fc_ll_exceeds_cache(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    return m->cache && fc_nest_bytes(k, n, false) > (double)m->cache;
}

void fc_ll_cut(const fc_kernel *k, fc_launch *l, int64_t units, int64_t elements) {
    const int64_t task = fc_ll_task_elements(k), each = fc_ll_at_least_one(elements);
    int64_t part = units < 2 * FC_LL_PARTS ? each : fc_ceil_div(units, FC_LL_PARTS) * each;
    if (part < task / FINEST) part = task / FINEST;
    if (part < 4 * PART) part = 4 * PART;
    if (each == 1) part = fc_ceil_div(part, PART) * PART;
    if (part > task) part = task;
    l->units = units;
    l->unit = fc_ll_at_least_one(part / each);
    l->brief = units < BRIEF * task / each;
    if (units < task / 2 / each) l->unit = fc_ll_at_least_one(units);
    l->tasks = fc_ceil_div(units, l->unit);
}

void fc_ll_launch_split(const fc_kernel *k, const fc_nest *n, int64_t span, fc_class *cls,
                        fc_launch *l) {
    cls->llvm.split = true;
    l->finish = true;
    l->span = span;
    l->spans = fc_ceil_div(n->count, span);
    l->workspace_bytes = (size_t)n->rows * (size_t)l->spans * fc_components(k) * 8;
}
