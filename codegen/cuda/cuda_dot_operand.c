/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_operand.c - contractions: the operands of a tile. What makes an element, which elements
 * a thread takes, and where they are. */
#include "codegen/cuda/cuda_dot_operand.h"

#include <stdio.h>

/* ---- elements of the operands ---------------------------------------------------------------- */

static void slice(fc_cuda_gen *g, const fc_val *root, uint32_t n) {
    memset(g->need, 0, g->code.ins.len);
    memset(g->block, 0, g->code.ins.len);
    fc_kernel_slice(&g->code, root, n, g->need);
    memset(g->used, 0, g->k->accesses.len);
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (!g->need[v]) continue;
        if (i->op == FC_OP_LOAD) g->used[i->imm] |= FC_CUDA_LOADS;
        if (i->op == FC_OP_INDEX) g->used[i->imm] |= FC_CUDA_INDEXES;
    }
}

void fc_dot_slice(fc_cuda_gen *g, fc_val root) {
    slice(g, &root, 1);
}

static bool divides(const fc_dot *d, unsigned axis) {
    const fc_cuda_gen *g = d->g;
    if (axis >= g->np) return axis > g->np;
    return fc_class_numbered(g->cls, axis) != axis || (axis == d->x[0].axis && d->x[0].also) ||
           (axis == d->x[1].axis && d->x[1].also);
}

void fc_dot_divisors(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    g->divisors = fc_cuda_numbers_axes(g->cls);
    for (unsigned axis = 0; axis < g->axes; axis++)
        if (divides(d, axis))
            fc_cuda_line(&g->t, "const fc_divisor by%u = fc_divisor_of((ix)p.w[%u]);", axis,
                         g->l.extents + axis);
}

/* The outermost of the axes that are numbered as one. */
static unsigned first_axis(const fc_dot_side *x) {
    unsigned axis = 0;
    while (axis < x->axis && !(x->also >> axis & 1)) axis++;
    return axis;
}

void fc_dot_indices(const fc_dot *d, const fc_dot_side *x, const char *number) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const unsigned first = first_axis(x);
    if (x->axis >= g->np) return;
    if (!x->also) {
        fc_cuda_line(t, "const ix i%u = %s;", x->axis, number);
        return;
    }
    fc_cuda_line(t, "const ix r%u = %s;", x->axis, number);
    for (unsigned axis = x->axis, next; axis > first; axis = next) {
        for (next = axis - 1; !(x->also >> next & 1);) next--;
        fc_cuda_line(t, "const ix r%u = fc_quotient(r%u, by%u);", next, axis, axis);
        fc_cuda_line(t, "const ix i%u = r%u - r%u * (ix)p.w[%u];", axis, axis, next,
                     g->l.extents + axis);
    }
    fc_cuda_line(t, "const ix i%u = r%u;", first, first);
}

/* The other side's rows (columns): none of what follows depends on them. */
static void stand(const fc_dot *d, const fc_dot_side *x) {
    for (unsigned axis = 0; axis < d->g->np; axis++)
        if (axis == x->axis || (axis < FC_MOST_NUMBERED && x->also >> axis & 1))
            fc_cuda_line(&d->g->t, "const ix i%u = 0;", axis);
}

static bool has_place(const fc_dot *d, const fc_dot_side *x) {
    return d->g->divisors && x->reads == FC_CUDA_BY_ONE && !x->by_k;
}

void fc_dot_begin_place(const fc_dot *d, const fc_dot_side *x, unsigned fast) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    if (!has_place(d, x)) return;
    fc_dot_slice(g, x->value);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->used[a]) fc_cuda_line(t, "ix %s_b%u;", x->name, (unsigned)a);
    fc_cuda_line(t, "{");
    fc_cuda_line(t, "const ix place = %s + (ix)(thread %% %u);", x->at, fast);
    if (x->axis < g->np) {
        char number[64];
        snprintf(number, sizeof number, "place < %s ? place : %s - 1", x->size, x->size);
        fc_dot_indices(d, x, number);
    }
    stand(d, &d->x[x->at == d->x->at]);
    fc_cuda_bases_kept(g, x->name);
    fc_cuda_line(t, "}");
}

/* Leaves of the slice what is made of numbers of the call alone. */
static void keep_constants(fc_cuda_gen *g) {
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        bool all = i->op == FC_OP_CONST || i->op == FC_OP_PARAM || i->op == FC_OP_CVT ||
                   fc_is_elementwise(i->op);
        for (int o = 0; o < fc_instr_arity(i); o++) all &= g->need[fc_instr_operand(i, o)] != 0;
        g->need[v] &= all;
    }
}

void fc_dot_constants(const fc_dot *d) {
    for (int s = 0; s < 2 && d->g->divisors; s++) {
        fc_dot_slice(d->g, d->x[s].value);
        keep_constants(d->g);
        fc_cuda_row(d->g);
    }
}

void fc_dot_turn_place(const fc_dot *d, const fc_dot_side *x) {
    const unsigned fast = x->by_k ? d->tile->depth : x->side;
    fc_cuda_line(&d->g->t, "const unsigned int %s = turn %% %u, %s = turn / %u;",
                 x->by_k ? "deep" : "at", fast, x->by_k ? "at" : "deep", fast);
}

void fc_dot_element(const fc_dot *d, const fc_dot_side *x, unsigned each) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const fc_dot_side *other = &d->x[x == d->x];
    if (has_place(d, x)) {
        fc_cuda_line(t, "const ix depth = %s(step + %u) * %u + (ix)deep;", fc_dot_first(d),
                     fc_cuda_tile_ahead(g->cls), d->tile->depth);
        fc_cuda_line(t, "const ix element = depth < count ? depth : count - 1;");
        fc_cuda_indices(g, g->np, g->axes, "element");
        fc_cuda_bases_from(g, x->name);
        return;
    }
    fc_cuda_line(t, "const ix place = %s + (ix)at, depth = %s(step + %u) * %u + (ix)deep;", x->at,
                 fc_dot_first(d), fc_cuda_tile_ahead(g->cls), d->tile->depth);
    if (x->axis < g->np) {
        char number[64];
        snprintf(number, sizeof number, "place < %s ? place : %s - %u", x->size, x->size,
                 x->by_k ? 1 : each);
        fc_dot_indices(d, x, number);
    }
    stand(d, other);
    fc_cuda_line(t, "const ix element = depth < count ? depth : count - %u;", x->by_k ? each : 1);
    fc_cuda_indices(g, g->np, g->axes, "element");
    fc_cuda_bases(g, g->axes);
}

/* ---- operands through a window --------------------------------------------------------------- */

static const fc_instr *window_of(const fc_dot *d, const fc_dot_side *x) {
    const fc_val v = fc_cuda_window_of(&d->g->code, x->value);
    return &d->g->code.ins.at[v];
}

void fc_dot_find_window(const fc_dot *d, const fc_dot_side *x) {
    const fc_instr *i = window_of(d, x);
    const fc_val roots[] = {i->a, i->b};
    if (i->op == FC_OP_LOAD) return;
    slice(d->g, roots, 2);
    fc_cuda_element(d->g);
}

void fc_dot_window_at(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    const fc_instr *i = window_of(d, x);
    if (i->op == FC_OP_LOAD) {
        fc_str_printf(t->out, "a%u + b%u", (unsigned)d->g->k->accesses.at[i->imm].buffer,
                      (unsigned)i->imm);
        return;
    }
    fc_str_printf(t->out, "a%u + ", (unsigned)i->imm);
    fc_cuda_operand(t, i->a);
}

void fc_dot_window_there(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    const fc_instr *i = window_of(d, x);
    fc_str_add(t->out, "depth < count");
    if (i->op == FC_OP_LOAD) return;
    fc_str_add(t->out, " && ");
    fc_cuda_operand(t, i->b);
}

/* ---- values that tensor cores take ----------------------------------------------------------- */

/* Of integers each operand is signed or not. */
const char *fc_dot_feed(const fc_dot *d) {
    static const char *const bytes[] = {"u8_u8", "u8_s8", "s8_u8", "s8_s8"};
    unsigned kind = 0;
    if (d->half == FUSEC_F64) return "f64";
    if (d->half != FUSEC_I8)
        return d->half == FUSEC_F32 ? "tf32" : d->half == FUSEC_F16 ? "f16" : "bf16";
    for (int s = 0; s < 2; s++)
        if (d->g->code.ins.at[fc_mma_narrow_of(d, d->x[s].value)].dtype == FUSEC_I8)
            kind |= s ? 1 : 2;
    return bytes[kind];
}

/* The value behind an operand that tensor cores take, if the cast is not folded. */
fc_val fc_mma_narrow_of(const fc_dot *d, fc_val v) {
    const fc_instr *i = &d->g->code.ins.at[v];
    if (i->op != FC_OP_CVT && i->op != FC_OP_CAST) return v;
    const uint8_t from = d->g->code.ins.at[i->a].dtype;
    return from == d->half || (d->half == FUSEC_I8 && from == FUSEC_U8) ? i->a : v;
}

void fc_mma_put_bits(const fc_dot *d, fc_val v) {
    fc_cuda_text *t = &d->g->t;
    const fc_val narrow = fc_mma_narrow_of(d, v);
    if (d->half == FUSEC_F32 || d->half == FUSEC_F64) {
        fc_cuda_operand(t, v);
        return;
    }
    if (d->half == FUSEC_I8) fc_str_add(t->out, "(unsigned char)");
    if (narrow != v) {
        fc_cuda_to_storage(t, narrow);
        return;
    }
    fc_str_printf(t->out, "fc_%s_bits(", fc_dot_feed(d));
    fc_cuda_operand(t, v);
    fc_str_char(t->out, ')');
}

/* ---- groups of 16 bytes --------------------------------------------------------------------- */

/* Groups that lie side by side along a line, and how many lines a turn of all threads is
 * below the one before. */
unsigned fc_dot_groups_of_line(const fc_dot *d, const fc_dot_side *x) {
    return (x->by_k ? d->tile->depth : x->side) / fc_cuda_tile_group(d->tile);
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
    const unsigned axis = x->by_k ? x->axis : fc_dot_deep_axis(d);
    if (x->axis == d->g->np && x->by_k)
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
    stand(d, other);
    for (unsigned axis = g->np; axis < fc_dot_deep_axis(d); axis++)
        fc_cuda_line(t, "const ix j%u = 0;", axis - g->np);
    fc_cuda_line(t, "const ix j%u = %s(ix)%s_%s;", fc_dot_deep_axis(d) - g->np, fc_dot_first(d),
                 x->name, x->by_k ? "in" : "line");
    fc_cuda_bases(g, g->axes);
}
