/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* composites_special.c - digamma, the derivative of lgamma, made of elementary operations in f64.
 */
#include <math.h>

#include "ir/composites.h"

static fc_node num(fc_graph *g, double v) {
    return fc_build_number(g, FUSEC_F64, v);
}

/* log x - 1/2x - B2/2x^2 - B4/4x^4 - ..., x >= 8 */
static fc_node far(fc_graph *g, fc_node x) {
    static const double terms[] = {-1.0 / 12,  691.0 / 32760, -1.0 / 132, 1.0 / 240,
                                   -1.0 / 252, 1.0 / 120,     -1.0 / 12};
    const fc_node inverse = fc_op2(g, FC_OP_div, num(g, 1), x);
    const fc_node square = fc_op2(g, FC_OP_mul, inverse, inverse);
    fc_node sum = num(g, terms[0]);
    for (size_t k = 1; k < FC_COUNT(terms); k++)
        sum = fc_op2(g, FC_OP_add, fc_op2(g, FC_OP_mul, sum, square), num(g, terms[k]));
    const fc_node head =
        fc_op2(g, FC_OP_sub, fc_op1(g, FC_OP_log, x), fc_op2(g, FC_OP_mul, inverse, num(g, 0.5)));
    return fc_op2(g, FC_OP_add, head, fc_op2(g, FC_OP_mul, sum, square));
}

/* psi(x) = psi(x + 1) - 1/x up to 8, and psi(1 - x) - pi/tan(pi x) below a half. */
void fc_build_digamma(fc_graph *g, const fc_node *operand, fc_node *out) {
    *out = FC_NONODE;
    if (!fc_usable(g, operand[0])) return;
    const fusec_dtype given = (fusec_dtype)fc_at(g, operand[0])->dtype,
                      t = fc_is_float(given) ? given : g->default_float;
    const fc_node x = fc_build_cast(g, operand[0], FUSEC_F64), one = num(g, 1), zero = num(g, 0);
    const fc_node low = fc_op2(g, FC_OP_lt, x, num(g, 0.5));
    fc_node y = fc_where(g, low, fc_op2(g, FC_OP_sub, one, x), x), less = zero;
    for (int k = 0; k < 8; k++) {
        const fc_node near = fc_op2(g, FC_OP_lt, y, num(g, 8));
        const fc_node part = fc_op2(g, FC_OP_div, one, y);
        less = fc_op2(g, FC_OP_add, less, fc_where(g, near, part, zero));
        y = fc_where(g, near, fc_op2(g, FC_OP_add, y, one), y);
    }
    const fc_node psi = fc_op2(g, FC_OP_sub, far(g, y), less);
    const fc_node whole = fc_op1(g, FC_OP_round, x), rest = fc_op2(g, FC_OP_sub, x, whole);
    const fc_node pi = num(g, 3.14159265358979323846);
    const fc_node turn = fc_op1(g, FC_OP_tan, fc_op2(g, FC_OP_mul, pi, rest));
    const fc_node mirrored = fc_op2(g, FC_OP_sub, psi, fc_op2(g, FC_OP_div, pi, turn));
    const fc_node pole =
        fc_op2(g, FC_OP_logical_and, fc_op2(g, FC_OP_eq, x, whole), fc_op2(g, FC_OP_lt, x, zero));
    fc_node r = fc_where(g, low, mirrored, psi);
    r = fc_where(g, pole, num(g, (double)NAN), r);
    if (r != FC_NONODE) *out = fc_build_cast(g, r, t);
}
