/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_fft.c - builders of Fourier transforms: see fft.h. */
#include "ir/fft.h"

#include "ir/complex.h"
#include "ir/loop.h"

static fc_node as_complex(fc_graph *g, fc_node x) {
    const fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype;
    if (fc_is_complex(t)) return x;
    return fc_build_cast(g, x, fc_complex_of(fc_is_float(t) ? t : g->default_float));
}

static fc_dim half_of(fc_graph *g, fc_dim n) { /* n/2 + 1 */
    const fc_dim half = fc_dim_floordiv(&g->dims, n, fc_dim_const(&g->dims, 2));
    return fc_dim_add(&g->dims, half, fc_dim_const(&g->dims, 1));
}

/* The shape of x, but n elements along the last axis. */
static fc_list with_last(fc_graph *g, fc_node x, fc_dim n) {
    int64_t v[FC_MAX_RANK];
    const uint32_t rank = fc_rank(g, x);
    for (uint32_t i = 0; i < rank; i++) v[i] = fc_axis(g, x, i);
    v[rank - 1] = n;
    return fc_intern_list(g, v, rank);
}

fc_node fc_build_dft(fc_graph *g, fc_fft_kind kind, fc_node x, fc_dim n) {
    if (!fc_usable(g, x) || !fc_rank(g, x)) return FC_NONODE;
    if (kind != FC_FFT_REAL) {
        const fc_parts p = fc_full_parts(g, x);
        x = fc_build_pair(g, p.re, p.im);
        if (x == FC_NONODE) return x;
    }
    const fusec_dtype from = (fusec_dtype)fc_at(g, x)->dtype;
    const fusec_dtype to = kind == FC_FFT_REAL           ? fc_complex_of(from)
                           : kind == FC_FFT_INVERSE_REAL ? fc_part_dtype(from)
                                                         : from;
    if (kind == FC_FFT_REAL) n = half_of(g, fc_axis(g, x, fc_rank(g, x) - 1));
    const fc_list shape = fc_fft_is_real(kind) ? with_last(g, x, n) : fc_at(g, x)->shape;
    const fc_node step =
        fc_graph_node(g, (fc_ninfo){.op = FC_OP_FFT,
                                    .dtype = FUSEC_BOOL,
                                    .nops = 1,
                                    .shape = shape,
                                    .src = {fc_build_value_list(g, 1, &x), FC_NONODE, FC_NONODE},
                                    .attr = kind});
    return fc_build_result(g, step, 0, to, shape);
}

/* With `axis` as the last one, and back: the same permutation of two axes. */
static fc_node exchange(fc_graph *g, fc_node x, uint32_t axis) {
    int64_t perm[FC_MAX_RANK];
    if (!fc_usable(g, x)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, x);
    for (uint32_t i = 0; i < rank; i++) perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    return fc_build_permute(g, x, perm);
}

/* Elements [start, start + count) of the last axis. */
static fc_node part(fc_graph *g, fc_node x, fc_dim start, fc_dim count) {
    fc_slice s[FC_MAX_RANK];
    if (!fc_usable(g, x)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, x);
    for (uint32_t i = 0; i < rank; i++)
        s[i] = (fc_slice){fc_dim_const(&g->dims, 0), 1, fc_axis(g, x, i)};
    s[rank - 1] = (fc_slice){start, 1, count};
    return fc_build_slice(g, x, s);
}

static fc_node divided(fc_graph *g, fc_node z, fc_dim n) {
    if (!fc_usable(g, z)) return FC_NONODE;
    const fusec_dtype t = fc_part_dtype((fusec_dtype)fc_at(g, z)->dtype);
    const fc_node count = fc_build_cast(g, fc_build_dim(g, n), FUSEC_F64);
    const fc_node by = fc_op2(g, FC_OP_div, fc_build_number(g, FUSEC_F64, 1), count);
    const fc_node f = fc_build_cast(g, by, t);
    if (!fc_has_parts(g, z)) return fc_op2(g, FC_OP_mul, z, f);
    fc_parts p = fc_complex_parts(g, z);
    p.re = fc_op2(g, FC_OP_mul, p.re, f);
    return fc_build_pair(g, p.re, fc_op2(g, FC_OP_mul, p.im, f));
}

static const char *const names[] = {"fft", "ifft", "rfft", "irfft"};

static bool fits(fc_graph *g, fc_fft_kind kind, fc_node x, int64_t *axis) {
    const int64_t rank = fc_rank(g, x);
    const bool complex = fc_has_parts(g, x);
    if (kind == FC_FFT_REAL && complex)
        return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, "rfft", x, FC_NONODE,
                             "it transforms real numbers; take fft, or real()"),
               false;
    if (*axis < 0) *axis += rank;
    if (*axis >= 0 && *axis < rank) return true;
    fc_fail(&g->error, FUSEC_BAD_AXIS, "%s: there is no such axis; the array has %u", names[kind],
            (unsigned)rank);
    return false;
}

/* What a transform of this kind takes. */
static fc_node operand(fc_graph *g, fc_fft_kind kind, fc_node x) {
    if (kind != FC_FFT_REAL) return as_complex(g, x);
    const fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype;
    const fusec_dtype of = fc_complex_of(fc_is_float(t) ? t : g->default_float);
    return fc_build_cast(g, x, fc_part_dtype(of));
}

fc_node fc_build_fft(fc_graph *g, fc_fft_kind kind, fc_node x, int64_t axis, fc_dim n,
                     bool scaled) {
    fc_dimtab *t = &g->dims;
    if (!fc_usable(g, x) || !fits(g, kind, x, &axis)) return FC_NONODE;
    fc_node z = exchange(g, operand(g, kind, x), (uint32_t)axis);
    if (z == FC_NONODE) return z;
    const fc_dim m = fc_axis(g, z, fc_rank(g, z) - 1), one = fc_dim_const(t, 1);
    fc_require(g, FC_CHECK_GE, m, one, FUSEC_INPUT_SHAPE, "a transform has at least one element");
    if (kind != FC_FFT_INVERSE_REAL)
        n = m;
    else if (n == FC_DIM_NONE)
        n = fc_dim_mul(t, fc_dim_sub(t, m, one), fc_dim_const(t, 2));
    else if (m != half_of(g, n)) {
        fc_require(g, FC_CHECK_GE, m, half_of(g, n), FUSEC_INPUT_SHAPE,
                   "irfft takes n//2 + 1 elements for n=; pad() adds zeros");
        z = part(g, z, fc_dim_const(t, 0), half_of(g, n));
    }
    fc_node r = fc_build_dft(g, kind, z, n);
    if (fc_fft_is_inverse(kind) && scaled) r = divided(g, r, n);
    return exchange(g, r, (uint32_t)axis);
}
