/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lazy_shape.c - dtype and shape of the result of an operation on values whose sizes are known.
 *
 * The short way computes with numbers. It knows no error: what it can't say is built in a graph of
 * its own, by the builders that know all rules and have all messages. */
#include "frontend/capi/lazy.h"

#include "ir/expand.h"

/* ---- the short way --------------------------------------------------------------------------- */

static bool elementwise_dtype(const fusec_context *c, int op, int n, fusec_lazy *const *src,
                              fusec_dtype *out) {
    const int first = fc_ops[op].rule == FC_RULE_SELECT;
    const fusec_dtype t = (fusec_dtype)src[first]->dtype;
    if (first && src[0]->dtype != FUSEC_BOOL) return false;
    for (int i = first + 1; i < n; i++)
        if (src[i]->dtype != t) return false;
    *out = t;
    switch (fc_ops[op].rule) {
    case FC_RULE_FLOAT: *out = fc_is_float(t) ? t : c->default_float; return true;
    case FC_RULE_SELECT: return true;
    case FC_RULE_ARITH:
    case FC_RULE_ANY:
        /* an integer to a negative power is an error */
        return t != FUSEC_BOOL && (op != FC_OP_pow || fc_is_float(t));
    case FC_RULE_COMPARE:
    case FC_RULE_TEST: *out = FUSEC_BOOL; return t != FUSEC_BOOL;
    case FC_RULE_LOGIC: return t == FUSEC_BOOL;
    case FC_RULE_BITS: return fc_is_int(t);
    default: return false;
    }
}

static inline bool same_shape(const fusec_lazy *a, const fusec_lazy *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->words[i] != b->words[i]) return false;
    return true;
}

static void take_shape(fc_lazy_type *t, uint32_t rank, const int64_t *shape) {
    t->rank = rank;
    for (uint32_t i = 0; i < rank; i++) t->shape[i] = shape[i];
}

/* Widens the type's shape by that of an operand, axes aligned from the right. */
static bool widen(fc_lazy_type *t, const fusec_lazy *v) {
    if (v->rank > t->rank) {
        const uint32_t more = v->rank - t->rank;
        memmove(t->shape + more, t->shape, t->rank * sizeof *t->shape);
        for (uint32_t i = 0; i < more; i++) t->shape[i] = 1;
        t->rank = v->rank;
    }
    for (uint32_t i = 0; i < v->rank; i++) {
        int64_t *at = &t->shape[t->rank - v->rank + i], n = v->words[i];
        if (*at == n || n == 1) continue;
        if (*at != 1) return false;
        *at = n;
    }
    return true;
}

static bool elementwise(const fusec_context *c, int op, int n, fusec_lazy *const *src,
                        fc_lazy_type *out) {
    if (!elementwise_dtype(c, op, n, src, &out->dtype)) return false;
    take_shape(out, src[0]->rank, src[0]->words);
    for (int i = 1; i < n; i++)
        if (!same_shape(src[0], src[i]) && !widen(out, src[i])) return false;
    return true;
}

static bool reduction(const fusec_context *c, int op, const fusec_attr *a, const fusec_lazy *x,
                      fc_lazy_type *out) {
    uint32_t mask = 0, rank = x->rank;
    if (rank == FC_MAX_RANK || (a->axes && (a->naxes < 0 || a->naxes > (int32_t)rank)))
        return false;
    for (int32_t i = 0; a->axes && i < a->naxes; i++) {
        const int64_t at = a->axes[i] < 0 ? a->axes[i] + rank : a->axes[i];
        if (at < 0 || at >= rank || (mask >> at & 1)) return false;
        mask |= 1u << at;
    }
    if (!a->axes) mask = (1u << rank) - 1;
    const bool any = fc_ops[op].flags & FC_F_EMPTY_IS_ERROR;
    fusec_dtype t = (fusec_dtype)x->dtype;
    switch (fc_ops[op].rule) {
    case FC_RULE_BOOL: t = FUSEC_BOOL; break;
    case FC_RULE_MEAN: t = fc_is_float(t) ? t : c->default_float; break;
    case FC_RULE_SUM:
    case FC_RULE_KEEP:
    case FC_RULE_INDEX: break;
    default: return false;
    }
    out->dtype = fc_red_dtype((fc_op)op, t);
    out->rank = 0;
    for (uint32_t i = 0; i < rank; i++) {
        const bool reduced = mask >> i & 1;
        if (reduced && any && x->words[i] == 0) return false;
        if (!reduced || a->keepdims) out->shape[out->rank++] = reduced ? 1 : x->words[i];
    }
    return true;
}

static bool shape_ok(const fusec_attr *a) {
    if (a->rank < 0 || a->rank > FC_MAX_RANK || (a->rank && !a->shape)) return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->shape[i] < 0) return false;
    return true;
}

static bool broadcast(const fusec_attr *a, const fusec_lazy *x, fc_lazy_type *out) {
    if (!shape_ok(a) || a->rank < x->rank) return false;
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->words[i] != 1 && x->words[i] != a->shape[(uint32_t)a->rank - x->rank + i])
            return false;
    take_shape(out, (uint32_t)a->rank, a->shape);
    return true;
}

static bool reshape(const fusec_attr *a, const fusec_lazy *x, fc_lazy_type *out) {
    int64_t have = 1, want = 1;
    if (!shape_ok(a)) return false;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!fc_mul_ok(have, x->words[i], &have)) return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (!fc_mul_ok(want, a->shape[i], &want)) return false;
    take_shape(out, (uint32_t)a->rank, a->shape);
    return have == want && have;
}

static bool slice(const fusec_attr *a, const fusec_lazy *x, fc_lazy_type *out) {
    if (!shape_ok(a) || a->rank != x->rank || (a->rank && !a->start)) return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        const int64_t n = a->shape[i], step = a->step ? a->step[i] : 1, start = a->start[i];
        int64_t last;
        if (n == 0 || start < 0 || start >= x->words[i] || step > FC_MAX_STEP ||
            step < -FC_MAX_STEP || step == 0)
            return false;
        if (!fc_mul_ok(step, n - 1, &last) || !fc_add_ok(last, start, &last)) return false;
        if (last < 0 || last >= x->words[i]) return false;
    }
    take_shape(out, x->rank, a->shape);
    return true;
}

static bool permute(const fusec_attr *a, const fusec_lazy *x, fc_lazy_type *out) {
    uint32_t seen = 0;
    if (a->axes && a->naxes != x->rank) return false;
    out->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t at = !a->axes ? x->rank - 1 - i : a->axes[i];
        if (at < 0) at += x->rank;
        if (at < 0 || at >= x->rank || (seen >> at & 1)) return false;
        seen |= 1u << at;
        out->shape[i] = x->words[at];
    }
    return true;
}

bool fc_lazy_infer_short(fusec_context *c, int op, const fusec_attr *a, int n,
                         fusec_lazy *const *src, fc_lazy_type *out) {
    bool complex = op == FC_OP_CAST && a->dtype < FC_DTYPE_ALL && fc_is_complex(a->dtype);
    for (int i = 0; i < n; i++) complex |= fc_is_complex((fusec_dtype)src[i]->dtype);
    if (complex && !fc_is_view(op)) return false; /* the builders know */
    if (fc_is_elementwise(op)) return elementwise(c, op, n, src, out);
    if (n != 1) return false;
    const fusec_lazy *x = src[0];
    if (fc_is_reduction(op)) return reduction(c, op, a, x, out);
    out->dtype = (fusec_dtype)x->dtype;
    switch (op) {
    case FC_OP_CAST:
        out->dtype = (fusec_dtype)a->dtype;
        take_shape(out, x->rank, x->words);
        return a->dtype < FC_DTYPE_ALL;
    case FC_OP_BROADCAST: return broadcast(a, x, out);
    case FC_OP_RESHAPE: return reshape(a, x, out);
    case FC_OP_PERMUTE: return permute(a, x, out);
    case FC_OP_SLICE: return slice(a, x, out);
    default: return false;
    }
}

/* ---- the long way ---------------------------------------------------------------------------- */

static fc_node operand(fusec_graph *g, const fusec_lazy *v) {
    fc_dim dims[FC_MAX_RANK];
    if (v->op == FC_OP_CONST) return fc_lazy_number(g, v);
    for (uint32_t i = 0; i < v->rank; i++)
        if ((dims[i] = fc_extent_of(g, v->words[i])) == FC_DIM_NONE) return FC_NONODE;
    return fc_build_input(&g->ir, "array", (fusec_dtype)v->dtype, v->rank, dims);
}

static fusec_status ask(fusec_graph *g, int op, const fusec_attr *a, int n, fusec_lazy *const *src,
                        fc_lazy_type *out, fc_error *e) {
    fc_node few[3], *in = few;
    if (n > 3 && !(in = fc_malloc(g->ir.alloc, (size_t)n * sizeof *in))) return fc_oom(e);
    for (int i = 0; i < n; i++) in[i] = operand(g, src[i]);
    const fc_node made = fc_lazy_build(g, op, a, n, in);
    if (in != few) fc_free(g->ir.alloc, in);
    fc_test_conditions(g);
    if (g->ir.error.code) return *e = g->ir.error, e->code;
    if (made == FC_NONODE) return fc_oom(e);
    out->dtype = (fusec_dtype)fc_at(&g->ir, made)->dtype;
    out->rank = fc_rank(&g->ir, made);
    return fc_known_shape(g, made, out->shape, NULL, e);
}

/* Apart, as the text of an error is longer than all that the short way writes. */
static fusec_status infer_long(fusec_context *c, int op, const fusec_attr *a, int n,
                               fusec_lazy *const *src, fc_lazy_type *out) {
    fc_error e = {0};
    fusec_graph *g = fc_lazy_take_graph(c);
    if (!g) return FUSEC_OUT_OF_MEMORY;
    const fusec_status s = ask(g, op, a, n, src, out, &e);
    fc_lazy_give_graph(c, g);
    return s ? fc_report(&e) : FUSEC_OK;
}

fusec_status fc_lazy_infer(fusec_context *c, int op, const fusec_attr *a, int n,
                           fusec_lazy *const *src, fc_lazy_type *out) {
    return fc_lazy_infer_short(c, op, a, n, src, out) ? FUSEC_OK
                                                      : infer_long(c, op, a, n, src, out);
}
