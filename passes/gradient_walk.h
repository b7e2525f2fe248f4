/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_walk.h - a walk over the nodes that lie between y and those it is derived by. */
#ifndef FUSEC_PASSES_GRADIENT_WALK_H
#define FUSEC_PASSES_GRADIENT_WALK_H

#include "passes/gradient_impl.h"

enum { FC_AN_END = 2 };

typedef struct fc_grad_walk {
    fc_grad_ctx c;
    fc_node y;
    uint8_t *needed; /* by node up to y: y is made of it, and it depends on an x through floats;
                        FC_AN_END: it is one of x, and nothing behind it is looked at */
    uint8_t *body;   /* made of the bound variables of a loop, which is looked at as a whole */
    uint8_t *marked; /* its value came through a choice */
    fc_node *value;  /* cotangent or tangent; FC_NONODE: 0 */
} fc_grad_walk;

/* Finds the nodes between ny values y and n values x; `how`: 1, or FC_AN_END. False: the graph has
 * an error, and there is nothing to free. */
bool fc_gw_begin(fc_grad_walk *w, fc_grad_ctx c, uint32_t ny, const fc_node *y, uint32_t n,
                 const fc_node *x, uint8_t how);
void fc_gw_free(fc_grad_walk *w);
/* Adds a share to what a node has. */
void fc_gw_add_share(fc_grad_walk *w, fc_node n, fc_node v, bool marked);
/* From what has arrived at y to what arrives at x, which take_shares gives in their shapes. */
bool fc_gw_reverse(fc_grad_walk *w, uint32_t n, const fc_node *x);
bool fc_gw_take_shares(fc_grad_walk *w, uint32_t n, const fc_node *x, fc_node *dx);
/* The tangents of x, and of arrays of pairs that they are parts of; then those of all others. */
void fc_gw_set_tangents(fc_grad_walk *w, uint32_t n, const fc_node *x, const fc_node *dx);
bool fc_gw_forward(fc_grad_walk *w);

#endif
