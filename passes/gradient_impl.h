/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_impl.h - what the files of gradients share.
 *
 * A cotangent or tangent of a node has the node's dtype and shape, behind the axes `lead` of
 * fc_jacobian, which asks for many at once; or it is a constant, which fits every shape. */
#ifndef FUSEC_PASSES_GRADIENT_IMPL_H
#define FUSEC_PASSES_GRADIENT_IMPL_H

#include "passes/gradient.h"

typedef struct fc_grad_ctx {
    fc_graph *g;
    uint32_t nlead;
    fc_dim lead[FC_MAX_RANK];
} fc_grad_ctx;

/* ---- gradient_rules.c ---- */
bool fc_g_is_const(const fc_graph *g, fc_node n);
fc_node fc_g_op(fc_grad_ctx *c, fc_op op, fc_node a, fc_node b);
/* v where a is not 0, else 0: for a v that is linear in `a`, whatever its factors are. */
fc_node fc_g_guard(fc_grad_ctx *c, fc_node a, fc_node v);
/* v spread to the shape behind the leading axes. */
fc_node fc_g_spread(fc_grad_ctx *c, fc_node v, uint32_t rank, const fc_dim *shape);
fc_node fc_g_spread_as(fc_grad_ctx *c, fc_node v, fc_node like);
/* v under other axes, of the same number of elements, behind the leading ones. */
fc_node fc_g_reshape(fc_grad_ctx *c, fc_node v, uint32_t rank, const fc_dim *shape);
fc_node fc_g_reshape_as(fc_grad_ctx *c, fc_node v, fc_node like);
void fc_g_fail(fc_grad_ctx *c, fc_node n, const char *why);

/* 0 of the dtype of n, which may be complex. */
fc_node fc_g_zero(fc_graph *g, fc_node n);
/* The share that goes through operand k of row n when `arrives` arrives. FC_NONODE: none, or the
 * graph has an error. */
fc_node fc_g_row_share(fc_grad_ctx *c, fc_node n, unsigned k, fc_node arrives, bool guard,
                       bool *chooses);

/* ---- gradient.c ---- */

/* Values as functions of others, which nothing is looked at behind: bodies of loops and of
 * reductions by a definition. */
typedef struct fc_g_function {
    uint32_t ny, nx;
    const fc_node *y, *x;
} fc_g_function;
/* dx[k]: what arrives at x[k] when dy[i] arrives at y[i]; FC_NONODE is 0, there and here. *marked:
 * whether what arrives came through a choice; then whether a share did. */
bool fc_g_function_reverse(fc_grad_ctx *c, const fc_g_function *f, const fc_node *dy, bool *marked,
                           fc_node *dx);
/* dy[i]: the tangent of y[i] for the tangents dx of x. */
bool fc_g_function_forward(fc_grad_ctx *c, const fc_g_function *f, const fc_node *dx, bool *marked,
                           fc_node *dy);
/* depends[i]: whether y[i] is made of one of x by a way that derivatives take. */
bool fc_g_function_depends(fc_grad_ctx *c, const fc_g_function *f, bool *depends);

/* Shares of nodes, in order. */
typedef struct fc_g_shares {
    FC_VEC(fc_node) to, value;
} fc_g_shares;
void fc_g_share(fc_grad_ctx *c, fc_g_shares *s, fc_node to, fc_node value);

/* ---- gradient_loop.c: loops ----
 * `at`: what arrives at each value of the loop, or what its tangents are; FC_NONODE: 0. needed[n]:
 * whether node n, below the loop, is to get a share or may have a tangent. */
void fc_g_loop_reverse(fc_grad_ctx *c, fc_node loop, const uint8_t *needed, const fc_node *at,
                       bool marked, fc_g_shares *out);
/* `value`: the tangents of the nodes below the loop. */
void fc_g_loop_forward(fc_grad_ctx *c, fc_node loop, const uint8_t *needed, const fc_node *value,
                       bool marked, fc_node *at);

/* ---- gradient_reduce.c: reductions ----
 * `guard`: a 0 that arrives gives 0, whatever the elements are. *chooses is set where the rule
 * gives 0 to elements that it does not choose. */
fc_node fc_g_reduce_reverse(fc_grad_ctx *c, fc_node n, fc_node a, bool guard, bool *chooses);
fc_node fc_g_reduce_forward(fc_grad_ctx *c, fc_node n, fc_node t, bool guard, bool *chooses);

/* ---- gradient_view.c: views ---- */
fc_node fc_g_view_reverse(fc_grad_ctx *c, fc_node n, fc_node a, bool *chooses);
fc_node fc_g_view_forward(fc_grad_ctx *c, fc_node n, fc_node t);

/* ---- gradient_index.c: slices, general views, takes ---- */
fc_node fc_g_index_reverse(fc_grad_ctx *c, fc_node n, fc_node a);
fc_node fc_g_take_reverse(fc_grad_ctx *c, fc_node n, fc_node a);
/* No leading axes. */
fc_node fc_g_index_forward(fc_grad_ctx *c, fc_node n, fc_node t);

/* ---- gradient_scatter.c: stores at computed places ----
 * What arrives at scatter n at its operand k, 0 or 2; the tangent of n, FC_NONODE is 0; what
 * arrives at take n at its array. */
fc_node fc_g_scatter_reverse(fc_grad_ctx *c, fc_node n, int k, fc_node a, bool *chooses);
fc_node fc_g_scatter_forward(fc_grad_ctx *c, fc_node n, fc_node base, fc_node value);
fc_node fc_g_take_to(fc_grad_ctx *c, fc_node n, fc_node a);

/* ---- gradient_scan.c: prefix sums ---- */
/* What arrives at a cumsum n, v, at its operand; or the tangent of n of one of its operand. */
fc_node fc_g_scan(fc_grad_ctx *c, fc_node n, fc_node v, bool reverse);

/* ---- gradient_fold.c: reductions and scans by a definition, other scans ----
 * `needed` and `value` as for loops. */
void fc_g_fold_reverse(fc_grad_ctx *c, fc_node n, const uint8_t *needed, fc_node a, bool marked,
                       fc_g_shares *out);
fc_node fc_g_fold_forward(fc_grad_ctx *c, fc_node n, const fc_node *value);

/* ---- gradient_fft.c: Fourier transforms ---- */
/* What arrives at transform n, a, at its operand; the tangent of n of one of its operand. */
fc_node fc_g_fft_reverse(fc_grad_ctx *c, fc_node n, fc_node a);
fc_node fc_g_fft_forward(fc_grad_ctx *c, fc_node n, fc_node t);

/* ---- gradient_dot.c: contractions ---- */
/* The node that operand k of a dot is before it was spread, which its shares are of. */
fc_node fc_g_dot_target(const fc_graph *g, fc_node n, int k);
fc_node fc_g_dot_reverse(fc_grad_ctx *c, fc_node n, int k, fc_node a, bool guard);
/* `t` is the tangent of that node. No leading axes. */
fc_node fc_g_dot_forward(fc_grad_ctx *c, fc_node n, int k, fc_node t);

/* ---- gradient_custom.c: values with a rule of their own ---- */
/* The first result that is no constant; the others come behind it. */
fc_node fc_g_custom_first(const fc_graph *g, const fc_custom *r);
void fc_g_custom_reverse(fc_grad_ctx *c, fc_node n, const fc_custom *r, const fc_node *arrives,
                         fc_node *share);
fc_node fc_g_custom_forward(fc_grad_ctx *c, const fc_custom *r, uint32_t i, const fc_node *t);

#endif
