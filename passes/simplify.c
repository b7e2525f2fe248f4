/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* simplify.c - makes a graph smaller without changing what it computes.
 *
 * In: any graph. Out: the same values, with the rules of rules.def applied wherever they fit,
 * chains of casts composed, constants folded, and no dead nodes. Every node is simplified while it
 * is built, on operands that are in their final form already, so one walk reaches the fixpoint:
 * simplifying twice changes nothing. A result keeps the dtype and the shape of what it replaces.
 *
 * Elementwise operands that are a broadcast constant become the constant itself (ir/graph.h allows
 * it), and an operation on nothing but such scalars is computed once and broadcast. */
#include "passes/match.h"
#include "passes/plan.h"
#include "passes/rewrite.h"

#include "ir/code.h"
#include "ir/plant.h"

/* Rules applied for one node of the user, results of results included. Only a pair of rules that
 * lead into each other could come near it. */
enum { FUEL = 64 };

typedef struct simplifier {
    fc_graph *g;
    const fc_ruleset *rules;
    uint32_t mode;
    int fuel;
} simplifier;

static fc_node make(simplifier *s, fc_ninfo n);

/* A value in the shape that is wanted: a scalar is broadcast. */
static fc_node fit(fc_graph *g, fc_node v, fc_list shape) {
    if (v == FC_NONODE || fc_at(g, v)->shape == shape) return v;
    fc_ninfo b = {
        .op = FC_OP_BROADCAST, .dtype = fc_at(g, v)->dtype, .nops = 1, .shape = shape, .src = {v}};
    return fc_graph_node(g, b);
}

/* Puts scalars in place of their broadcasts; true when nothing but scalars is left. */
static bool strip_broadcasts(const fc_graph *g, fc_ninfo *n) {
    bool all = true;
    for (int k = 0; k < n->nops; k++) {
        const fc_ninfo *v = fc_at(g, n->src[k]);
        if (v->op == FC_OP_BROADCAST && fc_is_scalar_leaf(g, v->src[0])) n->src[k] = v->src[0];
        all &= fc_is_scalar_leaf(g, n->src[k]);
    }
    return all;
}

/* ---- casts ----------------------------------------------------------------------------------- */

static int precision(fusec_dtype t) {
    switch (t) {
    case FUSEC_F16: return 11;
    case FUSEC_BF16: return 8;
    case FUSEC_F32: return 24;
    default: return 53;
    }
}

/* Whether every value of `a` is one of `b`, sign of zero included. */
static bool holds_all(fusec_dtype b, fusec_dtype a) {
    if (a == b || a == FUSEC_BOOL) return true;
    if (b == FUSEC_BOOL) return false;
    int bits = fc_dtypes[a].bits - fc_is_signed(a);
    if (fc_is_float(a))
        return fc_is_float(b) && (a == FUSEC_F32 || fc_is_half(a)) && b > a && !fc_is_half(b);
    if (fc_is_float(b)) return bits <= precision(b);
    if (fc_is_signed(a) && !fc_is_signed(b)) return false;
    return bits <= fc_dtypes[b].bits - fc_is_signed(b);
}

/* Whether a -> b -> c is a -> c. Casts are defined by the value, so a lossless first step can go,
 * except that an integer seen as a float saturates where the integer itself would wrap. Integers
 * modulo 2^n can go through any integer that is not narrower than the result. */
static bool cast_composes(fusec_dtype a, fusec_dtype b, fusec_dtype c) {
    if (fc_is_int(a) && fc_is_int(b) && fc_is_int(c) && fc_dtypes[c].bits <= fc_dtypes[b].bits)
        return true;
    if (!holds_all(b, a)) return false;
    return !(fc_is_int(a) && fc_is_float(b) && fc_is_int(c)) || holds_all(c, a);
}

/* Drops the conversions under n that make no difference. */
static void shorten_chain(const fc_graph *g, fc_ninfo *n) {
    for (;;) {
        const fc_ninfo *v = fc_at(g, n->src[0]);
        if (v->op != n->op) return;
        fusec_dtype from = (fusec_dtype)fc_at(g, v->src[0])->dtype;
        if (n->op == FC_OP_CAST &&
            !cast_composes(from, (fusec_dtype)v->dtype, (fusec_dtype)n->dtype))
            return;
        n->src[0] = v->src[0];
    }
}

/* ---- results of rules ------------------------------------------------------------------------ */

static fc_node build(simplifier *s, const fc_compiled *c, unsigned i, const fc_match *m,
                     fusec_dtype t, fc_list shape);

/* An operation of a result with its operands built. Scalars stay scalars; they are broadcast where
 * they meet values of the root's shape. */
static bool build_info(simplifier *s, const fc_compiled *c, unsigned i, const fc_match *m,
                       fusec_dtype t, fc_list shape, fc_ninfo *n) {
    const fc_pterm *p = &c->result[i];
    bool scalar = true;
    fusec_dtype inner =
        p->slot == FC_P_NOSLOT ? t : (fusec_dtype)fc_at(s->g, m->at[p->slot])->dtype;
    *n = (fc_ninfo){.op = p->op, .nops = p->nkids, .dtype = (uint8_t)t};
    for (unsigned k = 0; k < p->nkids; k++) {
        n->src[k] =
            build(s, c, p->kid[k], m, p->op == FC_OP_where && k == 0 ? FUSEC_BOOL : inner, shape);
        if (n->src[k] == FC_NONODE) return false;
        scalar &= fc_at(s->g, n->src[k])->shape == 0;
    }
    n->shape = scalar ? 0 : shape;
    if (p->op != FC_OP_CAST && p->slot != FC_P_NOSLOT) n->dtype = FUSEC_BOOL;
    for (unsigned k = 0; k < p->nkids; k++)
        if (!fc_is_scalar_leaf(s->g, n->src[k])) n->src[k] = fit(s->g, n->src[k], n->shape);
    return !s->g->error.code;
}

static fc_node build(simplifier *s, const fc_compiled *c, unsigned i, const fc_match *m,
                     fusec_dtype t, fc_list shape) {
    const fc_pterm *p = &c->result[i];
    uint64_t bits;
    fc_ninfo n;
    switch (p->kind) {
    case FC_P_VALUE: return m->at[p->slot];
    case FC_P_ANY_CONST:
        if (p->what != FC_P_LOG2) return m->at[p->slot];
        return fc_build_const(s->g, t, fc_log2_bits(fc_at(s->g, m->at[p->slot])->attr));
    case FC_P_CONST:
        if (fc_pterm_bits(p, t, &bits)) return fc_build_const(s->g, t, bits);
        fc_fail(&s->g->error, FUSEC_INTERNAL, "the rule %s has a constant that %s lacks",
                c->rule->pattern, fc_dtypes[t].name);
        return FC_NONODE;
    default: return build_info(s, c, i, m, t, shape, &n) ? make(s, n) : FC_NONODE;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The simplest node that computes n. */
static fc_node make(simplifier *s, fc_ninfo n) {
    fc_match m;
    const fc_compiled *c;
    fc_list shape = n.shape;
    const fusec_dtype t = (fusec_dtype)n.dtype;
    for (;;) {
        if (strip_broadcasts(s->g, &n)) n.shape = 0;
        if (n.op == FC_OP_CAST || n.op == FC_OP_BITCAST) {
            shorten_chain(s->g, &n);
            if (fc_at(s->g, n.src[0])->dtype == t) return fit(s->g, n.src[0], shape);
        }
        if (s->fuel <= 0 || n.flags & FC_NODE_RAGGED ||
            !(c = fc_rules_match(s->rules, s->g, &n, &m)))
            break;
        s->fuel--;
        if (c->result[0].kind != FC_P_OP) return fit(s->g, build(s, c, 0, &m, t, n.shape), shape);
        if (!build_info(s, c, 0, &m, t, n.shape, &n)) return FC_NONODE;
        if (n.dtype != t) {
            fc_fail(&s->g->error, FUSEC_INTERNAL, "the rule %s changes the dtype",
                    c->rule->pattern);
            return FC_NONODE;
        }
    }
    return fit(s->g, fc_graph_node(s->g, n), shape);
}

/* Both parts of one array, in their places: the array. */
static bool is_whole(const fc_graph *g, const fc_ninfo *pair) {
    const fc_ninfo *re = fc_at(g, pair->src[0]), *im = fc_at(g, pair->src[1]);
    return re->op == FC_OP_PART && im->op == FC_OP_PART && re->src[0] == im->src[0] && !re->attr &&
           im->attr;
}

static fc_node simplified(const fc_graph *src, fc_graph *dst, fc_node id, const fc_node *map,
                          void *user) {
    simplifier *s = user;
    fc_ninfo n = fc_rewrite_info(src, id, map);
    s->g = dst;
    s->fuel = FUEL;
    if (fc_is_pointwise(n.op)) return make(s, n);
    if (n.op == FC_OP_PAIR && is_whole(s->g, &n)) return fc_at(s->g, n.src[0])->src[0];
    if (n.op == FC_OP_sum) return fc_sum_as_dot(dst, n, s->mode);
    /* a view of a broadcast constant is one too */
    return fc_is_view(n.op) ? fc_rewrite_view(s->g, n) : FC_NONODE;
}

fusec_status fc_simplify_with(const fc_graph *src, const fc_ruleset *rules, fc_graph *dst,
                              fc_error *e) {
    return fc_rewrite_each(src, dst, simplified, &(simplifier){.rules = rules}, e);
}

/* Applies the rules of rules.def that hold in every mode or that o->mode licenses, and composes
 * casts, until none applies; a sum of a product that is a contraction becomes one. */
fusec_status fc_pass_simplify(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                              fc_error *e) {
    fc_ruleset rules;
    const uint32_t mode = o->mode | FC_PLANT(mode_contract, FC_MODE_CONTRACT, 0) |
                          FC_PLANT(mode_nnan, FC_MODE_NNAN, 0) | FC_PLANT(mode_nsz, FC_MODE_NSZ, 0);
    FC_TRY(fc_rules_own(mode, &rules, e));
    return fc_rewrite_each(src, dst, simplified, &(simplifier){.rules = &rules, .mode = mode}, e);
}
