/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_access.c - array[i, j] in an index definition.
 *
 * Where all indices are sums of multiples of the definition's indices, the access is a view: proved
 * to be inside, or a condition on sizes that is tested once at the call; so is such a sum divided
 * by a number, `s[k//32]`. An index that is computed from data is checked when the kernel reads
 * there. An array that went through boundary() answers any index. */
#include "frontend/lang/check_impl.h"

/* ---- computed indices ---------------------------------------------------------------------------
 */

fc_node fc_c_checked_for(fc_checker *c, fc_call *f, const fc_expr *access, const fc_expr *index,
                         const char *axis, fc_node n, fc_dim size) {
    const fc_pos pos = fc_source_pos(f->ast->src, access->at.begin);
    const fc_node r = fc_c_built(c, fc_build_check(c->g, n, size));
    if (r == FC_NONODE) return r;
    const fc_words words = {fc_c_quote(c, access->at), fc_c_quote(c, index->at), axis,
                            fc_c_text(c, "%s:%u:%u", f->ast->src->name, pos.line, pos.col)};
    fc_check_words(c->g, r, &words);
    return fc_c_fine(c) ? r : FC_NONODE;
}

fc_node fc_c_checked(fc_checker *c, fc_call *f, const fc_expr *access, const fc_expr *index,
                     uint32_t axis, fc_node n, fc_dim size) {
    const fc_expr *array = access->kind == FC_EX_CALL ? access->list : access->a;
    return fc_c_checked_for(c, f, access, index,
                            fc_c_text(c, "axis %u of %s", axis, fc_c_quote(c, array->at)), n, size);
}

static fc_node op2(fc_graph *g, fc_op op, fc_node a, fc_node b) {
    return fc_build_op(g, op, a, b, FC_NONODE);
}

fc_node fc_c_folded(fc_checker *c, fc_edge edge, fc_node n, fc_dim size) {
    fc_graph *g = c->g;
    const fc_node len = fc_build_dim(g, size), one = fc_build_const(g, FUSEC_I64, 1);
    const fc_node last = op2(g, FC_OP_sub, len, one), zero = fc_build_const(g, FUSEC_I64, 0);
    n = fc_build_cast(g, n, FUSEC_I64);
    switch (edge) {
    case FC_EDGE_EDGE: n = op2(g, FC_OP_minimum, op2(g, FC_OP_maximum, n, zero), last); break;
    case FC_EDGE_WRAP: n = op2(g, FC_OP_mod, n, len); break;
    case FC_EDGE_REFLECT:
    case FC_EDGE_SYMMETRIC: {
        const fc_node half = edge == FC_EDGE_REFLECT ? last : len;
        const fc_node turn = op2(g, FC_OP_add, half, half); /* of one element: 0, and so is n % 0 */
        const fc_node back = edge == FC_EDGE_REFLECT ? turn : op2(g, FC_OP_sub, turn, one);
        n = op2(g, FC_OP_mod, n, turn);
        n = op2(g, FC_OP_minimum, n, op2(g, FC_OP_sub, back, n));
        break;
    }
    default: break;
    }
    if (edge != FC_EDGE_ZERO)
        fc_require(g, FC_CHECK_GE, size, fc_dim_const(&g->dims, 1), FUSEC_SLICE_RANGE,
                   "an empty axis has nothing to continue at its edge");
    return fc_c_built(c, n);
}

/* ---- one access ---------------------------------------------------------------------------------
 */

typedef struct access {
    fc_checker *c;
    fc_call *f;
    const fc_expr *e;
    const uint8_t *edges; /* NULL: none */
    fc_node array;
    uint32_t rank;
    const fc_expr *parts[FC_MAX_RANK];
    const fc_value *v[FC_MAX_RANK]; /* the index of each axis */
    bool computed[FC_MAX_RANK];
    const fc_value *sum[FC_MAX_RANK]; /* of a computed one that is a sum divided by `by`; or NULL */
    fc_dim by[FC_MAX_RANK];
    uint32_t ncomputed, nsums;
    uint32_t axes; /* of the domain, as far as the access needs them */
} access;

static fc_edge edge_of(const access *a, uint32_t axis) {
    return a->edges ? (fc_edge)a->edges[axis] : FC_EDGE_NONE;
}

static bool bad(access *a, const fc_expr *at, const char *text) {
    const fc_value v = fc_v_node(a->array);
    fc_diag *d = fc_c_error(a->c, FUSEC_BAD_SLICE, at->at, "%s", text);
    fc_c_fact(a->c, d, a->e->a, &v);
    return false;
}

/* A sum of multiples of indices that is divided by a number. */
static void look_for_quotient(access *a, const fc_expr *p, uint32_t axis) {
    int64_t by;
    if (p->kind != FC_EX_BINARY || p->op != FC_OPER_FLOORDIV || edge_of(a, axis) != FC_EDGE_NONE)
        return;
    const fc_value *sum = fc_c_val(a->f, p->a), *number = fc_c_val(a->f, p->b);
    if (sum->kind != FC_V_INDEX || number->kind != FC_V_INT ||
        !fc_c_size(a->c, number, &a->by[axis]) ||
        !fc_dim_is_const(&a->c->g->dims, a->by[axis], &by) || by < 1)
        return;
    a->sum[axis] = sum;
    a->nsums++;
}

static bool read_index(access *a, const fc_expr *p, uint32_t axis) {
    fc_checker *c = a->c;
    const fc_value *v = fc_c_val(a->f, p);
    if (p->kind == FC_EX_SLICE || p->kind == FC_EX_ELLIPSIS || p->kind == FC_EX_NEWAXIS)
        return bad(a, p, "among indices every axis has one index");
    if (!fc_c_operand(c, p, v)) return false;
    a->parts[axis] = p;
    a->v[axis] = v;
    const bool whole = v->kind == FC_V_INT || v->kind == FC_V_DIM || v->kind == FC_V_INDEX;
    if (!whole && !(v->kind == FC_V_NODE && fc_is_int(fc_v_dtype(c, v))))
        return bad(a, p,
                   fc_c_text(c, "%s is %s, and an index is an integer", fc_c_quote(c, p->at),
                             fc_c_value_type(c, v)));
    if (v->kind == FC_V_NODE && fc_v_rank(c, v))
        return bad(a, p,
                   fc_c_text(c, "%s is %s, an array, among indices of single elements",
                             fc_c_quote(c, p->at), fc_c_value_type(c, v)));
    uint32_t axes = v->kind == FC_V_NODE && v->element ? fc_rank(c->g, v->node) : 0;
    for (uint32_t i = 0; v->kind == FC_V_INDEX && i < v->count; i++)
        if (v->terms[i].axis >= axes) axes = v->terms[i].axis + 1;
    if (axes > a->axes) a->axes = axes;
    a->computed[axis] = v->kind == FC_V_NODE;
    a->ncomputed += v->kind == FC_V_NODE;
    if (v->kind == FC_V_NODE) look_for_quotient(a, p, axis);
    return true;
}

/* Where an index that is no data begins. */
static fc_dim start_of(access *a, uint32_t axis) {
    fc_dim d = a->v[axis]->dim;
    fc_dimtab *t = &a->c->g->dims;
    if (a->v[axis]->kind != FC_V_INDEX && !fc_c_size(a->c, a->v[axis], &d)) return FC_DIM_NONE;
    if (fc_c_literal_negative(a->parts[axis]) && edge_of(a, axis) == FC_EDGE_NONE)
        d = fc_dim_add(t, fc_axis(a->c->g, a->array, axis), d);
    return d;
}

/* a >= b now, or at the call. */
static bool inside(access *a, uint32_t axis, fc_dim x, fc_dim y) {
    fc_checker *c = a->c;
    int64_t diff;
    const fc_expr *p = a->parts[axis];
    const fc_dim size = fc_axis(c->g, a->array, axis);
    if (x != FC_DIM_NONE && y != FC_DIM_NONE && fc_dim_diff(&c->g->dims, x, y, &diff) && diff < 0) {
        const fc_value v = fc_v_node(a->array);
        fc_diag *d = fc_c_error(
            c, FUSEC_SLICE_RANGE, p->at, "%s reaches outside %s: its axis %u has size %s",
            fc_c_quote(c, p->at), fc_c_quote(c, a->e->a->at), axis, fc_c_dim_text(c, size));
        fc_c_fact(c, d, a->e->a, &v);
        fc_diag_help(d, "give the index a range that fits, or read boundary(%s, mode=\"edge\")",
                     fc_c_quote(c, a->e->a->at));
        return false;
    }
    const fc_pos pos = fc_source_pos(a->f->ast->src, p->at.begin);
    fc_require(c->g, FC_CHECK_GE, x, y, FUSEC_SLICE_RANGE,
               fc_c_text(c, "`%s` reaches outside %s in `%s` (%s:%u:%u)", fc_c_quote(c, p->at),
                         fc_c_quote(c, a->e->a->at), fc_c_quote(c, a->e->at), a->f->ast->src->name,
                         pos.line, pos.col));
    return fc_c_fine(c);
}

/* The lowest and the highest index of an axis are inside. A range of no element reads nothing, but
 * is held to be one that begins and ends inside, as a slice is. */
static bool prove(access *a, uint32_t axis, const fc_value *v, fc_dim start, fc_dim by) {
    fc_dimtab *t = &a->c->g->dims;
    const fc_dim one = fc_dim_const(t, 1), size = fc_axis(a->c->g, a->array, axis);
    fc_dim low = start, high = start;
    for (uint32_t i = 0; v->kind == FC_V_INDEX && i < v->count; i++) {
        const fc_dim span =
            fc_dim_mul(t, fc_dim_sub(t, v->terms[i].size, one), fc_dim_const(t, v->terms[i].coef));
        if (v->terms[i].coef > 0)
            high = fc_dim_add(t, high, span);
        else
            low = fc_dim_add(t, low, span);
    }
    if (by != one) low = fc_dim_floordiv(t, low, by), high = fc_dim_floordiv(t, high, by);
    return inside(a, axis, low, fc_dim_const(t, 0)) &&
           inside(a, axis, fc_dim_sub(t, size, one), high);
}

/* The array over `lead` axes for computed indices, whole, and then the domain. */
static fc_node view_of(access *a, uint32_t lead) {
    fc_checker *c = a->c;
    const uint32_t all = lead + a->axes;
    fc_dim shape[FC_MAX_RANK];
    fc_view_axis axes[FC_MAX_RANK];
    int64_t *steps = fc_calloc(c->alloc, (size_t)a->rank * (all + 1) + 1, sizeof *steps);
    uint32_t next = 0;
    bool good = steps != NULL;
    if (!steps) fc_c_oom(c);
    for (uint32_t i = 0; i < all; i++) shape[i] = fc_dim_const(&c->g->dims, 1);
    for (uint32_t i = 0; i < a->rank && good; i++) {
        int64_t *own = steps + (size_t)i * all;
        const fc_value *v = a->v[i];
        axes[i] = (fc_view_axis){fc_dim_const(&c->g->dims, 0), FC_EDGE_NONE, own};
        if (a->computed[i]) {
            shape[next] = fc_axis(c->g, a->array, i);
            own[next++] = 1;
            continue;
        }
        axes[i].start = start_of(a, i);
        axes[i].edge = edge_of(a, i);
        for (uint32_t k = 0; v->kind == FC_V_INDEX && k < v->count; k++) {
            own[lead + v->terms[k].axis] = v->terms[k].coef;
            shape[lead + v->terms[k].axis] = v->terms[k].size;
        }
        good = axes[i].edge != FC_EDGE_NONE ||
               prove(a, i, v, axes[i].start, fc_dim_const(&c->g->dims, 1));
    }
    fc_node n = good ? fc_c_built(c, fc_build_view(c->g, a->array, all, shape, axes)) : FC_NONODE;
    fc_free(c->alloc, steps);
    return n;
}

/* One index for all computed axes, and whether all that read 0 outside are inside (FC_NONODE: there
 * is none, or a single one, which the take looks after). */
static fc_node flat_index(access *a, fc_node *mask) {
    fc_checker *c = a->c;
    fc_graph *g = c->g;
    fc_node flat = FC_NONODE;
    *mask = FC_NONODE;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (!a->computed[i]) continue;
        const fc_dim size = fc_axis(g, a->array, i);
        const fc_edge edge = edge_of(a, i);
        fc_node n = fc_c_strong(c, a->parts[i], a->v[i]);
        if (n == FC_NONODE) return n;
        if (a->sum[i]) {
            if (!prove(a, i, a->sum[i], a->sum[i]->dim, a->by[i])) return FC_NONODE;
        } else if (edge == FC_EDGE_NONE && fc_c_is_ragged_index(a->f, a->parts[i], size)) {
            n = fc_c_folded(c, FC_EDGE_ZERO, n, size); /* as its range is */
        } else {
            n = edge == FC_EDGE_NONE ? fc_c_checked(c, a->f, a->e, a->parts[i], i, n, size)
                                     : fc_c_folded(c, edge, n, size);
        }
        if (n != FC_NONODE) n = fc_c_with_axes(c, n, a->axes);
        if (n == FC_NONODE) return n;
        if (edge == FC_EDGE_ZERO && a->ncomputed > 1) {
            const fc_node in =
                op2(g, FC_OP_logical_and, op2(g, FC_OP_ge, n, fc_build_const(g, FUSEC_I64, 0)),
                    op2(g, FC_OP_lt, n, fc_build_dim(g, size)));
            *mask = *mask == FC_NONODE ? in : op2(g, FC_OP_logical_and, *mask, in);
        }
        flat = flat == FC_NONODE
                   ? n
                   : op2(g, FC_OP_add, op2(g, FC_OP_mul, flat, fc_build_dim(g, size)), n);
        if (!fc_c_fine(c)) return FC_NONODE;
    }
    return flat;
}

static fc_node computed(access *a) {
    fc_checker *c = a->c;
    fc_graph *g = c->g;
    fc_dim shape[FC_MAX_RANK + 1], count = fc_dim_const(&g->dims, 1);
    fc_node mask;
    if (a->ncomputed + a->axes > FC_MAX_RANK) {
        fc_c_error(c, FUSEC_LIMIT, a->e->at, "more than %d axes", FC_MAX_RANK);
        return FC_NONODE;
    }
    fc_node index = flat_index(a, &mask),
            array = index == FC_NONODE ? index : view_of(a, a->ncomputed);
    if (array == FC_NONODE) return FC_NONODE;
    for (uint32_t i = 0; i < a->ncomputed; i++)
        count = fc_dim_mul(&g->dims, count, fc_axis(g, array, i));
    for (uint32_t i = 0; i <= a->axes; i++)
        shape[i] = i ? fc_axis(g, array, a->ncomputed + i - 1) : count;
    if (a->ncomputed > 1) array = fc_build_reshape(g, array, a->axes + 1, shape);
    for (uint32_t i = 0; i <= a->axes; i++)
        shape[i] = i ? fc_axis(g, index, i - 1) : fc_dim_const(&g->dims, 1);
    index = fc_build_reshape(g, index, a->axes + 1, shape);
    fc_node r = a->nsums == a->ncomputed ? fc_build_take_inside(g, array, index, 0)
                                         : fc_build_take(g, array, index, 0);
    if (!fc_c_fine(c)) return FC_NONODE;
    for (uint32_t i = 0; i < a->axes; i++) shape[i] = fc_axis(g, r, i + 1);
    r = fc_build_reshape(g, r, a->axes, shape);
    if (mask != FC_NONODE) {
        const fc_node zero = fc_build_number(g, (fusec_dtype)fc_at(g, array)->dtype, 0);
        r = fc_build_op(g, FC_OP_where, mask, r, zero);
    }
    return fc_c_built(c, r);
}

void fc_c_bad_count(fc_checker *c, const fc_expr *e, const fc_value *v) {
    const uint32_t rank = fc_v_rank(c, v);
    fc_diag *d = fc_c_error(c, FUSEC_BAD_SLICE, e->at,
                            "%s has %u %s and %u %s: among indices every axis has one",
                            fc_c_quote(c, e->a->at), rank, rank == 1 ? "axis" : "axes", e->count,
                            e->count == 1 ? "index" : "indices");
    fc_c_fact(c, d, e->a, v);
}

fc_value fc_c_access(fc_checker *c, fc_call *f, const fc_expr *e) {
    access a = {.c = c, .f = f, .e = e};
    const fc_value *v = fc_c_val(f, e->a);
    uint32_t axis = 0;
    if (!fc_c_operand(c, e->a, v)) return FC_UNKNOWN;
    if (fc_v_element(v)) {
        fc_c_error(c, FUSEC_BAD_SLICE, e->at, "%s is one element, and has no axes",
                   fc_c_quote(c, e->a->at));
        return FC_UNKNOWN;
    }
    a.array = fc_c_strong(c, e->a, v);
    if (a.array == FC_NONODE) return FC_UNKNOWN;
    a.rank = fc_rank(c->g, a.array);
    a.edges = v->kind == FC_V_NODE ? v->edges : NULL;
    if (e->count != a.rank) {
        fc_c_bad_count(c, e, v);
        return FC_UNKNOWN;
    }
    for (const fc_expr *p = e->list; p; p = p->next)
        if (!read_index(&a, p, axis++)) return FC_UNKNOWN;
    return fc_v_element_if(a.ncomputed ? computed(&a) : view_of(&a, 0), true);
}
