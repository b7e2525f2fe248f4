/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_ragged.c - reductions over an index whose range is data: sum[p in start[i]..start[i +
 * 1]](..).
 *
 * Such an index is an element, its begin plus the number of its turn; the axis has the size of what
 * it indexes alone. Begin and end are checked, so that accesses with the index alone are inside. */
#include "frontend/lang/check_impl.h"

static bool is_data(fc_checker *c, fc_call *f, const fc_expr *e) {
    if (f->masks[e->id - f->root->first]) return true;
    const fc_value *v = fc_c_val(f, e);
    return v->kind == FC_V_NODE && !fc_v_rank(c, v);
}

bool fc_c_is_ragged(fc_checker *c, fc_call *f, const fc_binder *b) {
    return f->pass != FC_ONE_PASS && (is_data(c, f, b->range->lo) || is_data(c, f, b->range->hi));
}

/* ---- the index --------------------------------------------------------------------------------
 */

/* A begin or an end, as an integer of at most `axis` axes. */
static fc_node bound(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_value *v = fc_c_val(f, e);
    if (!fc_c_operand(c, e, v)) return FC_NONODE;
    const bool whole = v->kind == FC_V_INT || v->kind == FC_V_DIM || v->kind == FC_V_INDEX ||
                       (v->kind == FC_V_NODE && fc_is_int(fc_v_dtype(c, v)));
    if (!whole || (v->kind == FC_V_NODE && !v->element && fc_v_rank(c, v))) {
        fc_c_error(c, FUSEC_INDEX_RANGE, e->at, "%s is %s, and a range is made of integers",
                   fc_c_quote(c, e->at), fc_c_value_type(c, v));
        return FC_NONODE;
    }
    const fc_node n = v->kind == FC_V_INDEX ? fc_c_index_node(c, v) : fc_c_strong(c, e, v);
    return n == FC_NONODE ? n : fc_c_built(c, fc_build_cast(c->g, n, FUSEC_I64));
}

/* From 0 up to the size. What is made of sizes is inside if that is known. */
static fc_node checked(fc_checker *c, fc_call *f, const fc_binder *b, const fc_expr *e, fc_node n) {
    fc_graph *g = c->g;
    const fc_dim ends = fc_dim_add(&g->dims, b->size, fc_dim_const(&g->dims, 1));
    const fc_expr *array = b->from->a;
    uint32_t axis = 0;
    for (const fc_expr *p = b->from->list; p->kind != FC_EX_NAME || fc_c_binder(f, p) != b;
         p = p->next)
        axis++;
    const fc_op op = (fc_op)fc_at(g, n)->op;
    if ((op == FC_OP_DIM && fc_at(g, n)->attr == b->size) ||
        (op == FC_OP_CONST && !fc_at(g, n)->attr))
        return n;
    n = fc_c_checked_for(
        c, f, b->range, e,
        fc_c_text(c, "axis %u of %s, with its end,", axis, fc_c_quote(c, array->at)), n, ends);
    return n;
}

fc_value fc_c_ragged_value(fc_checker *c, fc_call *f, const fc_binder *of) {
    fc_graph *g = c->g;
    fc_binder *b = &f->binders.at[of - f->binders.at];
    if (b->value != FC_NONODE) return fc_v_element_if(b->value, true);
    if (!b->known) return FC_UNKNOWN;
    fc_node lo = bound(c, f, b->range->lo), hi = lo == FC_NONODE ? lo : bound(c, f, b->range->hi);
    if (hi != FC_NONODE) lo = checked(c, f, b, b->range->lo, lo);
    if (lo != FC_NONODE && hi != FC_NONODE) hi = checked(c, f, b, b->range->hi, hi);
    if (lo == FC_NONODE || hi == FC_NONODE) return FC_UNKNOWN;
    lo = fc_c_with_axes(c, lo, b->axis + 1);
    hi = fc_c_with_axes(c, hi, b->axis + 1);
    if (lo == FC_NONODE || hi == FC_NONODE) return FC_UNKNOWN;
    const fc_node turn = fc_build_iota_along(g, b->size, b->axis + 1, b->axis);
    b->begin = lo;
    b->length = fc_c_built(c, fc_op2(g, FC_OP_sub, hi, lo));
    b->value = fc_c_built(c, fc_op2(g, FC_OP_add, lo, turn));
    return b->value == FC_NONODE ? FC_UNKNOWN : fc_v_element_if(b->value, true);
}

bool fc_c_is_ragged_index(const fc_call *f, const fc_expr *index, fc_dim size) {
    const fc_binder *b = index->kind == FC_EX_NAME ? fc_c_binder(f, index) : NULL;
    return b && b->ragged && b->size == size;
}

/* ---- the reduction ----------------------------------------------------------------------------
 */

/* Kept axes behind the last one that the range depends on are those of columns: they lie behind the
 * axis of the range. */
static uint32_t place_of(fc_checker *c, fc_node length, uint32_t from) {
    uint32_t place = from;
    while (place > 0 && fc_axis_is_one(c->g, length, place - 1)) place--;
    return place;
}

static fc_node moved(fc_checker *c, fc_node n, uint32_t from, uint32_t place) {
    int64_t perm[FC_MAX_RANK];
    for (uint32_t i = 0; i <= from; i++)
        perm[i] = i < place ? i : i == place ? from : (int64_t)i - 1;
    return place == from ? n : fc_c_built(c, fc_build_permute(c->g, n, perm));
}

/* Whether the element is made of reductions that are different for each turn: there are as many as
 * rows times the longest. */
static bool reduces_inside(fc_checker *c, const fc_binder *b, fc_node element) {
    fc_graph *g = c->g;
    uint8_t *need = fc_calloc(c->alloc, element + 1, 1);
    bool found = false;
    if (!need) return fc_c_oom(c), true;
    need[element] = 1;
    for (fc_node n = element + 1; n-- > 0 && !found;) {
        const fc_ninfo *i = fc_at(g, n);
        if (!need[n]) continue;
        found = fc_is_reduction(i->op) && fc_rank(g, n) > b->axis && !fc_axis_is_one(g, n, b->axis);
        for (int k = 0; k < i->nops && !(i->op == FC_OP_TAKE && k == 0); k++) need[i->src[k]] = 1;
    }
    fc_free(c->alloc, need);
    return found;
}

fc_value fc_c_ragged_reduction(fc_checker *c, fc_call *f, const fc_expr *e, fc_op op,
                               const fc_binder *b) {
    fc_graph *g = c->g;
    const uint32_t from = b->axis;
    fc_dim shape[FC_MAX_RANK], begin_shape[FC_MAX_RANK];
    if (e->callee->list->next) {
        fc_diag *d = fc_c_error(c, FUSEC_NOT_YET, b->at,
                                "an index whose range is data stands alone in its reduction");
        fc_diag_help(d, "one reduction in the other: %s[..](%s[..](...))", e->callee->a->text,
                     e->callee->a->text);
        return FC_UNKNOWN;
    }
    if (fc_c_ragged_value(c, f, b).kind == FC_V_UNKNOWN) return FC_UNKNOWN;
    fc_node x = fc_c_strong(c, e->list, fc_c_val(f, e->list));
    if (x != FC_NONODE) x = fc_c_with_axes(c, x, from + 1);
    if (x == FC_NONODE) return FC_UNKNOWN;
    if (reduces_inside(c, b, x)) {
        fc_diag *d = fc_c_error(c, FUSEC_NOT_YET, e->list->at,
                                "a reduction for each `%s`, whose range is data", b->name);
        fc_diag_help(d, "define it before, as an array with the index %s", b->name);
        return FC_UNKNOWN;
    }
    for (uint32_t i = 0; i < from; i++)
        shape[i] = fc_axis_is_one(g, x, i) ? fc_axis(g, b->length, i) : fc_axis(g, x, i);
    for (uint32_t i = 0; i < from; i++) begin_shape[i] = fc_axis(g, b->begin, i);
    shape[from] = b->size;
    const uint32_t place = place_of(c, b->length, from);
    x = fc_c_built(c, fc_build_broadcast(g, x, from + 1, shape));
    if (x != FC_NONODE) x = moved(c, x, from, place);
    const fc_node length = x == FC_NONODE ? x : moved(c, b->length, from, place);
    if (length == FC_NONODE) return FC_UNKNOWN;
    fc_node r = fc_c_built(c, fc_build_ragged(g, op, x, place, length));
    if (r != FC_NONODE && (op == FC_OP_argmin || op == FC_OP_argmax)) { /* the index, or -1 */
        const fc_node begin = fc_build_reshape(g, b->begin, from, begin_shape);
        r = fc_c_built(c, fc_where(g, fc_op2(g, FC_OP_lt, r, fc_i64(g, 0)), r,
                                   fc_op2(g, FC_OP_add, r, begin)));
    }
    return fc_v_element_if(r, from > 0);
}
