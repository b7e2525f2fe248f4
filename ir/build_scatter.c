/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_scatter.c - builders of stores at computed places.
 *
 * In: an array, where values go along one of its axes, the values. Out: one node, the array with
 * the values in it; the old one stays what it is. Index and value have one shape, that of the
 * updates: its last axes are those of the array, what is before them goes wherever the index
 * says. */
#include "ir/complex.h"
#include "ir/expand.h"
#include "ir/graph.h"

#include <math.h>

bool fc_can_scatter(fc_op op, fusec_dtype t) {
    switch (op) {
    case FC_OP_NONE: return true;
    case FC_OP_sum: return t != FUSEC_BOOL;
    case FC_OP_min:
    case FC_OP_max: return !fc_is_complex(t);
    case FC_OP_any:
    case FC_OP_all: return t == FUSEC_BOOL;
    default: return false;
    }
}

fc_node fc_build_scatter_start(fc_graph *g, fc_op op, fusec_dtype t) {
    uint64_t bits = 0;
    if (op == FC_OP_all) bits = 1;
    if (op == FC_OP_min) bits = fc_is_float(t) ? fc_const_bits(t, INFINITY) : fc_const_max(t);
    if (op == FC_OP_max) bits = fc_is_float(t) ? fc_const_bits(t, -INFINITY) : fc_const_min(t);
    return fc_build_const(g, t, bits);
}

static fc_node fail(fc_graph *g, fusec_status s, const char *why) {
    fc_fail(&g->error, s, "scatter: %s", why);
    return FC_NONODE;
}

/* The shape of the updates: index and value broadcast together, and where they meet axes of the
 * base but for the computed one they are as long. */
static bool join_shapes(fc_graph *g, fc_node base, fc_node index, fc_node value, uint32_t axis,
                        uint32_t *rank, fc_dim *shape) {
    const uint32_t rb = fc_rank(g, base);
    if (!fc_broadcast_shapes(g, FC_OP_add, index, value, rank, shape)) return false;
    if (*rank < rb) {
        fc_fail_types(g, FUSEC_SHAPE_MISMATCH, "scatter", base, value,
                      "the values have fewer axes than the array");
        return false;
    }
    for (uint32_t i = 0; i < rb; i++) {
        fc_dim *d = &shape[*rank - rb + i];
        const fc_dim own = fc_axis(g, base, i);
        if (i == axis || *d == own) continue;
        if (fc_dim_is(&g->dims, *d, 1)) {
            *d = own;
        } else if (fc_dim_is(&g->dims, own, 1)) {
            fc_fail_types(g, FUSEC_SHAPE_MISMATCH, "scatter", base, value,
                          "the array has one element where the values have an axis");
            return false;
        } else if (!fc_same_size(g, *d, own)) {
            if (!g->error.code)
                fc_fail_types(g, FUSEC_SHAPE_MISMATCH, "scatter", base, value,
                              "an axis of the values is not as long as that of the array");
            return false;
        } else {
            *d = own;
        }
    }
    return true;
}

static fc_node scatter(fc_graph *g, fc_node base, fc_node index, fc_node value, fc_scatter s,
                       uint32_t flags);

/* A part of it for itself: which value is the last follows from the indices. */
static fc_node of_parts(fc_graph *g, fc_node base, fc_node index, fc_node value, fc_scatter s,
                        uint32_t flags) {
    const fc_parts b = fc_full_parts(g, base), v = fc_full_parts(g, value);
    const fc_node re = scatter(g, b.re, index, v.re, s, flags);
    return fc_build_pair(g, re, scatter(g, b.im, index, v.im, s, flags));
}

static fc_node scatter(fc_graph *g, fc_node base, fc_node index, fc_node value, fc_scatter s,
                       uint32_t flags) {
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank;
    if (!fc_usable(g, base) || !fc_usable(g, index) || !fc_usable(g, value)) return FC_NONODE;
    const fusec_dtype t = (fusec_dtype)fc_at(g, base)->dtype;
    if (s.axis >= fc_rank(g, base)) {
        fc_fail(&g->error, FUSEC_BAD_AXIS, "scatter: there is no axis %u", (unsigned)s.axis);
        return FC_NONODE;
    }
    index = fc_build_computed(g, index);
    if (index == FC_NONODE) return FC_NONODE;
    if (fc_at(g, value)->dtype != t)
        return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, "scatter", base, value,
                             "the values have another dtype than the array");
    if (!fc_can_scatter(s.op, t)) {
        fc_fail(&g->error, FUSEC_DTYPE_MISMATCH, "scatter: elements of dtype %s do not take in %s",
                fc_dtypes[t].name,
                fc_is_reduction(s.op) ? fc_ops[s.op].name : "what is no reduction");
        return FC_NONODE;
    }
    if (fc_is_complex(t)) return of_parts(g, base, index, value, s, flags);
    if (!join_shapes(g, base, index, value, s.axis, &rank, shape)) return FC_NONODE;
    index = fc_build_broadcast(g, index, rank, shape);
    value = fc_build_broadcast(g, value, rank, shape);
    if (index == FC_NONODE || value == FC_NONODE) return FC_NONODE;
    if (rank + 1 > FC_MAX_RANK) return fail(g, FUSEC_LIMIT, "too many axes");
    fc_ninfo n = {.op = FC_OP_SCATTER,
                  .dtype = (uint8_t)t,
                  .nops = 3,
                  .shape = fc_at(g, base)->shape,
                  .src = {base, index, value},
                  .flags = flags,
                  .attr = fc_scatter_attr(s)};
    return fc_graph_node(g, n);
}

fc_node fc_build_scatter(fc_graph *g, fc_node base, fc_node index, fc_node value, fc_scatter s) {
    return scatter(g, base, index, value, s, 0);
}

fc_node fc_build_scatter_inside(fc_graph *g, fc_node base, fc_node index, fc_node value,
                                fc_scatter s) {
    return scatter(g, base, index, value, s, FC_NODE_INSIDE);
}

/* The index's axes but the last stand in front of all others, where they meet no axis of the base;
 * the last stands in place of the axis. An index without axes has one of size 1. */
fc_node fc_build_put(fc_graph *g, fc_node base, fc_node index, fc_node value, fc_scatter s,
                     bool inside) {
    fc_dim where[2 * FC_MAX_RANK], shape[2 * FC_MAX_RANK];
    int64_t perm[2 * FC_MAX_RANK];
    const fc_dim one = fc_dim_const(&g->dims, 1);
    if (!fc_usable(g, base) || !fc_usable(g, index) || !fc_usable(g, value)) return FC_NONODE;
    const uint32_t rb = fc_rank(g, base), ri = fc_rank(g, index), lead = ri ? ri - 1 : 0;
    if (s.axis >= rb) return scatter(g, base, index, value, s, 0);
    const uint32_t want = rb - 1 + ri, rank = lead + rb;
    if (rank > g->limits.rank || rank > FC_MAX_RANK)
        return fail(g, FUSEC_LIMIT, "the updates have too many axes");
    if (fc_rank(g, value) > want)
        return fc_fail_types(g, FUSEC_SHAPE_MISMATCH, "scatter", index, value,
                             "the values have more axes than indices and array ask for");
    /* the value's axes: before the axis, the index's, behind it; missing ones in front are 1 */
    const uint32_t missing = want - fc_rank(g, value);
    for (uint32_t i = 0, n = 0; i < rb - 1 + (ri ? ri : 1); i++) {
        const bool added = !ri && i == s.axis;
        shape[i] = added || n < missing ? one : fc_axis(g, value, n - missing);
        n += !added;
    }
    for (uint32_t i = 0; i < lead; i++) perm[i] = s.axis + i;
    for (uint32_t i = 0; i < rb; i++) perm[lead + i] = i < s.axis ? i : i + lead;
    for (uint32_t i = 0; i < rank; i++) {
        const bool own = i < lead || i == lead + s.axis;
        where[i] = own && ri ? fc_axis(g, index, i < lead ? i : ri - 1) : one;
    }
    value = fc_build_permute(g, fc_build_reshape(g, value, rank, shape), perm);
    return scatter(g, base, fc_build_reshape(g, index, rank, where), value, s,
                   inside ? FC_NODE_INSIDE : 0);
}

fc_node fc_build_positions(fc_graph *g, uint32_t rank, const fc_dim *shape, uint32_t lead,
                           uint32_t axis) {
    fc_dim stride = fc_dim_const(&g->dims, 1);
    fc_node sum = FC_NONODE;
    for (uint32_t i = rank; i-- > 0;) {
        if (i >= lead && i != lead + axis) continue;
        const fc_node at = fc_build_iota_along(g, shape[i], rank, i);
        const fc_node by = fc_build_dim(g, stride);
        const fc_node term = sum == FC_NONODE ? at : fc_op2(g, FC_OP_mul, at, by);
        sum = sum == FC_NONODE ? term : fc_op2(g, FC_OP_add, sum, term);
        stride = fc_dim_mul(&g->dims, stride, shape[i]);
    }
    return fc_build_broadcast(g, sum, rank, shape);
}

/* ---- counting, and rows by their numbers -------------------------------------------------------
 */

fc_node fc_build_histogram(fc_graph *g, fc_node index, fc_node weight, fc_dim n) {
    const fc_dim one = fc_dim_const(&g->dims, 1);
    if (!fc_usable(g, index) || !fc_usable(g, weight)) return FC_NONODE;
    if (fc_rank(g, index) == 0) index = fc_build_reshape(g, index, 1, &one);
    const fc_node zero = fc_build_const(g, (fusec_dtype)fc_at(g, weight)->dtype, 0);
    return fc_build_scatter(g, fc_build_full(g, zero, 1, &n), index, weight,
                            (fc_scatter){FC_OP_sum, 0, false});
}

static fc_node segments(fc_graph *g, fc_node v, fc_node ids, fc_dim n, fc_op op) {
    fc_dim shape[FC_MAX_RANK + 1];
    const uint32_t own = fc_rank(g, ids), rank = fc_rank(g, v);
    const fusec_dtype t = (fusec_dtype)fc_at(g, v)->dtype;
    shape[0] = n;
    for (uint32_t i = own; i < rank; i++) shape[1 + i - own] = fc_axis(g, v, i);
    const fc_node start = fc_build_full(g, fc_build_scatter_start(g, op, t), 1 + rank - own, shape);
    return fc_build_put(g, start, ids, v, (fc_scatter){op, 0, false}, false);
}

static fc_node means(fc_graph *g, fc_node v, fc_node ids, fc_dim n) {
    fc_dim shape[FC_MAX_RANK + 1];
    const fusec_dtype t = (fusec_dtype)fc_at(g, v)->dtype;
    const fc_node sum = segments(g, v, ids, n, FC_OP_sum);
    fc_node count = fc_build_like(g, fc_i64(g, 1), ids);
    count = segments(g, count, ids, n, FC_OP_sum);
    if (sum == FC_NONODE || count == FC_NONODE) return FC_NONODE;
    for (uint32_t i = 0; i < fc_rank(g, sum); i++) shape[i] = i ? fc_dim_const(&g->dims, 1) : n;
    count = fc_build_reshape(g, fc_build_cast(g, count, t), fc_rank(g, sum), shape);
    return fc_op2(g, FC_OP_div, sum, count);
}

fc_node fc_build_segment(fc_graph *g, fc_node v, fc_node ids, fc_dim n, fc_op op) {
    if (!fc_usable(g, v) || !fc_usable(g, ids)) return FC_NONODE;
    if (!fc_rank(g, ids) || fc_rank(g, ids) > fc_rank(g, v))
        return fc_fail_types(g, FUSEC_SHAPE_MISMATCH, "segment", v, ids,
                             "every row needs a number");
    if (op != FC_OP_mean) return segments(g, v, ids, n, op);
    if (fc_is_float((fusec_dtype)fc_at(g, v)->dtype)) return means(g, v, ids, n);
    fc_fail(&g->error, FUSEC_DTYPE_MISMATCH, "segment: a mean is taken of floats");
    return FC_NONODE;
}
