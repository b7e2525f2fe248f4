/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_scan.c - derivatives of prefix sums, which are sums from the other end. */
#include "passes/gradient_impl.h"

fc_node fc_g_scan(fc_grad_ctx *c, fc_node n, fc_node v, bool reverse) {
    const fc_scan s = fc_scan_of(fc_at(c->g, n));
    if (fc_g_is_const(c->g, v)) v = fc_g_spread_as(c, v, n);
    if (v == FC_NONODE) return v;
    return fc_build_scan(c->g, FC_OP_sum, v, (int64_t)s.axis + c->nlead, s.exclusive, reverse);
}
