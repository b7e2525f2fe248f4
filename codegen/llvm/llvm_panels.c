/* llvm_panels.c - which contractions go through panels (llvm_dot.c), and how they are cut into
 * blocks. The order of a result does not depend on it. */
#include "codegen/llvm/llvm_schedule.h"

enum {
    MOST_HEIGHTS =
        24, /* of a block of rows: the panel of the right operand is copied once for them */
    MOST_WIDTHS = 16,     /* of a block of columns: a chunk of it stays in the second-level cache */
    TASKS = 3,            /* for each thread at least, if there are tiles enough */
    TASK_STEPS = 1 << 20, /* fma of a task at least */
};

/* Marks accesses that an element of an operand needs. */
static fusec_status operand_accesses(const fc_kernel *k, fc_val value, uint8_t *uses, fc_error *e) {
    const size_t n = k->code.ins.len;
    uint8_t *need = fc_calloc(k->code.alloc, n + 1, 1);
    if (!need) return fc_oom(e);
    fc_kernel_slice(&k->code, &value, 1, need);
    for (size_t i = 0; i < n; i++) {
        const fc_instr *in = &k->code.ins.at[i];
        if (need[i] && (in->op == FC_OP_LOAD || in->op == FC_OP_INDEX)) uses[in->imm] = 1;
    }
    fc_free(k->code.alloc, need);
    return FUSEC_OK;
}

/* Whether none of the accesses moves along an axis. */
static bool stands(const fc_nest *n, const uint8_t *uses, uint32_t axis) {
    for (uint32_t a = 0; a < n->naccess; a++)
        if (uses[a] && n->stride[(size_t)a * (n->np + n->nr) + axis]) return false;
    return true;
}

fusec_status fc_ll_choose_panels(const fc_kernel *k, const fc_nest *n, fc_arena *arena,
                                 fc_class *cls, fc_error *e) {
    const fc_reduction *r = &k->reductions.at[0];
    const uint32_t axes = n->np + n->nr, across = n->np - 1;
    uint8_t *left = fc_arena_alloc(arena, n->naccess + 1), *right;
    uint8_t *move = fc_arena_alloc(arena, (size_t)n->naccess * axes + 1);
    right = fc_arena_alloc(arena, n->naccess + 1);
    if (!left || !right || !move) return fc_oom(e);
    memset(left, 0, n->naccess);
    memset(right, 0, n->naccess);
    FC_TRY(operand_accesses(k, r->value, left, e));
    FC_TRY(operand_accesses(k, r->other, right, e));
    if (n->nr != 1 || n->np < 2 || n->count < 1 || !stands(n, left, across)) return FUSEC_OK;
    uint32_t down = across;
    for (uint32_t axis = across; axis-- > 0 && down == across;)
        if (stands(n, right, axis) && !stands(n, left, axis)) down = axis;
    if (down == across) return FUSEC_OK;
    cls->llvm.panels = true;
    cls->llvm.down_axis = (uint16_t)down;
    memset(move, 0, (size_t)n->naccess * axes);
    cls->wide = false;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * axes;
        move[(size_t)a * axes + across] = (uint8_t)fc_ll_move_by(s[across]);
        if (left[a]) move[(size_t)a * axes + n->np] = (uint8_t)fc_ll_move_by(s[n->np]);
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
    int64_t levels = 0;
    while (((int64_t)FC_DOT_CHUNK << levels) < n->count) levels++;
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
