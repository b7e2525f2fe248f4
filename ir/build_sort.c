/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_sort.c - builders of what stands in order: sort, topk, quantile, searchsorted, unique.
 *
 * In: arrays. Out: nodes. What is ordered are keys: unsigned integers whose order is that of the
 * elements, so one step sorts all dtypes and gives positions. Keys are made by the kernel before
 * it, elements are read at the positions by whatever needs them. */
#include "ir/graph.h"

#include "ir/code.h"
#include "ir/loop.h"
#include "ir/plant.h"

#include <math.h>

/* ---- short forms ----------------------------------------------------------------------------- */

static bool find_axis(fc_graph *g, fc_node x, int64_t *axis) {
    if (!fc_usable(g, x)) return false;
    const int64_t rank = fc_rank(g, x), given = *axis;
    if (*axis < 0) *axis += rank;
    if (*axis >= 0 && *axis < rank) return true;
    fc_fail(&g->error, FUSEC_BAD_AXIS, "axis %lld does not exist; the array has %lld",
            (long long)given, (long long)rank);
    return false;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static fusec_dtype key_dtype(fusec_dtype t) {
    switch (fc_dtypes[t].bytes) {
    case 1: return FUSEC_U8;
    case 2: return FUSEC_U16;
    case 4: return FUSEC_U32;
    default: return FUSEC_U64;
    }
}

/* Of a float the bits as they are with the sign changed, or if it is negative all changed. */
static fc_node key_of(fc_graph *g, fc_node x, bool down) {
    if (!fc_usable(g, x)) return FC_NONODE;
    const fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype, k = key_dtype(t);
    const uint64_t sign = UINT64_C(1) << (8 * fc_dtypes[t].bytes - 1), all = sign | (sign - 1);
    if (fc_is_complex(t))
        return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, "an order", x, FC_NONODE,
                             "complex numbers have none; take abs(), real() or imag()");
    fc_node key = t == FUSEC_BOOL ? fc_build_cast(g, x, k) : fc_build_bitcast(g, x, k);
    const fc_node top = fc_build_const(g, k, sign);
    if (fc_is_float(t)) {
        const fc_node below = fc_op2(g, FC_OP_ge, key, top);
        key = fc_op2(g, FC_OP_bit_xor, key, fc_where(g, below, fc_build_const(g, k, all), top));
    } else if (fc_is_signed(t)) {
        key = fc_op2(g, FC_OP_bit_xor, key, top);
    }
    if (down) key = fc_op1(g, FC_OP_bit_not, key);
    if (fc_is_float(t))
        key = fc_where(g, fc_op1(g, FC_OP_isnan, x), fc_build_const(g, k, all), key);
    return key;
}

/* ---- sort ------------------------------------------------------------------------------------ */

static fc_node last_axis(fc_graph *g, fc_node x, int64_t axis) {
    int64_t perm[FC_MAX_RANK];
    if (x == FC_NONODE) return x;
    const uint32_t rank = fc_rank(g, x);
    if (axis == rank - 1) return x;
    for (uint32_t i = 0; i < rank; i++) perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    return fc_build_permute(g, x, perm); /* its own inverse */
}

fc_node fc_build_sort_key(fc_graph *g, fc_node x, int64_t axis, bool down) {
    return last_axis(g, key_of(g, x, down), axis);
}

/* The way back of key_of. */
static fc_node of_key(fc_graph *g, fc_node key, fusec_dtype t, bool down) {
    if (g->error.code || key == FC_NONODE) return FC_NONODE;
    const fusec_dtype k = key_dtype(t);
    const uint64_t sign = UINT64_C(1) << (8 * fc_dtypes[t].bytes - 1), all = sign | (sign - 1);
    const fc_node top = fc_build_const(g, k, sign), most = fc_build_const(g, k, all);
    fc_node x = down ? fc_op1(g, FC_OP_bit_not, key) : key;
    if (t == FUSEC_BOOL) return fc_build_cast(g, x, t);
    if (fc_is_float(t))
        x = fc_op2(g, FC_OP_bit_xor, x,
                   FC_PLANT(sort_back, top, fc_where(g, fc_op2(g, FC_OP_ge, x, top), top, most)));
    else if (fc_is_signed(t))
        x = fc_op2(g, FC_OP_bit_xor, x, top);
    x = fc_build_bitcast(g, x, t);
    return fc_is_float(t)
               ? fc_where(g, fc_op2(g, FC_OP_eq, key, most), fc_build_number(g, t, NAN), x)
               : x;
}

fc_node fc_build_sorted(fc_graph *g, fc_node sort, fusec_dtype t, int64_t axis, bool down) {
    const fc_ninfo *key = fc_at(g, fc_at(g, fc_at(g, sort)->src[0])->src[0]);
    const fc_list shape = fc_at(g, sort)->shape ? fc_at(g, sort)->shape : key->shape;
    const fc_node k = fc_build_result(g, sort, FC_SORT_KEYS, (fusec_dtype)key->dtype, shape);
    return last_axis(g, of_key(g, k, t, down), axis);
}

/* Places of the order: all if there is no `first`. */
typedef struct window {
    fc_node first;
    fc_dim count;
} window;

static fc_node positions(fc_graph *g, fc_node x, int64_t axis, bool down, window w) {
    int64_t dims[FC_MAX_RANK];
    const fc_node key = fc_build_sort_key(g, x, axis, down), in[2] = {key, w.first};
    if (key == FC_NONODE) return key;
    const bool part = w.first != FC_NONODE;
    const uint32_t rank = fc_rank(g, key);
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = (int64_t)(part && i + 1 == rank ? w.count : fc_axis(g, key, i));
    const fc_list shape = fc_intern_list(g, dims, rank);
    const fc_node list = fc_build_value_list(g, part ? 2 : 1, in);
    const fc_node sort = fc_graph_node(g, (fc_ninfo){.op = FC_OP_SORT,
                                                     .dtype = FUSEC_BOOL,
                                                     .nops = 1,
                                                     .shape = part ? shape : 0,
                                                     .src = {list, FC_NONODE, FC_NONODE}});
    return last_axis(g, fc_build_result(g, sort, FC_SORT_POSITIONS, FUSEC_I64, shape), axis);
}

fc_node fc_build_argsort(fc_graph *g, fc_node x, int64_t axis, bool down) {
    if (!find_axis(g, x, &axis)) return FC_NONODE;
    return positions(g, x, axis, down, (window){.first = FC_NONODE});
}

fc_node fc_build_sort(fc_graph *g, fc_node x, int64_t axis, bool down) {
    if (!find_axis(g, x, &axis)) return FC_NONODE;
    return fc_build_take_inside(g, x, fc_build_argsort(g, x, axis, down), (uint32_t)axis);
}

static bool is_zero(const fc_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    return i->op == FC_OP_CONST && !i->attr;
}

static fc_node places(fc_graph *g, fc_node x, int64_t axis, bool down, fc_node first,
                      fc_dim count) {
    int64_t number;
    if (!find_axis(g, x, &axis) || first == FC_NONODE ||
        fc_require(g, FC_CHECK_GE, count, fc_dim_const(&g->dims, 0), FUSEC_SLICE_RANGE,
                   "a negative number of elements"))
        return FC_NONODE;
    if (!is_zero(g, first) &&
        !(fc_dim_is_const(&g->dims, count, &number) && number <= FC_SORT_WINDOW)) {
        fc_fail(&g->error, FUSEC_LIMIT,
                "places of an order that do not begin with the first are a constant number, %d at "
                "most",
                FC_SORT_WINDOW);
        return FC_NONODE;
    }
    return positions(g, x, axis, down, (window){first, count});
}

fc_node fc_build_argsort_places(fc_graph *g, fc_node x, int64_t axis, bool down, fc_node first,
                                fc_dim count) {
    int64_t number;
    if (!find_axis(g, x, &axis)) return FC_NONODE;
    const bool few = fc_dim_is_const(&g->dims, count, &number) && number <= FC_SORT_WINDOW;
    const fc_dim least = few ? fc_dim_const(&g->dims, number > 0) : count;
    if (fc_require(g, FC_CHECK_GE, fc_axis(g, x, (uint32_t)axis), least, FUSEC_SLICE_RANGE,
                   "places of an order that has fewer elements"))
        return FC_NONODE;
    return places(g, x, axis, down, first, count);
}

fc_node fc_build_argsort_part(fc_graph *g, fc_node x, int64_t axis, bool down, int64_t first,
                              fc_dim count) {
    if (!find_axis(g, x, &axis)) return FC_NONODE;
    const fc_dim n = fc_axis(g, x, (uint32_t)axis), zero = fc_dim_const(&g->dims, 0);
    if (fc_require(g, FC_CHECK_GE, fc_dim_const(&g->dims, first), zero, FUSEC_SLICE_RANGE,
                   "a part of an order that begins before it") ||
        fc_require(g, FC_CHECK_GE, n, fc_dim_add(&g->dims, count, fc_dim_const(&g->dims, first)),
                   FUSEC_SLICE_RANGE, "a part of an order that has fewer elements"))
        return FC_NONODE;
    return places(g, x, axis, down, fc_i64(g, first), count);
}

bool fc_build_topk(fc_graph *g, fc_node x, fc_dim k, int64_t axis, fc_node out[2]) {
    if (!find_axis(g, x, &axis)) return false;
    if (fc_require(g, FC_CHECK_GE, fc_axis(g, x, (uint32_t)axis), k, FUSEC_SLICE_RANGE,
                   "topk() gives more elements than the axis has"))
        return false;
    out[1] = fc_build_argsort_part(g, x, axis, true, 0, k);
    out[0] = fc_build_take_inside(g, x, out[1], (uint32_t)axis);
    return !g->error.code;
}

fc_node fc_build_permutation(fc_graph *g, fc_dim n, fc_node seed, fc_node stream) {
    const fc_draw d = {.rank = 1, .shape = &n, .seed = seed, .stream = stream};
    return fc_build_argsort(g, fc_build_bits(g, &d, FUSEC_U64), 0, false);
}

/* ---- searching ------------------------------------------------------------------------------- */

enum { LARGEST = 32 }; /* log2 of what is searched */

/* The powers of two, from the largest down, that leave less than v below them. */
static fc_node search(fc_graph *g, fc_node a, fc_node v, bool right) {
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = fc_shape_of(g, v, shape);
    const fc_dim n = fc_axis(g, a, 0);
    const fc_node size = fc_build_dim(g, n);
    if (fc_require(g, FC_CHECK_GE, fc_dim_const(&g->dims, INT64_C(1) << (LARGEST + 1)), n,
                   FUSEC_LIMIT, "searchsorted() of 2^33 elements at most"))
        return FC_NONODE;
    fc_node at = fc_build_broadcast(g, fc_i64(g, 0), rank, shape);
    for (int k = LARGEST; k >= 0 && !g->error.code; k--) {
        const fc_node next = fc_op2(g, FC_OP_add, at, fc_i64(g, INT64_C(1) << k));
        const fc_node place = fc_op2(g, FC_OP_sub, next, fc_i64(g, 1));
        const fc_node x = fc_build_gather(g, a, place, 0, false);
        const fc_node below = fc_op2(g, right ? FC_OP_le : FC_OP_lt, x, v);
        at = fc_where(g, fc_op2(g, FC_OP_logical_and, fc_op2(g, FC_OP_le, next, size), below), next,
                      at);
    }
    return at;
}

fc_node fc_build_searchsorted(fc_graph *g, fc_node a, fc_node v, bool right) {
    if (!fc_usable(g, a) || !fc_usable(g, v)) return FC_NONODE;
    if (fc_rank(g, a) != 1) {
        fc_fail(&g->error, FUSEC_BAD_AXIS, "what is searched has one axis, not %u", fc_rank(g, a));
        return FC_NONODE;
    }
    if (fc_at(g, a)->dtype != fc_at(g, v)->dtype)
        return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, "searchsorted", a, v, "they have one dtype");
    const fc_node keys = fc_build_materialize(g, key_of(g, a, false));
    return g->error.code ? FC_NONODE : search(g, keys, key_of(g, v, false), right);
}

/* ---- quantiles ------------------------------------------------------------------------------- */

static fc_node element(fc_graph *g, fc_node x, int64_t axis, int64_t at) {
    return fc_build_gather(g, x, fc_i64(g, at), (uint32_t)axis, true);
}

fc_node fc_build_quantile(fc_graph *g, fc_node x, fc_node q, int64_t axis) {
    if (!find_axis(g, x, &axis)) return FC_NONODE;
    fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype;
    if (!fc_is_float(t)) x = fc_build_cast(g, x, t = g->default_float);
    if (g->error.code) return FC_NONODE;
    const fc_dim n = fc_axis(g, x, (uint32_t)axis);
    if (fc_require(g, FC_CHECK_GE, n, fc_dim_const(&g->dims, 1), FUSEC_EMPTY_REDUCTION,
                   "a quantile of no elements"))
        return FC_NONODE;
    const fc_node last = fc_op2(g, FC_OP_sub, fc_build_dim(g, n), fc_i64(g, 1));
    const fc_node at = fc_op2(g, FC_OP_mul, q, fc_build_cast(g, last, FUSEC_F64));
    const fc_node low = fc_op1(g, FC_OP_floor, at);
    const fc_node k =
        fc_op2(g, FC_OP_maximum, fc_op2(g, FC_OP_minimum, fc_build_cast(g, low, FUSEC_I64), last),
               fc_i64(g, 0));
    /* the last element stands for the one behind it */
    const fc_node p = positions(g, x, axis, false, (window){k, fc_dim_const(&g->dims, 2)});
    const fc_node two = fc_build_take_inside(g, x, p, (uint32_t)axis);
    const fc_node a = element(g, two, axis, 0), b = element(g, two, axis, 1);
    const fc_node part = fc_build_cast(g, fc_op2(g, FC_OP_sub, at, low), t);
    const fc_node by = fc_op2(g, FC_OP_sub, b, a),
                  rest = fc_op2(g, FC_OP_sub, fc_build_number(g, t, 1), part);
    fc_node r = fc_op2(g, FC_OP_add, a, fc_op2(g, FC_OP_mul, by, part));
    /* infinities, and what is further apart than a float can say */
    r = fc_where(g, fc_op1(g, FC_OP_isinf, by),
                 fc_op2(g, FC_OP_add, fc_op2(g, FC_OP_mul, a, rest), fc_op2(g, FC_OP_mul, b, part)),
                 r);
    const fc_node first = fc_op2(g, FC_OP_eq, part, fc_build_number(g, t, 0));
    r = fc_where(g, fc_op2(g, FC_OP_logical_or, first, fc_op2(g, FC_OP_eq, a, b)), a, r);
    const fc_node nan = fc_op1(g, FC_OP_isnan, x);
    return fc_where(g, fc_build_reduce(g, FC_OP_any, nan, 1, &axis, false),
                    fc_build_number(g, t, NAN), r);
}

/* ---- what a mask holds ----------------------------------------------------------------------- */

static bool is_mask(fc_graph *g, fc_node mask) {
    if (!fc_usable(g, mask)) return false;
    if (fc_at(g, mask)->dtype == FUSEC_BOOL && fc_rank(g, mask) == 1) return true;
    fc_fail_types(g, FUSEC_NOT_BOOL, "a mask", mask, FC_NONODE, "it is bool, with one axis");
    return false;
}

bool fc_build_nonzero(fc_graph *g, fc_node mask, fc_dim size, fc_node out[2]) {
    if (!is_mask(g, mask)) return false;
    const fc_node before = fc_build_scan(g, FC_OP_sum, mask, 0, false, false);
    const fc_node number = fc_op2(g, FC_OP_add, fc_build_iota(g, size), fc_i64(g, 1));
    if (g->error.code) return false;
    const fc_node place = fc_build_searchsorted(g, before, number, false);
    out[1] = fc_build_reduce(g, FC_OP_sum, mask, 0, NULL, false);
    out[0] = fc_where(g, fc_op2(g, FC_OP_le, number, out[1]), place, fc_i64(g, 0));
    return !g->error.code;
}

bool fc_build_compress(fc_graph *g, fc_node mask, fc_node x, fc_dim size, fc_node out[2]) {
    fc_dim shape[FC_MAX_RANK];
    fc_node at[2];
    if (!fc_build_nonzero(g, mask, size, at) || x >= g->nodes.len) return false;
    if (!fc_rank(g, x) || !fc_same_size(g, fc_axis(g, x, 0), fc_axis(g, mask, 0))) {
        fc_fail_types(g, FUSEC_SHAPE_MISMATCH, "compress", mask, x, "the mask is for axis 0");
        return false;
    }
    const fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype;
    const fc_node rows = fc_build_gather(g, x, at[0], 0, false);
    const fc_node there = fc_op2(g, FC_OP_lt, fc_build_iota(g, size), at[1]);
    if (g->error.code) return false;
    const uint32_t rank = fc_shape_of(g, rows, shape);
    fc_dim column[FC_MAX_RANK] = {size};
    for (uint32_t i = 1; i < rank; i++) column[i] = fc_dim_const(&g->dims, 1);
    const fc_node inside =
        fc_build_broadcast(g, fc_build_reshape(g, there, rank, column), rank, shape);
    out[0] = fc_where(g, inside, rows, fc_build_number(g, t, 0));
    out[1] = at[1];
    return !g->error.code;
}

bool fc_build_unique(fc_graph *g, fc_node x, fc_dim size, fc_node out[2]) {
    fc_dim n = fc_dim_const(&g->dims, 1), all[1];
    if (!fc_usable(g, x)) return false;
    for (uint32_t i = 0; i < fc_rank(g, x); i++) n = fc_dim_mul(&g->dims, n, fc_axis(g, x, i));
    all[0] = n;
    const fc_node s = fc_build_sort(g, fc_build_reshape(g, x, 1, all), 0, false);
    if (g->error.code || s == FC_NONODE) return false;
    const fc_node key = key_of(g, s, false), i = fc_build_iota(g, n);
    const fc_node before = fc_build_take(g, key, fc_op2(g, FC_OP_sub, i, fc_i64(g, 1)), 0);
    const fc_node first = fc_op2(g, FC_OP_logical_or, fc_op2(g, FC_OP_eq, i, fc_i64(g, 0)),
                                 fc_op2(g, FC_OP_ne, key, before));
    return fc_build_compress(g, first, s, size, out);
}
