/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target.c - the interpreter as a row of codegen/target.h.
 *
 * A unit is an element of a map or a row of a reduction. Tapes depend on the kernel alone, so the
 * class says as little as it can: one class serves every size and stride. */
#include "codegen/interp/interp.h"

enum { TASK_ELEMENTS = 16384 };

/* Units a task takes: some ten thousand elements, whole blocks of lanes. */
static int64_t task_units(const fc_kernel *k, const fc_nest *n) {
    if (k->schedule == FC_SCHED_MAP) return TASK_ELEMENTS;
    int64_t count = n->count > 0 ? n->count : 1;
    int64_t units = count < TASK_ELEMENTS ? TASK_ELEMENTS / count : 1;
    if (k->schedule == FC_SCHED_INNER) return units;
    return (units + FC_LANES - 1) / FC_LANES * FC_LANES;
}

static fusec_status schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                             uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *launch,
                             fc_error *e) {
    (void)m;
    (void)align;
    size_t moves = (size_t)n->naccess * (n->np + n->nr);
    uint8_t *move = fc_arena_alloc(arena, moves + 1);
    if (!move) return fc_oom(e);
    memset(move, FC_MOVE_ANY, moves);
    memset(cls, 0, sizeof *cls);
    cls->target = FC_TARGET_INTERP;
    cls->np = (uint8_t)n->np;
    cls->nr = (uint8_t)n->nr;
    cls->wide = true;
    cls->vector = 1;
    cls->naccess = n->naccess;
    cls->move = move;

    memset(launch, 0, sizeof *launch);
    launch->units = n->rows;
    launch->unit = task_units(k, n);
    launch->tasks = n->rows / launch->unit + (n->rows % launch->unit != 0);
    launch->spans = 1;
    launch->span = n->count;
    return FUSEC_OK;
}

/* The text is what the tapes depend on: it identifies them, nobody compiles it. */
static fusec_status emit(const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                         const char *name, fc_str *out, fc_error *e) {
    (void)m;
    fc_str_printf(out, "interp %s ", name);
    fc_class_print(cls, out);
    fc_str_char(out, '\n');
    fc_kernel_print(k, NULL, out);
    return out->oom ? fc_oom(e) : FUSEC_OK;
}

const fc_target fc_interp_target = {.kind = FC_TARGET_INTERP, .schedule = schedule, .emit = emit};
