/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_fft.c - derivatives of Fourier transforms (ir/fft.h), which are linear: forward by the
 * same transform, in reverse by its adjoint. With m = n/2 + 1 given elements of n, element k > 0
 * with 2k != n stands for itself and for its conjugate:
 *
 *     y = fft(x)       x' = ifft(y')          unscaled, and the other way round
 *     y = rfft(x)      x' = irfft(c y')       c[k] = 1/2 where k stands for two, else 1
 *     y = irfft(x)     x' = c rfft(y')        c[k] = 2 where k stands for two, else 1 */
#include "ir/complex.h"
#include "ir/fft.h"
#include "passes/gradient_impl.h"

/* z times `both` where an element of its last axis stands for two of n. */
static fc_node weighted(fc_graph *g, fc_node z, fc_dim n, double both) {
    if (z == FC_NONODE) return z;
    const fusec_dtype t = fc_part_dtype((fusec_dtype)fc_at(g, z)->dtype);
    const fc_node k = fc_build_iota(g, fc_axis(g, z, fc_rank(g, z) - 1));
    const fc_node zero = fc_build_number(g, FUSEC_I64, 0), two = fc_build_number(g, FUSEC_I64, 2);
    const fc_node twice = fc_op2(g, FC_OP_mul, k, two);
    const fc_node alone = fc_op2(g, FC_OP_logical_or, fc_op2(g, FC_OP_eq, k, zero),
                                 fc_op2(g, FC_OP_eq, twice, fc_build_dim(g, n)));
    const fc_node c = fc_where(g, alone, fc_build_number(g, t, 1), fc_build_number(g, t, both));
    const fc_parts p = fc_full_parts(g, z);
    return fc_build_pair(g, fc_op2(g, FC_OP_mul, p.re, c), fc_op2(g, FC_OP_mul, p.im, c));
}

static fc_dim length(const fc_graph *g, fc_node n) {
    return fc_axis(g, n, fc_rank(g, n) - 1);
}

fc_node fc_g_fft_reverse(fc_grad_ctx *c, fc_node n, fc_node a) {
    fc_graph *g = c->g;
    a = fc_g_spread_as(c, a, n); /* a constant for all has no shape */
    const fc_fft_kind kind = fc_dft_kind(g, n);
    const fc_dim from = length(g, fc_dft_operand(g, n)), to = length(g, n);
    switch (kind) {
    case FC_FFT_REAL: return fc_build_dft(g, FC_FFT_INVERSE_REAL, weighted(g, a, from, .5), from);
    case FC_FFT_INVERSE_REAL:
        return weighted(g, fc_build_dft(g, FC_FFT_REAL, a, FC_DIM_NONE), to, 2);
    default: /* its matrix is symmetric */
        return fc_build_dft(g, kind == FC_FFT_FORWARD ? FC_FFT_INVERSE : FC_FFT_FORWARD, a,
                            FC_DIM_NONE);
    }
}

fc_node fc_g_fft_forward(fc_grad_ctx *c, fc_node n, fc_node t) {
    t = fc_g_spread_as(c, t, fc_dft_operand(c->g, n));
    if (t == FC_NONODE) return t;
    return fc_build_dft(c->g, fc_dft_kind(c->g, n), t, length(c->g, n));
}
