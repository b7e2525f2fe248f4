/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_scan.c - builders of prefixes: cumsum and its like.
 *
 * In: an array, a reduction row, an axis. Out: one node; suffixes are prefixes of the flipped
 * array. */
#include "ir/expand.h"
#include "ir/complex.h"

bool fc_can_scan(fc_op op) {
    switch (op) {
    case FC_OP_sum:
    case FC_OP_prod:
    case FC_OP_min:
    case FC_OP_max:
    case FC_OP_any:
    case FC_OP_all: return true;
    default: return false;
    }
}

fc_node fc_build_flip(fc_graph *g, fc_node a, uint32_t axis) {
    fc_slice s[FC_MAX_RANK];
    if (!fc_usable(g, a)) return FC_NONODE;
    const fc_dim zero = fc_dim_const(&g->dims, 0), one = fc_dim_const(&g->dims, 1);
    for (uint32_t i = 0; i < fc_rank(g, a); i++) {
        const fc_dim size = fc_axis(g, a, i);
        s[i] = i == axis ? (fc_slice){fc_dim_sub(&g->dims, size, one), -1, size}
                         : (fc_slice){zero, 1, size};
    }
    return fc_build_slice(g, a, s);
}

fc_node fc_build_scan(fc_graph *g, fc_op op, fc_node a, int64_t axis, bool exclusive,
                      bool reverse) {
    if (!fc_usable(g, a)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, a);
    const int64_t k = axis < 0 ? axis + rank : axis;
    if (!fc_can_scan(op)) {
        fc_fail(&g->error, FUSEC_INVALID, "%s has no prefixes", fc_ops[op].name);
        return FC_NONODE;
    }
    if (k < 0 || k >= rank) {
        fc_fail(&g->error, FUSEC_BAD_AXIS, "cum%s: axis %lld does not exist; the array has %u",
                fc_ops[op].name, (long long)axis, rank);
        return FC_NONODE;
    }
    if (fc_ops[op].rule == FC_RULE_BOOL) a = fc_build_cast(g, a, FUSEC_BOOL);
    if (a != FC_NONODE && fc_has_parts(g, a))
        return fc_complex_scan(g, op, a, axis, exclusive, reverse);
    if (reverse) a = fc_build_flip(g, a, (uint32_t)k);
    if (a == FC_NONODE) return FC_NONODE;
    fc_ninfo n = {.op = FC_OP_SCAN, .nops = 1, .src = {a, FC_NONODE, FC_NONODE}};
    n.dtype = (uint8_t)fc_red_dtype(op, (fusec_dtype)fc_at(g, a)->dtype);
    n.shape = fc_at(g, a)->shape;
    n.attr = fc_scan_attr((fc_scan){op, (uint32_t)k, exclusive});
    const fc_node r = fc_graph_node(g, n);
    return reverse ? fc_build_flip(g, r, (uint32_t)k) : r;
}
