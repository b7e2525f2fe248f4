/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft.h - Fourier transforms: a step of the plan that is no kernel (ir/loop.h), and what is made of
 * it.
 *
 * The node FC_OP_FFT transforms an array along its last axis, not scaled; its attr is an
 * fc_fft_kind, its shape that of its one result, which FC_OP_RESULT reads.
 *
 *     FORWARD, INVERSE   complex [.., n] to complex [.., n]
 *     REAL               f32 or f64 [.., n] to complex [.., n/2 + 1], the other elements are
 *                        conjugates of these
 *     INVERSE_REAL       complex [.., n/2 + 1] to f32 or f64 [.., n]; the imaginary parts of
 *                        element 0 and, for even n, element n/2 are taken as 0
 *
 * Everything else, other axes and scaling, is made of other nodes, which fuse with their neighbours
 * on either side. */
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

/* The node alone. x: complex, or of a float's dtype for FC_FFT_REAL. n: the length of an
 * FC_FFT_INVERSE_REAL, whose operand has n/2 + 1 elements along the last axis; others leave it. */
fc_node fc_build_dft(fc_graph *g, fc_fft_kind kind, fc_node x, fc_dim n);
/* Whether n is the result of one; what it transforms. */
static inline bool fc_is_dft(const fc_graph *g, fc_node n) {
    return fc_at(g, n)->op == FC_OP_RESULT && fc_at(g, fc_at(g, n)->src[0])->op == FC_OP_FFT;
}
static inline fc_node fc_dft_operand(const fc_graph *g, fc_node n) {
    return fc_at(g, fc_at(g, fc_at(g, n)->src[0])->src[0])->src[0];
}
static inline fc_fft_kind fc_dft_kind(const fc_graph *g, fc_node n) {
    return (fc_fft_kind)fc_at(g, fc_at(g, n)->src[0])->attr;
}
static inline bool fc_fft_is_inverse(fc_fft_kind k) {
    return k == FC_FFT_INVERSE || k == FC_FFT_INVERSE_REAL;
}
static inline bool fc_fft_is_real(fc_fft_kind k) {
    return k == FC_FFT_REAL || k == FC_FFT_INVERSE_REAL;
}

#endif
