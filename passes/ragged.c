/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ragged.c - see ragged.h. */
#include "passes/ragged.h"

#include "ir/code.h"
#include "passes/fuse.h"

fc_node fc_row_end(const fc_graph *g, fc_node n) {
    fc_node value, length;
    if (!fc_is_reduction(fc_at(g, n)->op) || fc_at(g, n)->op == FC_OP_dot) return FC_NONODE;
    return fc_ragged_parts(g, fc_at(g, n)->src[0], &value, &length) ? length : FC_NONODE;
}

void fc_find_ragged(const fc_graph *g, uint8_t *of) {
    enum { BELOW = 1, COUNTS = 2 };
    for (fc_node n = (fc_node)g->nodes.len; n-- > 0;) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op == FC_OP_where && i->flags & FC_NODE_RAGGED) of[n] = BELOW;
        for (int k = 0; of[n] && k < i->nops; k++)
            if (!fc_reduces(g, i->src[k]) && !fc_scans(g, i->src[k]) &&
                !(i->op == FC_OP_TAKE && k == 0))
                of[i->src[k]] = BELOW;
    }
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op == FC_OP_IOTA) of[n] |= COUNTS;
        for (int k = 0; of[n] && k < i->nops; k++) of[n] |= of[i->src[k]] & COUNTS;
    }
    for (fc_node n = 0; n < g->nodes.len; n++) of[n] = of[n] == (BELOW | COUNTS);
}
