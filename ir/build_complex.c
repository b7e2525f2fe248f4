/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_complex.c - complex numbers as pairs of nodes: parts, casts, rows, reductions; see
 * complex.h.
 *
 * In: what the builders of ir/build*.c got. Out: nodes of the parts, joined. */
#include "ir/complex.h"

#include "ir/fold.h"

/* ---- parts ----------------------------------------------------------------------------------- */

static fc_node part(fc_graph *g, fc_node z, bool imaginary) {
    const fc_ninfo *i = fc_at(g, z);
    if (i->op == FC_OP_PAIR) return i->src[imaginary];
    return fc_graph_node(g, (fc_ninfo){.op = FC_OP_PART,
                                       .dtype = (uint8_t)fc_part_dtype((fusec_dtype)i->dtype),
                                       .nops = 1,
                                       .shape = i->shape,
                                       .src = {z, FC_NONODE, FC_NONODE},
                                       .attr = imaginary});
}

fc_parts fc_complex_parts(fc_graph *g, fc_node z) {
    fc_parts p = {FC_NONODE, FC_NONODE};
    if (!fc_usable(g, z)) return p;
    p.re = part(g, z, false);
    p.im = part(g, z, true);
    return p;
}

static fc_node as_large(fc_graph *g, fc_node part, fc_node z) {
    if (!fc_usable(g, part) || fc_at(g, part)->shape == fc_at(g, z)->shape) return part;
    return fc_build_like(g, part, z);
}

fc_parts fc_full_parts(fc_graph *g, fc_node z) {
    fc_parts p = fc_complex_parts(g, z);
    p.re = as_large(g, p.re, z);
    p.im = as_large(g, p.im, z);
    return p;
}

fc_node fc_build_moved(fc_graph *g, fc_ninfo n) {
    const fc_node z = n.src[0];
    if (!fc_has_parts(g, z)) return fc_graph_node(g, n);
    fc_parts p = fc_complex_parts(g, z);
    fc_node *part[] = {&p.re, &p.im};
    for (int k = 0; k < 2; k++) {
        if (k && fc_is_real_pair(g, p)) break;
        n.src[0] = as_large(g, *part[k], z);
        if (!fc_usable(g, n.src[0])) return FC_NONODE;
        n.dtype = fc_at(g, n.src[0])->dtype;
        *part[k] = fc_graph_node(g, n);
    }
    return fc_build_pair(g, p.re, p.im);
}

static bool is_number(const fc_graph *g, fc_node n) {
    return fc_at(g, n)->op == FC_OP_CONST;
}

fc_node fc_build_pair(fc_graph *g, fc_node re, fc_node im) {
    uint32_t rank;
    fc_dim shape[FC_MAX_RANK];
    if (!fc_usable(g, re) || !fc_usable(g, im)) return FC_NONODE;
    const fusec_dtype t = (fusec_dtype)fc_at(g, re)->dtype;
    if (fc_at(g, im)->dtype != t || (t != FUSEC_F32 && t != FUSEC_F64))
        return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, "complex", re, im,
                             "the parts are two f32 or two f64; cast them");
    if (fc_at(g, re)->shape != fc_at(g, im)->shape && !is_number(g, re) && !is_number(g, im)) {
        if (!fc_broadcast_shapes(g, FC_OP_PAIR, re, im, &rank, shape)) return FC_NONODE;
        re = fc_build_broadcast(g, re, rank, shape);
        im = fc_build_broadcast(g, im, rank, shape);
        if (!fc_usable(g, re) || !fc_usable(g, im)) return FC_NONODE;
    }
    return fc_graph_node(g, (fc_ninfo){.op = FC_OP_PAIR,
                                       .dtype = (uint8_t)fc_complex_of(t),
                                       .nops = 2,
                                       .shape = fc_at(g, is_number(g, re) ? im : re)->shape,
                                       .src = {re, im, FC_NONODE}});
}

fc_node fc_build_part(fc_graph *g, fc_node x, bool imaginary) {
    if (!fc_usable(g, x)) return FC_NONODE;
    if (!fc_has_parts(g, x)) {
        if (!imaginary) return x;
        return as_large(g, fc_build_number(g, (fusec_dtype)fc_at(g, x)->dtype, 0), x);
    }
    return as_large(g, part(g, x, imaginary), x);
}

bool fc_is_real_pair(const fc_graph *g, fc_parts z) {
    if (!fc_usable(g, z.im)) return false;
    const fc_ninfo *i = fc_at(g, z.im);
    return i->op == FC_OP_CONST && i->attr == 0;
}

fc_node fc_complex_const(fc_graph *g, fusec_dtype t, const uint64_t *bits) {
    const bool narrow = t == FUSEC_C64;
    const fusec_dtype part = fc_part_dtype(t);
    const fc_node re = fc_build_const(g, part, narrow ? bits[0] & UINT32_MAX : bits[0]);
    return fc_build_pair(g, re, fc_build_const(g, part, narrow ? bits[0] >> 32 : bits[1]));
}

/* ---- casts ----------------------------------------------------------------------------------- */

fc_node fc_complex_cast(fc_graph *g, fc_node a, fusec_dtype t) {
    const fusec_dtype from = (fusec_dtype)fc_at(g, a)->dtype, to = fc_part_dtype(t);
    if (!fc_is_complex(from)) { /* to a complex dtype */
        const fc_node re = fc_build_cast(g, a, to);
        return fc_build_pair(g, re, fc_build_const(g, to, 0));
    }
    fc_parts p = fc_complex_parts(g, a);
    if (t == FUSEC_BOOL) {
        p.re = fc_build_cast(g, p.re, t);
        p.im = fc_build_cast(g, p.im, t);
        return fc_op2(g, FC_OP_logical_or, p.re, p.im);
    }
    if (!fc_is_complex(t))
        return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, fc_dtypes[t].name, a, FC_NONODE,
                             "a complex number has two parts; take real(), imag() or abs()");
    p.re = fc_build_cast(g, p.re, to);
    p.im = fc_build_cast(g, p.im, to);
    return fc_build_pair(g, p.re, p.im);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static fc_complex_fn *const functions[FC_OP_COUNT_] = {
#define COMPLEX(row) [FC_OP_##row] = fc_z_##row,
#include "ir/complex.def"
};

bool fc_complex_takes(fc_op op) {
    switch (op) {
    case FC_OP_where:
    case FC_OP_sum:
    case FC_OP_prod:
    case FC_OP_mean:
    case FC_OP_var:
    case FC_OP_std:
    case FC_OP_any:
    case FC_OP_all:
    case FC_OP_dot: return true;
    default: return functions[op] != NULL;
    }
}

const char *fc_complex_reason(fc_op op) {
    switch (op) {
    case FC_OP_lt:
    case FC_OP_le:
    case FC_OP_gt:
    case FC_OP_ge:
    case FC_OP_minimum:
    case FC_OP_maximum:
    case FC_OP_fmin:
    case FC_OP_fmax:
    case FC_OP_clip:
    case FC_OP_sign:
    case FC_OP_min:
    case FC_OP_max:
    case FC_OP_argmin:
    case FC_OP_argmax: return "complex numbers have no order; take abs(), real() or imag()";
    case FC_OP_floordiv:
    case FC_OP_mod:
    case FC_OP_fmod:
    case FC_OP_floor:
    case FC_OP_ceil:
    case FC_OP_trunc:
    case FC_OP_round: return "complex numbers are not rounded; take real() and imag()";
    default: return "not defined on complex numbers; take real(), imag() or abs()";
    }
}

fc_node fc_complex_refuse(fc_graph *g, fc_op op, fc_node a) {
    return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, fc_ops[op].name, a, FC_NONODE,
                         fc_complex_reason(op));
}

static fc_node choose(fc_graph *g, fc_node c, fc_node a, fc_node b) {
    const fc_parts x = fc_complex_parts(g, a), y = fc_complex_parts(g, b);
    const fc_node re = fc_where(g, c, x.re, y.re);
    if (fc_is_real_pair(g, x) && fc_is_real_pair(g, y)) return fc_build_pair(g, re, x.im);
    return fc_build_pair(g, re, fc_where(g, c, x.im, y.im));
}

fc_node fc_complex_op(fc_graph *g, fc_op op, const fc_node *x) {
    const int n = fc_ops[op].arity, first = op == FC_OP_where;
    for (int i = first; i < n; i++)
        if (fc_at(g, x[i])->dtype != fc_at(g, x[first])->dtype)
            return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, fc_ops[op].name, x[first], x[i],
                                 "an operation takes one dtype; cast one of them");
    if (op == FC_OP_where) return choose(g, x[0], x[1], x[2]);
    if (!functions[op]) return fc_complex_refuse(g, op, x[0]);
    const fc_parts a = fc_complex_parts(g, x[0]), b = n > 1 ? fc_complex_parts(g, x[1]) : a;
    if (g->error.code) return FC_NONODE;
    const fc_parts r = functions[op](g, a, b);
    return r.im == FC_NONODE ? r.re : fc_build_pair(g, r.re, r.im);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* The product of elements along an axis or of its prefixes. */
static fc_node product(fc_graph *g, fc_node a, fc_fold_args how) {
    const fusec_dtype t = (fusec_dtype)fc_at(g, a)->dtype;
    const fc_node x = fc_build_slot(g, t, 0), y = fc_build_slot(g, t, FC_MAX_RECORD);
    fc_node out;
    how.n = 1;
    how.what = how.scan ? "cumprod" : "prod";
    how.element = &a;
    how.start = (const fc_node[]){fc_build_cast(g, fc_build_number(g, fc_part_dtype(t), 1), t)};
    how.body = (const fc_node[]){fc_op2(g, FC_OP_mul, x, y)};
    fc_build_fold(g, &how, &out);
    return out;
}

fc_node fc_complex_scan(fc_graph *g, fc_op op, fc_node a, int64_t axis, bool exclusive,
                        bool reverse) {
    if (op == FC_OP_prod)
        return product(g, a,
                       (fc_fold_args){.naxes = 1,
                                      .axes = &axis,
                                      .scan = true,
                                      .exclusive = exclusive,
                                      .reverse = reverse});
    if (op != FC_OP_sum) return fc_complex_refuse(g, op, a);
    fc_parts p = fc_full_parts(g, a);
    p.re = fc_build_scan(g, op, p.re, axis, exclusive, reverse);
    p.im = fc_build_scan(g, op, p.im, axis, exclusive, reverse);
    return fc_build_pair(g, p.re, p.im);
}

fc_node fc_complex_reduce(fc_graph *g, fc_op op, fc_node a, uint32_t naxes, const int64_t *axes,
                          bool keepdims) {
    if (!fc_complex_takes(op)) return fc_complex_refuse(g, op, a);
    if (fc_ops[op].rule == FC_RULE_BOOL)
        return fc_build_reduce(g, op, fc_build_cast(g, a, FUSEC_BOOL), naxes, axes, keepdims);
    if (op == FC_OP_prod && !fc_rank(g, a)) return a;
    if (op == FC_OP_prod)
        return product(g, a, (fc_fold_args){.naxes = naxes, .axes = axes, .keepdims = keepdims});
    const bool spread = op == FC_OP_var || op == FC_OP_std;
    const fc_op row = spread ? FC_OP_var : op;
    fc_parts p = fc_full_parts(g, a);
    p.re = fc_build_reduce(g, row, p.re, naxes, axes, keepdims);
    p.im = fc_build_reduce(g, row, p.im, naxes, axes, keepdims);
    if (!spread) return fc_build_pair(g, p.re, p.im);
    const fc_node v = fc_op2(g, FC_OP_add, p.re, p.im); /* of |x - mean| */
    return op == FC_OP_std ? fc_op1(g, FC_OP_sqrt, v) : v;
}
