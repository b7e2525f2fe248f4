/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_ragged.c - reductions whose rows have lengths of their own, from data.
 *
 * Such a reduction is one over where(i < length, x, start), i along the axis: so every pass knows
 * what it means, and its tree is that of a row of that length, as elements that are missing hold
 * the start value anyway. The choice is marked (FC_NODE_RAGGED): no rule takes it apart, nothing
 * below it is stored, and a kernel ends each row at its length, so that x needs no value behind
 * it, and no work is done there. */
#include <math.h>

#include "ir/code.h"
#include "ir/complex.h"
#include "ir/expand.h"

static fc_node start_of(fc_graph *g, fc_op op, fusec_dtype t) {
    const bool least = op == FC_OP_min || op == FC_OP_argmin;
    if (op == FC_OP_prod || op == FC_OP_all) return fc_build_number(g, t, 1);
    if (op == FC_OP_sum || op == FC_OP_any) return fc_build_number(g, t, 0);
    if (fc_is_float(t)) return fc_build_number(g, t, least ? INFINITY : -INFINITY);
    return fc_build_const(g, t, least ? fc_const_max(t) : fc_const_min(t));
}

static fc_node mark(fc_graph *g, fc_op op, fc_node x, fc_node within) {
    if (!fc_usable(g, x)) return FC_NONODE;
    const fc_node n = fc_where(g, within, x, start_of(g, op, (fusec_dtype)fc_at(g, x)->dtype));
    if (!fc_usable(g, n) || fc_at(g, n)->op != FC_OP_where) return n;
    fc_ninfo i = *fc_at(g, n);
    i.flags |= FC_NODE_RAGGED;
    return fc_graph_node(g, i);
}

/* Whether n counts the elements from the first one on. */
static bool counts(const fc_graph *g, fc_node n) {
    for (;; n = fc_at(g, n)->src[0]) {
        const fc_op op = (fc_op)fc_at(g, n)->op;
        if (op != FC_OP_BROADCAST && op != FC_OP_RESHAPE && op != FC_OP_PERMUTE)
            return op == FC_OP_IOTA;
    }
}

bool fc_ragged_parts(const fc_graph *g, fc_node marked, fc_node *value, fc_node *length) {
    const fc_ninfo *n = fc_at(g, marked);
    if (n->op != FC_OP_where || !(n->flags & FC_NODE_RAGGED)) return false;
    const fc_ninfo *within = fc_at(g, n->src[0]);
    if (within->op != FC_OP_lt && within->op != FC_OP_gt) return false;
    *value = n->src[1];
    *length = within->src[within->op == FC_OP_lt];
    return counts(g, within->src[within->op == FC_OP_gt]);
}

typedef struct ragged {
    fc_graph *g;
    fc_node length, within;
    int64_t axis;
} ragged;

static fc_node reduce(const ragged *r, fc_op op, fc_node x, bool keepdims) {
    return fc_build_reduce(r->g, op, mark(r->g, op, x, r->within), 1, &r->axis, keepdims);
}

/* The length in the shape of what is reduced, of one element along the axis. */
static fc_node without_axis(const ragged *r, fc_node n) {
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank = 0;
    if (!fc_usable(r->g, n)) return FC_NONODE;
    for (uint32_t i = 0; i < fc_rank(r->g, n); i++)
        if (i != (uint32_t)r->axis) shape[rank++] = fc_axis(r->g, n, i);
    return fc_build_reshape(r->g, n, rank, shape);
}

/* The sum over the number of elements, rounded once. */
static fc_node mean(const ragged *r, fc_node x) {
    fc_graph *g = r->g;
    const fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype;
    const fusec_dtype from = fc_is_float(t) || fc_is_complex(t) ? t : g->default_float;
    const fusec_dtype wide = fc_is_half(from) ? FUSEC_F32 : from;
    const fc_node sum = reduce(r, FC_OP_sum, fc_build_cast(g, x, wide), false);
    const fc_node none = fc_op2(g, FC_OP_maximum, r->length, fc_i64(g, 0));
    if (!fc_usable(g, sum) || !fc_usable(g, none)) return FC_NONODE;
    const fusec_dtype count = fc_is_complex(wide) ? fc_part_dtype(wide) : wide;
    const fc_node n = fc_build_cast(g, without_axis(r, none), count);
    return fc_build_cast(g, fc_op2(g, FC_OP_div, sum, n), from);
}

/* As fc_build_logsumexp: with the largest element, or 0 where that is not finite, taken out. */
static fc_node logsumexp(const ragged *r, fc_node x) {
    fc_graph *g = r->g;
    const fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype;
    const fusec_dtype to = fc_is_float(t) ? t : g->default_float;
    const fusec_dtype wide = fc_is_half(to) ? FUSEC_F32 : to;
    x = fc_build_cast(g, x, wide);
    const fc_node top = reduce(r, FC_OP_max, x, true);
    fc_node h = fc_where(g, fc_op1(g, FC_OP_isfinite, top), top, fc_build_number(g, wide, 0));
    h = fc_build_stop_grad(g, h);
    const fc_node e = fc_op1(g, FC_OP_exp, fc_op2(g, FC_OP_sub, x, h));
    const fc_node s = reduce(r, FC_OP_sum, e, true);
    const fc_node l = fc_op2(g, FC_OP_add, fc_op1(g, FC_OP_log, s), h);
    return fc_usable(g, l) ? fc_build_cast(g, without_axis(r, l), to) : FC_NONODE;
}

/* The place of the extreme, or -1. */
static fc_node place(const ragged *r, fc_op op, fc_node x) {
    fc_graph *g = r->g;
    const fc_node n = reduce(r, op, x, false);
    const fc_node any = fc_op2(g, FC_OP_gt, without_axis(r, r->length), fc_i64(g, 0));
    return fc_where(g, any, n, fc_i64(g, -1));
}

static fc_node refuse(fc_graph *g, fc_op op) {
    fc_fail(&g->error, FUSEC_NOT_YET, "%s of rows whose lengths are data is not compiled yet",
            fc_ops[op].name);
    return FC_NONODE;
}

fc_node fc_build_ragged(fc_graph *g, fc_op op, fc_node x, uint32_t axis, fc_node length) {
    if (!fc_usable(g, x) || !fc_usable(g, length)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, x);
    ragged r = {.g = g, .length = length, .axis = axis};
    fc_dim shape[FC_MAX_RANK];
    const fc_node i = fc_build_iota_along(g, fc_axis(g, x, axis), rank, axis);
    fc_shape_of(g, x, shape);
    r.within = fc_op2(g, FC_OP_lt, fc_build_broadcast(g, i, rank, shape),
                      fc_build_broadcast(g, length, rank, shape));
    if (op == FC_OP_NONE) return logsumexp(&r, x);
    if (fc_has_parts(g, x) && fc_complex_takes(op) && op == FC_OP_sum) {
        const fc_node re = reduce(&r, op, fc_build_part(g, x, false), false);
        return fc_build_pair(g, re, reduce(&r, op, fc_build_part(g, x, true), false));
    }
    if (fc_has_parts(g, x) || fc_ops[op].components == 3) return refuse(g, op);
    switch (op) {
    case FC_OP_mean: return mean(&r, x);
    case FC_OP_argmin:
    case FC_OP_argmax: return place(&r, op, x);
    case FC_OP_any:
    case FC_OP_all: x = fc_build_cast(g, x, FUSEC_BOOL); break;
    default: break;
    }
    return reduce(&r, op, x, false);
}

/* The axes of `n` with further ones of size 1 behind. */
static fc_node followed(fc_graph *g, fc_node n, uint32_t rank) {
    fc_dim shape[FC_MAX_RANK];
    if (!fc_usable(g, n)) return FC_NONODE;
    for (uint32_t i = fc_shape_of(g, n, shape); i < rank; i++) shape[i] = fc_dim_const(&g->dims, 1);
    return fc_build_reshape(g, n, rank, shape);
}

/* An end that is a number is that of all rows. */
static bool of_one_shape(fc_graph *g, fc_node begin, fc_node end) {
    bool same = fc_rank(g, begin) == fc_rank(g, end);
    for (uint32_t i = 0; same && i < fc_rank(g, end); i++)
        same = fc_same_size(g, fc_axis(g, begin, i), fc_axis(g, end, i));
    return same || !fc_rank(g, end);
}

fc_node fc_build_ragged_rows(fc_graph *g, fc_op op, fc_node v, fc_node begin, fc_node end) {
    if (!fc_usable(g, v) || !fc_usable(g, begin) || !fc_usable(g, end)) return FC_NONODE;
    const uint32_t axis = fc_rank(g, begin), rank = axis + fc_rank(g, v);
    if (!fc_rank(g, v) || rank > g->limits.rank) {
        fc_fail(&g->error, FUSEC_BAD_AXIS, "rows of an array with %u axes, by bounds with %u",
                (unsigned)fc_rank(g, v), (unsigned)axis);
        return FC_NONODE;
    }
    if (!of_one_shape(g, begin, end)) {
        fc_fail_types(g, FUSEC_SHAPE_MISMATCH, "ragged", begin, end,
                      "where rows begin and where they end are of one shape");
        return FC_NONODE;
    }
    const fc_node first = followed(g, begin, axis + 1), last = followed(g, end, axis + 1);
    const fc_node turn = fc_build_iota_along(g, fc_axis(g, v, 0), axis + 1, axis);
    const fc_node x = fc_build_gather(g, v, fc_op2(g, FC_OP_add, first, turn), 0, false);
    const fc_node length = followed(g, fc_op2(g, FC_OP_sub, last, first), rank);
    const fc_node r = fc_build_ragged(g, op, x, axis, length);
    if (op != FC_OP_argmin && op != FC_OP_argmax) return r;
    return fc_where(g, fc_op2(g, FC_OP_lt, r, fc_i64(g, 0)), r,
                    fc_op2(g, FC_OP_add, r, followed(g, begin, rank - 1)));
}
