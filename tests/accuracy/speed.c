/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* speed.c - nanoseconds an element of the CPU's vector functions, one thread, arrays in the second
 * cache: for each row, dtype and vector width the best of many runs. A processor with AVX-512 runs
 * the code for AVX2 and for 128 bits, too. */
#include "tests/accuracy/accuracy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/support/row_run.h"

enum { N = 32768, WIDTHS = 3 };

static const unsigned widths[WIDTHS] = {0, 1, FC_LLVM_NARROW_FMA};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Where the function does its usual work; the second operand from 0.5 to 3.5. */
static double input(fc_op op, uint64_t i) {
    const double u = (double)(i * 0x9e3779b97f4a7c15u >> 11) * 0x1p-53;
    switch (op) {
    case FC_OP_asin:
    case FC_OP_acos:
    case FC_OP_atanh: return 2 * u - 1;
    case FC_OP_acosh: return 1 + 9 * u;
    case FC_OP_log:
    case FC_OP_log2:
    case FC_OP_log10:
    case FC_OP_log1p:
    case FC_OP_lgamma:
    case FC_OP_tgamma:
    case FC_OP_rsqrt:
    case FC_OP_pow: return 20 * u + 0x1p-20;
    default: return 20 * u - 10;
    }
}

static void fill(fc_row_run *r, fc_op op, fusec_dtype t) {
    float *x = fc_row_run_data(r, 0), *y = fc_row_run_data(r, 1);
    double *xd = fc_row_run_data(r, 0), *yd = fc_row_run_data(r, 1);
    for (uint64_t i = 0; i < N; i++) {
        const double a = input(op, i), b = 0.5 + 3 * (double)(i % 1000) / 1000;
        if (t == FUSEC_F64) {
            xd[i] = a;
            yd[i] = b;
        } else {
            x[i] = (float)a;
            y[i] = (float)b;
        }
    }
}

static double measure(unsigned width, fc_op op, fusec_dtype t, fc_row_make *make) {
    fc_error e = {0};
    fc_row_run *r = fc_row_run_open(width, op, t, N, make, &e);
    if (!r) return NAN;
    double best = INFINITY;
    fill(r, op, t);
    for (int round = 0; round < 60; round++) {
        const double from = now();
        if (fc_row_run_first(r, N, &e) != FUSEC_OK) best = NAN;
        const double took = (now() - from) / N;
        if (took < best) best = took;
    }
    fc_row_run_close(r);
    return best;
}

static void line(const char *name, fc_op op, fc_row_make *make) {
    static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64};
    printf("| `%s` |", name);
    for (size_t t = 0; t < FC_COUNT(dtypes); t++)
        for (size_t w = 0; w < WIDTHS; w++)
            printf(" %.2f |", measure(widths[w], op, dtypes[t], make));
    printf("\n");
    fflush(stdout);
}

static fc_val wave(fc_code *c, fc_op op, fc_val x, fc_val y) {
    (void)op, (void)y;
    const fc_val s = fc_val_op(c, FC_OP_sin, x, FC_NOVAL, FC_NOVAL);
    const fc_val t = fc_val_op(c, FC_OP_cos, x, FC_NOVAL, FC_NOVAL);
    const fc_val p = fc_val_op(c, FC_OP_mul, s, t, FC_NOVAL);
    return fc_val_op(c, FC_OP_exp, p, FC_NOVAL, FC_NOVAL);
}

void fc_accuracy_speed(const char *only) {
    printf("| | f32, 16 lanes | 8 lanes | 4 lanes | f64, 16 lanes | 8 lanes | 4 lanes |\n"
           "|---|---|---|---|---|---|---|\n");
    if (!only || !strcmp(only, "wave")) line("exp(sin(x)*cos(x))", FC_OP_NONE, wave);
    for (int op = 0; op < FC_OP_COUNT_; op++) {
        const fc_op_info *row = &fc_ops[op];
        const bool asked = op == FC_OP_rsqrt || op == FC_OP_mod || op == FC_OP_fmod ||
                           ((row->flags & FC_F_TRANSCENDENTAL) && !(row->flags & FC_F_EXACT));
        if (!fc_is_elementwise((uint16_t)op) || !asked || (row->flags & FC_F_HIDDEN)) continue;
        if (!only || !strcmp(only, row->name)) line(row->name, (fc_op)op, NULL);
    }
}
