/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scatter.c - stores at computed places, made of updates that every order leaves the same.
 *
 * In: any graph. Out: the same values without FC_OP_SCATTER. What is left are FC_OP_UPDATE: 32- and
 * 64-bit integers that take in a sum, a smallest or a largest value, in an array that was made for
 * it (a MATERIALIZE with a number of its own). Everything else is ordinary nodes around them, which
 * fuse as all others do and are the same on all targets:
 *
 *   narrow integers, bool   in 32 bits
 *   min and max of floats   of integers in the order of the floats
 *   set                     the largest position of an update, then a read there
 *   sum of floats           on a grid (docs/semantics.md 6.6): the largest exponent of each
 *                           element's updates, then the sum of integers, then one rounding */
#include "passes/rewrite.h"

#include "ir/code.h"
#include "ir/expand.h"
#include "ir/plant.h"
#include "passes/plan.h"

#include <math.h>

typedef struct scatter {
    fc_graph *g;
    fc_node base, index, value;
    fc_scatter how;
    uint32_t flags, rank, lead; /* axes of the updates; those in front of the base's */
    uint32_t *number;           /* of arrays made so far */
    fc_dim shape[FC_MAX_RANK];  /* of the updates */
    fc_dim base_shape[FC_MAX_RANK];
    uint32_t base_rank;
} scatter;

/* ---- words for nodes ------------------------------------------------------------------------- */

static fc_node whole(fc_graph *g, fusec_dtype t, int64_t v) {
    return fc_build_const(g, t, fc_const_int(t, v));
}
static fc_node real(fc_graph *g, fusec_dtype t, double v) {
    return fc_build_const(g, t, fc_const_bits(t, v));
}

/* A base that is one number everywhere is computed with as a number. */
static fc_node as_number(const fc_graph *g, fc_node n) {
    while (n != FC_NONODE && fc_is_view(fc_at(g, n)->op) && fc_at(g, n)->op != FC_OP_VIEW)
        n = fc_at(g, n)->src[0];
    return n != FC_NONODE && fc_at(g, n)->op == FC_OP_CONST ? n : FC_NONODE;
}

/* ---- updates --------------------------------------------------------------------------------- */

/* An array that starts as `start` and takes `value` in. */
static fc_node update(scatter *s, fc_op op, fc_node start, fc_node value) {
    fc_graph *g = s->g;
    start = fc_build_broadcast(g, start, s->base_rank, s->base_shape);
    value = fc_build_broadcast(g, value, s->rank, s->shape);
    if (start == FC_NONODE || value == FC_NONODE) return FC_NONODE;
    fc_ninfo m = *fc_at(g, start);
    m = (fc_ninfo){.op = FC_OP_MATERIALIZE,
                   .dtype = m.dtype,
                   .nops = 1,
                   .shape = m.shape,
                   .src = {start, FC_NONODE, FC_NONODE},
                   .attr = ++*s->number};
    const fc_node made = fc_graph_node(g, m);
    if (made == FC_NONODE) return made;
    const fc_scatter how = {op, s->how.axis, op == FC_OP_NONE};
    fc_ninfo u = {.op = FC_OP_UPDATE,
                  .dtype = m.dtype,
                  .nops = 3,
                  .shape = m.shape,
                  .src = {made, s->index, value},
                  .flags = s->flags,
                  .attr = fc_scatter_attr(how)};
    return fc_graph_node(g, u);
}

/* What an array of the base's shape has where each update goes. */
static fc_node read_back(scatter *s, fc_node array) {
    fc_graph *g = s->g;
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t i = 0; i < s->lead; i++) shape[i] = fc_dim_const(&g->dims, 1);
    memcpy(shape + s->lead, s->base_shape, s->base_rank * sizeof *shape);
    array = fc_build_reshape(g, array, s->rank, shape);
    const uint32_t axis = s->lead + s->how.axis;
    return s->flags & FC_NODE_INSIDE ? fc_build_take_inside(g, array, s->index, axis)
                                     : fc_build_take(g, array, s->index, axis);
}

/* ---- integers and choices -------------------------------------------------------------------- */

static fc_node of_integers(scatter *s, fusec_dtype t) {
    fc_graph *g = s->g;
    const fc_op op = s->how.op == FC_OP_any   ? FC_OP_max
                     : s->how.op == FC_OP_all ? FC_OP_min
                                              : s->how.op;
    if (fc_can_update(op, t)) return update(s, op, s->base, s->value);
    const fc_node start = fc_build_cast(g, s->base, FUSEC_I32),
                  value = fc_build_cast(g, s->value, FUSEC_I32);
    return fc_build_cast(g, update(s, op, start, value), t);
}

/* An integer that is ordered as the floats are: -0 below +0, a nan beyond all others in the
 * direction of `op`. */
static fc_node key_of(fc_graph *g, fc_op op, fc_node x, fusec_dtype k) {
    const int64_t bits = fc_dtypes[k].bits;
    const fc_node b = fc_build_bitcast(g, x, k);
    const fc_node low = fc_build_const(g, k, fc_const_max(k));
    const fc_node sign = fc_op2(g, FC_OP_shr, b, whole(g, k, bits - 1));
    const fc_node key = FC_PLANTED(scatter_key)
                            ? b
                            : fc_op2(g, FC_OP_bit_xor, b, fc_op2(g, FC_OP_bit_and, sign, low));
    const fc_node nan = op == FC_OP_max ? low : fc_build_const(g, k, fc_const_min(k));
    return fc_where(g, fc_op1(g, FC_OP_isnan, x), nan, key);
}

static fc_node of_key(fc_graph *g, fc_op op, fc_node key, fusec_dtype t, fusec_dtype k) {
    const int64_t bits = fc_dtypes[k].bits;
    const fc_node low = fc_build_const(g, k, fc_const_max(k));
    const fc_node sign = fc_op2(g, FC_OP_shr, key, whole(g, k, bits - 1));
    const fc_node b = fc_op2(g, FC_OP_bit_xor, key, fc_op2(g, FC_OP_bit_and, sign, low));
    const fc_node nan = op == FC_OP_max ? low : fc_build_const(g, k, fc_const_min(k));
    return fc_where(g, fc_op2(g, FC_OP_eq, key, nan), real(g, t, NAN), fc_build_bitcast(g, b, t));
}

static fc_node extreme(scatter *s, fusec_dtype t) {
    fc_graph *g = s->g;
    const fusec_dtype f = t == FUSEC_F64 ? FUSEC_F64 : FUSEC_F32,
                      k = t == FUSEC_F64 ? FUSEC_I64 : FUSEC_I32;
    const fc_op op = s->how.op;
    const fc_node start = key_of(g, op, fc_build_cast(g, s->base, f), k),
                  value = key_of(g, op, fc_build_cast(g, s->value, f), k);
    return fc_build_cast(g, of_key(g, op, update(s, op, start, value), f, k), t);
}

/* The axis along which the updates of an element count on: the leading ones and the computed. */
static bool counts(const scatter *s, uint32_t axis) {
    return axis < s->lead || axis == s->lead + s->how.axis;
}

/* The values with the axes that count made one, in the place of the computed axis. */
static fc_node in_line(scatter *s) {
    fc_graph *g = s->g;
    fc_dim shape[FC_MAX_RANK], n = fc_dim_const(&g->dims, 1);
    int64_t perm[FC_MAX_RANK];
    uint32_t at = 0;
    if (!s->lead) return s->value;
    for (uint32_t i = s->lead; i < s->rank; i++) {
        if (i == s->lead + s->how.axis)
            for (uint32_t k = 0; k < s->lead; k++) perm[at++] = k;
        perm[at++] = i;
    }
    for (uint32_t i = 0; i < s->rank; i++)
        if (counts(s, i)) n = fc_dim_mul(&g->dims, n, s->shape[i]);
    memcpy(shape, s->base_shape, s->base_rank * sizeof *shape);
    shape[s->how.axis] = n;
    return fc_build_reshape(g, fc_build_permute(g, s->value, perm), s->base_rank, shape);
}

static fc_node last_one(scatter *s) {
    fc_graph *g = s->g;
    if (s->how.unique) return update(s, FC_OP_NONE, s->base, s->value);
    const bool first = FC_PLANTED(scatter_order);
    const fc_node none = fc_i64(g, first ? 1 << 30 : -1);
    const fc_node at = update(s, first ? FC_OP_min : FC_OP_max, none,
                              fc_build_positions(g, s->rank, s->shape, s->lead, s->how.axis));
    const fc_node there = fc_build_take(g, in_line(s), at, s->how.axis);
    return fc_where(g, fc_op2(g, FC_OP_eq, at, none), s->base, there);
}

/* ---- sums of floats --------------------------------------------------------------------------
 *
 * What an element's updates and its old value have as their largest exponent is a code: 0, nothing
 * came and the old value is zero; 1, zeros only; 2 + the biased exponent; and above all of these
 * +inf, -inf and nan. Contributions to a code of -inf count +inf, which together are nan. */

enum { CODE_INF = 1 << 20, CODE_MINUS, CODE_NAN };

typedef struct grid {
    fusec_dtype t;  /* f32 or f64: the dtype that exponents are those of */
    fc_node bits;   /* B, i64: an element takes |v| * 2^(B-1-E), at most 2^B, in */
    fc_node result; /* dtype aside, the parts of the sum so far */
} grid;

static fc_node code_of(fc_graph *g, const grid *d, fc_node x, bool updates) {
    const bool wide = d->t == FUSEC_F64;
    const fusec_dtype k = wide ? FUSEC_I64 : FUSEC_I32;
    const fc_node zero = real(g, d->t, 0);
    const fc_node b =
        fc_op2(g, FC_OP_bit_and, fc_build_bitcast(g, x, k), fc_build_const(g, k, fc_const_max(k)));
    fc_node e = fc_op2(g, FC_OP_shr, b, whole(g, k, wide ? 52 : 23));
    if (wide) e = fc_build_cast(g, e, FUSEC_I32);
    e = fc_op2(g, FC_OP_maximum, e, whole(g, FUSEC_I32, 1));
    fc_node code = fc_op2(g, FC_OP_add, e, whole(g, FUSEC_I32, 2));
    code = fc_where(g, fc_op2(g, FC_OP_eq, x, zero), whole(g, FUSEC_I32, updates), code);
    code = fc_where(g, fc_op2(g, FC_OP_eq, x, real(g, d->t, INFINITY)),
                    whole(g, FUSEC_I32, CODE_INF), code);
    code = fc_where(g, fc_op2(g, FC_OP_eq, x, real(g, d->t, -INFINITY)),
                    whole(g, FUSEC_I32, CODE_MINUS), code);
    return fc_where(g, fc_op1(g, FC_OP_isnan, x), whole(g, FUSEC_I32, CODE_NAN), code);
}

/* E of a code; of zeros that of the smallest numbers. */
static fc_node exponent_of(fc_graph *g, const grid *d, fc_node code) {
    const int64_t bias = d->t == FUSEC_F64 ? 1023 : 127;
    const fc_node e = fc_op2(g, FC_OP_maximum, code, whole(g, FUSEC_I32, 3));
    return fc_op2(g, FC_OP_sub, fc_build_cast(g, e, FUSEC_I64), fc_i64(g, bias + 2));
}

/* 2^n as an f64. */
static fc_node power(fc_graph *g, fc_node n) {
    const fc_node e = fc_op2(g, FC_OP_add, n, fc_i64(g, 1023));
    return fc_build_bitcast(g, fc_op2(g, FC_OP_shl, e, fc_i64(g, 52)), FUSEC_F64);
}

/* x * 2^(B-1-E), in two steps, of which neither leaves the range of f64. */
static fc_node scaled(fc_graph *g, fc_node x, fc_node e, fc_node bits) {
    const fc_node up = power(g, fc_op2(g, FC_OP_sub, fc_i64(g, 1), e));
    const fc_node more = power(g, fc_op2(g, FC_OP_sub, bits, fc_i64(g, 2)));
    return fc_op2(g, FC_OP_mul, fc_op2(g, FC_OP_mul, x, up), more);
}

/* The other way, of a sum. */
static fc_node unscaled(fc_graph *g, fc_node x, fc_node e, fc_node bits) {
    const fc_node less = power(g, fc_op2(g, FC_OP_sub, fc_i64(g, 1), bits));
    return fc_op2(g, FC_OP_mul, fc_op2(g, FC_OP_mul, x, less), power(g, e));
}

/* y, of at most 2^51, to the nearest integer, to even: what an addition of 1.5 * 2^52 rounds off.
 * Its bits are those of the integers. A cast would look after nan and what is beyond i64, and takes
 * as long as all else. */
static fc_node rounded(fc_graph *g, fc_node y) {
    const fc_node far = real(g, FUSEC_F64, 0x1.8p52);
    const fc_node bits = fc_build_bitcast(g, fc_op2(g, FC_OP_add, y, far), FUSEC_I64);
    return fc_op2(g, FC_OP_sub, bits, fc_build_bitcast(g, far, FUSEC_I64));
}

/* What x gives to an element of this code: in units of the grid; `rest`: what that leaves of it, in
 * units of the second grid. */
static fc_node share_of(fc_graph *g, const grid *d, fc_node x, fc_node code, fc_node *rest) {
    const fc_node zero = fc_i64(g, 0), one = fc_i64(g, 1);
    const fc_node y = scaled(g, fc_build_cast(g, x, FUSEC_F64), exponent_of(g, d, code), d->bits);
    const fc_node finite = fc_op2(g, FC_OP_lt, code, whole(g, FUSEC_I32, CODE_INF));
    const fc_node minus = fc_op2(g, FC_OP_eq, code, whole(g, FUSEC_I32, CODE_MINUS));
    const fc_node up = fc_op2(g, FC_OP_eq, x, real(g, d->t, INFINITY));
    const fc_node both = fc_op2(g, FC_OP_logical_and, minus, up);
    const fc_node beyond = fc_where(g, both, FC_PLANTED(scatter_infinity) ? zero : one, zero);
    if (rest) {
        const fc_node left = fc_op2(g, FC_OP_sub, y, fc_op1(g, FC_OP_round, y));
        const fc_node r = fc_op2(g, FC_OP_mul, left, power(g, d->bits));
        *rest = fc_where(g, finite, rounded(g, r), zero);
    }
    return fc_where(g, finite, rounded(g, y), beyond);
}

/* The sum as an f64 of at most 53 bits: where more are there, the last one says whether any of
 * them is set. So what rounds it to 24 bits or fewer rounds the sum. */
static fc_node in_double(fc_graph *g, fc_node sum) {
    const fc_node far = fc_i64(g, INT64_C(1) << 53), low = fc_i64(g, 1023);
    const fc_node many = fc_op2(g, FC_OP_ge, fc_op1(g, FC_OP_abs, sum), far);
    const fc_node rest = fc_op2(g, FC_OP_bit_and, sum, low);
    const fc_node odd =
        fc_where(g, fc_op2(g, FC_OP_ne, rest, fc_i64(g, 0)), fc_i64(g, 512), fc_i64(g, 0));
    const fc_node short_sum = fc_op2(g, FC_OP_bit_or, fc_op2(g, FC_OP_sub, sum, rest), odd);
    return fc_build_cast(g, fc_where(g, many, short_sum, sum), FUSEC_F64);
}

/* high + low * 2^-B, in units of the grid, as an f64 that is rounded once. */
static fc_node two_words(fc_graph *g, const grid *d, fc_node high, fc_node low) {
    const fc_node zero = fc_i64(g, 0), one = fc_i64(g, 1);
    const fc_node b = d->bits;
    const fc_node carry = fc_op2(g, FC_OP_shr, low, b);
    low = fc_op2(g, FC_OP_sub, low, fc_op2(g, FC_OP_shl, carry, b));
    high = fc_op2(g, FC_OP_add, high, carry);
    /* the magnitude, low in [0, 2^B) */
    const fc_node minus = fc_op2(g, FC_OP_lt, high, zero), some = fc_op2(g, FC_OP_ne, low, zero);
    const fc_node turned =
        fc_where(g, some, fc_op1(g, FC_OP_bit_not, high), fc_op1(g, FC_OP_neg, high));
    const fc_node other = fc_op2(g, FC_OP_sub, fc_op2(g, FC_OP_shl, one, b), low);
    low = fc_where(g, fc_op2(g, FC_OP_logical_and, minus, some), other, low);
    high = fc_where(g, minus, turned, high);
    /* as many of its bits as 62 hold; the last one stands for all others */
    const fc_node e =
        fc_op2(g, FC_OP_shr, fc_build_bitcast(g, fc_build_cast(g, high, FUSEC_F64), FUSEC_I64),
               fc_i64(g, 52));
    const fc_node length = fc_op2(g, FC_OP_sub, e, fc_i64(g, 1022));
    const fc_node by =
        fc_where(g, fc_op2(g, FC_OP_eq, high, zero), b,
                 fc_op2(g, FC_OP_minimum, b, fc_op2(g, FC_OP_sub, fc_i64(g, 62), length)));
    const fc_node behind = fc_op2(g, FC_OP_sub, b, by);
    const fc_node above = fc_op2(g, FC_OP_shr, low, behind);
    const fc_node lost = fc_op2(g, FC_OP_ne, fc_op2(g, FC_OP_shl, above, behind), low);
    fc_node w = fc_op2(g, FC_OP_add, fc_op2(g, FC_OP_shl, high, by), above);
    w = fc_op2(g, FC_OP_bit_or, w, fc_where(g, lost, one, zero));
    const fc_node r = fc_build_cast(g, fc_where(g, minus, fc_op1(g, FC_OP_neg, w), w), FUSEC_F64);
    return fc_op2(g, FC_OP_mul, r, power(g, fc_op1(g, FC_OP_neg, by)));
}

/* B = min(51, 62 - bits of n + 1), for n updates of an element at most. */
static fc_node grid_bits(scatter *s) {
    fc_graph *g = s->g;
    fc_dim n = fc_dim_const(&g->dims, 1);
    int64_t v;
    for (uint32_t i = 0; i < s->rank; i++)
        if (counts(s, i)) n = fc_dim_mul(&g->dims, n, s->shape[i]);
    n = fc_dim_add(&g->dims, n, fc_dim_const(&g->dims, 1));
    const fc_node count = fc_dim_is_const(&g->dims, n, &v) ? fc_i64(g, v) : fc_build_dim(g, n);
    const fc_node e = fc_build_bitcast(g, fc_build_cast(g, count, FUSEC_F64), FUSEC_I64);
    const fc_node length =
        fc_op2(g, FC_OP_sub, fc_op2(g, FC_OP_shr, e, fc_i64(g, 52)), fc_i64(g, 1022));
    return fc_op2(g, FC_OP_minimum, fc_i64(g, 51), fc_op2(g, FC_OP_sub, fc_i64(g, 62), length));
}

static fc_node of_floats(scatter *s, fusec_dtype t) {
    fc_graph *g = s->g;
    const bool wide = t == FUSEC_F64;
    const grid d = {.t = wide ? FUSEC_F64 : FUSEC_F32, .bits = grid_bits(s)};
    const fc_node number = as_number(g, s->base),
                  base = fc_build_cast(g, number == FC_NONODE ? s->base : number, d.t),
                  value = fc_build_cast(g, s->value, d.t), zero = fc_i64(g, 0);
    const fc_node code =
        update(s, FC_OP_max, code_of(g, &d, base, false), code_of(g, &d, value, true));
    fc_node rest = FC_NONODE, own_rest = FC_NONODE;
    const fc_node share = share_of(g, &d, value, read_back(s, code), wide ? &rest : NULL);
    const fc_node own = share_of(g, &d, base, code, wide ? &own_rest : NULL);
    const fc_node high = fc_op2(g, FC_OP_add, update(s, FC_OP_sum, zero, share),
                                FC_PLANTED(scatter_base) ? zero : own);
    fc_node r = wide ? two_words(g, &d, high,
                                 fc_op2(g, FC_OP_add, update(s, FC_OP_sum, zero, rest), own_rest))
                     : in_double(g, high);
    r = fc_build_cast(g, unscaled(g, r, exponent_of(g, &d, code), d.bits), t);
    /* what is no sum of numbers */
    const fc_node nan = real(g, t, NAN), inf = real(g, t, INFINITY);
    const fc_node down = fc_where(g, fc_op2(g, FC_OP_gt, high, zero), nan, real(g, t, -INFINITY));
    r = fc_where(g, fc_op2(g, FC_OP_eq, code, whole(g, FUSEC_I32, CODE_INF)), inf, r);
    r = fc_where(g, fc_op2(g, FC_OP_eq, code, whole(g, FUSEC_I32, CODE_MINUS)), down, r);
    r = fc_where(g, fc_op2(g, FC_OP_eq, code, whole(g, FUSEC_I32, CODE_NAN)), nan, r);
    if (FC_PLANTED(scatter_idle)) return r;
    return fc_where(g, fc_op2(g, FC_OP_eq, code, whole(g, FUSEC_I32, 0)), s->base, r);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static fc_node expand(fc_graph *g, const fc_ninfo *n, uint32_t *number) {
    const fusec_dtype t = (fusec_dtype)n->dtype;
    scatter s = {.g = g,
                 .base = n->src[0],
                 .index = n->src[1],
                 .value = n->src[2],
                 .how = fc_scatter_of(n),
                 .flags = n->flags,
                 .number = number};
    s.base_rank = fc_shape_of(g, s.base, s.base_shape);
    s.rank = fc_shape_of(g, s.index, s.shape);
    s.lead = s.rank - s.base_rank;
    const fc_node r = s.how.op == FC_OP_NONE  ? last_one(&s)
                      : !fc_is_float(t)       ? of_integers(&s, t)
                      : s.how.op == FC_OP_sum ? of_floats(&s, t)
                                              : extreme(&s, t);
    return fc_build_broadcast(g, r, s.base_rank, s.base_shape);
}

/* An array that is updated is one: for several outputs it is copied to them. */
static fc_node for_outputs(const fc_graph *src, fc_graph *dst, fc_node old, fc_node made) {
    uint32_t outputs = 0;
    for (size_t i = 0; i < src->outputs.len; i++) outputs += src->outputs.at[i].node == old;
    if (outputs < 2 || made == FC_NONODE || fc_at(dst, made)->op != FC_OP_UPDATE) return made;
    return fc_build_materialize(dst, made);
}

static fc_node rewritten(const fc_graph *src, fc_graph *dst, fc_node n, const fc_node *map,
                         void *user) {
    const fc_ninfo i = fc_rewrite_info(src, n, map);
    if (i.op != FC_OP_SCATTER) return FC_NONODE;
    return for_outputs(src, dst, n, expand(dst, &i, user));
}

fusec_status fc_pass_scatter(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                             fc_error *e) {
    uint32_t number = 0;
    (void)o;
    return fc_rewrite_each(src, dst, rewritten, &number, e);
}
