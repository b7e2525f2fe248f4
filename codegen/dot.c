/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dot.c - see dot.h. What counts is how accesses move, not what the program called the axes: a
 * batch of matrices times one matrix has merged into rows by now. */
#include "codegen/dot.h"

/* Marks accesses that an element of an operand needs. */
static fusec_status mark(const fc_kernel *k, fc_val value, uint8_t *uses, fc_error *e) {
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

bool fc_dot_stands(const fc_nest *n, const uint8_t *uses, uint32_t axis) {
    for (uint32_t a = 0; a < n->naccess; a++)
        if (uses[a] && n->stride[(size_t)a * (n->np + n->nr) + axis]) return false;
    return true;
}

fusec_status fc_dot_find_accesses(const fc_kernel *k, const fc_nest *n, fc_arena *arena,
                                  fc_dot_axes *out, fc_error *e) {
    *out = (fc_dot_axes){.left = fc_arena_alloc(arena, n->naccess + 1),
                         .right = fc_arena_alloc(arena, n->naccess + 1)};
    if (!out->left || !out->right) return fc_oom(e);
    memset(out->left, 0, n->naccess);
    memset(out->right, 0, n->naccess);
    FC_TRY(mark(k, k->reductions.at[0].value[0], out->left, e));
    return mark(k, k->reductions.at[0].value[1], out->right, e);
}

fusec_status fc_dot_find_axes(const fc_kernel *k, const fc_nest *n, fc_arena *arena,
                              fc_dot_axes *out, fc_error *e) {
    const uint32_t across = n->np - 1;
    FC_TRY(fc_dot_find_accesses(k, n, arena, out, e));
    if (!fc_dot_stands(n, out->left, across)) return FUSEC_OK;
    for (uint32_t axis = across; axis-- > 0 && !out->found;) {
        out->found = fc_dot_stands(n, out->right, axis) && !fc_dot_stands(n, out->left, axis);
        out->down = axis;
    }
    return FUSEC_OK;
}

unsigned fc_dot_levels(int64_t count, int64_t chunk) {
    unsigned levels = 0;
    while (chunk << levels < count) levels++;
    return levels;
}
