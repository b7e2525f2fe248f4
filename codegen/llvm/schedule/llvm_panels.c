/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_panels.c - which contractions go through panels (llvm_dot.c), and how they are cut into
 * blocks. The order of a result does not depend on it. */
#include "codegen/dot.h"
#include "codegen/llvm/schedule/llvm_schedule.h"

enum {
    MOST_HEIGHTS = 12,    /* of a block of rows: they share the panel of the right operand */
    MOST_WIDTHS = 16,     /* of a block of columns: a chunk of it stays in the second-level cache */
    TASKS = 3,            /* for each thread at least, if there are tiles enough */
    TASK_STEPS = 1 << 20, /* fma of a task at least */
};

fusec_status fc_ll_choose_panels(const fc_kernel *k, const fc_nest *n, fc_arena *arena,
                                 fc_class *cls, fc_error *e) {
    const uint32_t axes = n->np + n->nr, across = n->np - 1;
    fc_dot_axes of;
    FC_TRY(fc_dot_find_axes(k, n, arena, &of, e));
    if (!of.found || n->nr != 1 || n->count < 1) return FUSEC_OK;
    uint8_t *move = fc_arena_alloc(arena, (size_t)n->naccess * axes + 1);
    if (!move) return fc_oom(e);
    cls->llvm.panels = true;
    cls->llvm.down_axis = (uint16_t)of.down;
    memset(move, 0, (size_t)n->naccess * axes);
    cls->wide = false;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * axes;
        move[(size_t)a * axes + across] = (uint8_t)fc_ll_move_by(s[across]);
        if (of.left[a]) move[(size_t)a * axes + of.down] = (uint8_t)fc_ll_move_by(s[of.down]);
        if (of.left[a] || of.right[a])
            move[(size_t)a * axes + n->np] = (uint8_t)fc_ll_move_by(s[n->np]);
        cls->wide |= n->wide && (fc_ll_move_by(s[across]) == FC_MOVE_ANY ||
                                 fc_ll_move_by(s[n->np]) == FC_MOVE_ANY);
    }
    cls->move = move;
    return FUSEC_OK;
}

void fc_ll_launch_panels(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                         const fc_class *cls, fc_launch *l) {
    const fusec_dtype t = (fusec_dtype)k->reductions.at[0].dtype;
    const fc_ll_panels p = fc_ll_panels_of(m, t);
    const int64_t rows = n->extent[cls->llvm.down_axis], columns = n->extent[n->np - 1];
    const int64_t others = n->rows / rows / columns, slots = m->threads + 1;
    int64_t high = MOST_HEIGHTS * (int64_t)p.height, wide = MOST_WIDTHS * (int64_t)p.width;
    if (high > rows) high = fc_ceil_div(rows, p.height) * p.height;
    if (wide > columns) wide = fc_ceil_div(columns, p.width) * p.width;
    while ((high > p.height || wide > 2 * p.width) && m->threads > 1 &&
           others * fc_ceil_div(rows, high) * fc_ceil_div(columns, wide) < TASKS * m->threads &&
           high * wide * n->count > 2 * TASK_STEPS) {
        if (high > p.height && high >= wide / 2)
            high = fc_ceil_div(high / 2, p.height) * p.height;
        else if (wide > 2 * (int64_t)p.width)
            wide = fc_ceil_div(wide / 2, p.width) * p.width;
        else
            high = fc_ceil_div(high / 2, p.height) * p.height;
    }
    const int64_t levels = fc_dot_levels(n->count, FC_DOT_CHUNK);
    l->units = others * fc_ceil_div(rows, high) * fc_ceil_div(columns, wide);
    const int64_t steps = fc_ll_at_least_one((high < rows ? high : rows) *
                                             (wide < columns ? wide : columns) * n->count);
    l->unit = fc_ll_at_least_one(TASK_STEPS / steps);
    l->tasks = fc_ceil_div(l->units, l->unit);
    l->brief = (double)l->units * (double)steps < TASK_STEPS;
    l->spans = wide;
    l->span = high | slots << 32;
    l->tickets = (uint32_t)slots;
    l->workspace_bytes = (size_t)slots * fc_dtypes[t].bytes *
                         (size_t)(wide * FC_DOT_CHUNK + high * p.step + high * wide * levels);
}
