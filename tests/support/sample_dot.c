/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sample_dot.c - contractions as samples (sample_kernels.h): with work before and behind, of
 * several dtypes, with turned operands and batches, and made of bytes. The order is spelled out
 * once, for doubles and floats. */
#include "tests/support/sample_dot.h"

#include <math.h>
#include <stdlib.h>

enum { CHUNK = 256, LEVELS = 40 };

/* Chunks of a chain of fma each, pairwise: chunk c meets the levels of its trailing ones. */
static double in_order(bool wide, const double *x, const double *y, int64_t n) {
    double level[LEVELS] = {0}, a = 0;
    uint64_t chunks = 0;
    for (int64_t i = 0; i < n || i == 0; i += CHUNK) {
        a = 0;
        for (int64_t k = i; k < n && k < i + CHUNK; k++)
            a = wide ? fma(x[k], y[k], a) : (double)fmaf((float)x[k], (float)y[k], (float)a);
        int l = 0;
        for (; chunks >> l & 1; l++) a = wide ? level[l] + a : (double)((float)level[l] + (float)a);
        level[l] = a;
        chunks++;
    }
    bool any = false;
    for (int l = 0; chunks >> l; l++) {
        if (!(chunks >> l & 1)) continue;
        a = !any ? level[l] : wide ? level[l] + a : (double)((float)level[l] + (float)a);
        any = true;
    }
    return a + 0.0;
}

static double *room(int64_t n) {
    double *p = calloc((size_t)n + 1, sizeof *p);
    if (!p) abort();
    return p;
}

/* maximum((x[i,k] * s[i]) @ w[k,j] + b[j], 0), and the sum behind it alone */
void fc_dot_layer(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_DOT, 2, 1, s);
    fc_val x = input(k, t, FUSEC_F32, 2, DIMS(s[0], s[2]), AXES(0, 2));
    fc_val w = input(k, t, FUSEC_F32, 2, DIMS(s[2], s[1]), AXES(2, 1));
    fc_val scale = input(k, t, FUSEC_F32, 1, DIMS(s[0]), AXES(0));
    fc_val bias = input(k, t, FUSEC_F32, 1, DIMS(s[1]), AXES(1));
    fc_val sum = fc_kernel_contract(k, op2(k, FC_OP_mul, x, scale), w, 0);
    fc_val y = op2(k, FC_OP_maximum, op2(k, FC_OP_add, sum, bias), f32(k, 0));
    output(k, t, FUSEC_F32, 2, DIMS(s[0], s[1]), AXES(0, 1), sum);
    output(k, t, FUSEC_F32, 2, DIMS(s[0], s[1]), AXES(0, 1), y);
}
void fc_dot_layer_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const float *x = arg[0], *w = arg[1], *scale = arg[2], *bias = arg[3];
    float *sum = arg[4], *y = arg[5];
    double *a = room(s[2]), *b = room(s[2]);
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            for (int64_t k = 0; k < s[2]; k++) {
                float scaled = x[i * s[2] + k] * scale[i];
                a[k] = scaled;
                b[k] = w[k * s[1] + j];
            }
            float r = (float)in_order(false, a, b, s[2]), z = r + bias[j];
            sum[i * s[1] + j] = r;
            y[i * s[1] + j] = z > 0 ? z : 0;
        }
    free(a);
    free(b);
}

/* x[b,i,k] @ y[b,j,k].T in f64, for two b */
void fc_dot_batch(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    const fc_dim two = fc_dim_const(t, 2);
    space(k, FC_SCHED_DOT, 3, 1, DIMS(two, s[0], s[1], s[2]));
    fc_val x = input(k, t, FUSEC_F64, 3, DIMS(two, s[0], s[2]), AXES(0, 1, 3)),
           y = input(k, t, FUSEC_F64, 3, DIMS(two, s[1], s[2]), AXES(0, 2, 3));
    output(k, t, FUSEC_F64, 3, DIMS(two, s[0], s[1]), AXES(0, 1, 2),
           fc_kernel_contract(k, x, y, 0));
}
void fc_dot_batch_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const double *x = arg[0], *y = arg[1];
    double *r = arg[2];
    for (int64_t b = 0; b < 2; b++)
        for (int64_t i = 0; i < s[0]; i++)
            for (int64_t j = 0; j < s[1]; j++)
                r[(b * s[0] + i) * s[1] + j] =
                    in_order(true, x + (b * s[0] + i) * s[2], y + (b * s[1] + j) * s[2], s[2]);
}

/* x[k,i].T @ (y[k,j] * z[j]) in f64, and half of it */
void fc_dot_doubles(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_DOT, 2, 1, s);
    fc_val x = input(k, t, FUSEC_F64, 2, DIMS(s[2], s[0]), AXES(2, 0)),
           y = input(k, t, FUSEC_F64, 2, DIMS(s[2], s[1]), AXES(2, 1)),
           z = input(k, t, FUSEC_F64, 1, DIMS(s[1]), AXES(1)),
           sum = fc_kernel_contract(k, x, op2(k, FC_OP_mul, y, z), 0);
    output(k, t, FUSEC_F64, 2, DIMS(s[0], s[1]), AXES(0, 1), sum);
    output(k, t, FUSEC_F64, 2, DIMS(s[0], s[1]), AXES(0, 1),
           op2(k, FC_OP_mul, sum, fc_val_const(&k->code, FUSEC_F64, 0.5)));
}
void fc_dot_doubles_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const double *x = arg[0], *y = arg[1], *z = arg[2];
    double *r = arg[3], *half = arg[4], *a = room(s[2]), *b = room(s[2]);
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            for (int64_t k = 0; k < s[2]; k++) {
                a[k] = x[k * s[0] + i];
                b[k] = y[k * s[1] + j] * z[j];
            }
            r[i * s[1] + j] = in_order(true, a, b, s[2]);
            half[i * s[1] + j] = 0.5 * r[i * s[1] + j];
        }
    free(a);
    free(b);
}

/* q[k,i].T @ r[j,k].T of bytes, in 64 bits, over two axes of k */
void fc_dot_bytes(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_DOT, 2, 2, DIMS(s[0], s[1], s[2], fc_dim_const(t, 3)));
    const fc_dim three = fc_dim_const(t, 3);
    fc_val q = input(k, t, FUSEC_I8, 3, DIMS(three, s[2], s[0]), AXES(3, 2, 0)),
           r = input(k, t, FUSEC_I8, 3, DIMS(s[1], s[2], three), AXES(1, 2, 3));
    output(k, t, FUSEC_I64, 2, DIMS(s[0], s[1]), AXES(0, 1), fc_kernel_contract(k, q, r, 0));
}
void fc_dot_bytes_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const int8_t *q = arg[0], *r = arg[1];
    int64_t *y = arg[2];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < s[2]; k++)
                for (int64_t c = 0; c < 3; c++)
                    sum += q[(c * s[2] + k) * s[0] + i] * r[(j * s[2] + k) * 3 + c];
            y[i * s[1] + j] = sum;
        }
}

/* x[i,k] @ y[j,k].T of i8 and u8 in 64 bits; x[k,i].T @ y[k,j] of u8 and i8, of which 32 bits are
 * looked at, times s[j]; x[i,k] @ (y[k,j] - z[j]), whose differences wrap in i8. */
static void build_bytes(fc_kernel *k, fc_dimtab *t, const fc_dim *s, bool across, bool made) {
    space(k, FC_SCHED_DOT, 2, 1, s);
    fc_val x = input(k, t, across ? FUSEC_U8 : FUSEC_I8, 2,
                     across ? DIMS(s[2], s[0]) : DIMS(s[0], s[2]),
                     across ? AXES(2, 0) : AXES(0, 2)),
           y = input(k, t, across || made ? FUSEC_I8 : FUSEC_U8, 2,
                     across || made ? DIMS(s[2], s[1]) : DIMS(s[1], s[2]),
                     across || made ? AXES(2, 1) : AXES(1, 2)),
           z = input(k, t, across ? FUSEC_F32 : FUSEC_I8, 1, DIMS(s[1]), AXES(1));
    if (made) y = op2(k, FC_OP_sub, y, z);
    fc_val sum = fc_kernel_contract(k, fc_val_cast(&k->code, x, FUSEC_I64),
                                    fc_val_cast(&k->code, y, FUSEC_I64), 0);
    if (across)
        sum = op2(k, FC_OP_mul,
                  fc_val_cast(&k->code, fc_val_cast(&k->code, sum, FUSEC_I32), FUSEC_F32), z);
    output(k, t, across ? FUSEC_F32 : FUSEC_I64, 2, DIMS(s[0], s[1]), AXES(0, 1), sum);
}
static void bytes_ref(const int64_t *s, void *const *arg, bool across, bool made) {
    const uint8_t *x = arg[0], *y = arg[1];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < s[2]; k++) {
                const uint8_t left = x[across ? k * s[0] + i : i * s[2] + k],
                              right = y[across || made ? k * s[1] + j : j * s[2] + k],
                              less = made ? ((const uint8_t *)arg[2])[j] : 0;
                sum += (across ? left : (int8_t)left) *
                       (across || made ? (int8_t)(right - less) : right);
            }
            if (across)
                ((float *)arg[3])[i * s[1] + j] = (float)(int32_t)sum * ((const float *)arg[2])[j];
            else
                ((int64_t *)arg[3])[i * s[1] + j] = sum;
        }
}
void fc_dot_bytes_lines(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_bytes(k, t, s, false, false);
}
void fc_dot_bytes_lines_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    bytes_ref(s, arg, false, false);
}
void fc_dot_bytes_across(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_bytes(k, t, s, true, false);
}
void fc_dot_bytes_across_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    bytes_ref(s, arg, true, false);
}
void fc_dot_bytes_made(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_bytes(k, t, s, false, true);
}
void fc_dot_bytes_made_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    bytes_ref(s, arg, false, true);
}

static double whole(uint16_t bf16) {
    const uint32_t bits = (uint32_t)bf16 << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* maximum(x[i,k] @ y[k,j], z[j]) of bf16, and the sum alone in f32 */
void fc_dot_halves(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_DOT, 2, 1, s);
    fc_val x = input(k, t, FUSEC_BF16, 2, DIMS(s[0], s[2]), AXES(0, 2)),
           y = input(k, t, FUSEC_BF16, 2, DIMS(s[2], s[1]), AXES(2, 1)),
           z = input(k, t, FUSEC_BF16, 1, DIMS(s[1]), AXES(1));
    fc_val sum = fc_kernel_contract(k, x, y, 0);
    fc_val most = op2(k, FC_OP_maximum, sum, fc_val_cast(&k->code, z, FUSEC_F32));
    output(k, t, FUSEC_F32, 2, DIMS(s[0], s[1]), AXES(0, 1), sum);
    output(k, t, FUSEC_BF16, 2, DIMS(s[0], s[1]), AXES(0, 1),
           fc_val_cast(&k->code, most, FUSEC_BF16));
}
void fc_dot_halves_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const uint16_t *x = arg[0], *y = arg[1], *z = arg[2];
    float *r = arg[3];
    uint16_t *most = arg[4];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            double sum = 0;
            for (int64_t k = 0; k < s[2]; k++)
                sum += whole(x[i * s[2] + k]) * whole(y[k * s[1] + j]);
            r[i * s[1] + j] = (float)sum;
            most[i * s[1] + j] = fc_sample_bf16(sum > whole(z[j]) ? sum : whole(z[j]));
        }
}

/* (x[b,k,i] * 2).T @ y[b,j,k].T of bf16, for two b, whose rows are along the innermost axis */
void fc_dot_halves_turned(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    const fc_dim two = fc_dim_const(t, 2);
    space(k, FC_SCHED_DOT, 3, 1, DIMS(two, s[1], s[0], s[2]));
    fc_val x = input(k, t, FUSEC_BF16, 3, DIMS(two, s[2], s[0]), AXES(0, 3, 2)),
           y = input(k, t, FUSEC_BF16, 3, DIMS(two, s[1], s[2]), AXES(0, 1, 3));
    fc_val twice = op2(k, FC_OP_mul, fc_val_cast(&k->code, x, FUSEC_F32), f32(k, 2));
    output(k, t, FUSEC_F32, 3, DIMS(two, s[1], s[0]), AXES(0, 1, 2),
           fc_kernel_contract(k, fc_val_cast(&k->code, twice, FUSEC_BF16), y, 0));
}
void fc_dot_halves_turned_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const uint16_t *x = arg[0], *y = arg[1];
    float *r = arg[2];
    for (int64_t b = 0; b < 2; b++)
        for (int64_t j = 0; j < s[1]; j++)
            for (int64_t i = 0; i < s[0]; i++) {
                double sum = 0;
                for (int64_t k = 0; k < s[2]; k++)
                    sum += 2 * whole(x[(b * s[2] + k) * s[0] + i]) *
                           whole(y[(b * s[1] + j) * s[2] + k]);
                r[(b * s[1] + j) * s[0] + i] = (float)sum;
            }
}

/* x[k,i].T @ y[j,k].T of bf16, as it is */
void fc_dot_halves_across(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_DOT, 2, 1, s);
    fc_val x = input(k, t, FUSEC_BF16, 2, DIMS(s[2], s[0]), AXES(2, 0)),
           y = input(k, t, FUSEC_BF16, 2, DIMS(s[1], s[2]), AXES(1, 2));
    output(k, t, FUSEC_BF16, 2, DIMS(s[0], s[1]), AXES(0, 1),
           fc_val_cast(&k->code, fc_kernel_contract(k, x, y, 0), FUSEC_BF16));
}
void fc_dot_halves_across_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const uint16_t *x = arg[0], *y = arg[1];
    uint16_t *r = arg[2];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            double sum = 0;
            for (int64_t k = 0; k < s[2]; k++)
                sum += whole(x[k * s[0] + i]) * whole(y[j * s[2] + k]);
            r[i * s[1] + j] = fc_sample_bf16(sum);
        }
}

/* x[i,k] @ (q - z - t), of bytes q[j,k], z[j] and t[k], or of q[k,j], z[k] and t[j]: what stands
 * along a line of memory, and what lies along it. The differences are bf16. */
static void build_made(fc_kernel *k, fc_dimtab *t, const fc_dim *s, bool turned) {
    const int *rows = turned ? AXES(2) : AXES(1), *lines = turned ? AXES(1) : AXES(2);
    space(k, FC_SCHED_DOT, 2, 1, s);
    fc_val x = input(k, t, FUSEC_BF16, 2, DIMS(s[0], s[2]), AXES(0, 2)),
           q = input(k, t, FUSEC_I8, 2, turned ? DIMS(s[2], s[1]) : DIMS(s[1], s[2]),
                     turned ? AXES(2, 1) : AXES(1, 2)),
           z = input(k, t, FUSEC_BF16, 1, DIMS(s[turned ? 2 : 1]), rows),
           u = input(k, t, FUSEC_BF16, 1, DIMS(s[turned ? 1 : 2]), lines);
    fc_val w =
        op2(k, FC_OP_sub, fc_val_cast(&k->code, q, FUSEC_F32), fc_val_cast(&k->code, z, FUSEC_F32));
    w = op2(k, FC_OP_sub, w, fc_val_cast(&k->code, u, FUSEC_F32));
    output(k, t, FUSEC_F32, 2, DIMS(s[0], s[1]), AXES(0, 1),
           fc_kernel_contract(k, x, fc_val_cast(&k->code, w, FUSEC_BF16), 0));
}
static void made_ref(const int64_t *s, void *const *arg, bool turned) {
    const uint16_t *x = arg[0], *z = arg[2], *u = arg[3];
    const int8_t *q = arg[1];
    float *r = arg[4];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            double sum = 0;
            for (int64_t k = 0; k < s[2]; k++) {
                const int64_t row = turned ? k : j, line = turned ? j : k;
                const double w = q[row * s[turned ? 1 : 2] + line] - whole(z[row]) - whole(u[line]);
                sum += whole(x[i * s[2] + k]) * w;
            }
            r[i * s[1] + j] = (float)sum;
        }
}
void fc_dot_halves_made(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_made(k, t, s, false);
}
void fc_dot_halves_made_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    made_ref(s, arg, false);
}
void fc_dot_halves_made_turned(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_made(k, t, s, true);
}
void fc_dot_halves_made_turned_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    made_ref(s, arg, true);
}

/* x[i,k] @ (bf16(q[k,j]) * z[j]) of bytes q, as arithmetic of bf16 is written */
void fc_dot_halves_scaled(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_DOT, 2, 1, s);
    fc_val x = input(k, t, FUSEC_BF16, 2, DIMS(s[0], s[2]), AXES(0, 2)),
           q = input(k, t, FUSEC_I8, 2, DIMS(s[2], s[1]), AXES(2, 1)),
           z = input(k, t, FUSEC_BF16, 1, DIMS(s[1]), AXES(1));
    fc_val byte = fc_val_cast(&k->code, q, FUSEC_BF16),
           w = op2(k, FC_OP_mul, fc_val_cvt(&k->code, byte, FUSEC_F32),
                   fc_val_cvt(&k->code, z, FUSEC_F32));
    output(k, t, FUSEC_F32, 2, DIMS(s[0], s[1]), AXES(0, 1),
           fc_kernel_contract(k, x, fc_val_cvt(&k->code, w, FUSEC_BF16), 0));
}
void fc_dot_halves_scaled_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    const uint16_t *x = arg[0], *z = arg[2];
    const int8_t *q = arg[1];
    float *r = arg[3];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            double sum = 0;
            for (int64_t k = 0; k < s[2]; k++)
                sum +=
                    whole(x[i * s[2] + k]) * whole(fc_sample_bf16(q[k * s[1] + j] * whole(z[j])));
            r[i * s[1] + j] = (float)sum;
        }
}

/* ---- f32 that may be rounded ----------------------------------------------------------------- */

/* x[i,k] @ y[k,j], and maximum with z[j], of f32 as they are; x[k,i].T @ y[j,k].T; x[i,k] and
 * y[j,k] that are scaled by the row, so that they are made. All are next to small whole numbers, to
 * which tensor cores round them: sums of those are exact in any order. */
static void build_words(fc_kernel *k, fc_dimtab *t, const fc_dim *s, bool across, bool made) {
    k->tf32 = true;
    space(k, FC_SCHED_DOT, 2, 1, s);
    fc_val x = input(k, t, FUSEC_F32, 2, across ? DIMS(s[2], s[0]) : DIMS(s[0], s[2]),
                     across ? AXES(2, 0) : AXES(0, 2)),
           y = input(k, t, FUSEC_F32, 2, across || made ? DIMS(s[1], s[2]) : DIMS(s[2], s[1]),
                     across || made ? AXES(1, 2) : AXES(2, 1)),
           z = input(k, t, FUSEC_F32, 1, DIMS(s[1]), AXES(1));
    if (made) y = op2(k, FC_OP_mul, y, z);
    if (made) x = op2(k, FC_OP_mul, x, f32(k, 2));
    fc_val sum = fc_kernel_contract(k, x, y, 0);
    if (!made) sum = op2(k, FC_OP_maximum, sum, z);
    output(k, t, FUSEC_F32, 2, DIMS(s[0], s[1]), AXES(0, 1), sum);
}
static double of_word(float x) {
    return rint((double)x);
}
static void words_ref(const int64_t *s, void *const *arg, bool across, bool made) {
    const float *x = arg[0], *y = arg[1], *z = arg[2];
    float *r = arg[3];
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[1]; j++) {
            double sum = 0;
            for (int64_t k = 0; k < s[2]; k++)
                sum += of_word(x[across ? k * s[0] + i : i * s[2] + k]) * (made ? 2 : 1) *
                       of_word(y[across || made ? j * s[2] + k : k * s[1] + j]) *
                       (made ? of_word(z[j]) : 1);
            r[i * s[1] + j] = made || sum > (double)z[j] ? (float)sum : z[j];
        }
}
void fc_dot_words(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_words(k, t, s, false, false);
}
void fc_dot_words_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    words_ref(s, arg, false, false);
}
void fc_dot_words_across(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_words(k, t, s, true, false);
}
void fc_dot_words_across_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    words_ref(s, arg, true, false);
}
void fc_dot_words_made(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    build_words(k, t, s, false, true);
}
void fc_dot_words_made_ref(const int64_t *s, void *const *arg, const uint64_t *scalar) {
    (void)scalar;
    words_ref(s, arg, false, true);
}
