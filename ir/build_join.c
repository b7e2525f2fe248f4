/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_join.c - builders that move and join arrays: pad, roll, tile, repeat, window, concat,
 * stack.
 *
 * In: what the functions of the language and of the C API say. Out: general views, takes whose
 * indices are known to be inside, and choices between views that read 0 outside; no node of their
 * own. Axes are counted from 0 and checked by the callers' names for them; sizes are dims. */
#include "ir/graph.h"

static fc_dim constant(fc_graph *g, int64_t v) {
    return fc_dim_const(&g->dims, v);
}

static bool has_axis(fc_graph *g, const char *what, fc_node a, uint32_t axis) {
    if (axis < fc_rank(g, a)) return true;
    fc_fail(&g->error, FUSEC_BAD_AXIS, "%s: there is no axis %u", what, (unsigned)axis);
    return false;
}

/* A size that was given: it is no error by now, and at least `least`, or that is a condition. */
static bool size_from(fc_graph *g, const char *what, fc_dim d, int64_t least) {
    if (d == FC_DIM_NONE) return fc_dim_fail(&g->dims, &g->error, "a size"), false;
    return fc_require(g, FC_CHECK_GE, d, constant(g, least), FUSEC_INPUT_SHAPE, what) == FUSEC_OK;
}

/* ---- views --------------------------------------------------------------------------------------
 */

/* A view whose axis i reads axis i of the operand from `start[i]` on, in steps of 1. `lead` axes
 * stand before those of the operand. */
static fc_node shifted(fc_graph *g, fc_node a, uint32_t lead, const fc_dim *shape,
                       const fc_dim *start, const fc_edge *edge) {
    const uint32_t rank = fc_rank(g, a), all = lead + rank;
    fc_view_axis axes[FC_MAX_RANK];
    int64_t *steps = fc_calloc(g->alloc, (size_t)rank * all + 1, sizeof *steps);
    if (!steps) return fc_oom(&g->error), FC_NONODE;
    for (uint32_t i = 0; i < rank; i++) {
        steps[(size_t)i * all + lead + i] = 1;
        axes[i] = (fc_view_axis){start[i], edge[i], steps + (size_t)i * all};
    }
    const fc_node n = fc_build_view(g, a, all, shape, axes);
    fc_free(g->alloc, steps);
    return n;
}

/* Whether the index of result axis `axis`, less `from`, is in [0, size): a bool array that
 * broadcasts to `rank` axes. */
static fc_node inside(fc_graph *g, uint32_t rank, uint32_t axis, fc_dim count, fc_dim from,
                      fc_dim size) {
    const fc_dim end = fc_dim_add(&g->dims, from, size);
    const fc_node index = fc_build_iota_along(g, count, rank - axis, 0);
    fc_node low = FC_NONODE, high = FC_NONODE;
    if (!fc_dim_is(&g->dims, from, 0)) low = fc_op2(g, FC_OP_ge, index, fc_build_dim(g, from));
    if (end != count) high = fc_op2(g, FC_OP_lt, index, fc_build_dim(g, end));
    if (low == FC_NONODE || high == FC_NONODE) return low == FC_NONODE ? high : low;
    return fc_op2(g, FC_OP_logical_and, low, high);
}

fc_node fc_build_pad(fc_graph *g, fc_node a, const fc_dim *before, const fc_dim *after,
                     fc_edge edge, fc_node value) {
    if (!fc_usable(g, a)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, a);
    fc_dimtab *t = &g->dims;
    fc_dim shape[FC_MAX_RANK], start[FC_MAX_RANK];
    fc_edge edges[FC_MAX_RANK];
    if (edge == FC_EDGE_NONE || (unsigned)edge >= FC_EDGE_COUNT) {
        fc_fail(&g->error, FUSEC_INVALID, "pad: there is no edge mode %d", (int)edge);
        return FC_NONODE;
    }
    for (uint32_t i = 0; i < rank; i++) {
        const char *what = "pad: what is added has no negative size";
        if (!size_from(g, what, before[i], 0) || !size_from(g, what, after[i], 0)) return FC_NONODE;
        start[i] = fc_dim_sub(t, constant(g, 0), before[i]);
        shape[i] = fc_dim_add(t, fc_dim_add(t, before[i], fc_axis(g, a, i)), after[i]);
        edges[i] = edge;
    }
    const bool chosen = value != FC_NONODE;
    if (chosen && (!fc_usable(g, value) || fc_rank(g, value) ||
                   fc_at(g, value)->dtype != fc_at(g, a)->dtype)) {
        fc_fail(&g->error, FUSEC_DTYPE_MISMATCH, "pad: the value is a scalar of the array's dtype");
        return FC_NONODE;
    }
    fc_node r = shifted(g, a, 0, shape, start, edges), mask = FC_NONODE;
    for (uint32_t i = 0; i < rank && chosen; i++) {
        const fc_node m = inside(g, rank, i, shape[i], before[i], fc_axis(g, a, i));
        if (g->error.code) return FC_NONODE;
        if (m == FC_NONODE) continue;
        mask = mask == FC_NONODE ? m : fc_op2(g, FC_OP_logical_and, mask, m);
    }
    return mask == FC_NONODE ? r : fc_where(g, mask, r, value);
}

fc_node fc_build_roll(fc_graph *g, fc_node a, uint32_t axis, fc_dim shift) {
    if (!fc_usable(g, a) || !has_axis(g, "roll", a, axis)) return FC_NONODE;
    if (shift == FC_DIM_NONE) return fc_dim_fail(&g->dims, &g->error, "a shift"), FC_NONODE;
    const uint32_t rank = fc_rank(g, a);
    fc_dim shape[FC_MAX_RANK], start[FC_MAX_RANK];
    fc_edge edges[FC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        shape[i] = fc_axis(g, a, i);
        start[i] = i == axis ? fc_dim_sub(&g->dims, constant(g, 0), shift) : constant(g, 0);
        edges[i] = i == axis ? FC_EDGE_WRAP : FC_EDGE_NONE;
    }
    return shifted(g, a, 0, shape, start, edges);
}

fc_node fc_build_tile(fc_graph *g, fc_node a, uint32_t n, const fc_dim *times) {
    if (!fc_usable(g, a)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, a), all = n > rank ? n : rank;
    fc_dim shape[FC_MAX_RANK], start[FC_MAX_RANK];
    fc_edge edges[FC_MAX_RANK];
    if (all > FC_MAX_RANK) {
        fc_fail(&g->error, FUSEC_LIMIT, "tile: more than %d axes", FC_MAX_RANK);
        return FC_NONODE;
    }
    for (uint32_t i = 0; i < all; i++) {
        const fc_dim k = i + n >= all ? times[i + n - all] : constant(g, 1);
        if (!size_from(g, "tile: an array is repeated 0 times or more", k, 0)) return FC_NONODE;
        const uint32_t own = i + rank - all; /* the operand's axis, if it has one here */
        shape[i] = i + rank < all ? k : fc_dim_mul(&g->dims, fc_axis(g, a, own), k);
        if (i + rank < all) continue;
        start[own] = constant(g, 0);
        edges[own] = fc_dim_is(&g->dims, k, 1) ? FC_EDGE_NONE : FC_EDGE_WRAP;
    }
    return shifted(g, a, all - rank, shape, start, edges);
}

fc_node fc_build_window(fc_graph *g, fc_node a, uint32_t axis, fc_dim width, int64_t step) {
    if (!fc_usable(g, a) || !has_axis(g, "window", a, axis)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, a);
    fc_dimtab *t = &g->dims;
    fc_dim shape[FC_MAX_RANK + 1];
    fc_view_axis axes[FC_MAX_RANK];
    if (step < 1 || step > FC_MAX_STEP) {
        fc_fail(&g->error, FUSEC_BAD_SLICE, "window: the step is from 1 to 2^48");
        return FC_NONODE;
    }
    if (rank + 1 > FC_MAX_RANK) {
        fc_fail(&g->error, FUSEC_LIMIT, "window: more than %d axes", FC_MAX_RANK);
        return FC_NONODE;
    }
    const fc_dim size = fc_axis(g, a, axis), one = constant(g, 1);
    if (!size_from(g, "a window has at least one element", width, 1) ||
        fc_require(g, FC_CHECK_GE, size, width, FUSEC_SLICE_RANGE,
                   "a window is longer than its axis"))
        return FC_NONODE;
    int64_t *steps = fc_calloc(g->alloc, (size_t)rank * (rank + 1) + 1, sizeof *steps);
    if (!steps) return fc_oom(&g->error), FC_NONODE;
    for (uint32_t i = 0; i < rank; i++) {
        shape[i] = fc_axis(g, a, i);
        int64_t *own = steps + (size_t)i * (rank + 1);
        axes[i] = (fc_view_axis){constant(g, 0), FC_EDGE_NONE, own};
        own[i] = i == axis ? step : 1;
        if (i == axis) own[rank] = 1;
    }
    const fc_dim span = fc_dim_sub(t, size, width);
    shape[axis] =
        fc_dim_add(t, step == 1 ? span : fc_dim_floordiv(t, span, constant(g, step)), one);
    shape[rank] = width;
    const fc_node n = fc_build_view(g, a, rank + 1, shape, axes);
    fc_free(g->alloc, steps);
    return n;
}

/* ---- repeat -------------------------------------------------------------------------------------
 */

fc_node fc_build_repeat(fc_graph *g, fc_node a, uint32_t axis, fc_dim times) {
    if (!fc_usable(g, a) || !has_axis(g, "repeat", a, axis) ||
        !size_from(g, "repeat: an element is repeated 0 times or more", times, 0))
        return FC_NONODE;
    const uint32_t rank = fc_rank(g, a);
    const fc_dim one = constant(g, 1);
    const fc_dim count = fc_dim_mul(&g->dims, fc_axis(g, a, axis), times);
    fc_dim shape[FC_MAX_RANK];
    if (times == one) return a;
    for (uint32_t i = 0; i < rank; i++) shape[i] = i == axis ? count : one;
    const fc_node index =
        fc_op2(g, FC_OP_floordiv, fc_build_iota(g, count), fc_build_dim(g, times));
    return fc_build_take_inside(g, a, fc_build_reshape(g, index, rank, shape), axis);
}

/* ---- joining ------------------------------------------------------------------------------------
 */

static bool parts_fit(fc_graph *g, uint32_t n, const fc_node *parts, uint32_t axis) {
    if (n == 0) {
        fc_fail(&g->error, FUSEC_INVALID, "concat: there is no array");
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!fc_usable(g, parts[i])) return false;
    if (!has_axis(g, "concat", parts[0], axis)) return false;
    const uint32_t rank = fc_rank(g, parts[0]);
    for (uint32_t i = 1; i < n; i++) {
        const fc_ninfo *x = fc_at(g, parts[0]), *y = fc_at(g, parts[i]);
        if (x->dtype != y->dtype) {
            fc_fail(&g->error, FUSEC_DTYPE_MISMATCH, "concat: array 0 is %s and array %u is %s",
                    fc_dtypes[x->dtype].name, (unsigned)i, fc_dtypes[y->dtype].name);
            return false;
        }
        if (fc_rank(g, parts[i]) != rank) {
            fc_fail(&g->error, FUSEC_SHAPE_MISMATCH,
                    "concat: array 0 has %u axes and array %u has %u", (unsigned)rank, (unsigned)i,
                    (unsigned)fc_rank(g, parts[i]));
            return false;
        }
        for (uint32_t k = 0; k < rank; k++) {
            int64_t diff;
            const fc_dim a = fc_axis(g, parts[0], k), b = fc_axis(g, parts[i], k);
            if (k == axis || a == b) continue;
            if (fc_dim_diff(&g->dims, a, b, &diff)) {
                fc_fail(&g->error, FUSEC_SHAPE_MISMATCH,
                        "concat: axis %u of array 0 and of array %u differ by %lld", (unsigned)k,
                        (unsigned)i, (long long)diff);
                return false;
            }
            if (fc_require(g, FC_CHECK_EQ, a, b, FUSEC_INPUT_SHAPE,
                           "concat of arrays that differ along another axis"))
                return false;
        }
    }
    return true;
}

/* Every part is read where it stands in the result, 0 elsewhere, and neighbours are chosen between
 * by the index, pair by pair. */
static fc_node choose(fc_graph *g, uint32_t n, const fc_node *parts, uint32_t axis, fc_node *value,
                      fc_dim *end) {
    const uint32_t rank = fc_rank(g, parts[0]);
    const fc_dim zero = constant(g, 0);
    fc_dim shape[FC_MAX_RANK], start[FC_MAX_RANK], total = zero;
    fc_edge edges[FC_MAX_RANK];
    for (uint32_t i = 0; i < n; i++)
        total = end[i] = fc_dim_add(&g->dims, total, fc_axis(g, parts[i], axis));
    for (uint32_t k = 0; k < rank; k++) {
        shape[k] = k == axis ? total : fc_axis(g, parts[0], k);
        start[k] = zero;
        edges[k] = k == axis ? FC_EDGE_ZERO : FC_EDGE_NONE;
    }
    for (uint32_t i = 0; i < n; i++) {
        start[axis] = i ? fc_dim_sub(&g->dims, zero, end[i - 1]) : zero;
        value[i] = shifted(g, parts[i], 0, shape, start, edges);
    }
    for (uint32_t left = n; left > 1; left = (left + 1) / 2)
        for (uint32_t i = 0; i < left; i += 2) {
            const uint32_t to = i / 2, last = i + 1 < left ? i + 1 : i;
            if (last > i) {
                const fc_node first = inside(g, rank, axis, total, zero, end[i]);
                if (g->error.code) return FC_NONODE;
                value[to] =
                    first == FC_NONODE ? value[i] : fc_where(g, first, value[i], value[last]);
            } else {
                value[to] = value[i];
            }
            end[to] = end[last];
        }
    return value[0];
}

fc_node fc_build_concat(fc_graph *g, uint32_t n, const fc_node *parts, uint32_t axis) {
    if (g->error.code || !parts_fit(g, n, parts, axis)) return FC_NONODE;
    if (n == 1) return parts[0];
    fc_node *value = fc_malloc(g->alloc, n * sizeof *value);
    fc_dim *end = fc_malloc(g->alloc, n * sizeof *end);
    fc_node r = FC_NONODE;
    if (value && end)
        r = choose(g, n, parts, axis, value, end);
    else
        fc_oom(&g->error);
    fc_free(g->alloc, value);
    fc_free(g->alloc, end);
    return g->error.code ? FC_NONODE : r;
}

fc_node fc_build_stack(fc_graph *g, uint32_t n, const fc_node *parts, uint32_t axis) {
    fc_node *tall = fc_malloc(g->alloc, (n + 1) * sizeof *tall);
    fc_dim shape[FC_MAX_RANK + 1];
    if (!tall) return fc_oom(&g->error), FC_NONODE;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = fc_usable(g, parts[i]) ? fc_rank(g, parts[i]) : 0, at = 0;
        tall[i] = FC_NONODE;
        if (axis > rank) {
            if (fc_usable(g, parts[i]))
                fc_fail(&g->error, FUSEC_BAD_AXIS, "stack: there is no place %u for the new axis",
                        (unsigned)axis);
            continue;
        }
        for (uint32_t k = 0; k <= rank; k++)
            shape[k] = k == axis ? constant(g, 1) : fc_axis(g, parts[i], at++);
        if (fc_usable(g, parts[i])) tall[i] = fc_build_reshape(g, parts[i], rank + 1, shape);
    }
    const fc_node r = fc_build_concat(g, n, tall, axis);
    fc_free(g->alloc, tall);
    return r;
}
