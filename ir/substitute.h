/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* substitute.h - nodes made again with others in the place of what they are made of: bodies of
 * other bound variables, rules for cotangents that are known by now. */
#ifndef FUSEC_IR_SUBSTITUTE_H
#define FUSEC_IR_SUBSTITUTE_H

#include "ir/graph.h"

/* to[i] stands in for from[i], of its dtype and shape. With `levels` (fc_body_levels) only nodes
 * that have `bit` there are made again. A root may be FC_NONODE, which it stays. */
typedef struct fc_substitution {
    uint32_t n, nroots;
    const fc_node *from, *to, *root;
    const uint64_t *levels;
    uint64_t bit;
} fc_substitution;

/* out[i]: root[i] made again, or itself. False: g->error says why. */
bool fc_substitute(fc_graph *g, const fc_substitution *s, fc_node *out);

#endif
