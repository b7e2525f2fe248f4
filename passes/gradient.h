/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient.h - derivatives: nodes appended to the graph they are taken of.
 *
 * What is appended is made of the same nodes as everything else, so it is fused, simplified and
 * compiled like everything else, and derivatives have derivatives. Elementwise rows say theirs in
 * the column GRAD of ir/ops.def; the rules of reductions are in gradient_reduce.c, those of views
 * in gradient_view.c.
 *
 * A derivative goes through floats only: integers and bool, comparisons, rounding and what
 * fc_build_stop_grad marks end it. What it can't go through is the error FUSEC_NO_GRADIENT. A value
 * that nothing depends on has the derivative 0.
 *
 * Equal expressions are one node. So the derivative in x*x + 1, where that is used twice, is the
 * derivative in both. */
#ifndef FUSEC_PASSES_GRADIENT_H
#define FUSEC_PASSES_GRADIENT_H

#include "ir/graph.h"

/* Reverse mode: dx[i] gets the sum over all elements of y of dy * dy/dx[i], in the dtype and shape
 * of x[i]. `dy` has dtype and shape of y. Where several users of a value contribute, the shares are
 * added from the latest user to the first. False: the graph has an error. */
bool fc_vjp(fc_graph *g, fc_node y, fc_node dy, uint32_t n, const fc_node *x, fc_node *dx);

/* The same for dy = 1; `loss` is a scalar. */
bool fc_grad(fc_graph *g, fc_node loss, uint32_t n, const fc_node *x, fc_node *dx);

/* Forward mode: how y changes when every x[i] moves along dx[i], of its dtype and shape. Has dtype
 * and shape of y. */
fc_node fc_jvp(fc_graph *g, fc_node y, uint32_t n, const fc_node *x, const fc_node *dx);

/* dy/dx for each element of y and each of x: the axes of y, then those of x. */
fc_node fc_jacobian(fc_graph *g, fc_node y, fc_node x);

/* Whether y is made from x by a way that derivatives take. */
bool fc_depends(fc_graph *g, fc_node y, fc_node x);

#endif
