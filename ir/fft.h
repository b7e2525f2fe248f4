/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft.h - Fourier transforms: a step of the plan that is no kernel (ir/loop.h), and what is made of
 * it.
 *
 * The node FC_OP_FFT transforms a complex array along its last axis, not scaled; attr 1: inverse.
 * Its one result is read by FC_OP_RESULT. Everything else, other axes, scaling and transforms of
 * real numbers, is made of other nodes, which fuse with their neighbours on either side. */
#ifndef FUSEC_IR_FFT_H
#define FUSEC_IR_FFT_H

#include "ir/graph.h"

typedef enum fc_fft_kind {
    FC_FFT_FORWARD,
    FC_FFT_INVERSE,
    FC_FFT_REAL,
    FC_FFT_INVERSE_REAL
} fc_fft_kind;

/* fft, ifft, rfft and irfft as in NumPy. `n`: the length that irfft gives, or FC_DIM_NONE for
 * 2(m - 1). `scaled`: inverse transforms are divided by their length. */
fc_node fc_build_fft(fc_graph *g, fc_fft_kind kind, fc_node x, int64_t axis, fc_dim n, bool scaled);

/* The transform of a complex array along its last axis. */
fc_node fc_build_dft(fc_graph *g, fc_node z, bool inverse);
/* Whether n is the result of one; what it transforms. */
static inline bool fc_is_dft(const fc_graph *g, fc_node n) {
    return fc_at(g, n)->op == FC_OP_RESULT && fc_at(g, fc_at(g, n)->src[0])->op == FC_OP_FFT;
}
static inline fc_node fc_dft_operand(const fc_graph *g, fc_node n) {
    return fc_at(g, fc_at(g, fc_at(g, n)->src[0])->src[0])->src[0];
}
static inline bool fc_dft_is_inverse(const fc_graph *g, fc_node n) {
    return fc_at(g, fc_at(g, n)->src[0])->attr != 0;
}

#endif
