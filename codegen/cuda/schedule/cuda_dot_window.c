/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_window.c - contractions over windows, as convolutions are: which axes are numbered
 * together as the rows or columns of a tile, and which operands come by 16 bytes whose address is
 * computed.
 *
 * In: a nest with the axes of rows and columns chosen. A picture is read at i + u, so its axes i
 * and j are not one as those of the result are, and u and v are not one axis of k. Out: masks of
 * axes; a way to read. Neighbours are taken at once where the load is of one array, its address
 * moves by one along an axis whose extent is a multiple of them and is elsewhere a multiple of
 * them, and whether it is inside is the same for all of them: channels, where they lie innermost.
 */
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/dot.h"

/* ---- where a load is --------------------------------------------------------------------------
 */

typedef struct place {
    const fc_kernel *k;
    const fc_nest *n;
    unsigned axis;
    int by;
} place;

enum { LOOK = 24 }; /* instructions below each other */

static bool stands(const place *p, fc_val v, unsigned depth) {
    const fc_instr *i = &p->k->code.ins.at[v];
    if (i->op == FC_OP_INDEX || i->op == FC_OP_LOAD)
        return p->n->stride[(size_t)i->imm * (p->n->np + p->n->nr) + p->axis] == 0;
    if (i->op == FC_OP_CONST || i->op == FC_OP_PARAM) return true;
    const bool casts = i->op == FC_OP_CAST || i->op == FC_OP_CVT;
    if (!depth || (!casts && !fc_is_elementwise(i->op))) return false;
    for (int o = 0; o < fc_instr_arity(i); o++)
        if (!stands(p, fc_instr_operand(i, o), depth - 1)) return false;
    return true;
}

static bool is_size(const fc_kernel *k, const fc_instr *i) {
    return k->params.at[i->imm].is_dim;
}

/* Whether an integer is a multiple of `by` wherever the index along the axis is 0, and moves by
 * `step` along it. */
static bool goes_by(const place *p, fc_val v, int64_t step, unsigned depth) {
    const fc_instr *i = &p->k->code.ins.at[v];
    const uint32_t axes = p->n->np + p->n->nr;
    if (i->op == FC_OP_CONST) return step == 0 && (int64_t)i->imm % p->by == 0;
    if (i->op == FC_OP_PARAM)
        return step == 0 && is_size(p->k, i) && p->n->number[i->imm] % p->by == 0;
    if (i->op == FC_OP_INDEX) {
        const int64_t *stride = p->n->stride + (size_t)i->imm * axes;
        if (stride[p->axis] != step || p->n->offset[i->imm] % p->by) return false;
        for (uint32_t x = 0; x < axes; x++)
            if (x != p->axis && stride[x] % p->by) return false;
        return true;
    }
    if (!depth) return false;
    if (i->op == FC_OP_mul && step == 0)
        return (goes_by(p, i->a, 0, depth - 1) && stands(p, i->b, depth - 1)) ||
               (goes_by(p, i->b, 0, depth - 1) && stands(p, i->a, depth - 1));
    if (i->op != FC_OP_add) return false;
    return (goes_by(p, i->a, step, depth - 1) && goes_by(p, i->b, 0, depth - 1)) ||
           (goes_by(p, i->a, 0, depth - 1) && goes_by(p, i->b, step, depth - 1));
}

static bool comes_at_once(const place *p, const fc_instr *load, uint32_t align) {
    if (p->n->extent[p->axis] % p->by || align % 16) return false;
    if (load->op == FC_OP_LOAD)
        return fc_cuda_side_by_side(p->n, (uint32_t)load->imm, p->axis, align, p->by);
    return stands(p, load->b, LOOK) && goes_by(p, load->a, 1, LOOK);
}

uint16_t fc_cuda_dot_window(const fc_kernel *k, const fc_nest *n, fc_val operand, unsigned axis,
                            uint32_t align, bool tensor) {
    const fc_val v = fc_cuda_window_of(&k->code, operand);
    if (v == FC_NOVAL) return FC_CUDA_BY_ONE;
    const fc_instr *load = &k->code.ins.at[v];
    const fusec_dtype t = (fusec_dtype)load->dtype;
    if (tensor ? !fc_is_half(t)
               : fc_dtypes[t].bytes != 4 || t != (fusec_dtype)k->reductions.at[0].dtype)
        return FC_CUDA_BY_ONE;
    place p = {.k = k, .n = n, .axis = n->np + n->nr - 1, .by = tensor ? FC_CUDA_EIGHT : 4};
    if (comes_at_once(&p, load, align)) return FC_CUDA_AT_K;
    p.axis = axis;
    return axis < n->np && comes_at_once(&p, load, align) ? FC_CUDA_AT_PLACE : FC_CUDA_BY_ONE;
}

/* ---- axes that are numbered together ----------------------------------------------------------
 */

/* Whether whatever is read and stored behind the product walks the axes from `first` on as one. */
static bool is_one_behind(const fc_kernel *k, const fc_nest *n, unsigned first) {
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *stride = n->stride + (size_t)a * (n->np + n->nr);
        if (k->accesses.at[a].level != FC_ROW) continue;
        for (unsigned x = first; x + 1 < n->np; x++)
            if (stride[x] != stride[x + 1] * n->extent[x + 1]) return false;
    }
    return true;
}

/* Axes along which `uses` moves and `other` stands, but one. */
static unsigned axes_of(const fc_nest *n, const uint8_t *uses, const uint8_t *other, unsigned but) {
    unsigned axes = 0;
    for (unsigned x = 0; x < n->np && x < FC_MOST_NUMBERED; x++)
        if (x != but && fc_dot_stands(n, other, x) && !fc_dot_stands(n, uses, x)) axes |= 1u << x;
    return axes;
}

unsigned fc_cuda_dot_join(const fc_kernel *k, const fc_nest *n, const uint8_t *uses,
                          const uint8_t *other, unsigned axis) {
    enum { ENOUGH = 512 }; /* places along which tiles are full */
    if (axis >= n->np) return 0;
    const unsigned all = axes_of(n, uses, other, axis);
    unsigned near = 0;
    int64_t size = n->extent[axis];
    for (unsigned x = axis; axis + 1 == n->np && x-- > 0;) {
        if (!(all >> x & 1) || !is_one_behind(k, n, x)) break;
        near |= 1u << x;
        size *= n->extent[x];
    }
    return near && size >= ENOUGH ? near : all;
}

bool fc_cuda_dot_is_one(const fc_kernel *k, const fc_nest *n, unsigned axis, unsigned joined) {
    unsigned first = axis;
    while (first > 0 && joined >> (first - 1) & 1) first--;
    return !(joined & ((1u << first) - 1)) && is_one_behind(k, n, first);
}
