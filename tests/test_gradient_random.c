/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gradient_random.c - random programs: reverse and forward mode agree, and so do second
 * derivatives both ways round.
 *
 * With u, v two directions and L the sum of what the program makes: dL along v is the gradient
 * times v, and H = the second derivative is symmetric, u (H v) = v (H u), with H v by forward over
 * reverse. FUSEC_FUZZ_SEED sets the seed, FUSEC_FUZZ_COUNT the number of programs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/complex.h"
#include "ir/fft.h"
#include "ir/fold.h"
#include "ir/loop.h"
#include "tests/support/gradient_box.h"

enum { STEPS = 12, PROGRAMS = FC_SANITIZED ? 40 : 120 };

typedef struct maker {
    fc_graph *g;
    uint64_t state;
    fc_node made[STEPS + 4];
    int n;
} maker;

static uint32_t pick(maker *m, uint32_t n) {
    m->state = fc_mix(m->state, 0x9e37u);
    return (uint32_t)(m->state >> 33) % n;
}

static fc_node any(maker *m) {
    return m->made[pick(m, (uint32_t)m->n)];
}

static fc_node num(maker *m, double v) {
    return fc_build_number(m->g, FUSEC_F64, v);
}

/* Functions without edges near the values that occur, or made so. */
static fc_node unary(maker *m, fc_node x) {
    static const fc_op plain[] = {
        FC_OP_sin, FC_OP_cos, FC_OP_tanh, FC_OP_atan,  FC_OP_sigmoid, FC_OP_softplus, FC_OP_erf,
        FC_OP_neg, FC_OP_abs, FC_OP_relu, FC_OP_asinh, FC_OP_floor,   FC_OP_sinc,     FC_OP_sign};
    static const fc_op positive[] = {FC_OP_sqrt, FC_OP_log, FC_OP_rsqrt, FC_OP_cbrt, FC_OP_log1p};
    fc_graph *g = m->g;
    if (pick(m, 3)) return gb1(g, plain[pick(m, FC_COUNT(plain))], x);
    const fc_node square = gb2(g, FC_OP_add, gb2(g, FC_OP_mul, x, x), num(m, .5));
    return gb1(g, positive[pick(m, FC_COUNT(positive))], square);
}

/* b in the shape of a: as it is, or its mean. */
static fc_node fitting(maker *m, fc_node a, fc_node b) {
    return fc_at(m->g, a)->shape == fc_at(m->g, b)->shape ? b : gball(m->g, FC_OP_mean, b);
}

static fc_node binary(maker *m, fc_node a) {
    static const fc_op plain[] = {FC_OP_add,     FC_OP_sub,   FC_OP_mul,   FC_OP_minimum,
                                  FC_OP_maximum, FC_OP_hypot, FC_OP_atan2, FC_OP_fmax};
    fc_graph *g = m->g;
    const fc_node b = fitting(m, a, any(m));
    if (pick(m, 4) == 0) {
        const fc_node below = gb2(g, FC_OP_add, gb2(g, FC_OP_mul, b, b), num(m, 1));
        return gb2(g, FC_OP_div, a, below);
    }
    if (pick(m, 4) == 0)
        return gb3(g, FC_OP_where, gb2(g, FC_OP_lt, a, b), gb1(g, FC_OP_sin, a), unary(m, a));
    return gb2(g, plain[pick(m, FC_COUNT(plain))], a, b);
}

static fc_node reduced(maker *m, fc_node a) {
    static const fc_op ops[] = {FC_OP_sum, FC_OP_mean, FC_OP_var, FC_OP_max, FC_OP_min, FC_OP_std};
    fc_graph *g = m->g;
    const int64_t axis = pick(m, 2);
    const bool keep = pick(m, 2);
    if (pick(m, 5) == 0) return fc_build_logsumexp(g, a, 1, &axis, true);
    const fc_node r = gbred(g, ops[pick(m, FC_COUNT(ops))], a, axis, true);
    return keep ? r : gb2(g, FC_OP_mul, a, r);
}

static fc_node seen(maker *m, fc_node a) {
    fc_graph *g = m->g;
    const int64_t perm[2] = {1, 0};
    const fc_dim shape[2] = {fc_axis(g, a, 0), fc_axis(g, a, 1)};
    int64_t n[2];
    if (pick(m, 3) == 0) return fc_build_permute(g, a, perm);
    if (pick(m, 3) == 0) {
        const fc_dim turned[2] = {shape[1], shape[0]};
        return fc_build_reshape(g, a, 2, turned);
    }
    for (int k = 0; k < 2; k++) fc_dim_is_const(&g->dims, shape[k], &n[k]);
    if (n[0] < 3 || n[1] < 3) return fc_build_materialize(g, a);
    int64_t step[2][2] = {{0, 0}, {0, 0}}, start[2];
    fc_view_axis axes[2];
    const fc_edge edge = (fc_edge)(1 + pick(m, FC_EDGE_COUNT - 1));
    for (int k = 0; k < 2; k++) {
        step[k][k] = pick(m, 2) ? 1 : -1;
        start[k] = step[k][k] > 0 ? (int64_t)pick(m, 4) - 2 : n[k] - (int64_t)pick(m, 3);
        axes[k] = (fc_view_axis){fc_dim_const(&g->dims, start[k]), edge, step[k]};
    }
    return fc_build_view(g, a, 2, shape, axes);
}

static fc_node product(maker *m, fc_node a) {
    const int64_t perm[2] = {1, 0};
    const fc_node b = any(m), t = fc_build_permute(m->g, gb1(m->g, FC_OP_sin, a), perm);
    return fc_build_matmul(m->g, a, fc_at(m->g, t)->shape == fc_at(m->g, b)->shape ? b : t);
}

/* Prefixes, recurrences, sorted order. */
static fc_node scanned(maker *m, fc_node a) {
    fc_graph *g = m->g;
    const int64_t axis = pick(m, 2);
    const bool reverse = pick(m, 2);
    const fc_node small = gb1(g, FC_OP_sin, a), b = fitting(m, a, any(m));
    switch (pick(m, 6)) {
    case 0: return fc_build_scan(g, FC_OP_prod, small, axis, pick(m, 2), reverse);
    case 1: return fc_build_scan(g, pick(m, 2) ? FC_OP_max : FC_OP_min, a, axis, false, reverse);
    case 2: {
        const fc_node anew = gb2(g, FC_OP_gt, a, b);
        return fc_build_scan_reset(g, pick(m, 2) ? FC_OP_sum : FC_OP_prod, small, anew, axis, false,
                                   reverse);
    }
    case 3: return fc_build_sort(g, a, axis, reverse);
    default:
        return fc_build_linrec(g, small, gb2(g, FC_OP_add, small, b), FC_NONODE, axis,
                               (fc_fold_args){.reverse = reverse});
    }
}

/* Complex numbers, and their transform: a + i sin(b), whose transform times z is transformed back.
 */
static fc_node transformed(maker *m, fc_node a) {
    fc_graph *g = m->g;
    const fc_node z =
        fc_build_pair(g, gb1(g, FC_OP_tanh, a), gb1(g, FC_OP_sin, fitting(m, a, any(m))));
    if (pick(m, 3) == 0) { /* reals there and back, an odd or an even length */
        const fc_node r =
            fc_build_fft(g, FC_FFT_REAL, gb1(g, FC_OP_tanh, a), -1, FC_DIM_NONE, true);
        const fc_node s = pick(m, 2) ? gb2(g, FC_OP_mul, r, gb1(g, FC_OP_exp, r)) : r;
        if (pick(m, 2)) return gb1(g, FC_OP_square, gb1(g, FC_OP_abs, s));
        return fc_build_fft(g, FC_FFT_INVERSE_REAL, s, -1, fc_axis(g, a, 1), true);
    }
    fc_node w = fc_build_fft(g, pick(m, 2) ? FC_FFT_FORWARD : FC_FFT_INVERSE, z, pick(m, 2),
                             FC_DIM_NONE, true);
    if (pick(m, 2)) w = gb2(g, FC_OP_mul, w, z);
    if (pick(m, 2))
        w = gb1(g, FC_OP_exp, gb2(g, FC_OP_mul, w, fc_build_cast(g, num(m, .1), FUSEC_C128)));
    if (pick(m, 2)) return fc_build_part(g, w, pick(m, 2));
    return gb1(g, FC_OP_square, gb1(g, FC_OP_abs, w));
}

/* Up to three rounds that carry a, and may collect what they carry. */
static fc_node looped(maker *m, fc_node a, int depth) {
    fc_graph *g = m->g;
    const fc_dim shape[2] = {fc_axis(g, a, 0), fc_axis(g, a, 1)};
    const uint64_t rounds = 1 + pick(m, 3), first = pick(m, 3);
    const fc_node k = fc_build_hole(g, FUSEC_I64, 0, NULL);
    fc_node hole = fc_build_hole(g, FUSEC_F64, 2, shape), next = binary(m, hole), out[2];
    if (pick(m, 2)) next = gb2(g, FC_OP_mul, next, gball(g, FC_OP_mean, hole));
    if (pick(m, 2)) next = gb2(g, FC_OP_add, next, fc_build_cast(g, k, FUSEC_F64));
    if (depth && pick(m, 3) == 0) next = looped(m, next, depth - 1);
    next = gb1(g, FC_OP_sin, next);
    const fc_loop_parts p = {.first = fc_build_const(g, FUSEC_I64, first),
                             .end = fc_build_const(g, FUSEC_I64, first + rounds),
                             .counter = k,
                             .condition = FC_NONODE,
                             .ncarried = 1,
                             .ncollected = pick(m, 2),
                             .start = &a,
                             .hole = &hole,
                             .next = &next,
                             .collected = &hole};
    if (g->error.code || !fc_build_loop(g, &p, out)) return FC_NONODE;
    if (!p.ncollected) return out[0];
    return gb2(g, FC_OP_add, out[0], gbred(g, FC_OP_mean, out[1], 0, false));
}

static fc_node step(maker *m) {
    const fc_node a = any(m);
    switch (pick(m, 11)) {
    case 0:
    case 1: return unary(m, a);
    case 2:
    case 3: return binary(m, a);
    case 4: return reduced(m, a);
    case 5: return seen(m, a);
    case 6: return product(m, a);
    case 7: return scanned(m, a);
    case 9: return transformed(m, a);
    case 8: return fc_rank(m->g, a) == 2 ? looped(m, a, 1) : unary(m, a);
    default: return gb2(m->g, FC_OP_mul, unary(m, a), fitting(m, a, any(m)));
    }
}

/* The sum of the last values made, kept small. */
static fc_node program(maker *m) {
    fc_node loss = num(m, 0);
    for (int i = 0; i < STEPS; i++) {
        const fc_node v = step(m);
        m->made[m->n++] = pick(m, 3) ? v : gb1(m->g, FC_OP_sin, v);
    }
    for (int i = 0; i < 4; i++)
        loss = gb2(m->g, FC_OP_add, loss, gball(m->g, FC_OP_mean, m->made[m->n - 1 - i]));
    return loss;
}

/* The inner product of what belongs to the inputs. */
static fc_node inner(fc_graph *g, const fc_node *a, const fc_node *b) {
    fc_node sum = FC_NONODE;
    for (int i = 0; i < 2; i++) {
        const fc_node s = gball(g, FC_OP_sum, gb2(g, FC_OP_mul, a[i], b[i]));
        sum = i ? gb2(g, FC_OP_add, sum, s) : s;
    }
    return sum;
}

static bool close_to(double a, double b, double size) {
    return !isfinite(a) || !isfinite(b) || !isfinite(size) || fabs(a - b) <= 1e-9 * (1 + size);
}

static bool try_program(uint64_t seed, int *finite) {
    static gx x;
    gx_init(&x);
    fc_graph *g = &x.g;
    fc_node in[2] = {gx_in(&x, 3, 4, 0, NULL, seed), gx_in(&x, 4, 3, 0, NULL, seed + 1)}, d[2],
            hv[2], hu[2];
    const fc_node u[2] = {gx_in(&x, 3, 4, 0, NULL, seed + 2), gx_in(&x, 4, 3, 0, NULL, seed + 3)};
    const fc_node v[2] = {gx_in(&x, 3, 4, 0, NULL, seed + 4), gx_in(&x, 4, 3, 0, NULL, seed + 5)};
    maker m = {.g = g, .state = seed, .made = {in[0], in[1]}, .n = 2};
    const fc_node loss = program(&m);
    bool ok = fc_grad(g, loss, 2, in, d);
    const fc_node along = fc_jvp(g, loss, 2, in, v);
    for (int i = 0; i < 2 && ok; i++) {
        hv[i] = fc_jvp(g, d[i], 2, in, v);
        hu[i] = fc_jvp(g, d[i], 2, in, u);
    }
    const fc_node size = gball(g, FC_OP_sum, gb2(g, FC_OP_mul, hv[0], hv[0]));
    const fc_node told[6] = {inner(g, d, v), along, inner(g, u, hv), inner(g, v, hu), size, loss};
    if (g->error.code) {
        FC_FAIL("program %llu: %s", (unsigned long long)seed, g->error.message);
        gx_free(&x);
        return false;
    }
    for (int i = 0; i < 6; i++) {
        const char name[2] = {(char)('a' + i), 0};
        fc_build_output(g, name, told[i]);
    }
    gx_run(&x);
    double r[6];
    for (int i = 0; i < 6; i++) r[i] = gx_at(&x, told[i], 0);
    *finite += isfinite(r[0]) && isfinite(r[2]);
    const bool good =
        close_to(r[0], r[1], fabs(r[0])) && close_to(r[2], r[3], fabs(r[2]) + sqrt(fabs(r[4])));
    if (!good)
        FC_FAIL("program %llu: reverse %.17g, forward %.17g; u H v %.17g, v H u %.17g",
                (unsigned long long)seed, r[0], r[1], r[2], r[3]);
    gx_free(&x);
    return good;
}

FC_TEST(gradient_random, both_modes_and_both_orders_agree) {
    const char *seed = getenv("FUSEC_FUZZ_SEED"), *count = getenv("FUSEC_FUZZ_COUNT");
    const uint64_t from = seed ? strtoull(seed, NULL, 0) : 1;
    const int n = count ? atoi(count) : PROGRAMS;
    int finite = 0;
    for (int i = 0; i < n; i++)
        if (!try_program(from + 100 * (uint64_t)i, &finite)) return;
    FC_EXPECT_TRUE(finite > n * 2 / 5);
    printf("%d of %d programs had values to compare\n", finite, n);
}
