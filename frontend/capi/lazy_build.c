/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lazy_build.c - operations by number: names and facts of all, and how one is built in a graph.
 *
 * In: an operation, its attributes, operands. Out: a node or a value. Rows of ir/ops.def come by
 * themselves; what is no row stands in a table of its own (lazy_rows.c). */
#include "frontend/capi/lazy.h"

#include "ir/complex.h"

static bool is_row(int op) {
    const bool kind = fc_is_elementwise(op) || (fc_is_reduction(op) && fc_ops[op].arity == 1);
    return kind && !(fc_ops[op].flags & FC_F_HIDDEN);
}

int fusec_op_arity(int op) {
    if (is_row(op)) return fc_ops[op].arity;
    const fc_lazy_row *r = fc_lazy_row_of(op);
    return r ? r->arity : -1;
}

int fusec_op_find(const char *name) {
    if (!name) return -1;
    for (int op = 0; op < FC_OPS_WITH_COMPOSITES; op++) {
        const fc_lazy_row *r = fc_lazy_row_of(op);
        if (r && !strcmp(r->name, name)) return op;
    }
    const fc_op op = fc_op_by_name(name, strlen(name));
    return op == FC_OP_NONE || !is_row(op) ? -1 : (int)op;
}

int fusec_op_count(void) {
    return FC_OPS_WITH_COMPOSITES;
}

int fusec_op_is_reduction(int op) {
    return op == FC_OP_LOGSUMEXP || (is_row(op) && fc_is_reduction(op));
}

const char *fusec_op_name(int op) {
    const fc_lazy_row *r = fc_lazy_row_of(op);
    return r ? r->name : is_row(op) ? fc_ops[op].name : NULL;
}

const char *fusec_op_doc(int op) {
    const fc_lazy_row *r = fc_lazy_row_of(op);
    return r ? r->doc : is_row(op) ? fc_ops[op].doc : "";
}

/* ---- what a row must be told ----------------------------------------------------------------- */

static bool check_shape(fc_error *e, const char *name, const fusec_attr *a) {
    if (a->rank < 0 || (a->rank && !a->shape && !a->dims))
        fc_fail(e, FUSEC_INVALID, "%s: attributes with a shape are needed", name);
    else if (a->rank > FC_MAX_RANK)
        fc_fail(e, FUSEC_LIMIT, "%s: rank %d is above the limit of %d", name, (int)a->rank,
                FC_MAX_RANK);
    for (int i = 0; !a->dims && !e->code && i < a->rank; i++)
        if (a->shape[i] < 0)
            fc_fail(e, FUSEC_INPUT_SHAPE, "%s: axis %d has the negative size %lld", name, i,
                    (long long)a->shape[i]);
    return !e->code;
}

static bool check_lists(fc_error *e, const fc_lazy_row *r, const fusec_attr *a, int rank) {
    const int least = r->needs & FC_LAZY_EACH ? rank : r->needs & FC_LAZY_START ? 1 : 0;
    if ((r->needs & FC_LAZY_AXIS) &&
        (!a->axes || a->naxes != 1 || a->axes[0] < -FC_MAX_RANK || a->axes[0] > FC_MAX_RANK))
        fc_fail(e, FUSEC_BAD_AXIS, "%s: attributes with one axis are needed", r->name);
    else if ((r->needs & (FC_LAZY_START | FC_LAZY_EACH | FC_LAZY_LIST)) &&
             (a->rank < least || a->rank > FC_MAX_RANK || (a->rank && !a->start)))
        fc_fail(e, FUSEC_INVALID, "%s: attributes with start are needed", r->name);
    else if ((r->needs & FC_LAZY_STEP) && !a->step)
        fc_fail(e, FUSEC_INVALID, "%s: attributes with step are needed", r->name);
    else if ((r->needs & FC_LAZY_TEXT) && (!a->text || strlen(a->text) > FC_LAZY_MOST_TEXT))
        fc_fail(e, FUSEC_INVALID, "%s: attributes with a text of up to %d characters are needed",
                r->name, FC_LAZY_MOST_TEXT);
    return !e->code;
}

static bool check(const fc_lazy_call *c, int op, const fc_lazy_row *r) {
    const fusec_attr *a = c->a;
    fc_error *e = &c->g->ir.error;
    if (a->axes && (a->naxes < 0 || a->naxes > FC_MAX_RANK))
        fc_fail(e, FUSEC_BAD_AXIS, "%s: %d axes", fusec_op_name(op), (int)a->naxes);
    if (e->code || !r) return !e->code;
    if ((r->needs & FC_LAZY_DTYPE) && a->dtype >= FC_DTYPE_ALL)
        return fc_fail(e, FUSEC_INVALID, "%s: %u is not a dtype", r->name, a->dtype), false;
    if (fc_lazy_takes_shape(op)) return check_shape(e, r->name, a);
    return check_lists(e, r, a, c->n ? fusec_rank(c->v[0]) : 0);
}

/* The shape as sizes of the graph. */
static bool take_shape(fc_lazy_call *c) {
    const fusec_attr *a = c->a;
    c->rank = a->rank;
    for (int i = 0; i < c->rank; i++) {
        const fc_dim d = a->dims      ? a->dims[i].id
                         : c->extents ? fc_extent_of(c->g, a->shape[i])
                                      : fc_dim_const(&c->g->ir.dims, a->shape[i]);
        if (d == FC_DIM_NONE) return fc_oom(&c->g->ir.error), false;
        c->shape[i] = a->dims ? a->dims[i] : (fusec_dim){.graph = c->g, .id = d};
    }
    return true;
}

/* ---- building -------------------------------------------------------------------------------- */

static fusec_value build(fc_lazy_call *c, int op) {
    const fc_lazy_row *r = fc_lazy_row_of(op);
    fusec_graph *g = c->g;
    if (g->ir.error.code || !check(c, op, r)) return fc_value(g, FC_NONODE);
    if (r) {
        if (fc_lazy_takes_shape(op) && !take_shape(c)) return fc_value(g, FC_NONODE);
        c->axis = (r->needs & FC_LAZY_AXIS) ? (int)c->a->axes[0] : 0;
        return r->build(c);
    }
    if (fc_is_reduction(op))
        return fc_value(g, fc_build_reduce(&g->ir, (fc_op)op, c->v[0].node, (uint32_t)c->a->naxes,
                                           c->a->axes, c->a->keepdims != 0));
    return fc_value(g, fc_build_op(&g->ir, (fc_op)op, c->v[0].node,
                                   c->n > 1 ? c->v[1].node : FC_NONODE,
                                   c->n > 2 ? c->v[2].node : FC_NONODE));
}

fc_node fc_lazy_number(fusec_graph *g, const fusec_lazy *v) {
    const uint64_t bits[2] = {v->bits, v->more};
    if (fc_is_complex((fusec_dtype)v->dtype))
        return fc_complex_const(&g->ir, (fusec_dtype)v->dtype, bits);
    return fc_build_const(&g->ir, (fusec_dtype)v->dtype, v->bits);
}

fc_node fc_lazy_build(fusec_graph *g, int op, const fusec_attr *a, int n, const fc_node *src) {
    fusec_value few[4], *v = few, r;
    if (n > 4 && !(v = fc_malloc(g->ir.alloc, (size_t)n * sizeof *v)))
        return fc_oom(&g->ir.error), FC_NONODE;
    for (int i = 0; i < n; i++) v[i] = fc_value(g, src[i]);
    fc_lazy_call c = {.g = g, .a = a, .n = n, .v = v, .extents = true};
    r = build(&c, op);
    if (v != few) fc_free(g->ir.alloc, v);
    return fc_is_node(&r) ? r.node : FC_NONODE;
}

/* Operands as nodes: numbers become constants, next to arrays of their dtype. */
static bool take_operands(fusec_graph *g, int op, int n, const fusec_value *v, fusec_value *out) {
    fc_node src[3]; /* of elementwise operations */
    fusec_graph *of = n ? fc_common_graph(fusec_op_name(op), v, n) : NULL;
    if (of && of != g)
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: an operand belongs to another graph",
                fusec_op_name(op));
    for (int i = 0; i < n && !g->ir.error.code; i++)
        if (!fc_is_node(&v[i]) && !fc_is_number(&v[i]))
            fc_fail(&g->ir.error, FUSEC_INVALID, "%s: operand %d is an empty value",
                    fusec_op_name(op), i + 1);
    if (g->ir.error.code) return false;
    if (fc_is_elementwise(op) && !fc_adapt(g, (fc_op)op, v, n, src)) return false;
    for (int i = 0; i < n && !g->ir.error.code; i++)
        out[i] = fc_value(g, fc_is_elementwise(op) ? src[i] : fc_as_node(g, v[i]));
    return !g->ir.error.code;
}

fusec_value fusec_op(fusec_graph *g, int op, int n, const fusec_value *v, const fusec_attr *attr) {
    fusec_attr a = {0};
    fusec_value few[4], *in = few, r;
    if (!g) return fc_failed(FUSEC_INVALID);
    const int want = fusec_op_arity(op);
    fc_error *e = &g->ir.error;
    if (want == -1)
        fc_fail(e, FUSEC_INVALID, "fusec_op: %d is no operation", op);
    else if (want == FC_ANY_ARITY ? n < 1 || n > FC_MOST_OPERANDS : n != want)
        fc_fail(e, FUSEC_ARGUMENT_COUNT, "%s takes %d operands, but %d were given",
                fusec_op_name(op), want == FC_ANY_ARITY ? 1 : want, n);
    else if (n && !v)
        fc_fail(e, FUSEC_INVALID, "%s: the operands are NULL", fusec_op_name(op));
    else if (attr && attr->size < sizeof attr->size)
        fc_fail(e, FUSEC_INVALID, "%s: set attributes up with FUSEC_ATTR_INIT", fusec_op_name(op));
    if (e->code) return fc_value(g, FC_NONODE);
    if (attr) memcpy(&a, attr, attr->size < sizeof a ? attr->size : sizeof a);
    if (n > 4 && !(in = fc_malloc(g->ir.alloc, (size_t)n * sizeof *in)))
        return fc_oom(e), fc_value(g, FC_NONODE);
    fc_lazy_call c = {.g = g, .a = &a, .n = n, .v = in};
    r = take_operands(g, op, n, v, in) ? build(&c, op) : fc_value(g, FC_NONODE);
    if (in != few) fc_free(g->ir.alloc, in);
    return r;
}

fusec_attr fc_lazy_attributes(const fusec_lazy *v) {
    const int64_t *words = fc_lazy_attr(v);
    fusec_attr a = FUSEC_ATTR_INIT;
    a.dtype = v->dtype;
    a.keepdims = v->keepdims;
    a.rank = v->rank;
    a.shape = v->words;
    if (fc_lazy_is_composite(v->op)) {
        a.mode = v->mode;
        a.naxes = v->naxes;
        a.axes = v->naxes ? words : NULL;
        if (!fc_lazy_takes_shape(v->op)) a.rank = v->nlist;
        a.start = words + v->naxes;
        a.step = a.start + v->nlist;
        if (v->ntext) a.text = (const char *)(a.step + v->nlist);
    } else if (v->op == FC_OP_SLICE) {
        a.start = words;
        a.step = words + v->rank;
    } else {
        a.naxes = v->nattr;
        a.axes = words;
    }
    return a;
}
