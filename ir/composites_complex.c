/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* composites_complex.c - the functions of composites.def that take complex numbers apart and make
 * them. Of real numbers they are what they are of numbers with the imaginary part 0. */
#include "ir/complex.h"
#include "ir/composites.h"

static fc_node in_float(fc_graph *g, fc_node x) {
    if (!fc_usable(g, x)) return FC_NONODE;
    const fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype;
    return fc_is_float(t) || fc_is_complex(t) ? x : fc_build_cast(g, x, g->default_float);
}

/* f16 and bf16 become f32. */
static fc_node as_part(fc_graph *g, fc_node x) {
    x = in_float(g, x);
    if (!fc_usable(g, x)) return FC_NONODE;
    const bool half = fc_is_half((fusec_dtype)fc_at(g, x)->dtype);
    return half ? fc_build_cast(g, x, FUSEC_F32) : x;
}

void fc_build_complex(fc_graph *g, const fc_node *x, fc_node *out) {
    const fc_node re = as_part(g, x[0]), im = as_part(g, x[1]);
    out[0] = fc_build_pair(g, re, im);
}

void fc_build_real(fc_graph *g, const fc_node *x, fc_node *out) {
    out[0] = fc_build_part(g, x[0], false);
}

void fc_build_imag(fc_graph *g, const fc_node *x, fc_node *out) {
    out[0] = fc_build_part(g, x[0], true);
}

void fc_build_conj(fc_graph *g, const fc_node *x, fc_node *out) {
    out[0] = x[0];
    if (!fc_usable(g, x[0]) || !fc_has_parts(g, x[0])) return;
    const fc_parts p = fc_complex_parts(g, x[0]);
    if (fc_is_real_pair(g, p)) return;
    out[0] = fc_build_pair(g, p.re, fc_op1(g, FC_OP_neg, p.im));
}

void fc_build_angle(fc_graph *g, const fc_node *x, fc_node *out) {
    const fc_node a = in_float(g, x[0]);
    const fc_node re = fc_build_part(g, a, false), im = fc_build_part(g, a, true);
    out[0] = fc_op2(g, FC_OP_atan2, im, re);
}
