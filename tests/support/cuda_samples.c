/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_samples.c - see cuda_samples.h. */
#include "tests/support/cuda_samples.h"
#include "tests/support/sample_build.h"
#include "tests/support/sample_reduce.h"

#include <math.h>
#include <stdlib.h>

static fc_val add(fc_kernel *k, fc_val a, fc_val b) {
    return op2(k, FC_OP_add, a, b);
}

/* ---- turned loads --------------------------------------------------------------------------- */

/* a[i,j,k] + f32(b[i,k,j]) + c[k,j,i] + f32(k): f16 and f32, turned along two axes */
static void build_turned(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_MAP, 3, 0, s);
    fc_val a = input(k, t, FUSEC_F32, 3, s, AXES(0, 1, 2));
    fc_val b = input(k, t, FUSEC_F16, 3, DIMS(s[0], s[2], s[1]), AXES(0, 2, 1));
    fc_val c = input(k, t, FUSEC_F32, 3, DIMS(s[2], s[1], s[0]), AXES(2, 1, 0));
    fc_map last = {.axis = 2, .step = 1, .start = fc_dim_const(t, 0)};
    fc_val i = fc_kernel_load(k, fc_kernel_access(k, FC_NO_BUFFER, 1, NULL, &last));
    fc_val sum = add(k, add(k, a, fc_val_cast(&k->code, b, FUSEC_F32)), c);
    output(k, t, FUSEC_F32, 3, s, AXES(0, 1, 2), add(k, sum, fc_val_cast(&k->code, i, FUSEC_F32)));
}
static void ref_turned(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *a = arg[0], *c = arg[2];
    const uint16_t *b = arg[1];
    float *y = arg[3];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++)
            for (int64_t k = 0; k < s[2]; k++) {
                float v =
                    a[(i * s[1] + j) * s[2] + k] + fc_half_to_float(b[(i * s[2] + k) * s[1] + j]);
                v = v + c[(k * s[1] + j) * s[0] + i];
                y[(i * s[1] + j) * s[2] + k] = v + (float)k;
            }
}

/* a[j,i] + b[j,i] and a copy of b[j,i] where c[j,i]: f64 and bool, no load that is not turned */
static void build_turned_wide(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    const fc_dim *back = DIMS(s[1], s[0]);
    space(k, FC_SCHED_MAP, 2, 0, s);
    fc_val a = input(k, t, FUSEC_F64, 2, back, AXES(1, 0));
    fc_val b = input(k, t, FUSEC_F64, 2, back, AXES(1, 0));
    fc_val c = input(k, t, FUSEC_BOOL, 2, back, AXES(1, 0));
    output(k, t, FUSEC_F64, 2, s, AXES(0, 1), add(k, a, b));
    output(k, t, FUSEC_F64, 2, s, AXES(0, 1),
           fc_val_op(&k->code, FC_OP_where, c, b, fc_val_const(&k->code, FUSEC_F64, -1)));
}
static void ref_turned_wide(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const double *a = arg[0], *b = arg[1];
    const uint8_t *c = arg[2];
    double *y = arg[3], *z = arg[4];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            int64_t from = j * s[0] + i, to = i * s[1] + j;
            y[to] = a[from] + b[from];
            z[to] = c[from] ? b[from] : -1;
        }
}

/* a[i,j] + b[j,i], bytes that wrap */
static void build_turned_bytes(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_MAP, 2, 0, s);
    fc_val a = input(k, t, FUSEC_U8, 2, s, AXES(0, 1));
    fc_val b = input(k, t, FUSEC_U8, 2, DIMS(s[1], s[0]), AXES(1, 0));
    output(k, t, FUSEC_U8, 2, s, AXES(0, 1), add(k, a, b));
}
static void ref_turned_bytes(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const uint8_t *a = arg[0], *b = arg[1];
    uint8_t *y = arg[2];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++)
            y[i * s[1] + j] = (uint8_t)(a[i * s[1] + j] + b[j * s[0] + i]);
}

/* ---- functions with texts of their own ------------------------------------------------------ */

/* erfc(11 x) and erfc(28 z): f32 and f64, down to where it is 0 */
static void build_erfc(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    static const struct {
        fusec_dtype dtype;
        double by;
    } of[] = {{FUSEC_F32, 11}, {FUSEC_F64, 28}};
    fc_val y[2];
    space(k, FC_SCHED_MAP, 1, 0, s);
    for (int i = 0; i < 2; i++) {
        fc_val x = input(k, t, of[i].dtype, 1, s, AXES(0)),
               by = fc_val_const(&k->code, of[i].dtype, of[i].by);
        y[i] = op1(k, FC_OP_erfc, op2(k, FC_OP_mul, x, by));
    }
    for (int i = 0; i < 2; i++) output(k, t, of[i].dtype, 1, s, AXES(0), y[i]);
}
static void ref_erfc(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *x = arg[0];
    const double *z = arg[1];
    float *y = arg[2];
    double *w = arg[3];
    for (int64_t i = 0; i < s[0]; i++) {
        float far = x[i] * 11.0f;
        y[i] = (float)erfc((double)far);
        w[i] = (double)erfcl((long double)(z[i] * 28.0));
    }
}

/* ---- columns -------------------------------------------------------------------------------- */

/* Sums over i of x[i,j] in several types, of w[i] * x[i,j], and the variance, plus p[j] */
static void build_columns(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    const int *matrix = AXES(1, 0), *column = AXES(0);
    space(k, FC_SCHED_OUTER, 1, 1, DIMS(s[1], s[0]));
    fc_val h = input(k, t, FUSEC_F16, 2, s, matrix), x = input(k, t, FUSEC_F32, 2, s, matrix);
    fc_val w = input(k, t, FUSEC_F32, 1, s, AXES(1));
    fc_val p = input(k, t, FUSEC_F32, 1, DIMS(s[1]), column);
    fc_val wx = op2(k, FC_OP_mul, w, x);
    fc_val sum = fc_kernel_reduce(k, FC_OP_sum, fc_val_cast(&k->code, h, FUSEC_F32), 0);
    fc_val weighted = fc_kernel_reduce(k, FC_OP_sum, wx, 0);
    fc_val var = fc_kernel_reduce(k, FC_OP_var, x, 0);
    const fc_val out[] = {sum, add(k, weighted, p), var};
    for (int i = 0; i < 3; i++) output(k, t, FUSEC_F32, 1, DIMS(s[1]), column, out[i]);
}
static void ref_columns(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const uint16_t *h = arg[0];
    const float *x = arg[1], *w = arg[2], *p = arg[3];
    float *sum = arg[4], *weighted = arg[5], *var = arg[6];
    double *e = calloc((size_t)s[0] + 1, sizeof *e);
    if (!e) abort();
    for (int64_t j = 0; j < s[1]; j++) {
        for (int64_t i = 0; i < s[0]; i++) e[i] = fc_half_to_float(h[i * s[1] + j]);
        sum[j] = fc_ref_reduce(REF_SUM_F32, false, e, s[0]).f;
        for (int64_t i = 0; i < s[0]; i++) {
            float product = w[i] * x[i * s[1] + j];
            e[i] = product;
        }
        weighted[j] = fc_ref_reduce(REF_SUM_F32, false, e, s[0]).f + p[j];
        for (int64_t i = 0; i < s[0]; i++) e[i] = x[i * s[1] + j];
        var[j] = fc_ref_reduce(REF_VAR_F32, false, e, s[0]).f;
    }
    free(e);
}

/* sums of bytes x[n,m,d] over m: bytes become 64-bit integers */
static void build_middle_columns(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_OUTER, 2, 1, DIMS(s[0], s[2], s[1]));
    fc_val x = input(k, t, FUSEC_U8, 3, s, AXES(0, 2, 1));
    fc_val wide = fc_val_cast(&k->code, x, FUSEC_U64);
    output(k, t, FUSEC_U64, 2, DIMS(s[0], s[2]), AXES(0, 1),
           fc_kernel_reduce(k, FC_OP_sum, wide, 0));
}
static void ref_middle_columns(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const uint8_t *x = arg[0];
    uint64_t *y = arg[1];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t d = 0; d < s[2]; d++) {
            uint64_t sum = 0;
            for (int64_t j = 0; j < s[1]; j++) sum += x[(i * s[1] + j) * s[2] + d];
            y[i * s[2] + d] = sum;
        }
}

/* exp(12*(x - max)) over its sum: quotients of exponentials by their own sum, of ones, of subnormal
 * numbers and of zeros. On the host the text calls this expf, so that no bit may differ. */
static void build_exp_shares(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_INNER, 1, 1, s);
    fc_val x = input(k, t, FUSEC_F32, 2, s, AXES(0, 1));
    fc_val below = op2(k, FC_OP_sub, x, fc_kernel_reduce(k, FC_OP_max, x, 0));
    fc_val ex = op1(k, FC_OP_exp, op2(k, FC_OP_mul, below, f32(k, 12)));
    output(k, t, FUSEC_F32, 2, s, AXES(0, 1),
           op2(k, FC_OP_div, ex, fc_kernel_reduce(k, FC_OP_sum, ex, 1)));
}
static void ref_exp_shares(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    float *y = arg[1];
    double *e = malloc(((size_t)s[1] + 1) * sizeof *e);
    for (int64_t i = 0; i < s[0] && e; i++) {
        const float *x = (const float *)arg[0] + i * s[1];
        for (int64_t j = 0; j < s[1]; j++) e[j] = x[j];
        const float max = fc_ref_reduce(REF_MAX_F32, true, e, s[1]).f;
        for (int64_t j = 0; j < s[1]; j++) e[j] = expf((x[j] - max) * 12);
        const float sum = fc_ref_reduce(REF_SUM_F32, true, e, s[1]).f;
        for (int64_t j = 0; j < s[1]; j++) y[i * s[1] + j] = (float)e[j] / sum;
    }
    free(e);
}

/* clang-format off */
const fc_sample fc_cuda_samples[] = {
    /* name             sizes elements specials ulps */
    {"turned",             3, false, false, 0, build_turned, ref_turned},
    {"turned_wide",        2, false, false, 0, build_turned_wide, ref_turned_wide},
    {"turned_bytes",       2, false, false, 0, build_turned_bytes, ref_turned_bytes},
    {"erfc",               1, false, true,  6, build_erfc, ref_erfc},
    {"exp_shares",         2, true,  false, 0, build_exp_shares, ref_exp_shares},
    {"columns",            2, false, false, 0, build_columns, ref_columns},
    {"middle_columns",     3, false, false, 0, build_middle_columns, ref_middle_columns},
};
/* clang-format on */
const size_t fc_ncuda_samples = FC_COUNT(fc_cuda_samples);
