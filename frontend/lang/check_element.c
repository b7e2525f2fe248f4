/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_element.c - elements of index definitions as operands: their axes, and indices as numbers.
 */
#include "frontend/lang/check_impl.h"

fc_node fc_c_with_axes(fc_checker *c, fc_node n, uint32_t rank) {
    fc_dim shape[FC_MAX_RANK];
    const uint32_t have = fc_rank(c->g, n);
    if (have >= rank) return n;
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = i < have ? fc_axis(c->g, n, i) : fc_dim_const(&c->g->dims, 1);
    return fc_c_built(c, fc_build_reshape(c->g, n, rank, shape));
}

bool fc_c_line_up(fc_checker *c, uint32_t n, const fc_value *v, fc_node *node) {
    uint32_t rank = 0;
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        if (!fc_v_element(&v[i]) || node[i] == FC_NONODE) continue;
        any = true;
        if (fc_rank(c->g, node[i]) > rank) rank = fc_rank(c->g, node[i]);
    }
    for (uint32_t i = 0; i < n && any; i++)
        if (fc_v_element(&v[i]) && node[i] != FC_NONODE) node[i] = fc_c_with_axes(c, node[i], rank);
    return any;
}

bool fc_c_no_arrays(fc_checker *c, uint32_t n, const fc_expr *const *e, const fc_value *v) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t rank = fc_v_rank(c, &v[i]);
        if (fc_v_element(&v[i]) || !rank) continue;
        fc_diag *d = fc_c_error(c, FUSEC_SHAPE_MISMATCH, e[i]->at,
                                "%s is %s; here one element of it is wanted",
                                fc_c_quote(c, e[i]->at), fc_c_value_type(c, &v[i]));
        fc_c_fact(c, d, e[i], &v[i]);
        fc_diag_help(d, "with %u %s: %s[%s]", rank, rank == 1 ? "index" : "indices",
                     fc_c_quote(c, e[i]->outer),
                     rank == 1   ? "i"
                     : rank == 2 ? "i, j"
                                 : "i, j, ...");
        return false;
    }
    return true;
}

bool fc_c_no_elements(fc_checker *c, fc_call *f, const fc_expr *call) {
    for (const fc_expr *a = call->list; a; a = a->next) {
        if (!fc_v_element(fc_c_val(f, a))) continue;
        const char *name = fc_c_quote(c, call->callee->at);
        fc_diag *d =
            fc_c_error(c, FUSEC_SHAPE_MISMATCH, a->at, "%s() takes an array, and %s is one element",
                       name, fc_c_quote(c, a->at));
        if (fc_is_reduction(fc_op_by_name(name, strlen(name))))
            fc_diag_help(d, "over an index: %s[k](%s)", name, fc_c_quote(c, a->at));
        return false;
    }
    return true;
}

/* ---- indices ------------------------------------------------------------------------------------
 */

fc_node fc_c_index_node(fc_checker *c, const fc_value *v) {
    fc_graph *g = c->g;
    fc_node sum = FC_NONODE;
    for (uint32_t i = 0; i < v->count; i++) {
        const fc_index_term *t = &v->terms[i];
        fc_dim shape[FC_MAX_RANK];
        for (uint32_t k = 0; k <= t->axis; k++)
            shape[k] = k == t->axis ? t->size : fc_dim_const(&g->dims, 1);
        fc_node n = fc_build_reshape(g, fc_build_iota(g, t->size), t->axis + 1, shape);
        if (t->coef != 1)
            n = fc_build_op(g, FC_OP_mul, n, fc_build_const(g, FUSEC_I64, (uint64_t)t->coef),
                            FC_NONODE);
        if (!fc_c_fine(c)) return FC_NONODE;
        fc_node both[2] = {sum, n};
        if (i) {
            const fc_value element = {.kind = FC_V_NODE, .element = true};
            const fc_value v2[2] = {element, element};
            fc_c_line_up(c, 2, v2, both);
        }
        sum = i ? fc_build_op(g, FC_OP_add, both[0], both[1], FC_NONODE) : n;
    }
    int64_t zero;
    if (!fc_dim_is_const(&g->dims, v->dim, &zero) || zero)
        sum = fc_build_op(g, FC_OP_add, sum, fc_build_dim(g, v->dim), FC_NONODE);
    return fc_c_built(c, sum);
}

static bool add_term(fc_index_term *list, uint32_t *n, fc_index_term t, int64_t factor) {
    if (__builtin_mul_overflow(t.coef, factor, &t.coef)) return false;
    for (uint32_t i = 0; i < *n; i++) {
        if (list[i].axis != t.axis || list[i].size != t.size) continue;
        return !__builtin_add_overflow(list[i].coef, t.coef, &list[i].coef);
    }
    list[(*n)++] = t;
    return true;
}

fc_value fc_c_index_arith(fc_checker *c, fc_oper op, const fc_value *a, const fc_value *b) {
    fc_dimtab *t = &c->g->dims;
    int64_t fa = 1, fb = op == FC_OPER_SUB ? -1 : 1;
    fc_dim x, y;
    if (op == FC_OPER_MUL) {
        const fc_value *k = a->kind == FC_V_INT ? a : b, *of = k == a ? b : a;
        if (k->kind != FC_V_INT || k->i < -FC_MAX_STEP || k->i > FC_MAX_STEP) return FC_UNKNOWN;
        fa = (int64_t)k->i;
        a = of;
        b = NULL;
    } else if (op != FC_OPER_ADD && op != FC_OPER_SUB) {
        return FC_UNKNOWN;
    }
    if (a->kind == FC_V_NODE || (b && b->kind == FC_V_NODE)) return FC_UNKNOWN;
    const uint32_t most =
        (a->kind == FC_V_INDEX ? a->count : 0) + (b && b->kind == FC_V_INDEX ? b->count : 0);
    fc_index_term *list = fc_c_alloc(c, (most + 1) * sizeof *list);
    uint32_t n = 0, kept = 0;
    if (!list) return FC_UNKNOWN;
    x = a->dim;
    if (a->kind != FC_V_INDEX && !fc_c_size(c, a, &x)) return FC_UNKNOWN;
    x = fc_dim_mul(t, x, fc_dim_const(t, fa));
    if (b) {
        y = b->dim;
        if (b->kind != FC_V_INDEX && !fc_c_size(c, b, &y)) return FC_UNKNOWN;
        x = fb < 0 ? fc_dim_sub(t, x, y) : fc_dim_add(t, x, y);
    }
    bool good = x != FC_DIM_NONE;
    for (uint32_t i = 0; a->kind == FC_V_INDEX && i < a->count && good; i++)
        good = add_term(list, &n, a->terms[i], fa);
    for (uint32_t i = 0; b && b->kind == FC_V_INDEX && i < b->count && good; i++)
        good = add_term(list, &n, b->terms[i], fb);
    for (uint32_t i = 0; i < n; i++) {
        good &= list[i].coef <= FC_MAX_STEP && list[i].coef >= -FC_MAX_STEP;
        if (list[i].coef) list[kept++] = list[i];
    }
    if (!good) return FC_UNKNOWN;
    if (!kept) return fc_v_dim(c, x);
    return (fc_value){.kind = FC_V_INDEX, .count = kept, .dim = x, .terms = list};
}
