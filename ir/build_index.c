/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_index.c - builders of reads at indices: the general view, checked indices, take.
 *
 * In: what an index notation or a function of the language says. Out: nodes in their one form: a
 * view that is made of slices, permutations and broadcasts is built of these, so that equal reads
 * are equal nodes however they are written. */
#include "ir/complex.h"

/* ---- the general view --------------------------------------------------------------------------
 */

typedef struct view {
    fc_node a;
    uint32_t ra, rank;
    fc_dim shape[FC_MAX_RANK];
    fc_dim start[FC_MAX_RANK];
    int64_t edge[FC_MAX_RANK];
    int64_t *step; /* [ra][rank] */
} view;

/* Lowest and highest index of operand axis i; of no elements too low, too high. */
static void reach(fc_graph *g, const view *v, uint32_t i, fc_dim *low, fc_dim *high) {
    fc_dimtab *t = &g->dims;
    *low = *high = v->start[i];
    for (uint32_t k = 0; k < v->rank; k++) {
        const int64_t step = v->step[(size_t)i * v->rank + k];
        if (!step) continue;
        const fc_dim last = fc_dim_sub(t, v->shape[k], fc_dim_const(t, 1));
        const fc_dim span = fc_dim_mul(t, last, fc_dim_const(t, step));
        if (step > 0)
            *high = fc_dim_add(t, *high, span);
        else
            *low = fc_dim_add(t, *low, span);
    }
}

/* Whether a >= b is known. */
static bool known_at_least(const fc_graph *g, fc_dim a, fc_dim b) {
    int64_t diff;
    return a != FC_DIM_NONE && b != FC_DIM_NONE && fc_dim_diff(&g->dims, a, b, &diff) && diff >= 0;
}

/* Whether the result is empty for certain if the axis is: it has no element, or an axis whose size
 * is a multiple of it. */
static bool empties(const fc_graph *g, const view *v, fc_dim size) {
    const fc_form *s = &g->dims.forms.at[size];
    for (uint32_t k = 0; k < v->rank; k++) {
        const fc_form *f = &g->dims.forms.at[v->shape[k]];
        if (fc_dim_is(&g->dims, v->shape[k], 0) || v->shape[k] == size) return true;
        if (s->nterms == 1 && !s->c && f->nterms == 1 && !f->c &&
            f->terms[0].sym == s->terms[0].sym && f->terms[0].coef % s->terms[0].coef == 0)
            return true;
    }
    return false;
}

/* Proves that axis i is read inside, or drops its mode, or asks for what must hold at the call. */
static bool settle_axis(fc_graph *g, view *v, uint32_t i) {
    const fc_dim size = fc_axis(g, v->a, i), zero = fc_dim_const(&g->dims, 0),
                 one = fc_dim_const(&g->dims, 1);
    fc_dim low, high;
    reach(g, v, i, &low, &high);
    const fc_dim last = fc_dim_sub(&g->dims, size, one);
    const char *msg = "an index reaches outside its array";
    if (v->edge[i] != FC_EDGE_NONE) {
        if (known_at_least(g, low, zero) && known_at_least(g, last, high))
            v->edge[i] = FC_EDGE_NONE;
        else if (v->edge[i] != FC_EDGE_ZERO && !empties(g, v, size))
            return !fc_require(g, FC_CHECK_GE, size, one, FUSEC_SLICE_RANGE,
                               "an empty axis has nothing to continue at its edge");
        return true;
    }
    return !fc_require(g, FC_CHECK_GE, low, zero, FUSEC_SLICE_RANGE, msg) &&
           !fc_require(g, FC_CHECK_GE, last, high, FUSEC_SLICE_RANGE, msg);
}

/* The result axis of each operand axis (-1: none) if the view only drops, picks, turns and repeats
 * axes. */
static bool is_plain(const view *v, int32_t *axis) {
    uint64_t seen = 0;
    for (uint32_t i = 0; i < v->ra; i++) {
        axis[i] = -1;
        if (v->edge[i] != FC_EDGE_NONE) return false;
        for (uint32_t k = 0; k < v->rank; k++) {
            if (!v->step[(size_t)i * v->rank + k]) continue;
            if (axis[i] >= 0 || (seen >> k & 1)) return false;
            axis[i] = (int32_t)k;
            seen |= UINT64_C(1) << k;
        }
    }
    return true;
}

/* A slice for starts and steps, a permutation, a reshape that drops and adds axes of size 1, a
 * broadcast: those of them that are needed. */
static fc_node build_plain(fc_graph *g, const view *v, const int32_t *axis) {
    fc_slice slices[FC_MAX_RANK];
    int64_t perm[FC_MAX_RANK];
    fc_dim spread[FC_MAX_RANK];
    const fc_dim one = fc_dim_const(&g->dims, 1);
    uint32_t n = 0, first = v->rank;
    int32_t last = -1;
    bool turned = false; /* only the axes that stay have an order */
    for (uint32_t i = 0; i < v->ra; i++) {
        turned |= axis[i] >= 0 && axis[i] < last;
        if (axis[i] >= 0) last = axis[i];
        slices[i] = (fc_slice){v->start[i], 1, one};
        if (axis[i] >= 0)
            slices[i] = (fc_slice){v->start[i], v->step[(size_t)i * v->rank + (uint32_t)axis[i]],
                                   v->shape[axis[i]]};
    }
    for (uint32_t i = 0; i < v->ra; i++)
        if (axis[i] < 0) perm[n++] = i; /* axes of one element first: they are dropped */
    for (uint32_t k = 0; k < v->rank; k++) {
        spread[k] = one;
        for (uint32_t i = 0; i < v->ra; i++) {
            if (axis[i] != (int32_t)k) continue;
            perm[n++] = i;
            spread[k] = v->shape[k];
            if (k < first) first = k;
        }
    }
    const fc_node cut = fc_build_slice(g, v->a, slices);
    const fc_node x = turned ? fc_build_permute(g, cut, perm) : cut;
    const fc_node r = fc_build_reshape(g, x, v->rank - first, spread + first);
    return fc_build_broadcast(g, r, v->rank, v->shape);
}

static fc_node build_general(fc_graph *g, const view *v) {
    const uint32_t each = 2 + v->rank;
    int64_t *attr = fc_malloc(g->alloc, (1 + (size_t)v->ra * each) * sizeof *attr);
    int64_t shape[FC_MAX_RANK];
    if (!attr) {
        fc_oom(&g->error);
        return FC_NONODE;
    }
    attr[0] = v->rank;
    for (uint32_t i = 0; i < v->ra; i++) {
        int64_t *to = attr + 1 + (size_t)i * each;
        to[0] = v->start[i];
        to[1] = v->edge[i];
        memcpy(to + 2, v->step + (size_t)i * v->rank, v->rank * sizeof *to);
    }
    for (uint32_t k = 0; k < v->rank; k++) shape[k] = v->shape[k];
    fc_ninfo n = {.op = FC_OP_VIEW, .dtype = fc_at(g, v->a)->dtype, .nops = 1, .src = {v->a, 0, 0}};
    n.attr = fc_intern_list(g, attr, 1 + v->ra * each);
    n.shape = fc_intern_list(g, shape, v->rank);
    fc_free(g->alloc, attr);
    return fc_build_moved(g, n);
}

/* Copies the request; steps along axes of one element say nothing. */
static bool take_axes(fc_graph *g, const fc_view_axis *axes, view *v) {
    for (uint32_t i = 0; i < v->ra; i++) {
        v->start[i] = axes[i].start;
        v->edge[i] = axes[i].edge;
        if (axes[i].start == FC_DIM_NONE)
            return fc_dim_fail(&g->dims, &g->error, "an index"), false;
        if ((unsigned)axes[i].edge >= FC_EDGE_COUNT)
            return fc_fail(&g->error, FUSEC_INVALID, "there is no edge mode %d", (int)axes[i].edge),
                   false;
        for (uint32_t k = 0; k < v->rank; k++) {
            const int64_t step = axes[i].step ? axes[i].step[k] : 0;
            if (step > FC_MAX_STEP || step < -FC_MAX_STEP)
                return fc_fail(&g->error, FUSEC_LIMIT, "the step of an index is 2^48 at most"),
                       false;
            v->step[(size_t)i * v->rank + k] = fc_dim_is(&g->dims, v->shape[k], 1) ? 0 : step;
        }
    }
    return true;
}

fc_node fc_build_view(fc_graph *g, fc_node a, uint32_t rank, const fc_dim *shape,
                      const fc_view_axis *axes) {
    if (!fc_usable(g, a)) return FC_NONODE;
    if (rank > g->limits.rank || rank > FC_MAX_RANK) {
        fc_fail(&g->error, FUSEC_LIMIT, "rank %u is above the limit of %u", rank, g->limits.rank);
        return FC_NONODE;
    }
    view v = {.a = a, .ra = fc_rank(g, a), .rank = rank};
    for (uint32_t k = 0; k < rank; k++) {
        v.shape[k] = shape[k];
        if (shape[k] == FC_DIM_NONE) return fc_bad_axis(g, k), FC_NONODE;
        if (!fc_dim_is_sym(&g->dims, shape[k], NULL) &&
            fc_require(g, FC_CHECK_GE, shape[k], fc_dim_const(&g->dims, 0), FUSEC_SLICE_RANGE,
                       "the range of an index has no negative size"))
            return FC_NONODE;
    }
    v.step = fc_malloc(g->alloc, ((size_t)v.ra * rank + 1) * sizeof *v.step);
    if (!v.step) return fc_oom(&g->error), FC_NONODE;
    bool ok = take_axes(g, axes, &v);
    for (uint32_t i = 0; ok && i < v.ra; i++) ok = settle_axis(g, &v, i);
    int32_t axis[FC_MAX_RANK];
    fc_node n = !ok                  ? FC_NONODE
                : is_plain(&v, axis) ? build_plain(g, &v, axis)
                                     : build_general(g, &v);
    fc_free(g->alloc, v.step);
    return n;
}

/* ---- computed indices --------------------------------------------------------------------------
 */

fc_node fc_build_computed(fc_graph *g, fc_node index) {
    const fusec_dtype t = (fusec_dtype)fc_at(g, index)->dtype;
    if (fc_is_int(t)) return fc_build_cast(g, index, FUSEC_I64);
    fc_fail(&g->error, FUSEC_DTYPE_MISMATCH, "an index has an integer dtype, not %s",
            fc_dtypes[t].name);
    return FC_NONODE;
}

fc_node fc_build_check(fc_graph *g, fc_node index, fc_dim size) {
    if (!fc_usable(g, index)) return FC_NONODE;
    if (size == FC_DIM_NONE) return fc_dim_fail(&g->dims, &g->error, "a size"), FC_NONODE;
    index = fc_build_computed(g, index);
    if (index == FC_NONODE) return FC_NONODE;
    const fc_ninfo *i = fc_at(g, index);
    if (i->op == FC_OP_CHECK && fc_check_size(g, i) == size) return index;
    int64_t attr[1 + FC_MAX_RANK] = {size};
    const uint32_t rank = fc_rank(g, index);
    for (uint32_t k = 0; k < rank; k++) attr[1 + k] = fc_axis(g, index, k);
    fc_ninfo n = {.op = FC_OP_CHECK,
                  .dtype = FUSEC_I64,
                  .nops = 1,
                  .shape = fc_at(g, index)->shape,
                  .src = {index, FC_NONODE, FC_NONODE},
                  .attr = fc_intern_list(g, attr, 1 + rank)};
    return fc_graph_node(g, n);
}

static const char *copy_text(fc_graph *g, const char *text) {
    const char *copy = text ? fc_arena_strdup(&g->arena, text, strlen(text)) : NULL;
    if (text && !copy) fc_oom(&g->error);
    return copy;
}

void fc_check_words(fc_graph *g, fc_node check, const fc_words *words) {
    if (!fc_usable(g, check) || fc_at(g, check)->op != FC_OP_CHECK || fc_at(g, check)->words)
        return;
    fc_words s = {copy_text(g, words->access), copy_text(g, words->index),
                  copy_text(g, words->axis), copy_text(g, words->place)};
    if (!fc_push(g->alloc, &g->words, s))
        fc_oom(&g->error);
    else
        g->nodes.at[check].words = (uint32_t)g->words.len;
}

/* The shape of array and index together: that of a broadcast, with the index's size of `axis`. */
static bool join_shapes(fc_graph *g, fc_node a, fc_node index, uint32_t axis, fc_dim *array,
                        fc_dim *result) {
    const uint32_t rank = fc_rank(g, a);
    for (uint32_t i = 0; i < rank; i++) {
        const fc_dim x = fc_axis(g, a, i), y = fc_axis(g, index, i);
        array[i] = x;
        result[i] = y;
        if (i == axis || x == y) continue;
        if (fc_dim_is(&g->dims, y, 1)) {
            result[i] = x;
        } else if (fc_dim_is(&g->dims, x, 1)) {
            array[i] = y;
        } else {
            int64_t diff;
            fc_str tx, ty;
            fc_str_init(&tx, g->alloc);
            fc_str_init(&ty, g->alloc);
            fc_type_print(g, a, &tx);
            fc_type_print(g, index, &ty);
            const bool differ = fc_dim_diff(&g->dims, x, y, &diff);
            if (differ)
                fc_fail(&g->error, FUSEC_SHAPE_MISMATCH,
                        "take of %s with indices %s: axis %u does not broadcast", tx.data, ty.data,
                        (unsigned)i);
            fc_str_free(&tx);
            fc_str_free(&ty);
            if (differ || fc_require(g, FC_CHECK_EQ, x, y, FUSEC_INPUT_SHAPE, NULL)) return false;
            array[i] = y;
        }
    }
    return true;
}

static fc_node take(fc_graph *g, fc_node a, fc_node index, uint32_t axis, uint32_t flags) {
    fc_dim array[FC_MAX_RANK], result[FC_MAX_RANK];
    if (!fc_usable(g, a) || !fc_usable(g, index)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, a);
    if (axis >= rank) {
        fc_fail(&g->error, FUSEC_BAD_AXIS, "take: there is no axis %u", (unsigned)axis);
        return FC_NONODE;
    }
    if (fc_rank(g, index) != rank) {
        fc_fail(&g->error, FUSEC_SHAPE_MISMATCH, "take: array and indices have ranks %u and %u",
                (unsigned)rank, (unsigned)fc_rank(g, index));
        return FC_NONODE;
    }
    index = fc_build_computed(g, index);
    if (index == FC_NONODE || !join_shapes(g, a, index, axis, array, result)) return FC_NONODE;
    a = fc_build_broadcast(g, a, rank, array);
    index = fc_build_broadcast(g, index, rank, result);
    if (a == FC_NONODE || index == FC_NONODE) return FC_NONODE;
    fc_ninfo n = {.op = FC_OP_TAKE,
                  .dtype = fc_at(g, a)->dtype,
                  .nops = 2,
                  .shape = fc_at(g, index)->shape,
                  .src = {a, index, FC_NONODE},
                  .flags = flags,
                  .attr = axis};
    return fc_build_moved(g, n);
}

fc_node fc_build_take(fc_graph *g, fc_node a, fc_node index, uint32_t axis) {
    return take(g, a, index, axis, 0);
}

fc_node fc_build_take_inside(fc_graph *g, fc_node a, fc_node index, uint32_t axis) {
    return take(g, a, index, axis, FC_NODE_INSIDE);
}

/* The array gets axes of size 1 after `axis`, so that it has one for each of the index, and the
 * index such axes for those of the array. An index without axes has one of size 1, which goes. */
fc_node fc_build_gather(fc_graph *g, fc_node a, fc_node index, uint32_t axis, bool inside) {
    if (!fc_usable(g, a) || !fc_usable(g, index)) return FC_NONODE;
    const uint32_t ra = fc_rank(g, a), ri = fc_rank(g, index), own = ri ? ri : 1;
    const fc_dim one = fc_dim_const(&g->dims, 1);
    fc_dim array[2 * FC_MAX_RANK], where[2 * FC_MAX_RANK], result[2 * FC_MAX_RANK];
    uint32_t n = 0, m = 0;
    if (axis >= ra) {
        fc_fail(&g->error, FUSEC_BAD_AXIS, "take: there is no axis %u", (unsigned)axis);
        return FC_NONODE;
    }
    for (uint32_t i = 0; i < ra; i++) {
        for (uint32_t k = 0; k < (i == axis ? own : 1); k++, n++) {
            array[n] = k == 0 ? fc_axis(g, a, i) : one;
            where[n] = i == axis && ri ? fc_axis(g, index, k) : one;
        }
        if (i != axis) result[m++] = fc_axis(g, a, i);
    }
    const fc_node r = take(g, fc_build_reshape(g, a, n, array),
                           fc_build_reshape(g, index, n, where), axis, inside ? FC_NODE_INSIDE : 0);
    return ri ? r : fc_build_reshape(g, r, m, result);
}
