/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graph_verify_body.c - see graph_verify.c: nodes that have a body or are a step of their own, and
 * what belongs to them. */
#include "ir/fft.h"
#include "ir/fold.h"
#include "ir/loop.h"
#include "ir/repeat.h"
#include "passes/graph_verify.h"

/* ---- folds ----------------------------------------------------------------------------------- */

fc_reason fc_verify_record(const fc_graph *g, const fc_ninfo *n) {
    const fc_ninfo *first = fc_at(g, n->src[0]);
    if (n->nops == 3 && fc_at(g, n->src[2])->op != FC_OP_RECORD) return "a record goes on as none";
    return n->dtype != first->dtype || n->shape != first->shape ? "it is not as its first value"
                                                                : NULL;
}

fc_reason fc_verify_fold(const fc_graph *g, const fc_ninfo *n) {
    fc_node element[FC_MAX_RECORD], body[FC_MAX_RECORD];
    if (n->nops != 2 || fc_at(g, n->src[0])->op != FC_OP_RECORD ||
        fc_at(g, n->src[1])->op != FC_OP_RECORD)
        return "it has no records as operands";
    if (n->attr >= g->lists.len) return "it does not say what it is";
    const uint32_t len = fc_list_len(g, (fc_list)n->attr),
                   r = fc_list_len(g, fc_at(g, n->src[0])->shape);
    if (len <= FC_FOLD_FIXED || len > FC_FOLD_FIXED + FC_MAX_RECORD)
        return "it does not say what it is";
    const int64_t *v = fc_list_at(g, (fc_list)n->attr);
    if (v[0] < 0 || v[0] >= (int64_t)len - FC_FOLD_FIXED || v[1] < 0 || v[1] > FC_FOLD_EXCLUSIVE)
        return "it has no such result";
    const fc_fold_spec s = fc_fold_of(g, n);
    if (fc_record_nodes(g, n->src[0], FC_MAX_RECORD, element) != s.n ||
        fc_record_nodes(g, n->src[1], FC_MAX_RECORD, body) != s.n)
        return "its records have several lengths";
    if (!s.axes || (r < 64 && s.axes >> r)) return "it goes along axes it lacks";
    if (s.kind != FC_FOLD_REDUCE && (s.axes & (s.axes - 1))) return "it scans several axes";
    for (uint32_t k = 0; k < s.n; k++) {
        const fc_ninfo *x = fc_at(g, element[k]);
        if (x->dtype != fc_at(g, body[k])->dtype || fc_is_half((fusec_dtype)x->dtype))
            return "its body makes records of other dtypes";
        const unsigned bits = x->dtype == FUSEC_BOOL ? 1 : 8u * fc_dtypes[x->dtype].bytes;
        if (bits < 64 && s.start[k] >> bits) return "a start has bits its dtype lacks";
        if (fc_at(g, body[k])->shape) return "its body makes an array";
        if (x->op != FC_OP_CONST && x->shape != fc_at(g, element[0])->shape)
            return "its elements have several shapes";
    }
    if (n->dtype != fc_at(g, element[s.result])->dtype)
        return "its dtype is not that of its result";
    if (n->axis_kind != (s.kind == FC_FOLD_REDUCE ? (uint32_t)(s.axes >> (r - 1) & 1) : 0))
        return "it names the wrong tree";
    if (s.kind == FC_FOLD_REDUCE)
        return fc_verify_shape_left(g, n, fc_at(g, n->src[0])->shape, s.axes);
    return n->shape == fc_at(g, element[0])->shape ? NULL : "a scan changes the shape";
}

/* ---- loops of elements ------------------------------------------------------------------------
 */

fc_reason fc_verify_repeat(const fc_graph *g, const fc_ninfo *n) {
    enum { MOST = FC_MAX_REPEAT + FC_REPEAT_BOUNDS + 1 };
    fc_node v[MOST], body[MOST];
    const fc_repeat r = fc_repeat_of(n);
    if (n->nops != 2 || fc_at(g, n->src[0])->op != FC_OP_RECORD ||
        fc_at(g, n->src[1])->op != FC_OP_RECORD)
        return "it has no records as operands";
    const uint32_t nv = fc_record_nodes(g, n->src[0], MOST, v),
                   nb = fc_record_nodes(g, n->src[1], MOST, body);
    if (nv > FC_MAX_REPEAT + FC_REPEAT_BOUNDS || nv < FC_REPEAT_BOUNDS + r.carried || !r.carried ||
        nb != r.carried + r.condition)
        return "its records have other lengths";
    if (r.result >= r.carried) return "it has no such result";
    for (uint32_t i = 0; i < FC_REPEAT_BOUNDS; i++)
        if (fc_at(g, v[i])->dtype != FUSEC_I64 || fc_at(g, v[i])->shape)
            return "its rounds are not counted by scalars of i64";
    for (uint32_t i = FC_REPEAT_BOUNDS; i < nv; i++) {
        const fc_ninfo *x = fc_at(g, v[i]);
        if (x->shape && x->shape != n->shape) return "an operand has another shape";
    }
    if (r.condition && fc_at(g, body[0])->dtype != FUSEC_BOOL) return "its condition is no bool";
    for (uint32_t i = 0; i < nb; i++)
        if (fc_at(g, body[i])->shape) return "its body makes an array";
    for (uint32_t i = 0; i < r.carried; i++)
        if (fc_at(g, body[r.condition + i])->dtype != fc_at(g, v[FC_REPEAT_BOUNDS + i])->dtype)
            return "a carried value changes its type";
    return n->dtype == fc_at(g, v[FC_REPEAT_BOUNDS + r.result])->dtype ? NULL
                                                                       : "its type is another one";
}

/* ---- steps and bodies --------------------------------------------------------------------------
 */

fc_reason fc_verify_list(const fc_graph *g, const fc_ninfo *n) {
    if (n->nops > 2 || n->shape || n->attr) return "a list with more than a value and a rest";
    if (fc_is_part(fc_at(g, n->src[0])->op)) return "a list of what has no elements";
    return n->nops == 2 && fc_at(g, n->src[1])->op != FC_OP_LIST ? "the rest of a list is none"
                                                                 : NULL;
}

static bool same_type(const fc_graph *g, const fc_ninfo *a, const fc_ninfo *b) {
    const uint32_t rank = fc_list_len(g, a->shape);
    bool same = a->dtype == b->dtype && rank == fc_list_len(g, b->shape);
    for (uint32_t i = 0; same && i < rank; i++)
        same = fc_verify_may_be_equal(g, fc_list_at(g, a->shape)[i], fc_list_at(g, b->shape)[i]);
    return same;
}

fc_reason fc_verify_loop(const fc_graph *g, const fc_ninfo *n) {
    const fc_loop_shape l = fc_loop_of(n);
    fc_loop_view v;
    if (n->shape) return "a loop has a shape";
    if (!n->nops || fc_at(g, n->src[0])->op != FC_OP_LIST) return "its first operand is no list";
    if (fc_loop_is_planned(n)) return n->nops == 1 ? NULL : "a planned loop has a body";
    if (n->nops != 2 || fc_at(g, n->src[1])->op != FC_OP_LIST)
        return "its second operand is no list";
    if (!l.level || l.level > FC_MAX_LOOP_LEVEL || l.carried + l.collected > FC_MAX_LOOP_VALUES)
        return "it passes a limit";
    if (fc_value_list(g, n->src[0], NULL, 0) != 2 + l.carried ||
        fc_value_list(g, n->src[1], NULL, 0) != l.condition + l.carried + l.collected)
        return "it has the wrong number of values";
    fc_loop_look_at(g, n, &v);
    if (fc_at(g, v.first)->dtype != FUSEC_I64 || fc_at(g, v.end)->dtype != FUSEC_I64 ||
        fc_rank(g, v.first) || fc_rank(g, v.end))
        return "its rounds are not counted by scalars of i64";
    if (l.condition && (fc_at(g, v.condition)->dtype != FUSEC_BOOL || fc_rank(g, v.condition)))
        return "its condition is no scalar bool";
    for (uint32_t i = 0; i < l.carried; i++)
        if (!same_type(g, fc_at(g, v.start[i]), fc_at(g, v.next[i])))
            return "a carried value changes its type";
    return NULL;
}

/* What a SORT of a part of the order gives: see ops.h. */
static bool is_window(const fc_graph *g, const fc_ninfo *n, const fc_ninfo *key,
                      const fc_ninfo *first) {
    const uint32_t rank = fc_list_len(g, n->shape);
    int64_t count;
    if (first->dtype != FUSEC_I64 || first->shape || rank != fc_list_len(g, key->shape) ||
        memcmp(fc_list_at(g, n->shape), fc_list_at(g, key->shape), (rank - 1) * sizeof(int64_t)))
        return false;
    return (first->op == FC_OP_CONST && !first->attr) ||
           (fc_dim_is_const(&g->dims, (fc_dim)fc_list_at(g, n->shape)[rank - 1], &count) &&
            count <= FC_SORT_WINDOW);
}

fc_reason fc_verify_sort(const fc_graph *g, const fc_ninfo *n) {
    fc_node in[2] = {FC_NONODE, FC_NONODE};
    const bool part = n->shape != 0;
    if (n->nops != 1 || fc_at(g, n->src[0])->op != FC_OP_LIST ||
        fc_value_list(g, n->src[0], in, 2) != 1u + part)
        return "it does not sort one array";
    const fc_ninfo *key = fc_at(g, in[0]);
    if (part && !is_window(g, n, key, fc_at(g, in[1]))) return "its part of the order is none";
    if (!fc_is_int((fusec_dtype)key->dtype) || fc_is_signed((fusec_dtype)key->dtype) ||
        key->dtype == FUSEC_BOOL)
        return "its keys are no unsigned integers";
    return key->shape ? NULL : "it sorts a scalar";
}

fc_reason fc_verify_fft(const fc_graph *g, const fc_ninfo *n) {
    const fc_fft_kind kind = (fc_fft_kind)n->attr;
    if (n->nops != 1 || n->attr > FC_FFT_INVERSE_REAL) return "no transform looks like this";
    if (fc_at(g, n->src[0])->op != FC_OP_LIST || fc_value_list(g, n->src[0], NULL, 0) != 1)
        return "its operand is no list of one";
    const fc_ninfo *v = fc_at(g, fc_at(g, n->src[0])->src[0]);
    const fusec_dtype t = (fusec_dtype)v->dtype;
    if (kind == FC_FFT_REAL ? t != FUSEC_F32 && t != FUSEC_F64 : !fc_is_complex(t))
        return "it transforms numbers of another type";
    const uint32_t rank = fc_list_len(g, v->shape);
    if (!rank) return "it transforms along no axis";
    if (!fc_fft_is_real(kind)) return n->shape == v->shape ? NULL : "its shape is another one";
    if (fc_list_len(g, n->shape) != rank) return "its shape is another one";
    const int64_t *to = fc_list_at(g, n->shape), *from = fc_list_at(g, v->shape);
    return memcmp(to, from, (rank - 1) * sizeof *to) ? "its shape is another one" : NULL;
}

/* The dtype of what a transform gives. */
static fusec_dtype type_of_fft(const fc_ninfo *step, const fc_ninfo *x) {
    const fusec_dtype t = (fusec_dtype)x->dtype;
    return step->attr == FC_FFT_REAL           ? fc_complex_of(t)
           : step->attr == FC_FFT_INVERSE_REAL ? fc_part_dtype(t)
                                               : t;
}

fc_reason fc_verify_result(const fc_graph *g, const fc_ninfo *n) {
    if (n->nops != 1 || !fc_is_step(fc_at(g, n->src[0])->op)) return "it is the result of no step";
    const fc_ninfo *s = fc_at(g, n->src[0]);
    fc_loop_view v;
    if (s->op == FC_OP_FFT) {
        const fc_ninfo *x = fc_at(g, fc_at(g, s->src[0])->src[0]);
        return n->dtype == type_of_fft(s, x) && n->shape == s->shape && !n->attr
                   ? NULL
                   : "its type is another one";
    }
    if (s->op == FC_OP_SORT) {
        const fc_ninfo *key = fc_at(g, fc_at(g, s->src[0])->src[0]);
        if (n->attr >= FC_SORT_RESULTS) return "the step has fewer results";
        return n->dtype == (n->attr == FC_SORT_KEYS ? key->dtype : FUSEC_I64) &&
                       n->shape == (s->shape ? s->shape : key->shape)
                   ? NULL
                   : "an order of another type";
    }
    if (s->op != FC_OP_LOOP || fc_loop_is_planned(s)) return NULL;
    fc_loop_look(g, n->src[0], &v);
    if (n->attr >= v.loop.carried + v.loop.collected) return "the step has fewer results";
    if (n->attr < v.loop.carried)
        return same_type(g, n, fc_at(g, v.start[n->attr])) ? NULL : "its type is another one";
    const fc_ninfo *c = fc_at(g, v.collected[n->attr - v.loop.carried]);
    return n->dtype == c->dtype && fc_list_len(g, n->shape) == fc_list_len(g, c->shape) + 1
               ? NULL
               : "its type is another one";
}
