/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_random.c - arrays of random numbers, as expressions: number of the element -> draws of the
 * row philox -> numbers of a distribution. What the values are: docs/semantics.md, section 11.
 *
 * In: shape, seed and stream. Out: ordinary nodes, so that a draw is fused, sliced and repeated
 * like anything else, and no array of numbers exists unless it is a result. */
#include "ir/graph.h"

/* ---- short forms -------------------------------------------------------------------------------
 */

static fc_node u64(fc_graph *g, uint64_t v) {
    return fc_build_const(g, FUSEC_U64, v);
}
static fc_node scaled(fc_graph *g, fc_node v, fusec_dtype t, double by) {
    return fc_op2(g, FC_OP_mul, fc_build_cast(g, v, t), fc_build_number(g, t, by));
}

/* ---- draws -------------------------------------------------------------------------------------
 */

/* The number of each element in C order, as u64: ((i0 n1 + i1) n2 + i2) ... */
static fc_node numbers(fc_graph *g, const fc_draw *d) {
    fc_node all = FC_NONODE;
    for (uint32_t k = 0; k < d->rank; k++) {
        const fc_node i = fc_build_iota_along(g, d->shape[k], d->rank - k, 0);
        if (k) all = fc_op2(g, FC_OP_mul, all, fc_build_dim(g, d->shape[k]));
        all = k ? fc_op2(g, FC_OP_add, all, i) : i;
    }
    return d->rank ? fc_build_bitcast(g, all, FUSEC_U64) : u64(g, 0);
}

static fc_node draw(fc_graph *g, const fc_draw *d, fc_node i) {
    return fc_build_op(g, FC_OP_philox, i, d->seed, d->stream);
}

/* What element e has of draw e / 2: its words as u64, and whether it takes the second one. */
typedef struct pair {
    fc_node draw, odd;
} pair;

static pair pair_of(fc_graph *g, const fc_draw *d) {
    const fc_node e = numbers(g, d), one = u64(g, 1);
    return (pair){.draw = draw(g, d, fc_op2(g, FC_OP_shr, e, one)),
                  .odd = fc_op2(g, FC_OP_ne, fc_op2(g, FC_OP_bit_and, e, one), u64(g, 0))};
}

static fc_node first_word(fc_graph *g, fc_node draw) {
    return fc_build_cast(g, draw, FUSEC_U32); /* modulo 2^32 */
}
static fc_node second_word(fc_graph *g, fc_node draw) {
    return fc_build_cast(g, fc_op2(g, FC_OP_shr, draw, u64(g, 32)), FUSEC_U32);
}

static fc_node shifted(fc_graph *g, fc_node v, int by) {
    const fusec_dtype t = (fusec_dtype)fc_at(g, v)->dtype;
    return fc_op2(g, FC_OP_shr, v, fc_build_const(g, t, (uint64_t)by));
}

fc_node fc_build_bits(fc_graph *g, const fc_draw *d, fusec_dtype t) {
    if (g->error.code) return FC_NONODE;
    if (t == FUSEC_U64) return draw(g, d, numbers(g, d));
    const pair p = pair_of(g, d);
    const fc_node w = fc_where(g, p.odd, second_word(g, p.draw), first_word(g, p.draw));
    return g->error.code ? FC_NONODE : fc_build_cast(g, w, t);
}

/* ---- distributions ------------------------------------------------------------------------------
 */

/* 24 bits of a word; 53 of a draw for f64. What f16 and bf16 can't hold is cut off, so that nothing
 * becomes 1. */
fc_node fc_build_uniform(fc_graph *g, const fc_draw *d, fusec_dtype t) {
    const fc_node w = fc_build_bits(g, d, t == FUSEC_F64 ? FUSEC_U64 : FUSEC_U32);
    if (w == FC_NONODE) return w;
    if (t == FUSEC_F64) return scaled(g, shifted(g, w, 11), t, 0x1p-53);
    const fc_node u = scaled(g, shifted(g, w, 8), FUSEC_F32, 0x1p-24);
    if (t == FUSEC_F32 || u == FC_NONODE) return u;
    const uint64_t kept = t == FUSEC_F16 ? 0xffffe000u : 0xffff0000u;
    const fc_node bits = fc_build_bitcast(g, u, FUSEC_U32);
    const fc_node cut = fc_op2(g, FC_OP_bit_and, bits, fc_build_const(g, FUSEC_U32, kept));
    return fc_build_cast(g, fc_build_bitcast(g, cut, FUSEC_F32), t);
}

/* word + 0.5, rounded once: its halves are exact. */
static fc_node middle(fc_graph *g, fc_node word) {
    const fc_node low = fc_op2(g, FC_OP_bit_and, word, fc_build_const(g, FUSEC_U32, 0xffff));
    const fc_node rest =
        fc_op2(g, FC_OP_add, fc_build_cast(g, low, FUSEC_F32), fc_build_number(g, FUSEC_F32, 0.5));
    return fc_build_op(g, FC_OP_fma, fc_build_cast(g, shifted(g, word, 16), FUSEC_F32),
                       fc_build_number(g, FUSEC_F32, 65536), rest);
}

/* Elements 2k and 2k + 1 are the cosine and the sine of one pair of words (f64: of draws). The sine
 * is the cosine of a quarter turn less. u is in the middle of its interval, so never 0. */
fc_node fc_build_normal(fc_graph *g, const fc_draw *d, fusec_dtype t) {
    const fusec_dtype w = t == FUSEC_F64 ? t : FUSEC_F32;
    fc_node u, v, odd;
    if (g->error.code) return FC_NONODE;
    if (t == FUSEC_F64) {
        const fc_node e = numbers(g, d), one = u64(g, 1);
        const fc_node even = fc_op2(g, FC_OP_bit_and, e, u64(g, ~UINT64_C(1)));
        odd = fc_op2(g, FC_OP_ne, e, even);
        u = shifted(g, draw(g, d, even), 11);
        v = scaled(g, shifted(g, draw(g, d, fc_op2(g, FC_OP_bit_or, e, one)), 11), w, 0x1p-53);
    } else {
        const pair p = pair_of(g, d);
        odd = p.odd;
        u = first_word(g, p.draw);
        v = scaled(g, shifted(g, second_word(g, p.draw), 8), w, 0x1p-24);
    }
    if (g->error.code) return FC_NONODE;
    u = t == FUSEC_F64 ? fc_op2(g, FC_OP_add, fc_build_cast(g, u, t), fc_build_number(g, t, 0.5))
                       : middle(g, u);
    u = fc_op2(g, FC_OP_mul, u, fc_build_number(g, w, t == FUSEC_F64 ? 0x1p-53 : 0x1p-32));
    v = fc_where(g, odd, fc_op2(g, FC_OP_sub, v, fc_build_number(g, w, 0.25)), v);
    return fc_build_cast(g, fc_op2(g, FC_OP_normal_raw, u, v), t);
}

/* lo + the upper half of draw * (hi - lo); all of it modulo 2^64. */
fc_node fc_build_randint(fc_graph *g, const fc_draw *d, fc_node lo, fc_node hi) {
    const fc_node range = fc_build_cast(g, fc_op2(g, FC_OP_sub, hi, lo), FUSEC_U64);
    const fc_node w = fc_build_bits(g, d, FUSEC_U64);
    if (w == FC_NONODE || g->error.code) return FC_NONODE;
    const fc_node part = fc_build_cast(g, fc_op2(g, FC_OP_mulhi, w, range), FUSEC_I64);
    return fc_op2(g, FC_OP_add, part, lo);
}

fc_node fc_build_bernoulli(fc_graph *g, const fc_draw *d, fc_node p) {
    if (!fc_usable(g, p)) return FC_NONODE;
    const fusec_dtype t = (fusec_dtype)fc_at(g, p)->dtype;
    return fc_op2(g, FC_OP_lt, fc_build_uniform(g, d, t), p);
}
