/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sample_kernels.c - the samples themselves; see sample_kernels.h. Arrays and comparing:
 * sample_run.c. */
#include "tests/support/sample_build.h"
#include "tests/support/sample_dot.h"
#include "tests/support/sample_reduce.h"

#include <math.h>
#include <stdlib.h>

/* ---- shorthand for references ---------------------------------------------------------------- */

static double *elements(int64_t n) {
    double *p = malloc((size_t)(n + 1) * sizeof *p);
    if (!p) abort();
    return p;
}

/* Reduces line `r` of an f32 matrix [n, m]: row r if inner, else column r. */
static ref_node reduce_line(ref_kind kind, bool inner, const float *x, int64_t n, int64_t m,
                            int64_t r) {
    int64_t count = inner ? m : n;
    double *e = elements(count);
    for (int64_t i = 0; i < count; i++) e[i] = inner ? x[r * m + i] : x[i * m + r];
    ref_node result = fc_ref_reduce(kind, inner, e, count);
    free(e);
    return result;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void build_sin(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_MAP, 1, 0, s);
    fc_val x = input(k, t, FUSEC_F32, 1, s, AXES(0));
    fc_val y = op2(k, FC_OP_add, op2(k, FC_OP_mul, x, f32(k, 2)), f32(k, 1));
    output(k, t, FUSEC_F32, 1, s, AXES(0), op1(k, FC_OP_sin, y));
}
static void ref_sin(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *x = arg[0];
    float *y = arg[1];
    for (int64_t i = 0; i < s[0]; i++) {
        float v = x[i] * 2.0f + 1.0f;
        y[i] = (float)sin((double)v);
    }
}

static void build_affine(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_MAP, 1, 0, s);
    fc_val x = input(k, t, FUSEC_F32, 1, s, AXES(0));
    output(k, t, FUSEC_F32, 1, s, AXES(0),
           op2(k, FC_OP_add, op2(k, FC_OP_mul, x, f32(k, 2)), f32(k, 1)));
}
static void ref_affine(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *x = arg[0];
    float *y = arg[1];
    for (int64_t i = 0; i < s[0]; i++) {
        float v = x[i] * 2.0f;
        y[i] = v + 1.0f;
    }
}

/* a[i,j] + b[j,i] + row[j] + col[i] */
static void build_broadcast(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_MAP, 2, 0, s);
    fc_val a = input(k, t, FUSEC_F32, 2, s, AXES(0, 1));
    fc_val b = input(k, t, FUSEC_F32, 2, DIMS(s[1], s[0]), AXES(1, 0));
    fc_val row = input(k, t, FUSEC_F32, 1, DIMS(s[1]), AXES(1));
    fc_val col = input(k, t, FUSEC_F32, 1, DIMS(s[0]), AXES(0));
    fc_val sum = op2(k, FC_OP_add, op2(k, FC_OP_add, op2(k, FC_OP_add, a, b), row), col);
    output(k, t, FUSEC_F32, 2, s, AXES(0, 1), sum);
}
static void ref_broadcast(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *a = arg[0], *b = arg[1], *row = arg[2], *col = arg[3];
    float *y = arg[4];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            float v = a[i * s[1] + j] + b[j * s[0] + i];
            v = v + row[j];
            y[i * s[1] + j] = v + col[i];
        }
}

/* v = where(c, f32(u), f32(f16(h * 1.5)));  f16(v);  q * 3 + i64(v * 1e19) */
static void build_mixed(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_MAP, 1, 0, s);
    fc_code *c = &k->code;
    fc_val u = fc_val_cast(c, input(k, t, FUSEC_U8, 1, s, AXES(0)), FUSEC_F32);
    fc_val b = input(k, t, FUSEC_BOOL, 1, s, AXES(0));
    fc_val h = fc_val_cast(c, input(k, t, FUSEC_F16, 1, s, AXES(0)), FUSEC_F32);
    fc_val q = input(k, t, FUSEC_I64, 1, s, AXES(0));
    fc_val h2 =
        fc_val_cast(c, fc_val_cast(c, op2(k, FC_OP_mul, h, f32(k, 1.5)), FUSEC_F16), FUSEC_F32);
    fc_val v = fc_val_op(c, FC_OP_where, b, u, h2);
    output(k, t, FUSEC_F16, 1, s, AXES(0), fc_val_cast(c, v, FUSEC_F16));
    fc_val big = fc_val_cast(c, op2(k, FC_OP_mul, v, f32(k, 1e19)), FUSEC_I64);
    fc_val r = op2(k, FC_OP_add, op2(k, FC_OP_mul, q, fc_val_i64(c, 3)), big);
    output(k, t, FUSEC_I64, 1, s, AXES(0), r);
}
static void ref_mixed(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const uint8_t *u = arg[0], *b = arg[1];
    const uint16_t *h = arg[2];
    const int64_t *q = arg[3];
    uint16_t *y = arg[4];
    int64_t *z = arg[5];
    for (int64_t i = 0; i < s[0]; i++) {
        float scaled = fc_half_to_float(h[i]) * 1.5f;
        float v = b[i] ? (float)u[i] : fc_half_to_float(fc_double_to_half((double)scaled));
        y[i] = fc_double_to_half((double)v);
        float wide = v * 1e19f;
        int64_t big = wide >= 0x1p63f ? INT64_MAX : wide <= -0x1p63f ? INT64_MIN : (int64_t)wide;
        z[i] = (int64_t)((uint64_t)q[i] * 3u + (uint64_t)big);
    }
}

/* f32(i) * 0.5 + f32(7 - 2*j) + a[n-1-i, j], and i*1000 + j */
static void build_index(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_MAP, 2, 0, s);
    fc_code *c = &k->code;
    fc_dim zero = fc_dim_const(t, 0), last = fc_dim_add(t, s[0], fc_dim_const(t, -1));
    uint32_t arg = fc_kernel_arg(k, FUSEC_F32, false, arg_number(k));
    fc_map flipped[2] = {{.axis = 0, .step = -1, .start = last},
                         {.axis = 1, .step = 1, .start = zero}};
    fc_val a = fc_kernel_load(k, fc_kernel_access(k, arg, 2, s, flipped));
    fc_map mi = {.axis = 0, .step = 1, .start = zero}, mj = {.axis = 1, .step = 1, .start = zero};
    fc_map down = {.axis = 1, .step = -2, .start = fc_dim_const(t, 7)};
    fc_val i = fc_kernel_load(k, fc_kernel_access(k, FC_NO_BUFFER, 1, NULL, &mi));
    fc_val j = fc_kernel_load(k, fc_kernel_access(k, FC_NO_BUFFER, 1, NULL, &mj));
    fc_val d = fc_kernel_load(k, fc_kernel_access(k, FC_NO_BUFFER, 1, NULL, &down));
    fc_val half = op2(k, FC_OP_mul, fc_val_cast(c, i, FUSEC_F32), f32(k, 0.5));
    fc_val y = op2(k, FC_OP_add, op2(k, FC_OP_add, half, fc_val_cast(c, d, FUSEC_F32)), a);
    output(k, t, FUSEC_F32, 2, s, AXES(0, 1), y);
    fc_val z = op2(k, FC_OP_add, op2(k, FC_OP_mul, i, fc_val_i64(c, 1000)), j);
    output(k, t, FUSEC_I64, 2, s, AXES(0, 1), z);
}
static void ref_index(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *a = arg[0];
    float *y = arg[1];
    int64_t *z = arg[2];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            float v = (float)i * 0.5f + (float)(7 - 2 * j);
            y[i * s[1] + j] = v + a[(s[0] - 1 - i) * s[1] + j];
            z[i * s[1] + j] = i * 1000 + j;
        }
}

/* x[2i+1] * p + (x[2n-i] + f32(n)), x of 2n+1 elements */
static void build_slices(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_MAP, 1, 0, s);
    fc_code *c = &k->code;
    fc_dim one = fc_dim_const(t, 1), twice = fc_dim_add(t, s[0], s[0]);
    fc_dim shape = fc_dim_add(t, twice, one);
    uint32_t arg = fc_kernel_arg(k, FUSEC_F32, false, arg_number(k));
    fc_map odd = {.axis = 0, .step = 2, .start = one},
           back = {.axis = 0, .step = -1, .start = twice};
    fc_val a = fc_kernel_load(k, fc_kernel_access(k, arg, 1, &shape, &odd));
    fc_val b = fc_kernel_load(k, fc_kernel_access(k, arg, 1, &shape, &back));
    fc_val p = fc_kernel_param_value(k, fc_kernel_param(k, FUSEC_F32, false, 1));
    fc_val n = fc_kernel_param_value(k, fc_kernel_param(k, FUSEC_I64, true, s[0]));
    fc_val sum = op2(k, FC_OP_add, b, fc_val_cast(c, n, FUSEC_F32));
    output(k, t, FUSEC_F32, 1, s, AXES(0), op2(k, FC_OP_add, op2(k, FC_OP_mul, a, p), sum));
}
static void ref_slices(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    const float *x = arg[0];
    float *y = arg[1], p;
    uint32_t bits = (uint32_t)scalar[0];
    memcpy(&p, &bits, sizeof p);
    for (int64_t i = 0; i < s[0]; i++) {
        float a = x[2 * i + 1] * p, b = x[2 * s[0] - i] + (float)s[0];
        y[i] = a + b;
    }
}

/* ---- one reduction --------------------------------------------------------------------------- */

static void build_square_error(fc_kernel *k, fc_dimtab *t, const fc_dim *s, uint32_t np) {
    const int axes[] = {0, 1};
    uint32_t rank = np + 1;
    space(k, FC_SCHED_INNER, np, 1, s);
    fc_val a = input(k, t, FUSEC_F32, rank, s, axes), b = input(k, t, FUSEC_F32, rank, s, axes);
    fc_val d = op2(k, FC_OP_sub, a, b);
    fc_val sum = fc_kernel_reduce(k, FC_OP_sum, op2(k, FC_OP_mul, d, d), 0);
    output(k, t, FUSEC_F32, np, s, axes, sum);
}
static void ref_square_error(int64_t rows, int64_t count, void *const *arg) {
    const float *a = arg[0], *b = arg[1];
    float *y = arg[2];
    double *e = elements(count);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < count; j++) {
            float d = a[i * count + j] - b[i * count + j];
            e[j] = d * d;
        }
        y[i] = fc_ref_reduce(REF_SUM_F32, true, e, count).f;
    }
    free(e);
}
static void build_sq_all(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_square_error(k, t, s, 0);
}
static void ref_sq_all(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    ref_square_error(1, s[0], arg);
}
static void build_sq_rows(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_square_error(k, t, s, 1);
}
static void ref_sq_rows(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    ref_square_error(s[0], s[1], arg);
}

/* x[n,m] -> [m] */
static void build_column_sum(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_OUTER, 1, 1, DIMS(s[1], s[0]));
    fc_val x = input(k, t, FUSEC_F32, 2, s, AXES(1, 0));
    output(k, t, FUSEC_F32, 1, DIMS(s[1]), AXES(0), fc_kernel_reduce(k, FC_OP_sum, x, 0));
}
static void ref_column_sum(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    float *y = arg[1];
    for (int64_t j = 0; j < s[1]; j++)
        y[j] = reduce_line(REF_SUM_F32, false, arg[0], s[0], s[1], j).f;
}

/* sqrt(sum over d of (x[n,d] - y[m,d])^2) -> [n,m] */
static void build_distance(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_INNER, 2, 1, s);
    fc_val x = input(k, t, FUSEC_F32, 2, DIMS(s[0], s[2]), AXES(0, 2));
    fc_val y = input(k, t, FUSEC_F32, 2, DIMS(s[1], s[2]), AXES(1, 2));
    fc_val d = op2(k, FC_OP_sub, x, y);
    fc_val sum = fc_kernel_reduce(k, FC_OP_sum, op2(k, FC_OP_mul, d, d), 0);
    output(k, t, FUSEC_F32, 2, s, AXES(0, 1), op1(k, FC_OP_sqrt, sum));
}
static void ref_distance(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *x = arg[0], *y = arg[1];
    float *out = arg[2];
    double *e = elements(s[2]);
    for (int64_t r = 0; r < s[0] * s[1]; r++) {
        const float *a = x + r / s[1] * s[2], *b = y + r % s[1] * s[2];
        for (int64_t j = 0; j < s[2]; j++) {
            float d = a[j] - b[j];
            e[j] = d * d;
        }
        out[r] = sqrtf(fc_ref_reduce(REF_SUM_F32, true, e, s[2]).f);
    }
    free(e);
}

/* x[a,b,c] -> [b]; the elements of a row are numbered over (a, c) */
static void build_middle(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_INNER, 1, 2, DIMS(s[1], s[0], s[2]));
    fc_val x = input(k, t, FUSEC_F32, 3, s, AXES(1, 0, 2));
    output(k, t, FUSEC_F32, 1, DIMS(s[1]), AXES(0), fc_kernel_reduce(k, FC_OP_sum, x, 0));
}
static void ref_middle(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *x = arg[0];
    float *y = arg[1];
    double *e = elements(s[0] * s[2]);
    for (int64_t b = 0; b < s[1]; b++) {
        for (int64_t i = 0; i < s[0] * s[2]; i++) e[i] = x[(i / s[2] * s[1] + b) * s[2] + i % s[2]];
        y[b] = fc_ref_reduce(REF_SUM_F32, true, e, s[0] * s[2]).f;
    }
    free(e);
}

/* sum of w[j] * (x[i,j] - mu[i]): loads of a row, of a point, and of both */
static void build_weighted(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_INNER, 1, 1, s);
    fc_val x = input(k, t, FUSEC_F32, 2, s, AXES(0, 1));
    fc_val w = input(k, t, FUSEC_F32, 1, DIMS(s[1]), AXES(1));
    fc_val mu = input(k, t, FUSEC_F32, 1, DIMS(s[0]), AXES(0));
    fc_val v = op2(k, FC_OP_mul, w, op2(k, FC_OP_sub, x, mu));
    output(k, t, FUSEC_F32, 1, s, AXES(0), fc_kernel_reduce(k, FC_OP_sum, v, 0));
}
static void ref_weighted(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *x = arg[0], *w = arg[1], *mu = arg[2];
    float *y = arg[3];
    double *e = elements(s[1]);
    for (int64_t i = 0; i < s[0]; i++) {
        for (int64_t j = 0; j < s[1]; j++) {
            float d = x[i * s[1] + j] - mu[i];
            e[j] = w[j] * d;
        }
        y[i] = fc_ref_reduce(REF_SUM_F32, true, e, s[1]).f;
    }
    free(e);
}

/* ---- several reductions of one tensor -------------------------------------------------------- */

/* Kernel axes of a matrix reduced over its rows (inner) or columns, and the axis its
 * results have. */
static void matrix_space(fc_kernel *k, const fc_dim *s, bool inner) {
    if (inner)
        space(k, FC_SCHED_INNER, 1, 1, s);
    else
        space(k, FC_SCHED_OUTER, 1, 1, DIMS(s[1], s[0]));
}
#define LINE(s, inner)  (&(s)[(inner) ? 0 : 1])
#define MATRIX(inner)   ((inner) ? AXES(0, 1) : AXES(1, 0))
#define LINES(s, inner) ((s)[(inner) ? 0 : 1])

static void build_stats(fc_kernel *k, fc_dimtab *t, const fc_dim *s, bool inner) {
    static const uint16_t ops[] = {FC_OP_mean, FC_OP_var, FC_OP_min, FC_OP_max};
    matrix_space(k, s, inner);
    fc_val x = input(k, t, FUSEC_F32, 2, s, MATRIX(inner));
    for (size_t i = 0; i < FC_COUNT(ops); i++)
        output(k, t, FUSEC_F32, 1, LINE(s, inner), AXES(0),
               fc_kernel_reduce(k, (fc_op)ops[i], x, 0));
    output(k, t, FUSEC_I64, 1, LINE(s, inner), AXES(0), fc_kernel_reduce(k, FC_OP_argmax, x, 0));
}
static void ref_stats(const int64_t *s, void *const *arg, bool inner) {
    float *mean = arg[1], *var = arg[2], *min = arg[3], *max = arg[4];
    int64_t *argmax = arg[5];
    for (int64_t r = 0; r < LINES(s, inner); r++) {
        float count = (float)(inner ? s[1] : s[0]);
        mean[r] = reduce_line(REF_SUM_F32, inner, arg[0], s[0], s[1], r).f / count;
        var[r] = reduce_line(REF_VAR_F32, inner, arg[0], s[0], s[1], r).f;
        min[r] = reduce_line(REF_MIN_F32, inner, arg[0], s[0], s[1], r).f;
        max[r] = reduce_line(REF_MAX_F32, inner, arg[0], s[0], s[1], r).f;
        argmax[r] = reduce_line(REF_ARGMAX_F32, inner, arg[0], s[0], s[1], r).i;
    }
}
static void build_stats_inner(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_stats(k, t, s, true);
}
static void build_stats_outer(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_stats(k, t, s, false);
}
static void ref_stats_inner(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    ref_stats(s, arg, true);
}
static void ref_stats_outer(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    ref_stats(s, arg, false);
}

/* min, max, argmin, argmax of data with nan, infinities, both zeros and many ties */
static void build_extremes(fc_kernel *k, fc_dimtab *t, const fc_dim *s, bool inner) {
    matrix_space(k, s, inner);
    fc_val x = input(k, t, FUSEC_F32, 2, s, MATRIX(inner));
    output(k, t, FUSEC_F32, 1, LINE(s, inner), AXES(0), fc_kernel_reduce(k, FC_OP_min, x, 0));
    output(k, t, FUSEC_F32, 1, LINE(s, inner), AXES(0), fc_kernel_reduce(k, FC_OP_max, x, 0));
    output(k, t, FUSEC_I64, 1, LINE(s, inner), AXES(0), fc_kernel_reduce(k, FC_OP_argmin, x, 0));
    output(k, t, FUSEC_I64, 1, LINE(s, inner), AXES(0), fc_kernel_reduce(k, FC_OP_argmax, x, 0));
}
static void ref_extremes(const int64_t *s, void *const *arg, bool inner) {
    float *min = arg[1], *max = arg[2];
    int64_t *argmin = arg[3], *argmax = arg[4];
    for (int64_t r = 0; r < LINES(s, inner); r++) {
        min[r] = reduce_line(REF_MIN_F32, inner, arg[0], s[0], s[1], r).f;
        max[r] = reduce_line(REF_MAX_F32, inner, arg[0], s[0], s[1], r).f;
        argmin[r] = reduce_line(REF_ARGMIN_F32, inner, arg[0], s[0], s[1], r).i;
        argmax[r] = reduce_line(REF_ARGMAX_F32, inner, arg[0], s[0], s[1], r).i;
    }
}
static void build_extremes_inner(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_extremes(k, t, s, true);
}
static void build_extremes_outer(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_extremes(k, t, s, false);
}
static void ref_extremes_inner(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    ref_extremes(s, arg, true);
}
static void ref_extremes_outer(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    ref_extremes(s, arg, false);
}

/* sum of f16, f64 and i32, product of f32, any and all: row by row */
static void build_types(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_INNER, 1, 1, s);
    const int *axes = AXES(0, 1), *row = AXES(0);
    fc_val h = fc_kernel_reduce(k, FC_OP_sum, input(k, t, FUSEC_F16, 2, s, axes), 0);
    fc_val d = fc_kernel_reduce(k, FC_OP_sum, input(k, t, FUSEC_F64, 2, s, axes), 0);
    fc_val i = fc_kernel_reduce(k, FC_OP_sum, input(k, t, FUSEC_I32, 2, s, axes), 0);
    fc_val p = fc_kernel_reduce(k, FC_OP_prod, input(k, t, FUSEC_F32, 2, s, axes), 0);
    fc_val b = input(k, t, FUSEC_BOOL, 2, s, axes);
    fc_val any = fc_kernel_reduce(k, FC_OP_any, b, 0), all = fc_kernel_reduce(k, FC_OP_all, b, 0);
    output(k, t, FUSEC_F16, 1, s, row, fc_val_cast(&k->code, h, FUSEC_F16));
    output(k, t, FUSEC_F64, 1, s, row, d);
    fc_val both = op2(k, FC_OP_logical_and, any, op1(k, FC_OP_logical_not, all));
    fc_val n = op2(k, FC_OP_add, i, fc_val_cast(&k->code, both, FUSEC_I64));
    output(k, t, FUSEC_F32, 1, s, row, op2(k, FC_OP_add, p, fc_val_cast(&k->code, n, FUSEC_F32)));
}
static void ref_types_row(int64_t m, int64_t r, void *const *arg, double *e) {
    const uint8_t *b = (const uint8_t *)arg[4] + r * m;
    bool any = false, all = true;
    for (int64_t j = 0; j < m; j++) e[j] = fc_half_to_float(((const uint16_t *)arg[0])[r * m + j]);
    float h = fc_ref_reduce(REF_SUM_F32, true, e, m).f;
    for (int64_t j = 0; j < m; j++) e[j] = ((const double *)arg[1])[r * m + j];
    ((double *)arg[6])[r] = fc_ref_reduce(REF_SUM_F64, true, e, m).d;
    for (int64_t j = 0; j < m; j++) e[j] = ((const int32_t *)arg[2])[r * m + j];
    int64_t n = fc_ref_reduce(REF_SUM_I64, true, e, m).i;
    for (int64_t j = 0; j < m; j++) e[j] = ((const float *)arg[3])[r * m + j];
    float p = fc_ref_reduce(REF_PROD_F32, true, e, m).f;
    for (int64_t j = 0; j < m; j++) {
        any = any || b[j];
        all = all && b[j];
    }
    ((uint16_t *)arg[5])[r] = fc_double_to_half((double)h);
    ((float *)arg[7])[r] = p + (float)(n + (any && !all));
}
static void ref_types(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    double *e = elements(s[1]);
    for (int64_t r = 0; r < s[0]; r++) ref_types_row(s[1], r, arg, e);
    free(e);
}

/* ---- several stages -------------------------------------------------------------------------- */

static void build_softmax(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_INNER, 1, 1, s);
    fc_val x = input(k, t, FUSEC_F32, 2, s, AXES(0, 1));
    fc_val max = fc_kernel_reduce(k, FC_OP_max, x, 0);
    fc_val ex = op1(k, FC_OP_exp, op2(k, FC_OP_sub, x, max));
    fc_val sum = fc_kernel_reduce(k, FC_OP_sum, ex, 1);
    output(k, t, FUSEC_F32, 2, s, AXES(0, 1), op2(k, FC_OP_div, ex, sum));
}
static void ref_softmax(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *x = arg[0];
    float *y = arg[1];
    double *e = elements(s[1]);
    for (int64_t i = 0; i < s[0]; i++) {
        float max = reduce_line(REF_MAX_F32, true, x, s[0], s[1], i).f;
        for (int64_t j = 0; j < s[1]; j++) {
            float d = x[i * s[1] + j] - max;
            e[j] = (float)exp((double)d);
        }
        float sum = fc_ref_reduce(REF_SUM_F32, true, e, s[1]).f;
        for (int64_t j = 0; j < s[1]; j++) y[i * s[1] + j] = (float)e[j] / sum;
    }
    free(e);
}

/* x to the power of 17 over the largest of its row: quotients by a value of the row, of operands
 * from 0 over subnormal ones to large ones */
static void build_shares(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_INNER, 1, 1, s);
    fc_val x = input(k, t, FUSEC_F32, 2, s, AXES(0, 1)), y = x;
    for (int i = 0; i < 4; i++) y = op2(k, FC_OP_mul, y, y);
    y = op2(k, FC_OP_mul, y, x);
    fc_val max = fc_kernel_reduce(k, FC_OP_max, y, 0);
    output(k, t, FUSEC_F32, 2, s, AXES(0, 1), op2(k, FC_OP_div, y, max));
}
static void ref_shares(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *x = arg[0];
    float *y = arg[1];
    double *e = elements(s[1]);
    for (int64_t i = 0; i < s[0]; i++) {
        for (int64_t j = 0; j < s[1]; j++) {
            float f = x[i * s[1] + j], p = f;
            for (int k = 0; k < 4; k++) p *= p;
            e[j] = p * f;
        }
        float max = fc_ref_reduce(REF_MAX_F32, true, e, s[1]).f;
        for (int64_t j = 0; j < s[1]; j++) y[i * s[1] + j] = (float)e[j] / max;
    }
    free(e);
}

/* (x - mean) / sqrt(var + eps) at every point, the largest of its squares in a stage after, the
 * mean once a row */
static void build_normalize(fc_kernel *k, fc_dimtab *t, const fc_dim *s, bool inner) {
    matrix_space(k, s, inner);
    fc_val x = input(k, t, FUSEC_F32, 2, s, MATRIX(inner));
    fc_val mean = fc_kernel_reduce(k, FC_OP_mean, x, 0), var = fc_kernel_reduce(k, FC_OP_var, x, 0);
    fc_val scale = op1(k, FC_OP_sqrt, op2(k, FC_OP_add, var, f32(k, 1e-5)));
    fc_val y = op2(k, FC_OP_div, op2(k, FC_OP_sub, x, mean), scale);
    fc_val top = fc_kernel_reduce(k, FC_OP_sum, op2(k, FC_OP_mul, y, y), 1);
    output(k, t, FUSEC_F32, 2, s, MATRIX(inner), y);
    output(k, t, FUSEC_F32, 1, LINE(s, inner), AXES(0), mean);
    output(k, t, FUSEC_F32, 2, s, MATRIX(inner), top); /* one value spread over the row */
}
static void ref_normalize(const int64_t *s, void *const *arg, bool inner) {
    const float *x = arg[0];
    float *y = arg[1], *means = arg[2], *tops = arg[3];
    int64_t n = s[0], m = s[1], count = inner ? m : n;
    double *e = elements(count);
    for (int64_t r = 0; r < LINES(s, inner); r++) {
        float mean = reduce_line(REF_SUM_F32, inner, x, n, m, r).f / (float)count;
        float var = reduce_line(REF_VAR_F32, inner, x, n, m, r).f;
        float scale = sqrtf(var + 1e-5f);
        means[r] = mean;
        for (int64_t i = 0; i < count; i++) {
            int64_t at = inner ? r * m + i : i * m + r;
            y[at] = (x[at] - mean) / scale;
            e[i] = y[at] * y[at];
        }
        float top = fc_ref_reduce(REF_SUM_F32, inner, e, count).f;
        for (int64_t i = 0; i < count; i++) tops[inner ? r * m + i : i * m + r] = top;
    }
    free(e);
}
static void build_normalize_inner(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_normalize(k, t, s, true);
}
static void build_normalize_outer(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_normalize(k, t, s, false);
}
static void ref_normalize_inner(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    ref_normalize(s, arg, true);
}
static void ref_normalize_outer(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    ref_normalize(s, arg, false);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */
const fc_sample fc_samples[] = {
    /* name             sizes elements specials ulps */
    {"map_sin",            1, false, false, 3, build_sin, ref_sin},
    {"map_affine",         1, false, true,  0, build_affine, ref_affine},
    {"map_broadcast",      2, false, true,  0, build_broadcast, ref_broadcast},
    {"map_mixed",          1, false, false, 0, build_mixed, ref_mixed},
    {"map_index",          2, false, false, 0, build_index, ref_index},
    {"map_slices",         1, false, false, 0, build_slices, ref_slices},
    {"square_error_all",   1, false, false, 0, build_sq_all, ref_sq_all},
    {"square_error_rows",  2, false, false, 0, build_sq_rows, ref_sq_rows},
    {"column_sum",         2, false, false, 0, build_column_sum, ref_column_sum},
    {"distance",           3, false, false, 0, build_distance, ref_distance},
    {"middle",             3, false, false, 0, build_middle, ref_middle},
    {"weighted",           2, false, false, 0, build_weighted, ref_weighted},
    {"stats_inner",        2, true,  false, 0, build_stats_inner, ref_stats_inner},
    {"stats_outer",        2, true,  false, 0, build_stats_outer, ref_stats_outer},
    {"extremes_inner",     2, true,  true,  0, build_extremes_inner, ref_extremes_inner},
    {"extremes_outer",     2, true,  true,  0, build_extremes_outer, ref_extremes_outer},
    {"types",              2, false, false, 0, build_types, ref_types},
    {"softmax",            2, true,  false, 12, build_softmax, ref_softmax},
    {"shares",             2, true,  false, 0,  build_shares, ref_shares},
    {"normalize_inner",    2, false, false, 0, build_normalize_inner, ref_normalize_inner},
    {"normalize_outer",    2, false, false, 0, build_normalize_outer, ref_normalize_outer},
    {"product_layer",      3, false, false, 0, fc_dot_layer, fc_dot_layer_ref},
    {"product_batch",      3, false, false, 0, fc_dot_batch, fc_dot_batch_ref},
    {"product_doubles",    3, false, false, 0, fc_dot_doubles, fc_dot_doubles_ref},
    {"product_bytes",      3, false, false, 0, fc_dot_bytes, fc_dot_bytes_ref},
    {"product_bytes_lines", 3, false, false, 0, fc_dot_bytes_lines, fc_dot_bytes_lines_ref},
    {"product_bytes_across", 3, false, false, 0, fc_dot_bytes_across, fc_dot_bytes_across_ref},
    {"product_bytes_made", 3, false, false, 0, fc_dot_bytes_made, fc_dot_bytes_made_ref},
    {"product_halves",     3, false, false, 0, fc_dot_halves, fc_dot_halves_ref},
    {"product_halves_turned", 3, false, false, 0, fc_dot_halves_turned, fc_dot_halves_turned_ref},
    {"product_halves_across", 3, false, false, 0, fc_dot_halves_across, fc_dot_halves_across_ref},
    {"product_halves_made", 3, false, false, 0, fc_dot_halves_made, fc_dot_halves_made_ref},
    {"product_halves_made_turned", 3, false, false, 0, fc_dot_halves_made_turned,
     fc_dot_halves_made_turned_ref},
    {"product_halves_scaled", 3, false, false, 0, fc_dot_halves_scaled, fc_dot_halves_scaled_ref},
    {"product_words",      3, false, false, 0, fc_dot_words, fc_dot_words_ref},
    {"product_words_across", 3, false, false, 0, fc_dot_words_across, fc_dot_words_across_ref},
    {"product_words_made", 3, false, false, 0, fc_dot_words_made, fc_dot_words_made_ref},
};
/* clang-format on */
const size_t fc_nsamples = FC_COUNT(fc_samples);

bool fc_sample_rounds(const fc_sample *s) {
    return strstr(s->name, "words") != NULL;
}

const fc_sample *fc_sample_find(const char *name) {
    for (size_t i = 0; i < fc_nsamples; i++)
        if (strcmp(fc_samples[i].name, name) == 0) return &fc_samples[i];
    return NULL;
}
