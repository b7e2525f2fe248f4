/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_subscript.c - array[...] outside of index definitions: slices, integers, arrays of indices.
 *
 * A subscript is a slice of every axis and then a reshape that takes axes of size 1 away or adds
 * them. Slices do not clamp: what is not known to be in range becomes a condition of the call.
 * Arrays of indices read the result at computed places. */
#include "frontend/lang/check_impl.h"

static fc_dim constant(fc_checker *c, int64_t v) {
    return fc_dim_const(&c->g->dims, v);
}

/* ---- subscripts ------------------------------------------------------------------------------ */

typedef struct subscript {
    fc_checker *c;
    fc_call *f;
    const fc_expr *e;
    const fc_value *v;   /* of the array */
    uint32_t rank, axis; /* the next axis */
    fc_slice slices[FC_MAX_RANK];
    uint32_t out_rank;
    fc_dim out[FC_MAX_RANK + 1];
    bool reshaped;
    uint32_t narrays; /* arrays of indices, and where their axes are in `out` */
    const fc_expr *arrays[FC_MAX_RANK];
    uint32_t array_axis[FC_MAX_RANK], array_out[FC_MAX_RANK];
} subscript;

bool fc_c_literal_negative(const fc_expr *e) {
    return e->kind == FC_EX_UNARY && e->op == FC_OPER_NEG && e->a->kind == FC_EX_NUMBER;
}

static bool bad_slice(subscript *s, const fc_expr *at, const char *why) {
    fc_diag *d = fc_c_error(s->c, FUSEC_BAD_SLICE, at->at, "%s", why);
    fc_c_fact(s->c, d, s->e->a, s->v);
    return false;
}

/* A bound as a size; a literal negative one counts from the end. */
static bool bound(subscript *s, const fc_expr *e, fc_dim size, fc_dim *out) {
    fc_checker *c = s->c;
    const fc_value *v = fc_c_val(s->f, e);
    if (!fc_c_operand(c, e, v)) return false;
    if (!fc_c_size(c, v, out)) {
        const char *text = fc_c_quote(c, e->at);
        bool data = v->kind == FC_V_NODE && fc_is_int(fc_v_dtype(c, v));
        return bad_slice(
            s, e,
            data ? fc_c_text(c,
                             "%s is data, and the bounds of a slice are sizes: the "
                             "shape can't depend on it",
                             text)
                 : fc_c_text(c,
                             "%s is no integer, and a subscript is made of integers and "
                             "sizes",
                             text));
    }
    if (fc_c_literal_negative(e)) *out = fc_dim_add(&c->g->dims, size, *out);
    return true;
}

static bool outside(subscript *s, const fc_expr *at, fc_dim size) {
    fc_checker *c = s->c;
    fc_diag *d = fc_c_error(c, FUSEC_SLICE_RANGE, at->at,
                            "%s reaches outside %s: its axis %u has size %s", fc_c_quote(c, at->at),
                            fc_c_quote(c, s->e->a->at), s->axis, fc_c_dim_text(c, size));
    fc_c_fact(c, d, s->e->a, s->v);
    return false;
}

/* a >= b now or at the call. */
static bool require(subscript *s, const fc_expr *at, fc_dim a, fc_dim b, fc_dim size) {
    fc_checker *c = s->c;
    int64_t diff;
    if (fc_dim_diff(&c->g->dims, a, b, &diff) && diff < 0) return outside(s, at, size);
    fc_pos pos = fc_source_pos(s->f->ast->src, at->at.begin);
    const char *msg = fc_c_text(c, "`%s` reaches outside %s in `%s` (%s:%u:%u)",
                                fc_c_quote(c, at->at), fc_c_quote(c, s->e->a->at),
                                fc_c_quote(c, s->e->at), s->f->ast->src->name, pos.line, pos.col);
    fc_require(c->g, FC_CHECK_GE, a, b, FUSEC_SLICE_RANGE, msg);
    return fc_c_fine(c);
}

static void take_whole(subscript *s) {
    fc_dim size = fc_axis(s->c->g, s->v->node, s->axis);
    s->slices[s->axis++] = (fc_slice){constant(s->c, 0), 1, size};
    s->out[s->out_rank++] = size;
}

/* An array of indices: its axis stays whole until all slices are taken. */
static bool take_array(subscript *s, const fc_expr *e, const fc_value *v) {
    fc_checker *c = s->c;
    fusec_dtype t = fc_v_dtype(c, v);
    if (t == FUSEC_BOOL) {
        fc_diag *d = fc_c_error(c, FUSEC_BAD_SLICE, e->at,
                                "%s is a mask, and what it keeps would have a size that only the "
                                "data says",
                                fc_c_quote(c, e->at));
        fc_c_fact(c, d, s->e->a, s->v);
        fc_diag_help(d, "where(%s, %s, 0) keeps the shape", fc_c_quote(c, e->at),
                     fc_c_quote(c, s->e->a->at));
        return false;
    }
    if (!fc_is_int(t))
        return bad_slice(s, e,
                         fc_c_text(c, "%s is %s, and a subscript is made of integers and sizes",
                                   fc_c_quote(c, e->at), fc_c_value_type(c, v)));
    s->arrays[s->narrays] = e;
    s->array_axis[s->narrays] = s->axis;
    s->array_out[s->narrays++] = s->out_rank;
    take_whole(s);
    return true;
}

static bool take_index(subscript *s, const fc_expr *e) {
    fc_checker *c = s->c;
    fc_dim size = fc_axis(c->g, s->v->node, s->axis), at, one = constant(c, 1);
    const fc_value *v = fc_c_val(s->f, e);
    if (v->kind == FC_V_NODE) return take_array(s, e, v);
    if (!bound(s, e, size, &at)) return false;
    if (!require(s, e, at, constant(c, 0), size) ||
        !require(s, e, fc_dim_sub(&c->g->dims, size, one), at, size))
        return false;
    s->slices[s->axis++] = (fc_slice){at, 1, one};
    s->reshaped = true;
    return true;
}

/* The number of elements from `from` to `to` in steps: rounded up. */
static fc_dim steps(fc_checker *c, fc_dim from, fc_dim to, int64_t step) {
    fc_dimtab *t = &c->g->dims;
    int64_t mag = step < 0 ? -step : step;
    fc_dim span = step > 0 ? fc_dim_sub(t, to, from) : fc_dim_sub(t, from, to);
    if (mag == 1) return span;
    return fc_dim_floordiv(t, fc_dim_add(t, span, constant(c, mag - 1)), constant(c, mag));
}

static bool take_slice(subscript *s, const fc_expr *e) {
    fc_checker *c = s->c;
    fc_dim size = fc_axis(c->g, s->v->node, s->axis), zero = constant(c, 0);
    int64_t step = 1;
    if (e->c) {
        const fc_value *v = fc_c_val(s->f, e->c);
        if (!fc_c_operand(c, e->c, v)) return false;
        if (v->kind != FC_V_INT || v->i == 0)
            return bad_slice(s, e->c, "the step of a slice is an integer constant, and not 0");
        if (v->i < -FC_MAX_STEP || v->i > FC_MAX_STEP)
            return bad_slice(s, e->c, "the step of a slice is 2^48 at most");
        step = (int64_t)v->i;
    }
    fc_dim end = fc_dim_sub(&c->g->dims, size, constant(c, 1));
    fc_dim from = step > 0 ? zero : end, to = step > 0 ? size : constant(c, -1);
    if (e->a && !bound(s, e->a, size, &from)) return false;
    if (e->b && !bound(s, e->b, size, &to)) return false;
    fc_dim count = steps(c, from, to, step);
    if (from == FC_DIM_NONE || to == FC_DIM_NONE || count == FC_DIM_NONE) {
        fc_v_dim(c, FC_DIM_NONE);
        return false;
    }
    bool good = true;
    if (e->a) good = require(s, e, step > 0 ? from : end, step > 0 ? zero : from, size);
    if (good && e->b && step > 0) good = require(s, e, size, to, size);
    if (good && e->b && step < 0) good = require(s, e, to, constant(c, -1), size);
    if (good && (e->a || e->b)) good = require(s, e, count, zero, size);
    if (!good) return false;
    s->slices[s->axis++] = (fc_slice){from, step, count};
    s->out[s->out_rank++] = count;
    return true;
}

/* How many axes the elements name; false for two "...". */
static bool count_axes(subscript *s, uint32_t *named, uint32_t *added, bool *rest) {
    *named = *added = 0;
    *rest = false;
    for (const fc_expr *e = s->e->list; e; e = e->next) {
        if (e->kind == FC_EX_NEWAXIS) ++*added;
        if (e->kind != FC_EX_ELLIPSIS && e->kind != FC_EX_NEWAXIS) ++*named;
        if (e->kind != FC_EX_ELLIPSIS) continue;
        if (*rest) return bad_slice(s, e, "a subscript has `...` at most once");
        *rest = true;
    }
    if (*named > s->rank)
        return bad_slice(s, s->e,
                         fc_c_text(s->c, "the subscript names %u axes, and %s has %u", *named,
                                   fc_c_quote(s->c, s->e->a->at), s->rank));
    uint32_t most = s->c->g->limits.rank < FC_MAX_RANK ? s->c->g->limits.rank : FC_MAX_RANK;
    if (*added <= most && s->rank + *added <= most) return true;
    fc_c_error(s->c, FUSEC_LIMIT, s->e->at, "more than %u axes", most);
    return false;
}

/* Whether integers and arrays of indices stand side by side; else their axes have no one place. */
static bool side_by_side(subscript *s) {
    bool seen = false, over = false;
    for (const fc_expr *p = s->e->list; p; p = p->next) {
        bool index =
            p->kind != FC_EX_SLICE && p->kind != FC_EX_ELLIPSIS && p->kind != FC_EX_NEWAXIS;
        if (index && over) {
            fc_diag *d = fc_c_error(s->c, FUSEC_BAD_SLICE, p->at,
                                    "indices that are apart give their axes no place: bring them "
                                    "side by side");
            fc_c_fact(s->c, d, s->e->a, s->v);
            fc_diag_help(d, "or say where: y[i, j] = %s[... i ..., ... j ...]",
                         fc_c_quote(s->c, s->e->a->at));
            return false;
        }
        seen |= index;
        over |= seen && !index;
    }
    return true;
}

/* Arrays of indices are broadcast together. */
static bool broadcast_together(subscript *s) {
    fc_checker *c = s->c;
    for (uint32_t k = 1; k < s->narrays; k++) {
        const fc_expr *x = s->arrays[0], *y = s->arrays[k];
        const fc_value *a = fc_c_val(s->f, x), *b = fc_c_val(s->f, y);
        fc_dim sa[FC_MAX_RANK], sb[FC_MAX_RANK];
        const uint32_t ra = fc_v_shape(c, a, sa), rb = fc_v_shape(c, b, sb);
        for (uint32_t i = 1; i <= ra && i <= rb; i++) {
            int64_t one;
            const fc_dim p = sa[ra - i], q = sb[rb - i];
            if ((fc_dim_is_const(&c->g->dims, p, &one) && one == 1) ||
                (fc_dim_is_const(&c->g->dims, q, &one) && one == 1) || fc_c_same_dim(c, p, q) != 0)
                continue;
            fc_diag *d =
                fc_c_error(c, FUSEC_SHAPE_MISMATCH, y->at,
                           "the indices do not broadcast: %s in %s, %s in %s", fc_c_dim_text(c, p),
                           fc_c_quote(c, x->at), fc_c_dim_text(c, q), fc_c_quote(c, y->at));
            fc_diag_partner(d, x->at);
            fc_c_fact(c, d, x, a);
            fc_c_fact(c, d, y, b);
            return false;
        }
    }
    return true;
}

/* `n` has its slices taken; the axes of the arrays take the place of theirs. Several axes are one,
 * read at i*m + j. */
static fc_node gather(subscript *s, fc_node n) {
    fc_checker *c = s->c;
    fc_graph *g = c->g;
    fc_node index = FC_NONODE;
    fc_dim shape[FC_MAX_RANK + 1], count = constant(c, 1);
    const uint32_t at = s->array_out[0], end = at + s->narrays;
    if (!side_by_side(s) || !broadcast_together(s)) return FC_NONODE;
    for (uint32_t k = 0; k < s->narrays; k++) {
        const fc_expr *e = s->arrays[k];
        const fc_dim size = fc_axis(g, n, at + k);
        fc_node i = fc_c_strong(c, e, fc_c_val(s->f, e));
        i = fc_c_checked(c, s->f, s->e, e, s->array_axis[k], fc_c_going_on(c, s->f, i), size);
        count = fc_dim_mul(&g->dims, count, size);
        if (k) index = fc_build_op(g, FC_OP_mul, index, fc_build_dim(g, size), FC_NONODE);
        index = k ? fc_build_op(g, FC_OP_add, index, i, FC_NONODE) : i;
        if (!fc_c_fine(c)) return FC_NONODE;
    }
    uint32_t rank = 0;
    for (uint32_t k = 0; k < s->out_rank; k++) {
        if (k > at && k < end) continue;
        shape[rank++] = k == at ? count : fc_axis(g, n, k);
    }
    if (s->narrays > 1) n = fc_build_reshape(g, n, rank, shape);
    return fc_c_built(c, fc_build_gather(g, n, index, at, false));
}

/* A part of a subscript that is an element of an index definition. */
static bool has_elements(fc_call *f, const fc_expr *e) {
    for (const fc_expr *p = e->list; p; p = p->next)
        if (fc_v_element(fc_c_val(f, p))) return true;
    return fc_v_element(fc_c_val(f, e->a));
}

fc_value fc_c_subscript(fc_checker *c, fc_call *f, const fc_expr *e) {
    subscript s = {.c = c, .f = f, .e = e, .v = fc_c_val(f, e->a)};
    uint32_t named, added;
    bool rest;
    for (const fc_expr *p = e->list; p; p = p->next) {
        if (p->kind != FC_EX_INDEX) continue;
        fc_c_error(c, FUSEC_BAD_SLICE, p->at,
                   "the range of an index stands on the left of `=`, or with a reduction");
        return FC_UNKNOWN;
    }
    if (has_elements(f, e)) return fc_c_access(c, f, e);
    if (!fc_c_operand(c, e->a, s.v)) return FC_UNKNOWN;
    s.rank = fc_v_rank(c, s.v);
    if (!count_axes(&s, &named, &added, &rest)) return FC_UNKNOWN;
    fc_value strong = fc_v_node(fc_c_strong(c, e->a, s.v));
    if (strong.kind == FC_V_UNKNOWN) return strong;
    s.v = &strong;
    for (const fc_expr *p = e->list; p; p = p->next) {
        if (p->kind == FC_EX_NEWAXIS) {
            s.out[s.out_rank++] = constant(c, 1);
            s.reshaped = true;
        } else if (p->kind == FC_EX_ELLIPSIS) {
            for (uint32_t n = s.rank - named; n > 0; n--) take_whole(&s);
        } else if (!(p->kind == FC_EX_SLICE ? take_slice(&s, p) : take_index(&s, p))) {
            return FC_UNKNOWN;
        }
    }
    while (s.axis < s.rank) take_whole(&s);
    fc_node n = fc_c_built(c, fc_build_slice(c->g, strong.node, s.slices));
    if (n != FC_NONODE && s.reshaped)
        n = fc_c_built(c, fc_build_reshape(c->g, n, s.out_rank, s.out));
    if (n != FC_NONODE && s.narrays) n = gather(&s, n);
    return fc_v_node(n);
}
