/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scan.c - prefixes: fusec_cumsum and its like. The builder (ir/build_scan.c) checks the axis. */
#include "frontend/capi/capi.h"
#include "ir/fold.h"

static fusec_value scan(const char *what, fc_op op, fusec_value v, int axis, unsigned flags) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph(what, v, &failed);
    if (!g) return failed;
    if (flags & ~(unsigned)(FUSEC_SCAN_EXCLUSIVE | FUSEC_SCAN_REVERSE))
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: unknown flags 0x%x", what, flags);
    return fc_value(g, fc_build_scan(&g->ir, op, v.node, axis, flags & FUSEC_SCAN_EXCLUSIVE,
                                     flags & FUSEC_SCAN_REVERSE));
}

static fusec_value scan_reset(const char *what, fc_op op, fusec_value v, fusec_value reset,
                              int axis, unsigned flags) {
    const fusec_value pair[2] = {v, reset};
    fusec_value failed;
    fusec_graph *g = fc_node_graph(what, v, &failed);
    if (!g) return failed;
    if (fc_is_number(&reset))
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: reset is a number, not an array", what);
    else
        fc_common_graph(what, pair, 2);
    if (flags & ~(unsigned)(FUSEC_SCAN_EXCLUSIVE | FUSEC_SCAN_REVERSE))
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: unknown flags 0x%x", what, flags);
    if (g->ir.error.code) return fc_value(g, FC_NONODE);
    return fc_value(g,
                    fc_build_scan_reset(&g->ir, op, v.node, reset.node, axis,
                                        flags & FUSEC_SCAN_EXCLUSIVE, flags & FUSEC_SCAN_REVERSE));
}

#define SCAN(row)                                                                                  \
    fusec_value fusec_cum##row(fusec_value v, int axis, unsigned flags) {                          \
        return scan("fusec_cum" #row, FC_OP_##row, v, axis, flags);                                \
    }                                                                                              \
    fusec_value fusec_cum##row##_reset(fusec_value v, fusec_value reset, int axis,                 \
                                       unsigned flags) {                                           \
        return scan_reset("fusec_cum" #row "_reset", FC_OP_##row, v, reset, axis, flags);          \
    }
SCAN(sum)
SCAN(prod)
SCAN(min)
SCAN(max)
SCAN(any)
SCAN(all)
