/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_tasks.h - what the schedules of a processor share: how work is cut into tasks. */
#ifndef FUSEC_CODEGEN_LLVM_LLVM_TASKS_H
#define FUSEC_CODEGEN_LLVM_LLVM_TASKS_H

#include "codegen/llvm/llvm_facts.h"

enum {
    FC_LL_TASK = 65536,   /* elements of cheap code that make a task worth handing over: 10 us */
    FC_LL_FEW_UNITS = 32, /* fewer than this do not keep the cores of a machine busy */
    FC_LL_PARTS = 16,     /* threads that are enough for what is short */
};

static inline int64_t fc_ll_at_least_one(int64_t v) {
    return v < 1 ? 1 : v;
}
static inline fc_move fc_ll_move_by(int64_t stride) {
    return stride == 0 ? FC_MOVE_ZERO : stride == 1 ? FC_MOVE_ONE : FC_MOVE_ANY;
}

/* Elements of a task: fewer when each takes longer, always a multiple of a vector. */
int64_t fc_ll_task_elements(const fc_kernel *k);
/* Whether all arrays together are more than the process may count on. */
bool fc_ll_exceeds_cache(const fc_machine *m, const fc_kernel *k, const fc_nest *n);

/* `elements` of a unit count as `elements` points of the kernel. What is not worth half a task is
 * not cut, and what is not worth three is brief: to wake a thread takes as long. */
void fc_ll_cut(const fc_kernel *k, fc_launch *l, int64_t units, int64_t elements);
void fc_ll_launch_split(const fc_kernel *k, const fc_nest *n, int64_t span, fc_class *cls,
                        fc_launch *l);

#endif
