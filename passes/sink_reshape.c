/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sink_reshape.c - reshapes move from results to operands, and views are composed.
 *
 * In: any graph. Out: the same values (exactly: only the shapes in which they are computed change).
 * A reshape that merges or splits axes needs its operand in memory; so it moves down through
 * everything that can be computed in the new shape just as well, until it stands on an input or
 * another stored value, where it costs nothing. What it moves through:
 *
 *   elementwise, casts   all operands in the new shape
 *   broadcasts, reductions   when the axes that change are all kept by them (or all broadcast)
 *
 * A value that is needed in several shapes is computed once and reshaped, unless it is cheap.
 * Reshapes that only add or drop axes of size 1 cost nothing anywhere and are not moved.
 *
 * Two walks, users before operands to decide the shapes each value is computed in, then operands
 * before users to build. The axes a reshape changes are taken as one run: what is between the
 * common start and the common end of both shapes. */
#include "passes/plan.h"
#include "passes/rewrite.h"

enum { MAX_SHAPES = 4, CHEAP = 4, EXPENSIVE = 1000 };

#define NEVER (UINT64_C(1) << 63)

typedef struct value {
    uint64_t keep; /* bit i: axes i and i + 1 can't be in the run that changes; NEVER */
    uint32_t cost; /* operations per element down to memory, at most EXPENSIVE */
    uint8_t nshapes;
    bool overflow;              /* wanted in more than MAX_SHAPES shapes */
    fc_list shapes[MAX_SHAPES]; /* wanted in; then computed in */
    fc_node built[MAX_SHAPES];
} value;

typedef struct sink {
    const fc_graph *src;
    fc_graph *dst; /* has the lists of src under the same ids, and more */
    value *values;
} sink;

/* The run of axes that a reshape changes: [start, end_from) becomes [start, end_to). */
typedef struct run {
    uint32_t start, end_from, end_to;
} run;

static run changed_run(const fc_graph *g, fc_list from, fc_list to) {
    uint32_t a = fc_list_len(g, from), b = fc_list_len(g, to), p = 0, q = 0;
    const int64_t *x = fc_list_at(g, from), *y = fc_list_at(g, to);
    while (p < a && p < b && x[p] == y[p]) p++;
    while (p + q < a && p + q < b && x[a - 1 - q] == y[b - 1 - q]) q++;
    return (run){.start = p, .end_from = a - q, .end_to = b - q};
}

static bool is_one(const fc_graph *g, int64_t dim) {
    return fc_dim_is(&g->dims, (fc_dim)dim, 1);
}

/* Whether the shapes differ in axes of size 1 only. */
static bool is_free(const fc_graph *g, fc_list from, fc_list to) {
    uint32_t a = fc_list_len(g, from), b = fc_list_len(g, to), i = 0, j = 0;
    const int64_t *x = fc_list_at(g, from), *y = fc_list_at(g, to);
    for (;;) {
        while (i < a && is_one(g, x[i])) i++;
        while (j < b && is_one(g, y[j])) j++;
        if (i == a || j == b) return i == a && j == b;
        if (x[i++] != y[j++]) return false;
    }
}

static bool is_pointwise(int op) {
    return fc_is_elementwise(op) || op == FC_OP_CAST || op == FC_OP_BITCAST || op == FC_OP_CHECK ||
           op == FC_OP_EXTERN || op == FC_OP_PART || op == FC_OP_PAIR;
}

static uint64_t reduced_axes(const fc_graph *g, const fc_ninfo *n) {
    uint64_t mask = 0;
    const int64_t *axes = fc_list_at(g, (fc_list)n->attr);
    for (uint32_t i = 0; i < fc_list_len(g, (fc_list)n->attr); i++) mask |= UINT64_C(1) << axes[i];
    return mask;
}

/* ---- what a reshape may change of a value ---------------------------------------------------- */

/* Bit i: axis i of the broadcast is an axis of the operand. NEVER: equal only by a condition of the
 * call. */
static uint64_t carried_axes(const fc_graph *g, const fc_ninfo *n) {
    fc_list inner = fc_at(g, n->src[0])->shape;
    uint32_t r = fc_list_len(g, n->shape), ri = fc_list_len(g, inner);
    const int64_t *x = fc_list_at(g, inner), *y = fc_list_at(g, n->shape);
    uint64_t mask = 0;
    for (uint32_t i = 0; i < ri; i++) {
        if (x[i] == y[r - ri + i])
            mask |= UINT64_C(1) << (r - ri + i);
        else if (!is_one(g, x[i]))
            return NEVER;
    }
    return mask;
}

static uint64_t keep_of_broadcast(const fc_graph *g, const fc_ninfo *n, uint64_t operand) {
    uint32_t r = fc_list_len(g, n->shape), ri = fc_rank(g, n->src[0]);
    if (ri == 0) return 0;
    uint64_t carried = carried_axes(g, n);
    if ((operand | carried) & NEVER) return NEVER;
    uint64_t inside = r ? (UINT64_C(1) << (r - 1)) - 1 : 0;
    return ((carried ^ (carried >> 1)) & inside) | operand << (r - ri);
}

static uint64_t keep_of_reduction(const fc_graph *g, const fc_ninfo *n, uint64_t operand) {
    uint32_t r = fc_rank(g, n->src[0]), at = 0;
    uint64_t reduced = reduced_axes(g, n), keep = 0;
    if (operand & NEVER) return NEVER;
    if (n->flags & FC_NODE_KEEPDIMS)
        return operand | ((reduced ^ (reduced >> 1)) & ((UINT64_C(1) << (r - 1)) - 1));
    for (uint32_t i = 0, before = r; i < r; i++) {
        if (reduced >> i & 1) continue;
        if (before < r) {
            if (before + 1 != i || (operand >> before & 1)) keep |= UINT64_C(1) << at;
            at++;
        }
        before = i;
    }
    return keep;
}

static void describe(sink *s, fc_node id) {
    const fc_graph *g = s->src;
    const fc_ninfo *n = fc_at(g, id);
    value *v = &s->values[id];
    const value *a = n->nops ? &s->values[n->src[0]] : NULL;
    if (is_pointwise(n->op)) {
        v->cost = fc_ops[n->op].flags & FC_F_TRANSCENDENTAL ? EXPENSIVE : 1;
        for (int k = 0; k < n->nops; k++) {
            v->keep |= s->values[n->src[k]].keep;
            v->cost += s->values[n->src[k]].cost;
        }
    } else if (n->op == FC_OP_BROADCAST) {
        v->keep = keep_of_broadcast(g, n, a->keep);
        v->cost = a->cost;
    } else if (n->op == FC_OP_RESHAPE) {
        v->keep = a->keep ? NEVER : 0;
        v->cost = a->cost;
    } else if (fc_is_reduction(n->op)) {
        v->keep =
            keep_of_reduction(g, n, n->nops == 2 ? a->keep | s->values[n->src[1]].keep : a->keep);
        v->cost = EXPENSIVE;
    } else if (n->op == FC_OP_PERMUTE || n->op == FC_OP_SLICE || n->op == FC_OP_IOTA ||
               n->op == FC_OP_VIEW || n->op == FC_OP_TAKE || n->op == FC_OP_SCAN ||
               n->op == FC_OP_SCATTER || n->op == FC_OP_FOLD || n->op == FC_OP_RECORD ||
               n->op == FC_OP_ROUNDS) {
        v->keep = NEVER; /* not in memory in the order of its indices */
    }
    if (v->cost > EXPENSIVE) v->cost = EXPENSIVE;
}

/* Whether an axis has the literal size 0: then the run that changes need not keep its size. */
static bool is_empty(const fc_graph *g, fc_list shape) {
    for (uint32_t i = 0; i < fc_list_len(g, shape); i++)
        if (fc_dim_is(&g->dims, (fc_dim)fc_list_at(g, shape)[i], 0)) return true;
    return false;
}

/* Whether the value can be computed in another shape. */
static bool can_compute_in(const sink *s, fc_node id, fc_list shape) {
    const fc_ninfo *n = fc_at(s->src, id);
    const value *v = &s->values[id];
    bool kind = is_pointwise(n->op) || n->op == FC_OP_BROADCAST || n->op == FC_OP_RESHAPE ||
                fc_is_reduction(n->op);
    run c = changed_run(s->dst, n->shape, shape);
    if (!kind || (v->keep & NEVER) || is_empty(s->dst, shape) || c.start == c.end_from ||
        c.start == c.end_to)
        return false;
    for (uint32_t i = c.start; i + 1 < c.end_from; i++)
        if (v->keep >> i & 1) return false;
    if (!fc_is_reduction(n->op)) return true;
    uint32_t rank = fc_rank(s->src, n->src[0]) + c.end_to - c.end_from;
    bool of_ones = n->flags & FC_NODE_KEEPDIMS && (reduced_axes(s->src, n) >> c.start & 1);
    return rank <= s->dst->limits.rank && rank <= FC_MAX_RANK && !of_ones;
}

/* ---- shapes of operands ---------------------------------------------------------------------- */

/* `shape` with the axes [start, end) replaced by those of `to` in the run c. */
static fc_list replace_axes(fc_graph *g, fc_list shape, uint32_t start, uint32_t end, fc_list to,
                            run c) {
    int64_t v[2 * FC_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < start; i++) v[n++] = fc_list_at(g, shape)[i];
    for (uint32_t i = c.start; i < c.end_to; i++) v[n++] = fc_list_at(g, to)[i];
    for (uint32_t i = end; i < fc_list_len(g, shape); i++) v[n++] = fc_list_at(g, shape)[i];
    return fc_intern_list(g, v, n);
}

/* The shape of the operand of a broadcast that is computed in `shape`. */
static fc_list under_broadcast(const sink *s, const fc_ninfo *n, fc_list shape) {
    fc_graph *g = s->dst;
    fc_list inner = fc_at(s->src, n->src[0])->shape;
    uint32_t r = fc_list_len(g, n->shape), ri = fc_list_len(g, inner), lead = r - ri;
    if (shape == n->shape || ri == 0) return inner;
    run c = changed_run(g, n->shape, shape);
    uint32_t start = c.start > lead ? c.start - lead : 0,
             end = c.end_from > lead ? c.end_from - lead : 0;
    if (carried_axes(s->src, n) >> c.start & 1) return replace_axes(g, inner, start, end, shape, c);
    /* axes of size 1 in the middle; in front of everything they can be left out */
    fc_dim one = fc_dim_const(&g->dims, 1);
    int64_t ones[FC_MAX_RANK];
    uint32_t count = start ? c.end_to - c.start : 0;
    for (uint32_t i = 0; i < count; i++) ones[i] = one;
    return replace_axes(g, inner, start, end, fc_intern_list(g, ones, count), (run){0, 0, count});
}

/* The operand's shape under a reduction that is computed in `shape`; `moved` axes are added behind
 * the run. */
static fc_list under_reduction(const sink *s, const fc_ninfo *n, fc_list shape, uint32_t *behind,
                               int *moved) {
    fc_list inner = fc_at(s->src, n->src[0])->shape;
    *moved = 0;
    *behind = 0;
    if (shape == n->shape) return inner;
    run c = changed_run(s->dst, n->shape, shape);
    uint32_t first = c.start;
    if (!(n->flags & FC_NODE_KEEPDIMS)) { /* the operand's axis of result axis c.start */
        uint64_t reduced = reduced_axes(s->src, n);
        uint32_t kept = 0;
        for (first = 0; (reduced >> first & 1) || kept++ < c.start; first++) {
        }
    }
    *behind = first + c.end_from - c.start;
    *moved = (int)c.end_to - (int)c.end_from;
    return replace_axes(s->dst, inner, first, *behind, shape, c);
}

static fc_list operand_shape(const sink *s, const fc_ninfo *n, int k, fc_list shape) {
    uint32_t behind;
    int moved;
    const fc_ninfo *a = fc_at(s->src, n->src[k]);
    if (is_pointwise(n->op))
        return fc_is_scalar_leaf(s->src, n->src[k]) || a->op == FC_OP_RECORD ? a->shape : shape;
    if (n->op == FC_OP_RESHAPE) return shape;
    if (n->op == FC_OP_BROADCAST) return under_broadcast(s, n, shape);
    if (fc_is_reduction(n->op)) return under_reduction(s, n, shape, &behind, &moved);
    return a->shape;
}

/* ---- users before operands: which shapes ----------------------------------------------------- */

static void want(sink *s, fc_node id, fc_list shape) {
    value *v = &s->values[id];
    fc_list own = fc_at(s->src, id)->shape;
    if (shape != own && (is_free(s->dst, own, shape) || !can_compute_in(s, id, shape))) shape = own;
    for (unsigned i = 0; i < v->nshapes; i++)
        if (v->shapes[i] == shape) return;
    if (v->nshapes == MAX_SHAPES)
        v->overflow = true;
    else
        v->shapes[v->nshapes++] = shape;
}

static void decide(sink *s, fc_node id) {
    const fc_ninfo *n = fc_at(s->src, id);
    value *v = &s->values[id];
    if (v->nshapes > 1 && (v->overflow || v->cost > CHEAP)) {
        v->shapes[0] = n->shape;
        v->nshapes = 1;
    }
    for (unsigned i = 0; i < v->nshapes; i++)
        for (int k = 0; k < n->nops; k++) want(s, n->src[k], operand_shape(s, n, k, v->shapes[i]));
}

/* ---- operands before users: nodes ------------------------------------------------------------ */

/* The value in this shape: computed in it, or reshaped. */
static fc_node in_shape(sink *s, fc_node id, fc_list shape) {
    const value *v = &s->values[id];
    unsigned at = 0;
    for (unsigned i = 0; i < v->nshapes; i++) {
        if (v->shapes[i] == shape) return v->built[i];
        if (v->shapes[i] == fc_at(s->src, id)->shape) at = i;
    }
    if (v->built[at] == FC_NONODE) return FC_NONODE;
    fc_ninfo r = {.op = FC_OP_RESHAPE,
                  .dtype = fc_at(s->src, id)->dtype,
                  .nops = 1,
                  .shape = shape,
                  .src = {v->built[at]}};
    return fc_rewrite_view(s->dst, r);
}

static void move_axes(sink *s, fc_ninfo *n, fc_list shape) {
    int64_t axes[FC_MAX_RANK];
    uint32_t behind, count = fc_list_len(s->dst, (fc_list)n->attr);
    int moved;
    under_reduction(s, n, shape, &behind, &moved);
    for (uint32_t i = 0; i < count; i++) {
        axes[i] = fc_list_at(s->dst, (fc_list)n->attr)[i];
        if (axes[i] >= behind) axes[i] += moved;
    }
    n->attr = fc_intern_list(s->dst, axes, count);
}

static fc_node build_in(sink *s, fc_node id, fc_list shape) {
    fc_ninfo n = *fc_at(s->src, id);
    fc_node operands[3];
    if (n.op == FC_OP_INPUT) return s->dst->inputs.at[n.attr].node;
    for (int k = 0; k < n.nops; k++) {
        operands[k] = in_shape(s, n.src[k], operand_shape(s, &n, k, shape));
        if (operands[k] == FC_NONODE) return FC_NONODE;
    }
    if (n.op == FC_OP_RESHAPE) return operands[0];
    if (fc_is_reduction(n.op) && shape != n.shape) move_axes(s, &n, shape);
    n.shape = shape;
    if (n.nops) memcpy(n.src, operands, n.nops * sizeof *operands);
    return fc_is_view(n.op) ? fc_rewrite_view(s->dst, n) : fc_graph_node(s->dst, n);
}

static void run_pass(sink *s, const uint8_t *live, fc_node *map) {
    const fc_graph *src = s->src;
    for (fc_node n = 0; n < src->nodes.len; n++)
        if (live[n]) describe(s, n);
    for (size_t i = 0; i < src->outputs.len; i++)
        want(s, src->outputs.at[i].node, fc_at(src, src->outputs.at[i].node)->shape);
    for (fc_node n = (fc_node)src->nodes.len; n-- > 0;)
        if (live[n]) decide(s, n);
    for (fc_node n = 0; n < src->nodes.len && !s->dst->error.code; n++) {
        value *v = &s->values[n];
        for (unsigned i = 0; live[n] && i < v->nshapes; i++)
            v->built[i] = build_in(s, n, v->shapes[i]);
    }
    for (size_t i = 0; i < src->outputs.len && !s->dst->error.code; i++) {
        fc_node n = src->outputs.at[i].node;
        map[n] = in_shape(s, n, fc_at(src, n)->shape);
    }
}

static bool sink_all(const fc_graph *src, fc_graph *dst, const uint8_t *live, fc_node *map,
                     const void *user) {
    (void)user;
    sink s = {.src = src, .dst = dst};
    s.values = fc_calloc(src->alloc, src->nodes.len + 1, sizeof *s.values);
    if (s.values) run_pass(&s, live, map);
    const bool ok = s.values != NULL;
    fc_free(src->alloc, s.values);
    return ok;
}

/* Moves reshapes down to where they cost nothing: inputs, reductions, stored values. */
fusec_status fc_pass_sink_reshape(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                                  fc_error *e) {
    (void)o;
    return fc_rewrite_by(src, dst, sink_all, NULL, e);
}
