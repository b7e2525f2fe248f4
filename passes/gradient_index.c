/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_index.c - the derivatives of slices, general views and reads at computed places.
 *
 * A view reads its operand at q = start + sum of step[i] * p[i], p the place in the result. In
 * reverse, element q of the operand gets what arrives at all p that read it. It is written as reads
 * too, never as writes to places that meet: for each operand axis one result axis, its main axis,
 * is solved for, and the other result axes are summed over. x[i + j] gives a[q - j, j] summed over
 * j. An axis without a main axis is compared: of x[i, i] only q[0] == q[1] gets something. Where
 * the solution is outside the result, 0 is read.
 *
 * At a continued edge an element is read at several places. Each such image is q turned or shifted,
 * P = sign*q + shift, and the shares of all images are added. */
#include "passes/gradient_impl.h"

/* A sum of a size and multiples of positions along the axes of what is being built. */
typedef struct affine {
    fc_dim start;
    int64_t step[FC_MAX_RANK];
} affine;

/* Where an element q of an axis is read besides at q itself. */
typedef struct image {
    int64_t sign; /* 0: at `shift` alone */
    fc_dim shift;
    fc_dim only, never; /* this q alone, not this q; FC_DIM_NONE: all */
} image;

enum { MOST_IMAGES = 16 };

typedef struct view {
    fc_grad_ctx *c;
    fc_node n;                                 /* the view */
    uint32_t ra, rank;                         /* axes of its operand and of its result */
    fc_dim from[FC_MAX_RANK], to[FC_MAX_RANK]; /* their sizes */
    fc_dim start[FC_MAX_RANK];
    fc_edge edge[FC_MAX_RANK];
    int64_t step[FC_MAX_RANK][FC_MAX_RANK]; /* [operand axis][result axis] */
    int main[FC_MAX_RANK];                  /* of each operand axis: a result axis, or -1 */
    int place[FC_MAX_RANK]; /* of each result axis: its axis in what is built if it is summed over,
                               else -1 - the operand axis whose main axis it is */
    uint32_t built;         /* axes: the operand's, then those that are summed over */
    fc_dim shape[FC_MAX_RANK];
    uint32_t nimages[FC_MAX_RANK];
    image images[FC_MAX_RANK][MOST_IMAGES];
} view;

/* ---- reading the node ---------------------------------------------------------------------------
 */

static view read_view(fc_grad_ctx *c, fc_node n) {
    const fc_graph *g = c->g;
    const fc_ninfo *i = fc_at(g, n);
    const int64_t *list = fc_list_at(g, (fc_list)i->attr);
    view v = {.c = c, .n = n};
    v.ra = fc_shape_of(g, i->src[0], v.from);
    v.rank = fc_shape_of(g, n, v.to);
    for (uint32_t k = 0; k < v.ra; k++) {
        if (i->op == FC_OP_SLICE) {
            v.start[k] = (fc_dim)list[3 * k];
            v.step[k][k] = list[3 * k + 1];
            continue;
        }
        const fc_view_axis axis = fc_view_axis_of(g, i, k);
        v.start[k] = axis.start;
        v.edge[k] = axis.edge;
        memcpy(v.step[k], axis.step, v.rank * sizeof *axis.step);
    }
    return v;
}

/* ---- main axes ----------------------------------------------------------------------------------
 */

static uint32_t count_terms(const view *v, uint32_t k) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->rank; i++) n += v->step[k][i] != 0;
    return n;
}

static int64_t size_of(int64_t v) {
    return v < 0 ? -v : v;
}

/* The widest step of the axis, which leaves the fewest places to sum over. */
static int choose_main(const view *v, uint32_t k, const bool *taken) {
    int best = -1;
    for (uint32_t i = 0; i < v->rank; i++)
        if (!taken[i] && v->step[k][i] &&
            (best < 0 || size_of(v->step[k][i]) > size_of(v->step[k][best])))
            best = (int)i;
    return best;
}

/* Axes of one term first: what they settle stands in the others. */
static void find_mains(view *v) {
    bool taken[FC_MAX_RANK] = {false}; /* is a main axis, or will be summed over */
    for (uint32_t i = 0; i < v->rank; i++) v->place[i] = 0;
    for (uint32_t terms = 0; terms <= v->rank; terms++)
        for (uint32_t k = 0; k < v->ra; k++) {
            if (count_terms(v, k) != terms) continue;
            v->main[k] = choose_main(v, k, taken);
            if (v->main[k] >= 0) v->place[v->main[k]] = -1 - (int)k;
            for (uint32_t i = 0; i < v->rank; i++) taken[i] |= v->step[k][i] != 0;
        }
    v->built = v->ra;
    memcpy(v->shape, v->from, v->ra * sizeof *v->shape);
    for (uint32_t i = 0; i < v->rank; i++) {
        if (v->place[i] < 0) continue;
        v->place[i] = (int)v->built;
        if (v->built < FC_MAX_RANK) v->shape[v->built] = v->to[i];
        v->built++;
    }
}

static bool is_strided(const view *v, uint32_t k) {
    return v->main[k] >= 0 && size_of(v->step[k][v->main[k]]) != 1;
}

/* ---- images -------------------------------------------------------------------------------------
 */

static bool add_image(view *v, uint32_t k, image m) {
    if (v->nimages[k] == MOST_IMAGES) return false;
    v->images[k][v->nimages[k]++] = m;
    return true;
}

/* How far axis k is read before its first and behind its last element; false: not known. */
static bool overhang(view *v, uint32_t k, int64_t *before, int64_t *behind) {
    fc_dimtab *t = &v->c->g->dims;
    fc_dim low = v->start[k], high = v->start[k];
    for (uint32_t i = 0; i < v->rank; i++) {
        const fc_dim last = fc_dim_sub(t, v->to[i], fc_dim_const(t, 1));
        const fc_dim span = fc_dim_mul(t, last, fc_dim_const(t, v->step[k][i]));
        if (v->step[k][i] > 0) high = fc_dim_add(t, high, span);
        if (v->step[k][i] < 0) low = fc_dim_add(t, low, span);
    }
    const fc_dim last = fc_dim_sub(t, v->from[k], fc_dim_const(t, 1));
    if (low == FC_DIM_NONE || high == FC_DIM_NONE || last == FC_DIM_NONE) return false;
    if (!fc_dim_diff(t, fc_dim_const(t, 0), low, before) || !fc_dim_diff(t, high, last, behind))
        return false;
    *before = *before < 0 ? 0 : *before;
    *behind = *behind < 0 ? 0 : *behind;
    return true;
}

/* Elements nearest to an edge that the continuation repeats: the axis has as many. */
static bool long_enough(view *v, uint32_t k, int64_t wanted) {
    fc_graph *g = v->c->g;
    return !fc_require(g, FC_CHECK_GE, v->from[k], fc_dim_const(&g->dims, wanted),
                       FUSEC_SLICE_RANGE,
                       "the derivative of a read beyond the edge needs an axis as long as that");
}

static bool edge_images(view *v, uint32_t k, int64_t before, int64_t behind) {
    fc_dimtab *t = &v->c->g->dims;
    const fc_dim first = fc_dim_const(t, 0);
    const fc_dim last = fc_dim_sub(t, v->from[k], fc_dim_const(t, 1));
    bool ok = true;
    for (int64_t m = 1; m <= before && ok; m++)
        ok = add_image(v, k, (image){0, fc_dim_const(t, -m), first, FC_DIM_NONE});
    for (int64_t m = 1; m <= behind && ok; m++)
        ok =
            add_image(v, k, (image){0, fc_dim_add(t, last, fc_dim_const(t, m)), last, FC_DIM_NONE});
    return ok;
}

/* One image on each side: the whole array shifted or mirrored. */
static bool repeated_images(view *v, uint32_t k, int64_t before, int64_t behind) {
    fc_dimtab *t = &v->c->g->dims;
    const fc_dim n = v->from[k], zero = fc_dim_const(t, 0),
                 last = fc_dim_sub(t, n, fc_dim_const(t, 1));
    const bool wrap = v->edge[k] == FC_EDGE_WRAP, reflect = v->edge[k] == FC_EDGE_REFLECT;
    const int64_t far = before > behind ? before : behind;
    if (far && !long_enough(v, k, far + reflect)) return false;
    const fc_dim left = wrap ? fc_dim_sub(t, zero, n) : reflect ? zero : fc_dim_const(t, -1);
    const fc_dim right = wrap ? n : fc_dim_sub(t, fc_dim_add(t, n, last), fc_dim_const(t, reflect));
    const int64_t sign = wrap ? 1 : -1;
    bool ok = true;
    if (before)
        ok = add_image(v, k, (image){sign, left, FC_DIM_NONE, reflect ? zero : FC_DIM_NONE});
    if (behind && ok)
        ok = add_image(v, k, (image){sign, right, FC_DIM_NONE, reflect ? last : FC_DIM_NONE});
    return ok;
}

static bool find_images(view *v) {
    fc_graph *g = v->c->g;
    for (uint32_t k = 0; k < v->ra; k++) {
        int64_t before = 0, behind = 0;
        add_image(v, k, (image){1, fc_dim_const(&g->dims, 0), FC_DIM_NONE, FC_DIM_NONE});
        if (v->edge[k] == FC_EDGE_NONE || v->edge[k] == FC_EDGE_ZERO) continue;
        bool ok = overhang(v, k, &before, &behind);
        if (ok)
            ok = v->edge[k] == FC_EDGE_EDGE ? edge_images(v, k, before, behind)
                                            : repeated_images(v, k, before, behind);
        if (ok) continue;
        fc_g_fail(v->c, v->n, "how far it reads beyond an edge is not known, or is far");
        return false;
    }
    return true;
}

/* ---- positions ----------------------------------------------------------------------------------
 */

static affine scaled(view *v, affine a, int64_t by) {
    fc_dimtab *t = &v->c->g->dims;
    a.start = fc_dim_mul(t, a.start, fc_dim_const(t, by));
    for (uint32_t i = 0; i < v->built; i++) a.step[i] *= by;
    return a;
}

static affine plus(view *v, affine a, affine b) {
    a.start = fc_dim_add(&v->c->g->dims, a.start, b.start);
    for (uint32_t i = 0; i < v->built; i++) a.step[i] += b.step[i];
    return a;
}

/* The place P of axis k under an image. */
static affine place_of(uint32_t k, const image *m) {
    affine a = {.start = m->shift};
    a.step[k] = m->sign;
    return a;
}

/* What of P the main axis of k has to make: P - start - the other terms. Other main axes are solved
 * in turn, by recursion over axes of fewer terms. False: one of them is strided. */
static bool remainder_of(view *v, uint32_t k, const image *const *m, affine *out) {
    affine r = place_of(k, m[k]);
    r.start = fc_dim_sub(&v->c->g->dims, r.start, v->start[k]);
    for (uint32_t i = 0; i < v->rank; i++) {
        if (!v->step[k][i] || (int)i == v->main[k]) continue;
        affine p = {.start = fc_dim_const(&v->c->g->dims, 0)};
        if (v->place[i] >= 0) {
            p.step[v->place[i]] = 1;
        } else {
            const uint32_t other = (uint32_t)(-1 - v->place[i]);
            if (is_strided(v, other) || !remainder_of(v, other, m, &p)) return false;
            p = scaled(v, p, v->step[other][i]); /* 1 or -1, its own reciprocal */
        }
        r = plus(v, r, scaled(v, p, -v->step[k][i]));
    }
    *out = r;
    return true;
}

/* The positions along axis i of what is built, in its rank. */
static fc_node positions(view *v, uint32_t i) {
    const uint32_t lead = v->c->nlead;
    return fc_build_iota_along(v->c->g, v->shape[i], lead + v->built, lead + i);
}

static fc_node value_of(view *v, const affine *a) {
    fc_graph *g = v->c->g;
    fc_node r = fc_build_dim(g, a->start);
    for (uint32_t i = 0; i < v->built; i++) {
        if (!a->step[i]) continue;
        const fc_node by = fc_i64(g, a->step[i]);
        const fc_node p = positions(v, i);
        const fc_node term = a->step[i] == 1 ? p : fc_op2(g, FC_OP_mul, p, by);
        r = fc_op2(g, FC_OP_add, term, r);
    }
    return r;
}

/* ---- one share ----------------------------------------------------------------------------------
 */

static fc_node keep_where(fc_graph *g, fc_node condition, fc_node a) {
    if (a == FC_NONODE) return a;
    const fc_node none = fc_build_number(g, (fusec_dtype)fc_at(g, a)->dtype, 0);
    return fc_where(g, condition, a, none);
}

/* a at the solved places; strided main axes stay what they are, at the place of their operand axis.
 */
static fc_node read_solved(view *v, fc_node a, const affine *solved) {
    fc_graph *g = v->c->g;
    const uint32_t lead = v->c->nlead, rank = lead + v->built;
    fc_dim shape[FC_MAX_RANK];
    int64_t step[FC_MAX_RANK][FC_MAX_RANK] = {{0}};
    fc_view_axis axes[FC_MAX_RANK];
    for (uint32_t i = 0; i < lead; i++) {
        shape[i] = v->c->lead[i];
        step[i][i] = 1;
        axes[i] = (fc_view_axis){fc_dim_const(&g->dims, 0), FC_EDGE_NONE, step[i]};
    }
    memcpy(shape + lead, v->shape, v->built * sizeof *shape);
    for (uint32_t i = 0; i < v->rank; i++) {
        int64_t *s = step[lead + i];
        axes[lead + i] = (fc_view_axis){fc_dim_const(&g->dims, 0), FC_EDGE_NONE, s};
        const uint32_t k = v->place[i] < 0 ? (uint32_t)(-1 - v->place[i]) : 0;
        if (v->place[i] >= 0) {
            s[lead + (uint32_t)v->place[i]] = 1;
        } else if (is_strided(v, k)) {
            s[lead + k] = 1;
            shape[lead + k] = v->to[i];
        } else {
            const affine p = scaled(v, solved[k], v->step[k][i]);
            axes[lead + i].start = p.start;
            axes[lead + i].edge = FC_EDGE_ZERO;
            memcpy(s + lead, p.step, v->built * sizeof *s);
        }
    }
    return fc_build_view(g, a, rank, shape, axes);
}

/* Element q of axis k stands at (remainder / step) of its main axis, if that is whole. */
static fc_node read_strided(view *v, fc_node a, uint32_t k, const affine *remainder) {
    fc_graph *g = v->c->g;
    const int64_t step = v->step[k][v->main[k]];
    const fc_node by = fc_i64(g, step), r = value_of(v, remainder);
    const fc_node at = fc_op2(g, FC_OP_floordiv, r, by);
    const fc_node rest = fc_op2(g, FC_OP_mod, r, by);
    const fc_node whole = fc_op2(g, FC_OP_eq, rest, fc_i64(g, 0));
    return keep_where(g, whole, fc_build_take(g, a, at, v->c->nlead + k));
}

/* What arrives through one image of every axis. */
static fc_node share(view *v, fc_node a, const image *const *m) {
    fc_graph *g = v->c->g;
    affine solved[FC_MAX_RANK];
    for (uint32_t k = 0; k < v->ra; k++)
        if (!remainder_of(v, k, m, &solved[k])) {
            fc_g_fail(v->c, v->n, "its axes are read in steps that depend on each other");
            return FC_NONODE;
        }
    a = read_solved(v, a, solved);
    for (uint32_t k = 0; k < v->ra && a != FC_NONODE; k++) {
        const fc_node zero = fc_i64(g, 0), q = positions(v, k);
        if (is_strided(v, k)) a = read_strided(v, a, k, &solved[k]);
        if (v->main[k] < 0)
            a = keep_where(g, fc_op2(g, FC_OP_eq, value_of(v, &solved[k]), zero), a);
        if (m[k]->only != FC_DIM_NONE)
            a = keep_where(g, fc_op2(g, FC_OP_eq, q, fc_build_dim(g, m[k]->only)), a);
        if (m[k]->never != FC_DIM_NONE)
            a = keep_where(g, fc_op2(g, FC_OP_ne, q, fc_build_dim(g, m[k]->never)), a);
    }
    return a;
}

static fc_node sum_rest(view *v, fc_node a) {
    int64_t axes[FC_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = v->ra; i < v->built; i++) axes[n++] = v->c->nlead + i;
    return n ? fc_build_reduce(v->c->g, FC_OP_sum, a, n, axes, false) : a;
}

fc_node fc_g_index_reverse(fc_grad_ctx *c, fc_node n, fc_node a) {
    fc_graph *g = c->g;
    view v = read_view(c, n);
    uint32_t at[FC_MAX_RANK] = {0};
    const image *m[FC_MAX_RANK];
    fc_node sum = FC_NONODE;
    a = fc_g_spread(c, a, v.rank, v.to);
    find_mains(&v);
    if (c->nlead + v.built > FC_MAX_RANK) {
        fc_g_fail(c, n, "it has too many axes");
        return FC_NONODE;
    }
    if (!find_images(&v)) return FC_NONODE;
    for (bool more = true; more && !g->error.code;) {
        for (uint32_t k = 0; k < v.ra; k++) m[k] = &v.images[k][at[k]];
        const fc_node s = share(&v, a, m);
        sum = sum == FC_NONODE ? s : fc_op2(g, FC_OP_add, sum, s);
        more = false; /* the next combination of images, like the digits of a number */
        for (uint32_t k = 0; k < v.ra && !more; k++) {
            more = ++at[k] < v.nimages[k];
            if (!more) at[k] = 0;
        }
    }
    return sum_rest(&v, sum);
}

/* ---- reads at computed places
 * ---------------------------------------------------------------------- */

enum { MOST_TAKEN = 8 };

/* Element `at` of axis `axis` counted behind `lead` others. */
static fc_node one_of(fc_graph *g, fc_node n, uint32_t lead, uint32_t axis, int64_t at) {
    fc_slice s[FC_MAX_RANK];
    for (uint32_t i = 0; i < fc_rank(g, n); i++)
        s[i] = (fc_slice){fc_dim_const(&g->dims, 0), 1, fc_axis(g, n, i)};
    s[lead + axis] = (fc_slice){fc_dim_const(&g->dims, at), 1, fc_dim_const(&g->dims, 1)};
    return fc_build_slice(g, n, s);
}

/* Where few elements are taken along the axis, one for each row most often, each element of the
 * array compares its place with theirs, which fuses with what is around it. */
fc_node fc_g_take_reverse(fc_grad_ctx *c, fc_node n, fc_node a) {
    fc_graph *g = c->g;
    const fc_ninfo i = *fc_at(g, n);
    const uint32_t axis = (uint32_t)i.attr, rank = fc_rank(g, n);
    int64_t count;
    fc_node sum = FC_NONODE;
    if (!fc_dim_is_const(&g->dims, fc_axis(g, n, axis), &count) || count > MOST_TAKEN || !count)
        return fc_g_take_to(c, n, a);
    a = fc_g_spread_as(c, a, n);
    const fc_node place = fc_build_iota_along(g, fc_axis(g, i.src[0], axis), rank, axis);
    for (int64_t k = 0; k < count; k++) {
        const fc_node at = one_of(g, i.src[1], 0, axis, k);
        const fc_node here = fc_op2(g, FC_OP_eq, place, at);
        const fc_node v = keep_where(g, here, one_of(g, a, c->nlead, axis, k));
        sum = k ? fc_op2(g, FC_OP_add, sum, v) : v;
    }
    return sum;
}

/* ---- forward: the same read of the tangent
 * -------------------------------------------------------- */

fc_node fc_g_index_forward(fc_grad_ctx *c, fc_node n, fc_node t) {
    fc_graph *g = c->g;
    fc_ninfo i = *fc_at(g, n);
    i.src[0] = fc_g_spread_as(c, t, i.src[0]);
    return i.src[0] == FC_NONODE ? FC_NONODE : fc_graph_node(g, i);
}
