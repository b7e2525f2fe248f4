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

/* The greatest element of an operand that is a cast of 8 bits, as a magnitude; 0: it is none. */
static int64_t most_of(const fc_kernel *k, fc_val value) {
    const fc_instr *in = &k->code.ins.at[value];
    if (in->op != FC_OP_CAST) return 0;
    const uint8_t from = k->code.ins.at[in->a].dtype;
    return from == FUSEC_I8 ? -INT8_MIN : from == FUSEC_U8 ? UINT8_MAX : 0;
}

static int64_t most_product(const fc_kernel *k) {
    const fc_reduction *r = &k->reductions.at[0];
    return fc_is_float((fusec_dtype)r->dtype) ? 0
                                              : most_of(k, r->value[0]) * most_of(k, r->value[1]);
}

bool fc_dot_of_bytes(const fc_kernel *k) {
    return most_product(k) != 0;
}

bool fc_dot_has_bytes(const fc_kernel *k, int64_t count) {
    const int64_t most = most_product(k);
    return most && count <= INT32_MAX / most;
}

bool fc_dot_is_low(const fc_kernel *k) {
    if (fc_is_float((fusec_dtype)k->reductions.at[0].dtype) || k->updates.len) return false;
    for (size_t i = 0; i < k->stores.len; i++)
        if (k->code.ins.at[k->stores.at[i].value].op == FC_OP_ACC) return false;
    for (size_t i = 0; i < k->code.ins.len; i++) {
        const fc_instr *in = &k->code.ins.at[i];
        const fc_val of[] = {in->a, in->b, in->c};
        const fusec_dtype t = (fusec_dtype)in->dtype;
        const bool cuts =
            in->op == FC_OP_CAST && !fc_is_float(t) && t != FUSEC_BOOL && fc_dtypes[t].bytes <= 4;
        for (int x = 0; x < 3 && !cuts; x++)
            if (of[x] < i && k->code.ins.at[of[x]].op == FC_OP_ACC) return false;
    }
    return true;
}
