/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft.c - Fourier transforms; the builder (ir/build_fft.c) checks the axis. */
#include "frontend/capi/capi.h"
#include "ir/fft.h"

static fusec_value transform(const char *what, fc_fft_kind kind, fusec_value x, int axis,
                             int64_t n) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph(what, x, &failed);
    if (!g) return failed;
    if (n < 0) fc_fail(&g->ir.error, FUSEC_INVALID, "%s: a negative length", what);
    const fc_dim length = n > 0 ? fc_dim_const(&g->ir.dims, n) : FC_DIM_NONE;
    return fc_value(g, fc_build_fft(&g->ir, kind, x.node, axis, length, true));
}

fusec_value fusec_fft(fusec_value x, int axis) {
    return transform("fusec_fft", FC_FFT_FORWARD, x, axis, 0);
}
fusec_value fusec_ifft(fusec_value x, int axis) {
    return transform("fusec_ifft", FC_FFT_INVERSE, x, axis, 0);
}
fusec_value fusec_rfft(fusec_value x, int axis) {
    return transform("fusec_rfft", FC_FFT_REAL, x, axis, 0);
}
fusec_value fusec_irfft(fusec_value x, int64_t n, int axis) {
    return transform("fusec_irfft", FC_FFT_INVERSE_REAL, x, axis, n);
}
