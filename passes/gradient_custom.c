/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_custom.c - values with a derivative of their own (fc_build_custom).
 *
 * The rule was built together with the value, for cotangents that were not known yet: each is
 * stood for by a seed. In: what arrives at the results. Out: the nodes of the rule again, with that
 * in place of the seeds. A rule is linear in its seeds, so forward mode is the rule transposed,
 * which is its derivative by them. */
#include "passes/gradient_impl.h"

#include "ir/substitute.h"

fc_node fc_g_custom_first(const fc_graph *g, const fc_custom *r) {
    fc_node first = FC_NONODE;
    for (uint32_t i = 0; i < r->nresults; i++)
        if (fc_at(g, r->result[i])->op == FC_OP_CAST && r->result[i] < first) first = r->result[i];
    return first;
}

/* The shares of the arguments for these cotangents of the results. */
void fc_g_custom_reverse(fc_grad_ctx *c, fc_node n, const fc_custom *r, const fc_node *arrives,
                         fc_node *share) {
    const fc_substitution s = {
        .n = r->nresults, .nroots = r->nargs, .from = r->seed, .to = arrives, .root = r->dx};
    for (uint32_t i = 0; i < r->nargs; i++) share[i] = FC_NONODE;
    if (c->nlead)
        fc_g_fail(c, n, "jacobian() does not go through a rule of its own; take vjp()");
    else
        fc_substitute(c->g, &s, share);
}

/* The tangent of result i, from those of the arguments (FC_NONODE: 0). */
fc_node fc_g_custom_forward(fc_grad_ctx *c, const fc_custom *r, uint32_t i, const fc_node *t) {
    fc_graph *g = c->g;
    fc_node sum = FC_NONODE, share;
    for (uint32_t a = 0; a < r->nargs && !g->error.code; a++) {
        if (t[a] == FC_NONODE || r->dx[a] == FC_NONODE) continue;
        if (!fc_vjp(g, r->dx[a], t[a], 1, &r->seed[i], &share)) break;
        sum = sum == FC_NONODE ? share : fc_op2(g, FC_OP_add, sum, share);
    }
    return sum;
}
