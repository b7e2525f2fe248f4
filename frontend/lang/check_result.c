/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_result.c - what a definition returns against what it promises. */
#include "frontend/lang/check_impl.h"

/* The operands of an expression, for facts; at most `most`. */
static uint32_t operands(const fc_expr *e, const fc_expr **out, uint32_t most) {
    uint32_t n = 0;
    const fc_expr *list = NULL;
    switch ((fc_expr_kind)e->kind) {
    case FC_EX_NAME: out[n++] = e; break;
    case FC_EX_BINARY: out[n++] = e->a, out[n++] = e->b; break;
    case FC_EX_COND: out[n++] = e->b, out[n++] = e->c; break;
    case FC_EX_UNARY:
    case FC_EX_SUBSCRIPT:
    case FC_EX_MEMBER: out[n++] = e->a; break;
    case FC_EX_CALL:
    case FC_EX_COMPARE: list = e->list; break;
    default: break;
    }
    for (; list && n < most; list = list->next)
        if (!list->label) out[n++] = list;
    return n;
}

/* The node that made a value wider than it was: a cast that was written, or FC_NONODE. */
static fc_node widened(const fc_checker *c, fc_node n) {
    const fc_graph *g = c->g;
    uint8_t wide = fc_at(g, n)->dtype;
    for (;;) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op == FC_OP_CAST && fc_at(g, i->src[0])->dtype != wide) return n;
        fc_node next = FC_NONODE;
        for (int k = 0; k < i->nops; k++) {
            const fc_ninfo *s = fc_at(g, i->src[k]);
            if (s->dtype != wide || s->op == FC_OP_CONST) continue;
            bool implied = s->op == FC_OP_CAST && i->src[k] < c->places.len && n < c->places.len &&
                           c->places.at[i->src[k]].at.begin == c->places.at[n].at.begin;
            if (next == FC_NONODE || !implied) next = i->src[k];
        }
        if (next == FC_NONODE) return FC_NONODE;
        n = next;
    }
}

static void result_facts(fc_checker *c, fc_call *f, fc_diag *d, const fc_expr *e,
                         const fusec_dtype *wrong, bool *cast) {
    const fc_expr *parts[8];
    *cast = false;
    if (e != f->done || !d) return;
    f->root = e;
    uint32_t n = operands(e, parts, FC_COUNT(parts));
    for (uint32_t i = 0; i < n; i++) {
        const fc_value *v = fc_c_val(f, parts[i]);
        if (v->kind != FC_V_NODE || v->weak) continue;
        fc_node from = wrong && fc_v_dtype(c, v) == *wrong ? widened(c, v->node) : FC_NONODE;
        if (!wrong) {
            fc_c_fact(c, d, parts[i], v);
        } else if (from != FC_NONODE && from < c->places.len) {
            fc_place p = c->places.at[from];
            fc_pos pos = fc_source_pos(p.ast->src, p.at.begin);
            *cast = true;
            fc_diag_fact(d, fc_c_quote(c, parts[i]->at), fc_c_value_type(c, v),
                         fc_c_text(c, "becomes %s at %s:%u:%u, in %s", fc_dtypes[*wrong].name,
                                   p.ast->src->name, pos.line, pos.col,
                                   fc_c_quote_in(c, p.ast, p.at)));
        } else {
            fc_diag_fact(d, fc_c_quote(c, parts[i]->at), fc_c_value_type(c, v), NULL);
        }
    }
    f->root = NULL;
}

static const char *parenthesised(fc_checker *c, const fc_expr *e) {
    bool simple = e->kind == FC_EX_NAME || e->kind == FC_EX_CALL || e->kind == FC_EX_SUBSCRIPT ||
                  e->kind == FC_EX_MEMBER;
    return simple ? fc_c_quote(c, e->at) : fc_c_text(c, "(%s)", fc_c_quote(c, e->at));
}

static bool wrong_shape(fc_checker *c, fc_call *f, const fc_expr *e, const fc_value *v,
                        const char *promised, uint32_t rank, const fc_dim *shape) {
    bool cast;
    fc_dim have[FC_MAX_RANK];
    uint32_t n = fc_v_shape(c, v, have);
    const char *is = fc_v_weak(v) ? "a number" : fc_c_value_type(c, v);
    fc_diag *d = fc_c_error(c, FUSEC_RESULT_SHAPE, e->outer, "%s() promises %s, but this is %s",
                            f->def->name.text, promised, is);
    result_facts(c, f, d, e, NULL, &cast);
    if (n == 2 && rank == 2 && have[0] == shape[1] && have[1] == shape[0]) {
        fc_dim swapped[2] = {have[1], have[0]};
        fc_diag_help(d, "%s.T is %s", parenthesised(c, e),
                     fc_c_type_text(c, fc_v_dtype(c, v), 2, swapped));
    }
    return false;
}

static bool wrong_dtype(fc_checker *c, fc_call *f, const fc_expr *e, const fc_value *v,
                        const char *promised, fusec_dtype want) {
    bool cast;
    fusec_dtype have = fc_v_dtype(c, v);
    fc_diag *d = fc_c_error(c, FUSEC_RESULT_DTYPE, e->outer, "%s() promises %s, but this is %s",
                            f->def->name.text, promised, fc_c_value_type(c, v));
    result_facts(c, f, d, e, &have, &cast);
    const char *text = fc_c_quote(c, e->at), *to = fc_dtypes[want].name;
    if (cast)
        fc_diag_help(d, "narrowing is never silent. Drop the %s( ) there, or write %s(%s) here",
                     fc_dtypes[have].name, to, text);
    else
        fc_diag_help(d, "nothing converts by itself: write %s(%s) here", to, text);
    return false;
}

static bool check_result(fc_checker *c, fc_call *f, const fc_type *t, const fc_expr *e,
                         fc_value *v) {
    fusec_dtype want;
    fc_dim shape[FC_MAX_RANK], have[FC_MAX_RANK];
    uint32_t rank;
    if (v->kind == FC_V_UNKNOWN || !fc_c_operand(c, e, v)) return false;
    if (!fc_c_declared_dtype(f, t, &want) || !fc_c_declared_shape(c, f, t, &rank, shape))
        return false;
    const char *promised = fc_c_type_text(c, want, rank, shape);
    bool same = fc_v_rank(c, v) == rank;
    fc_v_shape(c, v, have);
    for (uint32_t i = 0; i < rank && same; i++) same = fc_c_same_dim(c, have[i], shape[i]) != 0;
    if (!same) return wrong_shape(c, f, e, v, promised, rank, shape);
    fc_weakness w = fc_v_weakness(v);
    bool converts = w == FC_W_BOOL || (w == FC_W_INT && want != FUSEC_BOOL) ||
                    (w == FC_W_FLOAT && fc_is_float(want));
    if (w ? !converts : fc_v_dtype(c, v) != want) return wrong_dtype(c, f, e, v, promised, want);
    for (uint32_t i = 0; i < rank; i++)
        if (fc_c_same_dim(c, have[i], shape[i]) < 0)
            fc_require(c->g, FC_CHECK_EQ, have[i], shape[i], FUSEC_INPUT_SHAPE,
                       fc_c_text(c, "%s() promises %s", f->def->name.text, promised));
    c->cur = e;
    if (!fc_c_fine(c)) return false;
    if (w) *v = fc_v_like(fc_c_node(c, e, v, want), v);
    return v->kind != FC_V_UNKNOWN;
}

void fc_c_check_results(fc_checker *c, fc_call *f) {
    const fc_result *r = f->def->results;
    size_t n = f->results.len;
    if (!r) return;
    if (n != f->def->result_count && !(n == 1 && f->results.at[0].kind == FC_V_UNKNOWN)) {
        fc_c_error(c, FUSEC_ARGUMENT_COUNT, f->result_exprs.at[0]->outer,
                   "%s() promises %u result%s, but this gives %zu", f->def->name.text,
                   f->def->result_count, f->def->result_count == 1 ? "" : "s", n);
        for (size_t i = 0; i < n; i++) f->results.at[i] = FC_UNKNOWN;
    }
    for (size_t i = 0; i < n && r; i++, r = r->next)
        if (!check_result(c, f, r->type, f->result_exprs.at[i], &f->results.at[i]))
            f->results.at[i] = FC_UNKNOWN;
    for (; f->results.len < f->def->result_count && !c->stop;) /* callers take as many */
        if (!fc_push(c->alloc, &f->results, FC_UNKNOWN) ||
            !fc_push(c->alloc, &f->result_exprs, f->result_exprs.at[0]))
            fc_c_oom(c);
    if (f->results.len > f->def->result_count) f->results.len = f->def->result_count;
}
