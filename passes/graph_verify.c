/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graph_verify.c - checks that a graph is what ir/graph.h says it is.
 *
 * In: any graph, also a broken one. Out: FUSEC_OK, or FUSEC_INTERNAL with the first node that is
 * wrong and why. Passes are run between two of these checks, so a fault is found at the pass that
 * made it. */
#include "passes/graph_verify.h"

#include "ir/external.h"
#include "ir/fft.h"
#include "ir/fold.h"
#include "ir/loop.h"
#include "ir/repeat.h"

/* ---- lists ----------------------------------------------------------------------------------- */

static fc_reason check_shape(const fc_graph *g, fc_list shape) {
    if (shape >= g->lists.len) return "its shape is not a list";
    if (fc_list_len(g, shape) > FC_MAX_RANK) return "its rank is too high";
    for (uint32_t i = 0; i < fc_list_len(g, shape); i++) {
        int64_t d = fc_list_at(g, shape)[i], v;
        if (d < 0 || (uint64_t)d >= g->dims.forms.len)
            return "its shape has a size that does not exist";
        if (fc_dim_is_const(&g->dims, (fc_dim)d, &v) && v < 0)
            return "its shape has a negative size";
    }
    return NULL;
}

static fc_reason check_lists(const fc_graph *g) {
    if (!g->lists.len || fc_list_len(g, 0)) return "list 0 is not the empty list";
    for (size_t i = 0; i < g->lists.len; i++)
        if ((g->lists.at[i] >> 32) + (g->lists.at[i] & 0xffffffffu) > g->list_data.len)
            return "a list reaches outside its memory";
    return NULL;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static fc_reason check_leaf(const fc_graph *g, fc_node id, const fc_ninfo *n) {
    switch (n->op) {
    case FC_OP_INPUT:
        if (n->attr >= g->inputs.len || g->inputs.at[n->attr].node != id)
            return "it is no input of the graph";
        return NULL;
    case FC_OP_CONST: {
        unsigned bits = n->dtype == FUSEC_BOOL ? 1 : 8u * fc_dtypes[n->dtype].bytes;
        if (n->shape) return "a constant has a shape";
        if (n->flags & ~(uint32_t)FC_NODE_OWN) return "a constant has flags that mean nothing";
        return bits < 64 && n->attr >> bits ? "a constant has bits its dtype lacks" : NULL;
    }
    case FC_OP_HOLE:
        if (fc_hole_level(n) > FC_MAX_LOOP_LEVEL) return "a hole of a level that does not exist";
        return !fc_hole_level(n) && fc_hole_number(n) >= g->nholes
                   ? "an open hole that was not made"
                   : NULL;
    case FC_OP_DIM:
        if (n->shape || n->dtype != FUSEC_I64) return "a size is not an i64 scalar";
        return n->attr >= g->dims.forms.len ? "the size does not exist" : NULL;
    case FC_OP_SLOT: return n->shape || n->flags ? "a slot is no scalar" : NULL;
    default: /* FC_OP_IOTA */
        if (n->dtype != FUSEC_I64) return "iota is not i64";
        return n->attr >= fc_list_len(g, n->shape) ? "iota runs along an axis it lacks" : NULL;
    }
}

/* ---- elementwise ----------------------------------------------------------------------------- */

static bool rule_takes(fc_op op, fusec_dtype t) {
    switch (fc_ops[op].rule) {
    case FC_RULE_ARITH: return t != FUSEC_BOOL;
    case FC_RULE_FLOAT: return fc_is_float(t);
    case FC_RULE_ANY: return t != FUSEC_BOOL; /* the builder makes the logical row of it */
    case FC_RULE_LOGIC: return t == FUSEC_BOOL;
    case FC_RULE_BITS: return fc_is_int(t);
    default: return true;
    }
}

static fc_reason check_pointwise_shapes(const fc_graph *g, const fc_ninfo *n) {
    for (int k = 0; k < n->nops; k++) {
        const fc_ninfo *a = fc_at(g, n->src[k]);
        if (!fc_is_scalar_leaf(g, n->src[k]) && a->shape != n->shape)
            return "an operand has another shape";
    }
    return NULL;
}

static fc_reason check_elementwise(const fc_graph *g, const fc_ninfo *n) {
    const fc_op_info *row = &fc_ops[n->op];
    if (n->nops != row->arity) return "it has the wrong number of operands";
    int first = row->rule == FC_RULE_SELECT;
    fusec_dtype t = (fusec_dtype)fc_at(g, n->src[first])->dtype;
    if (first && fc_at(g, n->src[0])->dtype != FUSEC_BOOL) return "the condition is not bool";
    for (int k = first + 1; k < n->nops; k++)
        if (fc_at(g, n->src[k])->dtype != t) return "its operands have several dtypes";
    if (!rule_takes((fc_op)n->op, t)) return "the row does not take this dtype";
    bool to_bool = row->rule == FC_RULE_COMPARE || row->rule == FC_RULE_TEST;
    if (n->dtype != (to_bool ? FUSEC_BOOL : t)) return "its dtype is not that of the row";
    if ((row->flags & FC_F_COMMUTES) && n->src[0] > n->src[1])
        return "its operands are out of order";
    const bool marked = n->op == FC_OP_where && n->flags == FC_NODE_RAGGED;
    return n->attr || n->axis_kind || (n->flags && !marked) ? "an elementwise node has attributes"
                                                            : check_pointwise_shapes(g, n);
}

static fc_reason check_conversion(const fc_graph *g, const fc_ninfo *n) {
    fusec_dtype from = (fusec_dtype)fc_at(g, n->src[0])->dtype;
    if (n->nops != 1) return "it has the wrong number of operands";
    if (n->op == FC_OP_BITCAST &&
        (fc_dtypes[from].bytes != fc_dtypes[n->dtype].bytes || n->dtype == FUSEC_BOOL))
        return "a bitcast between different widths";
    if (n->op == FC_OP_MATERIALIZE)
        return from != n->dtype || fc_at(g, n->src[0])->shape != n->shape ? "it changes its operand"
                                                                          : NULL;
    return check_pointwise_shapes(g, n);
}

static fc_reason check_extern(const fc_graph *g, const fc_ninfo *n) {
    const fc_extern *x = fc_extern_of(n);
    fc_node v[FC_MAX_EXTERN];
    if (!x || n->dtype != x->result || fc_extern_nodes(g, n, v) != x->nargs)
        return "its function has other types";
    for (int k = 0; k < x->nargs; k++) {
        const fc_ninfo *a = fc_at(g, v[k]);
        if (a->dtype != x->dtype[k]) return "an operand has another dtype";
        if (!fc_is_scalar_leaf(g, v[k]) && a->shape != n->shape)
            return "an operand has another shape";
    }
    return NULL;
}

static fc_reason check_complex(const fc_graph *g, const fc_ninfo *n) {
    const bool pair = n->op == FC_OP_PAIR;
    if (n->nops != (pair ? 2 : 1)) return "it has the wrong number of operands";
    const fc_ninfo *a = fc_at(g, n->src[0]);
    const fusec_dtype whole = (fusec_dtype)(pair ? n->dtype : a->dtype);
    if (!fc_is_complex(whole)) return "it is of no complex number";
    if (!pair && a->op == FC_OP_PAIR) return "a part of a pair is known";
    for (int k = 0; k < n->nops; k++)
        if ((pair ? fc_at(g, n->src[k])->dtype : n->dtype) != fc_part_dtype(whole))
            return "its dtype is not that of a part";
    return check_pointwise_shapes(g, n);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Sizes that differ only by something that is known not to hold. */
bool fc_verify_may_be_equal(const fc_graph *g, int64_t a, int64_t b) {
    int64_t diff;
    return !fc_dim_diff(&g->dims, (fc_dim)a, (fc_dim)b, &diff) || diff == 0;
}

static fc_reason check_broadcast(const fc_graph *g, const fc_ninfo *n, fc_list from) {
    uint32_t r = fc_list_len(g, n->shape), ra = fc_list_len(g, from);
    if (ra > r) return "the result of a broadcast has fewer axes";
    for (uint32_t i = 0; i < ra; i++) {
        const int64_t a = fc_list_at(g, from)[i];
        const bool stretched = fc_dim_is(&g->dims, (fc_dim)a, 1);
        if (!stretched && !fc_verify_may_be_equal(g, a, fc_list_at(g, n->shape)[r - ra + i]))
            return "an axis can't be broadcast";
    }
    return NULL;
}

static fc_reason check_permute(const fc_graph *g, const fc_ninfo *n, fc_list from) {
    uint32_t r = fc_list_len(g, n->shape);
    uint64_t seen = 0;
    if (fc_list_len(g, from) != r || n->attr >= g->lists.len ||
        fc_list_len(g, (fc_list)n->attr) != r)
        return "the permutation has another rank";
    for (uint32_t i = 0; i < r; i++) {
        int64_t axis = fc_list_at(g, (fc_list)n->attr)[i];
        if (axis < 0 || axis >= r || (seen >> axis & 1)) return "the axes are no permutation";
        seen |= UINT64_C(1) << axis;
        if (fc_list_at(g, n->shape)[i] != fc_list_at(g, from)[axis])
            return "an axis has another size";
    }
    return NULL;
}

static fc_reason check_slice(const fc_graph *g, const fc_ninfo *n, fc_list from) {
    uint32_t r = fc_list_len(g, n->shape);
    if (fc_list_len(g, from) != r || n->attr >= g->lists.len ||
        fc_list_len(g, (fc_list)n->attr) != 3 * r)
        return "the slice has another rank";
    for (uint32_t i = 0; i < r; i++) {
        const int64_t *s = fc_list_at(g, (fc_list)n->attr) + 3 * i;
        if (s[0] < 0 || (uint64_t)s[0] >= g->dims.forms.len)
            return "a slice starts at a size that does not exist";
        if (s[1] == 0) return "a slice has the step 0";
        if (s[2] != fc_list_at(g, n->shape)[i]) return "an axis has another size";
    }
    return NULL;
}

/* Numbers of elements, compared where all sizes are known. */
static fc_reason check_reshape(const fc_graph *g, const fc_ninfo *n, fc_list from) {
    int64_t product[2] = {1, 1}, v;
    for (int side = 0; side < 2; side++) {
        fc_list l = side ? n->shape : from;
        for (uint32_t i = 0; i < fc_list_len(g, l); i++)
            if (!fc_dim_is_const(&g->dims, (fc_dim)fc_list_at(g, l)[i], &v) ||
                !fc_mul_ok(product[side], v, &product[side]))
                return NULL;
    }
    return product[0] == product[1] ? NULL : "a reshape changes the number of elements";
}

static fc_reason check_general_view(const fc_graph *g, const fc_ninfo *n, fc_list from) {
    const uint32_t ra = fc_list_len(g, from), rn = fc_list_len(g, n->shape);
    if (n->attr >= g->lists.len || fc_list_len(g, (fc_list)n->attr) != 1 + ra * (2 + rn))
        return "the view has another rank";
    const int64_t *v = fc_list_at(g, (fc_list)n->attr);
    if (*v++ != rn) return "the view has another rank";
    for (uint32_t i = 0; i < ra; i++, v += 2 + rn) {
        if (v[0] < 0 || (uint64_t)v[0] >= g->dims.forms.len)
            return "an index starts at a size that does not exist";
        if (v[1] < 0 || v[1] >= FC_EDGE_COUNT) return "its edge mode does not exist";
    }
    return NULL;
}

static fc_reason check_check(const fc_graph *g, const fc_ninfo *n) {
    if (n->nops != 1) return "it has the wrong number of operands";
    const fc_ninfo *a = fc_at(g, n->src[0]);
    if (a->dtype != FUSEC_I64 || n->dtype != FUSEC_I64) return "an index is not i64";
    if (n->attr >= g->lists.len || !fc_list_len(g, (fc_list)n->attr))
        return "it checks against no size";
    for (uint32_t i = 0; i < fc_list_len(g, (fc_list)n->attr); i++) {
        const int64_t d = fc_list_at(g, (fc_list)n->attr)[i];
        if (d < 0 || (uint64_t)d >= g->dims.forms.len)
            return "it checks against a size that does not exist";
    }
    if (n->words > g->words.len) return "its words do not exist";
    return check_pointwise_shapes(g, n);
}

static fc_reason check_take(const fc_graph *g, const fc_ninfo *n) {
    if (n->nops != 2) return "it has the wrong number of operands";
    const fc_ninfo *a = fc_at(g, n->src[0]), *index = fc_at(g, n->src[1]);
    const uint32_t rank = fc_list_len(g, n->shape);
    if (a->dtype != n->dtype) return "a take changes the dtype";
    if (index->dtype != FUSEC_I64) return "an index is not i64";
    if (index->shape != n->shape) return "it has another shape than its index";
    if (fc_list_len(g, a->shape) != rank || n->attr >= rank)
        return "it takes along an axis it lacks";
    for (uint32_t i = 0; i < rank; i++)
        if (i != n->attr &&
            !fc_verify_may_be_equal(g, fc_list_at(g, a->shape)[i], fc_list_at(g, n->shape)[i]))
            return "an axis has another size than that of the array";
    return n->flags & ~(uint32_t)FC_NODE_INSIDE ? "it has flags that mean nothing" : NULL;
}

static fc_reason check_scatter(const fc_graph *g, const fc_ninfo *n) {
    if (n->nops != 3) return "it has the wrong number of operands";
    const fc_ninfo *base = fc_at(g, n->src[0]), *index = fc_at(g, n->src[1]),
                   *value = fc_at(g, n->src[2]);
    const fc_scatter s = fc_scatter_of(n);
    const uint32_t rb = fc_list_len(g, n->shape), rank = fc_list_len(g, index->shape);
    if (base->dtype != n->dtype || value->dtype != n->dtype) return "a scatter changes the dtype";
    if (base->shape != n->shape) return "a scatter changes the shape";
    if (index->dtype != FUSEC_I64) return "an index is not i64";
    if (index->shape != value->shape) return "index and value have several shapes";
    if (rank < rb || s.axis >= rb) return "it puts along an axis it lacks";
    for (uint32_t i = 0; i < rb; i++)
        if (i != s.axis && !fc_verify_may_be_equal(g, fc_list_at(g, index->shape)[rank - rb + i],
                                                   fc_list_at(g, n->shape)[i]))
            return "an axis has another size than that of the array";
    if (n->attr != fc_scatter_attr(s) || !fc_can_scatter(s.op, (fusec_dtype)n->dtype))
        return "it puts by no reduction";
    if (n->op == FC_OP_UPDATE && (base->op != FC_OP_MATERIALIZE || !base->attr ||
                                  !fc_can_update(s.op, (fusec_dtype)n->dtype)))
        return "it is no update in place";
    return n->flags & ~(uint32_t)FC_NODE_INSIDE ? "it has flags that mean nothing" : NULL;
}

static fc_reason check_scan(const fc_graph *g, const fc_ninfo *n) {
    if (n->nops != 1) return "it has the wrong number of operands";
    const fc_ninfo *a = fc_at(g, n->src[0]);
    const fc_scan s = fc_scan_of(n);
    if (n->attr != fc_scan_attr(s) || !fc_can_scan(s.op)) return "it scans by no reduction";
    if (a->shape != n->shape) return "a scan changes the shape";
    if (s.axis >= fc_list_len(g, n->shape)) return "it scans along an axis it lacks";
    return n->dtype == fc_red_dtype(s.op, (fusec_dtype)a->dtype) ? NULL : "its dtype is wrong";
}

static fc_reason check_view(const fc_graph *g, const fc_ninfo *n) {
    const fc_ninfo *a = fc_at(g, n->src[0]);
    if (n->nops != 1) return "it has the wrong number of operands";
    if (a->dtype != n->dtype) return "a view changes the dtype";
    switch (n->op) {
    case FC_OP_BROADCAST: return check_broadcast(g, n, a->shape);
    case FC_OP_PERMUTE: return check_permute(g, n, a->shape);
    case FC_OP_SLICE: return check_slice(g, n, a->shape);
    case FC_OP_VIEW: return check_general_view(g, n, a->shape);
    default: return check_reshape(g, n, a->shape);
    }
}

/* ---- reductions ------------------------------------------------------------------------------ */

static fc_reason check_reduced_axes(const fc_graph *g, const fc_ninfo *n, fc_list from,
                                    uint64_t *mask) {
    *mask = 0;
    if (n->attr >= g->lists.len || !fc_list_len(g, (fc_list)n->attr)) return "it reduces no axes";
    int64_t before = -1;
    for (uint32_t i = 0; i < fc_list_len(g, (fc_list)n->attr); i++) {
        int64_t axis = fc_list_at(g, (fc_list)n->attr)[i];
        if (axis <= before || axis >= fc_list_len(g, from))
            return "its axes are not ascending axes of the operand";
        *mask |= UINT64_C(1) << axis;
        before = axis;
    }
    return NULL;
}

/* The shape of what is reduced, less the axes. */
fc_reason fc_verify_shape_left(const fc_graph *g, const fc_ninfo *n, fc_list from, uint64_t mask) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < fc_list_len(g, from); i++) {
        int64_t one;
        bool reduced = mask >> i & 1;
        if (reduced && !(n->flags & FC_NODE_KEEPDIMS)) continue;
        if (at >= fc_list_len(g, n->shape)) return "its shape lacks an axis";
        int64_t d = fc_list_at(g, n->shape)[at++];
        if (reduced ? !fc_dim_is_const(&g->dims, (fc_dim)d, &one) || one != 1
                    : d != fc_list_at(g, from)[i])
            return "its shape is not what the reduction leaves";
    }
    return at == fc_list_len(g, n->shape) ? NULL : "its shape has an axis too many";
}

static fc_reason check_reduction(const fc_graph *g, const fc_ninfo *n) {
    if (n->nops != fc_ops[n->op].arity) return "it has the wrong number of operands";
    const fc_ninfo *a = fc_at(g, n->src[0]);
    const uint32_t r = fc_list_len(g, a->shape);
    if (n->nops == 2) {
        const fc_ninfo *b = fc_at(g, n->src[1]);
        if (a->shape != b->shape) return "its operands have several shapes";
        if (a->dtype != b->dtype) return "its operands have several dtypes";
        if (n->flags & ~(uint32_t)(3 * FC_NODE_SPREAD)) return "a contraction with flags";
    }
    uint64_t mask;
    fc_reason why = check_reduced_axes(g, n, a->shape, &mask);
    if (why) return why;
    if (n->dtype != fc_red_dtype((fc_op)n->op, (fusec_dtype)a->dtype))
        return "its dtype is not that of the row";
    const bool own = n->op == FC_OP_dot && n->axis_kind == FC_TREE_DOT;
    if (!own && n->axis_kind != (uint32_t)(mask >> (r - 1) & 1)) return "it names the wrong tree";
    return fc_verify_shape_left(g, n, a->shape, mask);
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* Which slots of a fold a value depends on, by number their dtype + 1; and whether it depends on
 * slots of a loop, or on anything but slots and constants, or is not elementwise. */
typedef struct slots {
    uint8_t dtype[2 * FC_MAX_RECORD];
    bool any, round, outside;
} slots;

static fc_reason join_slots(slots *to, const slots *from) {
    for (unsigned k = 0; from->any && k < 2 * FC_MAX_RECORD; k++) {
        if (to->dtype[k] && from->dtype[k] && to->dtype[k] != from->dtype[k])
            return "a body has one value in two dtypes";
        to->dtype[k] |= from->dtype[k];
    }
    to->any |= from->any;
    to->round |= from->round;
    to->outside |= from->outside;
    return NULL;
}

static bool is_bound(const slots *s) {
    return s->any || s->round;
}

/* The body has no values but those of two records of this fold. */
static fc_reason check_slots(const fc_graph *g, const fc_ninfo *n, const slots *s) {
    fc_node element[FC_MAX_RECORD];
    const uint32_t values = fc_record_nodes(g, n->src[0], FC_MAX_RECORD, element);
    if (s->outside || s->round) return "its body reads what is outside of it";
    for (uint32_t k = 0; k < 2 * FC_MAX_RECORD; k++) {
        const uint32_t c = k % FC_MAX_RECORD;
        if (s->dtype[k] && (c >= values || s->dtype[k] != fc_at(g, element[c])->dtype + 1u))
            return "its body is one of other records";
    }
    return NULL;
}

/* Slots are scalars and so is what is made of them; no element and no output is. `of` has room for
 * all nodes. */
static fc_reason check_bodies(const fc_graph *g, slots *of) {
    for (fc_node id = 0; id < g->nodes.len; id++) {
        const fc_ninfo *n = fc_at(g, id);
        const bool computes = fc_is_elementwise(n->op) || n->op == FC_OP_CAST ||
                              n->op == FC_OP_BITCAST || n->op == FC_OP_RECORD ||
                              n->op == FC_OP_ROUNDS || n->op == FC_OP_EXTERN;
        slots *s = &of[id];
        *s = (slots){.outside = !computes && n->op != FC_OP_SLOT && n->op != FC_OP_CONST};
        if (n->op == FC_OP_SLOT) {
            s->round = n->attr >= FC_SLOT_COUNTER && n->attr < FC_SLOT_END;
            s->any = !s->round;
            if (s->any && n->attr >= 2 * FC_MAX_RECORD) return "a slot that does not exist";
            if (s->any) s->dtype[n->attr] = (uint8_t)(n->dtype + 1u);
        }
        if (n->op == FC_OP_ROUNDS) {
            if (of[n->src[1]].any || of[n->src[1]].outside)
                return "its body reads what is outside of it";
            *s = of[n->src[0]];
            if (is_bound(s) && n->shape) return "a body is not elementwise";
            continue;
        }
        if (n->op == FC_OP_FOLD) {
            fc_reason why = check_slots(g, n, &of[n->src[1]]);
            if (why || is_bound(&of[n->src[0]])) return why ? why : "an element is bound";
            continue;
        }
        for (int k = 0; k < n->nops; k++) {
            fc_reason why = join_slots(s, &of[n->src[k]]);
            if (why) return why;
        }
        if (is_bound(s) && n->nops && (!computes || n->shape)) return "a body is not elementwise";
    }
    for (size_t i = 0; i < g->outputs.len; i++)
        if (g->outputs.at[i].node < g->nodes.len && is_bound(&of[g->outputs.at[i].node]))
            return "an output is bound";
    return NULL;
}

/* Whether a record is an operand of what takes none there. */
static bool has_list(const fc_graph *g, const fc_ninfo *n) {
    if (n->op == FC_OP_FOLD || n->op == FC_OP_ROUNDS) return false; /* looked at below */
    for (int k = 0; k < n->nops; k++)
        if (fc_at(g, n->src[k])->op == FC_OP_RECORD &&
            (k < 2 || (n->op != FC_OP_RECORD && n->op != FC_OP_EXTERN)))
            return true;
    return false;
}

const char *fc_node_fault(const fc_graph *g, fc_node id, const fc_ninfo *n) {
    fc_reason why = check_shape(g, n->shape);
    if (why) return why;
    if (n->dtype >= FC_DTYPE_ALL) return "its dtype does not exist";
    if (n->dtype >= FC_DTYPE_COUNT && n->op != FC_OP_INPUT && n->op != FC_OP_PAIR &&
        n->op != FC_OP_RESHAPE && n->op != FC_OP_RESULT && n->op != FC_OP_HOLE)
        return "a complex number that is no pair";
    if (n->op >= FC_OP_COUNT_ || n->nops > 3) return "its operation does not exist";
    for (int k = 0; k < n->nops; k++)
        if (n->src[k] >= id) return "an operand comes after it";
    bool leaf = n->op == FC_OP_INPUT || n->op == FC_OP_CONST || n->op == FC_OP_DIM ||
                n->op == FC_OP_IOTA || n->op == FC_OP_HOLE || n->op == FC_OP_SLOT;
    for (int k = 0; k < n->nops; k++) /* values have elements */
        if (fc_is_part(fc_at(g, n->src[k])->op) !=
            (fc_is_part(n->op) ? k || n->op != FC_OP_LIST : n->op == FC_OP_RESULT))
            return "an operand has elements or has none";
    if (leaf != (n->nops == 0)) return "it has the wrong number of operands";
    if (has_list(g, n)) return "a list stands where a value has to";
    if (leaf) return check_leaf(g, id, n);
    if (fc_is_elementwise(n->op)) return check_elementwise(g, n);
    if (fc_is_reduction(n->op)) return check_reduction(g, n);
    if (fc_is_view(n->op)) return check_view(g, n);
    if (n->op == FC_OP_CAST || n->op == FC_OP_BITCAST || n->op == FC_OP_MATERIALIZE)
        return check_conversion(g, n);
    if (n->op == FC_OP_EXTERN) return check_extern(g, n);
    if (n->op == FC_OP_PART || n->op == FC_OP_PAIR) return check_complex(g, n);
    if (n->op == FC_OP_TAKE) return check_take(g, n);
    if (n->op == FC_OP_SCATTER || n->op == FC_OP_UPDATE) return check_scatter(g, n);
    if (n->op == FC_OP_CHECK) return check_check(g, n);
    if (n->op == FC_OP_SCAN) return check_scan(g, n);
    if (n->op == FC_OP_LIST) return fc_verify_list(g, n);
    if (n->op == FC_OP_CALL)
        return n->nops != 1 || n->shape || fc_at(g, n->src[0])->op != FC_OP_LIST
                   ? "a call of something else than a list"
                   : NULL;
    if (n->op == FC_OP_LOOP) return fc_verify_loop(g, n);
    if (n->op == FC_OP_SORT) return fc_verify_sort(g, n);
    if (n->op == FC_OP_FFT) return fc_verify_fft(g, n);
    if (n->op == FC_OP_RESULT) return fc_verify_result(g, n);
    if (n->op == FC_OP_RECORD) return fc_verify_record(g, n);
    if (n->op == FC_OP_FOLD) return fc_verify_fold(g, n);
    if (n->op == FC_OP_ROUNDS) return fc_verify_repeat(g, n);
    return "it is an operation of kernels";
}

fusec_status fc_graph_verify(const fc_graph *g, fc_error *e) {
    if (g->error.code) return fc_fail(e, g->error.code, "%s", g->error.message);
    fc_reason why = check_lists(g);
    if (why) return fc_fail(e, FUSEC_INTERNAL, "broken graph: %s", why);
    for (fc_node id = 0; id < g->nodes.len; id++) {
        const fc_ninfo *n = fc_at(g, id);
        why = fc_node_fault(g, id, n);
        if (why)
            return fc_fail(e, FUSEC_INTERNAL, "broken graph: %%%u = %s: %s", id,
                           n->op < FC_OP_COUNT_ ? fc_ops[n->op].name : "?", why);
    }
    slots *of = fc_malloc(g->alloc, (g->nodes.len + 1) * sizeof *of);
    if (!of) return fc_oom(e);
    why = check_bodies(g, of);
    fc_free(g->alloc, of);
    if (why) return fc_fail(e, FUSEC_INTERNAL, "broken graph: %s", why);
    for (size_t i = 0; i < g->inputs.len; i++) {
        fc_node n = g->inputs.at[i].node;
        if (n >= g->nodes.len || fc_at(g, n)->op != FC_OP_INPUT || fc_at(g, n)->attr != i)
            return fc_fail(e, FUSEC_INTERNAL, "broken graph: input %s is no input",
                           g->inputs.at[i].name);
    }
    for (size_t i = 0; i < g->outputs.len; i++) {
        const fc_node n = g->outputs.at[i].node;
        if (n >= g->nodes.len)
            return fc_fail(e, FUSEC_INTERNAL, "broken graph: output %s does not exist",
                           g->outputs.at[i].name);
        if (fc_is_part(fc_at(g, n)->op) || fc_at(g, n)->op == FC_OP_RECORD)
            return fc_fail(e, FUSEC_INTERNAL, "broken graph: output %s is no value",
                           g->outputs.at[i].name);
    }
    for (size_t i = 0; i < g->conditions.len; i++)
        if (g->conditions.at[i].a >= g->dims.forms.len ||
            g->conditions.at[i].b >= g->dims.forms.len)
            return fc_fail(e, FUSEC_INTERNAL,
                           "broken graph: a condition on a size that does not exist");
    return FUSEC_OK;
}
