/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_operand.c - contractions: the operands of a tile. What makes an element, which elements
 * a thread takes, and where they are. */
#include "codegen/cuda/cuda_dot_operand.h"

/* ---- elements of the operands ---------------------------------------------------------------- */

void fc_dot_slice(fc_cuda_gen *g, fc_val root) {
    memset(g->need, 0, g->code.ins.len);
    memset(g->block, 0, g->code.ins.len);
    fc_kernel_slice(&g->code, &root, 1, g->need);
    memset(g->used, 0, g->k->accesses.len);
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (!g->need[v]) continue;
        if (i->op == FC_OP_LOAD) g->used[i->imm] |= FC_CUDA_LOADS;
        if (i->op == FC_OP_INDEX) g->used[i->imm] |= FC_CUDA_INDEXES;
    }
}

void fc_dot_element(const fc_dot *d, const fc_dot_side *x, unsigned each) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const fc_dot_side *other = &d->x[x == d->x];
    fc_cuda_line(t, "const ix place = %s + (ix)at, depth = %s(step + %u) * %u + (ix)deep;", x->at,
                 fc_dot_first(d), fc_cuda_tile_ahead(g->cls), d->tile->depth);
    if (x->axis < g->np)
        fc_cuda_line(t, "const ix i%u = place < %s ? place : %s - %u;", x->axis, x->size, x->size,
                     x->by_k ? 1 : each);
    if (other->axis < g->np) fc_cuda_line(t, "const ix i%u = 0;", other->axis);
    fc_cuda_line(t, "const ix element = depth < count ? depth : count - %u;", x->by_k ? each : 1);
    fc_cuda_indices(g, g->np, g->axes, "element");
    fc_cuda_bases(g, g->axes);
}

/* ---- values of 16 bits ---------------------------------------------------------------------- */

/* The 16-bit value behind an operand, if the cast is not folded. */
fc_val fc_mma_narrow_of(const fc_dot *d, fc_val v) {
    const fc_instr *i = &d->g->code.ins.at[v];
    return i->op == FC_OP_CVT && d->g->code.ins.at[i->a].dtype == d->half ? i->a : v;
}

void fc_mma_put_bits(const fc_dot *d, fc_val v) {
    fc_cuda_text *t = &d->g->t;
    const fc_val narrow = fc_mma_narrow_of(d, v);
    if (narrow != v) {
        fc_cuda_to_storage(t, narrow);
        return;
    }
    fc_str_printf(t->out, "fc_%s_bits(", d->half == FUSEC_F16 ? "f16" : "bf16");
    fc_cuda_operand(t, v);
    fc_str_char(t->out, ')');
}

/* ---- groups of eight ------------------------------------------------------------------------ */

/* Groups of eight that lie side by side along a line, and how many lines a turn of all threads is
 * below the one before. */
unsigned fc_dot_groups_of_line(const fc_dot *d, const fc_dot_side *x) {
    return (x->by_k ? d->tile->depth : x->side) / FC_CUDA_EIGHT;
}
/* Those that make operands are warps without products, if a tile has such. */
unsigned fc_dot_workers(const fc_dot *d, const fc_dot_side *x) {
    const unsigned busy = fc_cuda_tile_busy(d->tile);
    return fc_cuda_is_made(x->reads) && busy < FC_CUDA_THREADS ? FC_CUDA_THREADS - busy
                                                               : (unsigned)FC_CUDA_THREADS;
}
unsigned fc_dot_lines_of_turn(const fc_dot *d, const fc_dot_side *x) {
    return fc_dot_workers(d, x) / fc_dot_groups_of_line(d, x);
}
unsigned fc_dot_lines_of(const fc_dot *d, const fc_dot_side *x) {
    return x->by_k ? x->side : d->tile->depth;
}

void fc_dot_stride(const fc_dot *d, const fc_dot_side *x, uint32_t a) {
    const unsigned axis = x->by_k ? x->axis : d->g->np;
    if (axis == d->g->np && x->by_k)
        fc_str_add(d->g->t.out, "0");
    else
        fc_str_printf(d->g->t.out, "p.w[%u]", fc_cuda_word(d->g, a) + 1 + axis);
}

void fc_dot_begin_first(const fc_dot *d, const fc_dot_side *x) {
    const fc_dot_side *other = &d->x[x->at == d->x->at]; /* x may be a copy */
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const char *at = x->by_k ? "line" : "in";
    fc_cuda_line(t, "const ix %s_rest = %s - %s - (ix)%s_%s;", x->name, x->size, x->at, x->name,
                 at);
    fc_cuda_line(t, "{");
    if (x->axis < g->np)
        fc_cuda_line(t, "const ix i%u = %s + (ix)%s_%s;", x->axis, x->at, x->name, at);
    if (other->axis < g->np) fc_cuda_line(t, "const ix i%u = 0;", other->axis);
    fc_cuda_line(t, "const ix j0 = %s(ix)%s_%s;", fc_dot_first(d), x->name,
                 x->by_k ? "in" : "line");
    fc_cuda_bases(g, g->axes);
}
