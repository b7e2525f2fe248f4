/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_view.c - builders of views: broadcast, permute, slice, reshape. Views cost index arithmetic
 * only. */
#include "ir/complex.h"

static fc_node fail_shapes(fc_graph *g, fc_op op, fc_node a, fc_node b, const char *fmt,
                           uint32_t axis, fc_dim x, fc_dim y) {
    if (g->error.code) return FC_NONODE;
    fc_str ta, tb, dx, dy;
    fc_str_init(&ta, g->alloc);
    fc_str_init(&tb, g->alloc);
    fc_str_init(&dx, g->alloc);
    fc_str_init(&dy, g->alloc);
    fc_type_print(g, a, &ta);
    if (b != FC_NONODE) fc_type_print(g, b, &tb);
    fc_dim_print(&g->dims, x, &dx);
    fc_dim_print(&g->dims, y, &dy);
    const char *name = op == FC_OP_BROADCAST ? "broadcast" : fc_ops[op].name;
    fc_str msg;
    fc_str_init(&msg, g->alloc);
    fc_str_printf(&msg, "%s of %s%s%s: ", name, ta.data, tb.len ? " and " : "", tb.data);
    fc_str_printf(&msg, fmt, axis, dx.data, dy.data);
    fc_fail(&g->error, FUSEC_SHAPE_MISMATCH, "%s", msg.data);
    fc_str_free(&msg);
    fc_str_free(&ta);
    fc_str_free(&tb);
    fc_str_free(&dx);
    fc_str_free(&dy);
    return FC_NONODE;
}

/* Equal, or equal by a condition tested at the call. Two different names, or a difference that is
 * known, are a mismatch at once. */
bool fc_same_size(fc_graph *g, fc_dim a, fc_dim b) {
    int64_t diff;
    if (a == b) return true;
    if (fc_dim_diff(&g->dims, a, b, &diff)) return diff == 0;
    if (fc_dim_is_sym(&g->dims, a, NULL) && fc_dim_is_sym(&g->dims, b, NULL)) {
        uint32_t sa, sb;
        fc_dim_is_sym(&g->dims, a, &sa);
        fc_dim_is_sym(&g->dims, b, &sb);
        if (g->dims.syms.at[sa].kind == FC_SYM_NAMED && g->dims.syms.at[sb].kind == FC_SYM_NAMED)
            return false;
    }
    return fc_require(g, FC_CHECK_EQ, a, b, FUSEC_INPUT_SHAPE, NULL) == FUSEC_OK;
}

bool fc_broadcast_shapes(fc_graph *g, fc_op op, fc_node a, fc_node b, uint32_t *rank,
                         fc_dim *shape) {
    if (!fc_usable(g, a) || !fc_usable(g, b)) return false;
    uint32_t ra = fc_rank(g, a), rb = fc_rank(g, b), r = ra > rb ? ra : rb;
    *rank = r;
    for (uint32_t i = 0; i < r; i++) {
        fc_dim da = i + ra >= r ? fc_axis(g, a, i + ra - r) : FC_DIM_NONE;
        fc_dim db = i + rb >= r ? fc_axis(g, b, i + rb - r) : FC_DIM_NONE;
        if (da == FC_DIM_NONE || db == FC_DIM_NONE)
            shape[i] = da == FC_DIM_NONE ? db : da;
        else if (fc_dim_is(&g->dims, da, 1))
            shape[i] = db;
        else if (fc_dim_is(&g->dims, db, 1) || fc_same_size(g, da, db))
            shape[i] = da;
        else
            return fail_shapes(
                       g, op, a, b,
                       "the shapes do not broadcast: axis %u is %s on the left and %s on the right",
                       i, da, db),
                   false;
    }
    return true;
}

static fc_list to_list(fc_graph *g, uint32_t rank, const fc_dim *shape) {
    int64_t v[FC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) v[i] = shape[i];
    return fc_intern_list(g, v, rank);
}

static bool rank_ok(fc_graph *g, uint32_t rank, const fc_dim *shape) {
    if (rank > g->limits.rank || rank > FC_MAX_RANK)
        return fc_fail(&g->error, FUSEC_LIMIT, "rank %u is above the limit of %u", rank,
                       g->limits.rank),
               false;
    for (uint32_t i = 0; i < rank; i++)
        if (shape[i] == FC_DIM_NONE) return fc_bad_axis(g, i), false;
    return true;
}

fc_node fc_build_broadcast(fc_graph *g, fc_node a, uint32_t rank, const fc_dim *shape) {
    if (!fc_usable(g, a)) return FC_NONODE;
    while (fc_at(g, a)->op == FC_OP_BROADCAST) a = fc_at(g, a)->src[0]; /* one does for several */
    return fc_build_spread(g, a, rank, shape);
}

fc_node fc_build_like(fc_graph *g, fc_node a, fc_node like) {
    fc_dim shape[FC_MAX_RANK];
    if (!fc_usable(g, like)) return FC_NONODE;
    const uint32_t rank = fc_shape_of(g, like, shape);
    return fc_build_broadcast(g, a, rank, shape);
}

fc_node fc_build_spread(fc_graph *g, fc_node a, uint32_t rank, const fc_dim *shape) {
    if (!fc_usable(g, a) || !rank_ok(g, rank, shape)) return FC_NONODE;
    uint32_t ra = fc_rank(g, a);
    if (ra > rank)
        return fail_shapes(g, FC_OP_BROADCAST, a, FC_NONODE,
                           "the result has fewer axes (%u; %s, %s)", rank, FC_DIM_NONE,
                           FC_DIM_NONE);
    for (uint32_t i = 0; i < ra; i++) {
        fc_dim from = fc_axis(g, a, i), to = shape[rank - ra + i];
        if (!fc_dim_is(&g->dims, from, 1) && !fc_same_size(g, from, to))
            return fail_shapes(g, FC_OP_BROADCAST, a, FC_NONODE,
                               "axis %u is %s and can't become %s", i, from, to);
    }
    fc_ninfo n = {.op = FC_OP_BROADCAST, .dtype = fc_at(g, a)->dtype, .nops = 1, .src = {a, 0, 0}};
    n.shape = to_list(g, rank, shape);
    if (n.shape == fc_at(g, a)->shape) return a;
    return fc_build_moved(g, n);
}

fc_node fc_build_permute(fc_graph *g, fc_node a, const int64_t *perm) {
    if (!fc_usable(g, a)) return FC_NONODE;
    uint32_t rank = fc_rank(g, a), seen = 0;
    fc_dim shape[FC_MAX_RANK];
    bool identity = true;
    for (uint32_t i = 0; i < rank; i++) {
        if (perm[i] < 0 || perm[i] >= rank || (seen >> perm[i] & 1)) {
            fc_fail(&g->error, FUSEC_BAD_AXIS,
                    "transpose: the axes must be a permutation of 0 to %u", rank ? rank - 1 : 0);
            return FC_NONODE;
        }
        seen |= 1u << perm[i];
        shape[i] = fc_axis(g, a, (uint32_t)perm[i]);
        identity &= perm[i] == i;
    }
    if (identity) return a;
    fc_ninfo n = {.op = FC_OP_PERMUTE, .dtype = fc_at(g, a)->dtype, .nops = 1, .src = {a, 0, 0}};
    n.attr = fc_intern_list(g, perm, rank);
    n.shape = to_list(g, rank, shape);
    return fc_build_moved(g, n);
}

/* Every index start + i*step with 0 <= i < size must be inside the axis; what is not known now is a
 * condition of the call. */
static bool slice_in_range(fc_graph *g, fc_dim axis, const fc_slice *s) {
    fc_dimtab *t = &g->dims;
    fc_dim zero = fc_dim_const(t, 0), step = fc_dim_const(t, s->step);
    const char *msg = "a slice reaches outside its array";
    if (fc_require(g, FC_CHECK_GE, s->size, zero, FUSEC_SLICE_RANGE, msg)) return false;
    /* the index before or after the last one: a bound that also holds for size 0 */
    fc_dim last = fc_dim_sub(t, fc_dim_add(t, s->start, fc_dim_mul(t, s->size, step)), step);
    fc_dim low = s->step > 0 ? s->start : last, high = s->step > 0 ? last : s->start;
    return !fc_require(g, FC_CHECK_GE, low, zero, FUSEC_SLICE_RANGE, msg) &&
           !fc_require(g, FC_CHECK_GE, fc_dim_sub(t, axis, fc_dim_const(t, 1)), high,
                       FUSEC_SLICE_RANGE, msg);
}

static bool is_whole(const fc_graph *g, fc_dim axis, const fc_slice *s) {
    return s->step == 1 && s->size == axis && fc_dim_is(&g->dims, s->start, 0);
}

/* A slice of no element, and of one, has one form: the step says nothing then. */
static fc_slice plain_slice(fc_dimtab *t, fc_slice s) {
    int64_t size;
    if (!fc_dim_is_const(t, s.size, &size) || size < 0 || size > 1) return s;
    return (fc_slice){size ? s.start : fc_dim_const(t, 0), 1, s.size};
}

fc_node fc_build_slice(fc_graph *g, fc_node a, const fc_slice *axes) {
    if (!fc_usable(g, a)) return FC_NONODE;
    uint32_t rank = fc_rank(g, a);
    fc_dim shape[FC_MAX_RANK];
    int64_t attr[3 * FC_MAX_RANK];
    bool identity = true;
    for (uint32_t i = 0; i < rank; i++) {
        const fc_dim axis = fc_axis(g, a, i);
        if (axes[i].step == 0) {
            fc_fail(&g->error, FUSEC_BAD_SLICE, "the step of a slice can't be 0");
            return FC_NONODE;
        }
        if (!is_whole(g, axis, &axes[i]) && !slice_in_range(g, axis, &axes[i])) return FC_NONODE;
        const fc_slice s = plain_slice(&g->dims, axes[i]);
        if (s.step > FC_MAX_STEP || s.step < -FC_MAX_STEP) {
            fc_fail(&g->error, FUSEC_LIMIT, "the step of a slice is 2^48 at most");
            return FC_NONODE;
        }
        identity &= is_whole(g, axis, &s);
        shape[i] = s.size;
        attr[3 * i] = s.start;
        attr[3 * i + 1] = s.step;
        attr[3 * i + 2] = s.size;
    }
    if (identity) return a;
    fc_ninfo n = {.op = FC_OP_SLICE, .dtype = fc_at(g, a)->dtype, .nops = 1, .src = {a, 0, 0}};
    n.attr = fc_intern_list(g, attr, 3 * rank);
    n.shape = to_list(g, rank, shape);
    return fc_build_moved(g, n);
}

static fc_dim product(fc_graph *g, uint32_t rank, const fc_dim *shape) {
    fc_dim p = fc_dim_const(&g->dims, 1);
    for (uint32_t i = 0; i < rank; i++) p = fc_dim_mul(&g->dims, p, shape[i]);
    return p;
}

/* Products compare term by term only, so common factors (in any order) are dropped first; but not
 * zeros, which make the other factors irrelevant. */
static bool same_count(fc_graph *g, uint32_t ra, fc_dim *sa, uint32_t rb, fc_dim *sb) {
    for (uint32_t i = 0; i < ra; i++)
        for (uint32_t j = 0; j < rb; j++)
            if (sa[i] == sb[j] && !fc_dim_is(&g->dims, sa[i], 0)) {
                sa[i--] = sa[--ra];
                sb[j] = sb[--rb];
                break;
            }
    fc_dim a = product(g, ra, sa), b = product(g, rb, sb);
    int64_t diff;
    if (a != FC_DIM_NONE && b != FC_DIM_NONE && fc_dim_diff(&g->dims, a, b, &diff) && diff)
        return false;
    return fc_require(g, FC_CHECK_EQ, a, b, FUSEC_INPUT_SHAPE,
                      "reshape keeps the number of elements") == FUSEC_OK;
}

fc_node fc_build_reshape(fc_graph *g, fc_node a, uint32_t rank, const fc_dim *shape) {
    if (!fc_usable(g, a) || !rank_ok(g, rank, shape)) return FC_NONODE;
    fc_dim sa[FC_MAX_RANK], sb[FC_MAX_RANK];
    const uint32_t ra = fc_shape_of(g, a, sa);
    if (rank) memcpy(sb, shape, rank * sizeof *sb);
    if (!same_count(g, ra, sa, rank, sb))
        return fail_shapes(g, FC_OP_RESHAPE, a, FC_NONODE,
                           "reshape changes the number of elements (%u axes; %s, %s)", rank,
                           product(g, ra, sa), product(g, rank, sb));
    fc_ninfo n = {.op = FC_OP_RESHAPE, .dtype = fc_at(g, a)->dtype, .nops = 1, .src = {a, 0, 0}};
    n.shape = to_list(g, rank, shape);
    if (n.shape == fc_at(g, a)->shape) return a;
    return fc_build_moved(g, n);
}
