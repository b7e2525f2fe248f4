/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_rules.c - what rules of derivatives are made of, and those of rows of ops.def, which are
 * texts there.
 *
 * In: a node, one of its operands, and what arrives (the cotangent of the node, or the tangent of
 * the operand). Out: the share that goes through the operand, as new nodes of the same graph. */
#include "passes/gradient_impl.h"

#include "ir/code.h"
#include "ir/complex.h"
#include "ir/composites.h"
#include "passes/match.h"

/* ---- what the rules are made of -------------------------------------------------------------- */

bool fc_g_is_const(const fc_graph *g, fc_node n) {
    return n < g->nodes.len && fc_at(g, n)->op == FC_OP_CONST;
}

static bool is_number(const fc_graph *g, fc_node n, double v) {
    return fc_g_is_const(g, n) &&
           fc_const_is((fusec_dtype)fc_at(g, n)->dtype, fc_at(g, n)->attr, v);
}

fc_node fc_g_op(fc_grad_ctx *c, fc_op op, fc_node a, fc_node b) {
    if (op == FC_OP_mul && is_number(c->g, a, 1)) return b;
    if ((op == FC_OP_mul || op == FC_OP_div) && is_number(c->g, b, 1)) return a;
    return fc_op2(c->g, op, a, b);
}

fc_node fc_g_guard(fc_grad_ctx *c, fc_node a, fc_node v) {
    fc_graph *g = c->g;
    if (v == FC_NONODE || (fc_g_is_const(g, a) && !is_number(g, a, 0))) return v;
    const fusec_dtype t = (fusec_dtype)fc_at(g, a)->dtype;
    const fc_node none = fc_build_number(g, t, 0);
    return fc_where(g, fc_op2(g, FC_OP_eq, a, none), none, v);
}

/* The leading axes and these; false: too many. */
static bool behind_lead(fc_grad_ctx *c, uint32_t rank, const fc_dim *shape, fc_dim *out) {
    if (c->nlead + rank > FC_MAX_RANK) {
        fc_fail(&c->g->error, FUSEC_LIMIT, "a jacobian of rank %u; the limit is %u",
                c->nlead + rank, (unsigned)FC_MAX_RANK);
        return false;
    }
    memcpy(out, c->lead, c->nlead * sizeof *out);
    if (rank) memcpy(out + c->nlead, shape, rank * sizeof *out);
    return true;
}

fc_node fc_g_spread(fc_grad_ctx *c, fc_node v, uint32_t rank, const fc_dim *shape) {
    fc_dim all[FC_MAX_RANK];
    if (v == FC_NONODE || !behind_lead(c, rank, shape, all)) return FC_NONODE;
    return fc_build_broadcast(c->g, v, c->nlead + rank, all);
}

fc_node fc_g_reshape(fc_grad_ctx *c, fc_node v, uint32_t rank, const fc_dim *shape) {
    fc_dim all[FC_MAX_RANK];
    if (v == FC_NONODE || fc_g_is_const(c->g, v)) return v;
    if (!behind_lead(c, rank, shape, all)) return FC_NONODE;
    return fc_build_reshape(c->g, v, c->nlead + rank, all);
}

fc_node fc_g_spread_as(fc_grad_ctx *c, fc_node v, fc_node like) {
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = fc_shape_of(c->g, like, shape);
    return fc_g_spread(c, v, rank, shape);
}

fc_node fc_g_reshape_as(fc_grad_ctx *c, fc_node v, fc_node like) {
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = fc_shape_of(c->g, like, shape);
    return fc_g_reshape(c, v, rank, shape);
}

void fc_g_fail(fc_grad_ctx *c, fc_node n, const char *why) {
    if (c->g->error.code) return;
    const fc_ninfo *i = fc_at(c->g, n);
    const int op = i->op == FC_OP_RESULT ? fc_at(c->g, i->src[0])->op : i->op;
    if (i->op == FC_OP_LOOP) { /* gives several values */
        fc_fail(&c->g->error, FUSEC_NO_GRADIENT,
                "the loop has no derivative: %s; stop_grad() of its result is taken as a constant",
                why);
        return;
    }
    fc_str t;
    fc_str_init(&t, c->g->alloc);
    fc_type_print(c->g, n, &t);
    if (t.oom) fc_oom(&c->g->error);
    fc_fail(&c->g->error, FUSEC_NO_GRADIENT,
            "%s, which gives %s, has no derivative: %s; stop_grad() of it is taken as a constant",
            op == FC_OP_FOLD ? "reduce() or scan() by a definition" : fc_ops[op].name, t.data, why);
    fc_str_free(&t);
}

fc_node fc_g_zero(fc_graph *g, fc_node n) {
    const fusec_dtype t = (fusec_dtype)fc_at(g, n)->dtype;
    if (!fc_is_complex(t)) return fc_build_number(g, t, 0);
    const fc_node part = fc_build_number(g, fc_part_dtype(t), 0);
    return fc_build_pair(g, part, part);
}

/* ---- rows: the texts of GRAD ----------------------------------------------------------------- */

typedef struct row_rule {
    fc_grad_ctx *c;
    const fc_pterm *terms;
    fc_node at[FC_P_SLOTS]; /* what the letters stand for */
} row_rule;

/* Recursion over a text of ops.def. */
static fc_node build_term(row_rule *r, unsigned i, fusec_dtype t) {
    fc_graph *g = r->c->g;
    const fc_pterm *p = &r->terms[i];
    uint64_t bits;
    if (p->kind == FC_P_VALUE) return r->at[p->slot];
    if (p->kind != FC_P_OP)
        return fc_pterm_bits(p, t, &bits) ? fc_build_const(g, t, bits) : FC_NONODE;
    const fusec_dtype inner =
        p->slot == FC_P_NOSLOT ? t : (fusec_dtype)fc_at(g, r->at[p->slot])->dtype;
    fc_node kid[3] = {FC_NONODE, FC_NONODE, FC_NONODE};
    for (unsigned k = 0; k < p->nkids; k++) {
        kid[k] = build_term(r, p->kid[k], p->op == FC_OP_where && k == 0 ? FUSEC_BOOL : inner);
        if (kid[k] == FC_NONODE) return FC_NONODE;
    }
    if (p->op == FC_OP_CAST) return fc_build_cast(g, kid[0], t);
    if (p->nkids == 2) return fc_g_op(r->c, (fc_op)p->op, kid[0], kid[1]);
    return fc_build_op(g, (fc_op)p->op, kid[0], kid[1], kid[2]);
}

/* psi(x) is more than a row. */
static fc_node gamma_share(fc_grad_ctx *c, fc_node n, fc_node arrives, bool guard) {
    const fc_ninfo i = *fc_at(c->g, n);
    fc_node psi;
    fc_build_digamma(c->g, i.src, &psi);
    if (i.op == FC_OP_tgamma) psi = fc_g_op(c, FC_OP_mul, psi, n);
    const fc_node v = fc_g_op(c, FC_OP_mul, arrives, psi);
    return guard ? fc_g_guard(c, arrives, v) : v;
}

fc_node fc_g_row_share(fc_grad_ctx *c, fc_node n, unsigned k, fc_node arrives, bool guard,
                       bool *chooses) {
    fc_graph *g = c->g;
    const fc_ninfo i = *fc_at(g, n);
    const fc_formula *f;
    if (i.flags & FC_NODE_RAGGED) {
        fc_g_fail(c, n, "it is an element of rows whose lengths are data");
        return FC_NONODE;
    }
    if (fc_gradient_formula(i.op, k, &f, &g->error)) return FC_NONODE;
    if (i.op == FC_OP_lgamma || i.op == FC_OP_tgamma) return gamma_share(c, n, arrives, guard);
    if (!f->terms) {
        fc_g_fail(c, n, "there is no operation to write it with");
        return FC_NONODE;
    }
    if (f->zero) return FC_NONODE;
    *chooses |= f->chooses;
    row_rule r = {.c = c, .terms = f->terms};
    memset(r.at, 0xff, sizeof r.at); /* FC_NONODE */
    memcpy(r.at, i.src, sizeof i.src);
    r.at[FC_P_RESULT] = n;
    r.at[FC_P_ARRIVES] = arrives;
    const fc_node v = build_term(&r, 0, (fusec_dtype)i.dtype);
    return guard && !f->safe ? fc_g_guard(c, arrives, v) : v;
}
