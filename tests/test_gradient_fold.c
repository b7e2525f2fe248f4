/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gradient_fold.c - derivatives of scans and of reductions and scans by a definition, of
 * sorted order and what is made of it: both modes against central differences. */
#include <math.h>

#include "ir/fold.h"
#include "tests/support/gradient_check.h"

#define FUNCTION(name, ...)                                                                        \
    static fc_node name(fc_graph *g, fc_node x) {                                                  \
        return __VA_ARGS__;                                                                        \
    }

static fc_node num(fc_graph *g, double v) {
    return fc_build_number(g, FUSEC_F64, v);
}

static fc_node slope_of(fc_graph *g, fc_node y, fc_node x) {
    fc_node d = FC_NONODE;
    fc_grad(g, gball(g, FC_OP_sum, y), 1, &x, &d);
    return d;
}

/* ---- scans of rows
 * -------------------------------------------------------------------------------
 */

FUNCTION(cumprod, fc_build_scan(g, FC_OP_prod, x, 1, false, false))
FUNCTION(cumprod_back, fc_build_scan(g, FC_OP_prod, x, 0, true, true))
FUNCTION(cummax, fc_build_scan(g, FC_OP_max, x, 1, false, false))
FUNCTION(cummin_back, fc_build_scan(g, FC_OP_min, gb1(g, FC_OP_sin, x), 0, false, true))
FUNCTION(slope_cumprod, slope_of(g, cumprod(g, x), x))
/* With zeros in it. */
FUNCTION(cumprod_zeros, cumprod(g, gb1(g, FC_OP_relu, x)))

static fc_node cumsum_anew(fc_graph *g, fc_node x) {
    const fc_node reset = gb2(g, FC_OP_gt, gb1(g, FC_OP_floor, x), num(g, 0));
    return fc_build_scan_reset(g, FC_OP_sum, gb1(g, FC_OP_exp, x), reset, 1, false, false);
}

static fc_node linrec(fc_graph *g, fc_node x) {
    const fc_node init = gbred(g, FC_OP_sum, x, 1, true);
    return fc_build_linrec(g, gb1(g, FC_OP_sin, x), gb2(g, FC_OP_mul, x, x), init, 1,
                           (fc_fold_args){.reverse = false});
}
FUNCTION(linrec_back,
         fc_build_linrec(g, x, gb1(g, FC_OP_cos, x), FC_NONODE, 0, (fc_fold_args){.reverse = true}))
FUNCTION(slope_linrec, slope_of(g, linrec(g, x), x))

FC_TEST(gradient_fold, of_scans) {
    gx_check("cumprod", cumprod, 2, 4, 0);
    gx_check("cumprod, exclusive and back", cumprod_back, 4, 2, 0);
    gx_check("cumprod with zeros", cumprod_zeros, 2, 4, 0);
    gx_check("cummax", cummax, 2, 5, 0);
    gx_check("cummin back", cummin_back, 5, 2, 0);
    gx_check("cumsum that starts anew", cumsum_anew, 2, 5, 0);
    gx_check("linrec", linrec, 2, 5, 0);
    gx_check("linrec back", linrec_back, 4, 2, 0);
    gx_check("second derivative of cumprod", slope_cumprod, 1, 4, 0);
    gx_check("second derivative of linrec", slope_linrec, 1, 4, 0);
}

/* Of numbers that all 16-bit floats have: the scan is one of f32, whose results are rounded. */
FC_TEST(gradient_fold, of_scans_in_16_bits) {
    static const double data[] = {1, 2, 3, 2}, want[] = {21, 10, 6, 6};
    static const fusec_dtype dtypes[] = {FUSEC_BF16, FUSEC_F16};
    for (size_t t = 0; t < FC_COUNT(dtypes); t++)
        for (int forward = 0; forward < 2; forward++) {
            gx x;
            gx_init(&x);
            fc_graph *g = &x.g;
            const fc_node in = gx_in(&x, 4, 0, 0, data, 0);
            const fc_node one = fc_build_cast(g, in, dtypes[t]);
            const fc_node y =
                fc_build_cast(g, fc_build_scan(g, FC_OP_prod, one, 0, false, false), FUSEC_F64);
            const fc_node d =
                forward ? fc_jvp(g, y, 1, &in, (const fc_node[]){in}) : slope_of(g, y, in);
            FC_TRACE("%s, %s", fc_dtypes[dtypes[t]].name, forward ? "forward" : "reverse");
            fc_build_output(g, "d", d);
            FC_EXPECT_OK(g->error.code, &g->error);
            if (!g->error.code) {
                gx_run(&x);
                /* along x itself: a product of i + 1 numbers grows by i + 1 times itself */
                static const double along[] = {1, 4, 18, 48};
                for (int i = 0; i < 4; i++)
                    FC_EXPECT_EQ_F64(gx_at(&x, d, i), forward ? along[i] : want[i]);
            }
            FC_UNTRACE();
            gx_free(&x);
        }
}

/* ---- by a definition ----------------------------------------------------------------------------
 */

enum { N = 4 };
typedef void body_fn(fc_graph *g, const fc_node *a, const fc_node *b, fc_node *out);

static fc_node fold(fc_graph *g, uint32_t n, const fc_node *element, const double *start,
                    body_fn *body, int64_t axis, fc_fold_args how) {
    fc_node a[N], b[N], made[N], starts[N], out[N];
    for (uint32_t k = 0; k < n; k++) {
        a[k] = fc_build_slot(g, FUSEC_F64, k);
        b[k] = fc_build_slot(g, FUSEC_F64, FC_MAX_RECORD + k);
        starts[k] = num(g, start ? start[k] : 0);
    }
    body(g, a, b, made);
    how.what = "fold";
    how.n = n;
    how.element = element;
    how.start = start ? starts : NULL;
    how.body = made;
    how.naxes = axis < 0 ? 0 : 1;
    how.axes = axis < 0 ? NULL : &axis;
    if (!fc_build_fold(g, &how, out)) return FC_NONODE;
    fc_node sum = out[0];
    for (uint32_t k = 1; k < n; k++) sum = gb2(g, FC_OP_add, gb1(g, FC_OP_sin, sum), out[k]);
    return sum;
}

/* logsumexp in one pass */
static void join(fc_graph *g, const fc_node *a, const fc_node *b, fc_node *out) {
    const fc_node m = gb2(g, FC_OP_maximum, a[0], b[0]);
    fc_node part[2];
    for (int k = 0; k < 2; k++) {
        const fc_node *x = k ? b : a;
        const fc_node scaled =
            gb2(g, FC_OP_mul, x[1], gb1(g, FC_OP_exp, gb2(g, FC_OP_sub, x[0], m)));
        part[k] = gb3(g, FC_OP_where, gb2(g, FC_OP_eq, x[0], m), x[1], scaled);
    }
    out[0] = m;
    out[1] = gb2(g, FC_OP_add, part[0], part[1]);
}

/* Products of matrices [[a0, a1], [a2, a3]]: every value depends on another one. */
static void matrices(fc_graph *g, const fc_node *a, const fc_node *b, fc_node *out) {
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            out[2 * i + k] = gb2(g, FC_OP_add, gb2(g, FC_OP_mul, b[2 * i], a[k]),
                                 gb2(g, FC_OP_mul, b[2 * i + 1], a[2 + k]));
}

/* Composition of x -> (c x - s y, s x + c y): complex products, two values in a circle. */
static void turns(fc_graph *g, const fc_node *a, const fc_node *b, fc_node *out) {
    out[0] = gb2(g, FC_OP_sub, gb2(g, FC_OP_mul, a[0], b[0]), gb2(g, FC_OP_mul, a[1], b[1]));
    out[1] = gb2(g, FC_OP_add, gb2(g, FC_OP_mul, a[0], b[1]), gb2(g, FC_OP_mul, a[1], b[0]));
}

static fc_node joined(fc_graph *g, fc_node x, int64_t axis, fc_fold_args how) {
    const double start[2] = {-INFINITY, 0};
    const fc_node element[2] = {x, gb1(g, FC_OP_exp, gb1(g, FC_OP_sin, x))};
    return fold(g, 2, element, start, join, axis, how);
}
FUNCTION(join_rows, joined(g, x, 1, (fc_fold_args){.keepdims = true}))
FUNCTION(join_columns, joined(g, x, 0, (fc_fold_args){.keepdims = false}))
FUNCTION(join_all, joined(g, x, -1, (fc_fold_args){.keepdims = false}))
FUNCTION(join_scan, joined(g, x, 1, (fc_fold_args){.scan = true}))
FUNCTION(join_exclusive,
         gb1(g, FC_OP_tanh,
             joined(g, gb2(g, FC_OP_mul, x, x), 0, (fc_fold_args){.scan = true, .reverse = true})))

static fc_node turned(fc_graph *g, fc_node x, fc_fold_args how) {
    const double start[2] = {1, 0};
    const fc_node element[2] = {gb1(g, FC_OP_cos, x), x};
    return fold(g, 2, element, start, turns, 1, how);
}
FUNCTION(turn_rows, turned(g, x, (fc_fold_args){.scan = false}))
FUNCTION(turn_scan, turned(g, x, (fc_fold_args){.scan = true}))
FUNCTION(turn_exclusive, turned(g, x, (fc_fold_args){.scan = true, .exclusive = true}))
FUNCTION(turn_without_start, fold(g, 2, (const fc_node[]){gb1(g, FC_OP_cos, x), x}, NULL, turns, 1,
                                  (fc_fold_args){.scan = true}))

static fc_node multiplied(fc_graph *g, fc_node x, bool scan) {
    const double start[4] = {1, 0, 0, 1};
    const fc_node element[4] = {x, gb1(g, FC_OP_sin, x), num(g, .5), gb1(g, FC_OP_cos, x)};
    return fold(g, 4, element, start, matrices, 1, (fc_fold_args){.scan = scan});
}
FUNCTION(matrix_rows, multiplied(g, x, false))
FUNCTION(matrix_scan, multiplied(g, x, true))

FC_TEST(gradient_fold, by_a_definition) {
    gx_check("logsumexp of rows", join_rows, 2, 4, 0);
    gx_check("of columns", join_columns, 4, 2, 0);
    gx_check("of all", join_all, 2, 3, 2);
    gx_check("its scan", join_scan, 2, 4, 0);
    gx_check("its scan from the end", join_exclusive, 4, 2, 0);
    gx_check("turns", turn_rows, 2, 4, 0);
    gx_check("their scan", turn_scan, 2, 4, 0);
    gx_check("their exclusive scan", turn_exclusive, 2, 4, 0);
    gx_check("without a start", turn_without_start, 2, 4, 0);
    gx_check("products of matrices", matrix_rows, 1, 4, 0);
    gx_check("their scan", matrix_scan, 1, 4, 0);
}

/* Products of quaternions: four values in a circle, which only forward mode goes through. */
static void quaternions(fc_graph *g, const fc_node *a, const fc_node *b, fc_node *out) {
    static const struct {
        int x, y, minus;
    } terms[4][4] = {{{0, 0, 0}, {1, 1, 1}, {2, 2, 1}, {3, 3, 1}},
                     {{0, 1, 0}, {1, 0, 0}, {2, 3, 0}, {3, 2, 1}},
                     {{0, 2, 0}, {1, 3, 1}, {2, 0, 0}, {3, 1, 0}},
                     {{0, 3, 0}, {1, 2, 0}, {2, 1, 1}, {3, 0, 0}}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            const fc_node product = gb2(g, FC_OP_mul, a[terms[i][k].x], b[terms[i][k].y]);
            const fc_op op = terms[i][k].minus ? FC_OP_sub : FC_OP_add;
            out[i] = k ? gb2(g, op, out[i], product) : product;
        }
}

static fc_node rotated(fc_graph *g, fc_node x, bool exclusive) {
    const double start[4] = {1, 0, 0, 0};
    const fc_node element[4] = {x, gb1(g, FC_OP_sin, x), num(g, .5), gb1(g, FC_OP_cos, x)};
    return fold(g, 4, element, start, quaternions, 1,
                (fc_fold_args){.scan = true, .exclusive = exclusive});
}

FC_TEST(gradient_fold, forward_mode_in_larger_circles) {
    const double at[4] = {.5, -1.25, .75, .25}, h = 1e-4;
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        static gx x;
        gx_init(&x);
        fc_graph *g = &x.g;
        const fc_node in = gx_in(&x, 1, 4, 0, at, 0), one = num(g, 1);
        const fc_node y = rotated(g, in, exclusive), moved = fc_jvp(g, y, 1, &in, &one);
        const fc_node up = rotated(g, gb2(g, FC_OP_add, in, num(g, h)), exclusive),
                      down = rotated(g, gb2(g, FC_OP_sub, in, num(g, h)), exclusive);
        fc_build_output(g, "moved", moved);
        fc_build_output(g, "up", up);
        fc_build_output(g, "down", down);
        gx_run(&x);
        for (int i = 0; i < 4; i++) {
            const double slope = (gx_at(&x, up, i) - gx_at(&x, down, i)) / (2 * h);
            if (!(fabs(gx_at(&x, moved, i) - slope) < 1e-6))
                FC_FAIL("%d: %g, not %g", i, gx_at(&x, moved, i), slope);
        }
        gx_free(&x);
    }
    static gx x;
    gx_init(&x);
    fc_graph *g = &x.g;
    const fc_node in = gx_in(&x, 1, 4, 0, at, 0);
    FC_EXPECT_TRUE(slope_of(g, rotated(g, in, false), in) == FC_NONODE);
    FC_EXPECT_CONTAINS(g->error.message, "depend on each other in a circle; a loop over the axis");
    gx_free(&x);
}

/* ---- order -------------------------------------------------------------------------------------
 */

FUNCTION(sorted, gb1(g, FC_OP_exp, fc_build_sort(g, x, 1, false)))
FUNCTION(sorted_down, gb1(g, FC_OP_exp, fc_build_sort(g, x, 0, true)))
FUNCTION(median, fc_build_quantile(g, x, num(g, .5), 1))
FUNCTION(quantile, fc_build_quantile(g, x, num(g, .3), 0))

static fc_node largest(fc_graph *g, fc_node x) {
    fc_node out[2];
    return fc_build_topk(g, x, fc_dim_const(&g->dims, 2), 1, out) ? gb1(g, FC_OP_exp, out[0])
                                                                  : FC_NONODE;
}

FC_TEST(gradient_fold, of_sorted_order) {
    gx_check("sort", sorted, 2, 5, 0);
    gx_check("sort down", sorted_down, 5, 2, 0);
    gx_check("median", median, 2, 5, 0);
    gx_check("quantile", quantile, 5, 2, 0);
    gx_check("topk", largest, 2, 5, 0);
}
